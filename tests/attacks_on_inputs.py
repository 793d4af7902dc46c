"""State folders, interventions, journals, downloads, labels and lexicons, made by the thousand from a seed.

Each result is compared with what was stored, with the file that the server has, or with what the generator meant.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socketserver
import threading
import warnings
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from attacks import Campaign, mutated, quiet_streams
from densray import Lexicon, Rows
from densray._files import archive_digest
from densray.datasets._fetch import download
from densray.errors import EncodingDetectedWarning
from densray.journal import Journal
from densray.states import Intervention, LayerChange, States
from densray.states._storage import StatesInFolder, states_header

# State folders, interventions and journals

LAYERS, N_TEXTS, WIDTH = (0, 3), 6, 4


def write_states(folder: Path, seed: int) -> np.ndarray:
    """Write a folder of hidden states with labels and groups; return its rows."""
    rows = np.random.default_rng(seed).normal(size=(len(LAYERS), N_TEXTS, WIDTH)).astype(np.float32)
    header = states_header(
        model="tiny", checksum="c", layers=list(LAYERS), width=WIDTH, dtype="float32", pool="last", tokens="t",
        added_first_token=False, texts=[f"text {seed} {number}" for number in range(N_TEXTS)],
    )  # fmt: skip
    with StatesInFolder(folder, header) as target:
        for start in (0, 4):
            target.write(start, rows[:, start : start + 4])
    target.states().labelled([1, 0] * 3, ["a", None, "b"] * 2, store=True)
    return rows


def read_states(folder: Path) -> Any:
    states = States.open(folder)
    rows = [np.asarray(states[layer]).tolist() for layer in states.layers]
    return states.layers, states.texts, states.labels, states.groups, rows


def read_intervention(path: Path) -> Any:
    loaded = Intervention.load(path)
    changes = {n: (c.left.tolist(), c.right.tolist(), c.origin.tolist()) for n, c in loaded.changes.items()}
    return loaded.operation, loaded.strength, loaded.skip_first, loaded.name, changes


def run_journal(folder: Path) -> list[Any]:
    """Return four parts of a run, from the folder or computed."""
    run = Journal(folder).run("squares", 7)
    return [run.part(str(n), lambda n=n: {"square": n * n, "row": np.full(5, float(n))}) for n in range(4)]  # type: ignore[misc]


READERS: dict[str, Callable[[Path], Any]] = {
    "states": read_states,
    "intervention": read_intervention,
    "journal": run_journal,
}


def attack_stores(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Read state folders, interventions and journals whose bytes, values or files were changed."""
    campaign, rng = Campaign("state folders, interventions and journals", seed), np.random.default_rng(seed)
    whole, other = folder / "whole", folder / "other"
    write_states(whole, 1)
    write_states(other, 2)
    expected = {"states": read_states(whole)}
    changes = {1: LayerChange.along(np.arange(1.0, 5.0)), 2: LayerChange.along(np.ones(4), np.ones(4))}
    stored = Intervention("project", changes, 0.5, model="tiny", checksum="c", name="mood").save(
        folder / "whole.safetensors"
    )
    expected["intervention"] = read_intervention(stored)
    journal = folder / "whole-journal"
    expected["journal"] = run_journal(journal)
    kinds = tuple(READERS)
    with quiet_streams(campaign):
        for number in range(count):
            kind = kinds[number % len(kinds)]
            target = folder / ("odd.safetensors" if kind == "intervention" else f"odd-{kind}")
            signed = False
            if kind == "intervention":
                said, signed = _spoil_tensors(stored, target, rng)
            else:
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(whole if kind == "states" else journal, target)
                said, signed = _spoil_folder(target, other, rng)

            def read() -> None:
                result = READERS[kind](target)  # noqa: B023
                if not signed:  # noqa: B023
                    assert str(result) == str(expected[kind]), "other content without a word"  # noqa: B023
                elif kind == "states":  # noqa: B023
                    _check_as_written(target, result)  # noqa: B023

            campaign.attempt(f"{kind} #{number} ({said})", read, path=target if target.is_file() else None)
    return campaign


def _check_as_written(folder: Path, result: Any) -> None:
    """Compare what was read of a folder of other values, under a right digest, with its JSON and its bytes."""
    header = json.loads((folder / "states.json").read_text(encoding="utf-8"))
    layers, texts, _, _, rows = result
    assert list(layers) == header["layers"], "other layers"
    assert list(texts) == header["texts"], "other texts"
    for layer, found in zip(layers, rows, strict=True):
        numbers = np.fromfile(folder / f"layer-{layer:03d}.rows", dtype=header["dtype"])
        assert np.asarray(found).ravel().tolist() == numbers.tolist(), f"other rows of layer {layer}"


ODD: tuple[Any, ...] = (None, True, -1, 0, 3.5, float("nan"), float("inf"), 10**30, "", "text", "\udcff", [], ["a"],
                        [1, 2], [[1]], {}, {"a": 1}, "x" * 5000, "../../etc", 1e-400, [None] * 6)  # fmt: skip


def _odd_values(values: dict[str, Any], rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    """Return values with one of them, at any depth, replaced, removed or exchanged with another."""
    values = json.loads(json.dumps(values))
    fixed = ("digest", "format", "format_version", "densray_version")
    places = [place for place in _places_in(values) if place[0] not in fixed]
    *trail, key = places[int(rng.integers(len(places)))]
    table: Any = values
    for step in trail:
        table = table[step]
    if rng.random() < 0.2:
        del table[key]
        return values, f"{trail}.{key} missing"
    table[key] = ODD[int(rng.integers(len(ODD)))]
    return values, f"{trail}.{key} = {str(table[key])[:20]!r}"


def _places_in(value: Any, trail: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*trail, key)
        yield from _places_in(item, (*trail, key))


def _spoil_folder(folder: Path, other: Path, rng: np.random.Generator) -> tuple[str, bool]:  # noqa: PLR0911
    """Change one file of a folder; say how, and whether the change has a right digest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = files[int(rng.integers(len(files)))]
    kind = int(rng.integers(9))
    if kind <= 2:
        path.write_bytes(mutated(path.read_bytes(), rng))
        return f"bytes of {path.name}", False
    if kind <= 4 and path.suffix == ".json":
        odd, said = _odd_values(json.loads(path.read_text(encoding="utf-8")), rng)
        path.write_text(json.dumps({**odd, "digest": archive_digest(odd, {})}), encoding="utf-8")
        return f"{path.name}{said}", True
    second = files[int(rng.integers(len(files)))]
    if kind == 5:
        first, last = path.read_bytes(), second.read_bytes()
        path.write_bytes(last)
        second.write_bytes(first)
        return f"{path.name} and {second.name} exchanged", False
    if kind == 6 and (other / path.name).exists():
        shutil.copy(other / path.name, path)
        return f"{path.name} of another folder", False
    path.unlink()
    if kind == 7:
        path.mkdir()
        return f"{path.name} is a folder", False
    if kind == 8:
        path.symlink_to(path.name)
        return f"{path.name} is a link to itself", False
    return f"{path.name} is missing", False


def _spoil_tensors(source: Path, target: Path, rng: np.random.Generator) -> tuple[str, bool]:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    if rng.random() < 0.5:
        target.write_bytes(mutated(source.read_bytes(), rng))
        return "bytes", False
    with safe_open(str(source), framework="numpy") as file:
        metadata = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if rng.random() < 0.5:
        name = str(rng.choice(sorted(tensors)))
        array = tensors[name]
        change = int(rng.integers(6))
        tensors[name] = [
            array[:-1],
            array[None],
            array.astype(np.int16),
            array * np.nan,
            array * np.inf,
            array[..., :0],
        ][change]
        said = f"{name}, change {change}"
    else:
        name = str(rng.choice(sorted(set(metadata) - {"digest", "format", "format_version"})))
        metadata[name] = str(ODD[int(rng.integers(len(ODD)))]).replace("\udcff", "?")
        said = f"{name} = {metadata[name][:20]!r}"
    save_file(tensors, target, metadata={**metadata, "digest": archive_digest(metadata, tensors)})
    return said, True


# Downloads

VERSIONS = (bytes(range(256)) * 64, bytes(reversed(range(256))) * 64)
SHA256 = f"sha256:{hashlib.sha256(VERSIONS[0]).hexdigest()}"
OTHER_LENGTH = bytes(range(256)) * 60 + b"other"


class OddServer:
    """A server that breaks the rules in ways drawn for each answer, but sends only bytes of its file."""

    def __init__(self) -> None:
        self.body, self.lies, self.limit = VERSIONS[0], frozenset[str](), 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with contextlib.suppress(OSError):
                    server.answer(self)
                self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args: object) -> None:
                pass

        self._http: socketserver.BaseServer = Quiet(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:  # noqa: PLR0912, PLR0915 - one lie after the other
        lies, body = self.lies, self.body
        if "redirect" in lies and not request.path.startswith("/moved"):
            request.send_response(302)
            request.send_header("Location", "/moved/a.bin" if "loop" not in lies else request.path)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        tag = f'"{hashlib.sha256(body).hexdigest()[:8]}"'
        tag = f"W/{tag}" if "weak" in lies else tag
        asked = request.headers.get("Range")
        same = request.headers.get("If-Range", tag) == tag or "ignores If-Range" in lies
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and same and "no ranges" not in lies else 0
        if start >= len(body):
            request.send_response(416)
            request.send_header("Content-Range", f"bytes */{len(body)}")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        sent = body[start:]
        headers = {"Content-Length": str(len(sent)), "ETag": tag}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        if "no tag" in lies:
            del headers["ETag"]
        if "no range header" in lies:
            headers.pop("Content-Range", None)
        if "short range" in lies and start:
            sent = sent[: len(sent) // 2]
            headers |= {
                "Content-Range": f"bytes {start}-{start + len(sent) - 1}/{len(body)}",
                "Content-Length": str(len(sent)),
            }
        if "other range" in lies and start:
            begin = max(0, start - 100)
            sent = body[begin:]
            headers |= {"Content-Range": f"bytes {begin}-{len(body) - 1}/{len(body)}", "Content-Length": str(len(sent))}
        if "star" in lies and start:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/*"
        if "no length" in lies:
            del headers["Content-Length"]
        if "long length" in lies:
            headers["Content-Length"] = str(len(sent) + 100)
        if "short length" in lies:
            headers["Content-Length"] = str(len(sent) - 100)
        if "gzip" in lies:
            headers["Content-Encoding"] = "gzip"
        if "error" in lies:
            headers |= {"Content-Type": "text/html"}
        status = 503 if "unavailable" in lies else 206 if start or "206" in lies else 200
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        if "chunked" in lies and "no length" in lies:
            request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        sent = sent[: self.limit] if self.limit else sent
        if "chunked" in lies and "no length" in lies:
            for at in range(0, len(sent), 4096):
                piece = sent[at : at + 4096]
                request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if not self.limit:
                request.wfile.write(b"0\r\n\r\n")
        else:
            request.wfile.write(sent)


LIES = ("redirect", "loop", "weak", "ignores If-Range", "no ranges", "no tag", "no range header", "short range",
        "other range", "star", "no length", "long length", "short length", "gzip", "error", "unavailable", "206",
        "chunked")  # fmt: skip


def attack_downloads(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Download in several attempts from a server that cuts, redirects, changes its file and breaks rules."""
    campaign, rng = Campaign("downloads from odd servers", seed), np.random.default_rng(seed)
    before = os.environ.get("NO_PROXY")
    os.environ["NO_PROXY"] = "127.0.0.1"
    server = OddServer()
    try:
        for number in range(count):
            target = folder / f"{number}" / "a.bin"
            body = VERSIONS[0]
            checks: list[dict[str, Any]] = [{}, {"size": len(body)}, {"checksum": SHA256}]
            known = checks[int(rng.integers(3))]
            said = []
            for attempt in range(int(rng.integers(1, 5))):
                server.body = (VERSIONS[0], VERSIONS[0], VERSIONS[1], OTHER_LENGTH)[
                    int(rng.integers(4)) if attempt else 0
                ]
                server.lies = frozenset(map(str, rng.choice(LIES, size=int(rng.integers(0, 3)), replace=False)))
                server.limit = int(rng.integers(1, len(body))) if rng.random() < 0.6 else 0
                said.append(f"{sorted(server.lies)}, {server.limit}")

                def fetch() -> None:
                    download(f"{server.address}/a.bin", target, seconds=10, **known)  # noqa: B023
                    content = target.read_bytes()  # noqa: B023
                    versions = VERSIONS[:1] if "checksum" in known else (*VERSIONS, OTHER_LENGTH)  # noqa: B023
                    if "short length" in server.lies and "checksum" not in known and "size" not in known:  # noqa: B023
                        versions = (
                            *versions,
                            *(each[:-100] for each in versions),
                        )  # the server says so, nothing else does
                    assert content in versions, f"{len(content)} bytes that are no version of the file"
                    assert not list(target.parent.glob("*.part*")), "a part is left"  # noqa: B023

                campaign.attempt(f"#{number}, {sorted(known)}: {said}", fetch)
                if target.exists():
                    break
            shutil.rmtree(target.parent, ignore_errors=True)
    finally:
        server.stop()
        if before is None:
            del os.environ["NO_PROXY"]
        else:
            os.environ["NO_PROXY"] = before
    return campaign


# Labels


def attack_labels(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Make rows of labels in all kinds of containers; compare with what the labels mean."""
    campaign, rng = Campaign("labels of every type", seed), np.random.default_rng(seed)
    with quiet_streams(campaign):
        for number in range(count):
            n = int(rng.integers(2, 12))
            values, said, meaning = _drawn_labels(n, rng)
            labels, container = _contained(values, rng)
            X = rng.normal(size=(n, 3))

            def make() -> None:
                rows = Rows.from_arrays(X, labels)  # noqa: B023
                assert meaning is not None, f"accepted: {rows.y.tolist()}"  # noqa: B023
                expected, names = meaning  # noqa: B023
                assert rows.y.tolist() == expected, f"{rows.y.tolist()} for {expected}"
                assert rows.class_names == names, f"{rows.class_names} for {names}"

            refused = campaign.refused
            campaign.attempt(f"#{number} {said} in {container}: {str(values)[:60]}", make)
            if campaign.refused > refused and meaning is not None:
                campaign.wrong.append(f"#{number} {said} in {container}: refused {str(values)[:60]}")
    return campaign


def _drawn_labels(
    n: int, rng: np.random.Generator
) -> tuple[list[Any], str, tuple[list[float], tuple[str, ...]] | None]:
    """Return labels, what they are, and the numbers and class names they mean; None where they should be refused."""
    kind = int(rng.integers(8))
    pools: list[tuple[list[Any], str]] = [
        ([1, -1], "two numbers"), ([0.5, 2.0, -3.25], "scores"), ([True, False], "truth values"),
        (["good", "bad"], "two texts"), (["b", "a", "é", "C"], "texts"), (["+1", "-1"], "signed text"),
        (["2", "10", "-3"], "numbers as text"), ([7, 2**40], "large integers"),
    ]  # fmt: skip
    pool, said = pools[kind]
    values = [pool[int(place)] for place in rng.integers(len(pool), size=n)]
    if rng.random() < 0.25:
        odd: Any = (None, float("nan"), float("inf"), "", b"x", [1], 1j, np.datetime64("NaT"), {})[int(rng.integers(9))]
        if odd == b"x" and isinstance(values[0], str):
            odd = None
        values[int(rng.integers(n))] = odd
        return values, f"{said} with {odd!r}", None
    if not isinstance(values[0], str):
        return values, said, ([float(value) for value in values], ())
    numeric = kind in (5, 6)
    names = sorted(set(values), key=(lambda name: (float(name), name)) if numeric else None)
    codes = [names.index(value) for value in values]
    numbers = [1.0 if code else -1.0 for code in codes] if len(names) == 2 else [float(code) for code in codes]
    return values, said, (numbers, tuple(names))


def _contained(values: list[Any], rng: np.random.Generator) -> tuple[Any, str]:
    """Return labels in a container that can hold them."""
    makers: list[tuple[str, Callable[[], Any]]] = [
        ("a list", lambda: values), ("a tuple", lambda: tuple(values)), ("objects", lambda: _objects(values)),
        ("an array", lambda: np.array(values)), ("a series", lambda: _pandas().Series(values)),
        ("a categorical", lambda: _pandas().Categorical(values)),
        ("a nullable series", lambda: _pandas().Series(values).convert_dtypes()),
        ("a polars series", lambda: _polars_series(values)),
    ]  # fmt: skip
    for place in rng.permutation(len(makers)):
        name, make = makers[int(place)]
        if name == "an array" and len({type(value) for value in values}) > 1:
            continue  # NumPy itself would change them: 1 and "a" become two texts
        try:
            return make(), name
        except Exception:  # this container cannot hold them
            continue
    return values, "a list"


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _pandas() -> Any:
    import pandas

    return pandas


def _polars_series(values: list[Any]) -> Any:
    import polars

    return polars.Series(values, strict=True)


# Lexicons as people save them


def attack_lexicons(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Read lexicons with every encoding, line end, delimiter, header and quoting; compare with their entries."""
    campaign, rng = Campaign("lexicons as people save them", seed), np.random.default_rng(seed)
    pool = [
        "good",
        "bad",
        "nice",
        "foul",
        "été",
        "naïve",
        "New York",
        "a,b",
        "it's",
        "x;y",
        "3",
        "№1",
        "良い",
        "e-mail",
    ]
    with quiet_streams(campaign):
        for number in range(count):
            words = rng.choice(pool, size=int(rng.integers(2, 8)), replace=False).tolist()
            labels = rng.choice([1, -1, 0.5, -2.25], size=len(words)).tolist()
            labels[:2] = [1, -1]
            content, said, may_refuse = _lexicon_file(words, labels, rng)
            path = folder / f"odd.{'csv' if 'comma' in said else 'tsv' if 'tab' in said else 'txt'}"
            path.write_bytes(content)
            expected = dict(zip(words, map(float, labels), strict=True))

            def read() -> None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", EncodingDetectedWarning)
                    found = dict(Lexicon.read(path).items())  # noqa: B023
                assert found == expected, f"{found} for {expected}"  # noqa: B023

            refused = campaign.refused
            campaign.attempt(f"#{number} {said}", read, path=path)
            if campaign.refused > refused and not may_refuse:
                campaign.wrong.append(f"#{number} {said}: refused, and could have been read")
                campaign.keep(path)
    return campaign


def _lexicon_file(words: list[str], labels: list[float], rng: np.random.Generator) -> tuple[bytes, str, bool]:
    """Return the bytes of a lexicon, how it was written, and whether it may be refused."""
    name, delimiter = [("tab", "\t"), ("comma", ","), ("semicolon", ";"), ("blank", " ")][int(rng.integers(4))]
    rows = [[word, f"{label:g}"] for word, label in zip(words, labels, strict=True)]
    if name in ("comma", "semicolon"):
        rows = [[f'"{word}"' if delimiter in word or rng.random() < 0.2 else word, label] for word, label in rows]
    if name == "semicolon" and rng.random() < 0.3:
        rows = [[word, label.replace(".", ",")] for word, label in rows]
    header = rng.random() < 0.5
    lines = ["word" + delimiter + "label"] * header + [delimiter.join(row) for row in rows]
    said = [name, "header" * header]
    may_refuse = (not header and any(word.isdecimal() for word in words)) or any(
        mark in word for word in words for mark in ",; " if mark != delimiter
    )
    if rng.random() < 0.2:
        lines = [line + "  " for line in lines]
        said.append("blanks")
    if rng.random() < 0.2:
        lines.insert(int(rng.integers(len(lines) + 1)), "")
        said.append("empty line")
    end = ["\n", "\r\n", "\r"][int(rng.integers(3))]
    text = end.join(lines) + (end if rng.random() < 0.7 else "")
    encoding = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"][
        int(rng.choice(5, p=[0.5, 0.25, 0.1, 0.05, 0.1]))
    ]
    said += [repr(end), encoding]
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        data, encoding = text.encode(), "utf-8"
    may_refuse = may_refuse or encoding.startswith("utf-16") or (encoding == "latin-1" and not text.isascii())
    if rng.random() < 0.1:
        at = int(rng.integers(len(data) + 1))
        data, may_refuse = data[:at] + b"\0" + data[at:], True
        said.append(f"NUL at {at}")
    return data, ", ".join(filter(None, said)), may_refuse


ATTACKS_ON_INPUTS: dict[str, tuple[Callable[..., Campaign], int, int]] = {
    "stores": (attack_stores, 6_000, 90),
    "downloads": (attack_downloads, 1_500, 25),
    "labels": (attack_labels, 10_000, 250),
    "lexicons": (attack_lexicons, 6_000, 250),
}
"""Each attack, how much the slow run tries, and how much the default run."""
