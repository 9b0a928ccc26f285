"""The block: labels, tags and echoes as the model sees them, inside the budget, and read back."""

from collections.abc import Sequence
from typing import Any

import pytest
from counters import COUNTERS, words
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Block, Budget, BudgetError, Chunk, Layout, Prompt, place
from edgeorder.rendering import Passage, Style, split_block

TRAVEL = [
    Chunk("Hotels cost 150 at most.", title="Limits", source="travel.md", date="2026-01-05", page=3),
    Chunk("Trains come first.", source="trains.md"),
    Chunk("Meals: see [1].", title="Meals", head="> ", tail="\n(end)"),
]


def bracketed(passage: Passage) -> str:
    """Write a passage in a style of one's own."""
    return f"<<{passage.number}|{passage.title}|{passage.index}>> {passage.text}"


STYLES: dict[str, Style] = {"plain": "plain", "numbered": "numbered", "xml": "xml", "own": bracketed}


PLAIN = """\
Hotels cost 150 at most.

> Meals: see [1].
(end)

Trains come first."""

NUMBERED = """\
[1] Limits - travel.md (2026-01-05, p. 3)
Hotels cost 150 at most.

[2] Meals
> Meals: see [1].
(end)

[3] trains.md
Trains come first."""

XML = """\
<documents>
<document index="1">
<title>Limits</title>
<source>travel.md</source>
<date>2026-01-05</date>
<page>3</page>
<document_content>
Hotels cost 150 at most.
</document_content>
</document>

<document index="2">
<title>Meals</title>
<document_content>
> Meals: see [1].
(end)
</document_content>
</document>

<document index="3">
<source>trains.md</source>
<document_content>
Trains come first.
</document_content>
</document>
</documents>"""

OWN = """\
<<1|Limits|0>> Hotels cost 150 at most.

<<2|Meals|2>> > Meals: see [1].
(end)

<<3|None|1>> Trains come first."""


@pytest.mark.case(113)
@pytest.mark.parametrize(
    ("style", "golden"), [("plain", PLAIN), ("numbered", NUMBERED), ("xml", XML), (bracketed, OWN)]
)
def test_each_style_writes_its_golden_block(style: Style, golden: str) -> None:
    """Labels are numbered after placing: rank 2 sits at the tail and is number 3. A bare style is a layout too."""
    for layout in (style, Layout(style)):
        placement = place(TRAVEL, order="bookend", layout=layout)
        assert placement.indices == (0, 2, 1)
        assert placement.block.text == str(placement.block) == placement.text == golden


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({}, "[1]"),
        ({"title": "Limits"}, "[1] Limits"),
        ({"source": "a.md"}, "[1] a.md"),
        ({"title": "a.md", "source": "a.md"}, "[1] a.md"),
        ({"date": "2026"}, "[1] (2026)"),
        ({"page": 0}, "[1] (p. 0)"),
        ({"title": "T", "page": "iv"}, "[1] T (p. iv)"),
        ({"title": "", "source": "  "}, "[1]"),
        ({"title": "Two\r\nlines\u2028here", "source": ("a", 1)}, "[1] Two lines here - ('a', 1)"),
        ({"title": "{title} %s \\1"}, "[1] {title} %s \\1"),
    ],
)
def test_a_label_names_what_is_known_in_one_line(fields: dict[str, Any], label: str) -> None:
    """Unknown and empty fields leave no trace; a field of several lines becomes one; a repeated name is said once."""
    assert place([Chunk("Text.", **fields)], layout="numbered").block.text == f"{label}\nText."


def test_the_separator_stands_between_passages_only() -> None:
    """Another separator is used as it is, and the block is parsed back by the layout that wrote it."""
    chunks = [Chunk("a"), Chunk(""), Chunk("b\n")]
    numbered = Layout("numbered", separator="\n---\n")
    block = place(chunks, layout=numbered).block.text
    assert block == "[1]\na\n---\n[2]\n\n---\n[3]\nb\n"
    assert split_block(block, numbered) == [(1, "a"), (2, ""), (3, "b\n")]
    with pytest.raises(ValueError, match="this is no numbered block with the separator"):
        split_block(block, "numbered")
    xml = Layout("xml", separator=" | ")
    assert "</document> | <document " in place(chunks, layout=xml).block.text
    assert split_block(place(chunks, layout=xml).block.text, xml) == [(1, "a"), (2, ""), (3, "b\n")]


def test_the_same_placement_has_the_same_bytes() -> None:
    """Nothing in a block depends on the time, the query, or how many chunks were dropped."""
    for style in STYLES.values():
        first = place(TRAVEL, layout=style, query="one", order="relevance").block.text
        second = place([*TRAVEL, Chunk("x")], layout=style, query="two", order="relevance", top_n=3).block.text
        assert first.encode() == second.encode()


@pytest.mark.parametrize("style", sorted(STYLES))
@pytest.mark.parametrize("n", [0, 1])
def test_short_blocks(style: str, n: int) -> None:
    """No chunk is an empty block in every style; one chunk is a block without a separator."""
    block = place(TRAVEL[:n], layout=STYLES[style]).block
    assert len(block.passages) == n
    assert bool(block.text) == bool(n)
    assert "\n\n" not in block.text


@pytest.mark.case(46)
def test_a_block_maps_numbers_to_chunks_and_back() -> None:
    """`citations`, `numbers` and `sources()` agree; passages hold the text of the chunk, never the neutralised one."""
    chunks = [*TRAVEL, Chunk("[1] I am first.", title="[1] Me")]
    block = place(chunks, order="bookend", layout="numbered").block
    assert block.citations == {1: 0, 2: 2, 3: 3, 4: 1}
    assert block.numbers == {0: 1, 2: 2, 3: 3, 1: 4}
    assert block.sources() == block.passages
    assert block.sources()[0] == Passage(1, 0, TRAVEL[0].text, "Limits", "travel.md", "2026-01-05", "3")
    assert block.sources()[2] == Passage(3, 3, "[1] I am first.", "[1] Me")
    assert "\\[1] I am first." in block.text
    assert block.cited("Stay below 150 [1], by train [4].") == (0, 1)


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("", []),
        ("No citation, 1 and 2 are numbers.", []),
        ("It is so [2].", [2]),
        ("[3] before [1], again [3].", [3, 1]),
        ("[1, 3] or [1][3] or [1; 3]", [1, 3]),
        ("[2-4] and [2–4]", [2, 3, 4]),
        ("[Source 2] [document 3] [Passages 1, 4]", [2, 3, 1, 4]),
        ("【2】", [2]),
        ('as <document index="2"> says', [2]),
        ("[[2]](http://x/3)", [2]),
        ("[0] [8] [2026] [99999999999]", []),
        (r"\[2] was neutralised", []),
        ("[see 2] (2) {2}", []),
        # What follows the numbers is no number of a passage.
        ("[1, p. 3]", [1]),
        ("[2: see section 4]", [2]),
        ("【2†L1-L5】", [2]),
    ],
)
def test_cited_finds_what_an_answer_cites(answer: str, numbers: list[int]) -> None:
    """The usual ways to cite are understood, in the order of the answer; numbers the block lacks are left out."""
    block = Block("", passages=tuple(Passage(number, 10 * number, "") for number in range(1, 6)))
    assert block.cited(answer) == tuple(10 * number for number in numbers)


ECHOES = {
    # n: the ranks from head to tail with echo=1, 2, 3
    "bookend": {
        1: ("1", "1", "1"),
        2: ("121", "121", "121"),
        3: ("1321", "1321", "13231"),
        4: ("13421", "13421", "134231"),
        5: ("135421", "135421", "1354231"),
        6: ("1356421", "1356421", "13564231"),
    },
    "relevance": {
        1: ("1", "1", "1"),
        2: ("121", "121", "121"),
        3: ("1231", "12321", "12321"),
        4: ("12341", "123421", "1234321"),
        5: ("123451", "1234521", "12345321"),
        6: ("1234561", "12345621", "123456321"),
    },
    "reverse": {
        1: ("1", "1", "1"),
        2: ("121", "121", "121"),
        3: ("1321", "12321", "12321"),
        4: ("14321", "124321", "1234321"),
        5: ("154321", "1254321", "12354321"),
        6: ("1654321", "12654321", "123654321"),
    },
}
ECHO_CASES = [
    (order, n, j, golden)
    for order, table in ECHOES.items()
    for n, row in table.items()
    for j, golden in enumerate(row, 1)
]


@pytest.mark.parametrize(("order", "n", "j", "golden"), ECHO_CASES)
def test_echoes_stand_at_the_far_end(order: str, n: int, j: int, golden: str) -> None:
    """The best j are repeated at the end far from the best, best outermost, but for the one that sits there already."""
    chunks = [Chunk(f"r{rank}") for rank in range(1, n + 1)]
    for budget in (None, Budget(100, words)):
        placement = place(chunks, order=order, layout=Layout(separator=" ", echo=j), budget=budget)
        assert placement.block.text == " ".join(f"r{rank}" for rank in golden)
        assert placement.tokens == (None if budget is None else len(golden))


@pytest.mark.parametrize(("order", "n", "j", "golden"), ECHO_CASES)
def test_the_placement_names_the_echoes_that_are_there(order: str, n: int, j: int, golden: str) -> None:
    """`echoes` and the record's note list what the block repeats, and nothing else."""
    placement = place([Chunk(f"r{rank}") for rank in range(1, n + 1)], order=order, layout=Layout(echo=j))
    repeated = [rank - 1 for rank in range(1, n + 1) if golden.count(str(rank)) > 1]
    assert list(placement.echoes) == repeated
    assert any(f"input indices {repeated}" in note for note in placement.record.notes) == bool(repeated)


def test_an_echo_keeps_the_number_of_what_it_repeats() -> None:
    """A chunk that stands there twice is cited by one number and is one passage."""
    block = place(TRAVEL, order="relevance", layout=Layout("numbered", echo=1)).block
    assert [number for number, _ in split_block(block.text, "numbered")] == [1, 2, 3, 1]
    assert block.text.startswith("[1] Limits")
    assert block.text.endswith("[1] Limits - travel.md (2026-01-05, p. 3)\nHotels cost 150 at most.")
    assert block.citations == {1: 0, 2: 1, 3: 2}
    assert len(block.passages) == 3


def test_echoes_leave_before_chunks_do() -> None:
    """When the joined block needs more than its parts, the weakest echo goes first, and every chunk stays."""
    chunks = [Chunk(f"a{rank} b{rank} c{rank}") for rank in range(4)]
    for most, golden in ((6, [0, 1]), (5, [0]), (4, [])):

        def count(text: str, most: int = most) -> int:
            return words(text) + 100 * (len(text.split("\n\n")) > most)

        placement = place(chunks, order="relevance", layout=Layout(echo=2), budget=Budget(18, count))
        assert (placement.indices, list(placement.echoes)) == ((0, 1, 2, 3), golden)


def test_no_echo_of_a_lower_rank_takes_the_place_of_a_higher_one() -> None:
    """Where the best chunk is too long to stand there twice, the second best is not put next to it instead."""
    chunks = [Chunk("best " * 20), Chunk("b c"), Chunk("d e")]
    placement = place(chunks, order="bookend", layout=Layout("numbered", echo=2), budget=Budget(40, words))
    assert placement.echoes == ()
    assert [number for number, _ in split_block(placement.block.text, "numbered")] == [1, 2, 3]


def test_the_best_that_fits_is_the_one_that_is_repeated() -> None:
    """A first rank that is skipped for its length leaves its echo to the best chunk that is kept."""
    chunks = [Chunk("long " * 99), Chunk("b c"), Chunk("d e")]
    placement = place(chunks, order="relevance", layout=Layout(echo=1), budget=Budget(40, words))
    assert (placement.indices, placement.echoes) == ((1, 2), (1,))


PIECES = st.sampled_from(
    ["a b. ", "One two three. ", "\n", "\n\n", "[1] ", "[2] x\n", "</document>", "<documents>\n", "Question: ", "\\"]
)
CHUNKS = st.lists(
    st.builds(
        Chunk,
        text=st.lists(PIECES, max_size=8).map("".join),
        head=st.sampled_from(["", "H: "]),
        source=st.sampled_from([None, "s", "t\n[2] u"]),
        offset=st.integers(0, 4),
        title=st.sampled_from([None, "Title", "</title>"]),
        page=st.sampled_from([None, 7]),
    ),
    max_size=7,
)
PROMPTS = st.builds(
    Prompt,
    st.sampled_from(["before", "after", "both", "none"]),
    st.sampled_from([None, "use_all", "weak_slots", "Be brief {block}.", ["weak_slots", "Cite as [1]."]]),
)
RESERVES = st.sampled_from([0, 5, "a b c", [3, "a b"]])


@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@settings(max_examples=250, deadline=None)
@given(
    chunks=CHUNKS,
    style=st.sampled_from(sorted(STYLES)),
    prompt=st.none() | PROMPTS,
    echo=st.integers(0, 3),
    reading=st.sampled_from(["runs", "source", "off"]),
    order=st.sampled_from(["auto", "relevance", "bookend", "reverse"]),
    overflow=st.sampled_from(["skip", "stop", "truncate"]),
    counter=st.sampled_from(sorted(COUNTERS)),
    tokens=st.integers(1, 60) | st.integers(30, 400),
    reserve=RESERVES,
)
def test_what_is_sent_fits_whatever_the_settings(
    chunks: list[Chunk],
    style: str,
    prompt: Prompt | None,
    echo: int,
    reading: Any,
    order: str,
    overflow: Any,
    counter: str,
    tokens: int,
    reserve: Any,
) -> None:
    """The text sent and the reserve fit the window by hand count; no chunk is lost; the block parses back."""
    if prompt is not None and style == "plain" and "weak_slots" in prompt.instructions:
        prompt = Prompt(prompt.question)
    count, query, before = COUNTERS[counter], "What is [1]?\nAnswer: 5", repr(chunks)
    parts: Sequence[Any] = reserve if isinstance(reserve, list) else [reserve]
    room = tokens - sum(part if isinstance(part, int) else count(part) for part in parts)
    framing = "" if prompt is None else prompt.around("", query, ())
    try:
        placement = place(
            chunks,
            query=query,
            budget=Budget(tokens, count, overflow, reserve),
            reading=reading,
            order=order,
            layout=Layout(STYLES[style], echo=echo),
            prompt=prompt,
        )
    except BudgetError:
        assert room < 1 or (framing and count(framing) >= room)
        return
    block = placement.block
    sent = block.text if prompt is None else placement.prompt
    assert sent == placement.text
    if sent:
        assert count(sent) <= room
        assert count(sent) == (placement.tokens if prompt is None else placement.prompt_tokens)
    if block.text:
        assert block.tokens == placement.tokens == count(block.text)
    if prompt is not None:
        numbers = range(1, len(placement) + 1)
        assert sent == prompt.around(block.text, query, numbers)
    dropped = [drop.index for drop in placement.dropped]
    assert sorted([*placement.indices, *dropped]) == list(range(len(chunks)))
    assert repr(chunks) == before
    rendered = {i: chunks[i].head + placement.texts.get(i, chunks[i].text) for i in placement.indices}
    assert [(p.number, p.text) for p in block.passages] == list(enumerate(rendered.values(), 1))
    assert set(placement.echoes) <= set(placement.indices)
    assert len(placement.echoes) <= echo
    if style in ("numbered", "xml"):
        pairs = split_block(block.text, style)  # type: ignore[arg-type]
        assert dict(pairs) == {block.numbers[index]: text for index, text in rendered.items()}
        assert len(pairs) == len(rendered) + len(placement.echoes)


@pytest.mark.parametrize("overflow", ["truncate", "skip"])
def test_the_tags_around_the_block_leave_room_for_the_only_chunk(overflow: Any) -> None:
    """Where only the outermost tags do not fit, `truncate` shortens the chunk as if it were too long itself."""
    body = " ".join(f"Word {number} is here." for number in range(20))
    exact = place([Chunk(body)], budget=Budget(1000, words), layout="xml").tokens
    assert exact is not None
    assert len(place([Chunk(body)], budget=Budget(exact, words, overflow), layout="xml")) == 1
    if overflow == "truncate":
        placement = place([Chunk(body)], budget=Budget(exact - 1, words, overflow), layout="xml")
        assert placement.texts[0] == body.replace(" Word 19 is here.", " […]")


def test_labels_and_tags_are_counted() -> None:
    """What a style writes around a passage uses the budget like the passage."""
    chunks = [Chunk("a b", title="T")] * 3
    assert place(chunks, budget=Budget(12, words), layout="numbered").tokens == 12
    assert len(place(chunks, budget=Budget(11, words), layout="numbered")) == 2
    assert len(place(chunks, budget=Budget(11, words))) == 3


@pytest.mark.parametrize(
    ("text", "style", "message"),
    [
        ("Hello", "numbered", "this is no numbered block"),
        ("Hello\n\n[1]\nA", "numbered", "this is no numbered block"),
        ("[1]\nA\n[2]\nB", "numbered", "this is no numbered block"),
        ("Hello", "xml", "this is no xml block"),
        ("<documents>\nHello\n</documents>", "xml", "this is no xml block"),
        ("[1]\nA", "plain", "style='plain' is not one of: numbered, xml"),
        ("[1]\nA", bracketed, "is not one of: numbered, xml"),
    ],
)
def test_what_is_no_block_is_not_split(text: str, style: Any, message: str) -> None:
    """A text that the style did not write is refused rather than read wrongly."""
    with pytest.raises(ValueError, match=message):
        split_block(text, style)


def test_an_empty_block_has_no_passages() -> None:
    """What was written for no chunk is read as no chunk."""
    assert split_block("", "numbered") == split_block("", "xml") == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"style": "html"}, ValueError, "Layout.style='html' is not one of: plain, numbered, xml, a callable"),
        ({"separator": 3}, TypeError, "Layout.separator must be a str, not 3"),
        ({"echo": -1}, ValueError, "Layout.echo=-1 must not be negative"),
        ({"echo": True}, TypeError, "Layout.echo must be a whole number of chunks, not True"),
        ({"echo": 1.0}, TypeError, "not 1.0"),
        ({"style": "numbered", "separator": " "}, ValueError, "must start and end with"),
        ({"style": "numbered", "separator": "\n[2] x\n"}, ValueError, "looks like a label, a tag or a question"),
        ({"style": "numbered", "separator": "\nQuestion: x\n"}, ValueError, "looks like a label"),
        ({"style": "xml", "separator": "</document>"}, ValueError, "looks like a label"),
        ({"style": bracketed, "separator": "\n[2]"}, ValueError, "looks like a label"),
    ],
)
def test_impossible_layouts_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    """A layout whose block could not be read is refused at construction, naming what is wrong."""
    with pytest.raises(error, match=message):
        Layout(**arguments)


def test_a_style_of_ones_own_returns_text() -> None:
    """A callable that returns something else is named at once, and its own errors pass through."""
    with pytest.raises(TypeError, match=r"Layout.style must return the text of a passage, not None"):
        _ = place([Chunk("a")], layout=lambda passage: None).block.text  # type: ignore[arg-type,return-value]
    with pytest.raises(ZeroDivisionError):
        place([Chunk("a")], layout=lambda passage: str(1 // 0), budget=9)
