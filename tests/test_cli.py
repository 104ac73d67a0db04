"""The commands as a user runs them: right output; one sentence and exit code 2 for mistakes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import in_process
from tests.in_process import ruler_command

HEAVY = {"numpy", "datasets", "pyarrow", "transformers", "tiktoken", "scipy", "torch", "vllm"}


def ruler(*arguments: object, cwd: Path | None = None, code: int = 0) -> in_process.Printed:
    done = in_process.ruler(*arguments, cwd=cwd)
    assert done.code == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("build out --tasks niah_mk_3", "Unknown task 'niah_mk_3'. Did you mean 'niah_mk'?"),
        ("build out --lengths 5x", "Unknown length '5x'"),
        ("build out --tokenizer teken", "Did you mean 'tekken'?"),
        ("build out --lengths 4k --tokenizer mine=no/folder", "no/folder' is not a folder"),
        ("build out --lengths 4k --sources squad=rebuilt", "Known: canonical, embedded"),
        ("build out --yes --sources embeded", "Did you mean 'embedded'?"),
        ("build out --suite none.toml", "Cannot read 'none.toml'"),
        ("build out --suite onerulr", "Unknown suite 'onerulr'. Did you mean 'oneruler'?"),
        ("build out --dataset oneruler", "write --suite ruler or --suite oneruler."),
        ("sources --dataset oneruler", "write --suite ruler or --suite oneruler."),
        ("build out --lengths all --mirror none", "is not a folder: correct --mirror"),
        ("build out --samples 0", "--samples takes a number of at least 1, not 0."),
        ("build out --sources embedded --tokenizer gemma3 --lengths 4k", "gemma3/tokenizer"),
        ("verify none", "No release in 'none'"),
        ("list none", "neither a folder nor a Hub repository"),
        ("sources fetch x", "Unknown source 'x'. See: ruler sources"),
        ("sources fetch hotpot", "Did you mean 'hotpotqa'?"),
        ("buildd", "No such command 'buildd'. Did you mean 'build'? See: ruler --help"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments, said, tmp_path, monkeypatch):
    monkeypatch.delenv("RULER_MIRROR", raising=False)
    for proxy in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(proxy, "http://127.0.0.1:9")  # no way out
    done = ruler(*arguments.split(), cwd=tmp_path, code=2)
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def mistakes(release: Path, tmp_path: Path) -> Path:
    """A folder with a release called `ruler`, a run, and files that are written wrongly."""
    (tmp_path / "ruler").symlink_to(release)
    flags = ("-d", "ruler", "-c", "vt_4k", "-b", "oracle", "-o", "run")
    assert in_process.ruler("run", *flags, cwd=tmp_path).code == 0
    (tmp_path / "no_index.jsonl").write_text('{"prediction": "1"}\n')
    (tmp_path / "no_index.csv").write_text("prediction\n1\n")
    (tmp_path / "utf16.jsonl").write_text('{"index": 0, "prediction": "1"}\n', encoding="utf-16")
    (tmp_path / "commas.csv").write_text("index,prediction\n0,1, 2\n")
    (tmp_path / "page.html").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("run -d rulr -c vt_4k -b oracle -o r", "No release in 'rulr': no manifest.json. Did you"),
        ("run -d ruler -c vt_5k -b oracle -o r", "vt_5k"),
        ("run -d ruler -c vt_4k -b orcale -o r", "Unknown --backend 'orcale'. Did you mean"),
        ("run -d ruler -c vt_4k -b oracle -o r --lmit 3", "'--lmit'. Did you mean '--limit'?"),
        ("run -d ruler -c vt_4k -b oracle -o r --limit 0", "--limit takes a number of at least 1"),
        ("score no_index.jsonl -d ruler --config vt_4k", "does not say which row an answer is of"),
        ("score no_index.csv -d ruler --config vt_4k", "name yours with --columns"),
        ("score utf16.jsonl -d ruler --config vt_4k", "is UTF-16: save it as UTF-8."),
        ("score commas.csv -d ruler --config vt_4k", "between quotation marks"),
        ("score run --out /proc/x/y.json", "cannot be written"),
        ("score run --fail-under 101", "--fail-under takes a number of at least 0 and of at most"),
        ("report run --out page.html", "is a folder"),
        ("build /proc/xx --lengths 4k --sources embedded", "'/proc' cannot be written: choose"),
        ("compare run", "Name two results, or more"),
        ("compare ruler run", "'ruler' is a release: name a scored RUN folder or a results.json."),
        ("compare none run", "There is no 'none': name a scored RUN folder or a results.json."),
        ("score ruler", "'ruler' is a release: name a RUN folder, or files of predictions."),
        ("list folder/file.json", "'folder/file.json' is a file: name the folder of a release."),
        ("run -d folder/file.json -c vt_4k -b oracle -o r", "is a file: name the folder"),
        ("show vt_4k 0 -d ruler --html /proc/row.html", "'/proc' cannot be written: choose"),
        ("show vt_4k x -d ruler", "'x' is not a valid integer. See: ruler show --help"),
        ("decide run run", "Missing option '--max-drop'. See: ruler decide --help"),
        ("eval -d ruler -b oracle", "Missing option '--configs' / '-c'. See: ruler eval --help"),
        ("export ruler --format lmeval --to r", "Did you mean 'lm-eval'?"),
        ("batch read run answers.jsonl", "'run' is not a run of batch files."),
    ],
)
def test_mistakes_name_the_cause_and_the_remedy(mistakes, arguments, said):
    done = ruler(*arguments.split(), cwd=mistakes, code=2)
    assert said in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert not (mistakes / "r").exists()


def test_a_page_of_a_run_refuses_another_release(mistakes):
    flags = ("--tasks", "niah_single_1", "--lengths", "4k", "--samples", "1")
    ruler("build", "other", *flags, "--sources", "embedded", cwd=mistakes)
    done = ruler("report", "run", "-d", "other", cwd=mistakes, code=2)
    assert done.stderr.endswith("Error: 'other' has no 'vt_4k': name another release.\n")
    assert not (mistakes / "report.html").exists()


def test_files_as_excel_writes_them_are_read(mistakes):
    lines = ["index;prediction", *(f"{index};1" for index in range(20))]
    (mistakes / "excel.csv").write_text("\n".join(lines), encoding="utf-16")
    scored = ruler("score", "excel.csv", "-d", "ruler", "--config", "vt_4K", cwd=mistakes)
    assert "20 rows" in scored.stdout


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert ruler("--version").stdout.strip() == f"ruler-release {version('ruler-release')}"


def test_debug_logs_the_traceback_of_a_mistake_on_stderr(tmp_path):
    command = ruler_command("--debug", "verify", tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "DEBUG ruler: The traceback" in done.stderr
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: No release in")


@pytest.mark.nightly
def test_debug_logs_the_files_that_are_built(tmp_path):
    flags = [
        "build",
        "out",
        "--lengths",
        "1k",
        "--tasks",
        "vt",
        "--samples",
        "2",
        "--sources",
        "embedded",
    ]
    done = subprocess.run(
        ruler_command("--debug", *flags), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "DEBUG ruler_builder.release.build: data/tekken/1k/vt.parquet: 2 rows" in done.stderr


def test_verify_exits_with_1_and_names_the_configuration_and_the_row(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "bad"))
    (root / "data/tekken/4k/vt.parquet").write_bytes(b"nothing")
    done = ruler("verify", root, code=1)
    assert "vt_4k: 0 rows" in done.stdout
    assert "vt_4k file: sha256 is" in done.stdout


def test_verify_prints_a_line_a_file_and_a_verdict(release):
    lines = ruler("verify", release).stdout.splitlines()
    assert [line.endswith(": 20 rows, sound") for line in lines] == [True] * 13 + [False] * 3
    verdict = " ".join(lines[13:])
    proved = "Files: 13 rebuilt and equal."
    assert verdict.startswith(f"Nothing is wrong: 13 files, 260 rows. {proved} Custom rows, ")
    assert "data version 1.0.0" in verdict


def test_sources_shows_each_with_its_state(tmp_path):
    shown = ruler("sources", "--mirror", tmp_path).stdout
    for word in ("essays", "squad", "hotpotqa", "missing", "CC BY-SA 4.0"):
        assert word in shown


def test_quickstart_makes_verifies_loads_and_says_what_next(tmp_path):
    first = ruler("quickstart", cwd=tmp_path)
    assert 'load_dataset("ruler-quickstart", "niah_mk_4k") gives 15 rows' in first.stdout
    assert "mean length" in first.stdout
    steps = [line.strip() for line in first.stdout.split("Next,")[1].splitlines()[1:]]
    assert steps[:2] == ["ruler sources fetch ruler", "ruler build ruler --lengths 4k"]
    page = tmp_path / "runs" / "quickstart.html"
    assert f"The page of these scores: {page}" in first.stdout
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    again = ruler("quickstart", cwd=tmp_path)
    assert "gives 15 rows" in again.stdout


def test_quickstart_overwrites_no_other_release(release, tmp_path):
    shutil.copytree(release, tmp_path / "ruler-quickstart")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "ruler-quickstart").rglob("*")}
    done = ruler("quickstart", cwd=tmp_path, code=2)
    assert "'ruler-quickstart'" in done.stderr
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "ruler-quickstart").rglob("*")}
    assert after == before


def test_help_imports_nothing_heavy():
    code = (
        "import sys, ruler_release.app\n"
        "sys.argv = ['ruler', '--help']\n"
        "try: ruler_release.app.main()\n"
        f"except SystemExit: print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
