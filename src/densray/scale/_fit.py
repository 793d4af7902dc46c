"""Fits over blocks of rows that come one after the other, in memory that does not grow with their number."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from densray.arrays import Array
from densray.errors import PersistenceError, VectorError
from densray.memory_maps import release_pages
from densray.rotations import Rotation
from densray.rotations._gathering import Gatherer, check_block, check_width
from densray.scale._checkpoint import Checkpoint, block_digest

__all__ = ["fit_blocks"]

AnyRotation = TypeVar("AnyRotation", bound=Rotation)
Block = tuple[Array, Array, "Array | None"]


def fit_blocks(
    rotation: AnyRotation,
    blocks: Iterable[Any],
    *,
    checkpoint: str | Path | None = None,
    interval: float = 30.0,
    progress: Callable[[int, int | None], None] | None = None,
) -> AnyRotation:
    """Return the rotation fitted on all blocks, as `fit` would on their rows together.

    One block is held at a time, and statistics of d × d numbers.

    Parameters
    ----------
    rotation : DensRay or MeanDifference
        With plain differences, or with unit-length ones of sampled pairs (``n_partners``).
    blocks : iterable of (X, y) or (X, y, sample_weight)
        See :func:`labelled_blocks` for arrays, files and spaces. A sequence is taken up after a stop without reading
        what was done; any other iterable is read again up to there.
    checkpoint : path, optional
        A file to keep the statistics in. If it exists, the fit goes on from there and ends with the same axes, to the
        bit; blocks added since are added to it. A checkpoint of other data or parameters is an error.
    interval : float, default=30
        Seconds between two writes of the checkpoint; it is also written at the end and when an error stops the fit.
    progress : callable, optional
        Called with the rows done and the rows in all (None where that is not known).

    Examples
    --------
    >>> import numpy as np
    >>> from densray import DensRay
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> y = np.sign(X[:, 0])
    >>> streamed = fit_blocks(DensRay(), ((X[i : i + 100], y[i : i + 100]) for i in range(0, 1000, 100)))
    >>> bool(np.allclose(streamed.components_, DensRay().fit(X, y).components_))
    True
    """
    gatherer = Gatherer.of(rotation, "a stream of blocks")
    state, path = _take_up(rotation, gatherer, checkpoint)
    gatherer = replace(gatherer, seed=state.seed)
    total = getattr(blocks, "n_rows", None)
    written = time.monotonic()
    try:
        for number, (X, y, weight) in _remaining(blocks, state, path):
            statistics = gatherer.gather(number, X, y, weight)
            if statistics is not None:
                check_width(number, statistics.width, state.statistics.width if state.statistics else None)
                state.statistics = gatherer.merge(state.statistics, statistics)
            state.digests.append(block_digest(X, y, weight))
            release_pages(X)
            if path is not None and time.monotonic() - written >= interval:
                state.write(path)
                written = time.monotonic()
            if progress is not None:
                progress(state.statistics.n_rows if state.statistics else 0, total)
    except Exception:  # a bad block: what was good so far need not be done again
        if path is not None and state.digests:
            state.write(path)
        raise
    if not state.digests:
        raise VectorError("there are no blocks: the iterable is empty. Was it a generator that was used already?")
    if path is not None:
        state.write(path)
    gatherer.fit(rotation, state.statistics)
    return rotation


def _take_up(rotation: Rotation, gatherer: Gatherer, checkpoint: str | Path | None) -> tuple[Checkpoint, Path | None]:
    """Return how far the fit is, and where to keep that."""
    state = Checkpoint.begin(rotation, gatherer.seed)
    if checkpoint is None:
        return state, None
    path = Path(checkpoint)
    if path.exists():
        earlier = Checkpoint.read(path)
        state.check_same_fit(earlier, path)
        state = earlier
    return state, path


def _remaining(blocks: Iterable[Any], state: Checkpoint, path: Path | None) -> Iterator[tuple[int, Block]]:
    """Yield the blocks that are not done yet, with their numbers, after making sure that the others are the same."""
    done = len(state.digests)
    if isinstance(blocks, Sequence):
        numbers: Iterable[int] = [*sorted({0, done - 1} if done else ()), *range(done, len(blocks))]
        if len(blocks) < done:
            raise _too_short(path, done, len(blocks))
        numbered: Iterable[tuple[int, Any]] = ((number, blocks[number]) for number in numbers)
    else:
        numbered = enumerate(blocks)
    last = -1
    for last, raw in numbered:
        block = check_block(last, raw)
        if last >= done:
            yield last, block
        elif block_digest(*block) != state.digests[last]:
            raise PersistenceError(
                f"{path} is the checkpoint of other data: block {last} is not the one it has seen. "
                "Name another file, or delete it to start anew."
            )
    if last + 1 < done:
        raise _too_short(path, done, last + 1)


def _too_short(path: Path | None, done: int, given: int) -> PersistenceError:
    return PersistenceError(
        f"{path} has seen {done} blocks, but only {given} are given: it is the checkpoint of other data. "
        "Name another file, or delete it to start anew."
    )
