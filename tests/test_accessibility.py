"""The built book is there for everyone: on a phone, in the dark, by keyboard and screen reader."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from book_build import CHAPTERS, ENTRIES
from playwright.sync_api import Page

AXE = {"preload": False, "resultTypes": ["violations"]}  # preloading would ask for files
THEME_FAULTS = {"label-content-name-mismatch", "region"}  # of the stock theme, on every page
WORST_CONTRAST = """() => {
    const light = (css) => {
        const [r, g, b] = css.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255)
            .map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    return Math.min(99, ...[...document.querySelectorAll("svg.al-figure text")].map((t) => {
        const paper = t.closest("svg").querySelector("[id$=patch_1] path");
        const fill = getComputedStyle(paper).fill;
        const body = getComputedStyle(document.body).backgroundColor;
        const ground = light(fill === "none" ? body : fill);
        const ink = light(getComputedStyle(t).fill);
        return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05); })); }"""


def faults(page: Page, name: str, rules: dict[str, object]) -> list[tuple[str, str]]:
    """What axe finds, but for the theme's own faults."""
    # Highlighted code looks the same in every chapter, and is slow to look at: once is enough.
    code_seen = {"exclude": [[".highlight"]]} if name in CHAPTERS[1:] else None
    found = Axe().run(page, context=code_seen, options=AXE | rules).response["violations"]
    return [(v["id"], v["nodes"][0]["html"]) for v in found if v["id"] not in THEME_FAULTS]


@pytest.mark.browser
@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize(
    ("scheme", "rules"),
    [("light", {}), ("dark", {"runOnly": ["color-contrast"]})],  # no other rule sees the scheme
    ids=["light", "dark"],
)
def test_a_page_is_clean_for_axe_and_its_figures_can_be_read(
    visit: Callable[..., Page], name: str, scheme: str, rules: dict[str, object]
) -> None:
    page = visit(name, scheme)
    assert not (ours := faults(page, name, rules)), ours
    assert page.evaluate(WORST_CONTRAST) >= 4.5


@pytest.mark.browser
@pytest.mark.parametrize("name", ENTRIES)
def test_a_phone_shows_the_page_without_sideways_scroll(
    visit: Callable[..., Page], name: str
) -> None:
    page = visit(name, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert not (ours := faults(page, name, {"rules": {"color-contrast": {"enabled": False}}})), ours
