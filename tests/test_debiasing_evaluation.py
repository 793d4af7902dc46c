"""Before and after: any concept, any language, one table; and what is wrong with a concept is said."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import Erasure, Lexicon, WordSpace, load_space
from densray.cli.entry import run
from densray.debiasing import (
    Concept,
    Probe,
    RemovalResult,
    best_removed,
    cluster_test,
    evaluate_removal,
    load_concept,
    measure_original,
    measure_space,
    measure_topics,
    most_biased,
    similarity,
    summarize_recovery,
)
from densray.debiasing import _evaluation as evaluation
from densray.errors import DensRayError, SpaceError, TaskError
from densray.figures import interval_plot
from densray.formats import write_space
from densray.journal import Journal
from densray.remains import Remains
from densray.report import to_html, to_json

PAIRS = [("er", "sie"), *((f"m{i}", f"f{i}") for i in range(12))]
JOBS = [f"beruf{i}" for i in range(40)]


@pytest.fixture(scope="module")
def space() -> WordSpace:
    """A German-looking space: pairs along the first dimension, jobs and words that lean along the first two."""
    random = np.random.default_rng(0)
    words = [word for pair in PAIRS for word in pair] + JOBS + [f"wort{i}" for i in range(234)]
    X = random.normal(size=(len(words), 16))
    X[: 2 * len(PAIRS), 0] = np.tile([3.0, -3.0], len(PAIRS))
    leaning = np.where(np.arange(len(words) - 2 * len(PAIRS)) % 2 == 0, 1.0, -1.0)
    X[2 * len(PAIRS) :, 0] += 1.5 * leaning
    X[2 * len(PAIRS) :, 1] += 1.5 * leaning
    return WordSpace(words, X.astype(np.float32), name="deutsch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the word lists of a concept, shared by the tests that only read them."""
    return write_lists(tmp_path_factory.mktemp("lists"))


@pytest.fixture(scope="module")
def result(space: WordSpace, folder: Path) -> RemovalResult:
    return evaluate_removal(space, load_concept(folder / "geschlecht.toml"), ["densray-unit", "hard"])


@pytest.fixture
def concept_file(tmp_path: Path) -> Path:
    return write_lists(tmp_path) / "geschlecht.toml"


def write_lists(tmp_path: Path) -> Path:
    (tmp_path / "berufe.txt").write_text("\n".join([*JOBS, "fehlt"]), "utf-8")
    (tmp_path / "ratings.tsv").write_text(
        "word1\tword2\tscore\n" + "\n".join(f"wort{i}\twort{i + 1}\t{i % 7}" for i in range(30)), "utf-8"
    )
    labels = ", ".join(f"{left} = 1, {right} = -1" for left, right in PAIRS)
    pairs = json.dumps([list(pair) for pair in PAIRS])
    file = tmp_path / "geschlecht.toml"
    file.write_text(
        f"""
        anchors = ["er", "sie"]
        lexicon = {{ {labels} }}
        neutral = "berufe.txt"
        pairs = {pairs}
        equalize = {pairs}
        keep = ["m0", "f0"]
        similarities = ["ratings.tsv"]
        identities = ["m1", "f1", "m2", "f2"]
        positive = {json.dumps([f"wort{i}" for i in range(0, 60, 2)])}
        negative = {json.dumps([f"wort{i}" for i in range(1, 60, 2)])}

        [[associations]]
        first_target = {json.dumps(JOBS[0:10:2])}
        second_target = {json.dumps(JOBS[1:10:2])}
        first_attribute = ["m3", "m4"]
        second_attribute = ["f3", "f4"]
        """,
        "utf-8",
    )
    return tmp_path


def test_a_concept_of_any_language_is_measured_before_and_after(result: RemovalResult) -> None:
    original, densray, hard = result.spaces
    assert [each.name for each in result.spaces] == ["original", "densray-unit", "hard"]
    for name in ("anchor gap", "direct bias", "WEAT 1"):
        assert densray[name].value < 0.6 * original[name].value
    assert original["WEAT 1"].p_value is not None
    assert original["WEAT 1"].p_value < 0.05
    assert original["anchor gap"].missing == ("fehlt",)
    assert densray["recovery (linear)"].value > 0.7  # it hides in the second dimension
    assert hard["anchor gap"].value < 1e-5  # equalised: all neutral words are as near to one as to the other
    assert original["neighbour overlap"].value == 1.0
    assert densray["neighbour overlap"].value < 1.0
    assert result.provenance.words_missing == ("fehlt",)


def test_one_table_holds_every_measure_of_every_space(result: RemovalResult) -> None:
    overview, _, details = result.tables()[:3]
    assert [row["measure"] for row in overview.rows if row["kind"] == "kept"] == ["ratings", "neighbour overlap"]
    assert overview.headings == ["measure", "if gone", "original", "densray-unit", "hard"]
    assert len(details.rows) == 3 * len(overview.rows)
    plain = result.to_dict()
    assert plain["spaces"][1]["removed"][0]["value"] == result.spaces[1].removed[0].value
    assert "removed_spaces" not in plain
    assert len(result.gap_rows()) == 3 * len(JOBS)


@pytest.mark.slow
def test_half_the_strength_lies_between_nothing_and_all(
    space: WordSpace, concept_file: Path, result: RemovalResult
) -> None:
    half = evaluate_removal(space, load_concept(concept_file), ["densray-unit"], strength=0.5)
    none, all_of_it = (result.spaces[i]["direct bias"].value for i in (0, 1))
    assert 1.2 * all_of_it < half.spaces[1]["direct bias"].value < none / 1.2


@pytest.mark.slow
def test_words_to_keep_stay_where_they_were_whatever_the_remover(
    space: WordSpace, concept_file: Path, result: RemovalResult, tmp_path: Path
) -> None:
    concept, keep = load_concept(concept_file), [*JOBS, "er", "sie"]
    journal = Journal(tmp_path / "journal")
    evaluate_removal(space, concept, ["densray-unit"], journal=journal)
    found = evaluate_removal(space, concept, ["densray-unit"], keep=keep, journal=journal)
    original, erased = found.spaces
    assert found.provenance.parts_resumed == 0  # other words to keep, another result
    for name in ("anchor gap", "direct bias"):
        assert result.spaces[1][name].value < 0.6 * original[name].value
        assert erased[name].value == original[name].value
    rows = space.locate(keep)
    np.testing.assert_array_equal(found.removed_spaces[0].vectors[rows], space.normalized().vectors[rows])
    others = evaluate_removal(space, concept, ["hard"], keep=["wort7"]).removed_spaces[0]
    np.testing.assert_array_equal(others["wort7"], space.normalized()["wort7"])
    np.testing.assert_array_equal(others["m0"], result.removed_spaces[1]["m0"])  # kept or equalised, as published


@pytest.mark.slow
def test_an_original_that_was_measured_is_not_measured_again_and_measures_are_counted(
    space: WordSpace, concept_file: Path, result: RemovalResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    concept, steps = load_concept(concept_file), []
    original = measure_original(space, concept)
    assert original.to_dict() == result.spaces[0].to_dict()
    assert len(measure_topics(concept)) == len(original.removed) + len(original.kept)
    measured = []
    monkeypatch.setattr(
        evaluation, "measure_space", lambda *given, **more: measured.append(given) or measure_space(*given, **more)
    )
    found = evaluate_removal(
        space, concept, ["densray-unit"], original=original, progress=lambda *step: steps.append(step)
    )
    assert [each.to_dict() for each in found.spaces] == [each.to_dict() for each in result.spaces[:2]]
    assert len(measured) == 1
    count = len(original.removed) + len(original.kept)
    assert steps == [(100 + 100 * done // count, 200) for done in range(1, count + 1)]  # the second of two spaces


def test_other_words_to_learn_from_leave_the_probes_where_they_were(concept_file: Path) -> None:
    concept = load_concept(concept_file)
    other = concept.with_lexicon(Lexicon({"er": 1, "sie": -1}))
    assert other.probed is concept.lexicon
    assert len(other.lexicon) == 2


def test_the_embedded_concept_carries_the_published_lists() -> None:
    concept = load_concept("gender")
    assert isinstance(concept, Concept)
    assert (len(concept.lexicon), len(concept.pairs), len(concept.neutral)) == (46, 10, 320)
    assert concept.pairs[2] == ("he", "she")
    assert [test.number for test in concept.associations] == [6, 7, 8]
    assert {"queen", "Emily"} <= set(concept.keep)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("anchors = ", "ankers = "), "has no 'anchors'"),
        (("keep = ", "kept = "), "Did you mean 'keep'"),
        (('anchors = ["er", "sie"]', 'anchors = ["er"]'), "a list of two words"),
        (("berufe.txt", "keine.txt"), "keine.txt, which cannot be read"),
        (("first_target", "target"), "a table with first_target"),
        (("anchors = [", "anchors = [["), "is not a TOML file"),
    ],
)
def test_an_invalid_concept_file_names_its_problem(concept_file: Path, change: tuple[str, str], message: str) -> None:
    concept_file.write_text(concept_file.read_text("utf-8").replace(*change, 1), "utf-8")
    with pytest.raises(TaskError, match=message):
        load_concept(concept_file)


def test_absent_anchors_and_neutral_words_are_named(space: WordSpace, concept_file: Path) -> None:
    few = space.subset([word for word in space.words if word != "er"])
    with pytest.raises(SpaceError, match="'er'"):
        evaluate_removal(few, load_concept(concept_file), ["svm"])
    jobless = space.subset([word for word in space.words if word not in JOBS])
    with pytest.raises(TaskError, match="neutral words: 0 of 41"):
        evaluate_removal(jobless, load_concept(concept_file), ["svm"])
    with pytest.raises(TaskError, match="neither a known concept"):
        load_concept("colour")


def test_lists_that_are_hardly_in_the_space_give_no_number_and_name_their_words(
    space: WordSpace, concept_file: Path
) -> None:
    text = concept_file.read_text("utf-8").replace('["m3", "m4"]', '["m3", "fort"]')
    concept_file.write_text(text, "utf-8")
    (concept_file.parent / "ratings.tsv").write_text("hier\tdort\t3\nwort1\twort2\t1\n", "utf-8")
    result = evaluate_removal(space, load_concept(concept_file), [])
    original = result.spaces[0]
    assert np.isnan(original["WEAT 1"].value)
    assert original["WEAT 1"].missing == ("fort",)
    notes = [note for note in result.overview().notes if "has no number" in note]
    assert [note.split(" has no number.")[0] for note in notes] == ["WEAT 1", "ratings"]
    assert "1 of 2 words are in" in notes[0]
    reasons = {each["name"]: each["reason"] for each in original.to_dict()["removed"]}
    assert "'fort'" in reasons["WEAT 1"]
    assert reasons["anchor gap"] is None
    assert np.isnan(original["ratings"].value)
    assert original["ratings"].missing == ("hier", "dort")
    assert original.to_dict()["kept"][0]["used"] == 0


def test_a_reversed_association_does_not_count_as_less(result: RemovalResult) -> None:
    note = result.overview().notes[0]
    assert "For WEAT only the size matters" in note
    assert "in the other direction" in note


def test_what_is_left_comes_first_and_what_is_long_is_folded(result: RemovalResult) -> None:
    lines = result.text().splitlines()
    assert " ".join(lines[:2]) == summarize_recovery(result)
    assert lines[0].startswith("Covered up, not gone: after “")
    assert result.grade == "weak"
    assert f'<p class="verdict weak">{lines[0]}</p>' in to_html(result)
    assert [table.folded for table in result.tables()] == [False, True, True, True]
    assert [row["measure"] for row in result.overview().rows] == [row["name"] for row in _measures(result)]
    gone = {row["measure"]: row["if_gone"] for row in result.rows()}
    assert (gone["cluster accuracy"], gone["anchor gap"], gone["neighbour overlap"]) == (0.5, 0.0, None)
    assert all(row["meaning"] for row in result.rows())


def test_a_reason_why_something_was_not_measured_is_a_note_below_the_table(result: RemovalResult) -> None:
    best = best_removed(result).name
    reason = "What remains was not measured: every class needs 3 rows."
    found = replace(result, remains={**result.remains, best: Remains((), reason=reason)})
    assert reason not in found.text()
    assert found.tables()[0].notes[-1] == f"The labelled words, “{best}”. {reason}"
    measured = replace(result, remains={best: Remains(())})
    assert "The labelled words" in measured.text()
    assert not any("labelled words, “" in note for note in measured.tables()[0].notes)


def _measures(result: RemovalResult) -> list[dict[str, Any]]:
    first = result.spaces[0].to_dict()
    return [*first["removed"], *first["kept"]]


def test_the_chart_of_intervals_takes_every_measure_of_a_result(result: RemovalResult) -> None:
    rows = [row for row in result.interval_rows() if np.isfinite(row["value"]) and 0 <= row["value"] <= 1]
    drawn = interval_plot(rows).to_dict()
    assert [panel["title"] for panel in drawn["vconcat"]] == [
        "Remaining bias (closer to “if gone” is better)",
        "Preserved quality (higher is better)",
    ]
    with pytest.raises(DensRayError, match="no 'low'"):
        interval_plot([{"measure": "m", "space": "s", "part": "p", "value": 0.5}])


@pytest.mark.slow
def test_the_command_prints_json_and_writes_a_page(
    space: WordSpace, concept_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, page = write_space(space, tmp_path / "space.bin"), tmp_path / "bias.html"
    arguments = ["evaluate", "bias", str(vectors), "--concept", str(concept_file), "-r", "ridge:2"]
    assert run([*arguments, "--json", "--report", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["concept"] == "geschlecht"
    assert [each["name"] for each in found["spaces"]] == ["original", "ridge:2"]
    assert page.read_text("utf-8").count("<img") == 2
    assert run([*arguments, "--report", str(page)]) == 2
    assert run(["evaluate", "bias", str(vectors), "--concept", str(concept_file), "-r", "densrai"]) == 2
    assert "Did you mean 'densray'" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr("densray.debiasing.evaluate_removal", None)  # would fail if it were called
    assert run(["evaluate", "bias", "--report", str(tmp_path / "bias.html")]) == 2
    assert 'pip install "densray[figures]"' in capsys.readouterr().err


def test_the_command_learns_from_two_lists_or_the_columns_of_a_table(
    space: WordSpace,
    concept_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned: list[Concept] = []

    def stop(_: WordSpace, concept: Concept, *others: object, **options: object) -> None:
        learned.append(concept)
        raise TaskError("far enough.")

    monkeypatch.setattr("densray.debiasing.evaluate_removal", stop)
    monkeypatch.setenv("DENSRAY_JOURNAL", "")
    table = tmp_path / "table.csv"
    table.write_text("".join(f"x,{word},{label}\n" for word, label in (("er", "m"), ("sie", "f"))), "utf-8")
    command = ["evaluate", "bias", str(write_space(space, tmp_path / "space.bin")), "--concept", str(concept_file)]
    columns = ["--word-column", "1", "--label-column", "2", "--label-names", "f,m", "--no-header"]
    for given in (["--high", "er", "--low", "sie"], ["--lexicon", str(table), *columns]):
        assert run([*command, *given]) == 2
        assert "far enough" in capsys.readouterr().err
        assert dict(learned[-1].lexicon.items()) == {"er": 1.0, "sie": -1.0}
        assert learned[-1].probed is not None
    assert run([*command, *columns]) == 2
    assert "--label-column" in (said := capsys.readouterr().err)
    assert "given without --lexicon" in said
    assert len(learned) == 2


@pytest.mark.slow
def test_gender_on_the_slice_shows_that_the_word_list_decides_more_than_the_method() -> None:
    google, concept = load_space("googlenews-26k").normalized(), load_concept("gender")
    assert concept.poles is not None
    biased = most_biased(google, concept.poles, exclude=concept.keep)
    words, sides = biased.top(2500)
    large = Lexicon(zip(words, np.where(sides, 1.0, -1.0), strict=True))
    before = similarity(google, concept.similarities[0]).value
    assert cluster_test(google, biased).value > 0.99
    for lexicon, low, high in ((concept.lexicon, 0.95, 0.99), (large, 0.5, 0.65)):
        for method in ("densray-unit", "mean-difference"):
            removed = Erasure.fit(lexicon.align(google), method).apply(google)
            assert low < cluster_test(removed, biased).value < high
            assert similarity(removed, concept.similarities[0]).value > before - 0.005
    with pytest.raises(DensRayError, match="301 axes were asked for"):
        evaluate_removal(google, concept, ["ridge:301"])


@pytest.mark.slow
def test_removing_a_random_direction_changes_no_measure_significantly() -> None:
    original, random, removed = evaluate_removal(
        load_space("googlenews-26k"), load_concept("gender"), ["random", "mean-difference"]
    ).spaces
    for before, after in zip((*original.removed, *original.kept[:-1]), (*random.removed, *random.kept), strict=False):
        if before.interval is not None:
            assert before.interval.low <= after.value <= before.interval.high, before.name
    for name in ("anchor gap", "direct bias", "cluster accuracy", "neighbour correlation", "recovery (linear)"):
        interval = original[name].interval
        assert interval is not None
        assert removed[name].value < interval.low


@pytest.mark.slow
def test_a_remover_that_cannot_run_does_not_stop_the_others(space: WordSpace, concept_file: Path) -> None:
    concept = replace(load_concept(concept_file), pairs=())
    found = evaluate_removal(space, concept, ["hard", "mean-difference", "inlp"])
    assert [each.name for each in found.spaces] == ["original", "mean-difference", "inlp:10"]
    assert found.remarks[0].startswith("“hard” was left out. 'hard' debiasing learns from pairs")
    assert found.remarks[1].startswith("“inlp:10” stopped after ")
    assert set(found.remarks) <= set(found.overview().notes)
    assert json.loads(to_json(found))["remarks"] == list(found.remarks)
    with pytest.raises(TaskError, match="learns from pairs"):
        evaluate_removal(space, concept, ["hard"])
    with pytest.raises(DensRayError, match="is unknown"):
        evaluate_removal(space, concept, ["hard", "mean"])


def test_a_note_on_probes_is_there_where_one_is_below_chance(result: RemovalResult) -> None:
    note = "A probe below 0.5"
    below = any(each.value < 0.5 for space in result.spaces for each in space.removed if isinstance(each, Probe))
    assert below == any(line.startswith(note) for line in result.overview().notes)
    original = replace(result, spaces=result.spaces[:1])
    assert not any(line.startswith(note) for line in original.overview().notes)


@pytest.mark.slow
def test_words_in_another_case_are_found_on_request(
    space: WordSpace, concept_file: Path, result: RemovalResult
) -> None:
    upper = WordSpace([word.upper() for word in space.words], space.vectors, name="gross")
    concept = load_concept(concept_file)
    with pytest.raises(DensRayError, match="neutral words"):
        evaluate_removal(upper, concept, ["densray-unit"])
    found = evaluate_removal(upper, concept, ["densray-unit"], any_case=True)
    for name in ("anchor gap", "direct bias", "recovery (linear)"):
        assert found.spaces[1][name].value == pytest.approx(result.spaces[1][name].value, abs=1e-6)
    gender = load_concept("gender").spelled_as(load_space("googlenews-26k"))
    assert gender.anchors == ("man", "woman")
    assert gender.analogies is not None


def test_another_seed_draws_other_words_and_the_same_seed_the_same(space: WordSpace, concept_file: Path) -> None:
    concept = load_concept(concept_file)
    runs = [evaluate_removal(space, concept, [], random_state=seed).spaces[0].to_dict() for seed in (0, 1, 1)]
    assert runs[1] == runs[2]
    assert runs[0] != runs[1]
