"""The methods: scikit-learn estimators that rotate a space so that its first axes represent a concept."""

from densray.methods import METHODS, Method, make_rotation, name_method
from densray.rotations._base import Rotation
from densray.rotations._densifier import Densifier
from densray.rotations._densray import DensRay
from densray.rotations._differences import MeanDifference, PairDirection
from densray.rotations._linear import LinearRotation
from densray.rotations._ridge import RIDGE_PENALTIES, log_prior
from densray.rotations._seeded import SeededRidge
from densray.rotations._sequence import SequentialRotation

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
    "SeededRidge",
    "SequentialRotation",
    "log_prior",
    "make_rotation",
    "name_method",
]
