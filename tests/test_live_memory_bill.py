"""The live figure of chapter 15: equal to the package, hard to break, fit for every frame."""

import random
import re

import pytest
from live_page import KINDS, cells, compute, mount, said
from playwright.sync_api import Locator, Page

from attention_lab.cost import human_bytes, longest, score_bytes
from attention_lab.teaching import memory_bill
from attention_lab.teaching.live.memory_bill import filled

BILL = KINDS["memory_bill"].make()


def total(figure: Locator) -> str:
    return figure.locator(".total").inner_text()


def rows(figure: Locator) -> list[list[str]]:
    return cells(figure.locator("tbody tr"), "th, td")


def test_the_static_result_is_the_documents_last_row_and_each_cards_limit() -> None:
    first, _, *table = repr(BILL).splitlines()
    assert first == "10,000,000,000 entries × 2 bytes × 1 head × 1 layer = 18.6 GB"
    assert [line.split() for line in table[1:]] == [
        ["24", "GB", "77.6%", "113,511"],
        ["80", "GB", "23.3%", "207,243"],
        ["141", "GB", "13.2%", "275,134"],
    ]
    one = repr(memory_bill(1, 2, 3, 1, cards=[24])).splitlines()
    assert one[0] == "1 entry × 1 byte × 2 heads × 3 layers = 6 bytes"
    assert one[-1].split()[2] == "<0.1%"


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0, "0.0%"),
        (0.0004, "<0.1%"),
        (0.0005, "0.1%"),
        (0.125, "12.5%"),
        (1, "100.0%"),
        (1.26, "1.3 cards"),
        (999.96, "1000.0 cards"),
        (21504.4, "21,504 cards"),
    ],
)
def test_how_full_a_card_is(share: float, words: str) -> None:
    assert filled(share) == words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"T": 0}, "T must be whole, from 1 to 10,000,000, got 0"),
        ({"T": 10_000_001}, "T must be whole"),
        ({"T": 2.5}, "T must be whole.* got 2.5"),
        ({"n_head": 1001}, "n_head must be whole, from 1 to 1,000, got 1001"),
        ({"n_layer": 0}, "n_layer must be whole"),
        ({"bytes_per_entry": 3}, r"one of \(1, 2, 4, 8\), got 3"),
        ({"cards": []}, "cards must be whole"),
        ({"cards": [0]}, "cards must be whole"),
        ({"cards": [1.5]}, "cards must be whole"),
        ({"models": {"odd": (1, 0, 5)}}, "n_head of odd must be whole"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        memory_bill(**arguments)  # type: ignore[arg-type]


@pytest.mark.browser
def test_the_page_computes_as_the_package_does(page: Page) -> None:
    draw = random.Random(0)
    inputs = [
        {
            "T": int(10 ** draw.uniform(0, 7)),
            "n_head": draw.randint(1, 1000),
            "n_layer": draw.randint(1, 1000),
            "bytes_per_entry": draw.choice([1, 2, 4, 8]),
            "cards": [draw.randint(1, 200), draw.randint(1, 10**6)],
        }
        for _ in range(300)
    ]
    inputs += [
        {"T": T, "n_head": 1, "n_layer": 1, "bytes_per_entry": size, "cards": [1]}
        for T, size in ((1, 1), (16, 5), (32, 1), (1023, 1), (10**7, 8), (1024, 1), (22, 2))
    ]
    for given, found in zip(inputs, compute(page, BILL, inputs), strict=True):
        heads = {"n_head": given["n_head"], "n_layer": given["n_layer"]}
        bytes_ = score_bytes(given["T"], given["bytes_per_entry"], **heads)
        assert int(found["total"]) == bytes_
        assert found["size"] == human_bytes(bytes_)
        for card, there in zip(given["cards"], found["cards"], strict=True):
            budget = card * 2**30
            assert there["share"] == pytest.approx(bytes_ / budget, rel=1e-12)
            assert int(there["full"]) == longest(budget, given["bytes_per_entry"], **heads)


@pytest.mark.browser
def test_words_for_bytes_and_shares_are_those_of_the_package(page: Page) -> None:
    mount(page, BILL)
    draw = random.Random(1)
    sizes = [*range(1000, 3000, 7), *(2**k + d for k in range(8, 75) for d in (-1, 0, 1))]
    sizes += [1024**k * (20 * n + 1) // 20 for k in range(1, 7) for n in (20, 25, 30, 21)]
    human = "sizes => sizes.map((n) => customElements.get('al-memory-bill').human(BigInt(n)))"
    assert page.evaluate(human, [str(n) for n in sizes]) == [human_bytes(n) for n in sizes]
    shares = [10 ** draw.uniform(-5, 8) for _ in range(300)] + [0, 0.0005, 1, 1000, 999.95]
    words = "shares => shares.map((x) => customElements.get('al-memory-bill').filled(x))"
    assert page.evaluate(words, shares) == [filled(x) for x in shares]


@pytest.mark.browser
def test_the_page_shows_at_first_what_the_static_result_says(page: Page) -> None:
    for bill in (BILL, memory_bill(3, 2, 5, 8, [1, 10**6]), memory_bill(10**7, 1000, 1000, 8)):
        figure = mount(page, bill)
        first, _, *table = repr(bill).splitlines()
        assert f"{said(figure)} = {total(figure)}" == first
        assert rows(figure) == [re.split(r"  +", line) for line in table[1:]]


@pytest.mark.browser
def test_edits_examples_and_reset(page: Page) -> None:
    figure = mount(page, BILL)
    figure.get_by_label("Layers").fill("32")
    figure.get_by_label("Heads").fill("32")
    figure.get_by_label("Bytes an entry").select_option("4")
    assert total(figure) == human_bytes(score_bytes(100_000, 4, n_head=32, n_layer=32))
    assert figure.locator("tr.over").count() == 3
    figure.get_by_role("button", name="GPT-3").click()
    assert total(figure) == "72.0 GB"
    assert figure.get_by_label("Length T").input_value() == "2048"
    assert rows(figure)[0] == ["24 GB", "3.0 cards", "1,182"]
    assert rows(figure)[1] == ["80 GB", "90.0%", "2,158"]
    figure.get_by_role("button", name="Llama 3").click()
    assert total(figure) == "504.0 TB"
    figure.get_by_role("button", name="reset").click()
    assert said(figure) == "10,000,000,000 entries × 2 bytes × 1 head × 1 layer"
    assert total(figure) == "18.6 GB"


@pytest.mark.browser
def test_an_example_of_any_name_works(page: Page) -> None:
    name = '<img src=x onerror=alert(1)>"</script>'
    figure = mount(page, memory_bill(models={name: (1, 1, 6)}))
    figure.get_by_role("button", name=name).click()
    assert total(figure) == "72 bytes"


@pytest.mark.browser
def test_the_slider_sets_the_length_and_follows_it(page: Page) -> None:
    figure = mount(page, BILL)
    slider, length = figure.get_by_role("slider"), figure.get_by_label("Length T")
    assert float(slider.input_value()) == pytest.approx(5)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert length.input_value() == "95000"
    assert slider.get_attribute("aria-valuetext") == "95,000"
    page.keyboard.press("Home")
    assert total(figure) == "2 bytes"
    page.keyboard.press("End")
    assert length.input_value() == "10000000"
    length.fill("1000")
    assert float(slider.input_value()) == pytest.approx(3)
    assert total(figure) == "1.9 MB"


@pytest.mark.browser
def test_the_slider_says_its_length_while_another_field_is_at_fault(page: Page) -> None:
    figure = mount(page, BILL)
    figure.get_by_label("Heads").fill("none")
    figure.get_by_role("slider").press("Home")
    assert figure.get_by_role("slider").get_attribute("aria-valuetext") == "1"
    assert said(figure) == "Heads: type a whole number from 1 to 1,000."


@pytest.mark.browser
@pytest.mark.parametrize("text", ["", "0", "-3", "2.5", "many", "10000001", "1e99"])
def test_a_field_without_a_whole_number_is_marked_and_named(page: Page, text: str) -> None:
    figure = mount(page, BILL)
    field = figure.get_by_label("Length T")
    field.fill(text)
    assert said(figure) == "Length T: type a whole number from 1 to 10,000,000."
    assert total(figure) == ""
    assert field.get_attribute("aria-invalid") == "true"
    assert field.get_attribute("aria-describedby") == "said"
    assert not figure.locator(".bar").first.is_visible()
    field.fill("1e3")
    assert field.get_attribute("aria-invalid") == "false"
    assert total(figure) == "1.9 MB"


@pytest.mark.browser
def test_it_works_by_keyboard_alone_in_the_order_shown(page: Page) -> None:
    figure = mount(page, BILL)
    reached = "node => node.shadowRoot.activeElement.id || node.shadowRoot.activeElement.innerText"
    order = []
    for _ in range(8):
        page.keyboard.press("Tab")
        order.append(figure.evaluate(reached))
    assert order == ["T", "n_head", "n_layer", "kind", "length", "GPT-3", "Llama 3", "reset"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert total(figure) == "504.0 TB"
