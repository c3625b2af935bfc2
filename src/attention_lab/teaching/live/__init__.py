"""Figures that compute in the page itself, with no kernel.

Each is a function here, a module NAME.py and a JavaScript file NAME.js beside it.
"""

from attention_lab.teaching.live.attention_by_hand import attention_by_hand
from attention_lab.teaching.live.figure import LiveFigure
from attention_lab.teaching.live.head_size import head_size
from attention_lab.teaching.live.mask_graph import mask_graph
from attention_lab.teaching.live.memory_bill import memory_bill
from attention_lab.teaching.live.next_character import next_character
from attention_lab.teaching.live.softmax_weights import softmax_weights
from attention_lab.teaching.live.trained_model import trained_model

__all__ = [
    "LiveFigure",
    "attention_by_hand",
    "head_size",
    "mask_graph",
    "memory_bill",
    "next_character",
    "softmax_weights",
    "trained_model",
]
