"""LEACE: the least change of vectors after which no linear model sees the labels, in closed form."""

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
from densray.erasure import Erasure
from densray.errors import LabelError, VectorError
from densray.moments import Moments

#: Correlations of a label with the whitened vectors below this are taken for rounding, as in concept-erasure.
SMALLEST_CORRELATION = 0.01
#: Variances below this share of the largest are taken for it where rows are whitened beside others.
SMALLEST_VARIANCE = 1e-10


def leace(X: Array, y: ArrayLike, *, shrinkage: bool = True) -> Erasure:
    r"""Return the least change of vectors after which no linear model can tell the labels from them.

    With the whitening :math:`W = \Sigma_{xx}^{-1/2}` and an orthonormal basis :math:`U` of the columns of
    :math:`W \Sigma_{xz}`,

    .. math::
        x \mapsto x - W^{+} U U^\top W (x - \bar{x}),

    which leaves the mean where it is and no covariance with the labels. What it takes from :math:`\Sigma_{xx}`,
    :math:`\Sigma_{xx}^{1/2} U U^\top \Sigma_{xx}^{1/2}`, is never negative: but for shrinkage no variance is added.

    Parameters
    ----------
    X : array of shape (n, d)
        NumPy, PyTorch or CuPy; sums are taken and the eigenproblem is solved where it lies, in float64.
    y : array of shape (n,) or (n, k)
        Two classes or scores; more classes where the labels are strings; or one column per class or score.
    shrinkage : bool, default=True
        Whether the covariance of the vectors is shrunk towards a multiple of the identity by the rule of Bodnar,
        Gupta and Parolya (2014), as the authors' library does by default: with fewer rows than dimensions it has no
        inverse otherwise. The change is then slightly larger than the least.

    References
    ----------
    .. [1] N. Belrose, D. Schneider-Joseph, S. Ravfogel, R. Cotterell, E. Raff and S. Biderman. LEACE: Perfect Linear
       Concept Erasure in Closed Form. NeurIPS 2023.
    .. [2] T. Bodnar, A. K. Gupta and N. Parolya. On the Strong Convergence of the Optimal Linear Shrinkage Estimator
       for Large Dimensional Covariance Matrix. Journal of Multivariate Analysis 132, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> erased = leace(X, [1, 1, -1, -1]).erase(X)
    >>> bool(abs(erased[:2].mean(axis=0) - erased[2:].mean(axis=0)).max() < 1e-12)
    True
    """
    labels = _label_columns(y, X.shape[0])
    mean, scatter, cross = _label_moments(X, labels)
    count = X.shape[0]
    covariance = _shrunk(scatter / count, count) if shrinkage else scatter / (count - 1)
    sizes, vectors = (to_host(part) for part in symmetric_eigh(covariance))
    usable = sizes > sizes[-1] * len(sizes) * np.finfo(np.float64).eps
    roots = np.sqrt(np.where(usable, sizes, 1.0))[:, None]

    def whiten(columns: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(vectors @ (usable[:, None] / roots * (vectors.T @ columns)))

    basis, correlations, _ = np.linalg.svd(whiten(cross / (count - 1)), full_matrices=False)
    basis = basis[:, correlations > SMALLEST_CORRELATION]
    left, right = whiten(basis), (vectors @ (usable[:, None] * roots * (vectors.T @ basis))).T
    return Erasure("leace", left, right, mean, np.zeros(X.shape[1]))


def leace_beside(
    X: NDArray[np.float64],
    y: ArrayLike,
    others: NDArray[np.float64],
    *,
    keep: tuple[NDArray[np.float64], ArrayLike] | None = None,
) -> Erasure:
    r"""Return the change after which no covariance of `X` with one column of labels is left, and other rows move least.

    It is LEACE with a covariance that counts `others` as much as `X`: vectors that have nothing to do with the labels
    (the states of ordinary text) are moved as little as may be. With rows and labels to keep, their covariance stays
    as it was: where the whitened covariances of the two are the directions :math:`u` and :math:`v`, the part
    :math:`l` of :math:`u` orthogonal to :math:`v` is what is read, and :math:`u` is what is taken away [1]_.

    References
    ----------
    .. [1] F. Holstege, S. Ravfogel and B. Wouters. Preserving Task-Relevant Information Under Linear Concept Removal.
       NeurIPS 2025.
    """
    columns = [_label_columns(y, len(X))] + ([_label_columns(keep[1], len(keep[0]))] if keep is not None else [])
    if any(each.shape[1] != 1 for each in columns):
        raise LabelError("one column of labels is needed: two classes as numbers, or scores.")
    given = [X, others] if keep is None else [X, others, keep[0]]
    parts = [rows - rows.mean(axis=0) for rows in given]
    mixed = sum(rows.T @ rows / len(rows) for rows in parts) / len(parts)
    sizes, vectors = np.linalg.eigh(_shrunk(np.asarray(mixed), sum(map(len, parts))))
    roots = np.sqrt(np.maximum(sizes, sizes[-1] * SMALLEST_VARIANCE))
    whiten, unwhiten = (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T
    removed = whiten @ (parts[0].T @ columns[0][:, 0]) / len(X)
    read = removed
    if keep is not None:
        kept = whiten @ (parts[2].T @ columns[1][:, 0]) / len(keep[0])
        read = removed - kept * (removed @ kept) / (kept @ kept)
    read = read / (read @ removed)
    left, right = (whiten @ read)[:, None], (unwhiten @ removed)[None]
    return Erasure("leace", left, right, X.mean(axis=0), np.zeros(X.shape[1]))


def _label_columns(y: ArrayLike, n_rows: int) -> Array:
    """Return labels as centred columns of unit variance, where they lie; strings are classes, one column each."""
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
    """Return the mean, the scatter, where the rows lie, and the sum of centred rows times labels, over blocks."""
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
    trace = float(xp.linalg.trace(covariance))
    target_square = trace * trace / width  # squared Frobenius norm of the target, trace/width times the identity
    product = trace * trace / width  # trace of covariance times target
    rounding = float(np.finfo(np.float64).eps)
    top = trace * trace * target_square / count + rounding
    bottom = float(xp.sum(covariance * covariance)) * target_square - product * product + rounding
    share = 1.0 - top / bottom
    rest = (1.0 - share) * (product + rounding) / (target_square + rounding)
    eye = xp.eye(width, dtype=xp.float64, device=covariance.device)
    return share * covariance + rest * (trace / width) * eye
