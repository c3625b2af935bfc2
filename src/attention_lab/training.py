"""Training and evaluating a character model, on explicit random numbers.

B batch, T time, V vocabulary.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import trange

from attention_lab.corpus import flat, sample_batch
from attention_lab.model import BigramModel, CharModel

SMALL = 100_000  # parameters


@dataclass(frozen=True)
class History:
    """The loss of each training step in nats, first to last."""

    losses: tuple[float, ...]

    def averaged(self, window: int) -> list[float]:
        """Means over ``window`` steps each; what is left at the end is a mean of its own."""
        losses = torch.tensor(self.losses, dtype=torch.float64)  # (steps,)
        return [part.mean().item() for part in torch.split(losses, window)]


@dataclass(frozen=True)
class Recipe:
    """How a model is trained. Raises ValueError for a number that makes no run, by its name."""

    steps: int
    batch_size: int  # chunks a step, those of all processes together
    lr: float  # AdamW's step size at its highest
    warmup: int = 0  # steps in which it grows to that
    final_lr: float = 1.0  # the last step's share of it, reached in a straight line
    beta2: float = 0.999  # how long AdamW remembers the size of gradients
    weight_decay: float = 0.01  # what a matrix loses in each step, times lr
    clip: float = float("inf")  # a gradient longer than this is cut to it
    seed: int = 1337  # of the chunks, and of dropout

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{field.name} must be a number, not {value!r}")
            whole = field.name in ("steps", "batch_size", "warmup", "seed")
            if whole and not isinstance(value, int):
                raise ValueError(f"{field.name} must be a whole number, not {value}")
        for name in ("steps", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.warmup < self.steps:
            raise ValueError(f"warmup must be 0 to {self.steps - 1} steps, not {self.warmup}")
        for name, most in (("lr", float("inf")), ("clip", float("inf")), ("beta2", 1.0)):
            if not 0 < getattr(self, name) <= most:
                raise ValueError(f"{name} must be above 0 (to {most}), not {getattr(self, name)}")
        for name in ("final_lr", "weight_decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)}")

    def lr_at(self, step: int) -> float:
        """The step size in step 0, 1, ... steps - 1."""
        if step < self.warmup:
            return self.lr * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - 1 - self.warmup)  # 0 to 1
        return self.lr * (1 - done * (1 - self.final_lr))


class Run:
    """A training run that can stop after any step and go on later as if it had not.

    ``forward`` is what is called in place of the model (compiled, or spread over processes), and
    ``share`` (i, n) takes every n-th chunk of a batch, from chunk i on, for one of n processes.
    """

    def __init__(
        self,
        model: BigramModel | CharModel,
        recipe: Recipe,
        forward: Callable[..., Any] | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self.model, self.recipe, self.share = model, recipe, share
        self.forward = model if forward is None else forward
        self.steps_done = 0
        # One block for all: a tensor of its own for each step would pin the memory around it.
        self._losses = next(model.parameters()).new_zeros(recipe.steps)  # (steps,)
        self.chunks = torch.Generator().manual_seed(recipe.seed)
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=recipe.lr,
            betas=(0.9, recipe.beta2),
            weight_decay=recipe.weight_decay,
            fused=True,
        )

    @property
    def losses(self) -> Tensor:
        """The loss of each step done so far, (steps done,), in nats."""
        return self._losses[: self.steps_done]

    @losses.setter
    def losses(self, losses: Tensor) -> None:
        self.steps_done = len(losses)
        self._losses[: self.steps_done] = losses

    def step(self, ids: Tensor) -> Tensor:
        """One step on random chunks of ids (N,); returns its loss before it, in nats.

        Raises ValueError when the recipe's steps are done.
        """
        recipe, (first, n), done = self.recipe, self.share, self.steps_done
        if done == recipe.steps:
            raise ValueError(f"all {done} steps of the recipe are done")
        for group in self.optimizer.param_groups:
            group["lr"] = recipe.lr_at(done)
        torch.manual_seed(recipe.seed + 1000 * done + first)  # of dropout
        x, y = sample_batch(ids, recipe.batch_size, self.model.block_size, self.chunks)  # (B, T)
        device = next(self.model.parameters()).device
        x, y = (z[first::n].to(device, non_blocking=True) for z in (x, y))  # (B / n, T)
        _logits, loss = self.forward(x, y)
        self.optimizer.zero_grad()
        loss.backward()
        if recipe.clip < float("inf"):
            nn.utils.clip_grad_norm_(self.model.parameters(), recipe.clip)
        self.optimizer.step()
        self._losses[done] = loss.detach()
        self.steps_done = done + 1
        return self._losses[done]


def train(
    model: BigramModel | CharModel,
    ids: Tensor,
    steps: int,
    batch_size: int,
    lr: float,
    seed: int = 1337,
    progress: bool = True,
) -> History:
    """Train ``model`` in place with AdamW on random chunks of ids (N,), ``block_size`` long.

    ``seed`` fixes the chunks (and dropout). The bar shows only where someone can watch it, so it
    stays out of stored outputs. Raises ``ValueError`` as ``Recipe`` does, and as ``sample_batch``
    does for a text too short. Longer runs that can stop and go on: ``attention_lab.train``.
    """
    run = Run(model, Recipe(steps, batch_size, lr, seed=seed))
    model.train()
    shown = progress and _watched()
    with (
        _threads_for(model),
        torch.random.fork_rng(devices=[]),
        trange(steps, disable=not shown, leave=False) as bar,
    ):
        for step in bar:
            loss = run.step(ids)
            if step % 100 == 0:
                bar.set_postfix(loss=f"{loss.item():.3f}")
    return History(tuple(run.losses.tolist()))


@torch.no_grad()
def evaluate(model: BigramModel | CharModel, ids: Tensor, batch_size: int = 1024) -> float:
    """Mean loss in nats over all of ids (N,), each character after the first predicted once.

    The text is cut in consecutive chunks of ``block_size``; the first character of a chunk is
    predicted from nothing but the one before it. Raises ``ValueError`` for fewer than two ids, ids
    that are not (N,), or a batch size below 1.
    """
    if len(flat(ids)) < 2:
        raise ValueError(f"a text of {len(ids)} characters has nothing to predict: give two")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}")
    was_training, T = model.training, model.block_size
    x, y = ids[:-1], ids[1:]  # (N - 1,)
    whole = len(x) // T * T  # characters in complete chunks; the rest is one short chunk
    rows = [torch.split(part[:whole].view(-1, T), batch_size) for part in (x, y)]
    chunks = [*zip(*rows, strict=True), (x[None, whole:], y[None, whole:])]
    model.eval()
    try:
        with _threads_for(model):
            total = sum(_summed_loss(model, x, y) for x, y in chunks if y.numel())
    finally:
        model.train(was_training)
    return total / (len(ids) - 1)


def _summed_loss(model: BigramModel | CharModel, x: Tensor, y: Tensor) -> float:
    logits, _loss = model(x)  # (B, T, V)
    return F.cross_entropy(logits.double().flatten(0, 1), y.flatten(), reduction="sum").item()


@contextmanager
def _threads_for(model: BigramModel | CharModel) -> Iterator[None]:
    """One thread for a small model: its tensors gain nothing from more, and lose by waiting."""
    threads = torch.get_num_threads()
    if sum(p.numel() for p in model.parameters()) < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _watched() -> bool:
    """Whether a person sees standard error now: a terminal, JupyterLab or Colab."""
    return sys.stderr.isatty() or bool({"JPY_SESSION_NAME", "COLAB_RELEASE_TAG"} & set(os.environ))
