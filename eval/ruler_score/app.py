"""The page of the metric's Space, which scores one answer by hand.

pip install gradio && python eval/ruler_score/app.py
"""

import importlib
import runpy
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr  # type: ignore[import-not-found]

HERE = Path(__file__).parent
metric = evaluate.load(str(HERE / "ruler_score.py"))
rules = importlib.import_module(type(metric).__module__)  # the copy that `evaluate` has loaded


def score(prediction: str, references: str, task: str, language: str) -> dict[str, Any]:
    """Score one row. References are one per line; a language marks a row of ONERULER."""
    outputs = [line for line in references.splitlines() if line]
    try:
        result: dict[str, Any] = rules.compute(
            [prediction], [outputs], tasks=task or None, languages=[language or None]
        )
    except ValueError as error:
        raise gr.Error(str(error)) from error
    return result


test_cases = runpy.run_path(str(HERE / "tests.py"))["test_cases"]
examples = [
    [
        case["predictions"][0],
        "\n".join(case["references"][0]),
        case.get("tasks", ""),
        case.get("languages", [""])[0],
    ]
    for case in test_cases
    if "compat" not in case
]
tasks = dict.fromkeys(["", *rules.RULER_TASKS, *rules.ONERULER_TASKS])
page = gr.Interface(
    fn=score,
    inputs=[
        gr.Textbox(label="prediction", lines=3),
        gr.Textbox(label="references, one per line", lines=3),
        gr.Dropdown(list(tasks), label="task"),
        gr.Dropdown(["", *rules.ANSWER_TAGS], label="language (ONERULER only)"),
    ],
    outputs=gr.JSON(label="score"),
    examples=examples,
    title=f"RULER score {rules.SCORE_VERSION}",
    description="How to use it from Python, and the rules: see the Space's README.",
)

if __name__ == "__main__":
    page.launch()
