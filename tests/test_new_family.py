"""A task family added by CONTRIBUTING.md's recipe can be built, verified, run and scored."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import PACKAGES, ROOT

NAME = "labelled_sentence"
TOY = ROOT / "tests" / NAME
# How a new path of the recipe ends, and the file to copy there
NEW_FILES = {
    "tasks/NAME.py": "task.py",
    "audits/NAME.py": "audit.py",
    "suites/NAME.toml": "suite.toml",
}
# By file: the imports of the new entry, the line after which it goes, and the entry
EDITED = {
    "builder/ruler_builder/tasks/registry.py": (
        f"from ruler_builder.tasks import {NAME}\n",
        "FAMILIES = {\n",
        f'    "{NAME}": Family(\n'
        f"        {NAME}.LabelledParams, {NAME}.LabelledSentence, {NAME}.TEMPLATES\n"
        "    ),\n",
    ),
    "builder/ruler_builder/verify/audits/families.py": (
        f"from ruler_builder.verify.audits import {NAME}\n",
        "AUDITS: dict[str, Audit] = {\n",
        f'    "{NAME}": {NAME}.audit,\n',
    ),
    "eval/ruler_eval/tasks.py": (
        "",
        "FAMILIES: Mapping[str, TaskFamily] = {\n",
        f'    "{NAME}": TaskFamily(\n'
        '        dataset="ruler", tasks=(), rule="niah_single_1", answers="text"\n'
        "    ),\n",
    ),
    "tests/builder/tasks/test_tasks.py": (
        "",
        "GOLDEN = {\n",
        f'    "{NAME}": {{\n'
        '        "label_3": "1ec33c77862a70fd9ac3d2ac252b46c0f89a3d80af0cb64535ecbacdcb2742cb",\n'
        '        "label_6": "58e46b745605d6149520367e0ac0d79ca12024a0c500baf69d1c4b0670883667",\n'
        "    },\n",
    ),
    "dataset_cards/ruler.md": (
        "",
        "{% set words = manifest.families[family] %}\n",
        f'{{% if family == "{NAME}" %}}\n### Labelled sentences\n\n{{% endif %}}\n',
    ),
}
PROGRAM = """
import sys
from ruler_release.app import main
for line in sys.stdin.read().splitlines():
    sys.argv = ["ruler", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (line, end.code)
"""


def recipe() -> tuple[set[str], set[str]]:
    """Return the files that the guide tells a reader to create, and those to edit."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## A new task\n")[1].split("\n## ")[0]
    rows = set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))
    return {row for row in rows if "NAME" in row}, {row for row in rows if "NAME" not in row}


def follow(root: Path) -> None:
    """Follow the recipe in a copy of the project."""
    created, edited = recipe()
    assert edited == set(EDITED)
    for path in created:
        (source,) = (file for end, file in NEW_FILES.items() if path.endswith(end))
        target = root / path.replace("NAME", NAME)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(TOY / source, target)
    assert len(created) == len(NEW_FILES)
    for path in edited:
        imports, line, entry = EDITED[path]
        text = (root / path).read_text(encoding="utf-8")
        assert text.count(line) == 1
        text = text.replace(line, line + entry)
        text = text.replace("import annotations\n", f"import annotations\n{imports}")
        (root / path).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a copy of the project that has the family."""
    root = tmp_path_factory.mktemp("project")
    for name in ("builder", "eval", "dataset_cards", "ruler_common", "ruler_release", "tests"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("ruler_dataset.py", "pyproject.toml", "CHANGELOG.md", "CITATION.cff"):
        shutil.copy(ROOT / name, root)
    follow(root)
    return root


def run(root: Path, *lines: str) -> str:
    """Run commands of the copy in its folder `work`, and return their output."""
    places = {str((root / path).parent) for path in PACKAGES.values()}
    (root / "work").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        input="\n".join(lines),
        capture_output=True,
        text=True,
        cwd=root / "work",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly
def test_a_family_added_by_the_recipe_can_be_built_verified_run_and_scored(extended):
    output = run(
        extended,
        f"build toy --suite {NAME} --lengths 0k,4k --rows 3",
        "verify --audit toy",
        "run --dataset toy --configs label_3_4k,label_6_4k,label_3_0k --backend oracle --out RUN",
        "score RUN",
    )
    assert "Nothing is wrong: 4 files, 12 rows." in output
    work = extended / "work"
    assert "### Labelled sentences" in (work / "toy/README.md").read_text(encoding="utf-8")
    cells = json.loads((work / "RUN/results.json").read_text())["configurations"]
    assert [cell["score"] for cell in cells.values()] == [100, 100, 100]
    path = work / "RUN/answers.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    wrong = {("label_6_4k", 0): "", ("label_6_4k", 1): "It is a cow."}
    for line in lines:
        line["prediction"] = wrong.get((line["config"], line["index"]), line["prediction"])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run(
        extended,
        "score RUN",
        "errors RUN --out errors.jsonl",
        "show label_6_4k 0 --dataset toy --run RUN",
        "report RUN --dataset toy --out page.html",
        "analyze RUN/results.json --out correlation.json",
    )
    result = [json.loads(line) for line in (work / "errors.jsonl").read_text().splitlines()]
    assert [(error["config"], error["index"], error["kind"]) for error in result] == [
        ("label_6_4k", 0, "empty"),
        ("label_6_4k", 1, "wrong words"),
    ]
    page = (work / "page.html").read_text(encoding="utf-8")
    kinds = page.split('<ul class="kinds">')[1].split("</ul>")[0]
    assert re.findall("<b>(.*?)</b>", kinds) == ["empty", "wrong words"]
    ((panel,),) = json.loads((work / "correlation.json").read_text())["complexity"].values()
    assert panel["title"] == "labelled sentence: words"
    assert [(line["value"], line["scores"]["4k"]) for line in panel["lines"]] == [
        ("3", 100),
        ("6", pytest.approx(100 / 3)),
    ]


@pytest.mark.nightly
def test_rows_that_differ_from_the_manifest_are_named(extended):
    run(extended, f"build other --suite {NAME} --lengths 4k --rows 2")
    path = extended / "work/other/manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["tasks"]["label_6"]["words"] = 5
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(AssertionError, match="a line is not a sentence"):
        run(extended, "verify --audit other")
