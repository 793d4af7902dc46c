"""Words of a Dask dataframe: which rows become seeds and samples, and what is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from densray import Lexicon, WordSpace
from densray.axes import _frames as frames
from densray.axes import induce, induce_frame
from densray.errors import DensRayError, LexiconError
from planted import planted_seeds

dask = pytest.importorskip("dask")
da, dd, pd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")

SEEDS = planted_seeds(40, 4, strength=2.0)
NAMES = [f"x{column}" for column in range(4)]
SPACE = WordSpace(SEEDS.words, SEEDS.X)
LEXICON = Lexicon(dict(zip(SEEDS.words, SEEDS.y.tolist(), strict=True)))


def table(words=SEEDS.words, rows=SEEDS.X):
    found = pd.DataFrame(rows, columns=NAMES)
    found.insert(0, "word", pd.Series(list(words), dtype="str"))
    return found


def frame(npartitions=3, **changes):
    return dd.from_pandas(table(**changes), npartitions=npartitions, sort=False)


def test_words_are_scored_as_in_a_space_whatever_the_column_and_the_blocks_are():
    expected = induce(SPACE, LEXICON, method="mean-difference").scores
    named = frame().rename(columns={"word": "term"})
    asked = {"method": "mean-difference"}
    blocks = da.from_array(SEEDS.X, chunks=(7, 4))
    for found in (
        induce_frame(frame(), LEXICON, **asked),
        induce_frame(named, LEXICON, word="term", **asked),
        induce_frame(blocks, LEXICON, words=SEEDS.words, **asked),
        induce_frame(blocks, LEXICON, words=SEEDS.words, word="term", **asked),
    ):
        computed = found.compute()
        assert computed["word"].tolist() == list(SEEDS.words)
        for name in ("score", "probability", "like_seeds", "standard_error"):
            np.testing.assert_allclose(computed[name], getattr(expected, name), atol=1e-6)
        assert list(computed.columns) == list(found.columns)
        assert "expected_label" not in computed.columns
    scores = Lexicon({word: float(row[0]) for word, row in zip(SEEDS.words, SEEDS.X, strict=True)})
    assert list(induce_frame(frame(), scores).columns)[-1] == "expected_label"


def test_a_partition_without_rows_gives_none_and_one_of_a_row_gives_it():
    part = frame()
    empty = part[part["word"] == "nowhere"]
    one = part[part["word"] == "word7"]
    found = induce_frame(dd.concat([part, empty, one]), LEXICON, method="mean-difference").compute()
    assert found["word"].tolist() == [*SEEDS.words, "word7"]
    assert found["score"].tolist()[-1] == pytest.approx(found["score"].tolist()[7])


def test_seeds_in_another_case_count_where_any_case_does_and_a_repeated_word_counts_once():
    shouted = Lexicon({word.upper(): label for word, label in LEXICON.items()})
    with pytest.raises(LexiconError, match=r"none of the 40 words of .* is in the column 'word'"):
        induce_frame(frame(), shouted)
    asked = {"method": "mean-difference"}
    plain = induce_frame(frame(), LEXICON, **asked).compute()
    found = induce_frame(frame(), shouted, any_case=True, **asked).compute()
    np.testing.assert_allclose(found["score"], plain["score"], atol=1e-6)
    twice = frame(words=[*SEEDS.words, SEEDS.words[0]], rows=np.vstack([SEEDS.X, 100 * np.eye(4)[1:2]]))
    found = induce_frame(twice, LEXICON, **asked).compute()
    assert len(found) == 41
    np.testing.assert_allclose(found["score"][:40], plain["score"], atol=1e-6)


def test_a_sample_is_spread_over_all_partitions(monkeypatch):
    monkeypatch.setattr(frames, "SPREAD_WORDS", 12)
    gathered = frames._gather(frame(4), LEXICON, "word", NAMES, any_case=False)
    assert len(gathered[0]) == 40
    places = [SEEDS.words.index(word) for word in gathered[1]["word"]]
    assert np.bincount(np.array(places) // 10).tolist() == [3, 3, 3, 3]
    monkeypatch.setattr(frames, "SPREAD_WORDS", 2)
    assert len(frames._gather(frame(4), LEXICON, "word", NAMES, any_case=False)[1]) == 4  # one of each, at least


def test_what_is_no_frame_of_words_and_numbers_is_refused_by_name():
    with pytest.raises(DensRayError, match="a DataFrame is given; a Dask dataframe of words and numbers is needed"):
        induce_frame(table(), LEXICON)
    with pytest.raises(DensRayError, match="Array is given; a Dask dataframe"):
        induce_frame(da.from_array(SEEDS.X), LEXICON)
    with pytest.raises(DensRayError, match="there is no column 'term' of words"):
        induce_frame(frame(), LEXICON, word="term")
    with pytest.raises(DensRayError, match="the columns 'other' hold no numbers"):
        induce_frame(frame().assign(other="text"), LEXICON)
    with pytest.raises(DensRayError, match="hold no numbers"):
        induce_frame(frame()[["word"]], LEXICON)
    whole = frame().assign(x3=1)
    assert len(induce_frame(whole, LEXICON, method="mean-difference").compute()) == 40
    with pytest.raises(DensRayError, match=r"39 words for an array of shape \(40, 4\)"):
        induce_frame(da.from_array(SEEDS.X), LEXICON, words=SEEDS.words[:39])
