"""Checks for the exercises of chapter 19: RMSNorm, rotary halves, one step with a cache."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_lab.attention import attend
from attention_lab.positions import rotary
from attention_lab.teaching.exercises._answers import (
    AnswerError,
    call,
    close,
    must,
    praise,
    randn,
    show,
    tensor,
)


def check_rms_norm(answer: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """Chapter 19: ``f(x (..., C), scale (C,), eps) -> (..., C)``."""
    for shape, eps in (((3, 4), 0.5), ((2, 4, 4), 0.1)):
        x, scale = randn(shape, (shape[-1],))
        x = x + 1  # a mean that is not 0
        before = x.clone()
        found = tensor(call(answer, x, scale, eps), shape)
        must(torch.equal(x, before), "x itself was changed")
        for wrong, why in _rms_mistakes(x, scale, eps):
            must(not close(found, wrong), why)
        right = F.rms_norm(x, shape[-1:], scale, eps)
        must(close(found, right), f"the first row should be {show(right.flatten(0, -2)[0])}")
    praise()


def _rms_mistakes(x: Tensor, scale: Tensor, eps: float) -> Iterator[tuple[Tensor, str]]:
    """Wrong outputs (..., C), each with the mistake that makes it."""
    C, square = x.shape[-1], x.square()  # (..., C)
    mean = square.mean(-1, keepdim=True)  # (..., 1)
    yield F.layer_norm(x, (C,), scale, eps=eps), "the mean was taken off: that is LayerNorm"
    yield x / (mean + eps).sqrt(), "the scale is missing"
    yield x / mean.sqrt() * scale, "eps is missing: a row of zeros would be divided by 0"
    yield x / (mean.sqrt() + eps) * scale, "eps belongs under the root"
    yield x / (mean + eps) * scale, "the root is missing"
    summed = square.sum(-1, keepdim=True)  # (..., 1)
    yield x / (summed + eps).sqrt() * scale, "this is the root of the sum: take the mean of squares"
    for over in (square.mean(), square.mean(0), square.mean(-2, keepdim=True)):
        why = "each position has its own root mean square: average over the last axis only"
        yield x / (over + eps).sqrt() * scale, why
    if C == x.shape[-2]:
        turned = square.mean(-1)  # (..., T), which fits along the wrong axis here
        turned = turned.unsqueeze(-2)  # (..., 1, T)
        yield x / (turned + eps).sqrt() * scale, "the means went along the wrong axis: keepdim=True"


def check_rotary_halves(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Chapter 19: ``f(x (T, hs), places (T,)) -> (T, hs)``, number i turned with i + hs/2."""
    for T, hs, start in ((3, 4, 5), (4, 8, 0)):
        (x,) = randn((T, hs))
        places = torch.arange(start, start + T)  # (T,)
        before = x.clone()
        found = tensor(call(answer, x, places), (T, hs))
        must(torch.equal(x, before), "x itself was changed")
        by_row, by_one = torch.arange(T), torch.full((T,), start)  # (T,) twice
        for wrong, why in (
            (x, "nothing was turned"),
            (rotary(x, places), "neighbours were turned: number 0 goes with number hs/2"),
            (_halves(x, -places), "turned backwards: the first half gets cos x1 - sin x2"),
            (_halves(x, places, one_speed=True), "all pairs turn alike: each has its own speed"),
            (_in_pairs(x, places), "turned, but left in pairs: put the halves back"),
            (_halves(x, by_row), "rows are counted: turn by the places that are given"),
            (_halves(x, by_one), "all rows turn alike: row t turns by places[t]"),
        ):
            must(not close(found, wrong) or close(_halves(x, places), wrong), why)
        must(close(found, _halves(x, places)), f"row 1 should be {show(_halves(x, places)[1])}")
    praise()


def _halves(x: Tensor, places: Tensor, one_speed: bool = False) -> Tensor:
    """x (T, hs), places (T,) -> (T, hs): the formula, half by half."""
    half = x.shape[-1] // 2
    powers = torch.zeros(half) if one_speed else torch.arange(half) / half  # (hs/2,)
    angles = (places[:, None] / 10000.0 ** powers.double()).to(x)  # (T, hs/2)
    cos, sin, first, second = angles.cos(), angles.sin(), x[:, :half], x[:, half:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def _in_pairs(x: Tensor, places: Tensor) -> Tensor:
    """The halves turned rightly, (T, hs), and left as neighbours."""
    turned = _halves(x, places).view(len(x), 2, -1)  # (T, 2, hs/2)
    return turned.transpose(1, 2).flatten(1)  # (T, hs)


def check_read_on(answer: Callable[..., Any]) -> None:
    """Chapter 19: ``f(q, k, v (B, nh, 1, hs), kept_k, kept_v (B, nh, S, hs))``.

    It returns out (B, nh, 1, hs), and the keys and values (B, nh, S + 1, hs) to be kept.
    """
    for B, nh, S, hs in ((2, 3, 4, 2), (1, 2, 1, 4)):
        one, many = (B, nh, 1, hs), (B, nh, S, hs)
        q, k, v, kept_k, kept_v = given = randn(one, one, one, many, many)
        copies = [part.clone() for part in given]
        found = call(answer, q, k, v, kept_k, kept_v)
        if not isinstance(found, tuple | list) or len(found) != 3:
            raise AnswerError("return three: what is brought home, all keys, all values")
        same = all(torch.equal(a, b) for a, b in zip(given, copies, strict=True))
        must(same, "what was given has changed: make a new tensor of all keys")
        keys, values = torch.cat([kept_k, k], -2), torch.cat([kept_v, v], -2)  # (B, nh, S + 1, hs)
        _check_kept(found[1], keys, kept_k, k, "keys")
        _check_kept(found[2], values, kept_v, v, "values")
        out = tensor(found[0], one)
        first = torch.arange(S + 1) == 0  # (S + 1,) the first key only
        for wrong, why in (
            (
                attend(q, kept_k, kept_v)[0],
                "the newest position does not see itself: keep, then look",
            ),
            (attend(q, keys, values, first[None])[0], "it sees the first key only: no mask here"),
            (attend(q, keys, values, scale=1.0)[0], "the scores are not divided by the root of hs"),
            (v, "it sees itself only: it may look at all that was kept"),
        ):
            must(not close(out, wrong), why)
        right = attend(q, keys, values)[0]  # (B, nh, 1, hs)
        must(close(out, right), f"the first head should bring home {show(right[0, 0, 0])}")
    praise()


def _check_kept(found: Any, right: Tensor, old: Tensor, new: Tensor, name: str) -> None:
    """The store (B, nh, S + 1, hs) is the old one with the new position at its end."""
    found = tensor(found)
    must(found.shape != old.shape, f"the {name} did not grow: the new ones must be kept too")
    found = tensor(found, tuple(right.shape))
    turned = torch.cat([new, old], -2)  # (B, nh, S + 1, hs)
    must(not close(found, turned), f"the new {name} stand first: the newest goes to the end")
    must(close(found, right), f"the kept {name} should be the old ones and then the new one")
