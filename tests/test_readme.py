"""The commands of README.md, docs/ and the notebook work as written."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import documents
from tests.conftest import Once
from tests.documents import blocks, run_bash, sections
from tests.model_server import answer_from_prompt, model_server
from tests.project import ROOT

FIRST_LOOK = "examples/first_look.ipynb"


@pytest.fixture(scope="session")
def started(once: Once) -> Path:
    """Run the quick start in a folder, once. Tests must not change it."""

    def make(folder: Path) -> None:
        (quickstart,) = blocks("README.md", "Quick start", "bash")
        assert quickstart.count("\n") == 1
        folder.mkdir()
        run_bash(quickstart.split("&&")[1], folder)  # the first half installs the project

    return once("readme", make)


@pytest.fixture
def folder(started: Path, tmp_path: Path) -> Path:
    """Make a folder with the quick start's release as `ruler`."""
    (tmp_path / "ruler").symlink_to(started / "ruler-quickstart")
    return tmp_path


def test_the_readme_is_short_and_shows_one_picture():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) < 700
    assert text.count("![") == 1


@pytest.mark.parametrize(
    ("page", "heading"), [("README.md", "Load the data"), ("docs/python.md", "Load")]
)
def test_the_quick_starts_release_loads_as_written(page, heading, folder, monkeypatch):
    (load,) = blocks(page, heading, "python")
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(load, names)
    assert len(names["rows"]) == 15


def test_the_calls_from_python_work_as_written(tmp_path, monkeypatch, capfd):
    (calls,) = blocks("docs/python.md", "The commands as calls", "python")
    assert len(calls.strip().splitlines()) <= 7
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(calls, names)
    assert capfd.readouterr().out == ""
    assert len(names["rows"]) == 15
    assert names["results"]["configurations"]["niah_multikey_1_4k"]["n"] == 5
    assert (tmp_path / "mine.html").is_file()


def test_the_notebook_gives_its_outputs_from_the_first_cell_to_the_page(
    tmp_path, monkeypatch, capsys
):
    """The cells run in this process: they use nothing that only a notebook kernel has."""
    text = (ROOT / FIRST_LOOK).read_text(encoding="utf-8")
    assert len(text) < 20_000
    notebook = json.loads(text)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            shown = run_cell("".join(cell["source"]), names) or capsys.readouterr().out
            assert without_spaces(shown) == without_spaces(stored_output(cell))
    assert names["row"]["outputs"][0] in names["row"]["input"]
    assert (tmp_path / "first_look.html").is_file()


def run_cell(source: str, names: dict[str, Any]) -> str:
    """Run a cell; the text of its last expression, or "" if that is None."""
    *statements, last = ast.parse(source).body
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module([last], []), "cell", "exec"), names)
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return "" if value is None else repr(value)


def stored_output(cell: Mapping[str, Any]) -> str:
    """The output of a cell in the notebook, as text."""
    parts = []
    for output in cell["outputs"]:
        parts.append(output["text"] if "text" in output else output["data"]["text/plain"])
    return "".join(line for part in parts for line in part)


def without_spaces(text: str) -> str:
    """A text without white space, by which a notebook wraps lines."""
    return "".join(text.split())


def test_the_commands_that_build_work_as_written(tmp_path):
    (build,) = blocks("docs/build.md", "Commands", "bash")
    output = documents.run(build.replace("--rows 5", "--rows 2"), tmp_path)
    assert "Nothing is wrong: 26 files, 52 rows." in output
    assert (tmp_path / "multi/manifest.json").is_file()


SMALLER = (
    ("--lengths 4k,32k", "--lengths 4k,8k --rows 2 --workers 1"),
    ("all_32k", "all_8k"),
    ("--lengths 8k,32k", "--lengths 8k,16k --rows 1 --workers 1"),
    ("all_8k_pl,all_8k_pl", "all_8k_pl,all_16k_pl"),
    ("--backend vllm", "--backend oracle"),  # tests/vllm has a real one
    ('--backend openai --base-url "$URL"', "--backend oracle"),
)


def test_the_recipes_of_the_readme_work_one_after_the_other_in_one_folder(
    tmp_path, mirror, monkeypatch
):
    """With fewer rows, and with the oracle instead of models."""
    monkeypatch.chdir(tmp_path)
    output = {}
    for heading, text in sections("README.md").items():
        for language, block in re.findall(r"```(bash|python)\n(.*?)```", text, re.DOTALL):
            if language == "python":
                exec(block, {})
            elif heading != "Tests":
                block = block.replace("pip install -e . && ", "").replace("\\\n", " ")
                for old, new in SMALLER:
                    block = re.sub(r"\s+".join(map(re.escape, old.split())), new, block)
                output[heading] = documents.run(block, tmp_path, MODEL="m", QUANTISED="q")
    table = output["A RULER table for your model on a GPU"]
    assert "100.0" in table
    assert "Not comparable with published models" in table or "Beside published models" in table
    assert {path.name for path in (tmp_path / "runs/mine").iterdir()} >= {
        "report.html",
        "results.json",
        "run.json",
    }
    gate = " ".join(output["A gate in CI for a quantised model"].split())
    assert "below 2 points" in gate
    assert output["Is it the model or the engine?"]
    assert (tmp_path / "runs/polish/results.json").is_file()
    assert (tmp_path / "runs/quickstart.html").is_file()


def test_the_oracle_and_the_exports_work_as_written(folder):
    documents.run(*blocks("docs/run.md", "Without a model", "bash"), folder)
    documents.run(*blocks("docs/other_tools.md", "Exports", "bash"), folder)
    paths = {path.name for path in folder.iterdir()}
    assert {"runs", "tasks", "results", "kvpress", "light", "nemo", "gym"} <= paths


@pytest.mark.nightly
def test_inspect_evaluates_as_written(folder):
    from inspect_ai.log import read_eval_log

    (inspect,) = blocks("docs/other_tools.md", "Inspect", "bash")
    inspect = inspect.replace("all_4k", "vt_4k")
    with model_server(answer_from_prompt) as server:  # tests/vllm uses the real vLLM
        environment = os.environ | {"MODEL": "m", "VLLM_BASE_URL": server.url}
        output = run_bash(inspect, folder, environment)
    assert "vllm/m · ruler · custom rows: embedded texts" in output
    (log_file,) = (folder / "logs").glob("*.eval")
    log = read_eval_log(log_file, header_only=True)
    assert log.status == "success"
    assert log.eval.task == "ruler_release/ruler"


def test_the_commands_for_fresh_rows_compare_two_seeds(tmp_path):
    (tmp_path / "ruler").mkdir()
    small = "--lengths 4k --rows 2 --tasks vt,fwe --workers 1 --sources embedded"
    text = (ROOT / "docs/fresh_rows.md").read_text(encoding="utf-8")
    block = "\n".join(re.findall(r"^ +(ruler .*)$", text, re.MULTILINE))
    block = block.replace("--lengths 4k,32k", small)
    block = block.replace(" …\n", " --backend oracle --skip-missing\n")
    message = documents.run(f"ruler build ruler {small}\n{block}", tmp_path, SEED=7)
    assert "Seed 0 minus seed 7: 0.0 [" in message  # the oracle has not seen any rows
    assert "], 2 configurations." in " ".join(message.split())


def test_the_test_command_is_one_line_that_runs_pytest():
    (tests,) = blocks("README.md", "Tests", "bash")
    assert tests == "pip install -e '.[test]' && pytest\n"


def test_the_example_page_is_the_one_that_a_report_makes_now(tmp_path):
    """If it fails, run `python docs/draw_example.py`."""
    from docs.draw_example import PAGE, write_page

    write_page(tmp_path / "example.html")
    assert page_data(PAGE) == page_data(tmp_path / "example.html")


def page_data(page: Path) -> Any:
    """Return the data that a page is drawn from.

    The last digits of a number depend on the processor: NumPy adds in another order on each kind.
    """
    (data,) = re.findall(r'id="page-data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    return json.loads(data, parse_float=lambda digits: round(float(digits), 9))
