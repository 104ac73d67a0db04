"""Names are text wherever Markdown is written: no link, code, tag, table or line of their own."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

from ruler_builder.release.card import code, collect_facts, render
from ruler_common.manifest import read_manifest
from ruler_common.text import markdown_text

HOSTILE = "a|b `c` [d](http://x) ![e](u) <script>f</script> *g* _h_ ~~i~~ j\\|k"
HOSTILE += "\n# l &lt; \x1b[31m\u202e"
TEXT = r"a\|b \`c\` [d\](http://x) ![e\](u) \<script>f\</script> \*g\* \_h\_ \~\~i\~\~ j\\\|k"
"""What comes of the first lines of it."""


def html_of(markdown: str) -> str:
    """What a reader of GitHub's Markdown makes of it."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def test_a_hostile_name_is_shown_as_it_is():
    assert markdown_text(HOSTILE).startswith(TEXT)
    assert (
        markdown_text("niah_multikey_1_4k [90.0, 95.0] -0.5")
        == "niah_multikey_1_4k [90.0, 95.0] -0.5"
    )
    found = html_of(f"| x | y |\n|---|---|\n| {markdown_text(HOSTILE)} | z |")
    assert not re.search("<(?:a|img|code|script|em|strong|s|del|h1)[ >]", found)
    assert found.count("<td>") == 2
    for word in ("[d](http://x)", "*g*", "_h_", "~~i~~", "j\\|k # l &amp;lt; \\x1b[31m\\u202e"):
        assert word in found
    assert "&lt;script&gt;f&lt;/script&gt;" in found
    assert code("a `` b`") == "``` a `` b` ```"


@pytest.mark.parametrize(
    "command",
    [
        ("score", "case/RUN-ruler", "--dataset", "base/ruler", "--markdown", "--all"),
        ("score", "case/RUN-ruler", "--markdown", "--beside", "published"),
        ("compare", "case/RUN-ruler", "base/RUN-ruler", "--markdown"),
        ("analyze", "case/RUN-oneruler", "--markdown"),
        ("errors", "case/RUN-ruler", "--dataset", "base/ruler", "--markdown"),
    ],
)
def test_in_the_tables_of_a_command(sandbox, command):
    sandbox.new("RUN-ruler", "RUN-oneruler")
    for name in ("ruler", "oneruler"):
        for file in ("run.json", "results.json"):
            found = json.loads((sandbox.base / f"RUN-{name}" / file).read_bytes())
            sandbox.write(f"RUN-{name}/{file}", json.dumps({**found, "model": HOSTILE}))
        for path in (sandbox.base / f"RUN-{name}").glob("*.jsonl"):
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            given = "".join(json.dumps({**line, "prediction": HOSTILE}) + "\n" for line in lines)
            sandbox.write(f"RUN-{name}/{path.name}", given)
    done = sandbox.run(*command)
    assert (done.code, done.faults()) == (0, [])
    assert "script" in done.stdout
    assert not re.search("<(?:a|img|code|script|em|strong|s|del|h1)[ >]", html_of(done.stdout))


def test_in_the_card(release):
    manifest: Any = copy.deepcopy(read_manifest(release))
    sound = html_of(render(collect_facts(manifest, release)))
    for source in manifest["sources"].values():
        source |= dict.fromkeys(("title", "licence", "citation"), HOSTILE)
        source["variant"] = "canonical"
    manifest["tokenizers"]["tekken"] |= {"title": HOSTILE, "library": HOSTILE, "version": HOSTILE}
    manifest["tokenizers"]["tekken"]["sha256"] = {HOSTILE: "`<script>`|"}
    manifest["words"] = {HOSTILE: HOSTILE}
    manifest["families"]["niah"]["needle"] = f"{{key}} {{value}} {HOSTILE}"
    manifest["families"]["niah"]["one"]["input"] = "```\n<script>x</script>\n[d](http://x)\n```"
    found = html_of(render(collect_facts(manifest, release)))
    assert "http://x" in found
    for bad in ('href="http://x"', "<script", "<img", "<em>g", "<s>i", "\x1b", "\u202e"):
        assert bad not in found
    assert found.count("<h1>") == sound.count("<h1>")
    rows = [row for row in found.split("<tr>") if "script" in row]
    assert {len(re.findall("<t[dh]", row)) for row in rows} >= {4, 5}
