"""Mean scores of groups of documents: their intervals cover the draw of documents and the error of the axis."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

from densray import Axis, Rows, open_table
from densray.axes import mean_scores
from densray.axes._fitted_rows import FittedRows, _marks
from densray.axes._mean_scores import _compare_groups, _interval
from densray.errors import MissingCodeWarning, TaskError
from densray.report import to_json, to_markdown

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
    used = frame.filter(pl.col("year").is_not_null())
    assert found.overall == pytest.approx(float((used["vector"].to_numpy() @ axis.direction).mean()))
    assert row["difference"] == pytest.approx(row["mean"] - found.overall)
    shown, details = found.tables()
    assert shown.headings == ["party", "year", "difference", "low", "high", "documents"], "fits into 80 columns"
    assert details.folded
    assert {"mean", "draws", "± documents", "± axis"} <= set(details.headings)


def test_means_are_frames_with_a_row_per_group() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    frame = draw_documents(rng, {name: value * CONCEPT for name, value in GROUPS.items()}, 5, 4)
    means = mean_scores(draw_axis(rng), open_table(frame), ["party"], groups="author")
    assert means.to_polars().to_dicts() == means.rows
    assert means.to_pandas()["difference"].tolist() == [row["difference"] for row in means.rows]


def test_the_text_counts_the_groups_that_differ() -> None:
    rng = np.random.default_rng(0)
    axis, centers = draw_axis(rng, 400), {name: value * CONCEPT for name, value in GROUPS.items()}
    found = mean_scores(axis, open_table(draw_documents(rng, centers, 40, 4)), ["party"])
    differ = sum(row["difference_low"] > 0 or row["difference_high"] < 0 for row in found.rows)
    assert differ >= 2
    assert f"{differ} of 3 groups differ from all documents" in found.text()
    found.rows[:] = [{**row, "difference_low": -1.0, "difference_high": 1.0} for row in found.rows]
    assert "No group differs clearly from all documents" in found.text()


def test_the_variance_of_a_difference_is_that_of_the_written_out_sum() -> None:
    """The closed form against the sum over sets of documents, with authors that write in several groups."""
    rng = np.random.default_rng(2)
    scores, codes, authors = rng.normal(size=60), rng.integers(0, 4, 60), rng.integers(0, 15, 60)
    figures, overall = _compare_groups(scores, codes, authors)
    for group, found in figures.items():
        influence = np.zeros(60)
        for other in range(4):
            own = codes == other
            k, n_own = len(set(authors[own])), own.sum()
            sizes = np.array([np.sum(authors[own] == author) for author in authors[own]])
            weight = (1 / n_own if other == group else 0.0) - 1 / 60
            jackknife = n_own / (n_own - sizes) * np.sqrt((k - 1) / k)  # what leaving out an author changes
            influence[own] = weight * (scores[own] - scores[own].mean()) * jackknife
        variance = sum(influence[authors == author].sum() ** 2 for author in set(authors))
        assert found["variance"] == pytest.approx(variance)
        assert found["difference"] == pytest.approx(scores[codes == group].mean() - overall)


def test_two_groups_differ_as_in_the_test_of_welch() -> None:
    """Without an error of the axis, the interval of two groups leaves out 0 just if Welch's t-test has p < 0.05."""
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.normal(size=rng.integers(3, 30)), rng.normal(0.8, 2.0, size=rng.integers(3, 30))
        codes = np.repeat([0, 1], [len(a), len(b)])
        figures, _ = _compare_groups(np.concatenate([a, b]), codes, np.arange(len(codes)))
        p = ttest_ind(a, b, equal_var=False).pvalue
        for found in figures.values():
            row = _interval(found, 0.0, 99, compared=True)
            assert (row["difference_low"] > 0 or row["difference_high"] < 0) == (p < 0.05)


def test_authors_and_the_axis_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    frame = draw_documents(rng, {"left": -0.6 * CONCEPT + 2.0 * np.eye(WIDTH)[1], "right": 0.6 * CONCEPT}, 30, 10)
    sure, unsure = draw_axis(rng, 2000), draw_axis(rng, 10)
    table = open_table(frame)
    alone, together = (mean_scores(sure, table, ["party"], groups=groups).rows[0] for groups in (None, "author"))
    assert together["from_documents"] > 1.5 * alone["from_documents"]
    assert mean_scores(unsure, table, ["party"]).rows[0]["from_axis"] > 3 * alone["from_axis"]


def draw_study(rng: np.random.Generator, signal: float) -> tuple[pl.DataFrame, dict[str, np.ndarray]]:
    """300 documents of two classes whose means differ by `signal` along one of 64 dimensions; the true class means."""
    label = rng.permutation(np.repeat(["heads", "tails"], 150))
    centers = {"heads": -signal / 2 * np.eye(64)[0], "tails": signal / 2 * np.eye(64)[0]}
    vectors = rng.normal(size=(300, 64)) + np.stack([centers[each] for each in label])
    return pl.DataFrame({"label": label, "vector": vectors}), centers


def test_one_document_that_the_axis_was_fitted_on_is_written_in_the_singular() -> None:
    frame, _ = draw_study(np.random.default_rng(3), 1.0)
    axis = Axis.fit(Rows.from_table(frame[:100], "label"), "mean-difference")
    note = " ".join(mean_scores(axis, open_table(frame[99:]), ["label"]).tables()[0].notes)
    assert "1 document was used to fit the axis. For it, a held-out score is used: it comes from an axis" in note


def test_random_labels_do_not_differ_in_the_documents_that_the_axis_was_fitted_on(tmp_path) -> None:
    rng = np.random.default_rng(3)
    differing, differing_along_the_axis = 0, 0
    for study in range(15):
        frame, _ = draw_study(rng, 0.0)
        fitted = Axis.fit(Rows.from_table(frame, "label"), "mean-difference")
        axis = Axis.load(fitted.save(tmp_path / f"{study}.safetensors", judge=True)) if study == 0 else fitted
        found = mean_scores(axis, open_table(frame), ["label"])
        assert found.n_fitted == 300
        differing += found.rows[0]["difference_low"] > 0 or found.rows[0]["difference_high"] < 0
        naive = axis.coordinates(frame["vector"].to_numpy())
        sides = frame["label"].to_numpy() == "tails"
        error = np.sqrt(naive[sides].var() / 150 + naive[~sides].var() / 150)
        differing_along_the_axis += naive[sides].mean() - naive[~sides].mean() > 2 * error
    assert differing <= 2
    assert differing_along_the_axis == 15, "the control: without held-out scores, every coin makes a difference"
    note = " ".join(found.tables()[0].notes)
    assert "300 documents were used to fit the axis" in note
    assert found.text().startswith("Trust in the axis: "), "the verdict comes first"
    assert found.grade in ("good", "fair", "weak", "none", "unclear")
    assert "The axis:" not in note


@pytest.mark.slow
def test_intervals_cover_the_true_differences_where_the_same_documents_fitted_the_axis() -> None:
    rng = np.random.default_rng(4)
    covered, studies = 0, 30
    for _ in range(studies):
        frame, centers = draw_study(rng, 0.6)
        axis = Axis.fit(Rows.from_table(frame, "label"), "mean-difference", normalize=False)
        for row in mean_scores(axis, open_table(frame), ["label"]).rows:
            truth = (centers[row["label"]] - sum(centers.values()) / 2) @ axis.direction
            covered += row["difference_low"] <= truth <= row["difference_high"]
    assert covered / (2 * studies) >= 0.88


def test_only_the_fitted_rows_are_recognised_in_any_order_and_precision(tmp_path) -> None:
    frame, _ = draw_study(np.random.default_rng(5), 1.0)
    axis = Axis.fit(Rows.from_table(frame[:200], "label"))
    again = Axis.load(axis.save(tmp_path / "label.safetensors"))
    shuffled = np.random.default_rng(0).permutation(300)
    X = frame["vector"].to_numpy()[shuffled].astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for each in (axis, again):
        places, scores, n_unsure, _ = each.fitted_rows.recognise(X, each.direction)
        assert n_unsure == 0
        assert set(shuffled[places]) == set(range(200))
        assert np.corrcoef(scores, axis.held_out[shuffled[places]])[0, 1] == pytest.approx(1.0)


def test_a_table_that_an_erasure_changed_is_not_taken_for_new_documents(tmp_path) -> None:
    """A removal keeps the labels and changes the vectors: along the old axis, even random labels seem to differ."""
    rng = np.random.default_rng(8)
    frame, _ = draw_study(rng, 0.0)
    frame = frame.with_columns(source=pl.Series(rng.choice(["a", "b"], len(frame)))).with_columns(
        only=pl.when(pl.int_range(pl.len()) < 40).then(pl.col("source"))
    )
    saved = Axis.load(Axis.fit(Rows.from_table(frame, "label")).save(tmp_path / "label.safetensors"))
    shift = np.where(frame["source"] == "a", 3.0, -3.0)[:, None] * np.eye(64)[1]
    changed = frame.with_columns(vector=frame["vector"].to_numpy() + shift)
    found = mean_scores(saved, open_table(changed), ["label"])
    assert "the vectors of 300 of the 300 fitted documents have changed" in found.unrecognised
    assert found.unrecognised in found.text()
    other, _ = draw_study(rng, 0.0)  # as many documents, with labels of the same name
    controls = [(frame, "source"), (frame, "only"), (changed.drop("label"), "source"), (changed[:200], "source")]
    for each, by in [*controls, (other, "label")]:
        assert mean_scores(saved, open_table(each), [by]).unrecognised == ""


def test_copies_with_two_decimals_are_recognised_and_one_draw() -> None:
    for width in (32, 64, 200):
        X = np.random.default_rng(width).normal(size=(100, width))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        both = np.concatenate([X, X.round(2)])
        label = np.tile(np.random.default_rng(1).permutation(np.repeat(["heads", "tails"], 50)), 2)
        frame = pl.DataFrame({"label": label, "vector": both})
        found = mean_scores(Axis.fit(Rows.from_table(frame, "label"), "mean-difference"), open_table(frame), ["label"])
        assert found.n_fitted == 200
        assert found.n_repeated >= 95
        assert sum(row["draws"] for row in found.rows) <= 105


def test_groups_that_differ_along_an_unreliable_axis_say_so() -> None:
    frame, _ = draw_study(np.random.default_rng(8), 0.0)
    shift = np.where(np.arange(300) < 150, 3.0, -3.0)[:, None]
    axis = Axis.fit(Rows.from_table(frame, "label"), "mean-difference")
    documents = pl.DataFrame({"era": ["old"] * 150 + ["new"] * 150, "vector": shift * axis.direction + 1e-3})
    documents = documents.with_columns(vector=documents["vector"].to_numpy() + frame["vector"].to_numpy()[::-1])
    found = mean_scores(axis, open_table(documents), ["era"])
    assert found.axis_grade == "none"
    assert found.text().endswith("But the axis is graded “none”, so it is not known what they differ in.")


def test_a_result_names_its_axis_the_column_of_the_draws_and_what_to_cite() -> None:
    frame, _ = draw_study(np.random.default_rng(5), 1.0)
    frame = frame.with_columns(author=pl.Series(np.arange(300) // 3))
    axis = Axis.fit(Rows.from_table(frame, "label"), "mean-difference")
    found = mean_scores(axis, open_table(frame), ["label"], groups="author")
    assert [each.role for each in found.provenance.inputs] == ["table", "axis"]
    assert found.drawn_by == "author"
    assert "Documents with the same value of “author” are one draw." in found.tables()[0].notes
    assert found.citation is not None
    assert found.citation.sentence in to_markdown(found)


def test_fitted_rows_are_recognised_in_a_copy_rounded_to_three_decimals() -> None:
    """Spreadsheets round: the means of random labels must not differ in such a copy either."""
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(300, 64)) + 2.0 * rng.normal(size=64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    label = rng.permutation(np.repeat(["heads", "tails"], 150))
    axis = Axis.fit(Rows.from_arrays(vectors, label), "mean-difference")
    others = rng.normal(size=(300, 64)) + 2.0 * rng.normal(size=64)
    for decimals, scale in ((5, 1.0), (3, 1.0), (3, 2.0)):
        frame = pl.DataFrame({"label": label, "vector": np.round(scale * vectors, decimals)})
        found = mean_scores(axis, open_table(frame), ["label"])
        assert found.n_fitted == 300
        assert found.rows[0]["difference_low"] <= 0 <= found.rows[0]["difference_high"]
    assert mean_scores(axis, open_table(pl.DataFrame({"label": label, "vector": others})), ["label"]).n_fitted == 0


def draw_close_rows(rng: np.random.Generator, n: int, offset: float, width: int = 768) -> np.ndarray:
    """Rows with a large common mean, as hidden states have it: an offset of 30 is a mean cosine of 0.999."""
    return offset + rng.normal(size=(n, width))


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("offset", [30.0, 100.0])
def test_new_documents_close_to_the_fitted_ones_are_not_taken_for_them(offset, normalize) -> None:
    """The fitted ones are recognised among them, also in half precision; means of new ones are those of their scores."""
    rng, label = np.random.default_rng(0), np.repeat(["high", "low"], 100)
    fitted, new = (draw_close_rows(rng, n, offset) for n in (200, 400))
    concept = np.eye(768)[0]
    fitted, new = (
        fitted + np.repeat([2.0, -2.0], 100)[:, None] * concept,
        new + np.tile([2, -2], 200)[:, None] * concept,
    )
    axis = Axis.fit(Rows.from_arrays(fitted, label), "mean-difference", normalize=normalize)
    found = mean_scores(axis, open_table(pl.DataFrame({"group": ["a", "b"] * 200, "vector": new})), ["group"])
    units = new / np.linalg.norm(new, axis=1, keepdims=True)
    scores = (units if normalize else new) @ axis.direction
    assert found.n_fitted == 0
    assert found.rows[0]["difference"] == pytest.approx(scores[::2].mean() - scores.mean(), rel=1e-6)
    for copy in (fitted, fitted.astype(np.float32), fitted.astype(np.float16).astype(np.float32)):
        both = np.concatenate([copy, new[:100]]).astype(copy.dtype)
        frame = pl.DataFrame({"group": [*label, *["new"] * 100], "vector": both})
        assert mean_scores(axis, open_table(frame), ["group"]).n_fitted == 200


def test_a_copy_that_rounding_makes_as_different_as_another_document_is_unsure() -> None:
    rng = np.random.default_rng(1)
    rows = draw_close_rows(rng, 200, 100.0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    label = rng.permutation(np.repeat(["heads", "tails"], 100))
    axis = Axis.fit(Rows.from_arrays(rows, label), "mean-difference")
    frame = pl.DataFrame({"label": label, "vector": np.round(rows, 3)})
    found = mean_scores(axis, open_table(frame), ["label"])
    assert found.n_fitted == 0
    assert found.n_unsure > 100
    note = " ".join(found.tables()[0].notes)
    assert f"{found.n_unsure} documents are so close to documents used to fit the axis" in note
    assert "Give the vectors with all decimals" in note


def test_documents_of_another_length_are_new_if_the_length_counts() -> None:
    rng, topics = np.random.default_rng(1), np.repeat([0, 1, 2, 3, 4, 5], 20)
    counts = np.eye(6)[topics] * rng.integers(1, 4, size=120)[:, None]
    axis = Axis.fit(Rows.from_arrays(counts, topics < 3), "mean-difference", normalize=False)
    long = np.eye(6)[topics] * rng.integers(20, 40, size=120)[:, None]
    frame = pl.DataFrame({"length": ["short"] * 120 + ["long"] * 120, "vector": np.concatenate([counts, long])})
    found = mean_scores(axis, open_table(frame), ["length"])
    assert found.n_fitted == 120
    row = next(row for row in found.rows if row["length"] == "long")
    assert row["mean"] == pytest.approx(float((long @ axis.direction).mean()))


@pytest.mark.parametrize("normalize", [True, False])
def test_an_axis_file_with_earlier_marks_still_recognises_or_says_that_it_is_unsure(tmp_path, normalize) -> None:
    """Earlier files have nine marks at unit length, which do not tell rows of different lengths apart."""
    frame, _ = draw_study(np.random.default_rng(5), 1.0)
    axis = Axis.fit(Rows.from_table(frame, "label"), "mean-difference", normalize=normalize)
    units = axis.rows.X / np.linalg.norm(axis.rows.X, axis=1, keepdims=True)
    axis._fitted_rows = FittedRows(_marks(units, axis.direction, 9), np.ones(300), axis.fitted_rows.held_out)
    again = Axis.load(axis.save(tmp_path / "earlier.safetensors"))
    assert again.fitted_rows.marks.shape == (300, 9)
    found = mean_scores(again, open_table(frame), ["label"])
    assert (found.n_fitted, found.n_unsure) == ((300, 0) if normalize else (0, 300))


def test_a_single_draw_has_no_interval() -> None:
    rng = np.random.default_rng(0)
    frame = pl.concat([draw_documents(rng, {"left": CONCEPT}, 1, 5), draw_documents(rng, {"right": -CONCEPT}, 9, 5)])
    found = mean_scores(draw_axis(rng), open_table(frame), ["party"], groups="author")
    assert [row["draws"] for row in found.rows] == [1, 9]
    assert found.rows[0]["difference_low"] is None
    assert "A group with a single draw has no interval." in found.tables()[0].notes


def test_authors_who_write_in_both_groups_are_compared_as_in_a_paired_test() -> None:
    from scipy.stats import t, ttest_rel

    rng = np.random.default_rng(7)
    author, group = np.repeat(np.arange(30), 10), np.tile(np.repeat([0, 1], 5), 30)
    for effect in (0.0, 0.2, 0.5):
        scores = np.repeat(2 * rng.normal(size=30), 10) + rng.normal(size=300) + effect * group
        figures, _ = _compare_groups(scores, group, author)
        means = scores.reshape(30, 2, 5).mean(axis=2)
        paired = ttest_rel(means[:, 1], means[:, 0])
        row = _interval(figures[1], 0.0, 99, compared=True)
        assert row["difference"] / row["from_documents"] == pytest.approx(paired.statistic)
        half = (row["difference_high"] - row["difference_low"]) / 2
        assert half / row["from_documents"] == pytest.approx(t.ppf(0.975, 29))


@pytest.mark.parametrize("sizes", [[100, 2, 2, 2, 2], [40, 20, 13, 10, 8, 7, 6, 5, 4, 4], [10] * 10])
def test_authors_of_unequal_size_are_covered(sizes) -> None:
    """400 studies of one such group against ten authors of ten documents; one author with most documents counts most."""
    rng, studies = np.random.default_rng(8), 400
    authors = np.repeat(np.arange(len(sizes) + 10), [*sizes, *[10] * 10])
    codes = (np.arange(len(authors)) >= sum(sizes)).astype(int)
    covered = 0
    for _ in range(studies):
        scores = rng.normal(size=len(sizes) + 10)[authors] + rng.normal(size=len(authors))
        row = _interval(_compare_groups(scores, codes, authors)[0][0], 0.0, 99, compared=True)
        covered += row["difference_low"] <= 0.0 <= row["difference_high"]
    assert covered / studies >= 0.92


def test_many_groups_of_one_document_show_their_spread() -> None:
    """20 documents against 20 groups of one document each, which vary five times as much."""
    rng, covered = np.random.default_rng(9), 0
    codes = np.concatenate([np.zeros(20, dtype=int), np.arange(1, 21)])
    for _ in range(300):
        scores = rng.normal(size=40) * np.repeat([1.0, 5.0], 20)
        row = _interval(_compare_groups(scores, codes, np.arange(40))[0][0], 0.0, 99, compared=True)
        covered += row["difference_low"] <= 0.0 <= row["difference_high"]
    assert 0.93 <= covered / 300 <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("n_seeds", [20, 100])
@pytest.mark.parametrize("method", ["mean-difference", "auto"])
def test_groups_that_differ_in_something_else_rarely_seem_to_differ_in_the_concept(method, n_seeds) -> None:
    """An axis that tilts by chance towards a strong topic must not make groups of other topics differ in the concept."""
    rng, spread, studies, wrong = np.random.default_rng(0), np.array([1.0, 0.2, 0.2]), 200, 0
    y, topic = np.repeat([-1.0, 1.0], n_seeds // 2), np.repeat([0.5, -0.5], 100)[:, None] * np.eye(3)[0]
    for _ in range(studies):
        seeds = rng.normal(size=(n_seeds, 3)) * spread + 0.2 * y[:, None] * np.eye(3)[1]
        frame = pl.DataFrame({"group": ["a"] * 100 + ["b"] * 100, "vector": rng.normal(size=(200, 3)) * spread + topic})
        axis = Axis.fit(Rows.from_arrays(seeds, y), method, normalize=False)
        row = mean_scores(axis, open_table(frame), ["group"]).rows[0]
        wrong += not row["difference_low"] <= 0 <= row["difference_high"]
    assert wrong / studies <= (0.13 if (method, n_seeds) == ("auto", 20) else 0.09)


def test_a_group_of_one_document_widens_the_interval_of_the_other() -> None:
    """Its spread is unknown, not zero: 400 studies with ten documents against one."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        scores = rng.normal(size=11) + np.repeat([0.0, 2.0], [10, 1])
        figures, _ = _compare_groups(scores, np.repeat([0, 1], [10, 1]), np.arange(11))
        row = _interval(figures[0], 0.0, 99, compared=True)
        covered += row["difference_low"] <= -2.0 / 11 <= row["difference_high"]
    assert 0.93 <= covered / 400 <= 0.97


def test_a_single_group_has_nothing_to_be_compared_with() -> None:
    rng = np.random.default_rng(0)
    found = mean_scores(draw_axis(rng), open_table(draw_documents(rng, {"left": CONCEPT}, 9, 5)), ["party"])
    assert (found.rows[0]["difference"], found.rows[0]["difference_low"]) == (None, None)
    assert found.rows[0]["mean"] == pytest.approx(found.overall)
    assert "There is only one group, so there is nothing to compare it with." in found.tables()[0].notes


def test_an_axis_without_errors_and_a_column_of_identifiers_are_refused() -> None:
    rng = np.random.default_rng(0)
    axis, table = draw_axis(rng), open_table(draw_documents(rng, {"left": CONCEPT}, 5, 2))
    with pytest.raises(TaskError, match="no standard errors"):
        mean_scores(Axis.of(axis.rotation), table, ["party"])
    with pytest.raises(TaskError, match="no column is named"):
        mean_scores(axis, table, [])
    with pytest.raises(TaskError, match="the column 'mean' has the name of a figure"):
        mean_scores(axis, open_table(table.source.original.rename({"party": "mean"})), ["mean"])


@pytest.mark.slow
@pytest.mark.parametrize("common", [0.0, 3.0], ids=["centred", "common mean"])
@pytest.mark.parametrize("n_seeds", [15, 100])
def test_the_intervals_cover_the_true_differences_of_authors_and_axes_drawn_anew(n_seeds, common) -> None:
    """300 studies: seeds, authors and documents are drawn anew; the centres of the parties also differ off the axis.

    Encoders give all documents a common mean. It must not matter, since an axis drawn anew shifts all scores together.
    """
    rng = np.random.default_rng(1)
    off = {name: rng.normal(size=WIDTH) * (np.arange(WIDTH) > 0) for name in GROUPS}
    shared = common * rng.normal(size=WIDTH)
    centers = {name: value * CONCEPT + off[name] + shared for name, value in GROUPS.items()}
    average = np.mean(list(centers.values()), axis=0)
    covered, covered_by_documents_alone, studies = 0, 0, 300
    for _ in range(studies):
        axis = draw_axis(rng, n_seeds)
        table = open_table(draw_documents(rng, centers, 12, 5))
        scale = axis.direction @ CONCEPT  # an axis has no length: its scores are those of the concept times this
        for row in mean_scores(axis, table, ["party"], groups="author").rows:
            truth = scale * (centers[row["party"]] - average) @ CONCEPT
            covered += row["difference_low"] <= truth <= row["difference_high"]
            half = 2.2 * row["from_documents"]
            covered_by_documents_alone += abs(row["difference"] - truth) <= half
    n_intervals = studies * len(GROUPS)
    assert 0.93 <= covered / n_intervals <= 0.975
    if n_seeds == 15:
        assert covered_by_documents_alone / n_intervals < 0.8, "without the error of the axis, intervals are too narrow"


MISSING = ["", "  ", "NA", "k.A.", "nan", "null"]


@pytest.mark.parametrize("mark", MISSING)
def test_marks_of_missing_values_are_missing_in_groups_and_in_the_columns_of_means(mark) -> None:
    rng = np.random.default_rng(0)
    axis = draw_axis(rng)
    frame = draw_documents(rng, {name: value * CONCEPT for name, value in GROUPS.items()}, 10, 4)
    authors = [f"author {number} " if number % 2 else None for number in range(len(frame))]
    frame = frame.with_columns(author=pl.Series(authors), party=pl.col("party") + pl.Series(["", " "] * 60))
    party = pl.when(pl.int_range(len(frame)) % 5 == 0).then(None).otherwise("party")
    empty = frame.with_columns(party=party)
    marked = empty.with_columns(pl.col("party", "author").fill_null(mark))
    expected, found = (mean_scores(axis, open_table(each), ["party"], groups="author") for each in (empty, marked))
    assert found.rows == expected.rows
    assert len(found.rows) == 3
    assert found.n_skipped == 24
    groups = [Rows.from_table(each, "party", groups="author").groups for each in (empty, marked)]
    np.testing.assert_array_equal(*groups)


def test_composed_and_decomposed_letters_are_one_group_and_one_author() -> None:
    rng = np.random.default_rng(0)
    axis, centers = draw_axis(rng), {"Grüne": CONCEPT, "CSU": -CONCEPT}
    composed = draw_documents(rng, centers, 10, 4).with_columns(author=pl.format("Jürgen {}", "author"))
    some = pl.int_range(len(composed)) % 3 == 0
    both = composed.with_columns(
        pl.when(some).then(pl.col(name).str.normalize("NFD")).otherwise(name).alias(name)
        for name in ("party", "author")
    )
    assert both["party"].n_unique() == 3
    expected, found = (mean_scores(axis, open_table(each), ["party"], groups="author") for each in (composed, both))
    assert found.rows == expected.rows
    assert [row["party"] for row in found.rows] == ["CSU", "Grüne"]


MOMENTS = [datetime(2020, month, 1, tzinfo=UTC) for month in (1, 7)]
GROUPING_VALUES = {
    "date": ([each.date() for each in MOMENTS], pl.Date, ["2020-01-01", "2020-07-01"]),
    "midnight": (MOMENTS, pl.Datetime("us"), ["2020-01-01", "2020-07-01"]),
    "local": (MOMENTS, pl.Datetime("us", "Europe/Berlin"), ["2020-01-01 01:00:00", "2020-07-01 02:00:00"]),
    "nanoseconds": ([1, 2], pl.Datetime("ns"), ["1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000002"]),
    "time": ([time(9, 30), time(10)], pl.Time, ["09:30:00", "10:00:00"]),
    "decimal": ([Decimal("0.5"), Decimal(2)], pl.Decimal(10, 2), [0.5, 2.0]),
    "truth": ([False, True], pl.Boolean, [False, True]),
}


@pytest.mark.parametrize("case", GROUPING_VALUES)
def test_dates_times_and_decimals_make_groups_that_can_be_written(case) -> None:
    values, dtype, shown = GROUPING_VALUES[case]
    rng = np.random.default_rng(0)
    frame = draw_documents(rng, {"left": CONCEPT, "right": -CONCEPT}, 4, 2)
    column = pl.Series([*values, None] * 5 + [values[0]], dtype=pl.Datetime("us", "UTC") if case == "local" else dtype)
    column = column.dt.convert_time_zone("Europe/Berlin") if case == "local" else column
    found = mean_scores(draw_axis(rng), open_table(frame.with_columns(when=column)), ["when"])
    assert [row["when"] for row in found.rows] == shown
    assert found.n_skipped == 5
    assert [row["when"] for row in json.loads(to_json(found))["rows"]] == shown


@pytest.mark.parametrize("values", [[timedelta(1)] * 16, [b"a"] * 16, [{"a": 1}] * 16, [None] * 16])
def test_other_values_make_no_groups_and_are_refused_by_name(values) -> None:
    rng = np.random.default_rng(0)
    frame = draw_documents(rng, {"left": CONCEPT, "right": -CONCEPT}, 4, 2).with_columns(what=pl.Series(values))
    with pytest.raises(TaskError, match=r"the column 'what' holds .*; texts, numbers or dates|no row has a value in"):
        mean_scores(draw_axis(rng), open_table(frame), ["what"])


def test_a_missing_code_among_years_gives_a_warning() -> None:
    rng = np.random.default_rng(0)
    frame = draw_documents(rng, {"left": CONCEPT, "right": -CONCEPT}, 4, 2)
    years = open_table(frame.with_columns(year=pl.Series([2010, 2011, 2012, -99] * 4)))
    with pytest.warns(MissingCodeWarning, match=r"column 'year': 4 values are -99, far .* leave these values empty"):
        mean_scores(draw_axis(rng), years, ["year"])


def test_a_column_of_lists_makes_no_groups() -> None:
    rng = np.random.default_rng(0)
    frame = draw_documents(rng, {"left": CONCEPT, "right": -CONCEPT}, 4, 2)
    frame = frame.with_columns(tags=pl.Series([["a"], ["b"]] * 8))
    with pytest.raises(TaskError, match=r"the column 'tags' holds .*list.*; texts, numbers or dates"):
        mean_scores(draw_axis(rng), open_table(frame), ["tags"])
