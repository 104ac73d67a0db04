"""A chat template: its arguments, the switches that turn reasoning off, and what it must keep.

A template is a program, so it is judged by what it renders. It must render the text of every turn
exactly and once, and with `--thinking off` its prompt must not leave the reasoning to the model.
A template has its own names for the switch, which are read from its source:

    template_arguments(source, thinks=False)
    # {"enable_thinking": False, …, "thinking_mode": "disabled"}
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import read_text
from ruler_common.text import one_line
from ruler_score.reasoning_marks import find_marks
from ruler_score.split_reasoning import opened_reasoning

TEMPLATE_DATE = "26 Jul 2024"
"""Llama 3.1's template writes the date of the run into the prompt; this is its default date."""
OFF_VALUES = (
    "disabled",
    "disable",
    "off",
    "none",
    "no_think",
    "nothink",
    "no_thinking",
    "non_thinking",
    "non-thinking",
    "no",
    "false",
    "never",
    "chat",
)
"""Values of a switch that turn reasoning off, in the order in which they are looked for."""
LOW_VALUES = ("minimal", "low")
"""Values that shorten the reasoning and do not turn it off."""
ON_VALUES = ("enabled", "enable", "on", "thinking", "think", "true")
NO_THINK = "/no_think"
"""Words in a system turn that turn reasoning off, if the template reads them."""
NO_TEMPLATE = "The tokenizer's chat template cannot be used"
OTHER_TEMPLATE = "Use --mode completion, or give another tokenizer with --tokenizer."
PROBE = "@@first@@  'it\\'s' & \"<b>\", {{ x }} {% y %}\n\n\t1. Zażółć jaźń; 日本語 🙂\\n @@last@@"
"""A user's text with everything that a template might change."""
_SYSTEM_PROBE = PROBE.replace("first", "system")
_SPEAKS_OF_THINKING = re.compile("think|thought|reason", re.IGNORECASE)
_OF_HISTORY = re.compile(
    "clear|preserve|keep|truncate|strip|drop|interleave|history|past|content|last", re.IGNORECASE
)
_NEGATIONS = re.compile(
    "(?:^|_)(?:no|non|not|disabled?|off|skip|without|hide|suppress)(?:_|$)", re.IGNORECASE
)

Turns = Sequence[Mapping[str, Any]]
Render = Callable[[Turns, Mapping[str, Any]], str]
"""Renders turns, with these arguments of the template, up to the assistant's turn."""
Ask = Callable[[str, Mapping[str, Any] | None], Any]
"""Sends a request to a path beside /v1 of the server, with the model's name if there is a body (GET
without one); returns the JSON of the reply, or its text, or None without one."""


@dataclass(frozen=True)
class ServerTemplate:
    """The chat template of a server, which renders the prompts of a run without a tokenizer."""

    source: str | None
    """Its text; None if the server does not report it."""
    render: Render
    is_exact: bool
    """Whether what it renders is the prompt's text, not decoded from tokens."""


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template from a file, used instead of the tokenizer's own (RULER's Table 6).

    Such a file is what transformers calls `chat_template.jinja`: a jinja2 template of `messages`.
    """

    name: str
    text: str

    @classmethod
    def read(cls, path: Path | str) -> ChatTemplate:
        """Read a file. Raises RulerError if it is missing, empty or not UTF-8."""
        path = Path(path).expanduser()
        if not path.is_file():
            raise RulerError(
                f"There is no chat template '{path}': name a jinja2 file with --chat-template."
            )
        text = read_text(path)
        if not text.strip():
            raise RulerError(f"The chat template '{path}' is empty: name another file.")
        return cls(path.name, text)

    def facts(self) -> dict[str, str]:
        """Return the file's name and the sha256 of its text, for run.json."""
        return {"name": self.name, "sha256": hashlib.sha256(self.text.encode()).hexdigest()}

    def put_into(self, tokenizer: Any) -> None:
        """Set the template of a transformers tokenizer, and render a user's turn to test it.

        Raises RulerError if it cannot be rendered, or does not keep the user's text.
        """
        tokenizer.chat_template = self.text
        name, remedy = f"chat template '{self.name}'", "Correct the file of --chat-template."
        try:
            rendered = render_with(tokenizer)(user_turn(PROBE), template_arguments(self.text))
        except RulerError as error:
            raise RulerError(f"The {name} cannot be used: {error} {remedy}") from error
        check_text(rendered, PROBE, f"The {name}", "user", remedy)


def user_turn(text: str, system: str | None = None) -> list[dict[str, str]]:
    """Return a user's turn, after a system turn if there is one."""
    turns = [] if system is None else [{"role": "system", "content": system}]
    return [*turns, {"role": "user", "content": text}]


def system_text(system: str | None, words: str | None) -> str | None:
    """Return the text of a system turn with the words added to it; None without both."""
    texts = [text for text in (system, words) if text is not None]
    return "\n".join(texts) if texts else None


def render_with(tokenizer: Any, **flags: bool) -> Render:
    """Return a function that renders turns with a transformers tokenizer.

    `flags` are those of `apply_chat_template`; by default the assistant's turn is begun. The
    function raises RulerError with the template's own message.
    """
    flags = flags or {"add_generation_prompt": True}

    def render(turns: Turns, arguments: Mapping[str, Any]) -> str:
        try:
            return str(
                tokenizer.apply_chat_template(list(turns), tokenize=False, **flags, **arguments)
            )
        except Exception as error:  # a template is a program
            raise RulerError(f"{one_line(error)}.") from error

    return render


# ---- the switches of reasoning -------------------------------------------------------------------


def template_arguments(source: str | None, thinks: bool = False) -> dict[str, Any]:
    """Return the arguments of a chat template besides the messages.

    Args:
        source: The template's text; None if only the server has it. It then gets the switches of
            most templates, and ignores those that it does not have.
        thinks: Whether the model is to reason.
    """
    arguments: dict[str, Any] = {
        "enable_thinking": thinks,
        "thinking": thinks,
        "date_string": TEMPLATE_DATE,
    }
    if source is None:
        arguments["thinking_mode"] = "enabled" if thinks else "disabled"
        return arguments
    for name, values in switches(source).items():
        value = _switch_value(name, values, thinks)
        if value is not None:
            arguments[name] = value
    return arguments


def switches(source: str) -> dict[str, list[str]]:
    """Return the variables of a template that turn reasoning on and off.

    For each the texts with which the template compares it. Empty if the source is not jinja2.
    """
    from jinja2 import TemplateError, meta, nodes
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(extensions=["jinja2.ext.loopcontrols"])
    # transformers' own tag, which only marks the assistant's text
    source = re.sub(r"\{%-?\s*(?:end)?generation\s*-?%\}", "", source)
    try:
        names = meta.find_undeclared_variables(environment.parse(source))
        tree = environment.parse(source)  # again, because the search changes its tree
    except TemplateError:
        return {}
    found = {}
    for name in sorted(names):
        if _SPEAKS_OF_THINKING.search(name) and not _OF_HISTORY.search(name):
            found[name] = _compared_with(tree, name, nodes)
    return found


def _compared_with(tree: Any, name: str, nodes: Any) -> list[str]:
    """Return the texts with which a template compares a variable, or a name set from it."""
    names = {name}
    for assignment in tree.find_all(nodes.Assign):
        read = {node.name for node in assignment.node.find_all(nodes.Name)}
        if isinstance(assignment.node, nodes.Name):
            read.add(assignment.node.name)
        target = assignment.target
        if not names.isdisjoint(read) and isinstance(target, nodes.Name | nodes.NSRef):
            names.add(target.name if isinstance(target, nodes.Name) else target.attr)
    texts: list[str] = []
    for comparison in tree.find_all(nodes.Compare):
        read = {node.name for node in comparison.find_all(nodes.Name)}
        read |= {node.attr for node in comparison.find_all(nodes.Getattr)}
        if not names.isdisjoint(read):
            constants = comparison.find_all(nodes.Const)
            texts += [node.value for node in constants if isinstance(node.value, str)]
    return texts


def _switch_value(name: str, values: Sequence[str], thinks: bool) -> Any:
    """Return the value of a switch; None if it is best left to the template."""
    if "budget" in name or "tokens" in name:
        return None if thinks else 0
    is_level = "effort" in name or "level" in name
    if not values and not is_level:
        return thinks is not bool(_NEGATIONS.search(name))
    if thinks:
        wanted: tuple[str, ...] = () if is_level else ON_VALUES
    else:
        wanted = (*OFF_VALUES, *LOW_VALUES)
    for value in wanted:
        if value in values:
            return value
    is_written = is_level and not values  # such as "Reasoning: low" in gpt-oss's system turn
    return "low" if is_written and not thinks else None


# ---- what a template must do ---------------------------------------------------------------------


class LostText(RulerError):
    """A chat template does not keep a text that it was given."""


def check_text(rendered: str, text: str, template: str, role: str, remedy: str) -> None:
    """Raise LostText unless a turn's text is in a rendered prompt exactly and once.

    Many templates trim the space at a text's ends, which is allowed.
    """
    times = rendered.count(text.strip())
    if times == 1:
        return
    what = "repeats" if times else "leaves out" if text[:9] not in rendered else "changes"
    raise LostText(
        f"{template} {what} the {role}'s message: it must render each message's `content` (a "
        f"text, not a list of parts) exactly and once. {remedy}"
    )


@dataclass(frozen=True)
class CheckedTemplate:
    """What was found out about a chat template."""

    words: str | None = None
    """What the system turn says besides its text to turn reasoning off: NO_THINK, or None."""
    problem: str | None = None
    """Why the model may reason although it should not; None if it cannot."""

    def raise_problem(self, remedy: str) -> None:
        """Raise RulerError if the model may reason although it should not."""
        if self.problem is not None:
            raise RulerError(
                f"--thinking is off, but {self.problem}: the reasoning would use up the tokens of "
                f"the answer. {remedy}"
            )


def check_template(
    render: Render,
    source: str | None,
    system: str | None,
    thinks: bool,
    is_exact: bool = True,
) -> CheckedTemplate:
    """Check that a template keeps the text of every turn, and can turn reasoning off.

    Args:
        render: Renders turns.
        source: The template's text, if it is known.
        system: The text of the system turn.
        thinks: Whether the model is to reason.
        is_exact: Whether it renders the prompt's text. If not, only a system turn that is dropped
            whole is noticed.

    Raises RulerError for a template that does not keep a text.
    """
    arguments = template_arguments(source, thinks)
    try:
        rendered = render(user_turn(PROBE), arguments)
    except RulerError as error:
        raise RulerError(f"{NO_TEMPLATE}: {error} {OTHER_TEMPLATE}") from error
    if is_exact:
        check_text(rendered, PROBE, "The chat template", "user", OTHER_TEMPLATE)
    if system is not None:
        _check_system(render, arguments, is_exact)
    problem = None if thinks else reasoning_problem(render, source, system)
    reads_words = problem is not None and source is not None and NO_THINK in source
    if reads_words and reasoning_problem(render, source, system, NO_THINK) is None:
        return CheckedTemplate(words=NO_THINK)
    return CheckedTemplate(problem=problem)


def _check_system(render: Render, arguments: Mapping[str, Any], is_exact: bool) -> None:
    """Raise RulerError if a template rejects, drops or changes a system turn."""
    remedy = "Leave --system out."
    try:
        rendered = render(user_turn(PROBE, _SYSTEM_PROBE), arguments)
    except RulerError as error:
        raise RulerError(
            f"The chat template does not accept a system turn: {error} {remedy}"
        ) from error
    if not is_exact:
        if rendered == render(user_turn(PROBE), arguments):
            raise RulerError(f"The chat template leaves out the system turn. {remedy}")
        return
    check_text(rendered, _SYSTEM_PROBE, "The chat template", "system turn", remedy)
    check_text(rendered, PROBE, "The chat template", "user", remedy)


def reasoning_problem(
    render: Render, source: str | None, system: str | None = None, words: str | None = None
) -> str | None:
    """Return why a template does not turn reasoning off; None if it does, or has no reasoning.

    `words` are added to the system turn to turn it off.
    """
    off_arguments = template_arguments(source)
    off = render(user_turn(PROBE, system_text(system, words)), off_arguments)
    if opened := opened_reasoning(off):
        return f"the chat template opens the model's reasoning ('{opened}')"
    if source is None:
        return None
    names = switches(source)
    if not names and all(mark.needs_pair for mark in find_marks(source)):
        return None
    on = render(user_turn(PROBE, system), template_arguments(source, thinks=True))
    if off == on:
        return "the chat template renders the same prompt with reasoning off and on"
    values = [off_arguments[name] for name in names if name in off_arguments]
    if values and set(values) <= set(LOW_VALUES):
        return f"the chat template can only lower the effort of the reasoning, to '{values[0]}'"
    return None
