"""What `ruler score` prints: the scores and the averages, within 80 columns."""

from __future__ import annotations

import itertools

import pytest

from ruler_common.names import TASKS, Names, parse_length
from ruler_common.text import TERMINAL_WIDTH, width
from ruler_eval.figures.catalogue import score_figures
from ruler_eval.figures.published import published
from ruler_eval.report.render import render
from ruler_eval.score import aggregates
from ruler_eval.score.results import load, rows_by_config
from tests.eval.figures_text import runs_of_results
from tests.eval.scoring_helpers import right, write_oneruler
from tests.in_process import ruler, ruler_output


@pytest.fixture
def results(write_run):
    """A run of all tasks, its 4k also at the four lengths that are not built for tests."""
    run = write_run(lambda config, row: "" if row["index"] % 2 else right(config, row))
    ruler_output("score", run)
    result = load(run / "results.json")
    cells = result["configurations"]
    for name, cell in list(cells.items()):
        for length in ("16k", "32k", "64k", "128k") if cell["length"] == "4k" else ():
            expected = {"length": length, "max_length": parse_length(length)}
            longer = name.replace("4k", length)
            cells[longer] = {**cell, **expected}
            table = result["rows"]
            here = [place for place, config in enumerate(table["config"]) if config == name]
            for column, values in table.items():
                of_length = {"config": longer, "length": length}
                values += [of_length.get(column, values[place]) for place in here]
    result["summary"] = aggregates.summary(cells, rows_by_config(result), Names.standard("ruler"))
    return result


def report(results, all_tables=False):
    """What `ruler score` shows."""
    return render(score_figures(runs_of_results(results), all_tables), "text")


def tables_of(text):
    """The lines of tables, without sentences."""
    return [line for line in text.splitlines() if "  " in line or "--" in line]


def test_scores_and_averages_of_six_lengths_fit_80_columns(results):
    lines = report(results).splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("task ")) :]
    assert table[0].split() == ["task", "4K", "8K", "16K", "32K", "64K", "128K"]
    assert max(map(len, tables_of(report(results)))) <= 80
    group = results["summary"]["tekken"]["en"]["all"]
    low, high = group["average"]["interval"]
    (row,) = [line.split() for line in lines if line.startswith("all 13 tasks ")]
    numbers = (group["average"]["score"], low, high, group["weighted_inc"]["score"])
    assert row[3:7] == [f"{value:.1f}" for value in numbers]
    assert row[8] == "85.6"  # the threshold, beside what it decides
    (changes,) = [line.split() for line in lines if line.startswith("all tasks ")]
    assert changes[2:] == [changes[2]] * 5
    assert changes[2].startswith("+0.0±")
    assert len(lines) <= 55
    (ends,) = [line.split() for line in lines if line.startswith("95 % from")]
    assert ends[-1] == f"{group['lengths']['128k']['interval'][0]:.1f}"


def test_an_effective_length_shows_those_by_the_ends_of_its_interval(results):
    score = results["summary"]["tekken"]["en"]["all"]["lengths"]["4k"]["score"]
    results["summary"] = aggregates.summary(
        results["configurations"],
        rows_by_config(results),
        Names.standard("ruler"),
        aggregates.SummaryOptions(baseline=score - 0.1),
    )
    lines = report(results).splitlines()
    (row,) = [line for line in lines if line.startswith("all 13 tasks ")]
    assert row.split()[-3:] == [f"{score - 0.1:.1f}", "128K", "(<4K–128K)"]
    assert "In brackets:" in " ".join(lines)


def test_a_run_of_one_length_explains_no_brackets(results):
    cells = {name: c for name, c in results["configurations"].items() if c["length"] == "4k"}
    score = results["summary"]["tekken"]["en"]["all"]["lengths"]["4k"]["score"]
    results["configurations"] = cells
    results["summary"] = aggregates.summary(
        cells,
        rows_by_config(results),
        Names.standard("ruler"),
        aggregates.SummaryOptions(baseline=score - 0.1),
    )
    assert "In brackets:" not in " ".join(report(results, all_tables=True).split())


def test_rows_in_trouble_are_counted_in_words_and_a_run_of_many_notes_is_short(write_run):
    def cut(config, row):
        return {"prediction": right(config, row), "finish_reason": "length"}

    run = write_run(lambda config, row: None if row["index"] else cut(config, row))
    brief, _, _ = ruler("score", run)
    every, _, _ = ruler("score", run, "--all")
    missing = len(load(run / "results.json")["configurations"]) * 4
    output = " ".join(brief.split())
    assert f": {missing} missing, " in output
    assert "Missing rows count as wrong; --partial leaves them out" in output
    assert "truncated but scored" in output
    assert "truncated_scored" not in brief + every
    notes = every.count("Note: ")
    assert (brief.count("Note: "), notes > 6) == (5, True)
    assert f"{notes - 5} more notes: --all." in brief
    assert "count as wrong" not in ruler("score", run, "--partial")[0]


def test_with_all_tables_nothing_is_wider_and_no_name_is_cut(results):
    results["notes"].append("a note of many words, " * 12)
    results["model"] = "a-model-of-an-organisation/with-a-long-name-72b-instruct-awq-int4"
    tables = render(published(runs_of_results(results), all_tables=True), "text")
    lines = f"{report(results, all_tables=True)}\n\n{tables}".splitlines()
    assert max(map(width, tables_of("\n".join(lines)))) <= TERMINAL_WIDTH
    firsts = {line.partition("  ")[0] for line in lines}
    with_depths = {name for name, cell in results["configurations"].items() if cell["depth"]}
    assert {f"own: {results['model']}", *with_depths} < firsts
    (low,) = {line for line in lines if line.startswith("95 % from")} & set(_below(lines, "mean"))
    lengths = results["summary"]["tekken"]["en"]["all"]["lengths"].values()
    assert low.split()[3:-1] == [f"{mean['interval'][0]:.1f}" for mean in lengths]


def _below(lines, name):
    return [after for line, after in itertools.pairwise(lines) if line.startswith(name)]


def test_several_languages_are_shown_by_length_and_their_tasks_with_all(tmp_path):
    root = write_oneruler(
        tmp_path / "oneruler", ["pl", "ko", "en-ko"], ("8k", "32k"), tasks=TASKS["oneruler"]
    )
    run = tmp_path / "run"
    options = ("-d", root, "-c", "all", "-b", "oracle", "-o", run)
    ruler_output("run", *options)
    stdout = ruler_output("score", run)
    heads = [line.split() for line in stdout.splitlines() if line.startswith(("language", "group"))]
    assert heads[0] == ["language", "8K", "32K", "Avg."]
    assert heads[1][:4] == ["group", "Avg.", "from", "to"]
    assert "effective" not in heads[1]  # ONERULER has no threshold
    assert not any(line.startswith("niah_none") for line in stdout.splitlines())
    assert "--all" in stdout
    whole, _, _ = ruler("score", run, "--all")
    assert any(line.startswith("niah_none") for line in whole.splitlines())


def test_depth_is_printed_with_all_tables(results):
    assert "depth of the evidence" not in report(results)
    lines = report(results, all_tables=True).splitlines()
    (row,) = [line.split() for line in lines if line.startswith("niah_single_1_4k ")]
    bins = results["configurations"]["niah_single_1_4k"]["depth"]
    assert row[1:] == ["-" if b["score"] is None else f"{b['score']:.0f}" for b in bins]
