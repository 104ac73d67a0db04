"""What a provider of an OpenAI-compatible API takes: which fields, whether a turn is continued.

    provider = provider_for(None, host="api.mistral.ai", owners=[], model="mistral-large-latest")
    provider.rename                         # {"seed": "random_seed"}

The table is providers.toml, with each provider's documentation as its source.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_common.parsing import read_toml


@dataclass(frozen=True, kw_only=True)
class Provider:
    """An entry of the table, whose head says what each field means."""

    name: str
    title: str
    sources: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    models: str = ".*"
    limit: str = "max_tokens"
    omit: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    prefill: Literal["no", "turn", "prefix", "template"]
    raw: bool = True
    ids: bool = True
    strict: bool = False
    template: bool = False
    repeats: bool = False
    stream_options: bool = True

    @property
    def source(self) -> str:
        """Where its documentation says so, to be put behind a sentence; empty where unknown."""
        return f" ({self.sources[0]})" if self.sources else ""


@lru_cache(maxsize=1)
def providers() -> dict[str, Provider]:
    """The table, in the order in which it is searched."""
    lists = ("sources", "hosts", "owners", "omit")

    def made(name: str, entry: Mapping[str, Any]) -> Provider:
        return Provider(name=name, **{**entry, **{key: tuple(entry.get(key, ())) for key in lists}})

    table = read_toml(files(__package__) / "providers.toml")
    return {name: made(name, entry) for name, entry in table.items()}


def provider_for(name: str | None, host: str, owners: Collection[str], model: str) -> Provider:
    """The provider that is named, or the first whose host or owner, and model, fit; or unknown.

    `owners` are those that /v1/models names. Raises RulerError for a name that is none.
    """
    table = providers()
    if name is not None:
        return table[check_name("provider", name, list(table), "ruler run --help")]
    for one in table.values():
        here = any(host == end or host.endswith(f".{end}") for end in one.hosts)
        if (here or not {*one.owners}.isdisjoint(owners)) and re.fullmatch(one.models, model):
            return one
    return table["unknown"]


def check_provider(provider: Provider, mode: str, chat: bool, asks: bool, ids: bool) -> None:
    """Raise a RulerError where a prefix would silently be lost, or a prompt be put in a template.

    `chat` is the endpoint's; `asks` whether the user's own fields ask for the turn to be continued;
    `ids` whether prompts are token ids.
    """
    title, source = provider.title, provider.source
    if source and not (chat or provider.raw):
        raise RulerError(f"{title} reads no raw prompts{source}: use --mode chat.")
    if ids and not (chat or provider.ids):
        raise RulerError(
            f"{title} reads no token ids{source}: use --mode chat, or leave --tokenizer out."
        )
    if mode != "prefill" or not chat or provider.prefill != "no" or (asks and not source):
        return
    if source:
        raise RulerError(f"{title} does not continue an assistant's turn{source}: use --mode chat.")
    raise RulerError(
        "The server is not known to continue an assistant's turn: use --mode chat, --tokenizer "
        "NAME to send it the rendered prompt, or --provider to say what it is."
    )
