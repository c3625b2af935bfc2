"""The live figure of chapter 17: the model in the page is the model of the package."""

import base64
import dataclasses
import json
import random
import re
import struct

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor

from attention_lab.model import CharModel, ModelConfig
from attention_lab.teaching import trained_model
from attention_lab.teaching.live import LiveFigure
from attention_lab.teaching.live.figure import script as _script
from attention_lab.teaching.live.trained_model import packed

CHARS = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FIELD = "Type any text"
LISTS = {"head": "The trained head", "bigram": "The bigram"}
SAME = "Same last character as before: the bigram's bars stay as they were."


def one_head(
    seed: int,
    V: int = len(CHARS),
    C: int = 32,
    T: int = 8,
    residual: bool = False,
    spread: float = 1,
) -> CharModel:
    """A model as training leaves it: no number is as it started, and the biases are not 0."""
    config = ModelConfig(V, C, T, positions="learned", n_head=1, residual=residual, seed=seed)
    model = CharModel(config).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.2 * noise).mul_(spread)
    return model


def pairs(seed: int, V: int = len(CHARS)) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(V, V, generator=generator, dtype=torch.float64)  # (V, V)


MODEL = one_head(0)
FIGURE = trained_model(MODEL, pairs(0), CHARS)


def document(figures: tuple[LiveFigure, ...], theme: str) -> str:
    body = "".join(figure._repr_html_() for figure in figures)
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        f"<title>Figure</title></head><body><main><h1>Figure</h1>{body}</main></body></html>"
    )


def mount(page: Page, *figures: LiveFigure, theme: str = "light") -> Locator:
    page.set_content(document(figures, theme))
    return page.locator("al-trained-model")


def compute(page: Page, figure: LiveFigure, texts: list[str]) -> list[dict[str, object]]:
    call = """([data, texts]) => {
        const figure = customElements.get("al-trained-model");
        const model = figure.open(data);
        return texts.map((text) => figure.compute(model, text));
    }"""
    results: list[dict[str, object]] = page.evaluate(call, [figure.data, texts])
    return results


def read(figure: Locator) -> str:
    return figure.locator("#read").inner_text()


def bars(figure: Locator, name: str) -> list[tuple[str, str]]:
    """Each bar's character and share."""
    rows = figure.get_by_role("list", name=f"{LISTS[name]}, likeliest first").locator("li")
    found = rows.evaluate_all(
        """rows => rows.map(row => [row.querySelector('code').textContent,
        row.querySelector('.share').textContent])"""
    )
    return [(name, share) for name, share in found]


def grid(figure: Locator) -> list[list[str]]:
    rows = figure.locator("tbody tr")
    return rows.evaluate_all(
        "rows => rows.map(r => [...r.querySelectorAll('td')].map(t => t.innerText))"
    )


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
    known = expected(MODEL, pairs(0), CHARS, "hou")
    assert "'hou'" in heading
    for name, column in (("head", slice(0, 20)), ("bigram", slice(20, None))):
        shares = [float(line[column].split()[-1].rstrip("%")) for line in lines[:8]]
        best = known[name].topk(8).values  # (8,)
        assert shares == pytest.approx((100 * best).tolist(), abs=0.0501)
    assert lines[9] == "Its weights. Rows ask, columns are asked."
    assert lines[-1].split() == ["u", *(f"{w:.2f}" for w in known["weights"][2].tolist())]
    assert lines[-3].split() == ["h", "1.00", "0", "0"]


def test_html_is_small_ascii_the_same_each_time_and_without_ids() -> None:
    html = FIGURE._repr_html_()
    assert html == trained_model(one_head(0), pairs(0), list(CHARS))._repr_html_()
    assert html.isascii()
    assert len(html) < 150_000
    assert " id=" not in html.split("<script>")[0]
    script = _script(FIGURE.tag)
    assert len(script) < 21_000
    assert "</script" not in script.lower()
    assert "<!--" not in script


def test_model_and_bigram_are_left_as_they_were() -> None:
    model, bigram = one_head(3).train(), pairs(3)
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
        model, bigram = one_head(seed, V, C, T, seed % 2 == 0), pairs(seed, V)
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
    figure = trained_model(one_head(1, spread=100), 1000 * pairs(1), CHARS, "thou")
    shown = mount(page, figure)
    assert bars(shown, "bigram")[0][1] == "100.0%"
    assert "NaN" not in shown.inner_text()
    (result,) = compute(page, figure, ["thou"])
    right = expected(one_head(1, spread=100), 1000 * pairs(1), CHARS, "thou")
    assert torch.tensor(result["head"]).argmax() == right["head"].argmax()


@pytest.mark.browser
def test_the_page_shows_at_first_what_the_static_result_says(page: Page) -> None:
    for text in ("hou", "ROMEO:\n", "a", "What say you"):
        fig = trained_model(MODEL, pairs(0), CHARS, text)
        figure = mount(page, fig)
        lines = repr(fig).splitlines()
        for name, column in (("head", slice(0, 20)), ("bigram", slice(20, None))):
            static = [line[column].split() for line in lines[2:10]]
            assert bars(figure, name) == [(parts[0], parts[-1]) for parts in static]
        assert grid(figure) == [line.split()[1:] for line in lines[13:]]


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
        row = expected(MODEL, pairs(0), CHARS, text)["weights"][-1]  # (T,)
        most, letters = int(row.argmax()), text[-8:]
        says = read(figure)
        count = "one character" if len(letters) == 1 else f"{len(letters)} characters"
        assert says.startswith(f"The head reads {count}. The last, '{text[-1]}', looks most at ")
        whom = "itself" if most == len(letters) - 1 else f"character {most + 1}, "
        assert whom in says
        assert says.endswith(f": {row[most]:.2f}.")


@pytest.mark.browser
def test_only_the_last_eight_characters_are_read(page: Page) -> None:
    figure = mount(page, FIGURE)
    figure.get_by_label(FIELD).fill("Now what say you")
    first = bars(figure, "head"), grid(figure)
    figure.get_by_label(FIELD).fill("Thus what say you")
    assert (bars(figure, "head"), grid(figure)) == first
    assert len(grid(figure)) == 8


@pytest.mark.browser
def test_an_unknown_character_and_an_empty_field_are_named(page: Page) -> None:
    figure = mount(page, FIGURE)
    field = figure.get_by_label(FIELD)
    for text, named in {
        "7": "'7' (U+0037) is not one of the 65",
        "a😀b": "'😀' (U+1F600) is not",
        "a\u200bb": "(U+200B) is not",
        "": "Type at least one character",
    }.items():
        field.fill(text)
        assert read(figure).startswith(named)
        assert figure.get_by_role("status").inner_text().startswith(named)
        assert field.get_attribute("aria-invalid") == "true"
        assert not figure.locator(".bar, td").first.is_visible()
        field.fill("hou")
        assert field.get_attribute("aria-invalid") == "false"
        assert figure.locator("td.w").first.is_visible()
        assert "NaN" not in figure.inner_text()


@pytest.mark.browser
def test_keyboard_alone_works_everything(page: Page) -> None:
    figure = mount(page, FIGURE)
    page.evaluate("document.onkeydown = () => { document.title = 'stolen'; }")
    page.keyboard.press("Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.evaluate("document.title = 'Figure'")
    page.keyboard.type("To be?")
    assert "'?'" in read(figure)
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert figure.get_by_label(FIELD).input_value() == "thou"
    assert page.title() == "Figure"


# ---------------------------------------------------------------- where and how it is shown


@pytest.mark.browser
def test_two_figures_on_a_page_work_on_their_own(page: Page) -> None:
    both = mount(page, FIGURE, trained_model(one_head(1), pairs(1), CHARS, "be"))
    both.nth(0).get_by_label(FIELD).fill("ha!")
    assert "'!'" in read(both.nth(0))
    assert "'e'" in read(both.nth(1))


@pytest.mark.browser
def test_without_javascript_the_static_result_shows(browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    pre = mount(page, FIGURE).locator("pre")
    assert pre.is_visible()
    assert pre.inner_text() == FIGURE.static
    context.close()


@pytest.mark.browser
def test_hostile_text_stays_text(page: Page) -> None:
    text = "</script></pre><img src=x onerror=alert(1)>\"'&lt;\u2028\u2029\\u"
    chars = "".join(sorted(set(text)))
    hostile = trained_model(one_head(2, len(chars)), pairs(2, len(chars)), chars, text)
    figure = mount(page, hostile)
    assert page.locator("img").count() == 0
    assert figure.get_by_label(FIELD).input_value() == text
    assert json.loads(str(figure.get_attribute("data-figure"))) == hostile.data


def luminance(colour: str) -> float:
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_the_darkest_cell_is_readable(page: Page, theme: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    figure = mount(page, FIGURE, theme=theme)
    expect(page.locator(".al.dark")).to_have_count(1 if theme == "dark" else 0)
    for text in ("What say you", "7"):
        figure.get_by_label(FIELD).fill(text)
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
    colour = "node => getComputedStyle(node).getPropertyValue('{}')"
    frame = figure.locator(".al")
    cell, text = (frame.evaluate(colour.format(name)) for name in ("--cell", "--text"))
    tones = [
        luminance(" ".join(str(int(c[i : i + 2], 16)) for i in (1, 3, 5))) for c in (cell, text)
    ]
    assert (max(tones) + 0.05) / (min(tones) + 0.05) >= 4.5


@pytest.mark.browser
def test_it_fits_a_phone_and_holds_its_place(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    figure = mount(page, FIGURE)
    places = []
    for text in ("hou", "What say you", "mmmmmmmm", "7", "u"):
        figure.get_by_label(FIELD).fill(text)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        places.append((figure.bounding_box(), figure.locator("ol").first.bounding_box()))
        inside = """figure => {
            const edge = figure.getBoundingClientRect().right;
            const nodes = figure.shadowRoot.querySelectorAll("table, td, button, p, ol");
            return [...nodes].every((node) => node.getBoundingClientRect().right <= edge);
        }"""
        assert figure.evaluate(inside)
    assert all(place == places[0] for place in places)
    sizes = [button.bounding_box() for button in figure.get_by_role("button").all()]
    assert all(size and size["width"] >= 44 and size["height"] >= 40 for size in sizes)
