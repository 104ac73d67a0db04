"""What the path of a prediction file says: its task, length, languages, seed and configuration.

names = Names.standard("ruler")
facts_of_folders(Path("128000/pred/vt.jsonl"), names)    # {"task": "vt", "length": 128000}
config_in_name(names, "general_qa_vt_4k")                # "vt_4k"
label_of(Path("qwen_vt_4k.jsonl"), names)                # "qwen"
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import (
    DEFAULT_TOKENIZER,
    TASKS,
    Config,
    Names,
    length_name,
    parse_length,
)
from ruler_eval.file_records import COMPRESSED_SUFFIXES
from ruler_eval.prediction import ABLATION, dataset_of

TASK_ALIASES = {
    "qa_squad": "qa_1",
    "qa_hotpot": "qa_2",
    "qa_hotpotqa": "qa_2",
    "niah_mk_1": "niah_multikey_1",
    "niah_mk_2": "niah_multikey_2",
    "niah_mk_3": "niah_multikey_3",
    "niah_mq": "niah_multiquery",
    "niah_mv": "niah_multivalue",
    "niah_s_1": "niah_single_1",
    "niah_s_2": "niah_single_2",
    "niah_s_3": "niah_single_3",
}
"""Other tools' names of tasks, without the prefix `ruler_`."""
SEED = re.compile(r"(?:(?<=[-_./])|^)(?:rs|seed|sample|repeat)[-_]?(\d{1,9})(?=[-_./]|$)")
"""The number of a seed or sample in a path: `output-rs1.jsonl`, `seed_42/vt_4k.jsonl`."""


def path_text(file: Path) -> str:
    """Return the path of a file with forward slashes, without the suffix of a compression."""
    text = file.absolute().as_posix()
    for suffix in COMPRESSED_SUFFIXES:
        text = text.removesuffix(suffix)
    return text


def without_seed(file: Path) -> str:
    """Return the folder of a file, without the number of its seed or sample."""
    folder = str(file.parent)
    seeds = [*SEED.finditer(folder)]
    return folder[: seeds[-1].start()] + folder[seeds[-1].end() :] if seeds else folder


def stem_of(file: Path) -> str:
    """Return the name of a file without its suffixes."""
    return Path(path_text(file)).stem


def is_oneruler(file: Path) -> bool:
    """Return whether a file's name or its folders name a task that only ONERULER has."""
    if dataset_of(stem_of(file)) == "oneruler":
        return True
    folders = {folder.name for folder in file.absolute().parents}
    only_there = {*TASKS["oneruler"]} - {*TASKS["ruler"]}
    return bool(folders & only_there)


def task_named(text: str, names: Names) -> str:
    """Return the task that another tool calls so; other texts are returned unchanged."""
    if text in names.tasks:
        return text
    short = text.removeprefix("ruler_")
    return TASK_ALIASES.get(short, short if short in names.tasks else text)


def config_in_name(names: Names, text: str) -> str | None:
    """Return the longest configuration name at the end of a text: `vt_4k` of `general_qa_vt_4k`.

    A task may have another tool's name, and a length may be a number of tokens.
    """
    found = _split_name(names, text)
    return found[1].name if found else None


def label_of(file: Path, names: Names) -> str | None:
    """Return what a file's name says besides its configuration: `qwen` of qwen_vt_4k.jsonl.

    Seeds and numbers that tell the files of one run apart say nothing (01_vt_4k.jsonl), and a
    tokenizer may be the name of a model (vt_4k_qwen.jsonl). None without a configuration.
    """
    found = _split_name(names, stem_of(file))
    if found is None:
        return None
    before, config = found
    tokenizer = "" if config.tokenizer == DEFAULT_TOKENIZER else config.tokenizer
    parts = [SEED.sub("", before), tokenizer]
    return " ".join(part for part in parts if re.search(r"[^\W\d_]", part))


def _split_name(names: Names, text: str) -> tuple[str, Config] | None:
    """Split a name into what stands before the configuration at its end, and that."""
    words = text.split("_")
    for start in range(len(words) - 1):
        for end in range(len(words) - 1, start, -1):
            task = task_named("_".join(words[start:end]), names)
            if task not in names.tasks and task != ABLATION:
                continue
            with suppress(RulerError):
                config = names.parse("_".join([task, *words[end:]]))
                return "_".join(words[:start]), config
    return None


def facts_of_folders(file: Path, names: Names) -> dict[str, Any]:
    """Return the task, length (tokens) and languages that a file's name and its folders give.

    `en-ko/niah_none/64000/prediction_o3.jsonl` gives niah_none, 64000 and en-ko. The folders may be
    in any order, and the nearest ones count. Many folders have names of two letters, so a language
    has to be next to the file, or to a folder that is one of the three.
    """
    code = "|".join(names.languages)
    facts: dict[str, Any] = {}
    is_next = True
    parts = [stem_of(file), *(folder.name for folder in file.absolute().parents)]
    for number, part in enumerate(parts):
        fact: tuple[str, Any] | None = None
        if part in (*names.tasks, ABLATION):
            fact = "task", part
        elif tokens := tokens_in(part, names.dataset):
            fact = "length", tokens
        elif is_next and re.fullmatch(rf"(?:{code})(?:-(?:{code}))?", part):
            fact = "languages", part
        if fact is not None:
            facts.setdefault(*fact)
        is_next = fact is not None or number == 0
    return facts


def tokens_in(word: str, dataset: str) -> int | None:
    """Return the length that a word names, in tokens; None for other words, such as a year."""
    if re.fullmatch(r"[1-9]\d{3,6}", word):
        return int(word) if int(word) % 1000 == 0 or int(word) % 1024 == 0 else None
    try:
        return parse_length(word, dataset) if re.fullmatch(r"\d+[km]", word) else None
    except RulerError:
        return None


def name_of_tokens(tokens: int, dataset: str) -> str:
    """Return the name of a length in tokens, or the number if the data set has no name for it.

    In ruler 4096 is `4k`. 128000 stays 128000: it is 125 times 1024, but is not called 125k.
    """
    try:
        name = length_name(tokens, dataset)
        parse_length(name, dataset)  # names end at 4m
    except RulerError:
        return str(tokens)
    return name
