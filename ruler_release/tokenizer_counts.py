"""Count the tokens of the same texts under several tokenizers, without a model (`ruler analyze`).

    counts = tokens_by_tokenizer("oneruler", ["cl100k_base", "o200k_base"], lengths="128k")
    counts["tokens"]["o200k_base"]["128k"]["ta"]      # the mean over the prompts in Tamil

This is ONERULER's Figure 24 (arXiv:2503.01996): rows whose length was counted with one tokenizer
are counted with others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ruler_common.errors import RulerError
from ruler_common.options import NameOrNames, Place, several
from ruler_release.option_arguments import check_argument

if TYPE_CHECKING:
    from ruler_eval.frozen_release import Release

Means = dict[str, dict[str, float]]
"""Mean tokens of a prompt, by length and then by languages."""


class TextTokens(TypedDict):
    """Tokens of the same rows by tokenizer; the first tokenizer is the release's."""

    dataset: str
    fitted_under: str
    rows: int
    tokens: dict[str, Means]


def tokens_by_tokenizer(
    dataset: Place,
    tokenizers: NameOrNames,
    *,
    configs: NameOrNames = "all",
    lengths: NameOrNames | None = None,
    limit: int = 1,
    mirror: Place | None = None,
    progress: bool = False,
) -> TextTokens:
    """Count the tokens of a release's prompts (`input` + `answer_prefix`) with other tokenizers.

    Args:
        dataset: A release folder, or a repository on the Hub, ORG/NAME.
        tokenizers: Names, `NAME=hf:ORG/NAME`, `NAME=FOLDER` or `NAME=FILE.gguf`, as in `build`.
        configs: Configurations or groups whose rows have the same tokenizer; `all` means the rows
            of the default tokenizer if there are several.
        lengths: Only rows at these lengths.
        limit: Rows of each configuration, the first of the frozen random order.
        mirror: The folder with the tokenizers' files; by default RULER_MIRROR, then the cache.
        progress: Show a progress bar.

    Returns:
        Mean tokens without special tokens and without answers. Raises RulerError for an unknown
        name, a tokenizer that is not installed, and rows of several tokenizers.
    """
    from ruler_builder.pinned import Store
    from ruler_builder.tokens.tokenizers import load_counter, split_spec
    from ruler_common.names import languages_of
    from ruler_common.text import steps
    from ruler_eval.frozen_release import Release

    check_argument("tokens_by_tokenizer", "tokenizers", tokenizers, NameOrNames)
    check_argument("tokens_by_tokenizer", "configs", configs, NameOrNames)
    check_argument("tokens_by_tokenizer", "lengths", lengths, NameOrNames | None)
    check_argument("tokens_by_tokenizer", "limit", limit, int)
    if limit < 1:
        raise RulerError("--limit takes a number of rows per configuration, at least 1.")
    release = Release.open(dataset)
    files, fitted = _files(release, several(configs), several(lengths))
    specs = [spec for spec in dict.fromkeys(several(tokenizers)) if spec != fitted]
    names = [fitted, *(split_spec(spec)[0] for spec in specs)]
    for name in names:
        if names.count(name) > 1:
            raise RulerError(
                f"Two tokenizers are called '{name}': rename one of them, NAME=FOLDER."
            )
    store = Store(None if mirror is None else str(mirror))
    counters = [load_counter(spec, store) for spec in specs]
    counts: dict[tuple[str, str], list[list[int]]] = {}
    columns = ("input", "answer_prefix", "length", "max_new_tokens")
    rows = 0
    for path in steps(files, "Counting", total=len(files), quiet=not progress):
        entry = release.manifest["files"][path]
        config, place = entry["config"], (entry["length"], languages_of(entry))
        for row in release.some_rows(config, columns, release.order(config)[:limit]):
            text = row["input"] + row["answer_prefix"]
            row_counts = [row["length"] - row["max_new_tokens"], *(c.count(text) for c in counters)]
            counts.setdefault(place, []).append(row_counts)
            rows += 1
    tokens: dict[str, Means] = {name: {} for name in names}
    for (length, languages), rows_of_place in counts.items():
        for column, name in enumerate(names):
            values = [row_counts[column] for row_counts in rows_of_place]
            tokens[name].setdefault(length, {})[languages] = sum(values) / len(values)
    return {"dataset": release.dataset, "fitted_under": fitted, "rows": rows, "tokens": tokens}


def _files(
    release: Release, configs: tuple[str, ...], lengths: tuple[str, ...]
) -> tuple[list[str], str]:
    """Return the files of the configurations at these lengths, and the tokenizer of their rows."""
    from ruler_common.names import DEFAULT_TOKENIZER, length_name, parse_length
    from ruler_eval.frozen_release import chosen_files

    entries = release.manifest["files"]
    files = chosen_files(configs, release.manifest, where=release.source)
    files.sort(key=lambda path: entries[path]["max_length"])
    available = dict.fromkeys(entries[path]["length"] for path in files)
    dataset = release.dataset
    lengths = tuple(length_name(parse_length(length, dataset), dataset) for length in lengths)
    for length in lengths:
        if length not in available:
            raise RulerError(
                f"There are no rows at {length}: choose --lengths from {', '.join(available)}."
            )
    files = [path for path in files if not lengths or entries[path]["length"] in lengths]
    fitted = list(dict.fromkeys(entries[path]["tokenizer"] for path in files))
    if len(fitted) > 1:
        if configs != ("all",) or DEFAULT_TOKENIZER not in fitted:
            raise RulerError(
                f"These rows have the tokenizers {', '.join(fitted)}: name configurations of one "
                "tokenizer with --configs."
            )
        fitted = [DEFAULT_TOKENIZER]
    return [path for path in files if entries[path]["tokenizer"] == fitted[0]], fitted[0]
