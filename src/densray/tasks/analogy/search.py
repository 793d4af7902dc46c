"""The best words of the vocabulary for many questions at once, block by block.

A solver turns each question into *probes*: vectors whose products with the unit vectors of the vocabulary are all it
needs (the query, the concept axis). The probes of all solvers are stacked, so that a category costs one matrix product
a block; what is left is arithmetic on products. All of it happens where the vectors of the vocabulary lie.
"""

from __future__ import annotations

from collections.abc import Sequence

from densray.tasks.analogy.products import Blocks, Vocabulary
from densray.tasks.analogy.tally import Tally
from densray.tasks.analogy.trained import Found, Trained

__all__ = ["search"]


def search(vocabulary: Vocabulary, trained: Sequence[Trained], *, k: int = 10) -> list[Found]:
    """Return the k best words of every question of each trained solver."""
    own = [one.answer(vocabulary, k) for one in trained]
    searched = iter(_search([one for one, found in zip(trained, own, strict=True) if found is None], vocabulary, k))
    return [next(searched) if found is None else found for found in own]


def _search(trained: Sequence[Trained], vocabulary: Vocabulary, k: int) -> list[Found]:
    if not trained:
        return []
    blocks = Blocks(vocabulary, {name: probe for one in trained for name, probe in one.probes.items()})
    ranges = blocks.ranges(tuple(dict.fromkeys(name for one in trained for name in one.ranged)))
    tallies = [Tally(one, k, blocks, ranges) for one in trained]
    for start, products in blocks:
        for tally in tallies:
            tally.add(start, products)
    return [tally.found() for tally in tallies]
