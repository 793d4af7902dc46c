"""Rotations on disk: they come back whole, or not at all."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from densray import DensRay, LinearRotation, SequentialRotation, WordSpace, load_rotation, save_rotation
from densray._files import archive_digest
from densray.errors import DensRayError, NotAdditiveError, OutputError, PersistenceError, RotationNotFittedError
from densray.persistence import AxisFile
from densray.rotations import METHODS, MeanDifference


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) < 20, 1, -1)
    X = rng.normal(size=(60, 5))
    X[:20, 1] += 2
    return X, y


@pytest.fixture
def saved(sample, tmp_path):
    return save_rotation(DensRay().fit(*sample), tmp_path / "axis.npz")


def rewrite(path, change):
    """Save the file again with its parts changed."""
    with np.load(path) as file:
        parts = dict(file)
    header = json.loads(bytes(parts["header"]))
    change(header, parts)
    parts["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **parts)


def sign(header, parts):
    """Give the header the digest of what is in the file now."""
    header["digest"] = archive_digest(header, {name: parts[name] for name in parts if name != "header"})


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_comes_back_with_all_it_learned(sample, tmp_path, name):
    X, y = sample
    rotation = METHODS[name].make(1).fit(X, y)
    loaded = load_rotation(save_rotation(rotation, tmp_path / "axis.npz"))
    assert repr(loaded) == repr(rotation)
    np.testing.assert_array_equal(loaded.transform(X), rotation.transform(X))
    np.testing.assert_array_equal(loaded.erase(X), rotation.erase(X))
    assert loaded.get_feature_names_out().tolist() == rotation.get_feature_names_out().tolist()


def test_nested_estimators_names_and_text_labels_come_back(sample, tmp_path):
    X, y = sample
    inside = LinearRotation(LinearSVC(C=0.5, random_state=0))
    rotation = SequentialRotation(inside, names=["gender"]).fit(X, y)
    loaded = load_rotation(save_rotation(rotation, tmp_path / "a"))
    assert loaded.rotation.estimator.C == 0.5
    assert loaded.get_feature_names_out()[0] == "gender"
    text = DensRay(1, weights=(0.5, 0.5)).fit(X, np.where(y > 0, "woman", "man"))
    again = load_rotation(save_rotation(text, tmp_path / "b"))
    assert again.classes_.tolist() == ["man", "woman"]
    assert again.weights == (0.5, 0.5)


def test_the_header_says_what_the_axis_is(sample, tmp_path):
    space = WordSpace([f"w{i}" for i in range(60)], sample[0], name="toy")
    path = save_rotation(DensRay(1).fit(*sample), tmp_path / "a.npz", space=space, label_names=("bad", "good"))
    header = AxisFile.read(path).header
    assert header["method"] == "DensRay"
    assert header["parameters"]["n_components"] == 1
    assert header["label_names"] == ["bad", "good"]
    assert header["width"] == 5
    assert header["space"] == {"name": "toy", "words": 60, "fingerprint": space.fingerprint()}


def test_another_space_is_noticed(sample, tmp_path):
    words = [f"w{i}" for i in range(60)]
    space = WordSpace(words, sample[0], name="toy")
    path = save_rotation(DensRay(1).fit(*sample), tmp_path / "a.npz", space=space)
    load_rotation(path, space=space)
    with pytest.raises(PersistenceError, match=r"fitted on 'toy' \(60 words\), and other is another space"):
        load_rotation(path, space=WordSpace(words, sample[0] + 1, name="other"))
    assert load_rotation(path, space=WordSpace(words, sample[0] + 1), any_space=True).components_.shape == (1, 5)
    with pytest.raises(PersistenceError, match="width 5; narrow has 4"):
        load_rotation(path, space=WordSpace(words, sample[0][:, :4], name="narrow"))


def test_a_part_of_the_space_is_known_and_a_changed_word_is_noticed(sample, tmp_path):
    words = [f"w{i}" for i in range(60)]
    space = WordSpace(words, sample[0], name="toy")
    path = save_rotation(DensRay(1).fit(*sample), tmp_path / "a.npz", space=space)
    assert AxisFile.read(path).fits(space.subset(words[7:20]))
    assert AxisFile.read(path).fits(WordSpace(words, 3 * space.vectors))  # directions count, not lengths
    assert AxisFile.read(path).fits(WordSpace([*words, "more"], [*space.vectors, np.ones(5)]))
    turned = space.vectors.copy()
    turned[30] = turned[30, ::-1]
    assert not AxisFile.read(path).fits(WordSpace(words, turned))
    assert not AxisFile.read(path).fits(WordSpace(["other"], space.vectors[:1]))  # nothing in common
    for width in (3, 4):
        assert not AxisFile.read(path).fits(WordSpace(words, space.vectors[:, :width]))  # narrower than the sample
    bare = save_rotation(DensRay(1).fit(*sample), tmp_path / "b.npz")
    assert AxisFile.read(bare).fits(space)  # of no space that is known


@pytest.mark.parametrize("lost", ["fingerprint", "sample"])
def test_a_file_that_lost_what_it_says_of_its_space_is_refused(sample, tmp_path, lost):
    def lose(header, parts):
        header["space"].pop(lost, None)
        if lost == "sample":
            parts.pop("attached.space sample")
        sign(header, parts)

    space = WordSpace([f"w{i}" for i in range(60)], sample[0])
    path = save_rotation(DensRay(1).fit(*sample), tmp_path / "a.npz", space=space)
    rewrite(path, lose)
    with pytest.raises(PersistenceError, match=f"its '.*{lost}' is missing or cannot be read"):
        load_rotation(path)


WRONG = {
    "notes as text": lambda header, parts: header.update(notes="none"),
    "a method that is no text": lambda header, parts: header["notes"].update(method=3),
    "no parameters": lambda header, parts: header.pop("parameters"),
    "a parameter nobody has": lambda header, parts: header["parameters"].update(unheard_of=1),
    "an estimator without parameters": lambda header, parts: header["parameters"].update(weights={"class": "DensRay"}),
    "no learned values": lambda header, parts: header.pop("learned"),
    "another width": lambda header, parts: header.update(width=4),
    "a width that is a truth value": lambda header, parts: header.update(width=True),
    "another number of features": lambda header, parts: header["learned"].update(n_features_in_=7),
    "three names of two ends": lambda header, parts: header.update(label_names=["a", "b", "c"]),
    "names of the ends that are numbers": lambda header, parts: header.update(label_names=[1, 2]),
    "a name too many": lambda header, parts: header["axis_names"].append("more"),
    "eigenvalues of fewer axes": lambda header, parts: parts.update(eigenvalues_=parts["eigenvalues_"][:2]),
    "eigenvalues that are no numbers": lambda header, parts: parts.update(eigenvalues_=np.full(5, np.nan)),
    "something no rotation learns": lambda header, parts: header["learned"].update(transform_=1, fit=2),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_file_with_a_right_digest_and_wrong_contents_is_refused(saved, change):
    rewrite(saved, lambda header, parts: (change(header, parts), sign(header, parts)))
    with pytest.raises(PersistenceError) as refused:
        load_rotation(saved)
    assert "Fit an axis and save it." in str(refused.value)


def test_a_changed_file_is_refused(saved):
    def tamper(header, parts):
        parts["eigenvalues_"] = parts["eigenvalues_"] + 1

    rewrite(saved, tamper)
    with pytest.raises(PersistenceError, match="do not match their digest"):
        load_rotation(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, parts: header.update(format_version=99), "format version 99"),
        (lambda header, parts: header.update(format="other"), "holds 'other'"),
        (lambda header, parts: header.update(method="DensRai"), "Did you mean 'DensRay'"),
    ],
)
def test_a_wrong_header_is_refused(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(PersistenceError, match=message):
        load_rotation(saved)


@pytest.mark.parametrize(
    ("components", "message"),
    [
        (np.ones((5, 5)), "not orthonormal"),
        (np.eye(4), "float64 rows of width 5"),
        (np.eye(5, dtype=np.float32), "float32"),
    ],
)
def test_axes_that_do_not_rotate_are_refused_even_with_a_right_digest(saved, components, message):
    def replace(header, parts):
        parts["components_"] = components
        header["digest"] = archive_digest(header, {name: parts[name] for name in parts if name != "header"})

    rewrite(saved, replace)
    with pytest.raises(PersistenceError, match=message):
        load_rotation(saved)


def test_files_that_are_no_rotation_are_refused(tmp_path):
    cases = {
        "empty.npz": b"",
        "text.npz": b"good\t1\nbad\t-1\n",
        "pickle.npz": pickle.dumps({"components_": 1}),
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    np.savez(tmp_path / "objects.npz", header=np.array([{"a": 1}], dtype=object))
    np.save(tmp_path / "bare.npy", np.ones(3))
    for name in (*cases, "arrays.npz", "objects.npz", "bare.npy", "missing.npz"):
        with pytest.raises(PersistenceError, match=name):
            load_rotation(tmp_path / name)


def test_a_truncated_file_is_refused(saved):
    saved.write_bytes(saved.read_bytes()[:-200])
    with pytest.raises(PersistenceError, match="is not a readable rotation"):
        load_rotation(saved)


def test_only_scikit_learn_and_our_own_classes_are_made_from_a_file(sample, tmp_path):
    path = save_rotation(LinearRotation(LinearSVC()).fit(*sample), tmp_path / "a.npz")

    def swap(header, parts):
        header["parameters"]["estimator"]["class"] = "os.system"
        header["digest"] = archive_digest(header, {name: parts[name] for name in parts if name != "header"})

    rewrite(path, swap)
    with pytest.raises(PersistenceError, match=r"'os\.system', neither a rotation nor part of scikit-learn"):
        load_rotation(path)


def test_an_existing_file_stays_unless_told_otherwise(sample, saved):
    before = saved.read_bytes()
    with pytest.raises(OutputError, match=r"exists. Pass overwrite=True"):
        save_rotation(DensRay(1).fit(*sample), saved)
    assert saved.read_bytes() == before
    save_rotation(DensRay(1).fit(*sample), saved, overwrite=True)
    assert load_rotation(saved).components_.shape == (1, 5)


def test_a_write_that_fails_leaves_the_old_file_whole(sample, saved, monkeypatch):
    before = saved.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OutputError, match="No space left on device"):
        save_rotation(DensRay(1).fit(*sample), saved, overwrite=True)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_what_cannot_be_saved_is_said(sample, tmp_path):
    with pytest.raises(RotationNotFittedError, match="Call fit before saving"):
        save_rotation(DensRay(), tmp_path / "a.npz")
    odd = DensRay(1).fit(*sample)
    odd.weights = {1, 2}
    with pytest.raises(DensRayError, match="cannot be saved"):
        save_rotation(odd, tmp_path / "a.npz")


def test_a_loaded_rotation_does_not_pretend_to_know_its_rows(sample, saved):
    with pytest.raises(NotAdditiveError, match="carries no statistics"):
        load_rotation(saved).partial_fit(*sample)


def test_attachments_travel_beside_the_rotation_and_are_covered_by_the_digest(tmp_path: Path) -> None:
    rotation = MeanDifference().fit(np.array([[1.0, 0.0], [0.0, 1.0]]), [1, -1])
    path = save_rotation(
        rotation, tmp_path / "axis", attachments={"resampled": np.ones((3, 2)), "flag": np.array(True)}
    )
    attached = AxisFile.read(path).attachments
    assert attached["resampled"].shape == (3, 2)
    assert attached["flag"].shape == ()
    loaded = load_rotation(path)
    assert not any("resampled" in name for name in vars(loaded))
    arrays = dict(np.load(path))
    arrays["attached.resampled"] = 2 * arrays["attached.resampled"]
    np.savez(path, **arrays)
    with pytest.raises(PersistenceError, match="digest"):
        load_rotation(path)


def _nested(archive: zipfile.ZipFile) -> None:
    with archive.open("header.npy", "w") as member:
        np.save(member, np.frombuffer(b"[" * 100_000, dtype=np.uint8))


@pytest.mark.parametrize("write", [_nested, lambda archive: archive.writestr("notes.txt", "hello")])
def test_an_archive_of_other_things_is_no_rotation(write: Callable[[zipfile.ZipFile], None], tmp_path: Path) -> None:
    rotation = MeanDifference().fit(np.array([[1.0, 0.0], [0.0, 1.0]]), [1, -1])
    path = save_rotation(rotation, tmp_path / "axis")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "odd.npz", "w") as new:
        write(new)
        for name in set(old.namelist()) - set(new.namelist()):
            new.writestr(name, old.read(name))
    with pytest.raises(PersistenceError, match=r"odd\.npz"):
        load_rotation(tmp_path / "odd.npz")
