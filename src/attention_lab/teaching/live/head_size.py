"""The live figure of chapter 11: a head's size, and what it does to scores and weights."""

from collections.abc import Sequence

from torch import Tensor

from attention_lab.attention import attend
from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.numbers import aligned, check_names, rounded, shown

LARGEST = 256  # so that the numbers of a figure stay below 30 kB


def head_size(q: Tensor, k: Tensor, names: Sequence[str], start: int = 64) -> LiveFigure:
    """Scores and weights of T letters for one another, at each head size 1, 2, 4 … D.

    `q` and `k` (T, D): random draws, rounded here to 2 decimals. D is a power of two up to 256,
    T is 2 to 8. A head of size hs uses the first hs numbers of each row. Every letter may look at
    every letter. `names`: the T letters. `start`: the head size shown first.

    Raises ValueError, naming the argument, for a shape, names or a start that do not fit, and
    for values that are not numbers from -1e9 to 1e9.
    Source: document A, "why divide by the root of d_k".
    """
    draws = [(rounded(name, x) * 100).round() / 100 for name, x in (("q", q), ("k", k))]  # (T, D)
    shapes = [tuple(x.shape) for x in draws]
    if shapes[0] != shapes[1] or draws[0].ndim != 2 or not 2 <= len(draws[0]) <= 8:
        raise ValueError(f"q and k must share one shape (T, D), T from 2 to 8, got {shapes}")
    T, D = shapes[0]
    sizes = [2**n for n in range(9) if 2**n <= D]
    if D != sizes[-1]:
        raise ValueError(f"q and k must have D = 1, 2, 4 … {LARGEST} numbers a row, got {D}")
    check_names(names, T, "rows of q")
    if start not in sizes:
        raise ValueError(f"start must be one of {sizes}, got {start}")
    data = {
        "q": [[x + 0.0 for x in row] for row in draws[0].tolist()],
        "k": [[x + 0.0 for x in row] for row in draws[1].tolist()],
        "names": list(names),
        "start": start,
    }
    return LiveFigure(
        "al-head-size",
        data,
        "Live figure: choose a head size, and see scores and weights with and without the scale",
        _static_table(draws[0], draws[1], sizes, names[0]),
    )


def _static_table(q: Tensor, k: Tensor, sizes: list[int], first: str) -> str:
    """A line a head size: the spread of all scores, and the largest weight of the first letter."""
    head = ["head size", "spread", "divided by its root", f"{first}'s largest weight", "divided"]
    table = [head]
    for hs in sizes:
        scores = q[:, :hs] @ k[:, :hs].T  # (T, T)
        spread = scores.std(correction=0).item()
        largest = [
            attend(q[:, :hs], k[:, :hs], k, scale=scale)[1][0].max().item()
            for scale in (1.0, hs**-0.5)
        ]
        table.append([str(hs), *map(shown, (spread, spread / hs**0.5, *largest))])
    return aligned(table)
