r"""From a coordinate on an axis to a probability, learned from held-out seeds.

Platt's sigmoid [1]_: :math:`P(\text{higher} \mid s) = 1 / (1 + e^{-(a s + b)})`, fitted to the scores of seeds by axes
that have not seen them. Isotonic regression, the usual alternative, has no edge here: coordinates of a class are a sum
of many small parts and nearly normal, where the sigmoid is the exact form, and it needs two numbers instead of a step
function that ties words and reaches 0 and 1 [2]_. ``docs/trust.md`` shows both side by side.

References
----------
.. [1] J. Platt. Probabilistic Outputs for Support Vector Machines. Advances in Large Margin Classifiers, 1999.
.. [2] A. Niculescu-Mizil and R. Caruana. Predicting Good Probabilities with Supervised Learning. ICML 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["Calibration"]

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
    """Return slope and intercept of the log-odds of targets from 0 to 1, by Newton's method on standardised scores."""
    mean, spread = float(scores.mean()), float(scores.std())
    level = float(np.log(targets.mean() / (1.0 - targets.mean())))
    if spread == 0.0:
        return 0.0, level
    design = np.column_stack([(scores - mean) / spread, np.ones_like(scores)])
    weights = np.array([0.0, level])
    for _ in range(100):
        chance = expit(design @ weights)
        gradient = design.T @ (targets - chance)
        curvature = (design * (chance * (1.0 - chance))[:, None]).T @ design
        step = np.linalg.solve(curvature + 1e-9 * np.eye(2), gradient)
        weights += step * min(1.0, 2.0 / float(np.abs(step).max() + 1e-300))  # short steps: no overshooting
        if np.abs(step).max() < 1e-10:
            break
    if weights[0] <= 0.0:
        return 0.0, level
    return float(weights[0] / spread), float(weights[1] - weights[0] * mean / spread)
