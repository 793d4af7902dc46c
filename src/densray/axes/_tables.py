"""Tables scored along an axis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import unit_rows
from densray.report import show_count
from densray.tables import RewrittenTable, VectorTable, check_new, digest_of, rewrite_table, with_columns

if TYPE_CHECKING:
    from densray.axes._axis import Axis
    from densray.progress import Progress

#: The columns that scoring may add to a table.
SCORE_COLUMNS = ("score", "standard_error", "probability", "like_seeds", "expected_label")


def score_table(axis: Axis, table: VectorTable) -> Any:
    """Return the table in its original type, with the score columns added."""
    table = table.with_directions()
    return with_columns(table, _Scorer(axis, table))


def write_scores(
    axis: Axis,
    table: VectorTable,
    output: str | Path,
    *,
    keep_vectors: bool = False,
    cluster: Any = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> RewrittenTable:
    """Write a table with scores along an axis to a file or a folder of shards, batch by batch.

    Parameters
    ----------
    axis : Axis
    table : VectorTable
    output : path
        See :func:`densray.tables.rewrite_table`.
    keep_vectors : bool, default=False
        Whether the vectors are written too.
    cluster : str or dask.distributed.Client, optional
        See :func:`densray.tables.rewrite_table`.
    overwrite : bool, default=False
    progress : callable, optional
        Called with the number of rows done and their total.
    """
    table, uncertainty = table.with_directions(), axis.uncertainty
    depends_on = [axis.direction, axis.options.normalize, {} if uncertainty is None else uncertainty.to_arrays()]
    return rewrite_table(
        table,
        output,
        _Scorer(axis, table),
        drop=() if keep_vectors else table.vector_columns.names,
        depends_on=depends_on,
        cluster=cluster,
        overwrite=overwrite,
        progress=progress,
    )


def check_table(axis: Axis, table: VectorTable) -> None:
    """Raise if the vectors of a table differ from those of the axis in encoder or width."""
    if axis.encoder is not None:
        axis.encoder.check_matches(table.encoder, "the axis", table.name)
    axis.check_width(table.width, table.name)


#: An unchanged table has at least this share of the rows that its axis was fitted on: some may have lost their vector.
_LEAST_RECOGNISED = 0.9


def explain_changed(axis: Axis, table: VectorTable, n_recognised: int) -> str:
    """Return a warning if a table is the one that an axis was fitted on, with changed vectors; else an empty text.

    The table is recognised by its column of labels. A removal of another concept, for example, keeps these and changes
    the vectors, so the fitted rows are not recognised and count as new ones. `n_recognised` is the number of fitted
    rows that were recognised so far. The whole table is searched only if they are too few.
    """
    fitted = axis.fitted_rows
    if fitted is None or n_recognised >= _LEAST_RECOGNISED * len(fitted):
        return ""
    column = next(
        (name for name in table.columns if axis.concept == name or axis.concept.startswith(f"{name}: ")), None
    )
    if not fitted.labels or column is None or digest_of(table.column(column)) != fitted.labels:
        return ""
    blocks = (X[np.isfinite(X[:, 0])] for _, X in table.with_directions().blocks())
    vectors = (unit_rows(X) if axis.options.normalize else X for X in blocks if len(X))
    n_missing = fitted.count_missing(vectors, axis.direction)
    if n_missing <= (1.0 - _LEAST_RECOGNISED) * len(fitted):
        return ""
    return (
        f"Not held out: the axis was fitted on this table (its column “{column}” has the same labels), but the vectors "
        f"of {show_count(n_missing)} of the {show_count(len(fitted))} fitted documents have changed since, for example "
        "by a removal or by rounding. These documents count as new ones, so the results are too good. Fit the axis on "
        "this table."
    )


class _Scorer:
    """Computes the score columns of a block of a table: those of `SCORE_COLUMNS` that are known for the axis.

    Parameters
    ----------
    axis : Axis
    table : VectorTable
        It has the width and the encoder of the axis, and none of these columns.
    """

    def __init__(self, axis: Axis, table: VectorTable) -> None:
        check_table(axis, table)
        self._axis = axis
        columns = axis.score(np.zeros((1, table.width), dtype=np.float32)).columns()
        self.names = [name for name in SCORE_COLUMNS if name in columns]
        check_new(table, self.names)

    def __call__(self, X: NDArray[Any], usable: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the columns as Arrow arrays; rows without a vector and unknown values are null."""
        import pyarrow as pa

        whole = bool(usable.all())
        results = self._axis.score(X if whole else X[usable]).columns()
        if whole:
            return {name: pa.array(results[name], from_pandas=True) for name in self.names}  # NaN becomes null
        columns = {}
        for name in self.names:
            values = np.zeros(len(X))
            values[usable] = results[name]
            columns[name] = pa.array(values, mask=~usable | np.isnan(values))
        return columns
