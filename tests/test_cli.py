"""Commands print what they should; a mistake is one sentence and exit code 2."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ruler_common.text import plain
from tests import in_process
from tests.in_process import ruler_command

HEAVY = {"numpy", "datasets", "pyarrow", "transformers", "tiktoken", "scipy", "torch", "vllm"}


def ruler(*arguments: object, cwd: Path | None = None, code: int = 0) -> in_process.Printed:
    done = in_process.ruler(*arguments, cwd=cwd)
    assert done.code == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def refusal(*arguments: object, cwd: Path) -> str:
    """Return the one line that a wrong command prints, and check that it changes no file."""
    files = sorted(cwd.rglob("*"))
    done = ruler(*arguments, cwd=cwd, code=2)
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert plain(done.stderr) == done.stderr
    assert sorted(cwd.rglob("*")) == files
    return done.stderr


@pytest.fixture(scope="module")
def mistakes(oracle_runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a release `ruler`, a scored `run` of it, and malformed files."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "ruler").symlink_to(oracle_runs / "ruler")
    (folder / "run").symlink_to(oracle_runs / "run-ruler")
    (folder / "no_index.jsonl").write_text('{"prediction": "1"}\n')
    (folder / "no_index.csv").write_text("prediction\n1\n")
    (folder / "commas.csv").write_text("index,prediction\n0,1, 2\n")
    (folder / "page.html").mkdir()
    (folder / "page.html.toml").mkdir()
    (folder / "dangling").symlink_to("nothing")
    (folder / "folder").mkdir()
    (folder / "folder/file.json").write_text("{}")
    return folder


RUN = "run -d ruler -c vt_4k -o r -b"
SERVER = f"{RUN} openai -m m --base-url"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("build out --tasks niah_mk_3", "Unknown task 'niah_mk_3'. Did you mean 'niah_mk'?"),
        ("build out --lengths 5x", "Unknown length '5x'"),
        ("build out --lengths", "'--lengths' requires an argument. See: ruler build --help"),
        ("--quiet batch write -m", "'-m' requires an argument. See: ruler batch write --help"),
        ("build out --tokenizer teken", "Did you mean 'tekken'?"),
        (
            "build out --lengths 4k --rows 1 --sources squad=rebuilt",
            "Known: canonical, embedded",
        ),
        ("build out --suite none.toml", "There is no file or folder 'none.toml'"),
        ("build out --suite page.html.toml", "'page.html.toml' is a folder: name a file."),
        ("build out --dataset oneruler", "use --suite ruler or --suite oneruler."),
        ("build out --lengths 4k --rows 1 --mirror none", "is not a folder: correct --mirror"),
        ("build out --rows 0", "--rows takes a number of at least 1, not 0."),
        ("build no_index.csv --sources embedded", "'no_index.csv' is a file: name a folder."),
        ("build no_index.csv/x --sources embedded", "no_index.csv' is a file, not a folder."),
        (
            "build dangling --tasks vt --lengths 1k --rows 1 --sources embedded",
            "'dangling' exists already and is not a folder",
        ),
        ("build /proc/xx --lengths 4k --sources embedded", "'/proc' cannot be written: choose"),
        ("verify none", "No release in 'none'"),
        ("verify run", "It is the folder of a run: name the release that it was run on."),
        ("list none", "neither a folder nor a Hub repository"),
        ("list [x]", "'[x]' is neither a folder nor a Hub repository"),
        ("list folder/file.json", "'folder/file.json' is a file: name the folder of a release."),
        ("sources fetch hotpot", "Did you mean 'hotpotqa'? See: ruler sources"),
        ("buildd", "No such command 'buildd'. Did you mean 'build'? See: ruler --help"),
        ("run -d rulr -c vt_4k -b oracle -o r", "No release in 'rulr': no manifest.json. Did you"),
        (f"{RUN} hf", "--model"),
        (f"{RUN} orcale", "Unknown --backend 'orcale'. Did you mean"),
        ("run -d no_index.csv -c vt_4k -b oracle -o r", "is a file: name the folder of a release."),
        ("run -d ruler -c 4K -b oracle -o r", "Did you mean 'all_4k'?"),
        ("run -d ruler -c vt_4k -b oracle -o ruler", "'ruler' is a release: name another folder"),
        ("run -d ruler -c vt_4k -b oracle -o ruler/data/r", "is in the folder of a release's rows"),
        ("run -d ruler -c vt_4k -b oracle -o ruler/data", "'ruler/data' is in the folder of a"),
        ("score run -o ruler/data/results.json", "'ruler/data/results.json' is in the folder of"),
        ("export ruler --format gym -c vt_4k --to ruler/data/g", "choose a place outside of it."),
        ("run -d ruler -c vt_4k -b oracle -o no_index.csv", "is a file: name a folder."),
        ("run -d ruler -c vt_4k -b oracle -o no_index.csv/r", "is a file, not a folder."),
        ("run -d ruler -c vt_4k -b oracle -o /proc/r", "'/proc' cannot be written: choose"),
        (f"{RUN} oracle --lmit 3", "'--lmit'. Did you mean '--limit'?"),
        (
            f"{RUN} oracle --claimed 4k",
            "no option --claimed: it belongs to `ruler eval`, `ruler score`",
        ),
        ("run --config vt_4k", "No such option '--config'. Did you mean '--configs'?"),
        (f"{RUN} oracle --published", "no option --published: it belongs to `ruler eval`, `ruler"),
        ("run -d ruler -c vt_64k -b oracle -o r", "To list what it has: ruler list ruler"),
        ("run -d ruler -c *_64k -b oracle -o r", "To list them: ruler list ruler"),
        (f"{RUN} oracle --limit 0", "--limit takes a number of at least 1"),
        (f"{RUN} oracle --engine-arg x=NaN", "'x' is not a finite number"),
        (f"{RUN} oracle --temperature inf", "--temperature takes a number of at least 0"),
        (f"{RUN} oracle --timeout 0", "--timeout takes a number above 0"),
        (f"{SERVER} http://127.0.0.1:99999/v1", "--base-url takes http://HOST:PORT"),
        (f"{SERVER} localhost:8000/v1", "Did you mean http://localhost:8000/v1?"),
        (f"{SERVER} http://[::1", "--base-url takes http://HOST:PORT"),
        (f"{SERVER} http://127.0.0.1/v1\u200b", "--base-url takes http://HOST:PORT"),
        (
            "score no_index.jsonl -d ruler --config vt_4k",
            "does not say which row an answer belongs",
        ),
        ("score no_index.csv -d ruler --config vt_4k", "name yours with --columns"),
        ("score commas.csv -d ruler --config vt_4k", "between quotation marks"),
        ("score run --out /proc/x/y.json", "cannot be written"),
        ("score run --out no_index.csv/x.json", "no_index.csv' is a file, not a folder."),
        ("score page.html -d ruler", "'page.html' has no prediction files"),
        ("score run --references page.html", "'page.html' has no references for"),
        ("score run --length 8k", "but --length is 8k: leave --length out."),
        ("score run --out /dev/null", "'/dev/null' is a device or a pipe: name a file with --out."),
        ("score run --fail-under 101", "--fail-under takes a number of at least 0 and of at most"),
        ("score run --fail-under 0.9", "from 0 to 100, not 0.9: did you mean 90?"),
        ("score run --fail-under good", "--fail-under takes a score from 0 to 100, not 'good'."),
        ("score run --figure nonsense", "Unknown --figure 'nonsense'."),
        ("score run --config nope", "'nope' is not a ruler configuration"),
        ("score [x]", "There is no file or folder '[x]'"),
        ("score ruler", "'ruler' is a release: name a RUN folder, or files of predictions."),
        ("report run --out page.html", "is a folder"),
        (
            "report no_index.jsonl",
            "ruler score no_index.jsonl --dataset RELEASE --out no_index.results",
        ),
        ("compare run", "Name two results, or more"),
        ("compare ruler run", "'ruler' is a release: name a scored RUN folder or a results.json."),
        ("compare none run", "'none' does not exist: name a scored RUN folder or a results.json."),
        ("results run --model a/b --dataset-repo nope", "'nope' is not a dataset"),
        ("results", "Error: Missing argument 'RESULTS'. Usage: ruler results [OPTIONS]"),
        ("fetch org/ruler --configs ,, --to r", "--configs names nothing: give a name"),
        ("show vt_4k 0 -d ruler --html /proc/row.html", "'/proc' cannot be written: choose"),
        (
            "show vt_4k x -d ruler",
            "'x' is not a valid integer. Usage: ruler show [OPTIONS] CONFIG IN",
        ),
        ("decide none --max-drop 2", "'none' does not exist: name a scored RUN folder"),
        ("decide run --max-drop 2 --backend oracle", "To run model B, add --out, or name its"),
        ("decide run run", "Missing option '--max-drop'. See: ruler decide --help"),
        ("eval -d ruler -b oracle", "Missing option '--configs' / '-c'. See: ruler eval --help"),
        ("run ruler -c vt_4k", "Did you mean --dataset ruler? See: ruler run --help"),
        ("example no_index.csv", "'no_index.csv' is a file: name a folder."),
        ("example /proc/x", "'/proc' cannot be written: choose another folder."),
        ("export ruler --format kvpress --to folder", "'folder' is not empty: name a new folder"),
        ("export ruler --format kvpress --to no_index.csv", "is a file: name a folder."),
        ("export ruler --format kvpress --to /proc/x", "'/proc' cannot be written: choose"),
        ("export ruler --format inspect --to r", "inspect eval ruler_release/ruler -T dataset="),
        ("export ruler --format lmeval --to r", "Did you mean 'lm-eval'?"),
        ("batch read run answers.jsonl", "'run' is not a run of batch files."),
    ],
)
def test_a_mistake_is_one_sentence_with_the_cause_and_the_remedy(
    mistakes, arguments, message, monkeypatch
):
    monkeypatch.delenv("RULER_MIRROR", raising=False)
    for proxy in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(proxy, "http://127.0.0.1:9")  # there is no network
    assert message in refusal(*arguments.split(" "), cwd=mistakes)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("index", value) for value in ("Infinity", "true", "-1", '"x"', "1.5")],
        *[("prediction", value) for value in ("true", '[{"a": 1}]', '{"a": 1}')],
    ],
)
def test_an_invalid_prediction_is_refused_with_its_file(oracle_runs, tmp_path, field, value):
    line = {"config": '"vt_4k"', "index": "0", "prediction": '"a"', field: value}
    text = ", ".join(f'"{name}": {value}' for name, value in line.items())
    (tmp_path / "vt_4k.jsonl").write_text(f"{{{text}}}\n")
    assert "vt_4k.jsonl" in refusal("score", ".", "-d", oracle_runs / "ruler", cwd=tmp_path)


HOSTILE = "\x1b[31mx\u202e[red][/x]\u2066\x9b0m"
ESCAPED = r"\x1b[31mx\u202e[red][/x]\u2066\x9b0m"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ([HOSTILE], f"Error: No such command '{ESCAPED}'. See: ruler --help"),
        (["list", f"--{HOSTILE}"], f"Error: No such option '--{ESCAPED}'. See: ruler list --help"),
        (["list", "x", HOSTILE], f"extra argument ({ESCAPED}). See: ruler list --help"),
        (["a\nb"], r"No such command 'a\nb'. See: ruler --help"),
        (["list", HOSTILE], f"'{ESCAPED}' is neither a folder nor a Hub repository"),
    ],
)
def test_control_characters_in_a_wrong_argument_are_escaped(tmp_path, command, sentence):
    assert sentence in refusal(*command, cwd=tmp_path)


def test_a_folder_whose_name_looks_like_markup_is_built_and_shown(tmp_path):
    flags = ("--sources", "embedded", "--lengths", "1k", "--tasks", "niah_single_1")
    done = ruler("build", "out[/x][red]", *flags, "--rows", "1", cwd=tmp_path)
    assert "built in 'out[/x][red]'" in done.stdout
    assert "niah_single_1_1k" in ruler("list", "out[/x][red]", cwd=tmp_path).stdout


@pytest.mark.parametrize("command", ["sources", "list é"])
def test_commands_work_in_an_ascii_terminal(command, tmp_path):
    ascii_only = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    environment = os.environ | ascii_only
    done = subprocess.run(
        ruler_command(*command.split()), env=environment, cwd=tmp_path, capture_output=True
    )
    assert done.returncode == (2 if "é" in command else 0), done.stderr
    assert (done.stdout + done.stderr).isascii()
    assert b"Traceback" not in done.stderr


def test_a_page_of_a_run_refuses_another_release(oracle_runs, tmp_path):
    flags = ("--tasks", "niah_single_1", "--lengths", "4k", "--rows", "1")
    ruler("build", "other", *flags, "--sources", "embedded", cwd=tmp_path)
    text = refusal("report", oracle_runs / "run-ruler", "-d", "other", cwd=tmp_path)
    assert "Error: 'other' has no " in text
    assert text.endswith(": name another release.\n")


def test_csv_files_from_excel_are_read(release, tmp_path):
    lines = ["index;prediction", *(f"{index};1" for index in range(20))]
    (tmp_path / "excel.csv").write_text("\n".join(lines), encoding="utf-16")
    scored = ruler("score", "excel.csv", "-d", release, "--config", "vt_4K", cwd=tmp_path)
    assert "20 rows" in scored.stdout


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert ruler("--version").stdout.strip() == f"ruler-release {version('ruler-release')}"


@pytest.mark.parametrize("words", [("--debug", "verify"), ("verify", "--debug")])
def test_debug_logs_the_traceback_of_a_mistake_on_stderr(words, tmp_path):
    done = subprocess.run(ruler_command(*words, tmp_path), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "DEBUG ruler: The traceback" in done.stderr
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: No release in")


def test_every_command_takes_h_and_quiet(release, tmp_path):
    for words in ([], ["run"], ["sources"], ["sources", "fetch"], ["batch", "write"]):
        assert ruler(*words, "-h").stdout == ruler(*words, "--help").stdout
    run = ["-d", release, "-c", "vt_4k", "-b", "oracle"]
    shown, quiet = (
        subprocess.run(
            ruler_command("run", *flags, *run, "-o", tmp_path / str(n)),
            capture_output=True,
            text=True,
        )
        for n, flags in enumerate(([], ["--quiet"]))
    )
    assert (shown.returncode, quiet.returncode) == (0, 0)
    assert "rows" in shown.stderr
    assert quiet.stderr == ""
    assert quiet.stdout


def test_verify_exits_with_1_and_names_the_faulty_configuration(release, tmp_path):
    root = Path(shutil.copytree(release, tmp_path / "bad"))
    (root / "data/tekken/4k/vt.parquet").write_bytes(b"nothing")
    done = ruler("verify", root, code=1)
    assert "vt_4k: 0 rows" in done.stdout
    assert "vt_4k file: sha256 is" in done.stdout


def test_verify_prints_a_line_for_each_file_and_a_verdict(release):
    lines = ruler("verify", release).stdout.splitlines()
    assert [line.endswith(": 20 rows, sound") for line in lines[:14]] == [True] * 13 + [False]
    verdict = " ".join(lines[13:])
    proved = "Files: 13 rebuilt and equal."
    assert verdict.startswith(f"Nothing is wrong: 13 files, 260 rows. {proved} Custom rows, ")
    assert "data version 1.0.0" in verdict


def test_quickstart_builds_verifies_loads_and_names_the_next_commands(tmp_path):
    done = ruler("quickstart", cwd=tmp_path)
    assert 'load_dataset("./ruler-quickstart", "niah_mk_4k") gives 15 rows' in done.stdout
    assert "mean length" in done.stdout
    steps = [line.strip() for line in done.stdout.split("Next,")[1].splitlines()[1:]]
    assert steps[:2] == ["ruler sources fetch ruler", "ruler build ruler --lengths 4k"]
    page = tmp_path / "runs" / "quickstart.html"
    assert f"The page of these scores: {page}" in done.stdout
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert "gives 15 rows" in ruler("quickstart", cwd=tmp_path).stdout


def test_quickstart_ends_if_its_release_does_not_verify(tmp_path):
    root = tmp_path / "ruler-quickstart"
    for folder in (".build", "data"):  # a stopped build's
        (root / folder).mkdir(parents=True)
    (root / "data/stray.txt").touch()
    done = ruler("quickstart", cwd=tmp_path, code=1)
    assert "data/stray.txt file: the file is not in the manifest" in done.stdout
    assert "and verified" not in done.stdout


def test_quickstart_overwrites_no_other_release(release, tmp_path):
    (tmp_path / "ruler-quickstart").symlink_to(release)
    before = {path: path.stat().st_mtime_ns for path in release.rglob("*")}
    assert "'ruler-quickstart'" in refusal("quickstart", cwd=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in release.rglob("*")} == before


def test_a_command_without_standard_output_works(release):
    command = f"{shlex.join(ruler_command('list', release))} >&- 2>&-"
    assert subprocess.run(command, shell=True).returncode == 0


def test_an_output_that_nobody_reads_ends_with_no_code_of_a_verdict(release, tmp_path):
    """`ruler verify BAD | head -1`, with pipefail: 1 would say that a file is faulty."""
    bad = Path(shutil.copytree(release, tmp_path / "bad"))
    (bad / "data/tekken/4k/vt.parquet").write_bytes(b"nothing")
    for root in (release, bad):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            ruler_command("verify", root), stdout=writer, stderr=subprocess.PIPE, text=True
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (141, "")


def test_help_imports_nothing_heavy():
    code = (
        "import sys, ruler_release.app\n"
        "for words in ([], ['run'], ['build'], ['score']):\n"
        "    sys.argv = ['ruler', *words, '--help']\n"
        "    try: ruler_release.app.main()\n"
        "    except SystemExit: pass\n"
        f"print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
