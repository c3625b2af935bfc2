"""The live figure of chapter 09: table and graph follow the mask, and both equal the package."""

import math
import random
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor

from attention_lab.attention import attend, causal_mask
from attention_lab.teaching import attention_graph, mask_graph
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.figure import script as _script
from attention_lab.teaching.live.numbers import shown

SCORES = torch.tensor(
    [[0.5, 2.0, -1.0], [1.0, -0.5, 0.25], [2.5, -1.5, 0.75]], dtype=torch.float64
)  # (T, T)
FIGURE = mask_graph(SCORES, causal_mask(3), "hou")
AT_FIRST = "u takes 0.84 of h, 0.02 of o, 0.15 of itself."


def weights_of(scores: Tensor, mask: Tensor) -> Tensor:
    """The package's weights (T, T) for scores (T, T): queries that are scores, keys one-hot."""
    one_hot = torch.eye(len(scores), dtype=torch.float64)  # (S, hs)
    return attend(scores, one_hot, one_hot, mask, scale=1.0)[1]


def mount(page: Page, *figures: LiveFigure, theme: str = "light") -> Locator:
    """The page with these figures; returns the first."""
    body = "".join(figure._repr_html_() for figure in figures)
    page.set_content(
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        f"<title>Figure</title></head><body><main><h1>Figure</h1>{body}</main></body></html>"
    )
    return page.locator("al-mask-graph").first


def said(figure: Locator) -> str:
    return figure.locator("#said").inner_text()


def table(figure: Locator) -> list[list[str]]:
    return figure.locator("tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.querySelectorAll('button')].map(b => b.innerText))"
    )


def entry(figure: Locator, t: str, s: str) -> Locator:
    return figure.get_by_role("button", name=re.compile(f"^{t} looks at {s}:"))


def press(figure: Locator, name: str) -> None:
    figure.get_by_role("button", name=name, exact=True).click()


def widths(figure: Locator) -> dict[str, float]:
    """The width of each arrow drawn, by the pair that the graph's description names."""
    label = str(figure.get_by_role("img").get_attribute("aria-label"))
    names = re.findall(r"(\S+ → \S+) ", label)
    drawn = figure.locator(".arrow :is(.ring, .shaft)").evaluate_all(
        "nodes => nodes.map(n => parseFloat(n.getAttribute('stroke-width')))"
    )
    return dict(zip(names, drawn, strict=True))


# ---------------------------------------------------------------- in Python


def test_the_static_result_holds_weights_and_the_number_of_arrows() -> None:
    lines = [line.split() for line in repr(FIGURE).splitlines()]
    assert lines[0] == ["h", "o", "u"]
    assert lines[1] == ["h", "1.00", "0", "0"]
    assert lines[3] == ["u", "0.84", "0.02", "0.15"]
    assert repr(FIGURE).endswith("6 of 9 arrows. Rows ask, columns are asked.")
    nobody = repr(mask_graph(SCORES, torch.zeros(3, 3, dtype=torch.bool), "hou"))
    assert nobody.splitlines()[3].split() == ["u", "0", "0", "0"]
    assert "0 of 9 arrows" in nobody
    assert "nan" not in nobody


def test_html_is_ascii_small_without_ids_and_the_same_each_time() -> None:
    assert FIGURE._repr_html_().isascii()
    assert " id=" not in FIGURE._repr_html_().split("<script>")[0]
    script = _script(FIGURE.tag)
    assert len(script) < 21_000
    assert "</script" not in script.lower()
    assert "<!--" not in script
    again = mask_graph(SCORES.tolist(), causal_mask(3).tolist(), ["h", "o", "u"])
    assert again._repr_html_() == FIGURE._repr_html_()


def test_scores_are_rounded_and_no_input_is_mutated() -> None:
    scores, mask = 0.33333 * torch.ones(2, 2), causal_mask(2)
    figure = mask_graph(scores, mask, "ab")
    assert figure.data == {
        "scores": [[0.333, 0.333], [0.333, 0.333]],
        "mask": [[True, False], [True, True]],
        "names": ["a", "b"],
    }
    assert torch.equal(scores, 0.33333 * torch.ones(2, 2))
    assert torch.equal(mask, causal_mask(2))


TWO = torch.zeros(2, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mask_graph(TWO[:1], causal_mask(2), "ab"), r"\(T, T\), T from 2 to 6, .*\(1, 2\)"),
        (lambda: mask_graph(TWO[:1, :1], causal_mask(1), "a"), r"got \(1, 1\)"),
        (lambda: mask_graph(torch.zeros(7, 7), causal_mask(7), "abcdefg"), r"got \(7, 7\)"),
        (lambda: mask_graph(TWO[0], causal_mask(2), "ab"), r"got \(2,\)"),
        (lambda: mask_graph(TWO * math.nan, causal_mask(2), "ab"), "scores .* 1e9, got nan"),
        (lambda: mask_graph(TWO, causal_mask(3), "ab"), r"mask must have shape \(2, 2\), .*3, 3"),
        (lambda: mask_graph(TWO, causal_mask(2), "abc"), "the 2 positions, got 3"),
        (lambda: mask_graph(TWO, causal_mask(2), "aa"), "different and not blank"),
    ],
)
def test_bad_input_is_refused_by_name(make: Callable[[], LiveFigure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_mask_of_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"True = may look, got torch\.float32"):
        mask_graph(TWO, torch.ones(2, 2), "ab")


# ---------------------------------------------------------------- equal to the package


@pytest.mark.browser
def test_weights_equal_attend_on_many_scores_and_masks(page: Page) -> None:
    mount(page, FIGURE)
    draw, generator = random.Random(0), torch.Generator().manual_seed(0)
    inputs = []
    for _ in range(100):
        T, size = draw.randint(2, 6), draw.choice([0.0, 1.0, 30.0, 1e6])
        scores = size * torch.randn(T, T, generator=generator, dtype=torch.float64)  # (T, T)
        mask = torch.rand(T, T, generator=generator) < draw.choice([0.0, 0.3, 0.7, 1.0])  # (T, T)
        inputs.append((scores, mask))
    results = page.evaluate(
        "inputs => inputs.map((data) => customElements.get('al-mask-graph').compute(data))",
        [{"scores": s.tolist(), "mask": m.tolist()} for s, m in inputs],
    )
    for (scores, mask), result in zip(inputs, results, strict=True):
        found = torch.tensor(result["weights"], dtype=torch.float64)  # (T, T)
        assert torch.allclose(found, weights_of(scores, mask), atol=1e-12)
        assert (found[~mask] == 0).all()
        sums = found.sum(-1)  # (T,)
        assert torch.allclose(sums, mask.any(-1).double())


SHAPES = """figure => [...figure.shadowRoot.querySelectorAll(".arrow > *")].map(n => [
    n.getAttribute("class"),
    ["cx", "r", "d", "points"].map(a => n.getAttribute(a)).filter(a => a).join(" "),
    n.getAttribute("stroke-width"),
])"""


@pytest.mark.browser
@pytest.mark.parametrize("T", [2, 3, 5, 6])
def test_arrows_are_those_of_the_static_graph(page: Page, T: int) -> None:
    generator = torch.Generator().manual_seed(T)
    scores = (2 * torch.randn(T, T, generator=generator, dtype=torch.float64)).round(decimals=3)
    everybody = torch.ones(T, T, dtype=torch.bool)  # (T, T)
    figure = mount(page, mask_graph(scores, everybody, "mouths"[:T]))
    static = attention_graph(weights_of(scores, everybody), "mouths"[:T])._repr_html_()
    nodes = ElementTree.fromstring(f"<body>{static}</body>").iterfind(".//g[@class='arrow']/*")
    drawn = figure.evaluate(SHAPES)
    pairs = list(zip(drawn, nodes, strict=True))
    assert len([kind for kind, *_ in drawn if kind in ("ring", "shaft")]) == T * T
    for (kind, place, width), node in pairs:
        assert kind == node.get("class")
        expected = " ".join(node.get(a, "") for a in ("cx", "r", "d", "points")).strip()
        numbers = [[float(n) for n in re.findall(r"-?[\d.]+", p)] for p in (place, expected)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.11), (place, expected)
        assert float(width or 0) == pytest.approx(float(node.get("stroke-width", 0)), abs=0.011)


# ---------------------------------------------------------------- what the reader does


@pytest.mark.browser
def test_the_page_shows_at_first_what_the_static_result_says(page: Page) -> None:
    figure = mount(page, FIGURE)
    lines = [re.split(r"  +", line) for line in repr(FIGURE).splitlines()[1:4]]
    assert table(figure) == [line[1:] for line in lines]
    assert figure.locator("caption").inner_text() == "6 of 9 arrows. Rows ask."
    assert list(widths(figure)) == ["h → h", "h → o", "o → o", "h → u", "o → u", "u → u"]
    assert said(figure) == AT_FIRST


@pytest.mark.browser
def test_table_and_graph_follow_each_entry(page: Page) -> None:
    figure, mask = mount(page, FIGURE), causal_mask(3)  # (T, T)
    for t, s in ((2, 0), (0, 2), (1, 1), (2, 0), (0, 0)):
        entry(figure, "hou"[t], "hou"[s]).click()
        mask[t, s] = ~mask[t, s]
        weights = weights_of(SCORES, mask)  # (T, T)
        assert table(figure) == [
            [shown(w) if look else "0" for w, look in zip(row, looks, strict=True)]
            for row, looks in zip(weights.tolist(), mask.tolist(), strict=True)
        ]
        expected = {
            f"{'hou'[j]} → {'hou'[i]}": max(0.8, 8 * weights[i, j].item())
            for i, j in mask.nonzero().tolist()
        }
        assert widths(figure) == pytest.approx(expected, abs=0.01)
        pressed = entry(figure, "hou"[t], "hou"[s]).get_attribute("aria-pressed")
        assert pressed == str(mask[t, s].item()).lower()
        assert figure.locator("caption").inner_text().startswith(f"{int(mask.sum())} of 9")


@pytest.mark.browser
def test_a_row_masked_whole_shows_zeros_and_says_so(page: Page) -> None:
    figure = mount(page, FIGURE)
    for s in "hou":
        entry(figure, "u", s).click()
    assert table(figure)[2] == ["0", "0", "0"]
    assert said(figure) == "u may look at nobody: all its weights are 0, and it takes home 0."
    assert list(widths(figure)) == ["h → h", "h → o", "o → o"]
    assert "NaN" not in figure.inner_text()
    press(figure, "nobody")
    assert table(figure) == [["0"] * 3] * 3
    assert widths(figure) == {}
    assert figure.get_by_role("img").get_attribute("aria-label") == "Graph. Arrows: none"


@pytest.mark.browser
def test_the_buttons_set_the_mask(page: Page) -> None:
    start = causal_mask(3)  # (T, T)
    start[2, 1] = False
    figure = mount(page, mask_graph(SCORES, start, "hou"))
    first = table(figure)
    for name, mask in {
        "causal": causal_mask(3),
        "everybody": torch.ones(3, 3, dtype=torch.bool),
        "only itself": torch.eye(3).bool(),
        "nobody": torch.zeros(3, 3, dtype=torch.bool),
    }.items():
        press(figure, name)
        pressed = figure.locator("tbody button").evaluate_all(
            "nodes => nodes.map(n => n.getAttribute('aria-pressed') === 'true')"
        )
        assert pressed == mask.flatten().tolist(), name
    press(figure, "reset")
    assert table(figure) == first
    entry(figure, "u", "o").click()
    press(figure, "reset")
    assert table(figure) == first, "the given mask itself was changed"


@pytest.mark.browser
def test_pointing_marks_cell_and_arrow_and_says_what_reaches_the_row(page: Page) -> None:
    figure = mount(page, FIGURE)
    entry(figure, "o", "h").hover()
    assert said(figure) == "o takes 0.82 of h, 0.18 of itself."
    assert figure.locator("td .chosen").inner_text() == "0.82"
    assert figure.locator(".arrow.chosen").count() == 1
    entry(figure, "h", "u").hover()
    assert said(figure) == "No arrow from u to h: the weight is 0. h takes 1.00 of itself."
    assert figure.locator(".arrow.chosen").count() == 0
    figure.locator(".ring").nth(1).dispatch_event("mouseover", {"bubbles": True})
    assert said(figure) == "o takes 0.82 of h, 0.18 of itself."
    assert figure.locator("td .chosen").inner_text() == "0.18"
    entry(figure, "o", "o").click()
    assert said(figure) == "No arrow from o to itself: the weight is 0. o takes 1.00 of h."


@pytest.mark.browser
def test_it_works_by_keyboard_alone(page: Page) -> None:
    figure = mount(page, FIGURE)
    key = page.keyboard.press
    for _ in range(6):
        key("Tab")  # five buttons, then the table
    page.evaluate("() => { document.onkeydown = () => { document.title = 'stolen'; }; }")
    assert said(figure) == "h takes 1.00 of itself."
    for name in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        key(name)  # the edge holds
    key("Space")
    assert entry(figure, "u", "o").get_attribute("aria-pressed") == "false"
    assert said(figure).startswith("No arrow from o to u: the weight is 0. u takes 0.85 of h")
    key("Enter")
    assert said(figure) == AT_FIRST
    key("End")
    key("ArrowUp")
    assert said(figure).startswith("No arrow from u to o")
    key("Home")
    assert said(figure).startswith("o takes 0.82 of h")
    outline = "node => getComputedStyle(node.getRootNode().activeElement).outlineStyle"
    assert figure.locator("#said").evaluate(outline) == "solid"
    assert page.title() == "Figure", "the page's own shortcuts saw keys meant for the figure"
    key("Tab")
    key("Shift+Tab")
    key("Space")
    assert said(figure).startswith("No arrow from h to o"), "the table forgot where the reader was"


@pytest.mark.browser
def test_two_figures_on_a_page_work_on_their_own(page: Page) -> None:
    mount(page, FIGURE, mask_graph(TWO, causal_mask(2), "ab"))
    both = page.locator("al-mask-graph")
    press(both.nth(1), "everybody")
    assert table(both.nth(1)) == [["0.50", "0.50"], ["0.50", "0.50"]]
    assert table(both.nth(0))[0] == ["1.00", "0", "0"]


# ---------------------------------------------------------------- where and how it is shown


@pytest.mark.browser
def test_without_javascript_the_static_result_shows(browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    pre = mount(context.new_page(), FIGURE).locator("pre")
    assert pre.is_visible()
    assert pre.inner_text() == FIGURE.static
    context.close()


@pytest.mark.browser
def test_hostile_names_stay_text(page: Page) -> None:
    name = '<img src=x onerror=alert(1)>"</script>'
    figure = mount(page, mask_graph(TWO, causal_mask(2), [name, "b"]))
    assert page.locator("img").count() == 0
    assert name in said(figure)


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, theme: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    figure = mount(page, FIGURE, FIGURE, theme=theme)
    expect(page.locator(".al.dark")).to_have_count(2 if theme == "dark" else 0)
    for name in ("everybody", "only itself", "nobody", "causal"):
        press(figure, name)
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()


@pytest.mark.browser
def test_it_fits_a_phone_and_holds_its_place(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    figure = mount(page, mask_graph(torch.zeros(6, 6), causal_mask(6), "mouths"))
    place, size = figure.get_by_role("table").bounding_box(), figure.bounding_box()
    for name in ("everybody", "nobody", "only itself", "causal"):
        press(figure, name)
        assert figure.get_by_role("table").bounding_box() == place
        assert figure.bounding_box() == size
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    sizes = [b.bounding_box() for b in figure.get_by_role("button").all()]
    assert all(b and b["width"] >= 44 and b["height"] >= 40 for b in sizes)
    inside = """figure => {
        const edge = figure.getBoundingClientRect().right;
        const nodes = figure.shadowRoot.querySelectorAll("table, td, th, button, svg, p");
        return [...nodes].every((node) => node.getBoundingClientRect().right <= edge);
    }"""
    assert figure.evaluate(inside)
