r"""What a reply means: the answer to a row, or why there is none.

    classify(Reply(status=429), Request(prompt))       # Failure("wait", "HTTP 429: …")
    classify(Reply(status=200, body={…}), request)     # Answer("8 apples", "stop", …)

Servers, gateways and batch files say the same things in many words. They are decided here and
nowhere else: RULES reads status codes and error texts, FINISH_REASONS the ends of answers, and
`_shortened` the token counts. tests/eval/run/server_replies.tsv has a real reply for each line.

The kinds of failures:

    wait       the server is busy, loading or gone: send the row again when it is back
    retry      this request failed, and the next one may not
    too_long   the row does not fit the model's context window
    truncated  the server read only a part of the prompt
    refused    the request is refused, and would be again: a field, a value, or this row's text
    fatal      no row can be answered: the key, the quota, the model's name, the address
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ruler_eval.run.prompts import Prompt

Kind = Literal["wait", "retry", "too_long", "truncated", "refused", "fatal"]
TOLERANCE = 64
"""Tokens that a server's template may add or lack before the prompt counts as shortened."""
MAX_SHOWN = 500
"""Characters of a server's message that are shown and stored."""
MAX_SEARCHED = 2000
"""Characters of a server's message that are searched: it may quote the prompt."""
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


@dataclass(frozen=True)
class Rule:
    """A line of RULES: what a status, with these words in the error, means."""

    kind: Kind
    statuses: str
    """Statuses and ranges, separated by spaces; empty: all. UNREACHABLE and the like are statuses
    of requests without a reply."""
    words: str = ""
    """A regular expression that the error contains, in any case."""
    remedy: str = ""
    """What to do, if no row can be answered."""
    crowded: bool = False
    """Whether the server would answer if fewer requests were in flight."""
    final: bool = False
    """Whether another try would only repeat the failure."""
    of_server: bool = False
    """Whether it is about the server and no single row, which may be over if others succeed."""


UNREACHABLE, BROKEN, TIMEOUT = "unreachable", "broken", "timeout"
"""In place of a status: no connection; a connection that broke off; no answer within --timeout."""

BUSY = (429, 503, 529)
"""Statuses of a busy server, also as codes of an error with another status."""
_LENGTH = (
    "(prompt|input|context|sequence|messages?|requested)[ _](text[ _])?"
    "(tokens?|token count|length|size|window)"
)
"""What a row has too much of. A field's value (`Input should be greater than 0`) is not it."""

RULES = (
    # -- no reply at all
    Rule("wait", UNREACHABLE),
    Rule("retry", TIMEOUT, final=True),
    Rule("retry", BROKEN),
    # -- nothing can be answered
    Rule(
        "fatal",
        "",
        "insufficient[ _](user[ _])?(quota|credits|balance|funds)|requires more credits|arrearage|"
        "billing_(hard_limit|not_active)|balance is (insufficient|too low)|account.{0,40}suspended|"
        "budget (has been|was) exceeded|budget_exceeded|used all available credits|spending limit|"
        "余额不足|欠费",
        "add credit to the account, or use another key",
    ),
    Rule("fatal", "402", remedy="add credit to the account, or use another key"),
    Rule("fatal", "401", remedy="set OPENAI_API_KEY"),
    Rule(
        "fatal",
        "400 403",
        "invalid[_ ]api[_ ]key|incorrect api key|api[_ ]key.{0,12}(not valid|invalid|expired)|"
        "authentication_error|unauthenticated|security token.{0,40}(expired|invalid)",
        "set OPENAI_API_KEY",
    ),
    Rule(
        "fatal",
        "400 403 404 422",
        "model_not_found|(no such|unknown|invalid) model|DeploymentNotFound|is not a valid model|"
        "model identifier is invalid|no endpoints found for|"
        "model\\b.{0,80}(does not exist|not found|not exist|do not have access)",
        "correct --model",
    ),
    Rule(
        "fatal",
        "400 403",
        "unsupported_country|(location|country|region).{0,20}not supported",
        "use another provider, or run from another country",
    ),
    Rule("fatal", "300-399", remedy="give the address that it redirects to with --base-url"),
    # -- the row does not fit; llama.cpp says the first of these of its slots' common cache
    Rule("wait", "500", "context size has been exceeded", crowded=True),
    Rule(
        "too_long",
        "400 413 422 500",
        "context_length_exceeded|exceed_context_size|context_window_exceeded|ContextWindowExceeded|"
        f"{_LENGTH}.{{0,60}}(exceed|too (long|large)|(greater|longer|larger|more) than)|"
        "tokens in the (prompt|input|messages?).{0,20} exceed|too many (input|prompt) tokens|"
        "expected maxLength: \\d+, actual|max_seq_len.{0,30}prompt_len|超长|"
        "max(imum)? (context|prompt|model|input) length|context length is only|"
        "model'?s context length|context (window|size) exceeded|exceed max message tokens|"
        "exceeds? (the )?(available |model'?s |maximum )*context|context window of \\d|"
        "(greater|longer) than the (model'?s )?(maximum )?context|context length exceeded|"
        "(prompt|input|request)( text)? is too long|input length too long|exceed context limit|"
        "input token count.{0,60}exceeds|exceeds the maximum (number of tokens|allowed)|"
        "tokens? exceeds? the (configured )?limit|too large for model with|n_keep.{0,20}>= n_ctx|"
        "inputs` (tokens \\+|must have less than)|requested token count exceeds|"
        "reduce the length of the (messages|prompt|input)|exceeded model token limit|"
        "prompt exceeds (the )?(max|length)|range of input length|"
        "max_(completion_)?tokens must be at least 1, got -",
    ),
    # -- the row is refused, and would be again
    Rule("refused", "413 429", "request too large for|must be reduced in order to run"),
    Rule(
        "refused",
        "404",
        "no endpoints found that (can handle|support)",
        "leave fields out, with --omit NAME or without --engine-arg",
    ),
    Rule("refused", "400", "content_filter|content management policy|data_inspection_failed"),
    # -- busy, loading, restarting
    Rule("wait", "429 503 529 425"),
    Rule("wait", "498"),  # Groq: no capacity on the flex tier
    Rule(
        "wait",
        "400-599",
        "overloaded|throttl|server is busy|high traffic|(?<!error )loading model|"
        "model.{0,60}(still|currently) loading|model is not ready|rate[-_ ]?limit|"
        "too many requests|try again (later|in)|(at|no|over|enough) capacity|"
        "queue.{0,8} full|temporarily unavailable|no (healthy|available) (upstream|server|worker)",
    ),
    # -- gateways in front of a server that is restarting, or that answers too slowly
    Rule("retry", "502 504 408 409 520-527 530"),
    Rule("retry", "444 460 499"),  # nginx and AWS: the connection was closed before the answer
    Rule("retry", "500-599"),
    # -- everything else that a request can be refused for
    Rule("refused", "403", remedy="set OPENAI_API_KEY, or ask for access to the model"),
    Rule(
        "refused",
        "404 405 410",
        remedy="correct --base-url, which often ends in /v1, or give another --mode",
        of_server=True,
    ),
    Rule("refused", "413", remedy="raise the size of requests that the server or gateway accepts"),
    Rule("refused", "400-499"),
    # -- HTTP 200 with an error without a status
    Rule("retry", "200-299"),
)
"""What errors mean; the first line that fits is used."""

FINISH_REASONS: tuple[tuple[str, str], ...] = (
    ("too_long", "model_length|context_window|context_length"),
    (
        "refused",
        "filter|filtered|safety|recitation|blocklist|prohibited|refusal|sensitive|spii|guardrails?",
    ),
    ("retry", "error|abort|cancelled|failed|malformed|tool|function|unavailable|timeout"),
    ("length", "length|max|limit|budget|repetition"),
    ("none", "null|none|undefined"),
    (
        "stop",
        "stop[a-z]*|eos[a-z]*|eot|eom|end[a-z]*|complete|completed|done|finish|finished|success",
    ),
)
"""The words of finish reasons, and what they mean: an answer's end, a kind of failure, or nothing.

The first line with a word of the reason is used. An answer that ends with any other
reason is not used."""


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
    limit: int | None = None
    """The context length in tokens, if it is known."""
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


def classify(reply: Reply, request: Request) -> Answer | Failure:
    """Return what a reply means."""
    if isinstance(reply.status, int) and 200 <= reply.status < 300:
        if error := error_in(reply.body):
            status = status_in(error, reply.status)
            return _failure(status, error, reply, request)
        if not isinstance(reply.body, dict):
            return _not_a_completion(reply)
        return _read_completion(reply.body, request)
    return _failure(reply.status, reply.body, reply, request)


def failure_of(reply: Reply) -> Failure | None:
    """Return the failure that a reply about the server itself means; None if it is not one."""
    if isinstance(reply.status, int) and 200 <= reply.status < 300:
        error = error_in(reply.body)
        return _failure(status_in(error, reply.status), error, reply) if error else None
    return _failure(reply.status, reply.body, reply)


def rule_for(status: int | str, words: str) -> Rule:
    """Return the first line of RULES that fits a status and the words of an error."""
    for rule in RULES:
        if _has_status(rule, status) and re.search(rule.words, words, re.I | re.S):
            return rule
    return RULES[-1]


def _has_status(rule: Rule, status: int | str) -> bool:
    """Whether a line is for a status. An error with HTTP status 200 is found by its words."""
    if isinstance(status, str):
        return rule.statuses == status
    if not rule.statuses or (status < 300 and rule.words):
        return True
    for part in rule.statuses.split():
        first, _, last = part.partition("-")
        if first.isdecimal() and int(first) <= status <= int(last or first):
            return True
    return False


def _failure(
    status: int | str, error: Any, reply: Reply, request: Request | None = None
) -> Failure:
    """Return the failure that an error with a status means."""
    message, codes = error_text(error), error_codes(error)
    # a gateway may wrap another server's 429 into a status of its own
    inner = status_in(error, status) if isinstance(status, int) else status
    rule_status = inner if inner in BUSY else status
    rule = rule_for(rule_status, f"{codes} {message}"[:MAX_SEARCHED])
    kind = rule.kind
    if rule.crowded and (request is None or request.is_alone):
        kind = "too_long"
    if status == TIMEOUT:
        sentence = f"Timeout: {message}"
    elif isinstance(status, str):
        sentence = f"Connection error: {message}"
    else:
        where = "an error" if status < 300 else f"HTTP {status}"
        sentence = f"{where}: {message}" if message else where
    remedy = rule.remedy
    if kind == "refused" and not remedy:
        remedy = _remedy_for_field(f"{codes} {message}", request.fields if request else ())
    return Failure(
        kind=kind,
        sentence=sentence[:MAX_SHOWN].rstrip("."),
        remedy=remedy,
        retry_after=reply.retry_after,
        crowded=rule.crowded and kind == "wait",
        final=rule.final or (kind == "refused" and not rule.of_server),
    )


def _remedy_for_field(message: str, fields: Iterable[str]) -> str:
    """Return the flag that helps against a refused field or value."""
    named = [field for field in fields if re.search(rf"(?<![\w]){field}(?![\w])", message)]
    named.sort(key=message.index)
    field = named[0] if named else ""
    if field in ("max_tokens", "max_completion_tokens"):
        if re.search("max_completion_tokens|unsupported|not supported", message, re.I):
            return "--provider openai sends max_completion_tokens, every other one max_tokens"
        return "the limit of the answer is refused: lower --thinking, or run other rows"
    if field in SAMPLER_NAMES:
        return f"leave the field out with --omit {field}"
    if field in ("stream", "stream_options"):
        return "leave --stream out"
    if field in ("add_generation_prompt", "continue_final_message", "chat_template_kwargs"):
        return "--provider says what the server is; --mode chat continues no turn"
    if field == "cache_salt":
        return "the server does not have the field cache_salt"
    if field in ("prompt", "messages", "model"):
        return "give another --mode, or leave --tokenizer out"
    if field:
        return f"leave out the field {field} (--engine-arg)"
    return "--provider says what the server is, --omit leaves sampling fields out (docs/servers.md)"


# ---- errors in the forms that servers use --------------------------------------------------------

MESSAGE_NAMES = (
    "error",
    "detail",
    "message",
    "msg",
    "error_message",
    "error_msg",
    "errors",
    "title",
    "base_resp",  # MiniMax's
    "status_msg",
)
"""The fields of an error that say what is wrong."""


def error_in(body: Any) -> Any:
    """Return the error in the body of a reply with HTTP status 200; None if there is none."""
    if isinstance(body, list) and len(body) == 1:  # Gemini's
        body = body[0]
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    if (error := body.get("error")) and not (choices and _is_no_error(error)):
        return body if isinstance(error, dict) else {"error": {"message": error, **body}}
    choice = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(choice, dict) and isinstance(choice.get("error"), dict):
        return {"error": choice["error"]}
    if choices is None and (body.get("object") == "error" or body.get("type") == "error"):
        return body
    if not choices and _in_openai_form(body) is body and error_text(body):
        return body
    return None


def _is_no_error(error: Any) -> bool:
    """Whether an error beside an answer says that all went well, as some gateways' does."""
    return isinstance(error, dict) and (
        not error_text(error) or str(error.get("code")) in ("0", "200")
    )


def status_in(error: Any, status: int) -> int:
    """Return the HTTP status that an error names as its code, else the reply's own."""
    for value in _values(error, ("code", "status", "status_code", "error_code")):
        text = str(value)
        if text.isdecimal() and 400 <= int(text) < 600:
            return int(text)
    return status


def error_text(error: Any) -> str:
    """Return the message of an error in any form that servers use; empty without one."""
    if isinstance(error, str):
        text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", error, flags=re.S | re.I)
        return " ".join((text if text.strip() else error).split())
    if isinstance(error, list):
        return "; ".join(filter(None, (error_text(item) for item in error)))
    if not isinstance(error, dict):
        return "" if error is None else str(error)
    for name in MESSAGE_NAMES:
        if text := error_text(error.get(name)):
            if reason := error_text(_provider_error(error)):
                text = f"{text}: {reason}"
            where = error.get("loc")  # FastAPI's
            if isinstance(where, list):
                return f"{'.'.join(map(str, where))}: {text}"
            return text
    return ""


def error_codes(error: Any) -> str:
    """Return the codes and names in an error, which say what it is about."""
    names = ("code", "type", "param", "status", "loc")
    return " ".join(str(value) for value in _values(error, names))


def _values(error: Any, names: Collection[str]) -> list[Any]:
    """Return the values of fields of an error, and of the errors in it."""
    if isinstance(error, list):
        return [value for item in error for value in _values(item, names)]
    if not isinstance(error, dict):
        return []
    values = [error[name] for name in names if error.get(name) not in (None, "")]
    for inner in ("error", "detail", "errors", "metadata", "innererror", "base_resp"):
        values += _values(error.get(inner), names)
    return values + _values(_provider_error(error), names)


def _provider_error(error: Any) -> Any:
    """Return the error of the provider behind OpenRouter: JSON as a text, or words."""
    raw = field_of(error, "metadata", "raw")
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw


# ---- completions ---------------------------------------------------------------------------------


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _malformed(why: str) -> Failure:
    return Failure(kind="retry", sentence=f"Malformed: {why}"[:MAX_SHOWN])


def _not_a_completion(reply: Reply) -> Failure:
    """Return the failure of a reply with HTTP status 200 that is not a JSON object."""
    if isinstance(reply.body, str) and reply.body.lstrip().startswith("<"):  # a web page
        return Failure(
            kind="refused",
            sentence=f"the answer is a web page: {error_text(reply.body)}"[:MAX_SHOWN],
            remedy="correct --base-url, which often ends in /v1",
        )
    if reply.body in ("", None, [], {}):
        return _malformed("the answer is empty")
    return _malformed(f"the answer is not valid JSON: {reply.body}")


def _read_completion(body: dict[str, Any], request: Request) -> Answer | Failure:
    """Return the answer in the JSON of a chat or text completion."""
    body = _in_openai_form(body)
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return _malformed(f"no choices in the answer: {_shown(body)}")
    message = choice.get("message", choice.get("delta"))
    content = field_of(message, "content")
    if message is None:
        content = choice.get("text", choice.get("content"))
    elif not isinstance(message, dict):
        return _malformed(f"no text in the answer: {_shown(body)}")
    if content is None and message is not None:
        content = message.get("refusal") or ""
    reason = choice.get("finish_reason", choice.get("stop_reason"))
    if content is None and reason:  # a blocked or empty answer
        content = ""
    text, thought = text_and_thought(content)
    if text is None:
        return _malformed(f"no text in the answer: {_shown(body)}")
    reasoning = reasoning_of(message) or thought or None
    counts = _counts(body.get("usage"), request, is_empty=not (text or reasoning))
    answer = Answer(text=text, finish_reason="stop", reasoning=reasoning, **counts)
    if not (text or answer.reasoning or answer.completion_tokens or end_of(reason)):
        return _malformed(f"no text and no end in the answer: {_shown(body)}")
    return _ended(answer, reason, request)


def _in_openai_form(body: dict[str, Any]) -> dict[str, Any]:
    """Return a completion out of the object around it, and Anthropic's message as a completion."""
    if body.get("choices"):
        return body
    for name in ("data", "result", "response", "output"):
        if choices := field_of(body, name, "choices"):
            return {"choices": choices, "usage": field_of(body, name, "usage") or body.get("usage")}
    if body.get("type") == "message" and "content" in body:
        choice = {"message": {"content": body["content"]}, "finish_reason": body.get("stop_reason")}
        return {"choices": [choice], "usage": body.get("usage")}
    return body


def reasoning_of(message: Any) -> str | None:
    """Return the reasoning that a server's parser separated from a message or a piece of it."""
    for name in REASONING_NAMES:
        value = field_of(message, name)
        if isinstance(value, list | dict):
            text, thought = text_and_thought(value)
            value = (text or "") + (thought or "")
        if isinstance(value, str) and value:
            return value
    return None


REASONING_NAMES = (
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
    "thinking_blocks",
    "thought",
    "thoughts",
    "reasoning_details",
)
"""The fields that hold the reasoning of a message."""
TEXT_NAMES = (
    "text",
    "thinking",
    "reasoning",
    "content",
    "output_text",
    "refusal",
    "summary",
    "value",
)
"""The fields that hold the text of a part of a message."""


def text_and_thought(content: Any) -> tuple[str | None, str]:
    """Return the text and the reasoning of a content, which may be a part or a list of parts.

    The text is None for anything else. A part of any type that has a text counts.
    """
    if isinstance(content, str):
        return content, ""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return None, ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        inner = part
        if isinstance(part, dict):
            inner = next((part[name] for name in TEXT_NAMES if part.get(name)), "")
        text, thought = text_and_thought(inner)
        if text is None:
            return None, ""
        kind = str(field_of(part, "type") or "")
        is_thought = "think" in kind or "reason" in kind or "thought" in kind
        is_thought = is_thought or field_of(part, "thought") is True  # Gemini's
        (thoughts if is_thought else texts).append(text)
        thoughts.append(thought)
    return "".join(texts), "".join(thoughts)


def _counts(usage: Any, request: Request, is_empty: bool) -> dict[str, Any]:
    """Return the token counts of a reply. No completion tokens are believed of an empty one only.

    OpenAI's prompt_tokens include the cached ones. Some gateways report them apart, as Anthropic
    does: then both are added up.
    """
    prompt = count_of(field_of(usage, "prompt_tokens"), 1)
    prompt = prompt if prompt is not None else count_of(field_of(usage, "input_tokens"), 1)
    min_completion = 0 if is_empty else 1
    completion = count_of(field_of(usage, "completion_tokens"), min_completion)
    if completion is None:
        completion = count_of(field_of(usage, "output_tokens"), min_completion)
    cached = count_of(field_of(usage, "prompt_tokens_details", "cached_tokens"))
    for name in ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens"):
        cached = cached if cached is not None else count_of(field_of(usage, name))
    total = count_of(field_of(usage, "total_tokens"), 1)
    if prompt is not None and cached:
        written = count_of(field_of(usage, "cache_creation_input_tokens")) or 0
        together = prompt + cached + written
        expected = request.prompt.counted_tokens
        if (
            cached > prompt
            or (total is not None and total >= together + (completion or 0))
            or (expected is not None and abs(together - expected) <= TOLERANCE)
        ):
            prompt = together
    reasoning = count_of(field_of(usage, "completion_tokens_details", "reasoning_tokens"), 1)
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
    fields = {**vars(answer), "finish_reason": end, "at_limit": is_full and end == "stop"}
    return Answer(**fields)


def end_of(reason: Any) -> str | None:
    """Return what a finish reason means: stop, length, a kind of failure, or `unknown`.

    None if there is no reason.
    """
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", str(reason or "")).lower()
    words = re.sub(r"finish_?reason", "", words)
    if not words.strip():
        return None
    for end, pattern in FINISH_REASONS:
        if re.search(rf"(?<![a-z])({pattern})(?![a-z])", words):
            return None if end == "none" else end
    return "unknown"


def _shortened(answer: Answer, end: str, request: Request) -> Failure | None:
    """Return how the token counts show that a server shortened the prompt or the answer."""
    prompt, limit = request.prompt, request.limit
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
    is_full = read is not None and limit is not None and read + generated >= limit
    # with another tokenizer a gateway may count fewer; if the window is unknown, rather doubt it
    min_generated = prompt.max_tokens * (9 if limit is None else 6) // 10
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


class StreamedReply:
    """Assembles a completion that arrives in pieces (`--stream`)."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._is_chat = False
        self._finish_reason: Any = None
        self._usage: Any = None
        self._error: Any = None
        self._wrong: Any = None
        self._unread: Any = None
        self._has_choice = False
        self.has_ended = False
        """Whether the server said that the stream is complete."""

    def add(self, piece: Any) -> None:
        """Add the next piece."""
        if not isinstance(piece, dict) and piece != "":
            self._unread = piece
        usage = field_of(piece, "usage") or field_of(piece, "x_groq", "usage")
        self._usage = usage or self._usage
        self._error = self._error or error_in(piece)
        choices = field_of(piece, "choices")
        if choices is not None and not isinstance(choices, list):
            self._wrong = piece
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                self._wrong = piece
                continue
            self._has_choice = True
            if choice.get("index"):  # not the first answer
                continue
            delta = choice.get("delta") or choice.get("message")
            self._is_chat = self._is_chat or delta is not None
            content = choice.get("text") if delta is None else field_of(delta, "content")
            if content is not None:
                text, thought = text_and_thought(content)
                self._wrong = self._wrong or (piece if text is None else None)
                if "message" in choice and (text or "").startswith("".join(self._texts)):
                    self._texts = []  # some gateways repeat the whole answer at the end
                self._texts.append(text or "")
                self._thoughts.append(thought)
            self._thoughts.append(reasoning_of(delta) or "")
            self._finish_reason = choice.get("finish_reason") or self._finish_reason

    def whole(self) -> Any:
        """Return the reply in the form of one without --stream; an error if it is incomplete."""
        if self._error is not None:
            return self._error
        if self._wrong is not None:
            return {"error": f"a piece is not a completion: {_shown(self._wrong)}"}
        if self._finish_reason is None and self._unread is not None:
            return {"error": f"a piece is not JSON: {self._unread}"}
        if not self._has_choice or (self._finish_reason is None and not self.has_ended):
            return {"error": "the stream ended before the answer did"}
        choice: dict[str, Any] = {"finish_reason": self._finish_reason}
        if self._is_chat:
            thoughts = "".join(self._thoughts) or None
            choice["message"] = {"content": "".join(self._texts), "reasoning": thoughts}
        else:
            choice["text"] = "".join(self._texts)
        return {"choices": [choice], "usage": self._usage}


def field_of(value: Any, *names: str) -> Any:
    """Return the field at this path of nested JSON objects; None if it is absent."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def count_of(value: Any, minimum: int = 0) -> int | None:
    """Return a count in a reply, or None if the value is not a valid count."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and minimum <= value < 1 << 53 else None
