"""Which rows of a question-answering task ask about the same documents: clusters for intervals.

    mark_documents(cells, release)      # cells["qa_1_4k"]["rows"]["document"][7] = "5f0c31aa"

SQuAD's 500 rows of qa_1 ask about 132 paragraphs, and a model that misreads one answers several of
them wrongly: on 18 published runs a mean's variance is 1.05 to 1.28 times that of independent
rows; that of differences between two of them is not more (1.0 in the middle). In qa_2 no two rows
have the same documents. A row asks the same at every length, so the shortest is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ruler_eval.frozen_release import Release
from ruler_eval.score import intervals
from ruler_eval.score.formats.form_reader import digest
from ruler_eval.score.results_file import Cell
from ruler_eval.tasks import scoring_task
from ruler_score.ruler_score import QA_TASKS


def mark_documents(cells: Mapping[str, Cell], release: Release) -> None:
    """Enter documents and design effect where rows share any, and the interval that heeds them."""
    lengths: dict[tuple[str, str | None], list[tuple[int, str]]] = {}
    for name, cell in cells.items():
        if scoring_task(cell["task"], release.dataset, release) in QA_TASKS:
            place = cell["task"], cell["tokenizer"]
            lengths.setdefault(place, []).append((cell["max_length"], name))
    for found in lengths.values():
        names = [name for _, name in sorted(found)]
        documents = _documents(names, release)
        if len({*documents.values()}) < len(documents):
            for name in names:
                _mark(cells[name], documents)


def _documents(names: Sequence[str], release: Release) -> dict[int, str]:
    """By row; of the first configuration that has documents: one without asks from memory."""
    for name in names:
        found = {}
        for row in release.rows(name, ("index", "input", "evidence")):
            texts = sorted(row["input"][span["start"] : span["end"]] for span in row["evidence"])
            if not texts:
                break
            found[int(row["index"])] = digest("\n".join(texts))
        else:
            return found
    return {}


def _mark(cell: Cell, documents: Mapping[int, str]) -> None:
    rows = cell["rows"]
    if not rows["index"] or not documents.keys() >= {*rows["index"]}:
        return
    rows["document"] = [documents[index] for index in rows["index"]]
    scores, clusters = np.array(rows["score"]), np.array(rows["document"])
    cell["documents"] = len({*rows["document"]})
    cell["design_effect"] = intervals.design_effect(scores, clusters)
    cell["interval"] = intervals.percent([scores], None, [clusters])
