"""All solvers by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from densray.analogy._candidates import SPACE_FEATURES
from densray.analogy._example_solvers import PairDistance, ThreeCosAdd, ThreeCosMul
from densray.analogy._intrank import IntRank
from densray.analogy._set_solvers import IntCos, LRCos, SimilarToB, ThreeCosAvg
from densray.analogy._solver import Solver
from densray.analogy._spelling import Spelling
from densray.errors import Argument, TaskError, suggest
from densray.rotations import Rotation
from densray.space import WordSpace


@dataclass(frozen=True)
class NamedSolver:
    """A solver and its name on the command line.

    Attributes
    ----------
    name, summary : str
    make : callable
        Returns the solver for a space.
    rotation : str
        The default method for its axis; empty if it has none.
    slow_from : int
        Number of pairs from which learning takes more than a second.
    """

    name: str
    summary: str
    make: Callable[..., Solver]
    rotation: str = ""
    slow_from: int = 200


_ALL = (
    NamedSolver("intcos-original", "class score on the axis times cosine to the query", IntCos, "densray-unit"),
    NamedSolver(
        "intcos-complement",
        "the same, with the cosine off the axis",
        partial(IntCos, cosine="complement"),
        "densray-unit",
    ),
    NamedSolver("lrcos", "probability of a logistic regression times cosine to the query", LRCos),
    NamedSolver("intrank", "a ranker of vectors and spelling, learned from the examples", IntRank, "densray-unit", 20),
    NamedSolver(
        "intrank-space", "the same, of vectors alone", partial(IntRank, features=SPACE_FEATURES), "densray-unit", 20
    ),
    NamedSolver("3cosadd", "nearest to b - a + a', one example at a time", ThreeCosAdd),
    NamedSolver("3cosmul", "cosines multiplied, one example at a time", ThreeCosMul),
    NamedSolver("3cosavg", "nearest to the query plus the mean difference of the pairs", ThreeCosAvg),
    NamedSolver("pairdistance", "most parallel difference, one example at a time", PairDistance),
    NamedSolver("similartob", "nearest neighbour of the query, examples ignored", SimilarToB),
    NamedSolver("spelling", "votes of the examples' rules of spelling, vectors ignored", Spelling),
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
        The method for the axis, for solvers that have one (default: DensRay with unit-length differences).
    """
    if name not in SOLVERS:
        raise TaskError(f"solver '{name}' is unknown. {suggest(name, SOLVERS)}")
    solver = SOLVERS[name]
    if rotation is None:
        return solver.make(space)
    if not solver.rotation:
        raise TaskError(Argument("rotation", rotation), f" was given, but '{name}' does not fit an axis. Leave it out.")
    return solver.make(space, rotation=rotation)
