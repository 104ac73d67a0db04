"""Exported rows in lm-eval and Inspect with a tiny model, if these are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_eval.export import export_release
from ruler_eval.run.prompts import Prompter
from ruler_score.ruler_score import score_row
from tests.eval.run.run_options import model_options

pytest.importorskip("torch", reason="the hf extra is not installed")
pytestmark = pytest.mark.hf


@pytest.mark.parametrize("mode", ["prefill", pytest.param("completion", marks=pytest.mark.nightly)])
def test_lm_eval_sends_the_prompts_of_ruler_run(mode, small, tiny, tiny_tokenizer, tmp_path):
    lm_eval = pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    pytest.importorskip("accelerate", reason="lm-evaluation-harness's hf model needs accelerate")
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    import ruler_dataset

    export_release.export(str(small), "lm-eval", tmp_path / "tasks")
    report = lm_eval.simple_evaluate(
        model=HFLM(pretrained=str(tiny), device="cpu", max_length=8192),
        tasks=["ruler_frozen_vt_4k", "ruler_frozen_qa_1_4k"],
        task_manager=TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False),
        apply_chat_template=mode == "prefill",
        limit=2,
        bootstrap_iters=0,
    )
    prompter = Prompter(mode, tiny_tokenizer)
    for config in ("vt_4k", "qa_1_4k"):
        rows = ruler_dataset.load(small, config)
        samples = report["samples"][f"ruler_frozen_{config}"]
        assert [sample["doc_id"] for sample in samples] == [0, 1]
        for row, sample in zip(rows, samples, strict=False):
            assert sample["arguments"][0][0] == prompter(config, row).text
            answer = sample["filtered_resps"][0]
            assert answer
            assert sample["score"] == score_row(answer, row["outputs"], row["task"]).score


@pytest.mark.parametrize("mode", ["chat", pytest.param("completion", marks=pytest.mark.nightly)])
def test_inspect_sends_the_prompts_of_ruler_run(mode, small, tiny, tmp_path):
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
    pytest.importorskip("accelerate", reason="inspect's hf model needs accelerate")
    from ruler_eval.frozen_release import Release
    from ruler_eval.run.records import read_records
    from ruler_eval.run.runner import run
    from ruler_eval.score.inspect_log import predictions
    from ruler_release.inspect_tasks import ruler

    options = model_options(
        str(tiny),
        "hf",
        engine_args={"dtype": "float32"},
        dataset=small,
        configs=("vt_4k", "qa_1_4k"),
        out=tmp_path / "run",
        mode=mode,
    )
    run(options)
    records = [r for path in (tmp_path / "run").glob("*.jsonl") for r in read_records(path)]
    release = Release.open(str(small))
    first = {config: release.order(config)[:2] for config in options.configs}  # what a limit takes
    wanted = {
        (r["config"], r["index"]): r["prediction"]
        for r in records
        if r["index"] in first[r["config"]]
    }

    raw = {"chat_template": "{{ messages[0].content }}"}
    whole = {"tokenizer_call_args": {"add_special_tokens": False}}  # its template writes the BOS
    (log,) = inspect_ai.eval(
        ruler(str(small), "vt_4k,qa_1_4k", mode=mode, limit=2),
        model=f"hf/{tiny}",
        model_args={"do_sample": False, **(raw if mode == "completion" else whole)},
        max_connections=1,  # a batch of one: its padding may move the last bits of a score
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    assert log.status == "success", log.error
    read = predictions(Path(log.location))  # its hf provider keeps a character's truncated part
    assert {(row.config, row.index): row.text.rstrip("\ufffd") for row in read} == wanted
    scores = {s.id: s.scores["ruler_scorer"].value for s in log.samples}
    results = scored(tmp_path / "logs", small)
    assert {f"{key[0]}-{key[1]}": score for key, score in results.items()} == scores


def scored(logs: Path, release: Path) -> dict[tuple[str, int], float]:
    """The rows' scores as `ruler score` has them."""
    from ruler_eval.score import scoring
    from ruler_eval.score.options import PredictionOptions
    from ruler_eval.score.predictions import open_predictions
    from ruler_eval.score.rows import ScoringRules

    result, rows = open_predictions(PredictionOptions(logs, dataset=str(release)))
    results = scoring.score(result, rows, ScoringRules(partial=True)).results
    table = results["rows"]
    places = zip(table["config"], table["index"], strict=True)
    return dict(zip(places, table["score"], strict=True))
