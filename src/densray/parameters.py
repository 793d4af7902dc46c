"""Parameters of rotations as JSON, nested estimators included, and back again without a pickle."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from densray.errors import PersistenceError

__all__ = ["decode_parameters", "encode_parameters", "rotation_classes"]


def rotation_classes() -> dict[str, type]:
    """Return the rotations by the name of their class: the public ones, and those in the table of methods."""
    from densray import rotations

    public = (getattr(rotations, name) for name in rotations.__all__)
    named = (type(method.make(1)) for method in rotations.METHODS.values())
    return {
        value.__name__: value
        for value in (*public, *named)
        if isinstance(value, type) and issubclass(value, rotations.Rotation) and value is not rotations.Rotation
    }


def encode_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the constructor's parameters as values JSON can hold."""
    return {name: _encode(value) for name, value in estimator.get_params(deep=False).items()}


def decode_parameters(encoded: dict[str, Any]) -> dict[str, Any]:
    """Return parameters from what :func:`encode_parameters` returned."""
    return {name: _decode(value) for name, value in encoded.items()}


def _encode(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_encode(item) for item in value]
    if isinstance(value, BaseEstimator):
        return {"class": type(value).__name__, "parameters": encode_parameters(value)}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # its state was used up by the fit
    raise PersistenceError(
        f"the parameter value {value!r} cannot be saved. Use numbers, text, or scikit-learn estimators."
    )


def _decode(value: object) -> object:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if isinstance(value, dict):
        known = {**_scikit_learn_estimators(), **rotation_classes()}
        if value.get("class") not in known:
            raise PersistenceError(
                f"the file names the estimator {value.get('class')!r}, neither a rotation nor part of scikit-learn. "
                "Only those are made from a file."
            )
        return known[value["class"]](**decode_parameters(value["parameters"]))
    return value


@cache
def _scikit_learn_estimators() -> dict[str, type]:
    from sklearn.utils.discovery import all_estimators

    return dict(all_estimators())
