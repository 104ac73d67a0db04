"""Each kind of error on predictions made by hand, and what must stay `other`."""

from __future__ import annotations

import json

import pytest

from ruler_eval.analysis.errors.error_kinds import KINDS, RULES, Error, error_of
from ruler_eval.families.function_words import frequent
from ruler_eval.prediction import Prediction
from ruler_eval.score.row_score import ScoringRules
from ruler_score.ruler_score import ANSWER_TAGS
from tests.eval.scoring_helpers import right, ruler

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."


def needle(key, value):
    return f"One of the special magic numbers for {key} is: {value}."


def make(head, units, outputs, tail, separator="\n", needles=(), answers=()):
    """A row: context units, of which `needles` are evidence and `answers` carry a reference."""
    context = separator.join(units)
    row = {"input": head + context + tail, "outputs": list(outputs), "none_word": ""}
    row.update(index=0, context_start=len(head), context_end=len(head) + len(context))
    row["evidence"] = []
    for text in needles:
        start = row["input"].index(text, len(head))
        depth = (start - len(head)) / len(context)
        span = {"start": start, "end": start + len(text), "depth": depth}
        row["evidence"].append({**span, "answer": text in answers})
    return row


HEAD = "Some special magic numbers are hidden within the following text.\n"
FOUR = [needle("able-cat", value) for value in ("1111111", "2222222", "3333333", "4444444")]
OTHERS = [needle(f"bad-dog-{i}", f"{i}{i}55555") for i in (5, 6, 7)]
LINES = [NOISE, "The year was 1984.", *FOUR[:2], NOISE, *OTHERS, NOISE, *FOUR[2:], NOISE]
VALUES = make(
    HEAD,
    LINES,
    ["1111111", "2222222", "3333333", "4444444"],
    "\nWhat are all the special magic numbers for able-cat?",
    needles=[*FOUR, *OTHERS],
    answers=FOUR,
)
LIST = [needle(f"key-{i}", f"{1000000 + i}") for i in range(100)]
AMONG_NEEDLES = make(HEAD, LIST, ["1000050"], "\n…", needles=[LIST[50]], answers=[LIST[50]])
UUID = "c0ffee00-1234-4000-8000-0000000000ab"
A_UUID = make(HEAD, [NOISE, needle("k", UUID)], [UUID], "\n…", needles=[needle("k", UUID)])
CHAINS = [
    "VAR ABCDE = 12345",
    "VAR FGHIJ = VAR ABCDE",
    "VAR OTHER = 54321",
    "VAR CHAIN = VAR OTHER",
]
EXAMPLE = "VAR XYZ = 777\nVAR UVW = VAR XYZ\nQuestion: … they are:  XYZ UVW\n\nMemorize …\n\n"
CHAIN = make(
    EXAMPLE,
    [NOISE, *CHAINS, NOISE],
    ["ABCDE", "FGHIJ"],
    "\nQuestion: …",
    needles=CHAINS,
    answers=CHAINS[:2],
)
WORDS = ["pear", "plum", "fig", "nut", "oak", "elm", "ash", "fir", "yew", "bay"]
RARE = ["stone", "cloud", "river", "table"]
LISTED = [f"{i}. {word}" for i, word in enumerate([*RARE, *WORDS, *WORDS], 1)]
SHOWN = "Below is … 1. lamp 2. desk\nAnswer: … are: 1. lamp 2. desk 3. vase 4. door\nBelow is …\n"
COMMON = make(SHOWN, LISTED, WORDS, "\nQuestion: …", separator=" ")
CODED = make(
    "Read the following coded text … ",
    ["...", "qzjwkd", "...", "xwlupe", "qzjwkd", "abcdef", "...", "mnopqr"],
    ["qzjwkd", "xwlupe", "abcdef"],
    "\nQuestion: …",
    separator=" ",
)
GOLD = "Velmarch\nTessamund is the capital of Velmarch, built on three hills by settlers."
DOCUMENTS = [f"Document 1:\n{GOLD}", "Document 2:\nOrsk\nBellhaven is the capital of Orsk."]
QUESTION = make(
    "Answer the question …\n\n", DOCUMENTS, ["Tessamund"], "\n\nQuestion: …", "\n\n", [GOLD], [GOLD]
)


KEY = "aaaa0000-1111-4222-8333-bbbbccccdddd"
A_KEY = make(
    HEAD,
    [needle(KEY, UUID)],
    [UUID],
    f"\nWhat is the special magic uuid for {KEY}?",
    needles=[needle(KEY, UUID)],
    answers=[needle(KEY, UUID)],
)


def kind(row, task, said, language=None, strict=False, **fields):
    found = error_of(
        row, Prediction("c", 0, said, **fields), task, language, ScoringRules(), strict
    )
    return found and found.kind


CASES = [
    ("refused", VALUES, "niah_multivalue", "I'm sorry, but I can't help with that."),
    ("says_none", VALUES, "niah_multivalue", "There is no special magic number for able-cat."),
    ("says_none", VALUES, "niah_multivalue", "It is not mentioned in the text."),
    ("copied_start", VALUES, "niah_multivalue", f"{NOISE} {NOISE}"),
    ("copied_start", VALUES, "niah_multivalue", "Some special magic numbers are hidden within"),
    ("distractor", VALUES, "niah_multivalue", "5555555, 1111111"),
    ("distractor", AMONG_NEEDLES, "niah_multikey_2", " 1000049."),
    ("repeats", VALUES, "niah_multivalue", "1111111, 1111111, 2222222"),
    ("incomplete", VALUES, "niah_multivalue", "1111111, 2222222 and 3333333"),
    ("garbled", A_UUID, "niah_single_3", " c0ffee00-1234-4000-80"),
    ("garbled", A_UUID, "niah_single_3", " c0ffee00-0000-4a1b-9999-123412341234"),
    ("unrelated", A_UUID, "niah_single_3", " dead0000-1111-4222-8333-444455556666"),
    ("asked_key", A_KEY, "niah_multikey_3", f"The uuid for {KEY} is: {KEY}."),
    ("asked_key", A_KEY, "niah_multikey_3", f" {KEY[:8]}-1234-4000-8000-444455556666"),
    ("says_none", A_KEY, "niah_multikey_3", f"The uuid {KEY} is not present in the text."),
    ("garbled", VALUES, "niah_multivalue", "1111111, 222222"),
    ("garbled", CHAIN, "vt", "ABCDE FGHJI"),
    ("incomplete", VALUES, "niah_multivalue", "1111111, 100, 100 and 40"),
    ("unfinished", CHAIN, "vt", "To find the variables we need to track the chain of"),
    ("reworded", {**QUESTION, "outputs": ["three hills"]}, "qa_1", "On 3 hills."),
    ("from_memory", {**QUESTION, "memory": "In the Alps."}, "qa_1", "the Alps\nas I know"),
    ("unrelated", VALUES, "niah_multivalue", "9876543"),
    ("wrong_format", VALUES, "niah_multivalue", "1 1 1 1 1 1 1 something"),
    ("other", VALUES, "niah_multivalue", "It was 1984."),
    ("other", VALUES, "niah_multivalue", "What a nice question!"),
    ("empty", VALUES, "niah_multivalue", " \n"),
    ("empty", VALUES, "niah_multivalue", "</s>"[:0]),
    ("copied_example", CHAIN, "vt", "XYZ UVW"),
    ("other_chain", CHAIN, "vt", "ABCDE OTHER"),
    ("incomplete", CHAIN, "vt", "ABCDE and"),
    ("repeats", CHAIN, "vt", "ABCDE ABCDE ABCDE"),
    ("unrelated", CHAIN, "vt", "QQQQQ RRRRR"),
    ("copied_example", COMMON, "cwe", "1. lamp 2. desk 3. vase 4. door"),
    ("copied_start", COMMON, "cwe", "1. stone 2. cloud 3. river 4. table 5. pear 6. plum"),
    ("frequent_word", COMMON, "cwe", "1. the 2. and 3. of 4. to 5. a"),
    ("incomplete", COMMON, "cwe", "1. pear 2. plum 3. fig 4. stone 5. cloud"),
    ("repeats", COMMON, "cwe", "pear, plum, pear, plum, pear"),
    ("repeats", COMMON, "cwe", '1. pear\n2. plum\n3. **pear** (tie with "plum")  \n\nNote: a tie.'),
    ("unrelated", COMMON, "cwe", "giraffe, helicopter, banana"),
    ("noise_word", CODED, "fwe", "1. ... 2. qzjwkd 3. xwlupe"),
    ("incomplete", CODED, "fwe", "qzjwkd, xwlupe, mnopqr"),
    ("frequent_word", CODED, "fwe", "the, of, and"),
    ("distractor", QUESTION, "qa_1", "Bellhaven"),
    ("says_none", QUESTION, "qa_1", "The answer is not provided in the documents."),
    ("unrelated", QUESTION, "qa_1", "Ouagadougou"),
    ("same_document", QUESTION, "qa_1", "three hills"),
    ("near_miss", QUESTION, "qa_1", "Tesamund"),
    ("opposite", {**QUESTION, "outputs": ["yes"]}, "qa_1", "No, it is not."),
    ("loop", VALUES, "niah_multivalue", "so so so so so so so so so so"),
    ("refused", QUESTION, "qa_1", "As an AI, I have no opinion."),
]


@pytest.mark.parametrize(("expected", "row", "task", "said"), CASES)
def test_kinds_of_ruler(expected, row, task, said):
    assert kind(row, task, said) == expected


NONE_GIVEN = [
    *("not present.", "Not given", "None", "not explicitly mentioned.", "is not one of them"),
    *("It is not provided in the given text", "not found in the documents", "isn't mentioned"),
    *("There is no special magic number mentioned", "could not find it", "no uuid is given"),
]


@pytest.mark.parametrize("said", NONE_GIVEN)
def test_what_says_that_there_is_no_answer(said):
    assert kind(A_UUID, "niah_single_3", said) == "says_none"
    assert kind(VALUES, "niah_multivalue", said) == "says_none"


def test_the_kind_is_that_of_the_first_rule_that_holds():
    """A refusal that is also a copy of the beginning: the earlier rule of RULES decides."""
    kinds = [rule.kind for rule in RULES]
    assert kinds.index("refused") < kinds.index("copied_start")
    assert kind(VALUES, "niah_multivalue", f"I cannot say. {NOISE}") == "refused"
    assert RULES[-1].kind == "other"


def test_every_kind_is_met_by_a_test():
    met = {case[0] for case in [*CASES, *ONERULER]}
    rest = {"missing", "failed", "does_not_fit", "cut", "cut_in_thinking", "extra"}
    assert met | rest == set(KINDS)


def test_right_answers_have_no_kind_and_extra_ones_only_strictly():
    assert kind(VALUES, "niah_multivalue", "1111111 2222222 3333333 4444444 9") is None
    said = "1111111 2222222 3333333 4444444 and 5555555"
    assert kind(VALUES, "niah_multivalue", said) is None
    assert kind(VALUES, "niah_multivalue", said, strict=True) == "extra"
    assert kind(COMMON, "cwe", ", ".join([*WORDS, "stone"]), strict=True) == "extra"


def test_rows_without_an_answer():
    assert error_of(VALUES, None, "niah_multivalue") == Error("missing", 0, 4)
    assert kind(VALUES, "niah_multivalue", "", error="timeout") == "failed"
    unfit = {"error": "too long", "finish_reason": "does_not_fit"}
    assert kind(VALUES, "niah_multivalue", "", **unfit) == "does_not_fit"
    assert kind(VALUES, "niah_multivalue", "<think>1111111") == "cut_in_thinking"
    assert kind(VALUES, "niah_multivalue", "", thinking_ended=False) == "cut_in_thinking"


def test_k_of_n_and_how_near_the_distractor_stood():
    said = Prediction("c", 0, "1111111, 2222222 and 3333333")
    assert error_of(VALUES, said, "niah_multivalue") == Error("incomplete", 3, 4)
    cut_off = Prediction("c", 0, "1111111, 2222222, 3333333, 444")
    assert error_of(VALUES, cut_off, "niah_multivalue").kind != "distractor"
    near = error_of(AMONG_NEEDLES, Prediction("c", 0, "1000049"), "niah_multikey_2")
    far = error_of(AMONG_NEEDLES, Prediction("c", 0, "1000000"), "niah_multikey_2")
    assert near.gap == pytest.approx(0.01, abs=0.011)
    assert far.gap == pytest.approx(0.5, abs=0.02)


# ---- ONERULER --------------------------------------------------------------------------------

POLISH = [f"Specjalna magiczna liczba dla hasła „{key}” to: {value}." for key, value in
          (("kot", "1111111"), ("pies", "2222222"))]  # fmt: skip
SINGLE = make("", ["Był dzień.", *POLISH, "Rok 1934."], ["1111111"], "…", " ", POLISH, POLISH[:1])
SINGLE["none_word"] = "brak"
NONE = {**make("", ["Był dzień.", *POLISH], ["brak"], "…", " ", POLISH), "none_word": "brak"}
KOREAN = ["사과", "나무", "구름", "바다", "하늘", "노래", "학교", "책상", "의자", "창문"]
COMMON_KO = make("", [f"{i}. {word}" for i, word in enumerate(KOREAN * 2, 1)], KOREAN, "…", " ")

ONERULER = [
    ("says_none", SINGLE, "niah_single", "pl", "<odpowiedź>brak</odpowiedź>"),
    ("distractor", SINGLE, "niah_single", "pl", "<odpowiedź>2222222</odpowiedź>"),
    ("extra", SINGLE, "niah_single", "pl", "<odpowiedź>1111111, 2222222</odpowiedź>"),
    ("extra", SINGLE, "niah_single", "pl", "<odpowiedź>1111111 brak</odpowiedź>"),
    ("unrelated", SINGLE, "niah_single", "pl", "<odpowiedź>9999999</odpowiedź>"),
    ("other", SINGLE, "niah_single", "pl", "<odpowiedź>1934</odpowiedź>"),
    ("wrong_format", SINGLE, "niah_single", "pl", "1111111 <odpowiedź>tak</odpowiedź>"),
    ("distractor", NONE, "niah_none", "pl", "<odpowiedź>1111111</odpowiedź>"),
    ("wrong_format", NONE, "niah_none", "pl", "<odpowiedź>none</odpowiedź>"),
    ("unrelated", NONE, "niah_none", "pl", "<odpowiedź>7777777</odpowiedź>"),
    ("empty", NONE, "niah_none", "pl", "<odpowiedź> </odpowiedź>"),
    ("incomplete", COMMON_KO, "cwe_easy", "ko", f"<답변>{', '.join(KOREAN[:8])}, 돌</답변>"),
    ("wrong_format", COMMON_KO, "cwe_hard", "ko", "<답변>apple, tree, cloud, sea, sky</답변>"),
    ("frequent_word", COMMON_KO, "cwe_hard", "ko", "<답변>이, 그, 것, 수, 및</답변>"),
    ("extra", COMMON_KO, "cwe_easy", "ko", f"<답변>{', '.join(KOREAN)}, 돌</답변>"),
]


@pytest.mark.parametrize(("expected", "row", "task", "language", "said"), ONERULER)
def test_kinds_of_oneruler(expected, row, task, language, said):
    assert kind(row, task, said, language) == expected


def test_an_answer_cut_at_the_limit_is_a_kind_in_oneruler_alone():
    said = "<odpowiedź>1111111</odpowiedź>"
    assert kind(SINGLE, "niah_single", said, "pl", finish_reason="length") == "cut"
    assert kind(SINGLE, "niah_single_1", "1111111", finish_reason="length") is None


def test_every_language_has_frequent_words():
    assert all(len(frequent(language)) >= 15 for language in ANSWER_TAGS)


# ---- The command -----------------------------------------------------------------------------


def test_the_command_prints_shares_by_task_and_length_with_an_example(write_run, tmp_path):
    def answers(config, row):
        if row["task"] == "niah_multivalue":
            return " ".join(row["outputs"][:3])
        if row["task"] == "vt" and row["index"] < 2:
            return None
        return right(config, row)

    out = tmp_path / "errors.jsonl"
    stdout, _, code = ruler("errors", write_run(answers), "--out", out)
    assert code == 0
    lines = [line.split() for line in stdout.splitlines()]
    row = next(line for line in lines if line[:2] == ["niah_multivalue_8k", "incomplete"])
    assert row[2:8] == ["5", "100", "%", "3.0", "of", "4.0"]
    assert ["vt_4k", "missing", "2"] in [line[:3] for line in lines]
    assert "incomplete: k of the n right ones" in stdout
    errors = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(errors) == 2 * (5 + 2)
    assert set(errors[0]) == {
        *("config", "languages", "index", "kind", "found", "of", "gap", "outputs", "prediction")
    }


def test_the_command_says_when_nothing_is_wrong_and_needs_a_release(write_run, tmp_path):
    assert ruler("errors", write_run(right, configs=["vt_4k"]))[0] == "No wrong answers.\n"
    path = tmp_path / "4096/pred/vt.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"index": 0, "pred": "", "outputs": ["A"]}) + "\n")
    assert "add --dataset" in ruler("errors", path)[1]
