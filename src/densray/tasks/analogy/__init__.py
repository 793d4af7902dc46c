"""Set-based analogies: given pairs in one relation, find the partner of a query.

`IntCos`, `LRCos` and their rivals share one interface (`fit(pairs)`, `predict(query, k)`, `rank(query, answer)`);
`evaluate_analogies` leaves one pair out after the other. Read `solver` for the interface, `folds` and `axes` for the
thousands of small fits (`unit_differences`, `support_vectors`, `logistic`), `products`, `tally` and `search` for the
scoring, on the host or where an array lies, `benchmark` for what comes out.
"""

from __future__ import annotations

from densray.tasks.analogy.benchmark import compare_solvers, evaluate_analogies
from densray.tasks.analogy.intcos import IntCos
from densray.tasks.analogy.intrank import IntRank
from densray.tasks.analogy.lrcos import LRCos
from densray.tasks.analogy.pair_distance import PairDistance
from densray.tasks.analogy.result import AnalogyResult, CategoryResult, GroupResult, Prediction
from densray.tasks.analogy.significance import PairedTest, compare_paired
from densray.tasks.analogy.similar_to_b import SimilarToB
from densray.tasks.analogy.solver import Answer, Solver
from densray.tasks.analogy.solvers import SOLVERS, make_solver
from densray.tasks.analogy.three_cos_add import ThreeCosAdd
from densray.tasks.analogy.three_cos_avg import ThreeCosAvg
from densray.tasks.analogy.three_cos_mul import ThreeCosMul

__all__ = [
    "SOLVERS",
    "AnalogyResult",
    "Answer",
    "CategoryResult",
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
    "compare_paired",
    "compare_solvers",
    "evaluate_analogies",
    "make_solver",
]
