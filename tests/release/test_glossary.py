"""The glossary, the help of the commands and the documentation use the same words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from ruler_release.app import app
from tests.in_process import ruler_output
from tests.project import ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = [
    term
    for terms in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", GLOSSARY, re.MULTILINE)[1:]
    for term in terms.split(", ")
]
PAGES = ("README.md", "docs/*.md", "builder/README.md", "eval/README.md", "dataset_cards/*.md")
# Parts of flags that are short for a word of a term
SHORT = {"config": "configuration", "repeat": "sample"}
# Parts of flags and placeholders with their everyday meaning, or with that of other programs
ORDINARY = set(
    re.findall(
        "[a-z]+",
        """
        address after against all allow arg base chat cite column compat create debug dir direct
        dry every fail failed file folder for full generation give hf html id impossible in
        install instruction json len load markdown max min missing model name off omit on org out
        partial penalty pr presence price private published quick quiet rebuild repo restricted
        retry save short skip stream strict system temperature template text thorough timeout
        title to token top under until up url verify write yes
        """,
    )
)


def commands(command: click.Command = app, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command with what is written after `ruler`."""
    yield path, command
    if isinstance(command, click.Group):
        for name, subcommand in command.commands.items():
            yield from commands(subcommand, f"{path} {name}".strip())


COMMANDS = dict(commands())


def singular(word: str) -> str:
    """Return a word as the glossary has it: `configs` is short for `configuration`."""
    word = word.lower()
    if len(word) > 3 and not word.endswith("ss") and word not in TERMS:
        word = word.removesuffix("s")
    return SHORT.get(word, word)


def words_of_flags() -> dict[str, str]:
    """Return the words in the flags and placeholders of all commands, each with a command."""
    found = {}
    for path, command in COMMANDS.items():
        for parameter in command.params:
            texts = []
            if isinstance(parameter, click.Option) and not parameter.hidden:
                texts += [name for name in parameter.opts if name.startswith("--")]
            if isinstance(parameter.metavar, str) and "[" not in parameter.metavar:
                texts.append(parameter.metavar)
            for word in re.findall(r"[A-Za-z]{2,}", " ".join(texts)):
                found[singular(word)] = f"ruler {path}"
    return found


def text_of_help() -> str:
    return "\n".join(ruler_output(*path.split(), "--help") for path in COMMANDS)


def test_the_glossary_counts_its_terms_and_lists_each_once():
    assert f"\n{len(TERMS)} terms, each with one meaning" in GLOSSARY
    assert len(TERMS) == len(set(TERMS))


def test_every_word_of_a_flag_is_in_the_glossary_or_an_everyday_word():
    in_terms = {singular(word) for term in TERMS for word in term.split()}
    words = words_of_flags()
    unknown = {word: where for word, where in words.items() if word not in in_terms | ORDINARY}
    assert unknown == {}  # a new word: explain it in docs/glossary.md, or use one that is there
    assert ORDINARY - words.keys() == set()
    assert ORDINARY & in_terms == set()


def test_every_term_is_used_in_the_help_or_in_the_documentation():
    pages = [path for pattern in PAGES for path in ROOT.glob(pattern)]
    texts = [path.read_text(encoding="utf-8") for path in pages if path.name != "glossary.md"]
    text = " ".join(" ".join([text_of_help(), *texts]).split())
    unused = []
    for term in TERMS:
        if not re.search(rf"\b{re.escape(term.removesuffix(' (Holm)'))}s?\b", text, re.IGNORECASE):
            unused.append(term)
    assert unused == []


@pytest.mark.parametrize(
    ("path", "word", "meaning"),
    [
        ("build", "sample", "an answer"),
        ("build", "engine", "what runs a model"),
        ("verify", "engine", "what runs a model"),
        ("build", "context window", "what a model accepts"),
        ("run", "context length", "what a configuration has"),
        ("eval", "context length", "what a configuration has"),
        ("decide", "limit", "rows of a configuration"),
    ],
)
def test_the_help_of_a_command_has_no_word_that_means_something_else(path, word, meaning):
    text = " ".join(ruler_output(path, "--help").split())
    text = text.replace("--limit", "")
    assert not re.search(rf"\b{word}s?\b", text), f"'{word}' is {meaning}"
