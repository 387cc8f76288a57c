"""Each of the four models from table to report, without script; every page has a JSON twin."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
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


def test_the_columns_of_a_series_are_confirmed_at_once(browser: Browser) -> None:
    """One choice is that of all instants; a column with a choice of its own keeps it."""
    draft = opened(browser, "loads.csv")
    browser.send("/columns", command="anonymize-series")
    assert browser.where == f"{draft}/columns", "roles are proposed again, and none is lost"
    chosen = browser.app.draft_pages.drafts[draft.rpartition("/")[2]]
    (group,) = re.findall('name="(group-[0-9]+)"', browser.page.text)
    assert "24 columns" in browser.page.text
    first = int(group.removeprefix("group-"))
    browser.send("/columns", **{f"role-{first + 3}": "drop"})
    assert chosen.columns["series"] == [f"h{hour:02}" for hour in range(24) if hour != 3]
    assert "h03" in chosen.columns["drop"]
    page = browser.get(f"{draft}/columns")
    assert "<details open><summary>Each of them" in page
    browser.send("/columns", **{group: "drop", f"role-{first + 3}": ""})
    assert "series" not in chosen.columns
    assert {f"h{hour:02}" for hour in range(24)} <= set(chosen.columns["drop"])


def test_what_outsiders_know_is_left_out_by_a_button(browser: Browser) -> None:
    draft = opened(browser, "visits.csv")
    chosen = browser.app.draft_pages.drafts[draft.rpartition("/")[2]]
    browser.send("/columns", **proposed(browser))
    quasi = list(chosen.columns["quasi"])
    assert len(quasi) > 1
    page = browser.send("/leave-out", column=quasi[0])
    assert browser.where == f"{draft}/risk"
    assert f'value="{quasi[0]}"' not in page
    assert chosen.columns["quasi"] == quasi[1:]
    assert quasi[0] in chosen.columns["drop"]
    assert set(chosen.values["hierarchies"]) == set(quasi[1:])
    data = {"column": quasi[0], "version": str(chosen.version), "form_token": token(browser)}
    assert "not a quasi-identifier" in browser.client.post(f"{draft}/leave-out", data=data).text


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Two releases of one table, and its later version."""
    root = tmp_path_factory.mktemp("clinic")
    for name, seed in (("march", 2), ("april", 3)):
        pyarrow.csv.write_csv(clinic_visits(rows=600, seed=seed), root / f"{name}.csv")
    browser = Browser(root)
    draft = opened(browser, "march.csv")
    browser.send("/columns", **proposed(browser))
    for name, k in (("second", "4"), ("first", "5")):  # the later one has the earlier name
        browser.get(f"{draft}/promise")
        browser.send("/promise", k=k)
        browser.get(f"{draft}/publish")
        page = browser.send("/publish", out=name, ledger=f"{name}.ledger")
        assert "The promise holds, and the release is written" in page
    yield browser
    browser.close()


def test_a_saved_job_is_published_again_with_a_later_table(clinic: Browser) -> None:
    root = clinic.app.settings.root
    clinic.send("/keep")
    assert 'aria-label="Open first.toml"' in clinic.page.text
    clinic.page = clinic.client.post("/draft", data={"source": "first.toml", "form_token": token(clinic)})
    assert clinic.where.endswith("/publish")
    assert 'value="first-2"' in clinic.page.text
    page = clinic.send("/publish", source="april.csv", out="april", ledger="april.ledger")
    assert "The promise holds, and the release is written" in page
    ledger = tv.open_ledger(root / "april.ledger")
    assert tv.verify(tv.open_release(root / "april"), ledger)
    april = tv.read(root / "april.csv", ledger.original.roles)
    assert ledger.original.data.num_rows == april.data.num_rows
    before, after = (
        tomllib.loads((root / "first.toml").read_text("utf-8")),
        clinic.client.get(f"{clinic.where}/job.toml").text,
    )
    assert {**before, "in": "april.csv", "out": "april", "ledger": "april.ledger"} == tomllib.loads(after)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('in = "../outside.csv"\nrespondent = "a"', "no such file or folder"),
        ("in = 5", "no such file or folder"),
        ('in = "march.csv"\nout = "bad"\nk = 1\nrespondent = "patient"\ntime = "taken_at"', "at least 2"),
        ('in = "march.csv"\ncommand = "rm"', "not one that publishes"),
        ("[", "not TOML"),
    ],
)
def test_a_job_that_is_none(clinic: Browser, text: str, said: str) -> None:
    root = clinic.app.settings.root
    (root / "bad.toml").write_text(text, "utf-8")
    clinic.get("/open/")
    answer = clinic.client.post("/draft", data={"source": "bad.toml", "form_token": token(clinic)})
    assert answer.status_code in (404, 422)
    assert said in answer.text
    assert "That did not work" in answer.text


def test_somebody_who_knows_more_is_tried(clinic: Browser) -> None:
    clinic.get("/judge/first?ledger=first.ledger")
    page = clinic.send("/attack", visits="2")
    assert "the time of 2 visits" in re.sub("<[^>]+>", "", page)
    assert "Must not leave the building" in page
    twin(clinic)
    clinic.get("/judge/first?ledger=first.ledger")
    assert "must be a whole number of at least 0" in clinic.send("/attack", tolerance="soon")
    clinic.get("/judge/first?ledger=first.ledger")
    assert "must be a whole number of at least 1" in clinic.send("/attack", visits="0")
    clinic.get("/judge/first")
    data = {"visits": "2", "form_token": token(clinic)}
    assert "choose the ledger" in clinic.client.post("/judge/first/attack", data=data).text


def test_the_ledger_that_was_written_with_a_release_comes_first(clinic: Browser) -> None:
    for name in ("first", "second"):
        page = clinic.get(f"/judge/{name}")
        (first, *others) = re.findall("<option>([a-z]+)[.]ledger</option>", page)
        assert first == name
        assert others


def test_who_decides_has_seen_what_is_there(clinic: Browser) -> None:
    """A release that was replaced since the page was loaded is not approved unseen."""
    root = clinic.app.settings.root
    clinic.get("/judge/first?ledger=first.ledger")
    for name in ("first", "first.ledger"):
        (root / name).rename(root / f"{name}-aside")
        (root / name.replace("first", "second")).rename(root / name)
    page = clinic.send("/signoff", name="Second person", reason="looked at it", decision="approved")
    assert clinic.page.status_code == 409
    assert "changed in another tab" in page
    assert not (root / "first.ledger.signoff.jsonl").exists()
    for name in ("first", "first.ledger"):
        (root / name).rename(root / name.replace("first", "second"))
        (root / f"{name}-aside").rename(root / name)


def test_series_are_attacked_by_some_instants(browser: Browser, root: Path) -> None:
    if not (root / "loads-published").exists():
        draft = opened(browser, "loads.csv")
        browser.send("/columns", **proposed(browser))
        browser.get(f"{draft}/promise")
        browser.send("/promise", k="6", p="3")
        browser.get(f"{draft}/publish")
        browser.send("/publish", out="loads-published", ledger="loads.ledger")
    browser.get("/judge/loads-published?ledger=loads.ledger")
    assert "the values of 3 instants" in browser.send("/attack", values="3")
    browser.get("/judge/loads-published?ledger=loads.ledger")
    assert "the pattern" in browser.send("/attack", values="none", pattern="on")
    browser.get("/judge/loads-published?ledger=loads.ledger")
    assert "That did not work" in browser.send("/attack", values="none")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_values_are_shown_when_they_are_asked_for(tmp_path: Path, ending: str) -> None:
    table = clinic_visits(rows=100)
    {"csv": pyarrow.csv.write_csv, "parquet": pyarrow.parquet.write_table}[ending](
        table, tmp_path / f"visits.{ending}"
    )
    browser = Browser(tmp_path)
    draft = opened(browser, f"visits.{ending}")
    first = [str(cell) for cell in table["exam"].to_pylist()[:8]]
    assert " · ".join(first) not in browser.page.text
    assert " · ".join(first) in browser.get(f"{draft}/columns/values")
    browser.close()
