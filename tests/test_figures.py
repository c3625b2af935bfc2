"""Tables and bars say the same as HTML and as text, and SVG comes out the same each time."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest
import torch
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from attention_lab.teaching import (
    attention_table,
    figures,
    next_character_bars,
    number_table,
    visible,
)


def elements(figure):
    """The figure's HTML as a tree; it must be well-formed."""
    return ElementTree.fromstring(f"<body>{figure._repr_html_()}</body>")


def test_attention_table_has_headers_for_both_directions_and_every_number():
    weights = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
    figure = attention_table(weights, ["训练", "<b>"], " \n")
    body = elements(figure)
    assert [th.text for th in body.iter("th") if th.get("scope") == "col"] == ["␣", "⏎"]
    rows = ["".join(th.itertext()) for th in body.iter("th") if th.get("scope") == "row"]
    assert rows == ["训练", "<b>"]
    cells = [td for td in body.iter("td") if td.get("class") == "w"]
    assert [td.text for td in cells] == ["1.00", "0.00", "0.25", "0.75"]
    assert [td.get("style") for td in cells] == ["--w:1.00", "--w:0.00", "--w:0.25", "--w:0.75"]
    assert "Rows ask, columns are asked." in [c.text for c in body.iter("caption")]
    assert repr(figure).split() == ["␣", "⏎", "训练", "1.00", "0.00", "<b>", "0.25", "0.75"]


def test_chinese_words_are_marked_as_chinese_and_take_two_columns_a_character():
    figure = attention_table([[1.0, 0.5]], ["训练 train"], ["师 -er", "a"])
    spoken = list(elements(figure).iter("span"))
    assert [span.text for span in spoken] == ["师", "训练"]
    assert {span.get("lang") for span in spoken} == {"zh"}
    assert [span.tail for span in spoken] == [" -er", " train"]
    head, row = repr(figure).split("\n")
    columns = [len(line) + sum(c in "训练师" for c in line) for line in (head, row)]
    assert columns == [36, 36]
    assert head.endswith("师 -er" + " " * 11 + "a")


def test_attention_table_shades_by_the_largest_weight_and_takes_a_matrix_that_is_not_square():
    body = elements(attention_table([[2, 4, 8]], "a", "xyz", decimals=0, caption="counts"))
    cells = [td for td in body.iter("td") if td.get("class") == "w"]
    assert [td.text for td in cells] == ["2", "4", "8"]
    assert [td.get("style") for td in cells] == ["--w:0.25", "--w:0.50", "--w:1.00"]


@pytest.mark.filterwarnings("error")
def test_tables_take_numbers_that_are_still_to_be_differentiated():
    weights = torch.tensor([[0.25, 0.75]], requires_grad=True)
    assert repr(attention_table(weights, "a", "xy")).split() == ["x", "y", "a", "0.25", "0.75"]


def test_a_table_of_zeros_is_no_division_by_zero():
    assert "0.00" in repr(attention_table([[0.0]], "a", "b"))


@pytest.mark.parametrize(
    ("weights", "rows", "columns", "message"),
    [
        ([[1, 0]], "ab", "xy", r"numbers \(1, 2\).*not \(2, 2\)"),
        ([[1, 0]], "a", "x", r"numbers \(1, 2\).*not \(1, 1\)"),
        ([[1, 0], [1]], "ab", "xy", "as many names"),
        ([[-0.1]], "a", "x", "negative or not finite"),
        ([[float("nan")]], "a", "x", "negative or not finite"),
        ([[float("inf")]], "a", "x", "negative or not finite"),
    ],
)
def test_attention_table_refuses_what_it_cannot_show(weights, rows, columns, message):
    with pytest.raises(ValueError, match=message):
        attention_table(weights, rows, columns)


@pytest.mark.parametrize(
    ("weights", "found"),
    [(torch.ones(1, 2, 2), r"\(1, 2, 2\)"), (torch.ones(2), r"\(2,\)"), ([1.0, 0.0], "list")],
)
def test_tables_refuse_a_batch_and_a_single_row(weights, found):
    for table in (attention_table, number_table):
        with pytest.raises(ValueError, match=f"one sequence and one head, not {found}"):
            table(weights, "ab", "ab")


def test_number_table_tells_signs_apart_and_shows_minus_infinity():
    numbers = torch.tensor([[2.0, -4.0], [-0.01, float("-inf")]])
    figure = number_table(numbers, "hu", ["q", "<k>"], caption="scores")
    body = elements(figure)
    assert [th.text for th in body.iter("th")] == ["q", "<k>", "h", "u"]
    assert [td.text for td in body.iter("td")] == [None, "2.0", "−4.0", "0.0", "−∞"]
    cells = [td.attrib for td in body.iter("td")][1:]
    assert [cell["class"] for cell in cells] == ["w", "w minus", "w minus", "none"]
    assert [cell.get("style") for cell in cells] == ["--w:0.50", "--w:1.00", "--w:0.00", None]
    assert [c.text for c in body.iter("caption")] == ["scores"]
    assert repr(figure).split() == ["q", "<k>", "h", "2.0", "−4.0", "u", "0.0", "−∞"]


def test_number_table_takes_nothing_but_minus_infinity_and_needs_no_caption():
    body = elements(number_table([[float("-inf")]], "a", "x"))
    assert [td.text for td in body.iter("td")] == [None, "−∞"]
    assert not list(body.iter("caption"))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([[1.0], [2.0]], r"numbers \(2, 1\).*not \(1, 1\)"),
        ([[float("nan")]], "NaN or plus infinity"),
        ([[float("inf")]], "NaN or plus infinity"),
    ],
)
def test_number_table_refuses_what_it_cannot_show(numbers, message):
    with pytest.raises(ValueError, match=message):
        number_table(numbers, "a", "x")


def test_bars_show_the_likeliest_first_with_a_spoken_name():
    p = torch.tensor([0.1, 0.6, 0.3])
    figure = next_character_bars({"after <u>": p, "again": p}, ["a", " ", "\n"], top=2)
    body = elements(figure)
    assert [c.text for c in body.iter("caption")] == ["after <u>", "again"]
    assert [th.text for th in body.iter("th")] == ["␣", "⏎"] * 2
    assert [th.get("aria-label") for th in body.iter("th")] == ["space", "newline"] * 2
    assert [i.get("style") for i in body.iter("i")] == ["--w:1.00", "--w:0.50"] * 2
    assert repr(figure).split() == [
        "after",
        "<u>",
        "␣",
        "60.0%",
        "⏎",
        "30.0%",
        "again",
        "␣",
        "60.0%",
        "⏎",
        "30.0%",
    ]


def test_five_bars_unless_asked_and_none_of_them_too_many():
    p = torch.tensor([0.0, 0.1, 0.2, 0.3, 0.15, 0.25])  # (V,)
    assert repr(next_character_bars({"after u": p}, "abcdef")).split()[2::2] == list("dfceb")
    assert len(next_character_bars({"after u": p}, "abcdef", top=9).text.splitlines()) == 1 + 6


@pytest.mark.parametrize(
    "wrong", [[0.5, 0.5], [0.5, 0.5, 0.5], [1.5, -0.5, 0.0], [float("nan"), 0.5, 0.5]]
)
def test_bars_refuse_what_is_no_distribution(wrong):
    with pytest.raises(ValueError, match="'after u': give 3 probabilities that add up to 1"):
        next_character_bars({"after u": torch.tensor(wrong)}, "abc")


def test_visible_names_white_space_only():
    assert [visible(c) for c in " \n\ta"] == ["␣", "⏎", "⇥", "a"]


def test_a_loss_curve_is_the_same_svg_each_time_with_text_as_text():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell; InteractiveShell.instance()\n"
        "import io, sys, matplotlib; matplotlib.use('agg')\n"
        "from matplotlib import pyplot; from attention_lab.teaching import figures\n"
        "figures.svg()\n"
        "bare = {'Date': None, 'Creator': None}\n"
        "pyplot.show = lambda: pyplot.savefig(sys.stdout, format='svg', metadata=bare)\n"
        "figures.loss_curve({'m': [3.0, 2.0]}, every=50, floor=('floor', 1.5))"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert first == second
    assert "training step" in first
    assert "floor" in first
    assert "<dc:date" not in first


def test_a_loss_curve_has_a_point_at_the_end_of_each_stretch_and_its_floor(monkeypatch):
    axes = Figure().add_subplot()
    monkeypatch.setattr(pyplot, "subplots", lambda: (axes.figure, axes))
    monkeypatch.setattr(pyplot, "show", lambda: None)
    figures.loss_curve({"m": [3.0, 2.0, 1.8]}, every=50, floor=("the floor", 1.5))
    curve, floor = axes.lines
    assert list(curve.get_xdata()) == [50, 100, 150]
    assert list(curve.get_ydata()) == [3.0, 2.0, 1.8]
    assert set(floor.get_ydata()) == {1.5}
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["m", "the floor"]


def cells(numbers, colours="Greys"):
    """Each cell's colour as a reader sees it, the last patch drawn on top; and the patches."""
    axes = Figure().add_subplot()
    figures.colour_grid(axes, numbers, colours)
    rows, columns = numbers.shape
    assert axes.get_xlim() == (0, columns)
    assert axes.get_ylim() == (rows, 0)  # the first row on top
    points = [[(x + 0.5, y + 0.5) for x in range(columns)] for y in range(rows)]
    seen = [
        [
            [to_hex(p.get_facecolor()) for p in axes.patches if p.get_path().contains_point(at)][-1]
            for at in row
        ]
        for row in points
    ]
    return seen, axes.patches


def test_a_grid_colours_each_cell_by_its_number_in_nine_steps():
    numbers = torch.tensor([[0, 8, 8, 4], [0, 0, 0, 5]])
    seen, patches = cells(numbers)
    assert seen[0] == ["#ffffff", "#000000", "#000000", "#959595"]
    assert seen[1][:3] == ["#ffffff"] * 3
    assert seen[1][3] == "#727272"
    assert len(patches) == 4  # one a colour
    assert [len(patch.get_path().vertices) // 5 for patch in patches] == [1, 1, 1, 1]


def test_a_grid_takes_numbers_between_two_steps_and_leaves_them_as_they_are():
    numbers = torch.tensor([[-1.0, -0.99, 0.99, 1.0, 0.3]], requires_grad=True)
    seen, patches = cells(numbers)
    assert seen[0][:4] == ["#ffffff", "#ffffff", "#000000", "#000000"]
    assert len(patches) == 3
    assert numbers.tolist()[0][0] == -1.0


def test_a_grid_spreads_its_colours_over_any_range():
    assert cells(torch.tensor([[0.5, 0.25, 0.25]]))[0] == [["#000000", "#ffffff", "#ffffff"]]


def test_a_grid_of_one_number_has_one_colour():
    seen, patches = cells(torch.ones(2, 3))
    assert {colour for row in seen for colour in row} == {"#ffffff"}
    assert len(patches) == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_grid_refuses_what_has_no_colour(bad):
    with pytest.raises(ValueError, match="NaN or infinite"):
        cells(torch.tensor([[0.0, bad]]))
