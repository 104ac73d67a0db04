"""What `ruler run` and `ruler batch read` show of a run: failures first, then rows by state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruler_common.text import number_of, sentences, show, table

if TYPE_CHECKING:
    from ruler_eval.run.progress import RunSummary

COLUMNS = {
    "stop": "ended",
    "length": "truncated",
    "does_not_fit": "too long",
    "error": "failed",
    "reasoning": "reasoning truncated",
}
"""The counts of a configuration, and the heads of their columns."""


def show_summary(summary: RunSummary) -> None:
    """Show the summary in words, then the rows by state."""
    for line in summary.lines():
        show(sentences(line))
    show_states(summary)


def show_states(summary: RunSummary) -> None:
    """Show the rows by state of each configuration that did not end well in every row.

    The other configurations are one sentence.
    """
    counts: dict[str, dict[str, int]] = {}
    ended = not_begun = 0
    for config, states in summary.states.items():
        if not states:
            not_begun += 1
        elif set(states) == {"stop"} and not summary.unfinished[config]:
            ended += 1
        else:
            counts[config] = {**states, "reasoning": summary.unfinished[config]}
    if counts:
        show_counts(counts)
    if ended:
        every = "The rows so far" if summary.missing else "All rows"
        configs = number_of(ended, "other configuration" if counts else "configuration")
        show(f"{every} of {configs} were answered to the end.")
    if not_begun:
        configs = number_of(not_begun, "configuration")
        show(f"No row of {configs} was answered yet.")


def show_counts(counts: dict[str, dict[str, int]]) -> None:
    """Show a table of counts by configuration; columns without any count are left out."""
    columns = [
        column for column in COLUMNS if any(states.get(column) for states in counts.values())
    ]
    rows = [
        [config, *(str(states.get(column, 0)) for column in columns)]
        for config, states in counts.items()
    ]
    heads = [COLUMNS[column] for column in columns]
    show(table(["configuration", *heads], rows))
