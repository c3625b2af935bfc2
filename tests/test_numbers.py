"""Numbers of live figures: to two decimals, half up, and the very large and small by powers."""

import pytest
import torch

from attention_lab.teaching.live.numbers import aligned, check_names, rounded, shown


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0.00"),
        (-0.0, "0.00"),
        (0.125, "0.13"),  # half up, not to even
        (-2.345, "−2.35"),  # a little more than that in binary
        (0.005, "0.01"),  # the first number that is not too small
        (0.004, "4.0e−3"),
        (-3.44e-5, "−3.4e−5"),
        (9.96e-5, "1.0e−4"),
        (9_999.99, "9999.99"),
        (10_000.0, "10000"),
        (9_999_999.0, "9999999"),
        (1e7, "1.0e7"),
        (-1.25e7, "−1.3e7"),
        (9.99e7, "1.0e8"),
        (3e-100, "3e−100"),  # there is little room
        (9.9e-101, "1e−100"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
    ],
)
def test_a_number_is_shown_in_few_characters(x, text):
    assert shown(x) == text


def test_values_are_rounded_to_what_the_fields_show():
    given = torch.tensor([[1.00049, -0.0001]], requires_grad=True)
    found = rounded("q", given)
    assert torch.equal(found, torch.tensor([[1.0, 0.0]], dtype=torch.float64))
    assert not found.signbit().any(), "no -0"
    assert rounded("q", [1e9, -1e9]).tolist() == [1e9, -1e9]


@pytest.mark.parametrize("odd", [1.1e9, float("nan"), float("-inf")])
def test_a_value_that_no_field_takes_is_refused_by_the_arguments_name(odd):
    with pytest.raises(ValueError, match=f"scores must hold numbers from -1e9 to 1e9, got {odd}"):
        rounded("scores", torch.tensor([0.0, odd], dtype=torch.float64))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "names must name the 2 words, got 1"),
        (["a", "a"], "must be different and not blank"),
        (["a", " "], "must be different and not blank"),
    ],
)
def test_names_are_as_many_as_what_they_name_and_all_different(names, message):
    with pytest.raises(ValueError, match=message):
        check_names(names, 2, "words")
    check_names(["a", "b"], 2, "words")


def test_columns_are_aligned_the_first_to_the_left():
    assert aligned([["", "x"], ["ab", "1.00"], ["c", "−10.00"]]) == (
        "         x\nab    1.00\nc   −10.00"
    )
