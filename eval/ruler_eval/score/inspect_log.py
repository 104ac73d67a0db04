"""Read Inspect's logs of `ruler_release/ruler` and `ruler_release/oneruler`: .eval or .json.

    settings(Path("logs/2026-….eval"))["mode"]            # the log's run, as run.json has it
    for prediction in predictions(Path("logs/2026-….eval")): …

A sample is an answer to a row, one of several if the task has epochs. Its metadata have the row's
configuration and index (ruler_release/inspect_tasks.py). The logs are read by the
package inspect-ai, because their format changes with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ruler_common.errors import RulerError, missing_packages
from ruler_common.files import check_type
from ruler_common.text import one_line
from ruler_eval.prediction import Prediction, finish_reason_of, row_number
from ruler_eval.score.own_run import RunFacts

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

SUFFIX = ".eval"
_EXCLUDED = {"messages", "events", "events_data", "store", "attachments", "scores", "timelines"}
"""Fields of a sample that scoring does not need."""


_JSON_LOG = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval":')


def is_log(file: Path) -> bool:
    """Return whether a file is a log of Inspect: NAME.eval, or the same as JSON."""
    if file.suffix == SUFFIX:
        return True
    if file.suffix != ".json":
        return False
    with file.open("rb") as stream:
        return _JSON_LOG.match(stream.read(200)) is not None


def settings(file: Path) -> RunFacts:
    """Return the run of a log: model, mode, release and its digests, as run.json has them.

    Raises RulerError for another task's log.
    """
    with _plain_errors(file):
        from inspect_ai.log import read_eval_log

        header = read_eval_log(file, header_only=True)
    about = (header.eval.metadata or {}).get("ruler_release")
    if about is None:
        raise RulerError(
            f"'{file}' is a log of '{header.eval.task}': give a log of ruler_release/ruler or "
            "ruler_release/oneruler."
        )
    check_type(about, RunFacts, file, "Give another log.")
    return cast(RunFacts, {**about, "model": header.eval.model})


def predictions(file: Path, keep_prompts: bool = False) -> Iterator[Prediction]:
    """Yield the answers of a log, sample by sample; it has no rows that were not started.

    Raises RulerError for another task's log.
    """
    settings(file)
    with _plain_errors(file):
        from inspect_ai.log import read_eval_log_samples

        samples = read_eval_log_samples(file, all_samples_required=False, exclude_fields=_EXCLUDED)
        for sample in samples:
            target = [sample.target] if isinstance(sample.target, str) else sample.target
            yield prediction(
                sample.metadata,
                sample.output,
                error=sample.error.message if sample.error else None,
                outputs=tuple(target),
                prompt=_prompt(sample.input) if keep_prompts else None,
                where=f"{file}:{sample.id}",
                sample=sample.epoch - 1,
            )


def prediction(row: Mapping[str, Any], output: ModelOutput, **more: Any) -> Prediction:
    """Return a model's output as the answer to the row in a sample's metadata."""
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
        finish_reason=finish_reason_of(stop),
        thinking=thinking or None,
        thinking_ended=not truncated if thinking else None,
        thinking_tokens=usage.reasoning_tokens if usage else None,
        prompt_tokens=usage.input_tokens if usage else None,
        **more,
    )


def _prompt(turns: Any) -> str:
    return turns if isinstance(turns, str) else "".join(turn.text for turn in turns)


@contextmanager
def _plain_errors(file: Path) -> Iterator[None]:
    """Turn every error of the package or of a log into a RulerError of one sentence."""
    try:
        yield
    except RulerError:
        raise
    except ImportError as error:
        raise missing_packages("inspect", f"Reading '{file}', a log of Inspect,") from error
    except Exception as error:
        why = one_line(error) or type(error).__name__
        raise RulerError(f"'{file}' cannot be read by Inspect: {why}.") from error
