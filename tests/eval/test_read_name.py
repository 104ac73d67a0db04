"""A configuration's name is read as its release reads it; other tools' files have any length."""

from __future__ import annotations

import pytest

from ruler_common.errors import RulerError
from ruler_common.names import Config, Names
from ruler_eval.prediction import read_name

RULER, ONERULER = Names.standard("ruler"), Names.standard("oneruler")
CUSTOM = Names("ruler", ("vt", "vt_2", "2", "2_x"))


@pytest.mark.parametrize(
    "config",
    [
        Config("ruler", task, length, tokenizer=tokenizer)
        for task in CUSTOM.tasks
        for length in ("0k", "4k", "1000", "10000", "1m")
        for tokenizer in ("tekken", "qwen2.5", "2")
    ],
    ids=lambda config: config.name,
)
def test_a_configuration_of_a_custom_suite_is_read_as_its_release_reads_it(config):
    read = read_name(CUSTOM, config.name)
    assert read.task == config.task
    assert (read.length, read.max_length) == (config.length, config.max_length)
    assert read.tokenizer == config.tokenizer


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        (RULER, "vt_500", ("vt", 500, "en", None)),
        (RULER, "qa_1_500", ("qa_1", 500, "en", None)),
        (RULER, "vt_5000000_qwen2.5", ("vt", 5_000_000, "en", "qwen2.5")),
        (RULER, "vt_4096", ("vt", 4096, "en", None)),
        (CUSTOM, "vt_2_500", ("vt_2", 500, "en", None)),
        (CUSTOM, "vt_2", ("vt", 2, "en", None)),
        (ONERULER, "niah_single_8192_pl", ("niah_single", 8192, "pl", None)),
        (ONERULER, "cwe_easy_8192_en-ko_mine", ("cwe_easy", 8192, "en", "mine")),
    ],
)
def test_a_length_in_the_files_of_other_tools_may_be_any_number_of_tokens(names, name, expected):
    read = read_name(names, name, of_release=False)
    assert (read.task, read.max_length, read.language, read.tokenizer) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vt_2_4k", "Unknown task 'vt_2'. Did you mean 'vt'?"),
        ("vt_x", "'vt_x' is not a ruler configuration"),
        ("qa_500", "'qa_500' is not a ruler configuration"),
    ],
)
def test_another_name_is_refused(name, message):
    with pytest.raises(RulerError) as error:
        read_name(RULER, name)
    assert message in str(error.value)
