"""What is shown: tables, figures, and the report as a real browser opens it."""

import base64
import contextlib
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from langchain_core.documents import Document
from rich.console import Console, RenderableType
from samples import DIP, FLAT, HOSTILE, comparison, length_result, probe_result
from typer.testing import CliRunner

from edgeorder import PositionProfile
from edgeorder.cli.app import app
from edgeorder.orders import ORDERS, bookend
from edgeorder.probe import plots, tables, wording
from edgeorder.probe.cases import CaseChunk
from edgeorder.probe.comparison import Arm, Comparison
from edgeorder.probe.report import report_html, write_report
from edgeorder.probe.results import ProbeResult
from edgeorder.probe.snippets import arm_code
from edgeorder.probe.trials import Setup

VOID = {"meta", "link", "source", "img", "br"}


def printed(renderable: RenderableType, width: int = 100) -> str:
    """Return what a terminal of that width shows, without colours."""
    console = Console(width=width, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


# Tables


def test_the_terminal_shows_the_curve_with_its_intervals() -> None:
    """Each depth is a row: position, right of asked, Wilson's interval, the fitted curve; the verdict stands above."""
    text = printed(tables.probe_table(probe_result()))
    assert "20 chunks: dip: the middle is read worse than the edges (proved at question 19)" in " ".join(text.split())
    assert re.search(r"1 of 20 +0.00 +60 of 60 +100 % +94–100 % +96 % +93–98 %", text)
    assert re.search(r"10 of 20 +0.47 +38 of 60 +63 % +51–74 % +75 % +67–82 %", text)
    assert "5 chunks: no effect shown: differences above 8 points are excluded" in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_terminal_shows_the_arms_best_first_at_any_usual_width(width: int) -> None:
    """The best arm comes first, and names stay whole at 80 and at 100 columns."""
    text = printed(tables.comparison_table(comparison()), width)
    rows = [line.split() for line in text.splitlines() if " 20 " in line]
    assert [row[0] for row in rows[:3]] == ["bookend", "relevance", "bookend"]
    assert rows[0][1:6] == ["after", "20", "93", "%", "88–96"]
    assert "long_context_reorder" in text
    assert width < 100 or "−5.2 to +2.5" in text
    assert max(map(len, text.splitlines())) <= width


def test_a_name_is_never_markup_in_a_terminal() -> None:
    """Square brackets in a model's name are shown, not taken for rich's markup."""
    found = comparison("[red]model[/red] [/oops]", names=["[bold]x[/bold]", "[link=https://a.b]y[/link]"])
    text = printed(tables.comparison_table(found), 200)
    assert "[red]model[/red] [/oops]" in text
    assert "[link=https://a.b]y[/link]" in text


def test_the_verdict_in_words() -> None:
    """The lines for scripts say verdict, evidence, floor, ceiling and how many questions change at all."""
    lines = wording.verdict_lines(probe_result())
    text = "\n".join(lines)
    assert lines[0].startswith("20 chunks: dip: ")
    assert "  Floor, closed book: 2 % (1 of 60, 95 % interval 0–9 %)" in lines
    assert "  Ceiling, gold only: 93 % (56 of 60, 95 % interval 84–97 %)" in lines
    assert "  Differences: above 28 points are excluded, between head, middle and tail" in lines
    assert "45 % of the questions are right at some depths only (27 of 60, " in text
    assert "31 % computed: 502,200 of 1,620,000 prompt tokens" in text
    assert "40 asked, 2 dropped for an unusable reply" in text
    assert "At 20 chunks use bookend: best passage at position 1, then 20, then 2; weakest at 11." in lines
    assert lines[-1].startswith("At 5 chunks position was not shown to matter: nothing needs to change. The profile")


def test_without_questions_nothing_is_claimed() -> None:
    """A run without a question excludes nothing and recommends nothing."""
    text = "\n".join(wording.verdict_lines(probe_result(length_result(questions=0))))
    assert "none is excluded yet" in text
    assert "more questions would tell" in text
    assert "0 of 0" in printed(tables.probe_table(probe_result(length_result(questions=0))))


def test_an_invalid_run_recommends_nothing() -> None:
    """Where too many replies failed, no order and no line of code is offered."""
    run = probe_result(length_result(questions=12, dropped=9))
    assert wording.verdict_lines(run)[-1].startswith("No order is recommended")
    assert "PositionProfile.load" not in report_html(run)


def test_a_proof_that_does_not_survive_several_lengths_is_not_claimed() -> None:
    """With several lengths, what Holm's correction takes back is said to be taken back."""
    weak = length_result(20, 19, DIP)
    run = probe_result(weak, length_result(5, 20, FLAT, seed=2), length_result(9, 20, FLAT, seed=4))
    assert weak.evidence.proved
    assert run.shown == (False, False, False), weak.evidence.peak
    assert wording.headline(run, 0).endswith("; no longer, corrected for 3 lengths")
    assert "At 20 chunks position was not shown to matter" in "\n".join(wording.advice(run))


def test_an_order_in_words() -> None:
    """An order is told by where its best passages and its weakest one sit."""
    assert wording.order_words(bookend(20)).startswith("bookend: best passage at position 1, then 20, then 2")
    assert (
        wording.order_words((2, 0, 1))
        == "an order of its own: best passage at position 2, then 3, then 1; weakest at 1"
    )
    assert wording.order_words((0,)) == "relevance: best passage at position 1; weakest at 1"


def test_what_long_context_reorder_loses_is_said_at_even_counts_only() -> None:
    """At odd counts LongContextReorder is bookend, so there is nothing to lose."""
    even = wording.long_context_lines(comparison())
    assert [re.search(r"([−+][\d.]+) points", line)[1] for line in even] == ["−10.0", "−12.0"]  # type: ignore[index]
    arms = (Arm("bookend", "after", 5, (1, 1, 0)), Arm("long_context_reorder", "after", 5, (1, 1, 0)))
    assert wording.long_context_lines(Comparison("m", {}, arms)) == []
    arms = (Arm("bookend", "after", 4, (1, 1, 0)), Arm("long_context_reorder", "after", 4, (1, 0, 0)))
    assert "it may be none" in wording.long_context_lines(Comparison("m", {}, arms))[0]


def test_what_cannot_be_told_from_the_best_is_named() -> None:
    """Arms whose difference to the best may be none are named next to it."""
    lines = wording.comparison_lines(comparison())
    assert lines[0].startswith("Most right answers: bookend, question after, top 20, 93 % (140 of 150, ")
    assert lines[1] == "1 of the 9 others cannot be told from it: relevance, question after, top 20."
    assert wording.comparison_lines(comparison(questions=0))[0].startswith("Most right answers: ")


# Figures


def test_figures_are_the_same_each_time_however_often_they_are_saved(tmp_path: Path) -> None:
    """The same result is the same SVG, byte for byte."""
    figure = plots.curve_figure(probe_result())
    first = plots.svg_of(figure)
    plots.save_figure(figure, tmp_path / "curve.png")
    png = (tmp_path / "curve.png").read_bytes()
    plots.save_figure(figure, tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_text("utf-8") == first == plots.svg_of(plots.curve_figure(probe_result()))
    plots.save_figure(figure, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes() == png
    orders = plots.svg_of(plots.orders_figure(comparison(), dark=True, narrow=True))
    assert orders == plots.svg_of(plots.orders_figure(comparison(), dark=True, narrow=True))


def test_a_png_is_a_png_and_other_suffixes_are_refused(tmp_path: Path) -> None:
    """The suffix decides; one that is neither .png nor .svg is named in the error."""
    figure = plots.orders_figure(comparison())
    plots.save_figure(figure, tmp_path / "orders.PNG")
    data = (tmp_path / "orders.PNG").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") == 1680
    with pytest.raises(ValueError, match=r"suffix='.gif' is not one of: .png, .svg"):
        plots.save_figure(figure, tmp_path / "orders.gif")


def test_an_svg_has_a_title_its_words_as_text_and_nothing_from_elsewhere() -> None:
    """An SVG can be read aloud and searched, and asks no other server for anything."""
    svg = plots.svg_of(plots.curve_figure(probe_result(model=HOSTILE)))
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    assert root.findtext(f"{space}title") == f"Accuracy by position of the gold passage, {HOSTILE}"
    words = [text.text for text in root.iter(f"{space}text")]
    assert "20 chunks: dip (proved)" in words
    assert "5 chunks: no effect" in words
    assert "closed book 2 %" in words
    assert "gold passage only 93 %" in words
    assert not re.search(r"(href|src)=\"(?!#)|url\((?!#)|<script", svg)


def test_figures_take_any_name_and_any_number_of_lengths_or_arms() -> None:
    """Long, odd or missing names and one or many curves draw without a warning."""
    lengths = [length_result(chunks, 12, seed=chunks) for chunks in (5, 10, 20, 40, 60)]
    plots.svg_of(plots.curve_figure(probe_result(*lengths)))
    plots.svg_of(plots.curve_figure(probe_result(length_result(questions=0)), narrow=True))
    plots.svg_of(plots.orders_figure(comparison(names=[HOSTILE, "x" * 300])))
    plots.svg_of(plots.orders_figure(Comparison("m", {}, (Arm("bookend", "after", 5, (1, 1)),))))
    plots.svg_of(plots.orders_figure(comparison(questions=0)))


def test_pyplot_is_never_loaded_and_a_matplotlibrc_changes_nothing(tmp_path: Path) -> None:
    """Figures need no window and no global state, and look alike on every machine."""
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nfont.size: 30\ntext.color: red\naxes.grid: True\n")
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import hashlib, samples; from edgeorder.probe import plots, report\n"
        "svg = plots.svg_of(plots.orders_figure(samples.comparison()))\n"
        "print('matplotlib.pyplot' in sys.modules, hashlib.sha256(svg.encode()).hexdigest())"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **extra}
        ).stdout
        for extra in ({}, {"MATPLOTLIBRC": str(tmp_path / "matplotlibrc")})
    ]
    assert outputs[0].startswith("False ")
    assert outputs[0] == outputs[1]


# The report


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    hostile = comparison(HOSTILE * 3, names=[HOSTILE, "bookend", "x" * 200])
    return {
        "usual": write_report(folder / "usual.html", probe_result(), comparison(), profile="my-reader.json"),
        "hostile": write_report(folder / "hostile.html", probe_result(model="a" * 300), hostile, profile="p" * 200),
    }


class Page(HTMLParser):
    """A report as a parser sees it: open tags must be closed, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_report_holds_everything_and_needs_nothing(reports: dict[str, Path]) -> None:
    """The report is one well-formed file without script or outside address, with tables, figures and command."""
    html = reports["usual"].read_text("utf-8")
    page = Page(html)
    assert html.startswith("<!doctype html>")
    headings = [tag for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert headings.count("h1") == 1
    assert all(int(b[1]) - int(a[1]) <= 1 for a, b in pairwise(headings))
    addresses = [
        value or "" for _, attrs in page.tags for name, value in attrs.items() if name in ("src", "srcset", "href")
    ]
    assert len(addresses) == 9
    assert all(address.startswith("data:") for address in addresses)
    assert "script" not in {tag for tag, _ in page.tags}
    assert not re.search(r"https?:|url\(|@import", html)
    assert all(attrs["alt"] for tag, attrs in page.tags if tag == "img")
    for said in (
        'EdgeOrder(order=PositionProfile.load("my-reader.json"))',
        'EdgeOrder(order="bookend", reading="off", layout="numbered", prompt=Prompt("after", "Answer from',
        "dip: the middle is read worse than the edges",
        "differences above 8 points are excluded",
        "Floor, closed book",
        "Ceiling, gold only",
        "E-value",
        "expected gain over",  # of the order that the profile uses, proved or not
        "dropped for an unusable reply",
        "LongContextReorder puts the best passage last at even counts: −10.0 points to bookend",
        "edgeorder probe --model acme/reader-8b-instruct --chunks 5,20 --depths 5 --seed 7",
        "edgeorder compare --model",
        "examples/questions.jsonl",
        "870 calls",
    ):
        assert said in page.text, said


def shown_code(html: str) -> list[str]:
    """Return every piece of code that a report shows, as a reader would copy it."""
    return [unescape(code) for code in re.findall(r"<pre><code>(.*?)</code></pre>", html, re.DOTALL)]


@pytest.mark.parametrize(
    ("name", "best", "place"),
    [("p.json", "bookend", "before"), ("p.json", "measured", "both"), ('a "b" \\ é 😀\n.json', "measured", "after")],
)
def test_the_code_of_a_report_runs_and_asks_as_was_asked(tmp_path: Path, name: str, best: str, place: Any) -> None:
    """Every line of it is run: the profile is loaded, and the prompt is the one that the comparison measured."""
    probe = probe_result()
    probe.profile().save(tmp_path / name)
    setup = Setup(place, "xml", 'Say "it" in few\nwords.')
    arms = (Arm(best, place, 20, (1, 1)), Arm("reverse", place, 20, (1, 0)))
    found = Comparison("m", setup.to_dict(), arms)
    html = write_report(tmp_path / "r.html", probe, found, profile=str(tmp_path / name)).read_text("utf-8")
    python = [code for code in shown_code(html) if code.startswith("from ")]
    assert len(python) == 2
    texts = [f"Passage {number}." for number in range(20)]
    names: dict[str, Any] = {"documents": [Document(page_content=text) for text in texts], "question": "Who?"}
    for code in python:
        exec(code, names)  # noqa: S102 - this is what is tested
    order = PositionProfile.load(tmp_path / name) if best == "measured" else ORDERS[best]
    passages = [CaseChunk(texts[rank]) for rank in order(len(texts))]
    assert names["prompt"] + setup.ending == setup.text("Who?", passages)


def test_the_commands_of_a_report_run() -> None:
    """What is said to reproduce a run is a command line that there is."""
    commands = [code for code in shown_code(report_html(probe_result(), comparison())) if code.startswith("edgeorder ")]
    assert len(commands) == 2
    for command in commands:
        done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--questions", "2", "--dry-run"])
        assert done.exit_code == 0, done.output


def test_a_report_without_a_saved_profile_says_how_to_get_one() -> None:
    """Code that loads a file which was never written comes with the option that writes it."""
    html = report_html(probe_result(), profile=None)
    assert "which the same command writes with <code>--out profile.json</code>" in html
    assert "which the same command writes" not in report_html(probe_result(), profile="p.json")
    arm = Arm("measured", "after", 5, (1, 1))
    assert 'EdgeOrder(order="bookend", prompt=' in arm_code(Arm("bookend", "after", 5, (1,), reading="runs"), {}, None)
    assert arm_code(arm, {}, None) == arm_code(Arm("shuffled", "after", 5, (1,)), {}, "p.json") == ""


def test_the_same_results_give_the_same_report() -> None:
    """A report has nothing in it but its results."""
    run = probe_result(length_result(5, 12))
    assert report_html(run) == report_html(run)


def test_names_are_escaped_wherever_they_stand() -> None:
    """A name full of HTML is shown as text: in headings, tables, figures and code."""
    found = comparison(HOSTILE, names=[HOSTILE, "bookend"])
    run = probe_result(model=HOSTILE)
    hostile = {"setup": {HOSTILE: HOSTILE, "list": [1, "<b>"]}, "command": f"edgeorder probe --model {HOSTILE}"}
    run, found = type(run)(**{**vars(run), **hostile}), type(found)(**{**vars(found), **hostile})
    html = report_html(run, found, profile=HOSTILE)
    page = Page(html)
    assert {tag for tag, _ in page.tags} & {"script", "b", "i", "bold"} == {"i"}  # the bars of the shapes
    assert "<script>" not in html
    assert page.text.count(HOSTILE) >= 8
    pictures = re.findall(r"data:image/svg\+xml;base64,([^\" ]+)", html)
    assert all(b"<script>" not in base64.b64decode(picture) for picture in pictures)


@pytest.mark.parametrize("given", [{}, {"probe": ProbeResult("m", {}, ())}, {"comparison": Comparison("m", {}, ())}])
def test_nothing_to_report_is_an_error(tmp_path: Path, given: dict[str, Any]) -> None:
    """A report of nothing is refused in words, and no file is left behind."""
    with pytest.raises(ValueError, match="nothing to report"):
        write_report(tmp_path / "report.html", **given)
    assert not (tmp_path / "report.html").exists()


# A real browser, spoken to over its pipe


class Browser:
    """Headless Chromium by the DevTools protocol: JSON over two pipes, each message ended by a zero byte."""

    def __init__(self, folder: Path) -> None:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if found is None:
            missing = pytest.fail if os.environ.get("EDGEORDER_NEEDS_BROWSER") else pytest.skip
            missing("no Chromium to open the report with; install the package chromium")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
        # It reads from descriptor 3 and writes to 4, so ours must be other ones.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (*os.pipe(), *os.pipe())]
        self.pid = os.posix_spawn(
            found,
            [found, *flags, f"--user-data-dir={folder}", "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, ends[0], 3),
                (os.POSIX_SPAWN_DUP2, ends[3], 4),
                (os.POSIX_SPAWN_OPEN, 2, str(folder / "stderr.txt"), os.O_CREAT | os.O_WRONLY, 0o600),
            ],
        )
        os.close(ends[0])
        os.close(ends[3])
        self.write, self.read = ends[1], ends[2]
        os.set_blocking(self.read, False)
        self.rest, self.sent, self.events, self.session = b"", 0, [], None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come before it are kept."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while (reply := self.message()).get("id") != self.sent:
            self.events.append(reply)
        assert "error" not in reply, reply
        return dict(reply["result"])

    def message(self) -> dict[str, Any]:
        """Return the next message."""
        until = time.monotonic() + 60
        while b"\0" not in self.rest:
            assert time.monotonic() < until, "Chromium does not answer"
            with contextlib.suppress(BlockingIOError):
                piece = os.read(self.read, 1 << 20)
                assert piece, "Chromium ended"
                self.rest += piece
                continue
            time.sleep(0.01)
        message, self.rest = self.rest.split(b"\0", 1)
        return dict(json.loads(message))

    def open(self, url: str, width: int, scheme: str) -> list[dict[str, Any]]:
        """Open a page at a width in a colour scheme, and return what happened until it was loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        return self.events

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def shot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def close(self) -> None:
        """End it."""
        for end in (self.write, self.read):
            os.close(end)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = Browser(tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.close()


@pytest.mark.parametrize("name", ["usual", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_opens_the_report_without_an_error(
    browser: Browser, reports: dict[str, Path], name: str, scheme: str, width: int
) -> None:
    """In light and dark, on a phone and a desk: no console error, no request, no sideways scroll, legible text."""
    events = browser.open(reports[name].as_uri(), width, scheme)
    errors = [
        event
        for event in events
        if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    ]
    assert errors == []
    requests = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert [url for url in requests if not url.startswith("data:")] == [reports[name].as_uri()]
    assert browser.value("innerWidth") == width
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("[...document.images].every(image => image.complete && image.naturalWidth > 0)") is True
    picture = browser.value("atob(document.images[0].currentSrc.split(',')[1])")
    assert f"{0.72 * (350 if width == 360 else 840):.10g}pt" in picture
    assert ("#e6eaf0" if scheme == "dark" else "#1d2430") in picture
    paper = browser.value("getComputedStyle(document.querySelector('section:nth-of-type(2)')).backgroundColor")
    assert paper == ("rgb(23, 28, 36)" if scheme == "dark" else "rgb(255, 255, 255)")
    contrast = browser.value(CONTRAST)
    assert contrast >= 4.5
    if folder := os.environ.get("EDGEORDER_SHOTS"):
        browser.shot(Path(folder) / f"{name}-{scheme}-{width}.png")


# The least contrast (WCAG) of any text with the nearest background behind it.
CONTRAST = """
(() => {
  const light = c => { const [r, g, b] = c.match(/\\d+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  let least = 99;
  for (const element of document.body.querySelectorAll('*')) {
    if (![...element.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    let behind = element;
    while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    const [a, b] = [element, behind || document.body].map((e, i) =>
      light(getComputedStyle(e)[i ? 'backgroundColor' : 'color'])).sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  }
  return least;
})()
"""
