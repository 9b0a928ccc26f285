"""`document_prompt`: what the chain puts around each document is counted, so the budget holds on what is sent."""

import pytest
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate, format_document
from langchain_core.tools import create_retriever_tool

from edgeorder import Auto, Budget, Layout, tiktoken_counter
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever

PROMPT = PromptTemplate.from_template("## {source} at {start_index}\n{page_content}\n(end of {source})")
SEPARATOR = "\n\n* * *\n\n"


def words(text: str) -> int:
    return len(text.split())


def documents(*bodies: str) -> list[Document]:
    return [Document(body, metadata={"source": f"s{n}", "start_index": 0}) for n, body in enumerate(bodies)]


@pytest.mark.case(29)
@pytest.mark.parametrize(
    ("template", "kept"),
    [
        (None, 4),
        ("{page_content}", 4),
        ("From {source}: {page_content}", 2),  # two words before each
        ("{page_content} (from {source})", 2),
        ("One {page_content} two", 2),
        ("One two three {page_content} four five six seven", 1),
        ("One two three four five {page_content} six seven eight nine ten", 0),
    ],
)
def test_head_and_tail_are_counted(template, kept):
    """A budget of twelve words keeps fewer documents of three words the more the prompt adds to each."""
    prompt = PromptTemplate.from_template(template) if template else None
    edge = EdgeOrder(budget=Budget(12, counter=words), document_prompt=prompt, order="relevance")
    four = documents("a b c", "d e f", "g h i", "j k l", "m n o")
    if kept:
        assert edge.transform_documents(four) == four[:kept]
    else:
        with pytest.warns(UserWarning, match="all 5 chunks were dropped"):
            assert edge.transform_documents(four) == []


class TestTheTextThatIsSent:
    """The returned documents, formatted and joined as the chain does it, are the very block that was counted."""

    @pytest.fixture(params=["skip", "stop", "truncate"])
    def edge(self, request):
        budget = Budget(700, overflow=request.param, reserve=["Answer from the context.", 40])
        return EdgeOrder(budget=budget, document_prompt=PROMPT, layout=Layout(separator=SEPARATOR))

    def check(self, edge, placement):
        assert placement.block.tokens == placement.tokens == tiktoken_counter()(placement.block.text)
        room = placement.record.room
        assert room == 700 - 40 - tiktoken_counter()("Answer from the context.")
        assert room * 0.8 < placement.tokens <= room
        assert placement.dropped
        assert bool(placement.texts) == (edge.budget.overflow == "truncate")

    def test_format_document(self, edge, retriever, query):
        """`format_document` over the returned documents gives the block, and the block fits."""
        retrieved = retriever.invoke(query)
        placement = edge.place(retrieved)
        self.check(edge, placement)
        found = edge.transform_documents(retrieved)
        assert SEPARATOR.join(format_document(document, PROMPT) for document in found) == placement.block.text

    def test_stuff_chain(self, edge, events, retriever, query):
        """create_stuff_documents_chain with the same prompt and separator sends that block."""
        placement = edge.place(retriever.invoke(query))
        self.check(edge, placement)
        chain = create_stuff_documents_chain(
            FakeListChatModel(responses=["ninety days"]),
            ChatPromptTemplate.from_template("{context}"),
            document_prompt=PROMPT,
            document_separator=SEPARATOR,
        )
        chain.invoke({"context": (retriever | edge).invoke(query)}, config={"callbacks": [events]})
        assert events.prompts == [placement.block.text]

    def test_retriever_tool(self, edge, retriever, query):
        """create_retriever_tool with the same prompt and separator returns that block."""
        placement = edge.place(retriever.invoke(query))
        self.check(edge, placement)
        tool = create_retriever_tool(
            EdgeOrderRetriever(base_retriever=retriever, placer=edge),
            "search",
            "Searches.",
            document_prompt=PROMPT,
            document_separator=SEPARATOR,
        )
        assert tool.invoke(query) == placement.block.text


def test_returned_documents_are_not_rendered(letters):
    """The prompt is counted and not written into the documents: the chain renders them."""
    edge = EdgeOrder(document_prompt=PromptTemplate.from_template("[{page_content}]"), budget=100)
    originals = letters("ABC")
    found = edge.transform_documents(originals)
    assert all(document is original for document, original in zip(found, originals, strict=True))
    assert edge.place(originals).block.text == "[A]\n\n[B]\n\n[C]"


def test_scorer_sees_the_body(letters):
    """The scorer gets the page content without the prompt around it."""
    seen = []

    def scorer(query, texts):
        seen.extend(texts)
        return list(range(len(texts)))

    prompt = PromptTemplate.from_template("[{page_content}]")
    EdgeOrder(document_prompt=prompt, rerank=scorer, budget=100).compress_documents(letters("AB"), "?")
    assert seen == ["A", "B"]


def test_auto_counts_the_prompt():
    """What the prompt adds can make a short block a long one."""
    five = documents(*"ABCDE")
    auto = Auto(short_bytes=60)
    assert EdgeOrder(order=auto).place(five).order == "relevance"
    assert EdgeOrder(order=auto, document_prompt=PROMPT).place(five).order == "bookend"


@pytest.mark.parametrize(
    "body", ["{source}", "{page_content}", "{0} {} {{x}}", "## s0 at 0", "", "\ud800", '{"a": 1}', "a\x00b", "%s $x"]
)
def test_any_body(body):
    """A body with braces, nothing in it, or text of the prompt itself is rendered verbatim and never expanded."""
    edge = EdgeOrder(document_prompt=PROMPT, budget=Budget(1000, counter=len))
    block = edge.place(documents(body)).block
    assert block.text == f"## s0 at 0\n{body}\n(end of s0)"
    assert block.tokens == len(block.text)


@pytest.mark.parametrize("value", ["{page_content}", "{x}", "a}{b", ""])
def test_any_metadata(value):
    """Metadata with braces in it is rendered verbatim and never expanded."""
    prompt = PromptTemplate.from_template("{source}: {page_content}")
    edge = EdgeOrder(document_prompt=prompt, budget=Budget(1000, counter=len))
    assert edge.place([Document("body", metadata={"source": value})]).block.text == f"{value}: body"


@pytest.mark.parametrize(
    ("template", "template_format"),
    [
        ("({source}) {page_content}", "f-string"),
        ("({{ source }}) {{ page_content }}", "jinja2"),
        ("({{{source}}}) {{{page_content}}}", "mustache"),
    ],
)
def test_template_formats(template, template_format):
    """All of LangChain's template formats are counted alike."""
    prompt = PromptTemplate.from_template(template, template_format=template_format)
    edge = EdgeOrder(document_prompt=prompt, budget=Budget(100, counter=len))
    assert edge.place(documents("a < b")).block.text == "(s0) a < b"


def test_partial_variables():
    """A prompt with a variable filled in beforehand works."""
    prompt = PromptTemplate.from_template("{label}: {page_content}").partial(label="Passage")
    edge = EdgeOrder(document_prompt=prompt, budget=Budget(100, counter=len))
    assert edge.place(documents("text")).block.text == "Passage: text"


class TestRefused:
    """A prompt that does not show the body as it is would make the count a lie."""

    @pytest.mark.parametrize(
        "template",
        [
            "{source}",
            "no variable at all",
            "{page_content} and again {page_content}",
            "{page_content!r}",
            "{page_content:.5}",
            "{page_content:>40}",
        ],
    )
    def test_body_missing_or_altered(self, template):
        """A prompt without {page_content}, with it twice, or with it altered raises an error that names it."""
        with pytest.raises(ValueError, match=r"document_prompt .*\{page_content\}"):
            EdgeOrder(budget=100, document_prompt=PromptTemplate.from_template(template)).transform_documents(
                documents("a body of some length")
            )

    def test_mustache_that_escapes(self):
        """A mustache prompt that escapes the body is refused at the document whose body it alters."""
        prompt = PromptTemplate.from_template("{{page_content}}", template_format="mustache")
        edge = EdgeOrder(budget=100, document_prompt=prompt)
        assert edge.place(documents("plain")).block.text == "plain"
        with pytest.raises(ValueError, match=r"\{page_content\}.* documents\[1\]"):
            edge.place(documents("plain", "a < b"))

    def test_metadata_missing(self):
        """A document without a variable of the prompt raises LangChain's own error, naming the variable."""
        with pytest.raises(ValueError, match="start_index"):
            EdgeOrder(budget=100, document_prompt=PROMPT).place([Document("text", metadata={"source": "s"})])

    def test_no_prompt(self):
        """What is no prompt template is refused at construction, naming the field."""
        with pytest.raises(ValueError, match="document_prompt"):
            EdgeOrder(document_prompt="{page_content}")
