"""A tiny seeded Llama with a byte-level BPE: real files for real engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
OPENS_REASONING = (
    "{% if add_generation_prompt %}"
    "{{ '<think>\\n' if enable_thinking else '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
)
SPECIAL = ["<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"]


def write_tokenizer(folder: Path, window: int = 8192, template: str | None = CHAT_TEMPLATE) -> Any:
    """Write the tokenizer alone, 512 tokens; it needs no torch."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    from tests.eval.run.small_release import NOISE
    from tests.trained_tokenizers import ALPHABET, bpe_trainer, byte_level

    core = byte_level()
    trainer = bpe_trainer(512, special_tokens=SPECIAL, initial_alphabet=ALPHABET)
    core.train_from_iterator([NOISE, "One of the special magic numbers for is: "] * 10, trainer)
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", core.token_to_id("<s>"))]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", model_max_length=window
    )
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return core


def make(folder: Path, window: int = 8192, template: str | None = CHAT_TEMPLATE) -> Path:
    """Write tokenizer and weights (2 layers, hidden 64, 512 tokens, float32, seed 0)."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    core = write_tokenizer(folder, window, template)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=window,
        bos_token_id=core.token_to_id("<s>"),
        eos_token_id=core.token_to_id("</s>"),
        initializer_range=0.5,
        dtype="float32",
    )
    model = LlamaForCausalLM(config).to(torch.float32)
    model.save_pretrained(folder)
    return folder


def make_thinker(tiny: Path, folder: Path) -> Path:
    """Write the tiny model with a template and a vocabulary for reasoning as Qwen3 has them.

    It never ends its reasoning by itself.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    tokenizer.add_tokens(["<think>", "</think>"])
    tokenizer.chat_template = CHAT_TEMPLATE + OPENS_REASONING
    tokenizer.save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(tiny)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    model.save_pretrained(folder)
    return folder
