"""Words of a Dask dataframe scored along an axis: seeds come to the client, scores stay where the words are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from densray._arrays import is_dask
from densray._vocabulary import spread_rows
from densray.axes._model import AxisModel
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions, find_seeds, fit_rotation
from densray.errors import DensRayError, LexiconError, name_some
from densray.lexicon import Lexicon
from densray.rotations import Rotation
from densray.rotations.blocks import as_rows
from densray.space import WordSpace

if TYPE_CHECKING:
    import pandas

#: Words that tell what an average word is like; see :class:`densray.axes.AxisModel`.
SPREAD_WORDS = 4096


def induce_frame(
    frame: Any,
    lexicon: Lexicon,
    *,
    word: str = "word",
    words: Sequence[str] | None = None,
    method: str | Rotation = "ridge",
    options: AxisOptions = DEFAULTS,
    **choices: Unpack[AxisChoices],
) -> Any:
    """Return every word of a Dask dataframe with its score, error and probability, as a Dask dataframe.

    The words of the lexicon are gathered and the axis is found at once; all other words are scored when the result is
    computed, partition by partition. Ranks over all words are not part of it: they would need a sort.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame or dask.array.Array
        One word per row: a column of words, all other columns of numbers. A word that comes
        twice counts once as a seed. Or an array of the vectors alone, with `words`.
    lexicon : Lexicon
        The seeds.
    word : str, default="word"
        The column of words.
    words : sequence of str, optional
        The words of an array's rows.
    method, options, **choices
        As for :func:`densray.axes.induce`.

    Returns
    -------
    dask.dataframe.DataFrame
        Columns word, score, probability, like_seeds, standard_error, and expected_label where the labels are scores.
    """
    options = options.changed(**choices)
    if words is not None:
        frame = _framed(frame, words, word)
    columns = _number_columns(frame, word)
    seeds_table, spread = _gather(frame, lexicon, word, columns, any_case=options.any_case)
    seeds = find_seeds(_space(seeds_table, word, columns), lexicon, options)
    rotation = fit_rotation(method, seeds, scale=options.scale)
    model = AxisModel.of(rotation, seeds, _space(spread, word, columns), options)
    meta = _score(frame._meta.iloc[:0], word, columns, model)
    return frame.map_partitions(_score, word, columns, model, meta=meta)


def _framed(X: Any, words: Sequence[str], word: str) -> Any:
    """Return a Dask dataframe of words and the rows of a Dask array."""
    import dask
    import dask.dataframe
    import pandas as pd

    X = as_rows(X)
    if len(words) != X.shape[0]:
        raise DensRayError(f"{len(words):,} words for an array of shape {X.shape}; one word per row is needed.")
    names = [f"x{column}" for column in range(X.shape[1])]

    def table(rows: NDArray[Any], some: Sequence[str]) -> pandas.DataFrame:
        found = pd.DataFrame(rows, columns=names)
        found.insert(0, word, pd.Series(list(some), dtype="str"))
        return found

    ends = np.cumsum(X.chunks[0]).tolist()
    blocks = X.to_delayed(optimize_graph=False).ravel()
    parts = [
        dask.delayed(table)(block, list(words[end - count : end]))
        for block, end, count in zip(blocks, ends, X.chunks[0], strict=True)
    ]
    meta = table(np.empty((0, X.shape[1]), dtype=X.dtype), [])
    return dask.dataframe.from_delayed(parts, meta=meta, verify_meta=False)


def _number_columns(frame: Any, word: str) -> list[str]:
    if not is_dask(frame) or not hasattr(frame, "columns"):
        raise DensRayError(f"a {type(frame).__name__} is given; a Dask dataframe of words and numbers is needed.")
    if word not in frame.columns:
        raise DensRayError(f"there is no column '{word}' of words; the columns are {name_some(frame.columns)}.")
    others = [name for name in frame.columns if name != word]
    odd = [name for name in others if frame.dtypes[name].kind not in "fiu"]
    if odd or not others:
        raise DensRayError(f"the columns {name_some(odd)} hold no numbers. Select the word and its vector only.")
    return others


def _gather(
    frame: Any, lexicon: Lexicon, word: str, columns: list[str], *, any_case: bool
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return the rows of the lexicon's words, and rows spread over all partitions."""
    import dask

    wanted = frozenset((entry.lower() for entry in lexicon.words) if any_case else lexicon.words)
    each = max(1, SPREAD_WORDS // frame.npartitions)
    meta = frame._meta
    found, spread = dask.compute(
        frame.map_partitions(_wanted_rows, word, wanted, any_case, meta=meta),
        frame.map_partitions(_spread_rows, each, meta=meta),
    )
    if not len(found):
        raise LexiconError(
            f"none of the {len(lexicon.words)} words of '{lexicon.name}' is in the column '{word}' "
            f"({name_some(lexicon.words)}). Check case and language."
        )
    return found, spread


def _wanted_rows(part: pandas.DataFrame, word: str, wanted: frozenset[str], any_case: bool) -> pandas.DataFrame:
    words = part[word].astype(str)
    return part[(words.str.lower() if any_case else words).isin(wanted)]


def _spread_rows(part: pandas.DataFrame, count: int) -> pandas.DataFrame:
    return part.iloc[spread_rows(len(part), count)]


def _space(table: pandas.DataFrame, word: str, columns: list[str]) -> WordSpace:
    table = table.drop_duplicates(subset=word)
    return WordSpace(table[word].astype(str).tolist(), table[columns].to_numpy(np.float32), name="dask dataframe")


def _score(part: pandas.DataFrame, word: str, columns: list[str], model: AxisModel) -> pandas.DataFrame:
    """Return the words of one partition with their scores."""
    import pandas as pd

    vectors = part[columns].to_numpy(np.float32)
    empty = len(vectors) == 0
    scores = model.score(np.zeros((1, len(columns)), dtype=np.float32) if empty else vectors)
    found = {"word": part[word].to_numpy()}
    for name in ("score", "probability", "like_seeds", "standard_error", "expected_label"):
        values = getattr(scores, name)
        if values is not None:
            found[name] = values[:0] if empty else values
    return pd.DataFrame(found, index=part.index)
