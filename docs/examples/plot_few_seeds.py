"""
How many words does an axis need?
=================================

Lexicons of 8 to 512 words drawn at random, ten of each size: the mean of Kendall's τ on words they do not hold, and its
spread.
"""

from densray import figures, load_space
from densray.axes import evaluate_stability
from densray.datasets import load_lexicon

result = evaluate_stability(
    load_space("googlenews-26k"),
    load_lexicon("hu-liu"),
    methods=["densray", "ridge"],
    sizes=[8, 16, 32, 64, 128, 256, 512],
    n_samples=10,
)
chart = figures.training_size(result)
