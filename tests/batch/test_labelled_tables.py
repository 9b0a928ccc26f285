"""Tables with labels: audited, made cases of and planned with as the same questions are by a retriever."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from edgeorder import Budget, Chunk, EdgeOrderWarning, PositionProfile, audit, cases_from, place
from edgeorder.auditing import audit_rows
from edgeorder.batch import read_rows
from edgeorder.cli.app import app
from edgeorder.collecting import cases_from_rows
from edgeorder.labels import questions_of
from edgeorder.probe.case_files import read_cases, write_cases
from edgeorder.profile import LengthProfile

SETTINGS = {"order": "relevance", "reading": "off", "top_n": 8}


def words(text: str) -> int:
    """Count words."""
    return len(text.split())


def chunks(at: int) -> list[dict[str, Any]]:
    """Return the chunks of a question, best first; that of rank `at % 10 + 1` holds the answer."""
    return [
        {
            "text": f"Passage {rank} of many words." + (f" It is word{at}." if rank == at % 10 else ""),
            "id": f"c{rank}",
            "source": f"d{rank % 3}",
            "offset": rank,
            "score": 1 - rank / 20,
        }
        for rank in range(10)
    ]


def rows() -> list[dict[str, Any]]:
    """Return 30 questions of which the gold chunk is told by id, by object, by several, or by its answer alone."""
    golds = [lambda at: [f"c{at % 10}"], lambda at: ["nope", f"c{at % 10}"], lambda at: None]
    return [
        {
            "id": f"q{at}",
            "query": f"question {at}",
            "chunks": chunks(at),
            "answers": [f"word{at}"],
            "gold": golds[at % 3](at),
        }
        for at in range(30)
    ]


def write(path: Path, made: list[dict[str, Any]]) -> Path:
    """Write rows as Parquet."""
    pq.write_table(pa.Table.from_pylist(made), path)
    return path


def asked(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same questions as a retriever's user has them."""
    return [
        {
            "id": row["id"],
            "question": row["query"],
            "answers": row["answers"],
            **({"gold": row["gold"]} if row["gold"] else {}),
        }
        for row in made
    ]


def retriever(question: str) -> list[Chunk]:
    """Return what the table holds."""
    return [Chunk(**chunk) for chunk in chunks(int(question.split()[-1]))]


def test_a_table_is_audited_as_its_questions_are(tmp_path: Path) -> None:
    """The same findings, whatever the size of the batches that are read."""
    table = write(tmp_path / "t.parquet", rows())
    wanted = audit(retriever, SETTINGS, asked(rows()))
    done: list[int] = []
    assert audit_rows(read_rows(table, batch_rows=7), SETTINGS, progress=done.append).rows == wanted.rows
    assert done == list(range(1, 31))
    assert wanted.counts["cut"] == 6


def test_a_table_makes_the_cases_of_its_questions(tmp_path: Path) -> None:
    """With ranks, scores, sources and offsets."""
    table = write(tmp_path / "t.parquet", rows())
    assert cases_from_rows(read_rows(table)) == cases_from(retriever, asked(rows()))


def test_bad_rows_are_counted_and_none_is_lost(tmp_path: Path) -> None:
    """A row without chunks, query or label is unknown in an audit, and no case."""
    made = rows()
    made[3]["chunks"] = None
    made[5]["query"] = None
    made[8] |= {"gold": None, "answers": None}
    table = write(tmp_path / "t.parquet", made)
    found = audit_rows(read_rows(table), SETTINGS)
    assert [at for at, row in enumerate(found.rows) if row.finding.kind == "unknown"] == [3, 5, 8]
    assert found.rows[3].finding.sentence.startswith("Row 4 cannot be told: ValueError: the chunks are missing")
    assert "the row has no query" in found.rows[5].finding.sentence
    assert "neither 'gold' nor 'answers'" in found.rows[8].finding.sentence
    with pytest.warns(EdgeOrderWarning, match="bad rows, which are no cases: 3; the first is row 4: ValueError: the"):
        assert len(cases_from_rows(read_rows(table))) == 27
    with pytest.warns(EdgeOrderWarning, match=r"all 10 chunks were dropped .*one of 27 warnings") as told:
        audit_rows(read_rows(table), {"budget": Budget(1, words)})
    assert len(told) == 1
    with pytest.warns(EdgeOrderWarning) as told:  # of each kind
        audit_rows(read_rows(table), {"budget": Budget(1, words), "rerank": lambda query, texts: [1.0] * len(texts)})
    assert ["one of 27 warnings" in str(one.message) for one in told] == [True, True]
    unlabelled = write(tmp_path / "u.parquet", [{"query": "q", "chunks": ["a"]}])
    with pytest.raises(ValueError, match=r"no row can be audited; the first: question 1: 'q' has neither"):
        audit_rows(read_rows(unlabelled))


LABELS = [
    ({"answers": [["word1"], [None], None, ["", "word3"]]}, [1]),
    ({"answers": [["word1", None], ["word1"], ["word1"], []]}, [1, 2, 3]),
    ({"answers": ["word1", None, "", "word1"]}, [1, 4]),
    ({"answers": [[b"word1"], [b"\xff"], None, None], "gold": ["c1", None, "c1", "c1"]}, []),
    ({"answers": [[1.5], [1.0], None, [2.0]]}, []),
    ({"answers": [["word1"]] * 4, "gold": [["c1", None], [None], [], None]}, [1, 2, 3, 4]),
    (
        {
            "answers": [["word1"]] * 4,
            "gold": [{"id": "c1", "x": None}, {"id": None, "x": 5}, {"id": "c1", "x": 5}, None],
        },
        [1, 4],
    ),
    ({"answers": [["word1"]] * 4, "gold": [1.0, None, None, None]}, [2, 3, 4]),
    ({"answers": [["word1"], ["!"], ["word1"], ["word1"]], "query": ["q", "q", " ", None]}, [1]),
    ({"answers": [["word1"]] * 4, "chunks": [None, chunks(1), [], [{"text": None}]]}, [2]),
    ({"answers": [["word1"]] * 4, "id": [None, "own", None, "7"]}, [1, 2, 3, 4]),
]


@pytest.mark.filterwarnings("ignore:.*(bad rows|was not retrieved)")
@pytest.mark.parametrize(("columns", "good"), LABELS)
def test_labels_of_every_kind(columns: dict[str, list[Any]], good: list[int], tmp_path: Path) -> None:
    """A bad label is unknown and no case; nulls say nothing, nothing is looked for as Python prints it."""
    made = pa.table({"query": ["q"] * 4, "chunks": [chunks(1)] * 4} | columns)
    pq.write_table(made, tmp_path / "t.parquet")
    if not good:
        with pytest.raises(ValueError, match=r"bad rows? is row 1|was retrieved"):
            cases_from_rows(read_rows(tmp_path / "t.parquet"))
        return
    found = cases_from_rows(read_rows(tmp_path / "t.parquet"))
    own = columns.get("id", [None] * 4)
    assert [case.id for case in found] == [own[row - 1] or str(row) for row in good]
    assert {case.gold.id for case in found} == {"c1"}
    assert {alias for case in found for alias in case.answers} <= {"word1", "1.5"}
    audited = audit_rows(read_rows(tmp_path / "t.parquet"), SETTINGS).rows
    assert len(audited) == 4
    assert all(audited[row - 1].finding.kind == "strong_position" for row in good)


def test_a_label_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    """Bytes that are no UTF-8, in that row only; other columns may hold what they like."""
    raw = pa.array([[b"word1"], [b"\xff"]], pa.list_(pa.binary()))
    bad = pa.ListArray.from_arrays(raw.offsets, raw.flatten().view(pa.string()))
    made = pa.table({"query": ["q", "q"], "chunks": [chunks(1)] * 2, "answers": bad, "more": bad})
    pq.write_table(made, tmp_path / "t.parquet")
    found = audit_rows(read_rows(tmp_path / "t.parquet")).rows
    assert [row.finding.kind for row in found] == ["strong_position", "unknown"]
    assert "can't decode byte 0xff" in found[1].finding.sentence
    with pytest.warns(EdgeOrderWarning, match="bad rows, which are no cases: 1; the first is row 2: 'utf-8' codec"):
        assert len(cases_from_rows(read_rows(tmp_path / "t.parquet"))) == 1


def test_a_placer_that_fails_for_a_row_fails_only_that(tmp_path: Path) -> None:
    """Whatever it raises; what fails every row ends the audit."""
    table = write(tmp_path / "t.parquet", rows())

    def placer(items: Any, question: str) -> Any:
        if question == "question 4":
            raise KeyError("no such key")
        return place(items, query=question)

    kinds = [row.finding.kind for row in audit_rows(read_rows(table), placer).rows]
    assert [at for at, kind in enumerate(kinds) if kind == "unknown"] == [4]

    def absent(items: Any, question: str) -> Any:
        raise ImportError("no such package")

    with pytest.raises(ImportError, match="no such package"):
        audit_rows(read_rows(table), absent)


def test_the_commands_read_tables(tmp_path: Path) -> None:
    """`audit` places them, `cases` writes their cases, `plan` tells the same of a table as of these."""
    table, file, profile = write(tmp_path / "t.parquet", rows()), tmp_path / "cases.jsonl", tmp_path / "p.json"

    def run(*arguments: object) -> Any:
        done = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
        assert done.exit_code in (0, 3), done.output
        return done.exit_code, json.loads(done.stdout)

    placer = ("--placer", "today: order=relevance, reading=off, top_n=8")
    code, found = run("audit", table, *placer, "--max-dropped", "0.1")
    assert (code, found["counts"]) == (3, audit(retriever, SETTINGS, asked(rows())).counts)
    assert run("audit", table, "--placer", "as_is")[1]["counts"]["cut"] == 0
    assert run("cases", table, "--out", file)[1] == {"cases": 30, "labels": 30, "file": str(file)}
    assert read_cases(file) == cases_from_rows(read_rows(table))
    curve = LengthProfile(10, 60, "primacy", "relevance", 0.1, 0.05, 0.2, (0.9, 0.8, 0.5))
    PositionProfile("m", (curve,)).save(profile)
    more = ("--orders", "as_is,measured", "--top-k", "5,10", *placer)
    code, planned = run("plan", profile, table, *more)
    assert planned == run("plan", profile, file, *more)[1]
    assert sorted(row["name"] for row in planned) == sorted(
        ["as_is, top 10", "as_is, top 5", "measured, top 10", "measured, top 5", "today"]
    )
    for arguments, said in (
        (["audit", table, "--log", file], "is a table, which brings its chunks: leave out --log"),
        (["audit", file], "name the log of the placements with --log"),
        (["cases", table, "--labels", file], "give it alone"),
        (["cases", file], "name the file of the answers with --labels"),
    ):
        with pytest.raises(ValueError, match=said):
            CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def test_cases_may_be_kept_as_a_table(tmp_path: Path) -> None:
    """A case file that became Parquet: `question` for `query`, and the gold chunk marked among the chunks."""
    own = cases_from_rows(read_rows(write(tmp_path / "t.parquet", rows())))
    write_cases(tmp_path / "cases.jsonl", own)
    lines = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    table = write(tmp_path / "cases.parquet", lines)
    assert cases_from_rows(read_rows(table)) == own == read_cases(tmp_path / "cases.jsonl")
    assert [row.finding.kind for row in audit_rows(read_rows(table), SETTINGS).rows] == [
        row.finding.kind for row in audit(retriever, SETTINGS, asked(rows())).rows
    ]
    kept = pq.read_table(table)
    read = list(read_rows(table))
    assert [row.others["gold"] for row in read] == [[case.gold.id] for case in own]
    both = kept.append_column("query", pa.array(["other"] * 30)).append_column("gold", pa.array(["c1"] * 30))
    pq.write_table(both, table)
    assert [(row.query, row.others["gold"]) for row in read_rows(table)] == [("other", "c1")] * 30


def test_marks_that_are_none_say_nothing(tmp_path: Path) -> None:
    """A text instead of an id that is missing; no mark, no label."""
    marks = [[("A", "a", True), ("B", None, True)], [("A", "a", None)], [("A", "a", False)], None, [("B", None, True)]]
    made = [
        {"question": "q", "chunks": cell and [dict(zip(("text", "id", "gold"), one, strict=True)) for one in cell]}
        for cell in marks
    ]
    found = [row.others.get("gold") for row in read_rows(write(tmp_path / "t.parquet", made))]
    assert found == [["a", {"text": "B"}], None, None, None, [{"text": "B"}]]
    told = [row | {"gold": "own" if at == 4 else None} for at, row in enumerate(made)]
    found = [row.others.get("gold") for row in read_rows(write(tmp_path / "t.parquet", told))]
    assert found == [["a", {"text": "B"}], None, None, None, "own"]


@pytest.mark.parametrize("name", ["gold", "isgold"])
@pytest.mark.parametrize("own", [{}, {"id": None}, {"id": ""}, {"id": "its own"}, {"id": "own"}])
@pytest.mark.parametrize("body", ["Rome", "It is in Rome."])
def test_a_mark_tells_the_chunk(tmp_path: Path, name: str, own: dict[str, Any], body: str) -> None:
    """By text too, also where the text is one word, as ids are; in a line of a case file as in a table."""
    chunks = [{"text": "Rome, they say.", **own, "id": "first"}] if own else [{"text": "Rome, they say."}]
    line = {"question": "Where?", "answers": ["Rome"], "chunks": [*chunks, {"text": body, name: True, **own}]}
    read = list(read_rows(write(tmp_path / "t.parquet", [line])))
    assert [row.finding.index for row in audit_rows(read).rows] == [1]
    assert [(case.gold.text, case.gold_rank) for case in cases_from_rows(read)] == [(body, 2)]
    retrieved = [Chunk(**{key: value for key, value in one.items() if key != name}) for one in line["chunks"]]
    assert [row.finding.index for row in audit(lambda question: retrieved, None, [line]).rows] == [1]


def test_cases_of_other_forms_as_tables(tmp_path: Path) -> None:
    """A rank that the order does not tell is that of the case; a column that is called otherwise is named."""
    chunks = [{"text": "Rome.", "gold": True}, {"text": "Oslo."}]
    lines = [{"question": "q", "answers": ["Rome"], "chunks": chunks, "gold_rank": rank} for rank in (4, None, 0)]
    table = write(tmp_path / "t.parquet", lines)
    pq.write_table(pa.Table.from_pandas(pq.read_table(table).to_pandas()), tmp_path / "frame.parquet")  # 4.0 and NaN
    for one in (table, tmp_path / "frame.parquet"):
        with pytest.warns(EdgeOrderWarning, match=r"bad rows, .*: 1; the first is row 3: gold_rank=0.* must be"):
            assert [case.gold_rank for case in cases_from_rows(read_rows(one))] == [4, 1]
    other = write(tmp_path / "o.parquet", [{"question": "q", "answers": ["Rome"], "ctxs": chunks}])
    with pytest.raises(ValueError, match=r"no column 'chunks'; there are: .*ctxs; let 'ctxs' be called so"):
        next(read_rows(other))


@pytest.mark.parametrize("command", [["audit"], ["cases", "--out", "o.jsonl"], ["plan", "p.json"]])
def test_a_table_without_questions_is_told_before_it_is_read(
    tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the columns that there are."""
    monkeypatch.chdir(tmp_path)
    curve = LengthProfile(10, 60, "primacy", "relevance", 0.1, 0.05, 0.2, (0.9, 0.8, 0.5))
    PositionProfile("m", (curve,)).save(tmp_path / "p.json")
    write(tmp_path / "t.parquet", [{"asked": "q", "chunks": ["A"], "answers": ["A"]}])
    with pytest.raises(ValueError, match="no column 'query'; there are: asked, chunks, answers"):
        CliRunner().invoke(app, [*command, "t.parquet"], catch_exceptions=False)


def test_labels_may_be_arrays() -> None:
    """As pandas hands over the lists of a table: each is one, and not the text of all of them."""
    for told in ({"gold": np.array(["c1", "c2"])}, {"answers": np.array(["c1", "c2"])}):
        listed = {name: list(map(str, values)) for name, values in told.items()}
        assert questions_of([{"question": "q", **told}]) == questions_of([{"question": "q", **listed}])
