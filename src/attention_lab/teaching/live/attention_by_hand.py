"""The live figure of chapter 08: attention by hand, every number traced to its makers."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attention_lab.attention import attend, causal_mask
from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.numbers import aligned, check_names, rounded, shown

Matrix = Tensor | Sequence[Sequence[float]]


def attention_by_hand(
    x: Matrix, w_query: Matrix, w_key: Matrix, w_value: Matrix, names: Sequence[str]
) -> LiveFigure:
    """Causal attention on numbers that the reader edits (document A, "by hand").

    `x` (T, C), `w_query` and `w_key` (C, hs), `w_value` (C, hv), multiplied from the right, as in
    q = x @ w_query; T and C are at most 4, hs and hv at most 3. All are rounded here to 3
    decimals. The scores are not scaled, as in the document's example. `names`: the T positions.

    Raises ValueError, naming the argument, for a shape that does not fit, values that are not
    numbers from -1e9 to 1e9, and names that are not T different ones.
    """
    given = {"x": x, "w_query": w_query, "w_key": w_key, "w_value": w_value}
    inputs = {name: rounded(name, matrix) for name, matrix in given.items()}
    _check_shapes(inputs)
    check_names(names, len(inputs["x"]), "rows of x")
    return LiveFigure(
        "al-attention-by-hand",
        {name: matrix.tolist() for name, matrix in inputs.items()} | {"names": list(names)},
        "Live figure: attention by hand. Edit x and three matrices, and trace every number",
        _static_steps(inputs, list(names)),
    )


def _check_shapes(inputs: dict[str, Tensor]) -> None:
    for name, matrix in inputs.items():
        rows, columns = ("T", "C") if name == "x" else ("C", "hv" if name == "w_value" else "hs")
        most = 4 if name == "x" else 3
        if matrix.ndim != 2 or not 1 <= len(matrix) <= 4 or not 1 <= matrix.shape[1] <= most:
            raise ValueError(
                f"{name} must have shape ({rows}, {columns}) with {rows} at most 4 and {columns}"
                f" at most {most}, got {tuple(matrix.shape)}"
            )
        channels = inputs["x"].shape[1]
        if name != "x" and len(matrix) != channels:
            raise ValueError(
                f"{name} must have one row a channel of x, {channels}, got {len(matrix)}"
            )
    query, key = inputs["w_query"], inputs["w_key"]
    if query.shape != key.shape:
        raise ValueError(
            "w_query and w_key must have the same shape (C, hs), got"
            f" {tuple(query.shape)} and {tuple(key.shape)}"
        )


def _static_steps(inputs: dict[str, Tensor], names: list[str]) -> str:
    x, w_query, w_key, w_value = inputs.values()  # (T, C), (C, hs), (C, hs), (C, hv)
    q, k, v = x @ w_query, x @ w_key, x @ w_value  # (T, hs), (T, hs), (T, hv)
    mask = causal_mask(len(x))  # (T, T)
    scores = q @ k.T  # (T, T)
    masked = scores.masked_fill(~mask, -torch.inf)  # (T, T)
    exps = (masked - masked.amax(-1, keepdim=True)).exp()  # (T, T)
    out, weights = attend(q, k, v, mask, scale=1.0)  # (T, hv), (T, T)
    channels = [str(c) for c in range(x.shape[1])]
    return "\n\n".join(
        [
            _matrix("x", x, names),
            _matrix("W_q", w_query, channels),
            _matrix("W_k", w_key, channels),
            _matrix("W_v", w_value, channels),
            _matrix("q = x W_q", q, names),
            _matrix("k = x W_k", k, names),
            _matrix("v = x W_v", v, names),
            _matrix("scores = q kᵀ", scores, names, names),
            _matrix("masked scores: nobody looks ahead", masked, names, names),
            _matrix("exp(score − max of the row)", exps, names, names, mask),
            _matrix("weights = exp ÷ sum of the row", weights, names, names, mask),
            _matrix("out = weights v", out, names),
        ]
    )


def _matrix(
    title: str,
    matrix: Tensor,
    rows: list[str],
    columns: list[str] | None = None,
    mask: Tensor | None = None,
) -> str:
    """A title and a table. With a mask the numbers are shares, and 0 where hidden; without one
    they are sums of products, of which the tiny are rounding noise.
    """
    heads = columns or [str(j) for j in range(matrix.shape[1])]
    if mask is None:
        cells = [[shown(n if abs(n) >= 1e-9 else 0.0) for n in row] for row in matrix.tolist()]
    else:
        pairs = zip(matrix.tolist(), mask.tolist(), strict=True)
        cells = [[shown(n) if see else "0" for n, see in zip(*pair, strict=True)] for pair in pairs]
    body = [[name, *row] for name, row in zip(rows, cells, strict=True)]
    return title + "\n" + aligned([["", *heads], *body])
