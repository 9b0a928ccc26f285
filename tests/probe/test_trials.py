"""Trials: the same chunks in every prompt, the gold one where it was asked to be, beginnings shared."""

import os.path
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers import cases, gold_position, passages

from edgeorder.probe.cases import CaseChunk
from edgeorder.probe.trials import Setup, gold_rank, order_for, ranked, spread, with_gold_at
from edgeorder.rendering import split_block


@pytest.mark.parametrize(
    ("chunks", "depths", "positions"),
    [
        (20, 7, (1, 4, 7, 10, 14, 17, 20)),
        (20, 3, (1, 10, 20)),
        (21, 3, (1, 11, 21)),
        (10, 5, (1, 3, 5, 8, 10)),
        (5, 5, (1, 2, 3, 4, 5)),
        (3, 3, (1, 2, 3)),
    ],
)
def test_positions_are_spread(chunks: int, depths: int, positions: tuple[int, ...]) -> None:
    """From head to tail, evenly, edges included."""
    assert spread(chunks, depths) == positions


@given(st.integers(3, 60).flatmap(lambda chunks: st.tuples(st.just(chunks), st.integers(3, chunks))))
def test_positions_rise_and_end_at_the_edges(sizes: tuple[int, int]) -> None:
    """Whatever the sizes, all positions differ, both edges are probed, and no gap is more than one slot too wide."""
    chunks, depths = sizes
    positions = spread(chunks, depths)
    gaps = [after - before for before, after in pairwise(positions)]
    assert (positions[0], positions[-1], len(positions)) == (1, chunks, depths)
    assert min(gaps) >= 1
    assert max(gaps) - min(gaps) <= 2


@pytest.mark.parametrize(("chunks", "depths"), [(20, 2), (5, 7), (2, 2)])
def test_impossible_depths_are_refused(chunks: int, depths: int) -> None:
    """Two edges and a middle are the least, and no two depths share a slot."""
    with pytest.raises(ValueError, match=f"depths={depths} must be from 3 to the number of chunks, {chunks}"):
        spread(chunks, depths)


def test_only_the_place_of_the_gold_chunk_varies() -> None:
    """Every prompt holds the same chunks, the others in the same order, labels numbered by position."""
    (case,) = cases(1, 12)
    setup = Setup()
    others = [passage.text for passage in case.distractors]
    for position in range(1, 13):
        prompt = setup.text(case.question, with_gold_at(case, position, 12))
        assert gold_position(prompt) == position
        assert [text for text in passages(prompt) if not text.startswith("Found:")] == others
        block = prompt[prompt.index("[1]") : prompt.index("\n\nQuestion:")]
        assert [number for number, _ in split_block(block, "numbered")] == list(range(1, 13))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("after", "Say it.\n\n[1] T\nb\n\nQuestion: q?\nAnswer:"),
        ("before", "Say it.\n\nQuestion: q?\n\n[1] T\nb\nAnswer:"),
        ("both", "Say it.\n\nQuestion: q?\n\n[1] T\nb\n\nQuestion: q?\nAnswer:"),
    ],
)
def test_the_prompt_as_it_is_sent(question: str, expected: str) -> None:
    """Instruction, question where it was asked to be, block with titles, ending."""
    setup = Setup(question, instruction="Say it.")  # type: ignore[arg-type]
    assert setup.text("q?", [CaseChunk("b", "T")]) == expected


def test_the_closed_book_prompt_holds_no_passage() -> None:
    """The floor is asked without a block, and says nothing of passages."""
    prompt = Setup().closed_book("q?")
    assert prompt == "Answer the question in a few words.\n\nQuestion: q?\nAnswer:"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"question_place": "sideways"}, "question='sideways' is not one of"),
        ({"question_place": "none"}, "Setup.question_place='none' is not one of: before, after, both"),
        ({"style": "yaml"}, "style='yaml' is not one of"),
    ],
)
def test_an_unknown_setup_is_refused(settings: dict[str, str], message: str) -> None:
    """A setup names what it does not know; a prompt without the question measures nothing."""
    with pytest.raises(ValueError, match=message):
        Setup(**settings)  # type: ignore[arg-type]


def test_consecutive_prompts_share_what_the_schedule_promises() -> None:
    """With 7 depths of 20 long passages an ideal prefix cache computes at most 72 % of the characters."""
    (case,) = cases(1, 20, words=100)
    setup = Setup()
    prompts = [setup.text(case.question, with_gold_at(case, position, 20)) for position in reversed(spread(20, 7))]
    shared = [
        os.path.commonprefix([before, prompt])  # noqa: RUF071 - characters are meant
        for before, prompt in pairwise(prompts)
    ]
    naive = sum(map(len, prompts))
    computed = naive - sum(map(len, shared))
    assert 0.6 < computed / naive <= 0.72


@pytest.mark.parametrize(
    ("rank", "expected"),
    [(1, [0, 1, 2, 3]), (3, [1, 2, 0, 3]), (4, [1, 2, 3, 0]), (5, [1, 2, 3, 4]), (9, [1, 2, 3, 4])],
)
def test_the_gold_chunk_beyond_top_k_is_gone(rank: int, expected: list[int]) -> None:
    """A block of four holds the best four, and the gold one (here 0) among them only if it ranks so."""
    (case,) = cases(1, 6)
    pool = [case.gold, *case.distractors]
    assert [pool.index(passage) for passage in ranked(case, 4, rank)] == expected


def test_too_few_distractors_are_an_error() -> None:
    """A block that cannot be filled names the case, what it has and what it needs."""
    (case,) = cases(1, 5)
    for make in (lambda: with_gold_at(case, 1, 6), lambda: ranked(case, 6, 1), lambda: ranked(case, 5, 6)):
        with pytest.raises(ValueError, match=r"'case-0' has 4 passages beside the gold one; .* needs 5: use fewer"):
            make()


def test_gold_ranks_come_from_the_data_or_are_drawn() -> None:
    """What the data says holds; else ranks are seeded, fall by half, and stay within the block."""
    assert [gold_rank(case, 20, 0) for case in cases(3, 4, gold_rank=7)] == [7, 7, 7]
    made = cases(2000, 2)
    drawn = [gold_rank(case, 5, 1) for case in made]
    assert drawn == [gold_rank(case, 5, 1) for case in made]
    assert drawn != [gold_rank(case, 5, 2) for case in made]
    shares = [drawn.count(rank) / 2000 for rank in range(1, 6)]
    assert shares == pytest.approx([0.5, 0.25, 0.125, 0.0625, 0.0625], abs=0.03)


def test_shuffled_is_another_permutation_for_each_case() -> None:
    """It differs by case and by seed, and is the same every time."""
    one, two = cases(2)
    first = list(order_for("shuffled", one, 0)(20))
    assert sorted(first) == list(range(20))
    assert first == list(order_for("shuffled", one, 0)(20))
    assert first != list(order_for("shuffled", two, 0)(20))
    assert first != list(order_for("shuffled", one, 1)(20))


def test_an_order_places_passages_that_come_best_first() -> None:
    """LongContextReorder's order puts the best last at even counts, and first at odd ones."""
    (case,) = cases(1, 6)
    for chunks, expected in ((4, [1, 3, 2, 0]), (5, [0, 2, 4, 3, 1])):
        assert list(order_for("long_context_reorder", case, 0)(chunks)) == expected
    with pytest.raises(ValueError, match="order='best' is not one of"):
        order_for("best", case, 0)
