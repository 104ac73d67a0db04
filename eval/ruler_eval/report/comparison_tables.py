"""Write the verdict and tables of `ruler compare`, in 80 columns or as Markdown.

    print(comparison(compare(a, b)))

Two runs have paired differences, two seeds unpaired differences, and three or more runs ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ruler_common.text import (
    bounds,
    number,
    number_of,
    p_value,
    picked,
    sentences,
    shortened,
    table,
)
from ruler_eval.analysis.compare import ComparedModel, Comparison, Decision, Side, Verdict

if TYPE_CHECKING:
    from ruler_eval.analysis.ranks import Ranking
    from ruler_eval.analysis.seeds import SeedComparison

_MAX_SETTING = 40  # characters
_TESTS = "p is for a single test; p (Holm) is adjusted for all {tests} tests of this table."
_BETTER = """better: the model that is better: the 95 % interval (from, to) excludes 0, p (Holm),
if it is given, is below 0.05, and there are at least 10 rows; for means at several lengths also
after Holm's adjustment for their number."""
_VERDICTS: dict[Verdict, str] = {
    "smaller": "which is below",
    "larger": "which is above",
    "unknown": "which does not show whether it is below",
}
_TASK_VERDICTS: dict[Verdict, str] = {
    "smaller": "--max-task-drop {limit:g}: every configuration lost less (97.5 % confidence).",
    "larger": "--max-task-drop {limit:g}: at least one lost more (97.5 % confidence).",
    "unknown": "--max-task-drop {limit:g}: there are too few rows to tell whether each lost less.",
}
_ONE_LOOK = """Some rows have no answer. This verdict is valid for a single look, at rows chosen in
advance: running more rows and comparing again is a second look, which its 95 % do not cover. Use
`ruler decide` to look more than once."""
_DETECTABLE = """detectable: a true difference of this size is found in 80 of 100 repetitions
with the same number of rows; most smaller differences are missed."""
_SMALLEST = "smallest: this number of right or wrong rows cannot show a smaller difference."


# ---- Two runs ------------------------------------------------------------------------------------


def comparison(result: Comparison, markdown: bool = False) -> str:
    """Return the verdict and tables of two runs; differences are A − B in points."""
    rows = _difference_rows(result)
    columns = ("", "n", "A", "B", "A − B", "from", "to", "better")
    differences = table(*picked(rows, columns, "A", "B", "A − B"), markdown)
    header, power_rows = picked(rows, ("", "p", "p (Holm)", "detectable", "smallest"))
    parts = [
        comparison_verdict(result, markdown),
        _models(result, markdown),
        differences,
        sentences(_BETTER, markdown),
        "What this number of rows can show",
        table(header, power_rows, markdown),
    ]
    tests = _count_tests(result)
    if tests > 1:
        parts.append(sentences(_TESTS.format(tests=tests), markdown))
    parts.append(sentences(_DETECTABLE, markdown))
    if "smallest" in header:
        parts.append(sentences(_SMALLEST, markdown))
    return "\n\n".join(parts)


def comparison_verdict(result: Comparison, markdown: bool = False) -> str:
    """Return the overall lead, the decision of `--max-drop`, and the number of leads of each."""
    mean = result["all"]
    a = f"{result['a']['model'] or 'unnamed'} (A)"
    b = f"{result['b']['model'] or 'unnamed'} (B)"
    over = f"over {number_of(mean['configurations'], 'configuration')}"
    low, high = mean["interval"]
    if mean["better"] == "a":
        text = f"{a} leads {b} by {mean['difference']:.1f} points {over}"
    elif mean["better"] == "b":
        text = f"{b} leads {a} by {-mean['difference']:.1f} points {over}"
        low, high = -high, -low
    else:
        text = (
            f"{a} and {b} do not differ clearly {over}: A − B is {mean['difference']:+.1f} points"
        )
    lines = [f"{text}, 95 % interval {bounds((low, high))}."]
    if "decision" in result:
        lines += decision(result["decision"])
        lines += _worst_configuration(result)
    if unanswered := unanswered_rows(result):
        lines.append(unanswered)
    if mean["configurations"] > 1:
        better = {"a": 0, "b": 0}
        for cell in result["configurations"].values():
            if cell["better"] is not None:
                better[cell["better"]] += 1
        text = f"A is better in {number_of(better['a'], 'configuration')} and B in {better['b']}"
        if tests := _count_tests(result):
            text += f", after Holm's adjustment for {number_of(tests, 'test')}"
        lines.append(f"{text}.")
    return "\n".join(sentences(line, markdown) for line in lines)


def decision(result: Decision) -> list[str]:
    """Return the sentences of `ruler compare --max-drop`; the interval is that of the lead."""
    mean = result["mean"]
    text = (
        f"--max-drop {result['max_drop']:g}: over these rows B lost {result['drop']:.1f} points; "
        f"over other rows like these {bounds(result['interval'])} (95 % interval), "
        f"{_VERDICTS[mean]} {result['max_drop']:g} points"
    )
    text += "." if mean == "unknown" else " (97.5 % confidence)."
    sentences = [text if result["whole"] else f"{text} {_ONE_LOOK}"]
    if "tasks" in result:
        sentences.append(_TASK_VERDICTS[result["tasks"]].format(limit=result["max_task_drop"]))
    return sentences


def _worst_configuration(result: Comparison) -> list[str]:
    """Return the configuration in which B lost most, with the bounds of that loss."""
    cells = result["configurations"]
    if len(cells) < 2:
        return []
    name = max(cells, key=lambda name: cells[name]["difference"])
    return [
        f"Largest loss of a configuration: {name}, {cells[name]['difference']:.1f} points "
        f"{bounds(cells[name]['task_interval'])} (intervals that hold for all {len(cells)} "
        "configurations together, 95 %)."
    ]


def unanswered_rows(result: Comparison) -> str:
    """Return how the rows of both models ended, and the verdict without unanswered rows."""
    a, b = counts_line(result["a"]), counts_line(result["b"])
    if not a and not b:
        return ""
    text = f"Rows of A: {a or 'all answered'}. Rows of B: {b or 'all answered'}."
    if "answered" not in result:
        return text
    text += " A row that failed or is missing counts as wrong. "
    mean = result["answered"]
    if mean is None:
        return text + "No row was answered by both models."
    text += (
        f"Without the {number_of(mean['unanswered'], 'row')} that failed or are missing, "
        f"A − B is {mean['difference']:+.1f} points, {bounds(mean['interval'])}"
    )
    if "decision" in result:
        verdict = _VERDICTS[result["decision"]["answered"]]
        text += f", {verdict} {result['decision']['max_drop']:g}"
    return f"{text}."


def counts_line(model: ComparedModel) -> str:
    """Return the counts of rows without a whole answer: `3 failed, 1 truncated`, or ""."""
    counts = model["counts"]
    endings = {
        "failed": counts["failed"],
        "missing": counts["missing"],
        "truncated": counts["truncated"],
        "did not fit the model's window": counts["does_not_fit"],
    }
    return ", ".join(f"{count:,} {ending}" for ending, count in endings.items() if count)


def _count_tests(result: Comparison) -> int:
    """Return how many configurations have an exact test."""
    return sum(cell["p"] is not None for cell in result["configurations"].values())


# ---- Two seeds -----------------------------------------------------------------------------------


def seeds(result: SeedComparison, markdown: bool = False) -> str:
    """Return the difference between two seeds in a sentence, and the table behind it."""
    text = "No configuration has different questions under the two seeds."
    if mean := result["all"]:
        text = (
            f"Seed {result['seeds']['a']} minus seed {result['seeds']['b']}: "
            f"{mean['difference']:.1f} {bounds(mean['interval'])}, "
            f"{mean['configurations']} configurations."
        )
    columns = ("", "n A", "n B", "A", "B", "A − B", "from", "to", "higher", "detectable")
    header, rows = picked(_difference_rows(result), columns, "A", "B", "A − B")
    parts = [sentences(text, markdown), _models(result, markdown, result["seeds"])]
    parts += [table(header, rows, markdown), sentences(_DETECTABLE, markdown)]
    if any(cell["same_questions"] for cell in result["configurations"].values()):
        parts.append("* same questions under both seeds: not in any mean, no sign of known rows.")
    return "\n\n".join(parts)


# ---- Three runs or more --------------------------------------------------------------------------


def ranking(result: Ranking, markdown: bool = False) -> str:
    """Return the best model, and a table of all models by average and both weighted averages.

    Each average has its rank, and the ranks that are possible at 95 %.
    """
    rows: dict[str, list[str]] = {}
    for models in (result["average"], result["weighted_inc"], result["weighted_dec"]):
        for ranked in models:
            first, last = ranked["ranks"]
            possible = str(first) if first == last else f"{first}-{last}"
            row = rows.setdefault(ranked["model"], [ranked["model"]])
            row += [number(ranked["score"]), str(ranked["rank"]), possible]
    header = ["model"]
    for title in ("Avg.", "inc", "dec"):
        header += [title, "rank", "95 %"]
    best, *rest = result["average"]
    rivals = [ranked["model"] for ranked in rest if ranked["ranks"][0] == 1]
    text = f"{best['model']} has the highest average, {number(best['score'])}; "
    if rivals:
        text += f"{', '.join(rivals)} may also be first (95 %)."
    else:
        text += "no other model can be first (95 %)."
    weights = (
        "inc, dec: averages in which longer, and in which shorter, lengths weigh more. "
        "95 %: the ranks that are possible with this number of rows."
    )
    model_lines = "\n".join(sentences(_model(model), markdown) for model in result["models"])
    parts = [sentences(text, markdown), model_lines, table(header, rows.values(), markdown)]
    return "\n\n".join([*parts, sentences(weights, markdown)])


# ---- Shared parts --------------------------------------------------------------------------------


def _models(
    result: Comparison | SeedComparison, markdown: bool, seeds: Mapping[Side, int] | None = None
) -> str:
    """Return a line with seed, model and rows for each side, and the settings that differ."""
    a, b = _model(result["a"]), _model(result["b"])
    if seeds is not None:
        a, b = f"seed {seeds['a']}, {a}", f"seed {seeds['b']}, {b}"
    lines = [f"A: {a}", f"B: {b}"]
    settings = []
    for name, values in result["settings"].items():
        a, b = shortened(values[0], _MAX_SETTING), shortened(values[1], _MAX_SETTING)
        settings.append(f"{name} {a} / {b}")
    if settings:
        lines.append(f"Settings that differ: {'; '.join(settings)}.")
    return "\n".join(sentences(line, markdown) for line in lines)


def _model(model: ComparedModel) -> str:
    """Return the model, its rows, and the warnings about its scores."""
    return ", ".join([model["model"] or "unnamed model", model["rows"], *model["warnings"]])


def _difference_rows(result: Comparison | SeedComparison) -> list[dict[str, str]]:
    """Return the cells of each configuration and each mean, by column."""
    differences: dict[str, Mapping[str, Any]] = {}
    for name, cell in result["configurations"].items():
        differences[f"{name} *" if cell.get("same_questions") else name] = cell
    for length, mean in result["lengths"].items():
        differences[f"mean at {length.upper()}"] = mean
    if result["all"]:
        differences["mean over all"] = result["all"]
    rows = []
    for name, difference in differences.items():
        low, high = difference["interval"]
        detectable = difference["detectable"]
        row = {
            "": name,
            "n": str(difference.get("n", "")),
            "n A": str(difference.get("n_a", "")),
            "n B": str(difference.get("n_b", "")),
            "A": number(difference["a"]),
            "B": number(difference["b"]),
            "A − B": f"{difference['difference']:+.1f}",
            "from": number(low),
            "to": number(high),
            "better": (difference.get("better") or "").upper(),
            "higher": (difference.get("higher") or "").upper(),
            "p": "",
            "p (Holm)": "",
            "detectable": number(detectable) if detectable >= 0.05 else "< 0.1",
            "smallest": number(difference["smallest"]) if "smallest" in difference else "",
        }
        if "p" in difference:
            row |= {"p": p_value(difference["p"]), "p (Holm)": p_value(difference["p_holm"])}
        rows.append(row)
    return rows
