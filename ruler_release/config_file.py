"""A command's flags in a TOML file: `ruler eval --config run.toml`.

    dataset = "ruler"
    configs = ["all_4k", "all_32k"]
    backend = "vllm"
    model = "Qwen/Qwen2.5-7B-Instruct"
    engine-arg = ["tensor_parallel_size=2"]

A key is the name of a flag without its dashes, and a flag on the command line has precedence.
`--write-config run.toml` writes the file from the flags of a command instead of running it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ruler_common.errors import RulerError
from ruler_common.files import check_file, read_toml, write_whole
from ruler_common.names import check_name
from ruler_common.text import command_line


def with_config_file(command: click.Command) -> click.Command:
    """Add --config and --write-config to a command."""
    path = click.Path(path_type=Path)
    command.params += [
        click.Option(
            ["--config"],
            type=path,
            is_eager=True,
            expose_value=False,
            callback=_read,
            help="Read the flags from a TOML file; those on the command line have precedence.",
        ),
        click.Option(
            ["--write-config"],
            type=path,
            help="Write these flags into a TOML file, and do nothing else.",
        ),
    ]
    act = command.callback
    assert act is not None

    def write_or_act(write_config: Path | None, **flags: Any) -> Any:
        if write_config is None:
            return act(**flags)
        _write(write_config, flags, command)
        print("Written. Next:", command_line("ruler", command.name, "--config", write_config))
        return None

    command.callback = write_or_act
    return command


def _flags(command: click.Command) -> dict[str, click.Option]:
    """Return the flags of a command by their key in a file: `max-model-len`."""
    return {
        parameter.opts[0].lstrip("-"): parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        and parameter.expose_value
        and parameter.name != "write_config"
    }


def _read(context: click.Context, _: click.Parameter, file: Path | None) -> None:
    """Take the values of a file as the defaults of a command. Raises RulerError."""
    if file is None:
        return
    flags = _flags(context.command)
    values: dict[str, Any] = {}
    for key, value in read_toml(file).items():
        flag = flags[check_name(f"key in '{file}':", key.replace("_", "-"), flags)]
        several = value if isinstance(value, list) else [value]
        numbers_or_texts = all(isinstance(one, str | int | float) for one in several)
        if flag.is_flag != isinstance(value, bool) or not numbers_or_texts:
            takes = "true or false" if flag.is_flag else "a text, a number or a list of these"
            raise RulerError(f"'{file}': {key} takes {takes}.")
        if flag.multiple:
            values[flag.name or ""] = [str(one) for one in several]
        elif isinstance(value, list):
            values[flag.name or ""] = ",".join(map(str, value))
        else:
            values[flag.name or ""] = value
    context.default_map = values


def _write(file: Path, values: Mapping[str, Any], command: click.Command) -> None:
    """Write the flags that have a value. Raises RulerError if the file cannot be written."""
    check_file(file, "run.toml", "--write-config")
    flags = _flags(command)
    if file.exists() and not _has_only(file, flags):
        raise RulerError(
            f"'{file}' holds more than flags, which would be lost: name another file with "
            "--write-config."
        )
    lines = []
    for key, flag in flags.items():
        value = values[flag.name or ""]
        if value is None or value == () or value is False:
            continue
        value = list(map(str, value)) if flag.multiple else value
        plain_value = value if isinstance(value, int | float | list) else str(value)
        lines.append(f"{key} = {json.dumps(plain_value)}\n")
    write_whole(file, "".join(lines))


def _has_only(file: Path, flags: Mapping[str, click.Option]) -> bool:
    """Return whether a file holds only flags, so that --write-config may replace it."""
    try:
        return all(key.replace("_", "-") in flags for key in read_toml(file))
    except RulerError:  # not TOML
        return False
