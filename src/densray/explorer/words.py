"""Words from the page: pasted lists and uploaded files, within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from densray._files import PARQUET_MAGIC, foreign_kind
from densray._text_files import delimiter_of
from densray.analogies import AnalogySet
from densray.axes._evidence import near_misses
from densray.errors import DensRayError, LexiconError
from densray.lexicon import Lexicon
from densray.report import show_count
from densray.space import WordSpace

#: Words of a pasted list, and letters of a word: more is a slip of the clipboard.
MOST_WORDS, LONGEST_WORD = 20_000, 200
#: Example pairs of one relation; every solver answers at once with so many.
MOST_PAIRS = 500
_LONGEST_NAME = 80  # letters
_FEW_WORDS = 50_000  # a space of fewer has hardly any names
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
    lists = {"high": words_of_text(high), "low": words_of_text(low)}
    for end, words in lists.items():
        if not words:
            raise LexiconError(f"“Words at the {end} end” is empty. An axis needs words at both ends: type some there.")
    return Lexicon.from_word_lists(lists["high"], lists["low"], name=name)


def lexicon_of_upload(
    file_name: str, content: bytes, *, word_column: str = "", label_column: str = "", encoding: str = "utf-8"
) -> Lexicon:
    """Return an uploaded file of words and labels; what is wrong with it is told under its own name.

    A file that is no table of words and labels is told by what it seems to be.
    """
    name = re.sub(r"[^\w.-]", "_", re.split(r"[/\\]", file_name)[-1])[-_LONGEST_NAME:].lstrip(".")
    stem, ending = (Path(name).stem, Path(name).suffix) if Path(name).suffix.lower() in _ENDINGS else (name, ".txt")
    with TemporaryDirectory() as folder:
        place = Path(folder) / f"{_within_bytes(stem) or 'upload'}{ending}"
        place.write_bytes(content)
        word_at, label_at = word_column.strip() or None, label_column.strip() or None
        kind = kind_of_file(content)
        try:
            if kind == _VECTORS and word_at is None and label_at is None:  # its last numbers could be read as labels
                raise LexiconError(kind)
            return Lexicon.read(place, word_column=word_at, label_column=label_at, encoding=encoding)
        except LexiconError as error:
            if kind is None and "Save it as UTF-8" in str(error):
                raise LexiconError(
                    f"{error} Or choose its encoding in the sidebar, under “How the file is read”."
                ) from error
            if kind is None:
                raise
            raise LexiconError(
                f"{place.name} seems to be {kind}. A file of words and labels is needed here: on each line a word and "
                "its label (1/-1, or a score)."
            ) from error


_VECTORS = "a file of word vectors; open it with: densray explore FILE"


def kind_of_file(content: bytes) -> str | None:
    """Return what a file seems to be that is not one of words and labels; None where nothing says so.

    >>> kind_of_file(b"%PDF-1.7")
    'a PDF'
    >>> kind_of_file(b"the 0.1 0.2 0.3 0.4 0.5\\nof 0.2 0.1 0.4 0.3 0.6\\n")
    'a file of word vectors; open it with: densray explore FILE'
    """
    foreign = foreign_kind(content, packed=True)
    if foreign is not None:
        return foreign
    if content.startswith(PARQUET_MAGIC):
        return "a parquet table; save it as .csv"
    lines = [line.split() for line in content[:20_000].decode("latin-1").splitlines()[:3] if line.strip()]
    if lines and len(lines[0]) == 2 and all(part.isdigit() for part in lines[0]):
        lines = lines[1:]  # the header of word2vec: words and dimensions
        if lines and b"\x00" in content[:20_000]:
            return _VECTORS
    rows = [line[1:] for line in lines]
    if rows and min(map(len, rows)) >= _FEWEST_NUMBERS and all(map(_is_number, rows[0])):
        return _VECTORS
    words = content[:20_000].decode("utf-8", "replace").splitlines()
    if len(words) > 1 and all(len(line.split()) <= 1 and not re.search(r"[,;\t]", line) for line in words):
        return "a list of words without labels; paste such lists under “Two lists”"
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_FEWEST_NUMBERS = 4  # on a line, from which on they are a vector


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
        query, *rest = [word.strip() for word in line.split(delimiter) if word.strip()] or [""]
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


def find_words(text: str, space: WordSpace) -> tuple[list[str], list[str]]:
    """Return the words of a pasted list as a space spells them, in any case, and those it lacks."""
    words = words_of_text(text)
    rows = space.locate(words, any_case=True).tolist()
    found = dict.fromkeys(space.words[row] for row in rows if row >= 0)
    return list(found), [word for word, row in zip(words, rows, strict=True) if row < 0]


def missing_word(word: str, space: WordSpace) -> str:
    """Return the line that says a word is missing, and which one the space has instead."""
    instead = near_misses([word], space)
    if not instead and word[:1].isupper() and len(space) < _FEW_WORDS:
        return f"“{word[:60]}” is not in the space, which has {show_count(len(space))} words and hardly any names."
    hint = f" It has “{instead[0].found}”." if instead else ""
    return f"“{word[:60]}” is not in the space.{hint}"
