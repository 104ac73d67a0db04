"""The cards of real releases: their metadata, what loads by it, their examples and columns."""

from __future__ import annotations

import json
import posixpath
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard, DatasetCardData, metadata_load

from release import SHORT, steps
from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build, plan_build
from ruler_builder.release.card import eval_yaml, render
from ruler_builder.release.croissant import croissant
from ruler_builder.release.facts import EVAL_YAML, collect_facts
from ruler_builder.release.templates import files_of_config
from ruler_builder.text.sources import registry
from ruler_common.manifest import read_manifest
from ruler_common.names import Names
from ruler_common.rows import COLUMN_TYPES
from ruler_dataset import load
from tests import documents
from tests.project import ROOT

Manifest = dict[str, Any]


def text_of(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def options(field: str) -> list[str]:
    """Return the values of a metadata field that huggingface_hub's documentation lists."""
    documented = re.search(
        rf"{field} \(.*?Options are: (.*?)\.\n", DatasetCardData.__doc__ or "", re.S
    )
    assert documented
    return re.findall(r"'([^']+)'", documented[1])


# ---- Metadata ------------------------------------------------------------------------------------


def test_huggingface_hub_accepts_the_metadata_and_writes_it_back_unchanged(root):
    card = DatasetCard.load(root / "README.md")
    data = card.data.to_dict()
    assert data["license"] == "other"
    assert data["license_name"]
    assert re.fullmatch(r"https://\S+", data["license_link"])
    assert set(data["size_categories"]) < set(options("size_categories"))
    assert set(data["multilinguality"]) < set(options("multilinguality"))
    assert "dataset_info" not in data  # it would make loading slow
    assert metadata_load(root / "README.md") == data
    assert DatasetCard(str(card)).data.to_dict() == data
    assert card.text == text_of(root).split("---\n", 2)[2]


@pytest.mark.parametrize(
    ("rows", "size"), [(999, "n<1K"), (1000, "1K<n<10K"), (10**5, "100K<n<1M")]
)
def test_the_size_category_and_norwegian_are_read_by_the_hub(oneruler, tmp_path, rows, size):
    manifest = read_manifest(oneruler)
    entry = {**next(iter(manifest["files"].values())), "language": "no", "rows": rows}
    entry["instruction_language"] = "no"
    manifest["files"] = {"data/tekken/8k/no/cwe_easy.parquet": entry}
    (tmp_path / "README.md").write_text(render(collect_facts(manifest)), encoding="utf-8")
    data = metadata_load(tmp_path / "README.md") or {}
    assert data["language"] == ["no"]  # bare, YAML reads `no` as false
    assert data["size_categories"] == [size]


# ---- Configurations ------------------------------------------------------------------------------


def test_every_configuration_is_listed_and_loads(root, manifest):
    from datasets import get_dataset_config_names, load_dataset

    configs = collect_facts(manifest).configs
    listed = get_dataset_config_names(str(root))
    assert listed == list(configs)
    assert {entry["config"] for entry in manifest["files"].values()} < set(listed)
    for name in (listed[0], listed[-1]):
        rows = load_dataset(str(root), name, split="test", streaming=True)
        assert list(next(iter(rows))) == list(COLUMN_TYPES)
        assert next(iter(rows))["task"] == Path(configs[name][0]).stem


def configs_in_full(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a card's configurations with every path written out."""
    configs = []
    for config in metadata["configs"]:
        folder = config.get("data_dir", "")
        data_files = []
        for files in config["data_files"]:
            paths = [files["path"]] if isinstance(files["path"], str) else files["path"]
            data_files.append({**files, "path": [posixpath.join(folder, path) for path in paths]})
        others = {key: value for key, value in config.items() if key != "data_dir"}
        configs.append({**others, "data_files": data_files})
    return configs


def test_the_metadata_lists_the_files_of_every_configuration(root, manifest):
    metadata = metadata_load(root / "README.md") or {}
    assert any("data_dir" in config for config in metadata["configs"])
    assert "data_dir" not in metadata["configs"][0]  # `datasets` reads the file format from it
    assert configs_in_full(metadata) == [
        {"config_name": name, "data_files": [{"split": "test", "path": paths}]}
        for name, paths in collect_facts(manifest).configs.items()
    ]


@pytest.mark.parametrize(("dataset", "listed"), [("ruler", 1_042), ("oneruler", 2_632)])
def test_the_metadata_of_all_frozen_rows_is_small_enough_for_the_hub(dataset, listed):
    configs = []
    for step in steps():
        if step.dataset == dataset:
            options = BuildOptions(
                "never", suite=dataset, lengths=(step.length,), tokenizers=(step.tokenizer,)
            )
            jobs = plan_build(options).missing
            left_out = "qa_2" if step.length in SHORT else None
            configs += [job.config for job in jobs if job.config.task != left_out]
    names = Names.standard(dataset)
    paths = {config.name: [config.path] for config in configs}
    groups = names.whole_groups(configs)
    for group, members in groups:
        paths[group.name] = [config.path for config in members]
    for name, members in names.whole_languages(groups):
        paths[name] = [config.path for config in members]
    lines = [f'- {{config_name: "{name}", {files_of_config(p)}}}' for name, p in paths.items()]
    assert len(lines) == listed  # docs/publish.md has both numbers
    assert len("\n".join(lines)) < 420_000  # 1.3 MB were refused


def test_a_group_loads_its_rows_in_the_same_order_with_datasets_and_ruler_dataset(root):
    from datasets import get_dataset_config_names, load_dataset

    name = next(n for n in get_dataset_config_names(str(root)) if n.startswith("all_"))
    rows = load_dataset(str(root), name, split="test")
    assert rows["input"] == load(root, name)["input"]


def test_the_table_of_groups_shows_only_complete_groups(root, manifest):
    part = deepcopy(manifest)
    cwe = next(task for task in manifest["tasks"] if task.startswith("cwe"))
    part["files"] = {p: e for p, e in manifest["files"].items() if e["task"] != cwe}
    for release_manifest, is_complete in ((manifest, True), (part, False)):
        text = render(collect_facts(release_manifest))
        assert (re.search(r"^\| `all` \|", text, re.MULTILINE) is not None) is is_complete
        names = collect_facts(release_manifest).configs.keys()
        table = text.split("| group | its tasks | for example |")[1].split("\n\n")[0]
        examples = {line.split("`")[3] for line in table.splitlines()[2:]}
        assert examples <= names


# ---- Examples ------------------------------------------------------------------------------------


def blocks(text: str, language: str) -> list[str]:
    section = text.split("## Quick use\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("suite", "task", "length"),
    [("ruler", "niah_single_1", "4k"), ("oneruler", "niah_single", "8k")],
)
def test_the_example_row_is_the_first_frozen_row_of_its_configuration(
    mirror, tmp_path, suite, task, length
):
    root = tmp_path / suite
    options = BuildOptions(
        root,
        suite=suite,
        lengths=(length,),
        tasks=(task,),
        languages=("en",) if suite == "oneruler" else ("default",),
        rows=1,
        mirror=mirror,
    )
    build(options)
    text = text_of(root)
    (row_block,) = blocks(text, "json")
    row = json.loads(row_block)
    (config,) = [entry["config"] for entry in read_manifest(root)["files"].values()]
    assert f"The first frozen row of `{config}`" in text
    full_row = load(root, config)[0]
    parts = row.pop("input").split(" […] ")
    full_text = full_row.pop("input")
    assert row == full_row
    assert full_text.startswith(parts[0])
    assert full_text.endswith(parts[-1])
    assert all(part in full_text for part in parts)
    for span in full_row["evidence"]:
        assert full_text[span["start"] : span["end"]] in parts[1]


def local(code: str, root: Path) -> str:
    """Replace the Hub's repositories in an example by folders."""
    code = code.replace("ORG/ruler_score", str(ROOT / "eval" / "ruler_score"))
    return re.sub(r"ORG/(one)?ruler", str(root), code)


def test_the_python_examples_work_as_written(root):
    names: dict[str, Any] = {}
    exec(local("\n".join(blocks(text_of(root), "python")), root), names)
    assert names["score"]["score"] == 100


def test_the_commands_work_as_written(oneruler, tmp_path):
    (bash,) = blocks(text_of(oneruler), "bash")
    *commands, fetch = local(bash, oneruler).splitlines()
    assert fetch.startswith("ruler fetch ")  # from the Hub: tests/builder/hub/test_fetch.py
    output = documents.run("\n".join(commands), tmp_path)
    assert re.search(r"niah_single\s.*100", output)


# ---- Text ----------------------------------------------------------------------------------------


def test_a_build_writes_the_files_rendered_from_its_manifest(root):
    facts = collect_facts(read_manifest(root))
    assert text_of(root) == render(facts)
    assert (root / EVAL_YAML).read_text(encoding="utf-8") == eval_yaml(facts)
    assert (root / "croissant.json").read_text(encoding="utf-8") == croissant(facts)


def test_a_card_warns_of_embedded_texts(oneruler, release):
    for root in (release, oneruler):
        text, manifest = text_of(root), read_manifest(root)
        assert "**Made from texts written for this project (" in text
        assert "cannot be compared with" in text
        assert all(name in text for name in manifest["sources"])
    manifest = read_manifest(release)
    for name, source in manifest["sources"].items():
        source |= {"variant": "canonical", "title": registry()[name].canonical.title}
    assert "Made from texts written" not in render(collect_facts(manifest))


def test_the_card_describes_every_column_with_its_type(root):
    schema = pq.read_schema(next((root / "data").rglob("*.parquet")))
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \| \S", text_of(root), re.MULTILINE))
    assert rows == COLUMN_TYPES
    assert list(rows) == schema.names
