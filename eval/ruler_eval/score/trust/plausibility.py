"""Whether answers look like answers to their rows; what does not is counted and said.

    found = doubts(answered, any_of=False)                # {"of_other_rows": 480, "shift": 1}
    sentences("vt_4k", found, 500)

Nothing here moves a score. Answers in another order than their rows, a failed run's empty ones, and
references that stand in every text score something, and nobody sees it in the number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ruler_score.ruler_score import ANSWER_TAGS
from ruler_score.split_reasoning import split_reasoning

_LOOKED_AT = 20
"""Wrong answers that are tried first against all other rows."""
_SHARE = 0.05
_SHARE_OF_ANY = 0.4
"""Of the rows: more answers that fit another row are no chance. Where any reference is enough, as
in question answering, rows share documents, and a wrong answer often names another row's."""
_LONGEST = 4000  # characters of an answer that are searched
_SHORTEST = 4  # characters of a reference that does not stand anywhere by chance
_TOGETHER = 12  # characters of several that do not: words of Korean have two or three
_MARK = re.compile(
    r"\s*(?:<\|?\s*([^\s<>|/]{1,40})(?:\s[^<>|/]{0,80})?\|?>|\[([^\s\[\]/]{1,40})\]|◁([^\s▷/]{1,40})▷)"
)
_ANSWERS = {"answer", "final_answer", "output", "response", "result", "solution", "final"}
_ANSWERS |= {tag.casefold() for tag in ANSWER_TAGS.values()}


class AnsweredRow(NamedTuple):
    """What a row asks for, what was said, and its score (0 … 1)."""

    references: Sequence[str]
    text: str
    score: float


def doubts(answered: Sequence[AnsweredRow], any_of: bool) -> dict[str, int]:
    """What is odd about the answers of a configuration, counted; nothing where nothing is.

    `any_of` says that one of a row's references is enough.
    """
    rows, references = len(answered), [row.references for row in answered]
    texts, scores = [row.text.strip() for row in answered], [row.score for row in answered]
    found: dict[str, int] = {}
    if blank := sum(not all(map(str.strip, row)) for row in references):
        found["blank_references"] = blank
    if rows > 1 and not any(texts):
        found["empty"] = rows
    elif rows > 2 and len({*texts}) == 1 and len({tuple(row) for row in references}) > 1:
        found["equal"] = rows
    elif other := _of_other_rows(references, texts, scores, any_of):
        found["of_other_rows"] = other.total()
        shift, times = other.most_common(1)[0]
        if times > 0.8 * other.total():
            found["shift"] = shift
    if marked := sum(map(_is_marked, texts)):
        found["marked"] = marked
    return found


def _of_other_rows(
    references: Sequence[Sequence[str]],
    texts: Sequence[str],
    scores: Sequence[float],
    any_of: bool,
) -> Counter[int]:
    """How many answers hold what another row asks for and not what their own does, by distance."""
    wrong = [place for place, score in enumerate(scores) if score < 1 and texts[place]]
    if not wrong:
        return Counter()
    lowered = [tuple(text.casefold() for text in row) for row in references]
    times = Counter(lowered)
    test = any if any_of else all

    def telling(row: Sequence[str]) -> list[str]:
        """What of a row's references stands in no answer by chance, the longest first."""
        long = [text for text in row if len(text) >= _SHORTEST]
        if not any_of and len(long) < len(row):
            long = [*row] if all(row) and len("".join(row)) >= _TOGETHER else []
        return sorted(long, key=len, reverse=True)

    known = [
        (place, wanted)
        for place, row in enumerate(lowered)
        if times[row] == 1 and (wanted := telling(row))
    ]

    def fitting(place: int) -> int | None:
        """How far the nearest row is that an answer fits."""
        text = split_reasoning(texts[place]).answer[:_LONGEST].casefold()
        fits = (other - place for other, row in known if test(wanted in text for wanted in row))
        return min((distance for distance in fits if distance), key=abs, default=None)

    some = wrong[:: len(wrong) // _LOOKED_AT + 1]
    if sum(fitting(place) is not None for place in some) < min(2, len(some)):
        return Counter()
    found = Counter(distance for place in wrong if (distance := fitting(place)) is not None)
    least = max(min(3, len(texts)), (_SHARE_OF_ANY if any_of else _SHARE) * len(texts))
    return found if found.total() >= least else Counter()


def _is_marked(text: str) -> bool:
    """Whether an answer begins with a pair of marks of its own that holds more than what follows.

    Where nothing follows the marks hold the answer.
    """
    if not text.startswith(("<", "[", "◁")):
        return False
    answer = split_reasoning(text).answer
    mark = _MARK.match(answer)
    name = next(filter(None, mark.groups()), "").casefold() if mark else ""
    if not mark or not name or name in _ANSWERS:
        return False
    stem = re.escape(re.sub(r"^(?:start|begin)(?:_of)?_|_(?:start|begin)$|_prefix$", "", name))
    closing = rf"[<\[◁]\|?(?:(?:/\s*|end_(?:of_)?){stem}|{stem}_(?:end|suffix))\s*\|?[>\]▷]"
    end = re.compile(closing, re.IGNORECASE).search(answer, mark.end())
    rest = answer[end.end() :].strip() if end else ""
    return end is not None and 0 < len(rest) < end.start() - mark.end()


def sentences(name: str, found: Mapping[str, int], rows: int) -> Iterator[str]:
    """What is odd about a configuration's answers, for a reader."""
    if count := found.get("blank_references"):
        yield f"{name}: {count} of {rows} rows have an empty reference, which any answer holds"
    if "empty" in found:
        yield f"{name}: all {rows} answers are empty"
    if "equal" in found:
        yield f"{name}: all {rows} answers are the same"
    if count := found.get("of_other_rows"):
        shift = found.get("shift", 0)
        way = "later" if shift > 0 else "earlier"
        how = f" (most of them the row {abs(shift)} {way})" if shift else ""
        yield (
            f"{name}: {count} of {rows} answers hold what another row asks for{how} and not what "
            "their own does, so they may be in another order than the rows"
        )
    if count := found.get("marked"):
        yield (
            f"{name}: {count} of {rows} answers begin with a mark of their own that holds most of "
            "the text; it was scored as the answer, so take it out if it is reasoning"
        )
