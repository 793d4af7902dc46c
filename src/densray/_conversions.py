"""Word spaces from and to the objects of other libraries, each imported only when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray.errors import SpaceError, VectorError

if TYPE_CHECKING:
    import polars


class Conversions:
    """The part of `WordSpace` that speaks to other libraries."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, words: Sequence[str], vectors: ArrayLike, *, name: str = "space") -> None: ...
        def __len__(self) -> int: ...
        @property
        def words(self) -> Sequence[str]: ...
        @property
        def vectors(self) -> NDArray[np.float32]: ...
        @property
        def width(self) -> int: ...
        @property
        def name(self) -> str: ...

    @classmethod
    def from_frame(cls, frame: Any, *, word_column: str = "word", name: str = "space") -> Self:
        """Return the space of a pandas or polars frame: one line per word, one numeric column per dimension.

        The words are the column `word_column`; a pandas frame without it gives its index.
        """
        columns = [str(column) for column in frame.columns]
        if word_column in columns:
            words = [str(word) for word in frame[word_column]]
            numbers = frame[[column for column in frame.columns if str(column) != word_column]]
        elif hasattr(frame, "index"):
            words, numbers = [str(word) for word in frame.index], frame
        else:
            raise SpaceError(
                f"The frame has no column '{word_column}' (it has {', '.join(columns[:5])}). "
                f"Name the column of the words with word_column=."
            )
        return cls(words, numbers.to_numpy(), name=name)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with the column ``word`` and the columns ``0`` … ``d-1``."""
        import polars

        axes = {str(axis): np.ascontiguousarray(self.vectors[:, axis]) for axis in range(self.width)}
        return polars.DataFrame({"word": list(self.words), **axes})

    def to_pandas(self) -> Any:
        """Return a pandas frame with the words as its index and one column per dimension."""
        import pandas

        return pandas.DataFrame(np.array(self.vectors), index=pandas.Index(list(self.words), name="word"))

    @classmethod
    def from_gensim(cls, keyed_vectors: Any, *, name: str = "space") -> Self:
        """Return the space of a gensim ``KeyedVectors``, or of a model that has one (``model.wv``)."""
        keyed = getattr(keyed_vectors, "wv", keyed_vectors)
        if not (hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors")):
            raise SpaceError(f"{type(keyed_vectors).__name__} is no gensim KeyedVectors. Give model.wv.")
        return cls([str(key) for key in keyed.index_to_key], keyed.vectors, name=name)

    def to_gensim(self) -> Any:
        """Return a gensim ``KeyedVectors`` with a copy of the vectors."""
        from gensim.models import KeyedVectors

        keyed = KeyedVectors(self.width, dtype=np.float32)
        keyed.add_vectors(list(self.words), np.array(self.vectors))
        return keyed

    @classmethod
    def from_spacy(cls, vocab: Any, *, name: str = "space") -> Self:
        """Return the vectors of a spaCy pipeline or ``Vocab``: all strings that have a row."""
        vocab = getattr(vocab, "vocab", vocab)
        vectors = getattr(vocab, "vectors", None)
        if vectors is None or not hasattr(vocab, "strings"):
            raise SpaceError(f"{type(vocab).__name__} is no spaCy Vocab. Give nlp or nlp.vocab.")
        if getattr(vectors.mode, "value", vectors.mode) != "default":
            raise SpaceError(
                "These spaCy vectors are made of hashed pieces: no row belongs to one word. "
                "Use WordSpace.encode(words, lambda words: [nlp.vocab[word].vector for word in words])."
            )
        rows = sorted((row, vocab.strings[key]) for key, row in vectors.key2row.items() if row >= 0)
        if not rows:
            raise SpaceError("The spaCy vocabulary has no vectors. Load a pipeline with vectors (md or lg).")
        data = np.asarray(vectors.data)[[row for row, _ in rows]]
        return cls([word for _, word in rows], data, name=name)

    def to_spacy(self) -> Any:
        """Return a spaCy ``Vocab`` with a copy of the vectors (``nlp.vocab.vectors = vocab.vectors``)."""
        from spacy.vectors import Vectors
        from spacy.vocab import Vocab

        vocab = Vocab()
        keys = [vocab.strings.add(word) for word in self.words]
        vocab.vectors = Vectors(data=np.array(self.vectors), keys=keys, name=self.name)
        return vocab

    @classmethod
    def encode(cls, words: Iterable[str], encoder: Any, *, batch_size: int = 256, name: str = "encoded") -> Self:
        """Return the space an encoder gives: any ``encode(list[str]) -> array``, called batch by batch.

        An object with a method ``encode`` (sentence encoders, static models) may be given as it is. A word
        given twice is encoded once.
        """
        encode: Callable[[list[str]], Any] = getattr(encoder, "encode", encoder)
        if not callable(encode):
            raise SpaceError(f"{type(encoder).__name__} does not encode. Give a function of a list of words.")
        if batch_size < 1:
            raise SpaceError(f"batch_size is {batch_size}; it must be at least 1.")
        wanted = list(dict.fromkeys(words))
        if not wanted:
            raise SpaceError("A space needs at least one word; none was given to encode.")
        starts = range(0, len(wanted), batch_size)
        batches = [_encoded(encode, wanted[start : start + batch_size]) for start in starts]
        widths = {batch.shape[1] for batch in batches}
        if len(widths) > 1:
            raise VectorError(f"The encoder gave vectors of widths {sorted(widths)}; one width is needed.")
        return cls(wanted, np.vstack(batches), name=name)


def _encoded(encode: Callable[[list[str]], Any], words: list[str]) -> NDArray[np.float32]:
    """Return one vector per word, or say what the encoder gave instead."""
    given = encode(words)
    if hasattr(given, "detach"):  # a torch tensor, perhaps on a device
        given = given.detach().cpu()
    try:
        batch = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise VectorError(f"The encoder did not give vectors of equal width ({error}).") from error
    if batch.ndim != 2 or len(batch) != len(words):
        raise VectorError(
            f"The encoder gave an array of shape {batch.shape} for {len(words)} words; "
            f"one vector per word is needed: ({len(words)}, width)."
        )
    return batch
