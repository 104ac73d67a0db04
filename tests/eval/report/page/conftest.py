"""Scored runs, their pages, and a browser to open the pages in."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Once
from tests.eval.report.page.page_helpers import DESK, Answer, hostile, worse, write_run
from tests.eval.scoring_helpers import WRITTEN_TASKS, right, write_oneruler
from tests.in_process import ruler_output


@pytest.fixture(scope="session")
def three_runs(once: Once, built: Path) -> list[Path]:
    """Return three runs: all right, every second row wrong, and hostile answers to four tasks."""

    def make(root: Path) -> None:
        write_run(root / "right", built, right, "Right-70B")
        write_run(root / "worse", built, worse(2), "Worse-8B")
        configs = [f"{task}_4k" for task in ("niah_single_1", "niah_multivalue", "vt", "qa_1")]
        write_run(root / "hostile", built, hostile, "<b>\u202e</script>[red]\x1b[1m", configs)

    root = once("page/runs", make)
    return [root / name for name in ("right", "worse", "hostile")]


@pytest.fixture(scope="session")
def page_file(once: Once, three_runs: list[Path]) -> Path:
    """Return the page of the three runs."""
    return once("page/report.html", partial(write_page, three_runs))


@pytest.fixture(scope="session")
def language_runs(once: Once) -> list[Path]:
    """Return runs of two reasoning models: three languages, a pair both ways, two lengths."""

    def thinking(min_wrong: int, tokens: int) -> Answer:
        """Return a function that errs more often in long texts and rare languages."""
        hard = {"de": 1, "pl": 0, "ko": 2, "_32k_": 2, "nonone": -1}

        def fields(config: str, row: Mapping[str, object]) -> dict[str, object]:
            wrong_rows = min_wrong + sum(n for part, n in hard.items() if part in config)
            wrong = int(str(row["index"])) < wrong_rows
            usage = {"prompt_tokens": 500, "completion_tokens": 400, "cached_tokens": 0}
            usage["thinking_tokens"] = tokens * (1 + wrong) + 10 * int(str(row["index"]))
            text = " It is 7654321, I think." if wrong else right(config, row)
            return {"prediction": text, "usage": usage, "thinking": "So it is."}

        return fields

    def make(root: Path) -> None:
        languages = ("pl", "de", "ko", "en-ko", "ko-en")
        tasks = (*WRITTEN_TASKS, "niah_single_nonone")
        release = write_oneruler(root / "oneruler", languages, ("8k", "32k"), 8, tasks)
        write_run(root / "worse", release, thinking(0, 300), "Worse-8B")
        write_run(root / "worst", release, thinking(3, 150), "Worst-1B")

    root = once("page/languages", make)
    return [root / "worse", root / "worst"]


@pytest.fixture(scope="session")
def languages_file(once: Once, language_runs: list[Path]) -> Path:
    """Return the page of the two ONERULER runs."""
    return once("page/oneruler.html", partial(write_page, language_runs))


@pytest.fixture(scope="session")
def two_runs(once: Once) -> list[Path]:
    """Return two runs on 120 rows per configuration: half of them wrong, and a third."""

    def make(root: Path) -> None:
        release = write_oneruler(root / "oneruler", ("pl",), rows=120)
        for share in (2, 3):
            write_run(root / f"run{share}", release, worse(share), f"Worse-{share}")

    root = once("page/large", make)
    return [root / "run2", root / "run3"]


@pytest.fixture(scope="session")
def large_page(once: Once, two_runs: list[Path]) -> Path:
    """Return the page of the two runs with 120 rows per configuration."""
    return once("page/large.html", partial(write_page, two_runs))


def write_page(runs: list[Path], path: Path) -> None:
    """Write the page of runs."""
    ruler_output("report", *runs, "--out", path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the system's Chromium.

    Playwright's event loop runs as long as the browser, and there can be only one: each module has
    its own browser.
    """
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_file(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page without a network: `open_file(path, color_scheme="dark")`.

    A message on the console, or a request for anything but the file, is an error.
    """
    contexts, messages = [], []

    def open_page(path: Path, viewport: Mapping[str, int] = DESK, **settings: Any) -> Any:
        context = browser.new_context(offline=True, viewport=viewport, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: messages.extend(_foreign(request.url)))
        page.goto(path.as_uri())
        page.evaluate("async () => { await window.pageDrawn; }")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert messages == []


def _foreign(url: str) -> list[str]:
    """Return a URL in a list, unless it is the page's own."""
    return [] if url.startswith(("file:", "blob:", "data:")) else [url]
