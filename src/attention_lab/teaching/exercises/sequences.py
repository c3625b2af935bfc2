"""Checks for the exercises of chapters 14 and 16: any sequence, what attention is not."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from attention_lab.teaching.exercises._answers import call, must, number, praise, tensor


def check_patches(answer: Callable[[Tensor, int], Tensor]) -> None:
    """Chapter 14: ``patches(image (H, W), p) -> (T, p * p)``, row by row of patches."""
    for H, W, p in ((4, 6, 2), (6, 3, 3)):
        image = torch.arange(float(H * W)).reshape(H, W)  # of the default dtype
        shape = (H * W // p**2, p**2)
        found = tensor(call(answer, image.clone(), p), shape).to(image)
        case = f"for a {H} x {W} image and p = {p}"
        blocks = image.reshape(H // p, p, W // p, p)  # (rows, p, columns, p)
        right = blocks.transpose(1, 2).reshape(shape)
        for wrong, why in (
            (image.reshape(shape), "these are runs of pixels, not squares: reshape alone reads on"),
            (blocks.permute(2, 0, 1, 3).reshape(shape), "patches go along the rows first"),
            (blocks.permute(0, 2, 3, 1).reshape(shape), "the pixels of a patch go row by row"),
            (blocks.permute(2, 0, 3, 1).reshape(shape), "everything is turned: rows come first"),
        ):
            must(not torch.equal(found, wrong) or torch.equal(found, right), f"{case} {why}")
        first = [int(pixel) for pixel in right[0]]
        must(torch.equal(found, right), f"{case} the first patch holds the pixels {first}")
    praise()


def check_through(answer: Callable[[Sequence[float], bool], float]) -> None:
    """Chapter 14: ``through(slopes, residual) -> float``: the slope of a stack of layers."""
    slopes = [0.5, -0.4, 0.3]
    plain, around = math.prod(slopes), math.prod(1 + slope for slope in slopes)
    for residual, right in ((False, plain), (True, around)):
        found = number(call(answer, list(slopes), residual))
        case = f"{'with' if residual else 'without'} residuals"
        for wrong, why in (
            (plain, "the way around is missing: each factor is 1 + slope"),
            (around, "the 1 is the way around: there is none here"),
            (sum(slopes), "slopes of layers in a row multiply"),
            (1 + sum(slopes), "slopes of layers in a row multiply, 1 + slope each"),
            (1 + plain, "one way around the whole stack: each layer has its own"),
        ):
            must(math.isclose(right, wrong) or not math.isclose(found, wrong), f"{case}: {why}")
        close = math.isclose(found, right, rel_tol=1e-5)
        must(close, f"{case}: {slopes} should give {right:.3f}, not {found:.3f}")
    praise()


def check_other_weights(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Chapter 16: ``other_weights(weights (S,), values (S, hv)) -> (S,)``, with S > hv + 1."""
    generator = torch.Generator().manual_seed(0)
    for S, hv in ((3, 1), (6, 2), (20, 4)):
        weights = torch.rand(S, generator=generator) + 0.1  # (S,)
        weights = weights / weights.sum()  # (S,)
        values = torch.randn(S, hv, generator=generator)  # (S, hv)
        found = tensor(call(answer, weights.clone(), values.clone()), (S,)).detach().to(weights)
        case = f"for {S} values of {hv} number{'s' * (hv > 1)}"
        must(bool(found.isfinite().all()), f"{case} a weight is not finite")
        must(float(found.min()) > -1e-6, f"{case} a weight is negative: take a shorter step")
        total = float(found.sum())
        must(abs(total - 1) < 1e-5, f"{case} the weights add up to {total:.3f}, not 1")
        gap = float((found @ values - weights @ values).abs().max())
        must(gap < 1e-5, f"{case} the output moves by {gap:.3f}: step where values cancel out")
        moved = float((found - weights).abs().max())
        must(moved > 1e-3, f"{case} these are the weights given: move at least one by 0.001")
    praise()


def check_rollout(answer: Callable[[Sequence[Tensor]], Tensor]) -> None:
    """Chapter 16: ``rollout(weights) -> (T, T)``; weights: (T, T) a layer, first to last."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 4, 4, generator=generator)  # (layers, T, T)
    layers, eye = scores.softmax(-1), torch.eye(4)
    for n in (1, 3):
        found = tensor(call(answer, [w.clone() for w in layers[:n]]), (4, 4)).to(eye)
        mixed, right, bare, back, whole = (layers[:n] + eye) / 2, eye, eye, eye, eye
        for w, half in zip(layers, mixed, strict=False):
            right, bare, back = half @ right, w @ bare, back @ half
            whole = (w + eye) @ whole
        case = f"for {n} layer{'s' * (n > 1)}"
        for wrong, why in (
            (bare, "the way around is missing: half of each row stays where it is"),
            (back, "the order is turned: the last layer asks, so it stands on the left"),
            (whole, "w + identity has rows that add up to 2: take half of it"),
            (mixed.mean(0), "an average of the layers: what passes through them multiplies"),
            ((bare + eye) / 2, "each layer has a way around, not the stack as a whole"),
        ):
            same = torch.allclose(wrong, right) or not torch.allclose(found, wrong, atol=1e-5)
            must(same, f"{case} {why}")
        must(torch.allclose(found, right, atol=1e-5), f"{case} entry [0][0] is {right[0, 0]:.3f}")
    praise()
