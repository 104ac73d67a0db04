"""The score of one row: which rules make it, and how its answer ended.

row_score(row, prediction, "vt", None, ScoringRules()).score                   # 0 … 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import Release, ReleaseLanguages
from ruler_eval.prediction import Prediction
from ruler_eval.score.results import Compat, CutRule, RowState, load
from ruler_score import ruler_score as rules_of
from ruler_score.oneruler_rules import authors_leave_out
from ruler_score.split_reasoning import ReasoningState


@dataclass(frozen=True)
class ScoringRules:
    """Which rows count as wrong whatever their text is.

    `cut` decides on an answer that was truncated at the token limit. Missing, failed and truncated
    rows are wrong; but in RULER `max_new_tokens` is part of the protocol and not a limit on it: a
    base model always runs to it, its answer is complete long before, and the published scores were
    made that way. So `protocol` (the default) scores an answer that used up RULER's fixed budget by
    its text, as the reference code does, and counts it beside the score; an answer truncated within
    its reasoning is wrong, and in ONERULER, whose models end by themselves, every truncated one is.
    `wrong` makes every truncated answer wrong, `score` reads every one.
    """

    compat: Compat | None = None
    cut: CutRule = "protocol"
    partial: bool = False
    _: KW_ONLY
    model: str = ""
    """The model's name: ONERULER's authors treat some models specially (`compat`)."""
    languages: ReleaseLanguages = field(default_factory=ReleaseLanguages)
    """With those that the release brings along (`for_release`)."""

    def for_release(self, release: Release | None) -> ScoringRules:
        """Return the same rules for the rows of a release."""
        return replace(self, languages=release.languages) if release else self


def rules_of_run(files: Sequence[Path], cut: str | None = None) -> ScoringRules:
    """Return the rules by which a RUN folder among the files was scored.

    If none was scored, those of `cut` (--cut). Raises RulerError if the two differ.
    """
    for folder in files:
        if (folder / "run.json").is_file() and (folder / "results.json").is_file():
            results = load(folder)
            used = results["rules"]
            if cut not in (None, used["cut"]):
                raise RulerError(
                    f"'{folder}' was scored with --cut {used['cut']}: leave --cut out, or score "
                    f"the run again with --cut {cut}."
                )
            return ScoringRules(used["compat"], used["cut"], model=results["model"] or "")
    return ScoringRules(cut=cast(CutRule, cut or "protocol"))


class RowScore(NamedTuple):
    """What became of one row: its score and strict score (0 … 1), and how its answer ended."""

    score: float
    strict: float
    state: RowState
    thinking: ReasoningState = "none"
    cut_scored: bool = False
    found: float = 0

    @property
    def counts(self) -> bool:
        """Return whether the answer counts, as one that was not truncated does."""
        return self.state == "ok" or self.cut_scored


def row_score(
    row: Mapping[str, Any],
    prediction: Prediction | None,
    task: str,
    language: str | None,
    rules: ScoringRules,
) -> RowScore:
    """Score one row; `language` (of the instruction) marks a row of ONERULER."""
    if prediction is None:
        return RowScore(0.0, 0.0, "missing")
    if prediction.failed:
        does_not_fit = prediction.finish_reason == "does_not_fit"
        return RowScore(0.0, 0.0, "does_not_fit" if does_not_fit else "failed")
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
        return RowScore(0.0, 0.0, "truncated", thinking)
    if not in_reasoning and prediction.finish_reason != "length":
        return RowScore(scored.score, scored.strict, "ok", thinking, found=scored.found)
    by_text = rules.cut == "score" or (rules.cut == "protocol" and language is None)
    if rules.compat == "authors" or (by_text and not in_reasoning):
        return RowScore(scored.score, scored.strict, "truncated", thinking, True, scored.found)
    return RowScore(0.0, 0.0, "truncated", thinking, found=scored.found)
