"""Bad input by the thousand ends in a right result or in a named error of at most 300 letters, and in nothing else."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attacks import ATTACKS as ON_FILES
from attacks_on_inputs import ATTACKS_ON_INPUTS
from attacks_on_programs import ATTACKS_ON_PROGRAMS
from attacks_on_writers import ATTACKS_ON_WRITERS, can_mount
from densray._files import _HOST
from densray.errors import OutputError
from densray.formats import write_space
from densray.space import WordSpace

ATTACKS = {**ON_FILES, **ATTACKS_ON_INPUTS, **ATTACKS_ON_PROGRAMS, **ATTACKS_ON_WRITERS}


def _skip_what_is_not_here(name: str, folder: Path) -> None:
    if name == "full disks" and not can_mount(folder):
        pytest.skip("a small disk can be mounted only on Linux, and only by root")
    if name in ("kills", "two writers") and not hasattr(os, "fork"):
        pytest.skip("writers are copies of a process")
    if name == "labels":
        pytest.importorskip("pandas", reason="pandas is not installed")
    if name == "addresses":
        pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
    if name == "command lines" and not hasattr(signal, "SIGPROF"):
        pytest.skip("interrupts commands that were asked for too much by a signal")


@pytest.mark.parametrize("name", ATTACKS)
def test_a_sample_of_every_attack_is_handled(name: str, tmp_path: Path) -> None:
    _skip_what_is_not_here(name, tmp_path)
    attack, _, sample = ATTACKS[name]
    campaign = attack(sample, tmp_path, seed=1)  # another seed than that of the slow run
    assert campaign.mishandled == []
    assert campaign.tried == sample or (name == "downloads" and campaign.tried >= sample)
    if name not in ("addresses", "labels", "lexicons", *ATTACKS_ON_WRITERS):
        assert campaign.refused > sample / 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_is_handled(name: str, tmp_path: Path) -> None:
    _skip_what_is_not_here(name, tmp_path)
    attack, count, _ = ATTACKS[name]
    campaign = attack(count, tmp_path)
    assert campaign.mishandled == []
    assert campaign.tried >= count


# What killed writers leave


def _parts(folder: Path) -> list[Path]:
    return list(folder.glob(".*.part"))


@pytest.mark.skipif(os.name != "posix", reason="asks the system whether a process is running")
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
    with pytest.raises(OutputError, match=r"No space left on device\. The old content is unchanged"):
        write_space(WordSpace(["c"], [[1.0]]), path, overwrite=True)
    assert path.read_bytes() == before
    assert _parts(tmp_path) == []
