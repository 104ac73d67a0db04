"""An examination: its waves, its folder, going on where it stopped, what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_eval.doctor.asking import Asker
from ruler_eval.doctor.examine import Examination, in_waves, read_verdict
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.frozen_release import Release
from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.prompts import Prompt
from tests.eval.doctor.sick_engine import SickBackend, SickEngine, WordPrompter, write_release
from tests.in_process import ruler

ROWS = 60
CONFIG = "niah_single_1_4k"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("examine") / "ruler", rows=ROWS)


@pytest.fixture(scope="module")
def values(root: Path) -> dict[int, str]:
    rows = Release.open(str(root)).rows(CONFIG, ("index", "outputs"))
    return {row["index"]: row["outputs"][0] for row in rows}


class Counting(SickBackend):
    """Counts its prompts, and breaks off after `most` of them."""

    def __init__(self, engine: SickEngine, most: int | None = None) -> None:
        super().__init__(engine)
        self.asked: list[Prompt] = []
        self.most = most

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        batch = list(prompts)
        self.asked += batch
        if self.most is not None and len(self.asked) > self.most:
            raise RulerError("The server is gone.")
        yield from super().generate(iter(batch))


def examination(
    root: Path, out: Path, backend: SickBackend, level: str = "usual", rows: int = ROWS
) -> Examination:
    asker = Asker(backend, WordPrompter("completion"), "salt", salt_field=True)
    asker.unchecked = {"text": "not asked here", "template": "not asked here"}
    options = DoctorOptions(
        dataset=str(root), out=out, model="m", base_url="-", level=level, rows=rows
    )
    return Examination(options, asker)


def test_waves_are_equal_and_no_larger_than_the_load() -> None:
    keys = [("c", index) for index in range(200)]
    waves = in_waves(keys, 32)
    assert [key for wave in waves for key in wave] == keys
    assert {len(wave) for wave in waves} == {28, 29}
    assert [len(wave) for wave in in_waves(keys[:20], 32)] == [10, 10]


def test_what_is_asked_is_shown_before_it_is(
    root: Path, values: dict[int, str], tmp_path: Path
) -> None:
    backend = Counting(SickEngine(values))
    found = examination(root, tmp_path / "out", backend)
    (first, cost) = found.plan.lines((1.0, 2.0))
    assert backend.asked == []
    found.run()
    assert len(backend.asked) == found.plan.requests
    assert f"{found.plan.requests:,} requests for 60 rows" in first
    assert cost.startswith("Cost: ")


def test_it_goes_on_where_it_stopped(root: Path, values: dict[int, str], tmp_path: Path) -> None:
    out, engine = tmp_path / "out", SickEngine(values)
    broken = examination(root, out, Counting(engine, most=300))
    with pytest.raises(RulerError, match="gone"):
        broken.run()
    backend = Counting(engine)
    verdict = examination(root, out, backend).run()
    whole = Counting(SickEngine(values))
    other = examination(root, tmp_path / "whole", whole).run()
    assert len(whole.asked) <= len(backend.asked) + 300 <= len(whole.asked) + 60
    assert [finding.rows for finding in verdict.findings] == [
        finding.rows for finding in other.findings
    ]
    again = Counting(engine)
    assert examination(root, out, again).run().headline == verdict.headline
    assert again.asked == []


class WithMetrics(Counting):
    """Reports the hits of its prefix cache, as vLLM's /metrics do."""

    hits = 0

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        for completion in super().generate(prompts):
            self.hits += completion.cached_tokens or 0
            yield completion

    def metrics(self) -> str:
        return f"vllm:prefix_cache_hits_total {self.hits}\n"


def test_cache_hits_of_an_earlier_session_count(
    root: Path, values: dict[int, str], tmp_path: Path
) -> None:
    """The same command again asks nothing, and its /metrics count nothing."""
    out, engine = tmp_path / "out", SickEngine(values, seed=1, skill=0.9)
    states = []
    for _ in range(2):
        verdict = examination(root, out, WithMetrics(engine)).run()
        states += [finding.state for finding in verdict.findings if finding.name == "cache"]
    assert states == ["same", "same"]


def test_its_sides_are_run_folders(root: Path, values: dict[int, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    examination(root, out, SickBackend(SickEngine(values, fault="cache", loss=0.5))).run()
    for side in ("cold", "cached"):
        scored = ruler("score", out / side, "--dataset", root, "--partial")
        assert scored.code == 0, scored
    compared = ruler("compare", out / "cold", out / "cached")
    assert compared.code == 0, compared
    found = read_verdict(out)
    assert found is not None
    assert found["outcome"] == "engine"
    assert {"name", "title", "state", "sentence", "docs"} <= found["conditions"][0].keys()
    assert read_verdict(tmp_path) is None


def test_quick_asks_fewer_conditions(root: Path, values: dict[int, str], tmp_path: Path) -> None:
    found = examination(root, tmp_path / "out", SickBackend(SickEngine(values)), "quick", 32)
    names = {side.name for side in found.plan.sides}
    assert names == {"cold", "cached", "repeat_3", "repeat_4", "repeat_5", "loaded"}
    assert found.run().outcome == "sound"


def test_another_examination_in_the_same_folder_is_refused(
    root: Path, values: dict[int, str], tmp_path: Path
) -> None:
    out, engine = tmp_path / "out", SickEngine(values)
    examination(root, out, SickBackend(engine), rows=20).run()
    with pytest.raises(RulerError, match="row_count = 20, not 40: name a new --out"):
        examination(root, out, SickBackend(engine), rows=40)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "Name the server"),
        (("--base-url", "http://localhost:1/v1"), "Name the model"),
        (("--base-url", "http://localhost:1", "-m", "m", "--quick", "--thorough"), "not both"),
        (("--base-url", "http://localhost:1/v1", "--model", "m", "--rows", "0"), "--rows takes"),
        (("--backend", "hf", "--model", "m"), "Known: openai, vllm"),
    ],
)
def test_a_wrong_command_is_one_sentence(
    flags: tuple[str, ...], words: str, root: Path, tmp_path: Path
) -> None:
    found = ruler("doctor", "--dataset", root, "--out", tmp_path / "out", *flags)
    assert found.code == 2
    assert words in found.stderr
    assert not (tmp_path / "out").exists()
