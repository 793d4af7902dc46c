"""Axes of labelled words: found, judged, saved, used to score a vocabulary, and evaluated.

``fit_axis`` and ``diagnose`` say how far an axis can be trusted, ``induce`` scores every word of a space along it,
``compare_methods``, ``evaluate_induction`` and ``evaluate_stability`` compare methods on words held out.
"""

from __future__ import annotations

from densray.axes._comparison import (
    COMPARABLE,
    QUICK_METHODS,
    FailedTrial,
    MethodComparison,
    MethodTrial,
    compare_methods,
    compare_trials,
    found_trials,
    trial_rows,
    try_method,
)
from densray.axes._diagnose import diagnose, diagnose_axis
from densray.axes._diagnosis import Agreement, Diagnosis, Verdict
from densray.axes._evidence import degrees_between
from densray.axes._files import SavedAxis, fit_axis, induce_by_axis, is_axis_file, save_axis
from densray.axes._frames import induce_frame
from densray.axes._lexicon_evaluation import (
    DEFAULT_METHODS,
    InductionSurvey,
    LexiconInduction,
    MethodScore,
    RepeatedInduction,
    check_methods,
    evaluate_induction,
    repeat_induction,
)
from densray.axes._model import AxisModel
from densray.axes._options import AxisOptions, find_seeds, fit_rotation
from densray.axes._protocol import PAPER_METHODS, HeldOutTau, Protocol, TrainTest, fit_method
from densray.axes._resampling import AxisErrors, SeedAngle
from densray.axes._scoring import WRITERS, Induction, induce, score_vocabulary
from densray.axes._spaces import SpaceComparison, compare_spaces
from densray.axes._stability import DEFAULT_SIZES, STABILITY_METHODS, SizeScore, Stability, evaluate_stability
from densray.axes._views import (
    AxisChange,
    AxisRelation,
    axis_change,
    axis_ends,
    axis_relation,
    map_frame,
    map_rows,
    standardized,
    words_like_seeds,
)

__all__ = [
    "COMPARABLE",
    "DEFAULT_METHODS",
    "DEFAULT_SIZES",
    "PAPER_METHODS",
    "QUICK_METHODS",
    "STABILITY_METHODS",
    "WRITERS",
    "Agreement",
    "AxisChange",
    "AxisErrors",
    "AxisModel",
    "AxisOptions",
    "AxisRelation",
    "Diagnosis",
    "FailedTrial",
    "HeldOutTau",
    "Induction",
    "InductionSurvey",
    "LexiconInduction",
    "MethodComparison",
    "MethodScore",
    "MethodTrial",
    "Protocol",
    "RepeatedInduction",
    "SavedAxis",
    "SeedAngle",
    "SizeScore",
    "SpaceComparison",
    "Stability",
    "TrainTest",
    "Verdict",
    "axis_change",
    "axis_ends",
    "axis_relation",
    "check_methods",
    "compare_methods",
    "compare_spaces",
    "compare_trials",
    "degrees_between",
    "diagnose",
    "diagnose_axis",
    "evaluate_induction",
    "evaluate_stability",
    "find_seeds",
    "fit_axis",
    "fit_method",
    "fit_rotation",
    "found_trials",
    "induce",
    "induce_by_axis",
    "induce_frame",
    "is_axis_file",
    "map_frame",
    "map_rows",
    "repeat_induction",
    "save_axis",
    "score_vocabulary",
    "standardized",
    "trial_rows",
    "try_method",
    "words_like_seeds",
]
