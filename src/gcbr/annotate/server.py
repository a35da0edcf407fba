"""A socket, a token, and uvicorn around the app."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from gcbr.annotate.access import LOOPBACK, Access
from gcbr.annotate.app import build_app
from gcbr.annotate.project import Project
from gcbr.errors import InputError


@dataclass(frozen=True)
class Address:
    """Where to listen, and under which names."""

    host: str = "127.0.0.1"
    port: int = 0  # 0: any free one
    password: str | None = None
    allowed_hosts: frozenset[str] = frozenset()


def check(address: Address) -> None:
    """Other machines are let in with a password only."""
    if address.host not in LOOPBACK and not address.password:
        raise InputError(
            f"--host {address.host} opens the page to other machines, and that needs a password: "
            "set GCBR_PASSWORD, or give it when asked"
        )


class Server:
    """Listens from the moment it is made; `run` answers until it is interrupted or stopped."""

    def __init__(self, project: Project, address: Address) -> None:
        import uvicorn

        check(address)
        self._listener = _listener(address)
        port = int(self._listener.getsockname()[1])
        access = Access(
            host=address.host, port=port, password=address.password, allowed_hosts=address.allowed_hosts
        )
        self.link = link(address.host, port, access.token)
        config = uvicorn.Config(
            build_app(project, access),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            lifespan="off",
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        with self._listener:
            self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """From another thread."""
        self._server.should_exit = True


def link(host: str, port: int, token: str) -> str:
    """The address to open; a server on every address is reached on this machine by the loopback one."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/?token={token}"


def _listener(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen on {address.host}, port {address.port} ({error.strerror}); "
            "leave --port out for any free one"
        ) from error
    return listener
