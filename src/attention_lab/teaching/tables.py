"""Small matrices and distributions as real HTML: attention tables, next-character bars.

A screen reader reads them, they follow the page's light or dark theme, and a Chinese word needs
no font. Their plain-text form is what a terminal shows.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from unicodedata import east_asian_width

from torch import Tensor

NAMES = {" ": "space", "\n": "newline", "\t": "tab"}
SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}
CHINESE = re.compile("[\u3400-\u9fff]+")

# Light by default, dark where the book, JupyterLab or Colab says so.
STYLE = """<style>
.al{--cell:#8ab4f8;--minus:#f2b27a;--bar:#3b82f6;--line:#d0d7de;overflow-x:auto}
html[data-theme=dark] .al,body[data-jp-theme-light=false] .al,html[theme=dark] .al\
{--cell:#1e4fa3;--minus:#8a4b12;--line:#484f58}
.al table{border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums;color:inherit}
.al caption{caption-side:top;text-align:left;color:inherit;padding:.2em 0;\
white-space:normal;max-width:calc(100vw - 4em)}
.al th,.al td{border:1px solid var(--line);padding:.25em .6em;text-align:right;\
font-weight:400;background:none;color:inherit}
.al thead th{text-align:center}
.al tbody th{white-space:nowrap}
.al .w{background:color-mix(in srgb,var(--cell) calc(var(--w)*100%),transparent)}
.al .w.minus{background:color-mix(in srgb,var(--minus) calc(var(--w)*100%),transparent)}
.al .none{opacity:.65}
.al-bars{display:flex;flex-wrap:wrap;gap:.4em 2em}
.al-bars th,.al-bars td{border:0;padding:.1em .4em}
.al-bars td.bar{width:9em;text-align:left}
.al-bars i{display:block;height:.8em;width:calc(var(--w)*100%);background:var(--bar)}
</style>"""


def visible(character: str) -> str:
    """A character as a reader can see it: ␣ for a space, ⏎ for a newline."""
    return SIGNS.get(character, character)


@dataclass(frozen=True)
class Html:
    """A figure as HTML for the page, and as plain text for a terminal."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def attention_table(
    weights: Tensor | Sequence[Sequence[float]],
    rows: Iterable[str],
    columns: Iterable[str],
    decimals: int = 2,
    caption: str = "Rows ask, columns are asked.",
) -> Html:
    """Weights (T, S) as a table: a cell is the darker, the larger its share of the largest weight.

    rows (T) ask, columns (S) are asked. Raises ``ValueError`` when the numbers of names and
    weights differ, or for a weight that is negative or not finite.
    """
    grid = _grid(weights)  # (T, S)
    if any(not 0 <= weight < float("inf") for row in grid for weight in row):
        raise ValueError("a weight is negative or not finite: give weights, not scores")
    return _table(grid, rows, columns, decimals, caption)


def number_table(
    numbers: Tensor | Sequence[Sequence[float]],
    rows: Iterable[str],
    columns: Iterable[str],
    decimals: int = 1,
    caption: str = "",
) -> Html:
    """Numbers (R, N) of any sign as a table, -inf too: blue above 0, orange below, dark if large.

    Raises ``ValueError`` when the numbers of names and numbers differ, or for NaN or +inf.
    """
    grid = _grid(numbers)  # (R, N)
    if any(not number < float("inf") for row in grid for number in row):
        raise ValueError("a number is NaN or plus infinity")
    return _table(grid, rows, columns, decimals, caption)


def _grid(numbers: Tensor | Sequence[Sequence[float]]) -> list[list[float]]:
    rows = numbers.tolist() if isinstance(numbers, Tensor) else numbers
    try:
        return [[float(number) for number in row] for row in rows]
    except TypeError:
        found = tuple(numbers.shape) if isinstance(numbers, Tensor) else type(numbers).__name__
        raise ValueError(f"give rows of numbers, one sequence and one head, not {found}") from None


def _table(
    grid: list[list[float]],
    rows: Iterable[str],
    columns: Iterable[str],
    decimals: int,
    caption: str,
) -> Html:
    down, across = list(map(visible, rows)), list(map(visible, columns))
    if len(grid) != len(down) or any(len(row) != len(across) for row in grid):
        shape = (len(grid), len(grid[0]) if grid else 0)
        raise ValueError(f"numbers {shape} need as many names, not {(len(down), len(across))}")
    finite = [abs(number) for row in grid for number in row if number != float("-inf")]
    most = max(finite, default=0.0) or 1.0
    shown = [[_signed(number, decimals) for number in row] for row in grid]
    head = "".join(f'<th scope="col">{_spoken(name)}</th>' for name in across)
    body = "".join(
        f'<tr><th scope="row">{_spoken(name)}</th>'
        + "".join(_cell(n, text, most) for n, text in zip(row, texts, strict=True))
        + "</tr>"
        for name, row, texts in zip(down, grid, shown, strict=True)
    )
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    html = (
        f'{STYLE}<div class="al"><table class="al-attention">{named}'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    lines = [["", *across], *([name, *texts] for name, texts in zip(down, shown, strict=True))]
    width = max(_width(cell) for line in lines for cell in line) + 2
    text = ("".join(" " * (width - _width(cell)) + cell for cell in line) for line in lines)
    return Html(html, "\n".join(text))


def _spoken(name: str) -> str:
    """A name as HTML, with its Chinese words marked so that a screen reader speaks Chinese."""
    return CHINESE.sub(r'<span lang="zh">\g<0></span>', escape(name))


def _width(text: str) -> int:
    """The columns that a text takes in a terminal: two for a Chinese character."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _signed(number: float, decimals: int) -> str:
    """A number with a true minus sign, and none before a zero."""
    text = "−∞" if number == float("-inf") else f"{number:z.{decimals}f}"
    return text.replace("-", "−")


def _cell(number: float, text: str, most: float) -> str:
    if number == float("-inf"):
        return f'<td class="none">{text}</td>'
    sign = "w" if number >= 0 else "w minus"
    return f'<td class="{sign}" style="--w:{abs(number) / most:.2f}">{text}</td>'


def next_character_bars(
    predictions: Mapping[str, Tensor], chars: Sequence[str], top: int = 5
) -> Html:
    """The likeliest next characters as bars, one group a title.

    predictions: title -> probabilities (V,) of the next character; chars: the V characters.
    Raises ``ValueError`` when a group is not V probabilities that add up to 1.
    """
    groups, lines = [], []
    for title, weights in predictions.items():
        right = weights.shape == (len(chars),) and bool((weights >= 0).all())
        if not right or abs(float(weights.sum()) - 1) > 1e-4:
            raise ValueError(f"{title!r}: give {len(chars)} probabilities that add up to 1")
        best = weights.topk(min(top, len(chars)))
        pairs = [
            (chars[i], w) for i, w in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        body = "".join(
            f'<tr><th scope="row" aria-label="{escape(NAMES.get(c, c))}">{escape(visible(c))}</th>'
            f'<td class="bar"><i style="--w:{w / pairs[0][1]:.2f}"></i></td><td>{w:.1%}</td></tr>'
            for c, w in pairs
        )
        groups.append(f"<table><caption>{escape(title)}</caption><tbody>{body}</tbody></table>")
        lines += [title, *(f"  {visible(c)}  {w:6.1%}" for c, w in pairs)]
    html = f'{STYLE}<div class="al al-bars">{"".join(groups)}</div>'
    return Html(html, "\n".join(lines))
