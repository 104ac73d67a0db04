"""The contract: names are parsed with suggestions, files checked, rows loaded, offline too."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from huggingface_hub.utils import validate_repo_id
from hypothesis import given, settings
from hypothesis import strategies as st

from ruler_dataset import (
    COLUMNS,
    GROUPS,
    LANGUAGES,
    MANIFEST,
    TASKS,
    Config,
    Names,
    RulerError,
    Shard,
    arrow_schema,
    features,
    files_of,
    is_repository,
    length_name,
    load,
    manifest_of,
    parse_length,
    parse_manifest,
    read_manifest,
    temporary_beside,
    write_whole,
)
from tests.full_disk import files_of_at_most
from tests.hub.client import Client, environment
from tests.hub.hub_store import Repo
from tests.hub.stand_in import StandIn

TOKENIZERS = st.sampled_from(["tekken", "cl100k_base", "qwen2.5", "mistral-nemo", "my.own-1"])


@st.composite
def configs(draw: st.DrawFn) -> Config:
    dataset = draw(st.sampled_from(["ruler", "oneruler"]))
    task = draw(st.sampled_from([*TASKS[dataset], *GROUPS[dataset]]))
    length = draw(st.sampled_from(["1k", "4k", "24k", "128k", "1m", "2m"]))
    if dataset == "ruler":
        return Config(dataset, task, length, tokenizer=draw(TOKENIZERS))
    languages = st.sampled_from(LANGUAGES)
    return Config(
        dataset,
        task,
        length,
        tokenizer=draw(TOKENIZERS),
        language=draw(languages),
        instruction_language=draw(languages),
    )


@settings(deadline=None)
@given(configs())
def test_every_configuration_name_is_read_back(config: Config) -> None:
    assert Names.of(config.dataset).parse(config.name) == config


@pytest.mark.parametrize(
    ("dataset", "name", "path"),
    [
        ("ruler", "niah_single_1_128k", "data/tekken/128k/niah_single_1.parquet"),
        ("ruler", "vt_4k_qwen2.5", "data/qwen2.5/4k/vt.parquet"),
        ("oneruler", "niah_none_128k_pl", "data/tekken/128k/pl/niah_none.parquet"),
        ("oneruler", "niah_single_64k_en-ko", "data/tekken/64k/en-ko/niah_single.parquet"),
        ("oneruler", "cwe_easy_8k_zh_cl100k_base", "data/cl100k_base/8k/zh/cwe_easy.parquet"),
    ],
)
def test_a_configuration_is_one_file(dataset: str, name: str, path: str) -> None:
    assert Names.of(dataset).parse(name).path == path


@pytest.mark.parametrize("tokens", [1024, 4096, 131072, 1048576, 2097152])
def test_ruler_counts_in_binary_thousands(tokens: int) -> None:
    assert parse_length(length_name(tokens)) == tokens


def test_oneruler_counts_in_decimal_thousands() -> None:
    assert parse_length("128k", "oneruler") == 128_000
    assert length_name(8000, "oneruler") == "8k"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("niah_mk_3_4k", "Unknown task 'niah_mk_3'. Did you mean 'niah_mk'?"),
        ("niah_multikey3_4k", "Did you mean 'niah_multikey_3'?"),
        ("vt", "'vt' is not a ruler configuration; one reads 'niah_mk_128k'."),
        ("vt_9999k", "Unknown length '9999k'"),
        ("vt_00k", "Unknown length '00k'"),
    ],
)
def test_a_wrong_name_is_one_sentence_with_the_right_one(name: str, said: str) -> None:
    with pytest.raises(RulerError) as error:
        Names.of("ruler").parse(name)
    assert said in str(error.value)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(RulerError, match="Unknown language 'xx'"):
        Names.of("oneruler").parse("niah_none_8k_xx")


def test_the_files_hold_the_features(release: Path) -> None:
    schema = pq.read_schema(release / "data/tekken/4k/qa_1.parquet")
    assert schema.names == list(COLUMNS)
    assert schema.equals(arrow_schema())
    assert schema.metadata == arrow_schema().metadata


def test_the_schema_written_out_is_that_of_datasets() -> None:
    import datasets

    kinds = {"start": "int32", "end": "int32", "depth": "float32", "answer": "bool"}
    span = {name: datasets.Value(kind) for name, kind in kinds.items()}
    lists = {"outputs": datasets.List(datasets.Value("string")), "evidence": datasets.List(span)}
    columns = {name: lists.get(name) or datasets.Value(kind) for name, kind in COLUMNS.items()}
    assert features() == datasets.Features(columns)
    assert arrow_schema().equals(datasets.Features(columns).arrow_schema, check_metadata=True)


def test_load_gives_a_dataset_with_the_features(release: Path) -> None:
    import datasets

    rows = load("niah_mk_4k", release)
    assert isinstance(rows, datasets.Dataset)
    assert rows.features == features()
    assert len(rows) == 60
    assert list(dict.fromkeys(rows["task"])) == [f"niah_multikey_{i}" for i in (1, 2, 3)]


def test_load_takes_a_tokenizer_for_the_suffix(release: Path) -> None:
    manifest = read_manifest(release)
    assert files_of("vt_4k", manifest, "tekken") == ["data/tekken/4k/vt.parquet"]
    with pytest.raises(RulerError, match=r"no 'vt_4k_qwen2\.5'"):
        files_of("vt_4k", manifest, "qwen2.5")
    with pytest.raises(RulerError, match="another tokenizer"):
        files_of("vt_4k_gemma3", manifest, "qwen2.5")


def test_load_checks_digests_unless_told_not_to(release: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(release, tmp_path / "copy"))
    path = root / "data/tekken/4k/vt.parquet"
    pq.write_table(pq.read_table(path), path)
    with pytest.raises(RulerError, match="expected sha256"):
        load("vt_4k", root)
    assert len(load("vt_4k", root, verify=False)) == 20


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("no/such/folder", "neither a folder"),
        ("nothing", "neither a folder"),
        ("./nosuch", "neither a folder"),
        ("out/ruler-4k.", "neither a folder"),
    ],
)
def test_a_release_that_is_nowhere_is_one_sentence(where: str, said: str) -> None:
    with pytest.raises(RulerError, match=said):
        load("vt_4k", where)


def test_a_missing_file_is_one_sentence(release: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(release, tmp_path / "copy"))
    (root / "data/tekken/4k/vt.parquet").unlink()
    with pytest.raises(RulerError, match="in the manifest but missing"):
        load("vt_4k", root)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 99}))
    with pytest.raises(RulerError, match="update this package"):
        manifest_of(tmp_path)


SOURCE = {
    "variant": "embedded",
    "title": "",
    "sha256": "",
    "bytes": 0,
    "licence": "",
    "citation": "",
    "urls": [],
}
VT = "data/tekken/4k/vt.parquet"
OUTSIDE = ("../x", "/x", "a/b", "a\\b", "C:x", "x\x00", "x\n", "", "..", "vt_4k", "con", "x" * 200)
"""What no task, group or tokenizer may be called."""


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"files": None}, "files"),
        ({"format": "1"}, "format"),
        ({"data_version": "1.0"}, "data_version"),
        ({"tasks": "vt"}, "tasks"),
        ({"groups": [], "dataset": 3}, "dataset"),
        ({"dataset": "../x"}, "dataset"),
        ({"reserve": -1}, "reserve"),
        ({"groups": {"all": ["x"]}}, r"groups\.all"),
        ({"languages": {"xx": {}}}, r"languages\.xx"),
        *(({"groups": {name: ["vt"]}}, "groups has '") for name in OUTSIDE),
        *(({"sources": {name: SOURCE}}, "sources has '") for name in OUTSIDE[:8]),
        ({"groups": {"VT": ["vt"]}}, "tasks has both 'vt' and 'VT'"),
    ],
)
def test_a_damaged_manifest_is_one_sentence(
    release: Path, change: dict[str, object], field: str
) -> None:
    text = json.dumps(read_manifest(release) | change)
    with pytest.raises(
        RulerError, match=rf"^'here' is damaged: {field}.*\. Get or build it anew\.$"
    ):
        parse_manifest(text, "here")


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("part", ["tasks", "tokenizers"])
def test_a_name_that_leads_elsewhere_is_refused(release: Path, part: str, name: str) -> None:
    manifest: dict[str, Any] = {**read_manifest(release)}
    manifest[part] = {**manifest[part], name: next(iter(manifest[part].values()))}
    with pytest.raises(RulerError, match=rf"^'here' is damaged: {part} has '"):
        parse_manifest(json.dumps(manifest), "here")


@pytest.mark.parametrize(
    "change",
    [
        {"config": "/somewhere/file"},
        {"config": "vt_8k"},
        {"task": "../../../x"},
        {"tokenizer": "other"},
        {"length": "8k"},
        {"length": "04k"},
        {"max_length": 4095},
        {"language": "pl"},
        {"instruction_language": "../x"},
        {"rows": -1},
        {"rows": None},
        {"rows": True},
        {"bytes": "1"},
        {"fill": "full"},
        {"tokens": {"min": 1}},
    ],
    ids=str,
)
def test_an_entry_that_is_not_what_its_path_says_is_refused(
    release: Path, change: dict[str, object]
) -> None:
    manifest = json.loads((release / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][VT] |= change
    with pytest.raises(RulerError, match=rf"^'here' is damaged: files.{VT}"):
        parse_manifest(json.dumps(manifest), "here")


@pytest.mark.parametrize(
    "path",
    ["/etc/x", "data/../x", "data/tekken/4k/VT.parquet", "data\\tekken\\4k\\vt.parquet", "x\x00"],
)
def test_a_file_lies_where_its_configuration_says(release: Path, path: str) -> None:
    manifest = json.loads((release / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][path] = manifest["files"][VT]
    with pytest.raises(RulerError, match=r"^'here' is damaged: files"):
        parse_manifest(json.dumps(manifest), "here")


def test_half_a_character_in_a_manifest_is_damage(release: Path) -> None:
    text = (release / MANIFEST).read_text(encoding="utf-8").replace("tekken_2", "\\ud800_2")
    for manifest in (text, text.encode()):
        with pytest.raises(RulerError, match="'here' is damaged: it holds half a character"):
            parse_manifest(manifest, "here")


@pytest.mark.parametrize("text", ['{"format": 1, "format": 1}', '{"seed": NaN}', "[" * 100_000])
def test_json_that_programs_read_differently_is_damaged(text: str) -> None:
    with pytest.raises(RulerError, match=r"^'here' is damaged: "):
        parse_manifest(text, "here")


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"3", b"\xff"])
def test_a_manifest_that_is_no_object_is_damaged(tmp_path: Path, text: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(text)
    with pytest.raises(RulerError, match=r"manifest\.json' is damaged: "):
        read_manifest(tmp_path)


@pytest.mark.parametrize("name", ["org/ruler", "O_r.g-1/_r", f"{'a' * 96}/b"])
def test_a_repositorys_name_is_the_hubs(name: str) -> None:
    assert is_repository(name)
    validate_repo_id(name)


@pytest.mark.parametrize(
    "name",
    ["ruler", "./ruler", "org/-r", "org/r.", "org/a--b", "org/a..b", f"a/{'a' * 97}", "a/b/c"],
)
def test_what_the_hub_refuses_is_no_repositorys_name(name: str) -> None:
    assert not is_repository(name)


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A user's process without a network, whose cache is `offline.home`."""
    user = Client("http://127.0.0.1:9", tmp_path_factory.mktemp("hf"), HF_HUB_OFFLINE="1")
    yield user
    user.close()


@pytest.mark.parametrize(
    ("config", "rows"), [("niah_mk_4k", 60), ("vt_4k", 20), ("all_4k", 260), ("ag_4k", 40)]
)
def test_load_dataset_reads_a_bare_relative_folder_offline(
    release: Path, offline: Client, config: str, rows: int
) -> None:
    found = offline.python(
        "import datasets, json, os\n"
        f"os.chdir({str(release.parent)!r})\n"
        f"print(json.dumps(datasets.load_dataset('ruler', '{config}').num_rows))"
    )
    assert found == {"test": rows}


def test_a_release_in_the_hubs_cache_loads_offline(release: Path, offline: Client) -> None:
    """The cache as huggingface_hub lays it out: refs/main names the snapshot."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    repo = offline.home / "hub/datasets--org--ruler"
    shutil.copytree(release, repo / "snapshots" / commit)
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text(commit)
    rows, refused = offline.python(
        "import json, ruler_dataset\n"
        "rows = len(ruler_dataset.load('qa_4k', 'org/ruler'))\n"
        "try: ruler_dataset.load('qa_4k', 'org/other')\n"
        "except ruler_dataset.RulerError as error: print(json.dumps([rows, str(error)]))"
    )
    assert rows == 40
    assert refused == (
        "HF_HUB_OFFLINE is set, and the cache lacks what was asked of 'org/other': "
        "unset it, or ask for what is there."
    )


def test_what_the_hub_answers_is_one_sentence_each(release: Path, tmp_path: Path) -> None:
    hub = StandIn()
    hub.repos["datasets/org/none"] = Repo("datasets", "org/none")
    hub.fail("HEAD", "/org/busy/", 403, "not today", times=9)
    code = (
        "import ruler_dataset\n"
        "for repo in ('org/none', 'org/nothing', 'org/busy'):\n"
        "  for revision in (None, 'v9'):\n"
        "    try: ruler_dataset.manifest_of(repo, revision)\n"
        "    except ruler_dataset.RulerError as error: print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(hub.url, tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    hub.close()
    said = done.stdout.splitlines()
    hidden = (
        "RulerError The Hub has no 'org/nothing', or your token may not see it: "
        "correct the name, or log in (hf auth login)."
    )
    assert said[:4] == [
        "RulerError 'org/none' has no manifest.json: it is no release.",
        "RulerError 'org/none' has no such revision: it has main.",
        hidden,
        hidden,
    ]
    assert said[4].startswith("RulerError Your token lacks the rights for this in 'org/busy' (403")


def test_a_hub_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    code = (
        "import time; time.sleep = lambda _: None\n"  # five tries, but no 23 seconds between them
        "import ruler_dataset\n"
        "try: ruler_dataset.manifest_of('org/ruler')\n"
        "except ruler_dataset.Unreachable as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment("http://127.0.0.1:9", tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(
        "Cannot reach the Hub at http://127.0.0.1:9 (ConnectError): check"
    )


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "made" / "file.txt"
    write_whole(path, "old\n")
    with files_of_at_most(100_000), pytest.raises(OSError, match="File too large"):
        write_whole(path, "new" * 100_000)
    assert [path.read_bytes(), *path.parent.iterdir()] == [b"old\n", path]
    with contextlib.suppress(KeyboardInterrupt), temporary_beside(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert [path.read_bytes(), *path.parent.iterdir()] == [b"old\n", path]


def test_a_manifest_may_name_every_tokenizer_that_has_a_name(release: Path) -> None:
    from builder.tokens.tokenizers import named

    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    (entry,) = manifest["tokenizers"].values()
    manifest["tokenizers"] |= dict.fromkeys(named(), entry)
    found = parse_manifest(json.dumps(manifest), "a manifest")
    assert {*found["tokenizers"]} == {*named()}


@pytest.mark.parametrize("name", ["a[1]", "b*", "c?"])
def test_a_path_with_signs_of_patterns_loads_its_own_files(
    release: Path, tmp_path: Path, name: str
) -> None:
    for folder in (name, "a1", "bb", "cc"):
        (tmp_path / folder / VT).parent.mkdir(parents=True)
        shutil.copy(release / VT, tmp_path / folder / VT)
        shutil.copy(release / MANIFEST, tmp_path / folder)
    assert len(load("vt_4k", tmp_path / name)) == 20


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_a_shard_is_checked(text: str) -> None:
    with pytest.raises(RulerError, match="such as 2/4"):
        Shard.parse(text)


def test_shards_divide_names_evenly_whatever_their_order() -> None:
    sizes = {f"file{number}": 1000 * number for number in range(1, 30)}
    turned = dict(reversed(sizes.items()))
    parts = [Shard(number, 4).chosen(sizes) for number in range(1, 5)]
    assert parts == [Shard(number, 4).chosen(turned) for number in range(1, 5)]
    assert sorted(name for part in parts for name in part) == sorted(sizes)
    loads = [sum(sizes[name] for name in part) for part in parts]
    assert max(loads) - min(loads) <= 2000
    assert str(Shard.parse("2/4")) == "2/4"
