"""Checks for the exercises of chapter 17: a block, and how large a model is."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_lab.model import CharModel, ModelConfig
from attention_lab.teaching.exercises._answers import call, must, number, praise, tensor

Part = Callable[[Tensor], Tensor]  # (B, T, C) -> (B, T, C)


def check_block(answer: Callable[[Tensor, Part, Part, Part], Tensor]) -> None:
    """Chapter 17: ``block(x (B, T, C), attention, feed_forward, norm) -> (B, T, C)``."""
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(17))  # (B, T, C)
    before = x.clone()
    found = tensor(call(answer, x, _attention, _feed_forward, _norm), (2, 3, 4))
    must(torch.equal(x, before), "x itself was changed: x += writes into the input")
    right = x + _attention(_norm(x))  # (B, T, C)
    right = right + _feed_forward(_norm(right))  # (B, T, C)
    for wrong, why in _other_blocks(x):
        must(not torch.allclose(found, wrong, atol=1e-5), why)
    close = torch.allclose(found, right, atol=1e-5)
    must(close, "expected x + attention(norm(x)), and on that sum the same with feed_forward")
    praise()


def _attention(x: Tensor) -> Tensor:
    """Stands for attention: position t gets the mean of what came before it, x (B, T, C)."""
    return 1 + x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]  # (B, T, C)


def _feed_forward(x: Tensor) -> Tensor:
    return 2 * x.relu()  # (B, T, C)


def _norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])  # (B, T, C)


def _other_blocks(x: Tensor) -> Iterator[tuple[Tensor, str]]:
    """Wrong outputs for x (B, T, C), each with the mistake that makes it."""
    brought = x + _attention(_norm(x))  # (B, T, C)
    normed = _norm(x) + _attention(_norm(x))  # (B, T, C)
    replaced = _attention(_norm(x))  # (B, T, C)
    thought = x + _feed_forward(_norm(x))  # (B, T, C)
    bare = x + _attention(x)  # (B, T, C)
    after = _norm(x + _attention(x))  # (B, T, C)
    yield _feed_forward(_norm(replaced)), "each part replaces its input: add it to what it read"
    yield replaced + _feed_forward(_norm(replaced)), "attention replaces x: add x to it"
    yield _feed_forward(_norm(brought)), "feed_forward replaces its input: add it to what it read"
    yield brought, "feed_forward is missing"
    yield (
        brought + _feed_forward(_norm(x)),
        "both parts read the same x: feed_forward should read what attention brought",
    )
    yield thought + _attention(_norm(thought)), "attention comes first, then feed_forward"
    yield bare + _feed_forward(bare), "norm is not used"
    yield (
        brought + _feed_forward(brought),
        "feed_forward reads the sum as it is: norm it before",
    )
    yield _norm(after + _feed_forward(after)), "norm comes before each part, not after the sum"
    yield (
        normed + _feed_forward(_norm(normed)),
        "the part is added to norm(x): add it to x, which nothing should scale",
    )


def check_count_parameters(answer: Callable[[int, int, int, int], int]) -> None:
    """Chapter 17: ``count_parameters(vocab_size, n_embd, block_size, n_layer) -> int``."""
    for V, C, T, n in ((13, 8, 5, 3), (7, 10, 3, 5)):  # each mistake shows by itself
        config = ModelConfig(
            V, C, T, "learned", 2, n, feed_forward=True, residual=True, norm="layer"
        )
        right = sum(p.numel() for p in CharModel(config).parameters())
        found = number(call(answer, V, C, T, n))
        case = f"for V = {V}, C = {C}, block_size = {T}, n_layer = {n}"
        for missing, why in (
            (V, "the exit has a bias"),
            (T * C, "each position has a row of its own"),
            (2 * C, "one more norm stands before the exit"),
            (n * C, "the projection has a bias"),
            (n * 5 * C, "both layers of the feed-forward network have a bias"),
            (n * 4 * C, "a block has two norms, with a scale and a shift each"),
            (n * 2 * C, "a norm has a scale and a shift: two numbers a channel"),
            ((2 * n + 1) * 2 * C, "the norms have parameters: a scale and a shift a channel"),
            (n * C * C, "after the heads comes a projection"),
            (V * C, "entry and exit are two matrices"),
            (-n * 3 * C, "queries, keys and values have no bias"),
        ):
            must(found != right - missing, f"{case} {abs(missing)} off: {why}")
        one = n > 1 and found == right - (n - 1) * (12 * C * C + 10 * C)
        must(not one, f"{case}: only one block is counted")
        must(found == right, f"{case} expected {right}, got {found:g}")
    praise()
