"""The pages: what each step shows, as data that a template or JSON renders, and what its form changes.

Pages call `jobs` in processes of their own and never a method. A draft is what the user has chosen so far; it
lives in memory. Every change of it has a number, so that a form of another tab cannot overwrite a later one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from timeveil.calendar.axis import CYCLIC
from timeveil.domain.lines import ExploreParameters, FileForm
from timeveil.domain.run import Columns, Files
from timeveil.errors import InputError, ParameterError, TimeveilError, spell
from timeveil.jobs.typed import is_release
from timeveil.models import tables
from timeveil.reading.database import is_address
from timeveil.suggesting import required_values
from timeveil.web.answers import Page, to, told
from timeveil.web.drafts import Draft, cards, explored_so_far, ranges
from timeveil.web.forms import Form, columns_of, fields, read_form
from timeveil.web.guard import form_of
from timeveil.web.places import Places, fingerprint
from timeveil.web.work import Task, Workshop

FORM = ("delimiter", "encoding", "sheet")
MOST_DRAFTS = 100


class Stale(Exception):  # noqa: N818 (an answer, not a fault)
    """A form of a page that another tab has changed since."""


class Desk:
    """The drafts, and the pages from the table to its release."""

    def __init__(self, places: Places, workshop: Workshop) -> None:
        self.places, self.workshop = places, workshop
        self.drafts: dict[str, Draft] = {}

    # --- 1 open -----------------------------------------------------------------------------------------
    def open(self, request: Request) -> Page:
        folder = request.path_params.get("path", "").strip("/")
        parts = folder.split("/") if folder else []
        crumbs = [{"name": part, "path": "/".join(parts[: n + 1])} for n, part in enumerate(parts)]
        data = {"folder": folder, "crumbs": crumbs, "entries": self.places.listing(folder)}
        return Page("open.html", {**data, "root": self.places.root.name, "drafts": self._recent()})

    def _recent(self) -> list[dict[str, str]]:
        return [{"id": draft.id, "source": draft.source} for draft in list(self.drafts.values())[-5:]]

    def start(self, request: Request) -> Response:
        name = form_of(request).get("source", [""])[0]
        if not name:
            raise InputError("no table was named", hint="choose one from the list", code="file-missing")
        draft = Draft(self.places.source(name))
        if not is_address(draft.source) and is_release(str(self.places.inside(draft.source))):
            return to(f"/judge/{draft.source}")
        while len(self.drafts) >= MOST_DRAFTS:
            del self.drafts[next(iter(self.drafts))]
        self.drafts[draft.id] = draft
        return to(f"/draft/{draft.id}/columns")

    # --- 2 columns --------------------------------------------------------------------------------------
    def columns(self, request: Request) -> Page:
        draft = self._draft(request)
        task = self._survey(draft)
        if task.state == "failed":
            lines = [FileForm.table()[name] for name in FORM]
            return self._page(
                "columns.html", draft, error=task.error, form=fields(lines, draft.form), status=422
            )
        if task.state != "done":
            return self._progress(draft, task, "Reading the table")
        found = task.result
        roles = {n: role for role, names in (draft.columns or found["roles"]).items() for n in _list(names)}
        sample = self._sample(draft) if request.path_params.get("values") else None
        known = [*draft.table.needs, *(r for r in draft.table.roles if r not in ("cyclic", "drop"))]
        meanings = {role: Columns.table()[role].meaning for role in (*known, "drop")}
        return self._page(
            "columns.html",
            draft,
            survey=found,
            roles={column["name"]: roles.get(column["name"], "drop") for column in found["columns"]},
            known=meanings,
            commands=cards(draft.table.command),
            sample=sample,
            cyclic=list(CYCLIC) if "cyclic" in draft.table.roles else [],
            chosen_cyclic=draft.columns.get("cyclic", []),
        )

    def _survey(self, draft: Draft) -> Task:
        task = self.workshop.ensure(
            "survey", {"source": draft.source, "command": draft.asked, "form": draft.form}, self._state(draft)
        )
        if task.state == "done" and draft.command is None:
            draft.command, draft.values = task.result["command"], dict(task.result["values"])
        return task

    def _sample(self, draft: Draft) -> dict[str, Any]:
        form = {name: draft.form.get(name) for name in FORM}
        task = self.workshop.ensure("values", {"source": draft.source, "form": form}, self._state(draft))
        task.wait(20)
        return {"names": [], "rows": []} | task.result

    def set_columns(self, request: Request) -> Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        if any(name in form for name in FORM):
            draft.form = read_form([FileForm.table()[name] for name in FORM], form)
            return to(f"/draft/{draft.id}/columns")
        command = form.get("command", [draft.table.command])[0]
        if command != draft.table.command:
            if command not in tables():
                raise ParameterError("there is no such method", hint="choose one from the list")
            survey = {"source": draft.source, "command": command, "form": draft.form}
            task = self.workshop.ensure("survey", survey, self._state(draft))
            task.wait(60)
            draft.command = draft.asked = command
            draft.columns, draft.explored = {}, {}
            draft.values = dict(task.result.get("values", {}))
            return to(f"/draft/{draft.id}/columns")
        task = self._survey(draft)
        names = [column["name"] for column in task.result.get("columns", ())]
        draft.columns = columns_of(form, names, (*draft.table.needs, *draft.table.roles))
        coarsened = draft.values.pop("hierarchies", {})  # of columns that are quasi-identifiers still
        if still := {c: how for c, how in coarsened.items() if c in draft.columns.get("quasi", ())}:
            draft.values["hierarchies"] = still
        return to(f"/draft/{draft.id}/risk")

    # --- 3 risk -----------------------------------------------------------------------------------------
    def risk(self, request: Request) -> Page | Response:
        draft = self._draft(request)
        if not draft.columns:
            return to(f"/draft/{draft.id}/columns")
        task = self.workshop.ensure("risk", draft.request(), self._state(draft))
        if task.state == "running":
            return self._progress(draft, task, "Counting people")
        promised = [
            draft.table.table()[name] for name in ("k", "l", "min_support") if name in draft.table.table()
        ]
        shown = fields(
            [line for line in promised if line.required], {**required_values(draft.table), **draft.values}
        )
        if task.state == "failed":
            return self._page("risk.html", draft, error=task.error, form=shown, status=422)
        return self._page("risk.html", draft, risk=task.result, form=shown)

    # --- 4 promise --------------------------------------------------------------------------------------
    def promise(
        self, request: Request, wrong: TimeveilError | None = None, typed: Form | None = None
    ) -> Page:
        draft = self._draft(request)
        lines = [line for name, line in draft.table.table().items() if name not in draft.table.secret]
        facts = {} if wrong is None else wrong.facts
        names = [facts["parameter"]] if "parameter" in facts else list(facts.get("parameters", ()))
        controls = fields(lines, {**required_values(draft.table), **draft.form, **draft.values}, names)
        for control in controls if typed is not None else ():
            control["value"] = "\n".join(typed.get(control["name"], [])) if typed else control["value"]
        first = {*required_values(draft.table), *draft.table.explored}
        return self._page(
            "promise.html",
            draft,
            error=None if wrong is None else told(wrong),
            commands=cards(draft.table.command),
            first=[control for control in controls if control["name"] in first],
            more=[control for control in controls if control["name"] not in first],
            opened=any(control["wrong"] for control in controls if control["name"] not in first),
            status=200 if wrong is None else 422,
        )

    def set_promise(self, request: Request) -> Page | Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        lines = [line for name, line in draft.table.table().items() if name not in draft.table.secret]
        try:
            values = self.places.parameters(draft.table, read_form(lines, form))
            draft.table(**{**required_values(draft.table), **draft.form, **values})
        except TimeveilError as error:
            return self.promise(request, error, form)
        draft.values = values
        return to(f"/draft/{draft.id}/{'risk' if 'again' in form else 'tradeoff'}")

    # --- 5 trade-off ------------------------------------------------------------------------------------
    def tradeoff(self, request: Request) -> Page:
        draft = self._draft(request)
        explored, table = draft.explored, draft.table
        limits = fields([ExploreParameters.table()[n] for n in ("max_loss", "max_risk")], explored)
        data: dict[str, Any] = {
            "limits": limits,
            "choices": list(table.explored),
            "explored": {"name": "", "settings": "", **explored},
        }
        data["meanings"] = {name: spell(table.table()[name].meaning, "job") for name in table.explored}
        data["usual"] = ranges(draft)
        if not explored:
            return self._page("tradeoff.html", draft, **data)
        values = {**draft.request()["values"], explored["name"]: explored["settings"]}
        more = {name: explored.get(name) for name in ("max_loss", "max_risk")}
        task = self.workshop.ensure(
            "explore", {**draft.request(), "values": values, **more}, self._state(draft)
        )
        if task.state == "failed":
            return self._page("tradeoff.html", draft, **data, error=task.error, status=422)
        return self._page("tradeoff.html", draft, **data, task=task.as_dict(), **explored_so_far(task, draft))

    def set_tradeoff(self, request: Request) -> Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        name = form.get("name", [""])[0]
        if name not in draft.table.explored:
            raise ParameterError("this parameter has no trade-off", hint="choose one from the list")
        limits = read_form([ExploreParameters.table()[n] for n in ("max_loss", "max_risk")], form)
        draft.explored = {"name": name, "settings": form.get("settings", [""])[0], **limits}
        return to(f"/draft/{draft.id}/tradeoff")

    def take(self, request: Request) -> Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        name = form.get("name", [""])[0]
        if name not in draft.table.explored:
            raise ParameterError("this parameter has no trade-off", hint="choose one from the list")
        draft.values |= read_form([draft.table.table()[name]], {name: form.get("value", [])})
        return to(f"/draft/{draft.id}/publish")

    # --- 6 publish --------------------------------------------------------------------------------------
    def publish(self, request: Request) -> Page:
        draft = self._draft(request)
        files = {"out": f"{draft.stem}-published", "ledger": f"{draft.stem}.ledger", "format": "parquet"}
        lines = [Files.table()[name] for name in ("out", "ledger", "format")]
        again = draft.run(out=files["out"], ledger=files["ledger"]).as_dict()
        stated = [{"name": line.name, "value": _plain(value)} for line, value in draft.run(out="").changed()]
        return self._page("publish.html", draft, form=fields(lines, files), again=again, stated=stated)

    def do_publish(self, request: Request) -> Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        ledger = form.get("ledger", [""])[0].strip()
        files: dict[str, Any] = {
            "out": self.places.new(form.get("out", [""])[0], "the release"),
            "ledger": self.places.new(ledger, "the ledger") if ledger else None,
            "format": form.get("format", ["parquet"])[0],
        }
        Files(**files)
        request_ = draft.request(**files, draft=draft.id, again=draft.run(**files).as_dict())
        return to(f"/task/{self.workshop.start('publish', request_).id}")

    # --- what all pages need ----------------------------------------------------------------------------
    def _draft(self, request: Request, *, changing: bool = False) -> Draft:
        draft = self.drafts.get(request.path_params["draft"])
        if draft is None:
            hint = "open the table again; what was chosen is kept only while the server runs"
            raise InputError("this job is not known to the server", hint=hint, code="file-missing")
        if changing:
            if form_of(request).get("version", [""])[0] != str(draft.version):
                raise Stale
            draft.version += 1
        return draft

    def _state(self, draft: Draft) -> str:
        return "" if is_address(draft.source) else fingerprint(self.places.inside(draft.source))

    def _page(self, template: str, draft: Draft, status: int = 200, **data: Any) -> Page:
        step, promised = template.removesuffix(".html"), draft.table.promised
        shown = {"draft": draft.about, "promised": promised, "step": step, "error": None, **data}
        return Page(template, shown, status)

    def _progress(self, draft: Draft, task: Task, title: str) -> Page:
        return Page("progress.html", {"draft": draft.about, "task": task.as_dict(), "title": title})


def _list(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _plain(value: Any) -> str:
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
