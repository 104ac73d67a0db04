"""How much of the prompts comes from a prefix cache, beside what their common beginnings allow.

    python -m tests.bench.bench_prefix RELEASE all_4k --tokenizer FOLDER
    python -m tests.bench.bench_prefix RELEASE all_4k --tokenizer FOLDER --limit 80 \\
        --base-url http://localhost:8000/v1 --model NAME

Rows are rendered, tokenised and ordered as a run sends them, in waves (`--even`: of one size, as
`ruler decide` sends them). By task, as shares of the prompt tokens: `allowed`, whole blocks of
`--block` ids that begin an earlier prompt too (a trie over ids; the last token is always computed);
`cache`, those of them that are still there in a cache of `--cache` tokens whose least recently used
blocks go first, rows one after another (simulated); with --base-url `vLLM`, what a real server
reports for each row of a run of one token a row (`--enable-prompt-tokens-details`), which has
answered nothing before; its own counters over the whole run are in the last line.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import urllib.request
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ruler_eval.run.plan import WAVE, read_rows
from ruler_eval.run.prompts import Prompter, load_tokenizer
from ruler_eval.run.runner import OpenRun
from tests.eval.run.run_options import model_options


class Cache:
    """Blocks of token ids by all that stands before them; the end of a prompt is let go first."""

    def __init__(self, tokens: float, block: int) -> None:
        self._most, self._size = tokens / block, block
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def read(self, ids: Sequence[int]) -> int:
        """How many tokens of a prompt are there; then all of it is."""
        keys, key, size = [], 0, self._size
        for at in range(0, len(ids) - size + 1, size):
            key = hash((key, *ids[at : at + size]))
            keys.append(key)
        usable = keys[: (len(ids) - 1) // size]
        found = next((n for n, key in enumerate(usable) if key not in self._blocks), len(usable))
        for key in reversed(keys):
            self._blocks[key] = None
            self._blocks.move_to_end(key)
        while len(self._blocks) > self._most:
            self._blocks.popitem(last=False)
        return found * size


def counters(base_url: str) -> tuple[float, float]:
    """Tokens that a vLLM server looked up in its cache so far, and those that it found."""
    with urllib.request.urlopen(base_url.removesuffix("/v1") + "/metrics") as reply:
        text = reply.read().decode()
    names = ("queries", "hits")
    found = [re.findall(rf"^vllm:prefix_cache_{n}_total\{{.*\}} (\S+)", text, re.M) for n in names]
    return sum(map(float, found[0])), sum(map(float, found[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("configs", help="separated by commas; groups too")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--cache", type=int, default=1 << 19)
    parser.add_argument("--block", type=int, default=16, help="vLLM's on a GPU; on a CPU 128")
    parser.add_argument("--even", action="store_true")
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="m")
    asked = parser.parse_args()
    options = model_options(
        *(asked.model,), tokenizer=asked.tokenizer, base_url=asked.base_url, concurrency=1,
        arguments={"max_tokens": 1},
    )  # fmt: skip
    tokenizer = load_tokenizer(asked.tokenizer)
    mode = "prefill" if tokenizer.chat_template else "completion"
    prompter = Prompter(mode, tokenizer)
    tokens, allowed, cached = Counter[str](), Counter[str](), Counter[str]()
    told: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        order = replace(
            options,
            dataset=asked.dataset,
            configs=tuple(asked.configs.split(",")),
            backend="openai",
            out=Path(folder) / "RUN",
            mode=mode,
            limit=asked.limit,
        )
        endless, bounded = Cache(float("inf"), asked.block), Cache(asked.cache, asked.block)
        with OpenRun(order, look_every=WAVE if asked.even else None) as work:
            configs = [part.config for part in work.parts]
            parts = [part for wave in work.in_order for part in wave]
            for config, row in read_rows(work.checked.release, parts):
                ids = prompter(config, row).token_ids or ()
                tokens[config] += len(ids)
                allowed[config] += endless.read(ids)
                cached[config] += bounded.read(ids)
        if asked.base_url:
            before = counters(asked.base_url)
            with OpenRun(order, look_every=WAVE if asked.even else None) as work:
                work.answer([part for wave in work.in_order for part in wave])
                for part in work.parts:
                    usages = [one["usage"] for one in work.records.read(part.config).values()]
                    hits, read = (
                        sum(usage[name] or 0 for usage in usages if usage)
                        for name in ("cached_tokens", "prompt_tokens")
                    )
                    assert read == tokens[part.config], "each row was read, as it was counted here"
                    told[part.config] = hits / read
            queries, hits = (b - a for a, b in zip(before, counters(asked.base_url), strict=True))
    print(f"{'':28}{'allowed':>9}{'cache':>9}" + ("    vLLM" if told else "") + "  of allowed")
    for config in configs:
        limit = allowed[config] / tokens[config]
        found = [cached[config] / tokens[config], *([told[config]] if told else [])]
        share = f"{found[-1] / limit:11.1%}" if limit else ""
        print(f"{config:28}{limit:9.2%}" + "".join(f"{one:9.2%}" for one in found) + share)
    total = sum(tokens.values())
    limit, found_all = sum(allowed.values()) / total, sum(cached.values()) / total
    real = f"{hits / queries:9.2%}" if told else ""
    last = hits / queries if told else found_all
    print(f"{'all':28}{limit:9.2%}{found_all:9.2%}{real}{last / limit:11.1%}")


if __name__ == "__main__":
    main()
