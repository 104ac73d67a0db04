r"""RULER and ONERULER as tasks of Inspect, with the frozen rows and the project's metric.

    inspect eval ruler_release/ruler -T dataset=ruler -T config=all_4k --model vllm/ORG/MODEL
    inspect eval ruler_release/ruler -T dataset=ruler -T 'config="vt_*"' --model openai/MODEL
    inspect eval ruler_release/oneruler -T dataset=ORG/oneruler -T revision=v1.0.0 \
        -T config=all_8k_pl --model openai/MODEL
    ruler score logs --dataset ruler

Inspect reads each value of -T and -M as YAML, so a pattern and a template need quotation marks
inside those of the shell.

A sample is a row. Its `input` is the user's turn, and `answer_prefix` begins the assistant's turn
(mode prefill), or both are one raw text (completion), or the prefix is left out (chat). Scores are
those of the metric, 0 … 1; `all` is the plain mean over the tasks, as in RULER's tables. Without
-T mode the provider decides; the log has the mode.

    provider                                     modes, the default first
    vllm, sglang, sagemaker                      prefill, chat
    vllm-completions, openai-api-completions     completion
    hf, others                                   chat
    hf with the template below                   completion

Inspect's hf provider does not report that an answer was truncated, samples unless told not to, and
adds a second BOS to a template that writes one, unless it is configured so:

    -M do_sample=false -M 'tokenizer_call_args={"add_special_tokens": false}'
    -M do_sample=false -M 'chat_template="{{ messages[0].content }}"' -T mode=completion
"""

from __future__ import annotations

import functools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec

from click import ClickException
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    Model,
    get_model,
)
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    grouped,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from ruler_common.errors import RulerError
from ruler_common.names import Config, check_name
from ruler_eval.frozen_release import Release, ReleaseLanguages, chosen_files
from ruler_eval.run.options import MODES
from ruler_eval.run.prompts import Prompter
from ruler_eval.run.reasoning import Reasoning
from ruler_eval.score.inspect_log import prediction
from ruler_eval.score.rows import ScoringRules, row_score
from ruler_eval.tasks import scoring_language, scoring_task
from ruler_score.ruler_score import SCORE_VERSION

SAMPLE_COLUMNS = ("index", "input", "answer_prefix", "outputs", "max_new_tokens", "none_word")
CONTINUES = ("vllm", "sglang", "sagemaker")
"""Inspect's providers that continue the assistant's turn when a prompt ends with one."""
RAW = ("vllm-completions", "openai-api-completions")
"""Inspect's providers that send a prompt without a chat template."""
ANY_MODE = "mockllm"
"""Inspect's provider for tests, which accepts every prompt."""
TEMPLATE_THAT_ADDS_NOTHING = """-M 'chat_template="{{ messages[0].content }}"'"""
Arguments = ParamSpec("Arguments")
REQUIRED = {"dataset": "ruler", "config": "all_4k"}
"""The first arguments of every task, each with an example."""


def _show_errors_as_sentences(make: Callable[Arguments, Task]) -> Callable[Arguments, Task]:
    """Turn RulerError into click's exception, which Inspect shows without a traceback.

    A missing argument is one, too: Inspect leaves out those that a task does not have, such as
    `configs`.
    """

    @functools.wraps(make)
    def make_task(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Task:
        for place, (name, example) in enumerate(REQUIRED.items()):
            if len(args) <= place and name not in kwargs:
                raise ClickException(f"Missing argument: add -T {name}=…, such as {example}.")
        try:
            return make(*args, **kwargs)
        except RulerError as error:
            raise ClickException(str(error)) from error

    return make_task


@task
@_show_errors_as_sentences
def ruler(
    dataset: str,
    config: str | list[str],
    revision: str | None = None,
    mode: str | None = None,
    limit: int | None = None,
    direct: bool = False,
    thinking: int = 0,
) -> Task:
    """RULER (arXiv:2404.06654) on the rows of a frozen release.

    Args:
        dataset: A release folder, or a repository on the Hub (ORG/NAME).
        config: Configurations or groups, `all_4k` or `niah_mk_128k,vt_8k`, or a pattern, `"vt_*"`.
        revision: The repository's tag or commit.
        mode: `prefill`, `chat` or `completion`; see this module. Default: the first of them that
            the model's provider supports, but `chat` with `direct` or `thinking`.
        limit: Rows of each configuration, the first of the frozen order.
        direct: In mode chat, end the user's turn with the line of RULER's Table 6 and the prefix.
        thinking: Tokens for reasoning, in addition to `max_new_tokens`; needs mode chat.
    """
    return _task("ruler", dataset, config, revision, mode, limit, direct, thinking)


@task
@_show_errors_as_sentences
def oneruler(
    dataset: str,
    config: str | list[str],
    revision: str | None = None,
    mode: str | None = None,
    limit: int | None = None,
    thinking: int = 0,
) -> Task:
    """ONERULER (arXiv:2503.01996), 26 languages, on the rows of a frozen release.

    Args:
        dataset: A release folder, or a repository on the Hub (ORG/NAME).
        config: Configurations or groups: `all_8k_pl`, `niah_single_64k_en-ko`, and `all_8k` for
            all 26 languages.
        revision: The repository's tag or commit.
        mode: `chat` or `completion`: the rows have no answer prefix. Default: the one that the
            model's provider supports.
        limit: Rows of each configuration, the first of the frozen order.
        thinking: Tokens for reasoning, in addition to `max_new_tokens`; needs mode chat.
    """
    return _task("oneruler", dataset, config, revision, mode, limit, False, thinking)


def _task(
    benchmark: str,
    source: str,
    names: str | Sequence[str],
    revision: str | None,
    mode: str | None,
    limit: int | None,
    direct: bool,
    thinking: int,
) -> Task:
    """Return the task of a benchmark. Raises RulerError."""
    model = model_to_evaluate()
    if mode is None:
        mode = default_mode(model, chat=benchmark == "oneruler" or direct or thinking > 0)
    check_name("mode", mode, MODES)
    if limit is not None and limit < 1:
        raise RulerError(f"-T limit={limit} leaves no rows: use a number above 0.")
    prompter = Prompter(mode, direct=direct, reasoning=Reasoning(thinking > 0, thinking))
    release = Release.open(source, None if revision is None else str(revision))
    if release.dataset != benchmark:
        raise RulerError(f"'{source}' is {release.dataset}: run ruler_release/{release.dataset}.")
    if revision is not None and release.revision is None:
        raise RulerError(f"'{source}' is a folder: revision is for a Hub repository.")
    config_names = names.split(",") if isinstance(names, str) else [str(name) for name in names]
    if model is not None:
        check_provider(mode, model, benchmark == "ruler")
    files = release.manifest["files"]
    paths = chosen_files(config_names, release.manifest, where=release.source)
    configs = [release.parse(files[path]["config"]) for path in paths]
    return Task(
        dataset=MemoryDataset(_samples(release, configs, prompter, limit), benchmark, source),
        solver=max_new_tokens(mode, thinking),
        scorer=ruler_scorer(release.languages.custom)
        if release.languages.custom
        else ruler_scorer(),
        config=GenerateConfig(temperature=0.0),
        version=release.manifest["data_version"],
        metadata={"ruler_release": _settings(release, configs, prompter, limit)},
    )


def _settings(
    release: Release, configs: Sequence[Config], prompter: Prompter, limit: int | None
) -> dict[str, Any]:
    """Return the settings that `ruler score` reads in the log, as in run.json of a RUN folder."""
    return {
        **prompter.settings(),
        "backend": "inspect",
        "dataset": release.dataset,
        "data_version": release.manifest["data_version"],
        "data_revision": release.revision,
        "score_version": SCORE_VERSION,
        "rows": {config.name: release.rows_sha256(config.name) for config in configs},
        "sessions": [
            {
                "source": release.source,
                "configs": [config.name for config in configs],
                "limit": limit,
            }
        ],
    }


def _samples(
    release: Release, configs: Sequence[Config], prompter: Prompter, limit: int | None
) -> list[Sample]:
    """Return a sample for each row, grouped by task, or by configuration if a task occurs twice."""
    is_one_each = set(Counter(config.task for config in configs).values()) == {1}
    samples = []
    for config in configs:
        rule = scoring_task(config.task, config.dataset, release)
        for row in release.some_rows(
            config.name, SAMPLE_COLUMNS, release.order(config.name)[:limit]
        ):
            metadata = {
                "config": config.name,
                "group": config.task if is_one_each else config.name,
                "index": row["index"],
                "rule": rule,
                "language": scoring_language(config),
                "none_word": row["none_word"],
                "max_new_tokens": row["max_new_tokens"],
            }
            turns, name = _turns(prompter, row), f"{config.name}-{row['index']}"
            samples.append(Sample(turns, target=row["outputs"], id=name, metadata=metadata))
    return samples


def _turns(prompter: Prompter, row: dict[str, Any]) -> list[ChatMessage]:
    """Return the turns of a row; in mode completion a single one with the raw text."""
    if prompter.mode == "completion":
        return [ChatMessageUser(content=str(prompter.text(row)))]
    kinds = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[turn["role"]](content=turn["content"]) for turn in prompter.messages(row)]


# ---- The model -----------------------------------------------------------------------------------


def model_to_evaluate() -> Model | None:
    """Return the model for which Inspect makes a task; None for a task made in Python before."""
    try:
        return get_model()
    except Exception:  # none is named, or Inspect cannot make the one that its variable names
        return None


def default_mode(model: Model | None, chat: bool) -> str:
    """Return the mode of a task without -T mode, which the model's provider supports.

    `chat` says that the assistant's turn has no prefix to begin with.
    """
    provider = None if model is None else provider_of(model)
    if provider in RAW:
        return "completion"
    if chat or provider not in (None, ANY_MODE, *CONTINUES):
        return "chat"
    return "prefill"


def provider_of(model: Model) -> str:
    """Return Inspect's name of a model's provider: `vllm`."""
    return str(model).partition("/")[0]


def check_provider(mode: str, model: Model, prefix: bool) -> None:
    """Raise RulerError if a provider does not send the prompt of a mode as it is."""
    provider = provider_of(model)
    if provider == ANY_MODE:
        return
    if mode == "prefill" and prefix and provider not in CONTINUES:
        other = "completion" if provider in RAW else "chat"
        raise RulerError(
            f"Inspect's provider {provider} does not continue the assistant's turn: use -T "
            f"mode={other}, or a model of {', '.join(CONTINUES)}."
        )
    if mode != "completion" and provider in RAW:
        raise RulerError(
            f"Inspect's provider {provider} sends a prompt without the chat template: use -T "
            "mode=completion, or a provider of chat models."
        )
    has_template = getattr(model.api, "chat_template", None) is not None
    if mode == "completion" and provider not in RAW and not has_template:
        raise RulerError(
            f"Inspect's provider {provider} puts a chat template around a prompt: use one of "
            f"{', '.join(RAW)}, or hf with a template that adds nothing: "
            f"{TEMPLATE_THAT_ADDS_NOTHING}"
        )


@solver
def max_new_tokens(mode: str, thinking: int = 0) -> Solver:
    """Answer each row with its `max_new_tokens`, plus `thinking` tokens for reasoning.

    Fails if the model's provider would change the prompt of the mode; `inspect eval` finds that
    out before the first row, but a task made in Python does not know its model.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        try:
            check_provider(mode, get_model(), len(state.messages) > 1)
        except RulerError as error:
            raise ClickException(str(error)) from error
        return await generate(state, max_tokens=state.metadata["max_new_tokens"] + thinking)

    return solve


# ---- The score -----------------------------------------------------------------------------------


@metric
def all_stderr() -> Metric:
    """Return the standard error of `all`, a plain mean over groups: sqrt(sum of se²) / groups."""

    def compute(scores: list[SampleScore]) -> float:
        groups: dict[str, list[float]] = defaultdict(list)
        for sample in scores:
            groups[str((sample.sample_metadata or {})["group"])].append(sample.score.as_float())
        return math.sqrt(sum(map(_squared_error, groups.values()))) / max(len(groups), 1)

    return compute


def _squared_error(values: Sequence[float]) -> float:
    """Return the squared standard error of a mean; 0 for a single value, as in Inspect."""
    return statistics.variance(values) / len(values) if len(values) > 1 else 0.0


@scorer(
    metrics=[
        grouped(mean(), "group", all="groups"),
        all_stderr(),
        grouped(stderr(), "group", all=False, name_template="{group_name}_stderr"),
    ]
)
def ruler_scorer(languages: Mapping[str, Mapping[str, Any]] | None = None) -> Scorer:
    """Return a scorer by the benchmark's rule, 0 … 1, like `ruler score` with its defaults.

    A score's metadata has the strict score and the state of the answer. `languages` are the tables
    of a release's custom languages.
    """
    rules = ScoringRules(languages=ReleaseLanguages(languages or {}))

    async def score(state: TaskState, target: Target) -> Score:
        row = {"outputs": list(target), "none_word": state.metadata["none_word"]}
        answer = prediction(state.metadata, state.output)
        rule, language = state.metadata["rule"], state.metadata["language"]
        scored = row_score(row, answer, rule, language, rules)
        metadata = {"strict": scored.strict, "state": scored.state, "thinking": scored.thinking}
        return Score(value=scored.score, answer=answer.text, metadata=metadata)

    return score
