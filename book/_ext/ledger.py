"""The ledger page: what the documents say, and what came out here.

The first comes from the package's ledger, the second from the outputs stored in the notebooks.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from checks import anchor, link, stored_checks
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from tables import row, table, verbatim

from attention_lab.teaching import claims
from attention_lab.teaching.claims import Checked
from attention_lab.teaching.ledger import Claim, ledger

DOCUMENTS = {
    "A": "Only one line changes",
    "B": "Six words",
    "C": "Results of this course",
}
KINDS = {
    "exact": "Exact figures",
    "round": "Rounded figures",
    "approx": "Measured or random figures",
    "holds": "Statements",
    "fact": "Facts with a source",
}
COLUMNS = {"What the document says": 46, "Its figure": 22, "Here": 18, "Where": 14}
Result = tuple[str, Checked]  # the page that checked a claim, and what came out
logger = logging.getLogger(__name__)


class Ledger(SphinxDirective):
    """``{ledger}``: counts, then a table for each document with a row for each claim."""

    def run(self) -> list[nodes.Node]:
        pages = sorted(d for d in self.env.found_docs if self.env.doc2path(d).endswith(".ipynb"))
        results: dict[str, Result] = {}
        for page in pages:
            path = self.env.doc2path(page)
            self.env.note_dependency(path)
            for _, checked in stored_checks(Path(path)):
                results.setdefault(checked.id, (page, checked))
                if not agrees(checked):
                    logger.warning("the stored result of %s is off", checked.id, location=page)
        module = Path(claims.__file__)
        for source in (module, module.with_name("claims.toml"), Path(self.env.srcdir, "_toc.yml")):
            self.env.note_dependency(str(source))
        rows = list(ledger().values())
        return [*counts(rows, results), *self.documents(rows, results)]

    def documents(self, rows: list[Claim], results: dict[str, Result]) -> Iterator[nodes.Node]:
        for doc, mine in groupby(rows, lambda claim: claim.doc):
            section = nodes.section(ids=[f"document-{doc.lower()}"], names=[])
            section += nodes.title("", f"Document {doc}: {DOCUMENTS[doc]}")
            body: list[nodes.row] = []
            for name, part in groupby(mine, lambda claim: claim.section):
                number, title = name.split(" ", 1)
                body.append(heading(f"Section {number} · {title}"))
                body += [self.row(claim, results.get(claim.id)) for claim in part]
            section += table(list(COLUMNS), body, list(COLUMNS.values()), ["al-ledger"])
            yield section

    def row(self, claim: Claim, result: Result | None) -> nodes.row:
        ids = [anchor(self.env, "claim", claim.id)]
        notes = [
            f"{label}: {note}"
            for label, note in (("How", claim.how), ("Note", claim.remark))
            if note
        ]
        says: list[nodes.Node] = [verbatim(claim.text)]
        says += [verbatim(note, classes=["al-note"]) for note in notes]
        compared = self.sources(claim) if claim.sources else [nodes.Text(comparison(claim))]
        figure = [
            *value(claim, claim.value),
            nodes.paragraph("", "", *compared, classes=["al-note"]),
        ]
        if result is None:
            logger.warning("no chapter checks %s", claim.id, location=self.env.docname)
            return row([says, figure, "not checked"], ids=ids)
        page, checked = result
        number = page.rsplit("/", 1)[-1].split("-")[0].lstrip("0")
        where = link("check", claim.id, f"chapter {number}", self.env.docname)
        return row([says, figure, value(claim, checked.value), where], ids=ids)

    def sources(self, claim: Claim) -> list[nodes.Node]:
        cited, _ = self.parse_inline(f"{{cite:p}}`{','.join(claim.sources)}`")
        return [nodes.Text("rests on "), *cited]


def agrees(checked: Checked) -> bool:
    claim = ledger().get(checked.id)
    return claim is not None and claims.agrees(claim, checked.value)


def value(claim: Claim, plain: Any) -> list[nodes.Node]:
    """A value; a matrix with a line for each row; for a statement, what became of it."""
    if claim.kind in ("holds", "fact"):
        kind = "statement" if claim.kind == "holds" else "fact"
        done = "holds" if claim.kind == "holds" else "source given"
        return [nodes.paragraph("", kind if plain is None else done)]
    lines = plain if isinstance(plain, list) and isinstance(plain[0], list) else [plain]
    return [nodes.paragraph("", "", nodes.literal("", claims.show(claim, line))) for line in lines]


def comparison(claim: Claim) -> str:
    """How a result is compared with the claim, in words."""
    if claim.kind == "round":
        digits = decimals(claim.value)
        return f"equal to {digits} decimal{'s' * (digits != 1)}" if digits else "equal, rounded"
    if claim.kind == "approx":
        within = claim.abs if claim.abs is not None else f"{100 * float(claim.rel or 0):g}%"
        return f"within {within}"
    return {"exact": "equal", "holds": "true when computed"}[claim.kind]


def decimals(value: Any) -> int:
    if isinstance(value, list):
        return max(map(decimals, value))
    return len(str(value).partition(".")[2])


def counts(rows: list[Claim], results: dict[str, Result]) -> Iterator[nodes.Node]:
    """One table: all claims, then those of each document, then those of each kind."""

    def line(title: str, group: list[Claim]) -> nodes.row:
        done = [claim for claim in group if claim.id in results]
        agreeing = [claim for claim in done if agrees(results[claim.id][1])]
        numbers = [len(group), len(done), len(agreeing)]
        return row([title, *map(str, numbers)])

    body = [line("All claims", rows), heading("By document")]
    for doc, title in DOCUMENTS.items():
        body.append(line(f"{doc}: {title}", [claim for claim in rows if claim.doc == doc]))
    body.append(heading("By kind"))
    for kind, title in KINDS.items():
        body.append(line(title, [claim for claim in rows if claim.kind == kind]))
    heads = ["Group", "Claims", "Checked", "Agree"]
    yield table(heads, body, [55, 15, 15, 15], ["al-counts"])


def heading(text: str) -> nodes.row:
    return row([text], classes=["al-heading"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("ledger", Ledger)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
