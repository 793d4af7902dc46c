"""Removing a concept, and measuring what went and what stayed."""

from __future__ import annotations

from densray.tasks.debiasing.concept import Concept, concept_of, load_concept
from densray.tasks.debiasing.evaluation import MeasuredSpace, RemovalResult, evaluate_removal, measure_original
from densray.tasks.debiasing.measures import Reference, measure_space
from densray.tasks.debiasing.preview import RemovalPreview, erased_space, find_erasure, preview_removal, typical_anchors
from densray.tasks.debiasing.recovery import say_what_is_left

__all__ = [
    "Concept",
    "MeasuredSpace",
    "Reference",
    "RemovalPreview",
    "RemovalResult",
    "concept_of",
    "erased_space",
    "evaluate_removal",
    "find_erasure",
    "load_concept",
    "measure_original",
    "measure_space",
    "preview_removal",
    "say_what_is_left",
    "typical_anchors",
]
