"""The commands that read logs and lines: what they print, as tables and as JSON, and how they end."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeorder import Budget, Chunk, JsonlRecorder, PositionProfile, place, record_answer, trace
from edgeorder.cli import main
from edgeorder.probe.case_files import read_cases
from edgeorder.profile import LengthProfile

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Run:
    """Return what runs a command as a shell does: exit code, stdout, stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["edgeorder", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capfd.readouterr()

    return run


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log of three placements with texts, the second of which was answered wrongly."""
    path = tmp_path / "log.jsonl"
    recorder = JsonlRecorder(path, text=True)
    chunks = [Chunk("filler " * 200 + f"word{at}", id=f"c{at}", score=1 - at / 20) for at in range(12)]
    for number, order in enumerate(("relevance", "bookend", "reverse")):
        with trace(f"t{number}"):
            place(chunks, query=f"question {number}", order=order, budget=Budget(2050, words), recorders=[recorder])
    record_answer("t1", "Perhaps.", correct=False, recorders=[recorder])
    return path


def test_explain_tells_the_cause_of_one_answer(run: Run, log: Path) -> None:
    """The trace picks the placement; the answer's verdict comes with it; JSON has what scripts look for."""
    code, out, err = run("explain", log, "--gold", "c6", "--trace", "t1")
    assert (code, err) == (0, "")
    assert "c6 (rank 7) sat at position 4 of 10, a weak one (assumed, not measured).\nAnswer: judged wrong." in out
    assert "Advice: No order puts rank 7 on an edge" in out
    code, out, err = run("explain", log, "--gold", "c11", "--json")
    found = json.loads(out)
    assert (code, found["finding"], found["reason"], found["position"], found["n"]) == (
        0,
        "dropped",
        "budget",
        None,
        10,
    )
    assert "--trace or --question picks another" in err
    code, out, _ = run("explain", log, "--answer", "word3", "--question", "question 0", "--json")
    assert (json.loads(out)["index"], json.loads(out)["finding"]) == (3, "weak_position")
    code, out, _ = run("explain", log, "--index", "2", "--trace", "t0", "--json")
    assert json.loads(out)["finding"] == "strong_position"


@pytest.mark.parametrize("turned", [False, True])
def test_the_latest_placement_counts_in_whatever_order_files_are_given(run: Run, tmp_path: Path, turned: bool) -> None:
    """Of rotated files the newest often comes first: the times tell, not the places."""
    older, newer, asked, cases = (tmp_path / name for name in ("log.1", "log", "asked.jsonl", "cases.jsonl"))
    chunks = [Chunk("filler " * 300 + f"word{at}", id=f"c{at}") for at in range(9)]
    for path, order in ((older, "relevance"), (newer, "reverse")):
        place(chunks, query="q?", order=order, reading="off", recorders=[JsonlRecorder(path, text=True)])
    logs = [newer, older] if turned else [older, newer]
    assert json.loads(run("explain", *logs, "--gold", "c0", "--json")[1])["position"] == 8
    asked.write_text(json.dumps({"question": "q?", "gold": "c3", "answers": ["word3"]}) + "\n")
    more = [part for log in logs for part in ("--log", log)]
    (worst,) = json.loads(run("audit", asked, *more, "--json")[1])["worst"]
    assert "position 6 of 9" in worst["sentence"]
    assert run("cases", *logs, "--labels", asked, "--out", cases)[0] == 0


def test_explain_with_a_profile_and_as_a_picture(run: Run, log: Path, tmp_path: Path) -> None:
    """What was measured is used, and the block is drawn."""
    curve = LengthProfile(10, 60, "recency", "measured", 0.1, 0.05, 0.2, (0.5, 0.6, 0.9))
    PositionProfile("m", (curve,)).save(tmp_path / "p.json")
    page = tmp_path / "block.html"
    code, out, err = run(
        "explain", log, "--gold", "c0", "--trace", "t0", "--profile", tmp_path / "p.json", "--html", page
    )
    assert (code, str(page) in err) == (0, True)
    assert "the profile expects 50% there, and 90% at the best position" in out
    assert "10 of 12 chunks placed" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gold", "c1", "--trace", "none"], "the log holds 3 placements, none with the trace id 'none'"),
        ([], "name the chunk that holds the answer"),
        (["--gold", " "], "name the chunk that holds the answer"),
        (["--gold", "c1", "--question", "other"], "none of that question"),
        (["--gold", "c1", "--trace", ""], "the log holds 3 placements, none with the trace id ''"),
    ],
)
def test_explain_says_in_one_line_what_is_missing(run: Run, log: Path, arguments: list[str], said: str) -> None:
    """Exit code 1, one line, nothing on stdout."""
    code, out, err = run("explain", log, *arguments)
    assert (code, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("command", ["explain", "log"])
def test_a_log_that_is_none_is_an_error_in_one_line(run: Run, tmp_path: Path, command: str) -> None:
    """A missing file, a folder, lines of another kind."""
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n')
    more = ["--gold", "c1"] if command == "explain" else []
    for name, said in (("no.jsonl", "no file"), ("", "is a folder"), ("other.jsonl", "line 1: this is no record")):
        code, out, err = run(command, tmp_path / name, *more)
        assert (code, out, said in err, len(err.splitlines())) == (1, "", True, 1)


def test_log_shows_a_table_and_a_summary(run: Run, log: Path) -> None:
    """Orders, drops, tokens, weak positions and answers; filters narrow them."""
    code, out, _ = run("log", log)
    assert code == 0
    for said in (
        "Placements: 3, ",
        "Orders: relevance 33%, bookend 33%, reverse 33%.",
        "Chunks: 30 of 36 kept; dropped: 6 budget.",
        "Tokens: 2,010 used of 2,050 on average (98%).",
        "Of the best three chunks, 11.1% sat in a weak position.",
        "Answers: 1 wrong.",
        "10 of 12",
        "2 budget",
    ):
        assert said in out, said
    code, out, _ = run("log", log, "--order", "bookend", "--json")
    data = json.loads(out)
    assert (data["placements"], data["orders"], data["drops"]) == (1, {"bookend": 1}, {"budget": 2})
    assert data["latest"][0]["trace_id"] == "t1"
    assert run("log", log, "--dropped", "min_score")[1].strip() == "No placement."
    assert "--dropped='wrong' is not one of: budget, top_n" in run("log", log, "--dropped", "wrong")[2]
    assert run("log", log, "--since", "yesterday")[0] == 2
    assert "Placements: 3," in run("log", log, "--since", "2020-01-01")[1]
    assert run("log", log, "--since", "2999-01-01T12:00")[1].strip() == "No placement."
    with log.open("ab") as torn:
        torn.write(b'{"order": "rel')
    assert f"unfinished lines were passed over: 1, the first is {log}:5" in run("log", log)[2]
    assert json.loads(run("log", log, "--trace", "t2", "--json")[1])["placements"] == 1


def test_place_pipes_lines(run: Run, tmp_path: Path) -> None:
    """Each line comes back with its chunks placed, whatever else it held; `place` reads its own lines."""
    lines = tmp_path / "in.jsonl"
    chunks = [{"text": f"{'filler ' * 300}{name}", "score": 1.0, "page": 3, "mine": name} for name in "ABCDE"]
    lines.write_text(
        json.dumps({"question": "q?", "tag": 7, "chunks": chunks}) + "\n\n" + json.dumps({"chunks": []}) + "\n"
    )
    code, out, err = run("place", lines, "--order", "bookend", "--block")
    assert (code, err) == (0, "")
    first, empty = map(json.loads, out.splitlines())
    assert [chunk["mine"] for chunk in first["chunks"]] == list("ACEDB")
    assert (first["tag"], first["placement"]["ranks"], empty["chunks"]) == (7, [1, 3, 5, 4, 2], [])
    assert first["block"].endswith("B")
    lines.write_text(out)
    assert run("place", lines, "--order", "relevance")[0] == 0
    lines.write_text(json.dumps({"chunks": ["one two three four five", "six"]}))
    code, out, _ = run("place", lines, "--budget", "4", "--overflow", "truncate", "--counter", "o200k_base", "--json")
    assert json.loads(out)["chunks"][0] == "one two three […]"
    code, _, err = run("place", lines, "--order", "best")
    assert (code, "order='best' is not one of" in err) == (1, True)


def test_diff_shows_what_the_peers_do(run: Run) -> None:
    """A row a rank, from 0 in JSON."""
    code, out, _ = run("diff", "-n", "4", "--json")
    rows = json.loads(out)
    assert (code, len(rows)) == (0, 4)
    assert rows[0] == {
        "rank": 1,
        "langchain": 3,
        "llamaindex": 3,
        "llamaindex_unscored": 1,
        "haystack": 0,
        "edgeorder": 0,
    }
    assert "llamaindex unscored" in run("diff", "-n", "5")[1]
    assert run("diff", "-n", "0")[0] == 2


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 21])
def test_the_peers_are_shown_as_they_are(n: int) -> None:
    """The columns are those of the real classes."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from langchain_community.document_transformers import LongContextReorder
    from langchain_core.documents import Document
    from llama_index.core.postprocessor import LongContextReorder as Llama
    from llama_index.core.schema import NodeWithScore, TextNode

    from edgeorder.peers import positions

    rows = positions(n)
    langchain = [d.page_content for d in LongContextReorder().transform_documents([Document(str(r)) for r in range(n)])]
    assert [langchain.index(str(row["rank"] - 1)) for row in rows] == [row["langchain"] for row in rows]
    for name, score in (("llamaindex", lambda r: 1 - r / 100), ("llamaindex_unscored", lambda r: None)):
        nodes = [NodeWithScore(node=TextNode(text=str(r)), score=score(r)) for r in range(n)]
        placed = [node.text for node in Llama().postprocess_nodes(nodes)]
        assert [placed.index(str(row["rank"] - 1)) for row in rows] == [row[name] for row in rows]


def test_audit_counts_and_holds_thresholds(run: Run, log: Path, tmp_path: Path) -> None:
    """A table, JSON, the worst, and exit code 3 beyond a threshold."""
    asked = tmp_path / "questions.jsonl"
    rows = [{"question": f"question {n}", "gold": gold} for n, gold in enumerate(["c0", "c5", "c11"])]
    asked.write_text("\n".join(map(json.dumps, [*rows, {"question": "other", "gold": "c1"}])))
    code, out, err = run("audit", asked, "--log", log, "--max-dropped", "0.5", "--max-weak", "0.1")
    assert code == 3
    assert "weak position" in out
    assert "question 2: c11 (rank 12) was dropped by the budget" in out
    assert "no placement of 1 of the 4 questions" in err
    assert "33.3% in a weak position, 10.0% allowed" in err
    code, out, _ = run("audit", asked, "--log", log, "--json")
    data = json.loads(out)
    assert (code, data["counts"]["cut"], data["counts"]["strong_position"], data["unplaced"]) == (0, 1, 1, 1)
    asked.write_text("[]\n")
    assert run("audit", asked, "--log", log)[0] == 1


def test_cases_and_plan_go_on_from_a_log(run: Run, log: Path, tmp_path: Path) -> None:
    """From a log with labels to a case file, and from that and a profile to expected accuracies."""
    labels, out_file = tmp_path / "labels.jsonl", tmp_path / "cases.jsonl"
    labels.write_text("\n".join(json.dumps({"question": f"question {n}", "answers": [f"word{n}"]}) for n in (0, 1, 2)))
    code, out, _ = run("cases", log, "--labels", labels, "--out", out_file)
    assert (code, out.strip()) == (0, f"3 cases of 3 labelled questions: {out_file}")
    assert [case.gold_rank for case in read_cases(out_file)] == [1, 2, 3]
    curve = LengthProfile(12, 60, "primacy", "relevance", 0.1, 0.05, 0.2, (0.9, 0.8, 0.5))
    PositionProfile("m", (curve,)).save(tmp_path / "p.json")
    code, out, _ = run("plan", tmp_path / "p.json", out_file, "--top-k", "2,12", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert (code, len(rows)) == (0, 8)
    assert rows["relevance, top 12"]["accuracy"] > rows["bookend, top 12"]["accuracy"]
    assert rows["relevance, top 2"]["in_block"] == pytest.approx(2 / 3)
    assert "expected right" in run("plan", tmp_path / "p.json", out_file)[1]
    assert run("plan", tmp_path / "p.json", out_file, "--top-k", "0")[0] == 1


def test_no_command_overwrites_what_it_reads(run: Run, log: Path, tmp_path: Path) -> None:
    """A log, labels or a profile that is named as the output too is told before anything is read."""
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"question": "question 0", "answers": ["word1"]}\n')
    before = log.read_bytes(), labels.read_bytes()
    for arguments in (
        ("explain", log, "--gold", "c1", "--html", log),
        ("cases", log, "--labels", labels, "--out", labels),
        ("cases", log, "--labels", labels, "--out", log),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (1, "")
        assert "is read or written by another option too" in err
    assert (log.read_bytes(), labels.read_bytes()) == before
    code, _, err = run("cases", log, "--labels", labels, "--out", tmp_path / "no" / "cases.jsonl")
    assert (code, "no folder" in err) == (1, True)


def test_what_a_log_holds_is_no_command_to_a_terminal(run: Run, tmp_path: Path) -> None:
    """Ids and reasons are text, and a line of somebody else's is one line."""
    path, questions = tmp_path / "log.jsonl", tmp_path / "questions.jsonl"
    odd = "\x1b]0;title\x07\x1b[2J\r\nAnswer: judged right.\x9b31m"
    recorder = JsonlRecorder(path)
    with trace(odd):
        place([Chunk("a", id="a", source=odd)], query="q", recorders=[recorder])
    questions.write_text(json.dumps({"question": "q", "gold": {"source": odd}}) + "\n")
    for arguments in (
        ("log", path),
        ("log", path, "--json"),
        ("explain", path, "--gold", odd),
        ("audit", questions, "--log", path),
    ):
        code, out, err = run(*arguments)
        assert code == 0
        assert not set("\x1b\x07\r\x9b") & set(out + err)
        assert not [line for line in out.splitlines() if line.startswith("Answer: judged")]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("\x1f\x8bxx", "cannot be unpacked"),
        ("a,b\n", "the file no JSONL log"),
        ('{"kind": "ranking", "query": "q"}\n', "line 1 of the log is no ranking"),
    ],
)
def test_evaluate_reads_logs_as_the_others_do(run: Run, tmp_path: Path, lines: str, said: str) -> None:
    """What is no log of rankings is told in one line."""
    path = tmp_path / "rankings.jsonl"
    path.write_bytes(lines.encode("latin-1"))
    code, out, err = run("evaluate", path, path)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert said in err


@pytest.mark.parametrize("columns", ["0", "8", "30"])
def test_a_narrow_terminal_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], log: Path, columns: str
) -> None:
    """Some containers say that they have no columns at all: what is laid out for them is still all there."""
    monkeypatch.setattr(sys, "argv", ["edgeorder", "log", str(log), "--last", "1"])
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit) as ended:
        main()
    out, _ = capfd.readouterr()
    assert ended.value.code in (0, None)
    assert "…" not in out
    letters = "".join(out.split())
    for said in ("t2", "reverse", "10of12", "Placements:3"):
        assert said in letters, out


def test_help_is_shown_where_there_are_no_columns(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And so is what was wrong with a call."""
    monkeypatch.setenv("COLUMNS", "0")
    for arguments, code, said in ((["diff", "--help"], 0, "Positions count from 1"), (["diff", "-n", "0"], 2, "Error")):
        monkeypatch.setattr(sys, "argv", ["edgeorder", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
        assert said in "".join(capfd.readouterr())
