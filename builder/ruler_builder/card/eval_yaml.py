"""eval.yaml at a data set's root: by it the Hub can list the data set as a benchmark.

    # evaluation_framework: ruler-release, once the Hub lists it
    name: RULER
    description: …
    tasks:
    - id: all_128k
      config: all_128k
      split: test

Its tasks are the headline alone, since the benchmark's page shows the first one; other
configurations are not registered. A suite with other parameters than the benchmark's is not called
by its name, whatever its tasks' names are. Results go to model repositories by task id
(`ruler results`), so a task's id is its configuration's name.

`evaluation_framework` names a harness of the Hub's own list (EVALUATION_FRAMEWORKS in
huggingface.js), which is checked at the push: until this project's name is on it
(dataset_cards/benchmark_registration.md) the field stays a comment.
"""

from __future__ import annotations

from ruler_builder.card.figures import tokenizers
from ruler_builder.card.render import configurations
from ruler_builder.common.project_files import project_file
from ruler_common.manifest import is_standard
from ruler_common.manifest_form import Manifest
from ruler_common.names import DEFAULT_TOKENIZER, SPLIT, Config, Names
from ruler_common.parsing import read_toml
from ruler_common.rows import MINI_ROWS

FILE = "eval.yaml"
FRAMEWORK = "ruler-release"
"""The id of this project's harness, as dataset_cards/benchmark_registration.md asks for it."""
_MINI = f"Of each file the first {MINI_ROWS} rows of the frozen order."
# Of ONERULER: the length at which each language has a task of its own.
_SHORTEST = "8k"


def eval_yaml(manifest: Manifest) -> str:
    """The text of a release's eval.yaml."""
    about = read_toml(project_file("dataset_cards") / "eval.toml")[manifest["dataset"]]
    fitted = ", ".join(tokenizers(manifest))
    description = (
        f"{about['what']}, 0 to 100; a group's is the plain mean of its tasks'. Frozen rows, data "
        f"version {manifest['data_version']}, fitted under {fitted}."
    )
    tasks = [{"id": name, "config": name, "split": SPLIT} for name in headline(manifest)]
    title = "{}" if is_standard(manifest) else "Tasks of a changed {} suite"
    if manifest.get("mini"):
        title, description = f"{title}, mini", f"{description} {_MINI}"
    found = {"name": title.format(about["title"]), "description": description, "tasks": tasks}
    first = f"# evaluation_framework: {FRAMEWORK}, once the Hub lists it\n"
    from huggingface_hub.utils import yaml_dump  # it reads the environment when it is imported

    return first + yaml_dump(found, sort_keys=False)


def headline(manifest: Manifest) -> list[str]:
    """The configurations that a benchmark is known by, the first one first.

    ruler: all tasks at each length, the longest first, then niah, vt, ag and qa at the longest.
    oneruler: all languages at each length, then each language at 8k. All of them for the default
    tokenizer, without the control 0k. A part that has none of these has all it holds at its longest
    length.
    """
    named = tokenizers(manifest)
    tokenizer = DEFAULT_TOKENIZER if DEFAULT_TOKENIZER in named else named[0]
    mine = [e for e in manifest["files"].values() if e["tokenizer"] == tokenizer]
    lengths = {e["length"]: e["max_length"] for e in mine if not e.get("evidence_alone")}
    lengths = lengths or {entry["length"]: entry["max_length"] for entry in mine}
    longest, *shorter = sorted(lengths, key=lengths.__getitem__, reverse=True)

    def name(task: str, length: str, language: str = "en") -> str:
        both = {"language": language, "instruction_language": language}
        return Config(manifest["dataset"], task, length, tokenizer=tokenizer, **both).name

    if manifest["dataset"] == "ruler":
        wanted = [name("all", length) for length in (longest, *shorter)]
        wanted += [name(task, longest) for task in ("niah", "vt", "ag", "qa")]
    else:
        suffix = "" if tokenizer == DEFAULT_TOKENIZER else f"_{tokenizer}"
        wanted = [f"all_{length}{suffix}" for length in (longest, *shorter)]
        wanted += [name("all", _SHORTEST, code) for code in Names.in_manifest(manifest).languages]
    there = {config["name"]: config["paths"] for config in configurations(manifest)}
    found = [config for config in wanted if config in there]
    at_longest = f"data/{tokenizer}/{longest}/"
    return found or [n for n, paths in there.items() if paths[0].startswith(at_longest)]
