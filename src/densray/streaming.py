"""Convert, rotate or erase a space on disk, block by block in bounded memory.

The bundled space is small and is changed in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from densray._files import kind_of
from densray._vocabulary import Fingerprint, spelled_alike, unit_rows
from densray.datasets import list_datasets, load_space, path_of
from densray.formats import Change, name_of, rewrite, write_space

if TYPE_CHECKING:
    from densray.progress import Progress
    from densray.rotations import Rotation

__all__ = ["Rewritten", "rewrite_space", "rotating"]


@dataclass(frozen=True)
class Rewritten:
    """Summary of a written file: its words, the vector width, expected words it lacks, and words left unchanged.

    `fingerprint` is that of the source space, for the rows that were read; see :meth:`WordSpace.fingerprint`.
    """

    path: Path
    words: int
    width: int
    missing: tuple[str, ...] = ()
    unchanged: int = 0
    fingerprint: str = ""


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
    """Write a space to another file, in the format of its extension, with a change of each block.

    Parameters
    ----------
    source
        A file of vectors, or the name of a data set.
    target
        The file to write, atomically.
    change
        Change of each block: :func:`rotating`, a function of :func:`densray.affine.erasing`, or nothing.
    normalize
        Whether vectors are scaled to unit length first; vectors of zeros stay.
    limit
        Maximum number of words to read.
    format
        Output format (default: from the extension of ``target``).
    source_format, encoding, errors, bad_rows, member, words_file
        How a file is read, as for :func:`densray.formats.read_space`. Bad rows of a data set are left out.
    overwrite
        Whether an existing file is replaced.
    expected
        Words that should be in the space, with composed or decomposed letters. Those that are not are returned as
        ``missing``.
    progress
        Called with the number of rows done and their total.
    """
    step = _Steps(change, normalize=normalize, expected=expected)
    options: dict[str, Any] = {"format": format, "overwrite": overwrite, "progress": progress}
    if _is_embedded(source):
        space = load_space(source, limit=limit)
        step.expect_rows(len(space))
        changed = space.with_vectors(step(space.words, space.vectors), name=name_of(Path(target)))
        path = write_space(changed, target, **options)
    else:
        reading: dict[str, Any] = {"limit": limit, "source_format": source_format, "encoding": encoding}
        reading |= {"errors": errors, "member": member, "words_file": words_file}
        reading["bad_rows"] = "skip" if _is_dataset(source) else bad_rows
        path = rewrite(_file_of(source), target, change=step, on_rows=step.expect_rows, **reading, **options)
    return Rewritten(path, step.words, step.width, tuple(step.missing), fingerprint=step.fingerprint.hexdigest())


def rotating(rotation: Rotation) -> Change:
    """Return the change of coordinates to the axes of a rotation; the first axis is the concept."""

    def change(words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[Any]:
        return np.asarray(rotation.transform(vectors))

    return change


class _Steps:
    """A change that also scales, counts and hashes its rows, and looks for expected words."""

    fingerprint: Fingerprint

    def __init__(self, change: Change | None, *, normalize: bool, expected: Iterable[str]) -> None:
        self._change, self._normalize = change, normalize
        self.words = 0
        self.width = 0
        self._spellings = {word: spelled_alike(word) for word in expected}
        self._sought = set().union(*self._spellings.values())
        self._found: set[str] = set()

    @property
    def missing(self) -> list[str]:
        """Expected words that were not found yet, also not with composed or decomposed letters."""
        return sorted(word for word, spellings in self._spellings.items() if self._found.isdisjoint(spellings))

    def expect_rows(self, n_rows: int) -> None:
        """Set the number of rows of the whole space, which must be known before the first block."""
        self.fingerprint = Fingerprint(n_rows)

    def __call__(self, words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[Any]:
        self.fingerprint.add(words, vectors)
        if self._normalize:
            vectors = unit_rows(vectors)
        changed = vectors if self._change is None else self._change(words, vectors)
        self.words += len(words)
        if self._sought:
            self._found |= self._sought.intersection(words)
        self.width = changed.shape[1]
        return changed


def _is_embedded(source: str | Path) -> bool:
    return any(entry.embedded and entry.name == str(source) for entry in list_datasets("space"))


def _is_dataset(source: str | Path) -> bool:
    return any(entry.name == str(source) for entry in list_datasets("space"))


def _file_of(source: str | Path) -> Path:
    if _is_dataset(source):
        return path_of(str(source))
    if not str(source).strip() or not Path(source).exists() or kind_of(source) in ("axis", "old axis", "erasure"):
        load_space(source)  # its error names the nearest data set, or the type of the file
    return Path(source)
