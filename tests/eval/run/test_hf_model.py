"""The hf backend generates the tokens of greedy decoding."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import ChatTemplate, Prompt
from ruler_eval.run.records import read_records
from ruler_eval.run.runner import run
from tests.eval.run.run_options import model_options
from tests.eval.run.tiny_model import make_thinker

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
pytestmark = pytest.mark.hf


@pytest.fixture(scope="module")
def backend(tiny: Path) -> Any:
    from ruler_eval.run.hf_model import Transformers

    return Transformers(model_options(str(tiny), engine_args={"batch_tokens": 2000}))


@pytest.fixture
def options(small: Path, tiny: Path, tmp_path: Path) -> RunOptions:
    out = tmp_path / "RUN"
    return model_options(str(tiny), "hf", dataset=small, configs="some_4k", out=out, limit=2)


def prompt(ids: list[int], index: int = 0, most: int = 12) -> Prompt:
    return Prompt(
        config="vt_4k", index=index, messages=(), text="", token_ids=ids, max_new_tokens=most
    )


def greedy(model: Any, ids: list[int], most: int) -> list[int]:
    ids = list(ids)
    with torch.inference_mode():
        for _ in range(most):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[-most:]


def test_batches_of_different_lengths_give_the_same_tokens_as_one_by_one(backend):
    asked = [list(range(20 + i, 40 + 7 * i)) for i in range(6)]
    prompts = [prompt(ids, i) for i, ids in enumerate(asked)]
    answers = {a.prompt.index: a for a in backend.generate(iter(prompts))}
    for i, ids in enumerate(asked):
        wanted = backend._truncate(greedy(backend.model, ids, 12), 12)
        assert backend._new_tokens([prompts[i]])[0] == wanted
        assert answers[i].completion_tokens == len(wanted)
        assert answers[i].prompt_tokens == len(ids)


def test_each_row_of_a_batch_has_its_own_maximum(backend):
    batch = [prompt(list(range(20, 60)), 0, 3), prompt(list(range(20, 60)), 1, 9)]
    short, long = backend._new_tokens(batch)
    assert short == long[:3]


def test_prompts_are_read_a_window_at_a_time(backend):
    from ruler_eval.run.hf_model import SORTED_TOGETHER

    read = 0

    def prompts() -> Iterator[Prompt]:
        nonlocal read
        for i in range(3 * SORTED_TOGETHER):
            read += 1
            yield prompt([20, 21, 22], i, 1)

    answers = backend.generate(prompts())
    next(answers)
    assert read <= SORTED_TOGETHER
    assert len(list(answers)) == 3 * SORTED_TOGETHER - 1


def test_the_penalties_of_a_generation_config_are_not_applied(tiny, tmp_path):
    import shutil

    from ruler_eval.run.hf_model import Transformers

    copy = tmp_path / "penalised"
    shutil.copytree(tiny, copy)
    path = copy / "generation_config.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "repetition_penalty": 5.0, "do_sample": True, "top_k": 3}))
    plain, penalised = (Transformers(model_options(str(folder))) for folder in (tiny, copy))
    asked = [prompt(list(range(20, 60)))]
    assert plain._new_tokens(asked) == penalised._new_tokens(asked)


def test_a_sampler_that_is_not_set_is_off(tiny, monkeypatch):
    """Without a top_k, transformers would sample from the 50 most likely tokens."""
    from transformers import TopKLogitsWarper

    from ruler_eval.run.hf_model import Transformers

    kept = list[int]()
    make = TopKLogitsWarper.__init__

    def counted(self: Any, top_k: int, *rest: Any, **more: Any) -> None:
        kept.append(top_k)
        make(self, top_k, *rest, **more)

    monkeypatch.setattr(TopKLogitsWarper, "__init__", counted)
    asked = [prompt(list(range(20, 60)))]
    Transformers(model_options(str(tiny), temperature=0.7))._new_tokens(asked)
    assert kept == []
    Transformers(model_options(str(tiny), temperature=0.7, top_k=7))._new_tokens(asked)
    assert kept == [7]


@pytest.mark.parametrize("mode", ["completion", "prefill", "chat"])
def test_a_run_in_each_mode(options, mode):
    outcome = run(replace(options, mode=mode))
    assert outcome.total["error"] == outcome.total["does_not_fit"] == 0
    assert outcome.total["stop"] + outcome.total["length"] == 4
    assert outcome.differences == 0
    kept = json.loads((options.out / "run.json").read_text())
    assert (kept["mode"], kept["dtype"], kept["max_model_len"]) == (mode, "float32", 8192)


def test_the_context_length_is_used_to_the_last_token(options, tiny):
    run(replace(options, configs=("vt_4k",), limit=1))
    (record,) = read_records(options.out / "answers.jsonl")
    need = record["usage"]["prompt_tokens"] + 30
    edge = replace(options, configs=("vt_4k",), limit=1, max_model_len=need)
    edge = replace(edge, out=options.folder.with_name("EDGE"))
    assert run(edge).total["does_not_fit"] == 0
    less = replace(edge, max_model_len=need - 1, out=options.folder.with_name("LESS"))
    with pytest.raises(RulerError, match="No row fits"):
        run(less)


def test_a_custom_chat_template_is_what_the_model_sees(options, tmp_path):
    options = replace(options, configs=("vt_4k",), limit=1)
    file = tmp_path / "own.jinja"
    file.write_text("{% for m in messages %}{{ m.content }} [/INST]{% endfor %}", encoding="utf-8")
    template = ChatTemplate.read(file)
    run(replace(options, out=tmp_path / "usual"))
    asked = replace(options, mode="chat", chat_template=file)
    run(asked)
    settings = json.loads((options.out / "run.json").read_text(encoding="utf-8"))
    assert settings["chat_template"] == template.facts()
    assert settings["template_sha256"] == template.facts()["sha256"]
    (usual,) = read_records(tmp_path / "usual/answers.jsonl")
    (changed,) = read_records(options.out / "answers.jsonl")
    assert usual["usage"]["prompt_tokens"] != changed["usage"]["prompt_tokens"]
    edited = tmp_path / "edited" / "own.jinja"
    edited.parent.mkdir()
    edited.write_text(template.text + " ", encoding="utf-8")
    with pytest.raises(RulerError, match=r"chat_template\.sha256"):
        run(replace(asked, chat_template=edited))
    with pytest.raises(RulerError, match="was run with chat_template"):
        run(replace(asked, chat_template=None, limit=2))


@pytest.mark.parametrize("value", ["many", 0])
def test_a_batch_size_that_is_not_a_number_is_one_sentence(tiny, value):
    from ruler_eval.run.hf_model import Transformers

    with pytest.raises(RulerError, match="--engine-arg batch_tokens takes a whole number above 0"):
        Transformers(model_options(str(tiny), engine_args={"batch_tokens": value}))


def test_an_error_without_a_message_fails_its_rows_and_not_the_run(backend, monkeypatch):
    def fail(batch: list[Prompt]) -> list[list[int]]:
        raise RuntimeError

    monkeypatch.setattr(backend, "_new_tokens", fail)
    (answer,) = backend.generate(iter([prompt([1, 2, 3])]))
    assert answer.error == "RuntimeError"


def test_a_model_that_reasons_uses_its_generation_config_and_budget(options, tiny, tmp_path):
    model = make_thinker(tiny, tmp_path / "thinker")
    makers = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95}
    (model / "generation_config.json").write_text(json.dumps(makers))
    options = replace(options, model=str(model), thinking="24", repeats=2)
    summary = run(options)
    assert summary.unfinished.total() == summary.total["length"] + summary.total["stop"] == 8
    assert summary.total["length"] > 4
    answers = set()
    for path in options.folder.glob("*.jsonl"):
        for record in read_records(path):
            assert record["thinking"]
            assert (record["prediction"], record["thinking_ended"]) == ("", False)
            assert record["usage"]
            if record["finish_reason"] == "length":
                assert record["usage"]["thinking_tokens"] > 24  # nothing ends it
            answers.add((path.name, record["index"], record["thinking"]))
    assert len(answers) == 8  # each sample has its own seed
    kept = json.loads((options.folder / "run.json").read_text())
    assert kept["sampling"] == {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "seed": 0}
    assert (kept["mode"], kept["thinking"]["budget"]) == ("chat", 24)


@pytest.fixture
def small_memory(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A backend whose model runs out of memory above so many padded tokens, and its batches."""
    from ruler_eval.run.hf_model import Transformers

    backend = Transformers(model_options(str(tiny)))
    forward = backend.model.forward
    sizes = list[int]()

    def make(max_tokens: int, error: Exception) -> tuple[Any, list[int]]:
        def limited(input_ids: Any = None, **rest: Any) -> Any:
            if input_ids.shape[1] > 1:  # the prompts, not a generated token
                sizes.append(input_ids.shape[0])
            if input_ids.numel() > max_tokens:
                raise error
            return forward(input_ids=input_ids, **rest)

        monkeypatch.setattr(backend.model, "forward", limited)
        return backend, sizes

    return make


@pytest.mark.parametrize(
    "error",
    [
        torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate"
                     " memory: you tried to allocate 9 bytes."),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
        MemoryError(),
    ],
)  # fmt: skip
def test_a_batch_that_does_not_fit_the_memory_is_halved(backend, small_memory, error):
    prompts = [prompt(list(range(20, 60)), index) for index in range(13)]
    wanted = {a.prompt.index: a.text for a in backend.generate(iter(prompts))}
    limited, sizes = small_memory(3 * 40, error)
    notes = list[str]()
    limited.on_note = notes.append
    answers = list(limited.generate(iter(prompts)))
    assert {a.prompt.index: a.text for a in answers if a.error is None} == wanted
    assert sizes[0] == 13
    assert notes[0].startswith("Out of memory with 13 rows at a time: from now on at most 338 tok")
    sizes.clear()
    assert len(list(limited.generate(iter(prompts)))) == 13
    assert max(sizes) <= 3  # the batches after it are as small from the beginning


def test_a_row_that_alone_does_not_fit_the_memory_fails_and_the_others_are_answered(small_memory):
    limited, _ = small_memory(100, torch.cuda.OutOfMemoryError("CUDA out of memory. Tried …"))
    prompts = [prompt([20] * 40, 0), prompt([20] * 130, 1), prompt([20] * 50, 2)]
    answers = {a.prompt.index: a for a in limited.generate(iter(prompts))}
    assert (answers[0].error, answers[2].error) == (None, None)
    assert answers[0].text
    assert answers[1].error == (
        "out of memory for this row alone, 130 prompt tokens and 12 for the answer "
        "(OutOfMemoryError: CUDA out of memory. Tried …)"
    )


def test_another_error_of_a_batch_is_not_taken_for_too_little_memory(small_memory):
    limited, sizes = small_memory(0, RuntimeError("expected a tensor on cpu"))
    answers = list(limited.generate(iter([prompt([20] * 9, 0), prompt([20] * 9, 1)])))
    assert [answer.error for answer in answers] == ["RuntimeError: expected a tensor on cpu"] * 2
    assert sizes == [2]
