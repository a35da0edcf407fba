"""Who is refused: no token, foreign names and pages, forged requests, other machines without a password."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

import gcbr.annotate
from gcbr.annotate.access import Access, Denied
from gcbr.annotate.server import Address, Server, check
from gcbr.errors import InputError

HERE = Path(gcbr.annotate.__file__).parent


@pytest.fixture
def visitor(untouched: Any) -> Any:
    """A browser's client: no token in its headers."""
    with httpx.Client(base_url=untouched.base, timeout=60) as client:
        yield client


@pytest.fixture
def session(untouched: Any, visitor: Any) -> Any:
    """The same after opening the printed link."""
    visitor.get("/", params={"token": untouched.token})
    return visitor


def csrf_of(client: httpx.Client) -> dict[str, str]:
    found = re.search(r'<meta name="csrf" content="([^"]+)">', client.get("/").text)
    assert found is not None
    return {"X-CSRF-Token": found[1]}


API = [
    ("GET", "/api/turn"),
    ("GET", "/api/state"),
    ("GET", "/api/nodes/0"),
    ("GET", "/api/labels"),
    ("GET", "/api/agreement"),
    ("GET", "/api/exports"),
    ("GET", "/api/exports/papers-1.csv"),
    ("GET", "/openapi.json"),
    ("POST", "/api/answers"),
    ("POST", "/api/exports"),
    ("POST", "/api/session"),
]


@pytest.mark.parametrize(("method", "path"), API)
def test_without_a_token_nothing_is_to_be_had(visitor: Any, method: str, path: str) -> None:
    assert visitor.request(method, path, json={} if method == "POST" else None).status_code == 401
    wrong = {"Authorization": "Bearer wrong"}
    body = (
        {"node": 0, "label": "theory", "request": "request-1"}
        if path == "/api/answers"
        else {"format": "csv"}
    )
    if path == "/api/session":
        body = {"name": "Eve"}
    reply = visitor.request(method, path, json=body if method == "POST" else None, headers=wrong)
    assert reply.status_code == 401
    assert set(reply.json()) == {"detail"}


@pytest.mark.parametrize("path", ["/", "/labels", "/docs", "/?token=wrong"])
def test_pages_without_a_session_say_where_the_link_is(visitor: Any, path: str) -> None:
    reply = visitor.get(path)
    assert reply.status_code == 401
    assert "printed link" in reply.text
    assert "set-cookie" not in reply.headers


def test_the_link_becomes_a_cookie_and_leaves_the_address(untouched: Any, visitor: Any) -> None:
    reply = visitor.get("/", params={"token": untouched.token})
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert untouched.token not in cookie
    assert visitor.get("/").status_code == 200


def test_a_change_needs_the_pages_own_token(untouched: Any, session: Any) -> None:
    body = {"name": "Ada"}
    assert session.post("/api/session", json=body).status_code == 403
    assert session.post("/api/session", json=body, headers={"X-CSRF-Token": "guess"}).status_code == 403
    assert session.post("/api/session", json=body, headers=csrf_of(session)).status_code == 200
    assert session.get("/api/turn").status_code == 200


def test_a_person_without_a_name_cannot_answer(session: Any) -> None:
    body = {"node": 0, "label": "theory", "request": "request-1"}
    reply = session.post("/api/answers", json=body, headers=csrf_of(session))
    assert (reply.status_code, reply.json()["detail"][:19]) == (401, "Say who you are fir")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1", "10.0.0.1"]
)
def test_a_foreign_host_is_refused(untouched: Any, host: str) -> None:
    for path in ("/", "/api/state", "/static/app.css"):
        assert untouched.http.get(path, headers={"Host": host, "X-Annotator": "Ada"}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://evil.example:443"]
)
def test_a_foreign_origin_is_refused(untouched: Any, origin: str) -> None:
    headers = {"Origin": origin, "X-Annotator": "Ada"}
    assert untouched.http.get("/api/state", headers=headers).status_code == 403
    body = {"node": 0, "label": "theory", "request": "request-1"}
    assert untouched.http.post("/api/answers", json=body, headers=headers).status_code == 403
    assert untouched.project.num_labels() == 0


def test_our_own_origin_is_not(untouched: Any) -> None:
    headers = {"Origin": untouched.base, "Sec-Fetch-Site": "same-origin", "X-Annotator": "Ada"}
    assert untouched.http.get("/api/state", headers=headers).status_code == 200


def test_another_sites_page_cannot_read_through_a_script(untouched: Any) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "X-Annotator": "Ada"}
    assert untouched.http.get("/api/state", headers=headers).status_code == 403
    headers["Sec-Fetch-Mode"] = "navigate"
    assert (
        untouched.http.get("/", headers=headers).status_code == 401
    )  # a link may be followed; it gives nothing away


@pytest.mark.parametrize(
    "path", ["/", "/labels", "/docs", "/api/state", "/static/label.js", "/nothing", "/api/login"]
)
def test_every_reply_carries_the_strict_headers(untouched: Any, path: str) -> None:
    headers = untouched.http.get(path, headers={"X-Annotator": "Ada"}).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_requests_that_are_too_long_or_endless_are_refused(untouched: Any) -> None:
    assert untouched.http.post("/api/answers", content=b"x" * 70_000).status_code == 413
    endless = untouched.http.post("/api/answers", content=iter([b"{", b"}"]))
    assert endless.status_code == 411


def test_other_machines_need_a_password(project: Any) -> None:
    with pytest.raises(
        InputError, match=r"--host 0\.0\.0\.0 opens the page to other machines, and that needs a password"
    ):
        check(Address("0.0.0.0"))
    with pytest.raises(InputError, match="needs a password"):
        Server(project, Address("192.168.1.5"))
    check(Address("0.0.0.0", password="open sesame"))


def test_the_password_opens_the_page_and_wrong_ones_close_it(project: Any, serve: Any) -> None:
    served = serve(project, password="open sesame")
    with httpx.Client(base_url=served.base, timeout=60) as client:
        assert "Password" in client.get("/").text
        for _ in range(3):
            assert client.post("/api/login", json={"password": "wrong"}).status_code == 401
        assert client.get("/api/state").status_code == 401
        reply = client.post("/api/login", json={"password": "open sesame"})
        assert reply.status_code == 200
        assert "HttpOnly" in reply.headers["set-cookie"]
        assert "Who is labeling?" in client.get("/").text
        for _ in range(7):
            client.post("/api/login", json={"password": "wrong"})
        assert client.post("/api/login", json={"password": "open sesame"}).status_code == 429


def test_without_a_password_none_opens() -> None:
    access = Access(port=1)
    for guess in ("", "None", access.token):
        with pytest.raises(Denied):
            access.check_password(guess)


def test_on_all_addresses_bare_addresses_and_named_hosts_are_ours() -> None:
    access = Access(host="0.0.0.0", port=1, password="x", allowed_hosts=frozenset({"labels.example"}))
    assert all(
        access._is_ours(host) for host in ("192.168.7.7:1", "labels.example", "localhost:1", "[fe80::1]:1")
    )
    assert not access._is_ours("evil.example")


def test_two_projects_on_one_machine_have_two_cookies() -> None:
    assert Access(port=1).cookie != Access(port=2).cookie


def test_no_page_parses_text_as_html_or_asks_another_server() -> None:
    scripts = [path for path in (HERE / "static").glob("*.js")]
    assert len(scripts) >= 6
    for path in [*scripts, *(HERE / "templates").iterdir(), HERE / "static" / "app.css"]:
        text = path.read_text()
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "|safe",
            "https://",
            "//cdn",
        ):
            assert word not in text, f"{path.name}: {word}"
        for match in re.findall(r"http://[^\s\"']+", text):
            assert match == "http://www.w3.org/2000/svg", f"{path.name}: {match}"
    for path in (HERE / "templates").iterdir():
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), f"{path.name} has an inline script"
        assert not re.search(r"\s(style|on\w+)=", text), f"{path.name} has an inline style or handler"


def test_the_vendored_library_keeps_its_licence() -> None:
    vendor = HERE / "static" / "vendor"
    assert "Cytoscape Consortium" in (vendor / "cytoscape.LICENSE").read_text()
    assert "Cytoscape Consortium" in (vendor / "cytoscape.min.js").read_text()[:400]
