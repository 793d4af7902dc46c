"""The solvers by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from densray.analogy._intrank import IntRank
from densray.analogy._solver import Solver
from densray.analogy._solvers import IntCos, LRCos, PairDistance, SimilarToB, ThreeCosAdd, ThreeCosAvg, ThreeCosMul
from densray.errors import TaskError, suggest
from densray.rotations import Rotation
from densray.space import WordSpace


@dataclass(frozen=True)
class NamedSolver:
    """A solver by name.

    Attributes
    ----------
    name, summary : str
    make : callable
        Returns the solver of a space.
    rotation : str
        What it finds its axis with, empty where it has none.
    slow_from : int
        Pairs from which on learning takes more than a moment.
    """

    name: str
    summary: str
    make: Callable[..., Solver]
    rotation: str = ""
    slow_from: int = 200


def _original(space: WordSpace, rotation: str | Rotation = "densray-unit") -> Solver:
    return IntCos(space, rotation=rotation, cosine="original")


def _complement(space: WordSpace, rotation: str | Rotation = "densray-unit") -> Solver:
    return IntCos(space, rotation=rotation, cosine="complement")


_ALL = (
    NamedSolver("intcos-original", "class score on the axis times cosine to the query", _original, "densray-unit"),
    NamedSolver("intcos-complement", "the same, with the cosine off the axis", _complement, "densray-unit"),
    NamedSolver("lrcos", "probability of a logistic regression times cosine to the query", LRCos),
    NamedSolver("intrank", "a ranker on top of IntCos, learned from the examples", IntRank, "densray-unit", 20),
    NamedSolver("3cosadd", "nearest to b - a + a', one example at a time", ThreeCosAdd),
    NamedSolver("3cosmul", "cosines multiplied, one example at a time", ThreeCosMul),
    NamedSolver("3cosavg", "nearest to the query plus the mean difference of the pairs", ThreeCosAvg),
    NamedSolver("pairdistance", "most parallel difference, one example at a time", PairDistance),
    NamedSolver("similartob", "nearest neighbour of the query, examples ignored", SimilarToB),
)

#: Every solver by its name.
SOLVERS: dict[str, NamedSolver] = {solver.name: solver for solver in _ALL}


def make_solver(name: str, space: WordSpace, *, rotation: str | Rotation | None = None) -> Solver:
    """Return a solver by its name.

    Parameters
    ----------
    name : str
    space : WordSpace
    rotation : str or Rotation, optional
        What finds the axis, for solvers that have one; by default DensRay with unit-length differences.
    """
    if name not in SOLVERS:
        raise TaskError(f"solver '{name}' is unknown. {suggest(name, SOLVERS)}")
    solver = SOLVERS[name]
    if rotation is None:
        return solver.make(space)
    if not solver.rotation:
        raise TaskError(f"rotation={rotation!r} was given, but '{name}' has no axis to find. Leave it out.")
    return solver.make(space, rotation=rotation)
