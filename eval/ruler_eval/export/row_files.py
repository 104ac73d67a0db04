r"""Export frozen rows to the file formats of kvpress and of the reference code.

kvpress compresses a row's context and then sends the question:

    rows = ruler_dataset.load("ruler", "vt_4k")
    rows = rows.map(kvpress_view, remove_columns=rows.column_names)

    {"context": "Memorize and … VAR ABCDE = 12345 …\n", "question": "Question: Find all … above. ",
     "answer_prefix": "Answer: According to …: ", "answer": ["ABCDE", …], "task": "vt",
     "max_new_tokens": 30}

`context + question + answer_prefix` equals `input + answer_prefix` exactly. As in simonjegou/ruler,
the dataset that kvpress evaluates, the space before the answer prefix is moved to the end of the
question, so that the assistant's turn begins with a letter if a chat template separates the two.

The layout of the reference code (NVIDIA/RULER), so that its scripts run on the frozen rows:

    TO/4096/data/vt/validation.jsonl     {"index": 0, "input": "…", "outputs": ["…"],
                                          "length": 4066, "answer_prefix": " Answer: …"}

`TO/4096` is its results folder: pred/call_api.py reads `data` and writes `pred`; eval/evaluate.py
and `ruler score` read `pred`. The answer prefix is a separate column, which call_api.py has
appended to the input since July 2026. Its versions from January 2025 until then drop the prefix,
even that of their own data. Prompts have no chat template (template type `base`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.names import SPLIT, Config
from ruler_eval.export.job import ExportJob
from ruler_eval.frozen_release import BATCH_ROWS

REFERENCE_COLUMNS = ("index", "input", "outputs", "length", "answer_prefix")
SUBSET = "validation"
"""The file name that the reference code's scripts read by default."""
RELEASE_COLUMNS = ("input", "answer_prefix", "outputs", "task", "max_new_tokens", "context_end")
KVPRESS_COLUMNS = ("context", "question", "answer_prefix", "answer", "task", "max_new_tokens")
FILE = f"{SPLIT}-00000-of-00001.parquet"


def kvpress_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in kvpress's six columns, for `datasets.Dataset.map`."""
    question = row["input"][row["context_end"] :].lstrip()
    context = row["input"][: len(row["input"]) - len(question)]
    prefix = row["answer_prefix"]
    if prefix.startswith(" "):
        question += " "
        prefix = prefix[1:]
    return {
        "context": context,
        "question": question,
        "answer_prefix": prefix,
        "answer": list(row["outputs"]),
        "task": row["task"],
        "max_new_tokens": row["max_new_tokens"],
    }


def folder_of(config: Config) -> str:
    """Return the folder of a length: `4096`, or with its languages in oneruler: `8000-pl`."""
    if config.dataset == "oneruler":
        return f"{config.max_length}-{config.languages}"
    return str(config.max_length)


def write_kvpress(job: ExportJob) -> str:
    """Write a Parquet file for each length, and a card.

    Returns:
        The command with which kvpress evaluates one of the files.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"answer": pa.list_(pa.string()), "max_new_tokens": pa.int64()}
    schema = pa.schema([(column, types.get(column, pa.string())) for column in KVPRESS_COLUMNS])
    options = {
        "compression": "zstd",
        "compression_level": 9,
        "use_dictionary": False,
        "data_page_size": 1 << 28,  # one page: it compresses well because the rows share their text
    }
    for name, configs in itertools.groupby(job.each(), folder_of):  # in the order of the folders
        (job.folder / name).mkdir()
        with pq.ParquetWriter(job.folder / name / FILE, schema, **options) as writer:
            for config in configs:
                rows = map(kvpress_view, job.release.rows(config.name, RELEASE_COLUMNS))
                while batch := list(itertools.islice(rows, BATCH_ROWS)):
                    writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    _write_card(job)
    return f"python evaluate.py --dataset ruler --data_dir {name} …   (in kvpress's evaluation/)"


def _write_card(job: ExportJob) -> None:
    """Write the card of a kvpress export, in which each folder is a configuration."""
    from huggingface_hub.utils import yaml_dump

    folders = list(dict.fromkeys(folder_of(config) for config in job.configs))
    configurations = [
        {"config_name": folder, "data_files": [{"split": SPLIT, "path": f"{folder}/{FILE}"}]}
        for folder in folders
    ]
    oneruler = ""
    if job.release.dataset == "oneruler":
        oneruler = " ONERULER's rule is an exact match: use `ruler score` for it."
    job.write_readme(
        "kvpress.md",
        metadata=yaml_dump({"configs": configurations}, sort_keys=False),
        tokenizer=job.configs[0].tokenizer,
        name=job.to.name,
        config=folders[0],
        split=SPLIT,
        oneruler=oneruler,
    )


def write_reference(job: ExportJob) -> str:
    """Write a file for each length and task.

    Returns:
        The command with which the reference code's script answers one of the files.
    """
    if job.release.dataset != "ruler":
        raise RulerError(
            f"The reference code does not have {job.release.dataset}'s tasks: use --format lm-eval."
        )
    for config in job.each():
        data = job.folder / str(config.max_length) / "data"
        job.write_rows(config, REFERENCE_COLUMNS, data / config.task / f"{SUBSET}.jsonl")
    first = job.configs[0]
    results = job.to / str(first.max_length)
    return (
        f"python pred/call_api.py --data_dir {results}/data --save_dir {results}/pred "
        f"--task {first.task} …   (in the reference code's scripts/)"
    )
