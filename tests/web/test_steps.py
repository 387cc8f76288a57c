"""Each of the four models from table to report, without script; every page has a JSON twin."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from tests.web.browsing import Browser, token

import timeveil as tv

MODELS = {
    "visits": (
        "generalize-time",
        {"sex": "drop", "age": "drop", "exam": "keep"},
        {"suppress": "0.05"},
        "k",
        "5,8",
    ),
    "cases": ("publish-stream", {}, {"l": "2", "allow_loss": "on"}, "", ""),
    "loads": ("anonymize-series", {}, {"k": "6", "p": "3"}, "k", "6,9"),
    "baskets": ("sanitize-patterns", {}, {"k": "5"}, "", ""),
}


@pytest.mark.parametrize("name", MODELS)
def test_from_table_to_sign_off(name: str, browser: Browser, root: Path) -> None:
    command, roles, changed, parameter, settings = MODELS[name]
    browser.get("/open/")
    browser.page = browser.client.post("/draft", data={"source": f"{name}.csv", "form_token": token(browser)})
    page = browser.get(browser.where)
    assert "looks like a person" in page
    assert "•••••" in page
    assert "Must not leave the building" in page
    twin(browser)
    page = browser.send("/columns", **proposed(browser, **roles))
    assert browser.where.endswith("/risk")
    assert "<svg" in page
    twin(browser)
    browser.get(browser.where.replace("risk", "promise"))
    twin(browser)
    page = browser.send("/promise", **changed)
    assert browser.where.endswith("/tradeoff")
    if settings:
        page = browser.send("/tradeoff", name=parameter, settings=settings)
        assert f"Take {parameter} = {settings[0]}" in page
        assert f'href="#take-{settings[0]}"' in page
        twin(browser)
        page = browser.send("/take", value=settings[0])
    else:
        page = browser.get(browser.where.replace("tradeoff", "publish"))
    assert browser.where.endswith("/publish")
    twin(browser)
    page = browser.send("/publish")
    assert "The promise holds, and the release is written" in page
    twin(browser)
    release = tv.open_release(root / f"{name}-published")
    assert tv.verify(release, tv.open_ledger(root / f"{name}.ledger"))
    job = browser.client.get(f"{browser.where}/job.toml").text
    assert tomllib.loads(job)["command"] == command
    {"visits": questions, "baskets": signed_off}.get(name, lambda *_: None)(browser, root)


def signed_off(browser: Browser, root: Path) -> None:
    """The decision of a second person is in the private report, and in no other."""
    judged = browser.get("/judge/baskets-published?ledger=baskets.ledger")
    assert "Attacked, before and after" in judged
    twin(browser)
    page = browser.send("/signoff", name="Second person", reason="looked at it", decision="approved")
    assert "Approved by Second person" in page
    assert [p.name for p in (root / "baskets-published").iterdir() if "sign" in p.name] == []
    private = browser.get("/report/baskets-published?ledger=baskets.ledger")
    assert "Second person" in private
    assert "style-src 'sha256-" in browser.page.headers["content-security-policy"]
    public = browser.get("/report/baskets-published")
    assert "Second person" not in public
    assert "Public: everything" in public


def proposed(browser: Browser, **changed: str) -> dict[str, str]:
    """The roles as they are proposed, some of them changed."""
    data = json.loads(browser.client.get("/json" + browser.where).text)
    roles = {**data["roles"], **changed}
    return {f"role-{n}": roles[c["name"]] for n, c in enumerate(data["survey"]["columns"])}


def twin(browser: Browser) -> None:
    """The JSON of a page is data, and says what the page says."""
    url = str(browser.page.url).removeprefix("http://127.0.0.1:8765")
    answer = browser.client.get(f"/json{url}")
    assert answer.headers["content-type"].startswith("application/json")
    assert isinstance(json.loads(answer.text), dict)


def questions(browser: Browser, _root: Path) -> None:
    """A recipient asks; neither the question nor the answer is in an address."""
    browser.get("/judge/visits-published")
    assert "May leave the building" in browser.page.text
    browser.send("/query", between="2024-03-01 2024-04-01")
    assert "rows, between" in browser.page.text
    assert "2024-03-01" not in str(browser.page.url)
    browser.get("/judge/visits-published")
    browser.send("/query", between="2024-03-01 soon")
    assert "That did not work" in browser.page.text
