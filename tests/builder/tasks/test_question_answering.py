"""qa_1 and qa_2: questions in order, and as many documents as fit."""

from __future__ import annotations

import pytest

from ruler_builder.text import corpora
from tests.builder.tasks.row_reading import RESERVE, documents, parts, task_of
from tests.nightly import mostly_nightly


@pytest.mark.parametrize("kind", ["unigram", "wordpiece"])
@pytest.mark.parametrize("name", mostly_nightly(2, ["qa_1", "qa_2"]))
def test_no_other_document_fits_if_counts_do_not_add_up(trained_sources, name, kind):
    task = task_of(trained_sources(kind), name, "2k")
    counter = task.counter
    for index in range(12):
        row = task.row(index).columns
        head, context, tail = parts(row)
        used = documents(context)
        unused = set(task.counted_sources.documents(task.params.dataset)[0].documents) - set(used)
        smallest = min(unused, key=counter.count)
        fuller = f"{head}{context}\n\nDocument {len(used) + 1}:\n{smallest}{tail}"
        tokens = counter.count(fuller + row["answer_prefix"]) + row["max_new_tokens"]
        assert row["length"] <= 2048 - RESERVE < tokens


def test_questions_keep_the_order_of_their_file(embedded):
    for name, corpus in (("qa_1", "squad"), ("qa_2", "hotpotqa")):
        task = task_of(embedded, name, "4k")
        expected = corpora.questions(corpus, embedded.sources.read(corpus)).questions
        assert task.max_rows == len(expected)
        questions = [task.row(index).columns["question"] for index in range(20)]
        assert questions == [question.text for question in expected[:20]]


def test_the_rest_of_an_article_comes_before_other_documents(embedded):
    task = task_of(embedded, "qa_1", "4k")
    corpus, _ = task.counted_sources.documents("squad")
    for index in range(10):
        used = set(documents(parts(task.row(index).columns)[1]))
        assert {corpus.documents[i] for i in corpus.questions[index].related} <= used
