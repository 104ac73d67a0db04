"""What one record of a file says, as its form has it: a Prediction, and of which configuration.

reader = FormReader(form, Path("4096/pred/vt.jsonl"), Naming(), keep_prompts=False)
reader.prediction({"index": 0, "pred": "A", "outputs": ["A"]}).config         # "vt_4k"
reader.model                                     # the model's name, where anything tells it

What the record does not say, the path of its file does, or another file beside it.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import read_bytes
from ruler_common.parsing import json_value, parse_yaml
from ruler_common.text import one_line
from ruler_eval.prediction import Prediction, row_number
from ruler_eval.score.config_naming import Naming, config_at_end, path_facts
from ruler_eval.score.forms import MISSING, Form

DIGEST_BYTES = 4
_AS_IT_IS = (
    *("question", "thinking_ended", "thinking_tokens", "prompt_tokens", "error"),
    *("finish_reason", "thinking"),
)
_NAMING = ("config", "task", "length", "languages")
_ANSWERING = ("assistant", "BOT")
"""Roles of turns that are no part of a prompt."""


class FormReader:
    """Reads the records of a file that is of a form."""

    def __init__(self, form: Form, file: Path, naming: Naming, keep_prompts: bool) -> None:
        self._form, self._file, self._naming = form, file, naming
        self._keep_prompts, self._printed = keep_prompts, file.suffix == ".csv"
        self._numbers: Counter[str] = Counter()
        self._named: dict[tuple[Any, ...], str] = {}
        nothing = dict.fromkeys(("prompt", "prefix", "outputs", "columns", "model"), _nothing)
        self._read = {**nothing, **form.fields}
        self._as_it_is = [(name, form.fields[name]) for name in _AS_IT_IS if name in form.fields]
        self._names = [name for name in _NAMING if name in form.fields]
        self._name_reads = [form.fields[name] for name in self._names]
        self.told = self._told()
        self.model, self._asked = form.label(self.told), False

    def prediction(self, record: Any) -> Prediction:
        """The answer that a record holds.

        Raises KeyError, TypeError or ValueError for a record that lacks a field or misuses one.
        """
        read = self._read
        text = self._required("prediction", record)
        config = self._config(record)
        if "index" in read:
            index = row_number(self._required("index", record))
        else:  # the rows of a configuration stand in its order
            index, self._numbers[config] = self._numbers[config], self._numbers[config] + 1
        more: dict[str, Any] = {}
        for name, value_of in self._as_it_is:
            if (value := value_of(record)) is not MISSING:
                more[name] = value
        if text is None and self._form.unanswered:
            more["error"] = self._form.unanswered
        if type(text) is not str:
            text = "" if text is None else text
            text, thinking = _answer(text) if self._form.lists else (text, "")
            more |= {"thinking": thinking} if thinking else {}
        if self._form.finish and "finish_reason" in more:
            more["finish_reason"] = self._form.finish.get(more["finish_reason"], "stop")
        prompt = _text(read["prompt"](record))
        if prompt:
            prompt += _text(read["prefix"](record)) or ""
            more |= {"prompt": prompt, "asked": digest(prompt)}
        if self._keep_prompts and isinstance(columns := read["columns"](record), Mapping):
            more["columns"] = columns
        if not self._asked and isinstance(model := read["model"](record), str):
            self.model = model  # a folder's name may be a part of it
        self._asked = True
        outputs = references(read["outputs"](record), self._printed)
        return Prediction(config, index, text, outputs=outputs, **more)

    def _required(self, name: str, record: Any) -> Any:
        value = self._read[name](record)
        if value is MISSING or (value is None and name == "index"):
            path = self._form.paths[name]
            raise KeyError(path if isinstance(path, str) else path[-1])
        return value

    def _config(self, record: Any) -> str:
        """The configuration: what the record says, then the path, then the caller."""
        key = tuple([read(record) for read in self._name_reads])
        if key not in self._named:
            said = zip(self._names, key, strict=True)
            known = {name: v for name, v in said if v is not MISSING and v is not None}
            self._named[key] = self._name({**self.told, **known})
        return self._named[key]

    def _name(self, told: Mapping[str, Any]) -> str:
        naming = self._naming
        if "config" in told:
            return str(told["config"])
        if naming.config is None and "task" not in told:
            raise RulerError(
                f"'{self._file}' does not name its configuration: add --config, such as "
                "vt_4k or niah_none_64k_pl, or call the file so, or keep it in folders LANGUAGE, "
                "LENGTH and TASK."
            )
        task = str(told.get("task", ""))
        task = self._form.tasks.get(task, task)
        if "rest" in told and naming.config is None:
            return naming.names.parse(f"{task}_{told['rest']}").name
        length = told.get("length")
        if length is not None and not re.fullmatch(r"\d+[km]", str(length)):
            length = row_number(length)
        return naming.of(task, length, self._file, told.get("languages"))

    def _told(self) -> dict[str, Any]:
        """What the path tells of the file, and another file beside it."""
        form, names = self._form, self._naming.names
        found: dict[str, Any] = dict(form.of_path(self._file))
        if "config" in found:
            found["config"] = names.parse(found["config"]).name
        elif self._naming.config is not None:
            pass  # the caller's word counts
        elif config := config_at_end(names, found.get("tail", "")):
            found["config"] = config
        elif form.folders:
            facts = zip(_NAMING[1:], path_facts(self._file.absolute(), names), strict=True)
            found |= {name: fact for name, fact in facts if fact is not None}
        return found | beside(form, self._file, found.get("again", ""))


def beside(form: Form, file: Path, again: str = "") -> dict[str, Any]:
    """What another file beside one tells, such as kvpress's config.yaml."""
    name = form.beside.get("file", "").replace("{again}", again)
    if not name or not (path := file.with_name(name)).is_file():
        return {}
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    try:
        held = json_value(text) if path.suffix == ".json" else parse_yaml(text)
        found = {fact: held.get(at) for fact, at in form.beside.items() if fact != "file"}
    except (ValueError, AttributeError) as error:
        why = one_line(error)
        raise RulerError(f"'{path}' is damaged: {why}. Get it anew, or move it away.") from error
    return {fact: value for fact, value in found.items() if value is not None}


def digest(text: str) -> str:
    """A short digest of a text: 8 hex digits."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=DIGEST_BYTES).hexdigest()


def references(outputs: Any, printed: bool = False) -> tuple[str, ...] | None:
    """References as a tuple of strings; one string is one reference, None and MISSING are none.

    In a CSV file a list is `printed`: `['a', 'b']`, or `['a' 'b']` as numpy prints one.
    """
    if outputs is None or outputs is MISSING:
        return None
    if isinstance(outputs, str):
        if not printed or not outputs.startswith("["):
            return (outputs,)
        strings = re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", outputs)
        return tuple(str(ast.literal_eval(string)) for string in strings)
    whole = isinstance(outputs, list | tuple)
    if not whole or any(type(one) not in (str, int) for one in outputs):  # null would be "None"
        raise TypeError(f"the references are {str(outputs)[:40]!r}, no list of texts")
    return tuple(map(str, outputs))


def _nothing(_: Any) -> Any:
    return MISSING


def _answer(found: Any) -> tuple[Any, str]:
    """The text of an answer, the first of several; of a list of parts, and their reasoning."""
    while isinstance(found, list) and found and not isinstance(found[0], Mapping):
        found = found[0]
    if not isinstance(found, list):
        return ("" if found is None else found), ""
    texts = [part["text"] for part in found if part.get("type") == "text"]
    return "".join(texts), "\n".join(
        part["reasoning"] for part in found if part.get("type") == "reasoning"
    )


def _text(prompt: Any) -> str | None:
    """The text of a prompt, which may be a list of turns, a turn's of parts; no text is None."""
    if prompt is None or prompt is MISSING or isinstance(prompt, str):
        return prompt if isinstance(prompt, str) else None
    if isinstance(prompt, Mapping):
        if prompt.get("role") in _ANSWERING:
            return ""
        return _text(prompt.get("content", prompt.get("prompt", prompt.get("text"))))
    return "".join(_text(part) or "" for part in prompt)
