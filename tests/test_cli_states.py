"""``states``, ``layers`` and ``intervene``: from a model and labelled texts to a concept that is read and removed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import paths_of, run_for_json
from densray.cli.entry import run
from densray.states import Intervention, States, find_blocks
from densray.states import _reading as reading
from densray.states import _storage as storage
from tiny_models import N_BLOCKS, WIDTH, make_model, make_tokenizer, torch, transformers

SUBJECTS = ("nurse", "doctor", "film")
ENDS = ("was tired", "is good", "is bad", "was never tired", "was very good", "said that")
PLAIN = ["the nurse said that she was tired", "the film is very good", "the doctor was never tired again"]
QUICK = ["--n-permutations", "19", "--methods", "mean-difference", "--quiet"]


def _save(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)  # without a padding token, and without a first one
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, another one, texts of two classes in groups, prompts, and the states of the texts."""
    folder = tmp_path_factory.mktemp("models")
    _save(make_model("llama"), folder / "model")
    other = make_model("llama")
    with torch.no_grad():
        next(other.parameters())[0, 0] += 1.0
    _save(other, folder / "other")
    rows = [f"{a} {s} {end},{a},{s} {end}" for s in SUBJECTS for end in ENDS for a in ("the", "a")]
    (folder / "texts.csv").write_text("text,label,group\n" + "\n".join(rows))
    (folder / "plain.txt").write_text("\n".join(PLAIN))
    prompts = [f"{a} {s} {v},{n / 12}" for n, (a, s, v) in enumerate(
        (a, s, v) for a in ("the", "a") for s in SUBJECTS for v in ("was", "is"))]  # fmt: skip
    (folder / "prompts.csv").write_text("text,label\n" + "\n".join(prompts))
    assert run(["states", *paths_of(folder, "model", "texts.csv"), "-o", str(folder / "states"), "--quiet"]) == 0
    return folder


def test_states_are_written_with_labels_and_found_again(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run_for_json(capsys, "states", *paths_of(files, "model", "texts.csv"), "-o", str(files / "states"))
    assert (told["texts"], told["texts_resumed"], told["layers"]) == (36, 36, [0, 1, 2])
    assert told["model"] == str((files / "model").resolve())
    states = States.open(files / "states")
    assert (states.dtype, states.width, states.pool) == ("float32", WIDTH, "last")
    assert set(states.labels or ()) == {"a", "the"}
    assert len(set(states.groups or ())) == 18
    assert run(["states", *paths_of(files, "model", "texts.csv"), "-o", str(files / "states")]) == 0
    said = capsys.readouterr().out
    assert "36 texts, 3 layers, 32 dimensions (float32)" in said
    assert "36 texts were there already" in said
    assert "Labels: a, the in 18 groups" in said


def test_options_of_states_reach_the_library(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "words.jsonl").write_text(
        "\n".join(json.dumps({"sentence": text, "word": text.split()[1]}) for text in PLAIN)
    )
    told = run_for_json(
        capsys, "states", str(files / "model"), str(tmp_path / "words.jsonl"), "-o", str(tmp_path / "s"), "--pool",
        "word", "--text-column", "sentence", "--layers", "0,-1", "--dtype", "bfloat16", "--tokens-per-batch", "8",
        "--first-token", "no", "--device", "cpu",
    )  # fmt: skip
    assert (told["pool"], told["layers"], told["dtype"], told["labels"]) == ("word", [0, 2], "bfloat16", None)


def test_layers_are_compared_with_figure_and_report(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = ["-o", str(tmp_path / "layers.svg"), "--report", str(tmp_path / "layers.html")]
    told = run_for_json(capsys, "layers", str(files / "states"), "--n-permutations", "19", "--folds", "3", *drawn)
    assert len(told["scores"]) == 3 * N_BLOCKS
    assert told["ends"] == ["a", "the"]
    assert {"auc", "interval", "layer", "layers", "method", "p_value"} <= told["chosen"][0].keys()
    assert (tmp_path / "layers.svg").read_text().startswith("<svg")
    assert "layer by layer" in (tmp_path / "layers.html").read_text()
    assert run(["layers", str(files / "states"), *QUICK, "--layers", "1,2", "--scale", "columns"]) == 0
    shown = capsys.readouterr().out
    assert "The layer chosen inside the folds" in shown
    assert "Held-out AUROC by layer" in shown
    assert "36 texts in 18 groups" in shown


def test_labels_may_come_from_a_file(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["states", *paths_of(files, "model", "plain.txt"), "-o", str(tmp_path / "s"), "--quiet"]) == 0
    assert run(["layers", str(tmp_path / "s")]) == 2
    assert "holds no labels. Give a file of them" in capsys.readouterr().err
    (tmp_path / "labels.txt").write_text("1\n0\n")
    assert run(["layers", str(tmp_path / "s"), str(tmp_path / "labels.txt")]) == 2
    assert "2 labels are given for 3 texts" in capsys.readouterr().err
    shuffled = "\n".join("high" if number % 3 else "low" for number in range(36))
    (tmp_path / "labels.txt").write_text(shuffled)
    told = run_for_json(capsys, "layers", str(files / "states"), str(tmp_path / "labels.txt"), *QUICK)
    assert told["ends"] == ["high", "low"]
    assert set(States.open(files / "states").labels or ()) == {"a", "the"}  # those of the folder stay


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("--remove", ["--layers", "0,2"]),
        ("--add", ["--strength", "300"]),
        ("--clamp", ["--strength", "300"]),
        ("--scale", ["--layers", "-1"]),
    ],
)
def test_an_intervention_is_shown_before_and_after(
    files: Path, capsys: pytest.CaptureFixture[str], operation: str, more: list[str]
) -> None:
    prompt = ["--generate", "the nurse", "--max-new-tokens", "5"]
    asked = ["intervene", *paths_of(files, "model", "states"), operation, *more, *prompt]
    told = run_for_json(capsys, *asked)
    names = {"--remove": "project", "--add": "add", "--clamp": "clamp", "--scale": "scale"}
    assert told["operation"] == names[operation]
    assert told["layers"] == ([0, 2] if operation == "--remove" else [2])
    (made,) = told["generated"]
    assert (made["after"] == made["before"]) == (operation == "--scale")  # a scale of 1 changes nothing
    if operation != "--scale":
        return
    assert run(asked) == 0
    shown = capsys.readouterr().out
    assert "scale after layer 2 of model, strength 1" in shown
    assert f"before: {' '.join(made['before'].split())}" in shown


def test_a_saved_intervention_does_the_same_and_fits_its_model_only(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, prompt = str(tmp_path / "mood.safetensors"), ["--generate", "the nurse", "--max-new-tokens", "5"]
    asked = ["intervene", *paths_of(files, "model", "states"), "--add", "--strength", "300"]
    first = run_for_json(capsys, *asked, "--save", path, *prompt)
    assert Intervention.load(path).strength == 300
    assert run_for_json(capsys, "intervene", str(files / "model"), path, *prompt)["generated"] == first["generated"]
    assert run_for_json(capsys, "intervene", str(files / "model"), path, *prompt, "--strength", "0")["strength"] == 0
    capsys.readouterr()
    assert run(["intervene", str(files / "other"), path, *prompt]) == 2
    said = capsys.readouterr().err
    assert "has other weights" in said
    assert "--any-model" in said
    assert said.count("\n") == 1
    assert run(["intervene", str(files / "other"), path, *prompt, "--any-model", "--quiet"]) == 0
    pytest.importorskip("gguf", reason="control vectors need gguf")
    assert run([*asked, "--save", str(tmp_path / "mood.gguf"), "--quiet"]) == 0
    assert (tmp_path / "mood.gguf").read_bytes()[:4] == b"GGUF"


def test_an_intervention_is_judged_on_texts_that_are_given(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["intervene", *paths_of(files, "model", "states"), "--add", "--strength", "300"]
    given = {"--texts": "plain.txt", "--prompts": "prompts.csv", "--probe": "texts.csv", "--others": "texts.csv"}
    judged = [part for option, name in given.items() for part in (option, str(files / name))]
    told = run_for_json(capsys, *asked, *judged)
    parts = {row["measure"]: row for row in told["evaluation"]["rows_found"]}
    assert {"perplexity", "divergence", "level", "stereotype, slope", "linear probe, layer 2"} <= parts.keys()
    assert parts["texts: linear probe, layer 2"]["part"] == "stayed"
    assert parts["divergence"]["after"] > 0.005
    assert run([*asked, "--texts", str(files / "plain.txt")]) == 0
    assert "perplexity" in capsys.readouterr().out


def test_a_full_disk_keeps_what_is_finished_and_the_same_command_goes_on(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "TEXTS_PER_BLOCK", 16)
    write, calls = storage._write_at, []

    def full(*given: Any) -> None:
        calls.append(given)
        if len(calls) > N_BLOCKS:
            raise OSError(28, "No space left on device")
        write(*given)

    asked = ["states", *paths_of(files, "model", "texts.csv"), "-o", str(tmp_path / "s")]
    monkeypatch.setattr(storage, "_write_at", full)
    assert run(asked) == 2
    said = capsys.readouterr().err
    assert "16 of 36 texts are finished and stay" in said
    assert said.count("\n") == 1
    monkeypatch.setattr(storage, "_write_at", write)
    assert run_for_json(capsys, *asked)["texts_resumed"] == 16
    assert np.array_equal(States.open(tmp_path / "s")[1], States.open(files / "states")[1])


def test_an_interruption_says_what_is_kept(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "TEXTS_PER_BLOCK", 16)
    record = storage.StatesInFolder._record

    def interrupted(self: Any, finished: int) -> None:
        record(self, finished)
        if finished == 32:
            raise KeyboardInterrupt

    monkeypatch.setattr(storage.StatesInFolder, "_record", interrupted)
    assert run(["states", *paths_of(files, "model", "texts.csv"), "-o", str(tmp_path / "s")]) == 130
    assert "interrupted; 32 of 36 texts are kept: the same command goes on from there" in capsys.readouterr().err


@pytest.fixture(scope="module")
def bad(files: Path) -> Path:
    """The folder of `files` with input that cannot be used."""
    one_block = transformers.LlamaConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                                         intermediate_size=8)  # fmt: skip
    _save(transformers.LlamaForCausalLM(one_block), files / "one-block")
    _save(make_model("bert"), files / "encoder")
    (files / "long.txt").write_text("good film\n" + "very " * 80)
    (files / "gap.txt").write_text("good film\n\nbad film\n")
    (files / "empty.txt").write_text("\n")
    sides = "\n".join(["1,x"] * 18 + ["0,y"] * 18)
    (files / "sides.csv").write_text(f"label,group\n{sides}\n")
    (files / "one-class.txt").write_text("1\n" * 36)
    (files / "full").mkdir()
    (files / "full" / "mine.txt").write_text("mine")
    assert len(find_blocks(make_model("bert"))) == N_BLOCKS  # a control: the others have their blocks
    return files


STATES, LAYERS, INTERVENE = ("states", "model"), ("layers", "states"), ("intervene", "model", "states")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*STATES, "long.txt", "-o", "NEW"), "text 2 has 80 tokens; the model takes 64"),
        ((*STATES, "long.txt", "-o", "NEW"), "--truncate"),
        ((*STATES, "gap.txt", "-o", "NEW"), "gap.txt, line 2: the text is empty"),
        ((*STATES, "empty.txt", "-o", "NEW"), "the file is empty"),
        ((*STATES, "absent.csv", "-o", "NEW"), "no such file"),
        ((*STATES, "plain.txt", "-o", "NEW", "--layers", "3"), "the model has 3 layers"),
        ((*STATES, "plain.txt", "-o", "NEW", "--layers", "last"), "no list of whole numbers"),
        ((*STATES, "plain.txt", "-o", "NEW", "--pool", "first"), "one of last, mean, word"),
        ((*STATES, "plain.txt", "-o", "NEW", "--pool", "word"), "--pool word needs one word per text"),
        ((*STATES, "plain.txt", "-o", "NEW", "--dtype", "int8"), "one of float32"),
        ((*STATES, "plain.txt", "-o", "NEW", "--first-token", "maybe"), "auto, yes or no"),
        ((*STATES, "texts.csv", "-o", "NEW", "--text-column", "body"), "no column 'body' among text, label, group"),
        ((*STATES, "plain.txt", "-o", "full"), "holds other files"),
        ((*STATES, "plain.txt", "-o", "plain.txt"), "is a file. Name the folder"),
        ((*STATES, "plain.txt", "-o", "absent/states"), "does not exist"),
        ((*STATES, "plain.txt", "-o", "states"), "holds other states"),
        (("states", "one-block", "plain.txt", "-o", "NEW"), "no list of blocks"),
        (("states", "full", "plain.txt", "-o", "NEW"), "not the folder of a model"),
        (("states", "plain.txt", "plain.txt", "-o", "NEW"), "a model is a .gguf file"),
        ((*LAYERS, "sides.csv"), "one class only"),
        ((*LAYERS, "one-class.txt"), "two classes are needed"),
        ((*LAYERS, "--layers", "7"), "layer 7 is not among those read"),
        ((*LAYERS, "--methods", "rigde"), "method 'rigde' is unknown"),
        (("layers", "full"), "holds no hidden states"),
        ((*INTERVENE, "--remove"), "nothing is asked for"),
        ((*INTERVENE, "--generate", "the"), "Give --remove, --add, --scale or --clamp"),
        ((*INTERVENE, "--generate", "the", "--add", "--remove"), "Give one"),
        ((*INTERVENE, "--generate", "the", "--remove", "--layers", "9"), "layer 9 is not among those read"),
        ((*INTERVENE, "--generate", "the", "--add", "--method", "leace"), "'leace' removes"),
        ((*INTERVENE, "--remove", "--save", "no.gguf"), "Save it as .safetensors"),
        ((*INTERVENE, "--remove", "--save", "no.bin"), ".safetensors or .gguf is needed"),
        ((*INTERVENE, "--remove", "--prompts", "prompts.csv", "--save", "x.safetensors"), "give them with --texts"),
        ((*INTERVENE, "--remove", "--texts", "plain.txt", "--prompts", "texts.csv"), "labels that are numbers"),
        ((*INTERVENE, "--remove", "--texts", "plain.txt", "--probe", "plain.txt"), "plain.txt has 0 kinds of labels"),
        (("intervene", "other", "states", "--remove", "--generate", "the"), "has other weights"),
        (("intervene", "encoder", "states", "--remove", "--generate", "the", "--any-model"), "does not generate"),
        (("intervene", "model", "plain.txt", "--generate", "the"), "not a whole file of an intervention"),
    ],
)
def test_bad_input_is_one_line_that_names_it(
    bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments, said
) -> None:
    monkeypatch.chdir(bad)
    assert run([str(tmp_path / "new") if each == "NEW" else each for each in arguments]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("absent", ["torch", "transformers.utils.logging"])
@pytest.mark.parametrize(
    "arguments", [(*STATES, "plain.txt", "-o", "new"), (*INTERVENE, "--remove", "--generate", "a")]
)
def test_a_missing_extra_names_the_command_that_installs_it(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, absent, arguments
) -> None:
    monkeypatch.chdir(files)
    monkeypatch.setitem(sys.modules, absent, None)
    assert run(list(arguments)) == 2
    said = capsys.readouterr().err
    assert 'pip install "densray[models]"' in said
    assert said.count("\n") == 1


def test_layers_need_no_pytorch(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert run(["layers", str(files / "states"), *QUICK]) == 0
