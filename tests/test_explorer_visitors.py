"""Many visitors of a running explorer, over its own protocol: all are answered, and its memory stays as it is."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from attacks_on_programs import small_space
from browser import explorer
from densray.formats import write_space

pytest.importorskip("streamlit", reason="the extra `explore` (streamlit) is not installed")
client = pytest.importorskip("websockets.sync.client", reason="speaks to the server over a websocket")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads memory in /proc")]

#: A server that keeps few results, so that they are as many as may be kept after a few visits.
_KEEPS_LITTLE = (
    "from densray.cli.entry import main; from densray.explorer import workbench; "
    "workbench.LEAST_KEPT = 4 * 2**20; main()"
)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """The file of a small space, and its most frequent words."""
    found = small_space()
    path = write_space(found, tmp_path_factory.mktemp("visited") / "small.densray")
    return str(path), list(found.words[200:1000])


def views(words: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what visitors look at in turn: every page, with words that nobody has asked for before."""
    rng = np.random.default_rng(0)
    for page in itertools.cycle(
        ("", "analogies", "map", "", "remove", "analogies", "layers", "", "analogies", "compare")
    ):
        high, low = (" ".join(rng.choice(words, 6, replace=False)) for _ in range(2))
        query = str(rng.choice(words))
        yield page, {"high": high, "low": low, "query": query, "points": "500", "methods": "densray,ridge"}


class Visitor:
    """A connection to the explorer that opens addresses and counts what it is sent; browsers speak the same way."""

    def __init__(self, address: str) -> None:
        self._connection = client.connect(
            f"{address.replace('http', 'ws')}/_stcore/stream", origin=address, subprotocols=["streamlit"], max_size=None
        )
        self._socket = self._connection.__enter__()

    def look(self, page: str, settings: dict[str, str]) -> list[str]:
        """Open a page with these settings, wait until it is whole, and return the problems it shows."""
        from streamlit.proto.BackMsg_pb2 import BackMsg
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        asked = BackMsg()
        asked.rerun_script.query_string = urlencode(settings)
        asked.rerun_script.page_name = page
        self._socket.send(asked.SerializeToString())
        problems, deltas = [], 0
        while True:
            said = ForwardMsg()
            said.ParseFromString(self._socket.recv(timeout=240))
            kind = said.WhichOneof("type")
            deltas += kind == "delta"
            element: Any = said.delta.new_element if kind == "delta" else None
            if element is not None and element.WhichOneof("type") == "exception":
                problems.append(element.exception.message)
            if element is not None and element.WhichOneof("type") == "alert" and "A defect" in element.alert.body:
                problems.append(element.alert.body)
            if kind == "page_not_found":
                problems.append(f"no page {page}")
            if kind == "script_finished":
                return problems if deltas > 5 else [*problems, f"{page}: an empty page"]

    def leave(self) -> None:
        """Close the connection."""
        self._connection.__exit__(None, None, None)


def _memory(process: int) -> float:
    """Return the megabytes a process holds."""
    lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def _server(address: str) -> int:
    """Return the process that listens at an address: the one child of this process that names its port."""
    port = address.rsplit(":", 1)[1]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if port.encode() in command and b"explore" in command:
            return int(folder.name)
    raise AssertionError("the server is not there")


def test_thirty_visitors_at_once_are_all_answered(space: tuple[str, list[str]]) -> None:
    path, words = space
    with explorer(path) as address:
        together = threading.Barrier(30)

        def visit(number: int) -> list[str]:
            visitor = Visitor(address)
            together.wait(timeout=120)
            looked = itertools.islice(views(words), number, number + 3)
            problems = [problem for view in looked for problem in visitor.look(*view)]
            visitor.leave()
            return problems

        with ThreadPoolExecutor(30) as pool:
            assert [problem for found in pool.map(visit, range(30)) for problem in found] == []


def test_memory_stays_flat_over_five_hundred_interactions(space: tuple[str, list[str]]) -> None:
    before, held = measure_memory(*space, 500)
    assert max(held[-3:]) <= 1.05 * before, (before, held)


def measure_memory(path: str, words: list[str], interactions: int) -> tuple[float, list[float]]:
    """Return the megabytes a server holds after a hundred interactions of one visitor, and after each 50 more."""
    with explorer(path, program=("-c", _KEEPS_LITTLE)) as address:
        process, visitor, looked = _server(address), Visitor(address), views(words)
        held = []
        for number in range(1, 101 + interactions):
            assert visitor.look(*next(looked)) == []
            if number % 50 == 0:
                held.append(_memory(process))
                print(f"{number} interactions: {held[-1]:.0f} MB", flush=True)
        visitor.leave()
    return held[1], held[2:]
