"""LEACE in closed form: the smallest change of vectors that hides the labels from every linear model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray._arrays import (
    HALF_TYPES,
    Array,
    ConvertedRows,
    array_on,
    is_foreign,
    namespace,
    symmetric_eigh,
    to_host,
    type_name,
)
from densray.affine import AffineMap
from densray.errors import LabelError, VectorError
from densray.moments import Moments

#: Correlations of a label with the whitened vectors below this are treated as rounding errors, as in concept-erasure.
SMALLEST_CORRELATION = 0.01
#: Variances below this share of the largest are treated as rounding errors if rows are whitened with others.
SMALLEST_VARIANCE = 1e-10
#: Smallest sine of the angle between directions to remove and directions to keep: below it the change would be huge.
SMALLEST_SINE = 0.01


def leace(X: Array, y: ArrayLike, *, keep: ArrayLike | None = None, shrinkage: bool = True) -> AffineMap:
    r"""Return the smallest change of vectors that hides the labels from every linear model.

    With the whitening :math:`W = \Sigma_{xx}^{-1/2}` and an orthonormal basis :math:`U` of the columns of
    :math:`W \Sigma_{xz}`,

    .. math::
        x \mapsto x - W^{+} U U^\top W (x - \bar{x}),

    which keeps the mean and leaves no covariance with the labels. The matrix it subtracts from :math:`\Sigma_{xx}`,
    :math:`\Sigma_{xx}^{1/2} U U^\top \Sigma_{xx}^{1/2}`, is positive semi-definite: except for shrinkage, no variance
    is added.

    With other labels :math:`t` to keep (SPLINCE [3]_), the map also preserves :math:`\Sigma_{xt}`. With an
    orthonormal basis :math:`V` of the columns of :math:`W \Sigma_{xt}`, it measures vectors along the part
    :math:`L = U - V V^\top U` of :math:`U` that is orthogonal to :math:`V`:

    .. math::
        x \mapsto x - W^{+} U (L^\top L)^{-1} L^\top W (x - \bar{x}).

    The projection :math:`U (L^\top L)^{-1} L^\top` keeps :math:`U`, since :math:`L^\top U = L^\top L`, and takes
    :math:`V` to zero. It is the projection of least norm that does both, so the change is minimal as well.

    Parameters
    ----------
    X : array of shape (n, d)
        NumPy, PyTorch or CuPy. Sums and the eigenproblem are computed on its device, in float64.
    y : array of shape (n,) or (n, k)
        Two classes or numeric labels; string labels for more classes; or a matrix with one column per class or numeric
        label.
    keep : array of shape (n,) or (n, k), optional
        Labels whose covariance with the vectors stays as it is, written like `y`.
    shrinkage : bool, default=True
        Whether to shrink the covariance of the vectors towards a multiple of the identity by the rule of Bodnar,
        Gupta and Parolya (2014), the default of the authors' library. Without it, the covariance has no inverse if
        there are fewer rows than dimensions. With it, the change is slightly larger than the minimum.

    References
    ----------
    .. [1] N. Belrose, D. Schneider-Joseph, S. Ravfogel, R. Cotterell, E. Raff and S. Biderman. LEACE: Perfect Linear
       Concept Erasure in Closed Form. NeurIPS 2023.
    .. [2] T. Bodnar, A. K. Gupta and N. Parolya. On the Strong Convergence of the Optimal Linear Shrinkage Estimator
       for Large Dimensional Covariance Matrix. Journal of Multivariate Analysis 132, 2014.
    .. [3] F. Holstege, S. Ravfogel and B. Wouters. Preserving Task-Relevant Information Under Linear Concept Removal.
       NeurIPS 2025.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> erased = leace(X, [1, 1, -1, -1]).apply(X)
    >>> bool(abs(erased[:2].mean(axis=0) - erased[2:].mean(axis=0)).max() < 1e-12)
    True
    """
    labels, count = _label_columns(y, X.shape[0]), X.shape[0]
    n_removed = int(labels.shape[1])
    if keep is not None:
        kept_labels = _label_columns(keep, count)
        xp = namespace(labels, kept_labels)
        labels = xp.concat([labels, kept_labels], axis=1)
    mean, scatter, cross = _label_moments(X, labels)
    return leace_of_moments(mean, scatter, cross, count, n_removed, shrinkage=shrinkage)


def leace_of_moments(
    mean: NDArray[np.float64],
    scatter: Array,
    cross: NDArray[np.float64],
    count: int,
    n_removed: int,
    *,
    shrinkage: bool = True,
) -> AffineMap:
    """Return the map of :func:`leace` from sums over rows.

    Parameters
    ----------
    mean : array of shape (d,)
    scatter : array of shape (d, d)
        Sum of the products of centred rows.
    cross : array of shape (d, k)
        Sum of the rows times their labels, which are centred columns of unit variance.
    count : int
        Number of rows.
    n_removed : int
        The first of the k columns are labels to remove, the others labels to keep.
    shrinkage : bool, default=True
    """
    covariance = _shrunk(scatter / count, count) if shrinkage else scatter / (count - 1)
    sizes, vectors = (to_host(part) for part in symmetric_eigh(covariance))
    usable = sizes > sizes[-1] * len(sizes) * np.finfo(np.float64).eps
    roots = np.sqrt(np.where(usable, sizes, 1.0))[:, None]

    def whiten(columns: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(vectors @ (usable[:, None] / roots * (vectors.T @ columns)))

    whitened = whiten(cross / (count - 1))
    basis, correlations, _ = np.linalg.svd(whitened[:, :n_removed], full_matrices=False)
    basis = basis[:, correlations > SMALLEST_CORRELATION]
    read = _apart_from(basis, whitened[:, n_removed:]) if cross.shape[1] > n_removed else basis
    left, right = whiten(read), (vectors @ (usable[:, None] * roots * (vectors.T @ basis))).T
    return AffineMap("leace", left, right, mean, np.zeros(len(mean)))


def _apart_from(basis: NDArray[np.float64], kept: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the directions L (L'L)^-1 along which to measure, so that `basis` is removed and `kept` is preserved."""
    others, sizes, _ = np.linalg.svd(kept, full_matrices=False)
    others = others[:, sizes > sizes[0] * SMALLEST_VARIANCE]
    outside = basis - others @ (others.T @ basis)
    sines = np.linalg.svd(outside, compute_uv=False)
    if sines.size and sines[-1] < SMALLEST_SINE:
        raise LabelError(
            "the labels to remove and the labels to keep are too similar: each predicts the other (the sine of the "
            f"angle between their directions is {sines[-1]:.2g}; it must be at least {SMALLEST_SINE}). Keep fewer "
            "labels, or give rows in which the two differ."
        )
    return outside @ np.linalg.inv(outside.T @ outside)


def leace_beside(
    X: NDArray[np.float64],
    y: ArrayLike,
    others: NDArray[np.float64],
    *,
    preserve: tuple[NDArray[np.float64], ArrayLike] | None = None,
) -> AffineMap:
    r"""Return the map that removes the covariance of `X` with labels and changes other rows as little as possible.

    It is LEACE with a covariance in which `others` count as much as `X`: vectors unrelated to the labels (the states of
    ordinary text) move as little as possible. With rows and labels to preserve, their covariance does not change: if
    the whitened covariances of the two are the directions :math:`u` and :math:`v`, coordinates are measured along the
    part :math:`l` of :math:`u` orthogonal to :math:`v`, and :math:`u` is removed [1]_. This needs one column of labels
    on each side. Without rows to preserve, `y` may have one column per class.

    References
    ----------
    .. [1] F. Holstege, S. Ravfogel and B. Wouters. Preserving Task-Relevant Information Under Linear Concept Removal.
       NeurIPS 2025.
    """
    columns = [_label_columns(y, len(X))] + (
        [_label_columns(preserve[1], len(preserve[0]))] if preserve is not None else []
    )
    if preserve is not None and any(each.shape[1] != 1 for each in columns):
        raise LabelError("one column of labels is needed: two classes as numbers, or scores.")
    matrices = [X, others] if preserve is None else [X, others, preserve[0]]
    parts = [rows - rows.mean(axis=0) for rows in matrices]
    mixed = sum(rows.T @ rows / len(rows) for rows in parts) / len(parts)
    sizes, vectors = np.linalg.eigh(_shrunk(np.asarray(mixed), sum(map(len, parts))))
    roots = np.sqrt(np.maximum(sizes, sizes[-1] * SMALLEST_VARIANCE))
    whiten, unwhiten = (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T
    if columns[0].shape[1] > 1:
        basis, _, _ = np.linalg.svd(whiten @ (parts[0].T @ columns[0]) / len(X), full_matrices=False)
        basis = basis[:, : np.linalg.matrix_rank(columns[0])]  # the indicators of k classes have rank k - 1
        return AffineMap("leace", whiten @ basis, (unwhiten @ basis).T, X.mean(axis=0), np.zeros(X.shape[1]))
    removed = whiten @ (parts[0].T @ columns[0][:, 0]) / len(X)
    read = removed
    if preserve is not None:
        preserved = whiten @ (parts[2].T @ columns[1][:, 0]) / len(preserve[0])
        read = removed - preserved * (removed @ preserved) / (preserved @ preserved)
    read = read / (read @ removed)
    left, right = (whiten @ read)[:, None], (unwhiten @ removed)[None]
    return AffineMap("leace", left, right, X.mean(axis=0), np.zeros(X.shape[1]))


def _label_columns(y: ArrayLike, n_rows: int) -> Array:
    """Return labels as centred columns of unit variance, on their device; strings are classes, one column each."""
    values: Array = y if is_foreign(y) else np.asarray(y)
    xp = namespace(values)
    if xp is np and values.dtype.kind not in "fiub":
        values = values.reshape(-1, 1) == np.unique(values)
    columns = xp.astype(xp.reshape(values, (values.shape[0], -1)), xp.float64)
    if columns.shape[0] != n_rows or not bool(xp.all(xp.isfinite(columns))):
        shape = tuple(values.shape)
        raise LabelError(f"y has shape {shape}; one finite label per row of X ({n_rows} rows) is needed.")
    columns = columns - xp.mean(columns, axis=0)
    spread = xp.std(columns, axis=0)
    if not bool(xp.any(spread > 0)):
        raise LabelError("all labels are the same; LEACE needs two classes, or scores that differ.")
    return columns / xp.where(spread > 0, spread, xp.ones_like(spread))


def _label_moments(X: Array, labels: Array) -> tuple[NDArray[np.float64], Array, NDArray[np.float64]]:
    """Return the mean, the scatter (on the device of the rows) and the sum of centred rows times labels, by blocks."""
    if not is_foreign(X):
        X, labels = np.asarray(X), to_host(labels)
        X = X if X.dtype in (np.float32, np.float64) or type_name(X) in HALF_TYPES else X.astype(np.float64)
    if X.ndim != 2 or X.shape[0] < 2:
        raise VectorError(f"X has shape {tuple(X.shape)}; at least two rows of vectors are needed.")
    xp = namespace(X, labels)
    X = ConvertedRows(X, xp.float32, X.dtype) if type_name(X) in HALF_TYPES else X
    moments, cross = Moments.with_sums(X, None, array_on(labels.T, X, dtype=X.dtype))
    return to_host(moments.mean), moments.scatter, to_host(cross).T


def _shrunk(covariance: Array, count: int) -> Array:
    """Return the best linear mixture of a covariance and a multiple of the identity (Bodnar et al. 2014)."""
    xp, width = namespace(covariance), int(covariance.shape[0])
    mean_variance = float(xp.linalg.trace(covariance)) / width
    if not mean_variance > 0.0:
        return covariance
    # With S of mean variance 1 the target is the identity, whose squared Frobenius norm is its trace with S, the width
    # p. The squared trace norm of S is p², so the share of S is 1 - (p² / n) / (||S||² - p), whatever the scale.
    S = covariance / mean_variance
    excess = float(xp.sum(S * S)) - width
    share = min(max(1.0 - width * width / (count * excess), 0.0), 1.0) if excess > 0.0 else 0.0
    return mean_variance * (share * S + (1.0 - share) * xp.eye(width, dtype=xp.float64, device=covariance.device))
