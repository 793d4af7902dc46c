"""Alignment: the words of a lexicon that are in a space become Rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from densray.errors import Advice, Argument, LexiconError, name_some
from densray.groups import number_groups
from densray.rows import Rows
from densray.spelling import locate_spellings

if TYPE_CHECKING:
    from densray.space import WordSpace

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
) -> Rows:
    """Return the words that are in the space with vectors and labels; see `Lexicon.align`."""
    searched = space if limit is None else space.limit(limit)
    locations, bent = locate_spellings(words, searched, any_case=any_case)
    chosen = _one_per_vector(locations, bent)
    missing = tuple(word for word, location in zip(words, locations, strict=True) if location < 0)
    if len(chosen) < max(minimum, 1):
        raise LexiconError(*_too_few(len(words), missing, space, minimum=minimum, limit=limit))
    chosen_places = set(chosen.tolist())
    in_other_case = chosen[bent[chosen] >= _OTHER_CASE]
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
    )


_OTHER_CASE = 2  # from this spelling change on, the case differs


def _one_per_vector(locations: NDArray[np.int64], bent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of the words found, one per location: the least changed spelling, then the first."""
    places = np.flatnonzero(locations >= 0)
    places = places[np.argsort(bent[places], kind="stable")]
    _, first = np.unique(locations[places], return_index=True)
    return np.sort(places[first])


def _too_few(
    total: int, missing: Sequence[str], space: WordSpace, *, minimum: int, limit: int | None
) -> tuple[str | Advice, ...]:
    needed = "" if minimum <= 1 else f" At least {minimum} are needed."
    if not missing:
        return (f"All {total} lexicon words are in the space, and they are too few.{needed}",)
    found = f"{total - len(missing)} of {total} lexicon words are in the space"
    return (f"{found} (first missing: {name_some(missing[:5])}).{needed}", *_likely_cause(missing, space, limit))


def _likely_cause(missing: Sequence[str], space: WordSpace, limit: int | None) -> tuple[str | Advice, ...]:
    sample = list(missing[:200])
    if limit is not None and (locate_spellings(sample, space)[0] >= 0).any():
        return (Advice(f" They lie beyond the first {limit} words: raise ", Argument("limit"), "."),)
    cased = [row for row in space.locate(sample, any_case=True).tolist() if row >= 0]
    if cased:
        spellings = [space.words[row] for row in space.spellings(space.words[cased[0]])]
        return (f" The space has {name_some(spellings)}.", Advice(" Use ", Argument("any_case", True), "."))
    return (f" The space begins {name_some(space.words[:3])}: is it of another language or cut short?",)
