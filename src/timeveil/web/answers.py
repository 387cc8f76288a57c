"""What a page answers: a template with data, another address, or an error in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from timeveil.web.work import Task


@dataclass(frozen=True)
class Page:
    """A template and the data it shows; the same data is the page's JSON."""

    template: str
    data: Mapping[str, Any]
    status: int = 200


def to(path: str) -> Response:
    """Go on there."""
    return RedirectResponse(path, 303)


def judged(folder: str, ledger: str = "") -> str:
    """The address of the page of a release, whatever signs its name has."""
    return f"/judge/{quote(folder)}" + (f"?ledger={quote(ledger)}" if ledger else "")


def problem(
    error: str | Mapping[str, Any],
    hint: str = "",
    *,
    action: str = "Choose a table or a release",
    href: str = "/open/",
    status: int = 422,
    notice: str = "Nothing was written.",
) -> Page:
    """What went wrong, as a message or as `error_data` has it, and a link to where it goes on."""
    shown = {"message": error, "hint": hint} if isinstance(error, str) else error
    return Page("problem.html", {"error": shown, "action": action, "href": href, "notice": notice}, status)


def progress(task: Task, title: str, **more: Any) -> Page:
    """A page that waits for a task."""
    return Page("progress.html", {**more, "task": task.as_dict(), "title": title})
