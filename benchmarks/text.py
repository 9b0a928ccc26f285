"""What is left of texts: `python benchmarks/text.py`, or `python benchmarks/text.py cases 100000 [first seed]`.

The first measures what `overflow="compress"` keeps, beside dropping whole chunks and beside `trimwise`; figures on real
questions need `nq-retrieved.jsonl.gz` in $EDGEORDER_DATA. The second tries generated documents of every kind with every
counter.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

sys.path.extend(str(Path(__file__).parents[1] / "tests" / folder) for folder in ("", "text", "core"))
from datafiles import NQ_RETRIEVED, rows
from handbook import HANDBOOK

from edgeorder import Budget, Chunk, place, tiktoken_counter

BUDGETS = (300, 500, 1000, 1500)
COUNT = tiktoken_counter("o200k_base")
NAMES = ("Oslo", "Rome", "Paris", "Lyon", "Turin", "Bonn", "Graz", "Bern", "Porto", "Vigo", "Lodz", "Brno", "Riga")


def questions() -> list[dict[str, Any]]:
    return rows(NQ_RETRIEVED)


def table(random: Random) -> tuple[str, str, str]:
    """Return a table, a question for one row of it, and that row."""
    names = [f"{random.choice(NAMES)} {number}" for number in range(random.randint(20, 60))]
    rows = [f"| {name} | {random.randint(50, 400)} | 20{random.randint(10, 26)} |" for name in names]
    asked = random.randrange(len(rows))
    text = "\n".join(["Limits by city.", "", "| city | limit | since |", "|---|---|---|", *rows])
    return text, f"What is the limit for {names[asked]}?", rows[asked]


def code(random: Random) -> tuple[str, str, str]:
    """Return functions, a question for one of them, and the line that answers it."""
    verbs, things = (
        ("load", "parse", "merge", "send", "check"),
        ("invoice", "order", "refund", "ticket", "report", "user"),
    )
    names = random.sample([f"{verb}_{thing}" for verb in verbs for thing in things], 12)
    asked, limit = random.choice(names), {name: random.randint(2, 99) for name in names}
    parts = [
        f"def {name}(path, session):\n    data = session.read(path)\n    data.validate()\n"
        f"    for attempt in range({limit[name]}):\n        data.retry(attempt)\n    return data.close()"
        for name in names
    ]
    fence = ("```python\n", "\n```") if random.random() < 0.5 else ("", "")
    return "\n\n\n".join(parts).join(fence), f"How often does {asked} retry?", f"range({limit[asked]})"


def bullets(random: Random) -> tuple[str, str, str]:
    """Return a nested list, a question for one item, and that item."""
    lines, asked = [], []
    for number in range(10):
        team = f"{random.choice(NAMES)} team {number}"
        lines.append(f"- {team}:")
        for what in ("hotel", "meal", "taxi"):
            lines.append(f"  - the {what} limit is {random.randint(20, 300)} euros a day")
            asked.append((f"What is the {what} limit of the {team}?", team, lines[-1]))
    question, team, line = random.choice(asked)
    return "Limits by team:\n\n" + "\n".join(lines), question, f"{team}|{line}"


def transcript(random: Random) -> tuple[str, str, str]:
    """Return a conversation, a question for one turn, and that turn."""
    things = [f"{thing} {number}" for thing in ("invoice", "ticket", "contract") for number in range(40)]
    topics = random.sample(things, 40)
    turns = [
        f"{random.choice(('Anna', 'Bob', 'Carla'))}: I looked at {topic} and with the customer we settled it last week "
        f"for {random.randint(100, 999)} euros"
        for topic in topics
    ]
    asked = random.randrange(40)
    return "\n".join(turns), f"What was {topics[asked]} settled for?", turns[asked]


def array(random: Random) -> tuple[str, str, str]:
    """Return JSON, a question for one entry, and the value that answers it."""
    rows = [
        {"city": f"{random.choice(NAMES)} {number}", "limit": random.randint(50, 400), "since": f"20{number % 26:02}"}
        for number in range(random.randint(20, 60))
    ]
    asked = random.choice(rows)
    value = random.choice((rows, {"count": len(rows), "rows": rows}))
    return (
        json.dumps(value, indent=random.choice((None, 2))),
        f"What is the limit of {asked['city']}?",
        f'"{asked["city"]}"',
    )


def asked_for() -> None:
    """One row, function, item, turn or entry is asked for, among real passages: is it in the block?"""
    rows = questions()
    for make, budgets in (
        (table, (300, 500, 1000)),
        (code, (500,)),
        (bullets, (500,)),
        (transcript, (500,)),
        (array, (500,)),
    ):
        for tokens in budgets:
            found = {"skip": 0, "compress": 0}
            for seed, row in enumerate(rows):
                text, query, answer = make(Random(seed))
                passages = [Chunk(chunk["text"], title=chunk["title"]) for chunk in row["chunks"]]
                chunks = [*passages[:3], Chunk(text, title="Limits"), *passages[3:]]
                for how in found:
                    block = compressed(chunks, query, tokens, how).block.text
                    header = make is not table or "| city | limit | since |\n|---|---|---|" in block
                    found[how] += header and all(
                        part in block for part in answer.split("|" if make is bullets else "\n")
                    )
            print(f"  {make.__name__:<11} {tokens:>5} tokens: " + ", ".join(f"{how} {n}" for how, n in found.items()))


def compressed(chunks: Sequence[Chunk], query: str, tokens: int, how: Any, layout: str = "numbered") -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return place(chunks, query=query, budget=Budget(tokens, overflow=how), layout=layout, reading="off")  # type: ignore[arg-type]


def survival() -> None:
    """Real questions: does the gold passage still hold an answer, how many ranks are shown, how much room is used?"""
    rows = questions()
    for layout in ("plain", "numbered"):
        for inserted in (False, True):
            for tokens in BUDGETS:
                told = []
                for how in ("skip", "compress"):
                    answered = kept = 0
                    used = 0.0
                    for seed, row in enumerate(rows):
                        chunks = [Chunk(chunk["text"], title=chunk["title"]) for chunk in row["chunks"]]
                        gold = next(number for number, chunk in enumerate(row["chunks"]) if chunk["gold"])
                        if inserted:
                            chunks.insert(3, Chunk(table(Random(seed))[0], title="Limits"))
                            gold += gold > 2
                        placement = compressed(chunks, row["question"], tokens, how, layout)
                        body = placement.texts.get(gold, chunks[gold].text) if gold in placement.indices else ""
                        answered += any(answer.casefold() in body.casefold() for answer in row["answers"])
                        kept += len(placement)
                        used += placement.tokens / tokens
                    n = len(rows)
                    told.append(f"{how} {answered} of {n}, {kept / n:.1f} ranks, {used / n:.1%} used")
                print(
                    f"  {layout:<8} {'with' if inserted else 'without'} a table, {tokens:>5} tokens: {'; '.join(told)}"
                )


def beside_trimwise() -> None:
    """The same questions with trimwise in its lexical mode, which shares one limit among all passages."""
    import llama_index.core
    from trimwise import ContextSource, Trimmer

    # Without a network: the tokenizer files that llama-index-core ships.
    shipped = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(shipped))
    trimmer = Trimmer()
    for tokens in BUDGETS:
        answered = 0
        for row in questions():
            sources = [
                ContextSource(text=chunk["text"], prefix=f"[{number}] {chunk['title']}\n")
                for number, chunk in enumerate(row["chunks"], start=1)
            ]
            found = trimmer.trim_context(
                sources, tokens, strategy="lexical", query=row["question"], token_counter=COUNT, separator="\n\n"
            )
            gold = next(number for number, chunk in enumerate(row["chunks"]) if chunk["gold"])
            body = found.sources[gold].text or ""
            answered += any(answer.casefold() in body.casefold() for answer in row["answers"])
        print(f"  trimwise, {tokens:>5} tokens: {answered} of 200")


def languages() -> None:
    """A handbook in five sections: is the rule that a question asks for still there, in 60 % of the room?"""
    for language, rules in HANDBOOK.items():
        kept = {"skip": 0, "compress": 0}
        for number, (question, rule) in enumerate(rules):
            random = Random(number)
            others = [sentence for _, sentence in rules if sentence != rule]
            random.shuffle(others)
            sections = [others[at : at + 4] for at in (0, 4, 8, 12)] + [[*others[16:], rule]]
            random.shuffle(sections[-1])
            gap = " " if language in ("Arabic", "Hindi", "Thai") else ""
            chunks = [Chunk(gap.join(section)) for section in sections]
            room = sum(COUNT(chunk.text) for chunk in chunks) * 6 // 10
            for how in kept:
                kept[how] += rule in compressed(chunks, question, room, how).block.text
        print(f"  {language:<9}: " + ", ".join(f"{how} {n} of {len(rules)}" for how, n in kept.items()))


def speed() -> None:
    """Compressing 1,000 chunks of 150 tokens into 6,000, beside counting them."""
    random = Random(1)
    words = [chunk["text"] for row in questions() for chunk in row["chunks"]]
    chunks = []
    for _ in range(1000):
        text = " ".join(random.sample(words, 3))
        while COUNT(text) > 150:
            text = text[: text.rindex(" ", 0, len(text) - 8)]
        chunks.append(Chunk(text))

    def fastest(call: Callable[[], object]) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        return min(times) * 1000

    counting = fastest(lambda: [COUNT(chunk.text) for chunk in chunks])
    question = "who played the lead role in the movie about the bank robbery"
    for how in ("skip", "compress"):
        took = fastest(lambda: compressed(chunks, question, 6000, how).block)  # noqa: B023 - called within the round
        print(f"  {how:<9}: {took:.0f} ms, {took / counting:.1f} times counting all of them ({counting:.0f} ms)")


def cases(n: int, first: int = 0) -> None:
    """Try generated documents of every kind with every counter; print what does not hold."""
    import regex
    from counters import COUNTERS
    from documents import document

    from edgeorder.shortening import longest_prefix
    from edgeorder.text.blocks import read

    start, bad, checked = time.monotonic(), 0, 0

    def check(held: bool, what: str, seed: int) -> None:
        nonlocal bad
        if not held:
            bad += 1
            print(f"  seed {seed}: {what}")

    for seed in range(first, first + n):
        random = Random(seed)
        text, name = document(random), random.choice(sorted(COUNTERS))
        count, room = COUNTERS[name], random.choice((5, 20, 64, 64, 100, 300, 1000))
        units = read(text)
        check("".join(text[unit.start : unit.stop] for unit in units) == text, "units do not join", seed)
        body = longest_prefix(text, count, room) if count(text) > room else None
        if body is not None:
            at = body.gone[0][0]
            check(count(body.text) <= room, f"{name} {room}: a beginning does not fit", seed)
            check(body.text.startswith(text[:at]), f"{name} {room}: no beginning", seed)
            if name in ("o200k_base", "cl100k_base") and room >= 64 and count(body.text) < 0.75 * room:
                rows = [u for u in units if u.kind in ("row", "header") and at - 2 <= u.stop and u.start <= at + 2]
                grapheme = regex.match(r"\s*\X", text[at:])
                atoms = [text[row.start : row.stop] for row in rows] + ([grapheme[0]] if grapheme else [])
                check(any(count(atom) > room / 4 for atom in atoms), f"{name} {room}: room is wasted", seed)
            checked += 1
        if seed % 4 == 0:
            texts = [text, *(document(random)[: random.choice((300, 10**6))] for _ in range(random.randint(0, 4)))]
            random.shuffle(texts)
            chunks, layout = [Chunk(other) for other in texts], random.choice(("plain", "numbered", "xml"))
            kept = []
            for how in ("skip", "compress"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    budget = Budget(room, count, how)  # type: ignore[arg-type]
                    placement = place(chunks, query="limit for City7?", budget=budget, layout=layout, reading="off")  # type: ignore[arg-type]
                check(not placement.text or count(placement.text) <= room, f"{name} {room} {how}: over budget", seed)
                for index, shorter in placement.texts.items():
                    gone = placement.elisions[index]
                    edges = zip([0, *(b for _, b in gone)], [*(a for a, _ in gone), len(texts[index])], strict=True)
                    check(all(texts[index][a:b].strip() in shorter for a, b in edges), "not of the original", seed)
                kept.append(set(placement.indices))
            check(
                kept[0] <= kept[1],
                f"{name} {room} {layout}: compress lost {kept[0] - kept[1]}",
                seed,
            )
            checked += 2
    print(f"{n} documents, {checked} cut or placed, {bad} bad, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["cases"]:
        cases(*map(int, sys.argv[2:]))
    else:
        for measure in (asked_for, survival, beside_trimwise, languages, speed):
            print(measure.__doc__)
            if measure is languages or questions():
                measure()
            else:
                print(f"  no {NQ_RETRIEVED} here")
