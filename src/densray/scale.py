"""Fit rotations block by block, in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from densray._arrays import BLOCK_ROWS, Array
from densray._checkpoint import Checkpoint, block_digest
from densray._files import ZIP_MAGIC, release_pages
from densray.errors import (
    Argument,
    DensRayError,
    FormatError,
    LabelError,
    LexiconError,
    PersistenceError,
    VectorError,
    name_some,
    shorten,
)
from densray.formats import MatrixFile, open_archive, open_parquet, read_space
from densray.rotations import Rotation
from densray.rotations.blocks import BlockAccumulator, check_block, check_width
from densray.space import WordSpace, as_space, is_space

if TYPE_CHECKING:
    from densray.lexicon import Lexicon
    from densray.progress import Progress

__all__ = ["ArrayBlocks", "fit_blocks", "labelled_blocks"]

HostPair = tuple[NDArray[Any], NDArray[Any]]


def _npz_blocks(path: Path, labels: Any, rows: int, vectors: str | None) -> Iterator[HostPair]:
    """Return blocks of one matrix of an archive, compressed or not; labels may be another array of the archive."""
    matrix = open_archive(path, vectors=vectors)
    targets = matrix.column(labels) if isinstance(labels, str) and labels in matrix.columns else _labels_of(labels)
    _check_same_length(matrix.rows, len(targets))
    return _with_labels(matrix.blocks(rows), targets)


def _parquet_blocks(path: Path, labels: Any, rows: int, vectors: str | Sequence[str] | None) -> ArrayBlocks:
    """Return blocks of a table: vectors as a column of lists or columns of numbers, labels as a column or an array."""
    column = labels if isinstance(labels, str) and not labels.endswith(".npy") else None
    table = open_parquet(path, vectors=[vectors] if isinstance(vectors, str) else vectors, without=column)
    if column is not None and column not in table.columns:
        raise LabelError(f"{path.name} has no column '{column}'; its columns are {name_some(table.columns)}.")
    targets = _labels_of(labels) if column is None else table.column(column)
    return ArrayBlocks(table.read, targets, table.rows, rows)


def _safetensors_blocks(path: Path, labels: Any, rows: int, vectors: str | None) -> ArrayBlocks:
    """Return blocks of a memory-mapped matrix of any precision; labels may be another tensor of the file."""
    matrix = MatrixFile.open(path, vectors)
    is_column = isinstance(labels, str) and labels in matrix.columns
    return ArrayBlocks(matrix.read, matrix.columns[labels] if is_column else _labels_of(labels), matrix.rows, rows)


Pair = tuple[Array, Array]


class ArrayBlocks(Sequence[Pair]):
    """Blocks of rows that can be read in any order.

    Parameters
    ----------
    read : callable
        Returns rows ``start`` to ``stop``.
    labels : array of shape (n_rows,)
    n_rows : int
    rows : int
        Rows per block.
    """

    def __init__(self, read: Callable[[int, int], Array], labels: Array, n_rows: int, rows: int) -> None:
        _check_same_length(n_rows, len(labels))
        self._read, self._labels, self._rows = read, labels, rows
        self.n_rows = n_rows

    def __len__(self) -> int:
        return (self.n_rows + self._rows - 1) // self._rows

    @overload
    def __getitem__(self, number: int) -> Pair: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Pair]: ...
    def __getitem__(self, number: int | slice) -> Pair | Sequence[Pair]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"block {number} of {len(self)}")
        start = (number % len(self)) * self._rows
        stop = min(start + self._rows, self.n_rows)
        return self._read(start, stop), self._labels[start:stop]


def labelled_blocks(
    source: Any,
    labels: Any,
    *,
    rows: int = BLOCK_ROWS,
    vectors: str | Sequence[str] | None = None,
) -> Iterable[Pair]:
    """Return blocks (X, y) of vectors that need not fit into memory, for :func:`fit_blocks`.

    Parameters
    ----------
    source : array, path, WordSpace, KeyedVectors or iterable of arrays
        An array or memory map; a file ``.npy`` or ``.safetensors`` (mapped, of any precision), ``.npz`` or
        ``.parquet``; a space, or a file of one in any format (native, text, …); or blocks of vectors that come without
        labels.
    labels : array, path, str, Lexicon or mapping
        One label per row (or a ``.npy`` file of them); the name of an array of the ``.npz`` or ``.safetensors``, or of
        a column of the ``.parquet``; or, for spaces, words and their labels: all other words are left out.
    rows : int, default=16384
        Rows per block.
    vectors : str or list of str, optional
        The array of the ``.npz`` or ``.safetensors``; the column of lists, or the columns of numbers, of the
        ``.parquet`` (default: the only possible one).
    """
    if rows < 1:
        raise DensRayError(Argument("rows", rows), " is given; blocks need at least one row.")
    by_word = _words_to_labels(labels)
    if isinstance(source, str | Path):
        return _file_blocks(Path(source), labels, by_word, rows, vectors)
    source = as_space(source) if is_space(source) else source
    if hasattr(source, "words") and hasattr(source, "vectors"):
        if by_word is not None:
            return _space_blocks(source, by_word, rows)
        source = source.vectors
    if by_word is not None:
        raise LabelError(
            "labels by word need a space to find the words in. Pass a WordSpace or its file as the source."
        )
    if hasattr(source, "shape"):
        return _array_blocks(source, _labels_of(labels), rows)
    return _with_labels(source, labels)


def _file_blocks(
    path: Path, labels: Any, by_word: Mapping[str, float] | None, rows: int, vectors: str | Sequence[str] | None
) -> Iterable[Pair]:
    if not path.exists():
        raise FormatError(f"{path} does not exist.")
    if by_word is not None:
        # Only labelled words are held; a native file stays on disk.
        return _space_blocks(read_space(path, words=by_word), by_word, rows)
    if path.suffix == ".npy":
        return _array_blocks(_mapped(path), _labels_of(labels), rows)
    if path.suffix == ".npz":
        return _npz_blocks(path, labels, rows, vectors if isinstance(vectors, str) else None)
    if path.suffix == ".parquet":
        return _parquet_blocks(path, labels, rows, vectors)
    if path.suffix == ".safetensors":
        return _safetensors_blocks(path, labels, rows, vectors if isinstance(vectors, str) else None)
    return _array_blocks(read_space(path).vectors, _labels_of(labels), rows)


def _array_blocks(X: Array, labels: Array, rows: int) -> ArrayBlocks:
    if len(X.shape) != 2:
        raise DensRayError(f"the vectors have shape {tuple(X.shape)}; one vector per row is needed.")
    return ArrayBlocks(lambda start, stop: X[start:stop], labels, int(X.shape[0]), rows)


def _space_blocks(space: WordSpace, by_word: Mapping[str, float], rows: int) -> ArrayBlocks:
    """Return the labelled words of a space, in its own order."""
    words = list(by_word)
    places = space.locate(words)
    present = np.flatnonzero(places >= 0)
    if not present.size:
        raise LexiconError(
            f"none of the {len(words)} labelled words is in '{space.name}' ({name_some(words)}). "
            "Check case and language."
        )
    order = present[np.argsort(places[present], kind="stable")]
    at = places[order]
    labels = np.array([by_word[words[word]] for word in order.tolist()], dtype=np.float64)
    return ArrayBlocks(lambda start, stop: space.vectors[at[start:stop]], labels, len(at), rows)


def _with_labels(blocks: Iterable[Array], labels: Any) -> Iterator[Pair]:
    """Yield blocks of vectors with their labels; the numbers of rows and labels must be equal."""
    remaining = _labels_of(labels)
    start = 0
    for number, X in enumerate(blocks):
        stop = start + len(X)
        if stop > len(remaining):
            raise LabelError(
                f"labels run out before the vectors do: block {number} ends at row {stop:,}, and there are "
                f"{len(remaining):,} labels. Pass one label per row."
            )
        yield X, remaining[start:stop]
        start = stop
    if start < len(remaining):
        raise LabelError(
            f"vectors run out before the labels do: {start:,} rows, {len(remaining):,} labels. Pass one label per row."
        )


def _check_same_length(n_rows: int, n_labels: int) -> None:
    """Raise unless there is one label per row."""
    if n_rows != n_labels:
        first, second = ("labels", "vectors") if n_labels < n_rows else ("vectors", "labels")
        raise LabelError(
            f"{first} run out before the {second} do: {n_rows:,} rows of vectors, {n_labels:,} labels. "
            "Pass one label per row."
        )


def _words_to_labels(labels: Any) -> Mapping[str, float] | None:
    if isinstance(labels, Mapping):
        return labels
    if hasattr(labels, "words") and hasattr(labels, "labels"):
        lexicon: Lexicon = labels
        return dict(zip(lexicon.words, np.asarray(lexicon.labels, dtype=np.float64).tolist(), strict=True))
    return None


def _labels_of(labels: Any) -> Array:
    """Return labels as an array that can be sliced; a ``.npy`` file is memory-mapped."""
    if isinstance(labels, str | Path):
        path = Path(labels)
        if path.suffix != ".npy" or not path.exists():
            raise LabelError(
                Argument("labels", str(labels)), " is given; an array, or a .npy file of one label per row, is needed."
            )
        return _mapped(path)
    return labels if hasattr(labels, "shape") else np.asarray(labels)


def _mapped(path: Path) -> NDArray[Any]:
    try:
        with path.open("rb") as file:
            if file.read(len(ZIP_MAGIC)) == ZIP_MAGIC:
                raise FormatError(f"{path} is an archive (.npz), not one array. Save the array with numpy.save.")
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: not a readable array ({shorten(error)}). Save it with numpy.save.") from error
    return array


AnyRotation = TypeVar("AnyRotation", bound=Rotation)


def fit_blocks(
    rotation: AnyRotation,
    blocks: Iterable[Any],
    *,
    checkpoint: str | Path | None = None,
    interval: float = 30.0,
    progress: Progress | None = None,
) -> AnyRotation:
    """Return the rotation fitted on all blocks, as `fit` would on their rows together.

    Only one block and d × d statistics are in memory at a time.

    Parameters
    ----------
    rotation : DensRay or MeanDifference
        A rotation that uses differences without scaling them to unit length (`normalize_differences=False`).
    blocks : iterable of (X, y) or (X, y, sample_weight)
        See :func:`labelled_blocks` for arrays, files and spaces.
    checkpoint : path, optional
        A file that stores the statistics. If it exists, the fit resumes from there and ends with bit-identical axes.
        Blocks that are new since the checkpoint are added to it. Blocks of the earlier run are read again and compared
        by a digest of every row, label and weight. If the checkpoint was made with other data or other parameters, an
        error is raised.
    interval : float, default=30
        Seconds between two writes of the checkpoint; it is also written at the end and when an error stops the fit.
    progress : callable, optional
        Called with the number of rows done and their total (None if that is not known).

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
    accumulator = BlockAccumulator.of(rotation, "a stream of blocks")
    state, path = _resume(rotation, checkpoint)
    total = getattr(blocks, "n_rows", None)
    last_write, n_resumed = time.monotonic(), len(state.digests)
    try:
        with ThreadPoolExecutor(1) as hashing:
            for number, (X, y, weight), digest in _new_blocks(blocks, state, path, hashing):
                statistics = accumulator.gather(number, X, y, weight)
                if statistics is not None:
                    check_width(number, statistics.width, state.statistics.width if state.statistics else None)
                merged = accumulator.merge(state.statistics, statistics)
                state.digests.append(digest.result() if digest else "")
                state.statistics = merged
                release_pages(X)
                if path is not None and time.monotonic() - last_write >= interval:
                    state.write(path)
                    last_write = time.monotonic()
                if progress is not None:
                    progress(merged.n_rows if merged else 0, total)
    except Exception:  # a bad block: keep the blocks before it
        if path is not None and len(state.digests) > n_resumed:
            state.write(path)
        raise
    if not state.digests:
        raise VectorError("there are no blocks: the iterable is empty. Was it a generator that was used already?")
    if path is not None:
        state.write(path)
    accumulator.fit(rotation, state.statistics)
    return rotation


def _resume(rotation: Rotation, checkpoint: str | Path | None) -> tuple[Checkpoint, Path | None]:
    """Return the state of the fit, and the file that stores it."""
    state = Checkpoint.begin(rotation)
    if checkpoint is None:
        return state, None
    path = Path(checkpoint)
    if path.exists():
        earlier = Checkpoint.read(path)
        state.check_same_fit(earlier, path)
        state = earlier
    return state, path


def _new_blocks(
    blocks: Iterable[Any], state: Checkpoint, path: Path | None, hashing: Executor
) -> Iterator[tuple[int, tuple[Array, Array, Array | None], Future[str] | None]]:
    """Yield the blocks that the checkpoint does not contain, after comparing the earlier ones with it.

    Each block comes with its number and its digest, which another thread computes while the block is summed; without a
    checkpoint there is no digest.
    """
    n_seen, number = len(state.digests), -1
    for number, raw in enumerate(blocks):
        block = check_block(number, raw)
        digest = None if path is None else hashing.submit(block_digest, *block)
        if number >= n_seen or digest is None:
            yield number, block, digest
        elif digest.result() == state.digests[number]:
            release_pages(block[0])
        else:
            raise PersistenceError(
                f"{path} is the checkpoint of other data: block {number} is not the one it has seen. "
                "Name another file, or delete it to start again."
            )
    if number + 1 < n_seen:
        raise PersistenceError(
            f"{path} has seen {n_seen} blocks, but only {number + 1} are given: the checkpoint belongs to other data. "
            "Name another file, or delete it to start again."
        )
