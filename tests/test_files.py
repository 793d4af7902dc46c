"""Files are known by what they hold, closed again, and named in words that suit Python, browser and terminal."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from densray import Axis, Lexicon, MeanDifference, WordSpace
from densray._files import ArchiveKind, archive_digest, folder_lock, kind_of, read_archive, try_lock, write_archive
from densray.errors import DensRayError, OutputError, PersistenceError
from densray.formats import read_space, write_space


def test_files_are_recognised_by_what_they_hold(tmp_path: Path) -> None:
    space = WordSpace(["a", "b"], np.eye(2))
    axis = Axis.of(MeanDifference().fit(space.vectors, [1, -1])).save(tmp_path / "axis")
    assert kind_of(axis) == "axis"
    assert kind_of(write_space(space, tmp_path / "space.npz")) == "space"


KIND = ArchiveKind("densray-test", 3, "test archive", "Write it again.")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "test.npz"
    write_archive(path, KIND, {"é": [1, None, 0.1]}, {"numbers": np.arange(6).reshape(2, 3)}, overwrite=False)
    return path


def test_an_archive_comes_back_with_its_header_and_arrays(archive: Path) -> None:
    header, arrays = read_archive(archive, KIND)
    assert (header["format"], header["format_version"], header["é"]) == ("densray-test", 3, [1, None, 0.1])
    assert header["digest"] == archive_digest(header, arrays)
    np.testing.assert_array_equal(arrays["numbers"], np.arange(6).reshape(2, 3))
    with np.load(archive, allow_pickle=False) as plain:
        assert sorted(plain.files) == ["header", "numbers"]


def test_an_archive_that_was_changed_or_is_of_another_kind_is_refused_with_the_remedy(archive: Path) -> None:
    with pytest.raises(PersistenceError, match=r"holds 'densray-test', not a rotation \('other'\). Fit one"):
        read_archive(archive, ArchiveKind("other", 3, "rotation", "Fit one."))
    with pytest.raises(PersistenceError, match=r"format version 3; this densray .* reads version 4"):
        read_archive(archive, ArchiveKind("densray-test", 4, "test archive", ""))
    with np.load(archive) as file:
        parts = dict(file)
    np.savez(archive, **{**parts, "numbers": parts["numbers"] + 1})
    with pytest.raises(PersistenceError, match="do not match their digest"):
        read_archive(archive, KIND)
    np.savez(archive, numbers=parts["numbers"])
    with pytest.raises(PersistenceError, match="has no densray header"):
        read_archive(archive, KIND)


def test_files_that_are_not_an_archive_are_refused_and_never_unpickled(archive: Path) -> None:
    whole = archive.read_bytes()
    contents = [b"", b"text", pickle.dumps({}), whole[:-50], whole[:100], b"\x93NUMPY\x01\x00"]
    for content in contents:
        archive.write_bytes(content)
        with pytest.raises(PersistenceError, match=archive.name):
            read_archive(archive, KIND)
    np.savez(archive, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(PersistenceError, match="is not a readable test archive"):
        read_archive(archive, KIND)
    with pytest.raises(PersistenceError, match=r"does not exist\. Write it again"):
        read_archive(archive.with_name("missing.npz"), KIND)


def test_writing_an_archive_replaces_it_whole_or_not_at_all(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive.read_bytes()
    with pytest.raises(OutputError, match="exists"):
        write_archive(archive, KIND, {}, {}, overwrite=False)

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OutputError, match="No space left"):
        write_archive(archive, KIND, {}, {}, overwrite=True)
    assert archive.read_bytes() == before
    assert os.listdir(archive.parent) == [archive.name]


def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    target, link = tmp_path / "inner" / "space.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    for number in (1.0, 2.0):  # a link to nothing makes the file it names
        write_space(WordSpace(["a"], [[number]]), link, overwrite=True)
        assert link.is_symlink()
        assert target.read_text() == f"1 1\na {number}\n"
    with pytest.raises(OutputError, match="exists"):
        write_space(WordSpace(["a"], [[3.0]]), link)
    circle = tmp_path / "circle.txt"
    circle.symlink_to(circle)
    with pytest.raises(OutputError, match="leads to itself"):
        write_space(WordSpace(["a"], [[3.0]]), circle, overwrite=True)


def test_the_mean_of_conflicting_labels_is_finite() -> None:
    entries = [
        ("a", 1.7e308),
        ("a", 1.6e308),
        ("a", 1.75e308),
        ("b", -1.7e308),
        ("b", -1.6e308),
        ("c", 1.0),
        ("c", 2.0),
    ]
    lexicon = Lexicon(entries, conflicts="mean")
    assert np.isfinite(list(lexicon.labels)).all()
    assert dict(lexicon.items())["c"] == 1.5


@pytest.mark.parametrize("content", ['"word"\t"label"\n"good"\t"1"\n"a ""b"""\t"-1"\n', '"good" 1\n"a ""b""" -1\n'])
def test_quoted_fields_lose_their_quotes(content: str, tmp_path: Path) -> None:
    path = tmp_path / "quoted.tsv"
    path.write_text(content)
    assert dict(Lexicon.read(path).items()) == {"good": 1.0, 'a "b"': -1.0}
    path.write_text("\"\t1\n'\t-1\n")
    assert dict(Lexicon.read(path).items()) == {'"': 1.0, "'": -1.0}


def test_few_numbers_between_commas_need_column_names(tmp_path: Path) -> None:
    path = tmp_path / "vectors.csv"
    path.write_text("".join(f"w{row}," + ",".join(["0.5"] * 7) + "\n" for row in range(5)))
    with pytest.raises(DensRayError, match="Begin with a line such as word,d0,d1,d2"):
        read_space(path)


def test_a_lock_is_free_again_when_its_handle_is_closed(tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="this platform has no locks")
    path = tmp_path / "locked"
    with path.open("ab") as other:
        with path.open("ab") as first:
            assert try_lock(first.fileno())
            assert not try_lock(other.fileno())
        assert try_lock(other.fileno())
    with folder_lock(tmp_path), pytest.raises(BlockingIOError), folder_lock(tmp_path, wait=False):
        pass
    with folder_lock(tmp_path, wait=False):
        pass


def test_without_locks_everyone_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with (tmp_path / "a").open("ab") as first, (tmp_path / "a").open("ab") as other:
        assert try_lock(first.fileno())
        assert try_lock(other.fileno())
