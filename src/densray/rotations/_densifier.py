"""Densifier: the objective of DensRay with lengths instead of squares, solved exactly or by stochastic gradient."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from densray._arrays import Array, is_foreign, is_tensor, label_array, namespace, to_host
from densray.errors import Advice, Argument, DensRayError
from densray.pairs import PairWeights
from densray.rotations._agreement import score_signals
from densray.rotations._base import Precision, Rotation
from densray.rotations._basis import complete_basis, orient, repeat_in_complement, unit
from densray.rotations._columns import Columns
from densray.rotations._densifier_solvers import (
    ORTHOGONALIZATIONS,
    PairDescent,
    Signal,
    SpreadObjective,
    ascend,
    polish,
)
from densray.rotations._densray import densray_axes
from densray.rotations._labels import Labels, read_signals
from densray.rotations._rows import check_vectors, check_weights, drop_weightless
from densray.rotations._training import TrainingRows, label_covariance

SOLVERS = ("auto", "exact", "sgd")

#: Up to this many rows the objective may have several maxima: the exact solver tries more starts.
FEW_ROWS = 600
#: Up to this many rows, all random starts are tried; with more rows, fewer.
FEWEST_ROWS = 100
#: Number of starts: leading axes of each form of DensRay, and random directions.
LEADING_STARTS, RANDOM_STARTS = 6, 16
#: Up to `FEWEST_ROWS` rows, the number of best axes that are improved further along the corners of the objective.
POLISHED_AXES = 6


class Densifier(Rotation):
    r"""Rotation whose first axes separate pairs with different labels, and draw pairs with equal labels together.

    .. math::
        \max_{Q^\top Q = I} \; \alpha_{\neq} \sum_{l(v) \neq l(w)} \| P Q d_{vw} \|
            - \alpha_{=} \sum_{l(v) = l(w)} \| P Q d_{vw} \|

    (Rothe, Ebert & Schütze 2016 [1]_; :class:`densray.DensRay` squares these lengths), where P keeps the axes reserved
    for the concept. For real scores the weights are :math:`-l(v)\, l(w)`.

    Parameters
    ----------
    n_components : int, sequence of int or None, default=1
        Number of axes of the concept. With several signals: axes per signal, or one number per signal. None: one axis
        per signal, completed to a lossless rotation.
    solver : {"auto", "exact", "sgd"}, default="auto"
        "exact" climbs the full objective over all pairs through rank sums, one axis after the other. It is
        deterministic and has no learning rate. On thousands of words, every start reaches the same maximum. On few
        words there are several maxima. The best of about 30 starts is taken; there may be a better one. "sgd" is the
        published solver: mini-batches of pairs, several signals jointly. "auto" is "exact" for one signal and "sgd" for
        several.
    weights : "balanced" or (float, float), default="balanced"
        :math:`(\alpha_{\neq}, \alpha_{=})`. Ignored for scores.
    center_labels : bool, default=True
        Subtract the mean of real scores first.
    orthogonalization : {"polar", "qr", "none"}, default="polar"
        For "sgd" only: orthogonalisation after each step. "none" renormalises each axis, and orthogonalises once at the
        end.
    batch_size : int, default=1000
        For "sgd" only: number of pairs of each kind per step.
    learning_rate : float, default=0.5
        For "sgd" only: angle, in radians, of the first steps; it falls to zero over `max_iter` steps.
    max_iter : int, default=500
        Maximum number of steps of either solver.
    tol : float, default=1e-10
        For "exact" only: stop when a step gains less than this share of the objective.
    random_state : int, RandomState or None, default=None
        For "sgd" only: seed of the drawn pairs and of the start.
    precision : {None, "float32", "float64"}, default=None
        Number type of the computation and of the output; rows are converted block by block. None: float32 and float64
        rows are used as they are, half precision is computed in float32, and the output has the type of the input.
    standardize : bool, default=False
        Divide columns by their standard deviations σ before fitting, which is needed for the states of language models.
        An axis w found this way is returned as w / σ, scaled to unit length, so that it applies to the original rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_axes, d)
        Orthonormal axes as rows; the axes of the signals follow each other.
    objective_ : float or None
        Objective of axis 0 over all ordered pairs ("exact"); None for "sgd" with several axes or signals.
    loss_history_ : ndarray
        Batch loss after each step ("sgd"); the negated objective of each axis ("exact").
    n_iter_ : int
        Number of steps ("exact": of the best start, for the last axis).

    References
    ----------
    .. [1] S. Rothe, S. Ebert and H. Schütze. Ultradense Word Embeddings by Orthogonal Transformation. NAACL 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import DensRay, Densifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 50)
    >>> X = rng.normal(size=(100, 5)) + 2 * y[:, None] * np.eye(5)[3]
    >>> Densifier().fit(X, y).components_[0].round(1)[3]
    np.float64(1.0)
    """

    objective_: float | None
    n_iter_: int
    loss_history_: NDArray[np.float64]

    def __init__(
        self,
        n_components: int | Sequence[int] | None = 1,
        *,
        solver: str = "auto",
        weights: str | tuple[float, float] = "balanced",
        center_labels: bool = True,
        orthogonalization: str = "polar",
        batch_size: int = 1000,
        learning_rate: float = 0.5,
        max_iter: int = 500,
        tol: float = 1e-10,
        random_state: int | np.random.RandomState | None = None,
        precision: Precision = None,
        standardize: bool = False,
    ) -> None:
        self.n_components = n_components  # type: ignore[assignment]
        self.solver = solver
        self.weights = weights
        self.center_labels = center_labels
        self.orthogonalization = orthogonalization
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.precision = precision
        self.standardize = standardize

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None, *, groups: Array | None = None) -> Self:
        """Find the axes.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,) or (n, n_signals)
            Two classes or real scores. Several columns are one signal each, with NaN for words without a label.
        sample_weight : array of shape (n,), optional
            Weight of each row.
        groups : array of shape (n,), optional
            Accepted for compatibility with other rotations; ignored.
        """
        self._check_parameters()
        shape = tuple(label_array(y).shape)
        if len(shape) != 2 or shape[1] == 1:
            return super().fit(X, y, sample_weight, groups=groups)
        if self.solver == "exact":
            raise DensRayError(
                Argument("solver", "exact"),
                f" needs exactly one signal; {shape[1]} were given.",
                Advice(" Use ", Argument("solver", "sgd"), " for a joint rotation, or SequentialRotation."),
            )
        X = check_vectors(self, X, reset=True)
        weight = check_weights(sample_weight, X)
        X, y, weight = drop_weightless(X, y, weight)
        signals = read_signals(y, X.shape[0])
        counts = self._axes_of_signals(len(signals), X.shape[1])
        self.classes_ = None
        self.objective_ = None
        columns = Columns.of_rows(X, weight, standardize=self.standardize)
        axes = columns.axes(self._descend(columns.rows(X), signals, counts, weight))
        self.components_ = complete_basis(axes) if self.n_components is None else axes
        return self

    def score(self, X: Array, y: Array, *, groups: Array | None = None) -> float:
        """Return Kendall's τ-b of axis 0; with several signals, the mean over their first axes."""
        if np.ndim(to_host(y)) != 2 or to_host(y).shape[1] == 1:
            return super().score(X, y, groups=groups)
        self._check_fitted()
        table = to_host(y)
        firsts = np.cumsum([0, *self._axes_of_signals(table.shape[1], self.n_features_in_)])[:-1]
        return score_signals(self, X, table, firsts.tolist(), groups)

    def _find_axes(
        self, X: Array, labels: Labels, n_components: int | None, sample_weight: Array | None
    ) -> NDArray[np.float64]:
        if self.solver == "sgd" or X.shape[0] <= FEW_ROWS or (is_foreign(X) and not is_tensor(X)):
            X, labels = to_host(X), Labels(to_host(labels.values), labels.classes)
            sample_weight = None if sample_weight is None else to_host(sample_weight)
        count = 1 if n_components is None else n_components
        xp = namespace(X)
        weight = xp.ones_like(labels.values) if sample_weight is None else xp.astype(sample_weight, xp.float64)
        if self.solver == "sgd":
            axes = self._descend(X, [(np.arange(X.shape[0]), labels)], [count], weight)
        else:
            self.loss_history_ = np.empty(0)
            axes = repeat_in_complement(X, count, lambda Z: self._climb(Z, labels, weight))
        self.objective_ = self._objective(X, labels, weight)(axes[0])[0]
        axes = orient(axes, label_covariance(X, labels, weight))
        return complete_basis(axes) if n_components is None else axes

    def _climb(self, X: Array, labels: Labels, weight: Array) -> NDArray[np.float64]:
        """Return the best axis found from deterministic starts: the maximum, or for few rows the best known one."""
        few = float(weight.sum()) <= FEWEST_ROWS
        rows, basis = _in_row_space(X, weight) if few else (X, None)  # other directions do not change the objective
        objective = self._objective(rows, labels, weight)
        starts = self._starts(rows, labels, weight)
        optima = [ascend(objective, q, max_iter=self.max_iter, tol=self.tol) for q in starts]
        optima.sort(key=lambda each: -each[1])
        best, value, self.n_iter_, converged = optima[0]
        if few:
            polished = [polish(objective, q) for q, *_ in optima[:POLISHED_AXES]]
            best, value = max(polished, key=lambda each: each[1])
        self.loss_history_ = np.append(self.loss_history_, -value)
        if not converged:
            warnings.warn(
                f"the exact Densifier did not converge in max_iter={self.max_iter} steps. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return best if basis is None else unit(best @ basis)

    def _starts(self, X: Array, labels: Labels, weight: Array) -> list[NDArray[np.float64]]:
        starts = []
        direction = label_covariance(X, labels, weight)
        if np.linalg.norm(direction) > 0:
            starts.append(unit(direction))
        n_rows = float(weight.sum())  # weights count as copies of rows
        small = n_rows <= FEW_ROWS
        weights = None if bool((weight == 1.0).all()) else namespace(X).astype(weight, X.dtype)
        for normalize in (False, True) if small else (False,):
            axes = densray_axes(
                TrainingRows(X, labels, weights),
                count=None if n_rows <= FEWEST_ROWS else 1,
                weights=self.weights,
                normalize=normalize,
                center=self.center_labels,
            )
            starts += list(axes[:LEADING_STARTS])
        if small:
            # Random directions in the principal axes of the rows, so that the solver is rotation-equivariant.
            count = min(RANDOM_STARTS, int(RANDOM_STARTS * FEWEST_ROWS / max(n_rows, 1.0)))
            centred = X - np.average(X, axis=0, weights=weight)
            spreads, vectors = np.linalg.eigh((centred * weight[:, None]).T @ centred)
            axes = vectors.T[spreads > 1e-6 * spreads[-1]][::-1]  # the span of the rows, widest first
            directions = np.random.default_rng(0).normal(size=(count, X.shape[1]))[:, : len(axes)]
            third = np.einsum("ij,i->j", (centred @ axes.T) ** 3, weight)  # fixes signs, also rotation-equivariant
            starts += [unit(q) for q in directions @ (axes * np.where(third < 0, -1.0, 1.0)[:, None])]
        return starts

    def _objective(self, X: Array, labels: Labels, weight: Array) -> SpreadObjective:
        return SpreadObjective(X, self._center(labels, weight), self._pair_weights(labels, weight), weight)

    def _center(self, labels: Labels, weight: Array) -> Labels:
        if labels.is_binary or not self.center_labels:
            return labels
        return Labels(labels.values - weight @ labels.values / weight.sum(), None)

    def _pair_weights(self, labels: Labels, weight: Array) -> PairWeights | None:
        if not labels.is_binary:
            return None
        low, high = (float(weight[rows].sum()) for rows in labels.class_rows)
        return PairWeights.resolve(self.weights, high, low)

    def _descend(
        self,
        X: Array,
        signals: list[tuple[NDArray[np.intp], Labels]],
        counts: list[int],
        weight: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """Return the axes of all signals, learned jointly from mini-batches of pairs."""
        X = to_host(X)
        weight = np.ones(X.shape[0]) if weight is None else to_host(weight).astype(np.float64)
        parts = []
        for (rows, labels), count in zip(signals, counts, strict=True):
            centred = self._center(labels, weight[rows])
            parts.append(Signal(rows, centred, self._pair_weights(centred, weight[rows]), weight[rows], count))
        descent = PairDescent(
            X,
            parts,
            batch_size=self.batch_size,
            rate=self.learning_rate,
            orthogonalization=self.orthogonalization,
        )
        axes, losses, slope = descent.run(self.max_iter, check_random_state(self.random_state))
        self.loss_history_ = losses
        self.n_iter_ = self.max_iter
        if slope > 0.02:
            warnings.warn(
                f"the sgd Densifier has not settled after max_iter={self.max_iter} steps: {slope:.0%} of the squared "
                "gradient still points uphill. Raise max_iter, or change learning_rate.",
                ConvergenceWarning,
                stacklevel=3,
            )
        start = 0
        for (rows, labels), count in zip(signals, counts, strict=True):
            part = slice(start, start + count)
            axes[part] = orient(axes[part], label_covariance(X[rows], labels, weight[rows]))
            start += count
        return axes

    def _axes_of_signals(self, n_signals: int, width: int) -> list[int]:
        requested = 1 if self.n_components is None else self.n_components
        counts = list(requested) if isinstance(requested, list | tuple | np.ndarray) else [requested] * n_signals
        whole = all(isinstance(count, int | np.integer) and not isinstance(count, bool) for count in counts)
        if len(counts) != n_signals or not whole or min(counts) < 1 or sum(counts) > width:
            raise DensRayError(
                Argument("n_components", self.n_components),
                f" is given for {n_signals} signals at width {width}; one whole number of at least 1 per signal, "
                f"{width} in all at most, is needed.",
            )
        return [int(count) for count in counts]

    def _check_parameters(self) -> None:
        for name, choices in (("solver", SOLVERS), ("orthogonalization", tuple(ORTHOGONALIZATIONS))):
            value = getattr(self, name)
            if value not in choices:
                raise DensRayError(
                    Argument(name, value), f" is given; one of {', '.join(map(repr, choices))} is needed."
                )
        for name, kind in (("batch_size", int), ("max_iter", int), ("learning_rate", float), ("tol", float)):
            value = getattr(self, name)
            number = isinstance(value, int | np.integer) or (kind is float and isinstance(value, float | np.floating))
            if not number or isinstance(value, bool) or value < 0 or (value == 0 and name != "tol"):
                requirement = "a whole number above 0" if kind is int else "a number above 0"
                raise DensRayError(Argument(name, value), f" is given; {requirement} is needed.")


def _in_row_space(
    X: NDArray[np.floating], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the centred rows in an orthonormal basis of their differences, and the basis."""
    centred = X - np.average(X, axis=0, weights=weight)
    _, sizes, axes = np.linalg.svd(centred * np.sqrt(weight)[:, None], full_matrices=False)
    axes = axes[sizes > 1e-9 * sizes[0]] if sizes[0] > 0 else axes[:1]
    return centred @ axes.T, axes
