"""
Gender removed
==============

Occupations by their cosines to *man* and *woman*, before and after the gender axis is removed.

This is figure 2 of Dufter and Schütze (2019).
"""

from densray import DensRay, figures, load_space
from densray.datasets import load_lexicon, load_word_list

space = load_space("googlenews-26k").normalized()
rows = load_lexicon("gender").align(space)
X, y = rows.X, rows.y
rotation = DensRay(normalize_differences=True).fit(X, y)
without = space.erased(rotation)
print(
    f"he and she: cosine {space.cosine('he', 'she'):.2f} before, {without.cosine('he', 'she'):.2f} after"
)

# %%
# Words on the dashed line are as close to one anchor as to the other.

rows = []
for name, one in {"original": space, "complement": without}.items():
    occupations = [word for word in load_word_list("occupations") if word in one]
    for word, (man, woman) in zip(
        occupations, one.cosines(occupations, ["man", "woman"]), strict=True
    ):
        rows.append(
            {"space": name, "word": word, "man": float(man), "woman": float(woman)}
        )
chart = figures.anchor_scatter(rows)
