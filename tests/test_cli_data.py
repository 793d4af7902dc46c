"""``densray data …``: what there is, where it lies, how to get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from densray.cli.entry import run
from densray.datasets import list_datasets, path_of


def test_list_names_every_data_set_with_source_and_licence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == [entry.name for entry in list_datasets()]
    keys = {"name", "kind", "title", "source", "licence", "citation", "size", "checksums", "embedded", "place"}
    assert all(set(row) == keys for row in rows)
    embedded = next(row for row in rows if row["name"] == "googlenews-26k")
    assert embedded["place"] == "in the package"
    assert embedded["size"] > 1e6


def test_list_shows_one_kind_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "list", "--kind", "lexicon"]) == 0
    printed = capsys.readouterr().out
    assert "hu-liu" in printed
    assert "googlenews" not in printed


def test_list_fits_eighty_columns_with_what_is_at_hand_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("densray.cli.terminal._PIPE_WIDTH", 80)
    assert run(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith(" name ") for line in lines) == 1  # one table, not parts of one
    text = "\n".join(lines)
    assert text.index(" at hand") < text.index("googlenews-26k") < text.index("data fetch NAME")
    assert "Apache" not in text
    assert run(["data", "list", "--details"]) == 0
    assert "Apache" in capsys.readouterr().out


def test_path_and_fetch_say_where_a_set_lies(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("path", "fetch"):
        assert run(["data", command, "google"]) == 0
        assert capsys.readouterr().out == f"{path_of('google')}\n"
        assert run(["data", command, "google", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"name": "google", "path": str(path_of("google"))}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["data", "path", "bast"], "Did you mean 'bats'"),
        (["data", "fetch", "gogle"], "Did you mean 'google'"),
        (["data", "list", "--kind", "lexica"], "Did you mean 'lexicon'"),
        (["data", "path", "mpqa"], "not on this machine"),
        (["data", "fetch", "mpqa"], "mpqa"),
        (["data"], "Missing command"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DENSRAY_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert line in printed.err
    assert not list(tmp_path.rglob("*.*"))
