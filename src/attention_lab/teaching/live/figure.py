"""A figure that computes in the page itself, with no kernel: a custom element, a static result."""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

TAG = re.compile(r"al(-[a-z]+)+")
PARTS = ("numbers", "fields", "grid", "text")  # a file that names AlGrid runs after _grid.js


def _read(name: str) -> str:
    folder = resources.files("attention_lab.teaching") / "live"
    return (folder / name).read_text(encoding="utf-8")


@cache
def script(tag: str) -> str:
    """What all figures share, the parts that this one names, then its own file: al-next-character
    is next-character.js.
    """
    own = _read(tag.removeprefix("al-") + ".js")
    parts = [f"_{part}.js" for part in PARTS if f"Al{part.title()}" in own]
    text = "".join([*map(_read, ("_base.js", "_share.js", *parts)), own])
    return re.sub(r"(?m)^\s+|^\s*//.*\n", "", text)  # lighter: no indentation, no comments


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
            f"<script>\n{script(self.tag)}</script>"
        )
