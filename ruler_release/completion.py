"""The names that a shell completes: `ruler run --backend <TAB>`; `ruler --install-completion`.

Each function takes what was begun and gives the names that go on; of names with commas between them
the last one is completed. What a name needs is imported only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from typer import Context

from ruler_common.errors import RulerError
from ruler_common.names import GROUPS, LANGUAGES, LENGTHS, TASKS, Names


def backends(incomplete: str) -> list[str]:
    """Of `--backend`."""
    from ruler_eval.run.options import BACKENDS

    return _going_on(incomplete, BACKENDS)


def modes(incomplete: str) -> list[str]:
    """Of `--mode`."""
    from ruler_eval.run.options import MODES

    return _going_on(incomplete, MODES)


def cuts(incomplete: str) -> list[str]:
    """Of `--cut`: what a truncated answer counts."""
    from ruler_eval.score.row_score import CUTS

    return _going_on(incomplete, CUTS)


def formats(incomplete: str) -> list[str]:
    """Of `ruler export --format`."""
    from ruler_eval.export.export_release import FORMATS

    return _going_on(incomplete, FORMATS)


def suites(incomplete: str) -> list[str]:
    """Of `--suite`: the project's own."""
    from ruler_builder.suites import suite_names

    return _going_on(incomplete, suite_names())


def tokenizers(incomplete: str) -> list[str]:
    """Of `ruler build --tokenizer`: the named ones."""
    from ruler_builder.tokens.tokenizers import named

    return _going_on(incomplete, named())


def tasks(context: Context, incomplete: str) -> list[str]:
    """Of `ruler build --tasks`: groups and tasks of the suite, where it is one of the project's."""
    from ruler_builder.suites import suite_names
    from ruler_builder.suites.suite import read_suite

    name = str(context.params.get("suite") or "ruler")
    if name not in suite_names():
        return []
    suite = read_suite(name)
    return _going_on(incomplete, [*suite.groups, *suite.params])


def lengths(context: Context, incomplete: str) -> list[str]:
    """Of `ruler build --lengths`: those of the papers."""
    suite = str(context.params.get("suite") or "ruler")
    return _going_on(incomplete, LENGTHS["oneruler" if suite == "oneruler" else "ruler"])


def languages(incomplete: str) -> list[str]:
    """Of `ruler build --languages`."""
    return _going_on(incomplete, ("all", "default", *LANGUAGES))


def configurations(context: Context, incomplete: str) -> list[str]:
    """Of `--configs`: of the release given before, if it is here, else the published ones."""
    given = context.params.get("dataset") or context.params.get("source")
    return _going_on(incomplete, _names(str(given or "")))


def _names(release: str) -> Iterator[str]:
    from ruler_common.manifest import read_manifest

    if release and (Path(release) / "manifest.json").is_file():
        try:
            manifest = read_manifest(Path(release))
        except RulerError:  # the command itself will say what is wrong
            return
        yield from sorted(Names.in_manifest(manifest).held(manifest))
        return
    known = "oneruler" if "oneruler" in release else "ruler"
    for name in (*GROUPS[known], *TASKS[known]):
        for length in LENGTHS[known]:
            yield f"{name}_{length}"


def _going_on(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]
