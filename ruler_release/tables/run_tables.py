"""What `ruler run` and `ruler batch read` show of a run: failures first, then every state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruler_common.terminal import out, table

if TYPE_CHECKING:
    from ruler_eval.run.progress import RunSummary


def show_summary(summary: RunSummary) -> None:
    """The summary in words, then the table of states."""
    for line in summary.lines():
        out.print(line, highlight=False)
    show_states(summary)


def show_states(summary: RunSummary) -> None:
    """The states of the rows of each configuration."""
    from ruler_eval.run.records import STATES

    header = ["configuration", *STATES, "reasoning truncated"]
    rows = [
        [config, *(str(states[state]) for state in STATES), str(summary.unfinished[config])]
        for config, states in summary.states.items()
    ]
    out.print(table(header, rows), highlight=False)
