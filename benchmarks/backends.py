"""The same questions to the same weights by llama.cpp and by transformers: is it the same reader?

    python benchmarks/backends.py [--questions 40] [--chunks 10] [--depths 5] [--threads 1] [--cache FILE]

llama.cpp multiplies the weights as they are packed, and rounds what goes in; transformers unpacks them to float32. So
two tokens that are nearly as likely may change places, and no more than that. Answers are compared without the
punctuation at their ends.
"""

import argparse
import asyncio
from statistics import mean

import torch
from tables import table

from edgeorder.probe.answers import AnswerCache, ask_cached
from edgeorder.probe.checkpoint import load
from edgeorder.probe.generators import facts
from edgeorder.probe.grading import is_right
from edgeorder.probe.hf import HFModel
from edgeorder.probe.local import LocalModel, model_file
from edgeorder.probe.trials import Setup, spread, with_gold_at

MAX_TOKENS = 16


def plain(answer: str) -> str:
    """Return an answer without what stands around its words."""
    return answer.strip(" \t\n.,;:!?\"'").casefold()


async def measure(questions: int, chunks: int, depths: int, threads: int, cache: str | None) -> None:
    """Ask both everything, and print how far they are apart."""
    torch.set_num_threads(threads)
    local, own = LocalModel(MAX_TOKENS, threads), HFModel(*load(model_file()), max_tokens=MAX_TOKENS)
    kept = AnswerCache(cache) if cache else None
    positions, setup = spread(chunks, depths), Setup()
    right: dict[str, list[list[bool]]] = {"llama.cpp": [], "transformers": []}
    same, exactly = [], []
    for case in facts(questions, chunks):
        rows: dict[str, list[bool]] = {name: [] for name in right}
        for position in reversed(positions):
            prompt = setup.text(case.question, with_gold_at(case, position, chunks))
            replies = {
                "llama.cpp": await ask_cached(local, prompt, kept),
                "transformers": await ask_cached(own, prompt, kept),
            }
            assert all(reply.usable for reply in replies.values()), replies
            assert len({reply.prompt_tokens for reply in replies.values()}) == 1, replies
            for name, reply in replies.items():
                rows[name].insert(0, is_right(reply.text, case.answers).full)
            ours, theirs = (reply.text for reply in replies.values())
            same.append(plain(ours) == plain(theirs))
            exactly.append(ours == theirs)
        for name, row in rows.items():
            right[name].append(row)
    await local.aclose()
    accuracy = {name: [mean(depth) for depth in zip(*rows, strict=True)] for name, rows in right.items()}
    table(
        f"{questions} questions, {chunks} chunks, gold at {depths} depths: right answers",
        ("runtime", *(f"position {position}" for position in positions)),
        [[name, *(f"{share:.1%}" for share in shares)] for name, shares in accuracy.items()],
    )
    apart = max(abs(one - other) for one, other in zip(*accuracy.values(), strict=True))
    print(f"\nThe same answer in {sum(same)} of {len(same)} prompts ({mean(same):.1%}), ", end="")
    print(f"to the letter in {sum(exactly)}; no depth more than {100 * apart:.1f} points apart.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("questions", 40), ("chunks", 10), ("depths", 5), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--cache")
    asyncio.run(measure(**vars(parser.parse_args())))
