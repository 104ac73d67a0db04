"""The answers of other APIs in the form of OpenAI's chat completions, which gateways pass through.

    in_openai_form({"message": {"content": "42"}, "done_reason": "stop"})
    # {"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}], …}

Their token counts keep their names, which classify.py knows.
"""

from __future__ import annotations

from typing import Any

WRAPPERS = ("data", "result", "response", "output", "body")
"""The fields that may hold a whole completion."""
RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
"""The last events of a stream of OpenAI's Responses API, which have the whole response."""


def in_openai_form(body: dict[str, Any]) -> dict[str, Any]:
    """Return a completion in any known form as a chat completion; another object unchanged."""
    if isinstance(body.get("choices"), dict):
        return {**body, "choices": [body["choices"]]}
    if body.get("choices"):
        return body
    if (choice := _choice(body)) is not None:
        usage = body.get("usage") or body.get("usageMetadata") or body  # Ollama's are in the body
        if isinstance(usage, dict) and isinstance(usage.get("tokens"), dict):  # Cohere's
            usage = usage["tokens"]
        return {**body, "choices": [choice], "usage": usage}
    for name in WRAPPERS:
        inner = body.get(name)
        if isinstance(inner, dict) and (completion := in_openai_form(inner)).get("choices"):
            return {**completion, "usage": completion.get("usage") or body.get("usage")}
    return body


def _choice(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer in another API's object as a choice; None if it has none."""
    if body.get("type") == "message" and "content" in body:  # Anthropic's
        return _of(body["content"], body.get("stop_reason"))
    if isinstance(body.get("candidates"), list) and body["candidates"]:  # Gemini's
        candidate = body["candidates"][0]
        if not isinstance(candidate, dict):
            return None
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        return _of(parts, candidate.get("finishReason") or body.get("finishReason"))
    feedback = body.get("promptFeedback")
    if isinstance(feedback, dict) and feedback.get("blockReason"):  # Gemini refuses the prompt
        return _of(None, f"blocked: {feedback['blockReason']}")
    if body.get("object") == "response" and isinstance(body.get("output"), list):  # Responses
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        return _of(body["output"], reason or body.get("status"))
    output = body.get("output")
    if isinstance(output, dict) and "stopReason" in body:  # Bedrock's Converse
        return {"message": output.get("message"), "finish_reason": body["stopReason"]}
    message = body.get("message")
    if isinstance(message, dict) and "content" in message:  # Ollama's and Cohere's
        reason = body.get("done_reason") or body.get("finish_reason")
        return {"message": message, "finish_reason": reason}
    if "done_reason" in body and isinstance(body.get("response"), str):  # Ollama's /api/generate
        return {"text": body["response"], "finish_reason": body["done_reason"]}
    if isinstance(body.get("generated_text"), str):  # TGI's
        details = body.get("details")
        reason = details.get("finish_reason") if isinstance(details, dict) else None
        return {"text": body["generated_text"], "finish_reason": reason}
    return None


def _of(content: Any, reason: Any) -> dict[str, Any]:
    return {"message": {"content": content or ""}, "finish_reason": reason}


def event_in_openai_form(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event of another API's stream as a piece of a chat completion's.

    An event without a piece of the answer is returned unchanged.
    """
    kind = event.get("type")
    if kind == "message_start" and isinstance(event.get("message"), dict):  # Anthropic's
        return {"usage": event["message"].get("usage")}
    delta = event.get("delta")
    if kind == "content_block_delta" and isinstance(delta, dict):
        text, thought = delta.get("text"), delta.get("thinking")
        return {"choices": [{"delta": {"content": text, "thinking": thought}}]}
    if kind == "message_delta" and isinstance(delta, dict):
        last: dict[str, Any] = {"delta": {}, "finish_reason": delta.get("stop_reason")}
        return {"choices": [last], "usage": event.get("usage")}
    if kind in RESPONSE_ENDS and isinstance(event.get("response"), dict):
        return in_openai_form(event["response"])
    if isinstance(event.get("candidates"), list) or "promptFeedback" in event:  # Gemini's
        piece = in_openai_form(event)
        choices = [
            {"delta": choice["message"], "finish_reason": choice["finish_reason"]}
            for choice in piece.get("choices") or ()
        ]
        return {"choices": choices, "usage": piece.get("usage")}
    return event
