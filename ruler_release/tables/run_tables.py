"""What `ruler run` and `ruler batch read` show of a run: failures first, then every state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruler_common.terminal import MANY, narrow_table, out, sentences

if TYPE_CHECKING:
    from ruler_eval.run.progress import RunSummary

_IN_WORDS = {"stop": "ended", "length": "truncated", "does_not_fit": "too long", "error": "failed"}
"""The states of a row, as the heads of the table name them."""


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
        header = ["configuration", *(_IN_WORDS.get(column, column) for column in columns)]
        out.print(narrow_table(header, rows), highlight=False)
    quiet = [states for name, states in summary.states.items() if name not in listed]
    if begun := sum(map(bool, quiet)):
        every = "The rows so far" if summary.missing else "All rows"
        text = f"{every} of {begun} {'other ' * bool(rows)}configurations were answered to the end."
        out.print(text, highlight=False)
    if unbegun := len(quiet) - begun:
        out.print(f"No row of {unbegun} configurations was answered yet.", highlight=False)
