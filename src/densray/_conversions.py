"""Convert words and vectors from and to the objects of other libraries, each imported only when it is used.

:class:`densray.WordSpace` has methods of the same names.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray.errors import Advice, Argument, SpaceError, VectorError, load_extra, name_some, shorten

if TYPE_CHECKING:
    import polars

    from densray.space import WordSpace

WordsAndVectors = tuple[list[str], NDArray[Any]]


NUMBERED = re.compile(r"(.*?)(\d+)")


def columns_beside_dimensions(names: Sequence[str]) -> list[str]:
    """Return the column names that do not number dimensions (0, 1, 2 … or dim_1, dim_2 …); all if no column does.

    >>> columns_beside_dimensions(["id", "0", "1", "2"]), columns_beside_dimensions(["x1", "x2"])
    (['id'], [])
    >>> columns_beside_dimensions(["height", "width"]), columns_beside_dimensions(["x3", "x5"])
    (['height', 'width'], ['x3', 'x5'])
    """
    by_prefix: dict[str, list[tuple[str, int]]] = {}
    for name in names:
        if match := NUMBERED.fullmatch(name):
            by_prefix.setdefault(match[1], []).append((name, int(match[2])))
    runs = [
        {name for name, _ in numbered}
        for numbered in by_prefix.values()
        if [place for _, place in numbered] in (list(range(len(numbered))), list(range(1, len(numbered) + 1)))
        and (len(numbered) > 1 or len(names) == 1)
    ]
    longest = max(map(len, runs), default=0)
    dimensions = [run for run in runs if len(run) == longest]
    return [name for name in names if name not in dimensions[0]] if len(dimensions) == 1 else list(names)


def streamed(given: Any) -> Any:
    """Return a data set or a relation as an object with the Arrow C stream interface; any other object unchanged."""
    if type(given).__module__.partition(".")[0] == "datasets":
        return given.with_format("arrow")[:]
    if not hasattr(given, "__arrow_c_stream__") and callable(to_arrow := getattr(given, "to_arrow", None)):
        return to_arrow()
    return given


def _as_frame(given: Any) -> Any:
    """Return a table of any library as a frame of polars; a frame of polars or pandas is returned unchanged."""
    import polars

    if isinstance(given, polars.LazyFrame):
        return given.collect()
    if isinstance(given, polars.DataFrame) or (hasattr(given, "iloc") and hasattr(given, "columns")):
        return given
    stream = streamed(given)
    if not hasattr(stream, "__arrow_c_stream__"):
        raise SpaceError(
            f"a {type(given).__name__} is given; a frame of polars or pandas, or a table of pyarrow, DuckDB or "
            "datasets is needed, with a column of words. WordSpace(words, vectors) takes lists and arrays."
        )
    try:
        return polars.DataFrame(stream)
    except (TypeError, ValueError, polars.exceptions.PolarsError) as error:
        raise SpaceError(f"the {type(given).__name__} cannot be read as a table ({shorten(error)}).") from error


def from_frame(frame: Any, *, word_column: str, vector_column: str | Sequence[str] | None) -> WordsAndVectors:
    """Return the words of a frame or table, and their vectors: one column of lists, or numbered or named columns."""
    frame = _as_frame(frame)
    columns = {str(column): column for column in frame.columns}
    if len(columns) < len(frame.columns):
        twice = [name for name, count in Counter(map(str, frame.columns)).items() if count > 1]
        raise SpaceError(f"Columns of the frame occur more than once: {name_some(twice)}. Give each its own name.")
    unnamed = word_column == "word" and word_column not in columns  # the default name, and no such column
    by_index = word_column not in columns and _index_holds_words(frame, word_column)
    if word_column not in columns and not by_index:
        texts = [name for name, column in columns.items() if unnamed and _holds_text(frame[column])]
        if len(texts) != 1:
            index = " Its index holds no texts." if unnamed and hasattr(frame, "iloc") else ""
            raise SpaceError(
                f"The frame has no column '{word_column}' (it has {', '.join(list(columns)[:5])}).{index}",
                Advice(" Name the column of the words with ", Argument("word_column", ...), "."),
            )
        word_column = texts[0]
    words = _texts(frame.index if by_index else frame[columns[word_column]])
    others = [column for name, column in columns.items() if name != word_column]
    if vector_column is None:
        lists = [column for column in others if _holds_lists(frame[column])]
        if len(lists) > 1:
            raise SpaceError(
                f"The frame has several columns of lists ({name_some(lists)}).",
                Advice(" Name one: ", Argument("vector_column", ...), "."),
            )
        if not lists:
            return words, frame[_in_order(others)].to_numpy()
        vector_column = str(lists[0])
    wanted = [vector_column] if isinstance(vector_column, str) else [str(name) for name in vector_column]
    absent = next((name for name in wanted if name not in columns), None)
    if absent is not None:
        raise SpaceError(f"The frame has no column '{absent}' (it has {name_some(columns)}).")
    if not isinstance(vector_column, str):
        return words, frame[[columns[name] for name in wanted]].to_numpy()
    return words, _stacked(frame[columns[vector_column]].to_numpy(), words)


def _index_holds_words(frame: Any, word_column: str) -> bool:
    """Return whether the words are the index of a pandas frame: one of this name, or, by default, one of texts.

    Numbers, dates and tuples count or order the rows, also after sorting and slicing.
    """
    if not hasattr(frame, "iloc"):
        return False
    by_default = word_column == "word" and any(isinstance(value, str) for value in frame.index)
    return by_default or frame.index.name == word_column


def _holds_text(column: Any) -> bool:
    return isinstance(next(iter(column), None), str)


def _texts(words: Iterable[Any]) -> list[str]:
    """Return words as text; the error for a missing word (None, NaN, NA) names its row."""
    texts = []
    for row, word in enumerate(words):
        missing = type(word).__name__ in ("NoneType", "NAType", "NaTType")
        if missing or (isinstance(word, float | np.floating) and np.isnan(word)):
            raise SpaceError(f"The word in row {row} of the frame (counted from 0) is missing. Drop the row.")
        texts.append(str(word))
    return texts


def _in_order(columns: list[Any]) -> list[Any]:
    """Return the columns of the dimensions in the order of their numbers.

    Raises for columns without numbers, for a missing number, and for a column that is not numbered: perhaps an
    identifier or a frequency.
    """
    numbered: dict[str, list[tuple[int, Any]]] = {}
    for column in columns:
        if match := NUMBERED.fullmatch(str(column)):
            numbered.setdefault(match[1], []).append((int(match[2]), column))
    longest = max(numbered.values(), key=len) if numbered else []
    run = sorted(longest, key=lambda pair: pair[0])
    numbers = [number for number, _ in run]
    unlike_dimensions = not run or numbers[0] > 1 or 2 * sum(n <= 2 * len(run) for n in numbers) <= len(run)
    if not columns:
        raise SpaceError("The frame has no column of vectors next to the words. Give a column of lists of numbers.")
    if unlike_dimensions or (len(run) < 2 and len(columns) > 1):
        raise SpaceError(
            f"The frame has the columns {name_some(columns)} next to the words, and their names do not number the "
            "dimensions of vectors (0, 1, 2 … or dim_1, dim_2 …).",
            Advice(" List the columns of the vectors: ", Argument("vector_column", ...), "."),
        )
    for place, number in enumerate(numbers, numbers[0]):
        if number != place:
            defect = f"no column is numbered {place}" if number > place else f"two columns are numbered {number}"
            raise SpaceError(
                f"The columns of the vectors are numbered from {numbers[0]} to {numbers[-1]}, but {defect}. Give every "
                "dimension once."
            )
    ordered = [column for _, column in run]
    _check_dimensions([*map(str, ordered), *(str(column) for column in columns if column not in ordered)])
    return ordered


def _check_dimensions(names: list[str]) -> None:
    """Raise for a column that is not one of the numbered dimensions: perhaps an identifier or a frequency."""
    odd = columns_beside_dimensions(names)
    if odd and len(odd) < len(names):
        raise SpaceError(
            f"The frame has {name_some(odd)} next to {len(names) - len(odd)} numbered columns.",
            Advice(
                " Give a frame with the words and the columns of the vectors only, or list these columns: ",
                Argument("vector_column", ...),
                ".",
            ),
        )


def _holds_lists(column: Any) -> bool:
    """Return whether a column holds a list or an array per row."""
    if str(column.dtype).lower().startswith(("list", "array")):
        return True
    first = column.iloc[0] if hasattr(column, "iloc") and len(column) else None
    return isinstance(first, list | tuple | np.ndarray)


def _stacked(column: NDArray[Any], words: Sequence[str]) -> NDArray[Any]:
    """Return a column of lists as a matrix; the error for a missing list or another length names its word."""
    if column.ndim == 2:
        return column
    rows = [np.ravel(row) if isinstance(row, list | tuple | np.ndarray) else np.empty(0) for row in column]
    width = len(rows[0]) if rows else 0
    odd = next((number for number, row in enumerate(rows) if len(row) != width or not width), None)
    if odd is not None:
        raise VectorError(
            f"The vector of {words[odd]!r} has {len(rows[odd])} numbers, the first one {width}; one width is needed."
        )
    return np.stack(rows) if rows else np.empty((0, 0))


def to_polars(space: WordSpace) -> polars.DataFrame:
    """Return a polars frame with the column ``word`` and the columns ``0`` … ``d-1``."""
    import polars

    axes = {str(axis): np.ascontiguousarray(space.vectors[:, axis]) for axis in range(space.width)}
    return polars.DataFrame({"word": list(space.words), **axes})


def to_pandas(space: WordSpace) -> Any:
    """Return a pandas frame with the words as its index and one column per dimension."""
    pandas = load_extra("pandas", "A pandas frame needs")
    return pandas.DataFrame(np.array(space.vectors), index=pandas.Index(list(space.words), name="word"))


def as_pandas(columns: Mapping[str, Any]) -> Any:
    """Return columns of equal length as a pandas frame."""
    pandas = load_extra("pandas", "A pandas frame needs")
    return pandas.DataFrame({name: list(values) for name, values in columns.items()})


def from_gensim(keyed_vectors: Any) -> WordsAndVectors:
    """Return the words and vectors of a gensim ``KeyedVectors``, or of a model that has one (``model.wv``)."""
    keyed = getattr(keyed_vectors, "wv", keyed_vectors)
    if not (hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors")):
        raise SpaceError(f"{type(keyed_vectors).__name__} is not a gensim KeyedVectors. Give model.wv.")
    return [str(key) for key in keyed.index_to_key], keyed.vectors


def to_gensim(space: WordSpace) -> Any:
    """Return a gensim ``KeyedVectors`` with a copy of the vectors."""
    models = load_extra("gensim.models", "KeyedVectors need", extra="gensim")
    keyed = models.KeyedVectors(space.width, dtype=np.float32)
    keyed.add_vectors(list(space.words), np.array(space.vectors))
    return keyed


def from_spacy(vocab: Any) -> WordsAndVectors:
    """Return the words and vectors of a spaCy pipeline or ``Vocab``: for each row, the word that it belongs to."""
    vocab = getattr(vocab, "vocab", vocab)
    vectors = getattr(vocab, "vectors", None)
    if vectors is None or not hasattr(vocab, "strings"):
        raise SpaceError(f"{type(vocab).__name__} is not a spaCy Vocab. Give nlp or nlp.vocab.")
    if getattr(vectors.mode, "value", vectors.mode) != "default":
        raise SpaceError(
            "These spaCy vectors are composed of hashed parts, so no row belongs to one word. "
            "Use WordSpace.encode(words, lambda words: [nlp.vocab[word].vector for word in words])."
        )
    # In pruned vectors, a removed word shares the row of its nearest remaining word; remaining words come first.
    probabilities = vocab.lookups.get_table("lexeme_prob", {})
    keys = [key for key, row in vectors.key2row.items() if row >= 0]
    keys.sort(key=lambda key: -probabilities.get(key, -np.inf))  # stable: keeps the order if there are no probabilities
    owners: dict[int, int] = {}
    for key in keys:
        owners.setdefault(int(vectors.key2row[key]), key)
    if not owners:
        raise SpaceError("The spaCy vocabulary has no vectors. Load a pipeline with vectors (md or lg).")
    rows = sorted(owners)
    if len(rows) < len(keys):
        sharing = [key for key in keys if owners[int(vectors.key2row[key])] != key]
        named = name_some(vocab.strings[key] for key in sharing)
        warnings.warn(
            f"{len(sharing):,} of {len(keys):,} words of the spaCy vocabulary have the vector of another word (it was "
            f"pruned) and are left out: {named}. Load a pipeline whose vectors are not pruned for them (lg).",
            UserWarning,
            stacklevel=3,
        )
    return [vocab.strings[owners[row]] for row in rows], np.asarray(vectors.data)[rows]


def to_spacy(space: WordSpace) -> Any:
    """Return a spaCy ``Vocab`` with a copy of the vectors."""
    vectors = load_extra("spacy.vectors", "A Vocab needs")
    vocab = load_extra("spacy.vocab", "A Vocab needs").Vocab()
    keys = [vocab.strings.add(word) for word in space.words]
    vocab.vectors = vectors.Vectors(data=np.array(space.vectors), keys=keys, name=space.name)
    return vocab


def to_html(space: WordSpace) -> str:
    """Return the beginning of a space as an HTML table, for notebooks."""
    heads = "".join(f"<th>{axis}</th>" for axis in range(min(space.width, 6)))
    lines = "".join(
        f"<tr><th>{escape(word)}</th>" + "".join(f"<td>{value:.4f}</td>" for value in vector[:6]) + "</tr>"
        for word, vector in zip(space.words[:5], space.vectors[:5], strict=True)
    )
    return (
        f"<div><b>WordSpace</b> {escape(space.name)}: {len(space):,} words × {space.width:,} dimensions"
        f"<table><tr><th></th>{heads}</tr>{lines}</table></div>"
    )


def encode(words: Iterable[str], encoder: Any, *, batch_size: int) -> WordsAndVectors:
    """Return distinct words and their vectors from an encoder, which is called batch by batch."""
    function: Callable[[list[str]], Any] = getattr(encoder, "encode", encoder)
    if not callable(function):
        raise SpaceError(
            f"{type(encoder).__name__} is not an encoder. Give a function that takes a list of words and returns their "
            "vectors."
        )
    if batch_size < 1:
        raise SpaceError(Argument("batch_size"), f" is {batch_size}; it must be at least 1.")
    wanted = list(dict.fromkeys(words))
    if not wanted:
        raise SpaceError("A space needs at least one word; none was given to encode.")
    starts = range(0, len(wanted), batch_size)
    batches = [_encoded(function, wanted[start : start + batch_size]) for start in starts]
    widths = {batch.shape[1] for batch in batches}
    if len(widths) > 1:
        raise VectorError(f"The encoder gave vectors of widths {sorted(widths)}; one width is needed.")
    return wanted, np.vstack(batches)


def _encoded(encode: Callable[[list[str]], Any], words: list[str]) -> NDArray[np.float32]:
    """Return one vector per word; raise an error that describes any other output of the encoder."""
    given = encode(words)
    if hasattr(given, "detach"):  # a torch tensor, perhaps on a device
        given = given.detach().cpu()
    try:
        batch = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise VectorError(f"The encoder did not give vectors of equal width ({shorten(error)}).") from error
    if batch.ndim != 2 or len(batch) != len(words):
        raise VectorError(
            f"The encoder gave an array of shape {batch.shape} for {len(words)} words; "
            f"one vector per word is needed: ({len(words)}, width)."
        )
    return batch
