"""Right and wrong answers to the exercises of chapter 19, and what each must be told."""

import torch
from torch.nn import functional as F

from attention_lab.attention import attend
from attention_lab.positions import rotary


def rms_norm(x, scale, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * scale


def no_keepdim(x, scale, eps):
    return (
        x / (x.square().mean(-1) + eps).sqrt().unsqueeze(-2) * scale
        if x.dim() == 3
        else (rms_norm(x, scale, eps))
    )


def rms_in_place(x, scale, eps):
    x /= (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return x * scale


def rotary_halves(x, places):
    pairs = x.unflatten(-1, (2, -1)).transpose(-2, -1).flatten(-2)
    return rotary(pairs, places).unflatten(-1, (-1, 2)).transpose(-2, -1).flatten(-2)


def left_in_pairs(x, places):
    return rotary(x.unflatten(-1, (2, -1)).transpose(-2, -1).flatten(-2), places)


def one_speed(x, places):
    half = x.shape[-1] // 2
    cos, sin = places[:, None].cos(), places[:, None].sin()
    a, b = x[:, :half], x[:, half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def halves_in_place(x, places):
    x += 0 * x + 1
    return x


def read_on(q, k, v, kept_k, kept_v):
    kept_k, kept_v = torch.cat([kept_k, k], dim=-2), torch.cat([kept_v, v], dim=-2)
    return attend(q, kept_k, kept_v)[0], kept_k, kept_v


def not_itself(q, k, v, kept_k, kept_v):
    return attend(q, kept_k, kept_v)[0], *read_on(q, k, v, kept_k, kept_v)[1:]


def top_left(q, k, v, kept_k, kept_v):
    _, keys, values = read_on(q, k, v, kept_k, kept_v)
    return F.scaled_dot_product_attention(q, keys, values, is_causal=True), keys, values


def unscaled(q, k, v, kept_k, kept_v):
    _, keys, values = read_on(q, k, v, kept_k, kept_v)
    return attend(q, keys, values, scale=1.0)[0], keys, values


def newest_first(q, k, v, kept_k, kept_v):
    return read_on(q, kept_k, kept_v, k, v)


def only_itself(q, k, v, kept_k, kept_v):
    return v, *read_on(q, k, v, kept_k, kept_v)[1:]


def values_not_kept(q, k, v, kept_k, kept_v):
    out, keys, _ = read_on(q, k, v, kept_k, kept_v)
    return out, keys, kept_v


def keys_overwritten(q, k, v, kept_k, kept_v):
    kept_k[..., -1:, :] = k
    return read_on(q, k, v, kept_k, kept_v)


def keys_as_values(q, k, v, kept_k, kept_v):
    _, keys, _ = read_on(q, k, v, kept_k, kept_v)
    return attend(q, keys, keys)[0], keys, keys


def doubled(q, k, v, kept_k, kept_v):
    out, keys, values = read_on(q, k, v, kept_k, kept_v)
    return 2 * out, keys, values


RIGHT = {
    "check_rms_norm": rms_norm,
    "check_rotary_halves": rotary_halves,
    "check_read_on": read_on,
}
WRONG = [
    ("check_rms_norm", lambda x, s, e: F.layer_norm(x, s.shape, s, eps=e), "that is LayerNorm"),
    ("check_rms_norm", lambda x, s, e: rms_norm(x, 1.0, e), "the scale is missing"),
    ("check_rms_norm", lambda x, s, e: rms_norm(x, s, 0.0), "eps is missing"),
    (
        "check_rms_norm",
        lambda x, s, e: x / (x.square().mean(-1, keepdim=True).sqrt() + e) * s,
        "eps belongs under the root",
    ),
    (
        "check_rms_norm",
        lambda x, s, e: x / (x.square().mean(-1, keepdim=True) + e) * s,
        "the root is missing",
    ),
    (
        "check_rms_norm",
        lambda x, s, e: x / (x.square().sum(-1, keepdim=True) + e).sqrt() * s,
        "the root of the sum",
    ),
    ("check_rms_norm", lambda x, s, e: x / (x.square().mean() + e).sqrt() * s, "last axis only"),
    (
        "check_rms_norm",
        lambda x, s, e: x / (x.square().mean(-2, keepdim=True) + e).sqrt() * s,
        "last axis only",
    ),
    ("check_rms_norm", no_keepdim, "along the wrong axis"),
    ("check_rms_norm", rms_in_place, "x itself was changed"),
    ("check_rms_norm", lambda x, s, e: 2 * rms_norm(x, s, e), "the first row should be"),
    ("check_rms_norm", lambda x, s, e: x[0], "expected the shape"),
    ("check_rotary_halves", lambda x, places: x, "nothing was turned"),
    ("check_rotary_halves", rotary, "neighbours were turned"),
    ("check_rotary_halves", lambda x, places: rotary_halves(x, -places), "turned backwards"),
    ("check_rotary_halves", one_speed, "each has its own speed"),
    ("check_rotary_halves", left_in_pairs, "put the halves back"),
    (
        "check_rotary_halves",
        lambda x, places: rotary_halves(x, torch.arange(len(x))),
        "turn by the places that are given",
    ),
    (
        "check_rotary_halves",
        lambda x, places: rotary_halves(x, places[:1].expand(len(x))),
        "row t turns by",
    ),
    ("check_rotary_halves", halves_in_place, "x itself was changed"),
    ("check_rotary_halves", lambda x, places: 2 * rotary_halves(x, places), "row 1 should be"),
    ("check_read_on", lambda q, k, v, kept_k, kept_v: q, "return three"),
    ("check_read_on", not_itself, "does not see itself"),
    ("check_read_on", top_left, "the first key only"),
    ("check_read_on", unscaled, "not divided by the root"),
    ("check_read_on", only_itself, "it sees itself only"),
    ("check_read_on", newest_first, "the newest goes to the end"),
    ("check_read_on", values_not_kept, "the values did not grow"),
    ("check_read_on", keys_overwritten, "what was given has changed"),
    ("check_read_on", keys_as_values, "the kept values should be"),
    ("check_read_on", doubled, "the first head should bring home"),
]
