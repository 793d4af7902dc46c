"""Several named concepts, pairs in groups, and the mean difference."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from densray import DensRay, LinearRotation, MeanDifference, PairDirection, SequentialRotation
from densray.errors import DensRayError, LabelError


@pytest.fixture(scope="module")
def concepts():
    """Two correlated concepts on tilted directions; each word misses one label or the other."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(300, 2))
    X = 0.4 * rng.normal(size=(300, 8))
    X[:, 0] += signs[:, 0]
    X[:, 1] += signs[:, 1]
    X[:, 0] += 0.5 * signs[:, 1]  # the second concept leans on the first one's direction
    Y = signs.copy()
    Y[::3, 0] = np.nan
    Y[1::3, 1] = np.nan
    return X, Y


def test_each_concept_is_found_in_the_complement_of_the_earlier_ones(concepts):
    X, Y = concepts
    rotation = SequentialRotation(MeanDifference(), names=["first", "second"]).fit(X, Y)
    labelled = ~np.isnan(Y)
    first = MeanDifference().fit(X[labelled[:, 0]], Y[labelled[:, 0], 0]).components_[0]
    np.testing.assert_allclose(rotation.components_[0], first, atol=1e-12)
    rest = X - np.outer(X @ first, first)
    second = MeanDifference().fit(rest[labelled[:, 1]], Y[labelled[:, 1], 1]).components_[0]
    np.testing.assert_allclose(rotation.components_[1], second, atol=1e-10)
    np.testing.assert_allclose(rotation.components_ @ rotation.components_.T, np.eye(8), atol=1e-12)


def test_the_order_of_concepts_is_an_order_of_precedence(concepts):
    X, Y = concepts
    forward, backward = SequentialRotation().fit(X, Y), SequentialRotation().fit(X, Y[:, ::-1])
    assert abs(forward.components_[0] @ backward.components_[1]) < 0.999
    np.testing.assert_allclose(
        backward.components_[0],
        DensRay(1).fit(X[~np.isnan(Y[:, 1])], Y[~np.isnan(Y[:, 1]), 1]).components_[0],
        atol=1e-9,
    )


def test_concepts_name_the_features(concepts):
    rotation = SequentialRotation(names=["sentiment", "concreteness"], n_components=3).fit(*concepts)
    assert rotation.get_feature_names_out().tolist() == ["sentiment", "concreteness", "sequentialrotation2"]
    assert rotation.set_output(transform="polars").transform(concepts[0]).columns[0] == "sentiment"


def test_any_method_may_stand_inside(concepts):
    X, Y = concepts
    rotation = SequentialRotation(LinearRotation("svm")).fit(X, Y)
    assert [type(part).__name__ for part in rotation.rotations_] == ["LinearRotation", "LinearRotation"]
    assert rotation.components_[1, 1] > 0.8


def test_sequences_that_cannot_be_are_refused(concepts):
    X, Y = concepts
    with pytest.raises(DensRayError, match="3 names are given for 2 concepts"):
        SequentialRotation(names=["a", "b", "c"]).fit(X, Y)
    with pytest.raises(DensRayError, match="2 concepts need one axis each"):
        SequentialRotation(n_components=1).fit(X, Y)
    with pytest.raises(LabelError, match="signal 1 of y: all labels in y are"):
        SequentialRotation().fit(X, np.column_stack([Y[:, 0], np.ones(300)]))


def test_pair_direction_is_the_first_component_of_centred_pairs():
    """Bolukbasi et al. centre each pair and take the first principal component of all rows."""
    rng = np.random.default_rng(1)
    centres, hidden = rng.normal(size=(12, 6)), np.eye(6)[4]
    left = centres + hidden + 0.3 * rng.normal(size=(12, 6))
    right = centres - hidden + 0.3 * rng.normal(size=(12, 6))
    X = np.vstack([left, right])
    y, groups = np.repeat([1, -1], 12), np.tile(np.arange(12), 2)
    rotation = PairDirection().fit(X, y, groups=groups)
    middle = (left + right) / 2
    component = PCA(1).fit(np.vstack([left - middle, right - middle])).components_[0]
    assert abs(rotation.components_[0] @ component) == pytest.approx(1.0, abs=1e-10)
    assert rotation.components_[0] @ hidden > 0.9
    without = PairDirection().fit(X, y)
    assert without.components_[0] @ hidden < rotation.components_[0] @ hidden  # the control: pairs matter


def test_words_without_a_partner_do_not_count():
    X = np.array([[1.0, 5.0], [-1.0, 5.0], [9.0, 9.0]])
    rotation = PairDirection().fit(X, [1, -1, 1], groups=["he", "he", "lonely"])
    np.testing.assert_allclose(rotation.components_, [[1.0, 0.0]], atol=1e-12)
    with pytest.raises(LabelError, match="no group contains rows of both classes"):
        PairDirection().fit(X, [1, -1, 1], groups=["a", "b", "c"])
    with pytest.raises(LabelError, match=r"groups has shape \(2,\)"):
        PairDirection().fit(X, [1, -1, 1], groups=["a", "b"])


def test_the_mean_difference_adds_up_over_blocks():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    blocks = MeanDifference()
    for rows in (slice(0, 3), slice(3, 20), slice(20, 50)):
        blocks.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(blocks.components_, MeanDifference().fit(X, y).components_, atol=1e-12)


def test_a_list_in_place_of_a_rotation_is_refused_by_its_type(concepts):
    with pytest.raises(DensRayError, match="rotation is a list; one rotation is needed"):
        SequentialRotation([DensRay(1), DensRay(1)]).fit(*concepts)


def test_equal_means_have_no_direction():
    with pytest.raises(LabelError, match="the direction found is zero"):
        MeanDifference().fit(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), [1, 1, -1, -1])


def test_a_weight_of_a_pair_direction_counts_as_copies_of_the_row():
    rng = np.random.default_rng(3)
    X, y, groups = rng.normal(size=(40, 6)), np.tile([1, -1], 20), np.repeat(np.arange(10), 4)
    weight = rng.integers(0, 4, size=40)
    copies = np.repeat(np.arange(40), weight)
    for options, repeated in (({}, {}), ({"groups": groups}, {"groups": groups[copies]})):
        weighted = PairDirection(3).fit(X, y, weight, **options)
        copied = PairDirection(3).fit(X[copies], y[copies], **repeated)
        np.testing.assert_allclose(weighted.eigenvalues_, copied.eigenvalues_)
        np.testing.assert_allclose(weighted.components_, copied.components_, atol=1e-9)
