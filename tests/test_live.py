"""The live figures: equal to torch, reachable by keyboard, readable in every frame and theme."""

import html
import json
import random
import re

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from attention_lab.teaching.live import LiveFigure, next_character
from attention_lab.teaching.live.figure import script as script_of

CHARS = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FIELD = "Type any text"
BARS = "Next characters, likeliest first"
READS = "The bigram reads only the last character: "
SAME = "Same last character as before: the same bars, to the last bit."


def table(seed: int, size: int = len(CHARS), scale: float = 3.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(size, size, generator=generator)  # (V, V)


FIGURE = next_character(table(0), CHARS)


def document(body: str, root: str = "", body_attributes: str = "") -> str:
    return (
        f'<!doctype html><html lang="en" {root}><head><meta charset="utf-8"><title>Figure</title>'
        f"</head><body {body_attributes}><main><h1>Figure</h1>{body}</main></body></html>"
    )


def mount(page: Page, *figures: LiveFigure, root: str = "", body: str = "") -> Locator:
    page.set_content(document("".join(f._repr_html_() for f in figures), root, body))
    return page.locator("al-next-character")


def read(figure: Locator) -> str:
    return figure.locator("#read").inner_text()


def shares(figure: Locator) -> list[str]:
    return figure.locator(".share").all_inner_texts()


def evaluate(page: Page, data: object, text: str) -> dict[str, object]:
    call = "([data, text]) => customElements.get('al-next-character').compute(data, text)"
    result: dict[str, object] = page.evaluate(call, [data, text])
    return result


# ---------------------------------------------------------------- in Python


def test_static_result_is_the_text_form_and_lists_the_ten_likeliest() -> None:
    lines = repr(FIGURE).splitlines()
    row = torch.tensor(FIGURE.data["logits"], dtype=torch.float64)[CHARS.index("u")]
    best = row.softmax(-1).topk(10).values  # (10,)
    assert "'hou'" in lines[0]
    assert "'u'" in lines[0]
    assert [float(line.split()[-1].rstrip("%")) for line in lines[1:]] == pytest.approx(
        (100 * best).tolist(), abs=0.0501
    )


def test_space_and_newline_have_names_in_the_static_result() -> None:
    assert "␣ space" in repr(next_character(torch.zeros(3, 3), "\n u", "u"))
    assert "⏎ newline" in repr(next_character(torch.zeros(3, 3), "\n u", "u"))


def test_html_is_the_same_each_time_ascii_and_without_ids() -> None:
    twin = next_character(table(0), list(CHARS))
    assert FIGURE._repr_html_() == twin._repr_html_()
    assert FIGURE._repr_html_().isascii()
    element = FIGURE._repr_html_().split("<script>")[0]
    assert " id=" not in element


def test_logits_are_rounded_and_not_mutated() -> None:
    logits = table(3)
    before = logits.clone()
    rows = next_character(logits, CHARS).data["logits"]
    assert torch.equal(logits, before)
    assert torch.allclose(torch.tensor(rows), before, atol=0.0005001)
    assert max(len(f"{x}".partition(".")[2]) for row in rows for x in row) <= 3


def test_scripts_are_small_ascii_and_end_no_script_element_early() -> None:
    script = script_of("al-next-character")
    assert script.isascii()
    assert len(script) < 21_000
    assert "</script" not in script.lower()
    assert "<!--" not in script


@pytest.mark.parametrize(
    ("logits", "chars", "text", "message"),
    [
        (torch.zeros(3, 4), "abu", "u", r"shape \(V, V\), got \(3, 4\)"),
        (torch.zeros(3), "abu", "u", r"shape \(V, V\), got \(3,\)"),
        (torch.zeros(3, 3), "ab", "a", "the 3 rows of logits, got 2"),
        (torch.zeros(3, 3), "aba", "a", "different single characters"),
        (torch.zeros(3, 3), ["a", "b", "cd"], "a", "different single characters"),
        (torch.zeros(3, 3), "abu", "", "at least one character"),
        (torch.zeros(3, 3), "abu", "u7", r"'7' \(U\+0037\).* 3 characters"),
        (torch.zeros(3, 3).index_fill(1, torch.tensor(1), -torch.inf), "abu", "u", "-inf.*'b'"),
        (torch.full((1, 1), torch.nan), "u", "u", "finite, got nan"),
    ],
)
def test_bad_input_is_refused_by_name(
    logits: torch.Tensor, chars: list[str], text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        next_character(logits, chars, text)


def test_a_figure_refuses_a_bad_tag_and_data_that_json_cannot_hold() -> None:
    with pytest.raises(ValueError, match="al-some-name"):
        LiveFigure("al-x><script", {}, "label", "static")
    with pytest.raises(ValueError, match="finite, plain JSON"):
        LiveFigure("al-next-character", {"x": float("nan")}, "label", "static")
    with pytest.raises(ValueError, match="finite, plain JSON"):
        LiveFigure("al-next-character", {"x": torch.zeros(1)}, "label", "static")


# ---------------------------------------------------------------- equal to torch


@pytest.mark.browser
def test_bars_equal_torch_softmax_on_random_tables_and_texts(page: Page) -> None:
    mount(page, FIGURE)
    draw = random.Random(0)
    for seed in range(25):
        size = draw.randint(1, len(CHARS))
        chars = CHARS[-size:]
        text = "".join(draw.choices(chars, k=draw.randint(1, 12)))
        scale = draw.choice([0.0, 1.0, 30.0, 1000.0])
        data = next_character(table(seed, size, scale), chars, text).data
        result = evaluate(page, data, text)
        logits = torch.tensor(data["logits"], dtype=torch.float64)  # (V, V)
        expected = torch.softmax(logits[chars.index(text[-1])], -1)  # (V,)
        assert result["last"] == text[-1]
        assert result["probs"] == pytest.approx(expected.tolist(), abs=1e-6)
        order = expected.sort(descending=True, stable=True).indices[:10]
        assert expected[result["top"]].tolist() == pytest.approx(expected[order].tolist())
        assert len(set(result["top"])) == min(10, size)


@pytest.mark.browser
def test_huge_logits_give_one_sure_character_and_no_nan(page: Page) -> None:
    logits = torch.full((4, 4), -1000.0)
    logits[:, 2] = 1000.0
    figure = mount(page, next_character(logits, "hotu"))
    assert shares(figure) == ["100.0%", "0.0%", "0.0%", "0.0%"]
    assert figure.locator("li").first.inner_text().startswith("t")
    assert "NaN" not in figure.inner_text()


@pytest.mark.browser
def test_the_page_shows_at_first_what_the_static_result_says(page: Page) -> None:
    for text in ("hou", "ROMEO:\n", "a "):
        fig = next_character(table(5), CHARS, text)
        figure = mount(page, fig)
        assert shares(figure) == [line.split()[-1] for line in repr(fig).splitlines()[1:]]
        bars = figure.locator(".bar").all()
        widths = [float(re.findall(r"[\d.]+", str(b.get_attribute("style")))[0]) for b in bars]
        numbers = [float(share.rstrip("%")) for share in shares(figure)]
        assert widths == pytest.approx([n * widths[0] / numbers[0] for n in numbers], abs=0.6)
        assert max(widths) <= 100


@pytest.mark.browser
def test_ties_round_alike_in_the_page_and_in_python(page: Page) -> None:
    fig = next_character(torch.zeros(16, 16), CHARS[-16:], "u")  # 6.25 %
    assert shares(mount(page, fig)) == ["6.3%"] * 10
    assert repr(fig).count("6.3%") == 10


# ---------------------------------------------------------------- what the reader does


@pytest.mark.browser
def test_only_the_last_character_counts_and_the_figure_says_so(page: Page) -> None:
    figure = mount(page, FIGURE)
    bars = figure.get_by_role("list", name=BARS)
    first, place = bars.inner_text(), bars.bounding_box()
    assert read(figure) == READS + "'u'"
    figure.get_by_role("button", name="hou", exact=True).click()  # the text it already has
    assert SAME not in figure.inner_text()
    for word in ("you", "thou", "hou"):
        figure.get_by_role("button", name=word, exact=True).click()
        assert figure.get_by_label(FIELD).input_value() == word
        assert figure.get_by_text(SAME).is_visible()
        assert bars.inner_text() == first
        assert bars.bounding_box() == place
    figure.get_by_label(FIELD).fill("house")
    assert read(figure) == READS + "'e'"
    assert SAME not in figure.inner_text()
    assert bars.inner_text() != first


@pytest.mark.browser
def test_keyboard_alone_reaches_and_works_everything(page: Page) -> None:
    figure = mount(page, FIGURE)
    page.evaluate("document.onkeydown = () => { document.title = 'stolen'; }")
    page.keyboard.press("Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.evaluate("document.title = 'Figure'")
    page.keyboard.type("To be?")
    assert figure.get_by_label(FIELD).input_value() == "To be?"
    assert read(figure).startswith(READS + "'?'")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert figure.get_by_label(FIELD).input_value() == "you"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert figure.get_by_label(FIELD).input_value() == "thou"
    assert page.title() == "Figure", "the page's own shortcuts saw keys meant for the figure"
    outline = figure.get_by_role("button", name="thou", exact=True).evaluate(
        "node => getComputedStyle(node).outlineStyle"
    )
    assert outline == "solid"


UNKNOWN = {
    "7": "'7' (U+0037)",
    "你好": "'你' (U+4F60)",
    "a😀b": "'😀' (U+1F600)",
    "a\u200bb": "(U+200B)",
    "e\u0301": "(U+0301)",
    "a\tb": "'⇥' (U+0009)",
}


@pytest.mark.browser
def test_an_unknown_character_is_marked_and_named(page: Page) -> None:
    figure = mount(page, FIGURE)
    field = figure.get_by_label(FIELD)
    bar = figure.locator(".bar").first
    for text, named in UNKNOWN.items():
        field.fill(text)
        assert read(figure) == f"{named} is not one of the 65 characters this model knows."
        assert figure.get_by_role("status").inner_text().startswith(named)
        assert field.get_attribute("aria-invalid") == "true"
        assert field.get_attribute("aria-describedby") == "read"
        assert not bar.is_visible()
        assert figure.get_by_role("list", name=BARS).count() == 0
        field.fill("hou")
        assert field.get_attribute("aria-invalid") == "false"
        assert bar.is_visible()
        assert SAME not in figure.inner_text()


@pytest.mark.browser
def test_an_empty_field_asks_for_a_character(page: Page) -> None:
    figure = mount(page, FIGURE)
    figure.get_by_label(FIELD).fill("")
    assert "at least one character" in read(figure)
    assert figure.get_by_label(FIELD).get_attribute("aria-invalid") == "true"
    assert "NaN" not in figure.inner_text()


@pytest.mark.browser
def test_space_newline_and_capitals_are_seen_and_spoken(page: Page) -> None:
    figure = mount(page, next_character(torch.eye(4), "\n Uu", "u"))
    spoken = figure.locator("li .spoken").all_inner_texts()
    assert sorted(spoken) == ["capital U", "newline", "space"]
    assert figure.locator("li code[aria-hidden=true]").all_inner_texts() == ["⏎", "␣", "U"]
    figure.get_by_label(FIELD).press("Enter")
    assert read(figure).startswith(READS + "'⏎'")


# ---------------------------------------------------------------- where it is shown


@pytest.mark.browser
def test_two_figures_on_a_page_work_on_their_own(page: Page) -> None:
    both = mount(page, FIGURE, next_character(table(1), CHARS, "be"))
    assert both.count() == 2
    both.nth(0).get_by_label(FIELD).fill("ha!")
    assert read(both.nth(0)).startswith(READS + "'!'")
    assert read(both.nth(1)) == READS + "'e'"
    assert shares(both.nth(0)) != shares(both.nth(1))


@pytest.mark.browser
def test_it_works_in_a_sandboxed_frame(page: Page) -> None:
    inner = html.escape(document(FIGURE._repr_html_()))
    page.set_content(f'<iframe sandbox="allow-scripts" srcdoc="{inner}"></iframe>')
    figure = page.frame_locator("iframe").locator("al-next-character")
    figure.get_by_role("button", name="you", exact=True).click()
    assert read(figure) == READS + "'u'"


@pytest.mark.browser
def test_it_works_when_inserted_later_run_again_and_moved(page: Page) -> None:
    insert = """source => {
        const output = document.createElement("div");
        output.innerHTML = source;
        for (const old of output.querySelectorAll("script")) {
            const script = document.createElement("script");
            script.textContent = old.textContent;
            old.replaceWith(script);
        }
        document.querySelector("main").append(output);
    }"""
    page.set_content(document(""))
    page.evaluate(insert, FIGURE._repr_html_())
    page.evaluate(insert, next_character(table(1), CHARS, "be")._repr_html_())
    figures = page.locator("al-next-character")
    figures.nth(0).get_by_label(FIELD).fill("art")
    page.evaluate("document.body.prepend(document.querySelector('al-next-character'))")
    assert read(figures.nth(0)) == READS + "'t'"
    assert read(figures.nth(1)) == READS + "'e'"


@pytest.mark.browser
def test_without_javascript_the_static_result_shows(browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.set_content(document(FIGURE._repr_html_()))
    pre = page.locator("al-next-character pre")
    assert pre.is_visible()
    assert pre.inner_text() == FIGURE.static
    context.close()


@pytest.mark.browser
def test_hostile_text_stays_text(page: Page) -> None:
    text = "</script></pre><img src=x onerror=alert(1)>\"'&lt;\u2028\u2029\\u"
    chars = "".join(sorted(set(text)))
    hostile = next_character(table(2, len(chars)), chars, text)
    labelled = LiveFigure(hostile.tag, hostile.data, text, text)
    figure = mount(page, labelled)
    assert page.locator("img").count() == 0
    assert figure.get_by_label(FIELD).input_value() == text
    assert json.loads(str(figure.get_attribute("data-figure"))) == hostile.data
    assert figure.get_attribute("aria-label") == text
    assert figure.locator("pre").text_content() == text


# ---------------------------------------------------------------- how it looks

THEMES = {  # attribute of html, attribute of body, the system's colour scheme: dark?
    ("data-theme=dark", "", "light"): True,  # the book
    ("data-theme=light", "", "dark"): False,
    ("", "data-jp-theme-light=false", "light"): True,  # JupyterLab
    ("", "data-jp-theme-light=true", "dark"): False,
    ("theme=dark", "", "light"): True,  # Colab
    ("", "", "dark"): True,
    ("", "", "light"): False,
}


def is_dark(figure: Locator) -> bool:
    return bool(figure.locator(".al").evaluate("node => node.classList.contains('dark')"))


@pytest.mark.browser
def test_the_page_decides_on_dark_then_the_system(page: Page) -> None:
    for (root, body, system), dark in THEMES.items():
        page.emulate_media(color_scheme=system)
        assert is_dark(mount(page, FIGURE, root=root, body=body)) is dark, (root, body, system)


@pytest.mark.browser
def test_the_theme_follows_a_switch(page: Page) -> None:
    dark = mount(page, FIGURE, root="data-theme=light").locator(".al.dark")
    expect(dark).to_have_count(0)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    expect(dark).to_have_count(1)
    page.evaluate("delete document.documentElement.dataset.theme")
    expect(dark).to_have_count(0)
    page.emulate_media(color_scheme="dark")
    expect(dark).to_have_count(1)


def luminance(colour: str) -> float:
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture(params=["light", "dark"])
def themed(page: Page, request: pytest.FixtureRequest) -> Locator:
    page.emulate_media(reduced_motion="reduce")
    return mount(page, FIGURE, root=f"data-theme={request.param}")


@pytest.mark.browser
def test_contrast_is_enough_in_both_themes(themed: Locator) -> None:
    def style(selector: str, name: str) -> str:
        node = themed.locator(selector).first
        return str(node.evaluate(f"node => getComputedStyle(node)['{name}']"))

    surface = style(".al", "backgroundColor")
    assert contrast(style("label", "color"), surface) >= 7
    assert contrast(style(".share", "color"), surface) >= 7
    assert contrast(style(".quiet", "color"), surface) >= 4.5
    assert contrast(style("textarea", "borderTopColor"), surface) >= 3
    assert contrast(style("button", "borderTopColor"), surface) >= 3
    assert contrast(style(".bar", "backgroundColor"), style(".track", "backgroundColor")) >= 3
    themed.get_by_label(FIELD).fill("7")
    assert contrast(style("#read", "color"), surface) >= 4.5
    assert contrast(style("textarea", "borderTopColor"), surface) >= 3
    assert contrast(style("textarea", "outlineColor"), surface) >= 3  # the focus ring


@pytest.mark.browser
def test_axe_finds_nothing(themed: Locator) -> None:
    for text in ("you", "7"):
        themed.get_by_label(FIELD).fill(text)
        results = Axe().run(themed.page)
        assert results.violations_count == 0, results.generate_report()


@pytest.mark.browser
def test_it_fits_a_phone_and_the_bars_stay_in_place(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    figure = mount(page, FIGURE)
    bars = figure.get_by_role("list", name=BARS)
    place = bars.bounding_box()
    figure.get_by_role("button", name="you", exact=True).click()
    assert figure.get_by_text(SAME).is_visible()
    assert bars.bounding_box() == place
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    sizes = [button.bounding_box() for button in figure.get_by_role("button").all()]
    assert all(size and size["width"] >= 44 and size["height"] >= 40 for size in sizes)


@pytest.mark.browser
def test_bars_glide_unless_the_reader_wants_less_motion(page: Page) -> None:
    duration = "node => getComputedStyle(node).transitionDuration"
    bar = mount(page, FIGURE).locator(".bar").first
    assert bar.evaluate(duration) == "0.25s"
    page.emulate_media(reduced_motion="reduce")
    assert bar.evaluate(duration) == "0s"
