"""Odd command lines and odd addresses of the explorer: what was tried, and what ended in a defect."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, quote, urlencode

import numpy as np

from attacks import Campaign
from densray import WordSpace, load_space
from densray.cli import app
from densray.cli.entry import INTERRUPTED, run
from densray.explorer.settings import DEFAULTS, EXAMPLES, AxisChoice, Settings
from densray.formats import write_space
from planted import planted_space

# Command lines

#: Seconds of processor time after which a command that has been asked for too much is interrupted, as Ctrl-C would.
_PATIENCE = 2.0
_ODD = (
    "", " ", "nan", "inf", "-inf", "-1", "0", "1e999", "99999999999999999999", "-99999999999999999999", "1.5", "0.0",
    "abc", "é日本", "\udcff", "-", "--", "a,b,,", ",", "../x", "/dev/null", "/", ".", "x" * 5000, "missing.tsv", "{",
    "~", "%s", "[red]x[/red]", "line\nbreak", "None", "True", "9" * 5000, "word0", "densray", "ridge:99", "\t", "a=b",
    "space.densray", "seeds.tsv", "axis.safetensors", "empty", "broken.npz", "pairs.txt", "concept.toml", "inner",
)  # fmt: skip
#: Values that fit, by the name of the argument or option.
_FITTING: dict[str, tuple[str, ...]] = {
    "space": ("space.densray", "space.txt"),
    "--space": ("space.densray", "space.txt"),
    "spaces": ("space.densray",),
    "lexicon": ("seeds.tsv", "hu-liu"),
    "lexicons": ("seeds.tsv",),
    "source": ("seeds.tsv", "axis.safetensors"),
    "concept": ("seeds.tsv", "axis.safetensors"),
    "axis": ("axis.safetensors",),
    "words": ("word0", "word1"),
    "texts": ("seeds.tsv",),
    "name": ("bats", "googlenews-26k", "hu-liu"),
    "--output": ("out.npz", "out.txt", "out.html", "out.densray", "inner/out.csv", "kept.npz", "out"),
    "fit --output": ("out.npz", "inner/out.npz", "out", "kept.npz"),
    "induce --output": ("out.csv", "out.tsv", "inner/out.parquet"),
    "convert --output": ("out.txt", "out.bin", "out.densray", "inner/out.npz", "out.parquet"),
    "rotate --output": ("out.txt", "out.densray"),
    "erase --output": ("out.txt", "out.densray"),
    "--report": ("out.html", "kept.npz"),
    "--high": ("word0 word1 word2", "word3,word4", "seeds.tsv"),
    "--low": ("word5 word6 word7", "word8"),
    "--lexicon": ("seeds.tsv",),
    "--test": ("seeds.tsv",),
    "--concept": ("concept.toml", "gender"),
    "--set": ("pairs.txt", "google"),
    "--method": ("densray", "ridge", "mean-difference", "auto", "svm", "densifier"),
    "--methods": ("densray", "ridge,mean-difference"),
    "--remover": ("mean-difference", "hard", "leace", "densray:2"),
    "--removers": ("mean-difference", "hard,leace", "densray:2"),
    "--solver": ("intcos-original", "lrcos", "3cosavg"),
    "--format": ("text", "word2vec-binary", "npz"),
    "--n-components": ("1", "2", "12"),
    "--folds": ("2", "5"),
    "--limit": ("1", "5", "100"),
    "--n-resamples": ("5",),
    "--n-permutations": ("5",),
    "--n-samples": ("2",),
    "--repeats": ("2",),
    "--sizes": ("4,8",),
    "--port": ("8600",),
}
#: What a command is always given, since it would compute for long without.
_ALWAYS = {
    "demo": ("--nonsense",),
    "evaluate stability": ("--n-samples", "2", "--sizes", "4,8"),
    "evaluate methods": ("--methods", "densray,ridge"),
    **{
        f"reproduce {name}": ("--space", "space.densray")
        for name in ("figure2", "table3", "table4", "table5", "table6")
    },
    "reproduce table1": ("--space", "CZ=space.densray"),
    "reproduce figure1": ("--space", "space.densray", "--n-samples", "2", "--sizes", "4,8"),
}


def attack_commands(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Run every command with odd values, wrong files, missing and too many arguments, in a folder of small files.

    It must end with 0, or with 2 and one line on stderr; then no file has come or changed.
    """
    campaign, rng = Campaign("command lines", seed), np.random.default_rng(seed)
    place = folder / "work"
    (place / "inner").mkdir(parents=True)
    _write_inputs(place)
    commands = dict(_commands())
    names = list(commands)
    inputs = {path: path.read_bytes() for path in place.iterdir() if path.is_file()}
    with _alone(folder), contextlib.chdir(place), warnings.catch_warnings():
        warnings.simplefilter("default")  # a command says its warnings, also where those of a test are errors
        for number in range(count):
            name = names[number % len(names)]
            line = _command_line(name, commands[name], rng)
            before = _listing(folder)
            code, said = _run(line)
            campaign.tried += 1
            campaign.refused += code == 2
            after = _listing(folder)
            problem = _problem(code, said, before, after)
            if after != before:
                _restore(folder, inputs)
            if problem:
                shown = " ".join(each if len(each) < 80 else f"{each[:20]}…" for each in line)
                campaign.escaped.append(f"{shown!a}: {problem}")
    return campaign


def _problem(code: int, said: str, before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return what was wrong with the end of a command; nothing where it was one of the two."""
    if any(name.endswith(".part") for name in after):
        return "a partial file stays"
    if code == 2:
        lines = [each for each in said.splitlines() if not each.startswith("densray: warning: ")]
        if len(lines) != 1:
            return f"{len(lines)} lines: {said[:300]}"
        if before != after:
            return f"refused, and files changed: {sorted(before.items() ^ after.items())[:3]}"
    elif code not in (0, INTERRUPTED):
        return f"ended with {code}: {said[-300:]}"
    return "a traceback" if "Traceback" in said else ""


def _run(line: Sequence[str]) -> tuple[int, str]:
    """Run a command line in this process; a command that takes too long is interrupted."""
    out, said = io.TextIOWrapper(io.BytesIO(), "utf-8", "replace"), io.StringIO()

    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, _PATIENCE)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            code = run(line)
    except KeyboardInterrupt:  # it came while the streams were put back
        code = INTERRUPTED
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, earlier)
    return code, said.getvalue()


def _commands() -> Iterator[tuple[str, list[Any]]]:
    """Yield every command with its parameters."""
    waiting = [("", app.command())]
    while waiting:
        name, one = waiting.pop(0)
        below = getattr(one, "commands", None)
        if below is None:
            yield name, one.params
        else:
            waiting += [(f"{name} {each}".strip(), found) for each, found in below.items()]


def _command_line(name: str, parameters: Sequence[Any], rng: np.random.Generator) -> list[str]:
    """Return a command with some of its options; of half of them nearly all values fit, so that the work begins."""
    line, odd = [*name.split(), *_ALWAYS.get(name, ())], float(rng.choice([0.0, 0.08, 0.4]))
    for each in parameters:
        is_option = each.opts[0].startswith("-")
        wanted = 1 - odd / 4 if each.required or not is_option else 2.5 / len(parameters)
        if rng.random() > wanted:
            continue
        option = [str(rng.choice([*each.opts, *each.secondary_opts]))] if is_option else []
        value = [] if getattr(each, "is_flag", False) else [_value(name, each.opts[0], odd, rng)]
        line += [*option, *value]
    if rng.random() < odd / 4:
        line.insert(int(rng.integers(len(line) + 1)), str(rng.choice(_ODD)))
    return line


def _value(command: str, name: str, odd: float, rng: np.random.Generator) -> str:
    fitting = _FITTING.get(f"{command} {name}", _FITTING.get(name, ()))
    chosen = fitting if fitting and rng.random() > odd else _ODD
    return chosen[int(rng.integers(len(chosen)))]


def _write_inputs(place: Path) -> None:
    space, lexicon = planted_space(120, 8)
    write_space(space, place / "space.densray")
    write_space(space, place / "space.txt")
    lines = [f"{word}\t{label}\n" for word, label in lexicon.items()]
    (place / "seeds.tsv").write_text("".join(lines), "utf-8")
    (place / "pairs.txt").write_text(": one\nword0 word1 word2 word3\nword4 word5 word6 word7\n", "utf-8")
    words = ", ".join(f"{word} = {label}" for word, label in lexicon.items())
    (place / "concept.toml").write_text(
        f'lexicon = {{{words}}}\nanchors = ["word0", "word119"]\nneutral = ["word3", "word4", "word90"]\n', "utf-8"
    )
    (place / "empty").write_bytes(b"")
    (place / "broken.npz").write_bytes(b"PK\x03\x04" + bytes(range(200)))
    assert run(["fit", str(place / "space.densray"), str(place / "seeds.tsv"), "-o", str(place / "axis.safetensors"),
                "--no-judge", "--quiet", "--json"]) == 0  # fmt: skip
    (place / "kept.npz").write_bytes((place / "axis.safetensors").read_bytes())


def _listing(folder: Path) -> dict[str, Any]:
    """Return the files of a folder and what tells that one has changed; what is kept of interrupted runs is no file."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and "journal" not in path.parts:
            state = path.stat()
            found[str(path.relative_to(folder))] = (state.st_size, state.st_mtime_ns)
    return found


def _restore(folder: Path, inputs: dict[Path, bytes]) -> None:
    """Remove what a command has written, and write again what it has replaced."""
    for path in folder.rglob("*"):
        if path.is_file() and "journal" not in path.parts and path not in inputs:
            path.unlink()
    for path, content in inputs.items():
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep commands from the network, from starting a server, and from the data of whoever runs this."""

    def no_network(*given: object, **more: object) -> Any:
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    settings = {"DENSRAY_JOURNAL": str(folder / "journal"), "DENSRAY_DATA": str(folder / "journal" / "data"),
                "HF_HUB_OFFLINE": "1", "COLUMNS": "100"}  # fmt: skip
    with (
        mock.patch.dict(os.environ, settings),
        mock.patch.object(app, "command", functools.cache(app.command)),  # a process builds it once
        mock.patch.object(socket, "getaddrinfo", no_network),
        mock.patch("densray.explorer.server.launch"),
    ):
        yield


# Addresses

_ODD_TEXTS = (
    "", " ", "\x00", "good\x00bad", "x" * 7000, "good " * 1500, "<script>alert(1)</script>", "[a](javascript:x)",
    "$\\frac{", ":red[x]", ":material/home:", "🙂", "\u202e", "\ufffd", "nan", "inf", "-1", "0", "1e999", "9" * 400,
    "3.5", "../../etc/passwd", "good", "good\ngood", "good, good", "good\ngood\nbad\n bad\nGood", "null", "None",
    "\n\n", ",,,", "current", "current,current", "densray,densray,ridge", "ridge:5", "%", "%zz", "a=b&c=d", "{}", "[]",
    "'\"", "man woman", "man", "man woman king", "good bad", "densray", "ridge", "leace", "hard", "gender", "sentiment",
    "google", "bats", "hu-liu", "lexicon", "upload", "lists", "benchmark", "ask", "any", "words", "misses", "all",
    "frequent", "list", "1", "2", "500", "5000", "utf-16", "undefined", "own", "family", "capital-common-countries",
)  # fmt: skip


def attack_addresses(count: int, folder: Path, seed: int = 0) -> Campaign:
    """Take the settings of odd addresses, and open the whole page of every sixth; none may show a defect."""
    from densray.explorer import workbench
    from densray.explorer.views import PAGES

    campaign, rng = Campaign("addresses of the explorer", seed), np.random.default_rng(seed)
    names = list(PAGES)
    earlier = workbench.benches()
    workbench.use(workbench.Workbench(small_space()))
    try:
        for number in range(count):
            name = names[number // _WHOLE % len(names)]
            query = _odd_query(rng)
            what = f"/{name}?{query[:300]}"
            campaign.attempt(what, lambda: _read_address(query))  # noqa: B023
            if number % _WHOLE == 0:
                _open(campaign, what, name, query)
    finally:
        workbench.use(*earlier.values())
    return campaign


#: Of so many addresses one is opened as a whole page.
_WHOLE = 6


def _read_address(query: str) -> None:
    """Take the settings of an address, as every page does first, and write them into an address again."""
    given = Settings.from_query({key: values[-1] for key, values in parse_qs(query, keep_blank_values=True).items()})
    shared = given.to_query()
    if Settings.from_query(shared).to_query() != shared:
        raise AssertionError("an address that changes when it is opened")
    assert set(given.unshared).isdisjoint(shared)
    for line in given["axes"].splitlines():
        found = AxisChoice.from_text(line)
        assert found is None or AxisChoice.from_text(found.to_text()) == found


def _open(campaign: Campaign, what: str, name: str, query: str) -> None:
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_string(f"from densray.explorer.app import show_page\n\nshow_page({name!r})", default_timeout=60)
    for key, values in parse_qs(query, keep_blank_values=True).items():
        page.query_params[key] = values
    try:
        page.run()
    except Exception as error:  # what an attack looks for
        campaign.escaped.append(f"{what}: {type(error).__name__}: {str(error)[:200]}")
        return
    said = [element.value for element in page.error]
    defects = [*(element.value for element in page.exception), *(each for each in said if "A defect" in each)]
    campaign.refused += bool(said)
    campaign.escaped += [f"{what}: {each[:300]}" for each in defects]


def _odd_query(rng: np.random.Generator) -> str:
    """Return what follows the question mark: settings of all pages with odd values, repeated, unknown, half-encoded."""
    parts = []
    for _ in range(int(rng.integers(1, 11))):
        name = (
            str(rng.choice(list(DEFAULTS))) if rng.random() < 0.95 else str(rng.choice(["evil", "", "SPACE", "\x00"]))
        )
        value = _axes(rng) if name == "axes" and rng.random() < 0.8 else _text(rng)
        parts += [f"{quote(name)}={quote(value)}"] * (2 if rng.random() < 0.05 else 1)
    query = "&".join(parts)
    if rng.random() < 0.1:  # half-encoded, or cut in the middle of a letter
        cut = int(rng.integers(len(query) + 1))
        query = query[:cut] + str(rng.choice(["%", "%f", "%ff%fe", "&&=&", ";", "#", "%00", ""]))
    return query


def _text(rng: np.random.Generator) -> str:
    if rng.random() < 0.15:
        return str(rng.choice([value for value in DEFAULTS.values() if value]))
    parts = [_ODD_TEXTS[int(rng.integers(len(_ODD_TEXTS)))] for _ in range(2 if rng.random() < 0.15 else 1)]
    return str(rng.choice(["\n", " ", ","])).join(parts)


def _axes(rng: np.random.Generator) -> str:
    """Return pinned axes: of one name, without a name, of odd words, of sources and methods there are not."""
    lines = []
    for _ in range(int(rng.integers(1, 5))):
        high, low = EXAMPLES["gender"] if rng.random() < 0.5 else (_text(rng), _text(rng))
        fields = {"name": _text(rng)[:50], "source": str(rng.choice(["lists", "lexicon", "upload", "x", ""])),
                  "high": high, "low": low, "lexicon": _text(rng)[:50], "method": _text(rng)[:50],
                  "without": _text(rng)[:50]}  # fmt: skip
        lines.append(urlencode(fields))
    return "\n".join(lines)


def small_space() -> WordSpace:
    """Return the words that the explorer starts with, among the most frequent of the bundled space."""
    whole = load_space("googlenews-26k")
    named = " ".join([DEFAULTS["high"], DEFAULTS["low"], DEFAULTS["pairs"], *map(" ".join, EXAMPLES.values())])
    needed = set(named.split())
    rows = [row for row, word in enumerate(whole.words) if row < 1500 or word in needed]
    return WordSpace([whole.words[row] for row in rows], whole.vectors[rows], name="small")


ATTACKS_ON_PROGRAMS: dict[str, tuple[Callable[..., Campaign], int, int]] = {
    "command lines": (attack_commands, 1_020, 68),
    "addresses": (attack_addresses, 1_200, 90),
}
"""Each attack, how much the slow run tries, and how much the default run."""
