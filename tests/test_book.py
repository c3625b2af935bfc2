"""The built book: it builds without a warning, reads offline, and keeps its promises."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from playwright.sync_api import Page

from attention_lab.teaching.claims import Checked, ledger, parse

ROOT = Path(__file__).parents[1]
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
ENTRIES = [TOC["root"], *(c["file"] for part in TOC["parts"] for c in part["chapters"])]
CHAPTERS = [entry for entry in ENTRIES if entry.startswith("notebooks/")]
AXE = {"preload": False, "resultTypes": ["violations"]}  # preloading would ask for files
THEME_FAULTS = {"label-content-name-mismatch", "region"}  # of the stock theme, on every page


def copy_sources(target: Path) -> Path:
    """The book's sources, with two stray files in their root that are not to be published."""
    for name in ("book", "notebooks"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, target)
    (target / "scratch.md").write_text("# Scratch\n\n#### A jump\n", encoding="utf-8")
    cell = {"cell_type": "code", "source": "1/0", "outputs": [], "execution_count": None}
    notebook = {"cells": [cell | {"metadata": {}}], "metadata": {}, "nbformat": 4}
    text = json.dumps(notebook | {"nbformat_minor": 4})
    (target / "scratch.ipynb").write_text(text, encoding="utf-8")
    return target


def build(source: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("jupyter-book"), "build", source, "-W", "-n"]
    return subprocess.run([*command, "--keep-going"], capture_output=True, encoding="utf-8")


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HTML of the sources as they stand, built afresh with warnings as errors."""
    source = copy_sources(tmp_path_factory.mktemp("book"))
    done = build(source)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return source / "_build" / "html"


@pytest.fixture(scope="session")
def pages(book: Path) -> dict[str, BeautifulSoup]:
    """Every page that the reader can reach, by its path without ``.html``."""
    names = [*ENTRIES, "search"]
    read = {name: (book / f"{name}.html").read_text(encoding="utf-8") for name in names}
    return {name: BeautifulSoup(text, "html.parser") for name, text in read.items()}


@pytest.fixture
def visit(book: Path, page: Page) -> Iterator[Callable[..., Page]]:
    """Opens a page from disk with its formulas set. At its end no request may have left."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    def open_page(name: str, scheme: str = "light", width: int = 1280) -> Page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto((book / f"{name}.html").as_uri())
        page.evaluate("() => window.MathJax ? MathJax.startup.promise.then(() => null) : null")
        return page

    yield open_page
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked), asked


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
    assert not [path for path in book.rglob("*") if "scratch" in path.name]
    assert "scratch" not in (book / "searchindex.js").read_text(encoding="utf-8").lower()


def test_a_wrong_stored_result_and_a_figure_without_alt_text_fail_the_build(tmp_path: Path) -> None:
    source = copy_sources(tmp_path)
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
        if id not in checks:
            assert "chapter to come" in row.text
            assert not links
            continue
        chapter, _ = checks[id]
        assert links == [f"../{chapter}.html#check-{name}"]
        cell = pages[chapter].find(id=f"check-{name}")
        cell = cell if cell.name == "div" else cell.find_parent("div", class_="cell")
        assert f"✓ {id} ·" in cell.text
        assert cell.find("a", href=f"../book/ledger.html#claim-{name}")
    total = [cell.text.strip() for cell in page.select("table.al-counts tbody tr")[0].select("td")]
    done = len(checks)
    assert total[1:] == [str(len(ledger())), str(done), str(done), str(len(ledger()) - done)]


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
def test_formulas_are_set_with_the_network_off(
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


@pytest.mark.browser
def test_search_finds_a_word(visit: Callable[..., Page]) -> None:
    page = visit("search")
    page.locator("#search-input, input[name=q]").last.fill("bigram")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    assert page.locator(f"#search-results a[href*='{CHAPTERS[0]}']").count() >= 1


@pytest.mark.browser
def test_a_phone_needs_no_sideways_scroll(visit: Callable[..., Page]) -> None:
    for name in ENTRIES:
        page = visit(name, width=360)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_in_figures_can_be_read(visit: Callable[..., Page], scheme: str) -> None:
    for name in CHAPTERS:
        page = visit(name, scheme)
        worst = page.evaluate("""() => {
            const light = (css) => {
                const [r, g, b] = css.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255)
                    .map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
            return Math.min(99, ...[...document.querySelectorAll("svg.al-figure text")].map((t) => {
                const paper = t.closest("svg").querySelector("[id$=patch_1] path");
                const fill = getComputedStyle(paper).fill;
                const body = getComputedStyle(document.body).backgroundColor;
                const ground = light(fill === "none" ? body : fill);
                const ink = light(getComputedStyle(t).fill);
                return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05); })); }""")
        assert worst >= 4.5, (name, worst)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("scheme", "width", "rules"),
    [
        ("light", 1280, {}),
        ("dark", 1280, {"runOnly": ["color-contrast"]}),  # nothing else depends on the scheme
        ("light", 360, {"rules": {"color-contrast": {"enabled": False}}}),
    ],
    ids=["light", "dark", "phone"],
)
def test_axe_finds_no_fault_of_ours(
    visit: Callable[..., Page], scheme: str, width: int, rules: dict[str, object]
) -> None:
    for name in ENTRIES:
        page = visit(name, scheme, width)
        found = Axe().run(page, options=AXE | rules).response["violations"]
        ours = [(v["id"], v["nodes"][0]["html"]) for v in found if v["id"] not in THEME_FAULTS]
        assert not ours, (name, ours)
