"""`text_qa_template`: where the question stands, which instruction the LLM reads, and that nothing is expanded."""

import copy
from typing import Any

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.chat_engine import CondenseQuestionChatEngine
from llama_index.core.prompts import PromptTemplate
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, TextNode

from edgeorder import Prompt, capture, window
from llamaindex_edgeorder import EdgeOrderPostprocessor, room, text_qa_template

QUERY = "Which costs of my trip are refunded?"
USE_ALL = "Use every passage, those in the middle as much as the first and the last."
OWN = "Answer in one sentence."
NODES = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in ("First rule.", "Second rule.")]
BLOCK = "First rule.\n\nSecond rule."

# (question, instruction): what the LLM gets from `compact`
GOLDEN: dict[str, tuple[tuple[Any, ...], str]] = {
    "default": ((), f"{BLOCK}\n\nQuestion: Why?\nAnswer: "),
    "after": (("after",), f"{BLOCK}\n\nQuestion: Why?\nAnswer: "),
    "before": (("before",), f"Question: Why?\n\n{BLOCK}\nAnswer: "),
    "both": (("both",), f"Question: Why?\n\n{BLOCK}\n\nQuestion: Why?\nAnswer: "),
    "after, use_all": (("after", "use_all"), f"{USE_ALL}\n\n{BLOCK}\n\nQuestion: Why?\nAnswer: "),
    "before, own": (("before", OWN), f"{OWN}\n\nQuestion: Why?\n\n{BLOCK}\nAnswer: "),
    "both, list": (
        ("both", [OWN, "use_all"]),
        f"{OWN}\n{USE_ALL}\n\nQuestion: Why?\n\n{BLOCK}\n\nQuestion: Why?\nAnswer: ",
    ),
    "both, tuple": (
        ("both", ("use_all", OWN)),
        f"{USE_ALL}\n{OWN}\n\nQuestion: Why?\n\n{BLOCK}\n\nQuestion: Why?\nAnswer: ",
    ),
    "after, weak_slots": (("after", "weak_slots"), f"{BLOCK}\n\nQuestion: Why?\nAnswer: "),
    "after, weak_slots and own": (("after", ["weak_slots", OWN]), f"{OWN}\n\n{BLOCK}\n\nQuestion: Why?\nAnswer: "),
}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("name", GOLDEN)
async def test_what_the_llm_sees(name: str, asynchronous: bool, make_llm: Any) -> None:
    """Instruction, question, block, question, answer: to the letter, as a synthesizer sends it, sync and async."""
    arguments, golden = GOLDEN[name]
    llm = make_llm()
    synthesizer = get_response_synthesizer(llm=llm, text_qa_template=text_qa_template(*arguments))
    if asynchronous:
        await synthesizer.asynthesize("Why?", NODES)
    else:
        synthesizer.synthesize("Why?", NODES)
    assert llm.prompts == [golden]


# mode: (the keyword that takes the template, what the first LLM call gets as context)
MODES = {
    "compact": ("text_qa_template", BLOCK),
    "refine": ("text_qa_template", "First rule."),
    "simple_summarize": ("text_qa_template", repr(["First rule.\nSecond rule."])),
    "tree_summarize": ("summary_template", BLOCK),
    "accumulate": ("text_qa_template", "First rule."),
    "compact_accumulate": ("text_qa_template", BLOCK),
}
STREAMED = [(mode, streaming) for mode in MODES for streaming in (False, True) if not (streaming and "acc" in mode)]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("mode", "streaming"), STREAMED)
async def test_every_response_mode(mode: str, asynchronous: bool, streaming: bool, make_llm: Any) -> None:
    """Each mode sends the context as it always does, within the template: sync, async, streamed; in
    `tree_summarize` the template is the `summary_template`."""
    keyword, context = MODES[mode]
    llm = make_llm()
    template = text_qa_template("both", "use_all")
    synthesizer = get_response_synthesizer(llm=llm, response_mode=mode, streaming=streaming, **{keyword: template})
    response: Any = (
        await synthesizer.asynthesize("Why?", NODES) if asynchronous else synthesizer.synthesize("Why?", NODES)
    )
    if streaming and asynchronous:
        assert [token async for token in response.async_response_gen()] == ["fine"]
    elif streaming:
        assert list(response.response_gen) == ["fine"]
    assert llm.prompts[0] == f"{USE_ALL}\n\nQuestion: Why?\n\n{context}\n\nQuestion: Why?\nAnswer: "


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_in_a_query_engine_behind_the_postprocessor(
    asynchronous: bool, short_index: VectorStoreIndex, make_llm: Any
) -> None:
    """`index.as_query_engine` takes the template next to the postprocessor: the block in our order, question twice."""
    llm = make_llm()
    engine = short_index.as_query_engine(
        llm=llm,
        similarity_top_k=9,
        node_postprocessors=[EdgeOrderPostprocessor(order="bookend")],
        text_qa_template=text_qa_template("both", "use_all"),
    )
    response = await engine.aquery(QUERY) if asynchronous else engine.query(QUERY)
    block = "\n\n".join(node.text for node in response.source_nodes)
    retrieved = short_index.as_retriever(similarity_top_k=9).retrieve(QUERY)
    assert [node.node_id for node in response.source_nodes] == [
        retrieved[rank].node_id for rank in (0, 2, 4, 6, 8, 7, 5, 3, 1)
    ]
    assert llm.prompts == [f"{USE_ALL}\n\nQuestion: {QUERY}\n\n{block}\n\nQuestion: {QUERY}\nAnswer: "]


def test_in_a_chat_engine_over_the_query_engine(short_index: VectorStoreIndex, make_llm: Any, make_memory: Any) -> None:
    """A chat engine that asks a query engine sends the condensed question on both sides."""
    llm = make_llm(answer="Are taxis refunded?")
    engine = short_index.as_query_engine(
        llm=llm, similarity_top_k=2, node_postprocessors=[EdgeOrderPostprocessor()],
        text_qa_template=text_qa_template("both"),
    )  # fmt: skip
    chat = CondenseQuestionChatEngine.from_defaults(engine, llm=llm, memory=make_memory(["Hello!", "Hi!"]))
    chat.chat("And taxis?")
    assert len(llm.prompts) == 2
    assert llm.prompts[1].startswith("Question: Are taxis refunded?\n\n<<")
    assert llm.prompts[1].endswith("\n\nQuestion: Are taxis refunded?\nAnswer: ")


BRACES = "{context_str} {query_str} {instruction} {{x}} {0} {} { }"


@pytest.mark.case(38)
@pytest.mark.parametrize("mode", ["compact", "refine", "simple_summarize", "compact_accumulate"])
def test_braces_are_never_expanded(mode: str, make_llm: Any) -> None:
    """Placeholders and braces in instruction, node and question reach the LLM as they are written."""
    llm = make_llm()
    template = text_qa_template("both", [f"Mind {BRACES}", "use_all"])
    synthesizer = get_response_synthesizer(llm=llm, response_mode=mode, text_qa_template=template)
    synthesizer.synthesize(f"Why {BRACES}?", [NodeWithScore(node=TextNode(text=f"Code {BRACES}"))])
    context = f"Code {BRACES}" if mode != "simple_summarize" else repr([f"Code {BRACES}"])
    asked = f"Question: Why {BRACES}?"
    assert llm.prompts == [f"Mind {BRACES}\n{USE_ALL}\n\n{asked}\n\n{context}\n\n{asked}\nAnswer: "]


LONG = " ".join(["Which costs of my long trip to the coast are refunded, and which of them are not?"] * 30)


def test_room_counts_the_question_twice_and_the_instruction(make_llm: Any) -> None:
    """On both sides the question costs `room` what it is long, and so does an instruction of one's own."""
    words = len(Settings.tokenizer(LONG))
    rooms = {}
    for name, arguments in {"after": ("after",), "both": ("both",), "own": ("both", LONG)}.items():
        synthesizer = get_response_synthesizer(llm=make_llm(), text_qa_template=text_qa_template(*arguments))
        rooms[name] = room(synthesizer, LONG).tokens
    # The refine template, with the question once, is a little longer than ours with the question once.
    assert words - 120 < rooms["after"] - rooms["both"] <= words + 6
    assert words - 3 <= rooms["both"] - rooms["own"] <= words + 3


@pytest.mark.parametrize("question", [QUERY, LONG], ids=["short", "long"])
@pytest.mark.parametrize("mode", ["compact", "simple_summarize", "tree_summarize"])
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_budget_of_room_makes_one_call_within_the_window(
    asynchronous: bool, mode: str, question: str, long_index: VectorStoreIndex, make_llm: Any, markers: Any
) -> None:
    """With the question on both sides and an instruction a window of `room(...)` makes exactly one call: the kept
    nodes are whole in it, and prompt and output fit the window."""
    llm, post = make_llm(window=4000), EdgeOrderPostprocessor(order="bookend")
    template = text_qa_template("both", ["use_all", OWN])
    keyword = "summary_template" if mode == "tree_summarize" else "text_qa_template"
    engine = long_index.as_query_engine(
        llm=llm, response_mode=mode, similarity_top_k=18, node_postprocessors=[post], **{keyword: template}
    )
    with window(room(engine, question)), capture() as records:
        _ = await engine.aquery(question) if asynchronous else engine.query(question)
    (prompt,) = llm.prompts
    assert markers(prompt, pattern=r"\[\[(\d+)\]\]") == [chunk.id for chunk in records[0].placed]
    assert records[0].dropped
    assert prompt.count(f"Question: {question}") == 2
    assert len(Settings.tokenizer(prompt)) + llm.metadata.num_output <= 4000


def test_without_room_the_long_question_makes_more_calls(long_index: VectorStoreIndex, make_llm: Any) -> None:
    """The test above means something: the room of the template with one question is too much for two."""
    one_side = get_response_synthesizer(llm=make_llm(window=4000), text_qa_template=text_qa_template())
    llm = make_llm(window=4000)
    engine = long_index.as_query_engine(
        llm=llm,
        similarity_top_k=18,
        node_postprocessors=[EdgeOrderPostprocessor(budget=room(one_side, LONG))],
        text_qa_template=text_qa_template("both"),
    )
    engine.query(LONG)
    assert len(llm.prompts) == 2


def test_a_plain_prompt_template_of_llamaindex() -> None:
    """It is LlamaIndex's own `PromptTemplate` of its usual two variables, and edgeorder's prompt around the block."""
    template = text_qa_template("both", "use_all")
    assert isinstance(template, PromptTemplate)
    assert set(template.template_vars) - {"instruction"} == {"context_str", "query_str"}
    assert template.format(context_str="C", query_str="Q") == Prompt("both", "use_all").around("C", "Q", ()) + (
        "\nAnswer: "
    )
    messages = template.format_messages(context_str="C", query_str="Q")
    assert [message.content for message in messages] == [template.format(context_str="C", query_str="Q")]


@pytest.mark.parametrize("way", ["deepcopy", "copy", "model_copy", "partial_format"])
def test_copies_say_the_same(way: str) -> None:
    """A copy, and a template that is filled in half, gives the same text; the original stays as it was."""
    template = text_qa_template("both", ["use_all", OWN])
    before = template.format(context_str="C", query_str="Q")
    copied = {
        "deepcopy": lambda: copy.deepcopy(template),
        "copy": lambda: copy.copy(template),
        "model_copy": lambda: template.model_copy(),
        "partial_format": lambda: template.partial_format(query_str="Q"),
    }[way]()
    assert copied is not template
    given = {"context_str": "C"} if way == "partial_format" else {"context_str": "C", "query_str": "Q"}
    assert copied.format(**given) == before
    assert template.format(context_str="C", query_str="Other") == before.replace("Question: Q", "Question: Other")


def test_get_and_update_prompts(short_index: VectorStoreIndex, make_llm: Any) -> None:
    """`get_prompts` gives the template of an engine, `update_prompts` puts another into it, for the next call."""
    llm = make_llm()
    first, second = text_qa_template("before"), text_qa_template("both", "use_all")
    engine = short_index.as_query_engine(llm=llm, similarity_top_k=2, text_qa_template=first)
    name = "response_synthesizer:text_qa_template"
    assert engine.get_prompts()[name] == first
    engine.query(QUERY)
    engine.update_prompts({name: second})
    assert engine.get_prompts()[name] == second
    engine.query(QUERY)
    assert [prompt.count(f"Question: {QUERY}") for prompt in llm.prompts] == [1, 2]
    assert [prompt.startswith(USE_ALL) for prompt in llm.prompts] == [False, True]


def test_variables_can_be_renamed(make_llm: Any) -> None:
    """`template_var_mappings`, as LlamaIndex has it, works for a template that names its variables otherwise."""
    template = text_qa_template("both", "use_all")
    assert template.format(context_str="C", query_str="Q", existing_answer="never shown").count("never shown") == 0
    template.template_var_mappings = {"my_query": "query_str"}
    assert template.format(context_str="C", my_query="Q") == f"{USE_ALL}\n\nQuestion: Q\n\nC\n\nQuestion: Q\nAnswer: "


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("none",), ValueError, r"question='none' would never send the question"),
        (("befor",), ValueError, r"Prompt\.question='befor' is not one of: before, after, both"),
        (("after", "useall"), ValueError, r"Prompt\.instruction='useall' is not one of: use_all, weak_slots"),
        (("after", ["use_all", "weakslots"]), ValueError, r"'weakslots' is not one of: use_all, weak_slots"),
        (("after", [OWN, 5]), TypeError, r"Prompt\.instruction must be a str or a list of them, not 5"),
    ],
)
def test_a_bad_argument_is_refused(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    """A misspelt place or instruction, or a question that would never be sent, raises at once and says why."""
    with pytest.raises(error, match=message):
        text_qa_template(*arguments)
