"""Training runs too long for a chapter: their histories, as `attention_lab.train` wrote them."""

import json
from importlib import resources
from typing import Any


def long_run(name: str) -> dict[str, Any]:
    """The history of a run: "command", "date", "parameters", "model", "training", "sample", and
    "validation", a list of [steps done, loss in nats, seconds of training].

    Raises ValueError for a name that is not stored. Stored by `make long-runs`.
    """
    folder = resources.files("attention_lab.teaching") / "runs"
    names = sorted(path.name.removesuffix(".json") for path in folder.iterdir())
    if name not in names:
        raise ValueError(f"name must be one of {', '.join(names)}, not {name!r}")
    history: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return history
