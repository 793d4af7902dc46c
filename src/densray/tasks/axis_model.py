"""An axis with what scoring words by it needs: its errors and its calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray.rotations import Rotation
from densray.tasks.calibration import Calibration
from densray.tasks.held_out import count_folds, held_out_scores, stratified_folds
from densray.tasks.resampling import draw_counts, is_closed_form, resampled_axes
from densray.tasks.seeds import Seeds, unit_rows

__all__ = ["AxisModel", "WordScores", "count_resamples"]

#: Resamples where each is a matrix product, and where each is a fit. A standard error from B resamples is itself known
#: to 1/√(2B): 5 % and 10 % (Efron & Tibshirani 1993, section 6.4).
RESAMPLES_CLOSED, RESAMPLES_REFIT = 200, 50


@dataclass(frozen=True)
class WordScores:
    """Scores of some words: coordinate, probability of the higher class, standard error, expected label."""

    score: NDArray[np.float64]
    probability: NDArray[np.float64] | None
    standard_error: NDArray[np.float64] | None
    expected_label: NDArray[np.float64] | None


@dataclass(frozen=True)
class AxisModel:
    """An axis, and where seeds were given its resamples and calibration.

    Attributes
    ----------
    axis : array of shape (d,)
        Unit length, towards the higher label.
    normalize : bool
        Whether words are scored at unit length, as the seeds were.
    origin : array of shape (d,), optional
        The mean of the seeds; errors and calibration are measured from it.
    resampled : array of shape (n_resamples, d), optional
        Axes of resampled seeds.
    calibration : Calibration, optional
    scores : bool
        Whether the labels were scores, so that an expected label means something.
    """

    axis: NDArray[np.float64]
    normalize: bool = True
    origin: NDArray[np.float64] | None = None
    resampled: NDArray[np.float64] | None = None
    calibration: Calibration | None = None
    scores: bool = False

    @classmethod
    def of(
        cls,
        rotation: Rotation,
        seeds: Seeds,
        *,
        normalize: bool = True,
        folds: int = 10,
        n_resamples: int | None = None,
        random_state: int = 0,
        advance: Callable[[int, int], None] | None = None,
    ) -> AxisModel:
        """Return the axis of a fitted rotation with errors and calibration learned from its seeds.

        Parameters
        ----------
        rotation : fitted rotation
        seeds : Seeds
            What it was fitted on.
        normalize : bool, default=True
            Whether the seeds' vectors were brought to unit length.
        folds : int, default=10
            Of the cross-validation that calibrates; fewer where the seeds are few.
        n_resamples : int, optional
            Resampled axes; 200 where they have a closed form, else 50 fits.
        random_state : int, default=0
        advance : callable, optional
            Called with the resamples done and their number.
        """
        random = np.random.default_rng(random_state)
        numbers = stratified_folds(seeds, count_folds(seeds, folds), random)
        held_out = held_out_scores(rotation, seeds, numbers)[:, 0]
        counts = draw_counts(seeds, count_resamples(rotation, seeds, n_resamples), random)
        return cls(
            axis=rotation.components_[0],
            normalize=normalize,
            origin=seeds.X.mean(axis=0, dtype=np.float64),
            resampled=resampled_axes(rotation, seeds, counts, advance=advance),
            calibration=Calibration.of(held_out, seeds.sides, seeds.y),
            scores=not seeds.binary,
        )

    def score(self, X: NDArray[np.float32]) -> WordScores:
        """Return the scores of rows of a space."""
        X = unit_rows(X) if self.normalize else X
        score = X @ self.axis.astype(X.dtype)
        if self.origin is None or self.calibration is None or self.resampled is None:
            return WordScores(score.astype(np.float64), None, None, None)
        centred = score - float(self.origin @ self.axis)
        # a shift of all words alike is no error: coordinates are taken from the seeds' mean on every axis
        along = X @ self.resampled.T.astype(X.dtype) - (self.resampled @ self.origin).astype(X.dtype)
        return WordScores(
            score.astype(np.float64),
            self.calibration.probability(centred),
            along.std(axis=1, ddof=1).astype(np.float64),
            self.calibration.expected_label(centred) if self.scores else None,
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all but the axis itself as arrays, to be kept beside it in a file."""
        arrays: dict[str, NDArray[Any]] = {"normalize": np.array(self.normalize), "scores": np.array(self.scores)}
        if self.origin is not None and self.resampled is not None and self.calibration is not None:
            known = self.calibration
            arrays["origin"] = self.origin
            arrays["resampled"] = self.resampled.astype(np.float32)
            arrays["calibration"] = np.array(
                [known.slope, known.intercept, known.label_slope, known.label_intercept], dtype=np.float64
            )
        return arrays

    @classmethod
    def from_arrays(cls, axis: NDArray[np.float64], arrays: Mapping[str, NDArray[Any]]) -> AxisModel:
        """Return the axis with what :meth:`to_arrays` gave; without it, it scores words and no more."""
        normalize = bool(arrays.get("normalize", True))
        if not {"origin", "resampled", "calibration"} <= arrays.keys():
            return cls(axis, normalize)
        calibration = Calibration(*(float(value) for value in arrays["calibration"]))
        resampled = arrays["resampled"].astype(np.float64)
        return cls(axis, normalize, arrays["origin"], resampled, calibration, bool(arrays["scores"]))


def count_resamples(rotation: Rotation, seeds: Seeds, wanted: int | None) -> int:
    """Return how many resamples to draw: what was asked for, or what the method's cost allows."""
    if wanted is not None:
        return wanted
    return RESAMPLES_CLOSED if is_closed_form(rotation, seeds) else RESAMPLES_REFIT
