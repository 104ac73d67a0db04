"""What reads an answer quickly gives what the plain way gives."""

from __future__ import annotations

import random
import re

from ruler_eval.families.answer_text import find_whole, normalize_long, resembles
from ruler_score.language_text import normalize

EXOTIC = "éẞß\u0301\u0308\u200b\u00ad\u2019\u02bcＡ１٣كيﬁ½…\u3099か가\u11a8ſ\u0345İı㎏“”—"


def test_a_long_text_is_normalized_as_a_short_one_is():
    draw = random.Random(0)
    for number in range(3000):
        exotic = EXOTIC if number % 2 else "éß’“ΩＡ½각คﬁİ\u200b"  # none of which composes
        kinds = [exotic if draw.random() < 0.2 else "abcXYZ 019.'\n" for _ in range(40)]
        letters = map(draw.choice, kinds)
        text = draw.choice(("", "A" * 400)) + "".join(letters) + "a" * 300
        assert normalize_long(text) == normalize(text)


def test_a_value_is_found_where_no_longer_word_holds_it():
    draw = random.Random(1)
    for _ in range(2000):
        text = "".join(draw.choice("ab1_ é.-") for _ in range(12))
        value = "".join(draw.choice("ab1é") for _ in range(draw.randint(1, 2)))
        found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
        assert find_whole(value, text) == (found.start() if found else -1)


def test_two_edits_resemble_and_three_do_not():
    assert resembles("1324567", "1234567")  # a swap
    assert resembles("123457", "1234567")
    assert resembles("19934567", "1234567")
    assert not resembles("9994567", "1234567")
    assert not resembles("7654321", "1234567")
