"""Numbers in the live figures: shown as in Python, and a field that holds none says so."""

import math
import random

import pytest
from live_page import KINDS, mount, said
from playwright.sync_api import Page

from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.numbers import shown

ROW = KINDS["softmax_weights"].make()
HAND = KINDS["attention_by_hand"].make()


@pytest.mark.browser
def test_numbers_read_alike_in_the_page_and_in_python(page: Page) -> None:
    mount(page, ROW)
    numbers = [
        *(0.0, -0.0, 0.125, -0.125, 2.675, 1.005, 0.005, 0.00499, -0.0049, 0.00095, 3.25e-11),
        *(9999.994, 9999.995, 10000.5, 1e6, 9999999.4, 9999999.5, 1e7, 1.25e9, 9.96e-5),
        *(5e-324, 1e-99, 9.6e-100),
    ]
    draw = random.Random(0)
    numbers += [draw.uniform(-1, 1) * 10 ** draw.randint(-12, 12) for _ in range(300)]
    assert page.evaluate("xs => xs.map(x => AlNumbers.number(x))", numbers) == [
        shown(x) for x in numbers
    ]
    assert page.evaluate("AlNumbers.number(-Infinity)") == shown(-math.inf) == "−∞"


FAULTS = {
    "": "is empty: type a number, such as 2 or -0.5.",
    "  ": "is empty: type a number, such as 2 or -0.5.",
    "abc": 'is "abc", which is not a number from -1e9 to 1e9.',
    "2,5": 'is "2,5", which is not a number from -1e9 to 1e9.',
    "1e10": 'is "1e10", which is not a number from -1e9 to 1e9.',
    "1e999": 'is "1e999", which is not a number from -1e9 to 1e9.',
    "NaN": 'is "NaN", which is not a number from -1e9 to 1e9.',
    "Infinity": 'is "Infinity", which is not a number from -1e9 to 1e9.',
    "0x10": 'is "0x10", which is not a number from -1e9 to 1e9.',
    "-": 'is "-", which is not a number from -1e9 to 1e9.',
    "<b>1</b>": 'is "<b>1</b>", which is not a number from -1e9 to 1e9.',
}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("figure", "label", "result"),
    [(ROW, "The score of o", "td.weight span"), (HAND, "W_k, row 0, column 1", "td[tabindex]")],
    ids=["row", "hand"],
)
def test_a_field_without_a_number_is_marked_and_named(
    page: Page, figure: LiveFigure, label: str, result: str
) -> None:
    shown_figure = mount(page, figure)
    field = shown_figure.get_by_label(label)
    before = shown_figure.locator(result).all_inner_texts()
    for text, fault in FAULTS.items():
        field.fill(text)
        assert said(shown_figure) == f"{label} {fault}"
        assert field.get_attribute("aria-invalid") == "true"
        assert field.get_attribute("aria-describedby") == "said"
        assert shown_figure.locator("[aria-invalid=true]").count() == 1
        assert not shown_figure.locator(result).first.is_visible()
        assert shown_figure.locator(".source, .chosen").count() == 0
    border = "node => getComputedStyle(node).borderTopColor"
    assert field.evaluate(border) == "rgb(179, 38, 30)"
    for text in (
        " 2 ",
        "+.5",
        "3.",
        "1E3",
        "-1e-3",
        "−1.5e−3",
        str(figure.data.get("scores", [0, 0])[1]),
    ):
        field.fill(text)
        assert field.get_attribute("aria-invalid") == "false", text
        assert shown_figure.locator(result).first.is_visible()
    assert shown_figure.locator(result).all_inner_texts() == before
