"""Write docs/example.html, the page of the answers of `ruler example`, and its picture, report.png.

    python docs/draw_example.py

The picture needs playwright and Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import ruler_release as ruler

PAGE = Path(__file__).with_name("example.html")
PICTURE = PAGE.with_name("report.png")


def write_page(page: Path) -> None:
    """Score the example's two runs and write their page."""
    from ruler_eval.example.write_example import EXAMINATION, REFERENCES, RUNS, write_example

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "ruler-example"
        write_example(folder)
        runs = [folder / name for name in RUNS]
        references = folder / REFERENCES
        for run in runs:
            ruler.score(run, references=references)
        ruler.report(runs, references=references, doctor=folder / EXAMINATION, out=page)


def photograph(page: Path, picture: Path) -> None:
    """Take a picture of the page's first screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": 1240, "height": 960})
        tab.goto(page.as_uri())
        tab.wait_for_load_state("networkidle")
        tab.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    write_page(PAGE)
    photograph(PAGE, PICTURE)
