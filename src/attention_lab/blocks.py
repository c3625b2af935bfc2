"""What a Transformer stacks: attention, then a small network that each position has to itself."""

from collections.abc import Callable

from torch import Tensor, nn

from attention_lab.config import ModelConfig, Norm
from attention_lab.heads import KeyValueCache, MultiHead

WIDER = 4  # how much wider a feed-forward network is inside


class FeedForward(nn.Module):
    """Each position by itself: out to 4 C numbers, the negative ones to 0, and back to C.

    Source: Vaswani et al. 2017, section 3.3.
    """

    def __init__(self, n_embd: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.widen = nn.Linear(n_embd, WIDER * n_embd)
        self.narrow = nn.Linear(WIDER * n_embd, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, C) -> (B, T, C)."""
        hidden = self.widen(x).relu()  # (B, T, 4C)
        out: Tensor = self.dropout(self.narrow(hidden))  # (B, T, C)
        return out


class Block(nn.Module):
    """Attention, then feed-forward if the config has it; each normed before, added after.

    Source: chapter 17; Vaswani et al. 2017, section 3.1, with the norm before as in GPT-2.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.residual = config.residual
        self.attention_norm = make_norm(config.norm, config.n_embd)
        self.attention = MultiHead(
            config.n_embd,
            config.n_head,
            config.causal,
            config.dropout,
            config.n_kv_head,
            rotary=config.positions == "rotary",
        )
        self.feed_forward: FeedForward | None = None
        if config.feed_forward:
            self.feed_forward_norm = make_norm(config.norm, config.n_embd)
            self.feed_forward = FeedForward(config.n_embd, config.dropout)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        """x (B, T, C) -> (B, T, C)."""
        x = self._add(x, self.attention.fused(self.attention_norm(x), cache))  # (B, T, C)
        if self.feed_forward is not None:
            x = self._add(x, self.feed_forward(self.feed_forward_norm(x)))  # (B, T, C)
        return x

    def weights(self, x: Tensor) -> Tensor:
        """x (B, T, C) -> the attention weights (B, nh, T, T) that this block mixes it with."""
        weights: Tensor = self.attention(self.attention_norm(x))[1]
        return weights

    def _add(self, x: Tensor, change: Tensor) -> Tensor:
        return x + change if self.residual else change  # (B, T, C)


def make_norm(kind: Norm, n_embd: int) -> nn.Module:
    """What brings each position's C numbers to one size: nothing, LayerNorm, or RMSNorm.

    Source: Ba et al. 2016; Zhang and Sennrich 2019.
    """
    kinds: dict[str, Callable[[int], nn.Module]] = {
        "none": lambda n: nn.Identity(),
        "layer": nn.LayerNorm,
        "rms": nn.RMSNorm,
    }
    return kinds[kind](n_embd)
