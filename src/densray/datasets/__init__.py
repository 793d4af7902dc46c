"""Data sets by name: spaces, lexicons, analogies, word lists; embedded, fetched, or placed by hand.

What the package carries loads at once. Larger sets are fetched with their source, licence and checksum, into
the folder the environment variable ``DENSRAY_DATA`` names or the user's cache; a file already there is used.
"""

from __future__ import annotations

from densray.datasets._analogies import load_analogies
from densray.datasets._lexicons import load_lexicon
from densray.datasets._places import cache_folder, data_folder, fetch, is_at_hand, path_of
from densray.datasets._registry import DataFile, DataSet, list_datasets
from densray.datasets._spaces import load_space
from densray.datasets._words import (
    AssociationTest,
    SimilaritySet,
    WordGroup,
    load_pairs,
    load_similarity,
    load_weat,
    load_word_list,
)

__all__ = [
    "AssociationTest",
    "DataFile",
    "DataSet",
    "SimilaritySet",
    "WordGroup",
    "cache_folder",
    "data_folder",
    "fetch",
    "is_at_hand",
    "list_datasets",
    "load_analogies",
    "load_lexicon",
    "load_pairs",
    "load_similarity",
    "load_space",
    "load_weat",
    "load_word_list",
    "path_of",
]
