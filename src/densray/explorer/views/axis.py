"""Axis: from two word lists to a ranked vocabulary, and how far it can be trusted."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from densray.axes import (
    AUC_MARKS,
    RELIABILITY_MARKS,
    Axis,
    Diagnosis,
    axis_change,
    induce,
    words_like_seeds,
)
from densray.errors import name_some
from densray.explorer.python_code import axis_code
from densray.explorer.ratings import show_ratings
from densray.explorer.settings import EXAMPLES, AxisChoice
from densray.explorer.sidebar import (
    add_seed,
    current_axis,
    current_example,
    current_name,
    find_axis,
    lexicon_of,
    removed_seeds,
    show_missing,
    tell_missing,
    use_example,
    without_seed,
)
from densray.explorer.views.compare import show_comparison
from densray.explorer.widgets import (
    bound,
    chart,
    charts_and_lists,
    chosen_bench,
    complain,
    download,
    heading,
    plain,
    settings,
    show_citation,
    show_code,
    show_step,
    small_table,
    table,
    written,
)
from densray.explorer.words import file_stem, find_words
from densray.explorer.workbench import ShownAxis, Workbench, identity
from densray.figures import cut_text, ranked_words, score_histogram, seed_influence
from densray.report import P_MARKS, Column, show_count, show_estimate, show_number, show_share
from densray.statistics import is_closed_form

TITLE, ICON = "Axis", ":material/straighten:"
LEAD = (
    "Two lists of words define an axis, and every word of the space gets a score on it. Change the lists, or start "
    "from an example."
)

_SHOWN = 15  # words per end
_SUGGESTED, _NEIGHBORS, _MOST_OWN = 8, 8, 30
GRADES = {"good": "success", "fair": "info", "weak": "warning", "unclear": "warning", "none": "error"}


def subject() -> str:
    """Return the name of the axis, for the title."""
    return cut_text(current_name(), 40)


def show() -> None:
    """Show the current axis."""
    bench = chosen_bench()
    with st.container(horizontal=True, vertical_alignment="center", key="examples"):
        _offer_examples()
        _ask_for_own_words()
    own = _find_own_words(bench)
    wanted, axis = current_axis(bench)
    verdict = st.container()
    drawn, found = charts_and_lists("ends")
    left, right = drawn.columns([3, 2], gap="large")
    ends, histogram = left.empty(), right.empty()
    if not bench.diagnosis(axis).is_known:
        _draw(axis, wanted.name, own, (ends, histogram))  # without bars at first; they follow
    neutral = right.container()
    diagnosis = None
    with verdict, complain():
        diagnosis = _diagnose(bench, axis)
    if diagnosis is not None:
        _draw(axis, wanted.name, own, (ends, histogram), diagnosis)
        with verdict:
            _show_verdict(diagnosis)
    if diagnosis is not None and diagnosis.axis.even_odds is not None:
        even = show_number(diagnosis.axis.even_odds)
        neutral.caption(f"A score of 0 is not neutral. The odds between the two ends are even at {even} (dashed line).")
    with found:
        _show_own_words(bench, axis, own, diagnosis)
    show_missing(bench, axis.rows.missing, len(axis.rows))
    if axis.rows.case_note:
        st.caption(plain(axis.rows.case_note))
    for reason, words in axis.lexicon.dropped.by_reason().items():
        st.caption(plain(f"Left out ({reason}): {name_some(words)}."))
    _show_change(bench, wanted, axis)
    if wanted.source == "lists":
        _suggest_seeds(bench, axis)
    if diagnosis is not None:
        _show_details(diagnosis)
        show_citation(diagnosis.citation)
    rated = show_ratings(bench, axis, wanted.name)
    with complain():
        show_comparison(bench, axis.lexicon, wanted)
    _offer_downloads(bench, wanted, axis, diagnosis)
    show_code(axis_code(bench.source, axis.lexicon, wanted, own, rated))


def _offer_examples() -> None:
    """Show a button for each example; the current one is filled."""
    st.caption("Examples", width="content")
    current = current_example()
    for name in EXAMPLES:
        look = "primary" if name == current else "secondary"
        st.button(name, key=f"example {name}", type=look, on_click=use_example, args=(name,))


def _diagnose(bench: Workbench, axis: ShownAxis) -> Diagnosis | None:
    """Return the diagnosis: immediately if it is fast, else after a click."""
    quick = is_closed_form(axis.axis.rotation, axis.rows)
    slow = f"Check how reliable it is: “{axis.method}” is refitted many times, which takes a while"
    return show_step(bench.diagnosis(axis), "Diagnosing the axis", start=None if quick else slow)


def _show_verdict(diagnosis: Diagnosis) -> None:
    """Show the verdict in one sentence, possible actions, and the four figures behind it."""
    verdict = diagnosis.verdict
    getattr(st, GRADES[verdict.grade])(plain(verdict.sentence))
    contradicting = [row["word"] for row in diagnosis.contradictions[:5]] if verdict.grade != "good" else []
    if contradicting:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Remove a seed", width="content")
            for place, word in enumerate(contradicting):
                _seed_button(word, f"contradicting {place}")
    first = diagnosis.axes[0]
    interval = " to ".join(show_share(end, marks=AUC_MARKS) for end in first.auc_interval)
    kept = " to ".join(show_number(end, 2) for end in diagnosis.vocabulary.reliability_interval)
    tiles = {
        "Seeds": (
            show_count(diagnosis.n_seeds),
            f"{show_count(diagnosis.n_high)} high, {show_count(diagnosis.n_low)} low",
            "The words of the lists or the lexicon that are in the space. The axis is fitted to them.",
        ),
        "Pairs ranked correctly": (
            show_share(first.auc),
            interval,
            "The share of pairs of a high and a low seed in which the high one scores higher (held-out AUC, with its "
            "95% interval). Each seed is scored by an axis fitted without it. 50% is guessing.",
        ),
        "Reliability": (
            show_number(diagnosis.vocabulary.reliability, 2, marks=RELIABILITY_MARKS),
            kept,
            "The expected correlation with scores from other seeds (as many, of the same kind), with its 95% "
            "interval. The median standard error of a score is "
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


def _ask_for_own_words() -> None:
    """Show the box for words that appear between the two ends, and in the histogram."""
    with st.container(horizontal=True, vertical_alignment="center", width=320):  # the label stays with the box
        st.caption("My words", width="content")
        st.text_input("My words", placeholder="nurse, banker", label_visibility="collapsed", **bound("words"))


def _find_own_words(bench: Workbench) -> list[str]:
    """Return the typed words that are in the space, in its spelling; report the others."""
    found, missing = find_words(settings()["words"], bench.space)
    tell_missing(bench, missing, len(found), what="of my words")
    if len(found) > _MOST_OWN:
        st.caption(f"The first {_MOST_OWN} of {show_count(len(found))} are shown.")
    return found[:_MOST_OWN]


def _draw(
    axis: ShownAxis, name: str, own: list[str], containers: tuple[Any, Any], diagnosis: Diagnosis | None = None
) -> None:
    """Draw the two ends with the user's words between them, and the histogram."""
    errors = diagnosis is not None
    rows, mine = axis.ranking.ends(_SHOWN, errors=errors), axis.ranking.lookup(own, errors=errors)
    bars = "; bars: two standard errors" if errors else ""
    label = f"score on the axis “{name}”"
    even = axis.axis.even_odds if errors else None
    chart(ranked_words(rows, n_words=_SHOWN, own=mine, neutral=even, axis=f"{label}{bars}"), containers[0])
    histogram = score_histogram(
        axis.ranking.scores.score, axis.ranking.seed_scores(), marked=mine, neutral=even, axis=label
    )
    chart(histogram, containers[1])


def _show_own_words(bench: Workbench, axis: ShownAxis, own: list[str], diagnosis: Diagnosis | None) -> None:
    """Show the scores of the user's words, with their nearest neighbours."""
    if not own:
        return
    rows = [
        {
            "word": entry["word"],
            "rank": entry["rank"],
            "score": entry["score"],
            "standard_error": entry.get("standard_error"),
            "probability": entry.get("probability"),
        }
        for entry in axis.ranking.lookup(own, errors=diagnosis is not None)
    ]
    columns: list[Column | str] = [
        "word",
        Column("rank"),
        Column("score", decimals=3),
        Column("standard_error", "±", decimals=3),
        Column("probability", "P(high)", decimals=3, open_ends=True),
    ]
    kept = {key for row in rows for key, value in row.items() if value is not None}
    known = [each for each in columns if isinstance(each, str) or each.key in kept]
    small_table(rows, known, width="content")
    meanings = {
        "rank": "Rank 1 is the highest score.",
        "standard_error": "±: one standard error, by which the score would vary with other seeds.",
        "probability": "P(high): the probability that a word with this score belongs to the high end.",
    }
    st.caption(" ".join(text for key, text in meanings.items() if key in kept))
    uncertainty = None if diagnosis is None else diagnosis.axis.uncertainty
    if uncertainty is not None and any(row["probability"] is None for row in rows):
        st.caption(uncertainty.explain_empty())
    near = [(row["word"], bench.neighbors(row["word"], _NEIGHBORS)) for row in rows]
    lines = "\n".join(f"- **{plain(word)}**: {plain(neighbors)}" for word, neighbors in near)
    st.markdown(f"Nearest words, by cosine in the whole space:\n{lines}")


def _suggest_seeds(bench: Workbench, axis: ShownAxis) -> None:
    """Offer further seeds; the user decides."""
    with st.expander("Similar words: more seeds to choose from"):
        st.caption(
            "The words nearest to each list, among those that the axis puts on the same side. Click one to add it. "
            "These words are chosen by their vectors, so they agree with the axis, and improve its numbers. On "
            "published scales they did not bring the scores closer to ratings by people; ten rated items did."
        )
        found = bench.recall(
            ("suggested", *identity(axis.lexicon, axis.method)),
            lambda: words_like_seeds(axis.ranking, n_words=_SUGGESTED),
        )
        for end, words in zip(("high", "low"), found, strict=True):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f"Add to the {end} end", width="content")
                for place, word in enumerate(words):
                    st.button(plain(word), key=f"suggested {end} {place}", icon=":material/add:", on_click=add_seed,
                              args=(word, end))  # fmt: skip


def _show_details(diagnosis: Diagnosis) -> None:
    """Show all figures, and the seeds that move the axis or contradict the others."""
    with st.expander("All numbers, and the most important seeds"):
        figures = diagnosis.tables()[0]
        table(figures.rows, figures.columns)
        left, right = st.columns([3, 2], gap="large")
        with left:
            st.markdown("**Seeds with the most influence**")
            if diagnosis.influential:
                measure = "degrees that the axis turns"
                chart(seed_influence(diagnosis, n_seeds=15, measure=measure, ends=diagnosis.end_names))
        with right:
            found = f"{show_count(len(diagnosis.contradictions))} of {show_count(diagnosis.n_seeds)}"
            st.markdown(f"**Seeds that contradict the others: {found}**")
            st.caption("An axis fitted without such a seed puts it on the wrong side. Click one to remove it.")
            with st.container(horizontal=True):
                for place, row in enumerate(diagnosis.contradictions[:20]):
                    _seed_button(row["word"], f"against {place}")
            st.markdown("**Remove another seed**")
            with st.container(horizontal=True):
                for place, row in enumerate(diagnosis.influential[:10]):
                    _seed_button(row["word"], f"influential {place}")
        held_out = show_estimate(diagnosis.axes[0].tau, diagnosis.tau_interval.low, diagnosis.tau_interval.high)
        st.caption(
            f"Held-out τ {held_out}: the rank correlation of the labels with the scores, where each seed is scored by "
            f"an axis fitted without it. It is at most {show_number(diagnosis.tau_ceiling)}, because seeds with equal "
            "labels have no order."
        )


def _seed_button(word: str, key: str) -> None:
    st.button(plain(word), key=key, icon=":material/close:", on_click=without_seed, args=(word,))


def _show_change(bench: Workbench, wanted: AxisChoice, axis: ShownAxis) -> None:
    """Show how the axis changed without the excluded seeds."""
    removed = removed_seeds(wanted)
    if not removed:
        return
    whole = AxisChoice(**{**vars(wanted), "without": ""})
    before = find_axis(bench, lexicon_of(whole), wanted.method)
    change = axis_change(before.ranking, axis.ranking)
    heading("What changed")
    without = f"Without {', '.join(removed[:10])} the axis turned by {show_number(change.degrees, 1)}°. "
    st.markdown(
        plain(f"{without}The rank correlation of the new scores with the old ones is {show_number(change.spearman)}.")
    )
    columns: list[Column | str] = ["word", Column("before", "rank before"), Column("after", "rank after"),
               Column("shift", "shift (sd)", decimals=2)]  # fmt: skip
    for container, title, rows in zip(st.columns(2), ("Risen most", "Fallen most"), (change.risen, change.fallen),
                                  strict=True):  # fmt: skip
        container.caption(title)
        table(rows, columns, help={"shift": "Change of the score, in standard deviations."}, container=container)


def _offer_downloads(bench: Workbench, wanted: AxisChoice, axis: ShownAxis, diagnosis: Diagnosis | None) -> None:
    """Offer the induced lexicon and the rotation as files."""
    heading("Downloads")
    stem = file_stem(wanted.name, otherwise="axis")
    with st.container(horizontal=True):
        for ending in (".tsv", ".csv", ".parquet"):

            def lexicon(ending: str = ending) -> bytes:
                induced = induce(bench.space, axis.axis) if diagnosis is not None else axis.ranking
                return written(induced.write, f"{stem}{ending}")

            download(f"Induced lexicon {ending}", f"{stem}{ending}", lexicon, help="Every word with its score.")

        def whole() -> bytes:
            # all axes: a lossless rotation
            everything = Axis.fit(axis.rows, axis.method, n_components=None, options=axis.axis.options)
            save = partial(everything.save, judge=diagnosis is not None)
            return written(save, f"{stem}.safetensors")

        download("Axis .safetensors", f"{stem}.safetensors", whole, help="For densray induce, rotate and erase.")
