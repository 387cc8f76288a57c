"""A browser without a screen: it keeps its cookie, sends forms as pages have them, and waits for tasks."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.csv
from starlette.testclient import TestClient

from timeveil.datasets import baskets, clinic_visits, daily_cases, load_curves
from timeveil.web.app import App, Settings

ORIGIN = "http://127.0.0.1:8765"
TABLES = {"visits": clinic_visits, "cases": daily_cases, "loads": load_curves, "baskets": baskets}


def furnish(root: Path) -> None:
    for name, make in TABLES.items():
        pyarrow.csv.write_csv(make(), root / f"{name}.csv")


class FormReader(HTMLParser):
    """The forms of a page, with the values that their controls have."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, Any]] = []
        self._select = self._textarea = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.forms.append({"action": given["action"], "fields": {}})
        if not self.forms:
            return
        fields, name = self.forms[-1]["fields"], given.get("name", "")
        if tag == "select":
            self._select = name
        elif tag == "option" and ("selected" in given or self._select not in fields):
            fields[self._select] = given.get("value", "")
        elif tag == "textarea":
            self._textarea = name
            fields.setdefault(name, "")
        elif tag == "input" and name:
            kind = given.get("type", "text")
            if kind not in ("checkbox", "radio") or "checked" in given:
                fields[name] = given.get("value", "on")

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.forms[-1]["fields"][self._textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._textarea = ""


class Browser:
    def __init__(self, root: Path, **settings: Any) -> None:
        self.app = App(Settings(root, **settings))
        self.client = TestClient(self.app.asgi, base_url=ORIGIN, follow_redirects=True)
        self.client.headers["origin"] = ORIGIN
        self.page = self.client.get(f"/?token={self.app.doorman.new_link()}")
        assert self.page.status_code == 200

    def get(self, path: str) -> str:
        self.page = self.client.get(path)
        return self._settled()

    def send(self, action: str, **changed: str) -> str:
        """Send the form of the page whose action ends so and has most of the fields, some of them changed."""
        reader = FormReader()
        reader.feed(self.page.text)
        forms = [f for f in reader.forms if re.search(f"{re.escape(action)}(\\?.*)?$", f["action"])]
        form = max(forms, key=lambda form: len(form["fields"].keys() & changed.keys()))
        path = form["action"]
        self.page = self.client.post(path, data={**form["fields"], **changed})
        return self._settled()

    def _settled(self) -> str:
        """The page once nothing runs; waits for the task itself, not for some time."""
        while match := re.search(r'data-events="/task/([\w-]+)/events', self.page.text):
            task = self.app.workshop.find(match[1])
            assert task is not None
            task.wait(120)
            self.page = self.client.get(str(self.page.url))
        return self.page.text

    @property
    def where(self) -> str:
        return self.page.url.path

    def close(self) -> None:
        self.app.workshop.close()


def token(browser: Browser) -> str:
    """What only forms of this session have."""
    return browser.page.text.partition('name="form_token" value="')[2].partition('"')[0]
