"""One axis in two spaces: errors spread as over other seeds, words that moved are found, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from densray import Lexicon, WordSpace
from densray.axes import _spaces as spaces
from densray.axes import compare_spaces
from densray.errors import LexiconError, TaskError

WORDS = [f"word{number}" for number in range(1500)]
MOVED = WORDS[100:110]


def two_spaces(*, noise: float = 0.3, moved: float = 0.0, width: int = 20) -> tuple[WordSpace, WordSpace]:
    """One vocabulary in two spaces of different widths: rows, and the same turned; with noise, and some words moved."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(len(WORDS), width))
    rows[:, 0] *= 1.5
    turned = rows.copy()
    turned[100:110, 0] += moved
    turned = turned + noise * random.normal(size=rows.shape)
    basis, _ = np.linalg.qr(random.normal(size=(width + 5, width)))
    return (
        WordSpace(WORDS, rows + noise * random.normal(size=rows.shape), name="then"),
        WordSpace(WORDS, turned @ basis.T, name="now"),
    )


def seeds_of(space: WordSpace, count: int, seed: int = 0) -> Lexicon:
    """Words drawn from those with a clear first coordinate."""
    random = np.random.default_rng(seed)
    clear = [row for row in range(200, len(WORDS)) if abs(space.vectors[row, 0]) > 1.0]
    drawn = random.choice(clear, size=count, replace=False).tolist()
    return Lexicon({WORDS[row]: float(np.sign(space.vectors[row, 0])) for row in drawn})


@pytest.mark.parametrize("method", ["mean-difference", "ridge"])
def test_the_error_of_a_difference_is_its_spread_over_other_seeds(method: str) -> None:
    first, second = two_spaces()
    found = [compare_spaces(first, second, seeds_of(first, 60, seed), method=method) for seed in range(40)]
    assert all(each.is_paired for each in found)
    spread = np.std([each.difference for each in found], axis=0, ddof=1)
    stated = np.sqrt(np.mean([each.seed_error**2 for each in found], axis=0))
    assert np.median(stated / spread) == pytest.approx(1.0, abs=0.15)


def test_seeds_left_out_of_both_spaces_at_once_leave_less_error() -> None:
    first, second = two_spaces()
    lexicon = seeds_of(first, 60)
    paired = compare_spaces(first, second, lexicon)
    apart = compare_spaces(first, second, lexicon, other_lexicon=lexicon)
    np.testing.assert_allclose(paired.difference, apart.difference)
    np.testing.assert_allclose(apart.seed_error, np.hypot(apart.first_error, apart.second_error), rtol=1e-4)
    assert np.median(paired.seed_error / apart.seed_error) < 0.9


def test_words_that_moved_are_found_and_no_others() -> None:
    first, second = two_spaces(moved=4.0)
    found = compare_spaces(first, second, seeds_of(first, 100))
    assert {row["word"] for row in found.risen[:10]} == set(MOVED)
    assert all(row["moved"] for row in found.lookup(MOVED))
    assert found.n_moved <= 15  # one in twenty may be wrong, and they are told apart by one noise
    others = np.array([word not in MOVED for word, _ in found.words])
    assert np.std(found.ratio[others]) == pytest.approx(1.0, abs=0.15)


def test_at_most_two_words_are_reported_as_moved_if_none_moved() -> None:
    first, second = two_spaces()
    assert compare_spaces(first, second, seeds_of(first, 100)).n_moved <= 2


def test_a_space_turned_and_stretched_is_the_same_space() -> None:
    first, _ = two_spaces()
    basis, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))
    turned = WordSpace(WORDS, 3.0 * first.vectors @ basis, name="turned")
    found = compare_spaces(first, turned, seeds_of(first, 60), method="mean-difference")
    assert found.correlation == pytest.approx(1.0)
    np.testing.assert_allclose(found.difference, 0.0, atol=1e-4)
    np.testing.assert_allclose(found.seed_error, 0.0, atol=1e-4)
    assert found.n_moved == 0


def test_two_languages_are_compared_with_lists_and_pairs_of_their_own() -> None:
    first, second = two_spaces(moved=4.0)
    foreign = WordSpace([f"mot{number}" for number in range(len(WORDS))], second.vectors, name="foreign")
    lexicon = seeds_of(first, 100)
    theirs = Lexicon({word.replace("word", "mot"): label for word, label in lexicon.items()})
    pairs = [(word, word.replace("word", "mot")) for word in WORDS]
    found = compare_spaces(first, foreign, lexicon, other_lexicon=theirs, pairs=pairs)
    assert not found.is_paired
    assert {row["word"] for row in found.risen[:10]} == {f"{word} – {word.replace('word', 'mot')}" for word in MOVED}
    assert found.lookup(["mot105", "nothing"])[0]["word"] == "word105 – mot105"
    with pytest.raises(LexiconError, match="0 of 100 lexicon words are in both 'then' and 'foreign'"):
        compare_spaces(first, foreign, lexicon)
    with pytest.raises(TaskError, match="0 words are in both"):
        compare_spaces(first, foreign, lexicon, other_lexicon=theirs)


def test_only_seeds_of_both_spaces_count_where_one_list_serves_both() -> None:
    first, second = two_spaces()
    lexicon = seeds_of(first, 60)
    part = second.subset([word for word in WORDS if word != lexicon.words[0]])
    found = compare_spaces(first, part, lexicon)
    assert found.n_seeds == (59, 59)
    assert found.n_words == len(WORDS) - 1


def test_a_space_comparison_gives_a_text_and_tables() -> None:
    first, second = two_spaces(moved=4.0)
    found = compare_spaces(first, second, seeds_of(first, 100), n_words=5)
    assert "1,500 words of “then” and “now” correlate at 0.9" in found.text()
    assert "hardly agree" not in found.text()
    assert [len(table.rows) for table in found.tables()] == [5, 5]
    other = WordSpace(WORDS, np.random.default_rng(9).normal(size=(len(WORDS), 20)), name="unlike")
    assert "single words cannot be compared" in compare_spaces(first, other, seeds_of(first, 100)).text()
    assert found.to_dict()["n_moved"] == found.n_moved


def test_the_first_words_of_the_spaces_are_compared_and_may_be_seeds() -> None:
    first, second = two_spaces()
    words = [*WORDS[1:40], WORDS[0]]
    moved = second.subset(words)  # the first row of one is the last of the other
    lexicon = Lexicon({word: float(np.sign(first.vectors[row, 0])) for row, word in enumerate(WORDS[:40])})
    found = compare_spaces(first, moved, lexicon, pairs=[(word, word) for word in WORDS[:40]], method="mean-difference")
    assert found.n_seeds == (40, 40)
    assert [pair[0] for pair in found.words] == WORDS[:40]


def test_scores_are_standardised_and_differences_are_in_units_of_both_errors() -> None:
    first, second = two_spaces()
    lexicon = seeds_of(first, 60)
    found = compare_spaces(first, second, lexicon, method="mean-difference", n_words=1500)
    scores = []
    for space in (first, second):
        unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
        rows = space.locate(lexicon.words)
        axis = unit[rows][lexicon.labels > 0].mean(axis=0) - unit[rows][lexicon.labels < 0].mean(axis=0)
        along = unit @ axis
        scores.append((along - along.mean()) / along.std())
    np.testing.assert_allclose(found.first, scores[0], atol=1e-4)
    np.testing.assert_allclose(found.second, scores[1], atol=1e-4)
    assert found.correlation == pytest.approx(np.corrcoef(scores)[0, 1], abs=1e-6)
    noise = []
    for group in np.split(np.arange(1500), 3):  # as frequent: 500 by 500
        apart = found.difference[group]
        middle = 1.4826 * np.median(np.abs(apart - np.median(apart)))
        noise += [np.sqrt(max(middle**2 - np.median(found.seed_error[group] ** 2), 1e-10))] * 500
    np.testing.assert_allclose(found.noise, noise, rtol=1e-9)
    np.testing.assert_allclose(found.ratio, found.difference / np.hypot(found.seed_error, found.noise))
    p = np.sort(2 * stats.norm.sf(np.abs(found.ratio)))
    below = np.flatnonzero(p <= 0.05 * np.arange(1, 1501) / 1500)
    assert found.n_moved == (below[-1] + 1 if below.size else 0)
    assert len(found.risen) == np.sum(found.ratio > 0)
    assert len(found.fallen) == np.sum(found.ratio < 0)
    assert found.risen[0]["ratio"] == found.ratio.max()


def test_words_that_moved_are_those_within_a_false_discovery_rate_of_five_percent() -> None:
    first, second = two_spaces(moved=1.6)
    found = compare_spaces(first, second, seeds_of(first, 100), method="mean-difference")
    p = np.sort(2 * stats.norm.sf(np.abs(found.ratio)))
    counts = [int(np.flatnonzero(p <= rate * np.arange(1, 1501) / 1500)[-1]) + 1 for rate in (0.025, 0.05)]
    assert counts[0] < counts[1]  # the control: half of the rate would find fewer
    assert found.n_moved == counts[1] == int(found.moved.sum())
    assert [len(found.risen), len(found.fallen)] == [20, 20]


def test_the_first_words_that_both_spaces_have_are_compared_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"at most the first {spaces.MOST_COMPARED:,}" in " ".join((compare_spaces.__doc__ or "").split())
    monkeypatch.setattr(spaces, "MOST_COMPARED", 20)
    first, second = two_spaces()
    lexicon = seeds_of(first, 60)
    assert [pair[0] for pair in compare_spaces(first, second, lexicon).words] == WORDS[:20]
    part = second.subset([*WORDS[60:], *WORDS[40:50]])
    found = compare_spaces(first, part, lexicon)  # looked for among the first eighty
    assert [pair[0] for pair in found.words] == [*WORDS[40:50], *WORDS[60:70]]
    few = second.subset([*WORDS[85:], *WORDS[70:75]])
    with pytest.raises(TaskError, match=r"5 words are in both 'then' and 'now'; 10 are needed"):
        compare_spaces(first, few, lexicon)


def test_ten_pairs_are_enough_and_a_pair_given_twice_counts_once() -> None:
    first, second = two_spaces()
    lexicon = seeds_of(first, 60)
    pairs = [(word, word) for word in WORDS[:10]]
    found = compare_spaces(first, second, lexicon, pairs=[*pairs, pairs[0], ("word20", "absent"), ("absent", "word20")])
    assert found.n_words == 10
    with pytest.raises(TaskError, match="9 words are in both"):
        compare_spaces(first, second, lexicon, pairs=pairs[1:])
    with pytest.raises(LexiconError, match="1 of 2 lexicon words are in both"):
        compare_spaces(first, second, Lexicon({WORDS[0]: 1, "absent": -1}))
    assert compare_spaces(first, second, Lexicon({WORDS[0]: 1, WORDS[1]: -1}), method="mean-difference").n_seeds == (
        2,
        2,
    )


def test_the_text_depends_on_the_correlation_and_the_source_of_the_seeds() -> None:
    first, second = two_spaces()
    lexicon = seeds_of(first, 60)
    found = compare_spaces(first, second, lexicon, n_words=3)
    assert "hardly agree" not in replace(found, correlation=0.5).text()
    assert "hardly agree" in replace(found, correlation=0.499).text()
    assert (
        "correlate at 0.12 along this axis; 1,234 of them moved"
        in replace(found, correlation=0.1234, n_moved=1234).text()
    )
    assert "(the same seeds, left out in both spaces at once)" in found.text()
    assert "(independent errors)" in replace(found, is_paired=False).text()
    grouped = {word: str(number // 2) for number, word in enumerate(lexicon.words)}
    assert compare_spaces(first, second, lexicon, groups=grouped).is_paired  # groups are left out in both at once


def test_words_compared_are_looked_up_by_either_spelling_once_and_in_the_order_asked_for() -> None:
    first, second = two_spaces()
    found = compare_spaces(first, second, seeds_of(first, 60), n_words=3)
    rows = found.lookup(["word7", "word3", "word7", "absent", "word0"])
    assert [row["word"] for row in rows] == ["word7", "word3", "word0"]
    entry = rows[0]
    assert entry["difference"] == entry["second"] - entry["first"] == found.difference[7]
    assert entry["error"] == pytest.approx(np.hypot(found.seed_error[7], found.noise[7]))
    assert entry["ratio"] == pytest.approx(entry["difference"] / entry["error"])
    assert (entry["first_error"], entry["second_error"]) == (found.first_error[7], found.second_error[7])
    none = replace(found, seed_error=np.zeros(1500), noise=np.zeros(1500))
    assert (none.ratio == 0.0).all()
    same = WordSpace(WORDS, np.vstack([np.ones((1400, 20)), first.vectors[1400:]]), name="same")
    with pytest.raises(TaskError, match="all have the same score in 'same'"):
        compare_spaces(same, second, Lexicon({WORDS[row]: float(row % 2) for row in range(1400, 1440)}),
                       pairs=[(word, word) for word in WORDS[:20]])  # fmt: skip
