"""Fixtures shared by all tests: a headless Chromium that has no network, and the built book."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from book_build import build, copy_sources
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


SETTLED = """() => Promise.allSettled(document.getAnimations()
    .filter((a) => a instanceof CSSTransition).map((a) => a.finished)).then(() => null)"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium. Missing in CI: a failure. Missing elsewhere: a skip that says so."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(f"browser tests need Chromium, and none of {names} is on the PATH")
        pytest.skip("browser tests need Chromium: install it to run them")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=path, args=FLAGS, chromium_sandbox=False
        )
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile, offline: only file: addresses load."""
    fresh = browser.new_context(offline=True)
    yield fresh
    fresh.close()


def failure_of(request: Request) -> list[str]:
    """What went wrong, unless the page was left while it still loaded."""
    gone = request.failure == "net::ERR_ABORTED"
    return [] if gone else [f"request failed: {request.url} ({request.failure})"]


@contextmanager
def watched(context: BrowserContext) -> Iterator[Page]:
    """A page whose console errors and failed requests fail the test at its end."""
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda m: faults.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.extend(failure_of(request)))
    yield page
    assert not faults, f"the page reported: {faults}"


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that reports its faults."""
    with watched(context) as page:
        yield page


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """The same on a phone: narrow, and worked by touch."""
    size = {"width": 360, "height": 640}
    context = browser.new_context(offline=True, has_touch=True, viewport=size)
    with watched(context) as page:
        yield page
    context.close()


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HTML of the sources as they stand, built afresh with warnings as errors."""
    source = copy_sources(tmp_path_factory.mktemp("book"))
    done = build(source)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return source / "_build" / "html"


@pytest.fixture
def visit(book: Path, page: Page) -> Iterator[Callable[..., Page]]:
    """Opens a page from disk with its formulas set. At its end no request may have left."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    def open_page(name: str, scheme: str = "light", width: int = 1280) -> Page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto((book / f"{name}.html").as_uri())
        page.evaluate("() => window.MathJax ? MathJax.startup.promise.then(() => null) : null")
        page.evaluate(SETTLED)  # the theme fades from one scheme's colours to the other's
        return page

    yield open_page
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked), asked
