"""`ContextMiddleware` over turns, beside others, within its budget."""

import asyncio
import warnings
from typing import Any

import pytest
from agents import asked, calling, fact, finding, letters, saying
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware, dynamic_prompt, wrap_model_call
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from edgeorder import Budget, EdgeOrderWarning, capture, message_counter
from edgeorder.rendering import split_block
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, cited

COUNT = message_counter(lambda text: len(text.split()), image_tokens=40)
WAYS = pytest.mark.parametrize("way", ["sync", "async", "stream"])


def plain(budget: int | None = None, **settings: Any) -> EdgeOrder:
    settings = {"order": "relevance", "reading": "off", **settings}
    return EdgeOrder(budget=None if budget is None else Budget(budget, COUNT), **settings)


def shown(model: Any, call: int = -1) -> list[tuple[int, str]]:
    """The passages in the system message of a call."""
    system = model.seen[call][0]
    if not isinstance(system, SystemMessage) or "[" not in system.text:
        return []
    return split_block(system.text[system.text.index("[") :], "numbered")


class Laws(BaseRetriever):
    """Finds laws."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [fact("L1"), fact("L2")]


class TestBudget:
    """The budget holds on all that the model receives."""

    @WAYS
    @pytest.mark.parametrize("budget", [40, 60, 90, 140, 400])
    def test_everything_counts(self, way, budget):
        """System prompt, instruction, tools, an image and calls with their results share it, at every call."""
        image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
        model = saying(calling("BC"), "So [1].")
        middleware = ContextMiddleware(RunnableLambda(letters), plain(budget), instruction="Cite them.")
        agent = create_agent(model, [finding(letters)], system_prompt="Be brief.", middleware=[middleware])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            result = asked(agent, way, [HumanMessage([{"type": "text", "text": "ABCDEFGH"}, image])])
        for messages, tools in zip(model.seen, model.bound, strict=True):
            bare = COUNT([SystemMessage("Be brief."), *messages[1:]], tools)
            assert COUNT(messages, tools) <= max(budget, bare)
        assert len(shown(model, 0)) >= len(shown(model, 1))
        assert [document.page_content for document in result["context"]] == [text for _, text in shown(model, 0)]
        assert bool(result["context"]) == (budget > 100)
        assert ("Cite them." in model.seen[0][0].text) == (budget > 100)

    def test_fewer_then_none_as_the_talk_goes_on(self):
        """Over turns the context shrinks with the room that the talk leaves, and no run fails."""
        turns = 6
        model = saying(*["word " * 30] * turns)
        middleware = ContextMiddleware(RunnableLambda(lambda query: letters("ABCDE")), plain(250))
        agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            for _ in range(turns):
                result = agent.invoke({"messages": [HumanMessage("Why?")]}, {"configurable": {"thread_id": "1"}})
                found.append(len(result["context"]))
        assert found[0] == 5
        assert found == sorted(found, reverse=True)
        assert found[-1] < 4
        assert all(COUNT(messages) <= 250 for messages in model.seen)

    def test_a_scorer_runs_once_a_turn(self):
        """What was scored when the turn began is not scored again, however often the model is called."""
        scored: list[int] = []

        def scorer(query: str, texts: list[str]) -> list[float]:
            scored.append(len(texts))
            return [ord(text[5]) for text in texts]

        model = saying(calling("B"), calling("C"), "So [1].")
        agent = create_agent(
            model,
            [finding(letters)],
            middleware=[ContextMiddleware(RunnableLambda(letters), plain(300, rerank=scorer))],
        )
        with capture() as records:
            result = agent.invoke({"messages": [HumanMessage("ABC")]})
        assert scored == [3]
        assert [document.id for document in result["context"]] == ["C", "B", "A"]
        assert len(records) == 1
        assert [chunk.rerank_score for chunk in records[0].chunks] == [65, 66, 67]


class TestOthers:
    """Beside other middlewares."""

    @WAYS
    def test_dynamic_prompt(self, way):
        """Before ours it works; after ours it would replace the block, and is refused in words."""

        @dynamic_prompt
        def by_hand(request: Any) -> str:
            return "Made by hand."

        ours = ContextMiddleware(RunnableLambda(letters), plain())
        model = saying("So [1].")
        result = asked(create_agent(model, middleware=[by_hand, ours]), way, [HumanMessage("AB")])
        assert model.seen[0][0].text == f"Made by hand.\n\n{result['context_text']}"
        agent = create_agent(saying("So."), middleware=[ours, by_hand])
        with pytest.raises(ValueError, match="list ContextMiddleware after it"):
            asked(agent, way, [HumanMessage("AB")])
        nothing = ContextMiddleware(RunnableLambda(lambda query: []), plain())
        agent = create_agent(saying("So."), middleware=[nothing, by_hand])
        assert asked(agent, way, [HumanMessage("AB")])["messages"][-1].text == "So."

    def test_other_models_inside(self):
        """A middleware after ours that asks another model, or answers itself, is no matter of ours."""
        other = saying("yes", "yes")

        @wrap_model_call
        def selecting(request: Any, handler: Any) -> Any:
            assert other.invoke("Which tools?").text == "yes"
            return handler(request)

        @wrap_model_call
        def answering(request: Any, handler: Any) -> Any:
            return AIMessage("From a cache.")

        ours = ContextMiddleware(RunnableLambda(letters), plain())
        model = saying("So.")
        create_agent(model, middleware=[ours, selecting]).invoke({"messages": [HumanMessage("AB")]})
        assert len(shown(model)) == 2
        result = create_agent(model, middleware=[ours, answering]).invoke({"messages": [HumanMessage("AB")]})
        assert result["messages"][-1].text == "From a cache."

    @WAYS
    @pytest.mark.parametrize("budget", [None, 400])
    def test_two_retrievers(self, way, budget):
        """Two of them, each with a name of its own: both blocks are there, numbers and documents are in one series."""
        model = saying("So [1] and [4].", "So [3].")
        agent = create_agent(
            model,
            middleware=[
                ContextMiddleware(RunnableLambda(letters), plain(budget)),
                ContextMiddleware(Laws(), plain(budget), instruction="Laws:"),
            ],
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "1"}}
        result = asked(agent, way, [HumanMessage("AB")], config)
        assert [document.id for document in result["context"]] == ["A", "B", "L1", "L2"]
        assert [document.id for document in cited(result)] == ["A", "L2"]
        assert "\n\nLaws:\n\n[3] L1\n" in model.seen[0][0].text
        result = asked(agent, way, [HumanMessage("C")], config)
        assert [document.id for document in result["context"]] == ["C", "L1", "L2"]
        assert [document.id for document in cited(result)] == ["L1"]

    def test_names(self):
        """The name is that of the retriever, or the one that is given."""
        assert ContextMiddleware(Laws()).name == "ContextMiddleware(Laws)"
        assert ContextMiddleware(Laws(), name="eu").name == "ContextMiddleware(eu)"

    def test_with_a_retrieval_tool(self):
        """A chunk of the context has the same number where a tool finds it, and the model's window holds both."""
        model = saying(calling("BCDEFGH"), "So [2] and [3].")
        middleware = [
            ContextMiddleware(RunnableLambda(letters), plain(250)),
            EdgeOrderMiddleware(plain(250), reserve_history=True, already="point"),
        ]
        result = create_agent(model, [finding(letters)], middleware=middleware).invoke(
            {"messages": [HumanMessage("AB")]}
        )
        numbers = dict(split_block(model.seen[1][-1].text, "numbered"))
        assert numbers[2] == fact("B").page_content  # the system message is no message that stays
        assert COUNT(model.seen[1], model.bound[1]) <= 250
        assert [document.id for document in cited(result)] == ["B", "C"]

    def test_retries(self):
        """A call that is tried again gets the same block."""
        failing = [True]

        @wrap_model_call
        def once(request: Any, handler: Any) -> Any:
            if failing:
                failing.pop()
                raise RuntimeError("overloaded")
            return handler(request)

        retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
        model = saying("So.")
        ours = ContextMiddleware(RunnableLambda(letters), plain(100))
        create_agent(model, middleware=[retry, ours, once]).invoke({"messages": [HumanMessage("ABCDEF")]})
        assert [number for number, _ in shown(model)] == [1, 2, 3]

    def test_ten_chats_at_once(self):
        """One middleware serves ten conversations at the same time, each as if it were alone."""
        middleware = ContextMiddleware(RunnableLambda(letters), plain(200))

        async def chat(words: int) -> list[str]:
            model = saying("So.", "So.")
            agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
            for text in ("ABCDEF " + "word " * words, "CDG"):
                await agent.ainvoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "1"}})
            return [messages[0].text for messages in model.seen]

        async def together() -> list[list[str]]:
            return await asyncio.gather(*(chat(words) for words in sizes))

        sizes = [5, 90, 40, 5, 120, 60, 30, 10, 90, 20]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            assert asyncio.run(together()) == [asyncio.run(chat(words)) for words in sizes]


class TestQuery:
    """What is looked up."""

    @WAYS
    @pytest.mark.parametrize("kind", ["function", "runnable", "message"])
    def test_from_the_messages(self, way, kind):
        """A function or Runnable makes the query of all messages."""

        def standing_alone(messages: list[Any]) -> Any:
            text = "".join(message.text for message in messages if message.type == "human")
            return AIMessage(text) if kind == "message" else text

        query = RunnableLambda(standing_alone) if kind == "runnable" else standing_alone
        model = saying("So.")
        middleware = ContextMiddleware(RunnableLambda(letters), plain(), query=query)
        asked(
            create_agent(model, middleware=[middleware]), way, [HumanMessage("AB"), AIMessage("C"), HumanMessage("D")]
        )
        assert [text[5] for _, text in shown(model)] == ["A", "B", "D"]

    def test_async_function(self):
        """In async runs the function may be async."""

        async def query(messages: list[Any]) -> str:
            return "AB"

        model = saying("So.")
        middleware = ContextMiddleware(RunnableLambda(letters), plain(), query=query)
        asked(create_agent(model, middleware=[middleware]), "async", [HumanMessage("D")])
        assert len(shown(model)) == 2

    def test_no_text_of_it(self):
        """A function that makes something else is an error that shows it."""
        middleware = ContextMiddleware(RunnableLambda(letters), plain(), query=lambda messages: messages)
        with pytest.raises(TypeError, match="query= of ContextMiddleware must return a text"):
            create_agent(saying("So."), middleware=[middleware]).invoke({"messages": [HumanMessage("D")]})

    @WAYS
    def test_blocks(self, way):
        """Of a message of blocks the text is looked up; with images alone nothing is, and a warning says so."""
        image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
        model = saying("So.", "So.")
        agent = create_agent(model, middleware=[ContextMiddleware(RunnableLambda(letters), plain())])
        asked(agent, way, [HumanMessage([{"type": "text", "text": "AB"}, image])])
        assert len(shown(model)) == 2
        with pytest.warns(EdgeOrderWarning, match="there is no text to retrieve for"):
            result = asked(agent, way, [HumanMessage([image])])
        assert [message.type for message in model.seen[-1]] == ["human"]
        assert result["context"] == []

    def test_a_question_in_the_prompt_is_refused(self):
        """The question is a message already."""
        with pytest.raises(ValueError, match="would show the question a second time"):
            ContextMiddleware(RunnableLambda(letters), EdgeOrder(prompt="after"))
