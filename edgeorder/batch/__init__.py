"""Whole tables: place the chunks of millions of questions on an engine that exists (extra `batch`).

`PlaceBatch` is a callable over batches of rows: pandas, Ray Data, Spark and Hugging Face `datasets` call it as it is.
`place_table` streams Parquet through it on one machine, and `read_rows` reads the same tables row by row.
"""

from edgeorder.batch.placing import PlaceBatch
from edgeorder.batch.rows import Row
from edgeorder.batch.tables import Placed, place_table, read_rows

__all__ = ["PlaceBatch", "Placed", "Row", "place_table", "read_rows"]
