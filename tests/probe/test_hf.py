"""Models of transformers: asked greedily, with a prefix that is kept, and what cannot be asked."""

import asyncio
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra 'hf'")
pytest.importorskip("transformers", reason="needs the extra 'hf'")

import torch
from tiny import CHAT, gemma, llama, tokenizer
from transformers import MambaConfig, MambaForCausalLM, T5Config, T5ForConditionalGeneration

from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.checkpoint import Checkpoint
from edgeorder.probe.generators import facts
from edgeorder.probe.hf import HFModel
from edgeorder.probe.likelihood import quick
from edgeorder.probe.models import as_model
from edgeorder.probe.probing import probe
from edgeorder.probe.replies import ModelError, Reply

MADE = pytest.mark.parametrize("make", [llama, gemma])


def asked(make: Callable[..., Any] = llama, chat: str | None = None, **settings: Any) -> HFModel:
    return HFModel(make(), tokenizer(chat), "tiny", **{"max_tokens": 12, **settings})


def prompts(seed: int) -> list[str]:
    """Return prompts that share beginnings of any length, longer than a window, one twice and one a part of another."""
    draw = random.Random(seed)
    base = "".join(draw.choices("abc de\n.", k=60))
    made = [base[: draw.randint(1, 60)] + "".join(draw.choices("xyz ü\n", k=draw.randint(0, 20))) for _ in range(6)]
    return [*made, base, base, base[:20], "Z"]


@MADE
async def test_it_says_what_generate_says(make: Callable[..., Any]) -> None:
    """In a chat, token by token: the likeliest, until the end of the turn or the limit."""
    model, words = make(), tokenizer(CHAT)
    own = HFModel(model, words, "tiny", 12)
    for prompt in prompts(1):
        tokens = words(f"<user>{prompt}<model>", return_tensors="pt")
        found = model.generate(**tokens, max_new_tokens=12, do_sample=False)[0, tokens["input_ids"].shape[1] :]
        reply = await own.ask(prompt)
        assert reply.text == words.decode(found, skip_special_tokens=True)
        assert (reply.finish == "stop") == (int(found[-1]) == 257)
        assert reply.prompt_tokens == tokens["input_ids"].shape[1]


@MADE
@pytest.mark.parametrize("seed", range(3))
async def test_it_is_the_same_whatever_was_asked_before(make: Callable[..., Any], seed: int) -> None:
    """The prefix that is kept changes no answer and no log-probability, also where layers see only a window."""
    used = asked(make)
    for prompt in prompts(seed):
        assert (await used.ask(prompt)).text == (await asked(make).ask(prompt)).text
        ours, theirs = [float((await one.force(prompt, "ab")).text) for one in (used, asked(make))]
        assert ours == pytest.approx(theirs, abs=1e-3)


async def test_only_what_follows_the_shared_prefix_is_read() -> None:
    own = asked()
    replies = [await own.ask(prompt) for prompt in ("0123456789abc", "0123456789xyz", "0123456789xyz", "9")]
    assert [reply.computed_tokens for reply in replies] == [13, 3, 1, 1]
    assert [reply.prompt_tokens for reply in replies] == [13, 13, 13, 1]


@pytest.mark.parametrize("seed", range(20))
async def test_without_a_template_an_answer_is_a_line_that_is_not_empty(seed: int) -> None:
    """Also of models that would begin with the end of the line, or of the text."""
    own = HFModel(llama(seed, initializer_range=1.0), tokenizer(), "tiny", 6)
    reply = await own.ask("a\n" * (seed + 1))
    assert reply.text
    assert "\n" not in reply.text
    assert reply.usable


async def test_the_log_probability_of_an_answer() -> None:
    """It is the sum over the answer's tokens, which follow after a space; no answer is a special token."""
    model, words = llama(), tokenizer()
    own = HFModel(model, words, "tiny")
    prompt, answer = "Anna lives in Oslo.\nAnswer:", "Oslo"
    whole = words(f"{prompt} {answer}", return_tensors="pt")["input_ids"]
    likely = model(whole).logits.detach()[0].log_softmax(-1)
    first = len(prompt)
    expected = sum(float(likely[at - 1, whole[0, at]]) for at in range(first, whole.shape[1]))
    reply = await own.force(prompt, answer)
    assert float(reply.text) == pytest.approx(expected, abs=1e-3)
    assert (reply.prompt_tokens, reply.completion_tokens) == (first, 5)
    assert float((await own.force(prompt, "Osl")).text) > float(reply.text)
    for odd in ("<eos>", "東京", "ß\ud800", "a\nb", "{{x}}"):
        assert -300 < float((await own.force(prompt, odd)).text) < 0


async def test_what_does_not_fit_is_an_error_and_no_crash() -> None:
    own = asked()
    for reply in (await own.ask("x" * 501), await own.force("x" * 510, "abc")):
        assert reply.finish == "error"
        assert "exceed its context of 512 tokens" in (reply.error or "")
    assert (await own.ask("x" * 500)).usable
    assert "the prompt is empty" in ((await own.ask("")).error or "")
    assert (await own.ask("lone surrogate \udcff")).usable


async def test_a_failure_costs_one_prompt() -> None:
    """A model that fails halfway has read nobody knows what: the next prompt is read anew."""
    own = asked()
    await own.ask("0123456789")
    layer = own._model.model.layers[1]
    hook = layer.register_forward_hook(lambda *_: (_ for _ in ()).throw(RuntimeError("out of memory")))
    reply = await own.ask("01234 and more")
    hook.remove()
    assert (reply.finish, reply.error) == ("error", "RuntimeError: out of memory")
    again = await own.ask("01234 and more")
    assert again == await asked().ask("01234 and more")
    assert again.computed_tokens == again.prompt_tokens


async def test_a_model_without_an_answer_is_an_error() -> None:
    """Such as one that overflowed: nothing is made up, and nothing hangs."""
    model = llama()
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    reply = await HFModel(model, tokenizer(), "broken").ask("Anna lives in")
    assert "its logits are no numbers" in (reply.error or "")


def test_threads_wait_for_each_other() -> None:
    """Several loops in several threads ask one model, and each gets what it gets alone."""
    own, made = asked(), prompts(7)
    alone = {prompt: asyncio.run(asked().ask(prompt)).text for prompt in made}
    wrong: list[str] = []

    def ask(mine: list[str]) -> None:
        async def both() -> list[Reply]:
            return list(await asyncio.gather(*map(own.ask, mine)))

        found = asyncio.run(both())
        wrong.extend(prompt for prompt, reply in zip(mine, found, strict=True) if reply.text != alone[prompt])

    threads = [threading.Thread(target=ask, args=(made[at:] + made[:at],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


async def test_another_attention_or_other_weights_are_another_model() -> None:
    """Kept answers of one are not taken for those of the other, and what was read is read anew."""
    model = llama()
    own = HFModel(model, tokenizer(), "tiny", 4)
    plain = dict(own.settings)
    assert plain == dict(HFModel(llama(), tokenizer(), "tiny", 4).settings)
    await own.ask("0123456789")
    model.set_attn_implementation("eager")
    assert dict(own.settings) != plain
    assert (await own.ask("0123456789")).computed_tokens == 10
    assert HFModel(llama(1), tokenizer(), "tiny", 4).settings["weights"] != plain["weights"]


def test_what_cannot_be_asked_is_refused() -> None:
    """The error says what to do instead."""
    sizes: dict[str, Any] = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_layers": 1}
    with pytest.raises(TypeError, match=r"LlamaForCausalLM needs its tokenizer, not None: as_model\(model, Auto"):
        as_model(llama())
    with pytest.raises(TypeError, match="a tokenizer is for a model of transformers, not for str"):
        as_model("gpt", tokenizer())
    with pytest.raises(ValueError, match="training mode"):
        as_model(llama().train(), tokenizer())
    for other in (
        MambaForCausalLM(MambaConfig(**sizes)),
        T5ForConditionalGeneration(T5Config(**sizes, d_model=8, d_kv=4, d_ff=8, num_heads=2)),
    ):
        with pytest.raises(TypeError, match=r"no decoder with attention in all layers.*base_url"):
            as_model(other.eval(), tokenizer())
    for setting in ({"timeout": 5}, {"base_url": "http://x"}, {"api_key": "k"}):
        with pytest.raises(ValueError, match="has no effect on LlamaForCausalLM"):
            as_model(llama(), tokenizer(), **setting)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tokenizer has no effect on local"):
        as_model("local", tokenizer())
    with pytest.raises(ValueError, match="max_tokens=0 must be at least 1"):
        HFModel(llama(), tokenizer(), max_tokens=0)


async def test_a_probe_of_it(tmp_path: Path) -> None:
    """The whole probe and the quick one run on it; run again, nothing is asked, as its answers are kept."""
    cases = facts(3, 3)
    results = []
    for _ in range(2):
        own = as_model(llama(), tokenizer(), name="tiny", max_tokens=3)
        with AnswerCache(tmp_path / "answers") as cache:
            found = await probe(own, cases, chunks=(3,), depths=3, stop="fixed", cache=cache)
            likely = await quick(own, cases, chunks=3, depths=3, fixed=True, cache=cache)  # type: ignore[arg-type]
        results.append((found.lengths[0].questions, likely))
        assert found.calls == (15 if len(results) == 1 else 0)
        assert len(likely.questions) == 3
        await own.aclose()
    assert results[0] == results[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small model."""
    path = tmp_path_factory.mktemp("tiny") / "model"
    llama().save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


async def test_a_folder_is_loaded_at_the_first_call(folder: Path) -> None:
    own = as_model(f"hf:{folder}", max_tokens=12)
    assert isinstance(own, Checkpoint)
    assert (own.name, own._opened) == (f"hf:{folder}", None)
    assert (await own.ask("Anna lives in")).text == (await asked().ask("Anna lives in")).text
    assert float((await own.force("Anna lives in", "Oslo")).text) < 0
    await own.aclose()
    assert own._opened is None


async def test_what_cannot_be_loaded_ends_the_run(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"hf:nowhere is neither a folder with a config\.json nor a GGUF file; download"
    ):
        as_model("hf:nowhere")
    with pytest.raises(ModelError, match="is neither a folder"):
        as_model(f"hf:{tmp_path}")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    own = as_model(f"hf:{tmp_path}")
    with pytest.raises(ModelError, match=r"cannot be loaded: \w+: .+") as caught:
        await own.ask("x")
    assert "\n" not in str(caught.value)
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match=r"model\.gguf cannot be loaded"):
        await as_model(f"hf:{file}").ask("x")
    with pytest.raises(ValueError, match="api_key has no effect"):
        as_model(f"hf:{folder}", api_key="k")
    assert as_model("hf:m", base_url="http://127.0.0.1:9").name == "hf:m"  # a name at an endpoint


def test_other_files_under_the_same_path_are_another_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    before = as_model(f"hf:{tmp_path}").settings
    (tmp_path / "model.safetensors").write_bytes(b"1")
    assert as_model(f"hf:{tmp_path}").settings != before


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").touch()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "accelerate", None)
        with pytest.raises(ImportError, match=r"accelerate is not installed; run: pip install 'edgeorder\[gguf\]'"):
            as_model(f"hf:{tmp_path}/model.gguf")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"transformers is not installed; run: pip install 'edgeorder\[hf\]'"):
        as_model(f"hf:{tmp_path}")


@pytest.mark.parametrize("quickly", [[], ["--quick"]])
def test_the_command_takes_a_folder(
    folder: Path, quickly: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from edgeorder.cli import main

    line = ["edgeorder", "probe", "--model", f"hf:{folder}", "--questions", "2", "--chunks", "3", "--depths", "3"]
    monkeypatch.setattr("sys.argv", [*line, "--fixed", "--max-tokens", "3", *quickly])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr().out
    assert ended.value.code in (0, None)
    assert ("by the log-probability of the right answer" in shown) == bool(quickly)
    assert "3 chunks" in shown


async def test_half_precision_is_asked_as_well() -> None:
    own = HFModel(llama().to(torch.bfloat16), tokenizer(), "tiny", 4)
    assert (await own.ask("Anna lives in")).usable
    assert own.settings["dtype"] == "torch.bfloat16"
