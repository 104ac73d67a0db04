"""The hf backend: transformers' `generate`, on a CPU or a GPU, without a server.

    ruler run --backend hf --model Qwen/Qwen2.5-0.5B-Instruct --engine-arg dtype=bfloat16 …

`--engine-arg` goes to `from_pretrained` (dtype, device_map, attn_implementation, …), except
`batch_tokens`: the padded tokens of one batch, prompts and answers (32,768 by default). A batch
that does not fit the memory is halved, and so are those after it.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.run.backend import Backend, Completion, Completions
from ruler_eval.run.options import RunOptions
from ruler_eval.run.prompts import Prompt, load_model_tokenizer
from ruler_eval.run.reasoning import decode, reasoning_length

BATCH_TOKENS = 32768
OUT_OF_MEMORY = (
    *("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED"),
    "MemoryError",
)
"""Words of the errors of torch on GPUs and on a CPU, of its libraries, and of Python."""
SORTED_TOGETHER = 64
"""Prompts that are sorted together to fill batches of similar lengths."""


class Transformers(Backend):
    """Generates in batches of prompts of nearly the same length, padded on the left."""

    name = "hf"

    def __init__(self, options: RunOptions) -> None:
        # By default torch's threads spin while they wait for each other: if another program uses
        # one of the cores, a row takes several times as long (67 s instead of 10 s).
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        import torch
        from transformers import AutoModelForCausalLM

        if options.presence_penalty:
            raise RulerError("--presence-penalty is not for --backend hf: use vllm or a server.")
        arguments = dict(options.engine_args)
        self.batch_tokens = arguments.pop("batch_tokens", BATCH_TOKENS)
        if type(self.batch_tokens) is not int or self.batch_tokens < 1:
            raise RulerError("--engine-arg batch_tokens takes a whole number above 0.")
        self._max_tokens = self.batch_tokens  # less after a batch did not fit the memory
        self.options, self.tokenizer = options, load_model_tokenizer(options)
        try:
            # without a value transformers asks on the terminal whether a folder's code may run
            arguments = {"dtype": "auto", "trust_remote_code": False, **arguments}
            loader: Any = AutoModelForCausalLM
            self.model = loader.from_pretrained(
                options.model, revision=options.revision, **arguments
            )
        except Exception as error:  # no memory, no such folder, damaged weights, …
            reason = [*str(error).strip().splitlines(), type(error).__name__][0]
            raise RulerError(f"Cannot load the model '{options.model}': {reason}") from error
        if "device_map" not in arguments and torch.cuda.is_available():
            self.model = self.model.to("cuda")
        self.model.eval()
        config = self.model.config.get_text_config()
        positions = getattr(config, "max_position_embeddings", None)
        self.context_window = options.max_model_len or positions

    def generation_config(self) -> Mapping[str, Any]:
        """Return the model's default sampling settings; empty if it decodes greedily."""
        defaults = self.model.generation_config.to_diff_dict()
        return defaults if defaults.get("do_sample") is not False else {}

    def settings(self) -> dict[str, Any]:
        """Return version, dtype, device, attention and batch size.

        The batch size is included because it can change an answer in low precision.
        """
        import transformers

        return {
            "backend_version": transformers.__version__,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.model.device.type,
            "attention": self.model.config._attn_implementation,
            "batch_tokens": self.batch_tokens,
            "commit": getattr(self.model.config, "_commit_hash", None),
        }

    def generate(self, prompts: Iterator[Prompt]) -> Completions:
        """Answer batch by batch; if a batch cannot run, its rows fail and the run goes on.

        A batch that does not fit the memory is halved, until a row is alone.
        """
        while waiting := list(islice(prompts, SORTED_TOGETHER)):
            waiting.sort(key=lambda prompt: -len(prompt.token_ids or ()))
            while waiting and not self.is_stopping:
                batch = next(batches(waiting, self._max_tokens))
                rows, error = self._try(batch)
                if rows is None and len(batch) > 1 and is_out_of_memory(error):
                    self._max_tokens = padded_tokens(batch) // 2
                    self.on_note(
                        f"Out of memory with {len(batch)} rows at a time: from now on at most "
                        f"{self._max_tokens:,} tokens (--engine-arg batch_tokens)."
                    )
                    continue
                del waiting[: len(batch)]
                if rows is not None:
                    yield from self._completions(batch, rows)
                    continue
                if is_out_of_memory(error):
                    tokens = len(batch[0].token_ids or ())
                    error = (
                        f"out of memory for this row alone, {tokens:,} prompt tokens and "
                        f"{batch[0].max_tokens:,} for the answer ({error})"
                    )
                for prompt in batch:
                    yield Completion(prompt, error=error)

    def _try(self, batch: list[Prompt]) -> tuple[list[list[int]] | None, str]:
        """Return the generated tokens of each prompt, or None and the error."""
        import torch

        try:
            return self._new_tokens(batch), ""
        except (RuntimeError, MemoryError, ValueError, IndexError) as error:
            reason = f"{type(error).__name__}: {error}".strip().splitlines()[0].rstrip(": ")
        gc.collect()  # after the handler, where the error holds the tensors
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return None, reason

    def _completions(self, batch: list[Prompt], rows: list[list[int]]) -> Iterator[Completion]:
        """Yield the answers to the prompts of a batch."""
        for prompt, ids in zip(batch, rows, strict=True):
            has_ended = len(ids) < prompt.max_tokens or ids[-1] in self._end_tokens()
            yield Completion(
                prompt,
                decode(self.tokenizer, ids),
                "stop" if has_ended else "length",
                prompt_tokens=len(prompt.token_ids or ()),
                completion_tokens=len(ids),
                reasoning_tokens=reasoning_length(self.tokenizer, ids),
            )

    def _new_tokens(self, batch: list[Prompt]) -> list[list[int]]:
        """Return the generated tokens of each prompt, up to and including its end token."""
        import torch
        from transformers import GenerationConfig

        longest = max(len(prompt.token_ids or ()) for prompt in batch)
        padding = self.tokenizer.pad_token_id
        padding = self._end_tokens()[0] if padding is None else padding
        ids, mask = [], []
        for prompt in batch:
            token_ids = list(prompt.token_ids or ())
            ids.append([padding] * (longest - len(token_ids)) + token_ids)
            mask.append([0] * (longest - len(token_ids)) + [1] * len(token_ids))
        device = self.model.device
        greedy = self.sampling.is_greedy
        sampling = dict(self.sampling.values)
        for name in ("seed", "presence_penalty"):  # generate() does not have these options
            sampling.pop(name, None)
        torch.manual_seed(self._seed(batch[0]))
        # a new configuration, because the model's may contain penalties and samplers; without
        # top_k generate() would sample from the 50 most likely tokens
        config_type: Any = GenerationConfig
        generation = config_type(
            max_new_tokens=max(prompt.max_tokens for prompt in batch),
            do_sample=not greedy,
            pad_token_id=padding,
            eos_token_id=self._end_tokens(),
            **({} if greedy else {"top_k": 0, **sampling}),
        )
        model_generation = self.model.generation_config
        self.model.generation_config = generation  # generate() would merge the two
        try:
            with torch.inference_mode():
                generated = self.model.generate(
                    torch.tensor(ids, device=device),
                    attention_mask=torch.tensor(mask, device=device),
                    generation_config=generation,
                )[:, longest:].tolist()
        finally:
            self.model.generation_config = model_generation
        return [
            self._truncate(row, prompt.max_tokens)
            for row, prompt in zip(generated, batch, strict=True)
        ]

    def _seed(self, prompt: Prompt) -> int:
        """Return the seed of a batch, which is different for each first prompt."""
        key = f"{self.options.seed} {prompt.config} {prompt.index} {prompt.sample}"
        return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")

    def _truncate(self, row: list[int], max_tokens: int) -> list[int]:
        """Return the tokens of a row up to and including its end token, at most `max_tokens`."""
        ends = self._end_tokens()
        for place, token in enumerate(row[:max_tokens], 1):
            if token in ends:
                return row[:place]
        return row[:max_tokens]

    def _end_tokens(self) -> list[int]:
        tokens = self.model.generation_config.eos_token_id
        if tokens is None:
            tokens = self.tokenizer.eos_token_id
        return [tokens] if isinstance(tokens, int) else list(tokens or [0])


def is_out_of_memory(error: str) -> bool:
    """Whether an error says that a device has too little memory."""
    return any(words in error for words in OUT_OF_MEMORY)


def padded_tokens(batch: list[Prompt]) -> int:
    """Return the tokens of a batch, prompts and answers, each as long as the longest."""
    return len(batch) * max(len(prompt.token_ids or ()) + prompt.max_tokens for prompt in batch)


def batches(prompts: list[Prompt], max_tokens: int) -> Iterator[list[Prompt]]:
    """Split prompts, sorted by length, into batches of at most `max_tokens` padded tokens."""
    batch: list[Prompt] = []
    width = 0
    for prompt in prompts:
        width = max(width, len(prompt.token_ids or ()) + prompt.max_tokens)
        if batch and width * (len(batch) + 1) > max_tokens:
            yield batch
            batch, width = [], len(prompt.token_ids or ()) + prompt.max_tokens
        batch.append(prompt)
    if batch:
        yield batch
