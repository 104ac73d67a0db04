"""Faults planted in the layouts and controls of the project's other suites are named by the law.

As in test_planted_faults.py, everything else follows the fault: only what reads a row can find it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ruler_builder.sources.corpora import NOISE
from ruler_builder.tokens.counters import TokenCounter
from tests.builder.proof.planting import Fault, Row, edit, planted, read, rows_of, swap, wording_of

FAULTS: dict[tuple[str, str, str], Fault] = {}


def fault(suite: str, *files: str) -> Callable[[Fault], Fault]:
    """Enter a function as a fault of these files, `LENGTH/TASK`, of a suite's release."""

    def enter(function: Fault) -> Fault:
        name = function.__name__.replace("_", " ")  # type: ignore[attr-defined]
        FAULTS.update({(suite, file, name): function for file in files})
        return function

    return enter


@fault("ruler_2024", "4k/vt", "0k/vt")
@fault("optional", "4k/vt_chains_old")
def an_assignment_lost_the_space_after_it(row: Row) -> None:
    span = row["evidence"][1]
    edit(row, span["end"] - 1, span["end"], "")


@fault("ruler_2024", "4k/vt")
def a_line_of_noise_lost_its_newline(row: Row) -> None:
    swap(row, f"{NOISE}\n ", f"{NOISE} ", row["context_start"])


@fault("ruler_2024", "4k/vt")
def an_assignment_has_a_line_of_its_own(row: Row) -> None:
    edit(row, (at := row["evidence"][2]["start"]) - 1, at, "")


@fault("ruler_2024", "4k/vt")
def the_example_is_laid_out_as_in_2025(row: Row) -> None:
    swap(row, "following text. ", "following text.\n\n")


@fault("ruler_2024", "4k/vt")
def the_space_before_the_example_is_missing(row: Row) -> None:
    edit(row, 0, 1, "")


@fault("ruler_2024", "4k/vt")
def the_misprint_is_mended(row: Row) -> None:
    row["answer_prefix"] = row["answer_prefix"].replace("assgined", "assigned")


@fault("ruler_2024", "4k/cwe", "0k/cwe")
def a_space_stands_before_the_examples_answer(row: Row) -> None:
    swap(row, "are:1.", "are: 1.")


NIAH = ("0k/niah_single_1", "0k/niah_single_2", "0k/niah_multikey_2", "0k/niah_multiquery")


@fault("ruler_2024", *NIAH, "0k/vt")
def noise_stands_beside_the_evidence(row: Row) -> None:
    joint = "\n" if "\n" in row["input"][row["context_start"] : row["context_end"]] else " "
    edit(row, row["context_start"], row["context_start"], f"{NOISE}{joint}")
    row["context_start"] -= len(NOISE) + 1


@fault("ruler_2024", *NIAH)
def a_needle_nobody_drew_stands_at_the_end(row: Row) -> None:
    end = row["context_end"]
    found = re.search(r"One of the special magic .*?\.(?=\s)", row["input"][row["context_start"] :])
    assert found
    more = "\n" + re.sub(r"\d{7}", "7654321", found[0]).replace(" for ", " for odd-")
    row["input"] = row["input"][:end] + more + row["input"][end:]
    row["context_end"] += len(more)


@fault("ruler_2024", "0k/qa_1", "0k/qa_2")
def a_document_that_is_no_evidence_stands_there(row: Row) -> None:
    more, end = "\n\nDocument 9:\nSomething else.", row["context_end"]
    row["input"] = row["input"][:end] + more + row["input"][end:]
    row["context_end"] += len(more)


@fault("ruler_2024", "0k/cwe")
def the_least_list_has_a_word_more(row: Row) -> None:
    end = row["context_end"]
    row["input"] = f"{row['input'][:end]} 71. zebra{row['input'][end:]}"
    row["context_end"] += len(" 71. zebra")


@fault("ruler_2024", "0k/fwe")
def the_least_text_has_a_noise_word_more(row: Row) -> None:
    end = row["context_end"]
    row["input"] = f"{row['input'][:end]} ...{row['input'][end:]}"
    row["context_end"] += 4


@fault("ruler_complexity", "0k/qa_1_no_documents")
def there_is_a_document(row: Row) -> None:
    swap(row, "\n\nQuestion", "\n\nDocument 1:\nSomething.\n\nQuestion")


@fault("optional", "4k/vt_in_essays", "0k/vt_in_essays")
def an_assignment_lost_its_full_stop(row: Row) -> None:
    span = row["evidence"][1]
    edit(row, span["end"] - 1, span["end"], "")


@fault("optional", "4k/vt_in_essays")
def a_word_of_the_essays_is_another(row: Row) -> None:
    swap(row, " the ", " thy ", row["context_start"])


@fault("optional", "4k/vt_in_essays")
def a_word_of_the_examples_essays_is_another(row: Row) -> None:
    swap(row, " the ", " thy ", row["input"].index("following text.") + 16)


@fault("optional", "4k/vt_three_examples")
def one_of_three_examples_is_missing(row: Row) -> None:
    end = row["input"].index("\n\nMemorize") + 2
    edit(row, 0, end, "")


@fault("optional", "4k/cwe_two_examples")
def one_of_two_examples_is_missing(row: Row) -> None:
    edit(row, 0, row["input"].index("\nBelow is") + 1, "")


@fault("optional", "4k/vt_long_names")
def an_example_stands_there_that_the_task_has_not(row: Row) -> None:
    edit(row, 0, 0, "Memorize this.\n\n")


@fault("optional", "4k/fwe_long_words")
def a_coded_word_is_too_short(row: Row) -> None:
    words = row["input"][row["context_start"] : row["context_end"]].split(" ")
    rare = min((word for word in words if word != "..."), key=words.count)
    swap(row, f" {rare} ", f" {rare[:-1]} ", row["context_start"])


@pytest.mark.parametrize("planted_in", [": ".join(key) for key in FAULTS])
def test_a_fault_planted_in_another_suite_is_named(
    planted_in: str, suite_release: Callable[[str], Path], tekken: TokenCounter
) -> None:
    suite, file, name = planted_in.split(": ")
    root, path = suite_release(suite), f"data/tekken/{file}.parquet"
    row = planted(rows_of(root, path)[1], FAULTS[suite, file, name], tekken)
    assert read(row, wording_of(root, path, tekken)).faults


@pytest.mark.parametrize("file", sorted({(suite, file) for suite, file, _ in FAULTS}))
def test_without_a_fault_nothing_is_left_over(
    file: tuple[str, str], suite_release: Callable[[str], Path], tekken: TokenCounter
) -> None:
    root, path = suite_release(file[0]), f"data/tekken/{file[1]}.parquet"
    for row in rows_of(root, path):
        assert read(row, wording_of(root, path, tekken)).faults == []
