"""The live figure of chapter 05: equal to torch and attend, stage by stage, and hard to break."""

import math
import random
import re
from collections.abc import Callable

import pytest
import torch
from live_page import KINDS, compute, mount, said
from playwright.sync_api import Locator, Page

from attention_lab.attention import attend
from attention_lab.teaching import softmax_weights
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.numbers import shown

ROW = KINDS["softmax_weights"].make()


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


def test_lists_do_as_well_as_tensors_and_no_input_is_mutated() -> None:
    scores = torch.tensor([0.12345, 2.0])
    before = scores.clone()
    may_look = torch.tensor([True, False])
    row = softmax_weights(scores, may_look)
    assert row._repr_html_() == softmax_weights([0.12345, 2.0], [True, False])._repr_html_()
    assert row.data == {
        "scores": [0.123, 2], "mask": [True, False], "temperature": 1, "names": ["0", "1"]
    }  # fmt: skip
    assert torch.equal(scores, before)


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
    ],
)
def test_bad_input_is_refused_by_name(make: Callable[[], LiveFigure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_mask_of_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"True = may look, got torch\.float32"):
        softmax_weights([1, 2], torch.ones(2))


# ---------------------------------------------------------------- in the page


@pytest.mark.browser
def test_row_equals_torch_and_attend_on_many_inputs(page: Page) -> None:
    draw, generator = random.Random(0), torch.Generator().manual_seed(0)
    inputs = []
    for _ in range(100):
        S, size = draw.randint(2, 8), draw.choice([0.0, 1.0, 30.0, 1e6])
        scores = size * torch.randn(S, generator=generator, dtype=torch.float64)  # (S,)
        mask = torch.rand(S, generator=generator) < draw.choice([0.0, 0.5, 1.0])  # (S,)
        inputs.append((scores, mask, draw.choice([0.1, 0.5, 1.0, 3.2, 10.0])))
    names = ("scores", "mask", "temperature")
    data = [dict(zip(names, (s.tolist(), m.tolist(), t), strict=True)) for s, m, t in inputs]
    results = compute(page, ROW, data)
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
