"""A row in the terminal: `ruler show CONFIG INDEX`.

    niah_single_2_4k, row 3 of 5 (0 to 4): 3,902 of 4,096 tokens (tekken)

    Evidence
      at 42 % of the context, characters 7,120 to 7,191:
      … the grass is green. ⟦One of the special magic numbers for …⟧ The sky is blue. …

Nothing of a row or an answer can steer the terminal: control characters are shown as pictures.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from eval.report.page.visible_text import shortened, visible
from eval.report.show.row_view import DISTRACTOR, GOLD, LONGEST_PIECE, Piece, RowView, RunAnswer

WIDTH = 100
"""Columns of a line of text."""
LONGEST_ANSWER = 4000
"""Characters of an answer, at most; a model may repeat a word ten thousand times."""
_LONGEST_PART = 1200


def short_text(view: RowView) -> str:
    """The instruction, the text around each piece of evidence, question, references, answers."""
    return "\n".join(_sections(view)) + "\n"


def whole_text(view: RowView) -> str:
    """The row's whole text with every piece of evidence marked, then references and answers."""
    parts = (visible(text) if piece is None else _marked(piece) for text, piece in view.marked())
    lines = [_title(view), "", "".join(parts), "", *_prefix(view), *_end(view)]
    return "\n".join(lines) + "\n"


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
    if not view.answer_prefix:
        return []
    return ["The answer begins with", _indented(f'"{view.answer_prefix}"'), ""]


def _title(view: RowView) -> str:
    return (
        f"{view.config}, row {view.index} (of {view.rows}, from 0): {view.length:,} of "
        f"{view.max_length:,} tokens with {view.max_new_tokens:,} of the answer ({view.tokenizer})"
    )


def _evidence(piece: Piece, view: RowView) -> Iterator[str]:
    yield f"  at {piece.depth:.0%} of the context, characters {piece.start:,} to {piece.end:,}:"
    left = "… " if piece.start - len(piece.before) > view.context[0] else ""
    right = " …" if piece.end + len(piece.after) < view.context[1] else ""
    text = visible(piece.before) + _marked(piece, LONGEST_PIECE) + visible(piece.after)
    yield _indented(left + text + right, "    ")


def _marked(piece: Piece, most: int | None = None) -> str:
    """A piece of evidence between its marks."""
    left, right = GOLD if piece.answer else DISTRACTOR
    return left + (visible(piece.text) if most is None else shortened(piece.text, most)) + right


def _end(view: RowView) -> Iterator[str]:
    yield f"References ({len(view.references)})"
    yield _indented(", ".join(view.references))
    for answer in view.answers:
        yield ""
        yield _verdict(answer)
        if answer.reasoning:
            yield "  reasoning:"
            yield _indented(_ends(answer.reasoning), "    ")
        if answer.text is not None:
            yield _indented(shortened(answer.text, LONGEST_ANSWER) or "(nothing)", "    ")


def _verdict(answer: RunAnswer) -> str:
    kind = "right" if answer.kind is None else f"{answer.kind} ({answer.meaning})"
    return f"{visible(answer.model)}: {100 * answer.score:.0f} %, {kind}; {answer.state}"


def _ends(text: str) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= _LONGEST_PART:
        return text
    half = _LONGEST_PART // 2
    return f"{text[:half]} … ({len(text) - 2 * half:,} characters) … {text[-half:]}"


def _indented(text: str, by: str = "  ") -> str:
    """A text in lines of WIDTH columns, every one indented; its own line ends stay."""
    lines = [
        part
        for line in visible(text).split("\n")
        for part in (textwrap.wrap(line, WIDTH - len(by), break_on_hyphens=False) or [""])
    ]
    return "\n".join((by + line).rstrip() for line in lines).strip("\n")
