"""The dataset card: dataset_cards/ruler.md rendered from the manifest; nothing typed by hand.

Its YAML lists every configuration with its files; a group lists the files of its tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder.sources import CANONICAL, EMBEDDED
from ruler_dataset import Config, Names

_CARDS = Path(__file__).resolve().parent.parent / "dataset_cards"


def configurations(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every configuration a release offers: {"name", "paths"}, tasks first, then whole groups."""
    names = Names.in_manifest(manifest)
    configs = [
        Config(
            manifest["dataset"],
            entry["task"],
            entry["length"],
            entry["tokenizer"],
            entry["language"],
            entry["instruction_language"],
        )
        for entry in manifest["files"].values()
    ]
    order = {task: place for place, task in enumerate(names.tasks)}
    configs.sort(key=lambda c: (c.tokenizer, c.max_length, c.languages, order[c.task]))
    found = [{"name": config.name, "paths": [config.path]} for config in configs]
    there = {config.path for config in configs}
    spots = dict.fromkeys(
        (c.tokenizer, c.length, c.language, c.instruction_language) for c in configs
    )
    for group, tasks in names.groups.items():
        for tokenizer, length, language, instruction in spots:
            spot = (length, tokenizer, language, instruction)
            paths = [Config(manifest["dataset"], task, *spot).path for task in tasks]
            if there.issuperset(paths):
                name = Config(manifest["dataset"], group, *spot).name
                found.append({"name": name, "paths": paths})
    return found


def render(manifest: Mapping[str, Any]) -> str:
    """The card of a release."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_CARDS),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    sources = manifest["sources"]
    usual = (CANONICAL, EMBEDDED)
    return environment.get_template(f"{manifest['dataset']}.md").render(
        manifest=manifest,
        configs=configurations(manifest),
        files=list(manifest["files"].values()),
        embedded=[name for name, source in sources.items() if source["variant"] == EMBEDDED],
        variants={name: s for name, s in sources.items() if s["variant"] not in usual},
    )
