"""The live figures of chapters 05 and 08: equal to the package, traceable, hard to break."""

import math
import random
import re
from collections.abc import Callable

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor

from attention_lab.attention import attend, causal_mask
from attention_lab.teaching import attention_by_hand, softmax_weights
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.figure import script as _script
from attention_lab.teaching.live.numbers import shown

ROW = softmax_weights([2, -1, 3, 5], [True, True, True, False], names="hous")
X = torch.eye(3)  # (T, C): h, o, u
W_QUERY = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.5]])  # (C, hs)
W_KEY = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # (C, hs)
W_VALUE = torch.tensor([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])  # (C, hv)
HAND = attention_by_hand(X, W_QUERY, W_KEY, W_VALUE, "hou")
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


def mount(page: Page, *figures: LiveFigure, theme: str = "light") -> Locator:
    """The page with these figures; returns the first."""
    body = "".join(figure._repr_html_() for figure in figures)
    page.set_content(
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        f"<title>Figure</title></head><body><main><h1>Figure</h1>{body}</main></body></html>"
    )
    return page.locator("main > :is(al-softmax-weights, al-attention-by-hand)").first


def compute(page: Page, tag: str, inputs: list[dict[str, object]]) -> list[dict[str, object]]:
    """What the page's own function makes of each of the inputs."""
    call = "([tag, inputs]) => inputs.map((data) => customElements.get(tag).compute(data))"
    results: list[dict[str, object]] = page.evaluate(call, [tag, inputs])
    return results


def said(figure: Locator) -> str:
    return figure.locator("#said").inner_text()


def grid(figure: Locator, name: str) -> list[list[str]]:
    rows = figure.get_by_role("grid", name=CAPTIONS[name], exact=True).locator("tbody tr")
    return rows.evaluate_all(
        "rows => rows.map(r => [...r.querySelectorAll('td')].map(t => t.innerText))"
    )


def stage(figure: Locator, column: int) -> list[str]:
    """A column of the softmax table: 2 masked, 3 exp, 4 weight."""
    return figure.locator(f"tbody tr > :nth-child({column + 1})").all_inner_texts()


def totals(figure: Locator) -> str:
    return " ".join(figure.locator("tfoot").inner_text().split())


# ---------------------------------------------------------------- in Python


def test_static_result_of_the_row_holds_every_stage() -> None:
    lines = [re.split(r"  +", line) for line in repr(ROW).splitlines()]
    assert lines[0] == ["key", "may look", "score", "masked", "exp(score − max)", "weight"]
    assert lines[1] == ["h", "yes", "2.00", "2.00", "0.37", "0.27"]
    assert lines[4] == ["s", "no", "5.00", "−∞", "0", "0"]
    assert lines[5] == ["sum", "1.39", "1.00"]
    hidden = repr(softmax_weights(torch.zeros(2), torch.zeros(2, dtype=torch.bool), 0.5))
    assert "exp((score − max) ÷ 0.5)" in hidden
    assert re.split(r"  +", hidden.splitlines()[-1]) == ["sum", "0", "0"]
    assert "nan" not in hidden


def test_static_result_by_hand_holds_every_matrix() -> None:
    blocks = {block.split("\n")[0]: block.split("\n")[2:] for block in repr(HAND).split("\n\n")}
    assert len(blocks) == 12
    assert blocks["q = x W_q"][2].split() == ["u", "2.00", "0.50"]
    assert blocks["scores = q kᵀ"][2].split() == ["u", "4.00", "0.50", "2.50"]
    assert blocks["weights = exp ÷ sum of the row"][2].split() == ["u", "0.80", "0.02", "0.18"]
    assert blocks["weights = exp ÷ sum of the row"][0].split() == ["h", "1.00", "0", "0"]
    assert blocks["out = weights v"][2].split() == ["u", "8.87", "1.13"]


@pytest.mark.parametrize("figure", [ROW, HAND], ids=["row", "hand"])
def test_html_is_ascii_small_and_without_ids(figure: LiveFigure) -> None:
    assert figure._repr_html_().isascii()
    assert " id=" not in figure._repr_html_().split("<script>")[0]
    script = _script(figure.tag)
    assert len(script) < 21_000
    assert "</script" not in script.lower()
    assert "<!--" not in script


def test_html_is_the_same_each_time_and_no_input_is_mutated() -> None:
    scores, x = torch.tensor([0.12345, 2.0]), 0.33333 * torch.eye(3)
    before = scores.clone(), x.clone()
    may_look = torch.tensor([True, False])
    row = softmax_weights(scores, may_look)
    hand = attention_by_hand(x, W_QUERY, W_KEY, W_VALUE, "hou")
    assert row._repr_html_() == softmax_weights([0.12345, 2.0], [True, False])._repr_html_()
    assert hand.data["x"] == [[0.333, 0, 0], [0, 0.333, 0], [0, 0, 0.333]]
    assert row.data == {
        "scores": [0.123, 2], "mask": [True, False], "temperature": 1, "names": ["0", "1"]
    }  # fmt: skip
    assert torch.equal(scores, before[0])
    assert torch.equal(x, before[1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: softmax_weights([1.0], [True]), r"S from 2 to 8, got \(1,\)"),
        (lambda: softmax_weights(torch.zeros(2, 2), [True] * 2), r"got \(2, 2\)"),
        (lambda: softmax_weights([1, 2], [True]), r"mask must have shape \(2,\), got \(1,\)"),
        (lambda: softmax_weights([1, math.inf], [True] * 2), "scores .* 1e9, got inf"),
        (lambda: softmax_weights([1, math.nan], [True] * 2), "scores .* 1e9, got nan"),
        (lambda: softmax_weights([1, 2], [True] * 2, 0.0), "between 0.1 and 10, got 0"),
        (lambda: softmax_weights([1, 2], [True] * 2, math.nan), "between 0.1 and 10, got nan"),
        (lambda: softmax_weights([1, 2], [True] * 2, names="abc"), "the 2 keys, got 3"),
        (lambda: softmax_weights([1, 2], [True] * 2, names="aa"), "different and not blank"),
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


def test_a_mask_of_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"True = may look, got torch\.float32"):
        softmax_weights([1, 2], torch.ones(2))


# ---------------------------------------------------------------- equal to the package


@pytest.mark.browser
def test_row_equals_torch_and_attend_on_many_inputs(page: Page) -> None:
    mount(page, ROW)
    draw, generator = random.Random(0), torch.Generator().manual_seed(0)
    inputs = []
    for _ in range(100):
        S, size = draw.randint(2, 8), draw.choice([0.0, 1.0, 30.0, 1e6])
        scores = size * torch.randn(S, generator=generator, dtype=torch.float64)  # (S,)
        mask = torch.rand(S, generator=generator) < draw.choice([0.0, 0.5, 1.0])  # (S,)
        inputs.append((scores, mask, draw.choice([0.1, 0.5, 1.0, 3.2, 10.0])))
    names = ("scores", "mask", "temperature")
    data = [dict(zip(names, (s.tolist(), m.tolist(), t), strict=True)) for s, m, t in inputs]
    results = compute(page, "al-softmax-weights", data)
    for (scores, mask, temperature), result in zip(inputs, results, strict=True):
        k = scores[:, None]  # (S, hs)
        _, weights = attend(torch.ones_like(k[:1]), k, k, mask, scale=1 / temperature)  # (1, S)
        masked = scores.masked_fill(~mask, -math.inf)  # (S,)
        found = torch.tensor(result["weights"], dtype=torch.float64)  # (S,)
        assert result["masked"] == masked.tolist()
        assert found.tolist() == pytest.approx(weights[0].tolist(), abs=1e-6)
        assert (found[~mask] == 0).all()
        if mask.any():
            expected = torch.softmax(masked / temperature, dim=-1)  # (S,)
            assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


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
    mount(page, HAND)
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
    results = compute(page, "al-attention-by-hand", data)
    for (matrices, causal), result in zip(inputs, results, strict=True):
        for name, expected in by_hand(*matrices, causal=causal).items():
            found = torch.tensor(result[name], dtype=torch.float64)
            assert found.shape == expected.shape
            assert torch.allclose(found, expected, atol=1e-6, rtol=1e-12), name


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


# ---------------------------------------------------------------- the row of scores


@pytest.mark.browser
def test_the_row_shows_its_stages_and_recomputes(page: Page) -> None:
    figure = mount(page, ROW)
    lines = [re.split(r"  +", line) for line in repr(ROW).splitlines()[1:-1]]
    for column, place in ((2, 3), (3, 4), (4, 5)):
        assert stage(figure, column) == [line[place] for line in lines]
    assert said(figure) == "Most weight: u, 1.00 ÷ 1.39 = 0.72."
    assert totals(figure) == "max 3.00 sum 1.39 sum 1.00"
    widths = figure.locator(".bar").evaluate_all("bars => bars.map(b => parseFloat(b.style.width))")
    assert widths == pytest.approx([26.54, 1.32, 72.14, 0.0], abs=0.01)
    figure.get_by_label("may look at s").check()
    figure.get_by_label("The score of o").fill("−0.5")  # a true minus is a minus
    expected = torch.tensor([2, -0.5, 3, 5], dtype=torch.float64).softmax(-1)
    assert stage(figure, 4) == [shown(w) for w in expected.tolist()]


@pytest.mark.browser
def test_the_buttons_of_the_row(page: Page) -> None:
    figure = mount(page, ROW)
    before = stage(figure, 4)
    figure.get_by_role("button", name="add 100").click()
    assert figure.get_by_label("The score of o").input_value() == "99"
    assert stage(figure, 4) == before
    assert "no weight has moved" in said(figure)
    figure.get_by_role("button", name="all zero").click()
    assert stage(figure, 4) == ["0.33", "0.33", "0.33", "0"]
    assert (
        said(figure) == "Equal scores: each key in sight gets 1/3, and that is the plain average."
    )
    figure.get_by_label("may look at h").uncheck()
    figure.get_by_label("may look at o").uncheck()
    assert said(figure) == "Only u is in sight: it gets 1, whatever its score."
    figure.get_by_role("slider").fill("1")
    assert figure.get_by_role("slider").get_attribute("aria-valuetext") == "10"
    figure.get_by_role("button", name="reset").click()
    assert stage(figure, 4) == before
    assert figure.get_by_role("slider").get_attribute("aria-valuetext") == "1"
    assert said(figure) == "Most weight: u, 1.00 ÷ 1.39 = 0.72."


@pytest.mark.browser
def test_all_masked_gives_zeros_and_says_so(page: Page) -> None:
    figure = mount(page, softmax_weights([1, 2, 3], [False] * 3))
    for _ in ("at first", "after a button"):
        assert said(figure) == "There is nothing to look at: every weight is 0."
        assert stage(figure, 2) == ["−∞"] * 3
        assert stage(figure, 3) == stage(figure, 4) == ["0"] * 3
        assert totals(figure) == "max none sum 0 sum 0"
        assert "NaN" not in figure.inner_text()
        figure.get_by_role("button", name="add 100").click()


@pytest.mark.browser
def test_huge_scores_and_every_temperature_stay_finite(page: Page) -> None:
    figure = mount(page, ROW)
    figure.get_by_label("The score of h").fill("1e6")
    figure.get_by_label("The score of o").fill("-1e6")
    for power in ("-1", "0", "0.3", "1"):
        figure.get_by_role("slider").fill(power)
        assert stage(figure, 4) == ["1.00", "0.00", "0.00", "0"]
    assert stage(figure, 2)[:2] == ["1000000", "−1000000"]
    assert figure.locator(".exp").inner_text() == "exp((score − max) ÷ 10)"
    assert figure.locator("[aria-invalid=true]").count() == 0


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
    for text in (" 2 ", "+.5", "3.", "1E3", "-1e-3", str(figure.data.get("scores", [0, 0])[1])):
        field.fill(text)
        assert field.get_attribute("aria-invalid") == "false", text
        assert shown_figure.locator(result).first.is_visible()
    assert shown_figure.locator(result).all_inner_texts() == before


# ---------------------------------------------------------------- by hand


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
def test_hover_and_tap_trace_and_an_edit_keeps_the_trace(page: Page, browser: Browser) -> None:
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

    touch = browser.new_context(
        offline=True, has_touch=True, viewport={"width": 360, "height": 640}
    )
    phone = mount(touch.new_page(), HAND)
    phone.get_by_role("grid", name="out").locator("td[tabindex]").nth(4).tap()
    assert said(phone).startswith("out of u, column 0 = 0.7979 × 10.00 + 0.0241 × 0.00 + 0.1780 ×")
    assert said(phone).endswith("= 8.8689 ≈ 8.87")
    assert phone.locator("#said").evaluate("n => n.getBoundingClientRect().bottom <= innerHeight")
    touch.close()


# ---------------------------------------------------------------- keyboard


@pytest.mark.browser
def test_the_row_works_by_keyboard_alone(page: Page) -> None:
    figure = mount(page, ROW)
    press = page.keyboard.press
    press("Tab")
    press("ArrowRight")
    assert figure.get_by_role("slider").get_attribute("aria-valuetext") == "1.1"
    for _ in range(4):
        press("Tab")  # three buttons, the first box
    press("Space")
    assert not figure.get_by_label("may look at h").is_checked()
    press("Tab")
    press("ControlOrMeta+a")
    page.keyboard.type("7")
    assert figure.get_by_label("The score of h").input_value() == "7"
    assert stage(figure, 4)[0] == "0"


@pytest.mark.browser
def test_arrow_keys_walk_a_grid_and_tab_reaches_each_grid_once(page: Page) -> None:
    figure = mount(page, HAND)
    page.evaluate("() => { document.onkeydown = () => { document.title = 'stolen'; }; }")
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
    outline = "node => getComputedStyle(node.getRootNode().activeElement).outlineStyle"
    assert figure.locator("#said").evaluate(outline) == "solid"
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
    assert page.title() == "Figure"


@pytest.mark.browser
def test_the_sentence_never_covers_what_the_keyboard_reaches(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 500})
    figure = mount(page, HAND, ROW)
    covered = """said => {
        const root = said.getRootNode();
        const reached = root.activeElement.getBoundingClientRect();
        return reached.top < 0 || reached.bottom > said.parentNode.getBoundingClientRect().top;
    }"""
    page.keyboard.press("Tab")
    for key in ["Tab"] * 36 + ["Shift+Tab"] * 20:
        assert not figure.locator("#said").evaluate(covered)
        page.keyboard.press(key)


# ---------------------------------------------------------------- where and how it is shown


@pytest.mark.browser
def test_figures_on_one_page_work_on_their_own(page: Page) -> None:
    other = attention_by_hand(X, W_QUERY, W_KEY, -W_VALUE, "you")
    mount(page, ROW, HAND, softmax_weights([0, 0], [True, True]), other)
    rows, hands = page.locator("al-softmax-weights"), page.locator("al-attention-by-hand")
    rows.nth(1).get_by_label("The score of 0").fill("x")
    hands.nth(1).get_by_label("x, row y, column 0").fill("2")
    assert said(rows.nth(0)) == "Most weight: u, 1.00 ÷ 1.39 = 0.72."
    assert grid(hands.nth(0), "out")[2] == ["8.87", "1.13"]
    assert grid(hands.nth(1), "out")[0] == ["−20.00", "0.00"]


@pytest.mark.browser
def test_without_javascript_the_static_result_shows(browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    for figure in (ROW, HAND):
        pre = mount(page, figure).locator("pre")
        assert pre.is_visible()
        assert pre.inner_text() == figure.static
    context.close()


@pytest.mark.browser
def test_hostile_names_stay_text(page: Page) -> None:
    name = '<img src=x onerror=alert(1)>"</script>'
    row = softmax_weights([1, 2], [True, True], names=[name, "b"])
    mount(page, row, attention_by_hand(X, W_QUERY, W_KEY, W_VALUE, ["a", name, "b"]))
    assert page.locator("img").count() == 0
    assert page.locator("al-softmax-weights").get_by_label(f"may look at {name}").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, theme: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    mount(page, ROW, HAND, ROW, HAND, theme=theme)
    expect(page.locator(".al.dark")).to_have_count(4 if theme == "dark" else 0)
    page.get_by_label("The score of o").last.fill("abc")
    page.get_by_label("x, row h, column 0").last.fill("")
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.browser
def test_both_fit_a_phone_and_hold_their_place(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    four = torch.full((4, 4), -1.875)
    wide = attention_by_hand(
        four, four[:, :3], four[:, :3], four[:, :3], ["one", "two", "three", "4"]
    )
    mount(page, ROW, HAND, wide, softmax_weights([-1234.567] * 7 + [-544.5], [True] * 8))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    figure = page.locator("al-softmax-weights").first
    table = figure.get_by_role("table")
    place = table.bounding_box()
    for change in ("add 100", "all zero", "reset"):
        figure.get_by_role("button", name=change).click()
        assert table.bounding_box() == place
    figure.get_by_label("The score of o").fill("abc")
    assert table.bounding_box() == place
    sizes = [b.bounding_box() for b in page.get_by_role("button").all()]
    assert all(size and size["width"] >= 44 and size["height"] >= 40 for size in sizes)
    inside = """figures => figures.every((figure) => {
        const edge = figure.getBoundingClientRect().right;
        const nodes = figure.shadowRoot.querySelectorAll("table, td, th, button, input, p, span");
        return [...nodes].every((node) => node.getBoundingClientRect().right <= edge);
    })"""
    assert page.locator("main > :not(h1, script)").evaluate_all(inside)
