"""How the runs were made and how their rows ended: the figures `runs`, `rows` and `documents`.

facts_of(run)["Engine"]                                # "vllm 0.32.0 bfloat16"
cite(runs)                                             # a paragraph and BibTeX, for a paper

The rules are those of score/results.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from ruler_common.frozen import are_frozen
from ruler_common.text import number_of, shortened
from ruler_eval.analysis.compare import NOT_RECORDED
from ruler_eval.figures.figure import COUNT, MODEL, ROWS, Column, Figure
from ruler_eval.figures.series import DATASET_TITLES, Runs, ScoredRun
from ruler_eval.score.results import Results, describe_rows, tokenizer_of, warnings_of
from ruler_eval.score.troubles import TROUBLES, Trouble, count_troubles, rows_not_whole

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
_MAX_FACT = 120  # characters
MAX_NOTE = 4 * _MAX_FACT
_MAX_NOTES = 40


# ---- How a run was made --------------------------------------------------------------------------


def rule_options(results: Results) -> list[str]:
    """Return the options of `ruler score` that were not the default."""
    options = []
    if compat := results["rules"]["compat"]:
        options.append(f"--compat {compat}")
    if (rule := results["rules"]["truncated"]) != "protocol":
        options.append(f"--truncated {rule}")
    return options


def headline(results: Results) -> str:
    """Return what was scored: model, data, rows, rules, and warnings about the scores."""
    model, dataset = results["model"] or "unnamed model", results["dataset"]["name"]
    parts = [model, dataset, describe_rows(results)]
    if results["mode"]:
        parts.append(f"mode {results['mode']}")
    parts += [f"rules {results['score_version']}", *rule_options(results), *warnings_of(results)]
    return " · ".join(parts)


def custom_rows_of(run: ScoredRun) -> str:
    """Return why the rows of a run are custom; "" if they are frozen."""
    whose_rows = describe_rows(run.results)
    return "" if are_frozen(whose_rows) else short_fact(whose_rows)


def warnings_about(run: ScoredRun) -> list[str]:
    """Return what a reader must know before the numbers."""
    texts = [custom_rows_of(run), *warnings_of(run.results)]
    return [short_fact(text) for text in texts if text]


def count_rows(run: ScoredRun) -> int:
    """Return how many rows of a run count."""
    return sum(cell["n"] for cell in run.results["configurations"].values())


def facts_of(run: ScoredRun) -> dict[str, str]:
    """Return how a run was made, and how its rows ended, by the names of the facts."""
    results, settings = run.results, run.results["run"]
    dataset, cells = results["dataset"], results["configurations"]
    tokenizers = {tokenizer_of(cell) for cell in cells.values()}
    facts = {
        "Model": short_fact(results["model"]) or "not named",
        "Data": f"{DATASET_TITLES[dataset['name']]} {short_fact(dataset['data_version'])}".strip(),
        "Whose rows": short_fact(describe_rows(results)),
        "Rules": ", ".join(rule_options(results)) or "default",
        "Tokenizer of the rows": ", ".join(sorted(tokenizers)),
        "Mode": short_fact(results["mode"]) or NOT_RECORDED,
        "Reasoning": _reasoning(settings.get("thinking")),
        "Sampling": _settings_text(settings.get("sampling")),
        "Engine": _engine(settings),
        "Engine settings": _settings_text({name: settings.get(name) for name in ENGINE_SETTINGS}),
        **_session_facts(results),
        "Score version": results["score_version"],
        "Rows scored": f"{count_rows(run):,}",
    }
    if results["partial"]:
        facts["Rows scored"] += " (partial: rows with a prediction only)"
    for trouble, count in count_troubles(cells.values()).items():
        facts[TROUBLES[trouble].capitalize()] = f"{count:,}"
    return facts


def notes_of(run: ScoredRun) -> list[str]:
    """Return the notes of a run's results, shortened."""
    notes = [shortened(note, MAX_NOTE) for note in run.results["notes"][:_MAX_NOTES]]
    if more := len(run.results["notes"]) - len(notes):
        notes.append(f"and {number_of(more, 'more note')} in results.json")
    return notes


def _reasoning(thinking: object) -> str:
    """Return whether the model was asked to reason, and how long."""
    if not isinstance(thinking, Mapping):
        return NOT_RECORDED
    return f"on, up to {thinking['budget']:,} tokens" if thinking.get("on") else "off"


def _engine(settings: Mapping[str, Any]) -> str:
    """Return the engine, its version and its number format."""
    parts = [short_fact(settings.get(name)) for name in ("backend", "backend_version", "dtype")]
    return " ".join(filter(None, parts)) or NOT_RECORDED


def short_fact(value: object) -> str:
    """Return a setting as a short text; empty if it is unknown."""
    return "" if value in (None, "", {}) else shortened(str(value), _MAX_FACT)


def _settings_text(settings: object) -> str:
    """Return the known settings: `cache.dtype fp8, temperature 0.0`."""
    texts = []
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        for part, setting in value.items() if isinstance(value, Mapping) else [("", value)]:
            if setting not in (None, "", "unknown", {}):
                texts.append(
                    f"{name}.{part} {short_fact(setting)}"
                    if part
                    else f"{name} {short_fact(setting)}"
                )
    return ", ".join(texts) or NOT_RECORDED


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


# ---- The figures ---------------------------------------------------------------------------------


def runs_figure(runs: Runs) -> Figure:
    """Return how each run was made: a line for each fact, a column for each run."""
    facts = [facts_of(run) for run in runs.runs]
    names = dict.fromkeys(name for of_run in facts for name in of_run)
    columns = [Column("", "fact")]
    records = []
    for number, run in enumerate(runs.runs):
        columns.append(Column(run.label, f"run{number}"))
    for name in names:
        values = {f"run{number}": of_run.get(name, "0") for number, of_run in enumerate(facts)}
        records.append({"fact": name, **values})
    return Figure(name="runs", title="What was run", columns=columns, records=records)


def rows_figure(runs: Runs) -> Figure:
    """Return the configurations with rows that are missing, failed, truncated and so on."""
    records: list[dict[str, Any]] = []
    occurring: dict[Trouble, None] = {}
    for run in runs.runs:
        for config, cell in run.results["configurations"].items():
            counts = count_troubles([cell])
            if counts:
                occurring |= dict.fromkeys(counts)
                records.append(
                    {
                        "model": run.label,
                        "configuration": config,
                        "rows": cell["n"],
                        **{str(name): count for name, count in counts.items()},
                    }
                )
    records = [{**dict.fromkeys(occurring, 0), **record} for record in records]
    columns = [Column("configuration", "configuration"), ROWS]
    columns += [
        Column(TROUBLES[trouble], trouble, COUNT) for trouble in TROUBLES if trouble in occurring
    ]
    if len(runs.runs) > 1:
        columns.insert(0, MODEL)
    return Figure(
        name="rows", title="Rows that are missing, failed or truncated, and other counts",
        fold="Counts by configuration", columns=columns,
        records=records,
    )  # fmt: skip


def documents_figure(runs: Runs) -> Figure:
    """Return the configurations whose rows share documents, with their design effects."""
    records = []
    for run in runs.runs:
        for config, cell in run.results["configurations"].items():
            if "documents" in cell and "design_effect" in cell:
                records.append(
                    {
                        "model": run.label,
                        "configuration": config,
                        "rows": cell["n"],
                        "documents": cell["documents"],
                        "effect": cell["design_effect"],
                    }
                )
    columns = [
        Column("configuration", "configuration"),
        ROWS,
        Column("documents", "documents", COUNT),
        Column("design effect", "effect", ".2f"),
    ]
    if len(runs.runs) > 1:
        columns.insert(0, MODEL)
    return Figure(
        name="documents",
        title="Rows that share documents, which makes their intervals wider",
        columns=columns,
        records=records,
    )


# ---- For a paper ---------------------------------------------------------------------------------


def cite(runs: Runs) -> str:
    """Return a paragraph about the data, the rules and each run, and the BibTeX of the papers."""
    parts = [_method(run) for run in runs.runs]
    return "\n\n".join([*parts, _BIBTEX])


def _method(run: ScoredRun) -> str:
    """Return the sentences about one run."""
    facts, results = facts_of(run), run.results
    title = DATASET_TITLES[results["dataset"]["name"]]
    tokenizer = facts["Tokenizer of the rows"]
    article = "an" if tokenizer.startswith("unknown") else "the tokenizer"
    sentences = [
        f"{facts['Model']} was evaluated on {title} ({describe_rows(results)}; digest of the rows "
        f"{rows_digest(results)}), with the prompts counted by {article} "
        f"{tokenizer}.",
        f"Answers were scored by ruler-release's rules, version {results['score_version']} "
        f"({facts['Rules']}).",
    ]
    sentences += [f"{warning}." for warning in warnings_of(results)]
    if unanswered := rows_not_whole(results["configurations"].values()):
        sentences.append(f"Not answered to the end: {unanswered}.")
    settings = {
        "Prompt mode": facts["Mode"],
        "reasoning": facts["Reasoning"],
        "sampling": facts["Sampling"],
        "engine": facts["Engine"],
        "engine settings": facts["Engine settings"],
    }
    sentences.append("; ".join(f"{name}: {text}" for name, text in settings.items()) + ".")
    return " ".join(sentences)


def rows_digest(results: Results) -> str:
    """Return one digest of all scored rows: of the lines `configuration rows_sha256`, sorted.

    "not recorded" if the rows of a configuration have no digest.
    """
    digests = results["dataset"]["rows"]
    names = sorted(results["configurations"])
    if not all(digests.get(name) for name in names):
        return NOT_RECORDED
    lines = "".join(f"{name} {digests[name]}\n" for name in names)
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


_BIBTEX = """@article{hsieh2024ruler,
  title = {{RULER}: What's the Real Context Size of Your Long-Context Language Models?},
  author = {Hsieh, Cheng-Ping and Sun, Simeng and Kriman, Samuel and Acharya, Shantanu and
            Rekesh, Dima and Jia, Fei and Zhang, Yang and Ginsburg, Boris},
  journal = {arXiv preprint arXiv:2404.06654},
  year = {2024}
}

@article{kim2025oneruler,
  title = {One ruler to measure them all: Benchmarking multilingual long-context language models},
  author = {Kim, Yekyung and Russell, Jenna and Karpinska, Marzena and Iyyer, Mohit},
  journal = {arXiv preprint arXiv:2503.01996},
  year = {2025}
}"""
