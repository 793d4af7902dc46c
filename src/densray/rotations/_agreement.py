"""Kendall's τ-b between coordinates and labels, over all rows or within groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, to_host
from densray.errors import LabelError
from densray.metrics import kendall_tau_within
from densray.rotations._labels import read_groups, read_signals

if TYPE_CHECKING:
    from densray.rotations._base import Rotation


def score_signals(
    rotation: Rotation, X: Array, table: NDArray[Any], axes: list[int], groups: Array | None = None
) -> float:
    """Return the mean τ-b over signals, between a column of labels (NaN: none) and the axis of the signal."""
    coordinates = to_host(rotation.transform(X))
    signals = read_signals(table, len(coordinates))
    if len(signals) != len(axes):
        raise LabelError(f"y has {len(signals)} columns; {len(axes)} signals were fitted. Pass one column per signal.")
    members = read_groups(groups, len(coordinates))
    taus = [
        kendall_tau_within(labels.values, coordinates[rows, axis], None if members is None else members[rows])
        for (rows, labels), axis in zip(signals, axes, strict=True)
    ]
    return float(np.mean(taus))
