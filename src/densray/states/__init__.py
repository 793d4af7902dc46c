"""Concepts inside language models: read them layer by layer, remove and steer them while a model runs.

:func:`read_states` writes the hidden states of texts, :func:`compare_layers` says at which layer and by which method a
concept can be read on texts held out, and an :class:`Intervention` changes the states in the forward pass. Needs the
extra ``models`` (torch, transformers, safetensors, gguf).
"""

from __future__ import annotations

from densray.states._evaluation import (
    InterventionResult,
    InterventionRow,
    InterventionTests,
    SweepPoint,
    evaluate_intervention,
    sweep_interventions,
)
from densray.states._intervention import OPERATIONS, Intervention, LayerChange
from densray.states._layers import ChosenLayer, LayerComparison, LayerScore, compare_layers
from densray.states._measures import Continuations, continuation_log_odds, log_perplexity, sentence_log_likelihoods
from densray.states._models import find_blocks, model_checksum
from densray.states._reading import read_states
from densray.states._storage import States

__all__ = [
    "OPERATIONS",
    "ChosenLayer",
    "Continuations",
    "Intervention",
    "InterventionResult",
    "InterventionRow",
    "InterventionTests",
    "LayerChange",
    "LayerComparison",
    "LayerScore",
    "States",
    "SweepPoint",
    "compare_layers",
    "continuation_log_odds",
    "evaluate_intervention",
    "find_blocks",
    "log_perplexity",
    "model_checksum",
    "read_states",
    "sentence_log_likelihoods",
    "sweep_interventions",
]
