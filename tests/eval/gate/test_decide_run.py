"""`ruler decide` with a model that runs: it stops by itself, resumes, and says that it stopped."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ruler_release
from ruler_common.errors import RulerError
from ruler_eval.gate import waves
from ruler_eval.gate.options import DecideOptions, options_of_model_b
from ruler_eval.run import records
from ruler_eval.run.backend import Completion
from ruler_eval.run.options import RunOptions
from ruler_eval.run.oracle import Oracle
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import Records
from ruler_eval.score.results import load
from tests import run_folder
from tests.eval.run import small_release
from tests.in_process import ruler, ruler_error, ruler_output

ROWS = 60


class Gone(Oracle):
    """A server that is gone."""

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        for prompt in prompts:
            yield Completion(prompt, error="no route")


class Damaged(Oracle):
    """An oracle that says nothing."""

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        for prompt in prompts:
            yield Completion(prompt, "")


class Failing(Oracle):
    """A server that fails at every fifth row."""

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        for answer in super().generate(prompts):
            failed = answer.prompt.index % 5 == 0
            yield Completion(answer.prompt, error="busy") if failed else answer


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scored run of an oracle on two tasks of sixty rows."""
    folder = tmp_path_factory.mktemp("decide")
    root = small_release.write(folder / "ruler", rows=ROWS, lines=6, only=("niah_single_1", "vt"))
    ruler_release.run(root, configs="all_4k", backend="oracle", out=folder / "base")
    ruler_release.score(folder / "base")
    return folder / "base"


@pytest.fixture
def damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ruler_eval.run.oracle.Oracle", Damaged)


def answered(run: Path) -> list[int]:
    configs = [record["config"] for record in Records(run).read()]
    return [configs.count(config) for config in ("niah_single_1_4k", "vt_4k")]


def options(out: Path) -> dict[str, Any]:
    return {"max_drop": 20, "backend": "oracle", "model": "b", "out": out}


def test_an_equally_good_model_stops_early_with_a_smaller_drop(base, tmp_path):
    decision = ruler_release.decide(base, **options(tmp_path / "b"))
    assert (decision["verdict"], decision["of"]) == ("smaller", ROWS)
    assert answered(tmp_path / "b") == [decision["rows"]] * 2
    assert decision["rows"] < ROWS
    results = load(tmp_path / "b")
    assert results["run"]["decision"] == json.loads(json.dumps(decision))
    assert results["run"]["decide"]["max_drop"] == 20


@pytest.mark.usefixtures("damaged")
def test_a_damaged_model_ends_with_code_1(base, tmp_path):
    arguments = ("--max-drop", 20, "--backend", "oracle", "--model", "b", "--out", tmp_path / "b")
    stdout, error, code = ruler("decide", base, *arguments, "--price", "1,2")
    assert code == 1, error
    output = " ".join(stdout.split())
    assert "is above 20 points (97.5 % confidence)" in output
    assert "Not run: " in output
    assert "at the price given" in output


@pytest.mark.usefixtures("damaged")
def test_killed_between_rows_it_comes_to_the_same_verdict(base, tmp_path, monkeypatch):
    whole = ruler_release.decide(base, **options(tmp_path / "whole"))
    write, writes = Records.write, iter(range(7))

    def killed(self: Records, record: Any) -> None:
        if next(writes, None) is None:
            raise KeyboardInterrupt
        write(self, record)

    with monkeypatch.context() as patched:
        patched.setattr(Records, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            ruler_release.decide(base, **options(tmp_path / "b"))
    assert sum(answered(tmp_path / "b")) == 7
    assert ruler_release.decide(base, **options(tmp_path / "b")) == whole
    assert ruler_release.decide(base, **options(tmp_path / "b")) == whole  # and does nothing more
    assert answered(tmp_path / "b") == [whole["rows"]] * 2
    assert ruler_release.decide(base, tmp_path / "b", max_drop=20) == whole


def test_a_server_that_is_gone_gives_no_verdict(base, tmp_path):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ruler_eval.run.oracle.Oracle", Gone)
        with pytest.raises(RulerError, match=r"Every row of a wave failed.*no route"):
            ruler_release.decide(base, **options(tmp_path / "b"))
        with pytest.raises(RulerError, match="--retry-failed"):
            ruler_release.decide(base, **options(tmp_path / "b"))
    decision = ruler_release.decide(base, **options(tmp_path / "b"), retry_failed=True)
    assert decision["verdict"] == "smaller"


def test_failed_rows_are_counted_with_the_verdict_and_left_out_of_a_second_one(
    base, tmp_path, monkeypatch
):
    """A fifth of the rows fails: the model looks 20 points weaker, and lost nothing."""
    monkeypatch.setattr("ruler_eval.run.oracle.Oracle", Failing)
    out, file = tmp_path / "b", tmp_path / "decision.json"
    arguments = ("--max-drop", 15, "--backend", "oracle", "--model", "b", "--out", out)
    stdout, _, code = ruler("decide", base, *arguments, "--json", file)
    results = json.loads(file.read_text())
    failed = results["b"]["unanswered"]
    assert (code, results["drop"] > 15) == (1, True)
    assert results["a"] == {"model": "oracle", "unanswered": 0, "truncated": 0}
    assert results["answered"] == {"unanswered": failed, "drop": 0.0, "verdict": "smaller"}
    output = " ".join(stdout.split())
    assert f"Rows of A: all answered. Rows of B: {failed} failed or missing." in output
    assert (
        f"Without the {failed} rows of either model the drop is 0.0 points, which is below"
        in output
    )
    stored = ruler_release.decide(base, out, max_drop=15)
    assert (stored["b"], stored["answered"]) == (results["b"], results["answered"])


def test_a_look_scores_the_new_rows_only(base, tmp_path, monkeypatch):
    """However many looks there are, no row is scored twice and no file read again."""
    scored: Counter[tuple[str, int]] = Counter()
    read: Counter[str] = Counter()
    score, read_records = waves.score_record, records.read_records

    def counted(record: Any, *rest: Any) -> Any:
        scored[record["config"], record["index"]] += 1
        return score(record, *rest)

    def counted_read(path: Path) -> Any:
        read[path.name] += 1
        return read_records(path)

    monkeypatch.setattr(waves, "score_record", counted)
    monkeypatch.setattr(records, "read_records", counted_read)
    short = ruler_release.decide(base, **{**options(tmp_path / "b"), "max_drop": 50})
    reads = {**read}
    scored.clear()
    read.clear()
    long = ruler_release.decide(base, **{**options(tmp_path / "c"), "max_drop": 8})
    assert len(long["looks"]) > 2 * len(short["looks"])
    assert {*scored.values()} == {1}
    assert read == reads


def test_rows_missing_from_a_named_run_are_run(base, tmp_path):
    """One command for a run that has none, some or all of its rows."""
    out = tmp_path / "b"
    arguments = ("--max-drop", 20, "--backend", "oracle", "--model", "b")
    ruler_output("decide", base, out, *arguments)
    rows = answered(out)
    vt = run_folder.answers(out, "vt_4k")
    run_folder.without(out, "vt_4k")
    run_folder.write_answers(out, [*run_folder.answers(out), *vt[:2]])
    assert "name --model and --backend to run it" in ruler_error(
        "decide", base, out, *arguments[:2]
    )
    _, error, code = ruler("decide", base, out, *arguments)
    assert (code, answered(out)) == (0, rows), error


def test_a_verdict_is_recomputed_when_failed_rows_are_run_again(base, tmp_path, monkeypatch):
    """As the summary of the run advises; failed rows were wrong until then."""
    root = load(base)["dataset"]["source"]
    until = {"configs": "all_4k", "backend": "oracle", "out": tmp_path / "c", "until": 5.0}
    with monkeypatch.context() as patched:
        patched.setattr("ruler_eval.run.oracle.Oracle", Failing)
        first = ruler_release.decide(base, **{**options(tmp_path / "b"), "max_drop": 60})
        assert first["drop"] > 0
        assert ruler_release.run(root, **until).total["error"]
    retry_options = {**options(tmp_path / "b"), "max_drop": 60, "retry_failed": True}
    decision = ruler_release.decide(base, **retry_options)
    assert (decision["verdict"], decision["drop"]) == ("smaller", 0)
    assert load(tmp_path / "b")["run"]["decision"] == json.loads(json.dumps(decision))
    assert not ruler_release.run(root, **until, retry_failed=True).total["error"]
    assert json.loads((tmp_path / "c/estimate.json").read_text())["score"] == 100


@pytest.mark.parametrize("other", ["rows", "rules"])
def test_a_base_that_cannot_be_compared_is_refused_before_any_row_is_run(base, tmp_path, other):
    results = json.loads((base / "results.json").read_text())
    if other == "rules":
        results["score_version"] = "0.9.0"
    (tmp_path / "results.json").write_text(json.dumps(results))
    shutil.copyfile(base / "rows.parquet", tmp_path / "rows.parquet")
    arguments = options(tmp_path / "b")
    tasks = {"rows": ROWS, "lines": 6, "only": ("niah_single_1", "vt")}
    root = small_release.write(tmp_path / "ruler", seed=int(other == "rows"), **tasks)
    match = "scored on different rows" if other == "rows" else r"score version 0\.9\.0, not"
    with pytest.raises(RulerError, match=match):
        ruler_release.decide(tmp_path / "results.json", **arguments, dataset=root)
    assert not [*(tmp_path / "b").glob("*.json*")]


def test_rows_that_the_limit_leaves_out_count_nowhere(base, tmp_path):
    """The base has them all the same: neither verdict nor score takes them for wrong ones of B."""
    decision = ruler_release.decide(base, **{**options(tmp_path / "b"), "max_drop": 0.5}, limit=20)
    low, high = decision["other_rows_interval"]
    assert (decision["verdict"], decision["rows"], decision["of"]) == ("smaller", 20, 20)
    assert low == pytest.approx(-high)
    results = load(tmp_path / "b")
    cells = [*results["configurations"].values()]
    assert {(c["score"], c["rows_requested"], c["rows_available"]) for c in cells} == {
        (100.0, 20, ROWS)
    }
    assert ruler_release.decide(base, tmp_path / "b", max_drop=0.5) == decision
    assert ruler_release.decide(tmp_path / "b", base, max_drop=0.5)["of"] == 20


def test_a_stopped_run_has_no_intervals_that_are_not_valid(base, tmp_path):
    """No verdict by task or length, no plain interval, no published score, no other limit."""
    run = tmp_path / "b"
    rows = ruler_release.decide(base, **options(run))["rows"]
    rescored = ruler_release.score(run)
    assert rescored["partial"]
    assert f"stopped this run after {rows} of {ROWS} rows" in rescored["notes"][0]
    assert {cell["interval"] for cell in rescored["configurations"].values()} == {None}
    assert '"interval": [' not in json.dumps(rescored["summary"])
    assert "missing" not in ruler_output("errors", run)  # the rows that it left out are no errors
    for arguments in ([], ["--max-drop", 20], ["--max-drop", 1]):
        error = ruler_error("compare", base, run, *arguments)
        assert "no interval of a comparison is valid" in error
    ruler_error("compare", base, run, base / "results.json")
    ruler_error("results", run, "--model", "o/m", "--dataset-repo", "o/r")
    with pytest.raises(
        RulerError,
        match=r"decide.max_drop = 20.0, not 5.0: .*: a margin is fixed before the first row",
    ):
        ruler_release.decide(base, **{**options(run), "max_drop": 5})
    with pytest.raises(RulerError, match="--max-drop 20 was fixed before"):
        ruler_release.decide(base, run, max_drop=5)


def test_another_number_of_rows_than_the_one_fixed_before_is_refused_before_a_row(base, tmp_path):
    run, root = tmp_path / "b", load(base)["dataset"]["source"]
    ruler_release.decide(base, **{**options(run), "max_drop": 0.5}, limit=20)
    until = {"configs": "all_4k", "backend": "oracle", "out": tmp_path / "c", "until": 5.0}
    ruler_release.run(root, **until, limit=20)
    for limit in (None, 40, 10):
        with pytest.raises(RulerError, match="was started with --limit 20, which cannot"):
            ruler_release.decide(base, **{**options(run), "max_drop": 0.5}, limit=limit)
        with pytest.raises(RulerError, match="was started with --limit 20, which cannot"):
            ruler_release.run(root, **until, limit=limit)
        assert answered(run) == answered(tmp_path / "c") == [20, 20]


def test_a_run_whose_rows_were_seen_before_a_limit_was_fixed_is_refused(base, tmp_path):
    root = load(base)["dataset"]["source"]
    ruler_release.run(
        root, configs="all_4k", backend="oracle", model="b", out=tmp_path / "b", limit=3
    )
    with pytest.raises(RulerError, match="started before decide was fixed"):
        ruler_release.decide(base, **options(tmp_path / "b"))


def test_a_run_that_another_rule_began_is_refused(base, tmp_path):
    run = tmp_path / "b"
    ruler_release.decide(base, **options(run))
    settings = json.loads((run / "run.json").read_text())
    settings["decide"]["rule"] = "bets 3"
    (run / "run.json").write_text(json.dumps(settings))
    with pytest.raises(RulerError, match="continue with the version that started it"):
        ruler_release.decide(base, **options(run))


def test_the_other_rows_of_a_stopped_run_can_be_run_and_compared(base, tmp_path):
    run, root = tmp_path / "b", load(base)["dataset"]["source"]
    ruler_release.decide(base, **options(run))
    ruler_release.run(root, configs="all_4k", backend="oracle", model="b", out=run)
    results = ruler_release.score(run)
    assert (results["partial"], results["notes"]) == (False, [])
    assert ruler_release.compare(base, run)["all"]["difference"] == 0


def test_a_dry_run_shows_the_rows_that_are_to_run_at_most(base, tmp_path):
    flags = ("--max-drop", 2, "-b", "oracle", "-o", tmp_path / "b")
    shown = ruler("decide", base, *flags, "--dry-run")
    assert (shown.code, "To do: " in shown.stdout) == (0, True)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("flags", "changed"),
    [
        ([], {}),
        (["--temperature", 0, "--seed", 0], {"temperature": 0.0, "seed": 0}),
        (["--thinking", "off", "--mode", "prefill"], {"thinking": "off", "mode": "prefill"}),
        (["--system", "B", "--omit", "seed"], {"system": "B", "omit": ("seed",)}),
        (["--price", "1,2", "--engine-arg", "a=1"], {"price": (1, 2), "engine_args": {"a": 1}}),
    ],
)
def test_model_b_runs_with_the_options_that_are_set_else_with_those_of_a(
    base, tmp_path, monkeypatch, flags, changed
):
    results = load(base)
    results["run"]["sampling"] = {"temperature": 0.6, "top_p": 0.9, "seed": 3}
    results["run"] |= {"thinking": {"on": True, "budget": 99, "limited": True}, "mode": "chat"}
    results["run"] |= {"direct": True, "system": "A"}
    of_model_b: list[RunOptions] = []

    def decide(options: DecideOptions, on_look: object) -> None:
        of_model_b.append(options_of_model_b(options, results))
        raise RulerError("stopped here")

    monkeypatch.setattr("ruler_eval.gate.decide.decide_run", decide)
    out = tmp_path / "b"
    ruler_error("decide", base, "--max-drop", 2, "-b", "openai", "-m", "b", "-o", out, *flags)
    with pytest.raises(RulerError, match="stopped here"):
        ruler_release.decide(
            base, max_drop=2, backend="openai", model="b", out=out, progress=True, **changed
        )
    expected: dict[str, Any] = {
        "dataset": results["dataset"]["source"],
        "configs": ("niah_single_1_4k", "vt_4k"),
        "backend": "openai",
        "model": "b",
        "out": out,
        **{"temperature": 0.6, "top_p": 0.9, "seed": 3, "thinking": "99", "mode": "chat"},
        **{"direct": True, "system": "A"},
    }
    run = RunOptions(**{**expected, **changed}, progress=True)
    assert of_model_b == [run, run]


def test_an_option_that_decide_does_not_have_is_refused(base, tmp_path):
    for name, value in {"until": 1, "shard": "1/2", "no_such_option": 1}.items():
        with pytest.raises(TypeError, match=name):
            ruler_release.decide(base, **options(tmp_path / "b"), **{name: value})


class Silent(Oracle):
    """A backend that leaves every row without an answer."""

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        for _ in prompts:
            pass
        yield from ()


def test_rows_that_stay_missing_give_no_verdict(base, tmp_path, monkeypatch):
    monkeypatch.setattr("ruler_eval.run.oracle.Oracle", Silent)
    with pytest.raises(RulerError, match=r"row \d+ of 'niah_single_1_4k' has no answer"):
        ruler_release.decide(base, **options(tmp_path / "b"))
    root = load(base)["dataset"]["source"]
    with pytest.raises(RulerError, match="has no answer"):
        ruler_release.run(root, configs="all_4k", backend="oracle", out=tmp_path / "c", until=5.0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"backend": "batch"}, "--backend batch only writes requests"),
        ({"backend": None}, "To run model B, add"),
        ({"max_drop": float("nan")}, "--max-drop takes a number, not nan"),
        ({"max_drop": -100}, "--max-drop -100 is not a number of points"),
    ],
)
def test_a_mistake_leaves_no_folder(base, tmp_path, changed, words):
    with pytest.raises(RulerError, match=words):
        ruler_release.decide(base, **{**options(tmp_path / "b"), **changed})
    assert not (tmp_path / "b").exists()


def test_a_base_with_a_custom_chat_template_requires_one_for_model_b(base, tmp_path):
    results = json.loads((base / "results.json").read_text(encoding="utf-8"))
    results["run"]["chat_template"] = {"name": "llama2.jinja", "sha256": "0" * 64}
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    shutil.copyfile(base / "rows.parquet", tmp_path / "rows.parquet")
    with pytest.raises(RulerError, match=r"--chat-template llama2\.jinja"):
        ruler_release.decide(tmp_path / "results.json", **options(tmp_path / "b"))
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("command", ["compare", "decide"])
def test_a_gate_does_not_compare_a_run_with_itself(command, base):
    """Otherwise a slip in a gate's command line would always pass."""
    for again in (base, base / "results.json", base.parent / "x" / ".." / base.name):
        error = ruler_error(command, base, again, "--max-drop", 2)
        assert "are the same run: name two runs." in " ".join(error.split())


def test_a_gate_does_not_take_the_base_itself_for_model_b(base):
    error = ruler_error("decide", base, "--max-drop", 2, "-b", "oracle", "-m", "b", "-o", base)
    assert "are the same run: name two runs." in " ".join(error.split())
