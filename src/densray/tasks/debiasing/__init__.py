"""Removing a concept, and measuring what went and what stayed."""

from __future__ import annotations

from densray.tasks.debiasing.concept import Concept, load_concept
from densray.tasks.debiasing.evaluation import MeasuredSpace, RemovalResult, evaluate_removal
from densray.tasks.debiasing.measures import Reference, measure_space

__all__ = [
    "Concept",
    "MeasuredSpace",
    "Reference",
    "RemovalResult",
    "evaluate_removal",
    "load_concept",
    "measure_space",
]
