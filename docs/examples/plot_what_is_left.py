"""
What is left after removal
==========================

A concept is removed by one axis, and tests ask for what is left of it: the word list decides more than the method.
"""

import math

from densray import evaluate_removal, figures, load_space
from densray.debiasing import load_concept

# %%
# 500 words of either side count as biased here, to be quick; ``densray evaluate bias`` takes 2,500.

space, concept = load_space("googlenews-26k"), load_concept("gender")
result = evaluate_removal(space, concept, ["mean-difference"], n_biased=500)
print(result.text())

# %%
# Grey lines: where a test would stand if nothing of the concept were left.

drawn = (
    "cluster accuracy",
    "recovery (linear)",
    "recovery (rbf)",
    "neighbour correlation",
    "men",
    "analogies",
)
rows = [
    row
    for row in result.interval_rows()
    if row["measure"] in drawn and math.isfinite(row["value"])
]
chart = figures.interval_plot(rows)
