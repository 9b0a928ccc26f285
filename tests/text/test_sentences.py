"""Where sentences end, in any script; and the second opinion, which may panic."""

import os
import subprocess
import sys
from asyncio import CancelledError
from itertools import pairwise
from random import Random

import pytest
import sentencex
from documents import UNSPACED, prose
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder.guard import CompiledError, guarded
from edgeorder.text.sentences import sentence_ends
from edgeorder.text.sharpened import SharpenedEnds


def cut(text: str, ends=sentence_ends) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:stop].strip() for start, stop in pairwise([0, *ends(text, 0, len(text))])]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith came at 5 p.m. on Jan. 5.", "He left."],
        ["It is 3.5 km, e.g. by train, i.e. not far.", "Is it?", "Yes!", "So what?"],
        ["He met J. R. Smith there.", "The U.S. army came.", "It was in the U.S.", "The end."],
        ["He said “it is so.”", "She left (as I said).", "They stayed."],
        ["The answer is no.", "See no. 5 and fig. 3 there.", "That is all."],
        ["He bought bread, milk etc.", "Then he left."],
        ["Wait... what?", "Yes."],
        ["Er kam am 29. Juli.", "Dann ging Dr. Müller z.B. nach Köln.", "Das war alles."],
        ["M. Dupont est venu.", "Il est parti ?", "Oui !"],
        ["El Sr. García llegó.", "¿Quién era?", "Nadie lo sabe."],
        ["Он пришёл и т.д. по плану.", "Потом ушёл."],
        ["今天天气很好，我们去公园。", "他说“好的。”", "走吗？", "走！"],
        ["上限は一泊１５０ユーロです。", "領収書が必要です。", "本当ですか？"],
        ["成長率は１．５％です。", "Ver．2は３．１４です。"],
        ["الحد هو 150 يورو.", "هل هذا صحيح؟", "نعم، صحيح."],
        ["ہوٹل کی حد 150 یورو ہے۔", "کیا یہ درست ہے؟", "جی ہاں۔"],
        ["होटल की सीमा 150 यूरो है।", "क्या यह सही है?", "हाँ।"],
        ["พนักงานมีสิทธิ์ลาพักร้อนปีละสิบห้าวันทำงาน", "การลาต้องแจ้งล่วงหน้าอย่างน้อยสามวันเสมอ"],
        ["Sammy Davis Jr. sang.", "It was Sammy Davis Jr.", "He sang."],
    ],
)
def test_sentences_end_where_they_do(sentences: list[str]) -> None:
    """Full stops of every script end sentences; those of abbreviations, initials, dates and numbers do not."""
    gap = "" if sentences[0][-1] in "。！？" else " "
    assert cut(gap.join(sentences)) == sentences


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=200), more=st.text(st.sampled_from('.!?。؟ \n\u00a0aA1"”)'), max_size=40))
def test_sentences_cover_the_text(text: str, more: str) -> None:
    """The ends ascend, and the last one is the end of the text; so it is with the second opinion."""
    for ends in (sentence_ends, SharpenedEnds()):
        found = [*ends(text + more, 0, len(text + more))]
        assert found == sorted(set(found))
        assert found[-1:] == [len(text + more)][: len(text + more)]


def test_a_second_opinion_knows_more_abbreviations() -> None:
    """An end that the plain rules see stands only if sentencex sees it, too; in other scripts the rules decide."""
    text = "It was made by Chrysler Corp. SRT Vehicles there. He left."
    assert cut(text) == ["It was made by Chrysler Corp.", "SRT Vehicles there.", "He left."]
    assert cut(text, SharpenedEnds()) == ["It was made by Chrysler Corp. SRT Vehicles there.", "He left."]
    for language in UNSPACED:
        paragraph = prose(Random(3), language)
        assert cut(paragraph, SharpenedEnds()) == cut(paragraph)


def test_a_panic_leaves_the_plain_rules_and_a_note() -> None:
    """A text at which sentencex panics is read by the rules, and the record will say so; no thread ends."""
    code = (
        "from edgeorder.text.sharpened import SharpenedEnds\n"
        "ends, text = SharpenedEnds(), 'Eat Vitamin C\\u00a0. Refunds take days. Foo bar. Baz.'\n"
        "print([*ends(text, 0, len(text))], ends.notes)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "RUST_BACKTRACE": "0"},
    )
    assert run.stdout.startswith('[16, 35, 44, 48] ["sentencex failed with PanicException: ')


def test_a_second_opinion_that_fails_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises, the rules stand and one note says why; who stops the program still does."""

    def broken(language: str, text: str) -> list[str]:
        raise OSError("no rules today")

    def stopped(language: str, text: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(sentencex, "segment", broken)
    ends = SharpenedEnds()
    for _ in range(2):
        assert cut("One is. Two is. Three is.", ends) == ["One is.", "Two is.", "Three is."]
    assert ends.notes == ["sentencex failed with OSError: no rules today: there the plain rules found the sentences"]
    monkeypatch.setattr(sentencex, "segment", stopped)
    with pytest.raises(KeyboardInterrupt):
        cut("One is. Two is. Three is.", SharpenedEnds())


def test_without_sentencex_the_rules_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra: where it is not installed nothing fails, and there is nothing to note."""
    monkeypatch.setitem(sys.modules, "sentencex", None)
    ends = SharpenedEnds()
    assert cut("One is. Two is.", ends) == ["One is.", "Two is."]
    assert ends.notes == []


def test_long_texts_are_handed_over_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call into compiled code holds all threads: no piece is longer than what takes a few milliseconds."""
    lengths: list[int] = []

    def segment(language: str, text: str) -> list[str]:
        lengths.append(len(text))
        return [text]

    monkeypatch.setattr(sentencex, "segment", segment)
    text = "It is so there. " * 3000
    assert cut(text, SharpenedEnds())
    assert sum(lengths) == len(text)
    assert max(lengths) <= 4000


class Panic(BaseException):
    """What a panic looks like to Python."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError, ValueError])
def test_a_guard_lets_pass_what_is_no_panic(error: type[BaseException]) -> None:
    """Whoever stops the program stops it, and an ordinary error stays what it is."""

    def call() -> None:
        raise error

    with pytest.raises(error):
        guarded(call)


def test_a_guard_turns_a_panic_into_an_error() -> None:
    """A panic becomes an exception that says what it was."""

    def call() -> None:
        raise Panic("index out of bounds")

    with pytest.raises(CompiledError, match="Panic: index out of bounds"):
        guarded(call)
