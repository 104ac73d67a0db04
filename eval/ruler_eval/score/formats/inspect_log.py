"""Inspect's logs (`logs/*.eval`) of the tasks `ruler_release/ruler` and `ruler_release/oneruler`.

    settings(Path("logs/2026-….eval"))["mode"]            # the log's run, as run.json has it
    for prediction in predictions(Path("logs/2026-….eval")): …

A log is a zip of JSON files: a header, and a sample a row, with its configuration and index as
metadata (ruler_release/inspect_tasks.py). Only inspect-ai reads them, for their form changes with
it; what it is given was unpacked here within bounds (zip_members.py), less what no score needs.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ruler_common.errors import RulerError
from ruler_common.parsing import check_type, json_value
from ruler_common.text import one_line
from ruler_eval.prediction import Prediction, row_number
from ruler_eval.score.formats.run_facts import RunFacts, check_times
from ruler_eval.score.formats.zip_members import ZipMembers

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import ModelOutput

SUFFIX = ".eval"
FINISH_REASONS = {"max_tokens": "length", "model_length": "does_not_fit"}
"""What Inspect's stop reasons mean here; with `model_length` the text is the server's refusal."""
_SAMPLES = "samples/"
_OF_THE_RUN = ("header.json", "_journal/start.json")
"""The members that describe a run: one of a log that was ended, one of a log that was not."""
_UNREAD = ("messages", "events", "events_data", "store", "attachments", "scores", "timelines")
_AT_ONCE = 64 << 20
"""Bytes of samples that inspect-ai is given together."""


def settings(file: Path) -> RunFacts:
    """The run of a log: model, mode, release and its digests, as a RUN folder's run.json has them.

    Raises RulerError for another task's log.
    """
    with _opened(file) as members:
        header = _log(_run_of(members), {})
        about = _about(file, header)
        check_type(about, RunFacts, file, "Give another log.")
        found = cast(RunFacts, {**about, "model": header.eval.model})
        check_times(found, file)
        return found


def predictions(file: Path, keep_prompts: bool = False) -> Iterator[Prediction]:
    """The answers of a log in its samples' order; those that were not begun are left out.

    Raises RulerError for another task's log.
    """
    with _opened(file) as members:
        run = _run_of(members)
        _about(file, _log(run, {}))
        for some in _samples(members):
            for sample in _log(run, some).samples or ():
                target = [sample.target] if isinstance(sample.target, str) else sample.target
                found = prediction(
                    sample.metadata,
                    sample.output,
                    error=sample.error.message if sample.error else None,
                    outputs=tuple(target),
                    prompt=_prompt(sample.input) if keep_prompts else None,
                    where=f"{file}:{sample.id}",
                )
                found.check()
                yield found


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
        row_number(row["index"]),
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


@contextmanager
def _opened(file: Path) -> Iterator[ZipMembers]:
    """The members of a log. Whatever is wrong with them is one sentence: a stranger wrote them."""
    try:
        with ZipMembers(file) as members:
            yield members
    except RulerError:
        raise
    except Exception as error:
        why = one_line(error) or type(error).__name__
        raise RulerError(f"'{file}' is no log that Inspect can read: {why}.") from error


def _run_of(members: ZipMembers) -> dict[str, bytes]:
    """The member that describes the run, less what Inspect would do for every sample."""
    name = next((name for name in _OF_THE_RUN if name in members), _OF_THE_RUN[0])
    found = json_value(members.read(name))
    for unread in ("results", "stats", "reductions"):
        found.pop(unread, None)
    return {name: json.dumps(found).encode()}


def _samples(members: ZipMembers) -> Iterator[dict[str, bytes]]:
    """The samples in their order, some at a time, less what no score needs."""
    some, size = dict[str, bytes](), 0
    for name in members:
        if name.startswith(_SAMPLES) and name.endswith(".json"):
            found = json_value(members.read(name))
            for unread in _UNREAD:
                found.pop(unread, None)
            some[name] = json.dumps(found).encode()
            size += len(some[name])
        if size > _AT_ONCE:
            yield some
            some, size = {}, 0
    if some:
        yield some


def _log(run: Mapping[str, bytes], samples: Mapping[str, bytes]) -> EvalLog:
    """What inspect-ai reads of a log that holds these members alone."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise RulerError(
            "A log of Inspect needs the package 'inspect-ai': pip install 'inspect-ai'."
        ) from error
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as log:
        for name, data in {**run, **samples}.items():
            log.writestr(name, data)
    return read_eval_log(packed, header_only=not samples, format="eval")


def _about(file: Path, header: EvalLog) -> dict[str, Any]:
    """What these tasks wrote of a run into its log."""
    if "ruler_release" not in (header.eval.metadata or {}):
        raise RulerError(
            f"'{file}' is a log of '{header.eval.task}': only those of ruler_release/ruler and "
            "ruler_release/oneruler hold predictions for a release."
        )
    about: dict[str, Any] = (header.eval.metadata or {})["ruler_release"]
    return about
