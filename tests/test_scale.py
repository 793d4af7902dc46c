"""Fits over blocks, files and memory maps: the same axes, bounded memory, taken up after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from densray import Densifier, DensRay, Lexicon, MeanDifference, WordSpace
from densray._files import is_memory_mapped, release_pages
from densray.errors import (
    DensRayError,
    FormatError,
    LabelError,
    LexiconError,
    NotAdditiveError,
    PersistenceError,
    VectorError,
)
from densray.formats import write_space
from densray.rotations import Rotation
from densray.scale import fit_blocks, labelled_blocks

Rows = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def rows() -> Rows:
    random = np.random.default_rng(0)
    y = np.where(random.random(2000) < 0.3, 1.0, -1.0)
    X = random.normal(size=(2000, 12)) * np.linspace(1, 2, 12) + y[:, None] * np.linspace(0.5, 0, 12)
    return X, y


def _cut(X: np.ndarray, y: np.ndarray, size: int = 300) -> Iterator[Rows]:
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


@pytest.mark.parametrize(
    "rotation", [DensRay(), DensRay(weights=(0.5, 0.5), n_components=1), MeanDifference(n_components=None)]
)
@pytest.mark.parametrize("labels", ["classes", "scores", "text", "sorted"])
def test_blocks_give_the_axes_of_all_rows_together(rotation: Rotation, labels: str, rows: Rows) -> None:
    X, y = rows
    if labels == "scores":
        y = X[:, 0] + np.round(X[:, 1])
    elif labels == "text":
        y = np.where(y > 0, "yes", "no")
    elif labels == "sorted":  # every block but one holds one class only
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    whole = rotation.fit(X, y)
    n_signal = whole.components_.shape[0] if labels != "scores" else 1  # further axes carry no signal there
    expected, classes = whole.components_.copy(), whole.classes_
    streamed = fit_blocks(rotation, _cut(X, y))
    np.testing.assert_allclose(streamed.components_[:n_signal], expected[:n_signal], atol=1e-8)
    np.testing.assert_array_equal(streamed.classes_, classes)


def test_weights_pass_through_blocks(rows: Rows) -> None:
    X, y = rows
    weight = np.arange(len(y)) % 3 + 0.0
    blocks = ((X[i : i + 300], y[i : i + 300], weight[i : i + 300]) for i in range(0, 2000, 300))
    expected = DensRay().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(fit_blocks(DensRay(), blocks).components_, expected.components_, atol=1e-9)


def test_blocks_whose_rows_weigh_nothing_are_passed_over(rows: Rows) -> None:
    X, y = rows
    weight = np.where(np.arange(2000) < 600, 0.0, 1.0)
    blocks = ((X[i : i + 300], y[i : i + 300], weight[i : i + 300]) for i in range(0, 2000, 300))
    expected = DensRay().fit(X[600:], y[600:]).components_
    np.testing.assert_allclose(fit_blocks(DensRay(), blocks).components_, expected, atol=1e-9)


@pytest.mark.parametrize("scores", [False, True])
def test_blocks_of_tensors_resume_like_arrays(scores: bool, rows: Rows, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = rows
    y = X[:, 0] if scores else y
    tensors = [(torch.from_numpy(part), torch.from_numpy(labels)) for part, labels in _cut(X, y)]
    fit_blocks(DensRay(n_components=1), tensors[:3], checkpoint=tmp_path / "done.npz")
    found = fit_blocks(DensRay(n_components=1), tensors, checkpoint=tmp_path / "done.npz").components_
    np.testing.assert_allclose(found, DensRay(n_components=1).fit(X, y).components_, atol=1e-9)


# Sources


def _sources(folder: Path, X: np.ndarray, y: np.ndarray) -> dict[str, tuple[object, object]]:
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    np.savez(folder / "plain.npz", X=X, y=y)
    np.savez_compressed(folder / "packed.npz", X=X, other=X, y=y)
    pl.DataFrame({"vector": X.tolist(), "label": y}).write_parquet(folder / "lists.parquet")
    columns = {f"x{column}": X[:, column] for column in range(X.shape[1])}
    pl.DataFrame({**columns, "label": y}).write_parquet(folder / "columns.parquet")
    words = [f"w{row}" for row in range(len(X))]
    space = WordSpace(words, X.astype(np.float32))
    write_space(space, folder / "space.densray")
    write_space(space, folder / "space.vec")
    lexicon = Lexicon(dict(zip(words, y.tolist(), strict=True)))
    return {
        "array": (X, y),
        "npy": (folder / "X.npy", folder / "y.npy"),
        "npz": (folder / "plain.npz", "y"),
        "compressed npz": (folder / "packed.npz", y),
        "parquet of lists": (folder / "lists.parquet", "label"),
        "parquet of columns": (folder / "columns.parquet", "label"),
        "parquet, labels beside": (folder / "lists.parquet", y),
        "space": (space, lexicon),
        "native file": (folder / "space.densray", lexicon),
        "text file": (folder / "space.vec", y),
        "blocks": ([X[:700], X[700:]], y),
    }


def test_every_source_gives_the_same_axes(rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    X = X.astype(np.float32).astype(np.float64)
    expected = DensRay().fit(X, y).components_
    for name, (source, labels) in _sources(tmp_path, X, y).items():
        vectors = "X" if name == "compressed npz" else None
        found = fit_blocks(DensRay(), labelled_blocks(source, labels, rows=256, vectors=vectors)).components_
        np.testing.assert_allclose(found, expected, atol=2e-5, err_msg=name)


def test_words_without_a_label_are_left_out(rows: Rows) -> None:
    X, y = rows
    space = WordSpace([f"w{row}" for row in range(2000)], X.astype(np.float32))
    some = {f"w{row}": float(y[row]) for row in range(0, 2000, 7)} | {"absent": 1.0}
    found = fit_blocks(DensRay(), labelled_blocks(space, some, rows=100)).components_
    np.testing.assert_allclose(found, DensRay().fit(X[::7].astype(np.float32), y[::7]).components_, atol=1e-4)


def test_a_parquet_file_is_read_in_any_order(rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    pl.DataFrame({"vector": X.tolist(), "label": y}).write_parquet(tmp_path / "rows.parquet", row_group_size=150)
    blocks = labelled_blocks(tmp_path / "rows.parquet", "label", rows=128)
    np.testing.assert_array_equal(blocks[3][0], X[384:512])  # type: ignore[index]
    np.testing.assert_array_equal(blocks[-1][1], y[1920:])  # type: ignore[index]


# Taking up


@pytest.mark.slow
def test_a_killed_fit_ends_with_the_same_bits(rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    script = """
        import os, signal, sys
        import numpy as np
        from densray import DensRay
        from densray.scale import fit_blocks, labelled_blocks

        def stop(done, total):
            assert total == 2000
            if done >= 900:
                os.kill(os.getpid(), signal.SIGKILL)

        blocks = labelled_blocks("X.npy", "y.npy", rows=150)
        fit_blocks(DensRay(), blocks, checkpoint="done.npz", interval=0, progress=stop)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.glob("*.npz")] == ["done.npz"]
    seen: list[int] = []
    blocks = labelled_blocks(tmp_path / "X.npy", y, rows=150)
    resumed = fit_blocks(
        DensRay(), blocks, checkpoint=tmp_path / "done.npz", progress=lambda done, total: seen.append(done)
    )
    assert seen[0] == 1050  # six blocks were done before
    whole = fit_blocks(DensRay(), labelled_blocks(X, y, rows=150))
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.eigenvalues_, whole.eigenvalues_)
    np.testing.assert_allclose(resumed.components_, DensRay().fit(X, y).components_, atol=1e-10)


@pytest.mark.parametrize("kind", ["classes", "scores", "uncentred", "text"])
def test_every_kind_of_statistics_survives_a_stop(kind: str, rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    if kind in ("scores", "uncentred"):
        y = X[:, 0] + (3.0 if kind == "scores" else 0.0)
    elif kind == "text":
        y = np.where(y > 0, "b", "a")
    rotation = DensRay(n_components=1, center_labels=kind != "uncentred")

    def failing() -> Iterator[Rows]:
        yield from list(_cut(X, y))[:3]
        raise RuntimeError("the disk was pulled")

    with pytest.raises(RuntimeError, match="pulled"):
        fit_blocks(rotation, failing(), checkpoint=tmp_path / "done.npz")
    resumed = fit_blocks(rotation, _cut(X, y), checkpoint=tmp_path / "done.npz").components_.copy()
    np.testing.assert_array_equal(resumed, fit_blocks(rotation, _cut(X, y)).components_)


def test_blocks_added_later_are_added_to_the_checkpoint(rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    blocks = list(_cut(X, y))
    fit_blocks(DensRay(), blocks[:4], checkpoint=tmp_path / "done.npz")
    grown = fit_blocks(DensRay(), blocks, checkpoint=tmp_path / "done.npz")
    np.testing.assert_array_equal(grown.components_, fit_blocks(DensRay(), blocks).components_)


def test_a_checkpoint_of_something_else_is_refused(rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    path = tmp_path / "done.npz"
    fit_blocks(DensRay(), _cut(X, y), checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(PersistenceError, match=r"other data: block 0"):
        fit_blocks(DensRay(), _cut(X + 1, y), checkpoint=path)
    with pytest.raises(PersistenceError, match=r"other data: block 6"):
        fit_blocks(DensRay(), list(_cut(X, np.r_[y[:1900], -y[1900:]])), checkpoint=path)
    with pytest.raises(PersistenceError, match=r"different parameters \(weights='balanced'\)"):
        fit_blocks(DensRay(weights=(0.5, 0.5)), _cut(X, y), checkpoint=path)
    with pytest.raises(PersistenceError, match="checkpoint of a DensRay, not a MeanDifference"):
        fit_blocks(MeanDifference(), _cut(X, y), checkpoint=path)
    with pytest.raises(PersistenceError, match="seen 7 blocks, but only 2"):
        fit_blocks(DensRay(), _cut(X[:600], y[:600]), checkpoint=path)
    assert path.read_bytes() == before
    path.write_bytes(before[:200])
    with pytest.raises(PersistenceError, match="not a readable checkpoint"):
        fit_blocks(DensRay(), _cut(X, y), checkpoint=path)


@pytest.mark.parametrize("change", ["one number", "one label", "one weight", "middle blocks"])
@pytest.mark.parametrize("as_list", [True, False])
def test_a_checkpoint_never_stands_in_for_other_rows(change: str, as_list: bool, rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    weights = np.ones(len(y))
    old = [(X[start : start + 50], y[start : start + 50], weights[start : start + 50]) for start in range(0, 2000, 50)]
    new = [tuple(part.copy() for part in block) for block in old]
    if change == "middle blocks":  # the first and the last one stay
        new[1:39] = [(block[0][::-1] + 1.0, *block[1:]) for block in new[1:39]]
    else:
        column = ("one number", "one label", "one weight").index(change)
        new[20][column][31] *= -1.0 if column < 2 else 2.0
    path = tmp_path / "done.npz"
    fit_blocks(DensRay(), old, checkpoint=path)
    again = fit_blocks(DensRay(), old if as_list else iter(old), checkpoint=path)
    np.testing.assert_array_equal(again.components_, fit_blocks(DensRay(), old).components_)
    before = path.read_bytes()
    with pytest.raises(PersistenceError, match="other data: block"):
        fit_blocks(DensRay(), new if as_list else iter(new), checkpoint=path)
    assert path.read_bytes() == before


# Bad input


def test_bad_blocks_are_named(rows: Rows) -> None:
    X, y = rows
    bad = X.copy()
    bad[450, 3] = np.nan
    with pytest.raises(VectorError, match=r"block 1: .*NaN.*row 150"):
        fit_blocks(DensRay(), _cut(bad, y))
    with pytest.raises(VectorError, match=r"block 1 has vectors of width 5, the blocks before it 12"):
        fit_blocks(DensRay(), [(X[:9], y[:9]), (X[9:20, :5], y[9:20])])
    with pytest.raises(LabelError, match=r"block 1: .*11 rows of vectors, 10 labels"):
        fit_blocks(DensRay(), [(X[:9], y[:9]), (X[9:20], y[9:19])])
    with pytest.raises(VectorError, match="iterable is empty"):
        fit_blocks(DensRay(), iter([]))
    with pytest.raises(VectorError, match="every block is empty"):
        fit_blocks(DensRay(), [(X[:0], y[:0])])
    with pytest.raises(LabelError, match="all labels in y are"):
        fit_blocks(DensRay(), [(X[:9], np.ones(9)), (X[9:20], np.ones(11))])
    with pytest.raises(DensRayError, match="block 0 is a ndarray"):
        fit_blocks(DensRay(), (X, y))
    with pytest.warns(RuntimeWarning, match="5 of 2000 rows of X are zero"):
        fit_blocks(DensRay(), _cut(np.vstack([np.zeros((5, 12)), X[5:]]), y))


@pytest.mark.parametrize("source", ["X.npy", Path("X.npy"), iter([])])
def test_fit_sends_files_and_streams_where_they_belong(source: object) -> None:
    with pytest.raises(VectorError, match=r"densray.scale.fit_blocks"):
        DensRay().fit(source, [1, -1])


def test_labels_and_vectors_must_last_equally_long(rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    with pytest.raises(LabelError, match=r"labels run out before the vectors do: 2,000 rows of vectors, 1,990"):
        labelled_blocks(X, y[:1990])
    with pytest.raises(LabelError, match=r"vectors run out before the labels do"):
        labelled_blocks(X[:1990], y)
    with pytest.raises(LabelError, match=r"labels run out .* block 1 ends at row 2,000"):
        list(labelled_blocks([X[:1000], X[1000:]], y[:1500]))
    with pytest.raises(LabelError, match=r"vectors run out .*: 1,000 rows"):
        list(labelled_blocks([X[:1000]], y))
    np.savez(tmp_path / "X.npz", X=X)
    with pytest.raises(LabelError, match=r"labels run out"):
        list(labelled_blocks(tmp_path / "X.npz", y[:100]))


def test_sources_that_cannot_be_read_are_named(rows: Rows, tmp_path: Path) -> None:
    X, y = rows
    with pytest.raises(FormatError, match="does not exist"):
        labelled_blocks(tmp_path / "none.npy", y)
    (tmp_path / "bad.npy").write_bytes(b"no array")
    with pytest.raises(FormatError, match=r"bad.npy: not a readable array"):
        labelled_blocks(tmp_path / "bad.npy", y)
    np.savez(tmp_path / "two.npz", A=X, B=X)
    with pytest.raises(FormatError, match="Name it with vectors="):
        labelled_blocks(tmp_path / "two.npz", y)
    pl.DataFrame({"vector": X.tolist()}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(LabelError, match="no column 'label'"):
        labelled_blocks(tmp_path / "rows.parquet", "label")
    with pytest.raises(LexiconError, match="none of the 1 labelled words"):
        labelled_blocks(WordSpace(["a"], [[1.0]]), {"b": 1.0})
    with pytest.raises(LabelError, match="need a space"):
        labelled_blocks(X, {"b": 1.0})


def test_forms_that_need_all_rows_name_what_does_not(rows: Rows) -> None:
    with pytest.raises(DensRayError, match=r"a stream of blocks cannot do.*normalize_differences=False"):
        fit_blocks(DensRay(normalize_differences=True), _cut(*rows))
    with pytest.raises(NotAdditiveError, match="Densifier needs all rows at once"):
        fit_blocks(Densifier(), _cut(*rows))


# Memory maps


def test_private_pages_keep_what_was_written(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.zeros((4096, 2)))
    private = np.load(tmp_path / "X.npy", mmap_mode="c")
    private[:] = 7.0
    release_pages(private)
    assert private.min() == 7.0
    shared = np.load(tmp_path / "X.npy", mmap_mode="r+")
    shared[:] = 5.0
    release_pages(shared[10:20])
    assert shared.min() == 5.0
    assert is_memory_mapped(np.asarray(shared)[3:])
    assert not is_memory_mapped(np.zeros(3))


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to see resident memory")
@pytest.mark.parametrize("way", ["fit", "fit_blocks"])
def test_a_memory_map_is_fitted_in_a_fraction_of_its_size(way: str, tmp_path: Path) -> None:
    rows, width = 1_300_000, 300  # 1.56 GB
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(rows, width))
    random = np.random.default_rng(0)
    pattern = random.normal(size=(10_000, width)).astype(np.float32)
    y = np.sign(pattern[:, 0] + random.normal(size=10_000))
    for start in range(0, rows, 10_000):
        X[start : start + 10_000] = pattern
        release_pages(X)
    X.flush()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    labels = np.tile(y, rows // 10_000)
    expected = DensRay(n_components=1).fit(pattern.astype(np.float64), y).components_
    start_size, peak = _resident(), [0]

    def watch(done: int, total: int | None) -> None:
        peak[0] = max(peak[0], _resident())

    if way == "fit":
        rotation = DensRay(n_components=1).fit(mapped, labels)
        watch(0, None)
    else:
        rotation = fit_blocks(DensRay(n_components=1), labelled_blocks(mapped, labels), progress=watch)
    np.testing.assert_allclose(rotation.components_, expected, atol=1e-4)
    assert peak[0] - start_size < 400e6
    del X, mapped
    (tmp_path / "X.npy").unlink()


def test_an_archive_named_as_one_array_is_refused(tmp_path):
    np.savez(tmp_path / "labels.npz", y=np.array([1, -1, 1, -1]))
    (tmp_path / "labels.npz").rename(tmp_path / "labels.npy")
    with pytest.raises(FormatError, match="is an archive"):
        labelled_blocks(np.eye(4), tmp_path / "labels.npy")
    with pytest.raises(FormatError, match="is an archive"):
        labelled_blocks(tmp_path / "labels.npy", [1, -1, 1, -1])
