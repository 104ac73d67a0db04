"""Published models beside one's own: what `ruler score --beside published` prints.

Beside published models (all, tekken): NVIDIA/RULER, README.md at 8c6666e, 2025-07-21

model                        effective    4K    8K  …  128K  Avg.  wAvg.(inc)  wAvg.(dec)
own: smollm2-135m                  <4K  24.1     -         -  24.1        24.1        24.1
Jamba-1.5-large (94B/398B) [1]   >128K  96.7  96.6      95.1  96.0        95.7        96.3
"""

from __future__ import annotations

from collections.abc import Mapping

from ruler_common.frozen import are_frozen
from ruler_common.terminal import sentences, table
from ruler_eval.published.published_tables import ModelKind, PublishedTable, newest_tables
from ruler_eval.report.table_parts import number
from ruler_eval.report.terminal import chosen, mean_name
from ruler_eval.score.aggregates import Baseline
from ruler_eval.score.results import GroupSummary, Results, rows_of

NOTE = (
    "Note: published models were measured on other rows, by their authors' own runs: {rows}. "
    "An average is over the lengths of its row."
)

_OF_GROUPS = "The tables of the groups of tasks, and of single ones: --all."


def beside_published(
    results: Results, baseline: Baseline = "chat", markdown: bool = False, every: bool = True
) -> str:
    """Return a table for each group, language and task with published results.

    One sentence without any.

    The models are the aligned ones, or with the threshold `base` the base ones. Without `every`
    the table of all tasks stands for those of their groups and of single ones.
    """
    data = results["dataset"]
    kind: ModelKind = "base" if baseline == "base" else "aligned"
    known, of_tasks = (newest_tables(data["name"], kind, tasks) for tasks in (False, True))
    if data["standard"] is False:
        known, of_tasks = [], []
    whole = [table for table in known if table.group == "all"]
    if whole and not every:
        known, of_tasks = whole, []
    rows, parts, shown = rows_of(results), [], []
    beside = "Beside" if are_frozen(rows) else "Not comparable with"
    label = f"own: {results['model'] or 'unnamed model'}"
    for tokenizer, by_language in results["summary"].items():
        for published in [*known, *of_tasks]:
            name = [published.group, tokenizer]
            if published in of_tasks:
                cells = chosen(results, tokenizer, published.languages).values()
                scores = {c["length"]: c["score"] for c in cells if c["task"] == published.group}
                if scores.keys().isdisjoint(published.lengths):
                    continue
                drawn = _task_table(scores, label, published, markdown)
            else:
                own = by_language.get(published.languages, {}).get(published.group)
                if own is None:
                    continue
                name[1:1] = [published.languages] * (data["name"] == "oneruler")
                drawn = _table(own, label, published, markdown)
            title = f"{beside} published models ({', '.join(name)}): {published.source}, "
            parts += [sentences(title + published.date, markdown), drawn]
            shown.append(published)
    if not shown:
        return f"No published results fit what was scored of {data['name']}."
    if whole and not every:
        parts.append(_OF_GROUPS)
    if not are_frozen(rows):
        parts.append(sentences(f"Note: not comparable, for these are {rows}.", markdown))
    measured = dict.fromkeys(table.measured_on for table in shown)
    parts += [sentences(NOTE.format(rows=text), markdown) for text in measured]
    return "\n\n".join(parts)


def _task_table(
    own: Mapping[str, float | None], label: str, published: PublishedTable, markdown: bool
) -> str:
    """Return a task's scores by length, and their mean if every length was scored."""
    lengths = published.lengths
    scores = [score for name in lengths if (score := own.get(name)) is not None]
    mean = sum(scores) / len(scores) if len(scores) == len(lengths) else None
    rows = [[label, *(number(own.get(name)) for name in lengths), number(mean)]]
    rows += [
        [one.model, *(number(one.scores.get(name)) for name in lengths), number(one.average)]
        for one in published.models
    ]
    return table(["model", *map(str.upper, lengths), "Avg."], rows, markdown)


def _table(own: GroupSummary, label: str, published: PublishedTable, markdown: bool) -> str:
    means = own["lengths"]
    lengths = [*published.lengths, *(name for name in means if name not in published.lengths)]
    averages = any(model.average is not None for model in published.models)
    if any(mean["tasks"] < own["tasks"] for mean in means.values()):
        label += f" ({mean_name(own)})"
    first = [label] + [own["effective_length_name"]] * averages
    first += [number(means[name]["score"] if name in means else None) for name in lengths]
    if averages:
        first += [number(own[key]["score"]) for key in ("average", "weighted_inc", "weighted_dec")]
    rows, sources = [first], list(dict.fromkeys(m.source for m in published.models if m.source))
    for model in published.models:
        mark = f" [{sources.index(model.source) + 1}]" if model.source else ""
        row = [model.model + mark]
        row += [model.effective or "-"] * averages
        row += [number(model.scores.get(name)) for name in lengths]
        if averages:
            row += [number(value) for value in (model.average, model.inc, model.dec)]
        rows.append(row)
    header = ["model"] + ["effective"] * averages + [name.upper() for name in lengths]
    header += ["Avg.", "wAvg.(inc)", "wAvg.(dec)"] if averages else []
    drawn = table(header, rows, markdown)
    named = ", ".join(f"[{place}] {source}" for place, source in enumerate(sources, 1))
    return f"{drawn}\n\n{sentences(named, markdown)}" if named else drawn
