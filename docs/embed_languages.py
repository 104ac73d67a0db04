"""Write what scoring knows of each language into the metric, which is one module that works alone.

python -m docs.embed_languages            # after a change of ruler_common/languages/*.toml
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from ruler_common.languages import LanguageFacts, facts
from ruler_common.names import LANGUAGES

MODULE = Path(__file__).parent.parent / "eval/ruler_score/ruler_score.py"
_BEGINS, _ENDS = (
    "LANGUAGES: dict[str, LanguageRules] = {\n",
    '}  # fmt: skip\n"""ONERULER\'s 26 languages',
)
_WIDTH = 100  # characters of a line


def embedded(module: str) -> str:
    """The metric's text with the facts of today."""
    before, _, rest = module.partition(_BEGINS)
    _, ends, after = rest.partition(_ENDS)
    if not ends:
        raise ValueError(f"'{MODULE.name}' has no table of languages to write.")
    written = "".join(_entry(code, facts(code)) for code in LANGUAGES)
    return f"{before}{_BEGINS}{written}{_ENDS}{after}"


def _entry(code: str, of: LanguageFacts) -> str:
    """A language's `LanguageRules` as Python."""
    none, cwe = of.none, of.cwe
    fields = {
        "tags": of.answer_tags,
        "conjunctions": of.conjunctions,
        "none": none.published,
        "none_alone": none.inflected,
        "none_phrases": tuple(dict.fromkeys((*none.prompt, *none.usual))),
        "lead_in": " ".join(cwe.lead_in),
        "counts": " ".join(cwe.counts),
        "touching": of.touching,
        "not_after": none.not_after,
        "may_follow": none.may_follow,
        "may_end_before": none.may_end_before,
        "may_begin": none.may_begin,
    }
    lines = "".join(_field(name, value) for name, value in fields.items() if value)
    return f'    "{code}": LanguageRules(\n{lines}    ),\n'


def _field(name: str, value: tuple[str, ...] | str | bool) -> str:
    """A field as Python, its items or words on as many lines as they need."""
    if isinstance(value, bool):
        return f"        {name}={value},\n"
    items = (
        [_quoted(piece) for piece in re.findall(r".{1,40}(?:[ |]|$)", value)]
        if isinstance(value, str)
        else [f"{_quoted(item)}," for item in value]
    )
    whole = " ".join(items)
    if len(items) == 1 and isinstance(value, str):
        return f"        {name}={whole},\n"
    if _width(line := f"        {name}=({whole}),\n") <= _WIDTH:
        return line
    lines = [""]
    for item in items:
        if lines[-1] and _width(lines[-1] + item) + 13 > _WIDTH:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + item
    return (
        f"        {name}=(\n" + "".join(f"            {line}\n" for line in lines) + "        ),\n"
    )


def _width(text: str) -> int:
    """Columns of a text in a terminal: a Chinese sign takes two."""
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def _quoted(text: str) -> str:
    """A string literal in double quotes; characters that cannot be seen are escaped."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return f'r"{shown}"' if "\\" in text else f'"{shown}"'


if __name__ == "__main__":
    MODULE.write_text(embedded(MODULE.read_text(encoding="utf-8")), encoding="utf-8")
