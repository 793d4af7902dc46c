"""The file format of axes and erasures: safetensors, with a JSON description and a digest as metadata.

Any safetensors reader opens the files. Nothing in them is unpickled.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from densray._files import (
    ArchiveKind,
    Contents,
    archive_digest,
    atomic_write,
    flush_to_disk,
    is_safetensors,
    say_kind,
    unreadable_kind,
)
from densray._version import __version__
from densray.errors import OutputError, PersistenceError, name_some, suggest

if TYPE_CHECKING:
    from densray.rotations import Rotation

__all__ = [
    "encode_parameters",
    "format_of",
    "is_tensor_file",
    "read_rotation",
    "read_tensors",
    "rotation_classes",
    "rotation_parts",
    "write_tensors",
]

#: Extension of saved axes and erasures.
ENDING = ".safetensors"


def write_tensors(
    path: str | Path,
    kind: ArchiveKind,
    description: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    overwrite: bool = False,
    card: Callable[[str], str] | None = None,
) -> Path:
    """Write arrays and their description to one safetensors file, atomically.

    Parameters
    ----------
    path : path
        The extension ``.safetensors`` is added if there is none.
    kind : ArchiveKind
        Name and version of the format.
    description : mapping
        Values that JSON can hold. Each becomes one entry of the metadata, as JSON text.
    arrays : mapping of str to array
    overwrite : bool, default=False
    card : callable, optional
        Takes the name of the file, and returns the text of a ``README.md`` next to it. Both files are complete before
        either is replaced. The card ends with the digest of the file, which reveals a card of another file.
    """
    from safetensors.numpy import save

    path = Path(path)
    path = path if path.suffix else path.with_suffix(ENDING)
    if path.suffix != ENDING:
        raise OutputError(f"{path}: the file of an {kind.noun} ends in {ENDING}. Use {path.with_suffix(ENDING).name}.")
    # safetensors writes memory as it is laid out: an array in Fortran order would be read back as another matrix
    tensors = {name: np.array(array, order="C") for name, array in arrays.items()}
    whole = {"format": kind.format, "format_version": kind.version, "densray_version": __version__, **description}
    whole["digest"] = archive_digest(whole, tensors)
    content = save(tensors, metadata={name: json.dumps(value) for name, value in whole.items()})
    with ExitStack() as stack:
        if card is not None:
            card_file = stack.enter_context(atomic_write(path.parent / "README.md", overwrite=overwrite))
            lines = f"{card(path.name)}\nDigest of `{path.name}`: `{whole['digest']}`\n"
            card_file.write_text(lines, encoding="utf-8")
            flush_to_disk(card_file)
        temporary = stack.enter_context(atomic_write(path, overwrite=overwrite))
        temporary.write_bytes(content)
    return path


def read_tensors(path: str | Path, kind: ArchiveKind) -> Contents:
    """Return the description and arrays that :func:`write_tensors` wrote; any other file is a PersistenceError."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    unreadable = unreadable_kind(path)
    if unreadable is not None:
        raise PersistenceError(f"{path} is {unreadable}, not a saved {kind.noun}. {kind.remedy}")
    try:
        with path.open("rb") as stream:
            head = stream.read(1024)
        if not is_safetensors(head):
            raise PersistenceError(f"{path} is not a saved {kind.noun} ({ENDING}). {say_kind(path) or kind.remedy}")
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        whole = {name: json.loads(text) for name, text in metadata.items()}
    except FileNotFoundError:
        place = Path(path)
        similar = [each.name for each in sorted(place.parent.glob(f"{glob.escape(place.stem)}-*{ENDING}"))]
        hint = f"There is {name_some(similar)}." if similar else kind.remedy
        raise PersistenceError(f"{path} does not exist. {hint}") from None
    except PersistenceError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise PersistenceError(f"{path} is not a readable {kind.noun} ({reason}). {kind.remedy}") from error
    if whole.get("format") != kind.format:
        stored = f"'{whole['format']}'" if isinstance(whole.get("format"), str) else "no description by densray"
        raise PersistenceError(f"{path} holds {stored}, not a saved {kind.noun}. {say_kind(path) or kind.remedy}")
    if whole.get("format_version") != kind.version:
        raise PersistenceError(
            f"{path} has format version {whole.get('format_version')}; this densray ({__version__}) reads version "
            f"{kind.version}. Update densray. {kind.remedy}"
        )
    if whole.get("digest") != archive_digest(whole, arrays):
        raise PersistenceError(f"{path}: the contents do not match their digest; the file was changed. {kind.remedy}")
    return Contents(path, kind, whole, arrays)


def format_of(path: str | Path) -> str | None:
    """Return the format recorded in a saved axis, erasure or intervention; None for any other file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            format_name = json.loads((file.metadata() or {}).get("format", "null"))
    except (SafetensorError, OSError, ValueError):
        return None
    return format_name if isinstance(format_name, str) else None


def is_tensor_file(name: str | Path) -> bool:
    """Return whether a file name has the extension of a saved axis or erasure, including old ``.npz`` axes."""
    return Path(name).suffix in (ENDING, ".npz")


def rotation_classes() -> dict[str, type]:
    """Return the rotations by the name of their class: the public ones, and those in the table of methods."""
    from densray import rotations

    public = (getattr(rotations, name) for name in rotations.__all__)
    method_classes = (type(method.make(1)) for method in rotations.METHODS.values())
    return {
        value.__name__: value
        for value in (*public, *method_classes)
        if isinstance(value, type) and issubclass(value, rotations.Rotation) and value is not rotations.Rotation
    }


def encode_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the constructor's parameters as values JSON can hold."""
    return {name: _encode(value) for name, value in estimator.get_params(deep=False).items()}


def decode_parameters(encoded: dict[str, Any]) -> dict[str, Any]:
    """Return parameters from the output of :func:`encode_parameters`."""
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
        return None  # its state was consumed by the fit
    raise PersistenceError(
        f"the parameter value {value!r} cannot be saved. Use numbers, text, or scikit-learn estimators."
    )


def _decode(value: object) -> object:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if isinstance(value, dict):
        classes = {**_scikit_learn_estimators(), **rotation_classes()}
        if value.get("class") not in classes:
            raise PersistenceError(
                f"the file names the estimator {value.get('class')!r}, neither a rotation nor part of scikit-learn. "
                "Only those are made from a file."
            )
        return classes[value["class"]](**decode_parameters(value["parameters"]))
    return value


@cache
def _scikit_learn_estimators() -> dict[str, type]:
    from sklearn.utils.discovery import all_estimators

    return dict(all_estimators())


#: Learned attributes that are not saved: additive statistics and the parts of a sequence.
_NOT_SAVED = frozenset({"moments_", "rotations_"})
#: Learned arrays of a known length: one entry per axis, or per coordinate.
_PER_AXIS, _PER_COORDINATE = frozenset({"eigenvalues_"}), frozenset({"feature_names_in_", "scale_"})

#: Learned arrays of text, which safetensors cannot hold: stored as lists in the description.
_TEXT_ARRAYS = frozenset({"classes_", "feature_names_in_"})


def rotation_parts(rotation: Rotation) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a fitted rotation as a description and arrays, from which :func:`read_rotation` restores it."""
    arrays: dict[str, NDArray[Any]] = {}
    learned: dict[str, Any] = {}
    for name, value in vars(rotation).items():
        if not name.endswith("_") or name.startswith("_") or name in _NOT_SAVED:
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            arrays[name] = value
        elif isinstance(value, np.ndarray):
            learned[name] = value.astype(str).tolist()
        else:
            learned[name] = value.item() if isinstance(value, np.generic) else value
    description = {
        "class": type(rotation).__name__,
        "parameters": encode_parameters(rotation),
        "learned": learned,
        "axis_names": [str(name) for name in rotation.get_feature_names_out()],
        "width": int(rotation.components_.shape[1]),
    }
    return description, arrays


def read_rotation(contents: Contents) -> Rotation:
    """Return the rotation that :func:`rotation_parts` described, ready to transform."""
    path, remedy = contents.path, contents.kind.remedy
    name, width = contents.value("class", str), contents.value("width", int, least=1)
    kind = rotation_classes().get(name)
    if kind is None:
        raise PersistenceError(f"{path}: the rotation '{name}' is unknown. {suggest(name, rotation_classes())}")
    _check_components(contents, width)
    n_axes = len(contents.arrays["components_"])
    contents.listed("axis_names", str, length=n_axes)
    learned = contents.part("learned")
    if learned.value("n_features_in_", int) != width:
        raise contents.refusal("n_features_in_")
    try:
        rotation: Rotation = kind(**decode_parameters(contents.value("parameters", dict)))
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise PersistenceError(f"{path}: {error}. The parameters are of another version; {remedy}") from error
    for attribute in learned.values:
        value = learned.value(attribute, bool, int, float, str, list, type(None))
        _set_learned(rotation, contents, attribute, np.array(value) if attribute in _TEXT_ARRAYS else value)
    for attribute in contents.arrays:
        if attribute.endswith("_"):
            length = n_axes if attribute in _PER_AXIS else width if attribute in _PER_COORDINATE else None
            shape = (n_axes, width) if attribute == "components_" else (length,)
            _set_learned(rotation, contents, attribute, contents.array(attribute, *shape, kinds="biuf"))
    return rotation


def _set_learned(rotation: Rotation, contents: Contents, name: str, value: object) -> None:
    if not name.endswith("_") or name.startswith("_") or hasattr(type(rotation), name):
        raise PersistenceError(f"{contents.path}: '{name}' is not learned by a rotation. {contents.kind.remedy}")
    setattr(rotation, name, value)


def _check_components(contents: Contents, width: int) -> None:
    components = contents.arrays.get("components_")
    if components is None or components.ndim != 2 or components.shape[1] != width or components.dtype != np.float64:
        stored = "no axes" if components is None else f"axes of shape {components.shape}, {components.dtype}"
        raise PersistenceError(
            f"{contents.path}: {stored}; float64 rows of width {width} are needed. {contents.kind.remedy}"
        )
    error = np.abs(components @ components.T - np.eye(len(components))).max() if len(components) else np.nan
    if not error < 1e-8:
        raise PersistenceError(
            f"{contents.path}: the axes are not orthonormal (off by {error:.1e}). {contents.kind.remedy}"
        )
