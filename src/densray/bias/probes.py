"""Probes: can a model still read the concept from the vectors, beyond what it could memorise?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from densray.bias.measurement import Measurement, proportion_interval, unit_rows
from densray.cores import one_core
from densray.errors import CoverageError, TaskError
from densray.lexicon import Lexicon
from densray.space import WordSpace

__all__ = ["Probe", "probe"]

Model = Literal["linear", "nonlinear"]


@dataclass(frozen=True)
class Probe(Measurement):
    """A probe's accuracy on words it has not seen, beside its accuracy on a control task.

    Attributes
    ----------
    control : float
        Mean accuracy of the same model on shuffled labels: what there is to be had without the concept.
    """

    control: float = 0.5

    @property
    def selectivity(self) -> float:
        """Accuracy beyond the control task."""
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
    """Return how well a model tells the two labels of a lexicon from the vectors of words it has not seen.

    Parameters
    ----------
    space : WordSpace
    lexicon : Lexicon
        Two labels (scores are split at their median); both words of a pair, such as he and she, help each other.
    model : {"linear", "nonlinear"}
        Logistic regression, or a support vector machine with an RBF kernel.
    n_folds : int
        Cross-validation folds.
    n_controls : int
        Control tasks: the same words with shuffled labels. Their mean accuracy is the `control`, and the p-value
        compares the probe with it (one-sided binomial test).
    most : int
        Words used at most, drawn at random from larger lexicons.
    random_state : int or None

    References
    ----------
    .. [1] J. Hewitt and P. Liang. Designing and Interpreting Probes with Control Tasks. EMNLP 2019.
    """
    from scipy.stats import binomtest

    aligned = lexicon.binarized().align(space, minimum=2 * n_folds)
    random = check_random_state(random_state)
    chosen = np.sort(random.permutation(len(aligned.words))[:most])
    y = aligned.y[chosen] > 0
    if min(int(y.sum()), int((~y).sum())) < n_folds:
        raise CoverageError(
            f"a probe in {n_folds} folds needs {n_folds} words of each label; '{lexicon.name}' has {int(y.sum())} and "
            f"{int((~y).sum())} in '{space.name}'. Use fewer folds, or more words."
        )
    X = unit_rows(space, [aligned.words[place] for place in chosen.tolist()])
    accuracy = _cross_validated(model, X, y, n_folds, random_state)
    controls = [_cross_validated(model, X, random.permutation(y), n_folds, random_state) for _ in range(n_controls)]
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


def _cross_validated(
    model: Model, X: NDArray[np.float64], y: NDArray[np.bool_], n_folds: int, random_state: int | None
) -> float:
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    with one_core():
        predicted = cross_val_predict(_model(model), X, y, cv=folds)
    return float(np.mean(predicted == y))


def _model(name: Model) -> Any:
    if name == "linear":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=10.0, max_iter=500)
    if name == "nonlinear":
        from sklearn.svm import SVC

        return SVC(kernel="rbf", C=1.0)
    raise TaskError(f"model={name!r} is given; 'linear' or 'nonlinear' is needed.")
