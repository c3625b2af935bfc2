"""Train a model for longer than a chapter would: a command that can be killed, and goes on.

    python -m attention_lab.train --config CONFIG.toml --out DIR [--sample N]

The config has two tables: [model] with the fields of ModelConfig (but for vocab_size) and
[training] with those of Recipe, and beside them `text`, the path of a text in UTF-8 (without it:
tiny Shakespeare), and `every`, the steps between two checkpoints. DIR gets checkpoint.safetensors
and history.json. The same command again goes on where the checkpoint stands. Under torchrun, each
process takes its share of every batch.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from tqdm import trange

from attention_lab import checkpoint
from attention_lab.checkpoint import model_config, write_whole
from attention_lab.corpus import CharTokenizer, CorpusError, split
from attention_lab.model import CharModel, ModelConfig, generate
from attention_lab.recipe import read_config
from attention_lab.training import Run, evaluate


def main(arguments: list[str] | None = None) -> None:
    """The command. Wrong input ends it with one line that says what is wrong."""
    options = parse(arguments)
    rank, n = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if n > 1:
        dist.init_process_group("nccl" if options.device == "cuda" else "gloo")
    try:
        work(options, rank, n)
    except (ValueError, OSError, CorpusError) as error:
        sys.exit(f"attention_lab.train: {error}")
    except KeyboardInterrupt:
        sys.exit("attention_lab.train: stopped; the same command goes on from the last checkpoint")
    finally:
        if n > 1:
            dist.destroy_process_group()


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m attention_lab.train", description="Train, go on, and write."
    )
    add = parser.add_argument
    add("--config", type=Path, required=True, help="a TOML file: [model], [training], text, every")
    add("--out", type=Path, required=True, help="folder of checkpoint.safetensors, history.json")
    add("--sample", type=int, default=0, metavar="N", help="then write N characters")
    add("--device", default="cpu", choices=["cpu", "cuda"])
    add("--bf16", action="store_true", help="multiply in bfloat16 (for GPUs that have it)")
    add("--compile", action="store_true", help="let torch.compile fuse the model's steps")
    options = parser.parse_args(arguments)
    if options.sample < 0:
        parser.error(f"--sample must be 0 or more, not {options.sample}")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no GPU here")
    return options


def work(options: argparse.Namespace, rank: int, n: int) -> None:
    """Train from wherever the folder's checkpoint stands, then write the sample asked for."""
    model_fields, recipe, text, every = read_config(options.config)
    if recipe.batch_size % n != 0:
        raise ValueError(f"{n} processes can't share batch_size {recipe.batch_size} evenly")
    tokenizer = CharTokenizer(text)
    chars = "".join(tokenizer.chars)
    train_ids, validation_ids = split(tokenizer.encode(text))
    local = f":{os.environ.get('LOCAL_RANK', 0)}" if options.device == "cuda" else ""
    device = torch.device(options.device + local)
    model = CharModel(ModelConfig(tokenizer.vocab_size, **model_fields)).to(device)
    run = Run(model, recipe, called(model, options, n, device), share=(rank, n))
    path = options.out / "checkpoint.safetensors"
    if path.exists():
        checkpoint.load(path).restore(run, chars)
    if rank == 0:
        options.out.mkdir(parents=True, exist_ok=True)
    log = Log(options.out / "history.json", run)
    model.train()
    first = run.steps_done
    bar = trange(first, recipe.steps, initial=first, total=recipe.steps, disable=rank > 0)
    for step in bar:
        loss = run.step(train_ids)
        if n > 1:  # of the whole batch, not of this process's share
            dist.all_reduce(loss)
            loss /= n
        if rank == 0 and ((step + 1) % every == 0 or step + 1 == recipe.steps):
            bar.set_postfix(validation=f"{log.add(validation_ids.to(device)):.3f}")
            checkpoint.store(path, run, chars)
    if rank == 0 and options.sample:
        start = torch.zeros(1, 1, dtype=torch.long, device=device)  # (1, 1), the first character
        draw = torch.Generator().manual_seed(recipe.seed)
        written = generate(model, start, options.sample, generator=draw)[0, 1:]  # (N,)
        log.sample = tokenizer.decode(written.cpu())
        log.write()
        print(log.sample)


def called(
    model: CharModel, options: argparse.Namespace, n: int, device: torch.device
) -> Callable[..., Any]:
    """What a run calls in place of the model: compiled, over n processes, in bfloat16."""
    call: Callable[..., Any] = torch.compile(model) if options.compile else model
    if n > 1:
        call = DistributedDataParallel(call, [device] if device.type == "cuda" else None)
    if not options.bf16:
        return call

    def in_bfloat16(idx: Tensor, targets: Tensor) -> Any:
        with torch.autocast(device.type, torch.bfloat16):
            return call(idx, targets)

    return in_bfloat16


class Log:
    """history.json: the losses so far, with the command, the seed and the date they come from."""

    def __init__(self, path: Path, run: Run) -> None:
        self.path, self.run = path, run
        self.validation: list[
            tuple[int, float, float]
        ] = []  # steps done, loss, seconds of training
        if run.steps_done and path.exists():
            try:
                found = json.loads(path.read_text(encoding="utf-8"))["validation"]
                self.validation = [(s, loss, t) for s, loss, t in found if s <= run.steps_done]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}: no history of a run ({error!r}): remove it") from None
        self.seconds = self.validation[-1][2] if self.validation else 0.0
        self.sample = ""
        self.start = time.monotonic()

    def add(self, ids: Tensor) -> float:
        """The validation loss on ids (N,) after the steps done, noted and written down with all."""
        self.seconds += time.monotonic() - self.start
        loss = evaluate(self.run.model, ids, batch_size=64)
        self.validation.append((self.run.steps_done, round(loss, 4), round(self.seconds, 1)))
        self.write()
        self.start = time.monotonic()
        return loss

    def write(self) -> None:
        """All that is known of the run, as JSON."""
        history = {
            "command": " ".join(["python -m attention_lab.train", *sys.argv[1:]]),
            "date": time.strftime("%Y-%m-%d"),
            "torch": torch.__version__,
            "parameters": sum(p.numel() for p in self.run.model.parameters()),
            "model": asdict(model_config(self.run)),
            "training": asdict(self.run.recipe),
            "validation": self.validation,
            "sample": self.sample,
        }
        write_whole(self.path, (json.dumps(history, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
