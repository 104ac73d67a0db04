"""vLLM in this process: the offline `LLM`, prefix caching on, greedy by default.

    ruler run --backend vllm --model Qwen/Qwen2.5-7B-Instruct --engine-arg tensor_parallel_size=4 …

`--engine-arg` takes any argument of vLLM's engine: tensor_parallel_size, pipeline_parallel_size,
max_model_len, gpu_memory_utilization, quantization, distributed_executor_backend=ray, … The rows of
a file begin with the same haystack, so most of a prompt is often in the prefix cache already; the
share that was is reported. Data parallelism has one engine a replica: `vllm serve` and the openai
backend, or one `--shard i/n` a GPU (vLLM's offline `LLM` refuses data_parallel_size > 1).
"""

from __future__ import annotations

import gc
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.run.backends.backend import (
    Backend,
    Completion,
    EngineDied,
    ModelOptions,
    tokenizer_of,
)
from ruler_eval.run.backends.engine_log import EngineLog
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.reasoning import decode

TOKENS_IN_FLIGHT = 1 << 24
"""Prompt tokens handed to the engine ahead of time, at most (as Python lists, 8 bytes a token)."""
MOST_CACHE = 8
"""GiB of KV cache on a machine without a GPU, a quarter of its free memory if that is less."""
ROWS_ON_CPU = 8
"""Rows at a time there: more would only share the same few cores."""


class VLLM(Backend):
    """Feeds vLLM's engine row by row, so that answers come as they finish and memory stays flat."""

    name = "vllm"

    def __init__(self, options: ModelOptions) -> None:
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        import vllm

        arguments = dict(options.arguments or {})
        if int(arguments.get("data_parallel_size", 1)) > 1:
            raise RulerError(
                "vLLM's offline engine is one replica: for data parallelism run "
                "`vllm serve MODEL --data-parallel-size N` and --backend openai, or --shard i/N."
            )
        self.options, self.tokenizer = options, tokenizer_of(options)
        if options.max_model_len is not None:
            arguments["max_model_len"] = options.max_model_len
        engine = {
            "enable_prefix_caching": True,
            "revision": options.revision,
            "tokenizer": options.tokenizer,
            "seed": options.seed,
            **arguments,
        }
        engine = {**cpu_defaults(engine), **engine}
        self.log, self.dead = EngineLog("vLLM"), False
        try:
            with self.log.taken():
                if options.window and "max_model_len" not in engine:
                    config = vllm.EngineArgs(model=options.model, **engine).create_model_config()
                    self.own_limit = config.max_model_len
                    engine["max_model_len"] = min(options.window, config.max_model_len)
                self.llm = vllm.LLM(model=options.model, **engine)
        except Exception as error:  # whatever an engine ends with, the user gets its cause
            reason = self.log.reason(error)
            if str(self.log.path) not in reason:
                self.log.remove()
            raise RulerError(f"vLLM cannot start '{options.model}': {reason}.") from error
        self.version = vllm.__version__
        self.config = self.llm.llm_engine.vllm_config
        self.limit = self.config.model_config.max_model_len

    def settings(self) -> dict[str, Any]:
        """Version, dtype, quantization, parallelism and cache, as the engine resolved them."""
        model, parallel = self.config.model_config, self.config.parallel_config
        cache = self.config.cache_config
        return {
            "backend_version": self.version,
            "dtype": str(model.dtype).removeprefix("torch."),
            "quantization": model.quantization,
            "parallel": {
                "tensor": parallel.tensor_parallel_size,
                "pipeline": parallel.pipeline_parallel_size,
                "data": parallel.data_parallel_size,
            },
            "cache": {
                "dtype": str(cache.cache_dtype),
                "prefix_caching": bool(cache.enable_prefix_caching),
            },
            "commit": getattr(model.hf_config, "_commit_hash", None),
        }

    @property
    def room(self) -> int:
        """How many prompts the engine is given ahead of time: two of its batches."""
        return 2 * int(self.config.scheduler_config.max_num_seqs)

    def generate(self, prompts: Iterator[Prompt | None]) -> Iterator[Completion]:
        """Keep the engine's queue filled, twice as deep as one of its batches.

        None instead of a prompt means that none is ready now: the engine goes on with what it has.
        """
        engine = self.llm.llm_engine
        most_rows = self.room
        flying: dict[str, Prompt] = {}
        tokens, number, more = 0, 0, True
        try:
            while more or flying:
                while more and len(flying) < most_rows and tokens < TOKENS_IN_FLIGHT:
                    try:
                        prompt = next(prompts)
                    except StopIteration:
                        more = False
                        break
                    if prompt is None:
                        break
                    number += 1
                    try:
                        engine.add_request(str(number), *self._request(prompt))
                    except ValueError as error:
                        yield Completion(prompt, error=f"vLLM refused the prompt: {error}")
                        continue
                    flying[str(number)] = prompt
                    tokens += len(prompt.token_ids or ())
                for output in self._step() if flying else ():
                    if output.finished:
                        prompt = flying.pop(output.request_id)
                        tokens -= len(prompt.token_ids or ())
                        yield self._answer(prompt, output)
        finally:
            if flying and not self.dead:
                engine.abort_request(list(flying))

    def _step(self) -> list[Any]:
        """One step of the engine: what it has made. Raises EngineDied."""
        try:
            return list(self.llm.llm_engine.step())
        except Exception as error:
            self.dead = True
            raise EngineDied(
                f"vLLM ended while it ran: {self.log.reason(error)}. What was answered is kept."
            ) from error

    def _request(self, prompt: Prompt) -> tuple[Any, Any]:
        from vllm import SamplingParams

        # every sampler is set here, so that none of the model's generation_config.json applies
        sampling = SamplingParams(**self.options.sampling, max_tokens=prompt.max_tokens)
        tokens = {"prompt_token_ids": list(prompt.token_ids or ())}
        renderer: Any = getattr(self.llm.llm_engine, "renderer", None)
        if hasattr(renderer, "render_cmpl"):  # what newer engines want to be given
            return renderer.render_cmpl([tokens])[0], sampling
        return tokens, sampling

    def _answer(self, prompt: Prompt, output: Any) -> Completion:
        made = output.outputs[0]
        return Completion(
            prompt,
            decode(self.tokenizer, made.token_ids),
            made.finish_reason,
            prompt_tokens=len(output.prompt_token_ids or prompt.token_ids or ()),
            completion_tokens=len(made.token_ids),
            cached_tokens=output.num_cached_tokens,
        )

    def close(self) -> None:
        """Stop the engine and free its memory."""
        engine = self.llm.llm_engine.engine_core
        engine.shutdown()
        del self.llm
        gc.collect()
        if not self.dead:
            self.log.remove()


def cpu_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Engine arguments for a machine without a GPU, where none are given; else nothing.

    vLLM would take 0.9 of the memory that there is, not of what is free, and compile for minutes.
    Sets VLLM_CPU_KVCACHE_SPACE where it is not set, and names the choice in one line on stderr.
    """
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return {}
    import psutil

    memory = psutil.virtual_memory()
    space = os.environ.get("VLLM_CPU_KVCACHE_SPACE")
    if not space and not {"gpu_memory_utilization", "kv_cache_memory_bytes"} & given.keys():
        space = str(min(MOST_CACHE, max(1, (memory.available >> 30) // 4)))
        os.environ["VLLM_CPU_KVCACHE_SPACE"] = space
    free = math.floor(80 * memory.available / memory.total) / 100
    wanted = {"gpu_memory_utilization": free, "enforce_eager": True, "max_num_seqs": ROWS_ON_CPU}
    chosen = {name: value for name, value in wanted.items() if name not in given}
    shown = [f"{name}={json.dumps(value)}" for name, value in chosen.items()]
    shown += [f"VLLM_CPU_KVCACHE_SPACE={space} (GiB)"] if space else []
    print(f"No GPU: vLLM runs on the CPU with {', '.join(shown)}.", file=sys.stderr)
    return chosen
