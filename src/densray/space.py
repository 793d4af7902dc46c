"""A word space: words, their vectors, neighbours and analogies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray import _conversions, errors
from densray._arrays import BLOCK_ROWS
from densray._vocabulary import (
    Fingerprint,
    Vocabulary,
    analogy_rows,
    checked_queries,
    checked_vectors,
    checked_words,
    nearest_rows,
    row_lengths,
    unit_rows,
)
from densray.affine import AffineMap, HasAxes, equalized, erasing, warn_of_missing_keep
from densray.errors import Advice, Argument, SpaceError, VectorError, name_some, shorten

if TYPE_CHECKING:
    import polars

__all__ = ["FittedRotation", "WordSpace", "as_space", "is_space"]

Queries: TypeAlias = "Sequence[str | ArrayLike] | NDArray[Any]"
"""Words, or vectors: one row each."""


class FittedRotation(Protocol):
    """The methods of a fitted rotation that a space uses."""

    @property
    def components_(self) -> NDArray[np.float64]: ...
    def transform(self, X: NDArray[np.float32]) -> NDArray[np.floating]: ...


def _is_vector(given: Any) -> bool:
    """Return whether the argument is one vector, not a list of words or vectors."""
    return len(given) > 0 and isinstance(given[0], int | float | np.number)


def is_space(given: Any) -> bool:
    """Return whether an object is a space, or gensim's ``KeyedVectors`` (or a model that has them)."""
    return isinstance(given, WordSpace) or hasattr(getattr(given, "wv", given), "index_to_key")


def as_space(given: Any) -> WordSpace:
    """Return gensim's ``KeyedVectors`` (or a model that has them) as a space; a space is returned unchanged.

    >>> space = WordSpace(["good", "bad"], [[1, 0], [0, 1]])
    >>> as_space(space) is space
    True
    """
    if isinstance(given, WordSpace):
        return given
    if is_space(given):
        return WordSpace.from_gensim(given)
    if isinstance(given, str | PathLike):
        name = fspath(given)
        raise SpaceError(f"{shorten(name)} is a name, not a WordSpace. Open it first: load_space({shorten(name)}).")
    raise SpaceError(
        f"{type(given).__name__} is not a WordSpace. Give one, or gensim KeyedVectors; WordSpace.from_frame and "
        "WordSpace.encode make spaces of frames and encoders."
    )


class WordSpace:
    """Words and their vectors, immutable.

    Parameters
    ----------
    words : sequence of str
        The vocabulary, in the order of the rows. Each word once.
    vectors : array of shape (n, d)
        One row per word, stored as float32. The space keeps a copy, so later changes of the array do not affect it;
        only read-only arrays and memory maps of float32 are shared. NaN and infinite numbers raise an error. Rows of
        zeros are kept, since files contain them.
    name : str
        Name of the space in reports.

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

    __slots__ = ("_finite", "_lengths", "_name", "_vectors", "_vocabulary")

    _vocabulary: Vocabulary
    _vectors: NDArray[np.float32]
    _name: str
    _lengths: NDArray[np.float32] | None
    _finite: bool

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
        finite: bool = True,
    ) -> WordSpace:
        """Return a space without checking its parts, in constant time: for readers that have checked them.

        `words` may be any sequence that supports slices, such as one that decodes words lazily; `index` maps each word
        to its row, and is built at the first look-up if it is not given. With ``finite=False``, vectors are checked for
        NaN and infinite numbers only when `blocks`, look-ups, `lengths`, `subset` and `rotated` read them.
        """
        space = cls.__new__(cls)
        vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words, index)
        space._set(vocabulary, vectors, name, finite=finite)
        return space

    def _set(self, vocabulary: Vocabulary, vectors: NDArray[np.float32], name: str, *, finite: bool = True) -> None:
        view = vectors.view()
        view.flags.writeable = False
        object.__setattr__(self, "_vocabulary", vocabulary)
        object.__setattr__(self, "_vectors", view)
        object.__setattr__(self, "_name", str(name))
        object.__setattr__(self, "_lengths", None)
        object.__setattr__(self, "_finite", finite)

    def _checked(self, vectors: NDArray[np.float32], rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of some rows; the error for NaN or an infinite number names the word."""
        if not self._finite and not np.isfinite(vectors).all():
            bad = rows[int((~np.isfinite(vectors).all(axis=-1)).argmax()) if vectors.ndim > 1 else 0]
            raise VectorError(
                f"'{self.name}': the vector of {self.words[int(bad)]!r} (row {int(bad) + 1:,}) has NaN or infinite "
                "numbers. The file is damaged; write it again from its source."
            )
        return np.asarray(vectors)

    def _with(self, vectors: NDArray[np.float32]) -> WordSpace:
        return WordSpace.unchecked(self._vocabulary, vectors, name=self.name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A WordSpace does not change: {name!r} cannot be set. Build a new one.")

    def __reduce__(self) -> tuple[object, ...]:
        return partial(WordSpace.unchecked, name=self._name, finite=self._finite), (
            tuple(self.words),
            np.asarray(self._vectors),
        )

    @property
    def words(self) -> Sequence[str]:
        """The vocabulary, in the order of the rows."""
        return self._vocabulary.words

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors, one row per word, read-only. Vectors of a mapped file are not checked for NaN."""
        return self._vectors

    @property
    def name(self) -> str:
        """Name of the space in reports."""
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
            if not self._finite:
                for row in np.flatnonzero(~np.isfinite(lengths)).tolist():  # the length of a finite row may overflow
                    self._checked(self._vectors[row], [row])
                object.__setattr__(self, "_finite", True)
            object.__setattr__(self, "_lengths", lengths)
        return lengths

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._vocabulary.row(word) >= 0

    def __getitem__(self, words: str | Iterable[str]) -> NDArray[np.float32]:
        """Return the vector of a word, or one row per word of a list; an unknown word is an error."""
        if not isinstance(words, Iterable):
            raise SpaceError(
                f"{shorten(words)} is given; a word or a list of words is needed. For the vector of row n, use "
                "space.vectors_at([n])."
            )
        rows = self._vocabulary.find([words] if isinstance(words, str) else words)
        vectors = self.vectors_at(rows)
        return vectors[0] if isinstance(words, str) else vectors

    def vectors_at(self, rows: NDArray[np.int64] | Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of some rows; those of a mapped file are checked to be finite.

        A negative number, such as the -1 of `locate` for a missing word, raises an error.

        >>> WordSpace(["good", "bad"], [[1, 0], [0, 1]]).vectors_at([1]).tolist()
        [[0.0, 1.0]]
        """
        numbers = np.asarray(rows)
        outside = (numbers < 0) | (numbers >= len(self)) if numbers.dtype.kind in "iu" else np.zeros(1, dtype=bool)
        if outside.any():
            place = int(outside.argmax())
            number = int(numbers.flat[place])
            missing = " locate returns -1 for a missing word: leave such words out." if number == -1 else ""
            raise SpaceError(
                f"row {number} is given (place {place} of {numbers.size}); '{self.name}' has the rows 0 to "
                f"{len(self) - 1}.{missing or ' Give numbers of rows.'}"
            )
        return self._checked(self._vectors[rows], rows)

    def locate(self, words: Iterable[str], *, any_case: bool | None = False) -> NDArray[np.int64]:
        """Return the row of each word, -1 if it is missing.

        Composed and decomposed letters (NFC, NFD) are the same. If a word is not in the vocabulary, a word that differs
        only in case may be used: the first one with ``any_case=True``; the only one, if there is exactly one, with
        ``any_case=None``.

        >>> space = WordSpace(["polish", "Polish", "Nail"], [[1, 0], [0, 1], [1, 1]])
        >>> [space.locate(["POLISH", "nail"], any_case=any_case).tolist() for any_case in (False, True, None)]
        [[-1, -1], [0, 2], [-1, 2]]
        """
        return self._vocabulary.locate(words, any_case=any_case)

    def absent(self, words: Iterable[str], *, any_case: bool | None = False) -> list[str]:
        """Return the words that the space lacks, each once, in order; `any_case` as for `locate`.

        >>> WordSpace(["good", "Bad"], [[1, 0], [0, 1]]).absent(["good", "bad", "ugly", "bad"])
        ['bad', 'ugly']
        """
        errors.refuse_text(words, "words")
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
        vectors = self.vectors_at(rows)
        return WordSpace.unchecked(tuple(self.words[row] for row in rows.tolist()), vectors, name=self.name)

    def subset(
        self, words: Iterable[str], *, any_case: bool | None = False, missing: Literal["error", "drop"] = "error"
    ) -> WordSpace:
        """Return the space of these words only, in the given order, each once.

        A word that is not in the space raises an error, or is left out with ``missing="drop"``.
        """
        errors.refuse_text(words, "words")
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
        """Return the space of the first n words (most files are ordered by frequency), or all if there are fewer."""
        if n < 1:
            raise SpaceError(Argument("limit"), f" is {n}; it must be at least 1, the number of words to keep.")
        return WordSpace.unchecked(self.words[:n], self._vectors[:n], name=self.name, finite=self._finite)

    def renamed(self, name: str) -> WordSpace:
        """Return the same space under another name."""
        return WordSpace.unchecked(self._vocabulary, self._vectors, name=name, finite=self._finite)

    def with_vectors(self, vectors: ArrayLike, *, name: str | None = None) -> WordSpace:
        """Return the same words with other vectors, of any width."""
        matrix = checked_vectors(vectors, self.words)
        return WordSpace.unchecked(self._vocabulary, matrix, name=name or self.name)

    def normalized(self, *, zeros: Literal["error", "keep", "drop"] = "error") -> WordSpace:
        """Return the space with every vector at unit Euclidean length.

        A vector of zeros has no direction. It raises an error that names the word, stays zero (``"keep"``), or its word
        is left out (``"drop"``).
        """
        empty = np.flatnonzero(self.lengths == 0)
        if len(empty) and zeros == "error":
            named = name_some(self.words[row] for row in empty.tolist())
            raise VectorError(
                f"{len(empty)} of {len(self)} vectors of '{self.name}' are zero and have no direction ({named}).",
                Advice(
                    " Use normalized(", Argument("zeros", "drop"), ") or normalized(", Argument("zeros", "keep"), ")."
                ),
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

    def most_similar(
        self,
        positive: str | ArrayLike | Sequence[str | ArrayLike] = (),
        negative: str | ArrayLike | Sequence[str | ArrayLike] = (),
        topn: int = 10,
    ) -> list[tuple[str, float]]:
        """Return the words nearest to the sum of some words minus others, as in gensim.

        Vectors are scaled to unit length. The given words are not among the answers. Weights, row numbers in place of
        words and ``topn=None`` are not supported.

        Parameters
        ----------
        positive, negative : str, vector, or list of them
            Words or vectors to add and to subtract.
        topn : int, default=10

        Examples
        --------
        >>> words = ["man", "king", "woman", "queen", "car"]
        >>> space = WordSpace(words, [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [-1, 0, 0]])
        >>> [word for word, cosine in space.most_similar(["king", "woman"], ["man"], topn=1)]
        ['queen']
        """
        if topn is None:
            raise SpaceError(
                Argument("topn", None),
                " is given; a number of answers is needed.",
                Advice(" For all words use space.cosines([word], space.words)."),
            )
        number = next((side for side in (positive, negative) if isinstance(side, int | np.integer)), None)
        if number is not None:
            raise SpaceError(f"{number} is a number; a word or a vector is needed. Give space.words[{number}].")
        sides: list[list[Any]] = [
            [side] if isinstance(side, str) or _is_vector(side) else list(cast(Any, side))
            for side in (positive, negative)
        ]
        if not any(sides):
            raise SpaceError("neither words to add nor words to subtract were given. Give at least one.")
        words = [each for side in sides for each in side if isinstance(each, str)]
        self._vocabulary.find(words)
        points = [
            sign * unit_rows(self._points([each])[0].astype(np.float64))[0]
            for sign, side in zip((1.0, -1.0), sides, strict=True)
            for each in side
        ]
        return self.neighbors(np.mean(points, axis=0), k=topn, exclude=words)

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
            A word is excluded from its own neighbours.
        k : int
            Neighbours per query.
        exclude : words
            Words excluded from all neighbours. If there are fewer than k neighbours, the rest have cosine ``-inf``.
        """
        if k < 1:
            raise SpaceError(Argument("k"), f" is {k}; it must be at least 1, the number of neighbours.")
        shared = self.locate(exclude)
        points, own = self._points(queries)
        barred = [shared] * len(points) if own is None else [np.append(shared, row) for row in own]
        return nearest_rows(self._vectors, points, lengths=self.lengths, k=k, barred=barred)

    def _points(self, queries: Queries) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
        """Return the query vectors, and their rows if words were given."""
        errors.refuse_text(queries, "words")
        if len(queries) and all(isinstance(query, str) for query in queries):
            rows = self._vocabulary.find(str(query) for query in queries)
            return self.vectors_at(rows), rows
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
            raise SpaceError(Argument("k"), f" is {k}; it must be at least 1, the number of answers.")
        question = self._vocabulary.find([a, b, c])[None]
        rows, cosines = analogy_rows(self._vectors, question, lengths=self.lengths, k=k, barred=self.locate(exclude))
        return self._with_cosines(rows[0], cosines[0])

    def rotated(self, by: FittedRotation) -> WordSpace:
        """Return the space in the coordinates of a fitted rotation: dimension 0 is the concept."""
        self._check_width(by)
        vectors = np.empty((len(self), len(by.components_)), dtype=np.float32)
        start = 0
        for words, block in self.blocks():
            vectors[start : start + len(words)] = by.transform(block)
            start += len(words)
        return self._with(vectors)

    def erased(
        self,
        erasure: AffineMap | HasAxes,
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
            If an axis that predicts the concept best (ridge, SVM) is erased, much of the concept remains. Use the mean
            difference, DensRay or LEACE.
        n_axes : int
            Number of axes of a rotation to remove, beginning with the concept axis.
        keep : iterable of str
            Words that should keep the concept. They stay unchanged. Words that are not in the space give a
            warning.
        equalize : iterable of pairs
            Pairs to place at equal distance from every neutral word, even if their words are in `keep`.
        strength : float
            How much of the change to apply, from 0 to 1.
        """
        errors.refuse_text(keep, "keep")
        if isinstance(erasure, AffineMap):
            if n_axes != 1:
                raise errors.DensRayError(
                    Argument("n_axes", n_axes),
                    f" is given with the erasure '{erasure.method}', whose axes are chosen already.",
                    Advice(" Leave ", Argument("n_axes"), " out, or give a rotation."),
                )
            removed = erasure
        else:
            self._check_width(erasure)
            removed = AffineMap.of(erasure, n_axes)
        if self.width != removed.width:
            raise SpaceError(
                f"The erasure '{removed.method}' was fitted on {removed.width} dimensions, '{self.name}' has "
                f"{self.width}. Fit it on this space, or use the one it was fitted on."
            )
        keep = list(keep)
        warn_of_missing_keep(self.absent(keep), self.name)
        removed.warn_of_other_space(self)
        kept = [self.words[row] for row in self.locate(keep).tolist() if row >= 0]  # as the space spells them
        change = erasing(removed, keep=kept, replaced=equalized(self, removed, equalize), strength=strength)
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
            block = self._checked(self._vectors[start : start + rows], range(start, len(self)))
            yield list(self.words[start : start + rows]), block
        object.__setattr__(self, "_finite", True)

    def fingerprint(self) -> str:
        """Return a hexadecimal digest of shape, words and vectors, from rows spread evenly over the space.

        At most 1,024 rows are read, so it is cheap for a memory map. Two spaces that differ only in other rows have the
        same fingerprint.
        """
        fingerprint = Fingerprint(len(self))
        fingerprint.add(self.words, self._vectors)
        return fingerprint.hexdigest()

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        word_column: str = "word",
        vector_column: str | Sequence[str] | None = None,
        name: str = "space",
    ) -> WordSpace:
        """Return the space of a frame of pandas or polars, or a table of pyarrow, DuckDB or datasets: one row per word.

        The words are the column, or the index of a pandas frame, with the name `word_column`. If nothing is called
        "word", they are an index of texts, or else the only column of texts; an index of numbers counts the rows. The
        vectors are the column of lists or arrays (`vector_column`, if there are several), or else the columns that are
        numbered (0, 1, 2 … or dim_1, dim_2 …), one per dimension; any other column then raises an error. A list of
        names (`vector_column`) selects columns whose names are not numbered.

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
        most probable word (the first if no probabilities are known). The others are left out, with a warning.
        """
        return cls(*_conversions.from_spacy(vocab), name=name)

    def to_spacy(self) -> Any:
        """Return a spaCy ``Vocab`` with a copy of the vectors (``nlp.vocab.vectors = vocab.vectors``)."""
        return _conversions.to_spacy(self)

    @classmethod
    def encode(cls, words: Iterable[str], encoder: Any, *, batch_size: int = 256, name: str = "encoded") -> WordSpace:
        """Return the space of words embedded by an encoder: any ``encode(list[str]) -> array``, called batch by batch.

        An object with a method ``encode`` (sentence encoders, static models) is accepted too. Repeated words are
        encoded once.
        """
        return cls(*_conversions.encode(words, encoder, batch_size=batch_size), name=name)

    def __repr__(self) -> str:
        words = name_some(self.words[:3])
        more = ", …" if len(self) > 3 else ""
        return f"WordSpace '{self.name}': {len(self):,} words × {self.width:,} dimensions ({words}{more})"

    def _repr_html_(self) -> str:
        return _conversions.to_html(self)
