"""What `ruler errors` prints: kinds of errors by configuration, with shares and an example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ruler_common.terminal import COLUMNS, line_of, narrow_table, sentences, width
from ruler_eval.analysis.errors.error_kinds import KINDS
from ruler_eval.report.table_parts import titled, without_nothing

_SHOWN = 60  # characters of a reference or an answer in an example


def report(found: Sequence[dict[str, Any]], markdown: bool = False) -> str:
    """A row for each configuration and kind: rows, share of the wrong ones; below it an example."""
    if not found:
        return "No wrong answers."
    rows, examples = [], []
    for config in dict.fromkeys(error["config"] for error in found):
        wrong = [error for error in found if error["config"] == config]
        for kind in KINDS:
            same = [error for error in wrong if error["kind"] == kind]
            if same:
                share = f"{100 * len(same) / len(wrong):.0f} %"
                detail = _detail(kind, same)
                rows.append([config, kind, str(len(same)), share, detail])
                examples.append(_example(same[0]))
    header = ["configuration", "kind", "rows", "share", "mean"]
    kinds = [kind for kind in KINDS if any(error["kind"] == kind for error in found)]
    meanings = "\n".join(sentences(f"{kind}: {KINDS[kind]}", markdown) for kind in kinds)
    header, rows = without_nothing(header, rows)
    if markdown:
        header.append("an example")
        rows = [[*row, example] for row, example in zip(rows, examples, strict=True)]
    left = (0, 1, len(header) - 1) if markdown else (0, 1)
    below = [_indented(example) for example in examples]
    parts = [narrow_table(header, rows, markdown, left, below), meanings]
    parts.append(from_memory(found, markdown))
    return "\n\n".join(filter(None, parts))


def from_memory(found: Sequence[dict[str, Any]], markdown: bool = False) -> str:
    """The share of wrong answers that are the model's own without documents; "" where not known."""
    known = [error for error in found if "memory" in error]
    rows = []
    for config in dict.fromkeys(error["config"] for error in known):
        wrong = [error for error in known if error["config"] == config]
        same = sum(error["kind"] == "from_memory" for error in wrong)
        rows.append([config, str(len(wrong)), str(same), f"{100 * same / len(wrong):.0f} %"])
    title = "Wrong answers that are the model's own without documents (RULER, section 5)"
    return titled(title, ["configuration", "wrong", "from memory", "share"], rows, markdown)


def _detail(kind: str, errors: Sequence[dict[str, Any]]) -> str:
    """How many of n were found, or how near the distractor stood to the gold."""
    gaps = [error["gap"] for error in errors if error["gap"] is not None]
    if gaps:
        return f"{100 * sum(gaps) / len(gaps):.0f} % of depth away"
    if kind in ("incomplete", "repeats"):
        found = sum(error["found"] for error in errors) / len(errors)
        of = sum(error["of"] for error in errors) / len(errors)
        return f"{found:.1f} of {of:.1f}"
    return ""


def _example(error: dict[str, Any]) -> str:
    wanted = _short(", ".join(error["outputs"]))
    given = "nothing" if error["prediction"] is None else repr(_short(error["prediction"]))
    return f"row {error['index']}: {wanted} <- {given}".replace("|", "/")


def _indented(example: str) -> str:
    """An example below its row; what does not fit the line is left out, and a sign says so."""
    line = "  " + line_of(example)
    if width(line) <= COLUMNS:
        return line
    while width(line) > COLUMNS - 1:
        line = line[:-1]
    return line + "…"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
