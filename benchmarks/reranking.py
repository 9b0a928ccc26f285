"""Side-by-side measurements of reranking: `make bench`.

Fifty passages of 30 to 400 tokens, a cross-encoder of MiniLM size, the same weights for everybody. Each contender runs
in a process of its own, one after the other, several times; the fastest call counts.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "rerank"))

CONTENDERS = ("predict", "llamaindex", "langchain", "torch", "onnx fp32", "onnx int8")


def measure(contender: str, folder: str) -> None:
    """Print, as JSON, how long a contender takes from start to its first scores, and how long a call takes then."""
    start = time.perf_counter()
    call = make(contender, folder)
    call()
    cold = time.perf_counter() - start
    times = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    print(json.dumps({"cold": cold, "warm": min(times)}))


def overhead(folder: str) -> None:
    """Print what `place` spends outside the library's `predict`, as a share of it: both of the same call."""
    import functools
    import statistics

    from material import QUERY
    from sentence_transformers import CrossEncoder

    from edgeorder import Chunk, place
    from edgeorder.rerank import CrossEncoderScorer

    model = CrossEncoder(folder, device="cpu")
    inside = [0.0]
    predict = model.predict

    @functools.wraps(predict)
    def timed(*args, **keywords):
        start = time.perf_counter()
        try:
            return predict(*args, **keywords)
        finally:
            inside[0] = time.perf_counter() - start

    model.predict = timed
    chunks = [Chunk(text) for text in passages()]
    scorer = CrossEncoderScorer(model)
    shares = []
    for _ in range(7):
        start = time.perf_counter()
        place(chunks, query=QUERY, rerank=scorer, top_n=12)
        shares.append((time.perf_counter() - start) / inside[0] - 1)
    print(f"edgeorder over bare CrossEncoder.predict: {statistics.median(shares) * 100:+.1f} % (median of 7 calls)")


def over_http() -> None:
    """Print what `HttpScorer` spends beside a bare client, asking a server of this machine for fifty passages."""
    import statistics

    import httpx2
    from rerank_servers import running

    from edgeorder.rerank import HttpScorer

    texts = [f"passage {number} " + "refund " * number for number in range(50)]
    costs = []
    with running("vllm") as server, httpx2.Client() as client:
        scorer = HttpScorer(server.url, dialect="vllm")
        for _ in range(50):
            start = time.perf_counter()
            client.post(f"{server.url}/v1/rerank", json={"query": "refund", "documents": texts}).json()
            middle = time.perf_counter()
            scorer("refund", texts)
            costs.append((time.perf_counter() - middle) - (middle - start))
    print(f"HttpScorer over a bare client: {statistics.median(costs) * 1000:+.1f} ms a call (median of 50)")


def passages() -> list[str]:
    """Return fifty passages of 30 to about 400 tokens."""
    from material import passage

    return [passage(25 + seed * 6, seed) for seed in range(50)]


def make(contender: str, folder: str):
    """Return a call that reranks the passages, through the contender's own front door."""
    from material import QUERY

    texts = passages()
    if contender == "predict":  # with edgeorder's batch size
        import torch
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(folder, device="cpu")
        pairs = [(QUERY, text) for text in texts]
        return lambda: model.predict(pairs, batch_size=8, activation_fn=torch.nn.Identity())
    if contender == "llamaindex":
        from llama_index.core.postprocessor import SentenceTransformerRerank
        from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

        reranker = SentenceTransformerRerank(model=folder, top_n=12, device="cpu")
        query = QueryBundle(QUERY)
        return lambda: reranker.postprocess_nodes([NodeWithScore(node=TextNode(text=text)) for text in texts], query)
    if contender == "langchain":
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the peer's package is sunset and says so
            from langchain_community.cross_encoders import HuggingFaceCrossEncoder
        from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
        from langchain_core.documents import Document

        model = HuggingFaceCrossEncoder(model_name=folder, model_kwargs={"device": "cpu"})
        compressor = CrossEncoderReranker(model=model, top_n=12)
        documents = [Document(text) for text in texts]
        return lambda: compressor.compress_documents(documents, QUERY)
    from edgeorder import Chunk, place
    from edgeorder.rerank import CrossEncoderScorer, OnnxCrossEncoderScorer

    chunks = [Chunk(text) for text in texts]
    if contender == "torch":
        scorer = CrossEncoderScorer(folder, device="cpu")
    else:
        scorer = OnnxCrossEncoderScorer(folder, precision=contender.split()[1])
    return lambda: place(chunks, query=QUERY, rerank=scorer, top_n=12)


def disk(packages: list[str]) -> float:
    """Return the megabytes of installed packages."""
    import importlib.metadata as metadata

    return (
        sum(
            file.locate().stat().st_size
            for package in packages
            for file in metadata.files(package) or []
            if file.locate().is_file()
        )
        / 1e6
    )


def needs(package: str, seen: set[str]) -> set[str]:
    """Return a package and all that it needs, as installed."""
    import importlib.metadata as metadata
    import re

    name = re.split(r"[ ;<>=!~\[(]", package)[0].lower().replace("_", "-")
    if name in seen:
        return seen
    try:
        requires = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return seen
    seen.add(name)
    for other in requires:
        if "extra ==" not in other:
            needs(other, seen)
    return seen


def main() -> None:
    """Run every contender in turn and print the ratios."""
    from material import save_cross_encoder

    from edgeorder.scorers.export import export_onnx
    from edgeorder.scorers.onnx import processor_features

    with tempfile.TemporaryDirectory() as work:
        save_cross_encoder(Path(work, "torch"))
        export_onnx(str(Path(work, "torch")), Path(work, "onnx"), int8=True)
        overhead = subprocess.run(
            [sys.executable, __file__, "overhead", str(Path(work, "torch"))], capture_output=True, text=True, check=True
        ).stdout.splitlines()[-1]
        runs: dict[str, list[dict[str, float]]] = {contender: [] for contender in CONTENDERS}
        walls: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
        for _ in range(3):
            for contender in CONTENDERS:
                folder = str(Path(work, "onnx" if "onnx" in contender else "torch"))
                start = time.perf_counter()
                out = subprocess.run(
                    [sys.executable, __file__, contender, folder], capture_output=True, text=True, check=True
                ).stdout
                walls[contender].append(time.perf_counter() - start)
                runs[contender].append(json.loads(out.splitlines()[-1]))
    warm = {contender: min(run["warm"] for run in found) for contender, found in runs.items()}
    peer = min(warm["llamaindex"], warm["langchain"])
    print("reranking 50 passages of 30 to 400 tokens, seconds a call")
    reach = {"torch": "reach >= 1", "onnx fp32": "reach >= 1.5", "onnx int8": "reach >= 3 with VNNI"}
    for contender, seconds in warm.items():
        speed = f"{peer / seconds:5.2f} times the faster peer"
        print(f"  {contender:<12} {seconds:7.3f}   {speed}   {reach.get(contender, '')}")
    print(f"  processor: {', '.join(sorted(processor_features()))}")
    print(f"  {overhead}; reach < 3 %")
    over_http()
    # A process spends three more calls after the first scores; they are taken off.
    cold = {name: min(wall - 3 * warm[name] for wall in found) for name, found in walls.items()}
    print("process start to first 50 scores, seconds; reach: at most a third of torch")
    for contender in ("torch", "onnx fp32", "onnx int8"):
        print(f"  {contender:<12} {cold[contender]:7.2f}   {cold[contender] / cold['torch']:5.2f} of torch")
    onnx: set[str] = set()
    for package in ("onnxruntime", "tokenizers", "huggingface-hub", "numpy"):
        needs(package, onnx)
    large, small = disk(sorted(needs("sentence-transformers", set()))), disk(sorted(onnx))
    print(f"disk: extra rerank {large:.0f} MB, extra onnx {small:.0f} MB, {small / large:.2f} of it; reach <= 0.17")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[1] == "overhead":
        overhead(sys.argv[2])
    else:
        measure(*sys.argv[1:])
