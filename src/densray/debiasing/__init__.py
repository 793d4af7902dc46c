"""Removing a concept from a space, and measuring what went and what stayed.

A remover learns an :class:`Erasure` (one affine map) from labelled words; measures take a space and word lists and
return a :class:`Measurement`; :func:`evaluate_removal` puts removers side by side.
"""

from __future__ import annotations

from densray._leace import leace
from densray.debiasing._associations import (
    Association,
    PairChoice,
    SemBiasQuestion,
    SentimentBias,
    association,
    association_test,
    pair_choice,
    read_sembias,
    sentiment_bias,
)
from densray.debiasing._concept import Concept, concept_of, is_concept, load_concept
from densray.debiasing._direction import AnchorGap, anchor_gap, direct_bias, indirect_bias, pair_direction
from densray.debiasing._evaluation import (
    Reference,
    RemovalResult,
    evaluate_removal,
    measure_original,
    measure_space,
    summarize_recovery,
)
from densray.debiasing._measurement import MeasuredSpace, Measurement
from densray.debiasing._plan import (
    DEFAULT_REMOVER,
    PlannedRemoval,
    RefitTest,
    plan_axis_removal,
    plan_removal,
    words_needed,
)
from densray.debiasing._preview import RemovalPreview, find_erasure, preview_removal, typical_anchors
from densray.debiasing._quality import analogy_accuracy, neighbor_overlap, similarity
from densray.debiasing._recovery import (
    BiasedWords,
    Probe,
    cluster_accuracy,
    cluster_test,
    most_biased,
    neighbor_test,
    probe,
    recovery_test,
    refitted_auc,
)
from densray.debiasing._removers import REMOVERS, Remover, double_hard, inlp, make_remover
from densray.erasure import Erasure, Removal, equalized

__all__ = [
    "DEFAULT_REMOVER",
    "REMOVERS",
    "AnchorGap",
    "Association",
    "BiasedWords",
    "Concept",
    "Erasure",
    "MeasuredSpace",
    "Measurement",
    "PairChoice",
    "PlannedRemoval",
    "Probe",
    "Reference",
    "RefitTest",
    "Removal",
    "RemovalPreview",
    "RemovalResult",
    "Remover",
    "SemBiasQuestion",
    "SentimentBias",
    "analogy_accuracy",
    "anchor_gap",
    "association",
    "association_test",
    "cluster_accuracy",
    "cluster_test",
    "concept_of",
    "direct_bias",
    "double_hard",
    "equalized",
    "evaluate_removal",
    "find_erasure",
    "indirect_bias",
    "inlp",
    "is_concept",
    "leace",
    "load_concept",
    "make_remover",
    "measure_original",
    "measure_space",
    "most_biased",
    "neighbor_overlap",
    "neighbor_test",
    "pair_choice",
    "pair_direction",
    "plan_axis_removal",
    "plan_removal",
    "preview_removal",
    "probe",
    "read_sembias",
    "recovery_test",
    "refitted_auc",
    "sentiment_bias",
    "similarity",
    "summarize_recovery",
    "typical_anchors",
    "words_needed",
]
