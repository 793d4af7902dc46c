"""The input of a fit: checked rows with labels and weights, and the sums over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, given_rows, in_blocks, namespace, to_host
from densray._files import is_memory_mapped
from densray.moments import ClassMoments, LabelMoments, MomentParts, ScoreMoments
from densray.rotations._labels import Labels, read_groups, read_labels
from densray.rotations._rows import check_vectors, check_weights, checked_moments, drop_weightless, rounding_of


@dataclass(frozen=True)
class TrainingRows:
    """Checked rows with their labels and weights; rows of weight zero are left out."""

    X: Array
    labels: Labels
    weight: Array | None  # None if all weights are equal

    @property
    def are_on_disk(self) -> bool:
        """Whether the rows are a memory map."""
        return is_memory_mapped(given_rows(self.X))

    @property
    def rounding(self) -> float:
        """The rounding unit of products with these rows."""
        return rounding_of(self.X)


def check_training_rows(
    estimator: Any,
    X: Array,
    y: Array,
    sample_weight: Array | None,
    groups: Array | None,
    *,
    classes_only: bool = False,
    finite: bool = True,
) -> TrainingRows:
    """Return rows, labels and weights for a fit; the width of the rows is stored in the estimator.

    Parameters
    ----------
    estimator : Rotation
    X, y, sample_weight, groups
        The arguments of `fit`.
    classes_only : bool, default=False
        Refuse scores.
    finite : bool, default=True
        Check for rows that are not finite. False if the caller uses `gather_moments`, whose sums reveal them.
    """
    namespace(X, y, sample_weight)  # all on one device
    X = check_vectors(estimator, X, reset=True, finite=finite)
    members = read_groups(groups, X.shape[0])
    weight = check_weights(sample_weight, X)
    if members is not None:
        _, members, _ = drop_weightless(X, members, weight)
    X, y, weight = drop_weightless(X, y, weight)
    labels = read_labels(y, X.shape[0], classes_only=classes_only).on_device_of(X)
    return TrainingRows(X, replace(labels, groups=members), weight)


def gather_moments(rows: TrainingRows, parts: MomentParts) -> LabelMoments:
    """Return the moments of the rows of each class, or of rows with scores, gathered block by block."""
    return checked_moments(rows.X, lambda: _moments(rows, parts))


def _moments(rows: TrainingRows, parts: MomentParts) -> LabelMoments:
    X, labels, weight = rows.X, rows.labels, rows.weight
    if labels.classes is None:
        return ScoreMoments.of(X, labels.values, weight, squares=parts.squares, spread=parts.spread)
    by_sign = ClassMoments.of(X, labels.values, (-1.0, 1.0), weight, scatter=parts.scatter).by_class
    return ClassMoments(
        {value: by_sign[sign] for value, sign in zip(labels.classes.tolist(), (-1.0, 1.0), strict=True)}
    )


def label_covariance(X: Array, labels: Labels, weight: Array | None) -> NDArray[np.float64]:
    """Return Σ w (l - mean l) x, which points to the higher label."""
    xp = namespace(X)
    values = xp.astype(labels.values, xp.float64)
    weights = xp.ones_like(values) if weight is None else xp.astype(weight, xp.float64)
    centred = values - xp.sum(weights * values) / xp.sum(weights)  # in float64: scores may be far from zero
    weighted_labels = xp.astype(weights * centred, X.dtype)
    total = np.zeros(X.shape[1])
    for part in in_blocks(X, lambda block: xp.astype(weighted_labels[block] @ X[block, :], xp.float64)):
        total += to_host(part)
    return total
