"""A release as the Hub is to hold it: its files, and what may not be pushed.

    shipment, manifest = release_shipment(Path("ruler"), "org/ruler")
    gone = taken_away(manifest, state, there, "org/ruler", root)

A data version's rows, once published, neither change nor vanish: an extension brings its new files
beside the old ones; another data version takes their place, and the old stay at their tag.
"""

from __future__ import annotations

from pathlib import Path

from ruler_builder.card.card_files import (
    CARD,
    CROISSANT,
    EVAL_YAML,
    card_files,
    described_repository,
)
from ruler_builder.common.build_folder import is_unfinished
from ruler_builder.hub.push_plan import Digest, RepositoryState, Shipment
from ruler_builder.hub.repository import Repository
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.manifest import parse_manifest, read_manifest
from ruler_common.manifest_form import MANIFEST, Manifest
from ruler_common.work import OnBytes


def release_files(root: Path) -> list[Path]:
    """The files of a release: those rendered from its manifest, the manifest, the Parquet files.

    eval.yaml only if it has one.
    """
    names = [CARD, CROISSANT, MANIFEST, *([EVAL_YAML] if (root / EVAL_YAML).exists() else ())]
    return [root / name for name in (*names, *read_manifest(root)["files"])]


def size_of(root: Path) -> int:
    """The bytes of a release's files that are there."""
    return sum(path.stat().st_size for path in release_files(root) if path.is_file())


def release_shipment(
    root: Path, repo: str, read: OnBytes = lambda done: None
) -> tuple[Shipment, Manifest]:
    """A complete release, each file's digest the manifest's, and its manifest; else RulerError.

    Its card and croissant.json name the repository, whatever the folder's do.
    `read` is called with the number of bytes read so far.
    """
    manifest = read_manifest(root)
    if is_unfinished(root):
        raise RulerError(f"'{root}' is unfinished: run the same `ruler build` again.")
    files: dict[str, Path | bytes] = {}
    digests: dict[str, Digest] = {}
    for path in release_files(root):
        name = path.relative_to(root).as_posix()
        if not path.is_file():
            raise RulerError(f"'{path}' is missing. Run: ruler verify {root}")
        files[name], digests[name] = path, Digest.of(path)
        entry = manifest["files"].get(name)
        if entry and entry["sha256"] != digests[name].sha256:
            raise RulerError(
                f"'{path}' is not the file of the manifest: sha256 {digests[name].sha256}, not "
                f"{entry['sha256']}. Run: ruler verify {root}"
            )
        read(sum(digest.size for digest in digests.values()))
    _check_card_files(root, manifest)
    pushed = card_files(root, manifest, benchmark=False, repo=repo)
    for name in (CARD, CROISSANT):
        files[name] = content = pushed[name].encode()
        digests[name] = Digest.of(content)
    version, mark = manifest["data_version"], digests[MANIFEST].sha256[:12]
    title = f"{manifest['dataset']} {version}, {len(manifest['files'])} files, manifest {mark}"
    return Shipment(
        repo=repo, kind="dataset", files=files, digests=digests, version=version, title=title
    ), manifest


def _check_card_files(root: Path, manifest: Manifest) -> None:
    """Refuse a card, eval.yaml or croissant.json that is not rendered from this manifest."""
    benchmark = (root / EVAL_YAML).exists()
    files = card_files(root, manifest, benchmark, described_repository(root))
    for name, text in files.items():
        if read_bytes(root / name) != text.encode():
            raise RulerError(
                f"'{root / name}' is not this manifest's: run the same `ruler build` again."
            )


def manifest_at(repository: Repository, state: RepositoryState) -> Manifest | None:
    """The manifest on `main`; None if there is none."""
    if state.head is None or MANIFEST not in state.files:
        return None
    path = repository.get(MANIFEST, state.head)
    return parse_manifest(read_bytes(path), f"{MANIFEST} of {repository.name}")


def taken_away(
    manifest: Manifest, state: RepositoryState, there: Manifest | None, repo: str, root: Path
) -> list[str]:
    """The paths of an older data version, to be taken away; `there` is the repository's manifest.

    Raises RulerError where published rows would change or vanish.
    """
    listed = there["files"] if there else {}
    others = [p for p in state.files if p.startswith("data/") and p not in manifest["files"]]
    if strays := [path for path in others if path not in listed]:
        raise RulerError(
            f"'{repo}' holds {strays[0]}, which no manifest lists: take it away there, or give "
            "another --repo."
        )
    if there is None:
        return []
    if there["dataset"] != manifest["dataset"]:
        raise RulerError(
            f"'{repo}' holds {there['dataset']}, '{root}' {manifest['dataset']}: give another "
            "--repo."
        )
    old, new = there["data_version"], manifest["data_version"]
    if old == new:
        _refuse_loss(manifest, there, repo, root)
        return []
    if _numbers(old) > _numbers(new):
        raise RulerError(
            f"'{repo}' holds data version {old} already, and '{root}' is {new}: older versions "
            "stay at their tags and are not pushed again."
        )
    if state.head not in state.tags.values():
        raise RulerError(
            f"'{repo}' holds data version {old} without a tag, and it would be lost: tag it first: "
            f"hf repos tag create {repo} v{old} --repo-type dataset"
        )
    return others


def _refuse_loss(manifest: Manifest, there: Manifest, repo: str, root: Path) -> None:
    """Of the same data version, every file there must be here, with the same bytes."""
    version, mine = manifest["data_version"], manifest["files"]
    for path, entry in there["files"].items():
        if path in mine and mine[path]["rows_sha256"] != entry["rows_sha256"]:
            raise RulerError(
                f"'{repo}' has published other rows of {path} as data version {version}, and these "
                "never change: build with another data version, or give another --repo."
            )
    lacking = [
        path
        for path, entry in there["files"].items()
        if path not in mine or mine[path]["sha256"] != entry["sha256"]
    ]
    if lacking:
        raise RulerError(
            f"'{repo}' holds {len(lacking)} files that '{root}' has not as they are there "
            f"({lacking[0]}), and they would be lost. Bring them in first: "
            f"ruler fetch {repo} --to {root}"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
