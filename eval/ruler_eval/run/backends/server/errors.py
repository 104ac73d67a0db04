"""Errors of requests to a server: what went wrong, in one line, and what the user can do."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping

import openai

from ruler_common.errors import RulerError
from ruler_eval.run.backends.secrets import hide_keys
from ruler_eval.run.backends.server.replies import MAX_SHOWN, Malformed, error_text, read_json


def describe(error: BaseException) -> str:
    """Return an error as one line of at most MAX_SHOWN characters, without keys.

    What stands before its first colon is the cause: two errors with one cause begin alike.
    """
    if isinstance(error, openai.APIStatusError):
        cause, text = f"HTTP {error.status_code}", _body_text(error)
    elif isinstance(error, asyncio.TimeoutError):
        cause, text = "Timeout", str(error)
    elif isinstance(error, openai.APIConnectionError) and error.__cause__ is not None:
        cause, text = "Connection error", f"{type(error.__cause__).__name__} {error.__cause__}"
    else:
        cause, text = type(error).__name__, str(error)
    return f"{cause}: {hide_keys(' '.join(text.split()), MAX_SHOWN)}".rstrip(": ")


def _body_text(error: openai.APIStatusError) -> str:
    """Return the message in the body of an HTTP error; the body itself if it has another form."""
    text = error.response.text
    try:
        body = read_json(text)
    except Malformed:
        return text
    return error_text(body) or ""


def start_error(error: BaseException, where: str) -> RulerError | None:
    """Return why the server at an address cannot be used, with the remedy.

    None for an error of the path that was asked for, which not every server has.
    """
    if isinstance(error, openai.APIStatusError):
        if error.status_code in (401, 403):
            return RulerError(
                f"The server at {where} refuses the key ({describe(error)}): set OPENAI_API_KEY."
            )
        return None
    if isinstance(error, Malformed | openai.APIResponseValidationError):
        return None
    if isinstance(error, asyncio.TimeoutError):
        return RulerError(
            f"The server at {where} does not finish its reply: wait until it has started, "
            "or correct --base-url."
        )
    tls = _tls_error(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return RulerError(
            f"The server at {where} has a certificate that is not trusted "
            f"({tls.verify_message}): name its authority's file in SSL_CERT_FILE."
        )
    if tls is not None:
        return RulerError(
            f"The server at {where} does not speak TLS that is understood here "
            f"({tls.reason}): is its address http://…? Correct --base-url."
        )
    if is_refused(error):
        return RulerError(
            f"No server answers at {where}: start one (vllm serve MODEL), or correct --base-url."
        )
    return RulerError(
        f"No request can be made to {where} ({type(error.__cause__ or error).__name__}): correct "
        "--base-url, or the proxy, certificate and header variables of the environment "
        "(HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE, OPENAI_CUSTOM_HEADERS)."
    )


def is_refused(error: BaseException) -> bool:
    """Whether no connection to the server could be made."""
    cause = type(error.__cause__).__name__  # of httpx or httpx2, whichever the openai package has
    return isinstance(error, openai.APIConnectionError) and cause.startswith("Connect")


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """Return the TLS error that caused an error, if there is one."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def retry_after(error: BaseException) -> str:
    """Return the header Retry-After of an HTTP error; empty if it has none."""
    if not isinstance(error, openai.APIStatusError):
        return ""
    headers: Mapping[str, str] = error.response.headers
    return headers.get("retry-after", "")
