"""Figures that look the same everywhere: SVG settings, attention tables, next-character bars.

Tables and bars are real HTML: a screen reader reads them, they follow the page's light or dark
theme, and a Chinese word needs no font. Their plain-text form is what a terminal shows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from torch import Tensor

INK, GRID = "#24292f", "#d0d7de"  # the book's pages replace these by their theme's own colours
COLOURS = ("#3b82f6", "#d97706", "#16a34a", "#a855f7")  # readable on white and on black
NAMES = {" ": "space", "\n": "newline", "\t": "tab"}
SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}

# Light by default, dark where the book, JupyterLab or Colab says so.
STYLE = """<style>
.al{--cell:#8ab4f8;--bar:#3b82f6;--line:#d0d7de;overflow-x:auto}
html[data-theme=dark] .al,body[data-jp-theme-light=false] .al,html[theme=dark] .al\
{--cell:#1e4fa3;--line:#484f58}
.al table{border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums;color:inherit}
.al caption{caption-side:top;text-align:left;color:inherit;padding:.2em 0}
.al th,.al td{border:1px solid var(--line);padding:.25em .6em;text-align:right;\
font-weight:400;background:none;color:inherit}
.al thead th{text-align:center}
.al .w{background:color-mix(in srgb,var(--cell) calc(var(--w)*100%),transparent)}
.al .none{opacity:.65}
.al-bars{display:flex;flex-wrap:wrap;gap:.4em 2em}
.al-bars th,.al-bars td{border:0;padding:.1em .4em}
.al-bars td.bar{width:9em;text-align:left}
.al-bars i{display:block;height:.8em;width:calc(var(--w)*100%);background:var(--bar)}
</style>"""


def svg() -> None:
    """Draw matplotlib figures as SVG, the same bytes each time. Call it once a notebook."""
    from cycler import cycler
    from matplotlib import rcParams
    from matplotlib_inline import backend_inline

    backend_inline.set_matplotlib_formats(  # type: ignore[no-untyped-call]
        "svg", metadata={"Date": None, "Creator": None}
    )
    rcParams.update(
        {
            "svg.hashsalt": "attention_lab",
            "svg.fonttype": "none",  # text stays text
            "figure.figsize": (6.4, 3.2),
            "figure.facecolor": "#ffffff",
            "axes.facecolor": "none",
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": GRID,
            "legend.frameon": False,
            **dict.fromkeys(
                ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"),
                INK,
            ),
        }
    )


def loss_curve(
    curves: Mapping[str, Sequence[float]], every: int, floor: tuple[str, float] | None = None
) -> None:
    """Draw training losses in nats: a line a model, a point each ``every`` steps.

    floor: the name and the loss of a dashed line that cannot be passed.
    """
    from matplotlib import pyplot

    _figure, axes = pyplot.subplots()
    for name, losses in curves.items():
        axes.plot([every * (i + 1) for i in range(len(losses))], losses, label=name)
    if floor is not None:
        axes.axhline(floor[1], color=INK, linestyle="--", linewidth=1, label=floor[0])
    axes.set(xlabel="training step", ylabel="loss (nats a character)")
    axes.legend()
    pyplot.show()


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
    grid = [[float(weight) for weight in row] for row in weights]  # (T, S)
    down, across = list(map(visible, rows)), list(map(visible, columns))
    if len(grid) != len(down) or any(len(row) != len(across) for row in grid):
        shape = (len(grid), len(grid[0]) if grid else 0)
        raise ValueError(f"weights {shape} need as many names, not {(len(down), len(across))}")
    if any(not 0 <= weight < float("inf") for row in grid for weight in row):
        raise ValueError("a weight is negative or not finite: give weights, not scores")
    most = max((weight for row in grid for weight in row), default=0.0) or 1.0
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in across)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(
            f'<td class="w" style="--w:{weight / most:.2f}">{weight:.{decimals}f}</td>'
            for weight in row
        )
        + "</tr>"
        for name, row in zip(down, grid, strict=True)
    )
    html = (
        f'{STYLE}<div class="al"><table class="al-attention"><caption>{escape(caption)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    lines = [["", *across]]
    lines += [[n, *(f"{w:.{decimals}f}" for w in row)] for n, row in zip(down, grid, strict=True)]
    width = max(len(cell) for line in lines for cell in line) + 2
    return Html(html, "\n".join("".join(cell.rjust(width) for cell in line) for line in lines))


def next_character_bars(
    predictions: Mapping[str, Tensor], chars: Sequence[str], top: int = 5
) -> Html:
    """The likeliest next characters as bars, one group a title.

    predictions: title -> probabilities (V,) of the next character; chars: the V characters.
    Raises ``ValueError`` when a group is not V probabilities that add up to 1.
    """
    groups, lines = [], []
    for title, weights in predictions.items():
        if weights.shape != (len(chars),) or abs(float(weights.sum()) - 1) > 1e-4:
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
