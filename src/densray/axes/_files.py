"""Axes on disk with their errors and calibration, so that a file alone scores words with error bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Unpack
from zipfile import is_zipfile

from densray._threads import Progress
from densray.alignment import Alignment
from densray.axes._diagnose import diagnose_axis
from densray.axes._diagnosis import Diagnosis, Verdict
from densray.axes._model import AxisModel
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions, find_seeds, fit_rotation
from densray.axes._scoring import Induction, score_vocabulary
from densray.lexicon import Lexicon
from densray.persistence import AxisFile, save_rotation
from densray.report import Input, Provenance
from densray.rotations import Rotation, name_method
from densray.space import WordSpace
from densray.streaming import load_axis


@dataclass(frozen=True)
class SavedAxis:
    """An axis that was found and written: the file, the method, the seeds it was found from, how far to trust it."""

    path: Path
    method: str
    seeds: Alignment
    diagnosis: Diagnosis | None


def fit_axis(
    space: WordSpace,
    lexicon: Lexicon,
    path: str | Path,
    *,
    method: str = "auto",
    n_components: int | None = None,
    judge: bool = True,
    pairs: Iterable[Sequence[str]] | None = None,
    options: AxisOptions = DEFAULTS,
    overwrite: bool = False,
    progress: Progress | None = None,
    **choices: Unpack[AxisChoices],
) -> SavedAxis:
    """Find the axis of some labelled words, find out how far it can be trusted, and write it with all that.

    Parameters
    ----------
    space : WordSpace
    lexicon : Lexicon
        The seeds.
    path : path
        The file to write.
    n_components : int, optional
        How many axes are saved; all, a lossless rotation, if absent.
    judge : bool, default=True
        Whether to diagnose the axis; without, the file has no errors, no calibration and no verdict.
    overwrite : bool, default=False
        Whether an existing file is replaced.
    method, pairs, options, progress, **choices
        As for :func:`densray.axes.diagnose`.
    """
    options, pairs = options.changed(**choices), None if pairs is None else list(pairs)
    seeds = find_seeds(space, lexicon, options, pairs=pairs)
    rotation = fit_rotation(method, seeds, n_components=n_components, scale=options.scale)
    named = name_method(method)
    diagnosis = None
    if judge:
        diagnosis = diagnose_axis(
            space, seeds, rotation, method=named, lexicon=lexicon, pairs=pairs, options=options, progress=progress
        )
    written = save_axis(
        rotation,
        AxisModel(rotation.components_[0], normalize=options.normalize) if diagnosis is None else diagnosis.model,
        path,
        space=space,
        method=named,
        verdict=None if diagnosis is None else diagnosis.verdict,
        label_names=options.label_names,
        overwrite=overwrite,
    )
    return SavedAxis(written, named, seeds, diagnosis)


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
    axis = load_axis(path, space, any_space=any_space)
    return score_vocabulary(
        space,
        AxisModel.from_file(axis),
        method=axis.method,
        verdict=_saved_verdict(axis),
        label_names=label_names or axis.label_names,
        provenance=provenance,
        inputs=[Input.of("space", space), Input("axis", axis.path.name, axis.sha256)],
    )


def _saved_verdict(axis: AxisFile) -> Verdict | None:
    notes = axis.contents
    if notes.value("verdict", dict, type(None)) is None:
        return None
    saved = notes.part("verdict")
    texts = [saved.value(name, str) for name in ("grade", "line", "sentence")]
    return Verdict(texts[0], tuple(saved.listed("limits", str)), *texts[1:])


def is_axis_file(name: str) -> bool:
    """Return whether a name is that of a saved rotation: it ends in ``.npz``, or the file is an archive like one."""
    return Path(name).suffix == ".npz" or (Path(name).is_file() and is_zipfile(name))
