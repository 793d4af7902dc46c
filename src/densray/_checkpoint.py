"""Checkpoints: the statistics of a fit on disk, from which it continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, array_on, is_foreign, namespace, to_host
from densray._files import ArchiveKind, Contents, read_archive, write_archive
from densray._vocabulary import spread_rows
from densray.errors import PersistenceError, shorten
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
        contents = Contents(path, _KIND, *read_archive(path, _KIND))
        raw = contents.array("digests", None, kinds="u").tobytes()
        if len(raw) % _DIGEST_BYTES or bool(raw) != ("statistics" in contents.values):
            raise contents.refusal("digests")
        digests = [raw[start : start + _DIGEST_BYTES] for start in range(0, len(raw), _DIGEST_BYTES)]
        statistics = _decode(contents.part("statistics")) if raw else None
        return cls(
            contents.value("method", str),
            contents.value("parameters", dict),
            contents.value("seed", int, least=0),
            statistics,
            digests,
        )

    def check_same_fit(self, other: Checkpoint, path: Path) -> None:
        """Raise unless another fit has the same method and parameters."""
        if self.method != other.method:
            raise PersistenceError(
                f"{path} is the checkpoint of a {other.method}, not a {self.method}. Name another file, or delete it."
            )
        names = {*self.parameters, *other.parameters}
        changed = sorted(name for name in names if self.parameters.get(name) != other.parameters.get(name))
        if changed:
            shown = ", ".join(f"{name}={shorten(other.parameters.get(name))}" for name in changed[:3])
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


def _decode(contents: Contents) -> BlockStatistics:
    """Return statistics from what :func:`_encode` returned; numbers that cannot be sums over rows are refused."""
    width, n_rows = contents.value("width", int, least=1), contents.value("n_rows", int, least=1)
    n_zero = contents.value("n_zero", int, least=0)
    if n_zero > n_rows:
        raise contents.refusal("n_zero")
    moments: ClassMoments | ScoreMoments
    if "classes" in contents.values:
        moments = ClassMoments(dict(_classes(contents, width)))
    else:
        scores = contents.part("scores")
        moments = ScoreMoments(
            weight=scores.value("weight", int, float, least=0.0),
            score=scores.value("score", int, float),
            reference=contents.array("scores.reference", width),
            rows=contents.array("scores.rows", width),
            scored_rows=contents.array("scores.scored_rows", width),
            scored_squares=_if_kept(contents, "scores.scored_squares", width, width),
            origin=scores.value("origin", int, float),
            squared_rows=_if_kept(contents, "scores.squared_rows", width),
        )
    sample = _row_sample(contents, width) if "sample" in contents.values else None
    precision = contents.value("precision", float, least=0.0)
    return BlockStatistics(n_rows, n_zero, width, precision, moments, sample)


def _classes(contents: Contents, width: int) -> Iterator[tuple[Any, Moments]]:
    """Yield each class with its moments: a weight, a mean, and where it was kept a symmetric scatter."""
    for number, (label, total) in enumerate(_pairs(contents, "classes")):
        mean, name = contents.array(f"class{number}.mean", width), f"class{number}.scatter"
        scatter = _if_kept(contents, name, width, width)
        if scatter is not None:
            size = max(float(np.abs(scatter).max()), 1e-300)
            if np.abs(scatter - scatter.T).max() > 1e-6 * size or np.diagonal(scatter).min() < -1e-6 * size:
                raise contents.refusal(name)
        yield label, Moments(total, mean, scatter)


def _if_kept(contents: Contents, name: str, *shape: int) -> NDArray[Any] | None:
    return contents.array(name, *shape) if name in contents.arrays else None


def _row_sample(contents: Contents, width: int) -> RowSample:
    part, strata = contents.part("sample"), {}
    for number, (label, seen) in enumerate(_pairs(part, "strata")):
        priorities = contents.array(f"sample{number}.priorities", None)
        n_rows = len(priorities)
        columns = (
            contents.array(f"sample{number}.rows", n_rows, width),
            contents.array(f"sample{number}.values", n_rows, kinds="biufU"),
            contents.array(f"sample{number}.weights", n_rows),
        )
        strata[label] = Stratum(seen, priorities, *columns)
    return RowSample(part.value("limit", int, least=1), strata)


def _pairs(contents: Contents, name: str) -> list[tuple[Any, Any]]:
    """Return pairs of a label and a number that is not negative; no label twice."""
    pairs = contents.listed(name, list)
    for pair in pairs:
        if len(pair) != 2 or isinstance(pair[0], list | dict):
            raise contents.refusal(name)
        contents.checked(name, pair[1], int, float, least=0)
    if not pairs or len({label for label, _ in pairs}) < len(pairs):
        raise contents.refusal(name)
    return [(label, number) for label, number in pairs]
