"""`ruler push`, `ruler fetch` and `ruler results`: upload to the Hub and download from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ruler_builder.options import MIRROR, VerifyOptions
from ruler_common.errors import RulerError
from ruler_common.options import Option, OptionsOf, check_options, names_in
from ruler_common.text import (
    command_line,
    number_of,
    plain,
    sentences,
    show,
    table,
    without_passwords,
)
from ruler_eval.publish_options import ResultsOptions
from ruler_release.commands.build import exit_unless_proved, show_report

if TYPE_CHECKING:
    from ruler_builder.hub.push import PushPlan


@dataclass(frozen=True, kw_only=True)
class PushCommand:
    """The flags of `ruler push`."""

    root: Annotated[
        Path | None, Option("Folder of the release.", argument=True, metavar="[DIR]")
    ] = None
    repo: Annotated[
        str, Option("ORG/NAME on the Hub; created if it does not exist.", metavar="ORG/NAME")
    ]
    metric: Annotated[bool, Option("Push the metric, as the Space ORG/ruler_score.")] = False
    private: Annotated[bool, Option("Create a private repository.")] = False
    revision: Annotated[str | None, Option("Tag to create. Default: v and the data version.")] = (
        None
    )
    dry_run: Annotated[
        bool, Option("List files, sizes, the tag and what the Hub has; send nothing.")
    ] = False
    skip_verify: Annotated[bool, Option("Only check the digests of the files, not their rows.")] = (
        False
    )
    verification: Annotated[
        Mapping[str, Any],
        OptionsOf(VerifyOptions, names=("workers", "mirror", "tokenizers", "language_folders")),
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)
        if self.metric == (self.root is not None):
            raise RulerError(
                "Name a release or the metric: ruler push DIR --repo ORG/NAME, or "
                "ruler push --metric --repo ORG/ruler_score"
            )
        if self.metric and self.dry_run:
            raise RulerError("--dry-run lists the files of a release: leave out --metric.")


def push(options: PushCommand) -> None:
    """Publish a release: verify it, make one commit, and tag the commit.

    Published rows and tags never change. If the push is interrupted, run the same command again.

    Example: ruler push ruler --repo ORG/ruler

    Example: ruler push ruler --repo ORG/ruler --dry-run

    Example: ruler push --metric --repo ORG/ruler_score
    """
    if options.root is None:
        from ruler_release.metric_space import push_metric

        push_metric(options.repo, show_note, private=options.private, revision=options.revision)
        return
    from ruler_builder.hub.push import plan_push
    from ruler_builder.hub.push import push as push_release

    verification = VerifyOptions(options.root, **options.verification, progress=True)
    if options.dry_run:
        plan = plan_push(
            options.repo,
            options.root,
            private=options.private,
            revision=options.revision,
            needs_hub=False,
        )
        show_plan(options.repo, plan)
        return
    push_release(
        options.repo,
        options.root,
        show_note,
        private=options.private,
        revision=options.revision,
        verification=None if options.skip_verify else verification,
    )


@dataclass(frozen=True, kw_only=True)
class FetchCommand:
    """The flags of `ruler fetch`."""

    repo: Annotated[str, Option("A release on the Hub.", argument=True, metavar="ORG/NAME")]
    to: Annotated[Path, Option("Folder to create or extend.", metavar="DIR")]
    configs: Annotated[
        tuple[str, ...] | None,
        Option(
            "Configurations: niah_mk_4k,vt_4k. Default: all.",
            short="-c",
            parse=names_in,
            metavar="NAMES",
        ),
    ] = None
    tokenizer: Annotated[
        tuple[str, ...],
        Option("Only rows of this tokenizer; repeatable.", repeatable=True),
    ] = ()
    revision: Annotated[str | None, Option("Tag or commit. Default: main.")] = None
    verify: Annotated[bool, Option("Verify the release afterwards.")] = False
    mirror: Annotated[Path | None, MIRROR] = None

    def __post_init__(self) -> None:
        check_options(self)


def fetch(options: FetchCommand) -> None:
    """Download a release, or a part of it, from the Hub; resumes after an interruption.

    Every file is compared with its digest in the manifest. A part is a valid release too.

    Example: ruler fetch ORG/ruler --configs niah_4k,vt_4k --revision v1.0.0 --to ruler
    """
    from ruler_builder.hub.fetch import fetch as fetch_release

    to = options.to
    fetched = fetch_release(
        options.repo, to, list(options.configs or ()), options.tokenizer, options.revision
    )
    total = sum(fetched.manifest["files"][path]["bytes"] for path in fetched.new)
    print(
        f"{number_of(len(fetched.new), 'file')}, {total:,} bytes, of '{options.repo}' at commit "
        f"{fetched.commit}: '{plain(to)}' now has "
        f"{number_of(len(fetched.manifest['files']), 'file')}."
    )
    if not options.verify:
        print(f"All digests match. To check the rows: {command_line('ruler', 'verify', to)}")
        return
    from ruler_builder.verify.verify import verify

    report = verify(VerifyOptions(to, mirror=options.mirror, progress=True))
    show_report(report, as_json=False)
    exit_unless_proved(report)


def show_plan(repo: str, plan: PushPlan) -> None:
    """Print what a push would send, delete and tag."""
    rows, total = [], 0
    for path in plan.files:
        size = plan.bytes_of(path)
        on_hub = "yes" if path in plan.existing else "no"
        if path not in plan.manifest["files"]:
            on_hub = "written again"
        elif not plan.is_answered:
            on_hub = "not known"
        rows.append((path, f"{size:,}", on_hub))
        if path not in plan.existing:
            total += size
    show(table(["file", "bytes", "on the Hub"], rows, left=(0, 2)))
    if plan.published_as:
        show(f"'{repo}' holds this release already, as {', '.join(plan.published_as)}.")
        return
    for path in plan.deleted:
        show(f"To delete, of an older data version: {path}")
    count = number_of(len(rows) - len(plan.existing), "file")
    text = f"To send to '{plain(repo)}': {count}, {total:,} bytes, tagged {plan.tag}."
    if not plan.is_answered:
        text += " The Hub does not answer, so what it has is not known."
    elif plan.state.head is None:
        text += " The repository would be created."
    show(sentences(f"{text} Nothing was sent, and the rows were not verified."))


def show_note(text: str) -> None:
    """Print a note of a push."""
    print(plain(without_passwords(text)))


def results(options: ResultsOptions) -> None:
    """Write a run's scores as .eval_results/*.yaml, which the Hub shows on a model's page.

    The benchmark's rows are compared with the run's by digest, and only scores of tasks in its
    eval.yaml are written. If the Hub cannot be reached, the results are written without that check
    and with a warning. Entries of earlier runs stay in the file. After --create-pr, an error that
    the Hub reports about the file is shown.

    Example: ruler results runs/qwen -m Qwen/Qwen2.5-7B-Instruct --dataset-repo ORG/ruler
    """
    from ruler_eval.publish import publish

    published = publish(options)
    earlier = f" and {published.kept} of earlier runs" if published.kept else ""
    print(f"{number_of(published.entries, 'result')}{earlier} in '{plain(published.path)}'.")
    if published.unlisted:
        scores = number_of(published.unlisted, "score")
        print(f"Not written: {scores} of tasks that the benchmark's eval.yaml does not list.")
    if published.unchecked is not None:
        print(f"Warning: {plain(published.unchecked)}")
    if published.pull_request is None:
        print(f"Next: commit it to {options.model}, or run this again with --create-pr.")
        return
    print(f"Pull request: {plain(without_passwords(published.pull_request))}")
    if published.unread is not None:
        print(f"Warning: the Hub's check of the file could not be read. {plain(published.unread)}")
    if published.refused is not None:
        raise RulerError(
            f"The Hub reports an error in the proposed file: {plain(published.refused)}"
        )
