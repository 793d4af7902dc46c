"""Expected agreement of an axis with people, by the number of rated items, from published ratings."""

from __future__ import annotations

from densray.report import show_number

#: Median correlation with people over Grand's scales, for axes from three words per end and this many rated items: the
#: lowest and the highest of GoogleNews, GloVe 6B and MiniLM. The numbers are in docs/people.json; a test compares them.
AGREEMENT = {0: (0.28, 0.39), 5: (0.36, 0.43), 10: (0.43, 0.50), 20: (0.55, 0.59)}
#: Smallest and largest number of scales of a space, and the number of spaces.
N_SCALES, N_SPACES = (25, 54), 3
#: With fewer seeds, the verdict is "too few to tell"; nearly all published lists have fewer.
FEW_SEEDS = 50
_WHERE = f"published scales ({N_SCALES[0]} to {N_SCALES[1]} in each of {N_SPACES} spaces)"


def expected_agreement(n_rated: int) -> str:
    """Return the expected agreement for a few seed words and some rated items, from published scales.

    >>> expected_agreement(12)
    'Over published scales (25 to 54 in each of 3 spaces), a few seed words and 10 rated items agreed with people at \
r = 0.43–0.50 in the median (without ratings 0.28–0.39, with 20 rated items 0.55–0.59).'
    """
    size = max((size for size in AGREEMENT if size <= n_rated), default=0)
    others = [other for other in (0, max(AGREEMENT)) if other != size]
    examples = ", ".join(f"{_items('with', other)} {_range(other)}" for other in others)
    return (
        f"Over {_WHERE}, a few seed words {_items('and', size)} agreed with people at r = {_range(size)} in the median "
        f"({examples})."
    )


def advise_ratings() -> str:
    """Return the advice for few seed words: the limits of the verdict, and how to improve the axis.

    >>> advise_ratings()
    'This is about the seeds, not about people. If people should agree, add ten rated items: over published scales \
(25 to 54 in each of 3 spaces) that raised the median r from 0.28–0.39 to 0.43–0.50.'
    """
    return (
        f"This is about the seeds, not about people. If people should agree, add ten rated items: over {_WHERE} that "
        f"raised the median r from {_range(0)} to {_range(10)}."
    )


def _items(joint: str, size: int) -> str:
    return f"{joint} {size} rated items" if size else "without ratings"


def _range(size: int) -> str:
    return "–".join(show_number(end, 2) for end in AGREEMENT[size])
