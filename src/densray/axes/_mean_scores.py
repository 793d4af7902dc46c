r"""Mean scores of groups of documents, with intervals that cover the choice of documents and the error of the axis.

The zero of an axis has no meaning, and another axis would shift all scores together. So a group is compared with all
documents: :math:`d_g = \bar s_g - \bar s`, the mean score of the group minus the mean score of all documents. Two
things make the difference uncertain, and their variances add:

- *the documents*: other documents of the same groups would have other means. Documents that belong together (an author,
  a speech) count as one draw. The variance is that of resampling whole sets c of documents, in closed form:
  :math:`\sum_c \left(\sum_{i \in c \cap g} r_i/n_g - \sum_{i \in c} r_i/n\right)^2`. Here :math:`r_i` is the score
  of a document minus the mean of its group, times :math:`\sqrt{k/(k-1)}` for a group of k sets;
- *the axis*: other seeds would give another axis, :math:`w + \delta` with the covariance of the jackknife, and the
  difference would move by :math:`(\bar x_g - \bar x)^\top \delta`.

Documents that the axis was fitted on count with their held-out scores: along the axis itself, even random labels would
seem to differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import unit_rows
from densray.axes._axis import Axis
from densray.axes._tables import check_table
from densray.errors import Argument, TaskError, name_some
from densray.groups import number_groups
from densray.progress import Progress
from densray.report import Column, Input, Provenance, Result, Table, show_count, show_number
from densray.tables import VectorTable

#: Largest number of groups of documents.
MOST_GROUPS = 10_000


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
    rows : list of dict
        Each group: the values of the columns, ``documents``, ``draws`` (documents, or sets of them that belong
        together), ``mean``, ``difference`` (the mean minus the mean of all documents) with its interval
        ``difference_low`` to ``difference_high``, and the standard errors ``from_documents`` and ``from_axis`` of the
        difference. ``low`` to ``high`` is the same interval around ``mean``, with the mean of all documents taken as
        known.
    overall : float
        Mean score of all documents in the groups.
    n_skipped : int
        Documents without a value in one of the columns, or without a usable vector.
    n_fitted : int
        Documents that the axis was fitted on; they count with their held-out scores.
    axis_verdict : str
        The verdict on the axis; empty if there is none.
    """

    title = "Mean scores"

    concept: str
    by: tuple[str, ...]
    ordered: str | None
    rows: list[dict[str, Any]]
    overall: float
    n_skipped: int
    n_fitted: int = 0
    axis_verdict: str = ""

    def tables(self) -> list[Table]:
        """Return one row per group."""
        columns: list[Column | str] = [Column(name, grouped=False) for name in self.by]
        columns += [Column("difference", decimals=4)]
        columns += [Column(f"difference_{end}", end, decimals=4) for end in ("low", "high")]
        columns += [Column("mean", decimals=4), "documents", "draws"]
        columns += [Column("from_documents", "± documents", decimals=4), Column("from_axis", "± axis", decimals=4)]
        notes = [
            "difference: mean score of the group minus the mean score of all documents "
            f"({show_number(self.overall, 4)}). low and high: its 95% interval. It covers the choice of documents and "
            "the error of the axis. ±: standard errors."
        ]
        if len(self.rows) == 1:
            notes.append("There is only one group, so there is nothing to compare it with.")
        if self.n_fitted:
            verb = "document was" if self.n_fitted == 1 else "documents were"
            notes.append(
                f"{show_count(self.n_fitted)} {verb} used to fit the axis. They count with held-out scores, from axes "
                "fitted without them."
            )
        if any(row["draws"] == 1 for row in self.rows):
            notes.append("A group with a single draw has no interval.")
        if self.n_skipped:
            notes.append(f"{show_count(self.n_skipped)} documents have no value or no vector and are left out.")
        if self.axis_verdict:
            notes.append(f"The axis: {self.axis_verdict}")
        return [Table(f"{self.concept} by {', '.join(self.by)}", columns, self.rows, notes)]


def mean_scores(
    axis: Axis,
    table: VectorTable,
    by: Sequence[str],
    *,
    groups: str | None = None,
    progress: Progress | None = None,
) -> MeanScores:
    """Return mean scores of groups of documents, compared with all documents, with intervals.

    Parameters
    ----------
    axis : Axis
        An axis with errors: fitted on rows, or saved with errors.
    table : VectorTable
    by : sequence of str
        Columns whose values define the groups.
    groups : str, optional
        Column of the documents that belong together, such as the author, and count as one draw.
    progress : callable, optional
        Called with the number of rows done and their total.
    """
    from scipy.sparse import csr_array

    began = Provenance.begin()
    check_table(axis, table)
    uncertainty = axis.uncertainty
    if uncertainty is None:
        raise TaskError(
            "this axis has no errors, so that means would have no intervals. Fit and save it with ",
            Argument("judge", True),
            ".",
        )
    keys, codes, ordered = _keys(table, by)
    sums, scores = np.zeros((len(keys), table.width)), np.full(len(table), np.nan)
    fitted, n_fitted = axis.fitted_rows, 0
    for start, X in table.blocks():
        stop, places = start + len(X), np.flatnonzero(codes[start : start + len(X)] >= 0)
        places = places[np.isfinite(X[places, 0])]
        if places.size:
            vectors = unit_rows(X[places]) if axis.options.normalize else X[places]
            coordinates = vectors @ axis.direction
            if fitted is not None:
                seen, held_out = fitted.recognise(vectors, coordinates)
                coordinates[seen] = held_out
                n_fitted += len(seen)
            scores[start + places] = coordinates
            own = codes[start + places]
            members = csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(len(keys), len(own)))
            sums += members @ vectors
        if progress is not None:
            progress(stop, len(table))
    together = np.arange(len(table)) if groups is None else number_groups(table.column(groups).to_pylist())
    used = np.flatnonzero(np.isfinite(scores))
    if not used.size:
        raise TaskError(f"no document with a usable vector has a value in {name_some(by)}, so there are no means.")
    figures, overall = _compare_groups(scores[used], codes[used], together[used])
    overall_row = sums.sum(axis=0) / len(used)
    rows = []
    for number, found in figures.items():
        moves = uncertainty.errors.deviations @ (sums[number] / found["documents"] - overall_row)
        interval = _interval(found, float(moves @ moves), compared=len(figures) > 1)
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
        axis_verdict="" if verdict is None else verdict.sentence,
        provenance=began.finish(inputs=[Input("table", table.name, size=len(table))], used=n_used, method=axis.method),
    )


def _compare_groups(
    scores: NDArray[np.float64], codes: NDArray[np.int64], together: NDArray[np.int64]
) -> tuple[dict[int, dict[str, Any]], float]:
    """Return the figures of each group by its number, and the mean of all scores.

    A group has its number of documents and of draws, its mean, its difference from the mean of all, the variance of
    that difference over other draws of the same groups, and the sum of squares that gives its degrees of freedom.
    """
    numbers, own = np.unique(codes, return_inverse=True)
    sets = np.unique(together, return_inverse=True)[1]
    counts, overall, n = np.bincount(own), float(scores.mean()), len(scores)
    means = np.bincount(own, scores) / counts
    parts = np.split(np.argsort(own, kind="stable"), np.cumsum(counts)[:-1])
    members = [np.unique(sets[places], return_inverse=True) for places in parts]
    draws = np.array([len(of_group) for of_group, _ in members])
    # k/(k-1) makes the variance of k draws unbiased; a single draw says nothing about its own spread
    freedom = np.maximum(draws - 1, 1)
    residuals = (scores - means[own]) * np.sqrt(draws / freedom)[own]
    sums = [np.bincount(which, residuals[places]) for (_, which), places in zip(members, parts, strict=True)]
    spread = np.array([float(each @ each) for each in sums])  # n_g² times the variance of the mean of each group
    among_all = np.bincount(sets, residuals) / n
    for_all = float(among_all @ among_all)
    shares = (spread / n**2) ** 2 / freedom
    figures = {}
    for group, number in enumerate(numbers.tolist()):
        # Σ_c (V_gc − U_c)² over all sets c is ΣU² + Σ (V_gc² − 2 V_gc U_c) over those with documents of the group
        within = sums[group] / counts[group]
        variance = max(for_all + float(within @ (within - 2.0 * among_all[members[group][0]])), 0.0)
        # Welch and Satterthwaite: each group adds the square of its variance over its degrees of freedom
        own_share = (spread[group] * (1.0 / counts[group] - 1.0 / n) ** 2) ** 2 / freedom[group]
        figures[number] = {
            "documents": int(counts[group]),
            "draws": int(draws[group]),
            "mean": float(means[group]),
            "difference": float(means[group]) - overall,
            "variance": variance,
            "squares": float(shares.sum() - shares[group] + own_share),
        }
    return figures, overall


def _interval(found: dict[str, Any], axis_variance: float, *, compared: bool) -> dict[str, Any]:
    """Return the figures of a group with the interval of its difference and the two standard errors behind it."""
    from scipy.special import stdtrit  # the quantile of Student's t

    figures = {name: found[name] for name in ("documents", "draws", "mean", "difference")}
    names = ("low", "high", "difference_low", "difference_high", "from_documents", "from_axis")
    figures |= dict.fromkeys(names)
    if not compared:
        return {**figures, "difference": None}
    figures["from_axis"] = float(np.sqrt(axis_variance))
    if found["draws"] == 1:
        return figures
    total = found["variance"] + axis_variance
    freedom = total**2 / found["squares"] if found["squares"] > 0 else np.inf  # those of the axis are large
    half = float(stdtrit(min(freedom, 1e9), 0.975) * np.sqrt(total))
    return {
        **figures,
        "low": found["mean"] - half,
        "high": found["mean"] + half,
        "difference_low": found["difference"] - half,
        "difference_high": found["difference"] + half,
        "from_documents": float(np.sqrt(found["variance"])),
    }


def _keys(table: VectorTable, by: Sequence[str]) -> tuple[list[tuple[Any, ...]], NDArray[np.int64], str | None]:
    """Return the distinct values of columns, the number of each row (-1: none), and a column that has an order."""
    if not by:
        raise TaskError("no column is named. Name the columns whose values make the groups.")
    columns = [table.column(name).to_pylist() for name in by]
    whole = [
        None if any(value in (None, "") or str(value) == "nan" for value in values) else values
        for values in zip(*columns, strict=True)
    ]
    distinct = {key for key in whole if key is not None}
    if not distinct or len(distinct) > MOST_GROUPS:
        raise TaskError(
            f"{name_some(by)} have {len(distinct):,} different values; 1 to {MOST_GROUPS:,} are needed. Name columns "
            "that documents share."
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
