"""What the card files of another version of the builder state is compared, its wording is not."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ruler_builder.verify.verify import verify
from ruler_common.manifest_form import MANIFEST
from tests.builder.proof import planting
from tests.shares import share

FILES = {
    "release": ["data/tekken/4k/fwe.parquet", "data/tekken/4k/qa_1.parquet"],
    "oneruler": ["data/tekken/8k/en/cwe_easy.parquet", "data/tekken/8k/zh/cwe_hard.parquet"],
}


Fault = tuple[str, Callable[[Path], None]]
"""A card file, and what changes it."""


@pytest.fixture(scope="module", params=[*FILES])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of either release, as another version would have made it, wording and all."""
    release: Path = request.getfixturevalue(request.param)
    root = Path(shutil.copytree(release, tmp_path_factory.mktemp("written") / "old"))
    planting.keep(root, *FILES[request.param])
    manifest = json.loads((root / MANIFEST).read_bytes())
    planting.write_manifest(root, {**manifest, "builder_version": "0.1.9"})
    change(root / "README.md", "pretty_name: ", "pretty_name: The ")
    change(root / "README.md", "\n# ", "\nSaid otherwise.\n\n# The ")
    change(root / "croissant.json", '"keywords": [', '"keywords": ["old", ')
    change(root / "eval.yaml", "name: ", "name: The old ")
    return root


@pytest.fixture
def old(written: Path, tmp_path: Path) -> Path:
    """A copy of it, which may be changed."""
    return Path(shutil.copytree(written, tmp_path / "old"))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def named(root: Path) -> dict[str, list[str]]:
    files = verify(root, laws_only=True).files.items()
    return {name: [b.what for b in file.breaches] for name, file in files if file.count}


def test_another_wording_is_no_breach_and_a_note_says_so(old: Path) -> None:
    report = verify(old, laws_only=True)
    assert {name: file.breaches for name, file in report.files.items() if file.count} == {}
    (note,) = (note for note in report.notes if "0.1.9" in note)
    assert note.endswith("licences and files are compared, its wording is not.")


def in_body(pattern: str, new: str) -> Fault:
    """Change the first match of a pattern after the metadata."""

    def apply(root: Path) -> None:
        text = (root / "README.md").read_text(encoding="utf-8")
        head, body = text[: (end := text.index("\n---\n", 4))], text[end:]
        changed = re.sub(pattern, new, body, count=1)
        assert changed != body
        (root / "README.md").write_text(head + changed, encoding="utf-8")

    return "README.md", apply


def in_file(name: str, old: str, new: str) -> Fault:
    return name, lambda root: change(root / name, old, new)


def a_licence_more(root: Path) -> None:
    described = json.loads((root / "croissant.json").read_bytes())
    described["license"] = ["https://spdx.org/licenses/MIT.html"]
    (root / "croissant.json").write_text(json.dumps(described), encoding="utf-8")


def a_column_less(root: Path) -> None:
    described = json.loads((root / "croissant.json").read_bytes())
    del described["recordSet"][0]["field"][3]
    (root / "croissant.json").write_text(json.dumps(described), encoding="utf-8")


def a_configuration_twice(root: Path) -> None:
    """A second entry of the same name, with another file, before the true one."""
    text = (root / "README.md").read_text(encoding="utf-8")
    name = re.search(r"config_name: ([^\s,}]+)", text)
    assert name
    other = f"- {{config_name: {name[1]}, data_files: [{{split: test, path: other.parquet}}]}}"
    change(root / "README.md", "\nconfigs:\n", f"\nconfigs:\n{other}\n")


FAULTS: dict[str, Fault] = {
    "a configuration twice": ("README.md", a_configuration_twice),
    "a field of a configuration": in_file("README.md", "data_files: [", "sep: x, data_files: ["),
    "a field of a file": in_file("README.md", "[{split: test, ", "[{x: y, split: test, "),
    "another licence": in_file("README.md", "license: other", "license: mit"),
    "a file left out": in_file("README.md", "path: data/", "path: more/data/"),
    "a field more": in_file("README.md", "license: other", "gated: x\nlicense: other"),
    "no metadata": in_file("README.md", "---\n", ""),
    "metadata that are none": in_file("README.md", "license: other", "license: ["),
    "more rows": in_body(r" with (\d+ rows)", r" with 1,\1"),
    "more bytes": in_body(r"\(([\d,]+) bytes\)", r"(1\1 bytes)"),
    "a figure of a table": in_body(r"\| (4,096|8,000) \|", "| 9,999 |"),
    "a licence of a source": in_body(r"CC0-1.0", "MIT"),
    "a digest": in_body(r"`[0-9a-f]{64}`", f"`{'0' * 64}`"),
    "a digest of a file": in_file("croissant.json", '"sha256": "', '"sha256": "0'),
    "a size of a file": in_file("croissant.json", ' B"', '0 B"'),
    "another place": in_file("croissant.json", '"contentUrl": "', '"contentUrl": "x'),
    "the licences": ("croissant.json", a_licence_more),
    "the columns": ("croissant.json", a_column_less),
    "no JSON": in_file("croissant.json", "{", ""),
    "a task": in_file("eval.yaml", "config: ", "config: x"),
    "no YAML": in_file("eval.yaml", "name: ", "name: ["),
}


def test_files_listed_in_another_form_are_the_same_files(old: Path) -> None:
    """Every path in a list, as versions before 0.3 had them."""
    text = (old / "README.md").read_text(encoding="utf-8")
    changed = re.sub(r"path: (data/[^\]}]+)", r"path: [\1]", text)
    assert changed.count("path: [data/") == 2
    (old / "README.md").write_text(changed, encoding="utf-8")
    assert named(old) == {}


@pytest.mark.parametrize("name", share(3, FAULTS))
def test_what_is_stated_falsely_is_named(old: Path, name: str) -> None:
    file, fault = FAULTS[name]
    fault(old)
    assert named(old).keys() == {file}


def test_a_table_that_is_another_is_named_in_a_note(old: Path) -> None:
    change(old / "README.md", "| tokenizer | length | window |", "| tokenizer | long | window |")
    report = verify(old, laws_only=True)
    assert report.ok
    assert any("no tables headed tokenizer | length | window" in note for note in report.notes)


def test_a_missing_card_of_another_version_is_named(old: Path) -> None:
    (old / "README.md").unlink()
    assert named(old)["README.md"] == ["the file is missing: run the same `ruler build` again"]


def test_a_source_has_the_licence_that_is_known_of_it(old: Path) -> None:
    manifest = json.loads((old / MANIFEST).read_bytes())
    name = min(manifest["sources"])
    manifest["sources"][name]["licence"] = "CC BY 4.0"
    planting.write_manifest(old, manifest)
    ((file, (what,)),) = named(old).items()
    assert file == MANIFEST
    assert what.startswith(f'sources.{name}.licence is "CC BY 4.0", made anew ')
