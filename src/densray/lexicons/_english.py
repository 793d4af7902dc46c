"""The English lexicons of table 1 of Dufter & Schütze (2019), in the shapes they are published in."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from densray.errors import LexiconError
from densray.lexicon import Lexicon
from densray.lines import TextFile, shorten

__all__ = [
    "read_concreteness",
    "read_mpqa",
    "read_nrc",
    "read_opinion_lexicon",
    "read_semeval2015",
    "read_whm",
]

FilePath = str | PathLike[str]

# "both" is a word with either polarity: it conflicts with itself
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
            raise file.problem(f"{shorten(line.text)} lacks word1= or priorpolarity=.", line.number)
        labels = _MPQA.get(fields["priorpolarity"])
        if labels is None:
            known = ", ".join(_MPQA)
            raise file.problem(f"polarity {shorten(fields['priorpolarity'])} is not one of {known}.", line.number)
        yield from ((fields["word1"], label) for label in labels)


def read_nrc(path: FilePath) -> Lexicon:
    """Return the polarities of the NRC emotion lexicon (Mohammad & Turney 2013): word, emotion, 0 or 1.

    A word with neither polarity is neutral, one with both is in conflict.
    """
    file = TextFile(path, encoding="utf-8", error=LexiconError)
    return Lexicon(_nrc_entries(file), name="NRC")


def _nrc_entries(file: TextFile) -> Iterator[tuple[str, float]]:
    polarities = {"positive": 1.0, "negative": -1.0}
    for line in file.lines():
        fields = file.split(line, "\t")
        if len(fields) != 3 or fields[2] not in ("0", "1"):
            raise file.problem(f"{shorten(line.text)} is not word, emotion and 0 or 1.", line.number)
        word, emotion, holds = fields
        if emotion in polarities:
            yield word, polarities[emotion] * int(holds)


def read_whm(opinion_folder: FilePath, mpqa: FilePath, nrc: FilePath) -> Lexicon:
    """Return WHM, the union of MPQA, the opinion lexicon and NRC: all words whose entries agree."""
    return Lexicon.union(read_mpqa(mpqa), read_opinion_lexicon(opinion_folder), read_nrc(nrc), name="WHM")


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
        encoding = "utf-8"  # `read` says what is wrong
    return Lexicon.read(
        path,
        word_column="Word",
        label_column="Conc.M",
        delimiter="\t",
        header=True,
        encoding=encoding,
        name="BWK",
    )
