"""The bill: exact arithmetic, and a scale that weighs right, fails by name and leaves nothing."""

import contextlib
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab import _scale
from attention_lab.attention import attend
from attention_lab.cost import growth, human_bytes, longest, peak_memory, score_bytes

MB = 2**20
NEAR = 1.5 * MB
QUICK = settings(max_examples=50, deadline=None, derandomize=True)
SMALL = st.integers(1, 200)
forks = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork"
)


# ------------------------------------------------------------------------------- arithmetic


def test_the_documents_table_comes_out():
    lengths = [1_000, 10_000, 100_000]
    assert [score_bytes(T) // 2 for T in lengths] == [10**6, 10**8, 10**10]
    assert [human_bytes(score_bytes(T)) for T in lengths] == ["1.9 MB", "190.7 MB", "18.6 GB"]


@QUICK
@given(T=SMALL, size=st.sampled_from([1, 2, 4, 8]), n_head=SMALL, n_layer=SMALL)
def test_one_square_for_each_head_of_each_layer(T, size, n_head, n_layer):
    matrices = [[T * T * size for _ in range(n_head)] for _ in range(n_layer)]
    assert score_bytes(T, size, n_head=n_head, n_layer=n_layer) == sum(map(sum, matrices))
    assert score_bytes(2 * T, size) == 4 * score_bytes(T, size)


@pytest.mark.parametrize("name", ["T", "bytes_per_entry", "n_head", "n_layer"])
def test_a_number_below_1_is_refused_by_name(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
        score_bytes(**{"T": 5, name: 0})


@pytest.mark.parametrize("name", ["T", "bytes_per_entry", "n_head", "n_layer"])
@pytest.mark.parametrize("value", [2.5, float("nan")])
def test_a_part_of_a_matrix_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a whole number, not {value}"):
        score_bytes(**{"T": 5, name: value})


@pytest.mark.parametrize("number", [np.int32, np.int64, float, int])
def test_large_numbers_of_numpy_and_powers_of_ten_count_in_full(number):
    found = score_bytes(number(10**9), number(8), n_head=number(96))
    assert (found, type(found)) == (768 * 10**18, int)
    assert longest(number(2 * 10**9)) == 31_622


@QUICK
@given(budget=st.integers(0, 10**15), size=SMALL, n_head=SMALL, n_layer=SMALL)
def test_the_longest_sequence_fits_and_one_more_does_not(budget, size, n_head, n_layer):
    T = longest(budget, size, n_head=n_head, n_layer=n_layer)
    assert T == 0 or score_bytes(T, size, n_head=n_head, n_layer=n_layer) <= budget
    assert score_bytes(T + 1, size, n_head=n_head, n_layer=n_layer) > budget


def test_a_budget_below_0_is_refused():
    with pytest.raises(ValueError, match="budget must be at least 0 bytes, not -1"):
        longest(-1)


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (72, "72 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KB"),
        (1536, "1.5 KB"),
        (1280, "1.3 KB"),  # 1.25: half up
        (1279, "1.2 KB"),
        (1010 * 1024, "1010.0 KB"),
        (MB - 1, "1.0 MB"),  # never "1024.0 KB"
        (MB, "1.0 MB"),
        (2**30 - 1, "1.0 GB"),
        (24 * 2**30, "24.0 GB"),
        (2**40, "1.0 TB"),
        (5 * 2**50, "5.0 PB"),
        (2**60, "1.0 EB"),
        (2**70, "1024.0 EB"),
        (1.5 * 2**30, "1.5 GB"),
    ],
)
def test_bytes_for_a_reader(n, words):
    assert human_bytes(n) == words


def test_less_than_no_bytes_are_refused():
    with pytest.raises(ValueError, match="at least 0, not -1"):
        human_bytes(-1)


@QUICK
@given(
    sizes=st.lists(st.floats(1, 1e6), min_size=2, max_size=8, unique_by=lambda s: round(s, 2)),
    power=st.floats(-3, 3),
    factor=st.floats(1e-3, 1e3),
)
def test_the_exponent_of_a_power_law_is_found(sizes, power, factor):
    assert growth(sizes, [factor * size**power for size in sizes]) == pytest.approx(power, abs=1e-4)


def test_the_exponent_is_least_squares_on_logarithms():
    sizes, costs = [1, 2, 4, 9], [3.0, 5.0, 30.0, 41.0]
    assert growth(sizes, costs) == pytest.approx(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


@pytest.mark.parametrize(
    ("sizes", "costs"),
    [([1, 2], [1]), ([2, 2], [1, 4]), ([1], [1]), ([], []), ([0, 1], [1, 1]), ([1, 2], [1, 0])],
)
def test_points_that_fix_no_line_are_refused(sizes, costs):
    with pytest.raises(ValueError, match="at least two different sizes"):
        growth(sizes, costs)


# ---------------------------------------------------------------------------------- the scale


def full(T):
    return torch.ones(T, T, dtype=torch.float16)


@forks
@pytest.mark.parametrize("T", [1_000, 4_000, 10_000])
def test_a_matrix_weighs_what_is_computed(T):
    assert abs(peak_memory(lambda: full(T)) - score_bytes(T)) < NEAR


@forks
def test_nothing_weighs_next_to_nothing():
    assert peak_memory(lambda: None) < MB / 2


@forks
def test_the_peak_counts_and_not_the_end():
    def rise_and_fall():
        full(4_000)

    assert abs(peak_memory(rise_and_fall) - score_bytes(4_000)) < NEAR


@forks
def test_two_at_once_count_twice_and_one_after_the_other_once():
    def together():
        return [full(2_000) for _ in range(5)]

    def in_turn():
        for _ in range(50):
            full(2_000)

    assert abs(peak_memory(together) - 5 * score_bytes(2_000)) < NEAR
    assert abs(peak_memory(in_turn) - score_bytes(2_000)) < NEAR


@forks
def test_attention_holds_scores_and_weights():
    q = torch.randn(2_000, 64)  # (T, hs)
    assert abs(peak_memory(lambda: attend(q, q, q)) - 2 * score_bytes(2_000, 4)) < 3 * MB


@forks
def test_numpy_and_plain_python_count_too():
    assert abs(peak_memory(lambda: np.ones((1_000, 1_000))) - 8e6) < NEAR
    assert abs(peak_memory(lambda: bytearray(10 * MB)) - 10 * MB) < NEAR


@forks
def test_what_is_here_already_does_not_count_and_does_not_hide():
    here = [torch.ones(50 * MB, dtype=torch.uint8)]
    assert peak_memory(lambda: here[0].max()) < NEAR
    here.clear()  # and a freed past, however high, is no credit
    assert abs(peak_memory(lambda: full(3_000)) - score_bytes(3_000)) < NEAR


@forks
def test_free_memory_of_this_process_is_no_credit():
    # Holes below 1 MB that malloc keeps after they are freed: the child could fill them unseen.
    blocks = [torch.ones(100_000, dtype=torch.uint8) for _ in range(300)]
    guards = blocks[::8]  # between the holes
    del blocks
    filled = peak_memory(lambda: [torch.ones(100_000, dtype=torch.uint8) for _ in range(260)])
    assert all(guard.all() for guard in guards)
    assert abs(filled - 260 * 100_000) < NEAR


@forks
def test_a_hole_in_this_process_heap_does_not_hoard():
    out = run(
        """
        import torch
        from attention_lab.cost import peak_memory
        def block(megabytes):
            return torch.ones(megabytes * 2**20, dtype=torch.uint8)
        block(30)  # once freed, malloc takes blocks of this size from its heap
        hole, guards = block(20), [bytearray(100_000) for _ in range(50)]
        del hole
        def fn():
            block(18)  # would fit the hole, and stay there
            block(25)
        print(peak_memory(fn) / 2**20)
        """
    )
    assert abs(float(out) - 25) < 1.5


@forks
def test_memory_asked_for_and_never_written_is_not_counted():
    assert peak_memory(lambda: torch.empty(100 * MB, dtype=torch.uint8)) < NEAR


@forks
def test_this_process_is_left_as_it_was():
    x, threads, seed = torch.zeros(3), torch.get_num_threads(), torch.random.get_rng_state()

    def change():
        x.add_(1)
        torch.set_num_threads(1)
        torch.manual_seed(5)

    peak_memory(change)
    assert x.sum() == 0
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), seed)


class Odd(Exception):
    """Can't be unpickled: its argument is not its message."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


@forks
def test_an_error_comes_back_by_its_own_name():
    def wrong():
        torch.ones(2, 3) @ torch.ones(2, 3)

    with pytest.raises(RuntimeError, match="cannot be multiplied") as caught:
        peak_memory(wrong)
    assert "in wrong" in caught.value.__notes__[0]
    with pytest.raises(KeyError, match="such a key"):
        peak_memory(lambda: {}["such a key"])
    with pytest.raises(SystemExit):
        peak_memory(lambda: sys.exit(3))


@forks
def test_an_error_that_cannot_travel_comes_back_as_words():
    class Local(Exception):
        pass

    def odd():
        raise Odd("this", "that")

    def local():
        raise Local("here")

    with pytest.raises(RuntimeError, match=r"^Odd: this and that"):
        peak_memory(odd)
    with pytest.raises(RuntimeError, match=r"^Local: here"):
        peak_memory(local)


@forks
@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL: no memory left?"),
        (lambda: os._exit(3), "status 3"),
        (lambda: os._exit(0), "status 0"),
    ],
)
def test_a_process_that_dies_is_reported(end, how):
    with pytest.raises(RuntimeError, match=re.escape(f"died ({how})")):
        peak_memory(end)


def children() -> list[str]:
    """Processes whose parent this is, zombies too: their lines of /proc/PID/stat."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may end at this moment
            lines.append(path.read_text(errors="replace"))
    return [line for line in lines if line.rpartition(")")[2].split()[1] == str(os.getpid())]


@forks
@pytest.mark.skipif(sys.platform != "linux", reason="reads the list of processes")
def test_no_process_and_no_open_file_is_left():
    before, files = children(), len(os.listdir("/proc/self/fd"))
    for fn in (lambda: None, lambda: 1 / 0, lambda: os._exit(1)):
        with contextlib.suppress(ZeroDivisionError, RuntimeError):
            peak_memory(fn)
    assert children() == before
    assert len(os.listdir("/proc/self/fd")) == files


def run(code: str, seconds: int = 90) -> str:
    """The output of a program of its own, which has ``seconds`` to end."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


@forks
def test_threads_used_before_the_fork_do_not_hang_it():
    out = run(
        """
        import numpy as np, torch
        from attention_lab.cost import peak_memory
        torch.set_num_threads(2)
        a = torch.randn(600, 600, requires_grad=True)
        (a @ a).softmax(-1).sum().backward()           # torch's pool
        b = np.ones((600, 600)); b @ b                 # numpy's pool
        def fn():
            c = a @ a
            c.exp().softmax(-1).sum().backward()
            torch.randn(300, 300).svd()
            b @ b
            return c
        print(peak_memory(fn) > 600 * 600 * 4, torch.get_num_threads())
        print((a @ a).exp().isfinite().any().item())   # and this process goes on
        """
    )
    assert out.split() == ["True", "2", "True"]


@forks
def test_an_interrupt_ends_the_measuring_process():
    out = run(
        """
        import os, signal, threading, time
        from attention_lab.cost import peak_memory
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            peak_memory(lambda: time.sleep(30))
        except KeyboardInterrupt:
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                print("no child left")
        """,
        seconds=20,
    )
    assert out == "no child left\n"


@forks
def test_what_the_measuring_process_sends_is_the_peak_or_the_error():
    out = run(
        """
        from types import SimpleNamespace
        from attention_lab._scale import weigh
        for fn in (lambda: bytearray(20 * 2**20), lambda: 1 / 0):
            weigh(fn, SimpleNamespace(send=lambda found: print(repr(found))))
        """
    )
    weighed, error = out.splitlines()
    assert abs(int(weighed) - 20 * MB) < NEAR
    assert error == "ZeroDivisionError('division by zero')"


@forks
def test_without_proc_the_peak_still_comes(monkeypatch):
    def no_proc(field):
        raise FileNotFoundError("/proc/self/status")

    monkeypatch.setattr(_scale, "_status", no_proc)
    weighed = peak_memory(lambda: full(4_000))
    assert score_bytes(4_000) - NEAR < weighed < score_bytes(4_000) + 16 * MB  # code counts here


def test_a_result_in_place_of_a_function_is_refused():
    with pytest.raises(TypeError, match=r"give a function to run, not its result \(a Tensor\)"):
        peak_memory(torch.ones(2))


def test_a_system_without_fork_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(NotImplementedError, match="peak_memory forks, and this system"):
        peak_memory(lambda: None)
