"""The cards of real releases: their metadata, what loads by it, their examples, their bytes."""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard, DatasetCardData, metadata_load

from ruler_builder.release.card import collect_facts, files_of_config, render
from ruler_builder.release.card_files import EVAL_YAML, croissant, eval_yaml
from ruler_builder.text.languages import language_pairs
from ruler_builder.text.sources import registry
from ruler_common.frozen import read_frozen
from ruler_common.manifest import read_manifest
from ruler_common.names import LENGTHS, Config, Names
from ruler_common.rows import COLUMNS
from ruler_dataset import load
from tests.hub.client import environment
from tests.hub.stand_in import StandIn

ROOT = Path(__file__).resolve().parents[3]
Manifest = dict[str, Any]


def text_of(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def options(field: str) -> list[str]:
    """Return the values that huggingface_hub's documentation of a metadata field allows."""
    said = re.search(rf"{field} \(.*?Options are: (.*?)\.\n", DatasetCardData.__doc__ or "", re.S)
    assert said
    return re.findall(r"'([^']+)'", said[1])


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


def test_the_hubs_validation_takes_the_card(root, tmp_path):
    hub = StandIn()
    code = f"from huggingface_hub import DatasetCard; DatasetCard.load({str(root / 'README.md')!r})"
    done = subprocess.run(
        [sys.executable, "-c", code + ".validate()"],
        env=environment(hub.url, tmp_path),
        capture_output=True,
        text=True,
    )
    hub.close()
    assert done.returncode == 0, done.stderr
    assert hub.requests == ["POST /api/validate-yaml"]


def test_the_metadata_has_languages_and_size(release, oneruler):
    english, both = (metadata_load(root / "README.md") or {} for root in (release, oneruler))
    assert (english["language"], english["multilinguality"]) == (["en"], ["monolingual"])
    assert (both["language"], both["multilinguality"]) == (["en", "zh"], ["multilingual"])
    assert english["size_categories"] == ["n<1K"]  # 13 x 20 rows


@pytest.mark.parametrize(
    ("rows", "size"), [(999, "n<1K"), (1000, "1K<n<10K"), (10**5, "100K<n<1M")]
)
def test_size_and_norwegian_are_what_the_hub_reads(oneruler, tmp_path, rows, size):
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
    from datasets import get_dataset_config_names, load_dataset, load_dataset_builder

    listed = get_dataset_config_names(str(root))
    assert listed == [config.name for config in collect_facts(manifest).configs]
    tasks = {entry["config"] for entry in manifest["files"].values()}
    assert tasks < set(listed)
    for config in collect_facts(manifest).configs:
        files = [str((root / path).resolve()) for path in config.paths]
        builder = load_dataset_builder(str(root), config.name)
        assert [str(file) for file in builder.config.data_files["test"]] == files
        first = next(iter(load_dataset(str(root), config.name, split="test", streaming=True)))
        assert list(first) == list(COLUMNS)
        assert first["task"] == Path(files[0]).stem


def configs_in_full(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """A card's configurations with every path written out, whichever form they have."""
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


def test_the_metadata_name_every_file_whatever_their_form(root, manifest):
    known = {config.name: config.paths for config in collect_facts(manifest).configs}
    mine = metadata_load(root / "README.md") or {}
    assert any("data_dir" in config for config in mine["configs"])
    assert "data_dir" not in mine["configs"][0]  # `datasets` reads the file format from it
    whole = [
        {"config_name": name, "data_files": [{"split": "test", "path": paths}]}
        for name, paths in known.items()
    ]
    assert configs_in_full(mine) == configs_in_full({"configs": whole}) == whole


@pytest.mark.parametrize(("dataset", "listed"), [("ruler", 1_026), ("oneruler", 2_632)])
def test_the_metadata_of_all_frozen_rows_are_far_from_what_the_hub_refused(dataset, listed):
    lock = read_frozen("1.0.0")
    assert lock is not None
    names = Names.standard(dataset)
    configs = [names.parse(name) for name in lock.rows[dataset]]
    paths = {config.name: [config.path] for config in configs}
    groups = names.whole_groups(configs)
    paths |= {config.name: [one.path for one in of] for config, of in groups}
    paths |= {name: [one.path for one in of] for name, of in names.whole_languages(groups)}
    lines = [f"- {{config_name: {name}, {files_of_config(of)}}}" for name, of in paths.items()]
    assert len(lines) == listed  # docs/publish.md has both numbers
    assert len("\n".join(lines)) < 420_000  # a card of 1.3 MB was too large


def test_a_group_holds_its_tasks_rows_in_the_order_of_the_contract(root):
    from datasets import get_dataset_config_names, load_dataset

    name = next(n for n in get_dataset_config_names(str(root)) if n.startswith("all_"))
    rows = load_dataset(str(root), name, split="test")
    assert rows["input"] == load(root, name)["input"]


def test_the_table_of_groups_shows_those_that_are_whole(root, manifest):
    left = deepcopy(manifest)
    gone = next(path for path, entry in left["files"].items() if entry["task"].startswith("cwe"))
    for path in [path for path in left["files"] if Path(path).name == Path(gone).name]:
        del left["files"][path]
    for there, shown in ((manifest, True), (left, False)):
        text = render(collect_facts(there))
        assert (re.search(r"^\| `all` \|", text, re.MULTILINE) is not None) is shown
        names = {config.name for config in collect_facts(there).configs}
        table = text.split("| group | its tasks | for example |")[1].split("\n\n")[0]
        examples = {line.split("`")[3] for line in table.splitlines()[2:]}
        assert examples <= names


@pytest.mark.nightly
def test_the_card_of_a_whole_release_stays_small_and_quick(oneruler, tmp_path):
    manifest = read_manifest(oneruler)
    like = next(entry for entry in manifest["files"].values() if entry["task"] == "niah_single")
    files = {}
    for tokenizer in ("cl100k_base", "qwen2.5"):
        manifest["tokenizers"][tokenizer] = manifest["tokenizers"]["tekken"]
        for task in manifest["tasks"]:
            for length in LENGTHS["oneruler"]:
                for pair in language_pairs("oneruler"):
                    if not (pair.is_one or task.startswith("niah")):
                        continue
                    named = {"task": task, "length": length, "tokenizer": tokenizer}
                    where = {"language": pair[0], "instruction_language": pair[1]}
                    config = Config("oneruler", task, length, tokenizer=tokenizer, **where)
                    more = {"config": config.name, "max_length": config.max_length}
                    files[config.path] = {**like, **named, **where, **more}
    manifest["files"] = files
    text = render(collect_facts(manifest))
    head, body = text.split("---\n", 2)[1:]
    configs = collect_facts(manifest).configs
    assert len(configs) > 2500
    assert len(head.encode()) < 440_000
    assert len(body.encode()) < 60_000
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    rows = (oneruler / "data/tekken/8k/en/niah_single.parquet").read_bytes()
    for path in (configs[0].paths[0], "data/qwen2.5/64k/pl/niah_single.parquet"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(rows)
    from datasets import load_dataset

    found = load_dataset(str(tmp_path), "niah_single_64k_pl_qwen2.5", split="test")
    assert len(found) == like["rows"]


# ---- Examples ------------------------------------------------------------------------------------


def blocks(text: str, language: str) -> list[str]:
    section = text.split("## Quick use\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def test_the_row_shown_is_a_row_of_the_release(root):
    (shown,) = blocks(text_of(root), "json")
    row = json.loads(shown)
    (load_block, _) = blocks(text_of(root), "python")
    config = load_block.split('"')[3]
    real = load(root, config)[row["index"]]
    parts = row.pop("input").split(" […] ")
    text = real.pop("input")
    assert row == real
    assert text.startswith(parts[0])
    assert text.endswith(parts[-1])
    assert all(part in text for part in parts)
    for span in real["evidence"]:
        assert text[span["start"] : span["end"]] in parts[1]
    assert sum(map(len, parts)) < 1000


def test_the_file_that_the_card_names_streams_as_plain_parquet(root):
    import datasets
    import pyarrow.parquet as pq

    (path,) = re.findall(r"polars and DuckDB: `(.+)`\.\n", text_of(root))
    rows = datasets.load_dataset("parquet", data_files=str(root / path), streaming=True)["train"]
    assert next(iter(rows)) == pq.read_table(root / path).slice(0, 1).to_pylist()[0]


def test_without_the_files_the_card_shows_no_row(root, tmp_path):
    manifest = read_manifest(root)
    facts = collect_facts(manifest, tmp_path)
    assert facts.row is None
    assert blocks(render(facts), "json") == []
    (path,) = collect_facts(manifest).configs[0].paths
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_bytes(b"no Parquet")
    part = {**manifest, "files": {path: manifest["files"][path]}}
    assert collect_facts(part, tmp_path).row is None


def local(code: str, root: Path) -> str:
    """An example with folders in place of the Hub's repositories."""
    code = code.replace("ORG/ruler_score", str(ROOT / "eval" / "ruler_score"))
    return re.sub(r"ORG/(one)?ruler", str(root), code)


def test_the_python_examples_work_as_written(root):
    names: dict[str, Any] = {}
    exec(local("\n".join(blocks(text_of(root), "python")), root), names)
    assert names["score"]["score"] == 100


def test_the_commands_work_as_written(oneruler, tmp_path):
    (bash,) = blocks(text_of(oneruler), "bash")
    *commands, fetch = local(bash, oneruler).splitlines()
    assert fetch.startswith("ruler fetch ")  # from the Hub: tests/hub/test_fetch.py
    done = subprocess.run(
        ["bash", "-c", " && ".join(commands)],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"niah_single\s.*100", done.stdout)


# ---- Bytes ---------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_the_same_manifest_gives_the_same_bytes_in_any_process(release, oneruler):
    code = (
        "import json, sys; from pathlib import Path;"
        "from ruler_builder.release.card import collect_facts;"
        "from ruler_builder.release.card_files import card_files;"
        "from ruler_common.manifest import read_manifest; roots = map(Path, sys.argv[1:]);"
        "facts = [collect_facts(read_manifest(root), root) for root in roots];"
        "print(json.dumps([card_files(release) for release in facts]))"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(release), str(oneruler)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for root, files in zip((release, oneruler), json.loads(done.stdout), strict=True):
            assert len(files) == 3
            for name, text in files.items():
                assert text == (root / name).read_text(encoding="utf-8")


def test_a_build_writes_card_and_registration_of_its_manifest(root):
    facts = collect_facts(read_manifest(root), root)
    assert text_of(root) == render(facts)
    assert (root / EVAL_YAML).read_text(encoding="utf-8") == eval_yaml(facts)
    assert (root / "croissant.json").read_text(encoding="utf-8") == croissant(facts)


def test_a_card_names_its_embedded_texts(oneruler, release):
    for root in (release, oneruler):
        text, manifest = text_of(root), read_manifest(root)
        assert "**Made from texts written for this project (" in text
        assert "cannot be compared with" in text
        assert all(name in text for name in manifest["sources"])
    manifest = read_manifest(release)
    for name, source in manifest["sources"].items():
        source |= {"variant": "canonical", "title": registry()[name].canonical.title}
    assert "Made from texts written" not in render(collect_facts(manifest))


def test_the_columns_have_the_contracts_types_and_a_meaning_each(root):
    schema = pq.read_schema(next((root / "data").rglob("*.parquet")))
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \| \S", text_of(root), re.MULTILINE))
    assert rows == COLUMNS
    assert list(rows) == schema.names
