"""The spelling baseline: perfect where a rule of letters is all there is, blind to everything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from densray import WordSpace
from densray.analogies import AnalogySet
from densray.analogy import SOLVERS, Spelling, compare_solvers, evaluate_analogies, make_solver
from densray.cli.entry import run
from densray.datasets import load_analogies

STEMS = ["walk", "jump", "turn", "call", "pull", "look", "help", "work", "play", "rain", "burn", "melt"]
DOCS = Path(__file__).parents[1] / "docs"


def noise_space(words: list[str], *, seed: int = 0) -> WordSpace:
    """Return a space whose vectors say nothing about its words."""
    return WordSpace(list(dict.fromkeys(words)), np.random.default_rng(seed).normal(size=(len(set(words)), 20)))


@pytest.mark.parametrize("form", ["{}ed", "un{}", "{}", "re{}ing"])
def test_a_regular_category_is_solved_without_fault(form: str) -> None:
    queries = STEMS if form != "{}" else [f"{stem}ing" for stem in STEMS]
    pairs = list(zip(queries, [form.format(stem) for stem in STEMS], strict=True))
    decoys = [f"{stem}s" for stem in STEMS] + [f"out{stem}" for stem in STEMS]
    space = noise_space([*decoys, *(word for pair in pairs for word in pair)])
    regular = AnalogySet.from_pairs(pairs)
    circumfix = form == "re{}ing"  # a change at both ends is more than one rule
    assert evaluate_analogies(space, regular, "spelling").micro == (0.0 if circumfix else 1.0)
    assert evaluate_analogies(space, regular, "intcos-original").micro < 0.5  # the vectors know nothing


def test_several_rules_are_weighed_and_the_vocabulary_decides() -> None:
    space = noise_space(
        [
            "walk",
            "walked",
            "jump",
            "jumped",
            "try",
            "tried",
            "cry",
            "cried",
            "sing",
            "sang",
            "ring",
            "rang",
            "ringed",
            "spring",
            "sprang",
        ]
    )
    solver = Spelling(space).fit([("walk", "walked"), ("jump", "jumped"), ("try", "tried"), ("sing", "sang")])
    assert solver.predict("cry", k=1)[0].word == "cried"  # "cryed" has more votes, and is not a word
    assert [answer.word for answer in solver.predict("ring", k=2)] == ["ringed", "rang"]  # two examples against one
    assert solver.predict("ring", k=1)[0].parts["votes"] == pytest.approx(0.5)
    assert solver.predict("spring", k=1)[0].word == "sprang"


def test_where_no_rule_fits_the_most_similar_word_comes_first() -> None:
    space = noise_space(["big", "bigger", "wet", "wetter", "hot", "hotter", "fat", "later", "fatter", "water"])
    assert Spelling(space).fit([("big", "bigger"), ("wet", "wetter")]).predict("fat", k=1)[0].word == "fatter"


def test_a_semantic_category_is_at_chance() -> None:
    random = np.random.default_rng(1)
    words = ["".join(random.choice(list("abcdefghijklmnop"), size=7)) for _ in range(400)]
    relation = AnalogySet.from_pairs([(words[i], words[200 + i]) for i in range(60)])
    result = evaluate_analogies(noise_space(words), relation, "spelling")
    ranks = result.reciprocal_rank or 0.0
    assert (result.micro or 0.0) <= 2 / 60
    assert ranks < 0.1


def test_vectors_are_never_looked_at(googlenews: WordSpace) -> None:
    analogies = load_analogies("google").subset(["gram7-past-tense", "family"])
    noise = np.random.default_rng(0).normal(size=(len(googlenews), 30)).astype(np.float32)
    ours, control = compare_solvers(googlenews, analogies, ["spelling", "intcos-original"], predictions=True)
    noisy, lost = compare_solvers(
        googlenews, analogies, ["spelling", "intcos-original"], predictions=True, vectors=noise
    )
    assert ours.predictions == noisy.predictions
    assert (lost.micro or 0.0) < 0.1 < (control.micro or 0.0)


def test_a_fold_gives_what_a_user_without_that_pair_gets(googlenews: WordSpace) -> None:
    result = evaluate_analogies(
        googlenews, load_analogies("google").subset(["gram8-plural"]), "spelling", predictions=True
    )
    pairs = [(one.query, one.answers) for one in result.predictions]
    for number in (0, 7, 20):
        answers = Spelling(googlenews).fit(pairs[:number] + pairs[number + 1 :]).predict(pairs[number][0])
        assert tuple(answer.word for answer in answers) == result.predictions[number].words


def test_inflection_needs_spelling_alone_and_meaning_does_not_follow_from_it(
    googlenews: WordSpace, data_folder: Path
) -> None:
    bats = AnalogySet.read(data_folder / "analogies" / "bats", name="bats")
    regular = bats.subset(["I05 [verb_inf - 3pSg]", "D02 [un+adj_reg]", "D03 [adj+ly_reg]"])
    meaning = bats.subset(["E08 [animal - shelter]", "E09 [things - color]", "L04 [meronyms - substance]"])
    assert evaluate_analogies(googlenews, regular, "spelling").micro == 1.0
    assert (evaluate_analogies(googlenews, meaning, "spelling").micro or 0.0) < 0.05


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_is_on_the_command_line_and_on_the_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "analogy", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert name in shown
    assert f"| `{name}` |" in (DOCS / "analogies.md").read_text("utf-8")


def test_the_solver_has_no_axis_to_choose(googlenews: WordSpace) -> None:
    assert make_solver("spelling", googlenews).name == "spelling"
    assert not SOLVERS["spelling"].rotation
