"""
How many words an axis needs
============================

Axes from 8 to 512 words drawn at random, and how well they order unseen words.

The chart shows the mean and the spread of Kendall's τ over ten draws of each size.
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
