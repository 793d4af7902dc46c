"""Shared parts of vocabularies: look-up of words, rows at unit length, nearest rows, checks."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral
from numbers import Number as AnyNumber
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray._arrays import BLOCK_ROWS, check_dense, first_vanished, own_rows
from densray.errors import (
    Argument,
    DensRayError,
    SpaceError,
    UnknownWordError,
    VectorError,
    name_some,
    refuse_text,
    shorten,
)

Number = TypeVar("Number", bound=np.floating[Any])


def checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words as a tuple; raise an error unless they are distinct text."""
    if isinstance(words, str):
        raise SpaceError(f"words is the text {words[:40]!r}; give a list of words.")
    checked = tuple(words)
    odd = next((row for row, word in enumerate(checked) if not isinstance(word, str)), None)
    if odd is not None:
        raise SpaceError(f"Word {odd} is {checked[odd]!r}, not text. Give every word as a str.")
    if not checked:
        raise SpaceError("A space needs at least one word; none was given.")
    if len(set(checked)) < len(checked):
        twice = [word for word, count in Counter(checked).items() if count > 1]
        raise SpaceError(
            f"{len(twice)} words occur more than once: {name_some(twice)}. Each word needs one vector; keep the first."
        )
    return checked


def checked_vectors(vectors: ArrayLike, words: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors as a float32 matrix with one finite row per word; raise an error if that is not possible."""
    check_dense(vectors, "vectors")
    try:
        array = vectors if isinstance(vectors, np.memmap) else np.asarray(vectors)
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"their type is {array.dtype}")
        with np.errstate(over="ignore"):  # a float64 too large for float32 becomes infinite and is refused below
            matrix = array.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise VectorError(f"The vectors are not a table of real numbers ({shorten(error)}).") from error
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise VectorError(
            f"Vectors of shape {matrix.shape} were given; one row of at least one number per word is needed."
        )
    if len(matrix) != len(words):
        raise SpaceError(f"{len(words)} words were given with {len(matrix)} vectors; the numbers must agree.")
    bad = [
        start + row
        for start in range(0, len(matrix), BLOCK_ROWS)
        for row in np.flatnonzero(~np.isfinite(matrix[start : start + BLOCK_ROWS]).all(axis=1)).tolist()
    ]
    if bad:
        raise VectorError(
            f"NaN or infinite numbers (for float32) in the vectors of {name_some(words[row] for row in bad)}; "
            f"first in row {bad[0]}. Leave those words out."
        )
    vanished = first_vanished(array, matrix)
    if vanished is not None:
        raise VectorError(
            f"The vector of {words[vanished]!r} (row {vanished}) has no number above "
            f"{np.abs(array[vanished]).max():.0e}, which float32 rounds to zero. Scale the vectors, for example to "
            "unit length."
        )
    return own_rows(matrix, array)  # type: ignore[no-any-return]


def checked_queries(queries: Any, width: int, name: str) -> NDArray[np.float32]:
    """Return query vectors as a float32 matrix of this width, or raise an error; `name` is that of the space."""
    try:
        points = np.asarray(queries, dtype=np.float32)
    except (TypeError, ValueError) as error:
        together = next((each for each in queries if _are_words(each)), None)
        several = "" if together is None else f" For several words together, use most_similar({shorten(together)})."
        raise VectorError(f"The queries are neither words nor vectors ({shorten(error)}).{several}") from error
    if points.ndim != 2 or points.shape[1] != width:
        raise VectorError(
            f"Queries of shape {points.shape} do not fit '{name}', which is {width} wide. "
            f"Give words, or vectors of that width."
        )
    if not np.isfinite(points).all():
        raise VectorError("A query has NaN or infinite numbers. Give finite vectors.")
    return points


def _are_words(query: Any) -> bool:
    return isinstance(query, list | tuple) and len(query) > 0 and all(isinstance(word, str) for word in query)


def check_seed(seed: object, *, name: str = "random_state") -> None:
    """Raise for text, and for numbers that no random generator takes; it checks other types itself."""
    if isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= int(seed) < 2**32:
        return
    if isinstance(seed, str | bytes | AnyNumber | np.bool_):
        raise DensRayError(Argument(name, seed), f" is given; a whole number from 0 to {2**32 - 1:,} is needed.")


def case_key(word: str) -> str:
    """Return a word in lower case with composed letters: equal for spellings that differ only in case.

    >>> case_key("SCHO\\u0308N") == case_key("sch\\u00f6n")
    True
    """
    lower = word.lower()
    return lower if lower.isascii() else unicodedata.normalize("NFC", lower)


def spelled_alike(word: str) -> set[str]:
    """Return a word as it is, with composed letters, and with decomposed ones: a space may spell it in each way.

    >>> len(spelled_alike("caf\\u00e9")), spelled_alike("cafe")
    (2, {'cafe'})
    """
    return {word} if word.isascii() else {word, *(unicodedata.normalize(form, word) for form in ("NFC", "NFD"))}


class Vocabulary:
    """The words of a space in the order of its rows; look-up tables are built when they are first needed.

    Parameters
    ----------
    words : sequence of str
        Distinct words: any sequence that supports slices, including one that decodes words on access.
    index : mapping from word to row, optional
        Built at the first look-up if it is not given.
    """

    __slots__ = ("_folded", "_index", "_repeated", "words")

    def __init__(self, words: Sequence[str], index: Mapping[str, int] | None = None) -> None:
        self.words = words
        self._index = index
        self._folded: dict[str, int] | None = None
        self._repeated: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.words)

    @property
    def index(self) -> Mapping[str, int]:
        """The row of each word."""
        if self._index is None:
            self._index = {word: row for row, word in enumerate(self.words)}
        return self._index

    @property
    def lower_index(self) -> Mapping[str, int]:
        """The first row of each word in lower case, composed."""
        if self._folded is None:
            folded: dict[str, int] = {}
            repeated: dict[str, list[int]] = {}
            for row, word in enumerate(self.words):
                lower = case_key(word)
                if folded.setdefault(lower, row) != row:
                    repeated.setdefault(lower, []).append(row)
            self._repeated, self._folded = repeated, folded  # set at once: other threads may be reading
        return self._folded

    def spellings(self, word: str) -> list[int]:
        """Return the rows of a word in upper and lower case, in order."""
        lower = case_key(word)
        first = self.lower_index.get(lower)
        return [] if first is None else [first, *self._repeated.get(lower, ())]

    def row(self, word: str) -> int:
        """Return the row of a word, -1 if it is missing; composed and decomposed letters are the same."""
        row = self.index.get(word, -1)
        if row >= 0 or word.isascii():
            return row
        rows = (self.index.get(unicodedata.normalize(form, word), -1) for form in ("NFC", "NFD"))
        return next((row for row in rows if row >= 0), -1)

    def locate(self, words: Iterable[str], *, any_case: bool | None = False) -> NDArray[np.int64]:
        """Return the row of each word, -1 if it is missing; see `WordSpace.locate`."""
        refuse_text(words, "words")
        queries = list(words)
        rows = [self.row(word) for word in queries]
        if any_case is not False and -1 in rows:
            missing = {case_key(word) for word, row in zip(queries, rows, strict=True) if row < 0}
            other = self.lower_index if any_case else self._only_in_case(missing)
            rows = [row if row >= 0 else other.get(case_key(word), -1) for row, word in zip(rows, queries, strict=True)]
        return np.array(rows, dtype=np.int64)

    def _only_in_case(self, keys: Collection[str]) -> dict[str, int]:
        """Return the row of each key that matches exactly one word, without an index of the whole vocabulary."""
        rows: dict[str, int] = {}
        for row, word in enumerate(self.words):
            key = case_key(word)
            if key in keys:
                rows[key] = row if key not in rows else -1
        return rows

    def find(self, words: Iterable[str], *, any_case: bool | None = False) -> NDArray[np.int64]:
        """Return the rows of words that must all be in the space; the error names missing words."""
        refuse_text(words, "words")
        queries = list(words)
        rows = self.locate(queries, any_case=any_case)
        missing = [word for word, row in zip(queries, rows, strict=True) if row < 0]
        if missing:
            raise UnknownWordError(
                f"{name_some(missing)} not among the {len(self):,} words of the space.{self._hint(missing[0])}"
            )
        return rows

    def _hint(self, word: str) -> str:
        spellings = (word.replace(" ", "_"), word.replace("_", " "))
        row = int(self.locate(spellings, any_case=True).max())
        return f" Did you mean '{self.words[row]}'?" if row >= 0 else " Spell words as the space does."


_QUERIES = 512


def row_lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the Euclidean length of every row, one block at a time."""
    lengths = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = np.asarray(vectors[start : start + BLOCK_ROWS], dtype=np.float64)
        lengths[start : start + BLOCK_ROWS] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return lengths


def unit_rows(rows: NDArray[Number]) -> NDArray[Number]:
    """Return rows scaled to unit Euclidean length, in their own precision; rows of zeros stay zero.

    Overflow is avoided: integers become float64, half precision is squared in float32, and rows
    of very large or small numbers are divided by their largest number first.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    >>> unit_rows(np.array([[3e4, 4e4]], dtype=np.float16))
    array([[0.6, 0.8]], dtype=float16)
    """
    plain = np.asarray(rows)
    half = plain.dtype == np.float16
    if half or plain.dtype.kind != "f":
        plain = plain.astype(np.float32 if half else np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", plain, plain))
        extreme = np.flatnonzero(~((lengths > _SHORTEST_LENGTH[plain.dtype.itemsize]) & (lengths < np.inf)))
        if extreme.size:
            largest = np.abs(plain[extreme]).max(axis=1, initial=0.0)
            plain = plain.copy()
            plain[extreme] /= np.where((largest > 0) & (largest < np.inf), largest, 1.0).astype(plain.dtype)[:, None]
            lengths[extreme] = np.sqrt(np.einsum("ij,ij->i", plain[extreme], plain[extreme]))
        unit = plain / np.where(lengths > 0, lengths, 1.0)[:, None]
    return np.asarray(unit.astype(np.float16) if half else unit)


#: Below this length, the squares of a row have lost precision; by the number of bytes per number.
_SHORTEST_LENGTH = {4: 1e-16, 8: 1e-146, 12: 1e-146, 16: 1e-146}


def spread_rows(n_rows: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` row numbers spread evenly over `n_rows` rows, including the first and the last.

    >>> spread_rows(100, 4).tolist(), spread_rows(3, 4).tolist()
    ([0, 33, 66, 99], [0, 1, 2])
    """
    return np.unique(np.linspace(0, n_rows - 1, num=min(n_rows, most)).astype(np.int64))


#: Largest number of rows in a fingerprint.
_SAMPLED_ROWS = 1_024


class Fingerprint:
    """Digest of the shape, the words and the vectors of a space, from at most 1,024 rows spread evenly over it.

    The digest is the same whether the space comes in one piece or in blocks.

    Parameters
    ----------
    n_rows : int
        Number of rows of the whole space.

    Examples
    --------
    >>> whole, parts = Fingerprint(3), Fingerprint(3)
    >>> whole.add(["a", "b", "c"], np.eye(3))
    >>> parts.add(["a"], np.eye(3)[:1])
    >>> parts.add(["b", "c"], np.eye(3)[1:])
    >>> whole.hexdigest() == parts.hexdigest()
    True
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows, self._n_seen = n_rows, 0
        self._rows = spread_rows(n_rows, _SAMPLED_ROWS)
        self._words: list[str] = []
        self._vectors: list[NDArray[np.float32]] = []

    def add(self, words: Sequence[str], vectors: NDArray[Any]) -> None:
        """Add the next rows of the space."""
        rows = self._rows - self._n_seen
        rows = rows[(rows >= 0) & (rows < len(words))]
        self._words += [words[row] for row in rows.tolist()]
        self._vectors.append(np.ascontiguousarray(vectors[rows], dtype="<f4"))
        self._n_seen += len(words)

    def hexdigest(self) -> str:
        """Return the digest in hexadecimal."""
        vectors = np.concatenate(self._vectors)
        digest = hashlib.sha256(repr((self._n_rows, vectors.shape[1])).encode())
        digest.update("\n".join(self._words).encode("utf-8", "surrogatepass"))
        digest.update(vectors.tobytes())
        return digest.hexdigest()


def nearest_rows(
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    *,
    lengths: NDArray[np.float32],
    k: int,
    barred: Sequence[NDArray[np.int64]] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows with the k highest cosines to each query, and these cosines, best first.

    Parameters
    ----------
    vectors : array of shape (n, d)
        The rows searched; a memory map is read block by block.
    queries : array of shape (q, d)
        Queries of any length; a zero query has cosine 0 with everything.
    lengths : array of shape (n,)
        The length of each row of `vectors`; rows of length zero have cosine 0.
    k : int
        Number of rows to return; fewer if there are fewer rows.
    barred : list of q arrays, optional
        Rows excluded as answers to each query. They appear in the result only if nothing else is
        left, with cosine ``-inf``.

    Returns
    -------
    rows, cosines : arrays of shape (q, min(k, n))
        Equal cosines are ordered by row.
    """
    k = min(k, len(vectors))
    scale = np.maximum(row_lengths(queries), np.finfo(np.float32).tiny)[:, None]
    unit = np.asarray(queries / scale, dtype=np.float32)
    rows = np.empty((len(queries), k), dtype=np.int64)
    cosines = np.empty((len(queries), k), dtype=np.float32)
    for start in range(0, len(queries), _QUERIES):
        part = slice(start, start + _QUERIES)
        bars = None if barred is None else barred[part]
        rows[part], cosines[part] = _nearest(vectors, unit[part], lengths, k, bars)
    return rows, cosines


def analogy_rows(
    vectors: NDArray[np.float32],
    questions: NDArray[np.int64],
    *,
    lengths: NDArray[np.float32],
    k: int,
    barred: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of the k best answers to “a is to b as c is to …” by 3CosAdd, and their cosines.

    They have the highest cosines with b − a + c over unit vectors (Mikolov et al. 2013). The analogy benchmark has its
    own implementation, since it scores all solvers from the same products.

    Parameters
    ----------
    vectors, lengths, k
        As for `nearest_rows`.
    questions : array of shape (q, 3)
        The rows of a, b and c, which cannot be answers.
    barred : array, optional
        Rows that cannot be answers either.
    """
    a, b, c = (unit_rows(np.asarray(vectors[column], dtype=np.float64)) for column in questions.T)
    targets = unit_rows(b - a + c).astype(np.float32)
    others = np.empty(0, dtype=np.int64) if barred is None else barred
    return nearest_rows(vectors, targets, lengths=lengths, k=k, barred=[np.append(others, own) for own in questions])


def _nearest(
    vectors: NDArray[np.float32],
    unit: NDArray[np.float32],
    lengths: NDArray[np.float32],
    k: int,
    barred: Sequence[NDArray[np.int64]] | None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the best rows of a few unit queries, merging the best of each block with the best so far."""
    rows = np.zeros((len(unit), 0), dtype=np.int64)
    cosines = np.zeros((len(unit), 0), dtype=np.float32)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = np.asarray(vectors[start : start + BLOCK_ROWS])
        scores = unit @ block.T
        scores /= np.maximum(lengths[start : start + BLOCK_ROWS], np.finfo(np.float32).tiny)
        for query, bars in enumerate(barred or ()):
            inside = bars[(bars >= start) & (bars < start + len(block))] - start
            scores[query, inside] = -np.inf
        best = _highest(scores, k)
        rows = np.hstack([rows, best + start])
        cosines = np.hstack([cosines, np.take_along_axis(scores, best, axis=1)])
        best = _highest(cosines, k)
        rows, cosines = np.take_along_axis(rows, best, axis=1), np.take_along_axis(cosines, best, axis=1)
    order = np.lexsort((rows, -cosines), axis=1)
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(cosines, order, axis=1)


def _highest(values: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Return the positions of the k highest values of each row, in ascending order; of equal values, the first."""
    width = values.shape[1]
    if width <= k:
        return np.broadcast_to(np.arange(width), values.shape)
    best = np.argpartition(values, width - k, axis=1)[:, width - k :]
    cut = np.take_along_axis(values, best, axis=1).min(axis=1)
    tied = np.count_nonzero(values >= cut[:, None], axis=1) > k
    for row in np.flatnonzero(tied).tolist():
        above, at_cut = np.flatnonzero(values[row] > cut[row]), np.flatnonzero(values[row] == cut[row])
        best[row] = np.append(above, at_cut[: k - len(above)])
    return np.sort(best, axis=1)
