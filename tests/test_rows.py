"""Rows carry labels of every kind, keep groups together, and say what was left out."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from densray import Axis, DensRay, Erasure, Lexicon, Rows, WordSpace
from densray import rows as rows_module
from densray.errors import LabelError, VectorError
from densray.tables import open_table

X = np.random.default_rng(0).normal(size=(6, 3))


def test_two_text_labels_become_minus_one_and_one() -> None:
    rows = Rows.from_arrays(X, ["no", "yes", "no", "yes", "no", "no"])
    assert rows.y.tolist() == [-1, 1, -1, 1, -1, -1]
    assert rows.class_names == ("no", "yes")
    assert rows.is_binary
    assert not rows.is_multiclass


def test_three_text_labels_are_classes_and_three_numbers_are_scores() -> None:
    classes = Rows.from_arrays(X, ["a", "b", "c", "a", "b", "c"])
    assert classes.is_multiclass
    assert classes.against_rest("b").y.tolist() == [-1, 1, -1, -1, 1, -1]
    scores = Rows.from_arrays(X, [1, 2, 3, 1, 2, 3])
    assert not scores.is_multiclass
    assert scores.targets.tolist() == [1, 2, 3, 1, 2, 3]
    assert Rows.from_arrays(X, [1, 2, 3, 1, 2, 3], classes=True).class_names == ("1", "2", "3")


def test_an_unknown_class_is_named_with_the_known_ones() -> None:
    with pytest.raises(LabelError, match=r"'d' is not a class .* 'a', 'b', 'c'"):
        Rows.from_arrays(X, list("abcabc")).against_rest("d")


def test_a_group_of_none_is_a_row_alone() -> None:
    rows = Rows.from_arrays(X, [1, -1, 1, -1, 1, -1], groups=[None, "p", "p", None, None, "q"])
    assert rows.groups is not None
    assert rows.groups.tolist() == [0, 1, 1, 2, 3, 4]
    assert rows.n_groups == 5
    assert [part.tolist() for part in rows.members] == [[0], [1, 2], [3], [4], [5]]


def test_repeated_texts_are_proposed_as_groups_and_grouped_on_request() -> None:
    names = ["one text", "one text", "two", "three", "four", "five"]
    y = [1, 1, -1, -1, 1, -1]
    assert Rows.from_arrays(X, y, names=names).proposal is not None
    grouped = Rows.from_arrays(X, y, names=names, groups="proposed")
    assert grouped.n_groups == 5
    assert grouped.proposal is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y": [1, -1]}, LabelError, "2 labels are given for 6 rows"),
        ({"y": [1, -1] * 3, "names": ["a"]}, LabelError, "1 names are given for 6 rows"),
        ({"y": [1, -1] * 3, "groups": [1]}, LabelError, "1 groups are given for 6 rows"),
        ({"y": [1, -1] * 3, "groups": "pairs"}, LabelError, "'proposed'"),
        ({"y": ["a", None] * 3}, LabelError, "row 1 has no label"),
        ({"y": [[1], [2]]}, LabelError, "one per row"),
    ],
)
def test_labels_names_and_groups_that_do_not_fit_are_refused(
    arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Rows.from_arrays(X, **arguments)  # type: ignore[arg-type]


def test_a_single_vector_is_not_a_table() -> None:
    with pytest.raises(VectorError, match="one vector per row"):
        Rows.from_arrays(X[0], [1.0, 2.0, 3.0])


def test_a_selection_keeps_names_groups_and_places_together() -> None:
    space = WordSpace(list("abcdef"), X)
    rows = Lexicon({"f": 1, "b": -1, "d": 1, "zz": 1}, groups={"f": "g", "b": "g"}).align(space, order="lexicon")
    part = rows.take(np.array([1, 2]))
    assert part.names == ("b", "d")
    assert part.locations.tolist() == [1, 3]
    assert part.groups is not None
    assert part.groups.tolist() == [0, 1]
    np.testing.assert_array_equal(part.X, space[["b", "d"]])
    assert (part.missing, part.concept) == (("zz",), "lexicon")


def test_unit_rows_have_length_one_and_leave_the_originals_alone() -> None:
    rows = Rows.from_arrays(X, [1, -1] * 3)
    np.testing.assert_allclose(np.linalg.norm(rows.unit().X, axis=1), 1.0)
    np.testing.assert_array_equal(rows.X, X)


def test_a_part_of_the_rows_keeps_its_groups_and_drops_notes_on_all_rows() -> None:
    random = np.random.default_rng(0)
    cat, dog, sun = random.normal(size=(3, 50))
    background = random.normal(size=(100, 50))
    names = ("cat", "dog", "cats", "sun")
    rows = Rows.from_arrays(np.stack([cat, dog, cat + 0.3 * dog, sun]), [1, 0, 1, 0], names=names)
    rows = replace(rows, background=background).grouped("forms")
    assert rows.forms is not None
    part = rows.take(np.array([0, 2, 3]))
    assert part.forms is None
    assert part.groups is not None
    assert part.groups[0] == part.groups[1] != part.groups[2]
    again = rows.take(np.array([3, 2, 1, 0]))
    assert again.forms is not None
    assert again.forms.numbers.tolist() == rows.forms.numbers[::-1].tolist()


def test_mixed_rows_alternate_the_classes_in_their_own_order() -> None:
    rows = Rows.from_arrays(X, [1, 1, 1, -1, -1, -1]).mixed()
    assert sorted(rows.y[:2].tolist()) == [-1, 1]
    assert [name for name, y in zip(rows.names, rows.y, strict=True) if y > 0] == ["0", "1", "2"]


# Labels, vectors and groups of odd types: read as an obvious program would, or refused


@pytest.mark.parametrize(
    ("labels", "y", "class_names"),
    [
        (np.array([True, False] * 3, dtype=object), [1.0, 0.0] * 3, ()),
        (np.array([1, 2.5, 3, 4, 5, 6], dtype=object), [1.0, 2.5, 3.0, 4.0, 5.0, 6.0], ()),
        ([Decimal("1.5"), Decimal(2)] * 3, [1.5, 2.0] * 3, ()),
        (["+1", "-1"] * 3, [1.0, -1.0] * 3, ("-1", "+1")),
        (["2", "10"] * 3, [-1.0, 1.0] * 3, ("2", "10")),
        (["2", "10", "x"] * 2, [1.0, 0.0, 2.0] * 2, ("10", "2", "x")),
        (np.array([b"low", b"h\xc3\xb6h"] * 3), [1.0, -1.0] * 3, ("höh", "low")),
    ],
)
def test_labels_of_odd_types_keep_their_values_and_their_order(labels: Any, y: Any, class_names: Any) -> None:
    rows = Rows.from_arrays(X, labels)
    assert (rows.y.tolist(), rows.class_names) == (y, class_names)


@pytest.mark.parametrize(
    "labels",
    [
        [1, "1"] * 3,
        np.array([1, "1"] * 3, dtype=object),
        [True, "yes"] * 3,
        [1, float("nan")] * 3,
        [1.0, float("inf")] * 3,
        ["a", None] * 3,
        ["a", ""] * 3,
        [10**400, 1] * 3,
        [[1], [2, 3], 1, 1, 1, 1],
        np.array(["2020-01-01", "NaT"] * 3, dtype="M8[D]"),
        np.array([1, 2] * 3, dtype="m8[D]"),
        np.array([1, 1j] * 3),
        np.array([(1, 2)] * 6, dtype=[("a", int), ("b", int)]),
        np.ma.array([1, -1] * 3, mask=np.arange(6) < 1),
    ],
)
def test_labels_that_are_missing_mixed_or_no_labels_are_refused(labels: Any) -> None:
    with pytest.raises(LabelError):
        Rows.from_arrays(X, labels)
    if not (isinstance(labels, list) and labels[1] == ""):
        with pytest.raises(LabelError):
            DensRay().fit(X, labels)


def test_labels_of_pandas_keep_the_order_of_ordered_categories_and_refuse_missing_ones() -> None:
    pandas = pytest.importorskip("pandas")
    order = pandas.Categorical(["low", "high", "mid"] * 2, categories=["low", "mid", "high"], ordered=True)
    for labels in (order, pandas.Series(order)):
        rows = Rows.from_arrays(X, labels)
        assert (rows.y.tolist(), rows.class_names) == ([0.0, 2.0, 1.0] * 2, ("low", "mid", "high"))
    assert Rows.from_arrays(X, pandas.array([1, 2, 3] * 2, dtype="Int64")).y.tolist() == [1.0, 2.0, 3.0] * 2
    for missing in (
        pandas.Categorical(["low", "high", None] * 2),
        pandas.array([1, 2, None] * 2, dtype="Int64"),
        pandas.array([True, None] * 3, dtype="boolean"),
        pandas.array(["a", None] * 3, dtype="string"),
    ):
        with pytest.raises(LabelError, match="row"):
            Rows.from_arrays(X, missing)


def test_numbers_that_name_classes_have_distinct_names() -> None:
    assert Rows.from_arrays(X, [1234567, 1234568, 0.5] * 2, classes=True).class_names == ("0.5", "1234567", "1234568")


@pytest.mark.parametrize(
    ("groups", "numbers"),
    [
        ([1, "1", 1.0, True, "1", 2], [0, 1, 0, 0, 1, 2]),
        ([float("nan"), None, np.datetime64("NaT"), 1, 1, 1], [0, 1, 2, 3, 3, 3]),
        ([[1], [1], [2], [2], [3], [3]], [0, 0, 1, 1, 2, 2]),
    ],
)
def test_groups_of_different_types_stay_apart_and_missing_ones_stand_alone(groups: Any, numbers: list[int]) -> None:
    assert Rows.from_arrays(X, [1, -1] * 3, groups=groups).groups == pytest.approx(numbers)


@pytest.mark.parametrize(
    "groups", [3, np.ones((6, 2)), np.ma.array([1, 2] * 3, mask=np.ones(6, dtype=bool)), iter(range(6))]
)
def test_groups_that_are_not_one_per_row_are_refused(groups: Any) -> None:
    with pytest.raises(LabelError, match="groups"):
        Rows.from_arrays(X, [1, -1] * 3, groups=groups)


def test_an_estimator_refuses_groups_of_text_and_numbers_and_groups_without_a_date() -> None:
    for groups in ([1, "1"] * 3, np.array(["2020-01-01", "NaT"] * 3, dtype="M8[D]")):
        with pytest.raises(LabelError, match="groups"):
            DensRay().fit(X, [1, -1] * 3, groups=groups)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "float16", "bool"])
@pytest.mark.parametrize("normalize", [True, False])
def test_small_types_give_the_axis_and_the_scores_of_float64(name: str, normalize: bool) -> None:
    """Squares of int8 wrap around, squares of float16 overflow, and a direction in int16 is zero."""
    random = np.random.default_rng(1)
    y = np.repeat([1, -1], 30)
    rows = random.normal(size=(60, 8)) * 40 + np.outer(y, np.eye(8)[0]) * 30 + 100 * (name == "uint8")
    rows[:, 3] += 900 * (name in ("int16", "float16"))
    rows = (rows > -40) if name == "bool" else rows.clip(0 if name == "uint8" else -128, 127 if name == "int8" else 1e4)
    small = rows.astype(name)
    wide = small.astype(np.float64)
    axes = [Axis.fit(Rows.from_arrays(each, y), normalize=normalize) for each in (small, wide)]
    assert axes[0].direction @ axes[1].direction > 0.9999
    scores = axes[1].score(wide).score
    np.testing.assert_allclose(axes[0].score(small).score, scores, atol=2e-2 * np.abs(scores).max())


@pytest.mark.parametrize(
    "vectors",
    [
        np.ma.array(X, mask=X > 1),
        X.astype(str),
        X + 1j,
        np.zeros((6, 3), dtype="M8[D]"),
        [[1, 2], [1]] * 3,
    ],
)
def test_vectors_that_are_not_numbers_are_refused(vectors: Any) -> None:
    with pytest.raises(VectorError, match="X "):
        Rows.from_arrays(vectors, [1, -1] * 3)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name", ["float64", "float16", "bfloat16", "int8"])
def test_tensors_give_the_axis_and_the_erasure_of_arrays(name: str, normalize: bool) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    random, y = np.random.default_rng(1), np.tile([1, -1], 15)
    tensor = torch.tensor(random.normal(size=(30, 4)) * 20 + y[:, None] * 10).to(getattr(torch, name))
    host = tensor.to(torch.float64).numpy()
    rows, expected = (Rows.from_arrays(each, y) for each in (tensor, host))
    scores = Axis.fit(expected, normalize=normalize).score(host).score
    found = Axis.fit(rows, normalize=normalize).score(tensor).score
    np.testing.assert_allclose(found, scores, atol=1e-2 * np.abs(scores).max())
    erased = Erasure.fit(expected, normalize=normalize).apply(host)
    removed = Erasure.fit(rows, normalize=normalize).apply(tensor).to(torch.float64).numpy()
    np.testing.assert_allclose(removed, erased, atol=2e-2 * np.abs(host).max())


def test_extended_precision_is_read_as_float64() -> None:
    axis = Axis.fit(Rows.from_arrays(X.astype(np.longdouble), [1, -1] * 3))
    np.testing.assert_allclose(axis.score(X.astype(np.longdouble)).score, axis.score(X).score)


def test_scores_of_vectors_that_are_not_finite_are_refused() -> None:
    axis = Axis.fit(Rows.from_arrays(X, [1, -1] * 3))
    with pytest.raises(VectorError, match="row 1 "):
        axis.score(np.where(np.arange(6)[:, None] == 1, np.nan, X))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_large_rows_are_finite_and_the_row_that_is_not_is_named(dtype: str) -> None:
    kind = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype
    largest = {"float16": 6e4, "bfloat16": 3e38, "float32": 3e38, "float64": 1e308}[dtype]
    vectors = np.full((20_000, 2), largest).astype(kind)
    vectors[:, 1] = np.arange(20_000)
    assert rows_module._check_finite(vectors, "X") is None  # sums overflow
    vectors[17_000, 1], vectors[18_000, 0] = np.inf, np.nan
    with pytest.raises(VectorError, match=r"X contains NaN or infinity in 2 of 20,000 rows \(first: row 17000\)"):
        rows_module._check_finite(vectors, "X")


def test_vectors_are_checked_once_and_those_of_a_table_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(rows_module, "_check_finite", lambda X, name: checked.append(name))
    rows = Rows.from_arrays(X, [0, 1] * 3, background=X)
    assert checked == ["X"]
    assert rows.background is rows.X
    Rows.from_arrays(X, [0, 1] * 3, background=X.copy())
    assert checked == ["X", "X", "background"]
    frame = pl.DataFrame({"label": ["a", "b"] * 3, "vector": X.tolist()})
    table = open_table(frame)
    assert table.rows("label").is_binary
    assert len(checked) == 3


def test_a_background_may_have_a_gradient() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(np.random.default_rng(1).normal(size=(60, 4)), requires_grad=True)
    y = [0, 1] * 30
    for background in (tensor, tensor * 1.0):
        axis = Axis.fit(Rows.from_arrays(tensor, y, background=background), "mean-difference")
        plain = Axis.fit(Rows.from_arrays(tensor, y), "mean-difference")
        assert axis.spread.standard_error == pytest.approx(plain.spread.standard_error)
    tensor.data[3, 1] = float("nan")
    with pytest.raises(VectorError, match=r"in 1 of 60 rows \(first: row 3\)"):
        Rows.from_arrays(tensor, y)
