"""Join predictions to rows by configuration and index, reject those of other rows, score each.

for config in score_rows(predictions, release, rules):
    for samples in config.rows:
        samples[0].row["index"], samples[0].prediction, samples[0].score

row_score(row, prediction, "vt", None, ScoringRules()).score                   # 0 … 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ruler_common.errors import RulerError
from ruler_common.text import some_of
from ruler_eval.frozen_release import PartialRow, Release, ReleaseLanguages
from ruler_eval.prediction import Prediction, ScoredConfig, digest, read_name
from ruler_eval.run.records import Record
from ruler_eval.score.own_run import RunFacts
from ruler_eval.score.predictions import Predictions
from ruler_eval.score.results import Compat, Lines, Proof, Results, RowState, TruncationRule
from ruler_eval.tasks import scoring_language, scoring_task
from ruler_score import ruler_score as rules_of
from ruler_score.language_text import Language
from ruler_score.oneruler_rules import authors_leave_out
from ruler_score.split_reasoning import ReasoningState

SCORE_COLUMNS = ("index", "outputs", "none_word")
"""The columns that a row's score depends on."""
_ROW_COLUMNS = (*SCORE_COLUMNS, "evidence", "question")
"""The same, and those for the score by depth and to check that answers belong to these rows."""
_NO_ANSWER = Prediction("", 0, "")


# ---- Scoring a row ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ScoringRules:
    """Which rows count as wrong regardless of their text.

    `truncated` is the rule for answers that end at the token limit. Missing and failed rows are
    wrong. In RULER `max_new_tokens` is part of the protocol: a base model always uses all of
    it, its answer is complete long before, and the published scores were computed that way. So
    `protocol` (the default) scores an answer that used up RULER's fixed budget by its text, as the
    reference code does, and reports the count. An answer truncated within its reasoning is wrong,
    and so is every truncated answer in ONERULER, whose models stop by themselves. `wrong` counts
    every truncated answer as wrong, `score` scores every one by its text.
    """

    compat: Compat | None = None
    truncated: TruncationRule = "protocol"
    partial: bool = False
    model: str = ""
    """The model's name: ONERULER's authors treat some models specially (`compat`)."""
    languages: ReleaseLanguages = field(default_factory=ReleaseLanguages)
    """The 26, and the custom ones of the release (`for_release`)."""

    def for_release(self, release: Release | None) -> ScoringRules:
        """Return the same rules for the rows of a release."""
        return replace(self, languages=release.languages) if release else self


def rules_of_results(results: Results) -> ScoringRules:
    """Return the rules by which results were scored."""
    return ScoringRules(
        compat=results["rules"]["compat"],
        truncated=results["rules"]["truncated"],
        partial=results["partial"],
        model=results["model"] or "",
        languages=ReleaseLanguages(results["dataset"].get("languages", {})),
    )


@dataclass(slots=True)
class RowScore:
    """One answer to a row, or a row without an answer, and its score (0 … 1)."""

    row: PartialRow
    """The row, with the columns that were read."""
    prediction: Prediction | None
    """The answer; None if the row is missing."""
    score: float
    strict: float
    state: RowState
    """How the answer ended."""
    thinking: ReasoningState = "none"
    truncated_scored: bool = False
    """Whether a truncated answer was scored by its text."""
    found: float = 0
    """The number of references in the answer."""

    @property
    def counts(self) -> bool:
        """Whether the answer was scored by its text."""
        return self.state == "ok" or self.truncated_scored

    @property
    def kind(self) -> str | None:
        """The kind of error of a row without an answer to read (ruler_eval/analysis/errors.py)."""
        if self.prediction is None:
            return "missing"
        if self.state == "does_not_fit":
            return "does not fit"
        if self.state == "failed":
            return "failed"
        if self.thinking == "truncated" or (self.state == "truncated" and not self.counts):
            return "truncated"
        return None


def row_score(
    row: PartialRow,
    prediction: Prediction | None,
    task: str,
    language: str | None,
    rules: ScoringRules,
) -> RowScore:
    """Score one row; `language` (of the instruction) marks a row of ONERULER."""
    if prediction is None:
        return RowScore(row, None, 0.0, 0.0, "missing")
    if prediction.failed:
        does_not_fit = prediction.finish_reason == "does_not_fit"
        state: RowState = "does_not_fit" if does_not_fit else "failed"
        return RowScore(row, prediction, 0.0, 0.0, state)
    scored = rules_of.score_row(
        prediction.text,
        row["outputs"],
        task,
        rules.languages.rules(language) if language else None,
        row.get("none_word") or None,
        rules.compat,
        rules.model,
    )
    thinking: ReasoningState = "ended" if prediction.thinking else scored.reasoning
    if scored.reasoning == "truncated" or prediction.thinking_ended is False:
        thinking = "truncated"
    in_reasoning = thinking == "truncated"
    if rules.compat == "authors" and authors_leave_out(
        prediction.text, prediction.finish_reason, rules.model
    ):
        return RowScore(row, prediction, 0.0, 0.0, "truncated", thinking)
    score, strict, found = scored.score, scored.strict, scored.found
    if not in_reasoning and prediction.finish_reason != "length":
        return RowScore(row, prediction, score, strict, "ok", thinking, found=found)
    by_text = rules.truncated == "score" or (rules.truncated == "protocol" and language is None)
    if rules.compat == "authors" or (by_text and not in_reasoning):
        return RowScore(row, prediction, score, strict, "truncated", thinking, True, found)
    return RowScore(row, prediction, 0.0, 0.0, "truncated", thinking, found=found)


def score_record(
    record: Record, row: PartialRow, release: Release, rules: ScoringRules
) -> RowScore:
    """Score a record of `ruler run` by the rule of its task, which `release` has.

    Raises RulerError for a family that is not in the table.
    """
    config = release.parse(record["config"])
    task = scoring_task(config.task, config.dataset, release)
    return row_score(row, Prediction.from_record(record), task, scoring_language(config), rules)


# ---- The rows of a configuration ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ConfigScores:
    """The answers to one configuration, joined to its rows and scored."""

    name: str
    config: ScoredConfig
    task: str
    """The task whose scoring rule applies."""
    language: str | None
    """The language of the instruction, for ONERULER's rules; None in RULER."""
    rules: ScoringRules
    rows: Sequence[Sequence[RowScore]]
    """The rows that the run was asked to answer, in file order: the samples of each, or one without
    an answer. If a row has several answers that are not samples (`ruler run --repeats`), the first
    one that did not fail counts."""
    rows_available: int
    """The number of rows that the configuration has."""
    repeats: int
    """The number of samples requested for each row."""
    duplicated: int = 0
    """The number of repeated answers to the same rows and samples, which are not scored."""
    proof: Proof = "none"
    """The evidence that these answers belong to these rows, by the answer with the weakest."""
    notes: Sequence[str] = ()

    @property
    def language_rules(self) -> Language | None:
        """The rules of the language; None in RULER."""
        return self.rules.languages.rules(self.language) if self.language else None

    @cached_property
    def by_index(self) -> dict[int, RowScore]:
        """The first sample of each row, by row index."""
        return {int(samples[0].row["index"]): samples[0] for samples in self.rows}

    @cached_property
    def answers(self) -> dict[int, Prediction]:
        """The first answer to each row that has any, by row index."""
        answers = {}
        for index, first in self.by_index.items():
            if first.prediction is not None:
                answers[index] = first.prediction
        return answers

    def samples_of(self, row: Sequence[RowScore]) -> int:
        """Return the number of samples over which a row's score is a mean; missing ones score 0."""
        return len(row) if self.rules.partial else self.repeats

    def is_counted(self, row: Sequence[RowScore]) -> bool:
        """Return whether a row counts.

        Missing rows are left out of partial results, and rows without an answer if ONERULER's
        authors' script leaves them out (`compat`).
        """
        if self.rules.partial and row[0].prediction is None:
            return False
        return self.rules.compat != "authors" or any(sample.counts for sample in row)


def score_rows(
    predictions: Predictions,
    release: Release | None,
    rules: ScoringRules | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> Iterator[ConfigScores]:
    """Join predictions to the rows of their configurations, and score them.

    Args:
        predictions: the predictions.
        release: the release whose rows they answer; None if the files have references.
        rules: the rules by which rows are scored.
        progress: takes the configurations' names and yields them one by one.

    Raises:
        RulerError: for predictions on other data, configurations or rows than the release has.
    """
    rules = (rules or ScoringRules()).for_release(release)
    configs = configs_of(predictions, release)
    groups: dict[str, list[Prediction]] = {name: [] for name in configs}
    for prediction in predictions.rows:
        groups[prediction.config].append(prediction)
    for name in progress([*configs]):
        config = configs[name]
        samples, duplicated, notes = _by_index(name, groups[name], release is None)
        task = scoring_task(config.task, config.dataset, release)
        language = scoring_language(config)
        rows = []
        for row in _rows(name, samples, predictions.run, release):
            answers = samples.get(int(row["index"]), ())
            scores = []
            for answer in answers:
                _check_same_row(row, answer, release)
                scores.append(row_score(row, answer, task, language, rules))
            rows.append(scores or [row_score(row, None, task, language, rules)])
        yield ConfigScores(
            name=name,
            config=config,
            task=task,
            language=language,
            rules=rules,
            rows=rows,
            rows_available=release.size(name) if release else len(rows),
            repeats=max(
                predictions.run.get("repeats", 1), max(map(len, samples.values()), default=1)
            ),
            duplicated=duplicated,
            proof=_proof(name, samples, predictions, release),
            notes=notes,
        )


def configs_of(predictions: Predictions, release: Release | None) -> dict[str, ScoredConfig]:
    """Return the configurations of predictions, in the order of the results.

    Those that the run was asked to answer are included even without predictions. They are in the
    order of tokenizer, languages, length and task. Raises RulerError for a group, and for a
    configuration that the release does not have.
    """
    names = release.names if release else predictions.names
    first_of: dict[str, str] = {}
    for prediction in predictions.rows:
        first_of.setdefault(prediction.config, f"'{prediction.where}'")
    for session in predictions.run.get("sessions", []):
        for name in session.get("configs", []):
            first_of.setdefault(name, "The run")
    configs: dict[str, ScoredConfig] = {}
    for name, where in first_of.items():
        config = read_name(names, name, release is not None)
        if config.task not in names.tasks:
            raise RulerError(f"{where} names '{name}', which is a group: name a single task.")
        configs[name] = config
    if release is not None:
        _check_release(predictions.run, configs, release)

    def place(name: str) -> tuple[str, str, int, int]:
        config = configs[name]
        task = names.tasks.index(config.task)
        return config.tokenizer or "", config.languages, config.max_length, task

    return {name: configs[name] for name in sorted(configs, key=place)}


def _rows(
    name: str,
    samples: Mapping[int, Sequence[Prediction]],
    run: RunFacts,
    release: Release | None,
) -> Iterator[PartialRow]:
    """Yield the rows that a run was asked to answer, in file order.

    Without a release, a row has only the columns that the prediction files have.
    """
    if release is None:
        for index, answers in sorted(samples.items()):
            first = answers[0]
            if not first.outputs:
                raise RulerError(
                    f"'{first.where}' has no references: name the release with --dataset, "
                    "or the folder of the reference code's data with --references."
                )
            yield {"index": index, "outputs": first.outputs, "question": first.question}
        return
    order = release.order(name)
    _check_rows(name, samples, order, release)
    asked = _rows_asked(name, run, order)
    for row in release.rows(name, _ROW_COLUMNS):
        if asked is None or row["index"] in asked or row["index"] in samples:
            yield row


def _check_same_row(row: PartialRow, answer: Prediction, release: Release | None) -> None:
    """Raise RulerError for an answer that belongs to another row than the release's or samples'."""
    same_outputs = answer.outputs is None or answer.outputs == tuple(row["outputs"])
    same_question = not answer.question or row.get("question") in (None, answer.question)
    if not same_outputs or not same_question:
        what = "question differs" if same_outputs else "references differ"
        if release is None:
            raise RulerError(
                f"'{answer.where}' is not a sample of row {row['index']}: its {what} from the "
                "earlier samples'. Give each row its own index."
            )
        raise RulerError(
            f"'{answer.where}' answers a row {row['index']} that is not the release's (its "
            f"{what}): leave --dataset out to score it by its own references."
        )


# ---- The lines of rows.parquet -------------------------------------------------------------------


def add_lines(lines: Lines, scores: ConfigScores, documents: Mapping[int, str]) -> None:
    """Add the answers to a configuration to the columns of rows.parquet.

    A row has a line for each of its samples, and for each missing one unless the results are
    partial. `documents` are digests of the rows' documents.
    """
    samples: list[RowScore] = []
    counted: list[bool] = []
    references: list[str] = []
    questions: list[str | None] = []
    for row_samples in scores.rows:
        row = row_samples[0].row
        missing = scores.samples_of(row_samples) - len(row_samples)
        lines_of_row = [*row_samples, *[RowScore(row, None, 0.0, 0.0, "missing")] * missing]
        samples += lines_of_row
        question = row.get("question")
        counted += [scores.is_counted(row_samples)] * len(lines_of_row)
        references += [digest("\n".join(row["outputs"]))] * len(lines_of_row)
        questions += [digest(question) if question else None] * len(lines_of_row)
    answers = [sample.prediction or _NO_ANSWER for sample in samples]
    config, count = scores.config, len(samples)
    lines["config"] += [scores.name] * count
    lines["task"] += [config.task] * count
    lines["length"] += [config.length] * count
    lines["language"] += [config.languages] * count
    lines["index"] += [sample.row["index"] for sample in samples]
    lines["sample"] += [
        sample.prediction.sample if sample.prediction else None for sample in samples
    ]
    lines["counted"] += counted
    lines["answer"] += [sample.prediction.text if sample.prediction else None for sample in samples]
    lines["reasoning"] += [answer.thinking for answer in answers]
    lines["finish_reason"] += [answer.finish_reason for answer in answers]
    lines["error"] += [answer.error for answer in answers]
    lines["outputs"] += [sample.row["outputs"] for sample in samples]
    lines["score"] += [sample.score for sample in samples]
    lines["strict"] += [sample.strict for sample in samples]
    lines["found"] += [sample.found for sample in samples]
    lines["state"] += [sample.state for sample in samples]
    lines["thinking"] += [sample.thinking for sample in samples]
    lines["truncated_scored"] += [sample.truncated_scored for sample in samples]
    lines["kind"] += [sample.kind for sample in samples]
    lines["thinking_tokens"] += [answer.thinking_tokens for answer in answers]
    lines["prompt_tokens"] += [answer.prompt_tokens for answer in answers]
    lines["references"] += references
    lines["question"] += questions
    lines["prompt"] += [answer.prompt_digest for answer in answers]
    lines["document"] += [documents.get(sample.row["index"]) for sample in samples]


def scores_of_lines(
    results: Results, lines: Lines, release: Release | None
) -> dict[str, ConfigScores]:
    """Return the scored answers in a results.json and its rows.parquet, by configuration.

    Partial results have no missing rows. The rows have only `index` and `outputs`. `release` is the
    one they were scored on.
    """
    rules = rules_of_results(results)
    rows: dict[str, dict[int, list[RowScore]]] = {name: {} for name in results["configurations"]}
    for place, (name, index) in enumerate(zip(lines["config"], lines["index"], strict=True)):
        if rules.partial and lines["state"][place] == "missing":
            continue
        sample = lines["sample"][place]
        samples = rows[name].setdefault(index, [])
        if sample is None and samples:
            continue  # a missing sample of a row that has others
        samples.append(_score_of_line(lines, place))
    dataset = results["dataset"]["name"]
    scores = {}
    for name, cell in results["configurations"].items():
        config = ScoredConfig(
            dataset=dataset,
            task=cell["task"],
            length=cell["length"],
            max_length=cell["max_length"],
            tokenizer=cell["tokenizer"],
            language=cell["language"],
            instruction_language=cell["instruction_language"],
        )
        scores[name] = ConfigScores(
            name=name,
            config=config,
            task=scoring_task(config.task, dataset, release),
            language=scoring_language(config),
            rules=rules,
            rows=[*rows[name].values()],
            rows_available=cell["rows_available"],
            repeats=cell.get("repeats", 1),
        )
    return scores


def _score_of_line(lines: Lines, place: int) -> RowScore:
    index, sample = lines["index"][place], lines["sample"][place]
    row = {"index": index, "outputs": lines["outputs"][place]}
    prediction = None
    if sample is not None:
        prediction = Prediction(
            lines["config"][place],
            index,
            lines["answer"][place] or "",
            finish_reason=lines["finish_reason"][place],
            thinking=lines["reasoning"][place],
            error=lines["error"][place],
            sample=sample,
        )
    return RowScore(
        row,
        prediction,
        lines["score"][place],
        lines["strict"][place],
        lines["state"][place],
        lines["thinking"][place],
        lines["truncated_scored"][place],
        lines["found"][place],
    )


# ---- The join ----------------------------------------------------------------------------------


def _by_index(
    name: str, predictions: Sequence[Prediction], self_contained: bool
) -> tuple[dict[int, list[Prediction]], int, list[str]]:
    """Return the samples to score by row index, the number of duplicates, and notes on them.

    Args:
        name: the configuration.
        predictions: all its predictions, in the order in which they were read.
        self_contained: whether the files have the references. Then rows with the same index may
            be different, as when a file numbers each of its parts from 0.
    """
    scored: dict[tuple[int, int], Prediction] = {}  # by index and sample
    duplicates = []
    for prediction in predictions:
        key = prediction.index, prediction.sample
        earlier = scored.get(key)
        if earlier is not None:
            duplicates.append(prediction)
        if earlier is None or (earlier.failed and not prediction.failed):
            scored[key] = prediction
    samples: dict[int, list[Prediction]] = {}
    for index, sample in sorted(scored):
        samples.setdefault(index, []).append(scored[index, sample])
    if not duplicates:
        return samples, 0, []
    if self_contained and any(_is_other_row(p, samples[p.index][0]) for p in predictions):
        note = f"{name}: different rows have the same index; lines are numbered instead"
        return {number: [answer] for number, answer in enumerate(predictions)}, 0, [note]
    files = dict.fromkeys(prediction.where.rpartition(":")[0] for prediction in predictions)
    order = f"; read in this order: {', '.join(files)}" if len(files) > 1 else ""
    note = (
        f"{name}: {len(duplicates)} duplicated predictions, the first at {duplicates[0].where}; "
        f"for each row the first that did not fail counts{order}"
    )
    return samples, len(duplicates), [note]


def _is_other_row(one: Prediction, other: Prediction) -> bool:
    """Return whether two answers with the same index have other references or other prompts."""
    if one.outputs != other.outputs:
        return True
    has_prompts = one.prompt_digest is not None and other.prompt_digest is not None
    return has_prompts and one.prompt_digest != other.prompt_digest


def _check_release(run: RunFacts, configs: Iterable[str], release: Release) -> None:
    """Raise RulerError for a run on other data, rows or configurations than the release's."""
    dataset = run.get("dataset", release.dataset)
    if dataset != release.dataset:
        raise RulerError(f"The run is on '{dataset}', the release is '{release.dataset}'.")
    for name, run_digest in run.get("rows", {}).items():
        if name in release.configs and release.rows_sha256(name) != run_digest:
            raise RulerError(
                f"'{name}' was run on rows with the digest {run_digest[:12]}…, this release's is "
                f"{release.rows_sha256(name)[:12]}…: name the release that was run with --dataset."
            )
    unknown = [name for name in configs if name not in release.configs]
    if unknown:
        raise RulerError(
            f"There are predictions for {some_of(unknown)}, which '{release.source}' does not "
            f"have; it has {some_of(release.configs)}. Name the release they were made on with "
            "--dataset, or leave --dataset out to score files by their own references."
        )


def _check_rows(
    name: str,
    samples: Mapping[int, Sequence[Prediction]],
    order: Sequence[int],
    release: Release,
) -> None:
    """Raise RulerError for predictions for row indices that the configuration does not have."""
    indices = set(order)
    unknown = [answers[0] for index, answers in samples.items() if index not in indices]
    if unknown:
        raise RulerError(
            f"{len(unknown)} of {len(samples)} predictions for '{name}' are for rows that "
            f"'{release.source}' does not have (its '{name}' has {len(indices)} rows, "
            f"{min(indices)} to {max(indices)}; '{unknown[0].where}' is for row "
            f"{unknown[0].index}): they were made on other rows. Name their release with "
            "--dataset, or their references with --references FOLDER."
        )


def _rows_asked(name: str, run: RunFacts, order: Sequence[int]) -> frozenset[int] | None:
    """Return the indices of the rows that a run was asked to answer; None for all of them.

    `ruler run --limit N` runs the first N rows of the frozen order. A run may have several
    sessions with different limits; the largest counts.
    """
    largest = None
    for session in run.get("sessions", []):
        if name in session.get("configs", []):
            limit = session.get("limit")
            if limit is None:
                return None
            largest = max(limit, largest or 0)
    return None if largest is None else frozenset(order[:largest])


def _proof(
    name: str,
    samples: Mapping[int, Sequence[Prediction]],
    predictions: Predictions,
    release: Release | None,
) -> Proof:
    """Return the evidence that a configuration's answers belong to its rows."""
    has_digest = name in predictions.run.get("rows", {})
    if has_digest and (release is not None or name in predictions.reference_rows):
        return "rows"  # the digests were compared
    are_matched_by_line, have_prompts_of_rows, are_compared = False, True, True
    for answers in samples.values():
        answer = answers[0]
        are_matched_by_line = are_matched_by_line or answer.is_matched_by_line
        have_prompts_of_rows = have_prompts_of_rows and answer.has_prompt_of_row
        are_compared = are_compared and bool(answer.outputs or answer.question)
    if release is None and not are_matched_by_line:
        return "file"
    if have_prompts_of_rows:
        return "prompt"
    return "references" if are_compared and release is not None else "none"
