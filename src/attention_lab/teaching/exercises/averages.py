"""Checks for the exercises of chapters 03, 04 and 05."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_lab.teaching.exercises._answers import call, must, praise, tensor

INF = float("inf")


def check_update_average(answer: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """Chapter 03: ``update_average(average (C,), new (C,), t) -> (C,)``: row t joins the mean."""
    rows = _double([[2, 7], [6, 4], [6, 5], [1, 0]])  # (T, C)
    for t in (3, 2, 1, 0):
        old = rows[:t].mean(0) if t else torch.zeros(2, dtype=torch.float64)  # (C,)
        new, case = rows[t], f"when row {t} arrives"
        _same(
            tensor(call(answer, old.clone(), new.clone(), t), (2,)),
            rows[: t + 1].mean(0),
            case,
            (old * t + new, "this is the sum: divide by the number of rows"),
            ((old + new) / 2, "the new row counts as much as all rows before it together"),
            ((old * t + new) / max(t, 0.5), "row t is number t + 1: divide by t + 1"),
            (old + new / (t + 1), "the old average must give up a share when a row joins"),
            ((old * (t + 1) + new) / (t + 2), "before row t there were t rows, not t + 1"),
        )
    praise()


def check_same_average(answer: Callable[[str, str], bool]) -> None:
    """Chapter 03: ``same_average(a, b) -> bool``, whatever rows the letters have."""
    for a, b, right, why in (
        ("hou", "uoh", True, "the order does not count"),
        ("hou", "you", False, "h and y are different rows"),
        ("aab", "ab", False, "how often a letter occurs does count"),
        ("ab", "abab", True, "the average forgets the length: half a, half b in both"),
        ("ad", "bc", False, "a row can be anything: don't average letters"),
        ("aabbb", "aaabb", False, "two fifths are not three fifths"),
        ("hou", "hoo", False, "one letter alike is not enough"),
    ):
        found = call(answer, a, b)
        must(isinstance(found, bool), f"give True or False, not {found!r}")
        must(found == right, f"{a!r} and {b!r}: expected {right}, for {why}")
    praise()


def check_window_weights(answer: Callable[[int, int], Tensor]) -> None:
    """Chapter 04: ``window_weights(T, k) -> (T, T)``: the mean of the last k positions."""
    for T, k in ((6, 3), (5, 2), (3, 10)):
        band, case = _band(T, k), f"for T = {T} and k = {k}"  # (T, T)
        found = tensor(call(answer, T, k), (T, T)).double()  # (T, T)
        must(not found.triu(1).any(), f"{case}: it looks at the future, above the diagonal")
        _same(
            found,
            _rows(band),
            case,
            (band, "these are sums: each row must add up to 1"),
            (band / k, "the first rows add up to less than 1, for there are fewer than k yet"),
            (band / band.sum(1), "keepdim=True is missing: this divides the columns"),
            (_rows(_band(T, T)), "this averages the whole past: the window is missing"),
            (_rows(_band(T, k + 1)), "the window is one too long: its own position is one of k"),
            (_rows(_band(T, k - 1)), "the window is one too short"),
        )
    praise()


def check_fading_weights(answer: Callable[[int], Tensor]) -> None:
    """Chapter 04: ``fading_weights(T) -> (T, T)``: each step back counts half as much."""
    T = 5
    back = torch.arange(T)[:, None] - torch.arange(T)  # (T, T) steps back
    raw = (0.5 ** back.double()).tril()  # (T, T)
    found = tensor(call(answer, T), (T, T)).double()  # (T, T)
    must(not found.triu(1).any(), "it looks at the future, above the diagonal")
    _same(
        found,
        _rows(raw),
        f"for T = {T}",
        (raw, "the halves are right, but the rows do not add up to 1"),
        (raw / raw.sum(1), "keepdim=True is missing: this divides the columns"),
        (_rows((2.0 ** back.double()).tril()), "turned round: the oldest must count least"),
        (_rows(_band(T, T)), "these are equal shares"),
    )
    praise()


def check_softmax_rows(answer: Callable[[Tensor], Tensor]) -> None:
    """Chapter 05: ``softmax_rows(scores (..., S)) -> (..., S)`` without torch's own softmax."""
    scores = _double([[2, -1, 3], [0, 0, 0], [1, 5, 2]])  # (T, S), square: it hides a wrong axis
    given = scores.clone()
    found = tensor(call(answer, given), (3, 3))
    must(torch.equal(given, scores), "it changes its input: write scores = scores - ..., not -=")
    e = scores.exp()
    _same(
        found,
        F.softmax(scores, dim=-1),
        "for three rows of three",
        (F.softmax(scores, dim=0), "the columns add up to 1: take the last axis"),
        (e / e.sum(), "the whole matrix adds up to 1: take the last axis"),
        (e / e.sum(-1), "keepdim=True is missing where you divide"),
        (
            F.softmax(scores - scores.max(-1).values, dim=-1),
            "keepdim=True is missing where you subtract the maximum",
        ),
    )
    large = _double([[1000, 999, 998], [-1000, -1001, -999]])  # (T, S)
    found = tensor(call(answer, large.clone()), (2, 3))
    must(not found[0].isnan().any(), "exp(1000) is inf, and inf / inf is nan: subtract the maximum")
    must(not found[1].isnan().any(), "one maximum for all rows: a row far below it becomes 0 / 0")
    _same(found, F.softmax(large, dim=-1), "for scores near 1000 and -1000")
    hidden = _double([[0, -INF, -INF], [1, 1, -INF]])  # (T, S)
    _same(
        tensor(call(answer, hidden.clone()), (2, 3)),
        F.softmax(hidden, dim=-1),
        "for scores of -inf",
    )
    batch = torch.stack([scores, -scores])[:, :2]  # (B, T, S)
    _same(tensor(call(answer, batch), (2, 2, 3)), F.softmax(batch, dim=-1), "for (B, T, S): dim=-1")
    praise()


def check_masked_weights(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Chapter 05: ``masked_weights(scores (T, S), may_look (T, S)) -> (T, S)``, True = may look."""
    scores = _double([[2, -1, 3], [0.5, 1, 4], [1, 2, -2]])  # (T, S)
    may_look = torch.ones(3, 3, dtype=torch.bool).tril()  # (T, S)
    hidden = scores.masked_fill(~may_look, -INF)  # (T, S)
    found = tensor(call(answer, scores.clone(), may_look.clone()), (3, 3))
    _same(
        found,
        F.softmax(hidden, dim=-1),
        "under a triangle",
        (F.softmax(scores, dim=-1), "nothing is hidden"),
        (
            F.softmax(scores, dim=-1) * may_look,
            "masked after the softmax: the hidden scores have taken their share already, so the "
            "rows do not add up to 1",
        ),
        (
            F.softmax(scores * may_look, dim=-1),
            "a score of 0 is not nothing, for exp(0) is 1: fill with -inf",
        ),
        (
            F.softmax(scores.masked_fill(may_look, -INF), dim=-1),
            "the mask is the wrong way round: True = may look",
        ),
        (F.softmax(hidden, dim=0), "softmax over the wrong axis: each row must add up to 1"),
    )
    far = _double([[torch.finfo(torch.float64).min, 5]])  # (T, S)
    found = tensor(call(answer, far, torch.tensor([[True, False]])), (1, 2))
    must(
        not found[0, 1].isfinite() or float(found[0, 1]) == 0,
        "a hidden score outbids a visible one of -1.8e308: fill with -inf, not with a large number",
    )
    high = _double([[0, 0, 1000]])  # (T, S)
    found = tensor(call(answer, high, torch.tensor([[True, True, False]])), (1, 3))
    must(
        torch.equal(found, _double([[0.5, 0.5, 0]])),
        "a hidden score of 1000 still matters: mask the scores before the softmax",
    )
    praise()


def _same(found: Tensor, right: Tensor, case: str, *mistakes: tuple[Tensor, str]) -> None:
    """Accept the right tensor; a known mistake is named, another is shown what was expected."""
    if torch.allclose(found.double(), right, atol=1e-6):
        return
    for wrong, why in mistakes:
        must(not torch.allclose(found.double(), wrong, atol=1e-6, equal_nan=True), f"{case}: {why}")
    must(False, f"{case}: expected {_shown(right)}, found {_shown(found)}")


def _band(T: int, k: int) -> Tensor:
    """Ones at the last k positions up to each position's own, (T, T)."""
    ones = torch.ones(T, T, dtype=torch.float64)
    return ones.tril() - ones.tril(-k)


def _rows(a: Tensor) -> Tensor:
    return a / a.sum(-1, keepdim=True)


def _double(rows: Sequence[Sequence[float]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def _shown(x: Tensor) -> list[object]:
    return x.double().mul(1000).round().div(1000).tolist()
