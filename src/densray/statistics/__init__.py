"""Statistics of a fitted axis: held-out scores, jackknife errors, leave-one-out axes, permutation tests.

Each statistic is one function of a fitted rotation and its :class:`densray.Rows`. Rows of a group are always left out
together. :class:`densray.Axis` collects them into a diagnosis. Figures computed from labels and scores alone, such as
the AUC and its interval, are in :mod:`densray.metrics`; splits are in :mod:`densray.folds`.
"""

from __future__ import annotations

from densray.statistics._held_out import (
    HELD_OUT_INFLATION,
    held_out_scores,
    is_closed_form,
    is_linear_in_labels,
    is_mean_difference,
    is_ridge,
    refit,
)
from densray.statistics._jackknife import (
    AxisErrors,
    ScoreFreedom,
    SeedAngle,
    axes_without_each,
    axis_errors,
    closed_form_deviations,
    directions_without,
    find_score_freedom,
    find_seed_angle,
    keeps_closed_form,
    with_fewer_rows,
)
from densray.statistics._permutation import (
    PermutationTest,
    check_n_permutations,
    p_value,
    permutation_test,
    permuted_labels,
)

__all__ = [
    "HELD_OUT_INFLATION",
    "AxisErrors",
    "PermutationTest",
    "ScoreFreedom",
    "SeedAngle",
    "axes_without_each",
    "axis_errors",
    "check_n_permutations",
    "closed_form_deviations",
    "directions_without",
    "find_score_freedom",
    "find_seed_angle",
    "held_out_scores",
    "is_closed_form",
    "is_linear_in_labels",
    "is_mean_difference",
    "is_ridge",
    "keeps_closed_form",
    "p_value",
    "permutation_test",
    "permuted_labels",
    "refit",
    "with_fewer_rows",
]
