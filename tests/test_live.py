"""What every live figure promises: by keyboard and touch, in each frame and theme, as text."""

import html
import json
import re

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from live_page import KINDS, Kind, contrast, document, mount, state
from playwright.sync_api import Browser, Page, expect

from attention_lab.teaching import live
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.figure import script

BARS = KINDS["next_character"].make()  # for what is the same code in all kinds


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def test_every_kind_is_tried() -> None:
    assert {name for name in live.__all__ if name != "LiveFigure"} == set(KINDS)
    assert all(f"al-{name.replace('_', '-')}" == KINDS[name].make().tag for name in KINDS)


# ---------------------------------------------------------------- in Python


def test_html_is_the_same_each_time_ascii_light_and_without_ids(kind: Kind) -> None:
    text = kind.make()._repr_html_()
    assert text == kind.make()._repr_html_()
    assert text.isascii()
    assert len(text) < 150_000
    assert " id=" not in text.split("<script>")[0]


def test_a_script_is_small_ascii_and_ends_no_script_element_early(kind: Kind) -> None:
    text = script(kind.make().tag)
    assert text.isascii()
    assert len(text) < 21_000
    assert "</script" not in text.lower()
    assert "<!--" not in text


def test_a_figure_refuses_a_bad_tag_and_data_that_json_cannot_hold() -> None:
    with pytest.raises(ValueError, match="al-some-name"):
        LiveFigure("al-x><script", {}, "label", "static")
    with pytest.raises(ValueError, match="finite, plain JSON"):
        LiveFigure("al-next-character", {"x": float("nan")}, "label", "static")
    with pytest.raises(ValueError, match="finite, plain JSON"):
        LiveFigure("al-next-character", {"x": torch.zeros(1)}, "label", "static")


# ---------------------------------------------------------------- what the reader does


@pytest.mark.browser
def test_the_keyboard_reaches_everything_and_the_pages_shortcuts_stay_out(
    page: Page, kind: Kind
) -> None:
    figure = mount(page, kind.make())
    figure.evaluate("""figure => {
        window.stops = [...figure.shadowRoot.querySelectorAll("*")].filter((n) => n.tabIndex >= 0);
    }""")
    page.keyboard.press("Tab")
    page.evaluate("() => { document.onkeydown = () => { document.title = 'stolen'; }; }")
    reached = []
    for _ in range(page.evaluate("stops.length")):
        reached.append(figure.evaluate("f => stops.indexOf(f.shadowRoot.activeElement)"))
        outline = "f => getComputedStyle(f.shadowRoot.activeElement).outlineStyle"
        assert figure.evaluate(outline) == "solid"
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Tab")
    assert reached == list(range(len(reached)))
    assert len(reached) > 1
    assert page.title() == "Figure"
    assert figure.evaluate("f => f.shadowRoot.activeElement === null")


@pytest.mark.browser
def test_taps_work_every_button_box_and_slider(phone: Page, kind: Kind) -> None:
    figure = mount(phone, kind.make())
    for sort in ("[type=checkbox]", "[type=range]", "button"):
        states = [state(figure)]
        for control in figure.locator(sort).all():
            control.tap(position={"x": 8, "y": 12})
            states.append(state(figure))
        assert len(states) == 1 or any(now != states[0] for now in states), sort
        assert not re.search(r"NaN|undefined|null|Infinity", str(states))


@pytest.mark.browser
def test_two_on_a_page_work_on_their_own(page: Page, kind: Kind) -> None:
    alone = [state(mount(page, figure)) for figure in (kind.make(), kind.widest())]
    mount(page, kind.make(), kind.widest())
    first, second = page.locator(kind.make().tag).all()
    assert [state(first), state(second)] == alone
    kind.steps[0](second)
    assert state(first) == alone[0]
    assert state(second) != alone[1]


# ---------------------------------------------------------------- where it is shown


@pytest.mark.browser
def test_it_works_in_a_sandboxed_frame(page: Page, kind: Kind) -> None:
    inner = html.escape(document(kind.make()._repr_html_()))
    page.set_content(f'<iframe sandbox="allow-scripts" srcdoc="{inner}"></iframe>')
    figure = page.frame_locator("iframe").locator(kind.make().tag)
    start = state(figure)
    kind.steps[0](figure)
    assert state(figure) != start


INSERT = """source => {
    const output = document.createElement("div");
    output.innerHTML = source;
    for (const old of output.querySelectorAll("script")) {
        const script = document.createElement("script");
        script.textContent = old.textContent;
        old.replaceWith(script);
    }
    document.querySelector("main").append(output);
}"""


@pytest.mark.browser
def test_it_works_when_inserted_later_run_again_and_moved(page: Page, kind: Kind) -> None:
    alone = state(mount(page, kind.widest()))
    page.set_content(document(""))
    for figure in (kind.make(), kind.widest()):
        page.evaluate(INSERT, figure._repr_html_())
    tag = kind.make().tag
    first = page.locator(tag).first
    start = state(first)
    kind.steps[0](first)
    changed = state(first)
    assert changed != start
    page.evaluate("tag => document.body.prepend(document.querySelector(tag))", tag)
    assert [state(figure) for figure in page.locator(tag).all()] == [changed, alone]


@pytest.mark.browser
def test_without_javascript_the_static_result_shows(browser: Browser, kind: Kind) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    pre = mount(context.new_page(), kind.make()).locator("pre")
    assert pre.is_visible()
    assert pre.inner_text() == kind.make().static
    context.close()


@pytest.mark.browser
def test_what_an_author_wrote_stays_text(page: Page, kind: Kind) -> None:
    text = "</script></pre><img src=x onerror=alert(1)>\"'&lt;\u2028\u2029\\u"
    hostile = kind.hostile(text)
    figure = mount(page, LiveFigure(hostile.tag, hostile.data, text, text))
    assert page.locator("img").count() == 0
    assert json.loads(str(figure.get_attribute("data-figure"))) == hostile.data
    assert figure.get_attribute("aria-label") == text
    assert figure.locator("pre").text_content() == text
    inside = "f => [f.shadowRoot.textContent, f.shadowRoot.querySelector('textarea')?.value].join()"
    assert text in figure.evaluate(inside)


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


@pytest.mark.browser
def test_the_page_decides_on_dark_then_the_system(page: Page) -> None:
    for (root, body, system), dark in THEMES.items():
        page.emulate_media(color_scheme=system)
        found = mount(page, BARS, root=root, body=body).locator(".al.dark").count()
        assert bool(found) is dark, (root, body, system)


@pytest.mark.browser
def test_on_paper_a_figure_is_light_and_leaves_its_link_out(kind: Kind, page: Page) -> None:
    figure = mount(page, kind.make(), root="data-theme=dark")
    row = "Object.assign(document.createElement('div'), { className: 'link', textContent: 'link' })"
    figure.evaluate(f"f => f.shadowRoot.querySelector('.al').append({row})")  # no address: no link
    assert figure.locator(".link").is_visible()
    page.emulate_media(media="print")
    assert not figure.locator(".link").is_visible()
    surface = "f => getComputedStyle(f.shadowRoot.querySelector('.al')).backgroundColor"
    assert figure.evaluate(surface) == "rgb(255, 255, 255)"


@pytest.mark.browser
def test_the_theme_follows_a_switch(page: Page) -> None:
    dark = mount(page, BARS, root="data-theme=light").locator(".al.dark")
    expect(dark).to_have_count(0)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    expect(dark).to_have_count(1)
    page.evaluate("delete document.documentElement.dataset.theme")
    expect(dark).to_have_count(0)
    page.emulate_media(color_scheme="dark")
    expect(dark).to_have_count(1)


@pytest.fixture(params=["light", "dark"])
def theme(page: Page, request: pytest.FixtureRequest) -> str:
    page.emulate_media(reduced_motion="reduce")
    return request.param


@pytest.mark.browser
def test_axe_finds_nothing_in_any_state(page: Page, kind: Kind, theme: str) -> None:
    figure = mount(page, kind.make(), root=f"data-theme={theme}")
    expect(page.locator(".al.dark")).to_have_count(1 if theme == "dark" else 0)
    for step in kind.steps[: kind.looks]:
        step(figure)
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()


@pytest.mark.browser
def test_contrast_is_enough_in_both_themes(page: Page, theme: str) -> None:
    figure = mount(page, BARS, root=f"data-theme={theme}")

    def style(selector: str, name: str) -> str:
        node = figure.locator(selector).first
        return str(node.evaluate(f"node => getComputedStyle(node)['{name}']"))

    surface = style(".al", "backgroundColor")
    assert contrast(style("label", "color"), surface) >= 7
    assert contrast(style(".share", "color"), surface) >= 7
    assert contrast(style(".quiet", "color"), surface) >= 4.5
    assert contrast(style("textarea", "borderTopColor"), surface) >= 3
    assert contrast(style("button", "borderTopColor"), surface) >= 3
    assert contrast(style(".bar", "backgroundColor"), style(".track", "backgroundColor")) >= 3
    figure.locator("textarea").fill("7")
    assert contrast(style("#read", "color"), surface) >= 4.5
    assert contrast(style("textarea", "borderTopColor"), surface) >= 3
    assert contrast(style("textarea", "outlineColor"), surface) >= 3  # the focus ring


INSIDE = """figure => {
    const edge = figure.getBoundingClientRect().right;
    const nodes = [...figure.shadowRoot.querySelectorAll("*:not(.spoken, option)")];
    return nodes.filter((node) => node.getBoundingClientRect().right > edge + 0.1)
        .map((node) => node.outerHTML);
}"""


@pytest.mark.browser
@pytest.mark.parametrize("wide", [False, True], ids=["at hand", "widest"])
def test_it_fits_a_phone_and_holds_its_place(phone: Page, kind: Kind, wide: bool) -> None:
    figure = mount(phone, (kind.widest if wide else kind.make)())
    still = figure.locator(kind.still).all()
    boxes = [[node.bounding_box() for node in still]]
    for step in kind.steps:
        step(figure)
        boxes.append([node.bounding_box() for node in still])
        assert phone.evaluate("document.documentElement.scrollWidth") <= 360
        assert figure.evaluate(INSIDE) == []
        assert not re.search(r"NaN|undefined|null", figure.inner_text())
    assert still
    assert boxes == boxes[:1] * len(boxes)
    sizes = [button.bounding_box() for button in figure.get_by_role("button").all()]
    assert all(size and size["width"] >= 44 and size["height"] >= 40 for size in sizes)


@pytest.mark.browser
def test_bars_glide_unless_the_reader_wants_less_motion(page: Page) -> None:
    duration = "node => getComputedStyle(node).transitionDuration"
    bar = mount(page, BARS).locator(".bar").first
    assert bar.evaluate(duration) == "0.25s"
    page.emulate_media(reduced_motion="reduce")
    assert bar.evaluate(duration) == "0s"
