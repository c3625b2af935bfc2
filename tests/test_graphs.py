"""Attention as a graph: one arrow a weight, as wide as it, from who is asked to who asks."""

import re
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.attention import attend, causal_mask
from attention_lab.teaching import attention_graph, attention_table
from attention_lab.teaching.graphs import CORE, DROP, HAIR, REACH, STEP, WIDEST

HOU = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.5, 0.001, 0.499]])  # (T, T)


def drawing(figure):
    tree = ElementTree.fromstring(f"<body>{figure._repr_html_()}</body>")  # well-formed
    return next(tree.iter("svg"))


def box(figure):
    return [float(n) for n in drawing(figure).get("viewBox").split()]


def rings(figure):
    """x, inner radius and width of each ring."""
    circles = [c for c in drawing(figure).iter("circle") if c.get("class") == "ring"]
    found = [[float(c.get(name)) for name in ("cx", "r", "stroke-width")] for c in circles]
    return [(x, r - width / 2, width) for x, r, width in found]


def arrows(figure):
    """Start, highest control point, tip and width of each arrow but the rings."""
    found = []
    for group in drawing(figure).iter("g"):
        shaft = group.find("path")
        if shaft is None:
            continue
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", shaft.get("d"))]
        tip = [float(n) for n in group.find("polygon").get("points").split()[0].split(",")]
        found.append((numbers[:2], numbers[3], tip, float(shaft.get("stroke-width"))))
    return found


def nodes(figure):
    """Name and place of each node, in the order drawn."""
    texts = [t for t in drawing(figure).iter("text") if t.get("class") is None]
    return [(t.text, float(t.get("x")), float(t.get("y"))) for t in texts]


def near(point, node):
    """Whether a point lies on the circle of arrows around a node's centre."""
    return ((point[0] - node[0]) ** 2 + (point[1] - node[1]) ** 2) ** 0.5 == pytest.approx(
        REACH, abs=0.1
    )


def test_the_table_stands_beside_the_graph_and_every_arrow_is_said():
    figure = attention_graph(HOU, "hou", caption="Weights")
    assert attention_table(HOU, "hou", "hou", caption="Weights").html in figure._repr_html_()
    said = "h → h 1.00, h → o 0.25, o → o 0.75, h → u 0.50, o → u 0.00, u → u 0.50"
    assert drawing(figure).get("role") == "img"
    assert drawing(figure).get("aria-label").endswith("to who asks: " + said)
    assert repr(figure).split("\n\n")[1].splitlines() == said.split(", ")


def test_an_arrow_leaves_who_is_asked_and_its_tip_is_at_who_asks():
    found = arrows(attention_graph(HOU, "hou"))
    assert len(found) == 3  # row u has two, row o one; the rest are rings
    for (start, _bend, tip, _width), (s, t) in zip(found, [(0, 1), (0, 2), (1, 2)], strict=True):
        assert near(start, (STEP * s, 0))
        assert near(tip, (STEP * t, 0))
        assert start[0] > STEP * s
        assert tip[0] < STEP * t


def test_widths_are_the_weights_with_a_hair_as_the_least_and_none_for_zero():
    figure = attention_graph(HOU, "hou")
    assert [width for *_, width in arrows(figure)] == pytest.approx(
        [0.25 * WIDEST, 0.5 * WIDEST, HAIR], abs=0.01
    )
    expected = [(0, CORE, WIDEST), (STEP, CORE, 0.75 * WIDEST), (2 * STEP, CORE, 0.499 * WIDEST)]
    for found, right in zip(rings(figure), expected, strict=True):
        assert found == pytest.approx(right, abs=0.02)


def test_arrows_to_the_right_pass_above_and_arrows_to_the_left_below():
    found = arrows(attention_graph([[0.0, 1.0], [1.0, 0.0]], "ab"))
    (back, below, back_tip, _), (out, above, out_tip, _) = found
    assert back[0] > back_tip[0]
    assert below > 0
    assert out[0] < out_tip[0]
    assert above < 0


def test_two_sequences_stand_in_two_rows_and_every_arrow_goes_down():
    figure = attention_graph([[0.5, 0.5], [0.0, 1.0], [0.25, 0.75]], "you", "ab")
    assert nodes(figure) == [
        *[("a", STEP / 2, 0), ("b", 1.5 * STEP, 0)],
        *[("y", 0, DROP), ("o", STEP, DROP), ("u", 2 * STEP, DROP)],
    ]
    found, pairs = arrows(figure), [(0, 0), (1, 0), (1, 1), (0, 2), (1, 2)]
    for (start, _bend, tip, _width), (s, t) in zip(found, pairs, strict=True):
        assert near(start, (STEP * (s + 0.5), 0))
        assert near(tip, (STEP * t, DROP))
        assert start[1] < tip[1]
    sides = [t.text for t in drawing(figure).iter("text") if t.get("class") == "side"]
    assert sides == ["asked", "ask"]


@given(T=st.integers(1, 9), seed=st.integers(0, 99), causal=st.booleans())
def test_all_is_drawn_inside_the_picture(T, seed, causal):
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(T, T, generator=generator)  # (T, T)
    mask = causal_mask(T) if causal else None
    _, weights = attend(scores, torch.eye(T), torch.eye(T), mask, scale=1.0)  # (T, T)
    figure = attention_graph(weights, "abcdefghi"[:T])
    left, top, width, height = box(figure)
    assert len(arrows(figure)) + len(rings(figure)) == int((weights > 0).sum())
    for start, bend, tip, thick in arrows(figure):
        peak = start[1] + 0.75 * (bend - start[1])  # the middle of a curve with level ends
        for x, y in (start, tip, (start[0], peak)):
            assert left <= x - thick / 2
            assert x + thick / 2 <= left + width
            assert top <= y - thick / 2
            assert y + thick / 2 <= top + height


def drawn(figure):
    """Left, top, right and bottom of what is drawn, names and words at the side left out."""
    xs, ys = [], []
    for shape in drawing(figure).iter():
        half = float(shape.get("stroke-width", 0)) / 2
        if shape.tag == "circle":
            size = float(shape.get("r")) + half
            points = [
                (float(shape.get("cx")) + d, float(shape.get("cy")) + d) for d in (-size, size)
            ]
        elif shape.tag == "path":
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", shape.get("d"))]
            p = torch.tensor(numbers, dtype=torch.float64).view(4, 2)
            t = torch.linspace(0, 1, 99, dtype=torch.float64)[:, None]
            curve = (
                (1 - t) ** 3 * p[0]
                + 3 * t * (1 - t) ** 2 * p[1]
                + 3 * t**2 * (1 - t) * p[2]
                + t**3 * p[3]
            )
            points = [(x + d, y + d) for x, y in curve.tolist() for d in (-half, half)]
        else:
            continue
        xs += [x for x, _ in points]
        ys += [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


@pytest.mark.parametrize("T", [1, 2, 3, 6])
@pytest.mark.parametrize("sides", ["above", "below", "both", "none"])
def test_a_line_fits_its_picture_with_little_to_spare(T, sides):
    full = torch.full((T, T), 1 / T)
    kept = {"above": full.tril(), "below": full.triu(), "both": full, "none": full * 0}[sides]
    figure = attention_graph(kept, "abcdef"[:T])
    left, top, right, bottom = drawn(figure)
    x, y, width, height = box(figure)
    assert x == -REACH
    assert width == STEP * (T - 1) + 2 * REACH
    assert x <= left
    assert right <= x + width
    assert 0 <= top - y <= 20
    assert 0 <= y + height - bottom <= 20


@pytest.mark.parametrize(("asked", "askers"), [("a", "b"), ("abc", "xy"), ("ab", "wxyz")])
def test_two_rows_fit_their_picture_with_their_words_at_the_side(asked, askers):
    figure = attention_graph(torch.full((len(askers), len(asked)), 0.5), askers, asked)
    left, top, _right, bottom = drawn(figure)
    x, y, width, height = box(figure)
    assert x == -REACH
    assert 0 <= left - x <= REACH
    assert 0 <= top - y <= 16
    assert 0 <= y + height - bottom <= 16
    words = [t for t in drawing(figure).iter("text") if t.get("class") == "side"]
    assert {float(t.get("x")) for t in words} == {STEP * (max(len(asked), len(askers)) - 1) + 30.0}
    assert [float(t.get("y")) for t in words] == [0, DROP]
    assert 40 <= x + width - float(words[0].get("x")) <= 60


def test_names_are_escaped_and_made_visible_and_nothing_is_changed():
    weights = HOU.clone().requires_grad_(True)
    figure = attention_graph(weights, ['"<b>', " ", "训"])
    assert [name for name, *_ in nodes(figure)] == ['"<b>', "␣", "训"]
    assert torch.equal(weights, HOU)
    assert figure._repr_html_() == attention_graph(HOU.tolist(), ['"<b>', " ", "训"])._repr_html_()
    assert " id=" not in figure._repr_html_()


@pytest.mark.parametrize(
    ("weights", "rows", "columns", "message"),
    [
        ([[1.0, 0.0]], "a", None, r"numbers \(1, 2\).*not \(1, 1\)"),
        ([[1.0, 0.0]], "a", "x", "as many names"),
        ([[-1.0]], "a", None, "negative or not finite"),
        ([[float("nan")]], "a", "b", "negative or not finite"),
    ],
)
def test_what_cannot_be_drawn_is_refused(weights, rows, columns, message):
    with pytest.raises(ValueError, match=message):
        attention_graph(weights, rows, columns)
