"""Several named concepts in one rotation, each found in the complement of the earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from densray._arrays import Array, array_on, label_array, take_rows, to_host, unconverted_rows
from densray.errors import Advice, Argument, DensRayError, LabelError
from densray.rotations._agreement import score_signals
from densray.rotations._base import Precision, Rotation
from densray.rotations._basis import complete_basis, repeat_in_complement
from densray.rotations._columns import Columns
from densray.rotations._densray import DensRay
from densray.rotations._labels import Labels, read_groups, read_signals
from densray.rotations._rows import check_vectors, check_weights, drop_weightless


class SequentialRotation(Rotation):
    """Rotation with one named axis per concept: a closed-form solution for several signals.

    For the axis of concept j, the rows are projected onto the complement of the earlier axes, and `rotation` is fitted
    to the labels there. The order of the columns of `y` is therefore an order of precedence.

    Parameters
    ----------
    rotation : rotation or None, default=None
        The method (default: ``DensRay(1)``). It is cloned for each concept.
    n_components : int or None, default=None
        Number of axes to keep, at least one per concept; the others complete the basis. None keeps all: a lossless
        rotation.
    names : sequence of str or None, default=None
        Names of the concepts, one per column of `y`; they become the names of the features.
    precision : {None, "float32", "float64"}, default=None
        Number type of the computation and of the output; rows are converted block by block. None: float32 and float64
        rows are used as they are, half precision is computed in float32, and the output has the type of the input.
    standardize : bool, default=False
        Divide columns by their standard deviations σ before fitting, which is needed for the states of language models.
        An axis w found this way is returned as w / σ, scaled to unit length, so that it applies to the original rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Orthonormal axes as rows, the concepts first, in the order of the columns of `y`.
    rotations_ : list
        The rotation fitted for each concept, in the coordinates of its complement.
    n_concepts_ : int
        Number of axes that are concepts.

    Examples
    --------
    >>> import numpy as np
    >>> from densray import SequentialRotation
    >>> X = np.eye(3)[[0, 0, 1, 1]] + np.eye(3)[[2, 1, 2, 1]]
    >>> y = np.array([[1, 1], [1, -1], [-1, np.nan], [-1, np.nan]])
    >>> both = SequentialRotation(names=["first", "second"]).fit(X, y)
    >>> both.get_feature_names_out().tolist()
    ['first', 'second', 'sequentialrotation2']
    """

    n_concepts_: int
    rotations_: list[Rotation]

    def __init__(
        self,
        rotation: Rotation | None = None,
        *,
        n_components: int | None = None,
        names: Sequence[str] | None = None,
        precision: Precision = None,
        standardize: bool = False,
    ) -> None:
        self.rotation = rotation
        self.n_components = n_components
        self.names = names
        self.precision = precision
        self.standardize = standardize

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None, *, groups: Array | None = None) -> Self:
        """Find one axis per concept.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,) or (n, n_concepts)
            One column per concept: two classes or real scores, NaN for words without a label.
        sample_weight : array of shape (n,), optional
        groups : array of shape (n,), optional
            Rows that belong together, as for every rotation.
        """
        X = check_vectors(self, X, reset=True)
        members = read_groups(groups, X.shape[0])
        weight = check_weights(sample_weight, X)
        if members is not None:
            _, members, _ = drop_weightless(X, members, weight)
        X, labels, weight = drop_weightless(X, _as_columns(y), weight)
        signals = read_signals(labels, X.shape[0])
        self._check_counts(len(signals), X.shape)
        self.rotations_ = []

        def find(Z: Array) -> NDArray[np.float64]:
            rows, signal = signals[len(self.rotations_)]  # each call finds the axis of the next concept
            index = array_on(rows, X)
            part = None if weight is None else weight[index]
            together = None if members is None else members[rows]
            self.rotations_.append(self._fitted(take_rows(Z, index), signal, part, together))
            axis: NDArray[np.float64] = self.rotations_[-1].components_[0]
            return axis

        columns = Columns.of_rows(X, weight, standardize=self.standardize)
        axes = columns.axes(repeat_in_complement(columns.rows(X), len(signals), find))
        self.n_concepts_ = len(axes)
        self.classes_ = signals[0][1].classes
        self.components_ = complete_basis(axes)[: self.n_components]
        return self

    def _fitted(self, Z: Array, signal: Labels, weight: Array | None, groups: Array | None) -> Rotation:
        """Return the method fitted to one concept, in the coordinates of its complement."""
        if self.rotation is not None and not isinstance(self.rotation, Rotation):
            raise DensRayError(
                f"rotation is a {type(self.rotation).__name__}; one rotation is needed, such as DensRay(1). It is "
                "fitted again for each column of y."
            )
        rotation: Rotation = clone(self.rotation) if self.rotation is not None else DensRay(1)
        if rotation.standardize:
            raise DensRayError(
                "the rotation inside a SequentialRotation cannot have ",
                Argument("standardize", True),
                ", because its columns are not those of X.",
                Advice(" Give ", Argument("standardize", True), " to the SequentialRotation instead."),
            )
        rotation.set_params(n_components=1)
        return rotation.fit(unconverted_rows(Z), signal.values, weight, groups=groups)

    def score(self, X: Array, y: Array, *, groups: Array | None = None) -> float:
        """Return the mean over the concepts of Kendall's τ-b between labels and coordinates."""
        self._check_fitted()
        return score_signals(self, X, _as_columns(y), list(range(self.n_concepts_)), groups)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the concepts, then numbered names for the axes that complete the basis."""
        self._check_fitted()
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)
        if self.names is not None:
            names[: self.n_concepts_] = list(self.names)
        return names

    def _check_counts(self, n_concepts: int, shape: tuple[int, int]) -> None:
        count = self._count_axes(*shape)
        if n_concepts > shape[1] or (count is not None and count < n_concepts):
            raise DensRayError(
                f"{n_concepts} concepts need one axis each; ",
                Argument("n_components", self.n_components),
                f" at width {shape[1]} are fewer.",
                Advice(" Raise ", Argument("n_components"), ", or give fewer columns of y."),
            )
        if self.names is not None and len(self.names) != n_concepts:
            raise DensRayError(
                f"{len(self.names)} names are given for {n_concepts} concepts; one per concept is needed."
            )


def _as_columns(y: Any) -> NDArray[np.float64]:
    if y is None:
        raise LabelError(
            "this estimator requires y to be passed, but the target y is None. Pass one column per concept."
        )
    host = to_host(label_array(y))
    if host.ndim not in (1, 2):
        raise LabelError(f"y has shape {host.shape}; one row per word and one column per concept are needed.")
    return host
