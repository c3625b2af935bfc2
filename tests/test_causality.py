"""The test of the hard constraint lets through what obeys it, and nothing else."""

import pytest
import torch

from attention_lab.causality import past_only

X, OTHER = torch.randn(2, 3, 6, 4, generator=torch.Generator().manual_seed(0))  # (B, T, C) twice
BUFFER = torch.empty_like(X)  # (B, T, C)


@pytest.mark.parametrize("scheme", [lambda x: x, lambda x: x.cumsum(1), lambda x: x[:, :1] + 0 * x])
def test_schemes_of_the_past_pass(scheme):
    assert past_only(scheme, X, OTHER)


def test_two_positions_of_one_number_each_are_enough():
    x, other = X[:, :2, 0], OTHER[:, :2, 0]  # (B, T)
    assert past_only(lambda x: x, x, other)
    assert not past_only(lambda x: x.flip(1), x, other)


@pytest.mark.parametrize(
    "scheme",
    [
        lambda x: x.mean(1, keepdim=True).expand_as(x),
        lambda x: x.flip(1).cumsum(1).flip(1),
        lambda x: torch.cat([x[:, 1:], x[:, -1:]], 1),
        lambda x: x + 1e-6 * x[:, -1:],  # a leak of a few bits
        lambda x: BUFFER.copy_(x + x[:, -1:]),  # the same output tensor each time
    ],
)
def test_any_look_at_the_future_fails(scheme):
    assert not past_only(scheme, X, OTHER)


def test_inputs_are_left_alone():
    x, other = X.clone(), OTHER.clone()
    past_only(lambda x: x.cumsum(1), x, other)
    assert torch.equal(x, X)
    assert torch.equal(other, OTHER)


@pytest.mark.parametrize(
    ("x", "other", "message"),
    [
        (X, OTHER[:, :5], r"not \(3, 6, 4\) and \(3, 5, 4\)"),
        (X[:, :1], OTHER[:, :1], "T at least 2"),
        (X, X.clone(), "at position 1: changing nothing proves nothing"),
        (X, torch.cat([OTHER[:, :1], X[:, 1:2], OTHER[:, 2:]], 1), "at position 1: changing"),
        (X, torch.cat([OTHER[:, :5], X[:, 5:]], 1), "at position 5: changing nothing"),
    ],
)
def test_a_test_that_proves_nothing_is_refused(x, other, message):
    with pytest.raises(ValueError, match=message):
        past_only(lambda x: x, x, other)


@pytest.mark.parametrize(
    ("scheme", "found"),
    [
        (lambda x: (x, x), "not tuple"),
        (lambda x: x[:, :1], r"not \(3, 1, 4\)"),  # the first position hears of no future
        (lambda x: torch.zeros(()), r"not \(\)"),
    ],
)
def test_a_scheme_that_answers_for_other_positions_is_refused(scheme, found):
    with pytest.raises(ValueError, match=rf"scheme must return .* = \(3, 6\), {found}"):
        past_only(scheme, X, OTHER)
