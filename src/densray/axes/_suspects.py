"""Labels that may be wrong: far outside the range of the others, or far from what their held-out scores predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from densray.errors import one_line
from densray.metrics import kendall_tau
from densray.progress import Progress, parts_of
from densray.report import show_number
from densray.rotations import Rotation
from densray.rows import Rows, plausible_range
from densray.statistics import held_out_scores, is_linear_in_labels

#: A label is misplaced if its residual exceeds this many robust standard deviations.
MISPLACED = 3.5
#: Fewest rows for which residuals are informative about single labels.
FEWEST_ROWS = 30
_NORMAL = 1.4826  # standard deviations per median absolute deviation, for normal residuals
_NAMED = 5


@dataclass(frozen=True)
class SuspectLabel:
    """A label that may be wrong.

    Attributes
    ----------
    word : str
    label : float
        The original label.
    expected : float
        Expected label, from the regression of labels on held-out scores.
    reason : str
        "outlying" or "misplaced".
    """

    word: str
    label: float
    expected: float
    reason: str


@dataclass(frozen=True)
class SuspectLabels:
    """Labels that may be wrong, and their cost in held-out τ over the other rows.

    Attributes
    ----------
    labels : tuple of SuspectLabel
        Outlying labels first, then by distance from the expected label.
    low, high : float
        The range of the other labels.
    clipped : bool
        Whether outlying labels were clipped to that range.
    tau_with, tau_without : float or None
        Held-out τ of the other rows along an axis fitted with the suspect labels unchanged, and along one fitted
        without those rows; None for methods without a closed form.
    """

    labels: tuple[SuspectLabel, ...]
    low: float
    high: float
    clipped: bool
    tau_with: float | None
    tau_without: float | None

    @property
    def cost(self) -> float | None:
        """Loss in held-out τ of the other rows that the suspect labels cause."""
        return None if self.tau_with is None or self.tau_without is None else self.tau_without - self.tau_with

    @property
    def lines(self) -> list[str]:
        """The labels and their cost, in one to three lines."""
        return self.lines_with()

    def lines_with(
        self, label_names: tuple[str, str] | None = None, noun: str = "word", *, misplaced: bool = True
    ) -> list[str]:
        """Return the labels and their cost, with the names of the low and the high label, and of what is labelled.

        Without `misplaced`, labels far from their held-out scores are not named, because a table lists them.
        """
        names = {} if label_names is None else dict(zip((-1.0, 1.0), label_names, strict=True))
        outlying, against = (self.of(reason) for reason in ("outlying", "misplaced"))
        lines = []
        if outlying:
            action = (
                "They count as the end of that range."
                if self.clipped
                else "Correct them, or clip labels, as the method auto does."
            )
            others = f"{self.low:g} to {self.high:g}"
            lines.append(
                f"Labels far outside the range of the others ({others}): {_show_labels(outlying, names)}. {action}"
            )
        if against and misplaced:
            lines.append(
                "Labels that may be wrong, the furthest from their held-out scores first: "
                f"{_show_labels(against, names)}."
            )
        if self.labels and self.tau_with is not None and self.tau_without is not None:
            lines.append(
                f"Held-out τ of the other {noun}s: {show_number(self.tau_with)} with these labels as given, "
                f"{show_number(self.tau_without)} without these {noun}s."
            )
        return lines

    def of(self, reason: str) -> list[SuspectLabel]:
        """Return the suspect labels of one kind."""
        return [label for label in self.labels if label.reason == reason]


def find_suspects(
    rotation: Rotation,
    rows: Rows,
    held_out: NDArray[np.float64],
    folds: NDArray[np.int64],
    *,
    progress: Progress | None = None,
) -> SuspectLabels | None:
    """Return the labels of rows that may be wrong; None if there are none.

    Outlying: scores far outside the range of the others (:func:`densray.rows.plausible_range`). Misplaced: labels
    more than 3.5 robust standard deviations from a line through labels and held-out scores, on the wrong side of the
    middle.

    Parameters
    ----------
    rotation : fitted rotation
    rows : Rows
        Their labels may have been clipped.
    held_out : array of shape (n,)
        The score of each row along an axis fitted without it.
    folds : array of shape (n,)
    progress : callable, optional
        Called with the refits done and their total.
    """
    original = np.array([rows.clipped_labels.get(name, label) for name, label in zip(rows.names, rows.y, strict=True)])
    low, high = plausible_range(original)
    targets = np.clip(original, low, high)
    outlying = (original < low) | (original > high)
    expected, misplaced = _find_misplaced(targets, held_out, outlying)
    suspect = outlying | misplaced
    if not suspect.any():
        return None
    far = np.abs(targets - expected) + np.where(outlying, np.ptp(targets), 0.0)
    order = [row for row in np.argsort(-far, kind="stable").tolist() if suspect[row]]
    labels = tuple(
        SuspectLabel(
            rows.names[row], float(original[row]), float(expected[row]), "outlying" if outlying[row] else "misplaced"
        )
        for row in order
    )
    with_them, without = _taus(rotation, replace(rows, y=original), folds, ~suspect, progress)
    return SuspectLabels(labels, low, high, bool(rows.clipped_labels), with_them, without)


def _find_misplaced(
    targets: NDArray[np.float64], held_out: NDArray[np.float64], outlying: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the expected label for each held-out score, and which labels are far from it."""
    plausible = ~outlying
    slope = 0.0
    if np.ptp(held_out[plausible]) > 0.0:
        slope = max(float(np.polyfit(held_out[plausible], targets[plausible], 1)[0]), 0.0)
    middle = float(np.mean(targets[plausible]))
    expected = middle + slope * (held_out - held_out[plausible].mean())
    residuals = targets - expected
    if plausible.sum() < FEWEST_ROWS:
        return expected, np.zeros(len(targets), dtype=bool)
    spread = _NORMAL * float(np.median(np.abs(residuals[plausible])))
    opposite = (targets - middle) * (expected - middle) < 0.0
    return expected, plausible & opposite & (np.abs(residuals) > MISPLACED * spread)


def _taus(
    rotation: Rotation,
    rows: Rows,
    folds: NDArray[np.int64],
    kept: NDArray[np.bool_],
    progress: Progress | None,
) -> tuple[float | None, float | None]:
    """Return the held-out τ of the kept rows, for axes fitted on all rows and on the kept rows only."""
    places = np.flatnonzero(kept)
    others = rows.take(places)
    sides = [others.targets[folds[places] != number] for number in np.unique(folds)]
    if not is_linear_in_labels(rotation, rows) or any(len(part) < 2 or np.ptp(part) == 0.0 for part in sides):
        return None, None
    with_all, without = parts_of(progress, [1.0, 1.0])
    every = held_out_scores(rotation, rows, folds, progress=with_all)[places, 0]
    alone = held_out_scores(rotation, others, folds[places], progress=without)[:, 0]
    return kendall_tau(others.y, every), kendall_tau(others.y, alone)


def _show_labels(labels: list[SuspectLabel], names: Mapping[float, str]) -> str:
    """Return words with their labels, which have names if they are those of two classes."""
    label_texts = [names.get(each.label, f"{each.label:g}".replace("-", "−")) for each in labels[:_NAMED]]
    listing = ", ".join(
        f"“{one_line(each.word, width=60)}” ({label})" for each, label in zip(labels, label_texts, strict=False)
    )
    more = f" and {len(labels) - _NAMED:,} more" if len(labels) > _NAMED else ""
    return f"{listing}{more}"
