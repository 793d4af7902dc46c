"""`standardize=True`: the axis of standardized columns, returned as one that reads rows as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from densray import Axis, Densifier, DensRay, Lexicon, LinearRotation, MeanDifference, SequentialRotation, WordSpace
from densray.axes import compare_methods, diagnose
from densray.errors import DensRayError
from densray.rotations import METHODS, PairDirection, Rotation, make_rotation
from densray.rotations._columns import Columns
from densray.scale import fit_blocks

WIDTH, ROWS = 6, 80
SIZES = 10.0 ** np.arange(-2, 4)


def unlike_columns(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes in columns of sizes from 0.01 to 1000, away from zero, one of them constant."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(ROWS) < 0.4, 1.0, -1.0)
    X = random.normal(size=(ROWS, WIDTH)) * SIZES + y[:, None] * random.normal(size=WIDTH) * SIZES * 0.5 + 3.0
    X[:, 2] = 7.3
    return X, y


def scaled(method: str, n_components: int | None = 1) -> Rotation:
    return make_rotation(method, n_components).set_params(standardize=True)


def same_up_to_scale_and_origin(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.corrcoef(first, second)[0, 1] > 1.0 - 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_those_of_a_standard_scaler_before_the_method(method: str) -> None:
    X, y = unlike_columns()
    Z = StandardScaler().fit_transform(X)
    by_hand = Z @ make_rotation(method).fit(Z, y).components_[0]
    found = scaled(method).fit(X, y).components_[0]
    assert same_up_to_scale_and_origin(X @ found, by_hand)
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("method", [name for name, each in METHODS.items() if not each.classes_only])
def test_scores_of_real_labels_are_those_of_a_standard_scaler_too(method: str) -> None:
    X, y = unlike_columns()
    scores = (X / SIZES) @ np.arange(WIDTH) + y
    Z = StandardScaler().fit_transform(X)
    by_hand = Z @ make_rotation(method).fit(Z, scores).components_[0]
    assert same_up_to_scale_and_origin(X @ scaled(method).fit(X, scores).components_[0], by_hand)


@pytest.mark.parametrize("method", ["densray", "densray-unit", "ridge", "mean-difference", "pair-direction"])
def test_a_full_basis_is_still_a_lossless_rotation(method: str) -> None:
    X, y = unlike_columns()
    rotation = scaled(method, None).fit(X, y)
    assert np.abs(rotation.components_ @ rotation.components_.T - np.eye(WIDTH)).max() < 1e-10
    assert np.allclose(rotation.inverse_transform(rotation.transform(X)), X, rtol=1e-10)
    assert np.allclose(rotation.components_[0], scaled(method).fit(X, y).components_[0])


def test_further_axes_span_what_the_scaled_ones_read() -> None:
    X, y = unlike_columns()
    Z = StandardScaler().fit_transform(X)
    found = PairDirection(3, standardize=True).fit(X, y).components_
    by_hand = Z @ PairDirection(3).fit(Z, y).components_.T
    centred = (X - X.mean(axis=0)) @ found.T
    fitted = np.linalg.lstsq(centred, by_hand, rcond=None)[0]
    assert np.allclose(centred @ fitted, by_hand, atol=1e-8)
    assert np.allclose(np.tril(np.ones((3, 3)), -1) * fitted, 0.0, atol=1e-8)  # axis k: of the first k readings alone


@pytest.mark.parametrize("method", METHODS)
def test_nothing_changes_where_it_is_not_asked_for_or_all_columns_are_alike(method: str) -> None:
    X, y = unlike_columns()
    Z = StandardScaler().fit_transform(X)[:, [0, 1, 3, 4, 5]]
    plain = make_rotation(method).fit(Z, y).components_
    assert np.allclose(scaled(method).fit(Z, y).components_, plain, atol=1e-9)
    with pytest.raises(DensRayError, match="standardize='columns' is given; True or False is needed"):
        make_rotation(method).set_params(standardize="columns").fit(Z, y)


def test_the_unit_of_a_column_does_not_matter() -> None:
    X, y = unlike_columns()
    units = 10.0 ** np.array([3, -2, 0, 1, -4, 2])
    for method in ("densray", "densray-unit", "ridge", "mean-difference"):
        first, second = scaled(method).fit(X, y), scaled(method).fit(X * units, y)
        assert same_up_to_scale_and_origin(X @ first.components_[0], (X * units) @ second.components_[0])
        plain = make_rotation(method).fit(X, y), make_rotation(method).fit(X * units, y)
        assert not same_up_to_scale_and_origin(X @ plain[0].components_[0], (X * units) @ plain[1].components_[0])


@pytest.mark.parametrize("method", ["densray", "densray-unit", "ridge", "mean-difference", "pair-direction"])
@pytest.mark.parametrize("labels", ["classes", "scores"])
def test_a_weight_equals_repeating_the_row(method: str, labels: str) -> None:
    X, y = unlike_columns()
    if labels == "scores":
        if METHODS[method].classes_only:
            return
        y = y + (X / SIZES)[:, 0]
    weight = np.random.default_rng(1).integers(0, 4, size=ROWS)
    repeated = scaled(method).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).components_
    assert np.allclose(scaled(method).fit(X, y, sample_weight=weight).components_, repeated, atol=1e-8)


@pytest.mark.parametrize("labels", ["classes", "scores", "text"])
@pytest.mark.parametrize("rotation", [DensRay, MeanDifference])
def test_blocks_give_the_axes_of_all_rows(rotation: type, labels: str) -> None:
    X, y = unlike_columns()
    if labels == "scores":
        y = y + (X / SIZES)[:, 0]
    if labels == "text":
        y = np.where(y > 0, "up", "down")
    blocks = [slice(0, 10), slice(10, 45), slice(45, ROWS)]
    added = rotation(1, standardize=True)
    for block in blocks:
        added.partial_fit(X[block], y[block])
    streamed = fit_blocks(rotation(1, standardize=True), [(X[block], y[block]) for block in blocks])
    merged = rotation(1, standardize=True).partial_fit(X[:45], y[:45])
    merged.merge(rotation(1, standardize=True).partial_fit(X[45:], y[45:]))
    whole = rotation(1, standardize=True).fit(X, y).components_
    for found in (added, streamed, merged):
        assert np.allclose(found.components_, whole, atol=1e-9)


def test_dask_scales_by_the_moments_of_all_rows() -> None:
    dask_array = pytest.importorskip("dask.array")
    X, y = unlike_columns()
    lazy, labels = dask_array.from_array(X, chunks=(30, -1)), dask_array.from_array(y, chunks=30)
    whole = DensRay(1, standardize=True).fit(X, y).components_[0]
    assert np.allclose(DensRay(1, standardize=True).fit(lazy, labels).components_[0], whole, atol=1e-9)


def test_a_checkpoint_keeps_what_scaled_columns_need(tmp_path: Path) -> None:
    X, y = unlike_columns()
    scores = y + (X / SIZES)[:, 0]
    path = tmp_path / "half.npz"
    fit_blocks(MeanDifference(standardize=True), [(X[:40], scores[:40])], checkpoint=path)
    resumed = fit_blocks(
        MeanDifference(standardize=True), [(X[:40], scores[:40]), (X[40:], scores[40:])], checkpoint=path
    )
    assert np.allclose(resumed.components_, MeanDifference(standardize=True).fit(X, scores).components_, atol=1e-9)


def test_float32_rows_with_large_means_are_scaled_as_in_double() -> None:
    X = unlike_columns()[0] / SIZES + 100.0
    X[:, 2] = 0.1
    double = Columns.of_rows(X, None, standardize=True)
    single = Columns.of_rows(X.astype(np.float32), None, standardize=True)
    assert single.spread == pytest.approx(double.spread, rel=1e-4)
    assert single.spread[2] == double.spread[2] == 1.0  # constant


def test_torch_rows_are_scaled_on_their_device() -> None:
    torch = pytest.importorskip("torch")
    X, y = unlike_columns()
    for rotation in (DensRay(1, standardize=True), LinearRotation("ridge", standardize=True)):
        found = rotation.fit(torch.tensor(X), torch.tensor(y)).components_
        assert np.allclose(found, rotation.fit(X, y).components_, atol=1e-9)


def test_several_concepts_are_found_in_scaled_columns() -> None:
    X, y = unlike_columns()
    other = np.where((X / SIZES)[:, 5] > np.median((X / SIZES)[:, 5]), 1.0, -1.0)
    table = np.column_stack([y, other])
    found = SequentialRotation(MeanDifference(), n_components=2, standardize=True).fit(X, table).components_
    Z = StandardScaler().fit_transform(X)
    by_hand = SequentialRotation(MeanDifference(), n_components=2).fit(Z, table).components_
    assert same_up_to_scale_and_origin(X @ found[0], Z @ by_hand[0])
    assert np.abs(found @ found.T - np.eye(2)).max() < 1e-12
    with pytest.raises(DensRayError, match="Give standardize=True to the SequentialRotation"):
        SequentialRotation(MeanDifference(standardize=True)).fit(X, table)
    joint = Densifier(solver="sgd", standardize=True, random_state=0, max_iter=200).fit(X, table)
    assert np.abs(joint.components_ @ joint.components_.T - np.eye(2)).max() < 1e-10


def test_a_file_keeps_the_setting_and_the_axis(tmp_path: Path) -> None:
    X, y = unlike_columns()
    rotation = LinearRotation("ridge", n_components=2, standardize=True).fit(X, y)
    loaded = Axis.load(Axis.of(rotation).save(tmp_path / "axis")).rotation
    assert loaded.get_params()["standardize"] is True
    assert np.array_equal(loaded.components_, rotation.components_)
    assert np.array_equal(loaded.transform(X), rotation.transform(X))


def test_diagnose_and_compare_methods_judge_the_scaled_axis() -> None:
    X, y = unlike_columns()
    words = [f"word{number}" for number in range(ROWS)]
    space, lexicon = WordSpace(words, X.astype(np.float32)), Lexicon(dict(zip(words, y.tolist(), strict=True)))
    options = {"normalize": False, "n_permutations": 99}
    plain, found = (diagnose(space, lexicon, standardize=each, **options) for each in (False, True))
    assert np.allclose(found.axis.direction, scaled("ridge").fit(X.astype(np.float32), y).components_[0], atol=1e-6)
    assert found.axes[0].auc > plain.axes[0].auc
    assert found.permutation.p_value <= 0.02
    assert found.influence.startswith("leave-one-out, refits")  # without a seed its columns have another scale
    trials = compare_methods(space, lexicon, methods=["ridge", "mean-difference"], standardize=True)
    assert len(trials.found) == 2
