"""Readers of lexicons: any table of words and labels, and the published ones in their own shapes."""

from __future__ import annotations

from densray.lexicons._english import (
    read_concreteness,
    read_mpqa,
    read_nrc,
    read_opinion_lexicon,
    read_semeval2015,
    read_whm,
)
from densray.lexicons._european import (
    read_feel,
    read_fullstrength,
    read_german_polarity_clues,
    read_sublex,
)
from densray.lexicons._files import read_entries, read_pairs, read_words

__all__ = [
    "read_concreteness",
    "read_entries",
    "read_feel",
    "read_fullstrength",
    "read_german_polarity_clues",
    "read_mpqa",
    "read_nrc",
    "read_opinion_lexicon",
    "read_pairs",
    "read_semeval2015",
    "read_sublex",
    "read_whm",
    "read_words",
]
