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
OPEN = "() => document.querySelectorAll('details:not(.hide)').forEach((d) => { d.open = true })"
STYLE = """h1 { break-before: page } details.hide > summary { display: none }
.highlight pre, .output pre { font-size: 7.5pt; white-space: pre-wrap }
figure, table, .cell_output svg { break-inside: avoid }"""


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
        page.goto(page_file.as_uri(), wait_until="load", timeout=120_000)
        page.evaluate(READY)
        page.evaluate(OPEN)
        page.add_style_tag(content=STYLE)
        page.emulate_media(media="print", color_scheme="light")
        page.pdf(
            path=pdf,
            format="A4",
            margin={"top": "16mm", "bottom": "18mm", "left": "15mm", "right": "15mm"},
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
