"""What the tests of live figures share: one of each kind, a page to put it on, how to read it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import torch
from playwright.sync_api import Locator, Page
from torch import Tensor

from attention_lab.attention import causal_mask
from attention_lab.model import CharModel, ModelConfig
from attention_lab.teaching import (
    attention_by_hand,
    head_size,
    mask_graph,
    memory_bill,
    next_character,
    softmax_weights,
    trained_model,
)
from attention_lab.teaching.live import LiveFigure

CHARS = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FIELD = "Type any text"
Q, K = torch.randn(2, 8, 256, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SCORES = torch.tensor(
    [[0.5, 2.0, -1.0], [1.0, -0.5, 0.25], [2.5, -1.5, 0.75]], dtype=torch.float64
)  # (T, T)
X = torch.eye(3)  # (T, C): h, o, u
W_QUERY = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.5]])  # (C, hs)
W_KEY = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # (C, hs)
W_VALUE = torch.tensor([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])  # (C, hv)
MODELS = {"GPT-3": (96, 96, 2048), "Llama 3": (126, 128, 131_072)}


def table(seed: int, size: int = len(CHARS), scale: float = 3.0) -> Tensor:
    """Random scores (V, V), a row for each last character."""
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(size, size, generator=generator, dtype=torch.float64)


def one_head(
    seed: int,
    V: int = len(CHARS),
    C: int = 32,
    T: int = 8,
    residual: bool = False,
    spread: float = 1,
) -> CharModel:
    """A model as training leaves it: no number is as it started, and the biases are not 0."""
    config = ModelConfig(V, C, T, positions="learned", n_head=1, residual=residual, seed=seed)
    model = CharModel(config).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.2 * noise).mul_(spread)
    return model


# ---------------------------------------------------------------- one of each kind

Step = Callable[[Locator], object]


@dataclass(frozen=True)
class Kind:
    """A kind of figure, for what all of them promise.

    `make`: the figure at hand. `widest`: another, as wide as its kind gets. `hostile`: one with a
    given text where an author names things. `steps`: what a reader may do in turn, with a fault
    early where there can be one; the first changes what is shown, and after `looks` of them the
    figure has shown all its looks. `still`: what never moves meanwhile.
    """

    make: Callable[[], LiveFigure]
    widest: Callable[[], LiveFigure]
    hostile: Callable[[str], LiveFigure]
    steps: tuple[Step, ...]
    still: str = ".al, table"
    looks: int = 2


def typed(text: str) -> Step:
    return lambda figure: figure.locator("textarea").fill(text)


def filled(place: int, text: str) -> Step:
    return lambda figure: figure.locator("[type=text]").nth(place).fill(text)


def pressed(name: str) -> Step:
    return lambda figure: figure.get_by_role("button", name=name).first.click()


def ticked(figure: Locator) -> None:
    figure.locator("[type=checkbox]").first.click()


def slid(key: str) -> Step:
    return lambda figure: figure.get_by_role("slider").press(key)


FOUR = torch.full((4, 4), -1.875)
TYPED = tuple(map(typed, ("What say you", "7", "mmmmmmmm", "", "u", "thou")))
MASKS = tuple(map(pressed, ("everybody", "only itself", "nobody", "causal", "reset")))


def characters(text: str) -> str:
    return "".join(sorted(set(text)))


KINDS = {
    "next_character": Kind(
        lambda: next_character(table(0), CHARS),
        lambda: next_character(table(1), CHARS, "be"),
        lambda text: next_character(table(2, len(characters(text))), characters(text), text),
        TYPED,
        ".al, ol",
    ),
    "softmax_weights": Kind(
        lambda: softmax_weights([2, -1, 3, 5], [True, True, True, False], names="hous"),
        lambda: softmax_weights([-1234.567] * 7 + [-544.5], [True] * 8),
        lambda text: softmax_weights([1, 2], [True, True], names=[text, "b"]),
        (ticked, filled(1, "abc"), pressed("add 100"), pressed("all zero"), pressed("reset")),
    ),
    "attention_by_hand": Kind(
        lambda: attention_by_hand(X, W_QUERY, W_KEY, W_VALUE, "hou"),
        lambda: attention_by_hand(
            FOUR, FOUR[:, :3], FOUR[:, :3], FOUR[:, :3], ["one", "two", "three", "4"]
        ),
        lambda text: attention_by_hand(X, W_QUERY, W_KEY, W_VALUE, ["a", "b", text]),
        (ticked, filled(0, ""), filled(0, "-1.5"), pressed("reset")),
        ".stage:first-child",  # what is below has room for more digits
    ),
    "mask_graph": Kind(
        lambda: mask_graph(SCORES, causal_mask(3), "hou"),
        lambda: mask_graph(torch.zeros(6, 6), causal_mask(6), "mouths"),
        lambda text: mask_graph(SCORES, causal_mask(3), ["a", "b", text]),
        MASKS,
        looks=4,
    ),
    "head_size": Kind(
        lambda: head_size(Q, K, "thousand"),
        lambda: head_size(10 * Q, 10 * K, "mwqgMWQG"),
        lambda text: head_size(Q[:2, :4], K[:2, :4], [text, "y"], 4),
        (slid("Home"), *8 * [slid("ArrowRight")]),
    ),
    "memory_bill": Kind(
        lambda: memory_bill(100_000, models=MODELS),
        lambda: memory_bill(10**7, 1000, 1000, 8, models=MODELS),
        lambda text: memory_bill(models={text: (1, 1, 6)}),
        (filled(1, "9"), filled(1, "none"), pressed("GPT-3"), pressed("Llama 3"), pressed("reset")),
    ),
    "trained_model": Kind(
        lambda: trained_model(one_head(0), table(0), CHARS),
        lambda: trained_model(one_head(1), table(1), CHARS, "mmmmmmmm"),
        lambda text: trained_model(
            one_head(2, len(characters(text))),
            table(2, len(characters(text))),
            characters(text),
            text,
        ),
        TYPED,
        ".al, ol",
    ),
}


# ---------------------------------------------------------------- on a page


def document(body: str, root: str = "", body_attributes: str = "") -> str:
    return (
        f'<!doctype html><html lang="en" {root}><head><meta charset="utf-8"><title>Figure</title>'
        f"</head><body {body_attributes}><main><h1>Figure</h1>{body}</main></body></html>"
    )


def mount(page: Page, *figures: LiveFigure, root: str = "", body: str = "") -> Locator:
    """The page with these figures; returns the first."""
    page.set_content(document("".join(f._repr_html_() for f in figures), root, body))
    return page.locator(figures[0].tag).first


def compute(page: Page, figure: LiveFigure, inputs: list[dict[str, object]]) -> list[dict]:
    """What the page's own function makes of each of the inputs."""
    mount(page, figure)
    call = "([tag, inputs]) => inputs.map((data) => customElements.get(tag).compute(data))"
    return page.evaluate(call, [figure.tag, inputs])


STATE = """figure => [
    figure.shadowRoot.querySelector(".al").innerText
        .replace("Copied.", "").replace("It is in the address bar now.", "").trim(),
    [...figure.shadowRoot.querySelectorAll("input, textarea, select")]
        .map((node) => node.type === "checkbox" ? node.checked : node.value),
]"""


def state(figure: Locator) -> object:
    """All that a figure shows, and what its controls hold."""
    return figure.evaluate(STATE)


def said(figure: Locator) -> str:
    return figure.locator("#said, #read").inner_text()


def cells(rows: Locator, of: str = "td") -> list[list[str]]:
    """The texts of a table's rows."""
    return rows.evaluate_all(
        "(rows, of) => rows.map(r => [...r.querySelectorAll(of)].map(c => c.innerText.trim()))", of
    )


def luminance(colour: str) -> float:
    """Of a colour such as rgb(27, 36, 48) or #1b2430."""
    pattern, base = (r"[\da-f]{2}", 16) if colour.startswith("#") else (r"\d+", 10)
    channels = [int(c, base) / 255 for c in re.findall(pattern, colour)[:3]]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
