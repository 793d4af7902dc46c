"""Files are known by what they hold, closed again, and named in words that suit Python, browser and terminal."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from densray import MeanDifference, WordSpace, save_rotation
from densray._files import ArchiveKind, archive_digest, kind_of, read_archive, write_archive
from densray.errors import OutputError, PersistenceError
from densray.formats import write_space


def test_an_archive_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[zipfile.ZipFile] = []

    class Watched(zipfile.ZipFile):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)
            opened.append(self)

    space = WordSpace(["a", "b"], np.eye(2))
    fitted = MeanDifference().fit(space.vectors, [1, -1])
    files = {"axis": save_rotation(fitted, tmp_path / "axis.npz"), "space": write_space(space, tmp_path / "space.npz")}
    monkeypatch.setattr("densray._files.zipfile.ZipFile", Watched)
    assert {kind: kind_of(path) for kind, path in files.items()} == {"axis": "axis", "space": "space"}
    assert [archive.fp for archive in opened] == [None, None]


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
