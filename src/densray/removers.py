"""Removers: compute the affine map that removes a concept from labelled rows. One table, one line per remover."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._arrays import to_host
from densray._covariance import CurvePoint, DirectionChoice, choose_directions, covariance_difference
from densray._leace import leace
from densray._threads import ignored_warnings, single_threaded_blas
from densray.affine import AffineMap
from densray.errors import DensRayError, LabelError, SignalWarning, TaskError, name_some, suggest
from densray.probes import cluster_accuracy
from densray.rotations import METHODS, LinearRotation, PairDirection, make_rotation
from densray.rows import Rows

__all__ = [
    "DEFAULT_REMOVER",
    "PREDICTIVE",
    "REMOVERS",
    "CurvePoint",
    "DirectionChoice",
    "Remover",
    "Request",
    "choose_directions",
    "covariance_difference",
    "double_hard",
    "inlp",
    "leace",
    "parse_remover",
]

Matrix = NDArray[np.float64]

#: The default: the smallest change that hides the labels from every linear model, for any number of classes.
DEFAULT_REMOVER = "leace"


def double_hard(
    vectors: NDArray[np.float32],
    pair_rows: Sequence[tuple[int, int]],
    *,
    n_candidates: int = 20,
    n_words: int = 500,
    random_state: int | None = 0,
) -> AffineMap:
    """Return the map that removes the mean, one principal component and the direction of the pairs.

    It removes each of the first `n_candidates` components in turn, and keeps the removal after which the most biased
    words cluster least by their bias (after hard debiasing).

    Parameters
    ----------
    vectors : array of shape (n, d)
        All vectors of the space.
    pair_rows : sequence of pairs of int
        The rows of the pairs that define the concept, higher label first.
    n_candidates : int, default=20
        Number of principal components to try.
    n_words : int, default=500
        Number of most biased words per side to cluster.
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
        accuracy = cluster_accuracy(biased - (biased @ axes.T) @ axes, labels, random_state=random_state)
        if accuracy < lowest:
            best, lowest = axes, accuracy
    assert best is not None  # at least one component is tried
    return AffineMap.along(best, method="double-hard", shift=mean - (best @ mean) @ best)


def _most_biased(vectors: NDArray[np.float32], direction: Matrix, count: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the vectors furthest along a direction on either side, and their sides."""
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
    """Return the direction of the pairs after a component is removed."""
    sides = [side - np.outer(side @ component, component) for side in (firsts, seconds)]
    labels, groups = np.repeat([1.0, -1.0], len(firsts)), np.tile(np.arange(len(firsts)), 2)
    return np.asarray(PairDirection().fit(np.vstack(sides), labels, groups=groups).components_[0])


def inlp(X: NDArray[np.floating], y: NDArray[np.floating], n_axes: int = 10) -> AffineMap:
    """Return the map that removes repeated SVM axes, as long as they separate unseen rows (at most `n_axes`).

    Each axis is found in the complement of the earlier ones. The search stops when a support vector machine is at
    chance there: its accuracy on unseen rows (five folds; from 1,000 rows on, one held-out fifth) is not above the
    share of the larger class by a one-sided binomial test at 5%. One axis is always removed.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Two classes.
    n_axes : int, default=10
        Largest number of axes; if fewer are found, a :class:`densray.errors.SignalWarning` is issued.

    References
    ----------
    .. [1] S. Ravfogel, Y. Elazar, H. Gonen, M. Twiton and Y. Goldberg. Null It Out: Guarding Protected Attributes by
       Iterative Nullspace Projection. ACL 2020.
    """
    with ignored_warnings(SignalWarning):  # issued below
        rotation, n_found = _axes_above_chance(X, y, n_axes)
    if n_found < n_axes:
        warnings.warn(
            f"inlp stopped after {n_found} of {n_axes} axes: without them, a linear classifier separates unseen words "
            f"no better than chance. Ask for {n_found}, or give more words.",
            SignalWarning,
            stacklevel=2,
        )
    return AffineMap.of(rotation, n_found, method="inlp")


def _axes_above_chance(X: NDArray[np.floating], y: NDArray[np.floating], n_axes: int) -> tuple[LinearRotation, int]:
    """Return SVM axes until rows cannot be separated any more, and their number."""
    tried = 0
    while True:
        rotation = LinearRotation("svm", n_components=min(max(2 * tried, 2), n_axes)).fit(X, y)
        for count in range(max(tried, 1), len(rotation.components_)):
            if not _is_above_chance(AffineMap.of(rotation, count).apply(X), y):
                rotation.n_components = count
                rotation.components_ = rotation.components_[:count]
                return rotation, count
        tried = len(rotation.components_)
        if tried == n_axes:
            return rotation, n_axes


def _is_above_chance(X: NDArray[np.floating], y: NDArray[np.floating]) -> bool:
    """Return whether a linear classifier separates unseen rows better than always predicting the larger class."""
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


def class_means(X: NDArray[np.floating], labels: Sequence[NDArray[np.float64]], n_axes: int | None = None) -> AffineMap:
    """Return the map that removes the span of the differences between class means, for one or more sets of labels.

    k classes have k - 1 directions. After the map all class means of a set agree.

    Parameters
    ----------
    X : array of shape (n, d)
    labels : sequence of arrays of shape (n,)
        One array per set of labels; equal numbers are one class.
    n_axes : int, optional
        Default: all directions.
    """
    X = np.asarray(to_host(X))
    spread = []
    for y in labels:
        means = np.array([X[y == value].mean(axis=0, dtype=np.float64) for value in np.unique(y)])
        spread.append(means - means.mean(axis=0))
    _, sizes, directions = np.linalg.svd(np.vstack(spread), full_matrices=False)
    available = int(np.sum(sizes > sizes[0] * 1e-10)) if sizes[0] > 0 else 0
    n_removed = available if n_axes is None else n_axes
    if not available or n_removed > available:
        count = sum(len(np.unique(y)) for y in labels)
        raise TaskError(
            f"{n_removed} axes were asked for; the means of {count} classes differ in {available} directions."
        )
    return AffineMap.along(np.ascontiguousarray(directions[:n_removed]), method="mean-difference")


_FOLDS = 5
_MANY_WORDS = 1000  # from this number on, one held-out fifth is enough
_CHANCE = 0.05

PairRows = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Request:
    """A request to a remover.

    Attributes
    ----------
    rows : Rows
        Labelled vectors.
    pairs : sequence of pairs of int
        Pairs as row numbers of the background.
    n_axes : int or None
        None: the default.
    random_state : int or None
    more : tuple of Rows
        Other labels of the same vectors, to remove as well.
    keep : tuple of Rows
        Other labels of the same vectors, to keep.
    """

    rows: Rows
    pairs: PairRows = ()
    n_axes: int | None = None
    random_state: int | None = 0
    more: tuple[Rows, ...] = ()
    keep: tuple[Rows, ...] = ()


Find = Callable[[Request], AffineMap]
Choose = Callable[[Request], DirectionChoice]


@dataclass(frozen=True)
class Remover:
    """One line of the table of removers.

    Attributes
    ----------
    name, summary : str
    find : callable
        From a :class:`Request` to an affine map.
    n_axes : int or None, default=1
        Default number of axes to remove; None: `choose` determines it.
    equalizes : bool, default=False
        Whether the published method leaves the words of the concept unchanged and equalises pairs.
    needs_pairs : bool, default=False
        Whether it learns from pairs of words instead of labelled words.
    needs_background : bool, default=False
        Whether it uses all vectors of the background.
    takes_classes : bool, default=False
        Whether it accepts more than two classes.
    takes_label_sets : bool, default=False
        Whether it accepts several sets of labels at once.
    can_keep : bool, default=False
        Whether it can keep other labels linearly predictable.
    fixed_axes : bool, default=False
        Whether the labels or pairs determine the number of axes, so that the user cannot set it.
    may_stop : bool, default=False
        Whether the number of axes may exceed the number of rows: it is only an upper limit (INLP may stop earlier), or
        the directions are random.
    choose : callable, optional
        Function from a :class:`Request` to the number of axes, if this number is chosen on held-out rows.
    """

    name: str
    summary: str
    find: Find
    n_axes: int | None = 1
    equalizes: bool = False
    needs_pairs: bool = False
    needs_background: bool = False
    takes_classes: bool = False
    takes_label_sets: bool = False
    can_keep: bool = False
    fixed_axes: bool = False
    may_stop: bool = False
    choose: Choose | None = None

    def full_name(self, n_axes: int | None) -> str:
        """Return the name, with the number of axes unless it is the default or one.

        >>> REMOVERS["ridge"].full_name(5), REMOVERS["ridge"].full_name(1)
        ('ridge:5', 'ridge')
        """
        unnamed = (None,) if self.choose else (None, 1)
        return self.name if n_axes in unnamed else f"{self.name}:{n_axes}"

    def check_rows(self, rows: Rows, more: Sequence[Rows] = (), keep: Sequence[Rows] = ()) -> None:
        """Raise unless the remover accepts the labels of the rows, further sets of labels, and labels to keep."""
        if (more and not self.takes_label_sets) or (keep and not self.can_keep):
            what = "keeps no labels" if keep and not self.can_keep else "removes one set of labels"
            able = [name for name, each in REMOVERS.items() if (each.can_keep if keep else each.takes_label_sets)]
            raise TaskError(f"'{self.name}' {what}. Use {' or '.join(able)}.")
        for other in (*more, *keep):
            _check_same_vectors(rows, other)
        if len(rows) < 2:
            raise LabelError(f"{len(rows)} labelled row was found; at least 2 are needed. Add labelled rows.")
        if rows.is_multiclass and not self.takes_classes:
            able = [name for name, remover in REMOVERS.items() if remover.takes_classes]
            raise LabelError(
                f"'{self.name}' needs two classes; the rows have {len(rows.class_names)} "
                f"({name_some(rows.class_names)}). Use {' or '.join(able)}, or one class against the rest "
                "(Rows.against_rest)."
            )


def _check_same_vectors(rows: Rows, other: Rows) -> None:
    """Raise unless two Rows label the same vectors in the same order."""
    if len(rows) != len(other) or rows.width != other.width:
        raise LabelError(
            f"'{rows.concept}' has {len(rows):,} rows of width {rows.width} and '{other.concept}' {len(other):,} of "
            f"width {other.width}. Labels that are removed or kept together need the same rows. Leave out rows without "
            "one of these labels."
        )
    same = rows.X is other.X or bool(np.array_equal(to_host(rows.X), to_host(other.X)))
    if not same:
        raise LabelError(f"'{rows.concept}' and '{other.concept}' have different vectors; the same rows are needed.")


def _rotation(method: str) -> Find:
    def find(request: Request) -> AffineMap:
        rows, count = request.rows, request.n_axes or 1
        rotation = make_rotation(method, count).fit(rows.X, rows.y, groups=rows.groups)
        erasure = AffineMap.of(rotation, count)
        return replace(erasure, n_signal_axes=getattr(rotation, "n_signal_axes_", None))

    return find


def _mean_difference(request: Request) -> AffineMap:
    sets = (request.rows, *request.more)
    if len(sets) == 1 and not request.rows.is_multiclass:
        return _rotation("mean-difference")(request)
    scores = [rows.concept for rows in sets if not rows.is_multiclass and not rows.is_binary]
    if scores:
        raise LabelError(
            f"'{scores[0]}' has scores; the mean difference of several sets of labels needs classes. Use leace."
        )
    return class_means(request.rows.X, [rows.y for rows in sets], request.n_axes)


def _inlp(request: Request) -> AffineMap:
    return inlp(request.rows.X, request.rows.y, request.n_axes or 10)


def _covariance_difference(request: Request) -> AffineMap:
    n_axes = request.n_axes or _choose_directions(request).n_axes
    return covariance_difference(_classes_only(request.rows).X, request.rows.y, n_axes)


def _choose_directions(request: Request) -> DirectionChoice:
    return choose_directions(_classes_only(request.rows), random_state=request.random_state)


def _classes_only(rows: Rows) -> Rows:
    """Return the rows; raise if they have scores, which have no class covariances to compare."""
    if not rows.is_binary and not rows.is_multiclass:
        raise LabelError("'covariance-difference' needs classes; the rows have scores. Use Rows.binarized first.")
    return rows


def _random(request: Request) -> AffineMap:
    width, count = request.rows.width, request.n_axes or 1
    if count > width:
        raise TaskError(f"{count} random axes were asked for; the space has {width} dimensions. Ask for fewer.")
    axes, _ = np.linalg.qr(np.random.default_rng(request.random_state).normal(size=(width, count)))
    return AffineMap.along(axes.T)


def _hard(request: Request) -> AffineMap:
    pairs, count = _needed_pairs(request.pairs, "hard"), request.n_axes or 1
    vectors = request.rows.background.vectors[np.array(pairs).ravel()]
    signs, groups = np.tile([1.0, -1.0], len(pairs)), np.repeat(np.arange(len(pairs)), 2)
    return AffineMap.of(PairDirection(count).fit(vectors, signs, groups=groups), count)


def _double_hard(request: Request) -> AffineMap:
    if request.n_axes not in (None, 1):
        raise TaskError(
            f"double-hard debiasing removes one axis of the pairs; {request.n_axes} were asked for. Leave that out."
        )
    pairs = _needed_pairs(request.pairs, "double-hard")
    return double_hard(request.rows.background.vectors, pairs, random_state=request.random_state)


def _leace(request: Request) -> AffineMap:
    rows, n_axes = request.rows, request.n_axes
    if n_axes is not None and (n_axes != 1 or rows.is_multiclass or request.more):
        raise TaskError(f"LEACE removes one direction per signal; {n_axes} were asked for. Leave that out.")
    X = rows.X.astype(np.float64) if isinstance(rows.X, np.ndarray) else rows.X
    removed = np.hstack([each.indicators for each in (rows, *request.more)])
    return leace(X, removed, keep=np.hstack([each.indicators for each in request.keep]) if request.keep else None)


def _needed_pairs(pairs: PairRows, name: str) -> PairRows:
    if not pairs:
        raise TaskError(
            f"'{name}' debiasing learns from pairs, and none has both words in the space. Give pairs such as "
            "('he', 'she')."
        )
    return pairs


_ALL = (
    *(
        Remover(
            name,
            f"erase the axes of: {method.summary}",
            _mean_difference if name == "mean-difference" else _rotation(name),
            takes_classes=name == "mean-difference",
            takes_label_sets=name == "mean-difference",
        )
        for name, method in METHODS.items()
    ),
    Remover(
        "inlp",
        "iterative null-space projection: repeated SVM axes (Ravfogel et al. 2020)",
        _inlp,
        n_axes=10,
        may_stop=True,
    ),
    Remover(
        "covariance-difference",
        "the mean difference and the directions in which the class covariances differ most",
        _covariance_difference,
        n_axes=None,
        takes_classes=True,
        choose=_choose_directions,
    ),
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
        needs_background=True,
        fixed_axes=True,
    ),
    Remover(
        "leace",
        "least-squares concept erasure (Belrose et al. 2023)",
        _leace,
        takes_classes=True,
        takes_label_sets=True,
        can_keep=True,
        fixed_axes=True,
    ),
    Remover("random", "random directions: the control, which should remove nothing", _random, may_stop=True),
)

#: Methods whose first axis predicts the labels best; erasing it leaves most of the concept.
PREDICTIVE = frozenset({"auto", "ridge", "svm", "svr", "logistic", "linear", "lda", "cca"})

#: Every remover by its name.
REMOVERS: dict[str, Remover] = {remover.name: remover for remover in _ALL}


def parse_remover(name: str) -> tuple[Remover, int | None]:
    """Return a remover by its name, and the number of axes after a colon.

    >>> remover, n_axes = parse_remover("inlp:30")
    >>> remover.name, n_axes
    ('inlp', 30)
    """
    base, colon, count = name.partition(":")
    if base not in REMOVERS:
        raise DensRayError(f"remover '{base}' is unknown. {suggest(base, REMOVERS)}")
    if not colon:
        return REMOVERS[base], None
    if not count.isdigit() or len(count) > 9 or int(count) < 1:
        raise DensRayError(f"remover '{name}': '{count}' is not a number of axes. Write {base}:5, for instance.")
    return REMOVERS[base], int(count)
