"""Find, measure and remove concepts in embedding spaces.

Estimators know numbers, spaces and lexicons know words, tasks join them::

    from densray import DensRay, Lexicon, load_space

The names below are the whole public surface; each is imported when it is first used, so that
``from densray import DensRay`` needs numpy, scipy and scikit-learn and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from densray._version import __version__

if TYPE_CHECKING:
    from densray.datasets import list_datasets, load_space
    from densray.lexicon import Lexicon
    from densray.persistence import load_rotation, save_rotation
    from densray.rotations import (
        Densifier,
        DensRay,
        LinearRotation,
        MeanDifference,
        PairDirection,
        SequentialRotation,
        WhitenedDensRay,
    )
    from densray.space import WordSpace

_HOME = {
    "DensRay": "densray.rotations",
    "Densifier": "densray.rotations",
    "Lexicon": "densray.lexicon",
    "LinearRotation": "densray.rotations",
    "MeanDifference": "densray.rotations",
    "PairDirection": "densray.rotations",
    "SequentialRotation": "densray.rotations",
    "WhitenedDensRay": "densray.rotations",
    "WordSpace": "densray.space",
    "list_datasets": "densray.datasets",
    "load_rotation": "densray.persistence",
    "load_space": "densray.datasets",
    "save_rotation": "densray.persistence",
}

__all__ = [
    "DensRay",
    "Densifier",
    "Lexicon",
    "LinearRotation",
    "MeanDifference",
    "PairDirection",
    "SequentialRotation",
    "WhitenedDensRay",
    "WordSpace",
    "__version__",
    "list_datasets",
    "load_rotation",
    "load_space",
    "save_rotation",
]


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("densray.errors")
    if name not in _HOME:
        raise AttributeError(f"module 'densray' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "errors"})
