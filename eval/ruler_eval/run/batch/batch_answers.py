"""What came back for a request of a batch: an answer, a failure, or nothing because time ran out.

{"id": "…", "custom_id": "vt_4k/0", "response": {"status_code": 200, "body": {"choices": …}},
 "error": null}
{"id": "…", "custom_id": "vt_4k/1", "response": null,
 "error": {"code": "batch_expired", "message": "This request could not be executed …"}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.backends.server.replies import (
    MAX_SHOWN,
    Malformed,
    count_of,
    error_text,
    read_completion,
)
from ruler_eval.run.prompts import Prompt

NEVER_RUN = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
"""Codes of errors of requests that no model has seen: such rows are still missing."""


def never_run(line: Mapping[str, Any]) -> str | None:
    """Why a request was never answered, if its batch ended before."""
    error = line.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    return NEVER_RUN.get(code) if isinstance(code, str) else None


def completion_of(prompt: Prompt, line: Mapping[str, Any]) -> Completion:
    """The completion that a line holds; its `error` is set where it holds none."""
    response = line.get("response")
    response = response if isinstance(response, Mapping) else {}
    status, body = response.get("status_code"), response.get("body")
    why = error_text(line.get("error") or None)  # {} and "" are none
    if why is None and status not in (200, None):
        why = error_text(body.get("error") if isinstance(body, Mapping) else None) or "no answer"
    if why is None and not isinstance(body, Mapping):
        why = "no body in the answer"
    if why is not None:
        prefix = f"HTTP {status}: " if count_of(status) not in (None, 200) else ""
        return Completion(prompt, error=prefix + hide_keys(why, MAX_SHOWN))
    try:
        return read_completion(prompt, body)
    except Malformed as error:
        return Completion(prompt, error=f"Malformed: {hide_keys(str(error), MAX_SHOWN)}")
