"""The readers of prediction files: a function for each tool, which knows where it writes what.

    file = read_file(Source(Path("4096/pred/vt.jsonl"), options, names, release))
    file.rows[0].config, file.rows[0].text, file.run, file.model

A reader takes the records of a file and yields a Prediction for each answer. TOOLS lists what the
records of each tool look like; the first tool that fits the first record reads the file.
docs/formats.md has the same list for users.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ruler_common.errors import RulerError
from ruler_common.files import parse_yaml
from ruler_common.text import number_of, one_line
from ruler_eval.file_records import Record, file_records
from ruler_eval.prediction import Prediction
from ruler_eval.score.columns import INDEX, MISSING, SAMPLE, Columns, first_of, no_index
from ruler_eval.score.own_run import is_of_run
from ruler_eval.score.paths import facts_of_folders, path_text, stem_of, task_named
from ruler_eval.score.source import Source
from ruler_eval.score.values import read_answers

Records = Iterable[Record]
SIMPLEST = '{"config": "vt_4k", "index": 0, "prediction": "…"}'
"""The simplest line that can be read, for messages."""


# ---- This project's runs -------------------------------------------------------------------------


def own_run(records: Records, source: Source) -> Iterator[Prediction]:
    """Read the lines of `ruler run`: RUN/answers.jsonl, where the last line of a row counts.

    A run answers a row again only if it had failed.
    """
    rows = _own_lines(records, source)
    if not is_of_run(source.file):
        yield from rows
        return
    last: dict[tuple[str, int, int], Prediction] = {}
    replaced = []
    for row in rows:
        key = row.config, row.index, row.sample
        if key in last and not last[key].failed:
            replaced.append(row.where)
        last[key] = row
    if replaced:
        source.notes.append(
            f"{source.file}: {number_of(len(replaced), 'answer')} to a row that had one already, "
            f"of which the last counts (the first at {replaced[0]}): was another file added?"
        )
    yield from (last[key] for key in sorted(last))


def _own_lines(records: Records, source: Source) -> Iterator[Prediction]:
    """Yield the answer in each line."""
    for where, line in records:
        if not source.is_own_run:
            source.add_model(line.get("model"))
        sample = first_of(line, SAMPLE[:1] if source.is_own_run else SAMPLE)
        usage = line["usage"] if isinstance(line.get("usage"), Mapping) else {}
        yield from source.answers(
            source.configs.of_record(line["config"]),
            line["index"],
            line["prediction"],
            outputs=line.get("outputs"),
            finish_reason=line.get("finish_reason"),
            thinking=line.get("thinking"),
            thinking_ended=line.get("thinking_ended"),
            thinking_tokens=usage.get("thinking_tokens"),
            prompt_tokens=usage.get("prompt_tokens"),
            error=line.get("error"),
            seconds=line.get("seconds"),
            sample=None if sample is MISSING else sample,
            where=where,
        )


# ---- Other tools ---------------------------------------------------------------------------------


def reference(records: Records, source: Source) -> Iterator[Prediction]:
    """Read the reference code's answers: llama/4096/pred/vt.jsonl, or in parts vt-0.jsonl."""
    match = _in_path(source, r"(?:/(?P<length>[1-9]\d{3,6}))?(?:/pred)?/(?P<task>[^/]+)\.\w+$")
    task = re.sub(r"-\d+$", "", match["task"])
    config = source.configs.by_name(task, match["length"])
    for where, line in records:
        yield from source.answers(
            config,
            (line.get("others") or {}).get("id", line["index"]),
            line["pred"],
            outputs=line.get("outputs", line.get("output")),
            prompt=line.get("input"),
            prefix=line.get("answer_prefix"),
            where=where,
        )


def submission(records: Records, source: Source) -> Iterator[Prediction]:
    """Read the reference code's table of all tasks: llama/4096/pred/submission.csv."""
    match = _in_path(source, r"(?:/(?P<length>[1-9]\d{3,6}))?(?:/pred)?/[^/]+$")
    for where, line in records:
        config = source.configs.find(task=line["Task"], length=match["length"])
        yield from source.answers(config, line["ID"], line["Prediction"], where=where)


def lm_eval(records: Records, source: Source) -> Iterator[Prediction]:
    """Read lm-evaluation-harness's samples: out/model/samples_ruler_vt_TIME.jsonl.

    A file has a record for each filter of an answer: those of `none` are read, which has the whole
    answer, else those of the first filter by name.
    """
    name = _name_before_time(source).removeprefix("samples_")
    facts = _facts_beside(source.file, f"results_{source.session}.json")
    source.model = facts.get("model_name")
    frozen = re.fullmatch(r"(?:one)?ruler_(?:frozen|direct)_(.+)", name)
    filters: dict[str, list[Prediction]] = {}
    changed: dict[str, list[str]] = {}  # the places of texts that a filter made
    for where, line in records:
        doc = line["doc"]
        if frozen:
            config = source.configs.find(source.names.parse(frozen[1]).name)
        else:
            config = source.configs.find(
                task=name, length=doc.get("max_length", doc.get("max_seq_length"))
            )
        prefix = doc.get("answer_prefix", doc.get("gen_prefix"))
        responses = line["filtered_resps"] if "filtered_resps" in line else line["resps"]
        answers = source.answers(
            config,
            doc.get("index", line.get("doc_id")),
            responses,
            outputs=doc.get("outputs"),
            question=doc.get("question"),
            prompt=doc.get("input"),
            prefix=prefix,
            columns=doc,
            where=where,
        )
        name_of_filter = str(line.get("filter", "none"))
        filters.setdefault(name_of_filter, []).extend(answers)
        whole = {(answer.text or "").strip() for answer in read_answers(line.get("resps"))}
        if whole != {""} and any(answer.text.strip() not in whole for answer in answers):
            changed.setdefault(name_of_filter, []).append(where)
    chosen = "none" if "none" in filters else min(filters, default="none")
    if len(filters) > 1:
        source.notes.append(
            f"{source.file} has the answers of {len(filters)} filters "
            f"({', '.join(sorted(filters))}): those of the filter '{chosen}' are read"
        )
    if places := changed.get(chosen):
        source.notes.append(
            f"{source.file}: {number_of(len(places), 'answer')} of the filter '{chosen}' "
            f"{'is' if len(places) == 1 else 'are'} not what the model wrote, which is in `resps` "
            f"(the first at {places[0]})"
        )
    yield from filters.get(chosen, ())


def authors(records: Records, source: Source) -> Iterator[Prediction]:
    """Read the answers of ONERULER's authors: out/pl/niah_none/8000/prediction_o3.jsonl."""
    source.model = stem_of(source.file).removeprefix("prediction_")
    source.run = source.model
    facts = facts_of_folders(source.file, source.names)
    config = source.configs.find(
        None, facts.get("task"), facts.get("length"), facts.get("languages")
    )
    for where, line in records:
        answers = [key for key in line if key.startswith("response-")]
        own = f"response-{source.model}"
        if len(answers) > 1 and own not in answers:
            raise RulerError(
                f"'{where}' has the answers of several models ({', '.join(answers)}): name one "
                f"with --columns prediction={answers[0]},index=index,outputs=outputs."
            )
        text = line[own if own in answers else answers[0]]
        yield from source.answers(
            config,
            line["index"],
            text,
            error="no response" if text is None else None,
            outputs=line.get("outputs"),
            prompt=line.get("input"),
            finish_reason=line.get("finish_reason"),
            thinking_tokens=line.get("reasoning_tokens"),
            where=where,
        )


def kvpress(records: Records, source: Source) -> Iterator[Prediction]:
    """Read kvpress's answers: ruler__4096__org--model__knorm__0.50/predictions.csv.

    They have no index, and with --fraction they are a sample of the rows in a random order: the row
    of an answer is the release's row with its question and references. A second run into the same
    folder is in its subfolder `1`.
    """
    folder = source.file.absolute().parent
    if folder.name.isdecimal() and "__" in folder.parent.name:
        folder = folder.parent
    facts = {**_kvpress_folder(folder.name), **_facts_beside(source.file, "config.yaml")}
    length = facts.get("data_dir") or facts.get("length")
    names = [facts.get(name) for name in ("model", "press_name", "compression_ratio")]
    if facts.get("query_aware"):
        names.append("query_aware")
    source.model = " ".join(str(name) for name in names if name is not None).replace("--", "/")
    source.run = source.model or source.run
    if source.release is None and facts.get("fraction", 1) != 1:
        source.notes.append(
            f"{source.file} has the answers to a sample of the rows (--fraction), which are "
            "numbered in their order: name the release with --dataset to find out which they are"
        )
    if facts.get("max_context_length") is not None:
        source.notes.append(
            f"{source.file} was made with --max_context_length {facts['max_context_length']}: "
            "longer contexts were truncated"
        )
    for where, line in records:
        config = source.configs.by_name(line["task"], length)
        question = _kvpress_question(line.get("question"))
        yield from source.answers(
            config,
            source.row_finder.find(config, question, line["answer"], where),
            line["predicted_answer"],
            outputs=line["answer"],
            question=question,
            where=where,
        )


def _kvpress_folder(name: str) -> dict[str, str]:
    """Return what the name of kvpress's folder says about its run.

    ruler__4096__org--model__knorm__0.50__fraction0.100__query_aware
    """
    match = re.fullmatch(
        r"(?:ruler__)?(?P<length>[1-9]\d{3,6})(?:__(?P<model>.+?)(?:__.+)?"
        r"__(?P<press_name>(?:(?!__).)+)__(?P<compression_ratio>[\d.]+)"
        r"(?:__fraction(?P<fraction>[\d.]+))?(?:__max_context(?P<max_context_length>\d+))?"
        r"(?:__(?P<query_aware>query_aware))?(?:__key_channel_cr[\d.]+)?)?",
        name,
    )
    if match is None:
        return {}
    return {name: value for name, value in match.groupdict().items() if value is not None}


def _kvpress_question(text: str | None) -> str | None:
    """Return the question alone; None if it is a part of the context (--query_aware)."""
    match = re.fullmatch(r"(?:.*Question:)?\s*(.*?)\s*", text or "", re.DOTALL)
    return (match[1] or None) if match else None


def lighteval(records: Records, source: Source) -> Iterator[Prediction]:
    """Read lighteval's details: details/model/TIME/details_ruler_frozen_4k:vt|0_TIME.parquet."""
    name = _name_before_time(source).removeprefix("details_")
    place = re.search(r"/details/(?P<model>.+)/[^/]+/[^/]+$", source.path)
    source.model = place["model"] if place else None
    for where, line in records:
        doc, response = line["doc"], line["model_response"]
        task = str(doc.get("task_name") or name)
        # "community|ruler_frozen_4k:vt|0", whose languages and tokenizer follow the length
        frozen = re.search(r"ruler_(?:frozen|direct)_([\w.-]+):(\w+)", task)
        text = f"{frozen[2]}_{frozen[1]}" if frozen else task.split("|")[0]
        yield from source.answers(
            source.configs.by_name(text, None),
            doc["id"],
            response["text"],
            outputs=doc.get("choices"),
            prompt=doc.get("query"),
            where=where,
        )


def opencompass(records: Records, source: Source) -> Iterator[Prediction]:
    """Read OpenCompass's answers: predictions/model/ruler_qa_squad_4k.json, or in parts …_0.json.

    Each part numbers its rows from 0, so those of the parts before it are counted.
    """
    name, start = stem_of(source.file), 0
    if part := re.fullmatch(r"(?P<name>.+[km\d])_(?P<part>\d{1,2})", name):
        name = part["name"]
        for number in range(int(part["part"])):
            earlier = source.file.with_name(
                source.file.name.replace(f"_{part['part']}.", f"_{number}.")
            )
            if not earlier.is_file():
                raise RulerError(f"'{source.file}' needs the part before it, '{earlier.name}'.")
            start += len(json.loads(earlier.read_bytes()))
    source.model = source.file.absolute().parent.name if "/predictions/" in source.path else None
    config = source.configs.by_name(name, None)
    for where, line in records:
        yield from source.answers(
            config,
            int(line["index"]) + start,
            line["prediction"],
            outputs=line.get("gold"),
            prompt=line["origin_prompt"],
            where=where,
        )


def nemo_skills(records: Records, source: Source) -> Iterator[Prediction]:
    """Read NeMo-Skills' answers: eval-results/ruler.SETUP.vt/output.jsonl, output-rs1.jsonl."""
    folder = source.file.absolute().parent.name.rpartition(".")[2]
    for where, line in records:
        yield from source.answers(
            source.configs.by_name(folder, line.get("max_length")),
            line.get("index"),
            line["generation"],
            outputs=line["expected_answer"],
            question=None,
            finish_reason=line.get("finish_reason"),
            where=where,
        )


def nemo_gym(records: Records, source: Source) -> Iterator[Prediction]:
    """Read NeMo Gym's rollouts of exported rows: the --output of `gym eval run`."""
    for where, line in records:
        response = line["response"]
        source.add_model(response.get("model"))
        yield from source.answers(
            source.configs.of_record(line["config"]),
            line["index"],
            response,
            outputs=line.get("outputs"),
            prompt=line["responses_create_params"].get("input"),
            sample=line.get("_ng_rollout_index"),
            error=line.get("failure_reason"),
            where=where,
        )


def helmet(records: Records, source: Source) -> Iterator[Prediction]:
    """Read HELMET's answers, the list `data` of its document; it shortens the prompts."""
    source.says_numbered = True
    for where, line in records:
        config = source.configs.by_name(stem_of(source.file), None)
        yield from source.answers(
            config, line.get("index"), line["output"], outputs=line["answer"], where=where
        )


def plain(records: Records, source: Source) -> Iterator[Prediction]:
    """Read the simplest files, which have a prediction and usually an index: vt_4k.csv."""
    for where, line in records:
        source.add_model(line.get("model"))
        index, sample = first_of(line, INDEX), first_of(line, SAMPLE)
        if index is MISSING:
            raise no_index(source.file, "id")
        task = line.get("task")
        is_task = task is not None and task_named(str(task), source.names) in source.names.tasks
        config = line.get("config") or None
        yield from source.answers(
            source.configs.of_record(config)
            if config
            else source.configs.by_name(task if is_task else None, line.get("max_length")),
            index,
            line["prediction"],
            outputs=line.get("outputs"),
            finish_reason=line.get("finish_reason"),
            thinking=line.get("thinking"),
            error=line.get("error"),
            sample=None if sample is MISSING else sample,
            where=where,
        )


def batch_output(records: Records, source: Source) -> Iterator[Prediction]:
    """Refuse the output of a batch API, which belongs to the run that wrote the requests."""
    raise RulerError(
        f"'{source.file}' is a file of a batch API. `ruler batch read RUN {source.file}` puts its "
        "answers into the folder RUN that `ruler batch write` wrote; then: ruler score RUN"
    )


# ---- Which tool ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Tool:
    """What the files of a tool look like, and the function that reads them."""

    name: str  # as in docs/formats.md
    matches: Callable[[Collection[str]], bool]  # of the keys of its first record
    read: Callable[[Records, Source], Iterator[Prediction]]
    # The paths that it writes, by which its files are found in a folder; None: name the files.
    paths: str | None = None
    # The benchmark if it is always the same one.
    dataset: str | None = None


TOOLS = (
    Tool(
        name="this project's runs",
        matches=lambda keys: {"config", "index", "prediction"} <= {*keys},
        read=own_run,
    ),
    Tool(
        name="a batch's output",
        matches=lambda keys: "custom_id" in keys,
        read=batch_output,
    ),
    Tool(
        name="the reference code",
        matches=lambda keys: {"index", "pred"} <= {*keys},
        read=reference,
        paths=r"/pred/[^/]+\.jsonl$",
    ),
    Tool(
        name="lm-evaluation-harness",
        matches=lambda keys: "doc" in keys and bool({"filtered_resps", "resps"} & {*keys}),
        read=lm_eval,
        paths=r"/samples_[^/]+\.jsonl$",
    ),
    Tool(
        name="ONERULER's authors",
        matches=lambda keys: "index" in keys and any(key.startswith("response-") for key in keys),
        read=authors,
        paths=r"/prediction_[^/]+\.jsonl$",
        dataset="oneruler",
    ),
    Tool(
        name="the reference code's submission",
        matches=lambda keys: {"Task", "ID", "Prediction"} <= {*keys},
        read=submission,
        paths=r"/submission\.csv$",
    ),
    Tool(
        name="kvpress",
        matches=lambda keys: {"predicted_answer", "task", "answer"} <= {*keys},
        read=kvpress,
        paths=r"/predictions\.csv$",
    ),
    Tool(
        name="lighteval",
        matches=lambda keys: {"doc", "model_response"} <= {*keys},
        read=lighteval,
        paths=r"/details_[^/]+\.parquet$",
    ),
    Tool(
        name="OpenCompass",
        matches=lambda keys: {"index", "origin_prompt", "prediction"} <= {*keys},
        read=opencompass,
        paths=r"/predictions/[^/]+/ruler_[^/]+\.json$",
    ),
    Tool(
        name="NeMo-Skills",
        matches=lambda keys: {"generation", "expected_answer"} <= {*keys},
        read=nemo_skills,
        paths=r"/output(?:-rs\d+)?\.jsonl$",
    ),
    Tool(
        name="NeMo Gym",
        matches=lambda keys: {"responses_create_params", "response", "config", "index"} <= {*keys},
        read=nemo_gym,
    ),
    Tool(
        name="HELMET",
        matches=lambda keys: {"output", "answer", "parsed_output"} <= {*keys},
        read=helmet,
    ),
    Tool(name="index and prediction", matches=lambda keys: "prediction" in keys, read=plain),
)
"""The tools, in the order in which they are tried."""


class ReadFile(NamedTuple):
    """The answers in a file."""

    rows: list[Prediction]
    run: str
    """What the files of one run have in common."""
    session: str
    """The same, and what tells two runs of one folder apart, such as their time."""
    sample: int | None
    """The number of the seed or sample in the file's path."""
    model: str | None
    """The model's name, if the file, its path or a second file in the folder has it."""
    notes: list[str]
    label: str | None = None
    """What the file's name says besides its configuration; None if that is not in its name."""
    may_have_any_name: bool = False
    """Whether the records name their configurations and no model."""


def read_file(source: Source) -> ReadFile:
    """Read a file by the tool that its first record shows, or by --columns.

    Raises RulerError for a file of no known tool, a record with a missing or wrong field, and the
    prompt of another row.
    """
    columns = None
    if source.options.columns is not None:
        columns = Columns(source.options.columns)
    damaged: list[str] = []
    records = file_records(
        source.file,
        damaged,
        columns.leaves if columns else None,
        columns.has_prediction if columns else lambda value: _tool_of(value) is not None,
        may_grow=is_of_run(source.file),
    )
    first = next(records, None)
    rows: list[Prediction] = []
    if first is not None:
        read = _reader(source, first[1], columns)
        rows = _rows(source, read, itertools.chain([first], records))
    run = source.run
    if source.model and source.model != source.run:
        run = f"{run} {source.model}"
    session = f"{run} {source.session}" if source.session else run
    notes = [*damaged, *source.notes_after_reading()]
    return ReadFile(
        rows,
        run,
        session,
        source.sample,
        source.model or None,
        notes,
        label=source.label,
        may_have_any_name=source.configs.records_name_config and not source.model,
    )


def _reader(
    source: Source, record: Any, columns: Columns | None
) -> Callable[[Records, Source], Iterator[Prediction]]:
    if columns is not None:
        return columns.read
    tool = _tool_of(record)
    if tool is None:
        if isinstance(record, Mapping) and {"score_version", "configurations"} <= record.keys():
            raise RulerError(
                f"'{source.file}' has scores, and not answers: name the RUN folder, or the files "
                "that were scored."
            )
        fields = "no fields"
        if isinstance(record, Mapping) and record:
            fields = f"the fields {', '.join(sorted(map(str, record)))}"
        raise RulerError(
            f"'{source.file}' is not in a known format: its lines have {fields}. The simplest line "
            f"is {SIMPLEST}. For any other file, name the columns to read, such as --columns "
            "prediction=answer,index=id."
        )
    return tool.read


def _rows(
    source: Source, read: Callable[[Records, Source], Iterator[Prediction]], records: Records
) -> list[Prediction]:
    """Return all answers; an error in a record becomes a sentence that names the place."""
    place = ""

    def placed() -> Iterator[Record]:
        nonlocal place
        for where, record in records:
            place = where
            yield where, record

    try:
        return list(read(placed(), source))
    except RulerError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        why = f"no '{error.args[0]}'" if isinstance(error, KeyError) else one_line(error)
        if isinstance(error, AttributeError):  # a table turned an object into a text
            why = "a text where an object is meant; name the columns to read with --columns"
        raise RulerError(
            f"'{place or source.file}' has a missing or wrong field: {why}."
        ) from error


def _tool_of(record: Any) -> Tool | None:
    if isinstance(record, Mapping):
        for tool in TOOLS:
            if tool.matches(record.keys()):
                return tool
    return None


def files_of_a_tool(files: Sequence[Path]) -> list[Path]:
    """Return the files of the first tool that writes such paths; none if there is no such tool."""
    for tool in TOOLS:
        if tool.paths is not None:
            found = [file for file in files if re.search(tool.paths, path_text(file))]
            if found:
                return found
    return []


def dataset_of_path(file: Path) -> str | None:
    """Return the benchmark of a tool that writes such paths for it alone."""
    for tool in TOOLS:
        if tool.dataset and tool.paths and re.search(tool.paths, path_text(file)):
            return tool.dataset
    is_exported = re.search(r"/[^/]*oneruler_(?:frozen|direct)_[^/]*$", path_text(file))
    return "oneruler" if is_exported else None


# ---- Facts that are not in the records -----------------------------------------------------------


def _in_path(source: Source, pattern: str) -> re.Match[str]:
    """Return a match in a file's path; a linked file may have its facts in the other path."""
    matches = [re.search(pattern, path) for path in (source.path, path_text(source.file.resolve()))]
    best = [match for match in matches if match and match["length"]] or [m for m in matches if m]
    match = best[0]
    assert match is not None
    source.run = match.string[: match.start()] or "/"
    return match


def _name_before_time(source: Source) -> str:
    """Return a file's name without the time at its end, which tells two runs of a folder apart."""
    name = stem_of(source.file)
    if time := re.search(r"_(\d{4}-\d\d-\d\dT.+)$", name):
        source.session = time[1]
        return name.removesuffix(time[0])
    return name


def _facts_beside(file: Path, name: str) -> Mapping[str, Any]:
    """Return the facts in a second file of the same folder, such as kvpress's config.yaml."""
    path = file.with_name(name)
    if not path.is_file():
        return {}
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    try:
        table = json.loads(text) if path.suffix == ".json" else parse_yaml(text)
        return {name: value for name, value in table.items() if value is not None}
    except (ValueError, AttributeError, RecursionError) as error:
        why = one_line(error)
        raise RulerError(f"'{path}' is damaged: {why}. Get it again, or move it away.") from error
