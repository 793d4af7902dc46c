"""Dask collections: the axes of memory, lazily, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from densray import Densifier, DensRay, Lexicon, LinearRotation, MeanDifference, WordSpace
from densray.axes import Axis, induce
from densray.errors import DensRayError, LabelError, NotAdditiveError, TaskError, VectorError
from densray.rotations import Rotation

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
import dask  # noqa: E402
import pandas as pd  # noqa: E402

Rows = tuple[np.ndarray, np.ndarray]


@pytest.fixture(autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def rows() -> Rows:
    random = np.random.default_rng(0)
    y = np.where(random.random(3000) < 0.3, 1.0, -1.0)
    X = random.normal(size=(3000, 10)) * np.linspace(1, 2, 10) + y[:, None] * np.linspace(0.5, 0, 10)
    return X, y


@pytest.mark.parametrize("rotation", [DensRay(), MeanDifference(n_components=None)])
@pytest.mark.parametrize(("dtype", "bound"), [(np.float64, 1e-8), (np.float32, 1e-4)])
@pytest.mark.parametrize("labels", ["classes", "sorted", "text", "scores"])
def test_axes_equal_those_in_memory(rotation: Rotation, dtype: type, bound: float, labels: str, rows: Rows) -> None:
    X, y = rows
    X = X.astype(dtype)
    if labels == "sorted":
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    elif labels == "text":
        y = np.where(y > 0, "yes", "no")
    elif labels == "scores":
        y = X[:, 0].astype(np.float64)
    expected = rotation.fit(X, y).components_.copy()
    count = 1 if labels == "scores" else len(expected)
    rotation.fit(da.from_array(X, chunks=(170, 4)), da.from_array(y, chunks=500))
    np.testing.assert_allclose(rotation.components_[:count], expected[:count], atol=bound)
    rotation.fit(da.from_array(X, chunks=(170, -1)), y)  # labels in memory
    np.testing.assert_allclose(rotation.components_[:count], expected[:count], atol=bound)


def test_weights_count_on_a_cluster_as_in_memory(rows: Rows) -> None:
    X, y = rows
    weight = np.arange(3000) % 4 + 0.0
    expected = DensRay().fit(X, y, sample_weight=weight).components_
    found = DensRay().fit(da.from_array(X, chunks=(400, -1)), y, sample_weight=weight).components_
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_results_are_lazy_and_keep_their_type(rows: Rows) -> None:
    X, y = rows
    rotation = DensRay(n_components=3).fit(X, y)
    for dtype in (np.float32, np.float64):
        blocks = da.from_array(X.astype(dtype), chunks=(700, 6))
        for method in ("transform", "erase"):
            found = getattr(rotation, method)(blocks)
            assert isinstance(found, da.Array)
            assert found.dtype == dtype
            expected = getattr(rotation, method)(X.astype(dtype))
            assert found.shape == expected.shape
            np.testing.assert_allclose(found.compute(), expected, atol=1e-5)
    coordinates = rotation.transform(da.from_array(X, chunks=700))
    np.testing.assert_allclose(
        rotation.inverse_transform(coordinates).compute(), rotation.inverse_transform(rotation.transform(X)), atol=1e-9
    )
    assert rotation.score(da.from_array(X, chunks=700), da.from_array(y, chunks=900)) == rotation.score(X, y)


def test_dataframes_are_taken_as_they_are(rows: Rows) -> None:
    X, y = rows
    table = pd.DataFrame(X, columns=[f"x{column}" for column in range(10)]).assign(label=y)
    frame = dd.from_pandas(table, npartitions=7)
    vectors = frame[[f"x{column}" for column in range(10)]]
    expected = DensRay().fit(X, y)
    found = DensRay().fit(vectors, frame["label"])
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)
    np.testing.assert_allclose(DensRay().fit(vectors, y).components_, expected.components_, atol=1e-8)
    np.testing.assert_allclose(found.erase(vectors).compute(), expected.erase(X), atol=1e-8)
    parts = [dask.delayed(lambda start: table.iloc[start : start + 500])(start) for start in range(0, 3000, 500)]
    delayed = dd.from_delayed(parts, meta=table.iloc[:0])
    found = DensRay().fit(delayed[[f"x{column}" for column in range(10)]], delayed["label"])
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)
    some = frame[frame["label"] > 100]  # no rows at all
    assert found.transform(some[[f"x{column}" for column in range(10)]]).compute().shape == (0, 10)


def test_a_vocabulary_is_scored_where_it_lies(googlenews: WordSpace, sentiment: Lexicon) -> None:
    space = googlenews.limit(4000)
    table = pd.DataFrame(space.vectors, columns=[f"x{column}" for column in range(space.width)])
    table.insert(0, "word", list(space.words))
    frame = dd.from_pandas(table, npartitions=6)
    here = induce(space, sentiment, method="mean-difference", n_resamples=20)
    axis = Axis.fit(sentiment.align(space), "mean-difference", n_resamples=20)
    found = frame.map_partitions(axis.score, meta=axis.score(table.iloc[:2])).compute()
    assert found["word"].tolist() == list(space.words)
    np.testing.assert_allclose(found["score"], here.scores.score, atol=1e-6)
    np.testing.assert_allclose(found["probability"], here.scores.probability, atol=1e-4)
    np.testing.assert_allclose(found["standard_error"], here.scores.standard_error, rtol=1e-4)
    with pytest.raises(TaskError, match="map_partitions"):
        induce(frame, sentiment)  # type: ignore[arg-type]


def test_unit_length_differences_name_the_forms_that_spread(rows: Rows) -> None:
    X, y = rows
    with pytest.raises(DensRayError, match=r"a Dask collection cannot do.*normalize_differences=False"):
        DensRay(normalize_differences=True).fit(da.from_array(X, chunks=700), y)


def test_few_blocks_are_held_at_a_time(rows: Rows) -> None:
    alive = most = loads = 0

    def gone() -> None:
        nonlocal alive
        alive -= 1

    def load(start: int) -> np.ndarray:
        nonlocal alive, most, loads
        loads += 1
        block = rows[0][start : start + 50].copy()
        weakref.finalize(block, gone)
        alive += 1
        most = max(most, alive)
        return block

    blocks = [da.from_delayed(dask.delayed(load)(start), (50, 10), float) for start in range(0, 3000, 50)]
    X = da.concatenate(blocks)
    DensRay().fit(X, da.sign(X[:, 0]))
    assert 1 <= most <= 2  # of 60
    assert loads == 60  # each once, for vectors and labels


def test_the_axes_do_not_depend_on_the_workers(rows: Rows) -> None:
    X, y = rows
    blocks = da.from_array(X, chunks=(250, -1))
    axes = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            axes.append(DensRay().fit(blocks, y).components_)
    np.testing.assert_array_equal(*axes)


def test_bad_collections_are_named(rows: Rows) -> None:
    X, y = rows
    bad = X.copy()
    bad[800, 2] = np.inf
    with pytest.raises(VectorError, match=r"block 1: .*row 100"):
        DensRay().fit(da.from_array(bad, chunks=(700, -1)), y)
    with pytest.raises(LabelError, match="3,000 rows of vectors, but y has 2,999"):
        DensRay().fit(da.from_array(X, chunks=700), y[:-1])
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=5)
    with pytest.raises(LabelError, match="y comes in 2 blocks, X in 5"):
        DensRay().fit(frame, dd.from_pandas(pd.Series(y), npartitions=2))
    with pytest.raises(LabelError, match="all labels in y are"):
        DensRay().fit(da.from_array(X, chunks=700), np.ones(3000))
    with pytest.raises(VectorError, match="one vector per row"):
        DensRay().fit(da.from_array(y, chunks=700), y)
    for rotation in (Densifier(), LinearRotation("svm")):
        with pytest.raises(NotAdditiveError, match="needs all rows at once"):
            rotation.fit(da.from_array(X, chunks=700), y)


def test_estimators_do_not_import_dask() -> None:
    code = "import sys, densray.rotations, densray.scale; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a worker that dies complains on its way out
def test_a_lost_worker_changes_nothing() -> None:
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    X = da.random.default_rng(0).normal(size=(240_000, 40), chunks=(10_000, -1))
    y = da.sign(X[:, 0] + X[:, 1])

    def _slowly(block: np.ndarray) -> np.ndarray:
        time.sleep(0.2)
        return block

    expected = DensRay().fit(X, y)
    with (
        dask.config.set({"scheduler": None, "distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        timer = threading.Timer(1.5, os.kill, (victim, signal.SIGKILL))
        timer.start()
        found = DensRay().fit(X.map_blocks(_slowly, dtype=X.dtype), y)
        assert not timer.is_alive()
        np.testing.assert_array_equal(found.components_, expected.components_)
        assert victim not in client.run(os.getpid).values()
