"""The formula as a map: each of its symbols is a link to the chapter that earned it."""

from dataclasses import dataclass
from html import escape

from attention_lab.teaching.tables import Html


@dataclass(frozen=True)
class Stop:
    """One symbol: how it reads, what it does, and where it was earned ("" when not linked)."""

    symbol: str
    does: str
    chapter: int
    title: str
    file: str = ""  # the notebook beside the one that shows the map, with #heading where needed


A_SCORE = "07-queries-and-keys.ipynb#a-score-is-an-agreement"
AXES = "07-queries-and-keys.ipynb#the-last-two-axes"
SIZE = "07-queries-and-keys.ipynb#at-full-size"
ROOT = "11-why-the-square-root.ipynb"

FORMULA = {
    "attention": Stop(
        "Attention", "each position's row becomes a mixture of rows", 3,
        "The plainest way to look back: the average", "03-the-average.ipynb",
    ),
    "softmax": Stop(
        "softmax", "any scores become weights: positive, and 1 in sum", 5,
        "Softmax and minus infinity", "05-softmax.ipynb",
    ),
    "q": Stop("Q", "what each position looks for", 7, "Queries and keys", A_SCORE),
    "k": Stop("K", "what each position can be found by", 7, "Queries and keys", A_SCORE),
    "t": Stop("⊤", "turns each key into a column, so that every query meets every key", 7,
              "Queries and keys", AXES),
    "root": Stop("√", "keeps the spread of the scores at 1, whatever the head size", 11,
                 "Why the square root", ROOT),
    "d": Stop("d_k", "how many numbers a query or a key has: the head size", 7,
              "Queries and keys", SIZE),
    "product": Stop(
        "·", "each row of the result is a weighted sum of rows", 4,
        "A matrix product is a weighted sum", "04-a-product-is-a-weighted-sum.ipynb",
    ),
    "v": Stop("V", "what each position gives when it is found", 8,
              "Values, and the whole thing by hand", "08-values-by-hand.ipynb"),
}  # fmt: skip
UNWRITTEN = {
    "mask": Stop("the mask", "position t may look at positions 0 to t, and no further", 5,
                 "Softmax and minus infinity", "05-softmax.ipynb#mask-first-then-softmax"),
    "position": Stop("the position", "a weighted sum does not know the order of its terms", 6,
                     "Attention works on sets", "06-positions.ipynb"),
    "batch": Stop("the batch", "sequences side by side never look at one another", 9,
                  "Messages on a graph", "09-messages-on-a-graph.ipynb"),
}  # fmt: skip

COLOUR = {"softmax": "#a855f7", "q": "#3b82f6", "k": "#d97706", "root": "#e11d48", "v": "#16a34a"}

# Light by default, dark where the book, JupyterLab or Colab says so.
STYLE = """<style>
.al-formula{--line:#d0d7de;--mark:#dbe9ff;color:inherit;margin:.6em 0;container-type:inline-size}
html[data-theme=dark] .al-formula,body[data-jp-theme-light=false] .al-formula,\
html[theme=dark] .al-formula{--line:#484f58;--mark:#1d3a6b}
.al-formula a{color:inherit}
.al-formula .line{display:flex;align-items:center;justify-content:center;gap:.12em;margin:0;\
padding:.7em 0;font:clamp(.9rem,5.3cqi,2.5rem)/1.25 "STIX Two Math","Cambria Math",Georgia,serif;\
border-block:1px solid var(--line);white-space:nowrap}
.al-formula .line>i{font-style:normal}
.al-formula .line a{padding:0 .1em;border-radius:.15em;text-align:center;text-decoration:none}
.al-formula .line b{display:block;font-weight:400;border-bottom:3px solid var(--c)}
.al-formula :is(sub,sup){font-size:.6em;line-height:0}
.al-formula .line a:is(:hover,:focus-visible){background:var(--mark)}
.al-formula .line small{display:block;font:clamp(.7rem,2cqi,.85rem)/1.3 system-ui,sans-serif}
.al-formula .fraction>span{display:flex;justify-content:center}
.al-formula .fraction>span+span{border-top:2px solid;padding-top:.15em}
.al-formula ol{display:grid;grid-template-columns:repeat(auto-fill,minmax(14rem,1fr));gap:.5em;\
margin:.6em 0;padding:0;list-style:none}
.al-formula li{margin:0;padding:.4em .7em;border:1px solid var(--line);\
border-left:4px solid var(--c);border-radius:.3em;font-size:.92em;line-height:1.45}
.al-formula li b{font:600 1.15em Georgia,serif}
.al-formula li span{display:block}
.al-formula .head{margin:.8em 0 0;font-weight:600}
%s{background:var(--mark)}
</style>"""
LIT = ",\n".join(
    f".al-formula:has(.line [data-s={key}]:is(:hover,:focus-visible)) li[data-s={key}]"
    for key in FORMULA
)

# Colab shows outputs in a frame of another host, from where no link leads to a notebook.
UNLINK = """<script>
if (/googleusercontent/.test(location.host))
  for (const a of document.querySelectorAll(".al-formula a")) a.removeAttribute("href");
</script>"""


def formula_map() -> Html:
    """softmax(Q Kᵀ / √d_k) V across the page, and below it what each symbol does and where it is
    from. The links name the notebooks beside this one; the book turns them into its own pages.
    Source: document A, "every symbol in the formula".
    """
    a = {key: _symbol(key, stop) for key, stop in FORMULA.items()}
    line = (
        f"{a['attention']}<i>(Q, K, V) =</i>{a['softmax']}<i>(</i>"
        f'<span class="fraction"><span>{a["q"]}{a["k"]}{a["t"]}</span>'
        f"<span>{a['root']}{a['d']}</span></span><i>)</i>{a['product']}{a['v']}"
    )
    cards = "".join(_card(key, stop) for key, stop in FORMULA.items())
    others = "".join(_card(key, stop) for key, stop in UNWRITTEN.items())
    html = (
        f'{STYLE % LIT}<nav class="al-formula" aria-label="The formula as a map">'
        f'<p class="line">{line}</p><ol>{cards}</ol>'
        f'<p class="head">What the line does not show</p><ol>{others}</ol></nav>{UNLINK}'
    )
    stops = [*FORMULA.values(), *UNWRITTEN.values()]
    width = max(len(stop.symbol) for stop in stops)
    text = [f"{s.symbol.ljust(width)}  chapter {s.chapter:>2}: {s.does}" for s in stops]
    return Html(html, "\n".join(["softmax(Q Kᵀ / √d_k) · V", *text]))


def _written(stop: Stop) -> str:
    """A symbol as HTML: an index below the line, the sign of turning round above it."""
    symbol = escape(stop.symbol)
    return {"d_k": "d<sub>k</sub>", "⊤": "<sup>⊤</sup>"}.get(symbol, symbol)


def _style(key: str) -> str:
    return f'data-s="{key}" style="--c:{COLOUR.get(key, "var(--line)")}"'


def _symbol(key: str, stop: Stop) -> str:
    """A symbol of the line, its chapter's number below it."""
    return (
        f'<a href="{escape(stop.file)}" {_style(key)}><b>{_written(stop)}</b>'
        f"<small>{stop.chapter}</small></a>"
    )


def _card(key: str, stop: Stop) -> str:
    """What a symbol does, and the chapter that earned it."""
    title = f"{stop.chapter} · {escape(stop.title)}"
    chapter = f'<a href="{escape(stop.file)}">{title}</a>' if stop.file else title
    return (
        f"<li {_style(key)}><b>{_written(stop)}</b><span>{escape(stop.does)}</span>{chapter}</li>"
    )
