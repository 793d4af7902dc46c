"""Ratings by people against scores of an axis: correlations and the noise ceiling."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Unpack, cast, get_args

import numpy as np
from numpy.typing import NDArray

from densray._copies import first_copies
from densray._vocabulary import unit_rows
from densray.axes._axis import Axis
from densray.axes._options import DEFAULTS, AxisChoices, AxisOptions
from densray.axes._tables import check_table, explain_changed
from densray.axes._tasks import find_rows
from densray.axes._uncertainty import Scores
from densray.errors import Advice, Argument, CoverageError, LabelError, TaskError, first_missing, name_some, suggest
from densray.lexicon import Lexicon
from densray.metrics import Interval, pearson, pearson_interval, spearman, spearman_interval
from densray.ratings import Ratings, row_names
from densray.report import Column, Input, Provenance, Result, Table, show_estimate, show_number, show_share
from densray.rotations import Rotation
from densray.space import WordSpace, as_space, is_space
from densray.spelling import locate_spellings, spelling_key
from densray.tables import VectorTable, is_table, open_table

#: A row without a name of its own: "row 7" of a table, or "6" of an array.
_ROW_NUMBER = re.compile(r"(row )?[0-9][0-9,]*")
#: With fewer items than this, the result warns of a wide interval; with fewer than four there is none.
FEW_ITEMS, FEWEST_ITEMS = 10, 4
#: Number of items to list that agree least.
N_WORST = 10

Phrases = Literal["missing", "mean"]


@dataclass(frozen=True)
class RatingAgreement(Result):
    """How well the scores of an axis agree with ratings by people.

    Attributes
    ----------
    ratings, scores : str
        Names of the ratings and of the axis.
    n_items, n_rated : int
        Number of items compared, and of items rated.
    pearson, spearman : float
    pearson_interval, spearman_interval : Interval
        95% intervals over items. Items with the same vector count as one.
    n_raters : int or None
        Number of raters, if single ratings are known.
    reliability : float or None
        Share of the variance of the mean ratings that other raters would reproduce.
    ceiling : float or None
        Highest correlation to expect from scores without noise: the square root of the reliability.
    ceiling_from : str or None
        "raters" (see :meth:`densray.Ratings.reliability`) or "standard errors".
    explained : float or None
        Share of the explainable variance that is explained: the squared correlation over the reliability.
    explained_interval : Interval or None
        Computed from the interval of the correlation, with the reliability treated as exact.
    held_out : bool or None
        Whether none of the compared items is a seed of the axis, or a document that it was fitted on; None if they are
        not known.
    seeds_among_items : tuple of str
        Items that are seeds of the axis, by name or, in a table, by vector. They are left out if at least ten other
        items remain.
    n_phrases : int
        Number of multi-word items, scored by the mean of their words.
    n_averaged : int
        Number of items with several documents, scored by the mean of their scores.
    spread : float or None
        Variance of the items along the axis, relative to their mean variance (:meth:`densray.Axis.spread_along`); None
        if scores were given.
    items : list of dict
        Each item with its ``score``, its ``rating``, their standard errors if known, the rating ``expected`` from its
        score, and the ``difference`` of the two ratings. The largest difference comes first.
    label_names : tuple of str or None
        Names of the low and the high end of the axis, if known.
    n_repeated : int
        Number of items with the vector of an earlier item, up to rounding.
    unrecognised : str
        A warning if documents that the axis was fitted on may be in the table with changed vectors; else empty.
    notes : tuple of str
        How the ratings were read, if there was a choice (`Ratings.notes`), and raters to look at
        (:meth:`densray.Ratings.doubtful_raters`).
    """

    title: ClassVar[str] = "Agreement with ratings by people"

    ratings: str
    scores: str
    n_items: int
    n_rated: int
    pearson: float
    pearson_interval: Interval
    spearman: float
    spearman_interval: Interval
    n_raters: int | None
    reliability: float | None
    ceiling: float | None
    ceiling_from: str | None
    explained: float | None
    explained_interval: Interval | None
    held_out: bool | None
    seeds_among_items: tuple[str, ...]
    n_phrases: int
    n_averaged: int
    spread: float | None
    items: list[dict[str, Any]] = field(repr=False)
    label_names: tuple[str, str] | None = None
    n_repeated: int = 0
    unrecognised: str = ""
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the agreement in one sentence, then its limitations."""
        reached = f"r = {show_estimate(self.pearson, *self.pearson_interval, 2)} over {self.n_items:,} items"
        if self.ceiling is not None and self.explained is not None:
            reached += f"; at most {show_number(self.ceiling, 2)} can be expected"
            if not self.is_reversed:
                share = "at least all" if self.explained >= 1.0 else show_share(self.explained)
                reached += f"; {share} of the explainable variance is explained"
        return "\n".join([f"Agreement: {reached}.", *self.warnings()])

    @property
    def is_reversed(self) -> bool:
        """Whether high scores clearly go with low ratings."""
        return self.pearson_interval[1] < 0.0

    def _advise_reversal(self) -> str:
        subject = "The direction is reversed: high scores go with low ratings."
        if self.label_names is None:
            return f"{subject} If that is not meant, reverse the labels of the axis, or the ratings."
        low, high = self.label_names
        return (
            f"{subject} “{high}” is the high end of the axis. If high ratings stand for “{low}”, fit the axis with the "
            f"label names {high},{low} (the high end last)."
        )

    def warnings(self) -> list[str]:
        """Return the limits of the results: seeds among the items, few items, no noise ceiling."""
        lines = []
        if self.is_reversed:
            lines.append(self._advise_reversal())
        if self.held_out is False:
            lines.append(
                f"Not held out: {len(self.seeds_among_items):,} of the items are seeds of the axis "
                f"({name_some(self.seeds_among_items)}), and too few others are rated. Rate other items."
            )
        elif self.held_out is None:
            lines.append("The seeds of this axis are not known: if items are among them, the agreement is too high.")
        if self.unrecognised:
            lines.append(self.unrecognised)
        if self.n_repeated:
            lines.append(
                f"{self.n_repeated:,} of the items {'has' if self.n_repeated == 1 else 'have'} the same vector as "
                "another. Items with the same vector count as one in the intervals."
            )
        if (count := self.n_items - self.n_repeated) < FEW_ITEMS:
            what = "different items" if self.n_repeated else "items"
            lines.append(f"Only {count} {what} were found: note the width of the interval.")
        if self.ceiling is None:
            one = self.n_raters == 1 or self.ceiling_from is None
            lines.append(
                "There is no noise ceiling: it needs the ratings of at least two raters, or standard errors."
                if one
                else ""
            )
        elif self.reliability is not None and self.reliability < 0.5:
            lines.append("The raters hardly agree with each other: no axis can agree with their mean.")
        return [*(line for line in lines if line), *self.notes]

    def tables(self) -> list[Table]:
        """Return the correlations, and the items that agree least."""
        rows: list[tuple[str, str, str]] = [
            ("Pearson r", show_estimate(self.pearson, *self.pearson_interval), "with the mean ratings"),
            ("Spearman ρ", show_estimate(self.spearman, *self.spearman_interval), "of the two orders"),
        ]
        if self.reliability is not None and self.ceiling is not None:
            how = f"{self.n_raters} raters" if self.ceiling_from == "raters" else "standard errors"
            rows += [
                ("reliability", show_number(self.reliability), f"of the mean ratings, from {how}"),
                ("ceiling", show_number(self.ceiling), "the highest r that can be expected"),
            ]
        if self.explained is not None and self.explained_interval is not None and not self.is_reversed:
            estimate = show_estimate(self.explained, *self.explained_interval)
            beyond = "" if self.explained <= 1.0 else "; above 1 by chance, or if raters err less than it seems"
            rows.append(("explained", estimate, f"share of the explainable variance{beyond}"))
        if self.spread is not None:
            rows.append(
                ("spread", show_number(self.spread, 1), "of the items along the axis; 1: as along an average one")
            )
        notes = []
        if self.seeds_among_items and self.held_out:
            left = len(self.seeds_among_items)
            notes.append(
                f"{left:,} {'item is a seed' if left == 1 else 'items are seeds'} of the axis, left out: "
                f"{name_some(self.seeds_among_items)}."
            )
        if self.n_phrases:
            notes.append(f"{self.n_phrases:,} items of several words have the mean vector of their words.")
        if self.n_averaged:
            notes.append(
                f"{self.n_averaged:,} items have several documents: their score is the mean over these, and its error "
                "an upper bound, the mean of their errors."
            )
        figures = [dict(zip(("statistic", "value", "meaning"), row, strict=True)) for row in rows]
        title = f"{self.scores} against {self.ratings}: {self.n_items:,} of {self.n_rated:,} items"
        columns = [Column("item"), Column("score", decimals=3), Column("rating", decimals=2)]
        columns += [Column("expected", "expected rating", decimals=2), Column("difference", decimals=2)]
        return [
            Table(title, ["statistic", "value", "meaning"], figures, notes),
            Table("Items that agree least", columns, self.items[:N_WORST]),
        ]

    def figure(self) -> Any:
        """Return score against rating as an altair chart, with error bars and the worst items labelled."""
        from densray.figures import rating_scatter

        label = f"r = {show_estimate(self.pearson, *self.pearson_interval, 2)}"
        return rating_scatter(self.items, score=self.scores, rating=self.ratings, title=label)


def evaluate_ratings(
    source: WordSpace | VectorTable | Scores | Mapping[str, float] | Any,
    ratings: Ratings,
    axis: Axis | Lexicon | None = None,
    *,
    names: str | None = None,
    method: str | Rotation = "auto",
    phrases: Phrases = "missing",
    options: AxisOptions = DEFAULTS,
    **choices: Unpack[AxisChoices],
) -> RatingAgreement:
    """Compare scores with ratings by people: correlations, their intervals, and the noise ceiling.

    Parameters
    ----------
    source : WordSpace or KeyedVectors, table, Scores, or mapping of names to scores
        A space or a table (:func:`densray.tables.open_table`), whose words or documents are scored along `axis`. Or
        scores with names.
    ratings : Ratings
        Ratings of words or of named documents. :meth:`densray.Ratings.from_table` reads them from the table itself.
    axis : Axis or Lexicon, optional
        For a space: the axis, or labelled words to fit it on. For a table: the axis.
    names : str, optional
        For a table: column of the document names used in the ratings (default: ``id``, or row numbers). Documents with
        the same name are one item, with their mean score.
    method : str or rotation, default="auto"
        Used if a lexicon is given.
    phrases : {"missing", "mean"}, default="missing"
        How to treat an item of several words that the space does not have. ``"missing"``: leave it out. ``"mean"``: use
        the mean of its words at unit length, if the space has all of them.
    options : AxisOptions, optional
    **choices
        Fields of :class:`densray.axes.AxisOptions` by name, such as ``any_case=True``.

    Examples
    --------
    >>> rated = Ratings.of(["a", "b", "c", "d", "e"], [1.0, 2.0, 3.0, 5.0, 4.0])
    >>> found = evaluate_ratings({"a": 0.1, "b": 0.2, "c": 0.2, "d": 0.6, "e": 0.3}, rated)
    >>> round(found.pearson, 2), found.n_items
    (0.9, 5)
    """
    if phrases not in get_args(Phrases):
        raise TaskError(Argument("phrases", phrases), f" is given. {suggest(str(phrases), get_args(Phrases))}")
    options = options.changed(**choices)
    provenance = Provenance.begin(seed=options.random_state)
    source = as_space(source) if is_space(source) else source
    table = open_table(source) if is_table(source) else None
    if names is not None and table is None:
        raise TaskError(Argument("names", names), " is given, but there is no table with such a column. Leave it out.")
    if table is not None:
        if not isinstance(axis, Axis):
            raise TaskError("a table is given and no axis. Give the axis that scores its documents.")
        measured_axis = axis
        located = _in_table(table, ratings, measured_axis, names, any_case=options.any_case)
        name, seed_names = measured_axis.concept or measured_axis.method, _known_names(measured_axis.seed_names)
    elif isinstance(source, WordSpace):
        if axis is None:
            raise TaskError("a space is given and no axis. Give an axis, or the labelled words to find it from.")
        measured_axis = (
            axis if isinstance(axis, Axis) else Axis.fit(find_rows(source, axis, options), method, options=options)
        )
        located = _in_space(source, ratings, measured_axis, phrases, any_case=options.any_case)
        name, seed_names = measured_axis.concept or measured_axis.method, measured_axis.seed_names
    else:
        if axis is not None:
            raise TaskError("both scores and an axis are given. Give a space or a table with an axis, or scores alone.")
        located = _in_scores(cast("Scores | Mapping[str, float]", source), ratings, any_case=options.any_case)
        name, seed_names = "scores", None
    keys = {spelling_key(word, any_case=options.any_case) for word in seed_names or ()}
    is_seed = np.array(
        [spelling_key(ratings.items[place], any_case=options.any_case) in keys for place in located.places.tolist()],
        dtype=bool,
    )
    if located.was_fitted is not None:
        is_seed |= located.was_fitted
    seeds_known = seed_names is not None or located.was_fitted is not None
    seeds = tuple(ratings.items[place] for place in located.places[is_seed].tolist())
    enough = int((~is_seed).sum()) >= FEW_ITEMS
    kept = np.flatnonzero(~is_seed) if enough else np.arange(len(is_seed))
    if len(kept) < FEWEST_ITEMS:
        raise CoverageError(
            f"{len(kept)} of {len(ratings)} items of '{ratings.name}' {'has' if len(kept) == 1 else 'have'} a score"
            f"{first_missing(located.missing)}; at least {FEWEST_ITEMS} are needed."
        )
    rated, scores = ratings.take(located.places[kept]), located.scores.score[kept]
    errors = None if located.scores.standard_error is None else located.scores.standard_error[kept]
    for what, values in (("rating", rated.values), ("score", scores)):
        if not np.ptp(values):
            raise LabelError(
                f"all {len(values)} items have the same {what}, {values[0]:g}, so there is nothing to compare. Rate "
                "other items, or check the columns."
            )
    copies = np.arange(len(kept)) if located.vectors is None else _first_copies(located.vectors[kept], measured_axis)
    r, interval = pearson(rated.values, scores), pearson_interval(rated.values, scores, groups=copies)
    reliability = rated.reliability(random_state=options.random_state)
    return RatingAgreement(
        ratings=ratings.name,
        scores=name,
        n_items=len(kept),
        n_rated=len(ratings),
        pearson=r,
        pearson_interval=interval,
        spearman=spearman(rated.values, scores),
        spearman_interval=spearman_interval(rated.values, scores, groups=copies),
        n_repeated=len(copies) - len(np.unique(copies)),
        notes=(*ratings.notes, *ratings.doubtful_raters()),
        n_raters=rated.n_raters,
        reliability=reliability,
        ceiling=None if reliability is None else float(np.sqrt(reliability)),
        ceiling_from=None if reliability is None else "raters" if rated.raters is not None else "standard errors",
        explained=_explained_share(r, reliability),
        explained_interval=_explained_interval(interval, reliability),
        held_out=not seeds or enough if seeds_known else None,
        seeds_among_items=seeds,
        n_phrases=int(located.is_mean[kept].sum()) if table is None else 0,
        n_averaged=0 if table is None else int(located.is_mean[kept].sum()),
        spread=None if located.vectors is None else measured_axis.spread_along(located.vectors[kept]),
        items=_comparison_rows(rated, scores, errors),
        unrecognised=located.unrecognised,
        label_names=measured_axis.label_names if table is not None or isinstance(source, WordSpace) else None,
        provenance=provenance.finish(
            inputs=[
                *([Input.of("space", source)] if isinstance(source, WordSpace) else []),
                *([Input("table", table.name, None, len(table))] if table is not None else []),
                Input("ratings", ratings.name, None, len(ratings)),
            ],
            used=len(kept),
            missing=located.missing,
            set_aside={
                reason: words
                for reason, words in (
                    ("averaged", ratings.repeated),
                    ("unlabelled", ratings.unrated),
                    ("same vector", located.merged),
                    ("seeds of the axis", seeds if enough else ()),
                )
                if words
            },
            method=measured_axis.method if table is not None or isinstance(source, WordSpace) else None,
        ),
    )


@dataclass(frozen=True)
class _Located:
    """The rated items that have a score, their scores, and how many are means of several words or documents.

    `was_fitted` marks items whose documents were all used to fit the axis; None if these documents are not known.
    """

    places: NDArray[np.intp]
    scores: Scores
    is_mean: NDArray[np.bool_]
    missing: tuple[str, ...]
    merged: tuple[str, ...] = ()
    vectors: NDArray[Any] | None = None
    was_fitted: NDArray[np.bool_] | None = None
    unrecognised: str = ""


def _in_space(space: WordSpace, ratings: Ratings, axis: Axis, phrases: Phrases, *, any_case: bool | None) -> _Located:
    rows, _ = locate_spellings(ratings.items, space, any_case=any_case)
    _, first = np.unique(rows, return_index=True)
    own = np.zeros(len(rows), dtype=bool)
    own[first] = rows[first] >= 0
    merged = tuple(ratings.items[place] for place in np.flatnonzero((rows >= 0) & ~own).tolist())
    vectors = {place: space.vectors_at(rows[place : place + 1])[0] for place in np.flatnonzero(own).tolist()}
    composed = _phrase_vectors(space, ratings.items, rows, any_case=any_case) if phrases == "mean" else {}
    places = np.array(sorted({*vectors, *composed}), dtype=np.intp)
    missing = tuple(ratings.items[place] for place in np.flatnonzero(rows < 0).tolist() if place not in composed)
    if not len(places):
        hint = Advice(
            " Items of several words can have the mean vector of their words: ", Argument("phrases", "mean"), "."
        )
        raise CoverageError(
            f"none of the {len(ratings)} items of '{ratings.name}' is in '{space.name}' (first missing: "
            f"{name_some(missing)}).",
            hint if any(" " in item for item in missing) else "",
            ratings.sheet_note and f" {ratings.sheet_note}",
        )
    X = np.array([vectors[place] if place in vectors else composed[place] for place in places.tolist()])
    is_phrase = np.array([place in composed for place in places.tolist()], dtype=bool)
    return _Located(places, axis.score(X), is_phrase, missing, merged, X)


def _phrase_vectors(
    space: WordSpace, items: Sequence[str], rows: NDArray[np.int64], *, any_case: bool | None
) -> dict[int, NDArray[Any]]:
    """Return the mean of the unit vectors of the words of each missing multi-word item."""
    vectors = {}
    for place in np.flatnonzero(rows < 0).tolist():
        parts = items[place].replace("_", " ").split()
        at = space.locate(parts, any_case=any_case) if len(parts) > 1 else np.array([-1])
        if (at >= 0).all():
            vectors[place] = unit_rows(space.vectors_at(at)).mean(axis=0)
    return vectors


def _in_table(
    table: VectorTable, ratings: Ratings, axis: Axis, names: str | None, *, any_case: bool | None
) -> _Located:
    """Return the scores of the rated documents; documents of the same name are averaged, without the fitted ones."""
    check_table(axis, table)
    places = {item: place for place, item in enumerate(ratings.items)}
    by_key: dict[str, int] = {}
    for item, place in places.items():
        by_key.setdefault(spelling_key(item, any_case=any_case), place)
    item_places = [
        places.get(name, by_key.get(spelling_key(name, any_case=any_case), -1)) for name in row_names(table, names)
    ]
    item_of_row = np.array(item_places, dtype=np.intp)
    blocks, start = [], 0
    for _, X, usable in table.with_directions().batches([]):
        at = np.flatnonzero((item_of_row[start : start + len(X)] >= 0) & usable)
        blocks.append((X[at], item_of_row[start + at]))
        start += len(X)
    rows = np.concatenate([at for _, at in blocks])
    if not len(rows):
        hint = Advice(" Name the column with the names of the documents: ", Argument("names", ...), ".")
        raise CoverageError(
            f"none of the {len(ratings)} items of '{ratings.name}' is in '{table.name}' (first missing: "
            f"{name_some(ratings.items)}).",
            hint if names is None else "",
            ratings.sheet_note and f" {ratings.sheet_note}",
        )
    vectors = np.concatenate([X for X, _ in blocks])
    fitted = axis.fitted_rows
    only_fitted: set[int] | None = None
    n_recognised = 0
    if fitted is not None:
        unit = unit_rows(vectors) if axis.options.normalize else vectors
        is_new = np.ones(len(rows), dtype=bool)
        matches = fitted.recognise(unit, axis.direction)
        n_recognised, is_new[matches.places] = len(set(matches.fitted.tolist())), False
        only_fitted = set(rows.tolist()) - set(rows[is_new].tolist())
        kept = is_new | np.isin(rows, list(only_fitted))
        rows, vectors = rows[kept], vectors[kept]
    scores = axis.score(vectors)
    rated, inverse, counts = np.unique(rows, return_inverse=True, return_counts=True)
    # the error of a mean score is at most the mean of the errors, since all come from the same seeds
    means = [
        None if values is None else np.bincount(inverse, weights=values) / counts
        for values in (scores.score, scores.standard_error)
    ]
    assert means[0] is not None
    found = set(rated.tolist())
    missing = tuple(item for place, item in enumerate(ratings.items) if place not in found)
    return _Located(
        rated,
        Scores(means[0], standard_error=means[1]),
        counts > 1,
        missing,
        vectors=_means(vectors, inverse),
        was_fitted=None if only_fitted is None else np.isin(rated, list(only_fitted)),
        unrecognised=explain_changed(axis, table, n_recognised),
    )


def _means(vectors: NDArray[Any], inverse: NDArray[np.intp]) -> NDArray[Any]:
    """Return the mean vector of the rows of each item."""
    order = np.argsort(inverse, kind="stable")
    starts = np.flatnonzero(np.diff(inverse[order], prepend=-1))
    counts = np.diff([*starts, len(order)])
    return np.asarray(np.add.reduceat(vectors[order].astype(np.float64), starts, axis=0) / counts[:, None])


def _known_names(names: Sequence[str] | None) -> Sequence[str] | None:
    """Return the names of seeds; None if they are only row numbers, possibly of another table."""
    return None if names is None or all(_ROW_NUMBER.fullmatch(name) for name in names) else names


def _in_scores(source: Scores | Mapping[str, float], ratings: Ratings, *, any_case: bool | None) -> _Located:
    if isinstance(source, Mapping):
        source = Scores(np.array([float(score) for score in source.values()]), names=tuple(map(str, source)))
    if len(source.names) != len(source):
        raise TaskError(f"{len(source)} scores are given with {len(source.names)} names; one name per score is needed.")
    by_key: dict[str, list[int]] = {}
    for row, name in enumerate(source.names):
        by_key.setdefault(spelling_key(name, any_case=any_case), []).append(row)
    exact = {name: row for row, name in enumerate(source.names)}
    places, rows, missing = [], [], []
    for place, item in enumerate(ratings.items):
        alike = by_key.get(spelling_key(item, any_case=any_case), [])
        if len(alike) > 1 and any_case is None and item not in exact:
            alike = []  # ambiguous: several names differ only in case
        if len(alike) > 1 and source.names.count(item) != 1:
            raise TaskError(
                f"'{item}' is the name of {len(alike)} scores; a rated item can have only one. Rename the others."
            )
        row = exact.get(item, alike[0] if alike else -1)
        if row < 0:
            missing.append(item)
        else:
            places.append(place)
            rows.append(row)
    at = np.array(rows, dtype=np.intp)
    errors = source.standard_error
    selection = Scores(source.score[at], standard_error=None if errors is None else errors[at])
    return _Located(np.array(places, dtype=np.intp), selection, np.zeros(len(at), dtype=bool), tuple(missing))


def _first_copies(vectors: NDArray[Any], axis: Axis) -> NDArray[np.intp]:
    """Return for each item the first item with the same vector, as the axis sees it."""
    return first_copies(unit_rows(vectors) if axis.options.normalize else vectors)


def _explained_share(r: float, reliability: float | None) -> float | None:
    return None if not reliability else max(r, 0.0) ** 2 / reliability


def _explained_interval(interval: Interval, reliability: float | None) -> Interval | None:
    low, high = (_explained_share(end, reliability) for end in interval)
    return None if low is None or high is None else Interval(low, high)


def _comparison_rows(
    rated: Ratings, scores: NDArray[np.float64], errors: NDArray[np.float64] | None
) -> list[dict[str, Any]]:
    """Return the items with the rating predicted from their score by least squares, the worst first."""
    slope = float(np.cov(scores, rated.values)[0, 1] / np.var(scores, ddof=1))
    expected = rated.values.mean() + slope * (scores - scores.mean())
    difference = rated.values - expected
    return [
        {
            "item": rated.items[row],
            "score": float(scores[row]),
            "score_error": None if errors is None else float(errors[row]),
            "rating": float(rated.values[row]),
            "rating_error": None if rated.errors is None else float(rated.errors[row]),
            "expected": float(expected[row]),
            "difference": float(difference[row]),
        }
        for row in np.argsort(-np.abs(difference), kind="stable").tolist()
    ]
