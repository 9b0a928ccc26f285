"""The audit of a set of questions: the six classes, planted, counted, and as a test of its own."""

import random
from importlib.metadata import entry_points
from typing import Any

import pytest

from edgeorder import Budget, Chunk, OrderRecord, audit, capture, cases_from, place, trace
from edgeorder.auditing import KINDS, Audit, audit_log
from edgeorder.collecting import cases_from_log
from edgeorder.gold import Gold
from edgeorder.labels import Question, questions_of
from edgeorder.probe.case_files import read_cases, write_cases

pytest_plugins = ["pytester"]

FILLER = "Nothing of note was written in this passage about the town and its river. " * 12


def words(text: str) -> int:
    return len(text.split())


def passage(name: str) -> str:
    return f"{name} is the first word. {FILLER}At the end stands last{name}."


def planted(kind: str, number: int) -> tuple[list[Chunk], dict[str, Any], Question]:
    """Return what is retrieved, how it is placed, and the question, such that its gold chunk ends as planted."""
    names = [f"n{number}x{at}" for at in range(12)]
    chunks = [Chunk(passage(name), id=name, score=1 - at / 20) for at, name in enumerate(names)]
    budget = Budget(7 * words(chunks[0].text) + 20, words, "truncate")
    rng = random.Random(number)
    gold: Any = {
        "not_retrieved": f"n{number}x{rng.randrange(12, 99)}",
        "duplicate": "twin",
        "cut": names[rng.randrange(9, 12)],
        "shortened_away": {"id": names[7], "answers": (f"last{names[7]}",)},
        "weak_position": names[rng.choice([3, 4, 5])],
        "strong_position": names[rng.choice([0, 1, 2])],
    }[kind]
    if kind == "duplicate":
        chunks.insert(6, Chunk(chunks[2].text, id="twin", score=0.71))
    settings = {"budget": budget, "dedupe": "text", "order": "relevance", "reading": "off"}
    from edgeorder import Gold

    return chunks, settings, Question(f"question {number}", Gold(**gold) if isinstance(gold, dict) else gold)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "unknown"])
@pytest.mark.parametrize("number", [1, 2])
def test_each_class_is_told(kind: str, number: int) -> None:
    """A gold chunk that was planted to end so is found to have ended so."""
    chunks, settings, question = planted(kind, number)
    found = audit(lambda asked: chunks, settings, [question])
    assert found.counts == {**dict.fromkeys(KINDS, 0), kind: 1}, found.rows[0].finding


def test_a_log_without_texts_tells_the_same() -> None:
    """Joined by the hash of the question or by the trace id, what was recorded is audited alike."""
    from edgeorder import trace

    kinds = [kind for kind in KINDS if kind not in ("unknown", "shortened_away")]
    records, questions = [], []
    for number, kind in enumerate(kinds):
        chunks, settings, question = planted(kind, number)
        with capture() as captured, trace(f"t{number}"):
            place(chunks, query=question.question, **settings)
        records += [OrderRecord.from_json(captured[0].to_json())]
        questions.append(question if number % 2 else Question(question.question, question.gold, f"t{number}"))
    found = audit_log(records, [*questions, Question("never asked", "c1")])
    assert [row.finding.kind for row in found.rows] == kinds
    assert found.unplaced == 1
    assert [row.finding.kind for row in found.worst()] == kinds[:-1]


def test_shares_have_intervals_and_the_worst_come_first() -> None:
    """The dict is what a script reads."""
    data = Audit(
        audit(lambda q: [Chunk("a", id="a")], None, [{"question": "q", "gold": g} for g in "aab"]).rows
    ).to_dict()
    assert data["counts"]["not_retrieved"] == 1
    assert data["shares"]["strong_position"][0] == pytest.approx(2 / 3)
    assert 0.2 < data["shares"]["strong_position"][1] < 2 / 3 < data["shares"]["strong_position"][2] < 1
    assert [row["kind"] for row in data["worst"]] == ["not_retrieved"]


def test_cases_keep_what_was_retrieved(tmp_path: Any) -> None:
    """Scores, sources, offsets and the rank of the gold chunk go into the case file and come back."""
    chunks = [
        Chunk(
            f"Chapter {at} tells of rain{at}.",
            id=f"c{at}",
            score=1 - at / 10,
            source="book.md",
            offset=at * 40,
            end=at * 40 + 30,
        )
        for at in range(5)
    ]
    rows = [{"question": "Which rain?", "answers": ["rain3"], "gold": "c3"}, {"question": "And?", "answers": ["rain1"]}]
    cases = cases_from(lambda question: chunks, rows)
    write_cases(tmp_path / "cases.jsonl", cases)
    first, second = read_cases(tmp_path / "cases.jsonl")
    assert (first.gold_rank, second.gold_rank) == (4, 2)
    assert (first.gold.source, first.gold.offset, first.gold.end, first.gold.score) == ("book.md", 120, 150, 0.7)
    assert [chunk.id for chunk in first.distractors] == ["c0", "c1", "c2", "c4"]
    assert audit(lambda question: chunks, None, cases).counts["strong_position"] == 2
    with capture(text=True) as records:
        place(chunks, query="Which rain?", budget=Budget(20, words, "truncate"))
    (case,) = cases_from_log(records, rows[:1])
    assert (case.gold, case.distractors, case.gold_rank) == (first.gold, first.distractors, 4)


def test_an_unknown_kind_has_no_share() -> None:
    """A kind that is misspelt is named, with those that there are; several are counted together."""
    found = audit(lambda question: [Chunk("A", id="a")], None, [{"question": "Which?", "gold": "a"}])
    assert found.share("strong_position", "cut") == 1
    for asked in (found.share, found.interval):
        with pytest.raises(ValueError, match=r"kind='weak' is not one of: not_retrieved, .*, weak_position"):
            asked("cut", "weak")


def test_a_question_whose_gold_was_not_retrieved_is_no_case_and_said() -> None:
    """It is left out with a warning; where none is left, that is an error; and so is a log without texts."""
    chunks = [Chunk("rain", id="c0"), Chunk("sun", id="c1")]
    rows = [{"question": "q", "answers": ["rain"], "gold": "c0"}, {"question": "r", "answers": ["snow"], "gold": "c9"}]
    with pytest.warns(UserWarning, match="gold chunk of 1 of 2 questions was not retrieved"):
        assert len(cases_from(lambda question: chunks, rows)) == 1
    with pytest.raises(ValueError, match="of none of the 1 questions was retrieved"):
        cases_from(lambda question: chunks, rows[1:])
    for bad in ({"answers": ["A"]}, "q?", {"question": 3}):
        with pytest.raises(ValueError, match=r"question 1 is .*; it must be an object with question and answers"):
            cases_from(lambda question: chunks, [bad])
    with capture() as records:
        place(chunks, query="q")
    for bad in ({"answers": ["A"]}, "q?", {"question": 3}):
        with pytest.raises(ValueError, match="label 1 "):
            cases_from_log(records, [bad])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="text=True"):
        cases_from_log(records, rows)
    with pytest.raises(ValueError, match="none of the 1 questions"):
        cases_from_log(records, rows[1:])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no question"),
        ([{"gold": "c1"}], "question 1 has no 'question'"),
        ([{"question": "q"}], "has neither 'gold' nor 'answers'"),
        ([{"question": "q", "gold": ""}], "has neither 'gold' nor 'answers'"),
        (["Which?"], "question 1 is 'Which\\?'; it must be an object with question, and gold or answers"),
        ([None], "question 1 is None"),
        ([{"question": "q", "answers": [None]}], "has neither 'gold' nor 'answers'"),
        ([{"question": "q", "chunks": ["a"]}], "has neither 'gold' nor 'answers'"),
        ([{"question": 5, "gold": "x"}], "question 1: question must be text, not 5"),
        ([{"question": "q", "gold": "x"}, {"question": "q", "answers": [b"x"]}], "question 2: answers must be texts"),
        ([{"question": "q", "answers": {"a": 1}}], "question 1: answers must be texts or numbers"),
        ([{"question": "q", "gold": {"id": "", "fragment": None}}], "question 1: a gold chunk needs an id, a text"),
        ([{"question": "q", "gold": {"text": 5}}], "question 1: Gold.text must be text, not 5"),
        ([{"question": "q", "gold": {"where": "x"}}], "question 1: Gold.where must be a callable"),
        ([{"question": "q", "gold": {"bogus": 5}}], "gold='bogus' is not one of: id, text, source"),
    ],
)
def test_questions_that_say_nothing_are_refused(rows: list[Any], said: str) -> None:
    """A set that cannot be audited is said to be so before anything is retrieved."""
    with pytest.raises(ValueError, match=said):
        questions_of(rows)


def test_what_is_blank_in_a_label_says_nothing() -> None:
    """A gold object may have every field, as rows of a table do, and a chunk that is marked no id."""
    marks = [{"id": None, "text": "A", "gold": True}, {"id": "b", "text": "B", "gold": 1}, {"id": "c", "gold": 0}]
    blank, marked = questions_of(
        [{"question": "q", "gold": {"id": "c1", "text": "", "fragment": ""}}, {"question": "q", "chunks": marks}]
    )
    assert blank.gold == Gold(id="c1")
    assert marked.gold == [Gold(text="A"), "b"]


def test_a_trace_is_known_by_a_number_too() -> None:
    """As JSON may hold it; what is no number is no trace of the log, and no fault of the audit."""
    with capture() as records, trace("7"):
        place([Chunk("A", id="c1")], query="q")
    for trace_id, unplaced in ((7, 0), ("7", 0), ([], 1), ({"a": 1}, 1)):
        asked = questions_of([{"question": "another", "gold": "c1", "trace_id": trace_id}])
        assert audit_log(records, asked).unplaced == unplaced


def test_retrievers_and_placers_of_every_kind() -> None:
    """A callable, `invoke`, `retrieve`; a name, a dict, `place`, a callable."""
    chunks = [Chunk(FILLER * 5 + str(at), id=f"c{at}") for at in range(6)]

    class Invoked:
        def invoke(self, question: str) -> list[Chunk]:
            return chunks

    class Retrieved:
        def retrieve(self, question: str) -> list[Chunk]:
            return chunks

    class Placer:
        def place(self, items: Any, question: str) -> Any:
            return place(items, query=question, order="reverse")

    asked = [{"question": "q", "gold": "c3"}]
    for retriever in (lambda question: chunks, Invoked(), Retrieved()):
        assert audit(retriever, "as_is", asked).rows[0].finding.position == 3
    for placer in (Placer(), {"order": "reverse"}, "reverse", lambda items, question: place(items, order="reverse")):
        assert audit(Invoked(), placer, asked).rows[0].finding.position == 2
    with pytest.raises(TypeError, match="a retriever is"):
        audit(3, None, asked)
    with pytest.raises(TypeError, match="a placer is"):
        audit(Invoked(), 3, asked)
    with pytest.raises(ValueError, match="k=-1 must be at least 1"):  # it would leave out the last one
        audit(Invoked(), {"k": -1}, asked)
    with pytest.raises(TypeError, match="k must be a whole number of chunks, not '3'"):
        audit(Invoked(), {"k": "3"}, asked)
    with pytest.raises(ValueError, match="placer='best' is not one of: as_is"):
        audit(Invoked(), "best", asked)


def test_the_pytest_fixture_fails_beyond_a_threshold(pytester: Any) -> None:
    """Thresholds are options, and arguments; what misses them is told with the worst questions."""
    pytester.makepyfile(
        """
        from edgeorder import Chunk
        CHUNKS = [Chunk("word " * 999 + str(at), id=f"c{at}") for at in range(9)]
        ASKED = [{"question": f"q{at}", "gold": f"c{at}"} for at in (0, 1, 4, 99)]
        def test_by_option(edgeorder_audit):
            assert len(edgeorder_audit(lambda q: CHUNKS, "as_is", ASKED).rows) == 4
        def test_by_argument(edgeorder_audit):
            edgeorder_audit(lambda q: CHUNKS, "as_is", ASKED, max_weak=0.2, max_lost=0.5)
        def test_by_percent(edgeorder_audit):
            edgeorder_audit(lambda q: CHUNKS, "as_is", ASKED, max_weak=20)
        """
    )
    installed = any(point.name == "edgeorder" for point in entry_points(group="pytest11"))
    plugin = ["-p", "no:asyncio", *([] if installed else ["-p", "edgeorder.pytest_plugin"])]
    done = pytester.runpytest_inprocess(*plugin, "--edgeorder-max-lost", "0.2")
    done.assert_outcomes(failed=3)
    done.stdout.fnmatch_lines(["*ValueError: max_weak=20 must lie in 0..1*"])
    done.stdout.fnmatch_lines(["*lost: 25.0% (95 % 4.6% to 69.9%), at most 20.0%*", "*'q99': c99 was not among*"])
    done.stdout.fnmatch_lines(["*weak: 25.0%*at most 20.0%*"])
    pytester.runpytest_inprocess(*plugin, "-k", "option").assert_outcomes(passed=1)
