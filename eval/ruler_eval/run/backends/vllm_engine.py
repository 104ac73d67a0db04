"""The vllm backend: vLLM's offline `LLM` in this process, greedy by default.

    ruler run --backend vllm --model Qwen/Qwen2.5-7B-Instruct --engine-arg tensor_parallel_size=4 …

`--engine-arg` takes any argument of vLLM's engine: tensor_parallel_size, pipeline_parallel_size,
max_model_len, gpu_memory_utilization, quantization, distributed_executor_backend=ray, …; everything
else keeps vLLM's default, and run.json records the values in use. Many rows of a file begin with
the same haystack: with prefix caching (vLLM's default for most models) much of a prompt is often in
the cache already, and the run reports this share. The offline `LLM` does not support
data_parallel_size > 1: use `vllm serve` and the openai backend, or one `--shard i/n` for each GPU.
"""

from __future__ import annotations

import gc
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ruler_common.errors import RulerError
from ruler_common.manifest import FileEntry
from ruler_eval.frozen_release import Release
from ruler_eval.run.backend import UNKNOWN, Backend, Completion, EngineDied
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import COLUMNS
from ruler_eval.run.prompts import Prompt, TokenIds, load_model_tokenizer
from ruler_eval.run.reasoning import decode, reasoning_length
from ruler_eval.run.secrets import hide_keys

MAX_ERROR = 500
"""Characters of an engine's error that are shown."""
TOKENS_IN_FLIGHT = 1 << 24
"""Maximum prompt tokens in the engine's queue (as Python lists, 8 bytes per token)."""
MAX_CACHE = 8
"""GiB of KV cache on a machine without a GPU, or a quarter of its free memory if that is less."""
ROWS_ON_CPU = 8
"""Rows at a time on a CPU: more would only share the same few cores."""
WINDOW_MARGIN = 0.05
"""The share by which a row may be longer than the first row of its configuration."""
TEMPLATE_TOKENS = 1024
"""Tokens that a chat template may add."""


class VLLM(Backend):
    """Feeds vLLM's engine row by row: answers come as they finish, and memory stays constant."""

    name = "vllm"

    def __init__(
        self, options: RunOptions, release: Release, files: Mapping[str, FileEntry] | None = None
    ) -> None:
        """Start an engine; without a context length in the options, it fits the rows of `files`."""
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")  # stdout is for results
        import vllm

        engine = engine_arguments(options)
        if engine.get("data_parallel_size", 1) != 1:
            raise RulerError(
                "vLLM's offline engine has no data parallelism: use "
                "`vllm serve MODEL --data-parallel-size N` with --backend openai, or --shard i/N."
            )
        self.options, self.tokenizer = options, load_model_tokenizer(options)
        engine = {**cpu_defaults(engine), **engine}
        self.dead = False
        try:
            if files and "max_model_len" not in engine:
                config = vllm.EngineArgs(model=options.model, **engine).create_model_config()
                self.model_limit = config.max_model_len
                self.window = needed_window(release, files, self.tokenizer, options)
                engine["max_model_len"] = min(self.window, config.max_model_len)
            self.llm = vllm.LLM(model=options.model, **engine)
        except Exception as error:  # an engine can fail with any exception
            raise RulerError(
                f"vLLM cannot start '{options.model}': {_reason(error)}. If that is not the cause, "
                "see vLLM's messages above."
            ) from error
        self.version = vllm.__version__
        self.config = self.llm.llm_engine.vllm_config
        self.limit = self.config.model_config.max_model_len
        reasoning = getattr(self.config, "reasoning_config", None)
        self.limits_reasoning = bool(getattr(reasoning, "enabled", False))

    def describe(self) -> list[str]:
        """Return a warning if the engine cannot enforce the reasoning budget."""
        if not self.options.reasoning.limited or self.limits_reasoning:
            return []
        return [
            "vLLM was started without a reasoning parser and does not enforce --thinking "
            f"{self.options.thinking}: add --engine-arg reasoning_parser=NAME."
        ]

    def generation_config(self) -> Mapping[str, Any]:
        """Return the model's default sampling settings, with `override_generation_config`."""
        defaults: Mapping[str, Any] = self.config.model_config.get_diff_sampling_param()
        return defaults

    def settings(self) -> dict[str, Any]:
        """Return vLLM's version and the settings that the engine resolved."""
        settings = {"backend_version": self.version, **engine_settings(self.config)}
        if self.options.reasoning.limited:
            settings["thinking_token_budget"] = self.limits_reasoning
        return settings

    def generate(self, prompts: Iterator[Prompt]) -> Iterator[Completion]:
        """Answer the prompts, with the engine's queue twice as long as one of its batches."""
        engine = self.llm.llm_engine
        max_rows = 2 * int(self.config.scheduler_config.max_num_seqs)
        in_flight: dict[str, Prompt] = {}
        tokens, number, has_more = 0, 0, True
        try:
            while has_more or in_flight:
                while has_more and len(in_flight) < max_rows and tokens < TOKENS_IN_FLIGHT:
                    prompt = next(prompts, None)
                    if prompt is None:
                        has_more = False
                        break
                    number += 1
                    try:
                        engine.add_request(str(number), *self._request(prompt))
                    except ValueError as error:
                        yield Completion(prompt, error=f"vLLM refused the prompt: {error}")
                        continue
                    in_flight[str(number)] = prompt
                    tokens += len(prompt.token_ids or ())
                for output in self._step() if in_flight else ():
                    if output.finished:
                        prompt = in_flight.pop(output.request_id)
                        tokens -= len(prompt.token_ids or ())
                        yield self._answer(prompt, output)
        finally:
            if in_flight and not self.dead:
                engine.abort_request(list(in_flight))

    def _step(self) -> list[Any]:
        """Run one step of the engine and return its outputs. Raises EngineDied."""
        try:
            return list(self.llm.llm_engine.step())
        except Exception as error:
            self.dead = True
            raise EngineDied(f"vLLM died: {_reason(error)}. Answered rows are kept.") from error

    def _request(self, prompt: Prompt) -> tuple[Any, Any]:
        from vllm import SamplingParams

        # a sampler that is not set is off, whatever the model's generation_config.json says
        fields = self.sampling.for_sample(prompt.sample)
        if self.options.reasoning.limited and self.limits_reasoning:
            fields["thinking_token_budget"] = self.options.reasoning.budget
        sampling = SamplingParams(**fields, max_tokens=prompt.max_tokens)
        tokens: dict[str, Any] = {"prompt_token_ids": list(prompt.token_ids or ())}
        if prompt.cache_salt is not None:
            tokens["cache_salt"] = prompt.cache_salt
        renderer: Any = getattr(self.llm.llm_engine, "renderer", None)
        if hasattr(renderer, "render_cmpl"):  # newer engines
            return renderer.render_cmpl([tokens])[0], sampling
        return tokens, sampling

    def accepts_cache_salt(self) -> bool:
        """Return True: vLLM has the field."""
        return True

    def _answer(self, prompt: Prompt, output: Any) -> Completion:
        generated = output.outputs[0]
        return Completion(
            prompt,
            decode(self.tokenizer, generated.token_ids),
            "length" if generated.finish_reason == "length" else "stop",
            prompt_tokens=len(output.prompt_token_ids or prompt.token_ids or ()),
            completion_tokens=len(generated.token_ids),
            cached_tokens=output.num_cached_tokens,
            reasoning_tokens=reasoning_length(self.tokenizer, generated.token_ids),
        )

    def close(self) -> None:
        """Stop the engine and free its memory."""
        self.llm.llm_engine.engine_core.shutdown()
        del self.llm
        gc.collect()


def _reason(error: Exception) -> str:
    """Return an engine's error on one line, without keys."""
    text = " ".join(str(error).split()) or type(error).__name__
    return hide_keys(text, MAX_ERROR).rstrip(".")


def needed_window(
    release: Release, files: Mapping[str, FileEntry], tokenizer: Any, options: RunOptions
) -> int:
    """Return the tokens that the longest row of these files may need with its answer.

    The engine then allocates memory for these rows and not for a window of a million tokens. All
    rows of a configuration are nearly as long as its first one, which is counted with the model's
    tokenizer. Configurations less than half as long as the longest are skipped.
    """
    longest = max(file["max_length"] for file in files.values())
    token_ids = TokenIds(tokenizer)
    needed = 0
    for config, file in files.items():
        if 2 * file["max_length"] >= longest:
            (row,) = release.some_rows(config, COLUMNS, [0])
            count = len(token_ids(row["input"] + row["answer_prefix"], special_tokens=False))
            count = max(count, row["length"] - row["max_new_tokens"])
            needed = max(needed, count + row["max_new_tokens"])
    window = int(needed * (1 + WINDOW_MARGIN)) + TEMPLATE_TOKENS + options.reasoning.budget
    return -(-window // 1024) * 1024


def engine_arguments(options: RunOptions) -> dict[str, Any]:
    """Return the engine arguments of a run; all others keep vLLM's defaults."""
    arguments: dict[str, Any] = {
        "revision": options.revision,
        "tokenizer": options.tokenizer,
        "seed": options.seed,
    }
    if options.max_model_len is not None:
        arguments["max_model_len"] = options.max_model_len
    return {**arguments, **options.arguments}


def engine_settings(config: Any) -> dict[str, Any]:
    """Return the settings that can change a score, from the `VllmConfig` of a started engine.

    A setting that this version of vLLM does not have is "unknown".
    """
    return {
        "dtype": str(_read(config, "model_config.dtype")).removeprefix("torch."),
        "quantization": _read(config, "model_config.quantization"),
        "parallel": {
            kind: _read(config, f"parallel_config.{kind}_parallel_size")
            for kind in ("tensor", "pipeline", "data")
        },
        "cache": {
            "dtype": str(_read(config, "cache_config.cache_dtype")),
            "prefix_caching": _read(config, "cache_config.enable_prefix_caching"),
        },
        "chunked_prefill": _read(config, "scheduler_config.enable_chunked_prefill"),
        "attention_backend": _attention_backend(config),
        "speculative_decoding": _speculative_decoding(config),
        "rope": _rope(config),
        "commit": getattr(config.model_config.hf_config, "_commit_hash", None),
    }


def _read(config: Any, path: str) -> Any:
    """Return a field of nested configurations; "unknown" if it does not exist."""
    for name in path.split("."):
        config = getattr(config, name, UNKNOWN)
    return config


def _attention_backend(config: Any) -> str:
    """Return the configured attention backend; "unknown" if the engine's process chooses it."""
    backend = _read(config, "attention_config.backend")
    return UNKNOWN if backend is None else str(getattr(backend, "name", backend))


def _speculative_decoding(config: Any) -> dict[str, Any] | str | None:
    """Return the method, draft model and number of tokens; None without speculative decoding."""
    speculative = _read(config, "speculative_config")
    if speculative in (None, UNKNOWN):
        return cast("str | None", speculative)
    names = ("method", "model", "num_speculative_tokens")
    return {name: _read(speculative, name) for name in names}


def _rope(config: Any) -> Any:
    """Return the settings of the rotary embedding, with `hf_overrides` applied."""
    text_config = _read(config, "model_config.hf_text_config")
    rope = getattr(text_config, "rope_parameters", None)  # transformers 5
    return getattr(text_config, "rope_scaling", UNKNOWN) if rope is None else rope


def cpu_defaults(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return defaults for a machine without a GPU, for arguments that are not set yet.

    Empty if there is a GPU. vLLM would take 0.9 of all memory, not of the free memory, and compile
    for minutes. Sets VLLM_CPU_KVCACHE_SPACE if it is not set, and prints the defaults on stderr.
    """
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return {}
    import psutil

    memory = psutil.virtual_memory()
    space = os.environ.get("VLLM_CPU_KVCACHE_SPACE")
    if not space and not {"gpu_memory_utilization", "kv_cache_memory_bytes"} & arguments.keys():
        space = str(min(MAX_CACHE, max(1, (memory.available >> 30) // 4)))
        os.environ["VLLM_CPU_KVCACHE_SPACE"] = space
    free = math.floor(80 * memory.available / memory.total) / 100
    defaults = {"gpu_memory_utilization": free, "enforce_eager": True, "max_num_seqs": ROWS_ON_CPU}
    chosen = {name: value for name, value in defaults.items() if name not in arguments}
    settings = [f"{name}={json.dumps(value)}" for name, value in chosen.items()]
    if space:
        settings.append(f"VLLM_CPU_KVCACHE_SPACE={space} (GiB)")
    print(f"No GPU: vLLM runs on the CPU with {', '.join(settings)}.", file=sys.stderr)
    return chosen
