"""A row in the terminal, `ruler show CONFIG INDEX`, or as a page.

    niah_single_2_4k, row 3 of 5 (0 to 4): 3,902 of 4,096 tokens (tekken)

    Evidence
      at 42 % of the context, characters 7,120 to 7,191:
      … the grass is green. ⟦One of the special magic numbers for …⟧ The sky is blue. …

Nothing of a row or an answer can steer the terminal: control characters are shown as pictures. The
page needs no network and holds no script; every text is escaped by the template and shown as text,
and the page's policy forbids everything but its own style.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ruler_common.terminal import COLUMNS, sentences
from ruler_common.text import shortened, visible
from ruler_eval.report.row_view import DISTRACTOR, GOLD, LONGEST_PIECE, Piece, RowView
from ruler_eval.report.templates import dress, template

LONGEST_ANSWER = 4000  # characters; a model may repeat a word ten thousand times
_LONGEST_PART = 1200


def short_text(view: RowView) -> str:
    """Return instruction, text around the evidence, question, references and answers."""
    return "\n".join(_sections(view)) + "\n"


def whole_text(view: RowView) -> str:
    """Return the row's whole text with the evidence marked, then references and answers."""
    parts = (visible(text) if piece is None else _marked(piece) for text, piece in view.marked())
    lines = [_title(view), "", "".join(parts), "", *_prefix(view), *_end(view)]
    return "\n".join(lines) + "\n"


def row_page(view: RowView) -> str:
    """Return the row as one HTML page."""
    page = template(
        Path(__file__).with_name("row_page.html.j2"),
        visible=visible,
        piece=partial(shortened, most=LONGEST_PIECE),
        answer=partial(shortened, most=LONGEST_ANSWER),
    )
    return page.render(view=view, css=dress())


def _sections(view: RowView) -> Iterator[str]:
    yield from (_title(view), "", "Instruction", _indented(_ends(view.instruction)), "")
    if view.pieces:
        gold, other = "of the answer".join(GOLD), "a distractor".join(DISTRACTOR)
        yield f"Evidence ({gold}, {other})"
        for piece in view.pieces:
            yield from _evidence(piece, view)
    else:
        start, end = view.context
        yield "Context (the answer is spread over all of it)"
        yield _indented(_ends(view.input[start:end]))
    yield from ("", "Question", _indented(view.after_context), "")
    yield from (*_prefix(view), *_end(view))


def _prefix(view: RowView) -> list[str]:
    prefix = view.row["answer_prefix"]
    return ["The answer begins with", _indented(f'"{prefix}"'), ""] if prefix else []


def _title(view: RowView) -> str:
    row = view.row
    return sentences(
        f"{view.config}, row {row['index']} (of {view.rows}, from 0): {row['length']:,} of "
        f"{row['max_length']:,} tokens with {row['max_new_tokens']:,} of the answer "
        f"({view.tokenizer})"
    )


def _evidence(piece: Piece, view: RowView) -> Iterator[str]:
    yield f"  at {piece.depth:.0%} of the context, characters {piece.start:,} to {piece.end:,}:"
    left = "… " if piece.start - len(piece.before) > view.context[0] else ""
    right = " …" if piece.end + len(piece.after) < view.context[1] else ""
    text = visible(piece.before) + _marked(piece, LONGEST_PIECE) + visible(piece.after)
    yield _indented(left + text + right, "    ")


def _marked(piece: Piece, most: int | None = None) -> str:
    """Return a piece of evidence between its marks."""
    left, right = GOLD if piece.answer else DISTRACTOR
    return left + (visible(piece.text) if most is None else shortened(piece.text, most)) + right


def _end(view: RowView) -> Iterator[str]:
    yield f"References ({len(view.row['outputs'])})"
    yield _indented(", ".join(view.row["outputs"]))
    for answer in view.answers:
        yield ""
        score = f"{100 * answer.score:.0f} %"
        yield f"{visible(answer.model)}: {score}, {answer.outcome}"
        if answer.reasoning:
            yield "  reasoning:"
            yield _indented(_ends(answer.reasoning), "    ")
        if answer.text is not None:
            yield _indented(shortened(answer.text, LONGEST_ANSWER) or "(nothing)", "    ")


def _ends(text: str) -> str:
    """Return the beginning and the end of a long text."""
    if len(text) <= _LONGEST_PART:
        return text
    half = _LONGEST_PART // 2
    return f"{text[:half]} … ({len(text) - 2 * half:,} characters) … {text[-half:]}"


def _indented(text: str, by: str = "  ") -> str:
    """Return a text in lines of COLUMNS columns, every one indented; its own line ends stay."""
    lines = [
        part for line in visible(text).split("\n") for part in _in_columns(line, COLUMNS - len(by))
    ]
    return "\n".join((by + line).rstrip() for line in lines).strip("\n")


def _in_columns(line: str, columns: int) -> list[str]:
    """Return a line in lines of so many columns: a sign of Chinese takes two, an accent none."""
    from rich.console import Console
    from rich.text import Text

    return [part.plain for part in Text(line).wrap(Console(), columns)] or [""]
