"""`PlaceBatch` in `datasets.Dataset.map`."""

from typing import Any

import pyarrow as pa
import pytest

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Return a table of 60 rows, some of them bad."""
    from question_rows import TYPES, row

    return pa.Table.from_pylist([row(at) for at in range(60)], TYPES)


@pytest.mark.parametrize("processes", [None, 2])
def test_arrow_batches_keep_their_types(table: pa.Table, processes: int | None, tmp_path: Any) -> None:
    """The way that is documented: the first batch has no error, the first row no budget that matters."""
    from datasets import Dataset
    from question_rows import length_scorer

    from edgeorder.batch import PlaceBatch

    place_batch = PlaceBatch(order="bookend", rerank=length_scorer, top_n=4)
    placed = (
        Dataset(table)
        .with_format("arrow")
        .map(
            place_batch, batched=True, batch_size=4, num_proc=processes, cache_file_name=str(tmp_path / "placed.arrow")
        )
        .with_format(None)
    )
    assert placed.to_list() == place_batch(table).to_pylist()


def test_batches_of_lists_with_features(table: pa.Table, tmp_path: Any) -> None:
    """Without arrow the types must be said: what the first batch holds is no type where it holds nothing."""
    from datasets import Dataset, Features

    from edgeorder.batch import PlaceBatch

    place_batch = PlaceBatch(order="bookend", top_n=4)
    whole = pa.schema([*table.schema, *place_batch.schema])
    placed = Dataset(table).map(
        place_batch,
        batched=True,
        batch_size=4,
        features=Features.from_arrow_schema(whole),
        cache_file_name=str(tmp_path / "placed.arrow"),
    )
    assert placed.to_list() == place_batch(table).to_pylist()
