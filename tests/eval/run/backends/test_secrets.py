"""A key is found in a text in whatever way the text holds it, and nothing else is changed."""

from __future__ import annotations

import base64
import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_eval.run.backends.secrets import safe

KEY = "sk-proj-Very_Secret-1234567890abcdefXYZ"
DATA = KEY.encode()


def escaped(form: str, text: str = KEY) -> str:
    return "".join(form % ord(sign) for sign in text)


FORMS = {
    "as it is": KEY,
    "backwards": KEY[::-1],
    "in capitals": KEY.upper(),
    "base64": base64.b64encode(DATA).decode(),
    "base64 of a header": base64.b64encode(b"Bearer " + DATA).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(b"ab" + DATA + b"c").decode(),
    "base64 in lines": base64.encodebytes(b"x" * 20 + DATA).decode(),
    "base64, backwards": base64.b64encode(DATA).decode()[::-1],
    "backwards, base64": base64.b64encode(DATA[::-1]).decode(),
    "base64, escaped": escaped("\\u%04x", base64.b64encode(DATA).decode()),
    "base32": base64.b32encode(b"Bearer " + DATA).decode(),
    "hexadecimal": DATA.hex(),
    "hexadecimal with colons": DATA.hex(":").upper(),
    "numbers": str(list(DATA)),
    "JSON": escaped("\\u%04x"),
    "JSON in JSON": escaped("\\\\u%04X"),
    "JavaScript": escaped("\\u{%x}"),
    "Python": escaped("\\U%08x"),
    "bytes": escaped("\\x%02x"),
    "octal": escaped("\\%03o"),
    "percent": escaped("%%%02X"),
    "percent twice": escaped("%%25%02x"),
    "HTML": escaped("&#%d;"),
    "HTML, hexadecimal": escaped("&#x%X;"),
    "HTML twice": html.escape(escaped("&#%d;")),
    "HTML by name": KEY.replace("_", "&lowbar;"),
    "a part escaped": KEY.replace("e", "%65").replace("c", "\\u0063").replace("r", "&#114;"),
    "spaced": " ".join(KEY),
    "in two lines": KEY[:9] + "\n" + KEY[9:],
    "invisible signs between": "\u200b".join(KEY),
    "half characters between": "\ud800".join(KEY),
    "wide": "".join(chr(ord(sign) + 0xFEE0) for sign in KEY),
}


@pytest.mark.parametrize("way", FORMS)
def test_a_key_is_hidden(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found = safe(f"It is {FORMS[way]} of yours")
    assert found.startswith("It is ")
    assert "***" in found
    left = found.replace("It is ", "").replace(" of yours", "").replace("***", "")
    assert len(left) < len(KEY)  # what else was encoded with it


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OPENAI_ADMIN_KEY", KEY),
        ("HF_TOKEN", f" {KEY}\n"),
        ("OPENAI_CUSTOM_HEADERS", f"X-Team: readers\nX-Api-Key: {KEY}\nAuthorization: Bearer x"),
        ("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}"),
    ],
)
def test_every_variable_that_holds_a_key_is_known(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert safe(f"The readers have {KEY}") == "The readers have ***"


def test_a_key_that_begins_with_another_is_hidden_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", KEY[:20])
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert safe(KEY) == "***"


def test_a_text_is_made_safe_before_it_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert safe(f"xx{KEY}", 10) == "xx***"
    assert safe("\ud800" * 20, 10) == "?" * 10


def test_a_short_key_is_hidden_as_it_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 8 letters may be a word: `anything`, `dummykey`."""
    monkeypatch.setenv("OPENAI_API_KEY", "anything")
    assert safe("anything, Anything, any thing") == "***, Anything, any thing"
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert safe("EMPTY") == "EMPTY"


@given(text=st.text(st.characters(exclude_categories=["Cs"])), noise=st.text("\\u%&#x;0amp3 {}"))
def test_a_text_without_a_key_stays_as_it_is(text: str, noise: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        assert safe(text + noise) == text + noise
