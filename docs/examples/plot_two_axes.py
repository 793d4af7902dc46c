"""
Two axes against each other
===========================

One rotation finds an axis for gender and, orthogonal to it, an axis for sentiment.
"""

# %%
# Sentiment comes from a lexicon of two classes, gender from pairs. A word without a label for a concept gets NaN there.

import numpy as np

from densray import SequentialRotation, figures, load_space
from densray.datasets import load_lexicon, load_word_list

space = load_space("googlenews-26k").normalized()
sentiment, gender = load_lexicon("hu-liu"), load_lexicon("gender")
concepts = [dict(gender.items()), dict(sentiment.items())]
words = [word for word in dict.fromkeys([*gender, *sentiment]) if word in space]
labels = np.array(
    [[concept.get(word, np.nan) for concept in concepts] for word in words]
)
rotation = SequentialRotation(names=["gender", "sentiment"]).fit(space[words], labels)
print(
    f"cosine of the two axes: {abs(rotation.components_[0] @ rotation.components_[1]):.0e}"
)

# %%
# The occupations on both axes: male words score high on gender, as in the lexicon, and positive words on sentiment.

occupations = space.subset(load_word_list("occupations"), missing="drop")
coordinates = rotation.transform(occupations.vectors)
rows = [
    {"word": word, "gender": float(male), "sentiment": float(positive)}
    for word, (male, positive) in zip(
        occupations.words, coordinates[:, :2], strict=True
    )
]
chart = figures.axis_scatter(rows, axes=("gender", "sentiment"), n_labels=24)
