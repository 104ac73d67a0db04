"""Keys are hidden in messages, and addresses and arguments that hold a secret are refused."""

from __future__ import annotations

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.secrets import check_argument, hide_keys

KEY = "sk-proj-Very_Secret-1234567890"


def test_a_key_of_the_environment_is_hidden(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", f"{KEY}-and-more")
    assert hide_keys(f"bad key {KEY}") == "bad key ***"
    assert hide_keys(f"bad key {KEY}-and-more") == "bad key ***"


@pytest.mark.parametrize("key", ["EMPTY", "password", "not-needed", "1234567890123456789"])
def test_a_placeholder_of_a_local_server_is_not_a_key(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    assert hide_keys(f"the password is {key}") == f"the password is {key}"


def test_an_argument_that_holds_a_key_is_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(RulerError, match="contains one of your keys"):
        check_argument("user", {"name": [KEY]})
    check_argument("user", "me")
