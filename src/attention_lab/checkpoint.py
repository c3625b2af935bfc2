"""A training run on disk: whole or not at all, and refused by name when it does not fit.

One safetensors file holds the weights, the optimizer's state, that of the random numbers, and the
losses, and as text the config, the recipe, the vocabulary and a checksum. Nothing is unpickled.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from attention_lab.config import ModelConfig
from attention_lab.model import CharModel
from attention_lab.recipe import Recipe
from attention_lab.training import Run

FORMAT = "attention_lab 1"


class CheckpointError(ValueError):
    """A checkpoint can't be used; the message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Checkpoint:
    """What `load` found: ``chars`` is the vocabulary, ``tensors`` the state of the run by name."""

    path: Path
    config: ModelConfig
    recipe: Recipe
    chars: str
    tensors: dict[str, Tensor]

    @property
    def steps_done(self) -> int:
        return len(self.tensors["losses"])

    def model(self) -> CharModel:
        """The model as it was saved. Raises CheckpointError when its weights don't fit."""
        model = CharModel(self.config)
        self._load_weights(model)
        return model

    def restore(self, run: Run, chars: str) -> None:
        """Put a run, newly made, where the saved one stood. Raises CheckpointError by name."""
        if chars != self.chars:
            missing, extra = set(chars) - set(self.chars), set(self.chars) - set(chars)
            raise CheckpointError(
                f"{self.path}: another vocabulary: {len(self.chars)} characters there, "
                f"{len(chars)} in the text; only in the text {''.join(sorted(missing))!r}, "
                f"only there {''.join(sorted(extra))!r}"
            )
        for name, ours, theirs in (
            ("model", asdict(model_config(run)), asdict(self.config)),
            ("training", asdict(run.recipe), asdict(self.recipe)),
        ):
            for field, value in ours.items():
                if value != theirs[field]:
                    raise CheckpointError(
                        f"{self.path}: {name}.{field} is {theirs[field]!r} there, {value!r} asked"
                    )
        self._load_weights(run.model)
        state = run.optimizer.state_dict()
        for name, tensor in self.tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "optimizer":
                index, _, key = rest.partition(".")
                state["state"].setdefault(int(index), {})[key] = tensor
        run.optimizer.load_state_dict(state)
        run.losses = self.tensors["losses"]
        run.chunks.set_state(self.tensors["random.chunks"])

    def _load_weights(self, model: torch.nn.Module) -> None:
        found = {k[6:]: v for k, v in self.tensors.items() if k.startswith("model.")}
        wanted = {k: tuple(v.shape) for k, v in model.state_dict().items()}
        for name in sorted(wanted.keys() | found.keys()):
            shape = tuple(found[name].shape) if name in found else "nothing"
            if shape != wanted.get(name, "nothing"):
                expected = wanted.get(name, "nothing")
                raise CheckpointError(f"{self.path}: {name} is {shape}, the config asks {expected}")
        model.load_state_dict(found)


def store(path: Path, run: Run, chars: str) -> None:
    """Write the run to ``path``: into a file beside it first, which then takes its place."""
    tensors = {f"model.{k}": v for k, v in run.model.state_dict().items()}
    for index, state in run.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": value for key, value in state.items()}
    tensors["losses"] = run.losses
    tensors["random.chunks"] = run.chunks.get_state()
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = {
        "format": FORMAT,
        "config": json.dumps(asdict(model_config(run))),
        "recipe": json.dumps(asdict(run.recipe)),
        "chars": json.dumps(chars),
    }
    text["sha256"] = _digest(tensors, text)
    write_whole(path, save(tensors, text))


def load(path: Path) -> Checkpoint:
    """Read what `store` wrote. Raises CheckpointError for anything else, FileNotFoundError."""
    if path.is_dir():
        raise CheckpointError(f"{path}: a folder, not a checkpoint")
    try:
        with safe_open(path, framework="pt") as file:
            text: dict[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise CheckpointError(f"{path}: damaged, or no safetensors file at all ({error})") from None
    if text.get("format") != FORMAT:
        raise CheckpointError(f"{path}: format {text.get('format')!r}, this reads {FORMAT!r} alone")
    if text.get("sha256") != _digest(tensors, text):
        raise CheckpointError(f"{path}: damaged: its checksum is not that of what it holds")
    config, recipe, chars = (json.loads(text[key]) for key in ("config", "recipe", "chars"))
    return Checkpoint(path, ModelConfig(**config), Recipe(**recipe), chars, tensors)


def write_whole(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that whoever reads finds all of it or what was there before."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def model_config(run: Run) -> ModelConfig:
    """The config of the run's model. Raises TypeError for the bigram, which has none."""
    if not isinstance(run.model, CharModel):
        raise TypeError(f"only a CharModel has a checkpoint, not a {type(run.model).__name__}")
    return run.model.config


def _digest(tensors: dict[str, Tensor], text: dict[str, str]) -> str:
    digest = hashlib.sha256()
    for key in sorted(text.keys() - {"sha256"}):
        digest.update(f"{key}={text[key]}\n".encode())
    for name in sorted(tensors):
        tensor: Any = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
