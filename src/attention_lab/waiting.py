"""How much of a calculation must wait: operations that can't begin before another has ended."""

from torch import Tensor
from torch.autograd.graph import Node


def longest_chain(result: Tensor) -> int:
    """The longest chain of operations that led to ``result``, each in need of the one before.

    Counted on the graph that torch records for gradients. However many operations stand side by
    side, a machine with enough workers needs this many turns, one after another.
    Raises ValueError when nothing was recorded: no input requires a gradient.
    Source: document B, section 4, "it runs all positions at once".
    """
    if result.grad_fn is None:
        raise ValueError("no operation was recorded: let an input or a weight require a gradient")
    length: dict[Node, int] = {}  # of the longest chain that ends in this operation
    waiting = [result.grad_fn]  # a list, since nested calls would go too deep
    while waiting:
        operation = waiting[-1]
        before = [node for node, _ in operation.next_functions if node is not None]
        unknown = [node for node in before if node not in length]
        waiting += unknown
        if not unknown:
            leaf = operation.name() == "torch::autograd::AccumulateGrad"  # an input or a weight
            length[operation] = max((length[node] for node in before), default=0) + (not leaf)
            waiting.pop()
    return length[result.grad_fn]
