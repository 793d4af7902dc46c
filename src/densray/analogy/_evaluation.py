"""Evaluate solvers on an analogy set: each pair is asked while it is left out.

1. The categories of the set are located in the space (`locate_categories`).
2. For each category, an array marks the examples visible while each pair is asked (`leave_one_out`).
3. Each solver learns from these examples, for all pairs of the category at once (`Solver.learn`).
4. One pass over the vocabulary ranks its words for every question of every solver (`search`).
5. The rankings give the precision of each category, and the categories give the result (`AnalogyResult`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from densray._arrays import Array, is_foreign
from densray._threads import map_parallel
from densray.analogies import AnalogySet
from densray.analogy._examples import (
    BenchmarkProtocol,
    Examples,
    MeanCosines,
    checked_protocol,
    leave_one_out,
    visible_pairs,
)
from densray.analogy._located import LocatedCategory, SkippedPair, locate_categories
from densray.analogy._products import UnitVectors
from densray.analogy._registry import make_solver
from densray.analogy._result import AnalogyResult, CategoryResult, Prediction
from densray.analogy._scorer import Ranking, Scorer
from densray.analogy._search import search
from densray.analogy._solver import Solver
from densray.errors import Advice, AnalogyError, Argument, TaskError, first_missing, shorten
from densray.journal import Journal
from densray.progress import Progress
from densray.report import Input, Provenance
from densray.space import WordSpace, as_space

_NO_EXAMPLE = "no example is left without its words"
_ALONE = "the only usable pair of its category"

#: Threads on a device: one fits on the host while the other keeps the device busy. More are slower (measured).
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
    """Return the share of analogies that a solver answers correctly when each pair is left out in turn.

    Parameters
    ----------
    space : WordSpace
        The vocabulary that answers come from.
    analogies : AnalogySet
    solver : str or Solver
        A name of `SOLVERS`, or a solver of this space.
    protocol : "user" or "paper"
        Examples used for a question: all other pairs (``"user"``), or only those that share no word with the pair asked
        about (``"paper"``); see the notes.
    k : int
        Number of answers to keep for each question, and the k of precision@k.
    any_case : bool, optional
        If a word is not in the space, whether to take the first word that is equal in lower case (default: True for
        sets that are all lower case, such as BATS and MSR, and False for others, such as Google).
    predictions : bool
        Whether the result contains every question with its answers.
    vectors : array of shape (n_words, d), optional
        Used instead of the vectors of the space, in the order of its words: for example a PyTorch or CuPy array. All
        computations over the vocabulary then run on the device of this array. float32 or float64.
    progress : callable, optional
        Called with the number of categories done and their total.
    journal : Journal, optional
        Stores each solved category until the run is done; see `densray.journal`.

    Notes
    -----
    In both protocols, a pair counts if its query and its first answer are in the vocabulary. The query itself, in any
    capitals, is never an answer. Solvers such as 3CosAdd also exclude the words of the example. Any listed answer is
    correct.

    ``"user"`` is equivalent to ``solver.fit(all other pairs).predict(query)``. ``"paper"`` is the protocol of Dufter &
    Schütze (2019), section 4: solvers learn from the first answers of all other pairs, without any word of the pair
    asked. If several pairs share an answer, all examples with the correct answer are left out. This leaks the answer: a
    solver can find it as the only answer that never occurs in the examples. Do not use it to compare solvers that count
    the words of the examples, such as `IntRank`.
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
    """Return the result of each solver on the same set; shared axes and cosines are computed once.

    `solvers` are names or solvers of this space; all other parameters are those of :func:`evaluate_analogies`.
    """
    space = as_space(space)
    if not isinstance(analogies, AnalogySet):
        raise TaskError(
            f"{shorten(analogies)} is not an AnalogySet. Load a file or a data set with load_analogies "
            "(densray.datasets)."
        )
    provenance = Provenance.begin()
    protocol = checked_protocol(protocol)
    unit = UnitVectors(space, vectors)
    chosen = [_solver_of(space, solver) for solver in solvers]
    any_case = analogies.is_lower_case if any_case is None else any_case
    categories = locate_categories(space, analogies, any_case=any_case)
    _check_any_usable(space, analogies, categories)

    settings = [_settings(solver) for solver in chosen]
    run = (journal or Journal()).run("analogies", space, vectors, categories, settings, protocol, k, predictions)
    solve = partial(_solve_category, unit, chosen, protocol=protocol, k=k, predictions=predictions)

    def solve_or_resume(category: LocatedCategory) -> list[tuple[CategoryResult, list[Prediction]]]:
        return run.part(category.name, partial(solve, category), CategoryResult, SkippedPair, Prediction)

    threads = _DEVICE_THREADS if is_foreign(unit.vectors) else None
    solved = map_parallel(solve_or_resume, categories, threads=threads, progress=progress)

    finished = provenance.finish(
        inputs=_inputs(space, analogies, vectors),
        used=sum(map(len, categories)),
        missing=_missing_words(space, categories),
        resumed=run.n_reused,
    )
    return [
        AnalogyResult.of_categories(
            [category for category, _ in by_category],
            solver=solver.name,
            space=space.name,
            analogies=analogies.name,
            protocol=protocol,
            k=k,
            provenance=finished,
            predictions=[prediction for _, answers in by_category for prediction in answers],
        )
        for solver, by_category in zip(chosen, zip(*solved, strict=True), strict=True)
    ]


def _solve_category(
    unit: UnitVectors,
    solvers: Sequence[Solver],
    category: LocatedCategory,
    *,
    protocol: BenchmarkProtocol,
    k: int,
    predictions: bool,
) -> list[tuple[CategoryResult, list[Prediction]]]:
    """Ask every pair of a category while it is left out; return the results of all solvers and, on request, answers."""
    examples = Examples(unit, category)
    visible = leave_one_out(examples, protocol)
    answerable = visible_pairs(visible).any(axis=1)  # at least one example pair is left
    asked = category.skip(np.flatnonzero(~answerable), _ALONE if len(category) < 2 else _NO_EXAMPLE)
    cosines = examples.mean_cosines()
    if len(asked) == 0:
        return [(_empty_result(category, asked, cosines), []) for _ in solvers]
    scorers = [solver.learn(examples, visible[answerable], asked) for solver in solvers]
    rankings = search(unit, scorers, k=k)
    return [
        (
            _category_result(asked, scorer, ranking, cosines),
            _predictions(unit.space, asked, scorer, ranking) if predictions else [],
        )
        for scorer, ranking in zip(scorers, rankings, strict=True)
    ]


def _empty_result(category: LocatedCategory, asked: LocatedCategory, cosines: MeanCosines) -> CategoryResult:
    """Return the result of a category if no pair could be asked."""
    return CategoryResult(
        category=category.name,
        group=category.group,
        pairs=len(asked),
        pairs_total=category.total,
        questions=0,
        precision=None,
        precision_at_k=None,
        reciprocal_rank=None,
        inter=cosines.inter,
        intra_left=cosines.intra_left,
        intra_right=cosines.intra_right,
        skipped=asked.skipped,
    )


def _category_result(asked: LocatedCategory, scorer: Scorer, ranking: Ranking, cosines: MeanCosines) -> CategoryResult:
    """Return the precision of a solver on the pairs asked."""
    correct = [set(rows) for rows in scorer.correct]
    ranked_rows = ranking.rows.tolist()
    first = [rows[0] in answers for rows, answers in zip(ranked_rows, correct, strict=True)]
    among = [bool(answers.intersection(rows)) for rows, answers in zip(ranked_rows, correct, strict=True)]
    reciprocal = np.where(ranking.ranks > 0, 1.0 / np.maximum(ranking.ranks, 1), 0.0)
    hits, hits_at_k, reciprocal_ranks = (
        _mean_by_pair(np.array(values, dtype=float), scorer.pair, len(asked)) for values in (first, among, reciprocal)
    )
    return CategoryResult(
        category=asked.name,
        group=asked.group,
        pairs=len(asked),
        pairs_total=asked.total,
        questions=len(scorer),
        precision=float(hits.mean()),
        precision_at_k=float(hits_at_k.mean()),
        reciprocal_rank=float(reciprocal_ranks.mean()),
        inter=cosines.inter,
        intra_left=cosines.intra_left,
        intra_right=cosines.intra_right,
        skipped=asked.skipped,
        hits=hits,
    )


def _mean_by_pair(values: NDArray[np.float64], pair: NDArray[np.int64], pairs: int) -> NDArray[np.float64]:
    """Return the mean over the questions about each pair."""
    return np.asarray(np.bincount(pair, values, minlength=pairs) / np.bincount(pair, minlength=pairs))


def _predictions(space: WordSpace, asked: LocatedCategory, scorer: Scorer, ranking: Ranking) -> list[Prediction]:
    """Return every question with its answers."""
    predictions = []
    for question, place in enumerate(scorer.pair.tolist()):
        pair = asked.pairs[place]
        rows = [row for row in ranking.rows[question].tolist() if row >= 0]
        predictions.append(
            Prediction(
                category=asked.name,
                query=pair.query,
                answers=pair.answers,
                example=scorer.example[question],
                words=tuple(space.words[row] for row in rows),
                scores=tuple(ranking.scores[question, : len(rows)].tolist()),
                correct=bool(rows) and rows[0] in scorer.correct[question],
                rank=int(ranking.ranks[question]) or None,
            )
        )
    return predictions


def _solver_of(space: WordSpace, solver: str | Solver) -> Solver:
    if isinstance(solver, str):
        return make_solver(solver, space)
    if solver.space is not space:
        raise TaskError(f"{type(solver).__name__} was made for '{solver.space.name}', not for '{space.name}'.")
    return solver


def _check_any_usable(space: WordSpace, analogies: AnalogySet, categories: Sequence[LocatedCategory]) -> None:
    if any(map(len, categories)):
        return
    by_case = any(map(len, locate_categories(space, analogies, any_case=True)))
    in_any_case = Advice(" Pass ", Argument("any_case", True), ".")
    raise AnalogyError(
        f"0 of {sum(map(len, analogies))} pairs of '{analogies.name}' have both words in '{space.name}'"
        f"{first_missing(space.absent(analogies.words))}.",
        in_any_case if by_case else " Is it the right language and vocabulary?",
    )


def _settings(solver: Solver) -> object:
    """Return everything besides the space that determines the answers; a foreign solver is returned unchanged."""
    kind = type(solver)
    if not kind.__module__.startswith("densray."):
        return solver
    learned = ("space", "skipped", "_examples")
    return kind.__name__, {name: value for name, value in vars(solver).items() if name not in learned}


def _inputs(space: WordSpace, analogies: AnalogySet, vectors: Array | None) -> list[Input]:
    inputs = [Input.of("space", space), Input("analogies", analogies.name, size=sum(map(len, analogies)))]
    if vectors is not None:
        inputs.append(Input("vectors", f"{vectors.dtype} on {getattr(vectors, 'device', 'cpu')}", size=len(space)))
    return inputs


def _missing_words(space: WordSpace, categories: Sequence[LocatedCategory]) -> list[str]:
    skipped = [pair for category in categories for pair in category.skipped]
    return space.absent(word for pair in skipped for word in (pair.query, pair.answer))
