"""Steering: choose method, layer and strength by scores of generated text, and report on other prompts."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from densray._threads import ignored_warnings
from densray.axes._evidence import OUTLYING_LENGTH, lengths_of
from densray.errors import Argument, SignalWarning, TaskError, shorten
from densray.folds import fold_numbers
from densray.groups import number_groups
from densray.metrics import Interval, auc, auc_interval, mean_interval, proportion_interval
from densray.progress import Progress
from densray.report import Column, Input, Provenance, Result, Table, show_estimate, show_number, show_share
from densray.rotations import METHODS, make_rotation
from densray.states._blocks import find_blocks, resolve_layers
from densray.states._chat import Text, as_texts, contrast
from densray.states._generation import generate_tokens, generated_losses
from densray.states._intervention import POSITIONS, Intervention, LayerChange
from densray.states._models import model_name
from densray.states._next_tokens import Fact, correct_facts
from densray.states._reading import read_states
from densray.states._storage import States
from densray.states._texts import LabelledTexts, as_list
from densray.states._weights import model_checksum

Judge: TypeAlias = Callable[[Sequence[str]], Sequence[float]]
Matrix: TypeAlias = NDArray[np.float64]

#: Methods that are compared: ours, the mean difference (CAA), and the first component of centred differences (repeng).
STEERING_METHODS = ("ridge", "caa", "repeng")
#: Prompts with a correct and a wrong continuation that are unrelated to most concepts.
FACTS: tuple[Fact, ...] = (
    ("The capital of France is", " Paris", " London"),
    ("The capital of Japan is", " Tokyo", " Berlin"),
    ("The opposite of hot is", " cold", " green"),
    ("The color of the sky is", " blue", " square"),
    ("Two plus two equals", " four", " nine"),
    ("The day after Monday is", " Tuesday", " Friday"),
    ("Water freezes into", " ice", " gold"),
    ("Dogs bark and cats", " me", " fly"),
    ("A week has seven", " days", " years"),
    ("The sun rises in the", " east", " oven"),
    ("The first month of the year is", " January", " October"),
    ("Fish live in the", " water", " sky"),
)
#: Generated text is broken if, compared with the unsteered text, its loss under the unchanged model rises by this many
#: nats per token, it repeats this much more of its word triples, or it is empty more often than this.
_NATS, _REPETITION, _EMPTY = 2.0, 0.3, 0.5
#: Share of the correct answers to unrelated prompts that must stay correct.
_PRESERVED = 0.9
_MARKS = ("no visible effect", "clear", "breaks the text")
#: Number of parts for the held-out scores of an encoder's texts.
_JUDGE_FOLDS = 5
#: Share of the differences of pairs below which their spread is a rounding error (states are in single precision).
_SMALLEST_SPREAD = 1e-5


def word_judge(high: Iterable[str], low: Iterable[str]) -> Judge:
    """Return a judge that counts the words of one list minus the words of the other.

    An entry may have several words (*very good*). Case, accents written as two characters and the form of apostrophes
    make no difference.

    >>> word_judge(["good", "fine"], ["bad"])(["A good, fine day", "Bad."])
    [2.0, -1.0]
    """
    named = ((high, "high"), (low, "low"))
    sides = [{_plain(word) for word in as_list(words, name)} - {""} for words, name in named]
    if not all(sides):
        raise TaskError("one of the word lists is empty. Add words to it.")
    if sides[0] & sides[1]:
        raise TaskError(f"{sorted(sides[0] & sides[1])[0]!r} is in both word lists. Leave it out of one.")

    wanted = re.compile("|".join(map(_whole, sorted(sides[0] | sides[1], key=len, reverse=True))))

    def judge(texts: Sequence[str]) -> list[float]:
        found = [wanted.findall(_plain(text)) for text in texts]
        return [float(sum(1 if word in sides[0] else -1 for word in words)) for words in found]

    return judge


def _plain(text: str) -> str:
    """Return a text in lower case, with composed accents, straight apostrophes and single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).lower().replace("\u2019", "'").split())


def _whole(words: str) -> str:
    """Return a pattern for words that are no part of a longer word: not *good* in *goodness* or *good-natured*."""
    before = r"(?<!\w)(?<!\w['-])" if re.match(r"\w", words) else ""
    after = r"(?!\w|['-]\w)" if re.search(r"\w$", words) else ""
    return f"{before}{re.escape(words)}{after}"


def encoder_judge(encoder: Any, positive: Iterable[str], negative: Iterable[str]) -> Judge:
    """Return a judge that scores texts along the ridge axis of a sentence encoder: 1 is positive, -1 negative.

    The encoder should not be the model that is steered. If the axis does not separate held-out texts of the two sides
    better than chance, a :class:`densray.errors.SignalWarning` says so.

    Parameters
    ----------
    encoder
        Anything with an ``encode`` method that returns one vector per text.
    positive, negative : iterables of str
        Texts of the two kinds, at least two of each.
    """
    positive, negative = as_list(positive, "positive"), as_list(negative, "negative")
    texts = [*positive, *negative]
    y = np.array([1.0] * len(positive) + [-1.0] * len(negative))
    if min(len(positive), len(negative)) < 2:
        raise TaskError(
            f"{len(positive)} positive and {len(negative)} negative texts are given; two of each are needed."
        )
    X = np.asarray(encoder.encode(list(texts)), dtype=np.float64)
    if np.array_equal(X[y > 0].mean(axis=0), X[y < 0].mean(axis=0)):
        raise TaskError(
            "the encoder gives the positive and the negative texts the same mean. Use other texts, or another encoder."
        )
    axis = _judging_axis(X, y)
    high, low = (float((X[y == side] @ axis).mean()) for side in (1.0, -1.0))
    _warn_if_no_signal(X, y)

    def judge(generated: Sequence[str]) -> list[float]:
        scores = np.asarray(encoder.encode(list(generated)), dtype=np.float64) @ axis
        return [float(score) for score in (2.0 * scores - high - low) / (high - low)]

    return judge


def _judging_axis(X: Matrix, y: Matrix) -> Matrix:
    with ignored_warnings(SignalWarning):
        return np.asarray(make_rotation("ridge").fit(X, y).components_[0], dtype=np.float64)


def _warn_if_no_signal(X: Matrix, y: Matrix) -> None:
    """Warn if the axis of an encoder does not separate held-out texts better than chance."""
    n_folds = min(_JUDGE_FOLDS, int((y > 0).sum()), int((y < 0).sum()))
    folds, scores = fold_numbers(y, None, n_folds, 0), np.zeros(len(y))
    for fold in range(n_folds):
        learned, held_out = folds != fold, folds == fold
        if not np.ptp(X[learned], axis=0).any():
            continue  # equal rows have no axis
        axis = _judging_axis(X[learned], y[learned])
        ends = [float((X[learned & (y == side)] @ axis).mean()) for side in (1.0, -1.0)]
        scores[held_out] = X[held_out] @ axis - sum(ends) / 2.0
    interval = auc_interval(y, scores)
    if interval.low <= 0.5 and auc(y, scores) < 1.0:
        warnings.warn(
            SignalWarning(
                f"the judge's encoder does not separate the {len(y)} texts better than chance: held-out AUC "
                f"{show_estimate(auc(y, scores), interval.low, interval.high, 2)}; 0.5 is chance. Give more or clearer "
                "texts, or use another encoder."
            ),
            stacklevel=3,
        )


@dataclass(frozen=True)
class SteeringPoint:
    """One setting (method, layer and strength), and its effect on generated text.

    Attributes
    ----------
    method : str
    layer : int
    strength : float
        1 is the distance between the class means at that layer.
    effect : float
        Mean increase of the judge's score over the unsteered text.
    interval : Interval
        Interval of the effect over prompts: 95%. On the prompts used to choose, it is widened, because many settings
        are compared (Bonferroni).
    nats : float
        Increase of the loss per generated token over the unsteered text, measured by the unchanged model.
    repetition : float
        Share of word triples that repeat an earlier one of the same text.
    empty : float
        Share of prompts after which nothing is generated.
    preserved : float
        Share of the unrelated prompts answered correctly before steering that are still answered correctly; NaN if not
        measured.
    preserved_interval : Interval, optional
        95% interval of this share (Wilson); None if not measured.
    mark : str
        ``"no visible effect"``, ``"clear"`` or ``"breaks the text"``.
    chosen : bool
    """

    method: str
    layer: int
    strength: float
    effect: float
    interval: Interval
    nats: float
    repetition: float
    empty: float
    preserved: float
    preserved_interval: Interval | None
    mark: str
    chosen: bool = False


@dataclass(frozen=True)
class SteeringResult(Result):
    """The chosen steering, and its effect on prompts that were not used for the choice.

    Attributes
    ----------
    intervention : Intervention, optional
        The chosen steering; None if its effect is not clear on the prompts used to report, or if no setting has one.
    points : tuple of SteeringPoint
        All points that were tried, measured on the prompts used to choose.
    reported : tuple of SteeringPoint
        The best point of every method and a random direction of the same norm, measured on the other prompts.
    examples : tuple of (str, str, str)
        Prompt, unsteered text and steered text, for some of the other prompts.
    reason : str
        Reason why there is no intervention; empty otherwise.
    notes : tuple of str
    """

    title: ClassVar[str] = "Steering judged by generated text"

    intervention: Intervention | None = field(metadata={"report": False})
    points: tuple[SteeringPoint, ...]
    reported: tuple[SteeringPoint, ...]
    examples: tuple[tuple[str, str, str], ...]
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def chosen(self) -> SteeringPoint | None:
        """The setting chosen on half of the prompts, measured on the others; None if no setting could be chosen."""
        return next((point for point in self.reported if point.chosen), None)

    @property
    def summary(self) -> str:
        """The verdict in one sentence."""
        point = self.chosen
        if point is None or self.intervention is None:
            return f"Nothing was chosen: {self.reason}"
        preserved, ends = "", point.preserved_interval
        if ends is not None:
            share, low, high = map(show_share, (point.preserved, ends.low, ends.high))
            preserved = f", {share} [{low}, {high}] of unrelated correct answers preserved"
        return (
            f"{_named(point)}: {point.mark} on unseen prompts "
            f"(effect {show_estimate(point.effect, point.interval.low, point.interval.high, 2)}; "
            f"{show_number(point.nats, 2, signed=True)} nats per token{preserved})."
        )

    def text(self) -> str:
        """Return the verdict, which comes first."""
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values, and the verdict."""
        return {"summary": self.summary, **super().to_dict()}

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per reported point."""
        return [_row(point) for point in self.reported]

    def tables(self) -> list[Table]:
        """Return the methods on unseen prompts, and all points that were tried."""
        numbers = [Column("effect", decimals=2), Column("low", decimals=2), Column("high", decimals=2)]
        numbers += [Column("nats", "nats added", decimals=2), Column("repetition", decimals=2)]
        numbers += [Column("empty", decimals=2), Column("preserved", "correct answers preserved", decimals=2)]
        numbers += [Column("preserved low", "preserved, low", decimals=2)]
        numbers += [Column("preserved high", "preserved, high", decimals=2)]
        columns: list[Column | str] = ["method", "layer", "strength", *numbers, "mark", "chosen"]
        units = "Strength 1 is the distance between the class means at that layer."
        tried = Table(
            "All points, on the prompts used to choose",
            columns,
            [_row(point) for point in self.points],
            [units, "Intervals are widened, because many settings are compared. Those on unseen prompts are not."],
        )
        if not self.reported:
            return [tried]
        title = "Each method at its best point, on unseen prompts"
        return [Table(title, columns, self.rows(), [units, *self.notes]), tried]


def _named(point: SteeringPoint) -> str:
    return f"{point.method} after layer {point.layer} at strength {point.strength:g}"


def _row(point: SteeringPoint) -> dict[str, Any]:
    intervals = ("interval", "preserved_interval")
    row = {name: getattr(point, name) for name in SteeringPoint.__dataclass_fields__ if name not in intervals}
    low, high = point.preserved_interval or (float("nan"), float("nan"))
    ends = {"low": point.interval.low, "high": point.interval.high, "preserved low": low, "preserved high": high}
    return row | ends | {"chosen": "chosen" if point.chosen else ""}


def steer(
    model: Any,
    tokenizer: Any,
    positive: Iterable[Text],
    negative: Iterable[Text],
    *,
    prompts: Iterable[Text],
    judge: Judge,
    questions: Iterable[str] = (),
    methods: Iterable[str] = STEERING_METHODS,
    layers: Iterable[int] | None = None,
    strengths: Iterable[float] = (1.0, 2.0, 4.0, 8.0),
    positions: str = "all",
    facts: Iterable[Fact] = FACTS,
    max_new_tokens: int = 30,
    name: str = "",
    random_state: int = 0,
    progress: Progress | None = None,
) -> SteeringResult:
    """Find the steering direction (towards the positive texts) that a judge scores highest; return it with a report.

    Method, layer and strength are chosen on half of the prompts. The setting with the largest effect is chosen, among
    those (1) whose effect has an interval above 0, (2) that do not break the text, and (3) that keep 90% of the correct
    answers to unrelated prompts. The intervals in (1) are widened, because many settings are compared (Bonferroni). A
    setting breaks the text if its loss under the unsteered model rises by 2 nats per token or more, if it repeats
    itself much more, or if most texts are empty. The choice is reported on the other half, with the best point of every
    other method and with a random direction of equal length. If its effect is not clear there, no intervention is
    returned.

    Parameters
    ----------
    model, tokenizer
        A Hugging Face causal language model and its tokenizer.
    positive, negative : iterables of texts or message lists
        Contrastive texts. If both lists have the same length, they are treated as pairs. With `questions`, they are
        personas (:func:`contrast`). The state of the last token is used.
    prompts : iterable of texts or message lists
        Prompts for the model to continue. About 120 are best (:doc:`/language-models-steering`), and at least four
        different ones are needed. They should differ from the contrastive texts. A repeated prompt counts once.
    judge : callable
        Returns a score for each text, higher for the positive side: :func:`word_judge`, :func:`encoder_judge`, or a
        classifier of your own. It must not be made from the model that is steered.
    questions : iterable of str
        Questions that every persona answers.
    methods : iterable of str
        ``"caa"`` (the mean difference of last-token states), ``"repeng"`` (the first component of the centred
        differences of pairs), or a method as for :func:`densray.fit_axis`.
    layers : iterable of int, optional
        Layers to try, one at a time. Default: those at a half, two thirds and five sixths of the depth of the model.
    strengths : iterable of float
        Strengths to try; 1 is the distance between the class means at a layer. If a strength breaks the text, larger
        ones are not tried.
    positions : "all", "last" or "generated"
        Which tokens are changed (:class:`Intervention`).
    facts : iterable of (str, str, str)
        Unrelated prompts, each with a correct and a wrong continuation (or several of each). They are not counted with
        ``positions="generated"``, which does not change the first token after a prompt.
    max_new_tokens : int, default=30
    name : str
        Name of the concept.
    random_state : int, default=0
        Seed for the halves of the prompts and the random direction.
    progress : callable, optional
        Called with the number of methods and layers done and their total.
    """
    began = Provenance.begin(seed=random_state)
    sides = as_list(positive, "positive"), as_list(negative, "negative")
    texts = _contrast(*sides, as_list(questions, "questions"))
    asked = list(dict.fromkeys(as_texts(tokenizer, prompts)))
    methods, amounts = _checked(as_list(methods, "methods"), as_list(strengths, "strengths"))
    _check_options(asked, positions, judge)
    _check_pairs(texts, methods)
    generator = np.random.default_rng(random_state)
    order = generator.permutation(len(asked))
    halves = [[asked[place] for place in order[part::2]] for part in (0, 1)]
    count = len(find_blocks(model))
    default = sorted({count // 2, 2 * count // 3, 5 * count // 6})
    places = resolve_layers(default if layers is None else as_list(layers, "layers"), count)
    n_settings = len(places) * len(methods) * len(amounts)
    states = read_states(model, tokenizer, texts.texts, layers=places)
    tested = _Tested(model, tokenizer, judge, as_list(facts, "facts"), max_new_tokens, positions)
    notes = tested.notes
    choosing = tested.on(halves[0], n_settings)
    directions = _directions(states, texts, methods, notes)
    changes: dict[tuple[str, int], LayerChange] = {}
    points: list[SteeringPoint] = []
    for method, layer, changes[method, layer] in directions:
        points += choosing.climbed(method, layer, changes[method, layer], amounts)
        if progress is not None:
            progress(len(changes), len(places) * len(methods))
    used = [Input("model", model_name(model), model_checksum(model)), Input("prompts", "given", size=len(asked))]
    if reason := choosing.missing_signal():
        return SteeringResult(None, tuple(points), (), (), reason, tuple(notes), provenance=began.finish(inputs=used))
    best = {method: _best([point for point in points if point.method == method]) for method in methods}
    winner = _best([point for point in best.values() if point is not None])
    if winner is None:
        reason = (
            "no method, layer and strength has a clear effect that preserves text and correct answers "
            f"({n_settings} settings on {len(halves[0])} prompts). Give more prompts, or try fewer settings."
        )
        return SteeringResult(None, tuple(points), (), (), reason, tuple(notes), provenance=began.finish(inputs=used))
    reporting = tested.on(halves[1])
    reported = [
        replace(
            reporting.measured(one.method, one.layer, changes[one.method, one.layer], one.strength),
            chosen=one is winner,
        )
        for one in best.values()
        if one is not None
    ]
    missing = [method for method, one in best.items() if one is None]
    if missing:
        notes.append(f"Without a clear effect that does not break the text: {', '.join(missing)}.")
    length = float(np.linalg.norm(changes[winner.method, winner.layer].right))
    drawn = generator.normal(size=states.width)
    random = LayerChange.along(drawn / np.linalg.norm(drawn) * length)
    reported.append(reporting.measured("random", winner.layer, random, winner.strength))
    chosen = Intervention(
        "add", {winner.layer: changes[winner.method, winner.layer]}, winner.strength,
        model=model_name(model), checksum=model_checksum(model), name=name, positions=positions,
    )  # fmt: skip
    examples = reporting.examples(chosen)
    points = [replace(point, chosen=point is winner) for point in points]
    unseen = next(point for point in reported if point.chosen)
    reason = ""
    if unseen.mark != _MARKS[1]:
        effect = show_estimate(unseen.effect, unseen.interval.low, unseen.interval.high, 2)
        reason = (
            f"{_named(winner)} has a clear effect on the prompts used to choose, but not on unseen ones "
            f"({unseen.mark}; effect {effect}). Give more prompts, or use another judge."
        )
    return SteeringResult(
        None if reason else chosen, tuple(points), tuple(reported), examples, reason, tuple(notes),
        provenance=began.finish(inputs=used),
    )  # fmt: skip


def _checked(methods: list[str], strengths: list[float]) -> tuple[list[str], list[float]]:
    """Return the methods, and the strengths in ascending order, each once; raise if some are invalid."""
    amounts = sorted({float(strength) for strength in strengths})
    if not amounts or not np.isfinite(amounts).all() or amounts[0] <= 0.0:
        raise TaskError(Argument("strengths", tuple(strengths)), " is given; positive numbers are needed.")
    if not methods:
        raise TaskError("no method is given; at least one is needed.")
    for method in methods:
        if method not in ("caa", "repeng", *METHODS):
            raise TaskError(f"method '{method}' is unknown; use caa, repeng, or one of {', '.join(METHODS)}.")
    return list(dict.fromkeys(methods)), amounts


def _check_options(prompts: Sequence[str], positions: str, judge: Judge) -> None:
    """Raise if prompts, positions or judge cannot be used."""
    if len(prompts) < 4:
        raise TaskError(
            f"{len(prompts)} different prompts are given; at least four are needed, two to choose and two to report."
        )
    if positions not in POSITIONS:
        raise TaskError(Argument("positions", positions), f" is given; one of {', '.join(POSITIONS)} is needed.")
    if not callable(judge):
        raise TaskError(
            f"the judge is {shorten(judge)}; a function from texts to scores is needed, such as word_judge(high, low)."
        )


def _check_pairs(texts: LabelledTexts, methods: Sequence[str]) -> None:
    """Raise if there are too few texts for the methods; the difference of one pair is enough for CAA alone."""
    least = min(sum(label == side for label in texts.labels or ()) for side in (0.0, 1.0))
    if least < 2 and methods != ["caa"]:
        raise TaskError(
            "one positive or one negative text is given; at least two of each are needed, and twenty or more are "
            "better. With one pair, use ",
            Argument("methods", ["caa"]),
            ".",
        )


def _contrast(positive: Sequence[Text], negative: Sequence[Text], questions: Sequence[str]) -> LabelledTexts:
    """Return the contrastive texts; without groups if they are not pairs."""
    if questions or len(positive) == len(negative) or not (positive and negative):
        return contrast(positive, negative, questions)
    labels = (1.0,) * len(positive) + (0.0,) * len(negative)
    return LabelledTexts((*positive, *negative), labels)


def _directions(
    states: States, texts: LabelledTexts, methods: Sequence[str], notes: list[str]
) -> Iterator[tuple[str, int, LayerChange]]:
    """Yield the direction of each method at each layer; texts that are left out are noted."""
    y = np.asarray(texts.labels, dtype=np.float64)
    groups = None if texts.groups is None else number_groups(texts.groups)
    for layer in states.layers:
        X = np.asarray(states[layer], dtype=np.float64)
        usual = _usual(X, y)
        if not usual.all():
            notes.append(
                f"After layer {layer} the states of {len(X) - int(usual.sum())} of {len(X)} contrastive texts are more "
                f"than {OUTLYING_LENGTH:g} times as long as the median. They were left out."
            )
        for method in methods:
            direction = _direction(method, X[usual], y[usual], None if groups is None else groups[usual])
            yield method, layer, LayerChange.along(direction)


def _usual(X: Matrix, y: Matrix) -> NDArray[np.bool_]:
    """Return a mask of the rows of usual length, both or none of each pair; all rows if a class would be empty."""
    usual = lengths_of(X)[1] <= OUTLYING_LENGTH  # one outlying state alone can determine the class distance
    high, low = np.flatnonzero(y > 0), np.flatnonzero(y == 0)
    if len(high) == len(low):
        usual[high] &= usual[low]
        usual[low] = usual[high]
    return usual if usual[high].any() and usual[low].any() else np.ones(len(X), dtype=bool)


def _differences(X: Matrix, y: Matrix, groups: NDArray[np.int64] | None) -> Matrix:
    """Return positive minus negative state of each pair: in order within each group, or in order without groups."""
    parts = [np.ones(len(y), dtype=bool)] if groups is None else [groups == group for group in np.unique(groups)]
    differences = []
    for part in parts:
        high, low = X[part & (y > 0)], X[part & (y == 0)]
        n_pairs = min(len(high), len(low))
        differences.append(high[:n_pairs] - low[:n_pairs])
    return np.concatenate(differences)


def _direction(method: str, X: Matrix, y: Matrix, groups: NDArray[np.int64] | None) -> Matrix:
    """Return the direction of a method towards the higher class; its norm is the distance between the class means."""
    high, low = X[y > 0], X[y == 0]
    difference = high.mean(axis=0) - low.mean(axis=0)
    length = float(np.linalg.norm(difference))
    if length == 0.0:
        raise TaskError("the states of the positive and the negative texts have the same mean. Give other texts.")
    if method == "caa":
        return np.asarray(difference, dtype=np.float64)
    if method == "repeng":
        differences = _differences(X, y, groups)
        _, spread, components = np.linalg.svd(differences - differences.mean(axis=0), full_matrices=False)
        if spread[0] <= _SMALLEST_SPREAD * np.linalg.norm(differences):
            raise TaskError(
                f"method 'repeng' needs two or more pairs whose differences vary; {len(differences)} "
                f"pair{' is' if len(differences) == 1 else 's with equal differences are'} given. Give more pairs, or "
                "leave the method out.",
            )
        axis = components[0]
        # the sign for which most pairs rise, as in repeng
        axis = axis if np.mean(differences @ axis > 0.0) >= 0.5 else -axis
    else:
        with ignored_warnings(SignalWarning):
            axis = make_rotation(method).fit(X, np.where(y > 0, 1.0, -1.0), groups=groups).components_[0]
        axis = axis if axis @ difference >= 0.0 else -axis
    return np.asarray(axis / np.linalg.norm(axis) * length, dtype=np.float64)


def _best(points: Sequence[SteeringPoint]) -> SteeringPoint | None:
    """Return the point with the largest clear effect that preserves correct answers; None if there is none."""
    usable = [point for point in points if point.mark == "clear" and not point.preserved < _PRESERVED]
    return max(usable, key=lambda point: point.effect, default=None)


class _Tested:
    """A model, a judge and unrelated prompts."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        judge: Judge,
        facts: Sequence[Fact],
        max_new_tokens: int,
        positions: str,
    ) -> None:
        self.model, self.tokenizer, self.judge, self.max_new_tokens = model, tokenizer, judge, max_new_tokens
        self.positions = positions
        self.notes: list[str] = []
        self.facts, self.correct = tuple(facts), np.zeros(0, dtype=bool)
        if self.facts and positions == "generated":
            self.notes.append(
                "Correct answers to unrelated prompts were not counted: the first token after a prompt does not change."
            )
            self.facts = ()
        try:
            self.correct = correct_facts(model, tokenizer, self.facts) if self.facts else self.correct
        except TaskError as error:
            self.notes.append(f"Correct answers to unrelated prompts were not counted: {error}")
        if self.facts and len(self.correct) and not self.correct.any():
            self.notes.append("Correct answers to unrelated prompts: the unchanged model has none.")

    def on(self, prompts: Sequence[str], n_settings: int = 1) -> _Prompts:
        """Return the prompts with the unsteered text after each; intervals hold for `n_settings` at once."""
        return _Prompts(self, prompts, n_settings)

    def preserved(self, change: Intervention) -> tuple[float, Interval | None]:
        """Return the share of correct answers that stay correct, with its interval; NaN if there are none."""
        if not self.correct.any():
            return float("nan"), None
        share = float(correct_facts(self.model, self.tokenizer, self.facts, change)[self.correct].mean())
        return share, proportion_interval(share, int(self.correct.sum()))


class _Prompts:
    """Prompts, the unsteered text after each, and measures of steered text."""

    def __init__(self, tested: _Tested, prompts: Sequence[str], n_settings: int) -> None:
        self.tested, self.prompts = tested, prompts
        self.level = 1.0 - 0.05 / n_settings  # Bonferroni
        self.known_scores: set[float] = set()
        self.texts, self.nats, self.repetition = self._generated(None)
        self.scores = self._judged(self.texts)

    def missing_signal(self) -> str:
        """Return the reason why the scores of all texts, steered or not, cannot choose; empty if they can."""
        if not self.known_scores:
            return "the model generates no text, steered or not. Use other prompts, or another model."
        if len(self.known_scores) == 1:
            return "the judge gives all generated texts the same score, steered or not. Use another judge."
        return ""

    def _generated(self, change: Intervention | None) -> tuple[list[str], float, float]:
        """Return the text after each prompt, its loss per token under the unchanged model, and its repetition."""
        tested = self.tested
        rows = generate_tokens(
            tested.model, tested.tokenizer, self.prompts, change, max_new_tokens=tested.max_new_tokens
        )
        texts = [str(tested.tokenizer.decode(new, skip_special_tokens=True)) for _, new in rows]
        losses = generated_losses(tested.model, tested.tokenizer, rows)
        nats = float(losses[:, 0].sum() / losses[:, 1].sum()) if losses[:, 1].any() else float("inf")
        return texts, nats, float(np.mean([_repetition(text) for text in texts]))

    def _judged(self, texts: Sequence[str]) -> Matrix:
        """Return the score of each text; NaN for an empty text, which is not judged."""
        scores = np.full(len(texts), np.nan)
        spoken = [number for number, text in enumerate(texts) if text.strip()]
        if spoken:
            scores[spoken] = _numbers(self.tested.judge([texts[number] for number in spoken]), len(spoken))
            self.known_scores.update(scores[spoken].tolist())
        return scores

    def measured(self, method: str, layer: int, change: LayerChange, strength: float) -> SteeringPoint:
        """Return the effect of a direction at a strength."""
        intervention = Intervention("add", {layer: change}, strength, positions=self.tested.positions)
        texts, nats, repetition = self._generated(intervention)
        scores = self._judged(texts)
        rises = np.nan_to_num(scores - self.scores)  # an empty text counts as no rise
        empty = float(np.mean([not text.strip() for text in texts]))
        interval = _rise_interval(rises, self.level)
        added = nats - self.nats
        broken = not added <= _NATS or repetition - self.repetition > _REPETITION or empty > _EMPTY
        mark = _MARKS[2] if broken else _MARKS[1] if interval.low > 0.0 else _MARKS[0]
        preserved, ends = (float("nan"), None) if broken else self.tested.preserved(intervention)
        return SteeringPoint(
            method, layer, strength, float(rises.mean()), interval, added, repetition, empty, preserved, ends, mark
        )

    def climbed(
        self, method: str, layer: int, change: LayerChange, strengths: Sequence[float]
    ) -> Iterator[SteeringPoint]:
        """Yield the points of increasing strengths, up to the first that breaks the text."""
        for strength in strengths:
            point = self.measured(method, layer, change, strength)
            yield point
            if point.mark == _MARKS[2]:
                return

    def examples(self, change: Intervention) -> tuple[tuple[str, str, str], ...]:
        """Return prompts with unsteered and steered text."""
        steered, _, _ = self._generated(replace(change, checksum=""))
        return tuple(zip(map(str, self.prompts), self.texts, steered, strict=True))


def _rise_interval(rises: Matrix, level: float) -> Interval:
    """Return the t interval of the mean rise. If all rises are equal, one prompt without a rise is added.

    A judge that counts words often gives equal rises. Without the addition their interval would have width 0, even for
    two prompts.

    >>> [round(end, 2) for end in _rise_interval(np.array([1.0, 1.0]), 0.95)]
    [-0.77, 2.1]
    >>> _rise_interval(np.array([1.0] * 12), 0.95).low > 0.0
    True
    """
    equal = bool(len(rises)) and not np.ptp(rises)
    return mean_interval(np.append(rises, 0.0) if equal else rises, level)


def _numbers(scores: Any, count: int) -> Matrix:
    """Return the scores of a judge; raise unless they are one finite number for each text."""
    try:
        numbers = np.asarray(list(scores), dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise TaskError(
            f"the judge returned {shorten(scores)} for {count} texts; a list with one finite number for each is needed."
        )
    return numbers


def _repetition(text: str) -> float:
    """Return the share of word triples that repeat an earlier one; 0 for a text of fewer than four words.

    >>> _repetition("a b c a b c"), _repetition("a b c d")
    (0.25, 0.0)
    """
    words = text.split()
    triples = list(zip(words, words[1:], words[2:], strict=False))
    return 1.0 - len(set(triples)) / len(triples) if len(triples) > 1 else 0.0
