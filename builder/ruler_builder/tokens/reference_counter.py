"""Find again, years later, the tokenizer that a release was counted with.

here = ReleaseAtHand(root, manifest, places=places(manifest, ["qwen2.5=folder"]))
counter = reference("qwen2.5", here)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Literal

from ruler_builder.text.sources import SourceFile, Store
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.tokenizers import counter_in, load_counter, named, pinned_files
from ruler_common.errors import RulerError
from ruler_common.manifest_form import Manifest
from ruler_common.names import check_name


@dataclass(frozen=True)
class ReleaseAtHand:
    """A release that is verified, and where what it was made of is now.

    `mirror` is a folder of sources, `places` has the folders of unnamed tokenizers, and `given` the
    sources of languages that are none of the 26.
    """

    root: Path
    manifest: Manifest
    _: KW_ONLY
    mirror: str | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, SourceFile] = field(default_factory=dict)


def places(manifest: Manifest, specs: Iterable[str]) -> dict[str, str]:
    """Read `NAME=FOLDER` or `NAME=hf:ORG/NAME@REVISION` for tokenizers of a release."""
    found = {}
    for spec in specs:
        name, _, where = spec.partition("=")
        check_name("tokenizer", name, manifest["tokenizers"], "ruler verify --help")
        if not where:
            raise RulerError(f"'{spec}' does not say where '{name}' is: write {name}=FOLDER.")
        found[name] = where
    return found


class OtherTokenizer(RulerError):
    """A tokenizer that was found is not the one of the release."""


def check_places(here: ReleaseAtHand) -> None:
    """Raise RulerError if a tokenizer is not where the user says, or is another one."""
    for name in here.places:
        reference(name, here)


def reference(name: str, here: ReleaseAtHand) -> TokenCounter:
    """The counter of a release's tokenizer. Raises RulerError if it is missing or another."""
    about = here.manifest["tokenizers"][name]
    folder = about["spec"].partition("=")[2]
    if name in here.places:  # the user says where it is now
        counter = counter_in(name, here.places[name])
    elif folder and not folder.startswith("hf:") and not Path(folder).is_dir():
        raise RulerError(
            f"Tokenizer '{name}' was the folder '{folder}' of the release's builder, and is not "
            f"here: say where it is: ruler verify {here.root} --tokenizer {name}=FOLDER"
        )
    else:
        counter = load_counter(about["spec"], Store(here.mirror))
    key: Literal["sha256", "backend_sha256"] = "sha256" if "sha256" in about else "backend_sha256"
    # The backend's digest is of what its library writes, and another version may write otherwise:
    # it decides only where no file's digest is known, since verify counts every row again.
    if counter.about.get(key) != about.get(key):
        raise OtherTokenizer(
            f"Tokenizer '{name}' differs from the release's: {key} is {counter.about.get(key)}, "
            f"the manifest says {about.get(key)}."
        )
    return counter


def absent(here: ReleaseAtHand) -> list[str]:
    """The named tokenizers of a release whose files are not found and were not given."""
    store = Store(here.mirror)
    return [
        name
        for name in here.manifest["tokenizers"]
        if name in named() and name not in here.places
        if any(store.local(file) is None for file in pinned_files(name))
    ]
