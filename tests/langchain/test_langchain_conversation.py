"""A conversation of an agent: one window and one register over parallel calls, turns, and what other middlewares do."""

import asyncio
import json
import warnings
from typing import Any

import pytest
from agents import asked, blocks, calling, fact, finding, letters, results, saying
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    dynamic_prompt,
)
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from edgeorder import Budget, EdgeOrderWarning, Register, capture, message_counter, window
from langchain_edgeorder import EdgeOrder, EdgeOrderMiddleware, cited

COUNT = message_counter(lambda text: len(text.split()), image_tokens=40)
HI = [HumanMessage("Why?")]


def plain(budget: int | None = None, **settings: Any) -> EdgeOrder:
    """A placer whose blocks are easy to foretell."""
    settings = {"order": "relevance", "reading": "off", **settings}
    return EdgeOrder(budget=None if budget is None else Budget(budget, COUNT), **settings)


def agent_of(model: Any, middleware: Any, tools: Any = None, **settings: Any) -> Any:
    middleware = middleware if isinstance(middleware, list) else [middleware]
    return create_agent(model, tools or [finding(letters)], middleware=middleware, **settings)


def numbers(messages: Any) -> list[list[int]]:
    return [[number for number, _ in block] for block in blocks(messages)]


def as_json(messages: Any) -> Any:
    """Return messages once they were JSON."""
    return messages_from_dict(json.loads(json.dumps(messages_to_dict(messages), default=dict)))


WAYS = pytest.mark.parametrize("way", ["sync", "async", "stream"])


class TestTheWindow:
    """`reserve_history=True`: the budget is all that the model receives."""

    @WAYS
    @pytest.mark.parametrize("queries", [["ABCDEF"], ["ABC", "DEF", "GHI"], ["A", "BCDEFGH"], ["ABCDEFGH", "I"]])
    def test_parallel_calls_share_what_is_left(self, way, queries):
        """Together the results use up the window, each its share, and what one does not need goes to the others."""
        model = saying(calling(*queries), "So.")
        middleware = EdgeOrderMiddleware(plain(240), reserve_history=True)
        agent = agent_of(model, middleware, system_prompt="Be brief.")
        asked(agent, way, HI)
        assert COUNT(model.seen[1], model.bound[1]) <= 240
        found = [len(block) for block in numbers(model.seen[1])]
        if queries == ["A", "BCDEFGH"] or queries == ["ABCDEFGH", "I"]:
            assert min(found) == 1
        else:
            assert max(found) - min(found) <= 1
        one_more = 25  # tokens of a passage
        if sum(map(len, queries)) > sum(found):
            assert COUNT(model.seen[1], model.bound[1]) > 240 - one_more

    @WAYS
    def test_everything_that_is_sent_counts(self, way):
        """Arguments of calls, images, names, system prompt and tools leave less for documents."""
        image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
        talk = [HumanMessage([{"type": "text", "text": "What is it?"}, image], name="Ann")]
        found = []
        for settings, call, messages in (
            ({}, calling("ABCDEFGHI"), HI),
            ({"system_prompt": "Be brief. " * 20}, calling("ABCDEFGHI"), HI),
            ({}, calling("ABCDEFGHI", why="because " * 40), HI),
            ({}, calling("ABCDEFGHI"), talk),
        ):
            model = saying(call, "So.")

            @tool(response_format="content_and_artifact")
            def search(query: str, why: str = "") -> Any:
                """Search."""
                return "found", letters(query)

            agent = agent_of(model, EdgeOrderMiddleware(plain(230), reserve_history=True), [search], **settings)
            asked(agent, way, messages)
            assert COUNT(model.seen[1], model.bound[1]) <= 230
            found.append(len(numbers(model.seen[1])[0]))
        assert found[0] > max(found[1:])
        assert min(found) > 0

    def test_structured_output_counts(self):
        """The schema of a structured response is bound as a tool, and counted as one."""
        from pydantic import BaseModel

        class Answer(BaseModel):
            """An answer."""

            text: str
            sure: bool

        final = AIMessage("", tool_calls=[{"name": "Answer", "args": {"text": "a", "sure": True}, "id": "z"}])
        model = saying(calling("ABCDEFGHI"), final)
        agent = agent_of(model, EdgeOrderMiddleware(plain(200), reserve_history=True), response_format=Answer)
        result = agent.invoke({"messages": HI})
        assert result["structured_response"] == Answer(text="a", sure=True)
        assert 170 < COUNT(model.seen[1], model.bound[1]) <= 200

    @WAYS
    def test_a_prompt_that_grows(self, way):
        """Where the system prompt is longer than at the call before, fresh results shrink, and the state knows it."""

        @dynamic_prompt
        def growing(request: Any) -> str:
            return "Mind this. " * (20 if isinstance(request.messages[-1], ToolMessage) else 0)

        model = saying(calling("ABCDEFGH", "IJ"), "So [1].")
        agent = agent_of(model, [growing, EdgeOrderMiddleware(plain(240), reserve_history=True)])
        result = asked(agent, way, HI)
        assert 200 < COUNT(model.seen[1], model.bound[1]) <= 240
        assert [message.content for message in results(result["messages"])] == [
            message.content for message in results(model.seen[1])
        ]
        assert numbers(model.seen[1])[0][0] == 1
        assert cited(result) == [fact("A")]

    @WAYS
    def test_room_that_another_middleware_cleared(self, way):
        """What ContextEditingMiddleware takes out of the request is not reserved any more."""

        def found(clear: bool) -> list[int]:
            model = saying(*(calling(query) for query in ("ABCD", "EFGH", "IJKL", "MNOP")), "So.")
            edit = ClearToolUsesEdit(trigger=10, keep=1)
            clearing = ContextEditingMiddleware(edits=[edit], token_counter=COUNT)
            middleware = [clearing] * clear + [EdgeOrderMiddleware(plain(260), reserve_history=True)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EdgeOrderWarning)
                asked(agent_of(model, middleware), way, HI)
            within = [COUNT(sent, tools) <= 260 for sent, tools in zip(model.seen, model.bound, strict=True)]
            assert all(within) or not clear
            return [sum(map(len, numbers(sent[-1:]))) for sent in model.seen[1:]]

        assert min(found(clear=True)) >= 3
        assert found(clear=False)[2:] == [0, 0]

    def test_summaries(self):
        """Messages that were summarised away leave their room, their numbers are not given again."""
        summarizer = saying(*["They spoke."] * 9)
        model = saying(*[part for query in ("ABCDE", "FGHIJ", "KLMNO") for part in (calling(query), "So [2].")])
        summing = SummarizationMiddleware(summarizer, trigger=("messages", 5), keep=("messages", 2))
        agent = agent_of(
            model,
            [summing, EdgeOrderMiddleware(plain(330), reserve_history=True)],
            checkpointer=InMemorySaver(),
        )
        for turn in range(3):
            result = agent.invoke({"messages": [HumanMessage(f"Turn {turn}?")]}, {"configurable": {"thread_id": "1"}})
        assert len(summarizer.seen) > 0
        shown = [pair for sent in model.seen for block in blocks(sent) for pair in block]
        assert len({text for _, text in shown}) == len({number for number, _ in shown}) == 15
        with pytest.warns(EdgeOrderWarning, match=r"the documents of \[2\] left the conversation: .*'B'"):
            assert cited(result) == []

    def test_an_ambient_window(self):
        """Inside `window` the whole run shares it, and parallel results each have their part."""
        for settings in ({"budget": 500}, {}):
            model = saying(calling("ABCDEF", "GHIJKL"), calling("MNO"), "So.")
            with window(Budget(130, COUNT)) as shared, warnings.catch_warnings():
                warnings.simplefilter("ignore", EdgeOrderWarning)
                agent_of(model, EdgeOrderMiddleware(plain(**settings))).invoke({"messages": HI})
            assert sum(COUNT.counter(message.text) for message in results(model.seen[-1])) <= 130 + 6
            assert [len(block) for block in numbers(model.seen[1])] == [2, 3]
            assert shared.left < 25
            assert results(model.seen[-1])[-1].text == "No document fits the token budget."
            assert shared.left == max(0, 130 - sum(COUNT.counter(message.text) for message in results(model.seen[-1])))

    def test_ten_chats_at_once(self):
        """One middleware serves ten conversations at the same time, each as if it were alone."""
        middleware = EdgeOrderMiddleware(plain(260), reserve_history=True, already="point")

        async def chat(words: int) -> list[str]:
            model = saying(calling("ABCD", "EFG"), calling("CDEH"), "So [2].", calling("AH"), "So.")
            agent = agent_of(model, middleware, checkpointer=InMemorySaver())
            for text in ("word " * words, "And?"):
                await agent.ainvoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "1"}})
            return [message.text for message in results(model.seen[-1])]

        async def together() -> list[list[str]]:
            return await asyncio.gather(*(chat(words) for words in sizes))

        sizes = [5, 90, 40, 5, 120, 60, 30, 10, 90, 20]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            found = asyncio.run(together())
            assert found == [asyncio.run(chat(words)) for words in sizes]
        assert len({str(texts) for texts in found}) > 4


class TestNumbers:
    """A chunk has one number in a conversation."""

    @WAYS
    def test_over_calls_and_turns(self, way):
        """Parallel calls, later calls and later turns go on with the numbers, and chunks keep theirs."""
        model = saying(calling("AB", "BC"), calling("DA"), "So [1].", calling("CE"), "So [5].")
        agent = agent_of(model, EdgeOrderMiddleware(plain()), checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "1"}}
        first = asked(agent, way, HI, config)
        assert numbers(first["messages"]) == [[1, 2], [2, 3], [4, 1]]
        assert cited(first) == [fact("A")]
        second = asked(agent, way, HI, config)
        assert numbers(second["messages"]) == [[1, 2], [2, 3], [4, 1], [3, 5]]
        assert cited(second) == [fact("E")]
        register = Register.from_dict(second["edgeorder"]["register"])
        assert [source.title for source in register.sources()] == list("ABCDE")

    @pytest.mark.parametrize("keep", [list, as_json], ids=["as they are", "as JSON"])
    def test_where_only_messages_are_kept(self, keep):
        """Without a checkpointer the messages themselves know their numbers, also once they were JSON."""
        model = saying(calling("AB"), "So [1].", calling("CB"), "So [2] and [3].")
        agent = agent_of(model, EdgeOrderMiddleware(plain()))
        first = agent.invoke({"messages": HI})
        second = agent.invoke({"messages": [*keep(first["messages"]), *HI]})
        assert numbers(second["messages"]) == [[1, 2], [3, 2]]
        assert cited(second) == [fact("B"), fact("C")]

    def test_the_state_goes_on(self):
        """A result can be handed to the next call as it is."""
        model = saying(calling("AB"), "So.", calling("CB"), "So.")
        agent = agent_of(model, EdgeOrderMiddleware(plain()))
        first = agent.invoke({"messages": HI})
        second = agent.invoke({**first, "messages": HI})  # the messages were summarised outside, say
        assert numbers(second["messages"]) == [[3, 2]]

    def test_two_middlewares_share_a_register(self):
        """Two tools with a placer each, called at once: no number twice, and each chunk one."""
        model = saying(
            AIMessage("", tool_calls=[*calling("AB").tool_calls, *calling("BC", name="archive").tool_calls]), "So [3]."
        )
        agent = agent_of(
            model,
            [
                EdgeOrderMiddleware(plain(300), tools="search", reserve_history=True),
                EdgeOrderMiddleware(plain(300, order="reverse"), tools=["archive"], reserve_history=True),
            ],
            [finding(letters), finding(letters, "archive")],
        )
        result = agent.invoke({"messages": HI})
        assert numbers(result["messages"]) == [[1, 2], [3, 2]]  # C stands before B there
        assert cited(result) == [fact("C")]

    @pytest.mark.parametrize("way", ["sync", "async"])
    def test_a_bare_tool_node(self, way):
        """In a graph of one's own the node alone gives each result its share, and no number twice."""
        middleware = EdgeOrderMiddleware(plain(340), reserve_history=True)
        wraps = {"wrap_tool_call": middleware.wrap_tool_call, "awrap_tool_call": middleware.awrap_tool_call}
        node = ToolNode([finding(letters)], **wraps)
        graph = StateGraph(MessagesState)
        graph.add_node("tools", node)
        graph.set_entry_point("tools")
        compiled = graph.compile()
        messages: list[Any] = [*HI]
        shown = []
        for call in (calling("ABC", "ABD"), calling("EAF", "EL")):
            values = {"messages": [*messages, call]}
            messages = (compiled.invoke(values) if way == "sync" else asyncio.run(compiled.ainvoke(values)))["messages"]
            assert COUNT(messages) <= 340
        shown = [pair for block in blocks(messages) for pair in block]
        texts = dict(shown)
        assert all(texts[number] == text for number, text in shown)
        assert numbers(messages) == [[1, 3, 5], [2, 4, 6], [7, 1, 9], [8, 10]]
        assert all(message.artifact for message in results(messages))

    def test_tools_that_end_the_run(self):
        """Results of `return_direct` tools are final: within their shares, with numbers of their own."""
        direct = finding(letters)
        direct.return_direct = True
        model = saying(calling("ABCDEF", "GHIJKL"), calling("AG"), "So [1] [2].")
        middleware = EdgeOrderMiddleware(plain(250), reserve_history=True)
        agent = agent_of(model, middleware, [direct], checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "1"}}
        first = agent.invoke({"messages": HI}, config)
        assert COUNT(first["messages"]) <= 250
        shown = [message.content for message in results(first["messages"])]
        assert numbers(first["messages"]) == [[1, 3, 5, 7], [2, 4, 6, 8]]
        found = [[document.id for document in message.artifact] for message in results(first["messages"])]
        assert found == [list("ABCD"), list("GHIJ")]
        direct.return_direct = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            second = agent.invoke({"messages": HI}, config)
        assert [message.content for message in results(second["messages"])][:2] == shown
        assert results(model.seen[-1])[0].content == shown[0]


class TestPointers:
    """What stands for a chunk that the conversation holds."""

    @WAYS
    @pytest.mark.parametrize("parallel", [False, True])
    def test_point(self, way, parallel):
        """A chunk that stands above is one line; also above in the same step."""
        model = saying(calling("ABC", "CD"), "So.") if parallel else saying(calling("ABC"), calling("CD"), "So [3].")
        result = asked(agent_of(model, EdgeOrderMiddleware(plain(), already="point")), way, HI)
        second = results(model.seen[-1])[1]
        assert second.content == f"[3] above\n\n[4] D\n{fact('D').page_content}"
        assert second.artifact == [fact("C"), fact("D")]
        assert parallel or cited(result) == [fact("C")]

    @WAYS
    def test_a_cleared_message_is_pointed_at_no_more(self, way):
        """What another middleware cleared for this call is sent again; older pointers stay as they are."""
        clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1)], token_counter=COUNT)
        model = saying(calling("AB"), calling("BC"), calling("CB"), "So.")
        result = asked(agent_of(model, [clearing, EdgeOrderMiddleware(plain(), already="point")]), way, HI)
        assert [message.content for message in results(model.seen[-1])][:2] == ["[cleared]", "[cleared]"]
        for sent in model.seen[1:]:
            assert " above" not in results(sent)[-1].content
        assert [message.content for message in results(result["messages"])][-1] == results(model.seen[-1])[-1].content

    def test_drop(self):
        """With `"drop"` it is left out, and where all is left out a line says so."""
        model = saying(calling("AB"), calling("BC"), calling("AB"), "So.")
        with pytest.warns(EdgeOrderWarning, match=r"dropped \(already\)"):
            agent_of(model, EdgeOrderMiddleware(plain(), already="drop")).invoke({"messages": HI})
        assert numbers(model.seen[-1]) == [[1, 2], [3]]
        assert results(model.seen[-1])[2].content == "All documents that were found stand above."

    def test_settings(self):
        """Unknown values are refused at once."""
        with pytest.raises(ValueError, match="already='never' is not one of: send, point, drop"):
            EdgeOrderMiddleware(already="never")


STEPS = [f"step {n} done" for n in range(300)]
LOG = "\n".join(["started", *STEPS, "disk almost full", *["ok"] * 300, "failed: disk full"])


@tool
def log(query: str) -> str:
    """Read the log."""
    return LOG


class TestTexts:
    """`texts=True`: long texts that tools return are cut to what is left."""

    @WAYS
    def test_in_the_window(self, way):
        """A log between searches is cut to its share, head and tail first, and everything fits."""
        asked_for = AIMessage("", tool_calls=[*calling("disk", name="log").tool_calls, *calling("ABCDEF").tool_calls])
        model = saying(asked_for, "So.")
        middleware = EdgeOrderMiddleware(plain(400), reserve_history=True, texts=True)
        asked(agent_of(model, middleware, [finding(letters), log]), way, HI)
        first, search = results(model.seen[-1])
        assert first.content.startswith("started\n")
        assert first.content.endswith("\nfailed: disk full")
        assert "disk almost full" in first.content
        assert " lines]\n" in first.content
        assert len(numbers([search])[0]) > 3
        assert 370 < COUNT(model.seen[1], model.bound[1]) <= 400

    def test_for_one_result(self):
        """Without `reserve_history` the budget is for each result; short texts stay as they are."""
        model = saying(calling("disk", name="log"), "So.")
        middleware = EdgeOrderMiddleware(plain(50), texts=True, tools="log")
        result = agent_of(model, middleware, [log]).invoke({"messages": HI})
        [message] = results(result["messages"])
        assert 40 < COUNT.counter(message.content) <= 50
        assert message.artifact is None
        model = saying(calling("disk", name="log"), "So.")
        agent_of(model, EdgeOrderMiddleware(plain(5000), texts=True), [log]).invoke({"messages": HI})
        assert results(model.seen[1])[0].content == LOG

    def test_nothing_left(self):
        """Where nothing is left, no more stands there than the line that would say so."""
        model = saying(calling("disk", name="log"), "So.")
        middleware = EdgeOrderMiddleware(plain(60), reserve_history=True, texts=True)
        with pytest.warns(EdgeOrderWarning, match="the conversation alone needs them"):
            agent_of(model, middleware, [log]).invoke({"messages": [HumanMessage("word " * 80)]})
        assert results(model.seen[1])[0].content == "[… 602 lines]\nfailed: disk full"

    def test_needs_a_budget(self):
        """Without a budget there is nothing to cut to."""
        with pytest.raises(ValueError, match="texts=True cuts texts to a budget, and there is none"):
            EdgeOrderMiddleware(texts=True)


class TestOthersWork:
    """What other middlewares and the user's own code did stays."""

    @WAYS
    def test_what_a_model_has_seen_is_never_written_again(self, way):
        """From call to call the messages that were sent are the same, byte by byte."""
        model = saying(calling("ABCDE", "FGH"), calling("AFI"), "So.", calling("BJK", "A"), "So.")
        middleware = EdgeOrderMiddleware(plain(300), reserve_history=True, already="point")
        agent = agent_of(model, middleware, checkpointer=InMemorySaver())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            for _ in range(2):
                asked(agent, way, HI, {"configurable": {"thread_id": "1"}})
        for before, after in zip(model.seen, model.seen[1:], strict=False):
            kept = [json.dumps(messages_to_dict([m])[0]["data"] | {"artifact": None}, default=str) for m in before]
            now = [json.dumps(messages_to_dict([m])[0]["data"] | {"artifact": None}, default=str) for m in after]
            assert now[: len(kept)] == kept

    @WAYS
    @pytest.mark.parametrize("queries", [["AB"], ["AB", "BC"]])
    def test_redacted_results_stay_redacted(self, way, queries):
        """What a middleware before ours redacted is not rendered anew."""

        def secret(query: str) -> list[Document]:
            return [Document(f"{letter}: mail {letter}@example.org today.", id=letter) for letter in query]

        redacting = PIIMiddleware("email", apply_to_tool_results=True, apply_to_input=False)
        model = saying(calling(*queries), calling("CD"), "So [1].")
        middleware = EdgeOrderMiddleware(plain(400), reserve_history=True, already="point")
        result = asked(agent_of(model, [redacting, middleware], [finding(secret)]), way, HI)
        for sent in model.seen[1:]:
            assert "@example.org" not in "".join(message.text for message in sent)
        shown = [pair for block in blocks(model.seen[-1]) for pair in block]
        assert len({number for number, _ in shown}) >= len({text for _, text in shown})
        assert [document.id for document in cited(result)] == ["A"]

    @WAYS
    def test_a_scorer_runs_once_for_a_result(self, way):
        """Results that are placed twice are scored once, and the record has what the scorer said."""
        scored: list[int] = []

        def scorer(query: str, texts: list[str]) -> list[float]:
            scored.append(len(texts))
            return [ord(text[5]) for text in texts]

        model = saying(calling("ABCD", "EFG"), "So.")
        placer = plain(190, rerank=scorer)
        with capture() as records:
            asked(agent_of(model, EdgeOrderMiddleware(placer, reserve_history=True)), way, HI)
        assert sorted(scored) == [3, 4]
        assert [block[0][1][:6] for block in blocks(model.seen[1])] == ["Fact-D", "Fact-G"]
        assert [record.chunks[0].rerank_score for record in records] == [65, 69]
        assert len(records) == 2

    @WAYS
    def test_one_record_and_one_event_for_a_result(self, way, events):
        """Drafts are not told of: recorders, captures and traces get each result once, in the order of the calls."""
        recorded: list[Any] = []
        placer = plain(recorders=[recorded.append])
        model = saying(calling("AB", "CDE"), calling("F"), "So.")
        with capture() as records:
            asked(agent_of(model, EdgeOrderMiddleware(placer)), way, HI, {"callbacks": [events]})
        assert [len(record.chunks) for record in records] == [2, 3, 1]
        assert recorded == records
        assert [len(data["chunks"]) for _, data, _ in events.custom] == [2, 3, 1]

    def test_updates_keep_their_shape(self):
        """In streamed updates each node gives one dict, whose messages are the last ones."""
        model = saying(calling("ABC", "CD"), "So.")
        agent = agent_of(model, EdgeOrderMiddleware(plain(240), reserve_history=True), system_prompt="Be brief.")
        updates = list(agent.stream({"messages": HI}, stream_mode="updates"))
        assert all(update is None or isinstance(update, dict) for one in updates for update in one.values())
        models = [one["model"] for one in updates if "model" in one]
        assert [update["messages"][-1].text for update in models] == ["", "So."]

    def test_retries(self):
        """A model call that is tried again gets the same, and the conversation goes on."""
        model = saying(calling("ABCDEF", "GH"), "So.")
        failing = [True]

        class Once(AgentMiddleware):
            def wrap_model_call(self, request, handler):
                if isinstance(request.messages[-1], ToolMessage) and failing:
                    failing.pop()
                    raise RuntimeError("overloaded")
                return handler(request)

        retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
        agent = agent_of(model, [retry, EdgeOrderMiddleware(plain(230), reserve_history=True), Once()])
        agent.invoke({"messages": HI})
        assert COUNT(model.seen[1], model.bound[1]) <= 230
        assert not failing


class TestStrict:
    """`strict=True`: a full window is an error."""

    def test_full(self):
        """A result that finds no room raises, as does a conversation that exceeds the budget."""
        from edgeorder import BudgetError

        model = saying(calling("ABCDEF"), "So.")
        agent_of(model, EdgeOrderMiddleware(plain())).invoke({"messages": [HumanMessage("word " * 10)]})
        budget = COUNT(model.seen[0], model.bound[0]) + 30
        for words, message in ((10, "the window is full"), (200, "the conversation alone needs them")):
            model = saying(calling("ABCDEF"), "So.")
            middleware = EdgeOrderMiddleware(plain(budget), reserve_history=True, strict=True)
            with pytest.raises(BudgetError, match=message):
                agent_of(model, middleware).invoke({"messages": [HumanMessage("word " * words)]})


def test_a_question_in_the_prompt_is_refused():
    """The question is a message already: a placer that shows it is refused, naming what would do."""
    for prompt in ("both", "after", "before"):
        with pytest.raises(ValueError, match=r"would show the question a second time.*Prompt\('none', instruction\)"):
            EdgeOrderMiddleware(EdgeOrder(prompt=prompt))


def test_cited_needs_an_answer():
    """Without an answer there is nothing to look for."""
    with pytest.raises(ValueError, match="with an answer among them"):
        cited({"messages": [SystemMessage("a")]})


def test_cited_tells_of_numbers_that_nothing_has():
    """An answer that invents a number, or cites where nothing was numbered, is told from one that cites nothing."""
    result = agent_of(saying(calling("AB"), "So [2], [7]."), EdgeOrderMiddleware(plain())).invoke({"messages": HI})
    with pytest.warns(EdgeOrderWarning, match="has the number 7, which the answer cites: the answer invents it"):
        assert len(cited(result)) == 1
    with pytest.warns(EdgeOrderWarning, match="none has a number at all; EdgeOrderMiddleware gives them"):
        assert cited({"messages": [AIMessage("So [1].")]}) == []
