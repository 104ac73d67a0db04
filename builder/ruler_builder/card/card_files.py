"""The files of a release that are rendered from its manifest: card, eval.yaml, croissant.json.

    card_files(root, manifest)        # {"README.md": "…", "eval.yaml": "name: RULER …"}

`ruler build` and `ruler fetch` write them, `ruler push` checks them. Search engines and mlcroissant
read croissant.json, by whose vocabulary (version 1.0) a release is described for machines; by
eval.yaml the Hub can list a data set as a benchmark.
"""

from __future__ import annotations

import re
from pathlib import Path

from ruler_builder.card.figures import tokenizers
from ruler_builder.card.provenance import citation_file, languages, licences
from ruler_builder.card.render import (
    citations,
    column_meanings,
    configurations,
    first_row,
    render,
    templates,
)
from ruler_builder.project_files import project_file
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.frozen_rows import custom_because
from ruler_common.hub_access import is_repository
from ruler_common.manifest import is_standard
from ruler_common.manifest_form import MANIFEST, Manifest
from ruler_common.names import DEFAULT_TOKENIZER, SPLIT, Config, Names
from ruler_common.parsing import json_value, read_toml
from ruler_common.rows import COLUMNS
from ruler_common.text import printable

CARD = "README.md"
CROISSANT = "croissant.json"
_HUB = "https://huggingface.co/datasets/"
_TYPES = {"int32": "cr:Int32", "float32": "cr:Float32", "string": "sc:Text", "bool": "sc:Boolean"}
# A licence as sources.toml calls it -> its identifier in SPDX's list of licences.
_SPDX = {name: name for name in ("CC0-1.0", "MIT")} | {"CC BY-SA 4.0": "CC-BY-SA-4.0"}
EVAL_YAML = "eval.yaml"
FRAMEWORK = "ruler-release"
"""The id of this project's harness, as dataset_cards/benchmark_registration.md asks for it."""
# Of ONERULER: the length at which each language has a task of its own.
_SHORTEST = "8k"


def card_files(
    root: Path, manifest: Manifest, benchmark: bool = True, repo: str | None = None
) -> dict[str, str]:
    """File name -> text, for the release in `root`; eval.yaml only for a `benchmark`.

    Card and croissant.json name the Hub's dataset `repo`, ORG/NAME, or describe the folder.
    Raises RulerError for another `repo`, and for a manifest that lacks what these show.
    """
    if repo is not None and not is_repository(repo):
        raise RulerError(
            f"'{printable(repo)}' is not the name of a Hub repository, ORG/NAME: run the same "
            "`ruler build` again."
        )
    try:
        files = {CARD: render(manifest, first_row(root, manifest), repo)}
        if benchmark:
            files[EVAL_YAML] = eval_yaml(manifest)
        files[CROISSANT] = croissant(manifest, repo)
    except Exception as error:  # whatever a manifest lacks: a wording, a parameter, rows
        why = f"{type(error).__name__}: {error}"
        raise RulerError(
            f"No card can be made from '{root / MANIFEST}' ({why}): build or get it anew."
        ) from error
    return files


def croissant(manifest: Manifest, repo: str | None = None) -> str:
    """The text of a release's croissant.json: a line for each property, file and field.

    It lists every Parquet file with its sha256 and one record set for the columns that all share;
    the Hub's own description stops at 100 configurations and has no digests. Its form stands in
    dataset_cards/croissant.json.jinja, its prose in croissant.toml. It is of the folder that holds
    it, or of the Hub's dataset `repo`, ORG/NAME, in the Hub's own form: `url`, and the files in a
    clone, which `mlcroissant.Dataset(…, mapping={"repo": FOLDER})` replaces by a download.
    """
    return (
        templates()
        .get_template(f"{CROISSANT}.jinja")
        .render(
            manifest=manifest,
            repo=repo,
            hub=_HUB,
            prose=read_toml(project_file("dataset_cards") / "croissant.toml"),
            cff=citation_file(),
            licences=[*map(_licence, licences(manifest))],
            citations=citations(manifest),
            languages=languages(manifest),
            columns=COLUMNS,
            span=dict(re.findall(r"(\w+): (\w+)", COLUMNS["evidence"])),
            types=_TYPES,
            meaning=column_meanings(),
        )
    )


def _licence(name: str) -> str:
    """The address of a licence, as Croissant recommends; what is said of rights where none is."""
    return f"https://spdx.org/licenses/{_SPDX[name]}.html" if name in _SPDX else name


def described_repository(root: Path) -> str | None:
    """The Hub repository, ORG/NAME, that the croissant.json of a folder describes; None if none."""
    if not (root / CROISSANT).is_file():  # a pipe would never end
        return None
    try:
        url = json_value(read_bytes(root / CROISSANT))["url"]
    except (RulerError, OSError, ValueError, LookupError, TypeError):
        return None
    return url.removeprefix(_HUB) if isinstance(url, str) and url.startswith(_HUB) else None


def eval_yaml(manifest: Manifest) -> str:
    """The text of a release's eval.yaml: name, description, and tasks, each a configuration.

    Its tasks are the headline alone, since the benchmark's page shows the first one; other
    configurations are not registered. A suite with other parameters than the benchmark's is not
    called by its name, whatever its tasks' names are. Results go to model repositories by task id
    (`ruler results`), so a task's id is its configuration's name. `evaluation_framework` names a
    harness of the Hub's own list (EVALUATION_FRAMEWORKS in huggingface.js), which is checked at the
    push: until this project's name is on it (dataset_cards/benchmark_registration.md) the field
    stays a comment.
    """
    about = read_toml(project_file("dataset_cards") / "eval.toml")[manifest["dataset"]]
    fitted = ", ".join(tokenizers(manifest))
    why = custom_because(manifest)
    rows = f"Custom rows ({why})" if why else "Frozen rows"
    description = (
        f"{about['what']}, 0 to 100; a group's is the plain mean of its tasks'. {rows}, data "
        f"version {manifest['data_version']}, fitted under {fitted}."
    )
    tasks = [{"id": name, "config": name, "split": SPLIT} for name in headline(manifest)]
    title = "{}" if is_standard(manifest) else "Tasks of a changed {} suite"
    if why and is_standard(manifest):
        title = "{}, custom rows"
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
