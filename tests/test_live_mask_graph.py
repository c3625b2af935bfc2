"""The live figure of chapter 09: table and graph follow the mask, and both equal the package."""

import math
import random
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
import torch
from live_page import KINDS, SCORES, cells, compute, mount, said
from playwright.sync_api import Locator, Page
from torch import Tensor

from attention_lab.attention import attend, causal_mask
from attention_lab.teaching import attention_graph, mask_graph
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.numbers import shown

FIGURE = KINDS["mask_graph"].make()
AT_FIRST = "u takes 0.84 of h, 0.02 of o, 0.15 of itself."


def weights_of(scores: Tensor, mask: Tensor) -> Tensor:
    """The package's weights (T, T) for scores (T, T): queries that are scores, keys one-hot."""
    one_hot = torch.eye(len(scores), dtype=torch.float64)  # (S, hs)
    return attend(scores, one_hot, one_hot, mask, scale=1.0)[1]


def weights(figure: Locator) -> list[list[str]]:
    return cells(figure.locator("tbody tr"))


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


def test_lists_do_as_well_as_tensors() -> None:
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
    draw, generator = random.Random(0), torch.Generator().manual_seed(0)
    inputs = []
    for _ in range(100):
        T, size = draw.randint(2, 6), draw.choice([0.0, 1.0, 30.0, 1e6])
        scores = size * torch.randn(T, T, generator=generator, dtype=torch.float64)  # (T, T)
        mask = torch.rand(T, T, generator=generator) < draw.choice([0.0, 0.3, 0.7, 1.0])  # (T, T)
        inputs.append((scores, mask))
    data = [{"scores": s.tolist(), "mask": m.tolist()} for s, m in inputs]
    results = compute(page, FIGURE, data)
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
    assert weights(figure) == [line[1:] for line in lines]
    assert figure.locator("caption").inner_text() == "6 of 9 arrows. Rows ask."
    assert list(widths(figure)) == ["h → h", "h → o", "o → o", "h → u", "o → u", "u → u"]
    assert said(figure) == AT_FIRST


@pytest.mark.browser
def test_table_and_graph_follow_each_entry(page: Page) -> None:
    figure, mask = mount(page, FIGURE), causal_mask(3)  # (T, T)
    for t, s in ((2, 0), (0, 2), (1, 1), (2, 0), (0, 0)):
        entry(figure, "hou"[t], "hou"[s]).click()
        mask[t, s] = ~mask[t, s]
        expected = weights_of(SCORES, mask)  # (T, T)
        assert weights(figure) == [
            [shown(w) if look else "0" for w, look in zip(row, looks, strict=True)]
            for row, looks in zip(expected.tolist(), mask.tolist(), strict=True)
        ]
        arrows = {
            f"{'hou'[j]} → {'hou'[i]}": max(0.8, 8 * expected[i, j].item())
            for i, j in mask.nonzero().tolist()
        }
        assert widths(figure) == pytest.approx(arrows, abs=0.01)
        pressed = entry(figure, "hou"[t], "hou"[s]).get_attribute("aria-pressed")
        assert pressed == str(mask[t, s].item()).lower()
        assert figure.locator("caption").inner_text().startswith(f"{int(mask.sum())} of 9")


@pytest.mark.browser
def test_a_row_masked_whole_shows_zeros_and_says_so(page: Page) -> None:
    figure = mount(page, FIGURE)
    for s in "hou":
        entry(figure, "u", s).click()
    assert weights(figure)[2] == ["0", "0", "0"]
    assert said(figure) == "u may look at nobody: all its weights are 0, and it takes home 0."
    assert list(widths(figure)) == ["h → h", "h → o", "o → o"]
    assert "NaN" not in figure.inner_text()
    press(figure, "nobody")
    assert weights(figure) == [["0"] * 3] * 3
    assert widths(figure) == {}
    assert figure.get_by_role("img").get_attribute("aria-label") == "Graph. Arrows: none"


@pytest.mark.browser
def test_the_buttons_set_the_mask(page: Page) -> None:
    start = causal_mask(3)  # (T, T)
    start[2, 1] = False
    figure = mount(page, mask_graph(SCORES, start, "hou"))
    first = weights(figure)
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
    assert weights(figure) == first
    entry(figure, "u", "o").click()
    press(figure, "reset")
    assert weights(figure) == first, "the given mask itself was changed"


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
    key("Tab")
    key("Shift+Tab")
    key("Space")
    assert said(figure).startswith("No arrow from h to o"), "the table forgot where the reader was"
