"""What the page of `ruler report` shows, as one model.

    page = page_data(open_runs([Path("runs/qwen")]))
    page["series"][0]["label"], page["groups"][0]["rows"][0]["average"]["score"]

Scores and intervals are 0 … 100 and those of results.json (score/results.py); lengths are
in tokens; a depth is 0 … 1. A series is a line of a chart and a row of a table: one run under one
tokenizer. Text of models and rows is cleaned of control characters (ruler_common/text.py).
"""

from __future__ import annotations

from typing import Any

from typing_extensions import NotRequired, TypedDict

from ruler_eval.analysis.compare import Side
from ruler_eval.score.results import DepthBin, Interval, LengthLoss, Mean

NEEDLES = "needle tasks"
"""The name of a map of all tasks that hide needles, pooled."""


class ShownEvidence(TypedDict):
    """A needle, assignment or document of a row, and the text around it if it is known.

    `text` is the text before, the evidence itself, and the text after.
    """

    depth: float
    answer: bool
    text: NotRequired[list[str]]


class ShownRow(TypedDict):
    """One row behind a number, as text; `score` is 0 … 1, `kind` None for a right answer."""

    index: int
    score: float
    kind: str | None
    question: str
    references: list[str]
    answer: str | None
    state: str
    evidence: list[ShownEvidence]


class ShownRows(TypedDict):
    """The rows of a configuration that the page holds, wrong ones first; it has `n` rows."""

    n: int
    wrong: int
    rows: list[ShownRow]


class RunFacts(TypedDict):
    """What one run was: how the rows were answered and scored, and what went wrong with them.

    `counts` are summed over the configurations, `troubles` are those of the configurations that
    have any; `whose_rows` says whether the rows are frozen ones or own ones, and why. `warnings`
    are what a reader must know before the numbers: custom rows, a part of them, answers in doubt.
    """

    label: str
    model: str
    data: str
    whose_rows: str
    warnings: list[str]
    tokenizers: list[str]
    mode: str
    reasoning: str
    date: str
    sampling: str
    speed: str
    engine: str
    engine_settings: str
    score_version: str
    rules: list[str]
    partial: bool
    rows: int
    counts: dict[str, int]
    troubles: list[dict[str, Any]]
    notes: list[str]
    answers: str


class Series(TypedDict):
    """One run under one tokenizer; `languages` are those its means are over."""

    id: int
    run: int
    label: str
    tokenizer: str
    languages: str
    colour: str
    shape: str


class Length(TypedDict):
    """A length that any run was scored at: its name, tokens and label (`4k`, 4096, `4K`)."""

    name: str
    tokens: int
    label: str


class LengthScore(TypedDict):
    """A mean over a group's tasks at one length; `tasks` of `of` were scored there."""

    score: float | None
    interval: Interval | None
    tasks: int
    of: int


class GroupRow(TypedDict):
    """A series' row of the table of one group.

    `effective_between` are the effective lengths of the ends of the scores' intervals, `32K-128K`.
    """

    series: int
    lengths: dict[str, LengthScore]
    average: Mean
    weighted_inc: Mean
    weighted_dec: Mean
    effective: str
    effective_tokens: int | None
    effective_between: str
    threshold: float | None
    relative: str
    relative_tokens: int | None
    losses: list[LengthLoss]


class PublishedRow(TypedDict):
    """A model's row of a paper's table, made on other rows than these."""

    model: str
    lengths: dict[str, float]
    average: float | None
    weighted_inc: float | None
    weighted_dec: float | None
    effective: str
    claimed: str
    source: str


class Group(TypedDict):
    """A table of the page: all tasks, or a category of them; `members` where these are known."""

    name: str
    tasks: int
    members: list[str]
    rows: list[GroupRow]
    published: list[PublishedRow]


class HeatCell(TypedDict):
    """A task at a length; over several languages the mean of their configurations."""

    score: float | None
    strict: float | None
    interval: Interval | None
    n: int
    troubles: dict[str, int]
    configurations: list[str]


class HeatMap(TypedDict):
    """A series' cells by row (task or language) and length; None where nothing was scored."""

    series: int
    rows: list[str]
    cells: list[list[HeatCell | None]]


class DepthMap(TypedDict):
    """A series' scores by depth (ten bins, the beginning first) and length.

    Of one task, or of NEEDLES together: all tasks that hide needles, each asked value once;
    `configurations` are those of each length.
    """

    series: int
    task: str
    lengths: dict[str, list[DepthBin]]
    configurations: dict[str, list[str]]


class Difference(TypedDict):
    """A paired difference A - B in points at a task and length, or a mean (`task` is None).

    `language` is "" for means over everything, `*` for a mean over all single languages.
    `p_holm` is p adjusted for all tests of the pair; `better` is `a` or `b` where the rows tell.
    """

    task: str | None
    length: str | None
    language: str
    a: float
    b: float
    difference: float
    interval: Interval
    n: int | None
    p: float | None
    p_holm: float | None
    better: Side | None


class Pair(TypedDict):
    """Two runs on the same rows; `problem` says why they cannot be paired, if so."""

    a: int
    b: int
    differences: list[Difference]
    problem: str | None


class TaskErrors(TypedDict):
    """The wrong rows of a series' task over all lengths, by kind.

    Of `rows` rows `wrong` have less than the full score; `sorted` of these were sorted into kinds.
    """

    series: int
    task: str
    rows: int
    wrong: int
    sorted: int
    kinds: dict[str, int]


class Errors(TypedDict):
    """Kinds of errors: what they mean, and how many rows have them."""

    kinds: dict[str, str]
    tasks: list[TaskErrors]
    notes: list[str]


class ComplexityPanel(TypedDict):
    """A series' tasks that differ in one parameter alone; the title names it, `niah: keys`.

    A line has a task's value of the parameter and its scores by length: Line of
    ruler_eval/analysis/complexity.py. Runs on the benchmark's own tasks have no panels.
    """

    series: int
    title: str
    lines: list[dict[str, Any]]


class Languages(TypedDict):
    """What ONERULER's paper draws, by series; see analysis/languages.py."""

    heat_maps: list[HeatMap]
    models: list[dict[str, Any]]
    rankings: list[dict[str, Any]]


class ShowCommand(TypedDict):
    """What `ruler show` takes to show a row of a series: its release and its run, as a shell does.

    `run` is "" where the answers are in several places.
    """

    release: str
    run: str


class PageData(TypedDict):
    """The whole page, in its order; `rows` and `show` are by the series' id.

    `correlation` is what analysis/complexity.py finds, None of too few models and lengths.
    """

    title: str
    dataset: str
    made_by: str
    runs: list[RunFacts]
    series: list[Series]
    lengths: list[Length]
    tasks: list[str]
    verdict: list[str]
    groups: list[Group]
    heat_maps: list[HeatMap]
    complexity: list[ComplexityPanel]
    needles: list[DepthMap]
    depth: list[DepthMap]
    pairs: list[Pair]
    errors: Errors
    languages: Languages | None
    correlation: dict[str, Any] | None
    rows: dict[str, dict[str, ShownRows]]
    show: dict[str, ShowCommand]
