"""Citations through LangChain: the numbers in the prompt lead to the documents that were placed."""

import re

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough

from edgeorder import Budget, Layout, tiktoken_counter
from edgeorder.rendering import split_block
from langchain_edgeorder import EdgeOrder, context_prompt

count = tiktoken_counter()


def answering(text: str) -> FakeListChatModel:
    return FakeListChatModel(responses=[text])


@pytest.mark.case(46)
@pytest.mark.parametrize(
    "settings",
    [
        {"layout": "numbered", "order": "bookend", "reading": "off"},
        {"layout": "xml", "order": "reverse"},
        {"layout": "numbered", "budget": Budget(480, overflow="truncate")},
        {"layout": Layout("numbered", echo=2), "order": "bookend", "reading": "off", "budget": 800},
        {"layout": lambda passage: f"[{passage.number}]\n{passage.text}", "order": "bookend_tail"},
    ],
    ids=["bookend", "xml", "truncate", "echo", "callable"],
)
def test_numbers_of_the_prompt_are_those_of_the_documents(settings, split, query):
    """Under label n of the prompt that the model is sent stands the n-th document."""
    documents = split(0)[:20]
    edge = EdgeOrder(**settings)
    framing = [HumanMessage("")] if edge.budget else None  # what a message takes beside its text
    returned = edge.placed(documents, edge.place(documents, query, reserve=framing))
    text = context_prompt(edge, question="none").invoke({"context": documents, "question": query}).to_string()
    style = "xml" if "<documents>" in text else "numbered"
    found = dict(split_block(text.removeprefix("Human: "), style))
    assert found == dict(enumerate((document.page_content for document in returned), start=1))


@pytest.mark.parametrize(
    ("answer", "numbers"), [("It is so [2].", [2]), ("[3, 1]", [3, 1]), ("[0], [8], [99] and [4]", [4]), ("", [])]
)
async def test_an_answer_leads_to_its_documents(answer, numbers):
    """A chain that hands on the placement resolves what the model cites, sync, async and in a batch."""
    documents = [Document(f"Text {n}.", id=f"d{n}", metadata={"title": f"Rules {n}"}) for n in range(1, 8)]
    placer = EdgeOrder(layout="numbered", order="bookend")
    place = RunnableLambda(placer.place, afunc=placer.aplace)
    placed = RunnableParallel(context=place, question=lambda documents: "Why?")
    chain = placed | RunnablePassthrough.assign(answer=context_prompt(placer) | answering(answer) | StrOutputParser())
    for result in (chain.invoke(documents), await chain.ainvoke(documents), chain.batch([documents])[0]):
        block = result["context"].block
        sent = result["context"].apply(documents)
        assert [documents[index].id for index in block.cited(result["answer"])] == [sent[n - 1].id for n in numbers]


@pytest.mark.parametrize(
    ("keys", "label"),
    [
        ({}, "[1] T - s.md (2026, p. iv)"),
        ({"page_key": "page"}, "[1] T - s.md (2026, p. 3)"),
        ({"title_key": None, "date_key": None, "page_key": None}, "[1] s.md"),
        ({"source_key": lambda document: document.id}, "[1] T - d (2026, p. iv)"),
    ],
)
async def test_where_labels_are_found(keys, label):
    """What LangChain's loaders write is found, a page's label before its number; keys say otherwise."""
    document = Document(
        "One.", id="d", metadata={"title": "T", "source": "s.md", "date": 2026, "page_label": "iv", "page": 3}
    )
    prompt = context_prompt(EdgeOrder(layout="numbered", **keys))
    values = {"context": [document], "question": "Why?"}
    expected = f"Human: {label}\nOne.\n\nQuestion: Why?"
    assert prompt.invoke(values).to_string() == (await prompt.ainvoke(values)).to_string() == expected


async def test_map_then_synthesise(retriever, query):
    """Each pass fits, nothing is lost, and numbers cited in any pass lead to the right document. Sync and async."""
    documents = retriever.invoke(query)
    passes = EdgeOrder(layout="numbered").place(documents, query).passes(400)

    def quote_first(value) -> str:
        """Play a model: quote the first passage of the prompt, under its number."""
        number, words = re.match(r"Human: \[(\d+)\][^\n]*\n([^\n]{10})", value.to_string()).groups()
        return f"{words} [{number}]."

    read = context_prompt(EdgeOrder(layout="numbered")) | RunnableLambda(quote_first) | StrOutputParser()
    inputs = [{"context": one, "question": query} for one in passes]
    notes = read.batch(inputs)
    assert notes == await read.abatch(inputs)
    together = ChatPromptTemplate.from_template("{notes}") | answering(f"All in all: {' '.join(notes)}")
    answer = (together | StrOutputParser()).invoke({"notes": "\n".join(notes)})

    numbers = {number: index for one in passes for number, index in one.block.citations.items()}
    assert len(passes) > 2
    assert sorted(numbers) == list(range(1, 21))
    assert sorted(numbers.values()) == list(range(20))
    cited = [index for one in passes for index in one.block.cited(answer)]
    assert cited == [one.indices[0] for one in passes]
    for one, note in zip(passes, notes, strict=True):
        assert count(one.block.text) == one.tokens <= 400
        assert documents[one.indices[0]].page_content.startswith(note.split(" [")[0])
