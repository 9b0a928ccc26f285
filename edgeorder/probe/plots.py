"""The figures: the curve by depth, and the orders side by side; matplotlib without pyplot: no window, no state."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeorder.errors import bad_choice
from edgeorder.extras import optional
from edgeorder.probe.comparison import Arm, Comparison
from edgeorder.probe.results import LengthResult, ProbeResult
from edgeorder.probe.wording import measured, percent, ranked, rivals

with optional("matplotlib", "probe"):
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import PercentFormatter

# Depths at which the fitted curve is drawn; an edge slot may be read better than what lies beside it, by a step.
_GRID = [0.0, 0.001, *(place / 60 for place in range(1, 60)), 0.999, 1.0]
_WIDE, _NARROW = 8.4, 3.5  # inches: of a page, of a phone
_LONGEST = 44  # characters of a name beside its dot
_DASHES = (0, (5, 3))
# Text stays text, in the reader's own font; it is laid out with the wider DejaVu, so it fits whatever that is.
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_STYLE: dict[Any, Any] = {  # matplotlib's type for these is the list of their 300 names
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.left": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "figure.constrained_layout.h_pad": 0.08,
    "grid.linewidth": 0.7,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "text.parse_math": False,  # a name with $ is no formula
    "svg.fonttype": "none",
    "svg.hashsalt": "edgeorder",
}


@dataclass(frozen=True)
class _Theme:
    surface: str
    ink: str
    muted: str
    grid: str
    accent: str
    band: float  # opacity


_LIGHT = _Theme("#ffffff", "#1d2430", "#667085", "#e4e7ec", "#1f6fb5", 0.16)
_DARK = _Theme("#171c24", "#e6eaf0", "#98a2b3", "#2b3340", "#6cb2f2", 0.22)


def curve_figure(result: ProbeResult, *, dark: bool = False, narrow: bool = False) -> Figure:
    """Draw accuracy by position, one panel a length: measured, fitted, floor and ceiling.

    Args:
        result: What to draw.
        dark: For a dark background.
        narrow: For a phone: the panels one below the other.
    """
    count = len(result.lengths)
    columns = 1 if narrow else (2 if count in (2, 4) else min(count, 3))
    rows = -(-count // columns)
    size = (_NARROW, 2.6 * rows + 0.75) if narrow else (_WIDE, (3.0 if columns > 1 else 3.3) * rows + 0.5)
    with _styled(dark) as theme:
        figure = _figure(size, f"Accuracy by position of the gold passage, {result.model}")
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for place, (axes, length) in enumerate(zip(panels, result.lengths, strict=False)):
            verdict = length.verdict.kind + (" (proved)" if result.shown[place] and result.valid else "")
            axes.set_title(f"{length.chunks} chunks: {verdict}", color=theme.ink)
            _draw_curve(axes, length, theme)
        for axes in panels[count:]:
            axes.set_visible(False)
        # Made for the legend: a length without questions has no dot to show for it.
        dot = Line2D([], [], color=theme.ink, marker="o", ms=5.5, lw=1.2)
        line = Line2D([], [], color=theme.accent, lw=2.2)
        dashes = Line2D([], [], color=theme.muted, lw=1.2, ls=_DASHES)
        band = Patch(color=theme.accent, alpha=theme.band, lw=0)
        key = {
            "measured, 95 % interval": dot,
            "fitted curve, 95 % band": (band, line),
            "gold passage only; closed book": dashes,
        }
        _legend(figure, key, narrow, theme)
        figure.draw_without_rendering()  # makes the tick labels while the style holds
    return figure


def orders_figure(comparison: Comparison, *, dark: bool = False, narrow: bool = False) -> Figure:
    """Draw the arms of a comparison, best on top: right answers with their 95 % intervals.

    Args:
        comparison: What to draw.
        dark: For a dark background.
        narrow: For a phone: the names above the dots.
    """
    arms, alike = ranked(comparison), rivals(comparison)
    names = _names(arms)
    size = (_NARROW, 0.42 * len(arms) + 1.5) if narrow else (_WIDE, 0.32 * len(arms) + 1.3)
    with _styled(dark) as theme:
        figure = _figure(size, f"Right answers by order, {comparison.model}")
        axes = figure.subplots()
        kinds = {
            "most right answers": (theme.accent, theme.accent),
            "cannot be told from it": (theme.accent, theme.surface),
            "worse": (theme.muted, theme.muted),
        }
        drawn: dict[str, Any] = {}
        for row, arm in enumerate(arms):
            kind = list(kinds)[0 if arm is comparison.best else 1 if arm in alike else 2]
            edge, fill = kinds[kind]
            share, (low, high) = arm.share.value or 0.0, arm.share.interval
            axes.plot([low, high], [row, row], color=edge, lw=2, alpha=0.75, solid_capstyle="round")
            drawn[kind] = axes.plot(share, row, "o", ms=7, mec=edge, mfc=fill, mew=1.6, ls="")[0]
            axes.text(high + 0.008, row, percent(arm.share.value), color=theme.ink, va="center", ha="left")
            if narrow:
                axes.annotate(
                    names[row], (0, row), (0, 6), xycoords=("axes fraction", "data"), textcoords="offset points",
                    color=theme.ink, fontsize=8.5, va="bottom",
                )  # fmt: skip
        lows, highs = zip(*(arm.share.interval for arm in arms), strict=True)
        axes.set_xlim(max(min(lows) - 0.04, 0), max(highs) + (0.16 if narrow else 0.06))
        axes.set_ylim(len(arms) - 0.4, -0.9 if narrow else -0.6)
        axes.set_yticks([] if narrow else range(len(arms)), [] if narrow else names)
        axes.tick_params(axis="y", labelcolor=theme.ink)
        axes.grid(visible=False, axis="y")
        axes.set_xticks([tick for tick in axes.get_xticks() if axes.get_xlim()[0] <= tick <= 1])
        axes.xaxis.set_major_formatter(_percents())
        axes.set_xlabel("right answers, with 95 % interval")
        _legend(figure, {kind: drawn[kind] for kind in kinds if kind in drawn}, narrow, theme)
        figure.draw_without_rendering()
    return figure


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG, by the file's suffix; the same figure always gives the same file.

    Raises:
        ValueError: For another suffix.
    """
    path = Path(path)
    if path.suffix.lower() == ".svg":
        path.write_text(svg_of(figure), encoding="utf-8")
    elif path.suffix.lower() == ".png":
        with mpl.rc_context(_STYLE):
            figure.savefig(path, format="png", dpi=200, metadata={"Software": None, "Title": figure.get_label()})
    else:
        raise bad_choice("suffix", path.suffix, (".png", ".svg"))


def svg_of(figure: Figure) -> str:
    """Return a figure as SVG with a transparent background: one element with a title, the same each time."""
    stream = io.StringIO()
    with mpl.rc_context(_STYLE):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata={"Title": figure.get_label(), **nothing})
    svg = stream.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # Ids are hashes of unrounded numbers, which differ in the last digit from one drawing to the next: number them.
    for number, name in enumerate(dict.fromkeys(re.findall(r'id="([a-z][0-9a-f]{10})"', svg))):
        svg = svg.replace(name, f"id{number}")
    return svg.replace("<svg ", '<svg role="img" ', 1).replace("'DejaVu Sans'", _FONTS)


def _draw_curve(axes: Axes, length: LengthResult, theme: _Theme) -> None:
    places = [1 + depth * (length.chunks - 1) for depth in _GRID]
    low, high = length.posterior.interval(_GRID)
    axes.fill_between(places, low, high, color=theme.accent, alpha=theme.band, lw=0)
    axes.plot(places, length.posterior.accuracy(_GRID), color=theme.accent, lw=2.2)
    for place, share in zip(length.positions, measured(length), strict=True):
        if share.value is not None:
            axes.plot([place, place], share.interval, color=theme.ink, lw=1.2, alpha=0.7)
            axes.plot(place, share.value, "o", ms=5.5, color=theme.ink)
    for name, share, edge, offset, side in (
        ("gold passage only", length.ceiling, 1, 5, "bottom"),
        ("closed book", length.floor, 0, -3, "top"),
    ):
        if share.value is not None:
            axes.axhline(share.value, color=theme.muted, lw=1.2, ls=_DASHES)
            at = edge if abs(share.value - edge) < 0.2 else share.value  # near an edge its name goes clear of the dots
            axes.annotate(
                f"{name} {percent(share.value)}", (0.99, at), (0, offset), va=side, ha="right", fontsize=8.5,
                xycoords=("axes fraction", "data"), textcoords="offset points", color=theme.muted,
            )  # fmt: skip
    axes.set_ylim(-0.13, 1.16)  # room for those two names
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.yaxis.set_major_formatter(_percents())
    axes.grid(visible=False, axis="x")
    axes.set_xticks(length.positions)
    axes.set_xlabel(f"position of the passage (1 = head, {length.chunks} = tail)")


def _figure(size: tuple[float, float], label: str) -> Figure:
    figure = Figure(size, layout="constrained", label=label)
    FigureCanvasAgg(figure)
    return figure


def _percents() -> PercentFormatter:
    return PercentFormatter(1, 0, symbol=" %")


def _names(arms: list[Arm]) -> list[str]:
    """Return short names, less what all arms have in common."""
    several = {field: len({getattr(arm, field) for arm in arms}) > 1 for field in ("question_place", "chunks")}
    names = []
    for arm in arms:
        name = arm.label
        name += f", question {arm.question_place}" if several["question_place"] else ""
        name += f", top {arm.chunks}" if several["chunks"] else ""
        name = " ".join(name.split())
        names.append(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")
    return names


def _legend(figure: Figure, key: dict[str, Any], narrow: bool, theme: _Theme) -> None:
    columns = 1 if narrow else len(key)
    figure.legend([*key.values()], [*key], loc="outside lower left", ncols=columns, labelcolor=theme.ink)


@contextmanager
def _styled(dark: bool) -> Iterator[_Theme]:
    """Set matplotlib's defaults and the theme, whatever a matplotlibrc says, and put back what was."""
    theme = _DARK if dark else _LIGHT
    colours: dict[Any, Any] = {
        "figure.facecolor": theme.surface,
        "axes.facecolor": theme.surface,
        "axes.edgecolor": theme.grid,
        "axes.labelcolor": theme.muted,
        "grid.color": theme.grid,
        "text.color": theme.ink,
        "xtick.labelcolor": theme.muted,
        "ytick.labelcolor": theme.muted,
    }
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({**_STYLE, **colours})
        yield theme
