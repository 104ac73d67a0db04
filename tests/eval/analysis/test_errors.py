"""Each kind of error on predictions made by hand, and what must stay `other`."""

from __future__ import annotations

import json

import pytest

from ruler_eval.analysis.errors import KINDS, Error, error_of
from ruler_eval.prediction import Prediction
from ruler_eval.score.rows import ScoringRules, row_score
from tests.eval.scoring_helpers import right, write_run_folder
from tests.in_process import ruler, ruler_error, ruler_output

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


UUID_KEYS = [f"aaaa000{i}-1111-4222-8333-bbbbccccdddd" for i in range(3)]
UUID_LIST = [needle(key, key.replace("aaaa", "bbbb")) for key in UUID_KEYS]
AMONG_KEYS = make(
    HEAD,
    UUID_LIST,
    [UUID_KEYS[0].replace("aaaa", "bbbb")],
    f"\nWhat is the special magic uuid for {UUID_KEYS[0]}?",
    needles=UUID_LIST[:1],
    answers=UUID_LIST[:1],
)


WORD_NEEDLES = [
    "One of the special magic words for calm-river is: tall-ship.",
    "One of the special magic words for warm-stone is: bright-lamp.",
]
A_WORD = make(
    HEAD, [NOISE, *WORD_NEEDLES], ["tall-ship"], "\n…", " ", WORD_NEEDLES, WORD_NEEDLES[:1]
)
AFTER_NEEDLE = make(
    HEAD,
    [needle("able-cat", "1111111"), needle("bad-dog", "2222222"), "Year 1984555 was long."],
    ["1111111"],
    "\n…",
    " ",
    needles=[needle("able-cat", "1111111")],
    answers=[needle("able-cat", "1111111")],
)


def kind(row, task, text, language=None, strict=False, **fields):
    row_error = error(row, Prediction("c", 0, text, **fields), task, language, strict)
    return row_error and row_error.kind


def error(row, prediction, task, language=None, strict=False):
    """The error of one answer to a row, or of a missing one."""
    scored = row_score(row, prediction, task, language, ScoringRules())
    return error_of(scored, task, language, strict)


CASES = [
    ("empty", VALUES, "niah_multivalue", " \n..."),
    ("distractor", VALUES, "niah_multivalue", "5555555, 1111111"),
    ("distractor", AMONG_NEEDLES, "niah_multikey_2", " 1000049."),
    ("distractor", CHAIN, "vt", "ABCDE OTHER"),
    ("distractor", VALUES, "niah_multivalue", "It is not mentioned. But 5555555 is."),
    ("incomplete", VALUES, "niah_multivalue", "1111111, 2222222 and 3333333"),
    ("incomplete", VALUES, "niah_multivalue", "1111111, 1111111; no other number is mentioned"),
    ("incomplete", CHAIN, "vt", "ABCDE and"),
    ("incomplete", COMMON, "cwe", "1. pear 2. plum 3. fig 4. stone 5. cloud"),
    ("incomplete", CODED, "fwe", "qzjwkd, xwlupe, mnopqr"),
    ("refused", VALUES, "niah_multivalue", "I'm sorry, but I can't help with that."),
    ("refused", A_KEY, "niah_multikey_3", f"The uuid {KEY} is not present in the text."),
    ("refused", QUESTION, "qa_1", "The answer is not provided in the documents."),
    ("refused", VALUES, "niah_multivalue", "There is no number in this, 100 times repeated."),
    ("wrong words", VALUES, "niah_multivalue", "It is not mentioned. But 9876543 is."),
    ("refused", QUESTION, "qa_1", "As an AI, I have no opinion.\nBellhaven"),
    ("from memory", {**QUESTION, "memory": "In the Alps."}, "qa_1", "in the alps\nas I know"),
    ("other", {**QUESTION, "memory": "In the Alps."}, "qa_1", "The Alps"),
    ("other", QUESTION, "qa_1", "Bellhaven\nNo other answer is mentioned."),
    ("other", A_UUID, "niah_single_3", " c0ffee00-1234-4000-80"),
    ("wrong words", A_KEY, "niah_multikey_3", f"The uuid for {KEY} is: {KEY}."),
    ("wrong words", A_KEY, "niah_multikey_3", f" {KEY}."),
    ("other", A_KEY, "niah_multikey_3", f"The uuid for {KEY} is c0ffee00-12."),
    ("wrong words", AMONG_KEYS, "niah_multikey_3", f" {UUID_KEYS[1]}."),
    ("distractor", AMONG_KEYS, "niah_multikey_3", f" {UUID_KEYS[1].replace('aaaa', 'bbbb')}."),
    ("wrong words", VALUES, "niah_multivalue", "9876543"),
    ("wrong words", VALUES, "niah_multivalue", "It was 1984."),
    ("other", VALUES, "niah_multivalue", "It was 12."),
    ("repeats the prompt", VALUES, "niah_multivalue", f"{NOISE}\n{NOISE}"),
    ("wrong words", CHAIN, "vt", "XYZ UVW"),
    ("other", CHAIN, "vt", "VAR = 12345"),
    ("distractor", A_WORD, "niah_single_1", "bright-lamp"),
    ("wrong words", A_WORD, "niah_single_1", "The answer is dark-lamp"),
    ("wrong words", AFTER_NEEDLE, "niah_multikey_1", "1984555"),
    ("other", QUESTION, "qa_1", "The settlers were not given a common name until 1066."),
    ("other", QUESTION, "qa_1", "The Normans do not provide any explanation."),
    ("refused", QUESTION, "qa_1", "Unanswered"),
    ("repeats the prompt", QUESTION, "qa_1", f"Document 1: {GOLD[10:]}".replace("Tess", "T")),
    ("refused", QUESTION, "qa_1", "The document did not specify it"),
    ("other", CHAIN, "vt", "The answer is: 5"),
    ("wrong words", COMMON, "cwe", "giraffe, helicopter, banana"),
    ("other", COMMON, "cwe", "1. 2. 3."),
]


@pytest.mark.parametrize(("expected", "row", "task", "text"), CASES)
def test_kinds_of_ruler(expected, row, task, text):
    assert kind(row, task, text) == expected


NONE_GIVEN = [
    *("not present.", "Not given", "None", "not explicitly mentioned.", "is not one of them"),
    *("It is not provided in the given text", "not found in the documents", "isn't mentioned"),
    *("There is no special magic number mentioned", "could not find it", "no uuid is given"),
]


@pytest.mark.parametrize("text", NONE_GIVEN)
def test_phrases_that_deny_an_answer_are_refusals(text):
    assert kind(A_UUID, "niah_single_3", text) == "refused"
    assert kind(VALUES, "niah_multivalue", text) == "refused"


def test_every_kind_is_met_by_a_test():
    met = {case[0] for case in [*CASES, *ONERULER]}
    rest = {"missing", "failed", "does not fit", "truncated", "wrong count"}
    assert met | rest == set(KINDS)


def test_right_answers_have_no_kind_and_those_with_more_only_strictly():
    assert kind(VALUES, "niah_multivalue", "1111111 2222222 3333333 4444444 9") is None
    text = "1111111 2222222 3333333 4444444 and 5555555"
    assert kind(VALUES, "niah_multivalue", text) is None
    assert kind(VALUES, "niah_multivalue", text, strict=True) == "wrong count"
    assert kind(COMMON, "cwe", ", ".join([*WORDS, "stone"]), strict=True) == "wrong count"


def test_rows_without_an_answer():
    assert error(VALUES, None, "niah_multivalue") == Error("missing", 0, 4)
    assert kind(VALUES, "niah_multivalue", "", error="timeout") == "failed"
    unfit = {"error": "too long", "finish_reason": "does_not_fit"}
    assert kind(VALUES, "niah_multivalue", "", **unfit) == "does not fit"
    assert kind(VALUES, "niah_multivalue", "<think>1111111") == "truncated"
    assert kind(VALUES, "niah_multivalue", "", thinking_ended=False) == "truncated"


def test_k_of_n_and_how_near_the_distractor_is():
    text = Prediction("c", 0, "1111111, 2222222 and 3333333")
    assert error(VALUES, text, "niah_multivalue") == Error("incomplete", 3, 4)
    cut_off = Prediction("c", 0, "1111111, 2222222, 3333333, 444")
    assert error(VALUES, cut_off, "niah_multivalue").kind == "incomplete"
    near = error(AMONG_NEEDLES, Prediction("c", 0, "1000049"), "niah_multikey_2")
    far = error(AMONG_NEEDLES, Prediction("c", 0, "1000000"), "niah_multikey_2")
    assert near.gap == pytest.approx(0.01, abs=0.011)
    assert far.gap == pytest.approx(0.5, abs=0.02)


def test_a_distractor_has_no_distance_where_no_needle_carries_the_answer():
    row_error = error(NONE, Prediction("c", 0, "<odpowiedź>2222222</odpowiedź>"), "niah_none", "pl")
    assert (row_error.needle, row_error.gap) == (POLISH[1], None)


def test_the_depth_of_a_distractor_is_that_in_the_row_however_its_text_is_normalized():
    """NFKC makes three letters of each of these ligatures."""
    text = needle("able-cat", "1111111")
    lines = [text, needle("bad-dog", "2222222"), "\ufb03" * 9000]
    row = make(HEAD, lines, ["1111111"], "\n…", needles=[text], answers=[text])
    row_error = error(row, Prediction("c", 0, "2222222"), "niah_multikey_2")
    assert (row_error.kind, row_error.needle) == ("distractor", lines[1][:-1])
    assert row_error.gap == pytest.approx(0.007, abs=0.001)
    late = make(HEAD, lines[::-1], ["1111111"], "\n…", needles=[text], answers=[text])
    row_error = error(late, Prediction("c", 0, "2222222"), "niah_multikey_2")
    assert row_error.gap == pytest.approx(0.007, abs=0.001)


# ---- ONERULER --------------------------------------------------------------------------------

POLISH = [f"Specjalna magiczna liczba dla hasła „{key}” to: {value}." for key, value in
          (("kot", "1111111"), ("pies", "2222222"))]  # fmt: skip
SINGLE = make("", ["Był dzień.", *POLISH, "Rok 1934."], ["1111111"], "…", " ", POLISH, POLISH[:1])
SINGLE["none_word"] = "brak"
NONE = {**make("", ["Był dzień.", *POLISH], ["brak"], "…", " ", POLISH), "none_word": "brak"}
KOREAN = ["사과", "나무", "구름", "바다", "하늘", "노래", "학교", "책상", "의자", "창문"]
COMMON_KO = make("", [f"{i}. {word}" for i, word in enumerate(KOREAN * 2, 1)], KOREAN, "…", " ")

ONERULER = [
    ("refused", SINGLE, "niah_single", "pl", "<odpowiedź>brak</odpowiedź>"),
    ("distractor", SINGLE, "niah_single", "pl", "<odpowiedź>2222222</odpowiedź>"),
    ("wrong count", SINGLE, "niah_single", "pl", "<odpowiedź>1111111, 2222222</odpowiedź>"),
    ("wrong words", SINGLE, "niah_single", "pl", "<odpowiedź>9999999</odpowiedź>"),
    ("other", SINGLE, "niah_single", "pl", "1111111 <odpowiedź>tak</odpowiedź>"),
    ("distractor", NONE, "niah_none", "pl", "<odpowiedź>1111111</odpowiedź>"),
    ("another language", NONE, "niah_none", "pl", "<odpowiedź>none</odpowiedź>"),
    ("wrong words", NONE, "niah_none", "pl", "<odpowiedź>7777777</odpowiedź>"),
    ("empty", NONE, "niah_none", "pl", "<odpowiedź> </odpowiedź>"),
    ("incomplete", COMMON_KO, "cwe_easy", "ko", f"<답변>{', '.join(KOREAN[:8])}, 돌</답변>"),
    ("another language", COMMON_KO, "cwe_hard", "ko", "<답변>apple, tree, cloud, sea</답변>"),
    ("wrong words", COMMON_KO, "cwe_hard", "ko", "<답변>이, 그, 것, 수, 및</답변>"),
    ("wrong count", COMMON_KO, "cwe_easy", "ko", f"<답변>{', '.join(KOREAN)}, 돌</답변>"),
]


ASKED = "Jeśli takie liczby nie istnieją, odpowiedz „brak”. Wszystkie liczby powinny być tutaj."
ASKING = {**SINGLE, "input": SINGLE["input"] + "\n" + ASKED, "question": "?"}
ONERULER += [
    ("repeats the prompt", ASKING, "niah_single", "pl", ASKED),
    ("refused", ASKING, "niah_single", "pl", "Odpowiedź: brak."),
    ("wrong words", ASKING, "niah_single", "pl", f"9999999 {ASKED}"),
]


@pytest.mark.parametrize(("expected", "row", "task", "language", "text"), ONERULER)
def test_kinds_of_oneruler(expected, row, task, language, text):
    assert kind(row, task, text, language) == expected


def test_a_truncated_answer_is_a_kind_only_in_oneruler():
    text = "<odpowiedź>1111111</odpowiedź>"
    assert kind(SINGLE, "niah_single", text, "pl", finish_reason="length") == "truncated"
    assert kind(SINGLE, "niah_single_1", "1111111", finish_reason="length") is None


# ---- The command -----------------------------------------------------------------------------


def test_the_command_prints_shares_by_task_and_length_with_an_example(write_run, tmp_path):
    def answers(config, row):
        if row["task"] == "niah_multivalue":
            return " ".join(row["outputs"][:3])
        if row["task"] == "vt" and row["index"] < 2:
            return None
        return right(config, row)

    out = tmp_path / "errors.jsonl"
    stdout = ruler_output("errors", write_run(answers), "--out", out)
    lines = [line.split() for line in stdout.splitlines()]
    row = next(line for line in lines if line[:2] == ["niah_multivalue_8k", "incomplete"])
    assert row[2:8] == ["5", "100", "%", "3.0", "of", "4.0"]
    assert ["vt_4k", "missing", "2"] in [line[:3] for line in lines]
    assert "incomplete: some of the references" in stdout
    errors = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(errors) == 2 * (5 + 2)
    assert set(errors[0]) == {
        *(
            "config",
            "languages",
            "index",
            "kind",
            "found",
            "of",
            "gap",
            "depth",
            "needle",
            "outputs",
            "prediction",
        )
    }


# ---- Answers from memory ---------------------------------------------------------------------


@pytest.fixture(scope="session")
def with_and_without(once):
    """qa_1 at 4k, and its questions without documents at 0k; five rows each."""

    def make(root):
        ruler_output(
            *("build", root, "--suite", "ruler_complexity", "--sources", "embedded"),
            *("--tasks", "qa_1,qa_1_no_documents", "--lengths", "0k,4k", "--rows", 5),
        )

    return once("built/memory", make)


def test_the_share_of_answers_from_memory_is_a_table(with_and_without, tmp_path):
    def answer(config, row):
        index = row["index"]
        if "no_documents" in config:
            return f"<think>hm</think>Zanzibar number{index}."
        return f"zanzibar number{index}" if index < 2 else "Tessalonia, as it says"

    run = write_run_folder(tmp_path / "run", with_and_without, answer)
    out = tmp_path / "errors.jsonl"
    stdout = ruler_output("errors", run, "--out", out)
    results = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    kinds = {e["index"]: e["kind"] for e in results if e["config"] == "qa_1_4k"}
    assert [index for index, kind in kinds.items() if kind == "from memory"] == [0, 1]
    assert all(e["kind"] != "from memory" for e in results if "no_documents" in e["config"])
    table = stdout.partition("without documents (RULER, section 5)")[2]
    (line,) = [line.split() for line in table.splitlines() if line.startswith("qa_1_4k")]
    assert line == ["qa_1_4k", "5", "2", "40", "%"]


def test_a_scored_run_is_sorted_and_shown_by_its_own_rules(write_run, built):
    """In RULER a truncated answer counts by its text, unless scored with --truncated wrong."""

    def answer(config, row):
        return {"prediction": right(config, row), "finish_reason": "length"}

    run = write_run(answer, configs=["niah_single_1_4k"])
    cases = (("wrong", "truncated", "0 %, truncated"), ("protocol", "No wrong answers.", "right"))
    for rule, in_errors, in_show in cases:
        ruler_output("score", run, "--truncated", rule)
        assert in_errors in ruler("errors", run)[0]
        assert in_show in ruler("show", "niah_single_1_4k", 0, "-d", built, "--run", run)[0]
    assert "was scored with --truncated protocol: leave --truncated out" in ruler_error(
        "errors", run, "--truncated", "wrong"
    )
    (run / "results.json").unlink()
    assert "truncated" in ruler("errors", run, "--truncated", "wrong")[0]


IN_EVERY_TASK = [
    (VALUES, "niah_multivalue"),
    (A_UUID, "niah_multikey_3"),
    (A_WORD, "niah_single_1"),
    (CHAIN, "vt"),
    (COMMON, "cwe"),
    (CODED, "fwe"),
    (QUESTION, "qa_1"),
]


@pytest.mark.parametrize(
    "text",
    [
        "I do not know.",
        "I don't know the answer.",
        "I don’t know.",
        "Sorry, I have no idea.",
        "I am not sure.",
        "I'm not sure what the answer is.",
        "I cannot tell from the text.",
        "I do not have enough information to answer.",
    ],
)
def test_a_refusal_has_the_same_kind_in_every_task(text):
    assert {kind(row, task, text) for row, task in IN_EVERY_TASK} == {"refused"}


def test_an_answer_with_a_word_of_a_refusal_is_not_a_refusal():
    assert kind(QUESTION, "qa_1", "Orsk, as everyone knows.") == "other"
    assert kind(QUESTION, "qa_1", "Know Your Enemy") == "other"
    assert kind(QUESTION, "qa_1", "A film about a man who does not know his own name") == "other"
