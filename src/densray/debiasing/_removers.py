"""Removers: from labelled words to an erasure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._leace import leace
from densray._threads import ignored_warnings, single_threaded_blas
from densray.alignment import Alignment
from densray.debiasing._recovery import cluster_accuracy
from densray.erasure import Erasure
from densray.errors import DensRayError, SignalWarning, TaskError, suggest
from densray.lexicon import Lexicon
from densray.rotations import METHODS, LinearRotation, PairDirection, make_rotation
from densray.space import WordSpace

Matrix = NDArray[np.float64]


def double_hard(
    vectors: NDArray[np.float32],
    pair_rows: Sequence[tuple[int, int]],
    *,
    n_candidates: int = 20,
    n_words: int = 500,
    random_state: int | None = 0,
) -> Erasure:
    """Return the erasure of the mean, of one principal component, and of the direction of the pairs.

    The component is chosen among the first `n_candidates`: the one without which the most biased words, after hard
    debiasing, cluster least by their bias.

    Parameters
    ----------
    vectors : array of shape (n, d)
        All vectors of the space.
    pair_rows : sequence of pairs of int
        The rows of the pairs that define the concept, higher label first.
    n_candidates : int, default=20
        Principal components tried.
    n_words : int, default=500
        Most biased words of either side that are clustered.
    random_state : int or None, default=0
        For the clustering.

    References
    ----------
    .. [1] T. Wang, X. V. Lin, N. F. Rajani, B. McCann, V. Ordonez and C. Xiong. Double-Hard Debias: Tailoring Word
       Embeddings for Gender Bias Mitigation. ACL 2020.
    """
    if not pair_rows:
        raise TaskError("double-hard debiasing was given no pairs; it needs pairs such as ('he', 'she').")
    mean = vectors.mean(axis=0, dtype=np.float64)
    firsts, seconds = (vectors[[pair[side] for pair in pair_rows]].astype(np.float64) for side in (0, 1))
    biased, labels = _most_biased(vectors, firsts.mean(axis=0) - seconds.mean(axis=0), n_words)
    components = _principal_components(vectors, mean, min(n_candidates, vectors.shape[1] - 1))
    best, lowest = None, np.inf
    for component in components:
        axes = np.vstack([component, _pair_axis(firsts, seconds, component)])
        found = cluster_accuracy(biased - (biased @ axes.T) @ axes, labels, random_state=random_state)
        if found < lowest:
            best, lowest = axes, found
    assert best is not None  # at least one component is tried
    return Erasure.along(best, name="double-hard", shift=mean - (best @ mean) @ best)


def _most_biased(vectors: NDArray[np.float32], direction: Matrix, count: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the vectors furthest along a direction, of either side, and which side they are on."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(np.float32).tiny)
    order = np.argsort((vectors @ direction) / lengths, kind="stable")
    count = min(count, len(order) // 2)
    rows = np.concatenate([order[:count], order[-count:]])
    return vectors[rows].astype(np.float64), np.repeat([False, True], count)


def _principal_components(vectors: NDArray[np.float32], mean: Matrix, count: int) -> Matrix:
    scatter = vectors.T.astype(np.float64) @ vectors - len(vectors) * np.outer(mean, mean)
    _, columns = np.linalg.eigh(scatter)
    return np.ascontiguousarray(columns[:, ::-1][:, :count].T)


def _pair_axis(firsts: Matrix, seconds: Matrix, component: Matrix) -> Matrix:
    """Return the direction of the pairs once a component is gone."""
    sides = [side - np.outer(side @ component, component) for side in (firsts, seconds)]
    labels, groups = np.repeat([1.0, -1.0], len(firsts)), np.tile(np.arange(len(firsts)), 2)
    return np.asarray(PairDirection().fit(np.vstack(sides), labels, groups=groups).components_[0])


def inlp(X: NDArray[np.floating], y: NDArray[np.floating], n_axes: int = 10) -> Erasure:
    """Return the erasure of repeated SVM axes, as many as tell unseen words apart (at most `n_axes`).

    Each axis is found in the complement of those before. It stops where a support vector machine is at chance there:
    where its accuracy on words it has not seen (five folds; from 1,000 words on, one held-out fifth) is not above
    the share of the larger class by a one-sided binomial test at 5%. Axes beyond that are rounding noise. One axis
    is always removed.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Two classes.
    n_axes : int, default=10
        At most so many axes; fewer are a :class:`densray.errors.SignalWarning`.

    References
    ----------
    .. [1] S. Ravfogel, Y. Elazar, H. Gonen, M. Twiton and Y. Goldberg. Null It Out: Guarding Protected Attributes by
       Iterative Nullspace Projection. ACL 2020.
    """
    with ignored_warnings(SignalWarning):  # said below
        rotation, found = _axes_above_chance(X, y, n_axes)
    if found < n_axes:
        warnings.warn(
            f"inlp stopped after {found} of {n_axes} axes: in what is left a linear classifier tells unseen words "
            f"apart no better than chance. Ask for {found}, or give more words.",
            SignalWarning,
            stacklevel=2,
        )
    return Erasure.of(rotation, found, name="inlp")


def _axes_above_chance(X: NDArray[np.floating], y: NDArray[np.floating], n_axes: int) -> tuple[LinearRotation, int]:
    """Return SVM axes up to the first after which rows cannot be told apart, and how many they are."""
    tried = 0
    while True:
        rotation = LinearRotation("svm", n_components=min(max(2 * tried, 2), n_axes)).fit(X, y)
        for count in range(max(tried, 1), len(rotation.components_)):
            if not _is_above_chance(Erasure.of(rotation, count).erase(X), y):
                rotation.n_components = count
                rotation.components_ = rotation.components_[:count]
                return rotation, count
        tried = len(rotation.components_)
        if tried == n_axes:
            return rotation, n_axes


def _is_above_chance(X: NDArray[np.floating], y: NDArray[np.floating]) -> bool:
    """Return whether a linear classifier tells unseen rows apart better than naming the larger class would."""
    from scipy.stats import binomtest
    from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
    from sklearn.svm import SVC

    sides = y > y.min()
    smaller = int(min(sides.sum(), (~sides).sum()))
    if smaller < 2:
        return False
    splits: Any = (
        StratifiedKFold(min(_FOLDS, smaller), shuffle=True, random_state=0)
        if len(y) < _MANY_WORDS
        else StratifiedShuffleSplit(1, test_size=1 / _FOLDS, random_state=0)
    )
    hits = tested = larger = 0
    with single_threaded_blas():
        for train, test in splits.split(X, sides):
            model = SVC(kernel="linear", C=1.0).fit(X[train], sides[train])
            hits += int(np.sum(model.predict(X[test]) == sides[test]))
            tested += len(test)
            larger += max(int(sides[test].sum()), int((~sides[test]).sum()))
    return bool(binomtest(hits, tested, larger / tested, alternative="greater").pvalue < _CHANCE)


_FOLDS = 5
_MANY_WORDS = 1000  # from here on one held-out fifth is enough
_CHANCE = 0.05

PairRows = Sequence[tuple[int, int]]
Find = Callable[[Alignment, WordSpace, PairRows, int], Erasure]
"""From labelled words, their space, pairs as rows and a number of axes to an erasure."""


@dataclass(frozen=True)
class Remover:
    """A named way to remove a concept.

    Attributes
    ----------
    name : str
    summary : str
    find : callable
        From labelled words, their space, pairs as rows of it, and a number of axes to an erasure.
    n_axes : int, default=1
        How many axes are removed; `inlp` stops earlier where nothing is left to find.
    equalizes : bool, default=False
        Whether the method, as published, leaves the words of the concept as they are and equalises pairs.
    needs_pairs : bool, default=False
        Whether it learns from pairs of words, not from labelled words.
    needs_space : bool, default=False
        Whether it looks at all vectors of the space, not at those of these words alone.

    Examples
    --------
    >>> from densray import Lexicon, WordSpace
    >>> space = WordSpace(["he", "she", "him", "her", "tea"], [[1, 0], [-1, 0], [1, 1], [-1, 1], [1, 5]])
    >>> erasure = make_remover("mean-difference").fit(space, Lexicon({"he": 1, "she": -1, "him": 1, "her": -1}))
    >>> erasure.erase(space.vectors)[-1]
    array([0., 5.], dtype=float32)
    """

    name: str
    summary: str
    find: Find
    n_axes: int = 1
    equalizes: bool = False
    needs_pairs: bool = False
    needs_space: bool = False

    @property
    def label(self) -> str:
        """The name, with the number of axes where it is not one."""
        return self.name if self.n_axes == 1 else f"{self.name}:{self.n_axes}"

    def fit(self, space: WordSpace, lexicon: Lexicon, *, pairs: Iterable[tuple[str, str]] = ()) -> Erasure:
        """Return the erasure of the concept that a lexicon labels.

        Parameters
        ----------
        space : WordSpace
        lexicon : Lexicon
        pairs : iterable of pairs of str, optional
            Words that differ in the concept alone, higher label first; hard and double-hard debiasing learn from
            them. Pairs not wholly in the space are left out.
        """
        aligned = lexicon.align(space, minimum=2, order="lexicon")
        rows = [tuple(space.locate(pair).tolist()) for pair in pairs]
        found = [(first, second) for first, second in rows if first >= 0 and second >= 0]
        return replace(self.find(aligned, space, found, self.n_axes), name=self.label)


def _rotation(method: str) -> Find:
    def find(words: Alignment, space: WordSpace, pairs: PairRows, n_axes: int) -> Erasure:
        return Erasure.of(make_rotation(method, n_axes).fit(words.X, words.y), n_axes)

    return find


def _inlp(words: Alignment, space: WordSpace, pairs: PairRows, n_axes: int) -> Erasure:
    return inlp(words.X, words.y, n_axes)


def _random(words: Alignment, space: WordSpace, pairs: PairRows, n_axes: int) -> Erasure:
    if n_axes > space.width:
        raise TaskError(f"{n_axes} random axes were asked for; the space has {space.width} dimensions. Ask for fewer.")
    axes, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(space.width, n_axes)))
    return Erasure.along(axes.T)


def _hard(words: Alignment, space: WordSpace, pairs: PairRows, n_axes: int) -> Erasure:
    rows = np.array(_needed_pairs(pairs, "hard")).ravel()
    signs, groups = np.tile([1.0, -1.0], len(pairs)), np.repeat(np.arange(len(pairs)), 2)
    return Erasure.of(PairDirection(n_axes).fit(space.vectors[rows], signs, groups=groups), n_axes)


def _double_hard(words: Alignment, space: WordSpace, pairs: PairRows, n_axes: int) -> Erasure:
    if n_axes != 1:
        raise TaskError(
            f"double-hard debiasing removes one axis of the pairs; {n_axes} were asked for. Leave that out."
        )
    return double_hard(space.vectors, _needed_pairs(pairs, "double-hard"))


def _leace(words: Alignment, space: WordSpace, pairs: PairRows, n_axes: int) -> Erasure:
    if n_axes != 1:
        raise TaskError(f"LEACE removes one direction per signal; {n_axes} were asked for. Leave that out.")
    return leace(words.X.astype(np.float64), words.y)


def _needed_pairs(pairs: PairRows, name: str) -> PairRows:
    if not pairs:
        raise TaskError(
            f"'{name}' debiasing learns from pairs, and none is wholly in the space. Give pairs such as ('he', 'she')."
        )
    return pairs


_ALL = (
    *(Remover(name, f"erase the axes of: {method.summary}", _rotation(name)) for name, method in METHODS.items()),
    Remover("inlp", "iterative null-space projection: repeated SVM axes (Ravfogel et al. 2020)", _inlp, n_axes=10),
    Remover(
        "hard",
        "neutralise and equalise along the direction of pairs (Bolukbasi et al. 2016)",
        _hard,
        equalizes=True,
        needs_pairs=True,
    ),
    Remover(
        "double-hard",
        "a frequency direction first, then hard debiasing (Wang et al. 2020)",
        _double_hard,
        equalizes=True,
        needs_pairs=True,
        needs_space=True,
    ),
    Remover("leace", "least-squares concept erasure (Belrose et al. 2023)", _leace),
    Remover("random", "random directions: the control, which should remove nothing", _random),
)

#: Methods whose first axis predicts the labels best, which is not the one to erase.
PREDICTIVE = frozenset({"auto", "ridge", "svm", "svr", "logistic", "linear", "lda", "cca"})

#: Every remover by its name.
REMOVERS: dict[str, Remover] = {remover.name: remover for remover in _ALL}


def make_remover(name: str) -> Remover:
    """Return a remover by its name, with the number of axes after a colon.

    >>> make_remover("inlp:30").n_axes
    30
    """
    base, colon, count = name.partition(":")
    if base not in REMOVERS:
        raise DensRayError(f"remover '{base}' is unknown. {suggest(base, REMOVERS)}")
    if not colon:
        return REMOVERS[base]
    if not count.isdigit() or int(count) < 1:
        raise DensRayError(f"remover '{name}': '{count}' is not a number of axes. Write {base}:5, for instance.")
    return replace(REMOVERS[base], n_axes=int(count))
