"""The built book is there for everyone: on a phone, in the dark, by keyboard and screen reader."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from book_build import CHAPTERS, ENTRIES
from playwright.sync_api import Page

AXE = {"preload": False, "resultTypes": ["violations"]}  # preloading would ask for files
STRUCTURE = AXE | {"rules": {"color-contrast": {"enabled": False}}}
CONTRAST = AXE | {"runOnly": ["color-contrast"]}  # slow, and the one rule that sees the scheme
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
FILTERS = """() => [...document.querySelectorAll("svg.al-figure, article table, article *")]
    .filter((n) => n.matches("svg, table") || n.shadowRoot)
    .flatMap((n) => { const all = []; for (; n; n = n.parentElement) all.push(n); return all; })
    .map((n) => getComputedStyle(n).filter).filter((filter) => filter !== "none")"""
# Axe is slow on what is large and seen elsewhere: pictures are measured above, and highlighted
# code looks the same in every chapter, so that one chapter's is enough.
EMPTY = """(nodes) => document.querySelectorAll(nodes).forEach((n) => n.replaceChildren())"""
# Text of the same colours, sizes and ancestors has the same contrast: mark one of each, and each
# live figure, whose text lies in a tree of its own.
MARK_ONE_OF_EACH = """() => {
    const chains = new Map();
    const chain = (node) => {
        if (!node) return "";
        if (!chains.has(node)) {
            const css = getComputedStyle(node);
            const look = [node.tagName, node.className, css.color, css.backgroundColor,
                css.backgroundImage, css.opacity, css.fontSize, css.fontWeight, css.position];
            chains.set(node, chain(node.parentElement) + "|" + look.join()); }
        return chains.get(node); };
    const seen = new Set();
    for (const node of document.querySelectorAll("body, body *")) {
        const text = [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        const one = node.shadowRoot || (text && !seen.has(chain(node)));
        if (one) seen.add(chain(node));
        node.toggleAttribute("data-one", one); } }"""


def dress(page: Page, scheme: str, width: int) -> None:
    """The same page in other light, or on another screen."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.locator(f"html[data-theme={scheme}]").wait_for()


def faults(page: Page, rules: dict[str, object], context: object) -> list[tuple[str, str]]:
    """What axe finds, but for the theme's own faults."""
    found = page.evaluate("([context, rules]) => axe.run(context, rules)", [context, rules])
    seen = [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]]
    return [fault for fault in seen if fault[0] not in THEME_FAULTS]


@pytest.mark.browser
@pytest.mark.parametrize("name", ENTRIES)
def test_a_page_is_there_for_everyone(visit: Callable[..., Page], name: str) -> None:
    """One visit, since loading is slow: on a phone first, then on a desk, by day and by night."""
    code_seen = name in CHAPTERS[1:]
    page = visit(name, width=360)
    page.add_style_tag(content="* { transition: none !important }")  # no fading between schemes
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for scheme in ("dark", "light"):
        dress(page, scheme, 360)
        assert page.evaluate(WORST_CONTRAST) >= 4.5, scheme
        assert page.evaluate(FILTERS) == [], f"{scheme}: a filter falsifies a figure's colours"
    page.evaluate(EMPTY, "svg.al-figure" + ", .highlight pre" * code_seen)
    page.evaluate(Axe().axe_script)
    found = {}
    for width in (360, 1280):
        dress(page, "light", width)
        whole = {"exclude": [[".highlight"]]} if code_seen else {"include": [["html"]]}
        found[f"{width} wide"] = faults(page, STRUCTURE, whole)
    for scheme in ("light", "dark"):
        dress(page, scheme, 1280)
        page.evaluate(MARK_ONE_OF_EACH)
        found[scheme] = faults(page, CONTRAST, {"include": [["[data-one]"]]})
    assert not any(found.values()), found
