"""The `evaluate` metric: every row by the rule of its task, and the means.

RULER (arXiv:2404.06654, section 4) asks whether the references stand in the prediction; ONERULER
(arXiv:2503.01996, section 3) whether the answer is exactly what was asked for. One row:

    score_row("The number is 1234567.", ["1234567"], "niah_single_1").score            # 1.0
    score_row("<odpowiedź>brak</odpowiedź>", ["brak"], "niah_none", "pl").score        # 1.0

Scores of rows are 0 … 1, those of the metric 0 … 100. The metric's class exists where `evaluate` is
imported first, as `evaluate.load` does; the rules alone load in milliseconds.
"""

from __future__ import annotations

import difflib
import inspect
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Every module of the metric is named here: evaluate copies these and nothing that they import.
from .language_rules import LANGUAGES, LanguageRules
from .language_text import read_rules
from .oneruler_rules import authors_leave_out
from .ruler_rules import postprocess
from .split_reasoning import split_reasoning
from .task_rules import (
    ANSWER_TAGS,
    ONERULER_TASKS,
    QA_TASKS,
    RULER_TASKS,
    TextScore,
    check_names,
    is_oneruler,
    references_found,
    score_row,
)

# fmt: off
__all__ = [
    "ANSWER_TAGS", "LANGUAGES", "ONERULER_TASKS", "QA_TASKS", "RULER_TASKS", "SCORE_VERSION",
    "TextScore", "compute", "is_oneruler", "postprocess", "read_rules", "references_found",
    "score_row", "split_reasoning", "summarize",
]
# fmt: on
SCORE_VERSION = "2.0.0"
"""Changes with everything that can move a score."""


def summarize(rows: Sequence[TextScore], tasks: Sequence[str | None]) -> dict[str, Any]:
    """The metric's result for scored rows: means in percent; of tasks, the mean of their scores.

    Where tasks are mixed, `score` and `strict` are the plain mean of the tasks', as in RULER's
    tables, and `per_task` holds each task's own result.
    """
    groups: dict[str | None, list[TextScore]] = {}
    for task, row in zip(tasks, rows, strict=True):
        groups.setdefault(task, []).append(row)
    result: dict[str, Any] = {
        "score": _mean(100 * _mean(row.score for row in group) for group in groups.values()),
        "strict": _mean(100 * _mean(row.strict for row in group) for group in groups.values()),
        "n": len(rows),
        "thinking": sum(row.reasoning != "none" for row in rows),
        "thinking_cut": sum(row.reasoning == "truncated" for row in rows),
    }
    if groups and set(groups) <= set(QA_TASKS):
        result["whole_word"] = result["strict"]
    if groups and all(str(task).startswith("cwe_") for task in groups):
        result["words_right"] = _mean(row.found for row in rows)
    if len(groups) > 1:
        result["per_task"] = {
            str(task): summarize(group, [task] * len(group)) for task, group in groups.items()
        }
    return result


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


# ---- The `evaluate` metric -------------------------------------------------------------------

_DESCRIPTION = """\
The score of RULER (recall of the reference strings) and of ONERULER (exact answers in 26 languages)
for long-context predictions, 0 to 100, with a strict variant beside it.
"""
_KWARGS_DESCRIPTION = """
Args:
    predictions: list of strings, one a row; reasoning (<think>…</think>) is removed and counted.
    references: list of lists of strings, the `outputs` of the rows.
    tasks: the task of every row (one string for all, or a list); None: RULER's string_match_all.
    languages: ISO 639-1 code of each row's instruction; needed for ONERULER, None for RULER.
    none_words: the `none_word` of each row; None: the language's own.
    compat: None, or "authors" for ONERULER's published script, which reads the whole text.
    model: the model's name; with `compat`, deepseek's and o3's answers have rules of their own.
    finish_reasons: why each answer ended; with `compat`, o3's that end with `length` are dropped.
    language_rules: of languages beside the 26, by code: `facts` in the release's manifest.json.
Returns:
    score: the benchmark's rule, 0 … 100 (mean of the tasks' scores where tasks are mixed).
    strict: all references and nothing else of the kind asked for; for qa, as whole words.
    n, thinking, thinking_cut: rows; rows with reasoning; rows that ended within it.
    dropped: with `compat`, rows that the authors' script leaves out of n.
    per_task: the same for each task, where tasks are mixed. whole_word (qa), words_right (cwe_*).
Examples:
    >>> import evaluate
    >>> from ruler_score import ruler_score_path
    >>> metric = evaluate.load(ruler_score_path())
    >>> metric.compute(predictions=["7 is 12345, 67890"], references=[["12345", "67890"]])["score"]
    100.0
    >>> metric.compute(predictions=["not"], references=[["no"]], tasks="qa_2")["strict"]
    0.0
"""
_CITATION = """\
@article{hsieh2024ruler,
  title={RULER: What's the Real Context Size of Your Long-Context Language Models?},
  author={Hsieh, Cheng-Ping and Sun, Simeng and Kriman, Samuel and Acharya, Shantanu and
          Rekesh, Dima and Jia, Fei and Zhang, Yang and Ginsburg, Boris},
  journal={arXiv preprint arXiv:2404.06654}, year={2024}
}
@article{kim2025oneruler,
  title={One ruler to measure them all: Benchmarking multilingual long-context language models},
  author={Kim, Yekyung and Russell, Jenna and Karpinska, Marzena and Iyyer, Mohit},
  journal={arXiv preprint arXiv:2503.01996}, year={2025}
}
"""


def compute(
    predictions: Sequence[str | None],
    references: Sequence[Sequence[str]],
    tasks: str | Sequence[str | None] | None = None,
    languages: Sequence[str | None] | None = None,
    none_words: Sequence[str | None] | None = None,
    compat: str | None = None,
    model: str | None = "",
    finish_reasons: Sequence[str | None] | None = None,
    language_rules: Mapping[str, Mapping[str, Any]] | None = None,
    **unknown: Any,
) -> dict[str, Any]:
    """What the metric computes; see `_KWARGS_DESCRIPTION`. Raises ValueError for bad input."""
    for name in unknown:
        near = difflib.get_close_matches(name, inspect.signature(compute).parameters, 1)
        meant = f": is it {near[0]}=?" if near else "."
        raise ValueError(f"{name}= is no argument of the metric{meant}")
    check_rows(predictions, references)
    if compat is None and None in predictions:  # the authors leave out what was not answered
        row = list(predictions).index(None)
        raise ValueError(f"predictions[{row}] is None: give '' for an answer that is missing.")
    size, model = len(predictions), model or ""
    given = {
        "tasks": [tasks] * size if isinstance(tasks, str) else tasks,
        "languages": languages, "none_words": none_words, "finish_reasons": finish_reasons,
    }  # fmt: skip
    columns: dict[str, list[str | None]] = {}
    for name, values in given.items():
        if isinstance(values, str):
            raise ValueError(f"{name} is a string; give a list with one item a row.")
        found: list[str | None] = [None] * size if values is None else list(values)
        if len(found) != size:
            raise ValueError(f"{name} has {len(found)} items, predictions {size}: one a row.")
        for row, value in enumerate(found):  # a table's missing value is a nan
            if not (value is None or isinstance(value, str)):
                raise ValueError(f"{name}[{row}] is {value!r}: give a string, or None.")
        columns[name] = found
    own = _own_rules(language_rules or {})
    spoken = [own.get(code or "", code) for code in columns.pop("languages")]
    check_names([tasks] if isinstance(tasks, str) else columns["tasks"], spoken, compat)
    for task, language in set(zip(columns["tasks"], spoken, strict=True)):
        if language is None and is_oneruler(task, None):
            raise ValueError(f"{task} is a task of ONERULER: give languages=, one for each row.")
    rows, kept_tasks = [], []
    for text, wanted, language, task, none_word, ending in zip(
        predictions, references, spoken, *columns.values(), strict=True
    ):
        if compat is None or not authors_leave_out(text, ending, model):
            rows.append(score_row(text or "", wanted, task, language, none_word, compat, model))
            kept_tasks.append(task)
    if not rows:
        warnings.warn("No rows to score: the score is nan.", stacklevel=2)
    result = summarize(rows, kept_tasks)
    return {**result, "dropped": size - len(rows)} if compat else result


def _own_rules(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, LanguageRules]:
    """The rules of languages that the metric does not have; ValueError for one that it has."""
    found = {}
    if not isinstance(tables, Mapping):
        raise ValueError("language_rules must be a dictionary: {'tr': facts}.")
    for code, table in tables.items():
        if code in LANGUAGES:
            raise ValueError(f"language_rules has {code!r}, whose rules the metric has already.")
        try:
            found[code] = read_rules(table)
        except ValueError as error:
            raise ValueError(f"language_rules[{code!r}]: {error}") from None
    return found


def check_rows(predictions: Any, references: Any) -> None:
    """Refuse columns of different lengths and references that are no lists, with a ValueError."""
    for name, values in (("predictions", predictions), ("references", references)):
        if values is None or isinstance(values, str):
            raise ValueError(f"{name} must be a list with one item a row.")
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions, {len(references)} references.")
    for row, (text, wanted) in enumerate(zip(predictions, references, strict=True)):
        if not (text is None or isinstance(text, str)):
            raise ValueError(f"predictions[{row}] is no string but {type(text).__name__}.")
        if isinstance(wanted, str) or not hasattr(wanted, "__len__"):
            raise ValueError(f"references[{row}] must be a list of strings: [['a'], ['b', 'c']].")
        if not len(wanted) or not all(isinstance(reference, str) for reference in wanted):
            raise ValueError(f"references[{row}] must hold one string or more.")


if "evaluate" in sys.modules:  # else nobody can ask for the class, and the rules load at once
    import datasets
    import evaluate

    class RulerScore(evaluate.Metric):
        """The metric as `evaluate.load` finds it."""

        def _info(self) -> evaluate.MetricInfo:
            features = {
                "predictions": datasets.Value("string"),
                "references": datasets.Sequence(datasets.Value("string")),
            }
            return evaluate.MetricInfo(
                description=_DESCRIPTION,
                citation=_CITATION,
                inputs_description=_KWARGS_DESCRIPTION,
                features=datasets.Features(features),
                reference_urls=[
                    "https://arxiv.org/abs/2404.06654",
                    "https://arxiv.org/abs/2503.01996",
                ],
            )

        def _enforce_nested_string_type(self, *_: Any) -> None:
            """Evaluate looks at the first row alone, which may be None; `check_rows` at all."""

        def add_batch(
            self, *, predictions: Any = None, references: Any = None, **kwargs: Any
        ) -> None:
            """Add rows; a ValueError in one sentence for columns that do not fit."""
            check_rows(predictions, references)
            super().add_batch(predictions=predictions, references=references, **kwargs)

        def _compute(self, *, predictions: Any, references: Any, **kwargs: Any) -> dict[str, Any]:
            return compute(predictions, references, **kwargs)
