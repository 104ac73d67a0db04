"""Check that the card and the other files rendered from a manifest are those of this manifest.

    notes = check_card_files(Path("ruler"), manifest, reports)

README.md, eval.yaml and croissant.json are rendered anew and compared byte for byte. Another
version of the builder may word them otherwise: of its releases what they state is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from ruler_builder.card import croissant, eval_yaml
from ruler_builder.card.card_files import CARD, card_files
from ruler_builder.card.render import first_row
from ruler_builder.common.project_files import DISTRIBUTION
from ruler_builder.proof.card_facts import other_facts, tables_not_compared
from ruler_builder.proof.folder_checks import no_plain_file
from ruler_builder.proof.verify_report import FileReport
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.manifest_form import Manifest

_TITLES = {
    CARD: "the card",
    eval_yaml.FILE: "the registration as a benchmark",
    croissant.FILE: "the description for machines",
}
_REMEDY = "run the same `ruler build` again"


def check_card_files(
    root: Path, manifest: Manifest, reports: dict[str, FileReport]
) -> Iterator[str]:
    """Report each file that is missing or another; yield what could not be checked, and why.

    eval.yaml may be left out: a data set need not be a benchmark of the Hub. croissant.json may
    describe the folder or, as in a download, a repository of the Hub.
    """
    if not manifest["files"]:  # a shard that was left nothing to build
        return
    mine, theirs = version(DISTRIBUTION), manifest["builder_version"]
    try:
        benchmark, repo = (root / eval_yaml.FILE).exists(), croissant.described_repository(root)
        files = card_files(root, manifest, benchmark, repo)
    except RulerError as error:
        _report(reports, CARD, str(error))
        return
    if mine != theirs:
        yield (
            f"The card was made by {DISTRIBUTION} {theirs}, this is {mine}: its metadata, figures, "
            "licences and files are compared, its wording is not."
        )
    elif first_row(root, manifest) is None:
        del files[CARD]
        yield f"{CARD}: not checked, because the row that it shows cannot be read."
    for name, text in files.items():
        path, title = root / name, _TITLES[name]
        if odd := no_plain_file(root, name):
            _report(reports, name, f"it is {odd}, no file: {_REMEDY}")
        elif not path.is_file():
            _report(reports, name, f"the file is missing: {_REMEDY}")
        elif mine == theirs:
            if read_bytes(path) != text.encode():
                _report(reports, name, f"{title} is not the one of this manifest: {_REMEDY}")
        else:
            found = read_bytes(path).decode("utf-8", errors="replace")
            for what in other_facts(name, found, text, manifest):
                _report(reports, name, f"{title}: {what}")
            if name == CARD and (lacking := tables_not_compared(found, text)):
                yield f"{CARD} has no tables headed {'; '.join(lacking)}: these are not compared."


def _report(reports: dict[str, FileReport], name: str, what: str) -> None:
    reports.setdefault(name, FileReport(name)).add(what)
