"""Spaces survive the way to other libraries and back with equal words and vectors."""

from __future__ import annotations

import warnings
from typing import Any

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


def test_an_index_that_counts_rows_is_not_taken_for_words() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["good", "bad"], "embedding": [[1.0, 0.5], [-1.0, 0.5]]})
    assert list(WordSpace.from_frame(frame).words) == ["good", "bad"]
    assert list(WordSpace.from_frame(pytest.importorskip("polars").DataFrame(frame.to_dict("list"))).words) == [
        "good",
        "bad",
    ]
    with pytest.raises(SpaceError, match="no column 'word'"):
        WordSpace.from_frame(frame[["embedding"]])
    with pytest.raises(SpaceError, match="no column 'word'"):
        WordSpace.from_frame(frame.assign(title=["a", "b"]))
    with pytest.raises(SpaceError, match="no column 'token'"):
        WordSpace.from_frame(frame, word_column="token")


def joined(*frames: Any, **options: Any) -> Any:
    return pytest.importorskip("pandas").concat(frames, **options)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame[frame["text"].str.len() > 2],
        lambda frame: frame.sort_values("text"),
        lambda frame: frame.sample(4, random_state=1),
        lambda frame: frame.iloc[2:5],
        lambda frame: frame.set_index(frame.index + 100),
        lambda frame: frame.set_index(frame.index + 0.5),
        lambda frame: frame.rename_axis("id"),
        lambda frame: frame.set_index(frame["date"]).drop(columns="date"),
        lambda frame: joined(frame[:3], frame[1:3].replace({"good": "better", "sad": "worse"})),
        lambda frame: joined(frame[:2], frame[2:], keys=["first", "last"]),
    ],
)
def test_an_index_of_numbers_is_never_taken_for_words(change: Any) -> None:
    pandas = pytest.importorskip("pandas")
    words = ["so", "good", "sad", "bad", "it", "nice"]
    frame = pandas.DataFrame(
        {
            "text": words,
            "embedding": [[float(row), 1.0] for row in range(6)],
            "date": pandas.date_range("2020-01-01", periods=6),
        }
    )
    changed = change(frame)
    assert list(WordSpace.from_frame(changed).words) == changed["text"].tolist()
    with pytest.raises(SpaceError, match=r"no column 'word'.* index holds no texts.*word_column"):
        WordSpace.from_frame(changed[["embedding"]])


def test_an_index_is_the_words_if_it_has_the_name_of_the_words() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"0": [1.0, 2.0], "1": [2.0, 1.0]}, index=[1848, 1914])
    assert list(WordSpace.from_frame(frame.rename_axis("word")).words) == ["1848", "1914"]
    assert list(WordSpace.from_frame(frame.rename_axis("year"), word_column="year").words) == ["1848", "1914"]


def as_dataset(table: Any) -> Any:
    return pytest.importorskip("datasets").Dataset(table)


def as_relation(table: Any) -> Any:
    return pytest.importorskip("duckdb").from_arrow(table)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda frame: frame.lazy(), id="LazyFrame"),
        pytest.param(lambda frame: frame.to_arrow(), id="pyarrow"),
        pytest.param(lambda frame: as_relation(frame.to_arrow()), id="DuckDB"),
        pytest.param(lambda frame: as_dataset(frame.to_arrow()), id="datasets"),
    ],
)
def test_a_table_of_any_library_is_read_as_a_frame(make: Any) -> None:
    import polars

    pytest.importorskip("pyarrow")
    frame = polars.DataFrame({"text": ["good", "bad"], "embedding": [[1.0, 0.5], [-1.0, 0.25]]})
    assert same(WordSpace.from_frame(make(frame)), WordSpace.from_frame(frame))


@pytest.mark.parametrize("given", [["good"], {"good": [1.0]}, np.ones((2, 2)), SPACE])
def test_something_that_is_no_frame_is_a_named_error(given: Any) -> None:
    with pytest.raises(SpaceError, match=f"a {type(given).__name__} is given; a frame"):
        WordSpace.from_frame(given)


def test_pandas_frame_round_trip_by_index_and_by_column() -> None:
    frame = SPACE.to_pandas()
    assert same(WordSpace.from_frame(frame), SPACE)
    assert same(WordSpace.from_frame(frame.reset_index()), SPACE)
    assert same(WordSpace.from_frame(frame.reset_index(names="token"), word_column="token"), SPACE)


LISTS = {"word": ["good", "bad"], "rank": [1, 2], "embedding": [[1.0, 0.5, 2.0], [-1.0, 0.25, 0.0]]}


@pytest.mark.parametrize("make", ["lists", "arrays", "pandas", "pandas of arrays"])
def test_a_column_of_vectors_is_read(make: str) -> None:
    import pandas
    import polars

    frame: Any
    if make.startswith("pandas"):
        frame = pandas.DataFrame(LISTS)
        if make.endswith("arrays"):
            frame["embedding"] = [np.float32(vector) for vector in frame["embedding"]]
    else:
        frame = polars.DataFrame(LISTS)
        if make == "arrays":
            frame = frame.with_columns(polars.col("embedding").cast(polars.Array(polars.Float32, 3)))
    space = WordSpace.from_frame(frame)
    assert list(space.words) == ["good", "bad"]
    np.testing.assert_array_equal(space.vectors, LISTS["embedding"])
    assert same(WordSpace.from_frame(frame, vector_column="embedding"), space)
    if make == "pandas":
        assert same(WordSpace.from_frame(frame.set_index("word")), space)


def test_columns_of_vectors_that_cannot_be_used_are_named() -> None:
    import pandas
    import polars

    two = polars.DataFrame({**LISTS, "other": LISTS["embedding"]})
    with pytest.raises(SpaceError, match=r"several columns of lists \('embedding', 'other'\).*vector_column="):
        WordSpace.from_frame(two)
    assert WordSpace.from_frame(two, vector_column="other").width == 3
    with pytest.raises(SpaceError, match="no column 'vector'"):
        WordSpace.from_frame(two, vector_column="vector")
    for frame in (
        polars.DataFrame({"word": ["good", "bad"], "embedding": [[1.0, 2.0], [1.0]]}),
        pandas.DataFrame({"word": ["good", "bad"], "embedding": [[1.0, 2.0], None]}),
    ):
        with pytest.raises(VectorError, match=r"vector of 'bad' has [01] numbers, the first one 2"):
            WordSpace.from_frame(frame)


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("place", ["column", "index"])
def test_a_missing_word_is_refused_with_its_row(missing: Any, place: str) -> None:
    import pandas

    frame = pandas.DataFrame({"word": pandas.Series(["good", missing, "bad"], dtype=object), "0": [1, 2, 3]})
    with pytest.raises(SpaceError, match="row 1"):
        WordSpace.from_frame(frame if place == "column" else frame.set_index("word"))


def test_missing_words_of_other_kinds_are_refused() -> None:
    import pandas
    import polars

    for frame in (
        polars.DataFrame({"word": ["good", None], "0": [1.0, 2.0]}),
        pandas.DataFrame({"word": pandas.array(["good", pandas.NA], dtype="string"), "0": [1.0, 2.0]}),
    ):
        with pytest.raises(SpaceError, match="row 1"):
            WordSpace.from_frame(frame)


@pytest.mark.parametrize("twice", ["0", "word"])
def test_column_names_that_occur_twice_are_refused(twice: str) -> None:
    import pandas

    frame = pandas.DataFrame([["good", 1.0, 2.0]], columns=["word", "0", "1"])
    frame.insert(1, twice, [3.0], allow_duplicates=True)
    with pytest.raises(SpaceError, match=f"more than once.*'{twice}'"):
        WordSpace.from_frame(frame)


@pytest.mark.parametrize("prefix", ["", "dim_"])
@pytest.mark.parametrize("other", ["id", "rank1"])
def test_columns_next_to_numbered_ones_are_not_dimensions(prefix: str, other: str) -> None:
    import pandas
    import polars

    numbered = {f"{prefix}{axis}": [1.0, 2.0] for axis in range(12)}
    for kind in (pandas.DataFrame, polars.DataFrame):
        assert WordSpace.from_frame(kind({"word": ["good", "bad"], **numbered})).width == 12
        with pytest.raises(SpaceError, match=other):
            WordSpace.from_frame(kind({"word": ["good", "bad"], other: [7, 8], **numbered}))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_without_numbers_are_dimensions_only_if_they_are_named(library: str) -> None:
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"word": ["good", "bad"], "count": [1000, 20], "x": [1.0, 2.0], "y": [3.0, 4.0]})
    with pytest.raises(SpaceError, match=r"columns 'count', 'x', 'y' next to the words.*vector_column="):
        WordSpace.from_frame(frame)
    assert WordSpace.from_frame(frame, vector_column=["x", "y"])["bad"].tolist() == [2.0, 4.0]
    with pytest.raises(SpaceError, match="no column 'z'"):
        WordSpace.from_frame(frame, vector_column=["x", "z"])
    years = frames.DataFrame({"word": ["good", "bad"], "1990": [7, 8], "1991": [7, 8]})
    with pytest.raises(SpaceError, match="'1990', '1991'"):
        WordSpace.from_frame(years)
    with pytest.raises(SpaceError, match="no column of vectors"):
        WordSpace.from_frame(frame[["word"]])
    count = frames.DataFrame({"word": ["good", "bad"], "count": [7, 8]})
    with pytest.raises(SpaceError, match="'count'"):
        WordSpace.from_frame(count)


def test_gensim_round_trip_gives_the_same_neighbours() -> None:
    pytest.importorskip("gensim")
    keyed = SPACE.to_gensim()
    assert same(WordSpace.from_gensim(keyed), SPACE)
    assert [word for word, _ in keyed.most_similar("naïve", topn=3)] == [
        word for word, _ in SPACE.neighbors("naïve", k=3)
    ]
    with pytest.raises(SpaceError, match="not a gensim KeyedVectors"):
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
    with pytest.raises(SpaceError, match="not a spaCy Vocab"):
        WordSpace.from_spacy("en_core_web_md")


def test_a_row_of_pruned_spacy_vectors_is_one_word_and_the_others_are_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("spacy")
        from spacy.lookups import Lookups
        from spacy.vocab import Vocab
    vectors = np.float32([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0.1, 0], [0, 1, 0.1]])
    words = ["good", "bad", "king", "goood", "baad"]

    def vocabulary() -> Vocab:
        vocab = Vocab()
        for word, vector in zip(words, vectors, strict=True):
            vocab.set_vector(word, vector)
        return vocab

    whole = WordSpace.from_spacy(vocabulary())  # no warning, which would be an error
    assert list(whole.words) == words
    pruned = vocabulary()
    pruned.prune_vectors(3)
    with pytest.warns(UserWarning, match=r"2 of 5 words .* vector of another word .* 'goood', 'baad'.*lg"):
        space = WordSpace.from_spacy(pruned)
    assert list(space.words) == ["good", "bad", "king"]
    np.testing.assert_array_equal(space.vectors, vectors[:3])
    pruned.lookups = Lookups()
    pruned.lookups.add_table("lexeme_prob", {pruned.strings["goood"]: -1.0, pruned.strings["good"]: -9.0})
    with pytest.warns(UserWarning, match="'good'"):
        assert list(WordSpace.from_spacy(pruned).words) == ["goood", "bad", "king"]


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
    with pytest.raises(SpaceError, match="is not an encoder"):
        WordSpace.encode(["a"], 3)


@pytest.mark.parametrize("prefix", ["", "v", "dim_"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_numbered_columns_are_read_in_the_order_of_their_numbers(prefix: str, library: str) -> None:
    frames = pytest.importorskip(library)
    vectors = np.random.default_rng(0).normal(size=(3, 12))
    shuffled = np.random.default_rng(1).permutation(12).tolist()
    columns = {f"{prefix}{number}": vectors[:, number] for number in shuffled}
    frame = frames.DataFrame({"word": ["a", "b", "c"], **columns})
    np.testing.assert_allclose(WordSpace.from_frame(frame).vectors, vectors.astype(np.float32), rtol=1e-6)
    fewer = frames.DataFrame({"word": ["a", "b", "c"], **{name: columns[name] for name in columns if name[-1:] != "5"}})
    with pytest.raises(SpaceError, match="no column is numbered 5"):
        WordSpace.from_frame(fewer)
