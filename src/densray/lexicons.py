"""Readers for the English lexicons of table 1 of Dufter & Schütze (2019), as published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from os import PathLike
from pathlib import Path

from densray._lexicon_files import parse_label
from densray._text_files import FilePath, Line, TextFile
from densray.errors import LexiconError, shorten
from densray.lexicon import Lexicon

__all__ = [
    "read_concreteness",
    "read_feel",
    "read_fullstrength",
    "read_german_polarity_clues",
    "read_mpqa",
    "read_nrc",
    "read_opinion_lexicon",
    "read_semeval2015",
    "read_sublex",
]

# "both" means a word with either polarity: it conflicts with itself
_MPQA = {
    "positive": (1.0,),
    "negative": (-1.0,),
    "weakneg": (-1.0,),
    "strongneg": (-1.0,),
    "weakpos": (1.0,),
    "strongpos": (1.0,),
    "neutral": (0.0,),
    "both": (1.0, -1.0),
}


def read_opinion_lexicon(folder: FilePath, *, encoding: str = "utf-8") -> Lexicon:
    """Return the opinion lexicon of Hu & Liu (2004): ``positive-words.txt`` and ``negative-words.txt``."""
    return Lexicon.from_word_lists(
        Path(folder) / "positive-words.txt",
        Path(folder) / "negative-words.txt",
        comment=";",
        encoding=encoding,
        name="Hu & Liu",
    )


def read_mpqa(path: FilePath) -> Lexicon:
    """Return the MPQA subjectivity clues (Wilson et al. 2005): lines of ``key=value`` fields."""
    file = TextFile(path, encoding="utf-8", error=LexiconError)
    return Lexicon(_mpqa_entries(file), name="MPQA")


def _mpqa_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    for line in file.lines():
        fields = dict(field.split("=", 1) for field in line.text.split() if "=" in field)
        if "word1" not in fields or "priorpolarity" not in fields:
            raise file.problem(f"{shorten(line.text)} lacks word1= or priorpolarity=.", line=line.number)
        labels = _MPQA.get(fields["priorpolarity"])
        if labels is None:
            choices = ", ".join(_MPQA)
            raise file.problem(
                f"polarity {shorten(fields['priorpolarity'])} is not one of {choices}.", line=line.number
            )
        yield from ((fields["word1"], label) for label in labels)


def read_nrc(path: FilePath) -> Lexicon:
    """Return the polarities of the NRC emotion lexicon (Mohammad & Turney 2013): word, emotion, 0 or 1.

    A word with neither polarity is neutral; a word with both is conflicting.
    """
    file = TextFile(path, encoding="utf-8", error=LexiconError)
    return Lexicon(_nrc_entries(file), name="NRC")


def _nrc_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    polarities = {"positive": 1.0, "negative": -1.0}
    for line in file.lines():
        fields = file.split(line, "\t")
        if len(fields) != 3 or fields[2] not in ("0", "1"):
            raise file.problem(f"{shorten(line.text)} is not word, emotion and 0 or 1.", line=line.number)
        word, emotion, holds = fields
        if emotion in polarities:
            yield word, polarities[emotion] * int(holds)


def read_semeval2015(path: FilePath) -> Lexicon:
    """Return the terms of SemEval-2015 task 10 E (Rosenthal et al. 2015), trial or test: score and term.

    A term that was rated more than once (as a word and as a hashtag) has the mean of its scores.
    """
    return Lexicon.read(path, delimiter="\t", header=False, name="SemEval-2015 E", conflicts="mean", neutral="keep")


def read_concreteness(path: FilePath) -> Lexicon:
    """Return the concreteness ratings of Brysbaert et al. (2014), column ``Conc.M``; UTF-8 or Latin-1."""
    try:
        Path(path).read_text(encoding="utf-8")
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = "latin-1"
    except OSError:
        encoding = "utf-8"  # `read` reports the error
    return Lexicon.read(
        path,
        word_column="Word",
        label_column="Conc.M",
        delimiter="\t",
        header=True,
        encoding=encoding,
        name="BWK",
    )


# a Prague lemma: the word, the number of its homonym (-1), then remarks after "_" or a reference after "`"
_TECHNICAL_SUFFIX = re.compile(r"(?<=.)(-\d+)?([_`].*)?$", re.DOTALL)


def read_sublex(path: FilePath) -> Lexicon:
    """Return the Czech SubLex 1.0 (Veselovská & Bojar 2013): the lemmas without their technical suffixes.

    Homonyms that differ only in the suffix become one word; if their labels differ, it is conflicting.
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
    path_list = [paths] if isinstance(paths, str | PathLike) else list(paths)
    files = [TextFile(path, encoding="utf-8", error=LexiconError) for path in path_list]
    return Lexicon((entry for file in files for entry in _german_entries(file)), name="GermanPC")


def _german_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    for line, fields in _rows(file, least=4, shape="a lemma in column 2 and its polarity in column 4"):
        yield fields[1], _label(file, fields[3], line)


def read_fullstrength(path: FilePath) -> Lexicon:
    """Return the Spanish full- or medium-strength lexicon (Pérez-Rosas et al. 2012).

    The polarity is the last column: lines that were checked by hand have two polarities, the second by hand.
    """
    file = TextFile(path, encoding="utf-8", error=LexiconError)
    return Lexicon(_spanish_entries(file), name="fullstrength")


def _spanish_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    for line, fields in _rows(file, least=3, shape="a word, a number and pos or neg"):
        yield fields[0], _label(file, fields[-1], line)


def read_feel(path: FilePath) -> Lexicon:
    """Return the French FEEL (Abdaoui et al. 2017); each alternative becomes an entry."""
    file = TextFile(path, encoding="utf-8", error=LexiconError)
    return Lexicon(_french_entries(file), name="FEEL")


def _french_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    delimiter = ";" if file.text.startswith("id;") else ","
    for line in file.lines():
        fields = file.split(line, delimiter)
        if fields[0] == "id":
            continue
        if len(fields) < 3 or not fields[1]:
            raise file.problem(f"{shorten(line.text)} is not a number, a word and its polarity.", line=line.number)
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
            raise file.problem(f"{shorten(line.text)} does not have {shape}.", line=line.number)
        yield line, fields


def _label(file: TextFile, text: str, line: Line) -> float:
    label = parse_label(text)
    if label not in (-1.0, 0.0, 1.0):
        raise file.problem(f"polarity {shorten(text)} is not positive, negative or neutral.", line=line.number)
    return label
