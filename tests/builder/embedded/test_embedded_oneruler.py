"""The stand-in for ONERULER that the project ships: two languages, in the published formats."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections import Counter
from importlib.resources import files
from itertools import pairwise, permutations
from pathlib import Path
from string import Formatter

import pytest

from ruler_builder.text.sentences import sentence_starts

FOLDER = Path(str(files("ruler_builder") / "embedded" / "oneruler"))
LANGUAGES = ("en", "zh")
NAMES = (
    *("nouns.tsv", "zh/words.csv"),
    *(f"{language}/{name}.txt" for language in LANGUAGES for name in ("niah", "cwe", "book")),
)
FIELDS = {
    "task": ["context"],
    "needle_words": ["key", "value"],
    "needle_numbers": ["key", "value"],
    "question_single_numbers": ["query1"],
    "question_single_words": ["query1"],
    "question_multi_numbers": ["query1", "query2"],
    "question_multi_words": ["query1", "query2"],
    "please_list": [],
    "if_no_numbers": [],
    "if_no_words": [],
    "answer_prefix": [],
    "answer_words": [],
    "answer_numbers": [],
    "none": [],
}
"""The parts of a published niah.txt, in order, and the placeholders of each."""
TAGS = {
    "en": ("text", "List", "Question", "Answer"),
    "zh": ("文本", "列表", "问题", "答案"),
}
QUOTES = {"en": '"{}"', "zh": "“{}”"}
NONE = {"en": "none", "zh": "无"}
POS = {"noun", "verb", "adjective", "other"}

both = pytest.mark.parametrize("language", LANGUAGES)


def read(name: str) -> str:
    return (FOLDER / name).read_bytes().decode("utf-8")


def niah(language: str) -> dict[str, str]:
    return json.loads(read(f"{language}/niah.txt"))


def fields(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]


def nouns() -> list[list[str]]:
    return [line.split("\t") for line in read("nouns.tsv").rstrip("\n").split("\n")]


def words() -> list[dict[str, str]]:
    return list(csv.DictReader(read("zh/words.csv").splitlines()))


def test_the_folder_holds_these_files_and_no_others() -> None:
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert found == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_clean_text(name: str) -> None:
    text = read(name)
    assert unicodedata.is_normalized("NFC", text)
    assert text.endswith("\n")
    assert not re.search(r"[ \t]\n", text)
    allowed = {"\n", "\t"} if name.endswith(".tsv") else {"\n"}
    assert {char for char in text if unicodedata.category(char) in ("Cc", "Cf")} <= allowed


@both
def test_the_instructions_have_the_published_parts_and_placeholders(language: str) -> None:
    parts = niah(language)
    assert list(parts) == list(FIELDS)
    assert {part: fields(text) for part, text in parts.items()} == FIELDS


@both
def test_the_instructions_have_the_published_tags(language: str) -> None:
    parts = niah(language)
    text, _, question, answer = TAGS[language]
    assert parts["task"].endswith(f"\n\n<{text}>\n{{context}}\n</{text}>\n\n")
    for kind in ("numbers", "words"):
        assert parts[f"question_single_{kind}"].startswith(f"<{question}> ")
        assert parts[f"question_multi_{kind}"].startswith(f"<{question}> ")
        assert re.search(rf"</{question}>\n+$", parts[f"if_no_{kind}"])
        assert re.fullmatch(rf"<{answer}> [^<>]+ </{answer}>", parts[f"answer_{kind}"])
    assert parts["answer_prefix"].endswith("\n")


@both
@pytest.mark.parametrize("asked", ["single", "multi"])
def test_the_tags_of_a_whole_prompt_balance(language: str, asked: str) -> None:
    parts = niah(language)
    names = ("task", f"question_{asked}_numbers", "please_list", "if_no_numbers")
    prompt = "".join(parts[name] for name in (*names, "answer_prefix", "answer_numbers"))
    text, _, question, answer = TAGS[language]
    found = re.findall(r"<(/?[^<>]+)>", prompt)
    assert found == [text, "/" + text, question, "/" + question, answer, "/" + answer]


@both
def test_keys_and_the_none_word_and_nothing_else_stand_in_quotation_marks(language: str) -> None:
    parts, quotes = niah(language), QUOTES[language]
    assert parts["none"] == NONE[language]
    expected = {
        "needle_": ["{key}"],
        "question_single_": ["{query1}"],
        "question_multi_": ["{query1}", "{query2}"],
        "if_no_": [NONE[language]],
    }
    pattern = re.escape(quotes).replace(re.escape("{}"), "(.+?)")
    for part, text in parts.items():
        wanted = [names for start, names in expected.items() if part.startswith(start)]
        assert re.findall(pattern, text) == (wanted[0] if wanted else []), part


@both
def test_a_needle_ends_in_its_value_and_says_its_key_first(language: str) -> None:
    parts = niah(language)
    for kind in ("numbers", "words"):
        needle = parts[f"needle_{kind}"]
        assert needle == needle.strip()
        assert needle.index("{key}") < needle.index("{value}")
        assert needle.endswith("{value}")


@both
def test_the_word_list_prompt_holds_the_list_once_and_asks_for_ten(language: str) -> None:
    prompt = read(f"{language}/cwe.txt")
    _, listed, question, answer = TAGS[language]
    assert fields(prompt) == ["context"]
    assert f"\n\n<{listed}> {{context}} </{listed}>\n\n<{question}> " in prompt
    asked = re.findall(rf"<{question}> ([^<>]+) </{question}>", prompt)
    assert len(asked) == 1
    assert ("十个" if language == "zh" else "10") in asked[0]
    assert not re.search('["“”]', prompt)
    assert re.search(rf"\n<{answer}> [^<>]+ </{answer}>\n$", prompt)


def test_the_nouns_are_sixty_in_parallel_columns() -> None:
    header, *rows = nouns()
    assert header == ["en", "definition", "zh"]
    assert len(rows) == 60
    assert all(len(row) == 3 and all(cell and cell == cell.strip() for cell in row) for row in rows)
    assert len({definition for _, definition, _ in rows}) == 60
    assert all(re.fullmatch("[a-z]+", english) for english, _, _ in rows)
    assert all(re.fullmatch("[\u4e00-\u9fff]{2,}", chinese) for _, _, chinese in rows)


@pytest.mark.parametrize("column", [0, 2])
def test_no_noun_is_part_of_another(column: int) -> None:
    found = [unicodedata.normalize("NFKC", row[column]).casefold() for row in nouns()[1:]]
    assert len(set(found)) == len(found)
    assert [(a, b) for a, b in permutations(found, 2) if a in b] == []


def test_the_words_are_unique_chinese_words_with_their_parts_of_speech() -> None:
    rows = words()
    assert all(list(row) == ["words", "pos"] for row in rows)
    assert all(re.fullmatch("[\u4e00-\u9fff]+", row["words"]) for row in rows)
    assert {pos for row in rows for pos in row["pos"].split(",")} == POS
    assert len({row["words"] for row in rows}) == len(rows)


def test_there_are_words_enough_to_count_and_some_that_are_left_out() -> None:
    rows = words()
    counted = [row["words"] for row in rows if row["pos"] in POS - {"other"}]
    assert len(counted) >= 420
    assert 8 <= len(rows) - len(counted) <= 25
    assert sum(len(word) >= 2 for word in counted) / len(counted) > 0.95
    tally = Counter(row["pos"] for row in rows)
    assert min(tally["noun"], tally["verb"], tally["adjective"]) >= 50
    assert tally["verb,noun"] >= 1  # more than one part of speech, quoted as in the published file


@pytest.mark.parametrize(
    ("language", "least", "most"), [("en", 23_000, 27_000), ("zh", 8_500, 10_000)]
)
def test_a_book_has_the_size_and_no_number_that_could_be_a_value(
    language: str, least: int, most: int
) -> None:
    book = read(f"{language}/book.txt")
    assert least <= len(book) <= most
    assert not re.search(r"\d{4}", book)
    assert re.search(r"\d\.\d", book)
    assert not re.search('[<>{}"]', book)


@both
def test_a_book_is_varied_prose_with_dialogue(language: str) -> None:
    book = read(f"{language}/book.txt")
    paragraphs = [line for line in book.split("\n") if len(line) >= 20]
    assert len(set(paragraphs)) == len(paragraphs) >= 90
    units = re.findall(r"[A-Za-z]+" if language == "en" else "[\u4e00-\u9fff]", book.casefold())
    run = 8 if language == "en" else 12
    runs = Counter(zip(*(units[i:] for i in range(run)), strict=False))
    assert max(runs.values()) == 1
    assert len(set(units)) >= (1_000 if language == "en" else 800)
    assert book.count("“") == book.count("”") >= 100


@both
def test_a_book_splits_into_sentences_that_tokens_can_be_spent_by(language: str) -> None:
    book = " ".join(read(f"{language}/book.txt").split())
    lengths = [b - a for a, b in pairwise([*sentence_starts(book, language), len(book)])]
    assert len(lengths) >= 250
    assert max(lengths) <= 800
    assert len(set(lengths)) >= 50


def lines_of(text: str) -> list[str]:
    """What is worded freely: lines without tags and placeholders, JSON as its values."""
    if text.lstrip().startswith("{"):
        text = "\n".join(json.loads(text).values())
    return [re.sub(r"<[^<>]*>|\{\w*\}", "\n", line) for line in text.splitlines()]


def runs_of(lines: list[str], size: int) -> set[str]:
    parts = [part for line in lines for part in line.split("\n")]
    return {part[i : i + size] for part in parts for i in range(len(part) - size + 1)}


@pytest.mark.parametrize(("language", "size"), [("en", 40), ("zh", 16)])
def test_no_long_run_of_the_published_text_is_in_ours(
    mirror: Path, language: str, size: int
) -> None:
    root = mirror / "oneruler"
    published = sorted((root / "prompt" / language).glob("*.txt"))
    published += sorted((root / "books" / language).glob("*.txt"))
    if language == "en":  # the definitions of the nouns are English
        published.append(root / "vocab" / "100_noun_list_translated.tsv")
    assert len(published) == (4 if language == "en" else 3)
    ours = [line for name in NAMES for line in lines_of(read(name))]
    mine = runs_of(ours, size)
    for path in published:
        theirs = runs_of(lines_of(path.read_text(encoding="utf-8-sig")), size)
        assert len(theirs) > 10, path.name
        assert not mine & theirs, path.name


def test_the_nouns_are_not_the_published_list(mirror: Path) -> None:
    path = mirror / "oneruler" / "vocab" / "100_noun_list_translated.tsv"
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8-sig").splitlines()[1:]]
    english, definitions = ({row[column].strip() for row in rows} for column in (0, 1))
    assert len(rows) == 100
    assert len(english & {row[0] for row in nouns()[1:]}) <= 5
    assert not definitions & {row[1] for row in nouns()[1:]}


def test_the_words_are_not_the_published_dictionary_in_its_order(mirror: Path) -> None:
    path = mirror / "oneruler" / "vocab" / "dictionaries" / "Chinese" / "Chinese.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        theirs = [row["words"] for row in csv.DictReader(file)]
    place = {word: i for i, word in enumerate(theirs)}
    ours = [place[row["words"]] for row in words() if row["words"] in place]
    neighbours = sum(b - a == 1 for a, b in pairwise(ours))
    assert len(theirs) > 5_000
    assert neighbours <= 3
