"""Right and wrong answers to the exercises of chapters 01 and 02, and what each must be told."""

import math
from itertools import pairwise

import torch


def triples(ids, V):
    return torch.bincount((ids[:-2] * V + ids[1:-1]) * V + ids[2:], minlength=V**3).view(V, V, V)


def once(ids, V):
    counts = torch.zeros(V, V, V)
    counts[ids[:-2], ids[1:-1], ids[2:]] += 1
    return counts


def around(ids, V):
    return triples(torch.cat([ids, ids[:2]]), V)


def contexts(text):
    return [(text[: t + 1], text[t + 1]) for t in range(len(text) - 1)]


RIGHT = {
    "check_count_triples": triples,
    "check_problems": contexts,
    "check_split_parameters": lambda V, C: 2 * V * C + V,
    "check_starting_loss": lambda V, variance: math.log(V) + variance / 2,
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
    ("check_problems", lambda text: ..., "returns nothing yet"),
    (
        "check_problems",
        lambda text: [(text[: t + 1], text[t]) for t in range(3)],
        "gives itself away",
    ),
    ("check_problems", lambda text: [("", text[0]), *contexts(text)], "has no context"),
    ("check_problems", lambda text: [*contexts(text), (text, "")], "has no answer"),
    ("check_problems", lambda text: list(pairwise(text)), "contexts are not"),
    ("check_problems", lambda text: contexts(text)[::-1], "expected"),
    ("check_split_parameters", lambda V, C: 2 * V * C, "bias of lm_head is missing"),
    ("check_split_parameters", lambda V, C: 2 * V * C + C, "as long as the output"),
    (
        "check_split_parameters",
        lambda V, C: V * V,
        "this is the bigram",
    ),
    ("check_split_parameters", lambda V, C: V * C, "one of the two layers"),
    ("check_split_parameters", lambda V, C: 7, "expected 1500, found 7"),
    ("check_starting_loss", lambda V, variance: math.log(V), "loss of guessing"),
    ("check_starting_loss", lambda V, variance: math.log2(V) + variance / 2, "natural logarithm"),
    ("check_starting_loss", lambda V, variance: math.log(V) + variance, "variance counts half"),
    ("check_starting_loss", lambda V, variance: math.log(V) - variance / 2, "sign is wrong"),
    (
        "check_starting_loss",
        lambda V, variance: math.log(V) + variance**0.5 / 2,
        "standard deviation",
    ),
    ("check_starting_loss", lambda V, variance: 0.0, "expected 4.341, got 0.000"),
]
