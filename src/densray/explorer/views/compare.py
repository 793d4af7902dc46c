"""Compare: one concept by all methods, and one axis in two spaces, which Axis and Map show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
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
    plain,
    settings,
    show_code,
    show_step,
    write_several,
)
from densray.explorer.words import file_stem, find_words, lexicon_of_lists, pairs_of_text
from densray.explorer.workbench import Workbench, benches
from densray.figures import agreement_scatter, angle_heat_map
from densray.lexicon import Lexicon
from densray.report import show_number, to_json
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
    rows = [found.get(method, {"method": method, "remark": "not tried yet"}) for method in methods]
    rows.sort(key=lambda row: -row.get("tau", -1.0))
    rows = [  # the best is not behind itself
        {key: value for key, value in row.items() if not key.startswith("behind")} if row.get("behind") == 0.0 else row
        for row in rows
    ]
    number = partial(st.column_config.NumberColumn, format="%.3f")
    columns = {
        "method": st.column_config.TextColumn("method", help="How the axis is found."),
        "tau": st.column_config.ProgressColumn("held-out τ", format="%.3f", min_value=0.0, max_value=1.0,
                                               help="Kendall's τ-b of labels and scores: each seed is scored by an "
                                               "axis found without it, in ten folds, the same for all methods."),
        "tau_low": number("from", help="95% interval: a bootstrap over seeds."),
        "tau_high": number("to", help="95% interval: a bootstrap over seeds."),
        "behind": number("behind the best", help="How much lower its τ is than the highest."),
        "behind_low": number("at least", help="95% interval of the difference, over the same resamples of seeds: a "
                             "method is worse beyond chance where this is above 0."),
        "behind_high": number("at most", help="95% interval of the difference."),
        "seconds": st.column_config.NumberColumn("seconds", format="%.2f", help="Of one fit on all seeds."),
        "remark": st.column_config.TextColumn("", width="large"),
    }  # fmt: skip
    shown = [{key: row.get(key) for key in columns} for row in rows]
    place.dataframe(shown, hide_index=True, column_config=columns, height="content", placeholder="")


def _show_differences(comparison: MethodComparison, name: str) -> None:
    names = [trial.method for trial in comparison.found]
    if len(names) < 2:
        st.info("Two methods are needed to see where they differ.")
        return
    left, right = st.columns(2, gap="large") if len(names) <= _SIDE_BY_SIDE else (st.container(), st.container())
    with left:
        st.subheader("Angle between the axes")
        st.caption("In degrees; two random directions of this space would be close to 90° apart.")
        order = {method: place for place, method in enumerate(names)}
        cells = sorted(comparison.angles, key=lambda row: (order[row["first"]], order[row["second"]]))
        chart(angle_heat_map(cells))
    with right:
        st.subheader("Words all of them disagree on")
        st.caption("The rank each method gives a word; spread: standard deviation of the percentile over methods.")
        rows = [{key: row[key] for key in ("word", "spread", *names)} for row in comparison.disagreements]
        ranks = {name: st.column_config.NumberColumn(name, format="localized") for name in names}
        spread = st.column_config.NumberColumn("spread (%)", format="%.1f")
        st.dataframe(rows, hide_index=True, height=420, column_config={"spread": spread, **ranks})
    with complain():
        _show_pair(comparison, names)
    download(
        "Comparison .json", file_stem(name, otherwise="axis") + "-methods.json", lambda: to_json(comparison).encode()
    )


def _show_pair(comparison: MethodComparison, names: Sequence[str]) -> None:
    """Show the words on which two methods part."""
    st.subheader("Two methods, word by word")
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
    shift = st.column_config.NumberColumn("shift (sd)", format="%.2f")
    with right:
        for title, rows in ((f"Higher by {second}", change.risen), (f"Higher by {first}", change.fallen)):
            st.caption(plain(title))
            shown = [
                {"word": row["word"], first: row["before"], second: row["after"], "shift": row["shift"]} for row in rows
            ]
            ranks = {name: st.column_config.NumberColumn(name, format="localized") for name in (first, second)}
            st.dataframe(shown, hide_index=True, height=240, column_config={"shift": shift, **ranks})


_DRAWN = 2_000  # words of the chart: those that moved, then the most frequent


def show_comparison(bench: Workbench, lexicon: Lexicon, wanted: AxisChoice) -> None:
    """Show which words moved along the current axis from this space to another, where another is chosen."""
    others = [name for name in benches() if name != bench.name]
    st.subheader("The same axis in another space")
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
    left, right = st.columns([3, 2], gap="large")
    with left:
        order = sorted(range(found.n_words), key=lambda row: (not found.moved[row], row))[:_DRAWN]
        chart(agreement_scatter(found.entries(order), methods=found.spaces, fluid=True))
    with right:
        for title, rows in (("Risen most", found.risen), ("Fallen most", found.fallen)):
            st.caption(plain(f"{title} from {bench.name} to {other.name}"))
            _show_moved(found, rows)
    own, _ = find_words(settings()["words"], bench.space)
    if own:
        st.caption("My words")
        _show_moved(found, found.lookup(own))
    stem = file_stem(f"{bench.name} {other.name}", otherwise="spaces")
    download("Comparison .json", f"{stem}.json", lambda: to_json(found).encode(), help="The words that moved most.")


def _show_moved(found: SpaceComparison, rows: list[dict[str, object]]) -> None:
    number = partial(st.column_config.NumberColumn, format="%.2f")
    first, second = (name[:20] for name in found.spaces)
    columns = {
        "ratio": st.column_config.NumberColumn("in errors", format="%.1f", help="The difference divided by its error."),
        "difference": number("difference", help="The score in the second space less that in the first."),
        "error": number("±", help="One joint standard error: of seeds, and of words as frequent that did not move."),
        "moved": st.column_config.CheckboxColumn("moved", help="Beyond chance, at a false discovery rate of 5%."),
        "first": number(first, help="Score there, in standard deviations of the words compared."),
        "second": number(second, help="Score there, in standard deviations of the words compared."),
    }
    shown = [{key: row[key] for key in ("word", *columns)} for row in rows]
    st.dataframe(shown, hide_index=True, height=260 if len(shown) > 6 else "content", column_config=columns)
