"""The command line: `edgeorder`."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from edgeorder.errors import EdgeOrderError, missing_extra

if TYPE_CHECKING:
    from edgeorder.probe.running import Stop

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
    from edgeorder.rerank.export import export_command

    for file in export_command(model, folder, int8=int8):
        typer.echo(f"{file}  {file.stat().st_size / 1e6:.0f} MB")


class Style(StrEnum):
    """The styles that a block can be asked for by name."""

    plain = "plain"
    numbered = "numbered"
    xml = "xml"


_Model = Annotated[
    str, typer.Option(help="local (a small model that comes with the extra `local`), or a model's name.")
]
_BaseUrl = Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint; its key is in OPENAI_API_KEY.")]
_Cases = Annotated[str, typer.Option(help="facts or kv (made up), or a JSONL file of cases, .gz too.")]
_Questions = Annotated[int, typer.Option(min=1, help="Questions at most.")]
_Chunks = Annotated[str, typer.Option(help="Chunks in the block; several lengths with commas.")]
_Question = Annotated[str, typer.Option(help="Where the question stands: before, after or both.")]
_Seed = Annotated[int, typer.Option(help="For cases that are made up, drawn ranks and shuffled orders.")]
_Report = Annotated[Path | None, typer.Option(help="Write an HTML report; a figure if it ends in .svg or .png.")]
_Json = Annotated[Path | None, typer.Option("--json", help="Write everything that was found as JSON.")]
_Cache = Annotated[Path | None, typer.Option(help="Keep answers in this folder; a run that was stopped goes on there.")]
_StyleOption = Annotated[Style, typer.Option(help="How the block is written.")]
_Instruction = Annotated[str | None, typer.Option(help="What stands before the block.")]
_Concurrency = Annotated[int | None, typer.Option(min=1, help="Questions asked at a time.")]
_MaxTokens = Annotated[int | None, typer.Option(min=1, help="Tokens of an answer at most.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Say how many calls and tokens it takes, and ask nothing.")]


@app.command()
def probe(
    model: _Model = "local",
    base_url: _BaseUrl = None,
    cases: _Cases = "facts",
    questions: _Questions = 40,
    chunks: _Chunks = "20",
    depths: Annotated[int, typer.Option(min=3, help="Depths at which the gold chunk is put.")] = 7,
    question: _Question = "after",
    fixed: Annotated[bool, typer.Option("--fixed", help="Ask all questions, settled or not.")] = False,
    until_proved: Annotated[bool, typer.Option("--until-proved", help="Go on until an effect is proved.")] = False,
    seed: _Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Write the profile, for EdgeOrder(order=...).")] = None,
    report: _Report = None,
    json_file: _Json = None,
    cache: _Cache = None,
    style: _StyleOption = Style.numbered,
    instruction: _Instruction = None,
    concurrency: _Concurrency = None,
    max_tokens: _MaxTokens = None,
    dry_run: _DryRun = False,
) -> None:
    """Measure how accurately a model reads each depth of a block.

    Exit code 0: done; 1: it could not be done, in one line; 2: wrong usage; 3: too many replies failed.
    """
    from edgeorder.probe import session
    from edgeorder.probe.tables import probe_table
    from edgeorder.probe.wording import verdict_lines

    asked = session.Session(
        model, base_url, cases, questions, session.numbers(chunks, "--chunks"), seed, cache, concurrency, max_tokens
    )
    setup = asked.setup(question, style.value, instruction)
    _check_folders(out, report, json_file)
    if dry_run:
        typer.echo(asked.estimate_probe(setup, depths))
        return
    stop: Stop = "fixed" if fixed else "proved" if until_proved else "settled"
    found = asked.probe(setup, depths, stop, command=_command())
    session.show(probe_table(found), *verdict_lines(found))
    if json_file:
        session.write_json(json_file, found)
    if report:
        session.report(report, found, profile=str(out or "profile.json"))
    if not found.valid:
        typer.echo("edgeorder: too many replies failed; no profile was made of this run", err=True)
        raise typer.Exit(3)
    if out:
        found.profile().save(out)
        typer.echo(f"profile: {out}")


@app.command()
def compare(
    model: _Model = "local",
    base_url: _BaseUrl = None,
    cases: _Cases = "facts",
    questions: _Questions = 40,
    chunks: _Chunks = "20",
    question: _Question = "after",
    orders: Annotated[
        str, typer.Option(help="Orders with commas: names, shuffled, or measured (needs --profile).")
    ] = "relevance,bookend,bookend_tail,reverse,long_context_reorder,shuffled",
    profile: Annotated[Path | None, typer.Option(help="The profile whose order is `measured`.")] = None,
    seed: _Seed = 1,
    report: _Report = None,
    json_file: _Json = None,
    cache: _Cache = None,
    style: _StyleOption = Style.numbered,
    instruction: _Instruction = None,
    concurrency: _Concurrency = None,
    max_tokens: _MaxTokens = None,
    dry_run: _DryRun = False,
) -> None:
    """Compare orders end to end; --question and --chunks take several values with commas.

    Exit codes as for `probe`. Its seed differs from that of `probe`, so that a measured order meets fresh questions.
    """
    from edgeorder.probe import session
    from edgeorder.probe.tables import comparison_table
    from edgeorder.probe.wording import comparison_lines

    asked = session.Session(
        model, base_url, cases, questions, session.numbers(chunks, "--chunks"), seed, cache, concurrency, max_tokens
    )
    places = question.split(",")
    setup = asked.setup(places[0], style.value, instruction)
    named = session.named_orders(orders, profile)
    _check_folders(report, json_file)
    if dry_run:
        typer.echo(asked.estimate_comparison(setup, named, places))
        return
    found = asked.compare(setup, named, places, command=_command())
    session.show(comparison_table(found), *comparison_lines(found))
    if json_file:
        session.write_json(json_file, found)
    if report:
        session.report(report, found)
    if not found.valid:
        typer.echo("edgeorder: too many replies failed", err=True)
        raise typer.Exit(3)


def _check_folders(*files: Path | None) -> None:
    """Raise FileNotFoundError for a file that could not be written after a long run."""
    for file in filter(None, files):
        if not file.parent.is_dir():
            raise FileNotFoundError(f"no folder {file.parent} to write {file.name} in; make it first")


def _command() -> str:
    """Return what reproduces this call."""
    from shlex import join

    return join(["edgeorder", *sys.argv[1:]])


def main() -> None:
    """Run the command line; an error that a user can mend is one line and exit code 1."""
    try:
        app()
    except SystemExit as ended:
        if ended.code == 130:  # what typer makes of Ctrl-C
            typer.echo("edgeorder: stopped; with --cache, the same command goes on from here", err=True)
        raise
    except (EdgeOrderError, ImportError, OSError, ValueError) as error:
        typer.echo(f"edgeorder: {error}", err=True)
        sys.exit(1)
