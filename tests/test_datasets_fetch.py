"""Data sets that are fetched, against a server on this machine."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from commands import run
from densray._files import temporary_path
from densray.datasets import DataFile, DataSet, fetch, is_at_hand, list_datasets, path_of
from densray.datasets import _registry as places
from densray.datasets import _registry as registry
from densray.datasets._fetch import download, extract_member, unpack
from densray.errors import DataError

CONTENT = bytes(range(256)) * 4096  # 1 MiB
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


class Server:
    """A small file server that counts requests, and can misbehave in the ways its attributes say."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut_after: int | None = None
        self.ranges = True
        self.tags = True
        self.if_range = True
        self.shift = 0  # of the range that is sent, against the one that was asked for
        self.headers: dict[str, str] = {}
        self.seconds_per_byte = 0.0
        self.asked: list[str | None] = []
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.http.daemon_threads = True
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
                tag = f'"{hashlib.sha256(body).hexdigest()[:8]}"'
                same = self.headers.get("If-Range", tag) == tag or not server.if_range
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.ranges and same else 0
                if start >= len(body) > 0:
                    self.send_response(416)
                    self.send_header("Content-Length", "4")
                    self.send_header("Content-Range", f"bytes */{len(body)}")
                    self.end_headers()
                    self.wfile.write(b"junk")
                    return
                sent = body[start + server.shift :] if start else body
                headers = {"Content-Length": str(len(sent))}
                if start:
                    headers["Content-Range"] = f"bytes {start + server.shift}-{len(body) - 1}/{len(body)}"
                if server.tags:
                    headers["ETag"] = tag
                self.send_response(206 if start else 200)
                for name, value in (headers | server.headers).items():
                    if value:
                        self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):  # whoever asked has given up
                    if not server.seconds_per_byte:
                        self.wfile.write(sent[: server.cut_after])
                        return
                    for byte in sent:
                        self.wfile.write(bytes([byte]))
                        time.sleep(server.seconds_per_byte)

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
    with pytest.raises(DataError, match=r"300,000 bytes are kept in a.bin.part: run it again"):
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
    known["planets"] = entry_of(DataFile("lexicons/planets.tsv", url=server.url("planets.tsv"), size=5))
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


def test_a_set_of_several_files_is_a_folder_and_its_download_resumes(
    server: Server, folder: Path, known: dict[str, DataSet]
) -> None:
    files = [DataFile(f"lexicons/planets/{n}.txt", server.url(f"{n}.txt"), size) for n, size in (("in", 5), ("out", 4))]
    known["planets"] = entry_of(*files, path="lexicons/planets")
    server.files["in.txt"] = b"venus"
    with pytest.raises(DataError, match="404"):
        fetch("planets")
    server.files["out.txt"] = b"mars"
    assert fetch("planets") == folder / "lexicons" / "planets"
    assert len(server.asked) == 3  # in, out (404), out: never in again


RATINGS = [entry for entry in list_datasets("ratings") if any(file.url for file in entry.files)]
PEOPLE = Path(os.environ.get("DENSRAY_DATA", "")) / "people"


def test_the_command_names_every_set_of_ratings_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "list", "--kind", "ratings", "--json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert set(listed) == {"grand-2022", "kozlowski-2019", "garg-2018", "style-2015", "norms-english"}
    assert all(entry["source"].startswith("https://") and entry["citation"] for entry in listed.values())
    assert {entry.name for entry in RATINGS} == {"grand-2022", "kozlowski-2019", "garg-2018"}


@pytest.mark.skipif(not PEOPLE.is_dir(), reason="needs the ratings in DENSRAY_DATA")
@pytest.mark.parametrize("entry", RATINGS, ids=[entry.name for entry in RATINGS])
def test_ratings_with_an_address_are_fetched_and_verified(
    entry: DataSet, server: Server, folder: Path, known: dict[str, DataSet]
) -> None:
    files = []
    for file in entry.files:
        assert file.url
        assert file.url.startswith("https://raw.githubusercontent.com/")
        assert file.url.endswith(f"/{Path(file.path).name}")  # of a commit, not of a branch
        assert len(file.url.split("/")[5]) == 40
        server.files[file.path] = (PEOPLE.parent / file.path).read_bytes()
        files.append(replace(file, url=server.url(file.path)))
    known[entry.name] = replace(entry, files=tuple(files))
    assert fetch(entry.name) == folder / entry.path
    assert is_at_hand(entry.name)


@pytest.mark.parametrize("place", ["lexicons/planets/planets.tsv.gz", "planets.tsv.gz", "planets.tsv"])
def test_a_file_placed_by_hand_is_used_without_a_network(folder: Path, known: dict[str, DataSet], place: str) -> None:
    file = DataFile("lexicons/planets/planets.tsv.gz", "http://127.0.0.1:9/none", also=("planets.tsv",))
    known["planets"] = entry_of(file)
    (folder / place).parent.mkdir(parents=True)
    (folder / place).write_bytes(b"x")
    assert fetch("planets") == path_of("planets") == folder / place


def test_a_file_of_another_size_placed_by_hand_is_refused(folder: Path, known: dict[str, DataSet]) -> None:
    known["planets"] = entry_of(DataFile("planets.tsv", size=5))
    folder.mkdir()
    (folder / "planets.tsv").write_bytes(b"x")
    for find in (path_of, fetch):
        with pytest.raises(DataError, match="has 1 bytes, not 5"):
            find("planets")
    assert not is_at_hand("planets")


def test_a_set_given_out_by_hand_names_its_home_page(folder: Path, known: dict[str, DataSet]) -> None:
    known["planets"] = entry_of(DataFile("planets.tsv"))
    with pytest.raises(DataError, match=r"cannot be downloaded directly.*https://example.org/planets"):
        fetch("planets")


def test_an_archive_is_unpacked_into_its_folder(server: Server, folder: Path, known: dict[str, DataSet]) -> None:
    server.files["p.zip"] = archive_of(**{"P_1/inner/venus.txt": b"hot", "P_1/mars.txt": b"cold", "other": b""})
    file = DataFile("planets.zip", server.url("p.zip"))
    known["planets"] = entry_of(file, path="analogies/planets", unpacked=True, strip="P_1")
    with pytest.raises(DataError, match=r"Neither checksum nor size of 'planets' is known.*trust_unchecked=True"):
        fetch("planets")
    assert server.asked == []
    unpacked = fetch("planets", trust_unchecked=True)
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


def test_what_a_killed_process_had_unpacked_goes_with_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(archive_of(**{"in/one.txt": b"1"}))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = temporary_path(tmp_path / "a")
    left = left.with_name(left.name.replace(f"-{os.getpid()}-", f"-{ended.pid}-"))
    (left / "unpacked").mkdir(parents=True)
    assert sorted(path.name for path in unpack(tmp_path / "a.zip", tmp_path / "a", strip="in").iterdir()) == ["one.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.zip"]


def test_a_file_that_is_not_an_archive_is_an_error(tmp_path: Path) -> None:
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


def test_without_a_data_folder_the_cache_is_used_and_the_variable_named(
    server: Server, folder: Path, known: dict[str, DataSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DENSRAY_DATA")
    known["planets"] = entry_of(DataFile("lexicons/planets.tsv", server.url("planets.tsv"), 5))
    with pytest.raises(DataError, match=r"another folder can be named by DENSRAY_DATA"):
        fetch("planets")
    server.files["planets.tsv"] = b"venus"
    assert fetch("planets") == folder.parent / "cache" / "lexicons" / "planets.tsv"


def test_a_folder_that_cannot_be_written_is_named(server: Server, tmp_path: Path) -> None:
    server.files["a.bin"] = CONTENT
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match=r"a\.bin: cannot be written"):
        download(server.url("a.bin"), tmp_path / "file" / "a.bin")


# Answers that are not the file, where no checksum is known


def interrupted(server: Server, target: Path, **options: object) -> None:
    """Leave a part of 300,000 bytes or so."""
    server.cut_after = 300_000
    with pytest.raises(DataError, match="run it again to resume"):
        download(server.url("a.bin"), target, **options)  # type: ignore[arg-type]
    server.cut_after = None
    assert 200_000 < target.with_name("a.bin.part").stat().st_size <= 300_000


@pytest.fixture
def target(server: Server, tmp_path: Path) -> Path:
    server.files["a.bin"] = CONTENT
    return tmp_path / "a.bin"


def test_a_resumed_download_needs_no_checksum_where_the_server_names_versions(server: Server, target: Path) -> None:
    interrupted(server, target)
    assert download(server.url("a.bin"), target).read_bytes() == CONTENT
    assert server.asked[1] is not None
    assert [path.name for path in target.parent.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("tags", [True, False])
def test_a_file_that_changed_between_two_attempts_is_never_mixed(server: Server, target: Path, tags: bool) -> None:
    server.tags = tags
    interrupted(server, target)
    server.files["a.bin"] = CONTENT[::-1]
    assert download(server.url("a.bin"), target).read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("tags", [True, False])
def test_a_server_that_ignores_if_range_does_not_mix_two_versions(server: Server, target: Path, tags: bool) -> None:
    server.if_range = False
    interrupted(server, target)
    server.files["a.bin"], server.tags = CONTENT[::-1], tags
    assert download(server.url("a.bin"), target).read_bytes() == CONTENT[::-1]


def test_a_part_without_a_length_that_is_cut_off_is_not_the_whole_file(server: Server, target: Path) -> None:
    interrupted(server, target)
    server.headers, server.cut_after = {"Content-Length": "", "Connection": "close"}, 100_000
    with pytest.raises(DataError, match="run it again to resume"):
        download(server.url("a.bin"), target)
    server.headers, server.cut_after = {}, None
    assert download(server.url("a.bin"), target).read_bytes() == CONTENT


def test_a_part_of_another_address_is_not_continued(server: Server, target: Path) -> None:
    interrupted(server, target)
    server.files["b.bin"] = CONTENT[::-1]
    assert download(server.url("b.bin"), target).read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("shift", [-1000, 1000])
def test_a_part_of_another_range_is_refused(server: Server, target: Path, shift: int) -> None:
    interrupted(server, target)
    server.shift = shift
    assert download(server.url("a.bin"), target).read_bytes() == CONTENT


def test_a_part_without_its_range_is_refused(server: Server, target: Path) -> None:
    interrupted(server, target)
    server.headers = {"Content-Range": ""}
    assert download(server.url("a.bin"), target).read_bytes() == CONTENT


@pytest.mark.parametrize("tags", [True, False])
def test_a_range_beyond_the_end_starts_again_unless_the_part_is_whole(server: Server, target: Path, tags: bool) -> None:
    server.tags = tags
    interrupted(server, target, checksum=SHA256)
    part = target.with_name("a.bin.part")
    part.write_bytes(CONTENT + b"more")
    assert download(server.url("a.bin"), target, checksum=SHA256).read_bytes() == CONTENT
    target.unlink()
    interrupted(server, target, checksum=SHA256)
    part.write_bytes(CONTENT)
    asked = len(server.asked)
    assert download(server.url("a.bin"), target, checksum=SHA256).read_bytes() == CONTENT
    assert len(server.asked) == asked + 1


@pytest.mark.parametrize(
    ("body", "headers", "said"),
    [
        (b"<html>Please log in</html>", {"Content-Type": "text/html; charset=utf-8"}, "a web page, perhaps a login"),
        (b"  <!DOCTYPE html><html>log in</html>", {}, "what arrived is a web page"),
        (gzip.compress(bytes(10_000_000), mtime=0), {"Content-Encoding": "gzip"}, "sends the file compressed"),
        (CONTENT, {"Content-Encoding": "br"}, "sends the file compressed"),
        (CONTENT, {"Content-Length": "", "Connection": "close"}, "does not state the size of the file"),
    ],
)
def test_an_answer_that_is_not_the_file_is_refused_and_removed(
    server: Server, target: Path, body: bytes, headers: dict[str, str], said: str
) -> None:
    server.files["a.bin"], server.headers = body, headers
    with pytest.raises(DataError, match=said):
        download(server.url("a.bin"), target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("name", ["a.zip", "a.vec.gz"])
def test_an_archive_must_begin_as_one(server: Server, tmp_path: Path, name: str) -> None:
    server.files[name] = b"Sorry, this file has moved."
    with pytest.raises(DataError, match=r"what arrived is no \.(zip|gz) file"):
        download(server.url(name), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "", "Connection": "close"}])
@pytest.mark.parametrize("size", [1000, len(CONTENT) + 1])
def test_a_file_of_another_size_is_refused(server: Server, target: Path, headers: dict[str, str], size: int) -> None:
    server.headers = headers
    with pytest.raises(DataError, match=r"it has changed|more than|arrived, not"):
        download(server.url("a.bin"), target, size=size)
    assert list(target.parent.iterdir()) == []


def test_a_download_that_takes_too_long_gives_up_and_keeps_what_came(server: Server, target: Path) -> None:
    server.seconds_per_byte = 0.02
    begun = time.monotonic()
    with pytest.raises(DataError, match=r"it takes too long.*bytes are kept"):
        download(server.url("a.bin"), target, seconds=0.3)
    assert time.monotonic() - begun < 5
    server.seconds_per_byte = 0.0
    assert download(server.url("a.bin"), target).read_bytes() == CONTENT


def test_two_processes_do_not_write_to_one_download(server: Server, target: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="this platform has no locks on files")
    with target.with_name("a.bin.part").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DataError, match=r"another process is downloading a\.bin"):
            download(server.url("a.bin"), target)
    assert download(server.url("a.bin"), target).read_bytes() == CONTENT


def test_an_archive_that_fills_the_disk_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("P/zeros", bytes(50_000_000))
    for unpacking in (
        lambda: unpack(tmp_path / "p.zip", tmp_path / "planets", strip="P"),
        lambda: extract_member(tmp_path / "p.zip", "P/zeros", tmp_path / "zeros"),
    ):
        with pytest.raises(DataError, match="Nothing was unpacked"):
            unpacking()
    assert [path.name for path in tmp_path.iterdir()] == ["p.zip"]


def test_every_set_says_what_its_download_is_checked_by() -> None:
    checks = {entry.name: entry.checked_by for entry in list_datasets()}
    assert checks["hu-liu"] == ""  # embedded
    assert checks["msr"] == "sha256"
    assert {name for name, check in checks.items() if "md5" in check} == {"googlenews", "glove-6b"}
    assert {name for name, check in checks.items() if "http" in check} == {"semeval2015-e"}
    assert {name for name, check in checks.items() if check == "nothing"} == {"fasttext-fr", "fasttext-de", "bats"}
