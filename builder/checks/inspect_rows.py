"""Inspect the rows of a release, a row group at a time, in worker processes.

    inspector = Inspector(root, manifest, mirror, specs)
    inspector.inspect(RowGroup("data/tekken/4k/vt.parquet", 0), on_progress)

Every row is counted again, held to the laws that it must satisfy alone (laws.py), and read back to
the last character (grammar/). What the checks of the whole file and release need is collected.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from builder.checks.breaches import Breach, FileRules, Law, context_of, pattern_of
from builder.checks.grammar.documents_grammar import digest_of_question
from builder.checks.grammar.families_read import GRAMMARS
from builder.checks.grammar.reading import Reading
from builder.checks.grammar.running_text import text_digest
from builder.checks.laws import asked, breaches, unanswerable
from builder.checks.sources_at_hand import SourcesAtHand
from builder.checks.verify_report import WHOLE_FILE, AskedDigest, Found
from builder.common.parquet_rows import digest_row, read_groups
from builder.common.processes import OnProgress
from builder.tasks.task_rules import with_optional
from builder.tokens.reference_counter import reference
from builder.tokens.second_engine import EngineMismatch, confirm, is_sampled, with_engine
from builder.tokens.tokenizers import TokenCounter
from ruler_dataset import COLUMNS, UNREADABLE, Manifest, Row, RulerError

_LISTS = ("common_words", "frequent_words", "multilingual_words")
"""Families whose references stand all over a list of words, and in no evidence."""


class RowGroup(NamedTuple):
    """A row group of a Parquet file: one piece of work."""

    path: str
    group: int
    fast: bool = True
    """Whether a second engine may count, where there is one (builder/tokens/second_engine.py)."""
    whole_file: bool = False
    """Whether the file has no other row group: its digest is then taken at once."""


class SharedText(NamedTuple):
    """A row's essay or book text without its needles, which other rows and files share."""

    row: int
    origin: str
    text: str


@dataclass
class InspectedRowGroup:
    """What the inspection of one row group found, for checks of the whole file and release."""

    path: str
    number: int
    _: KW_ONLY
    mismatch: str = ""
    """Why it was not inspected: the second engine counted otherwise than the reference."""
    indices: list[int] = field(default_factory=list)
    breaches: list[Found] = field(default_factory=list)
    asked: dict[int, AskedDigest] = field(default_factory=dict)
    depths: list[float] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    alone: bool = False
    """Whether there is no haystack over which the evidence could be spread."""
    lengths: list[int] = field(default_factory=list)
    units: list[int | None] = field(default_factory=list)
    exhausted: list[bool | None] = field(default_factory=list)
    repeats: list[int | None] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    """Digests of what each row asks, or in qa of its whole text."""
    longest: tuple[int, str] = (0, "")
    """Characters and digest of the longest text of the group."""
    text: SharedText | None = None
    """That text, where its source is not at hand."""
    missing: frozenset[str] = frozenset()
    """Sources that were not at hand."""
    digest: str = ""
    """Of a whole file's rows (see Inspector.digest)."""


class Inspector:
    """A worker that inspects row groups; it keeps the tokenizer it used last."""

    def __init__(
        self, root: Path, manifest: Manifest, mirror: str | None, specs: dict[str, str]
    ) -> None:
        self.root, self.manifest, self.mirror, self.specs = root, manifest, mirror, specs
        self.sources = SourcesAtHand(manifest, mirror)
        self._counter: tuple[tuple[str, bool], TokenCounter] | None = None
        self._mismatches: dict[str, str] = {}

    def counter(self, tokenizer: str, fast: bool) -> TokenCounter:
        """The tokenizer, checked against the manifest's digests; with a second engine if `fast`."""
        key = tokenizer, fast
        if self._counter is None or self._counter[0] != key:
            counter = reference(tokenizer, self.manifest, self.root, self.mirror, self.specs)
            self._counter = key, with_engine(counter) if fast else counter
        return self._counter[1]

    def _rules(self, part: RowGroup) -> FileRules:
        entry = self.manifest["files"][part.path]
        task = self.manifest["tasks"][entry["task"]]
        return FileRules(
            entry=entry,
            task=with_optional(task),
            wording=self.manifest["families"][task["family"]],
            reserve=self.manifest["reserve"],
            languages=self.manifest.get("languages", {}),
            sources=self.sources,
            count=self.counter(entry["tokenizer"], part.fast).count,
        )

    def digest(self, path: str, on_progress: OnProgress) -> tuple[str, str]:
        """A file's path, and the digest of its rows whatever wrote them; "" if it is unreadable."""
        found = _digest(row for rows in read_groups(self.root / path) for row in rows)
        on_progress(0)
        return path, found

    def inspect(self, part: RowGroup, on_progress: OnProgress) -> InspectedRowGroup:
        """Check every row of a row group alone, and collect what the file's checks need.

        Stops where the second engine's count turns out wrong: the group is to be inspected again.
        """
        tokenizer = self.manifest["files"][part.path]["tokenizer"]
        mismatch = self._mismatches.get(tokenizer, "") if part.fast else ""
        if not mismatch:
            try:
                return self._inspect(part, on_progress)
            except EngineMismatch as error:
                mismatch = self._mismatches[tokenizer] = str(error)
        return InspectedRowGroup(part.path, part.group, mismatch=mismatch)

    def _inspect(self, part: RowGroup, on_progress: OnProgress) -> InspectedRowGroup:
        import pyarrow.parquet as pq

        group, rules = InspectedRowGroup(part.path, part.group), self._rules(part)
        counter = self.counter(rules.entry["tokenizer"], part.fast)
        try:
            with pq.ParquetFile(self.root / part.path) as file:
                rows: list[Row] = file.read_row_group(part.group).to_pylist()
        except UNREADABLE as error:
            why = str(error).partition("\n")[0]
            what = f"row group {part.group} cannot be read: {why}"
            group.breaches.append(Found(WHOLE_FILE, Law.DIGESTS, what))
            return group
        if part.whole_file:
            group.digest = _digest(rows)
        texts: list[SharedText] = []
        for row in rows:
            if null := _null(row):
                index = WHOLE_FILE if row["index"] is None else row["index"]
                group.breaches.append(Found(index, Law.ACCOUNTED, f"{null} is null"))
                continue
            tokens = _tokens(row, counter, rules.entry["config"])
            try:
                found = list(self._row(row, tokens, counter, rules, group, texts))
            except (EngineMismatch, RulerError):
                raise
            except Exception as error:  # a row that a stranger wrote; the others are still checked
                why = f"the row cannot be read back ({type(error).__name__}: {str(error)[:80]})"
                found = [Breach(Law.ACCOUNTED, why)]
            group.breaches += [Found(row["index"], law, what) for law, what in found]
            on_progress(1)
        group.breaches += _other_texts(texts)
        group.text = max(texts, key=lambda shared: len(shared.text), default=None)
        group.missing = frozenset(self.sources.missing)
        return group

    def _row(
        self,
        row: Row,
        tokens: int,
        counter: TokenCounter,
        rules: FileRules,
        group: InspectedRowGroup,
        texts: list[SharedText],
    ) -> Iterator[Breach]:
        """The breaches of one row; what it is part of goes to the group."""
        family = rules.task["family"]
        yield from breaches(row, tokens, rules)
        yield from unanswerable(row, counter.counts, rules)
        reading = GRAMMARS[family](row, rules)
        for fault in reading.faults:
            yield Breach(Law.ACCOUNTED, fault)
        yield from _full(row, reading, rules)
        if reading.text is not None and len(reading.text) > group.longest[0]:
            group.longest = len(reading.text), text_digest(reading.text)
        if reading.text is not None and reading.repeats is None:
            texts.append(SharedText(row["index"], reading.origin, reading.text))
        scope, question = asked(row, rules)
        digest = hashlib.blake2b(question.encode(), digest_size=8).hexdigest()
        parallel = family == "multilingual_niah"
        depths = [span["depth"] for span in row["evidence"] if parallel]
        group.indices.append(row["index"])
        group.lengths.append(row["length"])
        group.units.append(reading.unit)
        group.exhausted.append(reading.exhausted)
        group.repeats.append(reading.repeats)
        group.asked[row["index"]] = AskedDigest(scope, digest, depths)
        group.depths += [span["depth"] for span in row["evidence"] if span["answer"]]
        if family in _LISTS and not rules.alone:
            group.depths += _depths_in_list(row)
        if family == "question_answering":
            group.questions.append(digest_of_question(row))
            digest = hashlib.blake2b(row["input"].encode(), digest_size=8).hexdigest()
            group.places += _places(row, rules.wording["document"])
        if family != "question_answering" or not rules.alone:  # a question may be there twice
            group.texts[row["index"]] = digest
        group.alone = rules.alone


def _depths_in_list(row: Row) -> list[float]:
    """Where the asked words stand in a list of words, as shares of the list."""
    words = context_of(row).split(" ")
    asked = {*row["outputs"]}
    return [place / len(words) for place, word in enumerate(words) if word in asked]


def _digest(rows: Iterable[Row]) -> str:
    """The digest of rows; "" if they cannot be read, or lack what a row has."""
    digest = hashlib.sha256()
    try:
        for row in rows:
            digest_row(digest, row)
    except (*UNREADABLE, AttributeError):
        return ""
    return digest.hexdigest()


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


def _full(row: Row, reading: Reading, rules: FileRules) -> Iterator[Breach]:
    """The window is full by the units of the row itself, whatever the manifest says of them."""
    spare = row["max_length"] - rules.reserve - row["length"]
    if rules.alone:  # by design: there is no window, and the grammar allows no haystack
        return
    if reading.unit is not None and spare >= reading.unit and reading.exhausted is False:
        yield Breach(Law.FULL, f"{spare} tokens are free, a unit has at most {reading.unit}")


def _other_texts(texts: list[SharedText]) -> Iterator[Found]:
    """The rows whose text is not the one that most rows have from its beginning."""
    if not texts:
        return
    usual = max(texts[:3], key=lambda one: sum(same_text(one.text, two.text) for two in texts))
    for shared in texts:
        if not same_text(usual.text, shared.text):
            what = "the text around the needles is not that of the other rows"
            yield Found(shared.row, Law.ACCOUNTED, what)


def same_text(one: str, other: str) -> bool:
    """Whether one of two texts goes on where the other ends."""
    return one.startswith(other) or other.startswith(one)


def _places(row: Row, template: str) -> list[tuple[int, int]]:
    """Where the gold documents stand: how many come before, and how many there are in all."""
    label = pattern_of(template.split("{document}")[0], i=r"\d+")
    labels = label.finditer(row["input"], row["context_start"], row["context_end"])
    starts = [match.end() for match in labels]
    total = max(1, len(starts))
    return [(bisect_left(starts, span["start"]), total) for span in row["evidence"]]
