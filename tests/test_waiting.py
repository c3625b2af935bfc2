"""The longest chain of operations: what waits is counted, what stands side by side is not."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attention_lab.heads import Head
from attention_lab.waiting import longest_chain


def leaf():
    return torch.ones(3, requires_grad=True)


@given(st.integers(1, 50))
def test_each_operation_in_a_row_counts_once(n):
    x = leaf()
    for _ in range(n):
        x = x + 1
    assert longest_chain(x) == n


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_side_by_side_the_longest_branch_counts(lengths):
    x, branches = leaf(), []
    for n in lengths:
        branch = x
        for _ in range(n):
            branch = branch * 2
        branches.append(branch)
    assert longest_chain(torch.stack(branches)) == max(lengths) + 1


def test_a_result_used_twice_is_computed_once():
    x = leaf()
    for _ in range(40):  # 2 ** 40 paths
        x = x + x
    assert longest_chain(x) == 40


def test_ten_thousand_steps_are_not_too_deep():
    x = leaf()
    for _ in range(10_000):
        x = x + 1
    assert longest_chain(x) == 10_000


def test_a_head_waits_no_longer_for_a_longer_text_and_a_recurrent_cell_does():
    head, cell = Head(4, 4), nn.GRUCell(4, 4)

    def steps(T):
        state = torch.zeros(1, 4)  # (B, C)
        for x in torch.randn(T, 1, 4):  # (B, C)
            state = cell(x, state)
        return longest_chain(state)

    assert longest_chain(head(torch.randn(1, 5, 4))[0]) == longest_chain(
        head(torch.randn(1, 50, 4))[0]
    )
    a_step = steps(6) - steps(5)
    assert a_step > 0
    assert steps(50) == steps(5) + 45 * a_step


@pytest.mark.parametrize("nothing", [torch.ones(3), leaf(), leaf().detach() * 2])
def test_without_a_record_there_is_nothing_to_count(nothing):
    with pytest.raises(ValueError, match="no operation was recorded"):
        longest_chain(nothing)
