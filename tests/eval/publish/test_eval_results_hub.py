"""`ruler results` and a fake Hub: the comparison and the pull request."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from ruler_builder.release.card import eval_yaml
from ruler_builder.release.facts import collect_facts
from tests.hub import fake_hub
from tests.hub.client import Client
from tests.hub.hub_store import Blob, Repo
from tests.in_process import ruler_error

MODEL = "org/model"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def hub(built):
    """A fake Hub with the benchmark, at a tag, and a model."""
    server = fake_hub.FakeHub()
    data = server.repos["datasets/org/ruler"] = Repo("datasets", "org/ruler")
    manifest = (built / "manifest.json").read_bytes()
    listed = eval_yaml(collect_facts(json.loads(manifest))).encode()
    data.main = data.add({"manifest.json": Blob(manifest), "eval.yaml": Blob(listed)}, "data")
    data.tags["v1.0.0"] = data.main
    server.repos["models/org/model"] = Repo("models", MODEL)
    yield server
    server.close()


@pytest.fixture(scope="module")
def client(hub, tmp_path_factory):
    process = Client(hub.url, tmp_path_factory.mktemp("home"))
    yield process
    process.close()


@pytest.fixture
def propose(run, client, tmp_path):
    folder = run()
    flags = ["--dataset-repo", "org/ruler", "--out", tmp_path, "--create-pr", "--custom-rows"]

    def call(*more, code=0, model=MODEL, **env):
        return client.ruler("results", folder, "--model", model, *flags, *more, code=code, **env)

    return call


def test_a_pull_request_holds_the_file_and_the_benchmarks_commit(hub, propose, tmp_path):
    text = propose("--revision", "v1.0.0")
    model, data = hub.repos["models/org/model"], hub.repos["datasets/org/ruler"]
    request = model.pull_requests[-1]
    assert f"Pull request: {hub.url}/" in text
    assert text.endswith(f"/discussions/{len(model.pull_requests)}")
    assert any("refs%2Fpr" in line and "expand=evalResults" in line for line in hub.requests)
    assert request.title == "Add results on ruler 1.0.0"
    sent = model.commits[request.commit][".eval_results/ruler_prefill.yaml"].data
    assert sent == (tmp_path / ".eval_results/ruler_prefill.yaml").read_bytes()
    result = parse_eval_result_entries(yaml.safe_load(sent))
    assert {entry.dataset_revision for entry in result} == {data.main}
    assert ".eval_results/ruler_prefill.yaml" not in model.commits[model.main]


def test_an_error_that_the_hub_finds_in_the_file_is_shown(hub, propose):
    hub.results_error = "task_id 'all_4k' is not defined in eval.yaml"
    try:
        text = propose(code=2)
    finally:
        hub.results_error = None
    assert "Pull request: " in text
    assert "The Hub reports an error in the proposed file: task_id 'all_4k' is not defined" in text


def test_a_pull_request_keeps_what_the_model_has(hub, propose):
    model = hub.repos["models/org/model"]
    name, before = ".eval_results/ruler_prefill.yaml", model.main
    other_entry = {"dataset": {"id": "org/ruler", "task_id": "vt_128k"}, "value": 7.0}
    old = {"dataset": {"id": "org/ruler", "task_id": "vt_4k"}, "value": 9.0}
    model.main = model.add({name: Blob(yaml.dump([other_entry, old]).encode())}, "results")
    try:
        text = propose()
    finally:
        model.main = before
    sent = yaml.safe_load(model.commits[model.pull_requests[-1].commit][name].data)
    values = {entry["dataset"]["task_id"]: entry["value"] for entry in sent}
    assert values == {"vt_128k": 7, "vt_4k": 9, "all_4k": pytest.approx(1200 / 13)}
    assert "and 2 of earlier runs" in text


def test_without_a_pull_request_too_the_benchmark_is_compared(hub, run, client, tmp_path):
    folder, flags = run(), ["--model", MODEL, "--dataset-repo", "org/ruler", "--out", tmp_path]
    flags.append("--custom-rows")
    text = client.ruler("results", folder, *flags, "--revision", "v1.0.0")
    assert "not checked" not in text
    assert "Not written: 19 scores of tasks that the benchmark's eval.yaml does not list." in text
    result = yaml.safe_load((tmp_path / ".eval_results/ruler_prefill.yaml").read_bytes())
    main = hub.repos["datasets/org/ruler"].main
    assert {entry["dataset"]["revision"] for entry in result} == {main}
    assert [entry["dataset"]["task_id"] for entry in result] == ["all_4k"]
    text = client.ruler("results", folder, *flags, "--revision", "v7", code=2)
    assert "'org/ruler' has no such revision: it has v1.0.0, main." in text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (b"tasks: [{id: all_128k}]", "None of these scores is for a task that org/ruler lists"),
        (b"[1]", "The eval.yaml of 'org/ruler' lists no tasks"),
        (None, "'org/ruler' has no eval.yaml"),
    ],
)
def test_what_no_eval_yaml_lists_is_not_written(hub, propose, tmp_path, text, answer):
    data = hub.repos["datasets/org/ruler"]
    before, files = data.main, dict(data.commits[data.main])
    files.pop("eval.yaml")
    data.main = data.add({**files, **({"eval.yaml": Blob(text)} if text else {})}, "other list")
    try:
        assert answer in propose(code=2)
    finally:
        data.main = before
    assert not (tmp_path / ".eval_results").exists()


def test_scores_of_other_rows_are_not_proposed(hub, propose, built, tmp_path):
    data = hub.repos["datasets/org/ruler"]
    manifest = json.loads((built / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["data/tekken/4k/vt.parquet"]["rows_sha256"] = "0" * 64
    before, text = data.main, json.dumps(manifest).encode()
    data.main = data.add({"manifest.json": Blob(text)}, "other rows")
    try:
        answer = propose(code=2)
    finally:
        data.main = before
    assert "'vt_4k' was scored on rows that org/ruler does not have at main" in answer
    assert not (tmp_path / ".eval_results").exists()


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({"HF_TOKEN": None}, "There is no token: log in with `hf auth login`, or set HF_TOKEN."),
        ({"HF_TOKEN": "hf_wrong"}, "The Hub does not accept your token (401"),
    ],
)
def test_without_a_token_that_counts_it_says_so(propose, env, text, built):
    propose()  # the benchmark's manifest is in the cache
    assert text in propose(code=2, **env)


def test_offline_it_says_what_to_unset(run, built, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_any")  # HF_HUB_OFFLINE=1 is set for all tests
    place = Path(os.environ["HF_HOME"]) / "hub/datasets--org--offline"
    (place / f"snapshots/{COMMIT}").mkdir(parents=True)
    (place / f"snapshots/{COMMIT}/manifest.json").write_bytes(
        (built / "manifest.json").read_bytes()
    )
    (place / "refs").mkdir()
    (place / "refs/main").write_text(COMMIT)
    flags = ["--model", MODEL, "--dataset-repo", "org/offline", "--out", tmp_path, "--custom-rows"]
    flags.append("--create-pr")
    assert "HF_HUB_OFFLINE is set, and " in ruler_error("results", run(), *flags)
