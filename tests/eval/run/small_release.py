"""A small release written by hand from the wording of the papers, for tests without the builder."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from ruler_common.names import Config
from tests.hand_written import write_release

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
Row = dict[str, Any]


def niah_row(rng: random.Random, lines: int, keys: int = 1, values: int = 1, asked: int = 1) -> Row:
    """Needles in noise: `keys` keys with `values` values each, of which `asked` are asked for."""
    names = [f"key{rng.randrange(10**6)}-{i}" for i in range(keys)]
    needles = {name: [str(rng.randrange(10**6, 10**7)) for _ in range(values)] for name in names}
    text = [NOISE] * lines
    for name, result in needles.items():
        for value in result:
            line = f"One of the special magic numbers for {name} is: {value}."
            text.insert(rng.randrange(len(text)), line)
    query = names[0] if asked == 1 else ", ".join(names[: asked - 1]) + f", and {names[asked - 1]}"
    item = asked * values == 1
    is_, what = ("is the", "number") if item else ("are all the", "numbers")
    hidden = "A special magic number is" if item else "Some special magic numbers are"
    question = f"What {is_} special magic {what} for {query} mentioned in the provided text?"
    return {
        "input": f"{hidden} hidden within the following text. Make sure to memorize it. I will "
        f"quiz you about the {what} afterwards.\n" + "\n".join(text) + f"\n{question}",
        "answer_prefix": f" The special magic {what} for {query} mentioned in the provided text "
        + ("is" if item else "are"),
        "outputs": [value for name in names[:asked] for value in needles[name]],
        "max_new_tokens": 128,
        "question": question,
    }


def _vt_task(rng: random.Random, lines: int, letters: int, chains: int) -> tuple[str, str, Row]:
    text = [NOISE] * lines
    asked: list[str] = []
    asked_value = ""
    for chain in range(chains):
        value = str(rng.randrange(10000, 100000))
        names = ["".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=letters)) for _ in range(5)]
        if chain == 0:
            asked, asked_value = names, value
        places = sorted(rng.sample(range(lines), 5))
        sources = [value] + [f"VAR {name}" for name in names]
        for offset, (place, name, source) in enumerate(zip(places, names, sources, strict=False)):
            text.insert(place + offset, f"VAR {name} = {source}")
    head = (
        "Memorize and track the chain(s) of variable assignment hidden in the following text."
        "\n\n" + "\n".join(text) + "\nQuestion: Find all variables that are assigned the value "
        f"{asked_value} in the text above."
    )
    prefix = (
        " Answer: According to the chain(s) of variable assignment in the text above, 5 variables "
        f"are assigned the value {asked_value}, they are: "
    )
    return head, prefix, {"outputs": asked}


def vt_row(rng: random.Random, lines: int, chains: int = 1) -> Row:
    output, shown_prefix, example = _vt_task(rng, 6, 3, 1)
    head, prefix, asked = _vt_task(rng, lines, 5, chains)
    one_shot = f"{output}{shown_prefix} {' '.join(example['outputs'])}\n\n"
    return {"input": one_shot + head, "answer_prefix": prefix, "max_new_tokens": 30, **asked}


def _cwe_task(rng: random.Random, words: int, common: int, rare: int) -> tuple[str, str, Row]:
    names = [f"{rng.choice('bdfgk')}{rng.choice('aeiou')}word{i}" for i in range(words)]
    rng.shuffle(names)
    listed = names[:10] * common + names[10:] * rare
    rng.shuffle(listed)
    head = (
        "Below is a numbered list of words. In these words, some appear more often than others. "
        "Memorize the ones that appear most often.\n"
        + " ".join(f"{i}. {word}" for i, word in enumerate(listed, 1))
        + "\nQuestion: What are the 10 most common words in the above list?"
    )
    prefix = " Answer: The top 10 words that appear most often in the list are:"
    return head, prefix, {"outputs": names[:10]}


def cwe_row(rng: random.Random, words: int) -> Row:
    output, shown_prefix, example = _cwe_task(rng, 40, 10, 3)
    head, prefix, asked = _cwe_task(rng, words, 30, 3)
    answer = " ".join(f"{i}. {word}" for i, word in enumerate(example["outputs"], 1))
    one_shot = f"{output}{shown_prefix} {answer}\n"
    return {"input": one_shot + head, "answer_prefix": prefix, "max_new_tokens": 120, **asked}


def qa_row(rng: random.Random, documents: int) -> Row:
    towns = [f"Town{i}{rng.randrange(100)}" for i in range(documents)]
    mayors = [f"Mayor {chr(65 + i % 26)}{rng.randrange(1000)}" for i in range(documents)]
    output = [
        f"{town} lies at a river. The mayor of {town} is {mayor}, who likes to walk."
        for town, mayor in zip(towns, mayors, strict=True)
    ]
    gold = rng.randrange(documents)
    ask = "Answer the question based on the given documents. Only give me the answer and do not "
    ask += "output any other words."
    context = "\n\n".join(f"Document {i}:\n{text}" for i, text in enumerate(output, 1))
    return {
        "input": f"{ask}\n\nThe following are given documents.\n\n{context}\n\n{ask}\n\n"
        f"Question: Who is the mayor of {towns[gold]}?",
        "answer_prefix": " Answer:",
        "outputs": [mayors[gold]],
        "max_new_tokens": 32,
    }


def write(
    root: Path,
    length: str = "4k",
    rows: int = 5,
    lines: int = 20,
    seed: int = 0,
    only: tuple[str, ...] = (),
) -> Path:
    """Write a release of four tasks at one length; `lines` sets the size of a row."""
    rng = random.Random(seed)
    makers = {
        "niah_single_1": lambda: niah_row(rng, lines),
        "vt": lambda: vt_row(rng, lines),
        "cwe": lambda: cwe_row(rng, 10 + lines),
        "qa_1": lambda: qa_row(rng, lines),
    }
    if only:
        makers = {task: makers[task] for task in only}
    tables = {}
    for task, make in makers.items():
        config = Config("ruler", task, length)
        tables[config] = [full_row(make(), i, task, config.max_length) for i in range(rows)]
    tokenizers = {"tekken": {"spec": "?", "title": "Tekken", "library": "none", "version": "0"}}
    groups = {"some": list(makers)[:2], "all": list(makers)}
    return write_release(root, tables, seed=seed, groups=groups, tokenizers=tokenizers)


def full_row(row: Row, index: int, task: str, max_length: int) -> Row:
    """Fill the columns that a prompt does not need."""
    words = len((row["input"] + row["answer_prefix"]).split())
    return {
        "index": index,
        "task": task,
        "language": "en",
        "instruction_language": "en",
        "max_length": max_length,
        "length": words + row["max_new_tokens"],
        "context_start": 0,
        "context_end": 0,
        "question": "",
        "evidence": [],
        "none_word": "",
        **row,
    }
