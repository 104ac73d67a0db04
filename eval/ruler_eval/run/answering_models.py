"""The models that answers name, which may not be the requested one.

models = AnsweringModels("m")
models.note("m")          # None
models.note("m-small")    # "Some answers are of the model 'm' and some of 'm-small', …"
"""

from __future__ import annotations

import re
from typing import Any


class AnsweringModels:
    """Collects the names of models in the answers to a run."""

    def __init__(self, model: str) -> None:
        """Begin; `model` is the name in the requests."""
        self._model = model
        self._names: dict[str, None] = {}

    @property
    def names(self) -> list[str]:
        """The names so far, in the order of their first answers."""
        return [*self._names]

    def note(self, name: Any) -> str | None:
        """Return a sentence for the first answer that names another model, and for a second name.

        A gateway may send requests to another model, and a server may load one.
        """
        if not isinstance(name, str) or not name or name in self._names:
            return None
        self._names[name] = None
        first, *others = self._names
        if not others and not _may_be_one(name, self._model):
            return (
                f"The server says that the answers are of the model '{name}', and not of "
                f"'{self._model}': correct --model if it is not another name of it."
            )
        if len(others) == 1:
            return (
                f"Some answers are of the model '{first}' and some of '{name}', by what the server "
                f"says, and not all of '{self._model}': score them as one model only if they are."
            )
        return None


def _may_be_one(first: str, second: str) -> bool:
    """Whether two names may be of one model, with another owner, version or spelling."""
    words = [
        re.sub("[^a-z0-9]", "", name.lower().rsplit("/", 1)[-1].removesuffix(":latest"))
        for name in (first, second)
    ]
    return words[0] in words[1] or words[1] in words[0]
