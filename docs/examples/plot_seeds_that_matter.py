"""
Which seeds make the axis
=========================

Every seed is left out in turn, in closed form: how far the axis turns without it says what the axis hangs on.
"""

from densray import diagnose, figures, load_space
from densray.datasets import load_lexicon

diagnosis = diagnose(load_space("googlenews-26k"), load_lexicon("gender"))
print(diagnosis.verdict.sentence)

# %%
# Seeds that score on the wrong side when they are left out are worth a look: a word may mean something else in the
# texts than in your head.

chart = figures.seed_influence(
    diagnosis, n_seeds=15, measure="the axis turns by (degrees)"
)
print([row["word"] for row in diagnosis.contradictions])
