"""The bill: what the (T, T) matrices of attention take in memory, computed and weighed.

T queries/time. ``score_bytes``, ``longest``, ``human_bytes`` and ``growth`` are arithmetic;
``peak_memory`` weighs a function in a process of its own.
"""

import math
import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Sequence

import torch

from attention_lab._scale import give_back_free_memory, weigh

UNITS = ("KB", "MB", "GB", "TB", "PB", "EB")


def score_bytes(T: int, bytes_per_entry: int = 2, *, n_head: int = 1, n_layer: int = 1) -> int:
    """Bytes of the (T, T) matrices of one sequence: one for each head of each layer.

    Source: document B, section 5 (one head, one layer, fp16: two bytes an entry).
    """
    numbers = {"T": T, "bytes_per_entry": bytes_per_entry, "n_head": n_head, "n_layer": n_layer}
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be at least 1, not {number}")
        if number % 1:
            raise ValueError(f"{name} must be a whole number, not {number}")
    T, bytes_per_entry, n_head, n_layer = map(int, numbers.values())  # numpy's would overflow
    return T * T * bytes_per_entry * n_head * n_layer


def longest(budget: float, bytes_per_entry: int = 2, *, n_head: int = 1, n_layer: int = 1) -> int:
    """The largest T whose matrices fit into ``budget`` bytes; 0 when not even T = 1 fits."""
    if budget < 0:
        raise ValueError(f"budget must be at least 0 bytes, not {budget}")
    return math.isqrt(
        int(budget) // score_bytes(1, bytes_per_entry, n_head=n_head, n_layer=n_layer)
    )


def human_bytes(n: float) -> str:
    """n bytes for a reader: one decimal, steps of 1024, as in document B (20e9 are 18.6 GB)."""
    if n < 0:
        raise ValueError(f"a number of bytes is at least 0, not {n}")
    n = round(n)
    if n < 1024:
        return "1 byte" if n == 1 else f"{n} bytes"
    step = 0
    while (tenths := _tenths(n, 1024 ** (step + 1))) >= 10240 and step < len(UNITS) - 1:
        step += 1
    return f"{tenths // 10}.{tenths % 10} {UNITS[step]}"


def _tenths(n: int, unit: int) -> int:
    """n in tenths of the unit, half up, without a rounding on the way."""
    return (20 * n + unit) // (2 * unit)


def growth(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The exponent p of the law cost = c * size**p that fits best.

    It is the slope of the straight line through the points (log size, log cost), by least squares:
    1 where twice the size costs twice as much, 2 where it costs four times as much.
    """
    if len(sizes) != len(costs) or len(set(sizes)) < 2 or min(*sizes, *costs) <= 0:
        raise ValueError(
            "give as many sizes as costs, at least two different sizes, and nothing below or at 0: "
            f"not {list(sizes)} and {list(costs)}"
        )
    x = torch.tensor(sizes, dtype=torch.float64).log()  # (points,)
    y = torch.tensor(costs, dtype=torch.float64).log()  # (points,)
    x = x - x.mean()  # (points,)
    return float((x * y).sum() / (x * x).sum())


def peak_memory(fn: Callable[[], object]) -> int:
    """The most memory, in bytes, that running ``fn()`` took beyond what was in use before.

    ``fn`` runs in a forked copy of this process: it sees what is here, changes nothing here, and
    the copy's memory starts at a known point. Counted is memory that is written to, in RAM, as
    the operating system sees it; code loaded on the way is not. Good to a few tenths of a MB, and
    coarser on macOS. What ``fn`` returns counts while it runs, and is then dropped.

    torch computes on one thread in the copy: its other threads do not survive a fork. An error in
    ``fn`` is raised here, by its own name. A system without fork (Windows) is refused.
    """
    if not callable(fn):
        raise TypeError(f"give a function to run, not its result (a {type(fn).__name__})")
    if "fork" not in multiprocessing.get_all_start_methods():
        raise NotImplementedError(
            f"peak_memory forks, and this system ({sys.platform}) cannot: "
            "run it on Linux or macOS, in WSL or in Colab"
        )
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    give_back_free_memory()  # else fn could fill what lies idle here, unseen
    process = context.Process(target=weigh, args=(fn, sender))
    with receiver, warnings.catch_warnings():
        # Python 3.12 warns of threads that a fork leaves behind.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
        sender.close()  # so that the child's end is the only one, and its death ends recv()
        try:
            outcome = receiver.recv()
        except EOFError:
            process.join()
            code = process.exitcode or 0
            how = f"{signal.Signals(-code).name}: no memory left?" if code < 0 else f"status {code}"
            raise RuntimeError(f"the measuring process died ({how})") from None
        finally:
            process.kill()  # nothing to do once it has answered; an interrupt comes by here too
            process.join()
            process.close()
    if isinstance(outcome, BaseException):
        raise outcome
    return int(outcome)
