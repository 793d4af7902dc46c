"""Layers: the layer of a language model where a concept can be read, texts at both ends, a text by token."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from densray.datasets import is_at_hand, path_of
from densray.errors import DensRayError, TaskError
from densray.explorer.python_code import layers_code
from densray.explorer.widgets import (
    NotYet,
    bound,
    chart,
    chart_first,
    choice,
    choose_several,
    complain,
    controls,
    download,
    heading,
    plain,
    settings,
    show_code,
    show_command,
    show_step,
    small_table,
    table,
    write_setting,
)
from densray.explorer.words import encoding_note_of_upload, file_stem
from densray.explorer.workbench import Step, current
from densray.figures import cut_text
from densray.progress import Progress
from densray.report import Column, show_number, to_json, typeset
from densray.rotations import METHODS
from densray.states import (
    DEFAULT_METHODS,
    LayerComparison,
    LoadedModel,
    States,
    compare_layers,
    load_model,
    open_controls,
    read_tokens,
    weight_differences,
)

TITLE, ICON = "Layers", ":material/layers:"
LEAD = "See in which layer of a language model a concept can be detected, on held-out texts and token by token."

_SHOWN = 12  # texts per end
_FULL = 2.0  # score, in half distances of the two means, at which a token has the full colour
#: Blue for the high end and vermillion for the low one (Okabe and Ito), each with its own line style.
_COLORS = {True: ("0, 114, 178", "solid"), False: ("213, 94, 0", "dashed")}
#: The bundled data set that is shown if the explorer was started without hidden states.
_EXAMPLE = "moods"
#: The fastest method, so that the page opens at once; ridge would take ten seconds.
_EXAMPLE_METHODS = ("mean-difference",)
#: Where in a text the states were read.
_READ_AT = {"last": "last token", "mean": "mean over tokens"}
_LETTERS = 240  # of a text in a table
_opened: States | None = None


def use(states: States | None) -> None:
    """Set the hidden states to show."""
    global _opened  # noqa: PLW0603  Streamlit runs the pages as a script, to which nothing can be passed
    _opened = states


def is_open() -> bool:
    """Return whether there are hidden states to show."""
    return _opened is not None


def show() -> None:
    """Show the hidden states the explorer was started with, or else the bundled example."""
    if _opened is None and not is_at_hand(_EXAMPLE):
        _explain_opening()
        return
    states, labels_file = _with_labels(_opened or current().recall(("states", _EXAMPLE), _open_example))
    where = f"{len(states):,} texts · {len(states.layers)} layers × {states.width} dimensions"
    where += f" · {_READ_AT.get(states.pool, states.pool)}"
    example = "Example: " if _opened is None else ""
    st.markdown(f"{example}**{plain(Path(states.model).name)}** · {plain(where)}")
    default = DEFAULT_METHODS if _opened is not None else _EXAMPLE_METHODS
    methods = choose_several("Methods", "layer_methods", list(METHODS), default=default)
    if not methods:
        st.info("No method is chosen: choose one or more above.")
        return
    result = show_step(_comparison(states, methods), "Comparing layers")
    if result is None:
        raise NotYet
    low, high = result.ends
    st.markdown(f"**{plain(low)} – {plain(high)}**: {plain(result.summary)}")
    _show_curves(result, states)
    layer, method = _choose_layer(result, methods)
    with complain():
        _show_ends(result, states, layer, method)
    text = ""
    if _opened is None:
        heading("Texts of your own")
        _explain_opening()
    else:  # the example comes without its model
        heading("A text of your own, token by token")
        with complain():
            _show_own_text(result, states, layer, method)
        text = "" if states.pool == "encoder" else settings()["own_text"].strip()
    show_code(layers_code(str(states.folder or "states"), labels_file, methods, layer, method, text))


def _explain_opening() -> None:
    """Explain how to open hidden states of one's own."""
    st.markdown("Read the hidden states of a model, and open their folder:")
    show_command("densray model read MODEL sentences.csv -o states\ndensray explore states")


def _open_example() -> States:
    return States.open(path_of(_EXAMPLE))


def _with_labels(states: States) -> tuple[States, str]:
    """Return the states with labels, stored or from a file, and the name of that file."""
    if states.labels is not None:
        return states, ""
    st.info("These states have no labels. Upload one label per text: one per line, or a table with a column “label”.")
    file = st.file_uploader("Labels of the texts", type=["txt", "csv", "tsv", "jsonl"], key="layer labels")
    if file is None:
        raise NotYet
    note = encoding_note_of_upload(file.name, file.getvalue())
    if note:
        st.caption(plain(typeset(note)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"labels{Path(file.name).suffix.lower()}"
        path.write_bytes(file.getvalue())
        return states.read_labels(path), file.name


def _comparison(states: States, methods: Sequence[str]) -> Step[LayerComparison]:
    def find(progress: Progress | None) -> LayerComparison:
        controls = {} if states.folder is None else open_controls(states.folder)
        return compare_layers(states, methods=methods, controls=controls, progress=progress)

    key = ("layers", str(states.folder), states.checksum, states.labels, states.groups, tuple(methods))
    return Step(current(), key, find)


def _show_curves(result: LayerComparison, states: States) -> None:
    left, right = chart_first("layers").columns(2, gap="large")
    with left:
        chart(result.figure())
    with right:
        first = result.tables()[0]
        shown = [
            {"method": one.method, "layer": one.layer, "AUC": one.auc, "p": one.p_value}
            | {"95%": f"{show_number(one.interval.low)} to {show_number(one.interval.high)}"}
            for one in result.chosen
        ]
        figures: list[Column | str] = ["method", "layer", Column("AUC", decimals=3), "95%"]
        if shown:
            st.markdown(f"**{first.title}**")
            small_table(shown, [*figures, Column("p", decimals=3, open_ends=True)])
        for line in first.notes:
            st.caption(plain(line))
        notes = {f"Layer {score.layer}, {score.method}: {score.note}" for score in result.scores if score.note}
        for note in sorted(notes)[:3]:
            st.caption(plain(note))
        if result.controls:
            controls = result.tables()[-1]
            with st.expander(controls.title):
                table(controls.rows, controls.columns)
                for line in controls.notes:
                    st.caption(plain(line))
        stem = file_stem(Path(states.model).stem, otherwise="model")
        download("Comparison .json", f"{stem}-layers.json", lambda: to_json(result).encode())


def _choose_layer(result: LayerComparison, methods: Sequence[str]) -> tuple[int, str]:
    """Return the chosen layer and method (default: the best layer of the first method)."""
    left, right = controls("layer").columns(2)
    with right:
        method = choice("Method", "layer_method", methods)
    best = result.best_layer(method)
    layers = [str(layer) for layer in dict.fromkeys(score.layer for score in result.scores)]
    if settings()["layer"] not in layers:
        write_setting("layer", str(best))
    with left:
        layer = choice("Layer", "layer", layers, help=f"The best layer of {method} is {best}.")
    return int(layer), method


def _show_ends(result: LayerComparison, states: States, layer: int, method: str) -> None:
    rows = result.ranked_texts(states, layer, method)
    correct = sum(row["correct"] for row in rows)
    heading(f"Texts at both ends, after layer {layer}")
    st.caption(
        f"Each text is scored by an axis fitted without it and its group. “Below” is the share of its fold with a "
        f"lower score. {correct:,} of {len(rows):,} texts are in the half of their label (✓)."
    )
    low, high = result.ends
    columns: list[Column | str] = [Column("mark", ""), Column("rank", "below", decimals=2), "text"]
    for container, end, shown in zip(
        st.columns(2, gap="large"), (high, low), (rows[:_SHOWN], rows[::-1][:_SHOWN]), strict=True
    ):
        with container:
            st.markdown(f"**{plain(end)}**")
            marked = [{"mark": "✓" if row["correct"] else "✗"} | row for row in shown]
            small_table([{**row, "text": cut_text(row["text"], _LETTERS)} for row in marked], columns)


def _show_own_text(result: LayerComparison, states: States, layer: int, method: str) -> None:
    if states.pool == "encoder":
        st.info("A sentence encoder has one vector per text and none per token, so tokens cannot be scored.")
        return
    st.text_area("Text", placeholder="The nurse said that …", **bound("own_text"))
    loaded = show_step(_model(states), f"Loading {plain(Path(states.model).name)}", start="Load the model")
    text = settings()["own_text"].strip()
    if loaded is None or not text:
        return
    axis = result.axes.get((layer, method))
    if axis is None:
        raise TaskError(f"no axis was fitted at layer {layer} by {method}. Choose another layer.")
    found = read_tokens(loaded.model, loaded.tokenizer, text, layers=[layer], first_token=states.first_token)
    scores = found.scores(axis, states, layer)
    low, high = result.ends
    st.html(_colored(found.tokens, scores))
    st.html(f"<p>{_span(high, _FULL, high)} &ensp; {_span(low, -_FULL, low)}</p>")
    st.caption(
        "A score of 1 is the mean of the texts at the high end, −1 that at the low end. The axis was fitted on "
        f"{'the last token' if states.pool == 'last' else states.pool} of each text; scores of other tokens may mean "
        "less. The first token has no score, because many models use it as an attention sink."
    )
    with st.expander("All scores"):
        rows = [{"token": token, "score": float(score)} for token, score in zip(found.tokens, scores, strict=True)]
        table(rows[1:], ["token", Column("score", decimals=2)])


def _model(states: States) -> Step[LoadedModel]:
    """Load the model that the states were read from; refuse another one."""

    def find(_: Progress | None) -> LoadedModel:
        try:
            loaded = load_model(states.model, sentence_encoder=False)
        except DensRayError as error:
            raise TaskError("Texts of your own need the model: ", *error.args) from None
        if differences := weight_differences(loaded.model, states.checksum):
            raise TaskError(f"{states.model} has other weights than these states were read with: {differences}.")
        return loaded

    return Step(current(), ("model", states.model, states.checksum), find)


def _colored(tokens: Sequence[str], scores: NDArray[np.float64]) -> str:
    """Return tokens as text, coloured by their scores; the first has none."""
    parts = [
        _span(token, float(score), show_number(float(score), 2))
        for token, score in zip(tokens[1:], scores[1:], strict=True)
    ]
    first = f'<span title="left out" style="color:#888">{escape(tokens[0])}</span>'
    return f'<p style="font-size:1.1rem;line-height:2.1;white-space:pre-wrap">{first}{"".join(parts)}</p>'


def _span(text: str, score: float, title: Any) -> str:
    color, line = _COLORS[score > 0]
    share = min(abs(score) / _FULL, 1.0)
    style = f"background:rgba({color}, {0.55 * share:.2f});border-bottom:2px {line} rgba({color}, {share:.2f})"
    return f'<span title="{escape(str(title))}" style="{style};padding:2px 0">{escape(text)}</span>'
