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
from attention_lab.teaching.exercises.graph import check_packed_mask, check_reach
from attention_lab.teaching.exercises.ladder import check_block, check_count_parameters
from attention_lab.teaching.exercises.long_context import (
    check_layers_needed,
    check_linear_step,
    check_merge,
)
from attention_lab.teaching.exercises.masks import check_make_gaps, check_picture_mask
from attention_lab.teaching.exercises.memory import check_in_view, check_longest_text
from attention_lab.teaching.exercises.modern import (
    check_read_on,
    check_rms_norm,
    check_rotary_halves,
)
from attention_lab.teaching.exercises.scale import (
    check_cosine_scale,
    check_join,
    check_late_mask,
    check_scale_for,
)
from attention_lab.teaching.exercises.sequences import (
    check_other_weights,
    check_patches,
    check_rollout,
    check_through,
)
from attention_lab.teaching.exercises.six_words import check_shuffle_gap, check_steady_factor

__all__ = [
    "AnswerError",
    "check_attend_by_hand",
    "check_block",
    "check_compatibility",
    "check_cosine_scale",
    "check_count_parameters",
    "check_count_triples",
    "check_equal_width",
    "check_fading_weights",
    "check_in_view",
    "check_join",
    "check_late_mask",
    "check_layers_needed",
    "check_linear_step",
    "check_longest_text",
    "check_look_at_o",
    "check_make_gaps",
    "check_masked_weights",
    "check_mended_loss",
    "check_merge",
    "check_other_weights",
    "check_packed_mask",
    "check_patches",
    "check_picture_mask",
    "check_reach",
    "check_read_on",
    "check_rms_norm",
    "check_rollout",
    "check_rotary_halves",
    "check_same_average",
    "check_scale_for",
    "check_scores",
    "check_shrink",
    "check_shuffle_gap",
    "check_softmax_rows",
    "check_steady_factor",
    "check_step_matrix",
    "check_through",
    "check_update_average",
    "check_window_weights",
    "check_with_positions",
]
