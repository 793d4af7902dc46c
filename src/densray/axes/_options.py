"""The options of an axis, its seeds (labelled words found in a space), and the rotation fitted on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np
from sklearn.base import clone

from densray._vocabulary import check_seed
from densray.alignment import Alignment
from densray.errors import LexiconError, VectorError, name_some
from densray.lexicon import Groups, Lexicon
from densray.rotations import Rotation, make_rotation
from densray.space import WordSpace


class AxisChoices(TypedDict, total=False):
    """The keyword arguments that stand for fields of :class:`AxisOptions`."""

    normalize: bool
    any_case: bool
    folds: int
    n_resamples: int | None
    n_permutations: int | None
    max_refits: int
    random_state: int
    label_names: tuple[str, str] | None
    scale: str | None
    groups: Groups


@dataclass(frozen=True)
class AxisOptions:
    """How an axis is found and judged: what `fit_axis`, `diagnose`, `induce` and `induce_frame` have in common.

    Each field can be given to those functions by its name, or all of them as `options`.

    Attributes
    ----------
    normalize : bool, default=True
        Whether vectors count at unit length.
    any_case : bool, default=False
        Whether a seed that is not in the space takes the first word that equals it in lower case.
    folds : int, default=10
        Of the cross-validation behind held-out figures and probabilities; fewer where the seeds are few.
    n_resamples : int, optional
        Fits without a group of seeds behind the standard errors, where each takes a fit; 50.
    n_permutations : int, optional
        Of the permutation test: 999, or 99 on a sample of the seeds.
    max_refits : int, default=50
        Seeds left out one by one where that has no closed form.
    random_state : int, default=0
        Draws folds, groups of seeds and permutations.
    label_names : pair of str, optional
        What the low and the high end of the axis are called.
    scale : {None, "columns"}
        Whether the axis is found in columns divided by their standard deviations; see
        :class:`densray.rotations.Rotation`.
    groups : mapping of words to groups, sequence or "proposed", optional
        Which seeds are left out together, wherever seeds are left out: in folds, errors, the permutation test and the
        choice of a penalty. A sequence has one per word of the lexicon; "proposed" takes pairs, repeats and twins
        together (:func:`densray.alignment.propose_groups`). By default those that the lexicon has.

    Examples
    --------
    >>> AxisOptions(folds=5).changed(any_case=True).folds
    5
    """

    normalize: bool = True
    any_case: bool = False
    folds: int = 10
    n_resamples: int | None = None
    n_permutations: int | None = None
    max_refits: int = 50
    random_state: int = 0
    label_names: tuple[str, str] | None = None
    scale: str | None = None
    groups: Groups = None

    def __post_init__(self) -> None:
        check_seed(self.random_state)

    def changed(self, **choices: Unpack[AxisChoices]) -> AxisOptions:
        """Return the options with some of them replaced."""
        return replace(self, **choices)


#: What counts where nothing is chosen.
DEFAULTS = AxisOptions()


def find_seeds(
    space: WordSpace,
    lexicon: Lexicon,
    options: AxisOptions = DEFAULTS,
    *,
    pairs: Iterable[Sequence[str]] | None = None,
) -> Alignment:
    """Return the words of a lexicon that are in a space, ready to find an axis; too few of them are a named error.

    `pairs` are words that belong together, for the groups that are proposed.
    """
    found = lexicon.align(
        space, any_case=options.any_case, minimum=2, order="lexicon", groups=options.groups, pairs=pairs or ()
    )
    if np.ptp(found.y) == 0.0:
        raise LexiconError(
            f"all {found.n_words} words of '{lexicon.name}' found in '{space.name}' have the label "
            f"{found.y[0]:g} ({name_some(found.words)}); an axis needs words of another label, or other scores."
        )
    zero = np.flatnonzero(~found.X.any(axis=1))
    if zero.size:
        named = name_some(found.words[row] for row in zero.tolist())
        raise VectorError(f"the vectors of {named} are zero: they have no direction. Leave those words out.")
    return found.unit() if options.normalize else found


def fit_rotation(
    method: str | Rotation, seeds: Alignment, *, n_components: int | None = 1, scale: str | None = None
) -> Rotation:
    """Return a rotation fitted on the seeds, by name or as given; one that is fitted already is returned as it is.

    `scale` is what the rotation scales by, unless it is given with a scale of its own.
    """
    if isinstance(method, str) or not hasattr(method, "components_"):
        unfitted: Rotation = make_rotation(method, n_components) if isinstance(method, str) else clone(method)
        if scale is not None and unfitted.scale is None:
            unfitted.set_params(scale=scale)
        return unfitted.fit(seeds.X, seeds.y, groups=seeds.groups)
    if method.components_.shape[1] != seeds.X.shape[1]:
        raise VectorError(
            f"the rotation has axes of width {method.components_.shape[1]}, the space vectors of {seeds.X.shape[1]}. "
            "Use the space it was fitted on, or fit again."
        )
    return method
