"""Random calls of `place`: does the block always fit, is no chunk lost, and is no room wasted?

    python benchmarks/fuzz.py [CASES] [SEED]

Budgets, counters, styles, overflows, prompts, echoes and readings are drawn at random; half of the counters behave as
badly as a counter can. Prints how many cases were tried and every one that broke a promise, with its seed.
"""

import random
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "core"))
from counters import COUNTERS

from edgeorder import Budget, BudgetError, Chunk, Layout, Placement, Prompt, place

PIECES = [
    "a",
    "refund",
    "zwölf",
    "中文字",
    "ไทย",
    "مرحبا",
    "😀",
    "\ud800",
    "\n",
    "\n\n",
    "| a | b |\n",
    "- item\n",
    "```\n",
]
PIECES += [
    ". ",
    "。",
    "<|endoftext|>",
    "[1] ",
    "<document>",
    "Dr. ",
    "C\u00a0. ",
    "   ",
    "x" * 40,
    "{0}",
    "https://a.b/c?d=e",
]
OVERFLOWS = ("skip", "stop", "truncate", "compress")


def text(draw: random.Random, most: int = 40) -> str:
    """Return a text of random pieces."""
    return "".join(draw.choice(PIECES) + draw.choice((" ", "", " ")) for _ in range(draw.randrange(most)))


def chunk(draw: random.Random) -> Chunk:
    """Return a chunk with or without templates and a place."""
    return Chunk(
        text(draw),
        score=draw.choice((None, draw.random())),
        source=draw.choice((None, "s", "t")),
        offset=draw.choice((None, draw.randrange(9))),
        head=draw.choice(("", "", "Title: x\n")),
        tail=draw.choice(("", "", "\n(end)")),
    )


def settings(draw: random.Random) -> dict[str, Any]:
    """Return random keywords of `place`, with a budget."""
    style: Any = draw.choice(("plain", "plain", "numbered", "xml"))
    separator = draw.choice(("\n\n", "\n", "\n---\n")) if style == "numbered" else draw.choice(("\n\n", " ", "", "  1"))
    return {
        "budget": Budget(
            draw.choice((draw.randint(1, 30), draw.randint(20, 200), draw.randint(100, 1500))),
            COUNTERS[draw.choice(sorted(COUNTERS))],
            draw.choice(OVERFLOWS),
            draw.choice((0, 3, "a reserve of some words")),
        ),
        "layout": Layout(style, separator, echo=draw.choice((0, 0, 1, 3))),
        "prompt": draw.choice((None, None, "after", Prompt("both", "use_all"))),
        "order": draw.choice(("auto", "bookend", "reverse", "long_context_reorder")),
        "reading": draw.choice(("runs", "source", "off")),
        "dedupe": draw.choice(("off", "off", "text", "near")),
        "top_n": draw.choice((None, None, 5)),
        "query": "How long does a refund take?",
    }


def broken(chunks: list[Chunk], keywords: dict[str, Any], placement: Placement) -> list[str]:
    """Return the promises that a placement breaks."""
    budget: Budget = keywords["budget"]
    count: Any = budget.counter
    faults = []
    reserve = budget.reserve if isinstance(budget.reserve, int) else count(budget.reserve)
    window = budget.tokens - reserve
    if placement.indices and count(placement.text) > window:
        faults.append(f"{count(placement.text)} tokens in a window of {window}")
    out = [drop.index for drop in placement.dropped]
    if sorted([*placement.indices, *out]) != list(range(len(chunks))):
        faults.append("a chunk was lost or doubled")
    if placement.block.text != placement.call.plan.layout.write(
        placement.call.view, placement.indices, placement.texts, placement.echoes
    ):
        faults.append("the block is not what was counted")
    return faults + wasted(keywords, placement)


def wasted(keywords: dict[str, Any], placement: Placement) -> list[str]:
    """Return the chunks that were dropped for the budget although what is left would hold them.

    Judged where a text costs what its parts cost; with other counters it takes the joined text to tell.
    """
    budget: Budget = keywords["budget"]
    weighed = placement.settled.weighed
    if budget.overflow == "stop" or weighed is None or budget.counter is not COUNTERS["words"] or placement.echoes:
        return []
    layout, words = keywords["layout"], COUNTERS["words"]
    more = words(layout.separator) if placement.indices else words(layout.join(["x"])) - 1
    fits = [drop.rank for drop in placement.dropped if drop.tokens is not None and drop.tokens + more <= weighed.left]
    return [f"room for ranks {fits}, {weighed.left} left"] if fits else []


def main(cases: int, seed: int) -> int:
    """Try the cases; return how many broke a promise."""
    warnings.simplefilter("ignore")
    bad = refused = 0
    started = shown = time.monotonic()
    for case in range(cases):
        draw = random.Random(seed * 10**9 + case)
        chunks = [chunk(draw) for _ in range(draw.choice((0, 1, 3, 8, 14, 25)))]
        keywords = settings(draw)
        try:
            faults = broken(chunks, keywords, place(chunks, **keywords))
        except BudgetError:
            refused += 1
            continue
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic in a compiled library is no Exception
            faults = [f"{type(error).__name__}: {error}"]
        if faults:
            bad += 1
            print(f"case {case} of seed {seed}: {'; '.join(faults)}", flush=True)
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            print(f"{case + 1:,} of {cases:,}, {bad} bad", file=sys.stderr, flush=True)
    print(
        f"{cases:,} cases in {time.monotonic() - started:.0f} s: {bad} bad, {refused} with no room for the reserve "
        "(BudgetError)"
    )
    return bad


if __name__ == "__main__":
    numbers = [int(value) for value in sys.argv[1:]]
    sys.exit(bool(main(*{0: (100_000, 1), 1: (*numbers, 1), 2: numbers}[len(numbers)])))
