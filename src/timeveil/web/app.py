"""The app: which page answers which address, and the server that it runs in.

Pages are made on the server from data that is also their JSON: `/json/...` is the twin of every page. One
small script of our own draws progress; without it every form works all the same.
"""

import base64
import hashlib
import json
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from timeveil.domain.version import TOOL
from timeveil.errors import EngineError, ParameterError, safe_to_show
from timeveil.page.report import html_of, page_style
from timeveil.page.wording import share, visible
from timeveil.web.answers import Page, problem, to
from timeveil.web.draft_pages import DraftPages, Stale
from timeveil.web.guard import Doorman, Guard
from timeveil.web.places import Places
from timeveil.web.release_pages import ReleasePages
from timeveil.web.work import Workshop
from timeveil.web.working import error_data

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OPTION = re.compile(r"`(?:--([a-z-]+)(?: ([^`]*))?|(timeveil (?!serve)[^`]*))`")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
STEPS = {"columns": "Columns", "risk": "Risk", "promise": "Promise"}
STEPS |= {"tradeoff": "Trade-off", "publish": "Publish"}


@dataclass(frozen=True)
class Settings:
    """Where the app works and listens."""

    root: Path
    host: str = "127.0.0.1"
    port: int = 8765
    jobs: int = 3
    idle_minutes: float | None = None

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may call this server."""
        names = {*LOOPBACK[:2], "[::1]", f"[{self.host}]" if ":" in self.host else self.host}
        return frozenset(f"{name}:{self.port}" for name in names)


class App:
    """The app with its state; `asgi` answers requests."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.doorman = settings, Doorman()
        self.workshop = Workshop(settings.root.resolve(), settings.jobs)
        self.draft_pages = DraftPages(Places(settings.root), self.workshop)
        self.release_pages = ReleasePages(self.draft_pages, self.doorman, settings.address)
        self._templates = _environment()
        style = Response(page_style(), media_type="text/css")
        routes = [Route("/", lambda _: to("/open/")), Route("/static/page.css", lambda _: style)]
        for path, method, handler in self._pages():
            endpoint = partial(self._answer, handler)
            routes += [Route(f"{prefix}{path}", endpoint, methods=[method]) for prefix in ("", "/json")]
        static = Mount("/static", StaticFiles(packages=[("timeveil.web", "static")]))
        missing = dict.fromkeys((404, 405), self._missing)
        starlette = Starlette(routes=[*routes, static], exception_handlers=missing)
        self.asgi = Guard(starlette, settings.hosts, self.doorman, self._rendered)

    def _pages(self) -> list[tuple[str, str, Callable[..., Any]]]:
        drafts, releases = self.draft_pages, self.release_pages
        return [
            ("/open/{path:path}", "GET", drafts.open),
            ("/draft", "POST", drafts.start),
            ("/draft/{draft}/columns", "GET", drafts.columns),
            ("/draft/{draft}/columns/{values}", "GET", drafts.columns),
            ("/draft/{draft}/columns", "POST", drafts.set_columns),
            ("/draft/{draft}/risk", "GET", drafts.risk),
            ("/draft/{draft}/leave-out", "POST", drafts.leave_out),
            ("/draft/{draft}/promise", "GET", drafts.promise),
            ("/draft/{draft}/promise", "POST", drafts.set_promise),
            ("/draft/{draft}/tradeoff", "GET", drafts.tradeoff),
            ("/draft/{draft}/tradeoff", "POST", drafts.set_tradeoff),
            ("/draft/{draft}/take", "POST", drafts.take),
            ("/draft/{draft}/publish", "GET", drafts.publish),
            ("/draft/{draft}/publish", "POST", drafts.do_publish),
            ("/task/{task}", "GET", releases.task),
            ("/task/{task}/cancel", "POST", releases.cancel),
            ("/task/{task}/events", "GET", releases.events),
            ("/task/{task}/job.toml", "GET", releases.job_file),
            ("/task/{task}/keep", "POST", releases.keep_job),
            ("/report/{path:path}", "GET", releases.report),
            ("/judge/{path:path}/query", "POST", releases.query),
            ("/judge/{path:path}/attack", "POST", releases.attack),
            ("/judge/{path:path}/compare", "POST", releases.compare),
            ("/judge/{path:path}/signoff", "POST", releases.set_signoff),
            ("/judge/{path:path}", "GET", releases.judge),
            ("/link", "POST", releases.link),
        ]

    def _answer(self, handler: Callable[[Request], Page | Response], request: Request) -> Response:
        """What a handler returns, rendered; whatever goes wrong is a page, never a traceback."""
        try:
            return self._rendered(request, handler(request))
        except Stale:
            message = "this job was changed in another tab since the page was loaded"
            page = problem(message, action="See what it is now", href=_form_page(request), status=409)
        except Exception as cause:  # noqa: BLE001 (its text could carry data: it is not shown)
            error, link = safe_to_show(cause), dict[str, str]()
            status = {"file-missing": 404, "internal": 500}.get(error.code, 422)
            if isinstance(error, EngineError) or (request.method == "POST" and status == 422):
                link = {"action": "Go back to the form", "href": _form_page(request)}
                if request.method == "GET":
                    link["action"] = "Try again"
            page = problem(error_data(error), status=status, **link)
        return self._rendered(request, page)

    def _rendered(self, request: Request, page: Page | Response) -> Response:
        if isinstance(page, Response):
            return page
        if request.url.path.startswith("/json/"):
            data = page.data["report"] if page.template == "report" else page.data
            text = json.dumps(data, default=str, ensure_ascii=False, indent=1)
            return Response(text, page.status, media_type="application/json")
        if page.template == "report":  # as it is filed; its own stylesheet is allowed by its hash
            html = str(page.data["html"])
            styles = [hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(html)]
            hashes = " ".join(f"'sha256-{base64.b64encode(style).decode()}'" for style in styles)
            policy = f"default-src 'none'; style-src {hashes}; frame-ancestors 'none'; base-uri 'none'"
            return Response(html, media_type="text/html", headers={"content-security-policy": policy})
        session = request.scope.get("session")
        twin = f"/json{request.url.path}" + (f"?{request.url.query}" if request.url.query else "")
        form_token = session.form_token if session is not None else ""
        context = {"form_token": form_token, "twin": twin if request.method == "GET" else ""}
        html = self._templates.get_template(page.template).render({**context, **page.data})
        return Response(html, page.status, media_type="text/html")

    def _missing(self, request: Request, _cause: Exception) -> Response:
        return self._rendered(request, problem("there is no such page", status=404))


def _form_page(request: Request) -> str:
    """The page that has the form that was sent; of a page without one, itself."""
    path = request.url.path.removeprefix("/json")
    if path == "/draft" or (path.startswith("/task/") and request.method == "POST"):
        return "/open/"
    path = re.sub("/take$", "/tradeoff", re.sub("/leave-out$", "/risk", path))
    page = quote(re.sub("/(query|attack|compare|signoff)$", "", path))
    return f"{page}?{request.url.query}" if request.url.query else page


def _as_in_forms(match: re.Match[str]) -> str:
    """What sentences have for the command line, as a form names it; a command stays one."""
    name, value, command = match.groups()
    if command:
        return f"`{command}` on the command line"
    return f"`{name.replace('-', '_')}`" + (f" = {value}" if value else "")


def _environment() -> Environment:
    loader = PackageLoader("timeveil.web")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {
        "words": lambda text: Markup(html_of(_OPTION.sub(_as_in_forms, text).replace(" -> ", " → "))),  # noqa: S704 (it escapes)
        "share": share,
        "visible": visible,
        "number": "{:,}".format,
        "path": lambda text: quote(str(text)),
        "svg": lambda text: Markup(text or ""),  # noqa: S704 (pictures escape all text themselves)
    }
    environment.globals |= {"tool": TOOL, "steps": STEPS, "step": None, "draft": None, "remedies": ()}
    macros = vars(environment.get_template("macros.html").module)
    environment.globals |= {name: macro for name, macro in macros.items() if not name.startswith("_")}
    return environment


def serve(settings: Settings, say: Callable[[str], None], *, expose: bool = False) -> None:
    """Serve until it is stopped, or idle for as long as was asked."""
    import uvicorn

    if settings.host not in LOOPBACK and not expose:
        message = "another address than this machine's own would show private data to the network"
        hint = "leave --host out, or add {expose_private_data_to_the_network=True}"
        raise ParameterError(message, hint=hint)
    if not settings.root.is_dir():
        raise ParameterError("the folder to serve does not exist", hint="name one with {root}")
    app = App(settings)
    silence: Any = {"log_level": "critical", "access_log": False, "server_header": False}
    limits: Any = {"ws": "none", "lifespan": "off", "limit_concurrency": 100, "timeout_graceful_shutdown": 2}
    config = uvicorn.Config(app.asgi, host=settings.host, port=settings.port, **silence, **limits)
    server = uvicorn.Server(config)
    link = f"{settings.address}/?token={app.doorman.new_link()}"
    say(f"Open this address in your browser; it works once:\n\n  {link}\n")
    reach = "this machine only" if settings.host in LOOPBACK else "everybody who has the link"
    say(f"Serving {visible(settings.root.resolve().name)}, to {reach}. Ctrl-C stops it.")
    if settings.idle_minutes is not None:
        watching = (app, server, settings.idle_minutes * 60)
        threading.Thread(target=_stop_when_idle, args=watching, daemon=True).start()
    try:
        server.run()
    except SystemExit:
        message = f"port {settings.port} of {settings.host} cannot be used; another program may have it"
        raise ParameterError(message, hint="name another with {port=8766}") from None
    finally:
        app.workshop.close()


def _stop_when_idle(app: App, server: Any, seconds: float) -> None:
    """Stop once nobody asked for anything, and nothing runs."""
    while not server.should_exit:
        idle = time.monotonic() - app.asgi.last_request
        if idle >= seconds and not app.workshop.busy():
            server.should_exit = True
            sys.stderr.write("stopped: nobody asked for anything\n")
            return
        time.sleep(min(max(seconds - idle, 0.1), 5.0))
