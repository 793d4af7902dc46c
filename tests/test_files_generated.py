"""Random files of labelled words, ratings and documents: densray reads what was written, or refuses the file.

The oracle is the list of rows that the generator wrote.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from densray import Lexicon
from densray.errors import DensRayError
from densray.ratings import Ratings
from densray.tables import open_table

WORDS = ["gut", "schön", "mies", "New York", "well, well", "süß; herb", 'so "la la"', "Bild 1", "Bild 2", "naiv", "null",
         "positiv", "über-froh", "l'eau", "E 10", "na gut", "trüb", "fad"]  # fmt: skip
MARKS = ["", "", "NA", "k.A.", "n. a.", "#NV", "-", "?", "–", "nan"]
HEADERS = {"usual": ("word", "rating", "who"), "German": ("Begriff", "Urteil", "Person"), "none": None}


@dataclass
class Written:
    """A file as the generator wrote it: its text, how it was written, its rows, and the words without a number."""

    text: str
    encoding: str
    choices: dict[str, object]
    values: dict[str, float] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)


class Generator:
    """Writes tables of words and numbers in random ways."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one_of(self, *choices: object) -> object:
        return choices[int(self.random.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def number(self, kind: str, decimal: str) -> tuple[float, str]:
        """Return a number and its text; a number of three decimals may look like thousands."""
        if kind == "classes":
            value = float(self.random.choice([-1, 1]))
            return value, f"{value:g}"
        if kind == "whole":
            value = float(self.random.integers(2, 9))
            return value, f"{value:g}"
        places = int(kind)
        value = round(float(self.random.uniform(-9, 9)), places)
        return value, f"{value:.{places}f}".replace(".", decimal)

    def cell(self, text: str, delimiter: str, quoting: str) -> str:
        """Return a cell as a program writes it; between spaces there are no quotes."""
        needs = delimiter in text or '"' in text or "\n" in text
        if delimiter == " " or not (quoting == "all" or needs):
            return text
        return '"' + text.replace('"', '""') + '"'

    def table(self, rows: list[list[str]], names: tuple[str, ...] | None, *, delimiter: str, sep: bool) -> str:
        """Return rows as the text of a file, with names of columns, blank rows, and the line sep=; where wanted."""
        quoting, width = str(self.one_of("needed", "needed", "all")), len(rows[0])
        padding = [""] * (int(self.chance(0.1)) if delimiter != " " else 0)
        written = [[*row, *padding] for row in ([list(names), *rows] if names else rows)]
        lines = [delimiter.join(self.cell(cell, delimiter, quoting) for cell in row) for row in written]
        if delimiter != " " and self.chance(0.4):
            empty = ["", " ", delimiter * (width - 1), f" {delimiter} ", delimiter * width]
            for _ in range(int(self.random.integers(1, 4))):
                lines.insert(int(self.random.integers(len(lines) + 1)), str(self.one_of(*empty)))
        if sep:
            lines.insert(0, str(self.one_of(f"sep={delimiter}", f'"sep={delimiter}"', f"SEP={delimiter}")))
        return str(self.one_of("\n", "\r\n", "\r")).join(lines) + "\n" * int(self.chance(0.8))

    def words(self, delimiter: str) -> list[str]:
        usable = [word for word in WORDS if delimiter not in (" ", "\t") or not set(word) & {" ", '"', "\t"}]
        count = int(self.random.integers(3, len(usable) + 1))
        return [usable[place] for place in self.random.permutation(len(usable))[:count]]

    def write(self, kind: str) -> Written:
        """Return a file of one kind: "lexicon", "ratings", "raters" (a column each), "long" or "documents"."""
        delimiter = str(self.one_of(";", ";", ",", "\t", *(" " if kind == "lexicon" else ""), "|"))
        numbers = str(self.one_of("whole", "1", "2", "3", *(["classes"] if kind == "lexicon" else [])))
        decimal = str(self.one_of(".", ",") if delimiter in ";\t" else self.one_of(*"....,"))
        header = (
            str(self.one_of(*HEADERS)) if kind not in ("long", "documents") else str(self.one_of("usual", "German"))
        )
        encoding = str(self.one_of("utf-8", "utf-8-sig", "cp1252", "utf-16"))
        sep = delimiter == "|" or (delimiter != " " and self.chance(0.25))
        mark = str(self.one_of(*MARKS)) if self.chance(0.5) else None
        choices = {"kind": kind, "delimiter": delimiter, "numbers": numbers, "decimal": decimal, "header": header,
                   "encoding": encoding, "sep": sep, "mark": mark}  # fmt: skip
        if numbers == "classes" and mark == "-":  # the negative class
            mark = "--"
        found, rows = Written("", encoding, choices), []
        n_raters = int(self.random.integers(2, 4)) if kind in ("raters", "long") else 1
        for word in self.words(delimiter):
            known, cells = [], []
            for _ in range(n_raters):
                value, text = self.number(numbers, decimal)
                if mark is not None and self.chance(0.3) and delimiter != " ":
                    text = mark
                else:
                    known.append(value)
                cells.append(text)
            if kind == "long":
                rows += [[f"VP{rater}", word, text] for rater, text in enumerate(cells)]
            elif kind == "documents":
                vector = f"[{self.random.random():.3f} {self.random.random():.3f}]"
                rows.append([word, *cells, vector.replace(".", decimal)])
            else:
                rows.append([word, *cells])
            if known:
                found.values[word] = sum(known) / len(known)
            else:
                found.missing.add(word)
        names = HEADERS[header]
        if names is not None:
            item, rating, rater = names
            columns = {
                "raters": (item, *(f"VP{number}" for number in range(n_raters))),
                "long": (rater, item, rating),
                "documents": (item, rating, "vector"),
            }
            names = columns.get(kind, (item, rating))
        found.text = self.table(rows, names, delimiter=delimiter, sep=sep)
        return found


def read(path: Path, kind: str, header: str) -> tuple[dict[str, float], set[str] | None]:
    """Return the words of a file with their numbers, and those without a number."""
    names = HEADERS[header]
    if kind == "lexicon":
        lexicon = Lexicon.read(path, neutral="keep")
        return dict(lexicon.items()), set(lexicon.dropped.unlabelled)
    if kind == "documents":
        assert names is not None
        ratings = Ratings.from_table(open_table(path), names[1], names=names[0])
    else:
        ratings = Ratings.read(path, rater_column=names[2] if kind == "long" and names else None)
    return dict(zip(ratings.items, ratings.values.tolist(), strict=True)), set(ratings.unrated)


def outcome(found: Written, path: Path) -> str:
    """Return "read", or the error that refused a file; a file that is read otherwise fails the test."""
    path.write_bytes(found.text.encode(found.encoding))
    kind, header = str(found.choices["kind"]), str(found.choices["header"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values, missing = read(path, kind, header)
    except DensRayError as error:
        return str(error)
    told = f"{found.choices}\n{found.text}\nread as {values}, without a number {missing}"
    assert values.keys() == found.values.keys(), told
    assert all(math.isclose(values[word], value, abs_tol=1e-12) for word, value in found.values.items()), told
    assert missing == found.missing, told
    return "read"


@pytest.mark.parametrize(
    ("kind", "n", "least"),
    [("lexicon", 400, 0.8), ("ratings", 400, 0.8), ("raters", 200, 0.5), ("long", 200, 0.8), ("documents", 60, 0.5)],
)
def test_a_random_file_is_read_as_written_or_refused(kind: str, n: int, least: float, tmp_path: Path) -> None:
    generator = Generator(0)
    outcomes = Counter(outcome(generator.write(kind), tmp_path / "words.csv") for _ in range(n))
    assert outcomes["read"] >= least * n, outcomes.most_common(20)
