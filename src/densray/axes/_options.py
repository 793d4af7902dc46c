"""The options of an axis: how its words are found, how it is fitted, and how it is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from densray._vocabulary import check_seed
from densray.errors import TaskError, check_flag, suggest
from densray.lexicon import Groups


class AxisChoices(TypedDict, total=False):
    """Keyword arguments that correspond to the fields of :class:`AxisOptions`."""

    normalize: bool
    any_case: bool | None
    folds: int
    n_resamples: int | None
    n_permutations: int | None
    max_refits: int
    random_state: int
    label_names: tuple[str, str] | None
    standardize: bool
    groups: Groups
    clip_labels: bool | None


@dataclass(frozen=True)
class AxisOptions:
    """How an axis is found and checked: the options that `fit_axis`, `diagnose` and `induce` share.

    Each field can be given to those functions by its name, or all of them as `options`.

    Attributes
    ----------
    normalize : bool, default=True
        Whether to scale vectors to unit length.
    any_case : bool, optional
        How to treat a seed that the space has only in other capitalisations. None: take that spelling if there is
        exactly one. True: take the first. False: the seed is missing.
    folds : int, default=10
        Number of cross-validation folds for held-out statistics and probabilities; fewer are used if there are few
        seeds.
    n_resamples : int, optional
        For standard errors of methods without a closed form: the number of jackknife refits (default 50).
    n_permutations : int, optional
        Number of label permutations (default 999; 199 for more than 5,000 seeds; 99 on a sample of the seeds for
        methods without a closed form).
    max_refits : int, default=50
        For the influence of seeds, in methods without a closed form: how many seeds to leave out, one at a time.
    random_state : int, default=0
        Fixes the random numbers for folds, groups of seed words and permutations.
    label_names : pair of str, optional
        Names of the low and the high end of the axis. If the rows have two named classes, these names choose which
        class is the high end.
    standardize : bool, default=False
        Whether to divide columns by their standard deviations before fitting; see :class:`densray.rotations.Rotation`.
    groups : mapping of words to groups, sequence, "forms", "proposed" or None, default="forms"
        Which seeds are left out together: in folds, errors, the permutation test and the choice of a penalty. A
        sequence has one group per word of the lexicon. "forms": use the groups of the lexicon. If it has none, group
        inflected forms of one word, such as *cat* and *cats* (:func:`densray.groups.find_forms`). "proposed": inflected
        forms, pairs, repeats and twins (:func:`densray.groups.propose_groups`), in place of the groups of the lexicon.
        None: the groups of the lexicon if it has any; otherwise every seed is left out alone.
    clip_labels : bool, optional
        Whether scores far outside the range of the others, such as 70 among scores from 1 to 9, are moved to the end of
        that range (:func:`densray.rows.plausible_range`). Default: only for the method "auto".

    Examples
    --------
    >>> AxisOptions(folds=5).changed(any_case=True).folds
    5
    """

    normalize: bool = True
    any_case: bool | None = None
    folds: int = 10
    n_resamples: int | None = None
    n_permutations: int | None = None
    max_refits: int = 50
    random_state: int = 0
    label_names: tuple[str, str] | None = None
    standardize: bool = False
    groups: Groups = "forms"
    clip_labels: bool | None = None

    def __post_init__(self) -> None:
        check_seed(self.random_state)

    def changed(self, **choices: Unpack[AxisChoices]) -> AxisOptions:
        """Return the options with some of them replaced."""
        unknown = next((name for name in choices if name not in AxisChoices.__annotations__), None)
        if unknown is not None:
            raise TaskError(f"{unknown!r} is not an option of an axis. {suggest(unknown, AxisChoices.__annotations__)}")
        for name in ("normalize", "standardize", "clip_labels"):
            if name in choices:
                check_flag(choices[name], name)
        return replace(self, **choices)


#: Default options.
DEFAULTS = AxisOptions()
