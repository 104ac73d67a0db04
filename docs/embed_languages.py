"""Copy the scoring rules of each language into the metric, which imports nothing else.

python -m docs.embed_languages            # after a change of ruler_common/languages/*.toml
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ruler_common.files import read_toml
from ruler_common.languages import FOLDER
from ruler_common.names import LANGUAGES
from ruler_score.language_rules import LanguageRules
from ruler_score.language_text import read_rules

MODULE = Path(__file__).parent.parent / "eval/ruler_score/language_table.py"
_TABLE_BEGINS = "\nLANGUAGES: dict[str, LanguageRules] = {\n"
"""Everything below it is generated."""
_TABLE_ENDS = '''\
}  # fmt: skip
"""By ISO 639-1."""
'''
_LINE_WIDTH = 100  # columns


def module() -> str:
    """Return the module's text with the table of the TOML files."""
    above = MODULE.read_text(encoding="utf-8").partition(_TABLE_BEGINS)[0]
    entries = []
    for code in LANGUAGES:
        rules = read_rules(read_toml(FOLDER / f"{code}.toml"))
        entries.append(_entry(code, rules))
    return above + _TABLE_BEGINS + "".join(entries) + _TABLE_ENDS


def _entry(code: str, rules: LanguageRules) -> str:
    """Return a language's `LanguageRules` as Python."""
    lines = [f'    "{code}": LanguageRules(\n']
    for name, value in rules._asdict().items():
        if value is True:
            lines.append(f"        {name}=True,\n")
        elif value:
            lines.append(_field(name, [_literal(item) for item in value]))
    return "".join(lines) + "    ),\n"


def _field(name: str, items: Iterable[str]) -> str:
    """Return a tuple's field, its items on as many lines as they need."""
    whole = f"        {name}=({' '.join(f'{item},' for item in items)}),\n"
    if _width(whole) <= _LINE_WIDTH:
        return whole
    lines = [" " * 11]
    for item in items:
        if _width(f"{lines[-1]} {item},") > _LINE_WIDTH:
            lines.append(" " * 11)
        lines[-1] += f" {item},"
    return f"        {name}=(\n" + "".join(f"{line}\n" for line in lines) + "        ),\n"


def _width(text: str) -> int:
    """Return the columns of a text in a terminal: a Chinese character takes two."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)


def _literal(value: Any) -> str:
    """Return a text, or a pair of a number and a text, as Python in double quotes."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if isinstance(value, int):
        return str(value)
    escaped = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in value)
    return f'"{escaped}"'


if __name__ == "__main__":
    MODULE.write_text(module(), encoding="utf-8")
