"""Show published models below the scored one: `ruler score --published`.

Beside published models (all, tekken): NVIDIA/RULER, README.md at 8c6666e, 2025-07-21

model                        effective    4K    8K  …  128K  Avg.  wAvg.(inc)  wAvg.(dec)
own: smollm2-135m                  <4K  24.1     -         -  24.1        24.1        24.1
Jamba-1.5-large (94B/398B) [1]   >128K  96.7  96.6      95.1  96.0        95.7        96.3
"""

from __future__ import annotations

from collections.abc import Mapping

from ruler_common.frozen import are_frozen
from ruler_common.text import number, sentences, table
from ruler_eval.published.published_tables import ModelKind, PublishedTable, newest_tables
from ruler_eval.report.terminal import chosen, mean_name
from ruler_eval.score.aggregates import Baseline
from ruler_eval.score.results import GroupSummary, Results, rows_of

NOTE = (
    "Note: published models were measured on other rows, by their authors' own runs: {rows}. "
    "An average is over the lengths of its row."
)


def published_models(
    results: Results, baseline: Baseline = "chat", markdown: bool = False, all_tables: bool = True
) -> str:
    """Return a table for each group, language and task with published results, or a sentence.

    The published models are aligned ones, or with the threshold `base` base ones. Without
    `all_tables` only the table of all tasks is shown, if it exists.
    """
    tables = _tables_for(results, baseline)
    overall = [published for published in tables if published.group == "all"]
    if not all_tables:
        tables = overall or tables
    rows = rows_of(results)
    relation = "Beside" if are_frozen(rows) else "Not comparable with"
    model = f"own: {results['model'] or 'unnamed model'}"
    parts: list[str] = []
    measured_on: dict[str, None] = {}
    for tokenizer, by_language in results["summary"].items():
        for published in tables:
            if published.is_task:
                scores = _task_scores(results, tokenizer, published)
                table_text = _task_table(model, scores, published, markdown) if scores else ""
            else:
                group = by_language.get(published.languages, {}).get(published.group)
                table_text = _group_table(model, group, published, markdown) if group else ""
            if not table_text:
                continue
            name = [published.group, tokenizer]
            if results["dataset"]["name"] == "oneruler" and not published.is_task:
                name.insert(1, published.languages)
            title = f"{relation} published models ({', '.join(name)}): {published.source}, "
            parts += [sentences(title + published.date, markdown), table_text]
            measured_on[published.measured_on] = None
    if not parts:
        return f"No published results match these scores of {results['dataset']['name']}."
    if overall and not all_tables:
        parts.append("The tables of groups of tasks and of single tasks: --all.")
    if not are_frozen(rows):
        parts.append(sentences(f"Note: not comparable, because these are {rows}.", markdown))
    parts += [sentences(NOTE.format(rows=text), markdown) for text in measured_on]
    return "\n\n".join(parts)


def _tables_for(results: Results, baseline: Baseline) -> list[PublishedTable]:
    """Return the published tables of the data that were scored: groups first, then tasks."""
    data = results["dataset"]
    if data["standard"] is False:
        return []
    kind: ModelKind = "base" if baseline == "base" else "aligned"
    groups = newest_tables(data["name"], kind)
    return [*groups, *newest_tables(data["name"], kind, of_tasks=True)]


def _task_scores(
    results: Results, tokenizer: str, published: PublishedTable
) -> dict[str, float | None]:
    """Return the scores of a published task by length; none if no length is in the table."""
    scores = {}
    for cell in chosen(results, tokenizer, published.languages).values():
        if cell["task"] == published.group:
            scores[cell["length"]] = cell["score"]
    return {} if scores.keys().isdisjoint(published.lengths) else scores


def _task_table(
    model: str, scores: Mapping[str, float | None], published: PublishedTable, markdown: bool
) -> str:
    """Return a task's scores by length, and their mean if every length was scored."""
    lengths = published.lengths
    values = [score for score in map(scores.get, lengths) if score is not None]
    mean = sum(values) / len(values) if len(values) == len(lengths) else None
    rows = [[model, *(number(scores.get(length)) for length in lengths), number(mean)]]
    for row in published.models:
        cells = [number(row.scores.get(length)) for length in lengths]
        rows.append([row.model, *cells, number(row.average)])
    return table(["model", *map(str.upper, lengths), "Avg."], rows, markdown)


def _group_table(model: str, group: GroupSummary, published: PublishedTable, markdown: bool) -> str:
    """Return a group's means by length, averages and effective lengths, and the sources."""
    means = group["lengths"]
    lengths = [*published.lengths, *(name for name in means if name not in published.lengths)]
    has_averages = any(row.average is not None for row in published.models)
    if any(mean["tasks"] < group["tasks"] for mean in means.values()):
        model += f" ({mean_name(group)})"
    scores = [number(means[name]["score"] if name in means else None) for name in lengths]
    averages = (group["average"], group["weighted_inc"], group["weighted_dec"])
    means_over_lengths = [number(average["score"]) for average in averages]
    rows = [[model, group["effective_length_name"], *scores, *means_over_lengths]]
    sources: list[str] = []
    for row in published.models:
        name = row.model
        if row.source:
            if row.source not in sources:
                sources.append(row.source)
            name += f" [{sources.index(row.source) + 1}]"
        scores = [number(row.scores.get(length)) for length in lengths]
        averages_of_row = [number(row.average), number(row.inc), number(row.dec)]
        rows.append([name, row.effective or "-", *scores, *averages_of_row])
    header = ["model", "effective", *map(str.upper, lengths), "Avg.", "wAvg.(inc)", "wAvg.(dec)"]
    if not has_averages:  # then the table has no effective lengths either
        header = [header[0], *header[2:-3]]
        rows = [[cells[0], *cells[2:-3]] for cells in rows]
    text = table(header, rows, markdown)
    if not sources:
        return text
    notes = ", ".join(f"[{place}] {source}" for place, source in enumerate(sources, 1))
    return f"{text}\n\n{sentences(notes, markdown)}"
