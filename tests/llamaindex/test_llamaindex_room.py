"""`room`: in a window of it an engine makes exactly one LLM call, history and system prompt included."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.query_engine import TransformQueryEngine
from llama_index.core.response_synthesizers import (
    CompactAndRefine,
    Generation,
    SimpleSummarize,
    TreeSummarize,
    get_response_synthesizer,
)

from edgeorder import BudgetError, capture, window
from llamaindex_edgeorder import EdgeOrderPostprocessor, room

QUERY = "Which costs of my trip are refunded?"
WINDOW = 4000
TURNS = [f"Turn {i} of the talk: " + "we spoke at length about trains and hotels. " * 12 for i in range(8)]
SYSTEM = "You answer like the clerk of the travel desk, politely and in full sentences. " * 60


class Case(NamedTuple):
    """An engine, what it is asked with, and how many calls it makes before the one that answers."""

    build: Callable[..., Any]
    ask: str
    before: int = 0


def _query_engine(mode: str) -> Callable[..., Any]:
    def build(index: VectorStoreIndex, llm: Any, post: EdgeOrderPostprocessor, make_memory: Any) -> Any:
        return index.as_query_engine(llm=llm, response_mode=mode, similarity_top_k=18, node_postprocessors=[post])

    return build


def _chat_engine(kind: Any, turns: list[str], **settings: Any) -> Callable[..., Any]:
    def build(index: VectorStoreIndex, llm: Any, post: EdgeOrderPostprocessor, make_memory: Any) -> Any:
        retriever = index.as_retriever(similarity_top_k=18)
        return kind.from_defaults(retriever, llm=llm, memory=make_memory(turns), node_postprocessors=[post], **settings)

    return build


CASES = {
    "compact": Case(_query_engine("compact"), "query"),
    "tree_summarize": Case(_query_engine("tree_summarize"), "query"),
    "context": Case(_chat_engine(ContextChatEngine, []), "chat"),
    "context, history": Case(_chat_engine(ContextChatEngine, TURNS), "chat"),
    "context, system": Case(_chat_engine(ContextChatEngine, [], system_prompt=SYSTEM), "chat"),
    "context, both": Case(_chat_engine(ContextChatEngine, TURNS, system_prompt=SYSTEM), "chat"),
    "condense": Case(_chat_engine(CondensePlusContextChatEngine, TURNS), "chat", before=1),
    "condense, both": Case(_chat_engine(CondensePlusContextChatEngine, TURNS, system_prompt=SYSTEM), "chat", before=1),
    "condense, skipped": Case(_chat_engine(CondensePlusContextChatEngine, TURNS, skip_condense=True), "chat"),
}


@pytest.mark.case(58)
@pytest.mark.parametrize("name", CASES)
def test_a_budget_of_room_makes_exactly_one_call(
    name: str, long_index: VectorStoreIndex, make_llm: Any, make_memory: Any, markers: Any
) -> None:
    """18 nodes of 300 tokens need several calls; in a window of `room(...)` one call gets the kept nodes, uncut."""
    case = CASES[name]
    free = make_llm(window=WINDOW)
    getattr(case.build(long_index, free, EdgeOrderPostprocessor(order="bookend"), make_memory), case.ask)(QUERY)
    assert len(free.prompts) > case.before + 1

    llm, post = make_llm(window=WINDOW), EdgeOrderPostprocessor(order="bookend")
    engine = case.build(long_index, llm, post, make_memory)
    budget = room(engine, QUERY)
    with window(budget), capture() as records:
        getattr(engine, case.ask)(QUERY)
    assert len(llm.prompts) == case.before + 1
    placed = [chunk.id for chunk in records[0].placed]
    assert markers(llm.prompts[-1]) == markers(llm.prompts[-1], pattern=r"\[\[(\d+)\]\]") == placed
    assert budget.tokens - 350 < records[0].tokens <= budget.tokens
    assert records[0].room == budget.tokens


@pytest.mark.parametrize("name", ["compact", "tree_summarize", "context, both", "condense, both"])
async def test_room_works_in_a_running_loop(
    name: str, long_index: VectorStoreIndex, make_llm: Any, make_memory: Any, markers: Any
) -> None:
    """The same in async use, where `room` is computed inside the running loop and the engine is awaited."""
    case = CASES[name]
    llm, post = make_llm(window=WINDOW), EdgeOrderPostprocessor(order="bookend")
    engine = case.build(long_index, llm, post, make_memory)
    async with window(room(engine, QUERY)):
        with capture() as records:
            await getattr(engine, f"a{case.ask}")(QUERY)
    assert len(llm.prompts) == case.before + 1
    assert markers(llm.prompts[-1], pattern=r"\[\[(\d+)\]\]") == [chunk.id for chunk in records[0].placed]
    assert records[0].dropped


@pytest.mark.parametrize(
    ("kind", "over"), [(CompactAndRefine, 2), (TreeSummarize, 3)], ids=["compact", "tree_summarize"]
)
def test_room_is_exact(kind: Any, over: int, make_llm: Any) -> None:
    """A text of `room` tokens needs one call, a text of one token more needs another."""
    counted = {}
    for extra in (0, 1):
        llm = make_llm(window=1000)
        synthesizer = kind(llm=llm)
        text = "a" + " a" * (room(synthesizer, QUERY).tokens + extra - 1)
        assert len(Settings.tokenizer(text)) == room(synthesizer, QUERY).tokens + extra
        synthesizer.get_response(QUERY, [text])
        counted[extra] = len(llm.prompts)
    assert counted == {0: 1, 1: over}


def test_with_a_budget_of_room_simple_summarize_cuts_nothing(
    long_index: VectorStoreIndex, make_llm: Any, make_memory: Any, markers: Any
) -> None:
    """`simple_summarize` cuts the end of a long block; in a window of `room(...)` the end of every node is there."""
    build = _query_engine("simple_summarize")
    free = make_llm(window=WINDOW)
    build(long_index, free, EdgeOrderPostprocessor(), make_memory).query(QUERY)
    assert len(markers(*free.prompts, pattern=r"\[\[(\d+)\]\]")) < 18

    llm, post = make_llm(window=WINDOW), EdgeOrderPostprocessor()
    engine = build(long_index, llm, post, make_memory)
    with window(room(engine, QUERY)), capture() as records:
        engine.query(QUERY)
    placed = [chunk.id for chunk in records[0].placed]
    assert len(placed) >= 8
    assert markers(*llm.prompts, pattern=r"\[\[(\d+)\]\]") == placed


@pytest.mark.parametrize("mode", ["compact", "refine", "tree_summarize", "simple_summarize"])
def test_room_shrinks_by_the_tokens_of_the_query(mode: str, make_llm: Any) -> None:
    """A query of 100 tokens more leaves 100 tokens less for the nodes, in every mode."""
    synthesizer = get_response_synthesizer(llm=make_llm(window=WINDOW), response_mode=mode)
    assert room(synthesizer, "a").tokens - room(synthesizer, "a" + " a" * 100).tokens == 100


@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
def test_room_shrinks_with_the_history_and_leaves_it_alone(
    kind: Any, long_index: VectorStoreIndex, make_llm: Any, make_memory: Any, markers: Any
) -> None:
    """Each turn costs room, `room` changes no message, and computed anew it makes one call in the next turn too."""
    llm, post = make_llm(window=WINDOW), EdgeOrderPostprocessor()
    engine = _chat_engine(kind, [])(long_index, llm, post, make_memory)
    rooms = []
    for turn in TURNS[:3]:
        history = [message.content for message in engine.chat_history]
        budget = room(engine, turn)
        rooms.append(budget.tokens)
        assert [message.content for message in engine.chat_history] == history
        with window(budget):
            engine.chat(turn)
        assert len([prompt for prompt in llm.prompts if markers(prompt)]) == len(rooms)
    assert len(Settings.tokenizer(TURNS[0])) > 100
    assert rooms[0] - 100 > rooms[1] > rooms[2] + 100


def test_room_looks_into_an_engine_that_wraps_another(
    long_index: VectorStoreIndex, make_llm: Any, make_memory: Any
) -> None:
    """A query engine around another has the other's room."""
    inner = _query_engine("compact")(long_index, make_llm(window=WINDOW), EdgeOrderPostprocessor(), make_memory)
    outer = TransformQueryEngine(inner, query_transform=IdentityQueryTransform())
    assert room(outer, QUERY) == room(inner, QUERY) == room(inner._response_synthesizer, QUERY)
    assert 2500 < room(outer, QUERY).tokens < WINDOW - 500


@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
def test_a_history_that_fills_the_window_is_an_error(
    kind: Any, long_index: VectorStoreIndex, make_llm: Any, make_memory: Any
) -> None:
    """Where the history leaves no room, `room` raises BudgetError that says so."""
    engine = _chat_engine(kind, TURNS * 5)(long_index, make_llm(window=WINDOW), EdgeOrderPostprocessor(), make_memory)
    with pytest.raises(BudgetError, match=r"no room for context: of the window of 4000 tokens.*history"):
        room(engine, QUERY)


@pytest.mark.parametrize("window", [100, 600])
@pytest.mark.parametrize("kind", [CompactAndRefine, SimpleSummarize])
def test_a_window_that_the_prompt_fills_is_an_error(kind: Any, window: int, make_llm: Any) -> None:
    """Where prompt, output and padding fill the window, `room` raises BudgetError, never a number below 1."""
    synthesizer = kind(llm=make_llm(window=window))
    if kind is SimpleSummarize and window == 600:  # it needs no padding of 500 tokens
        assert room(synthesizer, QUERY).tokens > 400
        return
    with pytest.raises(BudgetError, match=f"window of {window} tokens"):
        room(synthesizer, QUERY)


def test_an_unknown_engine_is_an_error(make_llm: Any, make_memory: Any) -> None:
    """What has no synthesizer, or one that `room` does not know, raises TypeError that names it."""
    with pytest.raises(TypeError, match="not object"):
        room(object(), QUERY)
    with pytest.raises(TypeError, match="not SimpleChatEngine"):
        room(SimpleChatEngine.from_defaults(llm=make_llm(), memory=make_memory()), QUERY)
    with pytest.raises(
        TypeError, match=r"compact, refine, tree_summarize, simple_summarize and compact_accumulate.*Generation"
    ):
        room(Generation(llm=make_llm()), QUERY)
