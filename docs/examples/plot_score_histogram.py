"""
Where the vocabulary lies on an axis
====================================

Most words score near the middle of an axis, and the seeds lie at its two ends.

A score of 0 is not neutral. The dashed line is the score at which both ends are equally probable.
"""

from densray import figures, induce, load_space
from densray.datasets import load_lexicon

space, lexicon = load_space("googlenews-26k"), load_lexicon("hu-liu")
induced = induce(space, lexicon)
score = dict(zip(space.words, induced.scores.score.tolist(), strict=True))
ends = {"positive": 1.0, "negative": -1.0}
seeds = {
    name: [
        score[word]
        for word, given in lexicon.items()
        if given == label and word in score
    ]
    for name, label in ends.items()
}
chart = figures.score_histogram(
    induced.scores.score, seeds, axis="sentiment", neutral=induced.even_odds
)
print(f"{len(space):,} words; even odds lie at {induced.even_odds:.3f}")
