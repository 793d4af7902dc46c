"""Analogies on vectors of any array library: the answers of NumPy, found where the vectors lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import array_api_strict
import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from densray import WordSpace
from densray.analogies import AnalogySet
from densray.analogy import SOLVERS, IntCos, Solver, compare_solvers, evaluate_analogies, make_solver
from densray.analogy import _products as products_module
from densray.analogy._products import Blocks, UnitVectors, mean_direction
from densray.datasets import load_analogies, load_space
from densray.errors import VectorError

Kind = Callable[[Any], Any]
Rows = NDArray[np.float32]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small matrices: threads would wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(params=["strict", "torch"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """A function that makes an array of another kind."""
    if request.param == "strict":
        return array_api_strict.asarray
    return pytest.importorskip("torch", reason="torch is not installed").asarray


@pytest.fixture(scope="module")
def family() -> AnalogySet:
    return load_analogies("google").subset(["family"])


@pytest.fixture(scope="module")
def small(family: AnalogySet) -> WordSpace:
    """Frequent words and those of one category, at lengths of their own."""
    space = load_space("googlenews-26k")
    words = [*space.words[:900], *(word for word in family.words if word in space)]
    chosen = space.subset(dict.fromkeys(words))
    lengths = np.random.default_rng(0).uniform(0.5, 3.0, size=(len(chosen), 1)).astype(np.float32)
    return WordSpace(list(chosen.words), chosen.vectors * lengths, name="small")


@pytest.fixture(scope="module")
def rows(small: WordSpace) -> Rows:
    """The same vectors, writable: torch would warn of others."""
    return small.vectors.copy()


def every_solver(space: WordSpace) -> list[Solver]:
    return [*(make_solver(name, space) for name in SOLVERS), IntCos(space, rotation="svm", cosine="complement")]


@pytest.mark.slow
def test_float64_arrays_give_the_answers_of_numpy(kind: Kind, small: WordSpace, rows: Rows, family: AnalogySet) -> None:
    solvers = every_solver(small)
    expected = compare_solvers(small, family, solvers, k=3, predictions=True)
    vectors = kind(rows.astype(np.float64))
    found = compare_solvers(small, family, solvers, k=3, predictions=True, vectors=vectors)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.micro > 0.2
        assert [one.words for one in ours.predictions] == [one.words for one in theirs.predictions], ours.solver
        assert [one.rank for one in ours.predictions] == [one.rank for one in theirs.predictions], ours.solver
        scores = [np.array([one.scores for one in result.predictions]) for result in (ours, theirs)]
        np.testing.assert_allclose(scores[0], scores[1], atol=2e-3 if "intrank" in ours.solver else 1e-5)


def test_float32_arrays_are_within_one_query(kind: Kind, small: WordSpace, rows: Rows, family: AnalogySet) -> None:
    solvers = [IntCos(small), IntCos(small, cosine="complement"), make_solver("lrcos", small)]
    expected = compare_solvers(small, family, solvers)
    for ours, theirs in zip(compare_solvers(small, family, solvers, vectors=kind(rows)), expected, strict=True):
        assert abs(ours.hits - theirs.hits).sum() <= 1
        assert ours.provenance.inputs[-1].role == "vectors"
        assert "float32" in ours.provenance.inputs[-1].name


def test_small_blocks_and_many_answers_change_nothing(
    kind: Kind, small: WordSpace, rows: Rows, family: AnalogySet, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = kind(rows.astype(np.float64))

    def answers() -> list[tuple[str, ...]]:
        result = evaluate_analogies(small, family, "intcos-complement", k=20, predictions=True, vectors=vectors)
        return [one.words for one in result.predictions]

    whole = answers()
    monkeypatch.setattr(products_module, "_DEVICE_PRODUCTS", 97 * 40)
    assert answers() == whole


def test_products_stay_where_the_vectors_are(kind: Kind, small: WordSpace, rows: Rows) -> None:
    vectors = kind(rows)
    unit = UnitVectors(small, vectors)
    for block in Blocks(unit, {"probe": np.eye(3, 300)}):
        assert type(block.products["probe"]) is type(vectors)
        assert block.products["probe"].dtype == vectors.dtype
    np.testing.assert_allclose(mean_direction(unit), mean_direction(UnitVectors(small)), atol=1e-6)


def test_nothing_of_the_size_of_the_vocabulary_comes_to_the_host(
    small: WordSpace, rows: Rows, family: AnalogySet, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    brought = []
    numpy = torch.Tensor.numpy
    monkeypatch.setattr(torch.Tensor, "numpy", lambda tensor: (brought.append(tensor.shape), numpy(tensor))[1])
    solvers = [solver for solver in every_solver(small) if "intrank" not in solver.name]  # takes candidates to the host
    compare_solvers(small, family, solvers, k=3, vectors=torch.asarray(rows))
    assert brought
    assert max(max(shape) for shape in brought) < len(small) / 2


def test_other_vectors_replace_those_of_the_space(small: WordSpace, rows: Rows, family: AnalogySet) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    shuffled = torch.asarray(np.random.default_rng(0).permutation(rows))
    assert evaluate_analogies(small, family, vectors=shuffled).micro < 0.2
    assert evaluate_analogies(small, family, vectors=shuffled[:, :40]).micro < 0.2  # of any width
    assert evaluate_analogies(small, family, vectors=rows).hits.sum() == evaluate_analogies(small, family).hits.sum()


def test_bad_vectors_are_named(kind: Kind, small: WordSpace, rows: Rows, family: AnalogySet) -> None:
    n = len(small)
    with pytest.raises(VectorError, match=rf"shape \({n - 1}, 300\) .* {n} words of 'small'.*one row per word"):
        evaluate_analogies(small, family, vectors=kind(rows[1:]))
    with pytest.raises(VectorError, match=r"shape \(300,\)"):
        evaluate_analogies(small, family, vectors=kind(rows[0]))
    with pytest.raises(VectorError, match=r"float32 or float64 is needed\. Convert"):
        evaluate_analogies(small, family, vectors=kind(np.ones((n, 2), dtype=np.int64)))
    broken = rows.copy()
    broken[7, 2] = np.nan
    with pytest.raises(VectorError, match=rf"1 of {n} words are not finite.*row 7, '{small.words[7]}'"):
        evaluate_analogies(small, family, vectors=kind(broken))


def test_float64_vectors_on_the_host_give_all_answers(small: WordSpace, rows: Rows, family: AnalogySet) -> None:
    expected = evaluate_analogies(small, family, "3cosadd", predictions=True)
    precise = evaluate_analogies(small, family, "3cosadd", predictions=True, vectors=rows.astype(np.float64))
    assert {len(one.words) for one in precise.predictions} == {10}
    assert abs(precise.hits - expected.hits).sum() <= 1


def test_half_precision_is_refused(small: WordSpace, rows: Rows, family: AnalogySet) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for half in (torch.float16, torch.bfloat16):
        with pytest.raises(VectorError, match=r"float16; float32 or float64 is needed"):
            evaluate_analogies(small, family, vectors=torch.asarray(rows).to(half))
