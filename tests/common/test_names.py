"""Names and lengths are parsed, and a wrong name is refused with a suggestion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_common.errors import RulerError
from ruler_common.names import GROUPS, LANGUAGES, TASKS, Config, Names, length_name, parse_length

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
        ("vt", "'vt' is not a ruler configuration; an example is 'niah_mk_128k'."),
        ("all4k", "Did you mean 'all_4k'?"),
        ("vt_9999k", "Unknown length '9999k'"),
        ("vt_00k", "Unknown length '00k'"),
    ],
)
def test_a_wrong_name_is_refused_with_a_suggestion(name, message):
    with pytest.raises(RulerError) as error:
        Names.standard("ruler").parse(name)
    assert message in str(error.value)
