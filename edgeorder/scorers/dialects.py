"""The request and reply forms of rerank servers: a row each.

Replies come sorted by score, not in the order of the texts, and may be cut: what a row finds is believed by its index
alone. Sources: the API references of Cohere (v2), Jina, Voyage, vLLM, SGLang, llama.cpp's server, Xinference and
Text Embeddings Inference.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple


class Dialect(NamedTuple):
    """How one kind of server is asked, and how it answers.

    Args:
        path: Of the endpoint, below the server's address.
        texts: The request's field for the passages.
        rows: Where the reply's rows may stand: a field's name, or "" for a reply that is the list itself.
        score: What a row may call its score.
        at_once: Passages in a request at most, unless the server was told otherwise.
        model: Whether a request names the model.
        host: The vendor's own address, by which `auto` knows it.
        more: What else every request says.
    """

    path: str = "/v1/rerank"
    texts: str = "documents"
    rows: tuple[str, ...] = ("results",)
    score: tuple[str, ...] = ("relevance_score",)
    at_once: int = 1000
    model: Literal["must", "may", "never"] = "may"
    host: str = ""
    more: Mapping[str, Any] = MappingProxyType({})


_NO_TEXTS_BACK = MappingProxyType({"return_documents": False})

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "cohere": Dialect("/v2/rerank", model="must", host="api.cohere.com"),
        "jina": Dialect(model="must", host="api.jina.ai", more=_NO_TEXTS_BACK),
        "voyage": Dialect(rows=("data",), model="must", host="api.voyageai.com", more=_NO_TEXTS_BACK),
        "vllm": Dialect(),
        "sglang": Dialect(rows=("",), score=("score",), more=_NO_TEXTS_BACK),
        "llama.cpp": Dialect(),
        "xinference": Dialect(model="must", more=_NO_TEXTS_BACK),
        # Without raw scores those of clear passages come out as 1 or 0, and cannot be told apart.
        "tei": Dialect(
            "/rerank",
            "texts",
            ("",),
            ("score",),
            at_once=32,
            model="never",
            more=MappingProxyType({"raw_scores": True}),
        ),
    }
)

_LARGEST = 1e300  # NaN and infinities are not below it either
_ANY_V1 = Dialect(rows=("results", "data", ""), score=("relevance_score", "score"))


def candidates(dialect: str, base_url: str) -> Sequence[Dialect]:
    """Return the forms to try, the likeliest first: one, unless `dialect` is "auto" and the address tells nothing."""
    if dialect != "auto":
        return (DIALECTS[dialect],)
    from urllib.parse import urlsplit

    address = urlsplit(base_url)
    for known in DIALECTS.values():
        if known.host and known.host == address.hostname:
            return (known,)
    if address.path.rstrip("/").endswith("/v2/rerank"):
        return (DIALECTS["cohere"],)
    return (_ANY_V1, DIALECTS["tei"], DIALECTS["cohere"])


def endpoint(base_url: str, dialect: Dialect) -> str:
    """Return the address to ask; `base_url` may be the server's, with or without its version, or the endpoint itself.

    >>> [endpoint(f"http://host:80{path}", DIALECTS["vllm"]) for path in ("", "/v1/", "/some/v1/rerank")]
    ['http://host:80/v1/rerank', 'http://host:80/v1/rerank', 'http://host:80/some/v1/rerank']
    """
    address = base_url.rstrip("/")
    if address.endswith("/rerank"):
        return address
    version, _, name = dialect.path.rpartition("/")
    return f"{address}/{name}" if version and address.endswith(version) else address + dialect.path


def request(dialect: Dialect, model: str | None, query: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the body of a request."""
    named = {} if model is None or dialect.model == "never" else {"model": model}
    return {**named, "query": query, dialect.texts: list(texts), **dialect.more}


def read_reply(dialect: Dialect, reply: Any, texts: Sequence[str]) -> dict[int, float]:
    """Return the scores of a reply by the index of the text; a text that the reply leaves out has none.

    Raises:
        ValueError: If it is no reply of this form, or says anything that cannot be: an index that is repeated, out of
            range or no whole number, a score that is no finite number, another text than the one at the index.
    """
    rows = next((found for name in dialect.rows if isinstance(found := _at(reply, name), list)), None)
    if rows is None:
        known = " or ".join(f"a list in {name!r}" if name else "a list" for name in dialect.rows)
        raise ValueError(f"the reply is not {known}, but {reply!r:.120}")
    own: dict[str, set[int]] = {}
    for at, text in enumerate(texts):
        own.setdefault(text, set()).add(at)
    scores: dict[int, float] = {}
    for row in rows:
        index = row.get("index") if isinstance(row, dict) else None
        if isinstance(index, bool) or not isinstance(index, int):
            raise ValueError(f"a row of the reply has no index, and its place there means nothing: {row!r:.120}")
        if not 0 <= index < len(texts):
            raise ValueError(f"the reply scores index {index!r:.20}, and the texts are 0..{len(texts) - 1}")
        if index in scores:
            raise ValueError(f"the reply scores index {index} twice")
        score = next((row[name] for name in dialect.score if name in row), None)
        if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= _LARGEST:
            raise ValueError(f"the reply has no finite number as the score of index {index}: {row!r:.120}")
        if (echo := _echo(row)) and index not in own.get(echo, {index}):
            raise ValueError(f"the reply gives the score of index {index} to the text of index {min(own[echo])}")
        scores[index] = float(score)
    return scores


def _at(reply: Any, name: str) -> Any:
    if not name:
        return reply
    return reply.get(name) if isinstance(reply, dict) else None


def _echo(row: dict[str, Any]) -> str:
    """Return the text that a row says it is about, if it says so."""
    echo = row.get("document", row.get("text"))
    echo = echo.get("text") if isinstance(echo, dict) else echo
    return echo if isinstance(echo, str) else ""
