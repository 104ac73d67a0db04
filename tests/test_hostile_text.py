"""Names and answers are escaped in all Markdown output: they make no links, tags or tables."""

from __future__ import annotations

import copy
import json
import re
import shutil
from typing import Any

import pytest

from ruler_builder.release.card import render
from ruler_builder.release.facts import collect_facts
from ruler_builder.release.templates import code
from ruler_common.manifest import read_manifest
from ruler_common.text import markdown_text, plain
from tests.in_process import ruler_output

HOSTILE = "a|b `c` [d](http://x) ![e](u) <script>f</script> *g* _h_ ~~i~~ j\\|k"
HOSTILE += "\n# l &lt; \x1b[31m\u202e"
# The first line of HOSTILE, escaped
TEXT = r"a\|b \`c\` [d\](http://x) ![e\](u) \<script>f\</script> \*g\* \_h\_ \~\~i\~\~ j\\\|k"
MARKUP = re.compile("<(?:a|img|code|script|em|strong|s|del|h1)[ >]")


def html_of(markdown: str) -> str:
    """Render Markdown as GitHub does."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def test_a_hostile_name_is_shown_as_text():
    assert markdown_text(HOSTILE).startswith(TEXT)
    harmless = "niah_multikey_1_4k [90.0, 95.0] -0.5"
    assert markdown_text(harmless) == harmless
    result = html_of(f"| x | y |\n|---|---|\n| {markdown_text(HOSTILE)} | z |")
    assert not MARKUP.search(result)
    assert result.count("<td>") == 2
    for word in ("[d](http://x)", "*g*", "_h_", "~~i~~", "j\\|k # l &amp;lt; \\x1b[31m\\u202e"):
        assert word in result
    assert "&lt;script&gt;f&lt;/script&gt;" in result
    assert code("a `` b`") == "``` a `` b` ```"


@pytest.mark.parametrize(
    "command",
    [
        ("score", "run-ruler", "--dataset", "ruler", "--markdown", "--all"),
        ("score", "run-ruler", "--markdown", "--published"),
        ("compare", "run-ruler", "other", "--markdown"),
        ("analyze", "run-oneruler", "--markdown"),
        ("errors", "run-ruler", "--dataset", "ruler", "--markdown"),
    ],
)
def test_a_hostile_model_name_and_answer_are_text_in_tables(command, oracle_runs, tmp_path):
    (tmp_path / "ruler").symlink_to(oracle_runs / "ruler")
    (tmp_path / "other").symlink_to(oracle_runs / "run-ruler")
    for name in ("run-ruler", "run-oneruler"):
        folder = shutil.copytree(oracle_runs / name, tmp_path / name)
        for file in (folder / "run.json", folder / "results.json"):
            file.write_text(json.dumps({**json.loads(file.read_bytes()), "model": HOSTILE}))
        for path in folder.glob("*.jsonl"):
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            path.write_text("".join(json.dumps(a | {"prediction": HOSTILE}) + "\n" for a in lines))
    output = ruler_output(*command, cwd=tmp_path)
    assert "script" in output
    assert plain(output) == output
    assert not MARKUP.search(html_of(output))


def test_hostile_sources_and_templates_are_text_in_the_card(release):
    manifest: Any = copy.deepcopy(read_manifest(release))
    harmless = html_of(render(collect_facts(manifest)))
    for source in manifest["sources"].values():
        source |= dict.fromkeys(("title", "licence", "citation"), HOSTILE)
        source["variant"] = "canonical"
    manifest["tokenizers"]["tekken"] |= {"title": HOSTILE, "library": HOSTILE, "version": HOSTILE}
    manifest["tokenizers"]["tekken"]["sha256"] = {HOSTILE: "`<script>`|"}
    manifest["words"] = {HOSTILE: HOSTILE}
    manifest["families"]["niah"]["needle"] = f"{{key}} {{value}} {HOSTILE}"
    manifest["families"]["niah"]["one"]["input"] = "```\n<script>x</script>\n[d](http://x)\n```"
    result = html_of(render(collect_facts(manifest)))
    assert "http://x" in result
    for bad in ('href="http://x"', "<script", "<img", "<em>g", "<s>i", "\x1b", "\u202e"):
        assert bad not in result
    assert result.count("<h1>") == harmless.count("<h1>")
    rows = [row for row in result.split("<tr>") if "script" in row]
    assert {len(re.findall("<t[dh]", row)) for row in rows} >= {4, 5}
