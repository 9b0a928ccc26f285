"""One register of a conversation: a chunk has one number, a number one chunk, over all searches."""

import contextvars
import copy
import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Budget, Chunk, EdgeOrderWarning, Layout, Prompt, Register, place, window
from edgeorder.chunk import ChunkList
from edgeorder.register import Numbered, Source
from edgeorder.rendering import split_block


def words(text: str) -> int:
    return len(text.split())


def search(register: Register, names: str, already: str = "send", shown=(), **settings) -> str:
    """Place chunks named by letters, and return the block."""
    settings = {"layout": "numbered", "order": "relevance", "reading": "off", **settings}
    with window(register=register, already=already, shown=shown):
        return place([Chunk(f"Text {name}.", id=name) for name in names], **settings).block.text


class TestNumbers:
    """Which number a chunk gets."""

    def test_kept_over_searches(self):
        """A chunk keeps its number; new ones get the next, head first."""
        register = Register()
        assert split_block(search(register, "ABC"), "numbered") == [(1, "Text A."), (2, "Text B."), (3, "Text C.")]
        assert split_block(search(register, "DBEA"), "numbered") == [
            (4, "Text D."),
            (2, "Text B."),
            (5, "Text E."),
            (1, "Text A."),
        ]
        assert (len(register), register.free) == (5, 6)

    def test_what_was_dropped_has_no_number(self):
        """Only what was shown is numbered."""
        register = Register()
        search(register, "ABCDE", top_n=2)
        assert split_block(search(register, "EA"), "numbered") == [(3, "Text E."), (1, "Text A.")]

    def test_one_id_in_two_stores(self):
        """Chunks with one id and different texts or sources are different chunks; equal ones without an id are one."""
        register = Register()
        found = [
            Chunk("A", id=1),
            Chunk("B", id=1),
            Chunk("A", id=1, source="x.md"),
            Chunk("A", id="1"),
            Chunk("A"),
            Chunk("A"),
        ]
        with window(register=register):
            block = place(found, layout="numbered", order="relevance", reading="off").block
        assert [number for number, _ in split_block(block.text, "numbered")] == [1, 2, 3, 1, 4, 4]

    @pytest.mark.parametrize("layout", ["numbered", "xml", lambda passage: f"<{passage.number}> {passage.text}"])
    def test_everything_that_shows_numbers(self, layout):
        """Block, citations, prompt, record and passes all have the numbers of the register."""
        register = Register()
        search(register, "ABCD")
        chunks = [Chunk(f"Text {name}.", id=name) for name in "EADFBG"]
        with window(register=register):
            placement = place(
                chunks,
                query="Why?",
                layout=layout,
                order="relevance",
                reading="off",
                prompt=Prompt("none", "weak_slots"),
                budget=Budget(400, words),
            )
        numbers = [5, 1, 4, 6, 2, 7]
        assert [passage.number for passage in placement.block.passages] == numbers
        assert [
            int(number) for number in re.findall(r"[\[<](?:document index=\")?(\d+)", placement.block.text)
        ] == numbers
        assert placement.block.cited("As [4] and [5] say, not [3].") == (2, 0)
        assert "Passages 4 and 6 stand where" in placement.prompt
        assert [chunk.number for chunk in placement.record.placed] == numbers
        passes = placement.passes(25)
        assert len(passes) > 1
        assert [passage.number for one in passes for passage in one.block.passages] == numbers

    def test_echo_and_truncation(self):
        """An echo has the number of its passage, and a shortened chunk is the chunk."""
        register = Register()
        block = search(register, "AB", layout=Layout("numbered", echo=1))
        assert [number for number, _ in split_block(block, "numbered")] == [1, 2, 1]
        with window(register=register):
            long = Chunk("one two three four five six. " * 4, id="L")
            first = place([long], layout="numbered", budget=Budget(9, words, "truncate"))
            second = place([long], layout="numbered")
        assert first.texts
        assert first.block.passages[0].number == second.block.passages[0].number == 3

    def test_what_another_placement_shows_meanwhile(self):
        """Numbers that were chosen before another placement gave some hold only if they still mean the same chunks."""
        for mine, others, holds in (("A", "BA", False), ("A", "AB", True), ("AC", "AB", False), ("BA", "AB", False)):
            register = Register()
            view, other = (
                Numbered(ChunkList([Chunk(name, id=name) for name in names]), register) for names in (mine, others)
            )
            assert register.add(other.shown(range(len(others)), 1), other.free)
            before = register.to_dict()
            assert register.add(view.shown(range(len(mine)), 1), view.free) is holds
            assert register.to_dict() == before

    def test_many_threads(self):
        """Searches at the same time give no number twice, and no chunk two."""
        register = Register()
        names = ["".join(chr(65 + (start * 7 + step * 3) % 50) for step in range(6)) for start in range(40)]
        with ThreadPoolExecutor(12) as pool:
            contexts = [contextvars.copy_context() for _ in names]
            blocks = list(
                pool.map(lambda pair: pair[0].run(search, register, pair[1]), zip(contexts, names, strict=True))
            )
        shown = {pair for block in blocks for pair in split_block(block, "numbered")}
        assert len(shown) == len({number for number, _ in shown}) == len({text for _, text in shown}) == len(register)
        assert {number for number, _ in shown} == set(range(1, len(register) + 1))

    @given(st.lists(st.text("ABCDEFGH", max_size=6), max_size=6), st.sampled_from(["send", "point", "drop"]))
    @pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
    def test_a_number_means_one_chunk(self, searches, already):
        """Over any searches every number that was shown stands for one text, and every text for one number."""
        register, shown = Register(), []
        for names in searches:
            shown.append(search(register, names, already, shown))
        pairs = {(number, text) for block in shown for number, text in split_block(block, "numbered") if text}
        assert len(pairs) == len({number for number, _ in pairs}) == len({text for _, text in pairs}) == len(register)
        pointed = {int(number) for block in shown for number in re.findall(r"^\[(\d+)\] above$", block, re.MULTILINE)}
        assert pointed <= {number for number, _ in pairs}


class TestAlready:
    """What stands for a chunk that the conversation holds."""

    def test_point(self):
        """A chunk that a shown text holds word for word becomes one line, which is counted; others are sent."""
        register = Register()
        first = search(register, "ABC")
        second = search(register, "CDA", "point", [first])
        assert second == "[3] above\n\n[4]\nText D.\n\n[1] above"
        assert split_block(second, "numbered") == [(3, ""), (4, "Text D."), (1, "")]
        third = search(register, "AD", "point", [second], budget=Budget(100, words))
        assert third == "[1]\nText A.\n\n[4] above"  # A is not there any more

    def test_pointers_are_counted(self):
        """Where pointers stand for chunks, the room that they leave is used."""
        register = Register()
        first = search(register, "ABC")
        budget = {"budget": Budget(13, words)}
        assert search(register, "ABCDEF", "point", [first], **budget).split("\n\n")[:4] == [
            "[1] above",
            "[2] above",
            "[3] above",
            "[4]\nText D.",
        ]
        assert len(split_block(search(register, "ABCDEF", "send", [first], **budget), "numbered")) == 4

    def test_a_shortened_chunk_is_sent_again(self):
        """Only what stands there whole and under its number is pointed at."""
        register, long = Register(), Chunk("one two three four. five six seven eight.", id="L")
        with window(register=register):
            first = place([long], layout="numbered", budget=Budget(6, words, "truncate")).block.text
        with window(register=register, already="point", shown=[first]):
            assert place([long], layout="numbered").block.text == f"[1]\n{long.text}"

    def test_drop(self):
        """`"drop"` leaves such chunks out, with a reason in the record, and they take no place of others."""
        register = Register()
        first = search(register, "ABC")
        with window(register=register, already="drop", shown=[first]):
            placement = place([Chunk(f"Text {name}.", id=name) for name in "BDAE"], layout="numbered", top_n=2)
        assert placement.block.text == "[4]\nText D.\n\n[5]\nText E."
        assert [(drop.index, drop.reason) for drop in placement.dropped] == [(0, "already"), (2, "already")]
        assert "the conversation holds 2 of the chunks already" in placement.record.notes
        with (
            window(register=register, already="drop", shown=[first]),
            pytest.warns(EdgeOrderWarning, match=r"all 1 chunks were dropped \(already\)"),
        ):
            assert place([Chunk("Text A.", id="A")], layout="numbered").block.text == ""

    def test_send(self):
        """By default everything is sent again, under the number that it has."""
        register = Register()
        assert search(register, "AB") == search(register, "AB", shown=[search(register, "AB")])

    @pytest.mark.parametrize("already", ["point", "drop"])
    def test_plain_text_has_no_numbers(self, already):
        """A plain layout has no numbers to know a chunk by, and says so."""
        with window(register=Register(), already=already), pytest.raises(ValueError, match="needs numbers to point at"):
            place([Chunk("A")])

    def test_xml(self):
        """In xml a pointer is an element like others."""
        register = Register()
        first = search(register, "AB", layout="xml")
        second = search(register, "AB", "point", [first], layout="xml")
        assert split_block(second, "xml") == [(1, "above"), (2, "above")]

    @pytest.mark.parametrize("overflow", ["truncate", "compress", "stop", "error"])
    def test_every_policy(self, overflow):
        """Pointers go through every policy."""
        register = Register()
        first = search(register, "ABCD")
        settings = {"budget": Budget(11, words, overflow), "query": "Text?"}
        assert search(register, "ABCDE", "point", [first], **settings).startswith("[1] above\n\n[2] above")


class TestWhatItKnows:
    """Citations, sources and saving."""

    def test_cited_and_sources(self):
        """It gives the numbers that an answer cites, and what labels say of them; unknown numbers are left out."""
        register = Register()
        found = [Chunk("A", id=7, title="Rules\n2", source="rules.md", date=2024, page=3), Chunk("B")]
        with window(register=register):
            place(found, layout="numbered")
        assert register.cited("So [2], [9] and [1].") == (2, 1)
        assert register.sources((2, 9)) == (Source(2),)
        assert register.sources() == (Source(1, "7", "Rules 2", "rules.md", "2024", "3"), Source(2))
        unknown = Register()
        nan = float("nan")
        with window(register=unknown):
            place([Chunk("text", id=nan, title=nan, source=nan, date=nan, page=nan)])
        assert unknown.sources() == (Source(1),)

    def test_saved(self):
        """It is JSON, equal once loaded, and goes on where it was."""
        register = Register()
        search(register, "ABC")
        for loaded in (
            Register.from_dict(json.loads(json.dumps(register.to_dict()))),
            pickle.loads(pickle.dumps(register)),
            copy.deepcopy(register),
        ):
            assert loaded == register
            assert search(loaded, "CD").startswith("[3]\nText C.\n\n[4]")
            assert loaded != register
        assert Register.from_dict({}) == Register()

    @pytest.mark.parametrize(
        "wrong",
        ["mine", 5, None, [1], {"a": 5}, {"a": {}}, {"a": {"colour": "red"}}]
        + [{"a": {"number": number}} for number in ("1", 0, -3, True, 1.5, None)],
    )
    def test_what_is_no_register(self, wrong):
        """What somebody else wrote is named, whole or by the chunk."""
        with pytest.raises(TypeError, match=r"this is no register, as Register\.to_dict|counts from 1, and 'a' has"):
            Register.from_dict(wrong)

    def test_branches(self):
        """Branches that are filled at once give no number twice, and what they gave can be brought together."""
        register = Register()
        search(register, "AB")
        branches = [register.branch(at, 3) for at in range(3)]
        blocks = [search(branch, names) for branch, names in zip(branches, ("ACD", "BEF", "GHI"), strict=True)]
        numbers = [[number for number, _ in split_block(block, "numbered")] for block in blocks]
        assert numbers == [[1, 3, 6], [2, 4, 7], [5, 8, 11]]
        assert len(register) == 2
        for branch in branches:
            register.update(branch)
        assert (len(register), register.free) == (9, 12)

    def test_update(self):
        """Two registers of one conversation come together; what both know keeps the first one's number."""
        one, two = Register(), Register()
        search(one, "AB")
        search(two, "ABC")
        one.update(two)
        one.update(two.to_dict())
        assert one == two
        assert repr(one) == "Register(3 chunks, next number 4)"

    @pytest.mark.parametrize(
        "look",
        [
            Register.sources,
            lambda register: register.cited("[1]"),
            lambda register: Register().update(register),
            lambda register: Register().adopt(register),
            Register.to_dict,
            Register.branch,
        ],
        ids=["sources", "cited", "update", "adopt", "to_dict", "branch"],
    )
    def test_others_may_add_while_it_is_read(self, look):
        """Nobody who reads a register fails for what another thread adds just then."""
        register = Register()

        class Meanwhile(Source):
            """A chunk at whose number the other thread gets its turn."""

            @property
            def number(self):
                register._sources[f"other {len(register)}"] = Source(len(register) + 1)
                return self[0]

        register._sources = {key: Meanwhile(number) for number, key in enumerate("ab", start=1)}
        look(register)

    @given(st.lists(st.tuples(st.text("ABCDE", max_size=4), st.booleans()), max_size=6))
    def test_adopt(self, searches):
        """What another register knows is known here from then on; a number that means another chunk stays with that."""
        register, other = Register(), Register()
        for names, own in searches:
            search(register if own else other, names)
        before, branch = register.to_dict(), other.branch()
        register.adopt(other)
        after = register.to_dict()
        assert after.items() >= before.items()
        numbers = [source["number"] for source in after.values()]
        assert len(set(numbers)) == len(numbers)
        assert register.free > max(numbers, default=0)
        taken = {source["number"] for source in before.values()}
        adopted = {key: one for key, one in other.to_dict().items() if key not in before and one["number"] not in taken}
        assert {key: one for key, one in after.items() if key not in before} == adopted
        assert other == branch
        fresh = Register()
        fresh.adopt(other)
        assert (fresh, fresh.free) == (other, other.free)

    @pytest.mark.parametrize("names", ["C", "CA", "DC", "BCD"])
    def test_a_chunk_that_others_number_meanwhile(self, names):
        """A chunk that is new to two placements at once has the number that the first one gave it."""
        register, others = Register(), ["BC", "EA"]

        def counter(text: str) -> int:
            if others:
                search(register, others.pop(), budget=Budget(99, words))
            return words(text)

        block = search(register, names, budget=Budget(99, counter))
        assert not others
        shown = dict(split_block(block, "numbered"))
        assert {source.number: f"Text {source.id}." for source in register.sources(shown)} == shown
