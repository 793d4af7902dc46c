"""Rotations on disk: arrays and a JSON header, never a pickle."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from densray._files import atomic_write, say_kind
from densray._version import __version__
from densray._vocabulary import at_unit_length
from densray.errors import PersistenceError, RotationNotFittedError, suggest

if TYPE_CHECKING:
    from densray.rotations import Rotation
    from densray.space import WordSpace

__all__ = [
    "FORMAT_VERSION",
    "agrees",
    "decode_parameters",
    "encode_parameters",
    "is_fitted_on",
    "load_attachments",
    "load_rotation",
    "read_header",
    "rotation_classes",
    "sample_space",
    "save_rotation",
]


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


#: Words whose vectors are remembered, and how many coordinates of each.
SAMPLED_WORDS, SAMPLED_COORDINATES = 1_024, 8
#: What a coordinate of a unit vector may differ by: half precision and rounded text files stay below it.
TOLERANCE = 2e-3


def sample_space(space: WordSpace) -> tuple[list[str], NDArray[np.float32]]:
    """Return words spread evenly over a space, and the first coordinates of their vectors at unit length."""
    rows = np.unique(np.linspace(0, len(space) - 1, num=min(len(space), SAMPLED_WORDS)).astype(np.int64))
    writable = [row for row in rows.tolist() if _is_text(space.words[row])]
    return [space.words[row] for row in writable], _first_coordinates(space.vectors[writable])


def agrees(space: WordSpace, words: Sequence[str], coordinates: NDArray[np.float32]) -> bool:
    """Return whether a space has some of the words, and every one of them points where it was remembered to point.

    A part of a space agrees with the whole, and its vectors may have been scaled; a space without a common word, or in
    which one of them points elsewhere, is another one.
    """
    rows = space.locate(words)
    shared = np.flatnonzero(rows >= 0)
    found = _first_coordinates(space.vectors[rows[shared]])
    if not shared.size or found.shape[1:] != coordinates.shape[1:]:
        return False
    return bool(np.abs(found - coordinates[shared]).max() <= TOLERANCE)


def _first_coordinates(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = at_unit_length(np.asarray(vectors, dtype=np.float64))
    return np.ascontiguousarray(unit[:, :SAMPLED_COORDINATES], dtype=np.float32)


def _is_text(word: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in word)  # halves of letters cannot be written


#: Raised when the layout of the file changes; older versions keep loading.
FORMAT_VERSION = 1

_FORMAT = "densray-rotation"
_HEADER = "header"
#: What reading a damaged or foreign archive may raise.
_UNREADABLE = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, MemoryError, OverflowError,
               RuntimeError)  # fmt: skip
_ATTACHED = "attached."
_SAMPLE = _ATTACHED + "space sample"
_MAGIC = b"PK"
_MAGIC_OF_AN_ARRAY = b"\x93N"
#: Learned attributes that stay in memory: additive statistics and the parts of a sequence.
_NOT_SAVED = frozenset({"moments_", "rotations_"})


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
        The space it was fitted on: its name, its fingerprint and some of its words are kept, so that another space is
        noticed and a part of this one is not refused.
    label_names : pair of str, optional
        What the low and the high end of axis 0 are called.
    attachments : mapping of str to array, optional
        Arrays that belong to the rotation and are no part of it, such as axes of resampled seeds; see
        :func:`load_attachments`.
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
    header = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "densray_version": __version__,
        "method": type(rotation).__name__,
        "parameters": encode_parameters(rotation),
        "learned": values,
        "axis_names": [str(name) for name in rotation.get_feature_names_out()],
        "label_names": None if label_names is None else list(label_names),
        "width": int(rotation.components_.shape[1]),
        "space": None
        if space is None
        else {"name": space.name, "words": len(space), "fingerprint": space.fingerprint()},
        "notes": dict(notes or {}),
    }
    if space is not None:
        header["sample"], arrays[_SAMPLE] = sample_space(space)
    header["digest"] = _digest(header, arrays)
    text = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
    with atomic_write(path, overwrite=overwrite) as partial, partial.open("wb") as file:
        np.savez(file, allow_pickle=False, **{_HEADER: text}, **arrays)
    return path


def load_rotation(path: str | Path, *, space: WordSpace | None = None) -> Rotation:
    """Return a rotation from its file, ready to transform.

    Parameters
    ----------
    path : path
    space : WordSpace, optional
        The space it will be used on: another width, or another space than it was fitted on, is an error; see
        :func:`is_fitted_on`.
    """
    path = Path(path)
    header, arrays = _read(path)
    if header["digest"] != _digest({key: header[key] for key in header if key != "digest"}, arrays):
        raise PersistenceError(f"{path}: the contents do not match their digest; the file was changed. Save it anew.")
    components = arrays.get("components_")
    _check_components(path, components, header["width"])
    if space is not None:
        _check_space(path, header, arrays, space)
    kind = rotation_classes()[header["method"]]
    try:
        rotation: Rotation = kind(**decode_parameters(header["parameters"]))
    except TypeError as error:
        raise PersistenceError(f"{path}: {error}. The parameters are of another version; save it anew.") from error
    learned = {name: value for name, value in arrays.items() if not name.startswith(_ATTACHED)}
    for name, value in {**header["learned"], **learned}.items():
        if not name.endswith("_") or name.startswith("_") or callable(getattr(kind, name, None)):
            raise PersistenceError(f"{path}: '{name}' is nothing a rotation learns. Save the rotation anew.")
        setattr(rotation, name, value)
    return rotation


def load_attachments(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the arrays that were saved beside a rotation, by name; none is an empty dictionary."""
    arrays = _read(Path(path))[1]
    attached = {name: array for name, array in arrays.items() if name.startswith(_ATTACHED) and name != _SAMPLE}
    return {name.removeprefix(_ATTACHED): array for name, array in attached.items()}


def is_fitted_on(path: str | Path, space: WordSpace) -> bool:
    """Return whether a rotation was fitted on this space, on more of it or on a part of it; True where it is not known.

    The fingerprint tells the very space; else the vectors of some words that both have must point in one direction. A
    space of another width is another space.
    """
    return _is_its_space(*_read(Path(path)), space)


def read_header(path: str | Path) -> dict[str, Any]:
    """Return what a file says of its rotation: method, parameters, label names, width, space, notes."""
    return _read(Path(path))[0]


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


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        with path.open("rb") as stream:
            if not stream.read(len(_MAGIC)).startswith((_MAGIC, _MAGIC_OF_AN_ARRAY)):
                advice = say_kind(path) or "Fit an axis and save it first."
                raise PersistenceError(f"{path} is no saved rotation (.npz). {advice}")
            stream.seek(0)
            file = np.load(stream, allow_pickle=False)
            if not hasattr(file, "files"):
                raise PersistenceError(f"{path} holds a bare array, not a rotation. Save one with save_rotation.")
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except FileNotFoundError:
        raise PersistenceError(f"{path} does not exist. Fit an axis and save it there first.") from None
    except _UNREADABLE as error:
        if isinstance(error, PersistenceError):
            raise
        raise PersistenceError(
            f"{path} is not a readable rotation ({error}). Save it anew with save_rotation."
        ) from error
    text = arrays.pop(_HEADER, None)
    try:
        header = json.loads(bytes(np.asarray(text, dtype=np.uint8)))
        known = header["format"] == _FORMAT
    except (TypeError, ValueError, KeyError, OverflowError, RecursionError) as error:
        raise PersistenceError(f"{path} has no densray header; it is no saved rotation. {say_kind(path)}") from error
    if not known:
        raise PersistenceError(f"{path} holds '{header['format']}', not a rotation ('{_FORMAT}').")
    _check_header(path, header)
    return header, arrays


def _check_header(path: Path, header: dict[str, Any]) -> None:
    version = header.get("format_version")
    if version != FORMAT_VERSION:
        raise PersistenceError(
            f"{path} has format version {version}; this densray ({__version__}) reads version {FORMAT_VERSION}. "
            "Update densray, or save the rotation anew."
        )
    needed = {"method", "parameters", "learned", "width", "digest", "space", "label_names", "axis_names"}
    missing = sorted(needed - header.keys())
    if missing:
        raise PersistenceError(f"{path}: the header lacks {', '.join(missing)}. Save the rotation anew.")
    kinds = {"method": str, "parameters": dict, "learned": dict, "width": int, "digest": str}
    wrong = sorted(name for name, kind in kinds.items() if not isinstance(header[name], kind))
    if wrong:
        raise PersistenceError(f"{path}: the header's {', '.join(wrong)} cannot be read. Save the rotation anew.")
    if header["method"] not in rotation_classes():
        raise PersistenceError(
            f"{path}: method '{header['method']}' is unknown. {suggest(str(header['method']), rotation_classes())}"
        )


def _check_components(path: Path, components: NDArray[Any] | None, width: int) -> None:
    usable = components is not None and components.ndim == 2 and len(components) > 0
    if components is None or not usable or components.shape[1] != width or components.dtype != np.float64:
        found = "no axes" if components is None else f"axes of shape {components.shape}, {components.dtype}"
        raise PersistenceError(f"{path}: {found}; float64 rows of width {width} are needed. Save the rotation anew.")
    error = np.abs(components @ components.T - np.eye(len(components))).max()
    if not error < 1e-8:
        raise PersistenceError(
            f"{path}: the axes are not orthonormal (off by {error:.1e}); they do not rotate. Save the rotation anew."
        )


def _is_its_space(header: dict[str, Any], arrays: dict[str, NDArray[Any]], space: WordSpace) -> bool:
    if header["width"] != space.width:
        return False
    if header["space"] is None or header["space"]["fingerprint"] == space.fingerprint():
        return True
    words, coordinates = header.get("sample"), arrays.get(_SAMPLE)  # files of older versions have none
    return words is not None and coordinates is not None and agrees(space, words, coordinates)


def _check_space(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]], space: WordSpace) -> None:
    if header["width"] != space.width:
        raise PersistenceError(
            f"{path} was fitted on vectors of width {header['width']}; {space.name} has {space.width}. "
            "Use the space it was fitted on, or fit anew."
        )
    fitted = header["space"]
    if not _is_its_space(header, arrays, space):
        raise PersistenceError(
            f"{path} was fitted on '{fitted['name']}' ({fitted['words']} words), which is not the space given "
            f"('{space.name}', {len(space)} words). Use that space, or fit anew."
        )


def _digest(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, ensure_ascii=False).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
