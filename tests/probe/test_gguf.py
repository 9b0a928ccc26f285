"""A GGUF file in transformers: its tokenizer, built from scores, and the same answers as by llama.cpp."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("xllamacpp", reason="needs the extra 'local'")
pytest.importorskip("transformers", reason="needs the extra 'hf'")
pytest.importorskip("accelerate", reason="reads GGUF files for transformers")
pytest.importorskip("gguf", reason="reads GGUF files")

from gguf import GGUFReader, GGUFWriter
from text.documents import LANGUAGES, ODD, PARTS, UNSPACED

from edgeorder.probe.checkpoint import load
from edgeorder.probe.generators import facts
from edgeorder.probe.gguf_tokenizer import gguf_tokenizer
from edgeorder.probe.hf import HFModel
from edgeorder.probe.local import LocalModel, model_file
from edgeorder.probe.replies import ModelError
from edgeorder.probe.trials import Setup, spread, with_gold_at

# Runs of one letter, where pairs compete; what looks like special tokens; bytes without a token; spaces of all kinds.
_HARD = (
    *("a" * 50, "=" * 70, "ha" * 30, " " * 40, "\n" * 40, "\t" * 35, "0" * 33, "▁a ▁", "a\u00a0b\u3000c", "ﷺ ½ ℃", ""),
    *("x <eos> <bos> <unused5> [multimodal]", "<table><tr><td>1</td></tr></table>", "\U00020000\U0001f9ff\x01x"),
)

_SERVER = """
import json, os, sys
from edgeorder.probe.forcing import _tokens
from edgeorder.probe.llama import _load

server = _load(sys.argv[1], 512, 1, "key")
texts = json.load(sys.stdin)
print(json.dumps([_tokens(server, "key", text) for text in texts]), flush=True)
os._exit(0)
"""


def texts() -> list[str]:
    """Return text of every script and kind of the reader's tests, hard cases, and noise."""
    draw = Random(4)
    languages = [("" if name in UNSPACED else " ").join(words.split()) for name, words in LANGUAGES.items()]
    documents = [make(draw)[:2000] for make in dict.fromkeys(PARTS) for _ in range(3)]
    noise = ["".join(draw.choices("aab =-\n ha10", k=200)) for _ in range(20)]
    ranges = ((1, 0x2000), (0x2000, 0xD800), (0xE000, 0x1FFFF))
    letters = ["".join(chr(draw.randrange(*draw.choice(ranges))) for _ in range(200)) for _ in range(20)]
    found = [*languages, *documents, *ODD, *_HARD, *noise, *letters]
    return [text.encode("utf-8", "replace").decode() for text in found]


@pytest.fixture(scope="module")
def pair() -> tuple[Any, Any]:
    """Return model and tokenizer, loaded once; who else reads the file gets what was read, which takes seconds."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gguf.GGUFReader", cache(GGUFReader))
        return load(model_file())


def test_the_tokenizer_splits_as_the_local_server_does(pair: tuple[Any, Any]) -> None:
    """On every script and kind of text that the tests hold, to the last token, and back again."""
    _, tokenizer = pair
    made = texts()
    done = subprocess.run(
        [sys.executable, "-c", _SERVER, str(model_file())],
        input=json.dumps(made),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=True,
    )
    assert len(made) > 90
    for text, theirs in zip(made, json.loads(done.stdout.splitlines()[-1]), strict=True):
        ours = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        assert ours == theirs, text
        assert tokenizer.decode(ours) == text.replace("▁", " ")
    assert tokenizer("a <eos>")["input_ids"] == [2, 236746, 236743, 1]


async def test_the_same_answers_as_by_the_local_server(pair: tuple[Any, Any]) -> None:
    """In nine of ten prompts at least, with the same tokens, of which the same are read; the benchmark asks 200."""
    local, own, setup = LocalModel(8), HFModel(*pair, max_tokens=8), Setup()
    same = 0
    for case in facts(2, 5):
        for position in reversed(spread(5, 5)):
            prompt = setup.text(case.question, with_gold_at(case, position, 5))
            ours, theirs = await own.ask(prompt), await local.ask(prompt)
            same += ours.text.strip(" .") == theirs.text.strip(" .")
            assert (ours.prompt_tokens, ours.computed_tokens) == (theirs.prompt_tokens, theirs.computed_tokens)
    assert same >= 9
    likely = [float((await one.force(prompt, case.answers[0])).text) for one in (own, local)]
    assert likely[0] == pytest.approx(likely[1], abs=0.5)
    await local.aclose()


def written(file: Path, kind: str, tokens: dict[str, tuple[float, int]], **flags: bool) -> Path:
    """Write a GGUF file with nothing but a tokenizer: tokens with scores and kinds."""
    writer = GGUFWriter(file, "llama")
    writer.add_tokenizer_model(kind)
    writer.add_token_list(list(tokens))
    if kind == "llama":
        writer.add_token_scores([score for score, _ in tokens.values()])
        writer.add_token_types([its for _, its in tokens.values()])
    writer.add_unk_token_id(0)
    for name, value in flags.items():
        getattr(writer, f"add_{name}")(value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def test_the_highest_score_is_joined_first(tmp_path: Path) -> None:
    """Not the longest token, nor the first pair; user-defined tokens are whole; a space begins a text if it says so."""
    tokens = {"<unk>": (0.0, 2), "▁": (-9.0, 1), "a": (-9.0, 1), "b": (-9.0, 1), "c": (-9.0, 1), "ab": (-2.0, 1),
              "bc": (-1.0, 1), "abc": (-3.0, 1), "▁a": (-0.5, 1), "  ": (0.0, 4), "<0x64>": (0.0, 6)}  # fmt: skip
    plain = gguf_tokenizer(written(tmp_path / "a", "llama", tokens, add_space_prefix=False))
    assert plain.tokenize("abc") == ["abc"]  # by way of bc
    assert plain.tokenize("abcab a") == ["abc", "ab", "▁a"]
    assert plain.tokenize("a  b") == ["a", "  ", "b"]
    assert plain.tokenize("ad€") == ["a", "<0x64>", "<unk>"]
    spaced = gguf_tokenizer(written(tmp_path / "b", "llama", tokens, add_space_prefix=True))
    assert spaced.tokenize("abc") == ["▁a", "bc"]


def test_a_tokenizer_without_scores_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path / "x.gguf", "gpt2", {"a": (0, 1)})
    with pytest.raises(
        ModelError, match=r"x\.gguf has a tokenizer of the kind 'gpt2'; only one with scores can be built; download"
    ):
        gguf_tokenizer(file)
