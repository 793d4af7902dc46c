"""The uncertainty of an axis: standard errors, calibrated probabilities, and how far a row resembles the seeds.

Probabilities are calibrated for rows like the seeds (the labelled rows). The less a row resembles the seeds, the more
its probability shrinks towards the share of the higher class; see :class:`SeedLikeness`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from densray._arrays import HALF_TYPES, float_rows, type_name
from densray._conversions import as_pandas
from densray._vocabulary import unit_rows
from densray.errors import one_line
from densray.report import show_number
from densray.rows import Rows
from densray.statistics import AxisErrors, SeedAngle

if TYPE_CHECKING:
    import polars

    from densray._files import Contents

Vector = NDArray[np.float64]

#: Number of background rows used for the average row, and for the direction in which scores vary.
SAMPLED_ROWS = 16_384
#: Rows of the triangular error matrix that are multiplied together.
TRIANGLE_ROWS = 96
#: Smallest likeness to the seeds for which a row gets a probability; measured in docs/trust.md.
ENOUGH_LIKE_SEEDS = 0.5
#: Number of rows that a text of scores shows.
_ROWS_IN_TEXT = 10


@dataclass(frozen=True)
class Scores:
    """Scores of some rows along an axis. ``print`` shows the first ten.

    Attributes
    ----------
    score : array of shape (n,)
        Coordinate on the axis.
    probability : array or None
        Probability of the higher class, or of a score above the median of the seeds. It rises with the score. NaN (null
        in frames and files) for rows unlike the seeds; see :meth:`Uncertainty.explain_empty`.
    standard_error : array or None
        Standard error of the score over other seeds of the same kind.
    expected_label : array or None
        Expected label in the units of the labels, if labels are scores; NaN if the probability is.
    like_seeds : array or None
        How much a row resembles the seeds, from 0 to 1; see :class:`SeedLikeness`.
    names : tuple of str
        The word or text of each row; empty for plain arrays.
    """

    score: Vector
    probability: Vector | None = None
    standard_error: Vector | None = None
    expected_label: Vector | None = None
    like_seeds: Vector | None = None
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        listed = ", ".join(self.columns())
        if not len(self):
            return f"Scores of 0 rows ({listed})"
        ends = [int(np.argmax(self.score)), int(np.argmin(self.score))]
        names = [f" ({one_line(self.names[row], width=30)})" if self.names else "" for row in ends]
        highest, lowest = (
            f"{show_number(float(self.score[row]), 2)}{name}" for row, name in zip(ends, names, strict=True)
        )
        return f"Scores of {len(self):,} rows: highest {highest}, lowest {lowest} ({listed})"

    def __str__(self) -> str:
        """Return the first rows as a table: names, scores, standard errors and probabilities, rounded.

        >>> print(Scores(np.array([0.25, -0.1]), standard_error=np.array([0.02, 0.03]), names=("good", "bad")))
        name   score      ±
        good   0.250  0.020
        bad   −0.100  0.030
        """
        count = min(len(self), _ROWS_IN_TEXT)
        names = self.names[:count] or tuple(f"row {row}" for row in range(count))
        columns = {"score": self.score, "±": self.standard_error, "probability": self.probability}
        lines = [["name", *map(str, names)]]
        for heading, values in columns.items():
            if values is not None:
                lines.append([heading, *(show_number(float(value), 3) for value in values[:count])])
        lines[0] = [one_line(name, width=40) for name in lines[0]]
        widths = [max(map(len, column)) for column in lines]
        rows = [
            "  ".join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))])
            for cells in zip(*lines, strict=True)
        ]
        more = [f"… {len(self) - count:,} more rows"] if len(self) > count else []
        return "\n".join([*rows, *more])

    def columns(self) -> dict[str, Vector]:
        """Return the known columns by name."""
        columns = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "names"}
        return {name: values for name, values in columns.items() if values is not None}

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with one column per result, and ``name`` if rows have names."""
        import polars

        names = {"name": list(self.names)} if self.names else {}
        return polars.DataFrame({**names, **self.columns()}, nan_to_null=True)

    def to_pandas(self) -> Any:
        """Return a pandas frame with the columns of :meth:`to_polars`; an empty probability is NaN."""
        return as_pandas(self.to_polars().to_dict(as_series=False))

    @property
    def share_given(self) -> float:
        """The share of rows that have a probability."""
        return 0.0 if self.probability is None else float(np.mean(np.isfinite(self.probability)))

    @classmethod
    def joined(cls, blocks: list[Scores], names: tuple[str, ...] = ()) -> Scores:
        """Return the scores of several blocks as one."""
        columns = {name: np.concatenate([block.columns()[name] for block in blocks]) for name in blocks[0].columns()}
        return cls(**columns, names=names)


@dataclass(frozen=True)
class Uncertainty:
    """Turns coordinates on an axis into standard errors, probabilities and expected labels.

    Attributes
    ----------
    seed_mean : array of shape (d,)
        Mean of the seeds; the calibration is measured from it.
    average_row : array of shape (d,)
        Mean of the background; errors are measured from it.
    errors : AxisErrors
        Estimate of how far other seeds of the same kind would move the axis.
    calibration : Calibration
    is_score : bool
        Whether the labels are scores, so that an expected label makes sense.
    least_likeness : float
        See :class:`SeedLikeness`.
    scale_changes : array of shape (k,)
        Share of each deviation that multiplies all scores by one factor. The errors of scores leave it out.
    """

    seed_mean: Vector = field(repr=False)
    average_row: Vector = field(repr=False)
    errors: AxisErrors
    calibration: Calibration
    is_score: bool
    least_likeness: float
    scale_changes: Vector = field(repr=False)

    @classmethod
    def of(cls, axis: Vector, rows: Rows, held_out: Vector, errors: AxisErrors, *, normalize: bool) -> Uncertainty:
        """Return the uncertainty of an axis from its seeds, their held-out scores, and its jackknife errors."""
        average_row, slope = _average_row(rows, axis, normalize=normalize)
        likeness = SeedLikeness.of(rows.X, average_row)
        # an axis has no length: a change that multiplies all scores by one factor is not an error
        scale_changes = errors.deviations @ slope
        deviations = errors.deviations - np.outer(scale_changes, axis)
        return cls(
            seed_mean=likeness.seed_mean,
            average_row=average_row,
            errors=replace(errors, deviations=deviations),
            calibration=Calibration.of(held_out, rows.sides, rows.y),
            is_score=not rows.is_binary,
            least_likeness=likeness.least,
            scale_changes=scale_changes,
        )

    def contrast_variance(self, axis: Vector, difference: Vector) -> float:
        """Return the variance that other seeds of the same kind would cause in the score difference of two mean rows.

        The length of the coefficients varies as well here. If an axis tilts by chance towards the difference, the unit
        axis hardly varies along it, and its error would be far too small.
        """
        moves = self.errors.deviations @ difference + self.scale_changes * float(axis @ difference)
        return float(moves @ moves)

    def score(self, X: NDArray[Any], axis: Vector, coordinates: NDArray[Any]) -> Scores:
        """Return coordinates with their standard errors, probabilities and expected labels."""
        from_seed_mean = coordinates - float(self.seed_mean @ axis)
        calibration, likeness = self.calibration, self._likeness(X)
        alike = likeness >= ENOUGH_LIKE_SEEDS
        probability = np.where(alike & (calibration.slope > 0.0), calibration.probability(from_seed_mean), np.nan)
        labels = np.where(alike & (calibration.label_slope > 0.0), calibration.expected_label(from_seed_mean), np.nan)
        return Scores(
            score=coordinates.astype(np.float64),
            probability=probability,
            standard_error=self._standard_errors(X),
            expected_label=labels if self.is_score else None,
            like_seeds=likeness,
        )

    @property
    def _likeness(self) -> SeedLikeness:
        return SeedLikeness(self.average_row, self.seed_mean, self.least_likeness)

    def explain_empty(self, noun: str = "word") -> str:
        """Return why a row may have no probability; empty if every row has one. `noun` is the name of a row."""
        if self.calibration.slope == 0.0:
            return "No probability is given: held-out scores of the seeds do not rise with their labels."
        if self._likeness.covers_everything:
            return ""
        return (
            f"Only {noun}s that resemble the seeds have a probability (`like_seeds` of at least "
            f"{ENOUGH_LIKE_SEEDS:g}). The others are too unlike the seeds."
        )

    def _standard_errors(self, X: NDArray[Any]) -> Vector:
        """Return the standard errors of coordinates: the lengths of R(x - c), with the covariance RᵀR of the axis.

        A common shift of all rows is not an error, so coordinates are measured from the average row c.
        """
        triangle = self._triangle
        offset = (triangle @ self.average_row).astype(X.dtype)
        squares = np.zeros(len(X))
        for start in range(0, len(triangle), TRIANGLE_ROWS):  # the lower triangle is zero
            part = triangle[start : start + TRIANGLE_ROWS, start:]
            along = X[:, start:] @ part.T.astype(X.dtype)
            along -= offset[start : start + TRIANGLE_ROWS]
            squares += np.einsum("ij,ij->i", along, along, dtype=np.float64)
        return np.sqrt(squares)

    @cached_property
    def _triangle(self) -> Vector:
        """An upper triangle R whose RᵀR is the covariance of the axis: about half the work of the deviations."""
        return np.asarray(np.linalg.qr(self.errors.deviations, mode="r"))

    def even_odds(self, axis: Vector) -> float | None:
        """Return the score at which both classes are equally likely; None if scores do not predict the class."""
        if self.calibration.slope == 0.0:
            return None
        return float(self.seed_mean @ axis) - self.calibration.intercept / self.calibration.slope

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that :meth:`from_contents` reads."""
        return {
            "origin": self.seed_mean,
            "center": self.average_row,
            "deviations": self.errors.deviations.astype(np.float32),
            "seed_angle": np.array(astuple(self.errors.seed_angle), dtype=np.float64),
            "calibration": np.array(astuple(self.calibration), dtype=np.float64),
            "least_likeness": np.array([self.least_likeness]),
            "scale_changes": self.scale_changes.astype(np.float32),
            "is_score": np.array([self.is_score], dtype=np.uint8),
        }

    @classmethod
    def from_contents(cls, contents: Contents, width: int) -> Uncertainty | None:
        """Return the uncertainty stored in a file; None if the file contains only the axis."""
        if "calibration" not in contents.arrays:
            return None
        median, upper, count = contents.array("seed_angle", 3).tolist()
        deviations = contents.array("deviations", None, width).astype(np.float64)
        return cls(
            seed_mean=contents.array("origin", width),
            average_row=contents.array("center", width),
            errors=AxisErrors(deviations, SeedAngle(median, upper, int(count))),
            calibration=Calibration(*contents.array("calibration", len(fields(Calibration))).tolist()),
            is_score=bool(contents.array("is_score", 1, kinds="u")[0]),
            least_likeness=float(contents.array("least_likeness", 1)[0]),
            scale_changes=contents.array("scale_changes", len(deviations)).astype(np.float64),
        )


@dataclass(frozen=True)
class Calibration:
    """The label as a function of a coordinate, measured from the mean of the seeds.

    Attributes
    ----------
    slope, intercept : float
        Coefficients of the log-odds of the higher class (or of a score above the median of the seeds).
    label_slope, label_intercept : float
        Line for the log-odds of the relative label, 0 at `lowest` and 1 at `highest`; used if labels are scores.
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

        A falling sigmoid would reverse the axis. So if held-out scores do not rise with the labels, the slope is 0, and
        all scores have the same probability.
        """
        high = sides > 0
        positives, negatives = int(high.sum()), int((~high).sum())
        # Platt's targets: one more word per class, so that separable seeds give a finite slope
        targets = np.where(high, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
        lowest, highest = float(labels.min()), float(labels.max())
        # ratings end at the limits of their scale: a sigmoid between them (Papke & Wooldridge 1996)
        relative_labels = (labels - lowest) / (highest - lowest)
        slope, intercept = _fit_sigmoid(scores, targets)
        label_slope, label_intercept = _fit_sigmoid(scores, relative_labels)
        return cls(
            slope=slope,
            intercept=intercept,
            label_slope=label_slope,
            label_intercept=label_intercept,
            lowest=lowest,
            highest=highest,
        )

    def probability(self, scores: NDArray[np.floating]) -> Vector:
        """Return the probability of the higher class."""
        return np.asarray(expit(self.slope * scores + self.intercept), dtype=np.float64)

    def expected_label(self, scores: NDArray[np.floating]) -> Vector:
        """Return the expected label, in the units of the lexicon."""
        relative_label = expit(self.label_slope * scores + self.label_intercept)
        return np.asarray(self.lowest + (self.highest - self.lowest) * relative_label, dtype=np.float64)


@dataclass(frozen=True)
class SeedLikeness:
    r"""How much a word resembles the seeds: 0 for the average word, 1 from the 5th percentile of the seeds on.

    The coordinate of a word on the line from the average word c to the mean of the seeds,
    :math:`t = (x - c)^\top m / |m|^2` with :math:`m = \bar x - c`, is 0 for the average word and 1 on average for
    words drawn like the seeds. The likeness is :math:`t / t_{0.05}`, clipped to the range from 0 to 1, where
    :math:`t_{0.05}` is the 5th percentile of the seeds (leave-one-out). If the seeds are as varied as the vocabulary,
    this percentile is not above 0, and every word counts as like the seeds.

    Attributes
    ----------
    average_row : array of shape (d,)
        The average word c.
    seed_mean : array of shape (d,)
        The mean of the seeds.
    least : float
        :math:`t_{0.05}`; 0 or less if every word is like the seeds.
    """

    average_row: Vector
    seed_mean: Vector
    least: float

    @classmethod
    def of(cls, X: NDArray[np.floating], average_row: Vector) -> SeedLikeness:
        """Return the likeness to seeds with these vectors."""
        n, from_average = len(X), X.astype(np.float64) - average_row
        others = (from_average.sum(axis=0) - from_average) / max(n - 1, 1)  # m without each seed
        squares = np.maximum(np.einsum("ij,ij->i", others, others), 1e-300)
        t = np.einsum("ij,ij->i", from_average, others) / squares
        return cls(average_row, average_row + from_average.mean(axis=0), float(np.quantile(t, 0.05)))

    def __call__(self, X: NDArray[np.floating]) -> Vector:
        """Return the likeness of rows."""
        if self.covers_everything:
            return np.ones(len(X))
        m = self.seed_mean - self.average_row
        square = float(m @ m)
        along = (X @ m.astype(X.dtype)).astype(np.float64) - float(self.average_row @ m)
        return np.asarray(np.clip(along / square / self.least, 0.0, 1.0))

    @property
    def covers_everything(self) -> bool:
        """Whether every word is like the seeds, because these are as varied as the vocabulary."""
        return self.least <= 0.0 or not np.any(self.seed_mean != self.average_row)


def _fit_sigmoid(scores: Vector, targets: Vector) -> tuple[float, float]:
    """Return slope and intercept of the log-odds of targets from 0 to 1, by Newton's method on standardised scores.

    scikit-learn's solvers warn if scores separate the targets almost perfectly, which is common here.
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
        bound = now + 1e-9 * (1.0 + abs(now))  # tolerance for rounding
        while loss(weights + step) > bound and np.abs(step).max() >= 1e-10:  # the step overshoots the minimum
            step = step / 2.0
        weights = weights + step
        if np.abs(step).max() < 1e-10:
            break
    if weights[0] <= 0.0:
        return 0.0, level
    return float(weights[0] / spread), float(weights[1] - weights[0] * mean / spread)


def _average_row(rows: Rows, axis: Vector, *, normalize: bool) -> tuple[Vector, Vector]:
    """Return the mean of rows spread evenly over the background, and the slope of their coordinates on their scores."""
    vectors = float_rows(rows.background_sample(SAMPLED_ROWS))
    vectors = vectors.astype(np.float32) if type_name(vectors) in HALF_TYPES else vectors
    vectors = unit_rows(vectors) if normalize else vectors
    average_row = vectors.mean(axis=0, dtype=np.float64)
    scores = vectors @ axis.astype(vectors.dtype)
    scores = scores - scores.mean()
    squares = float(scores @ scores)
    slope = (scores @ vectors).astype(np.float64) / squares if squares > 0 else np.zeros_like(average_row)
    return np.asarray(average_row), np.asarray(slope)
