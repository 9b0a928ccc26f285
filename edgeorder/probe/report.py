"""The report: one HTML file that needs nothing else, for a screen or a phone, light or dark."""

import base64
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgeorder.extras import optional
from edgeorder.probe import plots, wording
from edgeorder.probe.comparison import Comparison
from edgeorder.probe.results import LengthResult, ProbeResult
from edgeorder.probe.snippets import arm_code, profile_code

with optional("jinja2", "probe"):
    import jinja2
    from markupsafe import Markup

PHONE = 600  # CSS pixels up to which the narrow figures are shown


def write_report(
    path: str | Path,
    probe: ProbeResult | None = None,
    comparison: Comparison | None = None,
    *,
    profile: str | None = "my-model.json",
) -> Path:
    """Write what was found as one HTML file, without scripts and without a request to anywhere.

    Args:
        path: The file.
        probe: What the probe found.
        comparison: What a comparison found.
        profile: Where the profile was saved, for the line of code that uses it; None if it was not.

    Raises:
        ValueError: Without either, for a probe of no length or a comparison of no arms.
    """
    if probe is None and comparison is None:
        raise ValueError("nothing to report: give a probe, a comparison, or both")
    path = Path(path)
    # "replace": of a lone surrogate in a name or a path, nothing that is legible can be written.
    path.write_text(report_html(probe, comparison, profile=profile), encoding="utf-8", errors="replace")
    return path


def report_html(
    probe: ProbeResult | None = None, comparison: Comparison | None = None, *, profile: str | None = "my-model.json"
) -> str:
    """Return the report as `write_report` writes it."""
    if probe is not None and not probe.lengths:
        raise ValueError("the probe asked at no length: nothing to report")
    if comparison is not None and not comparison.arms:
        raise ValueError("the comparison has no arms: nothing to report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string(files("edgeorder.probe").joinpath("report.html").read_text("utf-8"))
    runs = [run for run in (probe, comparison) if run is not None]
    return template.render(
        model=" / ".join(dict.fromkeys(run.model for run in runs)),
        probe=None if probe is None else _probe_section(probe, profile),
        comparison=None if comparison is None else _comparison_section(comparison, profile),
        runs=[_run_section(run) for run in runs],
        phone=PHONE,
    )


def _probe_section(probe: ProbeResult, profile: str | None) -> dict[str, Any]:
    return {
        "figure": _figure(plots.curve_figure, probe),
        "alt": _curve_alt(probe),
        "headlines": [wording.headline(probe, place) for place in range(len(probe.lengths))],
        "advice": wording.advice(probe),
        "saved": profile is not None,
        "code": profile_code(profile or "profile.json") if probe.valid else "",
        "e_value": wording.number(probe.e_value),
        "lengths": [_length(probe, place) for place in range(len(probe.lengths))],
        "head": wording.CURVE_HEAD,
    }


def _length(probe: ProbeResult, place: int) -> dict[str, Any]:
    length = probe.lengths[place]
    ranks = probe.profile().order(length.chunks) if probe.valid else ()
    shares = length.posterior.shape_shares()
    found = wording.facts(length)
    del found["Shape"]  # drawn instead
    return {
        "chunks": length.chunks,
        "headline": wording.headline(probe, place),
        "facts": found,
        "shapes": sorted(
            ((name, share, wording.percent(share)) for name, share in shares.items()), key=lambda row: -row[1]
        ),
        "rows": wording.curve_rows(length),
        "ranks": [rank + 1 for rank in ranks],
        # A curve that was not shown to bend promises nothing of an order.
        "expected": wording.expected_rows(length, ranks) if ranks and probe.shown[place] else [],
    }


def _comparison_section(comparison: Comparison, profile: str | None) -> dict[str, Any]:
    best = comparison.best
    head, rows = wording.arm_table(comparison)
    return {
        "figure": _figure(plots.orders_figure, comparison),
        "alt": "Dots with intervals, one for each way of asking. " + " ".join(wording.comparison_lines(comparison)),
        "lines": wording.comparison_lines(comparison),
        "code": arm_code(best, comparison.setup, profile) if comparison.valid else "",
        "chunks": best.chunks,
        "questions": len(best.right),
        "head": head,
        "rows": rows,
    }


def _run_section(run: ProbeResult | Comparison) -> dict[str, Any]:
    setup = {
        str(name): value if isinstance(value, str) else json.dumps(value, default=str)
        for name, value in run.setup.items()
    }
    minutes, seconds = divmod(round(run.seconds), 60)
    return {
        "name": "Position probe" if isinstance(run, ProbeResult) else "Comparison",
        "command": run.command,
        "rows": {
            "model": run.model,
            **setup,
            "date": run.date or "not noted",
            "took": f"{minutes} min {seconds} s, {run.calls:,} calls (answers found on disk are none)",
        },
    }


def _curve_alt(probe: ProbeResult) -> str:
    return " ".join(f"At {length.chunks} chunks: {_ends(length)}." for length in probe.lengths)


def _ends(length: LengthResult) -> str:
    shares = wording.measured(length)
    told = zip(("head", "middle", "tail"), (0, len(shares) // 2, -1), strict=True)
    right = ", ".join(f"{wording.percent(shares[place].value)} right at the {name}" for name, place in told)
    return (
        f"{right}; closed book {wording.percent(length.floor.value)}, gold only {wording.percent(length.ceiling.value)}"
    )


def _figure(draw: Callable[..., Any], found: ProbeResult | Comparison) -> dict[str, Markup]:
    """Return a figure as data URIs, by theme and width: one image to a reader, whichever is shown."""
    return {
        f"{'dark' if dark else 'light'}_{'narrow' if narrow else 'wide'}": _uri(
            plots.svg_of(draw(found, dark=dark, narrow=narrow))
        )
        for dark in (False, True)
        for narrow in (False, True)
    }


def _uri(svg: str) -> Markup:
    return Markup("data:image/svg+xml;base64,") + base64.b64encode(svg.encode()).decode()
