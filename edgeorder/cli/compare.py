"""`edgeorder compare`."""

from pathlib import Path
from typing import Annotated

import typer

from edgeorder.cli import options
from edgeorder.cli.arms import placers
from edgeorder.cli.terminal import say, show
from edgeorder.systems import AS_IS

_USUAL = "relevance,bookend,bookend_tail,reverse,long_context_reorder,shuffled"


def compare(
    model: options.Model = "local",
    base_url: options.BaseUrl = None,
    judge: options.Judge = None,
    judge_base_url: options.JudgeBaseUrl = None,
    cases: options.Cases = "facts",
    questions: options.Questions = 40,
    chunks: options.Chunks = "20",
    question: options.Question = "after",
    orders: Annotated[
        str | None,
        typer.Option(
            help="Orders with commas: names, shuffled, as_is, or measured (needs --profile). Without, and without "
            f"--placer: {_USUAL}."
        ),
    ] = None,
    placer: options.Placers = None,
    reading: Annotated[str, typer.Option(help="Reading of neighbours, with commas: runs, source, off.")] = "off",
    used: Annotated[
        bool | None,
        typer.Option(
            "--used/--no-used",
            help="Tell whether the gold chunk was used, for which each question is asked once more; without, where "
            "there are placers.",
        ),
    ] = None,
    profile: Annotated[Path | None, typer.Option(help="The profile whose order is `measured`.")] = None,
    seed: options.Seed = 1,
    report: options.Report = None,
    json_file: options.Json = None,
    cache: options.Cache = None,
    style: options.Style = options.StyleChoice.numbered,
    instruction: options.Instruction = None,
    concurrency: options.Concurrency = None,
    max_tokens: options.MaxTokens = None,
    dry_run: options.DryRun = False,
) -> None:
    """Compare orders and whole placers end to end; --question and --chunks take several values with commas.

    --reading is for --orders: a placer has its own, or that of `place`.

    Exit codes as for `probe`. Its seed differs from that of `probe`, so that a measured order meets fresh questions.
    """
    from edgeorder.cli.output import Outputs
    from edgeorder.cli.runs import Run
    from edgeorder.probe.tables import comparison_table
    from edgeorder.probe.wording import comparison_lines, unusable_line

    places = options.question_places(question)
    run = Run(
        model=model,
        base_url=base_url,
        judge=judge,
        judge_base_url=judge_base_url,
        source=cases,
        questions=questions,
        chunks=options.numbers("--chunks", chunks, 2),
        seed=seed,
        cache=cache,
        concurrency=concurrency,
        max_tokens=max_tokens,
        question_place=places[0],
        style=style.value,
        instruction=instruction,
    )
    alone = placer and orders is None and profile is None
    named = [] if alone else options.named_orders(_USUAL if orders is None else orders, profile)
    arms = placers(placer or ())
    if AS_IS in named:
        named.remove(AS_IS)
        arms = {AS_IS: AS_IS, **arms}
    used = bool(placer) if used is None else used
    readings = options.readings(reading)
    outputs = Outputs(data=json_file, report=report)
    outputs.check(cases, profile)
    if dry_run:
        from edgeorder.cli.estimate import comparison_estimate

        typer.echo(comparison_estimate(run, named, places, readings, used, arms))
        return
    found = run.compare(named, places, readings, used, arms)
    kept = outputs.write(found, measured=profile)
    show(comparison_table(found), *comparison_lines(found))
    if not found.valid:
        say(f"edgeorder: {unusable_line(found.faults)}")
        raise typer.Exit(3)
    if not kept:
        raise typer.Exit(1)
