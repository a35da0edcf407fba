"""Who may ask what: the token of the printed link, the password, sessions, and where a request comes from."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_BODY = 64 * 1024  # bytes: the largest request is a class name and a password
MAX_WRONG = 10  # passwords a minute, from everybody together

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class Denied(Exception):
    """A request that is not let through."""

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail


@dataclass
class Session:
    """A browser that has shown the token or the password."""

    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    annotator: str | None = None


@dataclass(frozen=True)
class Caller:
    """Who sent a request: a session, or a program with the token."""

    annotator: str | None
    session: Session | None = None


class Access:
    """The token and the password of one run of the server, and the sessions begun with them."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int,
        password: str | None = None,
        allowed_hosts: frozenset[str] = frozenset(),
        token: str | None = None,
    ) -> None:
        self.token = token or secrets.token_urlsafe(32)
        # Cookies know no ports: two projects on one machine would overwrite each other's.
        self.cookie = f"gcbr-{port}"
        self._password = password
        self._is_public = host not in LOOPBACK
        self._hosts = LOOPBACK | {host, *allowed_hosts}
        if self._is_public:
            self._hosts |= {socket.gethostname().lower()}
        self._sessions: dict[str, Session] = {}
        self._wrong: deque[float] = deque()

    @property
    def has_password(self) -> bool:
        return self._password is not None

    def begin_session(self) -> str:
        """A new session; gives the value of its cookie."""
        key = secrets.token_urlsafe(32)
        self._sessions[key] = Session()
        return key

    def is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())

    def check_password(self, password: str) -> None:
        """Refuses a wrong one, and any after too many wrong ones."""
        now = time.monotonic()
        while self._wrong and self._wrong[0] < now - 60:
            self._wrong.popleft()
        if len(self._wrong) >= MAX_WRONG:
            raise Denied(429, "Too many wrong passwords; try again in a minute.")
        if self._password is None or not hmac.compare_digest(password.encode(), self._password.encode()):
            self._wrong.append(now)
            raise Denied(401, "That is not the password.")

    def session_of(self, request: Request) -> Session | None:
        return self._sessions.get(request.cookies.get(self.cookie, ""))

    def caller(self, request: Request) -> Caller:
        """Who sends this request; refused without token or session, or without the session's CSRF token."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if not self.is_token(token):
                raise Denied(401, "The token is wrong; it is in the link that gcbr label has printed.")
            return Caller(request.headers.get("X-Annotator"))
        session = self.session_of(request)
        if session is None:
            raise Denied(401, "Open the link that gcbr label has printed: this page knows you no more.")
        shown = request.headers.get("X-CSRF-Token", "")
        if request.method not in SAFE_METHODS and not hmac.compare_digest(
            shown.encode(), session.csrf.encode()
        ):
            raise Denied(403, "The request lacks the page's own CSRF token; load the page again.")
        return Caller(session.annotator, session)

    def check_origin(self, headers: Headers) -> None:
        """Refuses other names than this server's, and requests that another site's page makes."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            raise Denied(403, "This server is not called that; open the link that gcbr label has printed.")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            raise Denied(403, "The request comes from another site's page.")
        is_foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if is_foreign and headers.get("sec-fetch-mode") != "navigate":
            raise Denied(403, "The request comes from another site's page.")

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._hosts:
            return True
        # A page of another site can give its own name any address, but cannot be served under a bare address.
        return self._is_public and _is_address(name)


class Guard:
    """Around the whole app: looks where each request comes from, and adds the same headers to each reply."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = _with_headers(send, is_static=scope["path"].startswith("/static/"))
        headers = Headers(scope=scope)
        try:
            self._access.check_origin(headers)
            _check_size(headers)
        except Denied as denied:
            await JSONResponse({"detail": denied.detail}, denied.status)(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)


def _with_headers(send: Send, *, is_static: bool) -> Callable[[MutableMapping[str, Any]], Awaitable[None]]:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers["Cache-Control"] = "no-cache" if is_static else "no-store"
        await send(message)

    return guarded


def _check_size(headers: Headers) -> None:
    if "chunked" in headers.get("transfer-encoding", ""):
        raise Denied(411, "Say how long the request is (Content-Length).")
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MAX_BODY:
        raise Denied(413, f"The request is longer than {MAX_BODY} bytes.")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
