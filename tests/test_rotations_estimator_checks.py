"""scikit-learn's own checks, over every public estimator and every method."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from densray.persistence import rotation_classes
from densray.rotations import METHODS, Densifier, DensRay, LinearRotation, SequentialRotation

#: Linear discriminant analysis in scikit-learn takes no sample weights; we say so in an error.
NO_WEIGHTS = "scikit-learn's LinearDiscriminantAnalysis takes no sample_weight"
#: Pairs are drawn at random: weights hold in expectation, not for one draw.
DRAWS = "mini-batches are drawn at random"

CANDIDATES = [
    *(make() for make in rotation_classes().values()),
    *(method.make(1) for name, method in METHODS.items() if name != "lda"),
    LinearRotation("lda"),
    DensRay(normalize_differences=True, center_labels=False),
    DensRay(weights=(0.5, 0.5), center_labels=False),
    Densifier(solver="sgd", max_iter=50, random_state=0),
    SequentialRotation(LinearRotation("ridge")),
]
ESTIMATORS = list({repr(estimator): estimator for estimator in CANDIDATES}.values())


def expected_failures(estimator: object) -> dict[str, str]:
    if getattr(estimator, "estimator", None) == "lda":
        names = ("pandas_series", "not_an_array", "list", "shape", "not_overwritten")
        weights = {f"check_sample_weights_{name}": NO_WEIGHTS for name in names}
        return {**weights, "check_sample_weight_equivalence_on_dense_data": NO_WEIGHTS}
    if getattr(estimator, "solver", None) == "sgd":
        return {"check_sample_weight_equivalence_on_dense_data": DRAWS}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_no_default_estimator_is_excused_from_any_check():
    assert all(expected_failures(make()) == {} for make in rotation_classes().values())
