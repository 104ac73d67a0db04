r"""The frozen rows as files of the tools that read rows: kvpress, and the reference code.

A row as kvpress reads it: what is compressed, and what is asked about it.

    rows = ruler_dataset.load("ruler", "vt_4k")
    rows = rows.map(kvpress_view, remove_columns=rows.column_names)

    {"context": "Memorize and … VAR ABCDE = 12345 …\n", "question": "Question: Find all … above. ",
     "answer_prefix": "Answer: According to …: ", "answer": ["ABCDE", …], "task": "vt",
     "max_new_tokens": 30}

`context + question + answer_prefix` is `input + answer_prefix`, to the character. As in the data
set that kvpress evaluates (simonjegou/ruler), the one space before the prefix ends the question:
if a chat template is between the two, the assistant's turn begins with a letter.

The reference code's layout (NVIDIA/RULER), so that its own scripts run on the frozen rows:

    TO/4096/data/vt/validation.jsonl     {"index": 0, "input": "…", "outputs": ["…"],
                                          "length": 4066, "answer_prefix": " Answer: …"}

`TO/4096` is its results folder: pred/call_api.py reads `data` and writes `pred`, eval/evaluate.py
and `ruler score` read `pred`. As in its current main (July 2026 on), the answer prefix is apart
from the input and call_api joins them; its versions from January 2025 until then drop the prefix,
of their own data too. The prompt is the bare one (its template type `base`): no chat template.
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
"""The name its scripts take without `--subset`."""
COLUMNS = ("input", "answer_prefix", "outputs", "task", "max_new_tokens", "context_end")
KVPRESS_COLUMNS = ("context", "question", "answer_prefix", "answer", "task", "max_new_tokens")
FILE = f"{SPLIT}-00000-of-00001.parquet"


def kvpress_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the six columns of a row; for `datasets.Dataset.map`."""
    question = row["input"][row["context_end"] :].lstrip()
    context = row["input"][: len(row["input"]) - len(question)]
    prefix = row["answer_prefix"]
    if prefix.startswith(" "):
        question, prefix = question + " ", prefix[1:]
    return {
        "context": context,
        "question": question,
        "answer_prefix": prefix,
        "answer": list(row["outputs"]),
        "task": row["task"],
        "max_new_tokens": row["max_new_tokens"],
    }


def folder_of(config: Config) -> str:
    """Return kvpress's name of a length: `4096`; of oneruler, with the languages: `8000-pl`."""
    languages = f"-{config.languages}" if config.dataset == "oneruler" else ""
    return f"{config.max_length}{languages}"


def write_kvpress(job: ExportJob) -> str:
    """Write one Parquet file a length and a card; return the command that evaluates one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, texts = pa.string(), pa.list_(pa.string())
    types = {"answer": texts, "max_new_tokens": pa.int64()}
    schema = pa.schema([(column, types.get(column, text)) for column in KVPRESS_COLUMNS])
    options = {"compression": "zstd", "compression_level": 9, "use_dictionary": False}
    options["data_page_size"] = 1 << 28  # one page: the texts share most of what they say
    for name, configs in itertools.groupby(job.each(), folder_of):  # sorted by these names
        (job.folder / name).mkdir()
        with pq.ParquetWriter(job.folder / name / FILE, schema, **options) as writer:
            for config in configs:
                rows = map(kvpress_view, job.release.rows(config.name, COLUMNS))
                while batch := list(itertools.islice(rows, BATCH_ROWS)):
                    writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    _write_card(job)
    return f"python evaluate.py --dataset ruler --data_dir {name} …   (in kvpress's evaluation/)"


def _write_card(job: ExportJob) -> None:
    """Write the card: a configuration a length, and how to load it."""
    from huggingface_hub.utils import yaml_dump

    names = list(dict.fromkeys(map(folder_of, job.configs)))
    listed = [
        {"config_name": name, "data_files": [{"split": SPLIT, "path": f"{name}/{FILE}"}]}
        for name in names
    ]
    many = job.release.dataset == "oneruler"
    job.write_readme(
        "kvpress.md",
        metadata=yaml_dump({"configs": listed}, sort_keys=False),
        tokenizer=job.configs[0].tokenizer,
        name=job.to.name,
        config=names[0],
        split=SPLIT,
        oneruler=" ONERULER's own rule is exactness: `ruler score` has it." if many else "",
    )


def write_reference(job: ExportJob) -> str:
    """Write a file for each length and task; return the command that answers one of them."""
    if job.release.dataset != "ruler":
        raise RulerError(
            f"The reference code has no tasks of {job.release.dataset}: use --format lm-eval."
        )
    for config in job.each():
        data = job.folder / str(config.max_length) / "data"
        job.write_rows(config, REFERENCE_COLUMNS, data / config.task / f"{SUBSET}.jsonl")
    first = job.configs[0]
    place = job.to / str(first.max_length)
    return (
        f"python pred/call_api.py --data_dir {place}/data --save_dir {place}/pred "
        f"--task {first.task} …   (in the reference code's scripts/)"
    )
