"""Axes on disk with their errors and calibration, so that a file alone scores words with error bars."""

from __future__ import annotations

from pathlib import Path
from zipfile import is_zipfile

from densray.persistence import load_attachments, read_header, save_rotation
from densray.rotations import Rotation
from densray.space import WordSpace
from densray.streaming import load_axis_on
from densray.tasks.axis_model import AxisModel

__all__ = ["is_axis_file", "load_axis_model", "save_axis"]


def save_axis(
    rotation: Rotation,
    model: AxisModel,
    path: str | Path,
    *,
    space: WordSpace,
    label_names: tuple[str, str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a rotation with what is known of its first axis."""
    return save_rotation(
        rotation,
        path,
        space=space,
        label_names=label_names,
        attachments=model.to_arrays(),
        overwrite=overwrite,
    )


def load_axis_model(path: str | Path, space: WordSpace, *, any_space: bool = False) -> tuple[AxisModel, str]:
    """Return a saved axis, ready to score the words of its space, and the name of the method that found it.

    A file that :func:`densray.save_rotation` wrote without errors and calibration gives scores and ranks alone.
    """
    rotation = load_axis_on(space, path, any_space=any_space)
    return AxisModel.from_arrays(rotation.components_[0], load_attachments(path)), str(read_header(path)["method"])


def is_axis_file(name: str) -> bool:
    """Return whether a name is that of a saved rotation: it ends in ``.npz``, or the file is an archive like one."""
    return Path(name).suffix == ".npz" or (Path(name).is_file() and is_zipfile(name))
