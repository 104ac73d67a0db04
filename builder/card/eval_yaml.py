"""eval.yaml at a data set's root: by it the Hub can list the data set as a benchmark.

    name: RULER
    description: …
    tasks:
    - id: niah_single_1_4k
      config: niah_single_1_4k
      split: test

A suite with other parameters than the benchmark's is not called by its name, whatever its tasks'
names are. Results go to model repositories by task id (`ruler results`), so a task's id is its
configuration's name, groups included. `evaluation_framework` names a harness of the Hub's own list
(EVALUATION_FRAMEWORKS in huggingface.js): this project is not on it, and to name one that is would
be untrue. Some benchmarks are listed without one; listing is on request while it is in beta.
"""

from __future__ import annotations

from builder.card.render import configurations
from ruler_dataset import SPLIT, Manifest, is_standard

FILE = "eval.yaml"
TITLES = {"ruler": "RULER", "oneruler": "ONERULER"}
_WHAT = {
    "ruler": "Synthetic long-context tasks in English: retrieval, multi-hop tracing, aggregation, "
    "question answering (arXiv:2404.06654). The score is the recall of the references, in qa "
    "whether one of them is there",
    "oneruler": "Long-context retrieval and aggregation in up to 26 languages (arXiv:2503.01996). "
    "The score is the share of rows answered exactly",
}


def eval_yaml(manifest: Manifest) -> str:
    """The text of a release's eval.yaml."""
    from huggingface_hub.utils import yaml_dump

    dataset = manifest["dataset"]
    tokenizers = ", ".join(dict.fromkeys(file["tokenizer"] for file in manifest["files"].values()))
    description = (
        f"{_WHAT[dataset]}, 0 to 100; a group's is the plain mean of its tasks'. Frozen rows, data "
        f"version {manifest['data_version']}, fitted under {tokenizers}."
    )
    names = [config["name"] for config in configurations(manifest)]
    tasks = [{"id": name, "config": name, "split": SPLIT} for name in names]
    title = (
        TITLES[dataset] if is_standard(manifest) else f"Tasks of a changed {TITLES[dataset]} suite"
    )
    found = {"name": title, "description": description, "tasks": tasks}
    return yaml_dump(found, sort_keys=False)
