"""Batch files: requests for a batch API or `vllm run-batch`, and their answers.

    RUN/batch/requests-001.jsonl    {"custom_id": "vt_4k/0/a04ae4c4", "method": "POST",
                                     "url": "/v1/chat/completions", "body": {"model": …}}
    an answer file                  {"custom_id": "vt_4k/0/a04ae4c4", "error": null,
                                     "response": {"status_code": 200, "body": {"choices": …}}}

There are two backends: one writes the requests of the missing rows and answers none, the other
finds answers by `custom_id`. That ends with the beginning of the digest of the configuration's
rows, so that answers to another release are refused. A row without an answer (it was not sent, or
its batch expired) stays missing and is written again the next time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError, system_error_sentence
from ruler_common.text import number_of
from ruler_eval.file_records import file_records
from ruler_eval.frozen_release import Release
from ruler_eval.run.answering_models import AnsweringModels
from ruler_eval.run.backend import Backend, Completions, completion_of
from ruler_eval.run.classify import Answer, Failure, Reply, Request, classify, shown
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompt, load_tokenizer
from ruler_eval.run.providers import (
    chat_body,
    check_provider,
    extra_fields,
    provider_for,
    sampling_fields,
    with_seed,
)
from ruler_eval.run.reasoning import check_model
from ruler_eval.run.records import Records
from ruler_eval.run.reply_json import error_in, field_of
from ruler_eval.run.sampling import read_generation_config

ENDPOINT = "/v1/chat/completions"
"""The endpoint that every batch API and `vllm run-batch` have."""
FOLDER = "batch"
MAX_LINES, MAX_BYTES = 50_000, 100 * 10**6
"""Requests and bytes of a file: every batch API takes as many."""
NEVER_RUN = ("batch_expired", "batch_cancelled")
"""Error codes of requests that did not reach a model: their rows are still missing."""
MAX_NAME = 200
"""Characters of an unknown custom_id that are shown."""


Sample = tuple[str, int, int]
"""A configuration, the index of a row, and the number of one of its samples."""
CUSTOM_ID = re.compile(r"(.+?)/(\d{1,9})(?:/(\d{1,4}))?(?:/([0-9a-f]{8}))?", re.ASCII)
"""Requests that were written before the digest was added have none."""


def custom_id(sample: Sample, release: Release) -> str:
    """Return the name of a request: configuration, row, sample (but the first), and digest."""
    config, index, number = sample
    digest = release.rows_sha256(config)[:8]
    return f"{config}/{index}/{number}/{digest}" if number else f"{config}/{index}/{digest}"


def options_to_read(run: Path, answers: Sequence[Path]) -> RunOptions:
    """Return the options of a run whose requests were written, with the files of its answers.

    Raises RulerError if the folder is not one of `ruler batch write`.
    """
    settings, sessions = Records(run).settings(), Records(run).sessions()
    stored = [session["options"] for session in sessions if session.get("options")]
    if settings.get("backend") != "batch" or not stored:
        raise RulerError(
            f"'{run}' is not a run of batch files. To write one: ruler batch write --help"
        )
    # an answer replaces the failure of an earlier batch
    options = RunOptions.from_json(stored[-1], run)
    return replace(options, answers=tuple(answers), retry_failed=True)


def request_files(run: Path) -> list[Path]:
    """Return the request files of a run folder."""
    pattern = re.compile(r"requests-\d+\.jsonl")
    paths = (run / FOLDER).glob("*.jsonl")
    return sorted(path for path in paths if pattern.fullmatch(path.name))


class BatchFiles(Backend):
    """The settings of a run of batch files, whether it writes requests or reads answers."""

    name = "batch"

    def __init__(self, options: RunOptions) -> None:
        """Load the tokenizer and the context window of the model, as far as they are known."""
        self.options = options
        if options.provider == "openai":  # which of OpenAI's entries depends on the model
            self.provider = provider_for(None, "api.openai.com", [], options.model)
        else:
            self.provider = provider_for(options.provider or "vllm", "", [], options.model)
        is_vllm = self.provider.name == "vllm"
        tokenizer = options.tokenizer or (options.model if is_vllm else None)
        if tokenizer is not None:
            self.tokenizer = load_tokenizer(tokenizer, options.revision)
            if not self.tokenizer.chat_template:
                raise RulerError(
                    f"'{tokenizer}' has no chat template, and batch files have only chat requests: "
                    "use `ruler run --mode completion`."
                )
        self.context_window = options.max_model_len
        if self.context_window is None and is_vllm:
            self.context_window = _context_length(options)
        self._mode = ""
        self._extra: dict[str, Any] = {}
        self._sampling = sampling_fields(options, self.provider, self.sampling)

    def generation_config(self) -> Mapping[str, Any] | None:
        """Return the model's default sampling settings if vLLM answers, else None."""
        if not self.provider.samplers:
            return None
        return read_generation_config(self.options.model, self.options.revision)

    def default_mode(self) -> str:
        """Return `prefill` if the provider continues an assistant's turn, else `chat`."""
        return "chat" if self.provider.prefill == "no" else "prefill"

    def check_mode(self, mode: str, template_arguments: Mapping[str, Any]) -> None:
        """Raise RulerError for a mode that batch files or the provider do not support."""
        if mode == "completion":
            raise RulerError(
                "Batch files have only chat requests, not --mode completion: use `ruler run`."
            )
        if self.tokenizer is None:
            options, always = self.options, self.provider.always_reasons
            check_model(options.model, mode, options.reasoning, options.engine_args, always)
        self._mode = mode
        self._extra = extra_fields(self.options, self.provider, True, template_arguments)
        check_provider(self.provider, mode, True, "continue_final_message" in self._extra, False)
        if self.options.reasoning.limited and self.provider.thinking_budget:
            self._extra[self.provider.thinking_budget] = self.options.reasoning.budget

    def settings(self) -> dict[str, Any]:
        """Return the endpoint, the provider and the fields of every request."""
        return {
            "endpoint": ENDPOINT.removeprefix("/v1/"),
            "provider": self.provider.name,
            "request": self._extra,
            "sent": {**self._sampling, "max_tokens_field": self.provider.max_tokens_field},
            "budget": "unchecked" if self.tokenizer is None else "tokenizer",
        }


class BatchRequests(BatchFiles):
    """Writes the requests of all prompts into as few files as the limits of batch APIs allow."""

    def __init__(self, options: RunOptions, release: Release) -> None:
        super().__init__(options)
        self._release = release

    def generate(self, prompts: Iterator[Prompt]) -> Completions:
        """Write the requests into numbered files. No prompt is answered.

        Request files of an earlier call are replaced.
        """
        folder = self.options.folder / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        for path in request_files(self.options.folder):
            path.unlink()
        paths: list[Path] = []
        lines = size = 0
        for prompt in prompts:
            line = self._request_line(prompt)
            if not paths or lines == MAX_LINES or size + len(line) > MAX_BYTES:
                paths.append(folder / f"requests-{len(paths) + 1:03}.jsonl")
                lines = size = 0
            with paths[-1].open("ab") as file:
                file.write(line)
            lines, size = lines + 1, size + len(line)
        yield from ()

    def _request_line(self, prompt: Prompt) -> bytes:
        """Return a line of a request file."""
        sampling = with_seed(self._sampling, self.provider, prompt.sample)
        model = self.options.model
        line = {
            "custom_id": custom_id((prompt.config, prompt.index, prompt.sample), self._release),
            "method": "POST",
            "url": ENDPOINT,
            "body": chat_body(prompt, self._mode, model, sampling, self._extra, self.provider),
        }
        return json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n"


class BatchAnswers(BatchFiles):
    """Reads the answers to prompts from output and error files, in any order."""

    needs_token_ids = False  # the requests were counted when they were written

    def __init__(self, options: RunOptions, release: Release) -> None:
        """Read all files. Raises RulerError for a line that is not an answer to a row's request."""
        super().__init__(options)
        self._answers: dict[Sample, dict[str, Any]] = {}
        self._twice: list[str] = []  # the places of other answers to an answered request
        for path in options.answers:
            self._read(path, release)

    def _read(self, path: Path, release: Release) -> None:
        """Add the answers of a file; an answer replaces a failure of the same request."""
        damaged: list[str] = []
        try:
            for where, value in file_records(path, damaged, is_record=_is_answer):
                name, answer = _checked_answer(value, where)
                sample = _sample_of(name, release, self.options)
                if sample is None:
                    raise RulerError(
                        f"'{where}' answers '{name[:MAX_NAME]}', which is not a row of this run: "
                        "give the answers to the requests of this run."
                    )
                first = self._answers.get(sample)
                if first is None or not _has_answer(first):
                    self._answers[sample] = answer
                elif _has_answer(answer) and _reply_of(answer) != _reply_of(first):
                    self._twice.append(where)
        except OSError as error:
            raise RulerError(system_error_sentence(error)) from error
        if damaged:
            raise RulerError(f"{damaged[0]}: download the output file again.")

    def generate(self, prompts: Iterator[Prompt]) -> Completions:
        """Yield the answers.

        A request that expired, met a busy server, or had no quota or key, has none. If nothing is
        answered, the first refusal is shown with what helps.
        """
        fields = (*self._sampling, self.provider.max_tokens_field)
        refusals: list[Failure] = []
        is_answered = False
        models = AnsweringModels(self.options.model)
        if self._twice:
            self.on_note(
                f"{number_of(len(self._twice), 'answer')} to a request that had another answer "
                f"already, of which the first counts (the first of these at {self._twice[0]}): "
                "were the requests sent twice?"
            )
        for prompt in prompts:
            answer = self._answers.get((prompt.config, prompt.index, prompt.sample))
            if answer is None or field_of(answer, "error", "code") in NEVER_RUN:
                continue
            request = Request(prompt=prompt, context_window=self.context_window, fields=fields)
            outcome = outcome_of(answer, request)
            if isinstance(outcome, Answer):
                is_answered = True
                note = models.note(field_of(answer, "response", "body", "model"))
                if note is not None:
                    self.on_note(note)
            elif outcome.kind in ("refused", "fatal"):
                refusals.append(outcome)
            if isinstance(outcome, Answer) or outcome.kind not in ("wait", "fatal"):
                yield completion_of(prompt, outcome)
        shared = refusals if not is_answered else [f for f in refusals if f.kind == "fatal"]
        if shared:
            self.on_note(f"The batch answers say: {shown(shared[0])}. {_remedy(shared[0])}")


def _remedy(failure: Failure) -> str:
    """Return what helps against a refusal, as a sentence."""
    return f"{failure.remedy[:1].upper()}{failure.remedy[1:]}." if failure.remedy else ""


def _is_answer(value: Any) -> bool:
    return isinstance(value, dict) and "custom_id" in value


def _checked_answer(value: Any, where: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the fields of an answer. Raises RulerError for anything else."""
    if not _is_answer(value) or not isinstance(value["custom_id"], str):
        raise RulerError(f"'{where}' is not an answer of a batch: download the output file again.")
    if "response" not in value and "error" not in value:
        what = "a request" if "method" in value else "in the form of another API"
        raise RulerError(f"'{where}' is {what}, not an answer: give the output file.")
    return value["custom_id"], value


def _has_answer(answer: Mapping[str, Any]) -> bool:
    """Whether a line has an answer and not an error."""
    status = field_of(answer, "response", "status_code")
    body = field_of(answer, "response", "body")
    return not answer.get("error") and status in (200, None) and error_in(body) is None


def _reply_of(answer: Mapping[str, Any]) -> Any:
    """Return the choices in a line, or the whole reply of another form."""
    body = field_of(answer, "response", "body")
    return field_of(body, "choices") or body or answer.get("response")


def _sample_of(name: str, release: Release, options: RunOptions) -> Sample | None:
    """Return the sample that a custom_id names; None if it is not one of the run's rows."""
    match = CUSTOM_ID.fullmatch(name)
    if match is None or match[1] not in release.configs:
        return None
    sample = (match[1], int(match[2]), int(match[3] or 0))
    is_of_run = sample[1] < release.size(match[1]) and sample[2] < options.repeats
    is_of_release = match[4] is None or release.rows_sha256(match[1]).startswith(match[4])
    return sample if is_of_run and is_of_release else None


def outcome_of(answer: Mapping[str, Any], request: Request) -> Answer | Failure:
    """Return what a line of an output or error file means."""
    status, body = field_of(answer, "response", "status_code"), field_of(answer, "response", "body")
    if body is None and field_of(answer, "response", "choices") is not None:  # Fireworks
        body = answer["response"]
    if isinstance(body, str):
        with suppress(ValueError, RecursionError):
            body = json.loads(body)
    if error := answer.get("error"):  # {} and "" are not errors
        body = {"error": error}
    status = status if type(status) is int else 200
    return classify(Reply(status=status, body=body), request)


def _context_length(options: RunOptions) -> int | None:
    """Return the context window in a model's configuration; None if it does not have one."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(
            options.model, revision=options.revision, trust_remote_code=False
        )
    except Exception:  # an unreadable configuration: --max-model-len gives the length
        return None
    length = getattr(config.get_text_config(), "max_position_embeddings", None)
    return length if isinstance(length, int) else None
