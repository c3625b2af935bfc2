"""Attention as messages on a graph: the table of weights, and beside it the same as arrows.

An arrow runs from the position that is asked, which gives its value, to the one that asks. Its
width is the weight; a weight of 0 is no arrow. A position's arrow to itself is a ring around it.
`live/mask-graph.js` draws by the same rules.
"""

from collections.abc import Iterable, Sequence
from html import escape
from math import cos, hypot, radians, sin

from torch import Tensor

from attention_lab.teaching.tables import Html, attention_table, visible

# In pixels: between nodes, between two rows of them; inside and outside of the widest ring.
STEP, DROP, CORE, REACH = 74, 124, 13, 22
WIDEST, HAIR = 8, 0.8  # the width of weight 1, and the least that can be seen

STYLE = """<style>
.al-graph{display:flex;flex-wrap:wrap;align-items:center;gap:.2em 2em}
.al-graph svg{flex:1 1 16em;height:auto;overflow:visible;color:inherit}
.al-graph text{font-size:17px;fill:currentColor;text-anchor:middle;dominant-baseline:central}
.al-graph .side{font-size:13px;text-anchor:start}
.al-graph .node{fill:none;stroke:var(--line)}
.al-graph .ring,.al-graph .shaft{fill:none;stroke:var(--bar)}
.al-graph .tip{fill:var(--bar)}
.al-graph .arrow{opacity:.75}
</style>"""

Point = tuple[float, float]


def attention_graph(
    weights: Tensor | Sequence[Sequence[float]],
    rows: Iterable[str],
    columns: Iterable[str] | None = None,
    decimals: int = 2,
    caption: str = "Rows ask, columns are asked.",
) -> Html:
    """Weights (T, S) as a table and as a graph with an arrow for each weight above 0.

    rows (T) ask, columns (S) are asked. Without columns the sequence asks itself: its T nodes
    stand in a line, arrows to the right pass above it and arrows to the left below. With columns
    the S nodes that are asked stand above the T that ask, and every arrow goes down.
    Raises ``ValueError`` as ``attention_table`` does.
    Source: document A, section "six notes", first note.
    """
    grid = weights.tolist() if isinstance(weights, Tensor) else [list(row) for row in weights]
    down = list(rows)
    across = down if columns is None else list(columns)
    table = attention_table(grid, down, across, decimals, caption)
    askers, asked = list(map(visible, down)), list(map(visible, across))
    edges = [(t, s, w) for t, row in enumerate(grid) for s, w in enumerate(row) if w > 0]
    said = [f"{asked[s]} → {askers[t]} {w:.{decimals}f}" for t, s, w in edges]
    drawing = _line(down, edges) if columns is None else _two_rows(askers, asked, edges)
    label = escape("Graph. An arrow from who is asked to who asks: " + ", ".join(said))
    svg = drawing.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return Html(
        f'{STYLE}<div class="al al-graph">{table.html}{svg}</div>',
        "\n".join([table.text, "", *said]),
    )


def _line(names: list[str], edges: list[tuple[int, int, float]]) -> str:
    """One sequence that asks itself: nodes in a line, arcs to the right above, the others below."""
    T = len(names)
    at = [(STEP * i, 0.0) for i in range(T)]
    shapes = []
    above = below = float(REACH)
    for t, s, w in edges:
        if t == s:
            shapes.append(_ring(at[t], w))
            continue
        shapes.append(_arc(s, t, T, w))
        if s < t:
            above = max(above, _height(t - s, T))
        else:
            below = max(below, _height(s - t, T))
    shapes += [_node(point, visible(name)) for point, name in zip(at, names, strict=True)]
    return _svg(-REACH, -above - 6, STEP * max(T - 1, 0) + 2 * REACH, above + below + 12, shapes)


def _two_rows(askers: list[str], asked: list[str], edges: list[tuple[int, int, float]]) -> str:
    """Two sequences: the asked above, the askers below, straight arrows between them."""
    widest = max(len(askers), len(asked), 1) - 1
    tops, bottoms = (
        [(STEP * (i + (widest - len(names) + 1) / 2), y) for i in range(len(names))]
        for names, y in ((asked, 0.0), (askers, float(DROP)))
    )
    shapes = []
    for t, s, w in edges:
        (x, y), (to_x, to_y) = tops[s], bottoms[t]
        size = hypot(to_x - x, to_y - y)
        way = ((to_x - x) / size, (to_y - y) / size)
        shapes.append(_arrow(tops[s], way, bottoms[t], (-way[0], -way[1]), 0.0, w))
    shapes += [_node(point, name) for point, name in zip(tops, asked, strict=True)]
    shapes += [_node(point, name) for point, name in zip(bottoms, askers, strict=True)]
    right = STEP * widest + REACH + 8
    shapes += [f'<text class="side" x="{right}" y="{y}">{word}</text>'
               for word, y in (("asked", 0), ("ask", DROP))]  # fmt: skip
    return _svg(-REACH, -REACH - 4, right + REACH + 48, DROP + 2 * REACH + 8, shapes)


def _angle(d: int, T: int) -> float:
    """How steeply an arc over d steps leaves and lands: the longer, the steeper, so they nest."""
    return radians(25 + 55 * (d - 1) / max(T - 2, 1))


def _bend(d: int, T: int) -> float:
    """How far the control points of an arc over d steps lie from its ends."""
    return 0.4 * (STEP * d - 2.5 * REACH * cos(_angle(d, T)))


def _height(d: int, T: int) -> float:
    """How far from the line of nodes an arc over d steps reaches."""
    return sin(_angle(d, T)) * (REACH + 10 + 0.75 * _bend(d, T)) + WIDEST / 2


def _arc(s: int, t: int, T: int, weight: float) -> str:
    """The arrow from node s to node t, above the line if it goes to the right."""
    angle, side = _angle(abs(t - s), T), 1 if t > s else -1
    leave = (side * cos(angle), -side * sin(angle))
    land = (-leave[0], leave[1])
    return _arrow((STEP * s, 0), leave, (STEP * t, 0), land, _bend(abs(t - s), T), weight)


def _arrow(start: Point, leave: Point, end: Point, land: Point, bend: float, weight: float) -> str:
    """A curve from one node's edge to another's, with a tip.

    leave, land: unit vectors from each node's centre to where the arrow touches its edge.
    """
    width = _width(weight)
    tip = 6 + 0.6 * width  # its length
    a, b = _along(start, leave, REACH), _along(end, land, REACH + tip)
    curve = [a, _along(a, leave, bend), _along(b, land, bend), b]
    half, point = 3 + 0.75 * width, _along(end, land, REACH)
    across = (-land[1], land[0])
    corners = [point, _along(b, across, half), _along(b, across, -half)]
    m, *c = map(_xy, curve)
    path = f"M{m}C{' '.join(c)}"
    triangle = " ".join(map(_xy, corners))
    return (
        f'<g class="arrow"><path class="shaft" d="{path}" stroke-width="{width:.2f}"/>'
        f'<polygon class="tip" points="{triangle}"/></g>'
    )


def _ring(at: Point, weight: float) -> str:
    width = _width(weight)
    return (
        f'<g class="arrow"><circle class="ring" cx="{_n(at[0])}" cy="{_n(at[1])}"'
        f' r="{CORE + width / 2:.2f}" stroke-width="{width:.2f}"/></g>'
    )


def _node(at: Point, name: str) -> str:
    x, y = map(_n, at)
    return (
        f'<circle class="node" cx="{x}" cy="{y}" r="{CORE}"/>'
        f'<text x="{x}" y="{y}">{escape(name)}</text>'
    )


def _width(weight: float) -> float:
    return max(HAIR, WIDEST * weight)


def _along(start: Point, way: Point, size: float) -> Point:
    return start[0] + size * way[0], start[1] + size * way[1]


def _xy(point: Point) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _n(x: float) -> str:
    return f"{x:z.1f}"


def _svg(x: float, y: float, width: float, height: float, shapes: list[str]) -> str:
    box = " ".join(map(_n, (x, y, width, height)))
    size = f'width="{_n(width)}" height="{_n(height)}" style="max-width:{_n(width)}px"'
    return f'<svg viewBox="{box}" {size}>{"".join(shapes)}</svg>'
