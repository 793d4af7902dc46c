"""Learn the prior of IntRank from the development half of BATS and Google, and print it for `densray.analogy._intrank`.

A weight vector per category is taken as a draw from a Gaussian with a diagonal covariance, whose mean and variance
expectation maximisation finds (the posterior of each category by Laplace's approximation). With some twenty categories
these variances are too small; `PSEUDO_CATEGORIES` more, of deviation `PSEUDO_DEVIATION`, correct them.

The development half, by a rule fixed before any figure was seen: categories with at least 15 usable pairs, counted from
one in the order of the set, within each group of BATS and within Google; those at odd places. The others, and all of
MSR, are for reporting.

The table without spelling in `_intrank` was learned before words that rules of spelling make were candidates. Learned
again it differs a little; the precision on the development half is the same.

Usage: python scripts/learn_intrank_prior.py
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from densray import WordSpace, load_space
from densray.analogy._candidates import FEATURES, SPACE_FEATURES
from densray.analogy._conditional_logit import fit_conditional_logit, loss_curvature
from densray.analogy._examples import Examples, all_visible
from densray.analogy._located import LocatedCategory, locate_categories
from densray.analogy._nested import NestedQuestions
from densray.analogy._products import UnitVectors
from densray.datasets import load_analogies

SPACE = "googlenews-26k"
LEAST_PAIRS = 15
ROUNDS = 30
PSEUDO_CATEGORIES = 10
PSEUDO_DEVIATION = 0.5  # of a weight, in units of one over the standard deviation of its feature among candidates

Matrix = NDArray[np.float64]
Asked = tuple[Matrix, NDArray[np.bool_]]


def split_halves(space: WordSpace, name: str) -> tuple[list[LocatedCategory], list[LocatedCategory]]:
    """Return the development half and the reported half of a set."""
    analogies = load_analogies(name)
    counted: dict[str, int] = {}
    halves: tuple[list[LocatedCategory], list[LocatedCategory]] = [], []
    for category in locate_categories(space, analogies, any_case=analogies.is_lower_case):
        if len(category) >= LEAST_PAIRS:
            place = counted[category.group] = counted.get(category.group, 0) + 1
            halves[1 - place % 2].append(category)
    return ([], halves[0] + halves[1]) if name == "msr" else halves


def questions_of(space: WordSpace, category: LocatedCategory) -> Asked:
    """Return every pair of a category asked without itself: features (m, C, K), and which candidates are right."""
    examples = Examples(UnitVectors(space), category)
    training = NestedQuestions(examples, all_visible(examples), "densray-unit", spelling=True).training[0]
    features, right = zip(*training, strict=True)
    return np.stack(features).astype(np.float64), np.stack(right)


def deviations(questions: Sequence[Asked]) -> Matrix:
    """Return the standard deviation of each feature among the candidates of a question, shape (K,)."""
    within = [features - features.mean(axis=1, keepdims=True) for features, _ in questions]
    return np.asarray(np.sqrt(np.mean([one.var(axis=(0, 1)) for one in within], axis=0)) + 1e-6)


def learn_prior(questions: Sequence[Asked], *, rounds: int = ROUNDS) -> tuple[Matrix, Matrix]:
    """Return mean and standard deviation of the weights over categories, for features as they are."""
    scale = deviations(questions)
    scaled = [(features / scale, right) for features, right in questions]
    mean, variance = np.zeros(len(scale)), np.ones(len(scale))
    mean[0] = 1.0
    for _ in range(rounds):
        weights, posterior = [], []
        for features, right in scaled:
            fitted = fit_conditional_logit(features, right, center=mean, precision=1.0 / variance)
            curvature = loss_curvature(features, right, fitted) + np.diag(1.0 / variance)
            weights.append(fitted)
            posterior.append(np.diag(np.linalg.inv(curvature)))
        mean = np.mean(weights, axis=0)
        spread = np.sum((np.array(weights) - mean) ** 2 + posterior, axis=0)
        variance = (spread + PSEUDO_CATEGORIES * PSEUDO_DEVIATION**2) / (len(questions) + PSEUDO_CATEGORIES)
    return mean / scale, np.sqrt(variance) / scale


def main() -> None:
    """Print both priors."""
    space = load_space(SPACE)
    half = [category for name in ("bats", "google") for category in split_halves(space, name)[0]]
    questions = [questions_of(space, category) for category in half]
    for title, names in (("_WITHOUT_SPELLING", SPACE_FEATURES), ("_WITH_SPELLING", FEATURES)):
        places = [FEATURES.index(name) for name in names]
        mean, deviation = learn_prior([(features[:, :, places], right) for features, right in questions])
        print(f"{title}: Mapping[str, tuple[float, float]] = {{")
        for name, center, width in zip(names, mean, deviation, strict=True):
            print(f'    "{name}": ({center:.3g}, {width:.3g}),')
        print("}")


if __name__ == "__main__":
    main()
