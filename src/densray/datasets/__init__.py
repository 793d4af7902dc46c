"""Data sets by name: spaces, lexicons, analogies, word lists; bundled, fetched, or placed by hand.

Bundled data sets are always available. Larger ones are downloaded, with their source, licence and checksum, into the
folder named by the environment variable ``DENSRAY_DATA``, or into the user's cache. A file that is already there is
used.
"""

from __future__ import annotations

from densray.datasets._load import (
    AssociationTest,
    SimilaritySet,
    WordGroup,
    load_analogies,
    load_lexicon,
    load_pairs,
    load_similarity,
    load_space,
    load_weat,
    load_word_list,
)
from densray.datasets._registry import (
    DataFile,
    DataSet,
    cache_folder,
    data_folder,
    fetch,
    find_dataset,
    is_at_hand,
    list_datasets,
    path_of,
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
    "find_dataset",
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
