"""What no row could be read by is refused before any is: one sentence with file and field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.proof.described_tasks import check_described
from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST

WHERE = Path("x/manifest.json")


def damaged(root: Path, steps: str, value: object) -> Any:
    """A release's manifest with another value at `a/b/c`; None takes the field away."""
    found: Any = copy.deepcopy(read_manifest(root))
    here, (*parents, last) = found, steps.split("/")
    for step in parents:
        here = here[step]
    if value is None:
        del here[last]
    else:
        here[last] = value
    return found


def refusal(manifest: Any) -> str | None:
    """The sentence with which a manifest's tasks and wording are refused; None if they are not."""
    try:
        check_described(manifest, WHERE)
    except RulerError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("steps", "value", "sentence"),
    [
        ("families/variable_tracking/prefix", None, "'families.variable_tracking.prefix' is miss"),
        ("families/niah/one/input", 7, "'families.niah.one.input' must be of the kind"),
        ("families/niah/one", "x", "'families.niah.one' must be of the kind"),
        ("families/niah/needle", "{value}", "'families.niah.needle' must have {key}"),
        ("families/question_answering/document", "{document}", "must have {i}"),
        ("families/question_answering/document", "{i}{document}{document}", "{document} once"),
        ("families/common_words/input", "{{context}}{question}", "must have {context} once"),
        ("families/frequent_words/input", "{context", "is malformed"),
        ("families/common_words/max_new_tokens", True, "must be of the kind"),
        ("families/strange", {}, "'families.strange' is unknown"),
        ("tasks/vt/hops", None, "'tasks.vt' has no hops."),
        ("tasks/vt/hops", "4", "'vt': hops must be int, not '4'"),
        ("tasks/vt/hops", 0, "'vt': hops must be 1 to 100"),
        ("tasks/vt/layout", "2023", "'vt': layout must be one of 2024, 2025"),
        ("tasks/vt/odd", 1, "Unknown parameter of task 'vt' 'odd'"),
        ("tasks/fwe/alpha", 1, "alpha must be above 1"),
        ("tasks/niah_single_1/key_type", "emoji", "key_type and value_type must be of words"),
        ("tasks/cwe/max_new_tokens", None, "'tasks.cwe' has no max_new_tokens"),
    ],
)
def test_a_task_that_no_suite_could_have_is_refused(
    release: Path, steps: str, value: object, sentence: str
) -> None:
    found = str(refusal(damaged(release, steps, value)))
    assert found.startswith("'x/manifest.json' is damaged: ")
    assert sentence in found
    assert "\n" not in found


@pytest.mark.parametrize(
    ("steps", "value", "sentence"),
    [
        ("tasks/niah_single_nonone/same_as", "vt", "is the same as 'vt', which is no task"),
        ("languages/zh", None, "is in 'zh', which languages lacks"),
        ("languages/zh/parts/if_no", None, "'languages.zh.parts' has no if_no"),
        ("languages/zh/parts/if_no", "none", "'languages.zh.parts.if_no' must hold '</'"),
        ("languages/zh/parts/needle", "{key} {value}", "{key} between quotation marks"),
        ("languages/zh/parts/question_many", "<Q> {query1}", "{query1} and {query2}"),
        ("languages/zh/parts/question_one", "{query1}", "question_one' must hold '>'"),
        ("languages/zh/cwe", "{context} {context}", "'languages.zh.cwe' must hold {context} once"),
        ("languages/zh/nouns", ["a"], "do not have equally many nouns"),
        ("languages/zh/nouns", [""], "'languages.zh.nouns' has no noun, an empty one"),
    ],
)
def test_a_language_without_its_prompts_is_refused(
    oneruler: Path, steps: str, value: object, sentence: str
) -> None:
    assert sentence in str(refusal(damaged(oneruler, steps, value)))


def test_verify_refuses_it_before_it_reads_a_row(release: Path, tmp_path: Path) -> None:
    manifest = damaged(release, "families/variable_tracking/prefix", None)
    manifest["files"] = {}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(RulerError, match=r"'families\.variable_tracking\.prefix' is missing"):
        verify(tmp_path)


@pytest.mark.parametrize("suite", ["ruler_2024", "ruler_complexity", "optional"])
def test_the_projects_own_and_a_users_suite_can_be_read(suite: str, suite_release: Any) -> None:
    assert refusal(read_manifest(suite_release(suite))) is None
