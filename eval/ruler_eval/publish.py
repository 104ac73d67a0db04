"""`ruler results`: write the scores of a results.json into a model repository's .eval_results.

    publish(ResultsOptions(path=Path("runs/qwen"), model="Qwen/Qwen3-8B", dataset_repo="org/ruler"))

The Hub shows these scores on the model's page and collects them on the benchmark's page. There is
an entry for each configuration: its task id is the configuration's name, its value 0 … 100. Only
scores of the tasks in the dataset's eval.yaml are written. A group has an entry, the plain mean as
in RULER's tables, if all its tasks were scored; the same holds for ONERULER's 26 languages
together. Each prompt mode and each way of scoring has a separate file, to which the entries of a
run are added.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ruler_common.errors import RulerError, Unreachable
from ruler_common.files import parse_yaml, read_text, write_whole
from ruler_common.frozen import are_frozen
from ruler_common.hub import hub_errors, hub_file, is_repository
from ruler_common.manifest import MANIFEST, read_manifest
from ruler_common.names import DEFAULT_TOKENIZER, TASKS, Config, Names
from ruler_eval.frozen_release import Release
from ruler_eval.publish_options import ResultsOptions
from ruler_eval.run.reasoning import ON_BUDGET
from ruler_eval.score.own_run import RunFacts
from ruler_eval.score.results import UNPROVED, Cell, Results, describe_rows, limit_of

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FOLDER = ".eval_results"
EVAL_YAML = "eval.yaml"
Entry = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Published:
    """The file that was written, and the result of the pull request."""

    path: Path
    entries: int  # new ones
    kept: int = 0  # entries of earlier runs
    unlisted: int = 0  # scores that the benchmark's eval.yaml does not list: not written
    unchecked: str | None = None  # why the rows were not compared with the benchmark's
    pull_request: str | None = None  # the address of the pull request
    refused: str | None = None  # the Hub's error about the proposed file
    unread: str | None = None  # why the result of the Hub's check could not be read


class Benchmark(NamedTuple):
    """The dataset on the Hub whose rows were scored, and its commit or tag."""

    repo: str
    revision: str | None = None


def publish(options: ResultsOptions) -> Published:
    """Write .eval_results/….yaml from a results.json; with `create_pr` open a pull request.

    If the Hub cannot be reached, the file is written without comparing it with the benchmark.
    Raises RulerError if the results are partial or incomplete, were scored without a release or on
    different rows than the benchmark's, or on custom rows without `custom_rows`.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    if not is_repository(options.model):
        raise RulerError(f"'{options.model}' is not a model repository: --model takes ORG/MODEL.")
    from ruler_eval.score.stored import open_results  # slow to import: numpy

    results = open_results(options.path)
    benchmark = benchmark_of(results, options.dataset_repo, options.revision)
    rows = describe_rows(results)
    if not options.custom_rows and not _are_of_frozen_release(results):
        raise RulerError(f"These scores are of {rows}: add --custom-rows, and the notes say so.")
    if not options.allow_missing:
        _check_whole(results)
    if options.create_pr:
        _check_token()
    listed, unchecked = None, None
    try:
        benchmark = _same_rows(results, benchmark)
        listed = _listed_tasks(benchmark)
    except Unreachable as error:
        if options.create_pr:
            raise
        unchecked = f"not checked against {benchmark.repo}. {error}"
    scored = _entries(results, benchmark, _date_of(results, options.path), options.source)
    to_write = [entry for entry in scored if listed is None or entry.task_id in listed]
    if not to_write:
        raise RulerError(
            f"None of these scores is for a task that {benchmark.repo} lists in its {EVAL_YAML} "
            f"({', '.join((listed or [])[:4])}, …): score one of them, with all its tasks."
        )
    new = eval_result_entries_to_yaml(to_write)
    name = f"{FOLDER}/{_file_name(results)}"
    file = options.out / name
    before = _entries_in(read_text(file) if file.exists() else "", str(file), options.model)
    write_whole(file, _to_yaml(_merged(before, new), options.model))
    url, refused, unread = None, None, None
    if options.create_pr:
        text_at_head, head = _file_at_head(options.model, name)
        entries_at_head = _entries_in(text_at_head, f"{options.model}/{name}", options.model)
        before = _merged(before, entries_at_head)
        text = _to_yaml(_merged(before, new), options.model)
        write_whole(file, text)
        data = results["dataset"]
        title = " ".join(["Add results on", data["name"], data.get("data_version") or ""]).strip()
        url, revision = _propose(options.model, name, text, title, head)
        try:
            refused = _error_of(options.model, name, revision)
        except RulerError as error:
            unread = str(error)
    return Published(
        path=file,
        entries=len(new),
        kept=len(_merged(before, new)) - len(new),
        unlisted=len(scored) - len(to_write),
        unchecked=unchecked,
        pull_request=url,
        refused=refused,
        unread=unread,
    )


# ---- The benchmark -------------------------------------------------------------------------------


def _are_of_frozen_release(results: Results) -> bool:
    """Return whether results were scored by a release, on frozen rows."""
    return results["dataset"]["source"] is not None and are_frozen(describe_rows(results))


def benchmark_of(results: Results, repo: str | None, revision: str | None) -> Benchmark:
    """Return the benchmark on the Hub, from the options or the results."""
    if results["partial"]:
        raise RulerError("These results are partial: score the whole run, without --partial.")
    dataset = results["dataset"]
    if not dataset.get("rows"):
        raise RulerError(
            "These results do not say which rows were scored: score with --dataset RELEASE."
        )
    if repo is not None and not is_repository(repo):
        raise RulerError(f"'{repo}' is not a dataset on the Hub: --dataset-repo takes ORG/NAME.")
    if repo is None and dataset.get("revision"):
        repo = dataset["source"]
    if repo is None or not is_repository(repo):
        raise RulerError("The run does not name its dataset on the Hub: add --dataset-repo.")
    if revision is None and repo == dataset["source"]:
        revision = dataset["revision"]
    return Benchmark(repo, revision)


def _check_whole(results: Results) -> None:
    """Raise RulerError if the run has missing rows, or was limited to some rows."""
    if limit := limit_of(results):
        raise RulerError(
            f"The run has only {limit} (--limit): finish it (ruler run … without --limit), or add "
            "--allow-missing."
        )
    unanswered = sum(c["missing"] + c["failed"] for c in results["configurations"].values())
    if unanswered:
        raise RulerError(
            f"{unanswered} rows are missing or failed: finish the run (ruler run …), or add "
            "--allow-missing."
        )


def _same_rows(results: Results, benchmark: Benchmark) -> Benchmark:
    """Compare the digests of the benchmark's rows with the results', and return its commit."""
    path = hub_file(benchmark.repo, MANIFEST, benchmark.revision)
    commit = path.parent.name  # the cache keeps snapshots/<commit>/…
    release = Release(benchmark.repo, path.parent, read_manifest(path.parent), revision=commit)
    for name, digest in results["dataset"].get("rows", {}).items():
        if name not in release.configs or release.rows_sha256(name) != digest:
            raise RulerError(
                f"'{name}' was scored on rows that {benchmark.repo} does not have at "
                f"{benchmark.revision or 'main'}: name the right --dataset-repo and --revision."
            )
    return Benchmark(benchmark.repo, commit)


def _listed_tasks(benchmark: Benchmark) -> list[str]:
    """Return the task ids in the benchmark's eval.yaml. Raises RulerError."""
    path = hub_file(benchmark.repo, EVAL_YAML, benchmark.revision)
    try:
        return [str(task["id"]) for task in parse_yaml(read_text(path))["tasks"]]
    except (ValueError, TypeError, KeyError) as error:
        raise RulerError(
            f"The {EVAL_YAML} of '{benchmark.repo}' lists no tasks: report it to the repository's "
            "owner."
        ) from error


# ---- The entries ---------------------------------------------------------------------------------


def _entries(
    results: Results, benchmark: Benchmark, when: datetime, source: str | None
) -> list[EvalResultEntry]:
    """Return the entries: configurations in the results' order, then groups."""
    from huggingface_hub import EvalResultEntry

    return [
        EvalResultEntry(
            dataset_id=benchmark.repo,
            task_id=name,
            value=value,
            dataset_revision=benchmark.revision,
            date=when.date().isoformat(),
            source_url=source,
            source_name="Predictions and results" if source else None,
            notes=_notes(results, cells),
        )
        for name, value, cells in scores(results)
    ]


def scores(results: Results) -> Iterator[tuple[str, float, list[Cell]]]:
    """Yield name, score and cells of every scored configuration, then of every complete group.

    If all of ONERULER's 26 languages were scored, their mean comes last.
    """
    cells: dict[str, Cell] = {}
    values: dict[str, float] = {}
    for name, cell in results["configurations"].items():
        if cell["score"] is not None:
            cells[name], values[name] = cell, cell["score"]
            yield name, cell["score"], [cell]
    dataset = results["dataset"]["name"]
    if dataset not in TASKS:
        return
    configs = {_config(dataset, cell): name for name, cell in cells.items()}
    names = Names.standard(dataset)
    groups = names.whole_groups(configs)
    named = [(group.name, tasks) for group, tasks in groups]
    for name, tasks in [*named, *names.whole_languages(groups)]:
        members = [configs[task] for task in tasks]
        mean = math.fsum(values[member] for member in members) / len(members)
        yield name, mean, [cells[member] for member in members]


def _config(dataset: str, cell: Cell) -> Config:
    return Config(
        dataset,
        cell["task"],
        cell["length"],
        tokenizer=cell["tokenizer"] or DEFAULT_TOKENIZER,
        language=cell["language"],
        instruction_language=cell["instruction_language"],
    )


def _notes(results: Results, cells: list[Cell]) -> str:
    """Return the settings of the score in one line, without unknown ones."""
    run, rules, rows = results["run"], results["rules"], describe_rows(results)
    unproved = sum(cell["proof"] in UNPROVED for cell in cells)
    facts: list[tuple[str, object]] = [
        ("mode", _mode(results)),
        ("thinking", _thinking(run)),
        ("tokenizer", cells[0]["tokenizer"]),
        ("backend", run.get("backend")),
        ("model_revision", run.get("revision")),
        ("n", sum(cell["n"] for cell in cells)),
        ("missing", sum(cell["missing"] for cell in cells)),
        ("failed", sum(cell["failed"] for cell in cells)),
        ("score_version", results["score_version"]),
        ("data_version", results["dataset"].get("data_version")),
        ("truncated", rules["truncated"] if rules["truncated"] != "protocol" else None),
        ("compat", rules["compat"]),
        ("only", limit_of(results)),
    ]
    notes = [f"{name} {value}" for name, value in facts if value is not None]
    if unproved:
        notes.append(
            f"answers not proved to be of these rows in {unproved} of {len(cells)} configurations"
        )
    if not _are_of_frozen_release(results):
        notes.append(rows)
    return ", ".join(notes)


def _mode(results: Results) -> str | None:
    if not results["mode"]:
        return None
    return f"{results['mode']} direct" if results["run"].get("direct") else results["mode"]


def _thinking(run: RunFacts) -> str | None:
    """Return the tokens for reasoning, or "off"; None if the run is unknown."""
    if not run:
        return None
    thinking = run.get("thinking")
    return f"{thinking['budget']} tokens" if thinking and thinking["on"] else "off"


def _file_name(results: Results) -> str:
    """Return `ruler_prefill.yaml`, `ruler_chat_thinking.yaml`: one for each mode and scoring."""
    thinking, rules = results["run"].get("thinking"), results["rules"]
    parts = [results["dataset"]["name"], _mode(results)]
    if thinking and thinking["on"]:
        is_default = thinking["budget"] == ON_BUDGET
        parts.append("thinking" if is_default else f"thinking_{thinking['budget']}")
    if rules["truncated"] != "protocol":
        parts.append(f"truncated_{rules['truncated']}")
    if rules["compat"]:
        parts.append(f"compat_{rules['compat']}")
    return "_".join(re.sub(r"\W+", "_", part) for part in parts if part) + ".yaml"


def _date_of(results: Results, path: Path) -> datetime:
    """Return the date of the run: the end of its last session, else the time of the file."""
    times = []
    for session in results["run"].get("sessions", []):
        time = session.get("ended") or session.get("started")
        if time:
            times.append(datetime.fromisoformat(time))
    if times:
        return max(times)
    file = path / "results.json" if path.is_dir() else path
    return datetime.fromtimestamp(file.stat().st_mtime, timezone.utc)


# ---- The file ------------------------------------------------------------------------------------


def _entries_in(text: str, where: str, model: str) -> list[Entry]:
    """Return the entries of a file. Raises RulerError if it is damaged or of another model."""
    header = re.match(r"# ruler results of (\S+)\n", text)
    if header and header[1] != model:
        raise RulerError(
            f"'{where}' belongs to {header[1]}: use a different --out folder for each model."
        )
    try:
        entries: list[Entry] = parse_yaml(text) or []
        _merged(entries, [])
    except (ValueError, TypeError, KeyError) as error:
        raise RulerError(f"'{where}' is not a file of results: move it away.") from error
    return entries


def _merged(before: list[Entry], new: list[Entry]) -> list[Entry]:
    """Return all entries; a new entry replaces an old one for the same task and dataset."""
    merged: dict[tuple[str, str], Entry] = {}
    for entry in [*before, *new]:
        merged[entry["dataset"]["id"], entry["dataset"]["task_id"]] = entry
    return list(merged.values())


def _to_yaml(entries: list[Entry], model: str) -> str:
    """Return the text of a file; its first line names the model."""
    from huggingface_hub.utils import yaml_dump

    return f"# ruler results of {model}\n{yaml_dump(entries, sort_keys=False)}"


# ---- The model's repository ----------------------------------------------------------------------


def _check_token() -> None:
    """Raise RulerError without a token, which a pull request needs."""
    from huggingface_hub import get_token

    if get_token() is None:
        raise RulerError("There is no token: log in with `hf auth login`, or set HF_TOKEN.")


def _file_at_head(model: str, path: str) -> tuple[str, str]:
    """Return a file's text on the main branch, empty if there is none, and the branch's commit."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RemoteEntryNotFoundError

    api = HfApi()
    with hub_errors(model):
        head = str(api.model_info(model).sha)
        try:
            local = api.hf_hub_download(model, path, revision=head)
        except RemoteEntryNotFoundError:
            return "", head
    return read_text(Path(local)), head


def _propose(model: str, path: str, text: str, title: str, parent: str) -> tuple[str, str]:
    """Open a pull request with a file; return its address and its revision, `refs/pr/7`."""
    from huggingface_hub import CommitOperationAdd, HfApi

    with hub_errors(model):
        commit = HfApi().create_commit(
            model,
            [CommitOperationAdd(path, text.encode())],
            commit_message=title,
            commit_description="Made by `ruler results` from results.json.",
            create_pr=True,
            parent_commit=parent,
        )
    return str(commit.pr_url), str(commit.pr_revision)


def _error_of(model: str, path: str, revision: str) -> str | None:
    """Return the Hub's error about a file of results; None if it accepts the file.

    The Hub checks these files and lists an error among the model's results. huggingface_hub only
    logs it, so the reply is read here.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    url = f"{constants.ENDPOINT}/api/models/{model}/revision/{quote(revision, safe='')}"
    with hub_errors(model):
        response = get_session().get(
            url, headers=build_hf_headers(), params={"expand": "evalResults"}
        )
        hf_raise_for_status(response)
        results = response.json().get("evalResults") or []
    for result in results:
        if "error" in result and Path(str(result.get("filename"))).name == Path(path).name:
            return str(result["error"])
    return None
