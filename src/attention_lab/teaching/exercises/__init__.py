"""Checks for the exercises. A wrong answer is told which mistake it looks like.

Each ``check_NAME(answer)`` prints one line when the answer is right, and raises ``AnswerError``
otherwise. An answer is a function unless its check says otherwise.
"""

from attention_lab.teaching.exercises._answers import AnswerError
from attention_lab.teaching.exercises.characters import (
    check_count_triples,
    check_equal_width,
    check_mended_loss,
    check_shrink,
)

__all__ = [
    "AnswerError",
    "check_count_triples",
    "check_equal_width",
    "check_mended_loss",
    "check_shrink",
]
