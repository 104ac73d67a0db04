"""What Inspect finds: `inspect eval ruler_release/ruler`, `inspect eval ruler_release/oneruler`.

    from ruler_release import ruler
    inspect_ai.eval(ruler(dataset="ruler", config="all_4k"), model="vllm/ORG/MODEL")

Inspect names a task by its top-level package, and the distribution is ruler-release: so this folder
is installed as a package of its own, beside `builder` and `eval` (pyproject.toml).
"""

from .inspect_tasks import max_new_tokens, oneruler, ruler, ruler_scorer

__all__ = ["max_new_tokens", "oneruler", "ruler", "ruler_scorer"]
