"""Each of the four models from table to report, without script; every page has a JSON twin."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.postgres import database
from tests.web.browsing import Browser, token

import timeveil as tv
from timeveil.datasets import baskets, clinic_visits, daily_cases

ROLES = tv.Roles(respondent="basket", item="item")

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
    browser.get("/judge/baskets-published")
    answer = browser.send("/query", top="3")
    assert "<code>top</code> = 3" in answer
    assert re.search("<pre[^>]*>pattern +people", answer)
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


def opened(browser: Browser, source: str) -> str:
    """The address of the draft of a source."""
    browser.get("/open/")
    browser.page = browser.client.post("/draft", data={"source": source, "form_token": token(browser)})
    browser.get(browser.where)
    return browser.where.removesuffix("/columns")


def test_what_is_proposed_is_published_and_a_refusal_offers_the_change_as_a_button(tmp_path: Path) -> None:
    visits = clinic_visits(rows=600, seed=2)
    patient = pa.array(
        [None if row % 9 == 0 else cell for row, cell in enumerate(visits["patient"].to_pylist())]
    )
    place = visits.column_names.index("patient")
    pyarrow.csv.write_csv(visits.set_column(place, "patient", patient), tmp_path / "gaps.csv")
    browser = Browser(tmp_path)
    draft = opened(browser, "gaps.csv")
    assert browser.send("/columns", **proposed(browser)).count("Not safe to publish") == 1
    browser.get(f"{draft}/promise")
    assert '<option value="withhold" selected>' in browser.page.text
    browser.send("/promise", nulls="error")
    browser.get(f"{draft}/publish")
    page = browser.send("/publish", out="kept-name")
    assert "withhold those rows with <code>nulls</code> = withhold" in page
    assert "Set nulls to withhold" in page
    page = browser.send("/take")
    assert browser.where == f"{draft}/publish"
    assert 'value="kept-name"' in page
    page = browser.send("/publish")
    assert "The promise holds, and the release is written" in page
    assert "--" not in re.sub("<pre.*?</pre>", "", page, flags=re.DOTALL)
    browser.get(f"{draft}/publish")
    assert 'value="kept-name-2"' in browser.page.text
    assert "once it verifies" in browser.get("/open/")
    assert "may leave" not in browser.page.text
    browser.close()


def test_a_stream_of_one_common_value_can_be_published_with_its_loss_ticked(tmp_path: Path) -> None:
    cases = daily_cases(days=30, seed=3)
    common = pa.array(["ill" if row % 4 == 0 else "well" for row in range(cases.num_rows)])
    place = cases.column_names.index("diagnosis")
    pyarrow.csv.write_csv(cases.set_column(place, "diagnosis", common), tmp_path / "cases.csv")
    browser = Browser(tmp_path)
    draft = opened(browser, "cases.csv")
    assert "too many for a stream" in browser.page.text
    browser.page = browser.client.post(
        f"{draft}/columns", data={"command": "publish-stream", "version": "1", "form_token": token(browser)}
    )
    browser.get(f"{draft}/columns")
    browser.send("/columns", **proposed(browser))
    browser.get(f"{draft}/publish")
    assert "Tick allow_loss" in browser.send("/publish")
    browser.send("/take")
    assert "The promise holds, and the release is written" in browser.send("/publish")
    browser.close()


def test_a_table_of_a_database_is_published_and_two_releases_are_compared(tmp_path: Path) -> None:
    address = database().load(clinic_visits(rows=600, seed=2))
    browser = Browser(tmp_path)
    draft = opened(browser, address)
    browser.send("/columns", **proposed(browser))
    for k, name in (("4", "four"), ("8", "eight")):
        browser.get(f"{draft}/promise")
        browser.send("/promise", k=k)
        browser.get(f"{draft}/publish")
        assert "The promise holds, and the release is written" in browser.send("/publish", out=name)
    browser.get("/judge/four")
    page = browser.send("/compare", other="eight")
    assert "Compared" in page
    assert "<svg" in page
    assert page.index("four") < page.index("eight")
    twin(browser)
    refused = browser.client.post("/judge/four/compare", data={"form_token": token(browser)})
    assert "choose another release" in refused.text
    browser.close()


def test_a_password_in_an_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    browser = Browser(tmp_path)
    browser.get("/open/")
    source = "postgresql://me:hidden-word@127.0.0.1:1/db#visits"
    page = browser.client.post("/draft", data={"source": source, "form_token": token(browser)})
    assert page.status_code == 422
    assert "hidden-word" not in page.text
    opened(browser, "postgresql://127.0.0.1:1/db#visits")
    assert "What you can do" in browser.page.text
    browser.close()


def test_a_file_of_another_encoding_is_read_with_what_the_hint_says(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(clinic_visits(rows=100), tmp_path / "plain.csv")
    text = (tmp_path / "plain.csv").read_text("utf-8")
    (tmp_path / "wide.csv").write_bytes(text.encode("utf-16-le"))
    browser = Browser(tmp_path)
    opened(browser, "wide.csv")
    assert 'value="utf-16-le"' in browser.page.text
    assert "looks like a person" in browser.send("/columns")
    browser.close()


def test_a_release_that_was_tampered_with_may_nowhere_leave(tmp_path: Path) -> None:
    release, _ = tv.sanitize_patterns(baskets(), ROLES, k=5, min_support=0.05, repeats="once")
    tv.write(release, tmp_path / "spoilt", format="csv")
    file = tmp_path / "spoilt" / "data.csv"
    file.chmod(0o600)
    file.write_text(file.read_text("utf-8").replace("9", "8"), "utf-8")
    browser = Browser(tmp_path)
    assert "may leave" not in browser.get("/open/").lower()
    assert "once it verifies" in browser.page.text
    page = browser.get("/judge/spoilt")
    assert "What is wrong" in page
    assert "Must not leave the building" in page
    assert "May leave the building" not in page
    browser.close()
