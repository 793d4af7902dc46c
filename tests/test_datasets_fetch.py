"""Data sets that are fetched, against a server on this machine."""

from __future__ import annotations

import hashlib
import io
import logging
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from densray.datasets import DataFile, DataSet, fetch, path_of
from densray.datasets import _registry as places
from densray.datasets import _registry as registry
from densray.datasets._fetch import download, unpack
from densray.errors import DataError

CONTENT = bytes(range(256)) * 4096  # 1 MiB
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


class Server:
    """A small file server that counts requests, and can cut a connection or ignore ranges."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut_after: int | None = None
        self.ranges = True
        self.asked: list[str | None] = []
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/{name}"

    def stop(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                server.asked.append(wanted)
                body = server.files.get(self.path.lstrip("/"))
                if body is None:
                    self.send_error(404)
                    return
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.ranges else 0
                if start >= len(body) > 0:
                    self.send_error(416)
                    return
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(body) - start))
                self.end_headers()
                self.wfile.write(body[start:][: server.cut_after])

            def log_message(self, *args: object) -> None:
                pass

        return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, and an empty cache."""
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(places, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "data"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, DataSet]:
    """A registry of our own, to be filled."""
    entries: dict[str, DataSet] = {}
    monkeypatch.setattr(registry, "_registry", lambda: entries)
    return entries


def entry_of(*files: DataFile, name: str = "planets", path: str | None = None, **fields: object) -> DataSet:
    described = DataSet(
        name,
        "lexicon",
        "Planets",
        "https://example.org/planets",
        "CC0",
        "nobody",
        path or files[0].path,
        files,
    )
    return replace(described, **fields)  # type: ignore[arg-type]


def archive_of(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_good_download_is_whole_silent_and_counted(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server.files["a.bin"] = CONTENT
    seen: list[tuple[int, int | None]] = []
    path = download(
        server.url("a.bin"),
        tmp_path / "deep" / "a.bin",
        checksum=SHA256,
        progress=lambda done, total=None: seen.append((done, total)),
    )
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in path.parent.iterdir()] == ["a.bin"]
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert capfd.readouterr() == ("", "")


def test_a_cut_connection_keeps_its_part_and_the_next_call_asks_only_for_the_rest(
    server: Server, tmp_path: Path
) -> None:
    server.files["a.bin"] = CONTENT
    server.cut_after = 300_000
    target = tmp_path / "a.bin"
    with pytest.raises(DataError, match=r"2\d\d,\d+ bytes are kept in a.bin.part: run it again"):
        download(server.url("a.bin"), target, checksum=SHA256)
    assert not target.exists()
    server.cut_after = None
    kept = (tmp_path / "a.bin.part").stat().st_size
    seen: list[int] = []
    download(server.url("a.bin"), target, checksum=SHA256, progress=lambda done, total=None: seen.append(done))
    assert target.read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={kept}-"]
    assert kept < seen[0] < seen[-1] == len(CONTENT)


def test_a_server_without_ranges_sends_the_whole_again(server: Server, tmp_path: Path) -> None:
    server.files["a.bin"], server.ranges = CONTENT, False
    (tmp_path / "a.bin.part").write_bytes(b"stale")
    assert download(server.url("a.bin"), tmp_path / "a.bin", checksum=SHA256).read_bytes() == CONTENT


def test_a_part_that_is_already_whole_needs_no_byte_more(server: Server, tmp_path: Path) -> None:
    server.files["a.bin"] = CONTENT
    (tmp_path / "a.bin.part").write_bytes(CONTENT)
    assert download(server.url("a.bin"), tmp_path / "a.bin", checksum=SHA256).read_bytes() == CONTENT


def test_a_wrong_checksum_is_named_and_the_bad_file_removed(server: Server, tmp_path: Path) -> None:
    server.files["a.bin"] = CONTENT[:-1] + b"!"
    with pytest.raises(DataError, match=r"a\.bin: the downloaded file does not match its checksum sha256:"):
        download(server.url("a.bin"), tmp_path / "a.bin", checksum=SHA256)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_and_a_dead_server_say_what_to_place_where(
    server: Server, folder: Path, known: dict[str, DataSet]
) -> None:
    known["planets"] = entry_of(DataFile("lexicons/planets.tsv", url=server.url("planets.tsv")))
    place = rf"By hand: get it from http://\S+/planets.tsv and place it at {folder}/lexicons/planets.tsv"
    with pytest.raises(DataError, match=rf"404.*{place}"):
        fetch("planets")
    server.stop()
    with pytest.raises(DataError, match=rf"the download failed .*{place}"):
        fetch("planets")
    server.__init__()  # type: ignore[misc]  # so that the fixture has something to stop


def test_fetch_downloads_once_into_the_data_folder(server: Server, folder: Path, known: dict[str, DataSet]) -> None:
    server.files["planets.tsv"] = CONTENT
    known["planets"] = entry_of(DataFile("lexicons/planets.tsv", server.url("planets.tsv"), len(CONTENT), SHA256))
    with pytest.raises(DataError, match=r"not on this machine. Run `densray data fetch planets`"):
        path_of("planets")
    assert fetch("planets") == folder / "lexicons" / "planets.tsv" == path_of("planets")
    fetch("planets")
    assert len(server.asked) == 1


def test_a_set_of_several_files_is_a_folder_and_goes_on_where_it_stopped(
    server: Server, folder: Path, known: dict[str, DataSet]
) -> None:
    files = [DataFile(f"lexicons/planets/{side}.txt", server.url(f"{side}.txt")) for side in ("in", "out")]
    known["planets"] = entry_of(*files, path="lexicons/planets")
    server.files["in.txt"] = b"venus"
    with pytest.raises(DataError, match="404"):
        fetch("planets")
    server.files["out.txt"] = b"mars"
    assert fetch("planets") == folder / "lexicons" / "planets"
    assert len(server.asked) == 3  # in, out (404), out: never in again


@pytest.mark.parametrize("place", ["lexicons/planets/planets.tsv.gz", "planets.tsv.gz", "planets.tsv"])
def test_a_file_placed_by_hand_is_used_without_a_network(folder: Path, known: dict[str, DataSet], place: str) -> None:
    file = DataFile("lexicons/planets/planets.tsv.gz", "http://127.0.0.1:9/none", also=("planets.tsv",))
    known["planets"] = entry_of(file)
    (folder / place).parent.mkdir(parents=True)
    (folder / place).write_bytes(b"x")
    assert fetch("planets") == path_of("planets") == folder / place


def test_a_file_of_another_size_placed_by_hand_is_used_with_a_warning(
    folder: Path, known: dict[str, DataSet], caplog: pytest.LogCaptureFixture
) -> None:
    known["planets"] = entry_of(DataFile("planets.tsv", size=5))
    folder.mkdir()
    (folder / "planets.tsv").write_bytes(b"x")
    with caplog.at_level(logging.WARNING):
        assert path_of("planets") == folder / "planets.tsv"
    assert "has 1 bytes, not 5" in caplog.text


def test_a_set_given_out_by_hand_names_its_home_page(folder: Path, known: dict[str, DataSet]) -> None:
    known["planets"] = entry_of(DataFile("planets.tsv"))
    with pytest.raises(DataError, match=r"cannot be downloaded directly.*https://example.org/planets"):
        fetch("planets")


def test_an_archive_is_unpacked_into_its_folder(server: Server, folder: Path, known: dict[str, DataSet]) -> None:
    server.files["p.zip"] = archive_of(**{"P_1/inner/venus.txt": b"hot", "P_1/mars.txt": b"cold", "other": b""})
    file = DataFile("planets.zip", server.url("p.zip"))
    known["planets"] = entry_of(file, path="analogies/planets", unpacked=True, strip="P_1")
    unpacked = fetch("planets")
    assert unpacked == folder / "analogies" / "planets"
    assert sorted(path.name for path in unpacked.rglob("*.txt")) == ["mars.txt", "venus.txt"]
    assert (unpacked / "inner" / "venus.txt").read_bytes() == b"hot"


def test_one_member_of_an_archive_is_taken_and_checked(server: Server, folder: Path, known: dict[str, DataSet]) -> None:
    server.files["p.zip"] = archive_of(**{"P/planets.bin": CONTENT})
    file = DataFile("lexicons/planets.bin", server.url("p.zip"), checksum=SHA256, member="P/planets.bin")
    known["planets"] = entry_of(file)
    assert fetch("planets").read_bytes() == CONTENT
    assert [path.name for path in (folder / "lexicons").iterdir()] == ["planets.bin"]
    (folder / "lexicons" / "planets.bin").unlink()
    server.files["p.zip"] = archive_of(**{"P/planets.bin": b"forged"})
    with pytest.raises(DataError, match=r"'P/planets.bin' does not match its checksum and was removed"):
        fetch("planets")
    assert list((folder / "lexicons").iterdir()) == []


@pytest.mark.parametrize("name", ["../out.txt", "/out.txt", "a/../../out.txt", "..\\out.txt", "C:/out.txt"])
def test_a_member_that_leaves_its_folder_refuses_the_whole_archive(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "p.zip"
    archive.write_bytes(archive_of(**{"good.txt": b"", name: b"evil"}))
    with pytest.raises(DataError, match=r"would be written outside its folder"):
        unpack(archive, tmp_path / "inside" / "planets")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [archive]


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "p.zip"
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="outside its folder"):
        unpack(archive, tmp_path / "planets")


def test_what_is_no_archive_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "p.zip").write_bytes(b"<html>moved</html>")
    with pytest.raises(DataError, match="is not a sound zip archive"):
        unpack(tmp_path / "p.zip", tmp_path / "planets")


def test_a_damaged_archive_leaves_nothing_behind(tmp_path: Path) -> None:
    whole = bytearray(archive_of(**{"P/good.txt": b"good", "P/bad.txt": b"the byte that will be changed"}))
    whole[whole.index(b"the byte")] ^= 1
    (tmp_path / "p.zip").write_bytes(whole)
    with pytest.raises(DataError, match="is not a sound zip archive"):
        unpack(tmp_path / "p.zip", tmp_path / "planets", strip="P")
    assert [path.name for path in tmp_path.iterdir()] == ["p.zip"]


def test_without_a_folder_of_ones_own_the_cache_is_used_and_the_variable_named(
    server: Server, folder: Path, known: dict[str, DataSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DENSRAY_DATA")
    known["planets"] = entry_of(DataFile("lexicons/planets.tsv", server.url("planets.tsv")))
    with pytest.raises(DataError, match=r"another folder can be named by DENSRAY_DATA"):
        fetch("planets")
    server.files["planets.tsv"] = b"venus"
    assert fetch("planets") == folder.parent / "cache" / "lexicons" / "planets.tsv"


def test_a_folder_that_cannot_be_written_is_named(server: Server, tmp_path: Path) -> None:
    server.files["a.bin"] = CONTENT
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match=r"a\.bin: cannot be written"):
        download(server.url("a.bin"), tmp_path / "file" / "a.bin")
