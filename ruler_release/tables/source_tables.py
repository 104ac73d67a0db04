"""What `ruler sources` and `ruler tokenizers` show: what a build reads and counts with."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from ruler_builder.release.suited_rows import Beside, SuitedRows
from ruler_builder.sources.registry import Source, State, restricted
from ruler_common.names import DEFAULT_TOKENIZER
from ruler_common.terminal import COLUMNS, narrow_table, out, print_table, sentences


def show_sources(dataset: str, states: list[tuple[Source, State]]) -> None:
    """Each source of ruler with its state; of oneruler one row a language."""
    if dataset == "ruler":
        rows = [(source.name, state, source.canonical.file.bytes) for source, state in states]
        licences = [_below(source.canonical.licence) for source, _ in states]
        print_table("", "source", "state", "bytes", rows=rows, below=licences)
        return
    languages: dict[str, list[tuple[Source, State]]] = {}
    for source, state in states:
        languages.setdefault(source.language or "nouns", []).append((source, state))
    perhaps_not_free = restricted()
    by_language = [
        (
            code,
            _state(files),
            sum(source.canonical.file.bytes for source, _ in files),
            "perhaps not" if code in perhaps_not_free else "",
        )
        for code, files in languages.items()
    ]
    books = [
        next((one for one, _ in files if one.name.startswith("book-")), files[0][0])
        for files in languages.values()
    ]
    out.print()
    columns = ("oneruler", "state", "bytes", "free everywhere")
    titles = [_below(book.canonical.title) for book in books]
    print_table("", *columns, rows=by_language, below=titles)


def _below(text: str) -> str:
    """A text in lines below a row."""
    return fill(text, COLUMNS, initial_indent="    ", subsequent_indent="    ")


def _state(files: list[tuple[Source, State]]) -> str:
    kinds = list({state for _, state in files})
    if len(kinds) == 1:
        return kinds[0]
    return ", ".join(f"{source.name} {state}" for source, state in files if state != "present")


def show_rights() -> None:
    """What is known of the books that may not be free everywhere."""
    out.print("\nBooks that may not be free everywhere (build leaves them out: --skip-restricted):")
    for code, status in restricted().items():
        out.print(f"  {code}  {status}", highlight=False)
    out.print()


def show_remedy() -> None:
    """What to do about missing sources."""
    out.print(
        sentences(
            "Missing ones: ruler sources fetch, or name a folder with --mirror. Without them, the "
            "project's own texts: --sources embedded."
        )
    )


def show_tokenizers(named: dict[str, dict[str, Any]]) -> None:
    """The named tokenizers, and families of models that have them."""
    rows = [
        (name, entry["library"], ", ".join(entry["models"]) or entry["title"])
        for name, entry in named.items()
    ]
    print_table("", "name", "counted by", "of models named", rows=rows)
    out.print("Any other: --tokenizer NAME=hf:ORG/NAME[@REVISION] or NAME=FOLDER")
    out.print("Which frozen rows suit a model: ruler tokenizers --for MODEL")


def show_suited(found: SuitedRows) -> None:
    """A sentence with the rows that suit a model, and the counts behind it."""
    for text in [_advice(found), _by_name(found)]:
        if text:
            out.print(sentences(text), highlight=False)
    if found.beside:
        texts = found.beside[0].texts
        kinds = list(found.beside[0].ratios)
        header = ["tokenizer", "rows of", *kinds, "equal"]
        rows = [
            [
                *(one.tokenizer, "both" if len(found.frozen[one.tokenizer]) > 1 else "ruler"),
                *map(_percent, one.ratios.values()),
                f"{one.equal:,}",
            ]
            for one in found.beside
        ]
        out.print("\n" + narrow_table(header, rows), highlight=False)
        explained = (
            "Tokens that the model needs for the same texts, more or fewer than the tokenizer of "
            f"the frozen rows; equal: of {texts:,} texts so many have the same number."
        )
        out.print("\n" + sentences(explained), highlight=False)
    if found.not_here:
        missing = " ".join(found.not_here)
        lacking = f"Not compared, for their files are not here: ruler sources fetch {missing}"
        out.print("\n" + sentences(lacking), highlight=False)


def _advice(found: SuitedRows) -> str:
    if not found.beside:
        return (
            f"By its name '{found.model}' has the tokenizer {found.by_name}, and {_rows(found)} "
            f"suit it. Not counted: {found.why.rstrip('.')}."
        )
    exact = [one.tokenizer for one in found.beside if one.exact]
    if exact:
        first, *more = exact
        also = f" (and {', '.join(more)}, which is the same here)" if more else ""
        return (
            f"The tokenizer of '{found.model}' counts as {first}{also} does, text for text: "
            f"{_rows(found, first)} are exact for it."
        )
    return (
        f"No frozen rows were fitted with the tokenizer of '{found.model}'. {_nearest(found)} Rows "
        f"of its own: ruler build mine --tokenizer NAME={found.spec} --lengths 4k"
    )


def _nearest(found: SuitedRows) -> str:
    near: Beside = found.beside[0]
    if near.longest > 1:
        fits = f"up to {100 * (near.longest - 1):.1f} % longer for it and may not fit its window."
    else:
        fits = f"up to {100 * near.distance:.1f} % shorter for it: they fit, and are not full."
    return f"The nearest are those of {near.tokenizer}: rows are {fits}"


def _by_name(found: SuitedRows) -> str:
    """A word where the name promises another tokenizer than the counts."""
    exact = [one.tokenizer for one in found.beside if one.exact]
    counted = [one.tokenizer for one in found.beside]
    if found.by_name not in counted or found.by_name in exact:
        return ""
    return f"By its name it would have the tokenizer {found.by_name}; the counts say otherwise."


def _rows(found: SuitedRows, name: str | None = None) -> str:
    """`the frozen rows such as all_8k_qwen2.5` of a tokenizer."""
    name = name or str(found.by_name)
    suffix = "" if name == DEFAULT_TOKENIZER else f"_{name}"
    datasets = " and ".join(found.frozen.get(name, []))
    return f"the frozen rows such as all_8k{suffix} ({datasets})"


def _percent(ratio: float) -> str:
    return "0" if ratio == 1 else f"{100 * (ratio - 1):+.1f} %"
