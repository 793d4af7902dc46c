"""The analogy benchmark: every pair asked while it is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, is_foreign
from densray._threads import Progress, map_parallel
from densray.analogies import AnalogySet
from densray.analogy._pairs import (
    BenchmarkProtocol,
    Examples,
    Folds,
    SkippedPair,
    UsableCategory,
    case_matters,
    checked_protocol,
    find_usable,
)
from densray.analogy._products import Vocabulary
from densray.analogy._result import AnalogyResult, CategoryResult, GroupResult, Prediction, weighted_mean
from densray.analogy._search import Found, Questions, Trained, search
from densray.analogy._solver import Solver
from densray.analogy._solvers import make_solver
from densray.errors import AnalogyError, TaskError, name_some
from densray.journal import Journal, Run
from densray.report import Input, Provenance
from densray.space import WordSpace

_NO_EXAMPLE = "no example is left without its words"
_ALONE = "the only usable pair of its category"


@dataclass(frozen=True)
class Outcome:
    """One category solved by one method."""

    result: CategoryResult
    category: UsableCategory
    examples: Sequence[tuple[str, str] | None] = ()
    questions: Questions | None = None
    found: Found | None = None

    def predictions(self, space: WordSpace) -> list[Prediction]:
        """Return every question with its answers."""
        if self.questions is None or self.found is None:
            return []
        return [self._prediction(number, space) for number in range(len(self.questions))]

    def _prediction(self, number: int, space: WordSpace) -> Prediction:
        assert self.questions is not None
        assert self.found is not None
        pair = self.category.pairs[int(self.questions.fold[number])].pair
        rows = [row for row in self.found.rows[number].tolist() if row >= 0]
        return Prediction(
            self.category.name,
            pair.query,
            pair.answers,
            self.examples[number],
            tuple(space.words[row] for row in rows),
            tuple(self.found.scores[number, : len(rows)].tolist()),
            right=bool(rows) and rows[0] in self.questions.right[number],
            rank=int(self.found.ranks[number]) or None,
        )


def ask_category(
    vocabulary: Vocabulary,
    category: UsableCategory,
    solvers: Sequence[Solver],
    k: int,
    *,
    protocol: BenchmarkProtocol = "user",
) -> list[Outcome]:
    """Return what each solver makes of a category; fewer than two usable pairs cannot be asked."""
    examples = Examples(vocabulary, category.pairs)
    cosines = _mean_cosines(examples)
    asked, folds, queries = _askable(category, Folds.leave_one_out(examples, protocol))
    trained = [solver.train(folds, queries, asked.pairs) for solver in solvers if len(asked)]
    if not trained:
        return [Outcome(_unasked(category, asked, cosines), category) for _ in solvers]
    answers = search(vocabulary, trained, k=k)
    return [_outcome(asked, one, found, cosines) for one, found in zip(trained, answers, strict=True)]


def _askable(category: UsableCategory, folds: Folds) -> tuple[UsableCategory, Folds, NDArray[np.float64]]:
    """Return the category without pairs whose folds have no example left, the folds, and the queries' vectors."""
    able: NDArray[np.bool_] = np.asarray(folds.pair_keep.any(axis=1))
    reason = _ALONE if len(category) < 2 else _NO_EXAMPLE
    skipped = tuple(
        SkippedPair(pair.pair.query, pair.pair.answer, reason)
        for pair, kept in zip(category.pairs, able, strict=True)
        if not kept
    )
    pairs = tuple(pair for pair, kept in zip(category.pairs, able, strict=True) if kept)
    asked = UsableCategory(category.name, category.group, pairs, category.total, category.skipped + skipped)
    return asked, folds.only(able), folds.examples.left[able]


def _mean_cosines(examples: Examples) -> tuple[float | None, float | None, float | None]:
    """Return the mean cosine of the pairs, and of left and right words among themselves, diagonal included."""
    if len(examples) == 0:
        return None, None, None
    left, right = examples.left, examples.right
    inter = float(np.einsum("ij,ij->i", left, right).mean())
    # The mean of a full matrix of cosines is the squared length of the mean vector.
    return inter, float(np.sum(left.mean(axis=0) ** 2)), float(np.sum(right.mean(axis=0) ** 2))


def _unasked(
    category: UsableCategory, asked: UsableCategory, cosines: tuple[float | None, float | None, float | None]
) -> CategoryResult:
    return CategoryResult(
        category.name, category.group, len(category), category.total, 0, None, None, None, *cosines, asked.skipped
    )


def _outcome(
    category: UsableCategory,
    trained: Trained,
    found: Found,
    cosines: tuple[float | None, float | None, float | None],
) -> Outcome:
    questions = trained.questions
    right = [set(rows) for rows in questions.right]
    listed = found.rows.tolist()
    first = np.array([row[0] in answers for row, answers in zip(listed, right, strict=True)], dtype=float)
    among = np.array([bool(answers.intersection(row)) for row, answers in zip(listed, right, strict=True)], dtype=float)
    reciprocal = np.where(found.ranks > 0, 1.0 / np.maximum(found.ranks, 1), 0.0)
    hits, at_k, ranks = (_by_pair(values, questions.fold, len(category)) for values in (first, among, reciprocal))
    result = CategoryResult(
        category.name,
        category.group,
        len(category),
        category.total,
        len(questions),
        float(hits.mean()),
        float(at_k.mean()),
        float(ranks.mean()),
        *cosines,
        category.skipped,
        hits,
    )
    return Outcome(result, category, trained.examples, questions, found)


def _by_pair(values: NDArray[np.float64], fold: NDArray[np.int64], pairs: int) -> NDArray[np.float64]:
    """Return the mean over the questions of each pair."""
    return np.asarray(np.bincount(fold, values, minlength=pairs) / np.bincount(fold, minlength=pairs))


#: A category and, where they were asked for, its questions with their answers.
Solved = tuple[CategoryResult, list[Prediction]]

#: One fits on the host while the other keeps the device busy; more would queue for the interpreter (measured).
_DEVICE_THREADS = 2


def evaluate_analogies(
    space: WordSpace,
    analogies: AnalogySet,
    solver: str | Solver = "intcos-original",
    *,
    protocol: BenchmarkProtocol = "user",
    k: int = 10,
    any_case: bool | None = None,
    predictions: bool = False,
    vectors: Array | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> AnalogyResult:
    """Return how many analogies a solver gets right when each pair is left out in turn.

    Parameters
    ----------
    space : WordSpace
        The vocabulary that answers come from.
    analogies : AnalogySet
    solver : str or Solver
        A name of `SOLVERS`, or a solver of this space.
    protocol : "user" or "paper"
        What is trained on while a pair is asked: all other pairs (``"user"``), or what is left of them without every
        word of the pair (``"paper"``); see the notes.
    k : int
        How many answers are kept for each question, and the k of precision@k.
    any_case : bool, optional
        Whether a word that is not in the space takes the first that equals it in lower case. By default True for
        sets in lower case throughout (BATS, MSR) and False for others (Google).
    predictions : bool
        Whether the result carries every question with its answers.
    vectors : array of shape (n_words, d), optional
        Used in place of the space's own, in the order of its words: a PyTorch or CuPy array, say, on whose device
        everything of the size of the vocabulary is then computed. float32 or float64.
    progress : callable, optional
        Called with the number of categories done, and of all.
    journal : Journal, optional
        Keeps each solved category until the run is done; see `densray.journal`.

    Notes
    -----
    Both protocols: a pair counts if its query and first answer are in the vocabulary; only the query itself (in any
    case) is barred as an answer; any listed answer is right.

    ``"user"`` gives what ``solver.fit(all other pairs).predict(query)`` gives. ``"paper"`` is the protocol of Dufter &
    Schütze (2019), section 4: training uses the first answers of all other pairs, less every word of the pair asked.
    Where answers repeat, this takes the right answer, and no other, out of the examples, so that its absence can be
    recognised: do not compare methods that count the words of the examples, such as `IntRank`, by it.
    """
    return compare_solvers(
        space,
        analogies,
        [solver],
        protocol=protocol,
        k=k,
        any_case=any_case,
        predictions=predictions,
        vectors=vectors,
        progress=progress,
        journal=journal,
    )[0]


def compare_solvers(
    space: WordSpace,
    analogies: AnalogySet,
    solvers: Sequence[str | Solver],
    *,
    protocol: BenchmarkProtocol = "user",
    k: int = 10,
    any_case: bool | None = None,
    predictions: bool = False,
    vectors: Array | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> list[AnalogyResult]:
    """Return the result of each solver on the same set; what they share (axes, cosines) is computed once.

    Parameters are those of `evaluate_analogies`.
    """
    provenance = Provenance.begin()
    protocol = checked_protocol(protocol)
    vocabulary = Vocabulary(space, vectors)
    made = [_checked(solver, space) for solver in solvers]
    any_case = not case_matters(analogies) if any_case is None else any_case
    usable = find_usable(space, analogies, any_case=any_case)
    _check_any(space, analogies, usable)
    ask = partial(_solve, vocabulary, solvers=made, protocol=protocol, k=k, predictions=predictions)
    settings = [_settings(solver) for solver in made]
    run = (journal or Journal()).run("analogies", space, vectors, usable, settings, protocol, k, predictions)
    threads = _DEVICE_THREADS if is_foreign(vocabulary.vectors) else None
    solved = _solve_all(ask, usable, run, threads, progress)
    inputs = [Input.of("space", space), Input("analogies", analogies.name, size=sum(map(len, analogies)))]
    if vectors is not None:
        inputs.append(Input("vectors", f"{vectors.dtype} on {getattr(vectors, 'device', 'cpu')}", size=len(space)))
    missing = [pair for category in usable for pair in category.skipped]
    words = space.absent(word for pair in missing for word in (pair.query, pair.answer))
    done = provenance.finish(inputs=inputs, used=sum(map(len, usable)), missing=words, resumed=run.n_reused)
    return [
        _result(space, analogies.name, solver.name, protocol, [one[place] for one in solved], k, done)
        for place, solver in enumerate(made)
    ]


def _check_any(space: WordSpace, analogies: AnalogySet, usable: Sequence[UsableCategory]) -> None:
    if any(len(category) for category in usable):
        return
    missing = space.absent(analogies.words)
    by_case = any(map(len, find_usable(space, analogies, any_case=True)))
    hint = "Pass any_case=True." if by_case else "Is it the right language and vocabulary?"
    raise AnalogyError(
        f"0 of {sum(map(len, analogies))} pairs of '{analogies.name}' have both words in '{space.name}' "
        f"(first missing: {name_some(missing)}). {hint}"
    )


def _checked(solver: str | Solver, space: WordSpace) -> Solver:
    if isinstance(solver, str):
        return make_solver(solver, space)
    if solver.space is not space:
        raise TaskError(f"{type(solver).__name__} was made for '{solver.space.name}', not for '{space.name}'.")
    return solver


def _settings(solver: Solver) -> object:
    """Return what decides the answers of a solver besides the space; one from elsewhere is returned as it is."""
    kind = type(solver)
    return {**vars(solver), "space": kind.__name__} if kind.__module__.startswith("densray.") else solver


def _solve(
    vocabulary: Vocabulary,
    category: UsableCategory,
    *,
    solvers: Sequence[Solver],
    protocol: BenchmarkProtocol,
    k: int,
    predictions: bool,
) -> list[Solved]:
    outcomes = ask_category(vocabulary, category, solvers=solvers, k=k, protocol=protocol)
    return [(outcome.result, outcome.predictions(vocabulary.space) if predictions else []) for outcome in outcomes]


def _solve_all(
    ask: Callable[[UsableCategory], list[Solved]],
    usable: Sequence[UsableCategory],
    run: Run,
    threads: int | None,
    progress: Progress | None,
) -> list[list[Solved]]:
    def solve(category: UsableCategory) -> list[Solved]:
        return run.part(category.name, partial(ask, category), CategoryResult, SkippedPair, Prediction)

    return map_parallel(solve, usable, threads=threads, progress=progress)


def _result(
    space: WordSpace,
    analogies: str,
    solver: str,
    protocol: BenchmarkProtocol,
    solved: Sequence[Solved],
    k: int,
    provenance: Provenance,
) -> AnalogyResult:
    categories = tuple(result for result, _ in solved)
    asked = [one for one in categories if one.precision is not None]
    precisions = [one.precision for one in asked if one.precision is not None]
    return AnalogyResult(
        solver,
        space.name,
        analogies,
        protocol,
        k,
        micro=weighted_mean(asked, attrgetter("precision")),
        macro=float(np.mean(precisions)) if asked else None,
        macro_std=float(np.std(precisions)) if asked else None,
        precision_at_k=weighted_mean(asked, attrgetter("precision_at_k")),
        reciprocal_rank=weighted_mean(asked, attrgetter("reciprocal_rank")),
        categories=categories,
        groups=tuple(group_lines(categories)),
        predictions=tuple(one for _, predictions in solved for one in predictions),
        provenance=provenance,
    )


def group_lines(categories: Sequence[CategoryResult]) -> list[GroupResult]:
    """Return each group of categories as one line, by means over pairs."""
    groups = dict.fromkeys(one.group for one in categories if one.group)
    return [_group(name, [one for one in categories if one.group == name]) for name in groups]


def _group(name: str, members: Sequence[CategoryResult]) -> GroupResult:
    measures = ("precision", "reciprocal_rank", "inter", "intra_left", "intra_right")
    return GroupResult(
        name,
        sum(one.pairs for one in members if one.precision is not None),
        sum(one.pairs_total for one in members),
        *(weighted_mean(members, attrgetter(measure)) for measure in measures),
    )
