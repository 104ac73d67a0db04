"""Names and lengths are parsed, and a wrong name is refused with a suggestion."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruler_common.errors import RulerError
from ruler_common.names import (
    GROUPS,
    LANGUAGES,
    TASKS,
    Config,
    Names,
    check_new_name,
    check_release_names,
    length_name,
    parse_length,
)

TOKENIZERS = st.sampled_from(["tekken", "cl100k_base", "qwen2.5", "mistral-nemo", "my.own-1"])


@st.composite
def configs(draw: st.DrawFn) -> Config:
    dataset = draw(st.sampled_from(["ruler", "oneruler"]))
    task = draw(st.sampled_from([*TASKS[dataset], *GROUPS[dataset]]))
    length = draw(st.sampled_from(["1k", "4k", "24k", "128k", "1m", "2m"]))
    if dataset == "ruler":
        return Config(dataset, task, length, tokenizer=draw(TOKENIZERS))
    languages = st.sampled_from(LANGUAGES)
    return Config(
        dataset,
        task,
        length,
        tokenizer=draw(TOKENIZERS),
        language=draw(languages),
        instruction_language=draw(languages),
    )


@given(configs())
def test_every_configuration_name_is_parsed_to_its_configuration(config):
    assert Names.standard(config.dataset).parse(config.name) == config


@pytest.mark.parametrize(
    ("dataset", "name", "path"),
    [
        ("ruler", "niah_single_1_128k", "data/tekken/128k/niah_single_1.parquet"),
        ("ruler", "vt_4k_qwen2.5", "data/qwen2.5/4k/vt.parquet"),
        ("oneruler", "niah_none_128k_pl", "data/tekken/128k/pl/niah_none.parquet"),
        ("oneruler", "niah_single_64k_en-ko", "data/tekken/64k/en-ko/niah_single.parquet"),
        ("oneruler", "cwe_easy_8k_zh_cl100k_base", "data/cl100k_base/8k/zh/cwe_easy.parquet"),
    ],
)
def test_a_configuration_is_one_file(dataset, name, path):
    assert Names.standard(dataset).parse(name).path == path


@pytest.mark.parametrize(
    ("languages", "is_complete"),
    [
        (LANGUAGES, True),
        ((*LANGUAGES, "tr"), True),
        (LANGUAGES[1:], False),
        ((*LANGUAGES[1:], "tr"), False),
    ],
)
def test_the_mean_over_languages_is_that_of_the_26(languages, is_complete):
    names = Names.standard("oneruler")
    configs = [
        Config("oneruler", task, "8k", language=code, instruction_language=code)
        for code in languages
        for task in names.groups["all"]
    ]
    means = dict(names.whole_languages(names.whole_groups(configs)))
    assert (means.keys() == {"all_8k"}) is is_complete
    if is_complete:
        assert means["all_8k"] == names.configs("all_8k")


@pytest.mark.parametrize("tokens", [1024, 4096, 131072, 1048576, 2097152])
def test_ruler_counts_in_binary_thousands(tokens):
    assert parse_length(length_name(tokens)) == tokens


@pytest.mark.parametrize(
    ("dataset", "name", "parsed"),
    [
        ("ruler", "niah_mk_4K", "niah_mk_4k"),
        ("ruler", "vt_1M_qwen2.5", "vt_1m_qwen2.5"),
        ("oneruler", "niah_none_8K_pl", "niah_none_8k_pl"),
    ],
)
def test_a_length_may_be_in_upper_case(dataset, name, parsed):
    names = Names.standard(dataset)
    assert names.parse(name) == names.parse(parsed)
    assert names.configs(name) == names.configs(parsed)
    assert parse_length("4K") == parse_length("4k") == 4096
    assert parse_length("0K") == 0
    assert len(Names.standard("oneruler").configs("all_8K")) == 26 * 7


def test_oneruler_counts_in_decimal_thousands():
    assert parse_length("128k", "oneruler") == 128_000
    assert length_name(8000, "oneruler") == "8k"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("niah_mk_3_4k", "Unknown task 'niah_mk_3'. Did you mean 'niah_mk'?"),
        ("niah_multikey3_4k", "Did you mean 'niah_multikey_3'?"),
        ("vt", "'vt' is not a ruler configuration. Did you mean 'vt_4k'?"),
        ("niah_mk", "Did you mean 'niah_mk_4k'?"),
        ("all", "Did you mean 'all_4k'?"),
        ("something", "'something' is not a ruler configuration; an example is 'niah_s_4k'."),
        ("all4k", "Did you mean 'all_4k'?"),
        ("vt_9999k", "Unknown length '9999k'"),
        ("vt_00k", "Unknown length '00k'"),
        ("vt_4٠k", "'vt_4٠k' is not a ruler configuration"),
    ],
)
def test_a_wrong_name_is_refused_with_a_suggestion(name, message):
    with pytest.raises(RulerError) as error:
        Names.standard("ruler").parse(name)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("dataset", "name", "rule"),
    [
        ("ruler", "100", "or a number of tokens, such as 10000: from 1000 to 4194304 tokens"),
        ("ruler", "5000k", "thousands of 1024 tokens, such as 4k, 128k or 1m"),
        ("ruler", "4٠k", "thousands of 1024 tokens"),
        ("oneruler", "10000", "thousands of 1000 tokens, such as 8k, 10k or 1m: from 1k to 4194k"),
        ("oneruler", "0k", "thousands of 1000 tokens"),
    ],
)
def test_a_wrong_length_is_answered_with_the_rule(dataset, name, rule):
    with pytest.raises(RulerError) as error:
        parse_length(name, dataset)
    assert str(error.value).startswith(f"Unknown length '{name}'. Write ")
    assert rule in str(error.value)


@pytest.mark.parametrize(
    ("dataset", "first", "last"), [("ruler", "1000", "4194304"), ("oneruler", "1k", "4194k")]
)
def test_the_rule_names_the_first_and_the_last_length(dataset, first, last):
    thousand = 1 if dataset == "ruler" else 1000
    assert parse_length(first, dataset) == 1000
    assert parse_length(last, dataset) == 4_194_304 // thousand * thousand
    for number in (first, last):
        outside = int(number.rstrip("k")) + (1 if number == last else -1)
        with pytest.raises(RulerError, match="Unknown length"):
            parse_length(number.replace(number.rstrip("k"), str(outside)), dataset)


@given(st.integers(0, 5_000_000), st.sampled_from(["ruler", "oneruler"]))
def test_every_length_that_can_be_built_has_one_name(tokens, dataset):
    try:
        name = length_name(tokens, dataset)
        parsed = parse_length(name, dataset)
    except RulerError:
        return
    assert parsed == tokens


PIECES = ("vt", "VT", "niah", "4k", "4000", "1m", "default", "all", "con", "NUL", "pl", "en-ko")
PIECES += ("tekken", "qwen2.5", "x" * 79, "x" * 90, "", "1", ".", "-", "é", " ", "/", "a.", "\n")
names = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("_".join),
    st.text("aZ_.-4k0/", max_size=6),
    st.from_regex("[A-Za-z0-9][A-Za-z0-9_]{0,9}", fullmatch=True),
)


def is_allowed(kind: str, name: str) -> bool:
    try:
        check_new_name(kind, name)
    except RulerError:
        return False
    return True


@settings(max_examples=300)
@given(names, names)
def test_a_configuration_of_allowed_names_is_read_back(task, tokenizer):
    if not is_allowed("task", task) or not is_allowed("tokenizer", tokenizer):
        return
    for dataset, length, languages in (
        ("ruler", "4k", ("en", "en")),
        ("ruler", "4001", ("en", "en")),
        ("oneruler", "8k", ("pl", "pl")),
        ("oneruler", "8k", ("en", "ko")),
    ):
        config = Config(
            dataset,
            task,
            length,
            tokenizer=tokenizer,
            language=languages[0],
            instruction_language=languages[1],
        )
        assert Names(dataset, (task,)).parse(config.name) == config
        assert Names(dataset, (task,)).configs(config.name, [tokenizer]) == [config]
    every_language = Names("oneruler", (task,)).configs(f"{task}_8k_{tokenizer}", [tokenizer])
    assert {config.language for config in every_language} == {*LANGUAGES}
    assert {config.tokenizer for config in every_language} == {tokenizer}


@settings(max_examples=300)
@given(names, st.sampled_from(["task", "group", "tokenizer", "language", "source"]))
def test_an_allowed_name_is_a_file_on_every_system(name, kind):
    if not is_allowed(kind, name):
        return
    assert re.fullmatch("[A-Za-z0-9._-]{1,80}", name)
    assert name == name.strip(".")
    assert ".." not in name
    assert name.partition(".")[0].lower() not in ("aux", "con", "nul", "prn", "com1", "lpt9")


@pytest.mark.parametrize(
    ("kind", "name", "rule"),
    [
        ("task", "x" * 81, "use at most 80 letters, digits and '_', as in 'niah_multikey_1'"),
        ("task", "a\nb", "use at most 80 letters, digits and '_'"),
        ("task", "default", "no length (4k, 4000), 'default' or device of Windows (con)"),
        ("group", "mine_4k", "as in 'niah_mk'; no length"),
        ("tokenizer", "mine.", "single dots between them, as in 'qwen2.5'"),
        ("tokenizer", "pl", "no length (4k, 4000), no two letters at the beginning that could"),
        ("tokenizer", "en-ko_mine", "no two letters at the beginning that could be a language"),
        ("tokenizer", "my_tokens", "that could be a language ('my_tokens')"),
        ("language", "con", "its ISO 639 code of two or three small letters, such as 'tr'"),
    ],
)
def test_a_name_that_is_not_allowed_is_answered_with_the_rule_and_an_example(kind, name, rule):
    with pytest.raises(RulerError) as error:
        check_new_name(kind, name)
    shown = name.replace("\n", "\\n")
    assert str(error.value).startswith(f"'{shown}' cannot name a {kind}: ")
    assert rule in str(error.value)


@pytest.mark.parametrize("tokenizer", ["gag", "gag_mini", "gag-gag", "gag-en_mini"])
def test_a_tokenizer_must_not_read_as_a_custom_language_of_the_release(tokenizer):
    languages = [*LANGUAGES, "gag"]
    check_release_names(["vt"], {}, ["gag-mini"], languages)
    with pytest.raises(RulerError, match=f"such as 'tokenizer-{tokenizer}'"):
        check_release_names(["vt"], {}, [tokenizer], languages)
    check_release_names(["vt"], {}, [f"tokenizer-{tokenizer}"], languages)
