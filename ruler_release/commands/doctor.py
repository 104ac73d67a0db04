"""`ruler doctor`: find out whether it is the model or the engine."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from ruler_common.errors import RulerError
from ruler_common.files import check_file, write_json
from ruler_common.options import Option
from ruler_common.text import plain, sentences
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
    quick: Annotated[
        bool, Option("A smoke test: 32 rows, cold, cached and under load.", panel=WHAT)
    ] = False
    thorough: Annotated[bool, Option("600 rows, which detect losses of 5 points.", panel=WHAT)] = (
        False
    )
    json: Annotated[Path | None, Option("Write the verdict as JSON.", metavar="FILE")] = None
    dry_run: Annotated[bool, Option("Only show the number of requests and tokens.")] = False

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

    The same frozen rows are sent under pairs of conditions that should not matter. Exit code 0:
    sound, 1: the engine changes answers, 3: cannot tell. With RUN no requests are sent: its answers
    are examined, and exit code 1 means that they show a pattern with a single explanation.

    Example: ruler doctor --base-url http://localhost:8000/v1 -m org/model --lengths 4k,32k
    """
    from ruler_eval.doctor.examine import Examination
    from ruler_eval.doctor.observe import observation_text, observe
    from ruler_eval.doctor.verdict import progress_line, verdict_text

    check_file(options.json, "doctor.json", "--json")
    if options.run is not None:
        observation = observe(options.run, options.dataset or None)
        print(plain(observation_text(observation)))
        write_json(options.json, observation.as_json())
        raise SystemExit(1 if observation.patterns else 0)
    level = "usual"
    if options.quick:
        level = "quick"
    elif options.thorough:
        level = "thorough"
    examination = Examination(replace(options, level=level, dataset=options.dataset or "ruler"))
    for line in examination.plan.lines(options.price):
        print(sentences(line), file=sys.stderr)
    if options.dry_run:
        examination.sender.close()
        return
    planned = len(examination.plan.rows)
    verdict = examination.run(
        lambda verdict, rows: print(plain(progress_line(verdict, rows, planned)), file=sys.stderr)
    )
    print(plain(verdict_text(verdict)))
    write_json(options.json, verdict.to_json())
    raise SystemExit(verdict.exit_code)
