"""How long, in what steps and on what random numbers a model is trained: one dataclass."""

from dataclasses import dataclass, fields


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
        for name in ("steps", "batch_size", "warmup", "seed"):
            if not isinstance(getattr(self, name), int):
                raise ValueError(f"{name} must be a whole number, not {getattr(self, name)}")
        for name, fits, wanted in (
            ("steps", self.steps >= 1, "at least 1"),
            ("batch_size", self.batch_size >= 1, "at least 1"),
            ("warmup", 0 <= self.warmup < self.steps, f"0 to {self.steps - 1} steps"),
            ("lr", 0 < self.lr < float("inf"), "above 0 and finite"),
            ("final_lr", 0 <= self.final_lr <= 1, "from 0 to 1"),
            ("beta2", 0 < self.beta2 < 1, "between 0 and 1"),
            ("weight_decay", 0 <= self.weight_decay <= 1, "from 0 to 1"),
            ("clip", self.clip > 0, "above 0"),
        ):
            if not fits:
                raise ValueError(f"{name} must be {wanted}, not {getattr(self, name)}")

    def lr_at(self, step: int) -> float:
        """The step size in step 0, 1, ... steps - 1."""
        if step < self.warmup:
            return self.lr * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - 1 - self.warmup)  # 0 to 1
        return self.lr * (1 - done * (1 - self.final_lr))
