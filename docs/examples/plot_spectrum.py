"""
How many dimensions a concept has
=================================

The eigenvalues of the pair matrix show how much each axis separates the classes.
"""

import numpy as np

from densray import DensRay, figures, load_space
from densray.datasets import load_lexicon

space = load_space("googlenews-26k").normalized()
rows = load_lexicon("hu-liu").align(space)
X, y = rows.X, rows.y
rotation = DensRay().fit(X, y)

# %%
# The lexicon has more negative than positive words. One axis stands out. The other positive eigenvalues belong to
# directions along which the smaller class varies more than the larger one.

chart = figures.eigenvalue_spectrum(rotation.eigenvalues_)
print(
    f"{np.sum(y > 0)} positive and {np.sum(y < 0)} negative words: {rotation.n_signal_axes_} axes with signal"
)

# %%
# If both classes have the same number of words, the pair matrix has exactly rank one. Its axis is the difference of the
# class means, and no other axis carries signal.

even = np.concatenate([np.flatnonzero(y == label)[:1300] for label in (1, -1)])
equal = DensRay().fit(X[even], y[even])
print(f"1300 words of either class: {equal.n_signal_axes_} axis with signal")
