"""``densray model read``, ``layers``, ``remove`` and ``sweep``: concepts in a language model."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import last_of_each, paths_of, run_for_json
from densray.cli.entry import run
from densray.states import (
    Continuations,
    Intervention,
    LabelledTexts,
    LayerChange,
    States,
    find_blocks,
    load_model,
    model_checksum,
    remove_preference,
)
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
    assert run(["model", "read", *paths_of(folder, "model", "texts.csv"), "-o", str(folder / "states"), "--quiet"]) == 0
    return folder


def test_states_are_written_with_labels_and_found_again(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run_for_json(capsys, "model", "read", *paths_of(files, "model", "texts.csv"), "-o", str(files / "states"))
    assert (told["texts"], told["texts_resumed"], told["layers"]) == (36, 36, [0, 1, 2])
    assert told["model"] == str((files / "model").resolve())
    states = States.open(files / "states")
    assert (states.dtype, states.width, states.pool) == ("float32", WIDTH, "last")
    assert set(states.labels or ()) == {"a", "the"}
    assert len(set(states.groups or ())) == 18
    assert run(["model", "read", *paths_of(files, "model", "texts.csv"), "-o", str(files / "states")]) == 0
    said = capsys.readouterr().out
    assert "36 texts, 3 layers, 32 dimensions (float32)" in said
    assert "36 texts were there already" in said
    assert "Labels: a, the in 18 groups" in said


def test_options_of_states_reach_the_library(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "words.jsonl").write_text(
        "\n".join(json.dumps({"sentence": text, "word": text.split()[1]}) for text in PLAIN)
    )
    told = run_for_json(
        capsys, "model", "read", str(files / "model"), str(tmp_path / "words.jsonl"), "-o", str(tmp_path / "s"), "--pool",
        "word", "--text-column", "sentence", "--layers", "0,-1", "--dtype", "bfloat16", "--tokens-per-batch", "8",
        "--first-token", "no", "--device", "cpu",
    )  # fmt: skip
    assert (told["pool"], told["layers"], told["dtype"], told["labels"]) == ("word", [0, 2], "bfloat16", None)
    told = run_for_json(  # a column of words is used by --pool word only
        capsys, "model", "read", str(files / "model"), str(tmp_path / "words.jsonl"), "-o", str(tmp_path / "last"),
        "--text-column", "sentence", "--layers", "0",
    )  # fmt: skip
    assert told["pool"] == "last"


def test_conversations_of_a_file_are_written_by_the_chat_template(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokenizer = make_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}said that"
    make_model("llama").save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    rows = [{"text": [{"role": "user", "content": text}], "label": n} for n, text in enumerate(PLAIN)]
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, rows)))
    chats = str(tmp_path / "chats.jsonl")
    assert run(["model", "read", str(tmp_path / "model"), chats, "-o", str(tmp_path / "s"), "--quiet"]) == 0
    assert States.open(tmp_path / "s").texts == tuple(f"{text} said that" for text in PLAIN)
    assert States.open(tmp_path / "s" / "embeddings").texts == tuple(f"{text} said that" for text in PLAIN)
    assert run(["model", "read", str(files / "model"), chats, "-o", str(tmp_path / "new"), "--quiet"]) == 2
    assert "has no chat template" in capsys.readouterr().err


def test_layers_are_compared_with_figure_and_report(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = ["-o", str(tmp_path / "layers.svg"), "--report", str(tmp_path / "layers.html")]
    told = run_for_json(
        capsys, "model", "layers", str(files / "states"), "--n-permutations", "19", "--folds", "3", *drawn
    )
    assert len(told["scores"]) == 3 * N_BLOCKS
    assert told["ends"] == ["a", "the"]
    assert {"auc", "interval", "layer", "layers", "method", "p_value"} <= told["chosen"][0].keys()
    assert (tmp_path / "layers.svg").read_text().startswith("<svg")
    assert "layer by layer" in (tmp_path / "layers.html").read_text()
    assert run(["model", "layers", str(files / "states"), *QUICK, "--layers", "1,2", "--standardize"]) == 0
    shown = capsys.readouterr().out
    assert "The layer chosen inside the folds" in shown
    assert "Held-out AUC by layer" in shown
    assert "36 texts in 18 groups" in shown


def test_labels_may_come_from_a_file(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "read", *paths_of(files, "model", "plain.txt"), "-o", str(tmp_path / "s"), "--quiet"]) == 0
    assert run(["model", "layers", str(tmp_path / "s")]) == 2
    assert "has no labels. Give a file of labels" in capsys.readouterr().err
    (tmp_path / "labels.txt").write_text("1\n0\n")
    assert run(["model", "layers", str(tmp_path / "s"), str(tmp_path / "labels.txt")]) == 2
    assert "2 labels are given for 3 texts" in capsys.readouterr().err
    shuffled = "\n".join("high" if number % 3 else "low" for number in range(36))
    (tmp_path / "labels.txt").write_text(shuffled)
    told = run_for_json(capsys, "model", "layers", str(files / "states"), str(tmp_path / "labels.txt"), *QUICK)
    assert told["ends"] == ["high", "low"]
    assert set(States.open(files / "states").labels or ()) == {"a", "the"}  # those of the folder stay


def test_a_removal_reports_probes_and_perplexity_without_being_asked(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, prompt = str(tmp_path / "article.safetensors"), ["--generate", "the nurse", "--max-new-tokens", "5"]
    asked = ["model", "remove", *paths_of(files, "model", "texts.csv"), "--layers", "1,2", *prompt]
    answer = run_for_json(capsys, *asked, "-o", path)
    rows = {row["measure"]: row for row in answer["evaluation"]["rows_found"]}
    assert {"linear probe, layer 1", "MLP probe, layer 2", "perplexity"} <= rows.keys()
    assert rows["linear probe, layer 2"]["before"] > 0.9  # the control: the concept was there
    assert answer["evaluation"]["summary"].startswith("On unseen texts: linear probe")
    assert (answer["operation"], answer["layers"], len(answer["generated"])) == ("project", [1, 2], 1)
    assert run([*asked, "-o", path, "--overwrite"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("On unseen texts") < shown.index("What went, what it cost, what stayed")
    assert "project after layers 1, 2 of model, strength 1" in shown
    saved = run_for_json(capsys, "model", "remove", str(files / "model"), path, *prompt)
    assert saved["generated"] == answer["generated"]
    assert saved["evaluation"] is None


def test_a_saved_removal_fits_its_model_only(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, prompt = str(tmp_path / "article.safetensors"), ["--generate", "the nurse", "--max-new-tokens", "5"]
    assert run(["model", "remove", *paths_of(files, "model", "texts.csv"), "-o", path, "--quiet"]) == 0
    model = str(files / "model")
    assert run_for_json(capsys, "model", "remove", model, path, *prompt, "--strength", "0")["strength"] == 0
    assert run(["model", "remove", str(files / "other"), path, *prompt]) == 2
    said = capsys.readouterr().err
    assert "has other weights" in said
    assert "--any-model" in said
    assert said.count("\n") == 1
    assert run(["model", "remove", str(files / "other"), path, *prompt, "--any-model", "--quiet"]) == 0


def test_a_removal_is_judged_on_texts_that_are_given(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["model", "remove", *paths_of(files, "model", "texts.csv"), "--layers", "2", "--high", "he", "--low", "she"]
    given = {"--texts": "plain.txt", "--prompts": "prompts.csv", "--probe": "texts.csv", "--others": "texts.csv"}
    judged = [part for option, name in given.items() for part in (option, str(files / name))]
    answer = run_for_json(capsys, *asked, "--ordinary", str(files / "plain.txt"), *judged)
    parts = {row["measure"]: row for row in answer["evaluation"]["rows_found"]}
    assert {"perplexity", "divergence", "level", "stereotype, slope", "linear probe, layer 2"} <= parts.keys()
    assert parts["texts: linear probe, layer 2, correct answers"]["part"] == "stayed"
    assert parts["divergence"]["after"] > 0.0


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("states", "read"),
        ("layers", "layers"),
        ("remove-preference", "remove"),
        ("sweep", "sweep"),
        ("intervene", "remove or densray model steer"),
    ],
)
def test_a_command_outside_its_group_is_named_with_it(
    capsys: pytest.CaptureFixture[str], typed: str, meant: str
) -> None:
    assert run([typed, "x"]) == 2
    assert capsys.readouterr().err == f"densray: There is no command '{typed}'. Use densray model {meant}.\n"


def test_a_full_disk_keeps_finished_parts_and_the_same_command_resumes(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "TEXTS_PER_BLOCK", 16)
    write, calls = storage._write_at, []

    def full(*given: Any) -> None:
        calls.append(given)
        if len(calls) > N_BLOCKS:
            raise OSError(28, "No space left on device")
        write(*given)

    asked = ["model", "read", *paths_of(files, "model", "texts.csv"), "-o", str(tmp_path / "s")]
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
    write = storage.StatesInFolder.write

    def interrupted(self: Any, start: int, block: np.ndarray) -> None:
        write(self, start, block)
        if start == 16:
            raise KeyboardInterrupt

    monkeypatch.setattr(storage.StatesInFolder, "write", interrupted)
    assert run(["model", "read", *paths_of(files, "model", "texts.csv"), "-o", str(tmp_path / "s")]) == 130
    assert "interrupted; 32 of 36 texts are kept: the same command resumes from there" in capsys.readouterr().err


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


STATES, LAYERS = ("model", "read", "model"), ("model", "layers", "states")
REMOVE = ("model", "remove", "model", "texts.csv")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*STATES, "long.txt", "-o", "NEW"), "text 2 has 80 tokens; the model takes 64"),
        ((*STATES, "long.txt", "-o", "NEW"), "--truncate"),
        ((*STATES, "gap.txt", "-o", "NEW"), "gap.txt, line 2: the text is empty"),
        ((*STATES, "empty.txt", "-o", "NEW"), "the file is empty"),
        ((*STATES, "absent.csv", "-o", "NEW"), "no such file"),
        ((*STATES, "plain.txt", "-o", "NEW", "--layers", "3"), "the model has 3 layers"),
        ((*STATES, "plain.txt", "-o", "NEW", "--layers", "last"), "not a comma-separated list of integers"),
        ((*STATES, "plain.txt", "-o", "NEW", "--pool", "first"), "one of last, mean, word"),
        ((*STATES, "plain.txt", "-o", "NEW", "--pool", "word"), "--pool word needs one word per text"),
        ((*STATES, "texts.csv", "-o", "NEW", "--word-column", "group"), "--word-column is given without --pool word"),
        ((*STATES, "plain.txt", "-o", "NEW", "--dtype", "int8"), "one of float32"),
        ((*STATES, "plain.txt", "-o", "NEW", "--first-token", "maybe"), "auto, yes or no"),
        ((*STATES, "texts.csv", "-o", "NEW", "--text-column", "body"), "no column 'body' among text, label, group"),
        ((*STATES, "plain.txt", "-o", "full"), "contains other files"),
        ((*STATES, "plain.txt", "-o", "plain.txt"), "is a file. Name the folder"),
        ((*STATES, "plain.txt", "-o", "absent/states"), "does not exist"),
        ((*STATES, "plain.txt", "-o", "states"), "holds other states"),
        (("model", "read", "one-block", "plain.txt", "-o", "NEW"), "no list of two or more blocks"),
        (("model", "read", "full", "plain.txt", "-o", "NEW"), "not the folder of a model"),
        (("model", "read", "plain.txt", "plain.txt", "-o", "NEW"), "a model is a .gguf file"),
        ((*LAYERS, "sides.csv"), "at least two groups with each"),
        ((*LAYERS, "one-class.txt"), "two classes are needed"),
        ((*LAYERS, "--layers", "7"), "layer 7 is not among those read"),
        ((*LAYERS, "--methods", "rigde"), "method 'rigde' is unknown"),
        (("model", "layers", "full"), "holds no hidden states"),
        ((*REMOVE, "--layers", "9"), "the model has 3 layers"),
        ((*REMOVE, "--method", "rigde"), "method 'rigde' is unknown"),
        ((*REMOVE, "--strength", "inf"), "a finite number is needed"),
        ((*REMOVE, "-o", "no.gguf"), "Save it as .safetensors"),
        ((*REMOVE, "-o", "no.bin"), ".safetensors or .gguf is needed"),
        ((*REMOVE, "--prompts", "prompts.csv"), "give them with --texts"),
        ((*REMOVE, "--texts", "plain.txt", "--prompts", "prompts.csv"), "the odds of which two words?"),
        ((*REMOVE, "--texts", "plain.txt", "--probe", "plain.txt"), "plain.txt has 0 kinds of labels"),
        ((*REMOVE, "--high", "he"), "Give both words"),
        ((*REMOVE, "--high", "he", "--low", "she"), "Give it with --ordinary"),
        ((*REMOVE, "--preserve", "texts.csv"), "--preserve needs --high and --low"),
        (("model", "remove", "model", "plain.txt"), "plain.txt has 0 kinds of labels"),
        (("model", "remove", "model", "absent.safetensors", "--generate", "the"), "no such file"),
        (("model", "remove", "model", "absent.safetensors"), "nothing is asked for"),
        (("model", "remove", "model", "absent.safetensors", "--preserve", "texts.csv"), "learned already"),
        (("model", "remove", "encoder", "texts.csv", "--generate", "the"), "does not predict next tokens"),
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
@pytest.mark.parametrize("arguments", [(*STATES, "plain.txt", "-o", "new"), (*REMOVE, "--generate", "a")])
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
    assert run(["model", "layers", str(files / "states"), *QUICK]) == 0


# Preferences and ``sweep``: from prompts to a saved removal, and to the layers and strength to take.


WHO = ("the nurse", "a doctor", "the film", "a nurse", "the doctor", "a film")
PROMPT_ENDS = ("said that", "was tired", "was never", "is good", "is bad", "was very")
WORDS = ("--high", "he", "--low", "she")
ORDINARY = ("--ordinary", "ordinary.txt", *WORDS)
LEARN = ("model", "remove", "model", "prompts.csv", *ORDINARY)
SWEEP = ("model", "sweep", "model", "removal.safetensors", *WORDS)
JUDGE = ("model", "remove", "model", "removal.safetensors", *WORDS)
TESTS = ("--prompts", "prompts.csv", "--texts", "ordinary.txt")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, another one and an encoder, prompts, ordinary text, definitions and two removals."""
    folder = tmp_path_factory.mktemp("interventions")
    other = make_model("llama")
    with torch.no_grad():
        next(other.parameters())[0, 0] += 1.0
    for name, model in {"model": make_model("llama"), "other": other, "encoder": make_model("bert")}.items():
        model.save_pretrained(folder / name)
        make_tokenizer().save_pretrained(folder / name)
    asked = [f"{who} {end},{place / 6},{who},{end}" for place, who in enumerate(WHO) for end in PROMPT_ENDS]
    (folder / "prompts.csv").write_text("text,label,group,template\n" + "\n".join(asked))
    ordinary = [f"{a} {b} {c}" for a in ("the", "a") for b in ("film", "nurse") for c in ("is", "was", "said")]
    (folder / "ordinary.txt").write_text("\n".join(ordinary))
    right = [f"{who} {end},{place % 2}" for place, who in enumerate(WHO) for end in PROMPT_ENDS[:2]]
    (folder / "definitions.csv").write_text("text,label\n" + "\n".join(right))
    (folder / "one-class.csv").write_text("text,label\n" + "\n".join(f"{who},1" for who in WHO))
    (folder / "one.txt").write_text("the nurse said\n")
    (folder / "few.csv").write_text("text,label\n" + "\n".join(f"{right[n].split(',')[0]},{n < 4}" for n in range(9)))
    nested = [f"{text.split(',')[0]},{n % 2},{n % 2 or n}" for n, text in enumerate(right)]
    (folder / "nested.csv").write_text("text,label,group\n" + "\n".join(nested))
    (folder / "empty.txt").write_text("\n")
    (folder / "header.csv").write_text("text,label\n")
    learned = ["model", "remove", *paths_of(folder, "model", "prompts.csv"), *WORDS, "--quiet"]
    learned += ["--ordinary", str(folder / "ordinary.txt")]
    assert run([*learned, "-o", str(folder / "removal.safetensors"), "--layers", "0,1"]) == 0
    assert run([*learned, "-o", str(folder / "late.safetensors"), "--layers", "1"]) == 0
    return folder


@pytest.mark.slow
def test_a_removal_is_learned_from_prompts_and_saved(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    path = tmp_path / "kept.safetensors"
    told = run_for_json(
        capsys, *LEARN, "-o", path, "--preserve", "definitions.csv", "--layers", "1,-1", "--strength", "0.5"
    )
    assert (told["operation"], told["layers"], told["strength"], told["path"]) == ("project", [1, 2], 0.5, str(path))
    rows = {row["measure"] for row in told["evaluation"]["rows_found"]}
    assert {"definitional prompts, correct answers", "perplexity", "level", "stereotype, slope"} <= rows
    loaded, given = load_model("model"), LabelledTexts.read("prompts.csv")
    wanted, _ = remove_preference(
        loaded.model,
        loaded.tokenizer,
        Continuations(given.texts, " he", " she", [0.0] * 36, given.groups),
        LabelledTexts.read("ordinary.txt").texts,
        templates=PROMPT_ENDS * len(WHO),
        preserve=LabelledTexts.read("definitions.csv"),
        layers=[1, 2],
        strength=0.5,
    )
    saved = Intervention.load(path)
    assert (saved.model, saved.checksum, saved.name) == (loaded.name, wanted.checksum, "he or she")
    for layer, change in wanted.changes.items():
        assert np.array_equal(saved.changes[layer].left, change.left)
        assert np.array_equal(saved.changes[layer].right, change.right)
        assert np.array_equal(saved.changes[layer].origin, change.origin)


def rename_columns(path: Path) -> None:
    """Write the prompts of this folder with other names of columns."""
    path.write_text(Path("prompts.csv").read_text().replace("text,label,group,template", "prompt,share,job,form"))


def test_columns_of_prompts_may_have_other_names(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    rename_columns(tmp_path / "named.csv")
    named = ["--text-column", "prompt", "--template-column", "form", "--group-column", "job", "--layers", "0,1"]
    asked = ["model", "remove", "model", str(tmp_path / "named.csv"), *ORDINARY, *named]
    assert run([*asked, "-o", str(tmp_path / "named.safetensors")]) == 0
    shown = capsys.readouterr().out
    assert "project after layers 0, 1 of model, strength 1" in shown
    assert "On unseen texts" in shown
    saved, expected = (Intervention.load(path) for path in (tmp_path / "named.safetensors", "removal.safetensors"))
    assert all(np.array_equal(saved.changes[n].left, expected.changes[n].left) for n in (0, 1))
    columns = ["--text-column", "prompt", "--label-column", "share", "--group-column", "job"]
    few = ["--strengths", "1", "--texts", "ordinary.txt"]
    told = run_for_json(capsys, *SWEEP, "--prompts", tmp_path / "named.csv", *columns, *few)
    assert told["points"] == run_for_json(capsys, *SWEEP, "--prompts", "prompts.csv", *few)["points"]


@pytest.mark.slow
def test_a_sweep_shows_points_chooses_one_and_writes_it(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair", reason="the extra `figures` (altair) is not installed")
    monkeypatch.chdir(trained)
    written = ["-o", str(tmp_path / "front.svg"), "--save", str(tmp_path / "best.safetensors")]
    asked = [*SWEEP, "late.safetensors", *TESTS, "--definitions", "definitions.csv", "--strengths", "0.5,1"]
    told = run_for_json(capsys, *asked, *written)
    tried = [("removal", [0, 1]), ("late", [1])]
    points = [(name, layers, strength) for name, layers in tried for strength in (0.5, 1.0)]
    assert [(one["name"], one["layers"], one["strength"]) for one in told["points"]] == points
    assert any(one["on_front"] for one in told["points"])
    (chosen,) = [one for one in told["points"] if one["chosen"]]
    assert told["chosen"] == chosen
    assert told["evaluation"]["strength"] == chosen["strength"]
    assert told["within_bounds"] == (chosen["left"] <= 0.05 and chosen["preserved"] >= 0.9)
    saved, source = Intervention.load(tmp_path / "best.safetensors"), Intervention.load(f"{chosen['name']}.safetensors")
    assert (saved.strength, list(saved.layers)) == (chosen["strength"], chosen["layers"])
    assert np.array_equal(saved.changes[1].right, source.changes[1].right)
    assert (tmp_path / "front.svg").read_text().startswith("<svg")
    assert run([*asked, "-o", str(tmp_path / "front.html"), "--at-most", "-1"]) == 0
    shown = capsys.readouterr().out
    for line in (
        "correct answers preserved",
        "chosen",
        "No setting meets all three bounds",
        "stereotype, rank correlation",
    ):
        assert line in shown
    assert "<html" in (tmp_path / "front.html").read_text()


def test_sets_of_layers_are_tried_each(
    trained: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    told = run_for_json(
        capsys, *SWEEP, *TESTS, "--layers", "0", "--layers", "0,1", "--strengths", "1", "--at-most", "2"
    )
    assert [(one["name"], one["layers"]) for one in told["points"]] == [("removal: 0", [0]), ("removal: 0,1", [0, 1])]
    assert told["within_bounds"] is True  # no correlation is above 2
    assert told["chosen"]["cost"] == min(one["cost"] for one in told["points"])
    assert [one["preserved"] for one in told["points"]] == [None, None]


def test_definitions_are_judged_of_a_saved_removal_too(
    trained: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    told = run_for_json(capsys, *JUDGE, *TESTS, "--definitions", "definitions.csv")
    parts = {row["measure"]: row["part"] for row in told["evaluation"]["rows_found"]}
    assert parts["definitional prompts, correct answers"] == "stayed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("model", "remove", "model", "absent.csv", *ORDINARY), "absent.csv: no such file"),
        ((*LEARN, "--ordinary", "absent.txt"), "absent.txt: no such file"),
        (("model", "remove", "model", "empty.txt", *ORDINARY), "the file is empty"),
        (("model", "remove", "model", "header.csv", *ORDINARY), "only a line of column names"),
        (("model", "remove", "model", "one.txt", *ORDINARY), "1 prompt is given; at least three are needed"),
        ((*LEARN, "--ordinary", "one.txt"), "1 ordinary text is given"),
        (("model", "remove", "encoder", "prompts.csv", *ORDINARY), "does not predict next tokens"),
        (("model", "remove", "absent", "prompts.csv", *ORDINARY), "absent cannot be loaded"),
        ((*LEARN, "--text-column", "prompt"), "no column 'prompt' among text, label, group, template"),
        ((*LEARN, "--template-column", "form"), "Name one with --template-column"),
        ((*LEARN, "--template-column", "text"), "the same after all prompts of a template"),
        ((*LEARN, "--preserve", "one-class.csv"), "one-class.csv has 1 kinds of labels"),
        ((*LEARN, "--preserve", "ordinary.txt"), "ordinary.txt has 0 kinds of labels"),
        ((*LEARN, "--layers", "3"), "layer 3 is given; the model has 3 layers"),
        ((*LEARN, "--layers", "late"), "not a comma-separated list of integers"),
        ((*LEARN, "--layers", ","), "no layer is given"),
        ((*LEARN, "--strength", "nan"), "a finite number is needed"),
        ((*LEARN, "--high", "she"), "begin with the same token"),
        ((*LEARN, "--high", ""), "--high contains no word"),
    ],
)
def test_a_removal_that_cannot_be_learned_leaves_one_line_and_no_file(
    trained: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments,
    said,
) -> None:
    monkeypatch.chdir(trained)
    assert run([*last_of_each(arguments), "-o", str(tmp_path / "new.safetensors")]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("removal.npz", ".safetensors or .gguf is needed"),
        ("removal.gguf", "Save it as .safetensors"),
        ("absent/removal.safetensors", "does not exist"),
        ("removal.safetensors", "exists already. Pass --overwrite"),
    ],
)
def test_a_place_where_nothing_can_be_written_is_refused_before_a_model_is_loaded(
    trained: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    said: str,
) -> None:
    monkeypatch.chdir(trained)
    monkeypatch.setattr("densray.states.load_model", None)
    before = Path("removal.safetensors").read_bytes()
    for command in (("-o", output), ("--save", output)):
        asked = LEARN if command[0] == "-o" else (*SWEEP, *TESTS)
        assert run([*asked, *command]) == 2
        assert said in capsys.readouterr().err
    assert Path("removal.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*SWEEP,), "Give them with --prompts and --texts"),
        ((*SWEEP, "--texts", "ordinary.txt"), "Give them with --prompts and --texts"),
        ((*SWEEP, "--prompts", "prompts.csv"), "give them with --texts"),
        ((*SWEEP, "--prompts", "ordinary.txt", "--texts", "ordinary.txt"), "labels that are numbers"),
        ((*SWEEP, "--prompts", "one-class.csv", "--texts", "ordinary.txt"), "not all have the same label"),
        ((*SWEEP, *TESTS, "--texts", "one.txt"), "36 prompts in 6 groups and 1 texts"),
        ((*SWEEP, *TESTS, "--definitions", "one-class.csv"), "has 1 kinds of labels; two are needed: 1 where 'he'"),
        (
            (*SWEEP, *TESTS, "--probe", "few.csv"),
            "few.csv: the rarer label has 4 texts, in 4 groups. A probe needs at least 5",
        ),
        ((*SWEEP, *TESTS, "--others", "nested.csv"), "in 1 group."),
        ((*SWEEP, *TESTS, "--strengths", "half"), "not a comma-separated list of numbers"),
        ((*SWEEP, *TESTS, "--strengths", ","), "there is nothing to try"),
        ((*SWEEP, *TESTS, "--strengths", "1,inf"), "a finite number is needed"),
        ((*SWEEP, *TESTS, "--layers", "2"), "layer 2 is not among those"),
        ((*SWEEP, *TESTS, "-o", "front.txt"), "front.txt"),
        (("model", "sweep", "other", "removal.safetensors", *WORDS, *TESTS), "has other weights"),
        (("model", "sweep", "model", "prompts.csv", *WORDS, *TESTS), "not a whole file of an intervention"),
        (("model", "sweep", "model", "absent.safetensors", *WORDS, *TESTS), "no such file"),
    ],
)
def test_a_sweep_that_cannot_be_made_is_one_line(
    trained: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments, said
) -> None:
    monkeypatch.chdir(trained)
    before = sorted(trained.iterdir())
    assert run(last_of_each(arguments)) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert sorted(trained.iterdir()) == before


def test_a_sweep_may_be_meant_for_another_model(
    trained: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    told = run_for_json(
        capsys,
        "model",
        "sweep",
        "other",
        "removal.safetensors",
        *WORDS,
        *TESTS,
        "--any-model",
        "--strengths",
        "0",
        "--random-state",
        "3",
    )
    assert told["points"][0]["cost"] == pytest.approx(0.0, abs=1e-9)  # a strength of 0 changes nothing


@pytest.mark.parametrize("command", [("remove",), ("sweep", "--strengths", "1")])
def test_what_is_saved_for_another_model_is_refused_by_the_first(
    trained: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command,
) -> None:
    monkeypatch.chdir(trained)
    path, other = tmp_path / "moved.safetensors", load_model("other")
    written = ["-o" if command[0] == "remove" else "--save", str(path)]
    asked = ["model", command[0], "other", "removal.safetensors", *WORDS, *TESTS, *command[1:], "--any-model", *written]
    run_for_json(capsys, *asked)
    saved = Intervention.load(path)
    assert (saved.model, saved.checksum) == (other.name, model_checksum(other.model))
    assert run(["model", command[0], "model", str(path), *WORDS, *TESTS, *command[1:]]) == 2
    assert "has other weights" in capsys.readouterr().err


def test_an_intervention_is_judged_on_columns_of_other_names(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    rename_columns(tmp_path / "named.csv")
    columns = ["--text-column", "prompt", "--label-column", "share", "--group-column", "job"]
    asked = [*JUDGE, "--texts", "ordinary.txt", "--prompts"]
    told = run_for_json(capsys, *asked, tmp_path / "named.csv", *columns)
    assert told["evaluation"]["rows_found"] == run_for_json(capsys, *asked, "prompts.csv")["evaluation"]["rows_found"]


@pytest.mark.slow
def test_a_strength_that_is_too_large_stays_in_the_table(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair", reason="the extra `figures` (altair) is not installed")
    monkeypatch.chdir(trained)
    asked = [*SWEEP, *TESTS, "--strengths", "1e38,0.5", "-o", str(tmp_path / "front.svg")]
    told = run_for_json(capsys, *asked)
    assert [one["left"] is None for one in told["points"]] == [True, False]
    assert told["chosen"]["strength"] == 0.5
    assert run([*asked, "--overwrite"]) == 0
    assert "Such a point is not chosen" in capsys.readouterr().out


@pytest.mark.slow
def test_definitions_that_cannot_be_halved_are_an_error(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    header, *rows = Path("definitions.csv").read_text().splitlines()
    few, many = tmp_path / "few.csv", tmp_path / "many.csv"
    few.write_text("\n".join([f"{header},group", *(f"{row},{row[-1]}" for row in rows)]))  # one group of each answer
    many.write_text("\n".join([f"{header},group", *(f"{row},{n // 6}{row[-1]}" for n, row in enumerate(rows))]))
    for path, told in ((few, True), (many, False), (Path("definitions.csv"), False)):
        for seed in range(3):  # two groups of each answer are enough, whatever is drawn
            asked = [*SWEEP, *TESTS, "--definitions", str(path), "--strengths", "1", "--random-state", str(seed)]
            assert run(asked) == 0
            assert ("Definitions: too few for both answers" in capsys.readouterr().out) == told


def test_labels_of_prompts_are_not_looked_at_where_a_preference_is_removed(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    unlabelled = [re.sub(",[0-9.]+,", ",,", line) for line in Path("prompts.csv").read_text().splitlines()]
    (tmp_path / "unlabelled.csv").write_text("\n".join(unlabelled))
    asked = ["model", "remove", "model", str(tmp_path / "unlabelled.csv"), "--ordinary", "ordinary.txt"]
    assert run([*asked, "--high", "good", "--low", "bad"]) == 0
    assert "log p(good) / p(bad)" in capsys.readouterr().out


def test_words_of_a_side_may_be_a_list_or_a_file(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    (tmp_path / "low.txt").write_text("she\nfilm\n")
    asked = ["model", "remove", "model", "removal.safetensors", *TESTS]
    told = run_for_json(capsys, *asked, "--high", "he,doctor", "--low", str(tmp_path / "low.txt"))
    (level,) = [row for row in told["evaluation"]["rows_found"] if row["measure"] == "level"]
    assert level["meaning"].startswith("mean of log p(he, doctor) / p(she, film)")
    asked = last_of_each([*LEARN, "--layers", "1", "--high", "he,doctor", "--low", "she,film"])
    learned = run_for_json(capsys, *asked)
    assert learned["evaluation"]["summary"].startswith("On unseen texts:")
    assert run(last_of_each([*asked, "--high", "he,she"])) == 2
    assert "' she' and ' she' begin with the same token" in capsys.readouterr().err


def test_a_file_of_another_width_is_refused_and_nothing_is_written(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    change = {1: LayerChange.along(np.ones(16))}
    Intervention("add", change, skip_first=False).save(tmp_path / "wide.safetensors")
    Intervention("project", change).save(tmp_path / "wide-removal.safetensors")
    out = tmp_path / "copy.safetensors"
    for command, name in (("steer", "wide"), ("remove", "wide-removal")):
        for more in ((), ("--any-model",)):
            asked = ["model", command, "model", str(tmp_path / f"{name}.safetensors"), "-o", str(out), *more]
            assert run(asked) == 2
            shown = capsys.readouterr()
            assert "have width 32; the intervention was made for 16" in shown.err
            assert (shown.err.count("\n"), shown.out, out.exists()) == (1, "", False)


def test_three_classes_are_removed_and_a_sweep_has_a_bound_on_perplexity(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    ends = [*ENDS, *(f"{end} again" for end in ENDS)]
    rows = [f"{a} {noun} {end},{noun}" for noun in SUBJECTS for end in ends for a in ("the", "a")]
    (tmp_path / "nouns.csv").write_text("text,label\n" + "\n".join(rows))
    path = tmp_path / "nouns.safetensors"
    asked = ["model", "remove", "model", str(tmp_path / "nouns.csv"), "--layers", "1"]
    told = run_for_json(capsys, *asked, "--ordinary", "ordinary.txt", "-o", str(path))
    assert Intervention.load(path).changes[1].n_directions == 2
    assert "linear probe, layer " in told["evaluation"]["summary"]
    swept = run_for_json(capsys, *SWEEP, *TESTS, "--strengths", "0,1", "--perplexity-at-most", "-1")
    assert swept["perplexity_at_most"] == -1
    assert not swept["within_bounds"]
