"""What the verdict calls a fault, how often by chance, and what it claims about a sound engine."""

from __future__ import annotations

import numpy as np
import pytest

from ruler_eval.doctor.answers import Answer
from ruler_eval.doctor.conditions import CONDITIONS
from ruler_eval.doctor.judge import judge
from ruler_eval.doctor.paired_test import ALPHA, exact_p, pair_p, smallest_loss
from ruler_eval.doctor.sentences import headline, verdict_json, verdict_text
from ruler_eval.doctor.verdict import Evidence
from ruler_eval.run.providers import providers
from tests.eval.doctor.simulated import EXPECTED, SimulatedEngine, examination, plan_of


def test_the_p_value_is_valid_over_all_looks():
    rng = np.random.default_rng(0)
    small = 0
    for _ in range(400):
        signs = list(np.diff(rng.integers(0, 2, (2, 120)).astype(float), axis=0)[0])
        small += min(pair_p(signs[:n], complete=n == 120) for n in (30, 60, 90, 120)) <= ALPHA
    assert small / 400 <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / 400) ** 0.5


def test_the_smallest_loss_is_detected_in_four_of_five_examinations():
    rows, noise, tests = 200, 0.02, 6
    loss = smallest_loss(rows, round(rows * noise), tests) / 100
    rng = np.random.default_rng(1)
    only_a = rng.binomial(rows, noise / 2 + loss, 4000)
    only_b = rng.binomial(rows, noise / 2, 4000)
    limit = ALPHA * 0.8 * 0.8 * 0.8 / tests
    seen = [exact_p(few, many) <= limit for few, many in zip(only_b, only_a, strict=True)]
    assert 0.75 < np.mean(seen) < 0.86
    assert smallest_loss(4, 0, tests) == 100.0  # no loss of 4 rows is significant


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault_is_named(fault):
    verdict = examination(SimulatedEngine(seed=3, fault=fault, loss=0.2)).run()
    name = "tokens" if verdict.tokens.state == "engine" else verdict.findings[0].name
    assert (verdict.outcome, name) == ("engine", EXPECTED[fault])


@pytest.mark.parametrize("fault", ["always", "middle", "recall"])
def test_a_fault_in_every_request_is_never_called_the_models(fault):
    """It cannot be seen; the headline claims only what was tested, and names what can see it."""
    verdict = examination(SimulatedEngine(seed=5, skill=0.99, fault=fault)).run()
    assert verdict.outcome == "sound"
    text = headline(verdict)
    assert "No tested condition (cache, load, repeat, text) changes the mean over these 200" in text
    assert "A fault in every request cannot be seen this way" in text
    assert "the model's" not in text


@pytest.mark.parametrize("fault", ["drift", "break"])
def test_a_server_that_gets_worse_is_not_blamed_on_a_condition(fault):
    named = [
        examination(SimulatedEngine(seed=seed, fault=fault, loss=0.15)).run().findings[0].name
        for seed in range(10)
    ]
    assert named.count("drift") >= 9


def test_a_server_that_gets_worse_is_found_with_two_requests_at_once():
    """The waves are small then; as many rows as else are sent again at the end."""
    named = []
    for seed in range(5):
        engine = SimulatedEngine(seed=seed, fault="break", loss=0.2)
        finding = examination(engine, load=2).run().findings[0]
        named.append((finding.name, finding.rows >= 32))
    assert named.count(("drift", True)) >= 4


def test_a_server_with_good_and_bad_periods_is_not_blamed_on_a_condition():
    named = []
    for seed in range(20):
        verdict = examination(SimulatedEngine(seed=seed, fault="periods", loss=0.1)).run()
        named.append(verdict.findings[0].name if verdict.outcome == "engine" else verdict.outcome)
    assert not set(named) & {"cache", "load", "text", "repeat"}, named


@pytest.mark.parametrize("fault", ["restart", "bad_moment"])
def test_what_happens_once_is_not_blamed_on_load(fault):
    """40 requests in a row fail, or get wrong answers; without further rows load was blamed."""
    verdicts = [examination(SimulatedEngine(seed=seed, fault=fault)).run() for seed in range(40)]
    blamed = [verdict for verdict in verdicts if verdict.cause is not None]
    assert len(blamed) <= 4
    again = [finding.seen_again for verdict in verdicts for finding in verdict.findings]
    assert again.count(False) >= 5  # of load, by further rows


def test_a_configuration_that_loses_everything_is_never_called_sound():
    """Seven rows of 208 under load, no other: further rows of that configuration decide."""
    plan = plan_of(rows=208, tasks=13)
    outcomes = []
    for seed in range(20):
        engine = SimulatedEngine(seed=seed, skill=0.9, fault="load_in_one_task")
        outcomes.append(examination(engine, plan).run())
    assert "sound" not in [verdict.outcome for verdict in outcomes]
    found = [verdict for verdict in outcomes if verdict.outcome == "engine"]
    assert len(found) >= 18
    assert all("task0_32k" in headline(verdict) for verdict in found if verdict.findings[0].fresh)


def test_a_suspect_configuration_is_named_if_no_further_rows_decide():
    plan = plan_of(rows=208, tasks=13)
    plan = type(plan)(**{**vars(plan), "reserve": dict.fromkeys(plan.reserve, ())})
    engine = SimulatedEngine(seed=1, skill=0.99, fault="load_in_one_task")
    verdict = examination(engine, plan).run()
    if verdict.outcome != "engine":
        assert verdict.outcome == "unknown"
        assert "task0_32k" in headline(verdict)


@pytest.mark.parametrize("skill", [0.0, 0.05])
def test_a_model_without_right_answers_gives_no_verdict(skill):
    verdict = examination(SimulatedEngine(seed=2, skill=skill or 1e-9)).run()
    assert verdict.outcome == "unknown"
    text = headline(verdict)
    assert "--against" in text
    assert "test more rows" not in text


@pytest.mark.parametrize("rows", [1, 20])
def test_too_few_rows_are_not_called_sound(rows):
    verdict = examination(SimulatedEngine(seed=0, skill=1.0), plan_of(rows=rows)).run()
    assert verdict.outcome == "unknown"
    assert "test more rows" in headline(verdict)


def test_rows_that_fail_only_under_load_are_a_fault_of_load():
    verdict = examination(SimulatedEngine(seed=0, fault="fails_under_load")).run()
    text = headline(verdict, providers()["llama_cpp"])
    assert "Requests fail under load: " in text
    assert "none cold (HTTP 500: Context size has been exceeded)" in text
    assert "fewer slots (-np 1)" in text


def test_rows_that_fail_far_more_under_load_are_a_fault_of_load():
    """A request fails now and then on a server that is behind a gateway."""
    verdicts = [
        examination(SimulatedEngine(seed=seed, fault="fails_more_under_load")).run()
        for seed in range(5)
    ]
    assert [verdict.outcome for verdict in verdicts].count("engine") >= 4
    assert {verdict.cause.name for verdict in verdicts if verdict.cause} == {"load"}


def test_a_length_without_right_answers_is_never_called_sound():
    """A server that shortens long prompts without a word, or a model that cannot read them."""
    verdict = examination(SimulatedEngine(seed=0, fault="long")).run()
    assert (verdict.outcome, verdict.score >= 2 * (verdict.loss or 100)) == ("unknown", True)
    assert headline(verdict).startswith("At 32k the score is 0 % (")
    assert "(--lengths 4k)" in headline(verdict)


def test_a_sound_verdict_names_the_configurations_without_a_right_answer():
    verdict = examination(SimulatedEngine(seed=0, skill=0.95, fault="one_task")).run()
    assert verdict.outcome == "sound"
    assert "No loss could be seen in task1_4k, task1_32k: no answer there" in headline(verdict)
    verdict = examination(SimulatedEngine(seed=0, skill=0.95)).run()
    assert verdict.outcome == "sound"
    assert "No loss could be seen" not in headline(verdict)


def test_failed_requests_do_not_count_as_wrong_answers():
    verdict = examination(SimulatedEngine(seed=0, fault="fails_anywhere")).run()
    assert verdict.outcome != "engine"
    load = next(finding for finding in verdict.findings if finding.name == "load")
    assert load.failed > 0
    assert load.only_a <= 3
    if verdict.loss is not None and verdict.loss > verdict.max_loss:
        assert "Some requests failed" in headline(verdict)


def test_a_cache_that_is_shared_across_salts_is_not_blamed_on_load():
    verdict = examination(SimulatedEngine(seed=0, fault="shared_cache")).run()
    assert verdict.outcome != "engine"


def test_remedies_are_those_of_the_server():
    verdict = examination(SimulatedEngine(seed=0, fault="cache", loss=0.3)).run()
    known = providers()
    assert "--no-cache-prompt" in headline(verdict, known["llama_cpp"])
    assert "--disable-radix-cache" in headline(verdict, known["sglang"])
    plain = headline(verdict, known["openai"])
    assert "--" not in plain.replace("--against", "")
    assert "https://github.com/" in plain  # reports of such faults, as whole addresses


def test_a_verdict_can_be_stored_and_shown():
    verdict = examination(SimulatedEngine(seed=0)).run()
    record = verdict_json(verdict, "m")
    assert record["model"] == "m"
    for condition in record["conditions"]:
        assert {"name", "title", "state", "sentence"} <= condition.keys()
    text = verdict_text(record)
    assert text.startswith("Sound. ")
    assert "Evidence found, from the beginning of the prompt to its end" in text
    assert "[" in text.split("Evidence found")[1]  # a picture, and no verdict


@pytest.mark.parametrize(
    ("cold", "cached", "hits", "words"),
    [
        (0, 0, 500.0, "reports no cache hits"),
        (None, None, 0.0, "/metrics show no cache hits"),
        (None, None, None, "does not report whether its cache was hit"),
        (900, 900, None, "cold requests hit the cache too"),
    ],
)
def test_a_cache_whose_hits_are_not_confirmed_is_not_checked(cold, cached, hits, words):
    plan = plan_of(rows=60)
    sides = {
        name: {key: Answer(score=1.0, prompt_tokens=1000, cached_tokens=count) for key in plan.keys}
        for name, count in (("cold", cold), ("cached", cached))
    }
    verdict = judge(
        Evidence(
            keys=plan.keys, facts=plan.facts, sides=sides, conditions=("cache",), reasons={},
            complete=True, cache_hits=hits,
        )
    )  # fmt: skip
    (finding,) = verdict.findings
    assert finding.state == "unchecked"
    (sentence,) = [
        item["sentence"]
        for item in verdict_json(verdict, "m")["conditions"]
        if item["name"] == "cache"
    ]
    assert words in sentence


def test_prompts_that_all_end_at_one_size_were_shortened():
    plan = plan_of(rows=200)
    cold = {key: Answer(score=0.0, prompt_tokens=800) for key in plan.keys}
    verdict = judge(
        Evidence(
            keys=plan.keys, facts=plan.facts, sides={"cold": cold}, conditions=(), reasons={},
            complete=True,
        )
    )  # fmt: skip
    assert verdict.outcome == "engine"
    assert "prompts of different sizes were all read as 800 tokens" in headline(verdict)


def test_every_condition_has_a_section_in_the_docs():
    from pathlib import Path

    text = (Path(__file__).parents[3] / "docs" / "doctor.md").read_text(encoding="utf-8")
    for name in (*CONDITIONS, "tokens", "against"):
        assert f"\n### {name}\n" in text
