"""The live figure of chapter 15: length, heads, layers and bytes an entry, and what they take."""

import math
from collections.abc import Mapping, Sequence

from attention_lab.cost import human_bytes, longest, score_bytes
from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.numbers import aligned

LIMITS = {"T": 10_000_000, "n_head": 1000, "n_layer": 1000}
BYTES = (1, 2, 4, 8)


def memory_bill(
    T: int = 10_000,
    n_head: int = 1,
    n_layer: int = 1,
    bytes_per_entry: int = 2,
    cards: Sequence[int] = (24, 80, 141),
    models: Mapping[str, tuple[int, int, int]] | None = None,
) -> LiveFigure:
    """What the (T, T) matrices of one sequence take, and the length that fills each card.

    `cards`: sizes in GB of 2**30 bytes. `models`: buttons, each with its layers, heads and length.

    Raises ValueError, naming the argument, for a number that is not whole, below 1 or above its
    limit (T ten million, heads and layers 1,000), for bytes not among 1, 2, 4, 8, and for no cards.
    """
    settings = [("here", (n_layer, n_head, T)), *(models or {}).items()]
    for name, numbers in settings:
        _check(name, dict(zip(("n_layer", "n_head", "T"), numbers, strict=True)))
    if bytes_per_entry not in BYTES:
        raise ValueError(f"bytes_per_entry must be one of {BYTES}, got {bytes_per_entry}")
    if not cards or any(int(card) != card or not 1 <= card <= 10**6 for card in cards):
        raise ValueError(f"cards must be whole sizes from 1 to 1,000,000 GB, got {list(cards)}")
    data = {
        "T": T,
        "n_head": n_head,
        "n_layer": n_layer,
        "bytes_per_entry": bytes_per_entry,
        "cards": list(cards),
        "models": [[name, *numbers] for name, numbers in (models or {}).items()],
    }
    return LiveFigure(
        "al-memory-bill",
        data,
        "Live figure: choose length, heads, layers and bytes, and see what the matrices take",
        _static_text(T, n_head, n_layer, bytes_per_entry, cards),
    )


def _check(name: str, numbers: Mapping[str, int]) -> None:
    for key, number in numbers.items():
        if int(number) != number or not 1 <= number <= LIMITS[key]:
            where = "" if name == "here" else f" of {name}"
            limit = f"{LIMITS[key]:,}"
            raise ValueError(f"{key}{where} must be whole, from 1 to {limit}, got {number}")


def _static_text(T: int, n_head: int, n_layer: int, size: int, cards: Sequence[int]) -> str:
    total = score_bytes(T, size, n_head=n_head, n_layer=n_layer)
    factors = [_count(T * T, "entr", "y", "ies"), _count(size, "byte"), _count(n_head, "head")]
    first = " × ".join([*factors, _count(n_layer, "layer")]) + f" = {human_bytes(total)}"
    table = [["card", "filled", "full at T"]]
    for card in cards:
        budget = card * 2**30
        full = longest(budget, size, n_head=n_head, n_layer=n_layer)
        table.append([f"{card} GB", filled(total / budget), f"{full:,}"])
    return f"{first}\n\n{aligned(table)}"


def _count(n: int, noun: str, one: str = "", many: str = "s") -> str:
    return f"{n:,} {noun}{one if n == 1 else many}"


def filled(share: float) -> str:
    """How much of a card is taken: 77.6%, or more than one card: 21.3 cards."""
    if share > 1:
        return f"{math.floor(share + 0.5):,} cards" if share >= 1000 else f"{_tenths(share)} cards"
    return "<0.1%" if 0 < share < 0.0005 else f"{_tenths(100 * share)}%"


def _tenths(x: float) -> str:
    return f"{math.floor(10 * x + 0.5) / 10:.1f}"
