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
from densray.axes._views import axis_change
from densray.errors import name_some
from densray.explorer.settings import AxisChoice
from densray.explorer.sidebar import current_axis, find_axis, lexicon_of, removed_seeds, show_missing, without_seed
from densray.explorer.widgets import bound, chart, complain, download, plain, settings, show_step, written
from densray.explorer.words import file_stem, missing_word
from densray.explorer.workbench import Axis, Workbench, current
from densray.figures import ranked_words, score_histogram, seed_influence
from densray.report import show_number
from densray.rotations import name_method

TITLE, ICON = "Axis", ":material/straighten:"

_SHOWN = 15  # words of either end
_GRADES = {"good": "success", "fair": "info", "weak": "warning", "none": "error"}


def show() -> None:
    """Show the current axis."""
    bench = current()
    wanted, axis = current_axis(bench)
    left, right = st.columns([3, 2], gap="large")
    with left:
        ends = st.empty()
        chart(_ends_chart(axis, wanted.name), ends)
    with right:
        st.text_input("Find a word", placeholder="any word of the space", **bound("word"))
        found = st.empty()
        _show_word(bench, axis, None, found)
        chart(_histogram(axis, wanted.name))
    _show_change(bench, wanted, axis)
    st.subheader("How far can it be trusted?")
    diagnosis = None
    with complain():
        diagnosis = _diagnose(bench, axis)
    if diagnosis is not None:
        chart(_ends_chart(axis, wanted.name, diagnosis), ends)
        _show_word(bench, axis, diagnosis, found)
        _show_diagnosis(diagnosis)
    show_missing(bench, axis.seeds.missing, axis.seeds.n_words)
    for reason, words in axis.lexicon.dropped.by_reason().items():
        st.caption(plain(f"Left out ({reason}): {name_some(words)}."))
    _offer_downloads(bench, wanted, axis, diagnosis)


def _ends_chart(axis: Axis, name: str, diagnosis: Diagnosis | None = None) -> Any:
    model = None if diagnosis is None else diagnosis.model
    rows = axis.ranking.ends(_SHOWN, space=current().space, model=model)
    bars = "" if diagnosis is None else "; bars: two standard errors"
    return ranked_words(rows, n_words=_SHOWN, axis=f"coordinate on the axis “{name}”{bars}")


def _histogram(axis: Axis, name: str) -> Any:
    scores, seeds = axis.ranking.scores.score, axis.ranking.seed_scores()
    return score_histogram(scores, seeds, axis=f"coordinate on the axis “{name}”")


def _show_word(bench: Workbench, axis: Axis, diagnosis: Diagnosis | None, place: Any) -> None:
    """Show where the word searched for stands."""
    word = settings()["word"].strip()
    if not word:
        return
    if word not in bench.space:
        place.warning(plain(missing_word(word, bench.space)), icon=":material/search_off:")
        return
    entry = axis.ranking.lookup([word], space=bench.space, model=None if diagnosis is None else diagnosis.model)[0]
    error = f" ± {show_number(entry['standard_error'])}" if "standard_error" in entry else ""
    chance = f", probability of the high end {show_number(entry['probability'], 2)}" if "probability" in entry else ""
    line = (
        f"“{word}”: rank {entry['rank']:,} of {len(bench.space):,}, score {show_number(entry['score'])}{error}{chance}"
    )
    place.info(plain(line), icon=":material/search:")


def _diagnose(bench: Workbench, axis: Axis) -> Diagnosis | None:
    """Return the diagnosis; by itself where it is quick, else when asked."""
    quick = is_closed_form(axis.rotation, axis.seeds)
    slow = f"Diagnose: “{axis.method}” is fitted again without each group of seeds, which takes a while"
    return show_step(bench.diagnosis(axis), "Diagnosing the axis", start=None if quick else slow)


def _show_diagnosis(diagnosis: Diagnosis) -> None:
    verdict = diagnosis.verdict
    getattr(st, _GRADES[verdict.grade])(plain(verdict.line))
    first = diagnosis.axes[0]
    figures = {
        "Held-out τ": (diagnosis.axes[0].tau, diagnosis.tau_interval),
        "Held-out AUC": (first.auc, first.auc_interval),
    }
    for place, (name, (value, interval)) in zip(st.columns(4), figures.items(), strict=False):
        reach = f"{show_number(interval.low)} to {show_number(interval.high)}"
        place.metric(name, show_number(value), reach, delta_color="off", delta_arrow="off")
    if diagnosis.model.even_odds is not None:
        even = show_number(diagnosis.model.even_odds)
        st.caption(f"A score of 0 is not neutral: even odds between the two ends lie at {even}.")
    with st.expander("All figures"):
        _show_table(diagnosis.tables()[0])
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.markdown("**Seeds that move the axis most**")
        if diagnosis.influential:
            chart(seed_influence(diagnosis.influential, n_seeds=15, measure="turns the axis by (°) when left out"))
    with right:
        st.markdown(f"**Seeds that pull against the rest: {len(diagnosis.contradictions)} of {diagnosis.n_seeds}**")
        st.caption("When left out they score on the wrong side. Click to take one out.")
        with st.container(horizontal=True):
            for row in diagnosis.contradictions[:20]:
                _seed_button(row["word"])
        st.markdown("**Take out any seed**")
        with st.container(horizontal=True):
            for row in diagnosis.influential[:10]:
                _seed_button(row["word"], kind="influential")


def _seed_button(word: str, kind: str = "contradicting") -> None:
    st.button(plain(word), key=f"{kind} {word}", icon=":material/close:", on_click=without_seed, args=(word,))


def _show_table(table: Any) -> None:
    st.dataframe([dict(row) for row in table.rows], hide_index=True)


def _show_change(bench: Workbench, wanted: AxisChoice, axis: Axis) -> None:
    """Show what the seeds taken out have changed."""
    removed = removed_seeds(wanted)
    if not removed:
        return
    whole = AxisChoice(**{**vars(wanted), "without": ""})
    before = find_axis(bench, lexicon_of(whole), wanted.method)
    axes = before.rotation.components_[0], axis.rotation.components_[0]
    change = axis_change(before.ranking, axis.ranking, axes)
    st.subheader("What changed")
    without = f"Without {', '.join(removed[:10])} the axis turned by {show_number(change.degrees, 1)}°; "
    st.markdown(
        plain(f"{without}the order of the vocabulary correlates at {show_number(change.spearman)} with what it was.")
    )
    for place, title, rows in zip(st.columns(2), ("Risen most", "Fallen most"), (change.risen, change.fallen),
                                  strict=True):  # fmt: skip
        place.caption(title)
        place.dataframe(rows, hide_index=True, column_config={"shift": st.column_config.NumberColumn(format="%.2f")})


def _offer_downloads(bench: Workbench, wanted: AxisChoice, axis: Axis, diagnosis: Diagnosis | None) -> None:
    """Offer the induced lexicon and the rotation as files."""
    st.subheader("Take it with you")
    stem = file_stem(wanted.name, otherwise="axis")
    model = axis.model if diagnosis is None else diagnosis.model
    with st.container(horizontal=True):
        for ending in (".tsv", ".csv", ".parquet"):

            def lexicon(ending: str = ending) -> bytes:
                induced = score_vocabulary(bench.space, model, method=axis.method, seeds=axis.seeds)
                return written(induced.write, f"{stem}{ending}")

            download(f"Induced lexicon {ending}", f"{stem}{ending}", lexicon)

        def rotation() -> bytes:
            whole = fit_rotation(axis.method, axis.seeds, n_components=None)  # all axes: nothing is lost by rotating
            verdict = None if diagnosis is None else diagnosis.verdict
            save = partial(save_axis, whole, model, space=bench.space, method=name_method(axis.method), verdict=verdict)
            return written(save, f"{stem}.npz")

        download("Rotation .npz", f"{stem}.npz", rotation, help="For densray induce, rotate and erase.")
