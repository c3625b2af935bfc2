"""The whole book as one PDF, with page numbers: the single-page build, printed by Chromium."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SINGLE = ROOT / "_build" / "single"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FOOT = """<div style="font-size: 8px; width: 100%; text-align: center; color: #555">
<span class="pageNumber"></span> / <span class="totalPages"></span></div>"""
READY = "() => window.MathJax ? MathJax.startup.promise.then(() => null) : null"
STILL = "customElements.define = () => {}"  # live figures stay as they were stored
# The theme prints the root's title above the contents. There goes the book's: the preface has one.
ARRANGE = """() => {
    document.querySelectorAll("article details:not(.hide)").forEach((d) => { d.open = true });
    const title = document.querySelector("#jb-print-docs-body > h1");
    title.replaceChildren(...document.title.split(": ").map((part) => {
        const line = document.createElement("span");
        line.textContent = part;
        return line; })); }"""
# The single page's links name pages that it swallowed: lead each to its place. Chapters have
# headings of the same name, and the bibliography's ids stand elsewhere too, so that each place
# gets an id of its own. Tells which links lead nowhere.
LINK = r"""() => {
    const chapter = (name) => document.querySelector(`[id^="document-notebooks/${name}"]`);
    const place = (link) => {
        const { hash, pathname } = new URL(link.href);
        const id = decodeURIComponent(hash.slice(1));
        const notebook = pathname.match(/([^/]+)\.ipynb$/);
        if (link.closest("table.al-exercises")) return chapter(link.textContent.padStart(2, "0"));
        if (id === "document-book/preface") return document.getElementById("preface");
        if (/^id\d+$/.test(id)) return document.querySelector(`ul.al-bibliography > #${id}`);
        return document.getElementById(id) || (notebook && chapter(notebook[1])); };
    const lost = [], marks = new Map();
    for (const link of document.querySelectorAll("article a[href], #jb-print-toc a[href]")) {
        if (!link.href.startsWith("file:") || link.matches(".headerlink")) continue;
        let there = place(link);
        if (there?.matches("[id^=document-]")) there = there.nextElementSibling;  // past the break
        if (!there) { lost.push(link.getAttribute("href")); continue; }
        if (!marks.has(there)) {
            const inside = there.matches("section, tr, li")
                && there.querySelector("h1, h2, h3, h4, td, p");
            const mark = inside || document.createElement("span");
            if (!inside) there.prepend(mark);
            mark.id = `place-${marks.size}`;
            marks.set(there, mark); }
        link.setAttribute("href", `#${marks.get(there).id}`); }
    return lost; }"""
STYLE = """
.bd-main .bd-content, .bd-main .bd-content .bd-article-container {
  margin: 0; padding: 0; max-width: none; width: 100%;
}
.bd-main .bd-content #jb-print-docs-body h1 { margin: 4rem 0 3rem; text-align: left }
#jb-print-docs-body h1 span { display: block }
#jb-print-docs-body h1 span + span { margin-top: 1rem; font-size: 1.6rem }
#jb-print-toc nav { columns: 2 }
#jb-print-toc nav :is(p, ul) { break-inside: avoid }
#jb-print-toc nav p { margin: 0; font-weight: 600; break-after: avoid }
.bd-main .bd-content .bd-article h1:first-of-type { display: block; break-before: page }
.bd-main .bd-content [id^="document-"] + section { break-before: page }
.bd-main .bd-content [id^="document-"] + section > h2 { margin-top: 0; font-size: 2.1rem }
h2, h3, h4, h5, div.cell_input, caption { break-after: avoid }
details.hide { display: none }
.bd-article div.cell, .bd-main .bd-content table.table { break-inside: auto }
div.cell_input, div.highlight, .output, .al, tr, figure, blockquote, svg { break-inside: avoid }
.highlight pre, .output pre { font-size: 13px; white-space: pre-wrap; overflow-wrap: anywhere }
.bd-article :is(section, details) > :last-child { margin-bottom: 0; padding-bottom: 0 }
p, li { orphans: 3; widows: 3 }
"""


def build() -> Path:
    """The book as one HTML page."""
    command: list[str | Path] = [
        Path(sys.executable).with_name("jupyter-book"),
        "build",
        ROOT,
        "--path-output",
        SINGLE,
    ]
    done = subprocess.run(
        [*command, "--builder", "singlehtml"], capture_output=True, encoding="utf-8"
    )
    if done.returncode != 0:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
    made = SINGLE / "_build" / "singlehtml"
    return Path(shutil.copy(made / "book" / "preface.html", made))  # its links are the root's


def write(page_file: Path, pdf: Path) -> None:
    """Print a page: formulas set, solutions open, light colours, links kept."""
    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser_path is None:
        sys.exit(f"printing needs Chromium: none of {', '.join(BROWSERS)} is on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, chromium_sandbox=False)
        page = browser.new_context(offline=True).new_page()
        page.add_init_script(STILL)
        page.goto(page_file.as_uri(), wait_until="load", timeout=120_000)
        page.evaluate(READY)
        page.evaluate(ARRANGE)
        if lost := page.evaluate(LINK):
            sys.exit(f"links that lead nowhere: {', '.join(lost)}")
        page.add_style_tag(content=STYLE)
        page.emulate_media(media="print", color_scheme="light")
        page.pdf(
            path=pdf,
            format="A4",
            scale=0.75,
            margin={"top": "16mm", "bottom": "18mm", "left": "20mm", "right": "20mm"},
            print_background=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOT,
            tagged=True,
            outline=True,
        )
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT / "_build" / "attention_lab.pdf"
    parser.add_argument("file", nargs="?", type=Path, default=default, help=f"default: {default}")
    pdf: Path = parser.parse_args().file
    pdf.parent.mkdir(parents=True, exist_ok=True)
    write(build(), pdf)
    print(f"The book is in {pdf}")


if __name__ == "__main__":
    main()
