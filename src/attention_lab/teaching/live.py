"""Figures that compute in the page itself, with no kernel: custom elements with a static result."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import torch

TAG = re.compile(r"al(-[a-z]+)+")
TOP = 10  # bars shown
EXAMPLES = ("hou", "you", "thou")  # three texts, one last character
GLYPHS = {" ": "␣ space", "\n": "⏎ newline", "\t": "⇥ tab"}


@cache
def _script(tag: str) -> str:
    """The shared base and the figure's own file: al-next-character is live/next-character.js."""
    folder = resources.files("attention_lab.teaching") / "live"
    names = ("_base.js", tag.removeprefix("al-") + ".js")
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def _ascii(text: str) -> str:
    """Text for an attribute or an element, whatever is in it and whatever the page's encoding."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")


@dataclass(frozen=True, repr=False)
class LiveFigure:
    """A figure that a reader can work in the built page, in JupyterLab and in Colab.

    `tag` names the custom element (`al-next-character`) and so its file
    (`live/next-character.js`), `data` is what the file computes from (JSON, numbers already
    rounded), `label` says what it is to a screen reader, `static` is the result in plain text,
    shown where no JavaScript runs. The HTML holds no ids and is the same on every run.

    Raises ValueError for a tag that is no such name or data that JSON cannot hold.
    """

    tag: str
    data: Mapping[str, object]
    label: str
    static: str

    def __post_init__(self) -> None:
        if not TAG.fullmatch(self.tag):
            raise ValueError(f"tag must read al-some-name in small letters, got {self.tag!r}")
        try:
            self._json()
        except (TypeError, ValueError) as error:
            raise ValueError(f"data of {self.tag} must be finite, plain JSON: {error}") from error

    def _json(self) -> str:
        return json.dumps(self.data, allow_nan=False, separators=(",", ":"))

    def __repr__(self) -> str:
        return self.static

    def _repr_html_(self) -> str:
        # The last attribute keeps JupyterLab's one-key commands out while the reader types.
        return (
            f'<{self.tag} role="group" aria-label="{_ascii(self.label)}"'
            f' data-figure="{_ascii(self._json())}" data-lm-suppress-shortcuts="true">'
            f'<pre style="white-space:pre-wrap">{_ascii(self.static)}</pre></{self.tag}>'
            f"<script>\n{_script(self.tag)}</script>"
        )


def next_character(logits: torch.Tensor, chars: Sequence[str], text: str = "hou") -> LiveFigure:
    """The bigram's likeliest next characters for any text the reader types (document A, section 1).

    `logits` (V, V): a row for each last character, in it the scores of the next one, rounded here
    to 3 decimals. `chars`: the V characters in the order of the rows. `text`: what the field
    holds at first.

    Raises ValueError for logits that are not (V, V) or not finite, chars that are not V different
    single characters, an empty text, and a text with a character not in chars.
    """
    _check_table(logits, chars)
    if not text:
        raise ValueError("text must hold at least one character: the bigram looks up the last one")
    for c in text:
        if c not in chars:
            raise ValueError(
                f"text has {c!r} (U+{ord(c):04X}), which is not one of the {len(chars)} characters"
            )
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


def _check_table(logits: torch.Tensor, chars: Sequence[str]) -> None:
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


def _static_bars(row: list[float], chars: Sequence[str], text: str) -> str:
    probs = torch.tensor(row, dtype=torch.float64).softmax(-1)  # (V,)
    best, order = probs.sort(descending=True, stable=True)  # (V,), (V,)
    lines = [
        f"{_name(chars[i]):<10}{_percent(p):>6}"
        for i, p in zip(order[:TOP].tolist(), best[:TOP].tolist(), strict=True)
    ]
    heading = f"After {text!r} the bigram reads only the last character, {text[-1]!r}, and expects:"
    return "\n".join([heading, *lines])


def _name(c: str) -> str:
    return GLYPHS.get(c, c if c.isprintable() else f"U+{ord(c):04X}")


def _percent(p: float) -> str:
    """As in the page: halves go up."""
    tenths = int(p * 1000 + 0.5)
    return "<0.1%" if tenths == 0 and p > 0 else f"{tenths / 10:.1f}%"
