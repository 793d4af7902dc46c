"""An axis with its errors: standard errors, reliability, calibrated probabilities.

Probabilities are calibrated for words drawn like the seeds. What they say of others is drawn towards what is known
without their score, the share of the higher class: by how little they are like the seeds; see :class:`SeedLikeness`.
"""

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
from densray.axes._resampling import AxisErrors, SeedAngle, axis_errors, draw_folds, held_out_scores
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
    share, mean_label : float
        The share of the higher class and the mean label of the seeds: what words unlike them get.
    """

    slope: float
    intercept: float
    label_slope: float
    label_intercept: float
    lowest: float
    highest: float
    share: float
    mean_label: float

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
        sigmoids = (*_fit_sigmoid(scores, targets), *_fit_sigmoid(scores, places))
        return cls(*sigmoids, lowest, highest, float(high.mean()), float(labels.mean()))

    def probability(self, scores: NDArray[np.floating], likeness: NDArray[np.floating] | float = 1.0) -> Vector:
        """Return the probability of the higher class; at likeness 0 the share of that class among the seeds."""
        chance = expit(self.slope * scores + self.intercept)
        return np.asarray(self.share + likeness * (chance - self.share), dtype=np.float64)

    def expected_label(self, scores: NDArray[np.floating], likeness: NDArray[np.floating] | float = 1.0) -> Vector:
        """Return the expected label, in the units of the lexicon; at likeness 0 the mean label of the seeds."""
        place = expit(self.label_slope * scores + self.label_intercept)
        label = self.lowest + (self.highest - self.lowest) * place
        return np.asarray(self.mean_label + likeness * (label - self.mean_label), dtype=np.float64)


@dataclass(frozen=True)
class SeedLikeness:
    r"""How like the seeds a word is, from 0 (as the average word) to 1 (as 95 of 100 seeds, or more).

    The coordinate of a word on the way from the average word c to the mean of the seeds,
    :math:`t = (x - c)^\top m / |m|^2` with :math:`m = \bar x - c`, is 0 for the average word and 1 on average for
    words drawn like the seeds. The likeness is :math:`t / t_{0.05}` within 0 and 1, :math:`t_{0.05}` being the value
    that 5% of the seeds stay below, each measured without itself. Seeds as varied as the vocabulary have no such
    value above 0: then every word is like them.

    Attributes
    ----------
    center : array of shape (d,)
        The average word.
    origin : array of shape (d,)
        The mean of the seeds.
    least : float
        :math:`t_{0.05}`; 0 or less where every word is like the seeds.
    """

    center: Vector
    origin: Vector
    least: float

    @classmethod
    def of(cls, X: NDArray[np.floating], center: Vector) -> SeedLikeness:
        """Return the likeness to seeds with these vectors."""
        n, parts = len(X), X.astype(np.float64) - center
        others = (parts.sum(axis=0) - parts) / max(n - 1, 1)  # m without each seed
        places = np.einsum("ij,ij->i", parts, others) / np.maximum(np.einsum("ij,ij->i", others, others), 1e-300)
        return cls(center, center + parts.mean(axis=0), float(np.quantile(places, 0.05)))

    def __call__(self, X: NDArray[np.floating]) -> Vector:
        """Return the likeness of rows."""
        toward = self.origin - self.center
        length = float(toward @ toward)
        if self.least <= 0.0 or length == 0.0:
            return np.ones(len(X))
        places = (X @ toward.astype(X.dtype)).astype(np.float64) - float(self.center @ toward)
        return np.asarray(np.clip(places / length / self.least, 0.0, 1.0))


def _fit_sigmoid(scores: Vector, targets: Vector) -> tuple[float, float]:
    """Return slope and intercept of the log-odds of targets from 0 to 1, by Newton's method on standardised scores.

    scikit-learn's solvers warn of scores that part the targets nearly without a fault, which is usual here.
    """
    mean, spread = float(scores.mean()), float(scores.std())
    level = float(np.log(targets.mean() / (1.0 - targets.mean())))
    if spread == 0.0:
        return 0.0, level
    design = np.column_stack([(scores - mean) / spread, np.ones_like(scores)])
    weights = np.array([0.0, level])

    def loss(at: Vector) -> float:
        log_odds = design @ at
        return float(np.logaddexp(0.0, log_odds).sum() - targets @ log_odds)

    for _ in range(100):
        chance = expit(design @ weights)
        gradient = design.T @ (targets - chance)
        curvature = (design * (chance * (1.0 - chance))[:, None]).T @ design
        step = np.linalg.solve(curvature + 1e-9 * np.eye(2), gradient)
        now = loss(weights)
        bound = now + 1e-9 * (1.0 + abs(now))  # what rounding may add
        while loss(weights + step) > bound and np.abs(step).max() >= 1e-10:  # beyond the lowest place
            step = step / 2.0
        weights = weights + step
        if np.abs(step).max() < 1e-10:
            break
    if weights[0] <= 0.0:
        return 0.0, level
    return float(weights[0] / spread), float(weights[1] - weights[0] * mean / spread)


#: Words whose mean is the average word, and whose scores say in which direction scores vary.
SAMPLED_WORDS = 16_384


@dataclass(frozen=True)
class WordScores:
    """Scores of some words: coordinate, probability of the higher class, standard error, expected label, likeness.

    `like_seeds` is how like the seeds a word is, from 0 to 1; see :class:`SeedLikeness`.
    """

    score: NDArray[np.float64]
    probability: NDArray[np.float64] | None
    standard_error: NDArray[np.float64] | None
    expected_label: NDArray[np.float64] | None
    like_seeds: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class AxisModel:
    """An axis, and where seeds were given its errors and calibration.

    Attributes
    ----------
    axis : array of shape (d,)
        Unit length, towards the higher label.
    normalize : bool, default=True
        Whether words are scored at unit length, as the seeds were.
    origin : array of shape (d,), optional
        The mean of the seeds; the calibration is measured from it.
    center : array of shape (d,), optional
        The average word; errors are measured from it.
    errors : AxisErrors, optional
        What other seeds of the same kind would change.
    calibration : Calibration, optional
    scores : bool, default=False
        Whether the labels were scores, so that an expected label means something.
    least_likeness : float, default=0.0
        See :class:`SeedLikeness`.
    """

    axis: NDArray[np.float64]
    normalize: bool = True
    origin: NDArray[np.float64] | None = None
    center: NDArray[np.float64] | None = None
    errors: AxisErrors | None = None
    calibration: Calibration | None = None
    scores: bool = False
    least_likeness: float = 0.0

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
            Called with the fits done and their number.
        """
        if held_out is None:
            held_out = held_out_scores(rotation, seeds, draw_folds(seeds, options))[:, 0]
        errors = axis_errors(
            rotation, seeds, n_groups=options.n_resamples, random_state=options.random_state, progress=progress
        )
        axis = rotation.components_[0]
        center, slope = _average_word(space, axis, normalize=options.normalize)
        likeness = SeedLikeness.of(seeds.X, center)
        # an axis has no scale: what changes all scores by one factor is not an error
        free = errors.deviations - np.outer(errors.deviations @ slope, axis)
        return cls(
            axis=axis,
            normalize=options.normalize,
            origin=likeness.origin,
            center=center,
            errors=AxisErrors(free, errors.seed_angle),
            calibration=Calibration.of(held_out, seeds.sides, seeds.y),
            scores=not seeds.is_binary,
            least_likeness=likeness.least,
        )

    def score(self, X: NDArray[np.float32]) -> WordScores:
        """Return the scores of rows of a space."""
        X = unit_rows(X) if self.normalize else X
        score = X @ self.axis.astype(X.dtype)
        if self.origin is None or self.center is None or self.calibration is None or self.errors is None:
            return WordScores(score.astype(np.float64), None, None, None)
        centred = score - self.offset
        roots = self.errors.deviations
        # a shift of all words alike is not an error: coordinates are taken from the average word
        along = X @ roots.T.astype(X.dtype) - (roots @ self.center).astype(X.dtype)
        likeness = SeedLikeness(self.center, self.origin, self.least_likeness)(X)
        return WordScores(
            score.astype(np.float64),
            self.calibration.probability(centred, likeness),
            np.sqrt(np.einsum("ij,ij->i", along, along, dtype=np.float64)),
            self.calibration.expected_label(centred, likeness) if self.scores else None,
            likeness,
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

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all but the axis itself as arrays, to be saved beside it."""
        arrays: dict[str, NDArray[Any]] = {"normalize": np.array(self.normalize), "scores": np.array(self.scores)}
        known = self.calibration
        if known is not None and self.origin is not None and self.center is not None and self.errors is not None:
            arrays["origin"], arrays["center"] = self.origin, self.center
            arrays["deviations"] = self.errors.deviations.astype(np.float32)
            arrays["seed_angle"] = np.array(astuple(self.errors.seed_angle), dtype=np.float64)
            arrays["calibration"] = np.array(astuple(known), dtype=np.float64)
            arrays["least_likeness"] = np.array(self.least_likeness)
        return arrays

    @classmethod
    def from_file(cls, file: AxisFile) -> AxisModel:
        """Return the first axis of a file with what :meth:`to_arrays` gave; without it, it scores words and no more."""
        axis, contents = file.rotation.components_[0], file.contents
        known, width = contents.arrays.keys(), len(axis)
        normalize = "normalize" not in known or bool(contents.array("normalize", kinds="b"))
        if "calibration" not in known:
            return cls(axis, normalize)
        n_numbers = len(Calibration.__dataclass_fields__)
        median, upper, count = contents.array("seed_angle", 3).tolist()
        return cls(
            axis,
            normalize,
            contents.array("origin", width),
            contents.array("center", width),
            AxisErrors(
                contents.array("deviations", None, width).astype(np.float64), SeedAngle(median, upper, int(count))
            ),
            Calibration(*contents.array("calibration", n_numbers).tolist()),
            bool(contents.array("scores", kinds="b")),
            float(contents.array("least_likeness")),
        )


def _average_word(
    space: WordSpace, axis: NDArray[np.float64], *, normalize: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of rows spread evenly over the space, and the slope of their coordinates on their scores."""
    vectors = np.asarray(space.vectors[spread_rows(len(space), SAMPLED_WORDS)])
    vectors = unit_rows(vectors) if normalize else vectors
    center = vectors.mean(axis=0, dtype=np.float64)
    along = vectors @ axis.astype(vectors.dtype)
    along = along - along.mean()
    squares = float(along @ along)
    slope = (along @ vectors).astype(np.float64) / squares if squares > 0 else np.zeros_like(center)
    return np.asarray(center), np.asarray(slope)
