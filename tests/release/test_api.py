"""The Python API: each function on a real small release, its types, and its mistakes."""

from __future__ import annotations

import json
import os
import pydoc
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest

import ruler_release as ruler
from ruler_builder.release.build import Built
from ruler_eval.run.progress import RunSummary
from ruler_eval.score.results import load
from tests.conftest import Once
from tests.model_server import answer_from_prompt, model_server
from tests.project import PACKAGES
from tests.run_folder import answers, edit_answers

HEAVY = {"numpy", "pyarrow", "datasets", "click", "rich", "inspect_ai", "transformers", "pydantic"}
ROOT = Path(__file__).parents[2]
PLACES = (ROOT, ROOT / "builder", ROOT / "eval")
ROWS = {"lengths": "4k", "tasks": ("niah_single_1", "vt"), "sources": "embedded"}


@pytest.fixture(scope="module")
def out(once: Once) -> Path:
    """A release of two tasks at 4k, five rows each. Not to be changed."""
    return once("api/out", lambda root: ruler.build(root, rows=5, **ROWS))


@pytest.fixture(scope="module")
def run(out: Path, once: Once) -> Path:
    """What the oracle answers on it, scored. Not to be changed."""

    def make(folder: Path) -> None:
        ruler.run(out, configs=["vt_4k", "niah_single_1_4k"], backend="oracle", out=folder)
        ruler.score(folder)

    return once("api/oracle", make)


@pytest.fixture
def worse(run: Path, tmp_path: Path) -> Path:
    """The same run, its answers in vt but for one lost."""
    folder = tmp_path / "worse"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("results.json"))
    first = answers(run, "vt_4k")[0]["index"]

    def lose(line: dict[str, Any]) -> dict[str, Any]:
        is_lost = line["config"] == "vt_4k" and line["index"] != first
        return {**line, "prediction": "I do not know."} if is_lost else line

    edit_answers(folder, lose)
    return folder


def test_build_returns_what_is_new_and_says_nothing(tmp_path, capfd):
    first = ruler.build(tmp_path / "out", rows=1, **ROWS)
    assert isinstance(first, Built)
    assert repr(first) == f"Built(new={first.new}, left_out={{}})"
    assert first.new == ["data/tekken/4k/niah_single_1.parquet", "data/tekken/4k/vt.parquet"]
    assert ruler.build(str(tmp_path / "out"), rows=1, **ROWS).new == []
    assert ruler.verify(tmp_path / "out").ok
    assert len(ruler.load(tmp_path / "out", "vt_4k")) == 1
    ruler.run(tmp_path / "out", configs="vt_4k", backend="oracle", out=tmp_path / "run")
    ruler.score(tmp_path / "run")
    assert capfd.readouterr() == ("", "")


def test_load_takes_its_arguments_as_load_dataset_does(out):
    rows = ruler.load(out, "vt_4k")
    assert isinstance(rows, datasets.Dataset)
    assert rows[:] == datasets.load_dataset(str(out), "vt_4k", split="test")[:]
    assert ruler.load(str(out), "vt_4k", tokenizer="tekken", verify=False)["index"] == [*range(5)]


def test_bars_are_as_they_were_after_a_silent_load(out):
    for switch, disabled in (
        (datasets.enable_progress_bars, False),
        (datasets.disable_progress_bars, True),
    ):
        switch()
        ruler.load(out, "vt_4k")
        assert datasets.are_progress_bars_disabled() is disabled


def test_run_counts_how_every_row_ended(out, tmp_path):
    summary = ruler.run(out, configs="all", backend="oracle", out=str(tmp_path / "run"), limit=2)
    assert isinstance(summary, RunSummary)
    assert summary.total == {"stop": 4}
    assert repr(summary) == "RunSummary({'stop': 4}, missing=0)"
    second = ruler.run(out, configs=["all"], backend="oracle", out=tmp_path / "run")
    assert {name: states.total() for name, states in second.states.items()} == {
        "niah_single_1_4k": 5,
        "vt_4k": 5,
    }


def test_score_returns_what_it_writes(run, tmp_path):
    results = ruler.score([run], name="me", threshold=90, out=tmp_path / "mine.json")
    assert load(tmp_path / "mine.json") == results
    assert (results["model"], results["configurations"]["vt_4k"]["score"]) == ("me", 100.0)
    groups = results["summary"]["tekken"]["en"]
    assert groups["multi-hop tracing (VT)"]["average"]["score"] == 100.0
    assert groups["all"]["threshold"] == 90.0
    assert (run / "results.json").is_file()


def test_compare_takes_results_or_where_they_lie(run, worse):
    result = ruler.compare(run, ruler.score(worse), max_drop=5)
    assert result == ruler.compare(str(run / "results.json"), worse, max_drop=5.0)
    assert result["lengths"]["4k"]["difference"] == pytest.approx(40)
    assert result["configurations"]["niah_single_1_4k"]["difference"] == 0
    assert result["decision"]["drop"] == result["all"]["difference"]
    assert "decision" not in ruler.compare(run, worse)


def test_report_returns_the_page(run, worse, tmp_path):
    ruler.score(worse)
    page = ruler.report([run, worse], out=tmp_path / "page.html", names=["right", "wrong"])
    assert page == tmp_path / "page.html"
    assert "right" in page.read_text(encoding="utf-8")


def test_errors_returns_the_wrong_rows_by_kind(worse, tmp_path):
    wrong = ruler.errors(worse, out=tmp_path / "errors.jsonl")
    assert {(row["config"], row["kind"]) for row in wrong} == {("vt_4k", "refused")}
    lines = (tmp_path / "errors.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == wrong
    assert len(wrong) == 4


def test_export_writes_the_folder_of_another_tool(out, tmp_path):
    exported = ruler.export(out, format="kvpress", to=tmp_path / "kvpress", configs="vt_4k")
    assert (exported.configs, exported.rows) == (1, 5)
    assert len(datasets.load_dataset(str(tmp_path / "kvpress"), "4096", split="test")) == 5


def test_doctor_sends_rows_and_returns_a_verdict(out, tmp_path, capfd):
    with model_server(answer_from_prompt) as server:
        verdict = ruler.doctor(
            base_url=server.url,
            model="m",
            dataset=str(out),
            configs=("niah_single_1_4k",),
            rows=2,
            out=tmp_path / "doctor",
        )
    assert verdict is not None
    assert len(server.requests) > 2
    assert capfd.readouterr() == ("", "")


CALLS = ("build", "verify", "export", "run", "decide", "doctor", "score", "errors", "report")


@pytest.mark.parametrize("name", CALLS)
def test_help_shows_the_types_and_what_is_returned(name):
    text = pydoc.plain(pydoc.render_doc(getattr(ruler, name)))
    signature = text.splitlines()[2]
    assert signature.startswith(f"{name}(")
    assert "Annotated" not in text
    assert "Option(" not in text
    assert " -> " in signature
    assert not signature.endswith("-> None")


def test_names_may_be_separated_by_commas_as_in_a_flag(out, tmp_path):
    names = "vt_4k, niah_single_1_4k"
    run = ruler.run(out, configs=names, backend="oracle", out=tmp_path / "run", limit=1)
    assert sorted(run.states) == ["niah_single_1_4k", "vt_4k"]


def results_of(release, folder):
    """Return a run of two rows that is scored."""
    run = folder / "run"
    ruler.run(release, configs="vt_4k", backend="oracle", out=run, limit=2)
    ruler.score(run, partial=True, name="m")
    return run


def test_a_folder_and_names_may_be_texts_in_every_call(out, tmp_path):
    with pytest.raises(ruler.RulerError, match="'none' has no verdict"):
        ruler.report(results_of(out, tmp_path), out=tmp_path / "a.html", doctor="none")
    with pytest.raises(ruler.RulerError, match="9k"):
        ruler.doctor(base_url="http://127.0.0.1:1/v1", model="m", dataset=out, lengths="9k")


def test_a_wrong_name_of_an_argument_names_the_function_and_a_similar_one(out, tmp_path):
    with pytest.raises(TypeError) as error:
        ruler.run(out, config="vt_4k", backend="oracle", out=tmp_path)
    assert str(error.value) == "Unknown argument of run() 'config'. Did you mean 'configs'?"
    with pytest.raises(TypeError) as error:
        ruler.run(out, backend="oracle", out=tmp_path)
    assert str(error.value) == "run() missing a required argument: 'configs'"


def oracle(**arguments):
    return ruler.run(
        **{"dataset": "r", "configs": "a", "backend": "oracle", "out": "o"} | arguments
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: oracle(configs=5), "run() takes a text or a list of texts for 'configs', not 5"),
        (lambda: oracle(limit="3"), "an integer or None for 'limit', not '3' (str)."),
        (lambda: oracle(limit=True), "an integer or None for 'limit', not True (bool)."),
        (lambda: oracle(temperature="hot"), "a number or None for 'temperature', not 'hot'"),
        (lambda: oracle(backend=None), "run() takes a text for 'backend', not None"),
        (lambda: ruler.verify(None), "verify() takes a text or a path for 'root', not None"),
        (lambda: ruler.score(3), "a text, a path or a list of texts or paths for 'files', not 3"),
        (lambda: ruler.score("r", name=5), "score() takes a text or None for 'name', not 5 (int)."),
        (lambda: ruler.score("r", partial="no"), "takes True or False for 'partial', not 'no'"),
        (lambda: ruler.build("r", lengths=[4096]), "a list of texts for 'lengths', not [4096]"),
        (lambda: ruler.build("r", seed="a"), "build() takes an integer for 'seed', not 'a' (str)."),
        (lambda: ruler.decide("r", max_drop="5"), "takes a number for 'max_drop', not '5' (str)."),
        (lambda: ruler.compare(3, "r"), "compare() takes a text, a path or a dict for 'a', not 3"),
        (lambda: ruler.compare("r", "r", max_drop="2"), "a number or None for 'max_drop', not '2'"),
        (lambda: ruler.load("r", 5), "load() takes a text for 'config', not 5 (int)."),
        (lambda: ruler.tokens_by_tokenizer("r", 5), "a list of texts for 'tokenizers', not 5"),
        (lambda: ruler.tokens_by_tokenizer("r", "a", limit="2"), "an integer for 'limit', not '2'"),
    ],
)
def test_a_value_of_a_wrong_type_names_the_argument_and_what_it_takes(call, message):
    with pytest.raises(TypeError) as error:
        call()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda out: ruler.build(out, rows=6, **ROWS), "ask for --rows 5"),
        (lambda out: ruler.load(out, "vt_8k"), "vt_8k"),
        (lambda out: ruler.load(out, "vt_4k", revision="v1"), "is a folder"),
        (lambda out: ruler.run(out, configs="vt_4k", backend="hf", out=out / "x"), "--model"),
        (
            lambda out: ruler.run(
                out,
                configs="vt_4k",
                backend="openai",
                model="m",
                out=out / "x",
                engine_args={"api_key": "sk-1"},
            ),
            "looks like a secret",
        ),
        (lambda out: ruler.score(out, threshold="high"), "not chat, base or a score"),
        (lambda out: ruler.compare(out, out), "results.json"),
        (lambda out: ruler.compare({}, out), "'a' is not what `score` returns"),
        (lambda out: ruler.report([]), "There is nothing to show: name scored RUN folders"),
    ],
)
def test_a_mistake_is_a_ruler_error_that_says_what_to_do(out, call, message):
    with pytest.raises(ruler.RulerError, match=message):
        call(out)


def test_importing_it_is_light():
    code = f"import sys, ruler_release; print(*({HEAVY} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "\n"


@pytest.mark.nightly
def test_a_user_who_checks_types_sees_them(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import ruler_release as ruler\n"
        "built: str = ruler.build('out', lengths='4k')\n"
        "rows: int = ruler.verify('out').files\n"
        "score: str = ruler.score('runs/a')['configurations']['vt_4k']['score']\n"
        "ruler.run('out', configs=4)\n"
        "ruler.run('out', configs='vt_4k', backend='hf', out='x', model='m', engine_args=3)\n"
        "pairs: int = ruler.errors('runs/a')[0]['kind'], ruler.export('out', format='nemo')\n"
        "ruler.doctor(base_url='http://a/v1', models='m')\n"
    )
    ours = ",".join(f"{name}.*" for name in PACKAGES)
    config = f"[mypy]\nfollow_imports = skip\n[mypy-{ours}]\nfollow_imports = normal\n"
    (tmp_path / "mypy.ini").write_text(config)  # other packages' types take most of the time
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "mine.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PLACES))},
        capture_output=True,
        text=True,
    )
    result = {line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line}
    assert result == {"2", "3", "4", "5", "6", "7", "8"}, done.stdout
