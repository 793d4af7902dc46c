"""How wide the columns of a table are drawn, and which of them stand side by side, on a screen of some width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from densray.report._table import Table

__all__ = ["Part", "lay_out", "share_width"]

#: What separates two columns, in characters; the second where the first is too much.
GAPS = (3, 2)
#: Letters of a word beyond which it is folded where a column is narrow.
_LONGEST_WORD = 16


@dataclass(frozen=True)
class Part:
    """Columns that stand side by side: their numbers, their widths, and what separates them."""

    columns: tuple[int, ...]
    widths: tuple[int, ...]
    gap: int


def lay_out(table: Table, available: int) -> list[Part]:
    """Return the parts in which a table is drawn, one below the other; one part where the columns fit.

    Text is folded between words if need be. Numbers are not folded, nor is the first column, which names the row: it is
    repeated in every part. A column whose heading comes more than once says something only beside the one before it,
    and stays there.
    """
    cells = [[heading, *column] for heading, *column in zip(table.headings, *table.shown(), strict=True)]
    natural = [max(map(len, column)) for column in cells]
    least = [_least_width(column, whole=number) for column, number in zip(cells, table.numeric(), strict=True)]
    least[0] = natural[0]
    every = list(range(len(cells)))
    gap = next((gap for gap in GAPS if _total(least, every, gap) <= available), GAPS[0])
    groups = [every] if _total(least, every, gap) <= available else _group(table.headings, least, available)
    parts = []
    for group in groups:
        room = available - gap * (len(group) - 1)
        widths = share_width([natural[at] for at in group], [least[at] for at in group], room)
        widths[0] = max(min(widths[0], room - sum(widths[1:])), 1)  # on the narrowest screens the first is folded, too
        parts.append(Part(tuple(group), tuple(widths), gap))
    return parts


def share_width(natural: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Return the widths of columns, at least the least, at most the natural ones; what is left goes to the narrowest.

    >>> share_width([5, 40, 12], [5, 10, 9], 38)
    [5, 21, 12]
    """
    widths = list(least)
    for _ in range(available - sum(widths)):
        wanting = [at for at, width in enumerate(widths) if width < natural[at]]
        if not wanting:
            break
        widths[min(wanting, key=widths.__getitem__)] += 1
    return widths


def _least_width(cells: Sequence[str], *, whole: bool) -> int:
    """Return the width below which a column is not drawn: of its longest word, or of its longest number."""
    heading, *values = cells
    longest = max((len(word) for word in heading.split()), default=0)
    if whole:
        return max([longest, *map(len, values)])
    words = max((len(word) for value in values for word in value.split()), default=0)
    return max(longest, min(words, _LONGEST_WORD))


def _group(headings: Sequence[str], least: Sequence[int], available: int) -> list[list[int]]:
    """Return the columns in groups that fit side by side, the first column in each."""
    units: list[list[int]] = []
    for place in range(1, len(least)):
        if units and list(headings).count(headings[place]) > 1:
            units[-1].append(place)
        else:
            units.append([place])
    groups: list[list[int]] = []
    for unit in _fitting(units, least, available):
        if groups and _total(least, [*groups[-1], *unit], GAPS[0]) <= available:
            groups[-1] += unit
        else:
            groups.append([0, *unit])
    return groups or [[0]]


def _fitting(units: Sequence[list[int]], least: Sequence[int], available: int) -> Iterator[list[int]]:
    """Yield the units that fit beside the first column as they are, and of others each column alone."""
    for unit in units:
        if _total(least, [0, *unit], GAPS[0]) <= available:
            yield unit
        else:
            yield from ([place] for place in unit)


def _total(least: Sequence[int], group: Sequence[int], gap: int) -> int:
    return sum(least[at] for at in group) + gap * (len(group) - 1)
