"""Right and wrong answers to the exercises of chapter 17, and what each must be told."""


def block(x, attention, feed_forward, norm):
    x = x + attention(norm(x))
    return x + feed_forward(norm(x))


def in_place(x, attention, feed_forward, norm):
    x += attention(norm(x))
    x += feed_forward(norm(x))
    return x


def replaces(x, attention, feed_forward, norm):
    return feed_forward(norm(attention(norm(x))))


def attention_replaces(x, attention, feed_forward, norm):
    x = attention(norm(x))
    return x + feed_forward(norm(x))


def feed_forward_replaces(x, attention, feed_forward, norm):
    return feed_forward(norm(x + attention(norm(x))))


def parallel(x, attention, feed_forward, norm):
    return x + attention(norm(x)) + feed_forward(norm(x))


def norm_after(x, attention, feed_forward, norm):
    x = norm(x + attention(x))
    return norm(x + feed_forward(x))


def norm_scales_the_stream(x, attention, feed_forward, norm):
    x = norm(x)
    x = x + attention(x)
    return norm(x) + feed_forward(norm(x))


def added_to_the_norm(x, attention, feed_forward, norm):
    x = norm(x) + attention(norm(x))
    return x + feed_forward(norm(x))


def count(V, C, T, n, bias=1, rows=1, last=1, proj=1, ff=5, norms=4, project=1, exits=1, qkv=0):
    layer = 11 * C * C + project * C * C + (proj + ff + norms + 3 * qkv) * C
    return V * C + exits * V * C + bias * V + rows * T * C + n * layer + last * 2 * C


def without(**parts):
    return lambda V, C, T, n: count(V, C, T, n, **parts)


RIGHT = {"check_block": block, "check_count_parameters": count}
WRONG = [
    ("check_block", in_place, "x itself was changed"),
    ("check_block", replaces, "each part replaces its input"),
    ("check_block", attention_replaces, "attention replaces x"),
    ("check_block", feed_forward_replaces, "feed_forward replaces its input"),
    ("check_block", lambda x, a, f, n: x + a(n(x)), "feed_forward is missing"),
    ("check_block", parallel, "both parts read the same x"),
    ("check_block", lambda x, a, f, n: block(x, f, a, n), "attention comes first"),
    ("check_block", lambda x, a, f, n: block(x, a, f, lambda y: y), "norm is not used"),
    ("check_block", lambda x, a, f, n: (y := x + a(n(x))) + f(y), "norm it before"),
    ("check_block", norm_after, "before each part, not after"),
    ("check_block", added_to_the_norm, r"added to norm\(x\)"),
    ("check_block", norm_scales_the_stream, r"expected x \+ attention\(norm\(x\)\)"),
    ("check_block", lambda x, a, f, n: None, "returns nothing yet"),
    ("check_block", lambda x, a, f, n: x[0], r"expected the shape \(2, 3, 4\)"),
    ("check_count_parameters", without(bias=0), "the exit has a bias"),
    ("check_count_parameters", without(rows=0), "a row of its own"),
    ("check_count_parameters", without(last=0), "before the exit"),
    ("check_count_parameters", without(proj=0), "the projection has a bias"),
    ("check_count_parameters", without(ff=0), "both layers of the feed-forward"),
    ("check_count_parameters", without(norms=0), "two norms"),
    ("check_count_parameters", without(norms=2), "a scale and a shift: two numbers"),
    ("check_count_parameters", without(norms=0, last=0), "the norms have parameters"),
    ("check_count_parameters", without(project=0), "comes a projection"),
    ("check_count_parameters", without(exits=0), "two matrices"),
    ("check_count_parameters", without(qkv=1), "have no bias"),
    ("check_count_parameters", lambda V, C, T, n: count(V, C, T, 1), "only one block"),
    ("check_count_parameters", lambda V, C, T, n: count(V, C, T, n) + 1, "expected 2821, got 2822"),
    ("check_count_parameters", lambda V, C, T: 1, "called with 4 values"),
]
