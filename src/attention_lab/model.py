"""Language models over characters, from a table of pairs upwards, and the way they write.

B batch, T time (positions in a chunk), C channels (``n_embd``), V vocabulary.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class BigramModel(nn.Module):
    """A (V, V) table: row c holds the scores of every character that may follow c.

    The table starts standard normal, as ``nn.Embedding`` does; ``seed`` fixes its numbers.
    Source: document A, section 1.
    """

    block_size = 8  # the length of a training chunk; the model itself reads one character

    def __init__(self, vocab_size: int, seed: int = 1337) -> None:
        super().__init__()
        with seeded(seed):
            self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)  # (V, V)
        self.float()

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """idx (B, T) -> logits (B, T, V), and the mean loss in nats when given targets (B, T)."""
        _check_ids(idx, targets, self.token_embedding_table.num_embeddings)
        logits = self.token_embedding_table(idx)  # (B, T, V)
        return logits, _loss(logits, targets)


@dataclass(frozen=True)
class ModelConfig:
    """What a ``CharModel`` is made of. Each chapter's model is one of these, never a new class."""

    vocab_size: int  # V
    n_embd: int = 32  # C, the width of a character's representation
    block_size: int = 8  # the most characters that the model reads at once
    positions: Literal["none", "learned"] = "none"  # what tells position 0 from position 7
    seed: int = 1337  # of the starting weights

    def __post_init__(self) -> None:
        for name in ("vocab_size", "n_embd", "block_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.positions not in ("none", "learned"):
            raise ValueError(f"positions must be 'none' or 'learned', not {self.positions!r}")


class CharModel(nn.Module):
    """Representation in, scores out, room between them. Source: document A, sections 3, 8."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.position_embedding_table: nn.Embedding | None = None
        with seeded(config.seed):
            self.token_embedding_table = nn.Embedding(config.vocab_size, config.n_embd)  # (V, C)
            self.lm_head = nn.Linear(config.n_embd, config.vocab_size)  # (C, V)
            if config.positions == "learned":
                self.position_embedding_table = nn.Embedding(config.block_size, config.n_embd)
        self.float()

    @property
    def block_size(self) -> int:
        return self.config.block_size

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """idx (B, T) -> logits (B, T, V), and the mean loss in nats when given targets (B, T).

        Raises ``ValueError`` when idx is longer than the model's block size, when an id is not in
        the vocabulary, and when the shapes of idx and targets differ.
        """
        _check_ids(idx, targets, self.config.vocab_size)
        T = idx.shape[-1]
        if T > self.block_size:
            raise ValueError(
                f"idx has {T} positions, but the model's block_size is {self.block_size}: "
                f"keep the last {self.block_size}"
            )
        x = self.token_embedding_table(idx)  # (B, T, C)
        if self.position_embedding_table is not None:
            x = x + self.position_embedding_table(torch.arange(T, device=idx.device))  # (T, C)
        logits = self.lm_head(x)  # (B, T, V)
        return logits, _loss(logits, targets)


@torch.no_grad()
def generate(
    model: BigramModel | CharModel,
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
        for _ in range(n_new):
            logits, _loss = model(idx[:, -model.block_size :])  # (B, T, V)
            following = _pick(logits[:, -1], temperature, top_k, generator)  # (B, 1)
            idx = torch.cat([idx, following], dim=1)  # (B, T + 1)
    finally:
        model.train(was_training)
    return idx


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


def _check_ids(idx: Tensor, targets: Tensor | None, vocab_size: int) -> None:
    """Targets must have the shape of idx (B, T), and every id a row in the table."""
    if targets is not None and targets.shape != idx.shape:
        shapes = f"{tuple(targets.shape)} and {tuple(idx.shape)}"
        raise ValueError(f"targets must have the shape of idx, (B, T), not {shapes}")
    if idx.device.type != "cpu" or not idx.numel():
        return  # reading ids back from a GPU would stall it
    low, high = int(idx.min()), int(idx.max())
    if low < 0 or high >= vocab_size:
        wrong = low if low < 0 else high
        raise ValueError(
            f"id {wrong} is not one of the {vocab_size} characters, 0 to {vocab_size - 1}"
        )


def _loss(logits: Tensor, targets: Tensor | None) -> Tensor | None:
    """Mean cross-entropy in nats of logits (B, T, V) on targets (B, T)."""
    return None if targets is None else F.cross_entropy(logits.flatten(0, -2), targets.flatten())


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from ``seed`` inside the block, and leave the caller's random numbers as they were.

    Layers made inside are float64: float32 draws differ in their last bits between CPUs.
    """
    default = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # of the CPU alone
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(default)
