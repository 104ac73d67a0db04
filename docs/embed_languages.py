"""Write what scoring knows of each language into the metric, which imports nothing of the rest.

python -m docs.embed_languages            # after a change of ruler_common/languages/*.toml
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

from ruler_common.languages import FOLDER
from ruler_common.names import LANGUAGES
from ruler_common.parsing import read_toml
from ruler_score.language_rules import LanguageRules
from ruler_score.language_text import read_rules

MODULE = Path(__file__).parent.parent / "eval/ruler_score/language_rules.py"
_MARK = "\nLANGUAGES: dict[str, LanguageRules] = {\n"
"""All below it is made."""
_END = '''\
}  # fmt: skip
"""By ISO 639-1."""
'''
_WIDTH = 100  # characters of a line


def module() -> str:
    """The module's text, with the facts of today."""
    tables = {code: read_toml(FOLDER / f"{code}.toml") for code in LANGUAGES}
    entries = (_entry(code, read_rules(table)) for code, table in tables.items())
    above = MODULE.read_text(encoding="utf-8").partition(_MARK)[0]
    return above + _MARK + "".join(entries) + _END


def _entry(code: str, rules: LanguageRules) -> str:
    """A language's `LanguageRules` as Python."""
    lines = "".join(_field(name, value) for name, value in rules._asdict().items() if value)
    return f'    "{code}": LanguageRules(\n{lines}    ),\n'


def _field(name: str, value: tuple[str, ...] | str | bool) -> str:
    """A field as Python, its items or words on as many lines as they need."""
    if isinstance(value, bool):
        return f"        {name}={value},\n"
    if isinstance(value, str):
        lines = _filled(re.findall(r"[^ |]+[ |]?", value), lambda words: _quoted("".join(words)))
        whole = f"        {name}={lines[0]},\n" if len(lines) == 1 else ""
    else:
        lines = _filled(value, lambda items: " ".join(f"{_quoted(item)}," for item in items))
        whole = f"        {name}=({lines[0]}),\n" if len(lines) == 1 else ""
    if whole and _width(whole) <= _WIDTH:
        return whole
    body = "".join(f"            {line}\n" for line in lines)
    return f"        {name}=(\n{body}        ),\n"


def _filled(parts: Iterable[str], line_of: Callable[[list[str]], str]) -> list[str]:
    """Lines of as many of the parts as there is room for within a field."""
    lines: list[list[str]] = [[]]
    for part in parts:
        if lines[-1] and _width(line_of([*lines[-1], part])) + 13 > _WIDTH:
            lines.append([])
        lines[-1].append(part)
    return [line_of(line) for line in lines]


def _width(text: str) -> int:
    """Columns of a text in a terminal: a Chinese sign takes two."""
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def _quoted(text: str) -> str:
    """A string literal in double quotes; characters that cannot be seen are escaped."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return f'r"{shown}"' if "\\" in text else f'"{shown}"'


if __name__ == "__main__":
    MODULE.write_text(module(), encoding="utf-8")
