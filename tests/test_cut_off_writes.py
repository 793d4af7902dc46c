"""Writes that are killed, meet a full disk or a second writer: what is read is the old content or the new, never both.

Parts of interrupted runs (checkpoints among them), axes and erasures with their cards, interventions, lexicons, pages,
hidden states, downloads, unpacked archives and whole commands; spaces are in `tests/test_attacks.py`.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import polars as pl
import pytest

from attacks_on_writers import Processes
from densray import Axis, DensRay, Erasure, MeanDifference, WordSpace
from densray.axes import Induction, rank_words
from densray.axes._axis import _KIND
from densray.cli.entry import run
from densray.cli.terminal import write_report as write_page_of
from densray.datasets._fetch import download, unpack
from densray.errors import DataError, DensRayError, OutputError
from densray.formats import read_space, write_space
from densray.journal import Journal, read_part, write_part
from densray.persistence import read_tensors
from densray.scale import fit_blocks
from densray.states import Intervention, LayerChange, States
from densray.states._storage import StatesInFolder, states_header

WIDTH, N_TEXTS, BLOCK, WIDE = 64, 200, 20, 4_000
ROWS = np.random.default_rng(0).normal(size=(2, N_TEXTS, WIDTH)).astype(np.float32)
CONTENT = bytes(range(256)) * 2048  # 512 KiB


def turned(number: int) -> MeanDifference:
    """Return a rotation whose only axis is one coordinate: that of a number."""
    row = np.zeros((1, WIDE))
    row[0, number] = 1.0
    return MeanDifference(1).fit(np.vstack([row, -row]), [1, -1])


def write_axis(path: Path, number: int, *, card: bool = False) -> None:
    replace(Axis.of(turned(number)), concept=str(number)).save(path, overwrite=True, judge=False, card=card)


def read_axis(path: Path) -> set[int]:
    axis = Axis.load(path)
    return {int(axis.concept), int(np.argmax(axis.direction))}


def write_erasure(path: Path, number: int, *, card: bool = False) -> None:
    origin = np.full(WIDE, float(number))
    Erasure.of(turned(number), origin=origin, method=str(number)).save(path, overwrite=True, card=card)


def read_erasure(path: Path) -> set[int]:
    erasure = Erasure.load(path)
    return {int(erasure.method), int(np.argmax(np.abs(erasure.right))), *map(int, np.unique(erasure.origin))}


def read_card(path: Path) -> set[int]:
    """Return the number of a file, which its card names by its digest or not at all."""
    card = path.with_name("README.md").read_text(encoding="utf-8")
    assert card.startswith("# ")
    assert card.splitlines()[-1].startswith(f"Digest of `{path.name}`: `")
    return read_axis(path) if path.name.startswith("axis") else read_erasure(path)


def write_intervention(path: Path, number: int) -> None:
    change = {1: LayerChange.along(np.full(WIDE, float(number)))}
    Intervention("add", change, name=str(number)).save(path, overwrite=True)


def read_intervention(path: Path) -> set[int]:
    loaded = Intervention.load(path)
    return {int(loaded.name), *map(int, np.unique(loaded.changes[1].right))}


def write_lexicon(path: Path, number: int) -> None:
    induced(number).write(path, overwrite=True)


@cache
def induced(number: int) -> Induction:
    words = [f"{number}-{row}" for row in range(2_000 + number)]
    space = WordSpace(words, np.full((len(words), 2), number + 1.0, dtype=np.float32))
    return rank_words(Axis.of(MeanDifference(1).fit([[1.0, 0], [-1.0, 0]], [1, -1]), normalize=False), space)


def read_lexicon(path: Path) -> set[int]:
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path.read_bytes())
    else:
        frame = pl.read_csv(path.read_bytes(), separator="\t" if path.suffix == ".tsv" else ",")
    (score,) = frame["score"].unique().to_list()
    numbers = {int(word.partition("-")[0]) for word in frame["word"]}
    return {*numbers, round(score) - 1, len(frame) - 2_000}


def write_report(path: Path, number: int) -> None:
    write_page_of(path, f"page {number}", induced(number), lambda result: [], overwrite=True, quiet=True)


def read_report(path: Path) -> set[int]:
    page = path.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    named = re.findall(r"<title>page (\d+)</title>", page) + re.findall(r">(\d+)-\d+<", page)
    assert len(named) > 10
    return set(map(int, named))


def write_journal(path: Path, number: int) -> None:
    write_part(path, "numbers", np.full(WIDE, float(number)))


def read_journal(path: Path) -> set[int]:
    return set(map(int, np.unique(read_part(path, "numbers"))))


#: What writes one number many times to a file of a name, and what reads all numbers that are in it.
WRITERS: dict[str, tuple[Callable[[Path, int], None], Callable[[Path], set[int]]]] = {
    "part.npz": (write_journal, read_journal),
    "change.safetensors": (write_intervention, read_intervention),
    "axis.safetensors": (write_axis, read_axis),
    "axis-with-card.safetensors": (partial(write_axis, card=True), read_card),
    "erasure.safetensors": (write_erasure, read_erasure),
    "erasure-with-card.safetensors": (partial(write_erasure, card=True), read_card),
    "lexicon.csv": (write_lexicon, read_lexicon),
    "lexicon.tsv": (write_lexicon, read_lexicon),
    "lexicon.parquet": (write_lexicon, read_lexicon),
    "page.html": (write_report, read_report),
}


def write_numbers(path: Path, number: int) -> None:
    WRITERS[path.name][0](path, number)


def read_numbers(path: Path) -> set[int]:
    return WRITERS[path.name][1](path)


def files_of(name: str) -> list[str]:
    return [*(["README.md"] if "card" in name else []), name]


@pytest.fixture(params=WRITERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


#: The default run kills writers of these; the slow run those of all.
QUICK = ("part.npz", "axis-with-card.safetensors", "lexicon.parquet")
killed = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in WRITERS]
)


def header() -> dict[str, Any]:
    return states_header(
        model="tiny", checksum="c", layers=[0, 5], width=WIDTH, dtype="float32", pool="last", tokens="t",
        added_first_token=False, texts=[f"text {number}" for number in range(N_TEXTS)],
    )  # fmt: skip


def write_states(folder: Path, pause: float = 0.0) -> None:
    """Write states block by block, from where the folder stands."""
    with StatesInFolder(folder, header()) as target:
        for start in range(target.finished, N_TEXTS, BLOCK):
            target.write(start, ROWS[:, start : start + BLOCK])
            time.sleep(pause)


def check_states(folder: Path) -> None:
    states = States.open(folder)
    for place, layer in enumerate(states.layers):
        np.testing.assert_array_equal(states[layer], ROWS[place])


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server of one file, which it sends in some tenths of a second, and which knows ranges and versions."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
            self.send_response(206 if start else 200)
            self.send_header("ETag", '"one"')
            self.send_header("Content-Length", str(len(CONTENT) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
            self.end_headers()
            try:
                for place in range(start, len(CONTENT), 1 << 14):
                    self.wfile.write(CONTENT[place : place + (1 << 14)])
                    time.sleep(0.01)
            except OSError:
                pass  # whoever asked was killed

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/a.bin"
    server.shutdown()
    thread.join()
    server.server_close()


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 640 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=640k", "tmpfs", str(folder)]
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not is_root or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small disk (tmpfs)")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, leave: int) -> Path:
    """Fill a disk but for some bytes; return the file to remove."""
    filler = folder / "filler"
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    filler.write_bytes(bytes(max(free - leave, 0)))
    return filler


def test_a_full_disk_leaves_the_old_file(small_disk: Path, name: str) -> None:
    path = small_disk / name
    write_numbers(path, 1)
    before = {each.name: each.read_bytes() for each in small_disk.iterdir()}
    filler = fill(small_disk, path.stat().st_size // 2)
    with pytest.raises(OutputError, match="No space left"):
        write_numbers(path, 2)
    filler.unlink()
    assert {each.name: each.read_bytes() for each in small_disk.iterdir()} == before
    write_numbers(path, 2)
    assert read_numbers(path) == {2}


def test_a_fit_on_a_full_disk_leaves_its_earlier_checkpoint(small_disk: Path) -> None:
    random, path = np.random.default_rng(0), small_disk / "fit.npz"
    X, y = random.normal(size=(400, 100)), np.tile([1, -1], 200)
    blocks = [(X[start : start + 100], y[start : start + 100]) for start in range(0, 400, 100)]
    fit_blocks(DensRay(1), blocks[:2], checkpoint=path)
    before = path.read_bytes()
    filler = fill(small_disk, 10_000)
    with pytest.raises(OutputError, match="No space left"):
        fit_blocks(DensRay(1), blocks, checkpoint=path, interval=0)
    assert path.read_bytes() == before
    filler.unlink()
    resumed = fit_blocks(DensRay(1), blocks, checkpoint=path)
    np.testing.assert_array_equal(resumed.components_, fit_blocks(DensRay(1), blocks).components_)


def test_states_on_a_full_disk_keep_what_is_finished_and_resume(small_disk: Path) -> None:
    filler = fill(small_disk, 70_000)
    with pytest.raises(OutputError, match=r"could not be written .*texts are finished and stay"):
        write_states(small_disk / "states")
    with pytest.raises(DensRayError, match="its run was interrupted"):
        States.open(small_disk / "states")
    filler.unlink()
    write_states(small_disk / "states")
    check_states(small_disk / "states")


def test_a_download_on_a_full_disk_keeps_its_part_and_resumes(small_disk: Path, address: str) -> None:
    filler = fill(small_disk, 200_000)
    with pytest.raises(DataError, match="No space left"):
        download(address, small_disk / "a.bin")
    assert not (small_disk / "a.bin").exists()
    filler.unlink()
    assert download(address, small_disk / "a.bin").read_bytes() == CONTENT


# Platforms


def test_every_writer_works_without_calls_that_only_posix_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As on Windows: no locks, no positioned writes, no advice about memory, and a folder cannot be opened."""
    opened = os.open

    def open_files_only(path: Any, *args: Any, **options: Any) -> int:
        if os.path.isdir(path) and not args[0] & getattr(os, "O_TMPFILE", 0):
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **options)

    for missing in ("pwrite", "pread", "fork", "sched_getaffinity"):
        monkeypatch.delattr(os, missing, raising=False)
    monkeypatch.delattr(mmap, "MADV_DONTNEED", raising=False)
    monkeypatch.setattr(os, "open", open_files_only)
    for module in ("fcntl", "resource", "termios"):
        monkeypatch.setitem(sys.modules, module, None)
    for number in (1, 2):
        write_numbers(tmp_path / name, number)
        assert read_numbers(tmp_path / name) == {number}
    write_space(WordSpace(["a"], [[1.0]]), tmp_path / "space.npy")
    assert list(read_space(tmp_path / "space.npy").words) == ["a"]


# Kills and second writers

on_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="starts copies of a process, and kills them")


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with Processes("test_cut_off_writes", tmp_path_factory.mktemp("said")) as started:
        yield started


def kill_at_random(
    processes: Processes, code: str, check: Callable[[int], None], count: int, seconds: float = 0.1, **values: object
) -> None:
    """Start a process that runs some code, kill it, check what is there, and so on; `number` counts them from 1."""
    random = np.random.default_rng(5)
    for number in range(1, count + 1):
        started = processes.start(code, number=number, **values)
        time.sleep(float(random.uniform(0.0, seconds)))
        processes.kill(started)
        check(number)


@pytest.mark.slow
@on_posix
@killed
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path: Path, name: str, processes: Processes) -> None:
    path = tmp_path / name
    write_numbers(path, 1)

    def check(number: int) -> None:
        (found,) = read_numbers(path)
        assert found <= number

    code = "while True: write_numbers(Path(path), number)"
    kill_at_random(processes, code, check, 8, path=str(path))
    write_numbers(path, 20)
    assert read_numbers(path) == {20}
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(files_of(name))


@on_posix
@killed
def test_of_two_writers_a_reader_finds_one_file_whole(tmp_path: Path, name: str, processes: Processes) -> None:
    path = tmp_path / name
    write_numbers(path, 1)
    code = "while True: write_numbers(Path(path), number)"
    writers = [processes.start(code, path=str(path), number=number) for number in (1, 2)]
    seen = [read_numbers(path) for _ in range(30)]
    processes.kill(*writers)
    assert all(len(numbers) == 1 for numbers in seen)
    assert set().union(*seen) <= {1, 2}


@pytest.mark.slow
@on_posix
def test_a_card_names_the_file_it_describes(tmp_path: Path, processes: Processes) -> None:
    """Two files cannot be replaced at one moment: a card that was left behind has another digest."""
    path = tmp_path / "axis-with-card.safetensors"

    def check(number: int) -> None:
        if path.exists():
            lines = path.with_name("README.md").read_text(encoding="utf-8").splitlines()
            digest = read_tensors(path, _KIND).values["digest"]
            assert (lines[0] == f"# {min(read_numbers(path))}") == (lines[-1] == f"Digest of `{path.name}`: `{digest}`")

    kill_at_random(processes, "while True: write_numbers(Path(path), number)", check, 10, path=str(path))


# Whole commands

WORDS = [f"{end}{number}" for number in range(30) for end in ("good", "bad")]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a space and a lexicon."""
    folder, random = tmp_path_factory.mktemp("inputs"), np.random.default_rng(0)
    words = WORDS + [f"word{number}" for number in range(1_500)]
    vectors = random.normal(size=(len(words), 24)).astype(np.float32)
    vectors[: len(WORDS), 0] += np.tile([2.0, -2.0], 30)
    write_space(WordSpace(words, vectors), folder / "space.txt")
    lines = [f"{word}\t{1 if word.startswith('good') else -1}\n" for word in WORDS]
    (folder / "words.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


#: The arguments of a command, and the files it writes.
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "induce": (
        ["induce", "space.txt", "words.tsv", "-o", "out.tsv", "--report", "page.html"],
        ["out.tsv", "page.html"],
    ),
    "fit": (["fit", "space.txt", "words.tsv", "-o", "axis.safetensors", "--card"], ["axis.safetensors", "README.md"]),
    "erase": (
        ["erase", "space.txt", "words.tsv", "-o", "erased.txt", "--save-erasure", "erasure.safetensors"],
        ["erased.txt", "erasure.safetensors"],
    ),
}


def arguments_of(command: str, inputs: Path, folder: Path) -> list[str]:
    given, written = COMMANDS[command]
    places = {name: str(inputs / name) for name in ("space.txt", "words.tsv")}
    places |= {name: str(folder / name) for name in written}
    return [*(places.get(argument, argument) for argument in given), "--overwrite", "--quiet"]


def run_command(arguments: list[str]) -> None:
    raise SystemExit(run(arguments))


def check_output(path: Path, whole: bytes) -> None:
    """Raise unless a file is the whole output of a command, but for times and seeds of the run."""
    if path.suffix == ".safetensors":
        (Axis if path.name.startswith("axis") else Erasure).load(path)
    elif path.suffix in (".html", ".md"):
        text = path.read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>" if path.suffix == ".html" else "`")
    else:
        assert path.read_bytes() == whole


@on_posix
@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=() if name == "fit" else pytest.mark.slow) for name in COMMANDS]
)
def test_a_killed_command_leaves_whole_files_and_the_next_one_ends_well(
    command: str, inputs: Path, tmp_path: Path, processes: Processes
) -> None:
    arguments, written = arguments_of(command, inputs, tmp_path), COMMANDS[command][1]
    code = "run_command(arguments)"
    began = time.monotonic()
    said = processes.wait(processes.start(code, arguments=arguments))
    seconds = time.monotonic() - began
    assert said[0] == 0, said
    wholes = {name: (tmp_path / name).read_bytes() for name in written}

    def check(number: int) -> None:
        for name, whole in wholes.items():
            check_output(tmp_path / name, whole)

    kill_at_random(processes, code, check, 2 if command == "fit" else 5, 1.1 * seconds, arguments=arguments)
    assert processes.wait(processes.start(code, arguments=arguments))[0] == 0
    check(0)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(written)


@on_posix
@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=() if name == "fit" else pytest.mark.slow) for name in COMMANDS]
)
def test_a_command_on_a_full_disk_says_so_and_keeps_the_old_files(
    command: str, inputs: Path, small_disk: Path, processes: Processes
) -> None:
    arguments, written = arguments_of(command, inputs, small_disk), COMMANDS[command][1]
    for name in written:
        (small_disk / name).write_bytes(b"old")
    filler = fill(small_disk, 2_000)
    code, said = processes.wait(processes.start("run_command(arguments)", arguments=arguments))
    assert code == 2, said
    assert "No space left" in said.splitlines()[-1]
    filler.unlink()
    left = {each.name: each.read_bytes() for each in small_disk.iterdir()}
    assert set(left) == set(written)
    assert b"old" in left.values()
    for content in left.values():
        assert content == b"old" or len(content) > 500


# Journals, states, downloads and unpacked archives


@on_posix
def test_killed_runs_of_a_journal_compute_the_same(tmp_path: Path, processes: Processes) -> None:
    folder = tmp_path / "journal"
    code = "journal_of(Path(path))"
    kill_at_random(processes, code, lambda number: None, 6, path=str(folder))
    journal, values = journal_of(folder)
    assert values == [{number} for number in range(40)]
    journal.clear()
    assert not folder.exists() or not [each for each in folder.iterdir() if not each.name.endswith(".part")]


def journal_of(folder: Path) -> tuple[Journal, list[set[float]]]:
    """Run forty parts with a journal."""
    journal = Journal(folder)
    run_of_parts = journal.run("numbers", WIDE)
    parts = [run_of_parts.part(str(number), partial(np.full, WIDE, float(number))) for number in range(40)]
    return journal, [set(np.unique(part).tolist()) for part in parts]


@pytest.mark.slow
@on_posix
def test_killed_readings_of_states_resume_to_the_same_bits(tmp_path: Path, processes: Processes) -> None:
    def check(number: int) -> None:
        try:
            check_states(tmp_path / "states")
        except DensRayError:
            assert not (tmp_path / "states" / "states.json").exists() or "blocks" not in json.loads(
                (tmp_path / "states" / "states.json").read_text(encoding="utf-8")
            )

    kill_at_random(processes, "write_states(Path(path), pause=0.01)", check, 4, path=str(tmp_path / "states"))
    write_states(tmp_path / "states")
    check_states(tmp_path / "states")
    assert not list((tmp_path / "states").glob(".*.part"))


@pytest.mark.slow
@on_posix
def test_of_two_processes_that_write_states_one_is_refused(tmp_path: Path, processes: Processes) -> None:
    code = "write_states(Path(path), pause=0.02)"
    ends = [processes.wait(each) for each in [processes.start(code, path=str(tmp_path / "states")) for _ in range(2)]]
    assert 0 in [code for code, _ in ends]
    if any(code for code, _ in ends):
        assert "another run is writing" in ends[-1][1]
    check_states(tmp_path / "states")


@on_posix
def test_killed_downloads_resume_to_the_whole_file(tmp_path: Path, address: str, processes: Processes) -> None:
    target = tmp_path / "a.bin"

    def check(number: int) -> None:
        assert not target.exists() or target.read_bytes() == CONTENT

    kill_at_random(processes, "download(address, Path(path))", check, 4, path=str(target), address=address)
    assert download(address, target).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.slow
@on_posix
def test_two_processes_that_download_one_file_leave_the_whole_file(
    tmp_path: Path, address: str, processes: Processes
) -> None:
    target = tmp_path / "a.bin"
    code = "download(address, Path(path))"
    started = [processes.start(code, path=str(target), address=address) for _ in range(3)]
    assert 0 in [processes.wait(each)[0] for each in started]
    assert target.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@on_posix
def test_a_killed_unpacking_leaves_the_whole_folder_or_none(tmp_path: Path, processes: Processes) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(200):
            archive.writestr(f"in/{number}.txt", str(number) * 500)

    def check(number: int) -> None:
        if (tmp_path / "a").exists():
            assert len(list((tmp_path / "a").iterdir())) == 200
            shutil.rmtree(tmp_path / "a")

    code = "unpack(Path(path) / 'a.zip', Path(path) / 'a', strip='in')"
    kill_at_random(processes, code, check, 5, 0.03, path=str(tmp_path))
    unpack(tmp_path / "a.zip", tmp_path / "a", strip="in")
    check(0)
    assert [each.name for each in tmp_path.iterdir()] == ["a.zip"]
