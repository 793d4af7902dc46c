"""Recover old bias after a removal, by clusters, classifiers and neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from densray._threads import single_threaded_blas
from densray._vocabulary import nearest_rows
from densray.debiasing._measurement import Measurement, find_words, require_words, unit_vectors
from densray.errors import Argument, CoverageError, TaskError
from densray.folds import fold_numbers
from densray.lexicon import Lexicon
from densray.metrics import Interval, proportion_interval
from densray.probes import cluster_accuracy
from densray.space import WordSpace, as_space

Model = Literal["linear", "nonlinear"]


@dataclass(frozen=True)
class Probe(Measurement):
    """Accuracy of a probe on unseen words, and on a control task.

    Attributes
    ----------
    control : float
        Mean accuracy of the same model on shuffled labels: the accuracy without the concept.
    """

    control: float = 0.5

    @property
    def selectivity(self) -> float:
        """Accuracy minus the accuracy on the control task."""
        return self.value - self.control


def probe(
    space: WordSpace,
    lexicon: Lexicon,
    *,
    model: Model = "linear",
    n_folds: int = 5,
    n_controls: int = 5,
    most: int = 1000,
    random_state: int | None = 0,
) -> Probe:
    """Return how well a model predicts the two labels of a lexicon from the vectors of unseen words.

    Parameters
    ----------
    space : WordSpace
    lexicon : Lexicon
        Two labels (scores are split at their median); the words of a pair, such as he and she, reveal each other's
        label.
    model : {"linear", "nonlinear"}
        Logistic regression, or a support vector machine with an RBF kernel.
    n_folds : int
        Cross-validation folds.
    n_controls : int
        Number of control tasks: the same words with shuffled labels. Their mean accuracy is the `control`, and the
        p-value compares the probe with it (one-sided binomial test).
    most : int
        Largest number of words; larger lexicons are sampled at random.
    random_state : int or None

    References
    ----------
    .. [1] J. Hewitt and P. Liang. Designing and Interpreting Probes with Control Tasks. EMNLP 2019.
    """
    from scipy.stats import binomtest

    aligned = lexicon.binarized().align(space, any_case=False, minimum=2 * n_folds, order="lexicon")
    random = check_random_state(random_state)
    places = np.sort(random.permutation(len(aligned.names))[:most])
    y = aligned.y[places] > 0
    if min(int(y.sum()), int((~y).sum())) < n_folds:
        raise CoverageError(
            f"a probe in {n_folds} folds needs {n_folds} words of each label; '{lexicon.name}' has {int(y.sum())} and "
            f"{int((~y).sum())} in '{space.name}'. Use fewer folds, or more words."
        )
    X = unit_vectors(space, [aligned.names[place] for place in places.tolist()])
    accuracy = _cross_validate(model, X, y, n_folds, random_state)
    controls = [_cross_validate(model, X, random.permutation(y), n_folds, random_state) for _ in range(n_controls)]
    chance = float(np.mean(controls)) if controls else 0.5
    hits = round(accuracy * y.size)
    return Probe(
        name=f"{model} probe",
        value=accuracy,
        interval=proportion_interval(accuracy, y.size),
        p_value=float(binomtest(hits, y.size, min(max(chance, 1e-9), 1.0), alternative="greater").pvalue),
        used=y.size,
        missing=aligned.missing,
        control=chance,
    )


def _cross_validate(
    model: Model, X: NDArray[np.float64], y: NDArray[np.bool_], n_folds: int, random_state: int | None
) -> float:
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    folds = PredefinedSplit(fold_numbers(np.where(y, 1.0, -1.0), None, n_folds, random_state))
    with single_threaded_blas():
        predicted = cross_val_predict(_model(model), X, y, cv=folds)
    return float(np.mean(predicted == y))


def _model(name: Model) -> Any:
    if name == "linear":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=10.0, max_iter=500)
    if name == "nonlinear":
        from sklearn.svm import SVC

        return SVC(kernel="rbf", C=1.0)
    raise TaskError(Argument("model", name), " is given; 'linear' or 'nonlinear' is needed.")


Kernel = Literal["linear", "rbf"]


@dataclass(frozen=True)
class BiasedWords:
    """The bias of every neutral word of the original space, in ascending order.

    Attributes
    ----------
    poles : pair of str
        The bias is the cosine to the difference of these words; positive towards the first.
    words : tuple of str
        All words except those that belong to the concept by definition, by ascending bias.
    bias : array of shape (n,)
    """

    poles: tuple[str, str]
    words: tuple[str, ...]
    bias: NDArray[np.float64]

    def __repr__(self) -> str:
        low, high = self.words[0], self.words[-1]
        return f"BiasedWords towards {self.poles[0]} or {self.poles[1]}: {len(self.words):,} words from {low} to {high}"

    def top(self, count: int) -> tuple[list[str], NDArray[np.bool_]]:
        """Return the `count` most biased words per side, and whether each is on the side of the first pole."""
        if count < 1 or 2 * count > len(self.words):
            raise TaskError(f"{count} biased words of either side were asked for; there are {len(self.words)} words.")
        return [*self.words[:count], *self.words[-count:]], np.repeat([False, True], count)


def most_biased(space: WordSpace, poles: tuple[str, str], *, exclude: Iterable[str] = ()) -> BiasedWords:
    """Return the words of a space ordered by their cosine to the difference of two poles.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
        The original space.
    poles : pair of str
        Such as ("he", "she").
    exclude : iterable of str
        Words that belong to the concept by definition, such as "queen", and are not biased.
    """
    space = as_space(space)
    require_words(space, poles, what="poles")
    first, second = (space[pole].astype(np.float64) for pole in poles)
    direction = first / np.linalg.norm(first) - second / np.linalg.norm(second)
    length = float(np.linalg.norm(direction))
    if not length > 0:
        raise TaskError(f"the poles '{poles[0]}' and '{poles[1]}' have the same direction. Give two different words.")
    excluded = {*exclude, *poles}
    rows = np.array([row for row, word in enumerate(space.words) if word not in excluded], dtype=np.int64)
    if not rows.size:
        raise TaskError(f"no word of '{space.name}' is left after leaving out {len(excluded)} words.")
    lengths = np.maximum(space.lengths[rows], np.finfo(np.float32).tiny)
    bias = (space.vectors[rows] @ (direction / length).astype(np.float32)).astype(np.float64) / lengths
    order = np.argsort(bias, kind="stable")
    return BiasedWords(poles, tuple(space.words[row] for row in rows[order].tolist()), bias[order])


def cluster_test(
    space: WordSpace, biased: BiasedWords, *, count: int = 500, random_state: int | None = 0
) -> Measurement:
    """Return how well two clusters of the most biased words match their old bias; 0.5 is chance."""
    space = as_space(space)
    words, sides = biased.top(count)
    accuracy = cluster_accuracy(unit_vectors(space, words), sides, random_state=random_state)
    return Measurement("cluster accuracy", accuracy, proportion_interval(accuracy, len(words)), used=len(words))


def recovery_test(
    space: WordSpace,
    biased: BiasedWords,
    *,
    kernel: Kernel = "rbf",
    count: int = 2500,
    n_train: int = 1000,
    random_state: int | None = 0,
) -> Measurement:
    """Return how well a support vector machine recovers the old bias of unseen words.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    biased : BiasedWords
    kernel : {"rbf", "linear"}
    count : int
        Number of most biased words per side.
    n_train : int
        Number of training words, half from each side; it is tested on the others.
    random_state : int or None
        Seed for the choice of training words.
    """
    from sklearn.svm import SVC

    space = as_space(space)
    words, sides = biased.top(count)
    if not 2 <= n_train < len(words):
        raise TaskError(
            Argument("n_train", n_train),
            f" is given; 2 to {len(words) - 1} of {len(words)} words can be used for training.",
        )
    X = unit_vectors(space, words)
    random = check_random_state(random_state)
    halves = [random.permutation(np.flatnonzero(sides == side))[: n_train // 2] for side in (False, True)]
    train = np.concatenate(halves)
    test = np.setdiff1d(np.arange(len(words)), train)
    accuracy = float(SVC(kernel=kernel).fit(X[train], sides[train]).score(X[test], sides[test]))
    return Measurement(f"recovery ({kernel})", accuracy, proportion_interval(accuracy, test.size), used=len(words))


def neighbor_test(space: WordSpace, biased: BiasedWords, words: Iterable[str], *, k: int = 100) -> Measurement:
    """Return the correlation of the old bias of words with the share of neighbours that had the same bias.

    It is Pearson's correlation over `words`, with its p-value; neighbours are those in the changed space.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    biased : BiasedWords
        From the original space.
    words : iterable of str
        For example occupations; words without a bias (missing or excluded) are left out and reported.
    k : int
        Number of neighbours of each word.
    """
    from scipy.stats import pearsonr

    space = as_space(space)
    old = dict(zip(biased.words, biased.bias.tolist(), strict=True))
    requested = list(words)
    present, _ = find_words(space, [word for word in requested if word in old], what="words with neighbours", minimum=3)
    neutral = space.subset([word for word in biased.words if word in space])
    toward = np.array([old[word] > 0 for word in neutral.words])
    rows = neutral.locate(present)
    nearest, _ = nearest_rows(
        neutral.vectors,
        neutral.vectors[rows],
        lengths=neutral.lengths,
        k=k,
        barred=[rows[[i]] for i in range(len(rows))],
    )
    shares = toward[nearest].mean(axis=1)
    bias = np.array([old[word] for word in present])
    missing = tuple(word for word in requested if word not in old or word not in space)
    if np.ptp(shares) == 0 or np.ptp(bias) == 0:
        return Measurement("neighbour correlation", 0.0, None, 1.0, len(present), missing)
    test = pearsonr(bias, shares)
    low, high = test.confidence_interval()
    return Measurement(
        "neighbour correlation",
        float(test.statistic),
        interval=Interval(float(low), float(high)),
        p_value=float(test.pvalue),
        used=len(present),
        missing=missing,
    )
