"""An axis with its errors: standard errors, reliability, calibrated probabilities."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from densray._threads import Progress
from densray._vocabulary import spread_rows, unit_rows
from densray.alignment import Alignment
from densray.axes._options import DEFAULTS, AxisOptions
from densray.axes._resampling import (
    draw_counts,
    draw_folds,
    held_out_scores,
    is_closed_form,
    resampled_axes,
)
from densray.errors import TaskError
from densray.persistence import AxisFile
from densray.rotations import Rotation
from densray.space import WordSpace

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """What a coordinate, measured from the mean of the seeds, says of the label.

    Attributes
    ----------
    slope, intercept : float
        Of the log-odds of the higher class (of a score above the seeds' median).
    label_slope, label_intercept : float
        Of the log-odds of the expected label's place between `lowest` and `highest`; of use for scores.
    lowest, highest : float
        The range of the labels.
    """

    slope: float
    intercept: float
    label_slope: float
    label_intercept: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, scores: Vector, sides: Vector, labels: Vector) -> Calibration:
        """Return the calibration of held-out scores against sides (±1) and labels.

        A falling sigmoid would turn the axis round: where held-out scores do not rise with the labels, the slope is 0
        and every word gets the share of the higher class.
        """
        high = sides > 0
        positives, negatives = int(high.sum()), int((~high).sum())
        # Platt's targets: one more word of either class, so that separable seeds give a finite slope
        targets = np.where(high, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
        lowest, highest = float(labels.min()), float(labels.max())
        # ratings stop at the ends of their scale: a sigmoid between them (Papke & Wooldridge 1996)
        places = (labels - lowest) / (highest - lowest)
        return cls(*_fit_sigmoid(scores, targets), *_fit_sigmoid(scores, places), lowest, highest)

    def probability(self, scores: NDArray[np.floating]) -> Vector:
        """Return the probability of the higher class."""
        return np.asarray(expit(self.slope * scores + self.intercept), dtype=np.float64)

    def expected_label(self, scores: NDArray[np.floating]) -> Vector:
        """Return the expected label, in the units of the lexicon."""
        place = expit(self.label_slope * scores + self.label_intercept)
        return np.asarray(self.lowest + (self.highest - self.lowest) * place, dtype=np.float64)


def _fit_sigmoid(scores: Vector, targets: Vector) -> tuple[float, float]:
    """Return slope and intercept of the log-odds of targets from 0 to 1: a logistic regression without a penalty."""
    from sklearn.linear_model import LogisticRegression

    mean, spread = float(scores.mean()), float(scores.std())
    level = float(np.log(targets.mean() / (1.0 - targets.mean())))
    if spread == 0.0:
        return 0.0, level
    standardised = np.tile((scores - mean) / spread, 2)[:, None]
    sides, weights = np.repeat([1, 0], len(scores)), np.concatenate([targets, 1.0 - targets])
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(standardised, sides, sample_weight=weights)
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    if slope <= 0.0:
        return 0.0, level
    return slope / spread, intercept - slope * mean / spread


#: Resamples where each is a matrix product, and where each is a fit. A standard error from B resamples is itself known
#: to 1/√(2B): 5 % and 10 % (Efron & Tibshirani 1993, section 6.4).
RESAMPLES_CLOSED, RESAMPLES_REFIT = 200, 50
#: The least cosine of a resampled axis with the axis that its length is corrected for: 78°.
LEAST_COSINE = 0.2
#: Words whose mean is the average word.
SAMPLED_WORDS = 16_384


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
        The mean of the seeds; the calibration is measured from it.
    center : array of shape (d,), optional
        The average word; errors are measured from it.
    resampled : array of shape (n_resamples, d), optional
        Axes of resampled seeds.
    calibration : Calibration, optional
    scores : bool
        Whether the labels were scores, so that an expected label means something.
    """

    axis: NDArray[np.float64]
    normalize: bool = True
    origin: NDArray[np.float64] | None = None
    center: NDArray[np.float64] | None = None
    resampled: NDArray[np.float64] | None = None
    calibration: Calibration | None = None
    scores: bool = False

    @classmethod
    def of(
        cls,
        rotation: Rotation,
        seeds: Alignment,
        space: WordSpace,
        options: AxisOptions = DEFAULTS,
        *,
        held_out: NDArray[np.float64] | None = None,
        progress: Progress | None = None,
    ) -> AxisModel:
        """Return the axis of a fitted rotation with errors and calibration learned from its seeds.

        Parameters
        ----------
        rotation : fitted rotation
        seeds : Alignment
            What it was fitted on.
        space : WordSpace
            Where they are from.
        options : AxisOptions, optional
            Those the seeds were found with.
        held_out : array of shape (n,), optional
            Held-out scores of the seeds, where they are known already.
        progress : callable, optional
            Called with the resamples done and their number.
        """
        if held_out is None:
            held_out = held_out_scores(rotation, seeds, draw_folds(seeds, options))[:, 0]
        # a generator of its own: the errors are the same whether or not held-out scores were known
        random = np.random.default_rng(options.random_state)
        counts = draw_counts(seeds, count_resamples(rotation, seeds, options.n_resamples), random)
        return cls(
            axis=rotation.components_[0],
            normalize=options.normalize,
            origin=seeds.X.mean(axis=0, dtype=np.float64),
            center=_average_word(space, normalize=options.normalize),
            resampled=resampled_axes(rotation, seeds, counts, progress=progress),
            calibration=Calibration.of(held_out, seeds.sides, seeds.y),
            scores=not seeds.is_binary,
        )

    def score(self, X: NDArray[np.float32]) -> WordScores:
        """Return the scores of rows of a space."""
        X = unit_rows(X) if self.normalize else X
        score = X @ self.axis.astype(X.dtype)
        if self.origin is None or self.center is None or self.calibration is None or self.resampled is None:
            return WordScores(score.astype(np.float64), None, None, None)
        centred = score - self.offset
        axes = self._comparable_axes(self.resampled)
        # a shift of all words alike is not an error: on every axis coordinates are taken from the average word
        along = X @ axes.T.astype(X.dtype) - (axes @ self.center).astype(X.dtype)
        return WordScores(
            score.astype(np.float64),
            self.calibration.probability(centred),
            along.std(axis=1, ddof=1).astype(np.float64),
            self.calibration.expected_label(centred) if self.scores else None,
        )

    @property
    def offset(self) -> float:
        """The coordinate of the mean of the seeds: what turns a coordinate counted from there into a score."""
        return 0.0 if self.origin is None else float(self.origin @ self.axis)

    @property
    def even_odds(self) -> float | None:
        """The score at which a word is as likely of one side as of the other; none where that is not known."""
        if self.calibration is None or self.calibration.slope == 0.0:
            return None
        return self.offset - self.calibration.intercept / self.calibration.slope

    def _comparable_axes(self, axes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return resampled axes at the length at which their coordinate along the axis is that of the axis itself.

        An axis is signal plus the noise of its seeds, and a resample adds noise once more: brought back to unit length
        it would show the noise made small by its own length. Along the tangent it keeps its size.
        """
        cosines = np.clip(axes @ self.axis, LEAST_COSINE, None)
        return np.asarray(axes / cosines[:, None])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all but the axis itself as arrays, to be saved beside it."""
        arrays: dict[str, NDArray[Any]] = {"normalize": np.array(self.normalize), "scores": np.array(self.scores)}
        known = self.calibration
        if known is not None and self.origin is not None and self.center is not None and self.resampled is not None:
            arrays["origin"], arrays["center"] = self.origin, self.center
            arrays["resampled"] = self.resampled.astype(np.float32)
            arrays["calibration"] = np.array(astuple(known), dtype=np.float64)
        return arrays

    @classmethod
    def from_file(cls, file: AxisFile) -> AxisModel:
        """Return the first axis of a file with what :meth:`to_arrays` gave; without it, it scores words and no more."""
        axis, arrays = file.rotation.components_[0], file.attachments
        normalize = bool(arrays.get("normalize", True))
        if not {"origin", "center", "resampled", "calibration"} <= arrays.keys():
            return cls(axis, normalize)
        calibration = Calibration(*(float(value) for value in arrays["calibration"]))
        resampled = arrays["resampled"].astype(np.float64)
        origin, center = arrays["origin"], arrays["center"]
        return cls(axis, normalize, origin, center, resampled, calibration, bool(arrays["scores"]))


def _average_word(space: WordSpace, *, normalize: bool) -> NDArray[np.float64]:
    """Return the mean of rows spread evenly over the space: a point of reference, any near it would do."""
    vectors = np.asarray(space.vectors[spread_rows(len(space), SAMPLED_WORDS)])
    return np.asarray((unit_rows(vectors) if normalize else vectors).mean(axis=0, dtype=np.float64))


def count_resamples(rotation: Rotation, seeds: Alignment, wanted: int | None) -> int:
    """Return how many resamples to draw: what was asked for, or what the method's cost allows."""
    if wanted is not None:
        if wanted < 2:
            raise TaskError(
                f"n_resamples={wanted} is given; an error takes at least 2 resamples, 50 or more to be of use."
            )
        return wanted
    return RESAMPLES_CLOSED if is_closed_form(rotation, seeds) else RESAMPLES_REFIT
