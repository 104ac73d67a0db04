"""A custom language (docs/languages.md): Turkish, from its folder to the page."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ruler_release as ruler
from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.text.language_folders import FILES, language_folders
from ruler_builder.text.languages import shared_nouns
from ruler_builder.text.sources import Sources
from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_dataset import load
from ruler_eval.frozen_release import ReleaseLanguages
from ruler_score import ruler_score as rules_of
from ruler_score.language_text import normalize
from tests import documents, in_process

FOLDER = documents.ROOT / "tests/languages/tr"
PAGE = "docs/languages.md"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the page's commands ran, and what they printed."""
    folder = tmp_path_factory.mktemp("language")
    shutil.copytree(FOLDER, folder / "tr")
    return folder, documents.run(documents.blocks(PAGE, "Commands", "bash")[0], folder)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the folder, to be spoilt."""
    return Path(shutil.copytree(FOLDER, tmp_path / "tr"))


def change(path: Path, old: str | None, new: str) -> None:
    """Put `new` in the place of `old`, or of the whole text."""
    text = path.read_text(encoding="utf-8")
    assert old is None or old in text
    path.write_text(new if old is None else text.replace(old, new, 1), encoding="utf-8")


def test_it_is_built_proved_rebuilt_run_scored_analysed_and_drawn(done):
    root, message = done
    files = read_manifest(root / "turkish")["files"].values()
    assert len({file["task"] for file in files if file["language"] == "tr"}) == 8
    assert {(f["language"], f["instruction_language"]) for f in files} == {
        *(("tr", "tr"), ("en", "tr"), ("tr", "en"))
    }
    assert f"Files: {len(files)} rebuilt and equal." in " ".join(message.split())
    results = json.loads((root / "runs/turkish/results.json").read_text(encoding="utf-8"))
    scores = {cell["score"] for cell in results["configurations"].values()}
    assert scores == {100.0}  # the oracle answers what needles, lists and nouns say
    assert re.search(r"tr +100\.0 \[76\.8, 100\.0\]", message)
    assert "No wrong answers." in message
    assert "custom rows: a language that is not one of the 26 (tr)" in " ".join(message.split())
    assert "tr-en" in (root / "turkish.html").read_text(encoding="utf-8")


def test_without_its_extra_it_is_refused_with_the_remedy(tmp_path):
    program = (
        "import sys\nsys.modules['sentencex'] = None\n"  # as if it were not installed
        "from ruler_release.app import main\nmain()\n"
    )
    options = ["--suite", "oneruler", "--language-folder", str(FOLDER), "--languages", "tr"]
    options += ["--lengths", "4k", "--rows", "1", "--sources", "embedded"]
    command = [sys.executable, "-c", program, "build", str(tmp_path / "turkish"), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    message = " ".join((done.stdout + done.stderr).split())
    assert "The book of a custom language needs packages that are not installed" in message
    assert "pip install 'sentencex>=1.0.32'" in message


def test_the_release_says_who_wrote_the_language(done):
    card = " ".join((done[0] / "turkish/README.md").read_text(encoding="utf-8").split())
    assert "**Turkish (tr) is not a language of ONERULER.**" in card
    assert "Written by: The maintainers of this project, not native speakers" in card
    assert "| tr | Göldeki değirmen" in card
    assert "| tr | hiçbiri | hiçbirisi, hiçbir, hiç | {} yok" in card


def test_the_metric_by_itself_scores_it_by_the_manifest(done, monkeypatch, capsys):
    monkeypatch.chdir(done[0])
    exec(documents.blocks(PAGE, "Scoring elsewhere", "python")[0], {})
    assert capsys.readouterr().out.strip() == "100.0"


def test_rows_load_by_name_and_no_row_of_the_26_changes(done, tmp_path):
    rows = load(str(done[0] / "turkish"), "niah_none_4k_tr")
    assert rows[0]["outputs"] == ["hiçbiri"]
    few = {"suite": "oneruler", "lengths": "2k", "rows": 2}
    few |= {"tasks": ["niah_multikey", "cwe_hard"], "sources": "embedded", "languages": "zh"}
    without_folder = ruler.build(tmp_path / "alone", **few).manifest
    few["languages"] = ["zh", "tr", "zh-tr"]
    with_folder = ruler.build(tmp_path / "beside", language_folders=FOLDER, **few).manifest
    for path, entry in without_folder["files"].items():
        assert with_folder["files"][path]["sha256"] == entry["sha256"]
    assert without_folder["languages"]["zh"] == with_folder["languages"]["zh"]
    assert "data/tekken/2k/zh-tr/niah_multikey.parquet" in with_folder["files"]


def test_without_its_folder_the_rows_are_not_rebuilt(done):
    printed = in_process.ruler("verify", "turkish", cwd=done[0])
    assert printed.code == 3
    assert "are missing: give --language-folder FOLDER" in " ".join(printed.stderr.split())
    rebuild = ("build", "turkish", "--suite", "oneruler", "--lengths", "8k", "--rows", "1")
    printed = in_process.ruler(*rebuild, "--languages", "tr", cwd=done[0])
    assert printed.code == 2
    assert "Unknown language 'tr'" in printed.stderr
    assert "a language beyond the 26 needs --language-folder" in printed.stderr


def test_another_folder_of_the_same_code_is_named(done, copy, tmp_path):
    change(copy / "book.txt", "mektup", "telgraf")
    change(copy / "language.toml", '"hiç" =', '"hiçte" =')
    report = ruler.verify(done[0] / "turkish", language_folders=copy)
    for file, why in zip(("book.txt", "language.toml"), sorted(report.not_rebuilt), strict=True):
        assert f"'{copy}/{file}' is not the file that the release was made of" in why
    assert (report.ok, report.proved) == (True, False)
    wanted = {"suite": "oneruler", "lengths": "8k", "rows": 2, "sources": "embedded"}
    with pytest.raises(RulerError, match="made with another 'book-tr' among its sources"):
        ruler.build(done[0] / "turkish", **wanted, language_folders=copy, tasks="niah_single")
    made = tmp_path / "made"
    ruler.build(made, **wanted, language_folders=FOLDER, languages="tr", tasks="niah_single")
    with pytest.raises(RulerError, match=f"made with another '{copy}/book.txt': restore that file"):
        ruler.build(made, **wanted, language_folders=copy, languages="tr", tasks="niah_single")


def test_its_letters_fold_as_it_writes_them():
    spoken = ReleaseLanguages({"tr": _table()})
    tr = spoken.rules("tr")
    assert normalize("HİÇBİRİ IŞIK", tr) == "hiçbiri ışık"
    assert normalize("I\u0307", tr) == "i"  # the same letter of two characters
    for message in ("HİÇBİRİ", "<YANIT> Hiçbiri </YANIT>", "Metinde BÖYLE bir sayı yok."):
        assert rules_of.score_row(message, ["hiçbiri"], "niah_none", tr).score == 1, message
    listed = "Yanıt: KIRMIZI, ışık, İnek ve 3. araba (30 kez)"
    words = ["kırmızı", "ışık", "inek", "araba"]
    assert rules_of.score_row(listed, words, "cwe_easy", tr).score == 1
    assert rules_of.score_row("KIRMIZI", ["kırmızı"], "cwe_easy", "en").score == 0
    assert rules_of.score_row("hiçbiri", ["hiçbiri"], "niah_none", tr, compat="authors").score == 1


def _table() -> dict[str, Any]:
    from ruler_builder.text.language_folders import describe

    return dict(describe((FOLDER / "language.toml").read_bytes(), "language.toml").table)


FAULTS = [
    # file, what is replaced (None: all of it), by what, what is said
    ("language.toml", 'code = "tr"', 'code = "pl"', "has the code 'pl'"),
    ("language.toml", '"tr"', '"all"', "'all' cannot name a language: use its ISO 639 code"),
    ("language.toml", "written_by", "# written_by", "written_by"),
    ("language.toml", "script =", 'colour = "red"\nscript =', "is unknown"),
    ("language.toml", "600_000", '"many"', "should be a valid integer"),
    ("language.toml", '"hiç" = "', '"hiç" = 1 #', "should be a valid string"),
    ("language.toml", "restricted = false", "", "restricted"),
    ("language.toml", '["Yanıt", "Cevap"]', '["Cevap"]', "does not ask for"),
    ("language.toml", '"ve", "ile"', '"ve", ""', "no letter and no digit"),
    ("language.toml", '"Cevap"', '".*"', "no letter and no digit"),
    ("language.toml", '["İ", "i"]', '[" ", "i"]', "not a letter"),
    ("language.toml", '"Turkish"', '"Tur\\nkish"', "one line of text"),
    ("niah.txt", '"none": "hiçbiri"', '"none": "hiç"', "which is not in none.prompt"),
    ("niah.txt", "veriyor: {value}", "veriyor.", "must hold {key}"),
    ("niah.txt", '"task":', "task:", "not a JSON object"),
    ("niah.txt", '"please_list"', '"list"', "has no part 'please_list'"),
    ("niah.txt", "Hepsini", "{Hepsini}", "no other brace"),
    ("niah.txt", "Metni baştan", "{ baştan", "no other brace"),
    ("niah.txt", "{key}", "{value}{key}", "in this order"),
    ("niah.txt", '\\"{key}\\"', "{key}", "between quotation marks"),
    ("niah.txt", 'yoksa yanıt \\"hiçbiri\\"', "yoksa", "quotation marks"),
    ("niah.txt", "{value}", "{value}0", "a digit touches"),
    ("niah.txt", "</Soru>", "</Metin>", "the tag that closes"),
    ("niah.txt", "Hepsini", "\\ud800", "surrogates"),
    ("cwe.txt", "{context}", "", "must hold {context} once"),
    ("cwe.txt", None, "{context}<Yanıt> 10 </Yanıt>", "after a text"),
    ("nouns.tsv", "umbrella\tşemsiye\n", "", "has no translation of 1 of the"),
    ("nouns.tsv", "walnut\tceviz", "walnut\tşemsiye", "'şemsiye' for two nouns"),
    ("nouns.tsv", "ceviz", "{value}", "a noun holds no digit, brace"),
    ("book.txt", None, " \n", "has no text"),
    ("book.txt", None, "kedi " * 20_000, "sentences of"),
    ("words.csv", "words,pos\n", "", "the header words,pos"),
    ("words.csv", "kitap,noun", "kitap", "the header words,pos"),
    ("words.csv", None, "words,pos\nev,noun\n", "1 words that are not part of another"),
]


@pytest.mark.parametrize(("name", "old", "new", "sentence"), FAULTS)
def test_a_fault_of_a_folder_is_one_sentence(name, old, new, sentence, copy, tmp_path):
    change(copy / name, old, new)
    tasks = "cwe_easy" if name == "words.csv" else "niah_single"
    words = ("--suite", "oneruler", "--lengths", "2k", "--rows", "1", "--tasks", tasks)
    flags = ("--language-folder", "tr", "--sources", "embedded")
    printed = in_process.ruler("build", "out", *words, *flags, cwd=tmp_path)
    assert printed.code == 2
    assert sentence in " ".join(printed.stderr.split())
    named = "".join(printed.stderr.split())  # a long path is broken over lines
    assert any(f"tr/{file}" in named for file in (name, "niah.txt"))
    assert not (tmp_path / "out").exists()


def test_the_guide_lists_the_nouns_that_a_folder_translates(mirror):
    published, embedded = (
        documents.blocks(PAGE, "Nouns", "text")[place].split() for place in (0, 1)
    )
    sources = [Sources(Store(mirror)), Sources(Store(mirror), parse_sources_option(["embedded"]))]
    assert [[*shared_nouns(source)["en"]] for source in sources] == [published, embedded]
    lines = (FOLDER / "nouns.tsv").read_text(encoding="utf-8").splitlines()
    assert {line.split("\t")[0] for line in lines} >= {*published, *embedded}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-9"])
def test_another_encoding_is_named(encoding, copy):
    name = "words.csv"
    path = copy / name
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    with pytest.raises(RulerError, match=f"{re.escape(name)}' is not plain UTF-8"):
        language_folders([copy])


def test_lists_that_are_empty_say_nothing():
    table = _table()
    few = {**table, "and": [], "none": {"prompt": [], "forms": {}}}
    few["touching"] = True
    tr = ReleaseLanguages({"tr": few}).rules("tr")
    for message, score in (("hiçbiri", 1), ("Bilmiyorum.", 0), ("", 0), ("?! ...", 0)):
        assert rules_of.score_row(message, ["hiçbiri"], "niah_none", tr).score == score, message
    assert rules_of.score_row("ev, su", ["ev", "su"], "cwe_easy", tr).score == 1


@pytest.mark.parametrize("rules", [["tr"], {"tr": None}, {"tr": "ve"}, {"tr": {}}, {"en": {}}])
def test_the_metric_names_rules_of_another_form(rules):
    with pytest.raises(ValueError, match="language_rules"):
        rules_of.compute(["a"], [["b"]], "niah_none", ["tr"], language_rules=rules)


def test_two_folders_of_one_code_are_named():
    with pytest.raises(RulerError, match="describe the same language, 'tr': give one of them"):
        language_folders([FOLDER, FOLDER])


def test_a_folder_that_does_not_exist_is_named():
    with pytest.raises(RulerError, match="There is no folder 'nowhere'"):
        language_folders([Path("nowhere")])


@pytest.mark.parametrize("name", FILES.values())
def test_every_file_is_needed(name, copy):
    (copy / name).unlink()
    with pytest.raises(RulerError, match=re.escape(f"it has no {name}")):
        language_folders([copy])


@pytest.mark.parametrize(
    ("code", "facts", "sentence"),
    [
        ("en", {}, "one of the 26"),
        ("tr", None, "not a language of oneruler"),
        ("tr", {"fold": [["a"]]}, "fold must be a list of pairs"),
        ("tr", {"none": {"prompt": ["hiçbiri"], "forms": {}, "usual": []}}, "none.usual"),
        ("tr", {"answer_tags": [7]}, "answer_tags.0 should be"),
    ],
)
def test_a_manifest_cannot_change_the_rules_of_the_26(done, tmp_path, code, facts, sentence):
    manifest = json.loads((done[0] / "turkish/manifest.json").read_text(encoding="utf-8"))
    right = manifest["languages"]["tr"]["facts"]
    manifest["languages"][code]["facts"] = right | (facts or {})
    if facts is None:
        del manifest["languages"][code]["facts"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(RulerError, match=re.escape(sentence)):
        read_manifest(tmp_path)


def test_results_that_do_not_describe_their_language_are_refused(done, tmp_path):
    results = json.loads((done[0] / "runs/turkish/results.json").read_text(encoding="utf-8"))
    results["dataset"]["languages"] = {}
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    table = done[0] / "runs/turkish/rows.parquet"
    (tmp_path / table.name).write_bytes(table.read_bytes())
    printed = in_process.ruler("analyze", "results.json", cwd=tmp_path)
    assert printed.code == 2
    assert "rows in 'tr' but no description of that language" in " ".join(printed.stderr.split())


def test_results_of_two_languages_of_one_code_are_refused():
    table = _table()
    changed = {**table, "script": "Arabic"}
    with pytest.raises(RulerError, match="two different languages named 'tr'"):
        ReleaseLanguages.joined([{"tr": table}, {"tr": changed}])


def test_an_export_scores_it_too(done, tmp_path):
    words = ("--format", "lm-eval", "--configs", "niah_none_4k_tr", "--to", str(tmp_path / "tasks"))
    assert in_process.ruler("export", "turkish", *words, cwd=done[0]).code == 0
    process = runpy.run_path(str(tmp_path / "tasks/utils.py"))["process_results"]
    row = load(str(done[0] / "turkish"), "niah_none_4k_tr")[0]
    assert process(row, ["<YANIT> HİÇBİRİ </YANIT>"]) == {"score": 1.0, "strict": 1.0}
    assert process(row, ["1234567"])["score"] == 0
