"""The section of facts: how each run was made and scored, and what `ruler doctor` concluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ruler_common.frozen import are_frozen
from ruler_common.text import shortened, visible
from ruler_eval.report.page.runs import ReportedRun
from ruler_eval.report.terminal import TROUBLE_NAMES, TROUBLES, rule_options
from ruler_eval.score.results import Results, rows_of, warnings_of

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
_MAX_FACT = 120  # characters
_MAX_NOTE = 4 * _MAX_FACT
_MAX_NOTES = 40


class RunFacts(NamedTuple):
    """The facts of a run by name, counts of troubled rows by configuration, and notes."""

    label: str
    data: str
    score_version: str
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
    custom_rows = "" if are_frozen(whose_rows) else whose_rows
    warnings = warnings_of(results)
    if custom_rows:
        warnings.insert(0, custom_rows)
    rows = sum(cell["n"] for cell in cells.values())
    counts = {}
    for key in TROUBLES:
        if count := sum(cell[key] for cell in cells.values()):
            counts[key] = count
    data = " ".join(filter(None, [DATASET_TITLES[dataset["name"]], _text(dataset["data_version"])]))
    notes = [shortened(note, _MAX_NOTE) for note in results["notes"][:_MAX_NOTES]]
    if len(results["notes"]) > _MAX_NOTES:
        notes.append(f"and {len(results['notes']) - _MAX_NOTES} more notes in results.json")
    thinking = settings.get("thinking")
    reasoning = NOT_RECORDED
    if isinstance(thinking, Mapping):
        reasoning = f"on, up to {thinking['budget']:,} tokens" if thinking.get("on") else "off"
    engine = [settings.get(name) for name in ("backend", "backend_version", "dtype")]
    engine_settings = {name: settings.get(name) for name in ENGINE_SETTINGS}
    tokenizers = sorted({cell["tokenizer"] or "unknown" for cell in cells.values()})
    facts = {
        "Model": _text(results["model"]) or "not named",
        "Data": data,
        "Whose rows": _text(whose_rows),
        "Rules": ", ".join(rule_options(results)) or "default",
        "Tokenizer of the rows": ", ".join(tokenizers),
        "Date": _date(settings),
        "Mode": _text(results["mode"]) or NOT_RECORDED,
        "Reasoning": reasoning,
        "Sampling": _settings_text(settings.get("sampling")),
        "Engine": " ".join(_text(part) for part in engine if part) or NOT_RECORDED,
        "Engine settings": _settings_text(engine_settings),
        "Speed": _speed(settings),
        "Latency": _latency(results),
        "Price": _price(settings),
        "Score version": results["score_version"],
        "Rows scored": f"{rows:,}",
    }
    if results["partial"]:
        facts["Rows scored"] += " (partial: rows with a prediction only)"
    for key, count in counts.items():
        facts[TROUBLE_NAMES[key].capitalize()] = f"{count:,}"
    troubles = [["configuration", "rows", *(TROUBLE_NAMES[key] for key in counts)]]
    for name, cell in cells.items():
        if any(cell[key] for key in counts):
            troubles.append([name, str(cell["n"]), *(str(cell[key]) for key in counts)])
    return RunFacts(
        label=run.label,
        data=data,
        score_version=results["score_version"],
        rows=rows,
        custom_rows=_text(custom_rows),
        warnings=[_text(warning) for warning in warnings],
        facts=facts,
        troubles=troubles if counts else [],
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


def _date(settings: Mapping[str, Any]) -> str:
    """Return the days of the first and the last session: `2026-11-24`."""
    days = []
    for session in settings.get("sessions", []):
        for name in ("started", "ended"):
            if session.get(name):
                days.append(str(session[name])[:10])
    if not days:
        return NOT_RECORDED
    first, last = min(days), max(days)
    return first if first == last else f"{first} to {last}"


def _speed(settings: Mapping[str, Any]) -> str:
    """Return tokens per second, over the sessions that recorded their time and tokens."""
    tokens = seconds = 0.0
    for session in settings.get("sessions", []):
        counts = session.get("tokens")
        if isinstance(counts, Mapping) and session.get("seconds"):
            seconds += session["seconds"]
            tokens += counts.get("prompt_tokens", 0) + counts.get("completion_tokens", 0)
    if not tokens or not seconds:
        return NOT_RECORDED
    return f"{tokens / seconds:,.0f} tokens/s (prompts and answers) over {seconds:,.0f} s"


def _latency(results: Results) -> str:
    """Return how long requests to a server took: `median 1.20 s, … (at concurrency 32)`."""
    latency = results.get("latency")
    if latency is None:
        return NOT_RECORDED
    text = f"median {latency['median']:,.2f} s, 95th percentile {latency['p95']:,.2f} s"
    settings: Mapping[str, Any] = results["run"]
    limits = {session.get("concurrency") for session in settings.get("sessions", [])}
    numbers = " and ".join(str(limit) for limit in sorted(limits - {None}))
    return f"{text} (at concurrency {numbers})" if numbers else text


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


def engine_verdict(verdict: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the conclusion of `ruler doctor` (doctor/examine.py), and a table of its conditions.

    A table is its caption, its header and its rows.
    """
    outcomes = {"sound": "Sound.", "engine": "Engine.", "unknown": "Cannot tell."}
    states = {"engine": "changes answers", "same": "no change", "unchecked": "not checked"}
    table: list[Any] = [
        "Conditions that must not change an answer, by ruler doctor",
        ["condition", "result", "in words"],
    ]
    for condition in verdict["conditions"]:
        table.append(
            [
                _text(condition["title"]),
                states[condition["state"]],
                shortened(condition["sentence"], _MAX_NOTE),
            ]
        )
    headline = shortened(verdict["headline"], _MAX_NOTE)
    return f"{outcomes[verdict['outcome']]} {headline}", table
