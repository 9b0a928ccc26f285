"""From the faults of the field to the tests that pin the right behaviour.

The numbers are those of a collection of public bug reports about reordering, packing and reranking retrieved chunks.
`pytest -m case` runs their pins; a test is marked `@pytest.mark.case(12)` with the numbers of the faults it would show.
"""

import ast
from pathlib import Path

TESTS = Path(__file__).parent

WITHOUT_A_PIN = {
    "left out on purpose: scores are never normalised over a list": {69},
    "left out on purpose: merging overlaps, dropping children of parents": {52, 84},
    "left out on purpose: an estimate; the approximate counter is a bound": {86},
}
PINNED = {
    *range(1, 32), 33, *range(35, 48), 51, 57, 58, 59, 60, 62, 64, 65, 68, 70, 72, 74, 76, 78, 80,
    81, 83, 87, 90, 91, 94, 95, 97, 98, *range(102, 106), 108, 110, 111, 113, 117, 118, 120,
}  # fmt: skip


def test_every_case_is_pinned() -> None:
    """Each of the 84 cases is marked on a test, or is said to have none, and why."""
    marked = {
        ast.literal_eval(number)
        for path in TESTS.rglob("test_*.py")
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test_")
        for mark in test.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.case"
        for number in mark.args
    }
    assert marked == PINNED
    without = [number for numbers in WITHOUT_A_PIN.values() for number in numbers]
    assert len(without) == len(set(without))
    assert not PINNED & set(without)
    assert len(PINNED) + len(without) == 84
