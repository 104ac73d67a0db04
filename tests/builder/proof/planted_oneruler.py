"""Faults for rows of ONERULER: (languages/task, what is wrong) -> a function that plants it."""

from __future__ import annotations

import re

from tests.builder.proof.planting import (
    Fault,
    Row,
    edit,
    entering,
    in_context,
    needles,
    swap,
    swap_all,
)

ONERULER: dict[tuple[str, str], Fault] = {}
NIAH = ("en/niah_single", "zh/niah_multikey", "en-zh/niah_multiquery", "zh-en/niah_none")
CWE = ("en/cwe_easy", "zh/cwe_hard")
fault = entering(ONERULER)


# ---- both families: the frame ------------------------------------------------------------------


@fault(*NIAH, *CWE)
def the_prompt_begins_with_a_word_more(row: Row) -> None:
    edit(row, 0, 0, "Please. ")


@fault(*NIAH, *CWE)
def an_order_follows_the_question(row: Row) -> None:
    at = row["input"].index(row["question"], row["context_end"]) + len(row["question"])
    edit(row, at, at, " Answer 42.")


@fault("en/niah_single", "zh/cwe_hard")
def the_prefix_holds_the_answer(row: Row) -> None:
    row["answer_prefix"] = row["outputs"][0]


@fault("en/niah_single", "zh/niah_multikey")
def the_none_word_is_missing(row: Row) -> None:
    row["none_word"] = ""


@fault("en/niah_single_nonone", "en/cwe_easy")
def a_none_word_is_given(row: Row) -> None:
    row["none_word"] = "none"


@fault(*NIAH, *CWE)
def the_context_begins_a_character_late(row: Row) -> None:
    row["context_start"] += 1


@fault("en/niah_single", "zh/cwe_hard")
def a_tag_is_another(row: Row) -> None:
    at = row["input"].index("<", row["context_end"]) + 1
    edit(row, at, at, "X")


@fault("zh/niah_multikey", "en/cwe_easy")
def the_question_is_another(row: Row) -> None:
    row["question"] += "?"


# ---- niah --------------------------------------------------------------------------------------


@fault("en/niah_single", "en-zh/niah_multiquery")
def a_word_of_the_book_is_another(row: Row) -> None:
    in_context(row, " the ", " a ", 0.3)


@fault("zh/niah_multikey", "zh-en/niah_none")
def a_sign_of_the_book_is_another(row: Row) -> None:
    in_context(row, "的", "得", 0.3)


@fault("en/niah_single", "zh/niah_multikey")
def the_book_does_not_begin_at_its_beginning(row: Row) -> None:
    start = row["context_start"]
    first = min(span["start"] for span in row["evidence"])
    stop = row["input"].index("。" if "。" in row["input"][start:first] else ". ", start) + 1
    edit(row, start, stop, "")
    row["context_start"] = start


@fault("en/niah_single", "zh/niah_multikey")
def the_book_ends_within_a_sentence(row: Row) -> None:
    edit(row, row["context_end"] - 2, row["context_end"], "")


@fault("en/niah_single", "zh/niah_multikey")
def a_sentence_stands_in_the_book_that_is_none_of_it(row: Row) -> None:
    stop = "。" if row["language"] == "zh" else ". "
    in_context(row, stop, f"{stop}Answer 42{stop}", 0.4)


@fault("en/niah_single", "zh/niah_multikey")
def a_special_token_stands_in_the_book(row: Row) -> None:
    stop = "。" if row["language"] == "zh" else ". "
    in_context(row, stop, f"{stop}<|im_end|>", 0.4)


@fault("zh/niah_multikey")
def a_needle_in_wide_digits_is_no_evidence(row: Row) -> None:
    wide = needles(row)[0].translate({48 + i: 0xFF10 + i for i in range(10)})
    in_context(row, "。", f"。{wide}", 0.4)


@fault("en/niah_single")
def a_needle_in_capitals_is_no_evidence(row: Row) -> None:
    in_context(row, ". ", f". {re.sub('[0-9]', '7', needles(row)[0].upper())} ", 0.4)


@fault(*NIAH)
def a_needle_lacks_its_full_stop(row: Row) -> None:
    end = row["evidence"][0]["end"]
    edit(row, end - 1, end, "")


@fault("en/niah_single", "zh/niah_multikey", "en-zh/niah_multiquery")
def a_value_has_six_digits(row: Row) -> None:
    swap_all(row, row["outputs"][0], "123456")


@fault("en/niah_multikey", "zh-en/niah_none", "en/niah_multivalue")
def a_piece_of_evidence_is_missing(row: Row) -> None:
    del row["evidence"][1]


@fault("en/niah_multikey")
def a_distractor_is_marked_as_the_answer(row: Row) -> None:
    next(span for span in row["evidence"] if not span["answer"])["answer"] = True


@fault("en/niah_multiquery", "en-zh/niah_multiquery")
def the_references_are_in_another_order(row: Row) -> None:
    row["outputs"].reverse()


@fault("en/niah_none", "zh-en/niah_none")
def a_number_is_the_reference_where_there_is_none(row: Row) -> None:
    row["outputs"] = ["1234567"]


@fault("en/niah_single", "en/niah_multikey")
def a_needle_stands_inside_a_sentence(row: Row) -> None:
    text, span = needles(row)[0], row["evidence"][0]
    at, width = span["start"], len(text) + 1
    place = row["input"].index(" the ", at + width) - width + 1
    moved = row["input"][:at] + row["input"][at + width :]
    row["input"] = moved[:place] + text + " " + moved[place:]
    span["start"], span["end"] = place, place + len(text)
    row["evidence"].sort(key=lambda one: one["start"])


@fault("en/niah_single")
def no_space_follows_a_needle(row: Row) -> None:
    end = row["evidence"][0]["end"]
    edit(row, end, end + 1, "")
    row["evidence"][0]["end"] = end


@fault("en/niah_single")
def a_key_is_of_no_noun_list(row: Row) -> None:
    key = re.search(r'"([^"]+)"', needles(row)[0])
    swap_all(row, key[1] if key else "", "qwertz")


# ---- cwe ---------------------------------------------------------------------------------------


@fault(*CWE)
def a_number_is_left_out(row: Row) -> None:
    in_context(row, " 50. ", " 51. ")


@fault(*CWE)
def two_spaces_stand_between_two_items(row: Row) -> None:
    in_context(row, " 50. ", "  50. ")


@fault(*CWE)
def a_word_is_of_no_dictionary(row: Row) -> None:
    text = row["input"][row["context_start"] : row["context_end"]]
    word = re.search(r" 50\. (\S+) ", text)
    edit(
        row,
        row["context_start"],
        row["context_end"],
        text.replace(f" {word[1]} ", " qwertz "),  # type: ignore[index]
    )


@fault(*CWE)
def a_list_has_evidence(row: Row) -> None:
    start = row["context_start"] + 10
    row["evidence"] = [{"start": start, "end": start + 4, "depth": 0.0, "answer": True}]


@fault(*CWE)
def a_common_word_appears_once_less(row: Row) -> None:
    text = row["input"][row["context_start"] : row["context_end"]]
    words = re.findall(r"\d+\. (\S+)", text)
    other = next(word for word in words if word not in row["outputs"])
    swap(row, f" {row['outputs'][0]} ", f" {other} ", row["context_start"])


@fault("zh/cwe_hard")
def a_tag_stands_in_the_list(row: Row) -> None:
    in_context(row, " 50. ", " </List> 50. ")
