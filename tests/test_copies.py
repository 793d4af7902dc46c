"""Rows that are equal up to rounding are one row: they are held out together, and count once."""

import numpy as np
import polars as pl
import pytest

from densray import Axis, Erasure, Lexicon, Rows, WordSpace
from densray._copies import first_copies
from densray._vocabulary import unit_rows
from densray.axes import compare_methods, evaluate_induction, evaluate_ratings, mean_scores
from densray.datasets import load_space
from densray.ratings import Ratings
from densray.tables import open_table


def draw_rows(n: int = 200, width: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random rows at unit length, with random labels: there is no concept."""
    random = np.random.default_rng(seed)
    return unit_rows(random.normal(size=(n, width))), random.permutation(np.repeat([1.0, -1.0], n // 2))


def noise(like: np.ndarray, size: float) -> np.ndarray:
    return size * np.random.default_rng(1).normal(size=like.shape)


def as_bfloat16(X: np.ndarray) -> np.ndarray:
    """The numbers, rounded to the upper two of their four bytes."""
    bits = X.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)


COPIES = {
    "noise of 1e-8": lambda X: X + noise(X, 1e-8),
    "another batch": lambda X: X.astype(np.float32) + noise(X, 1e-7).astype(np.float32),
    "half precision": lambda X: X.astype(np.float16).astype(float),
    "bfloat16": as_bfloat16,
    "three decimals": lambda X: X.round(3),
    "two decimals": lambda X: X.round(2),
    "int8": lambda X: unit_rows((X / np.abs(X).max() * 127).round()),
    "int8 with a scale per row": lambda X: unit_rows((X / np.abs(X).max(axis=1, keepdims=True) * 127).round()),
    "one number changed": lambda X: X + 0.01 * np.eye(X.shape[1])[0],
}


def compare_all_pairs(X: np.ndarray, bound: float) -> np.ndarray:
    """The first row within a bound of each row, by all distances; enough where no row is between copies and others."""
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    return np.array([int(np.flatnonzero(row <= bound)[0]) for row in distances])


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("width", [64, 300])
def test_copies_are_found_as_by_comparing_all_pairs(copy, width) -> None:
    X, _ = draw_rows(100, width)
    both = np.concatenate([X, copy(X[:60]), copy(X[30:])])[np.random.default_rng(2).permutation(230)]
    np.testing.assert_array_equal(first_copies(both), compare_all_pairs(both, 0.1))


def test_the_first_of_sixty_copies_is_named() -> None:
    X, _ = draw_rows(100, 64)
    random = np.random.default_rng(3)
    many = np.concatenate([X + 1e-7 * random.normal(size=X.shape) for _ in range(60)])
    np.testing.assert_array_equal(first_copies(many), np.tile(np.arange(100), 60))


def test_distinct_words_and_rows_are_no_copies() -> None:
    space = load_space("googlenews-26k")
    X = np.unique(unit_rows(space.vectors_at(np.arange(len(space)))), axis=0)
    assert len(np.unique(first_copies(X))) == len(X)
    random = np.random.default_rng(0)
    clouds = {
        "near each other": 100.0 + random.normal(size=(2000, 384)),
        "a curve": np.linspace(0.0, 1.0, 3000)[:, None] * X[:1] + X[1:2],
        "eight directions": random.normal(size=(2000, 8)) @ X[:8],
        "few columns": random.normal(size=(1000, 2)),
        "one column": random.normal(size=(1000, 1)),
    }
    for name, cloud in clouds.items():
        assert len(np.unique(first_copies(unit_rows(cloud) if name != "one column" else cloud))) == len(cloud), name


def test_rows_of_zeros_and_of_other_lengths_are_told_apart() -> None:
    X, _ = draw_rows(40)
    X[[3, 7]] = 0.0
    doubled = np.concatenate([X, 2.0 * X])
    found = first_copies(doubled)
    assert found[[3, 7, 43, 47]].tolist() == [3, 3, 3, 3]
    assert np.array_equal(np.delete(found, [3, 7, 43, 47]), np.delete(np.arange(80), [3, 7, 43, 47]))


@pytest.mark.parametrize("copy", [*COPIES.values(), lambda X: 2.0 * X], ids=[*COPIES, "twice as long"])
def test_random_labels_of_copied_rows_are_no_concept(copy) -> None:
    X, y = draw_rows()
    rows = Rows.from_arrays(np.concatenate([X, copy(X)]), np.tile(y, 2))
    axis = Axis.fit(rows)
    assert axis.rows is not None
    assert axis.rows.n_groups == 200
    assert "400 rows in 200 groups have equal vectors" in axis.rows.forms.line
    assert axis.agreement.auc == pytest.approx(Axis.fit(Rows.from_arrays(X, y)).agreement.auc, abs=0.1)
    assert axis.quick_verdict().grade == "none"
    assert Axis.fit(rows.grouped(None)).agreement.auc > 0.9  # the control: held out alone, copies leak


def test_lengths_count_if_vectors_are_not_scaled() -> None:
    X, y = draw_rows()
    rows = Rows.from_arrays(np.concatenate([X, 2.0 * X]), np.tile(y, 2))
    assert rows.groups is None
    assert Axis.fit(rows, normalize=False).rows.groups is None


@pytest.mark.parametrize("scaled", [False, True])
def test_nothing_remains_of_random_labels_of_copied_rows(scaled: bool) -> None:
    X, y = draw_rows(100, 50)
    copies = [X * (1.0 + number) if scaled else X + noise(X, 1e-7) * number for number in range(4)]
    rows = Rows.from_arrays(np.concatenate(copies), np.tile(y, 4))
    erasure = Erasure.fit(rows)
    remains = erasure.remains(models=["linear", "rbf"])
    assert all(probe.strongest[1].interval.low < 0.5 for probe in remains.probes)
    leaking = Erasure.fit(rows.grouped(None)).remains(models=["linear", "rbf"])
    assert leaking["rbf"].strongest[1].auc > 0.8  # the control
    assert erasure.remains(Rows.from_arrays(copies[1], y), models=["linear"]).n_learned == 100


def test_words_with_the_vector_of_another_are_held_out_and_split_together() -> None:
    X, y = draw_rows(80)
    words = [f"{letter}{number:03}" for letter in "ab" for number in range(80)]
    space = WordSpace(words, np.concatenate([X, X + noise(X, 1e-6)]))
    lexicon = Lexicon(dict(zip(words, np.tile(y, 2).tolist(), strict=True)))
    axis = Axis.fit(lexicon.align(space))
    assert axis.rows.n_groups == 80
    assert axis.diagnose().verdict.grade == "none"
    assert axis.diagnose().forms.n_words == 160
    assert Axis.fit(lexicon.align(space, groups=None), groups=None).agreement.auc > 0.9  # the control
    together, alone = (
        evaluate_induction(space, lexicon, methods=["ridge"], groups=groups).scores[0].auc for groups in ("forms", None)
    )
    assert together < 0.75
    assert alone > 0.8
    compared = compare_methods(space, lexicon, methods=["ridge"])
    assert compared.trial("ridge").auc < 0.75
    assert "160 rows in 80 groups have equal vectors up to rounding" in " ".join(compared.tables()[0].notes)


def test_a_note_of_forms_of_words_stays_where_vectors_are_equal_too() -> None:
    space = load_space("googlenews-26k")
    words = ["cat", "cats", "dog", "horse", "apple", "house"]
    X = space.vectors_at(space.locate(words))
    rows = Rows.from_arrays(
        np.concatenate([X, X[2:3]]), [1, 1, -1, 1, -1, 1, -1], names=[*words, "hound"], groups="forms"
    )
    assert "dog/hound" in rows.forms.line
    assert "2 words in 1 group are held out together as forms of one word: cat/cats." in rows.forms.line
    assert rows.prepared(normalize=True).groups.tolist() == rows.groups.tolist() == [0, 0, 1, 2, 3, 4, 1]


def test_copies_of_documents_are_one_draw_of_their_group() -> None:
    X, _ = draw_rows(200, 64)
    label = np.tile(["left", "right"], 100)
    X[::2, 0] += 0.3
    frame = pl.DataFrame({"label": label, "vector": X})
    again = frame.with_columns(vector=pl.Series(X + noise(X, 1e-7)))
    axis = Axis.fit(Rows.from_table(frame, "label"))
    once, twice = (
        mean_scores(axis, open_table(table), ["label"]) for table in (frame, pl.concat([frame, frame, again]))
    )
    assert [row["documents"] for row in twice.rows] == [300, 300]
    for left, right in zip(once.rows, twice.rows, strict=True):
        for key in ("draws", "mean", "difference_low", "difference_high", "from_documents"):
            assert right[key] == pytest.approx(left[key], rel=1e-4)
    notes = " ".join(twice.tables()[0].notes)
    assert "400 documents repeat the vector of another" in notes
    assert "600 documents were used to fit the axis, or are copies of such documents." in notes
    assert once.n_repeated == 0
    assert "repeat" not in " ".join(once.tables()[0].notes)


def test_copies_of_rated_documents_count_once_in_the_intervals() -> None:
    X, y = draw_rows(200, 64)
    axis = Axis.fit(Rows.from_arrays(X[:100], y[:100]))
    random = np.random.default_rng(4)
    rating = X[100:] @ axis.direction * 10 + random.normal(size=100)
    names = [f"document {number}" for number in range(400)]
    results = []
    for copies in (1, 4):
        frame = pl.DataFrame({"id": names[: 100 * copies], "vector": np.tile(X[100:], (copies, 1))})
        ratings = Ratings.of(names[: 100 * copies], np.tile(rating, copies))
        results.append(evaluate_ratings(frame, ratings, axis))
    once, often = results
    assert often.pearson_interval == pytest.approx(once.pearson_interval)
    assert often.spearman_interval == pytest.approx(once.spearman_interval, abs=1e-3)
    assert (often.n_items, often.n_repeated, once.n_repeated) == (400, 300, 0)
    assert "300 of the items have the same vector as another." in often.text()
    assert "same vector" not in once.text()


@pytest.mark.parametrize("copy", ["two decimals", "int8"])
def test_copies_are_found_among_rows_that_vary_in_few_directions(copy) -> None:
    """As real embeddings do: whether near rows are copies depends on the distances between all others."""
    random = np.random.default_rng(4)
    for scales in (np.where(np.arange(384) < 8, 3.0, 0.3), 1.0 / np.sqrt(1.0 + np.arange(384))):
        X = unit_rows(random.normal(size=(300, 384)) * scales)
        np.testing.assert_array_equal(first_copies(np.concatenate([X, COPIES[copy](X)])), np.tile(np.arange(300), 2))
        assert len(np.unique(first_copies(X))) == len(X)


def test_fitted_copies_are_recognised_in_their_table() -> None:
    X, _ = draw_rows(100, 32)
    y = np.tile(np.random.default_rng(0).permutation(np.repeat([1.0, -1.0], 50)), 2)
    axis = Axis.fit(Rows.from_arrays(np.concatenate([X, X.round(2)]), y), "mean-difference")
    assert len(axis.fitted_rows.recognise(unit_rows(np.concatenate([X, X.round(2)])), axis.direction).places) == 200
