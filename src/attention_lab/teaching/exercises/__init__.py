"""Checks for the exercises. A wrong answer is told which mistake it looks like.

Each ``check_NAME(answer)`` prints one line when the answer is right, and raises ``AnswerError``
otherwise. An answer is a function unless its check says otherwise.
"""

from attention_lab.teaching.exercises._answers import AnswerError
from attention_lab.teaching.exercises.attention import (
    check_attend_by_hand,
    check_compatibility,
    check_look_at_o,
    check_scores,
    check_step_matrix,
    check_with_positions,
)
from attention_lab.teaching.exercises.averages import (
    check_fading_weights,
    check_masked_weights,
    check_same_average,
    check_softmax_rows,
    check_update_average,
    check_window_weights,
)
from attention_lab.teaching.exercises.characters import (
    check_count_triples,
    check_equal_width,
    check_mended_loss,
    check_shrink,
)
from attention_lab.teaching.exercises.modern import (
    check_read_on,
    check_rms_norm,
    check_rotary_halves,
)

__all__ = [
    "AnswerError",
    "check_attend_by_hand",
    "check_compatibility",
    "check_count_triples",
    "check_equal_width",
    "check_fading_weights",
    "check_look_at_o",
    "check_masked_weights",
    "check_mended_loss",
    "check_read_on",
    "check_rms_norm",
    "check_rotary_halves",
    "check_same_average",
    "check_scores",
    "check_shrink",
    "check_softmax_rows",
    "check_step_matrix",
    "check_update_average",
    "check_window_weights",
    "check_with_positions",
]
