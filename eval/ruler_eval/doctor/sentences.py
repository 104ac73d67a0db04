"""Write the sentences of a verdict on one server from its numbers (judge.py).

They are shown on the terminal and the page, and stored in doctor.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ruler_common.text import number_of, sentences, some_of, table
from ruler_eval.doctor.conditions import CONDITIONS, SIDE_PHRASES
from ruler_eval.doctor.outcomes import EXIT_CODES, OUTCOMES, STATES
from ruler_eval.doctor.verdict import Finding, TokenFacts, Verdict
from ruler_eval.run.providers import Provider

MIN_SCORE = 1.0
"""A score, in %, below which no loss can be seen and something else is wrong."""
TOKENS_TITLE = "Counted tokens"
BOS_REMEDY = "do not send a BOS, or stop the server from adding one (add_special_tokens)"
UNSEEN_FAULTS = (
    "A fault in every request cannot be seen this way: --against another deployment or --against "
    "hf can."
)
BARS = " ▁▂▃▄▅▆▇█"
"""The bars of a picture of recall, from none found to all."""


def sentence_of(finding: Finding) -> str:
    """Return a finding as a sentence."""
    condition = CONDITIONS[finding.name]
    a, b = SIDE_PHRASES[condition.a], condition.phrase_of_b
    rows = number_of(finding.rows, "row")
    if finding.state == "engine":
        return _fault(finding)
    if finding.state == "unchecked":
        if finding.reason == "unconfirmed":
            return (
                "Not checked: the server does not report whether its cache was hit (vLLM: "
                "--enable-prompt-tokens-details). The second answer of a row was as good as the "
                "first."
            )
        return f"Not checked: {finding.reason}.{_failed(finding)}"
    if finding.name == "repeat":
        return f"{100 * finding.flips:.1f} % of identical requests get different scores, in {rows}."
    counts = f"{finding.only_a} of {rows} have a better answer {a}, {finding.only_b} {b}"
    if finding.state == "suspect":
        why = "chance is not a good explanation"
        if finding.seen_again is False:
            why = "what happened once, such as a restart, looks the same"
        return f"Cannot tell: {counts}{_where(finding)}; {why}."
    detected = f"; a loss of {finding.smallest_loss:.0f} points would have been detected"
    fresh = ""
    if finding.fresh is not None:
        fresh = (
            f" {number_of(finding.fresh.rows, 'further row')} of {finding.fresh.config} showed no "
            f"loss ({finding.fresh.only_a} better {a}, {finding.fresh.only_b} {b})."
        )
    return f"No change: {counts}{detected}.{fresh}{_failed(finding)}"


def _failed(finding: Finding) -> str:
    if not finding.failed:
        return ""
    return f" Not counted: {number_of(finding.failed, 'row')} that failed ({finding.failure})."


def _where(finding: Finding) -> str:
    """Return where a suspect condition loses."""
    if finding.fresh is not None:
        fresh = finding.fresh
        return (
            f"; {fresh.only_a} and {fresh.only_b} of {number_of(fresh.rows, 'further row')} of "
            f"{fresh.config}"
        )
    if not finding.configs:
        return ""
    worst = finding.configs[0]
    return f", most of them in {worst.config} ({worst.only_a} and {worst.only_b} of {worst.rows})"


def _fault(finding: Finding) -> str:
    condition = CONDITIONS[finding.name]
    a, b = SIDE_PHRASES[condition.a], condition.phrase_of_b
    if not finding.holm_p and finding.failed_only_b:
        return (
            f"Requests fail {b}: {number_of(finding.failed_only_b, 'row')}, and "
            f"{finding.failed_only_cold or 'none'} {a} ({finding.failure})."
        )
    if finding.name == "repeat":
        return (
            f"{condition.if_worse}: {100 * finding.flips:.1f} % of "
            f"{number_of(finding.rows, 'pair')} (p = {finding.holm_p:.2g})."
        )
    if finding.cold_differ is not None:
        differ, rows = finding.cold_differ
        return (
            f"Answers change on cache hits: the scores of identical requests that hit it differ in "
            f"{100 * finding.flips:.1f} % (p = {finding.holm_p:.2g}), those of cold requests in "
            f"{differ} of {number_of(rows, 'row')}; {finding.only_a} have a better answer cold, "
            f"{finding.only_b} from the cache."
        )
    summary, better, worse = condition.if_worse, a, b
    if finding.only_b > finding.only_a:
        summary, better, worse = f"Answers are worse {a} than {b}", b, a
    more = max(finding.only_a, finding.only_b)
    fewer = min(finding.only_a, finding.only_b)
    counts = f"{more} of {number_of(finding.rows, 'row')} have a better answer {better}, {fewer}"
    fresh = ""
    if finding.fresh is not None:
        fresh = (
            f", and {finding.fresh.only_a} against {finding.fresh.only_b} of "
            f"{number_of(finding.fresh.rows, 'further row')} of {finding.fresh.config}"
        )
    return f"{summary}: {counts} {worse}{fresh} (p = {finding.holm_p:.2g})."


def token_sentence(facts: TokenFacts) -> str:
    """Return what the server's token counts show."""
    rows = number_of(facts.rows, "row")
    if facts.kind == "shortened":
        return (
            f"The server shortens prompts: it read {facts.read:,} of {facts.sent:,} tokens; this "
            f"happened to {rows}."
        )
    if facts.kind == "estimate":
        return (
            f"The server shortens prompts: it read {facts.read:,} tokens of a prompt of about "
            f"{facts.sent:,} (the release's count, an estimate; two tokenizers never differ by a "
            f"factor of 2.5); this happened to {rows}."
        )
    if facts.kind == "capped":
        return (
            f"The server shortens prompts: {facts.rows} prompts of different sizes were all read "
            f"as {facts.read:,} tokens."
        )
    if facts.kind == "bos":
        return (
            "Every prompt has one more token on the server if it is sent as text: a second BOS "
            f"({rows})."
        )
    if facts.kind == "differ":
        medians = ", ".join(f"{count:+.0f} ({side})" for side, count in facts.medians.items())
        return (
            f"The server counts tokens differently from --tokenizer: {medians} in the median. Its "
            "template or tokenizer differs: check --tokenizer."
        )
    if facts.kind == "equal":
        return "The server read as many tokens as were sent."
    if facts.kind == "plausible":
        return "The server read prompts of a plausible length; add --tokenizer to compare exactly."
    if facts.kind == "unsent":
        return "Not checked: nothing was sent."
    return "Not checked: the server does not report the tokens of a prompt."


def headline(verdict: Verdict, provider: Provider | None = None) -> str:
    """Return the conclusion: what was found, or what was tested and what was not."""
    if verdict.lost_text:
        remedy = CONDITIONS["template"].remedy_on(provider)
        return f"{template_sentence(verdict.lost_text)} {_capital(remedy)}."
    if verdict.tokens.state == "engine":
        remedy = "raise the server's context window"
        if provider is not None:
            remedy = provider.remedies.get("tokens", remedy)
        remedy = BOS_REMEDY if verdict.tokens.kind == "bos" else remedy
        return f"{token_sentence(verdict.tokens)} {_capital(remedy)}."
    if verdict.cause is not None:
        condition = CONDITIONS[verdict.cause.name]
        text = f"{_fault(verdict.cause)} {_capital(condition.remedy_on(provider))}."
        if condition.cases:
            text += f" Seen before: {' and '.join(condition.cases)}."
        return text
    if verdict.outcome == "unknown":
        return _why_unknown(verdict)
    return _sound(verdict)


def template_sentence(text: str) -> str:
    """Return what a template does to a text as a sentence about the server's template."""
    first, _, _ = text.partition(": it must")
    return first.replace("The chat template", "The server's chat template") + "."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sound(verdict: Verdict) -> str:
    same = {finding.name: finding for finding in verdict.findings if finding.state == "same"}
    drift = same.pop("drift", None)
    tested = list(same)
    text = (
        f"No tested condition ({', '.join(tested)}) changes the mean over these "
        f"{number_of(verdict.rows, 'row')} by {verdict.loss:.0f} points or more (80 % power)."
    )
    if drift is not None and drift.smallest_loss is not None:
        text += (
            f" The first {drift.rows} rows scored the same again at the end (a drop of "
            f"{drift.smallest_loss:.0f} points would have been seen)."
        )
    if verdict.without_right:
        configs = some_of(verdict.without_right)
        text += f" No loss could be seen in {configs}: no answer there was right."
    return f"{text} {_not_tested(verdict)}{UNSEEN_FAULTS}"


def _not_tested(verdict: Verdict) -> str:
    names: dict[str, list[str]] = {}
    for finding in verdict.findings:
        if finding.state == "unchecked" and not finding.reason.startswith("the prompt has"):
            reason = "hits are not reported" if finding.reason == "unconfirmed" else finding.reason
            names.setdefault(reason, []).append(finding.name)
    if not names:
        return ""
    parts = []
    for reason, of_reason in names.items():
        reason = reason.replace("it needs", "need" if len(of_reason) > 1 else "needs")
        parts.append(f"{', '.join(of_reason)} ({reason})")
    return f"Not tested: {'; '.join(parts)}. "


def _why_unknown(verdict: Verdict) -> str:
    if verdict.all_failed:
        return (
            f"Every request failed ({verdict.failure}). Fix the cause, then run the same command "
            "again."
        )
    if not verdict.complete:
        return "Stopped before the last row: run the same command to continue."
    loss = verdict.loss
    if loss is not None and verdict.score < MIN_SCORE:
        return (
            f"The score is {verdict.score:.0f} %, so that no loss can be seen. Check the chat "
            "template, --mode, and the rope scaling in the server's log; --against hf, or "
            "--against another deployment of the model, shows whether this engine is at fault."
        )
    if verdict.suspects:
        return (
            " ".join(
                f"{CONDITIONS[finding.name].title}: {sentence_of(finding)}"
                for finding in verdict.suspects
            )
            + " Test more rows of these configurations (--configs, --rows N)."
        )
    if loss is None:
        reasons = [f.reason for f in verdict.findings if f.state == "unchecked" and f.reason]
        first = f" ({reasons[0]})" if reasons else ""
        return f"No condition could be checked{first}."
    if loss > verdict.max_loss and any(finding.failed for finding in verdict.findings):
        return (
            "Some requests failed, and a loss could be hidden among them; the sentences below "
            "count them. Run the same command again: it sends the failed rows again."
        )
    if loss > verdict.max_loss:
        return (
            f"No condition was found to change answers, but a loss of less than {loss:.0f} points "
            "would have been missed: test more rows (--thorough, or --rows N)."
        )
    if verdict.score >= 2 * loss:
        return _why_unknown_at_length(verdict)
    return (
        f"The score is {verdict.score:.0f} %, too low to see a loss: an engine that loses half of "
        f"the right answers would look the same (losses of {loss:.0f} points are seen). Choose "
        "shorter lengths or easier tasks (--lengths, --configs), or --against another deployment."
    )


def _why_unknown_at_length(verdict: Verdict) -> str:
    """Return why nothing can be said about the length with the lowest score."""
    worst, best = verdict.lengths[0], verdict.lengths[-1]
    elsewhere, choice = "", "choose other lengths (--lengths)"
    if best.score > worst.score:
        elsewhere = f" ({best.score:.0f} % at {best.length})"
        choice = f"choose other lengths (--lengths {best.length})"
    return (
        f"At {worst.length} the score is {worst.score:.0f} %{elsewhere}, too low to see a loss "
        "there. The cause may be a model that was never trained at that length, or a server that "
        "silently shortens prompts or has a wrong sliding window or rope scaling: compare with "
        f"another deployment (--against, --against hf), or {choice}."
    )


# ---- as JSON, and on the terminal ----------------------------------------------------------------


def verdict_json(verdict: Verdict, model: str, provider: Provider | None = None) -> dict[str, Any]:
    """Return the verdict for doctor.json, --json and the page."""
    conditions = [
        {
            **asdict(finding),
            "title": CONDITIONS[finding.name].title,
            "sentence": sentence_of(finding),
            "remedy": _capital(CONDITIONS[finding.name].remedy_on(provider)),
        }
        for finding in verdict.findings
    ]
    conditions.append(
        {
            **asdict(verdict.tokens),
            "name": "tokens",
            "title": TOKENS_TITLE,
            "sentence": token_sentence(verdict.tokens),
        }
    )
    if verdict.tokens.state == "engine":
        conditions.insert(0, conditions.pop())
    if verdict.lost_text:
        (template,) = [item for item in conditions if item["name"] == "template"]
        template |= {"state": "engine", "sentence": template_sentence(verdict.lost_text)}
        conditions.remove(template)
        conditions.insert(0, template)
    return {
        "question": "engine",
        "model": model,
        "outcome": verdict.outcome,
        "exit_code": EXIT_CODES[verdict.outcome],
        "headline": headline(verdict, provider),
        "rows": verdict.rows,
        "score": verdict.score,
        "loss": verdict.loss,
        "conditions": conditions,
        "recall": [asdict(recall) for recall in verdict.recall],
    }


def verdict_text(verdict: Mapping[str, Any]) -> str:
    """Return the verdict, a table of the conditions, and a sentence for each."""
    parts = [sentences(f"{OUTCOMES[verdict['outcome']]} {verdict['headline']}"), ""]
    header = ["Condition", "", "rows", "A better", "B better", "p (Holm)", "detects"]
    parts.append(table(header, [_cells(item) for item in verdict["conditions"]], left=(0, 1)))
    parts += ["", *(sentences(f"{f['name']}: {f['sentence']}") for f in verdict["conditions"])]
    parts += picture(verdict["recall"])
    return "\n".join(parts)


def _cells(condition: Mapping[str, Any]) -> list[str]:
    name, state = condition["name"], STATES[condition["state"]]
    if condition["state"] == "engine":
        state = state.upper()
    rows = condition.get("rows")
    rows = f"{rows:,}" if rows else ""
    if condition["state"] == "unchecked" or name == "tokens" or not rows:
        return [name, state, rows, "", "", "", ""]
    is_pair = name != "repeat"
    loss = condition["smallest_loss"]
    return [
        name,
        state,
        rows,
        f"{condition['only_a']:,}" if is_pair else "",
        f"{condition['only_b']:,}" if is_pair else "",
        f"{condition['holm_p']:.2g}",
        "" if loss is None else f"{loss:.0f} points",
    ]


def picture(recall: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how often evidence is found by its place, as bars; an observation, not a verdict."""
    if not recall:
        return []
    lines = ["", "Evidence found, from the beginning of the prompt to its end (cold answers):"]
    for places in recall:
        bars = "".join(
            "·" if share is None else BARS[round(share * (len(BARS) - 1))]
            for share in places["shares"]
        )
        lines.append(f"  {places['length']:>5}  [{bars}]  {number_of(places['rows'], 'row')}")
    text = (
        "This is an observation: a model may be weak where the bars are low. Compare with another "
        "engine (--against hf)."
    )
    return [*lines, *sentences(text).splitlines()]


def progress_line(verdict: Verdict, rows: int, planned: int) -> str:
    """Return the progress line shown after a wave of rows."""
    line = f"{rows} of {planned} rows, cold answers score {verdict.score:.1f} %"
    tested = [finding for finding in verdict.findings if finding.p < 1]
    if tested:
        suspect = min(tested, key=lambda finding: finding.holm_p)
        title = CONDITIONS[suspect.name].title
        line += f"; smallest p: {title}, p = {suspect.holm_p:.2g}"
    return f"{line}."
