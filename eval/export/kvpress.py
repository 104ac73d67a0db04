r"""A row as kvpress reads it: what is compressed, and what is asked about it.

    rows = ruler_dataset.load("vt_4k", "ruler")
    rows = rows.map(kvpress_view, remove_columns=rows.column_names)

    {"context": "Memorize and … VAR ABCDE = 12345 …\n", "question": "Question: Find all … above. ",
     "answer_prefix": "Answer: According to …: ", "answer": ["ABCDE", …], "task": "vt",
     "max_new_tokens": 30}

`context + question + answer_prefix` is `input + answer_prefix`, to the character. As in the data
set that kvpress evaluates (simonjegou/ruler), the one space before the prefix ends the question:
where a chat template stands between the two, the assistant's turn begins with a letter.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.frozen_release import BATCH_ROWS, Release
from ruler_dataset import SPLIT, Config

COLUMNS = ("input", "answer_prefix", "outputs", "task", "max_new_tokens", "context_end")
KVPRESS_COLUMNS = ("context", "question", "answer_prefix", "answer", "task", "max_new_tokens")
FILE = f"{SPLIT}-00000-of-00001.parquet"
_CARD = """\
# {title} for kvpress

The frozen rows of {source}{revision} ({dataset} {version}, tokenizer {tokenizer}) in the columns
that kvpress's `evaluation/evaluate.py` reads; made by `ruler export --format kvpress`.
`context + question + answer_prefix` is the release's `input + answer_prefix`.

```python
from datasets import load_dataset

rows = load_dataset("{folder}", "{config}", split="{split}")
rows = load_dataset("{folder}", data_dir="{config}", split="{split}")  # as evaluate.py loads it
```

In kvpress's `evaluate_registry.py`, name this folder as the data set `ruler`. Its metric is RULER's
recall, rounded to two digits.{oneruler}
"""


def kvpress_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """The six columns of a row; for `datasets.Dataset.map`."""
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
    """The name kvpress knows a length by: `4096`; of oneruler, with the languages: `8000-pl`."""
    languages = f"-{config.languages}" if config.dataset == "oneruler" else ""
    return f"{config.max_length}{languages}"


def write(
    release: Release,
    configs: Sequence[Config],
    folder: Path,
    to: Path,
    progress: Callable[[Sequence[Config]], Iterable[Config]] = iter,
) -> str:
    """Write one Parquet file a length and a card; return the command that evaluates one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, texts = pa.string(), pa.list_(pa.string())
    types = {"answer": texts, "max_new_tokens": pa.int64()}
    schema = pa.schema([(column, types.get(column, text)) for column in KVPRESS_COLUMNS])
    writer, open_name = None, ""
    try:
        for config in progress(configs):  # sorted: those of a file follow one another
            if folder_of(config) != open_name:
                if writer is not None:
                    writer.close()
                open_name = folder_of(config)
                (folder / open_name).mkdir()
                writer = pq.ParquetWriter(
                    folder / open_name / FILE,
                    schema,
                    compression="zstd",
                    compression_level=9,
                    use_dictionary=False,
                    data_page_size=1 << 28,  # one page: the texts share most of what they say
                )
            assert writer is not None
            rows = map(kvpress_view, release.rows(config.name, COLUMNS))
            while batch := list(itertools.islice(rows, BATCH_ROWS)):
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    finally:
        if writer is not None:
            writer.close()
    (folder / "README.md").write_text(card(release, configs, to), encoding="utf-8")
    return (
        f"python evaluate.py --dataset ruler --data_dir {open_name} …   (in kvpress's evaluation/)"
    )


def card(release: Release, configs: Sequence[Config], to: Path) -> str:
    """The card: a configuration a length, and how to load it."""
    from huggingface_hub.utils import yaml_dump

    names = list(dict.fromkeys(folder_of(config) for config in configs))
    listed = [
        {"config_name": name, "data_files": [{"split": SPLIT, "path": f"{name}/{FILE}"}]}
        for name in names
    ]
    many = release.dataset == "oneruler"
    text = _CARD.format(
        title=release.dataset.upper(),
        source=release.source,
        revision=f" at {release.revision}" if release.revision else "",
        dataset=release.dataset,
        version=release.manifest["data_version"],
        tokenizer=configs[0].tokenizer,
        folder=to.name,
        config=names[0],
        split=SPLIT,
        oneruler=" ONERULER's own rule is exactness: `ruler score` has it." if many else "",
    )
    return f"---\n{yaml_dump({'configs': listed}, sort_keys=False)}---\n\n{text}"
