"""Entries of a lexicon: one label per word out of many, and what was left out on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from densray.errors import LexiconError, name_some, suggest
from densray.labels import is_neutral_label, parse_label

__all__ = ["Conflicts", "Dropped", "Label", "Neutral", "merge_entries"]

Conflicts = Literal["drop", "error", "mean"]
Neutral = Literal["drop", "keep"]
Label = float | str


@dataclass(frozen=True)
class Dropped:
    """What a lexicon left out of the entries it was given.

    Attributes
    ----------
    conflicts : tuple of str
        Words with contradicting labels, left out.
    neutral : tuple of str
        Words labelled neutral only, left out.
    duplicates : tuple of str
        Words given more than once with one label, kept once.
    averaged : tuple of str
        Words with several labels, kept with their mean.
    """

    conflicts: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    averaged: tuple[str, ...] = ()

    def by_reason(self) -> dict[str, tuple[str, ...]]:
        """Return the words by why they were set aside, the reasons that were met alone.

        >>> Dropped(conflicts=("odd",)).by_reason()
        {'conflicting': ('odd',)}
        """
        reasons = {
            "conflicting": self.conflicts,
            "neutral": self.neutral,
            "repeated": self.duplicates,
            "averaged": self.averaged,
        }
        return {reason: words for reason, words in reasons.items() if words}


def merge_entries(
    entries: Iterable[tuple[str, Label]], *, conflicts: Conflicts, neutral: Neutral
) -> tuple[dict[str, float], Dropped]:
    """Return one label per word, and what was dropped; see `Lexicon` for the choices."""
    for name, value, known in (("conflicts", conflicts, get_args(Conflicts)), ("neutral", neutral, get_args(Neutral))):
        if value not in known:
            raise LexiconError(f"{name}={value!r} is given. {suggest(str(value), known)}")
    given = [_checked_entry(entry) for entry in entries]
    kept, neutral_words = _without_neutral(given) if neutral == "drop" else (given, ())
    found: dict[str, list[float]] = {}
    for word, label in kept:
        found.setdefault(word, []).append(label)
    differing = tuple(word for word, labels in found.items() if len(set(labels)) > 1)
    if differing and conflicts == "error":
        raise LexiconError(
            f"{len(differing)} words have conflicting labels: {name_some(differing)}. "
            f"Correct them, or use conflicts='drop' or conflicts='mean'."
        )
    repeated = tuple(word for word, labels in found.items() if len(labels) > 1 and len(set(labels)) == 1)
    averaged = differing if conflicts == "mean" else ()
    barred = set(differing) - set(averaged)
    merged = {
        word: labels[0] if len(set(labels)) == 1 else sum(labels) / len(labels)
        for word, labels in found.items()
        if word not in barred
    }
    conflicting = () if averaged else differing
    return merged, Dropped(conflicting, neutral_words, repeated, averaged)


def _checked_entry(entry: tuple[str, Label]) -> tuple[str, float]:
    try:
        word, label = entry
    except (TypeError, ValueError):
        raise LexiconError(f"{entry!r} is not a word and its label, as in ('good', 1).") from None
    if not isinstance(word, str) or not word.strip() or not _is_text(word):
        raise LexiconError(f"{word!r} (label {label!r}) is not a word. Words are text and not empty.")
    number = parse_label(label)
    if number is None:
        raise LexiconError(f"'{word}': label {label!r} is not a number. Use 1/-1 or a score.")
    return word, number


def _is_text(word: str) -> bool:
    """Return whether a word can be written: half a surrogate pair, which JSON can hold, cannot."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_neutral(
    entries: list[tuple[str, float]],
) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
    """Return the entries that are not neutral, and the words that were neutral only."""
    labels = {label for _, label in entries}
    if not is_neutral_label(labels):
        return entries, ()
    kept = [entry for entry in entries if entry[1] != 0]
    labelled = {word for word, _ in kept}
    neutral = dict.fromkeys(word for word, label in entries if label == 0 and word not in labelled)
    return kept, tuple(neutral)
