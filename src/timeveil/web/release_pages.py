"""The pages of tasks and releases: progress, the result, judging any folder, and sign-off."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from timeveil.errors import InputError, ParameterError
from timeveil.folder.signoff import ENDING, sign_off, sign_offs
from timeveil.jobs.query import Question
from timeveil.models import adversary_of
from timeveil.reading.files import translate_os_errors
from timeveil.web.answers import Page, judged, problem, progress, to
from timeveil.web.draft_pages import DraftPages, Stale
from timeveil.web.forms import Draft, fields, plain, read_form
from timeveil.web.guard import Doorman, form_of
from timeveil.web.places import fingerprint
from timeveil.web.work import Task, events

_TITLES = {"publish": "Publishing", "query": "Counting", "compare": "Comparing", "explore": "Trying settings"}
_TITLES |= {"attack": "Attacking"}


class ReleasePages:
    """Whatever runs, and releases that are judged."""

    def __init__(self, draft_pages: DraftPages, doorman: Doorman, address: str) -> None:
        self.drafts, self.places = draft_pages.drafts, draft_pages.places
        self.workshop, self.doorman, self.address = draft_pages.workshop, doorman, address

    # --- 7 result, and everything else that runs --------------------------------------------------------
    def task(self, request: Request) -> Page | Response:
        task = self._task(request)
        if task.state == "running":
            return progress(task, _TITLES.get(task.kind, "Working"))
        job, back = task.request, task.request.get("back", "/")
        if "draft" in job:
            back = f"/draft/{job['draft']}/promise"
        if task.state != "done" or not task.result.get("holds", True):
            return _nothing(task, back, self.drafts.get(job.get("draft", "")))
        if task.kind not in _TITLES or task.kind == "explore":
            return to(back)  # another page shows what came of it
        shown = {n: job[n] for n in ("out", "ledger", "again", "draft", "folder") if job.get(n)}
        asked = {name: plain(value) for name, value in job.get("question", {}).items()}
        data = {"task": task.as_dict(), "result": task.result, "request": shown, "back": back, "asked": asked}
        return Page("result.html" if task.kind == "publish" else "answer.html", data)

    def cancel(self, request: Request) -> Response:
        task = self._task(request)
        task.cancel()
        return to(f"/task/{task.id}")

    def events(self, request: Request) -> Response:
        return StreamingResponse(events(self._task(request)), media_type="text/event-stream")

    def job_file(self, request: Request) -> Response:
        text = self._task(request).request.get("again", {}).get("job", "")
        headers = {"content-disposition": "attachment; filename=job.toml"}
        return Response(text + "\n", media_type="text/plain", headers=headers)

    def keep_job(self, request: Request) -> Response:
        """Save the job file at the top of the folder served, where the paths in it start."""
        job = self._task(request).request
        name = self.places.free(f"{Path(job['out']).name}.toml")
        with translate_os_errors(name), (self.places.root / name).open("x", encoding="utf-8") as file:
            file.write(job["again"]["job"] + "\n")
        return to("/open/")

    # --- 8 judge, 9 sign off ----------------------------------------------------------------------------
    def judge(self, request: Request) -> Page:
        folder, ledger = self._folder(request)
        task = self._ensured("judge", folder, ledger)
        if task.state == "running":
            return progress(task, "Checking the release")
        if task.state == "failed":
            return problem(task.error, action="Choose another folder")
        model, near = task.result["model"], self.places.listing(str(Path(folder).parent))
        lines = [line for line in Question.table().values() if not line.models or model in line.models]
        lines.sort(key=lambda line: len(line.models) != 1)  # what is about such releases alone comes first
        decisions = [] if not ledger else sign_offs(self.places.root / ledger, task.result["hash"])
        data: dict[str, Any] = {"folder": folder, "ledger": ledger, "result": task.result}
        data["form"] = fields(lines, {})
        data["knowledge"] = fields(adversary_of(model).table().values(), {}) if ledger else []
        written = (self.places.root / folder).stat().st_mtime
        ledgers = [str(entry["path"]) for entry in near if entry["kind"] == "ledger"]
        data["ledgers"] = sorted(ledgers, key=lambda p: abs((self.places.root / p).stat().st_mtime - written))
        data["others"] = [e["path"] for e in near if e["kind"] == "release" and e["path"] != folder]
        data["signed"] = [{n: getattr(d, n) for n in ("name", "decision", "reason", "at")} for d in decisions]
        return Page("judge.html", data)

    def query(self, request: Request) -> Response:
        folder, _ = self._folder(request)
        question = read_form(Question.table().values(), form_of(request))
        return self._ask("query", {"folder": folder, "question": question, "back": judged(folder)})

    def attack(self, request: Request) -> Response:
        """An attack by somebody who knows more, or less, than usual."""
        folder, ledger = self._folder(request)
        model = self._judgement(folder, ledger).result["model"]
        asked = read_form(adversary_of(model).table().values(), form_of(request))
        back = judged(folder, ledger)
        return self._ask("attack", {"folder": folder, "ledger": ledger, "question": asked, "back": back})

    def compare(self, request: Request) -> Response:
        folder, _ = self._folder(request)
        folders = [self.places.release(name) for name in form_of(request).get("other", ())]
        if not folders:
            raise ParameterError("there is nothing to compare with", hint="choose another release")
        return self._ask("compare", {"folders": [folder, *folders], "back": judged(folder)})

    def _ask(self, kind: str, job: Mapping[str, Any]) -> Response:
        task = self.workshop.start(kind, job)
        task.wait(5.0)
        return to(f"/task/{task.id}")

    def report(self, request: Request) -> Page | Response:
        folder, ledger = self._folder(request)
        task = self._ensured("report", folder, ledger, f"{ledger}{ENDING}")
        if task.state == "running":
            return progress(task, "Writing the report")
        if task.state == "failed":
            return problem(task.error, action="Go back", href=judged(folder))
        return Page("report", task.result)

    def set_signoff(self, request: Request) -> Response:
        folder, ledger = self._folder(request)
        form = form_of(request)
        seen, name, decision, reason = (form.get(n, [""])[0] for n in ("seen", "name", "decision", "reason"))
        task = self._judgement(folder, ledger)
        if seen != task.result["hash"]:
            raise Stale
        if decision == "approved" and not task.result["holds"]:
            message = "a release that does not verify cannot be approved"
            raise ParameterError(message, hint="reject it, with a reason")
        sign_off(self.places.root / ledger, name, decision, reason, task.result["hash"])
        return to(judged(folder, ledger))

    def link(self, _request: Request) -> Page:
        """A second person's way in."""
        return Page("link.html", {"link": f"{self.address}/?token={self.doorman.new_link()}"})

    def _task(self, request: Request) -> Task:
        task = self.workshop.find(request.path_params["task"])
        if task is None:
            message = "this task is not known to the server"
            raise InputError(message, hint="start it again", code="file-missing")
        return task

    def _folder(self, request: Request) -> tuple[str, str]:
        ledger = request.query_params.get("ledger", "")
        name = self.places.release(request.path_params["path"])
        return name, self.places.name(self.places.inside(ledger)) if ledger else ""

    def _judgement(self, folder: str, ledger: str) -> Task:
        """The task that judged a release with its ledger."""
        task = self._ensured("judge", folder, ledger)
        task.wait(60)
        if not ledger or task.state != "done":
            message = "the release was not yet checked with its ledger"
            raise ParameterError(message, hint="go back, and choose the ledger")
        return task

    def _ensured(self, kind: str, folder: str, ledger: str, *files: str) -> Task:
        """The task that does this with the folder, the ledger and further files as they are now."""
        paths = [self.places.root / name for name in (folder, ledger, *files) if name]
        version = "|".join(fingerprint(path) for path in paths if path.exists())
        return self.workshop.ensure(kind, {"folder": folder, "ledger": ledger}, version)


def _nothing(task: Task, back: str, draft: Draft | None) -> Page:
    """What a task that came to nothing says, and where it goes on."""
    job, link = task.request, {"action": "Go back", "href": back}
    if task.written:
        message, notice = "stopped after the release was verified and written", "The release was written."
        link = {"action": "Judge the release", "href": judged(job["out"], job.get("ledger") or "")}
        return problem(
            message, "judge it, and remove it if it is not wanted", **link, status=409, notice=notice
        )
    if task.state == "cancelled":
        return problem("cancelled; nothing was written", "go back and start it again", **link, status=409)
    if task.state == "done":
        return problem("the release does not keep its promise, so nothing was written", **link, status=409)
    if "draft" in job:
        link = {"action": "Change the promise", "href": f"{back}?wrong={','.join(task.error['parameters'])}"}
    page = problem(task.error, **link, status=409)
    if draft is None:
        return page
    return replace(page, data={**page.data, "draft": draft.about, "remedies": draft.remedies(task.error)})
