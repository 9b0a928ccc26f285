"""Counting LangChain's own messages, tools and models."""

import json

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import create_retriever_tool, tool

from edgeorder import Budget, message_counter
from langchain_edgeorder import EdgeOrder

IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
CALL = {"name": "search", "args": {"query": "wells"}, "id": "c1"}


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("message", "counted"),
    [
        (SystemMessage("Be brief."), ["system", "Be brief."]),
        (HumanMessage("Hi", name="Ann"), ["human", "Ann", "Hi"]),
        (HumanMessage(["a", {"type": "text", "text": "b"}]), ["human", "a", "b"]),
        (AIMessage("", tool_calls=[CALL]), ["ai", "search", '{"query": "wells"}', "c1"]),
        (
            AIMessage(
                [{"type": "text", "text": "So."}, {"type": "tool_use", "id": "c1", "name": "search", "input": {}}],
                tool_calls=[CALL],
            ),
            ["ai", "search", '{"query": "wells"}', "c1", "So."],
        ),
        (
            AIMessage(
                "",
                tool_calls=[CALL],
                additional_kwargs={
                    "tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": '{"query": "wells"}'}}]
                },
            ),
            ["ai", "search", '{"query": "wells"}', "c1"],
        ),
        (
            AIMessage("", invalid_tool_calls=[{"name": "search", "args": '{"query', "id": "c2", "error": "no JSON"}]),
            ["ai", "search", '{"query', "c2"],
        ),
        (AIMessage("So.", additional_kwargs={"reasoning_content": "Hm hm."}), ["ai", "Hm hm.", "So."]),
        (AIMessage([{"type": "reasoning", "reasoning": "Hm."}, "So."]), ["ai", "Hm.", "So."]),
        (AIMessageChunk("So."), ["AIMessageChunk", "So."]),
        (
            ToolMessage("found", tool_call_id="c1", name="search", artifact=["not sent"]),
            ["tool", "search", "c1", "found"],
        ),
        (FunctionMessage("found", name="search"), ["function", "search", "found"]),
    ],
)
def test_messages(message, counted):
    """Everything that is sent counts, and what is held twice counts once."""
    assert message_counter(words)([message]) == 3 + sum(map(words, counted))
    assert message_counter(words).notes([message]) == ()


def test_images():
    """Images count by the rule in every form that LangChain has."""
    standard = {"type": "image", "base64": "A" * 3000, "mime_type": "image/png"}
    message = HumanMessage([{"type": "text", "text": "What?"}, IMAGE, standard])
    assert message_counter(words, image_tokens=100)([message]) == 3 + 1 + 1 + 200


def test_tools():
    """A tool counts what is sent of it: name, description and the schema of its arguments, injected ones left out."""

    @tool
    def search(query: str, k: int = 5) -> str:
        """Search the wells."""
        return query

    as_sent = {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Search the wells.",
            "parameters": search.tool_call_schema.model_json_schema(),
        },
    }
    assert message_counter(len)([], [search]) == len(json.dumps(as_sent))
    assert message_counter(len)([], [search, as_sent]) == 2 * len(json.dumps(as_sent))
    retrieves = create_retriever_tool(None, "find", "Finds.")  # type: ignore[arg-type]
    assert message_counter(len)([], [retrieves]) > len('"name": "find", "description": "Finds."')


def test_reserve(split):
    """`place(reserve=)` takes messages: what they need is gone from the room."""
    documents = split(0)[:20]
    history = [HumanMessage("Which wells?"), AIMessage("", tool_calls=[CALL]), ToolMessage("a b c", tool_call_id="c1")]
    placer = EdgeOrder(budget=Budget(300, counter=words))
    placement = placer.place(documents, reserve=[history, 20])
    assert placement.record.room == 300 - 20 - message_counter(words)(history)
    assert placement.record.tokens <= placement.record.room
    assert placer.invoke(documents, reserve=history[0]) == placer.invoke(
        documents, reserve=message_counter(words)(history[:1])
    )


def test_a_model_that_knows_its_window():
    """A model's profile gives the window, also once tools or settings are bound."""
    model = GenericFakeChatModel(messages=iter([]), profile={"max_input_tokens": 1000})
    assert Budget.for_model(model, 0.3) == Budget.for_model(model.bind(stop=["x"]), 0.3) == Budget(300)
    with pytest.raises(ValueError, match="does not say how large its window is"):
        Budget.for_model(GenericFakeChatModel(messages=iter([])))
