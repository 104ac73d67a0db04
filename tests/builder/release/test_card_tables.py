"""The tables of a card show the figures of the manifest."""

from __future__ import annotations

from typing import Any

from ruler_builder.release import card
from ruler_builder.release.card import render
from ruler_builder.release.metadata import collect_facts
from ruler_common.manifest import read_manifest
from ruler_common.names import languages_of
from tests.builder.release.card_reading import tables

Manifest = dict[str, Any]


def test_the_totals_are_those_of_the_manifest(text, manifest):
    entries = list(manifest["files"].values())
    rows, size = (sum(entry[key] for entry in entries) for key in ("rows", "bytes"))
    assert f"holds {len(entries)} files with {rows:,} rows ({size:,} bytes)" in text
    (row,) = tables(text, "tokenizer")[1]
    window = entries[0]["max_length"] - manifest["reserve"]
    full = [entry for entry in entries if not entry["exhausted"]]
    mean = sum(entry["fill"] * entry["rows"] for entry in full) / sum(e["rows"] for e in full)
    tokens = sum(entry["tokens"]["mean"] * entry["rows"] for entry in entries) / rows
    assert row == {
        "tokenizer": "tekken",
        "length": entries[0]["length"],
        "window": f"{entries[0]['max_length']:,}",
        "files": str(len(entries)),
        "rows": str(rows),
        "mean length": f"{tokens:,.1f}",
        "minimum fill": f"{100 * min(e['tokens']['min'] for e in full) / window:.2f} %",
        "mean fill": f"{100 * mean:.2f} %",
        "rows that use up a text or list": str(sum(entry["exhausted"] for entry in entries)),
    }


def test_the_fill_of_each_task_is_that_of_the_manifest(release):
    manifest = read_manifest(release)
    (table,) = tables((release / "README.md").read_text(encoding="utf-8"), "tekken: task")[:1]
    fill = {row["tekken: task"]: row["4k"] for row in table}
    window = 4096 - manifest["reserve"]
    expected = {}
    for entry in manifest["files"].values():
        if not entry["exhausted"]:
            min_fill = entry["tokens"]["min"] / window
            expected[entry["task"]] = f"{100 * entry['fill']:.2f} % ({100 * min_fill:.2f} %)"
    assert fill == expected
    assert list(fill) == [task for task in manifest["tasks"] if task in fill]


def test_the_card_shows_books_that_repeat_and_word_lists_that_run_out(oneruler):
    manifest = read_manifest(oneruler)
    text = (oneruler / "README.md").read_text(encoding="utf-8")
    entries = list(manifest["files"].values())
    (repeat_table,) = tables(text, "tekken: repeats")
    repeats: dict[str, list[int]] = {}
    for entry in entries:
        if entry["task"].startswith("niah"):
            row_repeats = entry.get("row_repeats", [0])
            repeats.setdefault(languages_of(entry), []).extend(row_repeats)
    assert any(map(any, repeats.values()))
    assert {row["tekken: repeats"]: row["8k"] for row in repeat_table} == {
        name: str(min(n)) if min(n) == max(n) else f"{min(n)} … {max(n)}"
        for name, n in repeats.items()
        if any(n)
    }
    (exhausted,) = tables(text, "tekken: language and task")
    assert {row["tekken: language and task"]: row["8k"] for row in exhausted} == {
        f"{entry['language']} {entry['task']}": f"{100 * entry['fill']:.2f} %, "
        f"{entry['exhausted']} of {entry['rows']} rows"
        for entry in entries
        if entry["exhausted"]
    }
    assert exhausted


def test_figures_are_summed_over_files():
    def entry(tokenizer: str, length: str, **more: Any) -> dict[str, Any]:
        window = int(length[:-1]) * 1024
        common = {"task": "qa_1", "rows": 2, "bytes": 5, "exhausted": 0, "repeats": 0, "fill": 0.5}
        tokens = {"min": 0.25 * (window - 24), "mean": 0.5 * (window - 24), "max": window}
        named = {"tokenizer": tokenizer, "length": length, "max_length": window, "tokens": tokens}
        return common | named | {"language": "en", "instruction_language": "en"} | more

    entries = [
        entry("b", "8k", repeats=3, row_repeats=[1, 3]),
        entry("b", "4k", exhausted=2, rows=1, fill=0.2),
        entry("b", "4k", rows=3, fill=0.9),
        entry("a", "4k"),
    ]
    manifest = {
        "dataset": "ruler",
        "tasks": {"qa_1": {}},
        "groups": {},
        "reserve": 24,
        "files": {str(place): entry for place, entry in enumerate(entries)},
    }
    groups = card.files_by_length(manifest)
    assert list(groups) == [("a", "4k"), ("b", "4k"), ("b", "8k")]
    both = groups["b", "4k"]
    assert both == entries[1:3]
    assert card.mean_fill(both) == "72.50 %"  # (0.2 + 3 * 0.9) / 4
    assert card.min_fill(both, reserve=24) == "25.00 %"
    figures = card.figures(manifest)
    assert (figures["rows"], figures["bytes"]) == (8, 20)
    assert "| b | 4k | 4,096 | 2 | 4 | 2,036.0 | 25.00 % | 90.00 % | 2 |" in figures["length_table"]
    assert figures["repeat_tables"].splitlines()[-3:] == [
        "| b: repeats | 4k | 8k |",
        "|---|---|---|",
        "| qa_1 | 0 | 1 … 3 |",
    ]


def test_the_tasks_of_a_custom_suite_are_named(manifest, text):
    assert "A custom suite" not in text
    task = next(task for task in manifest["tasks"] if task.startswith("niah_multikey"))
    manifest["tasks"][task]["keys"] = 6
    assert f"**A custom suite:** {task} differs from" in render(collect_facts(manifest))
    family = manifest["tasks"][task]["family"]
    manifest["families"][family]["max_new_tokens"] = 99
    of_family = [name for name, t in manifest["tasks"].items() if t["family"] == family]
    assert f"**A custom suite:** {', '.join(of_family)} differ from" in render(
        collect_facts(manifest)
    )


def test_every_task_is_shown_with_its_parameters(text, manifest):
    rows = {row["task"]: row for table in tables(text, "task") for row in table}
    words = {True: "yes", False: "no", "": "–"}
    for task in {entry["task"] for entry in manifest["files"].values()}:
        params = {k: v for k, v in manifest["tasks"][task].items() if k != "family"}
        assert rows[task] == {"task": task} | {
            name: words[value] if isinstance(value, bool) or value == "" else str(value)
            for name, value in params.items()
        }
    assert len(rows) == len({entry["task"] for entry in manifest["files"].values()})
