"""What serves the page: the ledger's check, figures, live figures and exercises.

The core of the package never imports this.
"""

from attention_lab.teaching import exercises, figures
from attention_lab.teaching.claims import check
from attention_lab.teaching.figures import (
    attention_table,
    next_character_bars,
    number_table,
    visible,
)
from attention_lab.teaching.formula_map import formula_map
from attention_lab.teaching.graphs import attention_graph
from attention_lab.teaching.live import (
    attention_by_hand,
    head_size,
    mask_graph,
    memory_bill,
    next_character,
    softmax_weights,
    trained_model,
)
from attention_lab.teaching.long_runs import long_run

__all__ = [
    "attention_by_hand",
    "attention_graph",
    "attention_table",
    "check",
    "exercises",
    "figures",
    "formula_map",
    "head_size",
    "long_run",
    "mask_graph",
    "memory_bill",
    "next_character",
    "next_character_bars",
    "number_table",
    "softmax_weights",
    "trained_model",
    "visible",
]
