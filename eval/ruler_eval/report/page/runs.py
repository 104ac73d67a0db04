"""The runs that a page shows: their results, the answers behind them, and how they were made.

    page = open_runs([Path("runs/qwen"), Path("llama.json")], names=["Qwen", "Llama"])
    page.runs[0].results["configurations"], page.series[0].label
    run_facts(page.runs[0]).facts["Engine"]             # "vllm 0.32.0 bfloat16"

The answers are in rows.parquet next to results.json, the texts of their rows in the release.
Without a release the prompts are in the files that were scored, which are read again. If any of
them is missing, the page has its numbers without the rows behind them, and says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ruler_common.errors import RulerError
from ruler_common.frozen import are_frozen
from ruler_common.names import EVIDENCE_ALONE, Names, length_name
from ruler_common.options import paths
from ruler_common.text import shortened, visible
from ruler_eval.frozen_release import Release
from ruler_eval.report.terminal import TROUBLE_NAMES, TROUBLES, Trouble, chosen, rule_options
from ruler_eval.score.aggregates import categories, for_all
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.results import (
    Cell,
    GroupSummary,
    Results,
    RowsByConfig,
    rows_by_config,
    rows_of,
    warnings_of,
)
from ruler_eval.score.rows import ConfigScores, ScoringRules, score_rows
from ruler_eval.score.stored import (
    differing_config,
    open_results,
    release_of,
    stored_scores,
)

COLOURS = ("#3566c4", "#d1600a", "#12866f", "#a8479b", "#8a6d00", "#c03a4b", "#4b7f1d", "#6a5fc1")
"""Of the series, in order; they have a contrast of 3 or more on white and on black."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DATASET_TITLES = {"ruler": "RULER", "oneruler": "ONERULER"}
ENGINE_SETTINGS = (
    "max_model_len",
    "quantization",
    "parallel",
    "cache",
    "chunked_prefill",
    "attention_backend",
    "speculative_decoding",
    "rope",
)
"""The settings of the engine or server in run.json that can move a score."""
NOT_RECORDED = "not recorded"
_MAX_LABEL = 80  # characters
_MAX_FACT = 120  # characters
_MAX_NOTE = 4 * _MAX_FACT
_MAX_NOTES = 40


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """A scored run with its answers by configuration."""

    label: str
    results: Results
    release: Release | None = None
    configs: Mapping[str, ConfigScores] = field(default_factory=dict)
    # Why there are no answers.
    problem: str | None = None
    # The folders or files that hold the answers.
    places: Sequence[Path] = ()

    @cached_property
    def rows(self) -> RowsByConfig:
        """The scores of its rows."""
        return rows_by_config(self.results)


@dataclass(frozen=True, kw_only=True)
class Series:
    """A run under one tokenizer: a line of a chart and a row of a table."""

    id: int
    run_number: int
    run: ReportedRun
    label: str
    tokenizer: str
    # The languages over which its means are taken.
    languages: str
    # The summary of those, and the tasks, by group.
    groups: Mapping[str, GroupSummary]
    members: Mapping[str, Sequence[str]]
    # The configurations that the means are over.
    cells: Mapping[str, Cell]
    colour: str
    shape: str

    def configs(self, length: str, tasks: Collection[str]) -> list[str]:
        """Return the configurations of some tasks at a length."""
        names = []
        for name, cell in self.cells.items():
            if cell["length"] == length and cell["task"] in tasks:
                names.append(name)
        return names


@dataclass(frozen=True, kw_only=True)
class PageInput:
    """What every section of the page reads."""

    dataset: str
    runs: Sequence[ReportedRun]
    series: Sequence[Series]
    # The lengths at which any run was scored, shortest first: tokens by name, such as 4096 by "4k".
    lengths: Mapping[str, int]
    tasks: Sequence[str]  # those scored, in the order of the papers' tables

    @cached_property
    def groups(self) -> list[str]:
        """The groups of tasks that any series has, all tasks first."""
        names = {"all": None}
        for series in self.series:
            names |= dict.fromkeys(series.groups)
        return list(names)

    @cached_property
    def has_one_length(self) -> bool:
        """Whether there is at most one length, the control `0k` not counted."""
        return len(self.lengths.keys() - {EVIDENCE_ALONE}) <= 1

    def first_series(self, run_number: int) -> Series:
        """Return the first series of a run."""
        for series in self.series:
            if series.run_number == run_number:
                return series
        raise IndexError(run_number)


def open_runs(
    paths: Sequence[Path],
    names: Sequence[str] = (),
    dataset: str | None = None,
    revision: str | None = None,
    references: Path | None = None,
) -> PageInput:
    """Read scored RUN folders or results.json files, with their answers if these are found.

    Args:
        paths: the runs, in the order in which the page shows them.
        names: what to call each model; by default as its results do.
        dataset: the release that the runs were made on; by default as each run names it.
        revision: the release's tag or commit on the Hub.
        references: the reference code's data folder, for runs that were scored by one.

    Raises:
        RulerError: for what is not a result, for runs of two data sets, and for answers or rows
            that changed after the scoring.
    """
    if names and len(names) != len(paths):
        raise RulerError(
            f"There are {len(names)} --name for {len(paths)} runs: give one for each, in order."
        )
    all_results = [open_results(path) for path in paths]
    datasets = list(dict.fromkeys(results["dataset"]["name"] for results in all_results))
    if len(datasets) > 1:
        raise RulerError(f"The runs are of {' and '.join(datasets)}: make a page for each.")
    labels = _labels(all_results, names, paths)
    runs: list[ReportedRun] = []
    series: list[Series] = []
    lengths: dict[str, int] = {}
    tasks: dict[str, bool] = {}  # whether each was scored
    for label, results, path in zip(labels, all_results, paths, strict=True):
        run = _with_answers(label, results, path, dataset, revision, references)
        task_names = _names(run)
        for tokenizer, by_language in results["summary"].items():
            languages = for_all(by_language)
            cells = chosen(results, tokenizer, languages)
            groups = categories(task_names, cells)
            series.append(
                Series(
                    id=len(series),
                    run_number=len(runs),
                    run=run,
                    label=label if len(results["summary"]) == 1 else f"{label} · {tokenizer}",
                    tokenizer=tokenizer,
                    languages=languages,
                    groups=by_language[languages],
                    members={group.name: group.tasks for group in groups},
                    cells=cells,
                    colour=COLOURS[len(series) % len(COLOURS)],
                    shape=SHAPES[len(series) % len(SHAPES)],
                )
            )
        runs.append(run)
        for task in results["dataset"]["tasks"]:
            tasks.setdefault(task, False)
        for cell in results["configurations"].values():
            lengths[cell["length"]] = cell["max_length"]
            tasks[cell["task"]] = True
    return PageInput(
        dataset=datasets[0],
        runs=runs,
        series=series,
        lengths={name: lengths[name] for name in sorted(lengths, key=lengths.__getitem__)},
        tasks=[task for task, was_scored in tasks.items() if was_scored],
    )


def _labels(
    all_results: Sequence[Results], names: Sequence[str], paths: Sequence[Path]
) -> list[str]:
    """Return a label for each run: its --name or its model's name; equal ones get a path."""
    texts = []
    for number, results in enumerate(all_results):
        name = names[number] if names else results["model"] or "unnamed model"
        texts.append(shortened(name, _MAX_LABEL).replace("\n", " "))
    labels = []
    for text, path in zip(texts, paths, strict=True):
        is_unique = texts.count(text) == 1
        labels.append(text if is_unique else f"{text} ({shortened(str(path), _MAX_LABEL)})")
    if len(set(labels)) < len(labels):
        raise RulerError("A run is named twice: name each once, or give other --name labels.")
    return labels


def _names(run: ReportedRun) -> Names:
    """Return the task names of a run's data set."""
    if run.release:
        return run.release.names
    dataset = run.results["dataset"]
    names = Names.standard(dataset["name"])
    return replace(names, languages=(*names.languages, *dataset.get("languages", ())))


def _with_answers(
    label: str,
    results: Results,
    path: Path,
    dataset: str | None,
    revision: str | None,
    references: Path | None,
) -> ReportedRun:
    """Return a run with its answers; without them if their files or their release are missing."""
    files = _find_files(results, path if path.is_dir() else path.parent)
    if results["dataset"]["source"] is not None and references is None:
        try:
            release = release_of(results, dataset, revision)
        except RulerError as error:
            if dataset is not None:
                raise
            return ReportedRun(label=label, results=results, problem=str(error).rstrip("."))
        if release is not None:
            if differing := differing_config(results, release):
                release.rows_sha256(differing)  # refused if the release does not have it
                raise RulerError(
                    f"'{label}' was scored on other rows of '{differing}' than "
                    f"'{release.source}' holds: name its release with --dataset."
                )
            return ReportedRun(
                label=label,
                results=results,
                release=release,
                configs=stored_scores(results, path, release),
                places=files or ([path] if path.is_dir() else []),
            )
    if not files:
        problem = "the files that were scored were not found"
        return ReportedRun(label=label, results=results, problem=problem)
    # Files that do not name their configuration are read as they were scored.
    cells = results["configurations"]
    lengths, tokenizers = set(), set()
    for cell in cells.values():
        lengths.add(cell["max_length"])
        tokenizers.add(cell["tokenizer"])
    length = None
    if len(lengths) == 1 and len(cells) > 1 and not results["run"].get("sessions"):
        with suppress(RulerError):
            length = length_name(lengths.pop(), results["dataset"]["name"])
    options = PredictionOptions(
        files,
        dataset=dataset,
        references=references,
        revision=revision,
        length=length,
        tokenizer=tokenizers.pop() if len(tokenizers) == 1 else None,
        config=next(iter(cells)) if len(cells) == 1 else None,
    )
    return _with_prompts(label, results, path, options)


def _with_prompts(
    label: str, results: Results, path: Path, options: PredictionOptions
) -> ReportedRun:
    """Return a run that was scored without a release, whose files have the prompts of its rows."""
    try:
        predictions, release = open_predictions(options, keep_prompts=True)
    except RulerError as error:
        if options.dataset is not None or options.references is not None:
            raise
        return ReportedRun(label=label, results=results, problem=str(error).rstrip("."))
    if sorted(predictions.files.values()) != sorted(results["predictions"].values()):
        raise RulerError(
            f"The answers of '{label}' are not those that were scored: run `ruler score` again "
            f"for '{path}'."
        )
    rules = ScoringRules(
        compat=results["rules"]["compat"],
        truncated=results["rules"]["truncated"],
        partial=results["partial"],
        model=results["model"] or "",
    )
    configs = {scores.name: scores for scores in score_rows(predictions, release, rules)}
    return ReportedRun(
        label=label,
        results=results,
        release=release,
        configs=configs,
        places=[Path(file) for file in paths(options.files)],
    )


def _find_files(results: Results, folder: Path) -> list[Path]:
    """Return the scored files, or the run folder that has them all; nothing if one is missing."""
    files, folders = [], set()
    for name in results["predictions"]:
        file = folder / Path(name).name  # next to the results
        if not file.is_file():
            file = Path(name)
        if not file.is_file():
            return []
        files.append(file)
        folders.add(file.parent)
    if len(folders) == 1 and (files[0].parent / "run.json").is_file():
        return [*folders]  # so that run.json is read once
    return files


# ---- How a run was made ----------------------------------------------------------------------


class RunFacts(NamedTuple):
    """The facts of a run by name, counts of troubled rows by configuration, and notes."""

    label: str
    rows: int
    # Why the rows are custom; empty if they are frozen.
    custom_rows: str
    # Shown above the numbers.
    warnings: list[str]
    facts: dict[str, str]
    # The header, and a row for each configuration with rows that are missing, failed or truncated.
    troubles: list[list[str]]
    notes: list[str]
    # Why the page lacks the run's rows.
    problem: str


def run_facts(run: ReportedRun) -> RunFacts:
    """Return what the page says about a run."""
    results, settings = run.results, run.results["run"]
    dataset, cells = results["dataset"], results["configurations"]
    whose_rows = rows_of(results)
    custom_rows = "" if are_frozen(whose_rows) else _text(whose_rows)
    rows = 0
    tokenizers = set()
    for cell in cells.values():
        rows += cell["n"]
        tokenizers.add(cell["tokenizer"] or "unknown")
    notes = [shortened(note, _MAX_NOTE) for note in results["notes"][:_MAX_NOTES]]
    if len(results["notes"]) > _MAX_NOTES:
        notes.append(f"and {len(results['notes']) - _MAX_NOTES} more notes in results.json")
    thinking = settings.get("thinking")
    reasoning = NOT_RECORDED
    if isinstance(thinking, Mapping):
        reasoning = f"on, up to {thinking['budget']:,} tokens" if thinking.get("on") else "off"
    engine = ""
    for name in ("backend", "backend_version", "dtype"):
        engine += f" {_text(settings.get(name))}"
    facts = {
        "Model": _text(results["model"]) or "not named",
        "Data": f"{DATASET_TITLES[dataset['name']]} {_text(dataset['data_version'])}".strip(),
        "Whose rows": _text(whose_rows),
        "Rules": ", ".join(rule_options(results)) or "default",
        "Tokenizer of the rows": ", ".join(sorted(tokenizers)),
        "Mode": _text(results["mode"]) or NOT_RECORDED,
        "Reasoning": reasoning,
        "Sampling": _settings_text(settings.get("sampling")),
        "Engine": " ".join(engine.split()) or NOT_RECORDED,
        "Engine settings": _settings_text({name: settings.get(name) for name in ENGINE_SETTINGS}),
        **_session_facts(results),
        "Score version": results["score_version"],
        "Rows scored": f"{rows:,}",
    }
    if results["partial"]:
        facts["Rows scored"] += " (partial: rows with a prediction only)"
    for trouble, count in count_troubles(cells).items():
        facts[TROUBLE_NAMES[trouble].capitalize()] = f"{count:,}"
    return RunFacts(
        label=run.label,
        rows=rows,
        custom_rows=custom_rows,
        warnings=[_text(text) for text in (custom_rows, *warnings_of(results)) if text],
        facts=facts,
        troubles=_trouble_table(cells),
        notes=notes,
        problem="" if run.problem is None else visible(run.problem),
    )


def _text(value: object) -> str:
    """Return a setting as a short text; empty if it is unknown."""
    return "" if value in (None, "", {}) else shortened(str(value), _MAX_FACT)


def _settings_text(settings: object) -> str:
    """Return the known settings: `cache.dtype fp8, temperature 0.0`."""
    texts = []
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        for part, setting in value.items() if isinstance(value, Mapping) else [("", value)]:
            if setting not in (None, "", "unknown", {}):
                texts.append(
                    f"{name}.{part} {_text(setting)}" if part else f"{name} {_text(setting)}"
                )
    return ", ".join(texts) or NOT_RECORDED


def count_troubles(cells: Mapping[str, Cell]) -> dict[Trouble, int]:
    """Return how many rows are missing, failed, truncated and so on, without zeros."""
    counts: dict[Trouble, int] = {}
    for trouble in TROUBLES:
        for cell in cells.values():
            if cell[trouble]:
                counts[trouble] = counts.get(trouble, 0) + cell[trouble]
    return counts


def _trouble_table(cells: Mapping[str, Cell]) -> list[list[str]]:
    """Return a header, and a row for each configuration with troubled rows; empty without any."""
    occurring = count_troubles(cells)
    if not occurring:
        return []
    table = [["configuration", "rows", *(TROUBLE_NAMES[trouble] for trouble in occurring)]]
    for config, cell in cells.items():
        numbers = [cell[trouble] for trouble in occurring]
        if any(numbers):
            table.append([config, str(cell["n"]), *map(str, numbers)])
    return table


def _session_facts(results: Results) -> dict[str, str]:
    """Return date, speed, latency and price, over the sessions that recorded them."""
    settings: Mapping[str, Any] = results["run"]
    days, concurrency = set(), set()
    seconds = tokens = 0.0
    for session in settings.get("sessions", []):
        for name in ("started", "ended"):
            if session.get(name):
                days.add(str(session[name])[:10])
        if session.get("concurrency"):
            concurrency.add(session["concurrency"])
        counts = session.get("tokens")
        if isinstance(counts, Mapping) and session.get("seconds"):
            seconds += session["seconds"]
            tokens += counts.get("prompt_tokens", 0) + counts.get("completion_tokens", 0)
    facts = dict.fromkeys(("Date", "Speed", "Latency"), NOT_RECORDED)
    if days:
        facts["Date"] = " to ".join(sorted({min(days), max(days)}))
    if tokens:
        facts["Speed"] = (
            f"{tokens / seconds:,.0f} tokens/s (prompts and answers) over {seconds:,.0f} s"
        )
    if latency := results.get("latency"):
        facts["Latency"] = (
            f"median {latency['median']:,.2f} s, 95th percentile {latency['p95']:,.2f} s"
        )
        if concurrency:
            limits = " and ".join(map(str, sorted(concurrency)))
            facts["Latency"] += f" (at concurrency {limits})"
    return {**facts, "Price": _price(settings)}


def _price(settings: Mapping[str, Any]) -> str:
    """Return the cost of all sessions' tokens, if the run names prices.

    `price` has the prices of a million prompt tokens and of a million answer tokens.
    """
    cost = 0.0
    for session in settings.get("sessions", []):
        price = session.get("options", {}).get("price", settings.get("price"))
        counts = session.get("tokens")
        if counts == {}:
            continue  # no row was answered
        if not isinstance(price, Sequence) or isinstance(price, str) or not counts:
            return NOT_RECORDED
        cost += float(price[0]) * counts.get("prompt_tokens", 0) / 1e6
        cost += float(price[1]) * counts.get("completion_tokens", 0) / 1e6
    return f"{cost:,.2f} at the prices of --price" if cost else NOT_RECORDED


def engine_verdict(verdict: Mapping[str, Any]) -> tuple[str, list[list[str]]]:
    """Return the conclusion of `ruler doctor` (doctor/folder.py), and a table of its conditions.

    The table begins with its header.
    """
    outcomes = {
        "sound": "Sound.",
        "engine": "Engine.",
        "unknown": "Cannot tell.",
        "different": "Different deployment.",
        "same": "No difference seen.",
        "noisy": "Too noisy to tell.",
        "few": "Cannot tell.",
    }
    states = {
        "engine": "changes answers",
        "suspect": "cannot tell",
        "same": "no change",
        "unchecked": "not checked",
    }
    table = [["condition", "result", "in words"]]
    for condition in verdict["conditions"]:
        title, sentence = _text(condition["title"]), shortened(condition["sentence"], _MAX_NOTE)
        table.append([title, states[condition["state"]], sentence])
    headline = shortened(verdict["headline"], _MAX_NOTE)
    return f"{outcomes[verdict['outcome']]} {headline}", table
