"""Words from the page: pasted lists and uploaded files, within bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from densray.analogies import AnalogySet
from densray.errors import LexiconError
from densray.lexicon import Lexicon

__all__ = ["MOST_WORDS", "lexicon_of_lists", "lexicon_of_upload", "pairs_of_text", "words_of_text"]

#: Words of a pasted list, and letters of a word: more is a slip of the clipboard.
MOST_WORDS, LONGEST_WORD = 20_000, 200
_LONGEST_NAME = 80
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
    with TemporaryDirectory() as folder:
        place = Path(folder) / (name if Path(name).suffix.lower() in _ENDINGS else f"{name or 'upload'}.txt")
        place.write_bytes(content)
        return Lexicon.read(place)


def pairs_of_text(text: str) -> AnalogySet:
    """Return pasted pairs, one a line (a comma, a colon or blanks between), as a set of one category.

    >>> [pair.query for pair in pairs_of_text("man woman\\nking: queen").categories[0]]
    ['man', 'king']
    """
    pairs: list[tuple[str, Sequence[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        left, *rest = [part for part in re.split(r"[\s,;:]+", line.strip()) if part]
        if len(rest) != 1:
            raise LexiconError(f"line {number}, «{line.strip()[:60]}», is no pair: two words are needed on each line.")
        pairs.append((left, rest))
    if len(pairs) > MOST_WORDS:
        raise LexiconError(f"{len(pairs):,} pairs were pasted; {MOST_WORDS:,} can be. Take fewer.")
    if not pairs:
        raise LexiconError("no pair was typed. Give at least two, one a line, such as: man woman.")
    return AnalogySet.from_pairs(pairs)
