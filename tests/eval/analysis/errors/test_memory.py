"""Wrong answers that are the model's own without documents: a kind, and a table of shares."""

from __future__ import annotations

import json

import pytest

from ruler_eval.frozen_release import Release
from tests.eval.scoring_helpers import ruler, write_answers


@pytest.fixture(scope="session")
def with_and_without(once):
    """qa_1 at 4k, and its questions without documents at 0k; five rows each."""

    def make(root):
        out, error, code = ruler(
            *("build", root, "--suite", "ruler_complexity", "--sources", "embedded"),
            *("--tasks", "qa_1,qa_1_no_documents", "--lengths", "0k,4k", "--samples", 5),
        )
        assert code == 0, f"{out}\n{error}"

    return once("built/memory", make)


def run_of(folder, root, said):
    """A run in which a row is answered with `said(config, index)`."""
    frozen = Release.open(str(root))
    folder.mkdir()
    files = write_answers(
        folder, frozen, list(frozen.configs), ("index",), lambda c, row: said(c, row["index"])
    )
    session = {"source": str(root), "configs": list(files), "shard": None}
    facts = {"format": 1, "model": "m", "backend": "test", "mode": "completion"}
    facts |= {"dataset": "ruler", "data_version": "1.0.0", "rows": files, "sessions": [session]}
    (folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


def test_the_share_of_answers_from_memory_is_a_table(with_and_without, tmp_path):
    def said(config, index):
        if "no_documents" in config:
            return f"<think>hm</think>Zanzibar number{index}."
        return f"zanzibar number{index}" if index < 2 else "Tessalonia, as it says"

    run = run_of(tmp_path / "run", with_and_without, said)
    out = tmp_path / "errors.jsonl"
    stdout, error, code = ruler("errors", run, "--out", out)
    assert code == 0, error
    found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    kinds = {e["index"]: e["kind"] for e in found if e["config"] == "qa_1_4k"}
    assert [index for index, kind in kinds.items() if kind == "from_memory"] == [0, 1]
    assert all(e["kind"] != "from_memory" for e in found if "no_documents" in e["config"])
    table = stdout.partition("without documents (RULER, section 5)")[2]
    (line,) = [line.split() for line in table.splitlines() if line.startswith("qa_1_4k")]
    assert line == ["qa_1_4k", "5", "2", "40", "%"]


def test_where_nothing_was_asked_without_documents_there_is_no_table(write_run):
    stdout, _, code = ruler("errors", write_run(lambda config, row: "Zanzibar"))
    assert code == 0
    assert "section 5" not in stdout
