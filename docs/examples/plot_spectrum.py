"""
How many axes a concept has
===========================

The eigenvalues of the pair matrix say what each axis adds to telling the classes apart.
"""

import numpy as np

from densray import DensRay, figures, load_space
from densray.datasets import load_lexicon

space = load_space("googlenews-26k").normalized()
rows = load_lexicon("hu-liu").align(space)
X, y = rows.X, rows.y
rotation = DensRay().fit(X, y)

# %%
# The lexicon has more negative than positive words. One axis stands out; the others that are positive say along which
# directions the smaller class varies more than the larger one.

chart = figures.eigenvalue_spectrum(rotation.eigenvalues_)
print(
    f"{np.sum(y > 0)} positive and {np.sum(y < 0)} negative words: {rotation.n_signal_axes_} axes with signal"
)

# %%
# With as many words of either class the pair matrix has rank one, exactly: its axis is the difference of the class
# means, and no other axis carries signal.

even = np.concatenate([np.flatnonzero(y == label)[:1300] for label in (1, -1)])
equal = DensRay().fit(X[even], y[even])
print(f"1300 words of either class: {equal.n_signal_axes_} axis with signal")
