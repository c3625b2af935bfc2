"""Right and wrong answers to the exercises of chapters 14 and 16, and what each must be told."""

import math

import torch


def patches(image, p):
    H, W = image.shape
    blocks = image.reshape(H // p, p, W // p, p)
    return blocks.transpose(1, 2).reshape(-1, p * p)


def other_order(order):
    def answer(image, p):
        H, W = image.shape
        return image.reshape(H // p, p, W // p, p).permute(*order).reshape(-1, p * p)

    return answer


def through(slopes, residual):
    return math.prod(residual + slope for slope in slopes)


def other_weights(weights, values, size=0.9):
    together = torch.cat([values, torch.ones(len(values), 1)], dim=1)
    step = torch.linalg.svd(together.T).Vh[-1]
    return weights + step * size * (weights / step.abs()).min()


def rollout(weights):
    passed = torch.eye(len(weights[0]))
    for w in weights:
        passed = (w + torch.eye(len(w))) / 2 @ passed
    return passed


def bare(weights):
    passed = torch.eye(len(weights[0]))
    for w in weights:
        passed = w @ passed
    return passed


RIGHT = {
    "check_patches": patches,
    "check_through": through,
    "check_other_weights": other_weights,
    "check_rollout": rollout,
}
WRONG = [
    ("check_patches", lambda image, p: image.reshape(-1, p * p), "reshape alone reads on"),
    ("check_patches", other_order((2, 0, 1, 3)), "along the rows first"),
    ("check_patches", other_order((0, 2, 3, 1)), "row by row"),
    ("check_patches", other_order((2, 0, 3, 1)), "everything is turned"),
    ("check_patches", lambda image, p: -patches(image, p), r"pixels \[0, 1, 6, 7\]"),
    ("check_patches", lambda image, p: patches(image, p).T, r"expected the shape \(6, 4\)"),
    ("check_patches", lambda image, p: image.tolist(), "a tensor, not list"),
    ("check_through", lambda s, residual: math.prod(s), "the way around is missing"),
    ("check_through", lambda s, residual: math.prod(1 + x for x in s), "out residuals: the 1"),
    ("check_through", lambda s, residual: sum(s), "slopes of layers in a row multiply"),
    ("check_through", lambda s, r: 1 + sum(s) if r else math.prod(s), "1 . slope each"),
    ("check_through", lambda s, r: r + math.prod(s), "each layer has its own"),
    ("check_through", lambda s, residual: 0.0, "should give -0.060, not 0.000"),
    ("check_through", lambda s, residual: "steep", "a number, not str"),
    ("check_other_weights", lambda w, v: w, "these are the weights given"),
    ("check_other_weights", lambda w, v: w * 2, "add up to 2.000"),
    ("check_other_weights", lambda w, v: w.flip(0), "the output moves by"),
    ("check_other_weights", lambda w, v: other_weights(w, v, 20), "negative: take a shorter step"),
    ("check_other_weights", lambda w, v: w / 0, "not finite"),
    ("check_other_weights", lambda w, v: v, r"expected the shape \(3,\)"),
    ("check_rollout", bare, "the way around is missing"),
    ("check_rollout", lambda ws: rollout(ws[::-1]), "the order is turned"),
    ("check_rollout", lambda ws: rollout(ws) * 2 ** len(ws), "take half of it"),
    (
        "check_rollout",
        lambda ws: (torch.stack(ws).mean(0) + torch.eye(4)) / 2,
        "an average of the",
    ),
    ("check_rollout", lambda ws: (bare(ws) + torch.eye(4)) / 2, "not the stack as a whole"),
    ("check_rollout", lambda ws: ws[-1] * 0, r"entry \[0\]\[0\] is"),
    ("check_rollout", lambda ws: torch.stack(ws), r"expected the shape \(4, 4\)"),
]
