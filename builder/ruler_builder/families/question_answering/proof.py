"""Read RULER's qa back: `Document i:` and its text, from 1, with a blank line between.

Section 3.4. Where the corpus is at hand, row i has its i-th question with its references and gold
documents, and every other document is one of the corpus; where it is not, the manifest's digest
stands for the question, its references and its gold texts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import islice

from ruler_builder.families.question_answering.params import WITHOUT_DOCUMENTS
from ruler_builder.reading.breaches import FileRules, context_of
from ruler_builder.reading.reading import Reading, foreign, framed
from ruler_builder.sources.corpora import Corpus, Question
from ruler_builder.suites.wording import frame_of
from ruler_common.rows import Row

_BETWEEN = "\n\n"
_SHORTEST = 8  # documents counted
_SLACK = 4  # tokens that a document may have more where it meets another


def read_documents(row: Row, about: FileRules) -> Reading:
    """Read a qa row back."""
    reading, context = Reading(), context_of(row)
    corpus = about.sources.corpus(about.task["dataset"])
    template = WITHOUT_DOCUMENTS if about.task["no_documents"] else about.wording["input"]
    framed(reading, row, frame_of(template, row["question"], about.wording["prefix"]))
    if about.task["no_documents"]:
        if context or row["evidence"]:
            reading.fault("there are documents or evidence in a prompt without documents")
        if corpus is not None:
            _asked(reading, row, corpus)
        return reading
    before, after = about.wording["document"].split("{document}")
    documents = _documents(reading, context, before, after)
    texts = [text for _, text in documents]
    gold = _gold(reading, row, documents)
    if about.alone and texts != gold:
        reading.fault("there is more than the evidence")
    if corpus is None:
        reading.exhausted = reading.repeats = None
        if found := foreign(context.replace("\n", " ")):
            reading.fault(f"the documents have {found} in them")
        if not about.entry["repeats"] and len(set(texts)) < len(texts):
            reading.fault("a document stands twice, though the corpus did not begin again")
        return reading
    _against(reading, row, corpus, texts, gold, about.alone)
    if about.alone:
        return reading
    left = _left(row, corpus, texts)
    label = before.format(i=len(texts) + 1)
    unit = min((about.count(f"{label}{text}{after}\n\n") for text in left), default=None)
    if unit is not None:
        reading.unit, reading.unit_least = unit + _SLACK, unit * 4 // 5 - _SLACK
    reading.exhausted = None if about.task["documents"] else not left
    reading.repeats = max(Counter(texts).values(), default=1) - 1
    return reading


def _documents(reading: Reading, context: str, before: str, after: str) -> list[tuple[int, str]]:
    """The documents with the offset of each in the context, label by label."""
    found: list[tuple[int, str]] = []
    label = before.format(i=1)
    if not context.startswith(label):
        reading.fault(f"the context does not begin with {label!r}")
        return found
    at, number = len(label), 1
    while True:
        label = after + _BETWEEN + before.format(i=number + 1)
        end = context.find(label, at)
        if end < 0:
            break
        found.append((at, context[at:end]))
        at, number = end + len(label), number + 1
    last = context[at:]
    found.append((at, last.removesuffix(after) if after else last))
    return found


def _gold(reading: Reading, row: Row, documents: list[tuple[int, str]]) -> list[str]:
    """The evidence: whole documents, each once and marked as what it is; returns their texts."""
    context, starts = context_of(row), [row["context_start"] + at for at, _ in documents]
    gold = [row["input"][span["start"] : span["end"]] for span in row["evidence"]]
    if not gold:
        reading.misplaced("no gold document in evidence")
    if row["evidence"] != sorted(row["evidence"], key=lambda span: span["start"]):
        reading.fault("the evidence is not in the order of the text")
    answers = [output.casefold() for output in row["outputs"]]
    holding = [any(answer in text.casefold() for answer in answers) for text in gold]
    for span, text, holds in zip(row["evidence"], gold, holding, strict=True):
        before = bisect_left(starts, span["start"])
        reading.places.append((before, max(1, len(starts))))
        if before == len(starts) or (starts[before], documents[before][1]) != (span["start"], text):
            reading.misplaced(f"the evidence at {span['start']} is not one whole document")
        if (times := context.count(text)) != 1:
            reading.ambiguous(f"gold document '{text[:60]}' occurs {times} times")
        if span["answer"] is not (holds or not any(holding)):
            reading.misplaced(f"gold document '{text[:60]}' is marked answer={span['answer']}")
    return gold


def _asked(reading: Reading, row: Row, corpus: Corpus) -> Question | None:
    """Question and references are the corpus'; returns its question for the row."""
    if row["index"] >= len(corpus.questions):
        reading.fault(f"the source has {len(corpus.questions)} questions, none for this row")
        return None
    question = corpus.questions[row["index"]]
    if row["question"] != question.text:
        reading.fault(f"the question is not the source's: {question.text[:80]!r}")
    if row["outputs"] != list(question.answers):
        reading.ambiguous(f"the references are not the source's: {list(question.answers)}")
    return question


def _against(
    reading: Reading, row: Row, corpus: Corpus, texts: list[str], gold: list[str], alone: bool
) -> None:
    """Question, references, gold and other documents are the corpus'; `alone` there are no others.

    The evidence alone is all that rows at `0k` have.
    """
    question = _asked(reading, row, corpus)
    if question is None:
        return
    right = [corpus.documents[place] for place in question.gold]
    if sorted(gold) != sorted(right):
        reading.fault("the gold documents in the evidence are not the source's")
    for text in texts:
        if text not in corpus.known:
            reading.fault(f"a document is not of the source: {text[:60]!r}")
            break
    times = Counter(texts)
    own = set() if alone else {corpus.documents[place] for place in question.own}
    if corpus.own_required and (missing := own - set(texts)):
        reading.fault(f"a document of the question itself is missing: {min(missing)[:60]!r}")
    if not corpus.own_required and not own <= set(texts) and set(texts) - own - set(right):
        reading.fault("other articles' documents stand there before the article's own are in")
    if not alone and times and max(times.values()) > 1:
        gone_round = [times[text] for text in corpus.known if text not in right]
        if max(gone_round) - min(gone_round) > 1:
            reading.fault("a document stands twice before every other has stood once")
    if any(times[text] != 1 for text in right):
        reading.fault("a gold document does not stand there exactly once")


def _left(row: Row, corpus: Corpus, texts: list[str]) -> list[str]:
    """The shortest documents that could have been added: of the question's own, if any are left."""
    there = Counter(texts)
    own = corpus.questions[row["index"]].own if row["index"] < len(corpus.questions) else ()
    left = [text for place in own if (text := corpus.documents[place]) not in there]
    if left and not corpus.own_required:
        return sorted(left, key=len)[:_SHORTEST]
    shortest = corpus.shortest_first
    again = max(there.values()) if there else 1
    fewer = (text for text in shortest if there[text] < again)
    return list(islice(fewer, _SHORTEST)) or shortest[:_SHORTEST]
