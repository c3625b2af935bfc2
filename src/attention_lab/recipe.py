"""How a model is trained: in how many steps, how large; and the file that says so."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from attention_lab.config import ModelConfig
from attention_lab.corpus import load_text

EVERY = 250  # steps between two checkpoints, unless the file says another number


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


def read_config(path: Path) -> tuple[dict[str, Any], Recipe, str, int]:
    """The fields of ModelConfig but for vocab_size, the recipe, the text, and `every`.

    Raises ValueError for an unknown or missing name, OSError for a file that can't be read.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from None
    tables = {"model": ModelConfig, "training": Recipe}
    allowed = {name: {f.name for f in fields(kind)} for name, kind in tables.items()}
    unknown = [name for name in found if name not in {*tables, "text", "every"}]
    for table in tables:
        if not isinstance(found.setdefault(table, {}), dict):
            raise ValueError(f"{path}: [{table}] must be a table, not {found[table]!r}")
        unknown += [f"{table}.{n}" for n in found[table] if n not in allowed[table]]
    if "vocab_size" in found["model"]:
        unknown.append("model.vocab_size (the text decides it)")
    if unknown:
        raise ValueError(f"{path}: unknown: {', '.join(unknown)}")
    missing = {"steps", "batch_size", "lr"} - found["training"].keys()
    if missing:
        raise ValueError(f"{path}: [training] needs {', '.join(sorted(missing))}")
    recipe, every = Recipe(**found["training"]), found.get("every", EVERY)
    if isinstance(every, bool) or not isinstance(every, int):
        raise ValueError(f"{path}: every must be a whole number, not {every!r}")
    if every < 1:
        raise ValueError(f"{path}: every must be at least 1, not {every}")
    text = read_text(path, found["text"]) if "text" in found else load_text()
    return found["model"], recipe, text, every


def read_text(config: Path, name: Any) -> str:
    """The text that a config names, without the mark that some editors put before it."""
    if not isinstance(name, str):
        raise ValueError(f"{config}: text must be a path in quotes, not {name!r}")
    path = config.parent / name
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text in UTF-8: {error}") from None
