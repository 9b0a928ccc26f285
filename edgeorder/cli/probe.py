"""`edgeorder probe`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeorder.cli import options
from edgeorder.cli.terminal import say, show

if TYPE_CHECKING:
    from edgeorder.probe.probing import Stop


def probe(
    model: options.Model = "local",
    base_url: options.BaseUrl = None,
    judge: options.Judge = None,
    judge_base_url: options.JudgeBaseUrl = None,
    cases: options.Cases = "facts",
    questions: options.Questions = 40,
    chunks: options.Chunks = "20",
    depths: Annotated[int, typer.Option(min=3, max=100, help="Depths at which the gold chunk is put.")] = 7,
    question: options.Question = "after",
    fixed: Annotated[bool, typer.Option("--fixed", help="Ask all questions, settled or not.")] = False,
    until_proved: Annotated[bool, typer.Option("--until-proved", help="Go on until an effect is proved.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="local and hf:PATH: settle an order by the log-probability of the right answer."),
    ] = False,
    seed: options.Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Write the profile (.json), for EdgeOrder(order=...).")] = None,
    report: options.Report = None,
    json_file: options.Json = None,
    cache: options.Cache = None,
    style: options.Style = options.StyleChoice.numbered,
    instruction: options.Instruction = None,
    concurrency: options.Concurrency = None,
    max_tokens: options.MaxTokens = None,
    dry_run: options.DryRun = False,
) -> None:
    """Measure how accurately a model reads each depth of a block.

    Exit code 0: done; 1: it could not be done, in one line; 2: wrong usage; 3: too many replies were unusable.
    """
    from edgeorder.cli.output import Outputs
    from edgeorder.cli.runs import Run
    from edgeorder.probe.tables import probe_table
    from edgeorder.probe.wording import unusable_line, verdict_lines

    if fixed and until_proved:
        raise ValueError("--fixed and --until-proved contradict each other; take one")
    places = options.question_places(question)
    if len(places) > 1:
        raise ValueError(f"--question={question!r}: a probe is asked one way; `edgeorder compare` takes several")
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
    if quick:
        if not run.in_hand or judge or until_proved or out or report or json_file or len(run.chunks) > 1:
            raise ValueError(
                "--quick is for --model local or hf:PATH, and one length of --chunks; it grades by log-probability and "
                "makes no profile, so leave out --judge, --until-proved, --out, --report and --json"
            )
        show(*run.quick(depths, fixed=fixed))
        return
    outputs = Outputs(profile=out, data=json_file, report=report)
    outputs.check(cases)
    if dry_run:
        from edgeorder.cli.estimate import probe_estimate

        typer.echo(probe_estimate(run, depths))
        return
    stop: Stop = "fixed" if fixed else "proved" if until_proved else "settled"
    found = run.probe(depths, stop)
    kept = outputs.write(found, measured=out)
    show(probe_table(found), *verdict_lines(found), *([f"profile: {out}"] if out and found.valid and kept else []))
    if not found.valid:
        faults = [fault for length in found.lengths for fault in length.faults]
        say(f"edgeorder: {unusable_line(faults)}; no profile was made of this run")
        raise typer.Exit(3)
    if not kept:
        raise typer.Exit(1)
