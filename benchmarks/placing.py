"""Side-by-side measurements: `make bench`.

Every figure compares two things in one run on one machine, alternating between them, and prints the ratio of the
fastest rounds: the least disturbed by whatever else the machine does. Nothing here is a test; `reach` is what the
project set out for.
"""

import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the peer's package is sunset and says so
    from langchain_community.document_transformers import LongContextReorder
from langchain_core.documents import Document
from llama_index.core.postprocessor import LongContextReorder as LlamaLongContextReorder
from llama_index.core.schema import NodeWithScore, TextNode

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import datafiles

from edgeorder import Budget, Chunk, JsonlRecorder, audit, place, read_records, tiktoken_counter
from edgeorder.summarising import Summary
from langchain_edgeorder import EdgeOrder
from llamaindex_edgeorder import EdgeOrderPostprocessor

SIZES = (20, 100, 1000, 10_000)


def fastest(*calls: Callable[[], object], rounds: int = 15) -> list[float]:
    """Return the microseconds of each call, the best of many rounds taken in turn."""
    once = time.perf_counter()
    for call in calls:
        call()
    repeats = max(1, int(0.02 / max(time.perf_counter() - once, 1e-7)))
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for which, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            best[which] = min(best[which], (time.perf_counter() - start) / repeats * 1e6)
    return best


def row(what: str, ours: float, peer: float, reach: str, unit: str = "us") -> None:
    """Print one comparison."""
    print(f"  {what:<34} {ours:>10.1f} {unit}  peer {peer:>10.1f} {unit}  ratio {ours / peer:>6.2f}   reach {reach}")


def documents(n: int) -> list[Document]:
    """Return n documents of about 150 tokens, each from a source of its own."""
    return [Document(page_content=f"{i} " + "word " * 150, metadata={"source": f"doc{i}.md"}) for i in range(n)]


def against_langchain() -> None:
    """Compare with LangChain's LongContextReorder, like for like and with all defaults."""
    print("EdgeOrder.transform_documents / LangChain LongContextReorder")
    like, default, peer = EdgeOrder(order="bookend", reading="off"), EdgeOrder(), LongContextReorder()
    for n, reach in zip(SIZES, ("<= 6", "<= 2", "<= 0.7", "<= 0.15"), strict=True):
        docs = documents(n)
        ours, all_defaults, theirs = fastest(
            lambda: like.transform_documents(docs),  # noqa: B023 - called within the round
            lambda: default.transform_documents(docs),  # noqa: B023
            lambda: peer.transform_documents(docs),  # noqa: B023
        )
        row(f"n={n}, like for like", ours, theirs, reach)
        row(f"n={n}, all defaults", all_defaults, theirs, {20: "< 60 us", 10_000: "<= 0.5"}.get(n, "-"))


def against_llama_index() -> None:
    """Compare with LlamaIndex's LongContextReorder, like for like."""
    print("EdgeOrderPostprocessor.postprocess_nodes / LlamaIndex LongContextReorder")
    like, peer = EdgeOrderPostprocessor(order="bookend", reading="off"), LlamaLongContextReorder()
    for n, reach in zip(SIZES, ("<= 1.5", "<= 1.2", "<= 0.7", "<= 0.15"), strict=True):
        nodes = [NodeWithScore(node=TextNode(text="word " * 150), score=1 - i / n) for i in range(n)]
        ours, theirs = fastest(lambda: like.postprocess_nodes(nodes), lambda: peer.postprocess_nodes(nodes))  # noqa: B023
        row(f"n={n}, like for like", ours, theirs, reach)


def packing() -> None:
    """Compare a budget of 6,000 tokens over 1,000 chunks with tiktoken alone on the texts that were counted."""
    print("budget of 6,000 tokens over 1,000 chunks of about 150 tokens / tiktoken on the same texts")
    sentence = "The committee approved item {} of the revised travel policy after a short discussion on costs. "
    chunks = [Chunk("".join(sentence.format(i * 10 + j) for j in range(8))) for i in range(1000)]
    counted: list[str] = []

    def recording(text: str) -> int:
        counted.append(text)
        return count(text)

    count = tiktoken_counter()
    placement = place(chunks, budget=Budget(6000, recording))
    parts = counted[:-1]  # the last text is the joined block
    ours, alone, bodies = fastest(
        lambda: place(chunks, budget=Budget(6000, count)),
        lambda: [count(text) for text in counted],
        lambda: [count(text) for text in parts],
    )
    row("time, joined block among the texts", ours, alone, "<= 1.3")
    row("time, without the joined block", ours, bodies, "-")
    print(f"  texts counted: {len(parts)} parts and the joined block, {len(placement)} kept; reach < 60")


def imports() -> None:
    """Compare the import of the packages with bare Python and with langchain-core's own modules."""
    print("imports, whole processes")
    core = "import langchain_core.documents, langchain_core.runnables, langchain_core.retrievers"
    codes = ("pass", "import edgeorder", core, "import langchain_edgeorder")

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    bare, ours, theirs, adapter = fastest(*(lambda code=code: run(code) for code in codes), rounds=10)
    print(f"  import edgeorder: {(ours - bare) / 1000:.1f} ms over bare Python; reach < 50 ms")
    row("import langchain_edgeorder", adapter / 1000, theirs / 1000, "< 1.3", "ms")


def memory() -> None:
    """Show what a placement of 10,000 chunks holds and peaks at."""
    chunks = [Chunk(f"{i}" + "x" * 5000, source=f"s{i}") for i in range(10_000)]
    tracemalloc.start()
    placement = place(chunks)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(
        f"memory: {len(placement)} chunks, 50 MB of text; placement holds {held / 1e6:.2f} MB, peak {peak / 1e6:.2f} MB"
    )


def auto_reasons() -> None:
    """Show how often `auto` gives each reason on real retrieval, if the data is there."""
    rows = datafiles.rows(datafiles.NQ_RETRIEVED)
    if not rows:
        print(f"auto on real retrieval: no {datafiles.NQ_RETRIEVED} here")
        return
    print(f"auto on {datafiles.NQ_RETRIEVED}, share of each reason")
    for k in (3, 5, 10, 20):
        reasons = Counter(
            place([Chunk(c["text"], score=c["score"], id=c["id"]) for c in row["chunks"][:k]]).reason for row in rows
        )
        print(f"  k={k:<3}", "; ".join(f"{reason}: {n / len(rows):.0%}" for reason, n in reasons.most_common()))


def recording() -> None:
    """Show what a record costs, and what a summary of many holds."""
    chunks = [Chunk(f"{i} " + "word " * 150, source=f"doc{i}.md", score=1 - i / 30, id=f"c{i}") for i in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.jsonl")
        recorder = JsonlRecorder(path)
        bare, recorded = fastest(lambda: place(chunks), lambda: place(chunks, recorders=[recorder]))
        print(f"recording 20 chunks to JSONL: {recorded - bare:.0f} us over {bare:.0f} us; reach < 200 us")
        line = path.read_bytes().splitlines(keepends=True)[0]
        for count in (1_000, 10_000):
            path.write_bytes(line * count)
            summary = Summary()
            tracemalloc.start()
            for record in read_records(path):
                summary.add(record)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            print(f"  {summary.placements:,} records of {len(line):,} bytes summarised: peak {peak / 1e6:.2f} MB")
    asked = [{"question": f"question {i}", "gold": f"c{i % 25}"} for i in range(1_000)]
    start = time.perf_counter()
    found = audit(lambda question: chunks, {"budget": Budget(2_500)}, asked)
    print(f"audit of {len(found.rows):,} questions, k=20: {time.perf_counter() - start:.1f} s; reach < 15 s")


if __name__ == "__main__":
    for measure in (
        against_langchain,
        against_llama_index,
        packing,
        imports,
        memory,
        recording,
        auto_reasons,
    ):
        measure()
