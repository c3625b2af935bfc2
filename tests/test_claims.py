"""The ledger's rules: what agrees, what is refused, and that a printed line can be read back."""

import math
from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import torch

from attention_lab.teaching import claims
from attention_lab.teaching import ledger as the_ledger
from attention_lab.teaching.claims import ClaimError, agrees, check, line, parse
from attention_lab.teaching.ledger import Claim, ledger


def claim(kind: str, value: Any = None, **fields: Any) -> Claim:
    return Claim("some.claim", "A", "1 same row", kind, "a text", value, **fields)


def test_the_ledger_keeps_decimals_and_knows_where_a_claim_stands() -> None:
    weights = ledger()["matmul.normalised"]
    assert weights.value[0] == [Decimal("2.00"), Decimal("7.00")]
    assert str(weights.value[0][0]) == "2.00"
    assert weights.where == "document A, section '5 matmul'"


@pytest.mark.parametrize(
    ("given", "value", "same"),
    [
        (claim("exact", 65), 65, True),
        (claim("exact", 65), 65.0, True),
        (claim("exact", 65), 64, False),
        (claim("exact", 1), True, False),
        (claim("exact", True), True, True),
        (claim("exact", True), 1, False),
        (claim("exact", "Let's he"), "Let's he", True),
        (claim("exact", [Decimal("0.5"), Decimal("-0.25")]), [0.5, -0.25], True),
        (claim("exact", [1, 2]), [1, 2, 3], False),
        (claim("exact", [1, 2]), 1, False),
        (claim("exact", [[1], [2]]), [1, 2], False),
        (claim("round", Decimal("0.18")), 0.177, True),
        (claim("round", Decimal("0.177")), 0.18, False),
        (claim("round", Decimal("0.38")), 0.375, True),  # half up, not to the even digit
        (claim("round", Decimal("-0.38")), -0.375, True),
        (claim("round", Decimal("2.68")), 2.675, True),  # though binary 2.675 is a bit less
        (claim("round", [Decimal("7.39"), 0]), [7.389, 0.004], True),
        (claim("round", [Decimal("7.39"), 0]), [7.389, 0.005], False),
        (claim("round", 33), 33.4, True),
        (claim("round", Decimal("1.00")), 1e30, False),
        (claim("round", Decimal("1.00")), math.nan, False),
        (claim("round", Decimal("1.00")), math.inf, False),
        (claim("round", ["1.9 MB"]), ["1.9 MB"], True),
        (claim("approx", Decimal("2.49"), abs=Decimal("0.03")), 2.515, True),
        (claim("approx", Decimal("2.49"), abs=Decimal("0.03")), 2.53, False),
        (claim("approx", 10, abs=Decimal("7")), 17, True),  # the edge is within
        (claim("approx", [4, 16], rel=Decimal("0.06")), [4.2, 15.2], True),
        (claim("approx", [4, 16], rel=Decimal("0.06")), [4.3, 16], False),
        (claim("approx", Decimal("2.5"), rel=Decimal("0.1")), 2.7, True),
        (claim("approx", Decimal("-2.5"), rel=Decimal("0.1")), -2.8, False),
        (claim("approx", Decimal("2.49"), abs=Decimal("0.03")), math.nan, False),
        (claim("holds"), True, True),
        (claim("holds"), False, False),
        (claim("fact", sources=("one", "two")), ["one", "two"], True),
        (claim("fact", sources=("one", "two")), ["two", "one"], False),
    ],
)
def test_a_value_agrees_by_the_claims_own_rule(given: Claim, value: Any, same: bool) -> None:
    assert agrees(given, value) is same


@pytest.mark.parametrize("value", [1, "yes", [True], 0.5])
def test_a_statement_takes_a_truth_value_and_nothing_else(value: Any) -> None:
    with pytest.raises(TypeError, match=r"some\.claim holds or not"):
        agrees(claim("holds"), value)


@pytest.mark.parametrize("value", [None, 1j, b"65", {65}, object()])
def test_what_is_no_number_text_or_list_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot compare"):
        check("same-row.vocab", value)


@pytest.mark.parametrize(
    "value", [[2, 4, 8], (2, 4, 8), np.array([2, 4, 8]), torch.tensor([2.0, 4.0, 8.0])]
)
def test_lists_arrays_and_tensors_are_the_same_to_it(value: Any) -> None:
    check("direction.row-sums", value)


def test_a_value_that_is_off_raises_with_both_values_and_the_claim() -> None:
    with pytest.raises(ClaimError, match=r"computed 64, expected 65.*65 distinct characters"):
        check("same-row.vocab", 64)
    with pytest.raises(ClaimError, match=r"computed False, expected True \(holds\)"):
        check("constraint.past-only", torch.tensor(False))
    with pytest.raises(ClaimError, match=r"expected the sources \['radford2019'\]"):
        check("split.gpt2-vocab", [])


def test_an_unknown_id_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(KeyError, match=r"no claim 'same-row\.vocabs'.*mean 'same-row\.vocab'"):
        check("same-row.vocabs", 65)


@pytest.mark.parametrize(
    ("given", "value", "printed"),
    [
        (claim("exact", 65), 65, "✓ some.claim · here 65 · document A 65"),
        (claim("exact", "a · b"), "a · b", "✓ some.claim · here 'a · b' · document A 'a · b'"),
        (claim("exact", True), True, "✓ some.claim · here True · document A True"),
        (
            claim("round", [[Decimal("0.18"), 0]]),
            [[0.177, 0.0]],
            "✓ some.claim · here [[0.18, 0.00]] · document A [[0.18, 0.00]]",
        ),
        (
            claim("approx", Decimal("2.49"), abs=Decimal("0.03")),
            2.48765,
            "✓ some.claim · here ≈ 2.488 · document A 2.49 ± 0.03",
        ),
        (
            claim("approx", [4, Decimal("16.0")], rel=Decimal("0.06")),
            [4.01, 15.9],
            "✓ some.claim · here ≈ [4.01, 15.90] · document A [4, 16.0] ± 6%",
        ),
        (
            claim("approx", Decimal("0.0"), abs=Decimal("2E-15")),
            4.4e-16,
            "✓ some.claim · here ≈ 4.4e-16 · document A 0.0 ± 2E-15",
        ),
        (claim("holds"), True, "✓ some.claim · holds"),
        (
            claim("fact", sources=("one", "two")),
            ["one", "two"],
            "✓ some.claim · source one, two",
        ),
    ],
)
def test_the_printed_line_reads_back_as_a_value_that_agrees(
    given: Claim, value: Any, printed: str
) -> None:
    assert line(given, value) == printed
    found = parse(printed)
    assert found is not None
    assert found.id == given.id
    assert agrees(given, found.value)


def test_our_own_results_name_the_ledger_not_a_document() -> None:
    own = Claim("own.claim", "C", "01", "exact", "a text", 8)
    assert line(own, 8) == "✓ own.claim · here 8 · ledger 8"
    assert parse(line(own, 8)) == claims.Checked("own.claim", 8)


@pytest.mark.parametrize(
    ("given", "value", "shown"),
    [
        (claim("exact", [Decimal("0.5"), 2]), [0.5, 2], "[0.5, 2]"),
        (claim("approx", 100, abs=Decimal("20")), 101.5, "102"),
        (claim("approx", 1, abs=Decimal("0.0001")), 1.00005, "1.00005"),
        (claim("approx", 0, abs=Decimal("0.00001")), 0.0000021, "2.1e-06"),
    ],
)
def test_a_value_has_one_digit_more_than_its_tolerance(
    given: Claim, value: Any, shown: str
) -> None:
    assert claims.show(given, value) == shown


def test_a_claim_and_what_was_checked_are_frozen() -> None:
    for kept in (claim("holds"), claims.Checked("some.claim", True)):
        with pytest.raises(FrozenInstanceError):
            setattr(kept, "id", "another")  # noqa: B010


@pytest.mark.parametrize("text", ["", "✓ done", "same-row.vocab · here 65", "✓ a · here 65"])
def test_other_lines_are_not_taken_for_checks(text: str) -> None:
    assert parse(text) is None


def test_check_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    check("same-row.vocab", 65)
    assert capsys.readouterr().out == "✓ same-row.vocab · here 65 · document A 65\n"


ANOTHER = '[[claim]]\nid = "{}"\ndoc = "A"\nsection = ""\ntext = ""\nkind = "holds"\n'


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('kind = "nearly"', "unknown kind 'nearly'"),
        ('kind = "fact"', "each fact needs them"),
        ('kind = "holds"\nsources = ["x"]', "belong to a fact"),
        ('kind = "approx"\nvalue = 1', "exactly one of abs and rel"),
        ('kind = "approx"\nvalue = 1\nabs = 0.1\nrel = 0.1', "exactly one of abs and rel"),
        ('kind = "holds"\n' + ANOTHER.format("y") + ANOTHER.format("x"), "same id: x$"),
        ('knid = "holds"', r"claim x: unknown fields \['knid'\], missing fields \['kind'\]"),
        ('kind = "holds"\nunit = "MB"', r"claim x: unknown fields \['unit'\]"),
        ('kind = "exact"', "claim x: a value belongs to exact, round and approx"),
        ('kind = "holds"\nvalue = true', "claim x: a value belongs to exact, round and approx"),
    ],
)  # fmt: skip
def test_a_malformed_ledger_is_refused(
    row: str, message: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = '[[claim]]\nid = "x"\ndoc = "A"\nsection = ""\ntext = ""\n'
    (tmp_path / "claims.toml").write_text(head + row, encoding="utf-8")
    monkeypatch.setattr(the_ledger, "files", lambda package: tmp_path)
    with pytest.raises(ValueError, match=message):
        ledger.__wrapped__()


@pytest.mark.parametrize(
    ("doc", "section", "message"),
    [("D", "1 x", "unknown document 'D'"), ("A", "6 sofmax", "'6 sofmax' is '6 softmax' above")],
)
def test_a_document_or_section_that_does_not_exist_is_refused(
    doc: str, section: str, message: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(
        f'[[claim]]\nid = "{i}"\ndoc = "{d}"\nsection = "{s}"\ntext = ""\nkind = "holds"\n'
        for i, d, s in (("x", "A", "6 softmax"), ("y", doc, section))
    )
    (tmp_path / "claims.toml").write_text(rows, encoding="utf-8")
    monkeypatch.setattr(the_ledger, "files", lambda package: tmp_path)
    with pytest.raises(ValueError, match=message):
        ledger.__wrapped__()
