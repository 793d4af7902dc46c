"""Concepts inside language models: measure them layer by layer, remove and steer them while a model runs.

:func:`read_states` writes the hidden states of texts. :func:`compare_layers` finds the layer and the method that detect
a concept best on held-out texts. An :class:`Intervention` changes the states in the forward pass. All of this needs the
extra ``models`` (torch, transformers, safetensors, gguf).
"""

from __future__ import annotations

from densray.states._blocks import find_blocks
from densray.states._chat import Messages, contrast, read_contrast
from densray.states._controls import open_controls, read_controls
from densray.states._evaluation import (
    InterventionResult,
    InterventionRow,
    SweepPoint,
    choose_point,
    evaluate_intervention,
    sweep_front,
    sweep_interventions,
)
from densray.states._generation import generate_texts
from densray.states._intervention import OPERATIONS, Intervention, LayerChange, SpanPositions
from densray.states._layers import (
    DEFAULT_METHODS,
    ChosenLayer,
    LayerComparison,
    LayerControl,
    LayerScore,
    compare_layers,
)
from densray.states._measures import InterventionTests, check_classes, check_probed, two_classes
from densray.states._models import LoadedModel, load_model
from densray.states._next_tokens import (
    Continuations,
    continuation_log_odds,
    log_perplexity,
    sentence_log_likelihoods,
)
from densray.states._reading import TokenStates, read_states, read_tokens
from densray.states._removal import remove_concept, remove_preference
from densray.states._steering import (
    FACTS,
    STEERING_METHODS,
    SteeringPoint,
    SteeringResult,
    encoder_judge,
    steer,
    word_judge,
)
from densray.states._storage import States, count_finished, is_states_folder
from densray.states._texts import LabelledTexts, read_prompts
from densray.states._weights import model_checksum, weight_differences

__all__ = [
    "DEFAULT_METHODS",
    "FACTS",
    "OPERATIONS",
    "STEERING_METHODS",
    "ChosenLayer",
    "Continuations",
    "Intervention",
    "InterventionResult",
    "InterventionRow",
    "InterventionTests",
    "LabelledTexts",
    "LayerChange",
    "LayerComparison",
    "LayerControl",
    "LayerScore",
    "LoadedModel",
    "Messages",
    "SpanPositions",
    "States",
    "SteeringPoint",
    "SteeringResult",
    "SweepPoint",
    "TokenStates",
    "check_classes",
    "check_probed",
    "choose_point",
    "compare_layers",
    "continuation_log_odds",
    "contrast",
    "count_finished",
    "encoder_judge",
    "evaluate_intervention",
    "find_blocks",
    "generate_texts",
    "is_states_folder",
    "load_model",
    "log_perplexity",
    "model_checksum",
    "open_controls",
    "read_contrast",
    "read_controls",
    "read_prompts",
    "read_states",
    "read_tokens",
    "remove_concept",
    "remove_preference",
    "sentence_log_likelihoods",
    "steer",
    "sweep_front",
    "sweep_interventions",
    "two_classes",
    "weight_differences",
    "word_judge",
]
