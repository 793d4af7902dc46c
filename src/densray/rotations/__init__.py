"""The methods: scikit-learn estimators that rotate a space so that its first axes are a concept."""

from densray._methods import METHODS, Method, make_rotation, name_method
from densray.rotations._base import Rotation
from densray.rotations._densifier import Densifier
from densray.rotations._densray import DensRay
from densray.rotations._differences import MeanDifference, PairDirection
from densray.rotations._input import median_split
from densray.rotations._linear import LinearRotation
from densray.rotations._ridge import RIDGE_PENALTIES, log_prior
from densray.rotations._sequence import SequentialRotation
from densray.rotations._whitened import WhitenedDensRay

__all__ = [
    "METHODS",
    "RIDGE_PENALTIES",
    "DensRay",
    "Densifier",
    "LinearRotation",
    "MeanDifference",
    "Method",
    "PairDirection",
    "Rotation",
    "SequentialRotation",
    "WhitenedDensRay",
    "log_prior",
    "make_rotation",
    "median_split",
    "name_method",
]
