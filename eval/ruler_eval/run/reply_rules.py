"""The rules by which replies are classified: what statuses, error texts and finish reasons mean.

    rule_for(429, "")                  # Rule("wait", "429 503 529 425")
    end_of("eos_token")                # "stop"

tests/eval/run/server_replies.tsv has a real reply for each line of RULES.
The kinds of failures:

    wait       the server is busy, loading or gone: send the row again when it is back
    retry      this request failed, and the next one may not
    too_long   the row does not fit the model's context window
    truncated  the server read only a part of the prompt
    refused    the request is refused, and would be again: a field, a value, or this row's text
    fatal      no row can be answered: the key, the quota, the model's name, the address
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["wait", "retry", "too_long", "truncated", "refused", "fatal"]


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
NO_PROMPT = (
    "(output|completion|generated|new) tokens|per[ _-]?(minute|min|hour|day|second|month)|quota|"
    "throttl|rate[-_ ]?limit|wait before|每分钟"
)
"""What else may have too many tokens: the answer, or all requests of a time."""
_NO_LENGTH = f"(maximum|max\\.?) tokens|max_(completion_|output_|new_)?tokens|{NO_PROMPT}"
"""The same, or a field with the limit of the answer."""
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
        "key limit exceeded|reached your.{0,20} usage limit|free ?tier.{0,40}(exhausted|only)|"
        "余额不足|欠费",
        "add credit to the account, or use another key",
    ),
    Rule("fatal", "402", remedy="add credit to the account, or use another key"),
    Rule("fatal", "401", remedy="set OPENAI_API_KEY"),
    Rule(
        "fatal",
        "400 403",
        "invalid[_ ]api[_ ]key|incorrect api key|api[_ ]key.{0,12}(not valid|invalid|expired)|"
        "authentication_error|unauthenticated|security token.{0,40}(expired|invalid)|"
        "api[_ ]key.{0,20}(leaked|revoked|disabled|blocked)",
        "set OPENAI_API_KEY",
    ),
    Rule(
        "fatal",
        "400 404",
        "no models? (is |are )?(currently )?loaded|model (is )?not loaded",
        "load the model in the server, or correct --model",
    ),
    Rule(
        "fatal",
        "400 403 404 410 422",
        "model_not_(found|available)|(no such|unknown|invalid) model|DeploymentNotFound|"
        "is not a valid model|not_found_error model:|unable to access model|decommissioned|"
        "model.{0,40}(has been|is) (deprecated|retired|removed|shut down)|"
        "model.{0,60}not found for api version|LLM provider not provided|on-demand throughput|"
        "access to the model with|function '.{1,80}not found for account|"
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
    Rule(
        "refused",
        "200-599",
        "just a moment\\.\\.\\.|checking your browser|enable javascript and cookies|"
        "verify(ing)? (that )?you are (a )?human|captcha|attention required! \\| cloudflare",
        "the address is guarded by a check for browsers: use one that is meant for programs",
        of_server=True,
    ),
    Rule("fatal", "300-399", remedy="give the address that it redirects to with --base-url"),
    # -- the limit of the answer, whose value the server does not take
    Rule(
        "refused",
        "400 422",
        "^(?!.*(context|input|prompt|messages|max_seq|too_long|got -))"
        "(?!.*(rate[-_ ]?limit|throttl)).*"
        "max_(completion_|output_|new_)?tokens(?![a-z_])",
    ),
    # -- the row does not fit; llama.cpp says the first of these of its slots' common cache
    Rule("wait", "500", "context size has been exceeded", crowded=True),
    Rule(
        "too_long",
        "400 413 422 424 500",
        "context_length_exceeded|exceed_context_size|context_window_exceeded|ContextWindowExceeded|"
        f"{_LENGTH}.{{0,60}}(exceed|too (long|large)|(greater|longer|larger|more) than)|"
        "tokens in (the )?(prompt|input|messages?|request).{0,20} (exceed|more than)|"
        "too many (input|prompt) tokens(?! per)|(context|token) limit (is )?(reached|exceeded)|"
        "string_above_max_length|string[_ ]too[_ ]long|tokens_limit_reached|too long to fit|"
        "length of current question|"
        "(must|should).{0,40}(max_seq_len|max_model_len|session_len|n_ctx)\\b|"
        "(longer|greater|larger|more) than.{0,30}(max_seq_len|max_model_len|session_len|n_ctx)\\b|"
        "exceeds?.{0,30}(max_seq_len|max_model_len|session_len|n_ctx|session length)\\b|"
        "expected maxLength: \\d+, actual|max_seq_len.{0,30}prompt_len|超长|"
        "too big compared to KV size|"
        "max(imum)? (context|prompt|model|input|sequence) length|context length (is|of) only|"
        "model'?s context length|context (window|size) exceeded|exceed max message tokens|"
        "exceed(s|ed)? (the |this )?(available |model'?s? |maximum )*context|context window of \\d|"
        "(greater|longer) than the (model'?s )?(maximum )?context|context length exceeded|"
        "(prompt|input|request|messages?|conversation|context)( text| length)?( is| are)? "
        "too long|"
        "exceed context limit|"
        "(?<!每分钟)(输入|上下文|prompt|(?<![a-z_])tokens?).{0,20}(超过|超出|超限|过长|太长)|"
        "input token count.{0,60}exceeds|"
        "exceeds the maximum (number of tokens|allowed(?! (number|size|request)))|"
        "tokens? exceeds? the (configured )?limit|too large for model with|n_keep.{0,20}>= n_ctx|"
        "inputs`? (tokens \\+|must have less than)|requested token count exceeds|"
        "reduce the length of the (messages|prompt|input)|exceeded model token limit|"
        "prompt exceeds (the )?(max|length)|range of input length|"
        "max_(completion_)?tokens must be at least 1, got -",
    ),
    # … in words that are not known: of its tokens, and of a limit
    Rule(
        "too_long",
        "400 413 422",
        f"^(?!.*({_NO_LENGTH}))(?=.*(prompt|input|context|request|messages|too many))"
        "(?=.*(exceed|too (long|large|big|many)|(more|less|fewer) than|limit|maximum|"
        "(longer|greater|larger|shorter|smaller) than|max(imum)? (size|length)|at most|up to|"
        "supports only|> ?\\d)).*"
        "(tokens\\b|token (count|length|limit|size))",
    ),
    # -- the row is refused, and would be again
    Rule("refused", "413 429", "request too large for|must be reduced in order to run"),
    Rule(
        "refused",
        "404",
        "no endpoints found that (can handle|support)",
        "leave fields out, with --omit NAME or without --engine-arg",
    ),
    Rule(
        "refused",
        "400",
        "content_filter|content management policy|data_inspection_failed|new_sensitive",
    ),
    # -- busy, loading, restarting
    Rule("wait", "429 503 529 425"),
    Rule("wait", "498"),  # Groq: no capacity on the flex tier
    Rule(
        "wait",
        "400-599",
        "overload|throttl|is (currently )?busy|warming up|high traffic|(?<!error )loading model|"
        "resource[_ ]?exhausted|concurrency limit|ModelNotReady|"
        "model.{0,60}(still|currently) loading|model is not ready|rate[-_ ]?limit|"
        "too many requests|(request|qps|rpm|tpm) limit|try again (later|in)|"
        "(at|no|over|enough) capacity|capacity (temporarily )?exceeded|"
        "queue.{0,8} full|temporarily unavailable|"
        "no (healthy|available) (upstream|server|worker|deployment)|scal(ing|ed) (up|to zero)|"
        "endpoint is (paused|stopped|starting)|quota will be replenished|"
        "速率限制|频率|并发|访问量过大|限流|稍后",
    ),
    # -- the engine failed, and the server or a gateway says it with the status of a wrong request
    Rule(
        "retry",
        "400-499",
        "unloaded|crashed|abort(ed|ing)|cancel+ed|internal server error|out of memory|"
        "channel error|failed to load|timed out|connection (error|reset|refused)",
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
REMEDIES = (
    (
        "(stream(ing)?( mode)?\\b.{0,20}(required|only|enable)|only.{0,30}stream|non-?stream|"
        "stream ?= ?false)",
        "add --stream",
    ),
    (
        "prefill|(last|final) (message|role|turn)|end with a user|expected last role",
        "--mode chat continues no turn",
    ),
    (
        "(system|developer)'? (role|message|prompt|instruction).{0,30}(not|unsupported)|"
        "(not|n't|unsupported).{0,20}'?system'? (role|message|prompt|instruction)|"
        "roles? must alternate",
        "leave --system out",
    ),
    (
        "chat template|(not|n't) support.{0,20}chat",
        "the model takes no chat: use --mode completion",
    ),
    (
        "(think|reason)(ing)?\\b.{0,40}(mandatory|required|cannot be (disabled|turned off))|"
        "only (works|runs|supports?).{0,20}(think|reason)ing",
        "give the model tokens to reason: --thinking 8192",
    ),
    (
        "(not|n't) support.{0,20}(think|reason)ing|(think|reason)ing is not (supported|available)",
        "leave --thinking out",
    ),
    (
        "prompt\\W.{0,20}(valid |a )string",
        "the server does not read token ids: leave --tokenizer out",
    ),
)
"""What to do about a refused request, by words of the error."""
FINISH_REASONS: tuple[tuple[str, str], ...] = (
    ("too_long", "model_length|context|too_long"),
    (
        "refused",
        "filter|filtered|safety|recitation|blocklist|prohibited|refusal|sensitive|spii|guardrails?|"
        "blocked|flagged|moderation|harmful|toxic|policy",
    ),
    (
        "retry",
        "error|abort|user|cancelled|canceled|failed|malformed|tool|function|unavailable|timeout|time|"
        "not|no|incomplete",
    ),
    ("length", "length|max|limit|budget|repetition|truncated|cut"),
    ("none", "null|none|undefined"),
    (
        "stop",
        "stop[a-z]*|eos[a-z]*|eot|eom|eog|s|end[a-z]*|complete|completed|done|finish|finished|"
        "success|succeeded|normal|natural|ok",
    ),
)
"""The words of finish reasons, and what they mean: an answer's end, a kind of failure, or nothing.

The first line with a word of the reason is used. An answer that ends with any other
reason is not used."""


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
