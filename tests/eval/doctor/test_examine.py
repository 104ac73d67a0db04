"""An examination: its waves, its folder, how it resumes, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.doctor.examine import Examination, read_verdict
from ruler_eval.doctor.options import DoctorOptions
from ruler_eval.doctor.sending import Sender
from ruler_eval.doctor.verdict import Verdict
from ruler_eval.frozen_release import Release
from ruler_eval.run.backend import Completion
from ruler_eval.run.prompts import Prompt
from tests.eval.doctor.faulty_engine import FaultyBackend, FaultyEngine, WordPrompter, write_release
from tests.in_process import ruler

ROWS = 60
CONFIG = "niah_single_1_4k"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("examine") / "ruler", rows=ROWS)


@pytest.fixture(scope="module")
def two_lengths(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("two") / "ruler", rows=20, lengths=("4k", "8k"))


@pytest.fixture(scope="module")
def values(root: Path) -> dict[int, str]:
    rows = Release.open(str(root)).rows(CONFIG, ("index", "outputs"))
    return {row["index"]: row["outputs"][0] for row in rows}


class Counting(FaultyBackend):
    """Counts its prompts, and breaks off after `most` of them."""

    def __init__(self, engine: FaultyEngine, most: int | None = None) -> None:
        super().__init__(engine)
        self.asked: list[Prompt] = []
        self.batches: list[int] = []
        self.most = most

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        batch = list(prompts)
        self.asked += batch
        self.batches.append(len(batch))
        if self.most is not None and len(self.asked) > self.most:
            raise RulerError("The server is gone.")
        yield from super().generate(iter(batch))


def examination(
    root: Path,
    out: Path,
    backend: FaultyBackend,
    salt_field: bool = True,
    rows: int = ROWS,
    model: str = "m",
    **options: Any,
) -> Examination:
    sender = Sender(backend, WordPrompter("completion"), "salt", salt_field=salt_field)
    sender.unchecked = {"text": "not asked here", "template": "not asked here"}
    asked = DoctorOptions(
        dataset=str(root), out=out, model=model, base_url="-", rows=rows, **options
    )
    return Examination(asked, sender)


def test_the_plan_is_shown_before_the_first_request(root, values, tmp_path):
    backend = Counting(FaultyEngine(values))
    examined = examination(root, tmp_path / "out", backend)
    (first, cost) = examined.plan.lines((1.0, 2.0))
    assert backend.asked == []
    examined.run()
    assert len(backend.asked) == examined.plan.requests
    assert f"{examined.plan.requests:,} requests for 60 rows" in first
    assert cost.startswith("Cost: ")


def test_an_interrupted_examination_resumes(root, values, tmp_path):
    out, engine = tmp_path / "out", FaultyEngine(values)
    broken = examination(root, out, Counting(engine, most=300))
    with pytest.raises(RulerError, match="gone"):
        broken.run()
    backend = Counting(engine)
    verdict = examination(root, out, backend).run()
    whole = Counting(FaultyEngine(values))
    whole_verdict = examination(root, tmp_path / "whole", whole).run()
    assert len(whole.asked) <= len(backend.asked) + 300 <= len(whole.asked) + 60
    assert [finding.rows for finding in verdict.findings] == [
        finding.rows for finding in whole_verdict.findings
    ]
    third = Counting(engine)
    assert examination(root, out, third).run().headline == verdict.headline
    assert third.asked == []


def test_a_second_bos_is_named_again_if_the_examination_is_repeated(root, values, tmp_path):
    """The second examination reads all answers from the folder and sends nothing."""

    def run() -> Verdict:
        backend = FaultyBackend(FaultyEngine(values, fault="bos"))
        sender = Sender(backend, WordPrompter("completion"), "salt", salt_field=True)
        sender.unchecked = {"template": "not asked here"}
        options = DoctorOptions(dataset=str(root), out=tmp_path, model="m", base_url="-", rows=ROWS)
        return Examination(options, sender).run()

    first = run()
    assert "a second BOS" in first.headline
    assert run().headline == first.headline


class WithMetrics(Counting):
    """Reports the hits of its prefix cache, as vLLM's /metrics do."""

    hits = 0

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        for completion in super().generate(prompts):
            self.hits += completion.cached_tokens or 0
            yield completion

    def metrics(self) -> str:
        return f"vllm:prefix_cache_hits_total {self.hits}\n"


def test_each_side_is_a_run_folder(root, values, tmp_path):
    out = tmp_path / "out"
    examination(root, out, FaultyBackend(FaultyEngine(values, fault="cache", loss=0.5))).run()
    for side in ("cold", "cached"):
        scored = ruler("score", out / side, "--dataset", root, "--partial")
        assert scored.code == 0, scored
    compared = ruler("compare", out / "cold", out / "cached")
    assert compared.code == 0, compared
    verdict = read_verdict(out)
    assert verdict is not None
    assert verdict["outcome"] == "engine"
    assert {"name", "title", "state", "sentence", "docs"} <= verdict["conditions"][0].keys()
    assert read_verdict(tmp_path) is None


def test_quick_tests_fewer_conditions(root, values, tmp_path):
    examined = examination(
        root, tmp_path / "out", FaultyBackend(FaultyEngine(values)), level="quick", rows=32
    )
    names = {side.name for side in examined.plan.sides}
    assert names == {"cold", "cached", "repeat_3", "repeat_4", "repeat_5", "loaded"}
    assert examined.run().outcome == "sound"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"rows": 20}, {"rows": 40}, "rows = 20, not 40:"),
        ({}, {"level": "quick"}, 'level = "usual", not "quick":'),
        ({"tokenizer": "gpt2"}, {}, 'tokenizer = "gpt2", not none:'),
        ({"load": 8}, {}, "load = 8, not 32:"),
        ({}, {"model": "other"}, 'model = "m", not "other":'),
        ({}, {"salt_field": False}, "accepts_cache_salt = true, not false:"),
        ({}, {"configs": ("niah_single_1_8k",)}, "rows_sha256.niah_single_1_4k = "),
    ],
)
def test_another_examination_in_the_same_folder_is_refused(
    before, after, words, two_lengths, values, tmp_path
):
    first = {"rows": 16, "configs": (CONFIG,)}
    backend = FaultyBackend(FaultyEngine(values))
    examination(two_lengths, tmp_path / "out", backend, **(first | before)).run()
    with pytest.raises(RulerError) as error:
        examination(two_lengths, tmp_path / "out", backend, **(first | after))
    assert words in str(error.value)
    assert "name a new --out" in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1, "salt": "s", "settings": 5}', '{"format": 9}']
)
def test_a_damaged_doctor_json_is_one_sentence(text, root, values, tmp_path):
    (tmp_path / "doctor.json").write_text(text)
    with pytest.raises(RulerError, match=r"doctor\.json"):
        examination(root, tmp_path, FaultyBackend(FaultyEngine(values)))
    with pytest.raises(RulerError, match=r"doctor\.json"):
        read_verdict(tmp_path)


class Failing(Counting):
    """Fails every request."""

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        for prompt in prompts:
            self.asked.append(prompt)
            yield Completion(prompt, error="HTTP 500: out of memory")


def test_an_engine_that_fails_every_request_is_sent_8(root, values, tmp_path):
    failing = Failing(FaultyEngine(values))
    with pytest.raises(RulerError, match="The first 8 rows failed: HTTP 500: out of memory"):
        examination(root, tmp_path, failing).run()
    assert len(failing.asked) == 8
    backend = Counting(FaultyEngine(values))
    assert examination(root, tmp_path, backend).run().rows == ROWS  # the failed ones are asked too


def test_hits_are_kept_if_the_server_dies_between_two_conditions(root, values, tmp_path):
    """Cold and repeated requests of the only wave are answered, then the session ends."""
    engine = FaultyEngine(values)
    first = WithMetrics(engine, most=16 * 5)
    with pytest.raises(RulerError, match="gone"):
        examination(root, tmp_path, first, rows=16).run()
    verdict = examination(root, tmp_path, WithMetrics(engine), rows=16).run()
    (cache,) = [finding for finding in verdict.findings if finding.name == "cache"]
    assert cache.state == "same"


class Coarse(FaultyBackend):
    """Counts nothing before a prompt is sent; its server takes a word of filler as two tokens."""

    def count(self, prompt: Prompt) -> int | None:  # type: ignore[override]
        return None

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        for completion in super().generate(prompts):
            text = completion.prompt.text or ""
            extra = 40 if "Ignore this line:" in text else 0
            yield replace(completion, prompt_tokens=(completion.prompt_tokens or 0) + extra)


def test_padding_is_corrected_by_what_the_server_counts(root, values, tmp_path):
    """Below the border too, where a prompt that comes out too long ends above it."""
    examined = examination(root, tmp_path, Coarse(FaultyEngine(values)))
    verdict = examined.run()
    (chunks,) = [finding for finding in verdict.findings if finding.name == "chunks"]
    assert chunks.state == "same"
    assert chunks.rows >= ROWS - 2


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
def test_a_wrong_command_is_one_sentence(flags, words, root, tmp_path):
    printed = ruler("doctor", "--dataset", root, "--out", tmp_path / "out", *flags)
    assert printed.code == 2
    assert words in printed.stderr
    assert not (tmp_path / "out").exists()
