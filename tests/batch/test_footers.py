"""What Spark and Avro keep of a table's columns in its metadata, once columns were added."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgeorder.batch import PlaceBatch, place_table

SPARK = b"org.apache.spark.sql.parquet.row.metadata"
TOLD = {
    "type": "struct",
    "fields": [
        {
            "name": "chunks",
            "type": {"type": "array", "elementType": "string", "containsNull": True},
            "nullable": True,
            "metadata": {"comment": "what was found"},
        }
    ],
}
INDEX = {"name": "index", "type": "long", "nullable": True, "metadata": {}}


def table(**metadata: Any) -> pa.Table:
    """Return a table as another program wrote it."""
    return pa.table({"chunks": [["A", "B"]]}).replace_schema_metadata(metadata)


def test_spark_is_told_of_the_columns_that_are_added(tmp_path: Path) -> None:
    """It reads those that it is told of, whatever the file holds; what it was told before stays."""
    pq.write_table(table(**{SPARK.decode(): json.dumps(TOLD), "own": "x"}), tmp_path / "in.parquet")
    place_table(tmp_path / "in.parquet", tmp_path / "out", PlaceBatch(prefix="new_", prompt="none"))
    metadata = pq.read_table(tmp_path / "out").schema.metadata
    assert metadata[b"own"] == b"x"
    told = json.loads(metadata[SPARK])
    assert told["fields"][0] == TOLD["fields"][0]
    assert [one["name"] for one in told["fields"][1:]] == PlaceBatch(prefix="new_", prompt="none").schema.names
    kinds = {one["name"]: one["type"] for one in told["fields"][1:]}
    assert (kinds["new_order"], kinds["new_tokens"], kinds["new_error"]) == ("string", "long", "string")
    assert kinds["new_kept"] == {"type": "array", "elementType": "long", "containsNull": True}
    assert kinds["new_dropped"]["elementType"]["type"] == "struct"
    assert kinds["new_dropped"]["elementType"]["fields"][0] == INDEX


@pytest.mark.parametrize("told", ["{", "[]", '{"type": "struct"}', '{"fields": 5}', "null"])
def test_what_cannot_be_told_is_left_to_the_file(told: str) -> None:
    """Spark reads the columns of the file where it is told nothing."""
    for batch in (
        table(**{SPARK.decode(): told, "own": "x"}),
        table(**{SPARK.decode(): told, "own": "x"}).to_batches()[0],
    ):
        assert PlaceBatch()(batch).schema.metadata == {b"own": b"x"}


def test_what_avro_keeps_is_no_longer_so() -> None:
    """Its readers fail on a column that it does not tell of."""
    avro = {"parquet.avro.schema": "{}", "avro.schema": "{}", "writer.model.name": "avro"}
    assert PlaceBatch()(table(**avro)).schema.metadata == {b"writer.model.name": b"avro"}
    assert PlaceBatch()(pa.table({"chunks": [["A"]]})).schema.metadata is None
