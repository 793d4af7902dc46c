"""The methods by name: add a line here and the command line, the tasks, the docs and the checks know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from densray.errors import DensRayError, suggest
from densray.rotations._base import Rotation
from densray.rotations._densifier import Densifier
from densray.rotations._densray import DensRay
from densray.rotations._differences import MeanDifference, PairDirection
from densray.rotations._linear import LINEAR_MODELS, LinearModelName, LinearRotation
from densray.rotations._whitened import WhitenedDensRay


@dataclass(frozen=True)
class Method:
    """A named way to find an axis.

    Attributes
    ----------
    name, summary : str
    make : callable
        Returns the unfitted rotation of a number of axes.
    classes_only : bool
        Whether it takes two classes and no scores.
    stands_for : str
        The method a recommendation is, empty for the others.
    slow_from : int or None
        Words from which on a cross-validation by ten folds takes many seconds; None where none do.
    """

    name: str
    summary: str
    make: Callable[[int | None], Rotation]
    classes_only: bool = False
    stands_for: str = ""
    slow_from: int | None = None


def _linear(name: LinearModelName) -> Method:
    model = LINEAR_MODELS[name]

    def make(n_components: int | None) -> Rotation:
        return LinearRotation(name, n_components=n_components)

    return Method(name, f"unit normal of {model.summary}", make, model.classes_only, slow_from=model.slow_from)


_ALL = (
    Method(
        "auto",
        "the recommendation: ridge, for classes and scores, few words or many",
        _linear("ridge").make,
        stands_for="ridge",
    ),
    Method("densray", "eigenvectors of the pair matrix, plain differences (eq. 2)", DensRay),
    Method(
        "densray-unit",
        "eigenvectors of the pair matrix, unit-length differences (the paper's experiments)",
        lambda n_components: DensRay(n_components, normalize_differences=True),
        slow_from=8_000,
    ),
    Method(
        "densray-paper",
        "densray-unit with the weights of the paper's tables: 0.5 per pair, like or unlike, not balanced",
        lambda n_components: DensRay(n_components, weights=(0.5, 0.5), normalize_differences=True),
        slow_from=8_000,
    ),
    Method(
        "densray-whitened",
        "the pair matrix against the spread of all pairs, shrinkage by closed-form leave-one-out",
        WhitenedDensRay,
    ),
    Method("densifier", "the Densifier objective, solved exactly by rank sums", Densifier, slow_from=500),
    *(_linear(name) for name in LINEAR_MODELS),
    Method("mean-difference", "from one class mean to the other (SemAxis)", MeanDifference),
    Method("pair-direction", "first principal component of unlike pairs", PairDirection, classes_only=True),
)

#: Every method by its name; read-only.
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})


def make_rotation(name: str, n_components: int | None = 1) -> Rotation:
    """Return an unfitted rotation by the name of its method.

    >>> make_rotation("ridge")
    LinearRotation()
    """
    if name not in METHODS:
        raise DensRayError(f"method '{name}' is unknown. {suggest(name, METHODS)}")
    return METHODS[name].make(n_components)


def name_method(method: str | Rotation) -> str:
    """Return what a method is called in reports: a recommendation by what it stands for, a rotation by its class.

    >>> name_method("auto"), name_method("svm"), name_method(DensRay())
    ('ridge (auto)', 'svm', 'DensRay')
    """
    if not isinstance(method, str):
        return type(method).__name__
    meant = METHODS[method].stands_for if method in METHODS else ""
    return f"{meant} ({method})" if meant else method
