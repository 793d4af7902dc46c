"""
Methods compared on one concept
===============================

The angles between the axes of six methods, fitted to the same seeds.

The script also prints how well each method orders unseen words, with the same folds for all.
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
# Angles between the axes, in degrees. Two methods can order words alike although their axes point in different
# directions.

chart = figures.angle_heat_map(compared)
