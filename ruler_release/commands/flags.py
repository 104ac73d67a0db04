"""The flags that several commands have, and how their texts are read.

A flag of one command alone stands in that command's module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Option

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_release import completion

_FILES = (
    "A RUN folder, or prediction files: of the reference code, lm-evaluation-harness, NeMo-Skills, "
    "OpenCompass, HELMET, lighteval, EvalScope, kvpress or ONERULER's authors, or JSONL, JSON, CSV "
    "or Parquet with index and prediction (docs/formats.md)."
)
_REFERENCE = "The release: a folder or Hub repository; default: the one the run was made on."
_CUT = "What a truncated answer counts: protocol (RULER: by its text; ONERULER: wrong), "
_CUT += "wrong, or score."
_LENGTH = "The length of files that do not give it, such as 4k."
_TOKENIZER = "The tokenizer of the release that such files were run on."
_CONFIG = "The configuration of files that do not name it, such as niah_none_64k_pl."
_COLUMNS = "Where any other file holds what, such as prediction=generation,index=id."
_REFERENCES = (
    "The reference code's data folder (TASK.jsonl, TASK/validation.jsonl), for files without "
    "references, such as its submission.csv."
)
_CONFIGS = "Configurations, separated by commas; all_4k,niah_mk_128k, all, or *_4k."
_LIMIT = (
    "So many rows of each configuration: the first of the frozen random order, not of the file."
)
_THINKING = "off, on (8192 tokens of room) or the tokens of room for reasoning."
_SUITE = "ruler, oneruler, ruler_2024, ruler_complexity, ruler_correlation, ruler_decimal; or a "
_SUITE += "TOML file of your own."
_MIRROR = "Folder that holds the sources; searched first."
_WORKERS = "Processes that work at a time; default: one a core, where rows repay it."
_TOKENIZER_PLACES = "Where a tokenizer lies now: NAME=FOLDER; repeatable."
_LANGUAGE_FOLDER = "Folder of a language that is none of the 26 (docs/languages.md); repeatable."
_DIRECT = "chat mode: the prefix in the user's turn (Table 6)."
_CHAT_TEMPLATE = "vllm, ray, hf: a jinja2 file, used instead of the tokenizer's own template."
_MODEL_NAMES = "What to call each model, in order; repeatable."


def _refuse_dataset(context: Context, given: str | None) -> None:
    """`--dataset` names a release; what is made of nothing is a suite."""
    if given is not None:
        raise RulerError(
            f"`{context.command_path}` takes no --dataset, which names a release: "
            f"write --suite {given}."
        )


# of the builder
Suite = Annotated[str, Option("--suite", help=_SUITE, autocompletion=completion.suites)]
NoDataset = Annotated[
    str | None, Option("--dataset", "-d", hidden=True, callback=_refuse_dataset, is_eager=True)
]
Root = Annotated[Path, Argument(metavar="DIR", help="Folder of the release.")]
Workers = Annotated[int | None, Option(metavar="N", min=1, help=_WORKERS, show_default=False)]
Mirror = Annotated[Path | None, Option(envvar="RULER_MIRROR", help=_MIRROR)]
LanguageFolders = Annotated[
    list[Path] | None, Option("--language-folder", help=_LANGUAGE_FOLDER, show_default=False)
]
TokenizerPlaces = Annotated[list[str] | None, Option("--tokenizer", help=_TOKENIZER_PLACES)]

# of a release to read
Dataset = Annotated[
    str, Option("--dataset", "-d", help="A release folder or Hub repository (ORG/NAME).")
]
DataRevision = Annotated[str | None, Option(help="The data set's revision.")]

# of `ruler run`, `ruler decide` and `ruler batch write`
Configs = Annotated[
    str, Option("--configs", "-c", help=_CONFIGS, autocompletion=completion.configurations)
]
Out = Annotated[Path, Option("--out", "-o", help="Folder of this run; an existing one is resumed.")]
Direct = Annotated[bool, Option("--direct", help=_DIRECT)]
Thinking = Annotated[str, Option(help=_THINKING)]
SkipMissing = Annotated[
    bool, Option("--skip-missing", help="Of a group, run the tasks that are there.")
]
Limit = Annotated[int | None, Option(help=_LIMIT)]
ModelRevision = Annotated[str | None, Option(help="The model's revision on the Hub.")]
ChatTemplate = Annotated[Path | None, Option(help=_CHAT_TEMPLATE)]
Temperature = Annotated[float, Option(help="Of the sampling; 0 is greedy.")]
TopP = Annotated[float, Option(help="Sample from the likeliest tokens of this total probability.")]
Seed = Annotated[int, Option(help="Of the sampling.")]

# of predictions and results
Files = Annotated[list[Path], Argument(help=_FILES, show_default=False)]
Reference = Annotated[str | None, Option("--dataset", "-d", help=_REFERENCE)]
Length = Annotated[str | None, Option(help=_LENGTH)]
Tokenizer = Annotated[str | None, Option(help=_TOKENIZER)]
Configuration = Annotated[
    str | None, Option("--config", help=_CONFIG, autocompletion=completion.configurations)
]
Columns = Annotated[str | None, Option(help=_COLUMNS)]
References = Annotated[Path | None, Option(help=_REFERENCES)]
Name = Annotated[str | None, Option(help="What to call the model.")]
ModelNames = Annotated[list[str] | None, Option("--name", help=_MODEL_NAMES)]
Cut = Annotated[str, Option(help=_CUT, autocompletion=completion.cuts)]
Markdown = Annotated[bool, Option("--markdown", help="Tables in Markdown.")]


def names_in(text: str) -> list[str]:
    """The names in a text that separates them by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def run_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The flags of `ruler run`, as `ruler_release.run` takes them; texts are read.

    Those of `ruler batch write` are some of them.
    """
    from ruler_eval.run.run_order import parse_arguments, parse_price, parse_tokens

    read: dict[str, Callable[[Any], Any]]
    read = {
        "configs": names_in,
        "tokens_in_flight": lambda text: text and parse_tokens(text),
        "price": parse_price,
    }
    read["omit"] = lambda text: tuple(names_in(text)) if text else ()
    given = {name: read[name](value) if name in read else value for name, value in options.items()}
    given["arguments"] = parse_arguments(given.pop("engine_arg") or ())
    return given


def not_a_folder(out: Path | None, name: str) -> None:
    """Refuse --out that names a folder, before any work."""
    if out is not None and out.is_dir():
        raise RulerError(f"'{out}' is a folder: name a file with --out, such as {out / name}.")


def write_json(path: Path | None, found: Mapping[str, Any]) -> None:
    """Write what a command found to --out, if that was given."""
    if path is not None:
        write_whole(path, json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
