"""The live figure of chapter 01: type a text, see what the bigram expects next."""

from collections.abc import Sequence

import torch

from attention_lab.teaching.live.figure import LiveFigure

TOP = 10  # bars shown
EXAMPLES = ("hou", "you", "thou")  # three texts, one last character
GLYPHS = {" ": "␣ space", "\n": "⏎ newline", "\t": "⇥ tab"}


def next_character(logits: torch.Tensor, chars: Sequence[str], text: str = "hou") -> LiveFigure:
    """The bigram's likeliest next characters for any text the reader types (document A, section 1).

    `logits` (V, V): a row for each last character, in it the scores of the next one, rounded here
    to 3 decimals. `chars`: the V characters in the order of the rows. `text`: what the field
    holds at first.

    Raises ValueError for logits that are not (V, V) or not finite, chars that are not V different
    single characters, an empty text, and a text with a character not in chars.
    """
    check_table(logits, chars)
    check_text(text, chars)
    table = [[round(x, 3) + 0.0 for x in row] for row in logits.detach().double().tolist()]
    data = {
        "text": text,
        "chars": "".join(chars),
        "examples": [word for word in EXAMPLES if set(word) <= set(chars)],
        "logits": table,
    }
    return LiveFigure(
        "al-next-character",
        data,
        "Live figure: type a text and see which characters a bigram model expects next",
        _static_bars(table[chars.index(text[-1])], chars, text),
    )


def check_table(logits: torch.Tensor, chars: Sequence[str]) -> None:
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


def _static_bars(row: list[float], chars: Sequence[str], text: str) -> str:
    probs = torch.tensor(row, dtype=torch.float64).softmax(-1)  # (V,)
    best, order = probs.sort(descending=True, stable=True)  # (V,), (V,)
    lines = [
        f"{name_of(chars[i]):<10}{percent(p):>6}"
        for i, p in zip(order[:TOP].tolist(), best[:TOP].tolist(), strict=True)
    ]
    heading = f"After {text!r} the bigram reads only the last character, {text[-1]!r}, and expects:"
    return "\n".join([heading, *lines])


def name_of(c: str) -> str:
    """A character as plain text shows it, those that cannot be seen with a name."""
    return GLYPHS.get(c, c if c.isprintable() else f"U+{ord(c):04X}")


def percent(p: float) -> str:
    """A share as the page shows it: halves go up."""
    tenths = int(p * 1000 + 0.5)
    return "<0.1%" if tenths == 0 and p > 0 else f"{tenths / 10:.1f}%"
