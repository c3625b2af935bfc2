"""The live figure of chapter 05: edit scores, mask and temperature, watch the weights."""

import math
from collections.abc import Sequence

from torch import Tensor

from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.numbers import aligned, check_names, may_look, rounded, shown


def softmax_weights(
    scores: Tensor | Sequence[float],
    mask: Tensor | Sequence[bool],
    temperature: float = 1.0,
    names: Sequence[str] | None = None,
) -> LiveFigure:
    """One row of scores on its way to weights, stage by stage (document A, scheme three).

    `scores` (S,), 2 to 8 of them, rounded here to 3 decimals. `mask` (S,) boolean, True = may
    look. `temperature` from 0.1 to 10: what the scores are divided by. `names`: the S keys, "0",
    "1" and so on unless given. A row that may look at nothing gets weights 0.

    Raises TypeError for a mask that is not boolean, ValueError for scores that are not 2 to 8
    numbers from -1e9 to 1e9, and for a mask, a temperature or names that do not fit.
    """
    row = rounded("scores", scores)  # (S,)
    if row.ndim != 1 or not 2 <= len(row) <= 8:
        raise ValueError(f"scores must have shape (S,), S from 2 to 8, got {tuple(row.shape)}")
    seen = may_look(mask, row.shape)  # (S,)
    if not 0.1 <= temperature <= 10:
        raise ValueError(f"temperature must lie between 0.1 and 10, got {temperature}")
    temperature = round(float(temperature), 3)
    keys = [str(s) for s in range(len(row))] if names is None else list(names)
    check_names(keys, len(row), "keys")
    data = {
        "scores": row.tolist(),
        "mask": seen.tolist(),
        "temperature": temperature,
        "names": keys,
    }
    return LiveFigure(
        "al-softmax-weights",
        data,
        "Live figure: edit scores, mask and temperature, and see the weights that softmax makes",
        _static_table(row, seen, temperature, keys),
    )


def _static_table(row: Tensor, seen: Tensor, temperature: float, names: list[str]) -> str:
    masked = row.masked_fill(~seen, -math.inf)  # (S,)
    top = masked.max()
    exps = ((masked - top) / temperature).exp().masked_fill(~seen, 0.0)  # (S,)
    total = exps.sum().item()
    weights = exps / total if total else exps  # (S,)
    exp = "exp(score − max)"
    if temperature != 1:
        exp = f"exp((score − max) ÷ {temperature:g})"
    table = [["key", "may look", "score", "masked", exp, "weight"]]
    for name, look, *stages in zip(names, seen, row, masked, exps, weights, strict=True):
        score, hidden, *shares = (shown(x.item()) for x in stages)
        table.append(
            [name, "yes" if look else "no", score, hidden, *(shares if look else ["0", "0"])]
        )
    sums = [shown(x) for x in (total, weights.sum().item())] if total else ["0", "0"]
    table.append(["sum", "", "", "", *sums])
    return aligned(table)
