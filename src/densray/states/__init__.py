"""Concepts inside language models: read them layer by layer, remove and steer them while a model runs.

:func:`read_states` writes the hidden states of texts, :func:`compare_layers` says at which layer and by which method a
concept can be read on texts held out, and an :class:`Intervention` changes the states in the forward pass. Needs the
extra ``models`` (torch, transformers, safetensors, gguf).
"""

from __future__ import annotations

from densray.states._evaluation import (
    InterventionResult,
    InterventionRow,
    SweepPoint,
    choose_point,
    evaluate_intervention,
    remove_preference,
    sweep_front,
    sweep_interventions,
)
from densray.states._intervention import OPERATIONS, Intervention, LayerChange
from densray.states._layers import ChosenLayer, LayerComparison, LayerScore, compare_layers
from densray.states._measures import (
    Continuations,
    InterventionTests,
    continuation_log_odds,
    generate_texts,
    log_perplexity,
    sentence_log_likelihoods,
)
from densray.states._models import LoadedModel, find_blocks, load_model, model_checksum
from densray.states._reading import TokenStates, read_states, read_tokens
from densray.states._storage import LabelledTexts, States

__all__ = [
    "OPERATIONS",
    "ChosenLayer",
    "Continuations",
    "Intervention",
    "InterventionResult",
    "InterventionRow",
    "InterventionTests",
    "LabelledTexts",
    "LayerChange",
    "LayerComparison",
    "LayerScore",
    "LoadedModel",
    "States",
    "SweepPoint",
    "TokenStates",
    "choose_point",
    "compare_layers",
    "continuation_log_odds",
    "evaluate_intervention",
    "find_blocks",
    "generate_texts",
    "load_model",
    "log_perplexity",
    "model_checksum",
    "read_states",
    "read_tokens",
    "remove_preference",
    "sentence_log_likelihoods",
    "sweep_front",
    "sweep_interventions",
]
