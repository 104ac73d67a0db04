"""A row read back from its columns alone, and held to the laws."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import cycle, islice, pairwise

import pytest

from ruler_builder.suites.suite import Suite, read_suite
from ruler_builder.tasks.base import NewRow, Task, TaskKey
from ruler_builder.text import corpora
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.counted_sources import CountedSources
from ruler_common.names import TASKS, parse_length

RULER = TASKS["ruler"]


RESERVE = 128


NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."


def task_of(
    counted_sources: CountedSources,
    name: str,
    length: str,
    suite: Suite | None = None,
    seed: int = 0,
    reserve: int = RESERVE,
) -> Task:
    suite = suite or read_suite()
    key = TaskKey(
        dataset=suite.dataset,
        task=name,
        max_length=parse_length(length, suite.dataset),
        reserve=reserve,
        seed=seed,
    )
    return suite.task(key, counted_sources)


def parts(row: NewRow) -> tuple[str, str, str]:
    start, end = row.context
    return row.input[:start], row.input[start:end], row.input[end:]


def keys_in(row: NewRow) -> list[str]:
    """The keys of the evidence, by the value they lead to."""
    texts = [row.input[e.start : e.end] for e in row.evidence if e.answer]
    key_of = {text.split(": ")[1][:-1]: text.split(" for ")[1].split(" is: ")[0] for text in texts}
    return [key_of[value] for value in row.outputs]


def numbered(text: str) -> list[str]:
    return re.findall(r"\d+\. (\S+)", text)


def documents(context: str) -> list[str]:
    return re.split(r"(?:\A|\n\n)Document \d+:\n", context)[1:]


def haystack(row: NewRow) -> str:
    """The context without its evidence, each with the space or newline after it."""
    start, end = row.context
    for e in row.evidence:
        assert row.input[e.end : e.end + 1] in (" ", "\n")
    edges = [start, *(edge for e in row.evidence for edge in (e.start, e.end + 1)), end]
    return "".join(row.input[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


def check(row: NewRow, task: Task, suite: Suite | None = None) -> int:
    """Laws 1 to 4 of a row; returns the tokens that are free in its window."""
    family = (suite or read_suite()).family_of[row.key.task]
    spare = check_length(row, task, LARGEST_UNIT[family](row, task.counter))
    check_spans(row)
    LAW_3[family](row, task)
    return spare


def check_length(row: NewRow, task: Task, largest_unit: int) -> int:
    """Laws 1 and 2: exact, and full to within a unit like those that are in; the free tokens."""
    counted = task.counter.count(row.input + row.answer_prefix)
    assert row.length == counted + row.max_new_tokens
    spare = row.key.max_length - row.key.reserve - row.length
    assert spare >= 0
    if row.next_unit_tokens is not None:
        assert spare < row.next_unit_tokens
        assert spare < largest_unit
    return spare


def check_spans(row: NewRow) -> None:
    """Law 4: offsets are those of the text, depths those of the offsets."""
    start, end = row.context
    assert 0 < start < end < len(row.input)
    assert row.input.endswith(row.question)
    for e in row.evidence:
        assert start <= e.start < e.end <= end
        assert e.depth == pytest.approx((e.start - start) / (end - start))
    assert row.evidence == sorted(row.evidence, key=lambda e: e.start)


def check_only_in_evidence(row: NewRow) -> None:
    context = parts(row)[1]
    carrying = [row.input[e.start : e.end] for e in row.evidence if e.answer]
    for output in row.outputs:
        assert context.count(output) == sum(text.count(output) for text in carrying) > 0
        assert [output.casefold() in o.casefold() for o in row.outputs].count(True) == 1


def check_needles(row: NewRow, task: Task) -> None:
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


def check_chains(row: NewRow, task: Task) -> None:
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


def check_common(row: NewRow, task: Task) -> None:
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


def check_frequent(row: NewRow, task: Task) -> None:
    from scipy.special import zeta  # takes a moment, and only this check needs it

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


def check_documents(row: NewRow, task: Task) -> None:
    p, context = task.params, parts(row)[1]
    corpus = corpora.questions(p.dataset, task.counted_sources.sources.read(p.dataset))
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
    elif row.next_unit_tokens is None:
        assert len(tally) == len(corpus.documents)
    for e in row.evidence:
        holds = any(a.casefold() in row.input[e.start : e.end].casefold() for a in row.outputs)
        assert e.answer == holds or not any(
            a.casefold() in corpus.documents[gold].casefold()
            for a in row.outputs
            for gold in question.gold
        )


LAW_3: dict[str, Callable[[NewRow, Task], None]] = {
    "niah": check_needles,
    "variable_tracking": check_chains,
    "common_words": check_common,
    "frequent_words": check_frequent,
    "question_answering": check_documents,
}


def largest(counter: TokenCounter, texts: list[str]) -> int:
    """Tokens of the largest of some texts, and a little for what stands between them."""
    return max(counter.counts(list(set(texts)))) + 1


LARGEST_UNIT: dict[str, Callable[[NewRow, TokenCounter], int]] = {
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


def own_task(family: str, **parameters: object) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in parameters.items()]
    return "\n".join(["[tasks.mine]", f'family = "{family}"', *lines])
