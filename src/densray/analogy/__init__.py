"""Set-based analogies: given pairs in one relation, find the partner of a query.

`IntCos`, `LRCos` and the other solvers share one interface: `fit(pairs)`, `predict(query, k)`, `rank(query, answer)`.
`evaluate_analogies` asks every pair of a set while it is left out.
"""

from __future__ import annotations

from densray.analogy._comparison import CategoryTest, PairedTest, compare_categories, compare_paired
from densray.analogy._evaluation import compare_solvers, evaluate_analogies
from densray.analogy._example_solvers import PairDistance, ThreeCosAdd, ThreeCosMul
from densray.analogy._examples import BenchmarkProtocol, checked_protocol
from densray.analogy._intrank import IntRank
from densray.analogy._located import LocatedCategory, SkippedPair, locate_categories
from densray.analogy._registry import SOLVERS, make_solver
from densray.analogy._result import AnalogyResult, CategoryResult, GroupResult, Prediction
from densray.analogy._set_solvers import IntCos, LRCos, SimilarToB, ThreeCosAvg
from densray.analogy._solver import RankedWord, Solver
from densray.analogy._spelling import Spelling

__all__ = [
    "SOLVERS",
    "AnalogyResult",
    "BenchmarkProtocol",
    "CategoryResult",
    "CategoryTest",
    "GroupResult",
    "IntCos",
    "IntRank",
    "LRCos",
    "LocatedCategory",
    "PairDistance",
    "PairedTest",
    "Prediction",
    "RankedWord",
    "SimilarToB",
    "SkippedPair",
    "Solver",
    "Spelling",
    "ThreeCosAdd",
    "ThreeCosAvg",
    "ThreeCosMul",
    "checked_protocol",
    "compare_categories",
    "compare_paired",
    "compare_solvers",
    "evaluate_analogies",
    "locate_categories",
    "make_solver",
]
