"""A row in the terminal: `ruler show CONFIG INDEX`.

    niah_single_2_4k, row 3 of 5 (0 to 4): 3,902 of 4,096 tokens (tekken)

    Evidence
      at 42 % of the context, characters 7,120 to 7,191:
      … the grass is green. ⟦One of the special magic numbers for …⟧ The sky is blue. …

Text from rows and answers cannot control the terminal: control characters are shown as symbols.
"""

from __future__ import annotations

from ruler_common.text import TERMINAL_WIDTH, sentences, shortened, visible
from ruler_eval.report.row_view import MAX_ANSWER, MAX_PIECE, Piece, RowView

_MAX_PART = 1200
_ANSWER_MARKS, _DISTRACTOR_MARKS = ("⟦", "⟧"), ("⟮", "⟯")
"""The marks around the evidence of an answer, and around a distractor."""


def short_text(view: RowView) -> str:
    """Return instruction, text around the evidence, question, references and answers."""
    lines = [_title(view), "", "Instruction", _indented(_shorten_middle(view.instruction)), ""]
    start, end = view.context
    if view.pieces:
        lines.append("Evidence (⟦of the answer⟧, ⟮a distractor⟯)")
    else:
        lines.append("Context (the answer is spread over all of it)")
        lines.append(_indented(_shorten_middle(view.input[start:end])))
    for piece in view.pieces:
        lines.append(
            f"  at {piece.depth:.0%} of the context, characters {piece.start:,} to {piece.end:,}:"
        )
        text = visible(piece.before) + _marked(piece, MAX_PIECE) + visible(piece.after)
        if piece.start - len(piece.before) > start:
            text = "… " + text
        if piece.end + len(piece.after) < end:
            text += " …"
        lines.append(_indented(text, "    "))
    lines += ["", "Question", _indented(view.after_context), ""]
    return "\n".join(lines + _answer_lines(view)) + "\n"


def whole_text(view: RowView) -> str:
    """Return the row's whole text with the evidence marked, then references and answers."""
    text = ""
    for part, piece in view.marked():
        text += visible(part) if piece is None else _marked(piece)
    return "\n".join([_title(view), "", text, "", *_answer_lines(view)]) + "\n"


def _title(view: RowView) -> str:
    row = view.row
    return sentences(
        f"{view.config}, row {row['index']} (of {view.rows}, from 0): {row['length']:,} of "
        f"{row['max_length']:,} tokens with {row['max_new_tokens']:,} of the answer "
        f"({view.tokenizer})"
    )


def _marked(piece: Piece, most: int | None = None) -> str:
    """Return a piece of evidence between its marks."""
    before, after = _ANSWER_MARKS if piece.answer else _DISTRACTOR_MARKS
    return before + (visible(piece.text) if most is None else shortened(piece.text, most)) + after


def _answer_lines(view: RowView) -> list[str]:
    """Return the lines of the answer prefix, of the references and of each run's answer."""
    lines = []
    if prefix := view.row["answer_prefix"]:
        lines += ["The answer begins with", _indented(f'"{prefix}"'), ""]
    lines += [f"References ({len(view.row['outputs'])})", _indented(", ".join(view.row["outputs"]))]
    for answer in view.answers:
        lines += ["", f"{visible(answer.model)}: {answer.verdict}"]
        if answer.reasoning:
            lines += ["  reasoning:", _indented(_shorten_middle(answer.reasoning), "    ")]
        if answer.text is not None:
            lines.append(_indented(shortened(answer.text, MAX_ANSWER) or "(nothing)", "    "))
    return lines


def _shorten_middle(text: str) -> str:
    """Return a text; of a long one only its beginning and its end."""
    if len(text) <= _MAX_PART:
        return text
    half = _MAX_PART // 2
    return f"{text[:half]} … ({len(text) - 2 * half:,} characters) … {text[-half:]}"


def _indented(text: str, by: str = "  ") -> str:
    """Return a text wrapped to TERMINAL_WIDTH columns and indented, with its line breaks kept."""
    from rich.console import Console
    from rich.text import Text

    lines = []
    for line in visible(text).split("\n"):
        # A Chinese character takes two columns, a combining accent none.
        for part in Text(line).wrap(Console(), TERMINAL_WIDTH - len(by)) or [Text("")]:
            lines.append((by + part.plain).rstrip())
    return "\n".join(lines).strip("\n")
