"""Vectors and their labels as blocks, from arrays, files and spaces of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from densray.arrays import Array
from densray.errors import DensRayError, FormatError, LabelError, LexiconError, name_some
from densray.moments import BLOCK_ROWS

if TYPE_CHECKING:
    from densray.lexicon import Lexicon
    from densray.space import WordSpace

__all__ = ["ArrayBlocks", "check_same_length", "labelled_blocks", "read_labels"]

Pair = tuple[Array, Array]


class ArrayBlocks(Sequence[Pair]):
    """Blocks of rows that can be asked for in any order.

    Parameters
    ----------
    read : callable
        Returns rows ``start`` to ``stop``.
    labels : array of shape (n_rows,)
    n_rows : int
    rows : int
        Rows of a block.
    """

    def __init__(self, read: Callable[[int, int], Array], labels: Array, n_rows: int, rows: int) -> None:
        check_same_length(n_rows, len(labels))
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
    source : array, path, WordSpace or iterable of arrays
        An array or memory map; a file ``.npy`` (mapped), ``.npz`` or ``.parquet``; a space, or a file of one in any
        format (native, text, …); or blocks of vectors that come without labels.
    labels : array, path, str, Lexicon or mapping
        One label a row (or a ``.npy`` file of them); the name of an array of the ``.npz``, or of a column of the
        ``.parquet``; or, for spaces, words and their labels: all other words are left out.
    rows : int, default=16384
        Rows of a block.
    vectors : str or list of str, optional
        The array of the ``.npz``; the column of lists, or the columns of numbers, of the ``.parquet``. By default the
        only one that can be meant.
    """
    if rows < 1:
        raise DensRayError(f"rows={rows} is given; blocks need at least one row.")
    by_word = _words_to_labels(labels)
    if isinstance(source, str | Path):
        return _file_blocks(Path(source), labels, by_word, rows, vectors)
    if hasattr(source, "words") and hasattr(source, "vectors"):
        if by_word is not None:
            return _space_blocks(source, by_word, rows)
        source = source.vectors
    if by_word is not None:
        raise LabelError(
            "labels by word need a space to find the words in. Pass a WordSpace or its file as the source."
        )
    if hasattr(source, "shape"):
        return _array_blocks(source, read_labels(labels), rows)
    return _beside(source, labels)


def _file_blocks(
    path: Path, labels: Any, by_word: Mapping[str, float] | None, rows: int, vectors: str | Sequence[str] | None
) -> Iterable[Pair]:
    if not path.exists():
        raise FormatError(f"{path} does not exist.")
    if by_word is not None:
        from densray.formats import read_space

        # Only labelled words are held; a native file stays on disk.
        return _space_blocks(read_space(path, words=by_word), by_word, rows)
    if path.suffix == ".npy":
        return _array_blocks(_mapped(path), read_labels(labels), rows)
    if path.suffix == ".npz":
        from densray.scale._tables import npz_blocks

        return npz_blocks(path, labels, rows, vectors)
    if path.suffix == ".parquet":
        from densray.scale._tables import parquet_blocks

        return parquet_blocks(path, labels, rows, vectors)
    from densray.formats import read_space

    return _array_blocks(read_space(path).vectors, read_labels(labels), rows)


def _array_blocks(X: Array, labels: Array, rows: int) -> ArrayBlocks:
    if len(X.shape) != 2:
        raise DensRayError(f"the vectors have shape {tuple(X.shape)}; one vector a row is needed.")
    return ArrayBlocks(lambda start, stop: X[start:stop], labels, int(X.shape[0]), rows)


def _space_blocks(space: WordSpace, by_word: Mapping[str, float], rows: int) -> ArrayBlocks:
    """Return the labelled words of a space, in its own order."""
    words = list(by_word)
    places = space.locate(words)
    found = np.flatnonzero(places >= 0)
    if not found.size:
        raise LexiconError(
            f"none of the {len(words)} labelled words is in '{space.name}' ({name_some(words)}). "
            "Check case and language."
        )
    order = found[np.argsort(places[found], kind="stable")]
    at = places[order]
    labels = np.array([by_word[words[word]] for word in order.tolist()], dtype=np.float64)
    return ArrayBlocks(lambda start, stop: space.vectors[at[start:stop]], labels, len(at), rows)


def _beside(blocks: Iterable[Array], labels: Any) -> Iterator[Pair]:
    """Yield blocks of vectors with their labels, which must last exactly as long."""
    remaining = read_labels(labels)
    start = 0
    for number, X in enumerate(blocks):
        stop = start + len(X)
        if stop > len(remaining):
            raise LabelError(
                f"labels run out before the vectors do: block {number} ends at row {stop:,}, and there are "
                f"{len(remaining):,} labels. Pass one label a row."
            )
        yield X, remaining[start:stop]
        start = stop
    if start < len(remaining):
        raise LabelError(
            f"vectors run out before the labels do: {start:,} rows, {len(remaining):,} labels. Pass one label a row."
        )


def check_same_length(n_rows: int, n_labels: int) -> None:
    """Raise unless there is one label a row."""
    if n_rows != n_labels:
        first, second = ("labels", "vectors") if n_labels < n_rows else ("vectors", "labels")
        raise LabelError(
            f"{first} run out before the {second} do: {n_rows:,} rows of vectors, {n_labels:,} labels. "
            "Pass one label a row."
        )


def _words_to_labels(labels: Any) -> Mapping[str, float] | None:
    if isinstance(labels, Mapping):
        return labels
    if hasattr(labels, "words") and hasattr(labels, "labels"):
        lexicon: Lexicon = labels
        return dict(zip(lexicon.words, np.asarray(lexicon.labels, dtype=np.float64).tolist(), strict=True))
    return None


def read_labels(labels: Any) -> Array:
    """Return labels as an array that can be sliced; a ``.npy`` file of them is mapped."""
    if isinstance(labels, str | Path):
        path = Path(labels)
        if path.suffix != ".npy" or not path.exists():
            raise LabelError(
                f"labels={str(labels)!r} is given; an array, or a .npy file of one label a row, is needed."
            )
        return _mapped(path)
    return labels if hasattr(labels, "shape") else np.asarray(labels)


def _mapped(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise FormatError(f"{path}: not a readable array ({error}). Save it with numpy.save.") from error
    return array
