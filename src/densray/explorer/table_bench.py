"""Computation behind the pages of a table of documents: the documents on show, and the steps of each page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from densray.axes import Axis, ClassesDiagnosis, Diagnosis, MeanScores, Scores, diagnose_classes, mean_scores
from densray.erasure import Erasure
from densray.errors import LabelError, TableError
from densray.explorer.workbench import LEAST_KEPT, MOST_KEPT, Bench, Step
from densray.probes import Model
from densray.progress import Progress, part_of
from densray.remains import Remains
from densray.retrieval import Retrieval, evaluate_retrieval
from densray.rows import Rows
from densray.tables import VectorTable, check_columns

if TYPE_CHECKING:
    import pyarrow as pa

#: Largest number of documents on show (drawn, searched and ranked), spread evenly over a larger table.
MOST_DOCUMENTS = 20_000
#: Largest number of labelled documents for fitting an axis; with more, its tests would take minutes.
MOST_FITTED = 5_000
#: Least number of documents of a class to keep, if it has as many.
_FEWEST_OF_CLASS = 100
#: Number of documents whose neighbours are checked for the same label.
_MOST_QUERIES = 1_000
_N_COMPONENTS, _N_NEIGHBORS = 3, 10
_LOOKED_AT = 200  # number of rows inspected to find the text column
_MOST_COLORS = 10
_SHORTEST_TEXT = 20  # characters on average


@dataclass(frozen=True)
class LabelChoice:
    """The axis that a visitor requests: its label column, one class of several, the held-out groups, the method."""

    column: str
    class_name: str = ""
    as_classes: bool = False
    groups: str = ""
    method: str = "auto"

    @property
    def name(self) -> str:
        """Name of the axis."""
        return f"{self.column}: {self.class_name}" if self.class_name else self.column


@dataclass(frozen=True)
class RemovalChoice:
    """The removal that a visitor requests: the label columns to remove and to keep, the method, the groups."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    remover: str
    groups: str = ""


@dataclass(frozen=True)
class Plane:
    """The documents along principal components, and the share of the variance of each component."""

    at: NDArray[np.float64]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, X: NDArray[Any]) -> Plane:
        """Return the plane of vectors, at unit length and centred."""
        from sklearn.decomposition import PCA

        count = min(_N_COMPONENTS, *X.shape)
        solver = PCA(count, svd_solver="randomized", random_state=0)
        with np.errstate(invalid="ignore", divide="ignore"):  # equal vectors have no variance
            at = solver.fit_transform(X)
        shares = np.nan_to_num(solver.explained_variance_ratio_).tolist()
        at = np.pad(at.astype(np.float64), ((0, 0), (0, max(0, 2 - count))))
        return cls(at, tuple(shares + [0.0] * max(0, 2 - count)))


class Column(NamedTuple):
    """Values of a column for the documents on show: numbers, or names of classes; None if missing."""

    values: list[Any]
    is_number: bool


class TableBench(Bench):
    """A table of documents, and results about it.

    Parameters
    ----------
    table : VectorTable
    source : str
        The file or folder, for commands and code on the pages.
    text_column : str, optional
        Default: a column called "text", or else the column with the longest texts.
    label_column, group_column : str, optional
        Default columns of the pages.
    classes : bool, default=False
        Whether numbers in the label column are names of classes.
    notes : sequence of str
        How the table was read, such as a detected encoding; shown on the pages.
    progress : callable, optional
        Called with the number of rows read and their total.
    """

    def __init__(
        self,
        table: VectorTable,
        *,
        source: str,
        text_column: str | None = None,
        label_column: str | None = None,
        group_column: str | None = None,
        classes: bool = False,
        notes: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> None:
        super().__init__(Path(source).name or source, source, min(max(LEAST_KEPT, 8 * table.width * 40_000), MOST_KEPT))
        given = [name for name in (text_column, label_column, group_column) if name is not None]
        check_columns(table.schema, given, table.name)
        self.table = table
        self.notes = tuple(notes)
        #: The documents on show, and their row numbers in the table, from 0.
        self.sample, self.numbers, self.n_skipped = _take_sample(table, MOST_DOCUMENTS, progress)
        self.X: NDArray[Any] = _at_unit_length(self.sample.vectors())
        self.text_column = text_column if text_column is not None else self._guess_text_column()
        self.label_column, self.group_column, self.classes = label_column, group_column, classes

    @property
    def is_sampled(self) -> bool:
        """Whether only some of the documents are on show."""
        return len(self.sample) + self.n_skipped < len(self.table)

    @cached_property
    def texts(self) -> list[str]:
        """The text of each document on show; its row number, from 1, if the table has no texts."""
        if self.text_column is None:
            return [f"row {number + 1:,}" for number in self.numbers.tolist()]
        found = self.sample.column(self.text_column).to_pylist()
        return [
            f"row {number + 1:,}" if text is None or not str(text).strip() else str(text)
            for number, text in zip(self.numbers.tolist(), found, strict=True)
        ]

    @property
    def columns(self) -> list[str]:
        """All columns but the vectors and the texts."""
        hidden = {*self.table.vector_columns.names, self.text_column}
        return [name for name in self.table.columns if name not in hidden]

    @cached_property
    def label_columns(self) -> list[str]:
        """Columns that may contain labels: texts, booleans and numbers."""
        return [name for name in self.columns if self.table.may_hold_labels(name)]

    @cached_property
    def few_classes(self) -> list[str]:
        """Columns of two to ten classes, those with fewer first: for the labels and the colours of a first visit."""
        found = {name: column for name in self.label_columns if not (column := self.column(name)).is_number}
        counts = {name: len(set(column.values) - {None}) for name, column in found.items()}
        return sorted((name for name, count in counts.items() if 2 <= count <= _MOST_COLORS), key=counts.__getitem__)

    def column(self, name: str) -> Column:
        """Return the values of a column: numbers unchanged, dates as years, everything else as class names."""
        return self.recall(("column", name), lambda: _read_column(self.sample.column(name)))

    def find(self, text: str, most: int) -> list[int]:
        """Return the positions of the documents that contain a text, in any case."""
        wanted = " ".join(text.casefold().split())
        found = (place for place, each in enumerate(self.texts) if wanted in " ".join(each.casefold().split()))
        return [place for place, _ in zip(found, range(most), strict=False)] if wanted else []

    def place_of(self, number: str) -> int | None:
        """Return the position of the document with a row number, from 1; None if it is not on show."""
        if not number.isdigit():
            return None
        place = int(np.searchsorted(self.numbers, int(number) - 1))
        return place if place < len(self.numbers) and self.numbers[place] == int(number) - 1 else None

    def plane(self) -> Plane:
        """Return the documents along their principal components."""
        return self.recall(("plane",), lambda: Plane.of(self.X))

    def neighbors(self, place: int, X: NDArray[Any] | None = None) -> list[tuple[int, float]]:
        """Return the nearest documents by cosine: their positions and cosines."""
        unit = self.X if X is None else X
        cosines = unit @ unit[place]
        cosines[place] = -np.inf
        nearest = np.argsort(-cosines, kind="stable")[: min(_N_NEIGHBORS, len(unit) - 1)]
        return [(int(other), float(cosines[other])) for other in nearest]

    # -- an axis -------------------------------------------------------------------------------------------------------

    def class_names(self, wanted: LabelChoice) -> tuple[str, ...]:
        """Return the classes of a label column if there are more than two; no vectors are needed."""
        labels, has_label = self.recall(("labels", wanted.column), lambda: self.sample.labels(wanted.column))
        if labels.dtype != object and not wanted.as_classes:
            return ()
        names = sorted({str(value).removesuffix(".0") for value in labels[has_label].tolist()})
        return tuple(names) if len(names) > 2 else ()

    def labelled(self, wanted: LabelChoice) -> Step[Rows]:
        """Return the labelled documents, with the groups to hold out together."""

        def find(_: Progress | None) -> Rows:
            rows = self.sample.rows(wanted.column, groups=wanted.groups or None, classes=wanted.as_classes)
            return rows.against_rest(wanted.class_name) if wanted.class_name else rows

        return Step(self, ("labelled", wanted), find)

    def fitted(self, wanted: LabelChoice) -> Rows:
        """Return the labelled documents to fit an axis on: all, or some spread evenly over each class."""
        rows = self.labelled(wanted).run()
        if len(rows) <= MOST_FITTED:
            return rows
        places = []
        for side in np.unique(rows.y) if rows.is_binary or rows.is_multiclass else (None,):
            own = np.arange(len(rows)) if side is None else np.flatnonzero(rows.y == side)
            count = max(MOST_FITTED * len(own) // len(rows), _FEWEST_OF_CLASS)
            places.append(own[spread_evenly(len(own), count)])
        return rows.take(np.sort(np.concatenate(places)))

    def axis(self, wanted: LabelChoice) -> Step[Axis]:
        """Find the axis of a label column."""
        return Step(self, ("axis", wanted), lambda _: Axis.fit(self.fitted(wanted), wanted.method, groups=None))

    def scores(self, wanted: LabelChoice) -> Step[Scores]:
        """Score the documents on show, with errors."""
        return Step(self, ("scores", wanted), lambda _: self.axis(wanted).run().score(self.X))

    def diagnosis(self, wanted: LabelChoice) -> Step[Diagnosis]:
        """Check how reliable an axis is."""
        return Step(self, ("diagnosis", wanted), lambda progress: self.axis(wanted).run().diagnose(progress=progress))

    def all_classes(self, wanted: LabelChoice) -> Step[ClassesDiagnosis]:
        """Check how well all classes of a column can be separated."""
        whole = LabelChoice(wanted.column, as_classes=wanted.as_classes, groups=wanted.groups, method=wanted.method)

        def find(progress: Progress | None) -> ClassesDiagnosis:
            return diagnose_classes(self.fitted(whole), wanted.method, groups=None, progress=progress)

        return Step(self, ("classes", whole), find)

    def means(self, wanted: LabelChoice, by: str) -> Step[MeanScores]:
        """Average the scores by the values of a column."""

        def find(progress: Progress | None) -> MeanScores:
            return mean_scores(
                self.axis(wanted).run(), self.sample, [by], groups=wanted.groups or None, progress=progress
            )

        return Step(self, ("means", wanted, by), find)

    # -- a removal -----------------------------------------------------------------------------------------------------

    def erasure(self, wanted: RemovalChoice) -> Step[Erasure]:
        """Learn an erasure from label columns."""

        def find(_: Progress | None) -> Erasure:
            sets = self.sample.label_sets([*wanted.removed, *wanted.kept], groups=wanted.groups or None)
            count = len(wanted.removed)
            return Erasure.fit(sets[:count], wanted.remover, keep=sets[count:])

        return Step(self, ("erasure", wanted), find)

    def erased(self, wanted: RemovalChoice) -> NDArray[Any]:
        """Return the vectors on show without the labels, at unit length."""
        return self.recall(("erased", wanted), lambda: _at_unit_length(self.erasure(wanted).run().apply(self.X)))

    def erased_plane(self, wanted: RemovalChoice) -> Plane:
        """Return the documents along their principal components after the removal."""
        return self.recall(("erased plane", wanted), lambda: Plane.of(self.erased(wanted)))

    def remains(self, wanted: RemovalChoice, models: Sequence[Model]) -> Step[Remains]:
        """Test how well models recover the labels, in documents that the erasure has not seen."""
        chosen = tuple(models)
        return Step(self, ("remains", wanted, chosen), lambda _: self.erasure(wanted).run().remains(models=chosen))

    def same_label(self, wanted: RemovalChoice, column: str) -> tuple[float, float, float] | None:
        """Return the share of the ten nearest documents with the same label: before, after, and by chance.

        None for labels that are scores.
        """
        return self.recall(("same label", wanted, column), lambda: self._same_label(wanted, column))

    def _same_label(self, wanted: RemovalChoice, column: str) -> tuple[float, float, float] | None:
        labels, has_label = self.sample.labels(column)
        places = np.flatnonzero(has_label)
        codes = np.unique(labels[places].astype(str), return_inverse=True)[1]
        if labels.dtype != object and codes.max(initial=0) > 1:
            return None
        queries, k = spread_evenly(len(places), _MOST_QUERIES), min(_N_NEIGHBORS, len(places) - 1)
        shares = []
        for X in (self.X[places], self.erased(wanted)[places]):
            cosines = X[queries] @ X.T
            cosines[np.arange(len(queries)), queries] = -np.inf
            nearest = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
            shares.append(float(np.mean(codes[nearest] == codes[queries][:, None])))
        of_class = np.bincount(codes) / len(codes)
        return shares[0], shares[1], float(np.mean(of_class[codes[queries]]))

    def retrieval(self, wanted: RemovalChoice, pairs: str) -> Step[Retrieval]:
        """Measure how often documents find their partners, before and after a removal."""

        def find(progress: Progress | None) -> Retrieval:
            erased = self.sample.with_rows(self.erasure(wanted).run().apply(self.sample), name="the erased table")
            return evaluate_retrieval(
                self.sample, pairs, against=erased, texts=self.text_column, progress=part_of(progress, 0, 100, 100)
            )

        return Step(self, ("retrieval", wanted, pairs), find)

    def _guess_text_column(self) -> str | None:
        names = self.columns_of_text()
        if "text" in names:
            return "text"
        lengths = {name: mean for name in names if (mean := self._mean_length(name)) >= _SHORTEST_TEXT}
        return max(lengths, key=lambda name: lengths[name]) if lengths else None

    def columns_of_text(self) -> list[str]:
        """Return the columns that hold texts."""
        import pyarrow as pa

        kinds = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
        return [field.name for field in self.table.schema if any(is_kind(field.type) for is_kind in kinds)]

    def _mean_length(self, name: str) -> float:
        values = self.sample.column(name).slice(0, _LOOKED_AT).to_pylist()
        lengths = [len(value) for value in values if isinstance(value, str)]
        return float(np.mean(lengths)) if lengths else 0.0


def _take_sample(
    table: VectorTable, most: int, progress: Progress | None
) -> tuple[VectorTable, NDArray[np.int64], int]:
    """Return documents spread evenly over a table, their row numbers, and the number of unusable rows."""
    import pyarrow as pa

    rows, parts, numbers = spread_evenly(len(table), most), [], []
    start = skipped = 0
    for batch, _, usable in table.batches():
        stop = start + batch.num_rows
        own = rows[(rows >= start) & (rows < stop)] - start
        own = own[usable[own]]
        parts.append(batch if len(own) == batch.num_rows else batch.take(pa.array(own)))
        numbers.append(own + start)
        skipped += int((~usable).sum())
        start = stop
        if progress is not None:
            progress(start, len(table))
    taken = pa.Table.from_batches(parts, schema=table.schema)
    if not len(taken):
        raise TableError(f"{table.name}: no row has a usable vector.")
    return table.with_rows(taken), np.concatenate(numbers), skipped


def spread_evenly(count: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` of the numbers from 0 to `count` - 1, spread evenly, including the first and the last."""
    return np.unique(np.linspace(0, count - 1, num=min(count, most)).astype(np.int64))


def _at_unit_length(X: NDArray[Any]) -> NDArray[Any]:
    """Return vectors at unit length; vectors of zeros are unchanged."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


def _read_column(column: pa.ChunkedArray) -> Column:
    import pyarrow as pa

    types, dtype = pa.types, column.type
    if types.is_temporal(dtype) and not (types.is_duration(dtype) or types.is_time(dtype)):
        days = [None if day is None else day.isoformat()[:10] for day in column.cast(pa.date32()).to_pylist()]
        return Column([None if day is None else _decimal_year(day) for day in days], True)
    values = column.to_pylist()
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        numbers = [None if value is None or not np.isfinite(float(value)) else float(value) for value in values]
        return Column(numbers, True)
    return Column([None if value is None or str(value).strip() == "" else str(value) for value in values], False)


def _decimal_year(day: str) -> float:
    year = np.datetime64(day, "Y")
    length = (year + 1).astype("datetime64[D]") - year.astype("datetime64[D]")
    return float(day[:4]) + float((np.datetime64(day, "D") - year.astype("datetime64[D]")) / length)


#: The table on show; global, because nothing can be passed to the script that runs the pages.
_opened: TableBench | None = None


def use(bench: TableBench | None) -> None:
    """Set the table to show; None: no table."""
    global _opened  # noqa: PLW0603
    _opened = bench


def is_open() -> bool:
    """Return whether the explorer shows a table of documents."""
    return _opened is not None


def opened() -> TableBench:
    """Return the table on show."""
    if _opened is None:
        raise LabelError("no table of documents is open.")
    return _opened
