"""Writes and reads results.json, and refuses one that contradicts itself.

    write(results, Path("runs/qwen/results.json"))
    load(Path("runs/qwen"))["configurations"]["vt_4k"]["score"]

Its form is in ruler_eval/score/results_file.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

from ruler_common.errors import RulerError
from ruler_common.files import read_bytes, write_whole
from ruler_common.languages import own_facts
from ruler_common.names import (
    CODE,
    LANGUAGES,
    TASKS,
    Names,
    check_name,
    in_tokens,
    parse_length,
)
from ruler_common.parsing import parse_json
from ruler_eval.score.aggregates import categories, group, in_languages
from ruler_eval.score.cells.depth import BINS
from ruler_eval.score.formats.run_facts import check_times
from ruler_eval.score.results_file import FORMAT, Cell, DepthBin, GroupSummary, Results

_MOST = 1 << 53
"""What no number of rows or tokens reaches."""
_ROUNDING = 1e-6


def write(results: Results, path: Path) -> None:
    """Write results.json, whole or not at all."""
    text = json.dumps(results, ensure_ascii=False, indent=1, allow_nan=False, default=asdict)
    write_whole(path, text + "\n")


def load(path: Path) -> Results:
    """Read a results.json, or the one in a RUN folder.

    Raises RulerError where there is none, if it is another file, or of a newer format.
    """
    path = path / "results.json" if path.is_dir() else path
    if not path.exists():
        made = f". Make it: ruler score {path.parent} --out {path}"
        other = ": name a scored RUN folder or a results.json."
        raise RulerError(f"There is no '{path}'{made if path.name == 'results.json' else other}")
    again = "Make it anew with `ruler score`."
    what = "no results.json of `ruler score`"
    found = parse_json(read_bytes(path), Results, path, again, FORMAT, what)
    results = cast(Results, found)
    check_times(results["run"], path)
    if wrong := next(_wrong_values(results), None):
        raise RulerError(f"'{path}' is damaged: {wrong}. {again}")
    return results


def _is_near(score: float | None, mean: float | None) -> bool:
    """Whether two scores are one but for rounding, or both are none."""
    if score is None or mean is None:
        return score is mean
    return math.isclose(score, mean, abs_tol=_ROUNDING)


def _is_around(score: float | None, interval: Sequence[float] | None) -> bool:
    """Whether an interval has two ends and the score between them; there may be none."""
    if interval is None:
        return True
    near = _ROUNDING
    return (
        len(interval) == 2
        and score is not None
        and interval[0] - near <= score <= interval[1] + near
    )


def _wrong_values(results: Results) -> Iterator[str]:
    """What no `ruler score` writes, though it is of the right type."""
    check_name("dataset", results["dataset"]["name"], TASKS, "ruler score --help")
    own = results["dataset"].get("languages", {})
    for code, table in own.items():
        if code in LANGUAGES or not re.fullmatch(CODE, code):
            yield f"dataset.languages has {code!r}, which is no language of its own"
        own_facts(table, f"dataset.languages.{code}")
    known = {*LANGUAGES, *own}
    for name, cell in results["configurations"].items():
        where, rows = f"configurations.{name}", cell["rows"]
        if unknown := {cell["language"], cell["instruction_language"]} - known:
            yield f"{where} is in {min(unknown)!r}, of which dataset.languages says nothing"
        indices, scores = rows["index"], rows["score"]
        columns: tuple[Sequence[object] | None, ...]
        columns = (scores, rows["found"], rows["question"], rows["prompt"])
        columns += (rows.get("references"), rows.get("document"))
        if any(column is not None and len(column) != len(indices) for column in columns):
            yield f"{where}.rows has columns of different lengths"
        if len({*indices}) != len(indices) or any(not 0 <= i < _MOST for i in indices):
            yield f"{where}.rows has indices that are none"
        if any(not 0 <= score <= 1 for score in scores):
            yield f"{where}.rows has a score that is not between 0 and 1"
        shares = [cell["score"], cell["strict"], *(cell["interval"] or ())]
        if any(share is not None and not 0 <= share <= 100 for share in shares):
            yield f"{where} has a score that is not between 0 and 100"
        mean = 100 * math.fsum(scores) / len(scores) if scores else None
        if cell["n"] != len(indices) or not _is_near(cell["score"], mean):
            shown = "no score" if mean is None else f"a mean of {mean:.4f}"
            yield (
                f"{where} has n {cell['n']} and the score {cell['score']}, its {len(indices)} rows "
                f"{shown}"
            )
        if not _is_around(cell["score"], cell["interval"]):
            yield f"{where}.interval is none around its score"
        if not {*indices}.issuperset(rows["truncated"]):
            yield f"{where}.rows has truncated rows that it does not list"
        counts: tuple[int, ...] = (cell["n"], cell["missing"], cell["failed"], cell["max_length"])
        counts += (cell["cut"], cell["cut_scored"], cell["thinking"], cell["thinking_cut"])
        counts += (cell["duplicated"], cell["does_not_fit"])
        if any(not 0 <= count < _MOST for count in counts):
            yield f"{where} has a count that is none"
        if cell["missing"] > cell["n"] + cell.get("dropped", 0) and not results["partial"]:
            yield f"{where} lacks more rows than it has"
        if not _is_named(name, cell, results["dataset"]["name"]):
            yield f"{where} is of {cell['task']} at {cell['length']}, {cell['max_length']} tokens"
        if (bins := cell["depth"]) is not None and not _are_bins(bins):
            yield f"{where}.depth has not ten bins of scores between 0 and 100"
    yield from _wrong_means(results)


def _is_named(name: str, cell: Cell, dataset: str) -> bool:
    """Whether a configuration's name tells the task and the length that its cell is of."""
    length = cell["length"]
    tokens = {int(length)} if in_tokens(length) else set()
    with suppress(RulerError):
        tokens.add(parse_length(length, dataset))
    return f"{name}_".startswith(f"{cell['task']}_{length}_") and cell["max_length"] in tokens


def _are_bins(bins: Sequence[DepthBin]) -> bool:
    scores = [one["score"] for one in bins]
    sound = all(score is None or 0 <= score <= 100 for score in scores)
    return len(bins) == BINS and sound and all(0 <= one["n"] < _MOST for one in bins)


def _wrong_means(results: Results) -> Iterator[str]:
    """Means in the summary that are not those of the configurations.

    The groups of a suite of one's own, and those of an older format, are not known here.
    """
    cells, dataset = results["configurations"], results["dataset"]
    names = Names.of(dataset["name"])
    standard = dataset["standard"] is not False and {*dataset["tasks"]} == {*names.tasks}
    known = standard and results["format"] == FORMAT
    for tokenizer in dict.fromkeys(cell["tokenizer"] or "unknown" for cell in cells.values()):
        if not results["summary"].get(tokenizer):
            yield f"summary says nothing of {tokenizer}"
    for tokenizer, by_language in results["summary"].items():
        for languages, groups in by_language.items():
            where = f"summary.{tokenizer}.{languages}"
            chosen = {
                name: cell
                for name, cell in cells.items()
                if (cell["tokenizer"] or "unknown") == tokenizer and in_languages(cell, languages)
            }
            if not chosen or "all" not in groups:
                yield f"{where} has no configuration, or no group all"
            for category in categories(names, chosen) if known else ():
                if (stored := groups.get(category.name)) is None:
                    continue
                own = replace(category, chat=stored["threshold"])
                again, called = group(chosen, own), stored["effective_length_name"]
                same_name = called.removeprefix(">") == again["effective_length_name"]
                if not same_name or not _are_near(_means(stored), _means(again)):
                    yield f"{where}.{category.name} has other means than its configurations"


def _means(found: GroupSummary) -> list[float | None]:
    """The means of a group and the lengths that follow from them."""
    lengths = sorted(found["lengths"].values(), key=lambda mean: mean["tokens"])
    every = (found["average"], found["weighted_inc"], found["weighted_dec"], *lengths)
    return [
        *(mean["score"] for mean in every),
        *(mean["strict"] for mean in lengths),
        *(float(count) for mean in lengths for count in (mean["tokens"], mean["tasks"])),
        *(found["effective_length"], found["relative_effective_length"]),
    ]


def _are_near(ours: Sequence[float | None], theirs: Sequence[float | None]) -> bool:
    return len(ours) == len(theirs) and all(map(_is_near, ours, theirs))
