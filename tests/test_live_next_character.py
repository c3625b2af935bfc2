"""The live figure of chapter 01: equal to torch, and only the last character counts."""

import random
import re

import pytest
import torch
from live_page import CHARS, FIELD, KINDS, mount, said, table
from playwright.sync_api import Locator, Page

from attention_lab.teaching import next_character

FIGURE = KINDS["next_character"].make()
BARS = "Next characters, likeliest first"
READS = "The bigram reads only the last character: "
SAME = "Same last character as before: the same bars, to the last bit."


def shares(figure: Locator) -> list[str]:
    return figure.locator(".share").all_inner_texts()


# ---------------------------------------------------------------- in Python


def test_a_list_of_characters_does_as_well() -> None:
    assert next_character(table(0), list(CHARS))._repr_html_() == FIGURE._repr_html_()


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


def test_logits_are_rounded_and_not_mutated() -> None:
    logits = table(3)
    before = logits.clone()
    rows = next_character(logits, CHARS).data["logits"]
    assert torch.equal(logits, before)
    assert torch.allclose(torch.tensor(rows, dtype=torch.float64), before, atol=0.0005001)
    assert max(len(f"{x}".partition(".")[2]) for row in rows for x in row) <= 3


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
        result = page.evaluate(
            "([data, text]) => customElements.get('al-next-character').compute(data, text)",
            [data, text],
        )
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
    assert said(figure) == READS + "'u'"
    figure.get_by_role("button", name="hou", exact=True).click()  # the text it already has
    assert SAME not in figure.inner_text()
    for word in ("you", "thou", "hou"):
        figure.get_by_role("button", name=word, exact=True).click()
        assert figure.get_by_label(FIELD).input_value() == word
        assert figure.get_by_text(SAME).is_visible()
        assert bars.inner_text() == first
        assert bars.bounding_box() == place
    figure.get_by_label(FIELD).fill("house")
    assert said(figure) == READS + "'e'"
    assert SAME not in figure.inner_text()
    assert bars.inner_text() != first
