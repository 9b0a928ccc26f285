"""Each example is run as a user runs it: as a script, from another folder, with nothing but its output to judge by."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
CELL = re.compile(r"([\d-]+) +(> )?(\d+) +[╭│╰]? *([a-z-]+ §\d+) +(\(?\d+\)?)")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def run(elsewhere):
    """Run an example with every warning an error, and return what it printed."""
    colour = {"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
    environment = {name: value for name, value in os.environ.items() if name not in colour}
    environment["PYTHONIOENCODING"] = "utf-8"

    def run(name: str, *flags: str) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", *flags, str(EXAMPLES / name)],
            cwd=elsewhere,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.fixture(scope="module")
def quickstart(run):
    return run("quickstart.py")


def rows_of(quickstart: str, title: str) -> list[re.Match[str]]:
    """Return the rows of a table of the quickstart, which stands right of others."""
    lines = quickstart.splitlines()
    top = next(number for number, line in enumerate(lines) if title in line)
    rule = lines[top + 2]
    left = {"LongContextReorder sends": 1, "EdgeOrder sends": 2}[title]
    start = [match.start() for match in re.finditer("─+", rule)][left]
    end = ([match.end() for match in re.finditer("─+", rule)])[left]
    cells = [CELL.fullmatch(line[start:end].strip()) for line in lines[top + 3 :]]
    return [cell for cell in cells if cell]


def number_after(text: str, before: str) -> int:
    """Return the first number after a piece of text."""
    match = re.search(re.escape(before) + r"\D*([\d,]+)", text)
    assert match, f"no number after {before!r}"
    return int(match[1].replace(",", ""))


def test_quickstart_fits_100_columns(quickstart):
    """No line of the output is wider than 100 characters, so the tables stand side by side."""
    assert max(map(len, quickstart.splitlines())) <= 100


def test_quickstart_best_chunk_first_with_edgeorder(quickstart):
    """EdgeOrder's table starts with rank 1 at position 0 and ends with rank 2."""
    sent = [row for row in rows_of(quickstart, "EdgeOrder sends") if row[1] != "-"]
    assert (sent[0][1], sent[0][2], sent[0][3]) == ("0", "> ", "1")
    assert sent[-1][3] == "2"


def test_quickstart_best_chunk_last_with_long_context_reorder(quickstart):
    """LongContextReorder, given 20 chunks, sends all of them, rank 2 first and rank 1 last."""
    ranks = [int(row[3]) for row in rows_of(quickstart, "LongContextReorder sends")]
    assert sorted(ranks) == list(range(1, 21))
    assert (ranks[0], ranks[-1]) == (2, 1)


def test_quickstart_keeps_the_budget_and_loses_nothing(quickstart):
    """What EdgeOrder sends fits 2,000 tokens, what LongContextReorder sends does not; every rank is sent or dropped."""
    rows = rows_of(quickstart, "EdgeOrder sends")
    sent = [row for row in rows if row[1] != "-"]
    dropped = [row for row in rows if row[1] == "-"]
    total = number_after(quickstart, "EdgeOrder           best chunk at position 0 of 11;")
    assert sum(int(row[5]) for row in sent) <= total <= 2000
    assert sorted(int(row[3]) for row in rows) == list(range(1, 21))
    assert max(int(row[3]) for row in sent) < min(int(row[3]) for row in dropped)
    assert all(row[5].startswith("(") for row in dropped)
    assert number_after(quickstart, "LongContextReorder  best chunk at position 19 of 19;") > 2000


def test_quickstart_reads_neighbours_in_document_order(quickstart):
    """Neighbouring sections stand together in the order of their document, whatever their ranks."""
    names = [row[4] for row in rows_of(quickstart, "EdgeOrder sends")]
    at = names.index("approvals §1")
    assert names[at : at + 3] == ["approvals §1", "approvals §2", "approvals §3"]


def test_quickstart_source_order(quickstart):
    """With reading="source", sections 4, 1, 7 of one document become 1, 4, 7."""
    assert "hotels §4, hotels §1, hotels §7  ->  hotels §1, hotels §4, hotels §7" in quickstart


def test_quickstart_says_why(quickstart):
    """The order, the reason for it and the reason for each drop are said in words."""
    assert re.search(r"its order +bookend, because: long block", quickstart)
    assert re.search(r"dropped +did not fit the budget: rank 13, 14", quickstart)


def test_langchain_chain(run):
    """The model sees the sections in the order of the record, rank 1 first, within the room; the answer comes out."""
    out = run("langchain_chain.py")
    seen = out.split("What the model saw:")[1].split("Question:")[0]
    assert seen.index("Hotel limits in listed cities") < seen.index("Paying more than a hotel limit")
    placed = re.findall(r"^ +(\d+) +(\d+) +(\d+)  \S+ §\d+$", out, re.MULTILINE)
    assert placed[0][:2] == ("0", "1")
    used, room = re.search(r"(\d+) tokens in a room of (\d+)", out).groups()
    assert sum(int(tokens) for _, _, tokens in placed) <= int(used) <= int(room) < 7500
    assert len(re.findall(r"^The answer: €290", out, re.MULTILINE)) == 2
    ranks = [int(rank) for _, rank, _ in placed]
    assert f"The placement: Placement(bookend: ranks {ranks}" in out


def test_langchain_agent(run):
    """The tool message holds at most 8 sections, in the order that the record says, and the record names the rest."""
    out = run("langchain_agent.py")
    message = out.split("in this order:\n")[1].split("\n\n")[0].split("\n")
    sections = [line.strip() for line in message]
    sent = re.search(r"sent: +(.*)", out)[1]
    assert sections == re.findall(r"[a-z-]+ §\d+", sent)
    assert 1 < len(sections) <= 8
    assert sections[0] in sent.split(" (rank 1)")[0]
    assert "rank 9 (top_n)" in out
    assert number_after(out, "bytes), ") <= 4000


def test_langchain_citations(run):
    """The prompt has the question on both sides of numbered passages; what the answer cites is marked as a source."""
    out = run("langchain_citations.py")
    seen, rest = out.split("\nThe answer: ")
    assert seen.count("Question: What may a hotel in Geneva cost during a trade fair?") == 2
    labels = re.findall(r"^  \[(\d+)\] (.+) - (\S+) \(p\. (\d+)\)$", seen, re.MULTILINE)
    answer, rest = rest.split("\n\nIts sources:\n")
    sources = re.findall(r"^  ([* ]) \[(\d+)\] (.+), (\S+), p\. (\d+)$", rest, re.MULTILINE)
    assert len(labels) > 4
    assert [int(number) for number, *_ in labels] == list(range(1, len(labels) + 1))
    assert [tuple(source[1:]) for source in sources] == labels
    cited = [source for source in sources if source[0] == "*"]
    assert [source[1] for source in cited] == re.findall(r"\[(\d+)\]", answer)
    assert f"Cited documents: {', '.join(f'{name} §{page}' for *_, name, page in cited)}\n" in rest
    assert cited[0][3:] == ("hotels", "4")  # the section that the answer is in


def test_langchain_passes(run):
    """Three passes or more, each inside its tokens, best ranks first; what each cites is a source of the answer."""
    out = run("langchain_passes.py")
    passes = re.findall(
        r"^A pass of (\d+) tokens\n +numbers: (.+)\n +ranks: +(.+)\n +note: +(.+ \[(\d+)\]\.)$", out, re.MULTILINE
    )
    assert len(passes) >= 3
    assert all(int(tokens) <= 2400 for tokens, *_ in passes)
    numbers = [[int(number) for number in one[1].split(", ")] for one in passes]
    assert [number for one in numbers for number in one] == list(range(1, 16))
    ranks = [sorted(int(rank) for rank in one[2].split(", ")) for one in passes]
    assert [rank for one in ranks for rank in one] == list(range(1, 16))
    answer, sources = out.split("\nThe answer: ")[1].split("\n\nIts sources:\n")
    assert answer == " ".join(one[3] for one in passes)
    cited = [one[4] for one in passes]
    assert all(int(number) in own for number, own in zip(cited, numbers, strict=True))
    assert re.findall(r"^  \[(\d+)\] [a-z-]+ §\d+ \(.+\)$", sources, re.MULTILINE) == cited


def test_langchain_middleware(run):
    """The tool message is numbered and fits the room that the conversation leaves; the answer's [n] is the n-th."""
    out = run("langchain_middleware.py")
    labels = re.findall(r"^  \[(\d+)\] .+ - ([a-z-]+)$", out, re.MULTILINE)
    assert [int(number) for number, _ in labels] == list(range(1, len(labels) + 1))
    assert len(labels) == len(re.search(r"ranks: +(.*)", out)[1].split(", ")) > 4
    used, room = re.search(r"(\d+) tokens in a room of (\d+)", out).groups()
    assert int(used) <= int(room) < 3600
    [section] = re.findall(r"^  it cites ([a-z-]+) §\d+$", out, re.MULTILINE)
    number = re.search(r"\[(\d+)\] \(scripted\)", out)[1]
    assert (number, section) in labels
    assert "rank 12 (budget)" in out


def test_langchain_conversation(run):
    """Ten turns whose results overlap: pointers save 40 % at least, and every number leads to a section above."""
    out = run("langchain_conversation.py")
    rows = re.findall(r"^ +(\d+) +(\d+) +(\d+) +([\d,]+) +([\d,]+) +[a-z-]+ §\d+$", out, re.MULTILINE)
    assert [int(row[0]) for row in rows] == list(range(1, 11))
    sent, pointed = (sum(int(row[at].replace(",", "")) for row in rows) for at in (3, 4))
    assert pointed <= 0.6 * sent
    assert 6 <= sum(int(row[2]) for row in rows[1:]) / 9 < 10
    given, whole = re.search(r"Numbers given: (\d+); sections .* whole: (\d+)", out).groups()
    assert int(given) == int(whole) > 10


WITHOUT_TOKENIZER = [
    "langchain_agent.py",
    "langchain_chain.py",
    "langchain_citations.py",
    "langchain_conversation.py",
    "langchain_middleware.py",
    "langchain_passes.py",
    "llamaindex_agent.py",
    "rerank.py",
]


@pytest.mark.parametrize("name", WITHOUT_TOKENIZER)
def test_no_tokenizer_is_needed(name):
    """What says that it needs no network and no tokenizer counts with `approximate_counter`."""
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    assert "It needs no network and no tokenizer" in source
    assert "approximate_counter()" in source
    extras = re.search(r"pip install 'edgeorder\[([a-z,]+)\]'", source)[1].split(",")
    assert ("agents" in extras) == ("from langchain." in source)


def test_llamaindex_agent(run):
    """All searches of a run fit its window, numbers stay over the turns, and citations lead to what they name."""
    out = run("llamaindex_agent.py", "-W", "ignore::DeprecationWarning")  # LlamaIndex uses pydantic's old names
    names: dict[str, str] = {}
    for number, title in re.findall(r"^    \[(\d+)\] (.+)$", out, re.MULTILINE):
        assert names.setdefault(number, title) == title
    assert list(map(int, names)) == list(range(1, len(names) + 1))
    runs = out.split("Question: ")[1:]
    assert [one.count("search for") for one in runs] == [3, 1]
    for one in runs:
        used, whole = map(int, re.search(r"(\d+) tokens of (\d+) were used", one).groups())
        assert 0 < used <= whole
        answer = one.split("Answer: ")[1]
        cited = [names[number].split(" - ")[1] for number in re.findall(r"\[(\d+)\]", answer)]
        assert re.findall(r"^  it cites ([a-z-]+) §\d+$", answer, re.MULTILINE) == cited != []


def test_llamaindex_query_engine(run):
    """The same nodes need two calls of the model without edgeorder, and one with it, inside the room for one call."""
    out = run("llamaindex_query_engine.py")
    assert number_after(out, "Model calls without edgeorder:") == 2
    assert number_after(out, "Model calls with edgeorder:") == 1
    assert number_after(out, "bytes);") <= number_after(out, "one call has room for")
    placed = re.findall(r"^ +(\d+) +(\d+) +\d+  (\S+ §\d+)$", out, re.MULTILINE)
    assert [int(position) for position, _, _ in placed] == list(range(len(placed)))
    run_of_neighbours = [node for _, _, node in placed if node.startswith("long-stays")]
    # The run is split where it would push the best chunk too far down; its parts keep their reading order.
    assert sum(one > after for one, after in pairwise(run_of_neighbours)) <= 1
    assert len(placed) + len(re.findall("^ dropped", out, re.MULTILINE)) == 20


def test_handbook():
    """The corpus has some 40 sections of 80 to 200 words, numbered from 1 in each document."""
    done = subprocess.run(
        [sys.executable, "-c", "from handbook import *; [print(s.document, s.number, len(s.text.split()) "
         "- len(s.title.split())) for s in load_sections()]"],
        cwd=EXAMPLES, capture_output=True, text=True, check=True,
    )  # fmt: skip
    sections = [line.split() for line in done.stdout.splitlines()]
    assert 38 <= len(sections) <= 42
    for document in {name for name, _, _ in sections}:
        numbers = [int(number) for name, number, _ in sections if name == document]
        assert numbers == list(range(1, len(numbers) + 1))
    assert all(80 <= int(words) <= 200 for _, _, words in sections)


def test_rerank_keeps_the_best_of_fifty_and_reads_neighbours_in_order(run):
    """Of 50 sentences 12 at most are kept, by the scorer's rank, and neighbouring sentences stand in document order."""
    out = run("rerank.py")
    rows = re.findall(r"^ +(\d+) +(\d+) +(\d+) +([\d.]+) +(.+) #(\d+)$", out, flags=re.MULTILINE)
    assert 5 <= len(rows) <= 12
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    by_rank = sorted(rows, key=lambda row: int(row[1]))
    assert [row[1] for row in by_rank] == [str(rank) for rank in range(1, len(rows) + 1)]
    scores = [float(row[3]) for row in by_rank]
    assert scores == sorted(scores, reverse=True)
    assert max(int(row[2]) for row in rows) > 12  # the scorer brought up what the search had put lower
    assert number_after(out, "dropped: ") == 38
    for before, after in pairwise(rows):
        if before[4] == after[4]:
            assert int(before[5]) < int(after[5])


def test_the_readme_shows_the_table_that_the_classes_give(run):
    """The table in the README is what the script prints from the real classes."""
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert run("best_chunk.py").strip() in readme


def test_llamaindex_passes(run):
    """Each pass fits, the passes hold all 20 nodes, and every citation of the answer leads to a node."""
    out = run("llamaindex_passes.py")
    passes = [
        tuple(map(int, one)) for one in re.findall(r"^Passages +(\d+) to +(\d+): (\d+) tokens", out, re.MULTILINE)
    ]
    assert len(passes) > 1
    assert all(tokens <= 1200 for _, _, tokens in passes)
    assert (passes[0][0], passes[-1][1]) == (1, 20)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(passes))
    assert number_after(out, "The answer, after") == len(passes) + 1
    answer, sources = out.split("The answer")[1].split("Its sources:")
    assert set(re.findall(r"\[\d+\]", answer)) == set(re.findall(r"^\[\d+\]", sources, re.MULTILINE)) != set()
    assert "long-stays §4, found at rank 1" in sources


def test_third_adapter(run):
    """The component sends what fits, the best first, neighbours in the order of their document, and names the rest."""
    out = run("third_adapter.py")
    rows = re.findall(r"^ +(\d+) +(\d+)  (\S+) §(\d+)$", out, re.MULTILINE)
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    assert rows[0][1] == "1"
    assert number_after(out, "bytes);") <= 2000
    assert [row[3] for row in rows if row[2] == "approvals"] == ["1", "2", "3"]
    assert len(rows) + len(re.findall(r"\(rank \d+\)", out)) == 20


def test_the_third_adapter_is_short():
    """It is as short as its first line says."""
    code = (EXAMPLES / "third_adapter.py").read_text(encoding="utf-8")
    assert code.split("class Documents(")[1].split("\n\n\ndef main")[0].count("\n") < 70


@pytest.mark.parametrize("name", ["langchain_explain.py", "llamaindex_explain.py"])
def test_a_wrong_answer_of_a_real_model_is_explained(run, name):
    """The local model's wrong answer ends in its cause: the gold chunk sat in the middle of a long block."""
    pytest.importorskip("xllamacpp")
    question, answer, cause, advice = run(name).splitlines()
    assert re.fullmatch(r"Question: In which .*\?", question)
    assert re.fullmatch(r"Answer:   '.*', where '.*' is right", answer)
    assert re.fullmatch(r"Cause:    \S+-8 \(rank 9\) sat at position 9 of 20, a weak one .*", cause)
    assert advice.startswith("Advice:   No order puts rank 9 on an edge")


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "handbook.py"))
def test_an_example_says_what_it_needs(name):
    """Its first lines name the extras, or the make target that installs them, and each of those is there."""
    told = ast.get_docstring(ast.parse((EXAMPLES / name).read_text(encoding="utf-8")))
    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = re.findall(r"edgeorder\[([\w,]+)\]|extras ((?:`\w+`(?: and )?)+)", told)
    extras = {word for group in groups for word in re.findall(r"\w+", " ".join(group)) if word != "and"}
    assert extras or "`make demo`" in told
    assert extras <= set(project["optional-dependencies"])
    assert f"examples/{name}" in told or "make demo" in told
