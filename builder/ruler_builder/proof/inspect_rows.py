"""Inspect the rows of a release, a row group at a time, in worker processes.

    inspector = Inspector(ReleaseAtHand(root, manifest))
    inspector.inspect(RowGroup("data/tekken/4k/vt.parquet", 0))

Every row is counted again, held to the laws that it must satisfy alone (laws.py), and read back to
the last character by its family (families/table.py). What the checks of the whole file and release
need is collected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from ruler_builder.common.parquet_rows import RowsDigest, read_rows, rows_of
from ruler_builder.common.text_digests import digest_of_question, text_digest
from ruler_builder.families.table import FAMILIES, with_optional
from ruler_builder.proof.laws import breaches, full
from ruler_builder.proof.parquet_bytes import check_row_group, read_footer
from ruler_builder.proof.shared_texts import SharedText, longer_texts, unlike_most
from ruler_builder.proof.verify_report import WHOLE_FILE, AskedDigest, Found
from ruler_builder.reading.breaches import Breach, FileRules, Law, context_of
from ruler_builder.reading.reading import Reading
from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.reference_counter import ReleaseAtHand, Uncounted, absent, reference
from ruler_builder.tokens.second_engine import EngineMismatch, confirm, is_sampled, with_engine
from ruler_common.errors import RulerError
from ruler_common.files import UNREADABLE
from ruler_common.outside.parquet_bounds import open_parquet
from ruler_common.rows import COLUMNS, Row
from ruler_common.work import let_go


class RowGroup(NamedTuple):
    """A row group of a Parquet file: one piece of work."""

    path: str
    group: int
    # Whether a second engine may count, where there is one (tokens/second_engine.py).
    fast: bool = True
    # Whether the file has no other row group: its digest is then taken at once.
    whole_file: bool = False


@dataclass(frozen=True, kw_only=True)
class InspectedRow:
    """What the inspection of one row found, for checks of the whole file and release."""

    index: int
    length: int
    # Without its text and what it asks, of which there are digests.
    reading: Reading
    asked: AskedDigest
    depths: np.ndarray
    # Of a row of a corpus: the digest that the manifest has of it.
    question: str
    text: str
    """A digest of what the row asks, or in qa of its whole text; "" where it may be there twice."""


@dataclass
class InspectedRowGroup:
    """What the inspection of one row group found, for checks of the whole file and release."""

    path: str
    number: int
    _: KW_ONLY
    # Why it was not inspected: the second engine counted otherwise than the reference.
    mismatch: str = ""
    rows: list[InspectedRow] = field(default_factory=list)
    breaches: list[Found] = field(default_factory=list)
    # Characters and digest of the longest text of the group.
    longest: tuple[int, str] = (0, "")
    # That text, where its source is not at hand.
    text: SharedText | None = None
    # Sources that were not at hand.
    missing: frozenset[str] = frozenset()
    # Of a whole file's rows (see Inspector.digest).
    digest: str = ""


class Inspector:
    """A worker that inspects row groups; it keeps the tokenizer and the footer it used last."""

    def __init__(self, here: ReleaseAtHand) -> None:
        self.here, self.root, self.manifest = here, here.root, here.manifest
        self.sources = SourcesAtHand(here.manifest, here.mirror, here.given)
        self.absent = absent(here)
        self.counter = lru_cache(maxsize=1)(self._counter)
        self._footer = lru_cache(maxsize=1)(lambda path: read_footer(self.root / path))

    def _counter(self, tokenizer: str, fast: bool) -> TokenCounter:
        """The tokenizer, checked against the manifest's digests; with a second engine if `fast`."""
        if tokenizer in self.absent:
            return Uncounted(tokenizer, self.manifest["tokenizers"][tokenizer])
        counter = reference(tokenizer, self.here)
        return with_engine(counter) if fast else counter

    def _rules(self, part: RowGroup) -> FileRules:
        entry = self.manifest["files"][part.path]
        task = self.manifest["tasks"][entry["task"]]
        return FileRules(
            entry=entry,
            task=with_optional(task),
            wording=self.manifest["families"][task["family"]],
            canary=self.manifest["canary"],
            reserve=self.manifest["reserve"],
            languages=self.manifest.get("languages", {}),
            sources=self.sources,
            count=self.counter(entry["tokenizer"], part.fast).count,
            counted=entry["tokenizer"] not in self.absent,
        )

    def digest(self, path: str) -> tuple[str, str]:
        """A file's path, and the digest of its rows whatever wrote them; "" if it is unreadable."""
        digest = RowsDigest()
        try:
            for row in read_rows(self.root / path):
                digest.add(row)
        except (RulerError, *UNREADABLE):
            digest.broken = True
        return path, digest.hexdigest()

    def questions(self, corpus: str) -> tuple[str, int | None]:
        """How many questions a corpus has; None where it is not at hand.

        Asked of a worker: it has read the corpus for its rows, and lets go of it at its end.
        """
        found = self.sources.corpus(corpus)
        return corpus, None if found is None else len(found.questions)

    def inspect(self, part: RowGroup) -> InspectedRowGroup:
        """Check every row of a row group alone, and collect what the file's checks need.

        Stops where the second engine's count turns out wrong: the group is to be inspected again.
        """
        try:
            return self._inspect(part)
        except EngineMismatch as error:
            return InspectedRowGroup(part.path, part.group, mismatch=str(error))
        finally:
            let_go()

    def _inspect(self, part: RowGroup) -> InspectedRowGroup:
        group, rules = InspectedRowGroup(part.path, part.group), self._rules(part)
        counter = self.counter(rules.entry["tokenizer"], part.fast)
        try:
            with open_parquet(self.root / part.path) as file:
                table = file.read_row_group(part.group)
            odd = check_row_group(self._footer(part.path), part.group, table)
            group.breaches += [Found(WHOLE_FILE, Law.DIGESTS, what) for what in odd]
        except (RulerError, *UNREADABLE) as error:
            why = str(error).partition("\n")[0]
            what = f"row group {part.group} cannot be read: {why}"
            group.breaches.append(Found(WHOLE_FILE, Law.DIGESTS, what))
            return group
        texts: list[SharedText] = []
        digest = RowsDigest()
        for row in rows_of(table):
            digest.add(row)
            if null := _null(row):
                index = WHOLE_FILE if row["index"] is None else row["index"]
                group.breaches.append(Found(index, Law.ACCOUNTED, f"{null} is null"))
                continue
            tokens = row["length"] - row["max_new_tokens"]
            if rules.counted:
                tokens = _tokens(row, counter, rules.entry["config"])
            try:
                found = list(self._row(row, tokens, rules, group, texts))
            except (EngineMismatch, RulerError):
                raise
            except Exception as error:  # a row that a stranger wrote; the others are still checked
                why = f"the row cannot be read back ({type(error).__name__}: {str(error)[:80]})"
                found = [Breach(Law.ACCOUNTED, why)]
            group.breaches += [Found(row["index"], law, what) for law, what in found]
        group.digest = digest.hexdigest() if part.whole_file else ""
        what = "the text around the needles is not that of the other rows"
        others = unlike_most(texts, tried=3)
        group.breaches += [Found(shared.row, Law.ACCOUNTED, what) for shared in others]
        group.breaches += longer_texts(texts, rules.count)
        group.text = max(texts, key=lambda shared: len(shared.text), default=None)
        group.missing = frozenset(self.sources.missing)
        return group

    def _row(
        self,
        row: Row,
        tokens: int,
        rules: FileRules,
        group: InspectedRowGroup,
        texts: list[SharedText],
    ) -> Iterator[Breach]:
        """The breaches of one row; what it is part of goes to the group."""
        family = FAMILIES[rules.task["family"]]
        yield from breaches(row, tokens, rules)
        reading = family.read(row, rules)
        yield from reading.faults
        yield from full(row, reading, rules)
        if not rules.counted:
            reading.unit_least = 0
        if reading.text is not None and len(reading.text) > group.longest[0]:
            group.longest = len(reading.text), text_digest(reading.text)
        if reading.text is not None and reading.repeats is None:
            spare = rules.spare(row)
            texts.append(SharedText(group.path, row["index"], reading.origin, reading.text, spare))
        asked = reading.asked or [row["question"], row["outputs"]]
        digest = text = _short_digest(json.dumps(asked, ensure_ascii=False))
        question = ""
        depths = np.array([s["depth"] for s in row["evidence"] if s["answer"]], dtype=np.float32)
        if not row["evidence"] and not rules.alone:
            depths = _depths_in_list(row)
        if family.params.from_corpus:  # which may have a question twice
            question = digest_of_question(row)
            text = "" if rules.alone else _short_digest(row["input"])
        group.rows.append(
            InspectedRow(
                index=row["index"],
                length=row["length"],
                reading=replace(reading, text=None, asked=None, faults=[]),
                asked=AskedDigest(reading.scope, digest, reading.depths),
                depths=depths,
                question=question,
                text=text,
            )
        )


def _short_digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _depths_in_list(row: Row) -> np.ndarray:
    """Where the asked words of a row without needles stand, as shares of its list of words."""
    words = context_of(row).split(" ")
    asked = {*row["outputs"]}
    places = [place for place, word in enumerate(words) if word in asked]
    return np.array(places, dtype=np.float32) / len(words)  # of long lists there are millions


def _tokens(row: Row, counter: TokenCounter, config: str) -> int:
    """Tokens of a row: sampled rows, and those that seem wrong, by the reference library too."""
    text = row["input"] + row["answer_prefix"]
    tokens = counter.count(text)
    if is_sampled(row["index"]) or tokens + row["max_new_tokens"] != row["length"]:
        return confirm(counter, text, tokens, f"row {row['index']} of {config}")
    return tokens


def _null(row: Row) -> str | None:
    """A column, or an item of one, that has no value; None if all have."""
    values = cast(Mapping[str, Any], row)
    for name in COLUMNS:
        if values[name] is None or (isinstance(values[name], list) and None in values[name]):
            return name
    return "evidence" if any(None in span.values() for span in row["evidence"]) else None
