"""Controls: what token embeddings and an untrained copy of the model read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commands import paths_of, run_for_json
from densray.cli.entry import run
from densray.errors import TaskError
from densray.metrics import Interval
from densray.states import States, compare_layers, open_controls, read_controls, read_states
from tiny_models import N_BLOCKS, WIDTH, make_model, make_tokenizer, torch

ROWS = [(f"{article} {who} {end}", article, f"{who} {end}") for who in ("nurse", "doctor", "film") for end in
        ("was tired", "is good", "is bad", "was very good") for article in ("the", "a")]  # fmt: skip
TEXTS, LABELS, GROUPS = (list(column) for column in zip(*ROWS, strict=True))
QUICK = {"methods": ["mean-difference"], "n_permutations": 19, "folds": 3}


@pytest.fixture(scope="module")
def model():
    return make_model("llama")


def test_embeddings_are_those_before_the_first_block_and_the_copy_is_random(model, tmp_path: Path):
    tokenizer = make_tokenizer()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(7)
    drawn = torch.rand(1)
    torch.manual_seed(7)
    controls = read_controls(model, tokenizer, TEXTS[:5], out=tmp_path, random_state=5)  # 0 made the tiny model
    assert torch.rand(1) == drawn  # the caller's random numbers are left alone
    assert list(controls) == ["embeddings", "untrained"]
    weights = model.get_input_embeddings().weight.detach().numpy()
    for row, text in zip(np.asarray(controls["embeddings"][0]), TEXTS, strict=False):
        assert row == pytest.approx(weights[tokenizer(text)["input_ids"]].mean(axis=0), abs=1e-6)
    assert controls["untrained"].layers == tuple(range(N_BLOCKS))
    plain = read_states(model, tokenizer, TEXTS[:5])
    assert np.abs(np.asarray(plain[1]) - np.asarray(controls["untrained"][1])).max() > 1e-3
    again = read_controls(model, tokenizer, TEXTS[:5], layers=[1], random_state=5)["untrained"]
    assert np.asarray(again[1]) == pytest.approx(np.asarray(controls["untrained"][1]))
    other = read_controls(model, tokenizer, TEXTS[:5], layers=[1], random_state=1)["untrained"]
    assert np.asarray(again[1]) != pytest.approx(np.asarray(other[1]))
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert {name: states.layers for name, states in open_controls(tmp_path).items()} == {
        "embeddings": (0,),
        "untrained": (0, 1, 2),
    }
    assert open_controls(tmp_path / "embeddings") == {}
    alone = read_controls(model, tokenizer, TEXTS[:5], names=["untrained"], random_state=5)
    assert list(alone) == ["untrained"]
    assert np.asarray(alone["untrained"][1]) == pytest.approx(np.asarray(controls["untrained"][1]))
    with pytest.raises(TaskError, match="embeddings, untrained or both are needed"):
        read_controls(model, tokenizer, TEXTS, names=["random"])
    with pytest.raises(TaskError, match="no list of two or more blocks"):
        read_controls(torch.nn.Linear(2, 2), tokenizer, TEXTS)


def test_a_concept_of_single_words_is_a_surface_feature(model):
    tokenizer = make_tokenizer()
    states = read_states(model, tokenizer, TEXTS, labels=LABELS, groups=GROUPS)
    result = compare_layers(states, controls=read_controls(model, tokenizer, TEXTS), **QUICK)
    assert {control.name: control.as_well for control in result.controls}["embeddings"]
    assert "Readable before the first block: a surface feature." in result.summary
    assert result.tables()[-1].title == "Controls that have learned nothing"
    assert compare_layers(states, **QUICK).controls == ()


def test_a_concept_that_controls_do_not_hold_is_not_called_a_surface_feature():
    drawn, y = np.random.default_rng(0), np.tile([1.0, 0.0], 40)
    texts = [f"text {number}" for number in range(80)]
    noise = [drawn.normal(size=(80, WIDTH)) for _ in range(4)]
    noise[1][:, 0] += 4.0 * y
    states = States.of_arrays(noise[:2], texts).labelled(y)
    controls = {"embeddings": States.of_arrays(noise[2:3], texts), "untrained": States.of_arrays(noise[2:], texts)}
    result = compare_layers(states, controls=controls, **QUICK)
    assert not any(control.as_well for control in result.controls)
    assert [control.layer for control in result.controls] == [None, 1]
    assert "surface" not in result.summary
    for other in (texts[::-1], [*texts[:-1], "another text"]):  # in another order, or one of them replaced
        with pytest.raises(TaskError, match=r"'embeddings' has other texts .* text \d+ is '.* same order"):
            compare_layers(states, controls={"embeddings": States.of_arrays(noise[2:3], other)}, **QUICK)
    short = {"embeddings": States.of_arrays([noise[2][:7]], texts[:7])}
    with pytest.raises(TaskError, match="has 7 texts; 80 are needed"):
        compare_layers(states, controls=short, **QUICK)
    same = {"embeddings": States.of_arrays([np.ones((80, 3))], texts)}  # nothing differs: at chance, no error
    assert compare_layers(states, controls=same, **QUICK).controls[0].auc == 0.5


def two_methods_apart(strength: float) -> tuple[States, dict[str, States]]:
    """States that ridge reads and the mean difference does not, and embeddings with a concept of some strength."""
    drawn, y = np.random.default_rng(0), np.tile([1.0, -1.0], 100)
    noise, embeddings = drawn.normal(size=200) * 8.0, drawn.normal(size=(200, 8))
    embeddings[:, 0] += strength * y

    def layer(signal: float) -> np.ndarray:
        X = drawn.normal(size=(200, 8)) * 0.3
        X[:, 0] += signal * y + noise
        X[:, 1] += noise
        return X

    states = States.of_arrays([layer(0.0), layer(1.0)], [f"t {number} w{number * 7}" for number in range(200)])
    return states.labelled(y), {"embeddings": States.of_arrays([embeddings], states.texts)}


def test_a_surface_feature_reads_as_well_as_the_method_of_the_verdict():
    options = {"groups": "none", "methods": ["ridge", "mean-difference"], "n_permutations": 19}
    states, controls = two_methods_apart(0.18)
    result = compare_layers(states, controls=controls, **options)
    assert [control.as_well for control in result.controls] == [False, True]  # 0.60 for 1.00, and 0.60 for 0.46
    assert result.summary.startswith("Detected by ridge with AUC 1.00")
    assert "surface" not in result.text()
    assert "surface" not in str(result.to_dict()["summary"])
    states, controls = two_methods_apart(3.0)  # the control: embeddings that reveal the concept
    known = compare_layers(states, controls=controls, **options)
    assert known.text().endswith("Readable before the first block: a surface feature.")
    both = [replace(control, auc=auc) for control, auc in zip(known.controls, (0.7, 0.97), strict=True)]
    assert replace(known, controls=tuple(both)).summary.endswith(
        "Readable before the first block, by mean-difference: a surface feature."
    )
    chance = tuple(replace(control, interval=Interval(0.5, 1.0)) for control in known.controls)
    assert "surface" not in replace(known, controls=chance).summary


def test_the_commands_read_and_use_controls(model, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model.save_pretrained(tmp_path / "model")
    make_tokenizer().save_pretrained(tmp_path / "model")
    rows = [",".join(row) for row in ROWS]
    (tmp_path / "texts.csv").write_text("\n".join(["text,label,group", *rows]))
    asked = ["model", "read", *paths_of(tmp_path, "model", "texts.csv"), "-o", str(tmp_path / "states"), "--controls"]
    assert run([*asked, "--layers", "1,2", "--quiet"]) == 0
    quick = ["--methods", "mean-difference", "--n-permutations", "19", "--folds", "3"]
    answer = run_for_json(capsys, "model", "layers", str(tmp_path / "states"), *quick)
    assert [control["name"] for control in answer["controls"]] == ["embeddings", "untrained"]
    asked[5:] = [str(tmp_path / "by default")]
    assert run([*asked, "--layers", "1,2", "--quiet"]) == 0
    assert list(open_controls(tmp_path / "by default")) == ["embeddings"]
    asked[5:] = [str(tmp_path / "without"), "--no-controls"]
    assert run([*asked, "--layers", "1,2", "--quiet"]) == 0
    assert open_controls(tmp_path / "without") == {}
    assert "surface feature" in answer["summary"]
    assert run(["model", "layers", str(tmp_path / "states"), *quick]) == 0
    shown = capsys.readouterr().out
    assert shown.index("a surface feature") < shown.index("The layer chosen inside the folds")
