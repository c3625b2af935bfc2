"""How a model writes: it samples one character at a time, and reads what it wrote.

B batch, T time, V vocabulary.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_lab.heads import KeyValueCache

if TYPE_CHECKING:
    from attention_lab.model import BigramModel, CharModel


@torch.no_grad()
def generate(
    model: "BigramModel | CharModel",
    idx: Tensor,
    n_new: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Write on: idx (B, T) -> (B, T + n_new), one sampled character at a time.

    The model reads the last ``block_size`` characters only. ``temperature`` 0 takes the likeliest
    character; ``top_k`` leaves only the k likeliest. Dropout is off, and the model's mode restored.
    Raises ``ValueError`` for an empty prompt, a negative n_new, a temperature or top_k that makes
    no sense, and for a model whose scores are not finite.
    """
    if idx.ndim != 2 or idx.shape[1] == 0:
        raise ValueError(f"the prompt must be (B, T) with T at least 1, not {tuple(idx.shape)}")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be 0 or more and finite, not {temperature}")
    if n_new < 0:
        raise ValueError(f"n_new must be 0 or more, not {n_new}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    was_training = model.training
    model.eval()
    try:
        cache: list[KeyValueCache] = getattr(model, "new_cache", list)()  # the bigram has none
        for _ in range(n_new):
            scores = _scores(model, idx, cache)  # (B, V)
            following = _pick(scores, temperature, top_k, generator)  # (B, 1)
            idx = torch.cat([idx, following], dim=1)  # (B, T + 1)
    finally:
        model.train(was_training)
    return idx


def _scores(model: "BigramModel | CharModel", idx: Tensor, cache: list[KeyValueCache]) -> Tensor:
    """idx (B, T) -> the scores (B, V) of what follows on its last ``block_size`` ids.

    Inside the block the cache knows all but the newest ids. Past it every position moves down by
    one with each new character, so that nothing kept is of use any more.
    """
    if cache and idx.shape[1] <= model.block_size:
        logits, _loss = model(idx[:, cache[0].length :], None, cache)  # (B, T, V)
    else:
        logits, _loss = model(idx[:, -model.block_size :])  # (B, T, V)
    last: Tensor = logits[:, -1]  # (B, V)
    return last


def _pick(
    logits: Tensor, temperature: float, top_k: int | None, generator: torch.Generator | None
) -> Tensor:
    """logits (B, V) -> the next character of each sequence (B, 1)."""
    highest = logits.max(-1, keepdim=True).values  # (B, 1)
    if not highest.isfinite().all():
        raise ValueError("the model's scores are not finite: has its training diverged?")
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)  # (B, 1)
    if top_k is not None:
        likeliest = logits.topk(min(top_k, logits.shape[-1]), dim=-1)  # (B, k)
        nothing = torch.full_like(logits, float("-inf"))  # (B, V)
        logits = nothing.scatter(-1, likeliest.indices, likeliest.values)  # (B, V)
    weights = F.softmax((logits - highest).double() / temperature, dim=-1)  # (B, V)
    # A point on the line from 0 to 1, cut in V pieces as long as the weights. Unlike
    # torch.multinomial, this draws the same character on every kind of CPU.
    cuts = weights.cumsum(-1)  # (B, V)
    point = torch.rand(len(cuts), 1, generator=generator, dtype=cuts.dtype).to(cuts) * cuts[:, -1:]
    return torch.searchsorted(cuts, point, right=True).clamp(max=cuts.shape[-1] - 1)  # (B, 1)
