"""Concepts inside language models: read them layer by layer, remove and steer them while a model runs.

:func:`read_states` writes the hidden states of texts, :func:`compare_layers` says at which layer and by which method a
concept can be read on texts held out, and an :class:`Intervention` changes the states in the forward pass. Needs the
extra ``models`` (torch, transformers, safetensors, gguf).
"""

from __future__ import annotations

from densray.states._intervention import OPERATIONS, Intervention, LayerChange
from densray.states._layers import ChosenLayer, LayerComparison, LayerScore, compare_layers
from densray.states._models import find_blocks, model_checksum
from densray.states._reading import read_states
from densray.states._storage import States

__all__ = [
    "OPERATIONS",
    "ChosenLayer",
    "Intervention",
    "LayerChange",
    "LayerComparison",
    "LayerScore",
    "States",
    "compare_layers",
    "find_blocks",
    "model_checksum",
    "read_states",
]
