"""Checks for the exercises of chapter 10: gaps in a text, and a mask in two halves."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from attention_lab.attention import causal_mask
from attention_lab.teaching.exercises._answers import call, must, praise, tensor

BLANK = 9


def check_make_gaps(answer: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> None:
    """Chapter 10: ``f(ids (B, T), places (B,), blank) -> (x (B, T), letters (B,))``."""
    for B, T in ((3, 5), (4, 4)):
        ids = torch.arange(B * T).view(B, T) % BLANK  # (B, T)
        ids[-1, -1] = ids[-1, 0]  # a letter that stands twice in its chunk: one of them is covered
        places = torch.arange(B).flip(0)  # (B,) one for each chunk
        before = ids.clone()
        found = call(answer, ids, places, BLANK)
        must(torch.equal(ids, before), "ids itself was changed: copy it first, with ids.clone()")
        x, letters = _pair(found)
        each = torch.arange(B)  # (B,)
        gap = torch.zeros(B, T, dtype=torch.bool)  # (B, T)
        gap[each, places] = True
        _check_letters(letters, ids, places)
        x = tensor(x, (B, T))
        must(not torch.equal(x, ids), "x has no gap: the letter is still in it")
        holes = x == BLANK  # (B, T)
        everywhere = gap.any(0).expand(B, T)  # (B, T)
        must(
            not torch.equal(holes, everywhere),
            "each chunk got the gaps of all: x[each, places], with each = torch.arange(B)",
        )
        must(torch.equal(holes, gap), f"for places {places.tolist()} the gaps are elsewhere")
        must(torch.equal(x, ids.masked_fill(gap, BLANK)), "letters beside the gap were changed")
    praise()


def _pair(found: Any) -> tuple[Any, Any]:
    two = isinstance(found, tuple | list) and len(found) == 2
    must(two, "return two tensors, the chunks with their gaps and the letters")
    return found[0], found[1]


def _check_letters(letters: Any, ids: Tensor, places: Tensor) -> None:
    """Letters (B,) should be those at the places (B,) of ids (B, T)."""
    B = len(ids)
    must(
        not (isinstance(letters, Tensor) and letters.shape == (B, B)),
        "each chunk was asked at all places: ids[each, places], with each = torch.arange(B)",
    )
    letters = tensor(letters, (B,))
    right = ids[torch.arange(B), places]  # (B,)
    blank = torch.equal(letters, torch.full_like(letters, BLANK))
    must(not blank, "the letters are all blank: read them before they are covered")
    must(torch.equal(letters, right), f"the letters should be {right.tolist()}")


def check_picture_mask(answer: Callable[[int, int], Tensor]) -> None:
    """Chapter 10: ``picture_mask(P, T) -> (P + T, P + T)`` boolean, True = may look."""
    for P, T in ((3, 2), (2, 4)):
        mask = tensor(call(answer, P, T), (P + T, P + T))
        must(mask.dtype == torch.bool, f"a mask is boolean, True = may look, not {mask.dtype}")
        right = causal_mask(P + T)  # (P + T, P + T)
        right[:P, :P] = True
        for wrong, why in _other_masks(P, T, right):
            must(not torch.equal(mask, wrong), why)
        must(torch.equal(mask, right), f"for P = {P}, T = {T} it should be {right.int().tolist()}")
    praise()


def _other_masks(P: int, T: int, right: Tensor) -> Iterator[tuple[Tensor, str]]:
    """Likely wrong masks (P + T, P + T), each with what is wrong about it."""
    N = P + T
    yield ~right, "upside down: True means may look"
    yield right.T, "turned round: the row asks, the column is asked"
    yield causal_mask(N), "a patch can't see the patches after it: the picture is there at once"
    yield torch.ones(N, N, dtype=torch.bool), "nothing is hidden: words see the words after them"
    patches_only = torch.zeros(N, N, dtype=torch.bool)
    patches_only[:, :P] = True
    yield patches_only, "words see no word, not even themselves"
    apart = right.clone()
    apart[P:, :P] = False
    yield apart, "the words don't see the picture"
    known = right.clone()
    known[:P] = True
    yield known, "patches see words: the text must not reach them"
    open_text = right.clone()
    open_text[P:] = True
    yield open_text, "words see the words after them"
