"""Spaces survive the way to other libraries and back with equal words and vectors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from densray.errors import SpaceError, VectorError
from densray.space import WordSpace

SPACE = WordSpace(["naïve", "new york", "x#'\"", "0"], np.random.default_rng(1).normal(size=(4, 3)), name="toy")


def same(left: WordSpace, right: WordSpace) -> bool:
    return list(left.words) == list(right.words) and np.array_equal(left.vectors, right.vectors)


def test_numpy_sees_the_vectors() -> None:
    np.testing.assert_array_equal(np.asarray(SPACE), SPACE.vectors)
    assert np.asarray(SPACE, dtype=np.float64).dtype == np.float64


def test_polars_frame_round_trip() -> None:
    frame = SPACE.to_polars()
    assert frame.columns == ["word", "0", "1", "2"]
    assert same(WordSpace.from_frame(frame), SPACE)
    with pytest.raises(SpaceError, match="no column 'token'"):
        WordSpace.from_frame(frame, word_column="token")


def test_pandas_frame_round_trip_by_index_and_by_column() -> None:
    frame = SPACE.to_pandas()
    assert same(WordSpace.from_frame(frame), SPACE)
    assert same(WordSpace.from_frame(frame.reset_index()), SPACE)
    assert same(WordSpace.from_frame(frame.reset_index(names="token"), word_column="token"), SPACE)


def test_gensim_round_trip_gives_the_same_neighbours() -> None:
    pytest.importorskip("gensim")
    keyed = SPACE.to_gensim()
    assert same(WordSpace.from_gensim(keyed), SPACE)
    assert [word for word, _ in keyed.most_similar("naïve", topn=3)] == [
        word for word, _ in SPACE.neighbors("naïve", k=3)
    ]
    with pytest.raises(SpaceError, match="no gensim KeyedVectors"):
        WordSpace.from_gensim({"a": 1})


def test_spacy_round_trip() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing spaCy warns about its own dependencies
        pytest.importorskip("spacy")
        from spacy.vocab import Vocab
    vocab = SPACE.to_spacy()
    np.testing.assert_array_equal(vocab["new york"].vector, SPACE["new york"])
    assert same(WordSpace.from_spacy(vocab), SPACE)
    with pytest.raises(SpaceError, match="has no vectors"):
        WordSpace.from_spacy(Vocab())
    with pytest.raises(SpaceError, match="no spaCy Vocab"):
        WordSpace.from_spacy("en_core_web_md")


def test_an_encoder_is_called_in_batches_and_gives_one_vector_per_word() -> None:
    sizes = []

    def encode(words: list[str]) -> list[list[float]]:
        sizes.append(len(words))
        return [[len(word), word.count("a")] for word in words]

    space = WordSpace.encode(["a", "bb", "a", "aca"], encode, batch_size=2)
    assert sizes == [2, 1]
    assert list(space.words) == ["a", "bb", "aca"]
    np.testing.assert_array_equal(space.vectors, [[1, 1], [2, 0], [3, 2]])


def test_an_object_with_an_encode_method_is_an_encoder() -> None:
    class Model:
        def encode(self, words: list[str]) -> np.ndarray:
            return np.array([[float(len(word))] for word in words])

    assert WordSpace.encode(["abc"], Model())["abc"].tolist() == [3.0]


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (lambda words: np.ones((1, 3)), r"shape \(1, 3\) for 2 words"),
        (lambda words: np.ones(2), r"shape \(2,\)"),
        (lambda words: [[1.0], [1.0, 2.0]], "equal width"),
        (lambda words: [[np.nan], [1.0]], "NaN"),
    ],
)
def test_an_encoder_that_gives_something_else_is_a_named_error(encoder: object, message: str) -> None:
    with pytest.raises(VectorError, match=message):
        WordSpace.encode(["a", "b"], encoder)
    with pytest.raises(SpaceError, match="does not encode"):
        WordSpace.encode(["a"], 3)
