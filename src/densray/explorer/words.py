"""Words from the page: pasted lists and uploaded files, with size limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from densray.analogies import AnalogySet
from densray.axes import near_misses
from densray.errors import DensRayError, LexiconError
from densray.formats import FORMATS, foreign_kind
from densray.lexicon import Lexicon, column_names, encoding_note, split_words
from densray.ratings import RatingColumns, Ratings
from densray.report import show_count
from densray.space import WordSpace

#: Largest number of words of a pasted list, and of letters of a word: more is a mistake.
MOST_WORDS, LONGEST_WORD = 20_000, 200
#: Largest number of example pairs of one relation; all solvers are fast with this many.
MOST_PAIRS = 500
_LONGEST_NAME = 80  # characters
_FEW_WORDS = 50_000  # spaces with fewer words contain hardly any names
_MOST_BYTES = 200  # bytes of a name: file systems allow 255, including extensions
_JOINTS = re.compile(r"[\t,;:\s]")
_ENDINGS = (".tsv", ".csv", ".txt", ".json", ".xlsx")


def words_of_text(text: str) -> list[str]:
    """Return the words of a pasted list, each once.

    >>> words_of_text("good, New York, good")
    ['good', 'New York']
    >>> words_of_text("good great")
    ['good', 'great']
    """
    words = list(dict.fromkeys(split_words(text)))
    if len(words) > MOST_WORDS:
        raise LexiconError(
            f"the list has {len(words):,} words; {MOST_WORDS:,} can be pasted. Upload a lexicon file instead."
        )
    if any(len(word) > LONGEST_WORD for word in words):
        raise LexiconError(f"a word of the list has more than {LONGEST_WORD} letters. Put each word on a line.")
    return words


def file_stem(name: str, *, otherwise: str) -> str:
    """Return a name as a valid file name.

    >>> file_stem("good – bad", otherwise="axis"), file_stem("…", otherwise="axis")
    ('good-bad', 'axis')
    """
    return _within_bytes("-".join(re.findall(r"\w+", name))[:_LONGEST_NAME]) or otherwise


def _within_bytes(name: str) -> str:
    """Return the beginning of a name that fits a file system."""
    return name.encode("utf-8", "ignore")[:_MOST_BYTES].decode("utf-8", "ignore")


def name_of_lists(high: str, low: str) -> str:
    """Return the default name of an axis of two pasted lists."""
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
    file_name: str,
    content: bytes,
    *,
    word_column: str = "",
    label_column: str = "",
    label_names: str = "",
    header: str = "",
    encoding: str = "utf-8",
) -> Lexicon:
    """Return the lexicon of an uploaded file; errors name the file as it was uploaded.

    Columns are those of `columns_of_upload`. `label_names` are the names of the low and the high label, separated by a
    comma. `header` is "yes" or "no": whether the first line names the columns; empty: detect it. If the
    file is not a table of words and labels, the error names the detected type.
    """
    ends = split_words(label_names)
    if ends and len(ends) != 2:
        raise LexiconError(f"“Names of the labels” has {len(ends)} names. Give the low and the high one: poor, rich.")
    with _on_disk(file_name, content) as path:
        word_at, label_at = word_column.strip() or None, label_column.strip() or None
        kind = kind_of_file(content)
        try:
            if kind == _VECTORS and word_at is None and label_at is None:  # its last numbers could be read as labels
                raise LexiconError(kind)
            return Lexicon.read(
                path,
                word_column=word_at,
                label_column=label_at,
                header={"yes": True, "no": False}.get(header),
                encoding=encoding,
                label_names=(ends[0], ends[1]) if ends else None,
            )
        except LexiconError as error:
            if kind is None and isinstance(error.__context__, UnicodeDecodeError):
                raise LexiconError(*error.args, " Or choose its “Encoding”.") from error
            if kind is None:
                raise
            raise LexiconError(
                f"{path.name} seems to be {kind}. A file of words and labels is needed here: on each line a word and "
                "its label (1/-1, or a score)."
            ) from error


def columns_of_upload(file_name: str, content: bytes, *, header: str = "", encoding: str = "utf-8") -> dict[str, str]:
    """Return the columns of an uploaded file: for each, the value that chooses it and its label on the page.

    They are chosen by name. Without names, or if names repeat, they are chosen by position, and labelled with their
    first field. A file that cannot be read has none.

    >>> columns_of_upload("my_words.csv", b"Nr,Begriff,Urteil\\n1,gut,ja")
    {'Nr': 'Nr', 'Begriff': 'Begriff', 'Urteil': 'Urteil'}
    >>> columns_of_upload("my_words.csv", b"gut,1\\nmies,-1")
    {'0': 'column 1 (gut …)', '1': 'column 2 (1 …)'}
    """
    with _on_disk(file_name, content) as path:
        try:
            fields = column_names(path, encoding=encoding)
        except DensRayError:
            return {}
    are_names = header == "yes" or (header != "no" and not any(map(_is_number, fields)))
    if are_names and len(set(fields)) == len(fields):
        return {name: name for name in fields}
    return {str(place): f"column {place + 1} ({field[:20]} …)" for place, field in enumerate(fields)}


def encoding_note_of_upload(file_name: str, content: bytes, *, encoding: str = "utf-8") -> str:
    """Return a note on the encoding of an uploaded file if it was detected, else an empty text.

    >>> encoding_note_of_upload("mine.csv", b"word,rating\\ncat,1\\n")
    ''
    """
    with _on_disk(file_name, content) as path:
        try:
            return encoding_note(path, encoding=encoding)
        except DensRayError:
            return ""


@contextmanager
def _on_disk(file_name: str, content: bytes) -> Iterator[Path]:
    """Give the path of a temporary copy of an upload, with a safe name."""
    name = re.sub(r"[^\w.-]", "_", re.split(r"[/\\]", file_name)[-1])[-_LONGEST_NAME:].lstrip(".")
    stem, ending = (Path(name).stem, Path(name).suffix) if Path(name).suffix.lower() in _ENDINGS else (name, ".txt")
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{_within_bytes(stem) or 'upload'}{ending}"
        path.write_bytes(content)
        yield path


def rating_columns_of_upload(file_name: str, content: bytes, *, encoding: str = "utf-8") -> RatingColumns:
    """Return the columns of an uploaded table of ratings; if it is something else, the error names the detected type.

    >>> rating_columns_of_upload("mine.csv", b"word,rating\\ncat,1\\ndog,2\\n").names
    ('word', 'rating')
    """
    with _on_disk(file_name, content) as path:
        try:
            return RatingColumns.read(path, encoding=encoding)
        except LexiconError as error:
            kind = kind_of_file(content)
            if kind is None:
                raise
            raise LexiconError(
                f"{path.name} seems to be {kind}. A table of rated items is needed here: on each line an item and its "
                "rating."
            ) from error


def ratings_of_upload(
    file_name: str,
    content: bytes,
    *,
    items: int,
    ratings: Sequence[int],
    error: int | None = None,
    rater: int | None = None,
    encoding: str = "utf-8",
) -> Ratings:
    """Return the ratings of an uploaded table, with its columns by position."""
    with _on_disk(file_name, content) as path:
        chosen = ratings[0] if len(ratings) == 1 else list(ratings)
        return Ratings.read(
            path, item_column=items, rating_column=chosen, error_column=error, rater_column=rater, encoding=encoding
        )


_VECTORS = "a file of word vectors; open it with: densray explore FILE"


def kind_of_file(content: bytes) -> str | None:
    """Return the detected type of a file that is not a table of words and labels; None if unknown.

    >>> kind_of_file(b"%PDF-1.7")
    'a PDF'
    >>> kind_of_file(b"the 0.1 0.2 0.3 0.4 0.5\\nof 0.2 0.1 0.4 0.3 0.6\\n")
    'a file of word vectors; open it with: densray explore FILE'
    """
    foreign = foreign_kind(content, packed=True)
    if foreign is not None:
        return None if foreign == foreign_kind(content) and ".xlsx" in foreign else foreign
    if content.startswith(FORMATS["parquet"].beginning):
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


_FEWEST_NUMBERS = 4  # a line with at least this many numbers is a vector


def pairs_of_text(text: str) -> AnalogySet:
    """Return pasted pairs, one per line, as a set of one category.

    Words are separated by a tab, a comma, a semicolon or a colon; without these, by spaces. Several correct answers are
    separated by slashes, as in the files of BATS.

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
        delimiter = next((mark for mark in "\t;,:" if mark in line), None)
        query, *rest = [word.strip() for word in line.split(delimiter) if word.strip()] or [""]
        answers = [word.strip() for word in rest[0].split("/") if word.strip()] if len(rest) == 1 else []
        if not answers or max(map(len, (query, *answers))) > LONGEST_WORD:
            raise LexiconError(f"line {number}, “{line[:60]}”, is not a pair: two words are needed on each line.")
        pairs.append((query, answers))
    return AnalogySet.from_pairs(pairs)


def text_of_pairs(pairs: Iterable[tuple[str, ...]]) -> str:
    """Return queries with their answers as text in the format of `pairs_of_text`.

    >>> text_of_pairs([("man", "woman"), ("New York", "USA", "America")])
    'man woman\\nNew York\\tUSA/America'
    """
    return "\n".join(
        ("\t" if any(map(_JOINTS.search, words)) else " ").join((words[0], "/".join(words[1:]))) for words in pairs
    )


def find_words(text: str, space: WordSpace) -> tuple[list[str], list[str]]:
    """Return the words of a pasted list, matched in any case and spelled as in the space, and the missing ones."""
    words = words_of_text(text)
    rows = space.locate(words, any_case=True).tolist()
    found = dict.fromkeys(space.words[row] for row in rows if row >= 0)
    return list(found), [word for word, row in zip(words, rows, strict=True) if row < 0]


def missing_word(word: str, space: WordSpace) -> str:
    """Return a line that names a missing word and a similar word of the space."""
    instead = near_misses([word], space)
    if not instead and word[:1].isupper() and len(space) < _FEW_WORDS:
        return f"“{word[:60]}” is not in the space, which has {show_count(len(space))} words and hardly any names."
    hint = f" It has “{instead[0].found}”." if instead else ""
    return f"“{word[:60]}” is not in the space.{hint}"
