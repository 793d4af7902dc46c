"""Files that cannot be used end as one line, exit code 2, and nothing written."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from densray import save_rotation
from densray.cli.entry import run
from densray.formats import write_space
from densray.rotations import make_rotation
from planted import planted_space


def _pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return stream.getvalue()


def _bare() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.eye(3))
    return stream.getvalue()


FILES: dict[str, tuple[str, bytes]] = {
    "empty": ("bad.txt", b""),
    "fewer rows than declared": ("bad.txt", b"3 2\na 1 2\nb 3 4\n"),
    "width that lies": ("bad.txt", b"2 3\na 1 2\nb 3 4\n"),
    "absurd header": ("bad.bin", b"9999999999999 9999999\na " + bytes(8)),
    "truncated binary": ("bad.bin", b"2 3\na " + np.ones(3, "<f4").tobytes() + b"b " + bytes(5)),
    "too few numbers": ("bad.txt", b"2 2\na 1 2\nb 3\n"),
    "too many numbers": ("bad.txt", b"2 2\na 1 2\nb 3 4 5\n"),
    "not a number": ("bad.txt", b"2 2\na 1 2\nb 3 x\n"),
    "not UTF-8": ("bad.txt", b"2 2\na 1 2\n\xff\xfe 3 4\n"),
    "NaN": ("bad.txt", b"2 2\na 1 2\nb nan 4\n"),
    "infinite": ("bad.txt", b"2 2\na 1 2\nb inf 4\n"),
    "duplicate words": ("bad.txt", b"2 2\na 1 2\na 3 4\n"),
    "pickled array": ("bad.npy", _pickled()),
    "pickle": ("bad.pkl", pickle.dumps({"a": [1.0]})),
    "a picture": ("bad.bin", b"\x89PNG\r\n\x1a\n" + bytes(64)),
}


def run_quietly(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must fail as bad input, and return its one line."""
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    return printed.err


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_space_is_named_and_nothing_is_written(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content = FILES[case]
    source = tmp_path / name
    source.write_bytes(content)
    line = run_quietly(["convert", str(source), "-o", str(tmp_path / "out.densray"), "--json"], capsys)
    assert "bad." in line
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_quietly(["convert", str(tmp_path), "-o", str(tmp_path / "out.bin")], capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04broken", pickle.dumps([1]), _pickled(), _bare()])
def test_a_file_that_is_no_axis_is_named(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "axis.npz").write_bytes(content)
    arguments = ["rotate", "googlenews-26k", str(tmp_path / "axis.npz"), "-o", str(tmp_path / "out.bin")]
    assert "axis.npz" in run_quietly(arguments, capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["axis.npz"]


def test_an_archive_of_other_things_is_no_axis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(tmp_path / "axis.npz", "w") as archive:
        archive.writestr("notes.txt", "hello")
    arguments = ["erase", "googlenews-26k", str(tmp_path / "axis.npz"), "-o", str(tmp_path / "out.bin")]
    assert "axis.npz" in run_quietly(arguments, capsys)


AXIS, SPACE, LIST = (
    "It is a saved axis, to be used on the space it was fitted on.",
    "It holds word vectors, to be given as the space.",
    "It is a word list, to fit an axis from.",
)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["diagnose", "space.txt", "axis.npz"], AXIS),
        *(
            (["diagnose", "space.txt", f"space.{ending}"], SPACE)
            for ending in ("txt", "bin", "densray", "npz", "glove")
        ),
        (["diagnose", "space.txt", "space.parquet"], "It is a parquet file"),
        (["diagnose", "axis.npz", "lexicon.tsv"], AXIS),
        (["diagnose", "lexicon.tsv", "lexicon.tsv"], LIST),
        (["info", "lexicon.csv"], LIST),
        (["info", "one.txt"], "convert it with densray convert --source-format."),
        (["evaluate", "analogy", "space.txt", "--set", "lexicon.tsv"], "words and labels ("),
        (["evaluate", "analogy", "space.txt", "--set", "lexicon.csv"], "a lexicon, to fit an axis from"),
        (["induce", "space.txt", "one.txt", "-o", "x.csv"], "two lists of words without labels: --high, --low"),
        (["fit", "space.txt", "junk", "-o", "x.npz"], "junk: this is not a text file. One entry per line is needed."),
        (["convert", "axis.npz", "-o", "x.txt"], AXIS),
        (["rotate", "space.txt", "space.bin", "-o", "x.txt"], SPACE),
        (["erase", "space.txt", "space.npz", "-o", "x.txt"], SPACE),
        (["rotate", "space.txt", "lexicon.tsv", "-o", "x.txt"], LIST),
        (["induce", "space.txt", "space.npz", "-o", "x.csv"], SPACE),
    ],
)
def test_a_file_of_another_kind_is_named_for_what_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    space, lexicon = planted_space()
    for ending in ("txt", "bin", "densray", "npz", "parquet"):
        write_space(space, tmp_path / f"space.{ending}")
    write_space(space, tmp_path / "space.glove", format="glove")
    Path("lexicon.tsv").write_text("".join(f"{word}\t{label:g}\n" for word, label in lexicon.items()))
    Path("lexicon.csv").write_text("".join(f"{word},{label:g}\n" for word, label in lexicon.items()))
    Path("one.txt").write_text("\n".join(space.words))
    Path("junk").write_bytes(bytes(range(256)))
    save_rotation(make_rotation("mean-difference").fit(space.vectors[[0, 399]], [1, -1]), "axis.npz", space=space)
    assert run(arguments) == 2
    message = capsys.readouterr().err
    assert says in message
    assert message.count("\n") == 1
    assert len(message) < 300
    assert not Path("x.txt").exists()


def _zipped(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "<xml/>")
    return stream.getvalue()


#: Files of other programs, and what they are called.
FOREIGN: dict[str, tuple[bytes, str]] = {
    "doc.pdf": (b"%PDF-1.7\n1 0\nobj <<\n", "a PDF"),
    "doc.docx": (_zipped("[Content_Types].xml", "_rels/.rels", "word/document.xml"), "a Word document (.docx)"),
    "table.xlsx": (_zipped("docProps/app.xml", "xl/workbook.xml", "[Content_Types].xml"), "an Excel file (.xlsx)"),
    "table.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64), "an old Office file"),
    "picture.png": (b"\x89PNG\r\n\x1a\n" + bytes(64), "a picture (PNG)"),
    "picture.jpg": (b"\xff\xd8\xff\xe0" + bytes(64), "a picture (JPEG)"),
    "page.html": (b"\xef\xbb\xbf\n<!DOCTYPE html>\n<html><body>", "a web page"),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("command", ["info FILE", "convert FILE -o x.txt", "diagnose space.txt FILE",
                                     "rotate space.txt FILE -o x.txt"])  # fmt: skip
def test_a_file_of_another_program_is_named_for_what_it_seems_to_be(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    content, kind = FOREIGN[name]
    Path(name).write_bytes(content)
    write_space(planted_space()[0], "space.txt")
    line = run_quietly(command.replace("FILE", name).split(), capsys)
    assert f"seems to be {kind}" in line
    assert not Path("x.txt").exists()


def test_what_is_inside_a_packed_file_is_named_and_packed_words_are_to_be_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("doc.pdf.gz").write_bytes(gzip.compress(FOREIGN["doc.pdf"][0]))
    Path("words.tsv.gz").write_bytes(gzip.compress(b"good\t1\nbad\t-1\n"))
    write_space(planted_space()[0], "space.txt")
    assert "seems to be a PDF" in run_quietly(["info", "doc.pdf.gz"], capsys)
    assert "packed with gzip; unpack it first" in run_quietly(["diagnose", "space.txt", "words.tsv.gz"], capsys)
