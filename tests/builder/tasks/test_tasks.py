"""The 13 tasks, read back from their rows alone and held to ruler_spec.md and the laws.

`python tests/builder/test_tasks.py` prints the digests of GOLDEN anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from itertools import cycle, islice, pairwise
from pathlib import Path

import pytest
from scipy.special import zeta

from builder.common.parquet_rows import digest_row
from builder.context.counted_sources import CountedSources
from builder.sources import corpora
from builder.sources.download import Store
from builder.sources.registry import Sources, parse_choice
from builder.tasks.suite import Suite, read_suite
from builder.tasks.task import Row, Task, TaskKey
from builder.tokens.tokenizers import TokenCounter, load_counter
from ruler_dataset import COLUMNS, NIAH, TASKS, RulerError, parse_length

RULER = TASKS["ruler"]
RESERVE = 128
NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."

GOLDEN = {
    "niah_single_1": "8e33890ba9ca5160836a74e8f5058d2e56190d735e581e05e3e756dfabcabb36",
    "niah_single_2": "0265a7e1deac24f56c62d8a635a7823d25a504eaca6dd5af2770788a037ac84d",
    "niah_single_3": "f6331395019f894babeea275b70685e8b24a6b919c660b54b92e8d31e385dffc",
    "niah_multikey_1": "ae7b485ff80aa232d034a404192f1ca13ad9b5062b97437b777415375c5ab30b",
    "niah_multikey_2": "20ac9ef1a90c882ad2842a3ce8e40901eb2e9d8ec71954ad7afa6479b60fd15e",
    "niah_multikey_3": "069bba5548cc0c774a67194b01a9a19034c92726e897096718941fc3beb98045",
    "niah_multivalue": "0d37bca7d71d5ae33aa3ae9d23800db32acb0c05178e1b07f4182f1f7521ef45",
    "niah_multiquery": "435b49ae2c2aa525c576d8c79c8dda95f77ea4e746a158342ab39fb4a7049d18",
    "vt": "c32f276527f78067348a8a1bf0fcd9736e2c3747fe4fcca9eb46297d0f4ae879",
    "cwe": "14d05b2cf639a299beef20ae37baf10a75cdfde628847a9e24d219e86a910bf1",
    "fwe": "5f1d67f3d628bdd486d56ba20b32955595d9b5aaf5aa51f21970227ea7c6890d",
    "qa_1": "19346ab7ff954767c84ac31a07f1a110bb7263a08748fe26aace22c53c4aa702",
    "qa_2": "13add21c4847ec61006d5a39e8b8ecfd6a857c486c7ed504fec3576f13c17956",
}


def digests(counted_sources: CountedSources) -> dict[str, str]:
    """sha256 of rows 0 to 2 of each task at 4k."""
    found = {}
    for name in RULER:
        task, digest = task_of(counted_sources, name, "4k"), sha256()
        for index in range(3):
            digest_row(digest, task.row(index).columns())
        found[name] = digest.hexdigest()
    return found


def task_of(
    counted_sources: CountedSources,
    name: str,
    length: str,
    suite: Suite | None = None,
    seed: int = 0,
    reserve: int = RESERVE,
) -> Task:
    key = TaskKey(
        dataset="ruler", task=name, max_length=parse_length(length), reserve=reserve, seed=seed
    )
    return (suite or read_suite()).task(key, counted_sources)


@pytest.fixture(scope="session")
def own_texts(store: Store) -> Callable[[TokenCounter], CountedSources]:
    """The project's own texts under any tokenizer."""
    made: dict[int, CountedSources] = {}

    def counted_sources(counter: TokenCounter) -> CountedSources:
        if id(counter) not in made:
            sources = Sources(store, parse_choice(["embedded"]))
            made[id(counter)] = CountedSources(sources, counter)
        return made[id(counter)]

    return counted_sources


@pytest.fixture(scope="session")
def public_texts(mirror: Path) -> Callable[[TokenCounter], CountedSources]:
    """RULER's own texts, as far as the mirror holds them, under any tokenizer."""
    return lambda counter: CountedSources(Sources(Store(mirror)), counter)


read_corpus = cache(corpora.questions)

# ---- Frozen bytes ------------------------------------------------------------------------------


def test_the_rows_of_every_task_are_frozen(embedded: CountedSources) -> None:
    assert digests(embedded) == GOLDEN


def test_another_process_with_another_hash_seed_makes_the_same_rows() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    command = [sys.executable, __file__]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == GOLDEN


# ---- The wording, to the character -------------------------------------------------------------


def parts(row: Row) -> tuple[str, str, str]:
    start, end = row.context
    return row.input[:start], row.input[start:end], row.input[end:]


def keys_in(row: Row) -> list[str]:
    """The keys of the evidence, by the value they lead to."""
    texts = [row.input[e.start : e.end] for e in row.evidence if e.answer]
    key_of = {text.split(": ")[1][:-1]: text.split(" for ")[1].split(" is: ")[0] for text in texts}
    return [key_of[value] for value in row.outputs]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("niah_single_1", "number"),
        ("niah_single_2", "number"),
        ("niah_single_3", "uuid"),
        ("niah_multikey_1", "number"),
        ("niah_multikey_2", "number"),
        ("niah_multikey_3", "uuid"),
    ],
)
def test_a_question_for_one_value_is_worded_as_the_reference_code_words_it(
    embedded: CountedSources, name: str, kind: str
) -> None:
    row = task_of(embedded, name, "1k").row(0)
    head, context, tail = parts(row)
    (key,) = keys_in(row)
    (value,) = row.outputs
    assert head == (
        f"A special magic {kind} is hidden within the following text. Make sure to memorize it. "
        f"I will quiz you about the {kind} afterwards.\n"
    )
    assert f"One of the special magic {kind}s for {key} is: {value}." in context
    assert row.question == (
        f"What is the special magic {kind} for {key} mentioned in the provided text?"
    )
    assert tail == f"\n{row.question}"
    assert row.answer_prefix == (
        f" The special magic {kind} for {key} mentioned in the provided text is"
    )


@pytest.mark.parametrize("name", ["niah_multivalue", "niah_multiquery"])
def test_a_question_for_several_values_is_worded_as_the_reference_code_words_it(
    embedded: CountedSources, name: str
) -> None:
    row = task_of(embedded, name, "1k").row(0)
    head, context, tail = parts(row)
    keys = keys_in(row)
    a, b, c, d = keys
    query = a if name == "niah_multivalue" else f"{a}, {b}, {c}, and {d}"
    assert head == (
        "Some special magic numbers are hidden within the following text. Make sure to memorize "
        "it. I will quiz you about the numbers afterwards.\n"
    )
    for key, value in zip(keys, row.outputs, strict=True):
        assert f"One of the special magic numbers for {key} is: {value}." in context
    assert row.question == (
        f"What are all the special magic numbers for {query} mentioned in the provided text?"
    )
    assert tail == f"\n{row.question}"
    assert row.answer_prefix == (
        f" The special magic numbers for {query} mentioned in the provided text are"
    )


TRACK = "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n"
FIND = "Find all variables that are assigned the value {} in the text above."
TRACKED = (
    " Answer: According to the chain(s) of variable assignment in the text above, {} variables "
    "are assigned the value {}, they are: "
)


def test_variable_tracking_is_worded_as_the_reference_code_words_it(
    embedded: CountedSources,
) -> None:
    row = task_of(embedded, "vt", "2k").row(0)
    head, context, tail = parts(row)
    (value,) = re.findall(r"= (\d{5})$", context, re.MULTILINE)
    assert head.endswith(f"\n\n{TRACK}")
    assert row.question == FIND.format(value)
    assert tail == f"\nQuestion: {row.question}"
    assert row.answer_prefix == TRACKED.format(5, value)
    assert row.answer_prefix.endswith(": ")


def test_variable_tracking_begins_with_a_solved_example_of_the_same_form(
    embedded: CountedSources,
) -> None:
    row = task_of(embedded, "vt", "2k").row(0)
    example = row.input[: row.context[0]].removesuffix(TRACK)
    value = re.search(r"= (\d{5})\n", example)[1]  # type: ignore[index]
    names = re.findall(r"^VAR ([A-Z]{3}) = ", example, re.MULTILINE)
    lines = [
        f"VAR {name} = {source}"
        for name, source in zip(names, [value, *(f"VAR {n} " for n in names)], strict=False)
    ]
    context = example.removeprefix(TRACK).split("\nQuestion: ")[0]
    assert len(names) == 5
    assert [line for line in context.split("\n") if line != NOISE] == lines
    assert 500 - embedded.counter.count(NOISE + "\n") < embedded.counter.count(example) <= 500
    assert value not in row.input[row.context[0] :]
    assert example == (
        f"{TRACK}{context}\nQuestion: {FIND.format(value)}{TRACKED.format(5, value)}"
        f" {' '.join(names)}\n\n"
    )


LISTED = (
    "Below is a numbered list of words. In these words, some appear more often than others. "
    "Memorize the ones that appear most often.\n"
)
MOST_COMMON = "What are the 10 most common words in the above list?"
TOP = " Answer: The top 10 words that appear most often in the list are:"


@pytest.mark.parametrize(("length", "words", "counts"), [("4k", 40, (10, 3)), ("2k", 20, (3, 1))])
def test_common_words_is_worded_as_the_reference_code_words_it(
    embedded: CountedSources, length: str, words: int, counts: tuple[int, int]
) -> None:
    row = task_of(embedded, "cwe", length).row(0)
    head, context, tail = parts(row)
    example, empty = head.removeprefix(LISTED).split(f"\n{LISTED}")
    listed, answer = example.split(f"\nQuestion: {MOST_COMMON}{TOP} ")
    assert empty == ""
    assert context.startswith("1. ")
    assert row.question == MOST_COMMON
    assert tail == f"\nQuestion: {MOST_COMMON}"
    assert row.answer_prefix == TOP
    tally = Counter(numbered(listed))
    assert len(tally) == words
    common = [word for word in numbered(answer) if tally[word] == counts[0]]
    assert len(common) == 10
    assert answer == " ".join(f"{i}. {word}" for i, word in enumerate(common, 1))
    assert Counter(tally.values()) == {counts[0]: 10, counts[1]: words - 10}
    assert tally.keys().isdisjoint(numbered(context))


def test_frequent_words_is_worded_as_the_reference_code_words_it(embedded: CountedSources) -> None:
    row = task_of(embedded, "fwe", "1k").row(0)
    head, context, tail = parts(row)
    assert head == (
        "Read the following coded text and track the frequency of each coded word. "
        "Find the three most frequently appeared coded words. "
    )
    assert not context.startswith(" ")
    assert row.question == (
        "Do not provide any explanation. Please ignore the dots '....'. "
        "What are the three most frequently appeared words in the above coded text?"
    )
    assert tail == f"\nQuestion: {row.question}"
    assert row.answer_prefix == (
        " Answer: According to the coded text above, the three most frequently appeared words are:"
    )


@pytest.mark.parametrize("name", ["qa_1", "qa_2"])
def test_question_answering_is_worded_as_the_reference_code_words_it(
    embedded: CountedSources, name: str
) -> None:
    row = task_of(embedded, name, "2k").row(0)
    head, context, tail = parts(row)
    ask = (
        "Answer the question based on the given documents. "
        "Only give me the answer and do not output any other words."
    )
    assert head == f"{ask}\n\nThe following are given documents.\n\n"
    assert context.startswith("Document 1:\n")
    assert context == "\n\n".join(
        f"Document {i}:\n{text}" for i, text in enumerate(documents(context), 1)
    )
    assert tail == f"\n\n{ask}\n\nQuestion: {row.question}"
    assert row.answer_prefix == " Answer:"


@pytest.mark.parametrize("name", RULER)
def test_the_answers_room_is_the_familys(embedded: CountedSources, name: str) -> None:
    room = {"vt": 30, "cwe": 120, "fwe": 50, "qa_1": 32, "qa_2": 32}.get(name, 128)
    assert task_of(embedded, name, "2k").row(0).max_new_tokens == room


@pytest.mark.parametrize("name", RULER)
def test_a_row_has_the_columns_of_the_contract_in_order(
    embedded: CountedSources, name: str
) -> None:
    columns = task_of(embedded, name, "2k").row(3).columns()
    assert list(columns) == list(COLUMNS)
    assert (columns["index"], columns["task"], columns["max_length"]) == (3, name, 2048)
    assert (columns["language"], columns["instruction_language"]) == ("en", "en")
    assert columns["none_word"] == ""


def test_every_task_has_as_many_references_as_the_paper_says(embedded: CountedSources) -> None:
    found = {name: len(task_of(embedded, name, "2k").row(0).outputs) for name in RULER[:-2]}
    several = {"niah_multivalue": 4, "niah_multiquery": 4, "vt": 5, "cwe": 10, "fwe": 3}
    assert found == {name: several.get(name, 1) for name in RULER[:-2]}


# ---- The laws, by reading a row back -----------------------------------------------------------


def numbered(text: str) -> list[str]:
    return re.findall(r"\d+\. (\S+)", text)


def documents(context: str) -> list[str]:
    return re.split(r"(?:\A|\n\n)Document \d+:\n", context)[1:]


def haystack(row: Row) -> str:
    """The context without its evidence, each with the space or newline after it."""
    start, end = row.context
    for e in row.evidence:
        assert row.input[e.end : e.end + 1] in (" ", "\n")
    edges = [start, *(edge for e in row.evidence for edge in (e.start, e.end + 1)), end]
    return "".join(row.input[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


def check(row: Row, task: Task, suite: Suite | None = None) -> int:
    """Laws 1 to 4 of a row; returns the tokens that are free in its window."""
    family = (suite or read_suite()).tasks[row.key.task]["family"]
    spare = check_length(row, task, LARGEST_UNIT[family](row, task.counter))
    check_spans(row)
    LAW_3[family](row, task)
    return spare


def check_length(row: Row, task: Task, largest_unit: int) -> int:
    """Laws 1 and 2: exact, and full to within a unit like those that are in; the free tokens."""
    counted = task.counter.count(row.input + row.answer_prefix)
    assert row.length == counted + row.max_new_tokens
    spare = row.key.max_length - row.key.reserve - row.length
    assert spare >= 0
    if row.unit is not None:
        assert spare < row.unit
        assert spare < largest_unit
    return spare


def check_spans(row: Row) -> None:
    """Law 4: offsets are those of the text, depths those of the offsets."""
    start, end = row.context
    assert 0 < start < end < len(row.input)
    assert row.input.endswith(row.question)
    for e in row.evidence:
        assert start <= e.start < e.end <= end
        assert e.depth == pytest.approx((e.start - start) / (end - start))
    assert row.evidence == sorted(row.evidence, key=lambda e: e.start)


def check_only_in_evidence(row: Row) -> None:
    context = parts(row)[1]
    carrying = [row.input[e.start : e.end] for e in row.evidence if e.answer]
    for output in row.outputs:
        assert context.count(output) == sum(text.count(output) for text in carrying) > 0
        assert [output.casefold() in o.casefold() for o in row.outputs].count(True) == 1


def check_needles(row: Row, task: Task) -> None:
    p, context = task.params, parts(row)[1]
    needle = re.compile(r"One of the special magic (\w+) for (\S+) is: (\S+)\.(?!\S)")
    found = needle.findall(context)
    assert {types for types, _, _ in found} == {p.value_type}
    assert len({value for _, _, value in found}) == len(found)
    drawn: dict[str, set[str]] = {}
    for e in row.evidence:
        match = needle.fullmatch(row.input[e.start : e.end])
        assert match
        drawn.setdefault(match[2], set()).add(match[3])
    asked = re.split(", and |, ", re.search(r" for (.+) mentioned", row.question)[1])  # type: ignore[index]
    assert len(asked) == p.queries
    assert list(map(len, drawn.values())) == [p.values] * p.keys
    chunks = [set(row.outputs[i : i + p.values]) for i in range(0, len(row.outputs), p.values)]
    assert chunks == [drawn[key] for key in asked]
    assert [e.answer for e in row.evidence] == [
        any(key in row.input[e.start : e.end] for key in asked) for e in row.evidence
    ]
    tally = Counter(key for _, key, _ in found)
    assert all(times == (p.values if key in drawn else 1) for key, times in tally.items())
    everything = "\n".join(tally).casefold()
    assert all(everything.count(key.casefold()) == 1 for key in drawn)
    check_only_in_evidence(row)
    rest = haystack(row)
    if p.haystack == "essay":
        essay = corpora.essays(task.counted_sources.sources.read("essays")).split()
        assert rest.split() == list(islice(cycle(essay), len(rest.split())))
        assert "  " not in context
    elif p.haystack == "noise":
        assert set(rest.rstrip("\n").split("\n")) == {NOISE}
    else:
        assert len(found) == context.count("\n") + 1


def check_chains(row: Row, task: Task) -> None:
    p, context = task.params, parts(row)[1]
    lines = [line for line in context.split("\n") if line != NOISE]
    assert lines == [row.input[e.start : e.end] for e in row.evidence]
    bound: dict[str, str] = {}
    for line in lines:
        name, value = re.fullmatch(r"VAR ([A-Z]{5}) = (?:VAR (?=.* $))?(\w{5}) ?", line).groups()  # type: ignore[union-attr]
        assert name not in bound
        bound[name] = bound.get(value, value)
    chains = Counter(bound.values())
    assert list(chains.values()) == [p.hops + 1] * p.chains
    assert all(re.fullmatch(r"[1-9]\d{4}", value) for value in chains)
    asked = re.search(r"\d{5}", row.question)[0]  # type: ignore[index]
    assert [name for name, value in bound.items() if value == asked] == row.outputs
    assert [e.answer for e in row.evidence] == [bound[line[4:9]] == asked for line in lines]
    chain_of = [bound.get(line[4:9]) for line in context.split("\n")]
    assert chain_of[-1] is None  # noise comes last, and between two links of a chain
    assert all(a is None or a != b for a, b in pairwise(chain_of))
    check_only_in_evidence(row)


def check_common(row: Row, task: Task) -> None:
    p, context = task.params, parts(row)[1]
    words = numbered(context)
    assert context == " ".join(f"{i}. {word}" for i, word in enumerate(words, 1))
    short = row.key.max_length < 4096
    often, seldom = (6, 1) if short else (30, 3)
    tally = Counter(words)
    assert Counter(tally.values()) == {often: p.num_cw, seldom: len(tally) - p.num_cw}
    assert sorted(row.outputs) == sorted(word for word in tally if tally[word] == often)
    everything = "\n".join(tally).casefold()
    assert all(everything.count(word.casefold()) == 1 for word in row.outputs)
    assert row.evidence == []


def check_frequent(row: Row, task: Task) -> None:
    p, words = task.params, parts(row)[1].split(" ")
    tally = Counter(words).most_common()
    assert tally[0][0] == "..."
    assert [word for word, _ in tally[1 : p.words + 1]] == row.outputs
    leading = [times for _, times in tally[: p.words + 2]]
    assert leading == sorted(set(leading), reverse=True)
    assert all(re.fullmatch("[a-z]{6}", word) for word, _ in tally[1:])
    vocabulary = max(row.key.max_length // 50, p.words + 2)

    def expected(total: int) -> list[int]:
        shares = (total * k**-p.alpha / zeta(p.alpha) for k in range(1, vocabulary + 1))
        return [int(share) for share in shares if share >= 1]

    assert any(expected(n) == [t for _, t in tally] for n in range(len(words), 3 * len(words)))
    assert row.evidence == []


def check_documents(row: Row, task: Task) -> None:
    p, context = task.params, parts(row)[1]
    corpus = read_corpus(p.dataset, task.counted_sources.sources.read(p.dataset))
    question = corpus.questions[row.index]
    found = documents(context)
    labels = [int(i) for i in re.findall(r"^Document (\d+):$", context, re.MULTILINE)]
    assert labels == list(range(1, len(found) + 1))
    assert (row.question, row.outputs) == (question.text, list(question.answers))
    place = {text: i for i, text in enumerate(corpus.documents)}
    tally = Counter(place[text] for text in found)
    assert all(tally[gold] == 1 for gold in question.gold)
    assert {place[row.input[e.start : e.end]] for e in row.evidence} == set(question.gold)
    assert max(tally.values()) == (1 if row.repeats == 0 else row.repeats + 1)
    if corpus.own_required:
        assert all(tally[own] >= 1 for own in question.own)
    elif set(tally) - {*question.gold, *question.own}:
        assert {*question.own} <= set(tally)  # the own article comes before any other
    if p.documents:
        assert len(found) == p.documents
    elif row.unit is None:
        assert len(tally) == len(corpus.documents)
    for e in row.evidence:
        holds = any(a.casefold() in row.input[e.start : e.end].casefold() for a in row.outputs)
        assert e.answer == holds or not any(
            a.casefold() in corpus.documents[gold].casefold()
            for a in row.outputs
            for gold in question.gold
        )


LAW_3: dict[str, Callable[[Row, Task], None]] = {
    "niah": check_needles,
    "variable_tracking": check_chains,
    "common_words": check_common,
    "frequent_words": check_frequent,
    "question_answering": check_documents,
}


def largest(counter: TokenCounter, texts: list[str]) -> int:
    """Tokens of the largest of some texts, and a little for what stands between them."""
    return max(counter.counts(list(set(texts)))) + 1


LARGEST_UNIT: dict[str, Callable[[Row, TokenCounter], int]] = {
    "niah": lambda row, counter: largest(
        counter, re.split("\n" if "\n" in parts(row)[1] else " ", parts(row)[1])
    ),
    "variable_tracking": lambda row, counter: largest(counter, parts(row)[1].split("\n")),
    "common_words": lambda row, counter: (
        3 * largest(counter, [f" {word}" for word in parts(row)[1].split(" ")])
        + 3 * largest(counter, [" 10000."])
    ),
    "frequent_words": lambda row, counter: 8 * largest(counter, parts(row)[1].split(" ")),
    "question_answering": lambda row, counter: largest(
        counter, [f"Document 99:\n{text}\n\n" for text in documents(parts(row)[1])]
    ),
}
"""Tokens of the largest unit of a row's own haystack; the next one could hardly be larger."""


@pytest.mark.parametrize("length", ["1k", "2k", "4k", "16k"])
@pytest.mark.parametrize("name", RULER)
def test_rows_keep_the_laws_at_every_length(
    embedded: CountedSources, name: str, length: str
) -> None:
    task = task_of(embedded, name, length)
    for index in (0, 1, 7, 42):
        assert check(task.row(index), task) >= 0


@pytest.mark.parametrize("kind", ["gpt2", "unigram", "whole"])
@pytest.mark.parametrize("name", RULER)
def test_rows_keep_the_laws_with_few_seams_or_none(
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
    kind: str,
) -> None:
    task = task_of(own_texts(counter_made(kind)), name, "2k")
    for index in (0, 1):
        assert check(task.row(index), task) >= 0


@pytest.mark.parametrize("name", ["cwe", "fwe"])
def test_lists_are_full_where_some_of_their_words_join(
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
) -> None:
    counter = counter_made("dotted")  # ". a" is one token
    task = task_of(own_texts(counter), name, "2k")
    rows = [task.row(index) for index in range(40)]
    assert sum(". a" in parts(row)[1] for row in rows) > 10
    for row in rows:
        check(row, task)


@pytest.mark.parametrize("tokenizer", ["cl100k_base", "qwen2.5", "gemma3"])
def test_rows_of_the_public_sources_keep_the_laws(
    public_texts: Callable[[TokenCounter], CountedSources],
    counter_of: Callable[[str], TokenCounter],
    tokenizer: str,
) -> None:
    counted_sources = public_texts(counter_of(tokenizer))
    for name in RULER:
        task = task_of(counted_sources, name, "4k")
        for index in (0, 1, 2):
            assert check(task.row(index), task) >= 0


@pytest.mark.parametrize("name", ["niah_single_2", "niah_multikey_2", "vt", "cwe", "fwe"])
def test_a_row_of_a_million_tokens_is_exact(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "1m")
    row = task.row(0)
    counted = embedded.counter.count(row.input + row.answer_prefix)
    assert row.length == counted + row.max_new_tokens
    assert row.unit is not None
    assert 0 <= 2**20 - RESERVE - row.length < row.unit <= 40
    assert (row.repeats > 0) == (name == "niah_single_2")


def test_beyond_128k_common_words_adds_the_most_frequent_other_words(
    embedded: CountedSources,
) -> None:
    from builder.sources import word_lists

    known = {word.casefold() for word in word_lists.vocabulary()}
    task = task_of(embedded, "cwe", "256k")
    row = task.row(0)
    check(row, task)
    found = {word.casefold() for word in numbered(parts(row)[1])}
    assert len(found & known) > 8000
    assert found - known
    assert found - known <= set(word_lists.extension()[: 2**18 // 3])


@pytest.mark.parametrize("kind", ["unigram", "wordpiece"])
@pytest.mark.parametrize("name", ["qa_1", "qa_2"])
def test_no_document_left_out_fits_where_counts_do_not_add_up(
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
    kind: str,
) -> None:
    task = task_of(own_texts(counter_made(kind)), name, "2k")
    counter = task.counter
    for index in range(12):
        row = task.row(index)
        found = documents(parts(row)[1])
        left = set(task.counted_sources.corpus(task.params.dataset).documents.texts) - set(found)
        smallest = min(left, key=counter.count)
        head, context, tail = parts(row)
        fuller = f"{head}{context}\n\nDocument {len(found) + 1}:\n{smallest}{tail}"
        tokens = counter.count(fuller + row.answer_prefix) + row.max_new_tokens
        assert row.length <= 2048 - RESERVE < tokens


# ---- Law 4: gold documents and needles everywhere ----------------------------------------------


@pytest.mark.parametrize("name", ["qa_1", "qa_2", "vt", "niah_single_1", "niah_single_2"])
def test_evidence_is_spread_over_the_whole_context(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "8k")
    depths = [e.depth for index in range(60) for e in task.row(index).evidence]
    fifths = Counter(min(4, int(depth * 5)) for depth in depths)
    expected = len(depths) / 5
    assert all(0.4 * expected < fifths[i] < 1.8 * expected for i in range(5)), fifths


def test_needles_in_essays_stand_at_the_40_depths(embedded: CountedSources) -> None:
    task = task_of(embedded, "niah_multiquery", "16k")
    depths = [e.depth for index in range(100) for e in task.row(index).evidence]
    assert max(min(abs(depth - k / 39) for k in range(40)) for depth in depths) < 0.013
    assert len({round(depth * 39) for depth in depths}) == 40


def test_common_words_are_shuffled_anew_for_each_row(embedded: CountedSources) -> None:
    task = task_of(embedded, "cwe", "4k")
    places = []
    for index in range(3):
        row = task.row(index)
        common = set(row.outputs)
        places.append([i for i, word in enumerate(numbered(parts(row)[1])) if word in common])
    assert places[0] != places[1] != places[2] != places[0]


@pytest.mark.parametrize("name", ["qa_1", "qa_2"])
def test_other_documents_are_drawn_anew_for_each_row(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "8k")
    corpus = task.counted_sources.corpus(task.params.dataset)
    others = []
    for index in range(3):
        question = corpus.questions[index]
        own = {corpus.documents.texts[i] for i in (*question.gold, *question.own)}
        others.append([text for text in documents(parts(task.row(index))[1]) if text not in own])
    assert all(len(texts) > 5 for texts in others)
    sets = [set(texts) for texts in others]
    assert sets[0] != sets[1] != sets[2] != sets[0]
    assert [t for t in others[0] if t in sets[1]] != [t for t in others[1] if t in sets[0]]


@pytest.mark.parametrize("name", ["niah_multikey_2", "niah_multikey_3"])
def test_other_needles_are_drawn_anew_for_each_row(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "4k")
    lines = [set(haystack(task.row(index)).split("\n")) - {""} for index in range(5)]
    assert all(len(found) > 25 for found in lines)
    assert all(one.isdisjoint(other) for i, one in enumerate(lines) for other in lines[:i])
    assert not task.same_beginning


@pytest.mark.parametrize("name", ["niah_multikey_2", "niah_multikey_3"])
def test_a_row_has_the_same_other_needles_under_every_tokenizer(
    embedded: CountedSources,
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
) -> None:
    long = haystack(task_of(embedded, name, "4k").row(3))
    short = haystack(task_of(own_texts(counter_made("whole")), name, "4k").row(3))
    assert len(short) > 1000
    assert long.startswith(short.rstrip("\n"))


SHARED = [name for name in (*NIAH, "vt") if name not in ("niah_multikey_2", "niah_multikey_3")]


@pytest.mark.parametrize("name", SHARED)
def test_the_haystack_begins_with_the_same_text_in_every_row(
    embedded: CountedSources, name: str
) -> None:
    task = task_of(embedded, name, "4k")
    assert len({haystack(task.row(index))[:2000] for index in range(5)}) == 1


# ---- Law 5: what is asked depends on the key alone ---------------------------------------------


def asked(row: Row) -> tuple[str, list[str]]:
    return row.question, row.outputs


@pytest.mark.parametrize("name", RULER)
def test_an_index_asks_the_same_at_every_length_and_under_every_tokenizer(
    embedded: CountedSources,
    own_texts: Callable[[TokenCounter], CountedSources],
    counter_made: Callable[[str], TokenCounter],
    name: str,
) -> None:
    other = own_texts(counter_made("whole"))
    for index in (0, 5):
        expected = asked(task_of(embedded, name, "4k").row(index))
        assert asked(task_of(embedded, name, "16k").row(index)) == expected
        assert asked(task_of(other, name, "16k").row(index)) == expected


@pytest.mark.parametrize("name", [*NIAH, "vt", "qa_1", "qa_2"])
def test_an_index_has_the_same_relative_depths_at_every_length(
    embedded: CountedSources, name: str
) -> None:
    for index in (0, 5):
        long = task_of(embedded, name, "128k").row(index).evidence
        longer = task_of(embedded, name, "256k").row(index).evidence
        assert [e.depth for e in long] == pytest.approx([e.depth for e in longer], abs=0.01)


@pytest.mark.parametrize("name", RULER)
def test_a_row_is_the_same_alone_and_in_any_order(
    embedded: CountedSources, own_texts: Callable[[TokenCounter], CountedSources], name: str
) -> None:
    task = task_of(embedded, name, "2k")
    rows = [task.row(index).columns() for index in range(4)]
    task_of(embedded, name, "4k").row(0)
    assert [task.row(index).columns() for index in (3, 2, 1, 0)] == rows[::-1]
    alone = CountedSources(Sources(Store(None), parse_choice(["embedded"])), embedded.counter)
    assert task_of(alone, name, "2k").row(2).columns() == rows[2]


@pytest.mark.parametrize("name", RULER)
def test_different_indices_ask_different_things(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "2k")
    assert len({str(asked(task.row(index))) for index in range(12)}) == 12


@pytest.mark.parametrize("name", RULER)
def test_the_reserve_changes_the_filling_and_not_what_is_asked(
    embedded: CountedSources, name: str
) -> None:
    task, roomier = (task_of(embedded, name, "4k", reserve=r) for r in (0, 500))
    for index in (0, 3):
        assert asked(task.row(index)) == asked(roomier.row(index))
        check(task.row(index), task)
        check(roomier.row(index), roomier)


@pytest.mark.parametrize("name", RULER)
def test_another_seed_makes_other_rows(embedded: CountedSources, name: str) -> None:
    row, other = (task_of(embedded, name, "4k", seed=seed).row(0) for seed in (0, 1))
    assert row.input != other.input
    assert (asked(row) == asked(other)) == name.startswith("qa")  # the corpus' order is kept


def test_questions_keep_the_order_of_their_file(embedded: CountedSources) -> None:
    for name, corpus in (("qa_1", "squad"), ("qa_2", "hotpotqa")):
        task = task_of(embedded, name, "4k")
        expected = corpora.questions(corpus, embedded.sources.read(corpus)).questions
        assert task.limit() == len(expected)
        found = [task.row(index).question for index in range(20)]
        assert found == [question.text for question in expected[:20]]


def test_the_rest_of_an_article_comes_before_other_documents(embedded: CountedSources) -> None:
    task = task_of(embedded, "qa_1", "4k")
    corpus = task.counted_sources.corpus("squad")
    for index in range(10):
        found = set(documents(parts(task.row(index))[1]))
        own = {corpus.documents.texts[i] for i in corpus.questions[index].own}
        assert own <= found


# ---- A suite of one's own ----------------------------------------------------------------------

OWN = """
[tasks.needles]
family = "niah"
keys = 3
values = 2
queries = 2

[tasks.noisy]
family = "niah"
haystack = "noise"
key_type = "uuids"
value_type = "uuids"
keys = 5

[tasks.lines]
family = "niah"
haystack = "needles"
key_type = "numbers"
value_type = "words"
keys = 2
values = 3

[tasks.numbers]
family = "niah"
key_type = "numbers"
value_type = "numbers"
keys = 20
values = 2

[tasks.chains]
family = "variable_tracking"
chains = 3
hops = 2

[tasks.common]
family = "common_words"
num_cw = 5

[tasks.frequent]
family = "frequent_words"
alpha = 1.5
words = 4

[tasks.steep]
family = "frequent_words"
alpha = 3
words = 1

[tasks.ties]
family = "frequent_words"
words = 8

[tasks.documents]
family = "question_answering"
documents = 5

[tasks.brief]
family = "question_answering"
dataset = "hotpotqa"
max_new_tokens = 8

[groups]
counted = ["common", "frequent"]
"""


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    path = tmp_path_factory.mktemp("suite") / "own.toml"
    path.write_text(OWN)
    return read_suite(path)


@pytest.mark.parametrize("name", re.findall(r"\[tasks\.(\w+)\]", OWN))
def test_tasks_of_ones_own_keep_the_laws(embedded: CountedSources, own: Suite, name: str) -> None:
    for length in ("2k", "8k"):
        task = task_of(embedded, name, length, own)
        for index in range(3):
            row = task.row(index)
            check(row, task, own)
            assert row.unit is not None or name == "documents"


def test_a_suite_of_ones_own_has_its_names_and_groups(own: Suite) -> None:
    assert own.names.expand("counted") == ("common", "frequent")
    assert own.names.expand("all") == own.names.tasks
    assert own.names.parse("needles_4k").max_length == 4096
    assert own.params["brief"].max_new_tokens == 8
    assert own.described()["chains"] == {
        "family": "variable_tracking",
        "max_new_tokens": 30,
        "chains": 3,
        "hops": 2,
    }


def test_a_suite_of_ones_own_can_word_a_family(embedded: CountedSources, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        '[families.question_answering]\nprefix = " A:"\nmax_new_tokens = 5\n'
        '[tasks.short]\nfamily = "question_answering"\n'
    )
    row = task_of(embedded, "short", "2k", read_suite(path)).row(0)
    assert (row.answer_prefix, row.max_new_tokens) == (" A:", 5)
    assert row.input.startswith("Answer the question based on the given documents.")


def test_the_standard_suite_is_table_5() -> None:
    suite = read_suite()
    assert suite.names.tasks == RULER
    described = suite.described()
    table = {
        "niah_single_1": ("noise", "words", "numbers", 1, 1, 1),
        "niah_single_2": ("essay", "words", "numbers", 1, 1, 1),
        "niah_single_3": ("essay", "words", "uuids", 1, 1, 1),
        "niah_multikey_1": ("essay", "words", "numbers", 4, 1, 1),
        "niah_multikey_2": ("needles", "words", "numbers", 1, 1, 1),
        "niah_multikey_3": ("needles", "uuids", "uuids", 1, 1, 1),
        "niah_multivalue": ("essay", "words", "numbers", 1, 4, 1),
        "niah_multiquery": ("essay", "words", "numbers", 4, 1, 4),
    }
    columns = ("haystack", "key_type", "value_type", "keys", "values", "queries")
    for name, row in table.items():
        assert tuple(described[name][column] for column in columns) == row
    assert (described["vt"]["chains"], described["vt"]["hops"]) == (1, 4)
    cwe = described["cwe"]
    assert (cwe["num_cw"], cwe["freq_cw"], cwe["freq_ucw"]) == (10, 30, 3)
    assert (cwe["short_freq_cw"], cwe["short_freq_ucw"]) == (6, 1)
    assert (described["fwe"]["alpha"], described["fwe"]["words"]) == (2.0, 3)
    assert (described["qa_1"]["dataset"], described["qa_2"]["dataset"]) == ("squad", "hotpotqa")


# ---- Refusals ----------------------------------------------------------------------------------


def own_task(family: str, **parameters: object) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in parameters.items()]
    return "\n".join(["[tasks.mine]", f'family = "{family}"', *lines])


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (own_task("niah", haystak="noise"), "parameter of task 'mine' 'haystak'. Did you mean"),
        (own_task("niah", haystack="grass"), "haystack must be one of noise, essay, needles"),
        (own_task("niah", key_type="colours"), "key_type and value_type must be of words, numb"),
        (own_task("niah", keys=0), "keys, values, queries start at 1"),
        (own_task("niah", keys="4"), "Task 'mine': keys must be int, not '4'"),
        (own_task("niah", keys=4.5), "keys must be int, not 4.5"),
        (own_task("niah", keys=True), "keys must be int, not True"),
        (own_task("niah", keys=2, queries=3), "queries cannot be more than keys"),
        (own_task("niah", keys=9, values=5), "keys x values cannot be more than 40"),
        (own_task("niah", max_new_tokens=0), "max_new_tokens must be at least 1"),
        (own_task("variable_tracking", chains=0), "chains must be 1 to 100"),
        (own_task("variable_tracking", hops=101), "hops must be 1 to 100"),
        (own_task("common_words", num_cw=20), "num_cw must be 1 to 19"),
        (own_task("common_words", freq_cw=3), "freq_cw must be more than freq_ucw"),
        (own_task("common_words", short_freq_ucw=6), "short_freq_cw must be more than"),
        (own_task("frequent_words", alpha=1.0), "alpha must be above 1"),
        (own_task("frequent_words", words=11), "words must be 1 to 10"),
        (own_task("question_answering", dataset="trivia"), "dataset must be one of squad, hotpot"),
        (own_task("question_answering", documents=-1), "documents must be 1 or more, or 0"),
        (own_task("needle"), "Unknown family 'needle'."),
        ("[tasks.mine]\nkeys = 2", "Task 'mine' names no family: add family ="),
        ("[tasks.mine]\nfamily = 3", "Unknown family '3'."),
        ("tasks = 3", "tasks must be a table, not 3"),
        ("[tasks]\nmine = 3", "mine must be a table, not 3"),
        ("", "defines no task: add a table [tasks.NAME]"),
        ("[task.mine]\nkeys = 2", "Unknown suite key 'task'. Did you mean 'tasks'?"),
        (
            'dataset = "oneruler"\n[tasks.mine]\nfamily = "niah"',
            "Unknown family 'niah'. Known: multilingual_niah",
        ),
        ('[tasks.mine_4k]\nfamily = "niah"', "'mine_4k' cannot name a task or group"),
        ('[tasks."../mine"]\nfamily = "niah"', "'../mine' cannot name a task or group"),
        (own_task("niah") + '\n[groups]\nall_of = ["yours"]', "task in group 'all_of' 'yours'"),
        (own_task("niah") + '\n[groups]\nall_of = "mine"', "'all_of' must be a list of tasks"),
        (own_task("niah") + '\n[groups]\nmine = ["mine"]', "names both a task and a group"),
        (own_task("niah") + "\n[families.nia]\nneedle = 3", "Unknown family 'nia'. Did you mean"),
        ("[tasks.mine", "is not valid TOML"),
    ],
)
def test_a_suite_that_cannot_be_is_refused_with_a_sentence(
    tmp_path: Path, toml: str, said: str
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(toml)
    with pytest.raises(RulerError) as refusal:
        read_suite(path)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_suite_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RulerError, match=r"Cannot read .*none\.toml"):
        read_suite(tmp_path / "none.toml")


@pytest.mark.parametrize("name", RULER)
def test_a_window_too_small_for_a_task_is_refused_before_any_work(
    embedded: CountedSources, name: str
) -> None:
    task = task_of(embedded, name, "1k", reserve=860)
    with pytest.raises(
        RulerError, match=r"needs? \d+ tokens.* leaves \d+: take a longer length\.$"
    ):
        task.check(500 if task.limit() is None else min(500, task.limit()))


@pytest.mark.parametrize(
    ("toml", "needed"),
    [
        (own_task("variable_tracking", chains=4, hops=12), range(45, 70)),
        (own_task("niah", keys=8, values=4, queries=8, value_type="uuids"), range(700, 1200)),
        (own_task("niah", max_new_tokens=8, value_type="uuids"), range(25, 40)),
        (own_task("question_answering", max_new_tokens=1), range(2, 20)),
    ],
)
def test_answers_that_do_not_fit_are_refused_with_the_number_that_does(
    embedded: CountedSources, tmp_path: Path, toml: str, needed: range
) -> None:
    def refusal_of(text: str) -> str:
        path = tmp_path / "own.toml"
        path.write_text(text)
        try:
            task_of(embedded, "mine", "4k", read_suite(path)).check_answers(40)
        except RulerError as error:
            return str(error)
        return ""

    said = refusal_of(toml)
    number = int(re.search(r"give the task max_new_tokens = (\d+) in a suite", said)[1])  # type: ignore[index]
    assert number in needed
    bare = re.sub(r"\nmax_new_tokens = .*", "", toml)
    assert refusal_of(f"{bare}\nmax_new_tokens = {number - 1}") == said.replace(
        re.search(r"max_new_tokens is (\d+)", said)[0],
        f"max_new_tokens is {number - 1}",  # type: ignore[index]
    )
    assert refusal_of(f"{bare}\nmax_new_tokens = {number}") == ""


@pytest.mark.parametrize("alpha", [3.5, 10])
def test_words_that_never_lead_are_refused_before_any_work(
    embedded: CountedSources, tmp_path: Path, alpha: float
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(own_task("frequent_words", alpha=alpha, words=10))
    with pytest.raises(RulerError, match="never lead the next: take a longer length"):
        task_of(embedded, "mine", "4k", read_suite(path)).check(1)


@pytest.mark.parametrize("name", RULER)
def test_a_window_that_holds_the_task_passes_the_check(embedded: CountedSources, name: str) -> None:
    task = task_of(embedded, name, "2k")
    rows = min(500, task.limit() or 500)
    task.check(rows)
    assert task.row(rows - 1).length <= 2048 - RESERVE


@pytest.mark.parametrize(
    ("wording", "said"),
    [
        ('[families.niah]\nneedle = "{key} is {valeu}."', "may use {key}, {types}, {value}"),
        ('[families.common_words]\ninput = "no context"', "holds {context} once"),
        ("[families.common_words]\nprefix = 7", "must be of the kind"),
        ('[families.common_words]\nprefix = " {n"', "malformed"),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused(
    tmp_path: Path, wording: str, said: str
) -> None:
    path = tmp_path / "my.toml"
    path.write_text(f'[tasks.mine]\nfamily = "niah"\n{wording}\n', encoding="utf-8")
    with pytest.raises(RulerError) as error:
        read_suite(path)
    assert said in str(error.value)


if __name__ == "__main__":
    texts = Sources(Store(None), parse_choice(["embedded"]))
    print(json.dumps(digests(CountedSources(texts, load_counter("tekken", Store(None)))), indent=4))
