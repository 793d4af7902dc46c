"""The protocol of lexicon induction: every choice declared, and what it makes of a space and a lexicon."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import check_seed
from densray.alignment import Alignment, draw_test_words, spelling_key
from densray.errors import LexiconError, TaskError, name_some
from densray.lexicon import Groups, Lexicon
from densray.metrics import kendall_tau, percentile_interval, resampled_tau
from densray.report import joined_reasons
from densray.rotations import METHODS, Rotation, make_rotation
from densray.space import WordSpace

Vector = NDArray[np.float64]

#: Why a training word that is in the space was left out.
BEYOND_LIMIT = "beyond the training limit"
#: The columns of the paper's table 1.
PAPER_METHODS = ("densifier", "densray-unit", "svr", "svm")


@dataclass(frozen=True)
class Protocol:
    """How a lexicon is induced and measured; all but the weights as in Dufter & Schütze 2019, section 3.

    `Protocol.paper` has the weights of the paper too.

    Words with conflicting entries and neutral words are left out when a `Lexicon` is made; its ``dropped`` lists them.

    Attributes
    ----------
    test_size : float, default=0.25
        Share of the words held out where one lexicon serves as training and test.
    random_state : int, default=0
        Draws that split, and the resamples of the interval.
    normalize : bool, default=True
        Whether vectors are scaled to unit length.
    any_case : bool, default=False
        Whether a lexicon word that is not in the space takes the first that equals it in lower case.
    training_limit : int or None, default=80_000
        Training words come from the first words of the space only; the test may use all of it. None: from all.
    disjoint : bool, default=True
        Whether test words are taken out of the training lexicon.
    pair_weights : (float, float) or str, default="balanced"
        Weights of unlike and like pairs, for the methods that have them and do not name their own (densray-paper
        does).
    scale : {None, "columns"}
        Whether axes are found in columns divided by their standard deviations.
    densifier_solver : {"exact", "sgd"}, default="exact"
        "sgd" is the published one.
    split_at_median : tuple of str
        Methods that see scores as two classes, parted at the median of the training words. Methods of two classes
        always do; all others see the scores.
    least_coverage : float, default=0.1
        A smaller share of lexicon words in the space than this is warned of, with the words.
    level : float, default=0.95
        Level of the bootstrap interval of τ.
    n_resamples : int, default=1000
        Resamples of the test words for that interval.

    Examples
    --------
    >>> Protocol(test_size=0.5).pair_weights, Protocol.paper().pair_weights
    ('balanced', (0.5, 0.5))
    """

    test_size: float = 0.25
    random_state: int = 0
    normalize: bool = True
    any_case: bool = False
    training_limit: int | None = 80_000
    disjoint: bool = True
    pair_weights: str | tuple[float, float] = "balanced"
    densifier_solver: str = "exact"
    split_at_median: tuple[str, ...] = ("densray", "densray-unit", "densray-paper", "densifier")
    least_coverage: float = 0.1
    level: float = 0.95
    n_resamples: int = 1000
    scale: str | None = None

    def __post_init__(self) -> None:
        check_seed(self.random_state)

    @classmethod
    def paper(cls, **choices: Any) -> Protocol:
        """Return the protocol behind the published tables: pairs weigh 0.5, like or unlike, however many there are."""
        return cls(**{"pair_weights": (0.5, 0.5), **choices})

    def to_dict(self) -> dict[str, Any]:
        """Return the choices as reports name them: `seed` is `random_state`, `match_case` the reverse of `any_case`."""
        plain = asdict(self)
        plain["seed"], plain["match_case"] = plain.pop("random_state"), not plain.pop("any_case")
        return plain

    def rotation(self, method: str) -> Rotation:
        """Return an unfitted rotation of one axis, with those choices of the protocol that the method knows."""
        rotation = make_rotation(method)
        chosen = {"weights": self.pair_weights, "solver": self.densifier_solver, "random_state": self.random_state,
                  "scale": self.scale}  # fmt: skip
        known = rotation.get_params(deep=False)
        if known.get("weights") != "balanced":
            del chosen["weights"]
        rotation.set_params(**{name: value for name, value in chosen.items() if name in known})
        return rotation

    def labels(self, method: str, seeds: Alignment) -> Vector:
        """Return the labels a method sees: scores, or the two sides of their median."""
        return seeds.sides if self.splits(method) else seeds.y

    def splits(self, method: str) -> bool:
        """Return whether a method sees scores as two classes."""
        return method in self.split_at_median or METHODS[method].classes_only


@dataclass(frozen=True, kw_only=True)
class HeldOutTau:
    """How well the axis of one method orders words that it has not seen.

    Attributes
    ----------
    method : str
    tau : float
        Kendall's τ-b between the coordinate on the axis and the gold label: the main score.
    tau_low, tau_high : float
        Its bootstrap interval over words.
    seconds : float
        Time of the fit.
    resamples : array
        τ of every bootstrap resample of the words, the same for all methods: what differences are paired by.
    """

    method: str
    tau: float
    tau_low: float
    tau_high: float
    seconds: float
    resamples: Vector = field(repr=False, compare=False, metadata={"report": False})

    def ahead_of(self, other: HeldOutTau, *, level: float = 0.95) -> tuple[float, float, float]:
        """Return by how much τ is above another method's, and the ends of the paired interval."""
        return self.tau - other.tau, *percentile_interval(self.resamples - other.resamples, level)


def measure_tau(
    gold: Vector,
    scores: Vector,
    *,
    n_resamples: int,
    random_state: int,
    level: float = 0.95,
    groups: NDArray[np.int64] | None = None,
) -> dict[str, Any]:
    """Return τ of scores with gold labels, its interval and its resamples: those fields of :class:`HeldOutTau`.

    Words of one group are resampled together.
    """
    resamples = resampled_tau(gold, scores, n_resamples=n_resamples, random_state=random_state, groups=groups)
    low, high = percentile_interval(resamples, level)
    return {"tau": kendall_tau(gold, scores), "tau_low": low, "tau_high": high, "resamples": resamples}


@dataclass(frozen=True)
class TrainTest:
    """Training and test words of a space, ready for any method.

    Attributes
    ----------
    training, test : Alignment
    overlap : tuple of str
        Test words that were in the training lexicon too.
    coverage : float
        Share of the words of both lexicons that are in the space.
    beyond : tuple of str
        Training words that are in the space, but not among its first `Protocol.training_limit` words: left out.
    """

    training: Alignment
    test: Alignment
    overlap: tuple[str, ...]
    coverage: float
    beyond: tuple[str, ...] = ()

    @property
    def n_groups(self) -> int | None:
        """Groups whose words stay together; None where every word stands alone."""
        return None if self.training.groups is None else len(self.training.members) + len(self.test.members)

    def set_aside(self, lexicons: Sequence[Lexicon]) -> dict[str, tuple[str, ...]]:
        """Return the words that the lexicons and the protocol left out, by reason."""
        beyond = {BEYOND_LIMIT: self.beyond} if self.beyond else {}
        return joined_reasons([*(each.dropped.by_reason() for each in lexicons), beyond])

    @classmethod
    def of(
        cls,
        space: WordSpace,
        lexicon: Lexicon,
        test: Lexicon | None = None,
        *,
        protocol: Protocol | None = None,
        groups: Groups = None,
    ) -> TrainTest:
        """Return what the protocol makes of a lexicon (split by its seed) or of a training and a test lexicon."""
        protocol = protocol or Protocol()
        if test is None:
            return cls._split(space, lexicon, protocol, groups)
        lexicon = lexicon if groups is None or isinstance(groups, str) else lexicon.grouped(groups)
        lexicon, overlap = _without_test_words(lexicon, test, protocol)
        found = _find(space, lexicon, protocol, role="training", groups=groups if isinstance(groups, str) else None)
        training, beyond = _within_limit(found, np.zeros(found.n_words, dtype=bool), lexicon.name, protocol, space)
        _check_labels(training, lexicon.name, "training")
        return cls._checked(training, _find(space, test, protocol, role="test"), overlap, beyond, protocol, space)

    @classmethod
    def _split(cls, space: WordSpace, lexicon: Lexicon, protocol: Protocol, groups: Groups) -> TrainTest:
        # the words that are in the space are split, so that the share held out is the share asked for
        found = lexicon.align(space, any_case=protocol.any_case, order="lexicon", groups=groups)
        _check_labels(found, lexicon.name, "usable")
        if found.n_words < 4:
            raise TaskError(
                f"{found.n_words} words of '{lexicon.name}' are in '{space.name}' ({name_some(found.words)}; first "
                f"missing: {name_some(found.missing) or 'none'}); splitting them into training and test takes at least "
                "4. Add words, or give a test lexicon."
            )
        in_test = draw_test_words(found.words, found.y, protocol.test_size, protocol.random_state, found.groups)
        found = found.unit() if protocol.normalize else found
        training, beyond = _within_limit(found, in_test, lexicon.name, protocol, space)
        test = replace(found.take(np.flatnonzero(in_test)), missing=())
        _check_labels(training, lexicon.name, "training")
        _check_labels(test, lexicon.name, "test")
        return cls._checked(training, test, (), beyond, protocol, space)

    @classmethod
    def _checked(
        cls,
        training: Alignment,
        test: Alignment,
        overlap: tuple[str, ...],
        beyond: tuple[str, ...],
        protocol: Protocol,
        space: WordSpace,
    ) -> TrainTest:
        found = training.n_words + test.n_words + len(beyond)
        missing = (*training.missing, *test.missing)
        coverage = found / (found + len(missing))
        if coverage < protocol.least_coverage:
            warnings.warn(
                f"{found} of {found + len(missing)} lexicon words are in '{space.name}' (first missing: "
                f"{name_some(missing)}; the space begins {name_some(space.words[:3])}). Is the lexicon of another "
                "case, script or language? any_case=True takes words in another case.",
                UserWarning,
                stacklevel=5,
            )
        return cls(training, test, overlap, coverage, beyond)


def fit_method(method: str, data: TrainTest, protocol: Protocol) -> tuple[Vector, Vector, float]:
    """Return the scores of the training and of the test words on the axis of a method, and the seconds it took."""
    labels = protocol.labels(method, data.training)
    start = time.perf_counter()
    axis = protocol.rotation(method).fit(data.training.X, labels, groups=data.training.groups).components_[0]
    seconds = time.perf_counter() - start
    return data.training.X @ axis, data.test.X @ axis, seconds


def _within_limit(
    found: Alignment, in_test: NDArray[np.bool_], name: str, protocol: Protocol, space: WordSpace
) -> tuple[Alignment, tuple[str, ...]]:
    """Return the training words among the first words of the space, and those that are further on."""
    near = found.rows < (len(space) if protocol.training_limit is None else protocol.training_limit)
    beyond = tuple(found.words[place] for place in np.flatnonzero(~in_test & ~near).tolist())
    if not (~in_test & near).any():
        raise LexiconError(
            f"0 of {len(beyond)} training words of '{name}' are among the first {protocol.training_limit:,} words of "
            f"'{space.name}' (further on: {name_some(beyond)}). Raise training_limit."
        )
    return found.take(np.flatnonzero(~in_test & near)), beyond


def _find(space: WordSpace, lexicon: Lexicon, protocol: Protocol, *, role: str, groups: Groups = None) -> Alignment:
    found = lexicon.align(space, any_case=protocol.any_case, order="lexicon", groups=groups)
    _check_labels(found, lexicon.name, role)
    return found.unit() if protocol.normalize else found


def _check_labels(found: Alignment, name: str, role: str) -> None:
    if np.ptp(found.y) == 0.0:
        lost = f" (first missing: {name_some(found.missing)})" if found.missing else ""
        raise TaskError(
            f"the {found.n_words} {role} words of '{name}' all have the label {found.y[0]:g} "
            f"({name_some(found.words)}){lost}; words of another label, or other scores, are needed."
        )


def _without_test_words(lexicon: Lexicon, test: Lexicon, protocol: Protocol) -> tuple[Lexicon, tuple[str, ...]]:
    barred = {spelling_key(word, any_case=protocol.any_case) for word in test}
    overlap = tuple(word for word in lexicon if spelling_key(word, any_case=protocol.any_case) in barred)
    if not overlap:
        return lexicon, overlap
    named = f"{len(overlap)} of {len(test)} test words are in the training lexicon ({name_some(overlap)})"
    if not protocol.disjoint:
        warnings.warn(f"{named} and stay there: the scores flatter the method.", UserWarning, stacklevel=5)
        return lexicon, overlap
    try:
        rest = lexicon.without(overlap)
    except LexiconError:
        raise TaskError(f"{named}; without them no training word is left. Give another test lexicon.") from None
    warnings.warn(f"{named}; they are taken out of it.", UserWarning, stacklevel=5)
    return rest, overlap
