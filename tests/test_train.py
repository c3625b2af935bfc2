"""The command: trains, is killed, goes on, writes, spreads over processes, says what is wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import count
from types import SimpleNamespace

import pytest
import torch

from attention_lab import checkpoint, train
from attention_lab.corpus import CharTokenizer, CorpusError
from attention_lab.model import CharModel, generate
from attention_lab.training import Run

TEXT = "the cat sat on the mat, and the dog sat on the cat. " * 40
MODEL = """
[model]
n_embd = 8
n_head = 2
positions = "learned"
dropout = {dropout}
"""
TRAINING = """
[training]
steps = {steps}
batch_size = 4
lr = 0.01
"""


@pytest.fixture
def config(tmp_path):
    (tmp_path / "cats.txt").write_text(TEXT, encoding="utf-8")
    return written(tmp_path)


def written(folder, steps=12, every=4, dropout=0.1, name="config.toml"):
    top = f'text = "cats.txt"\nevery = {every}\n'
    path = folder / name
    path.write_text(top + MODEL.format(dropout=dropout) + TRAINING.format(steps=steps), "utf-8")
    return path


def command(config, out, *more, launcher=()):
    where = [*launcher] or [sys.executable]
    return [*where, "-m", "attention_lab.train", "--config", str(config), "--out", str(out), *more]


def weights(out):
    return checkpoint.load(out / "checkpoint.safetensors").tensors


def test_it_trains_notes_and_writes(config, tmp_path, capsys, monkeypatch):
    out, ticks = tmp_path / "deep" / "out", count(100, 0.25)
    clock = SimpleNamespace(monotonic=lambda: next(ticks), strftime=time.strftime)
    monkeypatch.setattr(train, "time", clock)  # read before and after the steps of each note
    monkeypatch.setattr(sys, "argv", ["train.py", "--config", "a.toml"])
    train.main(["--config", str(config), "--out", str(out), "--sample", "30"])
    sample = capsys.readouterr().out
    assert len(sample) == 31  # and a line's end
    history = json.loads((out / "history.json").read_text(encoding="utf-8"))
    assert [steps for steps, _, _ in history["validation"]] == [4, 8, 12]
    losses = [loss for _, loss, _ in history["validation"]]
    assert losses[-1] < losses[0]
    assert losses == [round(loss, 4) for loss in losses]
    assert [seconds for _, _, seconds in history["validation"]] == [0.2, 0.5, 0.8]
    assert history["training"]["seed"] == 1337
    assert history["sample"] + "\n" == sample
    assert history["command"] == "python -m attention_lab.train --config a.toml"
    found, draw = checkpoint.load(out / "checkpoint.safetensors"), torch.Generator()
    start = torch.zeros(1, 1, dtype=torch.long)
    written = generate(found.model(), start, 30, generator=draw.manual_seed(1337))[0, 1:]
    assert sample == CharTokenizer(TEXT).decode(written) + "\n"
    assert history["model"]["n_embd"] == 8
    assert history["parameters"] == sum(
        t.numel() for name, t in weights(out).items() if name.startswith("model.")
    )
    assert sorted(p.name for p in out.iterdir()) == ["checkpoint.safetensors", "history.json"]


def test_done_is_done(config, tmp_path, capsys):
    arguments = ["--config", str(config), "--out", str(tmp_path / "out"), "--sample", "30"]
    train.main(arguments)
    first, before = capsys.readouterr().out, weights(tmp_path / "out")
    train.main(arguments)
    assert capsys.readouterr().out == first
    assert all(torch.equal(before[k], v) for k, v in weights(tmp_path / "out").items())


def noted(out):
    history = json.loads((out / "history.json").read_text(encoding="utf-8"))
    return [(steps, loss) for steps, loss, _ in history["validation"]]


def test_the_last_step_is_stored_whatever_every_says(tmp_path, capsys):
    (tmp_path / "cats.txt").write_text(TEXT, encoding="utf-8")
    config, out = written(tmp_path, steps=12, every=5), tmp_path / "out"
    train.main(["--config", str(config), "--out", str(out)])
    assert [steps for steps, _ in noted(out)] == [5, 10, 12]
    assert capsys.readouterr().out == "", "no sample was asked for"
    assert checkpoint.load(out / "checkpoint.safetensors").steps_done == 12


def test_a_config_and_a_folder_have_to_be_given(capsys):
    with pytest.raises(SystemExit):
        train.parse([])
    assert "are required: --config, --out" in capsys.readouterr().err


def test_without_its_notes_a_run_goes_on_all_the_same(tmp_path, config):
    out = tmp_path / "out"
    arguments = ["--config", str(config), "--out", str(out), "--sample", "5"]
    train.main(arguments)
    (out / "history.json").unlink()
    train.main(arguments)
    assert noted(out) == []


@pytest.mark.parametrize("fails_at", ["step 6", "note 8"])
def test_stopped_by_an_error_it_goes_on_to_the_same_result(config, tmp_path, monkeypatch, fails_at):
    """In step 6, or with the note of step 8 written and its checkpoint not."""
    kind, _, number = fails_at.partition(" ")

    def step(run, ids):
        if kind == "step" and run.steps_done == int(number):
            raise OSError("out of power")
        return whole_step(run, ids)

    def store(path, run, chars):
        if kind == "note" and run.steps_done == int(number):
            raise OSError("out of power")
        whole_store(path, run, chars)

    whole_step, whole_store = train.Run.step, checkpoint.store
    with monkeypatch.context() as patch:
        patch.setattr(train.Run, "step", step)
        patch.setattr(checkpoint, "store", store)
        with pytest.raises(SystemExit, match="out of power"):
            train.main(["--config", str(config), "--out", str(tmp_path / "stopped")])
    assert checkpoint.load(tmp_path / "stopped" / "checkpoint.safetensors").steps_done == 4
    for out in ("stopped", "whole"):
        train.main(["--config", str(config), "--out", str(tmp_path / out)])
    stopped, whole = weights(tmp_path / "stopped"), weights(tmp_path / "whole")
    assert [name for name in whole if not torch.equal(stopped[name], whole[name])] == []
    assert noted(tmp_path / "stopped") == noted(tmp_path / "whole")


@pytest.mark.parametrize("rank", [0, 1])
def test_one_of_two_processes_takes_its_share_and_notes_the_mean(
    config, tmp_path, monkeypatch, capsys, rank
):
    """The other process is played here: its loss is 3 times this one's."""
    calls, shares = [], []

    class Spy(train.Run):
        def __init__(self, *arguments, share):
            shares.append(share)
            super().__init__(*arguments, share=share)

    def both(loss):
        loss *= 4

    def spread(model, devices):
        calls.append(devices)
        return model

    stand_in = SimpleNamespace(
        init_process_group=calls.append,
        all_reduce=both,
        destroy_process_group=lambda: calls.append("end"),
    )
    monkeypatch.setattr(train, "Run", Spy)
    monkeypatch.setattr(train, "dist", stand_in)
    monkeypatch.setattr(train, "DistributedDataParallel", spread)
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "2")
    out = tmp_path / "out"
    train.main(["--config", str(config), "--out", str(out), "--sample", "5"])
    assert calls == ["gloo", None, "end"]
    assert ("12/12" in capsys.readouterr().err) == (rank == 0), "one bar is enough"
    assert shares == [(rank, 2)]
    assert out.exists() == (rank == 0), "the first process writes, and it alone"
    if rank == 0:
        text = TEXT[: int(0.9 * len(TEXT))]
        ids = CharTokenizer(TEXT).encode(text)
        found = checkpoint.load(out / "checkpoint.safetensors")
        alone = Run(CharModel(found.config), found.recipe, share=(0, 2))
        for noted_loss in found.tensors["losses"]:
            assert noted_loss == 2 * alone.step(ids)


@pytest.mark.slow
def test_killed_it_goes_on_to_the_same_result(tmp_path):
    (tmp_path / "cats.txt").write_text(TEXT * 20, encoding="utf-8")
    config = written(tmp_path, steps=400, every=20)
    path = tmp_path / "killed" / "checkpoint.safetensors"
    process = subprocess.Popen(command(config, tmp_path / "killed"), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 0 < checkpoint.load(path).steps_done < 400, "it was not killed halfway"
    for out in ("killed", "whole"):
        subprocess.run(command(config, tmp_path / out), check=True, stderr=subprocess.DEVNULL)
    killed, whole = weights(tmp_path / "killed"), weights(tmp_path / "whole")
    assert killed.keys() == whole.keys()
    assert [name for name in whole if not torch.equal(killed[name], whole[name])] == []
    assert noted(tmp_path / "killed") == noted(tmp_path / "whole")


@pytest.mark.slow
def test_two_processes_equal_one_with_the_same_batches(tmp_path):
    (tmp_path / "cats.txt").write_text(TEXT, encoding="utf-8")
    config = written(tmp_path, dropout=0.0)
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    for out, launcher in (("one", ()), ("two", torchrun)):
        run = subprocess.run(
            command(config, tmp_path / out, launcher=launcher),
            capture_output=True,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert run.returncode == 0, run.stderr[-2000:]
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    torch.testing.assert_close(two["losses"], one["losses"], rtol=0, atol=1e-5)
    for name in (name for name in one if name.startswith("model.")):
        torch.testing.assert_close(two[name], one[name], rtol=0, atol=1e-4)


def test_a_share_that_does_not_come_out_even_is_refused(config, monkeypatch, tmp_path):
    options = train.parse(["--config", str(config), "--out", str(tmp_path / "out")])
    with pytest.raises(ValueError, match="3 processes can't share batch_size 4 evenly"):
        train.work(options, rank=0, n=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model", "not a TOML file"),
        (TRAINING.replace("0.01", "-1"), "lr must be above 0"),
        ('text = "dogs.txt"\n' + TRAINING, "dogs.txt"),
        ("[model]\nn_head = 5\n" + TRAINING, "n_head must divide n_embd"),
    ],
)
def test_wrong_input_ends_in_one_line_that_names_it(tmp_path, text, message, config):
    path = tmp_path / "wrong.toml"
    if "text" not in text:
        text = 'text = "cats.txt"\n' + text
    path.write_text(text.format(steps=3), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        train.main(["--config", str(path), "--out", str(tmp_path / "out")])
    assert str(ended.value).startswith("attention_lab.train: ")
    assert message in str(ended.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [(("--sample", "-1"), "--sample must be 0 or more, not -1"), (("--device", "cuda"), "no GPU")],
)
def test_an_option_that_can_not_be_met_is_refused_before_the_training(
    config, tmp_path, option, message, capsys, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit):
        train.main(["--config", str(config), "--out", str(tmp_path / "out"), *option])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_can_not_be_made_is_refused_before_the_training(
    config, tmp_path, monkeypatch
):
    monkeypatch.setattr(Run, "step", lambda *_: pytest.fail("it trained"))
    with pytest.raises(SystemExit, match=r"File exists: .*cats\.txt"):
        train.main(["--config", str(config), "--out", str(tmp_path / "cats.txt")])


def test_a_damaged_history_is_named(config, tmp_path):
    arguments = ["--config", str(config), "--out", str(tmp_path)]
    train.main(arguments)
    for damaged in ("{", "{}", "[]"):
        (tmp_path / "history.json").write_text(damaged, encoding="utf-8")
        with pytest.raises(SystemExit, match=r"history\.json: no history of a run .* remove it"):
            train.main(arguments)


def test_another_checkpoint_in_the_folder_is_refused_and_left_alone(config, tmp_path):
    out = tmp_path / "out"
    train.main(["--config", str(config), "--out", str(out)])
    before = (out / "checkpoint.safetensors").read_bytes()
    longer = written(tmp_path, steps=20, name="longer.toml")
    with pytest.raises(SystemExit, match=r"training\.steps is 12 there, 20 asked"):
        train.main(["--config", str(longer), "--out", str(out)])
    assert (out / "checkpoint.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("error", "message"),
    [(KeyboardInterrupt(), "the same command goes on"), (CorpusError("no text"), "no text")],
)
def test_a_stop_and_a_missing_corpus_end_in_words(config, tmp_path, monkeypatch, error, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(train, "work", fail)
    with pytest.raises(SystemExit, match=f"attention_lab.train: .*{message}"):
        train.main(["--config", str(config), "--out", str(tmp_path / "out")])


def test_bfloat16_and_others_call_the_model(config, tmp_path):
    options = train.parse(["--config", str(config), "--out", "x", "--bf16"])
    seen = []

    def model(idx, targets):
        seen.append(torch.is_autocast_enabled("cpu"))
        return idx, targets

    call = train.called(model, options, 1, torch.device("cpu"))
    assert call(1, 2) == (1, 2)
    assert seen == [True]
