"""Saved axes: they come back whole, or they are refused; any safetensors reader opens them."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from sklearn.svm import LinearSVC

from densray import Axis, DensRay, Lexicon, LinearRotation, SequentialRotation, WordSpace
from densray._files import ArchiveKind, archive_digest
from densray.errors import DensRayError, NotAdditiveError, OutputError, PersistenceError, TaskError
from densray.persistence import read_tensors, write_tensors
from densray.rotations import METHODS, MeanDifference, Rotation

Sample = tuple[NDArray[np.float64], NDArray[np.int64]]
Parts = dict[str, Any]
Change = Callable[[Parts, Parts], object]


@pytest.fixture(scope="module")
def sample() -> Sample:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) < 20, 1, -1)
    X = rng.normal(size=(60, 5))
    X[:20, 1] += 2
    return X, y


@pytest.fixture
def saved(sample: Sample, tmp_path: Path) -> Path:
    return Axis.of(DensRay().fit(*sample)).save(tmp_path / "axis")


def save(rotation: Rotation, path: Path, space: WordSpace | None = None) -> Path:
    return Axis.of(rotation, space=space).save(path)


def load(path: Path) -> Rotation:
    return Axis.load(path).rotation


def rewrite(path: Path, change: Change, *, sign: bool = True) -> None:
    """Save the file again with its description or arrays changed; sign: with the digest of the new contents."""
    with safe_open(str(path), framework="numpy") as file:
        description = {name: json.loads(text) for name, text in file.metadata().items()}
    arrays = load_file(path)
    change(description, arrays)
    if sign:
        description["digest"] = archive_digest(description, arrays)
    save_file(arrays, path, metadata={name: json.dumps(value) for name, value in description.items()})


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_comes_back_with_all_it_learned(sample: Sample, tmp_path: Path, name: str) -> None:
    X, y = sample
    rotation = METHODS[name].make(1).fit(X, y)
    loaded = load(save(rotation, tmp_path / "axis"))
    assert repr(loaded) == repr(rotation)
    np.testing.assert_array_equal(loaded.transform(X), rotation.transform(X))
    np.testing.assert_array_equal(loaded.erase(X), rotation.erase(X))
    assert loaded.get_feature_names_out().tolist() == rotation.get_feature_names_out().tolist()


def test_nested_estimators_names_and_text_labels_come_back(sample: Sample, tmp_path: Path) -> None:
    X, y = sample
    inside = LinearRotation(LinearSVC(C=0.5, random_state=0))
    rotation = SequentialRotation(inside, names=["gender"]).fit(X, y)
    loaded = load(save(rotation, tmp_path / "a"))
    assert loaded.rotation.estimator.C == 0.5
    assert loaded.get_feature_names_out()[0] == "gender"
    text = DensRay(1, weights=(0.5, 0.5)).fit(X, np.where(y > 0, "woman", "man"))
    again = load(save(text, tmp_path / "b"))
    assert again.classes_.tolist() == ["man", "woman"]
    assert again.weights == (0.5, 0.5)


def test_components_in_fortran_order_come_back(sample: Sample, tmp_path: Path) -> None:
    rotation = DensRay().fit(*sample)
    rotation.components_ = np.asfortranarray(rotation.components_)
    assert not rotation.components_.flags.c_contiguous  # the control
    np.testing.assert_array_equal(load(save(rotation, tmp_path / "a")).components_, rotation.components_)


def test_arrays_in_any_memory_order_come_back(tmp_path: Path) -> None:
    kind = ArchiveKind("densray-test", 1, "test", "Write it again.")
    matrix = np.arange(12.0).reshape(3, 4)
    arrays = {"fortran": np.asfortranarray(matrix), "strided": matrix[::2, ::-1], "flat": np.arange(3, dtype=np.uint8)}
    contents = read_tensors(write_tensors(tmp_path / "a", kind, {"é": [1, None, 0.1]}, arrays), kind)
    assert contents.value("é", list) == [1, None, 0.1]
    for name, array in arrays.items():
        np.testing.assert_array_equal(contents.arrays[name], array)


def test_any_safetensors_reader_sees_what_the_axis_is(sample: Sample, tmp_path: Path) -> None:
    space = WordSpace([f"w{i}" for i in range(60)], sample[0], name="toy")
    rotation = DensRay(1).fit(*sample)
    path = save(rotation, tmp_path / "a", space)
    assert path.suffix == ".safetensors"
    with safe_open(str(path), framework="numpy") as file:
        described = {name: json.loads(text) for name, text in file.metadata().items()}
        np.testing.assert_array_equal(file.get_tensor("components_"), rotation.components_)
    assert (described["format"], described["class"], described["width"]) == ("densray-axis", "DensRay", 5)
    assert described["parameters"]["n_components"] == 1
    assert (described["space"]["name"], described["space"]["words"]) == ("toy", 60)
    assert described["space"]["fingerprint"] == space.fingerprint()


def test_another_ending_is_refused(sample: Sample, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"Use axis\.safetensors"):
        save(DensRay(1).fit(*sample), tmp_path / "axis.npz")


def test_another_space_is_noticed(sample: Sample, tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(60)]
    space = WordSpace(words, sample[0], name="toy")
    path = save(DensRay(1).fit(*sample), tmp_path / "a", space)
    Axis.load(path, space)
    with pytest.raises(PersistenceError, match=r"fitted on 'toy' \(60 words\), and other is another space"):
        Axis.load(path, WordSpace(words, sample[0] + 1, name="other"))
    assert Axis.load(path, WordSpace(words, sample[0] + 1), any_space=True).width == 5
    for any_space in (False, True):
        with pytest.raises(PersistenceError, match="width 5, and the width of 'narrow' is 4"):
            Axis.load(path, WordSpace(words, sample[0][:, :4], name="narrow"), any_space=any_space)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0])
def test_another_scale_is_refused_where_lengths_matter(
    sample: Sample, tmp_path: Path, normalize: bool, scale: float
) -> None:
    words = [f"w{i}" for i in range(60)]
    rotation, space = DensRay(1).fit(*sample), WordSpace(words, sample[0], name="toy")
    path = Axis.of(rotation, space=space, normalize=normalize).save(tmp_path / "a")
    scaled = WordSpace(words[:50], scale * sample[0][:50], name="scaled")
    if normalize or scale == 1.0:
        Axis.load(path, scaled)
    else:
        with pytest.raises(PersistenceError, match="other lengths"):
            Axis.load(path, scaled)
    assert Axis.load(path, scaled, any_space=True).width == 5
    assert ("space_lengths" in load_file(path)) is not normalize


def test_a_fitted_axis_without_unit_length_refuses_another_scale(sample: Sample, tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(60)]
    space = WordSpace(words, sample[0], name="toy")
    lexicon = Lexicon(dict(zip(words, sample[1].tolist(), strict=True)))
    path = Axis.fit(lexicon.align(space), normalize=False).save(tmp_path / "a", judge=False)
    Axis.load(path, WordSpace(words, sample[0].astype(np.float16).astype(np.float32), name="rounded"))
    with pytest.raises(PersistenceError, match="other lengths"):
        Axis.load(path, WordSpace(words, 10 * sample[0], name="scaled"))


def test_a_part_of_the_space_is_recognised_and_a_changed_word_is_noticed(sample: Sample, tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(60)]
    space = WordSpace(words, sample[0], name="toy")
    path = save(DensRay(1).fit(*sample), tmp_path / "a", space)
    accepted = [
        space.subset(words[7:20]),
        WordSpace(words, 3 * space.vectors),  # directions count, not lengths
        WordSpace([*words, "more"], [*space.vectors, np.ones(5)]),
    ]
    turned = space.vectors.copy()
    turned[30] = turned[30, ::-1]
    refused = [
        WordSpace(words, turned),
        WordSpace(["other"], space.vectors[:1]),  # nothing in common
        *(WordSpace(words, space.vectors[:, :width]) for width in (3, 4)),
    ]
    for each in accepted:
        Axis.load(path, each)
    for each in refused:
        with pytest.raises(PersistenceError):
            Axis.load(path, each)
    bare = save(DensRay(1).fit(*sample), tmp_path / "b")
    assert Axis.load(bare, space).space_record is None


@pytest.mark.parametrize("lost", ["fingerprint", "sample", "space_sample"])
def test_a_file_that_lost_its_record_of_the_space_is_refused(sample: Sample, tmp_path: Path, lost: str) -> None:
    def lose(description: Parts, arrays: Parts) -> None:
        description["space"].pop(lost, None)
        arrays.pop(lost, None)

    space = WordSpace([f"w{i}" for i in range(60)], sample[0])
    path = save(DensRay(1).fit(*sample), tmp_path / "a", space)
    rewrite(path, lose)
    with pytest.raises(PersistenceError, match=lost):
        load(path)


WRONG: dict[str, Change] = {
    "a method that is not text": lambda description, arrays: description.update(method=3),
    "a verdict that is text": lambda description, arrays: description.update(verdict="good"),
    "no parameters": lambda description, arrays: description.pop("parameters"),
    "an unknown parameter": lambda description, arrays: description["parameters"].update(unheard_of=1),
    "an estimator without parameters": lambda description, arrays: description["parameters"].update(
        weights={"class": "DensRay"}
    ),
    "no learned values": lambda description, arrays: description.pop("learned"),
    "another width": lambda description, arrays: description.update(width=4),
    "a width that is a truth value": lambda description, arrays: description.update(width=True),
    "another number of features": lambda description, arrays: description["learned"].update(n_features_in_=7),
    "three names of two ends": lambda description, arrays: description.update(label_names=["a", "b", "c"]),
    "names of the ends that are numbers": lambda description, arrays: description.update(label_names=[1, 2]),
    "a name too many": lambda description, arrays: description["axis_names"].append("more"),
    "eigenvalues of fewer axes": lambda description, arrays: arrays.update(eigenvalues_=arrays["eigenvalues_"][:2]),
    "eigenvalues that are not numbers": lambda description, arrays: arrays.update(eigenvalues_=np.full(5, np.nan)),
    "values that no rotation learns": lambda description, arrays: description["learned"].update(transform_=1, fit=2),
    "axes that are not orthonormal": lambda description, arrays: arrays.update(components_=np.ones((5, 5))),
    "axes of another width": lambda description, arrays: arrays.update(components_=np.eye(4)),
    "axes in single precision": lambda description, arrays: arrays.update(components_=np.eye(5, dtype=np.float32)),
    "a calibration alone": lambda description, arrays: arrays.update(calibration=np.ones(8)),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_file_with_the_right_digest_and_wrong_contents_is_refused(saved: Path, change: Change) -> None:
    rewrite(saved, change)
    with pytest.raises(PersistenceError, match="axis"):
        load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda description, arrays: description.update(format_version=99), "format version 99"),
        (lambda description, arrays: description.update(format="other"), "holds 'other'"),
        (lambda description, arrays: description.update({"class": "DensRai"}), "Did you mean 'DensRay'"),
    ],
)
def test_a_file_of_another_kind_or_version_is_refused(saved: Path, change: Change, message: str) -> None:
    rewrite(saved, change)
    with pytest.raises(PersistenceError, match=message):
        load(saved)


def test_a_changed_file_is_refused(saved: Path) -> None:
    rewrite(saved, lambda description, arrays: arrays.update(eigenvalues_=arrays["eigenvalues_"] + 1), sign=False)
    with pytest.raises(PersistenceError, match="do not match their digest"):
        load(saved)


def test_an_old_npz_axis_is_refused_with_instructions(tmp_path: Path) -> None:
    np.savez(tmp_path / "old.npz", header=np.zeros(3, dtype=np.uint8), components_=np.eye(3))
    with pytest.raises(PersistenceError, match=r"\.npz files, which are no longer read\. Fit it again: densray fit"):
        load(tmp_path / "old.npz")


def test_files_that_are_not_axes_are_refused(tmp_path: Path) -> None:
    cases = {
        "empty.safetensors": b"",
        "text.safetensors": b"good\t1\nbad\t-1\n",
        "pickle.safetensors": pickle.dumps({"components_": 1}),
        "deep.safetensors": (100_000).to_bytes(8, "little") + b'{"a":' + b"[" * 99_995,
        "huge.safetensors": (1 << 62).to_bytes(8, "little") + b"{}",
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
    save_file({"a": np.ones(3)}, tmp_path / "arrays.safetensors")
    save_file({"a": np.ones(3)}, tmp_path / "nested.safetensors", metadata={"format": "[" * 100_000})
    for name in (*cases, "arrays.safetensors", "nested.safetensors", "missing.safetensors"):
        with pytest.raises(PersistenceError, match=name):
            load(tmp_path / name)


def test_a_truncated_or_mutated_file_is_refused_or_equal(sample: Sample, tmp_path: Path) -> None:
    space = WordSpace([f"w{i}" for i in range(60)], sample[0])
    path = save(DensRay(2).fit(*sample), tmp_path / "a", space)
    content, expected, rng = path.read_bytes(), load(path), np.random.default_rng(7)
    refused = 0
    for number in range(300):
        changed = bytearray(content)
        if number % 3 == 0:
            del changed[int(rng.integers(len(content))) :]
        elif number % 3 == 1:
            changed[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
        else:
            start = int(rng.integers(len(content)))
            changed[start : start + int(rng.integers(1, 40))] = rng.bytes(int(rng.integers(0, 40)))
        path.write_bytes(changed)
        try:
            loaded = load(path)
        except PersistenceError:
            refused += 1
            continue
        np.testing.assert_array_equal(loaded.components_, expected.components_)
        np.testing.assert_array_equal(loaded.eigenvalues_, expected.eigenvalues_)
    assert refused > 250  # the control


def test_only_scikit_learn_and_our_own_classes_are_made_from_a_file(sample: Sample, tmp_path: Path) -> None:
    path = save(LinearRotation(LinearSVC()).fit(*sample), tmp_path / "a")
    rewrite(path, lambda description, arrays: description["parameters"]["estimator"].update({"class": "os.system"}))
    with pytest.raises(PersistenceError, match=r"'os\.system', neither a rotation nor part of scikit-learn"):
        load(path)


def test_an_existing_file_stays_unless_overwrite_is_given(sample: Sample, saved: Path) -> None:
    before, axis = saved.read_bytes(), Axis.of(DensRay(1).fit(*sample))
    with pytest.raises(OutputError, match=r"exists already. Pass overwrite=True"):
        axis.save(saved)
    assert saved.read_bytes() == before
    axis.save(saved, overwrite=True)
    assert load(saved).components_.shape == (1, 5)


def test_a_write_that_fails_leaves_the_old_file_whole(
    sample: Sample, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OutputError, match="No space left on device"):
        Axis.of(DensRay(1).fit(*sample)).save(saved, overwrite=True)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_an_axis_that_cannot_be_saved_is_named(sample: Sample, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"DensRay is not fitted\. Call fit first"):
        Axis.of(DensRay())
    odd = DensRay(1).fit(*sample)
    odd.weights = {1, 2}
    with pytest.raises(DensRayError, match="cannot be saved"):
        save(odd, tmp_path / "a")


def test_a_loaded_rotation_cannot_be_fitted_further(sample: Sample, saved: Path) -> None:
    with pytest.raises(NotAdditiveError, match="has no statistics"):
        load(saved).partial_fit(*sample)


def test_a_mean_difference_of_two_rows_is_saved(tmp_path: Path) -> None:
    rotation = MeanDifference().fit(np.array([[1.0, 0.0], [0.0, 1.0]]), [1, -1])
    np.testing.assert_array_equal(load(save(rotation, tmp_path / "a")).components_, rotation.components_)
