"""Token counters: exact, loud when they fail, and bounded when they approximate."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Budget, Chunk, CounterError, aplace, approximate_counter, message_counter, place, tiktoken_counter
from edgeorder.tokens import _encoding, checked_counter, counter_name

BOUND = approximate_counter()
ENCODINGS = ["cl100k_base", "o200k_base"]
SAMPLES = {
    "english": "The committee approved the revised travel policy after a short discussion. " * 3,
    "code": "def f(x: int) -> dict[str, int]:\n    return {'a': x << 2, \"b\": ~x}\n\t# done\r\n" * 3,
    "chinese": "我们在星期三的会议上讨论了新的差旅政策和报销规定。" * 4,
    "japanese": "出張規程は来月から改定されますので、ご確認ください。" * 4,
    "korean": "출장 규정은 다음 달부터 개정될 예정이니 확인해 주시기 바랍니다. " * 4,
    "arabic": "تمت الموافقة على سياسة السفر الجديدة في اجتماع يوم الأربعاء. " * 4,
    "hindi": "बुधवार की बैठक में नई यात्रा नीति को मंजूरी दी गई। " * 4,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈🧑🏽‍🚀🇧🇷" * 10,
    "numbers": "3.14159 2718281828 0xDEADBEEF 1,000,000.00 12:30:59 " * 3,
    "random letters": "qxzjkvbq wqzxkj ngtrhs lmnpqrst dontest it'sst we'res xyzzyq " * 3,
    "blanks": " \t\n\r\n   \n\n\n\u3000\u00a0" * 20,
}


@pytest.mark.case(87)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("sample", sorted(SAMPLES))
def test_the_approximate_counter_is_an_upper_bound_in_every_script(encoding: str, sample: str) -> None:
    """The bound never counts fewer tokens than the real tokenizer."""
    assert BOUND(SAMPLES[sample]) >= tiktoken_counter(encoding)(SAMPLES[sample])


@settings(max_examples=400, deadline=None)
@given(
    text=st.one_of(st.text(), st.text(alphabet="abcdefghilmnoprstuw' S", max_size=40)),
    encoding=st.sampled_from(ENCODINGS),
)
def test_the_bound_holds_for_any_text(text: str, encoding: str) -> None:
    """Random text, and the letters that are counted closer, never need more tokens than the bound."""
    assert BOUND(text) >= tiktoken_counter(encoding)(text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_property_behind_the_bound_holds(encoding: str) -> None:
    """Every pair of the letters that are counted closer is a token of the vocabulary."""
    vocabulary = _encoding(encoding)._mergeable_ranks
    letters = "abcdefghilmnoprstuw"
    assert all((first + second).encode() in vocabulary for first in letters for second in letters)


def test_the_bound_is_closer_than_bytes_on_prose() -> None:
    """English prose is counted below its bytes, and lone surrogates are counted at all."""
    text = SAMPLES["english"]
    assert tiktoken_counter()(text) < BOUND(text) < len(text.encode())
    assert BOUND("\ud800") == 3


@pytest.mark.case(9)
@pytest.mark.parametrize("text", ["see <|endoftext|> and <|im_start|>", "<|endofprompt|>"])
def test_special_tokens_count_as_ordinary_text(text: str) -> None:
    """A chunk that quotes a special token is text, not an exception and not one token."""
    assert tiktoken_counter()(text) > 4


@pytest.mark.case(11)
@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("o1", "o200k_base"),
        ("gpt-4o", "o200k_base"),
        ("openai/gpt-4o", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("cl100k_base", "cl100k_base"),
    ],
)
def test_a_model_name_stands_for_its_encoding(model: str, encoding: str) -> None:
    """OpenAI's models are known by name; the record names the encoding."""
    placement = place([Chunk("a b c")], budget=Budget(100, model))
    assert placement.record.counter == encoding


def test_what_is_no_name_of_an_encoding_is_named() -> None:
    """By what was given, and not by what a text could do with it."""
    with pytest.raises(TypeError, match="takes the name of an encoding or a model, not 5"):
        tiktoken_counter(5)  # type: ignore[arg-type]


@pytest.mark.case(11)
@pytest.mark.parametrize("model", ["my-azure-deploy", "claude-x", "qwen3", ""])
def test_an_unknown_model_is_an_error_with_the_choices(model: str) -> None:
    """No other tokenizer is used in silence for a model that tiktoken does not know."""
    with pytest.raises(CounterError, match=r"knows no encoding or model .*o200k_base.*approximate_counter"):
        place([Chunk("a")], budget=Budget(100, model))


class PanicException(BaseException):
    """As pyo3 raises it."""


def _panics(text: str) -> int:
    raise PanicException("index out of bounds")


def _imports(text: str) -> int:
    raise ImportError("Could not import transformers")


@pytest.mark.case(90, 91)
@pytest.mark.parametrize(
    ("counter", "message"),
    [
        (_panics, "token counter _panics failed with PanicException: index out of bounds"),
        (_imports, r"_imports failed with ImportError: Could not import transformers.*approximate_counter\(\)"),
        (lambda text: [1, 2], r"must return a number of tokens, not \[1, 2\]"),
        (lambda text: True, "not True"),
        (lambda text: -1, "not -1"),
        (lambda text: 2.5, "not 2.5"),
    ],
)
def test_a_counter_that_fails_is_named(counter: Any, message: str) -> None:
    """Whatever a counter raises or returns, the error names the counter and the ways out."""
    with pytest.raises(CounterError, match=message):
        place([Chunk("a")], budget=Budget(100, counter))


@pytest.mark.parametrize("face", [place, aplace])
def test_a_counter_without_a_vocabulary_is_refused(face: Any) -> None:
    """Under one that makes nothing of a whole sentence every budget would hold: GPT-2's as it loads without network."""
    text = "Hotels in Geneva may cost 210 euros a night."

    def placed(chunk: str, counter: Any) -> Any:
        found = face([Chunk(chunk)], budget=Budget(5, counter))
        return asyncio.run(found) if asyncio.iscoroutine(found) else found

    with pytest.raises(CounterError, match=r"nothing gave 0 tokens for a text of 44 characters.*get_num_tokens"):
        placed(text, nothing)
    with pytest.raises(CounterError, match="gave 0 tokens"):
        message_counter(nothing)([{"role": "user", "content": text}])
    assert placed("abc", lambda text: len(text) // 4).tokens == 0  # a rough count of little is no fault
    assert placed(" \n" * 40, lambda text: len(text.split())).tokens == 0


def nothing(text: str) -> int:
    return 0


@pytest.mark.case(91)
def test_an_interrupt_is_not_swallowed() -> None:
    """Ctrl-C during counting stays an interrupt."""

    def interrupted(text: str) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place([Chunk("a")], budget=Budget(100, interrupted))


def test_a_count_that_is_no_int_is_refused() -> None:
    """A count must be a Python int: text is refused rather than guessed at."""
    counter = checked_counter(lambda text: "3")  # type: ignore[arg-type, return-value]
    assert "lambda" in counter.name
    with pytest.raises(CounterError):
        counter("a")


@pytest.mark.case(91)
@pytest.mark.parametrize("text", ["^" * 1_000_000, " " * 1_000_000, "a" * 300_000, "中" * 100_000])
def test_long_runs_of_one_character_can_be_counted(text: str) -> None:
    """A scraped line of a million characters is counted, not a crash."""
    assert 0 < tiktoken_counter()(text) <= len(text)


def test_counters_have_names_for_the_record() -> None:
    """A counter is recorded under its name, a function under where it was defined."""
    assert counter_name(None) == "o200k_base"
    assert counter_name("gpt-4o") == "gpt-4o"
    assert counter_name(BOUND) == "approximate"
    assert counter_name(tiktoken_counter("cl100k_base")) == "cl100k_base"
    assert counter_name(len) == "len"


@pytest.mark.case(10)
def test_a_missing_tokenizer_file_is_one_clear_error(tmp_path: Path) -> None:
    """Without network or file: one error that names the file, the variable and the ways out; no budget still works."""
    code = (
        "from edgeorder import *\n"
        "chunks = [Chunk('a')]\n"
        "print(place(chunks).indices, place(chunks, budget=Budget(9, len)).tokens)\n"
        "print(place(chunks, budget=Budget(9, approximate_counter())).tokens)\n"
        "try: place(chunks, budget=9)\n"
        "except CounterError as error: print(error)\n"
    )
    blocked = {
        **os.environ,
        "TIKTOKEN_CACHE_DIR": str(tmp_path),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=blocked, capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("(0,) 1\n1\nthe tiktoken file of o200k_base could not be loaded")
    for part in ("fb374d419588a4632f3f557e76b4b70aebbca790", "TIKTOKEN_CACHE_DIR", "callable", "approximate_counter()"):
        assert part in run.stdout


def test_loading_leaves_the_environment_alone() -> None:
    """The cache variable is the same before and after an encoding was loaded."""
    code = (
        "import os, edgeorder; before = dict(os.environ)\n"
        "edgeorder.tiktoken_counter('cl100k_base')('a')\n"
        "assert dict(os.environ) == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
