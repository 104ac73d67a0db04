"""The conditions that must not change an answer, as small changes of the options of a run.

    CONDITIONS["load"]                        # the sides `cold` and `loaded`
    side_options("loaded", engine, options)   # the RunOptions of that side

A side is a run folder. Its options are those of the server under test, except for one change: the
cache salt, the number of requests at once, or the tokenizer, without which the server renders and
tokenizes the prompt. Each condition has a section in docs/doctor.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ruler_eval.run.options import RunOptions
from ruler_eval.run.providers import Provider

COLD, CACHED, AGAIN = "cold", "cached", "again"
"""A row sent cold, and then twice more in the same way, so that the second request and the third
hit the prefix cache."""
LOADED, PLAIN, LATE = "loaded", "plain", "late"
"""Under load; as text, or with the server's template; and sent cold again, at the end."""
SIDE_PHRASES = {
    COLD: "cold",
    CACHED: "from the prefix cache",
    AGAIN: "sent again",
    LOADED: "under load",
    LATE: "at the end",
}
"""How a sentence refers to a side."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Two sides whose answers have to be equally good."""

    name: str
    """Also the anchor in docs/doctor.md."""
    title: str
    a: str = COLD
    """The reference side."""
    b: str
    """The suspected side."""
    b_phrase: str = ""
    """How a sentence refers to B, if not by SIDE_PHRASES."""
    if_worse: str
    """What is wrong if B's answers are worse than A's."""
    remedy: str
    """What to change, if the provider has no entry for it (providers.toml)."""
    cases: tuple[str, ...] = ()
    """Reports of this fault in real engines."""

    @property
    def phrase_of_b(self) -> str:
        """How a sentence refers to B."""
        return self.b_phrase or SIDE_PHRASES[self.b]

    def remedy_on(self, provider: Provider | None) -> str:
        """Return what to change on a server of this kind."""
        return provider.remedies.get(self.name, self.remedy) if provider else self.remedy


_CONDITIONS = (
    Condition(
        name="cache",
        title="Cold against cached",
        b=CACHED,
        if_worse="Answers get worse on cache hits",
        remedy="turn the server's prefix cache off",
        cases=(
            "https://github.com/LMCache/LMCache/issues/4463",
            "https://github.com/vllm-project/vllm/issues/53912",
        ),
    ),
    Condition(
        name="load",
        title="One at a time against under load",
        b=LOADED,
        if_worse="Answers get worse under load",
        remedy="let the server answer fewer requests at a time",
        cases=(
            "https://github.com/vllm-project/vllm/issues/17886",
            "https://github.com/vllm-project/vllm/issues/10336",
        ),
    ),
    Condition(
        name="repeat",
        title="The same request again",
        a=CACHED,
        b=AGAIN,
        if_worse="Identical requests get different scores",
        remedy="try one request at a time, without speculative decoding; if answers still change, "
        "suspect the kernels, or several different replicas behind one address",
        cases=("https://github.com/vllm-project/vllm/issues/4112",),
    ),
    Condition(
        name="drift",
        title="Early against late",
        b=LATE,
        if_worse="Answers get worse in the course of the examination",
        remedy="restart the server, and look for memory that fills up or a replica that changed",
    ),
    Condition(
        name="text",
        title="Token ids against text",
        b=PLAIN,
        b_phrase="as text",
        if_worse="Answers get worse if the prompt is sent as text",
        remedy="compare the tokens of the server's /tokenize with your tokenizer's: the server "
        "has another tokenizer, or adds special tokens",
        cases=("https://github.com/vllm-project/vllm/pull/27517",),
    ),
    Condition(
        name="template",
        title="Template rendered by ruler against by the server",
        b=PLAIN,
        b_phrase="with the server's template",
        if_worse="Answers get worse with the server's chat template",
        remedy="give the server the model's own chat template",
        cases=(
            "https://github.com/OpenGVLab/InternVL/issues/1094",
            "https://github.com/vllm-project/vllm/issues/15272",
        ),
    ),
)
CONDITIONS: Mapping[str, Condition] = {condition.name: condition for condition in _CONDITIONS}
"""The conditions that are pairs of sides, in the order in which they are tested and shown."""


def side_options(
    side: str, run: RunOptions, provider: Provider | None, salt: str, load: int
) -> RunOptions:
    """Return the options of a side.

    Args:
        side: Its name.
        run: The options that reach the server under test.
        provider: What the server is.
        salt: The salt of this examination.
        load: Requests at once under load.
    """
    reads_cache = side in (CACHED, AGAIN)
    changed = replace(
        run,
        out=run.folder / side,
        concurrency=load if side == LOADED else 1,
        cache_salt=f"{salt}/{COLD if reads_cache else side}",
        retry_failed=True,
    )
    if side == PLAIN:
        changed = replace(changed, tokenizer=None)
    if provider is not None and provider.no_cache and not reads_cache:
        changed = replace(changed, engine_args={**run.engine_args, **provider.no_cache})
    return changed


def testable(tokenizer: str | None, mode: str | None) -> tuple[list[str], dict[str, str]]:
    """Return the conditions that can be tested, and why the others cannot.

    Args:
        tokenizer: The value of --tokenizer.
        mode: The prompt mode; None before the server is asked.
    """
    reasons = {}
    if tokenizer is None:
        reasons = dict.fromkeys(("text", "template"), "it needs --tokenizer")
    elif mode == "completion":
        reasons["template"] = "--mode completion uses no chat template"
    else:
        reasons["text"] = "the prompt has a chat template, which is tested instead"
        if mode == "chat":
            reasons["template"] = "with --mode chat the server always renders the template"
    return [name for name in CONDITIONS if name not in reasons], reasons
