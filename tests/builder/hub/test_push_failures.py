"""A failure while `ruler push` uploads is one sentence, and the same command continues."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.hub.client import environment
from tests.hub.fake_hub import FakeHub
from tests.in_process import ruler_command


@pytest.fixture(autouse=True)
def healthy(hub: FakeHub) -> Iterator[None]:
    yield
    hub.failures.clear()
    hub.hold_after, hub.drop_next, hub.intruder = None, 0, None
    hub.holding.clear()


def test_a_killed_push_continues_without_uploading_a_file_twice(hub, client, small, tmp_path):
    before = len(hub.uploads)
    hub.hold_after = before + 2
    push = ("push", small, "--repo", "org/killed", "--skip-verify")
    process = subprocess.Popen(
        ruler_command(*push), env=environment(hub.url, tmp_path), stderr=subprocess.PIPE
    )
    assert hub.holding.wait(30), "the third file never came"
    process.kill()
    process.communicate()
    repo = hub.dataset("org/killed")
    assert (len(hub.uploads) - before, len(repo.titles), repo.tags) == (2, 1, {})
    hub.hold_after = None
    assert "Tagged v1.0.0" in client.ruler(*push)
    uploads = hub.uploads[before:]
    assert len(uploads) == len(set(uploads)) == 3
    assert repo.tags == {"v1.0.0": repo.main}


def test_a_dropped_connection_is_retried(hub, client, small):
    hub.drop_next = 1
    output = client.ruler("push", small, "--repo", "org/dropped", "--skip-verify")
    assert hub.drop_next == 0
    assert "Tagged v1.0.0" in output


@pytest.mark.parametrize(
    ("method", "pattern", "status", "message", "headers", "output"),
    [
        ("POST", "/commit/", 403, "No.", {}, "has no rights for this in 'org/x1' (403: No)"),
        ("POST", "/commit/", 429, "", {"Retry-After": "7"}, "(429): try again in 7 seconds"),
        ("POST", "/validate-yaml", 413, "", {}, "publish one tokenizer, or fewer languages"),
        ("POST", "/commit/", 429, "", {}, "rate limit is reached (429): try again in some minutes"),
        ("POST", "/commit/", 500, "", {}, "The Hub has an internal error (500): try again later"),
        ("POST", "/commit/", 422, "No sense", {}, "The Hub refused 'org/x1' (422: No sense)"),
        ("PUT", "/large/", 400, "Bad digest", {}, "The Hub refused 'org/x1' (400: Bad digest)"),
        ("POST", "validate-yaml", 400, "", {}, "Invalid metadata in README.md"),
        ("GET", "/refs", 401, "", {}, "The Hub does not accept your token (401)"),
    ],
)  # fmt: skip
def test_each_refusal_is_one_sentence_and_the_same_command_continues(
    hub, client, small, method, pattern, status, message, headers, output
):
    push = ("push", small, "--repo", "org/x1", "--skip-verify")
    if method == "GET":
        client.ruler(*push)
    hub.fail(method, pattern, status, message, headers)
    out = client.ruler(*push, code=2)
    assert output in out
    assert out.count("Error:") == 1
    output = client.ruler(*push)
    assert "Tagged v1.0.0" in output or "holds this release already" in output
    del hub.repos["datasets/org/x1"]


def test_a_repository_that_changed_meanwhile_gets_no_commit(hub, client, small):
    hub.intruder = "datasets/org/stale"
    push = ("push", small, "--repo", "org/stale", "--skip-verify")
    output = client.ruler(*push, code=2)
    repo = hub.dataset("org/stale")
    assert "'org/stale' changed during the upload (412), so nothing was committed." in output
    assert repo.titles[1:] == ["someone else's"]
    uploads = len(hub.uploads)
    client.ruler(*push)
    assert repo.tags == {"v1.0.0": repo.main}
    assert len(hub.uploads) == uploads


@pytest.mark.parametrize(
    ("token", "repo", "output"),
    [
        (None, "org/x3", "The Hub does not accept your token (401)"),
        ("hf_wrong", "org/x3", "The Hub does not accept your token (401)"),
        ("hf_reader", "org/x3", "Your token has no rights for this in 'org/x3' (403"),
        ("hf_owner", "other/x3", "Your token has no rights for this in 'other/x3' (403"),
    ],
)  # fmt: skip
def test_missing_permissions_are_one_sentence(hub, client, small, token, repo, output):
    push = ("push", small, "--repo", repo, "--skip-verify")
    assert output in client.ruler(*push, code=2, HF_TOKEN=token)
    assert f"datasets/{repo}" not in hub.repos
