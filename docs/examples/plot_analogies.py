"""
Analogies by category
=====================

The share of analogy queries that three solvers answer correctly, in five categories.

Each pair of a category is left out in turn, and answered from the other pairs.
"""

from densray import evaluate_analogies, figures, load_space
from densray.analogies import AnalogySet
from densray.datasets import load_analogies

space = load_space("googlenews-26k")
wanted = (
    "family",
    "gram1-adjective-to-adverb",
    "gram3-comparative",
    "gram7-past-tense",
    "gram8-plural",
)
google = AnalogySet(
    [category for category in load_analogies("google") if category.name in wanted],
    name="google",
)
rows = [
    {"category": found.category, "method": solver, "precision": found.precision}
    for solver in ("intcos-original", "lrcos", "3cosavg")
    for found in evaluate_analogies(space, google, solver).categories
]
chart = figures.analogy_heat_map(rows)
