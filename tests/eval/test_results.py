"""`ruler results`: entries the Hub's client reads back, and the pull request, on a stand-in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries
from huggingface_hub.errors import HTTPError
from scoring_helpers import record, right, ruler, write_oneruler

from builder.registration import eval_yaml
from eval import results as publishing
from eval.ruler_score.ruler_score import SCORE_VERSION
from ruler_dataset import RulerError
from tests.hub import stand_in
from tests.hub.client import Client
from tests.hub.hub_store import Blob, Repo

MODEL = "org/model"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def run(write_run, built):
    """A scored RUN folder: all of 4k and qa_1_8k right but for one task."""

    def make(name="run", **settings):
        configs = [c for c in publishing.Release.open(str(built)).configs if c.endswith("_4k")]
        folder = write_run(
            lambda config, row: "" if config == "vt_4k" else right(config, row),
            name,
            [*configs, "qa_1_8k"],
        )
        path = folder / "run.json"
        known = json.loads(path.read_text(encoding="utf-8"))
        known["mode"] = "prefill"
        known["sessions"][0] |= {"started": "2026-11-01T10:00:00+00:00", "ended": None}
        path.write_text(json.dumps({**known, **settings}), encoding="utf-8")
        _, error, code = ruler("score", folder, "--dataset", built)
        assert code == 0, error
        return folder

    return make


def publish(folder, out, *more, name="ruler_prefill.yaml"):
    """The command's output, and the entries of the file it wrote, as the Hub's client reads it."""
    flags = ["--model", MODEL, "--dataset-repo", "org/ruler", "--out", out, *more]
    text, error, code = ruler("results", folder, *flags)
    assert code == 0, error
    data = yaml.safe_load((out / ".eval_results" / name).read_text(encoding="utf-8"))
    return text, parse_eval_result_entries(data)


# ---- The entries -----------------------------------------------------------------------------


def test_the_hubs_client_reads_back_every_configuration_and_whole_group(run, tmp_path):
    text, found = publish(run(), tmp_path / "out", "--revision", COMMIT)
    values = {entry.task_id: entry.value for entry in found}
    assert values["niah_single_1_4k"] == 100
    assert values["vt_4k"] == 0
    assert values["qa_1_8k"] == values["niah_4k"] == 100
    assert values["all_4k"] == pytest.approx(1200 / 13)
    assert "qa_8k" not in values  # one of its two tasks was not run
    assert len(found) == len(values) == 13 + 1 + 6
    assert f"{len(found)} results" in text
    assert found[0] == EvalResultEntry(
        dataset_id="org/ruler",
        task_id="niah_single_1_4k",
        value=100.0,
        dataset_revision=COMMIT,
        date="2026-11-01",
        notes="mode prefill, thinking off, tokenizer tekken, backend test, n 5, missing 0, "
        f"failed 0, score_version {SCORE_VERSION}, data_version 1.0.0",
    )


def test_a_groups_value_is_the_tables(run, tmp_path):
    folder = run()
    _, found = publish(folder, tmp_path / "out")
    summary = json.loads((folder / "results.json").read_text(encoding="utf-8"))["summary"]
    score = summary["tekken"]["en"]["all"]["lengths"]["4k"]["score"]
    (entry,) = [entry for entry in found if entry.task_id == "all_4k"]
    assert entry.value == pytest.approx(score)
    assert "n 65, " in entry.notes


def test_task_ids_are_those_of_the_data_sets_eval_yaml(run, built, tmp_path):
    manifest = json.loads((built / "manifest.json").read_text(encoding="utf-8"))
    registered = {task["id"] for task in yaml.safe_load(eval_yaml(manifest))["tasks"]}
    _, found = publish(run(), tmp_path / "out")
    assert {entry.task_id for entry in found} <= registered


@pytest.mark.parametrize(
    ("settings", "name", "notes"),
    [
        ({"mode": "completion"}, "ruler_completion.yaml", "mode completion, thinking off"),
        ({"mode": "chat", "direct": True}, "ruler_chat_direct.yaml", "mode chat direct"),
        (
            {"mode": "chat", "thinking": {"on": True, "budget": 8192}, "revision": "abc"},
            "ruler_chat_thinking.yaml",
            "mode chat, thinking 8192 tokens, tokenizer tekken, backend test, model_revision abc",
        ),
    ],
)
def test_each_way_of_asking_has_a_file_and_notes_of_its_own(run, tmp_path, settings, name, notes):
    _, found = publish(run(**settings), tmp_path, name=name)
    assert found[0].notes.startswith(notes)


def test_a_source_is_named_and_a_rule_that_is_not_the_usual_one(run, built, tmp_path):
    folder = run()
    ruler("score", folder, "--dataset", built, "--cut", "wrong")
    _, found = publish(folder, tmp_path, "--source", "https://example.org/runs")
    assert found[0].source_url == "https://example.org/runs"
    assert found[0].notes.endswith("cut wrong")


def test_a_run_from_the_hub_says_itself_where_its_data_are(run):
    results = json.loads((run() / "results.json").read_text(encoding="utf-8"))
    results["dataset"] |= {"source": "org/frozen", "revision": COMMIT}
    assert publishing.benchmark_of(results, None, None) == publishing.Benchmark(
        "org/frozen", COMMIT
    )
    assert publishing.benchmark_of(results, None, "v1").revision == "v1"
    assert publishing.benchmark_of(results, "other/ruler", None).revision is None


def test_oneruler_has_an_entry_a_language(tmp_path):
    release, folder = write_oneruler(tmp_path / "oneruler"), tmp_path / "run"
    folder.mkdir()
    lines = [record("niah_none_8k_en-ko_cl100k", i, "<답변>없음</답변>") for i in range(4)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "niah_none_8k_en-ko_cl100k.jsonl").write_text(text, encoding="utf-8")
    ruler("score", folder, "--dataset", release, "--out", folder / "results.json")
    _, (entry,) = publish(folder, tmp_path, name="oneruler.yaml")
    assert (entry.task_id, entry.value) == ("niah_none_8k_en-ko_cl100k", 100)
    assert entry.notes.startswith("tokenizer cl100k, n 4,")  # how it was asked is not known


def test_the_same_command_again_replaces_its_file(run, tmp_path):
    folder = run()
    first = publish(folder, tmp_path)
    assert publish(folder, tmp_path) == first
    assert [path.name for path in (tmp_path / ".eval_results").iterdir()] == ["ruler_prefill.yaml"]


# ---- What is refused -------------------------------------------------------------------------


def test_what_is_no_whole_frozen_result_is_refused_in_a_sentence(run, built, tmp_path):
    folder = run()

    def refused(path, *flags):
        arguments = ["--model", MODEL, "--out", tmp_path / "out", *flags]
        _, error, code = ruler("results", path, *arguments)
        assert code == 2
        assert not (tmp_path / "out").exists()
        return error

    assert "add --dataset-repo" in refused(folder)
    assert "add --dataset-repo" in refused(folder, "--dataset-repo", "no-repository")
    assert "no model repository" in refused(folder, "--model", "model")
    assert "is no results.json" in refused(folder / "run.json")
    assert "is no results.json" in refused(tmp_path / "nothing")
    ruler("score", folder, "--dataset", built, "--partial")
    assert "without --partial" in refused(folder, "--dataset-repo", "org/ruler")
    alone = folder / "results.json"
    results = json.loads(alone.read_text(encoding="utf-8")) | {"partial": False}
    results["dataset"]["files"] = {}
    alone.write_text(json.dumps(results), encoding="utf-8")
    assert "score with --dataset" in refused(folder, "--dataset-repo", "org/ruler")


# ---- The pull request ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hub(built):
    """A stand-in with the benchmark, at a tag, and a model."""
    server = stand_in.StandIn()
    data = server.repos["datasets/org/ruler"] = Repo("datasets", "org/ruler")
    data.main = data.add({"manifest.json": Blob((built / "manifest.json").read_bytes())}, "data")
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
    flags = ["--dataset-repo", "org/ruler", "--out", tmp_path, "--create-pr"]

    def call(*more, code=0, model=MODEL, **env):
        return client.ruler("results", folder, "--model", model, *flags, *more, code=code, **env)

    return call


def test_a_pull_request_holds_the_file_and_the_benchmarks_commit(hub, propose, tmp_path):
    said = propose("--revision", "v1.0.0")
    model, data = hub.repos["models/org/model"], hub.repos["datasets/org/ruler"]
    request = model.pull_requests[-1]
    assert f"Pull request: {hub.url}/" in said
    assert said.endswith(f"/discussions/{len(model.pull_requests)}")
    assert request.title == "Add results on ruler 1.0.0"
    sent = model.commits[request.commit][".eval_results/ruler_prefill.yaml"].data
    assert sent == (tmp_path / ".eval_results/ruler_prefill.yaml").read_bytes()
    found = parse_eval_result_entries(yaml.safe_load(sent))
    assert {entry.dataset_revision for entry in found} == {data.main}
    assert ".eval_results/ruler_prefill.yaml" not in model.commits[model.main]


def test_scores_of_other_files_are_not_proposed(hub, propose, built, tmp_path):
    data = hub.repos["datasets/org/ruler"]
    manifest = json.loads((built / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["data/tekken/4k/vt.parquet"]["sha256"] = "0" * 64
    before, text = data.main, json.dumps(manifest).encode()
    data.main = data.add({"manifest.json": Blob(text)}, "other rows")
    try:
        said = propose(code=2)
    finally:
        data.main = before
    assert "'vt_4k' was scored on a file that org/ruler does not hold at main" in said
    assert not (tmp_path / ".eval_results").exists()


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"HF_TOKEN": None}, "There is no token: log in with `hf auth login`, or set HF_TOKEN."),
        ({"HF_TOKEN": "hf_wrong"}, "(401: Invalid credentials in Authorization header)"),
    ],
)
def test_without_a_token_that_counts_it_says_so(propose, env, said, built):
    propose()  # the benchmark's manifest is in the cache
    assert said in propose(code=2, **env)


def test_an_unknown_model_is_named(propose):
    assert "The Hub has no model 'org/nothing'" in propose(code=2, model="org/nothing")


@pytest.mark.parametrize(
    ("status", "said"),
    [(403, "use a token that may write"), (429, "try again later"), (400, "refused")],
)
def test_a_refusal_of_the_hub_is_one_sentence(hub, propose, status, said):
    hub.fail("POST", "/api/models/.*/commit/", status, times=10, headers={"Retry-After": "0"})
    try:
        assert said in propose(code=2)
    finally:
        hub.failures.clear()


def test_without_a_network_it_says_where_it_tried():
    """Raised here by hand: the client tries for 24 seconds before it raises this itself."""
    said = r"Cannot reach the Hub at http.* \(HTTPError\)"
    with pytest.raises(RulerError, match=said), publishing._explained(MODEL):
        raise HTTPError("Connection refused")


def test_offline_it_says_what_to_unset(run, built, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_any")  # HF_HUB_OFFLINE=1 is set for all tests
    place = Path(os.environ["HF_HOME"]) / "hub/datasets--org--offline"
    (place / f"snapshots/{COMMIT}").mkdir(parents=True)
    (place / f"snapshots/{COMMIT}/manifest.json").write_bytes(
        (built / "manifest.json").read_bytes()
    )
    (place / "refs").mkdir()
    (place / "refs/main").write_text(COMMIT)
    flags = ["--model", MODEL, "--dataset-repo", "org/offline", "--out", tmp_path, "--create-pr"]
    _, error, code = ruler("results", run(), *flags)
    assert code == 2
    assert "HF_HUB_OFFLINE is set: unset it" in error
