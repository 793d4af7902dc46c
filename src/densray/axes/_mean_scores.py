r"""Mean scores of groups of documents, with intervals that cover the choice of documents and the error of the axis.

The zero of an axis has no meaning, and another axis would shift all scores together. So a group is compared with all
documents: :math:`d_g = \bar s_g - \bar s`, the mean score of the group minus the mean score of all documents. Two
things make the difference uncertain, and their variances add:

- *the documents*: other documents of the same groups would have other means. Documents that belong together (an author,
  a speech) count as one draw. The variance is that of resampling whole sets c of documents, in closed form:
  :math:`\sum_c \left(\sum_{i \in c \cap g} r_i/n_g - \sum_{i \in c} r_i/n\right)^2`. Here :math:`r_i` is the score
  of a document minus the mean of its group, scaled as in a jackknife over sets (:class:`_Draws`);
- *the axis*: other seeds would give another axis, :math:`w + \delta` with the covariance of the jackknife, and the
  difference would move by :math:`(\bar x_g - \bar x)^\top \delta`. Here :math:`\delta` also changes the length of the
  axis, since an axis that tilts by chance towards the difference would otherwise have too small an error.

Documents that the axis was fitted on count with their held-out scores: along the axis itself, even random labels would
seem to differ. Documents with the same vector, such as a table that contains its rows twice, are one draw: further
copies add no evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import category
from densray._conversions import as_pandas
from densray._copies import project_on_fixed
from densray._vocabulary import unit_rows
from densray.axes._axis import Axis
from densray.axes._citation import cite_axis
from densray.axes._tables import check_table, explain_changed
from densray.axes._verdict import show_grade
from densray.errors import Argument, TaskError, name_some, refuse_text
from densray.groups import find_equal_rows, first_copies, join_groups, number_groups
from densray.progress import Progress
from densray.report import Citation, Column, Input, Provenance, Result, Table, show_count, show_number
from densray.rows import warn_of_missing_codes, warn_of_similar_names
from densray.tables import VectorTable, open_table

if TYPE_CHECKING:
    import polars

#: Largest number of groups of documents.
MOST_GROUPS = 10_000
#: Keys of the figures of a group, next to the values of its columns.
_FIGURES = ("documents", "draws", "mean", "difference")
_ERRORS = ("difference_low", "difference_high", "from_documents", "from_axis")
#: Number of coordinates by which repeated documents are found; the vectors need not fit into memory.
_N_MARKS = 32
#: With so many groups, one of them may well differ by chance.
_MANY_GROUPS = 5
_DETAIL_NOTES = [
    "mean: mean score of the group. draws: documents, or sets of documents that belong together. ±: the two standard "
    "errors of the difference, from the choice of documents and from the axis."
]


@dataclass(frozen=True)
class MeanScores(Result):
    """Mean scores of groups of documents, compared with all documents, with 95% intervals.

    Attributes
    ----------
    concept : str
    by : tuple of str
        Columns whose values define the groups.
    ordered : str or None
        A column among them that has an order, such as the year.
    drawn_by : str or None
        Column such as the author. Documents with the same value are one draw.
    rows : list of dict
        Each group: the values of the columns, ``documents``, ``draws`` (independent units: documents, or sets of
        documents that belong together or have the same vector), ``mean``, ``difference`` (the mean minus the mean of
        all documents) with its interval ``difference_low`` to ``difference_high``, and the standard errors
        ``from_documents`` and ``from_axis`` of the difference.
    overall : float
        Mean score of all documents in the groups.
    n_skipped : int
        Documents without a value in one of the columns, or without a usable vector.
    n_fitted : int
        Documents that the axis was fitted on, and copies of them; they count with their held-out scores.
    n_repeated : int
        Documents with the vector of an earlier document, up to rounding. Documents with the same vector are one draw.
    n_unsure : int
        Documents that are nearly the same as a training document: perhaps rounded copies, perhaps only similar. They
        count with their own scores.
    unrecognised : str
        A warning if documents that the axis was fitted on may be in the table with changed vectors; else empty.
    axis_verdict : str
        The verdict on the axis; empty if there is none.
    axis_grade : str or None
        The grade of the axis: good, fair, weak, none or unclear (“too few to tell”).
    orientation : str
        Which end of the axis is high.
    citation : Citation or None
        A sentence about the axis for a methods section, and BibTeX entries.
    """

    title = "Mean scores"

    concept: str
    by: tuple[str, ...]
    ordered: str | None
    rows: list[dict[str, Any]]
    overall: float
    n_skipped: int
    n_fitted: int = 0
    n_unsure: int = 0
    n_repeated: int = 0
    unrecognised: str = ""
    axis_verdict: str = ""
    axis_grade: str | None = None
    orientation: str = ""
    drawn_by: str | None = None
    citation: Citation | None = field(default=None, repr=False)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with one row per group and the columns of `rows`."""
        import polars

        return polars.DataFrame(self.rows, infer_schema_length=None)

    def to_pandas(self) -> Any:
        """Return a pandas frame with the columns of :meth:`to_polars`."""
        return as_pandas(self.to_polars().to_dict(as_series=False))

    @property
    def grade(self) -> str | None:
        """The grade of the axis, the verdict on which begins the text."""
        return self.axis_grade

    def text(self) -> str:
        """Return the verdict on the axis, which end is high, doubts, and how many groups differ from all documents."""
        verdict = self.axis_verdict.replace("Trust:", "Trust in the axis:", 1)
        return "\n".join(filter(None, [verdict, self.orientation, self.unrecognised, self._finding()]))

    def _finding(self) -> str:
        """Return how many groups have an interval without 0."""
        with_interval = [row for row in self.rows if row["difference_low"] is not None]
        if not with_interval:
            return ""
        count = sum(row["difference_low"] > 0 or row["difference_high"] < 0 for row in with_interval)
        if not count:
            return "No group differs clearly from all documents: every 95% interval of a difference contains 0."
        verb, intervals = ("differs", "its 95% interval does") if count == 1 else ("differ", "their 95% intervals do")
        chance = " By chance, about 1 group in 20 does." if len(with_interval) >= _MANY_GROUPS else ""
        doubt = ""
        if self.axis_grade in ("none", "unclear"):
            grade = show_grade(self.axis_grade)
            doubt = f" But the axis is graded “{grade}”, so it is not known what they differ in."
        return (
            f"{show_count(count)} of {show_count(len(with_interval))} groups {verb} from all documents: "
            f"{intervals} not contain 0.{chance}{doubt}"
        )

    def tables(self) -> list[Table]:
        """Return the differences of the groups and, folded, their means and the standard errors."""
        keys = [Column(name, grouped=False) for name in self.by]
        columns = [*keys, Column("difference", decimals=4)]
        columns += [Column(f"difference_{end}", end, decimals=4) for end in ("low", "high")]
        columns += [Column("documents")]
        details = [*keys, Column("mean", decimals=4), Column("documents"), Column("draws")]
        details += [Column("from_documents", "± documents", decimals=4), Column("from_axis", "± axis", decimals=4)]
        title = f"{self.concept} by {', '.join(self.by)}"
        return [
            Table(title, columns, self.rows, self._notes(), keys=len(keys)),
            Table("Means and standard errors", details, self.rows, _DETAIL_NOTES, folded=True, keys=len(keys)),
        ]

    def _notes(self) -> list[str]:
        notes = [
            "difference: mean score of the group minus the mean score of all documents "
            f"({show_number(self.overall, 4)}). low and high: its 95% interval. It covers the choice of documents and "
            "the error of the axis."
        ]
        if self.drawn_by is not None:
            notes.append(f"Documents with the same value of “{self.drawn_by}” are one draw.")
        if len(self.rows) == 1:
            notes.append("There is only one group, so there is nothing to compare it with.")
        if self.n_repeated:
            one = self.n_repeated == 1
            notes.append(
                f"{show_count(self.n_repeated)} {'document repeats' if one else 'documents repeat'} the vector of "
                "another. Documents with the same vector are one draw, since copies add no evidence."
            )
        if self.n_fitted:
            one = self.n_fitted == 1
            copies = "is a copy of such a document" if one else "are copies of such documents"
            use = "it, a held-out score is used: it" if one else "them, held-out scores are used: each"
            notes.append(
                f"{show_count(self.n_fitted)} {'document was' if one else 'documents were'} used to fit the axis"
                f"{f', or {copies}' if self.n_repeated else ''}. For {use} comes from an axis that was fitted without "
                "the document."
            )
        if self.n_unsure:
            one = self.n_unsure == 1
            notes.append(
                f"{show_count(self.n_unsure)} {'document is' if one else 'documents are'} so close to documents used "
                f"to fit the axis that {'it' if one else 'they'} could be rounded copies of them, or new documents. "
                f"{'It counts' if one else 'They count'} as new. If {'it is a copy' if one else 'they are copies'}, "
                "the groups may seem to differ too much. Give the vectors with all decimals to be sure."
            )
        if any(row["draws"] == 1 for row in self.rows):
            notes.append("A group with a single draw has no interval.")
        if self.n_skipped:
            one = self.n_skipped == 1
            notes.append(
                f"{show_count(self.n_skipped)} {'document has' if one else 'documents have'} no value or no vector and "
                f"{'is' if one else 'are'} left out."
            )
        return notes


def mean_scores(
    axis: Axis,
    table: Any,
    by: Sequence[str],
    *,
    groups: str | None = None,
    progress: Progress | None = None,
) -> MeanScores:
    """Return mean scores of groups of documents, compared with all documents, with intervals.

    Parameters
    ----------
    axis : Axis
        An axis with standard errors: one fitted on rows, or one saved with standard errors.
    table : VectorTable, path or frame
        See :func:`densray.tables.open_table`.
    by : sequence of str
        Columns whose values define the groups.
    groups : str, optional
        Column such as the author. Documents with the same value are one sampled unit.
    progress : callable, optional
        Called with the number of rows done and their total.
    """
    from scipy.sparse import csr_array

    began = Provenance.begin()
    refuse_text(by, "by")
    table = open_table(table)
    check_table(axis, table)
    uncertainty = axis.uncertainty
    if uncertainty is None:
        raise TaskError(
            "this axis has no standard errors, so the means would have no intervals. Fit and save it with ",
            Argument("judge", True),
            ".",
        )
    table = table.with_directions()
    keys, codes, ordered = _keys(table, by)
    sums, scores = np.zeros((len(keys), table.width)), np.full(len(table), np.nan)
    fitted, n_fitted, n_unsure = axis.fitted_rows, 0, 0
    recognised: set[int] = set()
    marks = np.full((len(table), min(table.width, _N_MARKS)), np.nan)
    for start, X in table.blocks():
        stop, places = start + len(X), np.flatnonzero(codes[start : start + len(X)] >= 0)
        places = places[np.isfinite(X[places, 0])]
        if places.size:
            vectors = unit_rows(X[places]) if axis.options.normalize else X[places]
            coordinates = vectors @ axis.direction
            if fitted is not None:
                matches = fitted.recognise(vectors, axis.direction)
                coordinates[matches.places] = matches.held_out
                n_fitted += len(matches.places)
                n_unsure += matches.n_unsure
                recognised.update(matches.fitted.tolist())
            scores[start + places] = coordinates
            marks[start + places] = vectors if table.width <= _N_MARKS else project_on_fixed(vectors, _N_MARKS)
            own = codes[start + places]
            members = csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(len(keys), len(own)))
            sums += members @ vectors
        if progress is not None:
            progress(stop, len(table))
    used = np.flatnonzero(np.isfinite(scores))
    if not used.size:
        raise TaskError(f"no document with a usable vector has a value in {name_some(by)}, so there are no means.")
    given = None if groups is None else number_groups(table.column(groups).to_pylist())[used]
    together, n_repeated = _draws(marks[used], given, table.width)
    figures, overall = _compare_groups(scores[used], codes[used], together)
    overall_row = sums.sum(axis=0) / len(used)
    rows = []
    for number, figure in figures.items():
        difference = sums[number] / figure["documents"] - overall_row
        axis_variance = uncertainty.contrast_variance(axis.direction, difference)
        interval = _interval(
            figure, axis_variance, uncertainty.errors.seed_angle.n_resamples, compared=len(figures) > 1
        )
        rows.append({**dict(zip(by, keys[number], strict=True)), **interval})
    n_used = sum(row["documents"] for row in rows)
    verdict = axis.verdict if axis.rows is None else axis.quick_verdict()  # a whole diagnosis would take long
    return MeanScores(
        concept=axis.concept,
        by=tuple(by),
        ordered=ordered,
        rows=rows,
        overall=overall,
        n_skipped=len(table) - n_used,
        n_fitted=n_fitted,
        n_unsure=n_unsure,
        n_repeated=n_repeated,
        unrecognised=explain_changed(axis, table, len(recognised)),
        axis_verdict="" if verdict is None else verdict.sentence,
        axis_grade=None if verdict is None else verdict.grade,
        orientation=axis.orientation,
        drawn_by=groups,
        citation=axis.citation if axis.rows is None else cite_axis(axis, verdict),
        provenance=began.finish(
            inputs=[Input("table", table.name, size=len(table)), Input("axis", axis.concept or axis.method)],
            used=n_used,
            method=axis.method,
        ),
    )


def _draws(marks: NDArray[np.float64], given: NDArray[np.int64] | None, width: int) -> tuple[NDArray[np.int64], int]:
    """Return the number of the draw of each document, and the number of documents that repeat an earlier vector."""
    first = first_copies(marks, width=width)
    n_repeated = len(first) - len(np.unique(first))
    if given is None:
        return np.asarray(first, dtype=np.int64), n_repeated
    equal = find_equal_rows([""] * len(first), marks, given, width=width)
    return given if equal is None else join_groups(given, equal.numbers), n_repeated


def _compare_groups(
    scores: NDArray[np.float64], codes: NDArray[np.int64], together: NDArray[np.int64]
) -> tuple[dict[int, dict[str, Any]], float]:
    """Return the figures of each group by its number, and the mean of all scores.

    A group has its number of documents and of draws, its mean, its difference from the mean of all, the variance of
    that difference over other draws of the same groups, and the degrees of freedom of that variance.
    """
    numbers, own = np.unique(codes, return_inverse=True)
    sets = np.unique(together, return_inverse=True)[1]
    counts, overall, n = np.bincount(own), float(scores.mean()), len(scores)
    means = np.bincount(own, scores) / counts
    residuals = scores - means[own]
    parts = [
        _Draws.of(sets[places], residuals[places])
        for places in np.split(np.argsort(own, kind="stable"), np.cumsum(counts)[:-1])
    ]
    shared = sum(len(part.sets) for part in parts) > int(sets.max()) + 1  # some set has documents in several groups
    among_all = np.zeros(int(sets.max()) + 1)
    for part in parts:
        among_all[part.sets] += part.sums / n
    spread = np.array([float(part.sums @ part.sums) for part in parts])  # n_g² times the variance of each mean
    freedom = np.array([part.freedom for part in parts])
    draws = np.array([len(part.sets) for part in parts])
    _fill_single_draws(spread, freedom, draws, counts, means)
    single = draws == 1
    of_singles = float(spread[single].sum()) / n**2
    for_all = float(among_all @ among_all) + of_singles
    shares = np.where(single, 0.0, (spread / n**2) ** 2 / freedom)
    all_shares = float(shares.sum()) + of_singles**2 / freedom[single].max(initial=1.0)  # one estimate for all singles
    figures = {}
    for group, number in enumerate(numbers.tolist()):
        # Σ_c (V_gc − U_c)² over all sets c is ΣU² + Σ (V_gc² − 2 V_gc U_c) over those with documents of the group
        within = parts[group].sums / counts[group]
        variance = max(for_all + float(within @ (within - 2.0 * among_all[parts[group].sets])), 0.0)
        # Welch and Satterthwaite: each group adds the square of its variance over its degrees of freedom
        own_share = (spread[group] * (1.0 / counts[group] - 1.0 / n) ** 2) ** 2 / freedom[group]
        squares = float(all_shares - shares[group] + own_share)
        figures[number] = {
            "documents": int(counts[group]),
            "draws": int(draws[group]),
            "mean": float(means[group]),
            "difference": float(means[group]) - overall,
            "variance": variance,
            # if sets belong to several groups, their parts cancel, and the draws of the group count as in a paired test
            "freedom": freedom[group] if shared or squares == 0.0 else max(variance**2 / squares, 1.0),
        }
    return figures, overall


@dataclass(frozen=True)
class _Draws:
    """The sets of documents of one group: their numbers, their sums of residuals, and the degrees of freedom."""

    sets: NDArray[np.int64]
    sums: NDArray[np.float64]
    freedom: float

    @classmethod
    def of(cls, sets: NDArray[np.int64], residuals: NDArray[np.float64]) -> _Draws:
        """Return the sums of residuals, scaled so that their squares add up to n² times the variance of the mean.

        The variance is that of leaving out one set at a time: (k-1)/k Σ (r_c / (n - m_c))² for k sets of m_c documents.
        For sets of equal size this is the usual variance of a mean. A set with most of the documents counts more, and
        takes away degrees of freedom: n²/Σ m_c² - 1, which is k - 1 for sets of equal size.
        """
        members, which, sizes = np.unique(sets, return_inverse=True, return_counts=True)
        n, k = len(residuals), len(members)
        sums = np.asarray(np.bincount(which, residuals), dtype=np.float64)
        if k > 1:
            sums = sums * n / (n - sizes) * np.sqrt((k - 1) / k)
        return cls(members, sums, max(n**2 / float(sizes @ sizes) - 1.0, 1.0))


def _fill_single_draws(
    spread: NDArray[np.float64],
    freedom: NDArray[np.float64],
    draws: NDArray[np.int64],
    counts: NDArray[np.int64],
    means: NDArray[np.float64],
) -> None:
    """Fill in the spread of groups with a single draw, which does not show its own spread.

    It is the larger of two variances: that of one draw in the other groups, and that of the single draws among each
    other, which also contains the differences between their groups.
    """
    single, several = draws == 1, draws > 1
    estimates = [(0.0, 1.0)]
    if several.any():
        of_one_draw = (draws * spread / counts**2)[several]
        estimates.append((float(np.average(of_one_draw, weights=freedom[several])), float(freedom[several].sum())))
    if single.sum() > 1:
        estimates.append((float(means[single].var(ddof=1)), float(single.sum() - 1)))
    largest, its_freedom = max(estimates)
    spread[single] = counts[single] ** 2 * largest
    freedom[single] = its_freedom


def _interval(group: dict[str, Any], axis_variance: float, n_axes: int, *, compared: bool) -> dict[str, Any]:
    """Return the figures of a group with the interval of its difference and the two standard errors behind it.

    `n_axes` is the number of axes behind the variance of the axis.
    """
    from scipy.special import stdtrit  # the quantile of Student's t

    figures = {name: group[name] for name in _FIGURES} | dict.fromkeys(_ERRORS)
    if not compared:
        return {**figures, "difference": None}
    figures["from_axis"] = float(np.sqrt(axis_variance))
    if group["draws"] == 1:
        return figures
    total = group["variance"] + axis_variance
    squares = group["variance"] ** 2 / group["freedom"] + axis_variance**2 / max(n_axes - 2, 1)
    freedom = total**2 / squares if squares > 0 else np.inf
    half = float(stdtrit(min(freedom, 1e9), 0.975) * np.sqrt(total))
    return {
        **figures,
        "difference_low": group["difference"] - half,
        "difference_high": group["difference"] + half,
        "from_documents": float(np.sqrt(group["variance"])),
    }


def _values(table: VectorTable, name: str) -> list[Any]:
    """Return the values of a column that can make groups, None where one is missing; dates and times as ISO text."""
    from pyarrow import compute, types

    column = table.column(name)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind):
        if types.is_timestamp(kind) and kind.tz is not None:
            column = compute.local_timestamp(column)
        texts = compute.replace_substring_regex(column.cast("string"), r"\.0+$", "")
        if compute.all(compute.ends_with(texts, " 00:00:00")).as_py():
            texts = compute.utf8_slice_codeunits(texts, 0, -len(" 00:00:00"))
        return list(texts.to_pylist())
    if types.is_nested(kind) or types.is_duration(kind) or "binary" in str(kind):
        raise TaskError(
            f"{table.name}: the column '{name}' holds {column.type}; texts, numbers or dates make groups. Name another "
            "column."
        )
    values = [category(value) for value in column.to_pylist()]
    if types.is_decimal(kind):
        values = [None if value is None else float(value) for value in values]
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        warn_of_missing_codes(numbers, f"{table.name}, column '{name}'", noun="value")
    else:
        texts = Counter(value for value in values if isinstance(value, str))
        warn_of_similar_names(texts, f"{table.name}, column '{name}'", noun="group")
    return values


def _keys(table: VectorTable, by: Sequence[str]) -> tuple[list[tuple[Any, ...]], NDArray[np.int64], str | None]:
    """Return the distinct values of columns, the number of each row (-1: none), and a column that has an order."""
    if not by:
        raise TaskError("no column is named. Name the columns whose values make the groups.")
    if clashes := [name for name in by if name in (*_FIGURES, *_ERRORS)]:
        raise TaskError(
            f"{table.name}: the column '{clashes[0]}' has the name of a figure of the result. Rename the column."
        )
    columns = [_values(table, name) for name in by]
    whole = [None if None in values else values for values in zip(*columns, strict=True)]
    distinct = {key for key in whole if key is not None}
    if not distinct:
        raise TaskError(f"{table.name}: no row has a value in {name_some(by)}. Name columns with values.")
    if len(distinct) > MOST_GROUPS:
        raise TaskError(
            f"{name_some(by)} have {len(distinct):,} different values; at most {MOST_GROUPS:,} make groups. Name "
            "columns whose values several documents share."
        )
    keys = sorted(distinct, key=lambda key: tuple((isinstance(value, str), value) for value in key))
    numbers = {key: number for number, key in enumerate(keys)}
    codes = np.array([-1 if key is None else numbers[key] for key in whole], dtype=np.int64)
    ordered = [
        name
        for place, name in enumerate(by)
        if len({key[place] for key in keys}) > 2 and not any(isinstance(key[place], str | bool) for key in keys)
    ]
    return keys, codes, ordered[0] if ordered else None
