"""The door of the web app: who may ask, from where, how much, and what every answer carries.

Other pages in the same browser, other programs and other machines are strangers. A request is refused before
any page sees it if its `Host` is not ours (a name that was pointed at this machine), if its `Origin` or its
`Sec-Fetch-Site` is another site, if it has no session, if it is larger than a form, or if it would change
something without the token that only our forms have.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from timeveil.web.answers import Page, problem

COOKIE = "timeveil"
LARGEST_FORM, MOST_FIELDS = 256 * 1024, 5_000
LONGEST_ADDRESS = 4_096
SESSION_SECONDS = 8 * 3600
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
Render = Callable[[Request, Page], Response]


@dataclass
class Session:
    """A browser that came with a link: the token of its forms, and when it was last here."""

    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    seen: float = field(default_factory=time.monotonic)


class Doorman:
    """Links that open the app once, and the sessions they opened."""

    def __init__(self) -> None:
        self._links: set[str] = set()
        self._sessions: dict[str, Session] = {}

    def new_link(self) -> str:
        """A token that opens one session."""
        link = secrets.token_urlsafe(24)
        self._links.add(link)
        return link

    def admit(self, link: str) -> str | None:
        """The name of a new session, None if the link is unknown or was used."""
        try:
            self._links.remove(link)  # at once: of two browsers with one link, one is let in
        except KeyError:
            return None
        name = secrets.token_urlsafe(24)
        self._sessions[name] = Session()
        return name

    def session(self, name: str) -> Session | None:
        """The session of a cookie, None if there is none or it expired."""
        session = self._sessions.get(name)
        if session is None or time.monotonic() - session.seen > SESSION_SECONDS:
            self._sessions.pop(name, None)
            return None
        session.seen = time.monotonic()
        return session


class Guard:
    """Refuses strangers, reads forms up to a size, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], doorman: Doorman, render: Render) -> None:
        self._app, self._hosts, self._doorman, self._render = app, hosts, doorman, render
        self.last_request = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        self.last_request = time.monotonic()
        request = Request(scope, receive)
        strange = (self._refuse(request, *reason) for reason in self._strange(request))
        answer = next(strange, None) or self._entering(request) or self._unknown(request)
        if answer is None and request.method == "POST":
            answer = await self._form(request)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (self._app if answer is None else answer)(scope, receive, send_with_headers)

    def _refuse(self, request: Request, status: int, message: str, hint: str = "") -> Response:
        return self._render(request, problem(message, hint, action="", href="", status=status))

    def _strange(self, request: Request) -> Iterator[tuple[int, str]]:
        """Why a request is refused whoever asks."""
        headers = request.headers
        host, site = headers.get("host", ""), headers.get("sec-fetch-site", "none")
        if host.lower() not in self._hosts:
            yield 421, "this address does not belong to timeveil"
        if request.method not in ("GET", "HEAD", "POST"):
            yield 405, "this kind of request is not answered"
        if len(request.url.path) + len(request.url.query) > LONGEST_ADDRESS:
            yield 414, "the address is too long"
        origin = headers.get("origin")
        # Without a referrer, browsers call the origin of a form `null`, and vouch for it by another header.
        ours = (None, f"{request.url.scheme}://{host}", *(["null"] if site == "same-origin" else []))
        if site not in ("none", "same-origin") or origin not in ours:
            yield 403, "another page asked for this, not you"
        if request.method == "POST" and origin is None and "sec-fetch-site" not in headers:
            yield 403, "the request does not say which page it comes from"

    def _entering(self, request: Request) -> Response | None:
        """The first visit, with the link that was printed: a cookie takes its place."""
        link = request.query_params.get("token")
        if link is None or request.url.path != "/" or request.method != "GET":
            return None
        name = self._doorman.admit(link)
        if name is None:
            hint = "use the browser that opened it first, or stop `timeveil serve` and start it again"
            return self._refuse(request, 401, "this link was used before, or is not of this server", hint)
        answer = RedirectResponse("/open/", 303)
        answer.set_cookie(COOKIE, name, httponly=True, samesite="strict", path="/")
        return answer

    def _unknown(self, request: Request) -> Response | None:
        session = self._doorman.session(request.cookies.get(COOKIE, ""))
        if session is None and not request.url.path.startswith("/static/"):
            hint = "open the address that `timeveil serve` printed; if it was used, start the server again"
            return self._refuse(request, 401, "you are not logged in, or your login has expired", hint)
        request.scope["session"] = session
        return None

    async def _form(self, request: Request) -> Response | None:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST_FORM:
                hint = f"a form has at most {LARGEST_FORM:,} bytes"
                return self._refuse(request, 413, "the form is too large", hint)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if kind != "application/x-www-form-urlencoded":
                raise ValueError
            form = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            return self._refuse(request, 415, "this is not a form of timeveil", "go back and send it again")
        session: Session | None = request.scope["session"]
        token = form.pop("form_token", [""])[0]
        if session is None or not secrets.compare_digest(token.encode(), session.form_token.encode()):
            hint = "go back, load the page again, and send the form once more"
            return self._refuse(request, 403, "the form is not from this session", hint)
        request.scope["form"] = form
        return None


def form_of(request: Request) -> Mapping[str, list[str]]:
    """The fields of the form that was sent."""
    form: Mapping[str, list[str]] = request.scope.get("form", {})
    return form
