"""The directions of concepts: fitted to labelled rows, checked, saved, used to score, and compared.

:class:`Axis` is the object; :func:`fit_axis`, :func:`diagnose` and :func:`induce` are short functions from a space and
a lexicon to an axis, its diagnosis, or a scored vocabulary. :func:`compare_methods`, :func:`compare_spaces`,
:func:`evaluate_induction` and :func:`evaluate_stability` compare axes on held-out words.
"""

from __future__ import annotations

from densray.axes._axis import Axis, check_rows, fit_rotation, measure_agreement
from densray.axes._comparison import (
    COMPARABLE,
    QUICK_METHODS,
    FailedMethod,
    MethodComparison,
    MethodTrial,
    compare_methods,
    compare_trials,
    found_trials,
    method_verdict,
    recommended_method,
    trial_rows,
    try_method,
)
from densray.axes._diagnosis import Agreement, Diagnosis, inputs_of
from densray.axes._ends import end_difference
from densray.axes._evidence import NearMiss, degrees_between, near_misses
from densray.axes._induction import WRITERS, Induction, check_ending, rank_words
from densray.axes._large import fit_large, fit_table
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
from densray.axes._mean_scores import MeanScores, mean_scores
from densray.axes._options import AxisOptions
from densray.axes._people import expected_agreement
from densray.axes._protocol import PAPER_METHODS, HeldOutTau, Protocol, TrainTest, fit_method
from densray.axes._ratings import RatingAgreement, evaluate_ratings
from densray.axes._several import ClassesDiagnosis, diagnose_classes
from densray.axes._space_record import KnownVectors, SpaceRecord
from densray.axes._spaces import SpaceComparison, compare_spaces
from densray.axes._stability import DEFAULT_SIZES, STABILITY_METHODS, SizeScore, Stability, evaluate_stability
from densray.axes._tables import SCORE_COLUMNS, write_scores
from densray.axes._tasks import diagnose, find_rows, fit_axis, induce
from densray.axes._uncertainty import Calibration, Scores, Uncertainty
from densray.axes._verdict import AUC_MARKS, RELIABILITY_MARKS, Verdict
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
    "AUC_MARKS",
    "COMPARABLE",
    "DEFAULT_METHODS",
    "DEFAULT_SIZES",
    "PAPER_METHODS",
    "QUICK_METHODS",
    "RELIABILITY_MARKS",
    "SCORE_COLUMNS",
    "STABILITY_METHODS",
    "WRITERS",
    "Agreement",
    "Axis",
    "AxisChange",
    "AxisOptions",
    "AxisRelation",
    "Calibration",
    "ClassesDiagnosis",
    "Diagnosis",
    "FailedMethod",
    "HeldOutTau",
    "Induction",
    "InductionSurvey",
    "KnownVectors",
    "LexiconInduction",
    "MeanScores",
    "MethodComparison",
    "MethodScore",
    "MethodTrial",
    "NearMiss",
    "Protocol",
    "RatingAgreement",
    "RepeatedInduction",
    "Scores",
    "SizeScore",
    "SpaceComparison",
    "SpaceRecord",
    "Stability",
    "TrainTest",
    "Uncertainty",
    "Verdict",
    "axis_change",
    "axis_ends",
    "axis_relation",
    "check_ending",
    "check_methods",
    "check_rows",
    "compare_methods",
    "compare_spaces",
    "compare_trials",
    "degrees_between",
    "diagnose",
    "diagnose_classes",
    "end_difference",
    "evaluate_induction",
    "evaluate_ratings",
    "evaluate_stability",
    "expected_agreement",
    "find_rows",
    "fit_axis",
    "fit_large",
    "fit_method",
    "fit_rotation",
    "fit_table",
    "found_trials",
    "induce",
    "inputs_of",
    "map_frame",
    "map_rows",
    "mean_scores",
    "measure_agreement",
    "method_verdict",
    "near_misses",
    "rank_words",
    "recommended_method",
    "repeat_induction",
    "standardized",
    "trial_rows",
    "try_method",
    "words_like_seeds",
    "write_scores",
]
