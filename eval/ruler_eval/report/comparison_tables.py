"""What `ruler compare` prints, in 80 columns: the verdict first, then the tables behind it.

    print(comparison(found))

Of two runs paired differences, of two seeds unpaired ones, of three runs or more their ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ruler_common.terminal import sentences, table
from ruler_common.text import number_of, shortened
from ruler_eval.analysis.compare import ComparedModel, Decision, RowCounts, Verdict
from ruler_eval.report.table_parts import bounds, number, p_value, picked

if TYPE_CHECKING:
    from ruler_eval.analysis.ranks import Ranking

_MAX_SETTING = 40  # characters
_SIZES = {"n": "n", "n A": "n_a", "n B": "n_b"}
_TESTS = """p is of a single test; p (Holm) is adjusted for all {tests} of this table."""
_BETTER = """better: the model that these rows show to be better: the 95 % interval (from, to) does
not hold 0, p (Holm) is below 0.05 if there is one, and there are 10 rows or more."""
_VERDICTS: dict[Verdict, str] = {
    "smaller": "which is below",
    "larger": "which is above",
    "unknown": "which does not show whether it is below",
}
_ONE_LOOK = """Some rows have no answer. Such a verdict is of one look, at rows chosen before it: to
run more rows and compare again is a second look, which its 95 % do not allow. `ruler decide` may
look again."""
_DETECTABLE = """detectable: a true difference of this size is found in 80 of 100 repetitions
with as many rows; smaller ones are mostly missed."""
_LEAST = """least: the smallest difference that this number of right or wrong rows can show."""


def comparison(found: Mapping[str, Any], markdown: bool = False) -> str:
    """Verdict and tables of two runs; differences are A − B in points."""
    cells, rows = found["configurations"], _rows(found)
    names = ("", "n", "A", "B", "A − B", "from", "to", "better")
    differences = table(*picked(rows, names, "A", "B", "A − B"), markdown)
    header, shown = picked(rows, ("", "p", "p (Holm)", "detectable", "least"))
    tests = sum(cell["p"] is not None for cell in cells.values())
    notes = [_TESTS.format(tests=tests)] * (tests > 1) + [_DETECTABLE]
    notes += [_LEAST] * ("least" in header)
    parts = [comparison_verdict(found, markdown), _sides(found, markdown), differences]
    parts += [sentences(_BETTER, markdown), "What this number of rows can show"]
    parts += [table(header, shown, markdown), *(sentences(note, markdown) for note in notes)]
    return "\n\n".join(parts)


def comparison_verdict(found: Mapping[str, Any], markdown: bool = False) -> str:
    """Who leads over all and by how much, what `--max-drop` says, and the count of leads."""
    every, cells = found["all"], found["configurations"].values()
    count = every["configurations"]
    over = f"over {count} configuration{'s' * (count != 1)}"
    names = {side: f"{found[side]['model'] or 'unnamed'} ({side.upper()})" for side in ("a", "b")}
    first = f"{names['a']} and {names['b']} are not told apart {over}: A − B is "
    first += f"{every['difference']:+.1f} points, 95 % interval {bounds(every['interval'])}."
    if lead := every["better"]:
        low, high = every["interval"] if lead == "a" else [-end for end in every["interval"][::-1]]
        other = names["b" if lead == "a" else "a"]
        first = f"{names[lead]} leads {other} by {abs(every['difference']):.1f} points {over}, "
        first += f"95 % interval {bounds((low, high))}."
    shown = [first, decision(found["decision"])] if "decision" in found else [first]
    shown += unanswered(found)
    better = {side: sum(cell["better"] == side for cell in cells) for side in ("a", "b")}
    tests = sum(cell["p"] is not None for cell in cells)
    if count > 1:
        text = f"A is better in {number_of(better['a'], 'configuration')} and B in {better['b']}"
        if tests:
            text += f", after Holm's adjustment for {number_of(tests, 'test')}"
        shown.append(f"{text}.")
    return "\n".join(sentences(text, markdown) for text in shown)


def unanswered(found: Mapping[str, Any]) -> list[str]:
    """Return how the rows of both models ended, and the verdict without unanswered ones."""
    sides = {side: counts_line(found[side]["counts"]) for side in ("a", "b")}
    if not any(sides.values()):
        return []
    lines = [f"Rows of {side.upper()}: {text or 'all answered'}." for side, text in sides.items()]
    if "answered" not in found:
        return [" ".join(lines)]
    lines.append("A row that failed or is missing counts as wrong.")
    every = found["answered"]
    if every is None:
        return [" ".join([*lines, "No row was answered by both models."])]
    text = f"Without the {number_of(every['unanswered'], 'row')} that failed or are missing, "
    text += f"A − B is {every['difference']:+.1f} points, {bounds(every['interval'])}"
    if "decision" in found:
        limit, verdict = f"{found['decision']['max_drop']:g}", found["decision"]["answered"]
        text += f", {_VERDICTS[verdict]} {limit}"
    return [" ".join([*lines, f"{text}."])]


def counts_line(counts: RowCounts) -> str:
    """Return the rows without a whole answer: `3 failed, 1 truncated`; empty if there are none."""
    parts = []
    if counts["failed"]:
        parts.append(f"{counts['failed']:,} failed")
    if counts["missing"]:
        parts.append(f"{counts['missing']:,} missing")
    if counts["truncated"]:
        parts.append(f"{counts['truncated']:,} truncated")
    if counts["does_not_fit"]:
        parts.append(f"{counts['does_not_fit']:,} did not fit the model's window")
    return ", ".join(parts)


def decision(found: Decision) -> str:
    """Return the sentence of `ruler compare --max-drop`."""
    limit, drop = f"{found['max_drop']:g} points", f"{found['drop']:.1f} points"
    text = f"--max-drop {found['max_drop']:g}: over these rows B lost {drop}; over other rows like "
    text += f"these {bounds(found['interval'])} (95 % interval), "
    verdicts: dict[Verdict, str] = {
        "smaller": f"which is below {limit} (97.5 % confidence).",
        "larger": f"which is above {limit} (97.5 % confidence).",
        "unknown": f"which does not show whether it is below {limit}.",
    }
    text += verdicts[found["verdict"]]
    return text if found["whole"] else f"{text} {_ONE_LOOK}"


def seeds(found: Mapping[str, Any], markdown: bool = False) -> str:
    """Return the difference between two seeds in a sentence, and the table behind it."""
    cells, every = found["configurations"], found["all"]
    a, b = found["seeds"]["a"], found["seeds"]["b"]
    first = "No configuration asks something else under the other seed."
    if every:
        shown = f"{every['difference']:.1f} {bounds(every['interval'])}"
        first = f"Seed {a} minus seed {b}: {shown}, {every['configurations']} configurations."
    names = ("", "n A", "n B", "A", "B", "A − B", "from", "to", "higher", "detectable")
    header, rows = picked(_rows(found), names, "A", "B", "A − B")
    parts = [sentences(first, markdown), _sides(found, markdown)]
    parts += [table(header, rows, markdown), sentences(_DETECTABLE, markdown)]
    if any(cell["same_questions"] for cell in cells.values()):
        parts.append("* asks the same under both seeds: in no mean, and no sign of known rows.")
    return "\n\n".join(parts)


def ranking(found: Ranking, markdown: bool = False) -> str:
    """Who is first, and the models by their average, with their ranks under it and both weighted.

    The ranks that the rows leave possible are those of 95 %.
    """
    titles = {"Avg.": found["average"], "inc": found["weighted_inc"], "dec": found["weighted_dec"]}
    places = {title: {one["model"]: one for one in ranked} for title, ranked in titles.items()}
    rows = []
    for one in found["average"]:
        row = [one["model"]]
        for title in titles:
            mine = places[title][one["model"]]
            first, last = mine["ranks"]
            row += [number(mine["score"]), str(mine["rank"])]
            row += [str(first) if first == last else f"{first}-{last}"]
        rows.append(row)
    header = ["model"]
    for title in titles:
        header += [title, "rank", "95 %"]
    best, *others = found["average"]
    rivals = [one["model"] for one in others if one["ranks"][0] == 1]
    text = f"{best['model']} has the highest average, {number(best['score'])}; "
    also = f"{', '.join(rivals)} may be first too (95 %)."
    text += also if rivals else "at 95 % no other can be first."
    weights = "inc, dec: averages in which longer, and in which shorter, lengths weigh more. "
    weights += "95 %: the ranks that this number of rows leaves possible."
    whose = "\n".join(sentences(_whose(model), markdown) for model in found["models"])
    shown = [sentences(text, markdown), whose, table(header, rows, markdown)]
    return "\n\n".join([*shown, sentences(weights, markdown)])


def _sides(found: Mapping[str, Any], markdown: bool) -> str:
    """Return a line for each side.

    The model, the seed of two, its rows; then the settings that differ.
    """
    shown = []
    for side in ("a", "b"):
        model, seed = found[side], found.get("seeds", {}).get(side)
        text = f"{side.upper()}: " + f"seed {seed}, " * (seed is not None) + _whose(model)
        shown.append(sentences(text, markdown))
    if found["settings"]:
        shown.append(sentences(f"Settings that differ: {_settings(found['settings'])}.", markdown))
    return "\n".join(shown)


def _settings(differ: Mapping[str, Sequence[str]]) -> str:
    """`sampling.temperature 0.0 / 0.6; mode prefill / chat`: A's, then B's."""
    parts = []
    for name, values in differ.items():
        a, b = [shortened(value, _MAX_SETTING) for value in values]
        parts.append(f"{name} {a} / {b}")
    return "; ".join(parts)


def _whose(model: ComparedModel) -> str:
    """Return the model, its rows, and what keeps its scores from being sure."""
    return ", ".join([model["model"] or "unnamed model", model["rows"], *model["doubts"]])


def _rows(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """All that is shown of each configuration and mean, by what stands above its column."""
    shown = {
        name + " *" * cell.get("same_questions", False): cell
        for name, cell in found["configurations"].items()
    }
    shown |= {f"mean at {length.upper()}": mean for length, mean in found["lengths"].items()}
    if found["all"]:
        shown["mean over all"] = found["all"]
    return [
        {
            "": name,
            **{title: str(one.get(key, "")) for title, key in _SIZES.items()},
            **{"A": number(one["a"]), "B": number(one["b"]), "A − B": f"{one['difference']:+.1f}"},
            **dict(zip(("from", "to"), map(number, one["interval"]), strict=True)),
            "better": (one.get("better") or "").upper(),
            "higher": (one.get("higher") or "").upper(),
            "p": p_value(one["p"]) if "p" in one else "",
            "p (Holm)": p_value(one["p_holm"]) if "p" in one else "",
            "detectable": _detectable(one["detectable"]),
            "least": number(one["least"]) if "least" in one else "",
        }
        for name, one in shown.items()
    ]


def _detectable(value: float) -> str:
    """Never 0.0: a difference of nothing cannot be found."""
    return number(value) if value >= 0.05 else "< 0.1"
