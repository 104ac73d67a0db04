"""Runs for the page's tests: right and wrong answers to a release's rows, and hostile ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.eval.scoring_helpers import right, write_run_folder
from tests.in_process import ruler_output

Answer = Callable[[str, Mapping[str, object]], str | dict[str, object] | None]
PHONE = {"width": 390, "height": 800}
DESK = {"width": 1280, "height": 900}
AXE = Path(__file__).parent / "axe_core/axe.min.js"
HOSTILE = {
    "markup": "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>",
    "end": "</script></dialog></body><script>window.stolen = 1</script><!--",
    "bidi": "1234\u202e5678 \u2066left\u2069 and \u200f right",
    "long": "z" * 1_000_000,
    "ansi": "\x1b[31mred\x1b[0m \x07bell \x00null",
    "rich": "[bold red]bold[/bold red] [link=https://example.org]link[/link]",
    "half": "a half \ud83d character",
    "template": "{{ 7 * 7 }} {% raw %} @DATA@ ${alert(1)} \u2028",
}
"""Hostile answers, by what they attempt."""


def write_run(
    folder: Path, release: Path, answer: Answer, model: str, configs: list[str] | None = None
) -> Path:
    """Write and score a RUN folder; `answer` gives a text, the fields of a line, or None."""
    engine: dict[str, Any] = {"backend": "vllm", "backend_version": "0.32.0", "mode": "prefill"}
    engine["thinking"] = {"on": False, "budget": 0}
    write_run_folder(folder, release, answer, configs, model=model, **engine)
    ruler_output("score", folder)
    return folder


def worse(share: int) -> Callable[[str, Mapping[str, object]], str]:
    """Return a function that answers every `share`-th row wrongly, and the others rightly."""

    def answer(config: str, row: Mapping[str, object]) -> str:
        if int(str(row["index"])) % share == 0:
            return " It is 7654321, I think."
        return right(config, row)

    return answer


def hostile(config: str, row: Mapping[str, object]) -> str:
    """Return one of the hostile answers, in turn by the row's index."""
    return list(HOSTILE.values())[int(str(row["index"])) % len(HOSTILE)]


def serious_faults(page: Any, selector: str = "body") -> list[tuple[str, str, list[str]]]:
    """Return the violations below an element that axe-core rates serious or critical."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    # By default axe also lists the thousands of elements without a violation.
    options = "{resultTypes: ['violations'], preload: false}"
    faults = page.evaluate(f"async at => (await axe.run(at, {options})).violations", selector)
    return [
        (fault["id"], fault["help"], [node["html"][:200] for node in fault["nodes"][:3]])
        for fault in faults
        if fault["impact"] in ("serious", "critical")
    ]


def figures_without_table(html: str) -> list[str]:
    """Return the beginnings of the figures of a page that lack a table of their numbers."""
    figures = html.split("<figure")[1:]
    wanted = ('<details class="numbers">', '<th scope="col">', "<tbody><tr><td>", "<caption>")
    bodies = [figure.partition("</figure>")[0] for figure in figures]
    return [body[:120] for body in bodies if not all(text in body for text in wanted)]
