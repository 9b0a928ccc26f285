"""The examples of fixes inside the model, on small models and made-up results: they run in full only by hand."""

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers", reason="needs the extra 'hf'")
pytest.importorskip("torch", reason="needs the extra 'hf'")

import torch
from samples import DIP, FLAT, length_result, probe_result
from tiny import gemma, llama, tokenizer

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import attention_profile
import model_side_fix

from edgeorder.probe.generators import facts

MADE = pytest.mark.parametrize("make", [llama, gemma])
TOKENS = torch.arange(3, 33)[None]


@MADE
@torch.inference_mode()
def test_a_ratio_of_one_is_the_plain_model(make: Callable[[], Any]) -> None:
    """To the last digit, as the example asserts itself; any other ratio is another model."""
    model = make()
    plain = model(TOKENS).logits
    model_side_fix.check(model, TOKENS)
    ratios = {layer: torch.full((4,), 1.5) for layer in model_side_fix.full_layers(model)}
    model_side_fix.use(model, ratios)
    assert not torch.allclose(model(TOKENS).logits, plain, atol=1e-3)


@torch.inference_mode()
def test_a_ratio_divides_the_positions() -> None:
    """The same ratio in all heads is the plain model at positions that are so much closer together."""
    model = llama()
    near = model(TOKENS, position_ids=torch.arange(30)[None] / 1.5).logits
    model_side_fix.use(model, {layer: torch.full((4,), 1.5) for layer in range(3)})
    assert torch.allclose(model(TOKENS).logits, near, atol=1e-3)
    found = model(TOKENS[:, :20], use_cache=True)
    rest = model(TOKENS[:, 20:], cache=found.cache).logits  # taken up after a prefix
    assert torch.allclose(rest, near[:, 20:], atol=1e-3)


@MADE
@torch.inference_mode()
def test_each_full_layer_gets_all_ratios(make: Callable[[], Any]) -> None:
    model = make()
    found = model_side_fix.ratios_by_awareness(model, TOKENS)
    assert list(found) == model_side_fix.full_layers(model) == ([2] if make is gemma else [0, 1, 2])
    assert all(sorted(ratios.tolist()) == pytest.approx([1.2, 1.4, 1.6, 1.8]) for ratios in found.values())
    assert model.config._attn_implementation == "sdpa"


def test_the_attention_of_passages() -> None:
    """Each passage's tokens are its own, head first; shares are of all passages."""
    words = tokenizer()
    (case,) = facts(1, 10)
    looks, spans = attention_profile.looks_of(_eager(llama()), words, case, 3)
    assert len(looks) == 3
    assert [len(look) for look in looks] == [len(looks[0])] * 3
    assert spans[2][1] - spans[2][0] == len(case.gold.text)
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    shares = attention_profile.attention_by_position(gemma(), words, facts(2, 10))
    assert [len(own) for own in shares.values()] == [10, 10]
    assert all(sum(own) == pytest.approx(1) for own in shares.values())


def _eager(model: Any) -> Any:
    model.set_attn_implementation("eager")
    return model


def test_the_reports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A difference that is there is told, and so is what cannot be."""
    dip = probe_result(length_result(10, 60, DIP))
    flat = probe_result(length_result(10, 60, FLAT))
    few = probe_result(replace(dip.lengths[0], questions=dip.lengths[0].questions[:5]))
    model_side_fix.report(dip, dip)
    assert capsys.readouterr().out.count(": no difference shown") == len(dip.lengths[0].positions) + 2
    model_side_fix.report(few, few)
    assert "no difference" not in capsys.readouterr().out
    model_side_fix.draw(dip, flat, tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text().startswith("<svg")
    attention_profile.report(dip, {"attention, all layers": [0.1] * 10})
    shown = capsys.readouterr().out
    assert "Expected accuracy on 60 questions" in shown
    assert shown.count("against bookend") == 4
    assert attention_profile.words([1.0, -1.0] * 5).endswith("cannot tell")
    assert attention_profile.words([0.2] * 60).endswith("better")
    assert model_side_fix.words([-0.2] * 60).endswith("worse")
