"""Loopback rerank servers: each checks a request as its documentation has it, and replies sorted by score."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def worth(query: str, text: str) -> float:
    """Return what these servers think of a text: the share of the query's words in it, and its length for ties."""
    words = query.split()
    return sum(word in text for word in words) / len(words) + len(text) / 1e6


def _sorted(body: dict[str, Any], field: str, score: str) -> list[dict[str, Any]]:
    rows = [{"index": at, score: worth(body["query"], text)} for at, text in enumerate(body[field])]
    rows.sort(key=lambda row: -row[score])
    return rows[: body.get("top_n", body.get("top_k", len(rows)))]


def _results(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "1",
        "results": _sorted(body, "documents", "relevance_score"),
        "meta": {},
        "usage": {"total_tokens": 9},
    }


def _vllm(body: dict[str, Any]) -> dict[str, Any]:
    reply = _results(body)
    for row in reply["results"]:
        row["document"] = {"text": body["documents"][row["index"]], "multi_modal": None}
    return reply


def _sglang(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [row | {"document": None, "meta_info": {"id": "x"}} for row in _sorted(body, "documents", "score")]


def _tei(body: dict[str, Any]) -> Any:
    if len(body["texts"]) > 32:
        error = f"batch size {len(body['texts'])} > maximum allowed batch size 32"
        return 422, {"error": error, "error_type": "Validation"}
    return _sorted(body, "texts", "score")


# path, fields that a request must have, those that it may have, reply
SERVERS: dict[str, tuple[str, set[str], set[str], Callable[[dict[str, Any]], Any]]] = {
    "cohere": ("/v2/rerank", {"model", "query", "documents"}, {"top_n", "max_tokens_per_doc"}, _results),
    "jina": ("/v1/rerank", {"model", "query", "documents"}, {"top_n", "return_documents"}, _results),
    "voyage": (
        "/v1/rerank",
        {"model", "query", "documents"},
        {"top_k", "return_documents", "truncation"},
        lambda body: {"object": "list", "data": _sorted(body, "documents", "relevance_score"), "model": body["model"]},
    ),
    "vllm": ("/v1/rerank", {"query", "documents"}, {"model", "top_n"}, _vllm),
    "sglang": ("/v1/rerank", {"query", "documents"}, {"model", "top_n", "return_documents", "instruct"}, _sglang),
    "llama.cpp": ("/v1/rerank", {"query", "documents"}, {"model", "top_n"}, _results),
    "xinference": ("/v1/rerank", {"model", "query", "documents"}, {"top_n", "return_documents"}, _results),
    "tei": ("/rerank", {"query", "texts"}, {"raw_scores", "return_text", "truncate"}, _tei),
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "RerankServer"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers["Authorization"])
        path, must, may, reply = SERVERS[self.server.kind]
        status, said = 200, None
        if self.path != path:
            status, said = 404, {"detail": "Not Found"}
        elif not must <= body.keys() <= must | may:
            status, said = 400, {"error": f"the fields are {sorted(body)}"}
        else:
            said = reply(body)
            if isinstance(said, tuple):
                status, said = said
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass


class RerankServer(ThreadingHTTPServer):
    """A server of one kind.

    Attributes:
        asked: The bodies that came in.
        keys: Their `Authorization` headers.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, kind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kind = kind
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running(kind: str) -> Iterator[RerankServer]:
    """Serve from a thread until the block ends."""
    server = RerankServer(kind)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
