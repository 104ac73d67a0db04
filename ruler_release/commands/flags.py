"""The flags that several commands have, those that are a call's arguments, and how they are read.

    @flags.arguments_of(api.run)          # --limit, --shard, … as `ruler_release.run` has them
    def run(dataset: flags.Dataset, dry_run: … = False, **more: Any) -> None: …

A flag of one command alone stands in that command's module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from inspect import Signature, getdoc, signature
from pathlib import Path
from typing import Annotated, Any, get_origin

from typer import Argument, Context, Option

from ruler_builder.suites import suite_names
from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_release import completion

_FILES = (
    "A RUN folder, or prediction files: of the reference code, lm-evaluation-harness, kvpress, "
    "Inspect or ONERULER's authors, or JSONL, JSON, CSV or Parquet with index and prediction; any "
    "other file with --columns (docs/formats.md)."
)
_REFERENCE = "The release: a folder or Hub repository; default: the one the run was made on."
_CONFIGS = "Configurations, separated by commas; all_4k,niah_mk_128k, all, or *_4k."
_SUITE = f"{', '.join(suite_names())}; or a TOML file of your own."
_MIRROR = "Folder that holds the sources; searched first."
_WORKERS = "Processes that work at a time; default: one a core, where rows repay it."
_TOKENIZER_PLACES = "Where a tokenizer lies now: NAME=FOLDER; repeatable."
_LANGUAGE_FOLDER = "Folder of a language that is none of the 26 (docs/languages.md); repeatable."
_MODEL_NAMES = "What to call each model, in order; repeatable."


def _refuse_dataset(context: Context, given: str | None) -> None:
    """`--dataset` names a release; what is made of nothing is a suite."""
    if given is not None:
        raise RulerError(
            f"`{context.command_path}` takes no --dataset, which names a release: "
            f"write --suite {given}."
        )


_LETTERS = {"dataset": "-d", "configs": "-c", "backend": "-b", "model": "-m", "out": "-o"}
_COMPLETED: dict[str, Callable[..., Any]] = {
    "backend": completion.backends,
    "config": completion.configurations,
    "configs": completion.configurations,
    "cut": completion.cuts,
    "mode": completion.modes,
}
_FROM_1 = ("samples", "concurrency")
_LEAST = {"reserve": 0, **dict.fromkeys(_FROM_1, 1)}
_MOST = {"concurrency": 1000}
# An argument's annotation in the API -> the type of its flag; of others a command has its own.
_TYPES: dict[str, Any] = {kind.__name__: kind for kind in (str, int, float, bool)}
_TYPES |= {"Place": Path, "str | int": str, "str | float": str}
_TYPES |= {f"{name} | None": kind | None for name, kind in _TYPES.items()}
_SAID = re.compile(r"^    (\w+): (.+?)(?=^    \w+: |^$)", re.MULTILINE | re.DOTALL)


def arguments_of(
    call: Callable[..., Any], only: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the arguments of a call, or `only` some, as flags, in the place of `**more`.

    Each has the call's default, and what the call's docstring says of it; a flag of the command's
    own (Annotated) takes the place of the argument of its name. Required ones come first, then all
    in the call's order. Left out are arguments that no flag can give, such as functions.
    """
    places = {name: place for place, name in enumerate(signature(call).parameters)}
    said = {name: " ".join(text.split()) for name, text in _SAID.findall(getdoc(call) or "")}

    def with_flags(command: Callable[..., None]) -> Callable[..., None]:
        own = {
            p.name: p
            for p in signature(command, eval_str=True).parameters.values()
            if get_origin(p.annotation) is Annotated
        }
        taken = {
            p.name: p.replace(annotation=_flag(p.name, _TYPES[p.annotation], said.get(p.name, "")))
            for p in signature(call).parameters.values()
            if p.name in (only or places) and p.name not in own and p.annotation in _TYPES
            if p.name != "progress"
        }
        found = [p.replace(kind=p.KEYWORD_ONLY) for p in (own | taken).values()]
        found.sort(key=lambda p: (p.default is not p.empty, places.get(p.name, len(places))))
        vars(command)["__signature__"] = Signature(found)
        return command

    return with_flags


def _flag(name: str, kind: Any, said: str) -> Any:
    """The flag for an argument of a call, of which is `said` what it does."""
    option = Option(
        f"--{name.replace('_', '-')}",
        *filter(None, [_LETTERS.get(name)]),
        help=said,
        autocompletion=_COMPLETED.get(name),
        metavar="N" if name in _LEAST else None,
        min=_LEAST.get(name),
        max=_MOST.get(name),
    )
    return Annotated[kind, option]


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

# of predictions and results
Files = Annotated[list[Path], Argument(help=_FILES, show_default=False)]
Reference = Annotated[str | None, Option("--dataset", "-d", help=_REFERENCE)]
ModelNames = Annotated[list[str] | None, Option("--name", help=_MODEL_NAMES)]
Markdown = Annotated[bool, Option("--markdown", help="Tables in Markdown.")]


def names_in(text: str) -> list[str]:
    """The names in a text that separates them by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def run_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The flags of `ruler run`, as `ruler_release.run` takes them; texts are read.

    Those of `ruler batch write` are some of them.
    """
    from ruler_eval.run.options import parse_arguments, parse_price

    read: dict[str, Callable[[Any], Any]]
    read = {
        "configs": names_in,
        "price": lambda text: None if text is None else parse_price(text),
    }
    read["omit"] = lambda text: tuple(names_in(text)) if text else ()
    given = {name: read[name](value) if name in read else value for name, value in options.items()}
    given["arguments"] = parse_arguments(given.pop("engine_arg") or ())
    return given


def not_a_folder(out: Path | None, name: str, flag: str = "--out") -> None:
    """Refuse --out that names a folder, before any work."""
    if out is not None and out.is_dir():
        raise RulerError(f"'{out}' is a folder: name a file with {flag}, such as {out / name}.")


def write_json(path: Path | None, found: Mapping[str, Any]) -> None:
    """Write what a command found to --out, if that was given."""
    if path is not None:
        write_whole(path, json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
