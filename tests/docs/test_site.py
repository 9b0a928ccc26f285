"""The site: built without a warning, whole, and usable in a real browser without network and on a phone."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
from blocks import ROOT
from test_shown import CONTRAST, Browser

pytest.importorskip("properdocs", reason="the site is built with the group `docs`")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Page(HTMLParser):
    """The links, what is fetched, and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a tag points at."""
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        elif tag in ("link", "script", "img", "iframe", "source") and named.get("rel") != "canonical":
            self.fetched += [named[name] for name in ("href", "src") if name in named]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "properdocs", "build", "--strict", "-f", ".properdocs.yml", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = Browser(tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.close()


def test_no_link_is_dead(site: Path) -> None:
    """Every link within the site leads to a file, and to an anchor that is there."""
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 20
    dead = []
    for path, page in pages.items():
        for link in [*page.links, *page.fetched]:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (url.fragment and target in pages and url.fragment not in pages[target].anchors):
                dead.append(f"{path.relative_to(site)} -> {link}")
    assert dead == []


def test_nothing_is_fetched_from_another_host(site: Path) -> None:
    """No page and no style asks anything of another host."""
    for path in site.rglob("*.html"):
        assert [url for url in Page(path).fetched if urlsplit(url).netloc] == []
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert "url(http" not in text
        assert "@import" not in text


def test_llms_txt_lists_every_page(site: Path) -> None:
    """A language model finds every page of the site in one file, each in one line."""
    text = (site / "llms.txt").read_text(encoding="utf-8")
    listed = {line.split("](")[1].split(")")[0] for line in text.splitlines() if line.startswith("- [")}
    assert listed == {
        str(path.relative_to(site)) for path in site.rglob("*.html") if path.name not in ("404.html", "index.html")
    }


@pytest.mark.parametrize(
    "package",
    [
        "edgeorder",
        "langchain_edgeorder",
        "llamaindex_edgeorder",
        "edgeorder.rerank",
        "edgeorder.probe",
        "edgeorder.batch",
    ],
)
def test_the_reference_has_every_public_name(site: Path, package: str) -> None:
    """What a package exports stands in the reference, under the name that it is imported by."""
    anchors = {anchor for path in (site / "reference").glob("*.html") for anchor in Page(path).anchors}
    public = [name for name in dir(import_module(package)) if not name.startswith("_") and name != "annotations"]
    exported = [name for name in public if package == "langchain_edgeorder" or name in import_module(package).__all__]
    own = [name for name in exported if not isinstance(getattr(import_module(package), name), ModuleType)]
    assert [name for name in own if anchor_of(package, name) not in anchors] == []
    assert [name for name in own if find_spec(f"{package}.{name}") and f"{package}.{name}" in anchors] == []


def anchor_of(package: str, name: str) -> str:
    """Return where a name stands: under its module too where both are called alike, lest the module itself is shown."""
    return f"{package}.{name}.{name}" if find_spec(f"{package}.{name}") else f"{package}.{name}"


PHONE, DESK = 390, 1280


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_on_a_phone(browser: Browser, served: str, site: Path, scheme: str) -> None:
    """No page scrolls sideways, fetches anything else, or fails in the browser; text is legible by day and by night."""
    for path in sorted(site.rglob("*.html")):
        url = f"{served}/{path.relative_to(site)}"
        events = browser.open(url, PHONE, scheme)
        asked = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
        assert {urlsplit(one).netloc for one in asked if not one.startswith("data:")} == {urlsplit(served).netloc}
        assert [one for one in events if one["method"] == "Runtime.exceptionThrown"] == []
        if path.name != "404.html":
            assert browser.value("innerWidth") == PHONE, path.name
            assert browser.value("document.documentElement.scrollWidth") <= PHONE, path.name
    browser.open(f"{served}/why.html", DESK, scheme)
    assert browser.value("document.documentElement.dataset.bsTheme") == scheme
    assert browser.value(CONTRAST) >= 4.5


SEARCH = """new Promise(done => {
  const query = document.getElementById('properdocs-search-query'), until = Date.now() + 20000;
  query.value = '%s';
  const look = () => {
    query.dispatchEvent(new KeyboardEvent('keyup'));
    const found = [...document.querySelectorAll('#properdocs-search-results a')].map(link => link.href);
    found.length || Date.now() > until ? done(found) : setTimeout(look, 100);
  };
  look();
})"""


@pytest.mark.parametrize("page", ["index.html", "reference/core.html"])
@pytest.mark.parametrize("opened", ["served", "from disk"])
def test_search_finds_budget(browser: Browser, served: str, site: Path, page: str, opened: str) -> None:
    """The search runs in the browser, without network, and finds the page on budgets; a server is not needed either."""
    root = served if opened == "served" else site.as_uri()
    events = browser.open(f"{root}/{page}", DESK, "light")
    found = browser.call("Runtime.evaluate", expression=SEARCH % "budget", awaitPromise=True, returnByValue=True)
    assert f"{root}/budgets.html" in [link.replace("/reference/..", "") for link in found["result"]["value"]]
    assert [one for one in events if one["method"] == "Runtime.exceptionThrown"] == []


def test_the_site_knows_where_it_is_published(site: Path) -> None:
    """The page for what is not found is shown at any depth, so its links begin with the folder; a sitemap has all."""
    folder = "/edgeorder/"
    shown = Page(site / "404.html")
    assert {link for link in [*shown.links, *shown.fetched] if link[0] == "/" and not link.startswith(folder)} == set()
    told = (site / "sitemap.xml").read_text(encoding="utf-8")
    pages = [path for path in site.rglob("*.html") if path.name not in ("404.html", "index.html")]
    assert [path.name for path in pages if f"{folder}{path.relative_to(site).as_posix()}<" not in told] == []
