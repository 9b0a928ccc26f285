"""Whole placers named in a shell: what `--placer` makes of its text, and what a comparison shows of such arms."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reading import ReadingEndpoint, case_file, reading

from edgeorder import Budget, PositionProfile
from edgeorder.cli import main
from edgeorder.cli.arms import placers
from edgeorder.probe.case_files import read_cases
from edgeorder.probe.comparing import compare
from edgeorder.profile import LengthProfile
from edgeorder.rerank import LexicalScorer


def test_the_settings_are_those_of_place(tmp_path: Path) -> None:
    """Numbers, names, a scorer and a profile's file; a bare name is a placer of that name."""
    curve = LengthProfile(8, 60, "recency", "measured", 0.3, 0.2, 0.4, (0.1, 0.5, 0.9))
    PositionProfile("m", (curve,)).save(tmp_path / "p.json")
    found = placers(
        [
            "as_is",
            "long_context_reorder",
            "new: order=bookend, reading=runs, k=10, budget=3000, overflow=compress, min_score=.5, layout=xml",
            f"mine:order={tmp_path / 'p.json'},rerank=lexical, top_n = 3",
            "plain:",
            "today: order=as_is, k=5",
        ]
    )
    assert found == {
        "as_is": "as_is",
        "long_context_reorder": "long_context_reorder",
        "new": {
            "order": "bookend",
            "reading": "runs",
            "k": 10,
            "budget": Budget(3000, overflow="compress"),
            "min_score": 0.5,
            "layout": "xml",
        },
        "mine": {"order": PositionProfile("m", (curve,)), "rerank": LexicalScorer(), "top_n": 3},
        "plain": {},
        "today": {"order": "relevance", "reading": "off", "k": 5},
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("order=bookend", "'order=bookend' has no name; write 'NAME: order=bookend"),
        (": k=3", "has no name"),
        ("best", "placer='best' is not one of: as_is, auto, relevance"),
        ("x: best=3", "setting='best' is not one of: k, order"),
        ("x: k", "'k' must be one value for k"),
        ("x: k=", "must be one value for k"),
        ("x: k=3, k=4", "must be one value for k"),
        ("x: layout=xml, layout=plain", "must be one value for layout"),
        ("x: layout=best", "Layout.style=.best. is not one of"),
        ("x: k=0", r"'k=0' cannot be \(it must be at least 1\)"),
        ("x: k=three", "'k=three' cannot be"),
        ("x: order=best", "--placer 'x': order='best' is not one of"),
        ("x: reading=on", "reading='on' is not one of"),
        ("x: overflow=skip", "--placer 'x': counter and overflow are of a budget: set budget=TOKENS too"),
        ("x: budget=9, overflow=cut", "overflow='cut' is not one of"),
        ("x: rerank=best", "rerank='best' is not one of: lexical, cross_encoder:MODEL, onnx:MODEL"),
        ("x: rerank=onnx:", "is not one of: lexical"),
    ],
)
def test_a_mistake_names_the_placer_and_the_setting(text: str, said: str) -> None:
    """Before anything is asked."""
    with pytest.raises(ValueError, match=said):
        placers([text])


def test_a_name_tells_one_placer() -> None:
    """Two of a name would be one arm."""
    with pytest.raises(ValueError, match="--placer 'x' is there twice"):
        placers(["x: k=3", "x: k=4"])


@pytest.fixture
def server() -> Iterator[ReadingEndpoint]:
    """Return a running endpoint that reads."""
    with reading() as running:
        yield running


def test_a_comparison_of_placers(
    server: ReadingEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """Without --orders they are all; use and cost have columns, in the table and in the report."""
    cases, data, report = case_file(tmp_path / "cases.jsonl", 12, 8), tmp_path / "all.json", tmp_path / "r.html"

    def run(*arguments: object) -> tuple[int, str, str]:
        own = ["edgeorder", "compare", "--model", "m", "--base-url", server.url, "--cases", cases, "--chunks", "8"]
        monkeypatch.setattr(sys, "argv", [str(part) for part in (*own, *arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capfd.readouterr()

    placer = ("--placer", "as_is", "--placer", "new: order=reverse, k=4")
    code, shown, err = run(*placer, "--json", data, "--report", report)
    assert (code, err) == (0, "")
    arms = json.loads(data.read_text())["arms"]
    assert [arm["order"] for arm in arms] == ["as_is", "new"]
    assert all(len(arm["used"]) == 12 for arm in arms)
    assert len(server.asked) == 12 * 3, "each question once more without passages"
    head = next(line for line in shown.splitlines() if "points to best" in line)
    assert re.search(r"used it +prompt tokens +s a reply", head)
    assert all(f">{name}</th>" in report.read_text() for name in ("used it", "prompt tokens", "s a reply"))
    assert "gold chunk used" in shown

    server.asked.clear()
    code, shown, _ = run("--orders", "as_is,long_context_reorder", "--no-used", "--placer", "short: k=2")
    assert (code, len(server.asked)) == (0, 12 * 3)
    assert "used it" not in shown
    assert all(re.search(rf"^ *{name} ", shown, re.MULTILINE) for name in ("as_is", "long_context_reorder", "short"))
    server.asked.clear()
    assert run("--orders", "as_is,bookend", "--questions", "2")[0] == 0
    assert len(server.asked) == 2 * 2, "an order that is a name asks for no more than other orders"
    assert "--profile is for the order 'measured'" in run(*placer, "--profile", data)[2]
    code, shown, _ = run(*placer, "--dry-run")
    assert (code, shown.startswith("at most 36 calls")) == (0, True)


async def test_a_placer_that_is_called_as_an_order_is_one(tmp_path: Path) -> None:
    """Else tables and reports would name what was not asked."""
    (case, *_) = read_cases(case_file(tmp_path / "cases.jsonl", 1, 8))
    with pytest.raises(ValueError, match=r"placers=\['bookend'\] are called as orders are and do something else"):
        await compare(None, [case], placers={"bookend": {"k": 3}}, chunks=(8,))  # type: ignore[arg-type]
