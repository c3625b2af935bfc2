"""The live figure of chapter 08: equal to attend, and every number traced to its makers."""

import math
import random
from collections.abc import Callable

import pytest
import torch
from live_page import KINDS, W_KEY, W_QUERY, W_VALUE, X, cells, compute, mount, said
from playwright.sync_api import Locator, Page
from torch import Tensor

from attention_lab.attention import attend, causal_mask
from attention_lab.teaching import attention_by_hand
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.numbers import shown

HAND = KINDS["attention_by_hand"].make()
INPUTS = ["x", "w_query", "w_key", "w_value"]
CAPTIONS = {
    "q": "q = x W_q",
    "k": "k = x W_k",
    "v": "v = x W_v",
    "scores": "scores = q kᵀ",
    "masked": "masked scores",
    "exps": "exp(score − max)",
    "weights": "weights = exp ÷ sum",
    "out": "out = weights v",
}


def grid(figure: Locator, name: str) -> list[list[str]]:
    grid = figure.get_by_role("grid", name=CAPTIONS[name], exact=True)
    return cells(grid.locator("tbody tr"))


# ---------------------------------------------------------------- in Python


def test_static_result_by_hand_holds_every_matrix() -> None:
    blocks = {block.split("\n")[0]: block.split("\n")[2:] for block in repr(HAND).split("\n\n")}
    assert len(blocks) == 12
    assert blocks["q = x W_q"][2].split() == ["u", "2.00", "0.50"]
    assert blocks["scores = q kᵀ"][2].split() == ["u", "4.00", "0.50", "2.50"]
    assert blocks["weights = exp ÷ sum of the row"][2].split() == ["u", "0.80", "0.02", "0.18"]
    assert blocks["weights = exp ÷ sum of the row"][0].split() == ["h", "1.00", "0", "0"]
    assert blocks["out = weights v"][2].split() == ["u", "8.87", "1.13"]


def test_no_input_is_mutated() -> None:
    x = 0.33333 * torch.eye(3)
    before = x.clone()
    hand = attention_by_hand(x, W_QUERY, W_KEY, W_VALUE, "hou")
    assert hand.data["x"] == [[0.333, 0, 0], [0, 0.333, 0], [0, 0, 0.333]]
    assert torch.equal(x, before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: attention_by_hand(X, W_QUERY, W_KEY, W_VALUE, "ho"), "the 3 rows of x, got 2"),
        (lambda: attention_by_hand(torch.eye(5), X, X, X, "abcde"), r"x .*\(T, C\).*\(5, 5\)"),
        (lambda: attention_by_hand(X, X[:2], X, X, "hou"), "w_query must have one row .* 3, got 2"),
        (lambda: attention_by_hand(X, W_KEY, X, X, "hou"), r"same shape \(C, hs\)"),
        (lambda: attention_by_hand(X, X, X, X[0], "hou"), r"w_value .*\(C, hv\).*got \(3,\)"),
        (lambda: attention_by_hand(X, X, X * math.nan, X, "hou"), "w_key .* 1e9, got nan"),
    ],
)
def test_bad_input_is_refused_by_name(make: Callable[[], LiveFigure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# ---------------------------------------------------------------- equal to the package


def by_hand(
    x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor, causal: bool
) -> dict[str, Tensor]:
    q, k, v = x @ w_query, x @ w_key, x @ w_value  # (T, hs), (T, hs), (T, hv)
    mask = causal_mask(len(x)) if causal else torch.ones(len(x), len(x), dtype=torch.bool)
    scores = q @ k.T  # (T, T)
    masked = scores.masked_fill(~mask, -math.inf)  # (T, T)
    out, weights = attend(q, k, v, mask, scale=1.0)  # (T, hv), (T, T)
    exps = (masked - masked.amax(-1, keepdim=True)).exp()  # (T, T)
    return dict(zip(CAPTIONS, (q, k, v, scores, masked, exps, weights, out), strict=True))


@pytest.mark.browser
def test_by_hand_equals_attend_on_many_inputs(page: Page) -> None:
    draw, generator = random.Random(0), torch.Generator().manual_seed(0)
    inputs = []
    for _ in range(100):
        T, C, hs, hv = (draw.randint(1, most) for most in (4, 4, 3, 3))
        size = draw.choice([0.0, 1.0, 20.0])
        matrices = [
            size * torch.randn(*shape, generator=generator, dtype=torch.float64)
            for shape in ((T, C), (C, hs), (C, hs), (C, hv))
        ]
        inputs.append((matrices, draw.random() < 0.5))
    data = [
        dict(zip(INPUTS, (m.tolist() for m in matrices), strict=True)) | {"causal": causal}
        for matrices, causal in inputs
    ]
    results = compute(page, HAND, data)
    for (matrices, causal), result in zip(inputs, results, strict=True):
        for name, expected in by_hand(*matrices, causal=causal).items():
            found = torch.tensor(result[name], dtype=torch.float64)
            assert found.shape == expected.shape
            assert torch.allclose(found, expected, atol=1e-6, rtol=1e-12), name


@pytest.mark.browser
def test_the_documents_numbers_show_and_edits_recompute(page: Page) -> None:
    figure = mount(page, HAND)
    assert grid(figure, "q") == [["1.00", "0.00"], ["0.00", "1.00"], ["2.00", "0.50"]]
    assert grid(figure, "k") == [["2.00", "0.00"], ["0.00", "1.00"], ["1.00", "1.00"]]
    assert grid(figure, "v") == [["10.00", "0.00"], ["0.00", "10.00"], ["5.00", "5.00"]]
    assert grid(figure, "scores")[2] == ["4.00", "0.50", "2.50"]
    assert grid(figure, "masked")[0] == ["2.00", "−∞", "−∞"]
    assert grid(figure, "weights")[2] == ["0.80", "0.02", "0.18"]
    assert grid(figure, "out")[2] == ["8.87", "1.13"]
    assert said(figure) == "score of u for h = 2.00 × 2.00 + 0.50 × 0.00 = 4.00"

    figure.get_by_label("x, row o, column 2").fill("-1.5")
    figure.get_by_label("W_v, row 2, column 0").fill("7")
    figure.get_by_label("Causal mask").uncheck()
    x, w_value = X.clone(), W_VALUE.clone()
    x[1, 2], w_value[2, 0] = -1.5, 7
    for name, expected in by_hand(x, W_QUERY, W_KEY, w_value, causal=False).items():
        assert grid(figure, name) == [[shown(n) for n in row] for row in expected.tolist()], name

    figure.get_by_label("x, row h, column 0").fill("0.1")
    figure.get_by_label("x, row h, column 1").fill("0.2")
    figure.get_by_label("x, row h, column 2").fill("-0.15")
    assert grid(figure, "q")[0] == ["−0.20", "0.13"]
    figure.get_by_label("W_q, row 1, column 0").fill("1")
    assert 0.1 + 0.2 - 0.15 * 2 != 0
    assert grid(figure, "q")[0][0] == "0.00", "rounding noise is no number to show"

    figure.get_by_role("button", name="reset").click()
    assert figure.get_by_label("Causal mask").is_checked()
    assert grid(figure, "out")[2] == ["8.87", "1.13"]


# ---------------------------------------------------------------- where a number comes from


def sources(name: str, i: int, j: int, T: int, C: int, hs: int, seen: list[float]) -> set[str]:
    """The places a number is made from, by the definition of each matrix."""
    products = {"q": ("x", "w_query", C), "k": ("x", "w_key", C), "v": ("x", "w_value", C)}
    products["out"] = ("weights", "v", T)
    if name in products:
        left, right, size = products[name]
        return {f"{left} {i} {n}" for n in range(size)} | {f"{right} {n} {j}" for n in range(size)}
    if name == "scores":
        return {f"q {i} {n}" for n in range(hs)} | {f"k {j} {n}" for n in range(hs)}
    if name == "masked":
        return {f"scores {i} {j}"}
    if name == "exps":
        return {f"masked {i} {j}", f"masked {i} {seen.index(max(seen))}"}
    return {f"exps {i} {n}" for n in range(T)}


TRACE_ALL = """(figure) => {
    const nodes = { ...figure.fields, ...figure.cells };
    const places = new Map();
    for (const [name, rows] of Object.entries(nodes)) {
        rows.forEach((row, i) => row.forEach((node, j) => places.set(node, `${name} ${i} ${j}`)));
    }
    const found = {};
    for (const [node, place] of places) {
        if (!node.matches("td")) continue;
        node.focus();
        const marked = [...figure.shadowRoot.querySelectorAll(".source")];
        const chosen = [...figure.shadowRoot.querySelectorAll(".chosen")];
        found[place] = {
            said: figure.said.textContent, shown: node.textContent,
            sources: marked.map((m) => places.get(m)), chosen: chosen.map((m) => places.get(m)),
        };
    }
    return found;
}"""


@pytest.mark.browser
def test_every_number_names_and_marks_the_numbers_it_was_made_from(page: Page) -> None:
    torch.manual_seed(0)
    T, C, hs, hv = 4, 3, 2, 3
    shapes = [(T, C), (C, hs), (C, hs), (C, hv)]
    matrices = [torch.randn(*shape, dtype=torch.float64).round(decimals=1) for shape in shapes]
    figure = mount(page, attention_by_hand(*matrices, names="cats"))
    expected = by_hand(*matrices, causal=True)
    found = figure.evaluate(TRACE_ALL)
    assert len(found) == sum(m.numel() for m in expected.values())
    for place, trace in found.items():
        name, i, j = place.split()[0], *map(int, place.split()[1:])
        seen = expected["masked"][i].tolist()
        assert set(trace["sources"]) == sources(name, i, j, T, C, hs, seen), place
        assert trace["chosen"] == [place]
        title, how, *results = trace["said"].split(" = ")
        pair = (
            f"for {'cats'[j]}" if name in ("scores", "masked", "exps", "weights") else f"column {j}"
        )
        assert title.split()[0] in name or title.startswith("masked score")
        assert f" of {'cats'[i]}" in title
        assert title.endswith(pair)
        assert results[0].split(" ≈ ")[-1] == trace["shown"]
        if name != "masked":
            arithmetic = (
                how.replace("×", "*").replace("÷", "/").replace("−∞", "-inf").replace("−", "-")
            )
            value = eval(arithmetic, {"exp": math.exp, "inf": math.inf})
            assert value == pytest.approx(expected[name][i, j].item(), abs=2e-3), trace["said"]


@pytest.mark.browser
def test_hover_and_tap_trace_and_an_edit_keeps_the_trace(page: Page, phone: Page) -> None:
    figure = mount(page, HAND)
    weight = figure.get_by_role("grid", name="weights").locator("td[tabindex]").nth(7)
    weight.hover()
    assert said(figure) == "weight of u for o = 0.0302 ÷ (1.00 + 0.0302 + 0.2231) = 0.0241 ≈ 0.02"
    masked = figure.get_by_role("grid", name="masked").locator("td[tabindex]").nth(1)
    masked.hover()
    assert said(figure) == "masked score of h for o = hidden, being ahead = −∞"
    figure.get_by_label("Causal mask").uncheck()
    assert said(figure) == "masked score of h for o = its score = 0.00"
    figure.get_by_label("W_k, row 1, column 0").fill("3")
    assert said(figure) == "masked score of h for o = its score = 3.00"

    figure = mount(phone, HAND)
    figure.get_by_role("grid", name="out").locator("td[tabindex]").nth(4).tap()
    assert said(figure).startswith("out of u, column 0 = 0.7979 × 10.00 + 0.0241 × 0.00 + 0.1780 ×")
    assert said(figure).endswith("= 8.8689 ≈ 8.87")
    assert figure.locator("#said").evaluate("n => n.getBoundingClientRect().bottom <= innerHeight")


# ---------------------------------------------------------------- keyboard


@pytest.mark.browser
def test_arrow_keys_walk_a_grid_and_tab_reaches_each_grid_once(page: Page) -> None:
    figure = mount(page, HAND)
    figure.get_by_label("W_v, row 2, column 1").focus()
    press = page.keyboard.press
    press("Tab")
    assert said(figure).startswith("q of h, column 0 = 1.00 × 1.00 + ")
    for key, place in {
        "ArrowRight": "q of h, column 1",
        "ArrowRight ": "q of h, column 1",  # the edge holds
        "ArrowDown": "q of o, column 1",
        "Home": "q of o, column 0",
        "End": "q of o, column 1",
        "ArrowUp": "q of h, column 1",
        "ArrowLeft": "q of h, column 0",
        "ArrowDown ": "q of o, column 0",
    }.items():
        press(key.strip())
        assert said(figure).startswith(f"{place} = "), key
    watch = "() => addEventListener('keydown', e => setTimeout(() => { last = e }), true)"
    page.evaluate(watch)
    for key, ours in (("ArrowDown", True), ("Home", True), ("Alt+ArrowDown", False), ("a", False)):
        press(key)
        assert (
            page.evaluate("() => new Promise(r => setTimeout(() => r(last.defaultPrevented)))")
            is ours
        )
    press("ArrowUp")
    titles = []
    for _ in range(7):
        press("Tab")
        titles.append(said(figure).split(" = ")[0])
    assert titles == [
        *("k of h, column 0", "v of h, column 0", "score of h for h", "masked score of h for h"),
        *("exp of h for h", "weight of h for h", "out of h, column 0"),
    ]
    for _ in range(7):
        press("Shift+Tab")
    assert said(figure).startswith("q of o, column 0 = "), "the grid forgot where the reader was"


@pytest.mark.browser
def test_the_sentence_never_covers_what_the_keyboard_reaches(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 500})
    figure = mount(page, HAND, KINDS["softmax_weights"].make())
    covered = """said => {
        const root = said.getRootNode();
        const reached = root.activeElement.getBoundingClientRect();
        return reached.top < 0 || reached.bottom > said.parentNode.getBoundingClientRect().top;
    }"""
    page.keyboard.press("Tab")
    for key in ["Tab"] * 36 + ["Shift+Tab"] * 20:
        assert not figure.locator("#said").evaluate(covered)
        page.keyboard.press(key)
