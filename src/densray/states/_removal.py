"""Removals learned layer by layer, each from states that the earlier layers have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from densray._leace import leace, leace_beside
from densray.affine import AffineMap
from densray.errors import Argument, TaskError
from densray.folds import fold_numbers
from densray.groups import number_groups
from densray.progress import Progress
from densray.rotations import make_rotation
from densray.states._blocks import find_blocks, resolve_layers
from densray.states._evaluation import InterventionResult, evaluate_intervention
from densray.states._intervention import Intervention, LayerChange
from densray.states._measures import InterventionTests, check_classes, check_probed, two_classes
from densray.states._models import model_name
from densray.states._next_tokens import Continuations, continuation_log_odds, under
from densray.states._ordinary import write_ordinary
from densray.states._reading import read_states
from densray.states._texts import LabelledTexts, as_list
from densray.states._weights import model_checksum

Matrix = NDArray[np.float64]

#: One part in this many is held out to report a removal.
_PARTS = 4
#: A level closer to zero than this, in nats, counts as balanced; largest number of model runs to reach it.
_BALANCED, _BALANCING_RUNS = 0.02, 6
#: Largest number of layers at which probes are refitted, unless more are changed.
_MOST_PROBED = 12
#: The default of :class:`InterventionTests`, which a removal replaces by all layers from the first changed one on.
_LAST_LAYER = (-1,)
_NO_ANSWERS = (
    "Correct answers were not counted, because no prompts with a correct answer were held out. Give them with "
    "preserve, or as definitions of the tests."
)


def remove_concept(
    model: Any,
    tokenizer: Any,
    texts: LabelledTexts,
    *,
    ordinary: Iterable[str] | None = None,
    layers: Iterable[int] | None = None,
    method: str = "leace",
    strength: float = 1.0,
    tests: InterventionTests | None = None,
    name: str = "",
    random_state: int = 0,
    progress: Progress | None = None,
) -> tuple[Intervention, InterventionResult]:
    """Learn to remove the concept that separates two or more classes of texts. Returns the removal and a report on
    held-out texts.

    Layers are learned in order. Each is learned from the model with all earlier removals applied. If every layer were
    learned from the unchanged model, later blocks would restore the concept.

    Parameters
    ----------
    model, tokenizer
        A Hugging Face causal language model and its tokenizer.
    texts : LabelledTexts
        Texts of two or more classes. The removal is learned from the last token of each text, and applied to every
        token but the first. A quarter of the texts is held out for the report, by whole groups.
    ordinary : iterable of str, optional
        Ordinary text (a few hundred sentence beginnings) whose states should change as little as possible; ``"leace"``
        only. By default the model writes 500 itself, from the first two words of the given texts. With an empty
        sequence, no ordinary text is used, and the removal harms the model more
        (:doc:`/language-models-removal` reports how much).
    layers : sequence of int, optional
        Default: every layer of the last third.
    method : str, default="leace"
        ``"leace"``, which removes up to k - 1 directions for k classes, or a method as for :func:`densray.fit_axis`,
        whose axis is projected out (two classes only).
    strength : float, default=1
    tests : InterventionTests, optional
        The measures of the report. Default, on the held-out texts: the perplexity, and new linear and MLP probes at up
        to 12 layers, from the first changed one to the last of the model (at all changed layers, if there are more).
        `tests` without a `probe` get these probes, too. With a `probe` of your own, or with ``probe_layers=()``, no
        text is held out, and the report uses only the data of `tests`.
    name : str
        Name of the concept.
    random_state : int, default=0
        Seed for the held-out texts and the resamples of the report.
    progress : callable, optional
        Called with the number of layers done and their total.
    """
    count = len(find_blocks(model))
    places = _checked_layers(range(2 * count // 3, count) if layers is None else layers, count, strength)
    labels = np.asarray(check_classes(texts, "the concept").labels)
    if method != "leace" and len(np.unique(labels)) > 2:
        raise TaskError(
            f"{len(np.unique(labels))} classes are given with ",
            Argument("method", method),
            "; only 'leace' removes more than two classes.",
        )
    ordinary = None if ordinary is None else as_list(ordinary, "ordinary")
    notes: list[str] = []
    learned = texts
    if tests is None or _needs_probe(tests):
        learned, held_out = _split(texts, random_state)
        tests = InterventionTests(held_out.texts) if tests is None else tests
        try:
            tests = replace(tests, probe=check_probed(held_out, "the held-out part"))
        except TaskError as error:
            notes.append(f"Probes were not fitted: {error}")
    tests = _probed_from(tests, places, count, notes)
    sides = _sides(learned) if len(np.unique(labels)) == 2 else _indicators(learned)
    groups = None if learned.groups is None else number_groups(learned.groups)
    if method == "leace" and ordinary is None:
        ordinary = write_ordinary(model, tokenizer, learned.texts, random_state=random_state)
        notes.append(
            f"Ordinary text that should change little: {len(ordinary)} beginnings written by the model itself."
        )
    ordinary = () if ordinary is None else ordinary

    def erasing(rows: Matrix, *others: Matrix) -> AffineMap:
        if method == "leace":
            return leace_beside(rows, sides, others[0]) if others else leace(rows, sides)
        axis = make_rotation(method).fit(rows, 2.0 * sides - 1.0, groups=groups).components_[0]
        middle = (rows[sides > 0].mean(axis=0) + rows[sides == 0].mean(axis=0)) / 2
        return AffineMap(method, axis[:, None], axis[None], middle, np.zeros(len(axis)))

    if len(ordinary) and method != "leace":
        raise TaskError(
            Argument("ordinary"),
            " is given with ",
            Argument("method", method),
            "; only 'leace' can use it.",
        )
    text_sets = [learned.texts] + ([ordinary] if len(ordinary) else [])
    changes = learn_changes(model, tokenizer, text_sets, places, erasing, progress=progress)
    removal = _removal(model, changes, strength, name)
    report = evaluate_intervention(model, tokenizer, removal, tests, random_state=random_state)
    return removal, replace(report, notes=(*report.notes, *notes))


def remove_preference(
    model: Any,
    tokenizer: Any,
    preference: Continuations,
    texts: Iterable[str],
    *,
    templates: Iterable[Any] | None = None,
    preserve: LabelledTexts | None = None,
    layers: Iterable[int] | None = None,
    strength: float = 1.0,
    tests: InterventionTests | None = None,
    name: str = "",
    random_state: int = 0,
    progress: Progress | None = None,
) -> tuple[Intervention, InterventionResult]:
    """Learn to remove a preference for one continuation over another; return the removal and a report on held-out
    prompts.

    It fits LEACE with the model's own log odds as labels. Layers are learned in order. Each is learned from the model
    with all earlier removals applied. When the covariance is estimated, ordinary text gets as much weight as the
    prompts, so that the hidden states of ordinary text change as little as possible
    (:doc:`/language-models-preference` reports the cost). Finally a constant shift at the last changed layer brings the
    mean log odds to 0: the mean over the prompts, or, with `preserve`, over the two preserved classes.

    Parameters
    ----------
    model, tokenizer
        A Hugging Face causal language model and its tokenizer.
    preference : Continuations
        Prompts and the two continuations. The numbers attached to them (`known`) are not used. A quarter of the prompts
        is held out for the report, by whole groups.
    texts : sequence of str
        Ordinary text, a few hundred sentence beginnings; the state of the last token of each is used.
    templates : sequence, optional
        The template of each prompt. The mean log odds of each template are subtracted.
    preserve : LabelledTexts, optional
        Prompts with a correct answer that should stay correct (*The king said that*, *The queen said that*). The
        difference between the mean hidden states of the two classes is left unchanged. A label is the correct
        continuation (*he*), or a number: the higher number marks prompts for which the high continuation is
        correct.
    layers : sequence of int, optional
        Default: every fourth layer of the upper half, without the last.
    strength : float, default=1
    tests : InterventionTests, optional
        The measures of the report. Default, on the held-out quarter: the log odds before and after, correct answers to
        the preserved prompts, the perplexity, and new linear and MLP probes at up to 12 layers, from the first changed
        one to the last of the model (at all changed layers, if there are more). `tests` without a `probe` get these
        probes, too. With a `probe` of your own, or with ``probe_layers=()``, no prompt is held out, and the report uses
        only the data of `tests`.
    name : str
        Name of the concept.
    random_state : int, default=0
        Seed for the held-out prompts and the resamples of the report.
    progress : callable, optional
        Called with the number of layers done and their total.
    """
    count = len(find_blocks(model))
    default = range(count // 2 + 1, count - 1, 4) or [count - 1]
    places = _checked_layers(default if layers is None else layers, count, strength)
    texts = as_list(texts, "texts")
    templates = None if templates is None else as_list(templates, "templates")
    if len(texts) < 2:
        raise TaskError(f"{len(texts)} ordinary text is given; two or more are needed, and a few hundred are best.")
    odds = _odds_within(templates, continuation_log_odds(model, tokenizer, preference))
    if preserve is not None:
        _correct_sides(two_classes(preserve, "preserve"), preference)  # raises before anything is learned
    notes: list[str] = []
    learning = _Preference(preference, odds, tuple(texts), preserve)
    if tests is None:
        learning, tests, notes = learning.split(random_state)
    elif _needs_probe(tests):
        learning, tests, notes = learning.with_probe(tests, random_state)
    tests = _probed_from(tests, places, count, notes)
    if tests.definitions is None:
        notes.append(_NO_ANSWERS)
    asked, ordinary, preserved = learning.prompts, learning.texts, learning.preserve
    preserved_sides = np.array([]) if preserved is None else _correct_sides(preserved, asked)
    text_sets = [asked.prompts, ordinary] + ([preserved.texts] if preserved is not None else [])

    def erasing(prompts: Matrix, beside: Matrix, *preserved_rows: Matrix) -> AffineMap:
        return leace_beside(
            prompts, learning.odds, beside, preserve=(preserved_rows[0], preserved_sides) if preserved_rows else None
        )

    changes = learn_changes(model, tokenizer, text_sets, places, erasing, progress=progress)
    removal = _removal(model, changes, strength, name)
    balanced = (
        asked
        if preserved is None
        else replace(asked, prompts=preserved.texts, known=preserved_sides.tolist(), groups=None)
    )

    def level(change: Intervention) -> float:
        found = continuation_log_odds(model, tokenizer, balanced, change)
        if preserved is None:
            return float(found.mean())
        return float(np.mean([found[preserved_sides == side].mean() for side in (0.0, 1.0)]))

    removal = replace(_without_level(replace(removal, checksum=""), level), checksum=removal.checksum)
    report = evaluate_intervention(model, tokenizer, removal, tests, random_state=random_state)
    return removal, replace(report, notes=(*report.notes, *notes))


@dataclass(frozen=True)
class _Preference:
    """Data for learning or reporting the removal of a preference."""

    prompts: Continuations
    odds: Matrix
    texts: tuple[str, ...]
    preserve: LabelledTexts | None

    def split(self, random_state: int) -> tuple[_Preference, InterventionTests, list[str]]:
        """Return a part to learn from, tests made from the rest, and notes on missing measures."""
        generator = np.random.default_rng(random_state)
        drawn = self._held_out(generator)
        lines = generator.permutation(len(self.texts)) % _PARTS == 0
        lines = lines if lines.any() and (~lines).sum() >= 2 else np.zeros(len(lines), dtype=bool)
        unseen = [text for text, out in zip(self.texts, lines, strict=True) if out]
        preserved, tested = self.preserve, None
        if preserved is not None:
            with_quarter, tested = _split(preserved, random_state)
            preserved = with_quarter if len(set(with_quarter.labels or ())) == 2 else preserved
        notes: list[str] = []
        made: dict[str, Any] = {}
        if drawn.any():
            rows = np.flatnonzero(drawn)
            made["stereotypes"] = replace(self.prompts.only(rows.tolist()), known=self.odds[rows].tolist())
            try:
                made["probe"] = self._probe(drawn)
            except TaskError as error:
                notes.append(f"Probes were not fitted: {error}")
            notes.append(
                "Known number of each prompt: the odds of the unchanged model. Probes separate them at the median."
            )
        else:
            notes.append(f"{len(drawn)} prompts are too few to hold some out: the odds are not reported.")
        if tested is not None and len(set(tested.labels or ())) == 2 and len(tested.texts) > 2:
            asked = replace(
                self.prompts,
                prompts=tested.texts,
                known=_correct_sides(tested, self.prompts).tolist(),
                groups=tested.groups,
            )
            made["definitions"] = asked
        if not unseen:
            notes.append("The perplexity is that of training texts, since too few are given to hold some out.")
        learned = np.flatnonzero(~drawn)
        rest = tuple(text for text, out in zip(self.texts, lines, strict=True) if not out)
        part = _Preference(self.prompts.only(learned.tolist()), self.odds[learned], rest, preserved)
        return part, InterventionTests(unseen or list(self.texts), **made), notes

    def with_probe(
        self, tests: InterventionTests, random_state: int
    ) -> tuple[_Preference, InterventionTests, list[str]]:
        """Return a part to learn from, the tests with a probe on the other prompts, and notes."""
        drawn = self._held_out(np.random.default_rng(random_state))
        try:
            if not drawn.any():
                raise TaskError(f"{len(drawn)} prompts are too few to hold some out.")
            tests = replace(tests, probe=self._probe(drawn))
        except TaskError as error:
            return self, tests, [f"Probes were not fitted: {error}"]
        learned = np.flatnonzero(~drawn)
        part = replace(self, prompts=self.prompts.only(learned.tolist()), odds=self.odds[learned])
        note = f"Probes see {int(drawn.sum())} held-out prompts, in two classes: odds above or below their median."
        return part, tests, [note]

    def _held_out(self, generator: np.random.Generator) -> NDArray[np.bool_]:
        """Return which prompts are held out, in whole groups; none if they are too few."""
        numbers = self.prompts.group_numbers
        drawn = generator.permutation(int(numbers.max()) + 1)[numbers] % _PARTS == 0
        enough = drawn.sum() >= 3 and (~drawn).sum() >= 3
        return drawn if enough else np.zeros(len(drawn), dtype=bool)

    def _probe(self, drawn: NDArray[np.bool_]) -> LabelledTexts:
        """Return held-out prompts in two classes, above and below the median odds; raise if they are too few."""
        rows = np.flatnonzero(drawn)
        odds, asked = self.odds[rows], self.prompts.only(rows.tolist())
        above = tuple((odds > np.median(odds)).astype(float).tolist())
        groups = None if asked.groups is None else tuple(str(each) for each in asked.groups)
        return check_probed(LabelledTexts(tuple(asked.prompts), above, groups), "the held-out part")


def _checked_layers(layers: Iterable[int], count: int, strength: float) -> tuple[int, ...]:
    if not np.isfinite(strength):
        raise TaskError(Argument("strength", strength), " is given; a finite number is needed.")
    return resolve_layers(as_list(layers, "layers"), count)


def _needs_probe(tests: InterventionTests) -> bool:
    return tests.probe is None and len(tests.probe_layers) > 0


def _probed_from(tests: InterventionTests, places: Sequence[int], count: int, notes: list[str]) -> InterventionTests:
    """Return the tests with probes at every layer from the first changed one on, unless other layers are given."""
    if tests.probe is None or tuple(tests.probe_layers) != _LAST_LAYER:
        return tests
    layers, n_all = probed_layers(places, count), count - min(places)
    if len(layers) < n_all:
        notes.append(
            f"Probes were fitted at {len(layers)} of the {n_all} layers from the first changed one on. Every changed "
            "layer and the last layer are among them."
        )
    return replace(tests, probe_layers=layers)


def probed_layers(places: Sequence[int], count: int) -> list[int]:
    """Return the layers at which probes are refitted: from the first changed one to the last, at most 12 if possible.

    The changed layers and the last one are always included. The others are evenly spaced.

    >>> probed_layers([3, 5], 8), probed_layers([2, 10], 30)
    ([3, 4, 5, 6, 7], [2, 5, 8, 10, 11, 14, 16, 18, 21, 23, 26, 29])
    """
    always = {*places, count - 1}
    between = [layer for layer in range(min(places), count) if layer not in always]
    if len(always) + len(between) > _MOST_PROBED:
        spaced = np.linspace(0, len(between) - 1, max(0, _MOST_PROBED - len(always)) + 2)[1:-1]
        between = [between[round(place)] for place in spaced.tolist()]
    return sorted(always.union(between))


def _removal(model: Any, changes: dict[int, LayerChange], strength: float, name: str) -> Intervention:
    checksum = model_checksum(model)
    return Intervention("project", changes, strength, model=model_name(model), checksum=checksum, name=name)


def _sides(texts: LabelledTexts) -> Matrix:
    """Return 1 for the texts of the higher class, 0 for the others."""
    labels = np.asarray(texts.labels)
    return np.asarray(labels == np.unique(labels)[-1], dtype=np.float64)


def _correct_sides(texts: LabelledTexts, asked: Continuations) -> Matrix:
    """Return 1 for the prompts whose high continuation is correct, 0 for the others.

    A label is a number, the higher one for the high continuation, or one of the continuations.
    """
    if np.asarray(texts.labels).dtype.kind not in "US":
        return _sides(texts)
    high, low = ({word.strip().lower() for word in side} for side in asked.sides)
    named = [str(label).strip().lower() for label in texts.labels or ()]
    strange = next((label for label in named if (label in high) == (label in low)), None)
    if strange is not None:
        raise TaskError(
            f"preserve has the label {strange!r}, which is not one of the continuations. Label a prompt with its "
            "correct continuation, or with 1 if the high one is correct and 0 if the low one is."
        )
    return np.array([float(label in high) for label in named])


def _indicators(texts: LabelledTexts) -> Matrix:
    """Return one column for each class: 1 for its texts, 0 for the others."""
    kinds, numbers = np.unique(np.asarray(texts.labels), return_inverse=True)
    return np.eye(len(kinds))[numbers]


def _split(texts: LabelledTexts, random_state: int) -> tuple[LabelledTexts, LabelledTexts]:
    """Return labelled texts to learn from, and held-out texts in whole groups."""
    _, numbers, counts = np.unique(np.asarray(texts.labels), return_inverse=True, return_counts=True)
    sides = numbers.astype(np.float64)
    groups = None if texts.groups is None else number_groups(texts.groups)
    least = int(counts.min())
    parts = min(_PARTS, least if groups is None else min(least, int(groups.max()) + 1))
    if parts < 2:
        raise TaskError(f"{len(texts.texts)} texts are given; at least two of each class, in two groups, are needed.")
    held_out = fold_numbers(sides, groups, parts, random_state) == 0
    return texts.only(np.flatnonzero(~held_out).tolist()), texts.only(np.flatnonzero(held_out).tolist())


def _odds_within(templates: Sequence[Any] | None, odds: Matrix) -> Matrix:
    """Return log odds minus the mean of their template; raise if there is nothing left to learn from."""
    if templates is not None:
        if len(templates) != len(odds):
            raise TaskError(f"{len(templates)} templates are given for {len(odds)} prompts; one each is needed.")
        _, numbers = np.unique([str(template) for template in templates], return_inverse=True)
        odds = odds - (np.bincount(numbers, odds) / np.bincount(numbers))[numbers]
    if not np.ptp(odds):
        said = "" if templates is None else " of a template"
        raise TaskError(
            f"the odds are the same after all prompts{said}, so there is nothing to remove. Give more prompts."
        )
    return odds


def learn_changes(
    model: Any,
    tokenizer: Any,
    text_sets: Sequence[Sequence[str]],
    layers: Sequence[int],
    make: Callable[..., AffineMap],
    *,
    in_order: bool = True,
    progress: Progress | None = None,
) -> dict[int, LayerChange]:
    """Return the change after each of some layers, computed by `make` from the states of each set of texts there.

    With `in_order`, a layer learns from states that the earlier layers have changed; without, all layers learn from
    the unchanged model. Each pass stops after the layer that is learned.
    """
    changes: dict[int, LayerChange] = {}
    for together in [[layer] for layer in sorted(layers)] if in_order else [list(layers)]:
        with under(model, Intervention("project", dict(changes)) if changes else None):
            states = [read_states(model, tokenizer, texts, layers=together) for texts in text_sets]
        for layer in together:
            changes[layer] = LayerChange.of(make(*(np.asarray(each[layer], dtype=np.float64) for each in states)))
        if progress is not None:
            progress(len(changes), len(layers))
    return changes


def _without_level(removal: Intervention, level: Callable[[Intervention], float]) -> Intervention:
    """Return a removal whose last layer is shifted until a level is 0, by the secant method; the best one found."""
    last = max(removal.layers)
    change = removal.changes[last]
    read = change.left[:, 0].astype(np.float64)

    def shifted(step: float) -> Intervention:
        # The origin moves so that every coordinate falls by `step`: states move by strength x step x right.
        origin = (change.origin + step * read / (read @ read)).astype(np.float32)
        return replace(removal, changes={**removal.changes, last: replace(change, origin=origin)})

    steps, levels = [0.0, 1.0], [level(removal), level(shifted(1.0))]
    while len(steps) < _BALANCING_RUNS and min(map(abs, levels)) > _BALANCED:
        slope = (levels[-1] - levels[-2]) / (steps[-1] - steps[-2]) if steps[-1] != steps[-2] else 0.0
        if slope == 0.0 or not np.isfinite(slope):
            break
        steps.append(steps[-1] - levels[-1] / slope)
        levels.append(level(shifted(steps[-1])))
    finite = [abs(each) if np.isfinite(each) else np.inf for each in levels]
    return shifted(steps[int(np.argmin(finite))])
