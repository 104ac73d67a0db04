"""A missing Ray package or cluster is refused at once."""

from __future__ import annotations

import sys

import pytest

from ruler_builder.release.worker import connect
from ruler_common.errors import RulerError


def test_the_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        RulerError,
        match=r"^--pool ray needs packages that are not installed \(extra `ray`\): pip install",
    ):
        connect(None)


def test_an_address_without_a_cluster_is_refused_at_once():
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    if ray.is_initialized():
        pytest.skip("connected already")
    with pytest.raises(RulerError, match=r"^No Ray cluster at 127\.0\.0\.1:9: .*See --address\.$"):
        connect("127.0.0.1:9")
