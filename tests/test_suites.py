"""The suites of the paper's other experiments are built small, proved, and answered."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from ruler_builder.tasks.registry import FAMILIES, read_suite, usual_of
from ruler_common.errors import RulerError
from ruler_common.manifest import (
    SUITE_DIGESTS,
    benchmark_suite,
    is_standard,
    read_manifest,
    suite_digest,
)
from ruler_eval.frozen_release import Release
from tests.conftest import SUITE_LENGTHS
from tests.embedded_release import audit_problems, build_embedded
from tests.in_process import ruler_output
from tests.nightly import mostly_nightly

# `suite_digest` of each of the project's suites
DIGESTS = {
    **SUITE_DIGESTS,
    "ruler_decimal": "dbed4f4c281db6bb",
    "ruler_complexity": "b063d0ad3c09a56f",
    "ruler_correlation": "9b30c3d429ba42da",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_a_suite_is_known_by_its_digest(name):
    suite = read_suite(name)
    described = json.loads(json.dumps({"tasks": suite.described(), "families": suite.families}))
    assert suite.name == name
    assert suite_digest(described) == DIGESTS[name]


@pytest.mark.parametrize("name", mostly_nightly(2, SUITE_LENGTHS))
def test_a_suites_release_is_proved(name, suite_release):
    root = suite_release(name)
    assert audit_problems(root) == {}
    assert read_manifest(root)["suite"] == name


def test_every_optional_parameter_is_proved(suite_release):
    root = suite_release("optional")
    assert audit_problems(root) == {}
    tasks = read_manifest(root)["tasks"].values()
    tested = {(table["family"], name) for table in tasks for name in table}
    parameters = {(family, name) for family in FAMILIES for name in usual_of(family)}
    assert parameters - tested == {
        ("common_words", "layout"),  # in ruler_2024
        ("question_answering", "no_documents"),  # in ruler_complexity
    }


@pytest.mark.parametrize("name", ["optional", *mostly_nightly(5, SUITE_LENGTHS)])
def test_the_oracle_scores_100_on_every_suite(name, suite_release, tmp_path):
    out = tmp_path / "run"
    flags = ("--dataset", suite_release(name), "--configs", "all", "--backend", "oracle")
    ruler_output("run", *flags, "--out", out)
    ruler_output("score", out)
    cells = json.loads((out / "results.json").read_text(encoding="utf-8"))["configurations"]
    assert {cell["score"] for cell in cells.values()} == {100}


def test_the_layout_of_2024_changes_only_the_rows_of_vt_and_cwe(suite_release, release):
    old, new = (Release.open(str(root)) for root in (suite_release("ruler_2024"), release))
    columns = ("index", "input", "outputs")
    same = {
        config: list(old.rows(config, columns)) == list(new.rows(config, columns))[:2]
        for config in new.configs
    }
    assert {config for config, equal in same.items() if not equal} == {"vt_4k", "cwe_4k"}


def test_vt_of_2024_has_the_layout_of_the_papers_code(suite_release):
    noise = (
        "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
    )
    columns = ("input", "evidence", "context_start", "context_end", "outputs")
    heads = []
    for row in Release.open(str(suite_release("ruler_2024"))).rows("vt_4k", columns):
        text, sentences, at = row["input"], [], row["context_start"]
        for span in [*row["evidence"], {"start": row["context_end"] + 1, "end": None}]:
            lines = (span["start"] - at) // len(f"{noise}\n ")
            sentences += [f"{noise}\n"] * lines + [text[span["start"] : span["end"]]]
            at = (span["end"] or 0) + 1
        end = sentences.pop()  # what follows the context
        assert text[row["context_start"] : row["context_end"]] == " ".join(sentences)
        assert end.startswith("Question: Find all variables")
        names = row["outputs"]
        values = [text[span["start"] : span["end"]] for span in row["evidence"]]
        assert values[1:] == [f"VAR {name} = VAR {source} " for source, name in pairwise(names)]
        heads.append(text[: row["context_start"]])
    assert heads[0] == heads[1]  # one solved example for all rows
    assert heads[0].startswith(" Memorize and track the chain(s)")
    assert "hidden in the following text. VAR" in heads[0] or "following text. The" in heads[0]
    assert "5 variables are assgined the value" in heads[0]
    assert "\n\n\n\nMemorize and track" in heads[0]


def test_decimal_and_binary_lengths_cannot_be_in_one_release(tmp_path):
    with pytest.raises(RulerError, match=r"cannot hold both 4k .* and 4000"):
        build_embedded(tmp_path / "ruler", lengths=("4k", "4000"))


def test_thresholds_are_for_the_papers_tasks_at_its_lengths(suite_release, release):
    roots = {name: suite_release(name) for name in SUITE_LENGTHS} | {"ruler": release}
    manifests = {name: read_manifest(root) for name, root in roots.items()}
    with_threshold = [name for name, m in manifests.items() if benchmark_suite(m) is not None]
    assert with_threshold == ["ruler_2024", "ruler"]  # they were measured in the 2024 layout
    assert [name for name, manifest in manifests.items() if is_standard(manifest)] == ["ruler"]


def test_a_row_at_0k_asks_the_same_as_at_4k_with_only_its_evidence(suite_release):
    release = Release.open(str(suite_release("ruler_2024")))
    for task in ("niah_single_2", "niah_multikey_3", "vt", "qa_2", "cwe", "fwe"):
        short, full = (
            next(release.rows(f"{task}_{length}", ("question", "outputs", "length", "evidence")))
            for length in ("0k", "4k")
        )
        assert (short["question"], short["outputs"]) == (full["question"], full["outputs"])
        assert len(short["evidence"]) == len(full["evidence"])
        assert short["length"] < 1000
    assert all(
        entry.get("control", False) is (entry["length"] == "0k")
        for entry in release.manifest["files"].values()
    )


def test_a_run_of_the_complexity_suite_is_compared_with_0k_and_drawn_by_parameter(
    suite_release, tmp_path
):
    root, run = suite_release("ruler_complexity"), tmp_path / "oracle"
    configs = "keys_4k,hops_4k,alpha_4k,hops_0k,qa_1_0k,qa_1_4k,qa_1_no_documents_0k"
    ruler_output("run", "-d", root, "-c", configs, "-b", "oracle", "--out", run)
    assert "Scores in percent of the control's" in ruler_output("score", run)
    cells = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert cells["configurations"]["vt_hops_8_4k"]["percent_of_control"] == 100
    assert "percent_of_control" not in cells["configurations"]["vt_hops_8_0k"]
    assert cells["summary"]["tekken"]["en"]["hops"]["average"]["score"] == 100
    assert cells["summary"]["tekken"]["en"]["all"]["threshold"] is None
    output = ruler_output("analyze", run, "--out", tmp_path / "figures.json")
    result = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    ((_, figures),) = result["complexity"].items()
    lines = {panel["title"]: [line["value"] for line in panel["lines"]] for panel in figures}
    assert lines == {
        "niah: keys": ["1", "2", "4", "8", "full"],
        "variable tracking: hops": ["2", "4", "6", "8"],
        "frequent words: alpha": ["1.5", "2.0", "2.5", "3.0", "3.5"],
        "question answering (squad): documents": ["as many as fit", "none"],
    }
    assert all(title in output for title in lines)
