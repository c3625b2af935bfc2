"""The ledger of claims, as `claims.toml` has it."""

import tomllib
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

DOCUMENTS = ("A", "B", "C")
KINDS = ("exact", "round", "approx", "holds", "fact")


@dataclass(frozen=True)
class Claim:
    """One row of the ledger. The fields are explained at the top of ``claims.toml``."""

    id: str
    doc: str
    section: str
    kind: str
    text: str
    value: Any = None
    abs: Decimal | None = None
    rel: Decimal | None = None
    sources: tuple[str, ...] = ()
    how: str = ""
    remark: str = ""

    @property
    def where(self) -> str:
        return f"document {self.doc}, section '{self.section}'"


@cache
def ledger() -> dict[str, Claim]:
    """All claims by id, in the documents' order. A malformed row raises ``ValueError``."""
    text = files(__package__).joinpath("claims.toml").read_text(encoding="utf-8")
    # Decimal keeps "2.00" apart from "2.0": the number of decimals is part of a "round" claim.
    rows = [_claim(row) for row in tomllib.loads(text, parse_float=Decimal)["claim"]]
    titles: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.doc not in DOCUMENTS:
            raise ValueError(f"claim {row.id}: unknown document {row.doc!r}, expected {DOCUMENTS}")
        number = (row.doc, row.section.partition(" ")[0])
        if titles.setdefault(number, row.section) != row.section:
            raise ValueError(f"claim {row.id}: section {row.section!r} is {titles[number]!r} above")
        if row.kind not in KINDS:
            raise ValueError(f"claim {row.id}: unknown kind {row.kind!r}, expected one of {KINDS}")
        if (row.kind == "fact") != bool(row.sources):
            raise ValueError(f"claim {row.id}: sources belong to a fact, and each fact needs them")
        if (row.value is None) != (row.kind in ("holds", "fact")):
            raise ValueError(f"claim {row.id}: a value belongs to exact, round and approx, to each")
        if row.kind == "approx" and (row.abs is None) == (row.rel is None):
            raise ValueError(f"claim {row.id}: give exactly one of abs and rel")
    by_id = {row.id: row for row in rows}
    if len(by_id) != len(rows):
        twice = sorted({row.id for row in rows if row is not by_id[row.id]})
        raise ValueError(f"two claims have the same id: {', '.join(twice)}")
    return by_id


def _claim(row: dict[str, Any]) -> Claim:
    names = {field.name: field.default is MISSING for field in fields(Claim)}  # must it be there?
    unknown = [name for name in row if name not in names]
    missing = [name for name, needed in names.items() if needed and name not in row]
    if unknown or missing:
        where = row.get("id", "without an id")
        raise ValueError(f"claim {where}: unknown fields {unknown}, missing fields {missing}")
    return Claim(**{**row, "sources": tuple(row.get("sources", ()))})
