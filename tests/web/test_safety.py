"""Strangers at the door: each line of the security model is attacked."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.csv
import pytest
from starlette.testclient import TestClient
from tests.web.browsing import ORIGIN, Browser, furnish, token

import timeveil as tv
from timeveil.datasets import baskets
from timeveil.web import guard
from timeveil.web.app import App, Settings, serve
from timeveil.web.places import fingerprint

CANARY = "Xq7canary"


def refused(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert "That did not work" in answer.text
    assert "Traceback" not in answer.text
    return str(answer.text)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:8765.evil.example", ""]
)
def test_another_name_for_this_machine(browser: Browser, host: str) -> None:
    """A name that was pointed at this machine would let its pages read ours."""
    refused(browser.client.get("/open/", headers={"host": host}), 421)


def test_a_link_opens_one_session(root: Path) -> None:
    app = App(Settings(root))
    client = TestClient(app.asgi, base_url=ORIGIN, follow_redirects=False)
    refused(client.get("/open/"), 401)
    link = app.doorman.new_link()
    refused(client.get(f"/?token={link[:-1]}"), 401)
    entered = client.get(f"/?token={link}")
    assert entered.status_code == 303
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert link not in entered.headers["location"]
    assert client.get("/open/").status_code == 200
    assert "used before" in refused(TestClient(app.asgi, base_url=ORIGIN).get(f"/?token={link}"), 401)


def test_a_login_expires(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(root)
    later = time.monotonic() + guard.SESSION_SECONDS + 1
    monkeypatch.setattr(guard.time, "monotonic", lambda: later)
    assert "expired" in refused(browser.client.get("/open/"), 401)
    form = {"source": "visits.csv", "form_token": token(browser)}
    refused(browser.client.post("/draft", data=form), 401)
    assert browser.app.draft_pages.drafts == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
        {"origin": ORIGIN, "sec-fetch-site": "same-site"},
    ],
)
def test_forms_of_other_pages(browser: Browser, headers: dict[str, str]) -> None:
    browser.get("/open/")
    data = {"source": "visits.csv", "form_token": token(browser)}
    refused(browser.client.post("/draft", data=data, headers=headers), 403)


def test_a_form_that_says_nothing_of_its_page(browser: Browser) -> None:
    browser.get("/open/")
    data = {"source": "visits.csv", "form_token": token(browser)}
    request = browser.client.build_request("POST", "/draft", data=data)
    del request.headers["origin"]
    refused(browser.client.send(request), 403)
    request.headers["sec-fetch-site"] = "same-origin"
    request.headers["origin"] = "null"  # as browsers send it where there is no referrer
    assert browser.client.send(request, follow_redirects=False).status_code == 303


@pytest.mark.parametrize("form_token", ["", "guess"])
def test_a_form_without_its_token(browser: Browser, form_token: str) -> None:
    data = {"source": "visits.csv", "form_token": form_token}
    refused(browser.client.post("/draft", data=data), 403)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods(browser: Browser, method: str) -> None:
    refused(browser.client.request(method, "/open/"), 405)
    assert browser.client.post("/open/").status_code in (403, 405, 415)


@pytest.mark.parametrize(
    "path", ["/open/", "/nothing", "/static/app.js", "/open/nowhere", "/judge/visits.csv"]
)
def test_every_answer_has_its_headers(browser: Browser, path: str) -> None:
    headers = browser.client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


def test_sizes_are_limited(browser: Browser) -> None:
    browser.get("/open/")
    large = {"source": "x" * guard.LARGEST_FORM, "form_token": token(browser)}
    refused(browser.client.post("/draft", data=large), 413)
    many = {f"f{n}": "" for n in range(guard.MOST_FIELDS + 1)}
    refused(browser.client.post("/draft", data=many), 415)
    refused(browser.client.post("/draft", json={"source": "visits.csv"}), 415)
    refused(browser.client.get("/open/" + "x" * guard.LONGEST_ADDRESS), 414)


@pytest.fixture(scope="module")
def fenced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A root with ways out of it: links to a file, to a folder, and a folder that holds a link."""
    place = tmp_path_factory.mktemp("fenced")
    root, outside = place / "root", place / "outside"
    for folder in (root, outside, root / "many"):
        folder.mkdir()
    furnish(root)
    pyarrow.csv.write_csv(pa.table({"secret": [CANARY]}), outside / "secret.csv")
    (root / "link.csv").symlink_to(outside / "secret.csv")
    (root / "link").symlink_to(outside)
    (root / "many" / "secret.csv").symlink_to(outside / "secret.csv")
    (root / "loop").symlink_to(root / "loop")
    browser = Browser(root)
    yield browser
    browser.close()


OUT = [
    "../outside/secret.csv",
    "link.csv",
    "link/secret.csv",
    "many",
    "loop",
    "/etc/passwd",
    "a\0b",
    "x" * 2_000,
    "~",
    "nothing.csv",
]


@pytest.mark.parametrize("source", OUT)
def test_tables_outside_of_the_root(fenced: Browser, source: str) -> None:
    fenced.get("/open/")
    answer = fenced.client.post("/draft", data={"source": source, "form_token": token(fenced)})
    assert CANARY not in refused(answer, 404)


@pytest.mark.parametrize(
    "path", ["/open/../", "/open/%2e%2e/%2e%2e/", "/open/..%2f..%2fetc", "/open/link", "/judge/link"]
)
def test_folders_outside_of_the_root(fenced: Browser, path: str) -> None:
    answer = fenced.client.get(path)
    assert "secret.csv" not in answer.text
    assert "passwd" not in answer.text


def test_links_that_lead_out_are_not_listed(fenced: Browser) -> None:
    page = fenced.get("/open/")
    assert "visits.csv" in page
    assert "link" not in re.sub(r"<link[^>]*>|/link|alternate", "", page)


def test_a_table_that_becomes_a_link_out_is_not_read(tmp_path: Path) -> None:
    """What was inside when it was opened is checked again whenever it is read."""
    root = tmp_path / "root"
    root.mkdir()
    furnish(root)
    pyarrow.csv.write_csv(pa.table({"secret": [CANARY] * 90}), tmp_path / "secret.csv")
    browser = Browser(root)
    path = drafted(browser)
    columns = browser.page
    (root / "zips.csv").write_text("04103;*\n", "utf-8")
    browser.get(f"{path}/promise")
    browser.send("/promise", hierarchies="zip=zips.csv")
    browser.get(f"{path}/publish")
    publish = browser.page
    for name in ("zips.csv", "visits.csv"):
        (root / name).unlink()
        (root / name).symlink_to(tmp_path / "secret.csv")
        browser.page = publish
        page = browser.send("/publish", version=str(browser.app.draft_pages.drafts[path[7:]].version))
        assert "no such file or folder below" in page
    assert not (root / "visits-published").exists()
    for step in ("columns", "columns/values", "risk"):
        browser.app.draft_pages.drafts[path[7:]].columns = {"respondent": "secret"}
        answer = browser.client.get(f"{path}/{step}")
        assert CANARY not in refused(answer, 404)
    browser.page = columns
    assert "no such file or folder below" in browser.send(
        "/columns", version=str(browser.app.draft_pages.drafts[path[7:]].version)
    )
    browser.close()


def test_what_was_changed_is_judged_again(tmp_path: Path) -> None:
    """Also a file that is as long and seems as old as before, and one far below a folder."""
    release, _ = tv.sanitize_patterns(
        baskets(), tv.Roles(respondent="basket", item="item"), k=5, min_support=0.05, repeats="once"
    )
    tv.write(release, tmp_path / "counts", format="csv")
    browser = Browser(tmp_path)
    assert "The promise holds" in browser.get("/judge/counts")
    file = tmp_path / "counts" / "data.csv"
    before, inode = file.stat(), file.stat().st_ino
    text = file.read_text("utf-8")
    file.chmod(0o600)
    with file.open("r+", encoding="utf-8") as stream:
        stream.write(text.replace("9", "8"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, inode)
    page = browser.get("/judge/counts")
    assert "What is wrong" in page
    assert "The promise holds" not in page
    deep = tmp_path / "slots" / "2025" / "data.csv"
    deep.parent.mkdir(parents=True)
    deep.write_text("a", "utf-8")
    first = fingerprint(tmp_path / "slots")
    deep.write_text("b", "utf-8")
    assert fingerprint(tmp_path / "slots") != first
    browser.close()


def drafted(browser: Browser, source: str = "visits.csv") -> str:
    """A draft whose columns are confirmed, and its address."""
    browser.get("/open/")
    browser.page = browser.client.post("/draft", data={"source": source, "form_token": token(browser)})
    return browser.get(browser.where) and browser.where.removesuffix("/columns")


@pytest.mark.parametrize("out", ["../evil", "/evil", "link/evil", "", ".hidden", "a/../../evil", "a\nb"])
def test_releases_outside_of_the_root(fenced: Browser, out: str) -> None:
    path = drafted(fenced)
    fenced.get(f"{path}/publish")
    page = fenced.send("/publish", out=out)
    assert "That did not work" in page
    fenced.get(f"{path}/publish")
    assert "That did not work" in fenced.send("/publish", ledger=out or "../x")
    assert not (fenced.app.settings.root.parent / "evil").exists()


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("hierarchies", "zip=../outside/secret.csv"),
        ("hierarchies", "zip=suppression/../../outside/secret.csv"),
        ("definitions", "link.csv"),
        ("after", "link.csv"),
    ],
)
def test_parameters_that_are_paths(fenced: Browser, field: str, text: str) -> None:
    path = drafted(fenced)
    (fenced.app.settings.root / "suppression").mkdir(exist_ok=True)
    fenced.get(f"{path}/promise")
    page = fenced.send("/promise", **{field: text})
    assert "no such file or folder below" in page
    assert CANARY not in page


def test_two_tabs_on_one_job(browser: Browser) -> None:
    path = drafted(browser)
    page = browser.get(f"{path}/promise")
    first = browser.page
    assert "That did not work" not in browser.send("/promise", k="6")
    browser.page = first
    page = browser.send("/promise", k="7")
    assert "changed in another tab" in page
    assert "See what it is now" in page
    assert 'value="6"' in browser.get(f"{path}/promise")
    data = {"form_token": token(browser), "version": "0", "name": "k", "value": "7"}
    browser.page = browser.client.post(f"{path}/take", data=data)
    refused(browser.page, 409)
    assert f'href="{path}/tradeoff"' in browser.page.text


def test_a_wrong_form_is_shown_again(browser: Browser) -> None:
    """What was chosen is kept, and an error leads back to its form."""
    path = drafted(browser)
    page = browser.send("/columns", **{"role-1": "time", "role-3": "time", "role-5": "keep"})
    assert "Two columns have the role" in page
    assert page.count('<option value="time" selected>') == 2
    assert '<option value="keep" selected>' in page
    browser.get(f"{path}/publish")
    assert f'href="{path}/publish">Go back to the form' in browser.send("/publish", format="exe")


def test_a_refused_promise_leads_to_the_parameter(tmp_path: Path) -> None:
    rows = {"person": [f"p{n}" for n in range(40)] * 2, "day": ["2024-01-31"] * 80, "zip": list("ab") * 40}
    rows["person"][0] = ""
    pyarrow.csv.write_csv(pa.table(rows), tmp_path / "gaps.csv")
    browser = Browser(tmp_path)
    path = drafted(browser, "gaps.csv")
    browser.get(f"{path}/publish")
    draft = browser.app.draft_pages.drafts[path.rpartition("/")[2]]
    draft.command, draft.values = "generalize-time", {}
    draft.columns = {"respondent": "person", "time": "day", "quasi": ["zip"]}
    page = browser.send("/publish", version=str(draft.version))
    assert f'href="{path}/promise?wrong=nulls">Change the promise' in page
    page = browser.get(f"{path}/promise?wrong=nulls")
    assert "<details open>" in page
    assert page.count('class="field wrong"') == 1
    browser.close()


def test_a_parameter_out_of_range(browser: Browser) -> None:
    path = drafted(browser)
    browser.get(f"{path}/promise")
    page = browser.send("/promise", k="1")
    assert browser.page.status_code == 422
    assert "must be a whole number of at least 2, got 1" in page
    assert 'aria-invalid="true"' in page
    browser.send("/promise", k="many")
    assert browser.page.status_code in (409, 422)


def test_a_folder_that_is_no_release(browser: Browser, root: Path) -> None:
    (root / "empty").mkdir(exist_ok=True)
    assert "not a release folder" in refused(browser.client.get("/judge/empty"), 422)


def test_a_file_that_is_none(browser: Browser, root: Path) -> None:
    (root / "none.csv").write_bytes(f"a,b\n{CANARY},".encode() + b"\x81\n")
    drafted(browser, "none.csv")
    page = browser.get(browser.where)
    assert browser.page.status_code == 422
    assert "Read it again" in page
    assert CANARY not in page


def test_names_and_values_are_text(browser: Browser, root: Path) -> None:
    script, picture = "<script>alert(1)</script>", "<svg onload=alert(1)>"
    rows = {script: [f"p{n % 30}" for n in range(120)], "day": ["2024-01-31"] * 120, "zip": [picture] * 120}
    pyarrow.csv.write_csv(pa.table(rows), root / "hostile.csv")
    drafted(browser, "hostile.csv")
    page = browser.get(f"{browser.where}/values")
    assert script not in page
    assert picture not in page
    assert "&lt;script&gt;" in page
    assert "&lt;svg" in page
    hidden = browser.get(browser.where.removesuffix("/values"))
    assert "&lt;svg" not in hidden


def test_only_some_tasks_at_a_time(root: Path) -> None:
    browser = Browser(root, jobs=1)
    browser.app.workshop._most = 0
    browser.get("/open/")
    answer = browser.client.post("/draft", data={"source": "visits.csv", "form_token": token(browser)})
    assert "no more are started" in refused(answer, 422)
    browser.close()


def test_a_password_is_in_no_page(browser: Browser) -> None:
    browser.get("/open/")
    data = {"source": f"postgresql://u:{CANARY}@127.0.0.1:1/db#t", "form_token": token(browser)}
    page = refused(browser.client.post("/draft", data=data), 422)
    assert "contains a password" in page
    assert CANARY not in page + browser.get("/open/")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    browser = Browser(tmp_path)
    browser.get("/open/")
    answer = browser.client.post("/draft", data={"source": "pipe.csv", "form_token": token(browser)})
    refused(answer, 404)
    browser.close()


def test_no_page_of_a_task_is_a_fault(browser: Browser) -> None:
    """A task that ends just before it is cancelled is shown where its result belongs."""
    drafted(browser)
    for task in list(browser.app.workshop._tasks.values()):
        task.wait(60)
        page = browser.client.post(f"/task/{task.id}/cancel", data={"form_token": token(browser)})
        assert "internal error" not in page.text.lower()


def left(root: Path) -> list[str]:
    """What a run left behind."""
    return [path.name for path in root.iterdir() if "published" in path.name or "partial" in path.name]


def started(browser: Browser, out: str = "published") -> Any:
    """A task that publishes and was not waited for."""
    path = drafted(browser)
    columns = {"respondent": "patient", "time": "taken_at", "quasi": ["zip"]}
    columns["drop"] = ["sex", "age", "exam", "result"]
    draft = browser.app.draft_pages.drafts[path.rpartition("/")[2]]
    draft.columns, draft.values = columns, {"suppress": 0.01}
    browser.page = browser.client.get(f"{path}/publish")
    data = {"out": out, "ledger": "published.ledger", "format": "csv", "version": str(draft.version)}
    answer = browser.client.post(
        f"{path}/publish", data={**data, "form_token": token(browser)}, follow_redirects=False
    )
    return browser.app.workshop.find(answer.headers["location"].rpartition("/")[2])


def test_a_cancelled_task_leaves_nothing(tmp_path: Path) -> None:
    furnish(tmp_path)
    browser = Browser(tmp_path)
    task = started(browser)
    browser.client.post(f"/task/{task.id}/cancel", data={"form_token": token(browser)})
    assert task.process.poll() is not None
    assert left(tmp_path) == []
    assert "Cancelled; nothing was written" in browser.get(f"/task/{task.id}")
    killed = started(browser)
    killed.process.kill()
    assert "ended unexpectedly" in browser.get(f"/task/{killed.id}")
    assert left(tmp_path) == []
    browser.close()
    assert not browser.app.workshop._folder.exists()


def test_many_cancel_at_once(tmp_path: Path) -> None:
    """From several tabs, at any moment: there is a whole release or nothing, and every tab gets a page."""
    furnish(tmp_path)
    browser = Browser(tmp_path)
    for moment in (0.0, 0.2, 0.6, 0.79):
        task = started(browser, f"published-{moment:g}")
        while task.state == "running" and task.share < moment:
            task.wait(30, task.now)
        data, path = {"form_token": token(browser)}, f"/task/{task.id}/cancel"
        with ThreadPoolExecutor(4) as tabs:
            sent = [tabs.submit(browser.client.post, path, data=data) for _ in range(4)]
        pages = [each.result() for each in sent]
        assert {page.status_code for page in pages} <= {200, 409}
        assert task.process.poll() is not None
        assert [name for name in left(tmp_path) if "partial" in name] == []
        for name in left(tmp_path):
            if (tmp_path / name).is_dir():
                assert tv.verify(tv.open_release(tmp_path / name))
                assert task.written or task.state == "done"
                shutil.rmtree(tmp_path / name)
            else:
                (tmp_path / name).unlink()
    browser.close()


def test_a_release_that_was_written_is_not_denied(tmp_path: Path) -> None:
    """Its name has signs that mean something in addresses; every way to its page works."""
    furnish(tmp_path)
    browser = Browser(tmp_path)
    task = started(browser, "r&d 50% #1?")
    while task.state == "running" and not task.written:
        task.wait(30, task.now)
    page = browser.client.post(f"/task/{task.id}/cancel", data={"form_token": token(browser)}).text
    assert task.state == "cancelled"
    assert "The release was written" in page
    assert "othing was written" not in page
    browser.get("/open/")
    data = {"source": "r&d 50% #1?", "form_token": token(browser)}
    browser.page = browser.client.post("/draft", data=data)
    browser._settled()
    assert "The promise holds" in browser.page.text
    browser.get(f"/judge/{quote('r&d 50% #1?')}?ledger=published.ledger")
    page = browser.send("/signoff", name="Second person", reason="looked at it", decision="rejected")
    assert "Rejected by Second person" in page
    browser.close()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
@pytest.mark.parametrize("moment", [0.0, 0.3, 0.7, 0.8])
def test_a_killed_server_leaves_no_half_release(tmp_path: Path, moment: float) -> None:
    """Its processes notice, stop by themselves, and what they leave is a whole release or none."""
    furnish(tmp_path)
    script = f"""
import sys
sys.path.insert(0, {str(Path.cwd())!r})
from pathlib import Path
from tests.web.browsing import Browser
from tests.web.test_safety import started
task = started(Browser(Path({str(tmp_path)!r})))
while task.state == "running" and task.share < {moment}:
    task.wait(30, task.now)
print(task.process.pid, flush=True)
sys.stdin.read()
"""
    server = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    child = int(server.stdout.readline())
    try:
        handle = os.pidfd_open(child)
    except ProcessLookupError:
        handle = None  # it was faster
    server.send_signal(signal.SIGKILL)
    server.communicate()
    if handle is not None:
        watcher = select.poll()
        watcher.register(handle, select.POLLIN)
        assert watcher.poll(30_000), "the process outlives its server"
        os.close(handle)
    if left(tmp_path):
        assert left(tmp_path) == ["published"] or sorted(left(tmp_path)) == ["published", "published.ledger"]
        assert tv.verify(tmp_path / "published")


def test_another_address_needs_a_word(root: Path) -> None:
    with pytest.raises(tv.ParameterError, match="private data to the network"):
        serve(Settings(root, host="0.0.0.0"), lambda _: None)  # noqa: S104 (it is refused)
    with pytest.raises(tv.ParameterError, match="does not exist"):
        serve(Settings(root / "nowhere"), lambda _: None)


def test_the_server_stops_when_idle(root: Path) -> None:
    said: list[str] = []
    serve(Settings(root, port=18765, idle_minutes=1 / 600), said.append)
    assert "?token=" in said[0]
