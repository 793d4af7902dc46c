"""Removal takes away exactly what it says, from arrays, spaces and files, and leaves alone what it is told to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from densray import DensRay, Erasure, Lexicon, LinearRotation, MeanDifference, WordSpace
from densray._leace import leace_beside
from densray.affine import AffineMap, equalized, erasing
from densray.datasets import load_lexicon, load_pairs, load_space, load_word_list
from densray.errors import CoverageWarning, DensRayError, LabelError, SpaceError, TaskError, VectorError
from densray.formats import read_space, rewrite, write_space
from densray.probes import cluster_accuracy
from densray.removers import REMOVERS, _most_biased, double_hard, leace, parse_remover
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


#: INLP stops after the planted direction; the covariance directions come on top of the mean difference.
RANKS = {"inlp": 1, "covariance-difference:3": 4}


def fitted(name: str, lexicon: Lexicon = LEXICON, pairs: Sequence[tuple[str, str]] = PAIRS) -> Erasure:
    """The erasure a remover finds in the planted space."""
    return Erasure.fit(lexicon.align(SPACE, order="lexicon"), name, pairs=pairs, normalize=False)


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


@pytest.mark.parametrize(
    "name",
    [*(name for name in PROJECTIONS if not name.startswith(("double-hard", "covariance"))), "covariance-difference:3"],
)
def test_erasing_twice_is_erasing_once_and_removes_exactly_the_span(name: str) -> None:
    erasure = fitted(name)
    X = SPACE.vectors.astype(np.float64)
    erased = erasure.apply(X)
    assert erasure.apply(erased) == pytest.approx(erased, abs=1e-12)
    assert erasure.rank == len(erasure.span) == RANKS.get(name, 1)
    assert np.linalg.matrix_rank(X) - np.linalg.matrix_rank(erased, tol=1e-9) == erasure.rank
    assert np.abs(erased @ erasure.span.T).max() < 1e-12
    across = np.eye(SPACE.width) - erasure.span.T @ erasure.span
    assert erased @ across == pytest.approx(X @ across, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in REMOVERS if name != "random"])
def test_every_remover_takes_away_the_planted_direction(name: str) -> None:
    aligned = LEXICON.align(SPACE)
    before = MeanDifference().fit(aligned.X, aligned.y)
    gap = (SPACE.vectors[:40] @ before.components_[0])[::2] - (SPACE.vectors[:40] @ before.components_[0])[1::2]
    erased = fitted(name).apply(SPACE.vectors)
    left = (erased[:40] @ before.components_[0])[::2] - (erased[:40] @ before.components_[0])[1::2]
    assert np.abs(gap).mean() > 0.5
    assert np.abs(left).mean() < 0.5 * np.abs(gap).mean()


def test_double_hard_centres_the_space_and_removes_two_orthogonal_axes() -> None:
    erasure = fitted("double-hard")
    erased = erasure.apply(SPACE.vectors.astype(np.float64))
    assert erased.mean(axis=0) == pytest.approx(np.zeros(SPACE.width), abs=1e-6)
    assert erasure.right @ erasure.right.T == pytest.approx(np.eye(2), abs=1e-12)
    assert np.abs(erased @ erasure.span.T).max() < 1e-6


def test_partial_strength_lies_between_nothing_and_all() -> None:
    erasure = fitted("densray-unit")
    X = SPACE.vectors
    assert np.array_equal(erasure.apply(X, strength=0.0), X)
    axis = erasure.right[0]
    assert erasure.apply(X, strength=0.25) @ axis == pytest.approx(0.75 * (X @ axis), abs=1e-6)
    half = SPACE.erased(erasure, strength=0.5, equalize=PAIRS)
    ends = (SPACE.vectors, SPACE.erased(erasure, equalize=PAIRS).vectors)
    assert half.vectors == pytest.approx((ends[0] + ends[1]) / 2, abs=1e-6)
    with pytest.raises(DensRayError, match=r"from 0 .* to 1"):
        SPACE.erased(erasure, strength=1.5)


def test_kept_words_are_equal_to_the_bit_and_the_others_are_not() -> None:
    erasure = fitted("ridge:3")
    with pytest.warns(CoverageWarning, match="'absent'"):
        removed = SPACE.erased(erasure, keep=["w3", "w41", "absent"])
    same = (removed.vectors == SPACE.vectors).all(axis=1)
    assert same.nonzero()[0].tolist() == [3, 41]
    assert np.array_equal(removed.vectors[5], erasure.apply(SPACE.vectors)[5])


def test_equalised_pairs_are_equally_far_from_every_neutral_word() -> None:
    erasure = fitted("hard")
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
    erasure = Erasure.fit(load_lexicon("gender").align(google), "hard", pairs=defining, normalize=False)
    equalize = [(first.lower(), second.lower()) for first, second in load_pairs("gender-equalize")]
    kept = [word for word in load_word_list("gender-specific") if word in google]
    hard = google.erased(erasure, keep=kept, equalize=equalize)
    for word, cosines_to in golden.items():
        for other, expected in cosines_to.items():
            assert hard.cosine(word, other) == pytest.approx(expected, abs=2e-6)
    assert abs(google.cosine("nurse", "he") - google.cosine("nurse", "she")) > 0.1


def test_a_file_loses_the_concept_block_by_block_like_a_space(tmp_path: Path) -> None:
    source = write_space(SPACE, tmp_path / "space.bin")
    erasure = fitted("hard")
    change = erasing(erasure, keep=["w45"], replaced=equalized(SPACE, erasure, PAIRS[:3]), strength=0.8)
    written = rewrite(source, tmp_path / "removed.vec", change=change)
    expected = SPACE.erased(erasure, keep=["w45"], equalize=PAIRS[:3], strength=0.8)
    found = read_space(written)
    assert list(found.words) == list(SPACE.words)
    assert found.vectors == pytest.approx(expected.vectors, abs=1e-6)
    narrow = erasing(AffineMap.along(np.eye(3)[:1]))
    with pytest.raises(VectorError, match="width 3"):
        rewrite(source, written, change=narrow, overwrite=True)
    assert np.array_equal(read_space(written).vectors, found.vectors)  # the old file is whole
    with pytest.raises(DensRayError, match="None of the 1 pairs"):
        SPACE.erased(erasure, equalize=[("w0", "y")])


@pytest.mark.parametrize("method", ["mean-difference", "densray-unit:2", "covariance-difference:1", "leace"])
@pytest.mark.parametrize("normalize", [True, False])
def test_pairs_are_equally_near_to_every_erased_word_or_equalize_is_refused(method: str, normalize: bool) -> None:
    erasure = Erasure.fit(LEXICON.align(SPACE), method, normalize=normalize)
    pair = PAIRS[0]
    if method == "leace":
        with pytest.raises(
            TaskError, match=r"'leace' keeps the mean .* Use method='mean-difference', or leave equalize"
        ):
            erasure.apply(SPACE, equalize=[pair])
        assert erasure.apply(SPACE).words == SPACE.words
        return
    erased = erasure.apply(SPACE, equalize=[pair])
    unit = erased.normalized().vectors
    gap = np.abs(unit[2:] @ (unit[0] - unit[1]))
    assert gap.max() < 1e-5
    plain = erasure.apply(SPACE).normalized().vectors
    assert np.abs(plain[2:] @ (plain[0] - plain[1])).max() > 0.1  # the control


def test_a_rotation_can_replace_its_erasure() -> None:
    aligned = LEXICON.align(SPACE)
    rotation = DensRay(1, normalize_differences=True).fit(aligned.X, aligned.y)
    assert np.array_equal(SPACE.erased(rotation).vectors, SPACE.erased(rotation).vectors)
    change = erasing(AffineMap.of(rotation))
    assert np.array_equal(change(SPACE.words, SPACE.vectors), SPACE.erased(rotation).vectors)


def test_more_axes_than_the_space_has_and_other_widths_are_named() -> None:
    with pytest.raises(DensRayError, match=r"n_components=13 .* from 1 to 12"):
        fitted("ridge:13")
    aligned = LEXICON.align(SPACE)
    rotation = MeanDifference().fit(aligned.X, aligned.y)
    with pytest.raises(DensRayError, match="n_axes=2"):
        Erasure.of(rotation, 2)
    other = WordSpace(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], name="other")
    with pytest.raises(SpaceError, match="12 dimensions, 'other' has 2"):
        other.erased(rotation)
    with pytest.raises(VectorError, match="width 12"):
        Erasure.of(rotation).apply(other.vectors)


def test_unknown_removers_and_missing_pairs_are_named() -> None:
    with pytest.raises(DensRayError, match="Did you mean 'densray'"):
        parse_remover("densrai")
    with pytest.raises(DensRayError, match="'x' is not a number of axes"):
        parse_remover("svm:x")
    for name in ("hard", "double-hard"):
        with pytest.raises(TaskError, match="pairs"):
            fitted(name, pairs=[("he", "she")])


def test_leace_leaves_no_covariance_with_the_labels() -> None:
    erasure = fitted("leace")
    aligned = LEXICON.align(SPACE)
    X, y = aligned.X.astype(np.float64), aligned.y - aligned.y.mean()
    erased = erasure.apply(X)
    assert np.abs(y @ X).max() > 1.0
    assert np.abs(y @ erased).max() < 1e-9
    assert erased.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=1e-9)
    assert erasure.apply(erased) == pytest.approx(erased, abs=1e-9)


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
    assert leace(X, y, **options).apply(X) == pytest.approx(expected, abs=1e-6)


def test_leace_of_columns_of_unlike_size_that_hide_the_labels_is_that_of_its_authors() -> None:
    """Their library mixes in another projection where variance would grow, which it never does."""
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("concept_erasure", reason="the oracle is concept-erasure, of the authors of LEACE")
    random = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 50)
    X = random.normal(size=(100, 6)) * np.array([30.0, 0.1, 1, 1, 1, 1])
    X[:, 1] += y
    X[:, 0] -= 30 * X[:, 1]
    found = leace(X, y).apply(X)
    rows = torch.from_numpy(X)
    assert found == pytest.approx(theirs.LeaceEraser.fit(rows, torch.from_numpy(y))(rows).numpy(), abs=1e-6)
    assert np.var(found, axis=0).sum() <= np.var(X, axis=0).sum() * (1 + 1e-2)
    assert np.abs(y @ found).max() < 1e-8


def test_leace_with_other_rows_erases_the_labels_and_moves_the_others_less() -> None:
    random = np.random.default_rng(0)
    X, K = random.normal(size=(300, 8)), random.normal(size=(200, 8))
    others = random.normal(size=(400, 8)) * np.array([5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    z, k = X[:, 0] + X[:, 1] + 0.3 * X[:, 2], np.sign(K[:, 1] + 0.5 * K[:, 0])

    def covariance(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.asarray((rows - rows.mean(axis=0)).T @ (labels - labels.mean()))

    beside, keeping = leace_beside(X, z, others), leace_beside(X, z, others, preserve=(K, k))
    assert np.abs(covariance(X, z)).max() > 100  # the control
    for erasure in (beside, keeping):
        assert covariance(erasure.apply(X), z) == pytest.approx(np.zeros(8), abs=1e-8)
    assert covariance(keeping.apply(K), k) == pytest.approx(covariance(K, k), abs=1e-8)
    assert np.abs(covariance(beside.apply(K), k) - covariance(K, k)).max() > 1
    moved = [np.square(each.apply(others) - others).sum() for each in (beside, leace(X, z))]
    assert moved[0] < moved[1] / 2
    classes = np.arange(300) % 3
    X = X + 2.0 * np.eye(8)[classes]
    several = leace_beside(X, np.array(["a", "b", "c"])[classes], others)
    means = [several.apply(X)[classes == each].mean(axis=0) for each in range(3)]
    assert np.ptp([X[classes == each].mean(axis=0) for each in range(3)], axis=0).max() > 1.5  # the control
    np.testing.assert_allclose(means, np.tile(means[0], (3, 1)), atol=1e-8)


def test_leace_of_named_classes_is_that_of_their_columns_and_of_any_scale() -> None:
    random = np.random.default_rng(2)
    X, kinds = random.normal(size=(90, 5)), np.arange(90) % 3
    X[:, :3] += 2 * np.eye(3)[kinds]
    named = leace(X, np.array(["red", "green", "blue"])[kinds])
    assert named.rank == 2
    assert named.apply(X) == pytest.approx(leace(X, np.eye(3)[kinds]).apply(X), abs=1e-9)
    scores = X[:, 0] + random.normal(size=90)
    assert leace(X, scores * 1e-6).apply(X) == pytest.approx(leace(X, scores).apply(X), abs=1e-9)
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
    erased = found.apply(torch.from_numpy(X))
    assert isinstance(erased, torch.Tensor)
    assert erased.numpy() == pytest.approx(leace(X, aligned.y).apply(X), abs=1e-12)


def test_about_an_origin_it_stays_and_every_row_gets_its_coordinates() -> None:
    aligned = LEXICON.align(SPACE)
    rotation = LinearRotation("ridge", n_components=3).fit(aligned.X.astype(np.float64), aligned.y)
    X = SPACE.vectors.astype(np.float64)
    origin = X.mean(axis=0) + 1.0
    erasure = Erasure.of(rotation, 2, origin=origin)
    axes, erased = rotation.components_[:2], erasure.apply(X)
    assert np.abs(origin @ axes.T).max() > 0.1  # control: elsewhere than about zero
    assert erasure.apply(origin[None, :]) == pytest.approx(origin[None, :], abs=1e-12)
    assert erased @ axes.T == pytest.approx(np.tile(origin @ axes.T, (len(X), 1)), abs=1e-12)
    across = np.eye(SPACE.width) - axes.T @ axes
    assert erased @ across == pytest.approx(X @ across, abs=1e-12)
    assert erasure.apply(erased) == pytest.approx(erased, abs=1e-12)
    assert Erasure.of(rotation, 2).apply(X) == pytest.approx(rotation.erase(X, 2), abs=0)
    assert Erasure.of(rotation).is_linear
    assert not erasure.is_linear
    with pytest.raises(VectorError, match="one per dimension"):
        Erasure.of(rotation, origin=[1.0])


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
    assert found.method == "double-hard"


def test_equalised_words_stay_on_their_own_side() -> None:
    erasure = fitted("hard")
    new = equalized(SPACE, erasure, PAIRS)
    for first, second in PAIRS:
        before = erasure.span @ (SPACE[first] - SPACE[second])
        assert erasure.span @ (new[first] - new[second]) @ before > 0


def test_leace_takes_two_rows_and_passes_over_labels_that_do_not_vary() -> None:
    X = np.random.default_rng(5).normal(size=(40, 4))
    X[:, 0] += 2 * (y := np.tile([1.0, -1.0], 20))
    constant = leace(X, np.column_stack([y, np.ones(40)]))
    assert constant.apply(X) == pytest.approx(leace(X, y).apply(X), abs=1e-9)
    two = leace(X[:2], y[:2]).apply(X[:2])
    assert two[0] == pytest.approx(two[1], abs=1e-6)


def test_leace_never_adds_variance() -> None:
    """Σ - Σ^½ U Uᵀ Σ^½: what is taken away is never negative."""
    random = np.random.default_rng(6)
    X = random.normal(size=(200, 6)) @ random.normal(size=(6, 6))
    y = np.sign(X[:, 0] + X[:, 1])
    erased = leace(X, y, shrinkage=False).apply(X)
    lost = np.cov(X.T) - np.cov(erased.T)
    assert np.linalg.eigvalsh(lost).min() > -1e-9
    assert np.linalg.matrix_rank(lost, tol=1e-9) == 1


@pytest.mark.parametrize("name", REMOVERS)
def test_a_name_carries_the_number_of_axes_and_nothing_else(name: str) -> None:
    remover, n_axes = parse_remover(name)
    assert (remover.name, n_axes) == (name, None)
    assert parse_remover(f"{name}:3") == (remover, 3)
    assert (remover.full_name(3), remover.full_name(None)) == (f"{name}:3", name)
    assert remover.full_name(1) == (f"{name}:1" if remover.choose else name)  # without a number, it chooses one
    for wrong in (f"{name}:0", f"{name}:-1", f"{name}:", f"{name}:1.5"):
        with pytest.raises(DensRayError, match="is not a number of axes"):
            parse_remover(wrong)


def test_pairs_with_the_first_word_of_the_space_count_and_those_with_an_absent_word_do_not() -> None:
    lists = ([("w0", "w1"), ("w2", "w3")], [("w0", "w1"), ("absent", "w9"), ("w5", "absent"), ("w2", "w3")])
    found = [fitted("hard", pairs=pairs) for pairs in lists]
    np.testing.assert_allclose(found[0].right, found[1].right)
    differences = [SPACE[first] - SPACE[second] for first, second in lists[0]]
    first = np.linalg.svd(np.array(differences, dtype=np.float64))[2][0]
    np.testing.assert_allclose(np.abs(found[0].right @ first), 1.0, atol=1e-5)
    assert fitted("hard:2", pairs=lists[0]).rank == 2
    turned = fitted("hard", pairs=[(second, first) for first, second in lists[0]])
    np.testing.assert_allclose(turned.right, -found[0].right, atol=1e-6)


def test_one_labelled_word_is_refused_before_the_method_is_asked() -> None:
    with pytest.raises(LabelError, match="at least 2 are needed"):
        fitted("random", Lexicon({"w0": 1, "absent": -1}))


def test_random_axes_are_orthonormal_the_same_every_time_and_no_more_than_dimensions() -> None:
    every = fitted("random:12")
    np.testing.assert_allclose(every.right @ every.right.T, np.eye(12), atol=1e-12)
    np.testing.assert_allclose(fitted("random:12").right, every.right)
    with pytest.raises(TaskError, match="13 random axes were asked for; the space has 12 dimensions"):
        fitted("random:13")


def test_methods_of_one_axis_refuse_more_and_double_hard_needs_pairs() -> None:
    for name, said in (("double-hard:2", "2 were asked for"), ("leace:2", "2 were asked for")):
        with pytest.raises(TaskError, match=said):
            fitted(name)
    with pytest.raises(TaskError, match="was given no pairs"):
        double_hard(SPACE.vectors, [])


def test_double_hard_tries_as_many_components_as_asked_for_the_largest_first() -> None:
    rows = [(row, row + 1) for row in range(0, 40, 2)]
    X = SPACE.vectors.astype(np.float64)
    components = np.linalg.svd(X - X.mean(axis=0))[2]
    first = double_hard(SPACE.vectors, rows, n_candidates=1)
    assert abs(first.right[0] @ components[0]) == pytest.approx(1.0, abs=1e-5)
    narrow = np.ascontiguousarray(SPACE.vectors[:, :3])
    # of three dimensions two can be tried: what is left must still have a direction of the pairs
    found = [double_hard(narrow, rows, n_candidates=count).right for count in (2, 3)]
    np.testing.assert_allclose(*found)
    found = [double_hard(narrow, rows, n_words=count).right for count in (30, 31)]  # of either side there are thirty
    np.testing.assert_allclose(*found)


def test_double_hard_measures_bias_by_cosine_and_passes_over_vectors_of_zeros() -> None:
    vectors = SPACE.vectors * np.random.default_rng(0).uniform(0.2, 5.0, size=(60, 1)).astype(np.float32)
    vectors[50] = 0.0
    found = double_hard(vectors, [(0, 1), (2, 3), (4, 5)], n_words=4)
    assert np.isfinite(found.right).all()
    mean = vectors.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(found.shift, mean - found.right.T @ (found.right @ mean), atol=1e-6)


def test_of_components_that_hide_the_concept_alike_double_hard_takes_the_largest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("densray.removers.cluster_accuracy", lambda *_, **__: 0.5)
    X = SPACE.vectors.astype(np.float64)
    found = double_hard(SPACE.vectors, [(row, row + 1) for row in range(0, 40, 2)])
    assert abs(found.right[0] @ np.linalg.svd(X - X.mean(axis=0))[2][0]) == pytest.approx(1.0, abs=1e-5)


def test_of_words_biased_alike_the_first_of_the_space_are_taken_for_the_low_side() -> None:
    vectors = np.zeros((60, 2), dtype=np.float32)
    vectors[:, 1] = np.arange(1, 61)  # at right angles to the direction
    biased, sides = _most_biased(vectors, np.array([1.0, 0.0]), 5)
    assert biased[:, 1].tolist() == [1, 2, 3, 4, 5, 56, 57, 58, 59, 60]
    assert sides.tolist() == [False] * 5 + [True] * 5
    assert len(_most_biased(vectors, np.array([1.0, 0.0]), 500)[0]) == 60  # thirty of either side, and no more
    vectors[30], vectors[31] = (0.1, 0.1), (50.0, -80.0)
    biased, _ = _most_biased(vectors, np.array([1.0, 0.0]), 2)
    assert biased[2:].tolist() == [[50.0, -80.0], pytest.approx([0.1, 0.1])]  # by cosine, not by length
