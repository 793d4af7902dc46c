"""
A sentiment axis
================

A lexicon of positive and negative words gives an axis, and every other word gets a score on it.
"""

from densray import DensRay, figures, load_space
from densray.datasets import load_lexicon

space = load_space("googlenews-26k").normalized()
train, test = load_lexicon("hu-liu").split(test_size=0.25, random_state=0)

# %%
# The axis is fitted on three quarters of the lexicon. Kendall's τ on the other quarter measures how well it orders
# unseen words.

rows = train.align(space)
X, y = rows.X, rows.y
rotation = DensRay().fit(X, y)
unseen = test.align(space)
print(
    f"{len(rows)} words, {len(rows.missing)} not in the space; held-out tau {rotation.score(unseen.X, unseen.y):.3f}"
)

# %%
# The words at both ends, without those of the lexicon.

scores = rotation.transform(space.vectors)[:, 0]
listed = set(load_lexicon("hu-liu").words)
scored = zip(space.words, scores.tolist(), strict=True)
chart = figures.ranked_words(
    [{"word": word, "score": score} for word, score in scored if word not in listed],
    n_words=7,
    axis="sentiment",
)
