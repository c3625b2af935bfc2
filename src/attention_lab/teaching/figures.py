"""Curves with matplotlib, drawn as SVG that comes out the same each time; and the tables."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from torch import Tensor

from attention_lab.teaching.tables import (
    attention_table,
    next_character_bars,
    number_table,
    visible,
)

__all__ = [
    "COLOURS",
    "attention_table",
    "colour_grid",
    "loss_curve",
    "next_character_bars",
    "number_table",
    "svg",
    "visible",
]

INK, GRID = "#24292f", "#d0d7de"  # the book's pages replace these by their theme's own colours
COLOURS = ("#3b82f6", "#d97706", "#16a34a", "#a855f7")  # readable on white and on black
STEPS = 9  # the colours of a grid


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


def colour_grid(axes: Any, numbers: Tensor, colours: str = "Blues") -> None:
    """Draw numbers (R, N) as a grid of cells on ``axes``, the first row on top.

    colours: a matplotlib colour map, from the smallest number to the largest in nine steps.
    The commonest colour is the ground. The cells of each other colour are one path, in which
    neighbours of a row are one rectangle. So an SVG stays small: matplotlib's own grids write a
    styled path for each cell. Raises ``ValueError`` for NaN or infinity.
    """
    from matplotlib import colormaps
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not numbers.isfinite().all():
        raise ValueError("a number is NaN or infinite: a grid has no colour for it")
    above = numbers.detach().double() - numbers.min()  # (R, N)
    steps = (above / above.max().clamp(min=1e-12) * (STEPS - 1)).round().int()  # (R, N)
    ground = int(steps.flatten().mode().values)
    rows, columns = steps.shape
    paths = {ground: [_rectangle(0, 0, columns, rows)]}
    for y, row in enumerate(steps.tolist()):
        for step, run in groupby(range(columns), key=row.__getitem__):
            x, *more = run
            if step != ground:
                paths.setdefault(step, []).append(_rectangle(x, y, 1 + len(more), 1))
    for step, parts in paths.items():
        colour = colormaps[colours](step / (STEPS - 1))
        cells = Path.make_compound_path(*parts)
        axes.add_patch(PathPatch(cells, color=colour, lw=0, antialiased=False, clip_on=False))
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.grid(visible=False)


def _rectangle(x: int, y: int, width: int, height: int) -> Any:
    from matplotlib.path import Path

    right, below = x + width, y + height
    return Path([(x, y), (right, y), (right, below), (x, below), (x, y)], closed=True)
