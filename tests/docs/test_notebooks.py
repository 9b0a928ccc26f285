"""The notebooks run, and the outputs that they hold are those that they give."""

import re
from pathlib import Path
from typing import Any

import pytest
from blocks import ROOT

nbformat = pytest.importorskip("nbformat", reason="notebooks are run with the group `docs`")
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def printed(notebook: Any) -> list[str]:
    """Return what each cell of code printed."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(output.output_type == "stream" and output.name == "stdout" for cell in cells for output in cell.outputs)
    return ["".join(output.text for output in cell.outputs) for cell in cells]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_a_notebook_gives_the_outputs_that_it_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run afresh, in the folder that it is in, it prints the same, and nothing in it names a folder of a machine."""
    from nbclient import NotebookClient

    kept = nbformat.read(path, as_version=4)
    nbformat.validate(kept)
    assert not re.search(r"/(home|root|work|tmp|Users)/", path.read_text(encoding="utf-8"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")  # of the kernel itself
    fresh = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(fresh, timeout=120, kernel_name="python3", resources=folder).execute()
    assert printed(fresh) == printed(kept)
    assert all(printed(kept)[1:])
