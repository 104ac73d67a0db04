"""Train small tokenizers of every kind in a second, and write them as users' folders.

    train_tokenizer("unigram", text, folder)

They test the counters and split points of builder/ruler_builder/tokens.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, trainers
from tokenizers import pre_tokenizers as pre
from transformers import PreTrainedTokenizerFast

ALPHABET = pre.ByteLevel.alphabet()
# The merge that makes a token cross a space, by kind
OVER_A_SPACE = {
    "whole": ("e", "\u2581the"),
    "fusing": ("e", "\u2581the"),
    "dotted": (".", "\u2581a"),
}


def bpe_trainer(vocab_size: int, **options: Any) -> trainers.BpeTrainer:
    return trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, **options)


def byte_level() -> Tokenizer:
    """Return an untrained tokenizer in GPT-2's form."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre.ByteLevel(add_prefix_space=False, use_regex=True)
    core.decoder = decoders.ByteLevel()
    return core


def untrained(kind: str) -> tuple[Tokenizer, Any]:
    """Return an untrained tokenizer of a kind, and its trainer."""
    if kind == "unigram":
        core = Tokenizer(models.Unigram())
        core.pre_tokenizer = pre.Metaspace(prepend_scheme="always")
        return core, trainers.UnigramTrainer(
            vocab_size=800, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
        )
    if kind == "wordpiece":
        core = Tokenizer(models.WordPiece(unk_token="<unk>"))
        core.normalizer = normalizers.BertNormalizer()
        core.pre_tokenizer = pre.BertPreTokenizer()
        return core, trainers.WordPieceTrainer(
            vocab_size=800, special_tokens=["<unk>"], show_progress=False
        )
    if kind == "crossing":  # no pre-tokenizer over words: tokens such as `of the` cross spaces
        core = byte_level()
        core.pre_tokenizer = pre.Sequence(
            [pre.Split(Regex(r"[^.\n]+|[.\n]+"), "isolated"), pre.ByteLevel(False, use_regex=False)]
        )
        return core, bpe_trainer(2500, initial_alphabet=ALPHABET)
    if kind in OVER_A_SPACE:  # Gemma's form: BPE over the whole text, split only for training
        fusing = kind == "fusing"  # a newline is unknown, and unknown characters fuse over it
        core = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fusing))
        core.pre_tokenizer = pre.Metaspace(prepend_scheme="never")
        alphabet = [] if fusing else ["\n"]
        return core, bpe_trainer(800, special_tokens=["<unk>"], initial_alphabet=alphabet)
    if kind == "sentencepiece":  # Llama-2's form: a space before the text, and byte fallback
        core = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        core.pre_tokenizer = pre.Metaspace(prepend_scheme="first")
        every_byte = [f"<0x{byte:02X}>" for byte in range(256)]
        return core, bpe_trainer(1200, special_tokens=["<unk>", *every_byte])
    core = byte_level()
    if kind == "digits":  # SmolLM2's form: every digit by itself; no split point is proved
        core.pre_tokenizer = pre.Sequence(
            [pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)]
        )
    sizes = {"gpt2": 800, "digits": 800, "single_bytes": 256}  # 256: every byte is a token
    return core, bpe_trainer(sizes[kind], initial_alphabet=ALPHABET)


def train_tokenizer(kind: str, text: str, folder: Path) -> None:
    """Train a tokenizer of a kind on a text, and write it to a folder."""
    core, trainer = untrained(kind)
    core.train_from_iterator(text[:40_000].splitlines(), trainer)
    if kind in OVER_A_SPACE:
        core.pre_tokenizer = None
        core.normalizer = normalizers.Replace(" ", "\u2581")
        parts = json.loads(core.to_str())
        merge = OVER_A_SPACE[kind]
        parts["model"]["vocab"]["".join(merge)] = len(parts["model"]["vocab"])
        parts["model"]["merges"].append(merge)
        core = Tokenizer.from_str(json.dumps(parts))
    if kind == "sentencepiece":  # Llama-2 replaces spaces, and splits nowhere
        core.pre_tokenizer = None
        core.normalizer = normalizers.Sequence(
            [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        )
    PreTrainedTokenizerFast(tokenizer_object=core).save_pretrained(folder)
