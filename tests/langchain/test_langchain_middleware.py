"""Middleware for `create_agent`: what the model sees is the recorded order, and the artifact is in the order of it."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import dynamic_prompt
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import create_retriever_tool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import Field

from edgeorder import Budget, BudgetError, EdgeOrderWarning, Layout, capture, tiktoken_counter
from edgeorder.rendering import split_block
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, EdgeOrderRetriever

count = tiktoken_counter()


class Scripted(GenericFakeChatModel):
    """Says its messages one after the other, and keeps what it was sent."""

    seen: list[list[BaseMessage]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[object], **kwargs: Any) -> "Scripted":
        return self

    def _generate(self, messages, *args, **kwargs):
        self.seen.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def scripted(*said: AIMessage | str) -> Scripted:
    messages = [AIMessage(one) if isinstance(one, str) else one for one in said]
    return Scripted(messages=iter(messages))


def calls(*queries: str, name: str = "search") -> AIMessage:
    tool_calls = [{"name": name, "args": {"query": query}, "id": f"{name}-{query}"} for query in queries]
    return AIMessage("", tool_calls=tool_calls)


def call(query: str, name: str) -> dict:
    return {"name": name, "args": {"query": query}, "id": f"{name}-{query}"}


def search_tool(base, name: str = "search"):
    return create_retriever_tool(base, name, "Searches.", response_format="content_and_artifact")


def tool_messages(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]


def run(agent, way: str, messages, config=None) -> dict:
    """Run an agent sync or async."""
    values = {"messages": messages}
    if way == "sync":
        return agent.invoke(values, config)
    return asyncio.run(agent.ainvoke(values, config))


BOTH = pytest.mark.parametrize("way", ["sync", "async"])


@pytest.fixture(scope="module")
def six() -> list[Document]:
    return [Document(f"Text {n}.", id=str(n), metadata={"title": f"T{n}"}) for n in range(1, 7)]


@pytest.fixture(scope="module")
def base(six):
    return RunnableLambda(lambda query: list(six))


class TestEdgeOrderMiddleware:
    """A tool message whose artifact is documents is rendered anew."""

    @BOTH
    @pytest.mark.parametrize(
        "placer",
        [
            pytest.param(None, id="default"),
            pytest.param(EdgeOrder(layout="xml", budget=600), id="xml, budget"),
            pytest.param(EdgeOrder(layout="numbered", budget=Budget(600, overflow="truncate")), id="truncate"),
            pytest.param(EdgeOrder(order="bookend_tail", reading="off", layout="plain"), id="plain"),
            pytest.param(EdgeOrder(layout=Layout("numbered", echo=1), order="bookend", budget=600), id="echo"),
        ],
    )
    def test_what_the_model_saw(self, way, placer, retriever, query, events):
        """The message that the model gets is the block of the record; its artifact is what the block shows."""
        model = scripted(calls(query), "Ninety days [1].")
        agent = create_agent(model, [search_tool(retriever)], middleware=[EdgeOrderMiddleware(placer)])
        with capture() as records:
            result = run(agent, way, [HumanMessage("How long?")], {"callbacks": [events]})
        documents = retriever.invoke(query)
        placer = placer or EdgeOrder(layout="numbered")
        placement = placer.place(documents, query)
        [message] = tool_messages(model.seen[1])
        assert message.content == placement.block.text
        assert message.content != "\n\n".join(document.page_content for document in documents)
        assert [chunk.index for chunk in records[0].placed] == list(placement.indices)
        assert message.artifact == placer.placed(documents, placement)
        assert len(records) == 1
        assert [(name, data) for name, data, _ in events.custom] == [("edgeorder", records[0].to_dict())]
        assert tool_messages(result["messages"]) == [message]
        assert (message.tool_call_id, message.name, message.status) == (f"search-{query}", "search", "success")
        assert message.id == result["messages"][2].id is not None

    @BOTH
    def test_numbers(self, way, base):
        """Number [n] of the block is the n-th document of the artifact, whatever the order."""
        model = scripted(calls("why?"), "So it is [2].")
        placer = EdgeOrder(layout="numbered", order="bookend")
        agent = create_agent(model, [search_tool(base)], middleware=[EdgeOrderMiddleware(placer)])
        [message] = tool_messages(run(agent, way, [HumanMessage("Why?")])["messages"])
        assert [document.id for document in message.artifact] == ["1", "3", "5", "6", "4", "2"]
        pairs = split_block(message.content, "numbered")
        assert pairs == [(n, document.page_content) for n, document in enumerate(message.artifact, start=1)]

    @BOTH
    def test_parallel_calls(self, way, split):
        """Several calls in one message are placed each on its own, under the id that each has."""
        found = {"wells?": split(0)[:5], "boats?": split(0)[5:12], "acid?": []}
        model = scripted(calls(*found), "Well.")
        agent = create_agent(model, [search_tool(RunnableLambda(found.get))], middleware=[EdgeOrderMiddleware()])
        messages = tool_messages(run(agent, way, [HumanMessage("Tell me.")])["messages"])
        assert [message.tool_call_id for message in messages] == [f"search-{query}" for query in found]
        edge, first = EdgeOrder(layout="numbered"), 1
        for message, documents in zip(messages, found.values(), strict=True):
            pairs = split_block(message.content, "numbered")
            assert [text for _, text in pairs] == [
                text for _, text in split_block(edge.place(documents).text, "numbered")
            ]
            assert sorted(number for number, _ in pairs) == list(range(first, first + len(documents)))
            assert message.artifact == edge.place(documents).apply(documents)
            first += len(documents)

    @BOTH
    def test_the_query_of_the_call_reaches_a_scorer(self, way, six):
        """A scorer gets the query that the model wrote, from the argument that `query_arg` names."""
        asked = []

        def scorer(query, passages):
            asked.append(query)
            return list(range(len(passages)))

        @tool(response_format="content_and_artifact")
        def look_up(what: str):
            """Look up."""
            return "as found", list(six)

        message = AIMessage("", tool_calls=[{"name": "look_up", "args": {"what": "the wells"}, "id": "1"}])
        placer = EdgeOrder(layout="numbered", rerank=scorer, order="relevance", top_n=2)
        middleware = EdgeOrderMiddleware(placer, query_arg="what")
        agent = create_agent(scripted(message, "Well."), [look_up], middleware=[middleware])
        [found] = tool_messages(run(agent, way, [HumanMessage("Why?")])["messages"])
        assert asked == ["the wells"]
        assert found.content == "[1] T6\nText 6.\n\n[2] T5\nText 5."
        assert [document.id for document in found.artifact] == ["6", "5"]

    @BOTH
    def test_what_is_no_list_of_documents_passes(self, way, six):
        """Messages without documents, errors and commands come through as the tool made them, byte for byte."""

        @tool
        def plain(query: str) -> str:
            """Answer."""
            return "as it is"

        @tool(response_format="content_and_artifact")
        def nothing(query: str):
            """Find nothing."""
            return "nothing found", []

        @tool(response_format="content_and_artifact")
        def string(query: str):
            """Give a text."""
            return "a text", "an artifact"

        @tool(response_format="content_and_artifact")
        def mixed(query: str):
            """Give a list that holds other things too."""
            return "mixed", [six[0], "text"]

        @tool(response_format="content_and_artifact")
        def single(query: str):
            """Give one document, not in a list."""
            return "single", six[0]

        @tool
        def command(query: str) -> Command:
            """Update the state."""
            message = ToolMessage("by command", tool_call_id="command-q", artifact=list(six), name="command")
            return Command(update={"messages": [message]})

        tools = [plain, nothing, string, mixed, single, command]
        names = [one.name for one in tools]
        asked = AIMessage("", tool_calls=[call("q", name) for name in (*names, "unknown")])

        def outcome(middleware):
            agent = create_agent(scripted(asked, "Well."), tools, middleware=middleware)
            return [
                message.model_copy(update={"id": None})
                for message in tool_messages(run(agent, way, [HumanMessage("Why?")])["messages"])
            ]

        found = outcome([EdgeOrderMiddleware()])
        assert found == outcome([])
        assert [message.name for message in found] == [*names, "unknown"]
        assert [message.content for message in found[:4]] == ["as it is", "nothing found", "a text", "mixed"]
        assert found[5].artifact == six
        assert found[6].status == "error"

    @BOTH
    def test_only_the_tools_that_are_named(self, way, base):
        """With `tools=` other retrieval tools stay as they are."""
        asked = AIMessage("", tool_calls=[call("a", "search"), call("b", "archive")])
        agent = create_agent(
            scripted(asked, "Well."),
            [search_tool(base), search_tool(base, "archive")],
            middleware=[EdgeOrderMiddleware(tools=["archive"])],
        )
        search, archive = tool_messages(run(agent, way, [HumanMessage("Why?")])["messages"])
        assert search.content.startswith("Text 1.\n\nText 2.")
        assert archive.content.startswith("[1] T1\nText 1.\n\n[2]")

    def test_two_for_different_tools(self, base):
        """An agent takes two of them, each with its own placer for its own tool."""
        asked = AIMessage("", tool_calls=[call("a", "search"), call("b", "archive")])
        agent = create_agent(
            scripted(asked, "Well."),
            [search_tool(base), search_tool(base, "archive")],
            middleware=[
                EdgeOrderMiddleware(EdgeOrder(layout="numbered"), tools=["search"]),
                EdgeOrderMiddleware(EdgeOrder(layout="xml"), tools=["archive"]),
            ],
        )
        search, archive = tool_messages(agent.invoke({"messages": [HumanMessage("Why?")]})["messages"])
        assert search.content.startswith("[1] T1\n")
        assert archive.content.startswith('<documents>\n<document index="1">')

    @BOTH
    def test_reserve_history(self, way, split):
        """With `reserve_history` the messages so far share the window: a longer talk leaves less, a short one more."""
        documents = split(0)[:20]
        placer = EdgeOrder(layout="numbered", budget=Budget(800, overflow="stop", reserve=50), reading="off")

        def contents(talk: int, **settings) -> tuple[str, list[BaseMessage]]:
            model = scripted(calls("wells?"), "Well.")
            tools = [search_tool(RunnableLambda(lambda query: documents))]
            agent = create_agent(model, tools, middleware=[EdgeOrderMiddleware(placer, **settings)])
            history = [HumanMessage("We spoke about the boats and the weather. " * 5) for _ in range(talk)]
            run(agent, way, [*history, HumanMessage("Wells?")])
            return tool_messages(model.seen[1])[0].content, model.seen[1]

        alone, _ = contents(0)
        assert contents(8)[0] == alone
        text, messages = contents(8, reserve_history=True)
        assert len(split_block(text, "numbered")) < len(split_block(alone, "numbered"))
        assert 600 < sum(count(message.text) for message in messages) + 50 <= 800

    @BOTH
    def test_history_that_leaves_nothing(self, way, base):
        """A history that fills the window is a line in the message, one warning, and no error, unless asked for."""
        placer, talk = EdgeOrder(layout="numbered", budget=30), [HumanMessage("word " * 40)]
        model = scripted(calls("why?"), "Well.")
        middleware = EdgeOrderMiddleware(placer, reserve_history=True)
        with pytest.warns(EdgeOrderWarning) as caught, capture() as records:
            result = run(create_agent(model, [search_tool(base)], middleware=[middleware]), way, talk)
        [message] = tool_messages(model.seen[1])
        assert (message.content, message.artifact) == ("No document fits the token budget.", [])
        assert result["messages"][-1].text == "Well."
        told = {str(warning.message).split(";")[0].split(",")[0] for warning in caught}
        assert len(told) == len(caught) == 3  # twice that the conversation is too long, once that nothing fits
        assert "every chunk was dropped" in records[0].notes
        strict = EdgeOrderMiddleware(placer, reserve_history=True, strict=True)
        agent = create_agent(scripted(calls("why?"), "Well."), [search_tool(base)], middleware=[strict])
        with pytest.raises(BudgetError, match="the conversation alone needs them"):
            run(agent, way, talk)

    def test_reserve_history_needs_a_budget(self):
        """It is refused at once where there is no window to share."""
        with pytest.raises(ValueError, match="reserve_history=True needs a budget"):
            EdgeOrderMiddleware(reserve_history=True)
        with pytest.raises(ValueError, match="reserve_history=True needs a budget"):
            EdgeOrderMiddleware(EdgeOrder(layout="xml"), reserve_history=True)

    @BOTH
    def test_the_message_of_the_tool_is_not_changed(self, way, six):
        """What the tool returned stays as it was: the message, its artifact, and the documents in it."""
        artifact = list(six)
        original = ToolMessage(
            [{"type": "text", "text": "as found"}],
            tool_call_id="1",
            artifact=artifact,
            name="search",
            id="m-1",
            additional_kwargs={"took": 3},
        )
        before = original.model_copy(deep=True)

        @tool
        def search(query: str) -> ToolMessage:
            """Search."""
            return original

        model = scripted(AIMessage("", tool_calls=[{"name": "search", "args": {"query": "q"}, "id": "1"}]), "Well.")
        placer = EdgeOrder(layout="numbered", order="reverse", annotate=True)
        agent = create_agent(model, [search], middleware=[EdgeOrderMiddleware(placer)])
        [message] = tool_messages(run(agent, way, [HumanMessage("Why?")])["messages"])
        assert original == before
        assert original.artifact is artifact
        assert all("edgeorder" not in document.metadata for document in six)
        assert message.content.startswith("[1] T6\nText 6.")
        assert [document.metadata["edgeorder"]["rank"] for document in message.artifact] == [6, 5, 4, 3, 2, 1]
        assert (message.id, message.name, message.tool_call_id) == ("m-1", "search", "1")
        assert message.additional_kwargs == {"took": 3}

    def test_stream(self, base):
        """Streamed updates hold the rendered message too."""
        agent = create_agent(scripted(calls("why?"), "Well."), [search_tool(base)], middleware=[EdgeOrderMiddleware()])
        updates = list(agent.stream({"messages": [HumanMessage("Why?")]}, stream_mode="updates"))
        [message] = next(update["tools"]["messages"] for update in updates if "tools" in update)
        assert message.content.startswith("[1] T1\nText 1.")

    def test_shared_by_agents_at_once(self, split):
        """One middleware object serves many runs at a time, each with the room of its own conversation."""
        documents = split(0)[:20]
        placer = EdgeOrder(layout="numbered", budget=Budget(900, overflow="stop"), reading="off")
        middleware = EdgeOrderMiddleware(placer, reserve_history=True)
        tools = [search_tool(RunnableLambda(lambda query: documents))]

        async def kept(talk: int) -> int:
            agent = create_agent(scripted(calls("wells?"), "Well."), tools, middleware=[middleware])
            result = await agent.ainvoke({"messages": [HumanMessage("word " * talk)]})
            return len(tool_messages(result["messages"])[0].artifact)

        async def together() -> list[int]:
            return await asyncio.gather(*(kept(talk) for talk in (500, 10, 300, 10)))

        found = asyncio.run(together())
        assert found == [asyncio.run(kept(talk)) for talk in (500, 10, 300, 10)]
        assert found[0] < found[2] < found[1] == found[3]


def searching(six) -> tuple[list[str], RunnableLambda]:
    """A retriever that notes what it was asked, sync and async apart."""
    asked: list[str] = []

    def find(query: str) -> list[Document]:
        asked.append(f"sync: {query}")
        return list(six)

    async def afind(query: str) -> list[Document]:
        asked.append(f"async: {query}")
        return list(six)

    return asked, RunnableLambda(find, afunc=afind)


class TestContextMiddleware:
    """Two-step RAG: the block stands in the system message."""

    @BOTH
    def test_what_the_model_saw(self, way, retriever, query, events):
        """System prompt, instruction and the recorded block; the conversation as it was; documents in the result."""
        model = scripted("Ninety days [1].")
        placer = EdgeOrder(layout="numbered", budget=700)
        middleware = ContextMiddleware(retriever, placer, instruction="Cite passages like [1].")
        agent = create_agent(model, system_prompt="Be brief.", middleware=[middleware])
        with capture() as records:
            result = run(agent, way, [HumanMessage(query)], {"callbacks": [events]})
        [[system, human]] = model.seen
        [record] = records
        documents = retriever.invoke(query)
        assert isinstance(system, SystemMessage)
        assert human == result["messages"][0]
        assert system.text == f"Be brief.\n\nCite passages like [1].\n\n{result['context_text']}"
        assert result["context"] == [documents[chunk.index] for chunk in record.placed]
        assert split_block(result["context_text"], "numbered") == [
            (number, document.page_content) for number, document in enumerate(result["context"], start=1)
        ]
        assert record.dropped
        assert [(name, data) for name, data, _ in events.custom] == [("edgeorder", record.to_dict())]
        assert result["messages"][-1].text == "Ninety days [1]."

    @BOTH
    def test_once_a_turn(self, way, six):
        """With tools in the loop it retrieves once, and every call of the model gets the block."""
        asked, retriever = searching(six)

        @tool
        def clock(query: str) -> str:
            """Tell the time."""
            return "noon"

        model = scripted(calls("t", name="clock"), calls("u", name="clock"), "At noon [1].")
        agent = create_agent(model, [clock], system_prompt="S", middleware=[ContextMiddleware(retriever)])
        run(agent, way, [HumanMessage("First"), AIMessage("Yes"), HumanMessage("When?")])
        assert asked == [f"{way}: When?"]
        assert len(model.seen) == 3
        block = EdgeOrder(layout="numbered").place(six).block.text
        assert [messages[0].text for messages in model.seen] == [f"S\n\n{block}"] * 3
        assert [sum(message.type == "system" for message in messages) for messages in model.seen] == [1, 1, 1]

    @BOTH
    def test_turns(self, way, split):
        """With a checkpointer the context of the second turn takes the place of the first one's."""
        found = {"Wells?": split(0)[:2], "Boats?": split(0)[1:4], "Nothing?": []}
        numbers = iter([[1, 2], [2, 3, 4], []])  # a document keeps its number
        model = scripted("One.", "Two.", "Three.")
        agent = create_agent(
            model,
            system_prompt="S",
            middleware=[ContextMiddleware(RunnableLambda(found.get))],
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "1"}}
        for turn, (query, documents) in enumerate(found.items()):
            result = run(agent, way, [HumanMessage(query)], config)
            assert result["context"] == documents
            block = result["context_text"]
            assert split_block(block, "numbered") == [
                (number, document.page_content) for number, document in zip(next(numbers), documents, strict=True)
            ]
            assert model.seen[turn][0].text == (f"S\n\n{block}" if block else "S")
            assert [message.type for message in model.seen[turn]] == ["system", *["human", "ai"] * turn, "human"]
        assert [message.type for message in result["messages"]] == ["human", "ai"] * 3

    @BOTH
    def test_messages_share_the_window(self, way, split):
        """System message and conversation together fit the budget, at every size of it, to the last character."""
        documents = split(0)[:6]
        retriever = RunnableLambda(lambda query: documents)
        talk = [HumanMessage("Hello there."), AIMessage("Good day."), HumanMessage("Which wells?")]
        kept = set()
        for tokens in range(900, 1200, 7 if way == "sync" else 50):
            budget = Budget(tokens, counter=len, overflow="truncate", reserve="Be brief.")
            placer = EdgeOrder(layout="numbered", budget=budget, reading="off")
            model = scripted("Well.")
            middleware = ContextMiddleware(retriever, placer, instruction="Cite passages like [1].")
            agent = create_agent(model, system_prompt="Be brief.", middleware=[middleware])
            result = run(agent, way, talk)
            assert sum(len(message.text) for message in model.seen[0]) <= tokens
            kept.add(len(result["context"]))
        assert len(kept) > 1

    @BOTH
    def test_conversation_that_leaves_nothing(self, way, base):
        """A conversation that fills the window leaves no document, one warning, and a run that goes on."""
        model, placer = scripted("Well."), EdgeOrder(layout="numbered", budget=30)
        talk = [HumanMessage("word " * 40)]
        with pytest.warns(EdgeOrderWarning, match="room for 0 tokens") as caught:
            result = run(
                create_agent(model, system_prompt="S", middleware=[ContextMiddleware(base, placer)]), way, talk
            )
        assert len(caught) == 1
        assert [message.text for message in model.seen[0]] == ["S", talk[0].text]
        assert (result["context"], result["context_text"]) == ([], "")
        agent = create_agent(scripted("Well."), middleware=[ContextMiddleware(base, placer, strict=True)])
        with pytest.raises(BudgetError, match="the window is full"):
            run(agent, way, talk)

    @BOTH
    def test_no_system_prompt(self, way, base):
        """Without a system prompt the system message is the block."""
        model = scripted("Well.")
        result = run(create_agent(model, middleware=[ContextMiddleware(base)]), way, [HumanMessage("Why?")])
        assert [message.type for message in model.seen[0]] == ["system", "human"]
        assert model.seen[0][0].text == result["context_text"]

    @BOTH
    def test_nothing_found(self, way):
        """Where nothing was found the system prompt stays as it is, and no empty system message is made."""
        nothing = RunnableLambda(lambda query: [])
        model = scripted("Well.", "Well.")
        result = run(create_agent(model, middleware=[ContextMiddleware(nothing)]), way, [HumanMessage("Why?")])
        assert [message.type for message in model.seen[0]] == ["human"]
        assert (result["context"], result["context_text"]) == ([], "")
        agent = create_agent(model, system_prompt="S", middleware=[ContextMiddleware(nothing)])
        run(agent, way, [HumanMessage("Why?")])
        assert [message.text for message in model.seen[1]] == ["S", "Why?"]

    @BOTH
    def test_system_message_of_blocks(self, way, base):
        """A system prompt of content blocks keeps them, a cache mark included; the block comes after."""
        marked = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
        model = scripted("Well.")
        agent = create_agent(model, system_prompt=SystemMessage([marked]), middleware=[ContextMiddleware(base)])
        result = run(agent, way, [HumanMessage("Why?")])
        assert model.seen[0][0].content[0] == marked
        assert model.seen[0][0].content[-1]["text"].endswith(result["context_text"])

    def test_with_dynamic_prompt(self, base):
        """A prompt that another middleware makes is kept."""

        @dynamic_prompt
        def by_hand(request) -> str:
            return "Made by hand."

        model = scripted("Well.")
        agent = create_agent(model, middleware=[by_hand, ContextMiddleware(base)])
        result = agent.invoke({"messages": [HumanMessage("Why?")]})
        assert model.seen[0][0].text == f"Made by hand.\n\n{result['context_text']}"

    @BOTH
    def test_scorer_and_retriever(self, way, six):
        """A scorer ranks by the last human message; a real retriever class works as well as a Runnable."""
        asked = []

        def scorer(query, passages):
            asked.append(query)
            return list(range(len(passages)))

        _, found = searching(six)
        placer = EdgeOrder(layout="numbered", rerank=scorer, order="relevance", top_n=2)
        with pytest.warns(EdgeOrderWarning, match="the retriever places its documents already"):
            middleware = ContextMiddleware(EdgeOrderRetriever(base_retriever=found), placer)
        agent = create_agent(scripted("Well."), middleware=[middleware])
        result = run(agent, way, [HumanMessage("Why?")])
        assert asked == ["Why?"]
        assert [document.id for document in result["context"]] == ["6", "5"]

    def test_retrieves_inside_the_run(self, retriever, query, events):
        """The retriever's run is a child of the agent's, so it shows in the same trace."""
        agent = create_agent(scripted("Well."), middleware=[ContextMiddleware(retriever)])
        agent.invoke({"messages": [HumanMessage(query)]}, config={"callbacks": [events]})
        [run_id] = [run_id for run_id, name in events.names.items() if name == "VectorStoreRetriever"]
        assert "ContextMiddleware(VectorStoreRetriever).before_agent" in events.path(run_id)

    def test_both_together(self, base, six):
        """With a retrieval tool as well, each middleware does its own part."""
        model = scripted(calls("more?"), "Well.")
        agent = create_agent(
            model,
            [search_tool(base)],
            middleware=[ContextMiddleware(base), EdgeOrderMiddleware(EdgeOrder(layout="xml"))],
        )
        with capture() as records:
            result = agent.invoke({"messages": [HumanMessage("Why?")]})
        assert len(records) == 2
        assert model.seen[1][0].text == result["context_text"]
        assert tool_messages(model.seen[1])[0].content.startswith("<documents>")


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, *rest):
        if name.partition('.')[0] == 'langchain':
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
sys.meta_path.insert(0, Missing())
"""


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class TestWithoutLangchain:
    """The whole of langchain is needed for the middleware only."""

    @pytest.mark.parametrize("name", ["EdgeOrderMiddleware", "ContextMiddleware"])
    def test_the_pip_line(self, name):
        """Asking for a middleware without langchain names the line that installs it."""
        code = f"try:\n    from langchain_edgeorder import {name}\nexcept ImportError as error: print(error)"
        assert python(code) == "langchain is not installed; run: pip install 'edgeorder[agents]'"

    def test_the_rest_works(self):
        """Everything else can be imported and used, and the prompt is sent."""
        code = (
            "from langchain_core.documents import Document\n"
            "from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever, context_prompt\n"
            "print(context_prompt().invoke({'context': [Document('A')], 'question': 'Why?'}).to_messages()[0].text)"
        )
        assert python(code) == "[1]\nA\n\nQuestion: Why?"
