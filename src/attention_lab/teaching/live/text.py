"""Texts and characters as the live figures take and show them: the same rules as in `_text.js`."""

from collections.abc import Sequence

from torch import Tensor

EXAMPLES = ("hou", "you", "thou")  # three texts, one last character
GLYPHS = {" ": "␣ space", "\n": "⏎ newline", "\t": "⇥ tab"}


def examples(chars: Sequence[str]) -> list[str]:
    """Texts for the buttons: those that the characters can write."""
    return [word for word in EXAMPLES if set(word) <= set(chars)]


def check_table(logits: Tensor, chars: Sequence[str]) -> None:
    """Raise ValueError unless logits are (V, V) and finite, and chars V different characters."""
    if logits.ndim != 2 or logits.shape[0] != logits.shape[1]:
        raise ValueError(f"logits must have shape (V, V), got {tuple(logits.shape)}")
    if len(chars) != len(logits):
        raise ValueError(f"chars must name the {len(logits)} rows of logits, got {len(chars)}")
    if any(len(c) != 1 for c in chars) or len(set(chars)) != len(chars):
        raise ValueError("chars must be different single characters")
    if not logits.isfinite().all():
        row, column = (~logits.isfinite()).nonzero()[0].tolist()
        raise ValueError(
            f"logits must be finite, got {logits[row, column].item()} in the row of {chars[row]!r},"
            f" column of {chars[column]!r}"
        )


def check_text(text: str, chars: Sequence[str]) -> None:
    """Raise ValueError for an empty text, and one with a character that is not in chars."""
    if not text:
        raise ValueError("text must hold at least one character: the last one is looked up")
    for c in text:
        if c not in chars:
            raise ValueError(
                f"text has {c!r} (U+{ord(c):04X}), which is not one of the {len(chars)} characters"
            )


def name_of(c: str) -> str:
    """A character as plain text shows it, those that cannot be seen with a name."""
    return GLYPHS.get(c, c if c.isprintable() else f"U+{ord(c):04X}")


def percent(p: float) -> str:
    """A share as the page shows it: halves go up."""
    tenths = int(p * 1000 + 0.5)
    return "<0.1%" if tenths == 0 and p > 0 else f"{tenths / 10:.1f}%"


def bars(scores: Tensor, chars: Sequence[str], top: int) -> list[str]:
    """The likeliest characters of scores (V,), a line each with its share."""
    best, order = scores.detach().softmax(-1).sort(descending=True, stable=True)  # (V,), (V,)
    return [
        f"{name_of(chars[i]):<10}{percent(p):>6}"
        for i, p in zip(order[:top].tolist(), best[:top].tolist(), strict=True)
    ]
