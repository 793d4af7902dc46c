"""Mean scores of groups of documents: their intervals cover the draw of documents and the error of the axis."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

from densray import Axis, Rows, open_table
from densray.axes import mean_scores
from densray.errors import TaskError

WIDTH = 20
CONCEPT = np.eye(WIDTH)[0]
GROUPS = {"left": -0.6, "centre": 0.0, "right": 0.9}


def draw_axis(rng: np.random.Generator, n: int = 40) -> Axis:
    y = np.repeat([-1.0, 1.0], n)
    return Axis.fit(
        Rows.from_arrays(rng.normal(size=(2 * n, WIDTH)) + y[:, None] * CONCEPT, y), "mean-difference", normalize=False
    )


def draw_documents(
    rng: np.random.Generator, centers: dict[str, np.ndarray], n_authors: int, n_each: int
) -> pl.DataFrame:
    """Documents of some authors per party; documents of one author resemble each other."""
    parts = []
    for place, (party, center) in enumerate(centers.items()):
        authors = np.repeat(rng.normal(size=(n_authors, WIDTH)), n_each, axis=0)
        vectors = center + 0.7 * authors + 0.7 * rng.normal(size=authors.shape)
        names = np.repeat(np.arange(n_authors) + 1000 * place, n_each)
        parts.append(pl.DataFrame({"party": [party] * len(vectors), "author": names, "vector": vectors}))
    return pl.concat(parts)


def test_means_and_counts_are_those_of_the_documents() -> None:
    rng = np.random.default_rng(0)
    axis, centers = draw_axis(rng), {name: value * CONCEPT for name, value in GROUPS.items()}
    frame = draw_documents(rng, centers, 10, 4).with_columns(year=pl.Series([2000, 2001, 2002, None] * 30))
    found = mean_scores(axis, open_table(frame), ["party", "year"])
    assert found.ordered == "year"
    assert found.n_skipped == 30
    row = found.rows[0]
    assert (row["party"], row["year"], row["documents"]) == ("centre", 2000, 10)
    own = frame.filter((pl.col("party") == "centre") & (pl.col("year") == 2000))
    assert row["mean"] == pytest.approx(float((own["vector"].to_numpy() @ axis.direction).mean()))


def test_authors_and_the_axis_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    frame = draw_documents(rng, {"left": -0.6 * CONCEPT + 2.0 * np.eye(WIDTH)[1]}, 30, 10)
    sure, unsure = draw_axis(rng, 2000), draw_axis(rng, 10)
    table = open_table(frame)
    alone, together = (mean_scores(sure, table, ["party"], groups=groups).rows[0] for groups in (None, "author"))
    assert together["from_documents"] > 1.5 * alone["from_documents"]
    assert mean_scores(unsure, table, ["party"]).rows[0]["from_axis"] > 3 * alone["from_axis"]


def test_a_single_draw_has_no_interval() -> None:
    rng = np.random.default_rng(0)
    frame = draw_documents(rng, {"left": CONCEPT}, 1, 5)
    row = mean_scores(draw_axis(rng), open_table(frame), ["party"], groups="author").rows[0]
    assert row["low"] is None
    assert row["draws"] == 1


def test_an_axis_without_errors_and_a_column_of_identifiers_are_refused() -> None:
    rng = np.random.default_rng(0)
    axis, table = draw_axis(rng), open_table(draw_documents(rng, {"left": CONCEPT}, 5, 2))
    with pytest.raises(TaskError, match="no errors"):
        mean_scores(Axis.of(axis.rotation), table, ["party"])
    with pytest.raises(TaskError, match="no column is named"):
        mean_scores(axis, table, [])


@pytest.mark.slow
@pytest.mark.parametrize("n_seeds", [15, 100])
def test_the_intervals_cover_the_true_means_of_authors_and_axes_drawn_anew(n_seeds) -> None:
    """300 studies: seeds, authors and documents are drawn anew; the centres of the parties also differ off the axis."""
    rng = np.random.default_rng(1)
    off = {name: rng.normal(size=WIDTH) * (np.arange(WIDTH) > 0) for name in GROUPS}
    centers = {name: value * CONCEPT + off[name] for name, value in GROUPS.items()}
    shared = np.mean(list(centers.values()), axis=0)
    centers = {name: center - shared for name, center in centers.items()}
    covered, covered_by_documents_alone, studies = 0, 0, 300
    for _ in range(studies):
        axis = draw_axis(rng, n_seeds)
        table = open_table(draw_documents(rng, centers, 12, 5))
        scale = axis.direction @ CONCEPT  # an axis has no length: its scores are those of the concept times this
        for row in mean_scores(axis, table, ["party"], groups="author").rows:
            truth = scale * centers[row["party"]] @ CONCEPT
            covered += row["low"] <= truth <= row["high"]
            half = 2.2 * row["from_documents"]
            covered_by_documents_alone += abs(row["mean"] - truth) <= half
    n_intervals = studies * len(GROUPS)
    assert 0.93 <= covered / n_intervals <= 0.975
    if n_seeds == 15:
        assert covered_by_documents_alone / n_intervals < 0.8, "without the error of the axis, intervals are too narrow"
