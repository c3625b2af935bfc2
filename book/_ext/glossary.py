"""Words that a chapter sets in bold link to the glossary, if it has them; once a page."""

import re
from pathlib import Path
from typing import Any

from checks import anchor, link
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PAGE = "book/glossary"
ROW = re.compile(r"^\| ([\w][^|`$]*?) \|", re.MULTILINE)


def forms(cell: str) -> list[str]:
    """The words that a glossary's first cell explains: "variance, spread" has two."""
    plain = re.sub(r"\(.*?\)", "", cell).lower()
    return [word.strip() for word in plain.split(",") if word.strip()]


def terms(env: BuildEnvironment) -> dict[str, str]:
    """Each word that the glossary explains, with the name of its row's anchor."""
    text = Path(env.doc2path(PAGE)).read_text(encoding="utf-8")
    return {word: name(forms(cell)[0]) for cell in ROW.findall(text) for word in forms(cell)}


def name(word: str) -> str:
    return word.replace(" ", "-")


def known(word: str, words: dict[str, str]) -> str | None:
    """The anchor for a word as it stands in a text: small, and without a plural's ending."""
    small = word.lower().rstrip(".")
    for form in (small, small.removesuffix("s"), small.removesuffix("es")):
        if form in words:
            return words[form]
    return None


def mark(app: Sphinx, doctree: nodes.document) -> None:
    docname = app.env.docname
    words = terms(app.env)
    if docname == PAGE:
        for row in doctree.findall(nodes.row):
            cell = forms(row[0].astext())
            if cell and words.get(cell[0]) == name(cell[0]):
                row["ids"].append(anchor(app.env, "term", name(cell[0])))
    elif docname.startswith("notebooks/"):
        app.env.note_dependency(app.env.doc2path(PAGE))
        seen: set[str] = set()
        for strong in list(doctree.findall(nodes.strong)):
            found = known(strong.astext(), words)
            if found and found not in seen and not isinstance(strong.parent, nodes.reference):
                seen.add(found)
                strong.replace_self(link("term", found, strong.astext(), docname))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", mark)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
