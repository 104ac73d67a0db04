"""Check the metadata of a card as the Hub does, as far as this project's cards need it."""

from __future__ import annotations

import re
from typing import Any


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# ISO 639-1, as the Hub accepts them
LANGUAGES = _set(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy "
    "da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu "
    "hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb "
    "lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om "
    "or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw "
    "ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
LICENSES = _set("apache-2.0 mit bsd-3-clause cc0-1.0 cc-by-4.0 cc-by-sa-4.0 gpl-3.0 unknown other")
TASKS = _set(
    "text-classification token-classification table-question-answering question-answering "
    "zero-shot-classification translation summarization feature-extraction text-generation "
    "fill-mask sentence-similarity text-retrieval text-ranking other"
)
SIZES = _set("n<1K 1K<n<10K 10K<n<100K 100K<n<1M 1M<n<10M 10M<n<100M 100M<n<1B 1B<n<10B")
LISTED = {"language": LANGUAGES, "task_categories": TASKS, "size_categories": SIZES}


def faults(kind: str, card: dict[str, Any]) -> list[str]:
    """Return a sentence for each fault; `kind` is dataset or space."""
    needed = {"space": ("sdk", "title"), "dataset": ("configs", "license")}[kind]
    result = [f'"{key}" is required' for key in needed if key not in card]
    if "license" in card and card["license"] not in LICENSES:
        result.append(f'"license" must be one of a list, not {card["license"]}')
    if card.get("license") == "other":
        name, link = card.get("license_name"), card.get("license_link")
        if not re.fullmatch(r"[a-z0-9-.]+", str(name)):
            result.append('"license_name" is required, in lower case')
        if not re.fullmatch(r"https://\S+|LICENSE(\.md)?", str(link)):
            result.append('"license_link" must be an address or LICENSE')
    return result + (_dataset_faults(card) if kind == "dataset" else [])


def _dataset_faults(card: dict[str, Any]) -> list[str]:
    result = []
    for key, allowed in LISTED.items():
        unknown = [value for value in card.get(key, ()) if value not in allowed]
        result += [f'"{key}" must be of a list, not {value!r}' for value in unknown]
    for config in card.get("configs", ()):
        if set(config) - {"data_dir"} != {"config_name", "data_files"} or not re.fullmatch(
            r"[\w.+-]+", config["config_name"]
        ):
            result.append(f'"configs" holds {config}')
    return result
