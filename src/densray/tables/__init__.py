"""Tables: rows with columns, one of them vectors, read block by block from files and frames.

:func:`open_table` reads parquet, Arrow, CSV, JSON lines, folders of shards and Hugging Face folders, and any object
with the Arrow C stream interface. :meth:`VectorTable.rows` gives labelled rows. This package needs ``pyarrow`` (the
extra ``tables``).
"""

from densray.tables._encoder import SAMPLED_TEXTS, EncoderRecord, sample_coordinates, with_encoder
from densray.tables._frames import check_new, is_table, with_columns
from densray.tables._labelled import SAMPLED_ROWS, LabelledTable, is_large, sample_sets
from densray.tables._rewriting import RewrittenTable, check_table_output, open_writer, rewrite_table
from densray.tables._sources import KINDS, may_be_table, open_source
from densray.tables._table import VectorTable, digest_of, open_table
from densray.tables._vectors import check_columns

__all__ = [
    "KINDS",
    "SAMPLED_ROWS",
    "SAMPLED_TEXTS",
    "EncoderRecord",
    "LabelledTable",
    "RewrittenTable",
    "VectorTable",
    "check_columns",
    "check_new",
    "check_table_output",
    "digest_of",
    "is_large",
    "is_table",
    "may_be_table",
    "open_source",
    "open_table",
    "open_writer",
    "rewrite_table",
    "sample_coordinates",
    "sample_sets",
    "with_columns",
    "with_encoder",
]
