"""Splits that keep groups together: test sets and cross-validation folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import check_seed
from densray.errors import Argument, LexiconError, TaskError, TooFewRowsError, one_line
from densray.groups import first_of_group, pairwise_rows, rows_of_groups
from densray.rows import Rows
from densray.spelling import spelling_key

__all__ = ["count_folds", "draw_folds", "draw_test_words", "fold_numbers", "group_folds", "stratified_folds"]


def draw_test_words(
    words: Sequence[str],
    labels: NDArray[np.float64],
    test_size: float,
    random_state: int | np.random.RandomState | None,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Return which words are held out for testing; groups stay whole (see `Lexicon.split`)."""
    if not 0 < test_size < 1:
        raise LexiconError(Argument("test_size"), f" is {test_size}; a number between 0 and 1 is needed, such as 0.2.")
    check_seed(random_state)
    spellings = [spelling_key(word, any_case=True) for word in words]
    if groups is not None:  # a group, and words spelled alike, are represented by their first spelling
        firsts = first_of_group([*pairwise_rows(spellings), *pairwise_rows(groups.tolist())], len(words))
        spellings = [spellings[row] for row in firsts.tolist()]
    together: dict[str, float] = {}
    for key, label in zip(spellings, labels.tolist(), strict=True):
        together.setdefault(key, label)
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    strata = np.array(list(together.values())) if len(np.unique(labels)) == 2 else np.zeros(len(together))
    keys = np.array(list(together), dtype=object)
    test: set[str] = set()
    for stratum in np.unique(strata):
        members = random.permutation(keys[strata == stratum])
        test.update(members[: round(test_size * len(members))])
    in_test = np.array([key in test for key in spellings])
    if in_test.all() or not in_test.any():
        raise LexiconError(
            f"{len(words)} words cannot be split with ", Argument("test_size", test_size), ": one side would be empty."
        )
    return in_test


def group_folds(
    values: NDArray[np.float64], groups: NDArray[np.int64], n_folds: int, random_state: int | None
) -> NDArray[np.int64]:
    """Return the fold of each row. Groups stay whole; folds have similar class shares, or similar mean scores."""
    folds = np.empty(len(values), dtype=np.int64)
    if len(np.unique(values)) == 2:
        from sklearn.model_selection import StratifiedGroupKFold

        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=random_state)
        for number, (_, test) in enumerate(splitter.split(values, values, groups)):
            folds[test] = number
    else:
        random, members = np.random.default_rng(random_state), rows_of_groups(groups)
        shuffled = random.permutation(len(members))
        order = shuffled[np.argsort([values[members[unit]].mean() for unit in shuffled.tolist()], kind="stable")]
        draws = np.concatenate([random.permutation(n_folds) for _ in range(-(-len(order) // n_folds))])
        for unit, number in zip(order.tolist(), draws.tolist(), strict=False):
            folds[members[unit]] = number
    for number in range(n_folds):
        if np.ptp(values[folds != number], axis=0) == 0.0:
            raise TaskError(
                f"without one of the {n_folds} folds, only one class is left: {len(np.unique(groups))} groups are too "
                "few, or too large. Use fewer folds, or smaller groups."
            )
    return folds


def count_folds(rows: Rows, wanted: int) -> int:
    """Return how many folds the rows allow: each fold needs a row of both classes, or two scores."""
    if wanted < 2:
        raise TaskError(Argument("folds", wanted), " is given; cross-validation needs at least 2.")
    if rows.groups is not None:
        return _count_group_folds(rows, wanted)
    low, high = int(np.sum(rows.sides < 0)), int(np.sum(rows.sides > 0))
    if min(low, high) < 2:
        sides, add = _describe_sides(rows, low, high, "Add rows")
        raise TooFewRowsError(
            f"{len(rows)} rows were found, {sides}; at least two of each are needed to hold some out.{rows.label_note} "
            f"{add}."
        )
    return min(wanted, low, high)


def _describe_sides(rows: Rows, low: int, high: int, add: str) -> tuple[str, str]:
    """Return how many rows or groups each of two sides has, and what to add, or which class may be a mistake."""
    if len(rows.class_names) != 2:
        return f"{high} of the higher label and {low} of the lower", add
    first, second = (f"'{one_line(name, width=40)}'" for name in rows.class_names)
    rare = second if high < low else first
    remedy = f"{add}. If {rare} is not a class, leave its label empty" if rows.table else add
    return f"{high} of {second} and {low} of {first}", remedy


def stratified_folds(rows: Rows, n_folds: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each seed: of every `n_folds` neighbours in label order, one goes to each fold.

    Classes keep their shares in every fold, and scores their distribution. Groups stay whole.
    """
    if rows.groups is not None:
        return group_folds(rows.targets, rows.groups, n_folds, int(random.integers(2**31)))
    shuffled = random.permutation(len(rows))
    order = shuffled[np.argsort(rows.y[shuffled], kind="stable")]
    folds = np.empty(len(rows), dtype=np.int64)
    if not rows.is_binary:
        draws = [random.permutation(n_folds) for _ in range(-(-len(rows) // n_folds))]
        folds[order] = np.concatenate(draws)[: len(rows)]
        return folds
    for label in np.unique(rows.y):
        members = order[rows.y[order] == label]
        folds[members] = np.arange(len(members)) % n_folds
    return folds


def _count_group_folds(rows: Rows, n_folds: int) -> int:
    assert rows.groups is not None
    low, high = (len(np.unique(rows.groups[rows.sides == side])) for side in (-1.0, 1.0))
    if min(low, high) < 2:
        n_groups = len(rows.members)
        sides, add = _describe_sides(rows, low, high, "Use smaller groups, or add rows")
        raise TooFewRowsError(
            f"{len(rows)} rows were found in {n_groups} group{'' if n_groups == 1 else 's'}: {sides}; at least two "
            f"groups with each are needed to hold groups out.{rows.label_note} {add}."
        )
    return min(n_folds, low, high)


def draw_folds(rows: Rows, wanted: int, random_state: int | np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each row: `wanted` folds, or fewer if the rows do not allow as many."""
    return stratified_folds(rows, count_folds(rows, wanted), np.random.default_rng(random_state))


def fold_numbers(
    sides: NDArray[np.floating], groups: NDArray[np.int64] | None, n_folds: int, random_state: int | None
) -> NDArray[np.int64]:
    """Return the fold of each row of two classes, with equal class shares; rows of a group share a fold.

    >>> fold_numbers(np.array([1.0, -1.0, 1.0, -1.0]), None, 2, 0).tolist()
    [1, 0, 0, 1]
    """
    if groups is not None:
        return group_folds(np.asarray(sides, dtype=np.float64), groups, n_folds, random_state)
    from sklearn.model_selection import StratifiedKFold

    folds = np.empty(len(sides), dtype=np.int64)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    for number, (_, test) in enumerate(splitter.split(sides, sides)):
        folds[test] = number
    return folds
