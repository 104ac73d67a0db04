"""What `ruler run` and `ruler batch read` show of a run: failures first, then every state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruler_common.terminal import MANY, narrow_table, out, sentences

if TYPE_CHECKING:
    from ruler_eval.run.progress import RunSummary


def show_summary(summary: RunSummary) -> None:
    """The summary in words, then the table of states."""
    for line in summary.lines():
        out.print(sentences(line), highlight=False)
    show_states(summary)


def show_states(summary: RunSummary) -> None:
    """The rows of each configuration by their state; states that none has are left out.

    Of very many configurations only those with other states than `stop` are listed.
    """
    from ruler_eval.run.records import STATES

    found = {
        config: {**states, "reasoning truncated": summary.unfinished[config]}
        for config, states in summary.states.items()
    }
    others = (*(state for state in STATES if state != "stop"), "reasoning truncated")
    odd = {config for config, counts in found.items() if any(counts.get(one) for one in others)}
    listed = odd if len(found) > MANY else found.keys()
    columns = ["stop", *(one for one in others if any(found[c].get(one) for c in odd))]
    rows = [
        [config, *(str(counts.get(column, 0)) for column in columns)]
        for config, counts in found.items()
        if config in listed
    ]
    if rows:
        out.print(narrow_table(["configuration", *columns], rows), highlight=False)
    if rest := len(found) - len(rows):
        text = f"All rows of {rest} {'other ' * bool(rows)}configurations were answered to the end."
        out.print(text, highlight=False)
