"""Bad input by the thousand ends in a result or in a named error of at most 300 letters, and in nothing else."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from attacks import ATTACKS as ON_FILES
from attacks_on_programs import ATTACKS_ON_PROGRAMS
from densray._files import _HOST
from densray.errors import OutputError
from densray.formats import read_space, write_space
from densray.space import WordSpace

ATTACKS = {**ON_FILES, **ATTACKS_ON_PROGRAMS}


def _skip_what_is_not_here(name: str) -> None:
    if name == "addresses":
        pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
    if name == "command lines" and not hasattr(signal, "SIGPROF"):
        pytest.skip("interrupts commands that were asked for too much by a signal")


@pytest.mark.parametrize("name", ATTACKS)
def test_a_sample_of_every_attack_is_handled(name: str, tmp_path: Path) -> None:
    _skip_what_is_not_here(name)
    attack, _, sample = ATTACKS[name]
    campaign = attack(sample, tmp_path, seed=1)  # another seed than that of the slow run
    assert campaign.mishandled == []
    assert campaign.refused > (0 if name == "addresses" else sample / 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_is_handled(name: str, tmp_path: Path) -> None:
    _skip_what_is_not_here(name)
    attack, count, _ = ATTACKS[name]
    campaign = attack(count, tmp_path)
    assert campaign.mishandled == []
    assert campaign.tried == count


# Writes under attack

_WRITER = """
import sys
from pathlib import Path
import numpy as np
from densray import WordSpace
from densray.formats import write_space
path, number = Path(sys.argv[1]), int(sys.argv[2])
space = WordSpace([f"w{i}" for i in range(4000)], np.full((4000, 300), number, dtype=np.float32))
print("ready", flush=True)
while True:
    write_space(space, path, overwrite=True)
"""


def _start_writer(path: Path, number: int) -> subprocess.Popen[str]:
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), str(number)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def _parts(folder: Path) -> list[Path]:
    return list(folder.glob(".*.part"))


def _end(*writers: subprocess.Popen[str]) -> None:
    for writer in writers:
        writer.kill()
        writer.wait()
        assert writer.stdout is not None
        writer.stdout.close()


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_the_partial_file_of_a_killed_write_goes_with_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "space.densray"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f".space.densray.{_HOST}-{ended.pid}-abcd1234.part"
    alive = tmp_path / f".space.densray.{_HOST}-{os.getpid()}-abcd1234.part"
    elsewhere = tmp_path / f".space.densray.ffffff-{ended.pid}-abcd1234.part"
    other = tmp_path / f".spaces.densray.{_HOST}-{ended.pid}-abcd1234.part"
    for part in (left, alive, elsewhere, other):
        part.write_bytes(b"half")
    write_space(WordSpace(["a"], [[1.0]]), path)
    assert sorted(_parts(tmp_path)) == sorted([alive, elsewhere, other])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_sixty_kills_at_random_moments_lose_no_file(tmp_path: Path) -> None:
    path, rng = tmp_path / "space.densray", np.random.default_rng(0)
    for number in range(60):
        before = path.read_bytes() if path.exists() else None
        writer = _start_writer(path, number)
        time.sleep(float(rng.uniform(0.0, 0.05)))
        _end(writer)
        if path.exists():
            (found,) = np.unique(read_space(path).vectors)  # one whole file, of this writer or an earlier one
            assert found <= number
        else:
            assert before is None
        assert len(_parts(tmp_path)) <= 1
    write_space(WordSpace(["a"], [[1.0]]), path, overwrite=True)
    assert _parts(tmp_path) == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_two_writers_of_one_file_leave_the_whole_file_of_one(tmp_path: Path) -> None:
    path = tmp_path / "space.densray"
    writers = [_start_writer(path, number) for number in (1, 2)]
    seen = set()
    while not path.exists():
        time.sleep(0.01)
    for _ in range(60):
        values = set(np.unique(read_space(path).vectors))
        assert len(values) == 1
        seen |= values
    _end(*writers)
    assert seen <= {1.0, 2.0}
    assert len(_parts(tmp_path)) <= 2


@pytest.mark.parametrize("ending", [".densray", ".txt", ".bin.gz", ".npz", ".parquet"])
def test_a_full_disk_is_named_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = tmp_path / f"space{ending}"
    write_space(WordSpace(["a", "b"], np.eye(2)), path)
    before = path.read_bytes()

    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)  # what a disk that fills up late says
    with pytest.raises(OutputError, match=r"No space left on device\. What was there is unchanged"):
        write_space(WordSpace(["c"], [[1.0]]), path, overwrite=True)
    assert path.read_bytes() == before
    assert _parts(tmp_path) == []
