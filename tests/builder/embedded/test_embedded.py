from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from ruler_builder.text import corpora
from ruler_builder.text.corpora import Corpus
from ruler_builder.text.sources import registry
from ruler_builder.window.counted_sources import CountedSources


def squad(embedded: CountedSources) -> Corpus:
    return corpora.questions("squad", embedded.sources.read("squad"))


def hotpotqa(embedded: CountedSources) -> Corpus:
    return corpora.questions("hotpotqa", embedded.sources.read("hotpotqa"))


@pytest.fixture
def two_hop(embedded: CountedSources) -> list[dict[str, Any]]:
    return json.loads(embedded.sources.read("hotpotqa"))


@pytest.mark.parametrize("name", ["essays", "squad", "hotpotqa"])
def test_the_files_are_the_pinned_ones(name: str) -> None:
    file = registry()[name].embedded.file
    data = (files("ruler_builder") / "embedded" / file.path).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (file.bytes, file.sha256)


def test_the_essays_are_at_least_60_kb(embedded_text: str) -> None:
    assert len(embedded_text.encode()) >= 60_000


def test_the_essays_are_varied_prose(embedded_text: str) -> None:
    paragraphs = [line for line in embedded_text.split("\n") if len(line) > 200]
    assert len(paragraphs) >= 100
    assert len(set(paragraphs)) == len(paragraphs)
    words = [word.casefold() for word in re.findall(r"[A-Za-z]+", embedded_text)]
    assert len(set(words)) > 3000
    assert Counter(words)["the"] / len(words) < 0.08
    runs = Counter(zip(*(words[i:] for i in range(8)), strict=False))
    assert max(runs.values()) <= 3


def test_the_essays_hold_nothing_that_looks_like_a_needle(embedded: CountedSources) -> None:
    text = embedded.sources.read("essays").decode()
    assert not re.search(r"special magic|VAR |\d{5}", text)
    assert embedded.essays.numbers == frozenset()


def test_there_are_at_least_120_paragraphs_and_160_single_hop_questions(
    embedded: CountedSources,
) -> None:
    corpus = squad(embedded)
    assert len(corpus.documents) >= 120
    assert len(corpus.questions) >= 160
    assert len({question.text for question in corpus.questions}) == len(corpus.questions)


def test_some_single_hop_questions_have_several_answers(embedded: CountedSources) -> None:
    several = [q for q in squad(embedded).questions if len(q.answers) > 1]
    assert len(several) >= 20


def test_every_single_hop_answer_stands_in_its_paragraph(embedded: CountedSources) -> None:
    data = json.loads(embedded.sources.read("squad"))
    for article in data["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                for answer in qa["answers"]:
                    start = answer["answer_start"]
                    found = paragraph["context"][start : start + len(answer["text"])]
                    assert found == answer["text"], qa["question"]


def test_every_article_has_several_paragraphs(embedded: CountedSources) -> None:
    assert all(question.own for question in squad(embedded).questions)


def test_there_are_at_least_200_titled_documents_and_100_two_hop_questions(
    embedded: CountedSources, two_hop: list[dict[str, Any]]
) -> None:
    corpus = hotpotqa(embedded)
    assert len(corpus.documents) >= 200
    titles = [document.split("\n")[0] for document in corpus.documents]
    assert len(set(titles)) == len(titles)
    assert len(two_hop) >= 100
    assert len({entry["question"] for entry in two_hop}) == len(two_hop)


def test_every_two_hop_question_needs_two_documents_of_its_context(
    embedded: CountedSources, two_hop: list[dict[str, Any]]
) -> None:
    for entry, question in zip(two_hop, hotpotqa(embedded).questions, strict=True):
        sentences = dict(entry["context"])
        assert len(question.gold) == 2
        assert all(i < len(sentences[title]) for title, i in entry["supporting_facts"])


def test_every_two_hop_answer_stands_in_its_gold_documents_unless_it_is_yes_or_no(
    embedded: CountedSources,
) -> None:
    corpus = hotpotqa(embedded)
    for question in corpus.questions:
        (answer,) = question.answers
        gold = " ".join(corpus.documents[i] for i in question.gold)
        assert answer in ("yes", "no") or answer in gold, question.text


def test_no_two_hop_question_gives_its_answer_away(embedded: CountedSources) -> None:
    for question in hotpotqa(embedded).questions:
        (answer,) = question.answers
        comparison = re.search(r"\bor\b|\bof the two\b|^Which of|^Who of", question.text)
        assert comparison or not re.search(rf"\b{re.escape(answer)}\b", question.text), question


def test_one_gold_document_of_a_bridge_question_leads_to_the_other(
    embedded: CountedSources, two_hop: list[dict[str, Any]]
) -> None:
    corpus = hotpotqa(embedded)
    entries = zip(two_hop, corpus.questions, strict=True)
    bridges = [question for entry, question in entries if entry["type"] == "bridge"]
    assert len(bridges) >= 50
    for question in bridges:
        first, second = (corpus.documents[i].casefold() for i in question.gold)
        title, other = first.split("\n")[0], second.split("\n")[0]
        assert title in second or other in first, question.text
