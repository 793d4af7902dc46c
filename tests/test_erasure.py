"""Erasure: fitted from rows by every remover, applied to arrays, spaces, files and states, and what remains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from densray import Erasure, Lexicon, MeanDifference, Rows, WordSpace, load_lexicon, load_space
from densray._leace import leace
from densray.errors import CoverageWarning, LabelError, OutputError, PersistenceError, TaskError, VectorError
from densray.formats import read_space, write_space
from densray.metrics import Interval, auc
from densray.probes import Recovery, recovery
from densray.remains import ProbeResult, Remains
from densray.removers import REMOVERS, CurvePoint, DirectionChoice, choose_directions, covariance_difference
from densray.report import show_estimate
from densray.states import States


def planted_rows(count: int, seed: int = 0, width: int = 20) -> tuple[WordSpace, Rows]:
    """Words of two classes that differ along one direction."""
    random = np.random.default_rng(seed)
    y = np.tile([1.0, -1.0], count // 2)
    X = random.normal(size=(count, width)) + 0.5
    X[:, 0] += 2.0 * y
    words = [f"w{i}" for i in range(count)]
    space = WordSpace(words, X.astype(np.float32), name="planted")
    return space, Lexicon(dict(zip(words, y.tolist(), strict=True))).align(space)


def curved_rows(count: int = 600, seed: int = 0) -> Rows:
    """Rows of two classes that differ in their mean along column 0 and in their variance along columns 1 and 2."""
    random = np.random.default_rng(seed)
    y = np.tile([1.0, -1.0], count // 2)
    X = random.normal(size=(count, 8))
    X[:, 0] += 2.0 * y
    X[:, 1] *= np.where(y > 0, 4.0, 0.5)
    X[:, 2] *= np.where(y > 0, 0.5, 4.0)
    return Rows.from_arrays(X, y)


# --- what remains ---------------------------------------------------------------------------------------------


def test_the_progress_of_measuring_what_remains_counts_the_tested_models() -> None:
    rows, steps = planted_rows(80)[1], list[tuple[int, int | None]]()
    erasure = Erasure.fit(rows, normalize=False)
    erasure.remains(models=["linear", "rbf"], progress=lambda done, total: steps.append((done, total)))
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert {total for _, total in steps} == {len(steps)}


@pytest.mark.slow
def test_little_remains_for_a_linear_model_where_the_classes_differ_in_their_means_alone() -> None:
    _, rows = planted_rows(1000)
    remains = Erasure.fit(rows, normalize=False).remains()
    assert [probe.model for probe in remains.probes] == ["linear", "rbf", "mlp"]
    for probe in remains.probes:
        assert probe.before.auc > 0.95
        assert probe.after.auc < 0.65
    assert (remains.learned_from, remains.tested_on) == (500, 500)
    assert "gone for linear models" in remains.summary


def test_a_model_fitted_on_the_erased_training_rows_is_shown_where_it_recovers_more() -> None:
    rows = curved_rows(200)
    remains = Erasure.fit(rows, normalize=False).remains(models=["linear", "rbf"])
    assert remains["linear"].after_learned is None
    learned = remains["rbf"].after_learned
    assert learned is not None
    assert learned.auc > 0.8
    assert learned.interval.low < learned.auc < learned.interval.high
    more = replace(remains["rbf"], after_learned=Recovery(0.99, Interval(0.98, 1.0)))
    shown = replace(remains, probes=(remains["linear"], more)).summary
    assert "an RBF model fitted on the erased training rows still recovers it with AUC 0.99" in shown
    less = replace(remains["rbf"], after_learned=Recovery(0.5, Interval(0.4, 0.6)))
    assert "training rows" not in replace(remains, probes=(remains["linear"], less)).summary
    table = remains.table()
    assert table.headings == ["model", "before", "after", "trained on erased rows"]
    (_, last), (name, best) = (line[0::3] for line in table.shown())
    assert (last, name) == ("–", "RBF model")
    assert best == show_estimate(learned.auc, learned.interval.low, learned.interval.high)
    drawn = [(row["model"], row["space"], row["value"]) for row in remains.intervals()]
    assert drawn[-1] == (name, table.headings[-1], learned.auc)
    noise = np.random.default_rng(0).permutation(rows.y)
    assert Erasure.fit(rows.relabelled(noise), normalize=False).remains(models=["rbf"])["rbf"].after_learned.auc < 0.65


@pytest.mark.slow
def test_a_nonlinear_model_recovers_what_an_erasure_of_the_mean_difference_leaves() -> None:
    remains = Erasure.fit(curved_rows(), normalize=False).remains()
    assert remains["linear"].after.auc < 0.65
    assert remains["rbf"].after.auc > 0.85
    assert "still recovers it with AUC" in remains.summary


@pytest.mark.slow
def test_random_directions_leave_the_concept_to_every_model() -> None:
    _, rows = planted_rows(300)
    remains = Erasure.fit(rows, "random:3").remains()
    assert all(probe.after.auc > 0.9 for probe in remains.probes)
    assert "still there for linear models" in remains.summary


@pytest.mark.slow
@pytest.mark.parametrize("count", [24, 60, 300])
def test_intervals_of_an_auc_stay_between_zero_and_one_and_contain_it(count: int) -> None:
    _, rows = planted_rows(count)
    for method in ("mean-difference", "random"):
        for probe in Erasure.fit(rows, method).remains().probes:
            for found in (probe.before, probe.after):
                assert 0.0 <= found.interval.low <= found.auc <= found.interval.high <= 1.0


def test_rows_of_a_group_are_never_split_between_learning_and_testing() -> None:
    """Twins of random vectors and random labels: a model that has seen one of them knows the other."""
    random = np.random.default_rng(0)
    X = np.repeat(random.normal(size=(150, 30)), 2, axis=0) + 0.05 * random.normal(size=(300, 30))
    y = np.repeat(np.tile([1.0, -1.0], 75), 2)
    twins = np.repeat(np.arange(150), 2).tolist()
    alone = Erasure.fit(Rows.from_arrays(X, y), "random").remains(models=["rbf"])
    together = Erasure.fit(Rows.from_arrays(X, y, groups=twins), "random").remains(models=["rbf"])
    assert alone["rbf"].before.auc > 0.75  # the control: split twins give each other away
    assert together["rbf"].before.auc < 0.65


def test_words_that_are_kept_are_not_tested_and_too_few_rows_give_a_reason() -> None:
    _, rows = planted_rows(200)
    erasure = Erasure.fit(rows)
    assert erasure.remains(keep=["w0"], models=["linear"]).tested_on in (99, 100)
    few = Erasure.fit(planted_rows(8)[1]).remains()
    assert few.probes == ()
    assert "every class needs 6 rows" in few.summary
    assert erasure.remains(models=["linear"]) is erasure.remains(models=["linear"])  # computed once


def test_other_labelled_rows_show_what_a_given_erasure_leaves() -> None:
    _, rows = planted_rows(600)
    learned, unseen = rows.take(np.arange(400)), rows.take(np.arange(400, 600))
    remains = Erasure.fit(learned).remains(unseen, models=["linear"])
    assert (remains.tested_on, remains.learned_from) == (200, 0)
    assert remains["linear"].before.auc > 0.9
    assert remains["linear"].after.auc < 0.7
    assert Erasure.fit(learned, "random").remains(unseen, models=["linear"])["linear"].after.auc > 0.9


def test_half_the_strength_leaves_more_than_all_of_it() -> None:
    _, rows = planted_rows(400)
    erasure = Erasure.fit(rows)
    half, whole = (erasure.remains(strength=share, models=["linear"])["linear"].after.auc for share in (0.5, 1.0))
    assert half > 0.9
    assert whole < 0.7


@pytest.mark.parametrize(
    ("linear", "curved", "said", "grade", "headline"),
    [
        ((0.55, 0.50, 0.61), 0.94, ("gone for linear models (AUC 0.55 [0.50, 0.61]", "RBF model still recovers it"), "weak", "Hidden from linear models, not gone: an RBF model still finds it."),
        ((0.63, 0.60, 0.66), 0.72, ("mostly gone for linear models", "still recovers part of it"), "weak", "Mostly hidden from linear models, not gone: an RBF model still finds part of it."),
        ((0.75, 0.72, 0.78), 0.60, ("partly left for linear models", "recovers little of it"), "weak", "Partly left, even for linear models."),
        ((0.90, 0.88, 0.92), 0.95, ("still there for linear models", "still recovers it"), "none", "Still there, even for linear models."),
        ((0.60, 0.40, 0.85), 0.60, ("too few rows to say", "recovers little"), "unclear", "Too few rows to say how much is left."),
        ((0.70, 0.58, 0.79), 0.60, ("too few rows to say", "recovers little"), "unclear", "Too few rows to say how much is left."),
        ((0.70, 0.59, 0.79), 0.60, ("too few rows to say", "recovers little"), "unclear", "Too few rows to say how much is left."),
        ((0.71, 0.59, 0.80), 0.60, ("too few rows to say", "recovers little"), "unclear", "Too few rows to say how much is left."),
        ((0.58, 0.53, 0.63), 0.60, ("mostly gone for linear models", "recovers little"), "fair", "Mostly gone: the best model has AUC 0.60, and 0.50 is chance."),
    ],
)  # fmt: skip
def test_the_sentence_names_what_each_kind_of_model_recovers(
    linear: tuple[float, float, float], curved: float, said: tuple[str, str], grade: str, headline: str
) -> None:
    before = Recovery(0.99, Interval(0.98, 1.0))
    results = (
        ProbeResult("linear", before, Recovery(linear[0], Interval(*linear[1:]))),
        ProbeResult("rbf", before, Recovery(curved, Interval(curved - 0.01, curved + 0.01))),
        ProbeResult("mlp", before, Recovery(curved - 0.05, Interval(curved - 0.06, curved - 0.04))),
    )
    remains = Remains(results, 10, 10)
    assert all(part in remains.summary for part in said)
    assert (remains.grade, remains.headline) == (grade, headline)


def test_the_headline_names_every_removed_set_of_labels_and_the_grade_is_the_worst() -> None:
    before, chance, clear = (Recovery(value, Interval(value - 0.02, value + 0.01)) for value in (0.97, 0.51, 0.9))
    party = [ProbeResult(model, before, chance, "party") for model in ("linear", "rbf")]
    gender = [ProbeResult("linear", before, chance, "gender"), ProbeResult("rbf", before, clear, "gender")]
    kept = [ProbeResult("linear", before, clear, "court", kept=True)]
    remains = Remains((*party, *gender, *kept), 10, 10)
    assert remains.headline == (
        "party: gone for every tested model: the best AUC is 0.51, and 0.50 is chance. "
        "gender: hidden from linear models, not gone: an RBF model still finds it."
    )
    assert remains.grade == "weak"
    assert Remains(tuple(party)).grade == "good"
    assert "Nonlinear models were not tested" in Remains((party[0],)).headline
    assert Remains((), reason="Too few.").grade == "unclear"


def test_a_concept_that_was_not_there_is_not_called_gone() -> None:
    chance = Recovery(0.53, Interval(0.46, 0.60))
    summary = Remains((ProbeResult("linear", chance, chance),), 10, 10).summary
    assert "linear models did not find it before either (AUC 0.53" in summary
    assert "gone" not in summary


@pytest.mark.slow
def test_a_model_fitted_on_the_erased_training_words_is_reported_for_unseen_rows_too() -> None:
    space = load_space("googlenews-26k", normalize=True)
    train, test = load_lexicon("hu-liu").split(test_size=0.25, random_state=0)
    rows, unseen = train.align(space), test.align(space)
    erasure = Erasure.fit(rows, "mean-difference")
    result = erasure.remains(unseen, models=["rbf"])
    assert result.learned_from == len(rows)
    probe = SVC(kernel="rbf").fit(erasure.apply(rows.X), rows.sides)  # an adversary who has the training words
    own = auc(unseen.sides, probe.decision_function(erasure.apply(unseen.X)))
    assert own > 0.97
    assert result["rbf"].after_learned.auc == pytest.approx(own, abs=0.01)
    assert "fitted on the erased training rows still recovers it" in result.summary
    kept = unseen.names[:200]  # kept words are not erased, so they must not be tested as if they were
    tested = np.arange(200, len(unseen))
    without = auc(unseen.sides[tested], probe.decision_function(erasure.apply(unseen.X[tested])))
    partly = erasure.remains(unseen, models=["rbf"], keep=kept)
    assert partly["rbf"].after_learned.auc == pytest.approx(without, abs=0.01)
    assert partly["rbf"].after_learned.auc != result["rbf"].after_learned.auc


@pytest.mark.slow
def test_sentiment_without_its_mean_difference_is_gone_for_linear_models_only() -> None:
    space, lexicon = load_space("googlenews-26k"), load_lexicon("hu-liu")
    remains = Erasure.fit(lexicon.align(space), "mean-difference").remains()
    assert remains["linear"].after.auc < 0.7
    assert remains["rbf"].after.auc > 0.9
    left = Erasure.fit(lexicon.align(space), "ridge").remains(models=["linear"])
    assert left["linear"].after.auc > 0.9


# --- every remover takes rows -----------------------------------------------------------------------------------


def three_classes(n: int = 300) -> Rows:
    random = np.random.default_rng(1)
    kinds = np.arange(n) % 3
    X = random.normal(size=(n, 6))
    X[:, :3] += 3.0 * np.eye(3)[kinds]
    return Rows.from_arrays(X, np.array(["a", "b", "c"])[kinds])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mean-difference", "leace"])
def test_three_classes_lose_two_directions_and_their_means_agree(method: str) -> None:
    rows = three_classes()
    erasure = Erasure.fit(rows, method, normalize=False)
    assert erasure.rank == 2
    erased = erasure.apply(rows.X)
    before, after = ([each[rows.y == value].mean(axis=0) for value in range(3)] for each in (rows.X, erased))
    assert np.ptp(before, axis=0).max() > 2.0
    np.testing.assert_allclose(np.ptp(after, axis=0), 0.0, atol=1e-6)
    remains = erasure.remains(models=["linear"])
    assert remains["linear"].before.auc > 0.9
    assert remains["linear"].after.auc < 0.65


def test_methods_for_two_classes_say_so() -> None:
    rows = three_classes()
    for method in ("ridge", "densray", "inlp"):
        with pytest.raises(LabelError, match=r"needs two classes; the rows have 3 .* mean-difference or .* or leace"):
            Erasure.fit(rows, method)
    assert Erasure.fit(rows.against_rest("a"), "ridge").rank == 1
    with pytest.raises(TaskError, match="3 axes were asked for; the means of 3 classes differ in 2"):
        Erasure.fit(rows, "mean-difference:3")


def test_an_erasure_knows_its_rows_method_and_seed() -> None:
    _, rows = planted_rows(60)
    erasure = Erasure.fit(rows, "densray-unit", n_axes=2, random_state=3)
    assert (erasure.method, erasure.rows) == ("densray-unit:2", rows)
    assert (erasure.provenance.seed, erasure.provenance.method) == (3, "densray-unit:2")
    assert erasure.provenance.words_used == 60
    assert erasure.provenance.inputs[0].name == "planted"
    assert not erasure.warning
    assert "predicts the labels best" in Erasure.fit(rows, "ridge").warning
    assert not Erasure.fit(rows, "ridge:5").warning
    with pytest.raises(TaskError, match="Give the number of axes once"):
        Erasure.fit(rows, "ridge:5", n_axes=2)
    for wrong in (0, -1, 1.5):
        with pytest.raises(TaskError, match="1 or more, is needed"):
            Erasure.fit(rows, "ridge", n_axes=wrong)  # type: ignore[arg-type]
    with pytest.raises(TaskError, match="only labelled words"):
        Erasure.fit(rows, "hard")


@pytest.mark.parametrize("method", [name for name, remover in REMOVERS.items() if not remover.needs_pairs])
def test_learning_at_unit_length_does_not_depend_on_the_length_of_vectors(method: str) -> None:
    space, rows = planted_rows(60)
    longer = space.with_vectors(space.vectors * np.random.default_rng(0).uniform(0.5, 2.0, (60, 1)).astype(np.float32))
    again = Lexicon(dict(zip(rows.names, rows.y.tolist(), strict=True))).align(longer)
    named = f"{method}:3" if REMOVERS[method].choose else method
    first, second = Erasure.fit(rows, named), Erasure.fit(again, named)
    np.testing.assert_allclose(first.left @ first.right, second.left @ second.right, atol=2e-3)


def test_half_precision_states_are_learned_from_without_overflow() -> None:
    _, rows = planted_rows(60)
    large = np.asarray(rows.X, dtype=np.float32) * 200.0  # squared lengths exceed the largest float16
    half = Erasure.fit(Rows.from_arrays(large.astype(np.float16), rows.y))
    full = Erasure.fit(Rows.from_arrays(large, rows.y))
    np.testing.assert_allclose(half.right, full.right, atol=1e-3)


# --- applied to arrays, spaces, files and states -------------------------------------------------------------


def test_arrays_spaces_files_and_states_lose_the_same(tmp_path: Path) -> None:
    space, rows = planted_rows(100)
    source = write_space(space, tmp_path / "space.bin")
    for method in ("mean-difference", "leace"):
        erasure = Erasure.fit(rows, method)
        expected = erasure.apply(space.vectors)
        np.testing.assert_allclose(erasure.apply(space).vectors, expected, atol=1e-6)
        with pytest.warns(CoverageWarning, match=r"keep: 1 word is not in '.*space.bin': 'absent'"):
            written = erasure.apply(source, output=tmp_path / f"{method}.densray", keep=["w3", "absent"])
        assert (written.words, written.unchanged, written.missing) == (100, 1, ("absent",))
        others = np.arange(100) != 3
        np.testing.assert_allclose(read_space(written.path).vectors[others], expected[others], atol=1e-6)
        mapped = np.memmap(tmp_path / f"{method}.map", dtype=np.float32, mode="w+", shape=space.vectors.shape)
        mapped[:] = space.vectors
        np.testing.assert_allclose(erasure.apply(mapped), expected, atol=1e-6)
        states = States.of_arrays([space.vectors, 2 * space.vectors], list(space.words))
        np.testing.assert_allclose(erasure.apply(states)[0], expected, atol=1e-6)
        one = erasure.apply(states, layers=[1])
        np.testing.assert_array_equal(one[0], space.vectors)
        np.testing.assert_allclose(one[1], erasure.apply(2 * space.vectors), atol=1e-5)
    with pytest.raises(TaskError, match="no output is given"):
        erasure.apply(source)
    with pytest.raises(VectorError, match="width 20"):
        erasure.apply(np.eye(3))


def test_tensors_lose_what_arrays_lose() -> None:
    torch: Any = pytest.importorskip("torch")
    space, rows = planted_rows(60)
    for method in ("mean-difference", "leace"):
        erasure = Erasure.fit(rows, method)
        erased = erasure.apply(torch.from_numpy(space.vectors.copy()))
        np.testing.assert_allclose(erased.numpy(), erasure.apply(space.vectors), atol=1e-5)


# --- files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["mean-difference", "leace", "densray-unit:3", "double-hard"])
def test_a_saved_erasure_erases_the_same_and_remembers_what_remains(method: str, tmp_path: Path) -> None:
    space, rows = planted_rows(60)
    erasure = Erasure.fit(rows, method, pairs=[("w0", "w1"), ("w2", "w3")], random_state=2)
    remains = erasure.remains()
    again = Erasure.load(erasure.save(tmp_path / "saved"))
    assert (again.method, again.rank, again.unit_length) == (erasure.method, erasure.rank, True)
    np.testing.assert_array_equal(again.apply(space).vectors, erasure.apply(space).vectors)
    assert again.remains() == remains
    assert again.provenance.to_dict() == erasure.provenance.to_dict()
    assert (again.remarks, again.warning) == (erasure.remarks, erasure.warning)
    np.testing.assert_array_equal(Erasure.load(again.save(tmp_path / "twice")).left, erasure.left)


def test_a_measurement_without_the_kept_rows_is_not_saved_as_the_whole_one(tmp_path: Path) -> None:
    _, rows = planted_rows(100)
    erasure = Erasure.fit(rows, "mean-difference")
    erasure.remains(keep=rows.names[:40])
    loaded = Erasure.load(erasure.save(tmp_path / "kept"))
    assert loaded.remains().probes == ()
    assert "was not measured" in loaded.remains().summary


def test_a_saved_erasure_is_safetensors_and_a_changed_or_foreign_file_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    _, rows = planted_rows(60)
    path = Erasure.fit(rows).save(tmp_path / "saved.safetensors")
    assert load_file(path)["left"].shape == (20, 1)
    assert "was not measured" in Erasure.load(path).remains().summary
    with pytest.raises(OutputError):
        Erasure.fit(rows).save(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(PersistenceError, match="digest"):
        Erasure.load(path)
    save_file({"left": np.eye(2)}, tmp_path / "other.safetensors")
    for wrong in ("other.safetensors", "absent.safetensors"):
        with pytest.raises(PersistenceError):
            Erasure.load(tmp_path / wrong)


def test_a_saved_erasure_belongs_to_the_space_it_was_learned_on(tmp_path: Path) -> None:
    space, rows = planted_rows(60)
    path = Erasure.fit(rows).save(tmp_path / "saved")
    for same in (space, space.limit(30), space.normalized()):
        assert Erasure.load(path, same).rank == 1
    other = space.with_vectors(np.random.default_rng(5).normal(size=(60, 20)).astype(np.float32))
    with pytest.raises(PersistenceError, match="another space"):
        Erasure.load(path, other)
    assert Erasure.load(path, other, any_space=True).rank == 1
    with pytest.raises(PersistenceError, match="width 20"):
        Erasure.load(path, planted_rows(60, width=7)[0], any_space=True)


# --- the covariance difference --------------------------------------------------------------------------------


def test_after_the_covariance_difference_means_agree_and_the_largest_differences_of_covariance_are_gone() -> None:
    rows = curved_rows()
    X, y = np.asarray(rows.X), rows.y
    erasure = covariance_difference(X, y, 2)
    assert erasure.rank == 3
    erased = erasure.apply(X)
    high, low = erased[y > 0], erased[y < 0]
    np.testing.assert_allclose(high.mean(axis=0), low.mean(axis=0), atol=1e-12)
    axes = erasure.right
    np.testing.assert_allclose(axes @ (np.cov(high.T) - np.cov(low.T)) @ axes.T, 0.0, atol=1e-12)
    contrast = np.cov(X[y > 0].T) - np.cov(X[y < 0].T)
    assert np.abs(np.linalg.eigvalsh(contrast)).max() > 10  # the control
    left = np.abs(np.linalg.eigvalsh(np.cov(high.T) - np.cov(low.T))).max()
    # the two largest of the projected difference are removed: what is left is its third
    across = np.eye(8) - np.outer(axes[0], axes[0])
    sizes = np.sort(np.abs(np.linalg.eigvalsh(across @ contrast @ across)))[::-1]
    assert left == pytest.approx(sizes[2], rel=1e-6)


def test_the_covariance_difference_hides_from_a_nonlinear_model_what_random_directions_do_not() -> None:
    rows = curved_rows()
    X, sides = np.asarray(rows.X), rows.sides
    unseen = np.asarray(curved_rows(seed=1).X)
    mean = Erasure.fit(rows, normalize=False).apply(unseen)
    random = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 2)))[0]
    control = mean - mean @ random @ random.T
    matched = covariance_difference(X, sides, 2).apply(unseen)
    assert recovery(mean, sides, "rbf").auc > 0.85
    assert recovery(control, sides, "rbf").auc > 0.75
    assert recovery(matched, sides, "rbf").auc < 0.6


def test_the_covariance_difference_names_what_it_needs() -> None:
    rows = curved_rows()
    with pytest.raises(TaskError, match="8 covariance directions were asked for; 1 to 7"):
        covariance_difference(np.asarray(rows.X), rows.y, 8)
    with pytest.raises(TaskError, match=r"needs 10 rows of each class, and 6 were found. Give a number"):
        Erasure.fit(rows.take(np.arange(12)), "covariance-difference")
    with pytest.raises(TaskError, match="rows cannot be halved"):
        Erasure.fit(rows.grouped(np.zeros(600, dtype=int)), "covariance-difference")
    with pytest.raises(LabelError, match="has only one row"):
        covariance_difference(np.asarray(rows.X)[:3], np.array([1.0, -1.0, 1.0]), 1)
    with pytest.raises(LabelError, match="class means are equal"):
        covariance_difference(np.vstack([np.eye(2), np.eye(2)]), np.array([1.0, 1.0, -1.0, -1.0]), 1)
    with pytest.raises(LabelError, match="the rows have scores"):
        Erasure.fit(Rows.from_arrays(np.asarray(rows.X), np.arange(600)), "covariance-difference:2")


def test_the_covariance_difference_cannot_hide_a_difference_of_third_moments() -> None:
    """Means and covariances of the classes agree, so there is nothing to remove: a limit that the page states."""
    random = np.random.default_rng(0)
    X = random.choice([-1.0, 1.0], size=(600, 5)) + 0.2 * random.normal(size=(600, 5))
    sides = np.sign(X[:, 0] * X[:, 1] * X[:, 2])
    erased = covariance_difference(X, sides, 1).apply(X)
    shuffled = random.permutation(sides)
    assert recovery(X, sides, "linear").interval.low < 0.55
    assert recovery(X, sides, "rbf").auc > 0.95
    assert recovery(erased, sides, "rbf").auc > 0.7
    assert recovery(erased, shuffled, "rbf").auc < 0.6  # the control


def planted_covariances(scales: Mapping[int, tuple[float, ...]], *, seed: int, width: int, n_rows: int) -> Rows:
    """Rows of classes with a small mean difference, and one standard deviation per class in some columns."""
    random = np.random.default_rng(seed)
    n_classes = len(next(iter(scales.values())))
    y = np.repeat(np.arange(n_classes), n_rows)
    X = random.normal(size=(len(y), width))
    X[:, 0] += 0.3 * y
    for column, sizes in scales.items():
        X[:, column] *= np.array(sizes)[y]
    return Rows.from_arrays(X, y.astype(str))


def test_the_chosen_number_finds_the_planted_directions_and_hides_them() -> None:
    scales = dict.fromkeys((3, 4, 5, 6), (2.2, 0.4))
    rows, unseen = (planted_covariances(scales, seed=seed, width=60, n_rows=300) for seed in (0, 1))
    erasure = Erasure.fit(rows, "covariance-difference", normalize=False)
    assert erasure.choice is not None
    assert (erasure.method, erasure.rank) == ("covariance-difference:4", 5)
    assert np.linalg.norm(erasure.span[:, [3, 4, 5, 6]]) ** 2 > 3.5  # of four planted dimensions
    assert erasure.choice.helps
    assert erasure.choice[0].strongest.auc > erasure.choice[4].strongest.auc + 0.1
    assert "4 covariance directions were chosen" in erasure.remarks[0]
    X = np.asarray(unseen.X)
    assert recovery(X, unseen.sides, "rbf").interval.low > 0.6  # the control
    assert recovery(erasure.apply(X), unseen.sides, "rbf").auc < 0.6


def test_a_given_number_of_directions_is_not_chosen() -> None:
    rows = curved_rows(200)
    erasure = Erasure.fit(rows, "covariance-difference:1", normalize=False)
    assert (erasure.method, erasure.choice, erasure.rank) == ("covariance-difference:1", None, 2)


def test_the_choice_claims_no_success_where_third_moments_differ() -> None:
    random = np.random.default_rng(0)
    X = random.choice([-1.0, 1.0], size=(600, 6)) + 0.2 * random.normal(size=(600, 6))
    choice = choose_directions(Rows.from_arrays(X, np.sign(X[:, 0] * X[:, 1] * X[:, 2])))
    assert not choice.hides
    assert choice[choice.n_axes].strongest.auc > 0.8
    assert "still recovers" in choice.summary


def test_the_choice_is_the_smallest_number_near_the_lowest_that_keeps_half_of_the_neighbours() -> None:
    def point(n_axes: int, auc: float, neighbors: float) -> CurvePoint:
        return CurvePoint(n_axes, Recovery(auc, Interval(auc - 0.1, auc + 0.1)), neighbors, error=0.02)

    curve = point(0, 0.9, 0.9), point(1, 0.8, 0.8), point(2, 0.715, 0.7), point(4, 0.70, 0.6), point(8, 0.5, 0.4)
    assert DirectionChoice.of(curve).n_axes == 2
    assert DirectionChoice.of((curve[0], point(1, 0.8, 0.3))).n_axes == 1  # nothing keeps half: the smallest


def test_a_saved_erasure_keeps_the_curve_of_its_choice(tmp_path: Path) -> None:
    erasure = Erasure.fit(curved_rows(120), "covariance-difference", normalize=False)
    loaded = Erasure.load(erasure.save(tmp_path / "chosen"))
    assert loaded.choice == erasure.choice
    assert loaded.choice is not None
    assert loaded.choice.to_dict()["curve"][0]["n_axes"] == 0


@pytest.mark.slow
def test_covariances_of_several_classes_lose_their_largest_differences() -> None:
    scales = {3: (2.5, 0.3, 1.0), 4: (1.0, 2.5, 0.3), 5: (0.3, 1.0, 2.5)}
    rows, unseen = (planted_covariances(scales, seed=seed, width=40, n_rows=150) for seed in (0, 1))
    erasure = Erasure.fit(rows, "covariance-difference:3", normalize=False)
    assert erasure.rank == 2 + 3  # the means of three classes differ in two directions
    assert np.linalg.norm(erasure.span[:, [3, 4, 5]]) ** 2 > 2.8  # of three planted dimensions
    X, erased = np.asarray(unseen.X), erasure.apply(np.asarray(unseen.X))
    for sides in unseen.contrasts:
        assert recovery(X, sides, "rbf").auc > recovery(erased, sides, "rbf").auc + 0.05
        assert recovery(erased, sides, "rbf").interval.low < 0.55
    before, after = (
        max(np.abs(np.linalg.eigvalsh(np.cov(Z[rows.y == value].T) - np.cov(Z.T))).max() for value in range(3))
        for Z in (np.asarray(rows.X), erasure.apply(np.asarray(rows.X)))
    )
    assert after < 0.5 * before
    choice = choose_directions(rows)
    assert choice.helps
    assert choice.n_axes > 1


CONSTANT = [name for name in REMOVERS if not REMOVERS[name].needs_pairs and name != "random"]


@pytest.mark.parametrize("method", CONSTANT)
def test_a_constant_column_stays_constant(method: str) -> None:
    """A column of zeros must not receive a tiny copy of the score: standardised, it would be the whole concept."""
    random = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 100)
    X = random.normal(size=(200, 12)) + 3 * y[:, None] * np.eye(12)[0]
    padded = np.insert(X, [3, 7, 12], 0.0, axis=1)
    width = ":3" if method == "covariance-difference" else ""
    erased = Erasure.fit(Rows.from_arrays(padded, y), f"{method}{width}").apply(padded)
    assert np.ptp(erased[:, [3, 8, 14]], axis=0) == pytest.approx(0.0, abs=0.0)
    assert np.ptp(padded, axis=0)[0] > 1  # the control


def test_the_card_of_an_erasure_says_how_to_apply_it_with_numpy_alone(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 20)
    X = random.normal(size=(40, 5)) + 2.0 * y[:, None] * np.eye(5)[0]
    erasure = Erasure.fit(Rows.from_arrays(X, y, concept="side"), "leace", normalize=False)
    path = erasure.save(tmp_path / "side", card=True)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "`side`, erased" in card
    assert "40 labelled rows" in card
    snippet = card.split("```python")[2].split("```")[0].replace(path.name, str(path))
    names: dict[str, object] = {"X": X}
    exec(snippet, names)
    np.testing.assert_allclose(names["X"], erasure.apply(X), atol=1e-12)


def test_an_erasure_of_raw_lengths_refuses_the_same_words_at_other_lengths(tmp_path: Path) -> None:
    space, rows = planted_rows(60)
    longer = WordSpace(list(space.words), 3 * space.vectors)
    for normalize in (True, False):
        path = Erasure.fit(rows, normalize=normalize).save(tmp_path / f"{normalize}.safetensors")
        Erasure.load(path, space)
        if normalize:
            Erasure.load(path, longer)
        else:
            with pytest.raises(PersistenceError, match="other lengths"):
                Erasure.load(path, longer)
            Erasure.load(path, longer, any_space=True)


# --- several sets of labels, and labels to keep -----------------------------------------------------------------


def two_label_sets(n: int = 600) -> tuple[Rows, Rows, Rows]:
    """Rows by source (three), by year (a score) and by topic (two), whose directions overlap."""
    random = np.random.default_rng(3)
    source, year, topic = random.integers(3, size=n), random.normal(size=n), random.integers(2, size=n)
    X = random.normal(size=(n, 12)) @ np.diag(np.linspace(0.5, 2.0, 12))
    X[:, :3] += 3.0 * np.eye(3)[source]
    X[:, 2:4] += 2.0 * year[:, None]
    X[:, 1:6] += 1.5 * topic[:, None]
    by_source = Rows.from_arrays(X, np.array(["wiki", "news", "court"])[source], concept="source")
    by_year = Rows.from_arrays(X, year, concept="year")
    by_topic = Rows.from_arrays(X, np.array(["sport", "law"])[topic], concept="topic")
    return by_source, by_year, by_topic


def covariance(X: np.ndarray, rows: Rows) -> np.ndarray:
    return np.asarray((X - X.mean(axis=0)).T @ (rows.indicators - rows.indicators.mean(axis=0)) / len(X))


@pytest.mark.parametrize("normalize", [False, True])
def test_classes_and_scores_removed_together_leave_no_covariance_with_either(normalize: bool) -> None:
    by_source, by_year, _ = two_label_sets()
    erasure = Erasure.fit([by_source, by_year], normalize=normalize)
    assert erasure.rank == 3  # two for three classes, one for scores
    X = erasure.rows.unit().X if normalize else by_source.X  # type: ignore[union-attr]
    erased = erasure.apply(by_source.X)
    for rows in (by_source, by_year):
        assert np.abs(covariance(X, rows)).max() > (0.01 if normalize else 0.3)  # the control
        np.testing.assert_allclose(covariance(erased, rows), 0.0, atol=1e-10)
    one = Erasure.fit(by_source, normalize=normalize).apply(by_source.X)
    assert np.abs(covariance(one, by_year)).max() > (0.01 if normalize else 0.3)


def test_erasing_several_sets_of_labels_is_that_of_the_authors_of_leace() -> None:
    torch: Any = pytest.importorskip("torch")
    concept_erasure: Any = pytest.importorskip("concept_erasure")
    by_source, by_year, _ = two_label_sets()
    X, Z = torch.from_numpy(by_source.X), torch.from_numpy(np.hstack([by_source.indicators, by_year.indicators]))
    fitter = concept_erasure.LeaceFitter(12, 4, dtype=torch.float64)
    for start in range(0, 600, 200):
        fitter.update(X[start : start + 200], Z[start : start + 200])
    ours = Erasure.fit([by_source, by_year], normalize=False).apply(by_source.X)
    np.testing.assert_allclose(ours, fitter.eraser(X).numpy(), atol=1e-6)


def test_the_mean_difference_of_two_sets_of_classes_makes_the_means_of_both_agree() -> None:
    by_source, by_year, by_topic = two_label_sets()
    erasure = Erasure.fit([by_source, by_topic], "mean-difference", normalize=False)
    assert erasure.rank == 3
    erased = erasure.apply(by_source.X)
    for rows in (by_source, by_topic):
        means = [erased[rows.y == value].mean(axis=0) for value in np.unique(rows.y)]
        np.testing.assert_allclose(np.ptp(means, axis=0), 0.0, atol=1e-10)
    with pytest.raises(LabelError, match="'year' has scores"):
        Erasure.fit([by_source, by_year], "mean-difference")


def labels_that_overlap(n: int = 3000) -> tuple[Rows, Rows]:
    """Two independent labels: the source moves columns 0 to 19, the topic the same columns and, less, 20 to 39."""
    random = np.random.default_rng(0)
    source, topic = random.integers(2, size=(2, n))
    X = random.normal(size=(n, 50))
    X[:, :20] += source[:, None] + topic[:, None]
    X[:, 20:40] += 0.4 * topic[:, None]
    return Rows.from_arrays(X, source, concept="source"), Rows.from_arrays(X, topic, concept="topic")


def test_kept_labels_keep_their_covariance_and_leace_alone_changes_it() -> None:
    by_source, by_topic = labels_that_overlap()
    X = by_source.X
    plain, keeping = Erasure.fit(by_source, normalize=False), Erasure.fit(by_source, keep=by_topic, normalize=False)
    np.testing.assert_allclose(covariance(keeping.apply(X), by_source), 0.0, atol=1e-10)
    np.testing.assert_allclose(covariance(keeping.apply(X), by_topic), covariance(X, by_topic), atol=1e-10)
    assert np.abs(covariance(plain.apply(X), by_topic) - covariance(X, by_topic)).max() > 0.1  # the control


def test_a_penalised_ridge_predicts_kept_labels_as_before_where_leace_loses_them() -> None:
    """Learned from 100 rows that the erasure has not seen, five times, and tested on 1,500 others."""
    from sklearn.linear_model import RidgeClassifier

    by_source, by_topic = labels_that_overlap(5000)
    X, y = by_source.X, by_topic.y
    plain = leace(X[:3000], by_source.y[:3000]).apply(X)
    keeping = leace(X[:3000], by_source.y[:3000], keep=y[:3000]).apply(X)

    def accuracy(vectors: np.ndarray, labels: np.ndarray) -> float:
        model, test = RidgeClassifier(alpha=1e4), slice(3500, 5000)
        parts = [slice(start, start + 100) for start in range(3000, 3500, 100)]
        fitted = (model.fit(vectors[part], labels[part]) for part in parts)
        return float(np.mean([each.score(vectors[test], labels[test]) for each in fitted]))

    before = accuracy(X, y)
    assert accuracy(plain, y) < before - 0.1
    assert accuracy(keeping, y) > before - 0.03
    assert abs(accuracy(keeping, by_source.y) - 0.5) < 0.03
    # both maps have the same kernel: least squares without a penalty sees the same in both
    design = [each - each.mean(axis=0) for each in (plain, keeping)]
    first, second = (each @ np.linalg.lstsq(each, y - y.mean(), rcond=None)[0] for each in design)
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_keeping_labels_changes_vectors_as_little_as_any_map_that_does() -> None:
    """Any other map with the same two covariances differs by directions orthogonal to both, and moves rows further."""
    by_source, by_topic = labels_that_overlap(600)
    X = by_source.X
    centred = X - X.mean(axis=0)
    whiten = np.linalg.inv(np.linalg.cholesky(centred.T @ centred / len(X))).T
    erasure = leace(X, by_source.y, keep=by_topic.y, shrinkage=False)
    least = np.square(erasure.apply(X) - X).sum()
    both = whiten.T @ np.hstack([covariance(X, by_source), covariance(X, by_topic)])
    free = np.eye(50) - both @ np.linalg.pinv(both)  # orthogonal to both in whitened coordinates
    for seed in range(5):
        other = 0.1 * np.random.default_rng(seed).normal(size=(50, 50)) @ free @ whiten.T
        moved = erasure.apply(X) + centred @ other.T
        np.testing.assert_allclose(covariance(moved, by_source), 0.0, atol=1e-9)
        np.testing.assert_allclose(covariance(moved, by_topic), covariance(X, by_topic), atol=1e-9)
        assert np.square(moved - X).sum() > least


def test_several_classes_to_remove_and_to_keep() -> None:
    by_source, by_year, by_topic = two_label_sets()
    erasure = Erasure.fit(by_source, keep=[by_year, by_topic], normalize=False)
    erased = erasure.apply(by_source.X)
    np.testing.assert_allclose(covariance(erased, by_source), 0.0, atol=1e-10)
    for rows in (by_year, by_topic):
        np.testing.assert_allclose(covariance(erased, rows), covariance(by_source.X, rows), atol=1e-10)


@pytest.mark.slow
def test_what_remains_is_measured_for_each_set_of_labels(tmp_path: Path) -> None:
    by_source, by_topic = labels_that_overlap(300)
    erasure = Erasure.fit(by_source, keep=by_topic, normalize=False)
    remains = erasure.remains(models=["linear"])
    assert remains["source", "linear"].before.auc > 0.9
    assert remains["source", "linear"].after.auc < 0.75
    assert remains["topic", "linear"].after.auc > 0.75
    assert remains["topic", "linear"].kept
    assert "topic (kept): linear models find it" in remains.summary
    assert "if_gone" in remains.rows()[0]
    together = Erasure.fit([by_source, by_topic], normalize=False).remains(models=["linear"])
    assert max(probe.after.auc for probe in together.probes) < 0.75
    assert Erasure.load(erasure.save(tmp_path / "kept")).rank == 1


def test_labels_that_cannot_be_removed_or_kept_together_are_refused() -> None:
    by_source, by_topic = labels_that_overlap(200)
    with pytest.raises(TaskError, match=r"'mean-difference' keeps no labels. Use leace\."):
        Erasure.fit(by_source, "mean-difference", keep=by_topic)
    with pytest.raises(TaskError, match=r"'densray' removes one set of labels. Use mean-difference or leace\."):
        Erasure.fit([by_source, by_topic], "densray")
    with pytest.raises(LabelError, match="200 rows of width 50 and 'topic' 100"):
        Erasure.fit([by_source, by_topic.take(np.arange(100))])
    with pytest.raises(LabelError, match="different vectors"):
        Erasure.fit([by_source, Rows.from_arrays(by_topic.X + 1.0, by_topic.y)])
    with pytest.raises(LabelError, match="too similar"):
        Erasure.fit(by_source, keep=by_source)
    with pytest.raises(TaskError, match="one direction per signal; 2 were asked for"):
        Erasure.fit([by_source, by_topic], "leace:2")


@pytest.mark.parametrize("others", [1, 3, 5])
def test_one_group_with_most_of_the_rows_is_measured_or_explained(others) -> None:
    """Whole groups are held out, and half of the rows may be a single group."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 6)) + 2.0 * y[:, None] * np.eye(6)[0]
    groups = np.array([0] * 120 + [1 + number % others for number in range(80)])
    left = Erasure.fit(Rows.from_arrays(X, y, groups=groups)).remains()
    assert left.learned_from + left.tested_on in (0, 199, 200, 201)  # on average; halves of whole groups differ
    assert left.probes or "What remains was not measured" in left.reason


def test_an_erasure_is_learned_from_rows_without_missing_numbers() -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.tile([1, -1], 10)
    with pytest.raises(
        TaskError, match=r"needs Rows, and a ndarray is given. Make them with .*Rows.from_arrays\(X, y\)"
    ):
        Erasure.fit(X, y)  # type: ignore[arg-type]
    X[4, 1] = np.nan
    for method in ("leace", "mean-difference", "inlp:2"):
        with pytest.raises(VectorError, match="NaN or infinity in 1 of 20 rows"):
            Erasure.fit(Rows.from_arrays(X, y), method, normalize=False)


def test_words_to_keep_are_a_list_and_belong_to_a_space() -> None:
    space = WordSpace(["good", "bad", "fine", "poor"], np.random.default_rng(0).normal(size=(4, 3)))
    erasure = Erasure.fit(Rows.from_arrays(space.vectors, [1, -1, 1, -1]), "mean-difference")
    with pytest.raises(TaskError, match=r"keep: 'good' is given; a list is needed. Write \['good'\]"):
        erasure.apply(space, keep="good")
    with pytest.raises(TaskError, match="names words, and a ndarray has none"):
        erasure.apply(space.vectors, keep=["good"])
    np.testing.assert_array_equal(erasure.apply(space, keep=["good"])["good"], space["good"])


def test_whole_numbers_that_recur_may_be_codes_of_classes() -> None:
    random = np.random.default_rng(0)
    codes = np.arange(60) % 4
    X = random.normal(size=(60, 5)) + 2.0 * np.eye(5)[codes]
    remark = "are 4 different whole numbers. They were removed as scores. If they stand for classes"
    assert any(remark in each for each in Erasure.fit(Rows.from_arrays(X, codes)).remarks)
    for y in (codes + 0.5, codes.astype(str), codes > 1, np.arange(60)):
        assert not any("whole numbers" in each for each in Erasure.fit(Rows.from_arrays(X, y)).remarks)


@pytest.mark.parametrize("method", ["leace", "mean-difference"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_named_when_an_erasure_is_applied(method: str, dtype: str, bad: float) -> None:
    _, rows = planted_rows(40)
    erasure = Erasure.fit(rows, method)
    X = np.asarray(rows.X, dtype=dtype)
    for column in range(X.shape[1]):
        broken = X.copy()
        broken[[3, 7], column] = bad
        with pytest.raises(VectorError, match=r"NaN or infinity in 2 of 40 rows \(first: row 3\). Drop or repair"):
            erasure.apply(broken)
    torch = pytest.importorskip("torch")
    with pytest.raises(VectorError, match="first: row 3"):
        erasure.apply(torch.from_numpy(broken))
    assert np.isfinite(erasure.apply(X)).all()


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("f4", 1e-30), ("f4", 1e-22), ("f4", 1e19), ("f4", 1e30), ("f8", 1e-170), ("f8", 1e-300), ("f8", 1e170)],
)
@pytest.mark.parametrize("method", ["leace", "mean-difference"])
def test_vectors_of_extreme_length_are_erased_as_others(dtype: str, scale: float, method: str) -> None:
    _, rows = planted_rows(40)
    X = np.asarray(rows.X, dtype=dtype)
    mixed = X.copy()
    mixed[::2] *= scale
    erasure = Erasure.fit(rows, method)
    times = np.ones((40, 1))
    if method == "mean-difference":  # linear: it needs no unit length
        times[::2] = scale
    np.testing.assert_allclose(erasure.apply(mixed) / times, erasure.apply(X), atol=2e-6, rtol=1e-5)
    learned = Erasure.fit(replace(rows, X=scale * X.astype("f8") if dtype == "f8" else X * np.float32(scale)), method)
    np.testing.assert_allclose(learned.apply(X), erasure.apply(X), atol=1e-4)


def test_numbers_that_overflow_in_an_erasure_are_refused() -> None:
    X = np.array([[1.0, 0.0], [3e38, 3e38]], dtype=np.float32)
    erasure = Erasure.of(MeanDifference().fit(np.array([[1.0, 1.0], [-1.0, -1.0]]), [1, -1]))
    with pytest.raises(VectorError, match=r"row 1 of X has numbers too large for float32. Scale the vectors"):
        erasure.apply(X)
    np.testing.assert_allclose(erasure.apply(X[:1]), [[0.5, -0.5]], atol=1e-6)


@pytest.mark.parametrize("models", [("svm",), ("Linear",), ("linear", "rfb"), (), "linear"])
def test_unknown_models_of_remains_are_refused(models: Any) -> None:
    _, rows = planted_rows(40)
    with pytest.raises(TaskError, match=r"models=.* is given; a list of some of linear, rbf, mlp is needed"):
        Erasure.fit(rows).remains(models=models)


@pytest.mark.parametrize("share", ["all", "some", "none"])
def test_a_test_on_the_rows_that_an_erasure_was_learned_from_says_so(share: str) -> None:
    random = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 100)
    X = (random.normal(size=(200, 20)) + 0.4 * y[:, None]).astype(np.float32)
    learned, unseen = (Rows.from_arrays(X[part], y[part]) for part in (slice(100), slice(100, 200)))
    tested = {"all": learned, "some": Rows.from_arrays(X[60:160].astype(np.float64), y[60:160]), "none": unseen}[share]
    remains = Erasure.fit(learned).remains(tested, models=["linear"])
    assert remains.n_learned == {"all": 100, "some": 40, "none": 0}[share]
    note = f"the erasure was learned from {remains.n_learned} of these rows, so this is no test"
    for text in (remains.headline, remains.summary):
        assert (note in text) == (share != "none")
    assert ("not seen" in remains.summary) == (share == "none")
    assert ("used to learn" in remains.table().notes[0]) == (share != "none")
    assert ("n_learned" in remains.to_dict()) == (share != "none")
    if share == "all":
        assert remains.grade == "unclear"
