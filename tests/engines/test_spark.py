"""`PlaceBatch` on a real local Spark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Return a session with two threads."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "9")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.parametrize("mapped", ["mapInPandas", "mapInArrow"])
def test_rows_come_back_with_the_values_of_one_call(spark: Any, mapped: str) -> None:
    """By id, over two partitions and small batches; bad rows among them."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType
    from question_rows import TYPES, length_scorer, row

    from edgeorder import Budget, approximate_counter
    from edgeorder.batch import PlaceBatch

    table = pa.Table.from_pylist([row(at) for at in range(60)], TYPES)
    place_batch = PlaceBatch(
        budget=Budget(400, approximate_counter()), rerank=length_scorer, order="bookend", prompt="both"
    )
    frame = spark.createDataFrame([row(at) for at in range(60)], from_arrow_schema(TYPES)).repartition(2)
    schema = StructType(frame.schema.fields + from_arrow_schema(place_batch.schema).fields)
    placed = getattr(frame, mapped)(lambda batches: map(place_batch, batches), schema)
    rows = [one.asDict(recursive=True) for one in placed.orderBy("id").collect()]
    assert rows == place_batch(table).to_pylist()


def test_spark_reads_the_columns_that_were_added_to_its_own_table(spark: Any, tmp_path: Path) -> None:
    """What Spark wrote is placed outside it, and Spark reads all of it again."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from question_rows import TYPES, row

    from edgeorder.batch import PlaceBatch, place_table

    rows = [row(at) for at in range(30)]
    spark.createDataFrame(rows, from_arrow_schema(TYPES)).coalesce(1).write.parquet(str(tmp_path / "in"))
    place_batch = PlaceBatch(order="bookend")
    place_table(tmp_path / "in", tmp_path / "out", place_batch)
    placed = spark.read.parquet(str(tmp_path / "out")).orderBy("id").collect()
    assert [one.asDict(recursive=True) for one in placed] == place_batch(pa.Table.from_pylist(rows, TYPES)).to_pylist()
