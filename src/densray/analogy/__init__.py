"""Set-based analogies: given pairs in one relation, find the partner of a query.

`IntCos`, `LRCos` and their rivals share one interface (`fit(pairs)`, `predict(query, k)`, `rank(query, answer)`);
`evaluate_analogies` asks every pair of a set while it is left out.
"""

from __future__ import annotations

from densray.analogy._benchmark import compare_solvers, evaluate_analogies
from densray.analogy._intrank import IntRank
from densray.analogy._result import (
    AnalogyResult,
    CategoryResult,
    CategoryTest,
    GroupResult,
    PairedTest,
    Prediction,
    compare_categories,
    compare_paired,
)
from densray.analogy._solver import Answer, Solver
from densray.analogy._solvers import (
    SOLVERS,
    IntCos,
    LRCos,
    PairDistance,
    SimilarToB,
    ThreeCosAdd,
    ThreeCosAvg,
    ThreeCosMul,
    make_solver,
)

__all__ = [
    "SOLVERS",
    "AnalogyResult",
    "Answer",
    "CategoryResult",
    "CategoryTest",
    "GroupResult",
    "IntCos",
    "IntRank",
    "LRCos",
    "PairDistance",
    "PairedTest",
    "Prediction",
    "SimilarToB",
    "Solver",
    "ThreeCosAdd",
    "ThreeCosAvg",
    "ThreeCosMul",
    "compare_categories",
    "compare_paired",
    "compare_solvers",
    "evaluate_analogies",
    "make_solver",
]
