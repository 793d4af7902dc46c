"""Finished parts are found again, bit for bit, by the very same run, and by no other."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from densray import Lexicon, WordSpace
from densray._files import ArchiveKind
from densray.journal import Journal, decode, digest, encode, write_part


class Ends(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True)
class Part:
    name: str
    ends: Ends | None
    values: np.ndarray


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*")) if folder.exists() else []


def stored_and_read(value: Any, *kinds: type) -> Any:
    arrays: dict[str, Any] = {}
    plain = json.loads(json.dumps(encode(value, arrays)))
    return decode(plain, arrays, {kind.__name__: kind for kind in kinds})


numbers = st.one_of(st.floats(), st.integers(), st.booleans(), st.none(), st.text())


def containers(inner: Any) -> Any:
    return st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner)


@given(st.recursive(numbers, containers, max_leaves=20))
def test_what_is_stored_comes_back_bit_for_bit(value: Any) -> None:
    again = stored_and_read(value)
    assert repr(again) == repr(value)  # tells -0.0 from 0.0, tuples from lists, and knows NaN


@given(arrays(np.float32, (2, 3)), arrays(np.float64, 4), st.floats(), st.floats())
def test_arrays_and_classes_come_back_bit_for_bit(first: Any, second: Any, low: float, high: float) -> None:
    value = (Part("a", Ends(low, high), first), Part("b", None, second))
    again = stored_and_read(value, Part, Ends)
    for one, other in zip(value, again, strict=True):
        assert (one.name, repr(one.ends)) == (other.name, repr(other.ends))
        assert one.values.dtype == other.values.dtype
        np.testing.assert_array_equal(one.values, other.values, strict=True)


def test_only_classes_that_were_named_are_made() -> None:
    with pytest.raises(KeyError):
        stored_and_read(Ends(0.0, 1.0), Part)


def test_everything_that_decides_has_a_part_in_the_digest() -> None:
    space = WordSpace(["a", "b"], [[1, 0], [0, 1]])
    changed = WordSpace(["a", "b"], [[1, 0], [0, 1.0000001]])
    renamed = WordSpace(["a", "c"], [[1, 0], [0, 1]])
    things = [
        space,
        changed,
        renamed,
        Lexicon({"a": 1, "b": -1}),
        Lexicon({"a": 1, "b": -2}),
        np.eye(2),
        np.eye(2).T[:1],
    ]
    assert len({digest("task", thing) for thing in things}) == len(things)
    assert digest("task", space, 1) != digest("task", space, 2)
    assert len({digest("ab", "c"), digest("a", "bc"), digest(1), digest(1.0), digest("1"), digest(True)}) == 6
    assert digest(["a", "b"], "c") != digest(["a"], "b", "c")
    assert digest({"a", "b"}) != digest(["a", "b"])
    assert len({digest({1, "a"}), digest({"a", 1.5}), digest({"a", "1"}), digest({"a", None})}) == 4
    assert digest(space) == digest(WordSpace(["a", "b"], [[1, 0], [0, 1]], name="other file"))


def test_the_order_in_which_a_set_was_made_has_no_part_in_its_digest() -> None:
    members = ["a", "b", 1, 2.5, None, ("a", 1), *(f"word{number}" for number in range(50))]
    backwards = members[::-1]
    assert digest(set(members)) == digest(set(backwards)) == digest(frozenset(members))


def test_a_function_has_no_digest_and_its_run_is_not_stored(folder: Path) -> None:
    run = Journal(folder).run("task", len)
    assert [run.part("a", lambda: 1), run.part("a", lambda: 2)] == [1, 2]
    assert files(folder) == []


def test_a_part_is_computed_once_and_another_run_computes_its_own(folder: Path) -> None:
    assert Journal(folder).run("task", 1).part("a", lambda: 0.1) == 0.1
    again = Journal(folder)
    assert again.run("task", 1).part("a", lambda: 0.2) == 0.1
    assert again.run("task", 2).part("a", lambda: 0.3) == 0.3
    assert again.run("other task", 1).part("a", lambda: 0.4) == 0.4
    assert again.run("task", 1).part("b", lambda: 0.5) == 0.5
    assert (again.n_reused, again.n_stored) == (1, 4)


def test_a_fresh_run_passes_over_what_was_stored_and_stores_its_own(folder: Path) -> None:
    Journal(folder).run("task").part("a", lambda: 1)
    fresh = Journal(folder, fresh=True)
    assert fresh.run("task").part("a", lambda: 2) == 2
    assert fresh.n_reused == 0
    assert Journal(folder).run("task").part("a", lambda: 3) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b"\xff\xfe\x00"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text("[1, 2]"),
        lambda path: path.write_bytes(path.read_bytes().replace(b"0.125", b"0.126")),
        lambda path: path.write_bytes(path.read_bytes().replace(path.stem.encode(), path.stem[::-1].encode())),
        lambda path: path.write_bytes(path.read_bytes().replace(b"densray-part", b"densray-trap")),
        lambda path: write_part(path, path.stem[::-1], 0.5),
        lambda path: write_part(path, path.stem, 0.5, kind=ArchiveKind("other", 1, "file", "")),
        lambda path: (path.unlink(), path.mkdir()),
    ],
)
def test_a_damaged_or_foreign_part_is_computed_again(folder: Path, damage: Callable[[Path], Any]) -> None:
    Journal(folder).run("task").part("a", lambda: 0.125)
    (path,) = files(folder)
    damage(path)
    again = Journal(folder)
    assert again.run("task").part("a", lambda: 0.25) == 0.25
    assert again.n_reused == 0


def test_a_journal_that_was_stopped_leaves_what_it_has_and_writes_no_more(folder: Path) -> None:
    journal = Journal(folder)
    run = journal.run("task")
    run.part("a", lambda: 1)
    journal.stop()
    assert run.part("b", lambda: 2) == 2
    assert (journal.n_stored, len(files(folder))) == (1, 1)


def test_nothing_is_left_when_a_run_is_cleared_and_other_runs_keep_theirs(folder: Path) -> None:
    first, second = Journal(folder), Journal(folder)
    first.run("task").part("a", lambda: 1)
    second.run("task").part("b", lambda: 2)
    first.clear()
    assert len(files(folder)) == 1
    assert second.n_stored == 1
    second.clear()
    assert not folder.exists()
    assert second.run("task").part("c", lambda: 3) == 3  # the folder is made again


def test_two_runs_of_the_same_kind_do_not_hurt_each_other(folder: Path) -> None:
    def work(found: list[list[float]]) -> None:
        journal = Journal(folder)
        run = journal.run("task")
        found.append([run.part(str(number), lambda number=number: number / 7) for number in range(30)])
        journal.clear()

    found: list[list[float]] = []
    threads = [threading.Thread(target=work, args=[found]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[number / 7 for number in range(30)]] * 4
    assert files(folder) == []


def test_a_folder_that_cannot_be_made_or_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = Journal(tmp_path / "file" / "journal")
    run = journal.run("task")
    assert [run.part("a", lambda: 1), run.part("b", lambda: 2)] == [1, 2]
    assert (journal.n_reused, journal.n_stored) == (0, 0)
    journal.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder where not even root can write")
def test_a_read_only_folder_is_done_without() -> None:
    journal = Journal(Path("/proc"))
    assert journal.run("task").part("a", lambda: 1) == 1
    assert journal.n_stored == 0
