"""Write what pins the texts that a release is made of: for maintainers.

    python builder/pin_texts.py        # writes borders/ and corrected.toml in ruler_builder/text

borders/ has the borders of sentences, and corrected.toml the digests of the published prompts,
nouns and words with their errata applied.

Needs the extra `languages` and all sources (--mirror or RULER_MIRROR, the cache, or a network).
With the sentencex that is installed borders may differ from those of published rows: then the rows
change too, and need a new data version. `--check` compares and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.text import borders, corpora, errata
from ruler_builder.text.languages import noun_list, shared_nouns, unchecked_language
from ruler_builder.text.sentences import essay_starts, split_starts
from ruler_builder.text.sources import CANONICAL, EMBEDDED, NOUNS, Sources, embedded_languages
from ruler_common.errors import RulerError
from ruler_common.names import LANGUAGES
from ruler_common.text import end_if_unread

FOLDER = Path(borders.__file__).parent
_ABOUT = """\
# sha256 of the published prompts, nouns and words with their errata applied, each text followed by
# a NUL, written by builder/pin_texts.py.

"""


def border_files(store: Store) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each file of borders. Raises RulerError."""
    for variant, codes in ((CANONICAL, list(LANGUAGES)), (EMBEDDED, embedded_languages())):
        sources = Sources(store, parse_sources_option([variant]))
        essays = borders.folded(corpora.essays(sources.read("essays")))
        name = borders.border_file("essays", variant)
        yield name, borders.packed_borders(essays, essay_starts(essays))
        for code in codes:
            language = unchecked_language(code, sources)
            book = language.book()
            starts = split_starts(book, code, language.facts.sentences)
            name = borders.border_file(language.source_names.book, variant)
            yield name, borders.packed_borders(borders.folded(book), starts)


def corrected(store: Store) -> str:
    """Return the text of corrected.toml. Raises RulerError."""
    sources = Sources(store)
    texts = {NOUNS: noun_list(shared_nouns(sources))}
    for code in LANGUAGES:
        language = unchecked_language(code, sources)
        texts |= language.corrected_prompts()
        if (words := language.source_names.words) is not None:
            texts[words] = language.unchecked_words(words)
    lines = [f'{name} = "{errata.digest_of(texts[name])}"' for name in sorted(texts)]
    return _ABOUT + "\n".join(lines) + "\n"


def main() -> None:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", help="A folder with the sources.")
    parser.add_argument("--check", action="store_true", help="Compare, and write nothing.")
    arguments = parser.parse_args()
    total = 0
    try:
        for name, data in border_files(Store(arguments.mirror)):
            path = FOLDER / "borders" / name
            total += len(data)
            if not arguments.check:
                path.write_bytes(data)
            elif not path.is_file() or zlib.decompress(path.read_bytes()) != zlib.decompress(data):
                raise RulerError(f"'{path}' has other borders.")
        text, path = corrected(Store(arguments.mirror)), FOLDER / "corrected.toml"
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            raise RulerError(f"'{path}' has other digests.")
    except RulerError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"{total:,} bytes of sentence borders in '{FOLDER}'.")


if __name__ == "__main__":
    end_if_unread(main)
