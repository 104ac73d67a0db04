"""Inspect's logs (`logs/*.eval`) of the tasks `ruler_release/ruler` and `ruler_release/oneruler`.

    settings(Path("logs/2026-….eval"))["mode"]            # the log's run, as run.json has it
    for prediction in predictions(Path("logs/2026-….eval")): …

A log holds a sample a row, with its configuration and index as metadata
(ruler_release/inspect_tasks.py). Only inspect-ai reads its logs, for their form changes with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ruler_common.errors import RulerError
from ruler_eval.prediction import Prediction
from ruler_eval.score.formats.run_facts import RunFacts

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import ModelOutput

SUFFIX = ".eval"
FINISH_REASONS = {"max_tokens": "length", "model_length": "does_not_fit"}
"""What Inspect's stop reasons mean here; with `model_length` the text is the server's refusal."""
_UNREAD = {"messages", "events", "store", "attachments", "scores", "timelines"}


def settings(file: Path) -> RunFacts:
    """The run of a log: model, mode, release and its digests, as a RUN folder's run.json has them.

    Raises RulerError for another task's log.
    """
    header = _header(file)
    about = (header.eval.metadata or {})["ruler_release"]
    return cast(RunFacts, {**about, "model": header.eval.model})


def predictions(file: Path, keep_prompts: bool = False) -> Iterator[Prediction]:
    """The answers of a log in its samples' order; those that were not begun are left out.

    Raises RulerError for another task's log.
    """
    _header(file)
    from inspect_ai.log import read_eval_log_samples

    samples = read_eval_log_samples(file, all_samples_required=False, exclude_fields=_UNREAD)
    for sample in samples:
        target = [sample.target] if isinstance(sample.target, str) else sample.target
        yield prediction(
            sample.metadata,
            sample.output,
            error=sample.error.message if sample.error else None,
            outputs=tuple(target),
            prompt=_prompt(sample.input) if keep_prompts else None,
            where=f"{file}:{sample.id}",
        )


def prediction(row: Mapping[str, Any], output: ModelOutput, **more: Any) -> Prediction:
    """The answer that a model's output gives to the row of a sample's metadata."""
    usage = output.usage
    stop = output.stop_reason if output.choices else "unknown"
    content = output.choices[0].message.content if output.choices else ""
    parts = [] if isinstance(content, str) else content
    thinking = "\n".join(part.reasoning for part in parts if part.type == "reasoning")
    truncated = stop == "max_tokens" and not output.completion.strip()
    more["error"] = more.get("error") or output.error
    return Prediction(
        str(row["config"]),
        int(row["index"]),
        output.completion,
        finish_reason=FINISH_REASONS.get(stop, "stop"),
        thinking=thinking or None,
        thinking_ended=not truncated if thinking else None,
        thinking_tokens=usage.reasoning_tokens if usage else None,
        prompt_tokens=usage.input_tokens if usage else None,
        **more,
    )


def _prompt(turns: Any) -> str:
    return turns if isinstance(turns, str) else "".join(turn.text for turn in turns)


def _header(file: Path) -> EvalLog:
    """The beginning of a log, if it is one of these tasks."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise RulerError(
            f"'{file}' is a log of Inspect, which is not installed: pip install 'inspect-ai'."
        ) from error
    try:
        header = read_eval_log(file, header_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise RulerError(f"'{file}' is no log that Inspect can read: {error}") from error
    if "ruler_release" not in (header.eval.metadata or {}):
        raise RulerError(
            f"'{file}' is a log of '{header.eval.task}': only those of ruler_release/ruler and "
            "ruler_release/oneruler hold predictions for a release."
        )
    return header
