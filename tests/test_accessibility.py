"""The built book is there for everyone: on a phone, in the dark, by keyboard and screen reader."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from book_build import CHAPTERS, ENTRIES
from playwright.sync_api import Page

AXE = {"preload": False, "resultTypes": ["violations"]}  # preloading would ask for files
THEME_FAULTS = {"label-content-name-mismatch", "region"}  # of the stock theme, on every page


@pytest.mark.browser
def test_a_phone_needs_no_sideways_scroll(visit: Callable[..., Page]) -> None:
    for name in ENTRIES:
        page = visit(name, width=360)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_in_figures_can_be_read(visit: Callable[..., Page], scheme: str) -> None:
    for name in CHAPTERS:
        page = visit(name, scheme)
        worst = page.evaluate("""() => {
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
                return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05); })); }""")
        assert worst >= 4.5, (name, worst)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("scheme", "width", "rules"),
    [
        ("light", 1280, {}),
        ("dark", 1280, {"runOnly": ["color-contrast"]}),  # nothing else depends on the scheme
        ("light", 360, {"rules": {"color-contrast": {"enabled": False}}}),
    ],
    ids=["light", "dark", "phone"],
)
def test_axe_finds_no_fault_of_ours(
    visit: Callable[..., Page], scheme: str, width: int, rules: dict[str, object]
) -> None:
    for name in ENTRIES:
        page = visit(name, scheme, width)
        found = Axe().run(page, options=AXE | rules).response["violations"]
        ours = [(v["id"], v["nodes"][0]["html"]) for v in found if v["id"] not in THEME_FAULTS]
        assert not ours, (name, ours)
