"""Compare: one concept by all methods, and one axis in two spaces, which Axis and Map show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import streamlit as st

from densray.axes._comparison import COMPARABLE, QUICK_METHODS, FailedTrial, MethodComparison, MethodTrial, trial_rows
from densray.axes._spaces import SpaceComparison
from densray.explorer.settings import AxisChoice, compare_code, spaces_code
from densray.explorer.sidebar import check_language, choose_axis, lexicon_of
from densray.explorer.widgets import (
    Hint,
    bound,
    chart,
    choice,
    choose_several,
    chosen_bench,
    complain,
    download,
    heading,
    plain,
    settings,
    show_code,
    show_step,
    table,
    write_several,
)
from densray.explorer.words import file_stem, find_words, lexicon_of_lists, pairs_of_text
from densray.explorer.workbench import Workbench, benches
from densray.figures import agreement_scatter, angle_heat_map, moved_words
from densray.lexicon import Lexicon
from densray.report import Column, show_number, to_json
from densray.rotations import METHODS

TITLE, ICON = "Compare methods", ":material/compare_arrows:"
LEAD = "The same words by every method: which one orders words it has not seen best, and where the methods part."

_PAPER = "densray-unit"
_SIDE_BY_SIDE = 7  # methods whose angles can be read in half the width


def show() -> None:
    """Show what the methods make of the current concept."""
    bench = chosen_bench()
    wanted = choose_axis(with_method=False)
    lexicon = lexicon_of(wanted, bench.space)
    check_language(bench, lexicon)
    methods = _choose_methods()
    place = st.empty()
    trials = {method: bench.trial(lexicon, method) for method in methods}
    tried = {method: trial.run() for method, trial in trials.items() if trial.is_known}
    _show_methods(place, trial_rows(list(tried.values())), methods)
    for method in methods:
        trial = None if method in tried else _try(bench, lexicon, method)
        if trial is not None:
            tried[method] = trial
            _show_methods(place, trial_rows(list(tried.values())), methods)
    if tried:
        comparison = bench.comparison(lexicon, [method for method in methods if method in tried])
        _show_differences(comparison.run(), wanted.name)
    if methods:
        show_code(compare_code(bench.source, lexicon, wanted, methods))


def _choose_methods() -> list[str]:
    found = choose_several("Methods", "methods", COMPARABLE, default=QUICK_METHODS)
    with st.container(horizontal=True):
        st.button("All methods", on_click=write_several, args=("methods", COMPARABLE), icon=":material/select_all:")
        st.button("The quick ones", on_click=write_several, args=("methods", QUICK_METHODS), icon=":material/bolt:")
    if not found:
        st.info("No method is chosen: choose one or more above.")
    return [method for method in COMPARABLE if method in found]


def _try(bench: Workbench, lexicon: Lexicon, method: str) -> MethodTrial | FailedTrial | None:
    """Return the trial of one method; None where it was cancelled, or waits for a click."""
    slow = len(lexicon) > (METHODS[method].slow_from or math.inf)
    start = f"Try {method}: with {len(lexicon):,} words it takes a while" if slow else None
    return show_step(bench.trial(lexicon, method), f"Trying {method}", start=start)


def _show_methods(place: Any, known: Sequence[dict[str, Any]], methods: Sequence[str]) -> None:
    """Show the methods, those that are not there yet too."""
    if not methods:
        return
    found = {row["method"]: row for row in known}
    rows = [{"remark": "", **found.get(method, {"method": method, "remark": "not tried yet"})} for method in methods]
    rows.sort(key=lambda row: -row.get("tau", -1.0))
    rows = [  # the best is not behind itself
        {key: value for key, value in row.items() if not key.startswith("behind")} if row.get("behind") == 0.0 else row
        for row in rows
    ]
    columns: list[Column | str] = [
        "method",
        Column("tau", "held-out τ", decimals=3),
        Column("tau_low", "from", decimals=3),
        Column("tau_high", "to", decimals=3),
        Column("behind", "behind the best", decimals=3),
        Column("behind_low", "at least", decimals=3),
        Column("behind_high", "at most", decimals=3),
        Column("seconds", decimals=2),
        Column("remark", ""),
    ]
    help = {
        "method": "How the axis is found.",
        "tau": "Kendall's τ-b of labels and scores: each seed is scored by an axis found without it, in ten folds, the "
        "same for all methods.",
        "tau_low": "95% interval: a bootstrap over seeds.",
        "tau_high": "95% interval: a bootstrap over seeds.",
        "behind": "How much lower its τ is than the highest.",
        "behind_low": "95% interval of the difference, over the same resamples of seeds: a method is worse beyond "
        "chance where this is above 0.",
        "behind_high": "95% interval of the difference.",
        "seconds": "Of one fit on all seeds.",
    }
    table(rows, columns, help=help, widths={"remark": "large"}, place=place, height="content")


def _show_differences(comparison: MethodComparison, name: str) -> None:
    names = [trial.method for trial in comparison.found]
    if len(names) < 2:
        st.info("Two methods are needed to see where they differ.")
        return
    left, right = st.columns(2, gap="large") if len(names) <= _SIDE_BY_SIDE else (st.container(), st.container())
    with left:
        heading("Angle between the axes")
        st.caption("In degrees; two random directions of this space would be close to 90° apart.")
        order = {method: place for place, method in enumerate(names)}
        cells = sorted(comparison.angles, key=lambda row: (order[row["first"]], order[row["second"]]))
        chart(angle_heat_map(cells))
    with right:
        heading("Words all of them disagree on")
        st.caption("The rank each method gives a word; spread: standard deviation of the percentile over methods.")
        columns: list[Column | str] = ["word", Column("spread", "spread (%)", decimals=1), *names]
        table(comparison.disagreements, columns, height=420)
    with complain():
        _show_pair(comparison, names)
    download(
        "Comparison .json", file_stem(name, otherwise="axis") + "-methods.json", lambda: to_json(comparison).encode()
    )


def _show_pair(comparison: MethodComparison, names: Sequence[str]) -> None:
    """Show the words on which two methods part."""
    heading("Two methods, word by word")
    places = st.columns(2)
    with places[0]:
        first = choice("One method", "first_method", names)
    others = sorted((name for name in names if name != first), key=lambda name: name != _PAPER)
    with places[1]:
        second = choice("The other", "second_method", others)
    change = comparison.between(first, second, n_words=12)
    st.markdown(
        plain(
            f"{first} and {second}: {show_number(change.degrees, 1)}° apart; their orders of the vocabulary correlate "
            f"at {show_number(change.spearman)}."
        )
    )
    left, right = st.columns([3, 2], gap="large")
    with left:
        chart(agreement_scatter(comparison.agreement(first, second), methods=(first, second), fluid=True))
    columns: list[Column | str] = [
        "word",
        Column("before", first),
        Column("after", second),
        Column("shift", "shift (sd)", decimals=2),
    ]
    with right:
        for title, rows in ((f"Higher by {second}", change.risen), (f"Higher by {first}", change.fallen)):
            st.caption(plain(title))
            table(rows, columns, height=240)


_DRAWN = 2_000  # words of the chart: those that moved, then the most frequent


def show_comparison(bench: Workbench, lexicon: Lexicon, wanted: AxisChoice) -> None:
    """Show which words moved along the current axis from this space to another, where another is chosen."""
    others = [name for name in benches() if name != bench.name]
    heading("The same axis in another space")
    if not others:
        st.caption(
            "Decades, domains, models or languages side by side: start the explorer with several spaces, as in "
            "`densray explore then.densray now.densray`, and compare them here."
        )
        return
    name = choice("Compare with", "other", ["", *others], format_func=lambda each: each or "no other space")
    if not name:
        return
    other = benches()[name]
    with st.expander("Words of its own: for another language, or where words mean something else there"):
        left, right = st.columns(2)
        left.text_area("Words at the high end there", height=90, placeholder="as in the sidebar", **bound("other_high"))
        right.text_area("Words at the low end there", height=90, placeholder="as in the sidebar", **bound("other_low"))
        st.text_area("Words to compare", height=90, placeholder="All words of both; or one pair per line: dog Hund",
                     help="A word of this space and one of the other.", **bound("other_pairs"))  # fmt: skip
    theirs, pairs = _own_words(other)
    step = bench.moves(other, lexicon, wanted.method, theirs, pairs)
    found = show_step(step, f"Comparing {plain(bench.name)} with {plain(name)}")
    if found is not None:
        _show_spaces(bench, other, found)
        show_code(spaces_code(bench.source, other.source, lexicon, wanted, theirs, pairs))


def _own_words(other: Workbench) -> tuple[Lexicon | None, tuple[tuple[str, str], ...] | None]:
    """Return the seeds of the other space and the pairs of words to compare, where they were typed."""
    high, low = settings()["other_high"].strip(), settings()["other_low"].strip()
    theirs = lexicon_of_lists(high, low, name=other.name).spelled_as(other.space) if high and low else None
    if bool(high) != bool(low):
        end = "low" if high else "high"
        raise Hint(f"Type words under “Words at the {end} end there” too: an axis needs both ends.")
    if not settings()["other_pairs"].strip():
        return theirs, None
    return theirs, tuple((pair.query, pair.answer) for pair in pairs_of_text(settings()["other_pairs"]).categories[0])


def _show_spaces(bench: Workbench, other: Workbench, found: SpaceComparison) -> None:
    """Show how alike the two are, the words that moved most, and one's own words."""
    st.markdown(plain(found.text()))
    own, _ = find_words(settings()["words"], bench.space)
    mine = found.lookup(own)
    left, right = st.columns(2, gap="large")
    with left:
        order = sorted(range(found.n_words), key=lambda row: (not found.moved[row], row))[:_DRAWN]
        chart(agreement_scatter(found.entries(order), methods=found.spaces, fluid=True))
    with right:
        st.markdown(f"**Moved most** from {plain(bench.name)} to {plain(other.name)}")
        chart(moved_words(found, own=mine))
    with st.expander("The same in numbers"):
        for title, rows in (("Risen most", found.risen), ("Fallen most", found.fallen), ("My words", mine)):
            if rows:
                st.caption(plain(title))
                _show_moved(found, rows)
    stem = file_stem(f"{bench.name} {other.name}", otherwise="spaces")
    download("Comparison .json", f"{stem}.json", lambda: to_json(found).encode(), help="The words that moved most.")


def _show_moved(found: SpaceComparison, rows: list[dict[str, object]]) -> None:
    first, second = (name[:20] for name in found.spaces)
    columns: list[Column | str] = [
        "word",
        Column("ratio", "in errors", decimals=1),
        Column("difference", decimals=2),
        Column("error", "±", decimals=2),
        Column("moved"),
        Column("first", first, decimals=2),
        Column("second", second, decimals=2),
    ]
    help = {
        "ratio": "The difference divided by its error.",
        "difference": "The score in the second space less that in the first.",
        "error": "One joint standard error: of seeds, and of words as frequent that did not move.",
        "moved": "Beyond chance, at a false discovery rate of 5%.",
        "first": "Score there, in standard deviations of the words compared.",
        "second": "Score there, in standard deviations of the words compared.",
    }
    table(rows, columns, help=help, height=260 if len(rows) > 6 else "content")
