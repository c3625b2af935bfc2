"""The live figure of chapter 01: type a text, see what the bigram expects next."""

from collections.abc import Sequence

import torch

from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.text import bars, check_table, check_text, examples

TOP = 10  # bars shown


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
        "examples": examples(chars),
        "logits": table,
    }
    return LiveFigure(
        "al-next-character",
        data,
        "Live figure: type a text and see which characters a bigram model expects next",
        _static_bars(table[chars.index(text[-1])], chars, text),
    )


def _static_bars(row: list[float], chars: Sequence[str], text: str) -> str:
    heading = f"After {text!r} the bigram reads only the last character, {text[-1]!r}, and expects:"
    scores = torch.tensor(row, dtype=torch.float64)  # (V,)
    return "\n".join([heading, *bars(scores, chars, TOP)])
