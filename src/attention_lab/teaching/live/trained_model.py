"""The live figure of chapter 17: the trained head at work on what the reader types."""

import base64
from collections.abc import Sequence

import torch
from torch import Tensor

from attention_lab.heads import MultiHead
from attention_lab.model import CharModel, ModelConfig
from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.numbers import aligned
from attention_lab.teaching.live.text import bars, check_table, check_text, examples, name_of

TOP = 8  # bars shown of each model
WIDEST = 8  # the longest block whose weights fit on a phone


def trained_model(
    model: CharModel, bigram: Tensor, chars: Sequence[str], text: str = "hou"
) -> LiveFigure:
    """What a one-head model and a bigram expect next, and what the head looks at (chapter 17).

    `model`: learned positions and one block of one head, with or without the residual sum, and
    nothing else; its parameters travel in the page, to 6 decimals.
    `bigram` (V, V): a row of scores for each last character. `chars`: the V characters in their
    order. `text`: what the field holds at first; the model reads the last block_size characters.

    Raises ValueError for a model of another kind or one that reads more than 8 characters at once,
    parameters that are not finite, and for bigram, chars and text as `next_character` does.
    """
    _check_config(model.config)
    check_table(bigram, chars)
    check_text(text, chars)
    if len(chars) != model.config.vocab_size:
        raise ValueError(f"model knows {model.config.vocab_size} characters, chars {len(chars)}")
    matrices = {name: packed(name, matrix) for name, matrix in _matrices(model).items()}
    matrices["bigram"] = packed("bigram", bigram)
    data = {
        "text": text,
        "chars": "".join(chars),
        "examples": examples(chars),
        "residual": model.config.residual,
        "matrices": matrices,
    }
    return LiveFigure(
        "al-trained-model",
        data,
        "Live figure: type a text and see which characters a trained one-head model and a bigram"
        " expect next, and what the head looks at",
        _static(model, bigram, chars, text),
    )


def _check_config(config: ModelConfig) -> None:
    one_head = ModelConfig(
        config.vocab_size,
        config.n_embd,
        config.block_size,
        positions="learned",
        n_head=1,
        residual=config.residual,
        seed=config.seed,
    )
    if config != one_head:
        raise ValueError(f"model must be one head on learned positions, nothing else: {config}")
    if config.block_size > WIDEST:
        raise ValueError(f"block_size must be at most {WIDEST} to fit, got {config.block_size}")


def _matrices(model: CharModel) -> dict[str, Tensor]:
    """The model's parameters, each as a matrix of rows that a vector is multiplied with."""
    head = model.blocks[0].attention
    assert isinstance(head, MultiHead)
    assert model.position_embedding_table is not None
    return {
        "tokens": model.token_embedding_table.weight,  # (V, C)
        "places": model.position_embedding_table.weight,  # (T, C)
        "query": head.query.weight,  # (C, C)
        "key": head.key.weight,  # (C, C)
        "value": head.value.weight,  # (C, C)
        "project": head.project.weight,  # (C, C)
        "project_bias": head.project.bias[None],  # (1, C)
        "exit": model.lm_head.weight,  # (V, C)
        "exit_bias": model.lm_head.bias[None],  # (1, V)
    }


def packed(name: str, matrix: Tensor) -> dict[str, object]:
    """A matrix (R, N) as R * N numbers of 32 bits in base64, rounded to 6 decimals before.

    Raises ValueError, naming the matrix, for a number that is not finite.
    """
    # Training ends a few units of the 15th decimal apart on two kinds of CPU: not seen here.
    rounded = matrix.detach().to("cpu", torch.float64).round(decimals=6).float()  # (R, N)
    if not rounded.isfinite().all():
        raise ValueError(f"{name} must hold finite numbers: has the training diverged?")
    raw = rounded.numpy().astype("<f4").tobytes()
    return {"columns": matrix.shape[1], "numbers": base64.b64encode(raw).decode("ascii")}


def _static(model: CharModel, bigram: Tensor, chars: Sequence[str], text: str) -> str:
    read = text[-model.block_size :]
    idx = torch.tensor([[chars.index(c) for c in read]])  # (1, T)
    with torch.no_grad():
        scores = model(idx)[0][0, -1].double()  # (V,)
        weights = model.weights(idx)[0][0, 0].double()  # (T, T)
    names = [name_of(c).split()[0] for c in read]
    rows = [
        [name, *(f"{w:.2f}" if s <= t else "0" for s, w in enumerate(row))]
        for t, (name, row) in enumerate(zip(names, weights.tolist(), strict=True))
    ]
    rivals = (scores, bigram[idx[0, -1]].double())  # (V,), (V,)
    both = zip(*(bars(row, chars, TOP) for row in rivals), strict=True)
    return "\n".join(
        [
            f"After {text!r} the head reads {read!r} and expects, beside the bigram:",
            *(f"{ours:<20}{theirs}" for ours, theirs in [("one head", "bigram"), *both]),
            "",
            "Its weights. Rows ask, columns are asked.",
            aligned([["", *names], *rows]),
        ]
    )
