"""Solvers of set-based analogies: the fast way equals the obvious one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from analogy_oracle import COLUMNS, solve
from densray import DensRay, LinearRotation, WordSpace
from densray.analogies import AnalogyCategory, AnalogySet
from densray.analogy import SOLVERS, IntCos, LRCos, Solver, _fold_fits, compare_solvers, locate_categories, make_solver
from densray.analogy import _products as products_module
from densray.analogy._examples import Examples, leave_one_out
from densray.analogy._fold_fits import fold_svm
from densray.analogy._products import UnitVectors
from densray.datasets import load_analogies, load_space
from densray.errors import AnalogyError, DensRayError, TaskError


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small matrices: threads would wait for each other."""
    with threadpool_limits(1):
        yield


PAIRS = [("man", "woman"), ("father", "mother"), ("brother", "sister"), ("boy", "girl"), ("son", "daughter")]


@pytest.fixture(scope="module")
def space() -> WordSpace:
    return load_space("googlenews-26k")


@pytest.fixture(scope="module")
def small(space: WordSpace) -> WordSpace:
    """The most frequent words and those of a few categories."""
    google = load_analogies("google")
    asked = [word for name in ("family", "gram1-adjective-to-adverb") for pair in google[name] for word in pair.words]
    return space.subset(dict.fromkeys([*space.words[:2500], *(word for word in asked if word in space)]))


def columns(space: WordSpace) -> dict[str, Solver]:
    return {
        "intcos-original-densray": IntCos(space),
        "intcos-complement-densray": IntCos(space, cosine="complement"),
        "intcos-original-svm": IntCos(space, rotation="svm"),
        "intcos-complement-svm": IntCos(space, rotation="svm", cosine="complement"),
        "lrcos": LRCos(space),
    }


def answers(space: WordSpace, category: AnalogyCategory, column: str) -> list[list[str]]:
    asked = [columns(space)[column]]
    result = compare_solvers(space, AnalogySet([category]), asked, protocol="paper", k=3, predictions=True)[0]
    return [list(prediction.words) for prediction in result.predictions]


def examples_of(space: WordSpace, analogies: AnalogySet, *, any_case: bool = False) -> Examples:
    return Examples(UnitVectors(space), locate_categories(space, analogies, any_case=any_case)[0])


@pytest.mark.parametrize("column", COLUMNS)
def test_answers_equal_those_of_refitting_rotating_and_sorting(small: WordSpace, column: str) -> None:
    category = load_analogies("google")["family"]
    assert answers(small, category, column) == solve(small, category, column)


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS)
def test_answers_equal_the_obvious_ones_on_the_whole_vocabulary(space: WordSpace, column: str) -> None:
    category = load_analogies("google")["gram1-adjective-to-adverb"]
    assert answers(space, category, column) == solve(space, category, column)


def test_small_blocks_without_cached_products_change_nothing(small: WordSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    category = load_analogies("google")["family"]
    whole = {column: answers(small, category, column) for column in COLUMNS}
    monkeypatch.setattr(products_module, "_BLOCK", 97)
    monkeypatch.setattr(products_module, "_CACHED_BYTES", 0)
    assert {column: answers(small, category, column) for column in COLUMNS} == whole


def test_fold_axes_are_those_of_the_estimators(small: WordSpace) -> None:
    examples = examples_of(small, load_analogies("google").subset(["family"]))
    visible = leave_one_out(examples, "paper")[[0, -1]]
    for rotation, estimator in (
        ("densray-unit", DensRay(1, normalize_differences=True)),
        ("svm", LinearRotation("svm")),
        ("ridge", LinearRotation("ridge")),
    ):
        axes = examples.axes(visible, rotation)
        for fold, kept in enumerate(visible):
            expected = estimator.fit(examples.vectors[kept], examples.labels[kept]).components_[0]
            np.testing.assert_allclose(axes[fold], expected, atol=2e-6)


def test_fold_regressions_are_those_of_scikit_learn(small: WordSpace) -> None:
    examples = examples_of(small, load_analogies("google").subset(["family"]))
    visible = leave_one_out(examples, "paper")
    coefficients, intercepts = examples.logistic(visible)
    for fold in (0, 5):
        kept = visible[fold]
        model = LogisticRegression(class_weight="balanced", solver="newton-cholesky", tol=1e-12)
        model.fit(examples.vectors[kept], examples.labels[kept])
        np.testing.assert_allclose(coefficients[fold], model.coef_[0], atol=1e-8)
        np.testing.assert_allclose(intercepts[fold], model.intercept_[0], atol=1e-8)


@pytest.mark.parametrize(("spread", "C"), [(0.3, 1.0), (1.5, 1.0), (0.3, 0.01), (0.2, 100.0)])
def test_fold_machines_are_those_of_scikit_learn(spread: float, C: float) -> None:
    """Rows that repeat, that no plane separates, that all lie on a bound, that none does."""
    rng = np.random.default_rng(0)
    labels = np.repeat([-1.0, 1.0], 20)
    rows = spread * rng.normal(size=(40, 6)) + labels[:, None] * np.eye(6)[0]
    rows[3], rows[25] = rows[4], rows[26]
    visible = rng.random((12, 40)) > 0.1
    normals = fold_svm(rows, labels, visible, C=C)
    for kept, normal in zip(visible, normals, strict=True):
        expected = SVC(kernel="linear", C=C, tol=1e-9).fit(rows[kept], labels[kept]).coef_[0]
        np.testing.assert_allclose(normal, expected, atol=1e-5 * np.linalg.norm(expected))


def test_folds_that_do_not_settle_are_left_to_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat([-1.0, 1.0], 15)
    rows, visible = rng.normal(size=(30, 5)), rng.random((8, 30)) > 0.2
    expected = fold_svm(rows, labels, visible)
    monkeypatch.setattr(_fold_fits, "_SVM_STEPS", 1)
    monkeypatch.setattr(_fold_fits, "_SVM_FOLDS_AT_ONCE", 3 * 30**2)
    np.testing.assert_allclose(fold_svm(rows, labels, visible), expected, atol=1e-5)


def test_no_word_of_the_pair_asked_is_trained_on() -> None:
    space = WordSpace(["a", "b", "c", "d", "A"], np.eye(5, dtype=np.float32))
    analogies = AnalogySet.from_pairs([("a", "b"), ("c", ("d", "a")), ("A", "d")])
    visible = leave_one_out(examples_of(space, analogies, any_case=True), "paper")
    # rows: a c A | b d d; asking (a, b) leaves out a, A and b; asking (c, d/a) leaves out a, A, c and d
    np.testing.assert_array_equal(visible[0], [False, True, False, False, True, True])
    np.testing.assert_array_equal(visible[1], [False, False, False, True, False, False])


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_answers_with_scores_and_parts(space: WordSpace, name: str) -> None:
    solver = make_solver(name, space).fit(PAIRS)
    found = solver.predict("uncle", k=5)
    assert len(found) == 5
    assert [answer.score for answer in found] == sorted((answer.score for answer in found), reverse=True)
    assert "uncle" not in [answer.word for answer in found]
    assert solver.rank("uncle", found[2].word) == 3
    assert found[0].parts
    assert all(np.isfinite(part) for part in found[0].parts.values())
    if name not in ("similartob", "spelling"):
        assert solver.rank("uncle", "aunt") <= 3


def test_parts_multiply_to_the_score(space: WordSpace) -> None:
    best = IntCos(space).fit(PAIRS).predict("uncle", k=1)[0]
    assert best.word == "aunt"
    assert best.parts["class score"] * best.parts["cosine"] == pytest.approx(best.score)
    assert best.parts["cosine"] == pytest.approx(space.cosine("uncle", "aunt"), abs=1e-6)


def test_any_rotation_finds_the_axis(space: WordSpace) -> None:
    words = {
        rotation if isinstance(rotation, str) else "instance": IntCos(space, rotation=rotation)
        .fit(PAIRS)
        .predict("king")[0]
        for rotation in ("ridge", "mean-difference", "lda", DensRay(1))
    }
    assert {answer.word for answer in words.values()} == {"queen"}


def test_three_cos_add_of_one_example_is_the_analogy_of_the_space(space: WordSpace) -> None:
    solver = make_solver("3cosadd", space).fit([("man", "woman")])
    expected = [word for word, _ in space.analogy("man", "woman", "king", k=5)]
    assert [answer.word for answer in solver.predict("king", k=5)] == expected


def test_scale_of_the_vectors_does_not_matter(small: WordSpace) -> None:
    lengths = np.random.default_rng(0).uniform(0.5, 3.0, size=(len(small), 1)).astype(np.float32)
    scaled = WordSpace(list(small.words), small.vectors * lengths)
    category = load_analogies("google")["family"]
    for column in ("intcos-complement-densray", "lrcos"):
        assert answers(scaled, category, column) == answers(small, category, column)


def test_a_query_outside_the_vocabulary_is_named(space: WordSpace) -> None:
    with pytest.raises(AnalogyError, match="'zzzz' is not among the 26,423 words"):
        IntCos(space).fit(PAIRS).predict("zzzz")


def test_too_few_pairs_name_what_is_missing(space: WordSpace) -> None:
    with pytest.raises(AnalogyError, match=r"1 of 2 pairs .*missing: 'zzzz'.*at least 2"):
        IntCos(space).fit([("man", "woman"), ("zzzz", "girl")])


def test_asking_before_fit_says_so(space: WordSpace) -> None:
    with pytest.raises(TaskError, match="fit"):
        LRCos(space).predict("king")


def test_an_unknown_solver_or_rotation_is_named_with_the_known_ones(space: WordSpace) -> None:
    with pytest.raises(TaskError, match="Did you mean 'lrcos'"):
        make_solver("lrcoss", space)
    with pytest.raises(DensRayError, match="rotation 'densrai'"):
        IntCos(space, rotation="densrai")
    with pytest.raises(TaskError, match="does not fit an axis"):
        make_solver("lrcos", space, rotation="svm")
