"""One record as a page, in a real browser: also where every text in it means harm."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from samples import HOSTILE
from test_shown import CONTRAST, Browser, Page

from edgeorder import Budget, Chunk, OrderRecord, capture, place
from edgeorder.showing import record_html, write_record

RIGHT_TO_LEFT = "שלום ‮txet‬ مرحبا"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = Browser(tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.close()


def record(name: str) -> OrderRecord:
    """Return a record with runs, drops and shortened chunks, whose every text is that name."""
    bodies = [f"{name} number {at}. " + "And so on it went. " * 60 for at in range(12)]
    chunks = [
        Chunk(body, id=f"{name} {at}", source=name if at < 6 else f"{name}{at}", offset=at, score=0.5 - at / 30)
        for at, body in enumerate(bodies)
    ]

    def words(text: str) -> int:
        return len(text.split())

    words.__name__ = name
    with capture(text=True) as records:
        place(chunks, query=name, budget=Budget(8 * words(bodies[0]) + 60, words, "truncate"), top_n=10)
    return records[0]


@pytest.mark.parametrize("name", ["a chunk", HOSTILE, RIGHT_TO_LEFT, "x" * 300, "half \ud800"])
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_a_browser_shows_the_block(browser: Browser, tmp_path: Path, name: str, width: int, scheme: str) -> None:
    """No error, no request, no script run, no sideways scroll; one item a chunk, head first, legible."""
    made = record(name)
    page = tmp_path / "record.html"
    write_record(page, made)
    events = browser.open(page.as_uri(), width, scheme)
    told = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening")
    assert [event for event in events if event["method"] in told] == []
    requests = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert requests == [page.as_uri()]
    assert browser.value("document.querySelectorAll('script').length") == 0
    assert browser.value("document.documentElement.scrollWidth") <= width
    shown = browser.value("[...document.querySelectorAll('section:first-of-type li b')].map(e => e.textContent)")
    assert shown == [chunk.id.encode("utf-8", "replace").decode() for chunk in made.placed]
    left = browser.value("document.querySelectorAll('section:nth-of-type(2) li').length")
    assert left == len(made.dropped) > 0
    assert browser.value("document.querySelectorAll('li.run').length") > 0
    assert browser.value(CONTRAST) >= 4.5


def test_the_page_is_well_formed_and_holds_what_the_record_holds() -> None:
    """Every tag is closed, every text escaped."""
    made = record(HOSTILE)
    page = Page(record_html(made))
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.text.count(HOSTILE) >= 24
    assert "characters cut" in page.text
    empty = Page(record_html(place([]).record))
    assert "0 of 0 chunks placed" in empty.text
