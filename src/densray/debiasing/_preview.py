"""A preview of a removal on some words only, which is fast in a space of any size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, ClassVar

from densray.affine import warn_of_missing_keep
from densray.axes import axis_ends, check_rows, find_rows
from densray.datasets import SimilaritySet
from densray.debiasing._direction import AnchorGap, anchor_gap, direct_bias, pair_direction
from densray.debiasing._measurement import Measurement, require_words
from densray.debiasing._quality import similarity
from densray.erasure import Erasure
from densray.errors import Argument, CoverageError, TaskError, refuse_text
from densray.lexicon import Lexicon
from densray.report import Column, Input, Provenance, Result, Table
from densray.space import WordSpace, as_space

BEFORE, AFTER = "original", "erased"
_TAKEN = frozenset({"word", "space", "nearer"})  # other keys of a row of the scatter


@dataclass(frozen=True)
class RemovalPreview(Result):
    """Effect of a removal on some words.

    Attributes
    ----------
    remover : str
    anchors : pair of str
        The two words that represent the ends of the concept.
    before, after : AnchorGap
        Cosines of the neutral words to the anchors; the value is the mean absolute difference of the two.
    measures : list of dict
        `measure`, `before`, `after`, `used` and `reason` (why there is no number): the anchor gap, direct bias along
        the direction of the pairs, and each set of similarity ratings.
    """

    title: ClassVar[str] = "Before and after"

    remover: str
    anchors: tuple[str, str]
    before: AnchorGap = field(repr=False, metadata={"report": False})
    after: AnchorGap = field(repr=False, metadata={"report": False})
    measures: list[dict[str, Any]]

    @property
    def names(self) -> tuple[str, str]:
        """The anchors as keys of the rows of :meth:`scatter`: in quotes if they coincide with another key."""
        first, second = (f"“{anchor}”" if anchor in _TAKEN else anchor for anchor in self.anchors)
        return first, second

    def scatter(self) -> list[dict[str, Any]]:
        """Return one row per word and space, with its cosine to each anchor, as input for `anchor_scatter`."""
        first, second = self.names
        return [
            {"word": word, "space": name, first: float(one), second: float(other)}
            for name, gap in ((BEFORE, self.before), (AFTER, self.after))
            for word, (one, other) in zip(gap.words, gap.cosines, strict=True)
        ]

    def words(self) -> list[dict[str, Any]]:
        """Return one row per word: how much nearer it is to the first anchor, before and after; most changed first."""
        gaps = zip(self.before.words, self.before.gaps.tolist(), self.after.gaps.tolist(), strict=True)
        rows = [{"word": word, "before": before, "after": after} for word, before, after in gaps]
        return sorted(rows, key=lambda row: -abs(row["after"] - row["before"]))

    def tables(self) -> list[Table]:
        """Return the measures, and the words."""
        numbers = [Column("before", decimals=3), Column("after", decimals=3)]
        return [
            Table(f"{self.remover}: before and after", ["measure", *numbers, "used"], self.measures),
            Table(f"Nearer to {self.anchors[0]} than to {self.anchors[1]} by", ["word", *numbers], self.words()),
        ]


def preview_removal(
    space: WordSpace,
    erasure: Erasure,
    neutral: Iterable[str],
    anchors: tuple[str, str],
    *,
    keep: Iterable[str] = (),
    pairs: Iterable[tuple[str, str]] = (),
    ratings: Sequence[SimilaritySet] = (),
) -> RemovalPreview:
    """Measure the effect of an erasure on neutral words and on similarity ratings; no other vector is read.

    Parameters
    ----------
    space : WordSpace or KeyedVectors
    erasure : Erasure
        Learned at unit length, as :meth:`densray.Erasure.fit` does by default.
    neutral : iterable of str
        Words that should be free of the concept; missing words are reported.
    anchors : pair of str
        Two different words of the space that represent the ends of the concept.
    keep : iterable of str
        Words that are left unchanged.
    pairs : iterable of pairs of str, optional
        Words that differ in the concept: direct bias is measured along their direction, as in `evaluate_removal`
        (default: along the direction of the anchors).
    ratings : sequence of SimilaritySet
        Ratings that removal should not hurt; a set with too few words in the space gives a reason instead of a number.

    Examples
    --------
    >>> space = WordSpace(["he", "she", "nurse"], [[1, 0.5], [-1, 0.5], [-0.6, 0.8]])
    >>> erasure = Erasure.fit(Lexicon({"he": 1, "she": -1}).align(space))
    >>> shown = preview_removal(space, erasure, ["nurse"], ("he", "she"))
    >>> round(shown.before.value, 3), round(shown.after.value, 3)
    (1.073, 0.0)
    """
    space = as_space(space)
    started = Provenance.begin()
    if len(anchors) != 2 or anchors[0] == anchors[1]:
        raise TaskError(Argument("anchors", anchors), " is given; two different words are needed.")
    require_words(space, anchors, what="anchors")
    neutral_words = list(neutral)
    rated = chain.from_iterable(pair for each in ratings for pair in each.pairs)
    usable_pairs = [pair for pair in pairs if space.locate(pair).min() >= 0] or [anchors]
    spaces = [
        space.subset([*anchors, *neutral_words, *chain(*usable_pairs), *rated], missing="drop").normalized(zeros="keep")
    ]
    refuse_text(keep, "keep")
    keep = tuple(keep)
    warn_of_missing_keep(space.absent(keep), space.name)
    spaces.append(erasure.apply(spaces[0], keep=[word for word in keep if word in spaces[0]]))
    before, after = (anchor_gap(each, neutral_words, anchors) for each in spaces)
    direction = pair_direction(spaces[0], usable_pairs)
    direct = [direct_bias(each, neutral_words, direction) for each in spaces]
    rows = [_row("anchor gap", [before, after]), _row("direct bias", direct)]
    rows += [_row(each.name, [_similarity_or_reason(part, each) for part in spaces]) for each in ratings]
    provenance = started.finish(
        inputs=[Input.of("space", space)], used=before.used, missing=before.missing, method=erasure.method
    )
    return RemovalPreview(erasure.method, anchors, before, after, rows, provenance=provenance)


def typical_anchors(
    space: WordSpace, lexicon: Lexicon, *, preferred: tuple[str, str] = ("man", "woman")
) -> tuple[str, str]:
    """Return two seeds that can represent the ends of a concept, the seed with the higher label first.

    The preferred ones if they are seeds of different sides, otherwise the most typical seed of each side: the one
    nearest to the mean of its side.
    """
    seeds = check_rows(find_rows(space, lexicon)).unit()
    side = dict(zip(seeds.names, seeds.sides.tolist(), strict=True))
    if side.get(preferred[0], 0.0) * side.get(preferred[1], 0.0) < 0:
        high, low = sorted(preferred, key=lambda word: -side[word])
        return high, low
    lows, highs = axis_ends(seeds, n_words=1)
    return highs[0], lows[0]


def common_words(space: WordSpace, count: int, *, exclude: Iterable[str] = ()) -> list[str]:
    """Return the first words of a space, usually the most frequent, except those to exclude."""
    space = as_space(space)
    excluded = set(exclude)
    return list(islice((word for word in space.words if word not in excluded), count))


def _similarity_or_reason(space: WordSpace, ratings: SimilaritySet) -> Measurement:
    try:
        return similarity(space, ratings)
    except CoverageError as error:
        return Measurement(ratings.name, float("nan"), reason=str(error))


def _row(name: str, measurements: Sequence[Measurement]) -> dict[str, Any]:
    before, after = measurements
    return {"measure": name, "before": before.value, "after": after.value, "used": before.used, "reason": before.reason}
