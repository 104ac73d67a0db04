"""Rows of ONERULER made from the published files by the paper's recipe, without the builder."""

from __future__ import annotations

import csv
import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

NAMES = {
    "cs": "Czech", "da": "Danish", "de": "German", "es": "Spanish", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "hi": "Hindi", "hu": "Hungarian", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ru": "Russian", "sr": "Serbian", "st": "Sesotho", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
NEEDLES = {"niah_single": 1, "niah_multikey": 4, "niah_multivalue": 1, "niah_multiquery": 2}
Row = dict[str, Any]


class Published:
    """The folder of the published files, and the rows made of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.prompt = cache(self._prompt)
        self.book = cache(self._book)
        self.words = cache(self._words)
        self.nouns = cache(self._nouns)

    def _prompt(self, language: str) -> dict[str, str]:
        text = (self.root / f"prompt/{language}/niah.txt").read_text(encoding="utf-8-sig")
        parts: dict[str, str] = json.loads(text)
        return parts

    def cwe_template(self, language: str) -> str:
        """The template of cwe; the Vietnamese one holds {context} and the question twice."""
        text = (self.root / f"prompt/{language}/cwe.txt").read_text(encoding="utf-8-sig")
        return re.sub(r"\\n\{context\}\\n[^\n]*", "", text)

    def _book(self, language: str) -> str:
        path = next((self.root / f"books/{language}").glob("*.txt"))
        return " ".join(path.read_text(encoding="utf-8-sig", errors="replace").split())

    def _words(self, language: str) -> list[str]:
        if language == "en":
            text = re.findall(r"[a-z]{4,}", self.book("en").casefold())
        else:
            name = NAMES[language]
            path = self.root / f"vocab/dictionaries/{name}/{name}.csv"
            with path.open(encoding="utf-8-sig", newline="") as file:
                text = [" ".join((line["words"] or "").split()) for line in csv.DictReader(file)]
        return list(dict.fromkeys(word for word in text if re.fullmatch(r"[^\d.:;,/()]+", word)))

    def _nouns(self) -> list[dict[str, str]]:
        path = self.root / "vocab/100_noun_list_translated.tsv"
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [
                {language: " ".join((noun or "").split()) for language, noun in line.items()}
                for line in csv.DictReader(file, delimiter="\t")
            ]
        folded = {
            language: [row[language].casefold() for row in rows] for language in ("en", *NAMES)
        }
        return [
            row
            for row in rows
            if all(nouns.count(row[language].casefold()) == 1 for language, nouns in folded.items())
        ]

    def niah(
        self,
        task: str,
        language: str,
        instruction: str | None = None,
        seed: int = 0,
        characters: int = 8_000,
        offers_none: bool = True,
    ) -> Row:
        """A niah row over a piece of the book; `instruction` asks in another language.

        Beside the columns: `tail` (what follows the context), its first key and an absent one.
        """
        rng, asks = random.Random(f"{task} {seed}"), self.prompt(instruction or language)
        count = NEEDLES.get(task, 4)
        nouns = rng.sample(self.nouns(), count + 1)
        keys = [noun[language] for noun in nouns[:count]]
        values = [str(value) for value in rng.sample(range(10**6, 10**7), max(count, 4))]
        held = [(keys[0], value) for value in values]
        if task != "niah_multivalue":
            held = list(zip(keys, values, strict=False))
        spaced = language not in ("ja", "zh")
        stop, separator = (".", " ") if spaced else ("。", "")
        start = rng.randrange(len(self.book(language)) - characters)
        text = self.book(language)[start : start + characters]
        sentences = re.split(r"(?<=[.!?؟।]) " if spaced else r"(?<=[。！？])", text)
        needle = self.prompt(language)["needle_numbers"]
        for key, value in held:
            sentence = needle.format(key=key, value=value).strip() + stop
            sentences.insert(rng.randrange(1, len(sentences)), sentence)
        of = instruction or language
        wanted = [nouns[0][of], nouns[1][of]]
        question = asks["question_single_numbers"].format(query1=wanted[0])
        outputs = [value for _, value in held[:1]]
        if task == "niah_multivalue":
            outputs = values
        elif task == "niah_multiquery":
            question = asks["question_multi_numbers"].format(query1=wanted[0], query2=wanted[1])
            outputs = values[:2]
        elif task == "niah_none":
            question = asks["question_single_numbers"].format(query1=nouns[count][of])
            outputs = [asks["none"]]
        none = asks["if_no_numbers"]
        if not offers_none:  # the tag that closes the question stands behind the sentence
            none = none[none.index("</") :]
        parts = [
            question,
            asks["please_list"],
            none + asks["answer_prefix"],
            asks["answer_numbers"],
        ]
        tail = (" " if of not in ("ja", "zh") else "").join(parts)
        head, _, after = asks["task"].partition("{context}")
        return {
            "input": head + separator.join(sentences) + after + tail,
            "outputs": outputs,
            "none_word": asks["none"],
            "tail": tail,
            "asked": wanted[0],
            "absent": nouns[count][of],
        }

    def cwe(self, task: str, language: str, seed: int = 0) -> Row:
        """A cwe row: ten common words among forty others."""
        rng, (common, rare) = random.Random(seed), (10, 1) if task == "cwe_easy" else (10, 5)
        words = rng.sample(self.words(language), 50)
        listed = words[:10] * common + words[10:] * rare
        rng.shuffle(listed)
        context = " ".join(f"{i}. {word}" for i, word in enumerate(listed, 1))
        return {
            "input": self.cwe_template(language).replace("{context}", context),
            "outputs": words[:10],
            "none_word": "",
        }
