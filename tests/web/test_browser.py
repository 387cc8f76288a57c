"""A real Chromium: each model from table to report, by script, by keyboard or without script.

`TIMEVEIL_PICTURES=1` also makes the pictures of the tutorial.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright
from tests.web.browsing import furnish

from timeveil.web.app import App, Settings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "LEFT OUT: tests in a browser; install Chromium, such as `apt-get install chromium`"
if CHROMIUM is None and not os.environ.get("TIMEVEIL_NO_SKIPS"):
    pytest.skip(MISSING, allow_module_level=True)

PICTURES = Path(__file__).parents[2] / "docs" / "tutorials" / "pictures"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update"]
SETTLED = "main:not(:has([data-events]))"
PATIENCE = 60_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    root = tmp_path_factory.mktemp("root")
    furnish(root)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    app = App(Settings(root, port=port))
    config = uvicorn.Config(app.asgi, port=port, log_level="critical", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield app
    server.should_exit = True
    thread.join()
    app.workshop.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(app: App, chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open the app in a new browser; requests that leave this machine, and complaints, are faults."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def opened(**options: Any) -> Page:
        context = chromium.new_context(viewport={"width": 1100, "height": 900}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: None if r.url.startswith(app.settings.address) else faults.append(r.url))
        page.on("console", lambda message: faults.append(message.text) if _is_fault(message) else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"{app.settings.address}/?token={app.doorman.new_link()}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def _is_fault(message: ConsoleMessage) -> bool:
    """A complaint of the browser, but not that a page says what was wrong with a request."""
    return message.type == "error" and "status of 4" not in message.text


def seen(page: Page, name: str = "", picture: str = "") -> None:
    """Wait until nothing runs; axe finds nothing; the picture of the tutorial, if pictures are made."""
    page.wait_for_selector(SETTLED)
    if name:
        found = Axe().run(page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    if picture and os.environ.get("TIMEVEIL_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=PICTURES / f"{picture}.png", clip={"x": 0, "y": 0, "width": 1100, "height": 900})


def test_events_by_script_and_axe_on_every_page(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page()
    seen(page, "open")
    page.click('button[aria-label="Open visits.csv"]')
    seen(page, "columns", "columns")
    page.click("text=Show the first values")
    seen(page, "values")
    for column, role in {"age": "drop", "sex": "drop", "exam": "keep"}.items():
        page.select_option(f'select[aria-label="Role of {column}"]', role)
    page.click("text=Confirm the roles")
    seen(page, "risk")
    page.click("text=Choose a promise")
    page.click("text=more parameters")
    seen(page, "promise")
    page.fill("#f-suppress", "0.01")
    page.click("text=Keep this promise")
    page.fill("#f-settings", "3,5,10")
    page.fill("#f-max_risk", "0.3")
    page.click("text=Try them")
    page.wait_for_selector("text=Take k = 5")
    seen(page, "trade-off", "tradeoff")
    page.click('figure a[href="#take-5"]')
    page.click("text=Take k = 5")
    seen(page, "publish")
    page.click('button:text-is("Publish")')
    page.wait_for_selector("text=The promise holds, and the release is written")
    seen(page, "result", "result")
    with page.expect_download() as download:
        page.click("text=Save the job file")
    assert "generalize-time" in Path(download.value.path()).read_text("utf-8")
    page.click("text=Hand over for sign-off")
    seen(page, "judge with ledger")
    page.fill("#s-name", "Data protection officer")
    page.fill("#s-reason", "Groups and attack were checked")
    page.click("text=Approve")
    page.wait_for_selector("text=Approved by Data protection officer")
    seen(page, "signed", "signed")
    page.click("text=Private report")
    page.wait_for_selector("text=Sign-off")
    assert Axe().run(page).violations_count == 0
    for path in ("/open/", "/judge/visits-published"):
        for scheme, width in (("dark", 1100), ("dark", 390), ("light", 390)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 844})
            page.goto(f"{app.settings.address}{path}")
            seen(page, f"{path} {scheme} {width}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_stream_by_keyboard(open_page: Callable[..., Page]) -> None:
    page = open_page()
    keys = 0

    def press(selector: str, key: str = "Enter") -> None:
        """Go to a control with the tabulator alone, and press a key."""
        nonlocal keys
        page.wait_for_selector(SETTLED)
        target = page.locator(selector).first
        for _ in range(200):
            page.keyboard.press("Tab")
            keys += 1
            if target.evaluate("element => element === document.activeElement"):
                assert target.evaluate("element => getComputedStyle(element).outlineStyle") != "none"
                page.keyboard.press(key)
                return
        raise AssertionError(f"{selector} cannot be reached")

    press('button[aria-label="Open cases.csv"]')
    press("text=Confirm the roles")
    press("text=Choose a promise")
    press("#f-l")
    page.wait_for_url("**/tradeoff")
    press("text=Skip this")
    press('button:text-is("Publish")')
    page.wait_for_selector("text=The promise holds, and the release is written")
    assert keys > 20


def test_series_without_script(open_page: Callable[..., Page]) -> None:
    page = open_page(java_script_enabled=False)
    page.click('button[aria-label="Open loads.csv"]')
    page.click("text=Confirm the roles")
    page.click("text=Choose a promise")
    page.fill("#f-k", "6")
    page.fill("#f-p", "3")
    page.click("text=Keep this promise")
    page.click("text=Skip this")
    page.click('button:text-is("Publish")')
    page.click("text=Public report")
    page.wait_for_selector("text=What is not protected")


def test_patterns_on_a_phone_in_the_dark(open_page: Callable[..., Page]) -> None:
    page = open_page(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.click('button[aria-label="Open baskets.csv"]')
    seen(page, "columns")
    page.click("text=Confirm the roles")
    seen(page, "risk")
    page.click("text=Choose a promise")
    seen(page, "promise")
    page.click("text=Keep this promise")
    page.click("text=Skip this")
    seen(page, "publish")
    page.click('button:text-is("Publish")')
    page.wait_for_selector("text=The promise holds, and the release is written")
    seen(page, "result")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def fits(page: Page, name: str) -> None:
    """Axe finds nothing in either scheme, and nothing is wider than a screen, a phone or paper."""
    seen(page, name)
    for media, scheme, width in (("screen", "dark", 1100), ("screen", "light", 390), ("print", "light", 673)):
        page.emulate_media(media=media, color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} {media} {width}"
        if media == "screen":
            seen(page, f"{name} {scheme} {width}")
    page.emulate_media(media="screen", color_scheme="light")
    page.set_viewport_size({"width": 1100, "height": 900})
    assert page.evaluate("window.hit === undefined"), name


HOSTILE = "hostile & <b>wide.csv"
PICTURE, SCRIPT = "<img src=x onerror=window.hit=1>", "<script>window.hit=1</script>"
NAME = "<svg><script>window.hit++</script>"


@pytest.fixture(scope="module")
def hostile(app: App) -> Path:
    """A folder with a table whose names and cells are markup, and a file that is none."""
    rows: dict[str, list[Any]] = {
        SCRIPT: [f"p{number % 40}" for number in range(160)],
        "day": [f"2024-01-{1 + number // 40:02}" for number in range(160)],
        NAME: [f"{PICTURE}{number % 2}" for number in range(160)],
        "zip": ["04103"] * 160,
    }
    rows |= {f"<svg onload=window.hit=1>{number:02}": [f"<b>{number}"] * 160 for number in range(12)}
    pyarrow.csv.write_csv(pa.table(rows), app.settings.root / HOSTILE)
    (app.settings.root / "none.csv").write_bytes(b"a,b\n1,\x81\n")
    return app.settings.root


@pytest.mark.usefixtures("hostile")
def test_every_step_of_a_hostile_table_fits(open_page: Callable[..., Page]) -> None:
    """Names and cells that are markup run nowhere."""
    page = open_page()
    page.click(f'button[aria-label="Open {HOSTILE}"]')
    fits(page, "columns")
    page.click("text=Show the first values")
    fits(page, "values")
    roles = {SCRIPT: "respondent", "day": "time", NAME: "quasi", "zip": "keep"}
    for column, role in roles.items():
        page.select_option(f"select[aria-label='Role of {column}']", role)
    page.select_option("select[aria-label^='Role of all of <svg']", "keep")
    page.click("text=Confirm the roles")
    fits(page, "risk")
    page.click("text=Choose a promise")
    page.click("text=more parameters")
    fits(page, "promise")
    for out, k in (("one", "2"), ("two", "20")):
        page.fill("#f-k", k)
        page.click("text=Keep this promise")
        page.click("nav >> text=Publish")
        page.fill("#f-out", out)
        page.fill("#f-ledger", f"{out}.ledger")
        fits(page, "publish")
        page.click('button:text-is("Publish")')
        page.wait_for_selector("text=The promise holds, and the release is written")
        fits(page, "result")
        page.click("text=Change the promise")


def test_every_page_of_a_hostile_release_fits(hostile: Path, open_page: Callable[..., Page]) -> None:
    """Judged, asked, attacked, compared, reported, spoilt, and what is none."""
    page = open_page()
    address = page.url.partition("/open")[0]
    for path in ("/open/", "/judge/one", "/judge/one?ledger=one.ledger", "/judge/none.csv", "/nowhere"):
        page.goto(f"{address}{path}")
        fits(page, path)
    for path, button, field in (
        ("/judge/one", "Ask", ("#f-between", "2024-01-01 2024-02-01")),
        ("/judge/one", "Compare", None),
        ("/judge/one?ledger=one.ledger", "Attack", ("#a-visits", "2")),
    ):
        page.goto(f"{address}{path}")
        if button == "Attack":
            page.click("text=Attack it with other knowledge")
        if field:
            page.fill(*field)
        page.click(f'button:text-is("{button}")')
        page.wait_for_selector("text=Back to the release")
        fits(page, button)
    for path in ("/report/one", "/report/one?ledger=one.ledger"):
        page.goto(f"{address}{path}")
        page.wait_for_selector("text=What is not protected")
        fits(page, path)
    page.goto(f"{address}/open/")
    page.click('button[aria-label="Open none.csv"]')
    fits(page, "a file that is none")
    page.click("text=Invite a second person")
    fits(page, "link")
    (hostile / "one" / "README.txt").unlink()
    page.goto(f"{address}/judge/one")
    fits(page, "violated")
