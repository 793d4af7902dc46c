"""Names, types and habits of gensim, scikit-learn, pandas and WEFE work here too."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier

from densray import (
    Axis,
    DensRay,
    Erasure,
    Lexicon,
    Ratings,
    Rows,
    WordSpace,
    compare_methods,
    diagnose,
    evaluate_analogies,
    evaluate_induction,
    evaluate_ratings,
    evaluate_removal,
    evaluate_retrieval,
    fit_axis,
    induce,
    load_space,
    open_table,
)
from densray.affine import AffineMap
from densray.analogies import AnalogySet
from densray.axes import (
    axis_change,
    compare_spaces,
    diagnose_classes,
    evaluate_stability,
    mean_scores,
    repeat_induction,
)
from densray.datasets import load_similarity, load_weat
from densray.debiasing import (
    Concept,
    anchor_gap,
    association,
    load_concept,
    most_biased,
    preview_removal,
    rnsb,
    sentiment_bias,
    weat,
)
from densray.errors import SpaceError, VectorError
from densray.report import Result
from densray.rotations import make_rotation
from densray.states import InterventionResult, LayerComparison, States, SteeringResult
from planted import planted_space

takes_any_scores = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9),
    reason="scikit-learn before 1.9 scores classifiers only",
)


@pytest.fixture(scope="module")
def planted() -> tuple[WordSpace, Lexicon]:
    return planted_space()


@takes_any_scores
@pytest.mark.parametrize("method", ["densray", "mean-difference", "ridge", "svm"])
def test_scorers_of_scikit_learn_read_every_rotation(method: str, planted: tuple[WordSpace, Lexicon]) -> None:
    space, lexicon = planted
    rows = lexicon.align(space, order="lexicon")
    order = np.argsort(rows.y, kind="stable")  # sorted labels: folds without shuffling would hold one class
    X, y = rows.X[order], rows.y[order]
    found = cross_val_score(make_rotation(method), X, y, scoring="roc_auc", cv=StratifiedKFold(3))
    assert np.isfinite(found).all()
    assert found.mean() > 0.8
    shuffled = np.random.default_rng(0).permutation(y)
    chance = cross_val_score(make_rotation(method), X, shuffled, scoring="roc_auc", cv=StratifiedKFold(3))
    assert abs(chance.mean() - 0.5) < 0.25


@takes_any_scores
def test_a_calibrator_gives_probabilities_of_a_rotation(planted: tuple[WordSpace, Lexicon]) -> None:
    space, lexicon = planted
    rows = lexicon.align(space)
    calibrated = CalibratedClassifierCV(DensRay(), cv=3).fit(rows.X, rows.y)
    probabilities = calibrated.predict_proba(rows.X)[:, 1]
    assert ((probabilities > 0.5) == (rows.y > 0)).mean() > 0.7


@takes_any_scores
def test_calibrated_rotations_predict_three_classes_far_from_the_origin() -> None:
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = random.normal(size=(180, 8)) + 50.0
    X[np.arange(180), y] += 6.0
    one_by_one = OneVsRestClassifier(CalibratedClassifierCV(DensRay(1), cv=3))
    assert one_by_one.fit(X, y).score(X, y) > 0.95
    assert OneVsRestClassifier(DensRay(1)).fit(X, y).score(X, y) < 0.95  # zero is not between the classes


@takes_any_scores
@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision"])
def test_a_grid_search_scores_rotations(scoring: str, planted: tuple[WordSpace, Lexicon]) -> None:
    space, lexicon = planted
    rows = lexicon.align(space)
    search = GridSearchCV(DensRay(), {"n_components": [1, 2]}, scoring=scoring, cv=StratifiedKFold(3))
    assert search.fit(rows.X, rows.y).best_score_ > 0.7
    with pytest.raises(ValueError, match="'predict'"):  # as the page says
        cross_val_predict(DensRay(), rows.X, rows.y, method="decision_function")


def test_seeds_of_lss_give_the_axis_of_the_mean_difference(planted: tuple[WordSpace, Lexicon]) -> None:
    space, lexicon = planted
    # Watanabe 2020: the sum of cosines with the seeds, each weighted by its sign over the number of seeds of that sign
    signs = {word: label for word, label in lexicon.items() if word in space}
    counts = {side: sum(label == side for label in signs.values()) for side in (1.0, -1.0)}
    assert counts[1.0] != counts[-1.0]
    weights = np.array([label / counts[label] for label in signs.values()])
    polarity = space.cosines(list(space.words), list(signs)) @ weights
    scores = {
        method: fit_axis(space, lexicon, method=method, judge=False).score(space).score
        for method in ("mean-difference", "ridge")
    }
    assert np.corrcoef(scores["mean-difference"], polarity)[0, 1] > 1 - 1e-9
    assert np.corrcoef(scores["ridge"], polarity)[0, 1] < 0.999


def test_most_similar_agrees_with_gensim(planted: tuple[WordSpace, Lexicon]) -> None:
    pytest.importorskip("gensim", reason="gensim is not installed")
    space, _ = planted
    keyed = space.to_gensim()
    one, two, three = space.words[:3]
    for ours, theirs in (
        (space.most_similar(one, topn=4), keyed.most_similar(one, topn=4)),
        (space.most_similar([one, two], [three], 4), keyed.most_similar([one, two], [three], topn=4)),
        (space.most_similar(positive=[one], negative=two), keyed.most_similar(positive=[one], negative=[two])),
        (space.most_similar(negative=[one]), keyed.most_similar(negative=[one])),
    ):
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        np.testing.assert_allclose([cosine for _, cosine in ours], [cosine for _, cosine in theirs], atol=1e-5)
    assert space.most_similar(space[one], topn=1)[0][0] == one
    with pytest.raises(SpaceError, match="at least one"):
        space.most_similar([])
    with pytest.raises(SpaceError, match="topn=None is given"):
        space.most_similar(one, topn=None)  # type: ignore[arg-type]
    with pytest.raises(SpaceError, match=r"3 is a number.*space.words\[3\]"):
        space.most_similar(3)  # type: ignore[arg-type]
    with pytest.raises(VectorError, match="neither words nor vectors"):
        space.most_similar([(one, 0.5)])
    np.testing.assert_allclose(  # what gensim returns for topn=None
        space.cosines([one], list(space.words))[0], keyed.most_similar(one, topn=None), atol=1e-5
    )


def test_keyed_vectors_are_taken_where_a_space_is(planted: tuple[WordSpace, Lexicon]) -> None:
    pytest.importorskip("gensim", reason="gensim is not installed")
    space, lexicon = planted
    keyed = space.to_gensim()
    assert list(load_space(keyed, limit=5).words) == list(space.words[:5])
    ours, theirs = (induce(each, lexicon, method="mean-difference") for each in (space, keyed))
    np.testing.assert_array_equal(ours.scores.score, theirs.scores.score)
    assert fit_axis(keyed, lexicon, judge=False).rows is not None
    with pytest.raises(SpaceError, match=r"dict is not a WordSpace"):
        diagnose({}, lexicon)  # type: ignore[arg-type]


def test_results_are_pandas_frames_and_short_to_look_at(planted: tuple[WordSpace, Lexicon]) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    space, lexicon = planted
    induced = induce(space, lexicon, method="mean-difference")
    assert induced.to_pandas()["word"].tolist() == induced.to_polars()["word"].to_list()
    table = induced.tables()[0]
    assert table.to_pandas()["word"].tolist() == [row["word"] for row in table.rows]
    scores = induced.axis.score(induced.space).to_pandas()
    assert scores["name"].tolist() == list(induced.space.words)
    assert scores["score"].to_numpy() == pytest.approx(induced.scores.score)
    diagnosis = diagnose(space, lexicon, method="mean-difference", n_permutations=19)
    assert all(len(repr(result)) < 400 for result in (induced, diagnosis))
    assert f"{len(space):,} words" in repr(induced)


def test_bundled_sets_are_one_short_line_to_look_at() -> None:
    sets = [load_concept("gender"), load_similarity("men"), load_weat()[7]]
    assert all(len(repr(each)) < 100 for each in sets), [repr(each)[:200] for each in sets]


def results_of(space: WordSpace, lexicon: Lexicon) -> list[Any]:
    """Return one object of every public class of results, except those that need a language model."""
    high, low = ([word for word, label in lexicon.items() if label == side] for side in (1.0, -1.0))
    others = tuple(word for word in space.words if word not in lexicon)
    concept = Concept("planted", lexicon, (high[0], low[0]), others[:60])
    rows, rated = lexicon.align(space), Ratings.of(lexicon.words, lexicon.labels + np.arange(len(lexicon)) % 7)
    axis = fit_axis(space, lexicon, method="mean-difference", n_permutations=19)
    erasure = Erasure.fit(rows)
    induced = induce(space, axis)
    texts = [f"a long text with the number {number}" for number in range(500)]
    classes = Rows.from_arrays(rows.X, [f"class {row % 3}" for row in range(len(rows))])
    numbers = np.arange(len(rows))
    table = open_table(
        polars.DataFrame({"partner": numbers // 2, "party": (numbers % 3).astype(str), "vector": rows.X.tolist()})
    )
    removed = evaluate_removal(space, concept, ["mean-difference"], n_biased=40)
    return [
        space,
        lexicon,
        rows,
        classes,
        rated,
        rated.align(space),
        axis,
        Axis.of(axis.rotation),
        erasure,
        AffineMap.of(axis.rotation),
        erasure.remains(),
        induced,
        axis.diagnose(),
        induced.scores,
        axis.score(rows.X[:0]),
        axis.citation,
        axis.uncertainty,
        axis.errors,
        axis.space_record,
        States.of_arrays([np.zeros((500, 8))] * 2, texts, model="model"),
        compare_methods(space, lexicon, methods=["ridge", "mean-difference"]),
        evaluate_induction(space, lexicon, methods=["ridge"]),
        evaluate_induction(space, [lexicon], methods=["ridge"]),
        repeat_induction(space, lexicon, repeats=2, methods=["ridge"]),
        evaluate_stability(space, lexicon, methods=["ridge"], sizes=[8], n_samples=2),
        compare_spaces(space, space, lexicon),
        evaluate_ratings(space, rated, axis),
        evaluate_analogies(
            space, AnalogySet.from_pairs({"opposites": list(zip(high[:5], low[:5], strict=True))}), predictions=True
        ),
        removed,
        removed.spaces[0],
        preview_removal(space, erasure, others[:60], concept.anchors),
        axis_change(induced, induced),
        evaluate_retrieval(table, "partner"),
        mean_scores(axis, table, ["party"]),
        diagnose_classes(classes, n_permutations=19),
        most_biased(space, concept.anchors),
        anchor_gap(space, others, concept.anchors),
    ]


def test_every_result_is_one_short_line_to_look_at(planted: tuple[WordSpace, Lexicon]) -> None:
    results = results_of(*planted)
    shown = {type(result).__name__: repr(result) for result in results}
    for name, text in shown.items():
        assert name in text
        assert len(text) < 400, text
        assert "\n" not in text
    assert "200 rows × 12 dimensions (102 at -1, 98 at 1)" in repr(results[2])
    assert "from 200 rows: removes 1 of 12 dimensions" in shown["Erasure"]
    assert "500 texts × 8 dimensions, 2 layers" in shown["States"]
    assert repr(results[13]).startswith("Scores of 400 rows: highest")
    assert shown["Scores"].startswith("Scores of 0 rows")
    of_models = {"InterventionResult", "LayerComparison", "SteeringResult"}
    assert {each.__name__ for each in Result.__subclasses__() if each.__module__.startswith("densray.")} <= {
        *shown,
        *of_models,
    }
    assert all(
        vars(each)["__repr__"] is Result.__repr__ for each in (InterventionResult, LayerComparison, SteeringResult)
    )


def test_a_pandas_frame_of_texts_and_vectors_has_the_texts_as_words() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"text": ["good", "bad"], "embedding": [[1.0, 0.0], [0.0, 1.0]]})
    assert list(WordSpace.from_frame(frame).words) == ["good", "bad"]
    frame["more"] = ["a", "b"]
    with pytest.raises(SpaceError, match="no column 'word'"):
        WordSpace.from_frame(frame)


def columns_of(X: np.ndarray) -> dict[str, Any]:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    lists = polars.Series(X.tolist())
    return {
        "pandas, arrays": pandas.Series(list(X)),
        "pandas, lists, filtered": pandas.Series([[0.0], *X.tolist()])[1:],
        "object array": pandas.Series(list(X)).to_numpy(),
        "polars, lists": lists,
        "polars, arrays": lists.cast(polars.Array(polars.Float64, X.shape[1])),
    }


@pytest.mark.parametrize(
    "kind", ["pandas, arrays", "pandas, lists, filtered", "object array", "polars, lists", "polars, arrays"]
)
def test_a_column_of_vectors_is_fitted_and_scored_as_a_matrix(kind: str) -> None:
    y = np.repeat([-1.0, 1.0], 20)
    X = np.random.default_rng(0).normal(size=(40, 5)) + y[:, None]
    column, ours = columns_of(X)[kind], DensRay().fit(X, y)
    theirs = DensRay().fit(column, y)
    np.testing.assert_array_equal(theirs.components_, ours.components_)
    np.testing.assert_array_equal(theirs.transform(column), ours.transform(X))
    rows = Rows.from_arrays(column, y)
    np.testing.assert_array_equal(rows.X, X)
    axis = Axis.fit(rows)
    np.testing.assert_array_equal(axis.score(column).score, axis.score(X).score)
    erasure = Erasure.fit(rows)
    np.testing.assert_array_equal(erasure.apply(column), erasure.apply(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_with_one_column_of_vectors_is_like_the_column(library: str) -> None:
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    y = np.repeat([-1.0, 1.0], 20)
    X = np.random.default_rng(0).normal(size=(40, 5)) + y[:, None]
    frame, ours = frames.DataFrame({"text": ["a"] * 40, "v": X.tolist()}), DensRay().fit(X, y)
    columns = ColumnTransformer([("axis", DensRay(), ["v"])])
    np.testing.assert_array_equal(columns.fit_transform(frame, y), ours.transform(X))
    np.testing.assert_array_equal(ours.transform(frame[["v"]]), ours.transform(X))
    np.testing.assert_array_equal(Rows.from_arrays(frame[["v"]], y).X, X)
    numbers = frames.DataFrame({"x": X[:, 0]})
    assert DensRay().fit(numbers, y).n_features_in_ == 1


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[1.0, 2.0], [1.0]], r"row 1 .*has a vector of 1 numbers, and an earlier row a vector of 2"),
        ([[1.0, 2.0], None], r"the vector of row 1 .*is missing"),
        ([[1.0, 2.0], "text"], r"row 1 .*has 'text'"),
    ],
)
def test_a_column_whose_vectors_do_not_fit_is_a_named_error(cells: list[Any], message: str) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(VectorError, match=message):
        DensRay().fit(pandas.Series(cells, dtype=object), [1, -1])
    with pytest.raises(VectorError, match=message):
        Axis.of(DensRay().fit(np.eye(2), [1, -1])).score(pandas.Series(cells, dtype=object))


def test_published_names_are_the_measures() -> None:
    assert weat is association
    assert rnsb is sentiment_bias
