"""The options of `ruler run`, for the command and for the Python call.

RunOptions("ruler", configs="all_4k", backend="vllm", model="org/model", out="RUN")
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ruler_common.errors import RulerError
from ruler_common.options import (
    NameOrNames,
    Option,
    Place,
    check_options,
    names_in,
    several,
)
from ruler_eval.run.secrets import check_argument

if TYPE_CHECKING:
    from ruler_eval.run.reasoning import Reasoning

BACKENDS = ("vllm", "openai", "hf", "oracle", "batch")
MODES = ("prefill", "chat", "completion")
SAMPLERS = ("temperature", "top_p", "top_k", "min_p", "presence_penalty", "seed")
"""The fields of RunOptions that say how tokens are drawn."""
MOST_USED, WHAT, MODEL, SERVER = "Most used", "What", "Model", "Server"
SAMPLING, BATCH = "Sampling", "Batch files"


def parse_price(text: str) -> tuple[float, float]:
    """Read IN,OUT: the prices of a million tokens of prompts and of answers."""
    try:
        prompts, answers = map(float, text.split(","))
    except ValueError:
        prompts = answers = math.nan
    if not (0 <= prompts < math.inf and 0 <= answers < math.inf):
        raise RulerError("--price takes IN,OUT for a million tokens, such as 0.15,0.60.")
    return prompts, answers


def parse_arguments(pairs: Iterable[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; a value is JSON if it reads as JSON, else text."""
    arguments: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().removeprefix("--").replace("-", "_")
        if not equals or not name:
            raise RulerError("--engine-arg takes NAME=VALUE, such as dtype=bfloat16.")
        try:
            arguments[name] = json.loads(text)
        except (ValueError, RecursionError):
            arguments[name] = text
    return arguments


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run. Raises RulerError for an invalid value."""

    dataset: Annotated[
        Place,
        Option(
            "A release folder or Hub repository (ORG/NAME).",
            panel=MOST_USED,
            short="-d",
            metavar="RELEASE",
            envvar="RULER_DATASET",
        ),
    ] = field(kw_only=False)
    configs: Annotated[
        NameOrNames,
        Option(
            "Configurations, separated by commas: all_4k,niah_mk_128k, all, or *_4k.",
            panel=MOST_USED,
            short="-c",
            parse=names_in,
            metavar="NAMES",
        ),
    ]
    backend: Annotated[
        str,
        Option(
            "vllm, openai (any OpenAI-compatible server), hf, batch (files for a batch API), or "
            "oracle (no model).",
            panel=MOST_USED,
            short="-b",
            choices=BACKENDS,
        ),
    ]
    out: Annotated[
        Place,
        Option(
            "Folder of this run; an existing one is resumed.",
            panel=MOST_USED,
            short="-o",
            metavar="RUN",
        ),
    ]
    model: Annotated[
        str,
        Option(
            "A folder, a name on the Hub, or the name under which a server knows the model.",
            panel=MOST_USED,
            short="-m",
            envvar="RULER_MODEL",
        ),
    ] = ""
    mode: Annotated[
        str | None,
        Option(
            "How a prompt is made: prefill (chat models), completion (base models) or chat (no "
            "answer prefix).",
            default="prefill with a chat template, completion without one, chat with --thinking "
            "and for servers that cannot continue a turn",
            panel=MOST_USED,
            choices=MODES,
        ),
    ] = None
    thinking: Annotated[
        str | int,
        Option(
            "off, on, or the number of tokens for reasoning, in addition to the answer (on: 8192).",
            panel=MOST_USED,
            metavar="off|on|TOKENS",
        ),
    ] = "off"
    limit: Annotated[
        int | None,
        Option(
            "Run the first N rows of each configuration's frozen order.", panel=MOST_USED, min=1
        ),
    ] = None
    base_url: Annotated[
        NameOrNames | None,
        Option(
            "openai: the server, such as http://localhost:8000/v1; several are asked in turn, "
            "separated by commas.",
            panel=MOST_USED,
            parse=names_in,
            metavar="URL",
            envvar="RULER_BASE_URL",
        ),
    ] = None
    concurrency: Annotated[
        int,
        Option(
            "openai, vllm: how many requests may be in flight.", panel=MOST_USED, min=1, max=1000
        ),
    ] = 32

    repeats: Annotated[
        int,
        Option(
            "Samples of each row, with the seeds SEED, SEED + 1, …: scored as mean and pass@k.",
            panel=WHAT,
            min=1,
            max=1000,
        ),
    ] = 1
    until: Annotated[
        float | None,
        Option(
            "Stop when the mean over all tasks is known within ± this many points (95 %).",
            panel=WHAT,
            min=0,
            max=50,
            above=True,
        ),
    ] = None
    shard: Annotated[
        str | None,
        Option(
            "Run the i-th of n parts, in whole files: i/n. Its folder is RUN/iofn.",
            panel=WHAT,
            metavar="i/n",
        ),
    ] = None
    retry_failed: Annotated[
        bool, Option("Run the rows again that failed or did not fit.", panel=WHAT)
    ] = False
    skip_missing: Annotated[
        bool, Option("Run those tasks of a group that the release has.", panel=WHAT)
    ] = False
    data_revision: Annotated[
        str | None, Option("The release's tag or commit on the Hub.", panel=WHAT)
    ] = None
    price: Annotated[
        tuple[float, float] | None,
        Option(
            "Prices of a million prompt tokens and of a million answer tokens, to estimate the "
            "cost.",
            panel=WHAT,
            parse=parse_price,
            metavar="IN,OUT",
        ),
    ] = None

    direct: Annotated[
        bool,
        Option("With --mode chat, end the user's turn with the answer prefix.", panel=MODEL),
    ] = False
    system: Annotated[
        str | None,
        Option("The text of a system turn; not with --mode completion.", panel=MODEL),
    ] = None
    revision: Annotated[
        str | None, Option("The model's tag or commit on the Hub.", panel=MODEL)
    ] = None
    tokenizer: Annotated[
        str | None,
        Option(
            "The tokenizer that counts prompts: a folder, a GGUF file or a name on the Hub.",
            default="the model's",
            panel=MODEL,
        ),
    ] = None
    chat_template: Annotated[
        Place | None,
        Option(
            "vllm, hf: a jinja2 file, used instead of the tokenizer's own template.", panel=MODEL
        ),
    ] = None
    max_model_len: Annotated[
        int | None,
        Option("The model's context window, if it cannot be determined.", panel=MODEL, min=1),
    ] = None
    engine_args: Annotated[
        Mapping[str, Any],
        Option(
            "A flag of `vllm serve` (vllm), an argument of from_pretrained (hf), or a field of the "
            "request (openai); repeatable.",
            panel=MODEL,
            flag="--engine-arg",
            parse=parse_arguments,
            metavar="NAME=VALUE",
            repeatable=True,
        ),
    ] = field(default_factory=dict)

    provider: Annotated[
        str | None,
        Option(
            "openai: the provider's name (docs/servers.md).",
            default="by the address",
            panel=SERVER,
        ),
    ] = None
    timeout: Annotated[
        float,
        Option(
            "openai, vllm: seconds to wait for an answer, after which the row has failed.",
            panel=SERVER,
            min=0,
            above=True,
        ),
    ] = 3600.0
    give_up_after: Annotated[
        float,
        Option(
            "openai, vllm: seconds without any answer of a server that is busy or gone before the "
            "run stops.",
            panel=SERVER,
            min=0,
        ),
    ] = 600.0
    stream: Annotated[
        bool,
        Option("openai: stream the answers; --timeout then applies to each piece.", panel=SERVER),
    ] = False
    omit: Annotated[
        NameOrNames,
        Option(
            "openai: sampling fields that are not sent, such as temperature,top_p,seed.",
            panel=SERVER,
            parse=names_in,
            metavar="NAMES",
        ),
    ] = ()

    temperature: Annotated[
        float | None,
        Option(
            "0 is greedy.",
            default="0; with --thinking what the model's generation_config says",
            panel=SAMPLING,
            min=0,
        ),
    ] = None
    top_p: Annotated[
        float | None,
        Option(
            "Sample from the most likely tokens with this total probability.",
            panel=SAMPLING,
            min=0,
            above=True,
            max=1,
        ),
    ] = None
    top_k: Annotated[
        int | None,
        Option("Sample from the N most likely tokens; 0: from all.", panel=SAMPLING, min=0),
    ] = None
    min_p: Annotated[
        float | None,
        Option(
            "Leave out tokens below this share of the most likely token's probability.",
            panel=SAMPLING,
            min=0,
            max=1,
        ),
    ] = None
    presence_penalty: Annotated[
        float | None,
        Option("Penalty for tokens that are already in the answer.", panel=SAMPLING, min=-2, max=2),
    ] = None
    seed: Annotated[int, Option("Seed of the sampling.", panel=SAMPLING)] = 0

    answers: Annotated[
        tuple[Path, ...],
        Option(
            "batch: output and error files of the batches, in any order; repeatable. Without "
            "them the requests are written.",
            panel=BATCH,
            repeatable=True,
            metavar="FILE",
        ),
    ] = ()

    progress: bool = False
    """Show the estimate and a bar; the command always does."""
    cache_salt: str | None = None
    """openai: keep prefix caches from connecting this run with runs that have another salt, or none
    (`ruler doctor`). If the server has no field for it, every prompt begins with a line of it."""

    def __post_init__(self) -> None:
        for name in ("configs", "omit", "base_url"):  # a single name needs no list
            object.__setattr__(self, name, several(getattr(self, name)))
        object.__setattr__(self, "dataset", str(self.dataset))
        object.__setattr__(self, "out", Path(self.out))
        check_options(self)
        _ = self.reasoning  # raises RulerError for a wrong --thinking
        for name, value in self.engine_args.items():
            check_argument(name, value)

    @property
    def reasoning(self) -> Reasoning:
        """Whether the model is asked to reason, and how many tokens it may use for that."""
        from ruler_eval.run.reasoning import Reasoning  # slow to import

        return Reasoning.parse(str(self.thinking))

    @property
    def folder(self) -> Path:
        """The folder of the run, or of a shard in it: RUN/2of4."""
        if self.shard is None:
            return Path(self.out)
        return Path(self.out) / self.shard.replace("/", "of")

    def to_json(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, as stored in run.json."""
        options: dict[str, Any] = {}
        for option in fields(RunOptions):  # a command may add further flags
            value = getattr(self, option.name)
            is_default = value == option.default or value == {}
            if is_default or option.name in ("out", "answers", "retry_failed", "progress"):
                continue
            options[option.name] = str(value) if isinstance(value, Path) else value
        return options

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], out: Path) -> RunOptions:
        """Return the options that `to_json` stored for the run in a folder. Raises RulerError."""
        try:
            return cls(**{**stored, "out": out})
        except TypeError as error:
            raise RulerError(
                f"'{out}' does not say how it was run: give the options of `ruler run`."
            ) from error
