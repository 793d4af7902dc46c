"""Axes on disk: rotations as arrays and a JSON header, never a pickle, with a sample of the space they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from densray._files import ArchiveKind, Contents, read_archive, write_archive
from densray._vocabulary import spread_rows, unit_rows
from densray.errors import PersistenceError, RotationNotFittedError, suggest

if TYPE_CHECKING:
    from densray.rotations import Rotation
    from densray.space import WordSpace

__all__ = ["AxisFile", "encode_parameters", "load_rotation", "rotation_classes", "save_rotation"]


def rotation_classes() -> dict[str, type]:
    """Return the rotations by the name of their class: the public ones, and those in the table of methods."""
    from densray import rotations

    public = (getattr(rotations, name) for name in rotations.__all__)
    named = (type(method.make(1)) for method in rotations.METHODS.values())
    return {
        value.__name__: value
        for value in (*public, *named)
        if isinstance(value, type) and issubclass(value, rotations.Rotation) and value is not rotations.Rotation
    }


def encode_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the constructor's parameters as values JSON can hold."""
    return {name: _encode(value) for name, value in estimator.get_params(deep=False).items()}


def decode_parameters(encoded: dict[str, Any]) -> dict[str, Any]:
    """Return parameters from what :func:`encode_parameters` returned."""
    return {name: _decode(value) for name, value in encoded.items()}


def _encode(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_encode(item) for item in value]
    if isinstance(value, BaseEstimator):
        return {"class": type(value).__name__, "parameters": encode_parameters(value)}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # its state was used up by the fit
    raise PersistenceError(
        f"the parameter value {value!r} cannot be saved. Use numbers, text, or scikit-learn estimators."
    )


def _decode(value: object) -> object:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if isinstance(value, dict):
        known = {**_scikit_learn_estimators(), **rotation_classes()}
        if value.get("class") not in known:
            raise PersistenceError(
                f"the file names the estimator {value.get('class')!r}, neither a rotation nor part of scikit-learn. "
                "Only those are made from a file."
            )
        return known[value["class"]](**decode_parameters(value["parameters"]))
    return value


@cache
def _scikit_learn_estimators() -> dict[str, type]:
    from sklearn.utils.discovery import all_estimators

    return dict(all_estimators())


#: Words whose vectors are stored with a rotation, and how many coordinates of each.
SAMPLED_WORDS, SAMPLED_COORDINATES = 1_024, 8
#: What a coordinate of a unit vector may differ by: half precision and rounded text files stay below it.
SAMPLE_TOLERANCE = 2e-3


def sample_space(space: WordSpace) -> tuple[list[str], NDArray[np.float32]]:
    """Return words spread evenly over a space, and the first coordinates of their vectors at unit length."""
    rows = [row for row in spread_rows(len(space), SAMPLED_WORDS).tolist() if _is_text(space.words[row])]
    return [space.words[row] for row in rows], _first_coordinates(space.vectors[rows])


def matches_sample(space: WordSpace, words: Sequence[str], coordinates: NDArray[np.float32]) -> bool:
    """Return whether a space has some of the words of a sample, and each of them points where it did in the sample.

    A part of a space matches the sample of the whole, and its vectors may have been scaled; a space without a common
    word, or in which one of them points elsewhere, is another one.
    """
    rows = space.locate(words)
    shared = np.flatnonzero(rows >= 0)
    found = _first_coordinates(space.vectors[rows[shared]])
    if not shared.size or found.shape[1:] != coordinates.shape[1:]:
        return False
    return bool(np.abs(found - coordinates[shared]).max() <= SAMPLE_TOLERANCE)


def _first_coordinates(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = unit_rows(np.asarray(vectors, dtype=np.float64))
    return np.ascontiguousarray(unit[:, :SAMPLED_COORDINATES], dtype=np.float32)


def _is_text(word: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in word)  # halves of letters cannot be written


_KIND = ArchiveKind("densray-rotation", 1, "rotation", "Fit an axis and save it.")
_ATTACHED = "attached."
_SAMPLE = _ATTACHED + "space sample"
#: Learned attributes that stay in memory: additive statistics and the parts of a sequence.
_NOT_SAVED = frozenset({"moments_", "rotations_"})
#: Learned arrays of a known length: one entry per axis, or per coordinate.
_PER_AXIS, _PER_COORDINATE = frozenset({"eigenvalues_"}), frozenset({"feature_names_in_", "scale_"})


def save_rotation(
    rotation: Rotation,
    path: str | Path,
    *,
    space: WordSpace | None = None,
    label_names: tuple[str, str] | None = None,
    attachments: Mapping[str, NDArray[Any]] | None = None,
    notes: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a fitted rotation; an interrupted write leaves the old file whole.

    Parameters
    ----------
    rotation : fitted rotation
    path : path
        Where to write; the suffix ``.npz`` is added if there is none.
    space : WordSpace, optional
        The space it was fitted on: its name, its fingerprint and a sample of its words are stored, so that another
        space is noticed and a part of this one is not refused.
    label_names : pair of str, optional
        What the low and the high end of axis 0 are called.
    attachments : mapping of str to array, optional
        Arrays that belong to the rotation and are no part of it, such as the errors of an axis.
    notes : mapping, optional
        What else is to be known of it, as JSON can write it; in the header under ``notes``.
    overwrite : bool, default=False
    """
    if not hasattr(rotation, "components_"):
        raise RotationNotFittedError(f"this {type(rotation).__name__} is not fitted. Call fit before saving it.")
    path = Path(path)
    path = path if path.suffix else path.with_suffix(".npz")
    arrays, values = _learned(rotation)
    for name, array in (attachments or {}).items():
        arrays[_ATTACHED + name] = np.ascontiguousarray(array).reshape(np.shape(array))
    header: dict[str, Any] = {
        "method": type(rotation).__name__,
        "parameters": encode_parameters(rotation),
        "learned": values,
        "axis_names": [str(name) for name in rotation.get_feature_names_out()],
        "label_names": None if label_names is None else list(label_names),
        "width": int(rotation.components_.shape[1]),
        "space": None
        if space is None
        else {"name": space.name, "words": len(space), "fingerprint": space.fingerprint()},
        "sample": [],
        "notes": dict(notes or {}),
    }
    if space is not None:
        header["sample"], arrays[_SAMPLE] = sample_space(space)
    write_archive(path, _KIND, header, arrays, overwrite=overwrite)
    return path


def load_rotation(path: str | Path, *, space: WordSpace | None = None, any_space: bool = False) -> Rotation:
    """Return a rotation from its file, ready to transform.

    Parameters
    ----------
    path : path
    space : WordSpace, optional
        The space it will be used on: another width, or another space than it was fitted on, is an error.
    any_space : bool, default=False
        Whether another space of the same width will do.
    """
    file = AxisFile.read(path)
    if space is not None:
        file.check_space(space, any_space=any_space)
    return file.rotation


@dataclass(frozen=True)
class AxisFile:
    """What a file of an axis holds, read once.

    Attributes
    ----------
    path : Path
    header : dict
        What the file says of its rotation: method, parameters, label names, width, space, notes.
    arrays : dict of arrays
    sha256 : str
        Of the bytes of the file.
    """

    path: Path
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    sha256: str

    @classmethod
    def read(cls, path: str | Path) -> AxisFile:
        """Return what a file holds; one that is damaged, changed or not an axis is a named error."""
        path, hasher = Path(path), hashlib.sha256()
        header, arrays = read_archive(path, _KIND, check_header=partial(_check_method, path), hasher=hasher)
        _check_contents(Contents(path, _KIND, header, arrays))
        return cls(path, header, arrays, hasher.hexdigest())

    @property
    def contents(self) -> Contents:
        """What was saved beside the rotation, to be asked for by name and type."""
        return Contents(self.path, _KIND, self.header["notes"], self.attachments)

    @property
    def method(self) -> str:
        """The name of the method that found the axis, or of the class of the rotation."""
        return str(self.header["notes"].get("method") or self.header["method"])

    @property
    def label_names(self) -> tuple[str, str] | None:
        """What the low and the high end of axis 0 are called."""
        names = self.header["label_names"]
        return None if names is None else (str(names[0]), str(names[1]))

    @property
    def attachments(self) -> dict[str, NDArray[Any]]:
        """The arrays that were saved beside the rotation, by name."""
        attached = {name: array for name, array in self.arrays.items() if name.startswith(_ATTACHED)}
        return {name.removeprefix(_ATTACHED): array for name, array in attached.items() if name != _SAMPLE}

    @cached_property
    def rotation(self) -> Rotation:
        """The rotation, ready to transform."""
        kind = rotation_classes()[self.header["method"]]
        try:
            rotation: Rotation = kind(**decode_parameters(self.header["parameters"]))
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise PersistenceError(
                f"{self.path}: {error}. The parameters are of another version; {_KIND.remedy}"
            ) from error
        learned = {name: value for name, value in self.arrays.items() if not name.startswith(_ATTACHED)}
        for name, value in {**self.header["learned"], **learned}.items():
            if not name.endswith("_") or name.startswith("_") or hasattr(kind, name):
                raise PersistenceError(f"{self.path}: '{name}' is nothing a rotation learns. {_KIND.remedy}")
            setattr(rotation, name, value)
        return rotation

    def fits(self, space: WordSpace) -> bool:
        """Return whether it was fitted on this space, on more of it or on a part of it; True where that is not known.

        The fingerprint tells the very space; else the vectors of some words that both have must point in one direction.
        A space of another width is another space.
        """
        if self.header["width"] != space.width:
            return False
        if not self.header["space"] or self.header["space"]["fingerprint"] == space.fingerprint():
            return True
        return matches_sample(space, self.header["sample"], self.arrays[_SAMPLE])

    def check_space(self, space: WordSpace, *, any_space: bool = False) -> None:
        """Raise if the axis was not fitted on this space; with `any_space` the width must agree and no more."""
        if self.header["width"] != space.width:
            raise PersistenceError(
                f"{self.path} was fitted on vectors of width {self.header['width']}; {space.name} has {space.width}. "
                "Use the space it was fitted on, or fit again."
            )
        if not any_space and not self.fits(space):
            fitted = self.header["space"]
            raise PersistenceError(
                f"{self.path} was fitted on '{fitted['name']}' ({fitted['words']:,} words), and {space.name} is "
                "another space. Fit an axis on this one, or pass any_space=True if both have the same dimensions."
            )


def _learned(rotation: Rotation) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what `fit` learned: arrays, and plain values for the header."""
    arrays: dict[str, NDArray[Any]] = {}
    values: dict[str, Any] = {}
    for name, value in vars(rotation).items():
        if not name.endswith("_") or name.startswith("_") or name in _NOT_SAVED:
            continue
        if isinstance(value, np.ndarray):
            array = value.astype(str) if value.dtype == object else value
            arrays[name] = np.ascontiguousarray(array)
        else:
            values[name] = value.item() if isinstance(value, np.generic) else value
    return arrays, values


def _check_method(path: Path, header: dict[str, Any]) -> None:
    """Raise if the header names no method that is known; before the digest, so that a newer file is named for that."""
    method = Contents(path, _KIND, header, {}).value("method", str)
    if method not in rotation_classes():
        raise PersistenceError(f"{path}: method '{method}' is unknown. {suggest(method, rotation_classes())}")


def _check_contents(contents: Contents) -> None:
    """Raise unless header and arrays are what :func:`save_rotation` writes."""
    width = contents.value("width", int, least=1)
    _check_components(contents.path, contents.arrays.get("components_"), width)
    n_axes = len(contents.arrays["components_"])
    contents.value("parameters", dict)
    contents.part("notes").value("method", str, type(None))
    contents.listed("axis_names", str, length=n_axes)
    if "label_names" not in contents.values:
        raise contents.refusal("label_names")
    if contents.value("label_names", list, type(None)) is not None:
        contents.listed("label_names", str, length=2)
    if contents.value("space", dict, type(None)) is not None:
        space = contents.part("space")
        space.value("name", str), space.value("words", int, least=1), space.value("fingerprint", str)
        n_sampled = len(contents.listed("sample", str))
        contents.array(_SAMPLE, n_sampled, min(width, SAMPLED_COORDINATES))
    learned = contents.part("learned")
    for name in learned.values:
        learned.value(name, bool, int, float, str, list, type(None))
    if learned.value("n_features_in_", int) != width:
        raise contents.refusal("n_features_in_")
    for name in contents.arrays:
        if not name.startswith(_ATTACHED) and name != "components_":
            length = n_axes if name in _PER_AXIS else width if name in _PER_COORDINATE else None
            contents.array(name, length, kinds="biufU")


def _check_components(path: Path, components: NDArray[Any] | None, width: int) -> None:
    usable = components is not None and components.ndim == 2 and len(components) > 0
    if components is None or not usable or components.shape[1] != width or components.dtype != np.float64:
        found = "no axes" if components is None else f"axes of shape {components.shape}, {components.dtype}"
        raise PersistenceError(f"{path}: {found}; float64 rows of width {width} are needed. {_KIND.remedy}")
    error = np.abs(components @ components.T - np.eye(len(components))).max()
    if not error < 1e-8:
        raise PersistenceError(
            f"{path}: the axes are not orthonormal (off by {error:.1e}); they do not rotate. {_KIND.remedy}"
        )
