"""Writers on a disk that fills up, killed at any moment, and against each other: the old file or the new one stays.

Every space writer overwrites one content with another that differs in words, numbers and shape. Whoever reads
afterwards, or meanwhile, must find one of them whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from attacks import Campaign
from densray.errors import OutputError
from densray.formats import FORMATS, read_space, write_space
from densray.space import WordSpace
from format_files import ENDING

#: One file name for every format, and one for every packing.
ENDINGS = [*(ENDING[kind] for kind in FORMATS), ".txt.gz", ".bin.bz2", ".glove.zst", ".vec.zip"]


def content(number: int, rows: int = 1_500, width: int = 48) -> WordSpace:
    """Return a space that tells its number in every word, every vector and its shape."""
    rows, width = rows + 10 * (number % 7), width + number % 5
    return WordSpace([f"{number}-{row}" for row in range(rows)], np.full((rows, width), number + 0.5, dtype=np.float32))


def number_of(space: WordSpace) -> int:
    """Return the number of a content; a mixture of two is a failed assertion."""
    number = int(space.words[0].partition("-")[0])
    expected = content(number)
    assert space.vectors.shape == expected.vectors.shape, f"{number} has the shape {space.vectors.shape}"
    assert list(space.words) == list(expected.words), f"{number} has the words of another"
    values = set(np.unique(space.vectors).tolist())
    assert values == {number + 0.5}, f"{number} has the numbers {sorted(values)[:3]}"
    return number


# Full disks


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int = 1) -> Iterator[Path]:
    """Give a folder on a disk of its own; needs the right to mount one (see `can_mount`)."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    """Return whether this process may mount a small disk."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    try:
        with small_disk(folder / "probe"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def attack_full_disks(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Overwrite a file where there is not enough room, or only just; needs the right to mount a disk."""
    campaign, rng = Campaign("writes to a disk that fills up", seed), np.random.default_rng(seed)
    with small_disk(folder / "disk") as disk:
        for number in range(count):
            for each in disk.iterdir():
                each.unlink()
            path = disk / f"space{ENDINGS[number % len(ENDINGS)]}"
            write_space(content(1), path)
            size = sum(each.stat().st_size for each in disk.iterdir())
            free = int(rng.uniform(0, 1.6) * size)
            state = os.statvfs(disk)
            (disk / "ballast").write_bytes(b"\1" * max(0, state.f_bavail * state.f_frsize - free))

            def write() -> None:
                refusal = None
                try:
                    write_space(content(2), path, overwrite=True)  # noqa: B023
                except OutputError as error:
                    refusal = error
                parts = list(disk.glob(".*.part"))
                assert not parts, f"{parts} stay"
                found = number_of(read_space(path))  # noqa: B023
                assert found == (2 if refusal is None else 1), f"content {found} after {refusal}"
                if refusal is not None:
                    assert "unchanged" in str(refusal), "the message does not say that the old file is unchanged"
                    raise refusal

            campaign.attempt(f"{path.name} #{number}, {free:,} bytes free", write)
    return campaign


# Writers that are killed, and writers against each other

_SERVER = """
import importlib, json, os, signal, sys
sys.path.insert(0, sys.argv[1])
import densray.formats, polars, safetensors  # imported once: a writer is a copy of this process
names = vars(importlib.import_module(sys.argv[2]))
print("ready", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "kill" in asked:
        os.kill(asked["kill"], signal.SIGKILL)
    if "code" not in asked:
        print(os.waitstatus_to_exitcode(os.waitpid(asked.get("kill") or asked["wait"], 0)[1]), flush=True)
        continue
    child = os.fork()
    if not child:
        sys.stdin.close()
        for stream in (1, 2):
            os.dup2(os.open(asked["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        try:
            exec(asked["code"], {**names, **asked["values"]})
        except SystemExit as ended:
            os._exit(ended.code)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
"""


class Processes:
    """Copies of a process that has imported a test module; each runs some code of it until it ends or is killed."""

    def __init__(self, module: str, folder: Path) -> None:
        self._module, self._folder = module, folder
        self._running: list[int] = []

    def __enter__(self) -> Processes:
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(Path(__file__).parent), self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"
        return self

    def __exit__(self, *given: object) -> None:
        self.kill()
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def start(self, code: str, **values: object) -> int:
        """Start a process that runs `code`, with names of the module and some values; return its number."""
        self._running.append(int(self._ask(code=code, values=values, said=str(self._folder / "said"))))
        return self._running[-1]

    def kill(self, *processes: int) -> None:
        """Kill some processes, or all, with a signal that cannot be caught."""
        for process in processes or tuple(self._running):
            self._ask(kill=process)
            self._running.remove(process)

    def wait(self, process: int) -> tuple[int, str]:
        """Wait for the end of a process; return its exit code and what all of them have said so far."""
        code = int(self._ask(wait=process))
        self._running.remove(process)
        return code, (self._folder / "said").read_text(encoding="utf-8")

    def _ask(self, **question: object) -> str:
        assert self._server.stdin is not None
        self._server.stdin.write(f"{json.dumps(question)}\n")
        self._server.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline().strip()


_OVERWRITE = """
spaces = [content(number) for number in numbers]
while True:
    for space in spaces:
        write_space(space, Path(path), overwrite=True)
"""


def attack_by_kills(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Kill writers at random moments, then read what is there."""
    campaign, rng = Campaign("writers killed at random moments", seed), np.random.default_rng(seed)
    with Processes("attacks_on_writers", _said(folder)) as writers:
        for number in range(count):
            path = folder / f"space{ENDINGS[number % len(ENDINGS)]}"
            if not path.exists():
                write_space(content(0), path, overwrite=True)
            writers.start(_OVERWRITE, path=str(path), numbers=[number * 3 + step for step in range(1, 4)])
            time.sleep(float(rng.uniform(0.0, 0.06)))
            writers.kill()

            def read() -> None:
                found = number_of(read_space(path))  # noqa: B023
                assert found <= number * 3 + 3, f"{found} was never written"  # noqa: B023

            _attempt_to_read(campaign, f"{path.name} #{number}", read, path)
    for ending in ENDINGS:
        path = folder / f"space{ending}"
        if path.exists():
            write_space(content(1), path, overwrite=True)
    left = sorted(each.name for each in folder.iterdir() if re.search(r"\.part$|\.words\..+\.txt$", each.name))
    if left:
        campaign.wrong.append(f"left by killed writers, and not removed by later ones: {left[:3]}")
    return campaign


def attack_by_writers(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Read a file again and again while two writers replace it."""
    campaign = Campaign("reads while two writers replace the file", seed)
    each = max(1, count // len(ENDINGS))
    with Processes("attacks_on_writers", _said(folder)) as writers:
        for ending in ENDINGS:
            path = folder / f"space{ending}"
            write_space(content(0), path)
            for numbers in ([1, 2], [3, 4, 5]):
                writers.start(_OVERWRITE, path=str(path), numbers=numbers)
            for number in range(each):
                _attempt_to_read(campaign, f"{path.name} #{number}", lambda: number_of(read_space(path)), path)  # noqa: B023
            writers.kill()
    return campaign


def _said(folder: Path) -> Path:
    """Return a folder for what writers say."""
    (folder / "said").mkdir(exist_ok=True)
    return folder / "said"


def _attempt_to_read(campaign: Campaign, what: str, read: Callable[[], object], path: Path) -> None:
    """Count a refusal as wrong: a whole file was always there."""
    refused = campaign.refused
    campaign.attempt(what, read, path=path)
    if campaign.refused > refused:
        campaign.wrong.append(f"{what}: refused, and a whole file was there")


ATTACKS_ON_WRITERS: dict[str, tuple[Callable[..., Campaign], int, int]] = {
    "full disks": (attack_full_disks, 260, 26),
    "kills": (attack_by_kills, 650, 13),
    "two writers": (attack_by_writers, 2_600, 26),
}
"""Each attack, how much the slow run tries, and how much the default run."""
