"""Words from the page: pasted lists and uploaded files, within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from densray._text_files import delimiter_of
from densray.analogies import AnalogySet
from densray.axes._evidence import near_misses
from densray.errors import DensRayError, LexiconError
from densray.lexicon import Lexicon
from densray.space import WordSpace

#: Words of a pasted list, and letters of a word: more is a slip of the clipboard.
MOST_WORDS, LONGEST_WORD = 20_000, 200
#: Example pairs of one relation; every solver answers at once with so many.
MOST_PAIRS = 500
_LONGEST_NAME = 80  # letters
_MOST_BYTES = 200  # of a name: file systems take 255, and endings come to it
_JOINTS = re.compile(r"[\t,;:\s]")
_ENDINGS = (".tsv", ".csv", ".txt", ".json")


def words_of_text(text: str) -> list[str]:
    """Return the words of a pasted list, each once.

    They stand on lines or between commas; where there are neither, between blanks.

    >>> words_of_text("good, New York, good")
    ['good', 'New York']
    >>> words_of_text("good great")
    ['good', 'great']
    """
    parts = re.split(r"[\n,;\t]", text) if re.search(r"[\n,;\t]", text.strip()) else text.split()
    words = list(dict.fromkeys(word for part in parts if (word := part.strip())))
    if len(words) > MOST_WORDS:
        raise LexiconError(
            f"the list has {len(words):,} words; {MOST_WORDS:,} can be pasted. Upload a lexicon file instead."
        )
    if any(len(word) > LONGEST_WORD for word in words):
        raise LexiconError(f"a word of the list has more than {LONGEST_WORD} letters. Put each word on a line.")
    return words


def file_stem(name: str, *, otherwise: str) -> str:
    """Return a name as a file can have it.

    >>> file_stem("good – bad", otherwise="axis"), file_stem("…", otherwise="axis")
    ('good-bad', 'axis')
    """
    return _within_bytes("-".join(re.findall(r"\w+", name))[:_LONGEST_NAME]) or otherwise


def _within_bytes(name: str) -> str:
    """Return as much of a name as fits a file system."""
    return name.encode("utf-8", "ignore")[:_MOST_BYTES].decode("utf-8", "ignore")


def name_of_lists(high: str, low: str) -> str:
    """Return what an axis of two pasted lists is called that was given no name."""
    try:
        ends = words_of_text(high), words_of_text(low)
    except DensRayError:
        return "axis"
    return " – ".join(end[0][:30] for end in ends if end) or "axis"


def lexicon_of_lists(high: str, low: str, *, name: str = "two lists") -> Lexicon:
    """Return two pasted lists as a lexicon, the first 1 and the second -1."""
    lists = {"first": words_of_text(high), "second": words_of_text(low)}
    for which, words in lists.items():
        if not words:
            raise LexiconError(f"the {which} list is empty. An axis needs words at both ends: type some in each list.")
    return Lexicon.from_word_lists(lists["first"], lists["second"], name=name)


def lexicon_of_upload(file_name: str, content: bytes) -> Lexicon:
    """Return an uploaded file of words and labels; what is wrong with it is told under its own name."""
    name = re.sub(r"[^\w.-]", "_", re.split(r"[/\\]", file_name)[-1])[-_LONGEST_NAME:].lstrip(".")
    stem, ending = (Path(name).stem, Path(name).suffix) if Path(name).suffix.lower() in _ENDINGS else (name, ".txt")
    with TemporaryDirectory() as folder:
        place = Path(folder) / f"{_within_bytes(stem) or 'upload'}{ending}"
        place.write_bytes(content)
        return Lexicon.read(place)


def pairs_of_text(text: str) -> AnalogySet:
    """Return pasted pairs, one per line, as a set of one category.

    Between the words stands a tab, a comma, a semicolon or a colon, with blanks or without; where there is none of
    them, blanks. Several right answers have slashes between them, as in the files of BATS.

    >>> [pair.words for pair in pairs_of_text("man woman\\nNew York: USA/America").categories[0]]
    [('man', 'woman'), ('New York', 'USA', 'America')]
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        raise LexiconError("no pair was typed. Give at least two, one per line, such as: man woman.")
    if len(lines) > MOST_PAIRS:
        raise LexiconError(f"{len(lines):,} pairs were pasted; {MOST_PAIRS:,} can be. Take fewer.")
    pairs: list[tuple[str, list[str]]] = []
    for number, line in lines:
        delimiter = delimiter_of(line) or (":" if ":" in line else None)
        query, *rest = [word.strip() for word in line.split(delimiter) if word.strip()]
        answers = [word.strip() for word in rest[0].split("/") if word.strip()] if len(rest) == 1 else []
        if not answers or max(map(len, (query, *answers))) > LONGEST_WORD:
            raise LexiconError(f"line {number}, “{line[:60]}”, is not a pair: two words are needed on each line.")
        pairs.append((query, answers))
    return AnalogySet.from_pairs(pairs)


def text_of_pairs(pairs: Iterable[tuple[str, ...]]) -> str:
    """Return queries with their answers as a text that `pairs_of_text` reads.

    >>> text_of_pairs([("man", "woman"), ("New York", "USA", "America")])
    'man woman\\nNew York\\tUSA/America'
    """
    return "\n".join(
        ("\t" if any(map(_JOINTS.search, words)) else " ").join((words[0], "/".join(words[1:]))) for words in pairs
    )


def missing_word(word: str, space: WordSpace) -> str:
    """Return the line that says a word is missing, and which one the space has instead."""
    instead = near_misses([word], space)
    hint = f" It has “{instead[0].found}”." if instead else ""
    return f"“{word[:60]}” is not in the space.{hint}"
