"""Checkpoints: the statistics of a fit on disk, from which it continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, is_foreign, namespace, to_host
from densray._files import ArchiveKind, read_archive, write_archive
from densray._vocabulary import spread_rows
from densray.errors import PersistenceError
from densray.moments import ClassMoments, Moments, ScoreMoments
from densray.persistence import encode_parameters
from densray.rotations import Rotation
from densray.rotations.blocks import BlockStatistics, RowSample, Stratum

_KIND = ArchiveKind("densray-statistics", 1, "checkpoint", "Name another file, or delete it to start again.")
_DIGEST_BYTES = 16
_DIGEST_ROWS = 8


@dataclass
class Checkpoint:
    """The state of a fit: one digest per block done, and the statistics of all of them."""

    method: str
    parameters: dict[str, Any]
    seed: int
    statistics: BlockStatistics | None = None
    digests: list[bytes] = field(default_factory=list)

    @classmethod
    def begin(cls, rotation: Rotation, seed: int) -> Checkpoint:
        """Return the state of a fit that has seen nothing yet."""
        return cls(type(rotation).__name__, json.loads(json.dumps(encode_parameters(rotation))), seed)

    def write(self, path: Path) -> None:
        """Write the state; an interrupted write leaves the old file as it was."""
        header: dict[str, Any] = {"method": self.method, "parameters": self.parameters, "seed": self.seed}
        arrays = {"digests": np.frombuffer(b"".join(self.digests), dtype=np.uint8)}
        if self.statistics is not None:
            header["statistics"], more = _encode(self.statistics)
            arrays.update(more)
        write_archive(path, _KIND, header, arrays, overwrite=True)

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """Return the state a file holds; a file that is not a checkpoint is a named error."""
        header, arrays = read_archive(path, _KIND)
        try:
            raw = arrays.pop("digests").tobytes()
            digests = [raw[start : start + _DIGEST_BYTES] for start in range(0, len(raw), _DIGEST_BYTES)]
            statistics = _decode(header["statistics"], arrays) if "statistics" in header else None
            return cls(header["method"], header["parameters"], int(header["seed"]), statistics, digests)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PersistenceError(
                f"{path} is not a readable checkpoint (the header: {error}). {_KIND.remedy}"
            ) from error

    def check_same_fit(self, other: Checkpoint, path: Path) -> None:
        """Raise unless another fit has the same method and parameters."""
        if self.method != other.method:
            raise PersistenceError(
                f"{path} is the checkpoint of a {other.method}, not a {self.method}. Name another file, or delete it."
            )
        names = {*self.parameters, *other.parameters}
        changed = sorted(name for name in names if self.parameters.get(name) != other.parameters.get(name))
        if changed:
            shown = ", ".join(f"{name}={other.parameters.get(name)!r}" for name in changed)
            raise PersistenceError(
                f"{path} is the checkpoint of a fit with other parameters ({shown}). Name another file, or delete it."
            )


def block_digest(X: Array, y: Array, weight: Array | None) -> bytes:
    """Return a digest of a block: its shape, labels and weights, and a few rows spread over it."""
    digest = hashlib.blake2b(repr((tuple(X.shape), str(X.dtype))).encode(), digest_size=_DIGEST_BYTES)
    n_rows = int(X.shape[0])
    rows = spread_rows(n_rows, _DIGEST_ROWS)
    for part in (namespace(X).take(X, array_on(rows, X), axis=0), y, weight):
        if part is not None:
            array = to_host(part) if is_foreign(part) else np.asarray(part)
            array = array.astype(str) if array.dtype == object else array
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _encode(statistics: BlockStatistics) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return statistics as values for the header, and arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    header: dict[str, Any] = {name: getattr(statistics, name) for name in ("n_rows", "n_zero", "width", "precision")}
    moments = statistics.moments
    if isinstance(moments, ClassMoments):
        header["classes"] = [[label, group.weight] for label, group in moments.groups.items()]
        for number, group in enumerate(moments.groups.values()):
            arrays[f"class{number}.mean"] = to_host(group.mean)
            if group.scatter is not None:
                arrays[f"class{number}.scatter"] = to_host(group.scatter)
    else:
        header["scores"] = {name: getattr(moments, name) for name in ("weight", "score", "origin")}
        for name in _SUMS:
            value = getattr(moments, name)
            if value is not None:
                arrays[f"scores.{name}"] = to_host(value)
    if statistics.sample is not None:
        strata = statistics.sample.strata
        header["sample"] = {
            "limit": statistics.sample.limit,
            "strata": [[label, stratum.seen] for label, stratum in strata.items()],
        }
        for number, stratum in enumerate(strata.values()):
            for name, column in zip(_COLUMNS, stratum.columns(), strict=True):
                arrays[f"sample{number}.{name}"] = column.astype(str) if column.dtype == object else column
    return header, arrays


_SUMS = ("reference", "rows", "scored_rows", "scored_squares", "squared_rows")
_COLUMNS = ("priorities", "rows", "values", "weights")


def _decode(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> BlockStatistics:
    moments: ClassMoments | ScoreMoments
    if "classes" in header:
        groups = {}
        for number, (label, weight) in enumerate(header["classes"]):
            groups[label] = Moments(weight, arrays[f"class{number}.mean"], arrays.get(f"class{number}.scatter"))
        moments = ClassMoments(groups)
    else:
        sums: dict[str, Any] = {name: arrays.get(f"scores.{name}") for name in _SUMS}
        moments = ScoreMoments(**header["scores"], **sums)
    sample = None
    if "sample" in header:
        strata = {}
        for number, (label, seen) in enumerate(header["sample"]["strata"]):
            strata[label] = Stratum(seen, *(arrays[f"sample{number}.{name}"] for name in _COLUMNS))
        sample = RowSample(header["sample"]["limit"], strata)
    return BlockStatistics(header["n_rows"], header["n_zero"], header["width"], header["precision"], moments, sample)
