"""Every scoring rule of ONERULER, and what the authors' script counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_score import ruler_score as rules
from ruler_score.oneruler_rules import NONE_WORDS
from ruler_score.ruler_score import score_row

ROOT = Path(__file__).parents[3]
NUMBER, OTHER = "1234567", "7654321"


# ---- ONERULER --------------------------------------------------------------------------------


def tagged(language: str, text: str, tag: str | None = None) -> str:
    tag = tag or rules.ANSWER_TAGS[language]
    return f"<{tag}> {text} </{tag}>"


def test_the_words_the_published_prompts_put_into_the_tag_are_not_an_answer():
    words = ["nhà", "trả lời", "núi"]
    lead = "Câu trả lời: 10 từ xuất hiện nhiều nhất trong danh sách là"
    assert score_row(tagged("vi", f"{lead} {', '.join(words)}"), words, "cwe_hard", "vi").score == 1
    lead = "答案：列表中最常出现的十个词语是"
    assert score_row(tagged("zh", f"{lead}天、地、人"), list("天地人"), "cwe_easy", "zh").score == 1


@pytest.mark.parametrize(
    "written",
    [
        "１２３４５６７",  # full width
        "١٢٣٤٥٦٧",  # Arabic-Indic
        "۱۲۳۴۵۶۷",  # Persian
        "१२३४५६७",  # Devanagari
        "௧௨௩௪௫௬௭",  # Tamil
        "123\u200b4567",
        "1,234,567",
        "1.234.567",
        "1\u202f234\u202f567",
    ],
)
def test_digits_of_every_script_are_read(written):
    for language in ("en", "fa", "hi", "ta", "ja"):
        answer = tagged(language, written)
        assert score_row(answer, [NUMBER], "niah_single", language).score == 1


def test_a_persian_none_word_may_have_a_space_or_a_joiner_or_arabic_letters():
    for written in ("هیچ کدام", "هیچ‌کدام", "هیچکدام", "هيچ كدام"):
        assert score_row(tagged("fa", written), ["هیچ کدام"], "niah_none", "fa").score == 1


def test_a_none_word_inside_another_word_is_none():
    assert score_row("<Ответ>планета 1234567</Ответ>", [NUMBER], "niah_single", "ru").score == 1
    assert score_row("<Ответ>планета</Ответ>", ["нет"], "niah_none", "ru").score == 0
    assert score_row("<答案>无法找到</答案>", ["无"], "niah_none", "zh").score == 0
    assert score_row("<答案>答案是无。</答案>", ["无"], "niah_none", "zh").score == 1
    assert score_row("<답변>없음입니다.</답변>", ["없음"], "niah_none", "ko").score == 1
    assert score_row("<答え>おはなし</答え>", ["なし"], "niah_none", "ja").score == 0


@pytest.mark.parametrize(
    ("language", "answer", "says_none"),
    [
        *(("ja", text, 1) for text in ("特になし", "該当なし", "答えはなしです", "なしである。")),
        *(("ja", text, 1) for text in ("該当する数字はありません", "本文に数字はありません。")),
        *(("ja", text, 0) for text in ("おはなし", "みなし", "昔ばなし", "疑いなし")),
        *(("ko", text, 1) for text in ("해당사항없음", "해당 없음", "숫자없음.", "없음입니다")),
        *(("ko", text, 0) for text in ("틀림없음", "문제없음", "없음직한", "상관없음")),
        *(("zh", text, 1) for text in ("无此类数字", "文中无此类数字", "答案是无。")),
        *(("zh", text, 1) for text in ("无符合条件的数字", "无任何相关数字")),
        *(("zh", text, 0) for text in ("文中无", "无答案")),
        *(
            ("zh", text, 0)
            for text in ("毫无疑问", "无数", "无关数字", "无法", "除此之外无其他数字")
        ),
        *(("sr", text, 1) for text in ("nema", "нема", "Нема.", "НЕМА таквих бројева")),
        *(("sr", text, 0) for text in ("неман", "знема")),
    ],
)
def test_none_in_a_longer_expression_or_another_script_counts(language, answer, says_none):
    tagged_answer = tagged(language, answer)
    none = NONE_WORDS[language][0]
    assert score_row(tagged_answer, [none], "niah_none", language).score == says_none
    neighbour = tagged(language, f"{answer} {NUMBER}")
    assert score_row(neighbour, [NUMBER], "niah_single", language).score == 1 - says_none


@pytest.mark.parametrize("count", ["(30 times)", "(30)", "(30x)", "(×30)", "（30回）", "(30 раз)"])
def test_a_count_in_brackets_is_not_a_word_of_the_list(count):
    words = ["apple", "river"]
    text = tagged("en", f"1. apple {count}\n2. river {count}")
    assert score_row(text, words, "cwe_easy", "en").score == 1
    assert score_row(f"apple {count}, river {count}", words, "cwe").strict == 1
    assert (
        score_row(tagged("en", "apple (30 times), river, or (3 pears)"), words, "cwe_easy").score
        == 0
    )
    assert score_row(tagged("en", "(1 apple) (2 river)"), words, "cwe_easy", "en").score == 1


def test_a_tag_may_be_full_width_spaced_or_never_closed():
    assert score_row("＜答案＞1234567＜/答案＞ 99", [NUMBER], "niah_single", "zh").score == 1
    spaced = "< Câu  trả lời >1234567</ Câu trả lời>99"
    assert score_row(spaced, [NUMBER], "niah_single", "vi").score == 1
    assert score_row("99 <Answer>1234567", [NUMBER], "niah_single", "en").score == 0
    assert score_row("<Answer>1234567", [NUMBER], "niah_single", "en").score == 1


def test_a_task_of_both_benchmarks_is_rulers_unless_a_language_is_given():
    assert score_row("1234567 99", [NUMBER, OTHER], "niah_multivalue").score == 0.5
    assert score_row("1234567 99", [NUMBER, OTHER], "niah_multivalue", "en").score == 0


# ---- The authors' script ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "references", "task", "language", "authors", "ours"),
    [
        ("<Ответ>1234567 планета</Ответ>", [NUMBER], "niah_single", "ru", 0, 1),
        ("none, but 1234567", ["none"], "niah_none", "en", 1, 0),
        ("nonexistent", ["none"], "niah_none", "en", 1, 0),
        ("<Antwort>1234567</Antwort> S. 42", [NUMBER], "niah_single", "de", 0, 1),
        ("<Answer>1234567</Answer> S. 42", [NUMBER], "niah_single", "de", 0, 1),
        ("<Answer>1234567</Answer>, not 1111111", [NUMBER], "niah_single", "en", 0, 1),
        ("a, b, c and more", ["a", "b", "c"], "cwe_easy", "en", 1, 0),
        ("a, b, c", ["a", "b", "c"], "cwe_easy", "en", 1, 1),
        ("۱۲۳۴۵۶۷", [NUMBER], "niah_single", "fa", 1, 1),
        ("5", [NUMBER], "niah_single", "fa", 0, 0),
        ("هیچ‌کدام", ["هیچ کدام"], "niah_none", "fa", 1, 1),
    ],
)
def test_compat_authors_reproduces_the_published_script(
    prediction, references, task, language, authors, ours
):
    row = score_row(prediction, references, task, language, compat="authors")
    assert (row.score, row.strict) == (authors, ours)


@pytest.mark.parametrize(
    ("prediction", "references", "task", "language", "most", "deepseek"),
    [
        ("<think>1111111</think>1234567", ["1234567"], "niah_single", "en", 0, 0),
        ("<think>it is none</think>1234567", ["1234567"], "niah_single", "en", 0, 0),
        ("<Answer>1234567</Answer> S. 42", ["1234567"], "niah_single", "de", 0, 1),
        ("<Answer>\n1234567\n</Answer> S. 42", ["1234567"], "niah_single", "de", 0, 0),
        (
            "<Answer>7654321</Answer> <Answer>1234567</Answer>",
            ["1234567"],
            "niah_single",
            "en",
            0,
            0,
        ),
        ("هیچ\u200cکدام 1234567", ["1234567"], "niah_single", "fa", 1, 1),
        ("هیچکدام 1234567", ["1234567"], "niah_single", "fa", 0, 0),
        ("нема 1234567", ["1234567"], "niah_single", "sr", 1, 1),
        ("нема", ["nema"], "niah_none", "sr", 0, 0),
        ("Nema 1234567", ["1234567"], "niah_single", "sr", 1, 1),
        ("特になし", ["なし"], "niah_none", "ja", 1, 1),
        ("9" * 5000, ["1234567"], "niah_single", "en", 0, 0),
        ("1234567 1234567", ["1234567"], "niah_single", "en", 1, 1),
        ("01234567", ["1234567"], "niah_single", "en", 1, 1),
        ("1234567 01234567", ["1234567"], "niah_single", "en", 0, 0),
        ("", ["1234567"], "niah_single", "en", 0, 0),
        ("", ["none"], "niah_none", "en", 0, 0),
        ("<think>none</think> 1234567", ["none"], "niah_none", "en", 1, 1),
        ("<Answer>apple</Answer> pear", ["apple", "pear"], "cwe_easy", "en", 1, 0),
        ("<think>apple, pear", ["apple", "pear"], "cwe_easy", "en", 1, 1),
        ("ＡＰＰＬＥ", ["apple"], "cwe_easy", "en", 0, 0),
        ("Apple", [" apple "], "cwe_easy", "en", 1, 1),
        ("N O N E", ["none"], "niah_none", "en", 1, 1),
        ("1 2 3 1234567", ["1234567"], "niah_single", "en", 1, 1),
        ("²³ 1234567", ["1234567"], "niah_single", "en", 0, 0),
        ("１２３４５６７", ["1234567"], "niah_single", "en", 1, 1),
        ("1,234,567", ["1234567"], "niah_single", "en", 0, 0),
        ("1234567", ["1234567", "1234567"], "niah_multivalue", "en", 0, 0),
        ("NONE 1234567", ["1234567"], "niah_single", "en", 1, 1),
        ("keine vorhanden 1234567", ["1234567"], "niah_single", "de", 1, 1),
        ("keinevorhanden 1234567", ["1234567"], "niah_single", "de", 0, 0),
        ("1234567", ["x"], "niah_single", "en", 0, 0),
    ],
)
def test_compat_authors_gives_what_their_script_gave_for_hard_answers(
    prediction, references, task, language, most, deepseek
):
    for model, score in (("gpt-4o", most), ("deepseek-r1", deepseek)):
        row = score_row(prediction, references, task, language, compat="authors", model=model)
        assert row.score == score


def test_compat_authors_leaves_out_what_never_came_and_the_truncated_of_o3():
    def result(model):
        return rules.compute(
            ["<think>1234567", None, "7654321"],
            [[NUMBER]] * 3,
            "niah_single",
            ["en"] * 3,
            compat="authors",
            model=model,
            finish_reasons=["length", "error", "stop"],
        )

    kept = result("gpt-4o")
    assert (kept["score"], kept["n"], kept["dropped"]) == (50, 2, 1)
    kept = result("o3-mini")
    assert (kept["score"], kept["n"], kept["dropped"]) == (0, 1, 2)
