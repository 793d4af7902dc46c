"""How much of a concept a space holds, and what removing it costs: one file per family of measures.

Every measure takes a space and word lists (yours, in any language) and returns a :class:`Measurement`: a number, its
interval or p-value, how many words it rests on and which were missing.
"""

from __future__ import annotations

from densray.bias.anchors import AnchorGap, anchor_gap
from densray.bias.associations import Association, association, association_test
from densray.bias.clusters import cluster_accuracy
from densray.bias.direction import direct_bias, indirect_bias, pair_direction
from densray.bias.lipstick import BiasedWords, cluster_test, most_biased, neighbor_test, recovery_test
from densray.bias.measurement import Measurement
from densray.bias.probes import Probe, probe
from densray.bias.quality import analogy_accuracy, neighbor_overlap, similarity
from densray.bias.sembias import PairChoice, SemBiasQuestion, pair_choice, read_sembias
from densray.bias.sentiment import SentimentBias, sentiment_bias

__all__ = [
    "AnchorGap",
    "Association",
    "BiasedWords",
    "Measurement",
    "PairChoice",
    "Probe",
    "SemBiasQuestion",
    "SentimentBias",
    "analogy_accuracy",
    "anchor_gap",
    "association",
    "association_test",
    "cluster_accuracy",
    "cluster_test",
    "direct_bias",
    "indirect_bias",
    "most_biased",
    "neighbor_overlap",
    "neighbor_test",
    "pair_choice",
    "pair_direction",
    "probe",
    "read_sembias",
    "recovery_test",
    "sentiment_bias",
    "similarity",
]
