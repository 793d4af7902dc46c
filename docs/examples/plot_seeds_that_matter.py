"""
Which seeds matter most
=======================

Each seed is left out in turn, and the chart shows how far the axis turns without it.
"""

from densray import diagnose, figures, load_space
from densray.datasets import load_lexicon

diagnosis = diagnose(load_space("googlenews-26k"), load_lexicon("gender"))
print(diagnosis.verdict.sentence)

# %%
# Check the seeds that score on the wrong side when they are left out. In the training texts, a word may have another
# meaning than the one you had in mind.

chart = figures.seed_influence(
    diagnosis, n_seeds=15, measure="the axis turns by (degrees)"
)
print([row["word"] for row in diagnosis.contradictions])
