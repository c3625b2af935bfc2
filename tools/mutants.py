"""Mutation run: break the package on purpose, one line at a time, and see a named test fail.

    python tools/mutants.py [MODULE ...] [--all]

Each named mutant is made in a copy of the package. The test it names must pass on the clean copy
and fail on the broken one: exit status 1 when one survives. With --all there follow generic
mutants (comparisons, signs, constants off by one, negations dropped), each against the whole test
file of its module; their score is printed and leaves the exit status alone.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 120
# Refuses to test any copy of the package but the one in the folder named first. Hypothesis need
# not shrink: that a test fails is all that is asked.
RUN_PYTEST = """
import sys, pytest, attention_lab
from hypothesis import Phase, settings
settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate])
settings.load_profile("mutants")
if not attention_lab.__file__.startswith(sys.argv[1]):
    sys.exit(f"the wrong copy was imported: {attention_lab.__file__}")
sys.exit(pytest.main(sys.argv[2:]))
"""


class Mutant(NamedTuple):
    name: str
    module: str
    source: str  # the whole module, broken
    test: str  # the test that must fail, as pytest names it


AVERAGE = "test_row_t_is_the_mean_of_rows_0_to_t"
TORCH = "test_value_and_gradient_equal_torchs_own_attention"
ROWS = "test_rows_sum_to_1_and_are_exactly_0_where_hidden"
ANCHOR = "test_the_triangle_is_anchored_at_the_last_key"
NOTHING = "test_a_query_that_sees_nothing_gets_0_and_finite_gradients"
HEAD = "test_head_equals_torchs_attention_of_its_projections"
SLICES = "test_multihead_is_single_heads_on_slices_joined_and_projected"
DROPOUT = "test_dropout_acts_on_the_weights_and_on_the_projected_output"
PLAN = "test_any_plan_equals_attention_under_its_mask"
TABLE = "test_value_and_gradient_equal_the_way_by_the_table"
ARROW = "test_an_arrow_leaves_who_is_asked_and_its_tip_is_at_who_asks"
WIDTHS = "test_widths_are_the_weights_with_a_hair_as_the_least_and_none_for_zero"
BILL = "test_the_documents_table_comes_out"
BRANCHES = "test_side_by_side_the_longest_branch_counts"
PAPER = "test_waves_equal_the_papers_formula_index_by_index"
CONFIG = "test_a_config_that_makes_no_model_is_refused_by_name"
LAYER = "test_a_block_equals_torchs_encoder_layer_with_the_same_weights"
DRAWS = "test_generate_records_no_gradient_and_repeats_with_a_generator"
RATES = "test_the_learning_rate_climbs_then_falls_in_straight_lines"
MEAN = "test_evaluate_is_the_mean_over_every_character_but_the_first"
BYTE = "test_a_flipped_byte_is_found"
RESTORED = "test_a_run_restored_goes_on_bit_for_bit"
WRONG = "test_wrong_input_ends_in_one_line_that_names_it"
STOPPED = "test_stopped_by_an_error_it_goes_on_to_the_same_result"
SHARE = "test_one_of_two_processes_takes_its_share_and_notes_the_mean"

# fmt: off
# module: (what is broken, text found exactly once, text in its place, the test that must fail)
NAMED: dict[str, list[tuple[str, str, str, str]]] = {
    "averaging": [
        ("loop looks one ahead", ": t + 1]", ": t + 2]", AVERAGE),
        ("loop leaves itself out", ": t + 1]", ": max(t, 1)]", AVERAGE),
        ("loop sums", ".mean(dim=0)", ".sum(dim=0)", AVERAGE),
        ("keepdim left out", "dim=1, keepdim=True", "dim=1", AVERAGE),
        ("columns sum to 1", "sum(dim=1,", "sum(dim=0,", AVERAGE),
        ("rows not divided", "weights / weights.sum(dim=1, keepdim=True)", "weights", AVERAGE),
        ("upper triangle", "weights = torch.tril", "weights = torch.triu", AVERAGE),
        ("triangle off by one", "tril = torch.tril(x.new_ones(T, T))",
         "tril = torch.tril(x.new_ones(T, T), 1)", AVERAGE),
        ("mask polarity flipped", "tril == 0", "tril == 1", AVERAGE),
        ("mask left out", 'scores.masked_fill(tril == 0, float("-inf"))', "scores", AVERAGE),
        ("softmax over the wrong axis", "dim=-1)", "dim=-2)", AVERAGE),
        ("mask after softmax", 'scores = scores.masked_fill(tril == 0, float("-inf"))  # (T, T)\n'
         "    weights = F.softmax(scores, dim=-1)",
         "weights = F.softmax(scores, dim=-1).masked_fill(tril == 0, 0)", AVERAGE),
        ("finite fill", 'float("-inf")', "-1.0", AVERAGE),
        ("input mutated", "weights = weights /", "x *= 1.5; weights = weights /",
         "test_the_input_is_left_as_it_was"),
        ("integers accepted", "not x.is_floating_point()", "False",
         "test_a_dtype_without_fractions_is_refused_by_name"),
        ("any rank accepted", "x.dim() != 3", "False",
         "test_another_rank_is_refused_with_the_expected_shape"),
    ],
    "attention": [
        ("scale dropped", "(q * scale)", "q", TORCH),
        ("scale by hs, not its root", "** -0.5 if", "** -1.0 if",
         "test_scores_are_divided_by_the_root_of_the_head_size"),
        ("scale given is ignored", "** -0.5 if scale is None else scale", "** -0.5",
         "test_the_documents_hand_calculation_comes_out"),
        ("scaled after the product", "(q * scale) @ k.transpose(-2, -1)",
         "q @ k.transpose(-2, -1) * scale",
         "test_float16_scales_before_the_product_and_so_stays_finite"),
        ("q and k swapped", "(q * scale) @ k.transpose(-2, -1)",
         "((k * scale) @ q.transpose(-2, -1)).reshape(*q.shape[:-1], k.shape[-2])", TORCH),
        ("softmax over the wrong axis", "return F.softmax(scores, dim=-1)",
         "return F.softmax(scores, dim=-2)", ROWS),
        ("wrong axis beside a row of nothing", "0.0), dim=-1)", "0.0), dim=-2)", NOTHING),
        ("mask after softmax", 'scores = scores.masked_fill(~mask, float("-inf"))  # (..., T, S)\n'
         "    weights = _softmax(scores, mask)",
         "pass\n    weights = F.softmax(scores, dim=-1)"
         " * (1 if mask is None else mask)", ROWS),
        ("mask left out", 'scores = scores.masked_fill(~mask, float("-inf"))', "pass", ROWS),
        ("mask polarity flipped", "masked_fill(~mask", "masked_fill(mask", TORCH),
        ("mask added as numbers", 'scores.masked_fill(~mask, float("-inf"))', "scores + mask",
         ROWS),
        ("finite fill", 'float("-inf")', "-1e4",
         "test_a_hidden_key_is_not_outbid_by_hopeless_scores"),
        ("naive softmax", "return F.softmax(scores, dim=-1)",
         "return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)",
         "test_huge_scores_do_not_overflow"),
        ("scores divided by their sum", "return F.softmax(scores, dim=-1)",
         "return scores / scores.sum(dim=-1, keepdim=True)", ROWS),
        ("a row of nothing gives NaN", "if mask is None:", "if True:", NOTHING),
        ("a row of nothing is NaN on the way back", "scores.masked_fill(nothing, 0.0)", "scores",
         NOTHING),
        ("a row of nothing averages", "return weights.masked_fill(nothing, 0.0)",
         "return weights", NOTHING),
        ("one query that sees is enough", "mask.any(dim=-1, keepdim=True)", "mask.any()", NOTHING),
        ("keepdim left out", "~mask.any(dim=-1, keepdim=True)", "~mask.any(dim=-1)", NOTHING),
        ("scores returned for weights", "return out, weights", "return out, scores", ROWS),
        ("q mutated", "(q * scale)", "q.mul_(scale)", "test_inputs_are_never_mutated"),
        ("triangle off by one", ".tril(S - T)", ".tril(S - T + 1)", ANCHOR),
        ("triangle without its diagonal", ".tril(S - T)", ".tril(S - T - 1)", ANCHOR),
        ("anchored at the wrong corner", ".tril(S - T)", ".tril()", ANCHOR),
        ("only the future", ".tril(S - T)", ".triu(S - T)",
         "test_changing_the_future_leaves_the_past_bit_for_bit"),
        ("float mask accepted", "_check_mask(mask, scores.shape)", "mask = mask.bool()",
         "test_a_mask_of_another_dtype_is_refused_by_name"),
        ("mask may enlarge", "m not in (1, n)", "1 not in (m, n) and m != n",
         "test_a_mask_may_not_enlarge_the_scores"),
        ("mask of higher rank", "mask.dim() > len(shape) or ", "",
         "test_a_mask_that_does_not_fit_is_refused_with_the_scores_shape"),
    ],
    "cost": [
        ("a line, not a square", "return T * T * bytes", "return T * bytes", BILL),
        ("entries, not bytes", "* bytes_per_entry * n_head", "* n_head", BILL),
        ("heads and layers add up", "* n_head * n_layer", "* (n_head + n_layer - 1)",
         "test_one_square_for_each_head_of_each_layer"),
        ("steps of 1000", ">= 10240", ">= 10000", "test_bytes_for_a_reader"),
        ("1024.0 KB", ">= 10240", "> 10240", "test_bytes_for_a_reader"),
        ("half down", "(20 * n + unit)", "(20 * n + unit - 1)", "test_bytes_for_a_reader"),
        ("the root not taken", "math.isqrt(", "int(",
         "test_the_longest_sequence_fits_and_one_more_does_not"),
        ("a slope through the origin", "x = x - x.mean()", "x = x",
         "test_the_exponent_of_a_power_law_is_found"),
        ("code weighed too", " - (_code() - code)", "",
         "test_attention_holds_scores_and_weights"),
        ("the whole process weighed", "(_peak() - peak)", "_peak()",
         "test_nothing_weighs_next_to_nothing"),
        ("the end, not the peak", '_status("VmHWM")', '_status("VmRSS")',
         "test_the_peak_counts_and_not_the_end"),
        ("idle memory hides fn", "_give_back_free_memory()  #", "pass  #",
         "test_free_memory_of_this_process_is_no_credit"),
        ("malloc hoards", "        _allocate_plainly()\n", "",
         "test_two_at_once_count_twice_and_one_after_the_other_once"),
        ("holes in the heap are filled", " and libc.mallinfo2().arena == inherited", " is None",
         "test_a_hole_in_this_process_heap_does_not_hoard"),
        ("threads lost in the fork are waited for", "torch.set_num_threads(1)", "pass",
         "test_threads_used_before_the_fork_do_not_hang_it"),
        ("errors swallowed", "if isinstance(outcome, BaseException):", "if False:",
         "test_an_error_comes_back_by_its_own_name"),
        ("odd errors sent as they are", "pickle.loads(pickle.dumps(error))", "error",
         "test_an_error_that_cannot_travel_comes_back_as_words"),
        ("the child lives on", "process.kill()  #", "pass  #",
         "test_an_interrupt_ends_the_measuring_process"),
    ],
    "heads": [
        ("no key of its own", "k = self.key(source)  # (B, S, hs)", "k = self.query(source)",
         HEAD),
        ("values are the keys", "v = self.value(source)  # (B, S, hs)", "v = k",
         "test_the_values_matrix_leaves_the_weights_alone"),
        ("q and k swapped", "v = self.value(source)  # (B, S, hs)",
         "q, k, v = k, q, self.value(source)", HEAD),
        ("a causal head sees all", "return attend(q, k, v, mask)", "return attend(q, k, v)", HEAD),
        ("heads merged without transpose", "out.transpose(-3, -2).flatten(-2)",
         "out.reshape(x.shape)", "test_multihead_equals_torchs_module_with_the_same_weights"),
        ("heads split without transpose", ".reshape(*x.shape[:-1], -1, self.head_size)"
         ".transpose(-3, -2)", ".reshape(*x.shape[:-2], -1, x.shape[-2], self.head_size)", SLICES),
        ("scale by model width", "attend(q, k, v, mask)  #",
         "attend(q, k, v, mask, x.shape[-1] ** -0.5)  #",
         "test_the_scale_is_of_the_head_and_not_of_the_model"),
        ("not projected", "self.dropout(self.project(out))", "self.dropout(out)", SLICES),
        ("weights returned after dropout", "out = self.dropout(weights) @ v",
         "weights = self.dropout(weights); out = weights @ v",
         "test_weights_are_returned_before_dropout"),
        ("weights not dropped", "self.dropout(weights) @ v", "weights @ v", DROPOUT),
        ("output not dropped", "self.dropout(self.project(out))", "self.project(out)", DROPOUT),
        ("training drops the mask", "self.dropout(weights) @ v",
         "self.dropout(attend(q, k, v)[1]) @ v", "test_no_path_drops_the_mask"),
        ("context ignored", "return x if context is None else context", "return x",
         "test_head_with_a_context_takes_keys_and_values_from_it_and_masks_nothing"),
        ("width not checked", "given.shape[-1] != n_embd", "False",
         "test_a_wrong_width_is_refused_by_name"),
        ("n_head not checked", "n_head < 1 or n_embd % n_head != 0", "False",
         "test_heads_that_do_not_divide_the_width_are_refused_by_name"),
    ],
    "positions": [
        ("sine and cosine swapped", "[angles.sin(), angles.cos()]",
         "[angles.cos(), angles.sin()]", PAPER),
        ("halves, not interleaved", "waves.flatten(-2)", "waves.mT.flatten(-2)", PAPER),
        ("exponent twice too large", "torch.arange(0, C, 2,", "torch.arange(0, 2 * C, 4,", PAPER),
        ("angles in float32", "dtype=torch.float64", "dtype=torch.float32",
         "test_waves_stay_exact_far_out"),
        ("one channel turned the other way", "even * sin + odd * cos", "odd * cos - even * sin",
         "test_position_0_is_left_alone_and_lengths_are_kept"),
        ("turned backwards", "angles.sin().to(", "-angles.sin().to(",
         "test_each_pair_turns_by_its_angle"),
        ("not turned at all", "return turned.flatten(-2)", "return q_or_k",
         "test_scores_do_depend_on_that_difference"),
        ("odd width accepted", "C < 2 or C % 2 != 0", "False",
         "test_a_width_without_pairs_is_refused"),
    ],
    "long_context": [
        ("a tile half in view taken whole", "keys.stop - 1 <= first", "keys.start <= first",
         TABLE),
        ("window one too wide", "key > own - window", "key >= own - window", TABLE),
        ("window's tiles begin late", "first - window + 1)", "first - window + 2)", TABLE),
        ("tiles of the future computed", "last + 1, block)", "S, block)",
         "test_tiles_in_the_future_are_not_computed"),
        ("anchored at the first key", "first, last = rows.start + S - T, rows.stop - 1 + S - T",
         "first, last = rows.start, rows.stop - 1", TABLE),
        ("firsts, not ends of blocks", "range(block - 1, start, block)",
         "range(0, start, block)", TABLE),
        ("linear: keys read twice", "known = start", "known = 0", TABLE),
        ("linear: no division", "return sums[..., :-1] / total.masked_fill(total == 0, 1.0)",
         "return sums[..., :-1]", TABLE),
        ("linear: the own block in full", "own = own.masked_fill(~mask, 0.0)", "pass", TABLE),
    ],
    "streaming": [
        ("earlier sums not shrunk", "lower = (top - shift).exp()", "lower = 1.0", PLAN),
        ("only the total is shrunk", "mixed * lower + powers", "mixed + powers", PLAN),
        ("no largest score taken off", "shift = higher.masked_fill(higher == float(\"-inf\"), 0.0)",
         "shift = torch.zeros_like(higher)", "test_huge_scores_do_not_overflow"),
        ("nothing in view gives NaN", "total.masked_fill(nothing, 1.0)", "total",
         PLAN),
        ("way back forgets the row", ".sub_(mean)", "", PLAN),
        ("gradient not scaled", ".mul_(weights).mul_(scale)", ".mul_(weights)", PLAN),
        ("halves summed in half precision", "torch.promote_types(x.dtype, torch.float32)",
         "x.dtype", "test_halves_are_added_up_in_float32"),
    ],
    "teaching/graphs": [
        ("arrows turned round", "_arc(s, t, T, w)", "_arc(t, s, T, w)", ARROW),
        ("weight 0 drawn", "if w > 0]", "if w >= 0]", WIDTHS),
        ("all of one width", "WIDEST * weight)", "WIDEST)", WIDTHS),
        ("no hair", "max(HAIR, WIDEST * weight)", "WIDEST * weight", WIDTHS),
        ("both ways above", "-side * sin(angle)", "-sin(angle)",
         "test_arrows_to_the_right_pass_above_and_arrows_to_the_left_below"),
        ("arcs cut off", "+ 0.75 * _bend(d, T))", ")", "test_all_is_drawn_inside_the_picture"),
        ("askers above", "((asked, 0.0), (askers, float(DROP)))",
         "((asked, float(DROP)), (askers, 0.0))",
         "test_two_sequences_stand_in_two_rows_and_every_arrow_goes_down"),
    ],
    "waiting": [
        ("the shortest branch counts", "= max((", "= min((", BRANCHES),
        ("branches added up", "max((length[node] for node in before), default=0)",
         "sum(length[node] for node in before)", BRANCHES),
        ("inputs and weights count", "(not leaf)", "1",
         "test_each_operation_in_a_row_counts_once"),
        ("only the first input followed", "if node is not None]", "if node is not None][:1]",
         BRANCHES),
        ("nothing recorded counts as none", "result.grad_fn is None", "False",
         "test_without_a_record_there_is_nothing_to_count"),
    ],
    "config": [
        ("a truth value is a number", " or (isinstance(value, bool) and bool not in kinds)", "",
         CONFIG),
        ("no least value", "value < least", "False", CONFIG),
        ("everything dropped", "0 <= self.dropout < 1", "0 <= self.dropout <= 1", CONFIG),
        ("embeddings without end", ' < float("inf")', "", CONFIG),
        ("a field without effect passes", "getattr(self, name) != field.default", "False", CONFIG),
        ("rotary positions without heads", 'if self.positions == "rotary":', "if False:", CONFIG),
        ("heads that do not divide", "self.n_embd % self.n_head != 0", "False", CONFIG),
        ("groups that do not divide", "self.n_head % self.n_kv_head != 0", "False", CONFIG),
        ("an odd head turned", "self.n_embd // self.n_head % 2 != 0", "False", CONFIG),
        ("not frozen", "frozen=True", "frozen=False", "test_a_config_is_frozen"),
    ],
    "blocks": [
        ("half as wide", "WIDER = 4", "WIDER = 2", LAYER),
        ("negative numbers stay", ".relu()", "", LAYER),
        ("nothing is added", "x + change if self.residual else change", "change", LAYER),
        ("always added", "x + change if self.residual else change", "x + change",
         "test_without_residual_a_part_replaces_its_input"),
        ("normed after, not before", "self.attention.fused(self.attention_norm(x), cache)",
         "self.attention_norm(self.attention.fused(x, cache))", LAYER),
        ("feed-forward not normed", "self.feed_forward(self.feed_forward_norm(x))",
         "self.feed_forward(x)", LAYER),
        ("weights of another input", "self.attention(self.attention_norm(x))",
         "self.attention(x)", "test_weights_are_those_of_the_normed_input"),
        ("a mask in any case", "config.causal", "True", LAYER),
        ("feed-forward not dropped", "self.dropout(self.narrow(hidden))", "self.narrow(hidden)",
         "test_dropout_reaches_heads_and_feed_forward"),
        ("RMSNorm is LayerNorm", '"rms": nn.RMSNorm', '"rms": nn.LayerNorm',
         "test_norms_scale_each_position_by_itself"),
    ],
    "generation": [
        ("the first ids are read, not the last", "-model.block_size :", ": model.block_size",
         "test_past_the_block_only_the_last_ids_count"),
        ("scores of the first position", "logits[:, -1]", "logits[:, 0]",
         "test_writing_with_the_cache_is_writing_without_it"),
        ("temperature multiplies", ".double() / temperature", ".double() * temperature",
         "test_temperature_divides_the_scores"),
        ("one draw for all", "torch.rand(len(cuts), 1", "torch.rand(1, 1", DRAWS),
        ("the generator is ignored", "generator=generator, dtype", "dtype", DRAWS),
        ("gradients recorded", "@torch.no_grad()\n", "", DRAWS),
        ("the cache used past the block", "cache and idx.shape[1] <= model.block_size", "cache",
         "test_generate_keeps_the_prompt_and_goes_past_the_block_size"),
        ("the cache unused", "cache and idx.shape[1] <= model.block_size", "False",
         "test_inside_the_block_only_what_is_new_is_read"),
        ("dropout stays on", "    model.eval()\n", "", "test_dropout_is_off_while_it_writes"),
        ("the mode is lost", "model.train(was_training)", "pass",
         "test_generate_restores_the_mode_also_after_an_error"),
        ("top_k not clipped", "min(top_k, logits.shape[-1])", "top_k",
         "test_top_k_leaves_only_the_k_likeliest_and_is_clipped"),
        ("what has no weight is drawn", "right=True", "right=False",
         "test_what_has_no_weight_is_not_drawn_even_at_the_edge"),
        ("a diverged model writes", "not highest.isfinite().all()", "False",
         "test_a_model_that_diverged_does_not_write"),
    ],
    "training": [
        ("one seed for all", "torch.Generator().manual_seed(recipe.seed)",
         "torch.Generator().manual_seed(0)",
         "test_the_seed_decides_and_no_global_random_number_is_used"),
        ("the caller's random numbers move", "torch.random.fork_rng(devices=[])",
         "torch.enable_grad()", "test_the_seed_decides_and_no_global_random_number_is_used"),
        ("gradients pile up", "self.optimizer.zero_grad()", "pass",
         "test_a_step_follows_the_gradient_of_its_own_chunks"),
        ("the learning rate stands still", 'group["lr"] = recipe.lr_at(done)', "pass",
         "test_each_step_uses_its_own_learning_rate_and_the_recipes_optimizer"),
        ("warm-up from 0", "(step + 1) / self.warmup", "step / self.warmup", RATES),
        ("the fall not finished", "self.steps - 1 - self.warmup", "self.steps - self.warmup",
         RATES),
        ("gradients not cut", 'recipe.clip < float("inf")', "False",
         "test_a_long_gradient_is_cut"),
        ("each share is the whole", "z[first::n]", "z", "test_shares_of_a_batch_are_the_batch"),
        ("the same dropout in each step", " + 1000 * done", "",
         "test_dropout_repeats_with_the_seed_and_changes_from_step_to_step"),
        ("one more in the mean", "total / (len(ids) - 1)", "total / len(ids)", MEAN),
        ("the short end left out", ", (x[None, whole:], y[None, whole:])]", "]", MEAN),
        ("evaluated with dropout", "    model.eval()\n", "",
         "test_evaluate_is_without_dropout_and_the_same_in_float64"),
        ("threads left at one", "torch.set_num_threads(threads)", "pass",
         "test_a_small_model_trains_on_one_thread_and_leaves_the_setting_alone"),
    ],
    "checkpoint": [
        ("checksum not compared", 'text.get("sha256") != _digest(tensors, text)', "False", BYTE),
        ("weights left out of the checksum", "digest.update(tensor.numpy().tobytes())", "pass",
         BYTE),
        ("any program's file", 'text.get("format") != FORMAT', "False",
         "test_another_programs_file_is_refused"),
        ("the optimizer forgets", "run.optimizer.load_state_dict(state)", "pass", RESTORED),
        ("the losses forgotten", 'run.losses = self.tensors["losses"]', "pass", RESTORED),
        ("the same chunks again", 'run.chunks.set_state(self.tensors["random.chunks"])', "pass",
         RESTORED),
        ("another vocabulary", "chars != self.chars", "False",
         "test_another_vocabulary_is_refused_by_character"),
        ("another recipe", '("training", asdict(run.recipe), asdict(self.recipe)),', "",
         "test_a_run_of_another_kind_is_refused_by_field"),
        ("weights of another shape", 'if shape != wanted.get(name, "nothing"):', "if False:",
         "test_weights_that_the_config_does_not_ask_for_are_refused_by_name"),
        ("half a file left behind", "temporary.unlink(missing_ok=True)", "pass",
         "test_a_write_that_fails_keeps_the_old_file"),
        ("written in place", "temporary = path.with_name(", "temporary = path or path.with_name(",
         "test_a_write_that_fails_keeps_the_old_file"),
    ],
    "train": [
        ("begins anew each time", "if path.exists():", "if False:",
         "test_another_checkpoint_in_the_folder_is_refused_and_left_alone"),
        ("the last steps not stored", " or step + 1 == recipe.steps", "",
         "test_the_last_step_is_stored_whatever_every_says"),
        ("notes of before lost", "if s <= run.steps_done]", "if False]", STOPPED),
        ("notes of what was undone kept", " if s <= run.steps_done]", "]", STOPPED),
        ("unknown names pass", "if unknown:", "if False:", WRONG),
        ("missing names pass", "if missing:", "if False:", WRONG),
        ("a traceback for a wrong value", "except (ValueError, OSError, CorpusError) as",
         "except OSError as", WRONG),
        ("another sample each time", ", generator=draw", "", "test_done_is_done"),
        ("every process the same share", "share=(rank, n)", "share=(0, n)", SHARE),
        ("one process's loss noted", "loss /= n", "pass", SHARE),
        ("every process writes", "if rank == 0 and ((", "if ((", SHARE),
        ("bfloat16 not used", "if not options.bf16:", "if True:",
         "test_bfloat16_and_others_call_the_model"),
    ],
}
# fmt: on


def named(module: str) -> Iterator[Mutant]:
    source = path_of(module).read_text(encoding="utf-8")
    for name, old, new, test in NAMED[module]:
        if source.count(old) != 1:
            sys.exit(f"{module}, {name}: found {source.count(old)} times, not once: {old!r}")
        broken = source.replace(old, new)
        yield Mutant(name, module, broken, f"tests/test_{Path(module).name}.py::{test}")


def generic(module: str) -> Iterator[Mutant]:
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for field, broken in variants(node):
            before, kept = ast.unparse(node), getattr(node, field)
            setattr(node, field, broken)
            name = f"line {getattr(node, 'lineno', 0)}: {before} -> {ast.unparse(node)}"
            yield Mutant(name, module, ast.unparse(tree), f"tests/test_{Path(module).name}.py")
            setattr(node, field, kept)


OTHER: dict[type[ast.AST], Callable[[], ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


def variants(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The generic ways to break one node: (field, its new value)."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield "ops", [*ops[:i], OTHER[type(op)](), *ops[i + 1 :]]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            yield "op", OTHER[type(op)]()
        case ast.UnaryOp(op=ast.Not() | ast.Invert() as op, operand=operand):
            yield "operand", ast.UnaryOp(op, operand)  # not not x: the negation is gone
        case ast.Constant(value=bool() as value):
            yield "value", not value
        case ast.Constant(value=int() | float() as value):
            yield "value", value + 1  # and so -1 becomes -2


def path_of(module: str) -> Path:
    return ROOT / "src" / "attention_lab" / f"{module}.py"


def failures(tests: list[str], mutant: Mutant | None = None) -> list[str]:
    """Run the tests on a copy of the package, broken or not, and return those that failed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / "attention_lab"
        shutil.copytree(ROOT / "src" / "attention_lab", copy)
        if mutant is not None:
            (copy / f"{mutant.module}.py").write_text(mutant.source, encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": str(copy.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-P", "-c", RUN_PYTEST, str(copy)]
        options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider", "--tb=no"]
        try:
            run = subprocess.run(
                [*command, *options, *tests],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                encoding="utf-8",
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return [f"a time limit of {TIMEOUT_S} s"]
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    if bool(failed) != bool(run.returncode):
        sys.exit(f"pytest ended with {run.returncode} on {tests}\n{run.stdout}{run.stderr}")
    return failed


def survivors(mutants: list[Mutant]) -> int:
    """Try each mutant, print its fate, and return how many survived."""

    def killer(mutant: Mutant) -> str | None:
        failed = failures([mutant.test], mutant)
        return next((test for test in failed if test.startswith(mutant.test)), None)

    alive = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, test in zip(mutants, pool.map(killer, mutants), strict=True):
            fate = "SURVIVED" if test is None else f"killed by {test.partition('::')[2] or test}"
            alive += test is None
            print(f"{mutant.module}: {mutant.name}: {fate}", flush=True)
    return alive


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the package; see a named test fail.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(NAMED))
    parser.add_argument("--all", action="store_true", help="generic mutants too")
    options = parser.parse_args()
    if unknown := set(options.modules) - set(NAMED):
        parser.error(f"no mutants for {', '.join(sorted(unknown))}; there are {', '.join(NAMED)}")
    modules, start = options.modules or list(NAMED), time.monotonic()

    mutants = [mutant for module in modules for mutant in named(module)]
    if broken := failures(sorted({mutant.test for mutant in mutants})):
        sys.exit(f"the clean copy must pass, but failed {', '.join(broken)}")
    alive = survivors(mutants)
    print(f"named: {len(mutants) - alive} of {len(mutants)} killed", flush=True)
    if options.all:
        mutants = [mutant for module in modules for mutant in generic(module)]
        print(f"generic: {len(mutants) - survivors(mutants)} of {len(mutants)} killed")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
