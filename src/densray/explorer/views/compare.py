"""Compare methods: one concept by all of them: held-out τ, angles between their axes, words they part on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from densray.axes._comparison import COMPARABLE, QUICK_METHODS, FailedTrial, MethodComparison, MethodTrial, trial_rows
from densray.explorer.sidebar import choose_axis, lexicon_of
from densray.explorer.widgets import chart, choice, choose_several, complain, download, plain, show_step, write_several
from densray.explorer.words import file_stem
from densray.explorer.workbench import Workbench, current
from densray.figures import agreement_scatter, angle_heat_map
from densray.lexicon import Lexicon
from densray.report import show_number, to_json
from densray.rotations import METHODS

TITLE, ICON = "Compare methods", ":material/compare_arrows:"

_PAPER = "densray-unit"
_SIDE_BY_SIDE = 7  # methods whose angles can be read in half the width


def show() -> None:
    """Show what the methods make of the current concept."""
    bench = current()
    wanted = choose_axis()
    lexicon = lexicon_of(wanted)
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
    number = partial(st.column_config.NumberColumn, format="%.3f")
    columns = {
        "method": st.column_config.TextColumn("method"),
        "tau": st.column_config.ProgressColumn("held-out τ", format="%.3f", min_value=0.0, max_value=1.0,
                                               help="Kendall's τ-b of labels and scores: each seed is scored by an "
                                               "axis found without it, in ten folds, the same for all methods."),
        "tau_low": number("from", help="95% interval: a bootstrap over seeds."),
        "tau_high": number("to"),
        "behind": number("behind the best"),
        "behind_low": number("at least", help="95% interval of the difference, over the same resamples of seeds: a "
                             "method is worse beyond chance where this is above 0."),
        "behind_high": number("at most"),
        "seconds": st.column_config.NumberColumn("seconds", format="%.2f", help="Of one fit on all seeds."),
        "remark": st.column_config.TextColumn("", width="large"),
    }  # fmt: skip
    shown = [{key: row.get(key) for key in columns} for row in rows]
    place.dataframe(shown, hide_index=True, column_config=columns, height="content")


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
        st.dataframe(rows, hide_index=True, height=420,
                     column_config={"spread": st.column_config.NumberColumn("spread (%)", format="%.1f")})  # fmt: skip
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
            st.dataframe(shown, hide_index=True, height=240, column_config={"shift": shift})
