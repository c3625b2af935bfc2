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
from attention_lab.teaching.live import (
    attention_by_hand,
    next_character,
    softmax_weights,
    trained_model,
)

__all__ = [
    "attention_by_hand",
    "attention_table",
    "check",
    "exercises",
    "figures",
    "next_character",
    "next_character_bars",
    "number_table",
    "softmax_weights",
    "trained_model",
    "visible",
]
