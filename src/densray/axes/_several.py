"""Several classes: one axis per class against the rest, and the held-out accuracy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from densray._files import check_writable
from densray.axes._axis import Axis
from densray.axes._citation import cite_classes
from densray.axes._diagnosis import inputs_of
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions
from densray.axes._verdict import show_grade
from densray.errors import LabelError, TooFewRowsError
from densray.groups import GroupProposal
from densray.metrics import Interval, balanced_accuracy, balanced_accuracy_interval
from densray.persistence import ENDING
from densray.progress import Progress
from densray.report import Citation, Column, Provenance, Result, Table, show_count, show_estimate, show_number
from densray.rotations import Rotation, name_method
from densray.rows import Rows
from densray.statistics import HELD_OUT_INFLATION

#: Names of classes that are at least this similar may be spellings of one.
_ALIKE = 0.75


@dataclass(frozen=True)
class ClassesDiagnosis(Result):
    """How well several classes can be separated on held-out rows.

    Attributes
    ----------
    method, concept : str
    n_rows : int
    n_groups : int or None
        Number of groups; None if every row is its own group.
    accuracy : float
        Balanced held-out accuracy: the share of each class that is found, averaged over the classes. A row goes to the
        class whose held-out score, in standard deviations, is highest.
    interval : Interval
        95% interval of the accuracy.
    chance : float
        The accuracy of random guesses.
    classes : list of dict
        Each class with its rows, the share found, and held-out AUC against the rest with its interval and grade.
    proposal : GroupProposal or None
        Rows that should be held out together but were not.
    citation : Citation
        A sentence for a methods section, and BibTeX.
    axes : dict of str to Axis
        One axis per class, against the rest.
    """

    title = "How well the classes can be told apart"

    method: str
    concept: str
    n_rows: int
    n_groups: int | None
    accuracy: float
    interval: Interval
    chance: float
    classes: list[dict[str, Any]]
    proposal: GroupProposal | None
    citation: Citation
    axes: dict[str, Axis] = field(repr=False, metadata={"report": False})

    def text(self) -> str:
        """Return the answer in one sentence."""
        low, high = self.interval
        estimate = show_estimate(self.accuracy, low, high, 2)
        accuracy = f"balanced held-out accuracy {estimate}; chance: {show_number(self.chance, 2)}"
        if low > self.chance:
            return f"The classes of {self.concept} can be told apart in unseen rows ({accuracy})."
        return f"The classes of {self.concept} cannot be told apart in unseen rows beyond chance ({accuracy})."

    def tables(self) -> list[Table]:
        """Return one row per class."""
        columns: list[Column | str] = [
            "class",
            Column("rows"),
            Column("found", "share found", decimals=3),
            Column("auc", "held-out AUC", decimals=3),
            Column("low", decimals=3),
            Column("high", decimals=3),
            "grade",
        ]
        held_out = "alone" if self.n_groups is None else f"in {show_count(self.n_groups)} groups"
        notes = [
            f"{show_count(self.n_rows)} rows, left out {held_out}; AUC of each class against the rest, 95% interval."
        ]
        notes += [] if self.proposal is None else [self.proposal.line]
        rows = [{**row, "grade": show_grade(row["grade"])} for row in self.classes]
        return [Table(f"Each class of {self.concept} against the rest", columns, rows, notes)]

    def save(self, path: str | Path, *, overwrite: bool = False, progress: Progress | None = None) -> list[Path]:
        """Write the axis of each class to its own file; return the paths, in the order of the classes.

        Parameters
        ----------
        path : path
            The name of the class is added: ``axis.safetensors`` becomes ``axis-left.safetensors``.
        overwrite : bool, default=False
        progress : callable, optional
            Called with the files written and their number.
        """
        files = [check_writable(file, overwrite=overwrite) for file in _class_files(Path(path), list(self.axes))]
        written = []
        for file, axis in zip(files, self.axes.values(), strict=True):
            written.append(axis.save(file, overwrite=overwrite))
            if progress is not None:
                progress(len(written), len(files))
        return written


def _class_files(path: Path, names: Sequence[str]) -> list[Path]:
    """Return one file per class, with different names also on systems that ignore capitals.

    >>> [path.name for path in _class_files(Path("axis"), ["left", "Left", "far left"])]
    ['axis-left.safetensors', 'axis-Left-2.safetensors', 'axis-far-left.safetensors']
    """
    files: dict[str, Path] = {}
    for name in names:
        plain, number = re.sub(r"[^\w.-]+", "-", name), 1
        written = plain
        while written.casefold() in files:
            number += 1
            written = f"{plain}-{number}"
        files[written.casefold()] = path.with_name(f"{path.stem}-{written}{path.suffix or ENDING}")
    return list(files.values())


def diagnose_classes(
    rows: Rows,
    method: str | Rotation = "auto",
    *,
    options: AxisOptions = DEFAULTS,
    progress: Progress | None = None,
    **choices: Unpack[AxisChoices],
) -> ClassesDiagnosis:
    """Measure how well several classes can be separated, with one axis per class against the rest.

    Parameters
    ----------
    rows : Rows
        Three classes or more.
    method : str or rotation, default="auto"
    options : AxisOptions, optional
    progress : callable, optional
        Called with the classes done and their number.
    **choices
        Fields of :class:`densray.axes.AxisOptions` by name.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["a", "b", "c"], 20)
    >>> X = rng.normal(size=(60, 5)) + 5 * np.repeat(np.eye(5)[:3], 20, axis=0)
    >>> diagnosis = diagnose_classes(Rows.from_arrays(X, labels), "mean-difference", normalize=False)
    >>> diagnosis.accuracy > 0.9, diagnosis.chance
    (True, 0.3333333333333333)
    """
    began = Provenance.begin(seed=options.changed(**choices).random_state)
    if not rows.is_multiclass:
        raise LabelError(
            f"the rows have {len(rows.class_names) or 'no'} named classes; three or more are needed. Two classes and "
            "scores have one axis: Axis.fit(rows)."
        )
    options, axes = options.changed(**choices), {}
    standardized = np.empty((len(rows), len(rows.class_names)))
    for number, name in enumerate(rows.class_names):
        try:
            axis = Axis.fit(rows.against_rest(name), method, options=options)
            spread = float(axis.held_out.std())
        except TooFewRowsError as error:
            raise TooFewRowsError(*error.args, _suggest_class(rows, name)) from error
        standardized[:, number] = (axis.held_out - axis.held_out.mean()) / (spread or 1.0)
        axes[name] = axis
        if progress is not None:
            progress(number + 1, len(rows.class_names))
    answers = standardized.argmax(axis=1)
    classes = []
    for number, (name, axis) in enumerate(axes.items()):
        own, agreement = rows.y == number, axis.agreement
        classes.append(
            {
                "class": name,
                "rows": int(own.sum()),
                "found": float(np.mean(answers[own] == number)),
                "auc": agreement.auc,
                "low": agreement.auc_interval.low,
                "high": agreement.auc_interval.high,
                "grade": axis.quick_verdict().grade,
            }
        )
    n_groups = None if rows.groups is None else rows.n_groups
    accuracy = balanced_accuracy(rows.y, answers)
    interval = balanced_accuracy_interval(rows.y, answers, inflation=HELD_OUT_INFLATION, groups=rows.groups)
    return ClassesDiagnosis(
        method=name_method(method),
        concept=rows.concept,
        n_rows=len(rows),
        n_groups=n_groups,
        accuracy=accuracy,
        interval=interval,
        chance=1.0 / len(axes),
        classes=classes,
        proposal=rows.proposal,
        citation=cite_classes(
            rows.concept,
            name_method(method),
            n_classes=len(axes),
            n_rows=len(rows),
            n_groups=n_groups,
            accuracy=accuracy,
            interval=interval,
        ),
        axes=axes,
        provenance=began.finish(
            inputs=inputs_of(rows),
            used=len(rows),
            missing=rows.missing,
            set_aside=rows.set_aside,
            method=name_method(method),
        ),
    )


def _suggest_class(rows: Rows, name: str) -> str:
    """Return the other class that the name of a rare class may be a misspelling of, and its size; empty if none."""
    near = get_close_matches(name, [each for each in rows.class_names if each != name], n=1, cutoff=_ALIKE)
    if not near:
        return ""
    count = int(np.sum(rows.y == rows.class_names.index(near[0])))
    return f" Is it a misspelling of '{near[0]}' ({count:,} rows)?"
