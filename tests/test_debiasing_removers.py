"""Removal takes away exactly what it says, from arrays, spaces and files, and leaves alone what it is told to."""

from __future__ import annotations

import json
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from densray import DensRay, Lexicon, LinearRotation, MeanDifference, WordSpace
from densray._leace import leace_beside
from densray.datasets import load_lexicon, load_pairs, load_space, load_word_list
from densray.debiasing import REMOVERS, Removal, equalized, inlp, leace, make_remover
from densray.debiasing._recovery import cluster_accuracy
from densray.debiasing._removers import _is_above_chance, double_hard
from densray.erasure import Erasure
from densray.errors import DensRayError, LabelError, SignalWarning, SpaceError, TaskError, VectorError
from densray.formats import read_space, rewrite, write_space
from densray.rotations import METHODS

N_AXES = [1, 3]
#: The removers that project: LEACE takes away other directions than it reads.
PROJECTIONS = [name for name in REMOVERS if name != "leace"]


def planted(n: int = 60, width: int = 12, seed: int = 0) -> tuple[WordSpace, Lexicon, list[tuple[str, str]]]:
    """A space whose words 0 … 39 come in pairs that differ along a hidden direction."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, width)) + 1.0
    hidden = random.normal(size=width)
    hidden /= np.linalg.norm(hidden)
    signs = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    X[1:40:2] = X[0:40:2] + 0.3 * random.normal(size=(20, width))
    X[:40] += 2.0 * signs[:, None] * hidden
    space = WordSpace([f"w{i}" for i in range(n)], X.astype(np.float32), name="planted").normalized()
    lexicon = Lexicon({f"w{i}": signs[i] for i in range(40)})
    return space, lexicon, [(f"w{i}", f"w{i + 1}") for i in range(0, 40, 2)]


SPACE, LEXICON, PAIRS = planted()


INLP_AXES = 1  # the planted direction; after it words cannot be told apart


def fitted(name: str) -> Erasure:
    """The erasure a remover finds in the planted space; one that stops early says so."""
    with pytest.warns(SignalWarning, match="inlp stopped") if name.startswith("inlp") else nullcontext():
        return make_remover(name).fit(SPACE, LEXICON, pairs=PAIRS)


def cosines(X: NDArray[np.floating]) -> NDArray[np.float64]:
    unit = X.astype(np.float64) / np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


@pytest.mark.parametrize("method", METHODS)
def test_erasing_equals_dropping_the_first_rotated_dimensions_in_every_cosine(method: str) -> None:
    aligned = LEXICON.align(SPACE)
    rotation = METHODS[method].make(None).fit(aligned.X.astype(np.float64), aligned.y)
    X = SPACE.vectors.astype(np.float64)
    for n_axes in N_AXES:
        dropped = rotation.transform(X)[:, n_axes:]
        assert cosines(rotation.erase(X, n_axes=n_axes)) == pytest.approx(cosines(dropped), abs=1e-10)


@pytest.mark.parametrize("name", [name for name in PROJECTIONS if name != "double-hard"])
def test_erasing_twice_is_erasing_once_and_removes_exactly_the_span(name: str) -> None:
    erasure = fitted(name)
    X = SPACE.vectors.astype(np.float64)
    erased = erasure.erase(X)
    assert erasure.erase(erased) == pytest.approx(erased, abs=1e-12)
    assert erasure.rank == len(erasure.span) == (make_remover(name).n_axes if name != "inlp" else INLP_AXES)
    assert np.linalg.matrix_rank(X) - np.linalg.matrix_rank(erased, tol=1e-9) == erasure.rank
    assert np.abs(erased @ erasure.span.T).max() < 1e-12
    across = np.eye(SPACE.width) - erasure.span.T @ erasure.span
    assert erased @ across == pytest.approx(X @ across, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in REMOVERS if name != "random"])
def test_every_remover_takes_away_the_planted_direction(name: str) -> None:
    aligned = LEXICON.align(SPACE)
    before = MeanDifference().fit(aligned.X, aligned.y)
    gap = (SPACE.vectors[:40] @ before.components_[0])[::2] - (SPACE.vectors[:40] @ before.components_[0])[1::2]
    erased = fitted(name).erase(SPACE.vectors)
    left = (erased[:40] @ before.components_[0])[::2] - (erased[:40] @ before.components_[0])[1::2]
    assert np.abs(gap).mean() > 0.5
    assert np.abs(left).mean() < 0.5 * np.abs(gap).mean()


def test_double_hard_centres_the_space_and_removes_two_orthogonal_axes() -> None:
    erasure = make_remover("double-hard").fit(SPACE, LEXICON, pairs=PAIRS)
    erased = erasure.erase(SPACE.vectors.astype(np.float64))
    assert erased.mean(axis=0) == pytest.approx(np.zeros(SPACE.width), abs=1e-6)
    assert erasure.right @ erasure.right.T == pytest.approx(np.eye(2), abs=1e-12)
    assert np.abs(erased @ erasure.span.T).max() < 1e-6


def test_partial_strength_lies_between_nothing_and_all() -> None:
    erasure = make_remover("densray-unit").fit(SPACE, LEXICON)
    X = SPACE.vectors
    assert np.array_equal(erasure.erase(X, strength=0.0), X)
    axis = erasure.right[0]
    assert erasure.erase(X, strength=0.25) @ axis == pytest.approx(0.75 * (X @ axis), abs=1e-6)
    half = SPACE.erased(erasure, strength=0.5, equalize=PAIRS)
    ends = (SPACE.vectors, SPACE.erased(erasure, equalize=PAIRS).vectors)
    assert half.vectors == pytest.approx((ends[0] + ends[1]) / 2, abs=1e-6)
    with pytest.raises(DensRayError, match=r"from 0 .* to 1"):
        SPACE.erased(erasure, strength=1.5)


def test_kept_words_are_equal_to_the_bit_and_the_others_are_not() -> None:
    erasure = make_remover("ridge:3").fit(SPACE, LEXICON)
    removed = SPACE.erased(erasure, keep=["w3", "w41", "absent"])
    same = (removed.vectors == SPACE.vectors).all(axis=1)
    assert same.nonzero()[0].tolist() == [3, 41]
    assert np.array_equal(removed.vectors[5], erasure.erase(SPACE.vectors)[5])


def test_equalised_pairs_are_equally_far_from_every_neutral_word() -> None:
    remover = make_remover("hard")
    erasure = remover.fit(SPACE, LEXICON, pairs=PAIRS)
    hard = SPACE.erased(erasure, keep=["w0"], equalize=[*PAIRS, ("w50", "absent")])
    neutral = [f"w{i}" for i in range(40, 60)]
    for first, second in PAIRS:
        near = hard.cosines(neutral, [first, second])
        assert near[:, 0] == pytest.approx(near[:, 1], abs=1e-6)
        assert np.linalg.norm(hard[[first, second]], axis=1) == pytest.approx([1.0, 1.0], abs=1e-6)
    before = SPACE.cosines(neutral, ["w0", "w1"])
    assert np.abs(before[:, 0] - before[:, 1]).max() > 0.05
    assert set(equalized(SPACE, erasure, PAIRS)) == {word for pair in PAIRS for word in pair}


def test_hard_debiasing_agrees_with_wefe_on_the_same_lists() -> None:
    golden = json.loads((Path(__file__).parent / "files" / "wefe.json").read_text("utf-8"))["hard"]
    google = load_space("googlenews-26k")
    defining = [(male, female) for female, male in load_pairs("gender-definitional")]
    erasure = make_remover("hard").fit(google, load_lexicon("gender"), pairs=defining)
    equalize = [(first.lower(), second.lower()) for first, second in load_pairs("gender-equalize")]
    hard = google.erased(erasure, keep=load_word_list("gender-specific"), equalize=equalize)
    for word, cosines_to in golden.items():
        for other, expected in cosines_to.items():
            assert hard.cosine(word, other) == pytest.approx(expected, abs=2e-6)
    assert abs(google.cosine("nurse", "he") - google.cosine("nurse", "she")) > 0.1


def test_a_file_loses_the_concept_block_by_block_like_a_space(tmp_path: Path) -> None:
    source = write_space(SPACE, tmp_path / "space.bin")
    erasure = make_remover("hard").fit(SPACE, LEXICON, pairs=PAIRS)
    change = Removal(erasure, frozenset(["w45"]), equalized(SPACE, erasure, PAIRS[:3]), strength=0.8)
    written = rewrite(source, tmp_path / "removed.vec", change=change)
    expected = SPACE.erased(erasure, keep=["w45"], equalize=PAIRS[:3], strength=0.8)
    found = read_space(written)
    assert list(found.words) == list(SPACE.words)
    assert found.vectors == pytest.approx(expected.vectors, abs=1e-6)
    narrow = Removal(Erasure.along(np.eye(3)[:1]))
    with pytest.raises(VectorError, match="width 3"):
        rewrite(source, written, change=narrow, overwrite=True)
    assert np.array_equal(read_space(written).vectors, found.vectors)  # the old file is whole
    with pytest.raises(DensRayError, match="None of the 1 pairs"):
        SPACE.erased(erasure, equalize=[("w0", "y")])


def test_a_rotation_can_stand_for_its_erasure() -> None:
    aligned = LEXICON.align(SPACE)
    rotation = DensRay(1, normalize_differences=True).fit(aligned.X, aligned.y)
    assert np.array_equal(SPACE.erased(rotation).vectors, SPACE.erased(rotation).vectors)
    change = Removal(Erasure.of(rotation))
    assert np.array_equal(change(SPACE.words, SPACE.vectors), SPACE.erased(rotation).vectors)


def test_null_space_projection_leaves_nothing_a_linear_classifier_finds_in_unseen_words() -> None:
    random = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 100)
    X = random.normal(size=(200, 12))
    X[:, 3] += 2.0 * y
    with pytest.warns(SignalWarning, match="inlp stopped"):
        erasure = inlp(X, y)
    before, after = (cross_val_score(SVC(kernel="linear"), Z, y, cv=4).mean() for Z in (X, erasure.erase(X)))
    assert before > 0.9
    assert after < 0.6


def test_more_axes_than_the_space_has_and_other_widths_are_named() -> None:
    with pytest.raises(DensRayError, match=r"n_components=13 .* from 1 to 12"):
        make_remover("ridge:13").fit(SPACE, LEXICON)
    aligned = LEXICON.align(SPACE)
    rotation = MeanDifference().fit(aligned.X, aligned.y)
    with pytest.raises(DensRayError, match="n_axes=2"):
        Erasure.of(rotation, 2)
    other = WordSpace(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], name="other")
    with pytest.raises(SpaceError, match="12 dimensions, 'other' has 2"):
        other.erased(rotation)
    with pytest.raises(VectorError, match="width 12"):
        Erasure.of(rotation).erase(other.vectors)


def test_unknown_removers_and_missing_pairs_are_named() -> None:
    with pytest.raises(DensRayError, match="Did you mean 'densray'"):
        make_remover("densrai")
    with pytest.raises(DensRayError, match="'x' is not a number of axes"):
        make_remover("svm:x")
    for name in ("hard", "double-hard"):
        with pytest.raises(TaskError, match="pairs"):
            make_remover(name).fit(SPACE, LEXICON, pairs=[("he", "she")])


def test_leace_leaves_no_covariance_with_the_labels() -> None:
    erasure = make_remover("leace").fit(SPACE, LEXICON)
    aligned = LEXICON.align(SPACE)
    X, y = aligned.X.astype(np.float64), aligned.y - aligned.y.mean()
    erased = erasure.erase(X)
    assert np.abs(y @ X).max() > 1.0
    assert np.abs(y @ erased).max() < 1e-9
    assert erased.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=1e-9)
    assert erasure.erase(erased) == pytest.approx(erased, abs=1e-9)


LABELS = {
    "two classes": lambda n: np.where(np.arange(n) % 2 == 0, 1.0, -1.0),
    "scores": lambda n: np.sin(np.arange(n) * 0.7) * 3 + 5,
    "one-hot": lambda n: np.eye(4)[np.arange(n) % 4],
    "scores and classes": lambda n: np.column_stack([np.sin(np.arange(n)), np.arange(n) % 3 == 1]),
}


@pytest.mark.parametrize("options", [{}, {"shrinkage": False}], ids=["shrunk", "as it is"])
@pytest.mark.parametrize("shape", [(400, 12), (60, 12), (20, 40)], ids=str)
@pytest.mark.parametrize("kind", LABELS)
def test_leace_is_that_of_its_authors(kind: str, shape: tuple[int, int], options: dict[str, bool]) -> None:
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("concept_erasure", reason="the oracle is concept-erasure, of the authors of LEACE")
    random = np.random.default_rng(1)
    y = LABELS[kind](shape[0]).astype(np.float64)
    X = random.normal(size=shape) @ random.normal(size=(shape[1], shape[1])) + 2.0
    X[:, 0] += 3.0 * (y if y.ndim == 1 else y[:, 0])
    eraser = theirs.LeaceEraser.fit(torch.from_numpy(X), torch.from_numpy(y), **options)
    expected = eraser(torch.from_numpy(X)).numpy()
    assert leace(X, y, **options).erase(X) == pytest.approx(expected, abs=1e-6)


def test_leace_mixes_in_the_orthogonal_projection_where_variance_would_grow() -> None:
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("concept_erasure", reason="the oracle is concept-erasure, of the authors of LEACE")
    random = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 50)
    X = random.normal(size=(100, 6)) * np.array([30.0, 0.1, 1, 1, 1, 1])
    X[:, 1] += y
    X[:, 0] -= 30 * X[:, 1]
    free = leace(X, y, constrain_trace=False).erase(X)
    bound = leace(X, y).erase(X)
    rows = torch.from_numpy(X)
    assert bound == pytest.approx(theirs.LeaceEraser.fit(rows, torch.from_numpy(y))(rows).numpy(), abs=1e-6)
    assert np.var(bound, axis=0).sum() <= np.var(X, axis=0).sum() * (1 + 1e-2)
    assert np.abs(y @ free).max() < 1e-8
    assert np.abs(y @ bound).max() < 1e-8


def test_leace_beside_others_erases_the_labels_and_moves_the_others_less() -> None:
    random = np.random.default_rng(0)
    X, K = random.normal(size=(300, 8)), random.normal(size=(200, 8))
    others = random.normal(size=(400, 8)) * np.array([5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    z, k = X[:, 0] + X[:, 1] + 0.3 * X[:, 2], np.sign(K[:, 1] + 0.5 * K[:, 0])

    def covariance(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.asarray((rows - rows.mean(axis=0)).T @ (labels - labels.mean()))

    beside, keeping = leace_beside(X, z, others), leace_beside(X, z, others, keep=(K, k))
    assert np.abs(covariance(X, z)).max() > 100  # the control
    for erasure in (beside, keeping):
        assert covariance(erasure.erase(X), z) == pytest.approx(np.zeros(8), abs=1e-8)
    assert covariance(keeping.erase(K), k) == pytest.approx(covariance(K, k), abs=1e-8)
    assert np.abs(covariance(beside.erase(K), k) - covariance(K, k)).max() > 1
    moved = [np.square(each.erase(others) - others).sum() for each in (beside, leace(X, z))]
    assert moved[0] < moved[1] / 2
    with pytest.raises(LabelError, match="one column"):
        leace_beside(X, np.array(["a", "b", "c"])[np.arange(300) % 3], others)


def test_leace_of_named_classes_is_that_of_their_columns_and_of_any_scale() -> None:
    random = np.random.default_rng(2)
    X, kinds = random.normal(size=(90, 5)), np.arange(90) % 3
    X[:, :3] += 2 * np.eye(3)[kinds]
    named = leace(X, np.array(["red", "green", "blue"])[kinds])
    assert named.rank == 2
    assert named.erase(X) == pytest.approx(leace(X, np.eye(3)[kinds]).erase(X), abs=1e-9)
    scores = X[:, 0] + random.normal(size=90)
    assert leace(X, scores * 1e-6).erase(X) == pytest.approx(leace(X, scores).erase(X), abs=1e-9)
    for wrong, message in ((np.ones(90), "all labels are the same"), (scores[:3], "one finite label per row")):
        with pytest.raises(LabelError, match=message):
            leace(X, wrong)


def test_leace_of_tensors_is_that_of_arrays_and_labels_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    aligned = LEXICON.align(SPACE)
    X = aligned.X.astype(np.float64)
    brought: list[int] = []
    numpy = torch.Tensor.numpy
    with monkeypatch.context() as patch:
        patch.setattr(torch.Tensor, "numpy", lambda tensor: (brought.append(len(tensor)), numpy(tensor))[1])
        found = leace(torch.from_numpy(X), torch.from_numpy(aligned.y))
    assert len(X) not in brought
    erased = found.erase(torch.from_numpy(X))
    assert isinstance(erased, torch.Tensor)
    assert erased.numpy() == pytest.approx(leace(X, aligned.y).erase(X), abs=1e-12)


def test_about_an_origin_it_stays_and_every_row_gets_its_coordinates() -> None:
    aligned = LEXICON.align(SPACE)
    rotation = LinearRotation("ridge", n_components=3).fit(aligned.X.astype(np.float64), aligned.y)
    X = SPACE.vectors.astype(np.float64)
    origin = X.mean(axis=0) + 1.0
    erasure = Erasure.of(rotation, 2, origin=origin)
    axes, erased = rotation.components_[:2], erasure.erase(X)
    assert np.abs(origin @ axes.T).max() > 0.1  # control: elsewhere than about zero
    assert erasure.erase(origin[None, :]) == pytest.approx(origin[None, :], abs=1e-12)
    assert erased @ axes.T == pytest.approx(np.tile(origin @ axes.T, (len(X), 1)), abs=1e-12)
    across = np.eye(SPACE.width) - axes.T @ axes
    assert erased @ across == pytest.approx(X @ across, abs=1e-12)
    assert erasure.erase(erased) == pytest.approx(erased, abs=1e-12)
    assert Erasure.of(rotation, 2).erase(X) == pytest.approx(rotation.erase(X, 2), abs=0)
    assert Erasure.of(rotation).is_linear
    assert not erasure.is_linear
    with pytest.raises(VectorError, match="one per dimension"):
        Erasure.of(rotation, origin=[1.0])


def test_null_space_projection_stops_where_words_cannot_be_told_apart() -> None:
    google = load_space("googlenews-26k", normalize=True)
    aligned = load_lexicon("gender").align(google)
    order = np.random.default_rng(0).permutation(len(aligned.y))
    with pytest.warns(SignalWarning, match=r"inlp stopped after \d of 10 axes"):
        found = inlp(aligned.X, aligned.y)
    with pytest.warns(SignalWarning, match="inlp stopped"):
        permuted = inlp(aligned.X[order], aligned.y[order])
    assert 1 <= found.rank < 4
    assert permuted.rank == found.rank
    assert np.linalg.svd(found.span @ permuted.span.T)[1] == pytest.approx(np.ones(found.rank), abs=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.allclose(inlp(aligned.X, aligned.y, found.rank).span, found.span)


def double_hard_by_hand(
    X: NDArray[np.float64], pairs: list[tuple[int, int]], n_words: int
) -> list[tuple[float, NDArray[np.float64]]]:
    """How well biased words cluster by their bias without each component and the pairs' direction, with these axes."""
    centred = X - X.mean(axis=0)
    bias = np.mean([X[one] - X[other] for one, other in pairs], axis=0)
    order = np.argsort(X @ bias / np.linalg.norm(X, axis=1))
    biased, sides = centred[[*order[:n_words], *order[-n_words:]]], np.repeat([False, True], n_words)
    found = []
    for component in np.linalg.svd(centred)[2][:-1]:
        across = np.eye(X.shape[1]) - np.outer(component, component)
        differences = [(X[one] - X[other]) @ across for one, other in pairs]
        axes = np.array([component, np.linalg.svd(differences)[2][0]])
        found.append((cluster_accuracy(biased - biased @ axes.T @ axes, sides), axes))
    return found


@pytest.mark.parametrize(("seed", "place"), [(15, 0), (6, 1), (0, 2), (35, 3)])
def test_double_hard_removes_the_component_that_hides_the_concept(seed: int, place: int) -> None:
    random = np.random.default_rng(seed)
    sides = np.repeat([1.0, -1.0], 40)
    X = random.normal(size=(80, 5)) * random.uniform(0.3, 2.0, size=5) + random.normal(size=5)
    X[:, 2] += 0.6 * sides
    X[:, 3] += 1.2 * sides
    X = (X * random.uniform(0.3, 3.0, size=(80, 1))).astype(np.float32)
    pairs = [(row, 40 + row) for row in range(12)]
    found, tried = double_hard(X, pairs, n_words=20), double_hard_by_hand(X.astype(np.float64), pairs, 20)
    accuracies = [accuracy for accuracy, _ in tried]
    assert int(np.argmin(accuracies)) == place
    assert accuracies.count(min(accuracies)) == 1  # control: one is best
    axes = tried[place][1]
    np.testing.assert_allclose(found.right.T @ found.right, axes.T @ axes, atol=1e-4)
    assert found.name == "double-hard"


def test_a_linear_classifier_is_asked_whether_rows_can_be_told_apart() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(80, 2)), np.tile([1.0, -1.0], 40)
    ring = np.where(np.linalg.norm(X, axis=1) > 1.1, 1.0, -1.0)
    assert not _is_above_chance(X, ring)  # no line does, though a circle would
    assert not _is_above_chance(X, y)
    assert not _is_above_chance(X, np.where(np.arange(80) < 70, 1.0, -1.0))  # the larger class is no merit
    assert _is_above_chance(X, np.sign(X[:, 0]))
    assert _is_above_chance(X[:12], np.sign(X[:12, 0] - np.sort(X[:12, 0])[3]) + (X[:12, 0] == np.sort(X[:12, 0])[3]))
    assert not _is_above_chance(X, np.where(np.arange(80) < 1, 1.0, -1.0))  # one word cannot be held out
    many = random.normal(size=(1200, 2))
    assert _is_above_chance(many, np.sign(many[:, 1]))
    assert not _is_above_chance(many, np.tile([1.0, -1.0], 600))


def test_equalised_words_stay_on_their_own_side() -> None:
    erasure = make_remover("hard").fit(SPACE, LEXICON, pairs=PAIRS)
    new = equalized(SPACE, erasure, PAIRS)
    for first, second in PAIRS:
        before = erasure.span @ (SPACE[first] - SPACE[second])
        assert erasure.span @ (new[first] - new[second]) @ before > 0


def test_leace_takes_two_rows_and_passes_over_labels_that_do_not_vary() -> None:
    X = np.random.default_rng(5).normal(size=(40, 4))
    X[:, 0] += 2 * (y := np.tile([1.0, -1.0], 20))
    constant = leace(X, np.column_stack([y, np.ones(40)]))
    assert constant.erase(X) == pytest.approx(leace(X, y).erase(X), abs=1e-9)
    two = leace(X[:2], y[:2]).erase(X[:2])
    assert two[0] == pytest.approx(two[1], abs=1e-6)


def test_leace_never_adds_variance() -> None:
    """Σ - Σ^½ U Uᵀ Σ^½: what is taken away is never negative."""
    random = np.random.default_rng(6)
    X = random.normal(size=(200, 6)) @ random.normal(size=(6, 6))
    y = np.sign(X[:, 0] + X[:, 1])
    erased = leace(X, y, shrinkage=False).erase(X)
    lost = np.cov(X.T) - np.cov(erased.T)
    assert np.linalg.eigvalsh(lost).min() > -1e-9
    assert np.linalg.matrix_rank(lost, tol=1e-9) == 1
