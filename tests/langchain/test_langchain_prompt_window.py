"""The whole window of a prompt: rendered contexts are checked, questions may be blocks, `room` says what is left."""

from typing import Any

import pytest
from agents import fact, letters, saying
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool

from edgeorder import Budget, BudgetError, EdgeOrderWarning, Prompt, capture, message_counter, window
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever, context_prompt, room

COUNT = message_counter(lambda text: len(text.split()), image_tokens=40)
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
CALL = {"name": "search", "args": {"query": "because " * 30}, "id": "1"}


def plain(budget: int | None = None, **settings: Any) -> EdgeOrder:
    settings = {"order": "relevance", "reading": "off", **settings}
    return EdgeOrder(budget=None if budget is None else Budget(budget, COUNT), **settings)


async def made(prompt: Any, asynchronous: bool, **values: Any) -> list[Any]:
    """The messages of a prompt."""
    value = await prompt.ainvoke(values) if asynchronous else prompt.invoke(values)
    return value.to_messages()


BOTH = pytest.mark.parametrize("asynchronous", [False, True])


class TestBudget:
    """The budget holds on every kind of context, and on all messages."""

    @BOTH
    async def test_calls_and_images_in_the_history(self, asynchronous):
        """Tool calls, results and images of earlier messages share the window."""
        history = [
            HumanMessage([{"type": "text", "text": "Hi"}, IMAGE]),
            AIMessage("", tool_calls=[CALL]),
            ToolMessage("found it", tool_call_id="1"),
        ]
        prompt = context_prompt(plain(230), system="Be brief.", history_key="history")
        values = {"context": letters("ABCDEFGHIJ"), "question": "Why?"}
        alone = await made(prompt, asynchronous, **values)
        after = await made(prompt, asynchronous, **values, history=history)
        assert 200 < COUNT(alone) <= 230
        assert 200 < COUNT(after) <= 230
        assert len(after[-1].text) < len(alone[-1].text)

    @BOTH
    @pytest.mark.parametrize("kind", ["text", "placement"])
    async def test_what_was_rendered_before_is_checked(self, asynchronous, kind):
        """A text or a placement that is too long, with what stands around it, is an error that says what to do."""
        placement = plain(None, layout="numbered").place(letters("ABCD"))
        context = placement if kind == "placement" else placement.block.text
        needed = COUNT.counter(placement.block.text) + 2
        for parts, values in (
            ({}, {}),
            ({"system": "Be brief. " * 5}, {}),
            ({}, {"history": [AIMessage("", tool_calls=[CALL])]}),
            ({"instruction": "Cite passages like [1]."}, {}),
        ):
            around = [SystemMessage(parts["system"])] if "system" in parts else values.get("history", [])
            limit = needed + COUNT(around) + 4 * ("instruction" in parts)
            for budget, fits in ((limit, True), (limit - 1, False)):
                prompt = context_prompt(plain(budget), history_key="history", **parts)
                given = {"context": context, "question": "Why?", **values}
                if fits:
                    assert (await made(prompt, asynchronous, **given))[-1].text.endswith("Question: Why?")
                    continue
                with pytest.raises(BudgetError, match=r"'context' was rendered before.*Give the documents themselves"):
                    await made(prompt, asynchronous, **given)

    def test_a_placement_of_the_same_placer_fits(self):
        """A placement with a prompt that fills the budget to the last token is sent as it is."""
        for budget in range(50, 120, 3):
            placer = plain(budget, prompt=Prompt("both", "Cite passages like [1]."), layout="numbered")
            placement = placer.place(letters("ABCDEFGHI"), "Why so?")
            [message] = context_prompt(placer).invoke({"context": placement, "question": "Why so?"}).to_messages()
            assert message.text == placement.prompt

    def test_stuff_chain(self):
        """A chain that joins the documents itself does not get past the budget."""
        model = saying("So.", "So.")
        values = {"context": letters("ABCDEFGHI"), "question": "Why?"}
        with pytest.raises(BudgetError, match="was rendered before"):
            create_stuff_documents_chain(model, context_prompt(plain(60))).invoke(values)
        assert model.seen == []
        create_stuff_documents_chain(model, context_prompt(plain())).invoke(values)

    def test_inside_a_window(self):
        """A prompt without a budget of its own takes what the window around has."""
        with window(Budget(70, COUNT)) as shared:
            [message] = context_prompt(plain()).invoke({"context": letters("ABCDEF"), "question": "Why?"}).to_messages()
        assert COUNT.counter(message.text) == 70 - shared.left <= 70
        assert message.text.count("Fact-") == 2


class TestSystem:
    """`system=` takes a text or a message."""

    def test_a_message(self):
        """A system message is sent as it is, a cache mark included, and counted."""
        marked = SystemMessage([{"type": "text", "text": "Be brief. {x}", "cache_control": {"type": "ephemeral"}}])
        prompt = context_prompt(plain(60), system=marked)
        messages = prompt.invoke({"context": letters("ABC"), "question": "Why?"}).to_messages()
        assert messages[0] == marked
        assert COUNT(messages) <= 60
        assert prompt.input_variables == ["context", "question"]


class TestQuestions:
    """Questions that are messages or blocks."""

    @BOTH
    @pytest.mark.parametrize(
        "question",
        [
            [{"type": "text", "text": "What is it?"}, IMAGE],
            ["What is it?", IMAGE],
            HumanMessage([{"type": "text", "text": "What is it?"}, IMAGE]),
        ],
    )
    async def test_text_and_image(self, asynchronous, question):
        """The text stands in the prompt and reaches the scorer; the image is sent with it, and counted."""
        asked: list[str] = []

        def scorer(query: str, texts: list[str]) -> list[int]:
            asked.append(query)
            return list(range(len(texts)))

        prompt = context_prompt(plain(120, rerank=scorer))
        [message] = await made(prompt, asynchronous, context=letters("ABCDEF"), question=question)
        assert asked == ["What is it?"]
        assert message.content[1:] == [IMAGE]
        assert message.content[0]["text"].endswith("\n\nQuestion: What is it?")
        assert message.content[0]["text"].startswith(f"[1] F\n{fact('F').page_content}")
        assert 80 < COUNT([message]) <= 120

    @BOTH
    @pytest.mark.parametrize("question", [[IMAGE], HumanMessage([IMAGE]), [{"type": "text", "text": ""}, IMAGE]])
    async def test_an_image_alone(self, asynchronous, question):
        """With no text the order stays, the record says so, and no question line is made up."""
        prompt = context_prompt(plain(rerank=lambda query, texts: [0.5] * len(texts)), instruction="use_all")
        with capture() as records:
            [message] = await made(prompt, asynchronous, context=letters("AB"), question=question)
        assert "Question" not in message.content[0]["text"]
        assert message.content[0]["text"].startswith("Use every passage")
        assert message.content[1:] == [IMAGE]
        assert [chunk.index for chunk in records[0].placed] == [0, 1]
        assert "the question has no text to score by; the order before it was kept" in records[0].notes

    @pytest.mark.parametrize("question", [5, {"text": "a"}, [5], [[IMAGE]]])
    def test_anything_else(self, question):
        """What is no question is an error, and never sent as its repr."""
        with pytest.raises(TypeError, match="'question' must be a text, a message or content blocks, not"):
            context_prompt().invoke({"context": letters("A"), "question": question})

    @BOTH
    async def test_retrievers_get_the_text(self, asynchronous):
        """`EdgeOrderRetriever` hands the text on, to the base retriever and the scorer."""
        asked: list[str] = []

        def found(query: str) -> Any:
            asked.append(query)
            return letters("AB")

        placer = plain(rerank=lambda query, texts: [asked.append(query) or 0.5] * len(texts))
        retriever: BaseRetriever = EdgeOrderRetriever(base_retriever=RunnableLambda(found), placer=placer)
        question: Any = [{"type": "text", "text": "Why?"}, IMAGE]
        with pytest.warns(EdgeOrderWarning, match="the same score"):
            _ = await retriever.ainvoke(question) if asynchronous else retriever.invoke(question)
        assert set(asked) == {"Why?"}


def knowing(tokens: int, **more: Any) -> Any:
    """A model that knows its window."""
    model = saying("So.", "So.")
    model.profile = {"max_input_tokens": tokens, **more}
    return model


class TestRoom:
    """What a prompt leaves of a model's window."""

    human = "{context}\n\nQ: {question}"
    prompt = ChatPromptTemplate(
        [("system", "Be brief."), MessagesPlaceholder("history", optional=True), ("human", human)],
    )

    def test_a_chain(self):
        """In a window of `room` the whole prompt fits the model, whatever stands in it, and none of it is wasted."""
        model = knowing(200)
        join = RunnableLambda(lambda documents: "\n\n".join(d.page_content for d in documents))
        chain = (
            {"context": RunnableLambda(lambda value: letters("ABCDEFGHIJK")) | plain() | join,
             "question": lambda value: value["question"], "history": lambda value: value["history"]}
            | self.prompt | model
        )  # fmt: skip
        for history in ([], [HumanMessage("word " * 50), AIMessage("", tool_calls=[CALL])]):
            values = {"question": "Why is it so?", "history": history}
            with window(room(chain, values, counter=COUNT.counter, image_tokens=40)):
                chain.invoke(values)
            assert 175 < COUNT(model.seen[-1]) <= 200

    @pytest.mark.parametrize(
        "wrapped",
        [
            lambda bound: bound,
            lambda bound: bound.with_retry(),
            lambda bound: bound.bind(stop=["x"]).with_retry().with_config(tags=["a"]),
        ],
    )
    def test_context_prompt_and_tools(self, wrapped):
        """Bound tools and an answer's tokens are gone from it, and `context_prompt` is a prompt like others."""

        @tool
        def search(query: str) -> str:
            """Search the wells."""
            return query

        prompt, model, values = context_prompt(plain(), system="Be brief."), knowing(300), {"question": "Why?"}
        bare = room(prompt, values, model, counter=COUNT.counter)
        assert bare.tokens == 300 - COUNT(prompt.invoke({**values, "context": ""}).to_messages())
        bound = wrapped(model.bind(tools=[search]))
        for found in (
            room(prompt, values, bound, answer=20, counter=COUNT.counter),
            room(prompt | bound, values, answer=20, counter=COUNT.counter),
        ):
            assert found.tokens == bare.tokens - 20 - COUNT([], [search])
            assert found.counter is COUNT.counter
        text = PromptTemplate.from_template("{context} {question}")
        assert room(text, values, model, counter=COUNT.counter).tokens == 300 - 3 - 1 - 1

    def test_the_prompt_of_a_document_is_another(self):
        """What each document is rendered with is no prompt of the chain."""
        model, placer = knowing(300), plain(document_prompt=PromptTemplate.from_template("{page_content}"))
        found = EdgeOrderRetriever(base_retriever=RunnableLambda(lambda query: letters("AB")), placer=placer)
        chain = {"context": found | placer, "question": RunnablePassthrough()} | self.prompt | model
        assert room(chain, {"question": "Why?"}) == room(self.prompt, {"question": "Why?"}, model)

    def test_errors(self):
        """No prompt, no model, several of them, an unknown window, and no room: each is said."""
        values = {"question": "Why?"}
        with pytest.raises(TypeError, match="a chain with one prompt, and this has 0"):
            room(RunnablePassthrough() | knowing(99), values)
        with pytest.raises(TypeError, match="a chain with one model, and this has 0"):
            room(self.prompt, values)
        with pytest.raises(TypeError, match="a chain with one prompt, and this has 2"):
            room(self.prompt | RunnableLambda(lambda value: value) | TestRoom.prompt.partial(question="a"), values)
        with pytest.raises(ValueError, match="does not say how large its window is"):
            room(self.prompt | saying("a"), values)
        with pytest.raises(ValueError, match="does not say how large its window is"):
            room(self.prompt, values, FakeListLLM(responses=["a"]))
        with pytest.raises(BudgetError, match="no room for context: the model takes 20 tokens, 10 are for the answer"):
            room(self.prompt | knowing(20), values, answer=10)
