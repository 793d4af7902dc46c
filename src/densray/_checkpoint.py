"""Checkpoints of streamed fits: the sums over the blocks so far, and a digest of every row in them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, is_foreign, to_host
from densray._files import ArchiveKind
from densray.errors import Argument, PersistenceError
from densray.journal import add_to_hash, read_part, write_part
from densray.moments import ClassMoments, Moments, ScoreMoments
from densray.persistence import encode_parameters
from densray.rotations import Rotation
from densray.rotations.blocks import BlockStatistics

_KIND = ArchiveKind("densray-checkpoint", 1, "checkpoint", "Name another file, or delete it to start again.")
_PARTS = (BlockStatistics, ClassMoments, Moments, ScoreMoments)


@dataclass
class Checkpoint:
    """The state of a streamed fit: one digest per block so far, and the statistics of all of them."""

    method: str
    parameters: dict[str, Any]
    statistics: BlockStatistics | None = None
    digests: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, rotation: Rotation) -> Checkpoint:
        """Return the state of a fit before its first block."""
        return cls(type(rotation).__name__, json.loads(json.dumps(encode_parameters(rotation))))

    def write(self, path: Path) -> None:
        """Write the state; an interrupted write leaves the old file as it was."""
        write_part(path, "checkpoint", self, kind=_KIND)

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """Return the state stored in a file; raise a PersistenceError if it is not a checkpoint."""
        state = read_part(path, "checkpoint", cls, *_PARTS, kind=_KIND)
        problem = next(_problems(state), None)
        if problem is not None:
            raise PersistenceError(f"{path}: its {problem} cannot be used. {_KIND.remedy}")
        checkpoint: Checkpoint = state
        return checkpoint

    def check_same_fit(self, other: Checkpoint, path: Path) -> None:
        """Raise unless another fit has the same method and parameters."""
        if self.method != other.method:
            raise PersistenceError(
                f"{path} is the checkpoint of a {other.method}, not a {self.method}. Name another file, or delete it."
            )
        names = {*self.parameters, *other.parameters}
        changed = sorted(name for name in names if self.parameters.get(name) != other.parameters.get(name))
        if changed:
            first, *others = (Argument(name, other.parameters.get(name)) for name in changed[:3])
            raise PersistenceError(
                f"{path} is the checkpoint of a fit with different parameters (",
                first,
                *(part for each in others for part in (", ", each)),
                "). Name another file, or delete it.",
            )


def block_digest(X: Array, y: Array, weight: Array | None) -> str:
    """Return a digest of every row, label and weight of a block."""
    hasher = hashlib.sha256()
    for part in (X, y, weight):
        array = to_host(part) if is_foreign(part) else None if part is None else np.asarray(part)
        add_to_hash(hasher, array.astype(str) if array is not None and array.dtype.hasobject else array)
    return hasher.hexdigest()


def _problems(state: Any) -> Iterator[str]:
    """Yield entries that no fit can have written: the checksum detects damage, this detects files of other programs."""
    if not isinstance(state, Checkpoint):
        yield "content"
        return
    digests, statistics = state.digests, state.statistics
    if not isinstance(digests, list) or not all(isinstance(each, str) for each in digests):
        yield "digests"
    elif not isinstance(statistics, BlockStatistics | None) or (statistics is not None and not digests):
        yield "statistics"
    if not isinstance(state.method, str):
        yield "method"
    if not isinstance(state.parameters, dict) or not all(isinstance(name, str) for name in state.parameters):
        yield "parameters"
    if isinstance(statistics, BlockStatistics):
        yield from _problems_of_statistics(statistics)


def _problems_of_statistics(statistics: BlockStatistics) -> Iterator[str]:
    width, moments = statistics.width, statistics.moments
    if not _is_count(width, 1) or not _is_count(statistics.n_rows, 1):
        yield "width or number of rows"
    elif not _is_count(statistics.n_zero) or statistics.n_zero > statistics.n_rows:
        yield "number of zero rows"
    elif not _is_number(statistics.rounding, 0.0):
        yield "rounding"
    elif isinstance(moments, ClassMoments) and isinstance(moments.by_class, dict) and moments.by_class:
        if not all(map(_is_label, moments.by_class)):
            yield "classes"
        for group in moments.by_class.values():
            yield from _problems_of_class(group, width)
    elif isinstance(moments, ScoreMoments):
        numbers = (moments.score, moments.origin)
        columns = (moments.reference, moments.rows, moments.scored_rows)
        if not (_is_number(moments.weight, 0.0) and all(map(_is_number, numbers))):
            yield "sums of scores"
        squares, spread = moments.scored_squares, moments.squared_rows
        if not all(_is_array(column, width) for column in columns) or not (
            (squares is None or _is_array(squares, width, width)) and (spread is None or _is_array(spread, width))
        ):
            yield "sums of rows"
    else:
        yield "moments"


def _problems_of_class(group: Any, width: int) -> Iterator[str]:
    if not isinstance(group, Moments) or not _is_number(group.weight, 0.0) or not _is_array(group.mean, width):
        yield "classes"
    elif group.scatter is not None:
        scatter = group.scatter
        if not _is_array(scatter, width, width):
            yield "scatter"
            return
        size = max(float(np.abs(scatter).max()), 1e-300)
        if np.abs(scatter - scatter.T).max() > 1e-6 * size or np.diagonal(scatter).min() < -1e-6 * size:
            yield "scatter"


def _is_count(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any, least: float = -math.inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= least


def _is_label(value: Any) -> bool:
    return value is None or isinstance(value, str) or _is_number(value)


def _is_array(value: Any, *shape: int | None, kinds: str = "f") -> bool:
    """Return whether a value is an array with this shape (None: any length), this kind of dtype and finite numbers."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds or value.ndim != len(shape):
        return False
    array: NDArray[Any] = value
    same = all(expected in (None, length) for expected, length in zip(shape, array.shape, strict=True))
    return same and (array.dtype.kind != "f" or bool(np.isfinite(array).all()))
