"""Runs and their scores from Python: run, score, compare, report.

run("out", configs="all_4k", backend="oracle", out="runs/oracle")
score("runs/oracle")["summary"]["tekken"]["en"]["all"]["average"]["score"]      # 0 … 100
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError
from ruler_release.api.arguments import Names, Place, filled, path, paths, several, text

if TYPE_CHECKING:
    from ruler_eval.analysis.compare import Comparison
    from ruler_eval.analysis.seeds import SeedComparison
    from ruler_eval.gate.until import MeanEstimate
    from ruler_eval.run.progress import RunSummary
    from ruler_eval.score.results import Results


def run(
    dataset: Place,
    *,
    configs: Names,
    backend: str,
    out: Place,
    model: str = "",
    mode: str | None = None,
    direct: bool = False,
    thinking: str | int = "off",
    limit: int | None = None,
    shard: str | None = None,
    retry_failed: bool = False,
    skip_missing: bool = False,
    tokenizer: str | None = None,
    chat_template: Place | None = None,
    max_model_len: int | None = None,
    revision: str | None = None,
    data_revision: str | None = None,
    base_url: str | None = None,
    concurrency: int = 32,
    timeout: float = 3600.0,
    stream: bool = False,
    give_up_after: float = 600.0,
    temperature: float | None = None,
    top_p: float | None = None,
    top_k: int | None = None,
    min_p: float | None = None,
    presence_penalty: float | None = None,
    repeats: int = 1,
    seed: int = 0,
    provider: str | None = None,
    omit: Sequence[str] = (),
    arguments: Mapping[str, Any] | None = None,
    price: tuple[float, float] | None = None,
    until: float | None = None,
    on_look: Callable[[MeanEstimate], None] = lambda _: None,
    progress: bool = False,
) -> RunSummary:
    """Run a model over a release: every row is recorded once in the folder `out`; `ruler run`.

    Args:
        dataset: A release folder, or a repository of the Hub, ORG/NAME.
        configs: Configurations, groups too: `all_4k`, `niah_mk_128k`, `*_4k`, `all`.
        backend: `vllm`, `openai`, `hf`, or `oracle`, which needs no model.
        out: The folder of the run. Stopped anywhere, the same call does what is missing.
        model: A folder, a name on the Hub, or the name under which a server knows it.
        mode: `prefill` (chat models), `completion` (base models) or `chat` (no answer prefix);
            default: prefill with a chat template, completion without one, chat with `thinking` and
            where a server cannot continue a turn.
        direct: In mode chat, the answer prefix ends the user's turn (Table 6).
        thinking: `off`, `on` (8192 tokens of room), or the tokens of room for reasoning.
        limit: So many rows of each configuration, the first of the frozen random order.
        shard: `i/n`: the i-th of n parts, in whole files, the longest first.
        retry_failed: Run the rows that failed once more.
        skip_missing: Of a group, run the tasks that the release holds.
        tokenizer: The one that checks the budget; default: the model's.
        chat_template: vllm, hf: a jinja2 file, used instead of the tokenizer's own template.
        max_model_len: The model's window in tokens, where it cannot be asked.
        revision: The model's on the Hub.
        data_revision: The release's on the Hub.
        base_url: openai: the server, such as http://localhost:8000/v1.
        concurrency: openai: requests at a time, at most.
        timeout: openai: seconds for a request; a row without an answer by then has failed.
        stream: openai: answers come in pieces, and `timeout` is for each piece.
        give_up_after: openai: seconds to wait for a server that is not available (HTTP 429 or 503,
            no connection); then the run stops.
        temperature: Of the sampling; 0 is greedy.
        top_p: Sample from the likeliest tokens of this total probability.
        top_k: Sample from the N likeliest tokens; 0: from all.
        min_p: Leave out tokens below this share of the likeliest token's probability.
        presence_penalty: Penalty of tokens that the answer already has.
        repeats: Samples of each row, with different seeds.
        seed: Of the sampling.
        provider: openai: who answers, as docs/servers.md names them; default: by the address.
        omit: openai: sampling fields not to send: temperature, top_p, seed.
        arguments: The backend's own: of the vLLM engine, of from_pretrained, of a request.
        price: Of a million tokens of prompts and of answers, for the estimate that is shown.
        until: Stop when the mean over all tasks is known within ± so many points (95 %); the
            estimate is then in run.json.
        on_look: until: called with the estimate after every wave.
        progress: Show the estimate and a bar.

    Returns:
        How the rows ended, by configuration. Raises RulerError before the first row where the run
        cannot be as asked; a row that fails is counted (`total["error"]`).
    """
    options = locals()
    from ruler_eval.run.options import RunOptions
    from ruler_eval.run.runner import run as run_rows

    del options["on_look"]
    options["arguments"] = options["arguments"] or {}
    order = RunOptions(**options)
    if until is None:
        return run_rows(order)
    from ruler_eval.gate.until import run_until

    return run_until(order, until, on_look)


def score(
    files: Place | Iterable[Place],
    *,
    dataset: Place | None = None,
    revision: str | None = None,
    length: str | None = None,
    tokenizer: str | None = None,
    config: str | None = None,
    columns: str | None = None,
    references: Place | None = None,
    name: str | None = None,
    out: Place | None = None,
    partial: bool = False,
    cut: str = "protocol",
    compat: str | None = None,
    threshold: str | float = "chat",
    claimed: str | None = None,
    progress: bool = False,
) -> Results:
    """Score predictions against a frozen release; `ruler score`.

    Args:
        files: A RUN folder, or prediction files of any known form.
        dataset: The release; default: the one that the run was made on.
        revision: The release's on the Hub.
        length: The length of files that do not give it, such as `4k`.
        tokenizer: The tokenizer of the release that such files were run on.
        config: The configuration of files that do not name it, such as `niah_none_64k_pl`.
        columns: Where files of no known form hold what: `prediction=generation,index=id`.
        references: The reference code's data folder (TASK.jsonl, TASK/validation.jsonl), for files
            without references, such as its submission.csv.
        name: What to call the model.
        out: Where the results are written; default: results.json in the RUN folder; of files none
            is written.
        partial: Leave missing rows out, and mark the result; else they are wrong.
        cut: What a truncated answer counts: `protocol` (RULER: by its text; ONERULER: wrong),
            `wrong` or `score`.
        compat: `authors`: ONERULER as its authors' script scores it.
        threshold: For the effective length: `chat` (85.6), `base` (79.4), or a score, 0 … 100.
        claimed: The length that the model claims, such as `1m`, for ">128K".
        progress: Show a bar.

    Returns:
        What results.json holds: scores 0 … 100, by configuration and summed up. Raises RulerError
        where nothing can be joined, or the run was made on other data.
    """
    from functools import partial as with_arguments

    from ruler_common.names import parse_length
    from ruler_common.terminal import steps
    from ruler_eval.score import scoring
    from ruler_eval.score.aggregates import parse_baseline
    from ruler_eval.score.predictions import PredictionSource, results_place
    from ruler_eval.score.results import write
    from ruler_eval.score.row_score import ScoringRules

    given = paths(files)
    rules = ScoringRules.parse(compat, cut, partial)
    baseline = parse_baseline(threshold)
    source = filled(PredictionSource, locals(), dataset=text(dataset), references=path(references))
    predictions, release = source.open(given)
    dataset_name = release.dataset if release else predictions.names.dataset
    window = None if claimed is None else parse_length(claimed.lower(), dataset_name)
    bar = with_arguments(steps, label="Scoring", quiet=not progress)
    results = scoring.score(predictions, release, rules, baseline, window, bar)
    if place := out or results_place(given):
        write(results, Path(place))
    return results


def compare(
    a: Results | Place, b: Results | Place, *, max_drop: float | None = None
) -> Comparison | SeedComparison:
    """Compare two models on the same rows: differences A - B in points; `ruler compare`.

    Results of two seeds share no rows: they are compared unpaired, and have no `decision`.

    Args:
        a: What `score` returned, a results.json, or the RUN folder that holds one.
        b: The other one.
        max_drop: Points that B may lose against A over all; then a decision is made, too.

    Returns:
        Differences with 95 % intervals: by configuration, by length, over all; with `max_drop` the
        `decision`. Raises RulerError for results that share no rows or cannot be paired.
    """
    from ruler_eval.analysis.compare import compare as compare_results
    from ruler_eval.analysis.compare import decision, seeds_of
    from ruler_eval.score.results import open_results

    left, right = (open_results(Path(r)) if isinstance(r, str | Path) else r for r in (a, b))
    if seeds_of(left, right):
        if max_drop is not None:
            raise RulerError("--max-drop is of two models on the same rows: these are two seeds'.")
        from ruler_eval.analysis.seeds import compare_seeds

        return compare_seeds(left, right)
    found = compare_results(left, right)
    if max_drop is not None:
        found["decision"] = decision(found, max_drop)
    return found


def report(
    runs: Place | Iterable[Place],
    *,
    out: Place = "report.html",
    names: Names | None = None,
    dataset: Place | None = None,
    revision: str | None = None,
    references: Place | None = None,
    every_error: bool = False,
) -> Path:
    """Make a page of scored runs, one HTML file that needs no network; `ruler report`.

    Args:
        runs: Scored RUN folders, or results.json files.
        out: The page.
        names: What to call each model, in order.
        dataset: The release that they were made on; default: as each run names it.
        revision: The release's on the Hub.
        references: The data folder that runs without a release were scored by.
        every_error: Sort every wrong row into its kind of error: about a minute for 39,000 rows to
            128k. Else, of a release whose texts are that large, an even share is sorted.

    Returns:
        The page's path. Raises RulerError for what cannot be shown.
    """
    from ruler_common.work import no_search_for_circles
    from ruler_eval.report.page.render import write_report
    from ruler_eval.report.page.runs import open_runs

    with no_search_for_circles():
        opened = open_runs(paths(runs), several(names), text(dataset), revision, path(references))
        write_report(opened, Path(out), every_error)
    return Path(out)
