r"""Mean scores of groups of documents, with intervals that cover the choice of documents and the error of the axis.

The mean score of a group is :math:`\bar x^\top w`. Two things make it uncertain, and their variances add:

- *the documents*: other documents of the same kind would have another mean. Documents that belong together (an author,
  a speech) count as one draw. The variance is that of resampling whole sets of documents, in closed form:
  :math:`\frac{k}{k-1} \sum_c \left(\sum_{i \in c} (s_i - \bar s)/n\right)^2` for k sets;
- *the axis*: other seeds would give another axis, :math:`w + \delta` with the covariance of the jackknife, and the mean
  would move by :math:`(\bar x - c)^\top \delta`, measured from the average row c as all errors are.

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
from densray.report import Column, Input, Provenance, Result, Table, show_count
from densray.tables import VectorTable

#: Largest number of groups of documents.
MOST_GROUPS = 10_000


@dataclass(frozen=True)
class MeanScores(Result):
    """Mean scores of groups of documents with 95% intervals.

    Attributes
    ----------
    concept : str
    by : tuple of str
        Columns whose values define the groups.
    ordered : str or None
        A column among them that has an order, such as the year.
    rows : list of dict
        Each group: the values of the columns, ``documents``, ``draws`` (documents, or sets of them that belong
        together), ``mean``, ``low``, ``high``, and the standard errors ``from_documents`` and ``from_axis``.
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
    n_skipped: int
    n_fitted: int = 0
    axis_verdict: str = ""

    def tables(self) -> list[Table]:
        """Return one row per group."""
        columns: list[Column | str] = [*(Column(name, grouped=False) for name in self.by), "documents", "draws"]
        columns += [Column(key, decimals=4) for key in ("mean", "low", "high")]
        columns += [Column("from_documents", "± documents", decimals=4), Column("from_axis", "± axis", decimals=4)]
        notes = [
            "95% intervals cover which documents were drawn and the error of the axis, measured from the average row: "
            "compare groups with each other, not with 0. ± are standard errors."
        ]
        if self.n_fitted:
            verb = "document was" if self.n_fitted == 1 else "documents were"
            notes.append(
                f"{show_count(self.n_fitted)} {verb} used to fit the axis. They count with held-out scores, from axes "
                "fitted without them."
            )
        if any(row["low"] is None for row in self.rows):
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
    """Return mean scores of groups of documents, with intervals.

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
    rows = []
    for number, key in enumerate(keys):
        places = np.flatnonzero((codes == number) & np.isfinite(scores))
        if places.size:
            mean_row = sums[number] / len(places)
            moves = uncertainty.errors.deviations @ (mean_row - uncertainty.average_row)
            figures = _interval(scores[places], together[places], float(moves @ moves))
            rows.append({**dict(zip(by, key, strict=True)), **figures})
    n_used = sum(row["documents"] for row in rows)
    verdict = axis.verdict if axis.rows is None else axis.quick_verdict()  # a whole diagnosis would take long
    return MeanScores(
        concept=axis.concept,
        by=tuple(by),
        ordered=ordered,
        rows=rows,
        n_skipped=len(table) - n_used,
        n_fitted=n_fitted,
        axis_verdict="" if verdict is None else verdict.sentence,
        provenance=began.finish(inputs=[Input("table", table.name, size=len(table))], used=n_used, method=axis.method),
    )


def _interval(scores: NDArray[np.float64], together: NDArray[np.int64], axis_variance: float) -> dict[str, Any]:
    """Return the mean of some scores with its interval and the two standard errors behind it."""
    from scipy.special import stdtrit  # the quantile of Student's t

    mean, numbers = float(scores.mean()), np.unique(together, return_inverse=True)[1]
    k = int(numbers.max()) + 1
    figures: dict[str, Any] = {"documents": len(scores), "draws": k, "mean": mean, "low": None, "high": None}
    if k == 1:
        return {**figures, "from_documents": None, "from_axis": float(np.sqrt(axis_variance))}
    deviations = np.bincount(numbers, scores - mean) / len(scores)
    variance = float(deviations @ deviations) * k / (k - 1)
    total = variance + axis_variance
    # the degrees of freedom of Welch and Satterthwaite; those of the axis are large
    freedom = (k - 1) * (total / variance) ** 2 if variance > 0 else np.inf
    half = float(stdtrit(min(freedom, 1e9), 0.975) * np.sqrt(total))
    return {
        **figures,
        "low": mean - half,
        "high": mean + half,
        "from_documents": float(np.sqrt(variance)),
        "from_axis": float(np.sqrt(axis_variance)),
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
