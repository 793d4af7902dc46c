"""Axis of a label column: documents ranked between its classes, mean scores, and how far they can be trusted."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from densray.axes import (
    AUC_MARKS,
    RELIABILITY_MARKS,
    SCORE_COLUMNS,
    Axis,
    Diagnosis,
    MeanScores,
    Scores,
    write_scores,
)
from densray.explorer.python_code import table_axis_code
from densray.explorer.table_bench import LabelChoice, TableBench, opened
from densray.explorer.table_sidebar import (
    ask_for_labels,
    choose_document,
    choose_labels,
    current_column,
    document_table,
    find_documents,
    run,
    show_document,
)
from densray.explorer.views.axis import GRADES
from densray.explorer.widgets import (
    chart,
    chart_first,
    charts_and_lists,
    choice,
    complain,
    download,
    heading,
    plain,
    show_citation,
    show_code,
    show_command,
    show_step,
    table,
    written,
)
from densray.explorer.words import file_stem
from densray.figures import cut_text, ranked_words, score_histogram
from densray.figures import mean_scores as draw_means
from densray.report import P_MARKS, Column, show_count, show_number, show_share
from densray.rows import Rows
from densray.statistics import is_closed_form
from densray.tables import check_new

TITLE, ICON = "Axis", ":material/straighten:"
LEAD = "Fit an axis to a label column. Every document gets a score between two classes, or along a number."

_SHOWN = 12  # documents per end
_LETTERS = 42  # of a text next to a chart
_MOST_DRAWN = 40  # largest number of groups in a chart of means
_LARGEST = 200_000_000  # largest download in bytes
_FIGURES = [Column("score", decimals=3), Column("standard_error", "±", decimals=3)]
_AFTER = [Column("probability", "P(high)", decimals=3, open_ends=True), Column("label")]
_HELP = {
    "score": "The coordinate on the axis.",
    "standard_error": "One standard error: how much the score would vary with other labelled documents.",
    "probability": "The probability that a document with this score belongs to the high end. Empty for documents "
    "unlike the labelled ones.",
    "label": "Its value in the label column.",
}


def subject() -> str:
    """Return the label column, for the title."""
    return cut_text(current_column(opened()), 40)


def show() -> None:
    """Show the axis of the label column."""
    bench = opened()
    wanted = choose_labels(bench)
    if wanted is None:
        raise ask_for_labels(bench)
    rows: Rows = run(bench.labelled(wanted), f"Reading the labels of {wanted.column}")
    axis: Axis = run(bench.axis(wanted), f"Fitting the axis of {wanted.column}")
    verdict = st.container()
    _show_labels(bench, wanted, rows)
    with chart_first("ends"):
        left, right = st.columns([3, 2], gap="large")
        listed = st.container()
    scores: Scores = run(bench.scores(wanted), f"Scoring {len(bench.sample):,} documents with their errors")
    _draw(bench, wanted, axis, scores, left, right)
    with listed:
        _show_ends(bench, wanted, scores)
    _show_own(bench, wanted, scores)
    with complain():
        by = _show_means(bench, wanted)
    if wanted.class_name:
        with complain():
            _show_classes(bench, wanted)
    _offer_downloads(bench, wanted, axis)
    cited = st.container()
    show_code(table_axis_code(bench.source, bench.text_column, wanted, by))
    with verdict, complain():
        quick = is_closed_form(axis.rotation, rows)
        slow = f"Check how reliable it is: “{axis.method}” is refitted many times, which takes a while"
        diagnosis = show_step(
            bench.diagnosis(wanted), "Checking how reliable the axis is", start=None if quick else slow
        )
        if diagnosis is not None:
            _show_verdict(diagnosis)
            with cited:
                show_citation(diagnosis.citation)


def ends_of(wanted: LabelChoice, rows: Rows) -> tuple[str, str]:
    """Return the names of the low and the high end of an axis."""
    if wanted.class_name:
        return f"not {wanted.class_name}", wanted.class_name
    if len(rows.class_names) == 2:
        return rows.class_names[0], rows.class_names[1]
    if rows.is_binary:
        return f"{rows.y.min():g}", f"{rows.y.max():g}"
    return f"low {wanted.column}", f"high {wanted.column}"


def _show_labels(bench: TableBench, wanted: LabelChoice, rows: Rows) -> None:
    """Show which documents the axis is fitted on, and which are left out."""
    low, high = (int(np.sum(rows.sides == side)) for side in (-1, 1))
    names = ends_of(wanted, rows)
    if rows.is_binary:
        said = f"From {names[0]} ({show_count(low)} documents) to {names[1]} ({show_count(high)})."
    else:
        said = (
            f"From {names[0]} to {names[1]}: {show_count(len(rows))} documents, {rows.y.min():g} to {rows.y.max():g}."
        )
    without = len(rows.dropped.get("no label", ()))
    if without:
        said += f" {show_count(without)} documents have no label. They get scores, but the axis is not fitted to them."
    fitted = bench.axis(wanted).run().known_rows
    if len(fitted) < len(rows):
        said += f" The axis is fitted to {show_count(len(fitted))} of them, spread evenly over the table."
    if fitted.n_groups < len(fitted):
        said += f" Held out in {show_count(fitted.n_groups)} groups."
    st.caption(plain(said))


def _show_verdict(diagnosis: Diagnosis) -> None:
    """Show the verdict in one sentence, and the four figures behind it."""
    verdict, first = diagnosis.verdict, diagnosis.axes[0]
    getattr(st, GRADES[verdict.grade])(plain(verdict.sentence))
    interval = " to ".join(show_share(end, marks=AUC_MARKS) for end in first.auc_interval)
    tiles = {
        "Labelled documents": (
            show_count(diagnosis.n_seeds),
            f"{show_count(diagnosis.n_high)} high, {show_count(diagnosis.n_low)} low",
            "The documents on this page that have a label and a vector. The axis is fitted to them.",
        ),
        "Pairs ranked correctly": (
            show_share(first.auc),
            interval,
            "The share of pairs of a high and a low document in which the high one scores higher (held-out AUC, with "
            "its 95% interval). Each document is scored by an axis fitted without it. 50% is guessing.",
        ),
        "Reliability": (
            show_number(diagnosis.vocabulary.reliability, 2, marks=RELIABILITY_MARKS),
            " to ".join(show_number(end, 2) for end in diagnosis.vocabulary.reliability_interval),
            "The expected correlation with scores from other labelled documents (as many, of the same kind), with "
            "its 95% interval. The median standard error of a score is "
            f"{show_number(diagnosis.vocabulary.standard_error)}.",
        ),
        "p-value": (
            show_number(diagnosis.permutation.p_value, open_ends=True, marks=P_MARKS),
            f"{show_count(diagnosis.permutation.n_permutations)} shuffles",
            "How often an axis of shuffled labels does as well (permutation test). Above 0.05, the axis may be chance.",
        ),
    }
    for container, (name, (value, below, help)) in zip(st.columns(4), tiles.items(), strict=True):
        container.metric(name, value, below, delta_color="off", delta_arrow="off", help=help)


def _record(bench: TableBench, wanted: LabelChoice, scores: Scores, place: int) -> dict[str, Any]:
    """Return a document with its figures and its label."""
    label = bench.column(wanted.column).values[place]
    figures = {name: float(values[place]) for name, values in scores.columns().items() if np.isfinite(values[place])}
    return {"place": place, **figures, "label": f"{label:g}" if isinstance(label, float) else label}


def _ends(scores: Scores) -> tuple[list[int], list[int]]:
    """Return the positions of the highest and of the lowest documents, the outermost first."""
    order = np.argsort(-scores.score, kind="stable")
    count = min(_SHOWN, len(order) // 2) or 1
    return order[:count].tolist(), order[count:][-count:][::-1].tolist()


def _draw(bench: TableBench, wanted: LabelChoice, axis: Axis, scores: Scores, left: Any, right: Any) -> None:
    """Draw the documents at both ends with their error bars, and the histogram of all scores by class."""
    rows: Rows = bench.labelled(wanted).run()
    low, high = ends_of(wanted, rows)
    label = f"score ({low[:30]} … {high[:30]})"
    highest, lowest = _ends(scores)
    records, seen = [], set()
    for place in (*highest, *lowest):
        record = _record(bench, wanted, scores, place)
        word = cut_text(bench.texts[place], _LETTERS)
        word = f"{cut_text(word, _LETTERS - 12)} ({bench.numbers[place] + 1})" if word in seen else word
        seen.add(word)
        records.append({**record, "word": word})
    even = axis.even_odds
    bars = "; bars: two standard errors" if scores.standard_error is not None else ""
    chart(ranked_words(records, n_words=_SHOWN, neutral=even, axis=f"{label}{bars}"), left)
    sides = rows.sides
    coordinates = axis.coordinates(rows.X)
    names = (high, low) if rows.is_binary else ("upper half of the labels", "lower half of the labels")
    groups = {f"{names[0]}": coordinates[sides > 0], f"{names[1]}": coordinates[sides < 0]}
    chart(score_histogram(scores.score, groups, neutral=even, axis=label, nouns=("documents", "labelled")), right)
    why = "" if axis.uncertainty is None else axis.uncertainty.explain_empty("document")
    if even is not None:
        why = f"A score of 0 is not neutral. The odds are even at {show_number(even)} (dashed line). {why}"
    right.caption(why)


def _show_ends(bench: TableBench, wanted: LabelChoice, scores: Scores) -> None:
    """Show the documents of both ends as tables."""
    figures, after = _known_columns(scores)
    with st.expander("These documents with their texts", expanded=False):
        for title, places in zip(("Highest", "Lowest"), _ends(scores), strict=True):
            st.markdown(f"**{title}**")
            rows = [_record(bench, wanted, scores, place) for place in places]
            document_table(bench, rows, figures, after, help=_HELP)


def _known_columns(scores: Scores) -> tuple[list[Column], list[Column]]:
    """Return the columns before and after the text: the figures that the scores have."""
    known = {*scores.columns(), "label"}
    return [each for each in _FIGURES if each.key in known], [each for each in _AFTER if each.key in known]


def _show_own(bench: TableBench, wanted: LabelChoice, scores: Scores) -> None:
    """Show the scores of documents found by their text, and one of them in full."""
    heading("Look up documents")
    found = find_documents(bench)
    if found:
        ranks = np.empty(len(scores.score), dtype=np.int64)
        ranks[np.argsort(-scores.score, kind="stable")] = np.arange(1, len(ranks) + 1)
        rows = [{**_record(bench, wanted, scores, place), "rank": int(ranks[place])} for place in found]
        figures, after = _known_columns(scores)
        help = {**_HELP, "rank": "1 is the highest score."}
        document_table(bench, rows, [Column("rank"), *figures], after, help=help)
    place = choose_document(bench, found)
    if place is not None:
        with st.container(border=True):
            show_document(bench, place)


def _show_means(bench: TableBench, wanted: LabelChoice) -> str:
    """Show mean scores by the values of a column; return the column."""
    heading("Mean scores by a column")
    by = choice("Column", "by", ["", *bench.columns], format_func=lambda name: name or "choose one",
                help="Such as the author, the party or the year.")  # fmt: skip
    if not by:
        return ""
    means: MeanScores = run(bench.means(wanted, by), f"Averaging by {by}")
    shown = means.tables()[0]
    drawn = [row for row in means.rows if row["difference_low"] is not None]
    charts, lists = charts_and_lists("means")
    if drawn and (means.ordered or len(drawn) <= _MOST_DRAWN):
        chart(draw_means(drawn, ordered=means.ordered, by=None if means.ordered else by), charts)
    elif drawn:
        charts.caption(f"There is no chart, because {show_count(len(drawn))} groups are too many for one.")
    table(means.rows, shown.columns, container=lists)
    for note in shown.notes:
        st.caption(plain(note))
    return by


def _show_classes(bench: TableBench, wanted: LabelChoice) -> None:
    """Show how well all classes can be separated, after a click."""
    heading("All classes")
    count = len(bench.class_names(wanted))
    found = show_step(
        bench.all_classes(wanted),
        f"Testing {count} classes",
        start=f"Test how well all {count} classes can be distinguished",
    )
    if found is None:
        return
    st.markdown(plain(found.text()))
    shown = found.tables()[0]
    table(shown.rows, shown.columns)
    for note in shown.notes:
        st.caption(plain(note))


def _offer_downloads(bench: TableBench, wanted: LabelChoice, axis: Axis) -> None:
    """Offer the scored table and the axis as files, and the commands for tables of any size."""
    heading("Downloads")
    stem, small = file_stem(wanted.name, otherwise="axis"), 200 * len(bench.table) <= _LARGEST
    with st.container(horizontal=True):
        with complain():
            check_new(bench.table, list(SCORE_COLUMNS))
            for ending in (".parquet", ".csv") if small else ():
                content = partial(_scored_file, bench, axis, f"{stem}-scored{ending}")
                download(f"Scored table {ending}", f"{stem}-scored{ending}", content,
                         help="All documents with score, error and probability; without the vectors.")  # fmt: skip
        download("Axis .safetensors", f"{stem}.safetensors", lambda: written(axis.save, f"{stem}.safetensors"),
                 help="For the command below.")  # fmt: skip
    st.caption("On the command line, for a table of any size (download the axis first):")
    source = shlex.quote(bench.source)
    show_command(f"densray score {source} {stem}.safetensors -o {stem}-scored.parquet")


def _scored_file(bench: TableBench, axis: Axis, name: str) -> bytes:
    return written(lambda path: write_scores(axis, bench.table, path), name)
