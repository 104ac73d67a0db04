"""Find again, years later, the tokenizer that a release was counted with.

where = places(manifest, ["qwen2.5=folder"])
counter = reference("qwen2.5", manifest, root, mirror=None, where=where)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from ruler_builder.sources.download import Store
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.tokenizers import counter_in, load_counter, named, pinned_files
from ruler_common.errors import RulerError
from ruler_common.manifest_form import Manifest
from ruler_common.names import check_name


def places(manifest: Manifest, specs: Iterable[str]) -> dict[str, str]:
    """Read `NAME=FOLDER` or `NAME=hf:ORG/NAME@REVISION` for tokenizers of a release."""
    found = {}
    for spec in specs:
        name, _, where = spec.partition("=")
        check_name("tokenizer", name, manifest["tokenizers"], "ruler verify --help")
        if not where:
            raise RulerError(f"'{spec}' does not say where '{name}' lies: write {name}=FOLDER.")
        found[name] = where
    return found


def reference(
    name: str, manifest: Manifest, root: Path, mirror: str | None, where: Mapping[str, str]
) -> TokenCounter:
    """The counter of a release's tokenizer. Raises RulerError if it is missing or another."""
    about = manifest["tokenizers"][name]
    folder = about["spec"].partition("=")[2]
    if name in where:  # the user says where it lies now
        counter = counter_in(name, where[name])
    elif folder and not folder.startswith("hf:") and not Path(folder).is_dir():
        raise RulerError(
            f"Tokenizer '{name}' was a folder '{folder}' of who built this release, and is not "
            f"here: say where it lies: ruler verify {root} --tokenizer {name}=FOLDER"
        )
    else:
        counter = load_counter(about["spec"], Store(mirror))
    key: Literal["sha256", "backend_sha256"] = "sha256" if "sha256" in about else "backend_sha256"
    # The backend's digest is of what its library writes, and another version may write otherwise:
    # it decides only where no file's digest is known, since verify counts every row again.
    if counter.about.get(key) != about.get(key):
        raise RulerError(
            f"Tokenizer '{name}' differs from the release's: {key} is {counter.about.get(key)}, "
            f"the manifest says {about.get(key)}."
        )
    return counter


class Uncounted(TokenCounter):
    """In the place of a tokenizer that is not here: a token has a byte at the least."""

    def count(self, text: str) -> int:
        """Tokens that a text can have at the most."""
        return len(text.encode())


def absent(manifest: Manifest, mirror: str | None, where: Mapping[str, str]) -> list[str]:
    """The named tokenizers of a release whose files are not here, and nobody says where."""
    store = Store(mirror)
    return [
        name
        for name in manifest["tokenizers"]
        if name in named() and name not in where
        if any(store.local(file) is None for file in pinned_files(name))
    ]
