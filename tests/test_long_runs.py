"""The stored runs are those of the configs in benchmarks/, in full."""

import json
from dataclasses import asdict

import chapter_files
import pytest

from attention_lab.corpus import CharTokenizer, load_text
from attention_lab.model import CharModel, ModelConfig
from attention_lab.recipe import read_config
from attention_lab.teaching import long_run

NAMES = ["better", "well-known"]


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_run_is_that_of_its_config(name):
    run, config = long_run(name), chapter_files.ROOT / "benchmarks" / f"{name}.toml"
    fields, recipe, text, every = read_config(config)
    model = ModelConfig(CharTokenizer(text).vocab_size, **fields)
    assert run["model"] == asdict(model)
    assert run["training"] == json.loads(json.dumps(asdict(recipe)))
    assert f"--config benchmarks/{name}.toml" in run["command"]
    assert run["parameters"] == sum(p.numel() for p in CharModel(model).parameters())
    steps = [done for done, _, _ in run["validation"]]
    assert steps == list(range(every, recipe.steps + 1, every))
    assert set(run["sample"]) <= set(load_text())


def test_a_run_that_is_not_stored_is_refused_by_name():
    with pytest.raises(ValueError, match="one of better, well-known, not 'best'"):
        long_run("best")
