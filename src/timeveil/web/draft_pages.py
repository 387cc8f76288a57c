"""The pages: what each step shows, as data that a template or JSON renders, and what its form changes.

Pages call `jobs` in processes of their own and never a method. A draft is what the user has chosen so far; it
lives in memory. Every change of it has a number, so that a form of another tab cannot overwrite a later one.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from timeveil.calendar.axis import CYCLIC
from timeveil.domain.lines import ExploreParameters, FileForm
from timeveil.domain.roles import REST
from timeveil.domain.run import Columns, Files, role_values
from timeveil.errors import InputError, ParameterError, TimeveilError
from timeveil.jobs.request import load_toml, near, read_job
from timeveil.jobs.typed import is_release
from timeveil.models import tables
from timeveil.reading.database import is_address
from timeveil.suggesting import required_values
from timeveil.web.answers import Page, judged, progress, to
from timeveil.web.forms import Draft, Form, cards, columns_of, fields, grouped, plain, read_form, typed_roles
from timeveil.web.guard import form_of
from timeveil.web.places import Places, fingerprint
from timeveil.web.work import Task, Workshop
from timeveil.web.working import error_data

FILE_FORM = {name: FileForm.table()[name] for name in ("delimiter", "encoding", "sheet")}
LIMITS = {name: ExploreParameters.table()[name] for name in ("max_loss", "max_risk")}
FILES = {name: Files.table()[name] for name in ("out", "ledger", "format")}
FILES["out"] = replace(FILES["out"], meaning="New folder for the release.")
FILES["ledger"] = replace(FILES["ledger"], meaning="New private file; without a name no ledger is kept.")
MOST_DRAFTS = 100


class Stale(Exception):  # noqa: N818 (an answer, not a fault)
    """A form of a page that another tab has changed since."""


class DraftPages:
    """The drafts, and the pages from the table to its release."""

    def __init__(self, places: Places, workshop: Workshop) -> None:
        self.places, self.workshop = places, workshop
        self.drafts: dict[str, Draft] = {}

    # --- 1 open -----------------------------------------------------------------------------------------
    def open(self, request: Request) -> Page:
        folder = request.path_params.get("path", "").strip("/")
        parts = folder.split("/") if folder else []
        crumbs = [{"name": part, "path": "/".join(parts[: n + 1])} for n, part in enumerate(parts)]
        recent = [{"id": draft.id, "source": draft.source} for draft in list(self.drafts.values())[-5:]]
        data = {"folder": folder, "crumbs": crumbs, "entries": self.places.listing(folder)}
        return Page("open.html", {**data, "root": self.places.root.name, "drafts": recent})

    def start(self, request: Request) -> Response:
        name = form_of(request).get("source", [""])[0]
        if not name:
            raise InputError("no table was named", hint="choose one from the list", code="file-missing")
        draft = self._saved(name) if name.endswith(".toml") else Draft(self.places.source(name))
        if not draft.columns and is_release(str(self.places.root / draft.source)):
            return to(judged(draft.source))
        while len(self.drafts) >= MOST_DRAFTS:
            del self.drafts[next(iter(self.drafts))]
        self.drafts[draft.id] = draft
        return to(f"/draft/{draft.id}/{'publish' if draft.columns else 'columns'}")

    def _saved(self, name: str) -> Draft:
        """What a saved job states, to publish again; its paths must be below the root, too."""
        path = self.places.inside(name)
        source = self.places.source(near(path, str(load_toml(path).get("in", ""))))  # before it is read
        run = read_job(path)
        if run.service or run.roles is None:
            message = "this job works on a release or on a stream in service, not on a table"
            raise ParameterError(message, hint="run it on the command line with `timeveil run`")
        columns = dict(role_values(run.roles)) | {"series": list(run.roles.series)}
        paths = {"out": run.out, "ledger": run.ledger}
        files = {name: path and os.path.relpath(path, self.places.root) for name, path in paths.items()}
        values = self.places.parameters(run.table, dict(run.values))
        form, command = {n: values[n] for n in FILE_FORM if n in values}, run.table.command
        return Draft(source, form, command, command, columns, values, files={**files, "format": run.format})

    # --- 2 columns --------------------------------------------------------------------------------------
    def columns(
        self, request: Request, error: TimeveilError | None = None, typed: Form | None = None
    ) -> Page:
        draft = self._draft(request)
        task = self._survey(draft, draft.asked)
        if task.state == "failed":
            hinted = {name: value.strip("\"'") for name, value in task.error["changes"] if name in FILE_FORM}
            form = fields(FILE_FORM.values(), draft.form | hinted)
            return self._page("columns.html", draft, error=task.error, form=form)
        if task.state != "done":
            return progress(task, "Reading the table", draft=draft.about)
        survey, cells = task.result, None
        if request.path_params.get("values"):
            values = self._task(draft, "values", {"source": draft.source, "form": draft.form})
            values.wait(20)
            cells = values.result
        role_of = dict[str, str]()
        for role, names in (draft.columns or survey["roles"]).items():
            role_of |= dict.fromkeys([names] if isinstance(names, str) else names, role)
        known = [role_of.get(column["name"], "drop") for column in survey["columns"]]
        chosen = typed_roles(typed, survey["columns"]) if typed else known
        roles_of_method = [*draft.table.needs, *(r for r in draft.table.roles if r not in ("cyclic", "drop"))]
        return self._page(
            "columns.html",
            draft,
            survey=survey,
            wrong=None if error is None else error_data(error),
            roles={column["name"]: role for column, role in zip(survey["columns"], chosen, strict=True)},
            known={role: Columns.table()[role].meaning for role in (*roles_of_method, "drop")},
            commands=cards(draft.table.command),
            groups=grouped(survey["columns"], chosen),
            cells=cells,
            cyclic=list(CYCLIC) if "cyclic" in draft.table.roles else [],
            chosen_cyclic=(typed or draft.columns).get("cyclic", []),
        )

    def _survey(self, draft: Draft, command: str | None) -> Task:
        task = self._task(draft, "survey", {"source": draft.source, "command": command, "form": draft.form})
        if task.state == "done" and draft.command is None:
            draft.command, draft.values = task.result["command"], dict(task.result["values"])
        return task

    def set_columns(self, request: Request) -> Page | Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        if any(name in form for name in FILE_FORM):
            draft.form = read_form(FILE_FORM.values(), form)
            return to(f"/draft/{draft.id}/columns")
        if command := form.get("command", [""])[0]:
            if command not in tables():
                raise ParameterError("there is no such method", hint="choose one from the list")
            task = self._survey(draft, command)
            task.wait(60)
            draft.command = draft.asked = command
            draft.columns, draft.explored = {}, {}
            draft.values = dict(task.result.get("values", {}))
            return to(f"/draft/{draft.id}/columns")
        survey = self._survey(draft, draft.asked).result.get("columns", ())
        try:
            draft.columns = columns_of(form, survey, (*draft.table.needs, *draft.table.roles))
        except TimeveilError as error:
            return self.columns(request, error, form)
        coarsened, quasi = draft.values.pop("hierarchies", {}), draft.columns.get("quasi", ())
        if quasi and "recode" in draft.table.table():  # without a way to be coarser, one rare value stops all
            hierarchies = {column: coarsened.get(column, "suppression") for column in quasi}
            draft.values = {"recode": "local", **draft.values, "hierarchies": hierarchies}
        return to(f"/draft/{draft.id}/risk")

    # --- 3 risk -----------------------------------------------------------------------------------------
    def risk(self, request: Request) -> Page | Response:
        draft = self._draft(request)
        if not draft.columns:
            return to(f"/draft/{draft.id}/columns")
        task = self._task(draft, "risk", draft.request())
        if task.state == "running":
            return progress(task, "Counting people", draft=draft.about)
        outcome = {"error": task.error} if task.state == "failed" else {"risk": task.result}
        return self._page("risk.html", draft, **outcome, quasi=draft.columns.get("quasi", ()))

    def leave_out(self, request: Request) -> Response:
        """Publish without a quasi-identifier: what is left becomes less coarse."""
        draft, column = self._draft(request, changing=True), form_of(request).get("column", [""])[0]
        if column not in draft.columns.get("quasi", ()):
            raise ParameterError("this column is not a quasi-identifier", hint="choose one from the list")
        draft.columns["quasi"].remove(column)
        if draft.columns.setdefault("drop", []) != REST:
            draft.columns["drop"].append(column)
        draft.values.get("hierarchies", {}).pop(column, None)
        return to(f"/draft/{draft.id}/risk")

    # --- 4 promise --------------------------------------------------------------------------------------
    def promise(
        self, request: Request, error: TimeveilError | None = None, typed: Form | None = None
    ) -> Page:
        draft = self._draft(request)
        facts = {} if error is None else error.facts
        wrong = [facts["parameter"]] if "parameter" in facts else list(facts.get("parameters", ()))
        wrong += request.query_params.get("wrong", "").split(",")
        controls = fields(draft.lines, draft.all_values, wrong)
        for control in controls if typed else ():
            control["value"] = "\n".join(typed.get(control["name"], [])) if typed else ""
        usual = {*required_values(draft.table), *draft.table.explored}
        further = [control for control in controls if control["name"] not in usual]
        return self._page(
            "promise.html",
            draft,
            error=None if error is None else error_data(error),
            commands=cards(draft.table.command),
            first=[control for control in controls if control["name"] in usual],
            more=further,
            opened=any(control["wrong"] for control in further),
        )

    def set_promise(self, request: Request) -> Page | Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        try:
            values = self.places.parameters(draft.table, read_form(draft.lines, form))
            draft.table(**{**required_values(draft.table), **draft.form, **values})
        except TimeveilError as error:
            return self.promise(request, error, form)
        draft.values = values
        return to(f"/draft/{draft.id}/{'risk' if 'again' in form else 'tradeoff'}")

    # --- 5 trade-off ------------------------------------------------------------------------------------
    def tradeoff(self, request: Request) -> Page:
        draft = self._draft(request)
        explored = draft.explored
        data: dict[str, Any] = {
            "limits": fields(LIMITS.values(), explored),
            "choices": list(draft.table.explored),
            "explored": {"name": "", "settings": "", **explored},
            "usual": f"2..{4 * draft.all_values[draft.table.explored[0]]}",
        }
        if not explored:
            return self._page("tradeoff.html", draft, **data)
        job = draft.request()
        job["values"] = {**job["values"], explored["name"]: explored["settings"]}
        job |= {"explored": explored["name"], **{name: explored.get(name) for name in LIMITS}}
        task = self._task(draft, "explore", job)
        if task.state == "failed":
            return self._page("tradeoff.html", draft, **data, error=task.error)
        return self._page("tradeoff.html", draft, **data, task=task.as_dict(), svg=task.svg, **task.result)

    def set_tradeoff(self, request: Request) -> Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        if (line := draft.line(form)).name not in draft.table.explored:
            raise ParameterError("this parameter has no trade-off", hint="choose one from the list")
        settings = {"name": line.name, "settings": form.get("settings", [""])[0]}
        draft.explored = settings | read_form(LIMITS.values(), form)
        return to(f"/draft/{draft.id}/tradeoff")

    def take(self, request: Request) -> Response:
        """Set one parameter: a point of the curve, or what a hint says."""
        draft, form = self._draft(request, changing=True), form_of(request)
        line, step = draft.line(form), form.get("step", ["publish"])[0]
        values = read_form([line], {line.name: form.get("value", [])})
        draft.values = {**{n: v for n, v in draft.values.items() if n != line.name}, **values}
        return to(f"/draft/{draft.id}/{'risk' if step == 'risk' else 'publish'}")

    # --- 6 publish --------------------------------------------------------------------------------------
    def publish(self, request: Request) -> Page:
        draft = self._draft(request)
        usual = {"out": f"{draft.stem}-published", "ledger": f"{draft.stem}.ledger", "format": "parquet"}
        files = {**usual, **draft.files}
        files |= {name: self.places.free(files[name]) for name in ("out", "ledger") if files[name]}
        run = draft.run(**files)
        stated = [{"name": line.name, "value": plain(value)} for line, value in run.changed()]
        form = fields(FILES.values(), files)
        return self._page("publish.html", draft, form=form, again=run.as_dict(), stated=stated)

    def do_publish(self, request: Request) -> Response:
        draft, form = self._draft(request, changing=True), form_of(request)
        draft.source = self.places.source(form.get("source", [draft.source])[0].strip())
        ledger = form.get("ledger", [""])[0].strip()
        files: dict[str, Any] = {
            "out": self.places.new(form.get("out", [""])[0], "the release"),
            "ledger": self.places.new(ledger, "the ledger") if ledger else None,
            "format": form.get("format", ["parquet"])[0],
        }
        Files(**files)
        draft.files = files
        self.places.parameters(draft.table, draft.values)  # a path may lead elsewhere by now
        job = draft.request(**files, draft=draft.id, again=draft.run(**files).as_dict())
        return to(f"/task/{self.workshop.start('publish', job).id}")

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

    def _task(self, draft: Draft, kind: str, job: Mapping[str, Any]) -> Task:
        """The task that does this with the table as it is now; one of a database, as it was for the draft."""
        source = self.places.source(draft.source)
        version = draft.id if is_address(source) else fingerprint(self.places.inside(source))
        return self.workshop.ensure(kind, job, version)

    def _page(self, template: str, draft: Draft, **data: Any) -> Page:
        step, promised = template.removesuffix(".html"), draft.table.promised
        shown = {"draft": draft.about, "promised": promised, "step": step, "error": None, **data}
        shown["remedies"] = draft.remedies(shown["error"] or {})
        return Page(template, shown, 422 if shown["error"] or shown.get("wrong") else 200)
