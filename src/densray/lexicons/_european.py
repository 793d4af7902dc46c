"""The Czech, German, Spanish and French lexicons of table 1 of Dufter & Schütze (2019), as published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from os import PathLike

from densray.errors import LexiconError
from densray.labels import parse_label
from densray.lexicon import Lexicon
from densray.lines import Line, TextFile, shorten

__all__ = ["read_feel", "read_fullstrength", "read_german_polarity_clues", "read_sublex"]

FilePath = str | PathLike[str]

# a Prague lemma: the word, the number of its homonym (-1), then remarks behind "_" or a reference behind "`"
_TECHNICAL_SUFFIX = re.compile(r"(?<=.)(-\d+)?([_`].*)?$", re.DOTALL)


def read_sublex(path: FilePath) -> Lexicon:
    """Return the Czech SubLex 1.0 (Veselovská & Bojar 2013): the lemmas without their technical suffixes.

    Homonyms that differ only in the suffix become one word; where their labels differ it is in conflict.
    """
    file = TextFile(path, encoding="utf-8", error=LexiconError)
    return Lexicon(_sublex_entries(file), name="SubLex")


def _sublex_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    for line, fields in _rows(file, least=4, shape="a lemma in column 3 and POS or NEG in column 4"):
        yield strip_technical_suffix(fields[2]), _label(file, fields[3], line)


def strip_technical_suffix(lemma: str) -> str:
    """Return a lemma of the Prague dictionaries as a word.

    >>> strip_technical_suffix("hodný-2_^(nezlobivý)"), strip_technical_suffix("agitovat_:T")
    ('hodný', 'agitovat')
    """
    return _TECHNICAL_SUFFIX.sub("", lemma)


def read_german_polarity_clues(paths: FilePath | Sequence[FilePath]) -> Lexicon:
    """Return GermanPolarityClues (Waltinger 2010): one or more of its files, positive, negative, neutral."""
    listed = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = [TextFile(path, encoding="utf-8", error=LexiconError) for path in listed]
    return Lexicon((entry for file in files for entry in _german_entries(file)), name="GermanPC")


def _german_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    for line, fields in _rows(file, least=4, shape="a lemma in column 2 and its polarity in column 4"):
        yield fields[1], _label(file, fields[3], line)


def read_fullstrength(path: FilePath) -> Lexicon:
    """Return the Spanish full- or medium-strength lexicon (Pérez-Rosas et al. 2012).

    The polarity is the last column: lines that were checked by hand have two, the second by hand.
    """
    file = TextFile(path, encoding="utf-8", error=LexiconError)
    return Lexicon(_spanish_entries(file), name="fullstrength")


def _spanish_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    for line, fields in _rows(file, least=3, shape="a word, a number and pos or neg"):
        yield fields[0], _label(file, fields[-1], line)


def read_feel(path: FilePath) -> Lexicon:
    """Return the French FEEL (Abdaoui et al. 2017); alternatives become entries of their own."""
    file = TextFile(path, encoding="utf-8", error=LexiconError)
    return Lexicon(_french_entries(file), name="FEEL")


def _french_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    delimiter = ";" if file.text.startswith("id;") else ","
    for line in file.lines():
        fields = file.split(line, delimiter)
        if fields[0] == "id":
            continue
        if len(fields) < 3 or not fields[1]:
            raise file.problem(f"{shorten(line.text)} is not a number, a word and its polarity.", line.number)
        label = _label(file, fields[2], line)
        yield from ((word, label) for word in expand_alternatives(fields[1]))


def expand_alternatives(entry: str) -> list[str]:
    """Return every reading of an entry whose words have alternatives.

    >>> expand_alternatives("coiffeur|coiffeuse de nuit")
    ['coiffeur de nuit', 'coiffeuse de nuit']
    """
    return [" ".join(words) for words in product(*(part.split("|") for part in entry.split()))]


def _rows(file: TextFile, *, least: int, shape: str) -> Iterator[tuple[Line, list[str]]]:
    for line in file.lines():
        fields = file.split(line, "\t")
        while fields and not fields[-1]:
            fields.pop()
        if len(fields) < least or not fields[0]:
            raise file.problem(f"{shorten(line.text)} does not have {shape}.", line.number)
        yield line, fields


def _label(file: TextFile, text: str, line: Line) -> float:
    label = parse_label(text)
    if label not in (-1.0, 0.0, 1.0):
        raise file.problem(f"polarity {shorten(text)} is not positive, negative or neutral.", line.number)
    return label
