"""A word space: words, their vectors, and what can be asked of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray import _conversions, errors
from densray._arrays import BLOCK_ROWS
from densray._vocabulary import (
    Vocabulary,
    analogy_rows,
    checked_queries,
    checked_vectors,
    checked_words,
    nearest_rows,
    row_lengths,
    spread_rows,
    unit_rows,
)
from densray.erasure import Erasure, HasAxes, Removal
from densray.errors import SpaceError, VectorError, name_some

if TYPE_CHECKING:
    import polars

__all__ = ["FittedRotation", "WordSpace"]

_SAMPLED_ROWS = 1_024

Queries: TypeAlias = "Sequence[str | ArrayLike] | NDArray[Any]"
"""Words, or vectors: one row each."""


class FittedRotation(Protocol):
    """What a space asks of a fitted rotation."""

    @property
    def components_(self) -> NDArray[np.float64]: ...
    def transform(self, X: NDArray[np.float32]) -> NDArray[np.floating]: ...


class WordSpace:
    """Words and their vectors, immutable.

    Parameters
    ----------
    words : sequence of str
        The vocabulary, in the order of the rows. Each word once.
    vectors : array of shape (n, d)
        One row per word; kept as float32, not copied where it is float32 already. NaN and infinite numbers
        are refused. Rows of zeros are kept as they are: files contain them; `normalized` names them.
    name : str
        What the space is called in reports.

    Attributes
    ----------
    words : sequence of str
    vectors : array of shape (n, d), float32, read-only; may be a memory map
    name : str

    Examples
    --------
    >>> space = WordSpace(["good", "fine", "bad"], [[1, 0], [0.8, 0.6], [-1, 0]])
    >>> space
    WordSpace 'space': 3 words × 2 dimensions ('good', 'fine', 'bad')
    >>> round(space.cosine("good", "fine"), 2)
    0.8
    >>> [word for word, cosine in space.neighbors("good", k=1)]
    ['fine']
    """

    __slots__ = ("_lengths", "_name", "_vectors", "_vocabulary")

    _vocabulary: Vocabulary
    _vectors: NDArray[np.float32]
    _name: str
    _lengths: NDArray[np.float32] | None

    def __init__(self, words: Sequence[str], vectors: ArrayLike, *, name: str = "space") -> None:
        checked = checked_words(words)
        self._set(Vocabulary(checked), checked_vectors(vectors, checked), name)

    @classmethod
    def unchecked(
        cls,
        words: Sequence[str] | Vocabulary,
        vectors: NDArray[np.float32],
        *,
        name: str = "space",
        index: Mapping[str, int] | None = None,
    ) -> WordSpace:
        """Return a space without looking at its parts, in constant time: for readers that have checked them.

        `words` may be any sequence that slices (decoded lazily, say); `index` maps each word to its row and
        is built at the first look-up where it is not given.
        """
        space = cls.__new__(cls)
        vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words, index)
        space._set(vocabulary, vectors, name)
        return space

    def _set(self, vocabulary: Vocabulary, vectors: NDArray[np.float32], name: str) -> None:
        view = vectors.view()
        view.flags.writeable = False
        object.__setattr__(self, "_vocabulary", vocabulary)
        object.__setattr__(self, "_vectors", view)
        object.__setattr__(self, "_name", str(name))
        object.__setattr__(self, "_lengths", None)

    def _with(self, vectors: NDArray[np.float32]) -> WordSpace:
        return WordSpace.unchecked(self._vocabulary, vectors, name=self.name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A WordSpace does not change: {name!r} cannot be set. Build a new one.")

    def __reduce__(self) -> tuple[object, ...]:
        return partial(WordSpace.unchecked, name=self._name), (tuple(self.words), np.asarray(self._vectors))

    @property
    def words(self) -> Sequence[str]:
        """The vocabulary, in the order of the rows."""
        return self._vocabulary.words

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors, one row per word, read-only."""
        return self._vectors

    @property
    def name(self) -> str:
        """What the space is called in reports."""
        return self._name

    @property
    def width(self) -> int:
        """The number of dimensions."""
        return int(self._vectors.shape[1])

    @property
    def lengths(self) -> NDArray[np.float32]:
        """The Euclidean length of each vector, computed once."""
        lengths = self._lengths
        if lengths is None:
            lengths = row_lengths(self._vectors)
            object.__setattr__(self, "_lengths", lengths)
        return lengths

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._vocabulary.index

    def __getitem__(self, words: str | Iterable[str]) -> NDArray[np.float32]:
        """Return the vector of a word, or one row per word of a list; an unknown word is an error."""
        if isinstance(words, str):
            return np.asarray(self._vectors[self._vocabulary.find([words])[0]])
        return np.asarray(self._vectors[self._vocabulary.find(words)])

    def locate(self, words: Iterable[str], *, any_case: bool = False) -> NDArray[np.int64]:
        """Return the row of each word, -1 where it is missing.

        With ``any_case=True`` a word that is not in the vocabulary takes the first vocabulary word that
        equals it in lower case.
        """
        return self._vocabulary.locate(words, any_case=any_case)

    def absent(self, words: Iterable[str], *, any_case: bool = False) -> list[str]:
        """Return the words that the space lacks, each once, in order; `any_case` as for `locate`.

        >>> WordSpace(["good", "Bad"], [[1, 0], [0, 1]]).absent(["good", "bad", "ugly", "bad"])
        ['bad', 'ugly']
        """
        listed = list(dict.fromkeys(words))
        rows = self.locate(listed, any_case=any_case).tolist()
        return [word for word, row in zip(listed, rows, strict=True) if row < 0]

    def spellings(self, word: str) -> list[int]:
        """Return the rows of a word in upper and lower case, in order.

        >>> WordSpace(["polish", "nail", "Polish"], [[1, 0], [1, 1], [0, 1]]).spellings("polish")
        [0, 2]
        """
        return self._vocabulary.spellings(word)

    def _take(self, rows: NDArray[np.int64]) -> WordSpace:
        return WordSpace.unchecked(tuple(self.words[row] for row in rows.tolist()), self._vectors[rows], name=self.name)

    def subset(
        self, words: Iterable[str], *, any_case: bool = False, missing: Literal["error", "drop"] = "error"
    ) -> WordSpace:
        """Return the space of these words alone, in the order given, each once.

        Words that are not in the space are an error, or left out with ``missing="drop"``.
        """
        wanted = list(words)
        if missing == "drop":
            rows = self.locate(wanted, any_case=any_case)
            rows = rows[rows >= 0]
        else:
            rows = self._vocabulary.find(wanted, any_case=any_case)
        if not len(rows):
            raise SpaceError(
                f"None of the {len(wanted)} words is in '{self.name}' ({name_some(wanted)}): "
                f"a space needs at least one word. Check case and spelling."
            )
        return self._take(np.array(list(dict.fromkeys(rows.tolist())), dtype=np.int64))

    def limit(self, n: int) -> WordSpace:
        """Return the space of the first n words (most files are ordered by frequency), or all of it."""
        if n < 1:
            raise SpaceError(f"limit is {n}; it must be at least 1, the number of words to keep.")
        return WordSpace.unchecked(self.words[:n], self._vectors[:n], name=self.name)

    def renamed(self, name: str) -> WordSpace:
        """Return the same space under another name."""
        return WordSpace.unchecked(self._vocabulary, self._vectors, name=name)

    def with_vectors(self, vectors: ArrayLike, *, name: str | None = None) -> WordSpace:
        """Return the same words with other vectors, of any width."""
        matrix = checked_vectors(vectors, self.words)
        return WordSpace.unchecked(self._vocabulary, matrix, name=name or self.name)

    def normalized(self, *, zeros: Literal["error", "keep", "drop"] = "error") -> WordSpace:
        """Return the space with every vector at unit Euclidean length.

        A vector of zeros has no direction: it is an error that names the word, or it stays zero (``"keep"``),
        or the word is left out (``"drop"``).
        """
        empty = np.flatnonzero(self.lengths == 0)
        if len(empty) and zeros == "error":
            named = name_some(self.words[row] for row in empty.tolist())
            raise VectorError(
                f"{len(empty)} of {len(self)} vectors of '{self.name}' are zero and have no direction "
                f"({named}). Use normalized(zeros='drop') or normalized(zeros='keep')."
            )
        if len(empty) and zeros == "drop":
            return self._take(np.flatnonzero(self.lengths > 0)).normalized()
        scale = np.where(self.lengths > 0, self.lengths, 1).astype(np.float32)
        vectors: NDArray[np.float32] = self._vectors / scale[:, None]
        return self._with(vectors)

    def neighbors(self, query: str | ArrayLike, *, k: int = 10, exclude: Iterable[str] = ()) -> list[tuple[str, float]]:
        """Return the k words nearest to a word or a vector, with their cosines, best first.

        A word is not its own neighbour; words in `exclude` are left out too. For many queries see `neighbor_rows`.
        """
        rows, cosines = self.neighbor_rows([query], k=k, exclude=exclude)
        return self._with_cosines(rows[0], cosines[0])

    def _with_cosines(self, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> list[tuple[str, float]]:
        found = zip(rows.tolist(), cosines.tolist(), strict=True)
        return [(self.words[row], cosine) for row, cosine in found if np.isfinite(cosine)]

    def neighbor_rows(
        self, queries: Queries, *, k: int = 10, exclude: Iterable[str] = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the rows of the k nearest words of each query, and their cosines, both of shape (q, k).

        Parameters
        ----------
        queries : list of words, or array of shape (q, d)
            A word is barred from its own answers.
        k : int
            Neighbours per query.
        exclude : words
            Barred from all answers. A place nothing can fill has cosine ``-inf``.
        """
        if k < 1:
            raise SpaceError(f"k is {k}; it must be at least 1, the number of neighbours.")
        shared = self.locate(exclude)
        points, own = self._points(queries)
        barred = [shared] * len(points) if own is None else [np.append(shared, row) for row in own]
        return nearest_rows(self._vectors, points, lengths=self.lengths, k=k, barred=barred)

    def _points(self, queries: Queries) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
        """Return the vectors asked about, and their rows where words were given."""
        if len(queries) and all(isinstance(query, str) for query in queries):
            rows = self._vocabulary.find(str(query) for query in queries)
            return np.asarray(self._vectors[rows]), rows
        return checked_queries(queries, self.width, self.name), None

    def cosine(self, a: str | ArrayLike, b: str | ArrayLike) -> float:
        """Return the cosine between two words or vectors."""
        return float(self.cosines([a], [b])[0, 0])

    def cosines(self, a: Queries, b: Queries) -> NDArray[np.float64]:
        """Return the cosine of every word (or vector) of `a` with every one of `b`."""
        left, right = (unit_rows(self._points(side)[0].astype(np.float64)) for side in (a, b))
        return left @ right.T

    def analogy(self, a: str, b: str, c: str, *, k: int = 10, exclude: Iterable[str] = ()) -> list[tuple[str, float]]:
        """Return the words d for which “a is to b as c is to d”, by 3CosAdd (Mikolov et al. 2013).

        The k words with the highest cosine to b − a + c over unit vectors; a, b and c cannot be answers.
        """
        if k < 1:
            raise SpaceError(f"k is {k}; it must be at least 1, the number of answers.")
        question = self._vocabulary.find([a, b, c])[None]
        rows, cosines = analogy_rows(self._vectors, question, lengths=self.lengths, k=k, barred=self.locate(exclude))
        return self._with_cosines(rows[0], cosines[0])

    def rotated(self, by: FittedRotation) -> WordSpace:
        """Return the space in the coordinates of a fitted rotation: dimension 0 is the concept."""
        self._check_width(by)
        vectors = np.empty((len(self), len(by.components_)), dtype=np.float32)
        for start in range(0, len(self), BLOCK_ROWS):
            stop = start + BLOCK_ROWS
            vectors[start:stop] = by.transform(np.asarray(self._vectors[start:stop]))
        return self._with(vectors)

    def erased(
        self,
        erasure: Erasure | HasAxes,
        *,
        n_axes: int = 1,
        keep: Iterable[str] = (),
        equalize: Iterable[tuple[str, str]] = (),
        strength: float = 1.0,
    ) -> WordSpace:
        """Return the space without a concept, in the original coordinates.

        Parameters
        ----------
        erasure : Erasure, or a fitted rotation
            What removes the concept. Axes that predict it best (ridge, SVM) leave much of it: erase the mean
            difference, DensRay or LEACE.
        n_axes : int
            How many axes of a rotation are removed, counted from the concept.
        keep : iterable of str
            Words that carry the concept by right: they stay as they are, to the bit. Those not in the space need no
            keeping.
        equalize : iterable of pairs
            Pairs to be set equally far from everything neutral, even where `keep` names their words.
        strength : float
            Share of the change to make, from 0 to 1.
        """
        if not isinstance(erasure, Erasure):
            self._check_width(erasure)
        change = Removal.of(erasure, n_axes=n_axes, keep=keep, equalize=equalize, strength=strength, space=self)
        vectors = np.empty(self._vectors.shape, dtype=np.float32)
        start = 0
        for words, block in self.blocks():
            vectors[start : start + len(words)] = change(words, block)
            start += len(words)
        return self._with(vectors)

    def _check_width(self, by: HasAxes) -> None:
        if not hasattr(by, "components_"):
            raise errors.RotationNotFittedError(f"{type(by).__name__} has no axes. Give a rotation that was fitted.")
        width = np.shape(by.components_)[1]
        if width != self.width:
            raise SpaceError(
                f"The rotation was fitted on {width} dimensions, '{self.name}' has {self.width}. "
                f"Fit it on this space, or on one of the same width."
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._vectors, dtype=dtype, copy=copy)

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """Yield the space piece by piece: lists of words and their vectors, in order."""
        for start in range(0, len(self), rows):
            yield list(self.words[start : start + rows]), np.asarray(self._vectors[start : start + rows])

    def fingerprint(self) -> str:
        """Return a hexadecimal digest of shape, words and vectors, from rows spread evenly over the space.

        At most 1,024 rows are read, so that it is cheap on a memory map; two spaces that differ elsewhere
        only are not told apart.
        """
        rows = spread_rows(len(self), _SAMPLED_ROWS)
        digest = hashlib.sha256(repr((len(self), self.width)).encode())
        digest.update("\n".join(self.words[row] for row in rows.tolist()).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self._vectors[rows], dtype="<f4").tobytes())
        return digest.hexdigest()

    @classmethod
    def from_frame(
        cls, frame: Any, *, word_column: str = "word", vector_column: str | None = None, name: str = "space"
    ) -> WordSpace:
        """Return the space of a pandas or polars frame: one line per word.

        The words are the column `word_column`; a pandas frame without it gives its index. The vectors are the column of
        lists or arrays (`vector_column`, where there are several), or else all other columns, one per dimension.

        >>> import polars
        >>> frame = polars.DataFrame({"word": ["good", "bad"], "embedding": [[1.0, 0.5], [-1.0, 0.5]]})
        >>> WordSpace.from_frame(frame)["bad"].tolist()
        [-1.0, 0.5]
        """
        read = _conversions.from_frame(frame, word_column=word_column, vector_column=vector_column)
        return cls(*read, name=name)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with the column ``word`` and the columns ``0`` … ``d-1``."""
        return _conversions.to_polars(self)

    def to_pandas(self) -> Any:
        """Return a pandas frame with the words as its index and one column per dimension."""
        return _conversions.to_pandas(self)

    @classmethod
    def from_gensim(cls, keyed_vectors: Any, *, name: str = "space") -> WordSpace:
        """Return the space of a gensim ``KeyedVectors``, or of a model that has one (``model.wv``)."""
        return cls(*_conversions.from_gensim(keyed_vectors), name=name)

    def to_gensim(self) -> Any:
        """Return a gensim ``KeyedVectors`` with a copy of the vectors."""
        return _conversions.to_gensim(self)

    @classmethod
    def from_spacy(cls, vocab: Any, *, name: str = "space") -> WordSpace:
        """Return the vectors of a spaCy pipeline or ``Vocab``, one word per row.

        In pruned vectors many words share the row of the nearest word that was not pruned. Such a row belongs to its
        most probable word (the first, where no probabilities are known); the others are left out, with a warning.
        """
        return cls(*_conversions.from_spacy(vocab), name=name)

    def to_spacy(self) -> Any:
        """Return a spaCy ``Vocab`` with a copy of the vectors (``nlp.vocab.vectors = vocab.vectors``)."""
        return _conversions.to_spacy(self)

    @classmethod
    def encode(cls, words: Iterable[str], encoder: Any, *, batch_size: int = 256, name: str = "encoded") -> WordSpace:
        """Return the space an encoder gives: any ``encode(list[str]) -> array``, called batch by batch.

        An object with a method ``encode`` (sentence encoders, static models) may be given as it is. A word given twice
        is encoded once.
        """
        return cls(*_conversions.encode(words, encoder, batch_size=batch_size), name=name)

    def __repr__(self) -> str:
        words = name_some(self.words[:3])
        more = ", …" if len(self) > 3 else ""
        return f"WordSpace '{self.name}': {len(self):,} words × {self.width:,} dimensions ({words}{more})"

    def _repr_html_(self) -> str:
        return _conversions.to_html(self)
