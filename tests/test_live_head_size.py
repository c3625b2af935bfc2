"""The live figure of chapter 11: equal to the package at every head size, and hard to break."""

import re
from collections.abc import Callable

import pytest
import torch
from live_page import KINDS, K, Q, cells, compute, mount, said
from playwright.sync_api import Locator, Page

from attention_lab.attention import attend
from attention_lab.teaching import head_size
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.numbers import shown

WORD = "thousand"
FIGURE = KINDS["head_size"].make()
DRAWS = [torch.tensor(FIGURE.data[name], dtype=torch.float64) for name in ("q", "k")]  # (T, D)
SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]


def expected(size: int, scale: float | None) -> tuple[float, torch.Tensor]:
    """The spread of the scores and the weights (T, T), by the package."""
    q, k = (x[:, :size] for x in DRAWS)  # (T, hs) twice
    factor = size**-0.5 if scale is None else scale
    return (factor * q @ k.T).std(correction=0).item(), attend(q, k, k, scale=scale)[1]


def weights(figure: Locator) -> list[list[str]]:
    """The two columns of the table, as they stand: without and with the scale."""
    return [list(column) for column in zip(*cells(figure.locator("tbody tr")), strict=True)]


# ---------------------------------------------------------------- in Python


def test_the_static_result_has_a_line_a_head_size() -> None:
    lines = [re.split(r"  +", line) for line in repr(FIGURE).splitlines()]
    assert lines[0] == [
        "head size",
        "spread",
        "divided by its root",
        "t's largest weight",
        "divided",
    ]
    assert [int(line[0]) for line in lines[1:]] == SIZES
    for size, line in zip(SIZES, lines[1:], strict=True):
        plain, scaled = expected(size, 1.0), expected(size, None)
        largest = plain[1][0].max().item(), scaled[1][0].max().item()
        assert line[1:] == [shown(x) for x in (plain[0], scaled[0], *largest)]


def test_numbers_are_rounded_light_and_not_mutated() -> None:
    before = Q.clone(), K.clone()
    assert len(head_size(Q, K, WORD)._repr_html_()) < 45_000
    assert torch.equal(Q, before[0])
    assert torch.equal(K, before[1])
    assert head_size(torch.tensor([[0.126], [-0.004]]), torch.ones(2, 1), "ab", 1).data["q"] == [
        [0.13], [0]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: head_size(Q[:, :3], K[:, :3], WORD, 2), "D = 1, 2, 4 … 256 .*got 3"),
        (lambda: head_size(Q.repeat(1, 2), K.repeat(1, 2), WORD), "D = 1, 2, 4 … 256 .*got 512"),
        (lambda: head_size(Q, K[:, :8], WORD), r"one shape.*\(8, 256\), \(8, 8\)"),
        (lambda: head_size(Q[0], K[0], WORD), r"one shape \(T, D\).*\(256,\)"),
        (lambda: head_size(Q[:1], K[:1], "t"), "T from 2 to 8"),
        (lambda: head_size(Q.repeat(2, 1), K.repeat(2, 1), WORD * 2), "T from 2 to 8"),
        (lambda: head_size(Q, K, "thou"), "the 8 rows of q, got 4"),
        (lambda: head_size(Q, K, "thousann"), "different and not blank"),
        (lambda: head_size(Q, K, WORD, 3), r"start must be one of \[1, 2, .*256\], got 3"),
        (lambda: head_size(Q * torch.nan, K, WORD), "q must hold numbers from -1e9 to 1e9"),
    ],
)
def test_bad_input_is_refused_by_name(make: Callable[[], LiveFigure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# ---------------------------------------------------------------- equal to the package


@pytest.mark.browser
def test_every_head_size_equals_the_package(page: Page) -> None:
    for scale in (1.0, None):
        inputs = [{"size": size, "scale": scale or size**-0.5} for size in SIZES]
        results = compute(page, FIGURE, [{**FIGURE.data, **given} for given in inputs])
        for size, result in zip(SIZES, results, strict=True):
            spread, rows = expected(size, scale)
            found = torch.tensor(result["weights"], dtype=torch.float64)
            assert result["spread"] == pytest.approx(spread, abs=1e-9)
            assert torch.allclose(found, rows, atol=1e-9)


@pytest.mark.browser
def test_the_figure_shows_what_it_computes_for_each_size_and_asker(page: Page) -> None:
    figure = mount(page, FIGURE)
    slider, asker = figure.get_by_role("slider"), figure.get_by_label("Who asks")
    assert slider.get_attribute("aria-valuetext") == "64"
    for step, size in enumerate(SIZES):
        slider.fill(str(step))
        (spread, plain), (narrow, scaled) = expected(size, 1.0), expected(size, None)
        for t in (0, 7):
            asker.select_option(WORD[t])
            most = int(plain[t].argmax())
            share, after = shown(plain[t, most].item()), shown(scaled[t, most].item())
            assert said(figure) == (
                f"Head size {size}: the scores spread by {shown(spread)}, where the rule says "
                f"{shown(size**0.5)}; divided, by {shown(narrow)}. {WORD[t]} gives {WORD[most]} "
                f"a weight of {share} as they are, {after} divided."
            )
            assert weights(figure) == [
                [shown(w) for w in rows[t].tolist()] for rows in (plain, scaled)
            ]
            assert figure.locator("thead th").first.inner_text() == f"{WORD[t]} asks"
        assert (
            figure.locator(".title").last.inner_text() == f"Divided by √{size} = {shown(size**0.5)}"
        )


@pytest.mark.browser
def test_the_dots_lie_where_the_scores_are(page: Page) -> None:
    figure = mount(page, FIGURE)
    reach = float(figure.locator(".ends span").last.inner_text())
    assert reach == -(-(DRAWS[0] @ DRAWS[1].T).abs().max() // 1)
    figure.get_by_role("slider").fill("8")
    figure.get_by_label("Who asks").select_option("o")
    for strip, scale in zip(figure.locator(".strip").all(), (1.0, 1 / 16), strict=True):
        lefts = strip.locator("i").evaluate_all("dots => dots.map(d => parseFloat(d.style.left))")
        scores = scale * (DRAWS[0] @ DRAWS[1].T).flatten()  # (T T,)
        assert lefts == pytest.approx((50 + 48 * scores / reach).tolist(), abs=1e-3)
        marked = strip.locator("i").evaluate_all("dots => dots.map(d => d.className)")
        assert [i for i, mark in enumerate(marked) if mark == "asker"] == list(range(16, 24))


# ---------------------------------------------------------------- what the reader does


@pytest.mark.browser
def test_it_works_by_keyboard_alone(page: Page) -> None:
    figure = mount(page, FIGURE)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert said(figure).startswith("Head size 128: ")
    page.keyboard.press("Home")
    assert said(figure).startswith("Head size 1: ")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert figure.locator("thead th").first.inner_text() == "h asks"


@pytest.mark.browser
def test_a_small_one_has_fewer_steps(page: Page) -> None:
    figure = mount(page, head_size(Q[:2, :4], K[:2, :4], ["<b>", "y"], 4))
    figure.get_by_role("slider").fill("0")
    assert said(figure).startswith("Head size 1: ")
    assert figure.get_by_role("slider").get_attribute("max") == "2"
    assert figure.locator("thead th").first.inner_text() == "<b> asks"
