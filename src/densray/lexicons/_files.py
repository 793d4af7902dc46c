"""Entries, words and pairs of any file: a table, a list, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path

from densray.errors import LexiconError
from densray.labels import LABELS_NEEDED, parse_label
from densray.lexicons._tables import Table
from densray.lines import TextFile, shorten

__all__ = ["read_entries", "read_pairs", "read_words"]

FilePath = str | PathLike[str]


def read_entries(
    path: FilePath,
    *,
    word_column: str | int | None = None,
    label_column: str | int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    label_names: tuple[str, str] | None = None,
) -> tuple[list[tuple[str, float]], str]:
    """Return the (word, label) entries of a file and the stem of its name; see `Lexicon.read`."""
    file = TextFile(path, encoding=encoding, error=LexiconError)
    if _is_json(file):
        return list(_json_entries(file, label_names)), file.path.stem
    named = any(isinstance(column, str) and not column.isdecimal() for column in (word_column, label_column))
    header = True if named and header is None else header
    table = Table(file, delimiter=delimiter, header=header, label_names=label_names)
    return list(table.entries(word_column, label_column)), file.path.stem


def read_words(source: FilePath | Sequence[str], *, comment: str | None = None, encoding: str = "utf-8") -> list[str]:
    """Return the words of a list, or of a file with one per line."""
    if not isinstance(source, str | PathLike):
        return list(source)
    file = TextFile(source, encoding=encoding, error=LexiconError)
    words = [line.text.strip() for line in file.lines(comment=comment)]
    if not words:
        raise file.problem(f"there are only comments ('{comment}'). One word per line is needed.")
    return words


def read_pairs(source: FilePath | Iterable[Sequence[str]], *, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """Return the pairs of a list, of a file with one per line (tab, comma or blank between), or of JSON."""
    if not isinstance(source, str | PathLike):
        return [_checked_pair(pair) for pair in source]
    file = TextFile(source, encoding=encoding, error=LexiconError)
    if _is_json(file):
        content = _json_content(file)
        if not isinstance(content, list) or isinstance(content, _Members):
            raise file.problem('a list of pairs is needed, as in [["she", "he"]].')
        return [_checked_pair(pair, file) for pair in content]
    pairs = []
    for line in file.lines():
        delimiter = next((mark for mark in ("\t", ";", ",") if mark in line.text), None)
        fields = file.split(line, delimiter)
        if len(fields) != 2 or not all(fields):
            raise file.problem(
                f"{shorten(line.text)} is not a pair. Two words are needed, with a tab between them.",
                line.number,
            )
        pairs.append((fields[0], fields[1]))
    return pairs


def _checked_pair(pair: object, file: TextFile | None = None) -> tuple[str, str]:
    if isinstance(pair, list | tuple) and len(pair) == 2:
        left, right = pair
        if isinstance(left, str) and isinstance(right, str) and left.strip() and right.strip():
            return left, right
    message = f"{shorten(str(pair))} is not a pair of words, as in ('she', 'he')."
    raise file.problem(message) if file else LexiconError(message)


def _is_json(file: TextFile) -> bool:
    """Return whether a file is JSON, by its name, or by beginning as only JSON does."""
    if Path(file.path).suffix.lower() == ".json":
        return True
    start = file.text.lstrip()[:400]
    return start.startswith(('{"', '[["', "[{")) or start.split()[:1] == ["{"]


class _Members(list[tuple[str, object]]):
    """The members of a JSON object, repeated names included."""


def _json_content(file: TextFile) -> object:
    try:
        return json.loads(file.text, parse_constant=str, object_pairs_hook=_Members)
    except json.JSONDecodeError as error:
        raise file.problem(f"not valid JSON ({error.msg}).", error.lineno) from None
    except (RecursionError, ValueError) as error:
        raise file.problem(f"not usable JSON ({error}).") from None


def _json_entries(file: TextFile, names: tuple[str, str] | None) -> Iterator[tuple[str, float]]:
    """Yield the entries of {word: label}, {"positive": [words]}, [[word, label]] or [{"word", "label"}]."""
    content = _json_content(file)
    if isinstance(content, _Members):
        for key, value in content:
            if isinstance(value, list) and not isinstance(value, _Members):
                yield from (_json_entry(file, word, key, names) for word in value)
            else:
                yield _json_entry(file, key, value, names)
    elif isinstance(content, list):
        for item in content:
            if isinstance(item, _Members):
                record = dict(item)
                fields: list[object] = [record.get("word"), record.get("label", record.get("score"))]
            else:
                fields = list(item) if isinstance(item, list) else [item]
            if len(fields) != 2:
                raise file.problem(f"{shorten(json.dumps(item))} is not a word and its label.")
            yield _json_entry(file, fields[0], fields[1], names)
    else:
        raise file.problem('words and labels are needed, as in {"good": 1, "bad": -1}.')


def _json_entry(file: TextFile, word: object, label: object, names: tuple[str, str] | None) -> tuple[str, float]:
    if not isinstance(word, str) or not word.strip():
        raise file.problem(f"{shorten(str(word))} (label {shorten(str(label))}) is not a word.")
    number = None if isinstance(label, bool) else parse_label(label, names)
    if number is None:
        raise file.problem(f"'{word}': label {shorten(str(label))} is not a number. {LABELS_NEEDED}")
    return word, number
