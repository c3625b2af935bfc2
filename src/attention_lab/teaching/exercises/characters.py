"""Checks for the exercises of chapters 01 and 02."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lab.teaching.exercises._answers import call, must, praise, tensor


def check_count_triples(answer: Callable[[Tensor, int], Tensor]) -> None:
    """Chapter 01: ``count_triples(ids (N,), vocab_size) -> (V, V, V)``, whole numbers."""
    ids = torch.tensor([0, 1, 2, 0, 1, 2, 2])
    right = torch.zeros(3, 3, 3, dtype=torch.long)  # (V, V, V)
    for a, b, c in zip(ids, ids[1:], ids[2:], strict=False):
        right[a, b, c] += 1
    found = tensor(call(answer, ids, 3), (3, 3, 3))
    must(
        not torch.equal(found, right.permute(2, 1, 0)),
        "the order is turned round: counts[a, b, c] asks what follows a, b",
    )
    must(
        not torch.equal(found, (right > 0).to(found.dtype)),
        "a triple that occurs twice counts once: with repeated indices, counts[a, b, c] += 1 adds "
        "only one; torch.bincount or index_put_(..., accumulate=True) adds each",
    )
    must(
        bool((found == found.long()).all()),
        "these are frequencies: give the counts themselves, before any division",
    )
    must(
        int(found.sum()) == len(ids) - 2,
        f"{int(found.sum())} triples counted, but {len(ids)} characters have {len(ids) - 2}: "
        "do the last characters run on into the first?",
    )
    must(bool((found == right).all()), f"for ids {ids.tolist()} expected {right.tolist()}")
    praise()


def check_problems(answer: Callable[[str], list[tuple[str, str]]]) -> None:
    """Chapter 01: ``problems(text) -> [(context, next), ...]``, shortest context first."""
    text = "thou"
    found = [tuple(pair) for pair in call(answer, text)]
    right = [("t", "h"), ("th", "o"), ("tho", "u")]
    must(
        not any(len(pair) == 2 and pair[1] and pair[0].endswith(pair[1]) for pair in found),
        "a context ends in its own answer: this problem gives itself away",
    )
    must(
        ("", "t") not in found, "the first problem has no context: start after the first character"
    )
    must(
        ("thou", "") not in found, "the last problem has no answer: stop before the last character"
    )
    must(
        [b for _a, b in found] != ["h", "o", "u"] or found == right,
        f"the answers are right, the contexts are not: {found}. A context is all that came before",
    )
    must(found == right, f"for {text!r} expected {right}, found {found}")
    praise()


def check_split_parameters(answer: Callable[[int, int], int]) -> None:
    """Chapter 02: ``parameters(vocab_size, n_embd) -> int`` of the split model, biases too."""
    for V, C in ((100, 7), (50, 60)):
        found, case = call(answer, V, C), f"for vocab_size {V} and n_embd {C}"
        must(found != V * C * 2, f"{case} the bias of lm_head is missing: one number a character")
        must(found != V * C * 2 + C, f"{case} the bias is as long as the output (V), not the input")
        must(found != V * V, f"{case} this is the bigram's table")
        must(found != V * C, f"{case} one of the two layers is missing")
        must(found == V * C + C * V + V, f"{case} expected {2 * V * C + V}, found {found}")
    praise()


def check_starting_loss(answer: Callable[[int, float], float]) -> None:
    """Chapter 02: ``starting_loss(vocab_size, variance)`` in nats, before any training."""
    for V, variance in ((65, 1 / 3), (1000, 2.0)):
        found = float(call(answer, V, variance))
        guess, case = math.log(V), f"for {V} characters and variance {variance:.3g}"
        for wrong, why in (
            (guess, "this is the loss of guessing: random scores cost more"),
            (math.log2(V) + variance / 2, "this mixes bits and nats: use the natural logarithm"),
            (guess + variance, "the variance counts half"),
            (guess - variance / 2, "the sign is wrong: confident nonsense costs more, not less"),
            (guess + variance**0.5 / 2, "this takes the standard deviation for the variance"),
        ):
            must(not math.isclose(found, wrong, abs_tol=1e-6), f"{case}: {why}")
        right = guess + variance / 2
        close = math.isclose(found, right, abs_tol=1e-3)
        must(close, f"{case}: expected {right:.3f}, got {found:.3f}")
    praise()
