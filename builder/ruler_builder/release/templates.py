"""The templates in dataset_cards, with the filters that they use.

templates().get_template("ruler_score.md").render(repo="org/ruler_score", …)
citations(manifest)         # BibTeX
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cache

import jinja2

from ruler_builder.release.facts import project_file
from ruler_common.manifest import Manifest
from ruler_common.names import SPLIT
from ruler_common.text import markdown_text, plain


@cache
def templates() -> jinja2.Environment:
    """Return the templates in dataset_cards."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(project_file("dataset_cards")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "files_of_config": files_of_config,
        "count": "{:,}".format,
        "text": markdown_text,  # untrusted text: its markup is escaped
        "code": code,
        "cell": _cell,  # text of this project, which may contain markup
    }
    return environment


def citations(manifest: Manifest) -> str:
    """Return the papers and the release in BibTeX."""
    return templates().get_template("citations.bib").render(manifest=manifest).rstrip("\n")


def files_of_config(paths: Sequence[str]) -> str:
    """Return the YAML that lists a configuration's files in the card's metadata.

    Every file is named, without globs. A group names the common folder of its files only once, as
    `data_dir`, which makes the metadata of a full release a seventh shorter.
    """
    if len(paths) == 1:
        return f"data_files: [{{split: {SPLIT}, path: {paths[0]}}}]"
    folder = posixpath.commonpath(paths)
    names = ", ".join(posixpath.relpath(path, folder) for path in paths)
    return f"data_dir: {folder}, data_files: [{{split: {SPLIT}, path: [{names}]}}]"


def code(text: object) -> str:
    """Return a text as a one-line code span of Markdown, which may be in a table."""
    line = plain(" ".join(str(text).split())).replace("|", "\\|")
    ticks = "`" * (longest_backticks(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def longest_backticks(text: str) -> int:
    """Return the length of the longest run of backticks in a text."""
    return max(map(len, re.findall("`+", text)), default=0)


def _cell(text: str) -> str:
    """Return a text as one line that can be a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())
