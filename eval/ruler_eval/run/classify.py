"""What a reply means: the answer to a row, or why there is none.

    classify(Reply(status=429), Request(prompt))       # Failure("wait", "HTTP 429: …")
    classify(Reply(status=200, body={…}), request)     # Answer("8 apples", "stop", …)

Servers, gateways and batch files say the same things in many words. They are decided here and
nowhere else: RULES reads status codes and error texts, FINISH_REASONS the ends of answers
(reply_rules.py), and `_shortened` the token counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ruler_eval.run.prompt_in_text import MIN_PROMPT, has_most_of
from ruler_eval.run.reply_forms import in_openai_form
from ruler_eval.run.reply_json import (
    calls_of,
    count_of,
    error_codes,
    error_in,
    error_text,
    field_of,
    plain_name,
    reasoning_of,
    shown_json,
    status_in,
    text_and_thought,
)
from ruler_eval.run.reply_rules import (
    BUSY,
    NO_PROMPT,
    REMEDIES,
    TIMEOUT,
    Kind,
    end_of,
    rule_for,
)
from ruler_eval.run.secrets import hide_keys

if TYPE_CHECKING:
    from ruler_eval.run.prompts import Prompt

TOLERANCE = 64
"""Tokens that a server's template may add or lack before the prompt counts as shortened."""
MAX_SHOWN = 500
"""Characters of a server's message that are shown and stored."""
MAX_LETTERS = 16
"""Letters and digits of a token, on average over an answer: no model writes more."""
MAX_SEARCHED = 2000
"""Characters of a server's message that are searched: it may quote the prompt."""
ANY_REMEDY = (
    "--provider says what the server is, --omit leaves sampling fields out (docs/servers.md)"
)
"""What to do if a request is refused for an unknown reason."""
SAMPLER_NAMES = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "repeat_penalty",
    "seed",
    "random_seed",
)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back for a request."""

    status: int | str
    """The HTTP status, or UNREACHABLE, BROKEN or TIMEOUT."""
    body: Any = None
    """The JSON value of the body, or its text; without a reply, what happened."""
    retry_after: float | None = None
    """Seconds."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was sent, as far as it decides what the reply means."""

    prompt: Prompt
    context_window: int | None = None
    """The context window in tokens, if it is known."""
    fields: Collection[str] = ()
    """The names in the body of the request."""
    is_alone: bool = True
    """Whether nothing else was in flight."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a model. Token counts are None if the server does not report them."""

    text: str
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning: str | None = None
    """Set only if a server's parser separated the reasoning from the text."""
    reasoning_tokens: int | None = None
    at_limit: bool = False
    """Whether all tokens were used, although the server reports that the answer ended."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why there is no answer."""

    kind: Kind
    sentence: str
    """What the server said, without a full stop."""
    remedy: str = ""
    """What to do, if every row fails like this."""
    retry_after: float | None = None
    crowded: bool = False
    final: bool = False
    prompt_tokens: int | None = None
    """The tokens that the server read, if it answered all the same."""
    completion_tokens: int | None = None


def shown(failure: Failure) -> str:
    """Return what a server said, without keys."""
    return hide_keys(" ".join(failure.sentence.split()), MAX_SHOWN)


def classify(reply: Reply, request: Request) -> Answer | Failure:
    """Return what a reply means."""
    if isinstance(reply.status, int) and 200 <= reply.status < 300:
        if error := error_in(reply.body):
            status = status_in(error, reply.status)
            return _failure(status, error, reply, request)
        body = reply.body
        if isinstance(body, list) and len(body) == 1:  # TGI's
            body = body[0]
        if not isinstance(body, dict):
            return _not_a_completion(reply)
        return _read_completion(body, request)
    return _failure(reply.status, reply.body, reply, request)


def failure_of(reply: Reply) -> Failure | None:
    """Return the failure that a reply about the server itself means; None if it is not one."""
    if isinstance(reply.status, int) and 200 <= reply.status < 300:
        error = error_in(reply.body)
        return _failure(status_in(error, reply.status), error, reply) if error else None
    return _failure(reply.status, reply.body, reply)


def _failure(
    status: int | str, error: Any, reply: Reply, request: Request | None = None
) -> Failure:
    """Return the failure that an error with a status means."""
    message, codes = error_text(error) or (shown_json(error) if error else ""), error_codes(error)
    # a gateway may wrap another server's 429 into a status of its own
    inner = status_in(error, status) if isinstance(status, int) else status
    rule_status = inner if inner in BUSY else status
    words = f"{codes} {message}"[:MAX_SEARCHED]
    rule = rule_for(rule_status, words)
    kind = rule.kind
    remedy = rule.remedy
    is_unknown = kind == "refused" and not rule.words
    may_be_long = is_unknown and status in (400, 413, 422)
    if request is not None and may_be_long and _names_length(message[:MAX_SEARCHED], request):
        kind, remedy = "too_long", ""
    if kind == "refused" and (is_unknown or not remedy):
        remedy = _remedy_for(words, request.fields if request else ()) or remedy or ANY_REMEDY
    if rule.crowded and (request is None or request.is_alone):
        kind = "too_long"
    if status == TIMEOUT:
        sentence = f"Timeout: {message}"
    elif isinstance(status, str):
        sentence = f"Connection error: {message}"
    else:
        where = "an error" if status < 300 else f"HTTP {status}"
        sentence = f"{where}: {message}" if message else where
    return Failure(
        kind=kind,
        sentence=sentence[:MAX_SHOWN].rstrip("."),
        remedy=remedy,
        retry_after=reply.retry_after,
        crowded=rule.crowded and kind == "wait",
        final=rule.final or (kind == "refused" and not rule.of_server),
    )


def _names_length(message: str, request: Request) -> bool:
    """Whether a message about tokens has about the row's number of them, and a smaller limit.

    Two tokenizers never differ by more than a factor of 2.5 on these texts.
    """
    if re.search(rf"{NO_PROMPT}|bytes|\d ?[KMG]i?B\b", message, re.I):
        return False
    if not re.search("token|токен|トークン|토큰|length|context|prompt|>", message, re.I):
        return False
    if _named([field for field in request.fields if field in SAMPLER_NAMES], message):
        return False
    texts = re.findall(r"(?<![a-zA-Z\d_.])(?:\d{1,3}(?:,\d{3})+|\d{3,9})(?![a-zA-Z\d_])", message)
    numbers = {int(text.replace(",", "")) for text in texts}
    tokens = request.prompt.counted_tokens or request.prompt.row_tokens
    lengths = [number for number in numbers if tokens * 2 // 5 <= number <= tokens * 5 // 2]
    return any(length // 8 < limit < length for length in lengths for limit in numbers)


def _named(fields: Iterable[str], message: str) -> list[str]:
    """Return the fields that a message names, in its order."""
    named = [field for field in fields if re.search(rf"(?<![\w]){field}(?![\w])", message)]
    return sorted(named, key=message.index)


def _remedy_for(message: str, fields: Collection[str]) -> str:
    """Return the flag that helps against a refused field, value or request; empty if unknown."""
    named = _named(fields, message)
    field = named[0] if named else ""
    if field in ("max_tokens", "max_completion_tokens"):
        if re.search("max_completion_tokens|unsupported|not supported", message, re.I):
            return "--provider openai sends max_completion_tokens, every other one max_tokens"
        return "the limit of the answer is refused: lower --thinking, or run other rows"
    if field in SAMPLER_NAMES:
        return f"leave the field out with --omit {field}"
    if field in ("stream", "stream_options"):
        return "leave --stream out"
    for words, remedy in REMEDIES:
        if re.search(words, message, re.I):
            return remedy
    if field in ("add_generation_prompt", "continue_final_message", "chat_template_kwargs"):
        return "--provider says what the server is; --mode chat continues no turn"
    if field == "cache_salt":
        return "the server does not have the field cache_salt"
    if field in ("prompt", "messages", "model"):
        return "give another --mode, or leave --tokenizer out"
    return f"leave out the field {field} (--engine-arg)" if field else ""


# ---- completions --------------------------------------------------------------------------------


def _malformed(why: str) -> Failure:
    return Failure(kind="retry", sentence=f"Malformed: {why}"[:MAX_SHOWN])


def _not_a_completion(reply: Reply) -> Failure:
    """Return the failure of a reply with HTTP status 200 that is not a JSON object."""
    if isinstance(reply.body, str) and reply.body.lstrip().startswith("<"):  # a web page
        text = error_text(reply.body)
        return Failure(
            kind="refused",
            sentence=f"the answer is a web page: {text}"[:MAX_SHOWN],
            remedy=rule_for(200, text[:MAX_SEARCHED]).remedy
            or "correct --base-url, which often ends in /v1",
        )
    if reply.body in ("", None, [], {}):
        return _malformed("the answer is empty")
    if isinstance(reply.body, str) and rule_for(200, reply.body[:MAX_SEARCHED]).words:
        return _failure(200, reply.body, reply)
    return _malformed(f"the answer is not valid JSON: {reply.body}")


def _read_completion(body: dict[str, Any], request: Request) -> Answer | Failure:
    """Return the answer in the JSON of a chat or text completion."""
    body = in_openai_form(body)
    choice = _first_choice(body.get("choices"))
    if not isinstance(choice, dict):
        return _malformed(f"no choices in the answer: {shown_json(body)}")
    message = choice.get("message", choice.get("delta"))
    content = field_of(message, "content")
    if message is None:
        content = choice.get("text", choice.get("content"))
    elif not isinstance(message, dict):
        return _malformed(f"no text in the answer: {shown_json(body)}")
    if content in (None, "", []) and message is not None:
        content = message.get("refusal") or choice.get("text") or ""
    reason = _reason_of(choice)
    if content is None and reason:  # a blocked or empty answer
        content = ""
    text, thought = text_and_thought(content)
    if text is None:
        return _malformed(f"no text in the answer: {shown_json(body)}")
    reasoning = reasoning_of(message) or thought or None
    counts = _counts(body.get("usage"), request, is_empty=not (text or reasoning))
    if _holds_prompt(text, request.prompt, counts["completion_tokens"]):
        return Failure(
            kind="fatal",
            sentence="the answer holds the prompt, in which every reference is found",
            remedy="turn off what repeats it, such as echo or return_full_text",
        )
    answer = Answer(text=text, finish_reason="stop", reasoning=reasoning, **counts)
    if any(body.get(name) is True for name in ("truncated", "context_truncated")):
        said = "the server says that it shortened the prompt"
        return Failure(kind="truncated", sentence=said, **_read(answer))
    if not (text or answer.reasoning or answer.completion_tokens or end_of(reason)):
        return _malformed(f"no text and no end in the answer: {shown_json(body)}")
    return _ended(answer, reason, request)


def _first_choice(choices: Any) -> Any:
    """Return the choice with the number 0, else the first one; None without any."""
    if not isinstance(choices, list) or not choices:
        return None
    return next((choice for choice in choices if field_of(choice, "index") == 0), choices[0])


def _holds_prompt(text: str, prompt: Prompt, generated: int | None) -> bool:
    """Whether a server has put the prompt, or a large part of it, into the answer.

    A model may repeat a short prompt itself, if it has generated as many tokens.
    """
    turns = [turn["content"] for turn in prompt.messages if turn["role"] == "user"]
    question = max(turns or [prompt.text or ""], key=len).strip()
    is_whole = bool(turns) or prompt.token_ids is None  # else only the end of the text is kept
    if is_whole and len(question) >= MIN_PROMPT and question in text:
        tokens = prompt.max_tokens if generated is None else min(generated, prompt.max_tokens)
        return prompt.row_tokens > tokens
    letters = len(re.findall(r"[^\W_]", text))
    if letters <= MAX_LETTERS * prompt.max_tokens or not question:
        return False
    return question in text or has_most_of(text, question)


def _reason_of(choice: dict[str, Any]) -> Any:
    """Return the finish reason of a choice; that of the provider if a gateway calls it a stop.

    Some servers also call it a stop if the model called a tool in place of an answer.
    """
    message = choice.get("message", choice.get("delta"))
    if calls_of(message) and field_of(message, "content") in (None, "", []):
        return "tool_calls"
    reason = choice.get("finish_reason") or field_of(choice, "finish_details", "type")
    if not reason and isinstance(choice.get("stop_reason"), str):  # a number is a token's id
        reason = choice["stop_reason"]
    native = choice.get("native_finish_reason")
    if end_of(reason) in (None, "stop") and end_of(native) in ("length", "refused", "too_long"):
        return native
    return reason


PROMPT_COUNTS = ("prompttokens", "inputtokens", "prompttokencount", "promptevalcount")
COMPLETION_COUNTS = (
    "completiontokens",
    "outputtokens",
    "candidatestokencount",
    "evalcount",
)
CACHED_COUNTS = (
    "cachedtokens",
    "cachereadinputtokens",
    "cachedprompttokens",
    "numcachedtokens",
    "promptcachehittokens",
    "cachedcontenttokencount",
)
"""Tokens that were read from a prefix cache."""
WRITTEN_COUNTS = (
    "cachecreationinputtokens",
    "cachewriteinputtokens",
    "cachewritetokens",
    "cachecreationtokens",
    "cachedcreationtokens",
)
"""Tokens that were read and put into it."""
TOTAL_COUNTS = ("totaltokens", "totaltokencount")
REASONING_COUNTS = ("reasoningtokens", "thoughtstokencount")
"""What the counts in `usage` are called, as `plain_name` writes it: by OpenAI, Anthropic, Gemini,
Bedrock, Ollama and others."""
DETAILS = (
    "prompttokensdetails",
    "inputtokensdetails",
    "completiontokensdetails",
    "outputtokensdetails",
)
"""The objects in `usage` that have counts too."""


def _counts_by_name(usage: Any) -> dict[str, Any]:
    """Return the fields of a reply's usage and of the details in it, by their plain names."""
    fields = {plain_name(name): value for name, value in usage.items()} if usage else {}
    for name in DETAILS:
        details = fields.get(name)
        if isinstance(details, dict):
            counts = {plain_name(key): value for key, value in details.items()}
            fields = {**fields, **{key: value for key, value in counts.items() if value}}
    return fields


def _first_count(usage: Mapping[str, Any], names: Iterable[str], minimum: int = 0) -> int | None:
    """Return the first valid count of some names."""
    counts = (count_of(usage.get(name), minimum) for name in names)
    return next((count for count in counts if count is not None), None)


def _counts(usage: Any, request: Request, is_empty: bool) -> dict[str, Any]:
    """Return the token counts of a reply. No completion tokens are believed of an empty one only.

    OpenAI's prompt_tokens include the cached ones. Some gateways report those that were read from
    the cache or put into it apart, as Anthropic does: then all are added up.
    """
    usage = _counts_by_name(usage if isinstance(usage, dict) else None)
    prompt = _first_count(usage, PROMPT_COUNTS, 1)
    min_completion = 0 if is_empty and prompt is not None else 1
    completion = _first_count(usage, COMPLETION_COUNTS, min_completion)
    cached = _first_count(usage, CACHED_COUNTS)
    total = _first_count(usage, TOTAL_COUNTS, 1)
    reasoning = _first_count(usage, REASONING_COUNTS, 1)
    written = _first_count(usage, WRITTEN_COUNTS) or 0
    apart = (cached or 0) + written
    expected = request.prompt.counted_tokens
    if prompt is not None and apart:
        together = prompt + apart
        generated = (completion or 0, (completion or 0) + (reasoning or 0))
        if (
            max(cached or 0, written) > prompt
            or (expected and abs(together - expected) <= TOLERANCE < abs(prompt - expected))
            or (total and total - together in generated and total - prompt not in generated)
        ):
            prompt = together
    elif prompt is not None and total and prompt < (expected or request.prompt.row_tokens) * 2 // 5:
        rest = total - prompt - (completion or 0) - (reasoning or 0)
        if rest > request.prompt.max_tokens + TOLERANCE:  # no answer has as many
            prompt += rest
    return {
        "prompt_tokens": prompt,
        "completion_tokens": _with_reasoning(completion, reasoning, prompt, total, request),
        "cached_tokens": cached,
        "reasoning_tokens": reasoning,
    }


def _with_reasoning(
    completion: int | None,
    reasoning: int | None,
    prompt: int | None,
    total: int | None,
    request: Request,
) -> int | None:
    """Return the generated tokens with those of the reasoning, which xAI and Gemini count apart.

    Then the total has them, or there are more of them than completion_tokens.
    """
    apart = 0
    if prompt is not None and total is not None:
        apart = total - prompt - (completion or 0)
    if apart <= 0 and reasoning is not None and reasoning > (completion or 0):
        apart = reasoning
    together = (completion or 0) + apart
    if apart > 0 and together <= request.prompt.max_tokens + TOLERANCE:
        return together
    return completion


def _ended(answer: Answer, reason: Any, request: Request) -> Answer | Failure:
    """Return an answer with its end, or the failure that its end or its token counts mean."""
    max_tokens, generated = request.prompt.max_tokens, answer.completion_tokens
    is_full = generated is not None and generated >= max_tokens
    end = end_of(reason)
    if end is None:
        end = "length" if is_full else "stop"
    if failure := _shortened(answer, end, request):
        return failure
    if end == "unknown":
        return Failure(
            kind="retry", sentence=f"finish_reason is '{str(reason)[:100]}'", **_read(answer)
        )
    if end not in ("stop", "length"):
        kind: Any = end
        return Failure(
            kind=kind,
            sentence=f"finish_reason is '{str(reason)[:100]}'",
            final=kind == "refused",
            **_read(answer),
        )
    # a server may count a token less
    at_limit = end == "stop" and generated is not None and generated >= max_tokens - 1
    return Answer(**{**vars(answer), "finish_reason": end, "at_limit": at_limit})


def _shortened(answer: Answer, end: str, request: Request) -> Failure | None:
    """Return how the token counts show that a server shortened the prompt or the answer."""
    prompt, context_window = request.prompt, request.context_window
    read, generated = answer.prompt_tokens, answer.completion_tokens
    if read is not None:
        if prompt.counted_tokens is not None:
            min_read = prompt.counted_tokens - max(TOLERANCE, prompt.counted_tokens // 50)
        else:  # two tokenizers never differ by more than a factor of 2.5 on these texts
            min_read = prompt.row_tokens * 2 // 5 - TOLERANCE
        if read < min_read:
            whole = prompt.counted_tokens or f"about {prompt.row_tokens}"
            return Failure(
                kind="truncated",
                sentence=f"the server shortened the prompt: it read {read} of {whole} tokens",
                **_read(answer),
            )
    # a server may count a token less, and a gateway with another tokenizer
    if generated is None or generated >= prompt.max_tokens - 1:
        return None
    is_full = read is not None and context_window is not None and read + generated >= context_window
    # with another tokenizer a gateway may count fewer; without a context window, rather doubt it
    min_generated = prompt.max_tokens * (9 if context_window is None else 6) // 10
    if is_full or (end == "length" and generated < min_generated):
        return Failure(
            kind="too_long",
            sentence=f"the server ended the answer at {generated} of the {prompt.max_tokens} "
            "tokens asked for",
            **_read(answer),
        )
    return None


def _read(answer: Answer) -> dict[str, Any]:
    """Return the token counts of an answer that is not one."""
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
    }
