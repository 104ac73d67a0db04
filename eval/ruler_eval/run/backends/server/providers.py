"""What a provider of an OpenAI-compatible API accepts: fields, raw prompts, turns to continue.

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
    """An entry of providers.toml; the comment at its top says what each field means."""

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
        """The documentation in parentheses, to end a sentence with; empty if there is none."""
        return f" ({self.sources[0]})" if self.sources else ""


@lru_cache(maxsize=1)
def providers() -> dict[str, Provider]:
    """Return the table, in the order in which it is searched."""
    table = {}
    for name, entry in read_toml(files(__package__) / "providers.toml").items():
        for key in ("sources", "hosts", "owners", "omit"):
            entry[key] = tuple(entry.get(key, ()))
        table[name] = Provider(name=name, **entry)
    return table


def provider_for(name: str | None, host: str, owners: Collection[str], model: str) -> Provider:
    """Return the named provider, else the first that fits by host or owner and by model.

    `owners` are those that /v1/models names. Raises RulerError for an unknown name.
    """
    table = providers()
    if name is not None:
        return table[check_name("provider", name, list(table), "ruler run --help")]
    for provider in table.values():
        fits_host = any(host == end or host.endswith(f".{end}") for end in provider.hosts)
        fits_owner = any(owner in provider.owners for owner in owners)
        if (fits_host or fits_owner) and re.fullmatch(provider.models, model):
            return provider
    return table["unknown"]


def check_provider(
    provider: Provider, mode: str, is_chat: bool, asks_to_continue: bool, sends_ids: bool
) -> None:
    """Raise RulerError if a prefix would silently be lost, or a raw prompt put into a template.

    `is_chat` is about the endpoint; `asks_to_continue` says whether the user's own fields ask for
    the last turn to be continued; `sends_ids` whether prompts are token ids.
    """
    title, source = provider.title, provider.source
    if source and not (is_chat or provider.raw):
        raise RulerError(f"{title} reads no raw prompts{source}: use --mode chat.")
    if sends_ids and not (is_chat or provider.ids):
        raise RulerError(
            f"{title} reads no token ids{source}: use --mode chat, or leave --tokenizer out."
        )
    if mode != "prefill" or not is_chat or provider.prefill != "no":
        return
    if asks_to_continue and not source:  # the user knows an unknown server
        return
    if source:
        raise RulerError(f"{title} does not continue an assistant's turn{source}: use --mode chat.")
    raise RulerError(
        "The server is not known to continue an assistant's turn: use --mode chat, --tokenizer "
        "NAME to send it the rendered prompt, or --provider to say what it is."
    )
