"""Right and wrong answers to the exercises of chapters 01 and 02, and what each must be told."""

import math

import torch


def triples(ids, V):
    return torch.bincount((ids[:-2] * V + ids[1:-1]) * V + ids[2:], minlength=V**3).view(V, V, V)


def once(ids, V):
    counts = torch.zeros(V, V, V)
    counts[ids[:-2], ids[1:-1], ids[2:]] += 1
    return counts


def around(ids, V):
    return triples(torch.cat([ids, ids[:2]]), V)


def mended(counts, ids, extra, sums=lambda more: more.sum(1, keepdim=True)):
    more = counts + extra
    return -(more / sums(more))[ids[:-1], ids[1:]].log().mean().item()


def mended_in_place(counts, ids, extra):
    loss = mended(counts, ids, extra)
    counts += 1
    return loss


def unchanged_sums(counts, ids, extra):
    return mended(counts, ids, extra, lambda more: counts.sum(1, keepdim=True))


def swapped(counts, ids, extra):
    return mended(counts.T, ids, extra)


RIGHT = {
    "check_count_triples": triples,
    "check_mended_loss": mended,
    "check_equal_width": lambda V: (V - 1) // 2 if V % 2 else None,
    "check_shrink": lambda extra: (2 * extra) ** 0.5,
}
WRONG = [
    ("check_count_triples", lambda ids, V: None, "returns nothing yet"),
    ("check_count_triples", lambda ids, V: triples(ids, V).tolist(), "expected a tensor, not list"),
    ("check_count_triples", lambda ids, V: torch.zeros(9, 3), r"shape \(3, 3, 3\), not \(9, 3\)"),
    ("check_count_triples", lambda ids, V: triples(ids, V).permute(2, 1, 0), "turned round"),
    ("check_count_triples", once, "occurs twice counts once"),
    ("check_count_triples", lambda ids, V: triples(ids, V) / 5, "frequencies"),
    ("check_count_triples", around, "7 triples counted, but 7 characters have 5"),
    ("check_count_triples", lambda ids, V: triples(ids, V).roll(1, 0), "for ids"),
    ("check_count_triples", torch.zeros(3, 3, 3), "give the function itself"),
    ("check_mended_loss", lambda counts, ids, extra: None, "returns nothing yet"),
    ("check_mended_loss", lambda counts, ids, extra: mended(counts, ids, 0.0), "probability 0"),
    ("check_mended_loss", mended_in_place, "changed in place"),
    ("check_mended_loss", lambda *a: -mended(*a), "sign is missing"),
    ("check_mended_loss", lambda *a: 5 * mended(*a), "not the mean"),
    ("check_mended_loss", lambda *a: mended(*a) / math.log(2), "in bits"),
    ("check_mended_loss", lambda *a: mended(*a, lambda more: more.sum(1)), "to the columns"),
    ("check_mended_loss", lambda *a: mended(*a, lambda more: more.sum()), "sum of all"),
    ("check_mended_loss", unchanged_sums, "lack what you added"),
    ("check_mended_loss", swapped, "rows and columns are swapped"),
    ("check_mended_loss", lambda *a: 1.0, "got 1.0000"),
    ("check_mended_loss", lambda *a: [1.0, 2.0], "a number, not list"),
    ("check_mended_loss", lambda counts: 1.0, "called with 3 values: too many"),
    ("check_mended_loss", lambda counts, ids, extra: mended(counts, ids, 0.5), "use it"),
    ("check_equal_width", lambda V: None, "there is a width"),
    ("check_equal_width", lambda V: (V - 1) / 2, "whole number, not 32.0"),
    ("check_equal_width", lambda V: V // 2 + 1, "one too many"),
    ("check_equal_width", lambda V: 7, "7 is not it"),
    ("check_equal_width", lambda V: (V - 1) // 2, "no width fits"),
    ("check_equal_width", lambda V: (V - 1) // 2 if V != 64 else None, "66 characters"),
    ("check_equal_width", 32, "give the function itself"),
    ("check_equal_width", lambda: 32, "called with 1 values: too many"),
    ("check_shrink", lambda extra: 2 * extra, "acts on the spread"),
    ("check_shrink", lambda extra: extra**0.5, "that 2 is missing"),
    ("check_shrink", lambda extra: extra, "square of the factor"),
    ("check_shrink", lambda extra: (extra / 2) ** 0.5, "wrong side"),
    ("check_shrink", lambda extra: 1.0, "expected 0.200, got 1.000"),
]
