"""The page of hidden states, without a browser: curves, texts at both ends, a text of one's own by token."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")

from densray.cli.data import _opened_states
from densray.datasets import path_of
from densray.explorer.views import first_page, layers
from densray.states import States, compare_layers, model_checksum, open_controls, read_states
from explorer_page import open_page, texts

QUICK = {"layer_methods": "mean-difference"}


@pytest.fixture(autouse=True)
def closed():
    """Nothing is open before a test, nor after it."""
    layers.use(None)
    yield
    layers.use(None)


@pytest.fixture
def planted() -> States:
    """Twenty pairs of texts in three layers, the concept in the second."""
    random, y = np.random.default_rng(0), np.tile([1, -1], 20)
    rows = [random.normal(size=(40, 8)) + strength * np.outer(y, np.eye(8)[0]) for strength in (0.0, 4.0, 0.0)]
    labels = ["male" if side > 0 else "female" for side in y]
    return States.of_arrays(rows, [f"text {n}" for n in range(40)], model="none/such").labelled(
        labels, np.repeat(np.arange(20), 2)
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """States of a tiny model in a folder, the model beside them."""
    from tiny_models import WORDS, make_model, make_tokenizer

    folder = tmp_path_factory.mktemp("tiny")
    model, tokenizer = make_model("llama"), make_tokenizer()
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    given = [f"{a} {word} was {end}" for word in WORDS[2:6] for end in ("good", "bad", "tired") for a in ("the", "a")]
    labels = [text.split()[0] for text in given]
    read_states(model, tokenizer, given, out=folder / "states", labels=labels, name=str(folder / "model"))
    return folder


def test_without_states_the_page_shows_an_example_and_says_how_to_open_your_own():
    page = open_page("layers")
    assert "Example: SmolLM2-135M-Instruct" in texts(page.markdown).replace("**", "")
    assert "densray explore states" in page.code[0].value
    assert first_page() == "axis"
    assert re.search(r"Detected by mean-difference with AUC (0\.9[789]|1\.00)", texts(page.markdown))
    assert "Controls that have learned nothing" in [expander.label for expander in page.expander]
    assert not page.error
    assert not page.text_area  # no text of one's own: the model is not part of the package


def test_the_example_is_not_a_surface_feature():
    folder = path_of("moods")
    states, controls = States.open(folder), open_controls(folder)
    result = compare_layers(states, methods=["mean-difference"], controls=controls, n_permutations=19)
    best = result.chosen[0]
    assert best.auc > 0.97
    assert best.layer in (15, 18)
    assert {control.name: control.as_well for control in result.controls} == {"embeddings": False, "untrained": False}
    embeddings = next(control for control in result.controls if control.name == "embeddings")
    assert embeddings.auc < 0.8  # as docs/explorer.md says; folds differ between versions of scikit-learn


def test_the_layer_that_reads_the_concept_is_looked_at_first(planted):
    layers.use(planted)
    assert first_page() == "layers"
    page = open_page("layers", **QUICK)
    assert not page.exception
    assert not page.error
    assert page.selectbox(key="setting layer").value == "1"
    chosen = page.table[0].value.to_dict("records")[0]
    assert chosen["layer"] == 1
    assert chosen["AUC"] > 0.95
    high, low = (page.table[number].value.to_dict("records") for number in (1, 2))
    assert {int(row["text"].split()[1]) % 2 for row in high} == {0}  # male
    assert {int(row["text"].split()[1]) % 2 for row in low} == {1}
    assert {row[""] for row in [*high, *low]} == {"✓"}
    assert re.search(r"(3[6-9]|40) of 40 texts are in the half of their label", texts(page.caption))  # folds differ
    page.selectbox(key="setting layer").set_value("0").run()
    assert "Texts at both ends, after layer 0" in texts(page.header)
    assert "✗" in {row[""] for row in page.table[1].value.to_dict("records")}
    assert page.query_params["layer"] in ("0", ["0"])


def test_two_groups_show_the_layers_without_a_choice(planted):
    assert planted.labels is not None
    layers.use(planted.labelled(planted.labels, np.arange(40) // 20))
    page = open_page("layers", **QUICK)
    assert not page.exception
    assert not page.error
    assert "No layer can be chosen: this needs at least three folds, and there are 2." in texts(page.markdown)
    assert page.selectbox(key="setting layer").value == "1"
    assert len(page.table) == 2  # the texts at both ends


def test_where_the_model_is_missing_the_rest_is_shown(planted):
    layers.use(planted)
    page = open_page("layers", own_text="the nurse", **QUICK)
    page.button[-1].click().run()
    assert "Texts of your own need the model" in texts(page.error)
    assert len(page.table) == 3


def test_a_missing_extra_is_reported_with_its_command(planted, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    layers.use(planted)
    page = open_page("layers", **QUICK)
    page.button[-1].click().run()
    assert 'pip install "densray[models]"' in texts(page.error)


def test_an_entered_text_is_coloured_token_by_token(tiny):
    layers.use(States.open(tiny / "states"))
    page = open_page("layers", own_text="the <b> nurse", layer="1", **QUICK)
    page.button[-1].click().run(timeout=60)
    assert not page.error
    shown = page.get("html")[0].proto.body
    assert shown.count("background:rgba(") == 4  # "<", "b", ">" and "nurse": the first token is left out
    assert "&lt;" in shown
    assert "<b>" not in shown
    scores = page.dataframe[-1].value.to_dict("records")
    assert [row["token"].strip() for row in scores] == ["<", "b", ">", "nurse"]


@pytest.mark.slow
def test_the_python_of_the_page_runs_and_gives_what_it_shows(tiny, tmp_path, monkeypatch, capsys):
    layers.use(States.open(tiny / "states"))
    page = open_page("layers", own_text="the nurse was tired", layer="1", **QUICK)
    if page.button:  # the model was not loaded before
        page.button[-1].click().run(timeout=60)
    (code,) = [each.value for each in page.code if "import" in each.value]
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, "layers", "exec"), names)
    assert (tmp_path / "layers.html").is_file()
    shown = page.dataframe[-1].value.to_dict("records")
    assert [row["score"] for row in shown] == pytest.approx(names["scores"][1:].tolist())
    assert page.table[0].value["AUC"].tolist() == pytest.approx([one.auc for one in names["result"].chosen])


def test_the_python_reads_uploaded_labels(planted, tmp_path, monkeypatch):
    from densray.explorer.python_code import layers_code

    code = layers_code("states", "labels.txt", ["mean-difference"], 1, "mean-difference", "")
    (tmp_path / "labels.txt").write_text("\n".join(map(str, planted.labels)))
    monkeypatch.setattr(States, "open", lambda folder: planted.labelled(None))
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, "layers", "exec"), names)
    assert names["result"].chosen[0].layer == 1


def test_a_model_with_other_weights_is_refused(tiny, tmp_path):
    states = States.open(tiny / "states")
    from tiny_models import make_model

    layers.use(States(**{**vars(states), "checksum": model_checksum(make_model("mixtral"))}))
    page = open_page("layers", own_text="the nurse", **QUICK)
    page.button[-1].click().run(timeout=60)
    assert "has other weights" in texts(page.error)


def test_a_folder_of_states_opens_with_the_embedded_space(tiny):
    assert _opened_states([str(tiny / "states")]) == ["googlenews-26k"]
    assert layers.is_open()
    assert _opened_states(["vectors.bin", str(tiny / "states")]) == ["vectors.bin"]


def test_states_without_labels_ask_for_them(planted):
    layers.use(planted.labelled(None))
    page = open_page("layers", **QUICK)
    assert "have no labels" in texts(page.info)
    assert not page.dataframe
