"""Alignment: the words of a lexicon that are in a space become Rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from densray._lexicon_files import Conflicts, mean_label
from densray.errors import Advice, Argument, LexiconError, first_missing, name_some
from densray.groups import number_groups
from densray.rows import Rows
from densray.space import WordSpace, as_space
from densray.spelling import locate_spellings

__all__ = ["align_words"]


def align_words(
    words: Sequence[str],
    labels: NDArray[np.float64],
    space: WordSpace,
    *,
    any_case: bool | None,
    limit: int | None,
    minimum: int,
    groups: Sequence[str | None] | None = None,
    conflicts: Conflicts = "drop",
    note: str = "",
) -> Rows:
    """Return the words that are in the space with vectors and labels; see `Lexicon.align`.

    Spellings of one word of the space whose labels differ conflict, like repeated words; see `Lexicon`. The error about
    too few words ends with the `note` on the source of the words.
    """
    space = as_space(space)
    searched = space if limit is None else space.limit(limit)
    locations, changes = locate_spellings(words, searched, any_case=any_case)
    conflicting = _conflicting(locations, labels)
    conflict = tuple(words[place] for place in np.flatnonzero(conflicting).tolist())
    if conflict and conflicts == "error":
        raise LexiconError(
            f"{len(conflict)} words are spellings of one word of '{space.name}' and have conflicting labels: "
            f"{name_some(conflict)}.",
            Advice(" Correct them, or use ", Argument("conflicts", "drop"), " or ", Argument("conflicts", "mean"), "."),
        )
    if conflict and conflicts == "mean":
        labels = _mean_labels(locations, labels, conflicting)
    dropped = {"averaged" if conflicts == "mean" else "conflicting": conflict} if conflict else {}
    left_out = conflicting if conflicts == "drop" else np.zeros(len(words), dtype=bool)
    chosen = _one_per_vector(np.where(left_out, -1, locations), changes)
    missing = tuple(word for word, location in zip(words, locations, strict=True) if location < 0)
    if len(chosen) < max(minimum, 1):
        named = conflict if conflicts == "drop" else ()
        raise LexiconError(*_too_few(len(words), missing, space, minimum=minimum, limit=limit, conflict=named), note)
    chosen_places = {*chosen.tolist(), *np.flatnonzero(left_out).tolist()}
    in_other_case = chosen[changes[chosen] >= _OTHER_CASE]
    return Rows(
        X=np.array(space.vectors_at(locations[chosen])),
        y=labels[chosen].copy(),
        background=space,
        locations=locations[chosen],
        names=tuple(space.words[location] for location in locations[chosen].tolist()),
        missing=missing,
        merged=tuple(words[place] for place in np.flatnonzero(locations >= 0).tolist() if place not in chosen_places),
        groups=None if groups is None else number_groups([groups[place] for place in chosen.tolist()]),
        other_case={words[place]: space.words[locations[place]] for place in in_other_case.tolist()},
        dropped=dropped,
    )


_OTHER_CASE = 2  # from this spelling change on, the case differs


def _conflicting(locations: NDArray[np.int64], labels: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each word has the location of another word with another label."""
    present = np.flatnonzero(locations >= 0)
    _, which = np.unique(locations[present], return_inverse=True)
    lowest, highest = np.full(len(present), np.inf), np.full(len(present), -np.inf)
    np.minimum.at(lowest, which, labels[present])
    np.maximum.at(highest, which, labels[present])
    conflicting = np.zeros(len(locations), dtype=bool)
    conflicting[present] = (lowest < highest)[which]
    return conflicting


def _mean_labels(
    locations: NDArray[np.int64], labels: NDArray[np.float64], conflicting: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the labels, with the mean of all spellings for each word in conflict."""
    labels = labels.copy()
    for location in np.unique(locations[conflicting]).tolist():
        own = locations == location
        labels[own] = mean_label(labels[own].tolist())
    return labels


def _one_per_vector(locations: NDArray[np.int64], changes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of the words found, one per location: the least changed spelling, then the first."""
    places = np.flatnonzero(locations >= 0)
    places = places[np.argsort(changes[places], kind="stable")]
    _, first = np.unique(locations[places], return_index=True)
    return np.sort(places[first])


def _too_few(
    total: int,
    missing: Sequence[str],
    space: WordSpace,
    *,
    minimum: int,
    limit: int | None,
    conflict: Sequence[str] = (),
) -> tuple[str | Advice, ...]:
    advice = "" if minimum <= 1 else f" At least {minimum} are needed."
    if conflict:
        return (
            f"{total - len(missing)} of {total} lexicon words are in the space. {len(conflict)} of them are left out: "
            f"they are spellings of one word of the space and have conflicting labels ({name_some(conflict)})."
            f"{advice} Correct their labels.",
        )
    if not missing:
        return (f"All {total} lexicon words are in the space, and they are too few.{advice}",)
    coverage = f"{total - len(missing)} of {total} lexicon words are in the space"
    return (f"{coverage}{first_missing(missing[:5])}.{advice}", *_likely_cause(missing, space, limit))


def _likely_cause(missing: Sequence[str], space: WordSpace, limit: int | None) -> tuple[str | Advice, ...]:
    sample = list(missing[:200])
    if limit is not None and (locate_spellings(sample, space)[0] >= 0).any():
        return (Advice(f" They lie beyond the first {limit} words: raise ", Argument("limit"), "."),)
    cased = [row for row in space.locate(sample, any_case=True).tolist() if row >= 0]
    if cased:
        spellings = [space.words[row] for row in space.spellings(space.words[cased[0]])]
        return (f" The space has {name_some(spellings)}.", Advice(" Use ", Argument("any_case", True), "."))
    return (f" The space begins {name_some(space.words[:3])}: is it of another language or cut short?",)
