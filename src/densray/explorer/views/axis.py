"""Axis: from two word lists to a ranked vocabulary, and how far it can be trusted."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from densray.axes import Diagnosis
from densray.axes._files import save_axis
from densray.axes._options import fit_rotation
from densray.axes._resampling import is_closed_form
from densray.axes._scoring import score_vocabulary
from densray.axes._views import axis_change, words_like_seeds
from densray.errors import name_some
from densray.explorer.settings import EXAMPLES, AxisChoice, axis_code
from densray.explorer.sidebar import (
    add_seed,
    current_axis,
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
    chosen_bench,
    complain,
    download,
    heading,
    plain,
    settings,
    show_code,
    show_step,
    table,
    written,
)
from densray.explorer.words import file_stem, find_words
from densray.explorer.workbench import Axis, Workbench, identity
from densray.figures import ranked_words, score_histogram, seed_influence
from densray.report import Column, show_count, show_estimate, show_number, show_share
from densray.rotations import name_method

TITLE, ICON = "Axis", ":material/straighten:"
LEAD = (
    "Two lists of words make an axis, and every word of the space has a place on it. Change the lists in the sidebar, "
    "or start from an example."
)

_SHOWN = 15  # words of either end
_SUGGESTED, _NEIGHBORS, _MOST_OWN = 8, 8, 30
_GRADES = {"good": "success", "fair": "info", "weak": "warning", "none": "error"}
_COLORS = {"good": "green", "fair": "blue", "weak": "orange", "none": "red"}


def show() -> str | None:
    """Show the current axis; return the badge of its verdict."""
    bench = chosen_bench()
    _offer_examples()
    wanted, axis = current_axis(bench)
    verdict = st.container()
    own = _choose_own_words(bench)
    left, right = st.columns([3, 2], gap="large")
    ends, histogram = left.empty(), right.empty()
    if not bench.diagnosis(axis).is_known:
        _draw(bench, axis, wanted.name, own, (ends, histogram))  # at once; its bars follow
    neutral, found = right.container(), st.container()
    diagnosis = None
    with verdict, complain():
        diagnosis = _diagnose(bench, axis)
    if diagnosis is not None:
        _draw(bench, axis, wanted.name, own, (ends, histogram), diagnosis)
        with verdict:
            _show_verdict(diagnosis)
    if diagnosis is not None and diagnosis.model.even_odds is not None:
        even = show_number(diagnosis.model.even_odds)
        neutral.caption(f"A score of 0 is not neutral: even odds between the two ends lie at {even}, the dashed line.")
    with found:
        _show_own_words(bench, axis, own, diagnosis)
    show_missing(bench, axis.seeds.missing, axis.seeds.n_words)
    for reason, words in axis.lexicon.dropped.by_reason().items():
        st.caption(plain(f"Left out ({reason}): {name_some(words)}."))
    _show_change(bench, wanted, axis)
    if wanted.source == "lists":
        _suggest_seeds(bench, axis)
    if diagnosis is not None:
        _show_details(diagnosis)
    with complain():
        show_comparison(bench, axis.lexicon, wanted)
    _offer_downloads(bench, wanted, axis, diagnosis)
    show_code(axis_code(bench.source, axis.lexicon, wanted, own))
    return None if diagnosis is None else _badge(diagnosis)


def _offer_examples() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Examples", width="content")
        for name in EXAMPLES:
            st.button(name, key=f"example {name}", on_click=use_example, args=(name,))


def _badge(diagnosis: Diagnosis) -> str:
    grade = diagnosis.verdict.grade
    return f":{_COLORS[grade]}-badge[trust: {grade}]"


def _diagnose(bench: Workbench, axis: Axis) -> Diagnosis | None:
    """Return the diagnosis; by itself where it is quick, else when asked."""
    quick = is_closed_form(axis.rotation, axis.seeds)
    slow = f"Say how far it can be trusted: “{axis.method}” is fitted again without each group of seeds, a while"
    return show_step(bench.diagnosis(axis), "Diagnosing the axis", start=None if quick else slow)


def _show_verdict(diagnosis: Diagnosis) -> None:
    """Show the verdict in one sentence, what can be done at once, and the four figures behind it."""
    verdict = diagnosis.verdict
    getattr(st, _GRADES[verdict.grade])(plain(verdict.sentence))
    contradicting = [row["word"] for row in diagnosis.contradictions[:5]] if verdict.grade != "good" else []
    if contradicting:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Take out", width="content")
            for place, word in enumerate(contradicting):
                _seed_button(word, f"contradicting {place}")
    first = diagnosis.axes[0]
    interval = f"{show_share(first.auc_interval.low)} to {show_share(first.auc_interval.high)}"
    tiles = {
        "Seeds": (
            show_count(diagnosis.n_seeds),
            f"{show_count(diagnosis.n_high)} high, {show_count(diagnosis.n_low)} low",
            "The words of the lists or the lexicon that are in the space: what the axis is found from.",
        ),
        "Pairs ordered rightly": (
            show_share(first.auc),
            interval,
            "Of a high and a low seed that the axis has not seen, how often the high one scores higher (held-out AUC, "
            "with its 95% interval). 50% is guessing.",
        ),
        "Kept with other seeds": (
            show_share(diagnosis.vocabulary.reliability),
            f"± {show_number(diagnosis.vocabulary.standard_error)} per word",
            "The share of the differences between words that other seeds of this kind would give again (reliability); "
            "below, the standard error of a score, median over the vocabulary.",
        ),
        "Chance": (
            show_number(diagnosis.permutation.p_value, open_ends=True),
            f"{show_count(diagnosis.permutation.n_permutations)} shuffles",
            "How often shuffled labels do as well (permutation p). Above 0.05 the axis may be chance.",
        ),
    }
    for place, (name, (value, below, help)) in zip(st.columns(4), tiles.items(), strict=True):
        place.metric(name, value, below, delta_color="off", delta_arrow="off", help=help)


def _choose_own_words(bench: Workbench) -> list[str]:
    """Return the words asked for that the space has, as it spells them; tell the others."""
    st.text_input("My words", placeholder="one or several: nurse, banker, teacher", **bound("words"),
                  help="Drawn between the ends with their error bars, and marked in the histogram.")  # fmt: skip
    found, missing = find_words(settings()["words"], bench.space)
    tell_missing(bench, missing, len(found), what="of my words")
    if len(found) > _MOST_OWN:
        st.caption(f"The first {_MOST_OWN} of {show_count(len(found))} are shown.")
    return found[:_MOST_OWN]


def _draw(
    bench: Workbench, axis: Axis, name: str, own: list[str], places: tuple[Any, Any], diagnosis: Diagnosis | None = None
) -> None:
    """Draw the two ends with one's own words between, and the histogram."""
    model = None if diagnosis is None else diagnosis.model
    rows, mine = axis.ranking.ends(_SHOWN, space=bench.space, model=model), _entries(bench, axis, own, diagnosis)
    bars = "" if model is None else "; bars: two standard errors"
    label = f"score on the axis “{name}”"
    even = 0.0 if model is None or model.even_odds is None else model.even_odds
    chart(ranked_words(rows, n_words=_SHOWN, own=mine, neutral=even, axis=f"{label}{bars}"), places[0])
    histogram = score_histogram(axis.ranking.scores.score, axis.ranking.seed_scores(), marked=mine, axis=label)
    chart(histogram, places[1])


def _entries(bench: Workbench, axis: Axis, words: list[str], diagnosis: Diagnosis | None) -> list[dict[str, Any]]:
    model = None if diagnosis is None else diagnosis.model
    return axis.ranking.lookup(words, space=bench.space, model=model) if words else []


def _show_own_words(bench: Workbench, axis: Axis, own: list[str], diagnosis: Diagnosis | None) -> None:
    """Show where one's own words stand, with their nearest neighbours."""
    if not own:
        return
    rows = [
        {
            "word": entry["word"],
            "rank": entry["rank"],
            "score": entry["score"],
            "standard_error": entry.get("standard_error"),
            "probability": entry.get("probability"),
            "neighbors": bench.neighbors(entry["word"], _NEIGHBORS),
        }
        for entry in _entries(bench, axis, own, diagnosis)
    ]
    columns: list[Column | str] = [
        "word",
        Column("rank"),
        Column("score", decimals=3),
        Column("standard_error", "±", decimals=3),
        Column("probability", "P(high)", decimals=3, open_ends=True),
        Column("neighbors", "nearest words"),
    ]
    help = {
        "rank": "1 is the highest score.",
        "score": "The coordinate on the axis.",
        "standard_error": "One standard error: what other seeds of this kind would change.",
        "probability": "The probability that a word like the seeds with this score is of the high end.",
        "neighbors": "By cosine, in the whole space.",
    }
    kept = {key for row in rows for key, value in row.items() if value is not None}
    known = [each for each in columns if isinstance(each, str) or each.key in kept]
    table(rows, known, help=help, height="content")


def _suggest_seeds(bench: Workbench, axis: Axis) -> None:
    """Offer further seeds; the user decides."""
    with st.expander("Words like these: further seeds to choose from"):
        st.caption(
            "The words nearest to each list that the axis puts on its side. Click to add one; you decide. Chosen by "
            "their vectors, they agree with the axis more than words you think of would: the figures look better."
        )
        found = bench.recall(
            ("suggested", *identity(axis.lexicon, axis.method)),
            lambda: words_like_seeds(bench.space, axis.seeds, axis.ranking, n_words=_SUGGESTED),
        )
        for end, words in zip(("high", "low"), found, strict=True):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f"To the {end} end", width="content")
                for place, word in enumerate(words):
                    st.button(plain(word), key=f"suggested {end} {place}", icon=":material/add:", on_click=add_seed,
                              args=(word, end))  # fmt: skip


def _show_details(diagnosis: Diagnosis) -> None:
    """Show all figures, and the seeds that move the axis or pull against the rest."""
    with st.expander("All figures, and the seeds behind them"):
        figures = diagnosis.tables()[0]
        table(figures.rows, figures.columns)
        left, right = st.columns([3, 2], gap="large")
        with left:
            st.markdown("**Seeds that move the axis most**")
            if diagnosis.influential:
                chart(seed_influence(diagnosis.influential, n_seeds=15, measure="turns the axis by (°) when left out"))
        with right:
            found = f"{show_count(len(diagnosis.contradictions))} of {show_count(diagnosis.n_seeds)}"
            st.markdown(f"**Seeds that pull against the rest: {found}**")
            st.caption("Found without them, the axis puts them on the wrong side. Click to take one out.")
            with st.container(horizontal=True):
                for place, row in enumerate(diagnosis.contradictions[:20]):
                    _seed_button(row["word"], f"against {place}")
            st.markdown("**Take out another seed**")
            with st.container(horizontal=True):
                for place, row in enumerate(diagnosis.influential[:10]):
                    _seed_button(row["word"], f"influential {place}")
        held_out = show_estimate(diagnosis.axes[0].tau, diagnosis.tau_interval.low, diagnosis.tau_interval.high)
        st.caption(f"Held-out τ {held_out}: the rank correlation of labels and of scores by axes found without them.")


def _seed_button(word: str, key: str) -> None:
    st.button(plain(word), key=key, icon=":material/close:", on_click=without_seed, args=(word,))


def _show_change(bench: Workbench, wanted: AxisChoice, axis: Axis) -> None:
    """Show what the seeds taken out have changed."""
    removed = removed_seeds(wanted)
    if not removed:
        return
    whole = AxisChoice(**{**vars(wanted), "without": ""})
    before = find_axis(bench, lexicon_of(whole, bench.space), wanted.method)
    axes = before.rotation.components_[0], axis.rotation.components_[0]
    change = axis_change(before.ranking, axis.ranking, axes)
    heading("What changed")
    without = f"Without {', '.join(removed[:10])} the axis turned by {show_number(change.degrees, 1)}°; "
    st.markdown(
        plain(f"{without}the order of the vocabulary correlates at {show_number(change.spearman)} with what it was.")
    )
    columns: list[Column | str] = ["word", Column("before", "rank before"), Column("after", "rank after"),
               Column("shift", "shift (sd)", decimals=2)]  # fmt: skip
    for place, title, rows in zip(st.columns(2), ("Risen most", "Fallen most"), (change.risen, change.fallen),
                                  strict=True):  # fmt: skip
        place.caption(title)
        table(rows, columns, help={"shift": "In standard deviations."}, place=place)


def _offer_downloads(bench: Workbench, wanted: AxisChoice, axis: Axis, diagnosis: Diagnosis | None) -> None:
    """Offer the induced lexicon and the rotation as files."""
    heading("Downloads")
    stem = file_stem(wanted.name, otherwise="axis")
    model = axis.model if diagnosis is None else diagnosis.model
    with st.container(horizontal=True):
        for ending in (".tsv", ".csv", ".parquet"):

            def lexicon(ending: str = ending) -> bytes:
                induced = score_vocabulary(bench.space, model, method=axis.method, seeds=axis.seeds)
                return written(induced.write, f"{stem}{ending}")

            download(f"Induced lexicon {ending}", f"{stem}{ending}", lexicon, help="Every word with its score.")

        def rotation() -> bytes:
            whole = fit_rotation(axis.method, axis.seeds, n_components=None)  # all axes: nothing is lost by rotating
            verdict = None if diagnosis is None else diagnosis.verdict
            save = partial(save_axis, whole, model, space=bench.space, method=name_method(axis.method), verdict=verdict)
            return written(save, f"{stem}.npz")

        download("Rotation .npz", f"{stem}.npz", rotation, help="For densray induce, rotate and erase.")
