"""Accidents with groups, weights and unusual arrays: every fit ends in a result or in a named error."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from densray import Axis, Densifier, DensRay, Erasure, Rows, SequentialRotation, WordSpace
from densray.errors import DensRayError, LabelError, VectorError
from densray.rotations import METHODS, make_rotation

ROWS = 20
X = np.random.default_rng(0).normal(size=(ROWS, 5))
Y = np.where(np.arange(ROWS) % 2, 1, -1)
MASK = np.arange(ROWS) < 3
SPARSE = csr_array(X)
ERASURE = Erasure.fit(Rows.from_arrays(X, Y), "mean-difference")
AXIS = Axis.fit(Rows.from_arrays(X, Y), "mean-difference")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([None] * ROWS, "groups holds no value in 20 of 20 rows"),
        ([None, *range(ROWS - 1)], "groups holds no value in 1 of 20 rows"),
        (["a", None] * 10, "groups holds no value in 10 of 20 rows"),
        (np.where(MASK, np.nan, 1.0), "groups holds no value in 3 of 20 rows"),
        ([{}] * ROWS, "groups cannot be compared"),
        ([[1], [2, 3]] * 10, "groups"),
        (np.ma.masked_array(np.arange(ROWS), mask=MASK), "groups is a masked array"),
    ],
    ids=["none", "one none", "text and none", "nan", "dicts", "lists", "masked"],
)
def test_groups_that_name_no_group_are_refused(method: str, groups: Any, said: str) -> None:
    with pytest.raises(LabelError, match=said):
        make_rotation(method).fit(X, Y, groups=groups)
    with pytest.raises(LabelError, match=said):
        make_rotation(method).fit(X, Y).score(X, Y, groups=groups)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_rows", [2, 3, 8])
def test_one_group_of_all_rows_gives_an_axis_or_says_what_is_missing(method: str, n_rows: int) -> None:
    rotation = make_rotation(method)
    if method in ("ridge", "auto"):
        with pytest.raises(LabelError, match="all rows are in one group"):
            rotation.fit(X[:n_rows], Y[:n_rows], groups=[0] * n_rows)
    else:
        fit_or_named_error(rotation, X[:n_rows], Y[:n_rows], groups=[0] * n_rows)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("groups", [None, [0] * ROWS, list(range(ROWS)), [0, 0, *range(1, ROWS - 1)]])
@pytest.mark.parametrize("rest", [0.0, 1e-12, 1e-300])
def test_weights_that_leave_one_pair_give_an_axis_or_a_named_error(method: str, groups: Any, rest: float) -> None:
    weight = np.full(ROWS, rest)
    weight[:2] = 1.0
    fit_or_named_error(make_rotation(method), X, Y, weight, groups=groups)


def fit_or_named_error(rotation: Any, *rows: Any, **options: Any) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # models of scikit-learn warn of so few rows, each in its own words
            axes = rotation.fit(*rows, **options).components_
    except DensRayError:
        return
    np.testing.assert_allclose(axes @ axes.T, np.eye(len(axes)), atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("precision", [None, "float32", "float64"])
def test_masked_arrays_are_refused_everywhere(method: str, precision: str | None) -> None:
    masked = np.ma.masked_array(X, mask=np.random.default_rng(1).random(X.shape) < 0.1)
    rotation = make_rotation(method).set_params(precision=precision)
    with pytest.raises(VectorError, match=r"X is a masked array.*filled\(\)"):
        rotation.fit(masked, Y)
    with pytest.raises(LabelError, match=r"y is a masked array.*filled\(\)"):
        rotation.fit(X, np.ma.masked_array(Y, mask=MASK))
    rotation.fit(X, Y)
    for act in (rotation.transform, rotation.erase):
        with pytest.raises(VectorError, match="X is a masked array"):
            act(masked)
    with pytest.raises(VectorError, match="X is a masked array"):
        rotation.inverse_transform(masked[:, :1])
    with pytest.raises(LabelError, match="y is a masked array"):
        rotation.score(X, np.ma.masked_array(Y, mask=MASK))


@pytest.mark.parametrize("weighted", [False, True])
def test_masked_labels_weights_and_signals_are_refused_too(weighted: bool) -> None:
    weight = np.r_[0.0, np.ones(ROWS - 1)] if weighted else None
    for method in ("densray", "ridge", "densifier"):
        with pytest.raises(LabelError, match="y is a masked array"):
            make_rotation(method).fit(X, np.ma.masked_array(Y, mask=MASK), weight)
        with pytest.raises(VectorError, match="sample_weight is a masked array"):
            make_rotation(method).fit(X, Y, np.ma.masked_array(np.ones(ROWS), mask=MASK))
    table = np.ma.masked_array(np.column_stack([Y, X[:, 0]]), mask=np.column_stack([MASK, MASK]))
    for rotation in (SequentialRotation(), make_rotation("densifier").set_params(max_iter=5)):
        with pytest.raises(LabelError, match="y is a masked array"):
            rotation.fit(X, table, weight)
    with pytest.raises(LabelError, match="y is a masked array"):
        make_rotation("densray").partial_fit(X, np.ma.masked_array(Y, mask=MASK))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")  # making one warns
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("precision", [None, "float32", "float64"])
def test_matrices_and_complex_numbers_are_refused_by_name(method: str, precision: str | None) -> None:
    rotation = make_rotation(method).set_params(precision=precision)
    with pytest.raises(DensRayError, match="matrix"):
        rotation.fit(np.asmatrix(X), Y)
    with pytest.raises(DensRayError, match="omplex"):
        rotation.fit(X + 1j, Y)
    with pytest.raises(LabelError, match="complex"):
        rotation.fit(X, Y + 1j)
    for labels in (np.array([1 + 1j, -1] * 10, dtype=object), [[1], [2, 3]] * 10):
        with pytest.raises(LabelError):
            rotation.fit(X, labels)
        with pytest.raises(DensRayError):
            rotation.fit(X, labels, np.r_[0.0, np.ones(ROWS - 1)])
    rotation.fit(X, Y)
    for act in (rotation.transform, rotation.erase):
        with pytest.raises(DensRayError, match="matrix"):
            act(np.asmatrix(X))
    with pytest.raises(DensRayError, match="matrix"):
        rotation.inverse_transform(np.asmatrix(X[:, :1]))


def test_complex_tensors_are_refused_by_name() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rows, labels = torch.asarray(X), torch.asarray(Y)
    with pytest.raises(LabelError, match="complex"):
        make_rotation("densray").fit(rows, labels + 1j)
    with pytest.raises(VectorError, match="complex"):
        make_rotation("densray").fit(rows + 1j, labels)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weight", [1e-101, 1e-170, 1e-300])
def test_weights_too_small_to_multiply_are_refused(method: str, weight: float) -> None:
    with pytest.raises(VectorError, match=r"sample_weight.*1e-100"):
        make_rotation(method).fit(X, Y, sample_weight=np.full(ROWS, weight))


@pytest.mark.parametrize("rotation", [DensRay(1), DensRay(1, normalize_differences=True), Densifier(1)])
@pytest.mark.parametrize(("rows", "weight"), [(X, 1e-99), (X.astype(np.float32), 2e-15)], ids=["float64", "float32"])
def test_the_smallest_weights_accepted_give_the_axis_of_equal_weights(rotation: Any, rows: Any, weight: float) -> None:
    expected = clone(rotation).fit(rows, Y, sample_weight=np.ones(ROWS)).components_
    fitted = clone(rotation).fit(rows, Y, sample_weight=np.full(ROWS, weight)).components_
    np.testing.assert_allclose(fitted, expected, atol=1e-4)


@pytest.mark.parametrize("weight", [np.ones(ROWS) + 1j, [1 + 1j] * ROWS], ids=["array", "list"])
def test_complex_weights_are_refused(weight: Any) -> None:
    with pytest.raises(VectorError, match="sample_weight is not made of numbers"):
        DensRay(1).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]", "U8", "S8"])
def test_rows_of_text_or_dates_are_refused(method: str, kind: str) -> None:
    rows = (100 * X).astype(int).astype(kind)
    with pytest.raises(VectorError, match=r"X is .*; numbers are needed"):
        make_rotation(method).fit(rows, Y)
    with pytest.raises(VectorError, match=r"X is .*; numbers are needed"):
        make_rotation(method).fit(X, Y).transform(rows)


def test_lists_of_text_are_refused() -> None:
    with pytest.raises(VectorError, match=r"X is .*; numbers are needed"):
        DensRay(1).fit(X.astype(str).tolist(), Y)


def test_three_classes_of_text_are_refused_without_advice_for_scores() -> None:
    classes = np.array(["a", "b", "c"])[np.arange(ROWS) % 3]
    for rotation in (make_rotation("ridge"), make_rotation("svm"), SequentialRotation()):
        with pytest.raises(LabelError, match=r"3 classes \('a', 'b', 'c'\); two are needed.*y == 'a'\.$"):
            rotation.fit(X, classes)
    assert "median" in message_of(lambda: make_rotation("svm").fit(X, np.arange(ROWS) % 3))


def test_text_that_looks_like_numbers_is_a_class_and_no_score() -> None:
    y = np.arange(ROWS) % 3
    for labels in (y.astype(str), y.astype("S1"), y.astype(str).astype(object), y.astype(str).tolist()):
        assert Rows.from_arrays(X, labels).is_multiclass
        for rotation in (DensRay(1), make_rotation("ridge"), Densifier(1), SequentialRotation()):
            with pytest.raises(LabelError, match=r"3 classes that are text .*pass numbers: y\.astype\(float\)\.$"):
                rotation.fit(X, labels)
        with pytest.raises(LabelError, match="3 classes that are text"):
            DensRay(1).fit(X, Y).score(X, labels)
    first = DensRay(1).partial_fit(X, np.where(Y > 0, "1", "0"))
    with pytest.raises(LabelError, match="more than two text labels over all blocks"):
        first.partial_fit(X, np.where(Y > 0, "1", "2"))
    assert DensRay(1).fit(X, np.where(Y > 0, "10", "9")).score(X, Y) > 0  # 10 is the higher one


@pytest.mark.parametrize("labels", [["a", ""], ["1", ""], [b"a", b""]])
def test_an_empty_text_is_no_class(labels: list[Any]) -> None:
    y = np.array(labels * 10)
    for rotation in (DensRay(1), make_rotation("ridge")):
        with pytest.raises(LabelError, match=r"row 1 .*has no label\. Leave it out\."):
            rotation.fit(X, y)
    with pytest.raises(LabelError, match=r"row 1 has no label\. Leave it out\."):
        Rows.from_arrays(X, y)


def test_labels_to_score_have_names_that_fit_has_seen() -> None:
    named = DensRay(1).fit(X, np.where(Y > 0, "pos", "neg"))
    same = named.score(X, np.where(Y > 0, "pos", "neg"))
    assert named.score(X, Y) == named.score(X, Y > 0) == same > 0
    with pytest.raises(
        LabelError, match=r"y has the labels 'high', 'low', and the axis was fitted to the labels 'neg',"
    ):
        named.score(X, np.where(Y > 0, "high", "low"))
    with pytest.raises(LabelError, match=r"y has the label 'other', .* Pass the labels of the fit, or numbers\."):
        named.score(X, np.where(Y > 0, "other", "neg"))
    with pytest.raises(LabelError, match=r"y has the labels 'high', 'low', and the axis was fitted to numbers"):
        DensRay(1).fit(X, Y).score(X, np.where(Y > 0, "high", "low"))


def test_labels_of_bytes_and_of_text_are_the_same_names():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.array(["a", "b"] * 20)
    as_bytes = np.array([name.encode() for name in y])
    for fitted, scored in ((as_bytes, y), (y, as_bytes)):
        rotation = DensRay().fit(X, fitted)
        assert rotation.score(X, scored) == rotation.score(X, fitted)
        with pytest.raises(LabelError, match=r"y has the label 'c', and the axis was fitted to the labels 'a', 'b'"):
            rotation.score(X, np.where(scored == scored[0], scored, np.array("c", dtype=scored.dtype)))


def test_a_tensor_that_records_operations_is_fitted_without_a_warning() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor, weight = torch.tensor(X, requires_grad=True), torch.ones(ROWS, dtype=torch.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = DensRay(1).fit(tensor, Y, sample_weight=weight)
        DensRay(1).partial_fit(tensor, Y).partial_fit(tensor, Y)
        Rows.from_arrays(tensor, Y)
    np.testing.assert_allclose(fitted.components_, DensRay(1).fit(X, Y).components_)
    assert fitted.transform(tensor).requires_grad


def message_of(act: Callable[[], Any]) -> str:
    with pytest.raises(DensRayError) as caught:
        act()
    return str(caught.value)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: DensRay().fit(X[0], Y), "X has shape (5,). Reshape your data to one row per vector; for one vector:"),
        (lambda: DensRay().fit(X * 1j, Y), "Complex data not supported. Use real numbers."),
        (lambda: DensRay().fit(X[:1], Y[:1]), "is required by DensRay. Add rows."),
        (lambda: ERASURE.apply(X[0]), "X has shape (5,); rows are needed. For one vector pass X.reshape(1, -1)."),
        (lambda: ERASURE.apply(SPARSE), "X is a sparse csr_array; dense vectors are needed. Pass X.toarray()."),
        (lambda: Rows.from_arrays(SPARSE, Y), "X is a sparse csr_array"),
        (lambda: AXIS.score(SPARSE), "X is a sparse csr_array"),
        (lambda: WordSpace([str(row) for row in range(ROWS)], SPARSE), "vectors is a sparse csr_array"),
    ],
)
def test_an_error_says_what_to_pass(act: Callable[[], Any], said: str) -> None:
    message = message_of(act)
    assert said in message
    assert not re.search(r"[a-z] [A-Z][a-z]+ are one row", message), "two sentences are glued together"


def test_columns_in_another_order_are_refused_with_scikit_learn_s_reason() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    fitted = DensRay().fit(frame, Y)
    assert "must be in the same order" in message_of(lambda: fitted.transform(frame[list("bacde")]))


def test_several_signals_may_be_text() -> None:
    texts = np.where(Y > 0, "right", "left")
    alone, numbers = SequentialRotation().fit(X, texts), SequentialRotation().fit(X, Y)
    np.testing.assert_array_equal(alone.components_, numbers.components_)
    assert alone.classes_ is not None
    assert alone.classes_.tolist() == ["left", "right"]
    partly = np.array([*texts[:-2], None, None], dtype=object)
    other = np.where(np.arange(ROWS) % 3, 1.0, -1.0)
    table = np.column_stack([partly, np.where(other > 0, "yes", "no").astype(object)])
    both = np.column_stack([np.where(np.arange(ROWS) < ROWS - 2, Y, np.nan), other])
    np.testing.assert_array_equal(
        SequentialRotation().fit(X, table).components_, SequentialRotation().fit(X, both).components_
    )
    assert SequentialRotation().fit(X, table).score(X, table) == SequentialRotation().fit(X, both).score(X, both)
