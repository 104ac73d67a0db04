"""`ruler push --report`: a page of results as a static Space, through the real client."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.hub.client import Client
from tests.hub.stand_in import StandIn

REPO = "org/long-context"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text("<!doctype html>\n<title>Scores</title>\n", encoding="utf-8")
    return path


def test_the_page_becomes_a_static_space_and_is_replaced_by_a_newer_one(
    hub: StandIn, client: Client, page: Path
) -> None:
    said = client.ruler("push", page, "--report", REPO)
    repo = hub.repos[f"spaces/{REPO}"]
    assert (repo.sdk, repo.tags) == ("static", {})
    assert repo.commits[repo.main]["index.html"].data == page.read_bytes()
    card = repo.commits[repo.main]["README.md"].data.decode()
    assert yaml.safe_load(card.split("---\n")[1])["sdk"] == "static"
    assert "Read back: 2 files, every digest is right." in said
    assert f"The page: {hub.url}/spaces/{REPO}" in said

    mark = len(hub.requests)
    assert "nothing to send" in client.ruler("push", page, "--report", REPO)
    assert hub.sent_since(mark) == []
    page.write_text("<!DOCTYPE html><title>Newer</title>", encoding="utf-8")
    client.ruler("push", page, "--report", REPO)
    assert b"Newer" in repo.commits[repo.main]["index.html"].data


def test_what_is_no_page_and_what_is_another_space_is_refused(
    hub: StandIn, client: Client, page: Path, tmp_path: Path
) -> None:
    def refused(*arguments: str | Path) -> str:
        return client.ruler("push", *arguments, code=2)

    other = tmp_path / "results.json"
    other.write_text("{}", encoding="utf-8")
    assert "is no HTML page" in refused(other, "--report", "org/other")
    assert "There is no page" in refused(tmp_path / "none.html", "--report", "org/other")
    assert "give neither --repo nor --metric" in refused(page, "--report", REPO, "--repo", REPO)
    assert "spaces/org/other" not in hub.repos
    client.ruler("push", page, "--report", "org/app")
    files = hub.repos["spaces/org/app"].commits[hub.repos["spaces/org/app"].main]
    files["app.py"] = files.pop("index.html")  # as if it were another Space
    assert "holds something else than a page" in refused(page, "--report", "org/app")
    assert "Dry run: nothing was sent." in client.ruler(
        *("push", page, "--report", "org/new", "--dry-run")
    )
    assert "spaces/org/new" not in hub.repos


def test_the_pages_of_rows_that_it_links_are_sent_with_it(
    hub: StandIn, client: Client, page: Path
) -> None:
    def links(folder: str) -> None:
        page.write_text(f'<!doctype html><meta name="row-pages" content="{folder}">')

    links("report-rows")
    push = ("push", page, "--report", REPO)
    assert "'report-rows': a folder that must lie beside it." in client.ruler(*push, code=2)
    folder = page.with_name("report-rows")
    folder.mkdir()
    (folder / "vt_4k-0.html").write_text("<!doctype html>")
    (folder / "notes.txt").write_text("mine")
    client.ruler(*push)
    repo = hub.repos[f"spaces/{REPO}"]
    sent = set(repo.commits[repo.main]) - {".gitattributes"}
    assert sent == {"index.html", "README.md", "report-rows/vt_4k-0.html"}
    for elsewhere in (".", "..", "report-rows/..", str(folder)):
        links(elsewhere)
        assert "a folder that must lie beside it" in client.ruler(*push, code=2)
