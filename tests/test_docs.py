"""The links, paths and example rows in README.md, the guides and docs/ are right."""

from __future__ import annotations

import re

import pytest

import ruler_dataset
from tests.project import ROOT

GUIDES = ("builder/README.md", "eval/README.md", "CONTRIBUTING.md")
PAGES = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
# These pages name files that a user would make
USER_PATHS = {"docs/formats.md", "docs/fresh_rows.md", "docs/languages.md"}
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
SUFFIXES = (".py", ".toml", ".md", ".txt", ".tsv", ".sh", ".yml", ".cff", "/", ".ci/run")
# The project's folders; the README's commands make others
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
RELEASE_FILES = {"eval.yaml", "manifest.json", "results.json"}
INSPECT_TASKS = {"ruler_release/ruler", "ruler_release/oneruler"}
# A guide names files relative to its package
PACKAGE_OF = {"builder/README.md": "builder/ruler_builder", "eval/README.md": "eval/ruler_eval"}


def text_of(guide: str) -> str:
    return (ROOT / guide).read_text(encoding="utf-8")


def links(text: str) -> set[str]:
    """Return the targets of Markdown links to files."""
    return {target.partition("#")[0] for target in re.findall(r"\]\((?!http|#)([^)]+)\)", text)}


def paths(text: str) -> set[str]:
    """Return what looks like a path in backticks and in commands."""
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    quoted = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    words = [word for part in (*blocks, *quoted) for word in part.split()]
    named = {word for word in words if PATH.fullmatch(word)}
    return {
        name
        for name in named - RELEASE_FILES - INSPECT_TASKS
        if name.endswith(SUFFIXES) or ("/" in name and name.split("/")[0] in TOPS)
    }


@pytest.mark.parametrize("guide", [*GUIDES, *PAGES])
def test_every_link_leads_to_an_existing_file_and_heading(guide):
    folder = (ROOT / guide).parent
    for link in re.findall(r"\]\((?!http)([^)]+)\)", text_of(guide)):
        name, _, anchor = link.partition("#")
        path = folder / name if name else ROOT / guide
        assert path.exists(), link
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), link


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("guide", [*GUIDES, *(page for page in PAGES if page not in USER_PATHS)])
def test_every_path_that_a_page_names_exists(guide):
    text, folder = text_of(guide), (ROOT / guide).parent
    placeholders = {"my.toml", "run.toml"} | {
        name for name in paths(text) if "NAME" in name
    }  # test_new_family.py
    packages = [PACKAGE_OF[guide]] if guide in PACKAGE_OF else PACKAGE_OF.values()
    places = [ROOT, folder, *(ROOT / package for package in packages)]
    existing = {name for name in paths(text) if any((at / name).exists() for at in places)}
    assert sorted(paths(text) - placeholders - existing) == []


def test_the_builders_guide_quotes_a_real_row(release):
    text = text_of("builder/README.md")
    row = ruler_dataset.load(release, "niah_single_2_4k")[0]
    start, end = row["evidence"][0]["start"], row["evidence"][0]["end"]
    assert f"\n> {row['input'][start:end]}\n" in text
    assert f"characters {start:,} to {end:,}" in text
    assert f"{row['length']:,} tokens" in text
