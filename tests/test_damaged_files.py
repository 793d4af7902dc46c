"""State folders, interventions and checkpoints that were damaged: a named error, or what was stored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from densray import DensRay
from densray._files import archive_digest, read_archive
from densray.errors import DensRayError, PersistenceError, TaskError
from densray.scale import fit_blocks
from densray.states import Intervention, LayerChange, States
from densray.states._storage import StatesInFolder, states_header

TEXTS = [f"text {number}" for number in range(6)]
ROWS = np.random.default_rng(0).normal(size=(2, 6, 4)).astype(np.float32)
#: Values of another kind than the one that belongs there.
ODD: tuple[Any, ...] = (None, True, -1, 0, 3.5, float("nan"), float("inf"), 10**30, "", "text", "\udcff", [], ["a"],
                        [1, 2], [[1]], {}, {"a": 1})  # fmt: skip


def write_states(folder: Path, *, labels: bool = True) -> States:
    header = states_header(
        model="tiny", checksum="c", layers=[0, 3], width=4, dtype="float32", pool="last", tokens="t",
        added_first_token=False, texts=TEXTS,
    )  # fmt: skip
    with StatesInFolder(folder, header) as target:
        for start in (0, 4):
            target.write(start, ROWS[:, start : start + 4])
    states = target.states()
    return states.labelled([1, 0] * 3, ["a", None, "b"] * 2, store=True) if labels else states


def read_states_of(folder: Path) -> Any:
    states = States.open(folder)
    rows = [np.asarray(states[layer]).tolist() for layer in states.layers]
    return states.layers, states.texts, states.labels, states.groups, states.dtype, states.model, rows


def read_intervention(path: Path) -> Any:
    loaded = Intervention.load(path)
    changes = {n: (c.left.tolist(), c.right.tolist(), c.origin.tolist()) for n, c in loaded.changes.items()}
    return loaded.operation, loaded.strength, loaded.skip_first, loaded.model, loaded.checksum, loaded.name, changes


def blocks() -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(1)
    X, y = random.normal(size=(40, 5)), np.tile([1, -1], 20)
    return [(X[start : start + 10], y[start : start + 10]) for start in range(0, 40, 10)]


def read_checkpoint(path: Path) -> Any:
    return fit_blocks(DensRay(1), blocks(), checkpoint=path).components_.tolist()


@pytest.fixture
def states_folder(tmp_path: Path) -> Path:
    write_states(tmp_path / "states")
    return tmp_path / "states"


@pytest.fixture
def intervention_file(tmp_path: Path) -> Path:
    pytest.importorskip("safetensors", reason="interventions are stored as safetensors")
    changes = {1: LayerChange.along(np.arange(1.0, 5.0)), 2: LayerChange.along(np.ones(4), np.ones(4))}
    return Intervention("project", changes, 0.5, model="tiny", checksum="c", name="mood").save(
        tmp_path / "i.safetensors"
    )


@pytest.fixture
def checkpoint_file(tmp_path: Path) -> Path:
    fit_blocks(DensRay(1), blocks()[:2], checkpoint=tmp_path / "fit.npz")
    return tmp_path / "fit.npz"


@contextmanager
def restored(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    try:
        yield content
    finally:
        path.write_bytes(content)


def damaged(content: bytes, random: np.random.Generator) -> bytes:
    """Return a file with one to three places changed, cut out, doubled, inserted, zeroed, or with its end cut off."""
    data = bytearray(content)
    for _ in range(int(random.integers(1, 4))):
        near = random.random() < 0.3  # headers come first
        at = int(random.integers(min(len(data), 200) + 1 if near else len(data) + 1))
        length = int(random.choice([1, 1, 2, 8, 64, 1000]))
        noise = random.bytes(length)
        kind = int(random.integers(6))
        if kind == 5:
            del data[at:]
        else:
            stop = at if kind in (2, 3) else at + length
            data[at:stop] = (noise, b"", noise, bytes(data[at : at + length]), bytes(length))[kind]
    return bytes(data)


def check_damage(paths: list[Path], read: Callable[[], Any], *, seed: int, count: int) -> None:
    """Read files with some bytes changed: each time the result is unchanged, or an error of the family."""
    expected, random, refused = read(), np.random.default_rng(seed), 0
    for number in range(count):
        path = paths[number % len(paths)]
        with restored(path) as content:
            path.write_bytes(damaged(content, random))
            try:
                assert read() == expected, (path.name, number)
            except DensRayError:
                refused += 1
    assert refused > count / 2
    assert read() == expected


def test_a_damaged_state_folder_is_refused_or_reads_the_same(states_folder: Path) -> None:
    paths = [path for path in sorted(states_folder.iterdir()) if path.is_file()]
    assert {path.suffix for path in paths} == {".json", ".rows"}
    check_damage(paths, lambda: read_states_of(states_folder), seed=11, count=200)


def test_a_damaged_intervention_is_refused_or_reads_the_same(intervention_file: Path) -> None:
    check_damage([intervention_file], lambda: read_intervention(intervention_file), seed=12, count=200)


def test_a_damaged_checkpoint_is_refused_or_reads_the_same(checkpoint_file: Path) -> None:
    whole = checkpoint_file.read_bytes()

    def read() -> Any:
        result = read_checkpoint(checkpoint_file)
        checkpoint_file.write_bytes(whole)  # a fit completes it
        return result

    check_damage([checkpoint_file], read, seed=13, count=150)


# Files with a right digest that something else wrote


def places_in(value: Any, trail: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*trail, key)
        yield from places_in(item, (*trail, key))


def with_odd_value(values: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return values with one of them, at any depth, replaced or removed."""
    values = json.loads(json.dumps(values))
    fixed = ("digest", "format", "format_version", "densray_version")
    places = [place for place in places_in(values) if place[0] not in fixed]
    *trail, key = places[int(random.integers(len(places)))]
    table = values
    for step in trail:
        table = table[step]
    if random.random() < 0.2:
        del table[key]
    else:
        table[key] = ODD[int(random.integers(len(ODD)))]
    return values


def read_or_refuse(read: Callable[[], Any]) -> bool:
    try:
        read()
    except DensRayError:
        return True
    return False


@pytest.mark.parametrize("name", ["states.json", "labels.json"])
def test_a_signed_state_folder_with_odd_values_is_read_or_refused(states_folder: Path, name: str) -> None:
    random, path, refused = np.random.default_rng(21), states_folder / name, 0
    values = json.loads(path.read_text(encoding="utf-8"))
    for _ in range(200):
        odd = with_odd_value(values, random)
        path.write_text(json.dumps({**odd, "digest": archive_digest(odd, {})}), encoding="utf-8")
        refused += read_or_refuse(lambda: read_states_of(states_folder))
    assert refused > 100


@pytest.mark.parametrize("value", [["a"], [True], [-1], [0, 0], [], None, {"0": 1}, "0"])
def test_layers_of_another_kind_are_named(states_folder: Path, value: Any) -> None:
    path = states_folder / "states.json"
    values = {**json.loads(path.read_text(encoding="utf-8")), "layers": value}
    path.write_text(json.dumps({**values, "digest": archive_digest(values, {})}), encoding="utf-8")
    with pytest.raises(PersistenceError, match="'layers' is missing or cannot be read"):
        States.open(states_folder)


def test_a_signed_checkpoint_with_odd_values_is_read_or_refused(checkpoint_file: Path) -> None:
    from densray._checkpoint import _KIND

    header, arrays = read_archive(checkpoint_file, _KIND)
    random, refused = np.random.default_rng(22), 0
    for number in range(200):
        odd, parts = header, dict(arrays)
        if number % 2:
            odd = with_odd_value(header, random)
        else:
            name = sorted(parts)[number // 2 % len(parts)]
            array, kind = parts[name], int(random.integers(4))
            parts[name] = [array[..., None], array.astype(str), array[:-1], np.full(array.shape, np.nan)][kind]
        odd = {**odd, "digest": archive_digest(odd, parts)}
        text = np.frombuffer(json.dumps(odd).encode(), dtype=np.uint8)
        np.savez(checkpoint_file, header=text, **parts)
        refused += read_or_refuse(lambda: read_checkpoint(checkpoint_file))
    assert refused > 150


@pytest.mark.parametrize("odd", [np.nan, np.inf, "shape", "missing", "extra", "integers"])
def test_an_intervention_with_tensors_that_cannot_be_used_is_refused(intervention_file: Path, odd: Any) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(str(intervention_file), framework="numpy") as file:
        metadata = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if odd == "shape":
        tensors["left.1"] = tensors["left.1"][:-1]
    elif odd == "missing":
        del tensors["origin.2"]
    elif odd == "extra":
        tensors["left.7"] = tensors["left.1"]
    elif odd == "integers":
        tensors["left.1"] = tensors["left.1"].astype(np.int32)
    else:
        tensors["origin.1"] = np.full_like(tensors["origin.1"], odd)
    save_file(tensors, intervention_file, metadata={**metadata, "digest": archive_digest(metadata, tensors)})
    with pytest.raises(PersistenceError):
        Intervention.load(intervention_file)


@pytest.mark.parametrize(
    "name", ["layers", "strength", "skip_first", "positions", "operation", "checksum", "model", "name"]
)
@pytest.mark.parametrize("value", [None, "", "[", '["a"]', "[1, 1]", "[true, 2]", "{}", "nan", "inf", "[" * 5000])
def test_an_intervention_with_odd_metadata_is_read_or_refused(intervention_file: Path, name: str, value: Any) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(str(intervention_file), framework="numpy") as file:
        metadata = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del metadata[name]
    if value is not None:
        metadata[name] = value
    save_file(tensors, intervention_file, metadata={**metadata, "digest": archive_digest(metadata, tensors)})
    refused = read_or_refuse(lambda: Intervention.load(intervention_file))
    assert refused or name in ("checksum", "model", "name")


def test_an_unknown_operation_is_named_in_one_line() -> None:
    with pytest.raises(TaskError, match=r"^operation .{1,200}$"):
        Intervention("x" * 5000, {0: LayerChange.along(np.ones(4))})


def test_an_intervention_of_numbers_that_are_not_finite_is_not_made() -> None:
    change = LayerChange(np.full((2, 1), np.nan, np.float32), np.ones((1, 2), np.float32), np.zeros(2, np.float32))
    with pytest.raises(TaskError, match="not finite"):
        Intervention("project", {0: change})


# What a state folder promises


def test_labels_that_a_broken_link_hides_are_missed(states_folder: Path) -> None:
    path = states_folder / "labels.json"
    path.unlink()
    try:
        path.symlink_to("gone.json")
    except OSError:
        pytest.skip("this platform does not let everybody make links")
    with pytest.raises(PersistenceError, match=r"labels\.json"):
        States.open(states_folder)


def test_rows_that_changed_on_disk_are_found_on_first_use(states_folder: Path) -> None:
    path = states_folder / "layer-003.rows"
    content = bytearray(path.read_bytes())
    content[17] ^= 1
    path.write_bytes(content)
    states = States.open(states_folder)
    np.testing.assert_array_equal(states[0], ROWS[0])
    with pytest.raises(PersistenceError, match=r"layer-003\.rows is damaged"):
        states[3]


def test_finished_rows_that_were_lost_are_read_again(tmp_path: Path) -> None:
    whole = write_states(tmp_path / "whole")
    header = {name: value for name, value in json.loads((tmp_path / "whole" / "states.json").read_text()).items()
              if name not in ("format", "format_version", "digest", "blocks")}  # fmt: skip
    folder = tmp_path / "half"
    with StatesInFolder(folder, header) as target:
        target.write(0, ROWS[:, :4])
    with StatesInFolder(folder, header) as target:
        assert target.finished == 4
    path = folder / "layer-003.rows"
    path.write_bytes(bytes(path.stat().st_size))  # a power cut may leave zeros
    with StatesInFolder(folder, header) as target:
        assert target.finished == 0
        target.write(0, ROWS)
    np.testing.assert_array_equal(States.open(folder)[3], whole[3])
    assert not (folder / "parts").exists()


def test_states_are_written_without_calls_that_only_posix_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import sys

    for name in ("pwrite", "pread", "O_DIRECTORY"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    write_states(tmp_path / "states")
    np.testing.assert_array_equal(States.open(tmp_path / "states")[3], ROWS[1])


def test_a_second_writer_of_a_state_folder_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="this platform has no locks on folders")
    write_states(tmp_path / "whole")
    header = {name: value for name, value in json.loads((tmp_path / "whole" / "states.json").read_text()).items()
              if name not in ("format", "format_version", "digest", "blocks")}  # fmt: skip
    first, second = (StatesInFolder(tmp_path / "shared", header) for _ in range(2))
    with first:
        first.write(0, ROWS[:, :4])
        with pytest.raises(DensRayError, match="another run is writing"), second:
            pass
        first.write(4, ROWS[:, 4:])
    with second:  # now it finds all of them there
        assert second.finished == 6
    shutil.rmtree(tmp_path / "shared")


@pytest.mark.parametrize("label", [None, float("nan"), float("inf"), [1], 1j])
def test_labels_that_could_not_be_read_again_are_not_stored(states_folder: Path, label: Any) -> None:
    with pytest.raises(TaskError, match="label"):
        States.open(states_folder).labelled([label, 1, 0, 1, 0, 1], store=True)
    assert States.open(states_folder).labels == (1.0, 0.0) * 3


def test_texts_without_a_group_stand_alone(states_folder: Path) -> None:
    assert States.open(states_folder).groups == ("a", None, "b", "a", None, "b")
