"""
Words on an axis of your own, with error bars
=============================================

Sports on an axis from poor to rich, after Kozlowski, Taddy and Evans (2019). None of them is on the two lists.
"""

from densray import Lexicon, figures, induce, load_space

space = load_space("googlenews-26k")
rich = [
    "rich",
    "wealthy",
    "affluent",
    "prosperous",
    "luxurious",
    "luxury",
    "expensive",
    "opulent",
    "lavish",
]
poor = [
    "poor",
    "impoverished",
    "needy",
    "destitute",
    "cheap",
    "shabby",
    "homeless",
    "slum",
    "shack",
]
lexicon = Lexicon.from_word_lists(rich, poor, name="wealth")
induced = induce(space, lexicon)

# %%
# A bar is two standard errors, from the axes without each seed. Where bars overlap widely, say nothing of the order.

sports = [
    "polo",
    "golf",
    "skiing",
    "tennis",
    "swimming",
    "cycling",
    "baseball",
    "rugby",
    "boxing",
    "bowling",
]
rows = [
    row for row in induced.to_polars().iter_rows(named=True) if row["word"] in sports
]
chart = figures.ranked_words(rows, n_words=5, axis="wealth", neutral=induced.even_odds)
print(f"even odds lie at {induced.even_odds:.3f}, not at 0")
