"""The built book: it builds without a warning, reads offline, and keeps its promises."""

import importlib
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from book_build import CHAPTERS, CONFIG, ENTRIES, ROOT, build, copy_sources
from bs4 import BeautifulSoup
from playwright.sync_api import Page

from attention_lab.teaching import exercises
from attention_lab.teaching.claims import Checked, parse
from attention_lab.teaching.ledger import ledger

# What lies open on a desk but is wider than its column. Long printed lines may be.
CUT = """() => {
    document.querySelectorAll("article details").forEach((details) => { details.open = true; });
    const wide = ".highlight pre, .cell_output .al, article table, mjx-container[display]";
    return [...document.querySelectorAll(wide)]
        .filter((node) => !node.closest(".output.stream, .output.text_plain, .output.traceback"))
        .filter((node) => node.scrollWidth > node.clientWidth)
        .map((node) => node.textContent.slice(0, 99)); }"""


@pytest.fixture(scope="session")
def pages(book: Path) -> dict[str, BeautifulSoup]:
    """Every page that the reader can reach, by its path without ``.html``."""
    names = [*ENTRIES, "search"]
    read = {name: (book / f"{name}.html").read_text(encoding="utf-8") for name in names}
    return {name: BeautifulSoup(text, "html.parser") for name, text in read.items()}


def stored_checks() -> dict[str, tuple[str, Checked]]:
    found = {}
    for chapter in CHAPTERS:
        cells = json.loads((ROOT / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
        outputs = [
            o for cell in cells for o in cell.get("outputs", []) if o.get("name") == "stdout"
        ]
        for line in "".join(text for o in outputs for text in o["text"]).splitlines():
            if checked := parse(line):
                found[checked.id] = (chapter, checked)
    return found


def test_stray_files_in_the_root_are_not_published(book: Path) -> None:
    assert not [path for path in book.rglob("*") if "zzstray" in path.name]
    assert "zzstray" not in (book / "searchindex.js").read_text(encoding="utf-8").lower()


def test_a_wrong_stored_result_a_figure_without_alt_text_and_a_broken_link_fail_the_build(
    tmp_path: Path,
) -> None:
    source = copy_sources(tmp_path)
    page = source / "book" / "glossary.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n[a](gone.md)\n", encoding="utf-8")
    path = source / f"{CHAPTERS[0]}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
    image = {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": svg}}
    line = "✓ same-row.vocab · here 66 · document A 65\n"
    stream = {"output_type": "stream", "name": "stdout", "text": line}
    cell = {"cell_type": "code", "id": "off", "source": "1", "execution_count": 1, "metadata": {}}
    notebook["cells"].append(cell | {"outputs": [image, stream]})
    path.write_text(json.dumps(notebook), encoding="utf-8")
    done = build(source)
    assert done.returncode != 0
    assert re.search(r"glossary\.md:\d+: .*gone\.md", done.stderr)
    assert "has no alternative text" in done.stderr
    assert "the stored result of same-row.vocab is off" in done.stderr


def test_the_sidebar_lists_every_entry_in_order(pages: dict[str, BeautifulSoup]) -> None:
    links = pages["book/glossary"].select("nav.bd-links a[href]")
    paths = [(Path("book") / link["href"].split("#")[0]).as_posix() for link in links]
    shown = [re.sub(r"^book/\.\./|\.html$", "", path) for path in paths]
    assert ["book/glossary" if path == "book" else path for path in shown] == ENTRIES


def test_internal_links_and_anchors_resolve(book: Path, pages: dict[str, BeautifulSoup]) -> None:
    broken = []
    for name, soup in pages.items():
        for node in soup.select("[href], [src]"):
            link = urlsplit(node.get("href") or node.get("src"))
            if link.scheme or link.netloc:
                continue
            here = book / f"{name}.html"
            path = (here.parent / unquote(link.path)).resolve() if link.path else here
            target = pages.get(path.relative_to(book).with_suffix("").as_posix())
            fragment = unquote(link.fragment)
            if not path.is_file() or (fragment and target and not target.find(id=fragment)):
                broken.append(f"{name}: {link.geturl()}")
    assert not broken


def test_ids_are_unique_on_a_page(pages: dict[str, BeautifulSoup]) -> None:
    for name, soup in pages.items():
        ids = [node["id"] for node in soup.select("[id]")]
        assert len(ids) == len(set(ids)), (name, {id for id in ids if ids.count(id) > 1})


def test_headings_do_not_jump(pages: dict[str, BeautifulSoup]) -> None:
    for name in ENTRIES:
        headings = pages[name].select("article :is(h1, h2, h3, h4, h5, h6)")
        levels = [int(heading.name[1]) for heading in headings]
        assert levels.count(1) == 1 == levels[0], name
        assert all(b <= a + 1 for a, b in pairwise(levels)), (name, levels)


def test_every_figure_is_named_for_those_who_cannot_see_it(pages: dict[str, BeautifulSoup]) -> None:
    for name in ENTRIES:
        for image in pages[name].select("article img"):
            alt = image.get("alt", "")
            assert alt.strip(), (name, image)
            assert not re.search(r"\.\w{3,4}$|^[0-9a-f]{16}", alt), (name, alt)
        for svg in pages[name].select("article svg"):
            assert svg.get("role") == "img", name
            assert svg.get("aria-label", "").strip(), name


def test_the_ledger_page_has_a_row_a_claim_and_links_to_its_cell(
    pages: dict[str, BeautifulSoup],
) -> None:
    page, checks = pages["book/ledger"], stored_checks()
    rows = {row["id"]: row for row in page.select("table.al-ledger tr[id]")}
    assert list(rows) == ["claim-" + id.replace(".", "-") for id in ledger()]
    for id in ledger():
        row, name = rows["claim-" + id.replace(".", "-")], id.replace(".", "-")
        links = [a["href"] for a in row.select("a") if "check-" in a["href"]]
        chapter, _ = checks[id]
        assert links == [f"../{chapter}.html#check-{name}"]
        cell = pages[chapter].find(id=f"check-{name}")
        cell = cell if cell.name == "div" else cell.find_parent("div", class_="cell")
        assert f"✓ {id} ·" in cell.text
        assert cell.find("a", href=f"../book/ledger.html#claim-{name}")
    total = [cell.text.strip() for cell in page.select("table.al-counts tbody tr")[0].select("td")]
    done = len(checks)
    assert total[1:] == [str(len(ledger())), str(done), str(done)]


def test_the_formula_page_links_every_chapter(pages: dict[str, BeautifulSoup]) -> None:
    links = {a["href"] for a in pages["book/formula"].select("article a[href]")}
    missing = {f"../{chapter}.html" for chapter in CHAPTERS} - links
    assert not missing


def test_launch_links_name_a_notebook_of_the_repository(pages: dict[str, BeautifulSoup]) -> None:
    owner = CONFIG["repository"]["url"].removeprefix("https://github.com/")
    start = f"https://colab.research.google.com/github/{owner}/blob/main/"
    for name, soup in pages.items():
        links = [a["href"] for a in soup.select("a[href]") if "colab.research" in a["href"]]
        assert links == ([f"{start}{name}.ipynb"] if name in CHAPTERS else []), name
        assert all((ROOT / link.removeprefix(start)).is_file() for link in links)


def test_pages_are_light(book: Path, pages: dict[str, BeautifulSoup]) -> None:
    sizes = {name: (book / f"{name}.html").stat().st_size for name in pages}
    assert max(sizes.values()) < 400_000, sizes
    mathjax = book / "_static" / "mathjax"
    assert sum(file.stat().st_size for file in mathjax.rglob("*")) < 2_000_000


@pytest.mark.browser
def test_on_a_desk_formulas_are_set_and_no_code_table_or_formula_is_cut(
    pages: dict[str, BeautifulSoup], visit: Callable[..., Page]
) -> None:
    for name in pages:
        page = visit(name)
        formulas = len(pages[name].select(".math"))
        assert page.locator("mjx-container").count() >= formulas, name
        assert page.locator("mjx-merror, mjx-mtext[style*=red]").count() == 0, name
        prose = page.evaluate("""() => {
            const copy = document.querySelector("article, .bd-search-container").cloneNode(true);
            copy.querySelectorAll("pre, code, script").forEach((node) => node.remove());
            return copy.textContent; }""")
        assert not re.search(r"\$\$|\\\(|\\\[|\\begin", prose), name
        assert not (cut := page.evaluate(CUT)), (name, cut)


@pytest.mark.browser
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_page_to_print_is_one_page_and_prints_light(
    visit: Callable[..., Page], paper: str
) -> None:
    page = visit("book/summary", scheme="dark")
    theme = "document.documentElement.dataset.theme"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {theme}; }})")
    pdf = page.pdf(format=paper)
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 1
    assert page.evaluate(f"[window.printed, {theme}]") == ["light", "dark"]


@pytest.mark.browser
def test_search_finds_a_word(visit: Callable[..., Page]) -> None:
    page = visit("search")
    page.locator("#search-input, input[name=q]").last.fill("bigram")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    assert page.locator(f"#search-results a[href*='{CHAPTERS[0]}']").count() >= 1


def test_every_exercise_stands_in_the_list_once(pages: dict[str, BeautifulSoup]) -> None:
    listed = [code.text for code in pages["book/exercises"].select("td code")]
    checks = [name for name in exercises.__all__ if name.startswith("check_")]
    assert sorted(listed) == sorted(checks)


def test_the_preface_says_how_long_each_chapter_takes(
    pages: dict[str, BeautifulSoup], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    counted = importlib.import_module("reading_times")
    cells = [
        {"cell_type": "code", "id": "boot", "source": "left\nout"},
        {"cell_type": "markdown", "source": ["read " * 300, "\n", "so " * 150]},
        {"cell_type": "code", "id": "a", "source": "a\n\n" * 24},
        {"cell_type": "markdown", "source": "<details><summary>left out</summary>"},
    ]
    assert counted.minutes(cells) == pytest.approx(3 + 24 * 5 / 60)
    assert [counted.rounded(time) for time in (0.1, 17.4, 17.6, 42.6)] == [5, 15, 20, 45]
    rows = pages["book/preface"].select("table.al-times tbody tr")
    links = [row.find("a")["href"] for row in rows[:-1]]
    assert links == [f"../{chapter}.html" for chapter in CHAPTERS]
    times = [int(row.select("td")[1].text.removesuffix(" min")) for row in rows[:-1]]
    assert all(10 <= time <= 60 and time % 5 == 0 for time in times), times
    assert rows[-1].select("td")[1].text == f"{sum(times) / 60:.0f} hours"


def test_every_live_figure_stands_in_the_list(pages: dict[str, BeautifulSoup]) -> None:
    live = {name.split("/")[1] for name in CHAPTERS if pages[name].find(re.compile("^al-"))}
    links = {a["href"] for a in pages["book/live"].select("td a")}
    assert links == {f"../notebooks/{name}.html" for name in live}


def test_a_word_in_bold_links_to_its_row_of_the_glossary_once(
    pages: dict[str, BeautifulSoup],
) -> None:
    links = [a["href"] for a in pages["notebooks/05-softmax"].select("a[href*='#term-']")]
    assert "../book/glossary.html#term-temperature" in links
    assert len(links) == len(set(links))
    row = pages["book/glossary"].find("tr", id="term-temperature")
    assert row.select("td")[0].text == "temperature"
