"""A build says its size before it starts, and a full release is not built by accident."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from types import SimpleNamespace

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import plan_build
from ruler_builder.release.worker import FileJob
from ruler_common.names import Config
from tests.in_process import Terminal, ruler, ruler_error
from tests.project import ROOT

MEASURED = ROOT / "builder/RELEASE.md"


def test_the_plan_of_a_full_release_has_39000_rows():
    full = plan_build(BuildOptions("never"))
    assert (full.suite.dataset, len(full.missing), full.rows) == ("ruler", 78, 39_000)
    assert full.tokens == 13 * 500 * sum(4096 * 2**i for i in range(6))
    short = plan_build(BuildOptions("never", lengths=("4k", "8k")))
    assert (len(short.missing), short.rows) == (26, 13_000)
    assert plan_build(BuildOptions("never", suite="oneruler")).rows == 4 * 12_200


def test_existing_files_are_not_counted(release):
    options = BuildOptions(release, lengths=("4k",), rows=20, sources="embedded")
    assert plan_build(options).missing == []
    assert plan_build(replace(options, lengths=("4k", "8k"))).rows == 13 * 20


def test_the_estimated_size_and_time_are_near_the_measured_ones():
    lines = re.findall(r"^\| (\w+) \| \S+ \| (\d+\w) \|(.*)\|$", MEASURED.read_text(), re.M)
    assert len(lines) >= 2
    for dataset, length, rest in lines:
        _, rows, _, cpu, _, _, size = [cell.strip().replace(",", "") for cell in rest.split("|")]
        job = FileJob(Config(dataset, "vt", length, tokenizer="tekken"), "tekken", int(rows))
        plan = replace(plan_build(BuildOptions("never", suite=dataset)), missing=[job])
        assert 0.5 < plan.cpu_seconds / float(cpu) < 2, (dataset, length)
        assert 0.5 < plan.bytes / 1e6 / float(size) < 2, (dataset, length)


def test_without_lengths_and_a_terminal_nothing_is_built(tmp_path):
    message = ruler_error("build", tmp_path / "out")
    assert "To build: 39,000 rows in 78 files, 1,677 million tokens" in message
    assert message.splitlines()[-1].startswith("Error: Without --lengths this builds 39,000")
    assert not (tmp_path / "out").exists()


def test_the_extra_fast_is_only_recommended_if_it_is_not_installed(tmp_path, monkeypatch):
    for installed in (True, False):
        found = object() if installed else None
        monkeypatch.setattr("ruler_release.commands.build.find_spec", lambda _, found=found: found)
        message = " ".join(ruler_error("build", tmp_path / "out").split())
        assert (
            "with the extra `fast`, which is not installed: up to twice" in message
        ) != installed


def test_without_lengths_at_a_terminal_the_user_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    done = ruler("build", tmp_path / "out")
    assert done.code == 1
    assert "Build them all?" in done.stdout
    assert "Nothing was built." in done.stdout
    assert not (tmp_path / "out").exists()


def test_a_small_build_or_one_of_named_lengths_asks_nothing(tmp_path, monkeypatch):
    small = ("--rows", 1, "--tasks", "vt", "--sources", "embedded")
    done = ruler("build", tmp_path / "out", *small, "--lengths", "2k")
    assert (done.code, "To build" in done.stderr) == (0, False), done.stderr
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    for flags in (("--lengths", "all"), ("--yes",)):  # they go on, as far as the full disk
        assert "The files take about 570 MB" in ruler_error("build", tmp_path / "no", *flags)
