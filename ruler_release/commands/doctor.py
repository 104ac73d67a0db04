"""`ruler doctor`: find out whether it is the model or the engine."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from ruler_common.errors import RulerError
from ruler_common.files import check_file, write_json
from ruler_common.options import Option
from ruler_common.text import note, plain, sentences, show
from ruler_eval.doctor.options import WHAT, DoctorOptions


@dataclass(frozen=True, kw_only=True)
class DoctorCommand(DoctorOptions):
    """The flags of `ruler doctor`."""

    run: Annotated[
        Path | None,
        Option(
            "A finished run: its answers are examined, and no requests are sent.",
            argument=True,
            metavar="[RUN]",
        ),
    ] = None
    dataset: Annotated[
        str,
        Option(
            "The release. Default: ruler, or the one of RUN.",
            panel=WHAT,
            short="-d",
            metavar="RELEASE",
        ),
    ] = ""
    quick: Annotated[bool, Option("A smoke test: 32 rows.", panel=WHAT)] = False
    thorough: Annotated[bool, Option("600 rows, which detect losses of 5 points.", panel=WHAT)] = (
        False
    )
    json: Annotated[Path | None, Option("Write the verdict as JSON.", metavar="FILE")] = None
    dry_run: Annotated[
        bool, Option("Only show the number of requests and tokens, without a model or a server.")
    ] = False

    def __post_init__(self) -> None:
        if self.run is not None:
            if self.base_url or self.model:
                raise RulerError(
                    "Name RUN, to examine its answers, or --base-url and --model, not both."
                )
            return
        super().__post_init__()
        if self.quick and self.thorough:
            raise RulerError("Choose --quick or --thorough, not both.")


def doctor(options: DoctorCommand) -> None:
    """Find out whether a bad long-context score is the model's or the engine's.

    The same frozen rows are sent under conditions that should not matter (cold or cached, alone or
    under load, …). Exit code 0: sound, 1: the engine changes answers, 3: cannot tell. With
    --against the greedy answers of two deployments are compared word for word, and 1 means that
    they differ. With RUN no requests are sent: its answers are examined, and exit code 1 means that
    they show a pattern with a single explanation.

    Example: ruler doctor --base-url http://localhost:8000/v1 -m org/model --lengths 4k,32k

    Example: ruler doctor --base-url http://a/v1 -m org/model --against http://b/v1
    """
    check_file(options.json, "doctor.json", "--json")
    if options.run is not None:
        raise SystemExit(_examine_run(options.run, options))
    from ruler_eval.doctor import against, examine
    from ruler_eval.doctor.comparison_sentences import comparison_text
    from ruler_eval.doctor.sentences import verdict_text

    level = "usual"
    if options.quick:
        level = "quick"
    elif options.thorough:
        level = "thorough"
    names = {field.name for field in fields(DoctorOptions)} - {"level", "dataset"}
    values = {name: getattr(options, name) for name in names}
    plan = DoctorOptions(**values, level=level, dataset=options.dataset or "ruler")
    compares = plan.against is not None or plan.save is not None
    if options.dry_run:
        for line in (against if compares else examine).dry_run(plan):
            note(sentences(line))
        return
    if plan.save is not None:
        summary = against.save(plan, _say)
        for line in summary.lines():
            print(sentences(line))
        raise SystemExit(1 if summary.failed else 0)
    verdict = against.compare(plan, _say) if compares else examine.examine(plan, _say)
    is_comparison = verdict["question"] == "same model"
    show(comparison_text(verdict) if is_comparison else verdict_text(verdict))
    print(sentences(f"All answers: {verdict['folder']}"))
    write_json(options.json, verdict)
    raise SystemExit(verdict["exit_code"])


def _say(text: str) -> None:
    note(sentences(text))


def _examine_run(run: Path, options: DoctorCommand) -> int:
    """Show the patterns in a finished run; return the exit code."""
    from ruler_eval.doctor.observe import observation_text, observe

    observation = observe(run, options.dataset or None)
    print(plain(observation_text(observation)))
    write_json(options.json, observation.as_json())
    return 1 if any(pattern.is_proof for pattern in observation.patterns) else 0
