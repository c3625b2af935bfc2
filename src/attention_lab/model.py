"""Language models over characters, from a table of pairs upwards, and the way they write.

B batch, T time (positions in a chunk), C channels (``n_embd``), V vocabulary.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_lab.blocks import Block, make_norm
from attention_lab.config import ModelConfig
from attention_lab.generation import generate
from attention_lab.heads import KeyValueCache

__all__ = ["BigramModel", "CharModel", "ModelConfig", "generate", "seeded"]


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


class CharModel(nn.Module):
    """Representation in, room between, scores out. Source: document A, sections 3, 8; chapter 17.

    Layers are drawn in one order, so that a config with one more part starts with the same numbers
    in the parts that it shares with the one before.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.position_embedding_table: nn.Embedding | None = None
        with seeded(config.seed):
            self.token_embedding_table = nn.Embedding(config.vocab_size, config.n_embd)  # (V, C)
            self.lm_head = nn.Linear(config.n_embd, config.vocab_size)  # (C, V)
            if config.positions == "learned":
                self.position_embedding_table = nn.Embedding(config.block_size, config.n_embd)
            n_blocks = config.n_layer if config.n_head else 0
            self.blocks = nn.ModuleList(Block(config) for _ in range(n_blocks))
            self.norm = make_norm(config.norm, config.n_embd)
        for table in (self.token_embedding_table, self.position_embedding_table):
            if table is not None:
                table.weight.data *= config.embedding_std
        self.float()

    @property
    def block_size(self) -> int:
        return self.config.block_size

    def forward(
        self,
        idx: Tensor,
        targets: Tensor | None = None,
        cache: list[KeyValueCache] | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """idx (B, T) -> logits (B, T, V), and the mean loss in nats when given targets (B, T).

        With a cache (of `new_cache`), idx is what follows on the ids read before.
        Raises ``ValueError`` when there are more positions than the model's block size, when an id
        is not in the vocabulary, and when the shapes of idx and targets differ.
        """
        _check_ids(idx, targets, self.config.vocab_size)
        x = self.embed(idx, start=cache[0].length if cache else 0)  # (B, T, C)
        for i, block in enumerate(self.blocks):
            x = block(x, cache[i] if cache else None)  # (B, T, C)
        logits = self.lm_head(self.norm(x))  # (B, T, V)
        return logits, _loss(logits, targets)

    def embed(self, idx: Tensor, start: int = 0) -> Tensor:
        """idx (B, T), from position ``start`` on -> what the first block reads, (B, T, C)."""
        positions = torch.arange(start, start + idx.shape[-1], device=idx.device)  # (T,)
        if start + idx.shape[-1] > self.block_size:
            raise ValueError(
                f"idx has {start + idx.shape[-1]} positions, but the model's block_size is "
                f"{self.block_size}: keep the last {self.block_size}"
            )
        x: Tensor = self.token_embedding_table(idx)  # (B, T, C)
        if self.position_embedding_table is not None:
            x = x + self.position_embedding_table(positions)  # (B, T, C)
        return x

    def weights(self, idx: Tensor) -> list[Tensor]:
        """idx (B, T) -> the attention weights (B, nh, T, T) of each block, first to last."""
        _check_ids(idx, None, self.config.vocab_size)
        x = self.embed(idx)  # (B, T, C)
        weights = []
        for block in cast("list[Block]", self.blocks):
            weights.append(block.weights(x))
            x = block(x)  # (B, T, C)
        return weights

    def new_cache(self) -> list[KeyValueCache]:
        """An empty cache of keys and values for each block, none without causal blocks."""
        return [KeyValueCache() for _ in self.blocks if self.config.causal]


def _check_ids(idx: Tensor, targets: Tensor | None, vocab_size: int) -> None:
    """Targets must have the shape of idx (B, T), and every id a row in the table."""
    if not isinstance(idx, Tensor):
        raise TypeError(f"idx must be a tensor (B, T), not {type(idx).__name__}")
    if targets is not None and targets.shape != idx.shape:
        shapes = f"{tuple(targets.shape)} and {tuple(idx.shape)}"
        raise ValueError(f"targets must have the shape of idx, (B, T), not {shapes}")
    if idx.device.type != "cpu" or torch.compiler.is_compiling() or not idx.numel():
        return  # reading ids back would stall a GPU, and break a compiled graph
    for ids in (idx,) if targets is None else (idx, targets):
        low, high = int(ids.min()), int(ids.max())
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
