"""Analogies: asked with pairs of one's own, answers with the parts of their scores; the benchmark and its misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from densray.analogies import AnalogyCategory, AnalogySet
from densray.errors import name_some
from densray.explorer.pages.analogy_benchmark import show_benchmark
from densray.explorer.sidebar import show_missing
from densray.explorer.widgets import (
    bound,
    chart,
    choice,
    complain,
    long_step,
    plain,
    settings,
    write_setting,
)
from densray.explorer.words import missing_word, pairs_of_text
from densray.explorer.workbench import Workbench, current
from densray.figures import answer_parts
from densray.rotations import METHODS
from densray.space import WordSpace
from densray.tasks.analogy import SOLVERS, Answer, make_solver
from densray.tasks.analogy.usable import SkippedPair, case_matters

__all__ = ["ICON", "TITLE", "show"]

TITLE, ICON = "Analogies", ":material/join_right:"

_PARTS = {"ask": "Ask", "benchmark": "Benchmark"}
_ROTATIONS = sorted(METHODS, key=lambda name: name != "densray-unit")  # the paper's first: what others fall back to
_SHOWN = 10  # answers


@dataclass(frozen=True)
class _Answered:
    """The best answers, the one that is said to be right wherever it stands, and the pairs that were left out."""

    answers: list[Answer]
    right: Answer | None
    skipped: tuple[SkippedPair, ...]


def show() -> None:
    """Show the part that was chosen: a question of one's own, or the benchmark."""
    bench = current()
    if settings()["part"] not in _PARTS:
        write_setting("part", "ask")
    part = st.segmented_control("Part", list(_PARTS), format_func=_PARTS.__getitem__, required=True,
                                label_visibility="collapsed", **bound("part"))  # fmt: skip
    if part == "benchmark":
        show_benchmark(bench)
    else:
        _show_question(bench)


def _show_question(bench: Workbench) -> None:
    inputs, outcome = st.columns([2, 5], gap="large")
    with inputs:
        name, rotation = _choose_question()
    with outcome, complain():
        pairs = pairs_of_text(settings()["pairs"])
        with inputs:
            _show_missing_pairs(bench, pairs)
        query = settings()["query"].strip()
        if not query:
            st.info("Type a query: a word whose partner is wanted.", icon=":material/edit:")
        elif _is_known(bench.space, query):
            found = _ask(bench, pairs.categories[0], name, rotation, query)
            if found is not None:
                _show_answers(bench.space, query, found)


def _choose_question() -> tuple[str, str | None]:
    """Show the widgets of a question; return the solver and what finds its axis, where it has one."""
    st.text_area("Example pairs, one a line", height=190, **bound("pairs"))
    st.text_input("Query", placeholder="a word whose partner is wanted", **bound("query"))
    st.text_input("Right answer", placeholder="if you know it: shown wherever it stands", **bound("expected"))
    name = choice("Solver", "solver", list(SOLVERS))
    st.caption(plain(f"Score: {SOLVERS[name].summary}."))
    return name, choice("Axis found by", "rotation", _ROTATIONS) if SOLVERS[name].rotation else None


def _is_known(space: WordSpace, word: str) -> bool:
    """Return whether a word is in the space, in upper or lower case; say so where it is not."""
    known = bool(space.locate([word], match_case=False)[0] >= 0)
    if not known:
        st.warning(plain(missing_word(word, space)), icon=":material/search_off:")
    return known


def _show_missing_pairs(bench: Workbench, pairs: AnalogySet) -> None:
    words = pairs.words
    missing = bench.space.absent(words, match_case=case_matters(pairs))
    show_missing(bench, missing, len(words) - len(missing), what="words of the pairs")


def _ask(bench: Workbench, pairs: AnalogyCategory, name: str, rotation: str | None, query: str) -> _Answered | None:
    """Return the answers to a query; None while many pairs are being learned from."""
    right = _right_answer(bench.space, query)
    learned = ("solver", name, rotation, pairs)
    key = ("answers", *learned, query, right)

    def find() -> _Answered:
        solver = bench.recall(learned, lambda: make_solver(name, bench.space, rotation=rotation).fit(pairs))
        best = solver.predict(query, k=_SHOWN)
        return _Answered(best, solver.explain(query, right) if right else None, solver.skipped)

    if len(pairs) <= SOLVERS[name].slow_from:
        return bench.recall(key, find)
    return long_step(
        f"answers {hash(key)}",
        f"Learning from {len(pairs)} pairs",
        lambda _: bench.recall(key, find),
        known=bench.holds(key),
    )


def _right_answer(space: WordSpace, query: str) -> str:
    """Return the answer that is said to be right, as the space spells it; empty where it cannot be one."""
    word = settings()["expected"].strip()
    if not word or not _is_known(space, word):
        return ""
    if word.lower() == query.lower():
        st.warning(plain(f"«{word}» is the query itself, which cannot answer."), icon=":material/search_off:")
        return ""
    return space.words[int(space.locate([word], match_case=False)[0])]


def _show_answers(space: WordSpace, query: str, found: _Answered) -> None:
    answers, right = list(found.answers), found.right
    if not answers:
        st.info("No word of the space is left to answer.")
        return
    st.subheader(plain(f"{query} → {answers[0].word}"), anchor=False)
    if right is not None and right.rank > 1:
        st.caption(plain(f"«{right.word}» is answer {right.rank:,} of {len(space):,}."))
    if right is not None and right.rank > len(answers):
        answers.append(right)
    chart(_drawn(answers, right.word if right else ""))
    _show_table(answers)
    if found.skipped:
        named = name_some([f"{pair.query} : {pair.answer}" for pair in found.skipped])
        st.caption(plain(f"Left out, for a word that is not in the space: {named}."))


def _drawn(answers: Sequence[Answer], expected: str) -> object:
    """Return the chart of the parts; those that are nought for all answers are left out."""
    parts = [name for name in answers[0].parts if any(answer.parts[name] for answer in answers)]
    rows = [{"word": answer.word, "score": answer.score, **answer.parts} for answer in answers]
    return answer_parts(rows, parts=parts, mark=expected)


def _show_table(answers: Sequence[Answer]) -> None:
    rows = [{"rank": one.rank, "word": one.word, "score": one.score, **one.parts} for one in answers]
    numbers = {name: st.column_config.NumberColumn(format="%.3f") for name in ("score", *answers[0].parts)}
    st.dataframe(rows, hide_index=True, column_config=numbers, height="content")
