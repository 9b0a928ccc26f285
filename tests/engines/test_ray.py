"""`PlaceBatch` on a real Ray cluster on this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Return a running cluster of two CPUs, whose datasets keep the order of their rows."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2**28)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Return a table of 60 rows, some of them bad."""
    from question_rows import TYPES, row

    return pa.Table.from_pylist([row(at) for at in range(60)], TYPES)


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    """Return settings that use a scorer, a budget and a prompt."""
    from question_rows import length_scorer

    from edgeorder import Budget, approximate_counter

    return {"budget": Budget(400, approximate_counter()), "rerank": length_scorer, "order": "bookend", "prompt": "both"}


@pytest.mark.parametrize(("workers", "batch_size"), [(1, 60), (2, 7)])
def test_values_do_not_depend_on_workers_and_batches(
    ray: Any, table: pa.Table, settings: dict[str, Any], workers: int, batch_size: int
) -> None:
    """Rows come back in order, with the values of one call of the batch."""
    from edgeorder.batch import PlaceBatch

    placed = (
        ray.data.from_arrow(table)
        .repartition(6)
        .map_batches(
            PlaceBatch,
            fn_constructor_kwargs=settings,
            batch_format="pyarrow",
            batch_size=batch_size,
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_cpus=0.5,
        )
    )
    assert placed.take_all() == PlaceBatch(**settings)(table).to_pylist()


def test_batches_of_arrays(ray: Any, table: pa.Table, settings: dict[str, Any]) -> None:
    """What Ray gives by default: a dict of arrays, and an instance that runs in tasks."""
    from edgeorder.batch import PlaceBatch

    placed = ray.data.from_arrow(table).map_batches(PlaceBatch(**settings), batch_size=13).take_all()
    wanted = PlaceBatch(**settings)(table).to_pylist()
    assert [list(row["kept"]) if row["kept"] is not None else None for row in placed] == [row["kept"] for row in wanted]
    assert [row["prompt"] for row in placed] == [row["prompt"] for row in wanted]
    assert [row["error"] for row in placed] == [row["error"] for row in wanted]


def test_a_worker_that_is_killed_loses_nothing(ray: Any, table: pa.Table, tmp_path: Path) -> None:
    """Ray starts another one, which does the batch again."""
    from question_rows import KilledOnce

    from edgeorder.batch import PlaceBatch

    mark = tmp_path / "kill"
    mark.touch()
    placed = (
        ray.data.from_arrow(table)
        .repartition(6)
        .map_batches(
            KilledOnce,
            fn_constructor_kwargs={"mark": str(mark), "order": "bookend"},
            batch_format="pyarrow",
            batch_size=10,
            compute=ray.data.ActorPoolStrategy(size=2),
            num_cpus=0.5,
        )
        .take_all()
    )
    assert not mark.exists()
    assert placed == PlaceBatch(order="bookend")(table).to_pylist()
