"""Does a fix inside the model make reordering needless? Ms-PoE on a small model, probed before and after.

Ms-PoE (arXiv:2403.04797) lets some attention heads see the tokens closer together than they are: the positions that
RoPE turns queries and keys by are divided by a ratio, from 1.2 to 1.8, of each head's own. Here it is an attention
function of transformers. Queries and keys arrive turned, so each head's are turned once more, by what is missing.

Needs the extras `gguf` and `local`. Some minutes on two cores.
Run it: `python examples/model_side_fix.py [--questions 40] [--figure curves.svg] [--cache FILE]`.
"""

import argparse
import asyncio
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from edgeorder.intervals import paired
from edgeorder.probe import AnswerCache, ProbeResult, as_model, load_cases, probe
from edgeorder.probe.checkpoint import load
from edgeorder.probe.local import model_file
from edgeorder.probe.plots import save_figure

LEAST, MOST = 1.2, 1.8  # ratios
CHUNKS, DEPTHS, MAX_TOKENS = 10, 5, 16
TOO_WIDE = 0.20  # an interval that says nothing
NAME = "ms_poe"


class MsPoE:
    """The attention of a model whose heads each have a ratio.

    Args:
        model: A model with rotary positions that turn the two halves of a head against each other, as most do.
        ratios: By layer, a ratio for each of its heads.
    """

    def __init__(self, model: Any, ratios: dict[int, torch.Tensor]) -> None:
        parameters = model.config.rope_parameters
        base = parameters.get("full_attention", parameters)["rope_theta"]
        half = torch.arange(0, model.config.head_dim, 2) / model.config.head_dim
        self._frequencies = base**-half
        self._ratios = ratios

    def __call__(self, module: Any, query: Any, key: Any, value: Any, mask: Any, **more: Any) -> tuple[Any, None]:
        """Attend as scaled dot products do, each head with its own positions."""
        groups = query.shape[1] // key.shape[1]
        key, value = (part.repeat_interleave(groups, 1) for part in (key, value))
        asked, known = query.shape[2], key.shape[2]
        ratios = self._ratios.get(module.layer_idx)
        if ratios is not None:
            query, key = self._turned(query, known - asked, ratios), self._turned(key, 0, ratios)
        causal = mask is None and asked > 1
        found = scaled_dot_product_attention(query, key, value, mask, scale=more["scaling"], is_causal=causal)
        return found.transpose(1, 2).contiguous(), None

    def _turned(self, heads: Any, first: int, ratios: Any) -> Any:
        """Turn what was turned by its position on to that of its head, position / ratio."""
        positions = torch.arange(first, first + heads.shape[2])
        angles = (1 / ratios - 1)[:, None, None] * positions[:, None] * self._frequencies
        angles = torch.cat([angles, angles], -1)
        one, other = heads.chunk(2, -1)
        return heads * angles.cos() + torch.cat([-other, one], -1) * angles.sin()


def full_layers(model: Any) -> list[int]:
    """Return the layers that see the whole prompt: those that see only a window are left alone."""
    kinds = getattr(model.config, "layer_types", None) or ["full_attention"] * model.config.num_hidden_layers
    return [layer for layer, kind in enumerate(kinds) if kind == "full_attention"]


def ratios_by_awareness(model: Any, tokens: Any) -> dict[int, torch.Tensor]:
    """Return ratios from 1.2 to 1.8 in each layer, the smallest for the head that is most aware of positions.

    A head is taken to be aware of them by how many tokens stand out in what the last token of a prompt looks at; the
    first token is left out, as it takes what is meant for none.
    """
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    looks = model(tokens, output_attentions=True).attentions
    model.set_attn_implementation(before)
    found = {}
    for layer in full_layers(model):
        last = looks[layer][0, :, -1, 1:]
        stands_out = (last > last.mean(-1, keepdim=True) + 3 * last.std(-1, keepdim=True)).float().mean(-1)
        ranks = stands_out.argsort(descending=True, stable=True).argsort()
        found[layer] = LEAST + (MOST - LEAST) * ranks / max(len(ranks) - 1, 1)
    return found


def use(model: Any, ratios: dict[int, torch.Tensor]) -> None:
    """Let a model attend with these ratios."""
    AttentionInterface.register(NAME, MsPoE(model, ratios))
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)


def check(model: Any, tokens: Any) -> None:
    """Assert that a ratio of 1 in all heads is the plain model, to the last digit."""
    plain = model(tokens).logits
    use(model, {layer: torch.ones(model.config.num_attention_heads) for layer in full_layers(model)})
    assert torch.equal(model(tokens).logits, plain), "a ratio of 1 changes the model"
    model.set_attn_implementation("sdpa")


async def measure(questions: int, cache: AnswerCache | None) -> tuple[ProbeResult, ProbeResult]:
    """Probe the model as it is and with Ms-PoE, on the same questions."""
    model, tokenizer = load(model_file())
    cases = load_cases("facts", questions, CHUNKS)
    settings: dict[str, Any] = {"chunks": (CHUNKS,), "depths": DEPTHS, "stop": "fixed", "cache": cache}
    with torch.inference_mode():
        tokens = tokenizer("\n".join(case.gold.text for case in cases[:20]), return_tensors="pt")["input_ids"]
        check(model, tokens)
        ratios = ratios_by_awareness(model, tokens)
    before = await probe(as_model(model, tokenizer, max_tokens=MAX_TOKENS), cases, **settings)
    use(model, ratios)
    fixed = as_model(model, tokenizer, name=f"Ms-PoE, {LEAST} to {MOST}", max_tokens=MAX_TOKENS)
    after = await probe(fixed, cases, **settings)
    for layer, own in ratios.items():
        print(f"layer {layer}: ratios {', '.join(f'{ratio:.2f}' for ratio in own.tolist())}")
    return before, after


def report(before: ProbeResult, after: ProbeResult) -> None:
    """Print both curves and what the paired differences say."""
    (old,), (new,) = before.lengths, after.lengths
    assert [question.case for question in old.questions] == [question.case for question in new.questions]
    print(f"{len(old.questions)} questions, {old.chunks} chunks; right answers:")
    rows = [
        [b - a for a, b in zip(was.right, is_now.right, strict=True)]
        for was, is_now in zip(old.questions, new.questions, strict=True)
    ]
    for depth, position in enumerate(old.positions):
        was, is_now = (length.shares[depth].value or 0 for length in (old, new))
        print(f"  position {position:2}: {was:.1%} -> {is_now:.1%}, {words([row[depth] for row in rows])}")
    print(f"  all depths : {words([sum(row) / len(row) for row in rows])}")
    middle = len(old.positions) // 2
    dips = [row[middle] - (row[0] + row[-1]) / 2 for row in rows]
    print(f"  the middle against both ends: {words(dips)}")


def words(differences: list[float]) -> str:
    """Return in words what the paired differences of accuracy, one a question, say."""
    mean, low, high = paired(differences)
    verdict = (
        "cannot tell"
        if high - low > TOO_WIDE
        else "better"
        if low > 0
        else "worse"
        if high < 0
        else "no difference shown"
    )
    return f"{100 * mean:+.1f} points (95 % interval {100 * low:+.1f} to {100 * high:+.1f}): {verdict}"


def draw(before: ProbeResult, after: ProbeResult, path: Path) -> None:
    """Draw both curves, with the 95 % intervals of the shares."""
    figure = Figure((6, 3.4), layout="constrained", label="Right answers by position, before and after Ms-PoE")
    axes = figure.subplots()
    for result, name, aside in ((before, "as it is", -0.06), (after, "with Ms-PoE", 0.06)):
        (length,) = result.lengths
        shares = [share.value or 0 for share in length.shares]
        reach = [
            [max(value - share.interval[0], 0) for value, share in zip(shares, length.shares, strict=True)],
            [max(share.interval[1] - value, 0) for value, share in zip(shares, length.shares, strict=True)],
        ]
        axes.errorbar([at + aside for at in length.positions], shares, reach, marker="o", capsize=3, label=name)
    axes.set(xlabel="position of the passage, 1 = head", ylabel="right answers", ylim=(0, 1))
    axes.legend(frameon=False)
    save_figure(figure, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Probe a model as it is and with Ms-PoE.")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    results = asyncio.run(measure(options.questions, options.cache and AnswerCache(options.cache)))
    report(*results)
    if options.figure:
        draw(*results, options.figure)
