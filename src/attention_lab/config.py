"""What a `CharModel` is made of: one dataclass, from the plain table to today's blocks."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

Positions = Literal["none", "learned", "rotary"]
Norm = Literal["none", "layer", "rms"]


@dataclass(frozen=True)
class ModelConfig:
    """Each chapter's model is one of these, never a new class: one changed field a step.

    Raises ValueError for a field that makes no model, by its name.
    Source: document A, sections 3 and 8, for the first four fields; chapters 17 and 19.
    """

    vocab_size: int  # V
    n_embd: int = 32  # C, the width of a character's representation
    block_size: int = 8  # the most characters that the model reads at once
    positions: Positions = "none"  # what tells position 0 from position 7
    n_head: int = 0  # attention heads side by side; 0: each character by itself
    n_layer: int = 1  # blocks of attention (and feed-forward), one upon the other
    feed_forward: bool = False  # after the heads, a small network for each position by itself
    residual: bool = False  # each part adds to its input, and does not replace it
    norm: Norm = "none"  # what scales the input of each part
    n_kv_head: int | None = None  # heads of keys and values, shared by queries; None: n_head
    embedding_std: float = 1.0  # spread of the starting embeddings
    dropout: float = 0.0  # the share of numbers set to 0 in training
    causal: bool = True  # False: each position sees all (chapter 10 shows what comes of it)
    seed: int = 1337  # of the starting weights

    def __post_init__(self) -> None:
        for name, least in (("vocab_size", 1), ("n_embd", 1), ("block_size", 1), ("n_layer", 1)):
            self._at_least(name, least)
        self._at_least("n_head", 0)
        for name in ("feed_forward", "residual", "causal"):
            self._is_a(name, "True or False", bool)
        self._is_a("seed", "a whole number", int)
        for name in ("embedding_std", "dropout"):
            self._is_a(name, "a number", int, float)
        for name, allowed in (("positions", get_args(Positions)), ("norm", get_args(Norm))):
            if getattr(self, name) not in allowed:
                choice = " or ".join(map(repr, allowed))
                raise ValueError(f"{name} must be {choice}, not {getattr(self, name)!r}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {self.dropout}")
        if not 0 < self.embedding_std < float("inf"):
            raise ValueError(f"embedding_std must be above 0 and finite, not {self.embedding_std}")
        self._check_heads()

    def _is_a(self, name: str, what: str, *kinds: type) -> None:
        value = getattr(self, name)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ValueError(f"{name} must be {what}, not {value!r}")

    def _at_least(self, name: str, least: int) -> None:
        self._is_a(name, "a whole number", int)
        value = getattr(self, name)
        if value < least:
            raise ValueError(f"{name} must be at least {least}, not {value}")

    def _check_heads(self) -> None:
        if self.n_head == 0:
            for field in fields(self):
                name = field.name
                idle = {"n_layer", "feed_forward", "residual", "norm", "n_kv_head"}
                if name in idle and getattr(self, name) != field.default:
                    raise ValueError(f"{name} needs blocks: set n_head to 1 or more")
            if self.positions == "rotary":
                raise ValueError("positions='rotary' turns queries and keys: set n_head")
            return
        if self.n_embd % self.n_head != 0:
            raise ValueError(
                f"n_head must divide n_embd, got n_embd={self.n_embd}, n_head={self.n_head}"
            )
        if self.n_kv_head is not None:
            self._at_least("n_kv_head", 1)
            if self.n_head % self.n_kv_head != 0:
                raise ValueError(
                    f"n_kv_head must divide n_head, got n_head={self.n_head}, "
                    f"n_kv_head={self.n_kv_head}"
                )
        if self.positions == "rotary" and self.n_embd // self.n_head % 2 != 0:
            size = self.n_embd // self.n_head
            raise ValueError(f"rotary positions turn pairs: the head size must be even, not {size}")
