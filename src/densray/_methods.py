"""The methods by name: add a line here and the command line, the tasks, the docs and the checks know it.

A line names the class and where it is defined; it is imported when a rotation is made, so that a list of the methods
does not wait for scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from densray.errors import DensRayError, suggest

if TYPE_CHECKING:
    from densray.rotations import Rotation
    from densray.rotations._linear import LinearModelName


@dataclass(frozen=True)
class Method:
    """A named way to find an axis.

    Attributes
    ----------
    name, summary : str
    rotation : str
        The module in ``densray.rotations`` and the class in it that find the axis, as ``"_densray.DensRay"``.
    parameters : mapping
        What is passed to that class beside the number of axes.
    classes_only : bool
        Whether it takes two classes and no scores.
    stands_for : str
        The method a recommendation is, empty for the others.
    slow_from : int or None
        Words from which on a cross-validation by ten folds takes many seconds; None where none do.
    """

    name: str
    summary: str
    rotation: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    classes_only: bool = False
    stands_for: str = ""
    slow_from: int | None = None

    def make(self, n_components: int | None = 1) -> Rotation:
        """Return the unfitted rotation of a number of axes."""
        module, _, name = self.rotation.partition(".")
        made: Rotation = getattr(import_module(f"densray.rotations.{module}"), name)(
            n_components=n_components, **self.parameters
        )
        return made


def _linear(name: LinearModelName, model: str, *, classes_only: bool = False, slow_from: int | None = None) -> Method:
    summary, parameters = f"unit normal of {model}", {"estimator": name}
    return Method(name, summary, "_linear.LinearRotation", parameters, classes_only, slow_from=slow_from)


_ALL = (
    Method(
        "auto",
        "the recommendation: ridge, for classes and scores, few words or many",
        "_linear.LinearRotation",
        {"estimator": "ridge"},
        stands_for="ridge",
    ),
    Method("densray", "eigenvectors of the pair matrix, plain differences (eq. 2)", "_densray.DensRay"),
    Method(
        "densray-unit",
        "eigenvectors of the pair matrix, unit-length differences (the paper's experiments)",
        "_densray.DensRay",
        {"normalize_differences": True},
        slow_from=8_000,
    ),
    Method(
        "densray-paper",
        "densray-unit with the weights of the paper's tables: 0.5 per pair, like or unlike, not balanced",
        "_densray.DensRay",
        {"weights": (0.5, 0.5), "normalize_differences": True},
        slow_from=8_000,
    ),
    Method(
        "densray-whitened",
        "the pair matrix against the spread of all pairs, shrinkage by closed-form leave-one-out",
        "_whitened.WhitenedDensRay",
    ),
    Method("densifier", "the Densifier objective, solved exactly by rank sums", "_densifier.Densifier", slow_from=500),
    _linear("ridge", "ridge regression (the mean difference, whitened), penalty from left-out scores in closed form"),
    _linear("svm", "a linear support vector machine, C = 1", classes_only=True, slow_from=8_000),
    _linear("svr", "linear support vector regression, C = 1", slow_from=500),
    _linear("logistic", "logistic regression, C = 1", classes_only=True, slow_from=20_000),
    _linear("linear", "ordinary least squares"),
    _linear("lda", "linear discriminant analysis with Ledoit–Wolf shrinkage", classes_only=True, slow_from=20_000),
    _linear("cca", "canonical correlation analysis"),
    Method("mean-difference", "from one class mean to the other (SemAxis)", "_differences.MeanDifference"),
    Method(
        "pair-direction", "first principal component of unlike pairs", "_differences.PairDirection", classes_only=True
    ),
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

    >>> from densray import DensRay
    >>> name_method("auto"), name_method("svm"), name_method(DensRay())
    ('ridge (auto)', 'svm', 'DensRay')
    """
    if not isinstance(method, str):
        return type(method).__name__
    meant = METHODS[method].stands_for if method in METHODS else ""
    return f"{meant} ({method})" if meant else method
