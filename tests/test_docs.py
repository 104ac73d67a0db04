"""The guides for developers: every path they name is there, and what they show is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ruler_dataset

ROOT = Path(__file__).resolve().parent.parent
GUIDES = ("builder/README.md", "eval/README.md", "CONTRIBUTING.md")
PAGES = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
"""For users, and docs/architecture.md."""
EXAMPLES = {"docs/formats.md", "docs/fresh_rows.md", "docs/languages.md"}
"""The paths in these are those of a user's files."""
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
SUFFIXES = (".py", ".toml", ".md", ".txt", ".tsv", ".sh", ".yml", ".cff", "/", ".ci/run")
TOPS = (
    ".ci",
    ".github",
    "bench",
    "builder",
    "dataset_cards",
    "docs",
    "eval",
    "ruler_release",
    "tests",
    "examples",
)
"""Folders of the project; others are what commands of the README make."""
OF_A_RELEASE = {"eval.yaml", "manifest.json", "results.json"}
INSPECT_TASKS = {"ruler_release/ruler", "ruler_release/oneruler"}
PACKAGE_OF = {"builder/README.md": "builder/ruler_builder", "eval/README.md": "eval/ruler_eval"}
"""A guide names files from its package on."""


def text_of(guide: str) -> str:
    return (ROOT / guide).read_text(encoding="utf-8")


def links(text: str) -> set[str]:
    """The targets of Markdown links that are not addresses."""
    return {target.partition("#")[0] for target in re.findall(r"\]\((?!http|#)([^)]+)\)", text)}


def paths(text: str) -> set[str]:
    """What is in backticks, or as a word of a command, and has the form of a path."""
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    quoted = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    words = [word for part in (*blocks, *quoted) for word in part.split()]
    named = {word for word in words if PATH.fullmatch(word)}
    return {
        name
        for name in named - OF_A_RELEASE - INSPECT_TASKS
        if name.endswith(SUFFIXES) or ("/" in name and name.split("/")[0] in TOPS)
    }


@pytest.mark.parametrize("guide", [*GUIDES, *PAGES])
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(guide):
    folder = (ROOT / guide).parent
    for link in re.findall(r"\]\((?!http)([^)]+)\)", text_of(guide)):
        name, _, anchor = link.partition("#")
        path = folder / name if name else ROOT / guide
        assert path.exists(), link
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), link


def anchors(text: str) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("guide", [*GUIDES, *(page for page in PAGES if page not in EXAMPLES)])
def test_every_path_it_names_is_there(guide):
    text, folder = text_of(guide), (ROOT / guide).parent
    own = {"my.toml"} | {name for name in paths(text) if "NAME" in name}  # test_new_family.py
    packages = [PACKAGE_OF[guide]] if guide in PACKAGE_OF else PACKAGE_OF.values()
    places = [ROOT, folder, *(ROOT / package for package in packages)]
    result = {name for name in paths(text) if any((at / name).exists() for at in places)}
    assert sorted(paths(text) - own - result) == []


def test_the_row_that_the_builders_guide_follows_is_the_rows(release):
    text = text_of("builder/README.md")
    row = ruler_dataset.load(release, "niah_single_2_4k")[0]
    start, end = row["evidence"][0]["start"], row["evidence"][0]["end"]
    assert f"\n> {row['input'][start:end]}\n" in text
    assert f"characters {start:,} to {end:,}" in text
    assert f"{row['length']:,} tokens" in text
