"""The word lists of cwe and niah are the pinned ones."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import unicodedata
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.text import corpora
from ruler_common.errors import RulerError


def test_the_word_lists_are_the_pinned_ones():
    assert corpora.DIGESTS["nounlist.txt"].startswith("8d88b3eb")  # wonderwords 3.0, not 2.2
    for name, digest in corpora.DIGESTS.items():
        data = (files("wonderwords") / "assets" / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest


@given(st.lists(st.text("abBﬀ", min_size=1, max_size=4), max_size=9))
def test_places_alone_are_those_of_words_that_are_in_no_other_word(words):
    folded = [unicodedata.normalize("NFKC", word).casefold() for word in words]
    expected = [place for place, word in enumerate(folded) if sum(word in x for x in folded) == 1]
    assert corpora.places_alone(words).tolist() == expected


def test_the_extension_has_its_digest():
    extension = corpora.extension()
    assert hashlib.sha256("\n".join(extension).encode()).hexdigest() == corpora.EXTENSION_DIGEST
    assert len(extension) > 100_000
    assert len(set(extension)) == len(extension)
    assert {word.casefold() for word in corpora.vocabulary()}.isdisjoint(extension)
    assert all(word.isalpha() and word.islower() and len(word) >= 3 for word in extension)


@pytest.mark.parametrize("package", ["wordfreq", "msgpack"])
def test_without_its_packages_the_extension_is_refused_with_the_remedy(package):
    program = (
        f"import sys\nsys.modules['{package}'] = None\n"  # as if it were not installed
        "from ruler_builder.text import corpora\nfrom ruler_dataset import RulerError\n"
        "try:\n    corpora.extension()\nexcept RulerError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "needs packages that are not installed" in done.stdout
    assert "pip install 'msgpack>=1.0' 'wordfreq>=3.1'" in done.stdout


@pytest.mark.parametrize(
    ("package", "path", "read", "version"),
    [
        ("wonderwords", "assets/nounlist.txt", corpora.vocabulary, "3.0.1"),
        ("wordfreq", "data/large_en.msgpack.gz", corpora.extension, "3.1.1"),
    ],
)
def test_a_list_of_another_version_is_refused_with_both_digests_and_the_remedy(
    package, path, read, version, tmp_path, monkeypatch
):
    corpora.vocabulary()  # what `extension` reads first
    read.cache_clear()
    other = tmp_path / package / path
    other.parent.mkdir(parents=True)
    (tmp_path / package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, package, raising=False)
    remedy = f"Run: pip install {package}=={version}"
    with pytest.raises(RulerError, match=re.escape(f"{other.name} is not installed. {remedy}")):
        read()
    other.write_bytes(b"apple\n")
    with pytest.raises(RulerError) as refused:
        read()
    assert hashlib.sha256(b"apple\n").hexdigest() in str(refused.value)
    assert re.search(r"expected sha256 [0-9a-f]{64}", str(refused.value))
    assert str(refused.value).endswith(remedy)


def test_the_lists_are_read_without_importing_their_packages():
    program = (
        "import sys\nfrom ruler_builder.text import corpora\n"
        "corpora.vocabulary(), corpora.extension()\n"
        "print({'wonderwords', 'wordfreq', 'ftfy'} & {*sys.modules})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


LISTS = st.lists(st.text("abAB-ñ", min_size=1, max_size=6), max_size=30)


@given(LISTS, LISTS)
def test_words_with_finds_the_words_that_contain_a_part(listed, parts):
    expected = [any(part.casefold() in word.casefold() for part in parts) for word in listed]
    assert np.array_equal(corpora.words_with(listed, parts), np.array(expected, dtype=bool))
