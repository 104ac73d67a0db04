"""Score predictions by the rules of their tasks: the `evaluate` metric.

For RULER (arXiv:2404.06654, section 4) a prediction must contain the references; for ONERULER
(arXiv:2503.01996, section 3) the answer must be exactly the references. One row:

    score_row("The number is 1234567.", ["1234567"], "niah_single_1").score            # 1.0
    score_row("<odpowiedź>brak</odpowiedź>", ["brak"], "niah_none", "pl").score        # 1.0

Scores of rows are 0 … 1, those of the metric 0 … 100. The metric's class is defined only if
`evaluate` was imported before, as `evaluate.load` does; without it this module loads in
milliseconds.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

# All modules of the metric are imported here, because `evaluate` copies only those.
from .language_rules import LanguageRules
from .language_table import LANGUAGES
from .language_text import read_rules
from .oneruler_rules import authors_leave_out
from .reasoning_marks import find_marks as find_marks
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
SCORE_VERSION = "3.0.0"
"""A new version for every change that can change a score."""


def summarize(rows: Sequence[TextScore], tasks: Sequence[str | None]) -> dict[str, Any]:
    """Return the metric's result for scored rows, in percent.

    For several tasks `score` and `strict` are the plain means over the tasks, as in RULER's tables,
    and `per_task` has the result of each.
    """
    groups: dict[str | None, list[TextScore]] = {}
    for task, row in zip(tasks, rows, strict=True):
        groups.setdefault(task, []).append(row)
    result: dict[str, Any] = {
        "score": _mean(100 * _mean(row.score for row in group) for group in groups.values()),
        "strict": _mean(100 * _mean(row.strict for row in group) for group in groups.values()),
        "n": len(rows),
        "thinking": sum(row.reasoning != "none" for row in rows),
        "thinking_truncated": sum(row.reasoning == "truncated" for row in rows),
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
for long-context predictions, 0 to 100, with a strict variant.
"""
_KWARGS_DESCRIPTION = """
Args:
    predictions: list of strings, one per row; reasoning (<think>…</think>) is removed and counted.
    references: list of lists of strings, the `outputs` of the rows.
    tasks: the task of every row (one string for all, or a list); None: RULER's string_match_all.
    languages: ISO 639-1 code of each row's instruction; required for ONERULER, None for RULER.
    none_words: the `none_word` of each row; None: the language's word.
    compat: None, or "authors" for ONERULER's published script, which scores the whole text.
    model: the model's name; with `compat`, answers of deepseek and o3 have special rules.
    finish_reasons: why each answer ended; with `compat`, o3's that end with `length` are dropped.
    language_rules: of custom languages, by code: `facts` in the release's manifest.json.
Returns:
    score: the benchmark's rule, 0 … 100; for several tasks the mean of their scores.
    strict: all references and nothing else of their kind; for qa, as whole words.
    n, thinking, thinking_truncated: rows; rows with reasoning; rows that ended within it.
    dropped: with `compat`, rows that the authors' script leaves out of n.
    per_task: the same for each of several tasks. whole_word (qa), words_right (cwe_*).
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
) -> dict[str, Any]:
    """Compute the metric: see `_KWARGS_DESCRIPTION`. Raises ValueError for bad input."""
    check_rows(predictions, references)
    if compat is None and None in predictions:  # with `compat` they are left out
        row = list(predictions).index(None)
        raise ValueError(f"predictions[{row}] is None: use '' for a missing answer.")
    rows, model = len(predictions), model or ""
    task_of = _column("tasks", [tasks] * rows if isinstance(tasks, str) else tasks, rows)
    language_of = _column("languages", languages, rows)
    none_word_of = _column("none_words", none_words, rows)
    finish_reason_of = _column("finish_reasons", finish_reasons, rows)
    custom = _custom_rules(language_rules or {})
    row_languages = [custom.get(code or "", code) for code in language_of]
    check_names([tasks] if isinstance(tasks, str) else task_of, row_languages, compat)
    for task, language in set(zip(task_of, row_languages, strict=True)):
        if language is None and is_oneruler(task, None):
            raise ValueError(f"{task} is a task of ONERULER: add languages=, one for each row.")
    scores, scored_tasks = [], []
    for row, (text, outputs) in enumerate(zip(predictions, references, strict=True)):
        if compat is not None and authors_leave_out(text, finish_reason_of[row], model):
            continue
        task = task_of[row]
        scores.append(
            score_row(
                text or "", outputs, task, row_languages[row], none_word_of[row], compat, model
            )
        )
        scored_tasks.append(task)
    if not scores:
        warnings.warn("No rows to score: the score is nan.", stacklevel=2)
    result = summarize(scores, scored_tasks)
    return {**result, "dropped": rows - len(scores)} if compat else result


def _column(name: str, values: Sequence[str | None] | None, rows: int) -> list[str | None]:
    """Return one value for each row, None by default. Raises ValueError for bad input."""
    if isinstance(values, str):
        raise ValueError(f"{name} is a string: pass a list with one item per row.")
    column: list[str | None] = [None] * rows if values is None else list(values)
    if len(column) != rows:
        raise ValueError(
            f"{name} has {len(column)} items and predictions {rows}: pass one item per row."
        )
    for row, value in enumerate(column):  # a missing value in a pandas column is a nan
        if not (value is None or isinstance(value, str)):
            raise ValueError(f"{name}[{row}] is {value!r}: pass a string, or None.")
    return column


def _custom_rules(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, LanguageRules]:
    """Return the rules of custom languages. Raises ValueError for one of the 26."""
    rules = {}
    if not isinstance(tables, Mapping):
        raise ValueError("language_rules must be a dictionary: {'tr': facts}.")
    for code, table in tables.items():
        if code in LANGUAGES:
            raise ValueError(f"language_rules has {code!r}, one of the 26 languages: leave it out.")
        try:
            rules[code] = read_rules(table)
        except ValueError as error:
            raise ValueError(f"language_rules[{code!r}]: {error}") from None
    return rules


_NO_LISTS = (str, Mapping, Set)
"""What has items, but not one for each row or reference, or in no order."""

_PRINTED_LIST = re.compile(r"\s*\[\s*(['\"]).*\1\s*\]\s*", re.DOTALL)


def check_rows(predictions: Any, references: Any) -> None:
    """Raise ValueError for columns of different lengths and references that are not lists."""
    for name, values in (("predictions", predictions), ("references", references)):
        if values is None or isinstance(values, _NO_LISTS):
            raise ValueError(f"{name} must be a list with one item per row.")
    if len(predictions) != len(references):
        raise ValueError(
            f"predictions has {len(predictions)} items and references {len(references)}: pass one "
            "list of references per prediction."
        )
    for row, (text, outputs) in enumerate(zip(predictions, references, strict=True)):
        if not (text is None or isinstance(text, str)):
            raise ValueError(f"predictions[{row}] is not a string but {type(text).__name__}.")
        if isinstance(outputs, _NO_LISTS) or not hasattr(outputs, "__len__"):
            raise ValueError(f"references[{row}] must be a list of strings: [['a'], ['b', 'c']].")
        if not len(outputs) or not all(isinstance(reference, str) for reference in outputs):
            raise ValueError(f"references[{row}] must have at least one string, and only strings.")
        if not all(reference.strip() for reference in outputs):
            raise ValueError(f"references[{row}] has an empty string, which every answer contains.")
        if len(outputs) == 1 and _PRINTED_LIST.fullmatch(outputs[0]):
            raise ValueError(f"references[{row}] has the text of a list: pass the list itself.")


if "evaluate" in sys.modules:  # importing it takes seconds, which only its users need
    import datasets
    import evaluate

    class RulerScore(evaluate.Metric):
        """The metric's class for `evaluate.load`."""

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
            """Do nothing: `evaluate` checks only the first row, `check_rows` checks all."""

        def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
            """Add a row. Raises ValueError for references that are not a list."""
            check_rows([prediction], [reference])
            super().add(prediction=prediction, reference=reference, **kwargs)

        def add_batch(
            self, *, predictions: Any = None, references: Any = None, **kwargs: Any
        ) -> None:
            """Add rows. Raises ValueError for columns of different lengths."""
            check_rows(predictions, references)
            # lists, because evaluate looks for row 0, which a filtered pandas column may lack
            columns = {"predictions": list(predictions), "references": list(references)}
            super().add_batch(**columns, **kwargs)

        def _compute(self, *, predictions: Any, references: Any, **kwargs: Any) -> dict[str, Any]:
            return compute(predictions, references, **kwargs)
