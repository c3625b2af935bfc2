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
PAPER = "test_waves_equal_the_papers_formula_index_by_index"

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
        ("heads split without transpose", ".reshape(*x.shape[:-1], self.n_head, hs)"
         ".transpose(-3, -2)", ".reshape(*x.shape[:-2], self.n_head, x.shape[-2], hs)", SLICES),
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
