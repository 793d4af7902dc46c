"""``remove-preference`` and ``sweep``: from prompts to a saved removal, and to the layers and strength to take."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from commands import paths_of, run_for_json
from densray.cli.entry import run
from densray.states import Continuations, Intervention, LabelledTexts, load_model, model_checksum, remove_preference
from tiny_models import make_model, make_tokenizer, torch

WHO = ("the nurse", "a doctor", "the film", "a nurse", "the doctor", "a film")
ENDS = ("said that", "was tired", "was never", "is good", "is bad", "was very")
LEARN = ("remove-preference", "model", "prompts.csv", "ordinary.txt")
SWEEP = ("sweep", "model", "removal.safetensors")
TESTS = ("--prompts", "prompts.csv", "--texts", "ordinary.txt")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, another one and an encoder, prompts, ordinary text, definitions and two removals."""
    folder = tmp_path_factory.mktemp("interventions")
    other = make_model("llama")
    with torch.no_grad():
        next(other.parameters())[0, 0] += 1.0
    for name, model in {"model": make_model("llama"), "other": other, "encoder": make_model("bert")}.items():
        model.save_pretrained(folder / name)
        make_tokenizer().save_pretrained(folder / name)
    asked = [f"{who} {end},{place / 6},{who},{end}" for place, who in enumerate(WHO) for end in ENDS]
    (folder / "prompts.csv").write_text("text,label,group,template\n" + "\n".join(asked))
    ordinary = [f"{a} {b} {c}" for a in ("the", "a") for b in ("film", "nurse") for c in ("is", "was", "said")]
    (folder / "ordinary.txt").write_text("\n".join(ordinary))
    right = [f"{who} {end},{place % 2}" for place, who in enumerate(WHO) for end in ENDS[:2]]
    (folder / "definitions.csv").write_text("text,label\n" + "\n".join(right))
    (folder / "one-class.csv").write_text("text,label\n" + "\n".join(f"{who},1" for who in WHO))
    (folder / "one.txt").write_text("the nurse said\n")
    (folder / "few.csv").write_text("text,label\n" + "\n".join(f"{right[n].split(',')[0]},{n < 4}" for n in range(9)))
    nested = [f"{text.split(',')[0]},{n % 2},{n % 2 or n}" for n, text in enumerate(right)]
    (folder / "nested.csv").write_text("text,label,group\n" + "\n".join(nested))
    (folder / "empty.txt").write_text("\n")
    (folder / "header.csv").write_text("text,label\n")
    learned = ["remove-preference", *paths_of(folder, "model", "prompts.csv", "ordinary.txt"), "--quiet"]
    assert run([*learned, "-o", str(folder / "removal.safetensors"), "--layers", "0,1"]) == 0
    assert run([*learned, "-o", str(folder / "late.safetensors"), "--layers", "1"]) == 0
    return folder


def test_a_removal_is_learned_from_prompts_and_saved(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    path = tmp_path / "kept.safetensors"
    told = run_for_json(
        capsys, *LEARN, "-o", path, "--keep", "definitions.csv", "--layers", "1,-1", "--strength", "0.5"
    )
    assert (told["operation"], told["layers"], told["strength"], told["path"]) == ("project", [1, 2], 0.5, str(path))
    assert (told["prompts"], told["templates"], told["texts"], told["kept"]) == (36, 6, 12, 12)
    loaded, given = load_model("model"), LabelledTexts.read("prompts.csv")
    wanted = remove_preference(
        loaded.model,
        loaded.tokenizer,
        Continuations(given.texts, " he", " she", [0.0] * 36),
        LabelledTexts.read("ordinary.txt").texts,
        templates=ENDS * len(WHO),
        keep=LabelledTexts.read("definitions.csv"),
        layers=[1, 2],
    )
    saved = Intervention.load(path)
    assert (saved.model, saved.checksum, saved.name) == (loaded.name, wanted.checksum, "he or she")
    for layer, change in wanted.changes.items():
        assert np.array_equal(saved.changes[layer].left, change.left)
        assert np.array_equal(saved.changes[layer].right, change.right)


def rename_columns(path: Path) -> None:
    """Write the prompts of this folder with other names of columns."""
    path.write_text(Path("prompts.csv").read_text().replace("text,label,group,template", "prompt,share,job,form"))


def test_columns_of_prompts_may_have_other_names(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    rename_columns(tmp_path / "named.csv")
    named = ["--text-column", "prompt", "--template-column", "form", "--layers", "0,1"]
    asked = ["remove-preference", "model", str(tmp_path / "named.csv"), "ordinary.txt", *named]
    assert run([*asked, "-o", str(tmp_path / "named.safetensors")]) == 0
    shown = capsys.readouterr().out
    assert "project after layers 0, 1 of model, strength 1" in shown
    assert "Learned from 36 prompts of 6 templates, beside 12 texts" in shown
    assert "Judge it on others: densray intervene model" in shown
    saved, expected = (Intervention.load(path) for path in (tmp_path / "named.safetensors", "removal.safetensors"))
    assert all(np.array_equal(saved.changes[n].left, expected.changes[n].left) for n in (0, 1))
    columns = ["--text-column", "prompt", "--label-column", "share", "--group-column", "job"]
    few = ["--strengths", "1", "--texts", "ordinary.txt"]
    told = run_for_json(capsys, *SWEEP, "--prompts", tmp_path / "named.csv", *columns, *few)
    assert told["points"] == run_for_json(capsys, *SWEEP, "--prompts", "prompts.csv", *few)["points"]


def test_a_sweep_shows_points_chooses_one_and_writes_it(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair", reason="the extra `figures` (altair) is not installed")
    monkeypatch.chdir(files)
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
    assert told["within_bounds"] == (chosen["left"] <= 0.05 and chosen["kept"] >= 0.9)
    saved, source = Intervention.load(tmp_path / "best.safetensors"), Intervention.load(f"{chosen['name']}.safetensors")
    assert (saved.strength, list(saved.layers)) == (chosen["strength"], chosen["layers"])
    assert np.array_equal(saved.changes[1].right, source.changes[1].right)
    assert (tmp_path / "front.svg").read_text().startswith("<svg")
    assert run([*asked, "-o", str(tmp_path / "front.html"), "--at-most", "-1"]) == 0
    shown = capsys.readouterr().out
    for line in ("definitions kept", "chosen", "No point keeps to the bounds", "stereotype, rank correlation"):
        assert line in shown
    assert "<html" in (tmp_path / "front.html").read_text()


def test_sets_of_layers_are_tried_each(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    told = run_for_json(
        capsys, *SWEEP, *TESTS, "--layers", "0", "--layers", "0,1", "--strengths", "1", "--at-most", "2"
    )
    assert [(one["name"], one["layers"]) for one in told["points"]] == [("removal: 0", [0]), ("removal: 0,1", [0, 1])]
    assert told["within_bounds"] is True  # no correlation is above 2
    assert told["chosen"]["cost"] == min(one["cost"] for one in told["points"])
    assert [one["kept"] for one in told["points"]] == [None, None]


def test_definitions_are_judged_by_intervene_too(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    told = run_for_json(capsys, "intervene", "model", "removal.safetensors", *TESTS, "--definitions", "definitions.csv")
    parts = {row["measure"]: row["part"] for row in told["evaluation"]["rows_found"]}
    assert parts["definitional prompts"] == "stayed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("remove-preference", "model", "absent.csv", "ordinary.txt"), "absent.csv: no such file"),
        (("remove-preference", "model", "prompts.csv", "absent.txt"), "absent.txt: no such file"),
        (("remove-preference", "model", "empty.txt", "ordinary.txt"), "the file is empty"),
        (("remove-preference", "model", "header.csv", "ordinary.txt"), "no row below it"),
        (("remove-preference", "model", "one.txt", "ordinary.txt"), "1 prompt is given; at least three are needed"),
        (("remove-preference", "model", "prompts.csv", "one.txt"), "1 ordinary text is given"),
        (("remove-preference", "encoder", "prompts.csv", "ordinary.txt"), "no head for next tokens"),
        (("remove-preference", "absent", "prompts.csv", "ordinary.txt"), "absent cannot be loaded"),
        ((*LEARN, "--text-column", "prompt"), "no column 'prompt' among text, label, group, template"),
        ((*LEARN, "--template-column", "form"), "Name one with --template-column"),
        ((*LEARN, "--template-column", "text"), "the same after all prompts of a template"),
        ((*LEARN, "--keep", "one-class.csv"), "one-class.csv has 1 kinds of labels"),
        ((*LEARN, "--keep", "ordinary.txt"), "ordinary.txt has 0 kinds of labels"),
        ((*LEARN, "--layers", "3"), "layer 3 is given; the model has 3 layers"),
        ((*LEARN, "--layers", "late"), "no list of whole numbers"),
        ((*LEARN, "--layers", ","), "no layer is given"),
        ((*LEARN, "--strength", "nan"), "a finite number is needed"),
        ((*LEARN, "--high", "she"), "begin with the same token"),
        ((*LEARN, "--high", ""), "has no token"),
    ],
)
def test_a_removal_that_cannot_be_learned_leaves_one_line_and_no_file(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments, said
) -> None:
    monkeypatch.chdir(files)
    assert run([*arguments, "-o", str(tmp_path / "new.safetensors")]) == 2
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
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, output: str, said: str
) -> None:
    monkeypatch.chdir(files)
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
        ((*SWEEP,), "give them with --prompts and --texts"),
        ((*SWEEP, "--texts", "ordinary.txt"), "give them with --prompts and --texts"),
        ((*SWEEP, "--prompts", "prompts.csv"), "give them with --texts"),
        ((*SWEEP, "--prompts", "ordinary.txt", "--texts", "ordinary.txt"), "labels that are numbers"),
        ((*SWEEP, "--prompts", "one-class.csv", "--texts", "ordinary.txt"), "not all have the same label"),
        ((*SWEEP, *TESTS, "--texts", "one.txt"), "36 prompts in 6 groups and 1 texts"),
        ((*SWEEP, *TESTS, "--definitions", "one-class.csv"), "has 1 kinds of labels; two are needed: 1 where 'he'"),
        ((*SWEEP, *TESTS, "--probe", "few.csv"), "few.csv has 4 texts of one label, in 4 groups. A probe needs 5"),
        ((*SWEEP, *TESTS, "--others", "nested.csv"), "in 1 groups"),
        ((*SWEEP, *TESTS, "--strengths", "half"), "no list of numbers"),
        ((*SWEEP, *TESTS, "--strengths", ","), "nothing is given to try"),
        ((*SWEEP, *TESTS, "--strengths", "1,inf"), "a finite number is needed"),
        ((*SWEEP, *TESTS, "--layers", "2"), "layer 2 is not among those"),
        ((*SWEEP, *TESTS, "-o", "front.txt"), "front.txt"),
        (("sweep", "other", "removal.safetensors", *TESTS), "has other weights"),
        (("sweep", "model", "prompts.csv", *TESTS), "not a whole file of an intervention"),
        (("sweep", "model", "absent.safetensors", *TESTS), "no such file"),
    ],
)
def test_a_sweep_that_cannot_be_made_is_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments, said
) -> None:
    monkeypatch.chdir(files)
    before = sorted(files.iterdir())
    assert run(list(arguments)) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert sorted(files.iterdir()) == before


def test_a_sweep_may_be_meant_for_another_model(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    told = run_for_json(
        capsys,
        "sweep",
        "other",
        "removal.safetensors",
        *TESTS,
        "--any-model",
        "--strengths",
        "0",
        "--random-state",
        "3",
    )
    assert told["points"][0]["cost"] == pytest.approx(0.0, abs=1e-9)  # a strength of 0 changes nothing


@pytest.mark.parametrize("command", [("intervene",), ("sweep", "--strengths", "1")])
def test_what_is_saved_for_another_model_is_refused_by_the_first(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command
) -> None:
    monkeypatch.chdir(files)
    path, other = tmp_path / "moved.safetensors", load_model("other")
    asked = [command[0], "other", "removal.safetensors", *TESTS, *command[1:], "--any-model", "--save", str(path)]
    run_for_json(capsys, *asked)
    saved = Intervention.load(path)
    assert (saved.model, saved.checksum) == (other.name, model_checksum(other.model))
    assert run([command[0], "model", str(path), *TESTS, *command[1:]]) == 2
    assert "has other weights" in capsys.readouterr().err


def test_an_intervention_is_judged_on_columns_of_other_names(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    rename_columns(tmp_path / "named.csv")
    columns = ["--text-column", "prompt", "--label-column", "share", "--group-column", "job"]
    asked = ["intervene", "model", "removal.safetensors", "--texts", "ordinary.txt", "--prompts"]
    told = run_for_json(capsys, *asked, tmp_path / "named.csv", *columns)
    assert told["evaluation"]["rows_found"] == run_for_json(capsys, *asked, "prompts.csv")["evaluation"]["rows_found"]


def test_labels_beside_a_saved_intervention_are_refused(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    assert run(["intervene", "model", "removal.safetensors", *TESTS, "--labels", "absent.csv"]) == 2
    assert "--labels given with removal.safetensors" in capsys.readouterr().err


def test_a_strength_that_is_too_large_stays_in_the_table(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair", reason="the extra `figures` (altair) is not installed")
    monkeypatch.chdir(files)
    asked = [*SWEEP, *TESTS, "--strengths", "1e38,0.5", "-o", str(tmp_path / "front.svg")]
    told = run_for_json(capsys, *asked)
    assert [one["left"] is None for one in told["points"]] == [True, False]
    assert told["chosen"]["strength"] == 0.5
    assert run([*asked, "--overwrite"]) == 0
    assert "such a point is not chosen" in capsys.readouterr().out


@pytest.mark.slow
def test_definitions_that_cannot_be_halved_are_told(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    header, *rows = Path("definitions.csv").read_text().splitlines()
    few, many = tmp_path / "few.csv", tmp_path / "many.csv"
    few.write_text("\n".join([f"{header},group", *(f"{row},{row[-1]}" for row in rows)]))  # one group of each answer
    many.write_text("\n".join([f"{header},group", *(f"{row},{n // 6}{row[-1]}" for n, row in enumerate(rows))]))
    for path, told in ((few, True), (many, False), (Path("definitions.csv"), False)):
        for seed in range(3):  # two groups of each answer are enough, whatever is drawn
            asked = [*SWEEP, *TESTS, "--definitions", str(path), "--strengths", "1", "--random-state", str(seed)]
            assert run(asked) == 0
            assert ("Definitions: all of them chose" in capsys.readouterr().out) == told


def test_labels_are_not_looked_at_where_none_are_needed_and_the_next_command_names_the_words(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    unlabelled = [re.sub(",[0-9.]+,", ",,", line) for line in Path("prompts.csv").read_text().splitlines()]
    (tmp_path / "unlabelled.csv").write_text("\n".join(unlabelled))
    output = tmp_path / "of two.safetensors"
    asked = ["remove-preference", "model", str(tmp_path / "unlabelled.csv"), "ordinary.txt", "-o", str(output)]
    assert run([*asked, "--high", "good", "--low", "bad"]) == 0
    shown = capsys.readouterr().out
    assert "Learned from 36 prompts of 6 templates" in shown
    assert f"densray intervene model '{output}' --high good --low bad --texts FILE --prompts FILE" in shown
