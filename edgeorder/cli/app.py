"""The app: its commands, and how it ends whatever happens."""

import sys
import warnings
from typing import Annotated

import typer

from edgeorder.cli.audit import audit
from edgeorder.cli.cases import cases
from edgeorder.cli.compare import compare
from edgeorder.cli.diff import diff
from edgeorder.cli.evaluate import evaluate
from edgeorder.cli.explain import explain
from edgeorder.cli.export_onnx import export_onnx
from edgeorder.cli.log import log
from edgeorder.cli.place import place
from edgeorder.cli.plan import plan
from edgeorder.cli.probe import probe
from edgeorder.cli.terminal import open_streams, say, settle_streams
from edgeorder.errors import EdgeOrderError

app = typer.Typer(
    help="Place retrieved chunks in a RAG prompt.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # a local may be a key
)
for command in (place, diff, explain, log, audit, cases, plan, probe, compare, evaluate):
    app.command()(command)
app.command("export-onnx")(export_onnx)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"edgeorder {version('edgeorder')}")
        raise typer.Exit


@app.callback()
def edgeorder(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which it is.")
    ] = False,
) -> None:
    """Place retrieved chunks in a RAG prompt."""


def main() -> None:
    """Run the command line; an error that a user can mend is one line and exit code 1."""
    open_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *about: say(f"edgeorder: {message}")
            app()
    except SystemExit as ended:
        if ended.code == 130:  # what typer makes of Ctrl-C
            where = "with a table" if sys.argv[1:2] == ["place"] else "with --cache"
            say(f"edgeorder: stopped; {where}, the same command goes on from here")
        raise
    except (EdgeOrderError, ImportError, OSError, ValueError) as error:
        say(f"edgeorder: {error}")
        sys.exit(1)
    finally:
        settle_streams()
