"""Can ten prompts' attention replace a probe? The attention to each passage, taken for a profile, and what it is worth.

Attention sorting and calibration (arXiv:2310.01427, 2406.16008) read off a model's attention how it favours positions.
Here the attention of the last token, which speaks next, is summed up by passage over ten prompts: once over all layers
and once over those that see the whole prompt. Positions that get most are filled first. The orders that follow stand
beside the probe's own. That is learned from half of the questions and judged by the other half, both ways round.

Needs the extras `gguf` and `local`. Some minutes on two cores.
Run it: `python examples/attention_profile.py [--questions 40] [--cache FILE]`.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from model_side_fix import words

from edgeorder.orders import ORDERS, by_accuracy
from edgeorder.probe import AnswerCache, Case, ProbeResult, Setup, as_model, load_cases, probe
from edgeorder.probe.checkpoint import load
from edgeorder.probe.curves import CurvePosterior, geometric
from edgeorder.probe.local import model_file
from edgeorder.probe.trials import with_gold_at

CHUNKS, DEPTHS, MAX_TOKENS = 10, 5, 16
PROMPTS = 10
SHUFFLES = 200


def attention_by_position(model: Any, tokenizer: Any, cases: Sequence[Case]) -> dict[str, list[float]]:
    """Return the share of the passages' attention that each position gets, by the layers that are looked at."""
    kinds = getattr(model.config, "layer_types", None) or ["full_attention"] * model.config.num_hidden_layers
    chosen = {
        "attention, all layers": list(range(len(kinds))),
        "attention, full layers": [layer for layer, kind in enumerate(kinds) if kind == "full_attention"],
    }
    found = {name: np.zeros(CHUNKS) for name in chosen}
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")  # the one that shows what it looks at
    for number, case in enumerate(cases):  # the gold passage at each position once, so that its own pull evens out
        looks, spans = looks_of(model, tokenizer, case, number % CHUNKS + 1)
        for name, layers in chosen.items():
            seen = torch.stack([looks[layer] for layer in layers]).mean(0)
            shares = np.array([float(seen[first:last].sum()) for first, last in spans])
            found[name] += shares / shares.sum() / len(cases)
    model.set_attn_implementation(before)
    return {name: shares.tolist() for name, shares in found.items()}


def looks_of(model: Any, tokenizer: Any, case: Case, position: int) -> tuple[list[Any], list[tuple[int, int]]]:
    """Return by layer what the last token looks at, its heads' mean, and from where to where passages go, in tokens."""
    passages = with_gold_at(case, position, CHUNKS)
    prompt = Setup().text(case.question, passages)
    read = tokenizer(prompt, return_tensors="pt", return_offsets_mapping=True)
    ends = [last for _, last in read["offset_mapping"][0].tolist()]
    spans, after = [], 0
    for passage in passages:
        start = prompt.index(passage.text, after)
        after = start + len(passage.text)
        spans.append((sum(end <= start for end in ends), sum(end < after for end in ends) + 1))
    with torch.inference_mode():
        looks = model(read["input_ids"], output_attentions=True).attentions
    return [layer[0, :, -1].mean(0) for layer in looks], spans


def accuracies(result: ProbeResult, order: Sequence[int]) -> np.ndarray:
    """Return each question's expected accuracy under an order, its gold chunk at ranks as retrievers give them."""
    (length,) = result.lengths
    slots = np.linspace(0, 1, CHUNKS)
    gold = geometric(CHUNKS)[list(order)]
    return np.array([np.interp(slots, length.depths, question.right) @ gold for question in length.questions])


def learned(result: ProbeResult) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Return each question's accuracy under the order that the other half of the questions taught, and both orders."""
    (length,) = result.lengths
    half = len(length.questions) // 2
    found, orders = np.zeros(len(length.questions)), []
    for known, judged in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        posterior = CurvePosterior(length.depths)
        posterior.update([question.right for question in length.questions[known]])
        orders.append(posterior.best_order(CHUNKS))
        found[judged] = accuracies(result, orders[-1])[judged]
    return found, orders


def report(result: ProbeResult, attention: dict[str, list[float]]) -> None:
    """Print each order, and its accuracy beside those of bookend and of the probe's."""
    (length,) = result.lengths
    print("Right answers by position: ", end="")
    print(", ".join(f"{at}: {share.value:.0%}" for at, share in zip(length.positions, length.shares, strict=True)))
    for name, shares in attention.items():
        print(f"{name}, % by position: {' '.join(f'{100 * share:.0f}' for share in shares)}")
    known, own = learned(result)
    orders = {name: [by_accuracy(shares)] for name, shares in attention.items()}
    orders |= {name: [tuple(ORDERS[name](CHUNKS))] for name in ("bookend", "relevance")}
    draw = np.random.default_rng(0)
    shuffled = np.mean([accuracies(result, draw.permutation(CHUNKS)) for _ in range(SHUFFLES)], axis=0)
    found = {"the probe's": known, **{name: accuracies(result, order) for name, (order,) in orders.items()}}
    found["shuffled"] = shuffled
    print(f"Expected accuracy on {len(length.questions)} questions:")
    for name, values in found.items():
        shown = " or ".join(str([rank + 1 for rank in order]) for order in {"the probe's": own, **orders}.get(name, []))
        print(f"  {name}: {values.mean():.1%} {shown and 'by ranks ' + shown}")
        for rival in ("bookend", "the probe's"):
            if rival != name:
                print(f"    against {rival}: {words((values - found[rival]).tolist())}")


async def main(questions: int, cache: AnswerCache | None) -> None:
    """Probe the model, look at its attention, and compare the orders."""
    model, tokenizer = load(model_file())
    cases = load_cases("facts", questions + PROMPTS, CHUNKS)
    asked, looked_at = cases[:questions], cases[questions:]
    attention = attention_by_position(model, tokenizer, looked_at)
    own = as_model(model, tokenizer, max_tokens=MAX_TOKENS)
    report(await probe(own, asked, chunks=(CHUNKS,), depths=DEPTHS, stop="fixed", cache=cache), attention)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare a profile read off attention with a probe.")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    asyncio.run(main(options.questions, options.cache and AnswerCache(options.cache)))
