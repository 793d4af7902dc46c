"""Compare: one concept by all methods, and one axis in two spaces, which Axis and Map show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from densray.axes import (
    COMPARABLE,
    QUICK_METHODS,
    FailedMethod,
    MethodComparison,
    MethodTrial,
    SpaceComparison,
    method_verdict,
    recommended_method,
    trial_rows,
)
from densray.explorer.python_code import compare_code, spaces_code
from densray.explorer.settings import DEFAULTS, EXAMPLES, AxisChoice
from densray.explorer.sidebar import check_language, choose_axis, lexicon_of, use_example
from densray.explorer.widgets import (
    Hint,
    bound,
    chart,
    charts_and_lists,
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
    small_table,
    table,
    write_several,
)
from densray.explorer.words import file_stem, find_words, lexicon_of_lists, pairs_of_text
from densray.explorer.workbench import Workbench, benches
from densray.figures import agreement_scatter, angle_heat_map, moved_words
from densray.lexicon import Lexicon
from densray.report import Column, show_count, show_number, to_json
from densray.rotations import METHODS

TITLE, ICON = "Compare methods", ":material/compare_arrows:"
LEAD = "Compare methods on the same words: which one ranks held-out words best, and where they disagree."

#: The example of the first view.
_FIRST_EXAMPLE = "gender"
_SIDE_BY_SIDE = 7  # up to this many methods, the angles are readable at half the width
_NAMED, _NAMED_PER_SIDE = 10, 6  # number of words to show on which all methods, or two methods, disagree


def show() -> None:
    """Compare methods on the current concept."""
    bench = chosen_bench()
    _open_first_view(bench)
    wanted = choose_axis(with_method=False)
    lexicon = lexicon_of(wanted)
    check_language(bench, lexicon)
    verdict = st.empty()
    methods = _choose_methods()
    container = st.empty()
    trials = {method: bench.trial(lexicon, method) for method in methods}
    tried = {method: trial.run() for method, trial in trials.items() if trial.is_known}
    _show_methods(container, tried, methods)
    for method in methods:
        trial = None if method in tried else _try(bench, lexicon, method)
        if trial is not None:
            tried[method] = trial
            _show_methods(container, tried, methods)
    if tried:
        verdict.info(plain(method_verdict(list(tried.values()))), icon=":material/balance:")
        comparison = bench.comparison(lexicon, [method for method in methods if method in tried])
        _show_differences(comparison.run(), wanted.name)
    if methods:
        show_code(compare_code(bench.source, lexicon, wanted, methods))


def _open_first_view(bench: Workbench) -> None:
    """Begin with an example on which methods differ: on the word lists of the first page, all are perfect."""
    if st.session_state.setdefault("compared", False):
        return
    st.session_state["compared"] = True
    given = settings()
    if any(given[name] != DEFAULTS[name] for name in ("source", "high", "low", "name", "without")):
        return
    words = " ".join(EXAMPLES[_FIRST_EXAMPLE]).split()
    if len(bench.space.absent(words, any_case=True)) * 2 < len(words):
        use_example(_FIRST_EXAMPLE)


def _choose_methods() -> list[str]:
    found = choose_several("Methods", "methods", COMPARABLE, default=QUICK_METHODS)
    with st.container(horizontal=True):
        st.button("All methods", on_click=write_several, args=("methods", COMPARABLE), icon=":material/select_all:")
        st.button("Quick methods", on_click=write_several, args=("methods", QUICK_METHODS), icon=":material/bolt:")
    if not found:
        st.info("No method is chosen: choose one or more above.")
    return [method for method in COMPARABLE if method in found]


def _try(bench: Workbench, lexicon: Lexicon, method: str) -> MethodTrial | FailedMethod | None:
    """Return the trial of one method; None if it was cancelled or waits for a click."""
    slow = len(lexicon) > (METHODS[method].slow_from or math.inf)
    start = f"Try {method} (slow with {len(lexicon):,} words)" if slow else None
    return show_step(bench.trial(lexicon, method), f"Trying {method}", start=start)


def _show_methods(place: Any, tried: Mapping[str, MethodTrial | FailedMethod], methods: Sequence[str]) -> None:
    """Show the methods with their figures, including unfinished ones."""
    if not methods:
        return
    rows = trial_rows(list(tried.values()))
    with place.container():
        waiting = [{"method": method} for method in methods if method not in tried]
        _show_figures([_in_short(row) for row in [*rows, *waiting]])
        said = [f"{row['method']}: {row['remark']}" for row in rows if row["remark"]]
        if waiting:
            said.append(f"Not tried yet: {', '.join(row['method'] for row in waiting)}.")
        # Always one caption: with fewer elements than the last time, Streamlit would leave the last one standing.
        st.caption("  \n".join(map(plain, said)))
        if any("tau" in row for row in rows):
            _explain_figures(rows)


def _in_short(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a method with its intervals as text; the best method has no lag."""
    if "tau" not in row:
        return dict(row)
    behind = row["behind"] > 0 and show_number(row["behind"])
    return {
        **row,
        "interval": f"{show_number(row['auc_low'])} to {show_number(row['auc_high'])}",
        "lag": (f"{behind}, beyond chance" if row["behind_low"] > 0 else f"{behind}") if behind else None,
    }


def _show_figures(rows: Sequence[dict[str, Any]]) -> None:
    columns: list[Column | str] = ["method", Column("auc", "AUC", decimals=3), Column("interval", "95% interval")]
    if any(row.get("lag") for row in rows):
        columns.append(Column("lag", "behind the best (τ)"))
    small_table(rows, columns, width="content")


def _explain_figures(rows: Sequence[dict[str, Any]]) -> None:
    """Explain the columns, and offer the remaining figures."""
    behind = (
        " Behind the best: the difference in Kendall's τ. It is beyond chance if its 95% interval lies above 0."
        if any(row.get("behind", 0.0) > 0 for row in rows)
        else ""
    )
    st.caption(
        "The highest AUC comes first; of equal ones, the recommended method. AUC: the share of pairs of a high and a "
        f"low seed in the correct order, scored by axes fitted without them; 0.5 is guessing.{behind} All methods "
        "share the same ten folds."
    )
    with st.expander("Held-out τ, intervals of the differences, and seconds"):
        columns: list[Column | str] = [
            "method",
            Column("tau", "τ", decimals=3),
            Column("behind_low", "behind at least", decimals=3),
            Column("behind_high", "at most", decimals=3),
            Column("seconds", decimals=2),
        ]
        figures = [
            {key: value for key, value in row.items() if row["behind"] > 0 or not key.startswith("behind")}
            for row in rows
            if "tau" in row
        ]
        small_table(figures, columns)
        st.caption("Seconds: one fit on all seeds.")


def _show_differences(comparison: MethodComparison, name: str) -> None:
    recommended = recommended_method(comparison.trials)
    names = sorted((trial.method for trial in comparison.found), key=lambda method: method != recommended)
    if len(names) < 2:
        return
    words, angles = st.columns(2, gap="large") if len(names) <= _SIDE_BY_SIDE else (st.container(), st.container())
    with words:
        heading("Words they disagree on most")
        st.caption(
            "For each word: the methods that rank it highest and lowest, with the rank (1 is the highest score)."
        )
        ranked = [_extremes(row, names) for row in comparison.disagreements[:_NAMED]]
        small_table(ranked, ["word", Column("high", "ranked highest by"), Column("low", "ranked lowest by")])
    with angles:
        heading("Angle between the axes")
        st.caption("In degrees. Two random directions in this space are nearly 90° apart.")
        order = {method: place for place, method in enumerate(names)}
        cells = sorted(comparison.angles, key=lambda row: (order[row["first"]], order[row["second"]]))
        chart(angle_heat_map(cells))
    with complain():
        _show_pair(comparison, names)
    download(
        "Comparison .json", file_stem(name, otherwise="axis") + "-methods.json", lambda: to_json(comparison).encode()
    )


def _extremes(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return a word with the methods that rank it highest and lowest."""
    high, low = min(names, key=row.__getitem__), max(names, key=row.__getitem__)
    ends = {end: f"{name}: {show_count(row[name])}" for end, name in (("high", high), ("low", low))}
    return {"word": row["word"], **ends}


def _show_pair(comparison: MethodComparison, names: Sequence[str]) -> None:
    """Show the words on which two methods disagree."""
    heading("Two methods, word by word")
    containers = st.columns(2)
    with containers[0]:
        first = choice("One method", "first_method", names)
    degrees = {row["second"]: row["degrees"] for row in comparison.angles if row["first"] == first}
    others = sorted((name for name in names if name != first), key=lambda name: -degrees[name])
    with containers[1]:
        second = choice("The other", "second_method", others)
    change = comparison.between(first, second, n_words=_NAMED_PER_SIDE)
    st.markdown(
        plain(
            f"{first} and {second}: {show_number(change.degrees, 1)}° apart. The rank correlation of their scores over "
            f"the vocabulary is {show_number(change.spearman)}."
        )
    )
    columns: list[Column | str] = [
        "word",
        Column("before", f"rank by {first}"),
        Column("after", f"rank by {second}"),
        Column("shift", "shift (sd)", decimals=2),
    ]
    left, right = st.columns([2, 3], gap="large")
    with left:
        for title, rows in ((f"Higher by {second}", change.risen), (f"Higher by {first}", change.fallen)):
            st.markdown(f"**{plain(title)}**")
            small_table(rows, columns)
    with right:
        chart(agreement_scatter(comparison.agreement(first, second), methods=(first, second), any_width=True))


_DRAWN = 2_000  # words of the chart: those that moved, then the most frequent


def show_comparison(bench: Workbench, lexicon: Lexicon, wanted: AxisChoice) -> None:
    """Show which words moved along the current axis between this space and another, if one is chosen."""
    others = [name for name in benches() if name != bench.name]
    if not others:
        with st.expander("The same axis in another space"):
            st.caption(
                "To compare decades, domains, models or languages here, start the explorer with several spaces: "
                "`densray explore then.densray now.densray`."
            )
        return
    heading("The same axis in another space")
    name = choice("Compare with", "other", ["", *others], format_func=lambda each: each or "no other space")
    if not name:
        return
    other = benches()[name]
    with st.expander("Other words for that space: for another language, or if words have another meaning there"):
        left, right = st.columns(2)
        left.text_area("Words at the high end there", height=90, placeholder="as here", **bound("other_high"))
        right.text_area("Words at the low end there", height=90, placeholder="as here", **bound("other_low"))
        st.text_area(
            "Words to compare",
            height=90,
            placeholder="one pair per line: dog Hund",
            help="A word of this space and one of the other. Without pairs, all words of both spaces are compared.",
            **bound("other_pairs"),
        )
    theirs, pairs = _own_words(other)
    step = bench.moves(other, lexicon, wanted.method, theirs, pairs)
    found = show_step(step, f"Comparing {plain(bench.name)} with {plain(name)}")
    if found is not None:
        _show_spaces(bench, other, found)
        show_code(spaces_code(bench.source, other.source, lexicon, wanted, theirs, pairs))


def _own_words(other: Workbench) -> tuple[Lexicon | None, tuple[tuple[str, str], ...] | None]:
    """Return the seeds of the other space and the word pairs to compare, if typed."""
    high, low = settings()["other_high"].strip(), settings()["other_low"].strip()
    theirs = lexicon_of_lists(high, low, name=other.name) if high and low else None
    if bool(high) != bool(low):
        end = "low" if high else "high"
        raise Hint(f"Type words under “Words at the {end} end there”, too. An axis needs words at both ends.")
    if not settings()["other_pairs"].strip():
        return theirs, None
    return theirs, tuple((pair.query, pair.answer) for pair in pairs_of_text(settings()["other_pairs"]).categories[0])


def _show_spaces(bench: Workbench, other: Workbench, found: SpaceComparison) -> None:
    """Show how similar the two spaces are, the words that moved most, and the user's words."""
    st.markdown(plain(found.text()))
    own, _ = find_words(settings()["words"], bench.space)
    mine = found.lookup(own)
    drawn, listed = charts_and_lists("moves")
    left, right = drawn.columns(2, gap="large")
    with left:
        order = sorted(range(found.n_words), key=lambda row: (not found.moved[row], row))[:_DRAWN]
        chart(agreement_scatter(found.entries(order), methods=found.spaces, any_width=True))
    with right:
        st.markdown(f"**Moved most** from {plain(bench.name)} to {plain(other.name)}")
        chart(moved_words(found, own=mine))
    with listed, st.expander("These words as a table"):
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
        "difference": "The score in the second space minus the score in the first.",
        "error": "One standard error: from the choice of seeds, and from words of similar frequency that did not move.",
        "moved": "Beyond chance, at a false discovery rate of 5%.",
        "first": "Score in that space, in standard deviations of the words compared.",
        "second": "Score in that space, in standard deviations of the words compared.",
    }
    table(rows, columns, help=help, height=260 if len(rows) > 6 else "content")
