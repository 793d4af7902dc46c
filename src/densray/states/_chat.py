"""Conversations as texts: message lists written by a tokenizer's chat template, and contrastive texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from densray._text_files import TextTable
from densray.errors import TaskError, shorten
from densray.states._texts import LabelledTexts, as_list, is_message, text_column_of

Messages: TypeAlias = Sequence[Mapping[str, str]]
Text: TypeAlias = "str | Messages"


class ChatText(str):
    """A conversation as a chat template writes it, with its special tokens."""

    __slots__ = ()


def as_texts(tokenizer: Any, texts: Iterable[Text], *, generation_prompt: bool | None = None) -> list[str]:
    """Return texts as strings: message lists are written by the chat template of the tokenizer.

    Parameters
    ----------
    tokenizer
        A Hugging Face tokenizer. Without a chat template, only plain texts are accepted.
    texts : iterable of str or of message lists
        A message is a mapping with ``role`` and ``content``. A generator is read once.
    generation_prompt : bool, optional
        Whether to append the generation prompt of the chat template. Default: only if the last message is the user's.
    """
    found: list[str] = []
    for number, text in enumerate(as_list(texts, "texts"), start=1):
        if isinstance(text, str):
            found.append(text)
        elif isinstance(text, Sequence) and text and all(isinstance(message, Mapping) for message in text):
            found.append(_written(tokenizer, list(cast(Messages, text)), number, generation_prompt))
        else:
            raise TaskError(
                f"text {number} is {type(text).__name__}; a text or a list of messages (role, content) is needed."
            )
    return found


def _written(
    tokenizer: Any, messages: list[Mapping[str, str]], number: int, generation_prompt: bool | None
) -> ChatText:
    for message in messages:
        if not is_message(message):
            raise TaskError(f"text {number}: {shorten(dict(message))} is not a message; role and content are needed.")
    if getattr(tokenizer, "chat_template", None) is None:
        raise TaskError(
            f"text {number} is a list of messages, and the tokenizer has no chat template. Give plain texts, or a "
            f"model with one (instruct, chat)."
        )
    wanted = messages[-1]["role"] == "user" if generation_prompt is None else generation_prompt
    try:
        return ChatText(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=wanted))
    except Exception as error:  # templates raise anything, for instance if they do not support system messages
        merged = _without_system(messages)
        if merged is None:
            raise TaskError(f"text {number}: the chat template refuses these messages ({shorten(error)}).") from None
    try:
        return ChatText(tokenizer.apply_chat_template(merged, tokenize=False, add_generation_prompt=wanted))
    except Exception as error:
        raise TaskError(f"text {number}: the chat template refuses these messages ({shorten(error)}).") from None


def _without_system(messages: list[Mapping[str, str]]) -> list[Mapping[str, str]] | None:
    """Return the messages with the system message merged into the first user message; None if there is none."""
    if [message["role"] for message in messages[:2]] != ["system", "user"]:
        return None
    content = f"{messages[0]['content']}\n\n{messages[1]['content']}"
    return [{"role": "user", "content": content}, *messages[2:]]


def contrast(positive: Iterable[Text], negative: Iterable[Text], questions: Iterable[str] = ()) -> LabelledTexts:
    """Return contrastive texts with the labels 1 (positive) and 0 (negative); each pair is a group.

    Parameters
    ----------
    positive, negative : iterables of texts or message lists
        Pairs in order. With `questions`, these are personas (system messages).
    questions : iterable of str
        Each persona is combined with each question. Texts that share a question are one group.

    Examples
    --------
    >>> pairs = contrast(["I love it."], ["I hate it."])
    >>> pairs.texts, pairs.labels, pairs.groups
    (('I love it.', 'I hate it.'), (1.0, 0.0), ('1', '1'))
    >>> contrast(["You are cheerful."], ["You are sad."], ["How are you?"]).texts[0][1]
    {'role': 'user', 'content': 'How are you?'}
    """
    sides = [as_list(positive, "positive"), as_list(negative, "negative")]
    asked = as_list(questions, "questions")
    if not all(sides):
        raise TaskError(f"{len(sides[0])} positive and {len(sides[1])} negative texts are given; both are needed.")
    if not asked:
        if len(sides[0]) != len(sides[1]):
            raise TaskError(
                f"{len(sides[0])} positive and {len(sides[1])} negative texts are given; pairs are needed, in order."
            )
        rows = [
            (text, label, str(number))
            for number, pair in enumerate(zip(*sides, strict=True), start=1)
            for text, label in zip(pair, (1.0, 0.0), strict=True)
        ]
    else:
        rows = [
            (_asked(persona, question), label, str(question))
            for question in asked
            for side, label in zip(sides, (1.0, 0.0), strict=True)
            for persona in side
        ]
    texts, labels, groups = zip(*rows, strict=True)
    return LabelledTexts(texts, labels, groups)


def _asked(persona: Text, question: str) -> Messages:
    if not isinstance(persona, str):
        raise TaskError(f"a persona is {type(persona).__name__}; with questions a text is needed (a system message).")
    return [{"role": "system", "content": persona}, {"role": "user", "content": question}]


def read_contrast(path: str | Path) -> LabelledTexts:
    """Read contrastive texts from a table (``.csv``, ``.tsv``, ``.jsonl``, ``.json``).

    With columns ``positive`` and ``negative``, each row is a pair; in JSON, they may be lists of messages. With a third
    column ``question``, the two are personas that answer the question, as chat messages. For several personas per side,
    repeat the question in one row for each pair of personas: texts that share a question are one group. With columns
    ``text`` and ``label`` (and ``group``), the file contains labelled texts, and the higher label is positive.
    """
    table = TextTable(path, "text", error=TaskError)
    if "positive" not in table.columns and "negative" not in table.columns:
        texts = LabelledTexts.read(path)
        if len(set(texts.labels or ())) != 2:
            raise TaskError(
                f"{path} needs columns positive and negative (and perhaps question), or text and label with two labels."
            )
        return texts
    if "question" not in table.columns:
        return contrast(*(text_column_of(table, None, name, needed="column") for name in ("positive", "negative")))
    columns = {name: table.column(name, None, needed="column") for name in ("positive", "negative", "question")}
    for name, texts_of in columns.items():
        for line, text in zip(table.lines, texts_of, strict=True):
            if not text.strip():
                raise table.file.problem(f"{name} is empty. Fill it, or remove this line.", line=line)
    rows = zip(columns["positive"], columns["negative"], columns["question"], strict=True)
    parts = [contrast([high], [low], [question]) for high, low, question in rows]
    return LabelledTexts(
        tuple(text for part in parts for text in part.texts),
        tuple(label for part in parts for label in part.labels or ()),
        tuple(group for part in parts for group in part.groups or ()),
    )
