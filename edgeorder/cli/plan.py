"""`edgeorder plan`."""

from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from edgeorder.cli import options
from edgeorder.cli.arms import placers
from edgeorder.cli.logs import AsJson, print_json
from edgeorder.cli.place_table import is_table, table_rows
from edgeorder.cli.progress import progress
from edgeorder.cli.terminal import show
from edgeorder.orders import ORDERS
from edgeorder.systems import AS_IS, Placer, named_placer

_USUAL = "measured,bookend,relevance,long_context_reorder"


def plan(
    profile: Annotated[Path, typer.Argument(help="What `edgeorder probe --out` measured.")],
    cases: Annotated[Path, typer.Argument(help="A case file, as `edgeorder cases` writes it, or a table of Parquet.")],
    orders: Annotated[
        str | None, typer.Option(help=f"Orders with commas: names, as_is or measured. Without --placer: {_USUAL}.")
    ] = None,
    placer: options.Placers = None,
    top_k: Annotated[str, typer.Option(help="Chunks that are retrieved, with commas.")] = "5,10,20",
    reading: Annotated[str, typer.Option(help="Reading of neighbours, with commas: runs, source, off.")] = "off",
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens for the block.")] = None,
    floor: Annotated[float, typer.Option(min=0, max=1, help="Accuracy without the gold chunk (closed book).")] = 0.0,
    seed: options.Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Tell the expected accuracy of every setting, from a measured profile and your own lists; no model is asked.

    --top-k, --reading and --budget are for --orders: a placer has its own.

    Exit code 0: done; 1: it could not be done, in one line; 2: wrong usage.
    """
    from edgeorder.collecting import cases_from_rows
    from edgeorder.predicting import predict
    from edgeorder.probe.case_files import read_cases
    from edgeorder.profile import PositionProfile

    measured = PositionProfile.load(profile)
    lengths = options.numbers("--top-k", top_k, 1)
    asked = _USUAL if orders is None else orders
    names = [] if placer and orders is None else options.names("--orders", asked, (*ORDERS, "measured", AS_IS))
    settings: dict[str, Placer] = {}
    for k, how, name in product(lengths, options.readings(reading), names):
        own = {"order": measured if name == "measured" else name, "reading": how}
        if name == AS_IS:
            own, how = named_placer(AS_IS), "off"
        settings[f"{name}, top {k}" + ("" if how == "off" else f", {how}")] = {"k": k, **own, "budget": budget}
    settings |= placers(placer or ())
    known = cases_from_rows(table_rows(cases, "Reading")) if is_table(cases) else read_cases(cases)
    with progress("Predicting", unit="settings") as step:
        found = predict(measured, known, settings, floor=floor, seed=seed, progress=step)
    if as_json:
        rows = [{name: value for name, value in one.to_dict().items() if name != "each"} for one in found]
        print_json(rows)
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{measured.model}, {len(found[0].each)} questions")
    for name in ("setting", "expected right", "95 % interval", "gold in block", "in a strong position", "chunks"):
        table.add_column(name, justify="left" if name == "setting" else "right")
    for one in found:
        shares = [f"{share:.1%}" for share in (one.in_block, one.strong)]
        interval = f"{one.low:.1%} to {one.high:.1%}"
        table.add_row(one.name, f"{one.accuracy:.1%}", interval, *shares, f"{one.chunks:.1f}")
    show(table, "Expected from the profile, not measured: `edgeorder compare` measures.")
