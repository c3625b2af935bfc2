"""The live figure of chapter 17: the model in the page is the model of the package."""

import base64
import dataclasses
import random
import struct

import pytest
import torch
from live_page import CHARS, FIELD, KINDS, cells, contrast, mount, one_head, said, table
from playwright.sync_api import Locator, Page
from torch import Tensor

from attention_lab.model import CharModel, ModelConfig
from attention_lab.teaching import trained_model
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.trained_model import packed

MODEL = one_head(0)
FIGURE = KINDS["trained_model"].make()
LISTS = {"head": "The trained head", "bigram": "The bigram"}
SAME = "Same last character as before: the bigram's bars stay as they were."


def compute(page: Page, figure: LiveFigure, texts: list[str]) -> list[dict[str, object]]:
    call = """([data, texts]) => {
        const figure = customElements.get("al-trained-model");
        const model = figure.open(data);
        return texts.map((text) => figure.compute(model, text));
    }"""
    results: list[dict[str, object]] = page.evaluate(call, [figure.data, texts])
    return results


def bars(figure: Locator, name: str) -> list[tuple[str, str]]:
    """Each bar's character and share."""
    rows = figure.get_by_role("list", name=f"{LISTS[name]}, likeliest first").locator("li")
    found = rows.evaluate_all(
        """rows => rows.map(row => [row.querySelector('code').textContent,
        row.querySelector('.share').textContent])"""
    )
    return [(name, share) for name, share in found]


def expected(model: CharModel, bigram: Tensor, chars: str, text: str) -> dict[str, Tensor]:
    idx = torch.tensor([[chars.index(c) for c in text[-model.block_size :]]])  # (1, T)
    with torch.no_grad():
        return {
            "head": model(idx)[0][0, -1].softmax(-1),  # (V,)
            "weights": model.weights(idx)[0][0, 0],  # (T, T)
            "bigram": bigram[idx[0, -1]].softmax(-1),  # (V,)
        }


# ---------------------------------------------------------------- in Python


def test_packed_numbers_come_back_to_six_decimals_row_by_row() -> None:
    for scale in (1e-6, 0.01, 1.0, 37.0, 1e5):
        matrix = scale * torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4)
        box = packed("x", matrix)
        raw = base64.b64decode(str(box["numbers"]))
        numbers = torch.tensor(struct.unpack("<12f", raw), dtype=torch.float64)
        back = numbers.view(-1, int(str(box["columns"])))
        assert (back - matrix).abs().max() < 1e-6 + 1e-7 * scale


def test_the_last_bits_that_differ_between_cpus_do_not_travel() -> None:
    matrix = torch.randn(40, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert packed("x", matrix) == packed("x", matrix * (1 + 1e-15))
    assert packed("x", matrix) != packed("x", matrix + 1e-5)


def test_static_result_names_both_models_and_holds_the_weights() -> None:
    heading, _titles, *lines = repr(FIGURE).splitlines()
    known = expected(MODEL, table(0), CHARS, "hou")
    assert "'hou'" in heading
    for name, column in (("head", slice(0, 20)), ("bigram", slice(20, None))):
        shares = [float(line[column].split()[-1].rstrip("%")) for line in lines[:8]]
        best = known[name].topk(8).values  # (8,)
        assert shares == pytest.approx((100 * best).tolist(), abs=0.0501)
    assert lines[9] == "Its weights. Rows ask, columns are asked."
    assert lines[-1].split() == ["u", *(f"{w:.2f}" for w in known["weights"][2].tolist())]
    assert lines[-3].split() == ["h", "1.00", "0", "0"]


def test_a_list_of_characters_does_as_well() -> None:
    assert trained_model(one_head(0), table(0), list(CHARS))._repr_html_() == FIGURE._repr_html_()


def test_model_and_bigram_are_left_as_they_were() -> None:
    model, bigram = one_head(3).train(), table(3)
    before = {name: p.clone() for name, p in model.state_dict().items()}, bigram.clone()
    trained_model(model, bigram, CHARS)
    assert model.training
    assert all(torch.equal(p, before[0][name]) for name, p in model.state_dict().items())
    assert torch.equal(bigram, before[1])
    assert all(p.grad is None for p in model.parameters())


OTHERS = [
    {"positions": "none"},
    {"positions": "rotary"},
    {"n_head": 0},
    {"n_head": 2},
    {"n_layer": 2},
    {"feed_forward": True},
    {"norm": "layer"},
    {"dropout": 0.1},
    {"causal": False},
]


@pytest.mark.parametrize("change", OTHERS, ids=str)
def test_a_model_of_another_kind_is_refused(change: dict[str, object]) -> None:
    config = ModelConfig(4, 8, 8, positions="learned", n_head=1)
    with pytest.raises(ValueError, match="one head on learned positions"):
        trained_model(
            CharModel(dataclasses.replace(config, **change)),  # type: ignore[arg-type]
            torch.zeros(4, 4),
            "hotu",
        )


@pytest.mark.parametrize(
    ("bigram", "chars", "text", "message"),
    [
        (torch.zeros(4, 3), "hotu", "u", r"shape \(V, V\), got \(4, 3\)"),
        (torch.zeros(4, 4), "hot", "h", "the 4 rows of logits, got 3"),
        (torch.zeros(4, 4), "hott", "h", "different single characters"),
        (torch.zeros(3, 3), "hou", "h", "model knows 4 characters, chars 3"),
        (torch.zeros(4, 4), "hotu", "", "at least one character"),
        (torch.zeros(4, 4), "hotu", "u7", r"'7' \(U\+0037\).* 4 characters"),
        (torch.full((4, 4), torch.inf), "hotu", "u", "finite, got inf"),
    ],
)
def test_bad_input_is_refused_by_name(bigram: Tensor, chars: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trained_model(one_head(0, V=4, C=8), bigram, chars, text)


def test_a_diverged_model_and_a_long_block_are_refused() -> None:
    model = one_head(0, V=4, C=8)
    with torch.no_grad():
        model.lm_head.weight[1, 1] = torch.nan
    with pytest.raises(ValueError, match="exit must hold finite numbers"):
        trained_model(model, torch.zeros(4, 4), "hotu")
    with pytest.raises(ValueError, match="block_size must be at most 8 to fit, got 9"):
        trained_model(one_head(0, V=4, C=8, T=9), torch.zeros(4, 4), "hotu")


# ---------------------------------------------------------------- equal to the package


@pytest.mark.browser
def test_the_page_equals_the_package_on_every_text(page: Page) -> None:
    mount(page, FIGURE)
    draw = random.Random(0)
    for seed in range(12):
        V, C, T = draw.randint(2, 65), draw.choice([1, 5, 32]), draw.randint(1, 8)
        chars = CHARS[-V:]
        model, bigram = one_head(seed, V, C, T, seed % 2 == 0), table(seed, V)
        texts = ["".join(draw.choices(chars, k=draw.randint(1, 12))) for _ in range(10)]
        figure = trained_model(model, bigram, chars, texts[0])
        for text, result in zip(texts, compute(page, figure, texts), strict=True):
            assert result["read"] == list(text[-T:])
            for name, right in expected(model, bigram, chars, text).items():
                found = torch.tensor(result[name], dtype=torch.float64)
                assert found.shape == right.shape
                assert (found - right).abs().max() < 1e-5, (name, seed, text)
            assert torch.equal(
                torch.tensor(result["weights"]).triu(1).abs().max(), torch.tensor(0.0)
            )


@pytest.mark.browser
def test_huge_scores_give_one_sure_character_and_no_nan(page: Page) -> None:
    figure = trained_model(one_head(1, spread=100), 1000 * table(1), CHARS, "thou")
    shown = mount(page, figure)
    assert bars(shown, "bigram")[0][1] == "100.0%"
    assert "NaN" not in shown.inner_text()
    (result,) = compute(page, figure, ["thou"])
    right = expected(one_head(1, spread=100), 1000 * table(1), CHARS, "thou")
    assert torch.tensor(result["head"]).argmax() == right["head"].argmax()


@pytest.mark.browser
def test_the_page_shows_at_first_what_the_static_result_says(page: Page) -> None:
    for text in ("hou", "ROMEO:\n", "a", "What say you"):
        fig = trained_model(MODEL, table(0), CHARS, text)
        figure = mount(page, fig)
        lines = repr(fig).splitlines()
        for name, column in (("head", slice(0, 20)), ("bigram", slice(20, None))):
            static = [line[column].split() for line in lines[2:10]]
            assert bars(figure, name) == [(parts[0], parts[-1]) for parts in static]
        assert cells(figure.locator("tbody tr")) == [line.split()[1:] for line in lines[13:]]


@pytest.mark.browser
def test_both_models_share_one_scale(page: Page) -> None:
    figure = mount(page, FIGURE)
    widths = figure.locator(".bar").evaluate_all("bars => bars.map(b => parseFloat(b.style.width))")
    shares = [float(share.rstrip("%")) for name in LISTS for _, share in bars(figure, name)]
    assert len(widths) == len(shares) == 16
    scale = widths[0] / shares[0]
    assert widths == pytest.approx([scale * share for share in shares], abs=0.11 * scale)
    assert 50 <= max(widths) <= 100 or max(shares) < 10


# ---------------------------------------------------------------- what the reader does


@pytest.mark.browser
def test_the_bigrams_bars_stay_and_the_heads_move(page: Page) -> None:
    figure = mount(page, FIGURE)
    before = {name: bars(figure, name) for name in LISTS}
    assert SAME not in figure.inner_text()
    figure.get_by_role("button", name="you", exact=True).click()
    assert figure.get_by_label(FIELD).input_value() == "you"
    assert figure.get_by_text(SAME).is_visible()
    assert bars(figure, "bigram") == before["bigram"]
    assert bars(figure, "head") != before["head"]
    figure.get_by_label(FIELD).fill("yo")
    assert SAME not in figure.inner_text()
    assert bars(figure, "bigram") != before["bigram"]


@pytest.mark.browser
def test_it_says_whom_the_last_character_looks_at(page: Page) -> None:
    figure = mount(page, FIGURE)
    for text in ("hou", "thou", "What say you", "aaa", "x"):
        figure.get_by_label(FIELD).fill(text)
        row = expected(MODEL, table(0), CHARS, text)["weights"][-1]  # (T,)
        most, letters = int(row.argmax()), text[-8:]
        says = said(figure)
        count = "one character" if len(letters) == 1 else f"{len(letters)} characters"
        assert says.startswith(f"The head reads {count}. The last, '{text[-1]}', looks most at ")
        whom = "itself" if most == len(letters) - 1 else f"character {most + 1}, "
        assert whom in says
        assert says.endswith(f": {row[most]:.2f}.")


@pytest.mark.browser
def test_only_the_last_eight_characters_are_read(page: Page) -> None:
    figure = mount(page, FIGURE)
    figure.get_by_label(FIELD).fill("Now what say you")
    first = bars(figure, "head"), cells(figure.locator("tbody tr"))
    figure.get_by_label(FIELD).fill("Thus what say you")
    assert (bars(figure, "head"), cells(figure.locator("tbody tr"))) == first
    assert len(cells(figure.locator("tbody tr"))) == 8


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_darkest_cell_is_readable(page: Page, theme: str) -> None:
    frame = mount(page, FIGURE, root=f"data-theme={theme}").locator(".al")
    colour = "(node, name) => getComputedStyle(node).getPropertyValue(name)"
    cell, text = (frame.evaluate(colour, name) for name in ("--cell", "--text"))
    assert contrast(cell, text) >= 4.5
