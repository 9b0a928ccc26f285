"""The files of a run: checked before it, written whole after it, the profile first."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from edgeorder.cli.terminal import say
from edgeorder.cli.writable import check_output
from edgeorder.files import replacing
from edgeorder.probe.comparison import Comparison
from edgeorder.probe.results import ProbeResult

_FIGURES = (".svg", ".png")
_REPORTS = (".html", ".htm", *_FIGURES)


@dataclass(frozen=True)
class Outputs:
    """What a run is asked to write.

    Args:
        profile: The profile, of a probe.
        data: Everything that was found, as JSON.
        report: The report, or a figure.
    """

    profile: Path | None = None
    data: Path | None = None
    report: Path | None = None

    def check(self, *read: str | Path | None) -> None:
        """Find out before the run what could not be written after it.

        Args:
            read: Files that the run reads, so that none is overwritten.

        Raises:
            ValueError: For a suffix that says nothing, or a file that is named twice.
            OSError: For a file that cannot be written.
            ImportError: If what the report needs is not installed.
        """
        for option, path, suffixes in (("--out", self.profile, (".json",)), ("--report", self.report, _REPORTS)):
            if path and path.suffix.lower() not in suffixes:
                raise ValueError(f"{option} {path} must end in {' or '.join(suffixes)}")
        named = [*read]
        for path in filter(None, (self.profile, self.data, self.report)):
            check_output(path, *named)
            named.append(path)
        if self.report:
            import edgeorder.probe.report  # noqa: F401 - an hour later it would be late to find it missing

    def write(self, found: ProbeResult | Comparison, measured: Path | None = None) -> bool:
        """Write all of it, and return whether that went well; a file that fails keeps no other from being written.

        Args:
            found: What the run found.
            measured: The file of the profile, for the code that a report shows; None if there is none.
        """
        wanted: list[tuple[Path, Callable[[Path], object]]] = []
        if self.profile and isinstance(found, ProbeResult) and found.valid:
            probed = found
            wanted.append((self.profile, lambda path: probed.profile().save(path)))
        if self.data:
            wanted.append((self.data, lambda path: _write_json(path, found)))
        if self.report:
            wanted.append((self.report, lambda path: _write_report(path, found, measured)))
        failed = [path for path, write in wanted if not _kept(path, write)]
        return not failed


def _kept(path: Path, write: Callable[[Path], object]) -> bool:
    """Write a file; where it cannot be, write it among the temporary ones and say so: the run was paid for."""
    try:
        with replacing(path) as part:
            write(part)
    except OSError as error:
        reason = error.strerror or str(error)
        try:
            rescued = Path(tempfile.mkdtemp(prefix="edgeorder-"), path.name)
            write(rescued)
        except OSError:
            say(f"edgeorder: {path} could not be written ({reason})")
        else:
            say(f"edgeorder: {path} could not be written ({reason}); it is in {rescued}")
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one file, the others and the tables still come
        say(f"edgeorder: {path} could not be written ({type(error).__name__}: {error})")
    else:
        return True
    return False


def _write_json(path: Path, found: ProbeResult | Comparison) -> None:
    path.write_text(json.dumps(found.to_dict(), allow_nan=False) + "\n", encoding="utf-8")


def _write_report(path: Path, found: ProbeResult | Comparison, measured: Path | None) -> None:
    from edgeorder.probe import plots
    from edgeorder.probe.report import write_report

    if path.suffix.lower() in _FIGURES:
        figure = plots.curve_figure(found) if isinstance(found, ProbeResult) else plots.orders_figure(found)
        plots.save_figure(figure, path)
        return
    probe, comparison = (found, None) if isinstance(found, ProbeResult) else (None, found)
    write_report(path, probe, comparison, profile=None if measured is None else str(measured))
