"""`ruler results`: the scores of a results.json as a model repository's .eval_results/*.yaml.

    entries(results, Benchmark("org/ruler", "5503434…"))     # [EvalResultEntry(…), …]

The Hub shows them beside the model and gathers them on the benchmark's page: an entry a
configuration, its task id the one of the data set's eval.yaml, its value 0 … 100. A group has an
entry where all its tasks were scored: their plain mean, as in RULER's tables. Each prompt mode has
a file of its own, so that a run with thinking does not overwrite one without.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval import score as scoring
from eval.release import Release, is_repository
from ruler_dataset import (
    DEFAULT_TOKENIZER,
    MANIFEST,
    TASKS,
    Config,
    Names,
    RulerError,
    hub_file,
    read_manifest,
)

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FOLDER = ".eval_results"
Results = Mapping[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """The data set on the Hub that the scores are of, and its commit or tag."""

    repo: str
    revision: str | None = None


@dataclass(frozen=True)
class Published:
    """The file that was written, its number of entries, and the pull request's address."""

    path: Path
    entries: int
    pull_request: str | None = None


def publish(
    path: Path,
    model: str,
    dataset_repo: str | None = None,
    revision: str | None = None,
    source: str | None = None,
    out: Path = Path(),
    create_pr: bool = False,
) -> Published:
    """Write `out`/.eval_results/….yaml from a results.json; with `create_pr` propose it on the Hub.

    Raises RulerError for results that are partial, of no frozen files or, with `create_pr`, of
    other files than the benchmark's; for no token, no rights, no network.
    """
    if not is_repository(model):
        raise RulerError(f"'{model}' is no model repository: --model takes ORG/MODEL.")
    path = path / "results.json" if path.is_dir() else path
    results = scoring.load(path)
    benchmark = benchmark_of(results, dataset_repo, revision)
    if create_pr:
        check_token()
        benchmark = same_files(results, benchmark)
    when = date_of(results) or datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
    found = entries(results, benchmark, when, source)
    text = to_yaml(found)
    name = file_name(results)
    file = out / FOLDER / name
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
    url = pull_request(model, f"{FOLDER}/{name}", text, results) if create_pr else None
    return Published(file, len(found), url)


def benchmark_of(results: Results, repo: str | None, revision: str | None) -> Benchmark:
    """Where the scored files are on the Hub, as the caller or the results say."""
    if results["partial"]:
        raise RulerError("These results are partial: score the whole run, without --partial.")
    dataset = results["dataset"]
    if not dataset.get("files"):
        raise RulerError("These results are of no frozen files: score with --dataset RELEASE.")
    if repo is None and dataset.get("revision"):
        repo = dataset["source"]
    if repo is None or not is_repository(repo):
        raise RulerError("The run does not say where its data are on the Hub: add --dataset-repo.")
    return Benchmark(repo, revision or (dataset["revision"] if repo == dataset["source"] else None))


def same_files(results: Results, benchmark: Benchmark) -> Benchmark:
    """The benchmark at the commit it is at, after its digests are found equal to the results'."""
    path = hub_file(benchmark.repo, MANIFEST, benchmark.revision)
    commit = path.parent.name  # the cache keeps snapshots/<commit>/…
    release = Release(benchmark.repo, path.parent, read_manifest(path.parent), commit)
    for name, digest in results["dataset"]["files"].items():
        if name not in release.configs or release.sha256(name) != digest:
            raise RulerError(
                f"'{name}' was scored on a file that {benchmark.repo} does not hold at "
                f"{benchmark.revision or 'main'}: name the right --dataset-repo and --revision."
            )
    return replace(benchmark, revision=commit)


def entries(
    results: Results,
    benchmark: Benchmark,
    when: datetime | None = None,
    source: str | None = None,
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


def scores(results: Results) -> Iterator[tuple[str, float, list[Results]]]:
    """Name, score and cells of every configuration that has a score, then of whole groups."""
    cells = {n: c for n, c in results["configurations"].items() if c["score"] is not None}
    for name, cell in cells.items():
        yield name, cell["score"], [cell]
    dataset = results["dataset"]["name"]
    groups = Names.of(dataset).groups if dataset in TASKS else {}
    spots = dict.fromkeys(
        (c["length"], c["tokenizer"], c["language"], c["instruction_language"])
        for c in cells.values()
    )
    for length, tokenizer, *languages in spots:
        spot = (length, tokenizer or DEFAULT_TOKENIZER, *languages)
        for group, tasks in groups.items():
            members = [Config(dataset, task, *spot).name for task in tasks]
            if set(members) <= set(cells):
                mine = [cells[name] for name in members]
                mean = math.fsum(cell["score"] for cell in mine) / len(mine)
                yield Config(dataset, group, *spot).name, mean, mine


def notes(results: Results, cells: list[Results]) -> str:
    """How the score came about, in one line; what is not known is left out."""
    run, rules = results["run"], results["rules"]
    thinking = run.get("thinking") or {}
    known = {
        "mode": _mode(results),
        "thinking": f"{thinking['budget']} tokens"
        if thinking.get("on")
        else "off"
        if run
        else None,
        "tokenizer": cells[0]["tokenizer"],
        "backend": run.get("backend"),
        "model_revision": run.get("revision"),
        "n": sum(cell["n"] for cell in cells),
        "missing": sum(cell["missing"] for cell in cells),
        "failed": sum(cell["failed"] for cell in cells),
        "score_version": results["score_version"],
        "data_version": results["dataset"].get("data_version"),
        "cut": rules["cut"] if rules["cut"] != "protocol" else None,
        "compat": rules["compat"],
    }
    return ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)


def file_name(results: Results) -> str:
    """`ruler_prefill.yaml`, `ruler_chat_thinking.yaml`: one file for each way of asking."""
    thinking = (results["run"].get("thinking") or {}).get("on")
    parts = [results["dataset"]["name"], _mode(results), "thinking" if thinking else None]
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


def to_yaml(found: list[EvalResultEntry]) -> str:
    """The entries as the text of a .eval_results file."""
    from huggingface_hub import eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump

    return yaml_dump(eval_result_entries_to_yaml(found), sort_keys=False)


def check_token() -> None:
    """Refuse to go on without a token: a pull request has an author."""
    from huggingface_hub import get_token

    if get_token() is None:
        raise RulerError("There is no token: log in with `hf auth login`, or set HF_TOKEN.")


def pull_request(model: str, path: str, text: str, results: Results) -> str:
    """Propose a file to a model repository; returns the pull request's address."""
    from huggingface_hub import CommitOperationAdd, HfApi

    dataset = results["dataset"]
    what = " ".join(filter(None, (dataset["name"], dataset.get("data_version"))))
    with _explained(model):
        made = HfApi().create_commit(
            model,
            [CommitOperationAdd(path, text.encode())],
            commit_message=f"Add results on {what}",
            commit_description="Made by `ruler results` from results.json.",
            create_pr=True,
        )
    return str(made.pr_url)


@contextmanager
def _explained(model: str) -> Iterator[None]:
    """Turn what the client raises into one sentence."""
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    try:
        yield
    except OfflineModeIsEnabled as error:
        raise RulerError("HF_HUB_OFFLINE is set: unset it to open a pull request.") from error
    except RepositoryNotFoundError as error:
        raise RulerError(
            f"The Hub has no model '{model}', or your token may not see it: correct --model."
        ) from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        said = (error.server_message or "no reason given").splitlines()[0].rstrip(".")
        remedy = {
            401: "log in again (hf auth login) or correct HF_TOKEN",
            403: "use a token that may write pull requests",
            429: "the rate limit is reached: try again later",
        }.get(status, "the file is written: try again later")
        raise RulerError(
            f"The Hub refused the pull request ({status}: {said}): {remedy}."
        ) from error
    except (HTTPError, OSError) as error:
        raise RulerError(
            f"Cannot reach the Hub at {constants.ENDPOINT} ({type(error).__name__}): check the "
            "network; the file is written."
        ) from error
