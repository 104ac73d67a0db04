"""Audit a row of qa: documents, their numbers, the gold ones and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from ruler_builder.verify.audits.shared import AuditInputs, context_of
from ruler_common.rows import Row

_BETWEEN = "\n\n"  # between two documents


def audit(row: Row, inputs: AuditInputs) -> Iterator[str]:
    """Check the documents of a qa row, their numbers, the gold ones and their answers."""
    params = inputs.params
    context = context_of(row)
    if params.no_documents:
        if context or row["evidence"]:
            yield "there are documents or evidence in a prompt without documents"
        return
    before, after = inputs.templates["document"].split("{document}")
    documents = _documents(context, before, after)
    if not documents:
        yield "the context does not begin with the first document"
    gold = [row["input"][span["start"] : span["end"]] for span in row["evidence"]]
    if not gold:
        yield "the evidence has no gold document"
    if row["evidence"] != sorted(row["evidence"], key=lambda span: span["start"]):
        yield "the evidence is not in the order of the text"
    answers = [output.casefold() for output in row["outputs"]]
    has_answer = [any(answer in text.casefold() for answer in answers) for text in gold]
    for span, text, answered in zip(row["evidence"], gold, has_answer, strict=True):
        if documents.get(span["start"] - row["context_start"]) != text:
            yield f"the evidence at {span['start']} is not one whole document"
        if (times := context.count(text)) != 1:
            yield f"gold document '{text[:60]}' occurs {times} times"
        if span["answer"] is not (answered or not any(has_answer)):
            yield f"gold document '{text[:60]}' is marked answer={span['answer']}"
    if not inputs.entry["repeats"] and len(set(documents.values())) < len(documents):
        yield "a document occurs twice, though the corpus did not begin again"
    if inputs.is_control and len(documents) != len(gold):
        yield "there is more than the evidence"
    if params.documents and len(documents) > params.documents:
        yield f"there are {len(documents)} documents, more than {params.documents}"


def _documents(context: str, before: str, after: str) -> dict[int, str]:
    """Return the documents by their offsets in the context; empty if the first label is missing."""
    documents: dict[int, str] = {}
    label = before.format(i=1)
    if not context.startswith(label):
        return documents
    start = len(label)
    for number in count(2):
        label = f"{after}{_BETWEEN}{before.format(i=number)}"
        end = context.find(label, start)
        if end < 0:
            break
        documents[start] = context[start:end]
        start = end + len(label)
    documents[start] = context[start:].removesuffix(after)
    return documents
