"""
What is left after removal
==========================

One axis is removed, and several tests measure how much of the concept is left.
"""

import math

from densray import evaluate_removal, figures, load_space
from densray.debiasing import load_concept

# %%
# To be quick, this example takes 500 biased words of each side; ``densray evaluate bias`` takes 2,500.

space, concept = load_space("googlenews-26k"), load_concept("gender")
result = evaluate_removal(space, concept, ["mean-difference"], n_biased=500)
print(result.text())

# %%
# Grey lines mark the result of each test if nothing of the concept were left.

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
