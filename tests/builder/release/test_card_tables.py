"""The tables of a card show the figures of the manifest."""

from __future__ import annotations

from typing import Any

from ruler_builder.release import card
from ruler_builder.release.card import render
from ruler_builder.release.facts import collect_facts
from ruler_common.manifest import read_manifest
from ruler_common.names import languages_of
from tests.builder.release.card_reading import tables

Manifest = dict[str, Any]


def percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def test_the_totals_are_those_of_the_manifest(text, manifest):
    entries = list(manifest["files"].values())
    rows, size = (sum(entry[key] for entry in entries) for key in ("rows", "bytes"))
    assert f"holds {len(entries)} files with {rows:,} rows ({size:,} bytes)" in text
    entry = entries[0]
    assert f"tokens: {entry['length']} is {entry['max_length']:,}. How full" in text


def test_the_fill_of_each_task_is_that_of_the_manifest(release):
    manifest = read_manifest(release)
    table = tables((release / "README.md").read_text(encoding="utf-8"), "tokenizer")[-1]
    window = 4096 - manifest["reserve"]
    tasks = list(manifest["tasks"])
    expected = []
    for entry in sorted(manifest["files"].values(), key=lambda e: tasks.index(e["task"])):
        figures = f"{percent(entry['fill'])} ({percent(entry['tokens']['min'] / window)})"
        if entry["repeats"]:
            figures += f"; repeats {entry['repeats']}"
        assert not entry["exhausted"]
        expected.append({"tokenizer": "tekken", "task": entry["task"], "4k": figures})
    assert table == expected


def test_the_card_shows_books_that_repeat_and_word_lists_that_run_out(oneruler):
    manifest = read_manifest(oneruler)
    text = (oneruler / "README.md").read_text(encoding="utf-8")
    assert '"repeats" is how many times a finite text, a book,' in text
    assert '"used up" is how many rows hold all of a finite dictionary' in text
    seen = set()
    for row in tables(text, "tokenizer")[-1]:
        entries = [e for e in manifest["files"].values() if languages_of(e) == row["language"]]
        repeats = max(entry["repeats"] for entry in entries)
        assert (f"; repeats {repeats}" in row["8k"]) is (repeats > 0)
        used_up = [entry for entry in entries if entry["exhausted"]]
        rows = sum(entry["rows"] for entry in used_up)
        count = sum(entry["exhausted"] for entry in used_up)
        assert (f"; {count} of {rows} used up, " in row["8k"]) is bool(used_up)
        seen |= {repeats > 0, f"{bool(used_up)}"}
    assert {True, "True"} <= seen


def test_figures_are_summed_over_files():
    def entry(tokenizer: str, length: str, **more: Any) -> dict[str, Any]:
        window = int(length[:-1]) * 1024
        common = {"task": "qa_1", "rows": 2, "bytes": 5, "exhausted": 0, "repeats": 0, "fill": 0.5}
        tokens = {"min": 0.25 * (window - 24), "mean": 0.5 * (window - 24), "max": window}
        named = {"tokenizer": tokenizer, "length": length, "max_length": window, "tokens": tokens}
        return common | named | {"language": "en", "instruction_language": "en"} | more

    entries = [
        entry("b", "8k", repeats=3, row_repeats=[1, 3]),
        entry("b", "4k", exhausted=2, rows=5, fill=0.2),
        entry("b", "4k", rows=3, fill=0.9),
        entry("b", "4k", rows=1, fill=0.5),
        entry("a", "4k"),
        entry("a", "0k", task="vt"),
    ]
    manifest = {
        "dataset": "ruler",
        "tasks": {"vt": {}, "qa_1": {}},
        "reserve": 24,
        "files": {str(place): entry for place, entry in enumerate(entries)},
    }
    assert card.figures(manifest).splitlines() == [
        "| tokenizer | task | 0k | 4k | 8k |",
        "|---|---|---|---|---|",
        "| a | vt | – | – | – |",
        "| a | qa_1 | – | 50.00 % (25.00 %) | – |",
        # (3 * 0.9 + 0.5) / 4
        "| b | qa_1 | – | 80.00 % (25.00 %); 2 of 5 used up, 20.00 % "
        "| 50.00 % (25.00 %); repeats 3 |",
    ]
    assert card.mean_fill(entries[1:3]) == "46.25 %"
    assert card.min_fill(entries[1:3], reserve=24) == "25.00 %"


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
