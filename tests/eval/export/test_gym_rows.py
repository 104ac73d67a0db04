"""NeMo Gym's rows and verifier: its fields, its budgets, its rewards.

The package needs a newer Python than the tests: the server is imported with the published names of
its interface. With the classes of nemo-gym 0.4.0, its own RULER server gave the same 160 rewards;
with nemo-gym 0.7.0, the command of the README ran, and `ruler score` read what it wrote.
"""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from ruler_common.names import TASKS
from ruler_eval.run.prompts import DIRECT
from ruler_score.ruler_score import score_row
from tests.eval.export.export_helpers import answer
from tests.eval.scoring_helpers import write_oneruler
from tests.in_process import ruler_output

FIELDS = {"responses_create_params", "outputs", "length", "subset"}
"""Those of the rows of NeMo Gym's server `ruler`."""


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gym") / "gym"
    ruler_output("export", built, "--format", "gym", "--to", folder, "--configs", "all_4k")
    return folder


def rows_of(folder, name):
    text = (folder / "data" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def server_of(folder, name, monkeypatch):
    """Import the server as NeMo Gym does; its class of requests, and a server."""

    class Request(BaseModel):
        responses_create_params: dict[str, Any]
        response: Any

    class Response(Request):
        reward: float

    interface = ModuleType("nemo_gym.base_resources_server")
    interface.BaseResourcesServerConfig = dict
    interface.BaseVerifyRequest, interface.BaseVerifyResponse = Request, Response
    interface.SimpleResourcesServer = object
    monkeypatch.setitem(sys.modules, "nemo_gym", ModuleType("nemo_gym"))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    names = runpy.run_path(str(folder / "resources_servers" / name / "app.py"))
    for kind in ("FrozenRowsRequest", "FrozenRowsResponse"):
        names[kind].model_rebuild(_types_namespace=names)
    return names["FrozenRowsRequest"], names["FrozenRowsServer"]()


def test_a_row_has_the_fields_of_nemo_gyms_own_server(exported, frozen):
    rows = rows_of(exported, "ruler_frozen_4k")
    assert len(rows) == 5 * len(TASKS["ruler"])
    columns = ("index", "input", "answer_prefix", "outputs", "length", "max_new_tokens", "task")
    frozen_rows = {
        (row["task"], row["index"]): row
        for task in TASKS["ruler"]
        for row in frozen.rows(f"{task}_4k", columns)
    }
    for row in rows:
        assert row.keys() >= FIELDS
        source = frozen_rows[row["subset"], row["index"]]
        assert (row["outputs"], row["length"]) == (source["outputs"], source["length"])
        asked = row["responses_create_params"]
        text = source["input"] + DIRECT + source["answer_prefix"]
        assert asked["input"] == [{"role": "user", "content": text}]
        assert asked["max_output_tokens"] == source["max_new_tokens"]
        assert asked["temperature"] == 0


def test_a_reward_is_the_score_of_the_answer(exported, monkeypatch):
    request, server = server_of(exported, "ruler_frozen", monkeypatch)
    rewards = set()
    for row in rows_of(exported, "ruler_frozen_4k"):
        text = answer(row)
        body = request(**row, response=SimpleNamespace(output_text=text))
        response = asyncio.run(server.verify(body))
        score = score_row(text, row["outputs"], row["subset"])
        assert (response.reward, response.strict) == (score.score, score.strict)
        rewards.add(response.reward)
    assert {0.0, 1.0} < rewards


def test_oneruler_is_rewarded_by_the_rules_of_the_language(tmp_path, monkeypatch):
    release = write_oneruler(tmp_path / "oneruler", ["pl"])
    ruler_output("export", release, "--format", "gym", "--to", tmp_path / "gym")
    request, server = server_of(tmp_path / "gym", "oneruler_frozen", monkeypatch)
    rows = []
    for file in sorted((tmp_path / "gym/data").glob("*_pl*.jsonl")):
        rows += rows_of(tmp_path / "gym", file.stem)
    (none, *_) = (row for row in rows if row["subset"] == "niah_none")
    for text, reward in (("brak", 1.0), ("none", 0.0), ("7", 0.0)):
        body = request(**none, response=SimpleNamespace(output_text=f"<answer>{text}</answer>"))
        assert asyncio.run(server.verify(body)).reward == reward
    assert DIRECT not in none["responses_create_params"]["input"][0]["content"]


def test_the_configuration_names_the_server_and_its_agent(exported):
    place = exported / "resources_servers/ruler_frozen"
    settings = yaml.safe_load((place / "configs/ruler_frozen.yaml").read_text())
    server = settings["ruler_frozen_resources_server"]["resources_servers"]["ruler_frozen"]
    assert (place / server["entrypoint"]).is_file()
    agent = settings["ruler_frozen_simple_agent"]["responses_api_agents"]["simple_agent"]
    assert agent["resources_server"]["name"] == "ruler_frozen_resources_server"
    files = [dataset["jsonl_fpath"] for dataset in agent["datasets"]]
    assert files == ["data/ruler_frozen_4k.jsonl"]
    assert (exported / files[0]).is_file()
    environment = settings["ruler_frozen_environment_server"]["environment_servers"]
    assert environment["legacy_agent"]["agent_server"]["name"] in settings
    readme = (exported / "README.md").read_text(encoding="utf-8")
    assert "configs/ruler_frozen.yaml --split validation" in readme
