"""`ruler push --metric` makes the Space that evaluate.load("ORG/ruler_score") reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import yaml

from ruler_score.ruler_score import SCORE_VERSION
from tests.hub.client import Client, environment
from tests.hub.fake_hub import FakeHub
from tests.project import ROOT

FOLDER = ROOT / "eval/ruler_score"
REPO = "org/ruler_score"
CALL = "compute(predictions=['1234567 is it'], references=[['1234567', '7654321']])['score']"


@pytest.fixture(scope="module")
def space(hub: FakeHub, client: Client) -> str:
    """Push the metric, and return the command's output."""
    return client.ruler("push", "--metric", "--repo", REPO)


def test_the_space_holds_the_metrics_files_and_is_tagged_with_the_score_version(hub, client, space):
    repo = hub.repos[f"spaces/{REPO}"]
    files = repo.commits[repo.main]
    names = {path.name for path in FOLDER.glob("*.py")} - {"__init__.py"} | {"requirements.txt"}
    assert names <= files.keys()
    assert all(files[name].data == (FOLDER / name).read_bytes() for name in names)
    assert (repo.sdk, repo.tags) == ("gradio", {f"v{SCORE_VERSION}": repo.main})
    assert f'evaluate.load("{REPO}", revision="v{SCORE_VERSION}")' in space
    mark = len(hub.requests)
    assert "already" in client.ruler("push", "--metric", "--repo", REPO)
    assert hub.sent_since(mark) == []


def test_the_spaces_card_is_the_metric_card_with_a_spaces_metadata(hub, space):
    repo = hub.repos[f"spaces/{REPO}"]
    card = repo.commits[repo.main]["README.md"].data.decode()
    _, header, body = card.split("---\n", 2)
    metadata = yaml.safe_load(header)
    assert (metadata["sdk"], metadata["app_file"]) == ("gradio", "app.py")
    assert {"evaluate", "metric"} <= set(metadata["tags"])
    assert body.count("# Metric card") == 1
    assert "eval/ruler_score" not in body
    assert f"score version {SCORE_VERSION}" in body
    examples = re.findall(r"```python\n(.*?)```", body, re.DOTALL)
    assert len(examples) == 2
    assert all(f'evaluate.load("{REPO}"' in code for code in examples)


@pytest.mark.nightly
def test_evaluate_loads_it_by_name_by_version_and_offline(hub, space, tmp_path):
    code = (
        "import evaluate, json\n"
        f"first = evaluate.load('{REPO}').{CALL}\n"
        f"second = evaluate.load('{REPO}', revision='{SCORE_VERSION}').{CALL}\n"
        "print(json.dumps([first, second]))"
    )
    for env in ({}, {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_EVALUATE_OFFLINE": "1"}):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(hub.url, tmp_path / "home", **env),
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) == [50.0, 50.0]


def test_the_page_of_the_space_scores_by_the_metrics_rules(tmp_path):
    """A fake gradio keeps the page's function and examples."""
    (tmp_path / "gradio.py").write_text(
        "class Interface:\n"
        "    def __init__(self, fn, inputs, outputs, examples, **more):\n"
        "        self.fn, self.inputs, self.examples = fn, inputs, examples\n"
        "class Error(Exception): pass\n"
        "def Textbox(*a, **k): return 'text'\n"
        "Dropdown = JSON = Textbox\n"
    )
    code = (
        "import json, runpy\n"
        f"page = runpy.run_path({str(FOLDER / 'app.py')!r})['page']\n"
        "print(json.dumps([len(page.inputs), [page.fn(*row)['score'] for row in page.examples]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{tmp_path}:{FOLDER}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    inputs, scores = json.loads(done.stdout)
    assert inputs == 4
    assert scores == [100.0, 50.0, 100.0, 100.0]


def test_a_repository_not_named_after_the_module_is_refused(client):
    message = client.ruler("push", "--metric", "--repo", "org/score", code=2)
    assert "push to ORG/ruler_score, not 'org/score'" in message
