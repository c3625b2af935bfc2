"""How a process weighs itself: the inside of `cost.peak_memory`."""

import contextlib
import ctypes
import gc
import pickle
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch


def weigh(fn: Callable[[], object], sender: Connection) -> None:
    """In the child: run ``fn``, send the peak or the error."""
    try:
        torch.set_num_threads(1)
        _allocate_plainly()
        peak, code = _peak(), _code()
        result = fn()
        extra = (_peak() - peak) - (_code() - code)
        del result  # kept until here: what is still in use needs no estimate
        sender.send(max(extra, 0))
    except BaseException as error:
        sender.send(_portable(error))


def _portable(error: BaseException) -> BaseException:
    """The error with its traceback as a note; a plain one by its name where it can't travel."""
    where = "in the measuring process:\n" + traceback.format_exc()
    try:
        copy: Any = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(where)
    return copy  # type: ignore[no-any-return]


def _status(field: str) -> int:
    """A field of /proc/self/status, in bytes."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def _peak() -> int:
    """The most memory this process has held so far, in bytes. A forked child starts afresh."""
    with contextlib.suppress(OSError, StopIteration):
        return _status("VmHWM")
    import resource  # Unix only, like fork

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _code() -> int:
    """Bytes of files, mostly libraries, mapped into memory: they come in as code first runs."""
    with contextlib.suppress(OSError, StopIteration):
        return _status("RssFile")
    return 0


def give_back_free_memory() -> None:
    """In the parent, before the fork: what lies idle would be filled unseen."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc
        libc.malloc_trim(0)


def _allocate_plainly() -> None:
    """Have malloc fetch blocks of 1 MB and more from the system, and return them when freed.

    Left alone it hoards what is freed, and it cuts blocks from free memory that it inherited.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):  # glibc from 2.33
        return
    libc.mallopt(-3, 2**20)  # M_MMAP_THRESHOLD
    libc.malloc.restype = ctypes.c_void_p
    libc.mallinfo2.restype = _MallocInfo
    inherited = libc.mallinfo2().arena
    # Use up the large free blocks, until there is none left and malloc has to ask for more.
    while libc.malloc(ctypes.c_size_t(2**20 - 4096)) and libc.mallinfo2().arena == inherited:
        pass


class _MallocInfo(ctypes.Structure):
    """The struct mallinfo2: arena is what malloc holds, apart from blocks of their own."""

    _fields_ = (("arena", ctypes.c_size_t), ("other", ctypes.c_size_t * 9))
