"""The folder of an examination: doctor.json, and a run folder for each side.

    folder = open_folder(options, release, say=print)
    folder.path                       # doctor-org.model-2026-11-27, or an interrupted one
    folder.finish(verdict)

A finished examination is never continued: the server may have changed since. doctor.json has the
settings, the salt, and in the end the verdict.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import parse_json, write_whole
from ruler_eval.doctor.options import OF_ENGINE, DoctorOptions
from ruler_eval.frozen_release import Release
from ruler_eval.run.plan import utc_now
from ruler_eval.run.records import check_settings

STATE_FILE = "doctor.json"
FORMAT = 2
NOT_SETTINGS = ("out", "save", "price", "timeout", "give_up_after")
"""Options that change no answer, or are the folder itself."""


class ConditionJson(TypedDict):
    """A condition in a verdict; its other fields are the numbers of the finding."""

    name: str
    title: str
    state: str
    sentence: str


class VerdictJson(TypedDict):
    """A verdict in doctor.json."""

    model: str
    outcome: str
    headline: str
    conditions: list[ConditionJson]


class StateJson(TypedDict):
    """The content of doctor.json."""

    format: int
    started: str
    salt: str
    settings: dict[str, Any]
    cache_hits: NotRequired[float | None]
    verdict: NotRequired[VerdictJson]


def read_state(folder: Path) -> StateJson | None:
    """Return the content of doctor.json; None if it does not exist. Raises RulerError."""
    path = folder / STATE_FILE
    if not path.exists():
        return None
    remedy = "Name a new --out, or the folder of another examination."
    state = cast(StateJson, parse_json(path.read_bytes(), StateJson, path, remedy, newest=FORMAT))
    if state["format"] != FORMAT:
        raise RulerError(
            f"'{folder}' is an examination by an older version of ruler: name a new --out."
        )
    return state


def read_verdict(folder: Path, models: set[str | None] | None = None) -> dict[str, Any] | None:
    """Return the verdict in an examination's folder; None if it has none.

    Raises RulerError if it is about another model than those of `models`.
    """
    state = read_state(folder)
    verdict = state.get("verdict") if state else None
    if verdict is None:
        return None
    if models is not None and verdict["model"] not in models:
        names = ", ".join(sorted(f"'{model}'" for model in models if model))
        raise RulerError(
            f"'{folder}' examined the model '{verdict['model']}', and the report is about {names}: "
            "name the examination of that model, or leave --doctor out."
        )
    return cast("dict[str, Any]", verdict)


@dataclass
class Folder:
    """The folder of an examination that is in progress."""

    path: Path
    state: StateJson

    @property
    def salt(self) -> str:
        """The salt from which those of all sides are derived."""
        return self.state["salt"]

    def write(self, cache_hits: float | None = None) -> None:
        """Write doctor.json."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.state["cache_hits"] = cache_hits
        text = json.dumps(self.state, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        write_whole(self.path / STATE_FILE, text)

    def finish(self, verdict: Mapping[str, Any]) -> None:
        """Write the verdict."""
        self.state["verdict"] = cast(VerdictJson, dict(verdict))
        self.write(self.state.get("cache_hits"))


def open_folder(options: DoctorOptions, release: Release, say: Callable[[str], None]) -> Folder:
    """Return the folder of a new examination, or of the same one that was interrupted.

    Writes nothing; `say` gets a sentence if an examination continues. Raises RulerError for the
    folder of a finished or of another examination.
    """
    settings = _settings(options, release)
    folder = _interrupted_folder(options, settings)
    if folder is not None:
        say(f"Continuing the examination in '{folder.path}', which was interrupted.")
        return folder
    state = StateJson(
        format=FORMAT, started=utc_now(), salt=secrets.token_hex(8), settings=settings
    )
    return Folder(_new_path(options), state)


def _interrupted_folder(options: DoctorOptions, settings: Mapping[str, Any]) -> Folder | None:
    """Return the folder of the same examination without a verdict; None if there is none.

    Raises RulerError if --out has another examination, or a verdict.
    """
    if options.out is not None:
        path = Path(options.out)
        state = read_state(path)
        if state is None:
            return None
        if "verdict" in state:
            raise RulerError(
                f"'{path}' has the verdict on '{state['verdict']['model']}' of "
                f"{state['started'][:10]}: name a new --out, or leave it out, to examine the "
                "server again."
            )
        check_settings(state["settings"], settings, path)
        return Folder(path, state)
    for path in sorted(Path().glob(f"{_default_name(options)}-*"), reverse=True):
        state = read_state(path)
        if state is not None and "verdict" not in state and state["settings"] == settings:
            return Folder(path, state)
    return None


def _new_path(options: DoctorOptions) -> Path:
    """Return the folder of a new examination: --out, or one of today that does not exist yet."""
    if options.out is not None:
        return Path(options.out)
    name = f"{_default_name(options)}-{datetime.now(timezone.utc).date().isoformat()}"
    path, number = Path(name), 1
    while path.exists():
        number += 1
        path = Path(f"{name}-{number}")
    return path


def _default_name(options: DoctorOptions) -> str:
    """Return how the folders of a model's examinations begin."""
    model = re.sub(r"[^\w.-]+", ".", options.model).strip(".")[-80:]
    return f"doctor-{model}"


def _settings(options: DoctorOptions, release: Release) -> dict[str, Any]:
    """Return the settings that must be the same when an examination continues."""
    all_values = {option.name: getattr(options, option.name) for option in fields(DoctorOptions)}
    del all_values["engine"]
    run = options.run_options(options.configs, Path())
    all_values |= {name: getattr(run, name) for name in OF_ENGINE.names}
    values = {name: value for name, value in all_values.items() if name not in NOT_SETTINGS}
    values["rows_of"] = {
        "dataset": release.dataset,
        "data_version": release.manifest["data_version"],
        "seed": release.manifest.get("seed"),
    }
    return cast("dict[str, Any]", json.loads(json.dumps(values, default=str)))
