"""`room` of engines around others, with any memory and counter, and for chats that run at the same time."""

import asyncio
import base64
from typing import Any

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, CondenseQuestionChatEngine, ContextChatEngine
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.indices.prompt_helper import PromptHelper
from llama_index.core.indices.query.query_transform.base import StepDecomposeQueryTransform
from llama_index.core.memory import ChatMemoryBuffer, ChatSummaryMemoryBuffer, SimpleComposableMemory
from llama_index.core.memory.memory import BaseMemoryBlock
from llama_index.core.memory.memory_blocks import StaticMemoryBlock
from llama_index.core.query_engine import (
    MultiStepQueryEngine,
    RetryQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.tools import QueryEngineTool

from edgeorder import Budget, capture, window
from llamaindex_edgeorder import EdgeOrderPostprocessor, room

QUERY = "Which costs of my trip are refunded?"
WINDOW = 4000
TURNS = [
    ChatMessage(role="assistant" if i % 2 else "user", content=f"Turn {i}: " + "we spoke of trains and hotels. " * 15)
    for i in range(8)
]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class TwoQuestions(BaseQuestionGenerator):
    """Asks two questions of the first tool."""

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        pass

    def generate(self, tools: Any, query: Any) -> list[SubQuestion]:
        return [SubQuestion(sub_question=text, tool_name=tools[0].name) for text in (QUERY, "Which are not?")]

    async def agenerate(self, tools: Any, query: Any) -> list[SubQuestion]:
        return self.generate(tools, query)


class Satisfied(BaseEvaluator):
    """Passes every answer."""

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        pass

    async def aevaluate(self, *args: Any, **kwargs: Any) -> EvaluationResult:
        return EvaluationResult(passing=True)


@pytest.fixture
def inner(long_index: VectorStoreIndex, make_llm: Any) -> Any:
    """A query engine with a small window."""
    return long_index.as_query_engine(
        llm=make_llm(window=WINDOW), similarity_top_k=18, node_postprocessors=[EdgeOrderPostprocessor()]
    )


def around(inner: Any, make_llm: Any) -> dict[str, Any]:
    """Engines around it, each with a synthesizer of its own that has a large window."""
    big = make_llm(window=60_000)
    tool = QueryEngineTool.from_defaults(inner, name="hand", description="The handbook.")
    synthesizer = get_response_synthesizer(llm=big)
    return {
        "sub-question": SubQuestionQueryEngine(TwoQuestions(), synthesizer, [tool], verbose=False),
        "multi-step": MultiStepQueryEngine(
            inner, StepDecomposeQueryTransform(make_llm(answer="Which?")), synthesizer, num_steps=2
        ),
        "retry": RetryQueryEngine(inner, Satisfied()),
        "router": RouterQueryEngine.from_defaults([tool], llm=big),
        "condense": CondenseQuestionChatEngine.from_defaults(
            query_engine=inner, llm=big, memory=ChatMemoryBuffer.from_defaults(token_limit=99)
        ),
        "tool": tool,
    }


class TestEnginesAroundOthers:
    """What counts is the synthesizer that reads the nodes."""

    @pytest.mark.parametrize("name", ["sub-question", "multi-step", "retry", "router", "condense", "tool"])
    def test_the_inner_engine_counts(self, name: str, inner: Any, make_llm: Any) -> None:
        """The room of an engine around another is the room of the inner one."""
        assert room(around(inner, make_llm)[name], QUERY) == room(inner, QUERY)

    @pytest.mark.parametrize(("name", "calls"), [("sub-question", 2), ("multi-step", 2), ("retry", 1)])
    def test_one_call_for_each_step(self, name: str, calls: int, inner: Any, make_llm: Any, markers: Any) -> None:
        """With `each` every step has all of the room, and makes one call."""
        engine = around(inner, make_llm)[name]
        with window(room(engine, QUERY), each=True), capture() as records:
            engine.query(QUERY)
        prompts = inner._response_synthesizer._llm.prompts
        assert len(prompts) == len(records) == calls
        assert all(
            len(markers(prompt)) == len(record.placed) > 4 for prompt, record in zip(prompts, records, strict=True)
        )

    def test_several_inner_engines(self, inner: Any, make_llm: Any) -> None:
        """Where several engines read nodes, the error names them."""
        tools = [QueryEngineTool.from_defaults(inner, name=name, description="A.") for name in ("hand", "laws")]
        engine = SubQuestionQueryEngine(TwoQuestions(), get_response_synthesizer(llm=make_llm()), tools, verbose=False)
        with pytest.raises(TypeError, match=r"SubQuestionQueryEngine reads nodes in several engines \(hand, laws\)"):
            room(engine, QUERY)

    def test_compact_accumulate(self, long_index: VectorStoreIndex, make_llm: Any) -> None:
        """The accumulating synthesizer makes one call too."""
        llm = make_llm(window=WINDOW)
        engine = long_index.as_query_engine(
            llm=llm,
            response_mode="compact_accumulate",
            similarity_top_k=18,
            node_postprocessors=[EdgeOrderPostprocessor()],
        )
        engine.query(QUERY)
        assert len(llm.prompts) > 1
        llm.prompts.clear()
        with window(room(engine, QUERY)):
            engine.query(QUERY)
        assert len(llm.prompts) == 1

    def test_the_counter_of_the_engine(self, long_index: VectorStoreIndex, make_llm: Any) -> None:
        """A prompt helper with a tokenizer of its own counts with it, in the room and in the placing."""
        llm = make_llm(window=16_000)
        helper = PromptHelper(16_000, 64, 0.1, None, tokenizer=list)  # one token a character
        engine = long_index.as_query_engine(
            llm=llm,
            similarity_top_k=18,
            response_synthesizer=get_response_synthesizer(llm=llm, prompt_helper=helper),
            node_postprocessors=[EdgeOrderPostprocessor(budget=50_000)],
        )
        budget = room(engine, QUERY)
        assert budget.counter("abc") == 3
        with window(budget), capture() as records:
            engine.query(QUERY)
        assert len(llm.prompts) == 1
        assert records[0].counter == "the tokenizer of the engine's PromptHelper"


def chat(kind: Any, index: VectorStoreIndex, llm: Any, memory: Any) -> Any:
    retriever = index.as_retriever(similarity_top_k=18)
    return kind.from_defaults(retriever, llm=llm, memory=memory, node_postprocessors=[EdgeOrderPostprocessor()])


class TestMemory:
    """What the history takes, whoever keeps it."""

    @pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
    @pytest.mark.parametrize("memory", ["Memory", "ChatMemoryBuffer"])
    def test_chat_history_of_the_call(
        self, kind: Any, memory: str, long_index: VectorStoreIndex, make_llm: Any, make_memory: Any, markers: Any
    ) -> None:
        """`chat_history=` takes the place of the memory, as in `chat(message, chat_history=...)`; the memory stays."""
        kept = (
            make_memory(["Hi."]) if memory == "Memory" else ChatMemoryBuffer.from_defaults(TURNS[:1], token_limit=900)
        )
        llm = make_llm(window=WINDOW)
        engine = chat(kind, long_index, llm, kept)
        before = [message.content for message in engine.chat_history]
        budget = room(engine, QUERY, list(TURNS))
        assert budget.tokens < room(engine, QUERY).tokens - 500
        assert [message.content for message in engine.chat_history] == before
        with window(budget):
            engine.chat(QUERY, chat_history=list(TURNS))
        assert len([prompt for prompt in llm.prompts if markers(prompt)]) == 1

    @pytest.mark.parametrize("given", [False, True])
    def test_a_memory_that_summarises(self, given: bool, long_index: VectorStoreIndex, make_llm: Any) -> None:
        """A summary is not asked for: the token limit is reserved, and the memory keeps its messages."""
        writer = make_llm(answer="They spoke of trains.")
        memory = ChatSummaryMemoryBuffer.from_defaults([] if given else list(TURNS), llm=writer, token_limit=300)
        llm = make_llm(window=WINDOW)
        engine = chat(ContextChatEngine, long_index, llm, memory)
        alone = room(chat(ContextChatEngine, long_index, llm, ChatMemoryBuffer.from_defaults(token_limit=99)), QUERY)
        history = list(TURNS) if given else None
        budget = room(engine, QUERY, history)
        assert budget.tokens == alone.tokens - 300
        assert writer.prompts == []
        assert len(engine.chat_history) == (0 if given else 8)
        with window(budget):
            engine.chat(QUERY, chat_history=history)
        assert len(llm.prompts) == 1

    def test_a_short_history_is_counted_as_it_is(self, long_index: VectorStoreIndex, make_llm: Any) -> None:
        """Where nothing needs to be summarised, the messages themselves count, inside other memories too."""
        llm = make_llm(window=WINDOW)
        buffer = ChatMemoryBuffer.from_defaults(TURNS[:2], token_limit=1000)
        summary = ChatSummaryMemoryBuffer.from_defaults(TURNS[:2], llm=llm, token_limit=1000)
        composed = SimpleComposableMemory.from_defaults(
            primary_memory=ChatSummaryMemoryBuffer.from_defaults(TURNS[:2], llm=llm, token_limit=1000)
        )
        rooms = {
            room(chat(ContextChatEngine, long_index, llm, memory), QUERY) for memory in (buffer, summary, composed)
        }
        assert len(rooms) == 1
        assert llm.prompts == []

    def test_memory_blocks(self, long_index: VectorStoreIndex, make_llm: Any, make_memory: Any) -> None:
        """What LlamaIndex's own blocks add is counted; for others, and for a given history, the limit is reserved."""
        asked: list[str] = []

        class Own(BaseMemoryBlock[str]):
            async def _aget(self, messages: Any = None, **kwargs: Any) -> str:
                asked.append("get")
                return "a"

            async def _aput(self, messages: Any) -> None:
                pass

        def engine(block: Any) -> Any:
            memory = make_memory([message.content for message in TURNS[:2]], 700, memory_blocks=[block])
            return chat(ContextChatEngine, long_index, make_llm(window=WINDOW), memory)

        static, own = engine(StaticMemoryBlock(static_content="be kind " * 50)), engine(Own(name="own"))
        plain = room(chat(ContextChatEngine, long_index, make_llm(window=WINDOW),
                          ChatMemoryBuffer.from_defaults(TURNS[:2], token_limit=700)), QUERY).tokens  # fmt: skip
        used = sum(own._memory._estimate_token_count(message) for message in TURNS[:2])
        assert 100 < plain - room(static, QUERY).tokens < 160
        assert room(own, QUERY).tokens == room(own, QUERY, TURNS[:2]).tokens == plain - (700 - used)
        assert asked == []

    def test_images(self, long_index: VectorStoreIndex, make_llm: Any) -> None:
        """An image in the history counts by the rule at least, and none is fetched."""
        plain = [ChatMessage("What is on it?"), ChatMessage(role="assistant", content="A train.")]
        engine = chat(
            ContextChatEngine, long_index, make_llm(window=12_000), ChatMemoryBuffer.from_defaults(token_limit=99_999)
        )
        bare = room(engine, QUERY, plain).tokens
        for block in (ImageBlock(url="https://example.invalid/a.png"), ImageBlock(image=PNG)):
            shown = [ChatMessage(blocks=[TextBlock(text="What is on it?"), block]), plain[1]]
            assert room(engine, QUERY, shown).tokens <= bare - 1600
            assert room(engine, QUERY, shown, image_tokens=4000).tokens == bare - 4000


class TestChatsAtOnce:
    """One placer, many chats, each with the room of its own history."""

    async def test_ten_chats(self, long_index: VectorStoreIndex, make_llm: Any, markers: Any) -> None:
        """Every chat makes one call with as many nodes as it would alone."""
        placer = EdgeOrderPostprocessor()

        async def ask(turns: int, delay: float) -> tuple[int, int]:
            llm = make_llm(window=WINDOW)
            engine = ContextChatEngine.from_defaults(
                long_index.as_retriever(similarity_top_k=18),
                llm=llm,
                memory=ChatMemoryBuffer.from_defaults(TURNS[:turns], token_limit=99_999),
                node_postprocessors=[placer],
            )
            async with window(room(engine, QUERY)):
                await asyncio.sleep(delay)
                await engine.achat(QUERY)
            return len(llm.prompts), len(markers(*llm.prompts))

        sizes = [8, 0, 4, 8, 2, 6, 0, 8, 1, 3]
        together = await asyncio.gather(*(ask(turns, number % 3 / 100) for number, turns in enumerate(sizes)))
        alone = [await ask(turns, 0) for turns in sizes]
        assert together == alone
        assert {calls for calls, _ in together} == {1}
        assert len({nodes for _, nodes in together}) > 2

    def test_a_fixed_room_is_a_budget(self, inner: Any) -> None:
        """`room` gives a budget that a placer can keep, where every request has the same room."""
        budget = room(inner, QUERY)
        assert isinstance(budget, Budget)
        assert budget.counter("a b c") == len(Settings.tokenizer("a b c"))
        assert EdgeOrderPostprocessor(budget=budget).budget is budget
