"""Names, types and habits of gensim, scikit-learn, pandas and WEFE work here too."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_score

from densray import DensRay, Lexicon, WordSpace, diagnose, fit_axis, induce, load_space
from densray.debiasing import association, rnsb, sentiment_bias, weat
from densray.errors import SpaceError
from densray.rotations import make_rotation
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


def test_most_similar_agrees_with_gensim(planted: tuple[WordSpace, Lexicon]) -> None:
    pytest.importorskip("gensim", reason="gensim is not installed")
    space, _ = planted
    keyed = space.to_gensim()
    one, two, three = space.words[:3]
    for ours, theirs in (
        (space.most_similar(one, topn=4), keyed.most_similar(one, topn=4)),
        (space.most_similar([one, two], [three], 4), keyed.most_similar([one, two], [three], topn=4)),
        (space.most_similar(positive=[one], negative=two), keyed.most_similar(positive=[one], negative=[two])),
    ):
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        np.testing.assert_allclose([cosine for _, cosine in ours], [cosine for _, cosine in theirs], atol=1e-5)
    assert space.most_similar(space[one], topn=1)[0][0] == one
    with pytest.raises(SpaceError, match="at least one"):
        space.most_similar([])


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


def test_a_pandas_frame_of_texts_and_vectors_has_the_texts_as_words() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"text": ["good", "bad"], "embedding": [[1.0, 0.0], [0.0, 1.0]]})
    assert list(WordSpace.from_frame(frame).words) == ["good", "bad"]
    frame["more"] = ["a", "b"]
    with pytest.raises(SpaceError, match="no column 'word'"):
        WordSpace.from_frame(frame)


def test_published_names_are_the_measures() -> None:
    assert weat is association
    assert rnsb is sentiment_bias
