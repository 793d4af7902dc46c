"""Remove a concept from a space, and measure how much of it remains and how well everything else is preserved.

Measures take a space and word lists and return a :class:`Measurement`; :func:`evaluate_removal` compares removers.
A :class:`densray.erasure.Erasure` removes a concept.
"""

from __future__ import annotations

from densray.debiasing._associations import (
    Association,
    PairChoice,
    SemBiasQuestion,
    SentimentBias,
    association,
    association_test,
    pair_choice,
    read_sembias,
    rnsb,
    sentiment_bias,
    weat,
)
from densray.debiasing._concept import Concept, concept_of, is_concept, load_concept
from densray.debiasing._direction import AnchorGap, anchor_gap, direct_bias, indirect_bias, pair_direction
from densray.debiasing._evaluation import (
    DRAWN,
    Reference,
    RemovalResult,
    best_removed,
    evaluate_removal,
    measure_original,
    measure_space,
    measure_topics,
    summarize_recovery,
)
from densray.debiasing._measurement import MeasuredSpace, Measurement
from densray.debiasing._preview import RemovalPreview, common_words, preview_removal, typical_anchors
from densray.debiasing._quality import analogy_accuracy, neighbor_overlap, similarity
from densray.debiasing._recovery import (
    BiasedWords,
    Probe,
    cluster_test,
    most_biased,
    neighbor_test,
    probe,
    recovery_test,
)

__all__ = [
    "DRAWN",
    "AnchorGap",
    "Association",
    "BiasedWords",
    "Concept",
    "MeasuredSpace",
    "Measurement",
    "PairChoice",
    "Probe",
    "Reference",
    "RemovalPreview",
    "RemovalResult",
    "SemBiasQuestion",
    "SentimentBias",
    "analogy_accuracy",
    "anchor_gap",
    "association",
    "association_test",
    "best_removed",
    "cluster_test",
    "common_words",
    "concept_of",
    "direct_bias",
    "evaluate_removal",
    "indirect_bias",
    "is_concept",
    "load_concept",
    "measure_original",
    "measure_space",
    "measure_topics",
    "most_biased",
    "neighbor_overlap",
    "neighbor_test",
    "pair_choice",
    "pair_direction",
    "preview_removal",
    "probe",
    "read_sembias",
    "recovery_test",
    "rnsb",
    "sentiment_bias",
    "similarity",
    "summarize_recovery",
    "typical_anchors",
    "weat",
]
