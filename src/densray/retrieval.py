"""Search by cosine: whether documents find their partners, and how they cluster, before and after a change."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from densray._arrays import category, is_no_label
from densray._threads import single_threaded_blas
from densray._vocabulary import check_seed, unit_rows
from densray.errors import Argument, LabelError, TableError, TaskError, name_some
from densray.metrics import percentile_interval
from densray.progress import Progress, part_of
from densray.report import Column, Input, Provenance, Result, Table, show_estimate, show_number
from densray.statistics import p_value
from densray.tables import VectorTable, open_table

__all__ = ["Estimate", "Purity", "Recall", "Retrieval", "evaluate_retrieval", "partner_ranks", "recall_at"]

#: Queries that are compared with the pool at once.
_BLOCK = 512
#: Resamples or sign flips that are drawn at once.
_DRAWS = 256
#: Steps of the progress bar for each table.
_STEPS = 100


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Recall:
    """Share of documents whose partner is among the k nearest other documents.

    Attributes
    ----------
    k : int
    before : Estimate
    after, difference : Estimate or None
        Recall in the second table, and second minus first; None if there is one table.
    p_value : float or None
        Two-sided, of the difference: signs of the pairs are flipped at random.
    """

    k: int
    before: Estimate
    after: Estimate | None = None
    difference: Estimate | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class Purity:
    """How pure clusters are: the share of documents in the leading class of their cluster.

    Attributes
    ----------
    column : str
    n_clusters : int
    before : float
    after : float or None
    largest_class : float
        Share of the largest class. A clustering unrelated to the classes has a purity near it.
    """

    column: str
    n_clusters: int
    before: float
    after: float | None
    largest_class: float


@dataclass(frozen=True)
class Retrieval(Result):
    """Whether documents find their partners, in one table or before and after a change.

    Attributes
    ----------
    table : str
    against : str or None
    n_documents : int
        Documents of the pool: all with a usable vector.
    n_queries, n_pairs : int
        Documents that have a partner, and sets of partners.
    recalls : tuple of Recall
    purity : Purity or None
    """

    title: ClassVar[str] = "Retrieval"

    table: str
    against: str | None
    n_documents: int
    n_queries: int
    n_pairs: int
    recalls: tuple[Recall, ...]
    purity: Purity | None = None

    def text(self) -> str:
        """Return one sentence: how many documents find their partner first, and whether the second table differs."""
        first = self.recalls[0]
        near = "first" if first.k == 1 else f"among the {first.k} nearest"
        if first.after is None or first.difference is None:
            others = f"{self.n_documents - 1:,} others"
            return f"{_show(first.before)} of the documents find their partner {near} among {others}."
        change = first.difference
        if change.low <= 0 <= change.high:
            verdict = "No difference is shown"
        else:
            verdict = f"{self.against} is {'better' if change.value > 0 else 'worse'}"
        return (
            f"{verdict}: {show_number(first.before.value, 3)} of the documents find their partner {near} in "
            f"{self.table}, {show_number(first.after.value, 3)} in {self.against} (difference {_show(change)}, "
            f"p = {show_number(first.p_value, 4)})."
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per k."""
        rows = []
        for recall in self.recalls:
            row: dict[str, Any] = {"k": recall.k}
            for key in ("before", "after", "difference"):
                each = getattr(recall, key)
                if each is not None:
                    row |= {key: each.value, f"{key}_low": each.low, f"{key}_high": each.high}
            rows.append({**row, "p_value": recall.p_value})
        return rows

    def tables(self) -> list[Table]:
        """Return recall by k, and cluster purity if it was measured."""
        rows = [
            {
                "k": recall.k,
                "before": _show(recall.before),
                "after": None if recall.after is None else _show(recall.after),
                "difference": None if recall.difference is None else _show(recall.difference),
                "p_value": recall.p_value,
            }
            for recall in self.recalls
        ]
        first = "recall" if self.against is None else "before"
        columns: list[Column | str] = ["k", Column("before", first)]
        if self.against is not None:
            columns += [Column("after"), Column("difference")]
            columns.append(Column("p_value", "p", decimals=4))
        note = (
            f"{self.n_queries:,} documents with a partner in {self.n_pairs:,} sets; pool: all {self.n_documents:,} "
            "documents. 95% intervals: whole sets resampled."
        )
        tables = [Table("Partner among the k nearest documents", columns, rows, [note])]
        if self.purity is not None:
            tables.append(self._purity_table(self.purity))
        return tables

    def _purity_table(self, purity: Purity) -> Table:
        keys = ["before", "after"] if purity.after is not None else ["before"]
        columns: list[Column | str] = ["column", Column("n_clusters", "clusters")]
        columns += [Column(key, "purity" if len(keys) == 1 else key, decimals=3) for key in keys]
        columns.append(Column("largest_class", "largest class", decimals=3))
        row = {column if isinstance(column, str) else column.key: None for column in columns}
        row = {key: getattr(purity, key) for key in row}
        note = "Share of documents in the leading class of their k-means cluster, and the share of the largest class."
        return Table("Cluster purity", columns, [row], [note])

    def figure(self) -> Any:
        """Return recall by k before and after, with intervals, as an altair chart."""
        from densray.figures import interval_plot

        rows = [
            {"measure": f"recall@{recall.k}", "space": name, "value": each.value, "low": each.low,
             "high": each.high, "part": "", "if_gone": None}
            for recall in self.recalls
            for name, each in (("before", recall.before), ("after", recall.after))
            if each is not None
        ]  # fmt: skip
        return interval_plot(rows)


def _show(estimate: Estimate) -> str:
    return show_estimate(estimate.value, estimate.low, estimate.high, 3)


def evaluate_retrieval(
    table: Any,
    pairs: str,
    *,
    against: Any = None,
    texts: str | None = None,
    clusters: str | None = None,
    vectors: str | None = None,
    at: Sequence[int] = (1, 10),
    n_clusters: int | None = None,
    n_resamples: int = 2000,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> Retrieval:
    """Measure how often a document finds its partner among its nearest neighbours.

    The pool contains all documents, including those without a partner. A document is compared with every other document
    by cosine. If another document ties with the partner, it ranks before the partner.

    Parameters
    ----------
    table : path, frame or VectorTable
        Anything that :func:`densray.open_table` opens.
    pairs : str
        Documents with the same value in this column are partners. Documents without a value have no partner. A document
        without a usable vector raises an error. To leave such documents out, open the table with ``bad_rows="skip"``
        (:func:`densray.open_table`).
    against : path, frame or VectorTable, optional
        The same documents in the same order after a change, such as an erasure. The two are compared pair by pair.
    texts : str, optional
        Column of texts. A document with the same text as the partner counts as the partner.
    clusters : str, optional
        Column of classes, such as the source: the purity of k-means clusters is reported.
    vectors : str, optional
        Column of the vectors, if there are several.
    at : sequence of int, default=(1, 10)
        Numbers of neighbours.
    n_clusters : int, optional
        Default: the number of classes.
    n_resamples : int, default=2000
        Number of resamples of whole pairs for the intervals, and number of random sign flips for the test of the
        difference (if `against` is given).
    random_state : int or None, default=0
        For resamples, sign flips and the start of k-means.
    progress : callable, optional
        Called with the number of queries done and their total.

    Returns
    -------
    Retrieval

    Examples
    --------
    >>> import polars
    >>> frame = polars.DataFrame({"case": [1, 2, 1, 2], "vector": [[1.0, 0.1], [0.1, 1.0], [1.0, 0.2], [0.2, 1.0]]})
    >>> evaluate_retrieval(frame, "case", at=[1]).recalls[0].before.value
    1.0
    """
    began = Provenance.begin(seed=random_state)
    if not at or min(at) < 1 or n_resamples < 1:
        arguments = Argument("at", tuple(at)), " and ", Argument("n_resamples", n_resamples)
        raise TaskError(*arguments, " are given; positive numbers are needed.")
    check_seed(random_state)
    first = open_table(table, vectors=vectors)
    second = None if against is None else open_table(against, vectors=vectors)
    labels = _values(first, pairs)
    if second is not None:
        _check_same_documents(first, second, pairs, labels)
    tables = [each for each in (first, second) if each is not None]
    matrices = [each.vectors() for each in tables]
    pool = np.flatnonzero(np.logical_and.reduce([np.isfinite(X).all(axis=1) for X in matrices]))
    spaces = [unit_rows(X[pool]) for X in matrices]
    labels = [labels[row] for row in pool.tolist()]
    contents = None if texts is None else [_values(first, texts)[row] for row in pool.tolist()]
    classes = None if clusters is None else [_values(first, clusters)[row] for row in pool.tolist()]
    ranks = []
    for number, X in enumerate(spaces):
        part = part_of(progress, number * _STEPS, (number + 1) * _STEPS, len(spaces) * _STEPS)
        queries, own_ranks = partner_ranks(X, labels, texts=contents, progress=part)
        ranks.append(own_ranks)
    query_labels = [labels[query] for query in queries.tolist()]
    return Retrieval(
        table=first.name,
        against=None if second is None else second.name,
        n_documents=len(pool),
        n_queries=len(queries),
        n_pairs=len(set(query_labels)),
        recalls=tuple(
            recall_at(k, ranks, query_labels, n_resamples=n_resamples, random_state=random_state) for k in at
        ),
        purity=None if classes is None else _purity(str(clusters), classes, spaces, n_clusters, random_state),
        provenance=began.finish(
            inputs=[Input("table", each.name, size=len(each)) for each in tables],
            used=len(queries),
            missing=[f"row {row + 1:,}" for row in np.setdiff1d(np.arange(len(first)), pool).tolist()],
        ),
    )


def _values(table: VectorTable, column: str) -> list[Any]:
    """Return the values of a column, None where one is missing or blank, texts without surrounding spaces."""
    return [category(value) for value in table.column(column).to_pylist()]


def _check_same_documents(first: VectorTable, second: VectorTable, pairs: str, labels: list[Any]) -> None:
    """Raise unless two tables have the same documents in the same order, judged by the column of pairs."""
    if len(first) != len(second):
        raise TableError(
            f"{first.name} has {len(first):,} rows and {second.name} {len(second):,}. The same documents in the same "
            "order are needed."
        )
    if pairs in second.columns:
        others = _values(second, pairs)
        row = next((row for row, (one, other) in enumerate(zip(labels, others, strict=True)) if one != other), None)
        if row is not None:
            raise TableError(
                f"row {row + 1:,} has {pairs} = {labels[row]!r} in {first.name} and {others[row]!r} in {second.name}. "
                "The same documents in the same order are needed."
            )


def _codes(values: Sequence[Hashable]) -> NDArray[np.int64]:
    """Number values by their first occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def partner_ranks(
    X: NDArray[np.floating],
    pairs: Sequence[Hashable],
    *,
    texts: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the rows that have a partner, and the rank of the nearest partner of each among all other rows.

    Parameters
    ----------
    X : array of shape (n, d)
        Vectors of unit length.
    pairs : sequence of length n
        Rows with the same value are partners. None, a blank text, NA and NaN mean no partner.
    texts : sequence of length n, optional
        Rows with the same text as a partner count as partners.
    progress : callable, optional

    Examples
    --------
    >>> X = unit_rows(np.array([[1.0, 0.0], [1.0, 0.3], [1.0, 0.1], [0.0, 1.0]]))
    >>> partner_ranks(X, ["a", "a", None, None])
    (array([0, 1]), array([2, 2]))
    """
    n = len(X)
    members: dict[Hashable, list[int]] = {}
    for row, value in enumerate(pairs):
        if not is_no_label(value):
            members.setdefault(value, []).append(row)
    queries = np.array(sorted(row for rows in members.values() if len(rows) > 1 for row in rows), dtype=np.intp)
    if not queries.size:
        raise LabelError(
            f"no two of {n:,} documents have the same value in the column of pairs (values: "
            f"{name_some(list(map(str, members)))}). Partners share a value."
        )
    same_text: dict[Hashable, list[int]] = {}
    for row, text in enumerate(texts or ()):
        if text is not None:
            same_text.setdefault(text, []).append(row)
    ranks = np.empty(len(queries), dtype=np.int64)
    for start in range(0, len(queries), _BLOCK):
        block = queries[start : start + _BLOCK]
        similarities = X[block] @ X.T
        similarities[np.arange(len(block)), block] = -np.inf
        for number, query in enumerate(block.tolist()):
            partners = {row for row in members[pairs[query]] if row != query}
            if texts is not None:
                partners |= {row for partner in partners for row in same_text.get(texts[partner], ())} - {query}
            own, line = list(partners), similarities[number]
            best = line[own].max()
            line[own] = -np.inf
            ranks[start + number] = 1 + int(np.sum(line >= best))
        if progress is not None:
            progress(start + len(block), len(queries))
    return queries, ranks


def recall_at(
    k: int,
    ranks: Sequence[NDArray[np.int64]],
    pairs: Sequence[Hashable],
    *,
    n_resamples: int = 2000,
    random_state: int | None = 0,
) -> Recall:
    """Return the recall of one or two searches, with intervals over whole pairs and a test of their difference.

    Parameters
    ----------
    k : int
    ranks : sequence of one or two arrays
        Rank of the partner of each query, as :func:`partner_ranks` returns it.
    pairs : sequence
        The pair that each query belongs to. Bootstrap resamples and sign flips always take all queries of a pair
        together.
    n_resamples, random_state
        See :func:`evaluate_retrieval`.
    """
    codes = _codes(pairs)
    sizes = np.bincount(codes).astype(np.float64)
    hits = [np.bincount(codes, weights=each <= k) for each in ranks]
    seed = np.random.default_rng(random_state)
    resampled: list[NDArray[np.float64]] = []
    for start in range(0, n_resamples, _DRAWS):
        count = min(_DRAWS, n_resamples - start)
        weights = seed.multinomial(len(sizes), np.full(len(sizes), 1.0 / len(sizes)), size=count)
        resampled.append(np.array([weights @ each / (weights @ sizes) for each in hits]))
    draws = np.concatenate(resampled, axis=1)
    estimates = [
        Estimate(float(each.sum() / sizes.sum()), *percentile_interval(sample))
        for each, sample in zip(hits, draws, strict=True)
    ]
    if len(hits) == 1:
        return Recall(k, estimates[0])
    change = hits[1] - hits[0]
    flipped = [
        np.abs(seed.choice([-1.0, 1.0], size=(min(_DRAWS, n_resamples - start), len(change))) @ change)
        for start in range(0, n_resamples, _DRAWS)
    ]
    difference = Estimate(float(change.sum() / sizes.sum()), *percentile_interval(draws[1] - draws[0]))
    before, after = estimates
    return Recall(k, before, after, difference, p_value(abs(float(change.sum())), np.concatenate(flipped)))


def _purity(
    column: str, values: list[Any], spaces: list[NDArray[Any]], n_clusters: int | None, random_state: int | None
) -> Purity:
    """Cluster the documents that have a class, and return the purity of the clusters."""
    from sklearn.cluster import KMeans

    places = np.array([row for row, value in enumerate(values) if value is not None], dtype=np.intp)
    classes = _codes([values[row] for row in places.tolist()])
    count = len(np.unique(classes)) if n_clusters is None else n_clusters
    if len(np.unique(classes)) < 2 or not 2 <= count <= len(places) or count > len(places) // 2:
        raise LabelError(
            f"the column '{column}' has {len(np.unique(classes))} values in {len(places):,} documents, for {count} "
            "clusters; a column of two or more classes, each of several documents, is needed."
        )
    purities = []
    with single_threaded_blas():
        for X in spaces:
            assigned = KMeans(count, n_init=4, random_state=random_state).fit_predict(X[places])
            counts = np.zeros((count, classes.max() + 1))
            np.add.at(counts, (assigned, classes), 1.0)
            purities.append(float(counts.max(axis=1).sum() / len(places)))
    return Purity(column, count, purities[0], purities[1] if len(purities) > 1 else None, float(np.bincount(classes).max() / len(places)))  # noqa: E501  # fmt: skip
