"""A link carries a live figure's state: made on one page, it opens with the same numbers."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

BOOK = Callable[..., Page]
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
    expect(figure.locator(".share [role=status]")).not_to_be_empty()
    link = page.url
    assert "#al-" in link
    fresh(page, link.split("#")[0])
    assert shown(page.locator("al-softmax-weights").first) == start
    fresh(page, link)
    assert shown(page.locator("al-softmax-weights").first) == wanted
    expect(page.locator("al-softmax-weights").first).to_be_in_viewport()


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
    from attention_lab.teaching import softmax_weights

    page.set_content(f"<main>{softmax_weights([1, 2], [True, True])._repr_html_()}</main>")
    figure = page.locator("al-softmax-weights")
    expect(figure.locator("table")).to_be_visible()
    assert figure.get_by_role("button", name="link to these numbers").count() == 0
