"""What the ranker makes of each reply: every passage once, no score shifted, and never an exception."""

import asyncio
import json
from typing import Any

import pytest
from effort import in_proportion
from hypothesis import given, settings
from hypothesis import strategies as st
from replies import Model, reply, row

from edgeorder.ranker.parsing import read_reply, text_of
from edgeorder.rerank import EvidenceRanker, Ranking

TEXTS = ["trains run daily", "the limit is 120 euros a night", "hotels in listed cities"]
GOOD = reply(row("p02", 9, 8, 7), row("p03", 5), unranked=["p01"])
TOTALS = {1: 8.1, 2: 5.0}


def ranked(*replies: Any, **settings: Any) -> tuple[Ranking, Model]:
    """Rank the three passages by a model that gives these replies."""
    model = Model(*replies)
    ranking = EvidenceRanker(model, fallback="input_order", **settings).rank("what is the limit?", TEXTS)
    assert sorted(ranking.indices) == [0, 1, 2]
    return ranking, model


def fenced(text: str, language: str = "json") -> str:
    return f"```{language}\n{text}\n```"


def without(field: str, **changed: Any) -> dict[str, Any]:
    return {name: value for name, value in {**row("p02", 9), **changed}.items() if name != field}


DEEP: Any = 1
for _ in range(60):
    DEEP = [DEEP]

# Understood at the first attempt: the ranking is that of GOOD.
CLEAR: dict[str, Any] = {
    "as asked": GOOD,
    "chatter around": f"Sure! Here is the ranking:\n{GOOD}\nHope that helps.",
    "fence": fenced(GOOD),
    "fence without a language": fenced(GOOD, ""),
    "fence in prose": f"I thought about it.\n\n{fenced(GOOD)}\n\nDone.",
    "fence that nothing closes": f"```json\n{GOOD}",
    "thoughts before": f"<think>p01 seems best, so {reply(row('p01', 10))}</think>\n{GOOD}",
    "thoughts in capitals": f'<THINKING>hm {{"a": 1}}</THINKING>{GOOD}',
    "reasoning with an odd brace": f"<reasoning>a set {{1, 2</reasoning>\n{GOOD}",
    "thoughts that began in the prompt": f'p01? "maybe {{"a": 1}}\n</think>\n{GOOD}',
    "the last object wins": f"{reply(row('p01', 10))}\nOn second thought:\n{GOOD}",
    "an object of something else after": f'{GOOD}\nMetadata: {{"took": 3}}',
    "an object of something else before": f'{{"took": 3}} {GOOD}',
    "an open brace in prose": f"The set {{p02, p03 is what matters.\n{GOOD}",
    "brackets in prose": f"See [1] and [2].\n{GOOD}",
    "a bare array": json.dumps(json.loads(GOOD)["ranked_passages"]),
    "no unranked passages": reply(row("p02", 9, 8, 7), row("p03", 5)),
    "another order of records": reply(row("p03", 5), row("p02", 9, 8, 7)),
    "a thought's tag in a rationale": reply(
        row("p02", 9, 8, 7, why="quotes <think> a limit of 120 euros </think> for a night"), row("p03", 5)
    ),
    "braces in a rationale": reply(row("p02", 9, 8, 7, why="gives {limit: 120} and ] for a night"), row("p03", 5)),
    "a quote in a rationale": reply(row("p02", 9, 8, 7, why='says "120 euros" \\ for one night'), row("p03", 5)),
    "a line break in a string": GOOD.replace("states the limit", "states\nthe limit"),
    "scores of ten": reply(row("p02", "9/10", "8", "70%"), row("p03", "5/10", "50%", 5)),
    "floats": reply(row("p02", 9.0, 8.0, 7.0), row("p03", 5.0)),
    "a weighted total": reply(row("p02", 9, 8, 7, weighted_total=8.1, rank=1), row("p03", 5, rank=2)),
    "fields of its own": reply(row("p02", 9, 8, 7, mood="fine"), row("p03", 5), other=[1]),
    "a comma too many": GOOD.replace('"p01"]', '"p01",]').replace("}]", "},]", 1),
    "single quotes": GOOD.replace('"', "'"),
    "comments": GOOD.replace('"unranked', '// the rest\n"unranked'),
    "blocks of content": [{"type": "thinking", "thinking": "{"}, {"type": "text", "text": GOOD}],
    "bytes of a byte order mark": "\ufeff" + GOOD,
}


@pytest.mark.parametrize("said", CLEAR.values(), ids=CLEAR)
@pytest.mark.case(13, 14, 15)
def test_a_clear_reply_is_understood_at_once(said: Any) -> None:
    """Whatever stands around it."""
    ranking, model = ranked(said)
    assert (ranking.status, len(model.prompts)) == ("ok", 1)
    assert ranking.indices == (1, 2, 0)
    assert {one.index: one.weighted_total for one in ranking.ranked} == TOTALS
    assert ranking.scores == [None, 0.81, 0.5]
    assert ranking.decision == "proceed"


# Refused, and said to be wrong in these words.
WRONG: dict[str, tuple[Any, str]] = {
    "nothing": ("", "holds no JSON object"),
    "prose": ("No document is relevant.", "holds no JSON object"),
    "null": ("null", "holds no JSON object"),
    "a number": ("7", "holds no JSON object"),
    "an empty object": ("{}", 'has no "ranked_passages"'),
    "an empty array": ("[]", 'has no "ranked_passages"'),
    "another object": ('{"answer": "p02"}', 'has no "ranked_passages"'),
    "an array of ids": ('["p02", "p03"]', 'has no "ranked_passages"'),
    "no list": ('{"ranked_passages": "p02"}', "is no list"),
    "a list of ids": (reply("p02", "p03"), "record 1 is no object, but 'p02'"),
    "an empty ranking": (reply(), "the ranking is empty"),
    "thoughts that nothing ends": (f"<think>{GOOD}", "holds no JSON object"),
    "an invented id": (reply(row("p99", 9)), "record 1 is about 'p99'"),
    "an id of zero": (reply(row("p00", 9)), "record 1 is about 'p00'"),
    "a number as an id": (reply({**row("p02", 9), "passage_id": 2}), "record 1 is about 2"),
    "an id without its zero": (reply(row("p2", 9)), "record 1 is about 'p2'"),
    "an id in capitals": (reply(row("P02", 9)), "record 1 is about 'P02'"),
    "no id": (reply(without("passage_id")), "record 1 is about None"),
    "a list as an id": (reply({**row("p02", 9), "passage_id": ["p02"]}), "record 1 is about"),
    "the placeholder": (reply(row("<passage_id>", 9)), "record 1 is about '<passage_id>'"),
    "an id that is repeated": (reply(row("p02", 9), row("p02", 3)), "p02 is ranked twice"),
    "ranked and unranked": (reply(row("p02", 9), unranked=["p02"]), "p02 is ranked and unranked"),
    "an invented id unranked": (reply(row("p02", 9), unranked=["p77"]), "'p77' among the unranked"),
    "unranked is no list": (
        reply(row("p02", 9)).replace('"unranked_passages": []', '"unranked_passages": 3'),
        "is no list",
    ),
    "a score of zero": (reply(row("p02", 0)), "relevance_score of p02 must be a number from 1 to 10; it is 0"),
    "a score of eleven": (reply(row("p02", 11)), "it is 11"),
    "a share of one": (reply(row("p02", 0.9)), "it is 0.9"),
    "a score in words": (reply(row("p02", "high")), "it is 'high'"),
    "a score of five": (reply(row("p02", "4/5")), "it is '4/5'"),
    "a score of a hundred": (reply(row("p02", 85)), "it is 85"),
    "a small percentage": (reply(row("p02", "5%")), "it is '5%'"),
    "true": (reply(row("p02", True)), "it is True"),
    "null as a score": (reply(row("p02", None)), "it is None"),
    "a list as a score": (reply(row("p02", [9])), r"it is \[9\]"),
    "not a number": (GOOD.replace('"relevance_score": 9', '"relevance_score": NaN'), "cannot be read|must be a number"),
    "infinity": (GOOD.replace('"relevance_score": 9', '"relevance_score": 1e999'), "it is inf"),
    "a score that is missing": (reply(without("specificity_score")), "specificity_score of p02 .* it is missing"),
    "a rationale that is missing": (reply(without("rationale")), "the rationale of p02 is missing"),
    "an empty rationale": (reply(row("p02", 9, why=" ")), "the rationale of p02 is missing"),
    "a number as a rationale": (reply(without("", rationale=3)), "the rationale of p02 is missing"),
    "a short rationale": (reply(row("p02", 9, why="names the limit")), "has under 4 words"),
    "a generic rationale": (
        reply(row("p02", 9, why="This passage is highly relevant to the query.")),
        "says nothing of its own",
    ),
    "a field that is named twice": (
        GOOD.replace('"relevance_score": 9', '"relevance_score": 2, "relevance_score": 9'),
        "names 'relevance_score' twice",
    ),
    "rankings that are named twice": (
        '{"ranked_passages": [], "ranked_passages": ' + json.dumps([row("p02", 9)]) + "}",
        "names 'ranked_passages' twice",
    ),
    "too deep": (reply(row("p02", 9, more=DEEP)), "more than 50 levels deep"),
    "brackets without end": ("[" * 100_000, "more than 50 levels deep"),
    "braces without end": ('{"a":' * 100_000, "more than 50 levels deep"),
    "many open braces": ("{ " * 40 + "} ]" * 40, "holds no JSON object|has no"),
    "cut in a number": (GOOD[: GOOD.index('"specificity_score": 8') + 22], "cut off before its JSON ended"),
    "cut in a string": (GOOD[: GOOD.index("states") + 9], "cut off"),
    "cut after a record": (GOOD[: GOOD.index("},") + 1], "cut off"),
    "cut after the ranking": (GOOD[: GOOD.index("]") + 1], "cut off"),
    "a missing bracket": (GOOD.replace("}]", "}", 1), "cut off|cannot be read|holds no JSON"),
    "a letter among the digits": (
        GOOD.replace('"relevance_score": 9', '"relevance_score": 1O'),
        "it is '1O'|cannot be read",
    ),
    "a decimal comma": (GOOD.replace('"relevance_score": 9', '"relevance_score": 8,5'), "it is '8,5'|cannot be read"),
    "an echo of the passages": (
        "\n".join(f"[p0{at}] {text} (score: 9)" for at, text in enumerate(TEXTS, 1)),
        'has no "ranked_passages"',
    ),
    "None": (None, "holds no JSON object"),
    "an object that is no text": (object(), "the model failed with TypeError: the reply is a object"),
    "an exception": (TimeoutError("too slow"), "the model failed with TimeoutError: too slow"),
}


@pytest.mark.parametrize(("said", "message"), WRONG.values(), ids=WRONG)
@pytest.mark.case(13, 17, 102)
def test_an_unclear_reply_is_refused_and_may_be_mended_once(said: Any, message: str) -> None:
    """The model is told what was wrong, and its second reply is used; else every passage keeps its place."""
    ranking, model = ranked(said, GOOD)
    assert (ranking.status, ranking.indices) == ("retried", (1, 2, 0))
    assert ranking.scores == [None, 0.81, 0.5]
    first, second = ranking.attempts
    import re

    assert re.search(message, first.errors[0])
    assert second.errors == ()
    if not isinstance(said, Exception) and said.__class__ is not object:
        assert first.errors[0] in model.prompts[1]
    ranking, model = ranked(said, said)
    assert (ranking.status, len(model.prompts)) in {("fallback", 2), ("partial", 2)}
    if ranking.status == "fallback":
        assert (ranking.indices, ranking.scores) == ((0, 1, 2), [None, None, None])
        assert ranking.fallback == "input order"
        assert ranking.decision == "review"


@pytest.mark.case(37)
def test_the_text_of_any_reply_is_found() -> None:
    """Strings, blocks, LangChain's and LlamaIndex's objects, structured output; thoughts and calls are no text."""
    from langchain_core.messages import AIMessage
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, TextBlock, ThinkingBlock
    from pydantic import BaseModel

    class Structured(BaseModel):
        ranked_passages: list[int]

    blocks: Any = [
        {"type": "thinking", "thinking": "no"},
        "a",
        {"type": "text", "text": "b"},
        {"type": "tool_use", "id": "x"},
    ]
    for said, text in (
        ("ab", "ab"),
        (None, ""),
        (blocks, "ab"),
        (AIMessage("ab"), "ab"),
        (AIMessage(blocks), "ab"),
        (CompletionResponse(text="ab"), "ab"),
        (ChatResponse(message=ChatMessage(blocks=[ThinkingBlock(content="no"), TextBlock(text="ab")])), "ab"),
        ({"text": "ab"}, "ab"),
        ({"ranked_passages": []}, '{"ranked_passages": []}'),
        (Structured(ranked_passages=[1]), '{"ranked_passages":[1]}'),
    ):
        assert text_of(said) == text


def test_the_tables_are_long_enough() -> None:
    """At least sixty replies that are refused, each with its outcome."""
    assert len(WRONG) >= 50
    assert len(CLEAR) + len(WRONG) >= 80


def test_whole_records_of_a_cut_reply_are_kept_after_the_retry() -> None:
    """Two replies that were cut: the records whose brace arrived count, flagged, and nothing of the others."""
    long = reply(row("p02", 9, 8, 7), row("p03", 10))
    cut = long[: long.rindex('"support_strength_score": 1') + 27]  # a 10 that became a 1
    ranking, model = ranked(cut, cut)
    assert (ranking.status, ranking.indices) == ("partial", (1, 0, 2))
    assert ranking.scores == [None, 0.81, None]
    assert "under 12 words" in model.prompts[1]
    assert ranking.attempts[0].cut
    bad = reply(row("p99", 9), row("p03", 10))
    ranking, _ = ranked(bad[: bad.rindex("{")], bad[: bad.rindex("{")])
    assert ranking.status == "fallback"


@pytest.mark.parametrize("known", ["unranked", "said"])
def test_none_relevant_is_an_answer(known: str) -> None:
    """An empty ranking that says so is believed; the order stays, nothing is scored, and retrieval is asked again."""
    said = reply(unranked=["p01", "p02", "p03"]) if known == "unranked" else reply(notes="None of them is relevant.")
    ranking, model = ranked(said)
    assert (ranking.status, ranking.decision) == ("none_relevant", "retrieve again")
    assert (ranking.indices, ranking.ranked, len(model.prompts)) == ((0, 1, 2), (), 1)


@pytest.mark.case(16)
def test_what_is_not_mentioned_follows_and_is_flagged() -> None:
    """A reply for one passage: the others keep their order, unscored, with a note."""
    ranking, _ = ranked(reply(row("p02", 9)))
    assert (ranking.status, ranking.indices, ranking.unranked) == ("ok", (1, 0, 2), (0, 2))
    assert ranking.notes == ("not mentioned by the model, and left unranked: p01, p03",)


def test_our_total_counts_and_another_is_noted() -> None:
    """A total that the model got wrong changes nothing; equal rationales are noted."""
    ranking, _ = ranked(
        reply(
            row("p02", 9, 8, 7, weighted_total=2, why="the same words again"), row("p03", 5, why="the same words again")
        )
    )
    assert ranking.indices == (1, 2, 0)
    assert ranking.notes[:2] == (
        "the model gave p02 a weighted total of 2; it is 8.1",
        "2 of 2 rationales are not of their own: others are the same",
    )


def test_contradictions_are_kept_if_they_are_about_passages() -> None:
    """Those between passages that were shown lead to a review; others are noted."""
    conflicts = [
        {"passage_ids": ["p02", "p03"], "note": "120 or 150"},
        {"passage_ids": ["p02", "p88"]},
        "p01 is odd",
        7,
    ]
    ranking, _ = ranked(reply(row("p02", 9), row("p03", 5), contradictions=conflicts))
    assert [(one.indices, one.note) for one in ranking.contradictions] == [((1, 2), "120 or 150")]
    assert (ranking.decision, ranking.reasons) == ("review", ("the model sees contradictions among the passages (1)",))
    assert sum("was left out" in note for note in ranking.notes) == 3


LONG = reply(row("p02", 9, 8, 7), row("p01", 10), row("p03", 2), unranked=[], notes="fine")
TRUTH = {index: one.weighted_total for one in ranked(LONG)[0].ranked for index in [one.index]}


@pytest.mark.parametrize("around", ["{}", "<think>so {{</think>{}", "```json\n{}\n```"])
def test_a_reply_that_is_cut_anywhere_shifts_no_score(around: str) -> None:
    """At every byte: what is ranked has exactly the score that it was given."""
    whole = around.format(LONG) if "{{" in around else around.replace("{}", LONG)
    for stop in range(len(whole)):
        ranking, _ = ranked(whole[:stop])
        assert all(one.weighted_total == TRUTH[one.index] for one in ranking.ranked), whole[:stop]
        assert all(one.values for one in ranking.ranked)


pieces = st.sampled_from(
    [
        *'{}[]",:\\',
        "\n",
        " ",
        "<think>",
        "</think>",
        "```",
        "p01",
        "p02",
        "p09",
        '"ranked_passages"',
        '"passage_id"',
        "1",
        "10",
        "9.5",
        "null",
        "true",
        "NaN",
        '"rationale"',
        GOOD,
        json.dumps(row("p02", 9)),
        '"relevance_score": 9',
        "'",
        "//",
    ]
)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["p01", "p02", "p03", "p04", "8/10"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["passage_id", "relevance_score", "rationale", "ranked_passages"]), inner, max_size=4
        )
    ),
)


@given(st.lists(pieces, max_size=25).map("".join))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing is raised, lost or ranked twice; reading is linear in what it is given."""
    read = read_reply(text)
    assert (read.data is None) == bool(read.error)
    ranking, _ = ranked(text)
    assert len(ranking.indices) == 3


@given(st.fixed_dictionaries({"ranked_passages": st.lists(values, max_size=4) | values}) | values)
def test_any_json_is_read_or_refused(data: Any) -> None:
    """Whatever values stand where, and by either face."""
    model = Model(json.dumps(data))
    ranker = EvidenceRanker(model, fallback="input_order")
    ranking = asyncio.run(ranker.arank("what is the limit?", TEXTS))
    assert sorted(ranking.indices) == [0, 1, 2]
    assert ranking.scores == ranker.rank("what is the limit?", TEXTS).scores


def test_a_name_that_comes_twice_among_many_is_found_in_one_pass() -> None:
    """The names of one object are not counted through for each of them."""
    names = ", ".join(f'"n{number}": 1' for number in (*range(100_000), 99_999))
    said: list[str] = []
    in_proportion(lambda: said.append(read_reply(f'{{"ranked_passages": [], {names}}}').error))
    assert "names 'n99999' twice" in said[0]


@pytest.mark.parametrize("piece", ["{", "[", '{"', '"', "{ ", "<think>", "</think>", "}", "\\", '{"a": "', "[ ]", "'"])
def test_reading_is_linear(piece: str) -> None:
    """No piece is looked at again and again."""
    in_proportion(read_reply, piece * 200_000)
