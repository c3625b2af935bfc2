"""The live figure of chapter 09: set the mask, and see the weights as a table and as a graph."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attention_lab.attention import attend
from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.numbers import aligned, check_names, may_look, rounded, shown


def mask_graph(
    scores: Tensor | Sequence[Sequence[float]],
    mask: Tensor | Sequence[Sequence[bool]],
    names: Sequence[str],
) -> LiveFigure:
    """Attention under a mask that the reader sets (document A, "six notes", first note).

    `scores` (T, T), T from 2 to 6, rounded here to 3 decimals: row t asks. `mask` (T, T) boolean,
    True = may look. `names`: the T positions. An entry switched off takes its arrow with it, and
    the row shares out its 1 anew; a row that may look at nothing has weights 0.

    Raises TypeError for a mask that is not boolean, ValueError for scores that are not (T, T)
    numbers from -1e9 to 1e9, and for a mask or names that do not fit.
    """
    given = rounded("scores", scores)  # (T, T)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not 2 <= len(given) <= 6:
        raise ValueError(f"scores must have shape (T, T), T from 2 to 6, got {tuple(given.shape)}")
    seen = may_look(mask, given.shape)  # (T, T)
    check_names(names, len(given), "positions")
    return LiveFigure(
        "al-mask-graph",
        {"scores": given.tolist(), "mask": seen.tolist(), "names": list(names)},
        "Live figure: switch the entries of the mask, and see table and graph follow",
        _static_table(given, seen, list(names)),
    )


def _static_table(scores: Tensor, mask: Tensor, names: list[str]) -> str:
    one = torch.ones(len(names), 1, dtype=torch.float64)  # (S, hs)
    _, weights = attend(scores, torch.eye(len(names), dtype=torch.float64), one, mask, scale=1.0)
    rows = [
        [name, *(shown(w) if see else "0" for w, see in zip(row, seen, strict=True))]
        for name, row, seen in zip(names, weights.tolist(), mask.tolist(), strict=True)
    ]
    counted = f"{int(mask.sum())} of {mask.numel()} arrows. Rows ask, columns are asked."
    return aligned([["", *names], *rows]) + "\n\n" + counted
