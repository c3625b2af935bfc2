"""How soon a model of 0.8 million weights comes to a validation loss of 1.88, and what helps.

    python benchmarks/time_to_loss.py

The two recipes beside this file, each trained in full; then the well-known one in the better one's
steps, with each of its changes alone. The seconds are those of one processor core in training,
without evaluation; other programs hardly change them.
"""

import time
from dataclasses import replace
from pathlib import Path

import torch
from _results import store

from attention_lab.corpus import CharTokenizer, load_text, split
from attention_lab.model import CharModel, ModelConfig
from attention_lab.recipe import Recipe, read_config
from attention_lab.training import Run, evaluate

GOAL, EVERY = 1.88, 100
HERE = Path(__file__).parent


def measure(
    config: ModelConfig, recipe: Recipe, ids: torch.Tensor, held_out: torch.Tensor
) -> list[str]:
    """Validation loss at the end, seconds in all, steps and seconds until the goal."""
    run, seconds, reached = Run(CharModel(config), recipe), 0.0, ["not reached"] * 2
    loss = float("inf")
    while run.steps_done < recipe.steps:
        start = time.process_time()
        for _ in range(min(EVERY, recipe.steps - run.steps_done)):
            run.step(ids)
        seconds += time.process_time() - start
        if 2 * run.steps_done < recipe.steps:
            continue  # nothing comes there so soon
        loss = evaluate(run.model, held_out, batch_size=64)
        if loss <= GOAL and reached[0] == "not reached":
            reached = [f"{run.steps_done}", f"{seconds:.0f} s"]
    return [f"{recipe.steps}", f"{loss:.3f}", f"{seconds:.0f} s", *reached]


def main() -> None:
    torch.set_num_threads(1)
    tokenizer = CharTokenizer(load_text())
    ids, held_out = split(tokenizer.encode(load_text()))
    (old_model, old, *_), (new_model, new, *_) = (
        read_config(HERE / name) for name in ("well-known.toml", "better.toml")
    )
    before = ModelConfig(tokenizer.vocab_size, **old_model)
    after = ModelConfig(tokenizer.vocab_size, **new_model)
    half = replace(old, steps=new.steps)
    rows = [
        ("well-known", before, old),
        ("better", after, new),
        ("well-known, in half the steps", before, half),
        ("with the learning rate of better", before, new),
        ("with rotary positions", replace(before, positions=after.positions), half),
        ("with small embeddings", replace(before, embedding_std=after.embedding_std), half),
    ]
    store(
        "time-to-loss",
        ["Recipe", "Steps", "Loss", "Training", f"Steps to {GOAL}", f"Time to {GOAL}"],
        [[name, *measure(config, recipe, ids, held_out)] for name, config, recipe in rows],
    )


if __name__ == "__main__":
    main()
