"""What the commands that read logs share."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from edgeorder.cli.progress import progress
from edgeorder.cli.terminal import say, show
from edgeorder.logs import read_log
from edgeorder.recorders import AnswerRecord
from edgeorder.records import OrderRecord

Logs: TypeAlias = Annotated[list[Path], typer.Argument(help="Files that JsonlRecorder wrote.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
ProfileFile: TypeAlias = Annotated[
    Path | None, typer.Option("--profile", help="What `edgeorder probe --out` measured, to tell strong from weak.")
]


def entries(paths: Sequence[Path], label: str) -> Iterator[OrderRecord | AnswerRecord]:
    """Yield what logs hold, one at a time, with progress on stderr, and at the end a word on unfinished lines."""
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file that JsonlRecorder wrote")
        if not path.exists():
            raise FileNotFoundError(f"no file {path}; JsonlRecorder(path) makes one at the first placement")
    sizes = [path.stat().st_size for path in paths]
    unfinished: list[str] = []
    with progress(label, unit="megabytes") as step:
        for at, path in enumerate(paths):
            before = sum(sizes[:at])
            yield from read_log(
                path,
                lambda done, before=before: step(  # type: ignore[misc]
                    (before + done) // 10**6, sum(sizes) // 10**6
                ),
                lambda number, path=path: unfinished.append(f"{path}:{number}"),  # type: ignore[misc]
            )
    if unfinished:
        say(f"edgeorder: unfinished lines were passed over: {len(unfinished)}, the first is {unfinished[0]}")


def placements(paths: Sequence[Path], label: str) -> Iterator[OrderRecord]:
    """Yield the placements of logs."""
    return (entry for entry in entries(paths, label) if isinstance(entry, OrderRecord))


def print_json(data: Any) -> None:
    """Print data as JSON: indented on one terminal or in one pipe alike, so that it can be compared."""
    show(json.dumps(data, indent=1, allow_nan=False), whole=True)
