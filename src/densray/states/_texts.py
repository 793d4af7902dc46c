"""Labelled texts as input of a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from densray._lexicon_files import parse_label
from densray._text_files import TextTable
from densray.errors import TaskError, refuse_text, shorten

Labels = tuple[str | float, ...]
Groups = tuple[str | None, ...]
Item = TypeVar("Item")


def as_list(items: Iterable[Item], name: str) -> list[Item]:
    """Return the items of any iterable as a list; one text or one message in place of several raises an error.

    >>> as_list((word for word in ("good", "fine")), "words")
    ['good', 'fine']
    """
    refuse_text(items, name)
    if isinstance(items, Mapping) or not isinstance(items, Iterable):
        raise TaskError(f"{name}: {shorten(items)} is given; a list is needed. Write [{shorten(items)}] for one item.")
    return list(items)


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with their labels, groups and words; None if there are none.

    Texts have no vectors until a model reads them, so they cannot be :class:`densray.Rows` yet.
    :func:`read_states` gives them vectors, and :meth:`States.rows` then returns rows. A text is a string, or a list of
    messages (:func:`contrast`).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "texts.csv"
    ...     _ = path.write_text("text,label\\nA fine film.,1\\nA bad film.,0\\n", encoding="utf-8")
    ...     LabelledTexts.read(path)
    LabelledTexts(texts=('A fine film.', 'A bad film.'), labels=(1.0, 0.0), groups=None, words=None)
    """

    texts: tuple[Any, ...]
    labels: Labels | None = None
    groups: Groups | None = None
    words: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("texts", "labels", "groups", "words"):
            items = getattr(self, name)
            if items is not None:
                object.__setattr__(self, name, tuple(as_list(items, name)))
            if items is not None and name != "texts" and len(getattr(self, name)) != len(self.texts):
                count = len(getattr(self, name))
                raise TaskError(f"{count:,} {name} are given for {len(self.texts):,} texts; one per text is needed.")

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        text_column: str | None = None,
        label_column: str | None = None,
        group_column: str | None = None,
        word_column: str | None = None,
    ) -> LabelledTexts:
        """Read texts: one per line (``.txt``), or the column ``text`` (``.csv``, ``.tsv``, ``.jsonl``, ``.json``).

        In JSON, a text may be a list of messages, each with ``role`` and ``content``. A ``.json`` file is a list of
        objects, texts or such lists. Columns ``label``, ``group`` and ``word`` are read too if the file has them.
        `text_column`, `label_column`, `group_column` and `word_column` name other columns.
        """
        table = TextTable(path, "text", error=TaskError)
        texts = text_column_of(table, text_column)
        words = table.column("word", word_column, needed="word_column" if word_column else "")
        labels = label_column_of(table, label_column, needed=label_column is not None)
        return cls(texts, labels, group_column_of(table, group_column), tuple(words) or None)

    def only(self, rows: Sequence[int]) -> LabelledTexts:
        """Return some of the texts, with their labels, groups and words."""
        return LabelledTexts(
            tuple(self.texts[row] for row in rows),
            None if self.labels is None else tuple(self.labels[row] for row in rows),
            None if self.groups is None else tuple(self.groups[row] for row in rows),
            None if self.words is None else tuple(self.words[row] for row in rows),
        )


def text_column_of(
    table: TextTable, name: str | None, usual: str = "text", *, needed: str = "text_column"
) -> tuple[Any, ...]:
    """Return the texts of a table: strings, or lists of messages (JSON); anything else and an empty text raise."""
    texts = table.cells(usual, name, needed=needed)
    for line, text in zip(table.lines, texts, strict=True):
        if not (text.strip() if isinstance(text, str) else text):
            said = "the text is empty. Remove this line and its label."
            said = said if usual == "text" else f"{usual} is empty. Fill it, or remove this line."
            raise table.file.problem(said, line=line)
        if not isinstance(text, str) and not (isinstance(text, list) and all(map(is_message, text))):
            raise table.file.problem(
                f"'{name or usual}' is {shorten(json.dumps(text, ensure_ascii=False))}; a text is needed, or a list of "
                "messages, each with a role and a content that are texts.",
                line=line,
            )
    return tuple(texts)


def is_message(item: object) -> bool:
    """Return whether an item is a chat message: a mapping with the texts role and content."""
    return isinstance(item, Mapping) and all(isinstance(item.get(key), str) for key in ("role", "content"))


def label_column_of(table: TextTable, name: str | None, *, needed: bool) -> Labels | None:
    """Return the labels of a table, as numbers if all of them are; an empty label raises an error."""
    labels = table.column("label", name, needed="label_column" if needed else "")
    for line, label in zip(table.lines, labels, strict=False):
        if not label.strip():
            raise table.file.problem("the label is empty. Remove this line, or add a label.", line=line)
    numbers = [number for label in labels if (number := parse_label(label)) is not None]
    return (tuple(numbers) if len(numbers) == len(labels) else tuple(labels)) or None


def group_column_of(table: TextTable, name: str | None) -> Groups | None:
    """Return the groups of a table, if it has any."""
    return tuple(table.column("group", name, needed="group_column" if name else "")) or None


def read_prompts(
    path: str | Path,
    *,
    text_column: str | None = None,
    template_column: str | None = None,
    group_column: str | None = None,
) -> tuple[tuple[Any, ...], list[str] | None, Groups | None]:
    """Return the prompts of a file with their templates and groups; None if the file has no such column.

    Parameters
    ----------
    path : path
        A table with a column of texts, or one text per line.
    text_column, template_column, group_column : str, optional
        The names of the columns (default: ``text``, ``template`` and ``group``).
    """
    table = TextTable(path, "text", error=TaskError)
    templates = table.column("template", template_column, needed="template_column" if template_column else "")
    return text_column_of(table, text_column), templates or None, group_column_of(table, group_column)
