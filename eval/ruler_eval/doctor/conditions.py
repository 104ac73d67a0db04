"""The conditions that must not change an answer, each as two ways to ask the same rows.

    CONDITIONS["cache"].a.name, CONDITIONS["cache"].b.name          # "cold", "cached"

A way to ask is a `Side`: its fields say all that is different about its requests. Each side has a
folder for its answers, so `ruler compare DIR/cold DIR/cached` reads two of them. Every request has
its own cache salt, so nothing is read from a prefix cache unless a side asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BORDER_MARGIN = 16
"""Tokens from a border at which the prompts just below and just above it end."""
MIN_BORDER = 1024
"""The smallest length, in tokens, that counts as a border: borders are its doublings."""
NEIGHBOURS = 8
"""Prompts that are sent together with short or with full neighbours, the row itself included."""
DOCS = "docs/doctor.md"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One way to ask rows; by default one at a time, cold, in the form that `ruler run` uses."""

    name: str
    """The folder of its answers."""
    words: str
    """How it is named in a sentence."""
    after: str = ""
    """The side whose request is sent right before, with the same salt: its prompt is cached."""
    together: int = 1
    """Rows that are sent at once; 0: all rows of a wave."""
    short_neighbours: int = 0
    """Short prompts that are sent together with each row."""
    margin: int | None = None
    """Tokens from the next border at which the prompt ends, below (negative) or above it."""
    form: Literal["usual", "text", "server"] = "usual"
    """`text`: as text instead of token ids; `server`: the server renders the chat template."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Two sides whose answers have to be equally good, and what to do if they are not."""

    name: str
    """Also the anchor in docs/doctor.md."""
    title: str
    a: Side
    b: Side
    if_worse: str
    """What is wrong if B's answers are worse than A's."""
    remedy: str
    quick: bool = False
    """Whether `--quick` asks it."""
    explained_by: str = ""
    """A condition that names the cause better, if it changes answers too."""

    @property
    def docs(self) -> str:
        """Where the condition is described."""
        return f"{DOCS}#{self.name}"


COLD = Side(name="cold", words="cold")
CACHED = Side(name="cached", words="from the prefix cache", after="cold")
REPEATS = tuple(
    Side(name=f"repeat_{number}", words=f"asked the {number}th time", after="cold")
    for number in (3, 4, 5)
)
"""With CACHED, four identical requests under identical conditions."""
LOADED = Side(name="loaded", words="under load", together=0)
BESIDE_SHORT = Side(
    name="beside_short", words="beside short prompts", short_neighbours=NEIGHBOURS - 1
)
BESIDE_FULL = Side(name="beside_full", words="beside full prompts", together=NEIGHBOURS)
BELOW = Side(name="below", words="just below a border", margin=-BORDER_MARGIN)
ABOVE = Side(name="above", words="just above a border", margin=BORDER_MARGIN)
TEXT = Side(name="text", words="as text", form="text")
SERVER_TEMPLATE = Side(name="server_template", words="with the server's template", form="server")

CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition(
            name="cache",
            title="Cold against cached",
            a=COLD,
            b=CACHED,
            if_worse="Answers get worse on cache hits",
            remedy="Try `--no-enable-prefix-caching`",
            quick=True,
        ),
        Condition(
            name="load",
            title="Alone against under load",
            a=COLD,
            b=LOADED,
            if_worse="Answers get worse under load",
            remedy="Try a smaller `--max-num-seqs`, and without CUDA graphs (`--enforce-eager`)",
            quick=True,
            explained_by="neighbours",
        ),
        Condition(
            name="neighbours",
            title="Beside short against beside full prompts",
            a=BESIDE_SHORT,
            b=BESIDE_FULL,
            if_worse="Answers get worse in a batch with long prompts",
            remedy="Try `--no-enable-chunked-prefill`, or another attention backend",
        ),
        Condition(
            name="chunks",
            title="Whole against chunked",
            a=BELOW,
            b=ABOVE,
            if_worse="Answers get worse just above a border of length",
            remedy="Try another `--max-num-batched-tokens` or `--block-size`",
        ),
        Condition(
            name="text",
            title="Token ids against text",
            a=COLD,
            b=TEXT,
            if_worse="Answers get worse if the prompt is sent as text",
            remedy="Compare the tokens of the server's /tokenize with your tokenizer's",
        ),
        Condition(
            name="template",
            title="Template rendered here against by the server",
            a=COLD,
            b=SERVER_TEMPLATE,
            if_worse="Answers get worse with the server's chat template",
            remedy="Give the server the model's own template: `--chat-template FILE`",
        ),
    )
}
"""The paired conditions; counted tokens, depth and repeats are judged from the same answers."""


def next_border(tokens: int) -> int:
    """Return the smallest border that a prompt of `tokens` tokens can be padded to from below."""
    border = MIN_BORDER
    while border < tokens + BORDER_MARGIN:
        border *= 2
    return border
