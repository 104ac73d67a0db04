"""Compares the prompts that a prediction file holds with those of a release's rows.

PromptCheck(release=release).of(prediction)      # RulerError for the prompt of another row
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import BATCH_ROWS, Release
from ruler_eval.prediction import Prediction


@dataclass(kw_only=True)
class PromptCheck:
    """Compares prompts with those of a release, some rows in memory at a time."""

    release: Release
    _held: dict[str, tuple[int, dict[int, str]]] = field(default_factory=dict)

    def of(self, prediction: Prediction) -> None:
        """Mark an answer whose prompt holds its row's text; RulerError for another row's prompt.

        Answers to rows that the release lacks are passed over.
        """
        config, index = prediction.config, prediction.index
        if prediction.prompt is None or config not in self.release.configs:
            return
        batch = index // BATCH_ROWS
        if self._held.get(config, (None, None))[0] != batch:
            places = range(batch * BATCH_ROWS, (batch + 1) * BATCH_ROWS)
            rows = self.release.some_rows(config, ["input"], places)
            self._held = {config: (batch, {row["index"]: row["input"] for row in rows})}
        text = self._held[config][1].get(index)
        if text is None:
            return
        if text.strip() not in prediction.prompt:
            raise RulerError(
                f"'{prediction.where}' was asked another prompt than row {index} of '{config}' in "
                f"'{self.release.source}': name the release it was made on with --dataset, or "
                "leave --dataset out to score it by its own references."
            )
        prediction.asked_row = True
