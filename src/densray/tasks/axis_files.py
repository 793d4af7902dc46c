"""Axes on disk with their errors and calibration, so that a file alone scores words with error bars."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from zipfile import is_zipfile

from densray.persistence import load_attachments, read_header, save_rotation
from densray.report import Input, Provenance
from densray.rotations import Rotation
from densray.space import WordSpace
from densray.streaming import load_axis_on
from densray.tasks.axis_model import AxisModel
from densray.tasks.diagnostics.verdict import Verdict
from densray.tasks.induction import Induction, score_vocabulary

__all__ = ["induce_by_axis", "is_axis_file", "load_axis_model", "save_axis"]


def save_axis(
    rotation: Rotation,
    model: AxisModel,
    path: str | Path,
    *,
    space: WordSpace,
    method: str | None = None,
    verdict: Verdict | None = None,
    label_names: tuple[str, str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a rotation with what is known of its first axis: errors, calibration, what found it, the verdict on it."""
    return save_rotation(
        rotation,
        path,
        space=space,
        label_names=label_names,
        attachments=model.to_arrays(),
        notes={"method": method, "verdict": None if verdict is None else asdict(verdict)},
        overwrite=overwrite,
    )


def load_axis_model(path: str | Path, space: WordSpace, *, any_space: bool = False) -> tuple[AxisModel, str]:
    """Return a saved axis, ready to score the words of its space, and the name of the method that found it.

    A file that :func:`densray.save_rotation` wrote without errors and calibration gives scores and ranks alone.
    """
    rotation = load_axis_on(space, path, any_space=any_space)
    header = read_header(path)
    method = header.get("notes", {}).get("method") or header["method"]
    return AxisModel.from_arrays(rotation.components_[0], load_attachments(path)), str(method)


def induce_by_axis(
    space: WordSpace, path: str | Path, *, any_space: bool = False, label_names: tuple[str, str] | None = None
) -> Induction:
    """Return every word of a space scored by a saved axis, with the verdict and the names of its ends that it carries.

    Parameters
    ----------
    space : WordSpace
    path : path
        What :func:`save_axis` wrote.
    any_space : bool, default=False
        Whether to use the axis on another space of the same width as well.
    label_names : pair of str, optional
        What the low and the high end are called, in place of the names in the file.
    """
    provenance = Provenance.begin()
    model, method = load_axis_model(path, space, any_space=any_space)
    header = read_header(path)
    verdict, named = header.get("notes", {}).get("verdict"), label_names or header["label_names"]
    return score_vocabulary(
        space,
        model,
        method=method,
        verdict=None if verdict is None else Verdict(verdict["grade"], tuple(verdict["limits"]), verdict["line"]),
        label_names=None if named is None else (str(named[0]), str(named[1])),
        provenance=provenance,
        inputs=[Input.of("space", space), Input.of("axis", path)],
    )


def is_axis_file(name: str) -> bool:
    """Return whether a name is that of a saved rotation: it ends in ``.npz``, or the file is an archive like one."""
    return Path(name).suffix == ".npz" or (Path(name).is_file() and is_zipfile(name))
