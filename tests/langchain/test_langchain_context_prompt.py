"""`context_prompt`, the reserve of a single request, and the faces that return documents and so refuse labels."""

import asyncio
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from edgeorder import (
    Budget,
    BudgetError,
    EdgeOrderWarning,
    Layout,
    Prompt,
    capture,
    message_counter,
    tiktoken_counter,
)
from langchain_edgeorder import ContextPrompt, EdgeOrder, EdgeOrderRetriever, context_prompt

count = tiktoken_counter()
messages_tokens = message_counter()
USE_ALL = "Use every passage, those in the middle as much as the first and the last."
BRACES = ["{x}", "{{x}}", "{context} {question}", "{", "a } b", '{"a": {"b": 1}}', "{0} {}", "%s $x {{{{"]


def words(text: str) -> int:
    return len(text.split())


def model() -> FakeListChatModel:
    return FakeListChatModel(responses=["ninety days"])


def texts(value) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in value.to_messages()]


@pytest.fixture(scope="module")
def six() -> list[Document]:
    return [Document(f"Text {n}.", metadata={"title": f"T{n}"}) for n in range(1, 7)]


class TestWhatStandsWhere:
    """The messages that it makes, word for word."""

    @pytest.mark.parametrize(
        ("question", "expected"),
        [
            (None, "[1] T1\nText 1.\n\n[2] T2\nText 2.\n\nQuestion: Why?"),
            ("after", "[1] T1\nText 1.\n\n[2] T2\nText 2.\n\nQuestion: Why?"),
            ("before", "Question: Why?\n\n[1] T1\nText 1.\n\n[2] T2\nText 2."),
            ("both", "Question: Why?\n\n[1] T1\nText 1.\n\n[2] T2\nText 2.\n\nQuestion: Why?"),
            ("none", "[1] T1\nText 1.\n\n[2] T2\nText 2."),
        ],
    )
    def test_question(self, question, expected, six):
        """The question stands where it was asked for, after the block without a word about it."""
        value = context_prompt(question=question).invoke({"context": six[:2], "question": "Why?"})
        assert texts(value) == [("human", expected)]

    @pytest.mark.parametrize(
        ("instruction", "line"),
        [
            ("use_all", f"{USE_ALL}\n\n"),
            (
                "weak_slots",
                "Passages 3 to 4 stand where text is easily overlooked: read them as carefully as the others.\n\n",
            ),
            ("Cite like [1].", "Cite like [1].\n\n"),
            (["Cite like [1].", "use_all"], f"Cite like [1].\n{USE_ALL}\n\n"),
            (None, ""),
        ],
    )
    def test_instruction(self, instruction, line, six):
        """An instruction stands first; `weak_slots` names the numbers of the middle third."""
        [(_, text)] = texts(context_prompt(instruction=instruction).invoke({"context": six, "question": "Why?"}))
        assert text.startswith(f"{line}[1] T1\n")
        assert text.endswith("\n\nQuestion: Why?")

    def test_system_and_history_come_first(self, six):
        """System text, then the history, then the message with the block."""
        prompt = context_prompt(system="Be brief.", history_key="history")
        value = prompt.invoke(
            {"context": six[:1], "question": "Why?", "history": [("human", "Hi"), AIMessage("Hello"), ("system", "S")]}
        )
        assert texts(value) == [
            ("system", "Be brief."),
            ("human", "Hi"),
            ("ai", "Hello"),
            ("system", "S"),
            ("human", "[1] T1\nText 1.\n\nQuestion: Why?"),
        ]

    def test_no_history_yet(self, six):
        """A history that is missing or empty is no error: the first turn has none."""
        prompt = context_prompt(history_key="history")
        values = {"context": six[:1], "question": "Why?"}
        assert prompt.invoke(values) == prompt.invoke({**values, "history": []})
        assert len(prompt.invoke(values).to_messages()) == 1

    def test_the_prompt_of_the_placer(self, six):
        """Question place and instruction are the placer's where the call does not name them."""
        placer = EdgeOrder(layout="xml", prompt=Prompt("before", "Cite like [1]."))
        values = {"context": six[:1], "question": "Why?"}
        [(_, own)] = texts(context_prompt(placer).invoke(values))
        assert own == placer.place(six[:1], "Why?").prompt
        assert own.startswith("Cite like [1].\n\nQuestion: Why?\n\n<documents>\n")
        [(_, moved)] = texts(context_prompt(placer, question="after").invoke(values))
        assert moved.startswith("Cite like [1].\n\n<documents>\n")
        [(_, silent)] = texts(context_prompt(placer, instruction=[]).invoke(values))
        assert silent.startswith("Question: Why?\n\n<documents>\n")

    def test_no_documents(self):
        """Without documents the question is asked alone, and no scorer is called."""
        placer = EdgeOrder(layout="numbered", budget=100, rerank=lambda query, texts: 1 / 0)
        value = context_prompt(placer).invoke({"context": [], "question": "Why?"})
        assert texts(value) == [("human", "Question: Why?")]

    def test_order_is_that_of_the_placement(self, retriever, query):
        """What is sent is the prompt of a placement of the same settings, with its order and its cut."""
        prompt = Prompt("both", ["use_all", "weak_slots"])
        placer = EdgeOrder(layout="numbered", order="bookend", reading="off", budget=700, prompt=prompt)
        documents = retriever.invoke(query)
        placement = placer.place(documents, query)
        assert placement.ranks[:2] == (1, 3)
        assert placement.dropped
        [(_, text)] = texts(context_prompt(placer).invoke({"context": documents, "question": query}))
        assert text == placement.prompt
        assert count(text) == placement.prompt_tokens <= 700

    def test_scorer_gets_the_question(self, six):
        """A scorer ranks by the question of the call."""
        asked = []

        def scorer(query, passages):
            asked.append(query)
            return list(range(len(passages)))

        placer = EdgeOrder(layout="numbered", rerank=scorer, order="relevance")
        [(_, text)] = texts(context_prompt(placer).invoke({"context": six, "question": "Why?"}))
        assert asked == ["Why?"]
        assert text.startswith("[1] T6\nText 6.\n\n[2] T5\n")


class TestBraces:
    """LangChain's templates expand braces; nothing that is given here is a template."""

    @pytest.mark.parametrize("text", BRACES)
    def test_values(self, text):
        """Braces in documents, metadata, question and history are sent as they are."""
        value = context_prompt(history_key="history").invoke(
            {
                "context": [Document(text, metadata={"title": text})],
                "question": text,
                "history": [("human", text), AIMessage(text)],
            }
        )
        assert texts(value) == [("human", text), ("ai", text), ("human", f"[1] {text}\n{text}\n\nQuestion: {text}")]

    @pytest.mark.parametrize("text", BRACES)
    def test_system_and_instruction(self, text, six):
        """Braces in the system text and in an instruction of one's own are sent as they are."""
        prompt = context_prompt(system=f"As JSON {text}", instruction=f"Answer like {text}")
        values = {"context": six[:1], "question": "Why?"}
        assert prompt.input_variables == ["context", "question"]
        assert texts(prompt.invoke(values)) == [
            ("system", f"As JSON {text}"),
            ("human", f"Answer like {text}\n\n[1] T1\nText 1.\n\nQuestion: Why?"),
        ]

    @pytest.mark.parametrize("text", BRACES)
    def test_rendered_block_and_stuff_chain(self, text, events):
        """Braces in a block that another step rendered are sent as they are, in the stuff chain too."""
        prompt = context_prompt(EdgeOrder(), question_key="input")
        assert texts(prompt.invoke({"context": text, "input": "Why?"})) == [("human", f"{text}\n\nQuestion: Why?")]
        chain = create_stuff_documents_chain(model(), prompt)
        chain.invoke({"context": [Document(text)], "input": text}, config={"callbacks": [events]})
        assert events.prompts == [f"{text}\n\nQuestion: {text}"]


class TestBudget:
    """Block, question (once or twice), instruction, system text, history and reserve share one window."""

    @settings(max_examples=120, deadline=None)
    @given(
        tokens=st.integers(20, 900),
        style=st.sampled_from(["plain", "numbered", "xml", Layout("numbered", echo=1), Layout("xml", echo=2)]),
        question=st.sampled_from(["before", "after", "both", "none"]),
        instruction=st.sampled_from([None, "use_all", "Cite passages like [1]."]),
        system=st.sampled_from([None, "Be brief and answer from the passages only."]),
        n_history=st.integers(0, 6),
        reserve=st.sampled_from([0, 40, ["An answer of some ten words or a few more.", 25]]),
        overflow=st.sampled_from(["skip", "stop", "truncate", "compress"]),
    )
    @example(
        tokens=20,
        style="plain",
        question="none",
        instruction=None,
        system=None,
        n_history=1,
        reserve=0,
        overflow="compress",  # the best chunk alone is far too long
    )
    def test_holds_on_everything(
        self, tokens, style, question, instruction, system, n_history, reserve, overflow, split, query
    ):
        """Recounted by hand, all messages and the reserve fit the window; an error only where nothing is left of it."""
        documents = split(0)[:16]
        budget = Budget(tokens, reserve=reserve, overflow=overflow)
        prompt = context_prompt(
            EdgeOrder(layout=style, budget=budget),
            question=question,
            instruction=instruction,
            system=system,
            history_key="history",
        )
        history = [HumanMessage(f"And what about number {n}, by the way?") for n in range(n_history)]
        asked = f"Question: {query}"
        around = [{None: "", "use_all": USE_ALL}.get(instruction, instruction)]
        around += [asked] * {"before": 1, "after": 1, "both": 2, "none": 0}[question]
        reserved = messages_tokens([*([SystemMessage(system)] if system else []), *history, HumanMessage("")])
        reserved += (kept := reserve if isinstance(reserve, int) else count(reserve[0]) + reserve[1])
        nothing_left = reserved + count("\n\n".join(part for part in around if part)) >= tokens
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)  # all chunks were dropped
            values = {"context": documents, "question": query, "history": history}
            if nothing_left:
                with pytest.raises(BudgetError):
                    prompt.invoke(values)
                return
            messages = prompt.invoke(values).to_messages()
        own = [message for message in messages if message not in history]
        assert [message.type for message in own] == ["system", "human"][not system :]
        assert messages_tokens(messages) + kept <= tokens
        assert own[-1].text.count(asked) == {"before": 1, "after": 1, "both": 2, "none": 0}[question]

    def test_is_used(self, split, query):
        """No room is given away: with `stop`, the next document by rank would not have fitted."""
        documents = split(0)[:16]
        placer = EdgeOrder(layout="numbered", budget=Budget(600, overflow="stop", reserve=50), reading="off")
        prompt = context_prompt(placer, system="Be brief.", question="both", history_key="history")
        with capture() as records:
            value = prompt.invoke({"context": documents, "question": query, "history": [("human", "Hello there.")]})
        needed = messages_tokens(value.to_messages()) + 50
        following = records[0].dropped[0]
        assert needed <= 600 < needed + following.tokens + count("\n\n")

    def test_each_part_takes_room(self, split, query):
        """System text, history, a second question, an instruction and a reserve each make the block shorter."""
        long = "You answer in the voice of a patient laboratory assistant who never guesses. " * 12

        def kept(reserve=0, history=(), **parts) -> int:
            placer = EdgeOrder(layout="numbered", budget=Budget(1200, overflow="stop", reserve=reserve))
            with capture() as records:
                context_prompt(placer, history_key="history", **parts).invoke(
                    {"context": split(0)[:20], "question": parts.get("asked", query), "history": list(history)}
                )
            return len(records[0].placed)

        alone = kept()
        assert kept(system=long) < alone
        assert kept(instruction=long) < alone
        assert kept(history=[("human", long)]) < alone
        assert kept(history=[("ai", [{"type": "text", "text": long}])]) < alone
        assert kept(reserve=long) < alone
        assert kept(reserve=400) < alone

    def test_a_question_on_both_sides_takes_room_twice(self, split):
        """A long question is counted as often as it is shown."""
        question = "How long do we keep a sample from a well that failed a limit? " * 12

        def kept(place) -> int:
            placer = EdgeOrder(layout="numbered", budget=Budget(1200, overflow="stop"))
            with capture() as records:
                context_prompt(placer, question=place).invoke({"context": split(0)[:20], "question": question})
            return len(records[0].placed)

        assert kept("both") < kept("after") == kept("before") < kept("none")

    @pytest.mark.parametrize(
        ("parts", "values"),
        [
            ({"system": "word " * 60}, {}),
            ({}, {"history": [("human", "word " * 60)]}),
            ({}, {"question": "word " * 60}),
            ({"question": "both"}, {"question": "word " * 30}),
            ({"instruction": "word " * 60}, {}),
        ],
    )
    async def test_nothing_left(self, parts, values, six):
        """Whatever leaves nothing for the documents is an error that says so, sync and async."""
        prompt = context_prompt(EdgeOrder(layout="numbered", budget=50), history_key="history", **parts)
        values = {"context": six, "question": "Why?", **values}
        with pytest.raises(BudgetError, match=r"leaves nothing|nothing remains"):
            prompt.invoke(values)
        with pytest.raises(BudgetError, match=r"leaves nothing|nothing remains"):
            await prompt.ainvoke(values)


async def _astream(prompt, values):
    [value] = [value async for value in prompt.astream(values)]
    return value


FACES = {
    "invoke": lambda prompt, values: prompt.invoke(values),
    "format_prompt": lambda prompt, values: prompt.format_prompt(**values),
    "batch": lambda prompt, values: prompt.batch([values, values])[1],
    "stream": lambda prompt, values: next(prompt.stream(values)),
    "nested": lambda prompt, values: ChatPromptTemplate([prompt]).invoke(values),
    "pickled": lambda prompt, values: pickle.loads(pickle.dumps(prompt)).invoke(values),
    "partial": lambda prompt, values: prompt.partial(question=values["question"]).invoke(
        {name: value for name, value in values.items() if name != "question"}
    ),
    "partial, all": lambda prompt, values: prompt.partial(**values).invoke({}),
    "partial, callable": lambda prompt, values: prompt.partial(question=lambda: values["question"]).invoke(
        {"context": values["context"], "history": values["history"]}
    ),
}
ASYNC_FACES = {
    "ainvoke": lambda prompt, values: prompt.ainvoke(values),
    "aformat_prompt": lambda prompt, values: prompt.aformat_prompt(**values),
    "abatch": lambda prompt, values: prompt.abatch([values]),
    "astream": _astream,
    "nested": lambda prompt, values: ChatPromptTemplate([prompt]).ainvoke(values),
    "partial": lambda prompt, values: prompt.partial(**values).ainvoke({}),
}


class TestAsARunnable:
    """It is a `ChatPromptTemplate`, in whatever way it is called."""

    @pytest.fixture
    def prompt(self):
        placer = EdgeOrder(layout="numbered", budget=700)
        return context_prompt(placer, question="both", instruction="weak_slots", system="S", history_key="history")

    @pytest.fixture
    def values(self, retriever, query):
        return {"context": retriever.invoke(query), "question": query, "history": [("human", "Hello {x}.")]}

    @pytest.fixture
    def expected(self, prompt, values):
        placement = prompt.placer.place(values["context"], values["question"], reserve=["S", "Hello {x}."])
        assert placement.dropped
        return [("system", "S"), ("human", "Hello {x}."), ("human", placement.prompt)]

    @pytest.mark.parametrize("face", [pytest.param(face, id=name) for name, face in FACES.items()])
    def test_sync(self, face, prompt, values, expected):
        """Every sync face gives the same messages."""
        assert texts(face(prompt, values)) == expected

    @pytest.mark.parametrize("face", [pytest.param(face, id=name) for name, face in ASYNC_FACES.items()])
    async def test_async(self, face, prompt, values, expected):
        """Every async face gives the messages of the sync ones."""
        found = await face(prompt, values)
        assert texts(found[0] if isinstance(found, list) else found) == expected

    def test_is_a_chat_prompt_template(self, prompt, values):
        """It says its variables, and LangChain names those that are missing."""
        assert isinstance(prompt, ChatPromptTemplate)
        assert isinstance(prompt, ContextPrompt)
        assert set(prompt.input_variables) == {"context", "question"}
        assert prompt.optional_variables == ["history"]
        assert {"context", "question", "history"} <= set(prompt.input_schema.model_json_schema()["properties"])
        del values["question"]
        with pytest.raises(KeyError, match=r"missing variables.*question"):
            prompt.invoke(values)

    def test_other_names(self, six):
        """Context, question and history may have other names."""
        prompt = context_prompt(context_key="documents", question_key="input", history_key="chat_history")
        value = prompt.invoke({"documents": six[:1], "input": "Why?", "chat_history": [("ai", "Hello")]})
        assert texts(value) == [("ai", "Hello"), ("human", "[1] T1\nText 1.\n\nQuestion: Why?")]

    def test_in_a_template_with_other_messages(self, six):
        """Other messages stand around it when it is one of the messages of a template."""
        around = ChatPromptTemplate([("system", "Speak {language}."), context_prompt(), ("ai", "Well,")])
        assert texts(around.invoke({"language": "Dutch", "context": six[:1], "question": "Why?"})) == [
            ("system", "Speak Dutch."),
            ("human", "[1] T1\nText 1.\n\nQuestion: Why?"),
            ("ai", "Well,"),
        ]

    @pytest.mark.parametrize(
        ("extended", "before", "after"),
        [
            (lambda prompt: prompt + ChatPromptTemplate([("ai", "Well,")]), [], [("ai", "Well,")]),
            (lambda prompt: prompt + "More {x}.", [], [("human", "More y.")]),
            (lambda prompt: prompt + AIMessage("{x}"), [], [("ai", "{x}")]),
            (lambda prompt: ChatPromptTemplate([("system", "A {x}")]) + prompt, [("system", "A y")], []),
        ],
    )
    async def test_plus(self, extended, before, after, six):
        """`+` puts other messages around it, as with any chat prompt: documents are placed, sync and async."""
        prompt = extended(context_prompt(system="S"))
        own = [("system", "S"), ("human", "[1] T1\nText 1.\n\nQuestion: Why?")]
        values = {"context": six[:1], "question": "Why?", "x": "y"}
        assert texts(prompt.invoke(values)) == [*before, *own, *after]
        assert texts(await prompt.ainvoke(values)) == [*before, *own, *after]

    @pytest.mark.parametrize(
        "change",
        [
            lambda prompt: prompt.append(("human", "more")),
            lambda prompt: prompt.extend([("human", "more")]),
            lambda prompt: prompt[0:1],
            lambda prompt: (SystemMessage("S") + prompt).invoke({"context": [Document("A")], "question": "Why?"}),
            lambda prompt: ChatPromptTemplate(prompt.messages).invoke({"context": [Document("A")], "question": "Why?"}),
            lambda prompt: asyncio.run((SystemMessage("S") + prompt).ainvoke({"context": [], "question": "Why?"})),
        ],
    )
    def test_no_change_is_lost_in_silence(self, change):
        """What cannot be done to it is an error that names the way out."""
        with pytest.raises(TypeError, match=r"ChatPromptTemplate\(\["):
            change(context_prompt())

    def test_shown_as_a_prompt_of_langchain(self):
        """The last message is one of a human, whatever stands for it."""
        shown = ChatPromptTemplate([("human", "{context}\n\nQuestion: {question}")])
        assert context_prompt().pretty_repr() == shown.pretty_repr()

    def test_partial_once_it_was_used(self, six):
        """Variables can be filled in before it is used and after, when LangChain keeps more on it than its fields."""
        prompt, values = context_prompt(), {"context": six[:1], "question": "Why?"}
        early, expected = prompt.partial(question="Why?"), prompt.invoke(values)
        late = prompt.partial(question="Why?")
        for filled in (early, late, late.partial()):
            assert filled.invoke({"context": six[:1]}) == expected
        with pytest.raises(ValueError, match="plaser"):
            ContextPrompt(messages=[], plaser=EdgeOrder(), placer=EdgeOrder())

    @pytest.mark.parametrize("context", [None, 5, {"a": 1}, RunnablePassthrough()])
    def test_wrong_context(self, context):
        """What is neither documents nor a placement nor a text is refused, by its name."""
        with pytest.raises(TypeError, match="'docs' must be documents, a Placement or the text of a block"):
            context_prompt(context_key="docs").invoke({"docs": context, "question": "Why?"})

    def test_wrong_documents(self, six):
        """An item that is no document is refused with its index."""
        with pytest.raises(TypeError, match=r"documents\[1\] is a str"):
            context_prompt().invoke({"context": [six[0], "text"], "question": "Why?"})

    @pytest.mark.parametrize("question", ["", None])
    def test_no_question(self, question, six):
        """A prompt that shows the question needs one."""
        with pytest.raises(ValueError, match="shows the question"):
            context_prompt().invoke({"context": six, "question": question})

    def test_question_that_is_not_shown_may_be_missing(self, six):
        """With `question="none"` the question stands elsewhere, so the variable need not be given."""
        [(_, text)] = texts(context_prompt(question="none").invoke({"context": six[:1]}))
        assert text == "[1] T1\nText 1."


class TestOtherContexts:
    """A placement or a text that is rendered already."""

    def test_placement(self, retriever, query):
        """A placement is shown as it is: its block, its numbers, whatever the prompt's own placer would do."""
        placement = EdgeOrder(layout="xml", budget=500, order="reverse").place(retriever.invoke(query), query)
        prompt = context_prompt(question="before", instruction="weak_slots")
        [(_, text)] = texts(prompt.invoke({"context": placement, "question": "Why?"}))
        third = len(placement) // 3
        assert len(placement) > 4
        assert text == (
            f"Passages {third + 1} to {len(placement) - third} stand where text is easily overlooked: read them as "
            f"carefully as the others.\n\nQuestion: Why?\n\n{placement.block.text}"
        )

    def test_pass_of_a_placement(self, retriever, query):
        """A pass is shown with its own numbers, which go on from the pass before."""
        _, second, *_ = EdgeOrder(layout="numbered").place(retriever.invoke(query)).passes(400)
        prompt = context_prompt(instruction="weak_slots")
        [(_, text)] = texts(prompt.invoke({"context": second, "question": "Why?"}))
        numbers = sorted(second.block.citations)
        assert numbers[0] > 1
        assert text.startswith(f"Passages {numbers[len(numbers) // 3]} to {numbers[-1 - len(numbers) // 3]} stand")

    async def test_text(self, six):
        """A rendered block is shown as it is, and its numbers are read from it, sync and async."""
        text = EdgeOrder(layout="numbered").place(six).block.text
        prompt = context_prompt(instruction="weak_slots")
        for value in (
            prompt.invoke({"context": text, "question": "Why?"}),
            await prompt.ainvoke({"context": text, "question": "Why?"}),
        ):
            assert texts(value)[0][1].startswith("Passages 3 to 4 stand")
            assert texts(value)[0][1].endswith(f"\n\n{text}\n\nQuestion: Why?")

    def test_text_without_numbers(self):
        """`weak_slots` needs numbers, and says so where a text has none."""
        with pytest.raises(ValueError, match=r"weak_slots.*'docs' is a text without them.*documents themselves"):
            context_prompt(instruction="weak_slots", context_key="docs").invoke({"docs": "a text", "question": "Why?"})


async def _once_async(chain, values, config):
    return await chain.ainvoke(values, config=config)


async def _astreamed(chain, values, config):
    return "".join([part async for part in chain.astream(values, config=config)])


WAYS = {
    "invoke": lambda chain, values, config: chain.invoke(values, config=config),
    "batch": lambda chain, values, config: chain.batch([values], config=config)[0],
    "stream": lambda chain, values, config: "".join(chain.stream(values, config=config)),
    "ainvoke": _once_async,
    "astream": _astreamed,
}


class TestInChains:
    """What the model is sent, in the chains that people build."""

    @pytest.mark.parametrize("way", [pytest.param(way, id=name) for name, way in WAYS.items()])
    async def test_lcel(self, way, events, retriever, query):
        """The model sees the recorded order inside the budget; the record reaches callbacks and `capture`."""
        placer = EdgeOrder(layout="numbered", budget=700)
        prompt = context_prompt(placer, question="both", system="Be brief.")
        chain = {"context": retriever, "question": RunnablePassthrough()} | prompt | model() | StrOutputParser()
        with capture() as records:
            answer = way(chain, query, {"callbacks": [events]})
            answer = await answer if asyncio.iscoroutine(answer) else answer
        assert answer == "ninety days"
        system, human = events.prompts
        [record] = records
        [(name, data, run_id)] = events.custom
        assert (name, data) == ("edgeorder", record.to_dict())
        assert events.path(run_id)[0] == "ContextPrompt"
        documents = retriever.invoke(query)
        starts = [human.find(documents[chunk.index].page_content) for chunk in record.placed]
        assert -1 not in starts
        assert starts == sorted(starts)
        assert record.dropped
        assert not [chunk.index for chunk in record.dropped if documents[chunk.index].page_content in human]
        assert messages_tokens([SystemMessage(system), HumanMessage(human)]) <= 700

    async def test_stuff_chain(self, events, retriever, query):
        """The chain joins the documents; the prompt puts question and instruction around them, sync and async."""
        placer = EdgeOrder(budget=Budget(700, reserve=100))
        prompt = context_prompt(EdgeOrder(budget=700), question="both", instruction="use_all", question_key="input")
        chain = create_stuff_documents_chain(model(), prompt)
        documents = placer.transform_documents(retriever.invoke(query))
        assert chain.invoke({"input": query, "context": documents}, config={"callbacks": [events]}) == "ninety days"
        await chain.ainvoke({"input": query, "context": documents}, config={"callbacks": [events]})
        block = "\n\n".join(document.page_content for document in documents)
        sent = f"{USE_ALL}\n\nQuestion: {query}\n\n{block}\n\nQuestion: {query}"
        assert events.prompts == [sent, sent]

    async def test_retrieval_chain(self, events, retriever, query):
        """In create_retrieval_chain the question is "input", the history "chat_history"; EdgeOrderRetriever places."""
        placer = EdgeOrder(budget=Budget(500, reserve=50))
        prompt = context_prompt(EdgeOrder(budget=500), question_key="input", history_key="chat_history")
        placed = EdgeOrderRetriever(base_retriever=retriever, placer=placer)
        chain = create_retrieval_chain(placed, create_stuff_documents_chain(model(), prompt))
        values = {"input": query, "chat_history": [("human", "Hi"), ("ai", "Hello")]}
        found = chain.invoke(values, config={"callbacks": [events]})
        assert await chain.ainvoke(values, config={"callbacks": [events]}) == found
        block = placer.place(retriever.invoke(query)).block.text
        assert events.prompts == ["Hi", "Hello", f"{block}\n\nQuestion: {query}"] * 2
        assert found["answer"] == "ninety days"
        assert "\n\n".join(document.page_content for document in found["context"]) == block

    def test_placement_as_a_step(self, retriever, query):
        """With the placement as a step, the answer's citations come out of the same chain."""
        placer = EdgeOrder(layout="numbered", budget=700)
        place = RunnableLambda(lambda question: placer.place(retriever.invoke(question), question))
        answer = context_prompt(placer) | FakeListChatModel(responses=["Ninety days [2]."]) | StrOutputParser()
        chain = {"question": RunnablePassthrough(), "context": place} | RunnablePassthrough.assign(answer=answer)
        result = chain.invoke(query)
        assert result["context"].block.cited(result["answer"]) == (result["context"].indices[1],)

    def test_nothing_is_changed(self, retriever, query):
        """Documents, the list that holds them, the history and the placer that was given stay as they were."""
        placer = EdgeOrder(layout="numbered", budget=Budget(500, overflow="truncate"), annotate=True)
        before = placer.model_copy(deep=True)
        documents = retriever.invoke(query)
        copies = [document.model_copy(deep=True) for document in documents]
        same = list(documents)
        history = [("human", "Hello")]
        prompt = context_prompt(placer, question="both", instruction="use_all", history_key="history")
        prompt.invoke({"context": documents, "question": query, "history": history})
        assert documents == copies
        assert all(one is other for one, other in zip(documents, same, strict=True))
        assert history == [("human", "Hello")]
        assert placer == before
        assert placer.prompt is None

    def test_subclass_and_recorders_stay(self, six):
        """A subclass of EdgeOrder stays what it is, and its recorders get the record."""

        class Mine(EdgeOrder):
            pass

        records = []
        prompt = context_prompt(Mine(layout="numbered", recorders=[records.append]))
        prompt.invoke({"context": six, "question": "Why?"})
        assert type(prompt.placer) is Mine
        assert len(records) == 1


class TestReserveOfARequest:
    """One shared object, and room that differs by request."""

    @pytest.fixture
    def edge(self):
        return EdgeOrder(budget=Budget(60, counter=words, overflow="stop", reserve=["a b", 3]), order="relevance")

    @pytest.fixture
    def tens(self):
        return [Document(" ".join([f"{n}"] * 10)) for n in range(8)]

    @pytest.mark.parametrize(("reserve", "kept"), [(None, 5), (["one two", "three", 3], 4), (45, 1)])
    async def test_faces(self, reserve, kept, edge, tens):
        """The reserve of a request comes on top of the budget's own, the same on every face."""
        expected = tens[:kept]
        retriever = EdgeOrderRetriever(base_retriever=RunnableLambda(lambda query: tens), placer=edge)
        assert edge.transform_documents(tens, reserve=reserve) == expected
        assert await edge.atransform_documents(tens, reserve=reserve) == expected
        assert edge.invoke(tens, reserve=reserve) == expected
        assert await edge.ainvoke(tens, reserve=reserve) == expected
        assert edge.batch([tens, tens], reserve=reserve) == [expected, expected]
        assert await edge.abatch([tens], reserve=reserve) == [expected]
        assert list(edge.stream(tens, reserve=reserve)) == [expected]
        assert edge.bind(reserve=reserve).invoke(tens) == expected
        assert retriever.invoke("?", reserve=reserve) == expected
        assert await retriever.ainvoke("?", reserve=reserve) == expected
        assert edge.budget.reserve == ("a b", 3)

    def test_threads(self, edge, tens):
        """Requests in many threads each get their own room."""
        sizes = [n % 46 for n in range(400)]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda size: len(edge.transform_documents(tens, reserve=size)), sizes))
        assert found == [(55 - size) // 10 for size in sizes]

    @pytest.mark.parametrize("reserve", [[object()], object()])
    def test_what_is_no_message_is_refused(self, reserve, edge, tens):
        """What is neither tokens nor a text nor a message is refused by its name."""
        with pytest.raises(TypeError, match="reserve"):
            edge.place(tens, reserve=reserve)


RETURNING = {
    "transform_documents": lambda edge, base: edge.transform_documents(base.invoke("?"), query="?"),
    "batch": lambda edge, base: edge.batch([base.invoke("?")], query="?"),
    "stream": lambda edge, base: list(edge.stream(base.invoke("?"), query="?")),
    "pipe": lambda edge, base: (base | edge.bind(query="?")).invoke("?"),
    "EdgeOrderRetriever": lambda edge, base: EdgeOrderRetriever(base_retriever=base, placer=edge).invoke("?"),
    "ContextualCompressionRetriever": lambda edge, base: ContextualCompressionRetriever(
        base_compressor=edge, base_retriever=base
    ).invoke("?"),
    "DocumentCompressorPipeline": lambda edge, base: DocumentCompressorPipeline(transformers=[edge]).compress_documents(
        base.invoke("?"), "?"
    ),
}


@pytest.mark.parametrize("settings", [{"layout": "numbered"}, {"layout": Layout(echo=1)}, {"prompt": "after"}], ids=str)
@pytest.mark.parametrize("face", RETURNING.values(), ids=RETURNING)
def test_what_cannot_be_returned_is_refused(face, settings, six):
    """A face that returns documents names the setting and what takes it: `place(...).block` and `context_prompt`."""
    edge = EdgeOrder(**settings)
    with pytest.raises(ValueError, match=r"(?s)(layout|prompt)=.*place\(documents, query\)\.block.*context_prompt\("):
        face(edge, RunnableLambda(lambda query: six))
    assert "Text 6." in edge.place(six, "Why?").block.text
    assert "Text 6." in context_prompt(edge).invoke({"context": six, "question": "Why?"}).to_string()


def test_system_message_is_one(six):
    """The system text is a system message of LangChain, so every provider gets it where it belongs."""
    messages = context_prompt(system="Be brief.").invoke({"context": six, "question": "Why?"}).to_messages()
    assert messages[0] == SystemMessage("Be brief.")
