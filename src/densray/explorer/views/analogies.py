"""The page of analogies: one question, or a whole benchmark."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from densray.analogies import AnalogyCategory, AnalogySet
from densray.analogy import (
    SOLVERS,
    AnalogyResult,
    LocatedCategory,
    Prediction,
    RankedWord,
    SkippedPair,
    compare_solvers,
    locate_categories,
    make_solver,
)
from densray.datasets import is_at_hand, list_datasets, load_analogies
from densray.errors import name_some
from densray.explorer.python_code import ask_code, benchmark_code
from densray.explorer.settings import DEFAULTS
from densray.explorer.sidebar import show_missing
from densray.explorer.widgets import (
    Hint,
    bound,
    chart,
    choice,
    choose_several,
    chosen_bench,
    complain,
    controls,
    heading,
    plain,
    settings,
    show_code,
    show_step,
    small_table,
    table,
    write_setting,
)
from densray.explorer.window import is_narrow
from densray.explorer.words import missing_word, pairs_of_text, text_of_pairs
from densray.explorer.workbench import Step, Workbench
from densray.figures import analogy_heat_map
from densray.progress import Progress
from densray.report import Column
from densray.rotations import METHODS
from densray.space import WordSpace

TITLE, ICON = "Analogies", ":material/join_right:"
LEAD = "Complete analogies from example pairs, or measure how often solvers answer correctly."

_PARTS = {"ask": "Ask", "benchmark": "Benchmark"}
_ROTATIONS = sorted(METHODS, key=lambda name: name != "densray-unit")  # the default, that of the paper, first
_SHOWN = 10  # answers
_FEW_PARTS, _PARTS_SHOWN = 3, 2  # up to this many parts of a score are all shown; of more, those that differ most


@dataclass(frozen=True)
class _Answered:
    """The best answers, the expected answer at its rank, and the pairs that were skipped."""

    answers: list[RankedWord]
    correct: RankedWord | None
    skipped: tuple[SkippedPair, ...]


def show() -> None:
    """Show the chosen part: a question, or the benchmark."""
    bench = chosen_bench()
    if settings()["part"] not in _PARTS:
        write_setting("part", "ask")
    part = st.segmented_control("Part", list(_PARTS), format_func=_PARTS.__getitem__, required=True,
                                label_visibility="collapsed", **bound("part"))  # fmt: skip
    if part == "benchmark":
        show_benchmark(bench)
    else:
        _show_question(bench)


def _show_question(bench: Workbench) -> None:
    if is_narrow():  # the answer stands directly below the query
        inputs, asked, outcome = st.expander("Change the pairs and the solver"), st.container(), st.container()
    else:
        inputs, outcome = st.columns([2, 5], gap="large")
        asked = None
    with inputs:
        name, rotation = _choose_question(asked)
    with outcome, complain():
        pairs = pairs_of_text(settings()["pairs"])
        _check_language(bench, pairs)
        _show_missing_pairs(bench, pairs)
        query = settings()["query"].strip()
        if not query:
            st.info("Type a word under “Query” to find its partner.", icon=":material/edit:")
        elif _is_known(bench.space, query):
            found = _ask(bench, pairs.categories[0], name, rotation, query)
            if found is not None:
                _show_answers(bench.space, query, found)
                examples = [(pair.query, pair.answer) for pair in pairs.categories[0]]
                show_code(ask_code(bench.source, examples, name, rotation, query))


def _check_language(bench: Workbench, pairs: AnalogySet) -> None:
    """Ask for pairs if the default ones are not in the space, as in other languages."""
    untouched = settings()["pairs"] == DEFAULTS["pairs"]
    if untouched and len(bench.space.absent(pairs.words, any_case=True)) * 2 > len(pairs.words):
        raise Hint(
            "Type pairs of words of this space under “Example pairs”, and a “Query”. The space has few of these words."
        )


def _choose_question(asked: Any | None) -> tuple[str, str | None]:
    """Show the widgets of a question; return the solver and, if it has an axis, the method for it.

    `asked` is the container of the query; None: between the others.
    """
    st.text_area(
        "Example pairs, one per line",
        height=190,
        help="Separate several correct answers by slashes: "
        "Wales Cardiff/Caerdydd. IntRank learns from all of them, the other solvers from the first.",
        **bound("pairs"),
    )
    with st.container() if asked is None else asked:
        st.text_input("Query", placeholder="the word to complete", **bound("query"))
    st.text_input("Correct answer", placeholder="optional", **bound("expected"))
    name = choice("Solver", "solver", list(SOLVERS))
    st.caption(plain(f"Score: {SOLVERS[name].summary}."))
    return name, choice("Method for the axis", "rotation", _ROTATIONS) if SOLVERS[name].rotation else None


def _is_known(space: WordSpace, word: str) -> bool:
    """Return whether a word is in the space, in any case; show a note if it is not."""
    known = bool(space.locate([word], any_case=True)[0] >= 0)
    if not known:
        st.warning(plain(missing_word(word, space)), icon=":material/search_off:")
    return known


def _show_missing_pairs(bench: Workbench, pairs: AnalogySet) -> None:
    words = pairs.words
    missing = bench.space.absent(words, any_case=pairs.is_lower_case)
    show_missing(bench, missing, len(words) - len(missing), what="words of the pairs")


def _ask(bench: Workbench, pairs: AnalogyCategory, name: str, rotation: str | None, query: str) -> _Answered | None:
    """Return the answers to a query; None while a fit on many pairs is running."""
    correct = _correct_answer(bench.space, query)
    learned: tuple[Hashable, ...] = ("solver", name, rotation, pairs)
    key = ("answers", *learned, query, correct)

    def find(_: Progress | None = None) -> _Answered:
        solver = bench.recall(learned, lambda: make_solver(name, bench.space, rotation=rotation).fit(pairs))
        best = solver.predict(query, k=_SHOWN)
        return _Answered(best, solver.explain(query, correct) if correct else None, solver.skipped)

    if len(pairs) <= SOLVERS[name].slow_from:
        return bench.recall(key, find)
    return show_step(Step(bench, key, find), f"Learning from {len(pairs)} pairs")


def _correct_answer(space: WordSpace, query: str) -> str:
    """Return the expected answer in the spelling of the space; empty if it cannot be an answer."""
    word = settings()["expected"].strip()
    if not word or not _is_known(space, word):
        return ""
    if word.lower() == query.lower():
        st.warning(plain(f"“{word}” is the query, which cannot be the answer."), icon=":material/search_off:")
        return ""
    return space.words[int(space.locate([word], any_case=True)[0])]


def _show_answers(space: WordSpace, query: str, found: _Answered) -> None:
    answers, correct = list(found.answers), found.correct
    if not answers:
        st.info("No other word of the space can be an answer.")
        return
    heading(f"{query} → {answers[0].word}", anchor=False)
    if correct is not None and correct.rank > 1:
        st.caption(plain(f"“{correct.word}” is answer {correct.rank:,} of {len(space):,}."))
    if correct is not None and correct.rank > len(answers):
        answers.append(correct)
    _show_table(answers)
    if found.skipped:
        named = name_some([f"{pair.query} : {pair.answer}" for pair in found.skipped])
        st.caption(plain(f"Left out, because a word is not in the space: {named}."))


def _show_table(answers: Sequence[RankedWord]) -> None:
    """Show the answers with their scores and the parts that separate them most; all parts behind a click."""
    rows = [{"rank": one.rank, "word": one.word, "score": one.score, **one.parts} for one in answers]
    names, parts = ("score", *answers[0].parts), _separating_parts(answers)
    columns = [Column(name, decimals=3) for name in ("score", *parts)]
    small_table(rows, ["rank", "word", *columns], bars=("score", *parts))
    fewer = f" The table shows the {len(parts)} of {len(names) - 1} parts that differ most." * (
        len(parts) < len(names) - 1
    )
    st.caption(
        "Each bar shows the difference from the lowest number of its column. All columns have the same scale, so the "
        f"column with the longest bars separates the answers most.{fewer}"
    )
    if fewer:
        with st.expander("All parts of the scores"):
            table(rows, ["rank", "word", *(Column(name, decimals=3) for name in names)], height="content")


def _separating_parts(answers: Sequence[RankedWord]) -> list[str]:
    """Return the parts that separate the answers most, in their order, excluding all-zero parts if there are many."""
    if len(answers[0].parts) <= _FEW_PARTS:
        return list(answers[0].parts)
    numbers = {name: [answer.parts[name] for answer in answers] for name in answers[0].parts}
    known = {name: [one for one in each if math.isfinite(one)] for name, each in numbers.items() if any(each)}
    apart = sorted(known, key=lambda name: min(known[name], default=0.0) - max(known[name], default=0.0))
    return [name for name in numbers if name in apart[:_PARTS_SHOWN]]


_ALL = "all sections"
_CASES = {"set": "as in the set", "ignore": "ignored"}
_QUESTIONS = {"misses": "Misses", "all": "All questions"}
_MOST_ROWS = 5_000


def show_benchmark(bench: Workbench) -> None:
    """Show the accuracy of solvers on a section or on a whole set."""
    with controls("benchmark"):
        first, second, third = st.columns([1, 1, 2])
    with first:
        analogies = _choose_set(bench)
    with second:
        any_case = _choose_case(analogies)
    categories = _located(bench, analogies, any_case)
    with third:
        section = _choose_section(categories)
    solvers = choose_several("Solvers", "solvers", list(SOLVERS), default=["intcos-original"])
    chosen = categories if section == _ALL else [one for one in categories if one.name == section]
    _show_coverage(bench, analogies, chosen, any_case)
    if not any(len(one) > 1 for one in chosen):
        st.warning("The space has both words of fewer than two pairs. Choose another section.")
        return
    if not solvers:
        st.info("No solver is chosen: choose one or more above.")
        return
    key = ("benchmark", analogies.name, section, any_case, tuple(solvers))

    def find(progress: Progress | None) -> list[AnalogyResult]:
        asked = analogies if section == _ALL else analogies.subset([section])
        return compare_solvers(
            bench.space, asked, solvers, any_case=any_case, predictions=section != _ALL, progress=progress
        )

    results = show_step(
        Step(bench, key, find),
        plain(f"Solving {section} of {analogies.name}"),
        start=f"Solve {section} of {analogies.name}" if section == _ALL else None,
    )
    if results is not None:
        _show_results(results, None if section == _ALL else analogies[section])
        part = None if section == _ALL else section
        show_code(benchmark_code(bench.source, analogies.name, part, solvers, any_case))


def _choose_set(bench: Workbench) -> AnalogySet:
    # only sets on this machine: pages accept no other names, so that they cannot read other files
    name = choice("Set", "set", [entry.name for entry in list_datasets("analogies") if is_at_hand(entry.name)])
    return bench.recall(("analogies", name), lambda: load_analogies(name))


def _choose_case(analogies: AnalogySet) -> bool:
    """Return whether words match in any case; always so for sets in lower case."""
    if analogies.is_lower_case:
        st.selectbox("Upper and lower case", ["ignored"], disabled=True)
        return True
    return choice("Upper and lower case", "case", list(_CASES), format_func=_CASES.__getitem__) != "set"


def _located(bench: Workbench, analogies: AnalogySet, any_case: bool) -> list[LocatedCategory]:
    key = ("located", analogies.name, any_case)
    return bench.recall(key, lambda: locate_categories(bench.space, analogies, any_case=any_case))


def _choose_section(categories: Sequence[LocatedCategory]) -> str:
    """Return the chosen section; an unknown one falls back to the first usable one."""
    used, total = sum(map(len, categories)), sum(one.total for one in categories)
    sizes = {one.name: f"{one.name} ({len(one)} of {one.total} pairs)" for one in categories}
    sizes[_ALL] = f"{_ALL} ({used:,} of {total:,} pairs)"
    if settings()["section"] not in sizes:
        write_setting("section", next((one.name for one in categories if len(one) > 1), _ALL))
    return choice("Section", "section", [_ALL, *(one.name for one in categories)], format_func=sizes.__getitem__,
                  help="In brackets: the number of pairs with both words in the space.")  # fmt: skip


def _show_coverage(bench: Workbench, analogies: AnalogySet, chosen: Sequence[LocatedCategory], any_case: bool) -> None:
    names = {one.name for one in chosen}
    words = list(dict.fromkeys(
        word for category in analogies if category.name in names for pair in category for word in pair.words
    ))  # fmt: skip
    missing = bench.space.absent(words, any_case=any_case)
    show_missing(bench, missing, len(words) - len(missing), what="words")


def _show_results(results: Sequence[AnalogyResult], category: AnalogyCategory | None) -> None:
    columns: list[Column | str] = [
        "solver",
        Column("correct", "first answer correct", decimals=3),
        Column("among", f"correct among the first {results[0].k}", decimals=3),
        Column("reciprocal", "mean reciprocal rank", decimals=3),
        *([] if category else [Column("macro", "mean over sections", decimals=3)]),
    ]
    rows = [
        {"solver": one.solver, "correct": one.micro, "among": one.precision_at_k, "reciprocal": one.reciprocal_rank,
         "macro": one.macro}
        for one in results
    ]  # fmt: skip
    small_table(rows, columns)
    st.caption(
        "Shares of the questions. The reciprocal rank is 1 if the correct answer comes first, 1/2 if it comes second."
    )
    if category is None:
        cells = [
            {"category": one.category, "method": result.solver, "precision": one.precision}
            for result in results
            for one in result.asked()
        ]
        chart(analogy_heat_map(cells))
        st.caption("Choose a section to see its misses.")
    else:
        _show_questions(results, category)


def _show_questions(results: Sequence[AnalogyResult], category: AnalogyCategory) -> None:
    if settings()["questions"] not in _QUESTIONS:
        write_setting("questions", "misses")
    which = st.segmented_control("Questions", list(_QUESTIONS), format_func=_QUESTIONS.__getitem__, required=True,
                                 label_visibility="collapsed", **bound("questions"))  # fmt: skip
    asked = [
        (result.solver, one)
        for result in results
        for one in (result.misses() if which == "misses" else result.predictions)
    ]
    if not asked:
        st.success("Every first answer is correct.", icon=":material/check:")
        return
    several = f"; the first {_MOST_ROWS:,} are shown" if len(asked) > _MOST_ROWS else ""
    st.caption(
        f"{len(asked):,} questions{several}. Select a row to open the question under “Ask”, with the parts of the "
        "scores."
    )
    asked = asked[:_MOST_ROWS]
    examples = any(question.example for _, question in asked)
    rows = [_row(*each, examples=examples) for each in asked]
    shown = [name for name in rows[0] if name != "solver" or len(results) > 1]
    st.session_state["asked"] = category, asked  # not a callback argument: Streamlit never frees those
    help = {"rank": "The rank of the correct answer."}
    table(rows, shown, help=help, key="questions", selection_mode="single-row", on_select=_ask_selected)


def _row(solver: str, question: Prediction, *, examples: bool) -> dict[str, Any]:
    return {
        "solver": solver,
        **({"example": " : ".join(question.example or ("all other pairs",))} if examples else {}),
        "query": question.query,
        "correct": ", ".join(question.answers),
        "first answer": question.words[0] if question.words else "",
        "rank": question.rank,
    }


def _ask_selected() -> None:
    """Copy the question of the selected row to Ask."""
    rows = st.session_state["questions"]["selection"]["rows"]
    if rows:
        category, asked = st.session_state["asked"]
        ask_again(chosen_bench().space, category, *asked[rows[0]])


def ask_again(space: WordSpace, category: AnalogyCategory, solver: str, question: Prediction) -> None:
    """Copy a question of the benchmark to Ask: its query, its correct answer and its examples."""

    def spelled(word: str) -> str:
        row = int(space.locate([word], any_case=True)[0])
        return space.words[row] if row >= 0 else word

    pairs = [tuple(map(spelled, pair.words)) for pair in question.examples_of(category)]
    values = {
        "part": "ask",
        "pairs": text_of_pairs(pairs),
        "query": spelled(question.query),
        "expected": spelled(question.answers[0]),
        "solver": solver,
        "rotation": "densray-unit",
    }
    for name, value in values.items():
        write_setting(name, value)
