"""Which frozen rows suit a model: by its tokenizer's counts, or by its name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ruler_builder.release.suited_rows import frozen_tokenizers, suited_rows
from ruler_builder.sources.download import Store
from ruler_builder.tokens.tokenizers import named, pinned_files
from ruler_common.errors import RulerError
from ruler_release.tables.source_tables import show_suited
from tests import in_process


def test_frozen_rows_are_there_under_every_named_tokenizer() -> None:
    frozen = frozen_tokenizers()
    assert [*frozen] == [*named()]
    assert frozen["tekken"] == frozen["o200k_base"] == ["ruler", "oneruler"]
    assert frozen["qwen2.5"] == ["ruler"]


def mirror_of(folder: Path, mirror: Path, *names: str) -> Path:
    """A mirror that holds these tokenizers alone."""
    for file in (file for name in names for file in pinned_files(name)):
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(mirror / file.path, folder / file.path)
    return folder


@pytest.mark.mirror
def test_a_model_with_more_special_tokens_has_the_rows_of_its_family(
    mirror: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As Qwen3's tokenizer is Qwen2.5's with tokens such as <think>."""
    model = tmp_path / "Qwen3-8B"
    shutil.copytree(mirror / "tokenizers/hf/qwen2_5", model)
    described = json.loads((model / "tokenizer.json").read_bytes())
    last = described["added_tokens"][-1]
    for place, text in enumerate(("<think>", "</think>"), 1):
        described["added_tokens"].append({**last, "id": last["id"] + place, "content": text})
    (model / "tokenizer.json").write_text(json.dumps(described))
    own = mirror_of(tmp_path / "mirror", mirror, "qwen2.5")
    monkeypatch.chdir(tmp_path)  # a short name: what is printed fits 80 columns
    found = suited_rows(model.name, Store(own))
    assert [one.tokenizer for one in found.beside if one.exact] == ["qwen2.5"]
    assert found.beside[0].tokenizer == found.by_name == "qwen2.5"
    assert [one.tokenizer for one in found.beside if not one.exact] == ["tekken"]
    others = ["cl100k_base", "o200k_base", "llama3", "mistral-nemo", "gemma3"]
    assert found.not_here == others
    show_suited(found)
    printed = capsys.readouterr().out
    said = " ".join(printed.split())
    assert "counts as qwen2.5 does, text for text" in said
    assert "such as all_8k_qwen2.5 (ruler) are exact for it." in said
    assert f"ruler sources fetch {' '.join(others)}" in said
    assert max(map(len, printed.splitlines())) <= 80


def test_a_tokenizer_of_ones_own_has_no_frozen_rows(
    made: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RULER_MIRROR", str(tmp_path))
    folder = shutil.copytree(made("gpt2"), tmp_path / "Qwen2.5-tuned")
    found = suited_rows(str(folder), Store(tmp_path))
    (near,) = found.beside
    assert (near.tokenizer, near.exact) == ("tekken", False)
    done = in_process.ruler("tokenizers", "--for", folder)
    said = " ".join(done.stdout.split())
    assert f"No frozen rows were fitted with the tokenizer of '{folder}'." in said
    assert f"rows are up to {100 * (near.longest - 1):.1f} % longer for it" in said
    assert f"ruler build mine --tokenizer NAME={folder} --lengths 4k" in said
    assert done.stdout.split("equal\n")[1].splitlines()[1].split()[:2] == ["tekken", "both"]


def test_a_model_without_a_tokenizers_files_is_known_by_its_name(tmp_path: Path) -> None:
    found = suited_rows("gpt-4o-mini", Store(tmp_path))
    assert (found.by_name, found.beside, found.spec) == ("o200k_base", [], None)
    done = in_process.ruler("tokenizers", "--for", "gpt-4o-mini")
    said = " ".join(done.stdout.split())
    assert "By its name 'gpt-4o-mini' has the tokenizer o200k_base" in said
    assert "such as all_8k_o200k_base (ruler and oneruler) suit it. Not counted: its maker" in said


def test_where_the_hub_cannot_be_reached_the_name_must_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    found = suited_rows("Qwen/Qwen3-8B", Store(tmp_path))
    assert (found.by_name, found.beside, found.spec) == ("qwen2.5", [], "hf:Qwen/Qwen3-8B")
    assert "Cannot load tokenizer" in found.why
    with pytest.raises(RulerError, match="Cannot load tokenizer"):
        suited_rows("ORG/unheard-of", Store(tmp_path))
    with pytest.raises(RulerError, match="neither a folder with a tokenizer nor a Hub repository"):
        suited_rows("unheard-of", Store(tmp_path))
