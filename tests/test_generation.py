"""A model writes within bounds, as its scores say, and the same again with the same seed."""

import math

import pytest
import torch
from test_model import MODELS, full

from attention_lab.generation import generate
from attention_lab.model import BigramModel, CharModel


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.mark.parametrize("length", [1, 8, 13])
def test_generate_keeps_the_prompt_and_goes_past_the_block_size(model, length):
    prompt = torch.randint(11, (2, length))
    before = prompt.clone()
    written = generate(model, prompt, 30)
    assert written.shape == (2, length + 30)
    assert torch.equal(written[:, :length], before)
    assert torch.equal(prompt, before)
    assert ((written >= 0) & (written < 11)).all()


def test_generate_restores_the_mode_also_after_an_error(model):
    for mode in (True, False):
        model.train(mode)
        generate(model, torch.zeros(1, 1, dtype=torch.long), 2)
        assert model.training is mode
        with pytest.raises(ValueError, match="id 99"):
            generate(model, torch.full((1, 1), 99), 2)
        assert model.training is mode


def test_generate_records_no_gradient_and_repeats_with_a_generator(model):
    prompt, recorded = torch.zeros(3, 1, dtype=torch.long), []
    model.register_forward_pre_hook(lambda *_: recorded.append(torch.is_grad_enabled()))
    first, second = (
        generate(model, prompt, 20, generator=torch.Generator().manual_seed(4)) for _ in range(2)
    )
    assert torch.equal(first, second)
    assert recorded == [False] * 40
    assert not torch.equal(first[0], first[1]), "sequences of a batch must draw for themselves"


def test_temperature_zero_is_argmax_and_a_tiny_one_is_no_nan(model):
    prompt = torch.tensor([[3]])
    greedy = generate(model, prompt, 5, temperature=0)
    assert torch.equal(greedy, generate(model, prompt, 5, temperature=0))
    assert greedy[0, 1] == model(prompt)[0][0, -1].argmax()
    assert torch.equal(generate(model, prompt, 5, temperature=1e-300), greedy)


def test_draws_follow_the_probabilities():
    model, n = BigramModel(4), 40_000
    written = generate(model, torch.full((n, 1), 2), 1, generator=torch.Generator().manual_seed(0))
    found = written[:, 1].bincount(minlength=4) / n
    expected = model.token_embedding_table.weight[2].softmax(-1)
    assert (found - expected).abs().max() < 4 * math.sqrt(0.25 / n)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_temperature_divides_the_scores(temperature):
    model, n = BigramModel(4), 40_000
    start, draw = torch.full((n, 1), 2), torch.Generator().manual_seed(0)
    written = generate(model, start, 1, temperature=temperature, generator=draw)
    expected = (model.token_embedding_table.weight[2] / temperature).softmax(-1)
    assert (written[:, 1].bincount(minlength=4) / n - expected).abs().max() < 0.01


def test_top_k_leaves_only_the_k_likeliest_and_is_clipped(model):
    start = torch.full((2000, 1), 5)
    likeliest = set(model(start[:1])[0][0, -1].topk(2).indices.tolist())
    assert set(generate(model, start, 1, top_k=2)[:, 1].tolist()) == likeliest
    assert generate(model, start, 1, top_k=10_000).shape == (2000, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": -1.0}, "temperature must be 0 or more and finite, not -1.0"),
        ({"top_k": 0}, "top_k must be at least 1, not 0"),
    ],
)
def test_generate_refuses_by_name(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        generate(model, torch.zeros(1, 1, dtype=torch.long), 1, **arguments)


@pytest.mark.parametrize("shape", [(3,), (1, 0), (1, 2, 3)])
def test_generate_refuses_a_prompt_of_the_wrong_shape(model, shape):
    with pytest.raises(ValueError, match=r"\(B, T\) with T at least 1"):
        generate(model, torch.zeros(shape, dtype=torch.long), 1)


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_model_that_diverged_does_not_write(model, bad, temperature):
    with torch.no_grad():
        model.token_embedding_table.weight.fill_(bad)
    with pytest.raises(ValueError, match="not finite: has its training diverged"):
        generate(model, torch.zeros(1, 1, dtype=torch.long), 3, temperature=temperature)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1,), "n_new must be 0 or more"),
        ((1, float("nan")), "temperature must be 0 or more"),
        ((1, float("inf")), "and finite"),
    ],
)
def test_generate_refuses_less_than_nothing_and_nan(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        generate(model, torch.zeros(1, 1, dtype=torch.long), *arguments)


def test_writing_with_the_cache_is_writing_without_it(model, monkeypatch):
    model.double()
    prompt, draws = torch.randint(11, (2, 3)), [torch.Generator().manual_seed(4) for _ in "ab"]
    cached = generate(model, prompt, 20, generator=draws[0])
    monkeypatch.setattr(type(model), "new_cache", lambda self: [], raising=False)
    assert torch.equal(cached, generate(model, prompt, 20, generator=draws[1]))


def test_inside_the_block_only_what_is_new_is_read(monkeypatch):
    model, read = MODELS["blocks"](), []
    forward = model.forward

    def spy(idx, targets=None, cache=None):
        read.append(idx.shape[1])
        return forward(idx, targets, cache)

    monkeypatch.setattr(model, "forward", spy)
    generate(model, torch.zeros(1, 3, dtype=torch.long), 8)
    assert read == [3, 1, 1, 1, 1, 1, 8, 8]  # block_size is 8


def test_past_the_block_only_the_last_ids_count(model):
    model.double()
    long = torch.randint(11, (2, 13), generator=torch.Generator().manual_seed(3))
    last = long[:, -model.block_size :]
    whole, part = (generate(model, idx, 6, temperature=0) for idx in (long, last))
    assert torch.equal(whole[:, -6:], part[:, -6:])


def test_dropout_is_off_while_it_writes():
    model = CharModel(full(dropout=0.9))
    prompt, state = torch.randint(11, (20, 3)), torch.get_rng_state()
    written = generate(model, prompt, 4, temperature=0)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(written, generate(model.eval(), prompt, 4, temperature=0))


@pytest.mark.parametrize(("point", "expected"), [(0.0, 1), (1.0, 2)])
def test_what_has_no_weight_is_not_drawn_even_at_the_edge(monkeypatch, point, expected):
    model = BigramModel(3)
    with torch.no_grad():
        model.token_embedding_table.weight[0] = torch.tensor([-1e9, 1.0, 1.0])
    monkeypatch.setattr(torch, "rand", lambda *shape, **_: torch.full(shape, point).double())
    assert generate(model, torch.zeros(1, 1, dtype=torch.long), 1)[0, 1] == expected


def test_nothing_new_is_the_prompt_and_top_1_the_likeliest(model):
    prompt = torch.tensor([[3, 5]])
    assert torch.equal(generate(model, prompt, 0), prompt)
    greedy = generate(model, prompt, 5, temperature=0)
    assert torch.equal(generate(model, prompt, 5, top_k=1), greedy)


def test_huge_scores_do_not_overflow():
    model = BigramModel(3)
    with torch.no_grad():
        model.token_embedding_table.weight[:] = torch.tensor([1e38, 3e38, -3e38])
    assert generate(model, torch.zeros(1, 1, dtype=torch.long), 2)[0].tolist() == [0, 1, 1]
