"""The live figure of chapter 15: equal to the package, hard to break, fit for every frame."""

import random
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from attention_lab.cost import human_bytes, longest, score_bytes
from attention_lab.teaching import memory_bill
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.figure import script as _script
from attention_lab.teaching.live.memory_bill import filled

MODELS = {"GPT-3": (96, 96, 2048), "Llama 3": (126, 128, 131_072)}
BILL = memory_bill(100_000, models=MODELS)


def mount(page: Page, *figures: LiveFigure, theme: str = "light") -> Locator:
    body = "".join(figure._repr_html_() for figure in figures)
    page.set_content(
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        f"<title>Figure</title></head><body><main><h1>Figure</h1>{body}</main></body></html>"
    )
    return page.locator("al-memory-bill").first


def total(figure: Locator) -> str:
    return figure.locator(".total").inner_text()


def said(figure: Locator) -> str:
    return figure.locator("#said").inner_text()


def rows(figure: Locator) -> list[list[str]]:
    cells = "rows => rows.map(r => [...r.children].map(c => c.innerText.trim()))"
    found: list[list[str]] = figure.locator("tbody tr").evaluate_all(cells)
    return found


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


def test_html_is_the_same_each_time_ascii_small_and_without_ids() -> None:
    assert BILL._repr_html_() == memory_bill(100_000, models=MODELS)._repr_html_()
    assert BILL._repr_html_().isascii()
    assert " id=" not in BILL._repr_html_().split("<script>")[0]
    script = _script(BILL.tag)
    assert len(script) < 21_000
    assert "</script" not in script.lower()
    assert "<!--" not in script


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
    mount(page, BILL)
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
    call = "inputs => inputs.map((x) => customElements.get('al-memory-bill').compute(x))"
    for given, found in zip(inputs, page.evaluate(call, inputs), strict=True):
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
def test_keyboard_alone_reaches_everything_and_shortcuts_stay_out(page: Page) -> None:
    figure = mount(page, BILL)
    page.evaluate("() => { document.onkeydown = () => { document.title = 'stolen'; }; }")
    reached = "node => node.shadowRoot.activeElement.id || node.shadowRoot.activeElement.innerText"
    order = []
    for _ in range(8):
        page.keyboard.press("Tab")
        order.append(figure.evaluate(reached))
    page.evaluate("document.title = 'Figure'")
    assert order == ["T", "n_head", "n_layer", "kind", "length", "GPT-3", "Llama 3", "reset"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert total(figure) == "504.0 TB"


@pytest.mark.browser
def test_two_figures_on_a_page_work_on_their_own(page: Page) -> None:
    mount(page, BILL, memory_bill(1000))
    both = page.locator("al-memory-bill")
    both.nth(1).get_by_label("Heads").fill("2")
    assert total(both.nth(0)) == "18.6 GB"
    assert total(both.nth(1)) == "3.8 MB"


@pytest.mark.browser
def test_without_javascript_the_static_result_shows(browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    pre = mount(page, BILL).locator("pre")
    assert pre.is_visible()
    assert pre.inner_text() == BILL.static
    context.close()


@pytest.mark.browser
def test_hostile_names_stay_text(page: Page) -> None:
    name = '<img src=x onerror=alert(1)>"</script>'
    figure = mount(page, memory_bill(models={name: (1, 1, 6)}))
    assert page.locator("img").count() == 0
    figure.get_by_role("button", name=name).click()
    assert total(figure) == "72 bytes"


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, theme: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    mount(page, BILL, memory_bill(10**7, 9, 9), BILL, theme=theme)
    expect(page.locator(".al.dark")).to_have_count(3 if theme == "dark" else 0)
    page.get_by_label("Heads").last.fill("x")
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.browser
def test_it_fits_a_phone_and_holds_its_place(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    figure = mount(page, BILL, memory_bill(10**7, 1000, 1000, 8))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    table = figure.get_by_role("table")
    place = table.bounding_box()
    for change in ("GPT-3", "Llama 3", "reset"):
        figure.get_by_role("button", name=change).click()
        assert table.bounding_box() == place
    figure.get_by_label("Heads").fill("none")
    assert table.bounding_box() == place
    sizes = [b.bounding_box() for b in page.get_by_role("button").all()]
    assert all(size and size["width"] >= 44 and size["height"] >= 40 for size in sizes)
    inside = """figures => figures.every((figure) => {
        const edge = figure.getBoundingClientRect().right;
        const nodes = figure.shadowRoot.querySelectorAll("table, td, th, button, input, p, span");
        return [...nodes].every((node) => node.getBoundingClientRect().right <= edge);
    })"""
    assert page.locator("al-memory-bill").evaluate_all(inside)
