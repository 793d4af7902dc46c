"""The methods by name. The command line, the tasks, the docs and the checks all use this table.

An entry names the class and its module. The class is imported when a rotation is created, so that listing the methods
does not import scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from densray.errors import Advice, TaskError, suggest

__all__ = ["METHODS", "Method", "make_rotation", "name_method", "note_errors"]

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
        Further arguments of that class.
    classes_only : bool
        Whether it accepts only two classes, not scores.
    stands_for : str
        The method that a recommendation such as "auto" stands for; empty for the others.
    slow_from : int or None
        Number of words from which a ten-fold cross-validation takes many seconds; None if it is always quick.
    phrase : str
        Its name in a sentence, such as "ridge regression" (default: `name`).
    paper : str
        Key of the paper to cite in `densray.axes`; empty if there is none.
    errors : {"unchecked", "checked", "too large"}
        Whether its standard errors were compared with the actual spread over seed sets, and whether they are about
        twice too large (docs/trust-details.md).
    """

    name: str
    summary: str
    rotation: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    classes_only: bool = False
    stands_for: str = ""
    slow_from: int | None = None
    phrase: str = ""
    paper: str = ""
    errors: Literal["unchecked", "checked", "too large"] = "unchecked"

    def make(self, n_components: int | None = 1) -> Rotation:
        """Return the unfitted rotation with this number of axes."""
        module, _, name = self.rotation.partition(".")
        rotation: Rotation = getattr(import_module(f"densray.rotations.{module}"), name)(
            n_components=n_components, **self.parameters
        )
        return rotation


def _linear(
    name: LinearModelName,
    model: str,
    details: str = "",
    *,
    classes_only: bool = False,
    slow_from: int | None = None,
    errors: Literal["checked", "too large"] = "checked",
) -> Method:
    return Method(
        name,
        f"unit normal of {model}{details}",
        "_linear.LinearRotation",
        {"estimator": name},
        classes_only,
        slow_from=slow_from,
        phrase=model,
        errors=errors,
    )


_ALL = (
    Method(
        "auto",
        "the recommended method: ridge, for classes and for scores, with few words or many",
        "_linear.LinearRotation",
        {"estimator": "ridge"},
        stands_for="ridge",
        phrase="ridge regression",
        errors="checked",
    ),
    Method(
        "densray",
        "eigenvectors of the pair matrix, plain differences (eq. 2)",
        "_densray.DensRay",
        phrase="DensRay",
        paper="dufter-2019",
        errors="checked",
    ),
    Method(
        "densray-unit",
        "eigenvectors of the pair matrix, unit-length differences (the paper's experiments)",
        "_densray.DensRay",
        {"normalize_differences": True},
        slow_from=8_000,
        phrase="DensRay with unit-length differences",
        paper="dufter-2019",
        errors="checked",
    ),
    Method(
        "densray-paper",
        "densray-unit with a weight of 0.5 for every pair, as in the paper's tables",
        "_densray.DensRay",
        {"weights": (0.5, 0.5), "normalize_differences": True},
        slow_from=8_000,
        phrase="DensRay with unit-length differences and unbalanced weights",
        paper="dufter-2019",
    ),
    Method(
        "densifier",
        "the Densifier objective, solved exactly by rank sums",
        "_densifier.Densifier",
        slow_from=500,
        phrase="Densifier",
        paper="rothe-2016",
    ),
    _linear("ridge", "ridge regression", ", with a penalty chosen by leave-one-out cross-validation"),
    _linear(
        "svm", "a linear support vector machine", ", C = 1", classes_only=True, slow_from=8_000, errors="too large"
    ),
    _linear("svr", "linear support vector regression", ", C = 1", slow_from=500, errors="too large"),
    _linear("logistic", "logistic regression", ", C = 1", classes_only=True, slow_from=20_000),
    _linear("linear", "ordinary least squares"),
    _linear("lda", "linear discriminant analysis", " with Ledoit–Wolf shrinkage", classes_only=True, slow_from=20_000),
    _linear("cca", "canonical correlation analysis"),
    Method(
        "mean-difference",
        "from one class mean to the other (SemAxis)",
        "_differences.MeanDifference",
        phrase="the difference of class means",
        paper="an-2018",
        errors="checked",
    ),
    Method(
        "pair-direction",
        "first principal component of unlike pairs",
        "_differences.PairDirection",
        classes_only=True,
        phrase="the first principal component of pair differences",
        paper="bolukbasi-2016",
    ),
)

#: Every method by its name; read-only.
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})


#: Removers that are not methods, and so have no axis; `densray.removers` imports this module and knows them.
REMOVERS_ONLY = frozenset({"leace", "inlp", "hard", "double-hard", "covariance-difference", "random"})


def check_method(name: str) -> None:
    """Raise unless there is a method of this name; a remover is named as one.

    >>> check_method("leace")
    Traceback (most recent call last):
    densray.errors.TaskError: 'leace' removes a concept and finds no axis. Use Erasure.fit(rows, 'leace'). ...
    """
    if name in METHODS:
        return
    remover = str(name).lower()
    if remover.partition(":")[0] in REMOVERS_ONLY:
        advice = Advice(python=f" Use Erasure.fit(rows, '{remover}').")
        raise TaskError(f"'{name}' removes a concept and finds no axis.", advice, f" Known: {', '.join(METHODS)}.")
    raise TaskError(f"method '{name}' is unknown. {suggest(name, METHODS)}")


def make_rotation(name: str, n_components: int | None = 1) -> Rotation:
    """Return an unfitted rotation by the name of its method.

    >>> make_rotation("ridge")
    LinearRotation()
    """
    check_method(name)
    return METHODS[name].make(n_components)


def name_method(method: str | Rotation) -> str:
    """Return the name of a method in reports: "auto" as the method it stands for, a rotation as its class.

    >>> from densray import DensRay
    >>> name_method("auto"), name_method("svm"), name_method(DensRay())
    ('ridge (auto)', 'svm', 'DensRay')
    """
    if not isinstance(method, str):
        return type(method).__name__
    name = METHODS[method].stands_for if method in METHODS else ""
    return f"{name} ({method})" if name else method


def note_errors(name: str, rotation: Rotation) -> str:
    """Return a sentence on the standard errors of a method that has wrong or unchecked ones; else an empty text.

    `name` is that of :func:`name_method`. An estimator counts as the method that it computes.

    >>> note_errors("ridge", make_rotation("ridge"))
    ''
    >>> note_errors("svm", make_rotation("svm"))
    'For this method the standard errors are about twice too large, so the reliability is too low.'
    """
    method = METHODS.get(name) or _method_of(rotation)
    errors = "unchecked" if method is None else method.errors
    return {
        "checked": "",
        "too large": "For this method the standard errors are about twice too large, so the reliability is too low.",
        "unchecked": "The standard errors and the reliability were not checked for this method.",
    }[errors]


def _method_of(rotation: Rotation) -> Method | None:
    """Return the method that an estimator computes; None if it is another one."""
    own = type(rotation)
    for method in METHODS.values():
        if method.rotation == f"{own.__module__.rpartition('.')[2]}.{own.__name__}":
            estimator = method.parameters.get("estimator")
            if estimator is None or getattr(rotation, "estimator", None) == estimator:
                return method
    return None
