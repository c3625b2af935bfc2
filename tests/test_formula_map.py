"""The formula as a map: its links lead to chapters, in the book, in Jupyter and not in Colab."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from chapter_files import ROOT
from playwright.sync_api import Page
from test_prose import anchors, headings, prose

from attention_lab.teaching import formula_map
from attention_lab.teaching.formula_map import FORMULA, UNWRITTEN

STOPS = {**FORMULA, **UNWRITTEN}
SOUP = BeautifulSoup(formula_map().html, "html.parser")


@pytest.mark.parametrize("key", STOPS)
def test_each_link_names_a_chapter_by_its_number_and_title(key: str) -> None:
    stop = STOPS[key]
    if not stop.file:
        return
    name, _, anchor = stop.file.partition("#")
    path = ROOT / "notebooks" / name
    assert path.is_file(), f"{name} is no chapter"
    assert int(name[:2]) == stop.chapter
    assert headings(prose(path)[0].source)[0] == (1, stop.title)
    assert not anchor or anchor in anchors(path), f"{stop.file}: no such heading"


def test_each_symbol_of_the_formula_is_linked_twice_from_the_line_and_its_card() -> None:
    line = {a["data-s"]: a for a in SOUP.select(".line a")}
    assert list(line) == list(FORMULA)
    cards = {item["data-s"]: item for item in SOUP.select("li")}
    assert list(cards) == [*FORMULA, *UNWRITTEN]
    for key, stop in FORMULA.items():
        assert line[key]["href"] == cards[key].a["href"] == stop.file
        assert line[key].small.text == str(stop.chapter)
        assert cards[key].a.text == f"{stop.chapter} · {stop.title}"
        assert stop.does in cards[key].text
    assert re.sub(r"\d+", "", SOUP.select_one(".line").text) == (
        "Attention(Q, K, V) =softmax(QK⊤√dk)·V"
    )


def test_the_text_form_names_each_symbol_with_its_chapter() -> None:
    lines = repr(formula_map()).splitlines()
    assert len(lines) == 1 + len(STOPS)
    for line, stop in zip(lines[1:], STOPS.values(), strict=True):
        assert line.startswith(stop.symbol)
        assert line.endswith(f"chapter {stop.chapter:>2}: {stop.does}")


def mount(page: Page, theme: str, address: str = "https://example.org/") -> None:
    """The map on a page of this address."""
    colours = {"light": "#fff;color:#222", "dark": "#14181e;color:#ddd"}[theme]
    html = (
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        f'<title>Map</title></head><body style="background:{colours}"><main><h1>Map</h1>'
        f"{formula_map().html}</main></body></html>"
    )
    page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(address)


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_symbol_lights_its_card(page: Page, theme: str) -> None:
    mount(page, theme)
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    ground = "node => getComputedStyle(node).backgroundColor"
    card, other = page.locator("li[data-s=k]"), page.locator("li[data-s=q]")
    before = card.evaluate(ground)
    page.locator(".line [data-s=k]").hover()
    assert card.evaluate(ground) != before
    assert other.evaluate(ground) == before
    page.mouse.move(0, 0)
    for _ in range(4):  # Attention, softmax, Q, K
        page.keyboard.press("Tab")
    assert card.evaluate(ground) != before
    assert Axe().run(page).violations_count == 0


@pytest.mark.browser
def test_the_line_stays_one_line_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    mount(page, "light")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    tops = page.locator(".line > a").evaluate_all(
        "nodes => nodes.map((n) => n.getBoundingClientRect().top)"
    )
    assert max(tops) - min(tops) < 5


@pytest.mark.browser
def test_in_colab_the_links_that_would_lead_nowhere_are_taken_out(page: Page) -> None:
    mount(page, "light", "https://x-colab.googleusercontent.com/")
    assert page.locator(".al-formula a").count() > 0
    assert page.locator(".al-formula a[href]").count() == 0
