"""`ruler results`: the scores of a results.json as a model repository's .eval_results/*.yaml.

    entries(results, Benchmark("org/ruler", "5503434…"))     # [EvalResultEntry(…), …]

The Hub shows them beside the model and gathers them on the benchmark's page: an entry a
configuration, its task id the configuration's name, its value 0 … 100. The page shows those that
the data set's eval.yaml lists, its headline, and only these are written. A group has an entry where
all its tasks were scored: their plain mean, as in RULER's tables; in ONERULER so have all 26
languages together. Each way of asking and of scoring has a file of its own; a run's entries join
those that are there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from ruler_common.errors import RulerError, Unreachable
from ruler_common.files import read_text, write_whole
from ruler_common.frozen_rows import are_frozen
from ruler_common.hub_access import hub_file, is_repository
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_common.names import DEFAULT_TOKENIZER, TASKS, Config, Names
from ruler_common.parsing import parse_yaml
from ruler_eval.frozen_release import Release
from ruler_eval.publish import model_repository as hub
from ruler_eval.run.reasoning import ON_BUDGET
from ruler_eval.score.results import UNPROVED, Cell, Results, limit_of, open_results, rows_of
from ruler_eval.score.run_facts import RunFacts

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FOLDER = ".eval_results"
EVAL_YAML = "eval.yaml"


class Benchmark(NamedTuple):
    """The data set on the Hub that the scores are of, and its commit or tag."""

    repo: str
    revision: str | None = None


@dataclass(frozen=True, kw_only=True)
class Published:
    """The file that was written, and its numbers of new entries and of earlier ones.

    `unchecked` is why the run's rows were not compared with the benchmark's, None if they were;
    `unlisted` are the scores that the benchmark's eval.yaml does not list, and were not written.
    """

    path: Path
    entries: int
    kept: int = 0
    unchecked: str | None = None
    unlisted: int = 0
    pull_request: str | None = None


def publish(
    path: Path,
    model: str,
    dataset_repo: str | None = None,
    revision: str | None = None,
    source: str | None = None,
    out: Path = Path(),
    create_pr: bool = False,
    allow_missing: bool = False,
    own_rows: bool = False,
) -> Published:
    """Write `out`/.eval_results/….yaml from a results.json; with `create_pr` propose it on the Hub.

    Where the Hub cannot be asked the file is written unchecked. Raises RulerError for results that
    are partial, lack rows, were scored without a release or on other rows than the benchmark's, or
    on own rows without `own_rows`; with `create_pr` for no token, no rights, no network.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    if not is_repository(model):
        raise RulerError(f"'{model}' is not a model repository: --model takes ORG/MODEL.")
    results = open_results(path)
    path = path / "results.json" if path.is_dir() else path
    benchmark, unchecked = benchmark_of(results, dataset_repo, revision), None
    if not own_rows and not are_frozen(whose := rows_of(results)):
        raise RulerError(f"These scores are of {whose}: add --own-rows, and the notes say so.")
    listed: Collection[str] | None = None
    if not allow_missing:
        check_whole(results)
    if create_pr:
        hub.check_token()
    try:
        benchmark = same_rows(results, benchmark)
        listed = listed_tasks(benchmark)
    except Unreachable as error:
        if create_pr:
            raise
        unchecked = f"not checked against {benchmark.repo}. {error}"
    when = date_of(results) or datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
    found = entries(results, benchmark, when, source)
    kept = [entry for entry in found if listed is None or entry.task_id in listed]
    if not kept:
        raise RulerError(
            f"None of these scores is of a task that {benchmark.repo} lists in its {EVAL_YAML} "
            f"({', '.join([*(listed or ())][:4])}, …): score one of them, with all its tasks."
        )
    new = eval_result_entries_to_yaml(kept)
    name = f"{FOLDER}/{file_name(results)}"
    file, url = out / name, None
    there = read_text(file) if file.exists() else ""
    before = hub.entries_in(there, str(file), model)
    write_whole(file, hub.to_yaml(hub.merged(before, new), model))
    if create_pr:
        theirs, head = hub.file_at_head(model, name)
        before = hub.merged(before, hub.entries_in(theirs, f"{model}/{name}", model))
        text = hub.to_yaml(hub.merged(before, new), model)
        write_whole(file, text)
        data = results["dataset"]
        title = " ".join(filter(None, ("Add results on", data["name"], data.get("data_version"))))
        url = hub.pull_request(model, name, text, title, head)
    return Published(
        path=file,
        entries=len(new),
        kept=len(hub.merged(before, new)) - len(new),
        unchecked=unchecked,
        unlisted=len(found) - len(kept),
        pull_request=url,
    )


def check_whole(results: Results) -> None:
    """Refuse the scores of a run that lacks rows, or was not asked for all of them."""
    if limit := limit_of(results):
        raise RulerError(
            f"The run is of {limit} (--limit): finish it (ruler run … without --limit), or add "
            "--allow-missing."
        )
    if lacking := sum(c["missing"] + c["failed"] for c in results["configurations"].values()):
        raise RulerError(
            f"{lacking} rows are missing or failed: finish the run (ruler run …), or add "
            "--allow-missing."
        )


def benchmark_of(results: Results, repo: str | None, revision: str | None) -> Benchmark:
    """Where the scored rows are on the Hub, as the caller or the results say."""
    if results["partial"]:
        raise RulerError("These results are partial: score the whole run, without --partial.")
    dataset = results["dataset"]
    if not dataset.get("rows"):
        raise RulerError("These results do not say of which rows: score with --dataset RELEASE.")
    if repo is not None and not is_repository(repo):
        raise RulerError(f"'{repo}' is not a data set on the Hub: --dataset-repo takes ORG/NAME.")
    if repo is None and dataset.get("revision"):
        repo = dataset["source"]
    if repo is None or not is_repository(repo):
        raise RulerError("The run does not say where its data are on the Hub: add --dataset-repo.")
    return Benchmark(repo, revision or (dataset["revision"] if repo == dataset["source"] else None))


def same_rows(results: Results, benchmark: Benchmark) -> Benchmark:
    """The benchmark at the commit it is at, after its digests are found equal to the results'."""
    path = hub_file(benchmark.repo, MANIFEST, benchmark.revision)
    commit = path.parent.name  # the cache keeps snapshots/<commit>/…
    release = Release(benchmark.repo, path.parent, read_manifest(path.parent), revision=commit)
    for name, digest in results["dataset"].get("rows", {}).items():
        if name not in release.configs or release.rows_sha256(name) != digest:
            raise RulerError(
                f"'{name}' was scored on rows that {benchmark.repo} does not hold at "
                f"{benchmark.revision or 'main'}: name the right --dataset-repo and --revision."
            )
    return Benchmark(benchmark.repo, commit)


def listed_tasks(benchmark: Benchmark) -> list[str]:
    """The task ids of the benchmark's eval.yaml. Raises RulerError for none, or another file."""
    path = hub_file(benchmark.repo, EVAL_YAML, benchmark.revision)
    try:
        return [str(task["id"]) for task in parse_yaml(read_text(path))["tasks"]]
    except (ValueError, TypeError, KeyError) as error:
        raise RulerError(
            f"The {EVAL_YAML} of '{benchmark.repo}' lists no tasks: tell the repository's owner."
        ) from error


def entries(
    results: Results, benchmark: Benchmark, when: datetime | None = None, source: str | None = None
) -> list[EvalResultEntry]:
    """The entries: configurations in the results' order, then groups."""
    from huggingface_hub import EvalResultEntry

    return [
        EvalResultEntry(
            dataset_id=benchmark.repo,
            task_id=name,
            value=value,
            dataset_revision=benchmark.revision,
            date=when.date().isoformat() if when else None,
            source_url=source,
            source_name="Predictions and results" if source else None,
            notes=notes(results, cells),
        )
        for name, value, cells in scores(results)
    ]


def scores(results: Results) -> Iterator[tuple[str, float, list[Cell]]]:
    """Name, score and cells of every configuration that has a score, then of whole groups.

    At last of ONERULER's 26 languages together, where all were scored: all have as many tasks.
    """
    everything = results["configurations"]
    known = {n: score for n, c in everything.items() if (score := c["score"]) is not None}
    cells = {name: everything[name] for name in known}
    for name, cell in cells.items():
        yield name, known[name], [cell]
    dataset = results["dataset"]["name"]
    if dataset not in TASKS:
        return
    configs = {_config(dataset, cell): name for name, cell in cells.items()}
    names = Names.of(dataset)
    groups = [(group.name, tasks) for group, tasks in names.whole_groups(configs)]
    for name, tasks in [*groups, *names.whole_languages(configs)]:
        members = [configs[task] for task in tasks]
        mean = math.fsum(known[member] for member in members) / len(members)
        yield name, mean, [cells[member] for member in members]


def _config(dataset: str, cell: Cell) -> Config:
    languages = {"language": cell["language"], "instruction_language": cell["instruction_language"]}
    tokenizer = cell["tokenizer"] or DEFAULT_TOKENIZER
    return Config(dataset, cell["task"], cell["length"], tokenizer=tokenizer, **languages)


def notes(results: Results, cells: list[Cell]) -> str:
    """How the score came about, in one line; what is not known is left out."""
    run, rules = results["run"], results["rules"]
    count = sum(cell["proof"] in UNPROVED for cell in cells)
    unproved = f"{count} of {len(cells)} configurations" if count else None
    counts: tuple[Literal["n", "missing", "failed"], ...] = ("n", "missing", "failed")
    known: dict[str, object] = {
        "mode": _mode(results),
        "thinking": _thinking(run),
        "tokenizer": cells[0]["tokenizer"],
        "backend": run.get("backend"),
        "model_revision": run.get("revision"),
        **{name: sum(cell[name] for cell in cells) for name in counts},
        "score_version": results["score_version"],
        "data_version": results["dataset"].get("data_version"),
        "cut": rules["cut"] if rules["cut"] != "protocol" else None,
        "compat": rules["compat"],
        "only": limit_of(results),
        "answers not proved to be of these rows in": unproved,
        "": None if are_frozen(whose := rows_of(results)) else whose,
    }
    shown = (f"{name} {value}".lstrip() for name, value in known.items() if value is not None)
    return ", ".join(shown)


def _thinking(run: RunFacts) -> str | None:
    """The room for reasoning; None where nothing is known of the run."""
    if not run:
        return None
    thinking = run.get("thinking")
    return f"{thinking['budget']} tokens" if thinking and thinking["on"] else "off"


def file_name(results: Results) -> str:
    """`ruler_prefill.yaml`, `ruler_chat_thinking.yaml`: one for each way of asking and scoring."""
    thinking, rules = results["run"].get("thinking"), results["rules"]
    parts = [results["dataset"]["name"], _mode(results)]
    if thinking and thinking["on"]:
        usual = thinking["budget"] == ON_BUDGET
        parts.append("thinking" if usual else f"thinking_{thinking['budget']}")
    parts.append(f"cut_{rules['cut']}" if rules["cut"] != "protocol" else None)
    parts.append(f"compat_{rules['compat']}" if rules["compat"] else None)
    return "_".join(re.sub(r"\W+", "_", part) for part in parts if part) + ".yaml"


def _mode(results: Results) -> str | None:
    direct = " direct" if results["run"].get("direct") else ""
    return f"{results['mode']}{direct}" if results["mode"] else None


def date_of(results: Results) -> datetime | None:
    """When the run was made: the end of its last session."""
    sessions = results["run"].get("sessions", [])
    times = [session.get("ended") or session.get("started") for session in sessions]
    known = [datetime.fromisoformat(time) for time in times if time]
    return max(known, default=None)
