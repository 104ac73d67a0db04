"""The data of the page of `ruler report`, as typed dictionaries.

    page = page_data(open_runs([Path("runs/qwen")]))
    page["series"][0]["label"], page["groups"][0]["rows"][0]["average"]["score"]

Scores and intervals are 0 … 100, as in results.json (score/results.py); lengths are in tokens; a
depth is 0 … 1. A series is a line of a chart and a row of a table: one run under one tokenizer.
Control characters are removed from the text of models and rows (ruler_common/text.py).
"""

from __future__ import annotations

from typing import Any

from typing_extensions import NotRequired, TypedDict

from ruler_eval.analysis.compare import Side
from ruler_eval.score.results import DepthBin, Interval, LengthLoss, Mean

NEEDLES = "needle tasks"
"""The name of the depth map that pools all tasks with needles."""


class ShownEvidence(TypedDict):
    """A needle, assignment or document of a row."""

    depth: float
    answer: bool  # whether it has a reference; False for a distractor
    text: NotRequired[list[str]]
    """The text before it, its own text and the text after it, if the prompt is available."""


class ShownRow(TypedDict):
    """A row in the list that a cell of the page opens."""

    index: int
    score: float  # 0 … 1
    kind: str | None  # the kind of error; None for a right answer
    question: str
    references: list[str]
    answer: str | None
    state: str
    evidence: list[ShownEvidence]


class ShownRows(TypedDict):
    """The rows of a configuration that are in the page."""

    n: int  # rows of the configuration, in the page or not
    wrong: int
    rows: list[ShownRow]  # wrong ones first


class RunFacts(TypedDict):
    """The settings of one run, how it was scored, and the problems of its rows."""

    label: str
    model: str
    data: str
    whose_rows: str
    """Whether the rows are frozen or custom, and why."""
    warnings: list[str]
    """Shown above the numbers, such as: custom rows, or only a part of the rows."""
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
    """Rows that are missing, failed, truncated …, summed over the configurations."""
    troubles: list[dict[str, Any]]
    """The same counts for each configuration that has any."""
    notes: list[str]
    answers: str


class Series(TypedDict):
    """One run under one tokenizer."""

    id: int
    run: int  # the place of the run in PageData.runs
    label: str
    tokenizer: str
    languages: str  # the languages over which its means are taken
    colour: str
    shape: str


class Length(TypedDict):
    """A length at which any run was scored."""

    name: str  # 4k
    tokens: int  # 4096
    label: str  # 4K


class LengthScore(TypedDict):
    """A mean over a group's tasks at one length."""

    score: float | None
    interval: Interval | None
    tasks: int  # tasks of the group that were scored at the length
    of: int  # tasks of the group


class GroupRow(TypedDict):
    """A series' row in the score table of one group."""

    series: int
    lengths: dict[str, LengthScore]
    average: Mean
    weighted_inc: Mean
    weighted_dec: Mean
    effective: str
    effective_tokens: int | None
    effective_between: str
    """The effective lengths by the lower and the upper ends of the intervals, `32K-128K`."""
    threshold: float | None
    relative: str
    relative_tokens: int | None
    losses: list[LengthLoss]


class PublishedRow(TypedDict):
    """A model's row in a paper's table; it was measured on other rows."""

    model: str
    lengths: dict[str, float]
    average: float | None
    weighted_inc: float | None
    weighted_dec: float | None
    effective: str
    claimed: str
    source: str


class Group(TypedDict):
    """A score table: all tasks, or a category of them."""

    name: str
    tasks: int
    members: list[str]  # the names of the tasks, if known
    rows: list[GroupRow]
    published: list[PublishedRow]


class HeatCell(TypedDict):
    """A task at a length; with several languages, the mean of their configurations."""

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
    """A series' scores by depth and length."""

    series: int
    task: (
        str  # a task, or NEEDLES: all tasks with needles, in which each value asked for counts once
    )
    lengths: dict[str, list[DepthBin]]  # ten bins for each length, the beginning of the text first
    configurations: dict[str, list[str]]  # the configurations of each length


class Difference(TypedDict):
    """A paired difference A - B, in points."""

    task: str | None  # None for the mean over tasks
    length: str | None  # None for the mean over lengths
    language: str  # "" for the mean over everything, "*" for the mean over all single languages
    a: float
    b: float
    difference: float
    interval: Interval
    n: int | None
    p: float | None
    p_holm: float | None  # p adjusted for all tests of the pair
    better: Side | None  # None if the difference is not significant


class Pair(TypedDict):
    """Two runs compared row by row."""

    a: int
    b: int
    differences: list[Difference]
    problem: str | None  # why they cannot be paired; None if they can


class TaskErrors(TypedDict):
    """The wrong rows of a series' task over all lengths, by kind of error."""

    series: int
    task: str
    rows: int
    wrong: int  # rows with less than the full score
    sorted: int  # wrong rows that were sorted into kinds
    kinds: dict[str, int]


class Errors(TypedDict):
    """The kinds of errors, and how many rows have each."""

    kinds: dict[str, str]  # what each kind means
    tasks: list[TaskErrors]
    notes: list[str]


class ComplexityPanel(TypedDict):
    """A series' tasks that differ in only one parameter, such as the number of keys.

    Only runs of an ablation suite have panels.
    """

    series: int
    title: str  # names the parameter: "niah: keys"
    lines: list[dict[str, Any]]  # each a Line of ruler_eval/analysis/complexity.py


class Languages(TypedDict):
    """The figures of ONERULER's paper (analysis/languages.py)."""

    heat_maps: list[HeatMap]
    models: list[dict[str, Any]]
    rankings: list[dict[str, Any]]


class ShowCommand(TypedDict):
    """The options of the `ruler show` command that shows rows of a series, quoted for a shell."""

    release: str  # --dataset ruler
    run: str  # --run runs/qwen; "" if the answers are in several places


class EngineCondition(TypedDict):
    """A condition of `ruler doctor`: its title, whether it changes answers, and a sentence."""

    title: str
    state: str
    sentence: str


class EngineVerdict(TypedDict):
    """What `ruler doctor` found about the engine that answered."""

    sentence: str
    conditions: list[EngineCondition]


class PageData(TypedDict):
    """The whole page, in the order in which it is shown."""

    title: str
    dataset: str
    made_by: str
    runs: list[RunFacts]
    series: list[Series]
    lengths: list[Length]
    tasks: list[str]
    verdict: list[str]
    doctor: EngineVerdict | None
    groups: list[Group]
    heat_maps: list[HeatMap]
    complexity: list[ComplexityPanel]
    needles: list[DepthMap]
    depth: list[DepthMap]
    pairs: list[Pair]
    errors: Errors
    languages: Languages | None
    correlation: dict[str, Any] | None
    """Of the tasks (analysis/complexity.py); None for too few models and lengths."""
    rows: dict[str, dict[str, ShownRows]]
    """By the id of the series, then by configuration."""
    show: dict[str, ShowCommand]
    """By the id of the series."""
