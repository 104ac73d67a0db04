"""Builds the page's model (model.py) from runs.

page = page_data(open_runs([Path("runs/qwen"), Path("runs/llama")]))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.frozen import are_frozen
from ruler_common.text import shortened, visible
from ruler_eval.analysis.complexity import correlate
from ruler_eval.analysis.errors import KINDS
from ruler_eval.report.page import scores
from ruler_eval.report.page.model import EngineVerdict, Errors, PageData, RunFacts, TaskErrors
from ruler_eval.report.page.rows import ConfigRows, rows_behind, show_command
from ruler_eval.report.page.runs import ReportedRun
from ruler_eval.report.page.scores import Line, pairs
from ruler_eval.report.page.verdict import verdict
from ruler_eval.report.terminal import TROUBLES, chosen, rule_options
from ruler_eval.score.results import Results, rows_of, warnings_of

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
"""Fields of run.json that the engine or server told, and that can move a score."""
_LONGEST_FACT = 120  # characters
_MOST_NOTES = 40
_TITLES = {"ruler": "RULER", "oneruler": "ONERULER"}


def page_data(runs: Sequence[ReportedRun], every_error: bool = False) -> PageData:
    """Return all that the page shows of these runs.

    With `every_error` every wrong row is sorted into its kind, however long reading its text takes.
    Raises RulerError for answers or rows that are no longer those that were scored.
    """
    series = scores.all_series(runs)
    lines = [(one, runs[one["run"]]) for one in series]
    lengths = scores.all_lengths(runs)
    tasks = scores.all_tasks(runs)
    behind = rows_behind(runs, every_error)
    dataset = runs[0].results["dataset"]["name"]
    page: PageData = {
        "title": f"{_TITLES[dataset]} results",
        "dataset": dataset,
        "made_by": f"ruler-release {version('ruler-release')}",
        "runs": [_facts(run) for run in runs],
        "series": series,
        "lengths": lengths,
        "tasks": tasks,
        "verdict": [],
        "doctor": None,
        "groups": scores.groups(lines),
        "heat_maps": [scores.task_heat_map(*line, tasks, lengths) for line in lines],
        "complexity": scores.complexity(lines),
        "needles": scores.needle_maps(lines, tasks),
        "depth": scores.depth_maps(lines, tasks),
        "pairs": pairs(runs),
        "errors": _errors(lines, tasks, behind),
        "languages": scores.languages(runs, lines, lengths),
        "correlation": _correlation(runs),
        "rows": {
            str(one["id"]): {
                name: behind[one["run"]][name].on_page()
                for name in chosen(run.results, one["tokenizer"])
                if name in behind[one["run"]]
            }
            for one, run in lines
        },
        "show": {
            str(one["id"]): command
            for one, run in lines
            if (command := show_command(run)) is not None
        },
    }
    page["verdict"] = [shortened(sentence, 8 * _LONGEST_FACT) for sentence in verdict(page)]
    return page


def engine_verdict(verdict: Mapping[str, Any]) -> EngineVerdict:
    """Return what `ruler doctor` found (doctor/examine.py), as text for the page."""
    outcomes = {"sound": "Sound.", "engine": "Engine.", "unknown": "Cannot tell."}
    states = {"engine": "changes answers", "same": "no change", "unchecked": "not checked"}
    return {
        "sentence": f"{outcomes[verdict['outcome']]} {_fact_of(verdict['headline'])}",
        "conditions": [
            {
                "title": _fact(one["title"]),
                "state": states[one["state"]],
                "sentence": _fact_of(one["sentence"]),
            }
            for one in verdict["conditions"]
        ],
    }


def _fact_of(text: str) -> str:
    return shortened(text, 4 * _LONGEST_FACT)


def _correlation(runs: Sequence[ReportedRun]) -> dict[str, Any] | None:
    try:
        found = correlate({run.label: run.results for run in runs})
    except RulerError:  # too few observations
        return None
    return found if len(found["tasks"]) > 1 else None


def _facts(run: ReportedRun) -> RunFacts:
    results, cells = run.results, run.results["configurations"]
    data, settings = results["dataset"], results["run"]
    counts: dict[str, int] = {name: sum(cell[name] for cell in cells.values()) for name in TROUBLES}
    troubles: list[dict[str, Any]] = [
        {"configuration": name, "n": cell["n"], **{key: cell[key] for key in TROUBLES if cell[key]}}
        for name, cell in cells.items()
        if any(cell[key] for key in TROUBLES)
    ]
    notes = [shortened(note, 4 * _LONGEST_FACT) for note in results["notes"][:_MOST_NOTES]]
    if len(results["notes"]) > _MOST_NOTES:
        notes.append(f"and {len(results['notes']) - _MOST_NOTES} more notes in results.json")
    return {
        "label": run.label,
        "model": _fact(results["model"] or "not named"),
        "data": " ".join(filter(None, (_TITLES[data["name"]], _fact(data["data_version"])))),
        "whose_rows": _fact(rows_of(results)),
        "warnings": [_fact(warning) for warning in _warnings(results)],
        "tokenizers": sorted({cell["tokenizer"] or "unknown" for cell in cells.values()}),
        "mode": _fact(results["mode"] or "not recorded"),
        "reasoning": _reasoning(settings),
        "date": _date(settings),
        "sampling": _sampling(settings),
        "speed": _speed(settings),
        "engine": _engine(settings),
        "engine_settings": _engine_settings(settings),
        "score_version": results["score_version"],
        "rules": rule_options(results),
        "partial": results["partial"],
        "rows": sum(cell["n"] for cell in cells.values()),
        "counts": counts,
        "troubles": troubles,
        "notes": notes,
        "answers": "" if run.problem is None else visible(run.problem),
    }


def _warnings(results: Results) -> list[str]:
    """Return custom rows, and what else `ruler score` says first of a run that is not sure."""
    rows = rows_of(results)
    return [rows] * (not are_frozen(rows)) + warnings_of(results)


def _fact(value: object) -> str:
    return shortened(str(value), _LONGEST_FACT) if value else ""


def _reasoning(settings: Mapping[str, Any]) -> str:
    thinking = settings.get("thinking")
    if not isinstance(thinking, Mapping):
        return "not recorded"
    return f"on, up to {thinking['budget']:,} tokens" if thinking.get("on") else "off"


def _engine(settings: Mapping[str, Any]) -> str:
    parts = (settings.get("backend"), settings.get("backend_version"), settings.get("dtype"))
    return " ".join(_fact(part) for part in parts if part) or "not recorded"


def _engine_settings(settings: Mapping[str, Any]) -> str:
    """Return the settings that the engine or server told: `cache.dtype fp8, rope …`."""
    found = []
    for name in ENGINE_SETTINGS:
        value = settings.get(name)
        values = value if isinstance(value, Mapping) else {"": value}
        for part, known in values.items():
            if known not in (None, "unknown", {}):
                found.append(f"{name}.{part} {_fact(known)}" if part else f"{name} {_fact(known)}")
    return ", ".join(found) or "not recorded"


def _date(settings: Mapping[str, Any]) -> str:
    """Return the days of the first and the last session: `2026-11-24`."""
    days = sorted(
        str(session[name])[:10]
        for session in settings.get("sessions", [])
        for name in ("started", "ended")
        if session.get(name)
    )
    return " to ".join(dict.fromkeys([days[0], days[-1]])) if days else "not recorded"


def _sampling(settings: Mapping[str, Any]) -> str:
    sampling = settings.get("sampling")
    if not isinstance(sampling, Mapping):
        return "not recorded"
    return ", ".join(
        f"{name} {_fact(value)}" for name, value in sampling.items() if value is not None
    )


def _speed(settings: Mapping[str, Any]) -> str:
    """Return tokens a second, over the sessions that recorded their time and tokens."""
    tokens = seconds = 0.0
    for session in settings.get("sessions", []):
        known = session.get("tokens")
        if isinstance(known, Mapping) and session.get("seconds"):
            seconds += session["seconds"]
            tokens += known.get("prompt_tokens", 0) + known.get("completion_tokens", 0)
    if not tokens or not seconds:
        return "not recorded"
    return f"{tokens / seconds:,.0f} tokens/s, prompts and answers, in {seconds:,.0f} s"


def _errors(
    lines: Sequence[Line], tasks: Sequence[str], behind: Sequence[Mapping[str, ConfigRows]]
) -> Errors:
    found: list[TaskErrors] = []
    for one, run in lines:
        cells, mine = scores.cells_of(one, run), behind[one["run"]]
        for task in tasks:
            rows = [
                mine[name] for name, cell in cells.items() if cell["task"] == task if name in mine
            ]
            if rows:
                kinds = Counter(kind for cell in rows for kind in cell.kinds.values())
                found.append(
                    {
                        "series": one["id"],
                        "task": task,
                        "rows": sum(len(cell.scores) for cell in rows),
                        "wrong": sum(len(cell.wrong) for cell in rows),
                        "sorted": kinds.total(),
                        "kinds": dict(kinds.most_common()),
                    }
                )
    times = sum((Counter(errors["kinds"]) for errors in found), Counter[str]())
    notes = []
    total, done = sum(one["wrong"] for one in found), sum(one["sorted"] for one in found)
    if done < total:
        notes.append(
            f"{done:,} of {total:,} wrong rows were sorted, an even share of every configuration; "
            "`ruler report --every-error` sorts all of them."
        )
    if any(_without_texts(run) for _, run in lines):
        notes.append(
            "Rows whose release was not found were sorted without their texts, so that no "
            "distractor is known: name the release with --dataset."
        )
    return {
        "kinds": {kind: KINDS[kind] for kind, _ in times.most_common()},
        "tasks": found,
        "notes": notes,
    }


def _without_texts(run: ReportedRun) -> bool:
    """Whether neither a release nor the files of the answers hold prompts."""
    if run.release is not None:
        return False
    firsts = (next(iter(answers.values()), None) for answers in run.answers.values())
    return any(first is not None and first.known_prompt is None for first in firsts)
