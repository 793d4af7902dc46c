"""
Methods compared on one concept
===============================

The same seeds and folds for every method: how far their axes lie apart, and how well each orders unseen words.
"""

from densray import compare_methods, figures, load_space
from densray.datasets import load_lexicon

methods = ["densray-unit", "densifier", "mean-difference", "ridge", "svm", "lda"]
compared = compare_methods(
    load_space("googlenews-26k"), load_lexicon("gender"), methods=methods
)
for trial in compared.trials:
    print(f"{trial.method:16} held-out tau {trial.tau:.3f}")

# %%
# Angles between the axes, in degrees. Methods that order words alike can still point elsewhere.

chart = figures.angle_heat_map(compared)
