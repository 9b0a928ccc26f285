"""Every engine that takes node postprocessors: one record each, and an LLM that sees the recorded order."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import Document, Settings, VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceWindowNodeParser
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool

from edgeorder import capture
from llamaindex_edgeorder import EdgeOrderPostprocessor, NumberedPostprocessor, OrderEvent

QUERY = "Which costs of my trip are refunded?"
BOOKEND = [1, 3, 5, 7, 9, 8, 6, 4, 2]


def _query_engine(mode: str) -> Callable[..., Any]:
    def build(index: VectorStoreIndex, llm: Any, post: EdgeOrderPostprocessor, make_memory: Any) -> Any:
        return index.as_query_engine(llm=llm, response_mode=mode, similarity_top_k=9, node_postprocessors=[post])

    return build


def _chat_engine(kind: Any) -> Callable[..., Any]:
    def build(index: VectorStoreIndex, llm: Any, post: EdgeOrderPostprocessor, make_memory: Any) -> Any:
        return kind.from_defaults(
            index.as_retriever(similarity_top_k=9), llm=llm, memory=make_memory(), node_postprocessors=[post]
        )

    return build


def _citation_engine(index: VectorStoreIndex, llm: Any, post: EdgeOrderPostprocessor, make_memory: Any) -> Any:
    return CitationQueryEngine.from_args(
        index, llm=llm, similarity_top_k=9, citation_chunk_size=4096, node_postprocessors=[post]
    )


# name: (builder, sync method, async method, window, LLM calls)
FACES: dict[str, tuple[Callable[..., Any], str, str, int, int]] = {
    "compact": (_query_engine("compact"), "query", "aquery", 3900, 1),
    "compact, overflowing": (_query_engine("compact"), "query", "aquery", 750, 2),
    "refine": (_query_engine("refine"), "query", "aquery", 3900, 9),
    "tree_summarize": (_query_engine("tree_summarize"), "query", "aquery", 200, 3),
    "simple_summarize": (_query_engine("simple_summarize"), "query", "aquery", 3900, 1),
    "context chat": (_chat_engine(ContextChatEngine), "chat", "achat", 3900, 1),
    "context chat, streamed": (_chat_engine(ContextChatEngine), "stream_chat", "astream_chat", 3900, 1),
    "condense plus context chat": (_chat_engine(CondensePlusContextChatEngine), "chat", "achat", 3900, 1),
    "citation": (_citation_engine, "query", "aquery", 3900, 1),
}


@pytest.mark.case(80)
@pytest.mark.parametrize("face", FACES)
def test_a_call_leaves_one_record_and_the_llm_sees_the_recorded_order(
    face: str, short_index: VectorStoreIndex, make_llm: Any, make_memory: Any, events: Any, markers: Any
) -> None:
    """Each sync call of each engine leaves exactly one record, and its LLM calls hold the nodes in that order."""
    build, name, _, window, calls = FACES[face]
    llm = make_llm(window=window)
    engine = build(short_index, llm, EdgeOrderPostprocessor(order="bookend"), make_memory)
    with capture() as records:
        response = getattr(engine, name)(QUERY)
        if name == "stream_chat":
            assert "".join(response.response_gen) == "fine"
    _check(records, events, llm, calls, markers)


@pytest.mark.case(41)
@pytest.mark.parametrize("face", FACES)
async def test_an_async_call_leaves_one_record_and_the_llm_sees_the_recorded_order(
    face: str, short_index: VectorStoreIndex, make_llm: Any, make_memory: Any, events: Any, markers: Any
) -> None:
    """Each async call of each engine leaves exactly one record, and its LLM calls hold the nodes in that order."""
    build, _, name, window, calls = FACES[face]
    llm = make_llm(window=window)
    engine = build(short_index, llm, EdgeOrderPostprocessor(order="bookend"), make_memory)
    with capture() as records:
        response = await getattr(engine, name)(QUERY)
        if name == "astream_chat":
            assert [token async for token in response.async_response_gen()] == ["fine"]
    _check(records, events, llm, calls, markers)


def _check(records: list[Any], events: Any, llm: Any, calls: int, markers: Any) -> None:
    assert len(records) == 1
    assert [event.record for event in events.of(OrderEvent)] == [records[0].to_dict()]
    assert [chunk.rank for chunk in records[0].placed] == BOOKEND
    assert len(llm.prompts) == calls
    assert markers(*llm.prompts) == [chunk.id for chunk in records[0].placed]


@pytest.mark.case(80)
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_the_retriever_tool_gives_the_agent_the_recorded_order(
    asynchronous: bool, short_index: VectorStoreIndex, events: Any, markers: Any
) -> None:
    """A `RetrieverTool` leaves one record for a call and one for an acall, and its text holds the nodes in order."""
    tool = RetrieverTool.from_defaults(
        short_index.as_retriever(similarity_top_k=9), node_postprocessors=[EdgeOrderPostprocessor(order="bookend")]
    )
    with capture() as records:
        output = await tool.acall(QUERY) if asynchronous else tool.call(QUERY)
    assert [event.record for event in events.of(OrderEvent)] == [record.to_dict() for record in records]
    assert len(records) == 1
    assert [chunk.rank for chunk in records[0].placed] == BOOKEND
    assert markers(output.content) == [chunk.id for chunk in records[0].placed]


def test_real_retrieval_puts_the_answer_at_the_head(short_index: VectorStoreIndex, make_llm: Any, markers: Any) -> None:
    """With real embeddings the chunk that answers the question opens the prompt, at an even k too."""
    llm = make_llm()
    post = EdgeOrderPostprocessor(order="bookend")
    engine = short_index.as_query_engine(llm=llm, similarity_top_k=6, node_postprocessors=[post])
    response = engine.query("How much does the company pay for a hotel night?")
    assert markers(*llm.prompts)[0] == "n1"
    assert markers(*llm.prompts) == [node.node_id for node in response.source_nodes]
    scores = [node.score for node in response.source_nodes]
    assert scores[0] > scores[-1] > scores[1] > scores[-2] > scores[2] > scores[3]


def test_condensing_a_follow_up_leaves_one_record(
    short_index: VectorStoreIndex, make_llm: Any, make_memory: Any, markers: Any
) -> None:
    """With a history the condense engine calls the LLM twice, and still only one placement happens."""
    llm = make_llm()
    engine = CondensePlusContextChatEngine.from_defaults(
        short_index.as_retriever(similarity_top_k=9),
        llm=llm,
        memory=make_memory(["Hello!", "Hi, how can I help?"]),
        node_postprocessors=[EdgeOrderPostprocessor(order="bookend")],
    )
    with capture() as records:
        engine.chat(QUERY)
    assert len(records) == 1
    assert [markers(prompt) for prompt in llm.prompts] == [[], [chunk.id for chunk in records[0].placed]]


@pytest.mark.case(81)
def test_citation_numbers_follow_the_recorded_order(short_index: VectorStoreIndex, make_llm: Any) -> None:
    """With a large citation_chunk_size source k of the prompt and of the response is the node at position k - 1."""
    llm = make_llm()
    engine = _citation_engine(short_index, llm, EdgeOrderPostprocessor(order="bookend"), None)
    with capture() as records:
        response = engine.query(QUERY)
    placed = [chunk.id.removeprefix("n") for chunk in records[0].placed]
    numbered = [(str(number), marker) for number, marker in enumerate(placed, start=1)]
    assert re.findall(r"Source (\d+):\n<<(\d+)>>", llm.prompts[0]) == numbered
    cited = [re.match(r"Source (\d+):\n<<(\d+)>>", node.text) for node in response.source_nodes]
    assert [match.groups() for match in cited] == numbered


@pytest.mark.case(81)
def test_nodes_that_a_citation_engine_splits_keep_our_order(embedding: Any, make_llm: Any) -> None:
    """Two nodes over the citation chunk size become four sources: both parts of the first, then of the second."""
    nodes = [TextNode(id_=f"n{i}", text=" ".join(f"Clause <<{i}.{j}>> is valid." for j in range(80))) for i in (1, 2)]
    assert all(512 < len(Settings.tokenizer(node.text)) < 1000 for node in nodes)
    llm = make_llm()
    index = VectorStoreIndex(nodes, embed_model=embedding)
    engine = CitationQueryEngine.from_args(
        index, llm=llm, citation_chunk_size=512, node_postprocessors=[EdgeOrderPostprocessor(order="reverse")]
    )
    with capture() as records:
        engine.query("Which clause of 1 is valid?")
    assert [chunk.rank for chunk in records[0].placed] == [2, 1]
    sources = re.split(r"Source \d+:\n", llm.prompts[0].split("------\n")[1])[1:]
    assert len(sources) == 4
    clauses = list(dict.fromkeys(clause for source in sources for clause in re.findall(r"<<(\d\.\d+)>>", source)))
    assert clauses == [f"{chunk.id.removeprefix('n')}.{j}" for chunk in records[0].placed for j in range(80)]


@pytest.mark.case(83)
@pytest.mark.parametrize(("edgeorder_last", "kept"), [(True, 1), (False, 5)])
def test_sentence_windows_are_counted_when_edgeorder_comes_last(
    edgeorder_last: bool, kept: int, embedding: Any, make_llm: Any
) -> None:
    """After the window replacement the budget holds on what the LLM sees; before it, all 5 nodes stay and overflow."""
    text = " ".join(f"Rule {i:02} is short <<{i}>>." for i in range(60))
    nodes = SentenceWindowNodeParser.from_defaults(window_size=3).get_nodes_from_documents([Document(text=text)])
    post = EdgeOrderPostprocessor(budget=100, reading="off")
    replace = MetadataReplacementPostProcessor(target_metadata_key="window")
    llm = make_llm()
    engine = VectorStoreIndex(nodes[5:55:10], embed_model=embedding).as_query_engine(
        llm=llm, similarity_top_k=5, node_postprocessors=[replace, post] if edgeorder_last else [post, replace]
    )
    with capture() as records:
        response = engine.query("Which rule is short?")
    assert records[0].tokens <= 100
    assert len(response.source_nodes) == kept
    context = llm.prompts[0].split("---------------------")[1].strip()
    assert (len(Settings.tokenizer(context)) <= 100) is edgeorder_last


@pytest.mark.case(57)
def test_the_question_survives_a_small_chat_memory(embedding: Any, make_memory: Any) -> None:
    """With a memory of 200 tokens and 5 nodes of 100, a budget of 120 leaves the question in the prompt and memory."""
    nodes = [TextNode(text=" ".join([f"word{i}"] * 50)) for i in range(5)]
    assert all(100 <= len(Settings.tokenizer(node.text)) <= 120 for node in nodes)
    memory = make_memory(["Hello!", "Hi, how can I help?"], token_limit=200)
    engine = ContextChatEngine.from_defaults(
        VectorStoreIndex(nodes, embed_model=embedding).as_retriever(similarity_top_k=5),
        llm=MockLLM(),
        memory=memory,
        node_postprocessors=[EdgeOrderPostprocessor(budget=120)],
    )
    with capture() as records:
        prompt = engine.chat(QUERY).response  # MockLLM answers with its prompt
    assert records[0].tokens <= 120
    assert [len(records[0].placed), len(records[0].dropped)] == [1, 4]
    assert f"user: {QUERY}" in prompt
    assert QUERY in [message.content for message in memory.get_all()]


class FirstPages(EdgeOrderPostprocessor):
    """A user's subclass: a field of its own, set in its own `__init__`, and LlamaIndex's hook overridden."""

    first: int = 3

    def __init__(self, first: int, **settings: Any) -> None:
        super().__init__(first=first, **{"order": "bookend", **settings})

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return super()._postprocess_nodes(nodes[: self.first], query_bundle)


@pytest.mark.case(94)
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_users_subclass_works_in_a_query_engine(
    asynchronous: bool, short_index: VectorStoreIndex, make_llm: Any, markers: Any
) -> None:
    """A subclass that overrides `__init__` and `_postprocess_nodes` does its work in query and in aquery."""
    llm = make_llm()
    retrieved = [node.node_id for node in short_index.as_retriever(similarity_top_k=9).retrieve(QUERY)]
    engine = short_index.as_query_engine(llm=llm, similarity_top_k=9, node_postprocessors=[FirstPages(4)])
    with capture() as records:
        _ = await engine.aquery(QUERY) if asynchronous else engine.query(QUERY)
    assert len(records) == 1
    assert markers(*llm.prompts) == [retrieved[i] for i in (0, 2, 3, 1)]


@pytest.mark.parametrize("kind", [EdgeOrderPostprocessor, NumberedPostprocessor])
async def test_what_a_subclass_does_in_one_hook_is_done_in_both(kind: Any) -> None:
    """LlamaIndex asks a postprocessor for `_postprocess_nodes` alone, so a subclass that overrides it is done."""

    class First(kind):  # type: ignore[misc]
        def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: Any = None) -> list[NodeWithScore]:
            found: list[NodeWithScore] = super()._postprocess_nodes(nodes, query_bundle)
            return found[:1]

    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in "ABC"]
    assert First().postprocess_nodes(nodes) == await First().apostprocess_nodes(nodes)
    assert len(First().postprocess_nodes(nodes)) == 1
