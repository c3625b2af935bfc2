"""Each shape comment of the package against the tensor of its line."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from shape_comments import promises, watch

from attention_lab import (
    attention,
    averaging,
    causality,
    corpus,
    cost,
    generation,
    heads,
    long_context,
    model,
    positions,
    train,
    training,
)

B, T, S, C = 3, 8, 9, 24  # with 4 heads of 6: no two letters mean the same number
FULL = {"n_embd": C, "n_head": 4, "n_kv_head": 2, "feed_forward": True, "norm": "rms"}


def ids(*shape):
    return torch.randint(11, shape)


def qkv(rows=T, keys=S):
    return torch.randn(B, 2, rows, 5), torch.randn(B, 2, keys, 5), torch.randn(B, 2, keys, 6)


def run_attention():
    attention.causal_mask(3, 5)
    attention.attend(*qkv())
    attention.attend(*qkv(), mask=attention.causal_mask(T, S))


def run_averaging():
    for way in (averaging.average_loop, averaging.average_matmul, averaging.average_softmax):
        way(torch.randn(B, T, C))


def run_blocks():
    run_model()


def run_causality():
    causality.past_only(lambda x: x, torch.zeros(B, T, C), torch.ones(B, T, C))


def run_corpus():
    tokenizer = corpus.CharTokenizer("hou, you and thou")
    corpus.sample_batch(tokenizer.encode("hou, you"), 3, 5)


def run_cost():
    cost.growth([1, 2, 4], [1, 4, 16])


def run_generation():
    start = ids(B, 2)
    for made in (model.BigramModel(11), model.CharModel(model.ModelConfig(11, **FULL))):
        for top_k, temperature in ((4, 1.0), (None, 0.0)):
            generation.generate(made, start, 9, temperature, top_k)


def run_heads():
    x, context = torch.randn(B, T, C), torch.randn(B, S, C)
    for causal in (True, False):
        head, multi = heads.Head(C, 5, causal), heads.MultiHead(C, 4, causal, 0.5, 2, rotary=True)
        for given in (None, context):
            head(x, given)
            multi(x, given)
        multi.fused(x)
    cache = heads.KeyValueCache()
    causal_heads = heads.MultiHead(C, 4)
    causal_heads.fused(x, cache)
    causal_heads.fused(x[:, :4], cache)


def run_long_context():
    for causal in (True, False):
        long_context.linear_attention(*qkv(T, T), causal, block=4)
        long_context.streaming_attention(*qkv(T, T), causal, block=4)
    long_context.linear_attention(*qkv(T, 0))


def run_model():
    model.BigramModel(11)(ids(B, T))
    for positions_ in ("learned", "rotary", "none"):
        made = model.CharModel(model.ModelConfig(11, positions=positions_, dropout=0.1, **FULL))
        made(ids(B, T), ids(B, T))
        made.weights(ids(B, T))


def run_positions():
    positions.sinusoidal(T, C)
    positions.rotary(torch.randn(B, T, 10), torch.arange(T))


def run_streaming():
    q, k, v = (x.requires_grad_() for x in qkv(T, T))
    long_context.streaming_attention(q, k, v, block=4).sum().backward()


def run_train():
    with TemporaryDirectory() as folder:
        config = Path(folder, "tiny.toml")
        Path(folder, "tiny.txt").write_text("hou, you and thou\n" * 9, encoding="utf-8")
        training_ = "[training]\nsteps = 2\nbatch_size = 3\nlr = 0.1\n"
        config.write_text('text = "tiny.txt"\n' + training_, encoding="utf-8")
        train.main(["--config", str(config), "--out", folder, "--sample", "4"])


def run_training():
    made = model.CharModel(model.ModelConfig(11))
    training.train(made, ids(50), 3, 4, 0.1).averaged(2)
    training.evaluate(made, ids(50))


RUNS = {name[4:]: run for name, run in globals().items() if name.startswith("run_")}
PACKAGE = Path(attention.__file__).parent


def with_shapes():
    return [path.stem for path in sorted(PACKAGE.glob("*.py")) if promises(path)]


@pytest.mark.parametrize("name", with_shapes())
def test_each_shape_comment_is_the_shape(name):
    path = PACKAGE / f"{name}.py"
    with watch(path) as (tried, wrong):
        RUNS[name]()
    assert wrong == []
    assert tried == promises(path).keys(), "each line with a comment must run"


SOURCE = """
def f(x, T):
    y, z = x.mT, x.sum(0)  # (C, T), (C,)
    w = x.flatten()[
        :2
    ]  # (2,)
    return y  # (C, T)
"""


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("(C, T), (C,)", "(T, C), (C,)", "3: not (T, C) but (5, 2): T is 2"),
        ("(C, T), (C,)", "(C, T), (1, C)", "3: not (1, C) but (5,)"),
        ("(C, T), (C,)", "(C, T), (2C,)", "3: not (2C,) but (5,): 2C is 10"),
        ("]  # (2,)", "]  # (T + 1,)", "4: not (T + 1,) but (2,): T + 1 is 3"),
        ("y  # (C, T)", "y  # (..., C)", "7: not (..., C) but (5, 2): C is 5"),
    ],
)
def test_a_wrong_comment_is_found_and_its_line_named(tmp_path, right, wrong, why):
    path = tmp_path / "source.py"
    for text in (SOURCE, SOURCE.replace(right, wrong)):
        path.write_text(text, encoding="utf-8")
        names: dict[str, object] = {}
        exec(compile(text, str(path), "exec"), names)
        with watch(path) as (tried, found):
            names["f"](torch.zeros(2, 5), 2)
        assert tried == {3, 4, 7}
        assert found == ([] if text == SOURCE else [f"source.py:{why}"])
