"""`edgeorder export-onnx`."""

from pathlib import Path
from typing import Annotated

import typer


def export_onnx(
    model: Annotated[str, typer.Argument(help="A cross-encoder: its name on the hub, or a folder.")],
    folder: Annotated[Path, typer.Argument(help="Where to write.")],
    int8: Annotated[bool, typer.Option("--int8", help="Add a quantized model: smaller, faster, a little off.")] = False,
) -> None:
    """Make a folder that OnnxCrossEncoderScorer reads."""
    from edgeorder.scorers.export import export_command

    for file in export_command(model, folder, int8=int8):
        typer.echo(f"{file}  {file.stat().st_size / 1e6:.0f} MB")
