"""Copied into an exported folder as app.py: the verifier of the frozen rows for NeMo Gym.

A row of data/ has `outputs`, `length` and `subset` (the task) as those of NeMo Gym's own RULER
server, which can read them too. `reward` is the benchmark's rule, 0 … 1, with this project's
metric; an answer that is only reasoning is read as the text after it.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)

_process_results = runpy.run_path(str(Path(__file__).resolve().parent / "utils.py"))[
    "process_results"
]


class FrozenRowsRequest(BaseVerifyRequest):  # type: ignore[misc]  # nemo-gym is not installed
    """A row of the release, and the model's response."""

    outputs: list[str]
    length: int
    subset: str
    config: str
    index: int
    instruction_language: str = "en"
    none_word: str = ""


class FrozenRowsResponse(FrozenRowsRequest, BaseVerifyResponse):  # type: ignore[misc]
    """The row with its reward, and the stricter variant of the rule."""

    strict: float


class FrozenRowsServer(SimpleResourcesServer):  # type: ignore[misc]
    """Scores answers to the frozen rows."""

    config: BaseResourcesServerConfig

    async def verify(self, body: FrozenRowsRequest) -> FrozenRowsResponse:
        """Return the reward of an answer."""
        row: dict[str, Any] = {
            "task": body.subset,
            "outputs": body.outputs,
            "instruction_language": body.instruction_language,
            "none_word": body.none_word,
        }
        scores = _process_results(row, [body.response.output_text])
        return FrozenRowsResponse(
            **body.model_dump(), reward=scores["score"], strict=scores["strict"]
        )


if __name__ == "__main__":
    FrozenRowsServer.run_webserver()
