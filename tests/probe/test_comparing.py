"""The comparison: every arm has the same questions, cut and placed as in earnest."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from readers import HARD, answer, at_the_tail, box, cases, everywhere, gold_position, lasting, model, noisy, passages

from edgeorder import Budget, place
from edgeorder.orders import long_context_reorder
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.called import CalledModel
from edgeorder.probe.cases import Case
from edgeorder.probe.comparing import compare
from edgeorder.probe.comparison import Arm, Comparison
from edgeorder.probe.probing import probe
from edgeorder.probe.replies import Reply
from edgeorder.probe.trials import Setup, gold_rank
from edgeorder.probe.wording import arm_table, used_lines


def arm_names(found: Comparison) -> list[tuple[str, str, int]]:
    return [(arm.order, arm.question_place, arm.chunks) for arm in found.arms]


async def test_arms_are_question_places_by_lengths_by_orders() -> None:
    """Every combination is one arm, and every arm has the same questions."""
    found = await compare(
        model(everywhere),
        cases(4),
        orders=["relevance", "shuffled"],
        question_places=("after", "both"),
        chunks=(5, 20),
        about={"seed": 1},
    )
    assert arm_names(found) == [
        (order, question, k) for question, k, order in product(["after", "both"], [5, 20], ["relevance", "shuffled"])
    ]
    assert {len(arm.right) for arm in found.arms} == {4}
    assert (found.valid, found.dropped, found.setup["seed"]) == (True, 0, 1)


async def test_a_measured_profile_wins_where_it_should() -> None:
    """A reader of the tail finds the best chunk where its own profile puts it."""
    made = await probe(model(at_the_tail), cases(40), stop="proved")
    made_up = cases(20)
    found = await compare(model(at_the_tail), made_up, orders=["relevance", made.profile()], seed=1)
    assert arm_names(found) == [("relevance", "after", 20), ("measured", "after", 20)]
    assert found.best.order == "measured"
    # It reads the last four of twenty slots, and answers three questions in four.
    ranks = [gold_rank(case, 20, 1) for case in made_up]
    assert found.best.right == tuple(int(rank <= 4 and n % HARD > 0) for n, rank in enumerate(ranks))
    assert found.arms[0].share.right == 0


@pytest.mark.parametrize(("k", "positions"), [(4, [4]), (6, [6]), (5, [1])])
async def test_long_context_reorder_puts_the_best_last_at_even_counts(k: int, positions: list[int]) -> None:
    """As in LangChain: the chunk of rank 1 stands last at even counts and first at odd ones."""
    asked: list[str] = []
    await compare(model(everywhere, asked), cases(1, 7, gold_rank=1), orders=["long_context_reorder"], chunks=(k,))
    assert [gold_position(prompt) for prompt in asked] == positions


async def test_the_gold_rank_of_the_data_is_cut_with_the_block() -> None:
    """A gold chunk of rank 7 is in a block of 8 and not in one of 5, as it would be in earnest."""
    asked: list[str] = []
    found = await compare(model(everywhere, asked), cases(2, 12, gold_rank=7), orders=["relevance"], chunks=(5, 8))
    assert [(len(passages(prompt)), gold_position(prompt)) for prompt in asked] == [(5, None), (8, 7)] * 2
    assert [arm.share.right for arm in found.arms] == [0, 1]


async def test_drawn_gold_ranks_are_one_retrieval_cut_to_each_length() -> None:
    """A rank that was drawn is the same for every order and length; beyond the block the gold chunk is gone."""
    asked: list[str] = []
    made = cases(80)
    await compare(model(everywhere, asked), made, orders=["relevance"], chunks=(2, 20), seed=5)
    positions = [gold_position(prompt) for prompt in asked]
    short, long = positions[::2], positions[1::2]
    assert [position if position and position <= 2 else None for position in long] == short
    assert 30 <= long.count(1) <= 50
    assert None in short
    again: list[str] = []
    await compare(model(everywhere, again), made, orders=["relevance"], chunks=(2, 20), seed=5)
    assert again == asked


async def test_a_comparison_drops_questions_whole() -> None:
    """A reply that fails in one arm takes the question out of all; with too many it is invalid."""

    async def read(prompt: str) -> str | Reply:
        spoiled = box(prompt[prompt.index("Question:") :]) in spoils and "Question:" in prompt[:70]
        return Reply("", "error", error="503: busy") if spoiled else answer(prompt, everywhere)

    async def run() -> Comparison:
        return await compare(
            CalledModel(read, "m"),
            cases(10, 5),
            orders=["bookend"],
            question_places=("after", "before"),
            chunks=(5,),
            setup=Setup(instruction="Say it now."),
        )

    spoils = {4}
    found = await run()
    assert (found.dropped, [len(arm.right) for arm in found.arms], found.valid) == (1, [9, 9], True)
    spoils = {1, 2, 3}
    assert not (await run()).valid


def test_the_paired_difference_by_hand() -> None:
    """Six gains and one loss over ten questions: 50 points, and an interval with two imagined questions added.

    (6 - 1) / 12 = 0.41667; the spread is 1.96 * sqrt((6 + 1 + 1) / 12 - 0.41667 ** 2) / sqrt(12) = 0.39730.
    """
    better, worse = (1, 1, 1, 1, 1, 1, 0, 1, 0, 1), (0, 0, 0, 0, 0, 0, 1, 1, 0, 1)
    one, two = Arm("a", "after", 5, better), Arm("b", "after", 5, worse)
    found = Comparison("m", {}, (two, one))
    assert found.best is one
    assert found.against(one, two) == pytest.approx((0.5, 0.0194, 0.8140), abs=5e-4)
    assert found.against(two, one) == pytest.approx((-0.5, -0.8140, -0.0194), abs=5e-4)
    assert found.against(one, one)[0] == 0
    always, never = Arm("a", "after", 5, (1,) * 30), Arm("b", "after", 5, (0,) * 30)
    assert found.against(never, always)[:2] == (-1.0, -1.0)  # no difference is beyond 100 points
    nothing = Arm("a", "after", 5, ())
    assert found.against(nothing, nothing) == (0.0, -1.0, 1.0)
    assert not Comparison("m", {}, (nothing,)).valid


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"orders": ["relevance", "best"]}, "order='best' is not one of"),
        ({"orders": ["relevance"], "question_places": ("after", "none")}, "Setup.question_place='none' is not one of"),
        ({"orders": ["relevance"], "chunks": (5, 0)}, "must be different block lengths, from 1 up"),
        ({"orders": ["relevance"], "chunks": (21,)}, "'case-0' has 19 passages beside the gold one"),
        ({"orders": ["relevance"], "concurrency": -1}, "concurrency=-1 must be at least 1"),
    ],
)
async def test_an_impossible_comparison_is_refused_before_anything_is_asked(
    settings: dict[str, Any], message: str
) -> None:
    """A name or number that cannot be is said at once."""
    asked: list[str] = []
    with pytest.raises(ValueError, match=message):
        await compare(model(everywhere, asked), cases(3), **settings)
    assert asked == []


async def test_an_order_that_loses_a_chunk_is_refused() -> None:
    """A callable that gives no permutation stops the comparison and is named."""

    def halved(n: int) -> list[int]:
        return list(range(n // 2))

    with pytest.raises(ValueError, match="order 'halved' gave"):
        await compare(model(everywhere), cases(2), orders=[halved])


async def test_a_comparison_resumes_and_runs_side_by_side_alike(tmp_path: Path) -> None:
    """From the cache nothing is asked again, and the number of questions at a time changes nothing."""
    settings: dict[str, Any] = {"orders": ["bookend", "shuffled"], "chunks": (5, 9), "seed": 2}
    made: list[Case] = cases(10)
    one = await compare(model(noisy), made, concurrency=1, **settings)
    with AnswerCache(tmp_path / "a.sqlite") as cache:
        many = await compare(model(noisy), made, concurrency=5, cache=cache, **settings)
        again = await compare(model(noisy), made, cache=cache, **settings)
    assert lasting(one) == lasting(many) == lasting(again)
    assert (one.calls, again.calls) == (40, 0)


async def test_whole_placers_are_arms() -> None:
    """Names, dicts with a budget, a reading and a k, and callables are placed as they would be in earnest."""
    asked: list[str] = []
    made = cases(8, 12, gold_rank=7)

    def mine(chunks: Any, question: str) -> Any:
        return place(chunks, query=question, order="reverse", layout="numbered")

    found = await compare(
        model(everywhere, asked),
        made,
        placers={
            "today": "as_is",
            "lcr": "long_context_reorder",
            "short": {"k": 5},
            "tight": {"order": "relevance", "budget": Budget(60, lambda text: len(text.split()))},
            "mine": mine,
        },
        chunks=(12,),
    )
    prompts = [prompt for prompt in asked if "Answer the question in a few words." not in prompt]
    assert [gold_position(prompt) for prompt in prompts[:5]] == [7, long_context_reorder(12).index(6) + 1, None, 7, 6]
    assert [len(passages(prompt)) for prompt in prompts[:5]] == [12, 12, 5, 7, 12]
    assert len(asked) == 8 * 6, "each question once more without passages"
    right = {arm.order: arm.share.right for arm in found.arms}
    assert right == {"today": 6, "lcr": 6, "short": 0, "tight": 6, "mine": 6}
    assert {arm.order: sum(arm.used) for arm in found.arms} == right
    head, rows = arm_table(found)
    assert {row[0]: row[head.index("used it")] for row in rows} == {
        name: "75 %" if many else "0 %" for name, many in right.items()
    }
    difference, low, high = found.against(found.arms[2], found.arms[0], "used")
    assert (difference, high < 0) == (-0.75, True)
    assert low < difference < high
    assert any("short, question after, top 12: gold chunk used 0 %, −75.0 points" in line for line in used_lines(found))


async def test_an_answer_that_is_right_without_the_gold_chunk_did_not_use_it() -> None:
    """What the model knows anyway is no use of the chunk, unless it cites it."""

    async def knows(prompt: str) -> str:
        box = re.findall(r"box (\d+)\?", prompt)[-1]
        cited = f" [{gold_position(prompt)}]" if box == "1" and gold_position(prompt) else ""
        return f"amber{box}{cited}"

    found = await compare(
        CalledModel(knows, "knows", pause=0.001), cases(4, 6), orders=["relevance"], chunks=(6,), used=True
    )
    (arm,) = found.arms
    assert (arm.share.right, arm.used) == (4, (0, 1, 0, 0))


async def test_readings_are_arms() -> None:
    """Neighbours of one source are read as they were written where that is asked for."""
    asked: list[str] = []
    (case,) = cases(1, 4, gold_rank=2)
    # the best chunk was written after the gold one
    spans = [replace(chunk, source="s", offset=10 * at) for at, chunk in zip((2, 8, 6), case.distractors, strict=True)]
    case = replace(case, gold=replace(case.gold, source="s", offset=19), distractors=tuple(spans))
    found = await compare(
        model(everywhere, asked), [case], orders=["relevance"], readings=("off", "source"), chunks=(4,)
    )
    assert [arm.reading for arm in found.arms] == ["off", "source"]
    head, rows = arm_table(found)
    assert sorted(row[0] for row in rows) == ["relevance", "relevance, reading source"]
    assert "used it" not in head
    assert [gold_position(prompt) for prompt in asked] == [2, 1]
    with pytest.raises(ValueError, match="reading='on'"):
        await compare(model(everywhere), [case], orders=["relevance"], readings=("on",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs orders or placers"):
        await compare(model(everywhere), [case])
    with pytest.raises(ValueError, match="have the names of orders"):
        await compare(model(everywhere), [case], orders=["bookend"], placers={"bookend": "as_is"})
