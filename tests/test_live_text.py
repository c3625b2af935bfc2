"""Figures of a typed text: what they say of its characters, and how it is typed."""

import pytest
import torch
from live_page import FIELD, KINDS, Kind, mount, said
from playwright.sync_api import Page

from attention_lab.teaching import next_character

SAME = "Same last character as before"


@pytest.fixture(params=["next_character", "trained_model"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.mark.browser
def test_it_works_by_keyboard_alone(page: Page, kind: Kind) -> None:
    figure = mount(page, kind.make())
    field = figure.get_by_label(FIELD)
    page.keyboard.press("Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("To be?")
    assert field.input_value() == "To be?"
    assert "'?'" in said(figure)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert field.input_value() == "you"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert field.input_value() == "thou"


UNKNOWN = {
    "7": "'7' (U+0037)",
    "你好": "'你' (U+4F60)",
    "a😀b": "'😀' (U+1F600)",
    "a\u200bb": "(U+200B)",
    "e\u0301": "(U+0301)",
    "a\tb": "'⇥' (U+0009)",
}
FAULTS = {
    text: f"{named} is not one of the 65 characters this model knows."
    for text, named in UNKNOWN.items()
} | {"": "Type at least one character"}


@pytest.mark.browser
def test_an_unknown_character_and_an_empty_field_are_named(page: Page, kind: Kind) -> None:
    figure = mount(page, kind.make())
    field = figure.get_by_label(FIELD)
    results = figure.locator(".bar, td.w")
    for text, fault in FAULTS.items():
        field.fill(text)
        assert said(figure).startswith(fault)
        assert figure.get_by_role("status").inner_text().startswith(fault)
        assert field.get_attribute("aria-invalid") == "true"
        assert field.get_attribute("aria-describedby") == "read"
        assert not any(result.is_visible() for result in results.all())
        assert figure.get_by_role("list").count() == 0
        assert "NaN" not in figure.inner_text()
        field.fill("hou")
        assert field.get_attribute("aria-invalid") == "false"
        assert all(result.is_visible() for result in results.all())
        assert SAME not in figure.inner_text()


@pytest.mark.browser
def test_space_newline_and_capitals_are_seen_and_spoken(page: Page) -> None:
    figure = mount(page, next_character(torch.eye(4), "\n Uu", "u"))
    spoken = figure.locator("li .spoken").all_inner_texts()
    assert sorted(spoken) == ["capital U", "newline", "space"]
    assert figure.locator("li code[aria-hidden=true]").all_inner_texts() == ["⏎", "␣", "U"]
    figure.get_by_label(FIELD).press("Enter")
    assert said(figure).startswith("The bigram reads only the last character: '⏎'")


@pytest.mark.browser
def test_a_share_stands_level_with_its_bar(page: Page, kind: Kind) -> None:
    row = mount(page, kind.make()).locator("li").first
    boxes = [row.locator(which).bounding_box() for which in (".track", ".share")]
    middles = [box["y"] + box["height"] / 2 for box in boxes if box]
    assert middles[0] == pytest.approx(middles[1], abs=1)
