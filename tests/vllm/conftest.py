"""The real vLLM on a CPU: run in its own environment, see setup.sh."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.eval.run.run_options import model_options
from tests.vllm.serving import served

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # a tiny model: threads would only wait
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # a waiting thread leaves the core to others
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # the engine is its own worker:
# a process less, each of which imports vLLM for 20 s of CPU
os.environ.setdefault("HF_HUB_OFFLINE", "1")
SERVER_FILES = {"test_vllm_batch", "test_vllm_doctor", "test_vllm_inspect", "test_vllm_server"}
ENGINE = {"enforce_eager": True, "dtype": "float32", "max_num_seqs": 2}


class ByServer(LoadScopeScheduling):
    """Gives each worker whole files, and all files that use the shared server to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        name = Path(nodeid.partition("::")[0]).stem
        return "server" if name in SERVER_FILES else name


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServer:
    return ByServer(config, log)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.eval.run import tiny_model

    return tiny_model.make(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.eval.run import small_release

    return small_release.write(tmp_path_factory.mktemp("small") / "ruler", rows=3, lines=20)


@pytest.fixture(scope="session", autouse=True)
def transformers_answers(
    small: Path, tiny: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What transformers answers in each mode."""
    from ruler_eval.run.records import read_records
    from ruler_eval.run.runner import run

    result = {}
    for mode in ("completion", "prefill", "chat"):
        out = tmp_path_factory.mktemp(mode)
        run(
            model_options(
                str(tiny),
                "hf",
                engine_args={"dtype": "float32"},
                dataset=small,
                configs="some_4k",
                out=out,
                mode=mode,
            )
        )
        records = [r for path in sorted(out.glob("*.jsonl")) for r in read_records(path)]
        result[mode] = {(r["config"], r["index"]): r["prediction"] for r in records}
    return result


@pytest.fixture(scope="module")
def kept() -> Iterator[Callable[[str, Any], Any]]:
    """Start backends, but keep a model or server for the next run with the same options.

    One of each backend at a time.
    """
    from ruler_eval.run import runner

    start = runner.start_backend
    backends: dict[str, tuple[Any, Any, Callable[[], None]]] = {}

    def once(options: Any, release: Any, files: Any = None) -> Any:
        if options.backend not in ("hf", "vllm"):
            return start(options, release, files)
        longest = None
        if "max_model_len" not in options.engine_args:
            longest = max((file["max_length"] for file in (files or {}).values()), default=None)
        asked = options_of_the_model(options), longest
        if options.backend in backends:
            kept_for, backend, close = backends[options.backend]
            if kept_for == asked and not (options.backend == "vllm" and has_died(backend)):
                return backend
            del backends[options.backend]
            close()
        backend = start(options, release, files)
        backends[options.backend] = asked, backend, backend.close
        backend.close = lambda: None
        return backend

    runner.start_backend = once
    yield once
    runner.start_backend = start
    for _, _, close in backends.values():
        close()


def has_died(backend: Any) -> bool:
    return bool(backend._process.has_ended())


def options_of_the_model(options: Any) -> Any:
    """The options without those that say which rows are run, and where they are written."""
    rows = {"dataset": "-", "configs": ("-",), "limit": None, "skip_missing": False}
    return replace(options, out="-", mode=None, retry_failed=False, progress=False, **rows)


@pytest.fixture
def order(small: Path, tiny: Path, tmp_path: Path) -> Any:
    """The options of a run that starts vLLM: 2 configurations, 6 rows."""
    out = tmp_path / "RUN"
    return model_options(
        str(tiny), "vllm", engine_args=ENGINE, dataset=small, configs="some_4k", out=out
    )


@pytest.fixture(scope="session")
def server(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A vLLM server of the tiny model with a window of 2,048 tokens; its base URL."""
    flags = ["--dtype", "float32", "--max-num-seqs", "4", "--max-model-len", "2048"]
    yield from served(tiny, "tiny", tmp_path_factory.mktemp("server"), flags)
