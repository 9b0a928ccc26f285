"""Place the chunks of 100,000 generated questions on a local Ray cluster.

    pip install 'edgeorder[batch]' 'ray[data]'
    python examples/whole_table.py            # or with another number of rows

The questions are made on the cluster, placed by two workers, and written as Parquet; then the table is read again and
looked at: is every row there once, do blocks keep the budget, what was left out?
"""

import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import ray

from edgeorder import Budget, approximate_counter
from edgeorder.batch import PlaceBatch

BUDGET = 6000
POLICY = "Rule {}: a traveller who books {} must ask {} before the trip, and keeps the receipt for {} days."
WHAT = ("a hotel", "a flight", "a rail pass", "a hired car", "a conference seat")
WHOM = ("the manager", "the travel desk", "the finance team")


def question(row: dict[str, Any]) -> dict[str, Any]:
    """Make a question and its 20 chunks, best first; every thousandth row is broken, as in any large table."""
    at = int(row["id"])
    chunks = [
        {
            "text": " ".join(
                POLICY.format(at % 97 + chunk * 10 + line, WHAT[(at + line) % 5], WHOM[(chunk + line) % 3], 30 + line)
                for line in range(1 + (at + chunk) % 4)
            ),
            "score": 1 - chunk / 20,
            "source": f"policy-{(at + chunk) % 6}",
            "offset": chunk // 2,
        }
        for chunk in range(20)
    ]
    return {
        "id": at,
        "query": f"Whom do I ask before I book {WHAT[at % 5]}?",
        "chunks": None if at % 1000 == 999 else chunks,
    }


def main(n: int) -> None:
    """Run it and print its figures."""
    # Ray counts a CPU for each worker and each task that reads or writes, and waits for ever, without an error, for a
    # CPU that its own workers hold. So each of the two workers counts half below: of two CPUs one is left to the tasks.
    ray.init(num_cpus=max(2, os.cpu_count() or 1), include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True  # without it, rows come back in any order
    with tempfile.TemporaryDirectory() as work:
        start = time.perf_counter()
        ray.data.range(n, override_num_blocks=20).map(question).write_parquet(f"{work}/questions")
        made = time.perf_counter() - start
        start = time.perf_counter()
        (
            ray.data.read_parquet(f"{work}/questions")
            .map_batches(
                PlaceBatch,
                fn_constructor_kwargs={"budget": Budget(BUDGET, approximate_counter())},
                batch_format="pyarrow",
                batch_size=500,
                compute=ray.data.ActorPoolStrategy(size=2),
                num_cpus=0.5,
            )
            .drop_columns(["chunks"])
            .write_parquet(f"{work}/placed")
        )
        placed = time.perf_counter() - start
        ray.shutdown()
        table = pq.read_table(Path(work, "placed")).sort_by("id").to_pydict()
    assert table["id"] == list(range(n)), "a row is missing or there twice"
    tokens = [count for count in table["tokens"] if count is not None]
    dropped = Counter(drop["reason"] for row in table["dropped"] if row for drop in row)
    errors = [(at, error) for at, error in zip(table["id"], table["error"], strict=True) if error]
    print(f"{n} questions made in {made:.1f} s")
    print(f"{n} rows placed in {placed:.1f} s, reading and writing included: {n / placed:.0f} rows/s")
    print(f"longest block: {max(tokens)} tokens of {BUDGET}")
    print(f"chunks kept: {sum(len(row) for row in table['kept'] if row)}, dropped: {dict(dropped)}")
    print(f"orders: {dict(Counter(filter(None, table['order'])))}")
    print(f"bad rows: {len(errors)}" + (f", the first is {errors[0][0]}: {errors[0][1]}" if errors else ""))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
