"""A link carries a live figure's state: made on one page, it opens with the same numbers."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from live_page import KINDS, Kind, Step, document, filled, mount, pressed, said, slid, state, typed
from playwright.sync_api import Locator, Page, expect

BUTTON = "link to these numbers"
MARK = "#al-"


def make_link(figure: Locator) -> str:
    figure.get_by_role("button", name=BUTTON).click()
    expect(figure.locator(".link [aria-live]")).not_to_be_empty()
    return figure.page.url


def held_by(link: str) -> dict[str, list[object]]:
    code = link.split(MARK)[1]
    return json.loads(urlsafe_b64decode(code + "=" * (-len(code) % 4)))


def fresh(page: Page, link: str) -> None:
    """As from a mail: a navigation, not a jump within the page that is open."""
    page.goto("about:blank")
    page.goto(link)


# ---------------------------------------------------------------- in the book


def several(figure: Locator) -> None:
    filled(0, "-7.5")(figure)
    figure.locator("[type=checkbox]").nth(1).click()
    figure.locator("#heat").fill("0.5")


CHANGES: dict[str, tuple[str, Step]] = {  # a chapter's figure, set anew
    "01-hou-you-thou": ("next_character", typed("the q")),
    "05-softmax": ("softmax_weights", several),
    "08-values-by-hand": ("attention_by_hand", filled(3, "4")),
    "09-messages-on-a-graph": ("mask_graph", lambda f: f.locator("td button").nth(5).click()),
    "11-why-the-square-root": ("head_size", slid("Home")),
    "15-the-bill": ("memory_bill", pressed("PaLM")),
    "17-the-loss-comes-down": ("trained_model", typed("to be")),
}


def test_every_kind_of_figure_is_tried_here() -> None:
    assert [name for name, _ in CHANGES.values()] == list(KINDS)


@pytest.mark.browser
@pytest.mark.parametrize("chapter", CHANGES)
def test_every_figure_opens_as_the_link_left_it(visit: Callable[..., Page], chapter: str) -> None:
    name, change = CHANGES[chapter]
    page = visit(f"notebooks/{chapter}")
    figure = page.locator(f"al-{name.replace('_', '-')}").first
    start = state(figure)
    change(figure)
    wanted = state(figure)
    assert wanted != start
    link = make_link(figure)
    assert MARK in link
    fresh(page, link.split("#")[0])
    assert state(figure) == start
    fresh(page, link)
    assert state(figure) == wanted
    expect(figure).to_be_in_viewport()


# ---------------------------------------------------------------- on a page that is like the book's


@pytest.fixture
def share(page: Page, tmp_path: Path) -> Callable[[Kind], Locator]:
    """Opens a page with this figure, where it offers its link."""

    def open_page(kind: Kind) -> Locator:
        figure = kind.make()
        body = f'<article class="bd-article">{figure._repr_html_()}</article>'
        path = tmp_path / "page.html"
        path.write_text(document(body), encoding="utf-8")
        page.goto(path.as_uri())
        return page.locator(figure.tag)

    return open_page


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


FOLLOW = """hash => new Promise((done, fail) => {
    if (location.hash === hash) fail(new Error("this link is open already"));
    addEventListener("hashchange", () => setTimeout(done), { once: true });
    location.hash = hash;
})"""


def follow(figure: Locator, state: object) -> None:
    """A link with this state, opened on the page that is open already."""
    code = urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
    figure.page.evaluate(FOLLOW, MARK + code)


@pytest.mark.browser
def test_a_link_that_does_not_fit_changes_nothing(
    share: Callable[[Kind], Locator], kind: Kind
) -> None:
    figure = share(kind)
    start = state(figure)
    ((name, values),) = held_by(make_link(figure)).items()
    kind.steps[0](figure)
    good = held_by(make_link(figure))
    figure = share(kind)
    for broken in ("", "%%%", "bm9uZQ", make_link(figure).split(MARK)[1][:-9]):
        figure.page.evaluate(FOLLOW, f"{MARK}{broken}#")
        assert state(figure) == start, broken
    sizes = [*good[name], "1"], good[name][:-1], {"0": "1"}, "many", 7, None
    for odd in (None, 7, [], {"x": 1}, [good[name]], *({name: values} for values in sizes)):
        follow(figure, odd)
        assert state(figure) == start, odd
    for place, value in {type(value): (i, value) for i, value in enumerate(values)}.values():
        for odd in (None, 7, 1e300, [], {}, [value], "odd" if isinstance(value, bool) else True):
            follow(figure, {name: [*good[name][:place], odd, *good[name][place + 1 :]]})
            assert state(figure) == start, (place, odd)
    fresh(figure.page, make_link(figure)[:-9])
    assert state(figure) == start
    follow(figure, good)
    assert state(figure) != start
    assert held_by(make_link(figure)) == good


@pytest.mark.browser
@pytest.mark.parametrize("name", ["head_size", "memory_bill"])
def test_a_choice_or_a_length_that_is_not_offered_changes_nothing(
    share: Callable[[Kind], Locator], name: str
) -> None:
    figure = share(KINDS[name])
    start = state(figure)
    ((key, values),) = held_by(make_link(figure)).items()
    types = figure.locator("input, select").evaluate_all("all => all.map((node) => node.type)")
    choices = [i for i, kind in enumerate(types) if kind in ("select-one", "range")]
    assert len(choices) == 2
    for place in choices:
        for odd in ("", "none", "99", "-1", "NaN", "1e999"):
            follow(figure, {key: [*values[:place], odd, *values[place + 1 :]]})
            assert state(figure) == start, (place, odd)


@pytest.mark.browser
@pytest.mark.parametrize("text", ["1e999", "NaN", "-", "9" * 5000, "<img src=x>"])
def test_a_field_that_a_link_fills_with_no_number_says_so(
    share: Callable[[Kind], Locator], text: str
) -> None:
    for name in ("softmax_weights", "attention_by_hand", "memory_bill"):
        figure = share(KINDS[name])
        figure.page.set_viewport_size({"width": 360, "height": 640})
        ((key, values),) = held_by(make_link(figure)).items()
        place = next(i for i, value in enumerate(values) if value in ("2", "1"))
        follow(figure, {key: [*values[:place], text, *values[place + 1 :]]})
        assert figure.locator("[aria-invalid=true]").count() == 1
        assert "number" in said(figure)
        assert figure.locator("img").count() == 0
        assert figure.page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.browser
@pytest.mark.parametrize("text", ["训练 – you & thou", "thou " * 50_000], ids=["any", "long"])
def test_typed_text_of_any_script_and_length_travels_too(
    share: Callable[[Kind], Locator], text: str
) -> None:
    figure = share(KINDS["next_character"])
    typed(text)(figure)
    fresh(figure.page, make_link(figure))
    assert figure.locator("textarea").input_value() == text


@pytest.mark.browser
def test_the_links_row_looks_like_itself_in_every_figure(
    share: Callable[[Kind], Locator], kind: Kind
) -> None:
    figure = share(kind)
    row, button = (figure.locator(which).bounding_box() for which in (".link", ".link button"))
    assert row
    assert button
    assert row["height"] == button["height"]
    top = "n => n.getRootNode().elementFromPoint(n.getBoundingClientRect().right - 4,"
    figure.locator(".link button").scroll_into_view_if_needed()
    middle = f"{top} n.getBoundingClientRect().top + 20) === n"
    assert figure.locator(".link button").evaluate(middle), "something covers the button"


@pytest.mark.browser
def test_outside_the_book_there_is_no_such_link(page: Page, kind: Kind) -> None:
    figure = mount(page, kind.make())
    expect(figure.locator(".al")).to_be_visible()
    assert figure.get_by_role("button", name=BUTTON).count() == 0
