"""Side-by-side measurements of whole tables: `make bench-batches`.

`python benchmarks/batches.py [rows] [ray]`: rows/s of `PlaceBatch` against a plain loop over `place`, what Ray costs
(where it is installed), reranking row by row against together, and peak memory over the size of a table.
"""

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from edgeorder import Budget, Chunk, approximate_counter, place
from edgeorder.batch import PlaceBatch, place_table

ROOT = Path(__file__).parents[1]
sys.path.extend((str(ROOT / "tests" / "batch"), str(ROOT / "tests" / "rerank")))

SENTENCE = "The committee approved item {} of the revised travel policy after a short discussion on costs. "


def rows(n: int, chunks: int = 20) -> pa.Table:
    """Return a table of questions with chunks of about 80 tokens, of a few hundred rows again and again."""
    distinct = min(n, 500)
    made = [
        {
            "id": at,
            "query": f"what about item {at}?",
            "chunks": [
                {
                    "text": "".join(SENTENCE.format(at * 100 + chunk * 7 + more) for more in range(5)),
                    "score": 1 - chunk / chunks,
                    "source": f"d{chunk % 7}",
                    "offset": chunk,
                    "id": f"{at}-{chunk}",
                }
                for chunk in range(chunks)
            ],
        }
        for at in range(distinct)
    ]
    table = pa.Table.from_pylist(made)
    return pa.concat_tables([table] * (n // distinct)).combine_chunks()


def fastest(*calls: Callable[[], object], rounds: int = 5) -> list[float]:
    """Return the seconds of each call, the best of some rounds taken in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for which, call in enumerate(calls):
            start = time.process_time()
            call()
            best[which] = min(best[which], time.process_time() - start)
    return best


def against_a_loop() -> None:
    """Compare with what one would write by hand for the same table and the same cells."""
    table = rows(500)
    print("PlaceBatch / a plain loop over place(), rows a second of one core; reach >= 0.9")
    for name, settings in (
        ("no budget", {}),
        ("budget, bound", {"budget": Budget(3000, approximate_counter())}),
        ("budget, tiktoken", {"budget": 1500}),
    ):
        place_batch = PlaceBatch(**settings)

        def loop(settings: dict[str, Any] = settings) -> list[tuple[object, ...]]:
            out = []
            for row in table.to_pylist():
                placement = place([Chunk(**chunk) for chunk in row["chunks"]], query=row["query"], **settings)
                block = placement.block.text
                out.append((placement.indices, block, placement.tokens, placement.dropped, placement.reason))
            return out

        ours, plain = fastest(lambda: place_batch(table), loop)  # noqa: B023 - called within the round
        print(f"  {name:<18} {500 / ours:>7.0f}   loop {500 / plain:>7.0f}   ratio {plain / ours:.2f}")


class Spent:
    """Counts the processor seconds of this process and of all that it began, while it runs in a thread."""

    def __init__(self, psutil: Any) -> None:
        self._psutil, self._most, self._ended = psutil, dict[int, float](), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _look(self) -> float:
        own = self._psutil.Process()
        for process in (own, *own.children(recursive=True)):
            with suppress(self._psutil.Error):  # it has ended meanwhile: what was seen of it counts
                times = process.cpu_times()
                self._most[process.pid] = times.user + times.system
        return sum(self._most.values())

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            self._look()

    def total(self) -> float:
        """Return them so far."""
        return self._look()

    def end(self) -> None:
        """Watch no longer."""
        self._ended.set()
        self._thread.join()


class Timed(PlaceBatch):
    """Adds a column of the processor seconds that the placing itself took."""

    def __call__(self, batch: Any) -> Any:
        start = time.process_time()
        placed = super().__call__(batch)
        each = (time.process_time() - start) / max(batch.num_rows, 1)
        return placed.append_column("seconds", pa.array([each] * batch.num_rows, pa.float64()))


def ray_share(n: int) -> None:
    """Show what Ray costs, in processor seconds: which of those of one run were not spent in `PlaceBatch`.

    Ray runs on n rows and on three times as many: the difference is what it does once it runs, the rest is its start.
    """
    try:
        import ray
    except ImportError:
        print("Ray is not installed here: no figure of what it costs")
        return
    import psutil  # Ray brings it

    table = rows(3 * n)

    def run(count: int) -> tuple[float, float, float]:
        before, start = spent.total(), time.perf_counter()
        placed = (
            ray.data.from_arrow(table.slice(0, count))
            .repartition(8)
            .map_batches(
                Timed,
                fn_constructor_kwargs={"budget": 1500},
                batch_format="pyarrow",
                batch_size=500,
                compute=ray.data.ActorPoolStrategy(size=2),
                num_cpus=0.5,
            )
        )
        blocks = [
            block["seconds"].to_pylist() for block in placed.iter_batches(batch_format="pyarrow", batch_size=None)
        ]
        assert sum(map(len, blocks)) == count
        return sum(map(sum, blocks)), spent.total() - before, time.perf_counter() - start

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    spent = Spent(psutil)
    (few, few_all, few_wall), (many, many_all, many_wall) = run(n), run(3 * n)
    spent.end()
    ray.shutdown()
    print(f"Ray on two workers, load {os.getloadavg()[0]:.1f}; processor seconds of all its processes, of PlaceBatch:")
    for count, inside, total, wall in ((n, few, few_all, few_wall), (3 * n, many, many_all, many_wall)):
        print(f"  {count:>7} rows in {wall:.0f} s: {total:.1f}, {inside:.1f}; Ray {1 - inside / total:.0%}")
    print(f"  the share that Ray costs once it runs: {1 - (many - few) / (many_all - few_all):.0%}")


def reranking(n: int) -> None:
    """Compare the scoring of many rows together with scoring row by row, for lengths that differ and that do not."""
    from material import passage, save_cross_encoder

    from edgeorder.rerank import CrossEncoderScorer, OnnxCrossEncoderScorer
    from edgeorder.scorers.export import export_onnx

    drawn = random.Random(5)
    lengths = {"lengths 5 to 200": lambda: drawn.choice((5, 10, 20, 50, 200)), "all of 40": lambda: 40}
    print(f"reranking {n} rows of 20 chunks together / row by row; reach >= 1.5 where lengths differ")
    with tempfile.TemporaryDirectory() as work:
        save_cross_encoder(Path(work, "torch"))
        export_onnx(str(Path(work, "torch")), Path(work, "onnx"))
        tables = {
            label: {
                "query": [f"what may a hotel cost in case {at}?" for at in range(n)],
                "chunks": [[passage(words(), at * 100 + chunk) for chunk in range(20)] for at in range(n)],
            }
            for label, words in lengths.items()
        }
        for scorer in (
            CrossEncoderScorer(str(Path(work, "torch")), device="cpu"),
            OnnxCrossEncoderScorer(Path(work, "onnx"), precision="fp32"),
            CrossEncoderScorer(str(Path(work, "torch")), device="cpu", batch_size=32),
        ):
            place_batch = PlaceBatch(rerank=scorer, top_n=5)
            kind = type(scorer).__name__ + (", batches of 32" if scorer.batch_size == 32 else "")
            for label, table in tables.items():
                place_batch({name: values[:2] for name, values in table.items()})

                def by_row(table: dict[str, list[Any]] = table, scorer: Any = scorer) -> None:
                    for query, chunks in zip(table["query"], table["chunks"], strict=True):
                        place(list(map(Chunk, chunks)), query=query, rerank=scorer, top_n=5)

                calls = (lambda: place_batch(table), by_row)  # noqa: B023 - called within the round
                rounds = [[walls_and_work(call) for call in calls] for _ in range(2 if n < 200 else 1)]  # minutes each
                together, alone = map(min, zip(*rounds, strict=True))
                wall, spent = (ours / theirs for ours, theirs in zip(alone, together, strict=True))
                told = f"{n / together[0]:>6.1f} rows/s   ratio {wall:.2f}, of processor seconds {spent:.2f}"
                print(f"  {kind:<38} {label:<17} {told}", flush=True)


def walls_and_work(call: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of a call by the clock, and those of all processors."""
    start, began = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start, time.process_time() - began


def peak(n: int) -> None:
    """Print the peak memory, in MiB, of placing a table of that many rows."""
    import resource

    with tempfile.TemporaryDirectory() as work:
        table = rows(500)
        with pq.ParquetWriter(Path(work, "in.parquet"), table.schema) as writer:
            for _ in range(n // 500):
                writer.write_table(table)
        place_table(Path(work, "in.parquet"), Path(work, "out"), PlaceBatch(order="bookend"))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def memory(sizes: tuple[int, ...]) -> None:
    """Show the peak over the size of the table, each in a process of its own."""
    print("peak memory of place_table, MiB; reach: flat")
    for n in sizes:
        done = subprocess.run([sys.executable, __file__, "peak", str(n)], capture_output=True, text=True, check=True)
        print(f"  {n:>8} rows   {done.stdout.strip()}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["peak", n]:
            peak(int(n))
        case ["loop"]:
            against_a_loop()
        case ["ray", n]:
            ray_share(int(n))
        case ["rerank", n]:
            reranking(int(n))
        case ["memory", *sizes]:
            memory(tuple(map(int, sizes)))
        case _:
            against_a_loop()
            ray_share(20_000)
            reranking(1000)
            memory((10_000, 200_000))
