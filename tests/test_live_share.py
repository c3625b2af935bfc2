"""A link carries a live figure's state: made on one page, it opens with the same numbers."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from attention_lab.teaching import live, softmax_weights

BOOK = Callable[..., Page]
CHANGES: dict[str, tuple[str, Callable[[Locator], object]]] = {  # a chapter's figure, set anew
    "01-hou-you-thou": ("al-next-character", lambda f: f.locator("textarea").fill("the q")),
    "05-softmax": ("al-softmax-weights", lambda f: f.get_by_role("checkbox").first.click()),
    "08-values-by-hand": ("al-attention-by-hand", lambda f: f.locator("input").nth(3).fill("4")),
    "09-messages-on-a-graph": ("al-mask-graph", lambda f: f.locator("td button").nth(5).click()),
    "11-why-the-square-root": ("al-head-size", lambda f: f.get_by_role("slider").press("Home")),
    "15-the-bill": ("al-memory-bill", lambda f: f.get_by_role("button", name="PaLM").click()),
    "17-the-loss-comes-down": ("al-trained-model", lambda f: f.locator("textarea").fill("to be")),
}
CELLS = "th, td, #said, .mono"


def shown(figure: Locator) -> list[str]:
    return figure.locator(CELLS).all_inner_texts()


def fresh(page: Page, link: str) -> None:
    """As from a mail: a navigation, not a jump within the page that is open."""
    page.goto("about:blank")
    page.goto(link)


@pytest.mark.browser
def test_scores_mask_and_temperature_travel_in_a_link(visit: BOOK) -> None:
    page = visit("notebooks/05-softmax")
    figure = page.locator("al-softmax-weights").first
    start = shown(figure)
    figure.locator("[type=text]").first.fill("-7.5")
    figure.locator("[type=checkbox]").nth(1).click()
    figure.locator("#heat").fill("0.5")
    wanted = shown(figure)
    assert wanted != start
    figure.get_by_role("button", name="link to these numbers").click()
    expect(figure.locator(".link [aria-live]")).not_to_be_empty()
    link = page.url
    assert "#al-" in link
    fresh(page, link.split("#")[0])
    assert shown(page.locator("al-softmax-weights").first) == start
    fresh(page, link)
    assert shown(page.locator("al-softmax-weights").first) == wanted
    expect(page.locator("al-softmax-weights").first).to_be_in_viewport()


def seen(figure: Locator) -> str:
    text: str = figure.evaluate("f => f.shadowRoot.querySelector('.al').innerText")
    return text.replace("Copied.", "").replace("It is in the address bar now.", "").strip()


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHANGES)
def test_every_figure_opens_as_the_link_left_it(visit: BOOK, chapter: str) -> None:
    tag, change = CHANGES[chapter]
    page = visit(f"notebooks/{chapter}")
    figure = page.locator(tag).first
    start = seen(figure)
    change(figure)
    wanted = seen(figure)
    assert wanted != start or tag == "al-attention-by-hand"  # its fields hold the change
    held = figure.locator("input").evaluate_all("all => all.map((i) => i.value)")
    figure.get_by_role("button", name="link to these numbers").click()
    fresh(page, page.url)
    again = page.locator(tag).first
    assert seen(again) == wanted
    assert again.locator("input").evaluate_all("all => all.map((i) => i.value)") == held


@pytest.mark.browser
def test_typed_text_of_any_script_travels_too(visit: BOOK) -> None:
    page = visit("notebooks/01-hou-you-thou")
    figure = page.locator("al-next-character").first
    figure.locator("textarea").fill("训练 – you & thou")
    figure.get_by_role("button", name="link to these numbers").click()
    link = page.url
    fresh(page, link)
    assert page.locator("al-next-character textarea").first.input_value() == "训练 – you & thou"


@pytest.mark.browser
@pytest.mark.parametrize("broken", ["#al-", "#al-%%%", "#al-bm9uZQ", "#al-eyJ4IjoxfQ", "cut"])
def test_a_link_that_is_no_such_state_changes_nothing(visit: BOOK, broken: str) -> None:
    page = visit("notebooks/05-softmax")
    figure = page.locator("al-softmax-weights").first
    start = shown(figure)
    figure.get_by_role("button", name="link to these numbers").click()
    link = page.url[:-9] if broken == "cut" else page.url.split("#")[0] + broken
    fresh(page, link)
    assert shown(page.locator("al-softmax-weights").first) == start


@pytest.mark.browser
def test_outside_the_book_there_is_no_such_link(page: Page) -> None:
    page.set_content(f"<main>{softmax_weights([1, 2], [True, True])._repr_html_()}</main>")
    figure = page.locator("al-softmax-weights")
    expect(figure.locator("table")).to_be_visible()
    assert figure.get_by_role("button", name="link to these numbers").count() == 0


def test_every_live_figure_is_tried_here() -> None:
    tags = {name.replace("_", "-") for name in live.__all__ if name != "LiveFigure"}
    assert {f"al-{tag}" for tag in tags} == {tag for tag, _ in CHANGES.values()}
