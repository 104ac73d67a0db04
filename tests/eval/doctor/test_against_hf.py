"""`ruler doctor --against hf`: transformers as the reference of a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ruler_dataset
from ruler_eval.run.records import read_records
from tests.eval.run import small_release, tiny_model
from tests.in_process import ruler, ruler_output
from tests.model_server import Reply, Request, answer, model_server

pytest.importorskip("torch", reason="the hf extra is not installed")
pytest.importorskip("httpx", reason="the openai extra is not installed")
pytestmark = pytest.mark.hf
ROWS = 30


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_release.write(tmp_path_factory.mktemp("hf") / "ruler", rows=ROWS, lines=6)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.make(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="module")
def answers(root: Path, model: Path) -> dict[str, str]:
    """What the model says to each prompt, by transformers."""
    run = root.with_name("RUN")
    ruler_output(
        *("run", "-d", root, "-c", "vt_4k", "-b", "hf", "-m", model, "-o", run),
        *("--mode", "completion"),
    )
    rows = {row["index"]: row["input"] for row in ruler_dataset.load(root, "vt_4k")}
    return {rows[line["index"]]: line["prediction"] for line in read_records(run / "answers.jsonl")}


@pytest.mark.parametrize(
    ("is_broken", "code", "outcome"), [(False, 0, "same"), (True, 1, "different")]
)
def test_a_server_is_compared_with_transformers(
    is_broken, code, outcome, root, model, answers, tmp_path
):
    def reply(request: Request) -> Reply:
        (text,) = [text for prompt, text in answers.items() if request.prompt.startswith(prompt)]
        return answer(text[::-1] if is_broken else text)

    with model_server(reply) as server:
        printed = ruler(
            *("doctor", "--base-url", server.url, "-m", "m", "-d", root, "-c", "vt_4k"),
            *("--against", "hf", "--against-model", model, "--mode", "completion"),
            *("--load", 10, "--rows", ROWS, "--out", tmp_path / "out"),
            *("--json", tmp_path / "verdict.json"),
        )
    assert printed.code == code, printed
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert verdict["outcome"] == outcome
    assert json.loads((tmp_path / "out" / "b" / "run.json").read_text())["backend"] == "hf"
