"""The protocol of lexicon induction: all its options, and the resulting training and test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import check_seed
from densray.errors import Advice, Argument, CoverageWarning, LexiconError, TaskError, first_missing, name_some
from densray.folds import draw_test_words
from densray.lexicon import Groups, Lexicon
from densray.metrics import kendall_tau, percentile_interval, resampled_tau, tau_ceiling, tau_interval
from densray.report import joined_reasons, show_number
from densray.rotations import METHODS, Rotation, make_rotation
from densray.rows import Rows
from densray.space import WordSpace, as_space
from densray.spelling import spelling_key

Vector = NDArray[np.float64]

#: Reason why a training word in the space was left out.
BEYOND_LIMIT = "beyond the training limit"
#: The columns of the paper's table 1.
PAPER_METHODS = ("densifier", "densray-unit", "svr", "svm")


@dataclass(frozen=True)
class Protocol:
    """Options for inducing and evaluating a lexicon. All but the pair weights are as in Dufter & Schütze 2019, section
    3.

    `Protocol.paper` has the pair weights of the paper as well.

    Words with conflicting entries and neutral words are left out when a `Lexicon` is created; its ``dropped`` lists
    them.

    Attributes
    ----------
    test_size : float, default=0.25
        Share of the words to hold out if there is no test lexicon.
    random_state : int, default=0
        Seed for that split, and for the resamples of the interval.
    normalize : bool, default=True
        Whether vectors are scaled to unit length.
    any_case : bool, default=False
        If a lexicon word is not in the space, whether to take the first word that differs only in case.
    training_limit : int or None, default=80_000
        Only words among the first N of the space are used for training; the test uses all. None: no limit.
    disjoint : bool, default=True
        Whether to remove test words from the training lexicon.
    pair_weights : (float, float) or str, default="balanced"
        Weights of unlike and like pairs, for methods that have such weights. densray-paper has its own.
    standardize : bool, default=False
        Whether to standardise the columns before axes are fitted.
    densifier_solver : {"exact", "sgd"}, default="exact"
        "sgd" is the published solver.
    split_at_median : tuple of str
        Methods trained on scores split into two classes at the median of the training words. Two-class methods always
        are; all other methods are trained on the scores.
    least_coverage : float, default=0.1
        If a smaller share of the lexicon words is in the space, a warning names the missing words.
    level : float, default=0.95
        Level of the bootstrap interval of τ.
    n_resamples : int, default=1000
        Number of resamples of the test words for that interval.

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
    standardize: bool = False

    def __post_init__(self) -> None:
        check_seed(self.random_state)

    @classmethod
    def paper(cls, **choices: Any) -> Protocol:
        """Return the protocol of the published tables: like and unlike pairs have weight 0.5, whatever their number."""
        return cls(**{"pair_weights": (0.5, 0.5), **choices})

    def to_dict(self) -> dict[str, Any]:
        """Return the options by their names in reports: `seed` for `random_state`, `match_case` for not `any_case`."""
        plain = asdict(self)
        plain["seed"], plain["match_case"] = plain.pop("random_state"), not plain.pop("any_case")
        return plain

    def rotation(self, method: str) -> Rotation:
        """Return an unfitted rotation of one axis, with the options of the protocol that apply to the method."""
        rotation = make_rotation(method)
        parameters = {"weights": self.pair_weights, "solver": self.densifier_solver, "random_state": self.random_state,
                  "standardize": self.standardize}  # fmt: skip
        supported = rotation.get_params(deep=False)
        if supported.get("weights") != "balanced":
            del parameters["weights"]
        rotation.set_params(**{name: value for name, value in parameters.items() if name in supported})
        return rotation

    def labels(self, method: str, seeds: Rows) -> Vector:
        """Return the training labels of a method: scores, or scores split at their median."""
        return seeds.sides if self.splits(method) else seeds.y

    def splits(self, method: str) -> bool:
        """Return whether a method is trained on scores split into two classes."""
        return method in self.split_at_median or METHODS[method].classes_only


@dataclass(frozen=True, kw_only=True)
class HeldOutTau:
    """How well the axis of one method ranks held-out words.

    Attributes
    ----------
    method : str
    tau : float
        Kendall's τ-b between the coordinate on the axis and the gold label: the main score.
    tau_low, tau_high : float
        Its interval over words (:func:`densray.metrics.tau_interval`).
    tau_ceiling : float
        The τ of a perfect order: below 1 if some labels are equal.
    seconds : float
        Time of the fit.
    resamples : array
        τ of every bootstrap resample of the words. The resamples are the same for all methods, so differences are
        paired.
    """

    method: str
    tau: float
    tau_low: float
    tau_high: float
    tau_ceiling: float
    seconds: float
    resamples: Vector = field(repr=False, compare=False, metadata={"report": False})

    def ahead_of(self, other: HeldOutTau, *, level: float = 0.95) -> tuple[float, float, float]:
        """Return the difference in τ to another method, and its paired interval."""
        return self.tau - other.tau, *percentile_interval(self.resamples - other.resamples, level)


def measure_tau(
    gold: Vector,
    scores: Vector,
    *,
    n_resamples: int,
    random_state: int,
    level: float = 0.95,
    inflation: float = 1.0,
    groups: NDArray[np.int64] | None = None,
) -> dict[str, Any]:
    """Return τ of scores with gold labels, its interval and its resamples, as fields of :class:`HeldOutTau`.

    The interval comes from :func:`densray.metrics.tau_interval`, as in all other results. The resamples are used for
    paired differences between methods. Words of one group are drawn together.
    """
    low, high = tau_interval(gold, scores, level=level, inflation=inflation, groups=groups)
    return {
        "tau": kendall_tau(gold, scores),
        "tau_low": low,
        "tau_high": high,
        "tau_ceiling": tau_ceiling(gold),
        "resamples": resampled_tau(gold, scores, n_resamples=n_resamples, random_state=random_state, groups=groups),
    }


def say_ceiling(ceiling: float) -> str:
    """Return a sentence with the highest τ that the labels allow."""
    return f"τ is at most {show_number(ceiling)} here, for a perfect order: seeds with equal labels have no order."


@dataclass(frozen=True)
class TrainTest:
    """Training and test words of a space, ready for any method.

    Attributes
    ----------
    training, test : Rows
    overlap : tuple of str
        Test words that were also in the training lexicon.
    coverage : float
        Share of the words of both lexicons that are in the space.
    beyond : tuple of str
        Training words that were left out because they are not among the first `Protocol.training_limit` of the space.
    """

    training: Rows
    test: Rows
    overlap: tuple[str, ...]
    coverage: float
    beyond: tuple[str, ...] = ()

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None if every word is its own group."""
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
        """Return the training and test rows of a lexicon (split by the random seed), or of two lexicons."""
        space = as_space(space)
        protocol = protocol or Protocol()
        if test is None:
            return cls._split(space, lexicon, protocol, groups)
        lexicon = lexicon if groups is None or isinstance(groups, str) else lexicon.grouped(groups)
        lexicon, overlap = _without_test_words(lexicon, test, protocol)
        rows = _find(space, lexicon, protocol, role="training", groups=groups if isinstance(groups, str) else None)
        training, beyond = _within_limit(rows, np.zeros(len(rows), dtype=bool), lexicon.name, protocol, space)
        _check_labels(training, lexicon.name, "training")
        return cls._check(training, _find(space, test, protocol, role="test"), overlap, beyond, protocol, space)

    @classmethod
    def _split(cls, space: WordSpace, lexicon: Lexicon, protocol: Protocol, groups: Groups) -> TrainTest:
        # only words in the space are split, so that the held-out share is exact
        rows = lexicon.align(space, any_case=protocol.any_case, order="lexicon", groups=groups)
        _check_labels(rows, lexicon.name, "usable")
        if len(rows) < 4:
            raise TaskError(
                f"{len(rows)} words of '{lexicon.name}' are in '{space.name}' ({name_some(rows.names)}; first "
                f"missing: {name_some(rows.missing) or 'none'}); at least 4 are needed to split them into training "
                "and test. Add words, or give a test lexicon."
            )
        rows = rows.prepared(normalize=protocol.normalize)
        in_test = draw_test_words(rows.names, rows.y, protocol.test_size, protocol.random_state, rows.groups)
        training, beyond = _within_limit(rows, in_test, lexicon.name, protocol, space)
        test = replace(rows.take(np.flatnonzero(in_test)), missing=())
        _check_labels(training, lexicon.name, "training")
        _check_labels(test, lexicon.name, "test")
        return cls._check(training, test, (), beyond, protocol, space)

    @classmethod
    def _check(
        cls,
        training: Rows,
        test: Rows,
        overlap: tuple[str, ...],
        beyond: tuple[str, ...],
        protocol: Protocol,
        space: WordSpace,
    ) -> TrainTest:
        n_present = len(training) + len(test) + len(beyond)
        missing = (*training.missing, *test.missing)
        coverage = n_present / (n_present + len(missing))
        if coverage < protocol.least_coverage:
            warnings.warn(
                CoverageWarning(
                    f"{n_present} of {n_present + len(missing)} lexicon words are in '{space.name}' (first missing: "
                    f"{name_some(missing)}; the space begins {name_some(space.words[:3])}).",
                    Advice(
                        " Does the lexicon differ in case, script or language? ",
                        Argument("any_case", True),
                        " takes words in another case.",
                    ),
                ),
                stacklevel=5,
            )
        return cls(training, test, overlap, coverage, beyond)


def fit_method(method: str, data: TrainTest, protocol: Protocol) -> tuple[Vector, Vector, float]:
    """Return the scores of the training and test words on the axis of a method, and the seconds it took."""
    labels = protocol.labels(method, data.training)
    start = time.perf_counter()
    axis = protocol.rotation(method).fit(data.training.X, labels, groups=data.training.groups).components_[0]
    seconds = time.perf_counter() - start
    return data.training.X @ axis, data.test.X @ axis, seconds


def _within_limit(
    rows: Rows, in_test: NDArray[np.bool_], name: str, protocol: Protocol, space: WordSpace
) -> tuple[Rows, tuple[str, ...]]:
    """Return the training words within the limit of the protocol, and the words beyond it."""
    near = rows.locations < (len(space) if protocol.training_limit is None else protocol.training_limit)
    beyond = tuple(rows.names[place] for place in np.flatnonzero(~in_test & ~near).tolist())
    if not (~in_test & near).any():
        raise LexiconError(
            f"0 of {len(beyond)} training words of '{name}' are among the first {protocol.training_limit:,} words of "
            f"'{space.name}' (further on: {name_some(beyond)}).",
            Advice(" Raise ", Argument("training_limit"), "."),
        )
    return rows.take(np.flatnonzero(~in_test & near)), beyond


def _find(space: WordSpace, lexicon: Lexicon, protocol: Protocol, *, role: str, groups: Groups = None) -> Rows:
    rows = lexicon.align(space, any_case=protocol.any_case, order="lexicon", groups=groups)
    _check_labels(rows, lexicon.name, role)
    return rows.prepared(normalize=protocol.normalize)


def _check_labels(rows: Rows, name: str, role: str) -> None:
    if np.ptp(rows.y) == 0.0:
        raise TaskError(
            f"the {len(rows)} {role} words of '{name}' all have the label {rows.y[0]:g} "
            f"({name_some(rows.names)}){first_missing(rows.missing)}; words of another label are needed."
        )


def _without_test_words(lexicon: Lexicon, test: Lexicon, protocol: Protocol) -> tuple[Lexicon, tuple[str, ...]]:
    test_keys = {spelling_key(word, any_case=protocol.any_case) for word in test}
    overlap = tuple(word for word in lexicon if spelling_key(word, any_case=protocol.any_case) in test_keys)
    if not overlap:
        return lexicon, overlap
    problem = f"{len(overlap)} of {len(test)} test words are in the training lexicon ({name_some(overlap)})"
    if not protocol.disjoint:
        warnings.warn(f"{problem} and are not taken out, so the scores are too good.", UserWarning, stacklevel=5)
        return lexicon, overlap
    try:
        rest = lexicon.without(overlap)
    except LexiconError:
        raise TaskError(f"{problem}; without them no training word is left. Give another test lexicon.") from None
    warnings.warn(f"{problem}; they are taken out of it.", UserWarning, stacklevel=5)
    return rest, overlap
