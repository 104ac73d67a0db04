"""Check a row of RULER's qa without the code that makes rows (section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator

from ruler_builder.families.audit import AuditContext, context_of
from ruler_builder.families.question_answering.params import QaParams
from ruler_common.rows import Row

_BETWEEN = "\n\n"


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with a qa row: documents, their numbers, gold documents, answers."""
    params: QaParams = about.params
    context = context_of(row)
    if params.no_documents:
        if context or row["evidence"]:
            yield "there are documents or evidence in a prompt without documents"
        return
    before, after = about.templates["document"].split("{document}")
    documents = _documents(context, before, after)
    if not documents:
        yield "the context does not begin with the first document"
    gold = [row["input"][span["start"] : span["end"]] for span in row["evidence"]]
    if not gold:
        yield "there is no gold document in the evidence"
    if row["evidence"] != sorted(row["evidence"], key=lambda span: span["start"]):
        yield "the evidence is not in the order of the text"
    answers = [output.casefold() for output in row["outputs"]]
    holding = [any(answer in text.casefold() for answer in answers) for text in gold]
    for span, text, holds in zip(row["evidence"], gold, holding, strict=True):
        if documents.get(span["start"] - row["context_start"]) != text:
            yield f"the evidence at {span['start']} is not one whole document"
        if (times := context.count(text)) != 1:
            yield f"gold document '{text[:60]}' occurs {times} times"
        if span["answer"] is not (holds or not any(holding)):
            yield f"gold document '{text[:60]}' is marked answer={span['answer']}"
    if not about.entry["repeats"] and len(set(documents.values())) < len(documents):
        yield "a document occurs twice, though the corpus did not begin again"
    if about.evidence_only and len(documents) != len(gold):
        yield "there is more than the evidence"
    if params.documents and len(documents) > params.documents:
        yield f"there are {len(documents)} documents, more than {params.documents}"


def _documents(context: str, before: str, after: str) -> dict[int, str]:
    """Return the documents by their offset in the context, read label by label."""
    found: dict[int, str] = {}
    label, number = before.format(i=1), 1
    if not context.startswith(label):
        return found
    at = len(label)
    while True:
        number += 1
        label = f"{after}{_BETWEEN}{before.format(i=number)}"
        end = context.find(label, at)
        if end < 0:
            break
        found[at] = context[at:end]
        at = end + len(label)
    found[at] = context[at:].removesuffix(after)
    return found
