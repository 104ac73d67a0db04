"""What the tests of scoring share: lines of prediction files, results, a release of ONERULER."""

from __future__ import annotations

import itertools
import json
import re

from ruler_common.names import Config, Names, languages_of
from ruler_eval.frozen_release import Release
from ruler_eval.score import aggregates
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.results import FORMAT, RowTable, row_values, rows_by_config
from ruler_eval.score.troubles import TROUBLES
from ruler_score.ruler_score import ANSWER_TAGS
from tests.hand_written import write_release


def read(*files, **options):
    """The predictions in files or folders, read with these options of the command."""
    source = PredictionOptions([*files], **options)
    return open_predictions(source)[0]


def record(config, index, prediction="", **fields):
    """A line of this project's prediction files."""
    return {
        "config": config,
        "index": index,
        "prediction": prediction,
        "thinking": None,
        "finish_reason": "stop",
        "usage": None,
        "error": None,
        "thinking_ended": None,
        **fields,
    }


def whole_results(result):
    """A hand-written results.json with every field, its own where it has them."""
    cells, rows_of = {}, {}
    for name, cell in result["configurations"].items():
        records = result.get("rows", {"config": []})  # of results that have their table
        here = [place for place, config in enumerate(records["config"]) if config == name]
        of_table = {key: [values[place] for place in here] for key, values in records.items()}
        rows = {"index": [], "score": [], **of_table, **cell.get("rows", {})}
        if cell.get("score") is not None and not rows["index"]:
            rows |= {"index": [0], "score": [cell["score"] / 100]}
        mean = 100 * sum(rows["score"]) / len(rows["score"]) if rows["score"] else None
        cells[name] = {
            "max_length": 4096,
            "language": "en",
            "instruction_language": "en",
            "score": mean,
            "strict": None,
            "n": len(rows["index"]),
            "interval": None,
            **dict.fromkeys(TROUBLES, 0),
            **dict.fromkeys(("rows_requested", "rows_available"), len(rows["index"])),
            "depth": None,
            "proof": "rows",
            **{key: value for key, value in cell.items() if key != "rows"},
        }
        rows_of[name] = rows
    results = {"configurations": cells, "rows": row_table(cells, rows_of)}
    dataset = {"name": "ruler", "source": None, "data_version": None, "revision": None}
    dataset |= {"rows": {}, "custom_because": None, "tasks": [], "standard": None}
    dataset |= result.get("dataset", {})
    return {
        "format": FORMAT,
        "score_version": "1",
        "partial": False,
        "options": {"partial": False, "threshold": "chat", "claimed": None},
        "model": None,
        "mode": None,
        "run": {},
        "predictions": {},
        "summary": aggregates.summary(
            cells, rows_by_config(results), Names.standard(dataset["name"])
        ),
        "notes": [],
        **result,
        "rules": {"compat": None, "truncated": "protocol", **result.get("rules", {})},
        "dataset": dataset,
        **results,
    }


def row_table(cells, rows_of):
    """The table of a results.json, of some columns of each configuration's rows."""
    table = {column: [] for column in RowTable.__annotations__}
    for name, cell in cells.items():
        n = len(rows_of[name]["index"])
        facts = {"config": name, "task": cell["task"], "length": cell["length"]}
        facts |= {"language": languages_of(cell), "state": "ok", "references": "00000000"}
        facts |= {"truncated_scored": False, "found": 0, "right": 0}
        for column, values in table.items():
            values += rows_of[name].get(column) or [facts.get(column)] * n
    return table


def column(results, name, config):
    """A column of a configuration's rows."""
    return list(row_values(results, name)[config].values())


def change_column(results, name, config, values):
    """Put other values into a column of a configuration's rows."""
    rows, values = results["rows"], iter(values)
    rows[name] = [
        next(values) if of == config else old
        for of, old in zip(rows["config"], rows[name], strict=True)
    ]


def standard_suite():
    """The text of RULER's own suite, to be changed."""
    from importlib.resources import files

    return (files("ruler_builder.suites") / "ruler.toml").read_text(encoding="utf-8")


def right(config, row):
    """All references of a row."""
    return " " + " ".join(row["outputs"])


def write_lines(path, *lines):
    """Write a JSON Lines file, and its folder; half characters as escapes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


COLUMNS = ("index", "task", "input", "outputs", "evidence", "question", "none_word")


def write_run_folder(folder, root, answer, configs=None, **settings):
    """Write a RUN folder: `answer(config, row)` gives a text, the fields of a line, or None.

    `settings` are fields of run.json.
    """
    release = Release.open(str(root))
    chosen = list(configs or release.configs)
    for config in chosen:
        lines = []
        for row in release.rows(config, COLUMNS):
            fields = answer(config, row)
            if fields is not None:
                fields = {"prediction": fields} if isinstance(fields, str) else fields
                lines.append(record(config, row["index"], **fields))
        write_lines(folder / f"{config}.jsonl", *lines)
    run = {
        "format": 1,
        "model": folder.name,
        "backend": "test",
        "mode": "completion",
        "dataset": release.dataset,
        "data_version": "1.0.0",
        "rows": {config: release.rows_sha256(config) for config in chosen},
        "sessions": [{"source": str(root), "configs": chosen, "shard": None}],
        **settings,
    }
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    return folder


def tagged(release, config, text):
    """An answer in the tag of a configuration's instructions."""
    tag = ANSWER_TAGS[release.parse(config).instruction_language]
    return f"<{tag}> {text} </{tag}>"


WRITTEN_TASKS = ("niah_single", "niah_multivalue", "niah_none", "cwe_easy")


def write_oneruler(root, languages=("pl", "en-ko"), lengths=("8k",), rows=4, tasks=WRITTEN_TASKS):
    """A release of ONERULER by hand: four tasks in two languages, short rows."""
    from ruler_score.oneruler_rules import NONE_WORDS

    tables = {}
    for task, pair, length in itertools.product(tasks, languages, lengths):
        text, instruction = (pair.split("-") * 2)[:2]
        config = Config(
            "oneruler",
            task,
            length,
            tokenizer="cl100k",
            language=text,
            instruction_language=instruction,
        )
        none = NONE_WORDS[instruction][0]
        tables[config] = [_oneruler_row(config, index, none) for index in range(rows)]
    names = Names.standard("oneruler")
    groups = {name: list(group) for name, group in names.groups.items()}
    return write_release(root, tables, {"repeats": 1}, tasks=names.tasks, groups=groups)


def _oneruler_row(config, index, none):
    values = [str(1_000_000 + 10 * index + i) for i in range(4)]
    outputs = {
        "niah_single": values[:1],
        "niah_single_nonone": values[:1],
        "niah_multikey": values[:1],
        "niah_multiquery": values[:2],
        "niah_multivalue": values,
        "niah_none": [none],
        "cwe_easy": [f"słowo{letter}" for letter in "abcdefghij"],
        "cwe_hard": [f"słowo{letter}" for letter in "abcdefghij"],
    }[config.task]
    needles = [f"„kot” to: {value}." for value in values]
    units = ["Był dzień."] * 20
    for place, text in enumerate(needles if not config.task.startswith("cwe") else []):
        units.insert(5 * place, text)
    context = " ".join(units)
    evidence = [
        {
            "start": (start := context.index(text)),
            "end": start + len(text),
            "depth": start / len(context),
            "answer": config.task != "niah_none" and value in outputs,
        }
        for text, value in zip(needles, values, strict=True)
        if text in context
    ]
    return {
        "index": index,
        "task": config.task,
        "language": config.language,
        "instruction_language": config.instruction_language,
        "max_length": config.max_length,
        "input": context,
        "answer_prefix": "",
        "outputs": outputs,
        "max_new_tokens": 128,
        "length": 500,
        "context_start": 0,
        "context_end": len(context),
        "question": "?",
        "evidence": evidence,
        "none_word": none,
    }


def effective_lengths(stdout: str) -> dict[str, list[str]]:
    """By group, threshold and effective length (without its interval) of `ruler score`."""
    (table,) = [text for text in stdout.split("\n\n") if re.match("group +Avg.*effective", text)]
    rows = (re.split(" {2,}", line) for line in table.splitlines())
    return {row[0]: [row[-2], row[-1].partition(" ")[0]] for row in rows}
