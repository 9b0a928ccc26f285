"""The command line: `edgeorder`."""

import sys
from pathlib import Path
from typing import Annotated

from edgeorder.errors import EdgeOrderError, missing_extra

try:
    import typer
except ImportError as error:
    raise missing_extra("typer", "cli") from error

app = typer.Typer(help="Place retrieved chunks in a RAG prompt.", no_args_is_help=True, add_completion=False)


@app.callback()
def edgeorder() -> None:
    """Place retrieved chunks in a RAG prompt."""


@app.command("export-onnx")
def export(
    model: Annotated[str, typer.Argument(help="A cross-encoder: its name on the hub, or a folder.")],
    folder: Annotated[Path, typer.Argument(help="Where to write.")],
    int8: Annotated[bool, typer.Option("--int8", help="Add a quantized model: smaller, faster, a little off.")] = False,
) -> None:
    """Make a folder that OnnxCrossEncoderScorer reads."""
    from edgeorder.rerank.export import export_onnx

    for file in export_onnx(model, folder, int8=int8):
        typer.echo(f"{file}  {file.stat().st_size / 1e6:.0f} MB")


def main() -> None:
    """Run the command line; an error that a user can mend is one line and exit code 1."""
    try:
        app()
    except (EdgeOrderError, ImportError, OSError, ValueError) as error:
        typer.echo(f"edgeorder: {error}", err=True)
        sys.exit(1)
