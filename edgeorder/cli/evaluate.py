"""`edgeorder evaluate`."""

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    golden: Annotated[Path, typer.Argument(help="A log of rankings with a person's corrections, JSONL.")],
    rankings: Annotated[Path, typer.Argument(help="A log of the rankings to judge, JSONL.")],
    k: Annotated[int, typer.Option(min=1, help="Up to which rank nDCG counts.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Compare rankings with a golden set: nDCG, MRR, Kendall's tau and kinds of errors."""
    from edgeorder.ranker.evaluation import evaluate_command

    typer.echo(evaluate_command(golden, rankings, k, as_json=as_json))
