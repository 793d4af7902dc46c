"""
Words on an axis of your own, with error bars
=============================================

Ten sports on an axis from poor to rich, with error bars; none of them is on the two lists.

The idea is that of Kozlowski, Taddy and Evans (2019).
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
# A bar is two standard errors, estimated by leaving out one seed at a time. If two bars overlap widely, do not
# interpret their order.

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
