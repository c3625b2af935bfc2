"""Right and wrong answers to the exercises of chapter 10, and what each must be told."""

import torch

from attention_lab.attention import causal_mask


def make_gaps(ids, places, blank):
    each = torch.arange(len(ids))
    x = ids.clone()
    x[each, places] = blank
    return x, ids[each, places]


def in_place(ids, places, blank):
    each = torch.arange(len(ids))
    letters = ids[each, places]
    ids[each, places] = blank
    return ids, letters


def too_late(ids, places, blank):
    x, _ = make_gaps(ids, places, blank)
    return x, x[torch.arange(len(ids)), places]


def all_columns(ids, places, blank):
    x, letters = make_gaps(ids, places, blank)
    x[:, places] = blank
    return x, letters


def one_on(ids, places, blank):
    _, letters = make_gaps(ids, places, blank)
    return make_gaps(ids, (places + 1) % ids.shape[1], blank)[0], letters


def all_else(ids, places, blank):
    x, letters = make_gaps(ids, places, blank)
    return torch.where(x == blank, x, 0), letters


def by_letter(ids, places, blank):
    _, letters = make_gaps(ids, places, blank)
    return ids.masked_fill(ids == letters[:, None], blank), letters


def picture_mask(P, T):
    mask = causal_mask(P + T)
    mask[:P, :P] = True
    return mask


def changed(rows, columns, value):
    """picture_mask with a corner set: rows and columns are slices made from P."""

    def answer(P, T):
        mask = picture_mask(P, T)
        mask[rows(P), columns(P)] = value
        return mask

    return answer


def all_of(P):
    return slice(None)


def words(P):
    return slice(P, None)


def patches(P):
    return slice(P)


RIGHT = {"check_make_gaps": make_gaps, "check_picture_mask": picture_mask}
WRONG = [
    ("check_make_gaps", by_letter, "the gaps are elsewhere"),
    ("check_make_gaps", in_place, "ids itself was changed"),
    ("check_make_gaps", lambda ids, p, b: make_gaps(ids, p, b)[0], "return two tensors"),
    ("check_make_gaps", too_late, "before they are covered"),
    ("check_make_gaps", lambda i, p, b: (make_gaps(i, p, b)[0], i[:, p]), "asked at all places"),
    ("check_make_gaps", lambda i, p, b: (make_gaps(i, p, b)[0], i[:, 0]), "letters should be"),
    ("check_make_gaps", lambda i, p, b: (make_gaps(i, p, b)[0], 1), "a tensor, not int"),
    ("check_make_gaps", lambda i, p, b: (i.clone(), make_gaps(i, p, b)[1]), "still in it"),
    ("check_make_gaps", all_columns, "the gaps of all"),
    ("check_make_gaps", one_on, "gaps are elsewhere"),
    ("check_make_gaps", all_else, "beside the gap"),
    ("check_picture_mask", lambda P, T: picture_mask(P, T).double(), "a mask is boolean"),
    ("check_picture_mask", lambda P, T: ~picture_mask(P, T), "upside down"),
    ("check_picture_mask", lambda P, T: picture_mask(P, T).T, "turned round"),
    ("check_picture_mask", lambda P, T: causal_mask(P + T), "there at once"),
    ("check_picture_mask", lambda P, T: causal_mask(P + T) | True, "nothing is hidden"),
    ("check_picture_mask", changed(all_of, words, False), "not even themselves"),
    ("check_picture_mask", changed(words, patches, False), "don't see the picture"),
    ("check_picture_mask", changed(patches, words, True), "patches see words"),
    ("check_picture_mask", changed(words, words, True), "^words see the words after them"),
    ("check_picture_mask", lambda P, T: picture_mask(T, P), "for P = 3, T = 2 it should be"),
    ("check_picture_mask", lambda P, T: causal_mask(T), r"expected the shape \(5, 5\)"),
]
