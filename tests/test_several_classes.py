"""Several classes: one axis per class, and an accuracy that beats chance only where there is something to find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from densray import Axis, Rows
from densray.axes import diagnose_classes
from densray.errors import LabelError, OutputError
from densray.metrics import balanced_accuracy, balanced_accuracy_interval

N, WIDTH = 150, 8
LABELS = np.array(["de", "en", "fr"])[np.arange(N) % 3]


def make_rows(signal: float, *, groups=None, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, WIDTH)) + signal * np.eye(WIDTH)[np.arange(N) % 3]
    return Rows.from_arrays(X, LABELS, groups=groups, concept="language")


def test_different_classes_are_distinguished_and_noise_is_not() -> None:
    found = diagnose_classes(make_rows(4.0), "mean-difference")
    assert found.interval.low > 0.8
    assert [row["class"] for row in found.classes] == ["de", "en", "fr"]
    assert "can be told apart" in found.text()
    noise = diagnose_classes(make_rows(0.0), "mean-difference")
    assert noise.interval.low < noise.chance < noise.interval.high
    assert "cannot" in noise.text()


def test_groups_are_held_out_together() -> None:
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(N // 5, 60)), 5, axis=0) + 0.05 * rng.normal(size=(N, 60))
    labels = np.repeat(np.array(["a", "b", "c"])[rng.integers(0, 3, N // 5)], 5)
    authors = np.repeat(np.arange(N // 5), 5)
    alone = diagnose_classes(Rows.from_arrays(X, labels), "mean-difference")
    together = diagnose_classes(Rows.from_arrays(X, labels, groups=authors), "mean-difference")
    assert alone.accuracy > 0.8, "without groups, one copy gives the other away"
    assert together.interval.low < together.chance
    assert together.n_groups == N // 5


def test_two_classes_and_scores_have_one_axis() -> None:
    with pytest.raises(LabelError, match=r"Axis\.fit"):
        diagnose_classes(Rows.from_arrays(np.eye(4), ["a", "b", "a", "b"]))


def test_a_rare_class_counts_as_much_as_a_common_one() -> None:
    classes = [0] * 98 + [1] * 2
    assert balanced_accuracy(classes, [0] * 100) == 0.5


def test_the_interval_covers_the_true_accuracy() -> None:
    rng = np.random.default_rng(0)
    classes, truth = np.arange(120) % 3, 0.7
    covered = 0
    for _ in range(400):
        right = rng.random(120) < truth
        low, high = balanced_accuracy_interval(classes, np.where(right, classes, (classes + 1) % 3))
        covered += low <= truth <= high
    assert 0.92 <= covered / 400 <= 0.98


def test_the_interval_of_perfect_answers_excludes_one() -> None:
    low, high = balanced_accuracy_interval([0, 1, 2] * 10, [0, 1, 2] * 10)
    assert 0.8 < low < 0.95
    assert high == 1.0


def test_a_class_has_the_grade_of_its_saved_axis(tmp_path: Path) -> None:
    found = diagnose_classes(make_rows(0.3), "mean-difference")
    for row in found.classes:
        axis = found.axes[row["class"]]
        saved = Axis.load(axis.save(tmp_path / row["class"]))
        assert saved.verdict is not None
        assert row["grade"] == saved.verdict.grade
    assert any(row["low"] <= 0.5 for row in found.classes)  # otherwise there was nothing to get wrong
    assert all(row["grade"] in ("none", "unclear") for row in found.classes if row["low"] <= 0.5)


def test_each_axis_is_saved_under_the_name_of_its_class(tmp_path: Path) -> None:
    found = diagnose_classes(make_rows(4.0), "mean-difference")
    (tmp_path / "axis-fr.safetensors").touch()
    with pytest.raises(OutputError, match=r"axis-fr\.safetensors"):
        found.save(tmp_path / "axis")
    assert len(list(tmp_path.iterdir())) == 1  # checked before anything is written
    done: list[tuple[int, int | None]] = []
    paths = found.save(tmp_path / "axis", overwrite=True, progress=lambda *count: done.append(count))
    assert [path.name for path in paths] == [f"axis-{name}.safetensors" for name in ("de", "en", "fr")]
    assert done == [(1, 3), (2, 3), (3, 3)]
    np.testing.assert_allclose(Axis.load(paths[1]).direction, found.axes["en"].direction)
