"""What the commands score, errors, compare and correlate do; eval/cli.py holds their flags."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import typer

from eval.frozen_release import Release
from eval.report import score_tables as tables
from eval.score.effective_length import Baseline
from eval.score.prediction_files import RUN_FILE, Naming, Predictions, read
from ruler_dataset import (
    DEFAULT_TOKENIZER,
    GROUPS,
    TASKS,
    Names,
    RulerError,
    parse_length,
    write_whole,
)


@dataclass(frozen=True)
class PredictionSource:
    """Where the references come from, and what the prediction files lack."""

    dataset: str | None = None
    revision: str | None = None
    length: str | None = None
    tokenizer: str | None = None
    config: str | None = None

    def open(self, files: Sequence[Path]) -> tuple[Predictions, Release | None]:
        """Read predictions and open the release named, or the one the run was made on."""
        release = self._release(files)
        names = release.names if release else self._names(files)
        naming = Naming(names, self.length, self._tokenizer(release), self.config)
        return read(files, naming), release

    def _release(self, files: Sequence[Path]) -> Release | None:
        if self.dataset is not None:
            return Release.open(self.dataset, self.revision)
        runs = [run for file in files if (run := _run_of(file))]
        sessions = [session for run in runs for session in run.get("sessions", [])]
        if not sessions:
            return None
        source, revision = str(sessions[-1]["source"]), runs[-1].get("data_revision")
        if not Path(source).is_dir() and revision is None:
            raise RulerError(f"The run was made on '{source}', which is not here: add --dataset.")
        return Release.open(source, revision)

    def _names(self, files: Sequence[Path]) -> Names:
        for dataset in (run["dataset"] for file in files if (run := _run_of(file))):
            return Names.of(dataset)
        return Names.of(dataset_of(self.config) if self.config else "ruler")

    def _tokenizer(self, release: Release | None) -> str:
        if self.tokenizer is not None or release is None:
            return self.tokenizer or DEFAULT_TOKENIZER
        held = {file["tokenizer"] for file in release.manifest["files"].values()}
        return held.pop() if len(held) == 1 else DEFAULT_TOKENIZER


def dataset_of(config: str) -> str:
    """The data set a configuration name belongs to: ONERULER's names end in a language.

    A tokenizer may follow: `niah_single_8k_bg` and `cwe_easy_8k_en-ko_cl100k` are ONERULER's.
    """
    match = re.fullmatch(r"(.+?)_\d+[km]_[a-z]{2}(?:-[a-z]{2})?(?:_.+)?", config)
    tasks = {*TASKS["oneruler"], *GROUPS["oneruler"], "niah_single_nonone"}
    return "oneruler" if match and match[1] in tasks else "ruler"


def _run_of(path: Path) -> dict[str, Any] | None:
    file = (path if path.is_dir() else path.parent) / RUN_FILE
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def score(
    files: Sequence[Path],
    source: PredictionSource,
    out: Path | None,
    partial: bool,
    cut: str,
    compat: str | None,
    threshold: str,
    claimed: str | None,
    markdown: bool,
    intervals: bool,
) -> None:
    """`ruler score`: print the tables and write results.json."""
    from eval.score import results_file, scoring

    rules = scoring.ScoringRules.parse(compat, cut, partial)
    baseline = _baseline(threshold)
    predictions, release = source.open(files)
    dataset = release.dataset if release else "ruler"
    window = None if claimed is None else parse_length(claimed.lower(), dataset)
    results = scoring.score(predictions, release, rules, baseline, window, _progress)
    if out is None and predictions.run_folder is not None:
        out = predictions.run_folder / "results.json"
    if out is not None:
        results_file.write(results, out)
    typer.echo(tables.report(results, markdown, intervals))
    if out is not None:
        typer.echo(f"\nWritten: {out}", err=True)


def _progress(names: Sequence[str]) -> Iterator[str]:
    """A bar on stderr while the names are used up; none where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield from names
        return
    with typer.progressbar(names, label="Scoring", file=sys.stderr) as bar:
        yield from bar


def _baseline(threshold: str) -> Baseline:
    if threshold in ("chat", "base"):
        return cast(Baseline, threshold)
    try:
        return float(threshold)
    except ValueError:
        raise RulerError(f"--threshold '{threshold}' is not chat, base or a number.") from None


def errors(
    files: Sequence[Path],
    source: PredictionSource,
    strict: bool,
    out: Path | None,
    cut: str,
    markdown: bool,
) -> None:
    """`ruler errors`: print the kinds by task and length with an example each."""
    from eval.analysis import error_rows
    from eval.report import error_tables
    from eval.score.scoring import ScoringRules

    predictions, release = source.open(files)
    if release is None:
        raise RulerError("The kinds of errors need the rows' evidence: add --dataset.")
    found = error_rows.collect(predictions, release, ScoringRules.parse(cut=cut), strict)
    if out is not None:
        write_whole(out, "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in found))
    typer.echo(error_tables.report(found, markdown))


def compare(a: Path, b: Path, out: Path | None, seed: int, markdown: bool) -> None:
    """`ruler compare`: print paired differences by configuration, by length and over all."""
    from eval.analysis.compare import compare as compare_results
    from eval.score.results_file import load

    found = compare_results(load(_results(a)), load(_results(b)), seed)
    if out is not None:
        _write_json(out, found)
    typer.echo(tables.comparison(found, markdown))


def correlate(paths: Sequence[Path], out: Path | None, markdown: bool) -> None:
    """`ruler correlate`: print the matrix in the dendrogram's order and the merges."""
    from eval.analysis.correlate import correlate as correlate_results
    from eval.score.results_file import load

    found = correlate_results({str(path): load(_results(path)) for path in paths})
    if out is not None:
        _write_json(out, found)
    typer.echo(tables.correlation(found, markdown))


def _results(path: Path) -> Path:
    path = path / "results.json" if path.is_dir() else path
    if not path.is_file():
        raise RulerError(f"There is no '{path}'. Make it: ruler score {path.parent}")
    return path


def _write_json(path: Path, found: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
