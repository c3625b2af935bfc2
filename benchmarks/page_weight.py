"""How heavy the built pages are, and how soon each has loaded in headless Chromium, from disk.

    make book && python benchmarks/page_weight.py

The load event is the median of five; the limits are 400 kB a page, 20 MB in all, 1.5 s.
"""

import shutil
import sys
from pathlib import Path
from statistics import median

import yaml
from _results import store
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "_build" / "html"
LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
LIMITS = {"page": 400_000, "site": 20_000_000, "load": 1500.0}


def load_ms(page: Page, path: Path) -> float:
    times = []
    for _ in range(5):
        page.goto(path.as_uri(), wait_until="load")
        page.wait_for_function(
            "() => performance.getEntriesByType('navigation')[0].loadEventEnd > 0"
        )
        times.append(float(page.evaluate(LOADED)))
    return median(times)


def main() -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    browser_path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    rows, over = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, chromium_sandbox=False)
        page = browser.new_context(offline=True).new_page()
        for name in names:
            path = BOOK / f"{name}.html"
            size, load = path.stat().st_size, load_ms(page, path)
            rows.append([name.split("/")[-1], f"{size / 1000:.0f} kB", f"{load:.0f} ms"])
            if size > LIMITS["page"] or load > LIMITS["load"]:
                over.append(name)
        browser.close()
    site = sum(p.stat().st_size for p in BOOK.rglob("*") if p.is_file())
    rows.append(["the whole site, shared files included", f"{site / 1e6:.1f} MB", ""])
    store("page-weight", ["Page", "Weight", "Loaded after"], rows)
    if over or site > LIMITS["site"]:
        sys.exit(f"over the limit: {over or 'the site'}")


if __name__ == "__main__":
    main()
