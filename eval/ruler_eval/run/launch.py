"""The vllm backend: `vllm serve MODEL` as a child process, and then a server like any other.

    ruler run --backend vllm --model Qwen/Qwen2.5-7B-Instruct --engine-arg tensor_parallel_size=4 …

starts `vllm serve Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 4 …` on a free port of this
machine, waits until it is ready, sends the prompts as token ids, and stops it at the end. Its
output is in RUN/vllm.log. `--engine-arg` takes any flag of `vllm serve`: tensor_parallel_size,
data_parallel_size, max_model_len, quantization, enforce_eager=true, hf_overrides={…}, …; everything
else keeps vLLM's default. `guard.py` ends the server if this process is killed.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from http.client import HTTPException
from importlib import metadata
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.manifest import FileEntry
from ruler_common.text import announce, note
from ruler_eval.frozen_release import Release
from ruler_eval.run import guard
from ruler_eval.run.backend import UNKNOWN, EngineDied
from ruler_eval.run.connection import Connection
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import PROMPT_COLUMNS
from ruler_eval.run.prompts import TokenIds, load_model_tokenizer
from ruler_eval.run.reasoning import has_special_marks
from ruler_eval.run.sampling import read_generation_config
from ruler_eval.run.secrets import hide_keys
from ruler_eval.run.server import Server

GUARD = (sys.executable, "-I", guard.__file__)
HOST = "127.0.0.1"
POLL_SECONDS = 0.25
"""Seconds between two questions whether the server is ready."""
NOTICE_SECONDS = 60.0
"""Seconds after which a start that takes long is reported, again and again."""
LOG_LINES = 15
"""The last lines of the log that are shown if the server ends."""
CAUSE_LINES = 400
"""The last lines of the log that are searched for the cause."""
LOG_BYTES = 200_000
"""How much of the beginning and of the end of the log is read."""
MAX_ERROR = 500
"""Characters of the cause that are shown."""
RESERVED = (
    *("model", "model_tag", "served_model_name", "host", "port", "uds", "root_path", "headless"),
    *("ssl_keyfile", "ssl_certfile"),
)
"""Flags that say where the server is; this backend sets them."""
MAX_CACHE = 8
"""GiB of KV cache on a machine without a GPU, or a quarter of its free memory if that is less."""
ROWS_ON_CPU = 8
"""Rows at a time on a CPU: more would only share the same few cores."""
CONTEXT_MARGIN = 0.05
"""The share by which a row may be longer than the first row of its configuration."""
TEMPLATE_TOKENS = 1024
"""Tokens that a chat template may add."""
UNSCALED_ROPE = ("default", "llama3", "mrope")
"""Rotary embeddings with which a model's context window is its max_position_embeddings."""
_CAUSE = re.compile(r"\b((?:\w+\.)*\w*(?:Error|Exception)|error): (\S.*)")
_NO_CAUSE = re.compile(
    r"See root cause above|EngineDeadError|Engine core initialization failed"
    r"|\b(?:DEBUG|INFO|WARNING) \d\d-\d\d"
)
"""What vLLM logs after the cause, and lines that are not errors."""


class LaunchedServer(Server):
    """A server that this process starts, restarts after its death, and stops."""

    name = "vllm"

    def __init__(
        self, options: RunOptions, release: Release, files: Mapping[str, FileEntry] | None = None
    ) -> None:
        """Start the server; without a context window in the options, it fits the rows of `files`.

        Raises RulerError with the cause if the server ends before it is ready, and
        ModuleNotFoundError if vLLM is not installed.
        """
        command = serve_command(options.model)
        check_names(options.engine_args)
        self.tokenizer = load_model_tokenizer(options)
        self._arguments = options.engine_args
        self._model_config = load_model_config(options)
        flags = {**server_flags(options), **options.engine_args}
        model_context_window = unscaled_context_window(
            self._model_config, self.tokenizer, options.engine_args
        )
        if files and "max_model_len" not in flags:
            self.needed_context = needed_context(release, files, self.tokenizer, options)
            if model_context_window is not None and self.needed_context <= model_context_window:
                self.model_context_window = model_context_window
                flags["max_model_len"] = self.needed_context
        say = note if options.progress else announce
        defaults, environment = cpu_defaults(flags)
        if defaults:
            named = ", ".join([*flags_of(defaults), *(f"{k}={v}" for k, v in environment.items())])
            say(f"No GPU: vLLM runs on the CPU with {named}.")
        self._process = ServerProcess(
            [*command, *flags_of({**defaults, **flags})], environment, options.folder / "vllm.log"
        )
        try:
            self._wait_until_ready(options.model, say)
            bypass_proxies()
            super().__init__(
                replace(
                    options,
                    backend="openai",
                    base_url=(f"{self._process.url}/v1",),
                    provider="vllm",
                    tokenizer=None,
                    chat_template=None,
                    # without the marks an answer could not be told from the reasoning before it
                    engine_args={"skip_special_tokens": False}
                    if has_special_marks(self.tokenizer)
                    else {},
                )
            )
        except BaseException:
            self._process.stop()
            raise

    def _wait_until_ready(self, model: str, say: Callable[[str], None]) -> None:
        """Wait for /health, however long it takes. Raises RulerError if the server ends."""
        process = self._process
        say(f"Starting vllm serve {model} (log: {process.log})")
        started = time.monotonic()
        next_notice = NOTICE_SECONDS
        while process.ask("/health") is None:
            if process.has_ended():
                reason = process.reason()
                process.show_log()
                raise RulerError(
                    f"vLLM cannot start '{model}': {reason}. If that is not the cause, see "
                    f"'{process.log}'."
                )
            seconds = time.monotonic() - started
            if seconds > next_notice:
                next_notice += NOTICE_SECONDS
                say(f"vLLM is still starting after {seconds:.0f} s. {process.last_line()}".rstrip())
            time.sleep(POLL_SECONDS)
        say(f"vLLM was ready after {time.monotonic() - started:.0f} s")

    def is_unchanged(self, connection: Connection) -> bool:
        """Return True: if its process ends, the server is started again in the same way."""
        return True

    def check_alive(self) -> None:
        """Raise EngineDied if the server has ended, with the cause."""
        if self._process.has_ended():
            self._process.show_log()
            raise EngineDied(f"vLLM died: {self._process.reason()}.")

    def generation_config(self) -> dict[str, Any]:
        """Return the model's default sampling settings, with `override_generation_config`."""
        options, source = self.options, self._arguments.get("generation_config", "auto")
        defaults: dict[str, Any] | None = {}
        if source == "auto":
            defaults = read_generation_config(options.model, options.revision)
        elif source != "vllm":
            defaults = read_generation_config(str(source))
        return {**(defaults or {}), **self._arguments.get("override_generation_config", {})}

    def settings(self) -> dict[str, Any]:
        """Return the settings of a server, and those of the engine as far as they are known."""
        settings = super().settings()
        engine = engine_settings(self._process.text(), self._arguments, self._model_config)
        for name in ("parallel", "cache"):  # what /metrics say comes first
            settings[name] = {**engine.pop(name), **settings.get(name, {})}
        return {**settings, **engine, "backend_version": self._facts.version or UNKNOWN}

    def close(self) -> None:
        """Close the connections and stop the server."""
        try:
            super().close()
        finally:
            self._process.stop()


class ServerProcess:
    """A server program on a free port, with all its processes; it ends with this process."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        """Start a command with `--host` and `--port` added; its output is appended to `log`."""
        self.log = log
        self._log_was_shown = False
        self._port = reserve_port()
        host, port = self._port.getsockname()
        self.url = f"http://{host}:{port}"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._start = output.seek(0, os.SEEK_END)
            self._process = subprocess.Popen(
                [*GUARD, *command, "--host", host, "--port", str(port)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**child_environment(), **environment},
                start_new_session=True,  # Ctrl-C is for this process, which then stops the server
            )

    def ask(self, path: str) -> str | None:
        """Return the reply of a path; None if there is no answer, or an error."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.url}{path}", timeout=10) as reply:
                return str(reply.read().decode("utf-8", "replace"))
        except (OSError, HTTPException):
            return None

    def has_ended(self) -> bool:
        """Whether the program has ended."""
        return self._process.poll() is not None

    def text(self) -> str:
        """Return the beginning and the end of what the program has written."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(self._start)
                text = file.read(LOG_BYTES)
                file.seek(max(size - LOG_BYTES, self._start + len(text)))
                text += file.read(LOG_BYTES)
        except OSError:  # somebody has moved it
            return ""
        return text.decode("utf-8", "replace")

    def last_line(self) -> str:
        """Return the last line of the log, without keys."""
        lines = self.text().split("\n")
        return hide_keys(next((line for line in reversed(lines) if line.strip()), ""), MAX_ERROR)

    def show_log(self) -> None:
        """Print the last errors in the log, or its last lines.

        Once, because many rows may notice a death.
        """
        if self._log_was_shown:
            return
        self._log_was_shown = True
        lines = self.text().rstrip().split("\n")
        errors = [line for line in lines if _CAUSE.search(line) or " ERROR " in line]
        for line in (errors or lines)[-LOG_LINES:]:
            note(hide_keys(line))

    def reason(self) -> str:
        """Return why the program ended, without keys: the last error that is not a consequence."""
        if abs(self._process.poll() or 0) % 128 == signal.SIGKILL:
            return "it was killed (SIGKILL), perhaps because the memory was full"
        lines = self.text().split("\n")[-CAUSE_LINES:]
        cause = f"it ended with exit code {self._process.poll()} and no error in its log"
        if any("EngineDeadError" in line for line in lines):
            cause = "its engine's process was lost, perhaps because the memory was full"
        for line in lines:
            match = _CAUSE.search(line)
            if match and not _NO_CAUSE.search(line):
                cause = match[2] if match[1] == "error" else f"{match[1]}: {match[2]}"
        return hide_keys(" ".join(cause.split()), MAX_ERROR).rstrip(".")

    def stop(self) -> None:
        """End the program and all its processes."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(guard.GRACE_SECONDS + 10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._port.close()


def reserve_port() -> socket.socket:
    """Return a socket on a free port, which no other program gets while the socket is open.

    The server can use the port, because both sockets allow that and this one does not listen.
    """
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind((HOST, 0))
    return reserved


def bypass_proxies() -> None:
    """Let requests to this machine not go through a proxy that the environment names."""
    names = ("no_proxy", "NO_PROXY")  # programs read one or the other
    listed = ",".join(os.environ.get(name, "") for name in names).split(",")
    hosts = {host.strip() for host in listed if host.strip()}
    for name in names:
        os.environ[name] = ",".join(sorted({*hosts, HOST}))


def child_environment() -> dict[str, str]:
    """Return this environment without what would make the server ask for a key."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    environment.pop("VLLM_API_KEY", None)
    return environment


# ---- The command line ----------------------------------------------------------------------------


def serve_command(model: str) -> list[str]:
    """Return `vllm serve MODEL`, with the vLLM of this environment or else the one on the PATH.

    Raises ModuleNotFoundError if there is none.
    """
    if importlib.util.find_spec("vllm") is None:
        script = shutil.which("vllm")
        if script is None:
            raise ModuleNotFoundError("No module named 'vllm'", name="vllm")
        return [script, "serve", model]
    try:
        metadata.version("vllm")
    except metadata.PackageNotFoundError:  # `vllm serve` of a build with another name would fail
        return [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
    return [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", model]


def check_names(arguments: Mapping[str, Any]) -> None:
    """Raise RulerError for a flag that says where the server is."""
    for name in RESERVED:
        if name in arguments:
            raise RulerError(
                f"--backend vllm chooses {name} itself: leave --engine-arg {name} out, or start "
                "`vllm serve` yourself and use --backend openai with --base-url."
            )


def server_flags(options: RunOptions) -> dict[str, Any]:
    """Return the flags of a run; all others keep vLLM's defaults."""
    flags: dict[str, Any] = {
        "served_model_name": options.model,
        "revision": options.revision,
        "tokenizer": options.tokenizer,
        "seed": options.seed,
        # every sampler is in the requests, and a model's max_new_tokens must not end an answer
        "generation_config": "vllm",
        "enable_prompt_tokens_details": True,  # the tokens that came from the prefix cache
        "disable_uvicorn_access_log": True,
    }
    if options.chat_template is not None:
        flags["chat_template"] = str(Path(options.chat_template).expanduser())
    if options.max_model_len is not None:
        flags["max_model_len"] = options.max_model_len
    return flags


def flags_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return arguments as flags: `enforce_eager=True` is `--enforce-eager`.

    False is `--no-…`, None leaves a flag out, a list is several values, and an object is JSON.
    """
    flags: list[str] = []
    for name, value in arguments.items():
        flag = name.replace("_", "-")
        if value is True or value is False:
            flags.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, list):
            flags += [f"--{flag}", *map(_flag_value, value)]
        elif value is not None:
            flags.append(f"--{flag}={_flag_value(value)}")
    return flags


def _flag_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def cpu_defaults(flags: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return flags and environment variables for a vLLM without a GPU that are not set yet.

    Empty for a vLLM for GPUs. By default vLLM takes a share of all memory, not of the free memory,
    and compiles for minutes.
    """
    if not is_cpu_build():
        return {}, {}
    import psutil

    memory = psutil.virtual_memory()
    environment = {}
    if not (
        os.environ.get("VLLM_CPU_KVCACHE_SPACE")
        or {"gpu_memory_utilization", "kv_cache_memory_bytes"} & flags.keys()
    ):
        space = min(MAX_CACHE, max(1, (memory.available >> 30) // 4))
        environment["VLLM_CPU_KVCACHE_SPACE"] = str(space)
    free = math.floor(80 * memory.available / memory.total) / 100
    defaults = {"gpu_memory_utilization": free, "enforce_eager": True, "max_num_seqs": ROWS_ON_CPU}
    return {name: value for name, value in defaults.items() if name not in flags}, environment


def is_cpu_build() -> bool:
    """Whether the installed vLLM is built for CPUs, by the rule that vLLM itself uses."""
    if sys.platform == "darwin":
        return True
    for name in ("vllm", "vllm-cpu"):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        return name == "vllm-cpu" or "cpu" in version
    return False


# ---- The context window --------------------------------------------------------------------------


def needed_context(
    release: Release, files: Mapping[str, FileEntry], tokenizer: Any, options: RunOptions
) -> int:
    """Return the tokens that the longest row of these files may need with its answer.

    The engine then allocates memory for these rows and not for a context window of a million
    tokens. All rows of a configuration are nearly as long as its first one, which is counted with
    the model's tokenizer. Configurations less than half as long as the longest are skipped.
    """
    longest = max(file["max_length"] for file in files.values())
    token_ids = TokenIds(tokenizer)
    needed = 0
    for config, file in files.items():
        if 2 * file["max_length"] >= longest:
            (row,) = release.some_rows(config, PROMPT_COLUMNS, [0])
            count = len(token_ids(row["input"] + row["answer_prefix"], special_tokens=False))
            count = max(count, row["length"] - row["max_new_tokens"])
            needed = max(needed, count + row["max_new_tokens"])
    tokens = int(needed * (1 + CONTEXT_MARGIN)) + TEMPLATE_TOKENS + options.reasoning.budget
    return -(-tokens // 1024) * 1024


def load_model_config(options: RunOptions) -> Any:
    """Return transformers' configuration of the model, or None if it does not know the model."""
    from transformers import AutoConfig

    trust = options.engine_args.get("trust_remote_code", False) is True
    try:
        return AutoConfig.from_pretrained(
            options.model, revision=options.revision, trust_remote_code=trust
        )
    except Exception:  # vLLM knows models that transformers does not, and names what is wrong
        return None


def unscaled_context_window(
    model_config: Any, tokenizer: Any, arguments: Mapping[str, Any]
) -> int | None:
    """Return the context window of a model whose configuration states it as it is.

    None if it depends on more than max_position_embeddings, such as YaRN: vLLM's own rules then
    set the context window.
    """
    if model_config is None or "hf_overrides" in arguments:
        return None
    text_config = model_config.get_text_config()
    positions = getattr(text_config, "max_position_embeddings", None)
    if not isinstance(positions, int) or any(
        kind not in UNSCALED_ROPE for kind in _rope_types(text_config)
    ):
        return None
    return min(positions, getattr(tokenizer, "model_max_length", positions))


def _rope_types(text_config: Any) -> Iterator[Any]:
    """Yield the types of the rotary embeddings; some models have one for each kind of layer."""
    rope = _rope(text_config)
    settings = rope if isinstance(rope, Mapping) else {}
    for part in (settings, *settings.values()):
        if isinstance(part, Mapping):
            yield part.get("rope_type", part.get("type", "default"))


def _rope(text_config: Any) -> Any:
    """Return the settings of the rotary embedding; the name is that of transformers 5 or 4."""
    rope = getattr(text_config, "rope_parameters", None)
    return getattr(text_config, "rope_scaling", None) if rope is None else rope


# ---- What run.json records -----------------------------------------------------------------------


def engine_settings(log: str, arguments: Mapping[str, Any], model_config: Any) -> dict[str, Any]:
    """Return the settings that can change a score; "unknown" for what is not known.

    At its start vLLM logs the configuration that it resolved: `… with config: dtype=torch.bfloat16,
    tensor_parallel_size=4, …`.
    """
    _, _, config = log.partition(" with config: ")
    logged = dict(re.findall(r"\b(\w+)=([^,\s()]+)(?=,)", config.partition("\n")[0]))

    def setting(name: str) -> Any:
        value = logged.get(name, arguments.get(name, UNKNOWN))
        return {"None": None, "True": True, "False": False}.get(value, value)

    def size(kind: str) -> int | str:
        value = setting(f"{kind}_parallel_size")
        return int(value) if str(value).isdecimal() else UNKNOWN

    rope: Any = UNKNOWN
    overrides = arguments.get("hf_overrides", {})
    if isinstance(overrides, Mapping) and model_config is not None:
        rope = overrides.get("rope_parameters", _rope(model_config.get_text_config()))
    return {
        "dtype": str(setting("dtype")).removeprefix("torch."),
        "quantization": setting("quantization"),
        "parallel": {kind: size(kind) for kind in ("tensor", "pipeline", "data")},
        "cache": {
            "dtype": setting("kv_cache_dtype"),
            "prefix_caching": setting("enable_prefix_caching"),
        },
        "chunked_prefill": setting("enable_chunked_prefill"),
        "attention_backend": arguments.get("attention_backend", UNKNOWN),
        "speculative_decoding": arguments.get("speculative_config"),
        "rope": rope,
        "commit": getattr(model_config, "_commit_hash", None),
    }
