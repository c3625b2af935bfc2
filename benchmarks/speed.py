"""CharModel against torch's own encoder of the same shape, side by side in one run.

    python benchmarks/speed.py [--threads N]

Both train on the same random ids: 4 layers, 4 heads, width 128, 64 positions, 12 chunks a step.
Rounds alternate, so that a busy moment of the machine hits both; a row gives the median round.
The rate is that of one large matrix product, the most that this machine does in a second.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch
from _results import store
from torch import Tensor, nn
from torch.nn import functional as F

from attention_lab.model import CharModel, ModelConfig
from attention_lab.recipe import Recipe
from attention_lab.training import Run

B, T, V, C, HEADS, LAYERS = 12, 64, 65, 128, 4, 4
ROUNDS, STEPS = 15, 10


class TorchModel(nn.Module):
    """The same shape from torch's parts: embeddings, nn.TransformerEncoder, a last layer."""

    block_size = T

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, C), nn.Embedding(T, C)
        layer = nn.TransformerEncoderLayer(
            C, HEADS, 4 * C, dropout=0.0, activation="relu", norm_first=True, batch_first=True
        )
        norm = nn.LayerNorm(C)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, norm, enable_nested_tensor=False)
        self.lm_head = nn.Linear(C, V)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(T))

    def forward(self, idx: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        x = self.tokens(idx) + self.positions(torch.arange(idx.shape[1]))  # (B, T, C)
        logits = self.lm_head(self.encoder(x, mask=self.mask, is_causal=True))  # (B, T, V)
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def seconds(step: Callable[[], object], n: int) -> float:
    start = time.perf_counter()
    for _ in range(n):
        step()
    return (time.perf_counter() - start) / n


def floating_point_operations(model: nn.Module) -> float:
    """Of a training step: 2 a weight and character forward, 4 back; attention's two products."""
    tables = V * C + T * C  # looked up, not multiplied
    weights = sum(p.numel() for p in model.parameters()) - tables
    attention = LAYERS * 2 * 2 * T * T / 2 * C  # half the square: the mask hides the rest
    return 3 * B * (2 * weights * T + attention)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    torch.set_num_threads(parser.parse_args().threads)
    ids = torch.randint(V, (100_000,), generator=torch.Generator().manual_seed(0))
    recipe = Recipe(steps=10**6, batch_size=B, lr=1e-3)
    config = ModelConfig(
        V, C, T, "learned", HEADS, LAYERS, feed_forward=True, residual=True, norm="layer"
    )
    ours, theirs = Run(CharModel(config), recipe), Run(TorchModel(), recipe)  # type: ignore[arg-type]
    theirs.optimizer = torch.optim.AdamW(theirs.model.parameters(), lr=recipe.lr)  # as it comes
    a, b = torch.randn(2, 1024, 1024)
    rounds: list[list[float]] = [[], [], []]
    steps = [lambda: ours.step(ids), lambda: theirs.step(ids), lambda: a @ b]
    for _ in range(ROUNDS):
        for times, step in zip(rounds, steps, strict=True):
            times.append(seconds(step, STEPS))
    our_s, their_s, _ = map(median, rounds)
    rate = 2 * 1024**3 / min(rounds[2])
    share = floating_point_operations(ours.model) / our_s / rate
    store(
        f"speed-{torch.get_num_threads()}",
        ["what", "result"],
        [
            ["CharModel, characters a second", f"{B * T / our_s:,.0f}"],
            ["nn.TransformerEncoder, characters a second", f"{B * T / their_s:,.0f}"],
            ["CharModel against nn.TransformerEncoder", f"{their_s / our_s:.2f} times"],
            ["matrix products, billion operations a second", f"{rate / 1e9:.0f}"],
            ["CharModel's share of that rate", f"{share:.0%}"],
        ],
    )


if __name__ == "__main__":
    main()
