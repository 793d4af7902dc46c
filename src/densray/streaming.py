"""Spaces rewritten on disk: converted, rotated or erased, block by block in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from densray._files import kind_of
from densray._vocabulary import unit_rows
from densray.datasets import list_datasets, load_space, path_of
from densray.errors import SpaceError
from densray.formats import Change, name_of, rewrite, write_space
from densray.persistence import AxisFile

if TYPE_CHECKING:
    from densray._threads import Progress
    from densray.rotations import Rotation
    from densray.space import WordSpace

__all__ = ["Rewritten", "load_axis", "rewrite_space", "rotating"]


@dataclass(frozen=True)
class Rewritten:
    """What was written: the file, how many words it holds, how wide their vectors are, and which words it lacks."""

    path: Path
    words: int
    width: int
    missing: tuple[str, ...] = ()


def rewrite_space(
    source: str | Path,
    target: str | Path,
    *,
    change: Change | None = None,
    normalize: bool = False,
    limit: int | None = None,
    format: str | None = None,
    source_format: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    bad_rows: Literal["error", "skip"] = "error",
    member: str | None = None,
    words_file: str | Path | None = None,
    overwrite: bool = False,
    expected: Iterable[str] = (),
    progress: Progress | None = None,
) -> Rewritten:
    """Write a space to another file, in the format its ending names, each block changed on the way.

    Parameters
    ----------
    source
        A file of vectors, or the name of a data set.
    target
        The file to write; it appears whole or not at all.
    change
        What to do to each block: :func:`rotating`, a :class:`densray.erasure.Removal`, or nothing.
    normalize
        Whether vectors are scaled to unit length first; vectors of zeros stay.
    limit
        How many words are read at most.
    format
        The format to write, where the ending of ``target`` should not decide.
    source_format, encoding, errors, bad_rows, member, words_file
        How a file is read, as for :func:`densray.formats.read_space`; of a data set, bad rows are left out.
    overwrite
        Whether an existing file is replaced.
    expected
        Words that should be in the space; those that are not come back as ``missing``.
    progress
        Called with the rows done and the rows in all.
    """
    step = _Steps(change, normalize=normalize, expected=expected)
    options: dict[str, Any] = {"format": format, "overwrite": overwrite, "progress": progress}
    if _is_embedded(source):
        space = load_space(source, limit=limit)
        changed = space.with_vectors(step(space.words, space.vectors), name=name_of(Path(target)))
        path = write_space(changed, target, **options)
    else:
        reading: dict[str, Any] = {"limit": limit, "source_format": source_format, "encoding": encoding}
        reading |= {"errors": errors, "member": member, "words_file": words_file}
        reading["bad_rows"] = "skip" if _is_dataset(source) else bad_rows
        path = rewrite(_file_of(source), target, change=step, **reading, **options)
    return Rewritten(path, step.words, step.width, tuple(sorted(step.missing)))


def rotating(rotation: Rotation) -> Change:
    """Return the change of coordinates to the axes of a rotation: the first one is the concept."""

    def change(words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[Any]:
        return np.asarray(rotation.transform(vectors))

    return change


def load_axis(path: str | Path, space: str | Path | WordSpace, *, any_space: bool = False) -> AxisFile:
    """Return a saved axis, after making sure that it was fitted on this very space.

    An axis fitted on a part of the space, on more of it, or on its vectors at unit length belongs to it too.

    Parameters
    ----------
    path
        The file of the axis.
    space
        A file of vectors, the name of a data set, or a space in memory.
    any_space
        Whether to use the axis on another space of the same width as well.
    """
    axis = AxisFile.read(path)
    if isinstance(space, str | Path):
        if any_space or not axis.header["space"]:
            return axis
        space = _sampled_words(space, axis.header["sample"], axis.header["space"]["words"])
    axis.check_space(space, any_space=any_space)
    return axis


def _sampled_words(source: str | Path, words: Sequence[str], first: int) -> WordSpace:
    """Return the words of a sample that a space has: of the first rows where some are there, else of all.

    Most axes are fitted on a space or on its beginning, and the rest of a large file is then not read. Of a space that
    has none of them the first word tells the name and the width.
    """
    for rows in (first, None):
        with suppress(SpaceError):
            return load_space(source, limit=rows, words=words)
    return load_space(source, limit=1)


class _Steps:
    """A change that also scales and counts what passes through it, and looks for the words expected."""

    def __init__(self, change: Change | None, *, normalize: bool, expected: Iterable[str]) -> None:
        self._change, self._normalize = change, normalize
        self.words = 0
        self.width = 0
        self.missing = set(expected)

    def __call__(self, words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[Any]:
        if self._normalize:
            vectors = unit_rows(vectors)
        changed = vectors if self._change is None else self._change(words, vectors)
        self.words += len(words)
        if self.missing:
            self.missing.difference_update(words)
        self.width = changed.shape[1]
        return changed


def _is_embedded(source: str | Path) -> bool:
    return any(entry.embedded and entry.name == str(source) for entry in list_datasets("space"))


def _is_dataset(source: str | Path) -> bool:
    return any(entry.name == str(source) for entry in list_datasets("space"))


def _file_of(source: str | Path) -> Path:
    if _is_dataset(source):
        return path_of(str(source))
    if not str(source).strip() or not Path(source).exists() or kind_of(source) == "axis":
        load_space(source)  # names the nearest data set, or what the file is
    return Path(source)
