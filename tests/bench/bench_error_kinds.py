"""How often the kinds of errors are those that a person read, on real answers: a table.

    ruler build RELEASE --tasks qa_1,qa_2 --lengths 4k --samples 500
    python -m tests.bench.bench_error_kinds PREDICTIONS RELEASE

PREDICTIONS holds the folders kvpress_* and reference_* with published predictions; RELEASE the rows
of qa that ask the same questions. Both samples that rules were made with and samples that were kept
apart until they were measured are in tests/eval/data/wrong_answers.tsv, and all but `k` and `l`
were used to mend the rules in the end: what is printed is how well they hold now, not what they
will give on answers that nobody read. That was measured before each mending; the module's FRESH has
it.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from ruler_eval.analysis.errors.error_kinds import error_of
from ruler_eval.frozen_release import Release
from tests.eval.read_answers import example_answers, published_answers, readings

FRESH = {
    "b": (161, 170),
    "c": (148, 154),
    "d": (127, 134),
    "e": (138, 144),
    "f": (99, 107),
    "g": (98, 102),
    "h": (99, 102),
    "i": (89, 95),
    "j": (94, 102),
    "k": (93, 98),
    "l": (100, 100),
    "m": (97, 100),
}
"""Right and read, for each sample, with the rules as they were before it was looked at.

`h` mended them alone until `i`, drawn beside it, was measured; `j` holds questions of qa only. `l`
and `m` were drawn and read together; many of their questions of qa are those of earlier samples.
Of another model's answers (Qwen3-8B, 4k to 16k; kvpress-vllm-tests at d8322de), which are not kept
here, 95 of 100 got the kind that was read, and 97 of 100 others after a rule was mended with these.
"""


def main() -> None:
    """Print the share of the kinds that agree, by sample and by family of tasks."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    answers = published_answers(Path(sys.argv[1]), Release.open(sys.argv[2])) | example_answers()
    right, read_so = Counter[str](), Counter[str]()
    for reading in readings():
        answer, row = answers[reading.place]
        task = reading.place[1]
        error = error_of(row, answer, task)
        same = error is not None and error.kind == reading.kind
        for part in (reading.sample, task.partition("_")[0], "all"):
            read_so[part] += 1
            right[part] += same
        if not same:
            print(*reading.place, f"read {reading.kind}, sorted {error and error.kind}")
    print(f"\n{'':10} {'read':>6} {'right':>6} {'share':>8}   fresh")
    for part, count in read_so.items():
        fresh = "{}/{}".format(*FRESH[part]) if part in FRESH else ""
        print(f"{part:10} {count:6} {right[part]:6} {right[part] / count:8.1%}   {fresh}")
    good, seen = (sum(values) for values in zip(*FRESH.values(), strict=True))
    print(f"fresh, all: {good} of {seen}, {good / seen:.1%}")


if __name__ == "__main__":
    main()
