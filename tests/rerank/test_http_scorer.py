"""Rerank servers: each score comes to the text that it is about, or there is an error."""

import asyncio
import json
import pickle
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from faults.server import ENDLESS, FAULTS, FaultServer
from hypothesis import given
from hypothesis import strategies as st
from rerank_servers import SERVERS, running, worth

from edgeorder import Chunk, Rerank, RerankError, aplace, place
from edgeorder.rerank import HttpScorer, Scored
from edgeorder.scorers.dialects import DIALECTS, read_reply

QUERY = "refund limit"
TEXTS = ["trains run daily", "the limit of a refund", "a refund takes five days", "", "the limit"]
TRUTH = [worth(QUERY, text) for text in TEXTS]
KEY = "planted-key-0123456789"


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Callable[..., Scored]:
    """Return what asks a scorer, by each of its faces."""

    def ask(scorer: HttpScorer, query: str = QUERY, texts: Any = TEXTS) -> Scored:
        return scorer(query, texts) if request.param == "sync" else asyncio.run(scorer.acall(query, texts))

    return ask


@pytest.mark.parametrize("kind", SERVERS)
def test_each_kind_of_server_is_understood(kind: str, ask: Callable[..., Scored]) -> None:
    """Asked in its form, its sorted reply comes back in the order of the texts."""
    with running(kind) as server:
        scorer = HttpScorer(server.url, "some-model", dialect=kind)
        assert ask(scorer).scores == pytest.approx(TRUTH)
        assert server.keys == [None]
        assert server.asked[0].get("model") == (None if kind == "tei" else "some-model")
    assert kind in DIALECTS


@pytest.mark.parametrize("kind", ["jina", "voyage", "vllm", "sglang", "llama.cpp", "xinference", "tei", "cohere"])
def test_auto_finds_out_and_remembers(kind: str) -> None:
    """A server of one's own is found by asking; the next call goes there at once."""
    with running(kind) as server:
        scorer = HttpScorer(server.url + "/", model="m")
        assert [scorer(QUERY, TEXTS).scores for _ in range(2)] == [pytest.approx(TRUTH)] * 2
        forms = [sorted(body) for body in server.asked]
        assert forms[-1] == forms[-2]
        assert len(forms) == 2 + {"tei": 1, "cohere": 2}.get(kind, 0)


@pytest.mark.parametrize(
    ("url", "forms"),
    [
        ("https://api.cohere.com", ["cohere"]),
        ("https://api.jina.ai/v1", ["jina"]),
        ("https://api.voyageai.com/v1/", ["voyage"]),
    ],
)
def test_vendors_are_known_by_their_address(url: str, forms: list[str]) -> None:
    """The vendors' own addresses say what they speak; a model is needed there."""
    from edgeorder.scorers.dialects import candidates

    assert list(candidates("auto", url)) == [DIALECTS[form] for form in forms]
    with pytest.raises(ValueError, match="has several models: say which one"):
        HttpScorer(url)


def test_more_texts_than_a_request_takes_go_in_batches(ask: Callable[..., Scored]) -> None:
    """Text Embeddings Inference takes 32 at once; scores of all batches come home."""
    texts = [f"passage {'refund ' * (number % 7)}{number}" for number in range(100)]
    with running("tei") as server:
        found = ask(HttpScorer(server.url, dialect="tei"), texts=texts)
        assert found.scores == pytest.approx([worth(QUERY, text) for text in texts])
        assert [len(body["texts"]) for body in server.asked] == [32, 32, 32, 4]
        with pytest.raises(
            RerankError, match=r"422: batch size 33 > maximum allowed batch size 32; perhaps .*batch_size"
        ):
            ask(HttpScorer(server.url, dialect="tei", batch_size=33), texts=texts)


def test_a_reply_for_some_leaves_the_others_unscored_with_a_note(ask: Callable[..., Scored]) -> None:
    """`top_n` cuts the reply: who is missing in it has no score, ranks last, and the record says so."""
    with running("vllm") as server:
        scorer = HttpScorer(server.url, dialect="vllm", options={"top_n": 2})
        found = ask(scorer)
        assert found.scores == [None, pytest.approx(TRUTH[1]), pytest.approx(TRUTH[2]), None, None]
        placement = place([Chunk(text or "-") for text in TEXTS], query=QUERY, rerank=scorer, order="relevance")
        assert placement.indices == (1, 2, 0, 3, 4)
        assert f"{scorer.name} scored 2 of 5 texts" in placement.record.notes
    assert asyncio.run(aplace([], rerank=scorer)).indices == ()


def rows(*pairs: Any) -> dict[str, Any]:
    return {"results": [{"index": index, "relevance_score": score} for index, score in pairs]}


GOOD = rows((2, 0.9), (1, 0.8), (0, 0.1), (4, 0.05), (3, 0.0))
HOSTILE: list[tuple[Any, str]] = [
    (rows((0, 0.9), (0, 0.8), (1, 0.7), (2, 0.6), (3, 0.5)), "scores index 0 twice"),
    (rows((1, 0.9), (2, 0.8), (3, 0.7), (4, 0.6), (5, 0.5)), "scores index 5, and the texts are 0..4"),
    (rows((-1, 0.9)), "scores index -1"),
    (rows((10**30, 0.9)), "no index"),
    (rows(("0", 0.9)), "no index"),
    (rows((0.0, 0.9)), "no index"),
    (rows((True, 0.9)), "no index"),
    (rows((None, 0.9)), "no index"),
    ({"results": [{"relevance_score": 0.9}] * 5}, "no index"),
    ({"results": [{"document_index": 0, "relevance_score": 0.9}]}, "no index"),
    ({"results": [0.9, 0.8, 0.7, 0.6, 0.5]}, "no index"),
    ({"results": [[0, 0.9], [1, 0.8]]}, "no index"),
    ({"results": [None]}, "no index"),
    (rows((0, "0.9")), "no finite number as the score of index 0"),
    (rows((0, None)), "no finite number"),
    (rows((0, True)), "no finite number"),
    (rows((0, [0.9])), "no finite number"),
    (rows((0, 10**400)), "no finite number"),
    ('{"results": [{"index": 0, "relevance_score": NaN}]}', "no finite number"),
    ('{"results": [{"index": 0, "relevance_score": Infinity}]}', "no finite number"),
    ('{"results": [{"index": 0, "relevance_score": 1e999}]}', "no finite number"),
    ({"results": [{"index": 0}]}, "no finite number"),
    ({"results": [{"index": 0, "score": 0.9}]}, "no finite number"),
    ({"results": []}, "scores none of 5 texts"),
    ({"results": {"0": 0.9}}, "not a list in 'results'"),
    ({"results": None}, "not a list in 'results'"),
    ({"data": GOOD["results"]}, "not a list in 'results'"),
    (GOOD["results"], "not a list in 'results'"),
    ({"error": "overloaded"}, "not a list in 'results'"),
    ({"message": "use /v2"}, "not a list in 'results'"),
    ({}, "not a list in 'results'"),
    ([], "not a list in 'results'"),
    (7, "not a list in 'results'"),
    ("results", "no JSON"),
    ('"results"', "not a list in 'results'"),
    ('{"results": [{"index": 0, "relevance_score": 0.9}', "no JSON"),
    ("<html><body>Welcome</body></html>", "no JSON"),
    ("", "no JSON"),
    ("[" * 100_000, "no JSON"),
    (
        {"results": [{"index": 0, "relevance_score": 0.9, "document": {"text": TEXTS[1]}}]},
        "gives the score of index 0 to the text of index 1",
    ),
    (
        {"results": [{"index": 2, "relevance_score": 0.9, "document": TEXTS[0]}]},
        "gives the score of index 2 to the text of index 0",
    ),
    ({"results": [{"index": 1, "relevance_score": 0.9, "text": TEXTS[4]}]}, "to the text of index 4"),
]


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """Return a server that says what it is told to."""
    with FaultServer(lambda request: GOOD).running() as server:
        server.interval = 0.02
        yield server


@pytest.mark.parametrize(("reply", "message"), HOSTILE)
def test_a_hostile_reply_is_an_error_and_never_a_shifted_score(
    server: FaultServer, ask: Callable[..., Scored], reply: Any, message: str
) -> None:
    """A reply that is not clear about which text each score is for gives none at all."""
    server.script = [reply if isinstance(reply, str) else json.dumps(reply)] * 3
    with pytest.raises(RerankError, match=message):
        ask(HttpScorer(server.url, dialect="vllm", retries=0))
    server.script = []
    assert ask(HttpScorer(server.url, dialect="vllm")).scores == [0.1, 0.8, 0.9, 0.0, 0.05]


@pytest.mark.parametrize(
    "row",
    [
        {"document": {"text": TEXTS[1]}},
        {"document": TEXTS[1][:5]},  # cut by the server
        {"document": None},
        {"document": {"image": "x"}},
        {"text": 7},
        {"index": 1, "extra": [1]},
    ],
)
def test_what_a_row_says_besides_does_no_harm(row: dict[str, Any]) -> None:
    """An echo of the right text, a cut one, or none at all."""
    reply = {"results": [{"index": 1, "relevance_score": 1, **row}]}
    assert read_reply(DIALECTS["vllm"], reply, TEXTS) == {1: 1.0}


def test_equal_texts_may_each_have_their_echo() -> None:
    """Which of two equal texts an echo is about does not matter."""
    reply = [{"index": at, "score": score, "text": "same"} for at, score in ((1, 0.2), (0, 0.1))]
    assert read_reply(DIALECTS["tei"], reply, ["same", "same"]) == {0: 0.1, 1: 0.2}


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
row_values = st.fixed_dictionaries(
    {}, optional={"index": st.integers(-1, 4) | json_values, "relevance_score": st.floats() | json_values}
)


@given(st.lists(st.permutations(range(4)).map(list), min_size=1, max_size=1), st.lists(st.floats(-9, 9), min_size=4))
def test_any_order_of_rows_gives_the_same_scores(orders: list[list[int]], scores: list[float]) -> None:
    """Rows in whatever order, each score to its own index."""
    reply = {"results": [{"index": at, "relevance_score": scores[at]} for at in orders[0]]}
    assert read_reply(DIALECTS["vllm"], reply, list("abcd")) == dict(enumerate(scores[:4]))


@given(st.fixed_dictionaries({"results": st.lists(row_values, max_size=5) | json_values}) | json_values)
def test_any_reply_is_read_or_refused(reply: Any) -> None:
    """Whatever JSON comes: a score for each index that has exactly one finite number, or a ValueError."""
    try:
        found = read_reply(DIALECTS["vllm"], reply, list("abcd"))
    except ValueError:
        return
    said = {row["index"]: row["relevance_score"] for row in reply["results"]}
    assert found == said
    assert len(said) == len(reply["results"])


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_ends_in_time_without_the_key(
    server: FaultServer,
    ask: Callable[..., Scored],
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever a server does: one error within the deadline, in which the key does not stand."""
    monkeypatch.setenv("RERANK_KEY", KEY + "\n")
    scorer = HttpScorer(
        server.url, dialect="vllm", api_key_env="RERANK_KEY", timeout=0.4 if fault in ENDLESS else 300, retries=0
    )
    server.always = FAULTS[fault]
    started = time.monotonic()
    try:
        for _ in range(100):  # on a busy machine the time may be over before anything was sent
            with pytest.raises(RerankError) as caught:
                ask(scorer)
            if server.headers:
                break
        assert time.monotonic() - started < 60  # those that are endless would never end
        assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
    finally:
        server.always = None
    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    ours = [line for line in shown.splitlines() if "monkeypatch" not in line and "KEY" not in line]
    assert KEY not in "\n".join(ours) + caplog.text + repr(scorer) + scorer.name


def test_what_passes_is_tried_again(server: FaultServer, ask: Callable[..., Scored]) -> None:
    """A busy server and a lost connection cost a moment, not the scores; a wrong request is not repeated."""
    server.script = [429, FAULTS["drop"]]
    assert ask(HttpScorer(server.url, dialect="vllm")).scores[2] == 0.9
    assert len(server.asked) == 3
    server.asked.clear()
    server.script = [400]
    with pytest.raises(RerankError, match="asking /v1/rerank failed: 400"):
        ask(HttpScorer(server.url, dialect="vllm"))
    assert len(server.asked) == 1


def test_a_key_that_is_none_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, empty or broken: the variable is named, its content is not."""
    scorer = HttpScorer("http://127.0.0.1:9", api_key_env="RERANK_KEY")
    monkeypatch.delenv("RERANK_KEY", raising=False)
    with pytest.raises(RerankError, match=r"RERANK_KEY .* holds no key"):
        scorer("q", ["a"])
    monkeypatch.setenv("RERANK_KEY", "planted key\u00fc")
    with pytest.raises(RerankError, match=r"^what RERANK_KEY .* holds is no key: it has blanks or odd letters in it$"):
        scorer("q", ["a"])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"base_url": "http://me:secret@host"}, ValueError, "base_url holds credentials"),
        ({"base_url": "host:80"}, ValueError, "'host:80' is no address"),
        ({"base_url": "ftp://host"}, ValueError, "begins with https"),
        ({"base_url": "http://"}, ValueError, "is no address"),
        ({"base_url": "http://host/?key=x"}, ValueError, "before the question mark"),
        ({"dialect": "openai"}, ValueError, "dialect='openai' is not one of: auto, cohere, jina"),
        ({"timeout": 0}, ValueError, "timeout=0 must be a positive number"),
        ({"timeout": float("nan")}, ValueError, "timeout=nan"),
        ({"timeout": "5"}, TypeError, "timeout must be a number of seconds, not '5'"),
        ({"batch_size": 0}, ValueError, "batch_size=0"),
        ({"retries": -1}, ValueError, "retries=-1"),
        ({"dialect": "cohere"}, ValueError, "several models: say which"),
    ],
)
def test_impossible_settings_are_refused(settings: Any, error: type[Exception], message: str) -> None:
    """At construction, naming the value; a secret is not repeated."""
    with pytest.raises(error, match=message) as caught:
        HttpScorer(**{"base_url": "http://host", **settings})
    assert "secret" not in str(caught.value)


def test_a_scorer_is_a_value() -> None:
    """It can be compared and pickled, and its name says where it asks and for which model."""
    scorer = HttpScorer("http://host/v1", "m", timeout=3)
    assert pickle.loads(pickle.dumps(scorer)) == scorer != HttpScorer("http://host/v1", "n")
    assert scorer.name == "HttpScorer(http://host/v1, m)"


def test_nobody_there_says_so() -> None:
    """A port on which nobody listens."""
    with pytest.raises(
        RerankError, match=r"HttpScorer\(http://127.0.0.1:9\): asking /v1/rerank failed: cannot be reached"
    ):
        HttpScorer("http://127.0.0.1:9", retries=0)("q", ["a"])


def test_a_server_without_the_path_says_what_was_tried() -> None:
    """Where `auto` finds nothing, the error names the paths and the first refusal."""
    with FaultServer().running() as server:
        server.always = 404
        with pytest.raises(RerankError, match="asking /v1/rerank or /rerank or /v2/rerank failed: 404"):
            HttpScorer(server.url.removesuffix("/v1"))("q", ["a"])


async def test_many_calls_finish_on_one_thread() -> None:
    """200 calls at once need nothing of the loop's own executor."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    with running("vllm") as server:
        chunks = [Chunk(text or "-") for text in TEXTS]
        calls = [aplace(chunks, query=QUERY, rerank=HttpScorer(server.url), order="relevance") for _ in range(200)]
        placements = await asyncio.wait_for(asyncio.gather(*calls), 60)
    assert {placement.indices for placement in placements} == {(1, 2, 4, 0, 3)}


def test_a_failing_server_may_leave_the_order_as_it_was(server: FaultServer) -> None:
    """With `on_error="input_order"` the earlier ranking stays, and the record says why."""
    server.script = [500]
    rerank = Rerank(HttpScorer(server.url, dialect="vllm", retries=0), on_error="input_order")
    with pytest.warns(UserWarning, match="rerank failed, the order before it was kept"):
        placement = place([Chunk("a"), Chunk("b")], query="q", rerank=rerank)
    assert "500" in placement.record.notes[0]
