"""The prompt: the question and the instruction around the block, word for word."""

from typing import Any

import pytest
from counters import words
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Budget, BudgetError, Chunk, Prompt, aplace, place
from edgeorder.prompting import as_prompt

USE_ALL = "Use every passage, those in the middle as much as the first and the last."
BLOCK = "[1] a.md\nTen days."
ASKED = "Question: How long?"


@pytest.mark.parametrize(
    ("prompt", "golden"),
    [
        (Prompt(), f"{BLOCK}\n\n{ASKED}"),
        (Prompt("after"), f"{BLOCK}\n\n{ASKED}"),
        (Prompt("before"), f"{ASKED}\n\n{BLOCK}"),
        (Prompt("both"), f"{ASKED}\n\n{BLOCK}\n\n{ASKED}"),
        (Prompt("none"), BLOCK),
        (Prompt("none", "use_all"), f"{USE_ALL}\n\n{BLOCK}"),
        (Prompt("both", "Be brief."), f"Be brief.\n\n{ASKED}\n\n{BLOCK}\n\n{ASKED}"),
        (Prompt("after", ["use_all", "Be brief."]), f"{USE_ALL}\nBe brief.\n\n{BLOCK}\n\n{ASKED}"),
        (Prompt("after", "weak_slots"), f"{BLOCK}\n\n{ASKED}"),
        (Prompt("after", []), f"{BLOCK}\n\n{ASKED}"),
    ],
)
def test_each_prompt_is_its_golden_text(prompt: Prompt, golden: str) -> None:
    """Instruction, question, block, question: in this order, a blank line between, nothing else."""
    chunks = [Chunk("Ten days.", source="a.md")]
    placement = place(chunks, query="How long?", layout="numbered", prompt=prompt)
    assert placement.prompt == placement.text == golden
    assert placement.block.text == BLOCK
    assert (placement.tokens, placement.prompt_tokens) == (None, None)


@pytest.mark.parametrize("place_of_question", ["before", "after", "both", "none"])
def test_a_bare_place_is_a_prompt(place_of_question: Any) -> None:
    """`prompt="after"` is `Prompt("after")`, and a prompt is one already."""
    prompt = as_prompt(place_of_question)
    assert prompt == Prompt(place_of_question) == as_prompt(prompt)
    assert as_prompt(None) is None


HOSTILE = "{block} {question} {0} %s $x \\1 \\g<0> {{query}} {% if %}"


@pytest.mark.case(38)
@pytest.mark.parametrize("place_of_question", ["before", "after", "both"])
def test_nothing_is_expanded(place_of_question: Any) -> None:
    """Braces and placeholders in question, instruction and passage stay as they are."""
    prompt = Prompt(place_of_question, HOSTILE)
    text = place([Chunk(HOSTILE)], query=HOSTILE, prompt=prompt).prompt
    assert text.count(HOSTILE) == (4 if place_of_question == "both" else 3)
    assert text.replace(HOSTILE, "").replace("Question: ", "").strip() == ""


@given(block=st.text(), question=st.text(), instruction=st.text())
def test_a_prompt_is_its_parts(block: str, question: str, instruction: str) -> None:
    """Whatever the parts, each stands in the prompt as it is; an empty part leaves no gap."""
    own = f"Mind this: {instruction} ."
    text = Prompt("both", own).around(block, question, [1])
    asked = f"Question: {question}"
    assert text == "\n\n".join([own, asked, *([block] if block else []), asked])


@pytest.mark.parametrize("place_of_question", ["before", "after", "both"])
@pytest.mark.parametrize("query", [None, ""])
async def test_a_question_that_is_missing_is_an_error(place_of_question: Any, query: str | None) -> None:
    """A prompt that shows the question needs one, and the error names the keyword; `"none"` does not."""
    with pytest.raises(ValueError, match=r"query="):
        place([Chunk("a")], prompt=place_of_question, query=query)
    with pytest.raises(ValueError, match=r"query="):
        await aplace([Chunk("a")], prompt=place_of_question, query=query)
    with pytest.raises(ValueError, match=r"query="):
        Prompt(place_of_question).around("a", None, [1])
    assert place([Chunk("a")], prompt="none", query=query).prompt == "a"


def test_a_placement_without_a_prompt_has_none() -> None:
    """Asking for the prompt of a call that had none says how to get one."""
    with pytest.raises(ValueError, match=r"use place\(..., prompt='after'\)"):
        _ = place([Chunk("a")]).prompt


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"question": "middle"}, ValueError, "Prompt.question='middle' is not one of: before, after, both, none"),
        ({"question": None}, ValueError, "Prompt.question=None"),
        ({"instruction": "use-all"}, ValueError, "Prompt.instruction='use-all' is not one of: use_all, weak_slots"),
        ({"instruction": ""}, ValueError, "Prompt.instruction='' is not one of"),
        ({"instruction": ["use_all", "weakslots"]}, ValueError, "'weakslots' is not one of"),
        ({"instruction": ["use_all", 3]}, TypeError, "Prompt.instruction must be a str or a list of them, not 3"),
        ({"instruction": 3}, TypeError, "Prompt.instruction must be a str or a list of them, not 3"),
    ],
)
def test_impossible_prompts_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    """A misspelt name is an error that lists the choices; it never reaches the model as an instruction."""
    with pytest.raises(error, match=message):
        Prompt(**arguments)
    with pytest.raises(TypeError, match=r"prompt must be a Prompt or a place for the question \(before, after, both"):
        place([Chunk("a")], prompt=7)  # type: ignore[arg-type]


@pytest.mark.parametrize("instruction", ["请使用所有段落。", "ใช้ทุกข้อความ", "すべて使ってください。"])
def test_an_instruction_in_a_script_without_spaces_is_one(instruction: str) -> None:
    """Only what could be a misspelt name is refused: a sentence need not have spaces."""
    assert Prompt("none", instruction).around("B", None, [1]) == f"{instruction}\n\nB"


def test_a_list_of_instructions_equals_its_tuple() -> None:
    """What was loaded from JSON equals what was written, and can be hashed."""
    assert Prompt("none", ["use_all"]) == Prompt("none", ("use_all",))
    assert hash(Prompt("none", ["use_all"])) == hash(Prompt("none", ("use_all",)))


@pytest.mark.parametrize(
    ("n", "named"),
    [(0, ""), (1, ""), (4, ""), (5, "2 to 4"), (6, "3 to 4"), (7, "3 to 5"), (9, "4 to 6"), (12, "5 to 8")],
)
@pytest.mark.parametrize("style", ["numbered", "xml"])
def test_weak_slots_names_the_middle_third(n: int, named: str, style: Any) -> None:
    """The numbers of the middle are named as the block has them; a block of up to four has no middle."""
    placement = place(
        [Chunk(f"Text {i}.") for i in range(n)], layout=style, prompt=Prompt("none", "weak_slots"), order="bookend"
    )
    sentence = f"Passages {named} stand where text is easily overlooked: read them as carefully as the others."
    assert placement.prompt == (f"{sentence}\n\n" if named else "") + placement.block.text


def test_weak_slots_needs_numbers() -> None:
    """A block without numbers has no passages to name."""
    for prompt in (Prompt("none", "weak_slots"), Prompt("none", ["use_all", "weak_slots"])):
        with pytest.raises(ValueError, match="use layout='numbered' or 'xml'"):
            place([Chunk("a")], prompt=prompt)


def test_the_budget_holds_on_the_prompt() -> None:
    """Question and instruction share the window with the block; both lengths are told apart."""
    chunks = [Chunk(f"a{i} b{i} c{i}") for i in range(9)]
    prompt = Prompt("both", "Be brief.")
    placement = place(chunks, query="How long?", budget=Budget(20, words, reserve=2), prompt=prompt)
    assert len(placement) == 3
    assert placement.tokens == placement.block.tokens == 9
    assert placement.prompt_tokens == words(placement.prompt) == 9 + 2 + 3 + 3
    assert (placement.record.tokens, placement.record.prompt_tokens, placement.record.room) == (9, 17, 10)


def test_a_sentence_that_depends_on_what_is_kept_fits_too() -> None:
    """`weak_slots` appears with the fifth passage: if there is no room for it, the fifth passage leaves."""
    chunks = [Chunk("word")] * 9
    for tokens, kept in ((8, 4), (10, 4), (26, 4), (27, 5), (29, 6)):
        placement = place(
            chunks, budget=Budget(tokens, words), layout="numbered", prompt=Prompt("none", "weak_slots"), dedupe="off"
        )
        assert words(placement.prompt) <= tokens
        assert len(placement) == kept


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": Budget(6, words), "prompt": "both"}, "the prompt around the block needs 6 tokens, and 6 are left"),
        (
            {"budget": Budget(9, words, reserve=7), "prompt": "after"},
            "needs 3 tokens, and 2 are left",
        ),
        (
            {"budget": Budget(9, words, reserve=9), "prompt": "after"},
            "the reserve of 9 tokens leaves nothing of the budget of 9",
        ),
    ],
)
@pytest.mark.parametrize("n", [0, 3])
async def test_a_prompt_that_leaves_nothing_is_an_error(settings: dict[str, Any], message: str, n: int) -> None:
    """When question and reserve use up the window there is no prompt to send, chunks or not."""
    with pytest.raises(BudgetError, match=message):
        place([Chunk("a")] * n, query="How long?", **settings)
    with pytest.raises(BudgetError, match=message):
        await aplace([Chunk("a")] * n, query="How long?", **settings)
