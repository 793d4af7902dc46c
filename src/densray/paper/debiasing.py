"""Table 3 and figure 2: occupations and their cosines to "man" and "woman", before and after removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from densray.paper.published import published

if TYPE_CHECKING:
    from densray.bias.anchors import AnchorGap
    from densray.space import WordSpace

__all__ = ["ANCHORS", "figure2", "occupation_gaps", "table3"]

ANCHORS = ("man", "woman")


def occupation_gaps(space: WordSpace | None = None) -> dict[str, AnchorGap]:
    """Return the cosine gaps of 320 occupations in the original space and in its complement.

    The gender axis comes from the pairs of the `family` section of the Google analogies (left 1, right -1) by
    DensRay with unit-length differences and balanced weights, over unit vectors.

    Parameters
    ----------
    space : WordSpace, optional
        Absent: ``googlenews-26k``.
    """
    from densray.bias.anchors import anchor_gap
    from densray.datasets import load_lexicon, load_space, load_word_list
    from densray.rotations import DensRay

    unit = (load_space("googlenews-26k") if space is None else space).normalized(zeros="keep")
    gender = load_lexicon("gender").align(unit, minimum=2)
    rotation = DensRay(n_components=1, normalize_differences=True).fit(gender.X, gender.y)
    spaces = {"original": unit, "complement": unit.erased(rotation)}
    occupations = load_word_list("occupations")
    return {block: anchor_gap(each, occupations, ANCHORS) for block, each in spaces.items()}


def table3(gaps: dict[str, AnchorGap]) -> list[dict[str, Any]]:
    """Return our cosine for every published cell of table 3, and whether the word is among our own five and five.

    Words of the paper that are not in the space have no number.
    """
    rows = []
    for cell in published("table3"):
        block, word, anchor = (cell[key] for key in ("block", "word", "anchor"))
        gap = gaps[block]
        place = gap.words.index(word) if word in gap.words else None
        ours = None if place is None else float(gap.cosines[place, ANCHORS.index(anchor)])
        rows.append({"block": block, "word": word, "anchor": anchor, "ours": ours, "listed": word in gap.extremes()})
    return rows


def figure2(gaps: dict[str, AnchorGap]) -> list[dict[str, Any]]:
    """Return one row an occupation and space, with its cosine to each anchor: what figure 2 draws."""
    return [
        {"space": block, "word": word, ANCHORS[0]: float(first), ANCHORS[1]: float(second)}
        for block, gap in gaps.items()
        for word, (first, second) in zip(gap.words, gap.cosines, strict=True)
    ]
