"""Templates that cannot turn reasoning off, or do not keep a text, are refused before a row."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.chat_template import template_arguments
from ruler_eval.run.prompts import Prompter, TokenIds, appended_tokens
from ruler_eval.run.reasoning import Reasoning

ROW: dict[str, Any] = {
    "index": 0,
    "input": 'Find the number 7 in this "text" & no other.\n\n  It is <here>.',
    "answer_prefix": " They are: ",
    "max_new_tokens": 8,
    "length": 30,
}
TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
OPEN, CLOSED = "<think>\n", "<think></think>"


def tokenizer_with(tiny_tokenizer: Any, template: str) -> Any:
    tokenizer = copy.copy(tiny_tokenizer)
    tokenizer.chat_template = template
    return tokenizer


def opens(condition: str, opened: str = OPEN, closed: str = CLOSED) -> str:
    """Return a template that opens the reasoning unless `condition` holds."""
    return (
        f"{TURNS}{{% if add_generation_prompt %}}<assistant>{{% if {condition} %}}{closed}"
        f"{{% else %}}{opened}{{% endif %}}{{% endif %}}"
    )


SWITCHES = {
    "enable_thinking": opens("enable_thinking is defined and enable_thinking is false"),
    "thinking": opens("not (thinking | default(true))"),
    "thinking_mode": opens("(thinking_mode | default('enabled')) == 'disabled'"),
    "mode of another name": (
        "{% set mode = thinking_mode | default('on') %}" + opens("mode == 'off'")
    ),
    "namespace": (
        "{% set ns = namespace(mode='x') %}{% set ns.mode = reasoning_mode | default('on') %}"
        + opens("ns.mode == 'none'")
    ),
    "list of values": opens("reasoning_effort in ['none', 'minimal']"),
    "effort none": opens("reasoning_effort is defined and reasoning_effort == 'none'"),
    "budget": opens("thinking_budget is defined and thinking_budget == 0"),
    "negated": opens("disable_thinking is defined and disable_thinking"),
    "negated at the end": opens("thinking_disabled | default(false)"),
    "negated in the middle": opens("is_non_thinking | default(false)"),
    "another name": opens("use_reasoning is defined and not use_reasoning"),
    "words in the system turn": (
        "{% set ns = namespace(on=true) %}{% for m in messages %}"
        "{% if '/no_think' in m.content %}{% set ns.on = false %}{% endif %}{% endfor %}"
        + opens("not ns.on")
    ),
    "other marks": opens("thinking_mode == 'disabled'", "<|begin_of_thought|>", ""),
    "effort beside a switch": (
        "{% if thinking is undefined %}{% set thinking = true %}{% endif %}"
        "{% if thinking_effort is undefined %}{% set thinking_effort = 'max' %}{% endif %}"
        "{% if thinking and thinking_effort not in ['low', 'max'] %}{{ raise_exception('no') }}"
        "{% endif %}" + opens("not thinking")
    ),
    "nothing open": opens("enable_thinking is false", "<on>", "<off></think>"),
}


@pytest.mark.parametrize("template", SWITCHES.values(), ids=list(SWITCHES))
def test_thinking_off_turns_the_switch_of_the_template_off(tiny_tokenizer, template):
    tokenizer = tokenizer_with(tiny_tokenizer, template)
    off = Prompter("chat", tokenizer)
    on = Prompter("chat", tokenizer, reasoning=Reasoning(True, 100))
    assert not (off.text(ROW) or "").endswith((OPEN, "<|begin_of_thought|>", "<on>"))
    assert (on.text(ROW) or "").endswith((OPEN, "<|begin_of_thought|>", "<on>"))


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (opens("false"), r"opens the model's reasoning \('<think>'\)"),
        (opens("false", "<mm:think>"), r"opens the model's reasoning \('<mm:think>'\)"),
        (opens("thinking_mode == 'adaptive'"), "opens the model's reasoning"),
        (  # the model decides by itself, as DeepSeek-R1's first template
            "{% for m in messages %}<{{ m.role }}>{{ m.content.split('</think>')[-1] }}"
            "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
            "renders the same prompt with reasoning off and on",
        ),
        (  # gpt-oss always reasons
            "Reasoning: {{ reasoning_effort | default('medium') }}\n" + TURNS,
            "can only lower the effort of the reasoning, to 'low'",
        ),
        (
            opens("reasoning_effort == 'minimal'", "<high>", "<short>"),
            "can only lower the effort of the reasoning, to 'minimal'",
        ),
    ],
)
def test_a_template_that_always_reasons_is_refused_with_the_remedy(
    tiny_tokenizer, template, sentence
):
    tokenizer = tokenizer_with(tiny_tokenizer, template)
    with pytest.raises(RulerError, match=f"--thinking is off, but .*{sentence}.*--thinking 8192"):
        Prompter("chat", tokenizer)
    Prompter("chat", tokenizer, reasoning=Reasoning(True, 100))  # with a budget it runs
    prefilled = Prompter("prefill", tokenizer)  # the prefix begins the answer itself
    assert (prefilled.text(ROW) or "").endswith("<assistant>They are: ")
    with pytest.raises(RulerError, match=sentence):  # a row without a prefix begins nothing
        prefilled.text({**ROW, "answer_prefix": ""})


def test_a_prefix_inside_the_reasoning_is_refused(tiny_tokenizer):
    template = TURNS.replace(
        "{{ m.content }}", "{% if m.role == 'assistant' %}<think>{% endif %}{{ m.content }}"
    )
    prompter = Prompter("prefill", tokenizer_with(tiny_tokenizer, template))
    with pytest.raises(RulerError, match="puts the answer prefix into the reasoning"):
        prompter.text(ROW)


def test_a_template_without_reasoning_needs_no_switch(tiny_tokenizer):
    template = TURNS + "{% if add_generation_prompt %}<assistant>{% endif %}"
    text = Prompter("chat", tokenizer_with(tiny_tokenizer, template)).text(ROW) or ""
    assert text == f"<user>{ROW['input']}</s><assistant>"


def test_a_server_with_an_unknown_template_gets_the_usual_switches():
    arguments = template_arguments(None)
    assert arguments["enable_thinking"] is arguments["thinking"] is False
    assert arguments["thinking_mode"] == "disabled"


def test_switches_of_the_history_and_of_messages_are_left_alone():
    source = (
        "{% if clear_thinking or preserve_thinking %}x{% endif %}{% for m in messages %}"
        "{% set thinking_text = m.thinking %}{{ thinking_text }}{% generation %}{% endgeneration %}"
        "{% endfor %}"
    )
    assert template_arguments(source).keys() == {"enable_thinking", "thinking", "date_string"}


# ---- texts ---------------------------------------------------------------------------------------

DROPPING = {
    "parts": TURNS.replace("{{ m.content }}", "{% for p in m.content %}{{ p.text }}{% endfor %}"),
    "nothing": "{% for m in messages %}<{{ m.role }}>{% endfor %}",
    "another field": TURNS.replace("m.content", "m.text"),
}
CHANGING = {
    "escaped": TURNS.replace("m.content", "m.content | e"),
    "as JSON": TURNS.replace("m.content", "m.content | tojson"),
    "one line": TURNS.replace("m.content", "m.content | replace('\\n', ' ')"),
    "lower case": TURNS.replace("m.content", "m.content | lower"),
    "shortened": TURNS.replace("m.content", "m.content[:40]"),
    "no line ends": TURNS.replace("m.content", "m.content.split('\\n') | join"),
}


@pytest.mark.parametrize("mode", ["chat", "prefill"])
@pytest.mark.parametrize(
    ("templates", "what"), [(DROPPING, "leaves out"), (CHANGING, "changes")], ids=["drop", "change"]
)
def test_a_template_that_does_not_keep_the_text_is_refused(tiny_tokenizer, templates, what, mode):
    for template in templates.values():
        with pytest.raises(RulerError, match=f"{what} the user's message.*--mode completion"):
            Prompter(mode, tokenizer_with(tiny_tokenizer, template)).text(ROW)


def test_a_template_that_repeats_the_text_is_refused(tiny_tokenizer):
    with pytest.raises(RulerError, match="repeats the user's message"):
        Prompter("chat", tokenizer_with(tiny_tokenizer, TURNS + TURNS))


def test_a_template_that_changes_only_some_rows_is_refused_at_that_row(tiny_tokenizer):
    template = TURNS.replace(
        "m.content", "m.content.replace('<here>', '') if m.content[:2] == 'Fi' else m.content"
    )
    prompter = Prompter("chat", tokenizer_with(tiny_tokenizer, template))
    with pytest.raises(RulerError, match="changes the user's message"):
        prompter.text(ROW)


def test_a_template_may_trim_a_text(tiny_tokenizer):
    template = TURNS.replace("m.content", "m.content | trim")
    prompter = Prompter("chat", tokenizer_with(tiny_tokenizer, template))
    assert prompter.text({**ROW, "input": " 7?\n"}) == "<user>7?</s>"


# ---- --system ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["chat", "prefill"])
@pytest.mark.parametrize(
    "template",
    [
        TURNS,
        "{% set first = messages[0].content if messages[0].role == 'system' else '' %}"  # Gemma's
        "{% for m in messages %}{% if m.role != 'system' %}<{{ m.role }}>"
        "{{ first ~ '\n' if m.role == 'user' and first }}{{ m.content | trim }}{% endif %}"
        "{% endfor %}",
    ],
)
def test_a_system_turn_is_rendered_in_both_chat_modes(tiny_tokenizer, template, mode):
    tokenizer = tokenizer_with(tiny_tokenizer, template)
    prompter = Prompter(mode, tokenizer, system="Answer in one word.")
    assert (prompter.text(ROW) or "").count("Answer in one word.") == 1
    assert prompter("vt_4k", ROW).messages[0] == {
        "role": "system",
        "content": "Answer in one word.",
    }
    assert prompter.settings()["system_turn"] == "Answer in one word."


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (
            "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}"
            "{% endif %}" + TURNS,
            "does not accept a system turn: no system role. Leave --system out",
        ),
        (
            TURNS.replace(
                "<{{ m.role }}>{{ m.content }}",
                "{% if m.role == 'user' %}{{ m.content }}{% endif %}",
            ),
            "leaves out the system turn's message.*--system",
        ),
        (
            "{% for m in messages %}{% if loop.first %}{{ m.content }}{% endif %}{% endfor %}",
            "leaves out the user's message.*--system",
        ),
        (
            TURNS + "{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}",
            "repeats the system turn's message",
        ),
    ],
    ids=["rejects", "drops", "drops the user", "repeats"],
)
def test_a_template_that_does_not_keep_the_system_turn_is_refused(
    tiny_tokenizer, template, sentence
):
    tokenizer = tokenizer_with(tiny_tokenizer, template)
    with pytest.raises(RulerError, match=sentence):
        Prompter("chat", tokenizer, system="Answer in one word.")
    Prompter("chat", tokenizer)  # without --system it is used


def test_a_raw_prompt_has_no_system_turn(tiny_tokenizer):
    with pytest.raises(RulerError, match="--system"):
        Prompter("completion", tiny_tokenizer, system="Answer.")


def test_a_server_gets_the_system_turn_first():
    messages = Prompter("prefill", system="Answer.").messages(ROW)
    assert [turn["role"] for turn in messages] == ["system", "user", "assistant"]
    assert Prompter("prefill").settings()["prefix_end"] == "as the server's template renders it"


# ---- tokens after a raw prompt -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("single", "count"),
    [("<s> $A </s>", 1), ("$A </s>", 1), ("<s> $A </s> <s>", 2), ("<s> $A", 0), ("$A", 0)],
)
def test_nothing_follows_a_raw_prompt(tiny_tokenizer, single, count):
    from tokenizers import processors

    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokens = [(token, tokenizer.convert_tokens_to_ids(token)) for token in ("<s>", "</s>")]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=tokens
    )
    plain = tokenizer(ROW["input"] + " They are: ", add_special_tokens=False)["input_ids"]
    ids = Prompter("completion", tokenizer)("vt_4k", ROW).token_ids
    assert ids is not None
    assert list(ids)[-len(plain) :] == plain
    assert len(TokenIds(tokenizer).appended) == count


def test_the_tokens_after_a_text_are_found():
    assert appended_tokens([1, 50, 2], [50]) == [2]
    assert appended_tokens([1, 50], [50]) == appended_tokens([50], [50]) == []
    assert appended_tokens([1, 50, 2, 3], [50]) == [2, 3]
