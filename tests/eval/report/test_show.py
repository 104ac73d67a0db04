"""`ruler show`: a row in the terminal and as a page, with answers that try to be more than text."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser

import pytest
from rich.cells import cell_len

from ruler_common.text import TERMINAL_WIDTH
from ruler_eval.frozen_release import Release
from ruler_eval.report.row_text import _indented
from ruler_eval.report.row_view import row_view
from tests.eval.scoring_helpers import right, write_oneruler
from tests.in_process import ruler, ruler_output

HOSTILE = (
    "\x1b[31mred\x1b[0m [bold]rich[/bold] \u202eturned\u202c <script>alert(1)</script> </script>"
    "<img src=x onerror=alert(1)> \r\x07 \ud800 {{ 7 * 7 }}"
)


def test_every_part_of_a_row_is_shown(built, frozen):
    stdout = ruler_output("show", "niah_multikey_1_4k", 2, "--dataset", built)
    (row,) = [r for r in frozen.rows("niah_multikey_1_4k", ("index", *WHOLE)) if r["index"] == 2]
    flat = " ".join(stdout.split())
    assert flat.startswith(f"niah_multikey_1_4k, row 2 (of 5, from 0): {row['length']:,} of 4,096")
    for span in row["evidence"]:
        needle = " ".join(row["input"][span["start"] : span["end"]].split())
        assert ("⟦" if span["answer"] else "⟮") + needle + ("⟧" if span["answer"] else "⟯") in flat
        assert f"at {span['depth']:.0%} of the context" in flat
    assert f"References (1) {row['outputs'][0]}" in flat
    assert " ".join(row["question"].split()) in flat
    assert " ".join(row["answer_prefix"].split()) in flat


WHOLE = ("input", "question", "answer_prefix", "outputs", "length", "evidence")


@pytest.mark.parametrize("task", ["cwe", "fwe", "vt", "qa_1", "niah_single_3"])
def test_every_family_can_be_shown_and_the_whole_text_is_whole(built, frozen, task):
    config = f"{task}_4k"
    stdout, _, code = ruler("show", config, 0, "--dataset", built)
    assert (code, "The answer begins with" in stdout) == (0, True)
    view = row_view(frozen, config, 0)
    assert "".join(text for text, _ in view.marked()) == view.input
    assert len([piece for _, piece in view.marked() if piece]) == len(view.pieces)
    full, _, _ = ruler("show", config, 0, "--dataset", built, "--full")
    assert re.sub("[⟦⟧⟮⟯]", "", full).find(view.input) > 0


def test_answers_are_shown_with_their_score_and_kind_of_error(built, write_run):
    runs = [
        write_run(right, "good"),
        write_run(lambda config, row: "0000000", "bad"),
        write_run(lambda config, row: None if row["index"] == 1 else "x", "silent"),
        write_run(
            lambda config, row: {"finish_reason": "error", "error": "HTTP 500: \x1b[2J"}, "ill"
        ),
    ]
    named = [argument for run in runs for argument in ("--run", run)]
    stdout = ruler_output("show", "niah_single_2_4k", 1, "--dataset", built, *named)
    assert "good: 100 %, right; ended" in stdout
    assert "bad: 0 %, wrong words (numbers, names or words of the right form," in stdout
    assert "silent: 0 %, missing (there is no prediction)" in stdout
    assert "ill: 0 %, failed (the row ended with an error); failed: HTTP 500: ␛[2J" in stdout


def test_a_row_that_a_limited_run_left_out_has_no_score(built, tmp_path):
    run = tmp_path / "run"
    limited = ("-c", "niah_single_2_4k", "--limit", 1, "--backend", "oracle", "--out", run)
    ruler_output("run", "--dataset", built, *limited)
    config = Release.open(built).rows("niah_single_2_4k", ("index",))
    shown = [
        ruler_output("show", "niah_single_2_4k", row["index"], "-d", built, "--run", run)
        for row in config
    ]
    assert sum("oracle: 100 %, right" in text for text in shown) == 1
    assert sum("oracle: not a row of this run" in text for text in shown) == len(shown) - 1
    assert not any("missing" in text for text in shown)


class Tags(HTMLParser):
    """The elements of a page and its visible text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_no_answer_and_no_name_is_more_than_text(built, write_run, tmp_path):
    run = write_run(lambda config, row: {"prediction": HOSTILE.replace("\ud800", "")}, "run")
    settings = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**settings, "model": HOSTILE}), encoding="utf-8")
    arguments = ("show", "vt_4k", 0, "--dataset", built, "--run", run)
    for out in (ruler(*arguments)[0], ruler(*arguments, "--full")[0]):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", out)
        assert out.count("[bold]rich[/bold]") == 2
        assert "␛[31mred" in out
    page = tmp_path / "row.html"
    stdout, _, code = ruler(*arguments, "--html", page)
    assert (code, stdout) == (0, f"Written: {page}\n")
    output = Tags(page.read_text(encoding="utf-8"))
    assert not {"script", "img"} & {tag for tag, _ in output.tags}
    assert "<script>alert(1)</script>" in output.text
    assert "49" not in re.findall(r"\{\{.*?\}\}", output.text)
    assert "{{ 7 * 7 }}" in output.text
    assert not [value for _, result in output.tags for value in result if value.startswith("on")]


def test_the_page_holds_the_whole_context_with_its_evidence_marked(built, frozen, tmp_path):
    page = tmp_path / "row.html"
    ruler("show", "niah_multivalue_4k", 0, "--dataset", built, "--html", page)
    text = page.read_text(encoding="utf-8")
    view = row_view(frozen, "niah_multivalue_4k", 0)
    output = Tags(text)
    context = view.input[slice(*view.context)]
    assert context in output.text
    assert [result["id"] for tag, result in output.tags if tag == "mark" and "id" in result] == [
        f"piece-{number}" for number in range(4)
    ]
    links = [result["href"] for tag, result in output.tags if tag == "a"]
    assert links == [f"#piece-{number}" for number in range(4)]
    assert "default-src 'none'" in html.unescape(text)
    assert "http" not in re.sub(re.escape(html.escape(context)), "", text).replace("http-equiv", "")


def test_a_row_of_oneruler_is_shown_in_its_language(tmp_path):
    root = write_oneruler(tmp_path / "oneruler")
    stdout = ruler_output("show", "niah_single_8k_pl_cl100k", 0, "--dataset", root)
    assert "⟦„kot” to: 1000000.⟧" in stdout
    assert "The answer begins with" not in stdout


def test_a_missing_row_or_file_is_one_sentence(built, tmp_path):
    def error(*more):
        _, text, code = ruler("show", *more, "--dataset", built)
        assert code == 2
        return text

    assert "'niah_4k' is a group of 8 tasks: name one, such as niah_single_1_4k." in error(
        "niah_4k", 0
    )
    assert "has no configuration 'vt_16k'" in error("vt_16k", 0)
    assert "'vt_4k' has no row 5: it has 5 rows, 0 to 4." in error("vt_4k", 5)
    assert "is not a ruler configuration" in error("nonsense", 0)
    assert "is a folder: name a file" in error("vt_4k", 0, "--html", tmp_path)
    assert "There is no" in error("vt_4k", 0, "--run", tmp_path / "none")


def test_a_line_of_chinese_is_as_wide_as_any_other():
    lines = _indented("魔法数字" * 40 + " and " + "the grass is green. " * 9, "    ").split("\n")
    assert max(map(cell_len, lines)) <= TERMINAL_WIDTH
    assert "".join(lines).replace(" ", "").startswith("魔法数字" * 40 + "and")
