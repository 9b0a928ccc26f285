"""Counting LlamaIndex's own messages, tools and LLMs."""

import json
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    CitableBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.tools import FunctionTool

from edgeorder import Budget, message_counter
from llamaindex_edgeorder import EdgeOrderPostprocessor


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("message", "counted"),
    [
        (ChatMessage("Hi"), ["user", "Hi"]),
        (ChatMessage(role="system", content="Be brief."), ["system", "Be brief."]),
        (ChatMessage(blocks=[TextBlock(text="a"), TextBlock(text="b c")]), ["user", "a", "b c"]),
        (
            ChatMessage(
                role="assistant",
                blocks=[
                    ThinkingBlock(content="Hm hm."),
                    ToolCallBlock(tool_call_id="c1", tool_name="search", tool_kwargs={"query": "wells"}),
                ],
                additional_kwargs={
                    "tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": '{"query": "wells"}'}}]
                },
            ),
            ["assistant", "search", '{"query": "wells"}', "c1", "Hm hm."],
        ),
        (
            ChatMessage(role="tool", content="found", additional_kwargs={"tool_call_id": "c1", "name": "search"}),
            ["tool", "search", "c1", "found"],
        ),
        (
            ChatMessage(blocks=[CitableBlock(title="Wells", source="wells.md", content="Three are dry.")]),
            ["user", "Wells", "wells.md", "Three are dry."],
        ),
        (ChatMessage(role="assistant", blocks=[]), ["assistant"]),
    ],
)
def test_messages(message: ChatMessage, counted: list[str]) -> None:
    """Everything that is sent counts, and what is held twice counts once."""
    assert message_counter(words)([message]) == 3 + sum(map(words, counted))
    assert message_counter(words).notes([message]) == ()


def test_images_and_files() -> None:
    """An image counts by the rule; audio and files count their JSON and their bytes, and a note names them."""
    counter = message_counter(words, image_tokens=100)
    picture = ChatMessage(blocks=[TextBlock(text="What?"), ImageBlock(image=b"\x89PNG" * 1000)])
    assert (counter([picture]), counter.notes([picture])) == (3 + 1 + 1 + 100, ())
    for block in (AudioBlock(audio=b"x" * 3000, format="wav"), DocumentBlock(data=b"%PDF" * 750)):
        message = ChatMessage(blocks=[block])
        assert counter([message]) > 3000
        assert f"block of type '{block.block_type}'" in counter.notes([message])[0]


def test_tools() -> None:
    """A tool counts the JSON that function-calling LLMs get of it."""

    def search(query: str) -> str:
        """Search the wells."""
        return query

    tool = FunctionTool.from_defaults(search)
    assert message_counter(len)([], [tool]) == len(json.dumps(tool.metadata.to_openai_tool()))
    long = FunctionTool.from_defaults(search, description="word " * 400)
    assert message_counter(words)([], [long]) > 400


def test_reserve(make_llm: Any) -> None:
    """`place(reserve=)` takes messages: what they need is gone from the room."""
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [NodeWithScore(node=TextNode(text="a b c d e")) for _ in range(40)]
    history = [ChatMessage("Which wells?"), ChatMessage(role="assistant", content="Three.")]
    placer = EdgeOrderPostprocessor(budget=Budget(100, counter=words))
    placement = placer.place(nodes, reserve=[history, 20])
    assert placement.record.room == 100 - 20 - message_counter(words)(history)
    assert len(placement) == placement.record.room // 5


def test_an_llm_that_knows_its_window(make_llm: Any) -> None:
    """The metadata gives the window, less what is kept for the output."""
    assert Budget.for_model(make_llm(window=1064), 0.5) == Budget(500)
