"""Curves with matplotlib, drawn as SVG that comes out the same each time; and the tables."""

from collections.abc import Mapping, Sequence

from attention_lab.teaching.tables import (
    attention_table,
    next_character_bars,
    number_table,
    visible,
)

__all__ = [
    "COLOURS",
    "attention_table",
    "loss_curve",
    "next_character_bars",
    "number_table",
    "svg",
    "visible",
]

INK, GRID = "#24292f", "#d0d7de"  # the book's pages replace these by their theme's own colours
COLOURS = ("#3b82f6", "#d97706", "#16a34a", "#a855f7")  # readable on white and on black


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
