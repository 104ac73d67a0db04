"""What `ruler compare` shows: the verdict about two runs, two seeds, and the ranks of more runs.

    comparison_figures(comparison, figure)     # the verdict first, the table of differences last

Two runs have paired differences (analysis/compare.py), two seeds unpaired ones (seeds.py), and
three or more runs ranks (ranks.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ruler_common.text import bounds, number, number_of, shortened, some_of
from ruler_eval.analysis.compare import (
    NOT_RECORDED,
    ComparedModel,
    Comparison,
    Decision,
    Side,
    Verdict,
)
from ruler_eval.figures.differences import DETECTABLE, difference_record
from ruler_eval.figures.figure import COUNT, INTERVAL, MODEL, Column, Figure, Record
from ruler_eval.score.troubles import not_whole, troubles_in_words

if TYPE_CHECKING:
    from ruler_eval.analysis.ranks import Ranking
    from ruler_eval.analysis.seeds import SeedComparison

_MAX_SETTING, _MAX_ONE_SIDED = 40, 8  # characters; settings
_VERDICTS: dict[Verdict, str] = {
    "smaller": "which is below",
    "larger": "which is above",
    "unknown": "which does not show whether it is below",
}
_TASK_VERDICTS: dict[Verdict, str] = {
    "smaller": "--max-task-drop {margin:g}: every configuration lost less (97.5 % confidence).",
    "larger": "--max-task-drop {margin:g}: at least one lost more (97.5 % confidence).",
    "unknown": "--max-task-drop {margin:g}: there are too few rows to tell whether each lost less.",
}
_ONE_LOOK = (
    "Not every row of the release has an answer. This verdict is valid for a single look, at rows "
    "chosen in advance: running more rows and comparing again is a second look, which its 95 % do "
    "not cover. Use `ruler decide` to look more than once."
)
_WEIGHTS = (
    "inc, dec: averages in which longer, and in which shorter, lengths weigh more. 95 %: the ranks "
    "that are possible with this number of rows."
)


# ---- Two runs ------------------------------------------------------------------------------------


def comparison_figures(comparison: Comparison, figure: Figure) -> list[Figure]:
    """Return the verdict about two runs, then the models, then the table of their differences."""
    verdict = Figure(name="verdict", title="", sentences=comparison_verdict(comparison))
    models = Figure(name="models", title="", sentences=_models(comparison))
    return [verdict, models, figure]


def comparison_verdict(result: Comparison) -> list[str]:
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
        lines += decision_sentences(result["decision"])
        lines += _worst_configuration(result)
    if unpaired := unpaired_rows(result):
        lines.append(f"Not compared: {unpaired}.")
    if unanswered := unanswered_rows(result):
        lines.append(unanswered)
    if mean["configurations"] > 1:
        better = {"a": 0, "b": 0}
        for cell in result["configurations"].values():
            if cell["better"] is not None:
                better[cell["better"]] += 1
        text = f"A is better in {number_of(better['a'], 'configuration')} and B in {better['b']}"
        tests = sum(cell["p"] is not None for cell in result["configurations"].values())
        if tests:
            text += f", after Holm's adjustment for {number_of(tests, 'test')}"
        lines.append(f"{text}.")
    return lines


def decision_sentences(result: Decision) -> list[str]:
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
        sentences.append(_TASK_VERDICTS[result["tasks"]].format(margin=result["max_task_drop"]))
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


def unpaired_rows(result: Comparison) -> str:
    """Return how many rows of each model the other does not have, or ""."""
    texts = []
    sides: tuple[tuple[Side, Side], ...] = (("a", "b"), ("b", "a"))
    for side, other in sides:
        if count := result["unpaired"][side]:
            text = f"{number_of(count, 'row')} of {side.upper()} that {other.upper()} does not have"
            if names := result["unpaired_configurations"][side]:
                text += f" (all rows of {some_of(names)})"
            texts.append(text)
    return " and ".join(texts)


def unanswered_rows(result: Comparison) -> str:
    """Return how the rows of both models ended, and the verdict without unanswered rows."""
    text = _ends_of_rows([("A", result["a"]), ("B", result["b"])])
    if "answered" not in result:
        return text
    text += " "
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


def _ends_of_rows(models: Sequence[tuple[str, ComparedModel]]) -> str:
    """Return how the rows of named models ended; "" if all were answered completely."""
    lines = [(name, counts_line(model)) for name, model in models]
    if not any(line for _, line in lines):
        return ""
    sentences = [f"Rows of {name}: {line or 'all answered'}." for name, line in lines]
    return " ".join([*sentences, "A row without a whole answer counts as wrong."])


def counts_line(model: ComparedModel) -> str:
    """Return the counts of rows without a whole answer: `3 failed, 1 truncated`, or ""."""
    return ", ".join(troubles_in_words(not_whole(model["counts"])))


def _models(
    result: Comparison | SeedComparison, seeds: Mapping[Side, int] | None = None
) -> list[str]:
    """Return a line with seed, model and rows for each side, and the settings that differ."""
    a, b = _model(result["a"]), _model(result["b"])
    if seeds is not None:
        a, b = f"seed {seeds['a']}, {a}", f"seed {seeds['b']}, {b}"
    lines = [f"A: {a}", f"B: {b}"]
    if settings := _settings_that_differ(result["settings"]):
        lines.append(f"Settings that differ: {'; '.join(settings)}.")
    return lines


def _settings_that_differ(settings: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the settings with both values; many that only one run records are only counted.

    Two backends record different settings, which would hide those that both record.
    """
    one_sided = [name for name, values in settings.items() if NOT_RECORDED in values]
    are_counted = len(one_sided) > _MAX_ONE_SIDED
    texts = []
    for name, values in settings.items():
        if not (are_counted and name in one_sided):
            a, b = (shortened(value, _MAX_SETTING) for value in values)
            texts.append(f"{name} {a} / {b}")
    if are_counted:
        texts.append(f"{len(one_sided)} that only one of them records (--json names them)")
    return texts


def _model(model: ComparedModel) -> str:
    """Return the model, its rows, and the warnings about its scores."""
    return ", ".join([model["model"] or "unnamed model", model["rows"], *model["warnings"]])


# ---- Two seeds -----------------------------------------------------------------------------------


def seed_figures(result: SeedComparison) -> list[Figure]:
    """Return the difference between two seeds in a sentence, the models, and the table."""
    text = "No configuration has different questions under the two seeds."
    if mean := result["all"]:
        text = (
            f"Seed {result['seeds']['a']} minus seed {result['seeds']['b']}: "
            f"{mean['difference']:.1f} {bounds(mean['interval'])}, "
            f"{mean['configurations']} configurations."
        )
    items: dict[str, Mapping[str, Any]] = {}
    is_marked = False
    for name, cell in result["configurations"].items():
        is_marked = is_marked or cell["same_questions"]
        items[f"{name} *" if cell["same_questions"] else name] = cell
    for length, of_length in result["lengths"].items():
        items[f"mean at {length.upper()}"] = of_length
    if mean:
        items["mean over all"] = mean
    records = []
    for name, difference in items.items():
        records.append(
            {
                **difference_record(name, difference),
                "n_a": difference.get("n_a"),
                "n_b": difference.get("n_b"),
                "higher": (difference.get("higher") or "").upper(),
            }
        )
    note = DETECTABLE
    if is_marked:
        note += " * same questions under both seeds: not in any mean, no sign of known rows."
    table = Figure(
        name="seeds",
        title="Differences between the seeds, in points",
        columns=[
            Column("", "name"),
            Column("n A", "n_a", COUNT),
            Column("n B", "n_b", COUNT),
            Column("A", "a"),
            Column("B", "b"),
            Column("A − B", "score", "+.1f"),
            INTERVAL,
            Column("higher", "higher"),
            Column("detectable", "detectable"),
        ],
        records=records,
        column_note=note,
    )
    sentences = [text, _ends_of_rows([("A", result["a"]), ("B", result["b"])])]
    verdict = Figure(name="verdict", title="", sentences=[*filter(None, sentences)])
    models = Figure(name="models", title="", sentences=_models(result, result["seeds"]))
    return [verdict, models, table]


# ---- Three runs or more --------------------------------------------------------------------------


def rank_figures(result: Ranking) -> list[Figure]:
    """Return the best model, the models, and their averages with ranks and possible ranks."""
    records: dict[str, Record] = {}
    weightings = {
        "average": result["average"],
        "inc": result["weighted_inc"],
        "dec": result["weighted_dec"],
    }
    columns = [MODEL]
    for (field, models), header in zip(weightings.items(), ("Avg.", "inc", "dec"), strict=True):
        of = "" if field == "average" else f" ({header})"
        columns += [
            Column(header, field),
            Column(f"rank{of}", f"{field} rank", COUNT),
            Column(f"95 %{of}", f"{field} ranks"),
        ]
        for ranked in models:
            first, last = ranked["ranks"]
            record = records.setdefault(ranked["model"], {"model": ranked["model"]})
            record |= {
                field: ranked["score"],
                f"{field} rank": ranked["rank"],
                f"{field} ranks": str(first) if first == last else f"{first}-{last}",
            }
    best, *rest = result["average"]
    rivals = [ranked["model"] for ranked in rest if ranked["ranks"][0] == 1]
    text = f"{best['model']} has the highest average, {number(best['score'])}; "
    if rivals:
        text += f"{', '.join(rivals)} may also be first (95 %)."
    else:
        text += "no other model can be first (95 %)."
    ends = _ends_of_rows([(model["model"] or "unnamed model", model) for model in result["models"]])
    return [
        Figure(name="verdict", title="", sentences=[*filter(None, [text, ends])]),
        Figure(name="models", title="", sentences=[_model(model) for model in result["models"]]),
        Figure(
            name="ranks",
            title="Models by their averages over the rows that all share",
            columns=columns,
            records=list(records.values()),
            column_note=_WEIGHTS,
        ),
    ]
