"""Files and lists as people have them: Excel exports, other encodings, other case, odd separators."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from densray import Axis, Lexicon, WordSpace, load_space
from densray._text_files import TextTable
from densray.axes import diagnose_classes, evaluate_ratings
from densray.cli.app import command
from densray.cli.entry import run
from densray.errors import (
    CoverageError,
    DataError,
    DensRayError,
    EncodingDetectedWarning,
    FormatError,
    HeaderDetectedWarning,
    LabelError,
    LexiconError,
    MissingCodeWarning,
    TableError,
    TaskError,
)
from densray.formats import read_space, write_space
from densray.ratings import Ratings
from densray.tables import LabelledTable, open_table

HIGH = ["schön", "gut", "nett", "prächtig", "lieb", "gelungen", "froh", "süß"]
LOW = ["böse", "übel", "mies", "fad", "hässlich", "schlecht", "schrecklich", "trüb"]
WORDS = [*HIGH, *LOW, *(f"wort{number}" for number in range(20))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a German space, ``space.densray``."""
    write_space(german_space(), tmp_path / "space.densray")
    return tmp_path


def german_space() -> WordSpace:
    vectors = np.random.default_rng(0).standard_normal((len(WORDS), 6))
    vectors[:8, 0] += 3
    vectors[8:16, 0] -= 3
    return WordSpace(WORDS, vectors)


def lexicon_text(delimiter: str = ";", header: str = "word;label") -> str:
    entries = [*((word, 1) for word in HIGH), *((word, -1) for word in LOW)]
    return "\n".join([header.replace(";", delimiter), *(f"{word}{delimiter}{label}" for word, label in entries)]) + "\n"


def diagnosed(folder: Path, capsys: pytest.CaptureFixture[str], *source: str) -> tuple[dict[str, object], str]:
    """Diagnose a lexicon at the command line, and return the result and the notes on stderr."""
    arguments = ["diagnose", str(folder / "space.densray"), *source, "--json", "--n-permutations", "19"]
    code = run(arguments)
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out), printed.err


@pytest.mark.filterwarnings("always::densray.errors.EncodingDetectedWarning")
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_an_excel_export_is_read_and_its_encoding_reported(
    encoding: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "excel.csv"
    path.write_bytes(lexicon_text().replace("\n", "\r\n").encode(encoding))
    found, notes = diagnosed(folder, capsys, str(path))
    assert found["n_seeds"] == 16
    assert f"excel.csv is not UTF-8. It was read as {encoding}. Check 'schön'" in notes


def test_composed_and_decomposed_umlauts_are_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "mac.csv"
    path.write_text(unicodedata.normalize("NFD", lexicon_text()), encoding="utf-8")
    assert diagnosed(folder, capsys, str(path))[0]["n_seeds"] == 16
    space = german_space()
    decomposed = WordSpace([unicodedata.normalize("NFD", word) for word in space.words], space.vectors)
    assert len(Lexicon.read(path).align(space)) == 16
    assert len(Lexicon(dict.fromkeys(HIGH, 1)).align(decomposed, any_case=False)) == len(HIGH)
    assert unicodedata.normalize("NFD", "schön") in space


def test_case_is_ignored_and_reported_if_only_one_word_matches(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "upper.csv"
    path.write_text(lexicon_text().upper().replace("WORD;LABEL", "word;label"), encoding="utf-8")
    arguments = ["diagnose", str(folder / "space.densray"), str(path), "--n-permutations", "19"]
    assert run(arguments) == 0
    assert "15 words were found in another case: SCHÖN (schön), GUT (gut), NETT (nett), …" in capsys.readouterr().out
    assert run([*arguments, "--match-case"]) == 2
    assert "--any-case" in capsys.readouterr().err


def test_a_word_with_several_spellings_in_the_space_is_not_guessed() -> None:
    space = WordSpace(["polish", "Polish", "Nail", "good"], np.eye(4))
    lexicon = Lexicon({"POLISH": 1, "nail": -1, "good": 1})
    rows = lexicon.align(space)
    assert (set(rows.names), rows.missing, dict(rows.other_case)) == ({"good", "Nail"}, ("POLISH",), {"nail": "Nail"})
    assert lexicon.align(space, any_case=False).names == ("good",)
    assert set(lexicon.align(space, any_case=True).names) == {"polish", "Nail", "good"}
    assert "nail (Nail)" in rows.case_note


def write_workbook(path: Path, rows: list[list[str | float]], *, other_sheets: tuple[str, ...] = ()) -> None:
    """Write an Excel file with the sheet "Words", and perhaps others without content."""
    cells = "".join(
        "<row>"
        + "".join(
            f'<c t="inlineStr"><is><t>{cell}</t></is></c>' if isinstance(cell, str) else f"<c><v>{cell}</v></c>"
            for cell in row
        )
        + "</row>"
        for row in rows
    )
    main, office = (
        f"http://schemas.openxmlformats.org/{name}" for name in ("spreadsheetml/2006", "officeDocument/2006")
    )
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}/main" xmlns:r="{office}/relationships"><sheets>'
        '<sheet name="Words" sheetId="1" r:id="r1"/>'
        + "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r1"/>' for n, name in enumerate(other_sheets, start=2))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}/main"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')


def test_an_excel_file_is_a_lexicon(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
    path = folder / "words.xlsx"
    entries: list[list[str | float]] = [["Wort", "Wert"]]
    entries += [[word, 1 if word in HIGH else -0.5] for word in WORDS[:16]]
    write_workbook(path, entries)
    assert dict(Lexicon.read(path).items())["schön"] == 1.0
    assert diagnosed(folder, capsys, str(path))[0]["n_seeds"] == 16
    assert run(["diagnose", str(path), str(path)]) == 2
    assert "is not a space" in capsys.readouterr().err


@pytest.mark.parametrize("header", [[["word", "label"]], []])
def test_numbers_of_an_excel_file_keep_all_digits(header: list[list[str | float]], tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
    labels = {"gut": 0.1234567890123456, "schlecht": -1e-11, "mies": -3.0}
    write_workbook(tmp_path / "words.xlsx", [*header, *([word, label] for word, label in labels.items())])
    assert dict(Lexicon.read(tmp_path / "words.xlsx").items()) == labels


@pytest.mark.filterwarnings("ignore::densray.errors.EncodingDetectedWarning")
@pytest.mark.parametrize("name", ["words.tsv", "words.xlsx"])
@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (("0,618", "-0,125", "-0,5"), [0.618, -0.125, -0.5]),
        (("1,618", "-1,125", "0,5"), [1.618, -1.125, 0.5]),
        (("1,618", "1234,567", "-2"), [1.618, 1234.567, -2.0]),
    ],
)
def test_a_decimal_comma_is_read_where_it_cannot_separate_thousands(
    name: str, numbers: tuple[str, ...], expected: list[float], tmp_path: Path
) -> None:
    rows: list[list[str | float]] = [["Wort", "Wert"], *map(list, zip("abc", numbers, strict=True))]
    if name == "words.xlsx":
        pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
        write_workbook(tmp_path / name, rows)
    else:
        (tmp_path / name).write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-16")
    assert Lexicon.read(tmp_path / name, header=True).labels.tolist() == expected
    assert Ratings.read(tmp_path / name).values.tolist() == expected


def test_numbers_of_an_excel_file_are_read_next_to_texts_of_numbers(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
    values: dict[str, str | float] = {"gut": 0.54, "mies": "1,05", "nett": 2.543, "fad": 884, "lieb": 0.12345678901234}
    write_workbook(tmp_path / "words.xlsx", [["Wort", "Wert"], *([word, value] for word, value in values.items())])
    expected = {word: 1.05 if word == "mies" else value for word, value in values.items()}
    assert dict(Lexicon.read(tmp_path / "words.xlsx").items()) == expected
    assert Ratings.read(tmp_path / "words.xlsx").values.tolist() == list(expected.values())
    write_workbook(tmp_path / "words.xlsx", [["Wort", "Wert"], ["gut", "2.543"], ["mies", 884]])
    for read in (Lexicon.read, Ratings.read):
        with pytest.raises(LexiconError, match=r"line 2: .*'2\.543' may be a decimal number or thousands"):
            read(tmp_path / "words.xlsx")


def test_errors_about_an_excel_file_name_its_sheet_if_there_are_others(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
    rows: list[list[str | float]] = [["siehe", "Blatt", "zwei"]]
    write_workbook(tmp_path / "words.xlsx", rows, other_sheets=("Daten",))
    note = r"Only the first sheet of words\.xlsx, 'Words', was read; the sheet 'Daten' was not\. .* save their sheet as CSV"
    with pytest.raises(LexiconError, match=note):
        Lexicon.read(tmp_path / "words.xlsx")
    write_workbook(tmp_path / "words.xlsx", [["Siehe Blatt", 2], ["Seite", 3]], other_sheets=("Daten",))
    lexicon, ratings = Lexicon.read(tmp_path / "words.xlsx"), Ratings.read(tmp_path / "words.xlsx")
    assert re.search(note, lexicon.notes[-1])
    axis = Axis.fit(Lexicon.from_word_lists(HIGH, LOW).align(german_space()))
    for use in (
        lambda: lexicon.align(german_space()),
        lambda: lexicon.without(["Seite"]).align(german_space()),
        lambda: ratings.align(german_space()),
        lambda: evaluate_ratings(german_space(), ratings, axis=axis),
    ):
        with pytest.raises(DensRayError, match=f"'Siehe Blatt'.*{note}"):
            use()


def test_lines_of_an_excel_file_are_counted_from_its_first_row(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
    path = tmp_path / "words.xlsx"
    write_workbook(path, [["Wort", "Wert"], ["gut", 0.25], ["mies", "schlecht"], ["fad", 0.125]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].replace("<row>", '<row r="4">', 1).replace("<c ", '<c r="C4" ', 1)
    parts["xl/worksheets/sheet1.xml"] = sheet.replace("<row>", "<row><c/><c/>")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(LexiconError, match="line 6: label 'schlecht'"):
        Lexicon.read(path)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("words.csv", ["2.543", "884", "1.120"], None),
        ("words.tsv", ["2.543", "884", "1.120"], None),
        ("words.json", ["2.543", "884", "1.120"], None),
        ("words.csv", ["-2.543", "0", "1.120"], None),
        ("words.csv", ["2.543", "884", "0.120"], [2.543, 884.0, 0.12]),
        ("words.csv", ["2.543", "884", "1.12"], [2.543, 884.0, 1.12]),
        ("words.csv", ["2.543", "884", "1e3"], [2.543, 884.0, 1000.0]),
        ("words.csv", ["2.543", "3.884", "1.120"], [2.543, 3.884, 1.12]),
        ("semicolons.csv", ["2.543", "3.884", "1.120"], None),
        ("semicolons.csv", ["0.618", "1.234", "2.000"], [0.618, 1.234, 2.0]),
        ("semicolons.csv", ["1.234,5", "0,5", "2,25"], None),
    ],
)
def test_a_point_is_a_decimal_point_only_if_it_cannot_separate_thousands(
    name: str, values: list[str], expected: list[float] | None, tmp_path: Path
) -> None:
    delimiter = {"words.tsv": "\t", "semicolons.csv": ";"}.get(name, ",")
    lines = [f"{word}{delimiter}{value}" for word, value in zip(["gut", "mies", "nett"], values, strict=True)]
    text = json.dumps(dict(zip("abc", values, strict=True))) if name == "words.json" else "\n".join(["word,x", *lines])
    (tmp_path / name).write_text(text.replace("word,x", f"word{delimiter}rating"), encoding="utf-8")
    readers: list[Callable[[Path], object]] = [lambda path: Lexicon.read(path).labels.tolist()]
    if name != "words.json":
        readers.append(lambda path: Ratings.read(path).values.tolist())
    for read in readers:
        if expected is None:
            with pytest.raises(LexiconError, match="thousands"):
                read(tmp_path / name)
        else:
            assert read(tmp_path / name) == expected


def test_texts_of_numbers_from_other_programs_are_refused_if_their_points_are_doubtful() -> None:
    with pytest.raises(LexiconError, match=r"'2\.543' may be a decimal number or thousands"):
        Lexicon([("gut", "2.543"), ("mies", "884")])
    frame = pl.DataFrame({"id": ["a", "b"], "seats": ["2.543", "884"], "vector": [[1.0, 0.0], [0.0, 1.0]]})
    with pytest.raises(LabelError, match=r"row 1, column 'seats': '2\.543' may be a decimal number or thousands"):
        Ratings.from_table(frame, "seats")


def test_an_excel_file_without_its_reader_says_how_to_get_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "words.xlsx"
    write_workbook(path, [["gut", 1], ["mies", -1]])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    assert run(["diagnose", str(folder / "space.densray"), str(path)]) == 2
    complaint = capsys.readouterr().err
    assert "densray[excel]" in complaint
    assert "save it as .csv" in complaint


@pytest.mark.parametrize("joint", [",", ";", " ", "\n", "; "])
def test_lists_of_words_have_any_usual_separator(joint: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = diagnosed(folder, capsys, "--high", joint.join(HIGH), "--low", joint.join(LOW))
    assert found["n_seeds"] == 16


def test_the_first_error_about_columns_lists_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "three.csv"
    path.write_text("Nr,Begriff,Urteil\n1,gut,1\n2,mies,-1\n", encoding="utf-8")
    assert run(["diagnose", str(folder / "space.densray"), str(path)]) == 2
    complaint = capsys.readouterr().err
    assert "3 columns: 'Nr', 'Begriff', 'Urteil'" in complaint
    assert "--word-column" in complaint


def test_a_missing_file_is_reported_with_one_full_stop(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for arguments in (["space.densray", "none.csv"], ["none.vec", "none.csv"], ["space.densray", "--high", "none.txt"]):
        assert run(["diagnose", *arguments]) == 2
        assert ".." not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("compare", "evaluate methods"),
        ("train", "fit"),
        ("rank", "induce"),
        ("debias", "erase"),
        ("nearest", "neighbors"),
        ("plot", "explore"),
        ("serve", "explore"),
        ("help", "--help"),
        ("cite", "diagnose --bibtex"),
        ("load", "info or densray convert"),
    ],
)
def test_a_command_of_another_name_is_suggested_by_its_meaning(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed]) == 2
    assert f"Use densray {meant}." in capsys.readouterr().err


def test_every_suggested_command_exists_and_no_command_is_hidden_by_a_suggestion() -> None:
    from densray.cli.app import _MEANT

    root = command()
    for typed, meant in _MEANT.items():
        assert typed not in root.commands
        for one in meant.replace("densray ", "").split(" or "):
            at = root
            for name in one.split():
                if name.startswith("--"):
                    assert name in (option for each in at.get_params(at.context_class(at)) for option in each.opts)
                else:
                    at = at.commands[name]


def vector_tables() -> dict[str, Callable[[pl.DataFrame, pl.DataFrame, Path], object]]:
    """Return how each kind of table of words and vectors is written: one column per number, or lists."""
    return {
        "comma.csv": lambda wide, _, path: wide.write_csv(path),
        "german.csv": lambda wide, _, path: path.write_text(
            wide.rename({"word": "Wort"}).write_csv(separator=";").replace(".", ",")
        ),
        "tab.tsv": lambda wide, _, path: wide.write_csv(path, separator="\t"),
        "last.csv": lambda wide, _, path: wide.select(*wide.columns[1:], "word").write_csv(path),
        "lists.jsonl": lambda _, lists, path: lists.write_ndjson(path),
        "wide.feather": lambda wide, _, path: wide.write_ipc(path),
        "lists.arrow": lambda _, lists, path: lists.write_ipc(path),
    }


@pytest.mark.parametrize("name", vector_tables())
def test_vectors_in_a_table_are_read(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = german_space()
    wide = pl.DataFrame({"word": WORDS, **{f"d{axis}": space.vectors[:, axis] for axis in range(space.width)}})
    lists = pl.DataFrame({"word": WORDS, "vector": space.vectors.tolist()})
    vector_tables()[name](wide, lists, folder / name)
    read = load_space(folder / name)
    assert list(read.words) == WORDS
    np.testing.assert_allclose(read.vectors, space.vectors, rtol=1e-6)
    assert list(load_space(folder / name, limit=3).words) == WORDS[:3]
    (folder / "seeds.csv").write_text(lexicon_text(), encoding="utf-8")
    assert run(["fit", str(folder / name), str(folder / "seeds.csv"), "-o", str(folder / "axis"), "--no-judge"]) == 0
    assert "16 seeds" in capsys.readouterr().out


@pytest.mark.parametrize("header", ["word,frequency,length\n", ""])
def test_a_csv_file_without_numbered_columns_says_how_to_name_them(header: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(f"{header}good,10,4.5\nbad,8,3.5\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"such as word,d0,d1,d2"):
        read_space(path)


@pytest.mark.parametrize(("delimiter", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", ".")])
def test_a_csv_file_of_words_and_numbers_needs_no_column_names(delimiter: str, decimal: str, tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    lines = [[word, *map(str, vector)] for word, vector in zip(WORDS[:5], vectors.tolist(), strict=True)]
    path = tmp_path / "vectors.csv"
    path.write_text("\n".join(delimiter.join(line).replace(".", decimal) for line in lines), encoding="utf-8")
    space = load_space(path)
    assert list(space.words) == WORDS[:5]
    np.testing.assert_array_equal(space.vectors, vectors)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i,word,freq,d0,d1\n0,good,9,0.5,1\n", r"line 1: 'i', 'freq' are named next to 2 numbered.*'word'"),
        ("word,freq,d0,d1\ngood,9,0.5,1\n", r"line 1: 'freq' is named next to 2 numbered columns \('d0' to 'd1'\)"),
        ("text,label,d0,d1\ngood,x,0.5,1\n", r"'text', 'label' are named.* all columns but the words and"),
        ("0,good,0.5,1\n1,bad,0.25,2\n", r"line 1: '0,good,0.5,1' does not number the columns"),
        ("\x00\x01 no vectors", r"byte 0: '\\x00\\x01 no vectors\\n' is not a known format"),
    ],
)
def test_a_csv_file_that_cannot_be_read_says_why_without_bytes(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.csv"
    path.write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        read_space(path)
    assert "b'" not in str(caught.value)


def test_an_erasure_of_fifteen_words_measures_what_it_can(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    high, low = ",".join(HIGH), ",".join(LOW[:7])
    target = str(folder / "clean.densray")
    assert run(["erase", str(folder / "space.densray"), "--high", high, "--low", low, "-o", target, "--json"]) == 0
    remains = json.loads(capsys.readouterr().out)["remains"]
    assert remains["tested_on"] >= 6
    assert remains["reason"] is None
    assert all(probe["low"] < probe["after"] < probe["high"] for probe in remains["probes"])
    assert run(["erase", str(folder / "space.densray"), "--high", high, "--low", low, "-o", target, "--overwrite"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.lower().count("too few rows to say how much is left") == 1
    linear = next(probe for probe in remains["probes"] if probe["model"] == "linear")
    assert f"a linear model has AUC {linear['after']:.2f} [{linear['low']:.2f}, {linear['high']:.2f}] (before" in said


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_ratings_and_lexicons_with_decimal_commas_are_those_with_decimal_points(tmp_path, delimiter, encoding) -> None:
    from densray.ratings import Ratings

    values = {"gut": 7.28, "schlecht": -1.5, "müde": 2.0, "fröhlich": 6.75}
    for name, point in (("comma", ","), ("point", ".")):
        lines = [
            delimiter.join(["wort", "wert"]),
            *(f"{word}{delimiter}{str(value).replace('.', point)}" for word, value in values.items()),
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding=encoding)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EncodingDetectedWarning)
        lexicons = [Lexicon.read(tmp_path / f"{name}.csv") for name in ("comma", "point")]
        ratings = [Ratings.read(tmp_path / f"{name}.csv") for name in ("comma", "point")]
    assert all({word: lexicon[word] for word in values} == values for lexicon in lexicons)
    np.testing.assert_array_equal(ratings[0].values, ratings[1].values)
    assert list(ratings[0].items) == list(values)


def test_a_comma_between_tabs_that_may_mean_thousands_is_refused(tmp_path) -> None:
    (tmp_path / "thousands.tsv").write_text("word\tlabel\nfew\t1,234\nmany\t2,345\n", encoding="utf-8")
    with pytest.raises(LexiconError, match="1,234"):
        Lexicon.read(tmp_path / "thousands.tsv")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["schön;2,5", "gut;1.770"], r"'1.770' has a decimal point, and '2,5' in line 2 has a decimal comma"),
        (["schön;1.5", "gut;2,5"], r"'2,5' has a decimal comma, and '1.5' in line 2 has a decimal point"),
        (["schön;3", "gut;-"], r"'-' is only a sign, and '3' in line 2 is a score"),
        (["schön;+", "gut;3"], r"'3' is a score, and '\+' in line 2 is only a sign"),
        (["schön;-1", "gut;-"], r"'-' is only a minus sign, and '-1' in line 2 is a number"),
        (["schön;−", "gut;−1"], r"'−1' is a number, and '−' in line 2 is only a minus sign"),
    ],
)
def test_two_notations_of_numbers_in_one_file_are_refused(lines: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("\n".join(["word;label", *lines]))
    with pytest.raises(LexiconError, match=f"line 3: {message}"):
        Lexicon.read(tmp_path / "words.csv")


def test_signs_alone_are_labels_among_classes(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("word;label\ngut;+\nschlecht;-\nnett;1\n")
    assert Lexicon.read(tmp_path / "words.csv").labels.tolist() == [1.0, -1.0, 1.0]


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ([1.0, 2.0, 5.0, -99.0, -99.0], "2 labels are -99, far from the others \\(1 to 5\\)"),
        ([1.0, 2.0, 5.0, -9.0], "1 label is -9,"),
        ([-1.5, 2.0, 999.0], "1 label is 999,"),
        ([1.0, 50.0, 99.0], None),  # ages
        ([-12.0, -9.0, 3.0], None),
        ([1.0, -1.0], None),
    ],
)
def test_codes_of_missing_answers_are_pointed_out(scores: list[float], told: str | None, tmp_path: Path) -> None:
    lines = [f"{word};{score:g}" for word, score in zip(WORDS, scores, strict=False)]
    (tmp_path / "words.csv").write_text("\n".join(["word;valence", *lines]))
    frame = pl.DataFrame({"valence": scores, "vector": np.random.default_rng(0).normal(size=(len(scores), 3))})
    sources: list[Callable[[], object]] = [
        lambda: Lexicon.read(tmp_path / "words.csv", label_column="valence", word_column="word", neutral="keep"),
        lambda: Ratings.read(tmp_path / "words.csv"),
        lambda: open_table(frame).rows("valence"),
        lambda: LabelledTable.of(open_table(frame), "valence"),
        lambda: Ratings.from_table(frame, "valence"),
    ]
    for read in sources:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read()
        messages = [str(each.message) for each in caught if each.category is MissingCodeWarning]
        if told is None:
            assert not messages
        else:
            assert len(messages) == 1
            assert re.search(told, messages[0])


def test_a_line_of_several_words_in_a_list_of_words_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "high.txt"
    path.write_text("good;great;excellent\nwonderful\n", encoding="utf-8")
    with pytest.raises(LexiconError, match="line 1: 'good', 'great', 'excellent' are 3 fields of one line"):
        Lexicon.from_word_lists(path, ["bad", "nasty"])


def test_a_first_line_that_names_the_column_of_words_is_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "high.txt"
    path.write_text("words\ngood\ngreat\n", encoding="utf-8")
    with pytest.warns(HeaderDetectedWarning, match="the first line, 'words', counts as a word"):
        assert Lexicon.from_word_lists(path, ["bad", "nasty"]).words[0] == "words"


@pytest.mark.parametrize(
    ("name", "lines", "headings"),
    [
        ("a.csv", ["term:", "rich"], "line, 'term:', counts as a word"),
        ("high.txt", ["high:", "Rome"], "line, 'high:', counts as a word"),
        ("high.csv", ["Wort", "rich"], "line, 'Wort', counts as a word"),
        ("high.txt", ["Positive", "rich"], "line, 'Positive', counts as a word"),
        ("reich.csv", ["Reich", "rich"], "line, 'Reich', counts as a word"),
        ("h_reich.csv", ["Reich", "rich"], "line, 'Reich', counts as a word"),
        ("a.csv", ["My good words", *"abcde"], "line, 'My good words', counts as a word"),
        ("a.csv", ["Liste gut", "Wort", "rich", "posh"], "two lines, 'Liste gut' and 'Wort', count as words"),
    ],
)
def test_headings_of_a_list_of_words_are_pointed_out(
    name: str, lines: list[str], headings: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.warns(HeaderDetectedWarning, match=f"{name}: the first {headings}. Delete what is a heading"):
        assert Lexicon.from_word_lists(tmp_path / name, ["poor"]).words == (*lines, "poor")
    assert len(Lexicon.from_word_lists(lines, ["poor"])) == len(lines) + 1  # typed words are words


def test_headings_of_a_list_of_words_in_an_excel_file_are_pointed_out(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
    write_workbook(tmp_path / "high.xlsx", [["Liste reich"], ["Wort"], ["rich"], ["posh"]])
    with pytest.warns(HeaderDetectedWarning, match="high.xlsx: the first two lines"):
        Lexicon.from_word_lists(tmp_path / "high.xlsx", ["poor"])
    write_workbook(tmp_path / "high.xlsx", [["Wort", "Bemerkung"], ["rich", "gut"]])
    with pytest.raises(LexiconError, match="line 1: 'Wort', 'Bemerkung' are 2 fields of one line"):
        Lexicon.from_word_lists(tmp_path / "high.xlsx", ["poor"])


@pytest.mark.parametrize(
    "words",
    [
        ["New York", "Los Angeles", "Rome", "Bern", "Oslo"],  # names of several words are no titles
        ["rich", "New York, N.Y.", "10,000", "posh"],
        [":)", ";)", ";D", "R&amp;B", ";", "posh"],
        ["well-to-do", "a", "b"],
        ["New York", "Rome", "Bern", "Paris"],
        ["New York City", "Rome", "Bern", "Paris", "Oslo", "Kyoto"],
        ["ice cream", "cake", "bread", "soup", "jam", "tea"],
        ["hot ice cream", "cake", "bread", "soup", "jam", "tea"],
        ["rich", "wealthy", "affluent"],  # the first word, or its end, is also the name of the file
        ["Reichtum", "Geld", "Luxus"],
        ["positive", "good", "nice"],
        ["high", "tall", "steep"],
        ["low", "small"],
        ["he", "him", "his"],
    ],
)
def test_ordinary_lists_of_words_are_read_as_they_are(words: list[str], tmp_path: Path) -> None:
    for name in ("list.txt", f"{words[0].replace('/', '')}.txt", f"seeds_{words[0].replace('/', '')}.txt"):
        (tmp_path / name).write_text("\n".join(words) + "\n", encoding="utf-8")
        assert Lexicon.from_word_lists(tmp_path / name, ["poor"]).words == (*words, "poor")  # a warning would be raised


@pytest.mark.parametrize("length", [100, 300, 10_000])
def test_words_in_one_text_are_no_file_however_long(length: int) -> None:
    for text in ("x," * length, "x/" * length, "x" * length):
        with pytest.raises(LexiconError, match=r"no such file in .* For words, give a list"):
            Lexicon.from_word_lists(text, ["poor"])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Wort;Bemerkung\nrich;gut\nposh;\n", "line 1: 'Wort', 'Bemerkung' are 2 fields"),
        ("rich;\nposh;sehr\n", "line 2: 'posh', 'sehr' are 2 fields"),
        ("rich, posh, lavish\nnice, good\n", "line 1: 'rich', 'posh', 'lavish' are 3 fields"),
        ("rich\tgut\nposh\tgut\n", "line 1: 'rich', 'gut' are 2 fields"),
    ],
)
def test_a_list_of_words_with_several_fields_per_line_says_so(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    with pytest.raises(LexiconError, match=f"list.csv, {named} of one line. .* Delete the other columns"):
        Lexicon.from_word_lists(tmp_path / "list.csv", ["poor"])


@pytest.mark.parametrize("text", ["rich;\nposh\n", "rich;;\nposh;\n\n", "rich,\nposh,\n", "rich\t\nposh\n"])
def test_empty_columns_next_to_a_list_of_words_do_not_count(text: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    assert Lexicon.from_word_lists(tmp_path / "list.csv", ["poor"]).words == ("rich", "posh", "poor")


def read_lexicon(path: Path) -> dict[str, float]:
    return dict(Lexicon.read(path, neutral="keep").items())


def read_ratings(path: Path) -> dict[str, float]:
    found = Ratings.read(path)
    return dict(zip(found.items, found.values.tolist(), strict=True))


READERS: list[Callable[[Path], object]] = [read_lexicon, read_ratings]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "text",
    [
        "Wort;Wert\n;\ngut;1\n;;\nmies;-1\n;\n",
        ";\nWort;Wert\ngut;1\nmies;-1\n",
        "gut,1\n , \nmies,-1\n,\n",
        'gut;1\n"";""\nmies;-1\n',
        "gut\t1\n\t\nmies\t-1\n",
        "sep=;\nWort;Wert\ngut;1\nmies;-1\n",
        '"SEP=;"\ngut;1\nmies;-1\n',
        "sep=,\ngut,1\nmies,-1\n",
        "sep=|\r\nWort|Wert\r\ngut|1\r\n|\r\nmies|-1\r\n",
        "sep=;;\ngut;1\nmies;-1\n",
    ],
)
def test_empty_rows_and_a_line_that_names_the_delimiter_are_no_entries(
    text: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "words.csv"
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text(text, encoding=encoding, newline="")
        assert read(path) == {"gut": 1.0, "mies": -1.0}
    ratings = Ratings.read(path)
    assert ratings.unrated == ()


def test_empty_rows_of_an_excel_sheet_are_no_entries(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
    write_workbook(tmp_path / "words.xlsx", [["Wort", "Wert"], ["gut", 1], ["", ""], ["mies", -1], [" ", ""], []])
    assert all(read(tmp_path / "words.xlsx") == {"gut": 1.0, "mies": -1.0} for read in READERS)


def test_rows_without_word_and_label_in_a_frame_are_no_entries() -> None:
    frame = pl.DataFrame({"word": ["gut", None, "", "mies", "fad"], "label": [1, None, None, -1, None]})
    assert Lexicon.from_frame(frame).dropped.unlabelled == ("fad",)


def test_lines_keep_their_numbers_below_the_line_that_names_the_delimiter(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("sep=;\ngut;1\n;\nmies;x1\n")
    with pytest.raises(LexiconError, match="line 4: label 'x1'"):
        Lexicon.read(tmp_path / "words.csv")
    (tmp_path / "words.csv").write_text("sep=;\n")
    with pytest.raises(LexiconError, match="the file is empty"):
        Lexicon.read(tmp_path / "words.csv")
    (tmp_path / "words.csv").write_text(";\n;\n")
    for read in (*READERS, lambda path: Lexicon.from_word_lists(path, ["mies"])):
        with pytest.raises(LexiconError, match="all cells are empty"):
            read(tmp_path / "words.csv")


@pytest.mark.parametrize(
    "text", ["sep=;\ngut\nnett\n", "sep=;\ngut;\nnett;\n", "sep=;\ngut;nett\n", "gut;\nnett;\n", '"gut"\n"nett"\n']
)
def test_a_list_of_words_may_be_a_table_of_one_column(text: str, tmp_path: Path) -> None:
    (tmp_path / "high.csv").write_text(text)
    assert Lexicon.from_word_lists(tmp_path / "high.csv", ["mies"]).words == ("gut", "nett", "mies")


@pytest.mark.filterwarnings("ignore::densray.errors.EncodingDetectedWarning")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_table_of_documents_may_name_its_delimiter(encoding: str, tmp_path: Path) -> None:
    text = 'sep=;\r\nart;preis;vector\r\n"schön;\r\nneu";3,5;[1.5, 2]\r\ngut;2,5;[2, 3.5]\r\n'
    (tmp_path / "documents.csv").write_text(text, encoding=encoding, newline="")
    table = open_table(tmp_path / "documents.csv")
    assert table.rows("preis").y.tolist() == [3.5, 2.5]
    assert table.column("art").to_pylist() == ["schön;\r\nneu", "gut"]


def test_two_lists_side_by_side_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "lists.csv"
    message = "words and no labels.* two lists side by side. Put each list in a file of its own, and "
    for first in ("positiv;negativ", "positive;negative", "gut;mies", "Liste A;Liste B"):
        for options in ({}, {"header": True}):
            path.write_text(f"{first}\nhappy;very sad\nnice;nasty\ngood;\n")
            with pytest.raises(LexiconError, match=rf"{message}read them with Lexicon\.from_word_lists\(high, low\)"):
                Lexicon.read(path, **options)
    assert run(["diagnose", str(folder / "space.densray"), str(path)]) == 2
    assert re.search(f"{message}give them as --high and --low", capsys.readouterr().err)


def test_names_of_labels_are_not_taken_for_a_second_list(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text(
        "Wort;Seite\n" + "".join(f"{word};{'links' if word in HIGH else 'rechts'}\n" for word in WORDS[:16])
    )
    with pytest.raises(LexiconError, match=r"line 2: label 'links' is not a number.*label_names"):
        Lexicon.read(path)
    path.write_text("Wort;Wert\ngut;1\nmies;-1\nfad;nein\n")
    with pytest.raises(LexiconError, match=r"line 4: label 'nein' is not a number"):
        Lexicon.read(path)


@pytest.mark.parametrize("name", ["words.csv", "alone.csv", "words.xlsx"])
def test_a_title_above_the_names_of_the_columns_is_pointed_out(name: str, tmp_path: Path) -> None:
    rows: list[list[str | float]] = [["Meine Liste, 2024"], ["Wort", "Wert"], ["gut", 1], ["mies", -1]]
    path = tmp_path / name
    if name == "words.xlsx":
        pytest.importorskip("fastexcel", reason="the extra `excel` (fastexcel) is not installed")
        write_workbook(path, rows)
    else:
        text = "\n".join(";".join(map(str, row)) for row in rows)
        path.write_text(text if name == "alone.csv" else text.replace("2024", "2024;"))
    for options in ({}, {"word_column": "Wort"}, {"header": True}):
        with pytest.raises(LexiconError, match=r"line 1: 'Meine Liste, 2024' seems to be a title.* Delete the row"):
            Lexicon.read(path, **options)
    with pytest.raises(LexiconError, match="line 1: 'Meine Liste, 2024' seems to be a title"):
        Ratings.read(path)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("gut;\nnett;1\nmies;-1\n", {}),
        ("gut;\nnett;positive\nmies;-1\n", {}),
        ("gut;\nnett;hoch\nmies;tief\n", {"label_names": ("tief", "hoch")}),
        ("gut;\nnett;k.A.\nmies;-1\n", {"delimiter": ";"}),
    ],
)
def test_a_first_word_without_label_is_no_title(text: str, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text(text)
    assert "gut" in Lexicon.read(tmp_path / "words.csv", **options).dropped.unlabelled


def test_errors_about_too_few_words_count_the_words_without_label(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "merged.csv"
    for labelled, message in (
        ({"schön": 1, "böse": -1}, "1 of the higher label and 1 of the lower.* 14 words have no label"),
        ({"schön": 1}, "All 1 lexicon words are in the space.* 15 words have no label"),
        ({}, "'merged' has no labelled word. 16 words have no label"),
    ):
        path.write_text("word;label\n" + "".join(f"{word};{labelled.get(word, '')}\n" for word in WORDS[:16]))
        assert run(["diagnose", str(folder / "space.densray"), str(path)]) == 2
        assert re.search(f"{message}. Fill in their cells: of merged cells, only the first", capsys.readouterr().err)


def test_a_third_class_is_named(tmp_path: Path) -> None:
    path, rows = tmp_path / "words.csv", "gut;links\nmies;rechts\nfad;mitte\nnett;links\nlieb;rechts\nfroh;mitte\n"
    path.write_text(f"Wort;Seite\n{rows}")
    with pytest.raises(LexiconError, match=r"line 4: label 'mitte' is neither 'links' nor 'rechts'.* two classes"):
        Lexicon.read(path, label_names=("links", "rechts"))
    with pytest.raises(LexiconError, match=r"the labels are 'links', 'mitte', 'rechts'. A word list takes two classes"):
        Lexicon.read(path)
    (tmp_path / "words.json").write_text(json.dumps({"gut": "links", "fad": "mitte"}))
    with pytest.raises(LexiconError, match="'fad': label 'mitte' is neither 'links' nor 'rechts'"):
        Lexicon.read(tmp_path / "words.json", label_names=("links", "rechts"))


@pytest.mark.parametrize("text", ["happy 5,3\nsad 2,1\n", "happy 5,3\nvery sad 2\n", "happy 5,3 4,2\nsad 2,1 1,7\n"])
@pytest.mark.parametrize("read", READERS)
def test_decimal_commas_between_spaces_are_not_taken_for_delimiters(
    text: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "words.txt"
    path.write_text(text)
    with pytest.raises(LexiconError, match=r"line 1: 'happy 5,3.*' may be 'happy.* Separate the columns by semicolons"):
        read(path)
    path.write_text("Bild,Wert\nBild 1,4\nBild 2,5\n")
    assert read_ratings(path) == {"Bild 1": 4.0, "Bild 2": 5.0}
    path.write_text("Bild 1,4\nGesicht,5\n")
    assert read(path) == {"Bild 1": 4.0, "Gesicht": 5.0}


def test_the_items_are_not_taken_from_a_column_that_another_option_names(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("VP;Wort;Urteil;SE\nVP1;gut;3;1\nVP1;mies;1;1\nVP2;gut;5;1\nVP2;mies;2;1\n")
    ratings = Ratings.read(path, rater_column="VP", rating_column="Urteil")
    assert (ratings.items, ratings.values.tolist(), ratings.n_raters) == (("gut", "mies"), [4.0, 1.5], 2)
    path.write_text("word;class;Wort;Urteil\na;x;gut;3\nb;y;mies;1\n")
    assert Ratings.read(path, rater_column="word", item_column="Wort").items == ("gut", "mies")
    path.write_text("word;class;score\ngut;x;3\nmies;y;1\n")
    assert Lexicon.read(path, group_column="class").groups == {"gut": "x", "mies": "y"}
    path.write_text("term;word;score\nx;gut;3\ny;mies;1\n")
    assert Lexicon.read(path, group_column="word").words == ("x", "y")


@pytest.mark.parametrize("mark", ["-", "--", "–", "—", ".", "?", "k.A.", "n. a.", "NA", "#NV", ""])
def test_marks_of_missing_numbers_are_the_same_in_ratings_and_tables(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(f"Wort;Urteil;vector\ngut;3,5;[1 0]\nmies;{mark};[0 1]\nfad;1,25;[1 1]\n", encoding="utf-8")
    by_file = Ratings.read(path, rating_column="Urteil")
    by_table = Ratings.from_table(open_table(path), "Urteil", names="Wort")
    frame = pl.DataFrame(
        {"w": ["gut", "mies", "fad"], "r": ["3.5", mark, "1.25"], "v": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]}
    )
    by_text = Ratings.from_table(frame, "r", names="w")
    for ratings in (by_file, by_table, by_text):
        assert (ratings.items, ratings.values.tolist(), ratings.unrated) == (("gut", "fad"), [3.5, 1.25], ("mies",))
    assert open_table(path).rows("Urteil").y.tolist() == [3.5, 1.25]
    path.write_text(f"gut;{mark}\nmies;3,5\nfad;1,25\n", encoding="utf-8")
    assert Ratings.read(path).unrated == ("gut",)
    if mark != "-":  # a label by itself
        assert Lexicon.read(path).dropped.unlabelled == ("gut",)


def test_dashes_next_to_plus_signs_are_not_missing_labels(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("gut;+\nmies;–\n", encoding="utf-8")
    with pytest.raises(LexiconError, match="line 2: label '–' is not a number"):
        Lexicon.read(tmp_path / "words.csv")


def test_a_rating_without_item_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("gut;3\nmies;1\n;2\n")
    with pytest.raises(LexiconError, match=r"line 3: ';2' has no item. Add one, or delete the line"):
        Ratings.read(tmp_path / "ratings.csv")


def test_raters_may_be_numbered_in_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("Wort;1;2;3\ngut;5;4;3\nmies;1;1;1\n")
    ratings = Ratings.read(tmp_path / "ratings.csv")
    assert (ratings.items, ratings.n_raters) == (("gut", "mies"), 3)


def test_a_decimal_comma_between_commas_is_not_called_thousands(tmp_path: Path) -> None:
    path = tmp_path / "documents.csv"
    path.write_text('preis,vector\n"3,50","[1 0]"\n"2,50","[0 1]"\n"1,000","[1 1]"\n')
    with pytest.raises(LabelError, match=r"column 'preis': '3,50' has a decimal comma, .* not between commas"):
        open_table(path).rows("preis")
    path.write_text(path.read_text().replace(",50", ",500"))
    with pytest.raises(LabelError, match=r"'preis' may be decimal numbers or thousands"):
        open_table(path).rows("preis")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_usual_way_also_in_one_file(end: str, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text(f"gut\t1{end}nett\t1{end}mies\t-1\n", newline="")
    assert (
        read_lexicon(tmp_path / "words.tsv")
        == read_ratings(tmp_path / "words.tsv")
        == {"gut": 1, "nett": 1, "mies": -1}
    )


def test_the_decimal_comma_of_one_rater_holds_for_the_others(tmp_path: Path) -> None:
    path = tmp_path / "ratings.tsv"
    path.write_text("item\tr1\tr2\ngut\t1,500\t2,5\nmies\t3,500\t1,5\n")
    assert Ratings.read(path).raters.tolist() == [[1.5, 2.5], [3.5, 1.5]]
    path.write_text("item\tr1\tr2\ngut\t1,500\t2\nmies\t3,500\t1\n")
    with pytest.raises(LexiconError, match=r"line 2: '1,500' may be a decimal number or thousands"):
        Ratings.read(path)


def test_a_first_item_without_rating_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    for first, unrated in (("gut;", ("gut",)), ("gut;k.A.", ("gut",)), ("word;", ()), (";rating", ())):
        path.write_text(f"{first}\nmies;1\nfad;2\n")
        assert (Ratings.read(path).items, Ratings.read(path).unrated) == (("mies", "fad"), unrated)


def test_empty_columns_at_the_end_of_a_word_list_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("Begriff;Urteil;;\ngut;1;;\nmies;-1\nnett;1;;\n")
    with pytest.warns(HeaderDetectedWarning):
        assert read_lexicon(tmp_path / "words.csv") == {"gut": 1.0, "mies": -1.0, "nett": 1.0}


def test_a_delimiter_between_quotes_is_part_of_the_word(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text('"süß; herb",1\n"well, well",-1\n', encoding="utf-8")
    assert read_lexicon(tmp_path / "words.csv") == {"süß; herb": 1.0, "well, well": -1.0}


def test_a_table_of_texts_may_name_its_delimiter(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text('sep=;\ntext;label\n"good; bad";1\n;\nnice;2\n', encoding="utf-8")
    table = TextTable(tmp_path / "texts.csv", "text", error=LexiconError)
    assert (table.columns, table.lines) == ({"text": ["good; bad", "nice"], "label": ["1", "2"]}, [3, 5])


TABLE = "id;text;side;vector\n" + "".join(
    f'{at};Straße {at};{("links", "rechts")[at % 2]};"[{at / 7:.3f}, {at % 3:.1f}, 0.5]"\n' for at in range(12)
)


def test_a_table_of_documents_in_place_of_a_space_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "docs.csv"
    path.write_text(TABLE, encoding="utf-8")
    assert run(["fit", str(path), "--high", "rich", "--low", "poor", "-o", str(tmp_path / "a.safetensors")]) == 2
    message = capsys.readouterr().err
    assert "docs.csv seems to be a table of documents with vectors, not a space of words." in message
    assert "labels: --label-column. Or name the model that embeds words for it: --encoder." in message
    with pytest.raises(DataError, match=r"Open it with densray.tables.open_table"):
        load_space(str(path))
    path.write_text('word,vector\ncat,"[0.1, 0.2]"\ndog,"[0.3, 0.2]"\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"a column 'word' and lists of numbers in one column.* or as parquet"):
        load_space(str(path))
    numbered = "id,text,d0,d1,d2\n" + "".join(f"{at},Text,0.1,0.2,0.{at}\n" for at in range(3))
    path.write_text(numbered, encoding="utf-8")
    assert run(["fit", str(path), "--high", "rich", "--low", "poor", "-o", str(tmp_path / "a.safetensors")]) == 2
    assert "If it is a table of documents, name its column of labels: --label-column" in capsys.readouterr().err


def test_vectors_without_brackets_are_told_how_to_be_written(tmp_path: Path) -> None:
    numbers = " ".join(["0,5"] * 9)
    (tmp_path / "docs.csv").write_text(f"id;vector\na;{numbers}\nb;{numbers}\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"put each list in brackets: \[0\.5, 1\.2, …\]"):
        open_table(tmp_path / "docs.csv")


def test_a_series_is_a_lexicon_and_a_frame_is_told_how_to_become_one() -> None:
    pandas = pytest.importorskip("pandas")
    assert dict(Lexicon(pandas.Series({"gut": 1, "mies": -1})).items()) == {"gut": 1.0, "mies": -1.0}
    frames = [make({"word": ["gut", "mies"], "label": [1, -1]}) for make in (pandas.DataFrame, pl.DataFrame)]
    for frame in frames:
        with pytest.raises(LexiconError, match=r"a DataFrame is given, with the columns 'word', 'label'.*from_frame"):
            Lexicon(frame)
        assert len(Lexicon.from_frame(frame)) == 2


def test_an_axis_in_the_place_of_the_ratings_is_pointed_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rated = tmp_path / "rated.csv"
    rated.write_text("word,rating\ngood,1\nbad,2\n")
    assert run(["evaluate", "ratings", "googlenews-26k", "hu-liu", str(rated)]) == 2
    assert f"the file of ratings comes first: densray evaluate ratings googlenews-26k {rated} hu-liu." in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_misspelt_class_is_compared_with_the_others() -> None:
    side = ["links", "rechts"] * 10 + ["rechst"]
    frame = pl.DataFrame({"side": side, "vector": pl.Series(np.random.default_rng(0).normal(size=(21, 4)))})
    with pytest.raises(TaskError, match=r"1 of 'rechst'.* Is it a misspelling of 'rechts' \(10 rows\)\?$"):
        diagnose_classes(open_table(frame).rows("side"))


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_the_encoding_of_a_table_comes_with_words_to_check(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "docs.csv").write_text(TABLE, encoding=encoding)
    with pytest.warns(EncodingDetectedWarning, match=f"read as {encoding}. Check 'Straße'. If that is wrong"):
        open_table(tmp_path / "docs.csv")


def test_items_without_a_score_are_named_only_if_there_are_some() -> None:
    with pytest.raises(CoverageError, match="2 of 2 items of 'ratings' have a score; at least 4 are needed"):
        evaluate_ratings({"a": 1.0, "b": 2.0}, Ratings.of(["a", "b"], [1.0, 2.0]))
